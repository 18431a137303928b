"""What scores show: slices, the hardest queries and the largest changes; frames of scores in, frames out."""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from numbers import Real

import polars as pl

from rankframe.errors import DataError, listed, nearest
from rankframe.intervals import ROUNDING, whole_number
from rankframe.summaries import SUMMARY, Measured

_OWN = ("run_id", "status", "n_ret", "n_rel", "n_judged", "n_contexts")
"""Columns of scores that are neither keys, metrics nor joined."""

Bins = int | Sequence[float]


def sliced(
    scores: pl.DataFrame, columns: Sequence[str], bins: Mapping[str, Bins], metrics: Collection[str]
) -> pl.DataFrame:
    """The scores with the slices in `slice_columns`, sorted by them, nulls last; binned as asked, and NaN as null.

    Raises:
        DataError: as `Report.by`.
    """
    _check_names(scores, columns, bins, metrics)
    slices = [
        _slices(name, scores[name].alias(column), bins.get(name)).alias(column)
        for name, column in zip(columns, slice_columns(columns), strict=True)
    ]
    return scores.with_columns(slices).sort(slice_columns(columns), nulls_last=True, maintain_order=True)


def slice_columns(columns: Sequence[str]) -> list[str]:
    """What the columns to slice by are called until the end, so that no name of the caller's means anything else."""
    return [f"\0{place}" for place in range(len(columns))]


def _check_names(
    scores: pl.DataFrame, columns: Sequence[str], bins: Mapping[str, Bins], metrics: Collection[str]
) -> None:
    if not isinstance(bins, Mapping):
        raise DataError(f'bins= maps columns to bins, as in bins={{"length": 4}}, got {bins!r:.80}')
    if not columns:
        raise DataError('by() takes the columns to slice by, as in report.join(queries).by("topic")')
    for name in [*columns, *bins]:
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


def _slices(name: str, values: pl.Series, bins: Bins | None) -> pl.Series:
    """The slice of every row, null where there is none."""
    if values.dtype.is_nested() or values.dtype == pl.Object:
        raise DataError(f"{name!r} is {values.dtype}, which makes no slices; join a column of one value for each query")
    if values.dtype.is_float():
        values = values.fill_nan(None)
    if bins is None:
        return values
    if not values.dtype.is_numeric():
        raise DataError(f"bins= is for numbers, and {name!r} is {values.dtype}; leave it out of bins=")
    return _binned(values, _edges(name, values, bins))


def _edges(name: str, values: pl.Series, bins: Bins) -> list[float]:
    """Where one slice ends and the next begins, ascending."""
    if isinstance(bins, Real):
        number = whole_number(f"bins of {name!r}", bins, 2)
        there = values.drop_nulls().sort()
        if number >= len(there):  # each value is a slice
            distinct = [float(edge) for edge in there.unique().sort()]
            return distinct[:-1] or distinct
        return sorted({float(there[(len(there) - 1) * i // number]) for i in range(1, number)})
    edges = list(bins) if isinstance(bins, Iterable) and not isinstance(bins, (str, bytes)) else []
    numbers = all(isinstance(edge, Real) and not isinstance(edge, bool) and math.isfinite(edge) for edge in edges)
    if not edges or not numbers or any(low >= high for low, high in itertools.pairwise(edges)):
        raise DataError(
            f'bins of {name!r} are a number of slices or ascending edges, as in bins={{"{name}": '
            f"[10, 20]}}, got {bins!r:.80}"
        )
    return [float(edge) for edge in edges]


def _binned(values: pl.Series, edges: Sequence[float]) -> pl.Series:
    """Which slice a number is in; one on an edge is in the slice below it."""
    if not edges:  # no value at all
        return pl.Series([None] * len(values), dtype=pl.Enum([]))
    told = [f"{edge:.0f}" if edge.is_integer() and abs(edge) < 1e15 else repr(edge) for edge in edges]
    names = [f"<= {told[0]}", *(f"> {low} to {high}" for low, high in itertools.pairwise(told)), f"> {told[-1]}"]
    numbers = values.cast(pl.Float64)
    places = pl.Series(edges, dtype=pl.Float64).search_sorted(numbers, side="left")
    slices = pl.Series(names, dtype=pl.Enum(names)).gather(places)
    return slices.zip_with(numbers.is_not_null(), pl.Series([None], dtype=slices.dtype))


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
        *(pl.lit(run).alias(f"run_{side}") for run, side in zip(runs, "ab", strict=True)),
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
    same = (value == other) | (gap.is_finite() & (gap.abs() <= ROUNDING * size))
    return pl.when(same).then(0.0).otherwise(gap)


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
    """With what was joined to the queries or samples behind; "_joined" tells columns whose names are taken."""
    of_metrics = tuple(metric.name for metric in metrics)
    about = {f"{name}_{what}" for name in of_metrics for what in ("status", "reason", "reply", "claims")}
    joined = [name for name in scores.columns if name not in {key, *_OWN, *of_metrics, *about}]
    ids = scores[key].n_unique()
    told = scores.select(key).unique(maintain_order=True)
    for name in joined:
        values = scores[[key, name]].unique(maintain_order=True)
        if values.height == ids:  # else it belongs to a run, and not to the query or sample
            free = name
            while free in found.columns or free in told.columns or (free != name and free in joined):
                free += "_joined"
            told = told.join(values.rename({name: free}), on=key, how="left", maintain_order="left")
    return found.join(told, on=key, how="left", maintain_order="left")


def _first(frame: pl.DataFrame, n: int | None) -> pl.DataFrame:
    if n is None:
        return frame
    whole_number("n", n, 1)
    return frame.head(n)
