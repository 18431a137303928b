"""What scores show: slices, the hardest queries and the largest changes; frames of scores in, frames out."""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Mapping, Sequence

import polars as pl

from rankframe.errors import DataError, listed, nearest
from rankframe.intervals import whole_number
from rankframe.summaries import SUMMARY, Measured

_OWN = ("run_id", "status", "n_ret", "n_rel", "n_judged", "n_contexts")
"""Columns of scores that are neither keys, metrics nor joined."""

Bins = int | Sequence[float]


def sliced(
    scores: pl.DataFrame, columns: Sequence[str], bins: Mapping[str, Bins], metrics: Collection[str]
) -> pl.DataFrame:
    """The scores sorted by the slice columns, nulls last, with those of `bins` binned and NaN as null.

    Raises:
        DataError: as `Report.by`.
    """
    _check_names(scores, columns, bins, metrics)
    slices = [_slices(scores[name], bins.get(name)) for name in columns]
    return scores.with_columns(slices).sort(columns, nulls_last=True, maintain_order=True)


def _check_names(
    scores: pl.DataFrame, columns: Sequence[str], bins: Mapping[str, Bins], metrics: Collection[str]
) -> None:
    if not columns:
        raise DataError('by() takes the columns to slice by, as in report.join(queries).by("topic")')
    for name in dict.fromkeys([*columns, *bins]):
        if name not in scores.columns:
            there = [column for column in scores.columns if column not in metrics and column != "run_id"]
            raise DataError(
                f"no column {name!r} in the scores; report.join(queries) puts metadata there, by query_id. "
                f"{nearest(str(name), there).capitalize()}"
            )
    taken = [name for name in columns if name in SUMMARY or name in metrics]
    if taken:
        raise DataError(
            f"{listed(taken)} is a column of every summary, or a metric; to slice by it give it another name, as in "
            f'report.join(scores.select("query_id", {taken[0]!r}), suffix="_old")'
        )
    if len(set(columns)) < len(columns):
        raise DataError(f"a column to slice by is named twice: {listed(columns)}")
    unused = [name for name in bins if name not in columns]
    if unused:
        raise DataError(f"bins= names {listed(unused)}, which by() was not asked for")


def _slices(values: pl.Series, bins: Bins | None) -> pl.Series:
    """The slice of every row, null where there is none."""
    if values.dtype.is_nested() or values.dtype == pl.Object:
        raise DataError(
            f"{values.name!r} is {values.dtype}, which makes no slices; join a column of one value for each query"
        )
    if values.dtype.is_float():
        values = values.fill_nan(None)
    if bins is None:
        return values
    if not values.dtype.is_numeric():
        raise DataError(f"bins= is for numbers, and {values.name!r} is {values.dtype}; leave it out of bins=")
    return _binned(values, _edges(values, bins))


def _edges(values: pl.Series, bins: Bins) -> list[float]:
    """Where one slice ends and the next begins, ascending."""
    if isinstance(bins, (int, float)):
        whole_number(f"bins of {values.name!r}", bins, 2)
        shares = [i / int(bins) for i in range(1, int(bins))]
        finite = values.filter(values.is_finite()) if values.dtype.is_float() else values
        quantiles = [finite.quantile(share, interpolation="lower") for share in shares]
        return sorted({float(edge) for edge in quantiles if edge is not None})
    edges = list(bins)
    numbers = all(isinstance(edge, (int, float)) and math.isfinite(edge) for edge in edges)
    if not edges or not numbers or any(low >= high for low, high in itertools.pairwise(edges)):
        raise DataError(
            f'bins of {values.name!r} are a number of slices or ascending edges, as in bins={{"{values.name}": '
            f"[10, 20]}}, got {bins!r:.80}"
        )
    return [float(edge) for edge in edges]


def _binned(values: pl.Series, edges: Sequence[float]) -> pl.Series:
    """Which slice a number is in; one on an edge is in the slice below it."""
    if not edges:  # no value at all
        return pl.Series(values.name, [None] * len(values), dtype=pl.Enum([]))
    told = [f"{edge:g}" for edge in edges]
    if len(set(told)) < len(told):
        told = [repr(edge) for edge in edges]
    names = [f"<= {told[0]}", *(f"> {low} to {high}" for low, high in itertools.pairwise(told)), f"> {told[-1]}"]
    return values.cast(pl.Float64).cut(edges, labels=names).cast(pl.Enum(names)).alias(values.name)


def hardest(
    scores: pl.DataFrame, metric: Measured, metrics: Sequence[Measured], key: str, n: int | None
) -> pl.DataFrame:
    """The frame that `Report.hardest` describes."""
    values, judged = pl.col(metric.name), judged_share(metric, metrics, key)
    found = scores.group_by(key, maintain_order=True).agg(
        pl.lit(metric.name).alias("metric"),
        values.mean().alias("value"),
        values.min().alias("lowest"),
        values.max().alias("highest"),
        judged.mean().alias("judged"),
    )
    ordered = found.drop_nulls("value").sort("value", key)
    return _first(_with_joined(ordered, scores, metrics, key), n)


def changes(
    scores: pl.DataFrame, runs: tuple[str, str], metric: Measured, metrics: Sequence[Measured], key: str, n: int | None
) -> pl.DataFrame:
    """The frame that `Report.diff` describes."""
    judged = judged_share(metric, metrics, key)
    a, b = (
        scores.filter(pl.col("run_id") == run).select(
            key, pl.col(metric.name).alias(f"value_{side}"), judged.alias(f"judged_{side}")
        )
        for run, side in zip(runs, "ab", strict=True)
    )
    value_a, value_b = pl.col("value_a"), pl.col("value_b")
    both = a.join(b, on=key, how="full", coalesce=True, maintain_order="left_right").select(
        key,
        pl.lit(metric.name).alias("metric"),
        value_a,
        value_b,
        difference(value_b, value_a).alias("difference"),
        "judged_a",
        "judged_b",
    )
    ordered = both.sort(pl.col("difference").abs(), key, descending=[True, False], nulls_last=True)
    return _first(_with_joined(ordered, scores, metrics, key), n)


def difference(value: pl.Expr, other: pl.Expr) -> pl.Expr:
    """`value` minus `other`; values that differ by rounding alone are equal."""
    gap = value - other
    size = pl.max_horizontal(value.abs(), other.abs(), 1.0)
    return pl.when((value == other) | (gap.abs() <= ROUNDING * size)).then(0.0).otherwise(gap)


ROUNDING = 1e-12
"""Up to this, and this share of the larger one, two scores are the same."""


def judged_share(metric: Measured, metrics: Sequence[Measured], key: str) -> pl.Expr:
    """The share of judged documents among those that a metric looks at, null where the report does not tell it."""
    name = "judged" if metric.cutoff is None else f"judged@{metric.cutoff}"
    if any(other.name == name for other in metrics):
        return pl.col(name)
    if metric.cutoff is None and key == "query_id":
        returned = pl.col("n_ret")
        return pl.when(returned > 0).then(pl.col("n_judged") / returned)
    return pl.lit(None, dtype=pl.Float64)


def _with_joined(found: pl.DataFrame, scores: pl.DataFrame, metrics: Sequence[Measured], key: str) -> pl.DataFrame:
    """With the columns that were joined to the scores behind; "_joined" tells those whose names are taken."""
    of_metrics = tuple(metric.name for metric in metrics)
    about = {f"{name}_{what}" for name in of_metrics for what in ("status", "reason", "reply", "claims")}
    joined = [name for name in scores.columns if name not in {key, *_OWN, *of_metrics, *about}]
    if not joined:
        return found
    names = {name: f"{name}_joined" for name in joined if name in found.columns}
    told = scores.select(key, *joined).unique(key, keep="first", maintain_order=True).rename(names)
    return found.join(told, on=key, how="left", maintain_order="left")


def _first(frame: pl.DataFrame, n: int | None) -> pl.DataFrame:
    if n is None:
        return frame
    whole_number("n", n, 1)
    return frame.head(n)
