"""The frames that pictures of summaries, slices and differences draw; Altair is not needed for them."""

from __future__ import annotations

import math
from collections.abc import Callable

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import rankframe as rf
from rankframe.plots.prepared import cutoff_rows, difference_rows, interval_rows, recall_rows, slice_rows
from tests.plots.shared import report, summary

DIFF = pl.DataFrame(
    {
        "query_id": ["q1", "q2", "q3", "q4", "q5"],
        "metric": ["map"] * 5,
        "value_a": [0.5, 0.5, 0.25, 1.0, None],
        "value_b": [0.25, 0.5, 1.0, 0.75, 1.0],
        "difference": [-0.25, 0.0, 0.75, -0.25, None],
        "topic": ["x", None, "y", "z", "x"],
        "place": ["here", "there", "here", "here", "there"],
        "vector": [[1.0]] * 5,
    }
)


def test_intervals_are_sorted_by_metric_and_value() -> None:
    frame = summary(
        ("a", "map", "mean", 0.2, 0.1, 0.3, 5, None),
        ("a", "ndcg@10", "mean", 0.9, 0.8, 1.0, 5, None),
        ("b", "map", "mean", 0.4, 0.3, 0.5, 5, None),
        ("b", "ndcg@10", "mean", 0.8, 0.7, 0.9, 5, None),
        ("c", "map", "mean", 0.4, 0.3, 0.5, 5, None),
        ("c", "ndcg@10", "mean", None, None, None, 0, "no query"),
    )
    rows, notes = interval_rows(frame, None)
    assert rows.select("metric", "run_id").rows() == [
        ("map", "b"),
        ("map", "c"),
        ("map", "a"),
        ("ndcg@10", "a"),
        ("ndcg@10", "b"),
        ("ndcg@10", "c"),
    ]
    assert rows.columns == ["run_id", "measure", "metric", "aggregate", "value", "ci_low", "ci_high", "n", "ci_reason"]
    assert rows["measure"].unique(maintain_order=True).to_list() == ["mean average precision", "mean nDCG at 10"]
    assert rows.schema["n"] == pl.Int64
    assert notes == ["without a value, and not drawn: 1 of 6 values (run 'c')"]


def test_intervals_of_the_metrics_asked_for_in_that_order_by_any_name() -> None:
    frame = summary(("a", "map", 0.2), ("a", "precision@5", 0.3), ("a", "mine", 0.4))
    rows, notes = interval_rows(frame, ["P@5", "mine"])
    assert rows["metric"].to_list() == ["precision@5", "mine"]
    assert notes == ["without an interval: 2 of 2 (one query)"]
    assert interval_rows(frame, "map").frame["metric"].to_list() == ["map"]


def test_two_aggregates_of_one_metric_are_two_measures() -> None:
    frame = summary(("a", "map", "mean", 0.2, 0.1, 0.3, 5, None), ("a", "map", "gmean", 0.1, 0.1, 0.2, 5, None))
    rows, _ = interval_rows(frame, None)
    assert rows["measure"].to_list() == ["mean average precision", "geometric mean of average precision"]


def test_numbers_that_no_axis_has_are_null_and_counted() -> None:
    frame = summary(("a", "mine", math.nan), ("b", "mine", math.inf), ("c", "mine", 1.0), ("c", "other", math.nan))
    rows, notes = interval_rows(frame, None)
    assert rows.select("run_id", "metric", "value").rows() == [
        ("c", "mine", 1.0),
        ("a", "mine", None),
        ("b", "mine", None),
    ]
    assert notes[0] == "without a value, and not drawn: 3 of 4 values (run 'a', 'b', 'c')"


def test_intervals_of_a_report_are_its_summary() -> None:
    made = report().summary
    rows, notes = interval_rows(made, None)
    assert notes == []
    same = ["run_id", "metric", "value", "ci_low", "ci_high", "n"]
    assert_frame_equal(rows.select(same), made.select(same), check_row_order=False)


def test_cutoffs_are_numbers_in_order() -> None:
    frame = summary(
        ("b", "ndcg@10", 0.5), ("b", "ndcg@2", 0.4), ("b", "map@2", 0.1), ("a", "ndcg@10", 0.3), ("a", "ndcg@2", 0.2)
    )
    rows, _ = cutoff_rows(frame, "ndcg")
    assert rows.select("run_id", "cutoff", "value").rows() == [
        ("a", 2, 0.2),
        ("a", 10, 0.3),
        ("b", 2, 0.4),
        ("b", 10, 0.5),
    ]


@pytest.mark.parametrize("metric", ["recall(rel=2)", "R(rel=2)", "recall( rel = 2.0 )"])
def test_cutoffs_of_a_metric_with_parameters_and_no_other(metric: str) -> None:
    frame = summary(("a", "recall(rel=2)@1", 0.1), ("a", "recall@1", 0.2), ("a", "recall(rel=2)@5", 0.3))
    rows, _ = cutoff_rows(frame, metric)
    assert rows["value"].to_list() == [0.1, 0.3]


def test_cutoffs_of_a_metric_of_the_caller() -> None:
    frame = summary(("a", "mine@1", 0.1), ("a", "mine@5", 0.2))
    assert cutoff_rows(frame, "mine").frame["cutoff"].to_list() == [1, 5]


def test_fewer_than_two_cutoffs_say_what_to_ask_for() -> None:
    frame = summary(("a", "ndcg@10", 0.1), ("a", "recall@1", 0.2), ("a", "recall@5", 0.2))
    message = (
        r"'ndcg' at two cutoffs or more, and this summary has 'ndcg@10': ask evaluate for "
        r"metrics=\['ndcg@1', 'ndcg@5', 'ndcg@10'\]; metric= may be 'recall'"
    )
    with pytest.raises(rf.DataError, match=message):
        cutoff_rows(frame, "ndcg")
    with pytest.raises(rf.DataError, match=r"name it without its cutoff, 'recall'"):
        cutoff_rows(frame, "recall@5")


def test_precision_recall_takes_the_levels_from_the_names() -> None:
    rows, notes = recall_rows(report().summary, "iprec")
    assert rows.filter(pl.col("run_id") == "bm25")["recall"].to_list() == [level / 10 for level in range(11)]
    assert rows.height == 22
    assert notes == []


def test_precision_recall_with_other_parameters() -> None:
    names = ["iprec(recall=0)", "iprec(recall=1)", "iprec(recall=0,rel=2)", "iprec(recall=0.5,rel=2)"]
    frame = summary(*(("a", name, i / 10) for i, name in enumerate(names)))
    assert recall_rows(frame, "iprec").frame["value"].to_list() == [0.0, 0.1]
    assert recall_rows(frame, "iprec(rel=2)").frame["recall"].to_list() == [0.0, 0.5]


def test_fewer_than_two_levels_say_what_to_ask_for() -> None:
    message = (
        r"this summary has 'iprec\(recall=0\)': ask evaluate for metrics=\[f\"iprec\(recall=\{i / 10\}\)\" for i in"
    )
    with pytest.raises(rf.DataError, match=message):
        recall_rows(summary(("a", "iprec(recall=0)", 1.0), ("a", "map", 1.0)), "iprec")


def test_differences_are_sorted_and_counted() -> None:
    rows, notes = difference_rows(DIFF)
    expected = pl.DataFrame(
        {
            "place": [1, 2, 3, 4],
            "query_id": ["q3", "q2", "q1", "q4"],
            "metric": ["map"] * 4,
            "value_a": [0.25, 0.5, 0.5, 1.0],
            "value_b": [1.0, 0.5, 0.25, 0.75],
            "difference": [0.75, 0.0, -0.25, -0.25],
            "outcome": ["better", "equal", "worse", "worse"],
            "topic": ["y", None, "x", "z"],
            "place_joined": ["here", "there", "here", "here"],
        }
    )
    assert_frame_equal(rows, expected)
    assert notes == ["without a value in one of the runs, and not drawn: 1 query"]


def test_differences_of_a_report_are_all_there() -> None:
    diff = report().diff("bm25", "dense", metric="ndcg@3")
    rows, notes = difference_rows(diff)
    assert sorted(rows["difference"].to_list()) == sorted(diff["difference"].to_list())
    assert rows["difference"].is_sorted(descending=True)
    assert notes == []


def test_slices_are_text_and_null_is_a_slice() -> None:
    by = summary(("r", "map", "mean", 0.5, 0.4, 0.6, 12, None), ("r", "map", "mean", None, None, None, 0, "no query"))
    rows, notes, names = slice_rows(by.insert_column(0, pl.Series("year", [1999, None])), None, 10)
    assert names == ["year"]
    assert rows.select("slice", "value", "few", "label").rows() == [
        ("1999", 0.5, False, "0.500"),
        ("(none)", None, True, "-"),
    ]
    assert notes == [
        "without a value, grey: 1 of 2 values (run 'r')",
        "* fewer than 10 queries in the slice",
    ]


def test_a_slice_called_none_is_not_the_one_without_a_value() -> None:
    by = summary(("r", "map", 0.5), ("r", "map", 1234.56)).insert_column(0, pl.Series("topic", ["(none)", None]))
    rows, *_ = slice_rows(by, "AP", 2)
    assert rows.select("slice", "few", "label").rows() == [("(none)", False, "0.500"), ("(no value)", False, "1,234.6")]


def test_two_slice_columns_of_a_report() -> None:
    by = report().by("a.b", "k:1")
    rows, *_ = slice_rows(by, "map", 3)
    assert rows.columns[:3] == ["slice", "slice_2", "run_id"]
    assert set(rows["slice"]) == {"x[0]", "it's", "(none)"}
    assert set(rows["slice_2"]) == {"true", "false"}
    assert rows.height == 12
    assert rows["few"].all()
    assert rows["label"].str.ends_with("*").all()


TAKERS: dict[str, Callable[[object], object]] = {
    "summary": lambda frame: interval_rows(frame, None),
    "cutoffs": lambda frame: cutoff_rows(frame, "ndcg"),
    "precision_recall": lambda frame: recall_rows(frame, "iprec"),
    "differences": difference_rows,
    "slices": lambda frame: slice_rows(frame, None, 10),
}
SOURCES = {
    "summary": r"report\.summary",
    "cutoffs": r"report\.summary",
    "precision_recall": r"report\.summary",
    "differences": r'report\.diff\("a", "b"\)',
    "slices": r'report\.by\("topic"\)',
}


def frame_of(drawn: object) -> pl.DataFrame:
    assert isinstance(drawn, tuple)
    return next(part for part in drawn if isinstance(part, pl.DataFrame))


@pytest.mark.parametrize("name", TAKERS)
def test_another_frame_is_refused_with_the_method_that_gives_the_right_one(name: str) -> None:
    takes = rf"rankframe\.plots\.{name} takes the frame of {SOURCES[name]}"
    with pytest.raises(rf.DataError, match=rf"{takes}, with the columns .*; this one lacks 'metric'.* and has run_id"):
        TAKERS[name](pl.DataFrame({"run_id": ["a"]}))
    with pytest.raises(rf.DataError, match=rf"{takes}, of Polars; got a list of builtins"):
        TAKERS[name]([])
    if "(" in SOURCES[name]:  # made by a call, and no attribute of the report
        with pytest.raises(rf.DataError, match=rf"{takes}, of Polars; got a Report of rankframe"):
            TAKERS[name](report())
    else:
        assert_frame_equal(frame_of(TAKERS[name](report())), frame_of(TAKERS[name](report().summary)))


@pytest.mark.parametrize("name", TAKERS)
def test_a_frame_without_rows_is_refused(name: str) -> None:
    frame = DIFF if name == "differences" else summary(("a", "ndcg@1", 1.0)).insert_column(0, pl.Series("topic", ["x"]))
    with pytest.raises(rf.DataError, match=r"got one without rows: there is nothing to draw"):
        TAKERS[name](frame.clear())


@pytest.mark.parametrize("name", ["summary", "cutoffs", "precision_recall", "slices"])
def test_a_frame_without_any_value_is_refused(name: str) -> None:
    rows = [("a", metric, None) for metric in ("ndcg@1", "ndcg@2", "iprec(recall=0)", "iprec(recall=1)")]
    frame = summary(*rows).insert_column(0, pl.Series("topic", ["x"] * 4))
    with pytest.raises(rf.DataError, match=r"no row has a value: there is nothing to draw"):
        TAKERS[name](frame)


@pytest.mark.parametrize("name", ["summary", "cutoffs", "precision_recall"])
def test_slices_are_refused_where_a_summary_is_drawn(name: str) -> None:
    with pytest.raises(
        rf.DataError, match=r"would hold several values, .*report\.by\(\.\.\) goes to rankframe\.plots\.slices"
    ):
        TAKERS[name](report().by("a.b"))


def test_a_column_of_another_kind_is_refused() -> None:
    frame = summary(("a", "map", 1.0)).with_columns(value=pl.lit("high"))
    with pytest.raises(rf.DataError, match=r"its column 'value' should be numbers and is String"):
        interval_rows(frame, None)


@pytest.mark.parametrize("column", ["run_id", "metric"])
def test_a_row_without_a_name_is_refused(column: str) -> None:
    frame = summary(("a", "map", 1.0), ("b", "map", 1.0)).with_columns(pl.lit(None, pl.String).alias(column))
    with pytest.raises(rf.DataError, match=rf"its column '{column}' is null in 2 rows"):
        interval_rows(frame, None)


def test_names_that_are_not_there_are_refused_with_the_nearest() -> None:
    frame = summary(("a", "map", 1.0)).insert_column(0, pl.Series("topic", ["x"]))
    with pytest.raises(rf.DataError, match=r"no metric 'mapp' in the frame; did you mean 'map'\? Valid: map"):
        interval_rows(frame, ["mapp"])
    with pytest.raises(rf.DataError, match=r"no metric 'ndcg@10' in the frame; Valid: map"):
        slice_rows(frame, "ndcg@10", 10)
    with pytest.raises(rf.DataError, match=r"metrics= is empty; the frame has 'map'"):
        interval_rows(frame, [])


def test_none_or_too_many_slice_columns_are_refused() -> None:
    frame = summary(("a", "map", 1.0))
    with pytest.raises(rf.DataError, match=r"draws one or two slice columns.*; this frame has none"):
        slice_rows(frame, None, 10)
    three = [pl.lit("x").alias(name) for name in "abc"]
    with pytest.raises(rf.DataError, match=r"this frame has 'a', 'b', 'c'"):
        slice_rows(frame.select(*three, pl.all()), None, 10)


def test_differences_of_more_than_one_metric_or_pair_are_refused() -> None:
    with pytest.raises(rf.DataError, match=r"draws one metric, and the frame has 'map', 'mrr': filter it"):
        difference_rows(pl.concat([DIFF, DIFF.with_columns(metric=pl.lit("mrr"))]))
    with pytest.raises(
        rf.DataError, match=r"5 places of the picture would hold several values, as query_id 'q1' \(2 rows\)"
    ):
        difference_rows(pl.concat([DIFF, DIFF]))
    with pytest.raises(rf.DataError, match=r"with the column 'query_id' or 'sample_id'; this one has metric"):
        difference_rows(DIFF.drop("query_id"))
    with pytest.raises(rf.DataError, match=r"no row has a difference"):
        difference_rows(DIFF.filter(pl.col("difference").is_null()))
