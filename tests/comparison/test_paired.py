"""Paired tests: what they are by definition, what scipy gives, and how often they reject what is true."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product
from typing import Any, get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankframe as rf
from rankframe.comparison import paired
from rankframe.comparison.paired import Draws, Test, check_test, has_spread, p_values

stats = pytest.importorskip("scipy.stats", reason="the extra stats is not installed")

Array = np.ndarray[Any, np.dtype[np.float64]]
TESTS: tuple[Test, ...] = get_args(Test)
DRAWN: tuple[Test, ...] = ("randomisation", "bootstrap")
WILCOXON: dict[Test, str] = {"wilcoxon": "wilcox", "wilcoxon-pratt": "pratt", "wilcoxon-zsplit": "zsplit"}
GRID = st.integers(-16, 16).map(lambda i: i / 32)
"""Differences whose sums are exact, with ties and zeros."""


def p_of(differences: Sequence[float] | Array, test: Test, n: int = 10_000, seed: int = 0) -> float | None:
    [p] = p_values(np.asarray(differences, dtype=np.float64)[:, None], test, Draws(n, seed))
    return p


def differences(n: int, seed: int = 2, shift: float = 0.05) -> Array:
    """As between two runs: a fifth of them 0, the others of either sign."""
    rng = np.random.default_rng(seed)
    drawn: Array = np.where(rng.random(n) < 0.2, 0.0, rng.normal(shift, 0.2, n))
    return drawn


# By definition.


@given(st.lists(GRID, min_size=2, max_size=9))
def test_randomisation_of_few_is_the_share_of_all_ways_to_set_the_signs(drawn: list[float]) -> None:
    observed = abs(sum(drawn))
    ways = [abs(sum(s * d for s, d in zip(signs, drawn, strict=True))) for signs in product((1, -1), repeat=len(drawn))]
    assert p_of(drawn, "randomisation") == sum(way >= observed for way in ways) / len(ways)


@pytest.mark.parametrize("n", [2, 3, 8, 12])
def test_as_scipy_counts_them(n: int) -> None:
    drawn = differences(n, shift=0.1)
    theirs = stats.permutation_test(
        (drawn, np.zeros(n)),
        lambda a, b, axis: np.abs((a - b).mean(axis=axis)),
        permutation_type="samples",
        alternative="greater",
        vectorized=True,
        n_resamples=np.inf,
    )
    assert p_of(drawn, "randomisation") == pytest.approx(theirs.pvalue, abs=1e-12)


def test_all_ways_are_taken_where_they_are_no_more_than_the_resamples() -> None:
    six = [0.5, 0.25, 0.5, 0.25, 0.5, 0.25]  # all of one sign: 2 of 64 ways are as far
    assert p_of(six, "randomisation", n=100) == 2 / 64
    assert p_of([*six, 0.0, 0.0, 0.0], "randomisation", n=100) == 2 / 64  # a sign of 0 is none
    seven = p_of([*six, 0.5], "randomisation", n=100)
    assert seven is not None
    assert seven * 101 == pytest.approx(round(seven * 101))
    assert p_of([*six, 0.5], "randomisation", n=128) == 2 / 128


@given(st.lists(GRID, min_size=8, max_size=12), st.integers(0, 5))
def test_random_signs_give_nearly_what_all_give(drawn: list[float], seed: int) -> None:
    exact, found = p_of(drawn, "randomisation"), p_of([*drawn], "randomisation", n=200, seed=seed)
    assert exact is not None
    assert found is not None
    assert found == pytest.approx(exact, abs=5.5 * math.sqrt(max(exact * (1 - exact), 0.002) / 200) + 1 / 200)


@pytest.mark.parametrize("test", DRAWN)
@pytest.mark.parametrize("n", [100, 999])
def test_a_random_p_counts_the_observed_way_and_is_never_0(test: Test, n: int) -> None:
    assert p_of(np.linspace(0.5, 0.6, 60), test, n=n) == pytest.approx(1 / (n + 1))


def test_bootstrap_is_how_often_t_of_resamples_moves_as_far_as_the_observed_one() -> None:
    drawn = differences(12)
    rng = np.random.default_rng(99)
    resampled = (drawn - drawn.mean())[rng.integers(12, size=(40_000, 12))]
    t = resampled.mean(axis=1) / resampled.std(axis=1, ddof=1) * 12**0.5
    right = float((np.abs(t) >= abs(stats.ttest_1samp(drawn, 0.0).statistic)).mean())
    found = p_of(drawn, "bootstrap", n=40_000)
    assert found == pytest.approx(right, abs=6 * math.sqrt(2 * right * (1 - right) / 40_000))


# As scipy.


@pytest.mark.parametrize("n", [2, 5, 30, 300])
def test_t_is_that_of_scipy(n: int) -> None:
    rng = np.random.default_rng(n)
    a, b = rng.random(n), rng.random(n)
    assert p_of(a - b, "t") == pytest.approx(stats.ttest_rel(a, b).pvalue, rel=1e-9)


@pytest.mark.parametrize("n", [26, 60, 300])
@pytest.mark.parametrize("test", WILCOXON)
def test_wilcoxon_of_many_is_that_of_scipy(test: Test, n: int) -> None:
    drawn = np.round(differences(n), 2)  # with ties
    theirs = stats.wilcoxon(drawn, zero_method=WILCOXON[test], method="asymptotic").pvalue
    assert p_of(drawn, test) == pytest.approx(theirs, rel=1e-12)


@pytest.mark.parametrize("n", [2, 4, 10, 25])
@pytest.mark.parametrize("test", WILCOXON)
def test_wilcoxon_of_few_without_ties_is_exact(test: Test, n: int) -> None:
    drawn = np.random.default_rng(n).normal(0.1, 0.2, n)
    assert p_of(drawn, test) == pytest.approx(stats.wilcoxon(drawn, method="exact").pvalue, rel=1e-12)


@given(st.lists(GRID.filter(bool), min_size=2, max_size=8))
def test_wilcoxon_of_few_with_ties_is_the_share_of_all_ways_to_set_the_signs(drawn: list[float]) -> None:
    ranks = stats.rankdata(np.abs(drawn))
    centre = ranks.sum() / 2
    observed = abs(ranks[np.array(drawn) > 0].sum() - centre)
    ways = [abs(float(ranks @ np.array(signs)) - centre) for signs in product((0, 1), repeat=len(drawn))]
    right = sum(way >= observed - 1e-9 for way in ways) / len(ways)
    assert p_of(drawn, "wilcoxon") == pytest.approx(right, abs=1e-12)


@given(st.lists(GRID, min_size=2, max_size=60).filter(any))
def test_sign_is_a_binomial_test_of_wins_and_losses(drawn: list[float]) -> None:
    wins, losses = sum(d > 0 for d in drawn), sum(d < 0 for d in drawn)
    assert p_of(drawn, "sign") == pytest.approx(stats.binomtest(wins, wins + losses, 0.5).pvalue)


def test_sizes_that_differ_by_rounding_alone_are_tied_for_wilcoxon() -> None:
    """0.3 - 0.2 and 0.1 are one size, though not one number."""
    gaps = [0.3 - 0.2, 0.1, -(0.4 - 0.3), 0.2, 0.7 - 0.5, -0.3, 0.1 + 0.2, 0.8 - 0.4, 0.5] * 4
    for test, zeros in (("wilcoxon", "wilcox"), ("wilcoxon-pratt", "pratt"), ("wilcoxon-zsplit", "zsplit")):
        right = stats.wilcoxon(np.round(gaps, 6), zero_method=zeros, method="asymptotic").pvalue
        assert p_of(gaps, test) == pytest.approx(right, abs=1e-12)  # type: ignore[arg-type]
        assert p_of(gaps, test) != pytest.approx(stats.wilcoxon(gaps, zero_method=zeros, method="asymptotic").pvalue)  # type: ignore[arg-type]


@pytest.mark.parametrize("test", ["wilcoxon", "wilcoxon-pratt", "wilcoxon-zsplit"])
def test_few_differences_among_many_ties_are_counted_out_for_wilcoxon(test: Test) -> None:
    """Five wins and nothing else: 2 of 32 ways to set the signs are as far."""
    assert p_of([0.1, 0.2, 0.3, 0.4, 0.5] + [0.0] * 25, test) == 2 / 32


def test_the_bootstrap_is_no_license_where_queries_are_few() -> None:
    """A test of the mean itself rejects 15 % of true hypotheses at n = 5; by t it does not."""
    assert p_of([0.5, 0.6], "bootstrap", n=2_000) > 0.2  # type: ignore[operator]
    rng = np.random.default_rng(8)
    for n in (5, 8, 20):
        drawn = rng.normal(0, 1, (n, 1_000))
        p = np.array(p_values(drawn, "bootstrap", Draws(500, 1)))
        assert (p <= 0.05).mean() < 0.075


# Laws.


@pytest.mark.parametrize("test", TESTS)
@given(drawn=st.lists(GRID, min_size=2, max_size=7) | st.lists(GRID, min_size=20, max_size=40))
def test_a_p_is_above_0_and_at_most_1_and_does_not_depend_on_the_sign(test: Test, drawn: list[float]) -> None:
    p = p_of(drawn, test, n=300)
    if p is None:
        assert test in {"t", "bootstrap"}
        assert len(set(drawn)) == 1
    else:
        assert 0 < p <= 1
        assert p_of([-d for d in drawn], test, n=300) == pytest.approx(p)


@pytest.mark.parametrize("test", TESTS)
def test_of_zeros_it_is_1_and_of_fewer_than_two_there_is_none(test: Test) -> None:
    assert p_of([0.0, 0.0], test) == 1.0
    assert p_of([0.0] * 50, test) == 1.0
    assert p_of([0.0], test) is None
    assert p_of([0.3], test) is None
    assert p_of([math.nan, math.nan], test) is None
    assert p_of([math.nan, 0.3], test) is None
    assert p_values(np.empty((5, 0)), test, Draws(100, 0)) == []


@pytest.mark.parametrize("test", TESTS)
@pytest.mark.parametrize("infinite", [math.inf, -math.inf])
def test_of_an_infinite_difference_there_is_none(test: Test, infinite: float) -> None:
    assert p_of([0.1, infinite, 0.2], test) is None
    beside = np.array([[0.1, 0.1], [infinite, 0.3], [0.2, -0.2]])
    assert p_values(beside, test, Draws(100, 0)) == [None, p_of([0.1, 0.3, -0.2], test, n=100)]


@pytest.mark.parametrize("test", TESTS)
def test_it_depends_on_its_own_column_alone(test: Test) -> None:
    columns = [differences(61, seed) for seed in range(6)]
    columns[3][::3] = math.nan
    columns[4][:40] = math.nan
    columns[5][5:] = 0.0
    together = p_values(np.stack(columns, axis=1), test, Draws(500, 3))
    assert together == [pytest.approx(p_of(column, test, n=500, seed=3)) for column in columns]
    turned = p_values(np.stack(columns[::-1], axis=1), test, Draws(500, 3))
    assert turned[::-1] == pytest.approx(together)


@pytest.mark.parametrize("test", TESTS)
@pytest.mark.parametrize("n", [8, 40])
def test_it_does_not_depend_on_queries_that_are_in_no_pair(test: Test, n: int) -> None:
    """Such as samples of a third run."""
    drawn = differences(n)
    beside = np.insert(drawn, [0, 3, 3, n, n], math.nan)
    assert p_of(beside, test, n=500) == pytest.approx(p_of(drawn, test, n=500))


@pytest.mark.parametrize("test", DRAWN)
def test_a_random_p_is_the_same_for_a_seed_and_nearly_for_another(test: Test) -> None:
    drawn = differences(50, shift=0.03)
    first = p_of(drawn, test, seed=1)
    assert first is not None
    assert p_of(drawn, test, seed=1) == first
    others = [p_of(drawn, test, seed=seed) for seed in range(2, 7)]
    assert len({first, *others}) > 1
    assert others == pytest.approx([first] * 5, abs=6 * math.sqrt(2 * first * (1 - first) / 10_000))


@pytest.mark.parametrize("n", [31, 33, 50, 64])
@pytest.mark.parametrize("rows", [1, 7, 64, 1_000])
def test_how_many_signs_are_held_at_a_time_does_not_matter(n: int, rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = differences(n)
    whole = p_of(drawn, "randomisation", n=3_000)
    monkeypatch.setattr(paired, "_SIGNS_AT_ONCE", rows * n)
    assert p_of(drawn, "randomisation", n=3_000) == whole


@pytest.mark.parametrize("test", TESTS)
def test_the_differences_are_not_changed(test: Test) -> None:
    drawn = np.stack([differences(30), differences(30, 5)], axis=1)
    drawn[3, 0] = math.nan
    before = drawn.copy()
    p_values(drawn, test, Draws(200, 0))
    assert np.array_equal(drawn, before, equal_nan=True)


# How often they reject what is true, and what is not.

SIMULATED = {"randomisation": 2_000, "t": 1_000, "wilcoxon": 1_000, "wilcoxon-pratt": 1_000, "wilcoxon-zsplit": 1_000}


def rejected(test: Test, drawn: Array, alpha: float = 0.05) -> float:
    found = [p for p in p_values(drawn, test, Draws(1_000, 0)) if p is not None]
    assert len(found) == drawn.shape[1]
    return sum(p <= alpha for p in found) / len(found)


@pytest.mark.parametrize("alpha", [0.05, 0.2])
@pytest.mark.parametrize("test", SIMULATED)
def test_of_runs_that_are_equally_good_it_finds_as_many_as_alpha_says(test: Test, alpha: float) -> None:
    m = SIMULATED[test]
    rng = np.random.default_rng(8)
    drawn = rng.beta(0.7, 0.7, (40, m)) - rng.beta(0.7, 0.7, (40, m))
    assert rejected(test, drawn, alpha) == pytest.approx(alpha, abs=4 * math.sqrt(alpha * (1 - alpha) / m))


def test_all_ways_to_set_the_signs_never_find_more() -> None:
    drawn = np.random.default_rng(8).normal(size=(9, 2_000))  # p is a multiple of 2 / 512
    assert rejected("randomisation", drawn, 25 * 2 / 512) == pytest.approx(25 * 2 / 512, abs=0.027)
    assert rejected("randomisation", drawn, 1 / 512) == 0


def test_the_sign_test_finds_fewer_and_the_bootstrap_hardly_more() -> None:
    drawn = np.random.default_rng(8).normal(size=(50, 800))
    assert 0.01 < rejected("sign", drawn) < 0.05
    assert 0.03 < rejected("bootstrap", drawn) < 0.09


@pytest.mark.parametrize("test", TESTS)
def test_it_finds_most_large_differences(test: Test) -> None:
    assert rejected(test, np.random.default_rng(8).normal(0.8, 1.0, (40, 100))) > 0.9


# What is there.


@pytest.mark.parametrize("test", ["Randomisation", "randomization", "ttest", "", None, 3])
def test_a_test_that_there_is_not_is_refused(test: Any) -> None:
    with pytest.raises(rf.DataError, match=rf"^no test {test!r}: "):
        check_test(test)
    with pytest.raises(rf.DataError, match=rf"^no test {test!r}: "):
        p_values(np.zeros((3, 1)), test, Draws(100, 0))


def test_the_nearest_is_told() -> None:
    with pytest.raises(rf.DataError, match=r"^no test 'randomization': .*'randomisation'"):
        check_test("randomization")


@pytest.mark.parametrize(
    ("drawn", "right"),
    [
        ([0.1, 0.1], False),
        ([0.1, 0.2], True),
        ([0.3, 0.1 + 0.2], False),
        ([1e9, 1e9 + 1e-6], False),
        ([-1.0, 1.0], True),
    ],
)
def test_spread_is_more_than_rounding(drawn: list[float], right: bool) -> None:  # noqa: FBT001
    assert has_spread(np.array(drawn)) is right
