"""The outcome of a gate: passed, or an error that shows what fell short."""

from __future__ import annotations

from typing import Any

import polars as pl

from rankframe.errors import GateError, counted
from rankframe.gates.values import with_columns_of
from rankframe.rendering import aligned, number


def require(table: pl.DataFrame) -> pl.DataFrame:
    """The table of checks, which must all have passed.

    Args:
        table: passed Boolean and why String beside anything else, as `checked` and `regressions` give it.

    Returns:
        The same table.

    Raises:
        GateError: an AssertionError too, whose message is a table of what fell short and whose `table` is the whole
            of it. A table without rows checks nothing, and does not pass.
        DataError: for a table that lacks these columns.

    >>> require(pl.DataFrame({"metric": ["mrr"], "value": [0.25], "passed": [False], "why": ["0.25 is below 0.5"]}))
    Traceback (most recent call last):
    rankframe.errors.GateError: 1 of 1 check fell short
    metric   value  why
    mrr     0.2500  0.25 is below 0.5
    """
    with_columns_of(table, ("passed", "why"), "the table of checks")
    short = table.filter(~pl.col("passed").fill_null(value=False))
    if table.height and not short.height:
        return table
    told = (
        [f"{short.height} of {counted(table.height, 'check')} fell short"] if table.height else ["nothing was checked"]
    )
    error = GateError("\n".join([*told, *([_shown(short)] if short.height else [])]))
    error.table = table
    raise error


def _shown(short: pl.DataFrame) -> str:
    """The rows as aligned text, without the columns that say nothing of any of them; why stands last."""
    names = [
        name for name in short.columns if name not in ("passed", "why") and short[name].null_count() < short.height
    ]
    columns = [_column(short[name]) for name in (*names, "why")]
    return aligned(list(zip(*columns, strict=True)))


def _column(series: pl.Series) -> list[str]:
    cells = [series.name, *map(_cell, series)]
    width = max(map(len, cells)) if series.dtype == pl.String else 0
    return [cell.ljust(width) for cell in cells]  # text stands left, numbers right


def _cell(value: Any) -> str:
    if value is None or isinstance(value, float):
        return number(value, 4)
    return f"{value:,}" if isinstance(value, int) else str(value)
