"""Grades: negative, fractional, judged twice. Relevant is above 0; a negative grade gains nothing."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import rankframe as rf

from .helpers import FORMS, ledger, run_as, scored, write

REPEATABLE = tuple(form for form in FORMS if form != "mapping")
"""Forms in which a pair can stand twice."""


def test_negative_grades() -> None:
    """A grade below 0 gains nothing, is not relevant, and keeps its place in the ranking."""
    qrels = {"q1": {"a": -1, "b": 2, "c": 1}}
    run = {"q1": {"a": 3.0, "b": 2.0, "c": 1.0}}
    right = {"ndcg@3": 0.6696718165, "map@3": 0.5833333333, "mrr@3": 0.5, "precision@1": 0.0, "recall@3": 1.0}
    assert scored(run, qrels, *right) == pytest.approx(right, abs=1e-9)
    assert rf.metrics.ndcg_at_k(["a", "b", "c"], qrels["q1"], 3) == pytest.approx(right["ndcg@3"])
    assert rf.metrics.average_precision(["a", "b", "c"], qrels["q1"], 3) == pytest.approx(right["map@3"])
    assert rf.metrics.reciprocal_rank(["a", "b", "c"], qrels["q1"], 3) == 0.5
    assert rf.metrics.precision_at_k(["a", "b", "c"], qrels["q1"], 1) == 0.0
    assert rf.metrics.recall_at_k(["a", "b", "c"], qrels["q1"], 3) == 1.0


@pytest.mark.parametrize("grade", [-1, -2, -1000, -0.5])
def test_negative_grades_of_any_size_gain_nothing(grade: float) -> None:
    """How negative a grade is changes no metric, under either gain and at any cutoff."""
    metrics = [
        "ndcg@1",
        "ndcg@3",
        "ndcg",
        "ndcg(gain=exponential)@3",
        "dcg@3",
        "dcg(gain=exponential)@3",
        "map",
        "mrr",
        "recall@3",
        "precision@3",
        "f1@3",
        "success@1",
        "r_precision",
        "bpref",
        "infap",
        "rbp",
        "err@3",
        "nerr@3",
        "judged@3",
        "unjudged@3",
        "iprec_11pt",
        "num_ret",
        "num_rel",
        "num_rel_ret",
        "capped_recall@2",
        "ndcg(judged_only=true)@3",
        "rbp(gain=graded)",
    ]
    run = {"q1": {"a": 4.0, "b": 3.0, "c": 2.0, "d": 1.0}}
    reports = [rf.evaluate(run, {"q1": {"a": g, "b": 2, "c": 1, "d": 0}}, metrics=metrics) for g in (-1, grade)]
    values = [report.summary.select("metric", "value").rows() for report in reports]
    assert values[0] == values[1]
    for metric, value in values[1]:
        assert 0.0 <= value <= (4.0 if metric.startswith(("num", "dcg")) else 1.0), metric


def test_negative_grades_are_pooled_but_not_assessed() -> None:
    """They count as judged, as unjudged for unj, in n_ret, and not among the judged non-relevant."""
    run = {"q1": {"a": 3.0, "b": 2.0, "c": 1.0}}
    qrels = {"q1": {"a": -1, "b": 0, "c": 1}}
    right = {"judged@3": 1.0, "unjudged@3": 1 / 3, "num_ret": 3.0, "num_rel": 1.0, "bpref": 0.0}
    assert scored(run, qrels, *right) == pytest.approx(right)
    only_negative_above = {"q1": {"a": -1, "c": 1, "z": 0}}
    assert scored(run, only_negative_above, "bpref") == {"bpref": 1.0}
    condensed = scored(run, qrels, "mrr(judged_only=true)", "precision(judged_only=true)")
    assert condensed == {"mrr(judged_only=true)": 0.5, "precision(judged_only=true)": 0.5}


def test_negative_grades_alone_leave_a_query_without_relevant_documents() -> None:
    """Such a query is left out and counted, or scores 0 by the conventions that keep it."""
    run, qrels = {"q1": {"a": 1.0}, "q2": {"b": 1.0}}, {"q1": {"a": -2}, "q2": {"b": 1}}
    report = rf.evaluate(run, qrels, metrics=["ndcg@3", "map"])
    assert report.scores["status"].to_list() == ["no_relevant", "ok"]
    assert report.scores["ndcg@3"].to_list() == [None, 1.0]
    assert ledger(report) == {"no_relevant": (1, ["q1"])}
    assert scored(run, qrels, "ndcg@3", "map", no_relevant="zero") == {"ndcg@3": 0.5, "map": 0.5}


def test_float_grades() -> None:
    """Fractional grades are gains as they are: 0.5 is relevant, and 1.5 is more."""
    qrels = pl.DataFrame({"query_id": ["q1", "q1"], "doc_id": ["a", "b"], "relevance": [0.5, 1.5]})
    run = {"q1": {"a": 2.0, "b": 1.0}}
    right = (0.5 + 1.5 / math.log2(3)) / (1.5 + 0.5 / math.log2(3))
    assert right == pytest.approx(0.796707581)
    assert scored(run, qrels, "ndcg@2") == {"ndcg@2": pytest.approx(right, abs=1e-9)}
    assert rf.metrics.ndcg_at_k(["a", "b"], {"a": 0.5, "b": 1.5}, 2) == pytest.approx(right)


@pytest.mark.parametrize("form", FORMS)
def test_float_grades_of_every_form(form: str, tmp_path: Path) -> None:
    """No form cuts a grade to a whole number."""
    qrels = run_as(form, [("q1", "a", 0.5), ("q1", "b", 1.5)], tmp_path, "relevance")
    assert rf.read_qrels(qrels)["relevance"].to_list() == [0.5, 1.5]
    values = scored({"q1": {"a": 2.0, "b": 1.0}}, qrels, "ndcg@2", "recall@1", "mrr")
    assert values == pytest.approx({"ndcg@2": 0.796707581, "recall@1": 0.5, "mrr": 1.0})


def test_float_grades_in_trec_text(tmp_path: Path) -> None:
    """Neither does the TREC reader, on the first line or any other."""
    qrels = rf.read_qrels(write(tmp_path / "qrels.txt", "q1 0 a 0.5\nq1 0 b 1.5\nq1 0 c 1e-1\nq1 0 d -0.25\n"))
    assert qrels["relevance"].to_list() == [0.5, 1.5, 0.1, -0.25]


def test_float_grades_between_0_and_1_are_relevant() -> None:
    """Above 0 is relevant; `rel=1` is another metric, and its name says so."""
    qrels = {"q1": {"a": 0.5, "b": 1.0, "c": 0.0}}
    run = {"q1": {"a": 3.0, "b": 2.0, "c": 1.0}}
    right = {"mrr": 1.0, "mrr(rel=1)": 0.5, "num_rel": 2.0, "num_rel(rel=1)": 1.0, "recall(rel=0.5)@1": 0.5}
    assert scored(run, qrels, *right) == right


def test_float_grades_in_exponential_gain() -> None:
    """2^g - 1 of a fraction is a fraction."""
    qrels, run = {"q1": {"a": 0.5, "b": 1.5}}, {"q1": {"a": 2.0, "b": 1.0}}
    low, high = 2**0.5 - 1, 2**1.5 - 1
    right = (low + high / math.log2(3)) / (high + low / math.log2(3))
    assert scored(run, qrels, "ndcg(gain=exponential)@2") == {"ndcg(gain=exponential)@2": pytest.approx(right)}


@pytest.mark.parametrize(
    "grade", [2, 2.0, np.int8(2), np.float32(2), np.uint64(2)], ids=lambda grade: type(grade).__name__
)
def test_grades_of_any_number_type(grade: Any) -> None:
    """A grade is its value."""
    assert rf.read_qrels({"q1": {"a": grade}}).rows() == [("q1", "a", 2.0)]


@pytest.mark.parametrize("dtype", [pl.Int8, pl.UInt8, pl.Int64, pl.Float32, pl.Decimal(10, 2), pl.String], ids=str)
def test_grades_of_any_dtype(dtype: Any) -> None:
    """So is a column of grades; negative ones too where the dtype has them."""
    grades = [0, 1, 2] if dtype == pl.UInt8 else [0, -1, 2]
    frame = pl.DataFrame({"query_id": ["q"] * 3, "doc_id": list("abc"), "relevance": pl.Series(grades).cast(dtype)})
    assert rf.read_qrels(frame)["relevance"].to_list() == [float(grade) for grade in grades]
    assert rf.read_qrels(frame).schema["relevance"] == pl.Float64()


@pytest.mark.parametrize("grade", [True, "1", [1], {"grade": 1}], ids=repr)
def test_grades_that_are_no_numbers_are_refused(grade: Any) -> None:
    """A truth value, text or a container is no grade: refused with its query and document."""
    with pytest.raises(rf.DataError, match=r"relevance that is no number.*\(q1, a\)"):
        rf.read_qrels({"q1": {"a": grade}})


CONFLICT = "q1 0 a 1\nq1 0 b 1\nq1 0 a 0\n"


def test_qrels_conflicting_duplicate(tmp_path: Path) -> None:
    """A pair judged 1 and 0 is refused with both grades and their lines; on request the highest stands."""
    path = write(tmp_path / "qrels.txt", CONFLICT)
    said = r'qrels\.txt.* 1 pair .*\(q1, a\) as 1 and 0 on lines 1 and 3.*duplicates="best"'
    with pytest.raises(rf.DataError, match=said):
        rf.read_qrels(path)
    run = {"q1": {"a": 2.0, "b": 1.0}}
    with pytest.raises(rf.DataError, match=said):
        rf.evaluate(run, path)
    report = rf.evaluate(run, path, metrics=["num_rel", "recall@1"], duplicates="best")
    assert (report.value("num_rel"), report.value("recall@1")) == (2.0, 0.5)
    assert ledger(report)["conflict_resolved"] == (1, ["(q1, a)"])
    with pytest.warns(rf.RankframeWarning, match="q1, a"):
        assert rf.read_qrels(path, duplicates="best").sort("doc_id").rows() == [
            ("q1", "a", 1.0),
            ("q1", "b", 1.0),
        ]


@pytest.mark.parametrize("form", REPEATABLE)
@pytest.mark.parametrize("order", [1, -1], ids=["highest first", "highest last"])
def test_qrels_conflicting_duplicate_of_every_form(form: str, order: int, tmp_path: Path) -> None:
    """Neither the first nor the last grade wins in silence, and which comes last decides nothing."""
    rows = [("q1", "a", 2.0), ("q1", "b", 1.0), ("q1", "a", 0.0), ("q2", "c", -1.0), ("q2", "c", 1.0)][::order]
    qrels = run_as(form, rows, tmp_path, "relevance")
    with pytest.raises(rf.DataError, match=r'2 pairs.*\(q1, a\) as .*\(q2, c\) as .*duplicates="best"'):
        rf.read_qrels(qrels)
    run = {"q1": {"a": 2.0, "b": 1.0}, "q2": {"c": 1.0}}
    report = rf.evaluate(run, qrels, metrics=["ndcg@2", "num_rel"], duplicates="best")
    assert report.scores["ndcg@2"].to_list() == [1.0, 1.0]
    assert report.value("num_rel") == 3.0
    assert ledger(report)["conflict_resolved"][0] == 2


def test_qrels_conflicting_duplicate_of_keys_that_are_one_id() -> None:
    """7 and "7" are one document, so a mapping may hold a conflict."""
    qrels: dict[str, dict[Any, int]] = {"q1": {7: 1, "7": 0}}
    with pytest.raises(rf.DataError, match=r"\(q1, 7\) as 1 and 0"):
        rf.read_qrels(qrels)


def test_qrels_conflicting_duplicate_shows_five_examples() -> None:
    """How many there are is said; five are shown."""
    rows = [("q1", f"d{i}", float(grade)) for i in range(9) for grade in (0, 1)]
    with pytest.raises(rf.DataError, match=r"9 pairs.*d4\).* and 4 more") as caught:
        rf.read_qrels(run_as("frame", rows, Path(), "relevance"))
    assert "d5" not in str(caught.value)


def test_qrels_identical_duplicate(tmp_path: Path) -> None:
    """A repeated line counts once: two relevant documents, and no hit is multiplied. The ledger says so."""
    qrels = write(tmp_path / "qrels.txt", "q1 0 a 1\nq1 0 b 1\nq1 0 a 1\n")
    metrics = ["recall@2", "map@2", "ndcg@2", "num_rel", "precision@2", "judged@2"]
    report = rf.evaluate({"q1": {"a": 2.0, "b": 1.0}}, qrels, metrics=metrics)
    values = {metric: report.value(metric) for metric in metrics}
    assert values == {**dict.fromkeys(metrics, 1.0), "num_rel": 2.0}
    assert ledger(report) == {"repeated_judgment": (1, ["(q1, a)"])}
    assert scored({"q1": {"a": 2.0, "b": 1.0}}, rf.read_qrels(qrels), *metrics) == values


@pytest.mark.parametrize("form", REPEATABLE)
def test_qrels_identical_duplicate_of_every_form(form: str, tmp_path: Path) -> None:
    """Of every form, however often and however far apart; irrelevant judgments as well."""
    rows = [("q1", "a", 2.0), ("q1", "x", 0.0)] * 3 + [("q1", f"d{i}", 0.0) for i in range(500)] + [("q1", "a", 2.0)]
    qrels = run_as(form, rows, tmp_path, "relevance")
    report = rf.evaluate({"q1": {"x": 2.0, "a": 1.0}}, qrels, metrics=["recall@2", "num_rel", "mrr", "bpref"])
    assert report.summary["value"].to_list() == [1.0, 1.0, 0.5, 0.0]
    assert ledger(report)["repeated_judgment"] == (2, ["(q1, a)", "(q1, x)"])


def test_qrels_identical_duplicate_may_be_written_differently(tmp_path: Path) -> None:
    """1, 1.0 and 01 are one grade."""
    qrels = write(tmp_path / "qrels.txt", "q1 0 a 1\nq1 0 a 1.0\nq1 0 a 01\nq1 0 a 1e0\n")
    assert scored({"q1": {"a": 1.0}}, qrels, "num_rel") == {"num_rel": 1.0}


def test_qrels_identical_and_conflicting_duplicates_are_told_apart() -> None:
    """Each is counted under its own reason."""
    rows = [("q1", "a", 1.0), ("q1", "a", 1.0), ("q1", "b", 0.0), ("q1", "b", 2.0)]
    report = rf.evaluate({"q1": {"a": 1.0}}, run_as("frame", rows, Path(), "relevance"), duplicates="best")
    told = ledger(report)
    assert told["repeated_judgment"] == (1, ["(q1, a)"])
    assert told["conflict_resolved"] == (1, ["(q1, b)"])
