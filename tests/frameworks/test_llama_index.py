"""LlamaIndex: retrievers, indices, query engines and nodes of llama-index-core."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("llama_index.core", reason="needs llama-index-core, of the extra `frameworks`")

from llama_index.core import Document, SummaryIndex, VectorStoreIndex
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.llms import MockLLM
from llama_index.core.node_parser import TokenTextSplitter
from llama_index.core.schema import NodeRelationship, NodeWithScore, QueryBundle, RelatedNodeInfo, TextNode

import rankframe as rf
from tests.frameworks.shared import (
    CHUNKS,
    DOCUMENTS,
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


class Words(BaseEmbedding):
    def _get_query_embedding(self, query: str) -> list[float]:
        return vector(query)

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return vector(query)

    def _get_text_embedding(self, text: str) -> list[float]:
        return vector(text)


class Fixed(BaseRetriever):
    """A retriever as LlamaIndex's guide writes one."""

    def __init__(self, found: dict[str, list[NodeWithScore]]) -> None:
        self.found = found
        self.asked: list[str] = []
        super().__init__()

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        self.asked.append(query_bundle.query_str)
        return self.found[query_bundle.query_str]


def node(chunk: str) -> TextNode:
    parent = RelatedNodeInfo(node_id=source(chunk))
    return TextNode(id_=chunk, text=CHUNKS[chunk], relationships={NodeRelationship.SOURCE: parent})


def perfect(limit: int) -> dict[str, list[NodeWithScore]]:
    return {
        QUERIES[query]: [NodeWithScore(node=node(chunk), score=score) for chunk, score in ranking]
        for query, ranking in similar(limit).items()
    }


@pytest.fixture
def index() -> VectorStoreIndex:
    return VectorStoreIndex([node(chunk) for chunk in CHUNKS], embed_model=Words())


# Retrievers.


def test_a_retriever_is_asked_for_every_query() -> None:
    retriever = Fixed(perfect(5))
    found = rf.retrieve(retriever, QUERIES)
    assert ranked(found) == collapsed(similar(5))
    assert retriever.asked == list(QUERIES.values())
    assert found.log["n_collapsed"].sum() == 20 - found.run.height > 0
    assert recall_is_right(found)


def test_chunks_are_kept_where_nothing_is_collapsed() -> None:
    found = rf.retrieve(Fixed(perfect(5)), QUERIES, collapse="none")
    assert ranked(found) == similar(5)
    assert not found.log["n_collapsed"].sum()


def test_retrieve_takes_no_limit_so_that_longer_answers_are_cut() -> None:
    assert ranked(rf.retrieve(Fixed(perfect(5)), QUERIES, limit=2, collapse="none")) == similar(2)


def test_aretrieve_is_awaited() -> None:
    assert ranked(rf.retrieve(Fixed(perfect(5)).aretrieve, QUERIES, concurrency=3)) == collapsed(similar(5))


def test_nodes_may_come_without_scores() -> None:
    unscored = {text: [NodeWithScore(node=one.node) for one in nodes] for text, nodes in perfect(5).items()}
    assert ranked(rf.retrieve(Fixed(unscored), QUERIES)) == by_rank(collapsed(similar(5)))


@pytest.mark.parametrize(
    ("told", "wanted"),
    [
        ({"doc_id": "mine"}, "mine"),
        ({"source": "kite.pdf"}, "kite"),  # the document that was split, rather than the file
        ({"file_name": "kite.pdf"}, "kite"),
    ],
)
def test_metadata_of_the_node_may_tell_the_document(told: dict[str, str], wanted: str) -> None:
    one = node("kite#0")
    one.metadata = told
    assert rf.retrieve(lambda _: [NodeWithScore(node=one)], QUERIES).run["doc_id"].unique().to_list() == [wanted]


def test_a_node_of_no_document_is_told_by_its_id() -> None:
    answer = [NodeWithScore(node=TextNode(id_="n1", text="one")), NodeWithScore(node=TextNode(id_="n2", text="two"))]
    assert ranked(rf.retrieve(lambda _: answer, QUERIES)) == {query: [("n1", -1.0), ("n2", -2.0)] for query in QUERIES}
    nodes = [one.node for one in answer]
    assert ranked(rf.retrieve(lambda _: nodes, QUERIES)) == {query: [("n1", -1.0), ("n2", -2.0)] for query in QUERIES}


def test_one_node_is_no_list_of_them() -> None:
    with pytest.raises(rf.DataError, match=r"the answer is a NodeWithScore: .*expected a list of results"):
        rf.retrieve(lambda query: perfect(1)[query][0], QUERIES)


# Indices.


def test_an_index_of_vectors(index: VectorStoreIndex) -> None:
    retriever = index.as_retriever(similarity_top_k=7)
    for search in (retriever, retriever.aretrieve):
        assert close(ranked(rf.retrieve(search, QUERIES, collapse="none")), similar(7))
        assert close(ranked(rf.retrieve(search, QUERIES, limit=3, collapse="none")), similar(3))
        found = rf.retrieve(search, QUERIES, concurrency=2)
        assert close(ranked(found), collapsed(similar(7)))
        assert recall_is_right(found)


@pytest.mark.parametrize("limit", [1, 5, 11])  # the library's own similarity_top_k is 2
def test_the_limit_is_given_to_as_retriever_in_a_function(index: VectorStoreIndex, limit: int) -> None:
    answers: list[list[NodeWithScore]] = []

    def search(query: str, limit: int) -> list[NodeWithScore]:
        found: list[NodeWithScore] = index.as_retriever(similarity_top_k=limit).retrieve(query)
        return found

    found = rf.retrieve(recording(search, answers), QUERIES, limit=limit, collapse="none")
    assert [len(answer) for answer in answers] == [limit] * 4
    assert close(ranked(found), similar(limit))


def test_documents_that_the_library_split_are_found_by_their_ids() -> None:
    split = TokenTextSplitter(chunk_size=5, chunk_overlap=0, tokenizer=str.split, include_metadata=False)
    documents = [Document(text=text, id_=name) for name, text in DOCUMENTS.items()]
    index = VectorStoreIndex.from_documents(documents, transformations=[split], embed_model=Words())
    retriever = index.as_retriever(similarity_top_k=4)
    found = rf.retrieve(retriever, QUERIES)
    chunks = rf.retrieve(retriever, QUERIES, collapse="none")
    for query, text in QUERIES.items():
        nodes = retriever.retrieve(text)
        assert [chunk for chunk, _ in ranked(chunks)[query]] == [one.node_id for one in nodes]
        wanted = dict.fromkeys(one.node.ref_doc_id for one in nodes)
        assert [doc for doc, _ in ranked(found)[query]] == list(wanted)
        assert set(wanted) <= set(DOCUMENTS)
    assert chunks.run.height == 16
    assert found.log["n_collapsed"].sum() == 16 - found.run.height > 0


def test_an_index_of_everything_has_an_order_and_no_scores() -> None:
    retriever = SummaryIndex([node(chunk) for chunk in CHUNKS]).as_retriever()
    every = [(chunk, 0.0) for chunk in CHUNKS]
    found = rf.retrieve(retriever, QUERIES, collapse="none", limit=9)
    assert ranked(found) == by_rank(dict.fromkeys(QUERIES, every[:9]))
    found = rf.retrieve(retriever, QUERIES)
    assert ranked(found) == by_rank(collapsed(dict.fromkeys(QUERIES, every)))
    assert found.log["n_collapsed"].to_list() == [6, 6, 6, 6]
    assert recall_is_right(found, k=6)


# Query engines.


def test_a_query_engine_is_asked_for_nodes_and_not_for_a_text(
    index: VectorStoreIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    prompts: list[Any] = []
    monkeypatch.setattr(MockLLM, "complete", lambda _self, prompt, **_: prompts.append(prompt))
    engine = index.as_query_engine(llm=MockLLM(), similarity_top_k=7)
    assert close(ranked(rf.retrieve(engine, QUERIES)), collapsed(similar(7)))
    assert prompts == []


def test_a_response_holds_its_nodes(index: VectorStoreIndex) -> None:
    engine = index.as_query_engine(llm=MockLLM(), similarity_top_k=7)
    for query in (engine.query, engine.aquery):
        assert close(ranked(rf.retrieve(query, QUERIES)), collapsed(similar(7)))
