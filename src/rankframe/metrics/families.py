"""Families of built-in metrics: a formula, registered once, and the metrics that its parameters make of it.

`ndcg(k=10, gain="exponential")` is the metric `ndcg(gain=exponential)@10`, and `parse` turns that name back into it.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, get_args, get_origin, get_type_hints

import polars as pl

from rankframe.errors import MetricError, nearest
from rankframe.metrics.grammar import Value, canonical
from rankframe.metrics.metric import Aggregate, Metric, Unit, checked_cutoff, real
from rankframe.metrics.rows import Rows

if TYPE_CHECKING:
    from rankframe.metrics.texts import Texts


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
