"""A run is ordered by its scores: what that order is, what it is not, and which scores are refused."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import rankframe as rf
from rankframe.evaluation import evaluate_retrieval

from .helpers import FORMS, ledger, run_as, scored, write

NAN = float("nan")
NULLABLE = tuple(form for form in FORMS if form != "mapping")
"""Forms in which an id can be null."""


# The same document twice.


def test_dup_in_run_file(tmp_path: Path) -> None:
    """The pair is refused by file, query and document; on request its best score counts, once."""
    qrels = write(tmp_path / "qrels.txt", "q1 0 a 1\nq1 0 b 1\n")
    run = write(tmp_path / "run.txt", "q1 Q0 a 1 3.0 t\nq1 Q0 b 2 2.0 t\nq1 Q0 a 3 1.0 t\n")
    metrics = ["recall@3", "precision@3", "map@3", "ndcg@3"]
    with pytest.raises(rf.DataError, match=r'run\.txt.* 1 .*more than once.*q1.*a.*duplicates="best"'):
        rf.evaluate(run, qrels, metrics=metrics)
    report = rf.evaluate(run, qrels, metrics=metrics, duplicates="best")
    values = {metric: report.value(metric) for metric in metrics}
    assert values == {"recall@3": 1.0, "precision@3": pytest.approx(2 / 3), "map@3": 1.0, "ndcg@3": 1.0}
    assert ledger(report)["duplicate_dropped"] == (1, ["(q1, a)"])


@pytest.mark.parametrize("form", NULLABLE)
def test_dup_in_run_of_every_form(form: str, tmp_path: Path) -> None:
    """Every form is checked, whether the pair is judged or not, and however far apart its rows stand."""
    rows = [("q1", f"d{i:04d}", 1000.0 - i) for i in range(1000)]
    rows += [("q1", "d0000", 0.5), ("q2", "d0000", 1.0), ("q9", "x", 1.0), ("q9", "x", 1.0)]
    run = run_as(form, rows, tmp_path)
    qrels = {"q1": {"d0500": 1}, "q2": {"d0000": 1}}
    with pytest.raises(rf.DataError, match=r'2 .*more than once.*q1, d0000.*q9, x.*duplicates="best"'):
        rf.evaluate(run, qrels)
    report = rf.evaluate(run, qrels, metrics=["mrr", "num_ret"], duplicates="best")
    assert report.scores["n_ret"].to_list() == [1000, 1]
    assert report.scores["mrr"].to_list() == [1 / 501, 1.0]
    assert ledger(report)["duplicate_dropped"][0] == 2


def test_dup_in_run_of_keys_that_are_one_id() -> None:
    """7 and "7" are one document, so a mapping may hold it twice."""
    run: dict[str, dict[Any, float]] = {"q1": {7: 1.0, "8": 3.0, "7": 2.0}}
    with pytest.raises(rf.DataError, match="q1, 7"):
        rf.evaluate(run, {"q1": {"7": 1}})
    assert scored(run, {"q1": {"7": 1}}, "mrr", "precision@2", duplicates="best") == {
        "mrr": 0.5,
        "precision@2": 0.5,
    }


def test_dup_in_run_keeps_the_best_of_many() -> None:
    """Three and more rows of one pair leave the best one and count the rest; five examples are shown."""
    rows = [("q1", f"d{i}", float(i + 10 * turn)) for turn in range(3) for i in range(7)]
    run = run_as("frame", rows, Path())
    qrels = {"q1": {"d0": 1}}
    with pytest.raises(rf.DataError, match=r"7 .*q1, d4.* and 2 more"):
        rf.evaluate(run, qrels)
    report = rf.evaluate(run, qrels, metrics=["mrr", "precision@7"], duplicates="best")
    assert (report.value("mrr"), report.value("precision@7")) == (1 / 7, 1 / 7)
    count, examples = ledger(report)["duplicate_dropped"]
    assert count == 14
    assert len(examples) == 5


def test_dup_in_run_is_per_run_and_query() -> None:
    """The same document for two queries, or of two runs, is no duplicate."""
    run = pl.DataFrame({"query_id": ["q1", "q2"], "doc_id": ["a", "a"], "score": [1.0, 1.0]})
    report = rf.evaluate({"one": run, "two": run}, {"q1": {"a": 1}, "q2": {"a": 1}}, metrics="mrr")
    assert report.summary["value"].to_list() == [1.0, 1.0]
    stacked = pl.concat([run.with_columns(run_id=pl.lit(name)) for name in ("one", "two")])
    assert rf.evaluate(stacked, {"q1": {"a": 1}}, metrics="mrr").runs == ["one", "two"]


# The order is the score.


@pytest.fixture
def by_rank() -> pl.DataFrame:
    """2,000 documents with ranks from 1 and no scores, best first."""
    return pl.DataFrame(
        {"query_id": ["q1"] * 2000, "doc_id": [f"d{i:04d}" for i in range(2000)], "rank": range(1, 2001)}
    )


AT_1500 = {"recall@1499": 0.0, "recall@1500": 1.0, "mrr@2000": 1 / 1500}


def _is_strictly_decreasing(scores: pl.Series) -> bool:
    return scores.is_sorted(descending=True) and scores.n_unique() == len(scores)


def test_results_without_scores() -> None:
    """A retriever's list is its ranking: scores are made up that say so, over the whole list."""
    results = {"q1": [f"d{i:04d}" for i in range(2000)]}
    qrels = {"q1": {"d1499": 1}}
    report = evaluate_retrieval(
        results.__getitem__, qrels, {"q1": "q1"}, k_values=(1499, 1500, 2000), metrics=("recall", "mrr")
    )
    right = {"recall@1499": 0.0, "recall@1500": 1.0, "mrr@2000": 0.0006666667}
    assert {name: report.metrics[name] for name in right} == pytest.approx(right)
    run = rf.retrieve(results.__getitem__, {"q1": "q1"}, limit=2000).run
    assert run.columns == ["query_id", "doc_id", "score"]
    assert results["q1"] == run["doc_id"].to_list()
    assert _is_strictly_decreasing(run["score"])
    assert _is_strictly_decreasing(run["score"].cast(pl.Float32))


WRITABLE = ("trec", "tsv", "csv", "json", "jsonl", "parquet", "trec.gz", "csv.zst")


@pytest.mark.parametrize("width", [pl.Float64, pl.Float32], ids=str)
@pytest.mark.parametrize("suffix", WRITABLE)
def test_results_without_scores_after_files(suffix: str, width: type[pl.DataType], tmp_path: Path) -> None:
    """Of two retrieved lists each keeps its order through every format, in single precision too."""
    results = {"q1": [f"d{i:04d}" for i in range(2000)], "q2": [f"d{i:04d}" for i in reversed(range(2000))]}
    run = rf.retrieve(results.__getitem__, {"q1": "q1", "q2": "q2"}, limit=2000).run
    path = tmp_path / f"run.{suffix}"
    rf.write_run(run.with_columns(pl.col("score").cast(width)), path)
    back = rf.read_run(path)
    for query, docs in results.items():
        ranked = back.filter(query_id=query).sort("score", descending=True)
        assert ranked["doc_id"].to_list() == docs
        assert _is_strictly_decreasing(ranked["score"])
        assert _is_strictly_decreasing(ranked["score"].cast(pl.Float32))
    assert scored(path, {"q1": {"d1499": 1}}, *AT_1500) == pytest.approx(AT_1500)
    assert scored(path, {"q2": {"d0500": 1}}, *AT_1500) == pytest.approx(AT_1500)


def test_results_without_scores_after_a_file_of_the_retrieval(tmp_path: Path) -> None:
    """Which is scored as it is."""
    results = {"q1": [f"d{i:04d}" for i in range(2000)]}
    found = rf.retrieve(results.__getitem__, {"q1": "q1"}, limit=2000)
    found.write_parquet(tmp_path / "found.parquet")
    assert scored(tmp_path / "found.parquet", {"q1": {"d1499": 1}}, *AT_1500) == pytest.approx(AT_1500)
    assert rf.read_retrieval(tmp_path / "found.parquet").run.equals(found.run)


UNSCORED: dict[str, Callable[[list[str]], Any]] = {
    "list": list,
    "tuple": tuple,
    "generator": iter,
    "numpy": np.array,
    "series": pl.Series,
    "pandas series": pd.Series,
    "pairs with None": lambda docs: [(doc, None) for doc in docs],
    "mappings": lambda docs: [{"id": doc} for doc in docs],
    "frame": lambda docs: pl.DataFrame({"doc_id": docs}),
    "frame of nulls": lambda docs: pl.DataFrame({"doc_id": docs, "score": [None] * len(docs)}),
    "frame with ranks": lambda docs: pl.DataFrame({"doc_id": docs[::-1], "rank": range(len(docs), 0, -1)}),
    "pandas": lambda docs: pd.DataFrame({"doc_id": docs}),
    "equal scores": lambda docs: [(doc, 1.0) for doc in docs],
    "one score missing": lambda docs: [(doc, None if i == 7 else 2000.0 - i) for i, doc in enumerate(docs)],
    "NaN": lambda docs: [(doc, NAN if i == 7 else 2000.0 - i) for i, doc in enumerate(docs)],
}


@pytest.mark.parametrize("form", UNSCORED)
def test_results_without_scores_that_say_their_order(form: str, tmp_path: Path) -> None:
    """Missing, equal or NaN in every form: the list is the ranking, and what was given as scores is kept beside it."""
    docs = [f"d{i:04d}" for i in range(2000)]
    run = rf.retrieve(lambda _: UNSCORED[form](docs), {"q1": "red kite"}, limit=2000).run
    assert run["doc_id"].to_list() == docs
    assert _is_strictly_decreasing(run["score"].cast(pl.Float32))
    assert ("retriever_score" in run.columns) == (form in ("equal scores", "one score missing", "NaN"))
    rf.write_run(run, tmp_path / "run.trec", columns="drop")
    assert scored(tmp_path / "run.trec", {"q1": {"d1499": 1}}, *AT_1500) == pytest.approx(AT_1500)


def test_results_without_scores_in_a_frame(by_rank: pl.DataFrame, tmp_path: Path) -> None:
    """Ranks without scores are the ranking, over the whole list, in Float32, and after files."""
    qrels = {"q1": {"d1499": 1}}
    assert scored(by_rank, qrels, *AT_1500) == pytest.approx(AT_1500)
    run = rf.read_run(by_rank)
    assert run["score"].to_list() == [-float(rank) for rank in range(1, 2001)]
    narrow = run.drop("rank").with_columns(pl.col("score").cast(pl.Float32))
    assert narrow["score"].n_unique() == 2000
    assert scored(narrow, qrels, *AT_1500) == pytest.approx(AT_1500)
    rf.write_run(run, tmp_path / "run.trec")
    assert scored(tmp_path / "run.trec", qrels, *AT_1500) == pytest.approx(AT_1500)
    rf.write_run(narrow, tmp_path / "narrow.trec")
    assert scored(tmp_path / "narrow.trec", qrels, *AT_1500) == pytest.approx(AT_1500)


@pytest.mark.parametrize("form", NULLABLE)
def test_results_without_scores_in_every_form(form: str, by_rank: pl.DataFrame, tmp_path: Path) -> None:
    """A rank column stands for the score in every form, in any row order and from any first rank."""
    rows = by_rank.rows()
    random.Random(0).shuffle(rows)
    run = run_as(form, [(query, doc, rank - 1) for query, doc, rank in rows], tmp_path, "rank")
    assert scored(run, {"q1": {"d1499": 1}}, *AT_1500) == pytest.approx(AT_1500)


@pytest.mark.parametrize("dtype", [pl.Int32, pl.UInt16, pl.Float64, pl.String], ids=str)
def test_results_without_scores_for_ranks_of_any_dtype(dtype: type[pl.DataType], by_rank: pl.DataFrame) -> None:
    """Unsigned ranks do not wrap when they are negated; text ranks are parsed."""
    run = by_rank.with_columns(pl.col("rank").cast(dtype))
    assert scored(run, {"q1": {"d1499": 1}}, *AT_1500) == pytest.approx(AT_1500)


def test_results_without_scores_in_three_columns(by_rank: pl.DataFrame, tmp_path: Path) -> None:
    """Three columns without a header are ambiguous and refused, until the caller says what they are."""
    path = write(tmp_path / "run.tsv", by_rank.write_csv(separator="\t", include_header=False))
    with pytest.raises(rf.DataError, match=r'rank or in a score.*format="msmarco".*columns='):
        rf.read_run(path)
    assert scored(rf.read_run(path, format="msmarco"), {"q1": {"d1499": 1}}, *AT_1500) == pytest.approx(AT_1500)
    named = rf.read_run(path, columns=["query_id", "doc_id", "rank"])
    assert scored(named, {"q1": {"d1499": 1}}, *AT_1500) == pytest.approx(AT_1500)
    reversed_ = rf.read_run(path, columns=["query_id", "doc_id", "score"])
    assert scored(reversed_, {"q1": {"d1499": 1}}, "mrr") == {"mrr": pytest.approx(1 / 501)}


def test_results_without_scores_or_ranks_are_refused() -> None:
    """A frame with neither says nothing of an order; the error names the column that is missing."""
    with pytest.raises(rf.DataError, match="no column 'score'"):
        rf.read_run(pl.DataFrame({"query_id": ["q1"], "doc_id": ["a"]}))


def test_results_without_scores_with_a_missing_rank_are_refused() -> None:
    """A null rank is a null score: refused with its query and document."""
    run = pl.DataFrame({"query_id": ["q1", "q1"], "doc_id": ["a", "b"], "rank": [1, None]})
    with pytest.raises(rf.DataError, match=r'1 null.*\(q1, b\).*invalid="drop"'):
        rf.read_run(run)


def test_rank_column_contradicts_score(tmp_path: Path) -> None:
    """The score orders the run, and the ledger counts the queries that disagree with their ranks."""
    qrels = write(tmp_path / "qrels.txt", "q1 0 good 1\n")
    run = write(tmp_path / "run.txt", "q1 Q0 good 1 1.59 t\nq1 Q0 x1 2 1.98 t\nq1 Q0 x2 3 1.95 t\n")
    report = rf.evaluate(run, qrels, metrics="mrr@3")
    assert report.value("mrr@3") == pytest.approx(1 / 3)
    assert ledger(report)["rank_contradicts_score"] == (1, ["q1"])


CONCATENATED = pl.DataFrame(
    {
        "query_id": ["q1", "q1", "q2", "q2", "q3", "q3"],
        "doc_id": ["a", "b", "a", "b", "a", "b"],
        "score": [1.0, 2.0, 2.0, 1.0, 1.0, 1.0],
        "rank": [1, 2, 1, 2, 1, 2],
    }
)


@pytest.mark.parametrize("suffix", ["frame", "pandas", "csv", "tsv", "jsonl", "parquet"])
def test_rank_column_contradicts_score_in_every_form(suffix: str, tmp_path: Path) -> None:
    """Only the query that disagrees is counted: q2 agrees, and in q3 a tie leaves nothing to contradict."""
    path = tmp_path / f"run.{suffix}"
    run: Any = path
    match suffix:
        case "frame":
            run = CONCATENATED
        case "pandas":
            run = CONCATENATED.to_pandas()
        case "csv":
            CONCATENATED.write_csv(path)
        case "tsv":
            CONCATENATED.write_csv(path, separator="\t")
        case "jsonl":
            CONCATENATED.write_ndjson(path)
        case "parquet":
            CONCATENATED.write_parquet(path)
    qrels = {query: {"b": 1} for query in ("q1", "q2", "q3")}
    report = rf.evaluate(run, qrels, metrics="mrr")
    assert report.scores["mrr"].to_list() == [1.0, 0.5, 1.0]
    assert ledger(report)["rank_contradicts_score"] == (1, ["q1"])


def test_rank_column_contradicts_score_beside_a_query_without_ranks() -> None:
    """A rank that is missing elsewhere does not hide a query that disagrees."""
    run = CONCATENATED.with_columns(rank=pl.when(pl.col("query_id") != "q3").then(pl.col("rank")))
    report = rf.evaluate(run, {query: {"b": 1} for query in ("q1", "q2", "q3")}, metrics="mrr")
    assert ledger(report)["rank_contradicts_score"] == (1, ["q1"])


def test_rank_column_all_zero(tmp_path: Path) -> None:
    """Equal ranks say nothing: the score orders the run, and there is nothing to report."""
    run = write(tmp_path / "run.txt", "q1 Q0 a 0 0.3 beir\nq1 Q0 b 0 0.8 beir\nq1 Q0 c 0 0.5 beir\n")
    report = rf.evaluate(run, write(tmp_path / "qrels.txt", "q1 0 b 1\n"), metrics="mrr@3")
    assert report.value("mrr@3") == 1.0
    assert ledger(report) == {}


@pytest.mark.parametrize("ranks", ["1 1 1", "3 2 1", "-1 0 7", "0 1 2", "9 9 2"])
def test_rank_column_of_any_content_does_not_order(ranks: str, tmp_path: Path) -> None:
    """No rank column moves a document: the order is b, c, a, and c is second."""
    docs = zip("abc", (0.3, 0.8, 0.5), ranks.split(), strict=True)
    run = write(tmp_path / "run.txt", "".join(f"q1 Q0 {doc} {rank} {score} t\n" for doc, score, rank in docs))
    assert scored(run, {"q1": {"c": 1}}, "mrr@3") == {"mrr@3": 0.5}


def test_rank_column_that_is_no_number_is_malformed(tmp_path: Path) -> None:
    """A rank that is text is refused with its line: a field of the line is missing or out of place."""
    run = write(tmp_path / "run.txt", "q1 Q0 a 1 2.0 t\nq1 Q0 b second 1.0 t\n")
    with pytest.raises(rf.DataError, match=r'run\.txt.*line 2.*rank.*invalid="drop"'):
        rf.read_run(run)


DISTANCES = {
    "q1": [("near", 0.1), ("mid", 0.8), ("far", 1.9)],
    "q2": [("n2", 0.2), ("m2", 0.5), ("f2", 1.1)],
}
NEAREST = {"q1": {"near": 1}, "q2": {"n2": 1}}
ASKED = {"q1": "q1", "q2": "q2"}


def test_scores_are_distances() -> None:
    """A retriever's order is its ranking, though its numbers rise down its list; they are kept beside it."""
    report = evaluate_retrieval(DISTANCES.__getitem__, NEAREST, ASKED, k_values=(3,), metrics=("mrr",))
    assert report.metrics == {"mrr@3": 1.0}
    run = rf.retrieve(DISTANCES.__getitem__, ASKED).run
    assert run["score"].to_list() == 2 * [-1.0, -2.0, -3.0]
    assert run["retriever_score"].to_list() == [0.1, 0.8, 1.9, 0.2, 0.5, 1.1]


@pytest.mark.parametrize("suffix", WRITABLE)
def test_scores_are_distances_after_files(suffix: str, tmp_path: Path) -> None:
    """What is written is the ranking."""
    run = rf.retrieve(DISTANCES.__getitem__, ASKED).run
    rf.write_run(run, tmp_path / f"run.{suffix}", columns="drop")
    assert scored(tmp_path / f"run.{suffix}", NEAREST, "mrr@3") == {"mrr@3": 1.0}


RISING: dict[str, Callable[[list[tuple[str, float]]], Any]] = {
    "pairs": list,
    "lists": lambda hits: [list(hit) for hit in hits],
    "generator": iter,
    "mappings": lambda hits: [{"id": doc, "distance": far} for doc, far in hits],
    "frame": lambda hits: pl.DataFrame(hits, schema=["doc_id", "score"], orient="row"),
    "pandas": lambda hits: pd.DataFrame(hits, columns=["doc_id", "score"]),
    "chroma": lambda hits: {"ids": [[doc for doc, _ in hits]], "distances": [[far for _, far in hits]]},
}


@pytest.mark.parametrize("offset", [0.0, -5.0], ids=["positive", "negative"])
@pytest.mark.parametrize("form", RISING)
def test_scores_are_distances_in_every_form(form: str, offset: float) -> None:
    """Nearest first stays first, whatever holds the numbers and their sign."""

    def retriever(query: str) -> Any:
        return RISING[form]([(doc, far + offset) for doc, far in DISTANCES[query]])

    report = evaluate_retrieval(retriever, NEAREST, ASKED, k_values=(3,), metrics=("mrr",))
    assert report.metrics == {"mrr@3": 1.0}


def test_scores_are_distances_for_some_queries() -> None:
    """Each query has its order: one of rising numbers leaves the scores of another as they are."""
    results = {"q1": DISTANCES["q1"], "q2": [("n2", 0.9), ("m2", 0.5)]}
    run = rf.retrieve(results.__getitem__, ASKED).run
    assert run["score"].to_list() == [-1.0, -2.0, -3.0, 0.9, 0.5]
    assert run["doc_id"].to_list() == ["near", "mid", "far", "n2", "m2"]


def test_scores_without_an_order_are_scores() -> None:
    """A mapping {id: score} has none: there the higher score is the better one."""
    run = rf.retrieve(lambda _: {"far": 0.1, "near": 0.9}, {"q1": "red kite"}).run
    assert run.rows() == [("q1", "near", 0.9), ("q1", "far", 0.1)]


def test_scores_that_run_against_ranks_in_a_frame() -> None:
    """In a frame the score rules; where ranks run against it, the ledger says so for every query."""
    run = pl.DataFrame(
        {
            "query_id": ["q1"] * 3 + ["q2"] * 3,
            "doc_id": ["near", "mid", "far", "n2", "m2", "f2"],
            "score": [0.1, 0.8, 1.9, 0.2, 0.5, 1.1],
            "rank": [1, 2, 3, 1, 2, 3],
        }
    )
    qrels = {"q1": {"near": 1}, "q2": {"n2": 1}}
    report = rf.evaluate(run, qrels, metrics="mrr@3")
    assert report.value("mrr@3") == pytest.approx(1 / 3)
    assert ledger(report)["rank_contradicts_score"] == (2, ["q1", "q2"])
    assert scored(run.drop("score"), qrels, "mrr@3") == {"mrr@3": 1.0}
    assert scored(run.with_columns(-pl.col("score")), qrels, "mrr@3") == {"mrr@3": 1.0}


@pytest.mark.parametrize("form", FORMS)
def test_order_of_rows_does_not_matter(form: str, tmp_path: Path) -> None:
    """Rows of several queries in any order give one ranking: by score, ties by document id descending."""
    rows = [(f"q{q}", f"d{d:02d}", float(d // 2)) for q in range(5) for d in range(40)]
    qrels = {f"q{q}": {f"d{10 + q:02d}": 1} for q in range(5)}
    expected = [1 / (40 - 10 - q) for q in range(5)]
    for seed in range(3):
        random.Random(seed).shuffle(rows)
        if form == "mapping":
            rows.sort(key=lambda row: row[0])
        report = rf.evaluate(run_as(form, rows, tmp_path), qrels, metrics="mrr")
        assert report.scores["mrr"].to_list() == pytest.approx(expected)


def test_infinite_scores_are_ordered_like_any_number(tmp_path: Path) -> None:
    """Infinity is first, minus infinity last, from a mapping and from TREC text."""
    run = {"q1": {"low": -math.inf, "mid": 0.0, "high": math.inf}}
    lines = "q1 Q0 low 3 -inf t\nq1 Q0 mid 2 0 t\nq1 Q0 high 1 inf t\n"
    for source in (run, write(tmp_path / "run.txt", lines)):
        for doc, value in (("high", 1.0), ("mid", 1 / 2), ("low", 1 / 3)):
            assert scored(source, {"q1": {doc: 1}}, "mrr@3") == {"mrr@3": value}


# Scores and ids that are none.


def test_nan_score() -> None:
    """NaN is refused with its query and document; dropped on request, it never ranks first."""
    run = {"q1": {"a": 0.9, "b": NAN, "c": 0.1}}
    with pytest.raises(rf.DataError, match=r'1 NaN score.*\(q1, b\).*invalid="drop"'):
        rf.evaluate(run, {"q1": {"a": 1}}, metrics="mrr@3")
    report = rf.evaluate(run, {"q1": {"a": 1}}, metrics="mrr@3", invalid="drop")
    assert report.value("mrr@3") == 1.0
    assert ledger(report)["invalid_dropped"] == (1, ["(q1, b)"])


def test_null_score() -> None:
    """A null score is refused with its query and document; dropped on request, it never ranks first."""
    run = pl.DataFrame({"query_id": ["q1"] * 3, "doc_id": ["a", "b", "c"], "score": [0.9, None, 0.1]})
    with pytest.raises(rf.DataError, match=r'1 null score.*\(q1, b\).*invalid="drop"'):
        rf.evaluate(run, {"q1": {"a": 1}}, metrics="mrr@3")
    report = rf.evaluate(run, {"q1": {"a": 1}}, metrics="mrr@3", invalid="drop")
    assert report.value("mrr@3") == 1.0
    assert ledger(report)["invalid_dropped"] == (1, ["(q1, b)"])
    assert run["score"].to_list() == [0.9, None, 0.1]


def _with_bad_row(column: str, bad: Any) -> list[tuple[Any, ...]]:
    row: dict[str, Any] = {"query_id": "q1", "doc_id": "b", "number": 0.5}
    row[column] = bad
    return [("q1", "a", 1.0), tuple(row.values()), ("q1", "c", 2.0)]


BAD = [
    *((form, "number", value) for form in FORMS for value in (None, NAN)),
    *((form, column, None) for form in FORMS for column in ("query_id", "doc_id")),
]
BAD_IDS = [f"{form}-{column}-{value}" for form, column, value in BAD]


def _nothing(form: str, value: Any) -> str:
    """What a missing number is called: pandas knows only NaN, which it exports as null."""
    return "null|NaN" if form == "pandas" else "NaN" if isinstance(value, float) else "null"


@pytest.mark.parametrize(("form", "column", "bad"), BAD, ids=BAD_IDS)
def test_null_and_nan_in_any_column_of_a_run(form: str, column: str, bad: Any, tmp_path: Path) -> None:
    """A null or NaN in each column of each form is refused by column, place and remedy; the remedy works."""
    run = run_as(form, _with_bad_row(column, bad), tmp_path)
    name = "score" if column == "number" else column
    nothing = "None|null" if form == "mapping" and column != "number" else _nothing(form, bad)
    with pytest.raises(rf.DataError, match=rf"({nothing}).*{name}|{name}.*({nothing})") as caught:
        rf.read_run(run)
    assert 'invalid="drop"' in str(caught.value)
    if column == "number":  # a table's row without its number is a line that ends too early
        place = r"line 3 (2 fields): 'q1\tb'" if (form, bad) == ("tsv", None) else "(q1, b)"
        assert place in str(caught.value)
    report = rf.evaluate(run, {"q1": {"a": 1}}, metrics=["mrr", "num_ret"], invalid="drop")
    assert (report.value("mrr"), report.value("num_ret")) == (0.5, 2.0)
    assert ledger(report)["invalid_dropped"][0] == 1
    with pytest.warns(rf.RankframeWarning, match="1"):
        assert rf.read_run(run, invalid="drop")["doc_id"].to_list() == ["a", "c"]


@pytest.mark.parametrize(("form", "column", "bad"), BAD, ids=BAD_IDS)
def test_null_and_nan_in_any_column_of_qrels(form: str, column: str, bad: Any, tmp_path: Path) -> None:
    """Judgments are held to the same: refused by column, place and remedy; the remedy works."""
    qrels = run_as(form, _with_bad_row(column, bad), tmp_path, "relevance")
    name = "relevance" if column == "number" else column
    nothing = "None|null" if form == "mapping" and column != "number" else _nothing(form, bad)
    with pytest.raises(rf.DataError, match=rf"({nothing}).*{name}|{name}.*({nothing})") as caught:
        rf.read_qrels(qrels)
    assert 'invalid="drop"' in str(caught.value)
    if column == "number":  # a table's row without its number is a line that ends too early
        place = r"line 3 (2 fields): 'q1\tb'" if (form, bad) == ("tsv", None) else "(q1, b)"
        assert place in str(caught.value)
    report = rf.evaluate({"q1": {"a": 1.0}}, qrels, metrics=["mrr", "num_rel"], invalid="drop")
    assert (report.value("mrr"), report.value("num_rel")) == (1.0, 2.0)
    assert ledger(report)["invalid_dropped"][0] == 1


@pytest.mark.parametrize("number", ["score", "relevance"])
@pytest.mark.parametrize("form", FORMS)
def test_numbers_that_are_text(form: str, number: str, tmp_path: Path) -> None:
    """A score or grade that is no number is refused by column, value and place; the remedy works."""
    rows: list[tuple[Any, ...]] = [("q1", "a", 1.0), ("q1", "b", "high"), ("q1", "c", 2.0)]
    if form in ("frame", "lazy", "pandas", "arrow", "parquet"):
        rows = [(query, doc, str(value)) for query, doc, value in rows]
    source = run_as(form, rows, tmp_path, number)
    reader = rf.read_run if number == "score" else rf.read_qrels
    with pytest.raises(rf.DataError, match=f"{number}.*high|high.*{number}") as caught:
        reader(source)
    told = str(caught.value)
    assert "q1, b" in told or "'q1', document 'b'" in told or "line 3" in told or "line 2" in told
    assert 'invalid="drop"' in told
    with pytest.warns(rf.RankframeWarning, match="1"):
        assert reader(source, invalid="drop").rows() == [("q1", "a", 1.0), ("q1", "c", 2.0)]


def test_nan_score_in_trec_text(tmp_path: Path) -> None:
    """NaN in a TREC file is refused with its line; several are counted and five of them shown."""
    run = write(tmp_path / "run.txt", "q1 Q0 a 1 0.9 t\nq1 Q0 b 2 nan t\n")
    with pytest.raises(rf.DataError, match=r'run\.txt.*1 NaN score.*\(q1, b\) on line 2.*invalid="drop"'):
        rf.read_run(run)
    many = write(tmp_path / "many.txt", "".join(f"q1 Q0 d{i} 1 NaN t\n" for i in range(8)))
    with pytest.raises(rf.DataError, match=r"8 NaN score.*d4\) on line 5 and 3 more"):
        rf.read_run(many)


@pytest.mark.parametrize("grade", [NAN, math.inf, -math.inf], ids=str)
def test_grades_that_are_not_finite_are_refused(grade: float) -> None:
    """A gain is a finite number, so an infinite grade is refused where an infinite score is not."""
    with pytest.raises(rf.DataError, match=r'relevance.*\(q1, a\).*invalid="drop"'):
        rf.read_qrels({"q1": {"a": grade}})


@pytest.mark.parametrize("missing", [None, NAN, pd.NA, pd.NaT], ids=["None", "nan", "NA", "NaT"])
def test_null_score_of_every_kind_that_pandas_has(missing: Any) -> None:
    """None, NaN, NA and NaT in pandas are all a missing score."""
    run = pd.DataFrame(
        {"query_id": ["q1", "q1"], "doc_id": ["a", "b"], "score": pd.Series([1.0, missing], dtype=object)}
    )
    with pytest.raises(rf.DataError, match=r"score.*(q1.*b|NaT|mixes)"):
        rf.read_run(run)
    with pytest.raises(rf.DataError, match=r"(null|NaN) score.*\(q1, b\)"):
        rf.read_run(run.assign(score=pd.Series([1.0, None], dtype="Float64")))


@pytest.mark.parametrize("missing", [None, NAN, pd.NA], ids=["None", "nan", "NA"])
def test_null_ids_of_every_kind_that_pandas_has(missing: Any) -> None:
    """The same for ids: never a query or document called None or nan."""
    for dtype in (object, "str", "string", "category"):
        ids = pd.Series(["q1", missing], dtype=dtype)
        run = pd.DataFrame({"query_id": ids, "doc_id": ["a", "b"], "score": [1.0, 1.0]})
        with pytest.raises(rf.DataError, match="query_id"):
            rf.read_run(run)


def test_integers_that_float64_would_round_are_refused() -> None:
    """Two different scores never become a tie in silence."""
    big = 2**53
    with pytest.raises(rf.DataError, match=r"2\*\*53|exactly"):
        rf.read_run({"q1": {"a": big, "b": big + 1}})
    with pytest.raises(rf.DataError, match=r"2\*\*53|exactly"):
        rf.read_run(pl.DataFrame({"query_id": ["q1"] * 2, "doc_id": ["a", "b"], "score": [big, big + 1]}))
