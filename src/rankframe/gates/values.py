"""Numbers of gates: which are taken, and how they are written."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Literal

import polars as pl

from rankframe.errors import DataError, listed
from rankframe.metrics.metric import real


def finite(value: object) -> float | None:
    """A finite number of any type as a float; None for anything else."""
    number = real(value)
    return None if number is None or math.isinf(number) else number


def share(name: str, value: object) -> float:
    """A share as an option gives it."""
    number = finite(value)
    if number is None or not 0 <= number <= 1:
        raise DataError(f"{name} is a share from 0 to 1, got {value!r:.80}")
    return number


def plain(value: float) -> str:
    """A number in as many digits as give it back.

    >>> plain(0.90), plain(5.0)
    ('0.9', '5')
    """
    return repr(value).removesuffix(".0")


def told(value: float, bound: float, digits: int, kind: Literal["g", "f"] = "g") -> str:
    """A number in so many digits, or in as many more as tell it from the bound.

    >>> told(0.81234, 0.9, 4), told(0.8999999, 0.9, 4), told(0.8, 0.9, 2, "f")
    ('0.8123', '0.8999999', '0.80')
    """
    for more in range(digits, 18):
        text = format(value, f".{more}{kind}")
        if value == bound or (float(text) != bound and (float(text) < bound) == (value < bound)):
            return text
    return repr(value)


def below(covered: float, least: float) -> str:
    """What is said of a coverage below its minimum.

    >>> below(0.8, 0.95), below(0.9996, 1.0)
    ('coverage 0.80 below 0.95', 'coverage 0.9996 below 1')
    """
    return f"coverage {told(covered, least, 2, 'f')} below {plain(least)}"


def with_columns_of(frame: pl.DataFrame, names: Iterable[str], what: str) -> pl.DataFrame:
    """The frame, which must have these columns."""
    lacking = [name for name in names if name not in frame.columns]
    if lacking:
        raise DataError(f"{what} lacks the columns {listed(lacking, 12)}; it has {listed(frame.columns, 12)}")
    return frame
