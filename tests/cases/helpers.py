"""Scoring in one line, and one table in every form that can hold it."""

from __future__ import annotations

import csv
import gzip
import io
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa

import rankframe as rf

Row = tuple[Any, ...]

FORMS = ("frame", "lazy", "pandas", "arrow", "records", "mapping", "csv", "tsv", "jsonl", "json", "parquet")
"""Every form of a run or of judgments that names its columns, and the mapping."""


def scored(run: object, qrels: object, *metrics: str, **options: Any) -> dict[str, float]:
    """The summary value of each metric."""
    report = rf.evaluate(run, qrels, metrics=metrics, **options)
    return {metric: report.value(metric) for metric in metrics}


def ledger(report: rf.Report) -> dict[str, tuple[int, list[str]]]:
    """reason -> (count, examples) of a report on one run."""
    rows = report.ledger.select("reason", "count", "examples").rows()
    told = {reason: (count, examples) for reason, count, examples in rows}
    assert len(told) == len(rows)
    return told


def per_query(report: rf.Report, column: str) -> dict[str, Any]:
    """query -> value of a column of the scores."""
    return dict(report.scores.select("query_id", column).iter_rows())


def write(path: Path, content: str | bytes) -> Path:
    """The path, with exactly this content; folders are made."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def packed(content: str | bytes, how: str) -> bytes:
    """The content plain, or as one gzip member or zstd frame."""
    data = content if isinstance(content, bytes) else content.encode()
    if how == "gzip":
        return gzip.compress(data)
    if how == "zstd":
        return bytes(pa.compress(data, codec="zstd", asbytes=True))
    return data


def triples(frame: pl.DataFrame) -> list[Row]:
    """The first three columns, as rows."""
    return frame.select(frame.columns[:3]).rows()


def run_as(form: str, rows: Sequence[Row], folder: Path, number: str = "score") -> Any:
    """Rows (query, document, number) in one of `FORMS`; a path for forms that are files.

    None is a null, an empty field or JSON's null; NaN is written as nan or NaN.
    """
    names = ("query_id", "doc_id", number)
    records = [dict(zip(names, row, strict=True)) for row in rows]
    path = folder / f"{number}.{form}"
    made: dict[str, Callable[[], Any]] = {
        "frame": lambda: _frame(rows, names),
        "lazy": lambda: _frame(rows, names).lazy(),
        "pandas": lambda: pd.DataFrame(list(rows), columns=list(names)),
        "arrow": lambda: _frame(rows, names).to_arrow(),
        "records": lambda: records,
        "mapping": lambda: nested(rows),
        "csv": lambda: write(path, _separated(rows, names, ",")),
        "tsv": lambda: write(path, _separated(rows, names, "\t")),
        "jsonl": lambda: write(path, "".join(json.dumps(record) + "\n" for record in records)),
        "json": lambda: write(path, json.dumps(records)),
        "parquet": lambda: _parquet(_frame(rows, names), path),
    }
    return made[form]()


def nested(rows: Sequence[Row]) -> dict[Any, dict[Any, Any]]:
    """The mapping query -> {document: number}."""
    made: dict[Any, dict[Any, Any]] = {}
    for query, doc, value in rows:
        made.setdefault(query, {})[doc] = value
    return made


def _parquet(frame: pl.DataFrame, path: Path) -> Path:
    frame.write_parquet(path)
    return path


def _frame(rows: Sequence[Row], names: Sequence[str]) -> pl.DataFrame:
    columns = list(zip(*rows, strict=True)) or [()] * len(names)
    return pl.DataFrame([pl.Series(name, values) for name, values in zip(names, columns, strict=True)])


def _separated(rows: Sequence[Row], names: Sequence[str], separator: str) -> str:
    text = io.StringIO()
    if separator == ",":
        writer = csv.writer(text, lineterminator="\n")
    else:
        writer = csv.writer(text, delimiter=separator, quoting=csv.QUOTE_NONE, quotechar=None, lineterminator="\n")
    writer.writerow(names)
    writer.writerows(["" if value is None else value for value in row] for row in rows)
    return text.getvalue()
