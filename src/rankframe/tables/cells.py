"""What a table is made of before it is written: columns, cells with marks, notes; and how a frame is taken."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from typing import NamedTuple

import polars as pl

from rankframe.errors import DataError, listed
from rankframe.rendering import number


class Column(NamedTuple):
    """What stands above a column, and whether its cells are names (left) or numbers (right)."""

    heading: str
    names: bool = False


class Cell(NamedTuple):
    """One cell: its text, whether that is the `best`, what is `raised` behind it, and what stands `beside` or below."""

    text: str
    best: bool = False
    raised: str = ""
    beside: str = ""


class Grid(NamedTuple):
    """A whole table, in plain text: every writer escapes for itself."""

    caption: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[Cell]]
    notes: Sequence[str]


def in_line(text: str) -> str:
    r"""Text as it stands in a cell: on one line, with control characters written out.

    >>> in_line("a\nb"), in_line("a\x00b")
    ('a b', 'a\\x00b')
    """
    return "".join(_in_line(sign) if unicodedata.category(sign) in _UNSHOWN else sign for sign in text)


_UNSHOWN = ("Cc", "Cs", "Zl", "Zp")


def _in_line(sign: str) -> str:
    return " " if sign.isspace() else sign.encode("unicode_escape").decode("ascii")


def shown(value: float | None, digits: int, *, whole: bool = False, signed: bool = False) -> str:
    """A number in a cell: 0 has no sign, and a `signed` number above 0 has one.

    >>> shown(0.5, 2, signed=True), shown(-0.001, 2), shown(None, 2)
    ('+0.50', '0.00', '-')
    """
    text = number(value, digits, whole=whole)
    if value is None or text in ("nan", "inf"):
        return text
    if not float(text):
        return text.removeprefix("-")
    return f"+{text}" if signed and value > 0 else text


def interval(low: float | None, high: float | None, digits: int, *, signed: bool = False) -> str:
    """An interval in brackets; nothing where there is none.

    >>> interval(0.25, 0.75, 2), interval(None, None, 2)
    ('[0.25, 0.75]', '')
    """
    if low is None or high is None:
        return ""
    ends = (shown(end, digits, signed=signed) for end in (low, high))
    return f"[{', '.join(ends)}]"


def taken(frame: object, schema: pl.Schema, keys: Sequence[str], what: str, source: str) -> pl.DataFrame:
    """The columns of `schema` of a frame, with `alpha` and `level` where it has them.

    Raises:
        DataError: for what is no frame, lacks columns, has other types, or a key that is null or there twice.
    """
    if not isinstance(frame, pl.DataFrame):
        raise DataError(f"{what} takes the frame of {source}, got {type(frame).__name__}")
    lacking = [name for name in schema if name not in frame.columns]
    if lacking:
        raise DataError(f"{what} takes the frame of {source}; this one lacks the columns {listed(lacking, 30)}")
    try:
        table = frame.select(*schema, *(name for name in ("alpha", "level") if name in frame.columns)).cast(
            dict(schema.items())
        )
    except pl.exceptions.PolarsError as error:
        told = str(error).partition("\n")[0]
        raise DataError(f"{what} takes the frame of {source}; this one has other types ({told})") from error
    for name in keys:
        if table[name].null_count():
            raise DataError(f"{what}: {name} is null in row {table[name].is_null().arg_true()[0]}")
    twice = table.filter(pl.struct(keys).is_duplicated())
    if twice.height:
        raise DataError(
            f"{what}: {', '.join(keys)} are to be there once, and {listed(twice.select(keys).row(0))} are there "
            f"{twice.filter(pl.struct(keys) == twice.select(pl.struct(keys)).to_series()[0]).height} times; "
            "filter the frame, as to one slice"
        )
    return table
