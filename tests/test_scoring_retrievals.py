"""`evaluate` and `check` on what a retriever answered: who failed, who found nothing, who was collapsed."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankframe as rf
from rankframe.metrics import CONVENTIONS
from tests.cases.helpers import ledger, per_query

QRELS = {
    "ok": {"d1": 1},
    "silent": {"d1": 1},
    "failed": {"d1": 1},
    "missing": {"d1": 1},
    "none": {"d1": 0},
    "none failed": {"d1": 0},
}
ANSWERS: dict[str, Any] = {"ok": ["d2", "d1"], "silent": [], "none": ["d1"], "unjudged": ["d1"]}
ASKED = ["ok", "silent", "failed", "none", "none failed", "unjudged", "unjudged failed"]


def retrieved(answers: Mapping[str, Any], asked: list[str], **options: Any) -> rf.Retrieval:
    """What a retriever gives that fails for every query that it has no answer to."""
    return rf.retrieve(lambda query: answers[query], {query: query for query in asked}, on_error="record", **options)


FOUND = retrieved(ANSWERS, ASKED)


def evaluated(runs: object = FOUND, **options: Any) -> rf.Report:
    return rf.evaluate(runs, QRELS, **{"metrics": "mrr", **options})


# In place of a run.


def test_a_retrieval_is_evaluated_like_its_run() -> None:
    """But for what no row can say."""
    by_object, by_run = evaluated(), evaluated(FOUND.run)
    assert by_object.runs == by_run.runs == ["run"]
    for column in ("n_ret", "n_rel", "n_judged", "mrr"):
        assert by_run.scores[column].equals(by_object.scores[column])
    assert per_query(by_run, "status") == {
        "ok": "ok",
        "silent": "missing",
        "failed": "missing",
        "missing": "missing",
        "none": "no_relevant",
        "none failed": "no_relevant",
    }


def test_retrievals_stand_beside_runs_under_names(tmp_path: Path) -> None:
    FOUND.write_parquet(tmp_path / "kept.parquet")
    FOUND.write_parquet(tmp_path / "other.parquet")
    rf.write_run(FOUND.run, tmp_path / "plain.trec")
    report = evaluated(
        {
            "object": FOUND,
            "path": tmp_path / "kept.parquet",
            "frame": FOUND.run,
            "mapping": {"ok": {"d1": 1.0}},
            "text": str(tmp_path / "other.parquet"),
        }
    )
    failed = dict(report.summary.select("run_id", "n_failed").iter_rows())
    assert failed == {"frame": 0, "mapping": 0, "object": 1, "path": 1, "text": 1}
    report = evaluated([tmp_path / "kept.parquet", tmp_path / "plain.trec", str(tmp_path / "other.parquet")])
    assert report.runs == ["kept", "other", "plain"]
    assert evaluated(tmp_path / "kept.parquet").runs == ["kept"]


def test_several_files_under_one_name_are_one_run(tmp_path: Path) -> None:
    """Each with what its own log says."""
    for name, asked in (("one", ["ok", "failed"]), ("two", ["silent", "none failed"])):
        retrieved(ANSWERS, asked).write_parquet(tmp_path / f"{name}.parquet")
    report = evaluated({"both": [tmp_path / "one.parquet", tmp_path / "two.parquet"]})
    assert per_query(report, "status") == {
        "ok": "ok",
        "silent": "ok",
        "failed": "failed",
        "missing": "missing",
        "none": "no_relevant",
        "none failed": "no_relevant",
    }
    assert ledger(report)["failed_query"] == (2, ["failed", "none failed"])


def test_the_callers_frames_are_unchanged() -> None:
    run, log = FOUND.run.clone(), FOUND.log.clone()
    evaluated(FOUND, duplicates="best", invalid="drop", self_hits="drop")
    rf.check(FOUND, QRELS)
    assert run.equals(FOUND.run)
    assert log.equals(FOUND.log)


# Who failed.


def test_statuses_tell_failed_from_missing_and_from_found_nothing() -> None:
    """not_asked before no_relevant before failed before missing; a query without results is ok."""
    assert per_query(evaluated(), "status") == {
        "ok": "ok",
        "silent": "ok",
        "failed": "failed",
        "missing": "missing",
        "none": "no_relevant",
        "none failed": "no_relevant",
    }
    assert per_query(evaluated(queries=["ok", "none failed"]), "status") == {
        "ok": "ok",
        "silent": "not_asked",
        "failed": "not_asked",
        "missing": "not_asked",
        "none": "not_asked",
        "none failed": "no_relevant",
    }


@pytest.mark.parametrize("missing", ["zero", "skip"])
@pytest.mark.parametrize("failed", ["zero", "skip", None])
@pytest.mark.parametrize("no_relevant", ["zero", "skip"])
def test_a_failed_query_counts_as_asked_for_and_else_as_a_missing_one(
    missing: Any, failed: Any, no_relevant: Any
) -> None:
    """A query that was asked and found nothing is 0 under every rule."""
    scores = per_query(evaluated(missing=missing, failed=failed, no_relevant=no_relevant), "mrr")
    right: dict[str, float | None] = {
        "ok": 0.5,
        "silent": 0.0,
        "failed": 0.0 if (failed or missing) == "zero" else None,
        "missing": 0.0 if missing == "zero" else None,
        "none": 0.0 if no_relevant == "zero" else None,
        "none failed": 0.0 if no_relevant == "zero" and (failed or missing) == "zero" else None,
    }
    assert right == scores


@pytest.mark.parametrize("name", CONVENTIONS)
@pytest.mark.parametrize("failed", ["zero", "skip", None])
def test_conventions_leave_failed_queries_to_their_rule_for_missing_ones(name: str, failed: Any) -> None:
    report = evaluated(convention=name, failed=failed)
    rule = failed or CONVENTIONS[name].missing
    assert {"zero": 0.0, "skip": None}[rule] == per_query(report, "mrr")["failed"]
    assert failed == report.options["failed"]


@pytest.mark.parametrize("failed", ["ignore", "", True, 0], ids=repr)
def test_other_rules_are_refused_before_anything_is_read(failed: Any) -> None:
    with pytest.raises(rf.MetricError, match=r"failed=.*; valid: zero, skip"):
        rf.evaluate("absent/run.parquet", "absent/qrels.tsv", failed=failed)


@pytest.mark.parametrize(("failed", "n", "value"), [("zero", 4, 0.125), ("skip", 3, 0.5 / 3)])
def test_the_summary_counts_who_failed_whether_they_count_or_not(failed: Any, n: int, value: float) -> None:
    """Means are over the others where they are left out."""
    row = evaluated(failed=failed).summary.row(0, named=True)
    assert {"n": n, "n_missing": 1, "n_null": 6 - n} == {name: row[name] for name in ("n", "n_missing", "n_null")}
    assert row["n_failed"] == 1
    assert pytest.approx(value) == row["value"]


def test_counts_of_failures_survive_a_report_in_a_file(tmp_path: Path) -> None:
    report = evaluated()
    report.write_parquet(tmp_path / "report.parquet")
    back = rf.read_report(tmp_path / "report.parquet")
    assert report.summary.equals(back.summary)
    assert report.ledger.equals(back.ledger)
    assert per_query(back, "status")["failed"] == "failed"


def test_the_ledger_says_why_a_query_has_no_results() -> None:
    told = ledger(evaluated())
    assert told["failed_query"] == (2, ["failed", "none failed"])
    assert told["no_results"] == (1, ["silent"])
    assert told["missing_query"] == (1, ["missing"])
    assert "run: failed_query 2 (failed, none failed)" in evaluated().counts()


def test_the_ledger_says_it_of_each_run() -> None:
    other = retrieved(ANSWERS | {"failed": ["d1"]}, ASKED)
    report = evaluated({"first": FOUND, "second": other})
    told = report.ledger.filter(reason="failed_query").select("run_id", "count").rows()
    assert told == [("first", 2), ("second", 1)]


@pytest.mark.parametrize("name", CONVENTIONS)
@pytest.mark.parametrize("failed", ["zero", "skip"])
def test_a_retriever_that_failed_for_every_query_is_told(name: str, failed: Any) -> None:
    """The values are 0 or null, and nothing says that the queries are missing."""
    found = retrieved({}, ["ok", "silent"])
    qrels = {"ok": {"d1": 1}, "silent": {"d1": 1}}
    with pytest.warns(rf.RankframeWarning, match="the run 'run' is empty; judged queries whose retrieval failed: 2"):
        report = rf.evaluate(found, qrels, metrics="mrr", convention=name, failed=failed)
    assert report.scores["status"].to_list() == ["failed", "failed"]
    assert report.summary.select("value", "n", "n_failed").row(0) == ((0.0, 2, 2) if failed == "zero" else (None, 0, 2))
    assert ledger(report) == {"failed_query": (2, ["ok", "silent"])}


def test_failed_queries_are_in_common_with_the_judgments() -> None:
    """No id is wrong where the only common query failed."""
    found = retrieved({"unjudged": ["d1"]}, ["failed", "unjudged"])
    assert per_query(rf.evaluate(found, {"failed": {"d1": 1}}, metrics="mrr"), "status") == {"failed": "failed"}
    with pytest.raises(rf.DataError, match="have no query in common"):
        rf.evaluate(found, {"another": {"d1": 1}}, metrics="mrr")


STATES = st.sampled_from(["found", "silent", "failed", "missing"])


@given(st.dictionaries(st.sampled_from("abcdefgh"), STATES, min_size=1), st.sampled_from(["zero", "skip"]))
def test_every_judged_query_is_counted_once(states: dict[str, str], failed: Any) -> None:
    """As what it is: the counts of a summary add up, and no failed query is taken for one without results."""
    asked = [query for query, state in states.items() if state != "missing"]
    found = retrieved({q: ["d"] if states[q] == "found" else [] for q in asked if states[q] != "failed"}, asked)
    qrels = {query: {"d": 1} for query in states}
    if "found" not in states.values():
        found = rf.Retrieval(pl.concat([found.run, rf.read_run({"z": {"d": 1.0}})]), found.log)
        qrels["z"] = {"d": 1}
    report = rf.evaluate(found, qrels, metrics="mrr", missing="zero", failed=failed)
    row = report.summary.row(0, named=True)
    number = {state: list(states.values()).count(state) for state in ("found", "silent", "failed", "missing")}
    assert number["failed"] == row["n_failed"]
    assert number["missing"] == row["n_missing"]
    assert len(qrels) == row["n"] + row["n_null"]
    assert (number["failed"] if failed == "skip" else 0) == row["n_null"]
    right = {"found": "ok", "silent": "ok", "failed": "failed", "missing": "missing"}
    assert {q: right[state] for q, state in states.items()} == {
        q: status for q, status in per_query(report, "status").items() if q != "z"
    }


# Who was collapsed.

CHUNKS: dict[str, Any] = {
    "many": ["d1", "d1", "d2", "d3", "d1"],
    "few": ["d1", "d1", "d2"],
    "one": ["d1", "d1", "d1", "d1"],
    "short": ["d1", "d2"],  # nothing was collapsed; there is no more
    "unjudged": ["d1", "d1"],
}
COLLAPSED = retrieved(CHUNKS, list(CHUNKS))
JUDGED = {query: {"d1": 1} for query in ("many", "few", "one", "short")}


def test_fewer_documents_than_the_largest_cutoff_since_chunks_were_collapsed_are_warned_of() -> None:
    """With the run, the queries and the way out; the ledger says it too."""
    said = (
        "retrieval: of 2 queries the run 'mine' has fewer documents than the largest cutoff, 3, since several results "
        r"are of one document \('few', 'one'\); ask for more with limit="
    )
    with pytest.warns(rf.RankframeWarning, match=said) as caught:
        report = rf.evaluate({"mine": COLLAPSED}, JUDGED, metrics=["recall@3", "mrr@1", "map"])
    assert len(caught) == 1
    assert ledger(report)["collapsed_below_cutoff"] == (2, ["few", "one"])
    assert report.ledger.filter(reason="collapsed_below_cutoff")["run_id"].to_list() == ["mine"]


@pytest.mark.parametrize(
    ("metrics", "queries"),
    [
        ("recall@1", []),
        ("recall@2", ["one"]),
        ("recall@3", ["few", "one"]),
        ("recall@4", ["many", "few", "one"]),
        (["recall@1", "mrr@4", "precision@2"], ["many", "few", "one"]),
        ("map", []),
    ],
    ids=str,
)
def test_the_largest_cutoff_decides(metrics: Any, queries: list[str]) -> None:
    """Without one there is no place that chunks could have taken."""
    if queries:
        with pytest.warns(rf.RankframeWarning, match="since several results are of one document"):
            report = rf.evaluate(COLLAPSED, JUDGED, metrics=metrics)
    else:
        report = rf.evaluate(COLLAPSED, JUDGED, metrics=metrics)
    assert ledger(report).get("collapsed_below_cutoff", (0, [])) == (len(queries), queries)


def test_collapsing_is_told_of_each_run_and_from_a_file_too(tmp_path: Path) -> None:
    COLLAPSED.write_parquet(tmp_path / "chunks.parquet")
    rf.write_run(COLLAPSED.run, tmp_path / "run.trec")
    with pytest.warns(rf.RankframeWarning, match=r"chunks\.parquet: of 2 queries the run 'chunks'") as caught:
        report = rf.evaluate([tmp_path / "chunks.parquet", tmp_path / "run.trec"], JUDGED, metrics="recall@3")
    assert len(caught) == 1
    told = report.ledger.filter(reason="collapsed_below_cutoff").select("run_id", "count").rows()
    assert told == [("chunks", 2)]


def test_nothing_is_told_where_nothing_was_collapsed() -> None:
    report = rf.evaluate(retrieved({"short": ["d1", "d2"]}, ["short"]), {"short": {"d1": 1}}, metrics="recall@10")
    assert ledger(report) == {}


# Before anything is scored.


def test_check_tells_who_failed_and_who_found_nothing() -> None:
    """None of them is missing; a query of no judgment counts too."""
    told = {reason: (count, examples) for _, reason, count, examples in rf.check(FOUND, QRELS).iter_rows()}
    assert told["failed_query"] == (3, ["failed", "none failed", "unjudged failed"])
    assert told["no_results"] == (1, ["silent"])
    assert told["missing_query"] == (1, ["missing"])


def test_check_tells_it_of_a_file_and_of_each_run(tmp_path: Path) -> None:
    FOUND.write_parquet(tmp_path / "kept.parquet")
    for runs in (tmp_path / "kept.parquet", {"kept": FOUND}):
        assert rf.check(runs, QRELS).filter(reason="failed_query").select("run_id", "count").rows() == [("kept", 3)]


# Frames that somebody changed.


def test_an_answered_query_whose_rows_were_taken_out_counts_as_one_without_results() -> None:
    found = rf.retrieve(lambda query: [("d1", float(len(query)))], {"q1": "a", "q2": "bbbbbb"})
    cut = rf.Retrieval(found.run.filter(pl.col("score") > 3), found.log)
    report = rf.evaluate(cut, {"q1": {"d1": 1}, "q2": {"d1": 1}}, metrics="mrr", convention="trec_eval")
    assert report.value("mrr") == 0.5


@pytest.mark.parametrize(
    ("log", "said"),
    [
        (pl.col("status").replace("ok", "failed"), "1 query failed and has results: 'q1'"),
        (pl.col("status").str.to_uppercase(), "the log has the status 'OK'; valid: 'ok', 'failed'"),
        (pl.col("status").alias("state"), None),
    ],
    ids=["failed with results", "unknown status", "further column"],
)
def test_a_log_that_contradicts_the_run_is_refused(log: pl.Expr, said: str | None) -> None:
    found = rf.retrieve(lambda query: [query], {"q1": "d1"})
    changed = rf.Retrieval(found.run, found.log.with_columns(log))
    if said is None:
        assert rf.evaluate(changed, {"q1": {"d1": 1}}, metrics="mrr").value("mrr") == 1.0
        return
    with pytest.raises(rf.DataError, match=said):
        rf.evaluate(changed, {"q1": {"d1": 1}}, metrics="mrr")


def test_a_log_without_its_columns_is_refused() -> None:
    found = rf.retrieve(lambda query: [query], {"q1": "d1"})
    with pytest.raises(rf.DataError, match="the frames of a retrieval are without 'query_id String'"):
        rf.evaluate(rf.Retrieval(found.run, pl.DataFrame()), {"q1": {"d1": 1}})


def test_several_retrievals_are_given_by_name() -> None:
    found = rf.retrieve(lambda query: [query], {"q1": "d1"})
    with pytest.raises(rf.DataError, match="a list of Retrievals is no run; name several, as in evaluate"):
        rf.evaluate([found, found], {"q1": {"d1": 1}})


def test_a_pool_tells_of_failed_queries() -> None:
    def fails(query: str) -> list[str]:
        raise ValueError(query)

    found = rf.retrieve(fails, {"q1": "d1"}, on_error="record")
    with pytest.warns(rf.RankframeWarning) as caught:
        rf.pool(found, depth=3)
    assert "of 1 query the retrieval failed: 'q1'" in str(caught[0].message)


def test_the_ledger_says_nothing_more_of_queries_that_were_not_asked() -> None:
    found = rf.retrieve(lambda query: ["d1", "d1"] if query != "none" else [], {"q1": "a", "q2": "b", "q3": "none"})
    qrels = {"q1": {"d1": 1}, "q2": {"d1": 1}, "q3": {"d1": 1}, "q4": {"d1": 0}}
    with pytest.warns(rf.RankframeWarning, match="of 1 query the run 'run' has fewer documents"):
        report = rf.evaluate(found, qrels, metrics="ndcg@5", queries=["q1"])
    told = {reason: examples for _, reason, _, examples in report.ledger.iter_rows()}
    assert told == {"not_asked": ["q2", "q3", "q4"], "collapsed_below_cutoff": ["q1"]}


def test_a_function_is_no_run_and_a_list_of_texts_no_queries() -> None:
    with pytest.raises(rf.DataError, match=r"a function is a retriever; retrieve\(function, queries\) gives"):
        rf.evaluate(lambda query: [query], {"q1": {"d1": 1}})
    with pytest.raises(rf.DataError, match=r"a list of texts has no ids; name them, as in {'q1': 'red kite'}"):
        rf.retrieve(lambda query: [query], ["red kite", "owl"])
