"""Frames into files. A format writes what it can hold and reads back equal; what it cannot hold is refused by name."""

from __future__ import annotations

import json
from collections.abc import Callable
from os import PathLike
from pathlib import Path
from typing import Literal

import polars as pl

from rankframe.errors import DataError, counted, listed
from rankframe.frames.checks import LINE, Loaded, choice
from rankframe.frames.schemas import CORPUS, QRELS, QUERIES, RUN, Schema
from rankframe.io.files import Format, compressed, format_of
from rankframe.io.readers import load_qrels, load_run, load_texts

Rest = Literal["error", "drop"]
_TREC_ID = r"[ \t\r\n\x0b\x0c]|^$|^#$|^\x{feff}"
"""What an id in TREC text may not hold: what separates, what comments, and what a reader takes for a mark."""
PathLike_ = str | PathLike[str]


def write_run(
    run: object, path: PathLike_, *, format: Format | None = None, columns: Rest = "error", tag: str = "rankframe"
) -> None:
    """Write a run, in the format that the suffix or `format` names (TREC text where neither does).

    Args:
        run: whatever `read_run` takes.
        path: where to; `.gz` and `.zst` compress.
        format: "trec", "tsv", "csv", "json", "jsonl" or "parquet".
        columns: "error" refuses columns that the format cannot hold, "drop" leaves them out.
        tag: the last column of TREC text where the run has no column `tag`.

    Raises:
        DataError: for columns, ids or queries that the format cannot hold, naming them. Nothing is written then.

    TREC text gets the columns rank and tag where the run has none: rank by score, then document id descending.
    """
    loaded = load_run(run)
    target, kind = _target(path, format, "trec")
    if kind in ("trec", "msmarco"):
        _refuse_silent(loaded, target, "TREC text")
        frame = _trec_columns(loaded.frame, tag, named="tag" in loaded.frame.columns)
        frame = _only(frame, ("query_id", "Q0", "doc_id", "rank", "score", "tag"), target, columns)
        _refuse_blanks(frame, ("query_id", "doc_id"), _TREC_ID, target, "holds no id with a blank")
        _refuse_blanks(frame, ("tag",), r"[\t\r\n\x0b\x0c]|  |^ | $|^$", target, "holds no such tag")
        _write(target, frame.write_csv(separator=" ", include_header=False, quote_style="never"))
    else:
        _write_table(loaded, RUN, target, kind, columns)


def write_qrels(qrels: object, path: PathLike_, *, format: Format | None = None, columns: Rest = "error") -> None:
    """Write judgments, in the format that the suffix or `format` names (TREC text where neither does).

    `.tsv` is BEIR's table with a header. TREC text gets 0 as second column where there is no `iteration`.
    Arguments and errors as in `write_run`.
    """
    loaded = load_qrels(qrels, iteration=True)
    target, kind = _target(path, format, "trec")
    if kind == "trec":
        _refuse_silent(loaded, target, "TREC text")
        frame = loaded.frame
        if "iteration" not in frame.columns:
            frame = frame.with_columns(iteration=pl.lit("0"))
        frame = _only(frame, ("query_id", "iteration", "doc_id", "relevance"), target, columns)
        _refuse_blanks(frame, ("query_id", "iteration", "doc_id"), _TREC_ID, target, "holds no id with a blank")
        _write(target, frame.with_columns(_grade()).write_csv(separator=" ", include_header=False, quote_style="never"))
    else:
        _write_table(loaded, QRELS, target, kind, columns)


def write_queries(queries: object, path: PathLike_, *, format: Format | None = None, columns: Rest = "error") -> None:
    """Write queries as JSON lines (BEIR's, with `_id`), TSV, CSV, JSON or Parquet; arguments as in `write_run`."""
    target, kind = _target(path, format, "jsonl")
    _write_table(load_texts(queries, QUERIES), QUERIES, target, kind, columns)


def write_corpus(corpus: object, path: PathLike_, *, format: Format | None = None, columns: Rest = "error") -> None:
    """Write a corpus as JSON lines (BEIR's, with `_id`), TSV, CSV, JSON or Parquet; arguments as in `write_run`."""
    target, kind = _target(path, format, "jsonl")
    _write_table(load_texts(corpus, CORPUS), CORPUS, target, kind, columns)


def _target(path: PathLike_, given: str | None, default: Format) -> tuple[Path, Format]:
    target = Path(path)
    if target.is_dir():
        raise DataError(f"{target} is a folder; name a file in it")
    return target, format_of(target, given, default)


def _write_table(loaded: Loaded, schema: Schema, target: Path, kind: Format, columns: Rest) -> None:
    frame = loaded.frame.drop(LINE, strict=False)
    if kind == "parquet":
        _refuse_silent(loaded, target, "Parquet")
        frame.write_parquet(_made(target))
        return
    if kind == "json" and schema in (RUN, QRELS):
        _write(target, json.dumps(_nested(loaded, schema, target, columns), ensure_ascii=False))
        return
    _refuse_silent(loaded, target, kind)
    writers: dict[str, Callable[[], str]] = {
        "jsonl": lambda: frame.rename(_beir_names(schema)).write_ndjson(),
        "json": lambda: frame.rename(_beir_names(schema)).write_json(),
        "csv": lambda: _flat(frame, target, columns).write_csv(quote_style="non_numeric"),
        "tsv": lambda: _tsv(frame, schema, target, columns),
    }
    if kind not in writers:
        raise DataError(f"{target}: {kind} is no format for {schema.name}")
    _write(target, writers[kind]())


def _beir_names(schema: Schema) -> dict[str, str]:
    """The names that BEIR's files have for our columns."""
    if schema in (CORPUS, QUERIES):
        return {schema.columns[0].name: "_id"}
    return {"query_id": "query-id", "doc_id": "corpus-id", "relevance": "score"} if schema is QRELS else {}


def _tsv(frame: pl.DataFrame, schema: Schema, target: Path, columns: Rest) -> str:
    flat = _flat(frame, target, columns)
    text = [name for name, dtype in flat.schema.items() if dtype == pl.String]
    _refuse_blanks(
        flat,
        text,
        r"[\t\r\n]|^[ \x0b\x0c]|[ \x0b\x0c]$|^$",
        target,
        "holds no tab, line end, outer blank or empty text",
    )
    _refuse_blanks(flat, text[:1], r"^# |^#$|^\x{feff}", target, "holds no line that begins like a comment")
    if schema is QRELS:
        flat = flat.with_columns(_grade())
    return flat.rename(_beir_names(schema)).write_csv(separator="\t", quote_style="never")


def _grade() -> pl.Expr:
    """Grades as text: whole ones without a point, as every reader of qrels expects them."""
    grade = pl.col("relevance")
    whole = (grade == grade.round()) & (grade.abs() < 2**53)
    return pl.when(whole).then(grade.cast(pl.Int64, strict=False).cast(pl.String)).otherwise(grade.cast(pl.String))


def _trec_columns(frame: pl.DataFrame, tag: str, *, named: bool) -> pl.DataFrame:
    if "rank" not in frame.columns:
        order = pl.struct("score", "doc_id").rank("ordinal", descending=True).over("query_id")
        frame = frame.with_columns(rank=order.cast(pl.Int64))
    if not named:
        frame = frame.with_columns(tag=pl.lit(tag))
    return frame.with_columns(Q0=pl.lit("Q0"))


def _only(frame: pl.DataFrame, names: tuple[str, ...], target: Path, columns: Rest) -> pl.DataFrame:
    """The columns that the format has, in its order; others are refused or left out."""
    choice("columns", columns, ("error", "drop"))
    rest = [name for name in frame.columns if name not in (*names, LINE)]
    if rest and columns == "error":
        raise DataError(
            f'{target}: TREC text has no place for the columns {listed(rest, 12)}; columns="drop" leaves them out'
        )
    return frame.select(names)


def _flat(frame: pl.DataFrame, target: Path, columns: Rest) -> pl.DataFrame:
    """A frame without nested columns, which text tables cannot hold."""
    choice("columns", columns, ("error", "drop"))
    nested = [name for name, dtype in frame.schema.items() if dtype.is_nested() or dtype in (pl.Binary, pl.Object)]
    if nested and columns == "error":
        raise DataError(
            f"{target}: a text table cannot hold the nested columns {listed(nested, 12)}; "
            f'columns="drop" leaves them out'
        )
    return frame.drop(nested)


def _nested(loaded: Loaded, schema: Schema, target: Path, columns: Rest) -> dict[str, dict[str, float]]:
    """The mapping query -> {document: number}, in the order of the rows."""
    choice("columns", columns, ("error", "drop"))
    number = schema.columns[2].name
    frame = loaded.frame.drop(LINE, strict=False)
    rest = [name for name in frame.columns if name not in ("query_id", "doc_id", number)]
    if rest and columns == "error":
        raise DataError(
            f'{target}: a JSON mapping has no place for the columns {listed(rest, 12)}; columns="drop" leaves them out'
        )
    if frame[number].is_infinite().any():
        raise DataError(f"{target}: JSON has no infinite numbers; write Parquet, CSV or TREC text")
    twice = frame.filter(pl.struct("query_id", "doc_id").is_duplicated())
    if twice.height:
        raise DataError(
            f"{target}: {counted(twice.height, 'row')} share a (query, document) pair, which a mapping holds once"
        )
    grouped = frame.group_by("query_id", maintain_order=True).agg("doc_id", number)
    made = {query: dict(zip(docs, numbers, strict=True)) for query, docs, numbers in grouped.iter_rows()}
    return {**made, **{query: {} for query in loaded.no_results}}


def _refuse_silent(loaded: Loaded, target: Path, what: str) -> None:
    if loaded.no_results:
        raise DataError(
            f"{target}: {what} cannot say that a query has no results ({listed(loaded.no_results)}); write JSON, or "
            f"leave such queries out"
        )


def _refuse_blanks(frame: pl.DataFrame, names: tuple[str, ...] | list[str], odd: str, target: Path, why: str) -> None:
    for name in names:
        wrong = frame[name].filter(frame[name].str.contains(odd)).unique(maintain_order=True)
        if len(wrong):
            raise DataError(
                f"{target}: this format {why}; {name}: {listed(wrong)}; write Parquet, CSV or JSON lines instead"
            )


def _made(target: Path) -> Path:
    target.parent.mkdir(parents=True, exist_ok=True)
    return target


def _write(target: Path, text: str) -> None:
    _made(target).write_bytes(compressed(target, text.encode()))
