"""Corrected p values: laws of every method, and the values that statsmodels gives."""

from __future__ import annotations

import math
import sys
from importlib.util import find_spec
from typing import Any, get_args

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankframe as rf
from rankframe.comparison import corrected
from rankframe.comparison.corrections import Correction

NEEDS_SCIPY: tuple[Correction, ...] = ("bh", "by")
with_scipy = pytest.mark.skipif(find_spec("scipy") is None, reason="the extra stats is not installed")
METHODS = [pytest.param(method, marks=with_scipy if method in NEEDS_SCIPY else ()) for method in get_args(Correction)]
P = st.floats(0, 1)
FAMILIES = st.lists(P | st.none() | st.sampled_from([0.0, 1.0, 0.05]), max_size=12)


def made(values: list[float | None]) -> list[float]:
    return [value for value in values if value is not None]


# Laws.


@pytest.mark.parametrize("method", METHODS)
@given(family=FAMILIES)
def test_each_is_at_least_what_it_was_and_at_most_1(method: Correction, family: list[float | None]) -> None:
    found = corrected(family, method)
    assert [p is None for p in found] == [p is None for p in family]
    for before, after in zip(made(family), made(found), strict=True):
        assert type(after) is float
        assert before <= after * (1 + 1e-12)
        assert after <= 1


@pytest.mark.parametrize("method", METHODS)
@given(family=FAMILIES)
def test_a_smaller_p_stays_the_smaller(method: Correction, family: list[float | None]) -> None:
    pairs = sorted(zip(made(family), made(corrected(family, method)), strict=True))
    after = [corrected for _, corrected in pairs]
    assert after == sorted(after)


@pytest.mark.parametrize("method", METHODS)
@given(data=st.data(), family=FAMILIES)
def test_the_order_of_the_tests_does_not_matter(
    method: Correction, data: st.DataObject, family: list[float | None]
) -> None:
    order = data.draw(st.permutations(range(len(family))))
    assert corrected([family[i] for i in order], method) == [corrected(family, method)[i] for i in order]


@pytest.mark.parametrize("method", METHODS)
@given(family=FAMILIES)
def test_a_test_that_was_not_made_does_not_count(method: Correction, family: list[float | None]) -> None:
    assert made(corrected(family, method)) == corrected(made(family), method)


@pytest.mark.parametrize("method", METHODS)
@given(p=P)
def test_one_test_needs_no_correction(method: Correction, p: float) -> None:
    assert corrected([p], method) == [pytest.approx(p, rel=1e-12)]


@pytest.mark.parametrize("method", METHODS)
@given(family=FAMILIES)
def test_names_stay_with_their_values(method: Correction, family: list[float | None]) -> None:
    named = {f"r{i}": p for i, p in enumerate(family)}
    found = corrected(named, method)
    assert list(found) == list(named)
    assert list(found.values()) == corrected(family, method)


@given(family=st.lists(P, min_size=1, max_size=12))
def test_holm_is_between_holm_sidak_and_bonferroni(family: list[float]) -> None:
    sidak, holm, bonferroni = (made(corrected(family, m)) for m in ("holm-sidak", "holm", "bonferroni"))
    for low, middle, high in zip(sidak, holm, bonferroni, strict=True):
        assert low <= middle * (1 + 1e-12)
        assert middle <= high


@with_scipy
@given(family=st.lists(P, min_size=1, max_size=12))
def test_the_rate_of_false_findings_is_below_holm_and_by_above_it_by_a_factor(family: list[float]) -> None:
    bh, by, holm = (made(corrected(family, m)) for m in ("bh", "by", "holm"))
    harmonic = sum(1 / i for i in range(1, len(family) + 1))
    for rate, dependent, step in zip(bh, by, holm, strict=True):
        assert rate <= step * (1 + 1e-12)
        assert dependent >= rate
        assert dependent == pytest.approx(min(1.0, rate * harmonic)) or rate == 1


@given(family=st.lists(P, min_size=1, max_size=12), alpha=st.floats(0.001, 0.999))
def test_holm_rejects_what_its_steps_reject(family: list[float], alpha: float) -> None:
    """As Holm wrote it: the smallest against alpha / m, the next against alpha / (m - 1), till one fails."""
    rejected = 0
    for left, p in zip(range(len(family), 0, -1), sorted(family), strict=True):
        if p * left > alpha:
            break
        rejected += 1
    assert sum(p <= alpha for p in made(corrected(family, "holm"))) == rejected


# Values.

FAMILY = [0.01, 0.04, 0.03, 0.005, 0.6]
BY_STATSMODELS: dict[Correction, list[float]] = {  # multipletests of statsmodels 0.14
    "bonferroni": [0.05, 0.2, 0.15, 0.025, 1.0],
    "holm": [0.04, 0.09, 0.09, 0.025, 0.6],
    "holm-sidak": [1 - 0.99**4, 1 - 0.97**3, 1 - 0.97**3, 1 - 0.995**5, 0.6],
    "bh": [0.025, 0.05, 0.05, 0.025, 0.6],
    "by": [0.025 * 137 / 60, 0.05 * 137 / 60, 0.05 * 137 / 60, 0.025 * 137 / 60, 1.0],
}


@pytest.mark.parametrize("method", METHODS)
def test_a_family_of_five(method: Correction) -> None:
    assert corrected(FAMILY, method) == pytest.approx(BY_STATSMODELS[method], abs=1e-15)


@pytest.mark.parametrize("method", METHODS)
def test_ties_are_corrected_alike(method: Correction) -> None:
    assert len(set(corrected([0.02, 0.02, 0.02], method))) == 1


def test_bonferroni_multiplies_and_stops_at_1() -> None:
    assert corrected([0.2, 0.5], "bonferroni") == [0.4, 1.0]


def test_a_tiny_p_keeps_its_digits() -> None:
    assert corrected([1e-300, 1.0], "holm-sidak") == [pytest.approx(2e-300), 1.0]
    assert corrected([1e-18] * 4, "holm-sidak") == pytest.approx([4e-18] * 4)


def test_holm_unless_another_is_asked() -> None:
    assert corrected([0.01, 0.04]) == [0.02, 0.04]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("family", [[], [None], [None, None]])
def test_no_tests_are_no_tests(method: Correction, family: list[float | None]) -> None:
    assert corrected(family, method) == family
    assert corrected({}, method) == {}


def test_a_column_of_a_frame_can_be_given() -> None:
    column: Any = pl.Series([0.01, None, 0.04])
    assert corrected(column) == [0.02, None, 0.04]


def test_what_was_given_is_not_changed() -> None:
    family, named = [0.01, None], {"a": 0.01, "b": 0.02}
    corrected(family)
    corrected(named)
    assert (family, named) == ([0.01, None], {"a": 0.01, "b": 0.02})


# What is refused.


@pytest.mark.parametrize("p", [-0.001, 1.001, math.nan, math.inf, -math.inf, "0.05", "", [0.05]])
@pytest.mark.parametrize("named", [False, True])
def test_a_p_value_is_a_number_between_0_and_1(p: Any, named: bool) -> None:  # noqa: FBT001
    family: Any = {"a": 0.5, "b": p} if named else [0.5, p]
    with pytest.raises(rf.DataError, match=r"^a p value is a number between 0 and 1, or None where there was no test"):
        corrected(family)


@pytest.mark.parametrize("method", ["Holm", "fdr_bh", "sidak", "", None, 1])
def test_a_correction_is_one_of_five(method: Any) -> None:
    with pytest.raises(rf.DataError, match=rf"^no correction {method!r}: "):
        corrected([0.5], method)
    with pytest.raises(rf.DataError, match=r"^no correction "):
        corrected([], method)


def test_a_name_that_is_nearly_one_is_told() -> None:
    with pytest.raises(rf.DataError, match=r"^no correction 'holm-sidk': .*'holm-sidak'"):
        corrected([0.5], "holm-sidk")  # type: ignore[call-overload]


@pytest.mark.parametrize("method", NEEDS_SCIPY)
def test_without_scipy_the_extra_is_named(method: Correction, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "scipy", None)
    monkeypatch.setitem(sys.modules, "scipy.stats", None)
    with pytest.raises(rf.ExtraError, match=r"pip install 'rankframe\[stats\]'"):
        corrected([0.01, 0.02], method)


@pytest.mark.parametrize("method", ["holm", "bonferroni", "holm-sidak"])
def test_the_others_need_no_scipy(method: Correction, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "scipy", None)
    monkeypatch.setitem(sys.modules, "scipy.stats", None)
    assert corrected(FAMILY, method) == pytest.approx(BY_STATSMODELS[method], abs=1e-15)
