"""Reports that were saved: the Parquet file of `Report.write_parquet`, read back."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any

import polars as pl

from rankframe.errors import DataError, listed
from rankframe.frames.ledger import SCHEMA
from rankframe.io.files import beside, writing
from rankframe.report import FORMAT, METADATA, Report
from rankframe.summaries import AGGREGATES, Measured


def read_report(path: str | PathLike[str] | Sequence[str | PathLike[str]]) -> Report:
    """The report that `Report.write_parquet` wrote; its summary is computed anew from the scores.

    Args:
        path: of one file; or a list of several, which become one report of all their runs, as for a comparison.

    Raises:
        FileNotFoundError: where there is no such file.
        DataError: for a Parquet file that holds no report, or one of a later format; for several that do not belong
            together: of equal run names, other metrics, or other rules of which queries count.
    """
    if isinstance(path, (str, PathLike)):
        return _read(Path(path))
    if not isinstance(path, Sequence) or not path:
        raise DataError(f"read_report takes a path, or a list of paths, got {path!r:.80}")
    return _together({str(one): _read(Path(one)) for one in path})


def holds_report(path: Path) -> bool:
    """Whether a report stands in this file."""
    try:
        return METADATA in pl.read_parquet_metadata(path)
    except (pl.exceptions.PolarsError, OSError):
        return False


def written(
    path: str | PathLike[str], blocks: Iterable[pl.DataFrame], report: Callable[[pl.DataFrame], Report]
) -> Report:
    """Write scores to a Parquet file while they are made, and give the report that stands there then.

    Args:
        path: of the file, which is there once it is whole.
        blocks: the scores, at least one block.
        report: makes the report of scores.

    Raises:
        DataError: where it cannot be written.
    """
    place = Path(path)
    with beside(place) as part:
        writer: Any = None
        try:
            for scores in blocks:
                table = scores.to_arrow(compat_level=pl.CompatLevel.oldest())
                with writing(place):
                    if writer is None:
                        writer = _writer(part, table)
                    writer.write_table(table)
            writer.add_key_value_metadata(report(scores).told())
        finally:
            if writer is not None:
                writer.close()
        return _read(part)


def _writer(path: Path, table: Any) -> Any:
    import pyarrow.parquet as pq

    return pq.ParquetWriter(path, table.schema, compression="zstd")


def _together(reports: Mapping[str, Report]) -> Report:
    """One report of all runs, whose scores mean the same."""
    (first, report), *others = reports.items()
    holders = dict.fromkeys(report.runs, first)
    for name, other in others:
        for what, here, there in _meanings(report, other):
            if here != there:
                raise DataError(
                    f"{first} and {name} cannot stand together: their {what} differ, {here} and {there}; evaluate the "
                    f"runs alike, or in one call"
                )
        for run in other.runs:
            if run in holders:
                raise DataError(
                    f"{holders[run]} and {name} both hold a run {run!r}; evaluate one of them under another name, as "
                    f"in evaluate({{'new': run}}, qrels)"
                )
            holders[run] = name
    everything = list(reports.values())
    try:
        scores = pl.concat([one.scores for one in everything], how="diagonal_relaxed")
    except pl.exceptions.PolarsError as error:
        raise DataError(
            f"{listed(reports)}: columns of one name cannot stand together ({str(error).partition(chr(10))[0]}); join "
            f"metadata after reading"
        ) from error
    return replace(
        report,
        scores=scores.sort("run_id", report.key),
        ledger=pl.concat([one.ledger for one in everything])
        .unique(maintain_order=True)  # what is said of the judgments stands in each
        .sort("run_id", "reason", nulls_last=False),
        options={**report.options, "runs": [run for one in everything for run in one.options.get("runs", [])]},
    )


def _meanings(report: Report, other: Report) -> Iterator[tuple[str, object, object]]:
    """What must be the same in both for their scores to mean the same."""
    yield "units", report.unit, other.unit
    here, there = (sorted(f"{m.name} ({m.aggregate})" for m in one.metrics) for one in (report, other))
    yield "metrics", here, there
    for rule in ("convention", "missing", "no_relevant", "self_hits"):
        yield f"rules of {rule!r}", report.options.get(rule), other.options.get(rule)


def _read(path: Path) -> Report:
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
