"""The judge of Anthropic's client, where it differs from the other."""

from __future__ import annotations

import pytest

from rankframe.rag.judges import Refused, Truncated
from tests.judges.server import Reply, Server
from tests.judges.shared import ANTHROPIC

THINKING = {"type": "thinking", "thinking": "Hm.", "signature": "s"}


def test_the_system_prompt_and_a_length_stand_in_the_body(server: Server) -> None:
    ANTHROPIC.judge(server, system="Be strict.")("?")
    (request,) = server.requests
    assert request.path == "/v1/messages"
    assert request.body["system"] == "Be strict."
    assert request.body["max_tokens"] == 1024
    assert ANTHROPIC.judge(server).parameters["max_tokens"] == 1024


def test_blocks_of_text_are_joined_and_others_left_out(server: Server) -> None:
    blocks = [
        THINKING,
        {"type": "redacted_thinking", "data": "x"},
        {"type": "text", "text": '{"score": '},
        {"type": "of the future", "text": "what is this?"},
        {"type": "text", "text": "1}"},
        {"type": "text", "text": None},
    ]
    server.answer = lambda _: Reply(content=blocks)
    assert ANTHROPIC.judge(server, thinking={"type": "enabled", "budget_tokens": 1024})("?") == '{"score": 1}'
    assert server.requests[0].body["thinking"] == {"type": "enabled", "budget_tokens": 1024}


def test_thinking_alone_is_an_empty_text_that_was_cut(server: Server) -> None:
    server.answer = lambda _: Reply(content=[THINKING], stop="length")
    with pytest.raises(Truncated) as caught:
        ANTHROPIC.judge(server)("?")
    assert caught.value.text == ""


def test_what_the_model_said_before_it_refused_is_told(server: Server) -> None:
    server.answer = lambda _: Reply("Well, first", stop="refusal", refusal="a policy")
    with pytest.raises(Refused, match=r"^Well, first$"):
        ANTHROPIC.judge(server)("?")


def test_a_version_of_the_api_is_asked_for_and_told(server: Server) -> None:
    version = {"anthropic-version": "2023-06-01"}
    judge = ANTHROPIC.judge(server, temperature=0, extra_headers=version)
    judge("?")
    assert server.requests[0].headers["anthropic-version"] == "2023-06-01"
    assert server.requests[0].body["temperature"] == 0
    assert judge.parameters["extra_headers"] == version


def test_a_long_reply_needs_a_timeout_and_then_goes(server: Server) -> None:
    assert ANTHROPIC.judge(server, max_tokens=64_000, timeout=600)("yes") == "yes"
