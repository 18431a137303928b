"""Nothing of Ragas leaves the machine: it reports to nobody, and a connection is an error."""

from __future__ import annotations

import os
import socket
from typing import Any, NoReturn

import pytest

os.environ |= {"RAGAS_DO_NOT_TRACK": "true", "LANGSMITH_TRACING": "false", "HF_HUB_OFFLINE": "1"}


@pytest.fixture(autouse=True)
def _offline(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_socket: socket.socket, address: Any) -> NoReturn:
        raise AssertionError(f"these tests connect to nothing, and this is a connection to {address!r}")

    for connect in ("connect", "connect_ex"):
        monkeypatch.setattr(socket.socket, connect, refuse)
