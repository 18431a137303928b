"""Cases of a RAG system: a retriever evaluated over them, and the samples that they become."""

from __future__ import annotations

import copy
import dataclasses
import inspect
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankframe as rf
from rankframe.rag.cases import RAGEvalCase, run_retrieval_eval, samples_from_cases
from tests.shown import shown


class Index:
    """An index as the note has it: `retrieve` with `top_k`, results with their chunk in the metadata."""

    def __init__(self, found: dict[str, list[Any]]) -> None:
        self.found = found
        self.asked: list[tuple[str, int]] = []

    def retrieve(self, query: str, top_k: int) -> list[dict[str, Any]]:
        self.asked.append((query, top_k))
        return [{"text": "..", "metadata": {"chunk_id": chunk, "doc_id": "birds"}} for chunk in self.found[query]][
            :top_k
        ]


CASES = [
    RAGEvalCase("first question", {"k1", "k4"}, "the right answer", ["birds.pdf"]),
    RAGEvalCase("second question", {"k7"}, "another answer", ["owls.pdf", "kites.md"]),
]
FOUND: dict[str, list[Any]] = {
    "first question": ["k9", "k1", "k2"],
    "second question": ["k3", "k5", "k6", "k7", "k8", "k1"],
}


# What a case is.


def test_a_case_has_the_four_fields_of_the_note() -> None:
    names = ["query", "relevant_chunk_ids", "reference_answer", "ground_truth_sources"]
    assert [field.name for field in dataclasses.fields(RAGEvalCase)] == names
    case = RAGEvalCase("q", {"k1"}, "answer", ["birds.pdf"])
    assert case == RAGEvalCase(
        query="q", relevant_chunk_ids={"k1"}, reference_answer="answer", ground_truth_sources=["birds.pdf"]
    )
    assert [getattr(case, name) for name in names] == ["q", {"k1"}, "answer", ["birds.pdf"]]


def test_answer_and_sources_of_a_case_may_be_unknown() -> None:
    case, other = RAGEvalCase("q", {"k1"}), RAGEvalCase("q", set())
    assert (case.reference_answer, case.ground_truth_sources) == (None, [])
    case.ground_truth_sources.append("birds.pdf")
    assert other.ground_truth_sources == []


def test_the_signature_is_the_notes_with_a_key() -> None:
    parameters = inspect.signature(run_retrieval_eval).parameters
    assert list(parameters) == ["eval_cases", "retriever", "k", "key"]
    assert parameters["k"].default == 5
    assert (parameters["key"].kind, parameters["key"].default) == (inspect.Parameter.KEYWORD_ONLY, None)


# A retriever over cases.


def notes_numbers(cases: list[RAGEvalCase], found: dict[str, list[str]], k: int) -> dict[str, float]:
    """The note's arithmetic over lists without repeated chunks."""
    precisions, recalls, ranks = [], [], []
    for case in cases:
        top = found[case.query][:k]
        hits = [chunk in case.relevant_chunk_ids for chunk in top]
        precisions.append(sum(hits) / k)
        recalls.append(sum(hits) / len(case.relevant_chunk_ids) if case.relevant_chunk_ids else 0.0)
        ranks.append(1.0 / (hits.index(True) + 1) if True in hits else 0.0)
    n = len(cases)
    return {f"precision@{k}": sum(precisions) / n, f"recall@{k}": sum(recalls) / n, "mrr": sum(ranks) / n}


def test_means_over_the_cases() -> None:
    result = run_retrieval_eval(CASES, Index(FOUND))
    assert list(result) == ["precision@5", "recall@5", "mrr"]
    assert result == pytest.approx({"precision@5": 0.2, "recall@5": 0.75, "mrr": (1 / 2 + 1 / 4) / 2})
    assert {type(value) for value in result.values()} == {float}


def test_every_case_is_asked_once_with_the_cutoff() -> None:
    index = Index(FOUND)
    run_retrieval_eval(CASES, index, 3)
    assert index.asked == [("first question", 3), ("second question", 3)]


@pytest.mark.parametrize("k", [1, 2, 3, 6, 50])
def test_the_cutoff_is_in_the_names_and_divided_by(k: int) -> None:
    assert run_retrieval_eval(CASES, Index(FOUND), k) == pytest.approx(notes_numbers(CASES, FOUND, k))


_CHUNKS = st.sampled_from([f"k{number}" for number in range(8)])


@given(
    parts=st.lists(st.tuples(st.sets(_CHUNKS), st.lists(_CHUNKS, unique=True)), min_size=1, max_size=5),
    k=st.integers(1, 9),
)
def test_the_numbers_are_the_notes(parts: list[tuple[set[str], list[str]]], k: int) -> None:
    cases = [RAGEvalCase(f"question {place}", relevant) for place, (relevant, _) in enumerate(parts)]
    found = {f"question {place}": chunks for place, (_, chunks) in enumerate(parts)}
    assert run_retrieval_eval(cases, Index(found), k) == pytest.approx(notes_numbers(cases, found, k), abs=1e-12)


def test_a_case_without_relevant_chunks_counts_0_in_every_mean() -> None:
    cases = [RAGEvalCase("first question", {"k9"}), RAGEvalCase("second question", set())]
    assert run_retrieval_eval(cases, Index(FOUND), 1) == {"precision@1": 0.5, "recall@1": 0.5, "mrr": 0.5}


def test_a_case_for_which_nothing_is_found_counts_0() -> None:
    found = {"first question": ["k1", "k4"], "second question": []}
    assert run_retrieval_eval(CASES, Index(found), 2) == {"precision@2": 0.5, "recall@2": 0.5, "mrr": 0.5}


def test_cases_of_the_same_query_are_each_asked_and_scored() -> None:
    index = Index(FOUND)
    cases = [RAGEvalCase("first question", {"k9"}), RAGEvalCase("first question", {"k2"})]
    assert run_retrieval_eval(cases, index, 3)["mrr"] == pytest.approx((1 + 1 / 3) / 2)
    assert index.asked == [("first question", 3)] * 2


def test_a_repeated_chunk_counts_at_its_best_rank() -> None:
    """Once, and what stands behind it moves up."""
    found = {"q": ["k9", "k9", "k1", "k1", "k1"]}
    result = run_retrieval_eval([RAGEvalCase("q", {"k1", "k2"})], Index(found), 5)
    assert result == {"precision@5": 0.2, "recall@5": 0.5, "mrr": 0.5}


RESULTS: dict[str, Callable[[str], Any]] = {
    "metadata": lambda chunk: {"metadata": {"chunk_id": chunk}},
    "metadata beside other ids": lambda chunk: {"id": "row 7", "metadata": {"chunk_id": chunk, "source": "birds.pdf"}},
    "object with metadata": lambda chunk: SimpleNamespace(metadata={"chunk_id": chunk}, id="row 7"),
    "object with an object of metadata": lambda chunk: SimpleNamespace(metadata=SimpleNamespace(chunk_id=chunk)),
    "object with its score": lambda chunk: (SimpleNamespace(metadata={"chunk_id": chunk}, id=None), 0.5),
    "chunk_id itself": lambda chunk: {"chunk_id": chunk, "id": "row 7", "doc_id": "birds"},
    "id": lambda chunk: {"id": chunk, "metadata": {"source": "birds.pdf"}},
    "text": lambda chunk: chunk,
    "pair": lambda chunk: (chunk, 0.5),
}


@pytest.mark.parametrize("form", RESULTS)
def test_results_tell_their_chunk(form: str) -> None:
    """In their metadata before anything else; the document that a chunk is of is no chunk."""

    def search(query: str) -> list[Any]:
        return [RESULTS[form](chunk) for chunk in FOUND[query]]

    assert run_retrieval_eval(CASES, search) == run_retrieval_eval(CASES, Index(FOUND))


def test_a_key_tells_what_counts_as_a_chunk() -> None:
    def search(query: str) -> list[Any]:
        return [{"metadata": {"chunk_id": "other"}, "payload": {"n": int(chunk[1:])}} for chunk in FOUND[query]]

    result = run_retrieval_eval(CASES, search, key=lambda found: f"k{found['payload']['n']}")
    assert result == run_retrieval_eval(CASES, Index(FOUND))


def test_whole_numbers_are_ids_on_both_sides() -> None:
    numbers: Any = {7, np.int64(8)}
    found: dict[str, list[Any]] = {"q": [np.int64(7), "8"]}
    assert run_retrieval_eval([RAGEvalCase("q", numbers)], Index(found), 2)["recall@2"] == 1.0


def test_relevant_chunks_may_be_any_collection() -> None:
    collections: list[Any] = [["k1", "k4", "k1"], ("k1", "k4"), frozenset({"k1", "k4"}), {"k1": 1, "k4": 2}.keys()]
    for chunks in collections:
        result = run_retrieval_eval([RAGEvalCase("first question", chunks)], Index(FOUND))
        assert result == {"precision@5": 0.2, "recall@5": 0.5, "mrr": 0.5}


def test_cases_may_be_of_a_class_of_the_callers_own_and_come_from_a_generator() -> None:
    own = (SimpleNamespace(query=case.query, relevant_chunk_ids=case.relevant_chunk_ids) for case in CASES)
    assert run_retrieval_eval(own, Index(FOUND)) == run_retrieval_eval(CASES, Index(FOUND))  # type: ignore[arg-type]  # as programs have them


def test_a_coroutine_function_is_a_retriever() -> None:
    async def search(query: str, top_k: int) -> list[str]:
        return FOUND[query][:top_k]

    assert run_retrieval_eval(CASES, search) == run_retrieval_eval(CASES, Index(FOUND))


def test_a_built_in_index_over_chunks_is_a_retriever() -> None:
    chunks = {"birds-1": "red kites eat voles", "birds-2": "owls hoot at night", "birds-3": "voles eat grass"}
    cases = [RAGEvalCase("red kites", {"birds-1"}), RAGEvalCase("owls hoot", {"birds-2", "birds-3"})]
    result = run_retrieval_eval(cases, rf.retrievers.TfIdf(chunks), 1)
    assert result == {"precision@1": 1.0, "recall@1": 0.75, "mrr": 1.0}


def test_cases_are_not_changed() -> None:
    before = copy.deepcopy(CASES)
    run_retrieval_eval(CASES, Index(FOUND))
    samples_from_cases(CASES, ["one", "two"])
    assert before == CASES


# What is refused.


@pytest.mark.parametrize("bad", [0, -1, 1.5, "5", None, True], ids=repr)
def test_a_bad_cutoff_is_named_before_anything_is_asked(bad: Any) -> None:
    index = Index(FOUND)
    with pytest.raises(rf.MetricError, match=rf"k is a whole number from 1, got {bad!r}"):
        run_retrieval_eval(CASES, index, bad)
    assert index.asked == []


def refused(match: str, cases: Any, answers: Any = None) -> None:
    """Both functions say so, and nothing is asked."""
    index = Index(FOUND)
    with pytest.raises(rf.DataError, match=match):
        run_retrieval_eval(cases, index)
    with pytest.raises(rf.DataError, match=match):
        samples_from_cases(cases, answers)
    assert index.asked == []


@pytest.mark.parametrize("empty", [[], (), iter(())], ids=shown)
def test_no_cases_are_an_error(empty: Any) -> None:
    refused("there are no cases", copy.copy(empty))


@pytest.mark.parametrize("bad", [None, 7, "cases", {"q": {"k1"}}, CASES[0]], ids=lambda bad: type(bad).__name__)
def test_what_is_no_list_of_cases_is_refused(bad: Any) -> None:
    refused(rf"the cases are a {type(bad).__name__}; expected a list of RAGEvalCase", bad)


@pytest.mark.parametrize("bad", [None, "q", {"query": "q"}, ("q", {"k1"})], ids=repr)
def test_what_is_no_case_is_named_by_its_place(bad: Any) -> None:
    refused(rf"case 1 is a {type(bad).__name__}.*expected a RAGEvalCase", [CASES[0], bad])


@pytest.mark.parametrize(
    ("chunks", "told"),
    [
        ("k1", "relevant_chunk_ids of case 1 is 'k1'; expected a set or list"),
        (None, "relevant_chunk_ids of case 1 is None"),
        ({"k1": 1}, "relevant_chunk_ids of case 1 is {'k1': 1}"),
        (["k1", None], "relevant_chunk_ids of case 1 hold None; an id is text or a whole number"),
        ([1.0], r"relevant_chunk_ids of case 1 hold 1\.0"),
    ],
    ids=repr,
)
def test_chunk_ids_that_are_none_are_refused(chunks: Any, told: str) -> None:
    refused(told, [CASES[0], RAGEvalCase("q", chunks)])


def test_a_query_that_is_no_text_is_refused_by_its_case() -> None:
    queries: list[Any] = [None, 7, ["q"]]
    for query in queries:
        with pytest.raises(rf.DataError, match="case 1"):
            run_retrieval_eval([CASES[0], RAGEvalCase(query, {"k1"})], Index(FOUND))


def test_a_result_without_an_id_is_refused_by_its_case() -> None:
    """Its document is not taken for it."""
    for result in ({"text": ".."}, {"metadata": {"source": "birds.pdf"}}, {"doc_id": "birds"}):
        with pytest.raises(rf.DataError, match=r"'case 0'.*neither metadata\.chunk_id nor an id of its own; give key="):
            run_retrieval_eval(CASES, lambda _, result=result: [result])


def test_what_the_retriever_raises_is_raised_with_its_case() -> None:
    def search(query: str) -> list[str]:
        if query == "second question":
            raise TimeoutError(query)
        return []

    with pytest.raises(TimeoutError) as caught:
        run_retrieval_eval(CASES, search)
    assert any("'case 1'" in note for note in caught.value.__notes__)


# Samples.


def test_cases_become_samples() -> None:
    frame = samples_from_cases(CASES)
    assert frame.schema == pl.Schema(
        {
            "user_input": pl.String(),
            "response": pl.String(),
            "reference": pl.String(),
            "ground_truth_sources": pl.List(pl.String()),
            "reference_context_ids": pl.List(pl.String()),
        }
    )
    assert frame.rows() == [
        ("first question", None, "the right answer", ["birds.pdf"], ["k1", "k4"]),
        ("second question", None, "another answer", ["owls.pdf", "kites.md"], ["k7"]),
    ]


def test_samples_of_cases_are_scored() -> None:
    """By their answers, the sources that they cite, and the chunks that were found for them."""
    samples = samples_from_cases(CASES, ["The right answer [birds.pdf].", "Perhaps [kites.md; blog]."]).with_columns(
        retrieved_context_ids=pl.Series([["k9", "k1"], ["k7"]])
    )
    right = {
        "contains_answer": [1.0, 0.0],
        "citation_recall": [1.0, 0.5],
        "citation_precision": [1.0, 0.5],
        "context_id_recall": [0.5, 1.0],
        "context_id_precision": [0.5, 1.0],
    }
    report = rf.evaluate_samples(samples, metrics=list(right))
    assert {name: report.per_sample[name].to_list() for name in right} == right


def test_answers_stand_beside_their_cases() -> None:
    given: list[Any] = [
        ["one", None],
        ("one", None),
        iter(["one", None]),
        np.array(["one", None]),
        pl.Series(["one", None]),
    ]
    for answers in given:
        assert samples_from_cases(CASES, answers)["response"].to_list() == ["one", None]


def test_what_a_case_does_not_know_is_null_or_empty() -> None:
    row = samples_from_cases([RAGEvalCase("q", set())]).row(0)
    assert row == ("q", None, None, [], [])


@pytest.mark.parametrize("answers", [[], ["one"], ["one", "two", "three"]], ids=len)
def test_more_or_fewer_answers_than_cases_are_refused(answers: list[str]) -> None:
    with pytest.raises(rf.DataError, match=rf"{len(answers)} answers? for 2 cases; expected one each, or None"):
        samples_from_cases(CASES, answers)


@pytest.mark.parametrize("answers", ["one", {"first question": "one", "second question": "two"}, 7], ids=repr)
def test_answers_that_are_no_list_are_refused(answers: Any) -> None:
    with pytest.raises(rf.DataError, match=r"answers is a .*expected a list of texts in the order of the cases"):
        samples_from_cases(CASES, answers)


@pytest.mark.parametrize(
    ("case", "answer", "told"),
    [
        (CASES[0], 7, "answer of case 0 is a int, 7; expected text"),
        (RAGEvalCase(7, {"k1"}), "one", "query of case 0 is a int, 7"),  # type: ignore[arg-type]  # that is the question
        (RAGEvalCase("q", {"k1"}, 7), "one", "reference_answer of case 0 is a int, 7"),  # type: ignore[arg-type]  # that is the question
        (RAGEvalCase("q", {"k1"}, "r", "birds.pdf"), "one", r"ground_truth_sources of case 0 is 'birds\.pdf'"),  # type: ignore[arg-type]  # that is the question
        (RAGEvalCase("q", {"k1"}, "r", [7]), "one", "ground_truth_sources of case 0 is a int, 7"),  # type: ignore[list-item]  # that is the question
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_is_no_text_is_refused_by_its_case(case: RAGEvalCase, answer: Any, told: str) -> None:
    with pytest.raises(rf.DataError, match=told):
        samples_from_cases([case], [answer])
