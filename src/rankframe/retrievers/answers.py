"""An answer of a retriever: which results it holds, in which order."""

from __future__ import annotations

import numbers
from collections.abc import Generator, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from decimal import Decimal
from itertools import islice
from typing import Any

import polars as pl

from rankframe.errors import DataError, listed
from rankframe.frames.coerce import ArrowStream, collected, conform, read_numbers, table_frame
from rankframe.frames.schemas import RUN, Column, Schema
from rankframe.retrievers.hits import KEY, OWN, SCORE, SOURCE, Hit, identity, is_number, lookup, real, shown

_LISTS = ("points", "hits", "matches", "results", "documents", "source_nodes", "nodes", "groups")
_QUERY = ("query_id", "qid")
_NO_IDS = {*SOURCE, *OWN, *SCORE, *_LISTS, "rank", "error", "errors", "status", "detail", "message", "took", "total"}
_DEPTH = 2  # an answer holds hits, and they perhaps a list

_NUMBERS = (Column("score", "number", required=False), Column("rank", "number", required=False))
_FRAME = Schema("results", (RUN.columns[1], *_NUMBERS), "results")
_ROWS = Schema("results", _NUMBERS, "results")
"""A frame whose ids a key gives."""


def results_in(answer: Any, limit: int, ids: Sequence[str] | None) -> list[Any]:
    """The first results of an answer, best first.

    Args:
        answer: whatever a retriever answers with.
        limit: how many at most; an iterator is read no further.
        ids: the names of columns that may hold the ids of a frame; without them its rows are given whole, as mappings.

    Returns:
        What the answer holds, as it is; pairs (id, score) of a frame, and of a mapping {id: score}.

    Raises:
        DataError: for an answer that holds no results in any order.

    >>> results_in({"d1": 0.5, "d2": 0.75}, 10, None)
    [('d2', 0.75), ('d1', 0.5)]
    """
    frame = _as_frame(answer)
    if frame is not None:
        if frame.is_empty():  # whatever its columns
            return []
        if ids is None:
            return _ranked(frame, _ROWS).head(limit).rows(named=True)
        return _rows(_ranked(_named(frame, ids), _FRAME).head(limit))
    if isinstance(answer, Mapping) and _are_scores(answer):
        return _by_score(answer)[:limit]
    found = _taken(_items(answer), limit)
    if found and getattr(answer, "ndim", 1) > 1 and all(isinstance(part, int) for part in found[0]):
        raise DataError(
            f"the answer to one query is an array with rows of ids: {shown(answer)}; give the row of the query, "
            f"as in lambda query: my_search([query])[0]"
        )
    return found


def _items(answer: Any, depth: int = 0) -> Iterable[Any]:
    """The results in an answer, in their order: those of a list, an iterator, or of the object that holds them.

    `depth` is how many objects held this one.

    Raises:
        DataError: for an answer that holds no results in any order.
    """
    if answer is None:
        raise DataError("the answer is None; a query without results has an empty list, []")
    if isinstance(answer, (str, bytes, AbstractSet)):
        why = "a set has no order" if isinstance(answer, AbstractSet) else "one id stands in a list"
        raise DataError(f"the answer is {shown(answer)}, a {type(answer).__name__}; {why}")
    columns = _columns(answer)
    if columns is not None:
        return columns
    if isinstance(answer, (list, tuple)):
        return answer
    look = lookup(answer)
    if isinstance(answer, Mapping) and (failed := answer.get("error") or answer.get("errors")):
        raise DataError(f"the answer tells of an error, {shown(failed)}; a query that failed is none without results")
    held = next((held for name in _LISTS if isinstance(held := look(name), (list, tuple, Mapping))), None)
    if held is None and isinstance(answer, Mapping):  # what a pipeline gives, by component
        parts = [part for part in answer.values() if isinstance(part, Mapping) and set(_LISTS) & set(part)]
        held = parts[0] if len(parts) == 1 else None
    if held is not None and depth < _DEPTH:
        return _items(held, depth + 1)
    methods = (getattr(answer, name, None) for name in ("to_pylist", "to_list", "tolist"))  # pyarrow; series; NumPy
    convert = next(filter(callable, methods), None)
    if convert is not None and isinstance(made := convert(), list):
        return made
    if convert or isinstance(answer, Mapping) or not isinstance(answer, Iterable) or _gives_fields(answer):
        keys = f" with the keys {list(answer)[:8]!r}" if isinstance(answer, Mapping) else ""
        raise DataError(
            f"the answer is a {type(answer).__name__}{keys}: {shown(answer)}; expected a list of results (or one "
            f"under {', '.join(_LISTS)}), a mapping {{id: score}}, or a frame with a column doc_id"
        )
    return answer


def _gives_fields(answer: object) -> bool:
    """Whether iterating over an object gives its fields, as of pydantic's: it is one result, and no list of them."""
    home = next((kind for kind in type(answer).__mro__ if "__iter__" in vars(kind)), object)
    return "model_dump" in vars(home)


def _taken(results: Iterable[Any], limit: int) -> list[Any]:
    """The first results; an iterator is read no further and closed."""
    if isinstance(results, list):
        return results[:limit]
    found = list(islice(results, limit))
    if isinstance(results, Generator):
        results.close()
    return found


def opened(answer: Any) -> Any:
    """The Polars frame of an answer that is a table; any other as it is. A stream is read only here."""
    frame = _as_frame(answer)
    return answer if frame is None else frame


def of_another(query_id: str, answer: Any) -> None:
    """Refuse an answer whose results say that they are of another query.

    Raises:
        DataError: where a frame, or the first result of a list, has another query_id (or qid).
    """
    told: list[Any] = []
    if isinstance(answer, (list, tuple)):
        first = answer[0] if answer else None
        told = [first[name] for name in _QUERY if name in first] if isinstance(first, Mapping) else []
    elif isinstance(answer, pl.DataFrame):
        told = [query for name in _QUERY if name in answer.columns for query in answer[name].unique().to_list()]
    other = next((found for one in told if (found := identity(one)) != query_id), None)
    if other is not None:
        raise DataError(f"its results are of the query {other!r}; a batch may be answered by {{query id: results}}")


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
    answers = answer if answer is None else _taken(_items(answer), len(ids) + 1)
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
        raise DataError(f"the columns {listed(names)} of the answer do not fit: {shown(answer)} ({error})") from error
    if "id" in columns:
        made = [[dict(zip(names, row, strict=True)) for row in rows] for rows in made]
    if nested:
        return made
    if len(made) > 1:
        raise DataError(f"the answer to one query holds results of {len(made)} queries: {shown(answer)}")
    return made[0]


def _are_scores(answer: Mapping[Any, Any]) -> bool:
    """Whether a mapping is {id: score}, and not one result alone, or what surrounds results."""
    return all(map(is_number, answer.values())) and _NO_IDS.isdisjoint(answer)


def _by_score(scores: Mapping[Any, Any]) -> list[Hit]:
    """The hits of a mapping {id: score}, which has no order of its own: by score, then by id, both descending."""
    made = []
    for key, value in scores.items():
        doc, score = (key, value) if type(key) is str and type(value) is float else (identity(key), real(value))
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
    for name, names in (("doc_id", ids), ("score", SCORE)):
        there = sorted((usual for usual in names if usual in frame.columns), key="source".__eq__)  # that one last
        if there and there != [name]:
            frame = frame.drop(there[1:]).rename({there[0]: name})
    return frame


def _ranked(frame: pl.DataFrame, schema: Schema) -> pl.DataFrame:
    """A frame in the order of its rows, or of its ranks where it has ranks and no scores."""
    try:
        frame = conform(frame, schema, "results")  # type: ignore[assignment]  # in memory as before
    except DataError as error:
        told = str(error).partition("; anything else by")[0]
        raise DataError(f"{told}; the answer is a frame with the columns {frame.columns}; {KEY}") from error
    if pl.String in (frame.schema.get("score"), frame.schema.get("rank")):
        frame = read_numbers(frame.lazy(), schema, "results").collect()
    if "rank" not in frame.columns or "score" in frame.columns:
        return frame
    if frame["rank"].null_count() or frame["rank"].is_nan().any():
        raise DataError("results: a rank is null or NaN; give every result its rank, or leave the column out")
    return frame.sort("rank", maintain_order=True)


def _rows(frame: pl.DataFrame) -> list[Hit]:
    """The hits of a frame of doc_id and perhaps score."""
    if frame["doc_id"].null_count():
        raise DataError(f"results: {frame['doc_id'].null_count():,} null doc_id")
    scores = frame["score"].to_list() if "score" in frame.columns else [None] * frame.height
    return list(zip(frame["doc_id"].to_list(), scores, strict=True))
