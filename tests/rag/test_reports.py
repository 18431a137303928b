"""The report of samples from columns of scores: keys, statuses, order, and what the ledger says of values that lack."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

import rankframe as rf
from rankframe.frames.checks import Loaded
from rankframe.frames.ledger import note
from rankframe.rag.reports import KEYS, distinct, keyed, sample_report
from rankframe.report import Report
from rankframe.summaries import FAILURES, Measured

FRAME = pl.DataFrame(
    {
        "run_id": ["b", "a", "b", "a"],
        "sample_id": ["s2", "s2", "s1", "s1"],
        "retrieved_contexts": [["x", None], None, [], ["y"]],
        "topic": ["t"] * 4,
    }
)
SCORE = Measured("score", "score", "mean", (0.0, 1.0))
JUDGED = Measured("judged", "judged", "mean", (0.0, 1.0), status="judged_status")


def judged(values: list[float | None], statuses: list[str], name: str = "judged") -> list[pl.Series]:
    return [pl.Series(name, values, dtype=pl.Float64), pl.Series(f"{name}_status", statuses)]


def made(*scored: tuple[Measured, list[pl.Series]], **options: Any) -> Report:
    return sample_report(Loaded(FRAME, "samples"), scored, **options)


def test_samples_stand_in_their_order_in_the_order_of_runs() -> None:
    """Under their keys, and without their texts and metadata."""
    report = made((SCORE, [pl.Series("score", [0.1, 0.2, 0.3, None])]))
    assert report.scores.columns == [*KEYS, "score"]
    assert report.scores.rows() == [
        ("a", "s2", "ok", 0, 0.2),
        ("a", "s1", "ok", 1, None),
        ("b", "s2", "ok", 2, 0.1),
        ("b", "s1", "ok", 0, 0.3),
    ]
    assert (report.unit, report.runs, report.metrics) == ("sample", ["a", "b"], (SCORE,))
    assert report.ledger.is_empty()


def test_a_run_without_a_name_is_called_run_and_has_its_contexts_counted() -> None:
    assert keyed(FRAME.select("sample_id")).rows() == [("run", sample, 0) for sample in FRAME["sample_id"]]
    assert keyed(FRAME).schema == {"run_id": pl.String, "sample_id": pl.String, "n_contexts": pl.Int64}


@pytest.mark.parametrize("status", FAILURES)
def test_a_value_that_is_missing_since_something_went_wrong_is_counted_as_failed(status: str) -> None:
    """In the summary beside its metric alone, and in the status of the sample."""
    columns = judged([1.0, None, None, None], ["ok", status, "ok", "missing_input"])
    report = made((SCORE, [pl.Series("score", [1.0, 0.0, 1.0, 0.0])]), (JUDGED, columns))
    assert report.scores.select("run_id", "status").rows() == [("a", "failed"), ("a", "ok"), ("b", "ok"), ("b", "ok")]
    assert report.summary.select("run_id", "metric", "value", "n", "n_null", "n_failed").rows() == [
        ("a", "score", 0.0, 2, 0, 0),
        ("a", "judged", None, 0, 2, 1),
        ("b", "score", 1.0, 2, 0, 0),
        ("b", "judged", 1.0, 1, 1, 0),
    ]


def test_the_ledger_has_a_reason_for_every_status() -> None:
    statuses = ["refused", "parse_error", "no_claims", "missing_input"]
    report = made((JUDGED, judged([None] * 4, statuses)))
    assert report.ledger.rows() == [
        ("a", "judge_unread", 1, ["s2"]),
        ("a", "missing_input", 1, ["s1"]),
        ("b", "judge_refused", 1, ["s2"]),
        ("b", "no_claims", 1, ["s1"]),
    ]


def test_the_ledger_names_the_metric_where_there_are_several() -> None:
    other = Measured("other", "other", status="other_status")
    first = judged([None, None, 1.0, 1.0], ["error", "ok", "ok", "ok"])
    second = judged([None, 1.0, None, 1.0], ["error", "ok", "error", "ok"], "other")
    report = made((JUDGED, first), (other, second))
    assert report.ledger.rows() == [("b", "judge_failed", 3, ["s2 (judged)", "s2 (other)", "s1 (other)"])]


def test_a_metric_that_is_put_together_in_two_ways_is_told_once() -> None:
    total = Measured("judged", "judged", "sum", status="judged_status")
    report = made((JUDGED, judged([1.0, 1.0, 0.5, None], ["ok", "ok", "ok", "error"])), (total, []))
    assert report.ledger.rows() == [("a", "judge_failed", 1, ["s1"])]
    assert report.summary.filter(run_id="b").select("aggregate", "value").rows() == [("mean", 0.75), ("sum", 1.5)]
    assert report.table()[1:] == [["judged", "1.0000 (n=1)", "0.7500"], ["judged (sum)", "1 (n=1)", "1.5000"]]


def test_notes_and_options_are_kept() -> None:
    column = (SCORE, [pl.Series("score", [0.0] * 4)])
    report = made(column, notes=[note("no_reference", ["s1"]).of("a"), note("no_response", [])], options={"x": 1})
    assert report.ledger.rows() == [("a", "no_reference", 1, ["s1"])]
    assert report.options["x"] == 1
    assert set(report.options) == {"x", "versions"}
    loaded = Loaded(FRAME, "samples", [note("invalid_dropped", ["sample 3"])])
    assert sample_report(loaded, [column]).ledger["reason"].to_list() == ["invalid_dropped"]


@pytest.mark.parametrize("name", [*KEYS, "judged_status"])
def test_two_columns_of_one_name_are_refused(name: str) -> None:
    column = pl.Series(name, [0.0] * 4)
    with pytest.raises(rf.DataError, match=f"two columns of the scores are called '{name}'; give one metric another"):
        made((JUDGED, judged([1.0] * 4, ["ok"] * 4)), (Measured(name, name), [column]))


def test_names_that_are_distinct_are_given_back() -> None:
    assert distinct(["a", "b"]) == ["a", "b"]
    with pytest.raises(rf.DataError, match="called 'a', 'b'"):
        distinct(["b", "a", "a", "b", "c"])


def test_a_column_without_a_value_for_each_sample_is_refused() -> None:
    with pytest.raises(rf.DataError, match="the columns 'score' do not have a value for each of 4 samples"):
        made((SCORE, [pl.Series("score", [0.0, 1.0])]))


def test_metadata_that_cannot_stand_in_one_column_is_left_out_and_counted() -> None:
    """And nothing else is: numbers of two kinds stand together."""
    first = pl.DataFrame({"response": ["a"], "reference": ["a"], "tags": ["x"], "cost": [1]})
    second = pl.DataFrame({"response": ["a"], "reference": ["a"], "tags": [["x", "y"]], "cost": [0.5]})
    report = rf.evaluate_samples({"one": first, "two": second}, metrics=["exact_match"])
    assert "column_left_out" in report.ledger["reason"].to_list()
    assert report.ledger.filter(reason="column_left_out").select("count", "examples").row(0) == (1, ["tags"])
    cost = rf.Metric("cost_paid", pl.col("cost"), range=(0, None))
    both = rf.evaluate_samples({"one": first, "two": second}, metrics=[cost])
    assert both.summary["value"].to_list() == [1.0, 0.5]
