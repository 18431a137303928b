"""What a picture takes: a frame with certain columns, and who gives it."""

from __future__ import annotations

from collections.abc import Collection, Iterable

import polars as pl

from rankframe.errors import DataError, counted, listed, nearest
from rankframe.report import Report

TEXTS, NUMBERS, COUNTS = "text", "numbers", "whole numbers"

SUMMARY = {
    "run_id": TEXTS,
    "metric": TEXTS,
    "aggregate": TEXTS,
    "value": NUMBERS,
    "ci_low": NUMBERS,
    "ci_high": NUMBERS,
    "n": COUNTS,
    "ci_reason": TEXTS,
}
"""What pictures need of a summary."""


_NAMES = ("run_id", "metric", "aggregate")
"""Columns of names, none of which may be null."""


def collected(frame: object) -> object:
    """A lazy frame collected, anything else as it is."""
    return frame.collect() if isinstance(frame, pl.LazyFrame) else frame


def taken(frame: object, columns: dict[str, str], needed_by: str, given_by: str) -> pl.DataFrame:
    """The frame, once it is sure that it has rows and these columns; no number in them is NaN or infinite.

    Raises:
        DataError: for anything else; it says what the function takes and which method gives it.
    """
    takes = f"rankframe.plots.{needed_by} takes the frame of {given_by}"
    attribute = given_by.removeprefix("report.").partition(" ")[0]
    if isinstance(frame, Report) and attribute.isidentifier():
        frame = getattr(frame, attribute)
    frame = collected(frame)
    if not isinstance(frame, pl.DataFrame):
        library = type(frame).__module__.partition(".")[0]
        raise DataError(f"{takes}, of Polars; got a {type(frame).__name__} of {library}")
    missing = [name for name in columns if name not in frame.columns]
    if missing:
        raise DataError(
            f"{takes}, with the columns {', '.join(columns)}; this one lacks {listed(missing)} "
            f"and has {', '.join(frame.columns) or 'none'}"
        )
    if not frame.height:
        raise DataError(f"{takes}, got one without rows: there is nothing to draw")
    for name, kind in columns.items():
        dtype = frame.schema[name]
        fits = dtype in {pl.String, pl.Categorical, pl.Enum}
        if kind != TEXTS:
            fits = dtype.is_numeric() if kind == NUMBERS else dtype.is_integer()
        if not fits and dtype != pl.Null:
            raise DataError(f"{takes}; its column {name!r} should be {kind} and is {dtype}")
        if name in _NAMES and frame[name].null_count():
            raise DataError(f"{takes}; its column {name!r} is null in {counted(frame[name].null_count(), 'row')}")
    return frame.with_columns(_as(kind, frame[name]) for name, kind in columns.items())


def _as(kind: str, column: pl.Series) -> pl.Series:
    return finite(column) if kind == NUMBERS else column.cast(pl.String if kind == TEXTS else pl.Int64)


def finite(column: pl.Series) -> pl.Series:
    """Numbers as Float64, null where they are NaN or infinite, since neither has a place on an axis."""
    number = column.cast(pl.Float64)
    return number.set(~number.is_finite(), None)


def as_text(values: pl.Series) -> pl.Series:
    """Values as text, also of kinds that Polars does not cast to it, as durations."""
    try:
        return values.cast(pl.String)
    except pl.exceptions.PolarsError:
        return pl.Series(values.name, [None if value is None else str(value) for value in values], dtype=pl.String)


def known(name: object, there: Iterable[str], what: str) -> str:
    """One of the names that are there.

    Raises:
        DataError: with the nearest valid one.
    """
    valid = list(dict.fromkeys(there))
    if not isinstance(name, str) or name not in valid:
        raise DataError(f"no {what} {name!r} in the frame; {nearest(str(name), valid)}")
    return name


def one_row_each(frame: pl.DataFrame, key: Collection[str], hint: str) -> None:
    """Refuse a frame with several rows of one key.

    Raises:
        DataError: with the number of such keys and an example.
    """
    places = pl.DataFrame([frame[name].alias(f"key_{i}") for i, name in enumerate(key)])  # no name is a pattern
    several = places.group_by(places.columns, maintain_order=True).len().filter(pl.col("len") > 1)
    if several.height:
        first = ", ".join(f"{name} {value!r}" for name, value in zip(key, several.row(0), strict=False))
        raise DataError(
            f"{counted(several.height, 'place')} of the picture would hold several values, as {first} "
            f"({several['len'][0]} rows); {hint}"
        )


def without_value(frame: pl.DataFrame, shown: str) -> list[str]:
    """A line that counts the rows without a value, if there are any; `shown` says how they look.

    Raises:
        DataError: where no row has one.
    """
    n = frame["value"].null_count()
    if n == frame.height:
        raise DataError("no row has a value: there is nothing to draw")
    names = frame.filter(pl.col("value").is_null())["run_id"].unique(maintain_order=True)
    return [f"without a value, {shown}: {n:,} of {counted(frame.height, 'value')} (run {listed(names)})"] if n else []
