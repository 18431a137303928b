"""The same sources as lazy frames, where they need not be read at once."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from pathlib import Path

import polars as pl

from rankframe.frames.coerce import Frame, read_numbers
from rankframe.frames.schemas import CORPUS, QRELS, QUERIES, RUN, Schema
from rankframe.io.files import Format, existing, format_of
from rankframe.io.readers import (
    judgments_in,
    named,
    names_of,
    read_corpus,
    read_qrels,
    read_queries,
    read_run,
    texts_in,
)
from rankframe.io.tables import parquet_files, scan_alike, scan_parquet, unreadable
from rankframe.io.trec import Columns


def scan_run(source: object, *, format: Format | None = None, columns: Columns | None = None) -> pl.LazyFrame:
    """`read_run`, lazily where the source allows it: a Parquet file, a folder of them, a LazyFrame.

    `evaluate` reads it in batches and checks the rows then; text is read whole here. Arguments as in `read_run`. Scores
    that are text become numbers, and what is none is an error when the frame is used; `evaluate` of the path itself,
    with invalid="drop", leaves such rows out and counts them.
    """
    lazy = _scan(source, RUN, format, columns)
    return read_run(source, format=format, columns=columns).lazy() if lazy is None else lazy


def scan_qrels(source: object, *, format: Format | None = None, columns: Columns | None = None) -> pl.LazyFrame:
    """`read_qrels`, lazily where the source allows it; see `scan_run`."""
    lazy = _scan(source, QRELS, format, columns)
    return read_qrels(source, format=format, columns=columns).lazy() if lazy is None else lazy


def scan_queries(source: object, *, format: Format | None = None, columns: Columns | None = None) -> pl.LazyFrame:
    """`read_queries`, lazily where the source allows it; see `scan_run`."""
    lazy = _scan(source, QUERIES, format, columns)
    return read_queries(source, format=format, columns=columns).lazy() if lazy is None else lazy


def scan_corpus(source: object, *, format: Format | None = None, columns: Columns | None = None) -> pl.LazyFrame:
    """`read_corpus`, lazily where the source allows it; see `scan_run`."""
    lazy = _scan(source, CORPUS, format, columns)
    return read_corpus(source, format=format, columns=columns).lazy() if lazy is None else lazy


def scan_needed(source: object, needed: Sequence[str]) -> list[pl.LazyFrame] | None:
    """The needed columns of a run under our names, their dtypes as they are; None for what can only be read whole.

    Files that differ in their columns come one behind the other.
    """
    if isinstance(source, pl.LazyFrame):
        return [_needed(source, needed, RUN.label)]
    if isinstance(source, (str, PathLike)) and format_of(path := existing(source), None, "trec") == "parquet":
        files = parquet_files(path) if path.is_dir() else [path]
        return [_needed(scan, needed, str(source)) for scan in scan_alike(files, path if path.is_dir() else None)]
    return None


def _needed(frame: pl.LazyFrame, needed: Sequence[str], where: str) -> pl.LazyFrame:
    try:
        present = frame.collect_schema().names()
    except (pl.exceptions.PolarsError, OSError) as error:
        raise unreadable(where, "a table", error) from error
    ranked = ["score"] if "rank" in present and "score" not in present else []  # ranks become scores when they are read
    renames = RUN.names([*present, *ranked], columns=None, where=where)
    names = {name: renames.get(name, name) for name in present}
    return frame.select(pl.col(name).alias(ours) for name, ours in names.items() if ours in needed)


def _scan(source: object, schema: Schema, format: Format | None, columns: Columns | None) -> pl.LazyFrame | None:
    """The source as a conformed LazyFrame, None where it can only be read whole."""
    if schema is not RUN:
        source = judgments_in(source, None) if schema is QRELS else texts_in(source, schema)
    frame: Frame
    if isinstance(source, pl.LazyFrame):
        frame, where = source, schema.label
    elif isinstance(source, (str, PathLike)) and format_of(existing(source), format, "trec") == "parquet":
        frame, where = scan_parquet(Path(source)), str(source)
        if schema is QRELS and "iteration" in frame.collect_schema():
            frame = frame.drop("iteration")
    else:
        return None
    return read_numbers(named(frame, schema, where, names_of(columns, where)).lazy(), schema, where)
