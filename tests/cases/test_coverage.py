"""Which queries and documents a number is over, and that nothing is left out of it in silence."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pytest

import rankframe as rf

from .helpers import ledger, per_query, scored, write

QRELS = {"q1": {"a": 1}, "q2": {"b": 1}}
AT_10 = ["ndcg@10", "recall@10", "mrr@10"]


def test_query_missing_from_run() -> None:
    """A judged query without a result scores 0 and stays in the mean; it is counted and named."""
    report = rf.evaluate({"q1": {"a": 1.0}}, QRELS, metrics=AT_10)
    assert {metric: report.value(metric) for metric in AT_10} == dict.fromkeys(AT_10, 0.5)
    assert report.scores.filter(query_id="q2").select("status", "n_ret", *AT_10).row(0) == (
        "missing",
        0,
        0.0,
        0.0,
        0.0,
    )
    assert report.to_dict()["n_queries"] == 2
    assert report.summary.select("n", "n_missing", "n_null").unique().rows() == [(2, 1, 0)]
    assert ledger(report) == {"missing_query": (1, ["q2"])}


def test_query_missing_from_run_by_convention() -> None:
    """Leaving it out is an option with a name, and the ledger still counts it."""
    for options in ({"missing": "skip"}, {"convention": "trec_eval"}, {"convention": "beir"}):
        report = rf.evaluate({"q1": {"a": 1.0}}, QRELS, metrics=AT_10, **options)  # type: ignore[arg-type]
        assert report.value("ndcg@10") == 1.0
        assert report.summary.select("n", "n_missing", "n_null").row(0) == (1, 0, 1)
        assert per_query(report, "ndcg@10") == {"q1": 1.0, "q2": None}
        assert ledger(report) == {"missing_query": (1, ["q2"])}
    for convention in ("documented", "trec_eval_c", "ir_measures"):
        assert scored({"q1": {"a": 1.0}}, QRELS, "ndcg@10", convention=convention) == {"ndcg@10": 0.5}


def test_query_missing_from_one_run_of_several() -> None:
    """Two runs have the same population, whatever each of them misses."""
    runs = {"full": {"q1": {"a": 1.0}, "q2": {"b": 1.0}}, "half": {"q1": {"a": 1.0}}}
    report = rf.evaluate(runs, QRELS, metrics="mrr")
    assert report.summary.select("run_id", "value", "n").rows() == [("full", 1.0, 2), ("half", 0.5, 2)]
    assert report.ledger.rows() == [("half", "missing_query", 1, ["q2"])]


def test_query_missing_counts_its_relevant_documents() -> None:
    """num_rel is over the scored queries, missing ones among them; what was retrieved is not."""
    right = {"num_rel": 2.0, "num_rel_ret": 1.0, "num_ret": 1.0}
    assert scored({"q1": {"a": 1.0}}, QRELS, *right) == right


def test_query_that_returned_nothing_is_zero_under_every_rule() -> None:
    """An empty answer is an answer: 0, also where missing queries are skipped."""
    report = rf.evaluate({"q1": {"a": 1.0}, "q2": {}}, QRELS, metrics="mrr", missing="skip")
    assert report.value("mrr") == 0.5
    assert per_query(report, "mrr") == {"q1": 1.0, "q2": 0.0}
    assert ledger(report) == {"no_results": (1, ["q2"])}


def test_query_without_judgments_is_left_out_and_counted() -> None:
    """A query of the run that nobody judged changes no value."""
    report = rf.evaluate({"q1": {"a": 1.0}, "q2": {"b": 1.0}, "q3": {"c": 1.0}}, QRELS, metrics="mrr")
    assert report.value("mrr") == 1.0
    assert report.scores["query_id"].to_list() == ["q1", "q2"]
    assert ledger(report) == {"unjudged_query": (1, ["q3"])}


def test_query_that_was_not_asked_is_left_out_and_counted() -> None:
    """`queries` narrows the population for good and bad alike."""
    report = rf.evaluate({"q1": {"a": 1.0}}, QRELS, metrics="mrr", queries=["q1"])
    assert report.value("mrr") == 1.0
    assert per_query(report, "status") == {"q1": "ok", "q2": "not_asked"}
    assert ledger(report) == {"not_asked": (1, ["q2"])}
    with pytest.raises(rf.DataError, match=r"q7.*q1"):
        rf.evaluate({"q1": {"a": 1.0}}, QRELS, queries=["q7"])


EMPTY_RUNS: dict[str, Any] = {
    "frame of nulls": pl.DataFrame({"query_id": [], "doc_id": [], "score": []}),
    "typed frame": pl.DataFrame(schema={"query_id": pl.String, "doc_id": pl.String, "score": pl.Float64}),
    "integer ids": pl.DataFrame(schema={"query_id": pl.Int64, "doc_id": pl.Int32, "score": pl.Int64}),
    "category ids": pl.DataFrame(schema={"query_id": pl.Categorical, "doc_id": pl.Categorical, "score": pl.Float32}),
    "frame with rank": pl.DataFrame({"query_id": [], "doc_id": [], "score": [], "rank": []}),
    "ranks only": pl.DataFrame({"query_id": [], "doc_id": [], "rank": []}),
    "frame with run_id": pl.DataFrame({"query_id": [], "doc_id": [], "score": [], "run_id": []}),
    "lazy": pl.LazyFrame({"query_id": [], "doc_id": [], "score": []}),
    "pandas": pd.DataFrame({"query_id": [], "doc_id": [], "score": []}, dtype=object),
    "arrow": pl.DataFrame({"query_id": [], "doc_id": [], "score": []}).to_arrow(),
    "mapping": {},
    "mapping of nothing": {"q1": {}},
    "mapping of nothing, all": {"q1": {}, "q2": {}},
}


def _all_zero(run: object) -> rf.Report:
    with pytest.warns(rf.RankframeWarning, match="empty"):
        report = rf.evaluate(run, QRELS, metrics=AT_10)
    assert report.summary.select("value", "n", "n_null").rows() == [(0.0, 2, 0)] * 3
    assert report.scores.select("query_id", *AT_10).rows() == [("q1", 0.0, 0.0, 0.0), ("q2", 0.0, 0.0, 0.0)]
    assert report.to_dict()["n_queries"] == 2
    return report


def test_empty_run(tmp_path: Path) -> None:
    """An empty run scores 0 over all judged queries, with a warning: a frame, a file, a mapping."""
    report = _all_zero(pl.DataFrame({"query_id": [], "doc_id": [], "score": []}))
    assert ledger(report) == {"missing_query": (2, ["q1", "q2"])}
    _all_zero(write(tmp_path / "run.txt", ""))
    report = _all_zero({"q1": {}})
    assert ledger(report) == {"missing_query": (1, ["q2"]), "no_results": (1, ["q1"])}


@pytest.mark.parametrize("run", EMPTY_RUNS.values(), ids=EMPTY_RUNS)
def test_empty_run_of_every_form(run: object) -> None:
    """Whatever its columns' dtypes."""
    _all_zero(run)


EMPTY_FILES = {
    "run.trec": "",
    "run.tsv": "",
    "run.jsonl": "",
    "blank.trec": "\n \n",
    "comments.trec": "# nothing found\n",
    "header.csv": "query_id,doc_id,score\n",
    "header.tsv": "query_id\tdoc_id\tscore\n",
    "run.json": "{}",
    "nothing.json": '{"q1": {}}',
    "mark.trec": "\ufeff",
    "crlf.trec": "\r\n",
    "list.json": "[]",
    "line.jsonl": "\n",
}


@pytest.mark.parametrize("how", ["plain", "gzip"])
@pytest.mark.parametrize("name", EMPTY_FILES)
def test_empty_run_file(name: str, how: str, tmp_path: Path) -> None:
    """A file that holds no result, compressed or not."""
    content = EMPTY_FILES[name].encode()
    path = write(tmp_path / name, content) if how == "plain" else write(tmp_path / f"{name}.gz", gzip.compress(content))
    _all_zero(path)


def test_empty_run_files_without_the_header_that_names_columns_are_refused(tmp_path: Path) -> None:
    """A CSV file of 0 bytes has lost its header: the error names the file."""
    with pytest.raises(rf.DataError, match=r"run\.csv.*empty"):
        rf.read_run(write(tmp_path / "run.csv", ""))


@pytest.mark.parametrize("suffix", ["trec", "tsv", "csv", "json", "jsonl", "parquet"])
def test_empty_run_is_read_back_as_written(suffix: str, tmp_path: Path) -> None:
    """A run without rows survives every format."""
    run = rf.read_run({})
    rf.write_run(run, tmp_path / f"run.{suffix}")
    back = rf.read_run(tmp_path / f"run.{suffix}")
    assert back.select("query_id", "doc_id", "score").rows() == []
    assert back.select("query_id", "doc_id", "score").schema == run.schema


def test_empty_run_where_missing_queries_are_left_out() -> None:
    """Nothing is left to average then: no value, and never NaN in the scores."""
    with pytest.warns(rf.RankframeWarning, match="empty"):
        report = rf.evaluate({}, QRELS, metrics="mrr", missing="skip")
    assert report.summary.select("value", "n", "n_null").rows() == [(None, 0, 2)]
    assert report.scores["mrr"].to_list() == [None, None]


def test_empty_run_beside_a_full_one() -> None:
    """The warning names the run; the other one is scored as ever."""
    with pytest.warns(rf.RankframeWarning, match="'crashed' is empty"):
        report = rf.evaluate({"crashed": {}, "full": {"q1": {"a": 1.0}}}, QRELS, metrics="mrr")
    assert report.summary.select("run_id", "value").rows() == [("crashed", 0.0), ("full", 0.5)]


@pytest.mark.parametrize(
    "qrels",
    [{}, {"q1": {}}, pl.DataFrame({"query_id": [], "doc_id": [], "relevance": []})],
    ids=["{}", "q1", "frame"],
)
def test_empty_qrels_are_an_error(qrels: object) -> None:
    """There is nothing to score against."""
    with pytest.raises(rf.DataError, match="no judgments"):
        rf.evaluate({"q1": {"a": 1.0}}, qrels)


def test_empty_qrels_file_is_an_error(tmp_path: Path) -> None:
    """The error names the file."""
    with pytest.raises(rf.DataError, match=r"qrels\.txt.*no judgments"):
        rf.evaluate({"q1": {"a": 1.0}}, write(tmp_path / "qrels.txt", ""))


def test_no_common_query_ids() -> None:
    """Not one query in common is an id mistake: an error that shows ids of both sides."""
    qrels = {"12.1": {"a": 1}, "13.1": {"b": 1}}
    with pytest.raises(rf.DataError, match=r"no query in common.*'12', '13'.*'12\.1', '13\.1'"):
        rf.evaluate({"12": {"a": 1.0}, "13": {"b": 1.0}}, qrels)


@pytest.mark.parametrize("convention", ["documented", "trec_eval", "trec_eval_c", "ir_measures", "beir"])
def test_no_common_query_ids_under_every_convention(convention: str) -> None:
    """Also where missing queries would be left out, which would leave none."""
    with pytest.raises(rf.DataError, match="no query in common"):
        rf.evaluate({"x": {"a": 1.0}}, QRELS, convention=convention)


def test_no_common_query_ids_in_one_run_of_several() -> None:
    """The error names the run."""
    runs = {"good": {"q1": {"a": 1.0}}, "wrong": {"Q1": {"a": 1.0}, "Q2": {"b": 1.0}}}
    with pytest.raises(rf.DataError, match=r"'wrong'.*'Q1', 'Q2'.*'q1', 'q2'"):
        rf.evaluate(runs, QRELS)


@pytest.mark.parametrize(
    ("mine", "theirs"),
    [
        ("0012", "12"),
        ("q1 ", "q1"),
        ("Q1", "q1"),
        ("caf\u00e9", "cafe\u0301"),
        ("1.0", "1"),
        ("\ufeffq1", "q1"),
    ],
)
def test_no_common_query_ids_of_ids_that_look_alike(mine: str, theirs: str) -> None:
    """Near misses are shown so that they can be told apart: quoted."""
    with pytest.raises(rf.DataError, match="no query in common") as caught:
        rf.evaluate({mine: {"a": 1.0}}, {theirs: {"a": 1}})
    assert repr(mine) in str(caught.value)
    assert repr(theirs) in str(caught.value)


def test_no_common_query_ids_of_a_file_names_it(tmp_path: Path) -> None:
    """Where the run came from a file, the error says which."""
    run = write(tmp_path / "bm25.trec", "x Q0 a 1 1.0 t\n")
    with pytest.raises(rf.DataError, match=r"bm25\.trec.*no query in common"):
        rf.evaluate(run, QRELS)


DANGLING = {"q1": {"a": 1, "ghost": 1}}
A_AND_B: dict[str, Any] = {
    "ids": ["a", "b"],
    "series": pl.Series(["a", "b"]),
    "frame": pl.DataFrame({"doc_id": ["a", "b"], "text": ["t", "t"]}),
    "lazy": pl.LazyFrame({"_id": ["a", "b"], "text": ["t", "t"]}),
    "pandas": pd.DataFrame({"docno": ["a", "b"]}),
    "texts": {"a": "t", "b": "t"},
    "records": [{"_id": "a", "text": "t"}, {"_id": "b", "text": "t"}],
}


@pytest.mark.parametrize("corpus", A_AND_B.values(), ids=A_AND_B)
def test_dangling_relevant_doc(corpus: object) -> None:
    """A relevant document that does not exist stays in the denominator; given a corpus it is counted."""
    run = {"q1": {"a": 2.0, "b": 1.0}}
    report = rf.evaluate(run, DANGLING, metrics=["recall@10", "ndcg@10"], corpus=corpus)
    assert report.value("recall@10") == 0.5
    assert report.value("ndcg@10") == pytest.approx(0.6131471928)
    assert ledger(report) == {"not_in_corpus": (1, ["ghost"])}


def test_dangling_relevant_doc_without_a_corpus(tmp_path: Path) -> None:
    """The values are the same; nothing can be said of the document. A path is a corpus as well."""
    run = {"q1": {"a": 2.0, "b": 1.0}}
    report = rf.evaluate(run, DANGLING, metrics=["recall@10"])
    assert report.value("recall@10") == 0.5
    assert ledger(report) == {}
    corpus = write(tmp_path / "corpus.jsonl", '{"_id": "a", "text": "t"}\n{"_id": "b", "text": "t"}\n')
    assert ledger(rf.evaluate(run, DANGLING, corpus=corpus)) == {"not_in_corpus": (1, ["ghost"])}


def test_dangling_documents_are_counted_once_each() -> None:
    """However many queries judge them, and whatever their grade; five are shown."""
    qrels = {f"q{i}": {f"ghost{d}": d % 2 for d in range(7)} for i in range(3)}
    report = rf.evaluate({"q0": {"x": 1.0}}, qrels, corpus=["x"])
    assert ledger(report)["not_in_corpus"] == (7, [f"ghost{d}" for d in range(5)])


def test_unjudged_docs() -> None:
    """Unjudged documents keep their places, not relevant; without them is another metric, by name."""
    qrels = {"q1": {"a": 1, "b": 0}}
    run = {"q1": {"u1": 5.0, "a": 4.0, "u2": 3.0, "b": 2.0}}
    right = {
        "ndcg@3": 0.6309297536,
        "mrr@3": 0.5,
        "judged@3": 1 / 3,
        "ndcg(judged_only=true)@3": 1.0,
        "mrr(judged_only=true)@3": 1.0,
    }
    assert scored(run, qrels, *right) == pytest.approx(right)
    assert rf.evaluate(run, qrels, metrics="mrr@3").scores["n_judged"].to_list() == [2]


def test_unjudged_docs_on_request_leave_nothing_to_score() -> None:
    """A list without any judged document is empty once condensed: 0 everywhere."""
    metrics = [f"{name}(judged_only=true)@3" for name in ("ndcg", "mrr", "precision", "recall", "map")]
    assert scored({"q1": {"u1": 2.0, "u2": 1.0}}, {"q1": {"a": 1}}, *metrics) == dict.fromkeys(metrics, 0.0)


def test_unjudged_docs_share() -> None:
    """judged@k is over the documents that came back, unjudged@k over k places: not complements."""
    run, qrels = {"q1": {"u1": 2.0, "a": 1.0}}, {"q1": {"a": 1, "b": 0}}
    right = {
        "judged@1": 0.0,
        "judged@2": 0.5,
        "judged@10": 0.5,
        "unjudged@1": 1.0,
        "unjudged@10": 0.1,
        "judged": 0.5,
    }
    assert scored(run, qrels, *right) == pytest.approx(right)


def test_unjudged_docs_in_another_query_are_unjudged() -> None:
    """A document judged for one query is not thereby judged for another."""
    run = {"q1": {"a": 1.0}, "q2": {"a": 2.0, "b": 1.0}}
    report = rf.evaluate(run, QRELS, metrics=["judged@2", "mrr"])
    assert per_query(report, "judged@2") == {"q1": 1.0, "q2": 0.5}
    assert per_query(report, "mrr") == {"q1": 1.0, "q2": 0.5}
