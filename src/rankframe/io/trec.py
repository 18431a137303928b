"""TREC runs and qrels: six and four columns, as trec_eval reads them."""

from __future__ import annotations

import mmap
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import polars as pl

from rankframe.errors import DataError, listed
from rankframe.frames.checks import LINE, Invalid
from rankframe.frames.ledger import Note
from rankframe.frames.schemas import QRELS, RUN, Schema
from rankframe.io.files import compression
from rankframe.io.text import Layout, first_line, named, numeric, read_lines

Columns = Mapping[str, str] | Sequence[str]

_ORDER = (LINE, "query_id", "doc_id", "score", "relevance", "rank", "tag")
RUN_FIELDS = ("query_id", "Q0", "doc_id", "rank", "score", "tag")
_RUN = Layout(RUN_FIELDS, numbers=("rank", "score"), least=5, rest=True)
_QRELS = Layout(("query_id", "iteration", "doc_id", "relevance"), numbers=("relevance",), least=4)
_MSMARCO = Layout(("query_id", "doc_id", "rank"), numbers=("rank",), least=3)
_THREE = Layout(("query_id", "doc_id", "relevance"), numbers=("relevance",), least=3)


def run_layout(path: Path, columns: Columns | None, *, msmarco: bool) -> Layout:
    """How the lines of a run file are read, judged by its first line.

    Raises:
        DataError: for three or four columns without names, of which nobody can say what they are.
    """
    first = first_line(path)
    if first is None:
        return _RUN
    number, fields = first
    if columns is not None and not isinstance(columns, Mapping):
        return _given(path, columns, fields)
    if msmarco:
        return _MSMARCO
    if len(fields) >= 5 and numeric(fields[4]):
        return _RUN
    if _names(fields, RUN, columns):
        return _with_header(path, _RUN, fields, number, RUN, {0: "query_id", 2: "doc_id", 4: "score"}, columns)
    if len(fields) == 3 and numeric(fields[2]):
        raise DataError(
            f"{path}: three columns without a header may end in a rank or in a score; say so with "
            f'format="msmarco" (query, document, rank) or columns=["query_id", "doc_id", "score"]'
        )
    if len(fields) < 5:
        raise DataError(
            f"{path}: line {number} has {len(fields)} fields ({listed(fields, 6)}); a TREC run has six: "
            f"{' '.join(RUN_FIELDS)}; a table needs a header or columns="
        )
    return _RUN


def qrels_layout(path: Path, columns: Columns | None) -> Layout:
    """How the lines of a qrels file are read: four columns are TREC, three are BEIR, with or without a header."""
    first = first_line(path)
    if first is None:
        return _QRELS
    number, fields = first
    if columns is not None and not isinstance(columns, Mapping):
        return _given(path, columns, fields)
    if len(fields) >= 3 and numeric(fields[min(len(fields), 4) - 1]):
        return _THREE if len(fields) == 3 else _QRELS
    return _with_header(path, _QRELS, fields, number, QRELS, {0: "query_id", 2: "doc_id", 3: "relevance"}, columns)


def _given(path: Path, columns: Sequence[str], fields: list[str]) -> Layout:
    if len(columns) != len(fields):
        raise DataError(f"{path}: columns= names {len(columns)} columns, the first line has {len(fields)}")
    numbers = tuple(name for name in columns if name in ("score", "rank", "relevance"))
    return Layout(tuple(columns), numbers=numbers, least=len(columns))


def _names(fields: list[str], schema: Schema, columns: Mapping[str, str] | None) -> bool:
    """Whether a line holds column names rather than values."""
    known = {name for column in schema.columns for name in (column.name, *column.aliases)} | set(columns or ())
    return sum(field in known for field in fields) >= 2


def _with_header(
    path: Path,
    trec: Layout,
    names: list[str],
    number: int,
    schema: Schema,
    places: Mapping[int, str],
    columns: Mapping[str, str] | None,
) -> Layout:
    """The layout of a file whose first line holds names: TREC where they stand in its places, else a table."""
    aliases = {name: column.name for column in schema.columns for name in (column.name, *column.aliases)}
    in_place = len(names) >= trec.least and all(aliases.get(names[place]) == name for place, name in places.items())
    if in_place and columns is None:
        return replace(trec, header=number)
    return named(path, names, schema, number, columns)


def read_trec_run(
    path: Path,
    columns: Columns | None,
    invalid: Invalid,
    *,
    msmarco: bool = False,
    only: Sequence[str] | None = None,
) -> tuple[pl.DataFrame, list[Note]]:
    """A run file as columns: query_id, doc_id String, score Float64, rank Int64, tag String, as far as it has them."""
    layout = run_layout(path, columns, msmarco=msmarco)
    if layout is _RUN and (fast := _regular_run(path, only)) is not None:
        return fast, []
    frame, notes = read_lines(path, layout, invalid)
    return _tidy(frame, "Q0"), notes


def read_trec_qrels(path: Path, columns: Columns | None, invalid: Invalid) -> tuple[pl.DataFrame, list[Note]]:
    """A qrels file as columns: query_id, doc_id String, relevance Float64, and iteration where it is TREC."""
    frame, notes = read_lines(path, qrels_layout(path, columns), invalid)
    return _tidy(frame), notes


def _regular_run(path: Path, only: Sequence[str] | None) -> pl.DataFrame | None:
    """A file of six fields between single blanks or tabs, the common case, by Polars' CSV reader; None for any other.

    Every way in which that reader could take a line for something else leaves a null, an unread number or a query
    called # behind, but for blanks around fields and tabs inside of them, which are looked for in the bytes.
    """
    if compression(path) is not None or not path.stat().st_size:
        return None
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        tabs, blanks = content.find(b"\t") >= 0, content.find(b" ") >= 0
    if tabs and blanks:
        return None
    numbers = {"rank": pl.Int64 if only is None else pl.Int32, "score": pl.Float64}  # narrow where nobody sees it
    types = {name: numbers.get(name, pl.String) for name in RUN_FIELDS}
    scan = pl.scan_csv(
        path, has_header=False, separator="\t" if tabs else " ", schema=types, quote_char=None, glob=False
    )
    kept = [name for name in RUN_FIELDS if name != "Q0" and (only is None or name in only)]
    try:
        frame = scan.select(*kept, pl.col("Q0").is_not_null()).collect()
    except pl.exceptions.PolarsError:
        return None
    filled = frame["Q0"].all() and not any(frame[name].null_count() for name in kept if name != "tag")
    if not filled or frame["score"].is_nan().any() or (frame["query_id"] == "#").any():
        return None
    return _tidy(frame, "Q0")


def _tidy(frame: pl.DataFrame, *unused: str) -> pl.DataFrame:
    """Without columns that carry nothing, score before rank, ranks whole where they are."""
    first = [name for name in _ORDER if name in frame.columns]
    frame = frame.select(*first, *(name for name in frame.columns if name not in (*first, *unused)))
    if "tag" in frame.columns and frame["tag"].null_count() == frame.height > 0:
        frame = frame.drop("tag")
    if "rank" in frame.columns and frame["rank"].dtype == pl.Float64:
        whole = frame["rank"].cast(pl.Int64, strict=False)
        if (whole.cast(pl.Float64) == frame["rank"]).all():
            frame = frame.with_columns(whole)
    return frame
