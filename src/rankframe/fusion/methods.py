"""What fusion computes: the methods and normalizations, each a few expressions over the rows of all runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

import polars as pl

Method = Literal["rrf", "isr", "rbc", "borda", "combsum", "combmnz", "combanz", "combmed", "combmin", "combmax"]
Normalize = Literal["min-max", "max", "sum", "z-score", "rank", "none"]


class Parameters(NamedTuple):
    """The parameters of the methods."""

    k: float
    p: float


@dataclass(frozen=True, slots=True)
class Fusion:
    """One way to fuse.

    rows: for every row of a run, `value` and what else `fused` needs, from `rank`, `n` (documents that the run has
        for the query), `score` (normalised) and `weight`.
    fused: the score of a document, from its rows and what `total` makes of their values.
    by: whether ranks or scores are fused. weighted: whether it adds up, so that weights mean something.
    """

    rows: Callable[[Parameters], Mapping[str, pl.Expr]]
    fused: Callable[[pl.Expr], pl.Expr]
    by: Literal["rank", "score"]
    weighted: bool = True


_RANK, _N, _SCORE, _WEIGHT, _VALUE = (pl.col(name) for name in ("rank", "n", "score", "weight", "value"))
_HAVE = _VALUE.count()


def total(value: pl.Expr, *, at_most_two: bool = False) -> pl.Expr:
    """The sum of a group, to the last bit the same in whichever order its values come.

    Two floats have one sum. More are added in ascending order, through a list: Polars drops a sort before a plain sum.
    """
    return value.sum() if at_most_two else value.sort().implode().list.sum()


def _adding(value: Callable[[Parameters], pl.Expr]) -> Callable[[Parameters], Mapping[str, pl.Expr]]:
    return lambda given: {"value": _WEIGHT * value(given)}


def _points(_: Parameters) -> Mapping[str, pl.Expr]:
    """What a document has beyond what it would have got unranked, and what it would have got so from every run."""
    candidates = pl.col("doc_id").n_unique().over("query_id").cast(pl.Float64)
    unranked = _WEIGHT * (candidates - _N + 1) / 2
    return {
        "value": _WEIGHT * (candidates - _RANK + 1) - unranked,
        "unranked": total(unranked.filter(_RANK == 1)).over("query_id"),  # once per run that has the query
    }


def _same(total: pl.Expr) -> pl.Expr:
    return total


_SCORES = _adding(lambda _: _SCORE)

METHODS: dict[str, Fusion] = {
    "rrf": Fusion(_adding(lambda given: 1 / (given.k + _RANK)), _same, "rank"),
    "isr": Fusion(_adding(lambda _: 1 / (_RANK * _RANK)), lambda total: _HAVE * total, "rank"),
    "rbc": Fusion(_adding(lambda given: (1 - given.p) * pl.lit(given.p).pow(_RANK - 1)), _same, "rank"),
    "borda": Fusion(_points, lambda total: pl.col("unranked").first() + total, "rank"),
    "combsum": Fusion(_SCORES, _same, "score"),
    "combmnz": Fusion(_SCORES, lambda total: _HAVE * total, "score"),
    "combanz": Fusion(_SCORES, lambda total: total / _HAVE, "score", weighted=False),
    "combmed": Fusion(_SCORES, lambda _: _VALUE.median(), "score", weighted=False),
    "combmin": Fusion(_SCORES, lambda _: _VALUE.min(), "score", weighted=False),
    "combmax": Fusion(_SCORES, lambda _: _VALUE.max(), "score", weighted=False),
}
"""Every method by its name; what they are is said in `fuse`."""

_LOW, _HIGH, _UNIT, _CENTRED = (pl.col(name) for name in ("low", "high", "unit", "centred"))
_DIFFER = _HIGH > _LOW

NORMALIZERS: dict[str, pl.Expr] = {
    "min-max": _UNIT,
    "max": pl.when(_HIGH > 0).then(_SCORE / _HIGH).otherwise(0.0),
    "sum": pl.when(_DIFFER).then(_UNIT / pl.col("total")).otherwise(0.0),
    "z-score": pl.when(_DIFFER).then(_CENTRED / pl.col("deviation")).otherwise(0.0),
    "rank": 1 - (_RANK - 1) / _N,
    "none": _SCORE,
}
"""What becomes of a score, by name, from the columns of `with_spread`; rank and n are those of the run."""


def with_spread(rows: pl.LazyFrame, keys: list[str]) -> pl.LazyFrame:
    """The scores of a run with what normalization asks of all scores of a query.

    Each stands in a column of its own, as Polars divides by a single number by multiplying with its inverse, so that
    the largest score would not always become 1. What is not asked for is not computed.
    """
    rows = rows.with_columns(low=_SCORE.min().over(keys), high=_SCORE.max().over(keys))
    rows = rows.with_columns(unit=pl.when(_DIFFER).then((_SCORE - _LOW) / (_HIGH - _LOW)).otherwise(0.0))
    rows = rows.with_columns(total=total(_UNIT).over(keys), size=pl.len().over(keys).cast(pl.Float64))
    rows = rows.with_columns(centred=_UNIT - pl.col("total") / pl.col("size"))
    squares = total(_CENTRED * _CENTRED).over(keys)
    return rows.with_columns(squares=squares).with_columns(deviation=(pl.col("squares") / pl.col("size")).sqrt())
