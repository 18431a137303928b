"""What retrievers answer with, as ids and scores: recognised by its structure, whichever library made it."""

from __future__ import annotations

import numbers
import reprlib
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from decimal import Decimal
from itertools import islice, pairwise
from typing import Any, Literal
from uuid import UUID

import polars as pl

from rankframe.errors import DataError, listed
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
_LISTS = ("points", "hits", "matches", "results", "documents", "source_nodes", "nodes", "groups")
_DEPTH = 2  # a hit holds a segment, and that perhaps its document; an answer holds hits, and they perhaps a list
_NAMES: dict[Collapse, tuple[str, ...]] = {"best": (*_SOURCE, *_OWN), "none": (*_OWN, *_SOURCE)}
"""Under which names an id stands, the first that is there: of the document, or of the result itself."""

_NUMBERS = (Column("score", "number", required=False), Column("rank", "number", required=False))
_FRAME = Schema("results", (RUN.columns[1], *_NUMBERS), "results")
_ROWS = Schema("results", _NUMBERS, "results")
"""A frame whose ids `key` gives."""

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
        frame = _as_frame(answer)
        if frame is not None and frame.is_empty():  # whatever its columns
            return []
        if frame is not None and self.key is None:
            return _rows(_ranked(_named(frame, _NAMES[self.collapse]), _FRAME).head(self.limit))
        found: list[Any]
        if frame is not None:
            found = _ranked(frame, _ROWS).head(self.limit).rows(named=True)
        elif isinstance(answer, Mapping) and _are_scores(answer):
            found = _by_score(answer)[: self.limit]
        else:
            found = taken(items(answer), self.limit)
        if found and getattr(answer, "ndim", 1) > 1 and all(isinstance(part, int) for part in found[0]):
            raise DataError(
                f"the answer to one query is an array with rows of ids: {_shown(answer)}; give the row of the query, "
                f"as in lambda query: my_search([query])[0]"
            )
        if self.key is not None:  # of a mapping {id: score} it takes the pair, of a frame the row
            return [self._keyed(item) for item in found]
        return [  # pairs of text and float as they are: a call for each would be half of what a query costs
            item
            if type(item) is tuple and len(item) == 2 and type(item[0]) is str and type(item[1]) is float
            else self._recognised(item)
            for item in found
        ]

    def _keyed(self, item: Any) -> Hit:
        try:
            found = self.key(item)  # type: ignore[misc]  # only called where there is one
        except Exception as error:
            raise DataError(f"key= fails with {type(error).__name__}: {error} on the result {_shown(item)}") from error
        doc = _id(found)
        if doc is None:
            raise DataError(
                f"key= gives {_shown(found)} for the result {_shown(item)}; an id is text or a whole number"
            )
        return doc, _second(item) if _is_pair(item) else _score(item, _layers(item))

    def _recognised(self, item: Any) -> Hit:
        if type(item) is str:
            return item, None
        if _is_pair(item) and not _is_pair(item[0]):
            return item[0] if type(item[0]) is str else self._recognised(item[0])[0], _second(item)
        if (own := _id(item)) is not None:
            return own, None
        layers = _layers(item)
        for name in _NAMES[self.collapse]:
            for layer in layers:
                found = layer(name)
                if (doc := _id(found)) is not None:
                    return doc, _score(item, layers)
                if isinstance(found, float) and found == found:  # noqa: PLR0124  # no NaN, which says that it is missing
                    raise DataError(
                        f"the {name} of the result {_shown(item)} is a float, {found!r}: whole numbers turn into "
                        f"floats where one is missing (1 became 1.0); an id is text or a whole number"
                    )
        told = "is no (id, score) pair" if isinstance(item, (tuple, list)) else "has no id"
        raise DataError(
            f"a result, a {type(item).__name__}, {told}: {_shown(item)}; read are {', '.join(_SOURCE)}, "
            f"{', '.join(_OWN[:4])}, on it or in its metadata; {_KEY}"
        )


def items(answer: Any, depth: int = 0) -> Iterable[Any]:
    """The results in an answer, in their order: those of a list, an iterator, or of the object that holds them.

    `depth` is how many objects held this one.

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
    if held is None and isinstance(answer, Mapping):  # what a pipeline gives, by component
        parts = [part for part in answer.values() if isinstance(part, Mapping) and set(_LISTS) & set(part)]
        held = parts[0] if len(parts) == 1 else None
    if held is not None and depth < _DEPTH:
        return items(held, depth + 1)
    methods = (getattr(answer, name, None) for name in ("to_pylist", "to_list", "tolist"))  # pyarrow; series; NumPy
    convert = next(filter(callable, methods), None)
    if convert is not None and isinstance(made := convert(), list):
        return made
    if convert or isinstance(answer, Mapping) or not isinstance(answer, Iterable) or _gives_fields(answer):
        keys = f" with the keys {list(answer)[:8]!r}" if isinstance(answer, Mapping) else ""
        raise DataError(
            f"the answer is a {type(answer).__name__}{keys}: {_shown(answer)}; expected a list of results (or one "
            f"under {', '.join(_LISTS)}), a mapping {{id: score}}, or a frame with a column doc_id"
        )
    return answer


def _gives_fields(answer: object) -> bool:
    """Whether iterating over an object gives its fields, as of pydantic's: it is one result, and no list of them."""
    home = next((kind for kind in type(answer).__mro__ if "__iter__" in vars(kind)), object)
    return "model_dump" in vars(home)


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
    try:
        made: list[list[Any]] = [list(zip(*of_query, strict=True)) for of_query in zip(*parts, strict=True)]
    except (TypeError, ValueError) as error:
        raise DataError(f"the columns {listed(names)} of the answer do not fit: {_shown(answer)} ({error})") from error
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
        return str.__str__(value)  # of an enumeration the text, not its name
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
    return None if pair[1] is None else _float(pair[1])


def _score(item: Any, layers: Sequence[Layer]) -> float | None:
    """The score of a result, None where nothing on it is one."""
    for layer in layers:
        for name in _SCORE:
            value = layer(name)
            if value is None:
                continue
            if _is_number(value):
                return _float(value)
            if isinstance(value, str) and layer is layers[0]:
                raise DataError(f"the {name} of the result {_shown(item)} is text, {value!r}; a score is a number")
    return None


def _is_number(value: object) -> bool:
    return isinstance(value, (numbers.Real, Decimal)) and not isinstance(value, bool)


def _float(value: Any) -> float:
    try:
        return float(value)
    except (OverflowError, ValueError) as error:  # more than Float64 holds, or a signalling NaN
        raise DataError(f"a score is {_shown(value)}, which is no number that Float64 holds") from error


def _are_scores(answer: Mapping[Any, Any]) -> bool:
    """Whether a mapping is {id: score}, and not one result alone."""
    alone = any(name in answer for name in _SCORE) and any(name in answer for name in (*_SOURCE, *_OWN))
    return not alone and all(map(_is_number, answer.values()))


def _by_score(scores: Mapping[Any, Any]) -> list[Hit]:
    """The hits of a mapping {id: score}, which has no order of its own: by score, then by id, both descending."""
    made = []
    for key, value in scores.items():
        doc, score = (key, value) if type(key) is str and type(value) is float else (_id(key), _float(value))
        if doc is None or score != score:  # noqa: PLR0124  # NaN
            raise DataError(f"the answer gives {key!r} the score {value!r}; an id is text, and a score is no NaN")
        made.append((score if type(value) is float else _exact(value), doc, score))
    return [(doc, score) for _, doc, score in sorted(made, reverse=True)]


def _exact(value: Any) -> Any:
    """A number that is compared without being rounded to a float."""
    if isinstance(value, numbers.Integral):
        return int(value)
    return value if isinstance(value, Decimal) else float(value)


def _as_frame(answer: Any) -> pl.DataFrame | None:
    """The frame that an answer is; None for anything else, series and arrays among it."""
    if isinstance(answer, (str, Sequence, Mapping, pl.Series)):
        return None
    if hasattr(answer, "to_pylist") and not hasattr(answer, "column_names"):  # an array of pyarrow
        return None
    if not isinstance(answer, (pl.DataFrame, pl.LazyFrame, ArrowStream)) and not hasattr(answer, "columns"):
        return None
    frame = table_frame(answer, "results")
    return None if frame is None else collected(frame)


def _named(frame: pl.DataFrame, ids: Sequence[str]) -> pl.DataFrame:
    """A frame with the first of the columns `ids` as doc_id, and the first of the scores as score."""
    for name, names in (("doc_id", ids), ("score", _SCORE)):
        there = [usual for usual in names if usual in frame.columns]
        if there and there != [name]:
            frame = frame.drop(there[1:]).rename({there[0]: name})
    return frame


def _ranked(frame: pl.DataFrame, schema: Schema) -> pl.DataFrame:
    """A frame in the order of its rows, or of its ranks where it has them."""
    if "query_id" in frame.columns and frame["query_id"].n_unique() > 1:
        raise DataError(f"the answer to one query holds results of {frame['query_id'].n_unique()} queries")
    frame = conform(frame, schema, "results")  # type: ignore[assignment]  # in memory as before
    if pl.String in (frame.schema.get("score"), frame.schema.get("rank")):
        frame = read_numbers(frame.lazy(), schema, "results").collect()
    ranked = "rank" in frame.columns and not frame["rank"].null_count()
    return frame.sort("rank", maintain_order=True) if ranked else frame


def _rows(frame: pl.DataFrame) -> list[Hit]:
    """The hits of a frame of doc_id and perhaps score."""
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


_REPR = reprlib.Repr()
_REPR.maxdict = _REPR.maxlist = _REPR.maxtuple = 8
_REPR.maxstring = _REPR.maxother = 120


def _shown(item: object, width: int = 120) -> str:
    try:
        told = _REPR.repr(item)
    except Exception:  # noqa: BLE001  # a repr may raise anything, and what is wrong is said without it
        told = object.__repr__(item)
    return told if len(told) <= width else f"{told[:width]}..."
