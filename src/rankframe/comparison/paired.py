"""Paired tests of the hypothesis that two runs are equally good: p values of many columns of differences at once.

A column holds the differences of one pair of runs, a row per query; NaN where a query belongs to no pair.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, get_args

from rankframe.errors import DataError, nearest
from rankframe.intervals import LARGEST, ROUNDING, Intervals, resampled_means

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, np.dtype[np.float64]]

Test = Literal["randomisation", "t", "wilcoxon", "wilcoxon-pratt", "wilcoxon-zsplit", "sign", "bootstrap"]

_SIGNS_AT_ONCE = 4_000_000
"""How many random signs are held at a time: 32 MB."""
_EXACT_RANKS = 25
"""Up to so many differences without ties Wilcoxon's distribution is counted out."""
_EXACT_SIGNS = 13
"""Up to so many differences, tied or not, all ways to set the signs are."""
_TIED = 1e-10
"""By this share of the largest of them the sizes of differences may differ and be tied."""


@dataclass(frozen=True, slots=True)
class Draws:
    """How many random resamples a test takes, and their seed."""

    n: int
    seed: int


def p_values(differences: Array, test: Test, draws: Draws) -> list[float | None]:
    """The two-sided p value of every column of (queries, pairs); None where the test does not apply.

    A column of zeros alone has 1 under every test, and one of fewer than two differences None.

    Raises:
        DataError: for an unknown test.
    """
    import numpy as np

    check_test(test)
    there = ~np.isnan(differences)
    filled = np.where(there, differences, 0.0)
    testable = (there.sum(axis=0) >= 2) & (np.abs(filled) <= LARGEST).all(axis=0)
    equal = ~(filled != 0).any(axis=0)
    asked = np.flatnonzero(testable & ~equal)
    found: list[float | None] = [1.0 if same and can else None for same, can in zip(equal, testable, strict=True)]
    for column, p in zip(asked.tolist(), _TESTS[test](differences[:, asked], draws), strict=True):
        found[column] = p
    return found


def check_test(test: object) -> None:
    """Refuse a test that there is not."""
    if test not in get_args(Test):
        raise DataError(f"no test {test!r:.80}: {nearest(str(test), get_args(Test))}")


def _randomisation(differences: Array, draws: Draws) -> Sequence[float | None]:
    """Signs turned at random: all ways where there are no more than draws, else as drawn, the observed counted too."""
    import numpy as np

    found = [0.0] * differences.shape[1]
    few = np.count_nonzero(np.nan_to_num(differences), axis=0) <= math.log2(draws.n)
    for place in np.flatnonzero(few).tolist():
        found[place] = _all_signs(differences[:, place])
    for columns in _by_length(differences, np.flatnonzero(~few).tolist()).values():
        shares = _drawn_signs(np.stack(list(columns.values()), axis=1), draws)
        for place, share in zip(columns, shares.tolist(), strict=True):
            found[place] = share
    return found


def _all_signs(differences: Array) -> float:
    """The share of all ways to set the signs of which the sum is as far from 0 as the observed one."""
    import numpy as np

    turned = differences[(differences != 0) & ~np.isnan(differences)]
    n, number = len(turned), 2 ** len(turned)
    step = max(1, _SIGNS_AT_ONCE // max(n, 1))
    count = 0
    for start in range(0, number, step):
        ways = np.arange(start, min(start + step, number))[:, None] >> np.arange(n) & 1
        count += int(_as_far(ways.astype(np.float64), turned[:, None])[0])
    return float(count / number)


def _drawn_signs(differences: Array, draws: Draws) -> Array:
    """The share of random signs, and of the observed ones, of which the sum is as far from 0 as the observed one."""
    import numpy as np

    n, width = differences.shape
    counts = np.zeros(width)
    rng = np.random.default_rng(draws.seed)
    step = max(4, _SIGNS_AT_ONCE // n // 4 * 4)  # numpy draws bytes by fours, and drops what is left of a call
    for start in range(0, draws.n, step):
        rows = min(step, draws.n - start)
        bits = np.unpackbits(rng.integers(256, size=(rows, (n + 7) // 8), dtype=np.uint8), axis=1, count=n)
        counts += _as_far(bits.astype(np.float64), differences)
    return (counts + 1) / (draws.n + 1)


def _as_far(turned: Array, differences: Array) -> Array:
    """For each column, how many rows of 0 and 1 (1 turns the sign) give a sum as far from 0 as the observed one."""
    import numpy as np

    observed = differences.sum(axis=0)
    least = np.abs(observed) - ROUNDING * np.abs(differences).sum(axis=0)
    found: Array = (np.abs(observed - 2 * (turned @ differences)) >= least).sum(axis=0)
    return found


def _bootstrap(differences: Array, draws: Draws) -> Sequence[float | None]:
    """How often the t of resampled differences, moved to a mean of 0, is as far from 0 as the observed one.

    By t and not by the mean, which finds far too much where there are few differences (Sakai 2006,
    doi:10.1145/1148170.1148261).
    """
    import numpy as np

    found: list[float | None] = [None] * differences.shape[1]
    for n, columns in _by_length(differences, range(len(found))).items():
        places = [place for place, column in columns.items() if has_spread(column)]
        values = np.stack([columns[place] for place in places], axis=1) if places else np.empty((n, 0))
        moved = values - values.mean(axis=0)
        how = replace(Intervals(), n_resamples=draws.n, seed=draws.seed)
        means, squares = np.split(resampled_means(np.hstack([moved, moved**2]), how), 2, axis=1)
        variances = np.maximum(squares - means**2, 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):  # a resample of one value, again and again
            resampled = np.nan_to_num(np.abs(means) / np.sqrt(variances), nan=0.0, posinf=np.inf)
        observed = np.abs(values.mean(axis=0)) / values.std(axis=0)
        far = (resampled >= observed * (1 - ROUNDING)).sum(axis=0)
        for place, count in zip(places, far.tolist(), strict=True):
            found[place] = (count + 1) / (draws.n + 1)
    return found


def _by_length(differences: Array, places: Iterable[int]) -> dict[int, dict[int, Array]]:
    """Columns without NaN by their length: those of one length share their random numbers, and need no neighbours."""
    import numpy as np

    found: dict[int, dict[int, Array]] = {}
    for place in places:
        column = differences[:, place]
        there = column[~np.isnan(column)]
        found.setdefault(len(there), {})[place] = there
    return found


def _each(p_value: Callable[[Array], float | None]) -> Callable[[Array, Draws], Sequence[float | None]]:
    """A test of one column as a test of all."""

    def test(differences: Array, _: Draws) -> Sequence[float | None]:
        import numpy as np

        return [p_value(column[~np.isnan(column)]) for column in differences.T]

    return test


def _paired_t(differences: Array) -> float | None:
    from scipy.stats import ttest_1samp

    if not has_spread(differences):
        return None
    p = float(ttest_1samp(differences, 0.0).pvalue)
    return p if math.isfinite(p) else None


def _wilcoxon(zero_method: Literal["wilcox", "pratt", "zsplit"]) -> Callable[[Array], float | None]:
    """Wilcoxon's signed ranks: all ways to set the signs where these are few, his distribution, or the normal one."""

    def p_value(differences: Array) -> float | None:
        import numpy as np
        from scipy.stats import rankdata, wilcoxon

        steps = np.rint(differences / np.abs(differences).max() / _TIED)  # or rounding decides what is tied
        if zero_method == "wilcox":
            steps = steps[steps != 0]
        if np.count_nonzero(steps) <= _EXACT_SIGNS:
            return _all_signs(np.sign(steps) * rankdata(np.abs(steps)))
        untied = len(np.unique(np.abs(steps))) == len(steps) and bool((steps != 0).all())
        method: Literal["exact", "asymptotic"] = "exact" if untied and len(steps) <= _EXACT_RANKS else "asymptotic"
        return float(wilcoxon(steps, zero_method=zero_method, method=method).pvalue)

    return p_value


def _sign(differences: Array) -> float:
    from scipy.stats import binomtest

    wins, losses = int((differences > 0).sum()), int((differences < 0).sum())
    return float(binomtest(wins, wins + losses).pvalue)


def has_spread(differences: Array) -> bool:
    """Whether differences differ from each other by more than rounding, and not beyond all measure."""
    low, high = float(differences.min()), float(differences.max())
    return -LARGEST <= low <= high <= LARGEST and high - low > ROUNDING * max(abs(low), abs(high), 1.0)


_TESTS: dict[str, Callable[[Array, Draws], Sequence[float | None]]] = {
    "randomisation": _randomisation,
    "t": _each(_paired_t),
    "wilcoxon": _each(_wilcoxon("wilcox")),
    "wilcoxon-pratt": _each(_wilcoxon("pratt")),
    "wilcoxon-zsplit": _each(_wilcoxon("zsplit")),
    "sign": _each(_sign),
    "bootstrap": _bootstrap,
}
