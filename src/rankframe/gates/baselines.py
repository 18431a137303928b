"""Regressions: a report held against an earlier one, over what both of them score."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import polars as pl

from rankframe.errors import DataError, MetricError, counted, listed, nearest
from rankframe.gates.labels import Find, found, known, labelled, named
from rankframe.gates.values import below, plain, share, told, with_columns_of
from rankframe.metrics.metric import real
from rankframe.summaries import AGGREGATES, Measured

NOISE = 1e-12
"""By how much a drop may exceed what is allowed, as the rounding of floats alone can do that."""

_REGRESSIONS = pl.Schema(
    {
        "run_id": pl.String,
        "new_run_id": pl.String,
        "metric": pl.String,
        "old": pl.Float64,
        "new": pl.Float64,
        "drop": pl.Float64,
        "max_drop": pl.Float64,
        "n": pl.Int64,
        "coverage": pl.Float64,
        "passed": pl.Boolean,
        "why": pl.String,
    }
)


def regressions(
    new: pl.DataFrame,
    old: pl.DataFrame,
    metrics: Sequence[Measured],
    key: str,
    *,
    max_drop: float | Mapping[str, float] = 0.0,
    min_coverage: float = 1.0,
    new_metrics: Sequence[Measured] | None = None,
    find: Find = known,
) -> pl.DataFrame:
    """Hold every run and metric of an old report against a new one, paired by query or sample.

    Args:
        new: the new scores: run_id, `key`, and a numeric column per metric, null where there is no score.
        old: the old scores, likewise.
        metrics: the metrics of the old report.
        key: the column that names what is scored, such as "query_id"; a run has each of them once.
        max_drop: by how much a value may fall, from 0; or metric -> that, 0 for the others. A metric of which less is
            better is left to go where it will by infinity. Rounding is allowed for by 1e-12.
        min_coverage: the share of what the old report scored that the new one must score too, from 0 to 1.
        new_metrics: the metrics of the new report; unless given, its numeric columns.
        find: gives the label of a metric for what `max_drop` calls it; as in `checked`.

    Returns:
        A row per run and metric of the old report: run_id, new_run_id String (the run that it is held against; another
        name where both reports have one run only, null where there is none), metric String, old, new Float64 (put
        together over what both score, so that they are comparable), drop Float64 (old - new), max_drop Float64, n
        Int64 (scored by both), coverage Float64 (their share of what the old report scored), passed Boolean, why
        String (null where passed). A run or metric that the new report lacks does not pass, nor does a metric of which
        nothing is scored in both. One of which the old report scored nothing cannot fall. Runs and metrics that only
        the new report has are not looked at.

    Raises:
        MetricError: for a `max_drop` that is no number from 0, or that names a metric which the old report lacks.
        DataError: for `min_coverage` outside of [0, 1], frames that lack a column, and repeated queries or samples.

    >>> old = pl.DataFrame({"run_id": ["a", "a"], "query_id": ["q1", "q2"], "mrr": [1.0, 0.5]})
    >>> new = pl.DataFrame({"run_id": ["a", "a"], "query_id": ["q2", "q1"], "mrr": [0.5, 0.5]})
    >>> regressions(new, old, [Measured("mrr", "mrr")], "query_id").select("old", "new", "why").rows()
    [(0.75, 0.5, 'fell by 0.25, more than 0')]
    """
    least = share("min_coverage", min_coverage)
    labels = labelled((metric.name, metric.aggregate) for metric in metrics)
    allowed = _allowed(max_drop, list(labels.values()), find)
    _units(old, key, [metric.name for metric in metrics], "the old report")
    _units(new, key, [metric.name for metric in new_metrics or ()], "the new report")
    numeric = [name for name, dtype in new.schema.items() if dtype.is_numeric()]
    there = numeric if new_metrics is None else list(dict.fromkeys(metric.name for metric in new_metrics))
    against = _counterparts(old, new)
    runs = listed(_runs(new)) or "no runs"
    rows: list[tuple[Any, ...]] = []
    for pair in _paired(new, old, labels, key, there, against).iter_rows(named=True):
        other = against[pair["run_id"]]
        for (name, _), label in labels.items():
            before, after, n, of = (pair[f"{what} {label}"] for what in ("old", "new", "n", "of"))
            drop = None if before is None else 0.0 if before == after else before - after
            if other is None:
                why: str | None = f"not in the new report, which has {runs}"
            elif name not in there:
                why = f"not in the new report: {nearest(label, there)}"
            else:
                why = _short(drop, allowed[label], n, of, least, key.removesuffix("_id"))
            coverage = n / of if of else None
            row = (label, before, after, drop, allowed[label], n, coverage, why is None, why)
            rows.append((pair["run_id"], other, *row))
    return pl.DataFrame(rows, _REGRESSIONS, orient="row")


def drop_of(name: str, given: object) -> float:
    """An allowed drop as a caller gives it, for all metrics or the one that is named."""
    number = real(given)
    if number is None or number < 0:
        raise MetricError(f"{name}: a drop that is allowed is a number from 0, got {given!r:.80}")
    return number


def _allowed(given: float | Mapping[str, float], labels: Sequence[str], find: Find) -> dict[str, float]:
    """The allowed drop of every metric."""
    if not isinstance(given, Mapping):
        return dict.fromkeys(labels, drop_of("max_drop", given))
    allowed = dict.fromkeys(labels, 0.0)
    for name, drop in given.items():
        label = found(named(name), labels, find)
        if label is None:
            raise MetricError(f"max_drop: no metric {name!r} in the old report: {nearest(name, labels)}")
        allowed[label] = drop_of(f"max_drop of {name}", drop)
    return allowed


def _units(scores: pl.DataFrame, key: str, metrics: Iterable[str], what: str) -> None:
    """Refuse scores that cannot be paired."""
    with_columns_of(scores, ("run_id", key, *metrics), what)
    twice = scores.filter(pl.struct("run_id", key).is_duplicated())
    if twice.height:
        pairs = twice.select("run_id", key).unique(maintain_order=True).rows()
        raise DataError(f"{what}: {counted(twice.height, 'row')} share run_id and {key}, such as {listed(pairs, 3)}")


def _runs(scores: pl.DataFrame) -> list[str]:
    return scores["run_id"].unique(maintain_order=True).to_list()


def _counterparts(old: pl.DataFrame, new: pl.DataFrame) -> dict[str, str | None]:
    """Which run of the new report each of the old one is held against: the only one, or the one of its name."""
    before, after = _runs(old), _runs(new)
    if len(before) == len(after) == 1:
        return {before[0]: after[0]}
    return {run: run if run in after else None for run in before}


def _paired(
    new: pl.DataFrame,
    old: pl.DataFrame,
    labels: Mapping[tuple[str, str], str],
    key: str,
    there: Sequence[str],
    against: Mapping[str, str | None],
) -> pl.DataFrame:
    """A row per run of the old report; per label its old and new value, n, and of how many scored by the old one."""
    names = list(dict.fromkeys(name for name, _ in labels))
    back = {other: run for run, other in against.items() if other is not None}
    after = new.filter(pl.col("run_id").is_in(list(back))).select(
        pl.col("run_id").replace(back), key, *(pl.col(name).alias(f"new {name}") for name in names if name in there)
    )
    before = old.select("run_id", key, *(pl.col(name).alias(f"old {name}") for name in names))
    nothing = [pl.lit(None, pl.Float64).alias(f"new {name}") for name in names if name not in there]
    both = before.join(after, on=["run_id", key], how="left", maintain_order="left").with_columns(nothing)
    return both.group_by("run_id", maintain_order=True).agg(
        expr for (name, aggregate), label in labels.items() for expr in _comparison(name, aggregate, label)
    )


def _comparison(name: str, aggregate: Any, label: str) -> list[pl.Expr]:
    before, after = pl.col(f"old {name}"), pl.col(f"new {name}")
    both = before.is_not_null() & after.is_not_null()
    value = AGGREGATES[aggregate].together
    return [
        *(
            pl.when(both.any()).then(value(scores.filter(both))).alias(f"{what} {label}")  # no sum of nothing
            for what, scores in (("old", before), ("new", after))
        ),
        both.sum().cast(pl.Int64).alias(f"n {label}"),
        before.is_not_null().sum().cast(pl.Int64).alias(f"of {label}"),
    ]


def _short(drop: float | None, allowed: float, n: int, of: int, least: float, unit: str) -> str | None:
    """Why the new values do not pass, None where they do."""
    if of == 0:  # the old report has no value here below which a new one could fall
        return None
    reasons = []
    if drop is None:
        reasons.append(f"no {unit} is scored in both")
    elif math.isnan(drop):
        reasons.append("there is no value")
    elif drop > allowed + NOISE:
        reasons.append(f"fell by {told(drop, allowed, 4)}, more than {plain(allowed)}")
    if n / of < least:
        reasons.append(f"scores {n:,} of {counted(of, unit)} of the old report, {below(n / of, least)}")
    return "; ".join(reasons) or None
