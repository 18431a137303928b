"""LangChain: retrievers, vector stores, chains and documents of langchain-core."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("langchain_core", reason="needs langchain-core, of the extra `frameworks`")

from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableLambda
from langchain_core.vectorstores import InMemoryVectorStore

import rankframe as rf
from tests.frameworks.shared import (
    CHUNKS,
    QUERIES,
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


class Words(Embeddings):
    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [vector(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        return vector(text)


class Fixed(BaseRetriever):
    """A retriever as LangChain's guide writes one: it has documents, and decides itself how many it gives."""

    found: dict[str, list[Document]]
    asked: list[str] = []  # noqa: RUF012  # pydantic copies it for each

    def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:  # noqa: ARG002  # its name is given
        self.asked.append(query)
        return self.found[query]


class FixedAsync(Fixed):
    async def _aget_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:  # noqa: ARG002  # likewise
        self.asked.append(f"async {query}")
        return self.found[query]


def documents(limit: int) -> dict[str, list[Document]]:
    """What a perfect search finds: chunks with an id, and the source in their metadata."""
    return {
        QUERIES[query]: [
            Document(CHUNKS[chunk], id=chunk, metadata={"source": source(chunk), "score": score})
            for chunk, score in ranking
        ]
        for query, ranking in similar(limit).items()
    }


@pytest.fixture
def store() -> InMemoryVectorStore:
    made = InMemoryVectorStore(Words())
    made.add_documents([Document(text, id=chunk, metadata={"source": source(chunk)}) for chunk, text in CHUNKS.items()])
    return made


# Retrievers.


@pytest.mark.parametrize("kind", [Fixed, FixedAsync])
def test_a_retriever_is_invoked_with_every_query(kind: type[Fixed]) -> None:
    retriever = kind(found=documents(5))
    found = rf.retrieve(retriever, QUERIES)
    assert ranked(found) == collapsed(similar(5))
    assert retriever.asked == list(QUERIES.values())
    assert found.log["n_collapsed"].sum() == 20 - found.run.height > 0
    assert recall_is_right(found)


def test_chunks_are_kept_where_nothing_is_collapsed() -> None:
    found = rf.retrieve(Fixed(found=documents(5)), QUERIES, collapse="none")
    assert ranked(found) == similar(5)
    assert not found.log["n_collapsed"].sum()


def test_invoke_takes_no_k_so_that_longer_answers_are_cut() -> None:
    assert ranked(rf.retrieve(Fixed(found=documents(5)), QUERIES, limit=2, collapse="none")) == similar(2)


def test_ainvoke_is_awaited() -> None:
    wanted = collapsed(similar(5))
    written, run_in_a_thread = FixedAsync(found=documents(5)), Fixed(found=documents(5))
    assert ranked(rf.retrieve(written.ainvoke, QUERIES, concurrency=3)) == wanted
    assert sorted(written.asked) == sorted(f"async {text}" for text in QUERIES.values())
    assert ranked(rf.retrieve(run_in_a_thread.ainvoke, QUERIES)) == wanted


def test_a_batch_size_calls_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    answers: list[Any] = []
    monkeypatch.setattr(Fixed, "batch", recording(Fixed.batch, answers))
    found = rf.retrieve(Fixed(found=documents(5)), QUERIES, batch_size=3)
    assert [len(answer) for answer in answers] == [3, 1]
    assert ranked(found) == collapsed(similar(5))
    assert recall_is_right(found)


def test_batch_and_abatch_are_known_by_their_parameter() -> None:
    retriever = FixedAsync(found=documents(5))
    for batch in (retriever.batch, retriever.abatch):
        assert ranked(rf.retrieve(batch, QUERIES)) == collapsed(similar(5))


def test_a_chain_is_a_retriever() -> None:
    chain = Fixed(found=documents(5)) | RunnableLambda(lambda found: found[::2])
    wanted = {query: ranking[::2] for query, ranking in similar(5).items()}
    assert ranked(rf.retrieve(chain, QUERIES, collapse="none")) == wanted
    assert ranked(rf.retrieve(chain, QUERIES, collapse="none", batch_size=2)) == wanted


def test_what_a_retriever_raises_is_in_the_log() -> None:
    known = documents(5)
    del known[QUERIES["q2"]]
    found = rf.retrieve(Fixed(found=known), QUERIES, on_error="record")
    assert found.log["status"].to_list() == ["ok", "failed", "ok", "ok"]
    assert "KeyError" in found.log["error"][1]
    assert rf.evaluate(found, {"q2": {"owl": 1}}, metrics=["mrr"]).scores["status"].to_list() == ["failed"]


# Documents.


@pytest.mark.parametrize("name", ["source", "doc_id", "document_id", "source_id"])
def test_the_document_is_told_by_its_metadata(name: str) -> None:
    found = rf.retrieve(lambda _: [Document("text", id="d1#0", metadata={name: "d1"})], QUERIES)
    assert found.run["doc_id"].unique().to_list() == ["d1"]


def test_a_document_without_metadata_is_told_by_its_id() -> None:
    found = rf.retrieve(lambda _: [Document("text", id="d1"), Document("text", id="d2")], QUERIES)
    assert ranked(found) == {query: [("d1", -1.0), ("d2", -2.0)] for query in QUERIES}


def test_without_ids_of_their_own_chunks_are_only_told_apart_by_a_key() -> None:
    chunks = [
        Document("one", metadata={"source": "d1", "page": 1}),
        Document("two", metadata={"source": "d1", "page": 2}),
    ]
    with pytest.raises(rf.DataError, match="two results have the id 'd1'"):
        rf.retrieve(lambda _: chunks, QUERIES, collapse="none")
    found = rf.retrieve(lambda _: chunks, QUERIES, collapse="none", key=lambda doc: f"d1/{doc.metadata['page']}")
    assert ranked(found) == {query: [("d1/1", -1.0), ("d1/2", -2.0)] for query in QUERIES}


def test_a_document_that_nothing_identifies_is_refused() -> None:
    with pytest.raises(rf.DataError, match=r"a Document, has no id: .*text.*give key="):
        rf.retrieve(lambda _: [Document("text")], QUERIES)


def test_one_document_is_no_list_of_them() -> None:
    """Iterating over it gives the names and values of its fields."""
    with pytest.raises(rf.DataError, match=r"the answer is a Document: .*expected a list of results"):
        rf.retrieve(lambda _: Document("text", id="d1"), QUERIES)


# Vector stores.


@pytest.mark.parametrize("limit", [2, 7, 11])  # the library's own k is 4
def test_similarity_search_takes_the_limit_as_k(store: InMemoryVectorStore, limit: int) -> None:
    answers: list[list[Document]] = []
    found = rf.retrieve(recording(store.similarity_search, answers), QUERIES, limit=limit, collapse="none")
    assert [len(answer) for answer in answers] == [limit] * 4
    assert ranked(found) == by_rank(similar(limit))


def test_similarity_search_has_an_order_and_no_scores(store: InMemoryVectorStore) -> None:
    found = rf.retrieve(store.similarity_search, QUERIES, limit=7)
    assert ranked(found) == by_rank(collapsed(similar(7)))
    assert found.run.columns == ["query_id", "doc_id", "score"]
    assert recall_is_right(found)


def test_similarity_search_with_score_gives_its_scores(store: InMemoryVectorStore) -> None:
    for search in (store.similarity_search_with_score, store.asimilarity_search_with_score):
        assert close(ranked(rf.retrieve(search, QUERIES, limit=7, collapse="none")), similar(7))
        found = rf.retrieve(search, QUERIES, limit=7, concurrency=2)
        assert close(ranked(found), collapsed(similar(7)))
        assert recall_is_right(found)


def test_as_retriever_keeps_the_k_that_it_was_made_with(store: InMemoryVectorStore) -> None:
    retriever = store.as_retriever(search_kwargs={"k": 6})
    assert ranked(rf.retrieve(retriever, QUERIES, collapse="none")) == by_rank(similar(6))
    assert ranked(rf.retrieve(retriever, QUERIES, limit=3, collapse="none")) == by_rank(similar(3))
    assert ranked(rf.retrieve(retriever, QUERIES, batch_size=2)) == by_rank(collapsed(similar(6)))
    assert ranked(rf.retrieve(retriever.ainvoke, QUERIES)) == by_rank(collapsed(similar(6)))


def test_k_of_a_retriever_is_given_in_a_function(store: InMemoryVectorStore) -> None:
    retriever = store.as_retriever()
    found = rf.retrieve(lambda query, limit: retriever.invoke(query, k=limit), QUERIES, limit=7, collapse="none")
    assert ranked(found) == by_rank(similar(7))


def test_a_store_itself_asks_for_more_than_a_query(store: InMemoryVectorStore) -> None:
    with pytest.raises(rf.DataError, match=r"search.*nothing says what its 'search_type' is given.*wrap it"):
        rf.retrieve(store, QUERIES)
