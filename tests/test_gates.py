"""Bands and gates: edges, thresholds, coverage, regressions, what the error shows, and gates as files."""

from __future__ import annotations

import math
import pickle
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankframe as rf
from rankframe.errors import GateError
from rankframe.gates import (
    BANDS,
    GATES,
    Gate,
    Scale,
    Threshold,
    band_table,
    bands,
    checked,
    read_gate,
    regressions,
    require,
)
from rankframe.gates.thresholds import thresholds_of
from rankframe.summaries import Measured

SUMMARY = pl.Schema(
    {
        "run_id": pl.String,
        "metric": pl.String,
        "aggregate": pl.String,
        "value": pl.Float64,
        "n": pl.Int64,
        "n_missing": pl.Int64,
        "n_failed": pl.Int64,
    }
)
COVERAGE = pl.Schema({"run_id": pl.String, "metric": pl.String, "n": pl.Int64, "n_expected": pl.Int64})


def _summary(*rows: tuple[str, str, float | None], aggregate: str = "mean", **counts: int) -> pl.DataFrame:
    counts = {"n": 100, "n_missing": 0, "n_failed": 0, **counts}
    return pl.DataFrame(
        [(run, metric, aggregate, value, *counts.values()) for run, metric, value in rows], SUMMARY, orient="row"
    )


def _coverage(summary: pl.DataFrame, n: int = 100, expected: int = 100) -> pl.DataFrame:
    return summary.select("run_id", "metric", n=pl.lit(n, pl.Int64), n_expected=pl.lit(expected, pl.Int64)).unique()


def _checked(value: float | None, threshold: float | str, n: int = 100, **options: Any) -> dict[str, Any]:
    """The one row of one run and metric held against one threshold."""
    counts = {name: options.pop(name) for name in ("n_missing", "n_failed") if name in options}
    summary = _summary(("a", "faithfulness", value), **counts)
    table = checked(summary, _coverage(summary, n), {"faithfulness": threshold}, **options)
    return table.row(0, named=True)


# Bands.

_BELOW = {"acceptable": "poor", "good": "acceptable", "excellent": "good"}


@pytest.mark.parametrize(
    ("metric", "edges"),
    [
        ("precision@5", (0.40, 0.60, 0.80)),
        ("recall@5", (0.50, 0.70, 0.85)),
        ("mrr", (0.50, 0.70, 0.85)),
        ("faithfulness", (0.70, 0.85, 0.95)),
        ("answer_relevance", (0.70, 0.85, 0.95)),
    ],
)
def test_below_the_first_edge_is_poor_strictly_above_the_last_excellent_and_an_inner_edge_the_better_band(
    metric: str, edges: tuple[float, float, float]
) -> None:
    first, second, last = edges
    values = [0.0, *(x for edge in edges for x in (math.nextafter(edge, 0), edge, math.nextafter(edge, 1))), 1.0]
    told = bands(_summary(*((f"run {i}", metric, value) for i, value in enumerate(values))))
    assert told["band"].to_list() == [
        "poor",
        *("poor", "acceptable", "acceptable"),
        *("acceptable", "good", "good"),
        *("good", "good", "excellent"),
        "excellent",
    ]
    assert told["value"].to_list() == values
    assert (first, second, last) == next(scale.edges for scale in BANDS if scale.metric == metric)


def test_there_are_bands_for_five_metrics() -> None:
    assert [scale.metric for scale in BANDS] == ["precision@5", "recall@5", "mrr", "faithfulness", "answer_relevance"]


def test_a_scale_is_a_value() -> None:
    assert Scale("mrr", (0.5, 0.7, 0.85)) in BANDS
    with pytest.raises(AttributeError):
        BANDS[0].metric = "map"  # type: ignore[misc]


def test_bands_is_a_row_per_run_and_metric_that_has_bands_in_the_order_of_the_summary() -> None:
    summary = _summary(("b", "mrr@10", 0.9), ("b", "map", 0.9), ("b", "faithfulness", None), ("a", "mrr@10", 0.2))
    told = bands(summary)
    assert dict(told.schema) == {
        "run_id": pl.String,
        "metric": pl.String,
        "value": pl.Float64,
        "band": pl.String,
        "n": pl.Int64,
    }
    assert told.rows() == [
        ("b", "mrr@10", 0.9, "excellent", 100),
        ("b", "faithfulness", None, None, 100),
        ("a", "mrr@10", 0.2, "poor", 100),
    ]


@pytest.mark.parametrize(
    ("metric", "has"),
    [
        ("precision@5", True),
        ("mrr", True),
        ("mrr@10", True),
        ("answer_relevancy", True),
        ("precision@10", False),
        ("precision(over=returned)@5", False),
        ("mrr(rel=2)", False),
        ("mrr(rel=2)@10", False),
        ("mrr(judged_only=true)@10", False),
        ("lexical_faithfulness", False),
        ("tfidf_answer_relevance", False),
        ("Faithfulness", False),
    ],
)
def test_a_metric_has_bands_by_its_whole_definition(metric: str, has: bool) -> None:  # noqa: FBT001
    told = bands(_summary(("a", metric, 0.99)))
    assert told["metric"].to_list() == ([metric] if has else [])
    assert told["band"].to_list() == (["excellent"] if has else [])


def test_a_geometric_mean_has_no_bands_of_the_mean() -> None:
    both = pl.concat([_summary(("a", "mrr", 0.3)), _summary(("a", "mrr", 0.9), aggregate="gmean")])
    assert bands(both).rows() == [("a", "mrr", 0.3, "poor", 100)]
    assert bands(both, {"mrr (gmean)": (0.1, 0.2, 0.3)})["band"].to_list() == ["excellent"]
    assert bands(_summary(("a", "map", 0.9), aggregate="gmean"), {"gm_map": (0.1, 0.2, 0.3)}).height == 1


def test_nan_has_no_band() -> None:
    assert bands(_summary(("a", "mrr", math.nan)))["band"].to_list() == [None]


def test_a_report_without_such_metrics_has_no_bands() -> None:
    assert bands(_summary(("a", "map", 0.9))).height == 0
    assert bands(_summary()).height == 0


def test_a_table_of_ones_own_takes_the_place_of_ours() -> None:
    summary = _summary(("a", "token_f1", 0.5), ("a", "precision@3", 0.2), ("a", "mrr", 0.9), ("a", "num_ret", 5.0))
    own = {"token_f1": (0.3, 0.5, 0.7), "P@3": [0.3, 0.5, 0.7], "mystery": (0, 1, 2)}
    assert bands(summary, own).select("metric", "band").rows() == [("token_f1", "good"), ("precision@3", "poor")]
    assert bands(summary.with_columns(metric=pl.lit("mrr@3")), {"RR": (0.3, 0.5, 0.7)})["band"][0] == "excellent"


def test_the_nearer_of_two_tables_for_mrr_holds() -> None:
    own = {"mrr": (0.1, 0.2, 0.3), "mrr@10": (0.7, 0.8, 0.9)}
    told = bands(_summary(("a", "mrr@10", 0.5), ("a", "mrr@5", 0.5)), own)
    assert told["band"].to_list() == ["poor", "excellent"]


@pytest.mark.parametrize(
    "edges",
    [
        (0.3, 0.5),
        (0.3, 0.5, 0.7, 0.9),
        (0.5, 0.3, 0.7),
        (0.3, 0.3, 0.7),
        (0.3, math.nan, 0.7),
        (0.3, math.nan, 0.5, 0.7),
        (0.3, 0.5, math.inf),
        (False, 0.5, True),
        (0.3, "0.5", 0.7),
        "123",
        0.5,
        None,
        {0.3: 1, 0.5: 2, 0.7: 3},
    ],
    ids=repr,
)
def test_edges_are_three_ascending_numbers(edges: Any) -> None:
    with pytest.raises(rf.MetricError, match=r"^token_f1: bands have three ascending edges, as in .*, got "):
        bands(_summary(), {"token_f1": edges})


@pytest.mark.parametrize("table", [{}, [("mrr", (0.3, 0.5, 0.7))], "mrr"], ids=repr)
def test_a_table_of_bands_is_a_mapping_with_something_in_it(table: Any) -> None:
    with pytest.raises(rf.MetricError, match=r"bands are metric -> three edges, as in .*token_f1.*, got "):
        bands(_summary(), table)


def test_bands_of_one_metric_under_two_names_are_refused() -> None:
    twice = {"P@5": (0.3, 0.5, 0.7), "precision@5": (0.3, 0.5, 0.7)}
    with pytest.raises(rf.MetricError, match=r"precision@5: the bands of precision@5 stand there twice"):
        bands(_summary(), twice)
    ragas = {"answer_relevance": (0.3, 0.5, 0.7), "answer_relevancy": (0.3, 0.5, 0.7)}
    with pytest.raises(rf.MetricError, match=r"answer_relevancy: the bands of answer_relevance stand there twice"):
        bands(_summary(), ragas)


def test_a_name_that_is_no_text_is_refused() -> None:
    with pytest.raises(rf.MetricError, match=r"a metric is named by text, .* got 5"):
        bands(_summary(), {5: (0.3, 0.5, 0.7)})  # type: ignore[dict-item]
    with pytest.raises(rf.MetricError, match=r"a metric is named by text, .* got ' '"):
        checked(_summary(), _coverage(_summary()), {" ": 0.5})


def test_a_summary_that_is_none_is_refused() -> None:
    with pytest.raises(rf.DataError, match=r"the summary lacks the columns 'aggregate', 'n'; it has 'run_id', "):
        bands(_summary().drop("aggregate", "n"))


def test_the_table_of_bands_says_what_the_edges_belong_to() -> None:
    table = band_table()
    assert dict(table.schema) == {
        "metric": pl.String,
        "band": pl.String,
        "low": pl.Float64,
        "high": pl.Float64,
        "rule": pl.String,
    }
    assert table.height == 20
    assert table.filter(metric="precision@5").rows() == [
        ("precision@5", "poor", None, 0.4, "< 0.4"),
        ("precision@5", "acceptable", 0.4, 0.6, ">= 0.4 and < 0.6"),
        ("precision@5", "good", 0.6, 0.8, ">= 0.6 and <= 0.8"),
        ("precision@5", "excellent", 0.8, None, "> 0.8"),
    ]
    assert band_table({"token_f1": (0, 0.5, 1)})["rule"].to_list()[::3] == ["< 0", "> 1"]


@given(st.data())
def test_the_rule_of_a_band_holds_for_what_is_in_it_and_for_nothing_else(data: st.DataObject) -> None:
    scale = data.draw(st.sampled_from(BANDS))
    near = [x for edge in scale.edges for x in (math.nextafter(edge, 0), edge, math.nextafter(edge, 1))]
    value = data.draw(st.floats(0, 1) | st.sampled_from(near))
    rules = band_table().filter(metric=scale.metric).select("band", "rule").iter_rows()
    holding = [
        band
        for band, rule in rules
        if all(thresholds_of({"m": part})["m"].shortfall(value) is None for part in rule.split(" and "))
    ]
    assert holding == [scale.band(value)]


@given(st.sampled_from(BANDS), st.floats(0, 1), st.floats(0, 1))
def test_a_higher_value_is_never_in_a_worse_band(scale: Scale, one: float, other: float) -> None:
    names = [str(scale.band(value)) for value in sorted((one, other))]
    order = ["poor", "acceptable", "good", "excellent"]
    assert order.index(names[0]) <= order.index(names[1])


# Thresholds.


@pytest.mark.parametrize(
    ("threshold", "rule", "passing", "falling"),
    [
        (0.9, ">= 0.9", 0.9, math.nextafter(0.9, 0)),
        (">= 0.90", ">= 0.9", 0.9, math.nextafter(0.9, 0)),
        (" >=0.9 ", ">= 0.9", 0.9, math.nextafter(0.9, 0)),
        ("> 0.90", "> 0.9", math.nextafter(0.9, 1), 0.9),
        ("<= 0.1", "<= 0.1", 0.1, math.nextafter(0.1, 1)),
        ("<0.1", "< 0.1", math.nextafter(0.1, 0), 0.1),
        (0, ">= 0", 0.0, -5e-324),
        (1, ">= 1", 1.0, math.nextafter(1, 0)),
        (0.1 + 0.2, ">= 0.30000000000000004", 0.1 + 0.2, 0.3),
        ("> -1", "> -1", 0.0, -1.0),
        ("< 1e-3", "< 0.001", 0.0, 0.001),
    ],
)
def test_a_threshold_compares_exactly(threshold: float | str, rule: str, passing: float, falling: float) -> None:
    passed, fell = _checked(passing, threshold), _checked(falling, threshold)
    assert (passed["rule"], passed["passed"], passed["why"]) == (rule, True, None)
    assert (fell["rule"], fell["passed"]) == (rule, False)
    assert fell["why"] is not None


@pytest.mark.parametrize(
    ("value", "threshold", "why"),
    [
        (0.81234, 0.9, "0.8123 is below 0.9"),
        (0.8999999, 0.9, "0.8999999 is below 0.9"),
        (0.9, "> 0.9", "0.9 is not above 0.9"),
        (0.5, "<= 0.25", "0.5 is above 0.25"),
        (0.1 + 0.2, "<= 0.3", "0.30000000000000004 is above 0.3"),
        (0.25, "< 0.25", "0.25 is not below 0.25"),
        (None, 0.0, "there is no value"),
        (math.nan, 0.0, "there is no value"),
        (math.nan, "<= 1", "there is no value"),
        (-math.inf, 0.0, "-inf is below 0"),
    ],
)
def test_why_tells_the_value_from_the_bound(value: float | None, threshold: float | str, why: str) -> None:
    assert _checked(value, threshold)["why"] == why


@pytest.mark.parametrize(
    "threshold",
    [
        math.nan,
        math.inf,
        -math.inf,
        True,
        None,
        "0.9",
        "== 0.9",
        "=> 0.9",
        "!= 0.9",
        "> = 0.9",
        ">",
        "",
        "> high",
        "> nan",
        ">= inf",
        "> 90%",
        [0.9],
        {"min": 0.9},
    ],
    ids=repr,
)
def test_a_threshold_that_is_none_is_refused_by_the_name_of_its_metric(threshold: Any) -> None:
    with pytest.raises(
        rf.MetricError, match=r"^faithfulness: a threshold is a number, .* \(with one of >=, <=, >, <\)"
    ):
        _checked(0.5, threshold)


@pytest.mark.parametrize("thresholds", [{}, [], None, 0.9, ["faithfulness"]], ids=repr)
def test_thresholds_are_a_mapping_with_something_in_it(thresholds: Any) -> None:
    with pytest.raises(rf.MetricError, match=r"thresholds are metric -> the lowest value .* presets clinical; got "):
        checked(_summary(), _coverage(_summary()), thresholds)


def test_the_clinical_bar_is_a_faithfulness_strictly_above() -> None:
    assert {name: dict(gate) for name, gate in GATES.items()} == {"clinical": {"faithfulness": "> 0.90"}}
    summary = _summary(("above", "faithfulness", 0.91), ("at", "faithfulness", 0.90), ("below", "faithfulness", 0.85))
    assert checked(summary, _coverage(summary), "clinical").select("run_id", "rule", "passed").rows() == [
        ("above", "> 0.9", True),
        ("at", "> 0.9", False),
        ("below", "> 0.9", False),
    ]


def test_a_preset_cannot_be_changed() -> None:
    with pytest.raises(TypeError):
        GATES["clinical"]["faithfulness"] = 0.1  # type: ignore[index]


def test_an_unknown_preset_is_refused() -> None:
    with pytest.raises(rf.MetricError, match=r"unknown gate 'clinic': did you mean 'clinical'\? Valid: clinical"):
        checked(_summary(), _coverage(_summary()), "clinic")


def test_checked_is_a_row_per_run_and_threshold() -> None:
    summary = _summary(("b", "mrr", 0.5), ("b", "faithfulness", 0.95), ("a", "mrr", 0.7), ("a", "faithfulness", 0.8))
    table = checked(summary, _coverage(summary, 80), {"faithfulness": 0.9, "mrr": 0.6}, min_coverage=0.8)
    assert dict(table.schema) == {
        "run_id": pl.String,
        "metric": pl.String,
        "value": pl.Float64,
        "rule": pl.String,
        "n": pl.Int64,
        "coverage": pl.Float64,
        "passed": pl.Boolean,
        "why": pl.String,
    }
    assert table.rows() == [
        ("b", "faithfulness", 0.95, ">= 0.9", 80, 0.8, True, None),
        ("b", "mrr", 0.5, ">= 0.6", 80, 0.8, False, "0.5 is below 0.6"),
        ("a", "faithfulness", 0.8, ">= 0.9", 80, 0.8, False, "0.8 is below 0.9"),
        ("a", "mrr", 0.7, ">= 0.6", 80, 0.8, True, None),
    ]


def test_one_metric_may_have_a_threshold_on_either_side() -> None:
    summary = _summary(("a", "precision@5", 0.95))
    table = checked(summary, _coverage(summary), {"P@5": 0.5, "precision@5": "<= 0.9"})
    assert table.select("metric", "rule", "passed").rows() == [
        ("precision@5", ">= 0.5", True),
        ("precision@5", "<= 0.9", False),
    ]


def test_a_metric_is_found_by_the_names_of_other_tools_and_by_its_aggregate() -> None:
    summary = pl.concat([_summary(("a", "map", 0.5)), _summary(("a", "map", 0.1), aggregate="gmean")])
    table = checked(summary, _coverage(summary), {"AP": 0.5, "gm_map": 0.5, "map (gmean)": 0.05})
    assert table.select("metric", "value", "passed").rows() == [
        ("map", 0.5, True),
        ("map (gmean)", 0.1, False),
        ("map (gmean)", 0.1, True),
    ]


def test_metrics_are_called_as_the_report_calls_them() -> None:
    mine = rf.Metric("reach", pl.col("n_ret").max().cast(pl.Float64), range=(0, None), aggregate="sum")
    qrels, run = {"q1": {"a": 1}, "q2": {"b": 1}}, {"q1": {"a": 1.0}, "q2": {"x": 2.0, "b": 1.0}}
    report = rf.evaluate(run, qrels, metrics=["map", "gm_map", "num_ret", "err@5", mine])
    names = [line[0] for line in report.table()[1:]]
    table = checked(report.summary, _coverage(report.summary), dict.fromkeys(names, 0.0))
    assert table["metric"].to_list() == names == ["map", "map (gmean)", "num_ret", "err(max_grade=1)@5", "reach"]
    assert table["value"].to_list() == [report.value(name) for name in names]


def test_the_caller_may_say_how_a_metric_is_found() -> None:
    summary = _summary(("a", "err(max_grade=2)@10", 0.5))
    coverage, find = _coverage(summary), {"err@10": "err(max_grade=2)@10"}.get
    for name in ("err@10", "err(max_grade=2)@10"):
        assert checked(summary, coverage, {name: 0.4}, find=find)["passed"].to_list() == [True]
    assert checked(summary, coverage, {"err@10": 0.4})["passed"].to_list() == [False]


# What is not there cannot pass.


def test_a_metric_that_is_not_there_falls_short() -> None:
    summary = _summary(("a", "lexical_faithfulness", 1.0))
    table = checked(summary, _coverage(summary), {"faithfulness": "<= 1"})
    assert table.rows() == [
        (
            *("a", "faithfulness", None, "<= 1", None, None, False),
            "not in this report: did you mean 'lexical_faithfulness'? Valid: lexical_faithfulness",
        )
    ]


def test_a_metric_that_one_run_lacks_falls_short_there() -> None:
    summary = _summary(("a", "mrr", 1.0), ("a", "map", 1.0), ("b", "mrr", 1.0))
    assert checked(summary, _coverage(summary), {"map": 0.5}).select("run_id", "passed").rows() == [
        ("a", True),
        ("b", False),
    ]


def test_a_report_without_runs_does_not_pass() -> None:
    table = checked(_summary(), _coverage(_summary()), {"mrr": 0.5})
    assert table.select("run_id", "passed", "why").rows() == [(None, False, "not in this report: it has no runs")]
    with pytest.raises(GateError, match=r"^1 of 1 check fell short"):
        require(table)


@pytest.mark.parametrize(
    ("n", "least", "counts", "why"),
    [
        (80, 0.95, {"n_failed": 15}, "scored 80 of 100, coverage 0.80 below 0.95 (15 failed, 5 without a value)"),
        (80, 1.0, {"n_failed": 20}, "scored 80 of 100, coverage 0.80 below 1 (20 failed)"),
        (80, 1.0, {"n_failed": 30}, "scored 80 of 100, coverage 0.80 below 1 (20 failed)"),
        (80, 0.81, {}, "scored 80 of 100, coverage 0.80 below 0.81 (20 without a value)"),
        (80, 0.801, {"n_missing": 20}, "scored 80 of 100, coverage 0.80 below 0.801 (20 missing)"),
        (
            80,
            1,
            {"n_missing": 4, "n_failed": 3},
            "scored 80 of 100, coverage 0.80 below 1 (3 failed, 4 missing, 13 without a value)",
        ),
        (0, 1e-9, {"n_failed": 100}, "scored 0 of 100, coverage 0.00 below 1e-09 (100 failed)"),
    ],
)
def test_coverage_below_its_minimum_falls_short_and_says_why(
    n: int, least: float, counts: dict[str, int], why: str
) -> None:
    row = _checked(0.95, 0.9, n, min_coverage=least, **counts)
    assert (row["passed"], row["coverage"], row["n"], row["why"]) == (False, n / 100, n, why)


def test_coverage_is_compared_exactly() -> None:
    summary = _summary(("a", "mrr", 0.9))
    table = checked(summary, _coverage(summary, 9_999, 10_000), {"mrr": 0.5})
    assert table["why"].to_list() == ["scored 9,999 of 10,000, coverage 0.9999 below 1 (1 without a value)"]
    assert _checked(0.95, 0.9, 95, min_coverage=0.95)["passed"]


def test_a_value_and_its_coverage_may_both_fall_short() -> None:
    assert _checked(0.5, 0.9, 50)["why"] == (
        "0.5 is below 0.9; scored 50 of 100, coverage 0.50 below 1 (50 without a value)"
    )


def test_unknown_coverage_falls_short() -> None:
    summary = _summary(("a", "mrr", 1.0))
    for coverage in (pl.DataFrame(schema=COVERAGE), _coverage(summary).with_columns(n_expected=None)):
        table = checked(summary, coverage, {"mrr": 0.5}, min_coverage=0)
        assert table.select("coverage", "passed", "why").rows() == [(None, False, "its coverage is unknown")]


def test_nothing_to_score_falls_short() -> None:
    summary = _summary(("a", "mrr", None))
    table = checked(summary, _coverage(summary, 0, 0), {"mrr": "<= 1"}, min_coverage=0)
    assert table["why"].to_list() == ["there is no value; nothing was to be scored"]


@pytest.mark.parametrize("least", [-0.1, 1.1, 95, math.nan, True, None, "0.9"], ids=repr)
def test_the_minimum_coverage_is_a_share(least: Any) -> None:
    with pytest.raises(rf.DataError, match=r"^min_coverage is a share from 0 to 1, got "):
        _checked(0.95, 0.9, min_coverage=least)
    with pytest.raises(rf.DataError, match=r"^min_coverage is a share from 0 to 1, got "):
        _regressions({"q1": 1.0}, {"q1": 1.0}, min_coverage=least)


def test_frames_that_lack_columns_are_refused() -> None:
    with pytest.raises(rf.DataError, match=r"the summary lacks the columns 'n_failed'; it has "):
        checked(_summary().drop("n_failed"), _coverage(_summary()), {"mrr": 1})
    with pytest.raises(rf.DataError, match=r"the coverage lacks the columns 'n_expected'; it has "):
        checked(_summary(), _coverage(_summary()).drop("n_expected"), {"mrr": 1})


_values = st.none() | st.floats(0, 1) | st.just(math.nan)
_cells = st.tuples(_values, st.integers(0, 20), st.integers(0, 20).map(lambda n: max(n, 1)))


@st.composite
def _reports(draw: st.DrawFn) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The summary of some runs and metrics, and its coverage, of which rows may be lacking."""
    names = [("a", "mrr"), ("a", "faithfulness"), ("b", "mrr"), ("b", "faithfulness")]
    cells = [(run, metric, *draw(_cells)) for run, metric in names if draw(st.booleans())]
    summary = _summary(*((run, metric, value) for run, metric, value, _, _ in cells))
    rows = [(run, metric, min(n, of), of) for run, metric, _, n, of in cells if draw(st.integers(0, 9))]
    return summary, pl.DataFrame(rows, COVERAGE, orient="row")


_bounds = st.floats(0, 1) | st.sampled_from([0.5, 1.0])


@given(_reports(), _bounds, st.floats(0, 1), st.sampled_from([">=", ">", "<=", "<"]))
def test_a_gate_never_passes_without_a_value_that_holds_or_with_too_little_coverage(
    report: tuple[pl.DataFrame, pl.DataFrame], bound: float, least: float, sign: str
) -> None:
    rule = f"{sign} {bound!r}"
    table = checked(*report, {"mrr": rule, "faithfulness": rule}, min_coverage=least)
    values = {(run, metric): value for run, metric, value in report[0].select("run_id", "metric", "value").iter_rows()}
    counts = {(run, metric): (n, of) for run, metric, n, of in report[1].iter_rows()}
    holds = {">=": float.__ge__, ">": float.__gt__, "<=": float.__le__, "<": float.__lt__}[sign]
    right = []
    for run in dict.fromkeys(run for run, _ in values) or [None]:
        for metric in ("mrr", "faithfulness"):
            value, (n, of) = values.get((run, metric)), counts.get((run, metric), (None, 1))
            passes = value is not None and holds(value, bound) and n is not None and n / of >= least
            right.append((run, metric, passes))
    assert table.select("run_id", "metric", "passed").rows() == right
    assert (table["why"].is_null() == table["passed"]).all()
    if all(passes for _, _, passes in right):
        assert require(table) is table
    else:
        with pytest.raises(GateError):
            require(table)


@given(_reports(), _bounds, _bounds, st.floats(0, 1), st.floats(0, 1))
def test_raising_thresholds_never_lets_anything_pass_that_did_not(
    report: tuple[pl.DataFrame, pl.DataFrame], one: float, other: float, least: float, more: float
) -> None:
    low, high = sorted((one, other))
    less, much = sorted((least, more))
    before = checked(*report, {"mrr": low, "faithfulness": f"> {low!r}"}, min_coverage=less)["passed"]
    after = checked(*report, {"mrr": high, "faithfulness": f"> {high!r}"}, min_coverage=much)["passed"]
    assert (before | ~after).all()


# Regressions.

Scores = Mapping[str, float | None]


def _frame(runs: Mapping[str, Mapping[str, Scores]]) -> pl.DataFrame:
    """Scores of runs: run -> metric -> query -> score."""
    rows = [
        {"run_id": run, "query_id": query, **{metric: scores[query] for metric, scores in metrics.items()}}
        for run, metrics in runs.items()
        for query in next(iter(metrics.values()))
    ]
    names = list(dict.fromkeys(metric for metrics in runs.values() for metric in metrics))
    types = {"run_id": pl.String, "query_id": pl.String, **dict.fromkeys(names, pl.Float64)}
    return pl.DataFrame(rows, types)


def _measured(*names: str) -> list[Measured]:
    return [Measured(name, name) for name in names]


def _regressions(new: Scores, old: Scores, **options: Any) -> dict[str, Any]:
    """The one row of one run and metric."""
    after, before = (_frame({"a": {"mrr": scores}}) for scores in (new, old))
    table = regressions(after, before, _measured("mrr"), "query_id", **options)
    assert table.height == 1
    return table.row(0, named=True)


def test_regressions_is_a_row_per_run_and_metric_of_the_old_report() -> None:
    old = _frame({run: {"mrr": {"q1": 1.0, "q2": 0.5}, "map": {"q1": 0.5, "q2": 0.5}} for run in ("a", "b")})
    new = old.with_columns(mrr=pl.col("mrr") / 2, extra=pl.lit(1.0))
    table = regressions(new, old, _measured("mrr", "map"), "query_id", max_drop=0.5)
    assert dict(table.schema) == {
        "run_id": pl.String,
        "new_run_id": pl.String,
        "metric": pl.String,
        "old": pl.Float64,
        "new": pl.Float64,
        "drop": pl.Float64,
        "max_drop": pl.Float64,
        "n": pl.Int64,
        "coverage": pl.Float64,
        "passed": pl.Boolean,
        "why": pl.String,
    }
    assert table.rows() == [
        ("a", "a", "mrr", 0.75, 0.375, 0.375, 0.5, 2, 1.0, True, None),
        ("a", "a", "map", 0.5, 0.5, 0.0, 0.5, 2, 1.0, True, None),
        ("b", "b", "mrr", 0.75, 0.375, 0.375, 0.5, 2, 1.0, True, None),
        ("b", "b", "map", 0.5, 0.5, 0.0, 0.5, 2, 1.0, True, None),
    ]


def test_old_and_new_are_over_what_both_score() -> None:
    row = _regressions({"q1": 0.5, "q2": None, "q4": 1.0}, {"q1": 1.0, "q2": 0.0, "q3": 0.0, "q4": None})
    assert row == {
        "run_id": "a",
        "new_run_id": "a",
        "metric": "mrr",
        "old": 1.0,
        "new": 0.5,
        "drop": 0.5,
        "max_drop": 0.0,
        "n": 1,
        "coverage": 1 / 3,
        "passed": False,
        "why": "fell by 0.5, more than 0; scores 1 of 3 queries of the old report, coverage 0.33 below 1",
    }


def test_fewer_scores_fall_short_though_the_value_rises() -> None:
    new, old = {"q1": 1.0, "q2": None}, {"q1": 1.0, "q2": 0.0}
    assert _regressions(new, old)["why"] == "scores 1 of 2 queries of the old report, coverage 0.50 below 1"
    assert _regressions(new, old, min_coverage=0.5)["passed"]


def test_a_rise_passes() -> None:
    row = _regressions({"q1": 1.0}, {"q1": 0.5})
    assert (row["drop"], row["passed"]) == (-0.5, True)


@pytest.mark.parametrize(("new", "passed"), [(0.89, True), (0.89 - 1e-13, True), (0.89 - 1e-11, False), (0.9, True)])
def test_a_drop_is_allowed_inclusive_of_its_limit_and_of_rounding(new: float, passed: bool) -> None:  # noqa: FBT001
    assert _regressions({"q1": new}, {"q1": 0.90}, max_drop=0.01)["passed"] is passed


def test_why_tells_the_drop_from_what_is_allowed() -> None:
    assert _regressions({"q1": 0.8}, {"q1": 0.91234}, max_drop=0.01)["why"] == "fell by 0.1123, more than 0.01"
    assert _regressions({"q1": 0.39999}, {"q1": 0.5}, max_drop=0.1)["why"] == "fell by 0.10001, more than 0.1"


def test_drops_are_allowed_by_metric_and_not_at_all_for_the_others() -> None:
    old = _frame({"a": {"mrr": {"q1": 1.0}, "precision@5": {"q1": 0.6}, "unjudged@5": {"q1": 0.9}}})
    new = _frame({"a": {"mrr": {"q1": 0.9}, "precision@5": {"q1": 0.5}, "unjudged@5": {"q1": 0.0}}})
    names = _measured("mrr", "precision@5", "unjudged@5")
    table = regressions(new, old, names, "query_id", max_drop={"P@5": 0.1, "unjudged@5": math.inf})
    assert table.select("metric", "max_drop", "passed").rows() == [
        ("mrr", 0.0, False),
        ("precision@5", 0.1, True),
        ("unjudged@5", math.inf, True),
    ]


def test_a_drop_for_a_metric_that_is_not_there_is_refused() -> None:
    with pytest.raises(rf.MetricError, match=r"^max_drop: no metric 'mmr' in the old report: did you mean 'mrr'\?"):
        _regressions({"q1": 1.0}, {"q1": 1.0}, max_drop={"mmr": 0.1})


@pytest.mark.parametrize("drop", [-0.1, math.nan, True, None, "0.1"], ids=repr)
def test_a_drop_is_a_number_from_0(drop: Any) -> None:
    with pytest.raises(rf.MetricError, match=r"^max_drop: a drop that is allowed is a number from 0, got "):
        _regressions({"q1": 1.0}, {"q1": 1.0}, max_drop=drop)
    with pytest.raises(rf.MetricError, match=r"^max_drop of mrr: a drop that is allowed is a number from 0, got "):
        _regressions({"q1": 1.0}, {"q1": 1.0}, max_drop={"mrr": drop})


def test_a_metric_that_the_new_report_lacks_falls_short() -> None:
    old, new = _frame({"a": {"mrr": {"q1": 1.0, "q2": None}}}), _frame({"a": {"map": {"q1": 1.0, "q2": 1.0}}})
    for table in (
        regressions(new, old, _measured("mrr"), "query_id"),
        regressions(new.with_columns(mrr=pl.lit("note")), old, _measured("mrr"), "query_id"),
        regressions(new.with_columns(mrr=pl.lit(1.0)), old, _measured("mrr"), "query_id", new_metrics=_measured("map")),
    ):
        assert table.rows() == [
            ("a", "a", "mrr", None, None, None, 0.0, 0, 0.0, False, "not in the new report: Valid: map")
        ]


def test_a_run_that_the_new_report_lacks_falls_short() -> None:
    old = _frame({"a": {"mrr": {"q1": 1.0}}, "b": {"mrr": {"q1": 1.0}}})
    table = regressions(old.with_columns(run_id=pl.col("run_id").replace("b", "c")), old, _measured("mrr"), "query_id")
    assert table.select("run_id", "new_run_id", "passed", "why").rows() == [
        ("a", "a", True, None),
        ("b", None, False, "not in the new report, which has 'a', 'c'"),
    ]
    assert table.row(1)[3:9] == (None, None, None, 0.0, 0, 0.0)


def test_an_empty_new_report_falls_short() -> None:
    old = _frame({"a": {"mrr": {"q1": 1.0}}})
    table = regressions(old.clear(), old, _measured("mrr"), "query_id")
    assert table.select("passed", "why").rows() == [(False, "not in the new report, which has no runs")]


def test_two_single_runs_are_compared_under_their_own_names() -> None:
    old, new = _frame({"monday": {"mrr": {"q1": 1.0}}}), _frame({"tuesday": {"mrr": {"q1": 0.5}}})
    row = regressions(new, old, _measured("mrr"), "query_id").row(0, named=True)
    assert (row["run_id"], row["new_run_id"], row["drop"]) == ("monday", "tuesday", 0.5)


def test_one_old_run_among_several_new_ones_is_found_by_its_name_only() -> None:
    old = _frame({"monday": {"mrr": {"q1": 1.0}}})
    new = _frame({"monday": {"mrr": {"q1": 1.0}}, "tuesday": {"mrr": {"q1": 0.5}}})
    assert regressions(new, old, _measured("mrr"), "query_id").select("new_run_id", "passed").rows() == [
        ("monday", True)
    ]
    table = regressions(new, old.with_columns(run_id=pl.lit("sunday")), _measured("mrr"), "query_id")
    assert table.select("new_run_id", "passed").rows() == [(None, False)]


def test_a_metric_that_the_old_report_never_scored_cannot_fall() -> None:
    row = _regressions({"q1": 1.0}, {"q1": None})
    assert (row["n"], row["coverage"], row["passed"], row["why"]) == (0, None, True, None)


def test_nothing_scored_in_both_does_not_pass() -> None:
    new, old = _frame({"a": {"hits": {"q2": 1.0}}}), _frame({"a": {"hits": {"q1": 1.0}}})
    for metric in (Measured("hits", "hits"), Measured("hits", "hits", aggregate="sum")):
        table = regressions(new, old, [metric], "query_id", min_coverage=0)
        assert table.select("old", "new", "drop", "why").rows() == [(None, None, None, "no query is scored in both")]


def test_nan_does_not_pass_and_equal_infinities_do() -> None:
    assert _regressions({"q1": math.nan}, {"q1": 1.0})["why"] == "there is no value"
    assert _regressions({"q1": 1.0}, {"q1": math.nan})["why"] == "there is no value"
    assert _regressions({"q1": math.inf}, {"q1": math.inf})["passed"]


def test_repeated_queries_cannot_be_paired() -> None:
    old = _frame({"a": {"mrr": {"q1": 1.0}}})
    twice = pl.concat([old, old])
    with pytest.raises(rf.DataError, match=r"the new report: 2 rows share run_id and query_id, such as \('a', 'q1'\)"):
        regressions(twice, old, _measured("mrr"), "query_id")
    with pytest.raises(rf.DataError, match=r"the old report: 2 rows share run_id and query_id, such as "):
        regressions(old, twice, _measured("mrr"), "query_id")


def test_scores_without_the_key_or_a_metric_are_refused() -> None:
    old = _frame({"a": {"mrr": {"q1": 1.0}}})
    with pytest.raises(rf.DataError, match=r"the new report lacks the columns 'query_id'; it has "):
        regressions(old.rename({"query_id": "sample_id"}), old, _measured("mrr"), "query_id")
    with pytest.raises(rf.DataError, match=r"the old report lacks the columns 'map'; it has "):
        regressions(old, old, _measured("map"), "query_id")
    with pytest.raises(rf.DataError, match=r"the new report lacks the columns 'map'; it has "):
        regressions(old, old, _measured("mrr"), "query_id", new_metrics=_measured("map"))


def test_values_are_put_together_as_the_report_does_it() -> None:
    qrels = {f"q{i}": {"a": 1, "b": 1} for i in range(5)}
    run = {f"q{i}": {name: 1.0 / (j + 1) for j, name in enumerate("xyab"[i % 3 :])} for i in range(5)}
    report = rf.evaluate({"one": run, "two": {**run, "q0": {}}}, qrels, metrics=["map", "gm_map", "num_rel_ret"])
    table = regressions(report.scores, report.scores, report.metrics, report.key)
    assert table["metric"].to_list() == ["map", "map (gmean)", "num_rel_ret"] * 2
    assert table["old"].to_list() == table["new"].to_list() == pytest.approx(report.summary["value"].to_list(), abs=0)
    assert table["passed"].all()


_scores = st.none() | st.floats(-10, 10) | st.sampled_from([0.0, 0.1, 1.0])


@st.composite
def _score_frames(draw: st.DrawFn) -> pl.DataFrame:
    runs = draw(st.lists(st.sampled_from("abc"), min_size=1, unique=True))
    queries = draw(st.lists(st.sampled_from("pqrstuvw"), min_size=1, unique=True))
    return _frame(
        {run: {metric: {q: draw(_scores) for q in queries} for metric in ("mrr", "token_f1")} for run in runs}
    )


@given(_score_frames(), st.randoms(use_true_random=False), st.sampled_from(["mean", "gmean", "sum"]))
def test_a_report_held_against_itself_passes(scores: pl.DataFrame, random: Any, aggregate: Any) -> None:
    rows = list(range(scores.height))
    random.shuffle(rows)
    metrics = [Measured(name, name, aggregate=aggregate) for name in ("mrr", "token_f1")]
    table = regressions(scores[rows], scores, metrics, "query_id")
    assert table["passed"].all()
    assert (table["drop"].drop_nulls() == 0).all()


@given(_score_frames(), _score_frames(), st.floats(0, 5), st.floats(0, 1))
def test_regressions_are_what_a_loop_over_the_queries_gives(
    new: pl.DataFrame, old: pl.DataFrame, most: float, least: float
) -> None:
    table = regressions(new, old, _measured("mrr", "token_f1"), "query_id", max_drop=most, min_coverage=least)
    after, before = ({(r["run_id"], r["query_id"]): r for r in frame.iter_rows(named=True)} for frame in (new, old))
    runs, others = (list(dict.fromkeys(run for run, _ in scores)) for scores in (before, after))
    single = len(runs) == len(others) == 1
    right = []
    for run in runs:
        other = others[0] if single else run
        for metric in ("mrr", "token_f1"):
            scored = [query for at, query in before if at == run and before[at, query][metric] is not None]
            both = [q for q in scored if after.get((other, q), {}).get(metric) is not None]
            was = sum(before[run, q][metric] for q in both) / len(both) if both else None
            now = sum(after[other, q][metric] for q in both) / len(both) if both else None
            share = len(both) / len(scored) if scored else None
            falls = was is None or now is None or was - now > most + 1e-9
            passes = other in others if share is None else not falls and share >= least
            right.append((was, now, len(both), share, passes))
    for row, (was, now, n, share, passes) in zip(table.iter_rows(named=True), right, strict=True):
        assert (row["n"], row["coverage"]) == (n, share)
        assert (row["old"], row["new"]) == (pytest.approx(was, abs=1e-9), pytest.approx(now, abs=1e-9))
        if row["drop"] is None or abs(row["drop"] - most) > 1e-8:
            assert row["passed"] is passes
        assert (row["why"] is None) is row["passed"]


# What falls short is shown.


def _table() -> pl.DataFrame:
    summary = _summary(("bm25", "mrr@10", 0.25), ("bm25", "faithfulness", 0.95), ("dense", "mrr@10", 0.8999999))
    return checked(summary, _coverage(summary), {"mrr@10": 0.9, "faithfulness": 0.9})


def test_require_gives_the_table_back_where_all_passed() -> None:
    table = _table().filter("passed")
    assert table.height == 1
    assert require(table) is table


def test_require_shows_what_fell_short_as_an_aligned_table() -> None:
    with pytest.raises(GateError) as caught:
        require(_table())
    assert str(caught.value).split("\n") == [
        "3 of 4 checks fell short",
        "run_id  metric         value  rule      n  coverage  why",
        "bm25    mrr@10        0.2500  >= 0.9  100    1.0000  0.25 is below 0.9",
        "dense   mrr@10        0.9000  >= 0.9  100    1.0000  0.8999999 is below 0.9",
        "dense   faithfulness       -  >= 0.9    -         -  not scored for this run",
    ]
    assert caught.value.table.equals(_table())


def test_require_shows_both_kinds_of_checks_in_one_table() -> None:
    fell = _frame({"a": {"mrr": {"q1": 0.5}}})
    old = regressions(fell, fell.with_columns(mrr=1.0), _measured("mrr"), "query_id")
    with pytest.raises(GateError, match=r"^4 of 5 checks fell short\n") as caught:
        require(pl.concat([_table(), old], how="diagonal"))
    lines = str(caught.value).split("\n")
    assert lines[1].split() == [
        *("run_id", "metric", "value", "rule", "n", "coverage"),
        *("new_run_id", "old", "new", "drop", "max_drop", "why"),
    ]
    assert re.fullmatch(
        r"a +mrr +- +- +1 +1\.0000 +a +1\.0000 +0\.5000 +0\.5000 +0\.0000 +fell by 0\.5, more than 0", lines[-1]
    )


def test_a_table_without_checks_does_not_pass() -> None:
    with pytest.raises(GateError, match=r"^nothing was checked$") as caught:
        require(_table().clear())
    assert caught.value.table.height == 0


def test_a_check_whose_outcome_is_unknown_does_not_pass() -> None:
    unknown = _table().filter("passed").with_columns(passed=pl.lit(None, pl.Boolean))
    with pytest.raises(GateError, match=r"^1 of 1 check fell short\n"):
        require(unknown)


def test_a_table_of_something_else_is_refused() -> None:
    with pytest.raises(rf.DataError, match=r"the table of checks lacks the columns 'passed', 'why'; it has 'value'"):
        require(pl.DataFrame({"value": [1.0]}))


def test_a_gate_error_is_an_assertion_and_one_of_ours_and_survives_a_process() -> None:
    with pytest.raises(AssertionError) as caught:
        require(_table())
    assert isinstance(caught.value, rf.RankframeError)
    copy = pickle.loads(pickle.dumps(caught.value))
    assert (type(copy), str(copy)) == (GateError, str(caught.value))
    assert copy.table.equals(_table())


def test_a_plain_call_in_a_test_fails_with_the_table_shown(tmp_path: Path) -> None:
    (tmp_path / "test_quality.py").write_text(
        "import polars as pl\n"
        "from rankframe.gates import require\n"
        "def test_quality():\n"
        "    require(pl.DataFrame({'metric': ['mrr'], 'value': [0.25], 'passed': [False], 'why': ['too low']}))\n"
    )
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "--rootdir",
        str(tmp_path),
        str(tmp_path),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 1
    assert re.search(r"^E +rankframe\.errors\.GateError: 1 of 1 check fell short$", done.stdout, re.MULTILINE)
    assert re.search(r"^E +mrr     0\.2500  too low$", done.stdout, re.MULTILINE)


def test_errors_load_no_polars() -> None:
    code = "import sys; sys.path.insert(0, sys.argv[1]); import errors; print('polars' in sys.modules)"
    folder = str(Path(rf.__file__).parent)
    done = subprocess.run([sys.executable, "-c", code, folder], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


# Gates as files.


def _written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "gates.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_gate_is_read_from_a_file(tmp_path: Path) -> None:
    text = """
preset = "clinical"
min_coverage = 0.95
max_drop = 0.01
[metrics]
token_f1 = ">= 0.5"
"ndcg@10" = 0.4
"""
    assert read_gate(_written(tmp_path, text)) == Gate(
        thresholds={"faithfulness": "> 0.90", "token_f1": ">= 0.5", "ndcg@10": 0.4}, min_coverage=0.95, max_drop=0.01
    )


@pytest.mark.parametrize(
    ("text", "gate"),
    [
        ('preset = "clinical"', Gate({"faithfulness": "> 0.90"})),
        ("[metrics]\nmrr = 1", Gate({"mrr": 1})),
        ("max_drop = 1", Gate(max_drop=1.0)),
        ("[max_drop]\nmrr = 0.1\n'unjudged@5' = inf", Gate(max_drop={"mrr": 0.1, "unjudged@5": math.inf})),
        ("min_coverage = 0\n[metrics]\nmrr = 0.5", Gate({"mrr": 0.5}, min_coverage=0.0)),
        ("\ufeff[metrics]\r\nmrr = 0.5\r\n", Gate({"mrr": 0.5})),
        ("metrics = { mrr = '< 0.5' } # low", Gate({"mrr": "< 0.5"})),
    ],
)
def test_what_a_file_leaves_out_has_its_default(tmp_path: Path, text: str, gate: Gate) -> None:
    assert read_gate(str(_written(tmp_path, text))) == gate


def test_what_is_read_can_be_checked(tmp_path: Path) -> None:
    gate = read_gate(_written(tmp_path, 'preset = "clinical"\nmin_coverage = 0.8\n[metrics]\nmrr = "<= 0.5"'))
    summary = _summary(("a", "faithfulness", 0.95), ("a", "mrr", 0.5))
    table = checked(summary, _coverage(summary, 80), gate.thresholds, min_coverage=gate.min_coverage)
    assert require(table)["rule"].to_list() == ["> 0.9", "<= 0.5"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "min_covrage = 0.9\n[metrics]\nmrr = 1",
            r"unknown key 'min_covrage': did you mean 'min_coverage'\? Valid: preset, min_coverage, max_drop, metrics",
        ),
        ("faithfulness = 0.9", r"unknown key 'faithfulness': .*; metrics stand under \[metrics\]"),
        ("", r"it checks nothing; give a preset \(clinical\), a table \[metrics\], or max_drop"),
        ("min_coverage = 0.9", r"it checks nothing; "),
        ("[metrics]", r"\[metrics\] thresholds are metric -> the lowest value that passes, .*; got \{\}"),
        ("metrics = 3", r"metrics is a table metric -> number, got 3"),
        ("metrics = ['mrr']", r"metrics is a table metric -> number, got \['mrr'\]"),
        ("[metrics]\nmrr = true", r"\[metrics\] mrr: a threshold is a number, .*, got True"),
        ("[metrics]\nmrr = nan", r"\[metrics\] mrr: a threshold is a number, .*, got nan"),
        ("[metrics]\nmrr = '0.5'", r"\[metrics\] mrr: a threshold is a number, .*, got '0\.5'"),
        ("[metrics]\nrecall.5 = 0.5", r"\[metrics\] recall: a threshold is a number, .*, got \{'5': 0\.5\}"),
        ("[metrics]\n'' = 0.5", r"\[metrics\] a metric is named by text, .*, got ''"),
        ("preset = 'clinic'", r"preset = 'clinic' is unknown: did you mean 'clinical'\? Valid: clinical"),
        ("preset = 3", r"preset = 3 is unknown: Valid: clinical"),
        (
            "preset = 'clinical'\n[metrics]\nfaithfulness = 0.5",
            r"\[metrics\] faithfulness: the preset 'clinical' has it already \(> 0\.90\); leave one of them out",
        ),
        ("min_coverage = 95\n[metrics]\nmrr = 1", r"min_coverage is a share from 0 to 1, got 95"),
        ("min_coverage = true\n[metrics]\nmrr = 1", r"min_coverage is a share from 0 to 1, got True"),
        ("max_drop = -0.1", r"max_drop: a drop that is allowed is a number from 0, got -0\.1"),
        ("[max_drop]\nmrr = 'much'", r"\[max_drop\] mrr: a drop that is allowed is a number from 0, got 'much'"),
        ("[metrics]\nmrr = 0.5\nmin_coverage = 0.9", r"'min_coverage' stands in the table \[metrics\]; put it above "),
        ("[max_drop]\nmrr = 0.5\npreset = 'clinical'", r"'preset' stands in the table \[max_drop\]; put it above "),
        ("[metrics]\nndcg@10 = 0.4", r"cannot be read as TOML \(.*line 2.*\); a name with @ or brackets is quoted"),
        pytest.param(f"metrics = {'[' * 5000}", r"cannot be read as TOML \(.*\)", id="nested without end"),
        ("[metrics]\nmrr = 1\nmrr = 2", r"cannot be read as TOML \(.*\)"),
    ],
)
def test_a_file_that_means_nothing_is_refused_by_name_and_key(tmp_path: Path, text: str, message: str) -> None:
    path = _written(tmp_path, text)
    with pytest.raises(rf.DataError, match=rf"^{re.escape(str(path))}: {message}"):
        read_gate(path)


def test_an_empty_table_of_drops_checks_nothing(tmp_path: Path) -> None:
    assert read_gate(_written(tmp_path, "[max_drop]")).max_drop == {}


def test_bytes_that_are_no_text_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "gates.toml"
    path.write_bytes(b"preset = '\xff'")
    with pytest.raises(rf.DataError, match=r"gates\.toml: cannot be read as TOML \(.*utf-8.*\)"):
        read_gate(path)


def test_a_file_that_is_not_there_is_said_to_be_missing(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"^no gate at .*nowhere\.toml$"):
        read_gate(tmp_path / "nowhere.toml")
    with pytest.raises(FileNotFoundError, match=r"^no gate at "):
        read_gate(tmp_path)


@pytest.mark.parametrize("sign", [">=", ">", "<=", "<"])
@given(bound=st.floats(allow_nan=False, allow_infinity=False))
def test_a_threshold_is_read_back_from_its_text(sign: str, bound: float) -> None:
    threshold = Threshold(sign, bound)
    assert thresholds_of({"m": str(threshold)}) == {"m": threshold}
