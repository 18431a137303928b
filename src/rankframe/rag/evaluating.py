"""`evaluate_samples`: RAG samples in, a report out, with or without a judge."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from os import PathLike
from typing import Literal

import polars as pl

from rankframe.errors import DataError, MetricError, counted, listed, warn
from rankframe.frames.checks import Invalid, choice
from rankframe.frames.ledger import Note, note
from rankframe.metrics.families import BuiltIn
from rankframe.metrics.matching import emptied
from rankframe.metrics.metric import Metric
from rankframe.metrics.names import DEFAULT_OF_SAMPLES, resolve
from rankframe.metrics.texts import Texts, references
from rankframe.rag.judged_metrics import JudgedMetric, columns_of
from rankframe.rag.judges import Embedder, Judge, is_named, is_same
from rankframe.rag.judging import limits, verdicts
from rankframe.rag.reports import KEYS, distinct, keyed, sample_report
from rankframe.rag.sources import Reading, named_samples
from rankframe.report import Report
from rankframe.scoring import check_ranges
from rankframe.summaries import FAILURES, Measured

_ROW = "__rankframe_row"
_PART = 2_500  # samples whose texts are taken apart at a time, so that tokens of few of them are held


def evaluate_samples(
    samples: object,
    *,
    metrics: str | Metric | Iterable[str | Metric] = DEFAULT_OF_SAMPLES,
    concurrency: int = 8,
    timeout: float | None = 120.0,
    retries: int = 2,
    wait: float = 1.0,
    cache: str | PathLike[str] | None = None,
    progress: bool = False,
    lists: str | None = None,
    legacy: bool = False,
    invalid: Invalid = "error",
    fingerprint: Literal["size", "sha256"] = "size",
) -> Report:
    """Score RAG samples: a question, a response, contexts and references each.

    Args:
        samples: whatever `read_samples` takes, or a mapping name -> any of these: one answer system each.
        metrics: names, judged metrics of `rankframe.rag`, `Metric` objects whose expression gives a number for each
            row over the columns of the samples, or a mixture; see `rankframe.metrics`.
        concurrency: how many samples judges are asked about at once.
        timeout: seconds that one call of a judge may take, None for any time; a call that takes longer has failed.
        retries: how often a call is repeated whose connection failed or whose service was too busy.
        wait: seconds before the first repetition, doubled for each further one, unless the service says how long.
        cache: a file that keeps every reply that could be read, written as it comes: an interrupted evaluation goes on
            with what is missing, a finished one asks nothing.
        progress: show a bar of the judged samples on standard error.
        lists: how lists that are stored as text are decoded, as in `read_samples`.
        legacy: map the column names of Ragas 0.1, as in `read_samples`.
        invalid: "error" refuses malformed lines and null ids; "drop" leaves them out and counts them.
        fingerprint: how the report's options tell input files apart: by path and "size", or by "sha256" of their bytes
            too.

    Returns:
        A `Report` per sample. Scores: run_id, sample_id, status String ("ok"; "failed" where a judge failed),
        n_contexts Int64, then a Float64 column per metric, null where it does not apply, which is never counted as 0;
        behind a judged metric its status, reason, reply and more. Sorted by run_id, samples in their order. In the
        summary n counts the values, n_null the samples without one, and n_failed those of them that a judge failed.

    Raises:
        MetricError: for an unknown metric, or one that scores queries, before anything is read; for a judged one whose
            prompt speaks of a column that the samples do not have, before anything is asked.
        DataError: for samples that cannot be read as they are, or none at all; for metrics that share the name of a
            column; for a cache that is no such file, or one with a judge that has no name of its own.
        ExtraError: for a metric whose library is missing.
        FileNotFoundError: for a path where nothing is.

    Warns:
        RankframeWarning: where a judge failed for every sample that it was asked about; where the cache could not be
            written to the end.

    >>> report = evaluate_samples([
    ...     {"response": "Paris.", "reference": "Paris", "retrieved_contexts": ["Paris is the capital of France."]},
    ...     {"response": "five", "reference": None, "retrieved_contexts": []},
    ... ], metrics=["exact_match", "context_recall", "non_empty_rate"])
    >>> report.summary.select("metric", "value", "n", "n_null").rows()
    [('exact_match', 1.0, 1, 1), ('context_recall', 1.0, 1, 1), ('non_empty_rate', 0.5, 2, 0)]
    """
    asked = resolve(metrics, unit="sample")
    once = list({metric.name: metric for metric in asked}.values())  # some may be put together in several ways
    plans = _plans([metric for metric in once if isinstance(metric, BuiltIn)])
    judges = [metric for metric in once if isinstance(metric, JudgedMetric)]
    own = [metric for metric in once if not isinstance(metric, (BuiltIn, JudgedMetric))]
    allowed = limits(concurrency, timeout, retries, wait)
    choice("fingerprint", fingerprint, ("size", "sha256"))
    further = [f"{metric.name}_{name}" for metric in judges for name in metric.columns]
    distinct([*KEYS, *(metric.name for metric in once), *further])  # before a judge is paid for it
    if cache is not None:
        _check_named(judges)
    loaded, inputs = named_samples(samples, Reading(lists, legacy, invalid), fingerprint)
    frame = loaded.frame
    found = {name: [column] for plan in plans for name, column in plan.values(frame).items()}
    found |= {metric.name: [_own(frame, metric)] for metric in own}
    found |= {
        metric.name: columns_of(metric, those)
        for metric, those in zip(
            judges, verdicts(judges, frame, allowed, cache, progress=progress) if judges else [], strict=True
        )
    }
    scored = [(_measured(metric), found.pop(metric.name, [])) for metric in asked]
    report = sample_report(
        loaded,
        scored,
        notes=_notes(frame, asked),
        options={
            "samples": inputs,
            "lists": lists,
            "legacy": legacy,
            "invalid": invalid,
            **({"judges": {metric.name: metric.identity for metric in judges}} if judges else {}),
        },
    )
    check_ranges(report.scores, own, "sample_id")
    _warn_of_failures(report)
    return report


def _check_named(metrics: Sequence[JudgedMetric]) -> None:
    asked: list[Judge | Embedder] = [
        one for metric in metrics for one in (metric.judge_of, getattr(metric, "embed", None)) if one is not None
    ]
    for one in asked:
        twins = [other for other in asked if type(other) is type(one) and other.identity == one.identity]
        if not is_named(one) or not all(is_same(one, other) for other in twins):
            kind = type(one).__name__
            raise DataError(
                f"cache= cannot tell {one.name} from another: wrap it, as in rankframe.rag.{kind}(function, "
                f"model=\"the model's name\"), so that no reply of one model stands for another's"
            )


class _Plan:
    """Metrics that are computed together: of a part of the samples at a time, or of all of a run, as they need."""

    def __init__(self) -> None:
        self.texts = Texts()
        self.columns: list[pl.Expr] = []

    def values(self, frame: pl.DataFrame) -> dict[str, pl.Series]:
        """The values of each metric."""
        if not self.columns:
            return {}
        numbered = frame.with_row_index(_ROW)
        parts = numbered.partition_by("run_id") if self.texts.whole else list(numbered.iter_slices(_PART))
        if len(parts) == 1:
            found = [self._computed(parts[0])]
        else:
            with ThreadPoolExecutor(pl.thread_pool_size()) as pool:
                found = list(pool.map(self._computed, parts))
        return pl.concat(found).sort(_ROW).drop(_ROW).to_dict()

    def _computed(self, part: pl.DataFrame) -> pl.DataFrame:
        inputs = part.select(name for name in (_ROW, *self.texts.inputs) if name in part.columns)
        return self.texts.add_to(inputs).select(_ROW, *self.columns)


def _plans(metrics: Sequence[BuiltIn]) -> list[_Plan]:
    """Those that need only a few samples at a time, and those whose values depend on all of a run."""
    plans = {False: _Plan(), True: _Plan()}
    for metric in metrics:
        own = Texts()
        expr = metric.expression(own)
        plans[own.whole].texts.include(own)
        plans[own.whole].columns.append(expr.cast(pl.Float64).alias(metric.name))
    return list(plans.values())


def _own(frame: pl.DataFrame, metric: Metric) -> pl.Series:
    """The values of a caller's own metric: a number for each sample."""
    try:
        found = frame.select(metric.expr.cast(pl.Float64).alias(metric.name))
    except (Exception, pl.exceptions.PanicException) as error:  # an expression may call any function
        raise _no_metric(metric, frame, str(error).partition("\n")[0]) from error
    values = found[metric.name]
    if values.dtype != pl.Float64 or len(values) != frame.height:
        raise _no_metric(
            metric, frame, f"it gives {len(values):,} values of {values.dtype} for {frame.height:,} samples"
        )
    return values.fill_nan(None)


def _no_metric(metric: Metric, frame: pl.DataFrame, why: str) -> MetricError:
    return MetricError(
        f"metric {metric.name!r} cannot be computed over the samples ({', '.join(frame.columns)}), one number per "
        f"sample: {why}"
    )


def _measured(metric: Metric) -> Measured:
    if isinstance(metric, JudgedMetric):
        status = f"{metric.name}_status"
        return Measured(metric.name, metric.name, metric.aggregate, metric.range, metric.definition, status=status)
    definition = metric.family.definition if isinstance(metric, BuiltIn) else str(metric.expr)
    return Measured(metric.name, metric.name, metric.aggregate, metric.range, definition, metric.cutoff)


def _notes(frame: pl.DataFrame, metrics: Sequence[Metric]) -> list[Note]:
    """What the built-in metrics find missing in the samples of each run."""
    needs = {name for metric in metrics if isinstance(metric, BuiltIn) for name in metric.family.needs}
    rows = keyed(frame)
    lacking: dict[str, pl.Series | pl.Expr] = {}
    if "reference" in needs:
        given = references(frame)
        lacking |= {"no_reference": given.is_null(), "empty_reference": emptied(given)}
    if "response" in needs:
        lacking["no_response"] = frame["response"].is_null() if "response" in frame.columns else pl.lit(value=True)
    if "retrieved_contexts" in needs:
        lacking["no_contexts"] = pl.col("n_contexts") == 0
    found = rows.with_columns(**lacking)
    return [
        note(reason, part.filter(pl.col(reason))["sample_id"]).of(str(run))
        for (run,), part in found.group_by(["run_id"], maintain_order=True)
        for reason in lacking
    ]


def _warn_of_failures(report: Report) -> None:
    for metric in report.metrics:
        if metric.status is None:
            continue
        failed = report.scores.filter(pl.col(metric.status).is_in(FAILURES))
        read = report.scores.filter(
            pl.col(metric.status).is_in(["ok", "no_claims"]) & pl.col(f"{metric.name}_reply").is_not_null()
        )
        if failed.height and read.is_empty():
            why = failed[f"{metric.name}_reason"].drop_nulls().unique(maintain_order=True)
            number = counted(failed.height, "sample")
            warn(f"{metric.name}: the judge failed for {number}, all that it was asked about: {listed(why, 2)}")
