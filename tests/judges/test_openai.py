"""The judge of OpenAI's client, and of endpoints that speak as OpenAI does."""

from __future__ import annotations

import json
from typing import Any

import pytest

from rankframe.errors import MetricError
from rankframe.rag.adapters import openai_judge
from rankframe.rag.endpoints import EndpointError
from rankframe.rag.judges import Refused
from rankframe.rag.transport import is_transport_error
from tests.judges.server import Reply, Server, failure
from tests.judges.shared import OPENAI, failed


def test_the_system_prompt_is_the_first_message_and_no_length_is_set(server: Server) -> None:
    OPENAI.judge(server, system="Be strict.")("?")
    (request,) = server.requests
    assert request.path == "/v1/chat/completions"
    assert request.body == {
        "model": "a-model",
        "messages": [{"role": "system", "content": "Be strict."}, {"role": "user", "content": "?"}],
    }
    assert "max_tokens" not in OPENAI.judge(server).parameters


def test_an_endpoint_of_ones_own_gets_a_key_that_is_none(server: Server) -> None:
    assert openai_judge("local", base_url=server.v1)("yes") == "yes"
    assert server.requests[0].key == "not-needed"


def test_the_key_that_is_none_is_not_hidden_in_errors(server: Server) -> None:
    server.answer = lambda _: failure(400, "a system prompt is not-needed here")
    assert "a system prompt is not-needed here" in str(failed(openai_judge("local", base_url=server.v1)))


def test_a_key_of_the_environment_goes_before_that(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "key-of-the-environment")
    openai_judge("local", base_url=server.v1)("?")
    assert server.requests[0].key == "key-of-the-environment"


def test_without_an_address_a_key_is_needed() -> None:
    error = failed(openai_judge("a-model"))
    assert "OPENAI_API_KEY" in str(error)


def test_a_refusal_counts_however_the_reply_ended(server: Server) -> None:
    server.answer = lambda _: Reply("", refusal="I cannot judge this.")
    with pytest.raises(Refused, match=r"^I cannot judge this\.$"):
        OPENAI.judge(server)("?")


def test_a_filter_of_the_prompt_is_a_refusal_too(server: Server) -> None:
    body = json.dumps({"error": {"message": "The prompt was filtered.", "code": "content_filter"}})
    server.answer = lambda _: Reply(status=400, body=body)
    with pytest.raises(Refused, match=r"The prompt was filtered\."):
        OPENAI.judge(server)("?")


def test_an_account_without_money_is_not_asked_again(server: Server) -> None:
    body = json.dumps({"error": {"message": "Buy credits.", "code": "insufficient_quota"}})
    server.answer = lambda _: Reply(status=429, body=body)
    assert not is_transport_error(failed(OPENAI.judge(server)))


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (None, ""),
        ([{"type": "thinking", "thinking": []}, {"type": "text", "text": "ye"}, {"type": "text", "text": "s"}], "yes"),
        (["no block"], ""),
    ],
)
def test_content_that_is_no_text_is_read_as_far_as_it_says_something(server: Server, content: Any, text: str) -> None:
    server.answer = lambda _: Reply(content=content)
    assert OPENAI.judge(server)("?") == text


def test_content_of_another_kind_is_told(server: Server) -> None:
    server.answer = lambda _: Reply(content={"score": 1})
    with pytest.raises(EndpointError, match=r"something else than text: \{'score': 1\}"):
        OPENAI.judge(server)("?")


@pytest.mark.parametrize(
    "choices",
    [
        [],
        [{"index": 0, "finish_reason": "stop"}],
        [{"index": 0, "finish_reason": "stop", "message": None}],
    ],
)
def test_a_completion_without_a_message_is_told(server: Server, choices: list[Any]) -> None:
    server.answer = lambda _: Reply(body=json.dumps({"id": "c", "choices": choices}))
    with pytest.raises(EndpointError, match=r"^the endpoint answered with something else than a chat completion: "):
        OPENAI.judge(server)("?")


def test_an_error_of_a_choice_is_told_with_its_status(server: Server) -> None:
    choice = {"finish_reason": "error", "error": {"code": 502, "message": "The provider hung up."}}
    message = {"role": "assistant", "content": "half a rep"}
    server.answer = lambda _: Reply(body=json.dumps({"choices": [choice | {"message": message}]}))
    error = failed(OPENAI.judge(server))
    assert str(error) == "the endpoint answered with an error: The provider hung up."
    assert is_transport_error(error)


def test_several_answers_at_once_are_refused(server: Server) -> None:
    with pytest.raises(MetricError, match=r"^'n' cannot be given: what is asked for is one whole answer"):
        OPENAI.judge(server, n=3)
