"""Comparisons that say nothing, too little, or that are easily turned round."""

from __future__ import annotations

import math
from typing import get_args

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankframe as rf
from rankframe.comparison import corrected
from rankframe.comparison.paired import Test
from tests.comparison.shared import report_of

pytest.importorskip("scipy", reason="the extra stats is not installed")

TESTS: tuple[Test, ...] = get_args(Test)


def row(report: rf.Report, **options: object) -> dict[str, object]:
    (found,) = rf.compare(report, **options).iter_rows(named=True)  # type: ignore[arg-type]
    return found


def no_nan(frame: pl.DataFrame) -> bool:
    return not any(isinstance(cell, float) and math.isnan(cell) for line in frame.iter_rows() for cell in line)


@pytest.mark.parametrize("test", TESTS)
def test_identical_runs(test: Test) -> None:
    scores = {"q1": 0.1, "q2": 0.2, "q3": 0.3}
    report = report_of({"a": scores, "b": scores})
    found = row(report, test=test)
    assert (found["p"], found["p_corrected"], found["significant"]) == (1.0, 1.0, False)
    assert (found["difference"], found["reason"]) == (0.0, "no difference")
    assert (found["ci_low"], found["ci_high"]) == (0.0, 0.0)
    assert no_nan(rf.compare(report, test=test))


@pytest.mark.parametrize("test", TESTS)
@given(st.lists(st.floats(0, 1), min_size=2, max_size=60))
def test_runs_that_differ_by_rounding_alone_are_identical(test: Test, values: list[float]) -> None:
    a = {f"q{i}": value for i, value in enumerate(values)}
    b = {query: (value + 0.1) - 0.1 for query, value in a.items()}
    found = row(report_of({"a": a, "b": b}), test=test)
    assert (found["p"], found["difference"], found["ties"]) == (1.0, 0.0, len(values))


@pytest.mark.parametrize("test", TESTS)
def test_single_query(test: Test) -> None:
    report = report_of({"a": {"q1": 0.9}, "b": {"q1": 0.1}})
    found = row(report, test=test)
    assert (found["p"], found["p_corrected"], found["significant"]) == (None, None, False)
    assert found["difference"] == pytest.approx(0.8)
    assert found["reason"] == "one query"
    assert found["few_queries"] is True
    assert no_nan(rf.compare(report, test=test))


@pytest.mark.parametrize("test", TESTS)
@given(st.integers(2, 40), st.floats(0.01, 1.0))
def test_differences_that_are_all_equal_give_a_p_value_or_a_reason(test: Test, n: int, gap: float) -> None:
    base = {f"q{i}": i / n for i in range(n)}
    report = report_of({"a": {query: value + gap for query, value in base.items()}, "b": base})
    found = row(report, test=test)
    assert no_nan(rf.compare(report, test=test))
    assert found["no_spread"] is True
    if test in {"t", "bootstrap"}:
        assert (found["p"], found["significant"]) == (None, False)
        assert found["reason"] == f"all differences are equal, for which {test} is not defined"
    else:
        assert 0 < found["p"] <= 1  # type: ignore[operator]
        assert str(found["reason"]).startswith("all differences are equal")


def test_holm_without_baseline() -> None:
    p_values = {"base": None, "r1": 0.01, "r2": 0.04, "r3": 0.03}
    assert corrected(p_values, "holm") == pytest.approx({"base": None, "r1": 0.03, "r2": 0.06, "r3": 0.06})
    bonferroni = corrected(p_values, "bonferroni")
    assert [bonferroni[run] for run in ("r1", "r2", "r3")] == pytest.approx([0.03, 0.12, 0.09])


def test_a_comparison_with_a_baseline_counts_its_tests_alone() -> None:
    queries = [f"q{i}" for i in range(12)]
    runs = {"base": dict.fromkeys(queries, 0.5)}
    runs |= {f"r{j}": {query: 0.5 + 0.01 * ((i * j) % 7 - 2) for i, query in enumerate(queries)} for j in (1, 2, 3)}
    found = rf.compare(report_of(runs), baseline="base", correction="bonferroni")
    assert found.height == 3
    assert found["other"].unique().to_list() == ["base"]
    assert found["p_corrected"].to_list() == pytest.approx([min(1.0, 3 * p) for p in found["p"]])


def test_better_direction_and_sign() -> None:
    a = {"q1": 0.5, "q2": 0.4, "q3": 0.3, "q4": 0.3}
    b = {"q1": 0.6, "q2": 0.4, "q3": 0.1, "q4": 0.4}
    found = row(report_of({"a": a, "b": b}), baseline="a")
    assert (found["run_id"], found["other"]) == ("b", "a")
    assert (found["wins"], found["losses"], found["ties"]) == (2, 1, 1)
    assert str(found["difference"]) == "0.0"  # neither -0.0 nor what rounding left


@given(st.dictionaries(st.sampled_from("abcdefgh"), st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=1))
def test_turning_a_comparison_round_turns_its_signs_alone(scores: dict[str, tuple[float, float]]) -> None:
    a, b = ({query: pair[side] for query, pair in scores.items()} for side in (0, 1))
    report = report_of({"a": a, "b": b})
    one, other = row(report, baseline="a"), row(report, baseline="b")
    assert one["difference"] == pytest.approx(-other["difference"])  # type: ignore[operator]
    assert (one["wins"], one["ties"], one["losses"]) == (other["losses"], other["ties"], other["wins"])
    assert one["p"] == other["p"]
    assert one["wins"] + one["ties"] + one["losses"] == one["n"] == len(scores)  # type: ignore[operator]
