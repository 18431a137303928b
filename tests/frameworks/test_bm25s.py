"""bm25s: the results of a search, and what it is given as documents."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("bm25s", reason="needs bm25s, of the extra `bm25`")

import bm25s

import rankframe as rf
from tests.frameworks.shared import (
    CHUNKS,
    QUERIES,
    Ranking,
    by_rank,
    collapsed,
    ranked,
    recall_is_right,
    recording,
    source,
    words,
)

NAMES = list(CHUNKS)


@pytest.fixture
def model() -> Any:
    made = bm25s.BM25(dtype="float64")
    made.index([words(text) for text in CHUNKS.values()], show_progress=False)
    return made


def search(model: Any, *texts: str, **options: Any) -> Any:
    return model.retrieve([words(text) for text in texts], show_progress=False, **options)


def scored(model: Any, limit: int) -> dict[str, Ranking]:
    """The scores of all chunks, as the model gives them for one query, in its order of equal ones."""
    found = {}
    for query, text in QUERIES.items():
        numbers, _ = search(model, text, k=limit)
        scores = model.get_scores(words(text))
        found[query] = [(NAMES[number], float(scores[number])) for number in numbers[0]]
        assert [score for _, score in found[query]] == sorted(scores, reverse=True)[:limit]
    return found


def without_scores(rankings: dict[str, Ranking]) -> dict[str, list[str]]:
    return {query: [doc for doc, _ in ranking] for query, ranking in rankings.items()}


@pytest.mark.parametrize("limit", [2, 11])  # the library's own k is 10
def test_documents_and_scores_of_one_query(model: Any, limit: int) -> None:
    answers: list[Any] = []

    def one(query: str, k: int) -> Any:
        return search(model, query, corpus=NAMES, k=k)

    found = rf.retrieve(recording(one, answers), QUERIES, limit=limit, collapse="none")
    assert [answer.scores.shape for answer in answers] == [(1, limit)] * 4
    assert without_scores(ranked(found)) == without_scores(scored(model, limit))
    own = "retriever_score" if "retriever_score" in found.run.columns else "score"
    assert ranked(found, own) == scored(model, limit)


@pytest.mark.parametrize("batch_size", [None, 3])
def test_documents_and_scores_of_a_batch(model: Any, batch_size: int | None) -> None:
    answers: list[Any] = []

    def several(queries: list[str], limit: int) -> Any:
        return search(model, *queries, corpus=NAMES, k=limit)

    found = rf.retrieve(recording(several, answers), QUERIES, limit=5, batch_size=batch_size, collapse="none")
    assert [answer.scores.shape for answer in answers] == ([(4, 5)] if batch_size is None else [(3, 5), (1, 5)])
    assert without_scores(ranked(found)) == without_scores(scored(model, 5))
    assert recall_is_right(rf.retrieve(lambda queries: search(model, *queries, corpus=[*map(source, NAMES)]), QUERIES))


def test_documents_are_mappings_where_the_corpus_holds_mappings(model: Any) -> None:
    corpus = [{"id": chunk, "text": text, "metadata": {"source": source(chunk)}} for chunk, text in CHUNKS.items()]
    found = rf.retrieve(lambda query, k: search(model, query, corpus=corpus, k=k), QUERIES, limit=7)
    assert without_scores(ranked(found)) == without_scores(collapsed(scored(model, 7)))
    assert found.log["n_collapsed"].sum() == 28 - found.run.height > 0
    found = rf.retrieve(lambda query, k: search(model, query, corpus=corpus, k=k), QUERIES, limit=7, collapse="none")
    assert without_scores(ranked(found)) == without_scores(scored(model, 7))


def test_documents_are_numbers_without_a_corpus(model: Any) -> None:
    found = rf.retrieve(lambda query, k: search(model, query, k=k), QUERIES, limit=5)
    assert without_scores(ranked(found)) == {
        query: [str(NAMES.index(chunk)) for chunk in chunks]
        for query, chunks in without_scores(scored(model, 5)).items()
    }


def test_rows_of_documents_alone_are_no_pairs(model: Any) -> None:
    """A row of two numbers, of one query, would be read as a number and its score."""

    def documents(*texts: str, limit: int) -> Any:
        return search(model, *texts, k=limit, return_as="documents")

    with pytest.raises(rf.DataError, match="the answer to one query is an array with rows of ids"):
        rf.retrieve(lambda query, limit: documents(query, limit=limit), QUERIES, limit=2)
    wanted = rf.retrieve(lambda query, k: search(model, query, k=k).documents[0], QUERIES, limit=5)
    assert ranked(wanted) == by_rank(ranked(rf.retrieve(lambda query, k: search(model, query, k=k), QUERIES, limit=5)))
    batch = rf.retrieve(lambda queries, limit: documents(*queries, limit=limit), QUERIES, limit=5)
    assert batch.run.equals(wanted.run)


def test_an_asynchronous_function(model: Any) -> None:
    async def find(query: str, limit: int) -> Any:
        return search(model, query, corpus=NAMES, k=limit)

    found = rf.retrieve(find, QUERIES, limit=5, concurrency=2, collapse="none")
    assert without_scores(ranked(found)) == without_scores(scored(model, 5))


def test_more_than_there_is_is_the_librarys_own_business(model: Any) -> None:
    with pytest.raises(ValueError) as raised:
        rf.retrieve(lambda query, limit: search(model, query, k=limit), QUERIES)
    assert any("query 'q1' failed" in note for note in raised.value.__notes__)
