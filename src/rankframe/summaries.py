"""Scores put together: what each metric of each run comes to, and over how many queries or samples."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import polars as pl

from rankframe.errors import counted
from rankframe.intervals import Interval, Intervals, mean_intervals
from rankframe.metrics.metric import GMEAN_FLOOR, Aggregate
from rankframe.rendering import number


@dataclass(frozen=True, slots=True)
class Measured:
    """A metric as a report holds it: the column of its values, and how it was asked for and put together.

    status: the column that says how each value came about, for a metric whose values can fail one by one.
    """

    name: str
    asked: str
    aggregate: Aggregate = "mean"
    range: tuple[float | None, float | None] | None = None
    definition: str | None = None
    cutoff: int | None = None
    status: str | None = None


class Aggregation(NamedTuple):
    """How values come together, and how that is a mean: of what `each` value is made, and what is `then` made of it."""

    together: Callable[[pl.Expr], pl.Expr]
    each: Callable[[pl.Series], pl.Series]
    then: Callable[[float, int], float]


AGGREGATES: dict[Aggregate, Aggregation] = {
    "mean": Aggregation(lambda values: values.mean(), lambda values: values, lambda mean, _: mean),
    "sum": Aggregation(lambda values: values.sum(), lambda values: values, lambda mean, n: mean * n),
    "gmean": Aggregation(
        lambda values: values.clip(lower_bound=GMEAN_FLOOR).log().mean().exp(),
        lambda values: values.clip(lower_bound=GMEAN_FLOOR).log(),
        lambda mean, _: math.exp(mean),
    ),
}

TOTALS = pl.Schema(
    {
        "run_id": pl.String,
        "metric": pl.String,
        "aggregate": pl.String,
        "value": pl.Float64,
        "std": pl.Float64,
        "median": pl.Float64,
        "n": pl.Int64,
        "n_missing": pl.Int64,
        "n_null": pl.Int64,
        "n_failed": pl.Int64,
    }
)

SUMMARY = (*TOTALS, "ci_low", "ci_high", "ci_reason")
"""The columns of a summary, in whatever order."""

FAILURES = ("failed", "refused", "parse_error", "error")
"""The statuses of what should have a value and has none, since something went wrong."""


def summarised(scores: pl.DataFrame, metrics: Sequence[Measured], unit: str, by: Sequence[str] = ()) -> pl.DataFrame:
    """Every metric of every run, put together over what was scored, for each slice of the columns `by`.

    Columns: those of `by`, then `TOTALS`.
    """
    names = list(dict.fromkeys(metric.name for metric in metrics))
    by_aggregate = {
        aggregate: list(dict.fromkeys(m.name for m in metrics if m.aggregate == aggregate))
        for aggregate in dict.fromkeys(metric.aggregate for metric in metrics)
    }
    keys = [*by, "run_id"]
    grouped = (
        scores.lazy()
        .group_by(keys, maintain_order=True)
        .agg(
            *(AGGREGATES[a].together(pl.col(names)).name.suffix(f" {a}") for a, names in by_aggregate.items()),
            pl.when(pl.col(names).std().is_finite()).then(pl.col(names).std()).name.suffix(" std"),
            pl.col(names).median().name.suffix(" median"),
            *(_counts(metric) for metric in _counted(metrics, unit)),
        )
        .collect()
    )
    rows = []
    for row in grouped.drop(by).iter_rows(named=True):
        for metric in metrics:
            counts = row[f"{metric.name} counts" if unit == "sample" else "counts"]
            rows.append(
                (
                    row["run_id"],
                    metric.name,
                    metric.aggregate,
                    row[f"{metric.name} {metric.aggregate}"] if counts["n"] else None,
                    row[f"{metric.name} std"],
                    row[f"{metric.name} median"],
                    *counts.values(),
                )
            )
    totals = pl.DataFrame(rows, schema=TOTALS, orient="row")
    if not by:
        return totals
    slices = grouped.select(pl.col(by).gather(pl.int_range(totals.height) // len(metrics)))
    return pl.concat([slices, totals], how="horizontal")


def with_intervals(
    totals: pl.DataFrame,
    scores: pl.DataFrame,
    metrics: Sequence[Measured],
    unit: str,
    how: Intervals,
    by: Sequence[str] = (),
) -> pl.DataFrame:
    """What `summarised` gave, with ci_low and ci_high behind the median and ci_reason String at the end."""
    names = list(dict.fromkeys(metric.name for metric in metrics))
    columns = []
    for _, group in scores.group_by([*by, "run_id"], maintain_order=True):
        values = {name: group[name].drop_nulls() for name in names}
        columns += [AGGREGATES[m.aggregate].each(values[m.name]).to_numpy() for m in metrics]
    found = mean_intervals(columns, how, unit)
    rows = zip(found, totals["value"], totals["n"], totals["aggregate"], strict=True)
    ends = pl.DataFrame([_ends(*row) for row in rows], schema=_ENDS, orient="row")
    behind = totals.columns.index("median") + 1
    return pl.concat(
        [totals[:, :behind], ends.drop("ci_reason"), totals[:, behind:], ends.select("ci_reason")], how="horizontal"
    )


_ENDS = {"ci_low": pl.Float64, "ci_high": pl.Float64, "ci_reason": pl.String}


def _ends(interval: Interval, value: float, n: int, aggregate: Aggregate) -> Interval:
    """The interval of the value, from that of the mean below it."""
    low, high, reason = interval
    if low is None or high is None:
        return interval
    if low == high:  # of equal values, whose mean may differ from them in its last bit
        return Interval(value, value, reason)
    then = AGGREGATES[aggregate].then
    return Interval(then(low, n), then(high, n), reason)


def _counted(metrics: Sequence[Measured], unit: str) -> list[tuple[str, str, str | None]]:
    """What is counted, as (name, column of values, column of statuses).

    Queries are one population for all metrics of a report; of samples, each metric has its own, and one without
    statuses never fails, though another may fail beside it.
    """
    if unit != "sample":
        return [("counts", metrics[0].name, "status")]
    by_name = {metric.name: metric.status for metric in metrics}
    return [(f"{name} counts", name, status) for name, status in by_name.items()]


def _counts(counted: tuple[str, str, str | None]) -> pl.Expr:
    name, values, status = counted
    scored, said = pl.col(values).is_not_null(), pl.lit("ok") if status is None else pl.col(status)
    return pl.struct(
        scored.sum().alias("n"),
        (scored & (said == "missing")).sum().alias("n_missing"),
        (~scored).sum().alias("n_null"),
        said.is_in(FAILURES).sum().alias("n_failed"),
    ).alias(name)


def population(scores: pl.DataFrame, totals: pl.DataFrame, unit: str) -> str:
    """How many scored queries or samples stand behind the numbers, run by run where these differ."""
    if unit == "sample":
        scored = dict(scores.group_by("run_id", maintain_order=True).len().iter_rows())
    else:
        scored = dict(totals.select("run_id", "n").iter_rows())
    numbers = set(scored.values())
    if len(numbers) == 1:
        return counted(numbers.pop(), unit)
    return ", ".join(f"{counted(n, unit)} ({run})" for run, n in scored.items())


def covered(scores: pl.DataFrame, metrics: Sequence[Measured], unit: str) -> pl.DataFrame:
    """Of how many queries or samples each metric of each run should have a value, and of how many it has one.

    Columns: run_id, metric String, n (answered and scored), n_expected Int64. A query is expected where it was asked
    and has a relevant document, and one that is missing or failed is not covered, though it may count as 0; every
    sample is expected.
    """
    names = list(dict.fromkeys(metric.name for metric in metrics))
    status, values = pl.col("status"), pl.col(names)
    expected = pl.lit(value=True) if unit == "sample" else (status != "not_asked") & (status != "no_relevant")
    answered = values.is_not_null() & (pl.lit(value=True) if unit == "sample" else ~status.is_in(["missing", "failed"]))
    if unit == "query":  # where queries without a relevant document count, they are expected too
        expected |= (status == "no_relevant") & pl.col(names[0]).is_not_null()
    counts = (
        scores.with_columns(expected=expected)
        .group_by("run_id", maintain_order=True)
        .agg(
            (answered & pl.col("expected")).sum().cast(pl.Int64),
            pl.col("expected").sum().cast(pl.Int64).alias("n_expected"),
        )
    )
    told = counts.unpivot(names, index=["run_id", "n_expected"], variable_name="metric", value_name="n")
    return told.select("run_id", "metric", "n", "n_expected")


def text_table(
    totals: pl.DataFrame, labels: Sequence[str], runs: Sequence[str], unit: str, digits: int
) -> list[list[str]]:
    """The rows that `Report.table` describes."""

    def cell(row: Mapping[str, Any]) -> str:
        value = number(row["value"], digits, whole=row["aggregate"] == "sum")
        return f"{value} (n={row['n']:,})" if unit == "sample" and row["n_null"] else value

    by_run = {run: frame.rows(named=True) for (run,), frame in totals.group_by(["run_id"])}
    rows = ([label, *(cell(by_run[run][i]) for run in runs)] for i, label in enumerate(labels))
    return [["metric", *runs], *rows]


def documented(
    scores: pl.DataFrame, totals: pl.DataFrame, metrics: Sequence[Measured], labels: Sequence[str], key: str
) -> dict[str, Any]:
    """One run as the dictionary that `Report.to_dict` describes."""
    values = dict(zip(labels, totals["value"], strict=True))
    if key == "sample_id":
        coverage = dict(zip(labels, totals["n"], strict=True))
        return {"metrics": values, "coverage": coverage, "n_samples": scores.height}
    names = list(dict.fromkeys(metric.name for metric in metrics))
    scored = scores.filter(pl.any_horizontal(pl.col(names).is_not_null()))
    return {
        "metrics": values,
        "per_query": dict(zip(scored[key], scored.select(names).iter_rows(named=True), strict=True)),
        "n_queries": scored.height,
        "k_values": tuple(sorted({metric.cutoff for metric in metrics if metric.cutoff is not None})),
    }


CLAIM = pl.Struct(
    {
        "claim": pl.Int64,
        "text": pl.String,
        "of": pl.String,
        "supported": pl.Boolean,
        "correct": pl.Boolean,
        "reason": pl.String,
        "context": pl.Int64,
        "context_id": pl.String,
        "supports": pl.Boolean,
        "cited": pl.Boolean,
    }
)
"""One claim beside one context, as the column `<metric>_claims` of the scores lists them."""


def claims_of(scores: pl.DataFrame, metrics: Sequence[str]) -> pl.DataFrame:
    """The claims of every metric that has them, a row each; the frame that `Report.claims` describes."""
    found = [
        scores.select("run_id", "sample_id", pl.lit(name).alias("metric"), pl.col(f"{name}_claims").alias("claims"))
        .filter(pl.col("claims").list.len() > 0)
        .explode("claims")
        .unnest("claims")
        for name in metrics
        if scores.schema.get(f"{name}_claims") == pl.List(CLAIM)
    ]
    if not found:
        keys = {"run_id": pl.String(), "sample_id": pl.String(), "metric": pl.String()}
        return pl.DataFrame(schema={**keys, **{field.name: field.dtype for field in CLAIM.fields}})
    return pl.concat(found).sort("run_id", maintain_order=True)
