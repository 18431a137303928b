"""A metric as a value: its name carries its whole definition, its expression computes it.

`Metric` is what `evaluate` takes; built-in ones are made by their `families`.
"""

from __future__ import annotations

import math
import numbers
from typing import TYPE_CHECKING, Literal, get_args

import polars as pl

from rankframe.errors import MetricError
from rankframe.metrics.grammar import is_text
from rankframe.metrics.rows import Rows

if TYPE_CHECKING:
    from rankframe.metrics.texts import Texts

Aggregate = Literal["mean", "gmean", "sum"]
Unit = Literal["query", "sample"]

GMEAN_FLOOR = 1e-5
"""The geometric mean counts smaller values as this, as trec_eval does."""

BASE_COLUMNS = ("run_id", "query_id", "doc_id", "relevance", "rank", "ideal_rank", "n_ret")
"""The columns of the judged ranking, over which a metric is an expression."""

_TAKEN = ("run_id", "query_id", "status", "n_ret", "n_rel", "n_judged", "metric", "value")
"""The other columns of a report's scores, wide and long, after which no metric can be called."""


class Metric:
    """A named expression that gives one number per (run, query).

    `expr` aggregates over the columns of the judged ranking, which has one row per judgment of the query:
    `run_id`, `query_id`, `doc_id` String, `relevance` Float64, `rank` Int64 (where the run has the document, null
    where it does not), `ideal_rank` Int64 (its place in the ideal ranking), `n_ret` Int64 (documents that the run
    has for the query, the same in every row), sorted by rank (nulls last), then relevance descending, then doc_id.

    Args:
        name: the column that holds the values; must not parse as a built-in metric, nor be a column of the scores.
        expr: one value per group.
        range: lowest and highest possible value, None for an open end; scores outside are an error.
        empty: the value of a scored query whose expression gives null or NaN; a finite number.
        aggregate: how the summary puts queries together: "mean", "gmean" (geometric) or "sum".

    Raises:
        MetricError: for a name that is empty, taken or a built-in one, an `expr` that is no expression, a `range` or
            `empty` that is none, an unknown aggregate.

    >>> import polars as pl
    >>> from rankframe.metrics import Metric
    >>> top = (pl.col("rank") == 1).any().cast(pl.Float64)
    >>> Metric("judged_first", top, range=(0, 1))
    Metric('judged_first')
    """

    __slots__ = ("_expr", "aggregate", "empty", "name", "range")

    def __init__(
        self,
        name: str,
        expr: pl.Expr,
        *,
        range: tuple[float | None, float | None] | None = None,  # the documented name
        empty: float = 0.0,
        aggregate: Aggregate = "mean",
    ) -> None:
        if not isinstance(name, str) or not name.strip():
            raise MetricError(f"a metric needs a name, got {name!r}")
        if not is_text(name) or name == "*" or (name.startswith("^") and name.endswith("$")):
            raise MetricError(f"{name!r} cannot name a column (half a surrogate pair, or a pattern to Polars)")
        if name in _TAKEN:
            raise MetricError(
                f"{name!r} is another column of the scores ({', '.join(_TAKEN)}); give the metric another name"
            )
        from rankframe.metrics.names import is_builtin  # names are read there, and from there metrics are made

        if is_builtin(name):
            raise MetricError(f"{name!r} is the name of a built-in metric; give yours another")
        if not isinstance(expr, pl.Expr):
            raise MetricError(
                f"metric {name!r}: expr is a {type(expr).__name__}, expected a Polars expression over "
                f"{', '.join(BASE_COLUMNS)}"
            )
        if aggregate not in get_args(Aggregate):
            raise MetricError(f"metric {name!r}: aggregate={aggregate!r}; valid: {', '.join(get_args(Aggregate))}")
        self.name = name
        self._expr: pl.Expr = expr
        self.range = _range(name, range)
        number = real(empty)
        if number is None or math.isinf(number):
            raise MetricError(f"metric {name!r}: empty={empty!r:.80} is not a finite number; null and NaN count as it")
        self.empty = number
        self.aggregate: Aggregate = aggregate

    @property
    def expr(self) -> pl.Expr:
        """The expression over the columns of the judged ranking, for one group per (run, query)."""
        return self._expr

    @property
    def unit(self) -> Unit | None:
        """What the metric scores, "query" or "sample"; None where its expression may stand over either."""
        return None

    def expression(self, rows: Rows | Texts) -> pl.Expr:  # noqa: ARG002  # built-in metrics take theirs from it
        """The expression over the judged ranking, or samples, and the columns that `rows` collects."""
        return self._expr

    def bound(self, max_grade: float) -> Metric:  # noqa: ARG002  # built-in metrics may depend on it
        """The metric with parameters that depend on the judgments filled in."""
        return self

    def same_values(self, other: Metric) -> bool:
        """Whether two metrics of one name give the same values."""
        return self.expr.meta.eq(other.expr) and (self.range, self.empty) == (other.range, other.empty)

    @property
    def cutoff(self) -> int | None:
        """How many places count, where the metric has a cutoff."""
        return None

    def __repr__(self) -> str:
        return f"Metric({self.name!r})" if self.aggregate == "mean" else f"Metric({self.name!r}, {self.aggregate})"


def _range(name: str, range: object) -> tuple[float | None, float | None] | None:
    """A declared range as floats."""
    if range is None:
        return None
    ends = list(range) if isinstance(range, (tuple, list)) else []
    read = [None if end is None else real(end) for end in ends]
    odd = len(ends) != 2 or any(end is not None and number is None for end, number in zip(ends, read, strict=True))
    low, high = (None, None) if odd else read
    if odd or (low is not None and high is not None and low > high):
        raise MetricError(
            f"metric {name!r}: range={range!r} is not (lowest, highest), numbers or None for an open end, as in (0, 1)"
        )
    return low, high


def real(value: object) -> float | None:
    """A real number of any type as a float; None for anything else, NaN and what no float can hold among it."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return None if math.isnan(number) else number


def checked_cutoff(k: object, name: str = "a cutoff") -> int:
    """A cutoff, or another such number, as a plain int; anything but a whole number from 1 is refused by value.

    >>> checked_cutoff(10)
    10
    """
    if isinstance(k, bool) or not isinstance(k, numbers.Integral) or int(k) < 1:
        raise MetricError(f"{name} is a whole number from 1, got {k!r}")
    return int(k)
