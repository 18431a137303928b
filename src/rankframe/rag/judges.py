"""What judges: a callable from prompt to text, and what identifies its answers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rankframe.errors import MetricError

Ask = Callable[[str], str | Awaitable[str]]
Embed = Callable[[list[str]], Any]


class Refused(Exception):  # noqa: N818  # what happened, not that rankframe failed
    """The model refuses to answer; an adapter raises it with the model's words."""


class Truncated(Exception):  # noqa: N818  # likewise
    """The reply was cut at its longest allowed length; `text` is what came."""

    def __init__(self, text: str) -> None:
        super().__init__("the reply was cut short; allow a longer one with max_tokens=")
        self.text = text


@dataclass(frozen=True, slots=True)
class Judge:
    """An LLM as a callable prompt -> text, with what identifies its answers.

    ask: a function of a prompt that gives text, plain or a coroutine function.
    name: who answers, such as "anthropic"; the function's qualified name unless given.
    model: the model that answers.
    parameters: everything else that changes its answers: temperature, system prompt, address.

    A plain function may stand wherever a judge is taken. What a cache keeps is told apart by name, model and
    parameters, so name the model where one function may ask several.

    >>> Judge(lambda prompt: '{"score": 1}', name="always one").identity
    {'name': 'always one', 'model': None, 'parameters': {}}
    """

    ask: Ask
    name: str = ""
    model: str | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        _check_callable(self.ask, "a judge", "prompt -> text")
        object.__setattr__(self, "name", self.name or _qualified(self.ask))

    def __call__(self, prompt: str) -> str | Awaitable[str]:
        """What the model answers to a prompt."""
        return self.ask(prompt)

    @property
    def identity(self) -> dict[str, Any]:
        """What tells its answers from those of another: name, model, parameters."""
        return {"name": self.name, "model": self.model, "parameters": dict(self.parameters)}


@dataclass(frozen=True, slots=True)
class Embedder:
    """A callable from texts to vectors, one row for each text, with what identifies its vectors.

    The attributes are those of `Judge`; `ask` may also be a coroutine function.

    >>> Embedder(lambda texts: [[1.0, 0.0] for _ in texts], name="one direction").identity["name"]
    'one direction'
    """

    ask: Embed
    name: str = ""
    model: str | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        _check_callable(self.ask, "an embedder", "list of texts -> vectors")
        object.__setattr__(self, "name", self.name or _qualified(self.ask))

    def __call__(self, texts: Sequence[str]) -> Any:
        """A vector for each text."""
        return self.ask(list(texts))

    @property
    def identity(self) -> dict[str, Any]:
        """What tells its vectors from those of another: name, model, parameters."""
        return {"name": self.name, "model": self.model, "parameters": dict(self.parameters)}


def as_judge(llm: object) -> Judge:
    """A judge as it is, a function as one.

    Raises:
        MetricError: for what cannot be called.
    """
    return llm if isinstance(llm, Judge) else Judge(llm)  # type: ignore[arg-type]  # checked when it is made


def as_embedder(embed: object) -> Embedder:
    """An embedder as it is; a function, or an object with `.encode` or `.embed_documents`, as one.

    Raises:
        MetricError: for anything else.
    """
    if isinstance(embed, Embedder):
        return embed
    if not callable(embed) or isinstance(embed, type):
        pass
    elif not hasattr(embed, "encode"):
        return Embedder(embed)
    for method in ("encode", "embed_documents"):
        if hasattr(embed, method):
            return Embedder(getattr(embed, method), name=_qualified(embed))
    raise MetricError(
        f"embed= takes a function of a list of texts that gives a vector for each, or an object with .encode; "
        f"got {embed!r:.80}"
    )


def _check_callable(ask: object, what: str, shape: str) -> None:
    if not callable(ask):
        raise MetricError(f"{what} is a function ({shape}), plain or async, got {ask!r:.80}")


def _qualified(ask: object) -> str:
    """Module and name of a function, or of the class of an object."""
    named = ask if hasattr(ask, "__qualname__") else type(ask)
    return f"{getattr(named, '__module__', '')}.{getattr(named, '__qualname__', named)}"


def is_named(judge: Judge | Embedder) -> bool:
    """Whether another callable would have another identity: a lambda's or a local function's name says too little."""
    return judge.model is not None or "<" not in judge.name
