"""Haystack: retrievers, document stores, pipelines and split documents of haystack-ai."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("haystack", reason="needs haystack-ai, of the extra `frameworks`")

from haystack import Document, Pipeline, component
from haystack.components.preprocessors import DocumentSplitter
from haystack.components.retrievers.in_memory import InMemoryBM25Retriever, InMemoryEmbeddingRetriever
from haystack.document_stores.in_memory import InMemoryDocumentStore

import rankframe as rf
from tests.frameworks.shared import (
    CHUNKS,
    DOCUMENTS,
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


@component
class Words:
    """An embedder of queries."""

    @component.output_types(embedding=list[float])
    def run(self, text: str) -> dict[str, list[float]]:
        return {"embedding": vector(text)}


@pytest.fixture
def store() -> InMemoryDocumentStore:
    made = InMemoryDocumentStore(embedding_similarity_function="cosine")
    made.write_documents(
        [
            Document(id=chunk, content=text, meta={"source_id": source(chunk)}, embedding=vector(text))
            for chunk, text in CHUNKS.items()
        ]
    )
    return made


@pytest.fixture
def pipeline(store: InMemoryDocumentStore) -> Pipeline:
    made = Pipeline()
    made.add_component("words", Words())
    made.add_component("retriever", InMemoryEmbeddingRetriever(store))
    made.connect("words.embedding", "retriever.query_embedding")
    return made


def scored(store: InMemoryDocumentStore, limit: int) -> dict[str, Ranking]:
    """What the store itself finds."""
    return {
        query: [(doc.id, doc.score) for doc in store.bm25_retrieval(text, top_k=limit)]
        for query, text in QUERIES.items()
    }


# Retrievers.


@pytest.mark.parametrize("limit", [2, 7, 11])  # the library's own top_k is 10
def test_a_retriever_is_run_with_the_limit_as_top_k(
    store: InMemoryDocumentStore, monkeypatch: pytest.MonkeyPatch, limit: int
) -> None:
    answers: list[dict[str, list[Document]]] = []
    monkeypatch.setattr(InMemoryBM25Retriever, "run", recording(InMemoryBM25Retriever.run, answers))
    found = rf.retrieve(InMemoryBM25Retriever(store), QUERIES, limit=limit, collapse="none")
    assert {len(answer["documents"]) for answer in answers} <= set(range(2, limit + 1))
    assert len(answers[0]["documents"]) == limit
    assert {query: [doc for doc, _ in hits] for query, hits in ranked(found).items()} == {
        query: [doc for doc, _ in hits] for query, hits in scored(store, limit).items()
    }


def test_scores_are_those_of_the_retriever(store: InMemoryDocumentStore) -> None:
    wanted = scored(store, 3)
    found = rf.retrieve(InMemoryBM25Retriever(store), QUERIES, limit=3, collapse="none")
    assert ranked(found, "retriever_score" if "retriever_score" in found.run.columns else "score") == wanted
    assert recall_is_right(rf.retrieve(InMemoryBM25Retriever(store), QUERIES))


def test_chunks_are_documents_once() -> None:
    """As the library splits them: each part has an id that it is given, and tells whose part it is."""
    splitter = DocumentSplitter(split_by="word", split_length=4, split_overlap=1)
    parts = splitter.run([Document(id=name, content=text) for name, text in DOCUMENTS.items()])["documents"]
    store = InMemoryDocumentStore()
    store.write_documents(parts)
    documents = rf.retrieve(InMemoryBM25Retriever(store), QUERIES)
    chunks = rf.retrieve(InMemoryBM25Retriever(store), QUERIES, collapse="none")
    owner = {part.id: part.meta["source_id"] for part in parts}
    assert set(owner.values()) == set(DOCUMENTS)
    for query, hits in ranked(chunks).items():
        wanted = dict.fromkeys(owner[chunk] for chunk, _ in hits)
        assert [doc for doc, _ in ranked(documents)[query]] == list(wanted)
    assert documents.log["n_collapsed"].sum() == chunks.run.height - documents.run.height > 0
    assert recall_is_right(documents)


def test_run_async_is_awaited(store: InMemoryDocumentStore) -> None:
    retriever = InMemoryBM25Retriever(store)
    wanted = rf.retrieve(retriever, QUERIES, limit=4)
    for search in (retriever.run_async, store.bm25_retrieval, store.bm25_retrieval_async):
        assert rf.retrieve(search, QUERIES, limit=4, concurrency=2).run.equals(wanted.run)


def test_a_query_may_find_nothing(store: InMemoryDocumentStore) -> None:
    found = rf.retrieve(InMemoryBM25Retriever(store), {"q1": "zebra"})
    assert found.log.select("n_results", "status").rows() == [(0, "ok")]


@pytest.mark.parametrize("top_k", [None, 3])
def test_the_limit_goes_before_a_top_k_of_the_retriever(store: InMemoryDocumentStore, top_k: int | None) -> None:
    retriever = InMemoryBM25Retriever(store) if top_k is None else InMemoryBM25Retriever(store, top_k=top_k)
    found = rf.retrieve(retriever, {"q1": "the"}, limit=11, collapse="none")
    assert found.log["n_results"].to_list() == [11]


# Pipelines.


@pytest.mark.parametrize("limit", [2, 11])
def test_what_a_pipeline_gives_is_recognised(pipeline: Pipeline, limit: int) -> None:
    """Whole, where one of its components alone gives results, or what that component gives, or its documents."""
    answers: list[Any] = []

    def search(query: str, limit: int) -> Any:
        return pipeline.run({"words": {"text": query}, "retriever": {"top_k": limit}})

    found = rf.retrieve(recording(search, answers), QUERIES, limit=limit, collapse="none")
    assert [len(answer["retriever"]["documents"]) for answer in answers] == [limit] * 4
    assert close(ranked(found), similar(limit))
    for part in (
        lambda query, limit: search(query, limit)["retriever"],
        lambda query, limit: search(query, limit)["retriever"]["documents"],
        lambda query, limit: pipeline.run(
            {"words": {"text": query}, "retriever": {"top_k": limit}}, include_outputs_from={"words"}
        ),
    ):
        assert rf.retrieve(part, QUERIES, limit=limit, collapse="none").run.equals(found.run)


def test_a_pipeline_finds_documents_by_their_chunks(pipeline: Pipeline) -> None:
    def search(query: str) -> Any:
        return pipeline.run({"words": {"text": query}, "retriever": {"top_k": 7}})

    async def search_async(query: str) -> Any:
        return await pipeline.run_async({"words": {"text": query}, "retriever": {"top_k": 7}})

    for asked in (search, search_async):
        found = rf.retrieve(asked, QUERIES, concurrency=2)
        assert close(ranked(found), collapsed(similar(7)))
        assert recall_is_right(found)


def test_two_components_with_results_are_not_chosen_from(store: InMemoryDocumentStore) -> None:
    both = Pipeline()
    both.add_component("one", InMemoryBM25Retriever(store))
    both.add_component("other", InMemoryBM25Retriever(store))

    def search(query: str) -> Any:
        return both.run({"one": {"query": query}, "other": {"query": query}})

    with pytest.raises(rf.DataError, match=r"a dict with the keys \['one', 'other'\]"):
        rf.retrieve(search, QUERIES)
    assert rf.retrieve(lambda query: search(query)["other"], QUERIES).run.height > 0


# Documents.


def test_documents_without_scores_are_in_their_order() -> None:
    answer = [Document(id="a", content="one"), Document(id="b", content="two", meta={"source_id": "c"})]
    wanted = {query: [("a", 0.0), ("c", 0.0)] for query in QUERIES}
    assert ranked(rf.retrieve(lambda _: {"documents": answer}, QUERIES)) == by_rank(wanted)
