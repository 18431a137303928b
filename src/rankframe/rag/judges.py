"""What judges: a callable from prompt to text, and what identifies its answers."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import FunctionType, MethodType
from typing import Any

from rankframe.errors import MetricError, listed
from rankframe.metrics.grammar import is_text

Ask = Callable[[str], str | Awaitable[str]]
Embed = Callable[[list[str]], Any]

_EMBEDS = ("encode", "embed_documents")  # methods of objects that embed
_SECRET = re.compile(r"(?i)api[-_]?key|(?:auth|access)[-_]?token|authorization|password|secret")


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
    parameters: everything else that changes its answers: temperature, system prompt, address. JSON values; what is
        secret has no place there, as a cache and a report show them.

    A plain function may stand wherever a judge is taken. What a cache keeps is told apart by name, model and
    parameters, so name the model where one function may ask several.

    Raises:
        MetricError: for what cannot be called, a name or model that is no text, and parameters that are no JSON or
            hold a key.

    >>> Judge(lambda prompt: '{"score": 1}', name="always one").identity
    {'name': 'always one', 'model': None, 'parameters': {}}
    """

    ask: Ask
    name: str = ""
    model: str | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        _check_callable(self.ask, "a judge", "prompt -> text")
        _settle(self)

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

    The attributes are those of `Judge`; `ask` may also be a coroutine function, or an object with `.encode` or
    `.embed_documents`.

    >>> Embedder(lambda texts: [[1.0, 0.0] for _ in texts], name="one direction").identity["name"]
    'one direction'
    """

    ask: Embed | Any
    name: str = ""
    model: str | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "ask", _embedding(self.ask))
        _check_callable(self.ask, "an embedder", "list of texts -> vectors")
        _settle(self)

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
    if not callable(_embedding(embed)) or isinstance(embed, type):
        raise MetricError(
            f"embed= takes a function of a list of texts that gives a vector for each, or an object with .encode; "
            f"got {embed!r:.80}"
        )
    return Embedder(embed)


def _embedding(embed: Any) -> Any:
    """The method that embeds, of an object that has one; else what was given. A text has an `.encode` of its own."""
    if isinstance(embed, (type, str)):
        return embed
    methods = [getattr(embed, method) for method in _EMBEDS if callable(getattr(embed, method, None))]
    return methods[0] if methods else embed


def _check_callable(ask: object, what: str, shape: str) -> None:
    if not callable(ask) or isinstance(ask, type):
        kind = "the class " * isinstance(ask, type)
        raise MetricError(f"{what} is a function ({shape}), plain or async, got {kind}{ask!r:.80}")


def _settle(one: Judge | Embedder) -> None:
    """Give it a name if it has none, and parameters that nobody changes any more."""
    for name, value in (("name", one.name), ("model", one.model)):
        if value is not None and not is_text(value):
            raise MetricError(f"{name}={value!r:.80} of {type(one).__name__} is not a text")
    if not isinstance(one.parameters, Mapping):
        raise MetricError(f"parameters={one.parameters!r:.80} is not a mapping of names to values")
    try:
        told = json.dumps(dict(one.parameters), allow_nan=False, ensure_ascii=False).encode()
        parameters = json.loads(told)
    except (TypeError, ValueError, RecursionError) as error:
        raise MetricError(
            f"parameters={one.parameters!r:.80} cannot be told in a cache or a report: {error!s:.80}; give text, "
            f"numbers, lists and mappings"
        ) from error
    if secret := [name for name in parameters if _SECRET.search(name)]:
        raise MetricError(
            f"parameters= holds {listed(secret)}: it changes no answer, and a cache and a report would show it; leave "
            f"it out"
        )
    object.__setattr__(one, "name", one.name or _qualified(one.ask))
    object.__setattr__(one, "parameters", parameters)


def _qualified(ask: object) -> str:
    """Module and name of a function or method, or of the class of an object."""
    named = ask if hasattr(ask, "__qualname__") else type(ask)
    return f"{getattr(named, '__module__', '')}.{getattr(named, '__qualname__', named)}"


def is_named(judge: Judge | Embedder) -> bool:
    """Whether another callable would have another identity.

    A name or model that was given says so, and the name of a function of a module. That of a lambda, of a local
    function, of a method or of an object does not: another of that name may ask another model.
    """
    is_function = isinstance(inspect.unwrap(judge.ask), FunctionType)
    return _is_told(judge) or (is_function and "<" not in judge.name)


def is_same(one: Judge | Embedder, other: Judge | Embedder) -> bool:
    """Whether two give the same answers, as far as can be told."""
    return one.identity == other.identity and (one.ask == other.ask or (_is_told(one) and _is_told(other)))


def of_this_process(judge: Judge | Embedder) -> dict[str, Any]:
    """Its identity, and the very callable where nobody told its name or model."""
    if _is_told(judge):
        return judge.identity
    ask = judge.ask
    parts = (ask.__self__, ask.__func__) if isinstance(ask, MethodType) else (ask,)
    return {**judge.identity, "callable": [id(part) for part in parts]}


def _is_told(judge: Judge | Embedder) -> bool:
    return judge.model is not None or judge.name != _qualified(judge.ask)


def cosines(vectors: Any, rows: int) -> list[float]:
    """The cosines of the first vector with each of the others, whatever holds them.

    Raises:
        TypeError, ValueError: for anything else than a finite vector, with a direction, for each of so many rows.

    >>> cosines([[3.0, 0.0], [1.0, 0.0], [0.0, 2.0]], 3)
    [1.0, 0.0]
    """
    import numpy as np

    given = np.asarray(vectors)
    if given.ndim != 2 or len(given) != rows or not given.shape[1]:
        raise ValueError(f"its shape is {given.shape} for {rows} texts")
    if given.dtype.kind not in "fiubO":
        raise ValueError(f"it holds {given.dtype}, not numbers")
    found = given.astype(np.float64)
    if not np.isfinite(found).all():
        raise ValueError("a number in it is not finite")
    largest = np.abs(found).max(axis=1, keepdims=True)
    if not largest.all():
        raise ValueError("a vector is 0 and has no direction")
    found = found / largest  # so that no square is too large or too small
    norms = np.linalg.norm(found, axis=1)
    between = (found[1:] @ found[0]) / (norms[1:] * norms[0])
    return [float(one) for one in between.clip(-1.0, 1.0)]
