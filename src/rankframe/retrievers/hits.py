"""One result: its id and its score, found by its structure, whichever library made it."""

from __future__ import annotations

import numbers
import reprlib
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Any, Literal
from uuid import UUID

from rankframe.errors import DataError

Collapse = Literal["best", "none"]
Hit = tuple[str, float | None]
Layer = Callable[[str], Any]

SOURCE = ("source_id", "doc_id", "document_id", "ref_doc_id", "source")
OWN = ("id", "_id", "docid", "docno", "chunk_id", "node_id", "id_", "pk")
SCORE = ("score", "_score", "similarity", "relevance_score", "distance")
NAMES: dict[Collapse, tuple[str, ...]] = {"best": (*SOURCE, *OWN), "none": (*OWN, *SOURCE)}
"""Under which names an id stands, the first that is there: of the document, or of the result itself."""

_HOLDERS = ("segment", "node", "chunk", "document", "doc", "point")
_METADATA = ("metadata", "meta", "payload", "_source", "entity")
KEY = "give key=, which takes a result and gives its id, as in key=lambda hit: hit.metadata['doc_id']"
_DEPTH = 2  # a hit holds a segment, and that perhaps its document


def recognised(item: Any, collapse: Collapse) -> Hit:
    """The id and the score of a result.

    Raises:
        DataError: for a result without an id, showing it.

    >>> recognised({"id": "c1", "metadata": {"doc_id": "d1"}, "score": 0.5}, "best")
    ('d1', 0.5)
    """
    if type(item) is str:
        return item, None
    if _is_pair(item) and not _is_pair(item[0]):
        return item[0] if type(item[0]) is str else recognised(item[0], collapse)[0], _second(item)
    if (own := identity(item)) is not None:
        return own, None
    layers = _layers(item)
    for name in NAMES[collapse]:
        for layer in layers:
            found = layer(name)
            if (doc := identity(found)) is not None:
                return doc, _score(item, layers)
            if isinstance(found, float) and found == found:  # noqa: PLR0124  # no NaN, which says that it is missing
                raise DataError(
                    f"the {name} of the result {shown(item)} is a float, {found!r}: whole numbers turn into "
                    f"floats where one is missing (1 became 1.0); an id is text or a whole number"
                )
    if (doc := identity(lookup(item)("source"))) is not None:  # it has no other
        return doc, _score(item, layers)
    told = "is no (id, score) pair" if isinstance(item, (tuple, list)) else "has no id"
    raise DataError(
        f"a result, a {type(item).__name__}, {told}: {shown(item)}; read are {', '.join(SOURCE)}, "
        f"{', '.join(OWN[:4])}, on it or in its metadata; {KEY}"
    )


def keyed(item: Any, key: Callable[[Any], Any]) -> Hit:
    """The id that the caller's key gives of a result, and its score.

    Raises:
        DataError: where the key fails or gives no id, showing the result.
    """
    try:
        found = key(item)
    except DataError:  # it says what is wrong itself
        raise
    except Exception as error:
        raise DataError(f"key= fails with {type(error).__name__}: {error} on the result {shown(item)}") from error
    doc = identity(found)
    if doc is None:
        raise DataError(f"key= gives {shown(found)} for the result {shown(item)}; an id is text or a whole number")
    return doc, _second(item) if _is_pair(item) else _score(item, _layers(item))


def _layers(item: Any, depth: int = 0) -> list[Layer]:
    """How to look things up on a result, in its metadata, and on what it holds: segment, node, chunk or document."""
    look = lookup(item)
    found = [
        look if depth else _unless_source(look),
        *(lookup(told) for name in _METADATA if isinstance(told := look(name), Mapping)),
    ]
    for name in _HOLDERS if depth < _DEPTH else ():
        held = look(name)
        if held is not None and identity(held) is None:
            found.extend(_layers(held, depth + 1))
    return found


def _unless_source(look: Layer) -> Layer:
    """The same for everything but `source`, which names a document in metadata, and anything (web, wiki) elsewhere."""
    return lambda name: None if name == "source" else look(name)


def lookup(value: Any) -> Layer:
    """How to look a name up on a mapping or an object; None where it does not have it."""
    return value.get if isinstance(value, Mapping) else lambda name: getattr(value, name, None)


def identity(value: Any) -> str | None:
    """An id as text, None for what is none."""
    if isinstance(value, str):
        return str.__str__(value)  # of an enumeration the text, not its name
    if isinstance(value, numbers.Integral) and not isinstance(value, bool):
        return str(int(value))
    return str(value) if isinstance(value, UUID) else None


def _is_pair(item: Any) -> bool:
    """Whether a result is an id, or what has one, with its score, and perhaps more."""
    if type(item) is not tuple and (not isinstance(item, (tuple, list)) or hasattr(item, "_fields")):
        return False
    if len(item) > 2 and all(isinstance(part, numbers.Integral) for part in item):  # ids, or scores, alone
        return False
    return len(item) > 1 and (type(item[1]) is float or item[1] is None or is_number(item[1]))


def _second(pair: Sequence[Any]) -> float | None:
    return None if pair[1] is None else real(pair[1])


def _score(item: Any, layers: Sequence[Layer]) -> float | None:
    """The score of a result, None where nothing on it is one."""
    for layer in layers:
        for name in SCORE:
            value = layer(name)
            if value is None:
                continue
            if is_number(value):
                return real(value)
            if isinstance(value, str) and layer is layers[0]:
                raise DataError(f"the {name} of the result {shown(item)} is text, {value!r}; a score is a number")
    return None


def is_number(value: object) -> bool:
    """Whether a value is a number: of Python, of NumPy, or a decimal; a truth value is none."""
    return isinstance(value, (numbers.Real, Decimal)) and not isinstance(value, bool)


def real(value: Any) -> float:
    """A number as Float64."""
    try:
        return float(value)
    except (OverflowError, ValueError) as error:  # more than Float64 holds, or a signalling NaN
        raise DataError(f"a score is {shown(value)}, which is no number that Float64 holds") from error


_REPR = reprlib.Repr()
_REPR.maxdict = _REPR.maxlist = _REPR.maxtuple = 8
_REPR.maxstring = _REPR.maxother = 120


def shown(item: object, width: int = 120) -> str:
    """An object as messages show it: the beginning of its text, whatever that does."""
    try:
        told = _REPR.repr(item)
    except Exception:  # noqa: BLE001  # a repr may raise anything, and what is wrong is said without it
        told = object.__repr__(item)
    return told if len(told) <= width else f"{told[:width]}..."
