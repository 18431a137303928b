"""The documented dictionary API, retrieval half: every name, signature, default, error and worked number of it."""

from __future__ import annotations

import copy
import dataclasses
import importlib
import inspect
import json
import math
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, get_args, get_origin, get_type_hints

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import rankframe as rf
from rankframe import evaluation
from rankframe.evaluation import (
    RETRIEVAL_METRICS,
    Qrels,
    RetrievalEvalReport,
    average_precision,
    dcg_at_k,
    evaluate_retrieval,
    ndcg_at_k,
    precision_at_k,
    read_beir,
    recall_at_k,
    reciprocal_rank,
    write_beir,
)
from tests.cases.helpers import write
from tests.shown import shown

ALL = ("ndcg", "recall", "precision", "mrr", "map")

# What the module has.


DOCUMENTED = (
    "Qrels",
    "RETRIEVAL_METRICS",
    "RetrievalEvalReport",
    "average_precision",
    "dcg_at_k",
    "evaluate_retrieval",
    "ndcg_at_k",
    "precision_at_k",
    "read_beir",
    "recall_at_k",
    "reciprocal_rank",
    "write_beir",
)


@pytest.mark.parametrize("name", DOCUMENTED)
def test_every_documented_name_is_there_and_public(name: str) -> None:
    assert hasattr(importlib.import_module("rankframe.evaluation"), name)
    assert name in evaluation.__all__
    assert rf.evaluation is evaluation


SIGNATURES: dict[str, tuple[Callable[..., Any], str]] = {
    "dcg_at_k": (dcg_at_k, "(ranked, relevant, k)"),
    "ndcg_at_k": (ndcg_at_k, "(ranked, relevant, k)"),
    "recall_at_k": (recall_at_k, "(ranked, relevant, k)"),
    "precision_at_k": (precision_at_k, "(ranked, relevant, k)"),
    "reciprocal_rank": (reciprocal_rank, "(ranked, relevant, k=None)"),
    "average_precision": (average_precision, "(ranked, relevant, k=None)"),
    "evaluate_retrieval": (
        evaluate_retrieval,
        f"(retriever, qrels, queries, *, k_values=(1, 5, 10, 100), metrics={ALL}, limit=None)",
    ),
    "read_beir": (read_beir, "(directory, *, qrels=None)"),
    "write_beir": (write_beir, "(directory, corpus, queries, qrels)"),
    "RetrievalEvalReport": (RetrievalEvalReport, "(metrics, per_query, n_queries, k_values)"),
    "primary_at": (RetrievalEvalReport.primary_at, "(self, k)"),
}
FURTHER = {
    "dcg_at_k": {"gain", "key"},
    "ndcg_at_k": {"gain", "key"},
    "recall_at_k": {"key"},
    "precision_at_k": {"over", "key"},
    "reciprocal_rank": {"key"},
    "average_precision": {"over", "key"},
}
"""What the functions of one ranking take beyond the documented signature, by name only and with a default."""


@pytest.mark.parametrize("name", SIGNATURES)
def test_signatures_are_the_documented_ones(name: str) -> None:
    function, documented = SIGNATURES[name]
    parameters = inspect.signature(function).parameters
    further = {n for n in FURTHER.get(name, ()) if parameters[n].kind is inspect.Parameter.KEYWORD_ONLY}
    assert FURTHER.get(name, set()) == further
    assert all(parameters[n].default is not inspect.Parameter.empty for n in further)
    bare = [p.replace(annotation=inspect.Parameter.empty) for n, p in parameters.items() if n not in further]
    assert documented == str(inspect.Signature(bare))


def test_judgments_are_a_mapping_of_mappings() -> None:
    assert Mapping[str, Mapping[str, float]] == Qrels
    assert (get_origin(Qrels), get_args(Qrels)[0]) == (Mapping, str)


def test_the_registry_names_the_metrics_and_their_functions() -> None:
    assert {
        "map": average_precision,
        "mrr": reciprocal_rank,
        "ndcg": ndcg_at_k,
        "precision": precision_at_k,
        "recall": recall_at_k,
    } == RETRIEVAL_METRICS
    assert type(RETRIEVAL_METRICS) is dict
    assert set(inspect.signature(evaluate_retrieval).parameters["metrics"].default) == set(RETRIEVAL_METRICS)


@pytest.mark.parametrize("name", RETRIEVAL_METRICS)
def test_functions_of_the_registry_take_ranking_judgments_and_cutoff_by_place(name: str) -> None:
    """As a caller that looks them up calls them."""
    assert {k: RETRIEVAL_METRICS[name](["d1", "x"], {"d1": 1.0}, k) for k in (0, 1)} == {0: 0.0, 1: 1.0}


# The report.


def test_a_report_is_made_by_place_or_by_name() -> None:
    report = RetrievalEvalReport({"ndcg@10": 0.83}, {"q1": {"ndcg@10": 0.83}}, 12, (10,))
    assert report == RetrievalEvalReport(
        metrics={"ndcg@10": 0.83}, per_query={"q1": {"ndcg@10": 0.83}}, n_queries=12, k_values=(10,)
    )
    assert (report.metrics, report.per_query) == ({"ndcg@10": 0.83}, {"q1": {"ndcg@10": 0.83}})
    assert (report.n_queries, report.k_values) == (12, (10,))
    assert [f.name for f in dataclasses.fields(report)] == ["metrics", "per_query", "n_queries", "k_values"]
    for field in ("metrics", "per_query", "n_queries", "k_values"):
        assert repr(getattr(report, field)) in repr(report)


def test_the_primary_number_is_ndcg_at_10() -> None:
    assert RetrievalEvalReport({"ndcg@10": 0.83, "ndcg@1": 0.5}, {}, 12, (1, 10)).primary == 0.83


def test_ndcg_at_other_cutoffs_is_found() -> None:
    report = RetrievalEvalReport({"ndcg@10": 0.83, "ndcg@1": 0.5}, {}, 12, (1, 10))
    assert (report.primary_at(1), report.primary_at(10)) == (0.5, 0.83)


@pytest.mark.parametrize("metrics", [{}, {"ndcg@1": 0.5}, {"recall@10": 0.5}], ids=repr)
def test_what_was_not_computed_is_none(metrics: dict[str, float]) -> None:
    report = RetrievalEvalReport(metrics, {}, 12, (1,))
    assert report.primary is None
    assert report.primary_at(10) is None
    assert report.primary_at(3) is None


def test_0_is_not_what_was_not_computed() -> None:
    assert RetrievalEvalReport({"ndcg@10": 0.0}, {}, 1, (10,)).primary == 0.0


# Worked examples: every number by the functions of one ranking, by names over frames, and by asking a retriever.


def by_names(ranked: Sequence[str], relevant: Mapping[str, float], *names: str) -> dict[str, float]:
    """The metrics of one ranking by `evaluate`."""
    run = {"q": {doc: -float(place) for place, doc in enumerate(ranked)}}
    report = rf.evaluate(run, {"q": relevant}, metrics=names)
    return {name: report.value(name) for name in names}


def by_asking(ranked: Sequence[str], relevant: Mapping[str, float], *names: str) -> dict[str, float]:
    """The same by `evaluate_retrieval`, each with its cutoff."""
    cutoffs = sorted({int(name.partition("@")[2]) for name in names})
    metrics = sorted({name.partition("@")[0] for name in names})
    report = evaluate_retrieval(lambda _: ranked, {"q": relevant}, {"q": "?"}, k_values=cutoffs, metrics=metrics)
    return {name: report.metrics[name] for name in names}


BOTH = {"d1": 1.0, "d2": 1.0}


@pytest.mark.parametrize(
    ("ranked", "relevant", "name", "by_function", "right"),
    [
        (["d1", "d2"], BOTH, "ndcg@2", lambda r, j: ndcg_at_k(r, j, 2), 1.0),
        (["x", "d1"], {"d1": 1.0}, "ndcg@2", lambda r, j: ndcg_at_k(r, j, 2), 0.6309),
        (["d1", "x", "d2"], BOTH, "precision@2", lambda r, j: precision_at_k(r, j, 2), 0.5),
        (["d1", "x", "d2"], BOTH, "recall@2", lambda r, j: recall_at_k(r, j, 2), 0.5),
        (["d1", "x", "d2"], BOTH, "recall@3", lambda r, j: recall_at_k(r, j, 3), 1.0),
        (["x", "d1", "d2"], {"d1": 1.0}, "mrr@3", reciprocal_rank, 0.5),
        (["x", "d1"], {"d1": 1.0}, "mrr@1", lambda r, j: reciprocal_rank(r, j, k=1), 0.0),
        (["d1", "x", "d2"], BOTH, "map@3", average_precision, 0.8333333333333333),
    ],
)
def test_examples_of_the_functions(
    ranked: list[str], relevant: dict[str, float], name: str, by_function: Callable[..., float], right: float
) -> None:
    digits = 4 if right == 0.6309 else 16
    assert right == round(by_function(ranked, relevant), digits)
    assert {name: pytest.approx(right, abs=1e-4)} == by_names(ranked, relevant, name)
    assert by_names(ranked, relevant, name) == by_asking(ranked, relevant, name)
    uncut = {"mrr@3": "mrr", "map@3": "map"}.get(name)
    if uncut is not None:
        assert {uncut: pytest.approx(right)} == by_names(ranked, relevant, uncut)


def test_the_example_of_dcg() -> None:
    """Which is no metric of `evaluate_retrieval`."""
    assert round(dcg_at_k(["d1", "x", "d2"], BOTH, 3), 4) == 1.5
    assert {"dcg@3": pytest.approx(1.5)} == by_names(["d1", "x", "d2"], BOTH, "dcg@3")


class Table:
    """A retriever that knows the ranking of each text, and takes its limit by name."""

    def __init__(self, rankings: Mapping[str, list[str]]) -> None:
        self.rankings = rankings

    def __call__(self, query: str, *, limit: int = 10) -> list[str]:
        found = self.rankings[query]
        return found[:limit]


def test_the_example_of_the_module() -> None:
    qrels = {"q1": {"d1": 1.0, "d2": 1.0}, "q2": {"d3": 1.0}}
    queries = {"q1": "first query", "q2": "second query"}
    rankings = {"first query": ["d1", "d9", "d2"], "second query": ["d9", "d3"]}
    report = evaluate_retrieval(Table(rankings), qrels, queries, k_values=(1, 3))
    assert report.metrics["recall@3"] == 1.0
    first = report.primary_at(1)
    assert first is not None
    assert round(first, 3) == 0.5
    assert set(report.metrics) == {f"{name}@{k}" for name in ALL for k in (1, 3)}
    assert report.primary is None
    run = {query: {doc: -float(i) for i, doc in enumerate(rankings[text])} for query, text in queries.items()}
    again = rf.evaluate(run, qrels, metrics=["recall@3", "ndcg@1"])
    assert (again.value("recall@3"), again.value("ndcg@1")) == (1.0, 0.5)


def test_the_example_of_evaluate_retrieval() -> None:
    qrels = {"q1": {"d1": 1.0}, "q2": {"d2": 1.0}}
    table = Table({text: ["d1", "d2"] for text in ("alpha", "beta")})
    report = evaluate_retrieval(table, qrels, {"q1": "alpha", "q2": "beta"}, k_values=(1, 2))
    assert (report.metrics["recall@2"], report.n_queries) == (1.0, 2)
    run = {query: {"d1": 2.0, "d2": 1.0} for query in qrels}
    assert rf.evaluate(run, qrels, metrics="recall@2").value("recall@2") == 1.0


RETRIEVED = ["doc_eu_carbon", "doc_canada_2019", "doc_canada_2023", "doc_carbon_mechanisms", "doc_canada_provinces"]
GRADED = {
    "doc_canada_2019": 2.0,
    "doc_canada_2023": 3.0,
    "doc_carbon_mechanisms": 1.0,
    "doc_canada_provinces": 1.0,
}


@pytest.mark.parametrize(("k", "right"), [(3, (0.667, 0.5, 0.574)), (5, (0.8, 1.0, 0.632))])
def test_figures_of_the_textbook(k: int, right: tuple[float, float, float]) -> None:
    """Precision among the distinct returned, binary recall, NDCG with exponential gain."""
    functions = (
        precision_at_k(RETRIEVED, set(GRADED), k, over="returned"),
        recall_at_k(RETRIEVED, set(GRADED), k),
        ndcg_at_k(RETRIEVED, GRADED, k, gain="exponential"),
    )
    assert right == tuple(round(value, 3) for value in functions)
    names = (f"precision(over=returned)@{k}", f"recall@{k}", f"ndcg(gain=exponential)@{k}")
    assert right == tuple(round(value, 3) for value in by_names(RETRIEVED, GRADED, *names).values())
    asked = by_asking(RETRIEVED, GRADED, f"precision@{k}", f"recall@{k}")
    assert right[:2] == tuple(round(value, 3) for value in asked.values())


def test_the_textbooks_reciprocal_rank() -> None:
    assert reciprocal_rank(RETRIEVED, set(GRADED)) == 0.5
    assert by_names(RETRIEVED, GRADED, "mrr") == {"mrr": 0.5}
    assert by_asking(RETRIEVED, GRADED, "mrr@5") == {"mrr@5": 0.5}


def test_the_textbooks_average_precision_is_over_all_relevant() -> None:
    """Missed ones count, though everything that is found is relevant."""
    assert pytest.approx((1 / 2 + 2 / 3 + 3 / 4 + 4 / 5) / 4) == average_precision(RETRIEVED, set(GRADED))
    missed = GRADED | {"doc_quebec": 1.0}
    right = (1 / 2 + 2 / 3 + 3 / 4 + 4 / 5) / 5
    assert pytest.approx(right) == average_precision(RETRIEVED, missed)
    assert {"map": pytest.approx(right)} == by_names(RETRIEVED, missed, "map")
    assert {"map@5": pytest.approx(right)} == by_asking(RETRIEVED, missed, "map@5")


def test_the_textbooks_gain_is_another_number_than_the_default_one() -> None:
    """Neither is taken for the other."""
    linear = (2 / math.log2(3) + 3 / 2) / (3 + 2 / math.log2(3) + 1 / 2)
    assert {"ndcg@3": pytest.approx(linear)} == by_names(RETRIEVED, GRADED, "ndcg@3")
    assert {"ndcg@3": pytest.approx(linear)} == by_asking(RETRIEVED, GRADED, "ndcg@3")
    assert round(linear, 3) != 0.574


def test_the_textbooks_precision_counts_distinct_documents_and_0_places_hold_nothing() -> None:
    assert precision_at_k(["a", "a", "x"], {"a"}, 3, over="returned") == 0.5
    assert precision_at_k(["a"], {"a"}, 0, over="returned") == 0.0
    assert recall_at_k(["a"], set(), 3) == 0.0


@dataclasses.dataclass(frozen=True)
class Chunk:
    """A piece of a document."""

    chunk_id: str
    document_id: str


@dataclasses.dataclass(frozen=True)
class Result:
    """A result that holds its chunk."""

    chunk: Chunk
    score: float


CHUNKS = [Result(Chunk(f"c{i}", f"d{i // 2}"), 1.0 - i / 10) for i in range(4)]
"""Two chunks of d0, then two of d1."""


def test_metrics_over_results_take_the_id_that_key_gives() -> None:
    """By chunk or by document, among those that were returned."""
    relevant = {"c1", "c3", "c9"}

    def chunk(result: Result) -> str:
        return result.chunk.chunk_id

    assert [precision_at_k(CHUNKS, relevant, k, key=chunk, over="returned") for k in (1, 2, 4, 10)] == [
        0,
        0.5,
        0.5,
        0.5,
    ]
    assert pytest.approx([0, 1 / 3, 2 / 3, 2 / 3]) == [
        recall_at_k(CHUNKS, relevant, k, key=chunk) for k in (1, 2, 4, 10)
    ]
    assert reciprocal_rank(CHUNKS, relevant, key=chunk) == 0.5
    assert precision_at_k(CHUNKS, {"d1"}, 10, key=lambda result: result.chunk.document_id, over="returned") == 0.5
    assert reciprocal_rank(CHUNKS, {"d1"}, key=lambda result: result.chunk.document_id) == 0.5


def test_metrics_over_results_are_those_of_a_run() -> None:
    """Chunks by `key=` of `retrieve`, documents as they are recognised; names say what is divided by."""
    qrels = {"q": {"c1": 1, "c3": 1, "c9": 1}}
    chunks = rf.retrieve(lambda _: CHUNKS, {"q": "?"}, key=lambda result: result.chunk.chunk_id)
    report = rf.evaluate(chunks, qrels, metrics=["precision(over=returned)@10", "precision@10", "recall@2", "mrr"])
    assert report.summary["value"].to_list() == [0.5, 0.2, 1 / 3, 0.5]
    with pytest.warns(rf.RankframeWarning, match="several results are of one document"):
        documents = evaluate_retrieval(lambda _: CHUNKS, {"q": {"d1": 1}}, {"q": "?"}, k_values=(1, 2, 10))
    assert [documents.metrics[name] for name in ("recall@1", "recall@2", "mrr@10", "precision@10")] == [0, 1, 0.5, 0.1]


@pytest.mark.parametrize("function", [precision_at_k, recall_at_k])
def test_metrics_over_no_results_or_nothing_relevant_are_0(function: Callable[..., float]) -> None:
    assert function([], {"a"}, 5) == 0.0
    assert function(["a"], set(), 5) == 0.0
    assert reciprocal_rank([], {"a"}) == 0.0


@pytest.mark.parametrize("name", ["precision_at_k", "recall_at_k", "ndcg_at_k", "dcg_at_k"])
def test_cutoffs_below_1_are_an_error_in_reports_and_0_places_are_0_for_one_ranking(name: str) -> None:
    function = SIGNATURES[name][0]
    assert function(["a"], {"a"}, 0) == 0.0
    for k in (-1, -5):
        with pytest.raises(ValueError, match=f"got {k}"):
            function(["a"], {"a"}, k)
    for k in (0, -1):
        with pytest.raises(ValueError, match=f"got {k}"):
            evaluate_retrieval(lambda _: ["a"], {"q": {"a": 1}}, {"q": "?"}, k_values=(k,))
        with pytest.raises(ValueError, match=f"cutoff.*{k}"):
            rf.evaluate({"q": {"a": 1.0}}, {"q": {"a": 1}}, metrics=f"precision@{k}")


NOTE_QUERIES = {"c1": "first question", "c2": "second question"}
NOTE_RELEVANT = {"c1": {"k1", "k4"}, "c2": {"k7"}}
NOTE_FOUND = {"first question": ["k9", "k1", "k2"], "second question": ["k3", "k5", "k6", "k7", "k8"]}


def test_the_notes_numbers_of_one_ranking() -> None:
    """Over k and not over what was returned; linear gain."""
    first = NOTE_FOUND["first question"]
    assert (precision_at_k(first, NOTE_RELEVANT["c1"], 5), recall_at_k(first, NOTE_RELEVANT["c1"], 5)) == (0.2, 0.5)
    assert by_names(first, dict.fromkeys(NOTE_RELEVANT["c1"], 1.0), "precision@5", "recall@5") == {
        "precision@5": 0.2,
        "recall@5": 0.5,
    }
    grades = {"k1": 2.0, "k2": 1.0, "k4": 3.0}
    right = (2 / math.log2(3) + 1 / 2) / (3 + 2 / math.log2(3) + 1 / 2)
    assert pytest.approx(right) == ndcg_at_k(first, grades, 5)
    assert {"ndcg@5": pytest.approx(right)} == by_names(first, grades, "ndcg@5") == by_asking(first, grades, "ndcg@5")


def test_the_notes_evaluation_of_a_retriever() -> None:
    """An object with `retrieve` and `top_k`, whose results tell their chunk in their metadata."""

    class Index:
        def retrieve(self, query: str, top_k: int) -> list[dict[str, Any]]:
            return [{"text": "..", "metadata": {"chunk_id": chunk}} for chunk in NOTE_FOUND[query][:top_k]]

    qrels = {case: dict.fromkeys(relevant, 1.0) for case, relevant in NOTE_RELEVANT.items()}
    report = evaluate_retrieval(Index(), qrels, NOTE_QUERIES, k_values=(5,), metrics=("precision", "recall", "mrr"))
    right = {"precision@5": 0.2, "recall@5": 0.75, "mrr@5": (1 / 2 + 1 / 4) / 2}
    assert pytest.approx(right) == dict(report.metrics)
    ranked = [(NOTE_FOUND[NOTE_QUERIES[case]], relevant) for case, relevant in NOTE_RELEVANT.items()]
    assert pytest.approx(right) == {
        "precision@5": sum(precision_at_k(found, relevant, 5) for found, relevant in ranked) / 2,
        "recall@5": sum(recall_at_k(found, relevant, 5) for found, relevant in ranked) / 2,
        "mrr@5": sum(reciprocal_rank(found, relevant) for found, relevant in ranked) / 2,
    }


# What `evaluate_retrieval` asks, and what it gives.


class Asked:
    """A retriever that keeps what it was asked, and answers with d1, d2 and so on."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, int]] = []

    def __call__(self, query: str, limit: int) -> list[str]:
        self.calls.append((query, limit))
        return [f"d{number}" for number in range(1, limit + 1)]


QRELS = {"q1": {"d1": 1.0}, "q2": {"d2": 1.0}}
QUERIES = {"q1": "alpha", "q2": "beta"}


def test_without_options_there_are_five_metrics_at_four_cutoffs() -> None:
    retriever = Asked()
    report = evaluate_retrieval(retriever, QRELS, QUERIES)
    assert [f"{name}@{k}" for name in ALL for k in (1, 5, 10, 100)] == list(report.metrics)
    assert report.k_values == (1, 5, 10, 100)
    assert retriever.calls == [("alpha", 100), ("beta", 100)]
    assert report.primary == report.metrics["ndcg@10"] == pytest.approx((1 + 1 / math.log2(3)) / 2)
    assert {"q1", "q2"} == set(report.per_query)
    assert all(list(report.metrics) == list(scores) for scores in report.per_query.values())


def test_everything_in_a_report_is_plain_python() -> None:
    report = evaluate_retrieval(Asked(), QRELS, QUERIES, k_values=np.array([1, 2]))  # type: ignore[arg-type]  # as callers do
    assert {type(value) for value in report.metrics.values()} == {float}
    assert {type(value) for scores in report.per_query.values() for value in scores.values()} == {float}
    assert type(report.n_queries) is int
    assert type(report.k_values) is tuple
    assert {type(k) for k in report.k_values} == {int}
    assert json.loads(json.dumps(dataclasses.asdict(report)))["n_queries"] == 2


@pytest.mark.parametrize(("limit", "asked"), [(None, 5), (3, 3), (50, 50)])
def test_as_many_results_are_asked_for_as_the_largest_cutoff_unless_limit_says_otherwise(
    limit: int | None, asked: int
) -> None:
    retriever = Asked()
    report = evaluate_retrieval(retriever, QRELS, QUERIES, k_values=(5, 1), limit=limit)
    assert [("alpha", asked), ("beta", asked)] == retriever.calls
    assert report.metrics["precision@5"] == 0.2


def test_a_limit_below_a_cutoff_leaves_places_empty() -> None:
    """Which are not relevant; the cutoff is still divided by."""
    report = evaluate_retrieval(Asked(), {"q1": {"d3": 1.0}}, QUERIES, k_values=(5,), limit=2)
    assert {n: report.metrics[n] for n in ("recall@5", "precision@5")} == {"recall@5": 0.0, "precision@5": 0.0}


def test_only_the_metrics_that_were_asked_for_are_there() -> None:
    """In the order asked, each once, at ascending cutoffs."""
    report = evaluate_retrieval(Asked(), QRELS, QUERIES, k_values=(3, 1), metrics=("mrr", "ndcg", "mrr"))
    assert list(report.metrics) == ["mrr@1", "mrr@3", "ndcg@1", "ndcg@3"]
    assert evaluate_retrieval(Asked(), QRELS, QUERIES, k_values=(3, 1), metrics=iter(["mrr"])).metrics == {  # type: ignore[arg-type]  # any iterable
        "mrr@1": 0.5,
        "mrr@3": 0.75,
    }
    assert evaluate_retrieval(Asked(), QRELS, QUERIES, k_values=(1,), metrics="mrr").metrics == {"mrr@1": 0.5}


SKIPPED: dict[str, tuple[dict[str, dict[str, float]], dict[str, str]]] = {
    "no judgments": ({"q3": {}}, {"q3": "gamma"}),
    "judged 0": ({"q3": {"d1": 0.0, "d2": 0.0}}, {"q3": "gamma"}),
    "judged below 0": ({"q3": {"d1": -1.0}}, {"q3": "gamma"}),
    "no text": ({"q3": {"d1": 1.0}}, {}),
    "no judgments at all": ({}, {"q3": "gamma"}),
}


@pytest.mark.parametrize("case", SKIPPED)
def test_a_query_without_relevant_document_or_text_is_skipped(case: str) -> None:
    """It is not asked, not in the report and not in a mean."""
    qrels, queries = SKIPPED[case]
    retriever = Asked()
    report = evaluate_retrieval(retriever, QRELS | qrels, QUERIES | queries, k_values=(1, 2))
    assert evaluate_retrieval(Asked(), QRELS, QUERIES, k_values=(1, 2)) == report
    assert report.n_queries == 2
    assert [text for text, _ in retriever.calls] == ["alpha", "beta"]


def test_a_query_that_nothing_is_found_for_counts_0() -> None:
    """It was asked: only its text and its judgments decide whether it counts."""
    found = {"alpha": ["d1"], "beta": []}
    report = evaluate_retrieval(found.__getitem__, QRELS, QUERIES, k_values=(1,), metrics=("recall",))
    assert (report.metrics, report.n_queries) == ({"recall@1": 0.5}, 2)
    assert report.per_query == {"q1": {"recall@1": 1.0}, "q2": {"recall@1": 0.0}}


def test_an_empty_text_is_a_text() -> None:
    retriever = Asked()
    report = evaluate_retrieval(retriever, QRELS, {"q1": "", "q2": "beta"}, k_values=(1,))
    assert retriever.calls == [("", 1), ("beta", 1)]
    assert report.n_queries == 2


def test_queries_of_equal_text_are_each_asked_and_scored_by_their_own_judgments() -> None:
    retriever = Asked()
    report = evaluate_retrieval(retriever, QRELS, {"q1": "same", "q2": "same"}, k_values=(1,), metrics=("recall",))
    assert retriever.calls == [("same", 1), ("same", 1)]
    assert report.per_query == {"q1": {"recall@1": 1.0}, "q2": {"recall@1": 0.0}}


# Errors, before the retriever is called once.


def refused(match: str, **changed: Any) -> None:
    """A ValueError says so, and the retriever was not called."""
    retriever = Asked()
    arguments: dict[str, Any] = {"qrels": QRELS, "queries": QUERIES, **changed}
    with pytest.raises(ValueError, match=match) as caught:
        evaluate_retrieval(retriever, **arguments)
    assert isinstance(caught.value, rf.RankframeError)
    assert retriever.calls == []


@pytest.mark.parametrize(
    "unknown", ["f1", "ndgc", "ndcg@10", "NDCG", "hit_rate", "", " ndcg", None, 10, b"ndcg", ["ndcg"]], ids=repr
)
def test_an_unknown_metric_is_named_with_the_valid_ones(unknown: Any) -> None:
    told = repr(unknown).replace("[", r"\[").replace("]", r"\]")
    refused(f"unknown metric {told}.*map, mrr, ndcg, precision, recall", metrics=[unknown])
    refused(f"unknown metric {told}.*map, mrr, ndcg, precision, recall", metrics=("ndcg", unknown))


@pytest.mark.parametrize("unknown", ["ndgc", None, 10], ids=repr)
def test_an_unknown_metric_that_stands_alone_is_named_with_the_valid_ones(unknown: Any) -> None:
    refused(f"unknown metric {unknown!r}.*map, mrr, ndcg, precision, recall", metrics=unknown)


def test_the_nearest_metric_is_suggested() -> None:
    refused("did you mean 'ndcg'", metrics=["ndgc"])


@pytest.mark.parametrize("empty", [[], (), iter(())], ids=shown)
def test_no_metrics_are_an_error(empty: Any) -> None:
    refused("metrics is empty.*map, mrr, ndcg, precision, recall", metrics=empty)


@pytest.mark.parametrize("empty", [[], (), range(0)], ids=repr)
def test_no_cutoffs_are_an_error(empty: Any) -> None:
    refused("k_values is empty", k_values=empty)


@pytest.mark.parametrize("bad", [0, -1, 1.5, "10", None, True, math.nan], ids=repr)
def test_a_bad_cutoff_is_named(bad: Any) -> None:
    refused(f"whole number from 1, got {bad!r}", k_values=(1, bad))
    refused(f"whole number from 1, got {bad!r}", k_values=bad)


@pytest.mark.parametrize("bad", [0, -1, 1.5, "10", True, math.nan], ids=repr)
def test_a_bad_limit_is_named(bad: Any) -> None:
    refused(f"limit.*whole number from 1, got {bad!r}", limit=bad)


@pytest.mark.parametrize(
    ("qrels", "queries"),
    [
        ({}, QUERIES),
        ({"q1": {}}, QUERIES),
        ({"q1": {"d1": 0.0}, "q2": {"d1": -1.0}}, QUERIES),
        (QRELS, {}),
        (QRELS, {"Q1": "alpha", "q3": "gamma"}),
        ({"q1": {"d1": 0.0}, "q3": {"d1": 1.0}}, QUERIES),
    ],
    ids=["no judgments", "none of q1", "none relevant", "no queries", "other queries", "text or relevant, never both"],
)
def test_an_evaluation_that_can_score_nothing_is_an_error(qrels: Any, queries: Any) -> None:
    refused("no query can be scored", qrels=qrels, queries=queries)


def test_an_evaluation_that_can_score_nothing_shows_ids_of_both_sides() -> None:
    refused("queries: 'Q1', 'Q2'.*judged.*: 'q1', 'q2'", queries={"Q1": "alpha", "Q2": "beta"})


@pytest.mark.parametrize("grade", [None, math.nan, "1", [1], math.inf], ids=repr)
def test_a_grade_that_is_no_number_is_an_error_that_names_the_pair(grade: Any) -> None:
    refused("relevance.*q1, d7", qrels=QRELS | {"q1": {"d1": 1.0, "d7": grade}})


@pytest.mark.parametrize("text", [None, math.nan, 7, ["alpha"]], ids=repr)
def test_a_text_that_is_none_is_an_error_that_names_the_query(text: Any) -> None:
    refused("queries.*q2", queries={"q1": "alpha", "q2": text})


@pytest.mark.parametrize("key", [1.0, True, None, ("a",)], ids=repr)
def test_an_id_that_is_no_text_or_whole_number_is_an_error(key: Any) -> None:
    refused("query_id", qrels=QRELS | {key: {"d1": 1.0}})
    refused("query_id", queries=QUERIES | {key: "gamma"})
    refused("doc_id", qrels=QRELS | {"q1": {key: 1.0}})


def test_two_texts_or_grades_of_what_is_one_id_are_an_error() -> None:
    """7 and "7" are one id."""
    refused("7", qrels={7: {"d1": 1.0}}, queries={7: "alpha", "7": "beta"})
    refused("7, d1", qrels={7: {"d1": 1.0}, "7": {"d1": 2.0}}, queries={7: "alpha"})


@pytest.mark.parametrize("retriever", [None, "bm25", 7, ["d1"], {"q1": {"d1": 1.0}}, dict], ids=repr)
def test_what_is_no_retriever_is_an_error_that_shows_it(retriever: Any) -> None:
    with pytest.raises(ValueError, match="retriever"):
        evaluate_retrieval(retriever, QRELS, QUERIES)


# Who is asked, and what results may be.


@pytest.mark.parametrize("key", [7, np.int64(7), np.uint8(7), "7"], ids=["int", "numpy", "unsigned", "text"])
@pytest.mark.parametrize("other", [7, np.int64(7), "7"], ids=["int", "numpy", "text"])
def test_whole_numbers_are_ids(key: Any, other: Any) -> None:
    """Of queries and documents, in each of the three places; the report has the keys of the judgments."""
    answers: list[Any] = [[other], [(other, 0.5)], np.array([other]), {other: 0.5}]
    for answer in answers:
        report = evaluate_retrieval(
            lambda _, answer=answer: answer, {key: {key: 1}}, {other: "alpha"}, k_values=(1,), metrics=("recall",)
        )
        assert report.metrics == {"recall@1": 1.0}
        assert report.per_query == {key: {"recall@1": 1.0}}
        assert [type(key)] == [type(query) for query in report.per_query]


def test_whole_numbers_and_text_that_look_alike_are_different_ids() -> None:
    report = evaluate_retrieval(
        lambda _: ["07", 7], {"q1": {"07": 1}, "q2": {"7": 1}}, QUERIES, k_values=(1,), metrics=("recall",)
    )
    assert report.per_query == {"q1": {"recall@1": 1.0}, "q2": {"recall@1": 0.0}}


class Searchable:
    """An object that searches under one of the usual names."""

    def __init__(self, name: str, limit: str) -> None:
        self.asked: list[dict[str, Any]] = []
        found = {"limit": self._limit, "top_k": self._top_k, "k": self._k}[limit]
        setattr(self, name, found)

    def _limit(self, query: str, *, limit: int = 10) -> list[str]:
        self.asked.append({"query": query, "limit": limit})
        return ["d1", "d2"][:limit]

    def _top_k(self, query: str, top_k: int) -> list[str]:
        self.asked.append({"query": query, "limit": top_k})
        return ["d1", "d2"][:top_k]

    def _k(self, query: str, k: int = 3) -> list[str]:
        self.asked.append({"query": query, "limit": k})
        return ["d1", "d2"][:k]


@pytest.mark.parametrize("limit", ["limit", "top_k", "k"])
@pytest.mark.parametrize("name", ["search", "retrieve", "invoke", "query", "run"])
def test_an_object_that_searches_is_a_retriever(name: str, limit: str) -> None:
    index = Searchable(name, limit)
    report = evaluate_retrieval(index, QRELS, QUERIES, k_values=(2,), metrics=("mrr",))
    assert report.per_query == {"q1": {"mrr@2": 1.0}, "q2": {"mrr@2": 0.5}}
    assert index.asked == [{"query": "alpha", "limit": 2}, {"query": "beta", "limit": 2}]


def test_a_function_without_a_limit_is_a_retriever() -> None:
    report = evaluate_retrieval(lambda text: ["d1", "d2", text], QRELS, QUERIES, k_values=(1,), metrics=("mrr",))
    assert report.metrics == {"mrr@1": 0.5}


def _segment(source: str | None, own: str) -> dict[str, Any]:
    return {"id": own, "text": "..", "metadata": {} if source is None else {"source": source, "start": 0}}


RESULTS: dict[str, Callable[[str], Any]] = {
    "id": lambda doc: doc,
    "pair": lambda doc: (doc, 0.5),
    "hit with its source": lambda doc: SimpleNamespace(
        source_id=doc, score=0.5, segment=_segment(f"not {doc}", f"{doc}#0")
    ),
    "hit with its segment": lambda doc: SimpleNamespace(score=0.5, segment=_segment(doc, f"{doc}#0")),
    "hit with an object for its segment": lambda doc: SimpleNamespace(
        source_id=None, segment=SimpleNamespace(**_segment(doc, f"{doc}#0"))
    ),
    "segment": lambda doc: _segment(doc, f"{doc}#0"),
    "segment as an object": lambda doc: SimpleNamespace(**_segment(doc, f"{doc}#0")),
    "segment without its source": lambda doc: _segment(None, doc),
    "hit with a segment without its source": lambda doc: SimpleNamespace(score=0.5, segment=_segment(None, doc)),
}


@pytest.mark.parametrize("form", RESULTS)
def test_results_are_mapped_to_their_source_documents(form: str) -> None:
    """Hits, segments and bare ids: the source document, else the result itself."""
    results = [RESULTS[form](doc) for doc in ("d9", "d1", "d2")]
    report = evaluate_retrieval(lambda _: results, QRELS, QUERIES, k_values=(3,), metrics=("mrr", "recall"))
    assert report.per_query == {
        "q1": {"mrr@3": 0.5, "recall@3": 1.0},
        "q2": {"mrr@3": pytest.approx(1 / 3), "recall@3": 1.0},
    }


@pytest.mark.parametrize("form", [form for form in RESULTS if "segment" in form and "without" not in form])
def test_several_segments_of_a_document_count_at_its_best_rank(form: str) -> None:
    """Documents move up for those that are taken together; where they get fewer than the cutoff, it is told."""
    results = [RESULTS[form](doc) for doc in ("d9", "d9", "d9", "d1", "d9", "d2", "d1")]
    with pytest.warns(rf.RankframeWarning, match=r"fewer documents than the largest cutoff, 7.*limit="):
        report = evaluate_retrieval(lambda _: results, QRELS, QUERIES, k_values=(2, 3, 7))
    assert [report.per_query["q1"][name] for name in ("mrr@7", "recall@2", "precision@2")] == [0.5, 1.0, 0.5]
    assert [report.per_query["q2"][name] for name in ("mrr@7", "recall@2", "recall@3")] == [pytest.approx(1 / 3), 0, 1]


def test_a_larger_limit_makes_up_for_several_segments_of_a_document() -> None:
    results = [_segment(doc, f"{doc}#{i}") for i, doc in enumerate(["d9", "d9", "d9", "d1", "d2"])]

    def retriever(query: str, limit: int) -> list[dict[str, Any]]:  # noqa: ARG001  # it takes both
        return results[:limit]

    with pytest.warns(rf.RankframeWarning, match="limit="):
        short = evaluate_retrieval(retriever, QRELS, QUERIES, k_values=(3,), metrics=("recall",))
    assert short.metrics == {"recall@3": 0.0}
    assert evaluate_retrieval(retriever, QRELS, QUERIES, k_values=(3,), metrics=("recall",), limit=5).metrics == {
        "recall@3": 1.0
    }


def test_warnings_point_at_the_line_that_called() -> None:
    with pytest.warns(rf.RankframeWarning, match="limit=") as caught:
        evaluate_retrieval(lambda _: ["d1", "d1"], QRELS, QUERIES, k_values=(2,))
    assert [__file__] == [warning.filename for warning in caught]


def test_the_callers_dictionaries_are_not_changed() -> None:
    qrels: dict[Any, Any] = {"q2": {"d2": 1, "d1": 0}, 7: {np.int64(3): 2.5}, "q1": {"d1": -1}, "q9": {}}
    queries: dict[Any, str] = {7: "gamma", "q1": "alpha", "unjudged": "delta", "q2": "beta"}
    before = copy.deepcopy((qrels, queries))
    evaluate_retrieval(Asked(), qrels, queries, k_values=(1,))
    assert (qrels, queries) == before
    assert [list(qrels), list(queries)] == [list(before[0]), list(before[1])]
    assert [type(key) for key in qrels] == [str, int, str, str]


def test_mappings_of_any_kind_are_read() -> None:
    """The judgments and queries are mappings, not only dictionaries."""

    class Lazy(Mapping[str, Any]):
        def __init__(self, content: dict[str, Any]) -> None:
            self._content = content

        def __getitem__(self, key: str) -> Any:
            return self._content[key]

        def __iter__(self) -> Iterator[str]:
            return iter(self._content)

        def __len__(self) -> int:
            return len(self._content)

    lazy = evaluate_retrieval(Asked(), Lazy({query: Lazy(judged) for query, judged in QRELS.items()}), Lazy(QUERIES))
    assert evaluate_retrieval(Asked(), QRELS, QUERIES) == lazy


# Folders of BEIR.

CORPUS = {"d1": "first text", "d2": "zweiter \u00dcbertext", "d3": ""}


def test_a_triple_is_read_as_it_was_written(tmp_path: Path) -> None:
    """Into folders that are made, and ready to be evaluated."""
    folder = tmp_path / "new" / "set"
    qrels = {"q1": {"d1": 2.0, "d2": 0.0}, "q2": {"d2": 0.5, "gone": -1.0}}
    assert write_beir(str(folder), CORPUS, QUERIES, qrels) is None  # type: ignore[func-returns-value]  # that is the question
    assert {"corpus.jsonl", "queries.jsonl", "qrels.tsv"} == {path.name for path in folder.iterdir()}
    found = read_beir(str(folder))
    assert (CORPUS, QUERIES, qrels) == found
    assert {float} == {type(grade) for judged in found[2].values() for grade in judged.values()}
    assert evaluate_retrieval(Asked(), found[2], found[1], k_values=(2,)).n_queries == 2


def test_the_files_are_beirs(tmp_path: Path) -> None:
    write_beir(str(tmp_path), {"d1": "one"}, {"q1": "x"}, {"q1": {"d1": 1.0, "d2": 0.5}})
    document, query = (json.loads((tmp_path / f"{name}.jsonl").read_text()) for name in ("corpus", "queries"))
    assert {key: document[key] for key in ("_id", "text")} == {"_id": "d1", "text": "one"}
    assert query == {"_id": "q1", "text": "x"}
    assert (tmp_path / "qrels.tsv").read_text() == "query-id\tcorpus-id\tscore\nq1\td1\t1\nq1\td2\t0.5\n"


@pytest.mark.parametrize("content", [({}, {}, {}), (CORPUS, QUERIES, {})], ids=["nothing", "no judgments"])
def test_empty_parts_are_read_as_they_were_written(content: Any, tmp_path: Path) -> None:
    write_beir(str(tmp_path), *content)
    assert content == read_beir(str(tmp_path))


def test_whole_number_ids_are_written_as_text_and_nothing_is_changed(tmp_path: Path) -> None:
    corpus: Any = {1: "one"}
    queries: Any = {np.int64(2): "two"}
    qrels: Any = {np.int64(2): {1: 1}}
    write_beir(str(tmp_path), corpus, queries, qrels)
    assert read_beir(str(tmp_path)) == ({"1": "one"}, {"2": "two"}, {"2": {"1": 1.0}})
    assert (corpus, queries, qrels) == ({1: "one"}, {2: "two"}, {2: {1: 1}})


_TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
_IDS = st.text(st.characters(exclude_categories=["Cs", "Cc", "Z"]), min_size=1, max_size=6)
_GRADES = st.floats(-4, 4, allow_nan=False) | st.integers(-2, 4).map(float)


@given(
    corpus=st.dictionaries(_IDS, _TEXTS, max_size=5),
    queries=st.dictionaries(_IDS, _TEXTS, max_size=5),
    qrels=st.dictionaries(_IDS, st.dictionaries(_IDS, _GRADES, min_size=1, max_size=4), max_size=4),
)
def test_any_triple_is_read_as_it_was_written(
    tmp_path_factory: pytest.TempPathFactory,
    corpus: dict[str, str],
    queries: dict[str, str],
    qrels: dict[str, dict[str, float]],
) -> None:
    folder = tmp_path_factory.mktemp("beir")
    before = copy.deepcopy((corpus, queries, qrels))
    write_beir(str(folder), corpus, queries, qrels)
    assert before == (corpus, queries, qrels) == read_beir(str(folder))


def _folder(folder: Path, **lines: str) -> str:
    """A folder of BEIR, with the given lines instead of its own."""
    write_beir(str(folder), {"d1": "one"}, {"q1": "x"}, {"q1": {"d1": 1.0}})
    for name, content in lines.items():
        write(folder / f"{name}.jsonl", content)
    return str(folder)


@pytest.mark.parametrize(
    ("record", "text"),
    [
        ({"title": "Kites", "text": "Red ones."}, "Kites Red ones."),
        ({"title": "", "text": "Red ones."}, "Red ones."),
        ({"title": None, "text": "Red ones."}, "Red ones."),
        ({"text": "Red ones."}, "Red ones."),
        ({"title": "Kites", "text": ""}, "Kites"),
        ({"title": "Kites", "text": None}, "Kites"),
        ({"title": "Kites"}, "Kites"),
        ({"title": "", "text": ""}, ""),
        ({"title": "Kites", "text": "Red ones.", "metadata": {"year": 1900}, "url": "x"}, "Kites Red ones."),
    ],
    ids=repr,
)
def test_title_and_text_of_a_document_are_joined(record: dict[str, Any], text: str, tmp_path: Path) -> None:
    other = json.dumps({"_id": "d2", "title": "Owls", "text": "Grey ones."})
    folder = _folder(tmp_path, corpus=f"{json.dumps({'_id': 'd1', **record})}\n{other}\n")
    assert read_beir(folder)[0] == {"d1": text, "d2": "Owls Grey ones."}


def test_a_query_without_text_is_refused_by_its_id(tmp_path: Path) -> None:
    """The documented dictionaries hold texts only, and to leave it out would be to skip it in silence."""
    folder = _folder(tmp_path, queries='{"_id": "q1", "text": "x"}\n{"_id": "q2", "text": null}\n{"_id": "q3"}\n')
    with pytest.raises(ValueError, match="2 query_ids without text: 'q2', 'q3'"):
        read_beir(folder)


def test_ids_of_whole_numbers_are_text(tmp_path: Path) -> None:
    folder = _folder(tmp_path, corpus='{"_id": 42, "text": "one"}\n', queries='{"_id": 7, "text": "x"}\n')
    write(tmp_path / "qrels.tsv", "query-id\tcorpus-id\tscore\n7\t42\t1\n")
    assert read_beir(folder) == ({"42": "one"}, {"7": "x"}, {"7": {"42": 1.0}})


@pytest.mark.parametrize("missing", ["corpus.jsonl", "queries.jsonl", "qrels.tsv"])
def test_a_missing_file_is_named(missing: str, tmp_path: Path) -> None:
    folder = _folder(tmp_path)
    (tmp_path / missing).unlink()
    with pytest.raises(FileNotFoundError, match=missing.replace(".", r"\.")):
        read_beir(folder)


def test_a_missing_folder_and_a_missing_file_of_judgments_are_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="absent"):
        read_beir(str(tmp_path / "absent"))
    with pytest.raises(FileNotFoundError, match=r"other\.tsv"):
        read_beir(_folder(tmp_path), qrels="qrels/other.tsv")


ORDER = ("qrels.tsv", "qrels/test.tsv", "qrels/dev.tsv", "qrels/train.tsv", "qrels.jsonl")


@pytest.mark.parametrize("first", range(len(ORDER)))
def test_judgments_are_the_first_file_found_in_the_documented_order(first: int, tmp_path: Path) -> None:
    folder = _folder(tmp_path)
    (tmp_path / "qrels.tsv").unlink()
    for name in ORDER[first:]:
        if name.endswith(".tsv"):
            write(tmp_path / name, f"query-id\tcorpus-id\tscore\nq1\t{name}\t1\n")
        else:
            write(tmp_path / name, json.dumps({"query_id": "q1", "doc_id": name, "relevance": 1}) + "\n")
    assert read_beir(folder)[2] == {"q1": {ORDER[first]: 1.0}}


@pytest.mark.parametrize("name", ["qrels/train.tsv", "mine.tsv", "deep/er/qrels.tsv"])
def test_judgments_may_be_named_relative_to_the_folder(name: str, tmp_path: Path) -> None:
    """Before all that would be found."""
    folder = _folder(tmp_path)
    write(tmp_path / name, "query-id\tcorpus-id\tscore\nq2\td2\t2\n")
    assert read_beir(folder, qrels=name)[2] == {"q2": {"d2": 2.0}}


def test_judgments_without_a_header_keep_their_first_line(tmp_path: Path) -> None:
    folder = _folder(tmp_path)
    write(tmp_path / "qrels.tsv", "q1\td1\t1\nq1\td2\t0\n")
    assert read_beir(folder)[2] == {"q1": {"d1": 1.0, "d2": 0.0}}


@pytest.mark.parametrize(("name", "key"), [("corpus", "doc_id"), ("queries", "query_id")])
def test_an_id_of_two_texts_is_an_error_that_names_it(name: str, key: str, tmp_path: Path) -> None:
    """A dictionary would keep the last one, and nobody would know."""
    lines = '{"_id": "a", "text": "one"}\n{"_id": "b", "text": "two"}\n{"_id": "a", "text": "three"}\n'
    with pytest.raises(rf.DataError, match=f"1 {key} with different texts: 'a'"):
        read_beir(_folder(tmp_path, **{name: lines}))


@pytest.mark.parametrize("name", ["corpus", "queries"])
def test_a_record_that_is_repeated_is_one(name: str, tmp_path: Path) -> None:
    folder = _folder(tmp_path, **{name: '{"_id": "a", "text": "one"}\n{"_id": "a", "text": "one"}\n'})
    assert read_beir(folder)[0 if name == "corpus" else 1] == {"a": "one"}


def test_a_pair_of_two_grades_is_an_error_that_names_it(tmp_path: Path) -> None:
    folder = _folder(tmp_path)
    write(tmp_path / "qrels.tsv", "query-id\tcorpus-id\tscore\nq1\td1\t1\nq1\td1\t0\n")
    with pytest.raises(rf.DataError, match=r"q1, d1"):
        read_beir(folder)
    write(tmp_path / "qrels.tsv", "query-id\tcorpus-id\tscore\nq1\td1\t1\nq1\td1\t1\n")
    assert read_beir(folder)[2] == {"q1": {"d1": 1.0}}


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (({"a\tb": "x"}, {"q": "x"}, {"q": {"a\tb": 1.0}}), r"a\\tb"),
        (({"a": "x"}, {"q": "x"}, {"q": {"a": math.nan}}), "q, a"),
        (({"a": "x"}, {"q": "x"}, {"q": {"a": 1.0}, "unjudged": {}}), "unjudged"),
        (({"a": None}, {"q": "x"}, {"q": {"a": 1.0}}), "corpus"),
    ],
    ids=["tab in an id", "grade of NaN", "query without judgments", "text of None"],
)
def test_what_the_files_cannot_hold_is_refused_and_nothing_written(content: Any, told: str, tmp_path: Path) -> None:
    with pytest.raises(rf.DataError, match=told):
        write_beir(str(tmp_path / "set"), *content)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_is_evaluated_as_it_was_read(tmp_path: Path) -> None:
    """From files to numbers, by the frames and by the dictionaries."""
    write_beir(str(tmp_path), {f"d{i}": f"text {i}" for i in range(1, 4)}, QUERIES, QRELS)
    _, queries, qrels = read_beir(str(tmp_path))
    report = evaluate_retrieval(Asked(), qrels, queries, k_values=(1, 2))
    beir = rf.read_beir(tmp_path)
    frames = rf.evaluate(rf.retrieve(Asked(), beir, limit=2), beir.qrels, metrics=list(report.metrics))
    assert report.metrics == dict(zip(frames.summary["metric"], frames.summary["value"], strict=True))


# The law: the dictionaries give what the functions of one ranking give.

DOCS = st.sampled_from(["d1", "d2", "d3", "d4", "d5", "d10", "D1", "\u00e9", "7"])
SOME_GRADES = st.sampled_from([-2.0, -1.0, 0.0, 0.5, 1.0, 1.0, 2.0, 3.0, 4.0])
LAW_QUERIES = [f"q{number}" for number in range(5)]
LAW_QRELS = st.dictionaries(
    st.sampled_from(LAW_QUERIES), st.dictionaries(DOCS, SOME_GRADES, max_size=8), min_size=1, max_size=5
)


@given(
    rankings=st.fixed_dictionaries({query: st.lists(DOCS, max_size=12) for query in LAW_QUERIES}),
    qrels=LAW_QRELS,
    without=st.sets(st.sampled_from(LAW_QUERIES), max_size=2),
    cutoffs=st.lists(st.integers(1, 14), min_size=1, max_size=4),
    metrics=st.lists(st.sampled_from(ALL), min_size=1, max_size=5),
    limit=st.none() | st.integers(1, 14),
    scored=st.booleans(),
)
def test_a_report_holds_what_the_functions_give_for_each_query_and_their_mean(
    rankings: dict[str, list[str]],
    qrels: dict[str, dict[str, float]],
    without: set[str],
    cutoffs: list[int],
    metrics: list[str],
    limit: int | None,
    *,
    scored: bool,
) -> None:
    """Over rankings with repeated and unjudged documents, grades of 0 and below, queries without text or results."""
    queries = {query: query for query in LAW_QUERIES if query not in without}
    counted = [q for q, judged in qrels.items() if q in queries and any(grade > 0 for grade in judged.values())]
    assume(counted)
    most = max(cutoffs) if limit is None else limit

    def retriever(query: str, limit: int) -> list[Any]:
        assert limit == most
        return [(doc, -float(i)) if scored else doc for i, doc in enumerate(rankings[query])]

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rf.RankframeWarning)  # of empty and collapsed rankings
        report = evaluate_retrieval(retriever, qrels, queries, k_values=cutoffs, metrics=metrics, limit=limit)
    names = [(f"{name}@{k}", name, k) for name in dict.fromkeys(metrics) for k in sorted(set(cutoffs))]
    right = {
        query: {key: RETRIEVAL_METRICS[name](rankings[query][:most], qrels[query], k) for key, name, k in names}
        for query in counted
    }
    assert sorted(counted) == sorted(report.per_query)
    for query, values in right.items():
        assert pytest.approx(values, abs=1e-12) == dict(report.per_query[query])
    means = {key: sum(values[key] for values in right.values()) / len(right) for key, _, _ in names}
    assert pytest.approx(means, abs=1e-12) == dict(report.metrics)
    assert [key for key, _, _ in names] == list(report.metrics)
    assert (len(counted), tuple(sorted(set(cutoffs)))) == (report.n_queries, report.k_values)


def test_return_types_are_the_documented_ones() -> None:
    assert get_type_hints(evaluate_retrieval)["return"] is RetrievalEvalReport
    assert get_type_hints(read_beir)["return"] == tuple[dict[str, str], dict[str, str], dict[str, dict[str, float]]]
    assert get_type_hints(write_beir)["return"] is type(None)
    assert get_type_hints(RetrievalEvalReport.primary_at)["return"] == float | None
    for name in FURTHER:
        assert get_type_hints(SIGNATURES[name][0])["return"] is float


def test_a_saved_frame_of_results_is_a_retriever_too() -> None:
    """By a function that looks the query up."""
    saved = pl.DataFrame({"text": ["alpha", "alpha", "beta"], "doc_id": ["d1", "d2", "d9"], "score": [2.0, 1.0, 1.0]})
    report = evaluate_retrieval(
        lambda query: saved.filter(text=query), QRELS, QUERIES, k_values=(1,), metrics=("recall",)
    )
    assert report.per_query == {"q1": {"recall@1": 1.0}, "q2": {"recall@1": 0.0}}
