"""Ready judges and embedders: Anthropic's client, and OpenAI's for any endpoint that speaks as OpenAI does."""

from __future__ import annotations

import numbers
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from rankframe.errors import MetricError
from rankframe.rag.endpoints import Endpoint, Request, Wire, unusable
from rankframe.rag.judges import Embedder, Judge, Refused, Truncated

_OPENAI = ("OPENAI", "https://api.openai.com/v1", True)
_MESSAGES = Wire("anthropic", "Anthropic", "messages", "ANTHROPIC", "https://api.anthropic.com", has_keyless=False)
_CHAT = Wire("openai", "OpenAI", "chat.completions", *_OPENAI)
_EMBEDDINGS = Wire("openai", "OpenAI", "embeddings", *_OPENAI)
_ONE_ANSWER = ("messages", "n", "stream")  # what an adapter decides


def anthropic_judge(
    model: str,
    *,
    client: Any = None,
    max_tokens: int = 1024,
    system: str | None = None,
    api_key: str | None = None,
    base_url: str | None = None,
    **parameters: Any,
) -> Judge:
    """A judge that asks a model of Anthropic by the Messages API, with Anthropic's own client (extra `judges`).

    Args:
        model: the model's id.
        client: an `anthropic.Anthropic` or `AsyncAnthropic` of your own, or one for a cloud; an async one makes an
            async judge. It keeps its own retries, each of them within one attempt here: make it with max_retries=0.
            Without it, one is made at the first call.
        max_tokens: how long a reply may be; one that is cut there raises `Truncated`. For more than some 20,000 the
            client also wants a `timeout`.
        system: the system prompt.
        api_key: Without it, the client looks for one in its usual places, ANTHROPIC_API_KEY first.
        base_url: the address of another endpoint than Anthropic's; also ANTHROPIC_BASE_URL.
        parameters: what else goes into the body of a request, as it is: stop_sequences, thinking, temperature where
            model and API version take it (that of 2026-10-21 refuses it, and clients from 2.0 ask for that one unless
            told by extra_headers={"anthropic-version": "2023-06-01"}). Besides, the client's own options of a request:
            timeout in seconds, extra_headers, extra_query, extra_body.

    Returns:
        A judge that gives the text of the reply, without its thinking. A model that refuses raises `Refused`. What is
        in a request, and an address that is not Anthropic's, identify its answers; keys do not, nor headers and queries
        but for those that name a version.

    Raises:
        ExtraError: without the extra.
        MetricError: for an argument that cannot be sent.

    >>> from types import SimpleNamespace as Some
    >>> reply = Some(content=[Some(type="text", text="yes")], stop_reason="end_turn")
    >>> client = Some(messages=Some(create=lambda **request: reply))  # in life, none, or an anthropic.Anthropic
    >>> judge = anthropic_judge("claude-sonnet-4-6", client=client, max_tokens=2000)
    >>> judge("Is it so?")
    'yes'
    >>> judge.identity
    {'name': 'anthropic', 'model': 'claude-sonnet-4-6', 'parameters': {'max_tokens': 2000}}
    """
    endpoint = Endpoint(_MESSAGES, client, api_key, base_url)
    longest = _length(max_tokens)
    written = {"max_tokens": longest} | ({} if system is None else {"system": system})
    request = Request(model, written, parameters, _ONE_ANSWER)

    def ask(prompt: str) -> Any:
        messages = [{"role": "user", "content": prompt}]
        return endpoint.client().messages.create(messages=messages, max_tokens=longest, **request.sent)

    asked = endpoint.asking(ask, _text_of_message)
    return Judge(asked, name="anthropic", model=model, parameters=request.told | endpoint.told)


def openai_judge(
    model: str,
    *,
    client: Any = None,
    base_url: str | None = None,
    api_key: str | None = None,
    system: str | None = None,
    max_tokens: int | None = None,
    **parameters: Any,
) -> Judge:
    """A judge that asks a model by chat completions: OpenAI's, or any endpoint's that speaks so (extra `judges`).

    Args:
        model: the model's name there.
        client: an `openai.OpenAI`, `AsyncOpenAI` or one for a cloud of your own; an async one makes an async judge. It
            keeps its own retries, each of them within one attempt here: make it with max_retries=0. Without it, one is
            made at the first call.
        base_url: the address of another endpoint than OpenAI's, such as "http://localhost:8000/v1" of vLLM,
            "http://localhost:11434/v1" of Ollama or "http://localhost:1234/v1" of LM Studio; also OPENAI_BASE_URL.
        api_key: Without it, OPENAI_API_KEY is sent, to whichever address; where there is none and the address is not
            OpenAI's, "not-needed".
        system: the system prompt, as the first message.
        max_tokens: how long a reply may be; one that is cut there raises `Truncated`. Newer models of OpenAI take
            max_completion_tokens= in its place.
        parameters: what else goes into the body of a request, as it is: temperature, seed, response_format, and what
            only an endpoint knows. Besides, the client's own options of a request: timeout in seconds, extra_headers,
            extra_query, extra_body.

    Returns:
        A judge that gives the text of the first choice. A refusal or a content filter raises `Refused`. What is in a
        request, and an address that is not OpenAI's, identify its answers; keys do not, nor headers and queries but for
        those that name a version.

    Raises:
        ExtraError: without the extra.
        MetricError: for an argument that cannot be sent.

    >>> from types import SimpleNamespace as Some
    >>> reply = Some(choices=[Some(message=Some(content="yes"), finish_reason="stop")])
    >>> completions = Some(create=lambda **request: reply)
    >>> client = Some(chat=Some(completions=completions), base_url="http://localhost:11434/v1/")  # or an openai.OpenAI
    >>> judge = openai_judge("qwen3:8b", client=client, temperature=0)
    >>> judge("Is it so?")
    'yes'
    >>> judge.parameters
    {'temperature': 0, 'base_url': 'http://localhost:11434/v1'}
    """
    endpoint = Endpoint(_CHAT, client, api_key, base_url)
    length = {} if max_tokens is None else {"max_tokens": _length(max_tokens)}
    request = Request(model, length, parameters, _ONE_ANSWER)
    first = [] if system is None else [{"role": "system", "content": system}]

    def ask(prompt: str) -> Any:
        messages = [*first, {"role": "user", "content": prompt}]
        return endpoint.client().chat.completions.create(messages=messages, **request.sent)

    asked = endpoint.asking(ask, _text_of_completion, _filtered)
    said = {} if system is None else {"system": system}
    return Judge(asked, name="openai", model=model, parameters=said | request.told | endpoint.told)


def openai_embedder(
    model: str, *, client: Any = None, base_url: str | None = None, api_key: str | None = None, **parameters: Any
) -> Embedder:
    """An embedder that asks by OpenAI's embeddings API, there or at any endpoint that speaks so (extra `judges`).

    Args:
        model: the model's name there.
        client: as that of `openai_judge`; an async one makes an async embedder.
        base_url: as that of `openai_judge`.
        api_key: as that of `openai_judge`.
        parameters: what else goes into the body of a request, as it is, such as dimensions; and the client's own
            options of a request: timeout in seconds, extra_headers, extra_query, extra_body.

    Returns:
        An embedder that gives a list of lists of floats, a row for each text in its order; [] for no texts, without a
        request. All texts go in one request, of which OpenAI takes up to 2,048.

    Raises:
        ExtraError: without the extra.
        MetricError: for an argument that cannot be sent.

    >>> from types import SimpleNamespace as Some
    >>> rows = [Some(index=1, embedding=[0.0, 1.0]), Some(index=0, embedding=[1.0, 0.0])]
    >>> client = Some(embeddings=Some(create=lambda **request: Some(data=rows)))  # in life, none, or an openai.OpenAI
    >>> embed = openai_embedder("text-embedding-3-small", client=client, dimensions=2)
    >>> embed(["a red kite", "an owl"])
    [[1.0, 0.0], [0.0, 1.0]]
    """
    endpoint = Endpoint(_EMBEDDINGS, client, api_key, base_url)
    request = Request(model, {}, parameters, ("input",))

    def ask(texts: list[str]) -> Any:
        return endpoint.client().embeddings.create(input=texts, **request.sent) if texts else _NoRows()

    return Embedder(endpoint.asking(ask, _vectors), name="openai", model=model, parameters=request.told | endpoint.told)


def _length(max_tokens: object) -> int:
    if isinstance(max_tokens, bool) or not isinstance(max_tokens, numbers.Integral) or max_tokens < 1:
        raise MetricError(f"max_tokens={max_tokens!r:.80}: it must be a whole number from 1")
    return int(max_tokens)


def _text_of_message(_prompt: str, answer: Any) -> str:
    """What an answer of the Messages API says."""
    blocks, stop = getattr(answer, "content", None), getattr(answer, "stop_reason", None)
    if blocks is None and stop is None:
        raise unusable(answer, "a message")
    text = _joined(blocks)
    if stop == "refusal":
        why = _part(getattr(answer, "stop_details", None), "explanation")
        raise Refused(text or why or "the model refuses, and says no more")
    if stop in {"max_tokens", "model_context_window_exceeded"}:
        raise Truncated(text)
    return text


def _text_of_completion(_prompt: str, answer: Any) -> str:
    """What the first choice of a chat completion says."""
    choices = getattr(answer, "choices", None)
    message = getattr(choices[0], "message", None) if choices else None
    if not choices or message is None or choices[0].finish_reason == "error":
        raise unusable(choices[0] if choices else answer, "a chat completion")
    text, stop = _joined(message.content), choices[0].finish_reason
    refusal = getattr(message, "refusal", None)
    if refusal or stop == "content_filter":
        raise Refused(refusal or text or "the endpoint's content filter took the reply away")
    if stop == "length":
        raise Truncated(text)
    return text


def _joined(content: Any) -> str:
    """Text as it is; of blocks, what those of text say: objects of a client, or mappings that it did not know."""
    if content is None or isinstance(content, str):
        return content or ""
    if not isinstance(content, list):
        raise unusable(content, "text")
    return "".join(_part(block, "text") or "" for block in content if _part(block, "type") == "text")


def _part(block: Any, name: str) -> Any:
    return block.get(name) if isinstance(block, Mapping) else getattr(block, name, None)


@contextmanager
def _filtered() -> Iterator[None]:
    """Some endpoints filter the prompt, and tell it as an error of status 400."""
    try:
        yield
    except Exception as error:
        if getattr(error, "code", None) == "content_filter":
            raise Refused(str(error)) from error
        raise


class _NoRows:
    """The answer to no texts, for a client of either kind."""

    data: tuple[Any, ...] = ()

    def __await__(self) -> Generator[None, None, _NoRows]:
        yield from ()
        return self


def _vectors(texts: list[str], answer: Any) -> list[list[float]]:
    """The vectors of an answer in the order of the texts."""
    rows = getattr(answer, "data", None)
    if not isinstance(rows, (list, tuple)):
        raise unusable(answer, "embeddings")
    by_index = {row.index: row.embedding for row in rows}
    if len(rows) != len(texts) or by_index.keys() != set(range(len(texts))):
        raise unusable(f"indices {[row.index for row in rows]}", f"a vector for each of {len(texts)} texts")
    return [by_index[index] for index in range(len(texts))]
