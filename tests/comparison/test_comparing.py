"""Comparing runs: what every column is by a plain definition, over which pairs, and what is refused."""

from __future__ import annotations

import math
import statistics
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, get_args

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

import rankframe as rf
from rankframe.comparison import corrected
from rankframe.comparison.comparing import COMPARISON, FEW
from rankframe.comparison.corrections import Correction
from rankframe.comparison.paired import Test
from rankframe.intervals import mean_intervals
from tests.comparison.shared import report_of

stats = pytest.importorskip("scipy.stats", reason="the extra stats is not installed")

TESTS: tuple[Test, ...] = get_args(Test)
GRID = st.integers(0, 32).map(lambda i: i / 32)
"""Scores whose differences are exact, with ties."""
SCORES = st.dictionaries(
    st.sampled_from([f"q{i}" for i in range(40)]), st.tuples(GRID | st.none(), GRID | st.none()), min_size=1
)


def row(report: rf.Report, **options: Any) -> dict[str, Any]:
    [found] = rf.compare(report, **options).iter_rows(named=True)
    return found


def two(a: Mapping[str, float | None], b: Mapping[str, float | None], **options: Any) -> rf.Report:
    return report_of({"a": a, "b": b}, **options)


def without_nan(frame: pl.DataFrame) -> bool:
    return not any(isinstance(cell, float) and math.isnan(cell) for line in frame.iter_rows() for cell in line)


QUERIES = [f"q{i:02}" for i in range(30)]
QRELS = {query: {"d1": 1, "d2": 2, "d3": 0} for query in QUERIES}
RUNS = {
    "a": {query: {f"d{(i + j) % 5}": 1.0 / (j + 1) for j in range(3)} for i, query in enumerate(QUERIES)},
    "b": {query: {f"d{(2 * i + j) % 7}": 1.0 / (j + 1) for j in range(4)} for i, query in enumerate(QUERIES[:26])},
    "c": {query: {f"d{(i * i + j) % 6}": 1.0 / (j + 1) for j in range(5)} for i, query in enumerate(QUERIES[4:])},
}
METRICS = ["ndcg@3", "map", "judged@3"]


def evaluated(*runs: str, **options: Any) -> rf.Report:
    return rf.evaluate({run: RUNS[run] for run in runs or RUNS}, QRELS, metrics=METRICS, **options)


# Every column.


def oracle(a: Mapping[str, float | None], b: Mapping[str, float | None]) -> dict[str, Any]:
    pairs = [(a[q], b[q]) for q in sorted(a) if a[q] is not None and b[q] is not None]
    gaps = [x - y for x, y in pairs]  # type: ignore[operator]
    n = len(pairs)
    mean = math.fsum(gaps) / n if n else None
    value, other = (math.fsum(p[i] for p in pairs) / n if n else None for i in (0, 1))  # type: ignore[misc]
    spread = statistics.stdev(gaps) if n > 1 else 0.0
    return {
        "n": n,
        "value": value,
        "other_value": other,
        "difference": mean,
        "relative": mean / other if mean is not None and other else None,
        "wins": sum(gap > 0 for gap in gaps),
        "ties": sum(gap == 0 for gap in gaps),
        "losses": sum(gap < 0 for gap in gaps),
        "effect_size": mean / spread if mean is not None and spread else None,
        "few_queries": n < 25,
        "no_spread": n > 1 and len(set(gaps)) == 1,
        "many_ties": sum(gap == 0 for gap in gaps) > n / 2,
        "judged": 0.1 if n else None,
        "other_judged": 0.1 if n else None,
    }


@given(SCORES)
def test_every_column_is_what_its_definition_says(scores: dict[str, tuple[float | None, float | None]]) -> None:
    a, b = ({query: pair[side] for query, pair in scores.items()} for side in (0, 1))
    found = row(two(a, b), test="sign", baseline="b")
    assert (found["metric"], found["run_id"], found["other"]) == ("map", "a", "b")
    for column, right in oracle(a, b).items():
        assert found[column] == (pytest.approx(right, abs=1e-12) if isinstance(right, float) else right), column
    assert found["n_unpaired"] >= sum((a[q] is None) != (b[q] is None) for q in a)


def test_the_columns_are_those_that_are_documented() -> None:
    found = rf.compare(evaluated())
    assert found.schema == COMPARISON
    assert found.columns == [
        *("metric", "run_id", "other", "value", "other_value", "difference", "ci_low", "ci_high", "relative"),
        *("wins", "ties", "losses", "n", "n_missing", "n_unpaired", "effect_size", "p", "p_corrected", "significant"),
        *("detectable", "few_queries", "no_spread", "many_ties", "judged", "other_judged"),
        *("test", "correction", "alpha", "level", "reason"),
    ]
    assert without_nan(found)


def test_a_row_tells_how_it_was_made() -> None:
    report = evaluated("a", "b").with_intervals(level=0.9)
    told = ("test", "correction", "alpha", "level")
    found = rf.compare(report, test="sign", correction="bonferroni", alpha=0.1)
    assert found.select(told).unique().rows() == [("sign", "bonferroni", 0.1, 0.9)]
    assert rf.compare(evaluated("a", "b")).select(told).unique().rows() == [("randomisation", "holm", 0.05, 0.95)]


def test_the_columns_are_so_where_nothing_can_be_said() -> None:
    found = rf.compare(two({"q1": None}, {"q1": None}))
    assert found.schema == COMPARISON
    assert found.row(0, named=True)["reason"] == "no query in common"


@given(SCORES)
def test_the_interval_is_that_of_the_differences_as_the_report_makes_it(
    scores: dict[str, tuple[float | None, float | None]],
) -> None:
    a, b = ({query: pair[side] for query, pair in scores.items()} for side in (0, 1))
    report = two(a, b).with_intervals(level=0.7, method="percentile", n_resamples=200, seed=4)
    found = row(report, baseline="b", test="sign")
    gaps = np.array([x - y for x, y in scores.values() if x is not None and y is not None])
    order = np.array([x - y for _, (x, y) in sorted(scores.items()) if x is not None and y is not None])
    assert len(order) == len(gaps)
    [right] = mean_intervals([order], report.intervals, "query")
    assert found["ci_low"] == (None if right.low is None else pytest.approx(right.low, abs=1e-12))
    assert found["ci_high"] == (None if right.high is None else pytest.approx(right.high, abs=1e-12))


def test_more_than_half_are_many_ties_and_fewer_than_25_few_queries() -> None:
    scores = {f"q{i:02}": 0.5 for i in range(26)}
    half = scores | {f"q{i:02}": 0.6 + i / 100 for i in range(13)}
    found = row(two(half, scores))
    assert (found["ties"], found["many_ties"], found["few_queries"], found["reason"]) == (13, False, False, None)
    found = row(two(half | {"q00": 0.5}, scores))
    assert (found["ties"], found["many_ties"], found["reason"]) == (14, True, "many ties")
    assert FEW == 25
    few = {query: half[query] for query in list(half)[:24]}
    found = row(two(few, dict.fromkeys(few, 0.5)))
    assert (found["n"], found["few_queries"], found["reason"]) == (24, True, "few queries")


@given(SCORES, st.sampled_from(TESTS))
def test_without_a_p_there_is_a_reason(scores: dict[str, tuple[float | None, float | None]], test: Test) -> None:
    a, b = ({query: pair[side] for query, pair in scores.items()} for side in (0, 1))
    found = row(two(a, b), test=test, n_resamples=100)
    assert found["p"] is not None or found["reason"] is not None
    assert (found["p"] is None) == (found["p_corrected"] is None)
    assert found["significant"] is (found["p"] is not None and found["p_corrected"] <= 0.05)


def test_infinite_scores_are_won_and_lost_and_give_no_p_but_a_reason() -> None:
    scores = {f"q{i:02}": i / 40 for i in range(30)}
    report = two(
        scores | {"q00": math.inf, "q01": 0.5, "q02": math.inf, "q03": -math.inf},
        scores | {"q00": 0.5, "q01": math.inf, "q02": math.inf, "q03": 0.5},
    )
    found = rf.compare(report, baseline="b")
    assert without_nan(found)
    told = found.row(0, named=True)
    assert (told["wins"], told["losses"], told["ties"]) == (1, 2, 27)
    assert (told["p"], told["ci_low"], told["ci_high"]) == (None, None, None)
    assert told["reason"] is not None


def test_one_infinite_score_gives_no_nan() -> None:
    scores = {f"q{i:02}": i / 40 for i in range(30)}
    found = rf.compare(two(scores | {"q00": math.inf}, scores), baseline="b")
    assert without_nan(found)
    assert found.select("value", "difference", "wins", "p").row(0) == (math.inf, math.inf, 1, None)


# Pairs.


def test_pairs_are_made_by_id_and_not_by_place() -> None:
    report = evaluated()
    shuffled = replace(report, scores=report.scores.sample(fraction=1.0, shuffle=True, seed=3))
    assert_frame_equal(rf.compare(shuffled), rf.compare(report))


@pytest.mark.parametrize("test", TESTS)
def test_a_row_does_not_depend_on_the_other_runs(test: Test) -> None:
    options: dict[str, Any] = {"test": test, "correction": None, "n_resamples": 300}
    together = rf.compare(evaluated(missing="skip"), **options)
    for pair in (("a", "b"), ("a", "c"), ("b", "c")):
        alone = rf.compare(evaluated(*pair, missing="skip"), **options)
        assert_frame_equal(alone, together.filter(pl.col("run_id").is_in(pair), pl.col("other").is_in(pair)))


def test_a_missing_query_counts_as_0_and_is_counted() -> None:
    found = row(evaluated("a", "b"), metrics="map", baseline="a")
    assert (found["n"], found["n_missing"], found["n_unpaired"]) == (30, 4, 0)
    assert found["other_value"] == pytest.approx(evaluated("a").value("map"))
    assert found["value"] == pytest.approx(evaluated("b").value("map"))
    both = row(evaluated("b", "c"), metrics="map")
    assert (both["n"], both["n_missing"], both["n_unpaired"]) == (30, 8, 0)


def test_or_is_left_out_and_counted() -> None:
    found = row(evaluated("a", "b", missing="skip"), metrics="map", baseline="a")
    assert (found["n"], found["n_missing"], found["n_unpaired"]) == (26, 0, 4)
    both = row(evaluated("b", "c", missing="skip"), metrics="map", baseline="c")
    assert (both["n"], both["n_missing"], both["n_unpaired"]) == (22, 0, 8)
    narrowed = rf.evaluate({"c": RUNS["c"]}, QRELS, metrics="map", queries=QUERIES[4:26])
    assert both["other_value"] == pytest.approx(narrowed.value("map"))


def test_the_judged_shares_are_over_the_pairs_and_of_the_metrics_cutoff() -> None:
    report = evaluated("a", "b", missing="skip")
    found = rf.compare(report, baseline="a")
    wide = report.scores.filter(pl.col("query_id").is_in(QUERIES[:26]))
    for metric, share in (("ndcg@3", pl.col("judged@3")), ("map", pl.col("n_judged") / pl.col("n_ret"))):
        shares = dict(wide.group_by("run_id").agg(share.mean().alias("share")).iter_rows())
        told = found.filter(metric=metric).select("judged", "other_judged").row(0)
        assert told == pytest.approx((shares["b"], shares["a"]))
    untold = rf.evaluate({"a": RUNS["a"], "b": RUNS["b"]}, QRELS, metrics="ndcg@2")
    assert rf.compare(untold).select("judged", "other_judged").row(0) == (None, None)


def samples(answers: Mapping[str, Mapping[str, str | None]]) -> rf.Report:
    rows = [
        {"run_id": run, "sample_id": name, "user_input": "x", "response": "Paris", "reference": reference}
        for run, told in answers.items()
        for name, reference in told.items()
    ]
    return rf.evaluate_samples(pl.DataFrame(rows), metrics="exact_match")


def test_samples_are_paired_by_their_id_and_those_without_a_value_left_out() -> None:
    found = row(
        samples(
            {
                "a": {"s0": "Paris", "s1": "Paris", "s2": "Rome", "s3": None, "s5": "Paris"},
                "b": {"s1": "Rome", "s2": "Rome", "s3": "Paris", "s4": "Paris", "s5": "Paris"},
            }
        ),
        baseline="b",
    )
    assert (found["n"], found["wins"], found["ties"], found["losses"]) == (3, 1, 2, 0)
    assert (found["n_unpaired"], found["n_missing"]) == (3, 0)
    assert (found["value"], found["other_value"]) == (pytest.approx(2 / 3), pytest.approx(1 / 3))
    assert (found["judged"], found["other_judged"]) == (None, None)
    assert found["reason"] == "few samples; many ties"


def test_samples_of_a_third_run_change_no_row() -> None:
    references = ["Paris", "Rome", "Rome", "Oslo", "Paris", "Bern", "Rome"]
    a = {f"s{i:02}": references[i % 7] for i in range(40)}
    b = {f"s{i:02}": references[i * i % 7] for i in range(40)}
    c = {f"s{i:02}": "Paris" for i in range(30, 75)}
    for test in TESTS:
        options: dict[str, Any] = {"test": test, "correction": None, "n_resamples": 500}
        found = rf.compare(samples({"a": a, "b": b, "c": c}), **options).filter(
            pl.col("run_id").is_in(["a", "b"]) & pl.col("other").is_in(["a", "b"])
        )
        assert found.height == 1
        assert_frame_equal(found, rf.compare(samples({"a": a, "b": b}), **options))


def test_samples_in_no_common_say_so() -> None:
    found = row(samples({"a": {"s1": "Paris"}, "b": {"s2": "Paris"}}))
    assert (found["n"], found["n_unpaired"], found["p"], found["reason"]) == (0, 2, None, "no sample in common")
    assert (found["value"], found["difference"], found["ci_low"]) == (None, None, None)


# Which pairs, in which order.


def pairs(found: pl.DataFrame) -> list[tuple[str, str]]:
    return found.select("run_id", "other").rows()


FIVE = {name: {f"q{i}": (i * place % 7) / 7 for i in range(9)} for place, name in enumerate("abcde", 1)}


def test_all_pairs_once_without_a_baseline() -> None:
    found = rf.compare(report_of(FIVE))
    names = sorted(FIVE)
    assert sorted(tuple(sorted(pair)) for pair in pairs(found)) == [
        (a, b) for i, a in enumerate(names) for b in names[i + 1 :]
    ]


def test_the_better_run_of_each_pair_is_first_without_a_baseline() -> None:
    found = rf.compare(report_of(FIVE))
    assert (found["difference"] >= 0).all()
    means = {name: sum(scores.values()) / len(scores) for name, scores in FIVE.items()}
    for run, other, value, other_value in found.select("run_id", "other", "value", "other_value").iter_rows():
        assert (value, other_value) == (pytest.approx(means[run]), pytest.approx(means[other]))
        assert means[run] > means[other] or run < other


def test_every_other_run_with_one_baseline() -> None:
    assert sorted(pairs(rf.compare(report_of(FIVE), baseline="c"))) == [(run, "c") for run in "abde"]


@pytest.mark.parametrize("baseline", [["b", "d"], ("d", "b"), ["b", "d", "b"]])
def test_every_other_run_with_each_of_several(baseline: Sequence[str]) -> None:
    found = rf.compare(report_of(FIVE), baseline=baseline)
    assert sorted(pairs(found)) == [(run, other) for run in "ace" for other in "bd"]


def test_rows_stand_in_the_order_of_metrics_and_best_first() -> None:
    found = rf.compare(evaluated(), baseline="a", metrics=METRICS)
    assert found["metric"].to_list() == [metric for metric in METRICS for _ in range(2)]
    for _, rows in found.group_by("metric"):
        assert rows["value"].to_list() == sorted(rows["value"], reverse=True)
    same = report_of({"c": {"q1": 0.5}, "b": {"q1": 0.5}, "a": {"q1": 0.5}})
    assert pairs(rf.compare(same)) == [("a", "b"), ("a", "c"), ("b", "c")]


def test_metrics_by_any_of_their_names() -> None:
    assert rf.compare(evaluated(), metrics="MAP")["metric"].unique().to_list() == ["map"]
    assert set(rf.compare(evaluated(), metrics=["map", "nDCG@3"])["metric"]) == {"map", "ndcg@3"}
    assert rf.compare(evaluated("a", "b"), metrics=["map", "map"]).height == 1


def test_a_metric_that_is_put_together_in_two_ways_has_one_row() -> None:
    report = rf.evaluate({"a": RUNS["a"], "b": RUNS["b"]}, QRELS, metrics=["map", "gm_map"])
    assert rf.compare(report)["metric"].to_list() == ["map"]


@pytest.mark.parametrize("name", ["a ", " a", "*", "^.*$", "^a$", "query_id", "value", "metric", "#", "0", "1"])
def test_a_run_may_have_any_name(name: str) -> None:
    report = report_of({"a": {"q1": 0.5, "q2": 0.25}, name: {"q1": 0.75, "q2": 0.5}})
    found = row(report, baseline="a")
    assert (found["run_id"], found["other"], found["difference"], found["wins"]) == (name, "a", 0.25, 2)


# p values and their correction.


def test_p_values_are_those_of_scipy() -> None:
    report = evaluated("a", "b")
    a, b = (report.scores.filter(run_id=run)["map"].to_numpy() for run in ("a", "b"))
    assert row(report, metrics="map", test="t")["p"] == pytest.approx(stats.ttest_rel(a, b).pvalue, rel=1e-9)
    wins, losses = int((a > b).sum()), int((a < b).sum())
    right = stats.binomtest(wins, wins + losses).pvalue
    assert row(report, metrics="map", test="sign")["p"] == pytest.approx(right)


@pytest.mark.parametrize("test", ["randomisation", "bootstrap"])
def test_random_ones_are_the_same_for_a_seed(test: Test) -> None:
    report = evaluated()
    first = rf.compare(report, test=test, seed=7)
    assert_frame_equal(rf.compare(report, test=test, seed=7), first, check_exact=True)
    assert (rf.compare(report, test=test, seed=8)["p"] != first["p"]).any()


def test_fewer_resamples_are_coarser() -> None:
    p = row(evaluated("a", "b"), metrics="map", n_resamples=100)["p"]
    assert p * 101 == pytest.approx(round(p * 101))


CORRECTIONS: tuple[Correction, ...] = get_args(Correction)


@pytest.mark.parametrize("correction", CORRECTIONS)
def test_all_pairs_of_a_metric_are_corrected_together(correction: Correction) -> None:
    found = rf.compare(evaluated(), test="t", correction=correction)
    for metric in METRICS:
        rows = found.filter(metric=metric)
        assert rows["p_corrected"].to_list() == pytest.approx(corrected(rows["p"].to_list(), correction))
    assert found["correction"].unique().to_list() == [correction]


@pytest.mark.parametrize("correction", CORRECTIONS)
def test_or_all_rows_of_the_table(correction: Correction) -> None:
    found = rf.compare(evaluated(), test="t", correction=correction, family="table")
    assert found["p_corrected"].to_list() == pytest.approx(corrected(found["p"].to_list(), correction))
    assert found.height == 6


def test_shares_of_judged_documents_are_compared_on_request_alone() -> None:
    """They say nothing of how good a run is, and would enlarge the family."""
    assert rf.compare(evaluated())["metric"].unique().sort().to_list() == ["map", "ndcg@3"]
    assert rf.compare(evaluated(), metrics="judged@3")["metric"].unique().to_list() == ["judged@3"]
    only = rf.evaluate({"a": RUNS["a"], "b": RUNS["b"]}, QRELS, metrics="judged@3")
    assert rf.compare(only)["metric"].to_list() == ["judged@3"]


def test_a_failed_retrieval_that_counts_as_0_is_counted() -> None:
    def failing(query: str) -> list[str]:
        if query == "bad":
            raise ValueError(query)
        return ["d1"]

    queries = {"q1": "good", "q2": "bad", "q3": "good"}
    found = rf.retrieve(failing, queries, on_error="record")
    runs = {"a": found, "b": {query: {"d1": 1.0} for query in queries}}
    report = rf.evaluate(runs, {query: {"d1": 1} for query in queries}, metrics="map")
    assert row(report, baseline="b")["n_missing"] == 1


def test_only_a_report_is_compared() -> None:
    for given_ in ([evaluated()], evaluated().scores, None):
        with pytest.raises(rf.DataError, match=r"^compare\(\) takes a report, got a .*read_report\(\['a.parquet', "):
            rf.compare(given_)  # type: ignore[arg-type]


def test_or_nothing() -> None:
    found = rf.compare(evaluated(), correction=None)
    assert found["p_corrected"].equals(found["p"].alias("p_corrected"))
    assert found["correction"].null_count() == found.height


def test_a_row_without_a_p_does_not_count_in_its_family() -> None:
    base = {f"q{i}": i / 32 for i in range(12)}
    other = {f"q{i}": (i * 5 % 11) / 32 for i in range(12)}
    runs = {"base": base, "r": other, "shifted": {query: value + 0.25 for query, value in base.items()}}
    found = rf.compare(report_of(runs), baseline="base", test="t", correction="bonferroni")
    p = {run: (p, corrected) for run, p, corrected in found.select("run_id", "p", "p_corrected").iter_rows()}
    assert p["shifted"] == (None, None)
    assert p["r"][0] == p["r"][1]


def test_significant_is_a_corrected_p_up_to_alpha() -> None:
    base = {f"q{i}": 0.0 for i in range(6)}
    up = {f"q{i}": 0.5 + i / 32 for i in range(6)}  # p = 2 / 64
    report = two(up, base)
    assert row(report)["p"] == 2 / 64
    assert row(report, alpha=2 / 64)["significant"] is True
    assert row(report, alpha=2 / 64 - 1e-9)["significant"] is False
    three = report_of({"a": up, "b": base, "c": {**up, "q0": 0.25}})
    found = rf.compare(three, baseline="b", correction="bonferroni", alpha=0.05)
    assert found["significant"].to_list() == [False, False]


# The smallest difference that so many queries can detect.


def in_deviations(n: int, alpha: float, power: float) -> float:
    """What `detectable` is for differences with a standard deviation of 1."""
    gaps = np.random.default_rng(n).normal(0.5, 1.0, n)
    gaps = (gaps - gaps.mean()) / gaps.std(ddof=1) + 3.0
    a = {f"q{i:03}": float(gap) for i, gap in enumerate(gaps)}
    found = row(two(a, dict.fromkeys(a, 0.0)), test="t", alpha=alpha, power=power, baseline="b")
    assert found["effect_size"] == pytest.approx(3.0)
    detectable = found["detectable"]
    assert isinstance(detectable, float)
    return detectable


@pytest.mark.parametrize(
    ("n", "alpha", "power"), [(3, 0.05, 0.8), (10, 0.05, 0.8), (50, 0.05, 0.8), (50, 0.01, 0.8), (200, 0.05, 0.95)]
)
def test_a_t_test_finds_a_detectable_difference_with_the_power_asked(n: int, alpha: float, power: float) -> None:
    drawn = np.random.default_rng(5).normal(in_deviations(n, alpha, power), 1.0, (n, 20_000))
    t = drawn.mean(axis=0) / drawn.std(axis=0, ddof=1) * math.sqrt(n)
    found = float((np.abs(t) > stats.t.isf(alpha / 2, n - 1)).mean())
    assert found == pytest.approx(power, abs=4 * math.sqrt(power * (1 - power) / 20_000) + 0.002)


@pytest.mark.parametrize("n", [5, 20, 100])
def test_it_is_that_of_the_noncentral_t(n: int) -> None:
    shift = in_deviations(n, 0.05, 0.8) * math.sqrt(n)
    limit = stats.t.isf(0.025, n - 1)
    assert stats.nct.sf(limit, n - 1, shift) + stats.nct.cdf(-limit, n - 1, shift) == pytest.approx(0.8, abs=0.002)


def test_more_queries_detect_less_and_more_power_takes_more() -> None:
    found = [in_deviations(n, 0.05, 0.8) for n in (2, 3, 10, 40, 160)]
    assert found == sorted(found, reverse=True)
    assert in_deviations(40, 0.05, 0.9) > in_deviations(40, 0.05, 0.8) > in_deviations(40, 0.1, 0.8)
    assert in_deviations(40, 0.5, 0.3) == 0.0  # found by chance already


def test_it_is_null_without_spread_or_for_one_query() -> None:
    assert row(two({"q1": 0.5}, {"q1": 0.25}))["detectable"] is None
    assert row(two({"q1": 0.5, "q2": 0.5}, {"q1": 0.25, "q2": 0.25}))["detectable"] is None


# What is refused.


def test_one_run_has_none_to_be_compared_with() -> None:
    with pytest.raises(rf.DataError, match=r"^there are no two runs to compare, only 'a'; evaluate them together"):
        rf.compare(evaluated("a"))


@pytest.mark.parametrize("baseline", ["bb", ["a", "bb"]])
def test_a_baseline_is_a_run_of_the_report(baseline: Any) -> None:
    with pytest.raises(rf.DataError, match=r"^no run 'bb' to be the baseline: .*'b'"):
        rf.compare(evaluated(), baseline=baseline)


@pytest.mark.parametrize("baseline", [["a", "b", "c"], []])
def test_not_every_run_is_a_baseline_nor_none(baseline: list[str]) -> None:
    with pytest.raises(rf.DataError, match=r"^every run is a baseline, or none is; leave baseline= out"):
        rf.compare(evaluated(), baseline=baseline)


def test_metrics_are_those_of_the_report() -> None:
    with pytest.raises(rf.DataError, match=r"^no metric 'mapp' in this report: .*'map'"):
        rf.compare(evaluated(), metrics=["mapp"])
    with pytest.raises(rf.DataError, match=r"^metrics= is empty; leave it out to compare by all metrics"):
        rf.compare(evaluated(), metrics=[])


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"test": "ttest"}, r"^no test 'ttest': "),
        ({"test": None}, r"^no test None: "),
        ({"correction": "fdr"}, r"^no correction 'fdr': "),
        ({"family": "all"}, r'^family is "metric" \(all pairs of a metric\) or "table" \(all rows\), got \'all\'$'),
        ({"family": None}, r'^family is "metric" .*, got None$'),
        ({"alpha": 0}, r"^alpha is a share between 0 and 1, got 0$"),
        ({"alpha": 5}, r"^alpha is a share between 0 and 1, got 5$"),
        ({"alpha": True}, r"^alpha is a share between 0 and 1, got True$"),
        ({"alpha": math.nan}, r"^alpha is a share between 0 and 1, got nan$"),
        ({"alpha": "0.05"}, r"^alpha is a share between 0 and 1, got '0\.05'$"),
        ({"power": 1.0}, r"^power is a share between 0 and 1, got 1\.0$"),
        ({"power": 80}, r"^power is a share between 0 and 1, got 80$"),
        ({"n_resamples": 99}, r"^n_resamples is a whole number of at least 100 and at most 1,000,000, got 99$"),
        ({"n_resamples": 1e4}, r"^n_resamples is a whole number of at least 100 and at most 1,000,000, got 10000\.0$"),
        ({"seed": -1}, r"^seed is a whole number of at least 0, got -1$"),
        ({"seed": None}, r"^seed is a whole number of at least 0, got None$"),
    ],
    ids=lambda given: " ".join(f"{name}={value}" for name, value in given.items()) if isinstance(given, dict) else "",
)
def test_an_option_that_means_nothing_is_refused(options: dict[str, Any], said: str) -> None:
    with pytest.raises(rf.DataError, match=said):
        rf.compare(evaluated(), **options)


def test_without_scipy_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    report = evaluated()
    monkeypatch.setitem(sys.modules, "scipy", None)
    monkeypatch.setitem(sys.modules, "scipy.stats", None)
    with pytest.raises(rf.ExtraError, match=r"scipy, which is not installed; pip install 'rankframe\[stats\]'$"):
        rf.compare(report)


def test_the_report_is_not_changed() -> None:
    report = evaluated()
    before = report.scores.clone()
    rf.compare(report)
    assert_frame_equal(report.scores, before)


def test_a_saved_report_compares_alike(tmp_path: Any) -> None:
    evaluated().write_parquet(tmp_path / "report.parquet")
    assert_frame_equal(rf.compare(rf.read_report(tmp_path / "report.parquet")), rf.compare(evaluated()))


def test_what_is_no_name_is_refused_as_one() -> None:
    for options in ({"metrics": 3}, {"metrics": [3]}):
        with pytest.raises(rf.DataError, match=r"^no metric 3 in this report: Valid: "):
            rf.compare(evaluated(), **options)
    for baseline in (3, [["a"]]):
        with pytest.raises(rf.DataError, match=r"to be the baseline: Valid: a, b, c$"):
            rf.compare(evaluated(), baseline=baseline)  # type: ignore[arg-type]


@pytest.mark.parametrize("test", TESTS)
def test_values_beyond_all_measure_give_a_reason(test: Test) -> None:
    found = row(
        report_of({"a": {"q1": 1e200, "q2": 3e200, "q3": 0.0}, "b": {"q1": 0.0, "q2": 1.0, "q3": 2.0}}), test=test
    )
    assert (found["p"], found["ci_low"], found["detectable"]) == (None, None, None)
    assert found["reason"] == "a difference is infinite or beyond 1e+150"


def test_all_ways_to_set_the_signs_are_gone_through_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    report = report_of({"a": {f"q{i}": i / 10 for i in range(10)}, "b": {f"q{i}": (i * 7 % 10) / 9 for i in range(10)}})
    whole = row(report)["p"]
    monkeypatch.setattr("rankframe.comparison.paired._SIGNS_AT_ONCE", 70)
    assert row(report)["p"] == whole
