"""A metric as a value: its name carries its whole definition, its expression computes it.

`Metric` is what `evaluate` takes. `Family` makes the built-in ones: `ndcg(k=10, gain="exponential")` is the metric
`ndcg(gain=exponential)@10`, and `parse` turns that name back into the same metric.
"""

from __future__ import annotations

import inspect
import math
import numbers
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, get_args, get_origin, get_type_hints

import polars as pl

from rankframe.errors import MetricError, nearest
from rankframe.metrics.grammar import Value, canonical, is_text
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


class BuiltIn(Metric):
    """A metric that a family made; its name is canonical and parses back to it."""

    __slots__ = ("_made", "family", "k", "parameters")

    def __init__(self, family: Family, parameters: Mapping[str, Value], k: int | None, aggregate: Aggregate) -> None:
        self.family = family
        self.parameters = dict(parameters)
        self.k = k
        self.name = canonical(family.name, parameters, k)
        self.range = family.range
        self.empty = 0.0
        self.aggregate = aggregate
        self._made: tuple[pl.Expr, Rows | Texts] | None = None

    @property
    def unit(self) -> Unit:
        return self.family.unit

    @property
    def expr(self) -> pl.Expr:
        if self.unit == "sample":
            return pl.struct(pl.all()).map_batches(self._of_samples, return_dtype=pl.Float64).alias(self.name)
        if self._unbound:
            raise MetricError(
                f"{self.name} depends on the largest grade of the judgments; name it, as in "
                f"{canonical(self.family.name, {**self.parameters, 'max_grade': 3.0}, self.k)}"
            )
        return self.expression(Rows(inline=True))

    def expression(self, rows: Rows | Texts) -> pl.Expr:
        if isinstance(rows, Rows) and rows.inline:
            return self._formula(rows)
        if self._made is None:  # made once: on small input, making expressions costs as much as running them
            own = type(rows)()
            self._made = self._formula(own), own
        expr, own = self._made
        rows.include(own)  # type: ignore[arg-type]  # of the same type: a metric has one unit
        return expr

    def _of_samples(self, samples: pl.Series) -> pl.Series:
        """The metric of samples that stand in a struct."""
        from rankframe.metrics.texts import Texts

        texts = Texts()
        expr = self.expression(texts)
        return texts.add_to(samples.struct.unnest()).select(expr.cast(pl.Float64).alias(self.name))[self.name]

    def _formula(self, rows: Rows | Texts) -> pl.Expr:
        arguments: dict[str, Any] = dict(self.parameters)
        if arguments.pop("judged_only", False) and isinstance(rows, Rows):
            rows = rows.condensed()
        if self.family.has_cutoff:
            arguments["k"] = self.k
        return self.family.formula(rows, **arguments)

    @property
    def _unbound(self) -> bool:
        needs = "max_grade" in self.family.defaults and "max_grade" not in self.parameters
        return needs and (self.family.name != "rbp" or self.parameters.get("gain") == "graded")

    def bound(self, max_grade: float) -> Metric:
        limit = _BOUNDS["max_grade"][1]
        if max_grade >= limit and (self._unbound or self.parameters.get("gain") == "exponential"):
            raise MetricError(
                f"{self.name}: the largest grade of the judgments is {max_grade:g}; it must be below {limit:g}, as "
                f"2 to the grade is to stay a finite number; give smaller grades or take a metric with linear gain"
            )
        if self._unbound:
            return BuiltIn(self.family, {**self.parameters, "max_grade": max_grade}, self.k, self.aggregate)
        named = self.parameters.get("max_grade")
        if named is not None and max_grade > float(named):
            raise MetricError(f"{self.name}: the judgments have the grade {max_grade:g}, above max_grade={named:g}")
        return self

    def same_values(self, other: Metric) -> bool:
        return isinstance(other, BuiltIn)  # the name carries the whole definition

    def __reduce__(self) -> tuple[type[BuiltIn], tuple[object, ...]]:
        return BuiltIn, (self.family, self.parameters, self.k, self.aggregate)

    @property
    def cutoff(self) -> int | None:
        return self.k


@dataclass(frozen=True, slots=True, eq=False)
class Family:
    """All metrics of one name: what they mean, their parameters, and the formula that makes the expression."""

    name: str
    formula: Callable[..., pl.Expr]
    range: tuple[float | None, float | None]
    definition: str
    reference: str
    example: str
    defaults: Mapping[str, Value | None]
    choices: Mapping[str, tuple[Value, ...]]
    required: tuple[str, ...]
    has_cutoff: bool
    needs_cutoff: bool | str
    """Whether a cutoff must be given: always, or only where the parameter `over` has this value."""
    aggregate: Aggregate
    unit: Unit = "query"
    needs: tuple[str, ...] = ()
    """The columns of samples that it reads."""
    extra: str | None = None
    """The extra that installs what it needs."""

    def __reduce__(self) -> tuple[Callable[[str], Family], tuple[str]]:
        return _registered, (self.name,)

    @property
    def summary(self) -> str:
        """The first line of the formula's docstring."""
        return (self.formula.__doc__ or "").strip().partition("\n")[0]

    def __call__(
        self,
        *,
        k: int | None = None,
        rel: float | None = None,
        judged_only: bool = False,
        aggregate: Aggregate | None = None,
        **parameters: Value | None,
    ) -> Metric:
        """The metric with these parameters; `None` and defaults are left out of its name.

        Raises:
            MetricError: for a parameter that this family does not have, a value out of its range, a bad cutoff.
        """
        if rel is not None:
            parameters["rel"] = rel
        if judged_only is not False:
            parameters["judged_only"] = judged_only
        if aggregate is not None and aggregate not in get_args(Aggregate):
            raise MetricError(f"{self.name}: aggregate={aggregate!r}; valid: {', '.join(get_args(Aggregate))}")
        checked = self._checked(parameters)
        cutoff = self._cutoff(k, needed=self.needs_cutoff is True or checked.get("over") == self.needs_cutoff)
        return BuiltIn(self, checked, cutoff, aggregate or self.aggregate)

    def _cutoff(self, k: object, *, needed: bool) -> int | None:
        if k is None:
            if needed:
                raise MetricError(f"{self.name} needs a cutoff here, as in {self.name}@10")
            return None
        if not self.has_cutoff:
            raise MetricError(f"{self.name} has no cutoff, got @{k}; write {self.example}")
        return checked_cutoff(k)

    def _checked(self, parameters: Mapping[str, object]) -> dict[str, Value]:
        checked: dict[str, Value] = {}
        for name, value in sorted(parameters.items()):
            if name not in self.defaults:
                valid = [*self.defaults, *(["k"] if self.has_cutoff else [])]
                raise MetricError(
                    f"{self.name} has no parameter {name!r}: {nearest(name, valid) if valid else 'it has none'}"
                )
            if value is None:
                continue
            valid_value = self._value(name, value)
            if valid_value != self.defaults[name]:
                checked[name] = valid_value
        missing = [name for name in self.required if name not in checked]
        if missing:
            raise MetricError(f"{self.name} needs the parameter {missing[0]!r}, as in {self.example}")
        return checked

    def _value(self, name: str, value: object) -> Value:
        if name in self.choices:
            if value not in self.choices[name]:
                raise MetricError(f"{self.name}: {name}={value!r}; valid: {', '.join(map(str, self.choices[name]))}")
            return str(value)
        if name == "judged_only":
            if not isinstance(value, bool):
                raise MetricError(f"{self.name}: judged_only={value!r}; valid: true, false")
            return value
        number = real(value)
        if number is None or math.isinf(number):
            raise MetricError(f"{self.name}: {name}={value!r:.80} is not a number")
        low, high, closed = _BOUNDS[name]
        if not (low <= number <= high if closed else low < number < high):
            raise MetricError(f"{self.name}: {name}={number:g} is outside of {_interval(low, high, closed=closed)}")
        return number


_FROM_JUDGMENTS = ("k", "max_grade")
"""Parameters that a formula needs and a user may leave out: no cutoff is the whole list, grades come with the qrels."""

_BOUNDS: dict[str, tuple[float, float, bool]] = {
    "rel": (0.0, math.inf, False),
    "p": (0.0, 1.0, False),
    "max_grade": (0.0, 1000.0, False),  # 2**max_grade must stay a finite Float64
    "recall": (0.0, 1.0, True),
}


def _interval(low: float, high: float, *, closed: bool) -> str:
    return f"[{low:g}, {high:g}]" if closed else f"({low:g}, {high:g})"


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


REGISTRY: dict[str, Family] = {}
"""Every built-in family by its canonical name."""


def _registered(name: str) -> Family:
    return REGISTRY[name]


def family(
    name: str,
    *,
    range: tuple[float | None, float | None],  # reads as the attribute it sets
    definition: str,
    reference: str,
    example: str,
    needs_cutoff: bool | str = False,
    aggregate: Aggregate = "mean",
    unit: Unit = "query",
    needs: tuple[str, ...] = (),
    extra: str | None = None,
) -> Callable[[Callable[..., pl.Expr]], Family]:
    """Register a formula as the family `name`; its keyword parameters are the metric's."""

    def register(formula: Callable[..., pl.Expr]) -> Family:
        hints = get_type_hints(formula)
        parameters = list(inspect.signature(formula).parameters.values())[1:]
        defaults: dict[str, Value | None] = {
            p.name: None if p.default is p.empty else p.default for p in parameters if p.name != "k"
        }
        if unit == "query":
            defaults["judged_only"] = False
        made = Family(
            name=name,
            formula=formula,
            range=range,
            definition=definition,
            reference=reference,
            example=example,
            defaults=dict(sorted(defaults.items())),
            choices={p: get_args(hints[p]) for p in defaults if p in hints and get_origin(hints[p]) is Literal},
            required=tuple(p.name for p in parameters if p.default is p.empty and p.name not in _FROM_JUDGMENTS),
            has_cutoff=any(p.name == "k" for p in parameters),
            needs_cutoff=needs_cutoff,
            aggregate=aggregate,
            unit=unit,
            needs=needs,
            extra=extra,
        )
        REGISTRY[name] = made
        return made

    return register
