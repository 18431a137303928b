"""Cells of samples: a text, or a list of texts or ids, from whatever Python value or stored text stands there."""

from __future__ import annotations

import ast
import io
import json
import math
import numbers
import re
import tokenize
from collections.abc import Callable, Sequence
from typing import Any

import polars as pl

from rankframe.errors import EXAMPLES, DataError, counted, with_more
from rankframe.frames.schemas import Column

TEXTS = pl.List(pl.String)
"""The dtype of a column of lists."""

_BESIDE = re.compile(r"""\[\s*(?P<mark>['"])(?:(?!(?P=mark)).)*(?P=mark)\s+['"]""", re.DOTALL)
_WANTED = {"texts": "no list of texts", "ids": "no list of ids", "text": "no text", "id": "no id"}


class _RefusedError(Exception):
    """Why a value is refused: what it is, and what resolves it."""

    def __init__(self, told: str, hint: str) -> None:
        super().__init__(told)
        self.told, self.hint = told, hint


def missing(value: object) -> bool:
    """Whether a value stands for none: None, NaN, or what pandas has for them.

    >>> missing(None), missing(float("nan")), missing(""), missing([])
    (True, True, False, False)
    """
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, numbers.Real) and not isinstance(value, numbers.Rational) and math.isnan(value)


def listlike(value: object) -> bool:
    """Whether a value is a list in some form: list, tuple, an array of NumPy, pandas or Arrow, a Series.

    >>> listlike(("a",)), listlike("a"), listlike({"a": 1})
    (True, False, False)
    """
    return _items(value) is not None


def plain(value: Any) -> Any:
    """A value of metadata as Polars takes it: None for what stands for none, a list for an array of NumPy."""
    if missing(value) and not isinstance(value, float):
        return None
    return value.tolist() if type(value).__module__ == "numpy" and hasattr(value, "tolist") else value


def cells(
    column: Column,
    values: Sequence[Any],
    where: str,
    *,
    keys: Sequence[Any] | None = None,
    lists: str | None = None,
) -> pl.Series:
    """A column of Python values as String, or as List(String) where its kind is a list.

    What stands for none is null, in a list too; whole numbers become text as ids, and as texts of their own.

    Args:
        column: name and kind.
        values: one for each row.
        where: what a message begins with.
        keys: the ids of the rows, for messages.
        lists: how text in place of a list is read: "json", "python", or at which separator it is split.

    Raises:
        DataError: for values that are none of this kind, naming up to five, by number from 0 and id.

    >>> cells(Column("contexts", "texts"), [["a", None], (), None], "samples").to_list()
    [['a', None], [], None]
    """
    read = _reader(column, lists)
    made: list[Any] = []
    wrong: list[tuple[int, _RefusedError]] = []
    for place, value in enumerate(values):
        try:
            made.append(None if missing(value) else read(value))
        except _RefusedError as error:
            wrong.append((place, error))
    if not wrong:
        dtype = TEXTS if column.kind in ("texts", "ids") else pl.String
        try:
            return pl.Series(column.name, made, dtype=dtype, strict=True)
        except UnicodeEncodeError:
            odd = _RefusedError("holds half a surrogate pair, which is no Unicode text", "repair or drop it before")
            wrong = [(place, odd) for place, value in enumerate(made) if not _encodable(value)]
    told = [
        f"sample {place}{'' if keys is None or keys[place] is None else f' ({keys[place]!r})'} {error.told}"
        for place, error in wrong[:EXAMPLES]
    ]
    hints = "; ".join(dict.fromkeys(error.hint for _, error in wrong[:EXAMPLES]))
    found = f"is {_WANTED[column.kind]} in {counted(len(wrong), 'sample')}"
    raise DataError(f"{where}: {column.name!r} {found}: {with_more(told, len(wrong))}; {hints}")


def _reader(column: Column, lists: str | None) -> Callable[[Any], Any]:
    if column.kind in ("texts", "ids"):
        return lambda value: _list(value, lists, ids=column.kind == "ids")
    return _text if column.kind == "text" else _id


def _text(value: object) -> str:
    if isinstance(value, str):
        return str(value)
    if isinstance(value, numbers.Integral) and not isinstance(value, bool):
        return str(int(value))
    if listlike(value):
        raise _RefusedError(f"is a list, {_shown(value)}", "one text stands there, not a list, nor several turns")
    raise _RefusedError(f"is {_shown(value)}", "make it text before")


def _id(value: object) -> str:
    if isinstance(value, str) or (isinstance(value, numbers.Integral) and not isinstance(value, bool)):
        return _text(value)
    raise _RefusedError(f"is {_shown(value)}", "an id is text or a whole number")


def _list(value: object, lists: str | None, *, ids: bool) -> list[str | None] | None:
    if isinstance(value, str):
        if lists is None:
            raise _RefusedError(f"is the text {_cut(value)}", _hint(value))
        if not value.strip():
            return None
        value = _decoded(value, lists)
        if value is None:
            return None
    items = _items(value)
    if items is None:
        raise _RefusedError(f"is {_shown(value)}", "a list of texts stands there")
    if all(type(item) is str for item in items):
        return items
    return [_entry(item, place, ids=ids) for place, item in enumerate(items)]


def _entry(item: object, place: int, *, ids: bool) -> str | None:
    if missing(item):
        return None
    if isinstance(item, str):
        return str(item)
    if ids and isinstance(item, numbers.Integral) and not isinstance(item, bool):
        return str(int(item))
    hint = "an id is text or a whole number" if ids else "each entry is text, or None where there is none"
    raise _RefusedError(f"holds {_shown(item)} at place {place}", hint)


def _items(value: object) -> list[Any] | None:
    """The items of a list in any form; None for anything else: text, a mapping, a set (which has no order)."""
    if isinstance(value, list):
        return value
    if isinstance(value, (str, bytes, bytearray, dict)):
        return None
    if isinstance(value, Sequence):
        return list(value)
    for method in ("tolist", "to_pylist", "to_list"):
        if callable(made := getattr(value, method, None)):
            items = made()
            return items if isinstance(items, list) else None
    return None


def _decoded(text: str, lists: str) -> object:
    if lists == "json":
        try:
            return json.loads(text)
        except (ValueError, RecursionError) as error:
            raise _RefusedError(f"is {_cut(text)}, no JSON ({error})", _other("json", text)) from error
    if lists == "python":
        return _evaluated(text)
    if _stored_as(text) is not None:
        raise _RefusedError(f"is {_cut(text)}, a list as text and not divided by {lists!r}", _hint(text))
    return text.split(lists)


def _evaluated(text: str) -> object:
    try:
        value: object = ast.literal_eval(text.strip())
    except (ValueError, SyntaxError, MemoryError, RecursionError) as error:
        raise _RefusedError(f"is {_cut(text)}, no Python literal", _other("python", text)) from error
    if _joined(text.strip()):
        raise _RefusedError(f"is {_cut(text)}, where texts stand side by side without a comma", _hint(text))
    return value


def _joined(text: str) -> bool:
    """Whether Python would join two texts of this literal: NumPy prints arrays so, a list is never written so."""
    before = None
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type in (tokenize.NL, tokenize.NEWLINE, tokenize.COMMENT):
            continue
        if token.type == before == tokenize.STRING:
            return True
        before = token.type
    return False


def _stored_as(text: str) -> str | None:
    """How a list was turned into this text: as "json", by "python", "printed" by NumPy; None where it is no list."""
    text = text.strip()
    if text.startswith("array([") and text.endswith(")"):
        return "printed"
    if not (text.startswith("[") and text.endswith("]")):
        return None
    if _is_json(text):
        return "json"
    try:
        ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return "printed" if _BESIDE.match(text) else None
    return "printed" if _joined(text) else "python"


def _hint(text: str) -> str:
    """What resolves a text in place of a list."""
    how = _stored_as(text)
    if how == "printed":
        return (
            "an array was printed there, and where its texts end can no longer be told for certain: store the samples "
            "again as JSON lines or Parquet"
        )
    if how is not None:
        return f'a list was stored as text there, as CSV does: lists="{how}" decodes it'
    return 'one text stands in a list too, as in ["text"]; lists= decodes lists that were stored as text, as in CSV'


def _other(tried: str, text: str) -> str:
    """What resolves a text that does not parse as it was asked to."""
    if _stored_as(text) not in (None, tried):
        return _hint(text)
    return 'lists="json", "python" or a separator, such as "|", says how lists are stored'


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _encodable(value: str | list[str | None] | None) -> bool:
    try:
        "".join(part or "" for part in (value if isinstance(value, list) else [value])).encode()
    except UnicodeEncodeError:
        return False
    return True


def _shown(value: object) -> str:
    return f"{_cut(value)} ({type(value).__name__})"


def _cut(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
