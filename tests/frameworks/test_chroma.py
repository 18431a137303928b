"""Chroma: collections of chromadb, in memory."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import count
from typing import Any

import pytest

pytest.importorskip("chromadb", reason="needs chromadb, of the extra `frameworks`")

import chromadb
from chromadb import Collection, EmbeddingFunction

import rankframe as rf
from tests.frameworks.shared import (
    CHUNKS,
    QUERIES,
    Ranking,
    by_rank,
    close,
    collapsed,
    ranked,
    recall_is_right,
    recording,
    similar,
    source,
    vector,
)

NUMBERS = count()


class Words(EmbeddingFunction):
    """Without it, Chroma would download a model."""

    def __init__(self) -> None:
        pass

    def __call__(self, input: list[str]) -> list[list[float]]:
        return [vector(text) for text in input]

    @staticmethod
    def name() -> str:
        return "rankframe-words"

    def get_config(self) -> dict[str, Any]:
        return {}

    @classmethod
    def build_from_config(cls, config: dict[str, Any]) -> Words:  # noqa: ARG003  # its name is given
        return cls()


@pytest.fixture
def collection() -> Iterator[Collection]:
    client = chromadb.EphemeralClient()
    name = f"chunks-{next(NUMBERS)}"  # all such clients of a process share what they hold
    made = client.create_collection(
        name, embedding_function=Words(), configuration={"hnsw": {"space": "cosine", "ef_search": 100}}
    )
    made.add(
        ids=list(CHUNKS),
        documents=list(CHUNKS.values()),
        metadatas=[{"source": source(chunk)} for chunk in CHUNKS],
    )
    yield made
    client.delete_collection(name)


def distances(rankings: dict[str, Ranking]) -> dict[str, Ranking]:
    return {query: [(doc, 1 - score) for doc, score in ranking] for query, ranking in rankings.items()}


@pytest.mark.parametrize("limit", [2, 11])  # the library's own n_results is 10
def test_a_collection_is_queried_in_batches(
    collection: Collection, monkeypatch: pytest.MonkeyPatch, limit: int
) -> None:
    answers: list[Any] = []
    monkeypatch.setattr(Collection, "query", recording(Collection.query, answers))
    found = rf.retrieve(collection, QUERIES, limit=limit, collapse="none")
    assert [[len(ids) for ids in answer["ids"]] for answer in answers] == [[limit] * 4]
    assert ranked(found) == by_rank(similar(limit))
    assert close(ranked(found, "retriever_score"), distances(similar(limit)))
    answers.clear()
    again = rf.retrieve(collection, QUERIES, limit=limit, collapse="none", batch_size=3)
    assert [[len(ids) for ids in answer["ids"]] for answer in answers] == [[limit] * 3, [limit]]
    assert again.run.equals(found.run)


def test_documents_are_found_by_their_chunks(collection: Collection) -> None:
    for search in (collection, collection.query):
        found = rf.retrieve(search, QUERIES, limit=7)
        assert ranked(found) == by_rank(collapsed(similar(7)))
        assert close(ranked(found, "retriever_score"), distances(collapsed(similar(7))))
        assert found.log["n_collapsed"].sum() == 28 - found.run.height > 0
        assert recall_is_right(found)


def test_one_query_after_another(collection: Collection) -> None:
    answers: list[Any] = []

    def search(query: str, n_results: int) -> Any:
        return collection.query(query_texts=[query], n_results=n_results)

    found = rf.retrieve(recording(search, answers), QUERIES, limit=11, concurrency=2, collapse="none")
    assert [len(answer["ids"][0]) for answer in answers] == [11] * 4
    assert ranked(found) == by_rank(similar(11))
    assert ranked(rf.retrieve(search, QUERIES, limit=7)) == by_rank(collapsed(similar(7)))


def test_an_asynchronous_function(collection: Collection) -> None:
    async def search(query: str, limit: int) -> Any:
        return collection.query(query_texts=[query], n_results=limit)

    assert ranked(rf.retrieve(search, QUERIES, limit=7)) == by_rank(collapsed(similar(7)))


@pytest.mark.parametrize("include", [[], ["distances"], ["documents"], ["metadatas", "embeddings", "distances"]])
def test_whatever_is_included(collection: Collection, include: list[Any]) -> None:
    """Without metadata nothing tells the document, so the chunk's own id stands."""

    def search(query: str, limit: int) -> Any:
        return collection.query(query_embeddings=[vector(query)], n_results=limit, include=include)

    wanted = collapsed(similar(7)) if "metadatas" in include else similar(7)
    found = rf.retrieve(search, QUERIES, limit=7)
    assert ranked(found) == by_rank(wanted)
    assert ("retriever_score" in found.run.columns) == ("distances" in include)


def test_chunks_without_metadata_are_told_by_their_ids(collection: Collection) -> None:
    collection.delete(ids=["hare#0", "kite#0"])
    collection.add(ids=["hare#0", "kite#0"], documents=[CHUNKS["hare#0"], CHUNKS["kite#0"]])
    found = ranked(rf.retrieve(collection, QUERIES, limit=1))
    assert [doc for ranking in found.values() for doc, _ in ranking] == ["kite#0", "hare#0", "heron", "fox"]


def test_what_is_settled_in_advance_stays(collection: Collection) -> None:
    found = rf.retrieve(partial(collection.query, where={"source": "owl"}), QUERIES, collapse="none")
    assert set(found.run["doc_id"]) == {"owl#0", "owl#1"}
    assert found.log["n_results"].to_list() == [2] * 4


def test_a_query_may_find_nothing(collection: Collection) -> None:
    found = rf.retrieve(partial(collection.query, where={"source": "nowhere"}), QUERIES)
    assert found.log.select("n_results", "status").unique().rows() == [(0, "ok")]


def test_several_answers_to_one_query_are_refused(collection: Collection) -> None:
    texts = list(QUERIES.values())
    with pytest.raises(rf.DataError, match="the answer to one query holds results of 4 queries"):
        rf.retrieve(lambda query: collection.query(query_texts=[query, *texts[1:]]), QUERIES)
