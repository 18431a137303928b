"""A report of samples: their scores in one frame, whoever gave them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import polars as pl

from rankframe import __version__
from rankframe.errors import DataError, listed
from rankframe.frames.checks import Loaded
from rankframe.frames.ledger import Note, ledger_frame, note
from rankframe.report import Report
from rankframe.summaries import FAILURES, Measured

KEYS = ("run_id", "sample_id", "status", "n_contexts")
"""The columns that lead the scores of samples."""

_REASONS = {
    "refused": "judge_refused",
    "parse_error": "judge_unread",
    "error": "judge_failed",
    "no_claims": "no_claims",
    "missing_input": "missing_input",
}
"""What the ledger says of a status."""


def sample_report(
    samples: Loaded,
    scored: Sequence[tuple[Measured, Sequence[pl.Series]]],
    *,
    notes: Iterable[Note] = (),
    options: Mapping[str, Any] | None = None,
) -> Report:
    """The report of samples whose scores are there, in the order of the samples.

    Args:
        samples: what `load_samples` gave; its frame and notes.
        scored: each metric with its columns: the Float64 values under the metric's name, then whatever says more of
            them, such as the String column that `Measured.status` names.
        notes: what the ledger says besides the samples' own notes and the statuses.
        options: what made the scores.

    Returns:
        A `Report` per sample. Scores: run_id, sample_id String, status String ("ok"; "failed" where a value is missing
        since something went wrong), n_contexts Int64, then the columns of `scored`. Sorted by run_id; the samples of
        a run stand in their order.

    Raises:
        DataError: for two columns of one name, and for a column whose length is not that of the samples.
    """
    frame = keyed(samples.frame)
    columns = [column for _, those in scored for column in those]
    names = distinct([*KEYS, *(column.name for column in columns)])
    short = [column.name for column in columns if len(column) != frame.height]
    if short:
        raise DataError(f"the columns {listed(short)} do not have a value for each of {frame.height:,} samples")
    statuses = [measured.status for measured, _ in scored if measured.status is not None]
    scores = frame.with_columns(columns)
    failed = pl.any_horizontal(pl.lit(value=False), *(pl.col(name).is_in(FAILURES) for name in statuses))
    scores = scores.with_columns(status=pl.when(failed).then(pl.lit("failed")).otherwise(pl.lit("ok")))
    said = [*samples.notes, *notes, *_status_notes(scores, [measured for measured, _ in scored])]
    return Report(
        scores=scores.select(names).sort("run_id", maintain_order=True),
        ledger=ledger_frame(said),
        metrics=tuple(measured for measured, _ in scored),
        options={**(options or {}), "versions": {"rankframe": __version__, "polars": pl.__version__}},
        unit="sample",
    )


def distinct(names: Sequence[str]) -> Sequence[str]:
    """The names of columns, if each of them stands there once.

    Raises:
        DataError: for one that stands there twice.
    """
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise DataError(f"two columns of the scores are called {listed(twice)}; give one metric another name")
    return names


def keyed(frame: pl.DataFrame) -> pl.DataFrame:
    """Run and id of each sample, and how many contexts it has: run_id, sample_id, n_contexts."""
    run = pl.col("run_id") if "run_id" in frame.columns else pl.lit("run")
    contexts = pl.col("retrieved_contexts").list.len().cast(pl.Int64) if "retrieved_contexts" in frame.columns else None
    count = pl.lit(0, pl.Int64) if contexts is None else contexts.fill_null(0)
    return frame.select(run.alias("run_id"), "sample_id", count.alias("n_contexts"))


def _status_notes(scores: pl.DataFrame, metrics: Sequence[Measured]) -> list[Note]:
    """What the ledger says of values that are not there, by run and status, with the metric beside each example."""
    told: list[Note] = []
    judged = list({metric.name: metric for metric in metrics if metric.status is not None}.values())
    for (run,), rows in scores.group_by(["run_id"], maintain_order=True):
        for status, reason in _REASONS.items():
            those = [
                f"{sample} ({metric.name})" if len(judged) > 1 else sample
                for metric in judged
                for sample in rows.filter(pl.col(metric.status or "") == status)["sample_id"]
            ]
            told.append(replace(note(reason, those), run_id=str(run)))
    return told
