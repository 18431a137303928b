"""What rankframe raises and warns with, and the phrases that its messages share."""

from __future__ import annotations

import difflib
import sys
import warnings
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

EXAMPLES = 5
"""How many examples a message or a ledger row shows."""


class RankframeError(ValueError):
    """Base of everything that rankframe raises on purpose."""


class DataError(RankframeError):
    """A file or frame cannot be taken as it is; the message says where and what resolves it."""


class MetricError(RankframeError):
    """A metric name, parameter or cutoff that means nothing here."""


class ExtraError(RankframeError, ImportError):
    """An optional dependency is missing; the message names the extra that installs it."""


class GateError(RankframeError, AssertionError):
    """A gate did not pass; the message is a table of what fell short.

    Attributes:
        table: all checks, passed and not, as the gate would have returned them.
    """

    table: pl.DataFrame


class RankframeWarning(UserWarning):
    """Something was left out or looks wrong, and the result says so."""


def warn(message: str) -> None:
    """Warn the caller: the warning says the place, outside of this package, that called it."""
    depth, frame = 1, sys._getframe()  # noqa: SLF001  # what `warnings` walks too
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == __package__:
        depth, frame = depth + 1, frame.f_back
    warnings.warn(message, RankframeWarning, stacklevel=depth)


def listed(values: Iterable[object], limit: int = EXAMPLES) -> str:
    """Up to `limit` values, quoted and comma-separated, and how many more there are.

    >>> listed(["a", "b", "c"], limit=2)
    "'a', 'b' and 1 more"
    """
    items = list(values)
    text = ", ".join(repr(item) for item in items[:limit])
    return text if len(items) <= limit else f"{text} and {len(items) - limit} more"


def with_more(examples: Sequence[str], count: int) -> str:
    """Examples, comma-separated, and how many more there are of `count` in all.

    >>> with_more(["(q1, d1)"], 1200)
    '(q1, d1) and 1,199 more'
    """
    more = count - len(examples)
    return ", ".join(examples) + (f" and {more:,} more" if more else "")


def nearest(name: str, valid: Sequence[str]) -> str:
    """A hint that ends a message about an unknown name: the nearest valid one, then all of them.

    >>> nearest("ndgc", ["map", "ndcg"])
    "did you mean 'ndcg'? Valid: map, ndcg"
    """
    close = difflib.get_close_matches(name, valid, n=1)
    hint = f"did you mean {close[0]!r}? " if close else ""
    return f"{hint}Valid: {', '.join(valid)}"


def counted(count: int, noun: str) -> str:
    """A number and its noun, in the plural where it needs one.

    >>> counted(1, "query"), counted(1200, "row")
    ('1 query', '1,200 rows')
    """
    plural = noun[:-1] + "ies" if noun.endswith("y") else noun + "s"
    return f"{count:,} {noun if count == 1 else plural}"
