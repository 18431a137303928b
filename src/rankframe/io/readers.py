"""Judgments, runs, queries and corpora from anything that holds them: paths, mappings, frames of any library."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from pathlib import Path

import polars as pl

from rankframe.errors import DataError, listed, warn
from rankframe.frames.checks import (
    LINE,
    Duplicates,
    Invalid,
    Loaded,
    choice,
    parted_rows,
    settled_judgments,
    valid_ids,
    valid_rows,
)
from rankframe.frames.coerce import (
    Frame,
    collected,
    conform,
    nested_columns,
    read_numbers,
    record_frame,
    scored_by_rank,
    table_frame,
    text_columns,
)
from rankframe.frames.ledger import REASONS, Note
from rankframe.frames.schemas import CORPUS, JUDGED, QRELS, QUERIES, RUN, Schema
from rankframe.io.files import Format, existing, format_of
from rankframe.io.folders import find_qrels, find_texts
from rankframe.io.tables import read_csv, read_json, read_jsonl, scan_parquet, scan_shards, unreadable
from rankframe.io.text import first_line, read_table
from rankframe.io.trec import Columns, read_trec_qrels, read_trec_run


def read_run(
    source: object, *, format: Format | None = None, columns: Columns | None = None, invalid: Invalid = "error"
) -> pl.DataFrame:
    """A run as a frame.

    Args:
        source: a path (TREC text, TSV, CSV, JSON, JSON lines, Parquet or a folder of it; gzip and zstd are
            recognised), a mapping query -> {document: score}, or a frame: Polars, pandas, pyarrow, anything with an
            Arrow stream.
        format: what a file holds, where neither its suffix nor its first line says so; "msmarco" for three columns
            that end in a rank.
        columns: your column names -> ours, or the names of a text file's columns in their order.
        invalid: "error" refuses malformed lines, null ids, and null or NaN scores; "drop" leaves them out with a
            warning that counts them.

    Returns:
        query_id, doc_id String, score Float64, then whatever else there is: rank and tag of a TREC file, run_id,
        metadata. Rows as they stand. A source with `rank` and no `score` gets score = -rank. No rows for an empty one.

    Raises:
        FileNotFoundError: for a path where nothing is.
        DataError: for input that cannot be read as it is; the message names the place and what resolves it.

    >>> read_run({"q1": {"d1": 2.0, "d2": 1.0}}).rows()
    [('q1', 'd1', 2.0), ('q1', 'd2', 1.0)]
    """
    return _told(load_run(source, format=format, columns=columns, invalid=invalid))


def read_qrels(
    source: object,
    *,
    format: Format | None = None,
    columns: Columns | None = None,
    split: str | None = None,
    iteration: bool = False,
    invalid: Invalid = "error",
    duplicates: Duplicates = "error",
) -> pl.DataFrame:
    """Judgments as a frame.

    Args:
        source: a path (TREC four columns; BEIR three columns with or without a header; CSV, JSON, JSON lines,
            Parquet; gzip and zstd are recognised), a BEIR folder, a folder into which an engine wrote part-*.parquet,
            a mapping query -> {document: grade}, or a frame.
        format: what a file holds, where its suffix misleads.
        columns: your column names -> ours, or the names of a text file's columns in their order.
        split: which judgments of a BEIR folder, by name ("test", "dev", "train").
        iteration: keep the second column of a TREC file.
        invalid: "error" refuses malformed lines, null ids and grades that are no finite number; "drop" leaves them
            out with a warning that counts them.
        duplicates: "error" refuses pairs with different grades; "best" keeps the highest with a warning.

    Returns:
        query_id, doc_id String, relevance Float64, then metadata. Rows as they stand; no rows for an empty source.

    Raises:
        FileNotFoundError: for a path where nothing is.
        DataError: for input that cannot be read as it is; the message names the place and what resolves it.

    >>> read_qrels({"q1": {"d1": 2, "d2": 0}}).rows()
    [('q1', 'd1', 2.0), ('q1', 'd2', 0.0)]
    """
    loaded = load_qrels(source, format=format, columns=columns, split=split, iteration=iteration, invalid=invalid)
    settled = settled_judgments(loaded, duplicates)  # refuses conflicts
    if duplicates == "best" and settled.frame.height < loaded.frame.height:
        loaded = settled
    return _told(loaded)


def read_queries(
    source: object, *, format: Format | None = None, columns: Columns | None = None, invalid: Invalid = "error"
) -> pl.DataFrame:
    """Queries as a frame: query_id, text String, then all metadata.

    `source` is a path (JSON lines, TSV, CSV, JSON, Parquet), a BEIR folder, one of an engine's part-*.parquet, a
    mapping id -> text, or a frame. Other arguments and errors as in `read_run`; a record without an id is an error.

    >>> read_queries({"q1": "red kite"}).rows()
    [('q1', 'red kite')]
    """
    return _told(load_texts(source, QUERIES, format=format, columns=columns, invalid=invalid))


def read_corpus(
    source: object, *, format: Format | None = None, columns: Columns | None = None, invalid: Invalid = "error"
) -> pl.DataFrame:
    """A corpus as a frame: doc_id, text String, title String where there is one, then all metadata.

    `source` is a path (JSON lines, TSV, CSV, JSON, Parquet), a BEIR folder, a mapping id -> text or id ->
    {"title": .., "text": ..}, or a frame. Other arguments and errors as in `read_run`.

    >>> read_corpus({"d1": {"title": "Kites", "text": "A red kite."}}).columns
    ['doc_id', 'text', 'title']
    """
    return _told(load_texts(source, CORPUS, format=format, columns=columns, invalid=invalid))


def load_run(
    source: object,
    *,
    format: Format | None = None,
    columns: Columns | None = None,
    invalid: Invalid = "error",
    only: tuple[str, ...] | None = None,
    checked: bool = True,
) -> Loaded:
    """A run with where it came from and what was left out of it; `only` these columns, its rows yet to be `checked`."""
    choice("invalid", invalid, ("error", "drop"))
    loaded = _load(source, RUN, format, columns, invalid, only)
    return valid_rows(loaded, "score", invalid) if checked else loaded


def load_qrels(
    source: object,
    *,
    format: Format | None = None,
    columns: Columns | None = None,
    split: str | None = None,
    iteration: bool = False,
    invalid: Invalid = "error",
) -> Loaded:
    """Judgments with where they came from and what was left out of them; repeated pairs still stand there."""
    choice("invalid", invalid, ("error", "drop"))
    loaded = valid_rows(_load(judgments_in(source, split), QRELS, format, columns, invalid), "relevance", invalid)
    if not iteration and isinstance(source, (str, PathLike)):
        loaded.frame = loaded.frame.drop("iteration", strict=False)
    return loaded


def load_judged(source: object) -> Loaded:
    """A judged ranking with where it came from; its ids and grades are checked, its ranks only read as numbers."""
    loaded = _load(source, JUDGED, None, None, "error", tuple(column.name for column in JUDGED.columns))
    loaded.frame = collected(read_numbers(loaded.frame.lazy(), JUDGED, loaded.where))
    valid, wrong = parted_rows(loaded, "relevance")
    if wrong is not None:
        raise DataError(wrong.message(loaded.where, "filter such rows out before, if they are no judgments"))
    return valid


def judgments_in(source: object, split: str | None) -> object:
    """The judgments in a folder: one file, or its shards as a LazyFrame; anything else as it is."""
    if isinstance(source, (str, PathLike)) and (folder := existing(source)).is_dir():
        paths = find_qrels(folder, split)
        return paths[0] if len(paths) == 1 else scan_shards(paths)
    if split is not None:
        raise DataError(f"split={split!r} goes with a BEIR folder; the source is {source!r:.80}")
    return source


def texts_in(source: object, schema: Schema) -> object:
    """The file of a corpus or of queries in a folder; anything else as it is."""
    if isinstance(source, (str, PathLike)) and (folder := existing(source)).is_dir():
        return find_texts(folder, schema.label)
    return source


def load_texts(
    source: object,
    schema: Schema,
    *,
    format: Format | None = None,
    columns: Columns | None = None,
    invalid: Invalid = "error",
) -> Loaded:
    """A corpus or queries with where they came from and what was left out of them."""
    choice("invalid", invalid, ("error", "drop"))
    return valid_ids(_load(texts_in(source, schema), schema, format, columns, invalid), schema.columns[0].name, invalid)


def _told(loaded: Loaded) -> pl.DataFrame:
    """The frame for the caller; what it cannot say itself is warned of."""
    for note in loaded.notes:
        warn(f"{loaded.where}: {REASONS[note.reason]}: {note.count:,}, such as {listed(note.examples)}")
    if loaded.no_results:
        warn(
            f"{loaded.where}: {len(loaded.no_results):,} queries have no results ({listed(loaded.no_results)}), which "
            f"no row can say; give the mapping itself to evaluate"
        )
    return loaded.frame.drop(LINE, strict=False)


def _load(
    source: object,
    schema: Schema,
    format: Format | None,
    columns: Columns | None,
    invalid: Invalid,
    only: tuple[str, ...] | None = None,
) -> Loaded:
    if isinstance(source, (str, PathLike)):
        return _load_path(existing(source), schema, format, columns, invalid, only)
    where = schema.label
    if isinstance(source, Mapping):
        return _load_mapping(source, schema, where)
    frame = table_frame(source, where, schema.text_names(names_of(columns, where)))
    if frame is None:
        raise DataError(
            f"{where}: a {type(source).__name__} holds no table; expected a path, "
            f"{'' if schema is JUDGED else 'a mapping, '}or a frame (Polars, pandas, pyarrow, a list of records)"
        )
    return Loaded(conformed(frame, schema, where, names_of(columns, where), only), where)


def _load_mapping(source: Mapping[object, object], schema: Schema, where: str) -> Loaded:
    if schema in (RUN, QRELS):
        frame, empty = nested_columns(source, schema.columns[2].name, where)
        return Loaded(frame, where, no_results=empty)
    if schema is JUDGED:
        raise DataError(
            f"{where}: a mapping is none; expected a frame or a path, with a row per judgment: query_id, doc_id, "
            f"relevance, rank"
        )
    return Loaded(collected(conform(text_columns(source, schema.columns[0].name, where), schema, where)), where)


def _load_path(
    path: Path,
    schema: Schema,
    format: Format | None,
    columns: Columns | None,
    invalid: Invalid,
    only: tuple[str, ...] | None,
) -> Loaded:
    where = str(path)
    frame: Frame
    notes: list[Note] = []
    match _format(path, format, schema):
        case "parquet":
            frame = scan_parquet(path)
        case "csv":
            frame = read_csv(path, schema, names_of(columns, where))
        case "jsonl":
            frame, notes = read_jsonl(path, schema, names_of(columns, where), invalid)
        case "json":
            value = read_json(path)
            if isinstance(value, Mapping):
                return _load_mapping(value, schema, where)
            frame = _json_records(value, schema, where, names_of(columns, where))
        case "trec" if schema is JUDGED:
            raise DataError(
                f"{path}: a judged ranking is read from Parquet, CSV, TSV, JSON or JSON lines, by the suffix of its "
                f"file"
            )
        case kind if schema is RUN:
            frame, notes = read_trec_run(path, columns, invalid, msmarco=kind == "msmarco", only=only)
        case _ if schema is QRELS:
            frame, notes = read_trec_qrels(path, columns, invalid)
        case _:
            frame, notes = read_table(path, schema, columns, invalid)
    if not frame.collect_schema():
        frame = pl.DataFrame(schema=dict.fromkeys(schema.required, pl.String))
    return Loaded(conformed(frame, schema, where, _renames(columns), only), where, notes)


def _json_records(value: object, schema: Schema, where: str, columns: Mapping[str, str] | None) -> pl.DataFrame:
    """The frame of what a JSON file holds that is no mapping."""
    if not isinstance(value, list) or not all(isinstance(record, Mapping) for record in value):
        holds = "a list of records" if schema is JUDGED else "a mapping or a list of records"
        raise DataError(f"{where}: a JSON file holds {holds}, got {value!s:.40}")
    return record_frame(value, where, schema.text_names(columns))


def _format(path: Path, given: Format | None, schema: Schema) -> Format:
    """The format as given or by suffix; else TREC, and for texts JSON lines if the first line is one, or a table."""
    kind = format_of(path, given, "trec")
    if kind != "trec" or given is not None or schema in (RUN, QRELS, JUDGED):
        return kind
    first = first_line(path)
    return "jsonl" if first is None or first[1][0].startswith("{") else "tsv"


def conformed(
    frame: Frame,
    schema: Schema,
    where: str,
    renames: Mapping[str, str] | None = None,
    only: tuple[str, ...] | None = None,
) -> pl.DataFrame:
    """The frame with our names and dtypes, `only` some of its columns, in memory."""
    try:
        frame = named(frame, schema, where, renames)
        if only is not None:
            frame = frame.select([name for name in only if name in frame.collect_schema()])
        return collected(frame)
    except (pl.exceptions.PolarsError, OSError) as error:
        raise unreadable(where, "a table", error) from error


def named(frame: Frame, schema: Schema, where: str, renames: Mapping[str, str] | None) -> Frame:
    """The frame with our names and dtypes; a run that has only ranks is scored by them."""
    if schema is RUN:
        frame = scored_by_rank(frame, renames, where)
    return conform(frame, schema, where, renames)


def _renames(columns: Columns | None) -> Mapping[str, str] | None:
    """The mapping among the two forms of `columns`; a list of names was used when the lines were read."""
    return columns if isinstance(columns, Mapping) else None


def names_of(columns: Columns | None, where: str) -> Mapping[str, str] | None:
    """The names that a caller gives to columns, where there is a header; a list of names is refused."""
    if columns is None or isinstance(columns, Mapping):
        return columns
    raise DataError(
        f'{where}: columns= is a mapping here, as in {{"yours": "query_id"}}; a list is for text without a header'
    )
