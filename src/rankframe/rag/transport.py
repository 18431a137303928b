"""Which errors of a judge are of the way to it, so that asking again may help, and how long it asks to wait."""

from __future__ import annotations

import math
from collections.abc import Iterator
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

_BUSY = frozenset({408, 409, 425, 429})  # too slow, in conflict, too early, too many; and every status from 500

# of classes of the clients' own, which would have to be imported to be told otherwise
_OF_THE_WAY = frozenset({
    "APIConnectionError",  # anthropic, openai; their timeouts too
    "APITimeoutError",
    "TransportError",  # httpx
    "ClientConnectionError",  # aiohttp
    "ClientPayloadError",
    "IncompleteRead",  # http.client
})  # fmt: skip
_OF_THE_CALLER = frozenset({"LocalProtocolError", "UnsupportedProtocol"})  # httpx: no such header, no such address


def is_transport_error(error: BaseException) -> bool:
    """Whether an error is of the way to a model, or of a model that is too busy: the same call may succeed later.

    An error with an HTTP status (its own `status_code`, `status` or `code`, or that of its `response`) is told by that
    alone: 408, 409, 425, 429 and everything from 500 is, unless the response's header `x-should-retry` says otherwise,
    or the account has no money left. Else connection errors and timeouts are: `OSError` without a
    file, and the classes of anthropic, openai, httpx and aiohttp by name. An address or a header that cannot be, and
    a certificate that is not trusted, are not, though clients call them connection errors.

    >>> is_transport_error(ConnectionResetError()), is_transport_error(TimeoutError()), is_transport_error(KeyError())
    (True, True, False)
    """
    status = _status(error)
    if status is not None:
        said = _headers(error).get("x-should-retry", "").lower()
        return said == "true" or (said != "false" and _is_busy(status, error))
    if any(_is_of_the_caller(one) for one in _chain(error)):
        return False
    if isinstance(error, OSError):
        return error.filename is None
    if isinstance(error, RuntimeError):
        # an async client that served another event loop before: it drops the connections of that loop, one by one
        return str(error) == "Event loop is closed"
    return any(kind.__name__ in _OF_THE_WAY for kind in type(error).__mro__)


def retry_after(error: BaseException) -> float | None:
    """The seconds that an error's response asks to wait, from 0; None where it asks for nothing that is a time.

    They are in the header `retry-after-ms` or `retry-after`, as a number or as a date.

    >>> retry_after(TimeoutError()) is None
    True
    """
    named = _headers(error)
    milliseconds = _number(named.get("retry-after-ms", ""))
    if milliseconds is not None:
        return milliseconds / 1000
    said = named.get("retry-after", "")
    seconds = _number(said)
    return _until(said) if seconds is None else seconds


def _status(error: BaseException) -> int | None:
    for told in (error, getattr(error, "response", None)):
        for name in ("status_code", "status", "code"):
            value = getattr(told, name, None)
            if isinstance(value, int) and 100 <= value < 600:
                return int(value)
    return None


def _is_busy(status: int, error: BaseException) -> bool:
    return (status in _BUSY or status >= 500) and getattr(error, "code", None) != "insufficient_quota"


def _headers(error: BaseException) -> dict[str, str]:
    """The headers of an error's response by their names in lower case; none where it has no response."""
    response = getattr(error, "response", None)  # of requests, it is falsy for an error
    headers: Any = getattr(error if response is None else response, "headers", None)
    return {str(name).lower(): str(value) for name, value in headers.items()} if hasattr(headers, "items") else {}


def _is_of_the_caller(error: BaseException) -> bool:
    """Whether what was asked for is wrong; an `OSError` that is a ValueError too says so in ssl and in requests."""
    return type(error).__name__ in _OF_THE_CALLER or (isinstance(error, OSError) and isinstance(error, ValueError))


def _chain(error: BaseException) -> Iterator[BaseException]:
    """An error and those that it came from."""
    seen: set[int] = set()
    one: BaseException | None = error
    while one is not None and id(one) not in seen:
        seen.add(id(one))
        yield one
        one = one.__cause__ or one.__context__


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if 0 <= value < math.inf else None


def _until(text: str) -> float | None:
    """The seconds until a date of HTTP; 0 for one that is past."""
    try:
        date = parsedate_to_datetime(text)
        aware = date if date.tzinfo else date.replace(tzinfo=UTC)
        return max(0.0, (aware - datetime.now(UTC)).total_seconds())
    except (ValueError, OverflowError):
        return None
