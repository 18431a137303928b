"""A client of a model's endpoint, made once and late, and what is sent to it, told apart from what may be told."""

from __future__ import annotations

import importlib
import json
import os
import re
import weakref
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from operator import attrgetter
from threading import Lock
from typing import Any
from urllib.parse import urlsplit

from rankframe.errors import ExtraError, MetricError, RankframeError, listed

NO_KEY = "not-needed"
"""The key that is sent to an endpoint of one's own where none is given."""

_OPTIONS = ("timeout", "extra_headers", "extra_query")  # of a request, beside its body
_VERSIONS = frozenset({"anthropic-beta", "anthropic-version", "api-version", "openai-beta"})
_OF_CLIENTS = frozenset({
    "credentials", "default_headers", "default_query", "http_client", "max_retries", "organization", "project",
})  # fmt: skip
_SECRET = re.compile(r"(?i)api[-_]?key|auth[-_]?token|access[-_]?token|authorization|credential|password|secret")
_SHORTEST_KEY = 8  # what is shorter stands in a message by chance


class EndpointError(RankframeError):
    """An endpoint answered with something else than what was asked for; `status_code` is the one that it tells."""

    def __init__(self, message: str, status_code: int | None = None) -> None:
        super().__init__(message)
        self.status_code = status_code


def unusable(answer: object, what: str) -> EndpointError:
    """What to raise for an answer that is not `what`: the error that it tells, or how it begins."""
    error = getattr(answer, "error", None)
    if isinstance(error, Mapping):  # some gateways tell errors with status 200
        code = error.get("code")
        status = code if isinstance(code, int) and not isinstance(code, bool) else None
        return EndpointError(f"the endpoint answered with an error: {error.get('message', error)!s:.500}", status)
    said = getattr(answer, "model_extra", None) or answer
    return EndpointError(
        f"the endpoint answered with something else than {what}: {said!r:.200}; "
        "is base_url= the address of its API, with /v1 where it has one?"
    )


@dataclass(frozen=True, slots=True)
class Wire:
    """A client's class, the part of it that asks, the prefix of its variables and its maker's own address."""

    package: str
    client: str
    asks: str
    variables: str
    address: str
    has_keyless: bool  # whether an endpoint elsewhere commonly wants no key


class Endpoint:
    """Where a judge asks: the caller's client, or one that is made at the first call, whichever thread makes it.

    told: the address, unless it is the maker's own, without user, password and query.

    Raises:
        ExtraError: where a client is to be made, and its package is not installed.
        MetricError: for a client of another kind, an address or a key that cannot be.
    """

    def __init__(self, wire: Wire, client: Any, api_key: str | None, base_url: str | None) -> None:
        self._wire = wire
        self._lock = Lock()
        self._client = client
        if client is None:
            self._package = _imported(wire.package)
            self._key = _checked_key(api_key, "api_key=")
            self._url = _checked_url(base_url or os.environ.get(f"{wire.variables}_BASE_URL"))
        else:
            _check_client(client, wire)
            if api_key is not None or base_url is not None:
                raise MetricError("client= has its own key and address: give it without api_key= and base_url=")
            self._url = getattr(client, "base_url", None)
        address = "" if self._url is None else _address(str(self._url))
        self.told: dict[str, Any] = {"base_url": address} if address not in {"", wire.address} else {}

    def client(self) -> Any:
        """The client; the same one for every call."""
        with self._lock:
            if self._client is None:
                self._client = self._made()
        return self._client

    def asking(
        self,
        ask: Callable[[Any], Any],
        read: Callable[[Any, Any], Any],
        around: Callable[[], AbstractContextManager[None]] = nullcontext,
    ) -> Callable[[Any], Any]:
        """A function that asks and reads the answer, a coroutine function where the client is async.

        ask: sends what it is given; read: takes that and the answer; around: what a call runs in.
        """

        async def later(given: Any) -> Any:
            with self._key_hidden(), around():
                return read(given, await ask(given))

        def now(given: Any) -> Any:
            with self._key_hidden(), around():
                return read(given, ask(given))

        return later if hasattr(self._client, "__aenter__") else now

    def _made(self) -> Any:
        wire, variable = self._wire, f"{self._wire.variables}_API_KEY"
        key = self._key or _checked_key(os.environ.get(variable), variable)
        if key is None and wire.has_keyless and self._url is not None:
            key = NO_KEY
        given = {"api_key": key, "base_url": self._url}
        options = {name: value for name, value in given.items() if value is not None}
        made = getattr(self._package, wire.client)(max_retries=0, **options)  # attempts are counted by who asks
        weakref.finalize(self, made.close)  # its connections end with the judge, not when it is found as garbage
        return made

    @contextmanager
    def _key_hidden(self) -> Iterator[None]:
        """Errors of a call, without the key, should the endpoint repeat it in what it says."""
        try:
            yield
        except Exception as error:
            for name in ("api_key", "auth_token"):
                key = getattr(self._client, name, None)
                if isinstance(key, str) and len(key) >= _SHORTEST_KEY and key != NO_KEY:
                    _hide(key, error)
            raise


class Request:
    """What goes into every request beside the prompt.

    sent: the arguments of the client's `create`; the body stands in `extra_body`, as clients of other versions name
    other parts of it. told: the body without anything secret, and the headers and queries that name a version.

    Raises:
        MetricError: for what is no JSON, is the client's, or would change what is asked.
    """

    def __init__(
        self, model: str, written: Mapping[str, Any], parameters: Mapping[str, Any], reserved: Collection[str]
    ) -> None:
        if not isinstance(model, str) or not model:
            raise MetricError(f"model={model!r:.80}: it must be the name of a model")
        of_clients = [name for name in parameters if name in _OF_CLIENTS or _SECRET.search(name)]
        if of_clients:
            raise MetricError(f"{listed(of_clients)}: an option of the client; make one with it and give it as client=")
        options = {name: parameters[name] for name in _OPTIONS if name in parameters}
        more = parameters.get("extra_body") or {}
        given = {name: value for name, value in parameters.items() if name not in {*_OPTIONS, "extra_body"}} | more
        taken = [name for name in given if name in reserved or name == "model"]
        if taken:
            raise MetricError(f"{listed(taken)} cannot be given: what is asked for is one whole answer to each prompt")
        body = _json({**written, **given})
        self.sent: dict[str, Any] = {"model": model, "extra_body": body, **options}
        self.told: dict[str, Any] = _without_secrets(body) | _versions(options)


def _imported(package: str) -> Any:
    try:
        return importlib.import_module(package)
    except ImportError as error:
        raise ExtraError(f"this needs {package}, which is not installed: pip install 'rankframe[judges]'") from error


def _check_client(client: object, wire: Wire) -> None:
    try:
        asks = callable(attrgetter(f"{wire.asks}.create")(client))
    except AttributeError:
        asks = False
    if not asks:
        kind = client if isinstance(client, type) else type(client)
        raise MetricError(
            f"client= takes an {wire.package}.{wire.client} or Async{wire.client}, or what has .{wire.asks}.create as "
            f"they do; got {'the class' if kind is client else 'a'} {kind.__module__}.{kind.__qualname__}"
        )


def _checked_key(key: str | None, where: str) -> str | None:
    """A key that a header can carry, or None; clients tell of others as broken connections, with the key."""
    if not key:
        return None
    if not isinstance(key, str) or not key.isascii() or not key.isprintable() or " " in key:
        raise MetricError(f"{where} is no key: it has a space, a line break or another sign that no key has; strip it")
    return key


def _checked_url(url: str | None) -> str | None:
    if not url:
        return None
    if not str(url).lower().startswith(("http://", "https://")):
        raise MetricError("base_url= must be an address that begins with http:// or https://")
    return str(url)


def _address(url: str) -> str:
    """An address without user, password, query and the last slash."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}".rstrip("/")


def _json(body: dict[str, Any]) -> dict[str, Any]:
    """A copy of a body, as JSON has it."""
    for name, value in body.items():
        try:
            json.dumps(value, allow_nan=False)
        except (TypeError, ValueError) as error:
            raise MetricError(f"{name}= cannot be sent as JSON: {error}") from error
    copy: dict[str, Any] = json.loads(json.dumps(body))
    return copy


def _without_secrets(value: Any) -> Any:
    """A copy without what is named as a secret, at any depth."""
    if isinstance(value, dict):
        return {name: _without_secrets(one) for name, one in value.items() if not _SECRET.search(name)}
    return [_without_secrets(one) for one in value] if isinstance(value, list) else value


def _versions(options: Mapping[str, Any]) -> dict[str, Any]:
    """The headers and queries that change what an endpoint answers, by their names in lower case."""
    told = {
        option: {
            str(name).lower(): str(value)
            for name, value in (options.get(option) or {}).items()
            if str(name).lower() in _VERSIONS
        }
        for option in ("extra_headers", "extra_query")
    }
    return {option: named for option, named in told.items() if named}


def _hide(key: str, error: BaseException) -> None:
    """Take a key out of what an error and those behind it say."""
    seen: set[int] = set()
    one: BaseException | None = error
    while one is not None and id(one) not in seen:
        seen.add(id(one))
        one.args = tuple(arg.replace(key, "[api key]") if isinstance(arg, str) else arg for arg in one.args)
        one = one.__cause__ or one.__context__
