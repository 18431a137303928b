"""Adapters of clients, as far as they need no client."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import pytest

from rankframe.errors import ExtraError, MetricError
from rankframe.rag.adapters import anthropic_judge, openai_embedder, openai_judge
from rankframe.rag.endpoints import EndpointError, Request, unusable
from rankframe.rag.transport import is_transport_error

ADAPTERS = [
    pytest.param(anthropic_judge, "anthropic", id="anthropic_judge"),
    pytest.param(openai_judge, "openai", id="openai_judge"),
    pytest.param(openai_embedder, "openai", id="openai_embedder"),
]


@pytest.mark.parametrize(("adapter", "package"), ADAPTERS)
def test_without_its_client_an_adapter_says_at_once_what_to_install(
    adapter: Callable[..., object], package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)  # which makes its import fail
    with pytest.raises(ExtraError, match=rf"^this needs {package}, .*: pip install 'rankframe\[judges\]'$"):
        adapter("a-model", api_key="a-key")


def request(model: Any = "m", **parameters: Any) -> Request:
    return Request(model, {"max_tokens": 9}, parameters, ("messages", "n", "stream"))


def test_the_body_goes_as_it_is_and_is_told() -> None:
    made = request(temperature=0, extra_body={"top_k": 3}, stop_sequences=("a", "b"), logit_bias={7: -100})
    body = {"max_tokens": 9, "temperature": 0, "stop_sequences": ["a", "b"], "logit_bias": {"7": -100}, "top_k": 3}
    assert made.sent == {"model": "m", "extra_body": body}
    assert made.told == body


def test_what_is_sent_is_a_copy() -> None:
    thinking = {"type": "enabled"}
    made = request(thinking=thinking)
    thinking["type"] = "disabled"
    made.told["thinking"]["type"] = "told"
    assert made.sent["extra_body"]["thinking"] == {"type": "enabled"}


def test_how_long_to_wait_and_headers_do_not_tell_answers_apart_but_versions_do() -> None:
    made = request(
        timeout=3.0,
        extra_headers={"Anthropic-Version": "2023-06-01", "X-Api-Key": "secret-key", "x-trace": "7"},
        extra_query={"api-version": "2026-01-01", "key": "secret-key"},
    )
    assert made.sent["timeout"] == 3.0
    assert made.sent["extra_headers"]["X-Api-Key"] == "secret-key"
    assert made.told == {
        "max_tokens": 9,
        "extra_headers": {"anthropic-version": "2023-06-01"},
        "extra_query": {"api-version": "2026-01-01"},
    }


def test_secrets_in_a_body_are_sent_and_not_told() -> None:
    servers = [{"url": "http://tools", "authorization_token": "secret-key"}]
    made = request(extra_body={"api_key": "secret-key", "mcp_servers": servers})
    assert made.sent["extra_body"]["mcp_servers"] == servers
    assert made.sent["extra_body"]["api_key"] == "secret-key"
    assert made.told == {"max_tokens": 9, "mcp_servers": [{"url": "http://tools"}]}


@pytest.mark.parametrize("name", ["auth_token", "max_retries", "http_client", "default_headers", "azure_api_key"])
def test_options_of_a_client_are_not_sent_in_a_body(name: str) -> None:
    with pytest.raises(MetricError, match=rf"'{name}': an option of the client; make one with it") as caught:
        request(**{name: "secret-key"})
    assert "secret-key" not in str(caught.value)


@pytest.mark.parametrize("parameters", [{"messages": []}, {"n": 3}, {"stream": True}, {"extra_body": {"model": "o"}}])
def test_what_an_adapter_decides_is_refused(parameters: dict[str, Any]) -> None:
    with pytest.raises(MetricError, match=r"cannot be given: what is asked for is one whole answer to each prompt"):
        request(**parameters)


@pytest.mark.parametrize("value", [{1, 2}, float("nan"), object(), b"bytes"])
def test_what_is_no_json_is_refused(value: object) -> None:
    with pytest.raises(MetricError, match=r"^stop= cannot be sent as JSON: "):
        request(stop=value)


@pytest.mark.parametrize("model", ["", None, 3])
def test_a_model_has_a_name(model: object) -> None:
    with pytest.raises(MetricError, match=r"^model=.*: it must be the name of a model"):
        request(model)


@pytest.mark.parametrize(("code", "again"), [(429, True), (503, True), (400, False), ("over", False), (None, False)])
def test_an_error_in_a_good_answer_is_told_with_its_status(code: object, again: bool) -> None:  # noqa: FBT001
    answer = type("Answer", (), {"error": {"message": "too much", "code": code}})()
    error = unusable(answer, "a message")
    assert isinstance(error, EndpointError)
    assert str(error) == "the endpoint answered with an error: too much"
    assert is_transport_error(error) == again


def test_a_page_in_place_of_an_answer_is_shown() -> None:
    error = unusable("<html>" + "x" * 1000, "a message")
    assert str(error).startswith("the endpoint answered with something else than a message: '<html>xxx")
    assert str(error).endswith("is base_url= the address of its API, with /v1 where it has one?")
    assert len(str(error)) < 400
    assert not is_transport_error(error)
