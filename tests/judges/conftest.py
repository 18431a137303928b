"""These tests connect to loopback alone, and know no key of whoever runs them."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from typing import Any

import pytest

from tests.judges.server import Server, echo


@pytest.fixture(autouse=True)
def _offline(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith(("ANTHROPIC_", "OPENAI_")) or name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)
    connect = socket.socket.connect

    def to_loopback(self: socket.socket, address: Any) -> None:
        assert address[0] == "127.0.0.1", f"these tests stay here, and this is a connection to {address!r}"
        connect(self, address)

    monkeypatch.setattr(socket.socket, "connect", to_loopback)


@pytest.fixture
def server() -> Iterator[Server]:
    """A server that says what it is told, unless a test sets its `answer`."""
    with Server(echo) as running:
        yield running
