"""How a retriever is called: its signature says which of its parameters are the query, its id and the limit."""

from __future__ import annotations

import functools
import inspect
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from rankframe.errors import DataError, listed

_METHODS = ("search", "retrieve", "invoke", "query", "run")
_METHODS_OF_BATCHES = ("batch", "batch_search", "search_batch")

# The names of parameters that a retriever may have, the usual ones first.
_QUERY = ("query", "query_text", "query_str", "search_query", "question", "text", "q", "input", "str_or_query_bundle")
_QUERIES = ("queries", "query_texts", "questions", "texts", "inputs")
_ID = ("query_id", "qid")
_IDS = ("query_ids", "qids")
_LIMIT = ("limit", "k", "top_k", "n_results", "topk", "num_results", "max_results", "size")

# Words in the name of a required parameter that say whether it may be the query.
_OF_TEXT = {"query", "question", "text", "prompt", "search", "term", "terms", "topic", "sentence", "message"}
_OF_OTHERS = re.compile(
    r"id|ids|vector|vectors|vec|embedding|embeddings|index|page|offset|start|number|count|collection|corpus|doc|docs|"
    r"document|documents|filter|filters|client|session|user|path|folder|file|config|options|model|name"
)

_LISTS = {"list", "List", "Sequence", "Iterable", "Collection"}
_VECTORS = re.compile(r"\b(float|int|ndarray|NDArray)\b")
_USUAL_BATCH = 32
_SHORT = 200  # letters of a name

_WRAP = "wrap it, as in retrieve(lambda query, limit: my_search(query, count=limit), queries)"


@dataclass(frozen=True, slots=True)
class Query:
    """One query that is asked."""

    id: str
    text: str


@dataclass(frozen=True, slots=True)
class Caller:
    """A retriever as it is to be called.

    name: what it is called in messages. batch_size: how many queries it takes at once, None for one without a list.
    """

    name: str
    function: Callable[..., Any]
    bound: Mapping[str, str]  # parameter -> "text", "id" or "limit"
    positional: Sequence[str]  # those of `bound` that are passed by place
    batch_size: int | None

    def __call__(self, queries: Sequence[Query], limit: int) -> Any:
        """Ask for the results of these queries, of one alone where the retriever takes no list."""
        first = queries[0]
        values = {
            "text": [query.text for query in queries] if self.batch_size else first.text,
            "id": [query.id for query in queries] if self.batch_size else first.id,
            "limit": limit,
        }
        named = {name: values[role] for name, role in self.bound.items() if name not in self.positional}
        return self.function(*(values[self.bound[name]] for name in self.positional), **named)


def caller(retriever: object, batch_size: int | None) -> Caller:
    """How to call a function, or the method of an object that searches.

    Args:
        retriever: a function, or an object with one of the usual methods.
        batch_size: how many queries it takes at once; None looks at the name and annotation of its parameter.

    Raises:
        DataError: for what cannot be called, and for parameters whose meaning nothing tells.
    """
    function, name = _function(retriever, batched=batch_size is not None)
    try:
        parameters = _parameters(function)
    except (TypeError, ValueError):  # written in C, and silent about it: the query alone is what every retriever takes
        return Caller(name, function, {"query": "text"}, ["query"], batch_size)
    if isinstance(function, functools.partial):  # what the caller settled stays
        parameters = {n: p for n, p in parameters.items() if n not in function.keywords}
    bound, lists = _bound(parameters, name)
    positional = [n for n, p in parameters.items() if p.kind in (p.POSITIONAL_ONLY, p.VAR_POSITIONAL) and n in bound]
    before = [n for n, p in parameters.items() if p.kind is p.POSITIONAL_ONLY]
    if positional and before[: len(positional)] != positional and before:
        raise DataError(f"{name}: {listed(before, 12)} are passed by place, and not all of them are known; {_WRAP}")
    return Caller(name, function, bound, positional, batch_size or (_USUAL_BATCH if lists else None))


def _parameters(function: Callable[..., Any]) -> Mapping[str, inspect.Parameter]:
    if sys.version_info >= (3, 14):  # there an annotation may name what is imported for type checkers only
        from annotationlib import Format

        return inspect.signature(function, annotation_format=Format.STRING).parameters
    return inspect.signature(function).parameters


def _function(retriever: object, *, batched: bool) -> tuple[Callable[..., Any], str]:
    """What is called, and its name: a function itself, of an object the first of the usual methods.

    Where nothing on that one is named as a query is, one of the others that names query and limit is called.
    """
    if inspect.isclass(retriever) or inspect.ismodule(retriever):
        raise DataError(f"the retriever is {retriever!r}; give a function, or an object made of the class")
    if inspect.isroutine(retriever) or isinstance(retriever, functools.partial):
        return retriever, named(retriever)
    usual = (*_METHODS_OF_BATCHES, *_METHODS) if batched else _METHODS
    every = ((name, getattr(retriever, name, None)) for name in (*usual, *(f"a{name}" for name in usual)))
    methods = ((name, method) for name, method in every if callable(method))
    if (first := next(methods, None)) is not None:
        name, method = first
        if not _names(method, _QUERY, _QUERIES, _ID, _IDS):  # a guess; another may leave nothing to guess
            told = (other for other in methods if _names(other[1], _QUERY, _QUERIES) and _names(other[1], _LIMIT))
            name, method = next(told, first)
        return method, f"{_told(retriever)}.{name}"
    if callable(retriever):
        return retriever, _told(retriever)
    raise DataError(
        f"a {type(retriever).__name__} is no retriever: {retriever!r:.80}; expected a function of a query, or an "
        f"object with a method {', '.join(_METHODS)}; {_WRAP}"
    )


def named(function: object) -> str:
    """What a function is called in messages, and by a checkpoint that may meet another one."""
    if isinstance(function, functools.partial):
        return named(function.func)
    return str(getattr(function, "__qualname__", type(function).__name__))


def _told(retriever: object) -> str:
    """What an object says of itself, where that is short and the same the next time; else its class."""
    name = type(retriever).__name__
    with suppress(Exception):  # a repr may raise anything
        told = repr(retriever)
        if told.startswith(name) and len(told) < _SHORT and " at 0x" not in told:
            return told
    return name


def _names(function: Callable[..., Any], *usual: Sequence[str]) -> bool:
    """Whether a parameter of the function has one of these names."""
    try:
        parameters = _parameters(function)
    except (TypeError, ValueError):  # written in C, and silent about it
        return False
    return any(name in parameters for names in usual for name in names)


def _bound(parameters: Mapping[str, inspect.Parameter], name: str) -> tuple[dict[str, str], bool]:
    """Which parameters are given what, and whether the query's takes a list."""
    takes = {n: p for n, p in parameters.items() if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)}
    bound: dict[str, str] = {}
    lists = False
    for role, names in (("text", _QUERY), ("text", _QUERIES), ("id", _ID), ("id", _IDS), ("limit", _LIMIT)):
        found = next((usual for usual in names if usual in takes and (role != "limit" or _counts(takes[usual]))), None)
        if found is not None and role not in bound.values():
            bound[found] = role
            lists = lists or names in (_QUERIES, _IDS)
    limits = [usual for usual in _LIMIT if usual in takes and _counts(takes[usual])]
    if len(limits) > 1:
        raise DataError(f"{name}({', '.join(parameters)}): {listed(limits)} may each be the limit; {_WRAP}")
    required = [n for n, p in takes.items() if p.default is p.empty and n not in bound]
    if not {"text", "id"} & set(bound.values()):  # the only one that is required is the query, whatever its name
        query = _unnamed(parameters, required)
        if query is None:
            raise DataError(
                f"{name}({', '.join(parameters)}): none of its parameters is the query; usual names are "
                f"{', '.join(_QUERY[:5])}, and {', '.join(_QUERIES[:2])} for a list of them; {_WRAP}"
            )
        required = [n for n in required if n != query]
        bound = {query: "text", **bound}
    if required:
        raise DataError(
            f"{name}({', '.join(parameters)}): nothing says what its {listed(required)} is given; the limit goes to "
            f"{', '.join(_LIMIT[:4])}, the id of the query to {_ID[0]}; {_WRAP}"
        )
    text = next((n for n, role in bound.items() if role == "text" and n in takes), None)
    return bound, lists or (text is not None and _takes_lists(takes[text], name))


def _unnamed(parameters: Mapping[str, inspect.Parameter], required: Sequence[str]) -> str | None:
    """The parameter that is the query where none is called so: the first required one, else what takes anything."""
    kinds = {n: p.kind for n, p in parameters.items()}
    first = next((n for n in required if kinds[n] is not inspect.Parameter.KEYWORD_ONLY), None)
    if first is not None:
        return first if _may_be_text(parameters[first]) else None
    anything = next((n for n, kind in kinds.items() if kind is inspect.Parameter.VAR_POSITIONAL), None)
    if anything is not None:  # what stands before it would be given the first text
        return anything if next(iter(kinds)) == anything else None
    return required[0] if len(required) == 1 else None


def _may_be_text(parameter: inspect.Parameter) -> bool:
    """Whether a parameter with a name of its own may be the query: `doc_id`, `vector` and `page: int` are not."""
    words = parameter.name.lower().split("_")
    named = not _OF_TEXT.isdisjoint(words) or not any(map(_OF_OTHERS.fullmatch, words))
    return named and _annotation(parameter) not in ("int", "float", "bool")


def _counts(parameter: inspect.Parameter) -> bool:
    """Whether a parameter may be a number of results: `k=1.2`, `size="large"` and `limit: str` are not."""
    return not isinstance(parameter.default, (bool, float, str)) and _annotation(parameter) not in (
        "str",
        "bool",
        "float",
    )


def _annotation(parameter: inspect.Parameter) -> str:
    annotation = parameter.annotation
    return annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)


def _takes_lists(parameter: inspect.Parameter, name: str) -> bool:
    """Whether a query's parameter is annotated as one that takes a list of texts, and not one text as well."""
    told = re.sub(r"^[\w.]*Optional\[(.*)\]$", r"\1", _annotation(parameter).strip("'\""))
    kinds = {kind.strip().rpartition(".")[2] for kind in re.sub(r"\[.*\]", "", told).split("|")} - {"None"}
    lists = bool(kinds) and kinds <= _LISTS
    if _VECTORS.search(told) and "str" not in told and (lists or kinds <= {"ndarray", "NDArray"}):
        raise DataError(
            f"{name}: {parameter.name!r} takes a vector ({told}), and a query is text; wrap it, as in "
            f"retrieve(lambda query, limit: my_search(embed(query), limit), queries)"
        )
    return lists
