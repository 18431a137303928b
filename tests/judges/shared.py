"""The two adapters of judges as one thing, for what holds for both."""

from __future__ import annotations

import asyncio
import gc
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from rankframe.rag.adapters import anthropic_judge, openai_judge
from rankframe.rag.judges import Judge
from tests.judges.server import Server

anthropic = pytest.importorskip("anthropic", reason="needs anthropic, of the extra `judges`")
openai = pytest.importorskip("openai", reason="needs openai, of the extra `judges`")

KEY = "sk-key-of-the-tests"


@dataclass(frozen=True)
class Kind:
    """An adapter of judges, and what of its client differs from the other's."""

    name: str
    adapter: Callable[..., Judge]
    package: Any
    client_name: str
    path: str
    address: str

    def base_url(self, server: Server) -> str:
        return server.url + self.path

    def judge(self, server: Server, **options: Any) -> Judge:
        return self.adapter("a-model", **{"base_url": self.base_url(server), "api_key": KEY} | options)

    def client(self, server: Server, *, is_async: bool = False, **options: Any) -> Any:
        """A client as a caller makes it; who asks with it closes it."""
        made = getattr(self.package, f"{'Async' * is_async}{self.client_name}")
        return made(**{"base_url": self.base_url(server), "api_key": KEY, "max_retries": 0} | options)


ANTHROPIC = Kind("anthropic", anthropic_judge, anthropic, "Anthropic", "", "https://api.anthropic.com")
OPENAI = Kind("openai", openai_judge, openai, "OpenAI", "/v1", "https://api.openai.com/v1")

both = pytest.mark.parametrize("kind", [pytest.param(kind, id=kind.name) for kind in (ANTHROPIC, OPENAI)])


across_loops = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning", "ignore::ResourceWarning")


def forget() -> None:
    """Collect async clients that nothing holds any more.

    Where the event loop that they asked in is closed, so that they cannot close their connections, Python warns.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()


def failed(judge: Judge, prompt: str = "?") -> Exception:
    """What a judge fails with."""
    try:
        answer = judge(prompt)
    except Exception as error:  # noqa: BLE001
        return error
    raise AssertionError(f"it answered {answer!r}")


def run(kind: Kind, server: Server, use: Callable[[Judge], Any], **options: Any) -> Any:
    """What a coroutine function makes of an async judge, whose client is closed then."""

    async def whole() -> Any:
        async with kind.client(server, is_async=True) as client:
            return await use(kind.adapter("a-model", client=client, **options))

    return asyncio.run(whole())
