"""What retrievers answer with, as ids and scores: recognised by its structure, whichever library made it."""

from __future__ import annotations

import numbers
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from decimal import Decimal
from itertools import islice, pairwise
from typing import Any, Literal
from uuid import UUID

import polars as pl

from rankframe.errors import DataError
from rankframe.frames.coerce import ArrowStream, collected, conform, read_numbers, table_frame
from rankframe.frames.schemas import RUN, Column, Schema

Collapse = Literal["best", "none"]
Key = Callable[[Any], Any]
Hit = tuple[str, float | None]
Layer = Callable[[str], Any]

_SOURCE = ("source_id", "doc_id", "document_id", "ref_doc_id", "source")
_OWN = ("id", "_id", "docid", "docno", "chunk_id", "node_id", "id_", "pk")
_SCORE = ("score", "_score", "similarity", "relevance_score", "distance")
_HOLDERS = ("segment", "node", "chunk", "document", "doc", "point")
_METADATA = ("metadata", "meta", "payload", "_source", "entity")
_LISTS = ("points", "hits", "matches", "results", "documents", "source_nodes", "nodes")
_DEPTH = 2  # a hit holds a segment, and that perhaps its document
_NAMES: dict[Collapse, tuple[str, ...]] = {"best": (*_SOURCE, *_OWN), "none": (*_OWN, *_SOURCE)}
"""Under which names an id stands, the first that is there: of the document, or of the result itself."""

_FRAME = Schema(
    "results",
    (RUN.columns[1], Column("score", "number", required=False), Column("rank", "number", required=False)),
    "results",
)
_KEY = "give key=, which takes a result and gives its id, as in key=lambda hit: hit.metadata['doc_id']"


@dataclass(frozen=True, slots=True)
class Results:
    """The results of one query.

    docs: ids, best first, each once. scores: strictly in that order, the higher the better. own: what the retriever
    gave as scores, None where it gave none. n_collapsed: results left out because a better one is of the same document.
    """

    docs: list[str]
    scores: list[float]
    own: Sequence[float | None]
    n_collapsed: int


@dataclass(frozen=True, slots=True)
class Reader:
    """How answers are read: at most `limit` results, each by its structure or by `key`."""

    limit: int
    key: Key | None = None
    collapse: Collapse = "best"

    def results(self, answer: object) -> Results:
        """The results of one query.

        Raises:
            DataError: for an answer, or a result in it, that is not recognised.
        """
        hits = self._hits(answer)
        seen: dict[str, float | None] = {}
        for doc, score in hits:
            if doc not in seen:
                seen[doc] = score
            elif self.collapse == "none":
                raise DataError(
                    f'two results have the id {doc!r}; collapse="best" keeps the better one, or a key= tells them apart'
                )
        docs, own = list(seen), list(seen.values())
        if not all(map(str.isascii, docs)):
            _encodable(docs)
        return Results(docs, _in_order(docs, own), own, len(hits) - len(docs))

    def _hits(self, answer: object) -> list[Hit]:
        unordered = isinstance(answer, Mapping) and all(map(_is_number, answer.values()))
        if unordered:
            return _by_score(answer)[: self.limit]  # type: ignore[arg-type]  # a mapping
        frame = _as_frame(answer)
        if frame is not None:
            return _rows(frame)[: self.limit]
        read = self._recognised if self.key is None else self._keyed
        return [read(item) for item in taken(items(answer), self.limit)]

    def _keyed(self, item: Any) -> Hit:
        try:
            found = self.key(item)  # type: ignore[misc]  # only called where there is one
        except Exception as error:
            raise DataError(f"key= fails with {type(error).__name__}: {error} on the result {_shown(item)}") from error
        doc = _id(found)
        if doc is None:
            raise DataError(f"key= gives {found!r} for the result {_shown(item)}; an id is text or a whole number")
        return doc, _second(item) if _is_pair(item) else _score(item, _layers(item))

    def _recognised(self, item: Any) -> Hit:
        if type(item) is str:
            return item, None
        if _is_pair(item):
            return item[0] if type(item[0]) is str else self._recognised(item[0])[0], _second(item)
        if (own := _id(item)) is not None:
            return own, None
        layers = _layers(item)
        for name in _NAMES[self.collapse]:
            for layer in layers:
                if (doc := _id(layer(name))) is not None:
                    return doc, _score(item, layers)
        told = "is no (id, score) pair" if isinstance(item, (tuple, list)) else "has no id"
        raise DataError(
            f"a result, a {type(item).__name__}, {told}: {_shown(item)}; read are {', '.join(_SOURCE)}, "
            f"{', '.join(_OWN[:4])}, on it or in its metadata; {_KEY}"
        )


def items(answer: Any) -> Iterable[Any]:
    """The results in an answer, in their order: those of a list, an iterator, or of the object that holds them.

    Raises:
        DataError: for an answer that holds no results in any order.
    """
    if answer is None:
        raise DataError("the answer is None; a query without results has an empty list, []")
    if isinstance(answer, (str, bytes, AbstractSet)):
        why = "a set has no order" if isinstance(answer, AbstractSet) else "one id stands in a list"
        raise DataError(f"the answer is {_shown(answer)}, a {type(answer).__name__}; {why}")
    columns = _columns(answer)
    if columns is not None:
        return columns
    if isinstance(answer, (list, tuple)):
        return answer
    look = _lookup(answer)
    held = next((held for name in _LISTS if isinstance(held := look(name), (list, tuple, Mapping))), None)
    if held is not None:
        return items(held)
    for convert in ("to_pylist", "to_list", "tolist"):  # arrays of pyarrow; series; arrays of NumPy
        if hasattr(answer, convert):
            listed: list[Any] = getattr(answer, convert)()
            return listed
    if isinstance(answer, Mapping) or not isinstance(answer, Iterable):
        keys = f" with the keys {list(answer)[:8]!r}" if isinstance(answer, Mapping) else ""
        raise DataError(
            f"the answer is a {type(answer).__name__}{keys}: {_shown(answer)}; expected a list of results (or one "
            f"under {', '.join(_LISTS)}), a mapping {{id: score}}, or a frame with a column doc_id"
        )
    return answer


def taken(results: Iterable[Any], limit: int) -> list[Any]:
    """The first results; an iterator is read no further and closed."""
    if isinstance(results, list):
        return results[:limit]
    found = list(islice(results, limit))
    if isinstance(results, Generator):
        results.close()
    return found


def by_query(answer: Any, ids: Sequence[str], texts: Sequence[str]) -> list[Any]:
    """The answers of a batch, one for each query: in a list of their order, or in a mapping by id or text.

    Raises:
        DataError: for more or fewer answers than queries.
    """
    columns = _columns(answer, nested=True)
    if columns is not None:
        answer = columns
    elif isinstance(answer, Mapping):
        key = next((keys for keys in (ids, texts) if set(keys) <= set(answer)), None)
        if key is None:
            raise DataError(
                f"the answer to {len(ids)} queries is a mapping with the keys {list(answer)[:5]!r}; expected every "
                f"query id, or every text, or a list with the results of each query in their order"
            )
        return [answer[name] for name in key]
    answers = answer if answer is None else taken(items(answer), len(ids) + 1)
    if answers is None or len(answers) != len(ids):
        told = "None" if answers is None else f"{len(answers)} answers" if len(answers) <= len(ids) else "more answers"
        raise DataError(
            f"a batch of {len(ids)} queries was answered with {told}; expected a list with the results of each query"
        )
    return answers


def _columns(answer: Any, *, nested: bool = False) -> list[Any] | None:
    """The results of an answer that holds them by column, once or for each query of a batch.

    Chroma's mapping of ids, distances and metadatas, and the tuple of documents and scores that bm25s gives.
    """
    if isinstance(answer, Mapping) and isinstance(answer.get("ids"), (list, tuple)):
        columns = {"id": answer["ids"], "score": answer.get("distances"), "metadata": answer.get("metadatas")}
    elif getattr(answer, "_fields", None) == ("documents", "scores"):
        columns = {"documents": answer.documents.tolist(), "scores": answer.scores.tolist()}
    else:
        return None
    names, parts = zip(*((name, part) for name, part in columns.items() if part is not None), strict=True)
    if not (len(parts[0]) and isinstance(parts[0][0], (list, tuple))):  # of one query
        parts = tuple([part] for part in parts)
    made: list[list[Any]] = [list(zip(*of_query, strict=True)) for of_query in zip(*parts, strict=True)]
    if "id" in columns:
        made = [[dict(zip(names, row, strict=True)) for row in rows] for rows in made]
    if nested:
        return made
    if len(made) > 1:
        raise DataError(f"the answer to one query holds results of {len(made)} queries: {_shown(answer)}")
    return made[0]


def _layers(item: Any, depth: int = 0) -> list[Layer]:
    """How to look things up on a result, in its metadata, and on what it holds: segment, node, chunk or document."""
    look = _lookup(item)
    found = [look, *(_lookup(told) for name in _METADATA if isinstance(told := look(name), Mapping))]
    for name in _HOLDERS if depth < _DEPTH else ():
        held = look(name)
        if held is not None and _id(held) is None:
            found.extend(_layers(held, depth + 1))
    return found


def _lookup(value: Any) -> Layer:
    return value.get if isinstance(value, Mapping) else lambda name: getattr(value, name, None)


def _is_pair(item: Any) -> bool:
    """Whether a result is an id, or what has one, with its score, and perhaps more."""
    if type(item) is not tuple and (not isinstance(item, (tuple, list)) or hasattr(item, "_fields")):
        return False
    return len(item) > 1 and (type(item[1]) is float or item[1] is None or _is_number(item[1]))


def _id(value: Any) -> str | None:
    """An id as text, None for what is none."""
    if isinstance(value, str):
        return str(value)
    if isinstance(value, numbers.Integral) and not isinstance(value, bool):
        return str(int(value))
    return str(value) if isinstance(value, UUID) else None


def _encodable(docs: Iterable[str]) -> None:
    for doc in docs:
        try:
            doc.encode()
        except UnicodeEncodeError as error:
            raise DataError(f"the id {doc!r} is no Unicode text (a lone surrogate)") from error


def _second(pair: Sequence[Any]) -> float | None:
    return None if pair[1] is None else float(pair[1])


def _score(item: Any, layers: Sequence[Layer]) -> float | None:
    """The score of a result, None where nothing on it is one."""
    for layer in layers:
        for name in _SCORE:
            value = layer(name)
            if value is None:
                continue
            if _is_number(value):
                return float(value)
            if isinstance(value, str) and layer is layers[0]:
                raise DataError(f"the {name} of the result {_shown(item)} is text, {value!r}; a score is a number")
    return None


def _is_number(value: object) -> bool:
    return isinstance(value, (numbers.Real, Decimal)) and not isinstance(value, bool)


def _by_score(scores: Mapping[Any, Any]) -> list[Hit]:
    """The hits of a mapping {id: score}, which has no order of its own: by score, then by id, both descending."""
    made = []
    for key, value in scores.items():
        doc, score = _id(key), float(value)
        if doc is None or score != score:  # noqa: PLR0124  # NaN
            raise DataError(f"the answer gives {key!r} the score {value!r}; an id is text, and a score is no NaN")
        made.append((doc, score))
    return sorted(made, key=lambda hit: (hit[1], hit[0]), reverse=True)


def _as_frame(answer: Any) -> pl.DataFrame | None:
    """The frame that an answer is; None for anything else, series and arrays among it."""
    if isinstance(answer, (str, Sequence, Mapping, pl.Series)):
        return None
    if hasattr(answer, "to_pylist") and not hasattr(answer, "column_names"):  # an array of pyarrow
        return None
    if not isinstance(answer, (pl.DataFrame, pl.LazyFrame, ArrowStream)) and not hasattr(answer, "columns"):
        return None
    frame = table_frame(answer, "results")
    if frame is None:
        return None
    return collected(read_numbers(conform(frame, _FRAME, "results").lazy(), _FRAME, "results"))


def _rows(frame: pl.DataFrame) -> list[Hit]:
    """The hits of a frame, in the order of its rows, or of its ranks where it has them."""
    if "query_id" in frame.columns and frame["query_id"].n_unique() > 1:
        raise DataError(f"the answer to one query holds results of {frame['query_id'].n_unique()} queries")
    if "rank" in frame.columns and not frame["rank"].null_count():
        frame = frame.sort("rank", maintain_order=True)
    if frame["doc_id"].null_count():
        raise DataError(f"results: {frame['doc_id'].null_count():,} null doc_id")
    scores = frame["score"].to_list() if "score" in frame.columns else [None] * frame.height
    return list(zip(frame["doc_id"].to_list(), scores, strict=True))


def _in_order(docs: Sequence[str], own: Sequence[float | None]) -> list[float]:
    """The retriever's scores where they give its order (with ties by id, descending), else minus the rank."""
    scores = [score for score in own if score is not None and score == score]  # noqa: PLR0124  # no NaN
    if len(scores) == len(docs) and all(one > other for one, other in pairwise(zip(scores, docs, strict=True))):
        return scores
    return [-float(rank) for rank in range(1, len(docs) + 1)]


def _shown(item: object, width: int = 120) -> str:
    told = repr(item)
    return told if len(told) <= width else f"{told[:width]}..."
