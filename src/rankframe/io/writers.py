"""Frames into files: a format writes what it can hold, and what it cannot hold is refused by name.

What is about to be written is read back and compared first; only a file that gives the frame back takes its place.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from io import BytesIO
from os import PathLike
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal

import polars as pl

from rankframe.errors import DataError, counted, listed
from rankframe.frames.checks import LINE, Loaded, choice, valid_ids, valid_rows
from rankframe.frames.coerce import read_numbers
from rankframe.frames.schemas import CORPUS, POOL, QRELS, QUERIES, RUN, Schema
from rankframe.io.files import Format, compressed, format_of
from rankframe.io.readers import load_qrels, load_run, load_texts
from rankframe.io.retrievals import Retrieval, loaded_retrieval

Rest = Literal["error", "drop"]
Target = str | PathLike[str]


def write_run(
    run: object, path: Target, *, format: Format | None = None, columns: Rest = "error", tag: str = "rankframe"
) -> None:
    """Write a run, in the format that the suffix or `format` names (TREC text where neither does).

    Args:
        run: whatever `read_run` takes, or a `Retrieval`.
        path: where to; `.gz` and `.zst` compress. Folders on the way are made.
        format: "trec", "tsv", "csv", "json", "jsonl" or "parquet".
        columns: "error" refuses columns that the format cannot hold, "drop" leaves them out.
        tag: the last column of TREC text where the run has no column `tag`.

    Raises:
        DataError: for columns, ids or queries that the format cannot hold, naming them. Nothing is written then.

    Reading the file gives an equal frame. TREC text gets the columns rank and tag where the run has none: rank by
    score, then document id descending. A JSON mapping has the rows of a query together.
    """
    if not isinstance(tag, str):
        raise DataError(f"tag={tag!r}: the tag of a run is text")
    loaded = valid_rows(loaded_retrieval(run), "score") if isinstance(run, Retrieval) else load_run(run)
    _prepared(loaded, RUN, path, format, "trec", columns, tag=tag).take_place()


def write_qrels(qrels: object, path: Target, *, format: Format | None = None, columns: Rest = "error") -> None:
    """Write judgments, in the format that the suffix or `format` names (TREC text where neither does).

    `.tsv` is BEIR's table with a header. TREC text gets 0 as second column where there is no `iteration`.
    Arguments and errors as in `write_run`.
    """
    _prepared(load_qrels(qrels, iteration=True), QRELS, path, format, "trec", columns).take_place()


def write_queries(queries: object, path: Target, *, format: Format | None = None, columns: Rest = "error") -> None:
    """Write queries as JSON lines (BEIR's, with `_id`), TSV, CSV, JSON or Parquet; arguments as in `write_run`."""
    _prepared(load_texts(queries, QUERIES), QUERIES, path, format, "jsonl", columns).take_place()


def write_corpus(corpus: object, path: Target, *, format: Format | None = None, columns: Rest = "error") -> None:
    """Write a corpus as JSON lines (BEIR's, with `_id`), TSV, CSV, JSON or Parquet; arguments as in `write_run`."""
    _prepared(load_texts(corpus, CORPUS), CORPUS, path, format, "jsonl", columns).take_place()


def write_pool(pool: object, path: Target, *, format: Format | None = None, columns: Rest = "error") -> None:
    """Write a pool as CSV, JSON lines, JSON or Parquet, as the suffix or `format` says, to be filled in.

    `pool` is what `rankframe.pool` gave, or any frame or file with query_id, doc_id and relevance; grades may be null.
    Other arguments and errors as in `write_run`. TSV is refused: there a row without a grade looks like one that is
    broken off. A pool without rows is written too; JSON then loses the names of its columns, with nothing under them.
    In a spreadsheet, import the ids as text, or 0042 becomes 42.
    """
    loaded = _load_pool(pool)
    _refuse_graded(Path(path))
    if loaded.frame.is_empty() and columns == "error":  # with a column of no rows nothing is lost
        columns = "drop"
    _prepared(loaded, POOL, path, format, "trec", columns).take_place()


def _refuse_graded(target: Path) -> None:
    """Refuse to write over a pool that somebody has begun to judge."""
    if not target.is_file():
        return
    try:
        graded = _load_pool(target).frame["relevance"].count()
    except (DataError, OSError):  # no pool
        return
    if graded:
        raise DataError(
            f"{target}: {counted(graded, 'grade')} already there; merge_judgments takes them; give another name"
        )


def _load_pool(source: object, format: Format | None = None) -> Loaded:
    """A pool as it is written: both ids in every row, grades as numbers or null."""
    loaded = valid_ids(load_texts(source, POOL, format=format), "doc_id")
    return replace(loaded, frame=read_numbers(loaded.frame.lazy(), POOL, loaded.where).collect())


def write_texts_and_qrels(folder: Path, corpus: object, queries: object, qrels: object, qrels_name: str) -> None:
    """Write the three files of a BEIR folder: all of them, or none where one is refused."""
    files = [
        _prepared(load_texts(corpus, CORPUS), CORPUS, folder / "corpus.jsonl", None, "jsonl", "error"),
        _prepared(load_texts(queries, QUERIES), QUERIES, folder / "queries.jsonl", None, "jsonl", "error"),
        _prepared(load_qrels(qrels, iteration=True), QRELS, folder / qrels_name, None, "tsv", "error"),
    ]
    for file in files:
        file.take_place()


@dataclass(frozen=True, slots=True)
class _Prepared:
    """The content of a file that gives its frame back."""

    content: bytes
    target: Path

    def take_place(self) -> None:
        """Write it beside its place, then into it, so that nobody meets half of it."""
        self.target.parent.mkdir(parents=True, exist_ok=True)
        part = self.target.with_name(f".{self.target.name}.part")
        try:
            part.write_bytes(self.content)
            part.replace(self.target)
        finally:
            part.unlink(missing_ok=True)


def _prepared(
    loaded: Loaded,
    schema: Schema,
    path: Target,
    format: Format | None,
    default: Format,
    columns: Rest,
    *,
    tag: str = "",
) -> _Prepared:
    choice("columns", columns, ("error", "drop"))
    target = Path(path)
    if target.is_dir():
        raise DataError(f"{target} is a folder; name a file in it")
    kind = format_of(target, format, default)
    valid = [name for name in _CONTENTS if schema not in _UNFIT.get(name, ())]
    if kind not in valid:
        raise DataError(f"{target}: {kind} is no format for writing {schema.name}; {', '.join(valid)} are")
    if loaded.no_results and kind != "json":
        raise DataError(
            f"{target}: {kind} cannot say that a query has no results ({listed(loaded.no_results)}); write JSON, "
            f"the Parquet of a Retrieval, or leave such queries out"
        )
    if loaded.failed:
        raise DataError(
            f"{target}: a run cannot say that the retrieval of a query failed ({listed(loaded.failed)}); "
            f"Retrieval.write_parquet keeps the log"
        )
    loaded = replace(loaded, frame=loaded.frame.drop(LINE, strict=False))
    content, lost = _tried(target, loaded, schema, kind, tag)
    if lost and columns == "drop":
        kept = [name for name in loaded.frame.columns if name not in lost or name in schema.required]
        loaded = replace(loaded, frame=loaded.frame.select(kept))
        content, lost = _tried(target, loaded, schema, kind, tag)
    if lost:
        raise DataError(_refusal(target, kind, schema, loaded.frame, lost))
    return _Prepared(content, target)


def _tried(target: Path, loaded: Loaded, schema: Schema, kind: Format, tag: str) -> tuple[bytes, list[str]]:
    """The content of the file, and the columns that do not come back as they were when it is read."""
    expected = _trec_frame(loaded.frame, schema, tag) if kind == "trec" else loaded.frame
    if kind == "trec":
        broken = [name for name in ("query_id", "doc_id") if expected[name].str.contains(r"[ \t\r\n\x0b\x0c]").any()]
        if broken:  # ours may read some of them, other tools do not
            return b"", broken
    if kind == "json" and schema in (RUN, QRELS):
        _refuse_repeated(target, expected)
        expected = expected.with_columns(first=pl.int_range(pl.len()).min().over("query_id"))
        expected = expected.sort("first", maintain_order=True).drop("first")
    try:
        content = _CONTENTS[kind](replace(loaded, frame=expected), schema)
        if kind != "parquet":
            content = compressed(target, content)
        with TemporaryDirectory() as folder:
            copy = Path(folder) / "copy"
            copy.write_bytes(content)
            back = _READERS[schema.label](copy, kind)
    except (DataError, ValueError, TypeError, pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        odd = [name for name, kind_ in expected.schema.items() if kind_.is_nested() or kind_ in (pl.Binary, pl.Object)]
        if any(name not in schema.required for name in odd):
            return b"", odd
        told = f"{_refusal(target, kind, schema, expected, list(schema.required))} ({error})"
        raise DataError(told) from error
    if back.height != expected.height:
        return content, list(schema.required)
    names = dict.fromkeys([*loaded.frame.columns, *expected.columns])
    return content, [
        name
        for name in names
        if name not in back.columns or name not in expected.columns or not _same(expected[name], back[name])
    ]


def _same(one: pl.Series, other: pl.Series) -> bool:
    return one.dtype == other.dtype and one.equals(other, null_equal=True)


def _refusal(target: Path, kind: Format, schema: Schema, frame: pl.DataFrame, lost: list[str]) -> str:
    """Why a frame is refused: ids or numbers that do not come back, or columns that the format has no place for."""
    needed = [name for name in lost if name in schema.required]
    if not needed:
        return (
            f"{target}: {kind} cannot give back the columns {listed(lost, 12)} as they are; "
            f'columns="drop" leaves them out'
        )
    told = [f"{name}: {listed(_odd(frame[name]))}" for name in needed]
    return (
        f"{target}: {kind} cannot give back every value as it is (TREC text holds no id with a blank, JSON nothing "
        f"infinite); {'; '.join(told)}; write Parquet instead"
    )


def _odd(values: pl.Series) -> pl.Series:
    """The values that a text format most likely stumbles over, else all of them."""
    if values.dtype == pl.String:
        odd = values.is_null() | values.str.contains(r"[\s\x00-\x20\x7f\x{feff}\"',]|^$|^#")
    else:
        odd = values.is_null() | ~values.is_finite()
    return (values.filter(odd) if odd.any() else values).unique(maintain_order=True)


def _refuse_repeated(target: Path, frame: pl.DataFrame) -> None:
    twice = frame.filter(pl.struct("query_id", "doc_id").is_duplicated())
    if twice.height:
        raise DataError(
            f"{target}: {counted(twice.height, 'row')} share a (query, document) pair, which JSON holds once: "
            f"{listed(twice.select('query_id', 'doc_id').unique(maintain_order=True).rows(), 3)}"
        )


_READERS: dict[str, Callable[[Path, Format], pl.DataFrame]] = {
    "run": lambda path, kind: load_run(path, format=kind).frame.drop(LINE, strict=False),
    "qrels": lambda path, kind: load_qrels(path, format=kind, iteration=True).frame.drop(LINE, strict=False),
    "queries": lambda path, kind: load_texts(path, QUERIES, format=kind).frame.drop(LINE, strict=False),
    "corpus": lambda path, kind: load_texts(path, CORPUS, format=kind).frame.drop(LINE, strict=False),
    "pool": lambda path, kind: _load_pool(path, kind).frame,
}


# The content of each format.


def _trec_frame(frame: pl.DataFrame, schema: Schema, tag: str) -> pl.DataFrame:
    """The columns of TREC text, with those that the frame lacks."""
    if schema is QRELS:
        if "iteration" not in frame.columns:
            frame = frame.with_columns(iteration=pl.lit("0"))
        return frame.select("query_id", "iteration", "doc_id", "relevance")
    if "rank" not in frame.columns:
        order = pl.struct("score", "doc_id").rank("ordinal", descending=True).over("query_id")
        frame = frame.with_columns(rank=order.cast(pl.Int64))
    if "tag" not in frame.columns:
        frame = frame.with_columns(tag=pl.lit(tag))
    return frame.select("query_id", "doc_id", "rank", "score", "tag")


def _trec(loaded: Loaded, schema: Schema) -> bytes:
    frame = loaded.frame
    second = "iteration" if schema is QRELS else pl.lit("Q0")
    rest = ("relevance",) if schema is QRELS else ("rank", "score", "tag")
    lines = (_graded(frame) if schema is QRELS else frame).select("query_id", second, "doc_id", *rest)
    return lines.write_csv(separator=" ", include_header=False, quote_style="never").encode()


def _tsv(loaded: Loaded, schema: Schema) -> bytes:
    frame = _graded(loaded.frame) if schema is QRELS else loaded.frame
    return frame.rename(_beir_names(schema)).write_csv(separator="\t", quote_style="never").encode()


def _csv(loaded: Loaded, _: Schema) -> bytes:
    return loaded.frame.write_csv(quote_style="non_numeric").encode()


def _json(loaded: Loaded, schema: Schema) -> bytes:
    frame = loaded.frame
    if schema not in (RUN, QRELS):
        return frame.rename(_beir_names(schema)).write_json().encode()
    number = schema.columns[2].name
    grouped = frame.group_by("query_id", maintain_order=True).agg("doc_id", number)
    made = {query: dict(zip(docs, numbers, strict=True)) for query, docs, numbers in grouped.iter_rows()}
    made |= {query: {} for query in loaded.no_results}
    return json.dumps(made, ensure_ascii=False, allow_nan=False).encode()


def _jsonl(loaded: Loaded, schema: Schema) -> bytes:
    return loaded.frame.rename(_beir_names(schema)).write_ndjson().encode()


def _parquet(loaded: Loaded, _: Schema) -> bytes:
    buffer = BytesIO()
    loaded.frame.write_parquet(buffer)
    return buffer.getvalue()


_CONTENTS: dict[str, Callable[[Loaded, Schema], bytes]] = {
    "trec": _trec,
    "tsv": _tsv,
    "csv": _csv,
    "json": _json,
    "jsonl": _jsonl,
    "parquet": _parquet,
}
_UNFIT: dict[str, tuple[Schema, ...]] = {"trec": (QUERIES, CORPUS, POOL), "tsv": (POOL,)}
"""What a format is not written for."""


def _beir_names(schema: Schema) -> dict[str, str]:
    """The names that BEIR's files have for our columns."""
    if schema in (CORPUS, QUERIES):
        return {schema.columns[0].name: "_id"}
    return {"query_id": "query-id", "doc_id": "corpus-id", "relevance": "score"} if schema is QRELS else {}


def _graded(frame: pl.DataFrame) -> pl.DataFrame:
    """Grades as text: whole ones without a point, as every reader of qrels expects them."""
    grade = pl.col("relevance")
    whole = (grade == grade.round()) & (grade.abs() < 2**53)
    text = pl.when(whole).then(grade.cast(pl.Int64, strict=False).cast(pl.String)).otherwise(grade.cast(pl.String))
    return frame.with_columns(text)
