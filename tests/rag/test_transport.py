"""Errors of the way to a model, made by a real server and a real client of the standard library."""

from __future__ import annotations

import json
import socket
import ssl
import urllib.request
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from http.client import IncompleteRead
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankframe.rag.judges import Refused, Truncated
from rankframe.rag.transport import is_transport_error, retry_after
from tests.judges.server import Reply, Server, failure

BUSY = [408, 409, 425, 429, 500, 502, 503, 504, 529, 599]
WRONG = [400, 401, 402, 403, 404, 413, 422, 499]


class Answered(Exception):  # noqa: N818
    """An error as clients make one: with a status and a response."""

    def __init__(self, status: int | None = None, headers: Mapping[str, str] | None = None, **more: object) -> None:
        super().__init__("answered")
        self.status_code = status
        self.response = type("Response", (), {"headers": headers or {}, "__bool__": lambda _self: False})()
        vars(self).update(more)


def failed(call: Callable[[], object]) -> BaseException:
    try:
        call()
    except Exception as error:  # noqa: BLE001
        return error
    raise AssertionError("it did not fail")


def posted(url: str, timeout: float = 5.0) -> object:
    request = urllib.request.Request(f"{url}/v1/messages", data=b'{"model": "m"}', method="POST")
    with urllib.request.urlopen(request, timeout=timeout) as response:
        return json.loads(response.read())


def served(reply: Reply, timeout: float = 5.0) -> BaseException:
    with Server([reply]) as server:
        error = failed(lambda: posted(server.url, timeout))
        if hasattr(error, "close"):
            error.close()  # an HTTPError holds its connection
        return error


@pytest.mark.parametrize("status", BUSY)
def test_a_busy_server_is_asked_again(status: int) -> None:
    assert is_transport_error(served(failure(status)))
    assert is_transport_error(Answered(status))


@pytest.mark.parametrize("status", WRONG)
def test_a_wrong_request_is_not_repeated(status: int) -> None:
    assert not is_transport_error(served(failure(status)))
    assert not is_transport_error(Answered(status))


@pytest.mark.parametrize("broken", ["closed", "half", "reset"])
def test_a_broken_connection_is_tried_again(broken: Any) -> None:
    assert is_transport_error(served(Reply("a text", broken=broken)))


def test_half_a_body_is_told_by_the_name_of_its_error() -> None:
    error = served(Reply("a text", broken="half"))
    assert isinstance(error, IncompleteRead)
    assert not isinstance(error, OSError)


def test_a_refused_connection_and_a_slow_answer_are_tried_again() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        assert is_transport_error(failed(lambda: posted("http://{}:{}".format(*unused.getsockname()))))
    assert is_transport_error(served(Reply(delay=5), timeout=0.1))


def test_a_body_that_is_no_json_is_not_of_the_way() -> None:
    assert not is_transport_error(served(Reply(body="{")))


def test_a_file_that_is_missing_is_not_of_the_way() -> None:
    assert not is_transport_error(failed(lambda: open("no such prompt.txt")))  # noqa: PTH123, SIM115


@pytest.mark.parametrize(
    "error",
    [
        ValueError("v"),
        KeyError("k"),
        RuntimeError("r"),
        Refused("no"),
        Truncated("cu"),
        KeyboardInterrupt(),
        Answered(),
    ],
)
def test_what_is_no_error_of_the_way_is_not_tried_again(error: BaseException) -> None:
    assert not is_transport_error(error)


@pytest.mark.parametrize("name", ["APIConnectionError", "APITimeoutError", "TransportError", "ClientPayloadError"])
def test_errors_of_clients_are_told_by_the_names_of_their_classes_or_bases(name: str) -> None:
    base = type(name, (Exception,), {})
    assert is_transport_error(base())
    assert is_transport_error(type("Special", (base,), {})())


@pytest.mark.parametrize(
    "cause",
    [
        ssl.SSLCertVerificationError("self-signed certificate"),
        type("LocalProtocolError", (Exception,), {})("Illegal header value"),
        type("UnsupportedProtocol", (Exception,), {})("no http://"),
    ],
)
def test_what_never_gets_better_is_not_tried_again_though_a_client_calls_it_a_connection_error(
    cause: Exception,
) -> None:
    linked, unlinked = (type("APIConnectionError", (Exception,), {})("Connection error.") for _ in range(2))
    linked.__cause__ = unlinked.__context__ = cause
    assert not is_transport_error(linked)
    assert not is_transport_error(unlinked)


def test_a_chain_of_errors_that_bites_its_tail_comes_to_an_end() -> None:
    one, other = ConnectionError("one"), ConnectionError("other")
    one.__cause__, other.__cause__ = other, one
    assert is_transport_error(one)


def test_the_status_of_a_response_and_other_names_of_it_count() -> None:
    response = type("Response", (), {"status_code": 503})()
    assert is_transport_error(Answered(response=response))
    assert is_transport_error(Answered(status=None, code=503))
    assert not is_transport_error(Answered(status=None, code="503"))
    assert not is_transport_error(Answered(status=None, code=3))


def test_a_server_says_by_a_header_whether_to_ask_again() -> None:
    assert not is_transport_error(served(failure(500, x_should_retry="false")))
    assert is_transport_error(served(failure(400, x_should_retry="true")))


def test_an_account_without_money_stays_without() -> None:
    assert not is_transport_error(Answered(429, code="insufficient_quota"))


def test_a_connection_of_an_event_loop_that_is_gone_is_made_anew() -> None:
    assert is_transport_error(RuntimeError("Event loop is closed"))


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "7"}, 7.0),
        ({"Retry-After": "0.5"}, 0.5),
        ({"RETRY-AFTER": "0"}, 0.0),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"retry-after-ms": "soon", "retry-after": "9"}, 9.0),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}, 0.0),
        ({"retry-after": "-1"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after": ""}, None),
        ({}, None),
    ],
)
def test_a_response_says_how_long_to_wait(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after(Answered(429, headers)) == seconds


def test_a_header_of_a_real_response_says_how_long_to_wait() -> None:
    assert retry_after(served(failure(429, retry_after="3"))) == 3.0
    assert retry_after(served(failure(429))) is None


@pytest.mark.parametrize("zone", [UTC, None])
def test_a_date_is_so_many_seconds_away(zone: Any) -> None:
    date = (datetime.now(UTC) + timedelta(seconds=100)).replace(tzinfo=zone)
    seconds = retry_after(Answered(429, {"retry-after": format_datetime(date)}))
    assert seconds is not None
    assert 90 < seconds <= 100


def test_an_error_without_a_response_asks_for_no_time() -> None:
    assert retry_after(ValueError()) is None
    assert retry_after(Answered(429, response=None)) is None
    assert retry_after(Answered(429, headers=None, response=type("Odd", (), {"headers": "none"})())) is None


@given(said=st.text() | st.from_regex(r"\w{3}, \d+ \w{3} \d+ \d+:\d+:\d+ [+-]\d+", fullmatch=True))
def test_whatever_a_header_says_the_time_is_finite_or_none(said: str) -> None:
    seconds = retry_after(Answered(429, {"retry-after": said, "retry-after-ms": said}))
    assert seconds is None or 0 <= seconds < float("inf")
