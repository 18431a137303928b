"""Reports that were saved: the Parquet file of `Report.write_parquet`, read back."""

from __future__ import annotations

import json
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any

import polars as pl

from rankframe.errors import DataError
from rankframe.frames.ledger import SCHEMA
from rankframe.report import FORMAT, METADATA, Report
from rankframe.summaries import AGGREGATES, Measured


def read_report(path: str | PathLike[str]) -> Report:
    """The report that `Report.write_parquet` wrote; its summary is computed anew from the scores.

    Raises:
        FileNotFoundError: where there is no such file.
        DataError: for a Parquet file that holds no report, or one of a later format.
    """
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"no report at {path}")
    try:
        metadata = pl.read_parquet_metadata(path).get(METADATA)
        scores = pl.read_parquet(path, glob=False)
    except (pl.exceptions.PolarsError, OSError) as error:
        raise DataError(f"{path}: cannot be read as Parquet ({str(error).partition(chr(10))[0]})") from error
    if metadata is None:
        raise DataError(f"{path}: this Parquet file was not written by Report.write_parquet; read it with Polars")
    try:
        told = json.loads(metadata)
        newer = told["format"] > FORMAT
        report = None if newer else _retold(told, scores)
    except (LookupError, TypeError, ValueError, RecursionError, pl.exceptions.PolarsError) as error:
        raise DataError(
            f"{path}: its metadata {METADATA!r} is not what Report.write_parquet writes "
            f"({type(error).__name__}: {error!s:.80}); read the file with Polars"
        ) from error
    if report is None:
        raise DataError(f"{path}: report format {told['format']} is newer than this rankframe knows ({FORMAT})")
    return report


def _retold(told: Mapping[str, Any], scores: pl.DataFrame) -> Report:
    """The report of these scores that the metadata tells of; any error says that it tells of another."""
    metrics = tuple(
        Measured(**{**metric, "range": metric["range"] and tuple(metric["range"])}) for metric in told["metrics"]
    )
    report = Report(
        scores=scores,
        ledger=pl.DataFrame(told["ledger"], schema=SCHEMA, orient="row"),
        metrics=metrics,
        options=dict(told["options"]),
        unit=told["unit"],
    )
    lacking = {"run_id", report.key, "status", *(metric.name for metric in metrics)} - set(scores.columns)
    unknown = {metric.aggregate for metric in metrics} - set(AGGREGATES)
    if lacking or unknown or not metrics:
        raise LookupError(*sorted(lacking | unknown))
    return report
