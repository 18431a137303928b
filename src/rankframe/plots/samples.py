"""How many samples are good at retrieval and at generation: the frame of the end-to-end picture."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import NamedTuple

import polars as pl

from rankframe.errors import DataError, counted
from rankframe.plots.checks import NUMBERS, TEXTS, known, taken
from rankframe.plots.words import built_in, in_words

OUTCOMES = ("both fine", "generation failed", "retrieval failed", "both failed")

Edges = list[float]


class Grid(NamedTuple):
    """The cells of all runs, the edges between them, and what must be said beside them."""

    frame: pl.DataFrame
    retrieval: Edges
    generation: Edges
    failing: tuple[float, float]
    notes: list[str]
    unit: str


def grid(
    scores: object,
    retrieval: str,
    generation: str,
    bins: int | Sequence[float],
    failing: float | tuple[float, float] | None,
) -> Grid:
    """Every run's samples counted by retrieval and generation, each value in the bin whose lower edge it reaches."""
    given_by = "report.scores of rankframe.evaluate_samples"
    frame = taken(scores, {"run_id": TEXTS}, "end_to_end", given_by)
    metrics = [name for name, dtype in frame.schema.items() if dtype.is_float()]
    for name in (retrieval, generation):
        known(name, metrics, "metric")
    frame = taken(frame, {"run_id": TEXTS, retrieval: NUMBERS, generation: NUMBERS}, "end_to_end", given_by)
    if retrieval == generation:
        raise DataError(f"retrieval= and generation= are both {retrieval!r}; the picture sets one against the other")
    limits = [_limits(frame[name], bins, name) for name in (retrieval, generation)]
    lines = _failing(failing, limits)
    upward, along = (_edges(bins, limit, line) for limit, line in zip(limits, lines, strict=True))
    both = frame.filter(frame[retrieval].is_not_null() & frame[generation].is_not_null())
    if not both.height:
        raise DataError(f"no sample has a value of both {retrieval!r} and {generation!r}: there is nothing to draw")
    unit = "query" if "query_id" in frame.columns and "sample_id" not in frame.columns else "sample"
    cells = _cells(both, (retrieval, generation), (upward, along), lines)
    return Grid(cells, upward, along, (lines[0], lines[1]), _left_out(frame, both, (retrieval, generation), unit), unit)


def _limits(values: pl.Series, bins: int | Sequence[float], name: str) -> tuple[float, float]:
    """The lowest and highest value that the metric can have, or that are there."""
    metric = built_in(name)
    low, high = metric.range if metric is not None and metric.range is not None else (0.0, 1.0)
    low = 0.0 if low is None else low
    if high is None:
        if isinstance(bins, int):
            raise DataError(f"{name!r} has no highest value to make {bins} equal bins of; give the edges, bins=[..]")
        high = math.inf
    odd = values.filter((values < low) | (values > high)) if values.null_count() < len(values) else values.head(0)
    if odd.len():
        raise DataError(
            f"{name!r} has {counted(odd.len(), 'value')} outside of {low:g} to {high:g}, as {odd[0]:g}; "
            "the picture needs metrics of that range"
        )
    return low, high


def _failing(failing: float | tuple[float, float] | None, limits: Sequence[tuple[float, float]]) -> list[float]:
    """Below which value retrieval, and generation, failed."""
    if failing is None:
        return [(low + high) / 2 for low, high in limits]
    pair = list(failing) if isinstance(failing, (tuple, list)) else [failing, failing]
    numbers = len(pair) == 2 and all(isinstance(x, (int, float)) and not isinstance(x, bool) for x in pair)
    if not numbers or any(not low < x < high for x, (low, high) in zip(pair, limits, strict=True)):
        told = " and ".join(f"{low:g} to {high:g}" for low, high in limits)
        raise DataError(f"failing={failing!r}: a number, or one for retrieval and one for generation, within {told}")
    return [float(x) for x in pair]


def _edges(bins: object, limits: tuple[float, float], failing: float) -> Edges:
    """Where bins begin and end, the line between failed and fine among them."""
    low, high = limits
    if isinstance(bins, int) and not isinstance(bins, bool):
        if not 2 <= bins <= 20:
            raise DataError(f"bins={bins}: from 2 to 20")
        inner = [low + i / bins * (high - low) for i in range(1, bins)]
    else:
        inner = list(bins) if isinstance(bins, Sequence) and not isinstance(bins, str) else []
        numbers = all(isinstance(x, (int, float)) and low < x < high for x in inner)
        if not inner or not numbers or any(a >= b for a, b in itertools.pairwise(inner)):
            raise DataError(
                f"bins={bins!r:.80}: how many, or ascending edges between {low:g} and {high:g}, as in "
                f"bins=[{low + (min(high, low + 1) - low) / 4:g}, {low + (min(high, low + 1) - low) / 2:g}]"
            )
    return [low, *sorted({*map(float, inner), failing}), high]


def _cells(
    both: pl.DataFrame, metrics: tuple[str, str], edges: Sequence[Edges], lines: Sequence[float]
) -> pl.DataFrame:
    """A row per run and cell, also of cells without samples."""
    names = ("retrieval", "generation")
    placed = both.select("run_id", *(_bin(m, e).alias(n) for m, e, n in zip(metrics, edges, names, strict=True)))
    found = placed.group_by("run_id", *names).agg(pl.len().cast(pl.Int64).alias("n"))
    runs = both["run_id"].unique().sort().to_frame()
    every = runs
    for name, own in zip(names, edges, strict=True):
        every = every.join(pl.DataFrame({name: range(len(own) - 1)}, schema={name: pl.Int64}), how="cross")
    cells = every.join(found, on=["run_id", *names], how="left", maintain_order="left").with_columns(
        pl.col("n").fill_null(0)
    )
    fine = [
        pl.lit(pl.Series([edge >= line for edge in own[:-1]])).gather(pl.col(name))
        for name, own, line in zip(names, edges, lines, strict=True)
    ]
    outcome = pl.when(fine[0] & fine[1]).then(pl.lit(OUTCOMES[0])).when(fine[0]).then(pl.lit(OUTCOMES[1]))
    return cells.with_columns(
        (pl.col("n") / pl.col("n").sum().over("run_id")).alias("share"),
        outcome.when(fine[1]).then(pl.lit(OUTCOMES[2])).otherwise(pl.lit(OUTCOMES[3])).alias("outcome"),
        *(
            pl.col(name).replace_strict(range(len(own) - 1), _told(own), return_dtype=pl.String).alias(f"{name}_bin")
            for name, own in zip(names, edges, strict=True)
        ),
    )


def _bin(metric: str, edges: Edges) -> pl.Expr:
    """The place of the bin, from 0; a value on an edge is in the bin above it, as "at least" says."""
    return pl.sum_horizontal(pl.col(metric) >= edge for edge in edges[1:-1]).cast(pl.Int64)


def _told(edges: Edges) -> list[str]:
    *first, last = [f"{low:g} to < {high:g}" for low, high in itertools.pairwise(edges)]
    closed = f"{edges[-2]:g} or more" if math.isinf(edges[-1]) else last.replace("< ", "")
    return [*first, closed]


def _left_out(frame: pl.DataFrame, both: pl.DataFrame, metrics: tuple[str, str], unit: str) -> list[str]:
    there = dict(both.group_by("run_id").len().iter_rows())
    totals = frame.group_by("run_id").len().sort("run_id")
    gone = [(run, n - there.get(run, 0), n) for run, n in totals.iter_rows() if n > there.get(run, 0)]
    if not gone:
        return []
    told = ", ".join(f"{run} {missing:,} of {counted(n, unit)}" for run, missing, n in gone)
    return [f"without {in_words(metrics[0])} or {in_words(metrics[1])}, and not drawn: {told}"]
