"""A model server on loopback that speaks the wire formats of Anthropic and of OpenAI, and answers what a test says."""

from __future__ import annotations

import json
import socket
import struct
import time
from base64 import b64encode
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Lock, Thread
from types import TracebackType
from typing import Any, Literal, Self

Stop = Literal["end", "length", "full", "refusal"]

_ENDS = {"end": "end_turn", "length": "max_tokens", "full": "model_context_window_exceeded", "refusal": "refusal"}
_FINISHES = {"end": "stop", "length": "length", "full": "length", "refusal": "content_filter"}


@dataclass(frozen=True)
class Request:
    """What a client asked: headers by their names in lower case, the decoded body."""

    path: str
    headers: Mapping[str, str]
    body: Mapping[str, Any]

    @property
    def prompt(self) -> str:
        """What the user says, which is the last message."""
        return str(self.body["messages"][-1]["content"])

    @property
    def key(self) -> str:
        """The API key, in whichever header it came."""
        return self.headers.get("x-api-key") or self.headers.get("authorization", "").removeprefix("Bearer ")


@dataclass(frozen=True)
class Reply:
    """One answer.

    text: what the model says; stop: why it ends, "full" for a context window that is; refusal: its words where it
    refuses.
    content: the content itself in place of text, in the format of the wire; None for null.
    vectors: the rows of embeddings, index and row; encoded: whether they are given in base64 where that is asked for.
    status, headers, body: of HTTP; a body stands in place of everything else.
    delay: seconds before it is sent.
    broken: the connection is closed before a byte is sent, or in the middle of the body, or it is reset.
    """

    text: str = ""
    stop: Stop = "end"
    refusal: str | None = None
    content: Any = ...
    vectors: Sequence[tuple[int, list[float]]] = ()
    encoded: bool = True
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    body: str | None = None
    delay: float = 0.0
    broken: Literal["closed", "half", "reset"] | None = None


def failure(status: int, message: str = "it does not work now", **headers: str) -> Reply:
    """An error with what both formats say about one; `retry_after` becomes `retry-after`."""
    said = {"type": "error", "error": {"type": f"error_{status}", "message": message}}
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Reply(status=status, headers=named, body=json.dumps(said))


class _Http(ThreadingHTTPServer):
    daemon_threads = False  # so that they are joined
    request_queue_size = 128  # of the five that are usual, a burst of clients would lose connections
    shutdown_request = ThreadingHTTPServer.close_request  # what is shut down first cannot be reset

    def __init__(self, owner: Server) -> None:
        self.owner = owner
        super().__init__(("127.0.0.1", 0), _Handler)


Answering = Callable[[Request], Reply]


class Server:
    """Answers on 127.0.0.1 at a free port, one thread for each connection.

    answer: gives the reply to a request; or replies that are taken in order, the last of them again and again.
    """

    def __init__(self, answer: Answering | Iterable[Reply] = ()) -> None:
        self.requests: list[Request] = []
        self.answer = answer if callable(answer) else in_order(answer)
        self._ends = Event()
        self._lock = Lock()
        self._open: set[socket.socket] = set()

    def __enter__(self) -> Self:
        self._http = _Http(self)
        self._thread = Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, at: TracebackType | None) -> None:
        self._ends.set()
        self._http.shutdown()
        self._thread.join()
        with self._lock:
            for connection in self._open:
                with suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)
        self._http.server_close()

    @property
    def url(self) -> str:
        """Where it is, without a path: the base URL of Anthropic's client."""
        return "http://{}:{}".format(*self._http.server_address)

    @property
    def v1(self) -> str:
        """The base URL of OpenAI's client."""
        return f"{self.url}/v1"

    @property
    def prompts(self) -> list[str]:
        """What was asked, in the order in which it came."""
        return [request.prompt for request in self.requests]

    @property
    def connections(self) -> int:
        """How many are open."""
        with self._lock:
            return len(self._open)

    def idle(self, seconds: float = 5.0) -> bool:
        """Whether all connections are closed, now or after at most so many seconds."""
        end = time.monotonic() + seconds
        while self.connections and time.monotonic() < end:
            time.sleep(0.01)
        return not self.connections

    def replied(self, request: Request) -> Reply:
        """The reply, when its time has come."""
        with self._lock:
            self.requests.append(request)
        reply = self.answer(request)
        self._ends.wait(reply.delay)
        return reply

    def opened(self, connection: socket.socket) -> None:
        with self._lock:
            self._open.add(connection)

    def closed(self, connection: socket.socket) -> None:
        with self._lock:
            self._open.discard(connection)


def in_order(replies: Iterable[Reply]) -> Answering:
    """These replies one after another, then the last of them again and again."""
    left, lock = list(replies) or [Reply()], Lock()

    def answer(_request: Request) -> Reply:
        with lock:
            return left.pop(0) if len(left) > 1 else left[0]

    return answer


def echo(request: Request) -> Reply:
    """The prompt itself."""
    return Reply(request.prompt)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"  # connections stay open, as in life
    disable_nagle_algorithm = True

    @property
    def owner(self) -> Server:
        assert isinstance(self.server, _Http)
        return self.server.owner

    def setup(self) -> None:
        super().setup()
        self.owner.opened(self.connection)

    def finish(self) -> None:
        self.owner.closed(self.connection)
        with suppress(OSError):
            super().finish()

    def handle(self) -> None:
        with suppress(ConnectionError):
            super().handle()

    def log_message(self, *_args: object) -> None:
        """Nothing."""

    def do_POST(self) -> None:
        sent = self.rfile.read(int(self.headers["content-length"]))
        headers = {name.lower(): value for name, value in self.headers.items()}
        request = Request(self.path, headers, json.loads(sent))
        self._send(self.owner.replied(request), request)

    def _send(self, reply: Reply, request: Request) -> None:
        body = (reply.body if reply.body is not None else json.dumps(_said(reply, request))).encode()
        if reply.broken in {"closed", "reset"}:
            self._break(reply)
            return
        self.send_response(reply.status)
        for name, value in ({"content-type": "application/json"} | dict(reply.headers)).items():
            self.send_header(name, value)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body[: len(body) // 2] if reply.broken else body)
        if reply.broken:
            self._break(reply)

    def _break(self, reply: Reply) -> None:
        self.close_connection = True
        if reply.broken == "reset":  # without lingering, closing it resets the connection
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        else:
            self.connection.shutdown(socket.SHUT_RDWR)


def _said(reply: Reply, request: Request) -> dict[str, Any]:
    """A reply in the format that the path asks for."""
    if request.path == "/v1/messages":
        return _message(reply, request)
    if request.path == "/v1/chat/completions":
        return _completion(reply, request)
    if request.path == "/v1/embeddings":
        return _embeddings(reply, request)
    raise AssertionError(f"nothing is at {request.path}")


def _message(reply: Reply, request: Request) -> dict[str, Any]:
    refused = reply.stop == "refusal"
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": request.body["model"],
        "content": [{"type": "text", "text": reply.text}] if reply.content is ... else reply.content,
        "stop_reason": _ENDS[reply.stop],
        "stop_details": {"type": "refusal", "category": None, "explanation": reply.refusal} if refused else None,
        "stop_sequence": None,
        "usage": {"input_tokens": 10, "output_tokens": 5},
    }


def _completion(reply: Reply, request: Request) -> dict[str, Any]:
    said = {"content": reply.text if reply.content is ... else reply.content, "refusal": reply.refusal}
    ended = _FINISHES[reply.stop]
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 0,
        "model": request.body["model"],
        "choices": [{"index": 0, "finish_reason": ended, "message": {"role": "assistant"} | said}],
        "usage": {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15},
    }


def _embeddings(reply: Reply, request: Request) -> dict[str, Any]:
    in_base64 = reply.encoded and request.body.get("encoding_format") == "base64"
    return {
        "object": "list",
        "model": request.body["model"],
        "data": [
            {"object": "embedding", "index": index, "embedding": _base64(row) if in_base64 else row}
            for index, row in reply.vectors
        ],
        "usage": {"prompt_tokens": 1, "total_tokens": 1},
    }


def _base64(row: list[float]) -> str:
    return b64encode(struct.pack(f"<{len(row)}f", *row)).decode()
