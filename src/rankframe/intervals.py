"""Intervals of means by the bootstrap over queries or samples: percentile and BCa, seeded, many columns at once.

Columns of equal length share their resamples: a resample is a row of counts, and all means are one matrix product.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

from rankframe.errors import DataError

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, np.dtype[np.float64]]

Method = Literal["bca", "percentile"]

LARGEST = 1e150
"""Up to this, sums of squares stay far within Float64."""
MOST_RESAMPLES = 1_000_000
"""More would take memory and time, and tell nothing."""
_DRAWS_AT_ONCE = 2_000_000
"""How many draws are held at a time: 16 MB of counts."""
_EXPANDED_FROM = 10_000
"""From so many values on, the distribution of resampled means is known closer than resampling tells it."""
_EXPANDED_SKEW = 0.2
"""Up to this skewness of the mean the neglected terms of the expansion move an end by less than resampling noise."""
ROUNDING = 1e-12
"""By this share of their size two numbers may differ and be the same."""
_NORMAL = NormalDist()


@dataclass(frozen=True, slots=True)
class Intervals:
    """How intervals are made: level (0 to 1), method, number of resamples, seed of the random numbers."""

    level: float = 0.95
    method: Method = "bca"
    n_resamples: int = 2_000
    seed: int = 0

    def __post_init__(self) -> None:
        if isinstance(self.level, bool) or not isinstance(self.level, Real) or not 0 < self.level < 1 - 1e-13:
            raise DataError(f"level is a share between 0 and 1, as in level=0.95, got {self.level!r:.80}")
        if self.method not in get_args(Method):
            raise DataError(f'method is "bca" or "percentile", got {self.method!r:.80}')
        object.__setattr__(self, "level", float(self.level))
        object.__setattr__(self, "n_resamples", whole_number("n_resamples", self.n_resamples, 100, MOST_RESAMPLES))
        object.__setattr__(self, "seed", whole_number("seed", self.seed, 0))


def whole_number(name: str, value: object, least: int, most: int = 2**62) -> int:
    """An option that is a whole number from `least` to `most`; anything else is refused."""
    if isinstance(value, bool) or not isinstance(value, Integral) or not least <= int(value) <= most:
        upto = "" if most == 2**62 else f" and at most {most:,}"
        raise DataError(f"{name} is a whole number of at least {least:,}{upto}, got {value!r:.80}")
    return int(value)


class Interval(NamedTuple):
    """The ends of one interval, or None and the reason why there is none."""

    low: float | None
    high: float | None
    reason: str | None


def mean_intervals(columns: Sequence[Array], how: Intervals, unit: str) -> list[Interval]:
    """An interval for the mean of each column.

    Args:
        columns: one-dimensional Float64 arrays without null or NaN, of any lengths.
        how: level, method, resamples and seed.
        unit: what a value belongs to, for reasons: "query" or "sample".

    Returns:
        One interval per column. Equal values give one without width; fewer than two values, or an infinite one, none.

    Columns of one length get the same resamples, so that a column's interval does not depend on its neighbours. From
    10,000 values on, where the mean is hardly skewed, the quantiles of the resampled means come from their
    Cornish-Fisher expansion, which is then closer than resampling.

    Source: Efron and Tibshirani 1993, An Introduction to the Bootstrap, chapters 13 and 14.

    >>> import numpy as np
    >>> low, high, _ = mean_intervals([np.array([0.0, 0.5, 1.0, 0.5] * 10)], Intervals(), "query")[0]
    >>> low < 0.5 < high
    True
    >>> mean_intervals([np.array([0.5])], Intervals(), "query")
    [Interval(low=None, high=None, reason='one query')]
    """
    import numpy as np

    found: list[Interval | None] = [_plain(column, unit) for column in columns]
    by_length: dict[int, list[int]] = {}
    for i, interval in enumerate(found):
        if interval is None:
            by_length.setdefault(len(columns[i]), []).append(i)
    for length, places in by_length.items():
        values = np.stack([columns[i] for i in places], axis=1)
        for i, (low, high) in zip(places, _bounds(values, length, how), strict=True):
            found[i] = Interval(low, high, None)
    return [interval for interval in found if interval is not None]


def _plain(column: Array, unit: str) -> Interval | None:
    """The interval of a column that needs no bootstrap."""
    import numpy as np

    if len(column) == 0:
        return Interval(None, None, "no value")
    if len(column) == 1:
        return Interval(None, None, f"one {unit}")
    if not np.isfinite(column).all():
        return Interval(None, None, "a value is not finite")
    if not (np.abs(column) <= LARGEST).all():
        return Interval(None, None, f"a value is beyond {LARGEST:g}")
    if (column == column[0]).all():
        return Interval(float(column[0]), float(column[0]), None)
    return None


def _bounds(values: Array, length: int, how: Intervals) -> Iterator[tuple[float, float]]:
    """The ends of the interval of every column of (n, columns)."""
    import numpy as np

    centred = values - values.mean(axis=0)
    size = np.abs(centred).max(axis=0)
    scaled = centred / size  # cubes of small and large numbers leave Float64
    skews = (scaled**3).sum(axis=0) / (scaled**2).sum(axis=0) ** 1.5  # of the mean: that of a value / sqrt(n)
    expanded = (length >= _EXPANDED_FROM) & (np.abs(skews) <= _EXPANDED_SKEW)
    drawn = iter(np.sort(resampled_means(values[:, ~expanded], how), axis=0).T)
    errors = size * np.sqrt((scaled**2).sum(axis=0)) / length
    for mean, spread, error, skew, by_expansion in zip(values.mean(axis=0), size, errors, skews, expanded, strict=True):
        if by_expansion:
            yield _ends(how, skew, skew / 6, _expansion(mean, error, skew))
        else:
            means = next(drawn)
            yield _ends(how, skew, _bias(means, mean, spread), _empirical(means))


def resampled_means(values: Array, how: Intervals) -> Array:
    """The mean of every column of (n, columns) in every resample: (n_resamples, columns)."""
    import numpy as np

    n, width = values.shape
    means = np.empty((how.n_resamples if width else 0, width))
    rng = np.random.default_rng(how.seed)
    step = max(1, _DRAWS_AT_ONCE // n)
    for start in range(0, len(means), step):
        rows = min(step, len(means) - start)
        drawn = rng.integers(n, size=(rows, n), dtype=np.int32) + np.arange(rows)[:, None] * n
        counts = np.bincount(drawn.ravel(), minlength=rows * n).reshape(rows, n)
        means[start : start + rows] = counts.astype(np.float64) @ values / n
    return means


def _ends(how: Intervals, skew: float, bias: float, quantile: Callable[[float], float]) -> tuple[float, float]:
    """Both ends, at the tails that the method gives them."""
    tails = (1 - how.level) / 2, (1 + how.level) / 2
    if how.method == "bca":
        low, high = (_corrected(tail, bias, skew / 6) for tail in tails)
    else:
        low, high = tails
    return quantile(low), quantile(high)


def _corrected(tail: float, bias: float, acceleration: float) -> float:
    """The tail of the resampled means that stands for one of the interval (Efron 1987, BCa)."""
    z = bias + _NORMAL.inv_cdf(tail)
    if acceleration * z >= 1:  # so far out the correction has no end
        return 1.0 if z > 0 else 0.0
    return _NORMAL.cdf(bias + z / (1 - acceleration * z))


def _bias(means: Array, mean: float, spread: float) -> float:
    """How far the resampled means lie beside the mean, as a normal deviate; ties, to rounding, count half."""
    import numpy as np

    rounding = ROUNDING * (spread + abs(mean))
    below, upto = np.searchsorted(means, mean - rounding), np.searchsorted(means, mean + rounding, "right")
    share = float(below + upto) / 2 / len(means)
    least = 0.5 / len(means)
    return _NORMAL.inv_cdf(min(max(share, least), 1 - least))


def _empirical(means: Array) -> Callable[[float], float]:
    import numpy as np

    return lambda tail: float(np.quantile(means, tail))


def _expansion(mean: float, error: float, skew: float) -> Callable[[float], float]:
    """Quantiles of resampled means by their first three cumulants (Cornish and Fisher 1938)."""

    def quantile(tail: float) -> float:
        z = _NORMAL.inv_cdf(min(max(tail, math.ulp(1.0)), 1 - math.ulp(1.0)))
        return float(mean + error * (z + skew * (z * z - 1) / 6))

    return quantile
