"""Qdrant: what the client of qdrant-client finds, in memory."""

from __future__ import annotations

import asyncio
from typing import Any
from uuid import UUID

import pytest

pytest.importorskip("qdrant_client", reason="needs qdrant-client, of the extra `frameworks`")

from qdrant_client import AsyncQdrantClient, QdrantClient, models

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

SPACE = models.VectorParams(size=len(vector("")), distance=models.Distance.COSINE)
POINTS: dict[str, dict[str, int | str]] = {
    "numbers": {chunk: 100 + place for place, chunk in enumerate(CHUNKS)},
    "uuids": {chunk: str(UUID(int=place)) for place, chunk in enumerate(CHUNKS)},
}


def points(kind: str) -> list[models.PointStruct]:
    """Every chunk, under a number or a UUID, the only ids that Qdrant takes, with its document in the payload."""
    return [
        models.PointStruct(id=POINTS[kind][chunk], vector=vector(text), payload={"doc_id": source(chunk)})
        for chunk, text in CHUNKS.items()
    ]


def named(kind: str, rankings: dict[str, Ranking]) -> dict[str, Ranking]:
    return {
        query: [(str(POINTS[kind][chunk]), score) for chunk, score in ranking] for query, ranking in rankings.items()
    }


@pytest.fixture(params=list(POINTS))
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def client(kind: str) -> QdrantClient:
    made = QdrantClient(":memory:")
    made.create_collection("chunks", vectors_config=SPACE)
    made.upsert("chunks", points(kind))
    return made


def test_query_points_finds_documents_by_their_chunks(client: QdrantClient) -> None:
    found = rf.retrieve(
        lambda query, limit: client.query_points("chunks", query=vector(query), limit=limit), QUERIES, limit=7
    )
    assert close(ranked(found), collapsed(similar(7)))
    assert found.log["n_collapsed"].sum() == 28 - found.run.height > 0
    assert recall_is_right(found)


@pytest.mark.parametrize("limit", [2, 11])  # the library's own is 10
def test_points_are_told_by_their_own_ids_where_nothing_is_collapsed(
    client: QdrantClient, kind: str, limit: int
) -> None:
    answers: list[models.QueryResponse] = []

    def search(query: str, limit: int) -> models.QueryResponse:
        return client.query_points("chunks", query=vector(query), limit=limit)

    found = rf.retrieve(recording(search, answers), QUERIES, limit=limit, collapse="none")
    assert [len(answer.points) for answer in answers] == [limit] * 4
    assert close(ranked(found), named(kind, similar(limit)))


def test_points_are_told_by_their_own_ids_without_payload(client: QdrantClient, kind: str) -> None:
    found = rf.retrieve(
        lambda query: client.query_points("chunks", query=vector(query), limit=7, with_payload=False).points, QUERIES
    )
    assert close(ranked(found), named(kind, similar(7)))


def test_a_batch_of_queries(client: QdrantClient) -> None:
    answers: list[list[models.QueryResponse]] = []

    def search(queries: list[str], limit: int) -> list[models.QueryResponse]:
        requests = [models.QueryRequest(query=vector(text), limit=limit, with_payload=True) for text in queries]
        found: list[models.QueryResponse] = client.query_batch_points("chunks", requests)
        return found

    found = rf.retrieve(recording(search, answers), QUERIES, limit=7, batch_size=3)
    assert [[len(answer.points) for answer in batch] for batch in answers] == [[7, 7, 7], [7]]
    assert close(ranked(found), collapsed(similar(7)))


def test_groups_by_document_are_documents(client: QdrantClient) -> None:
    found = rf.retrieve(
        lambda query, limit: client.query_points_groups(
            "chunks", group_by="doc_id", query=vector(query), limit=limit, group_size=1
        ),
        QUERIES,
        limit=4,
    )
    every = collapsed(similar(len(CHUNKS)))
    assert ranked(found) == by_rank({query: ranking[:4] for query, ranking in every.items()})


def test_an_asynchronous_client(kind: str) -> None:
    client = AsyncQdrantClient(":memory:")

    async def fill() -> None:
        await client.create_collection("chunks", vectors_config=SPACE)
        await client.upsert("chunks", points(kind))

    async def search(query: str, limit: int) -> models.QueryResponse:
        return await client.query_points("chunks", query=vector(query), limit=limit)

    asyncio.run(fill())
    found = rf.retrieve(search, QUERIES, limit=7, concurrency=3)
    assert close(ranked(found), collapsed(similar(7)))
    assert close(ranked(rf.retrieve(search, QUERIES, limit=3, collapse="none")), named(kind, similar(3)))
    assert recall_is_right(found)


def test_one_point_is_no_list_of_them(client: QdrantClient) -> None:
    """Iterating over it gives the names and values of its fields, of which the first is ("id", 100)."""
    with pytest.raises(rf.DataError, match=r"the answer is a ScoredPoint: .*expected a list of results"):
        rf.retrieve(lambda query: client.query_points("chunks", query=vector(query)).points[0], QUERIES, limit=1)


def test_a_client_itself_asks_for_more_than_a_query(client: QdrantClient) -> None:
    with pytest.raises(rf.DataError, match=r"none of its parameters is the query.*wrap it"):
        rf.retrieve(client, QUERIES)


def test_what_the_client_raises_is_raised(client: QdrantClient) -> None:
    def search(query: str) -> Any:
        return client.query_points("absent", query=vector(query))

    with pytest.raises(ValueError, match="absent") as raised:
        rf.retrieve(search, QUERIES)
    assert any("query 'q1' failed" in note for note in raised.value.__notes__)
