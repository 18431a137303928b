"""The embedder of OpenAI's client."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankframe.errors import MetricError
from rankframe.rag.adapters import openai_embedder
from rankframe.rag.endpoints import EndpointError
from rankframe.rag.judges import Embedder
from rankframe.rag.transport import is_transport_error
from tests.judges.server import Reply, Request, Server, failure
from tests.judges.shared import ANTHROPIC, KEY, OPENAI


def by_length(request: Request) -> list[tuple[int, list[float]]]:
    """The vector of a text: its length, its place, and a number that a float32 has exactly."""
    return [(index, [float(len(text)), float(index), 0.1015625]) for index, text in enumerate(request.body["input"])]


def expected(texts: list[str]) -> list[list[float]]:
    return [[float(len(text)), float(index), 0.1015625] for index, text in enumerate(texts)]


@pytest.fixture(scope="module")
def mixing() -> Iterator[tuple[Server, Embedder]]:
    """A server whose rows are in the order that its attribute `answer` makes, and an embedder that asks it."""
    with Server() as running:
        yield running, openai_embedder("vectors", base_url=running.v1, api_key=KEY)


@pytest.mark.parametrize("encoded", [True, False])
@given(mixed=st.lists(st.text(), min_size=1, max_size=8).flatmap(lambda texts: st.permutations(list(enumerate(texts)))))
def test_vectors_are_in_the_order_of_the_texts_however_they_come(
    mixing: tuple[Server, Embedder], mixed: list[tuple[int, str]], *, encoded: bool
) -> None:
    server, embed = mixing
    texts = [text for _, text in sorted(mixed)]
    server.answer = lambda request: Reply(vectors=[by_length(request)[index] for index, _ in mixed], encoded=encoded)
    assert embed(texts) == expected(texts)
    assert server.requests[-1].body["input"] == texts


def test_a_request_has_the_model_the_key_and_what_else_was_given(server: Server) -> None:
    server.answer = lambda request: Reply(vectors=by_length(request))
    embed = openai_embedder("vectors", base_url=server.v1, api_key=KEY, dimensions=3, encoding_format="float")
    assert embed(["a", "bc"]) == expected(["a", "bc"])
    (request,) = server.requests
    assert request.path == "/v1/embeddings"
    assert request.body == {"model": "vectors", "input": ["a", "bc"], "dimensions": 3, "encoding_format": "float"}
    assert request.key == KEY
    assert embed.identity == {
        "name": "openai",
        "model": "vectors",
        "parameters": {"dimensions": 3, "encoding_format": "float", "base_url": server.v1},
    }
    assert KEY not in repr(embed)


def test_no_texts_are_no_vectors_and_no_request(server: Server) -> None:
    assert openai_embedder("vectors", base_url=server.v1)([]) == []

    async def none() -> Any:
        async with OPENAI.client(server, is_async=True) as client:
            return await openai_embedder("vectors", client=client)([])

    assert asyncio.run(none()) == []
    assert not server.requests


def test_an_async_client_makes_an_embedder_that_is_awaited(server: Server) -> None:
    server.answer = lambda request: Reply(vectors=by_length(request)[::-1])

    async def embedded() -> Any:
        async with OPENAI.client(server, is_async=True) as client:
            return await openai_embedder("vectors", client=client)(["a", "bc", "def"])

    assert asyncio.run(embedded()) == expected(["a", "bc", "def"])


@pytest.mark.parametrize("indices", [[0], [0, 0], [1, 2], [0, 1, 2], [None, None]])
def test_rows_that_are_not_one_for_each_text_are_refused(server: Server, indices: list[Any]) -> None:
    server.answer = lambda _: Reply(vectors=[(index, [1.0]) for index in indices])
    with pytest.raises(EndpointError, match=r"something else than a vector for each of 2 texts: 'indices \["):
        openai_embedder("vectors", base_url=server.v1)(["a", "b"])


@pytest.mark.parametrize("body", ["{}", "null", '"text"', '{"data": null}', '{"data": []}'])
def test_what_holds_no_vectors_is_an_error(server: Server, body: str) -> None:
    server.answer = lambda _: Reply(body=body)
    with pytest.raises((ValueError, TypeError, AttributeError)) as caught:
        openai_embedder("vectors", base_url=server.v1)(["a"])
    assert not is_transport_error(caught.value)


def test_a_busy_endpoint_is_of_the_way(server: Server) -> None:
    server.answer = lambda _: failure(503)
    with pytest.raises(OPENAI.package.InternalServerError) as caught:
        openai_embedder("vectors", base_url=server.v1)(["a"])
    assert is_transport_error(caught.value)


def test_a_client_without_embeddings_is_refused(server: Server) -> None:
    with pytest.raises(MetricError, match=r"what has \.embeddings\.create as they do; got a anthropic\."):
        openai_embedder("vectors", client=ANTHROPIC.client(server))


def test_texts_are_not_a_parameter(server: Server) -> None:
    with pytest.raises(MetricError, match=r"^'input' cannot be given"):
        openai_embedder("vectors", base_url=server.v1, input=["a"])
