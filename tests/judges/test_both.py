"""What holds for the judge of either client, each asking a real server."""

from __future__ import annotations

import asyncio
import gc
import inspect
import json
import re
import socket
import traceback
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankframe.errors import MetricError
from rankframe.rag.judges import Judge, Refused, Truncated
from rankframe.rag.transport import is_transport_error, retry_after
from tests.judges.server import Reply, Request, Server, echo, failure
from tests.judges.shared import ANTHROPIC, KEY, OPENAI, Kind, across_loops, both, failed, forget, run


@pytest.fixture(scope="module")
def echoing() -> Iterator[dict[str, Judge]]:
    """A judge of each kind that says what it is told, for many prompts."""
    with Server(echo) as server:
        yield {kind.name: kind.judge(server) for kind in (ANTHROPIC, OPENAI)}


@both
@given(prompt=st.text())
def test_prompts_and_texts_of_every_alphabet_pass_unchanged(kind: Kind, echoing: dict[str, Judge], prompt: str) -> None:
    assert echoing[kind.name](prompt) == prompt


@both
def test_a_request_has_the_prompt_the_model_the_key_and_what_else_was_given(kind: Kind, server: Server) -> None:
    judge = kind.judge(server, max_tokens=77, temperature=0.25, seed=7, extra_headers={"x-trace": "t"})
    assert judge("Is it so?\n") == "Is it so?\n"
    (request,) = server.requests
    assert request.body == {
        "model": "a-model",
        "messages": [{"role": "user", "content": "Is it so?\n"}],
        "max_tokens": 77,
        "temperature": 0.25,
        "seed": 7,
    }
    assert request.key == KEY
    assert request.headers["x-trace"] == "t"


@both
def test_what_a_judge_is_known_by_is_what_changes_its_answers(kind: Kind, server: Server) -> None:
    judge = kind.judge(server, max_tokens=77, system="Be strict.", temperature=0, timeout=9)
    assert judge.identity == {
        "name": kind.name,
        "model": "a-model",
        "parameters": {
            "max_tokens": 77,
            "system": "Be strict.",
            "temperature": 0,
            "base_url": kind.base_url(server),
        },
    }
    assert json.loads(json.dumps(judge.identity)) == judge.identity


@both
def test_it_is_known_by_the_same_with_a_client_of_the_callers(kind: Kind, server: Server) -> None:
    given = kind.adapter("a-model", client=kind.client(server), max_tokens=5)
    assert given.identity == kind.judge(server, max_tokens=5).identity
    at_home = kind.package.__dict__[kind.client_name](api_key=KEY)
    assert kind.adapter("a-model", client=at_home).identity == kind.adapter("a-model", api_key=KEY).identity
    assert "base_url" not in kind.adapter("a-model", client=at_home).parameters


@both
def test_user_password_and_query_of_an_address_are_not_told(kind: Kind) -> None:
    judge = kind.adapter("a-model", api_key=KEY, base_url="HTTPS://user:pass-word@Host:8443/v1/?token=pass-word")
    assert judge.parameters["base_url"] == "https://Host:8443/v1"
    assert "pass-word" not in repr(judge)


@both
def test_the_key_stands_nowhere(kind: Kind, server: Server) -> None:
    judge = kind.judge(server, extra_headers={"x-api-key-of-a-gateway": KEY})
    judge("?")
    for said in (repr(judge), repr(judge.ask), str(judge.ask), repr(judge.identity)):
        assert KEY not in said


@both
def test_an_endpoint_that_repeats_the_key_does_not_bring_it_into_an_error(kind: Kind, server: Server) -> None:
    server.answer = lambda request: failure(401, f"wrong key: {request.key}")
    with kind.client(server) as client:
        for judge in (kind.judge(server), kind.adapter("a-model", client=client)):
            error = failed(judge)
            assert "wrong key: [api key]" in str(error)
            assert KEY not in "".join(traceback.format_exception(error)) + repr(error)


@both
@pytest.mark.parametrize("key", [f"{KEY}\n", f" {KEY}", f"{KEY}\u2026", "two keys"])
def test_a_key_that_no_header_can_carry_is_refused_without_showing_it(
    kind: Kind, server: Server, key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(MetricError, match=r"^api_key= is no key: .*; strip it$") as caught:
        kind.judge(server, api_key=key)
    assert key.strip() not in str(caught.value)
    variable = f"{kind.name.upper()}_API_KEY"
    monkeypatch.setenv(variable, key)
    error = failed(kind.judge(server, api_key=None))
    assert str(error).startswith(f"{variable} is no key: ")
    assert not is_transport_error(error)
    assert not server.requests


@both
def test_the_variables_of_the_environment_say_key_and_address(
    kind: Kind, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(f"{kind.name.upper()}_API_KEY", "key-of-the-environment")
    monkeypatch.setenv(f"{kind.name.upper()}_BASE_URL", kind.base_url(server))
    judge = kind.adapter("a-model")
    monkeypatch.delenv(f"{kind.name.upper()}_BASE_URL")  # what it is known by is what it asks, whatever comes
    assert judge("yes") == "yes"
    assert judge.parameters["base_url"] == kind.base_url(server)
    assert server.requests[0].key == "key-of-the-environment"


@both
def test_an_adapter_needs_no_key_before_it_asks(kind: Kind) -> None:
    judge = kind.adapter("a-model")
    error = failed(judge)
    assert re.search(r"api_key", str(error))
    assert not is_transport_error(error)


@both
def test_a_refusal_is_raised_with_the_words_of_the_model(kind: Kind, server: Server) -> None:
    server.answer = lambda _: Reply("I would rather not.", stop="refusal")
    with pytest.raises(Refused, match=r"^I would rather not\.$"):
        kind.judge(server)("?")
    server.answer = lambda _: Reply("", stop="refusal", refusal="It is not allowed.")
    with pytest.raises(Refused, match=r"^It is not allowed\.$"):
        kind.judge(server)("?")
    server.answer = lambda _: Reply("", stop="refusal")
    with pytest.raises(Refused, match=r"refuses|content filter"):
        kind.judge(server)("?")


@both
@pytest.mark.parametrize("stop", ["length", "full"])
def test_a_reply_that_was_cut_is_raised_with_what_came(kind: Kind, server: Server, stop: Any) -> None:
    server.answer = lambda _: Reply('{"score": 0.', stop=stop)
    with pytest.raises(Truncated, match=r"max_tokens=") as caught:
        kind.judge(server, max_tokens=5)("?")
    assert caught.value.text == '{"score": 0.'


@both
@pytest.mark.parametrize("content", ["", []])
def test_nothing_said_is_an_empty_text(kind: Kind, server: Server, content: Any) -> None:
    server.answer = lambda _: Reply(content=content)
    assert kind.judge(server)("?") == ""


OF_THE_WAY = {
    "closed": Reply(broken="closed"),
    "reset": Reply(broken="reset"),
    "half a body": Reply("a text", broken="half"),
    "too many": failure(429, retry_after="7"),
    "broken": failure(500),
    "no gateway": failure(502),
    "overloaded": failure(529),
    "too slow": failure(408),
}
NOT_OF_THE_WAY = {
    "no such key": failure(401),
    "bad request": failure(400),
    "no such model": failure(404),
    "half JSON": Reply(body='{"id": "m'),
    "no body": Reply(body=""),
    "a page": Reply(body="<html>Welcome</html>", headers={"content-type": "text/html"}),
    "a list": Reply(body="[]"),
    "null": Reply(body="null"),
    "an empty object": Reply(body="{}"),
    "another object": Reply(body='{"detail": "what?"}'),
}


@both
@pytest.mark.parametrize("reply", [pytest.param(reply, id=name) for name, reply in OF_THE_WAY.items()])
def test_errors_of_the_way_are_known_as_such_and_the_next_call_succeeds(
    kind: Kind, server: Server, reply: Reply
) -> None:
    judge = kind.judge(server)
    server.answer = lambda _: reply
    error = failed(judge)
    assert is_transport_error(error)
    assert retry_after(error) == (7.0 if reply.status == 429 else None)
    assert len(server.requests) == 1, "the client itself does not ask again"
    server.answer = echo
    assert judge("again") == "again"


@both
@pytest.mark.parametrize("reply", [pytest.param(reply, id=name) for name, reply in NOT_OF_THE_WAY.items()])
def test_other_errors_are_not_of_the_way(kind: Kind, server: Server, reply: Reply) -> None:
    server.answer = lambda _: reply
    error = failed(kind.judge(server))
    assert not is_transport_error(error)
    assert str(error)


@both
def test_an_answer_that_takes_too_long_is_of_the_way(kind: Kind, server: Server) -> None:
    server.answer = lambda _: Reply(delay=10)
    assert is_transport_error(failed(kind.judge(server, timeout=0.2)))


@both
def test_a_connection_that_is_refused_is_of_the_way(kind: Kind) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = "http://{}:{}".format(*unused.getsockname())
        assert is_transport_error(failed(kind.adapter("a-model", api_key=KEY, base_url=url)))


@both
def test_an_error_in_an_answer_of_status_200_is_told_and_of_the_way_where_it_says_so(
    kind: Kind, server: Server
) -> None:
    server.answer = lambda _: Reply(body='{"error": {"message": "Slow down.", "code": 429}}')
    error = failed(kind.judge(server))
    assert str(error) == "the endpoint answered with an error: Slow down."
    assert is_transport_error(error)


@both
def test_a_page_in_place_of_an_answer_is_shown_with_what_to_look_at(kind: Kind, server: Server) -> None:
    server.answer = lambda _: Reply(body="<html>Welcome</html>", headers={"content-type": "text/html"})
    assert re.search(r"'<html>Welcome</html>'; is base_url= the address", str(failed(kind.judge(server))))


@both
def test_sixteen_threads_ask_at_once_with_one_client(
    kind: Kind, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = []
    original = getattr(kind.package, kind.client_name)

    def counting(**options: Any) -> Any:
        made.append(options)
        return original(**options)

    monkeypatch.setattr(kind.package, kind.client_name, counting)
    all_there = Barrier(16, timeout=20)

    def answer(request: Request) -> Reply:
        all_there.wait()
        return echo(request)

    server.answer = answer
    judge = kind.judge(server)
    prompts = [f"prompt {number}" for number in range(32)]
    with ThreadPoolExecutor(16) as threads:
        assert list(threads.map(judge.ask, prompts)) == prompts
    assert len(made) == 1
    assert made[0]["max_retries"] == 0
    assert sorted(server.prompts) == sorted(prompts)


@both
def test_an_async_client_makes_a_judge_that_is_awaited_many_at_once(kind: Kind, server: Server) -> None:
    prompts = [f"prompt {number}" for number in range(16)]
    all_there = Barrier(16, timeout=20)

    def answer(request: Request) -> Reply:
        all_there.wait()
        return echo(request)

    async def many(judge: Judge) -> list[Any]:
        assert inspect.iscoroutinefunction(judge.ask)
        return await asyncio.gather(*map(judge.ask, prompts))

    server.answer = answer
    assert run(kind, server, many) == prompts


@both
def test_an_async_judge_sends_is_known_by_and_raises_the_same(kind: Kind, server: Server) -> None:
    async def four(judge: Judge) -> Any:
        asked: list[Any] = [judge(prompt) for prompt in "abcd"]
        return judge.identity, await asyncio.gather(*asked, return_exceptions=True)

    def answer(request: Request) -> Reply:
        replies = {
            "a": Reply("no", stop="refusal"),
            "b": Reply("cu", stop="length"),
            "c": failure(429, f"not with {request.key}", retry_after="2"),
        }
        return replies.get(request.prompt, echo(request))

    server.answer = answer
    identity, (refused, truncated, busy, text) = run(kind, server, four, system="Be brief.", max_tokens=8)
    assert identity == kind.judge(server, system="Be brief.", max_tokens=8).identity
    assert isinstance(refused, Refused)
    assert isinstance(truncated, Truncated)
    assert is_transport_error(busy)
    assert retry_after(busy) == 2.0
    assert KEY not in str(busy)
    assert text == "d"
    bodies = [request.body for request in server.requests]
    kind.judge(server, system="Be brief.", max_tokens=8)("d")
    assert server.requests[-1].body in bodies


@both
@across_loops
def test_an_async_client_in_another_event_loop_drops_its_connections_as_errors_of_the_way(
    kind: Kind, server: Server
) -> None:
    def answers(judge: Any) -> list[Any]:
        async def answer() -> Any:
            return (await asyncio.gather(judge("yes"), return_exceptions=True))[0]

        return [asyncio.run(answer()) for _ in range(3)]

    first, second, third = answers(kind.adapter("a-model", client=kind.client(server, is_async=True)))
    assert first == third == "yes"
    assert second == "yes" or is_transport_error(second)
    del second
    forget()


@both
def test_the_connections_of_a_client_that_was_made_here_end_with_the_judge(kind: Kind, server: Server) -> None:
    judge = kind.judge(server)
    judge("?")
    assert server.connections == 1
    gc.disable()
    try:
        del judge
        assert server.idle(), "its connection was closed at once"
    finally:
        gc.enable()


@both
def test_a_client_of_the_callers_asks_as_it_was_made(kind: Kind, server: Server) -> None:
    replies = iter([failure(500, retry_after_ms="1"), Reply("at last")])
    server.answer = lambda _: next(replies)
    with kind.client(server, max_retries=1, default_headers={"x-of-the-caller": "yes"}) as client:
        assert kind.adapter("a-model", client=client)("?") == "at last"
    assert [request.headers["x-of-the-caller"] for request in server.requests] == ["yes", "yes"]


@both
def test_a_client_has_its_own_key_and_address(kind: Kind, server: Server) -> None:
    for more in ({"api_key": KEY}, {"base_url": server.url}):
        with pytest.raises(MetricError, match=r"^client= has its own key and address") as caught:
            kind.adapter("a-model", client=kind.client(server), **more)
        assert KEY not in str(caught.value)


@both
def test_what_is_no_such_client_is_refused_at_once(kind: Kind, server: Server) -> None:
    other = OPENAI if kind is ANTHROPIC else ANTHROPIC
    takes = rf"^client= takes an {kind.name}\.{kind.client_name} or Async{kind.client_name}, .*; got "
    with pytest.raises(MetricError, match=takes + rf"a {other.name}\.(_client\.)?{other.client_name}$"):
        kind.adapter("a-model", client=other.client(server))
    with pytest.raises(MetricError, match=takes + rf"the class {kind.name}\.(_client\.)?{kind.client_name}$"):
        kind.adapter("a-model", client=getattr(kind.package, kind.client_name))
    with pytest.raises(MetricError, match=takes + r"a builtins\.str$"):
        kind.adapter("a-model", client=KEY)


@both
@pytest.mark.parametrize("url", ["localhost:8000/v1", "127.0.0.1:8000", "ftp://host/v1", "user:pass-word@host"])
def test_an_address_without_http_is_refused_at_once(kind: Kind, url: str) -> None:
    with pytest.raises(MetricError, match=r"^base_url= must be an address that begins with http://") as caught:
        kind.adapter("a-model", api_key=KEY, base_url=url)
    assert "pass-word" not in str(caught.value)


@both
@pytest.mark.parametrize("max_tokens", [0, -1, 1.5, True, "9"])
def test_a_length_is_a_whole_number_from_1(kind: Kind, server: Server, max_tokens: object) -> None:
    with pytest.raises(MetricError, match=r"^max_tokens=.*: it must be a whole number from 1$"):
        kind.judge(server, max_tokens=max_tokens)


@both
def test_a_prompt_that_no_request_can_carry_fails_alone(kind: Kind, server: Server) -> None:
    judge = kind.judge(server)
    assert not is_transport_error(failed(judge, "half a pair: \ud800"))
    assert judge("whole") == "whole"
