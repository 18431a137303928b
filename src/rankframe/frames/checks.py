"""What a frame must hold before it is ranked: no null ids, no numbers that are none, no pair twice."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import polars as pl

from rankframe.errors import EXAMPLES, DataError, counted
from rankframe.frames.ledger import Note, note, pairs

Invalid = Literal["error", "drop"]
Duplicates = Literal["error", "best"]

LINE = "line number"
"""Column that readers of line-based text add for messages, and that no reader returns."""


@dataclass(slots=True)
class Loaded:
    """A frame on its way in: where it came from, and what the ledger has to say of it."""

    frame: pl.DataFrame
    where: str
    notes: list[Note] = field(default_factory=list)
    no_results: list[str] = field(default_factory=list)


def choice(name: str, value: object, valid: tuple[str, ...]) -> None:
    """Refuse an option that is none of the valid ones, naming them."""
    if value not in valid:
        raise DataError(f"{name}={value!r} is unknown; valid: {', '.join(map(repr, valid))}")


def valid_rows(loaded: Loaded, number: str, invalid: Invalid = "error") -> Loaded:
    """`loaded` without rows that have a null id or a null or NaN number: refused, or dropped and noted."""
    choice("invalid", invalid, ("error", "drop"))
    frame = loaded.frame
    needed = [name for name in ("query_id", "doc_id") if name in frame.columns]
    finite = number == "relevance"  # an infinite score is ordered like any number; an infinite gain is none
    usable = frame[number].is_finite() if finite else frame[number].is_not_nan()
    if not any(frame[name].null_count() for name in (*needed, number)) and usable.all():
        return loaded
    unusable = ~pl.col(number).is_finite() if finite else pl.col(number).is_nan()
    bad = pl.any_horizontal(*(pl.col(name).is_null() for name in (*needed, number)), unusable)
    wrong = frame.filter(bad)
    if invalid == "error":
        kinds = {name: int(wrong[name].null_count()) for name in (*needed, number)}
        parts = [f"{count:,} null {name}" for name, count in kinds.items() if count]
        if odd := wrong.select(unusable.sum()).item():
            parts.append(f"{odd:,} {'infinite or NaN' if finite else 'NaN'} {number}")
        raise DataError(
            f"{loaded.where}: {' and '.join(parts)}, in {counted(wrong.height, 'row')}: "
            f'{_places(wrong)}; invalid="drop" leaves such rows out and counts them'
        )
    dropped = note("invalid_dropped", pairs(wrong), wrong.height)
    return Loaded(frame.filter(~bad), loaded.where, [*loaded.notes, dropped], loaded.no_results)


def valid_ids(loaded: Loaded, key: str, invalid: Invalid = "error") -> Loaded:
    """`loaded` without records that have no id: refused, or dropped and noted."""
    ids = loaded.frame[key]
    if not ids.null_count():
        return loaded
    records = (ids.is_null().arg_true() + 1).to_list()
    examples = [f"record {number}" for number in records]
    if invalid == "error":
        more = f" and {len(records) - EXAMPLES:,} more" if len(records) > EXAMPLES else ""
        raise DataError(
            f"{loaded.where}: {counted(len(records), 'record')} without {key}: {', '.join(examples[:EXAMPLES])}{more}; "
            f'invalid="drop" leaves them out and counts them'
        )
    kept = loaded.frame.filter(pl.col(key).is_not_null())
    return Loaded(kept, loaded.where, [*loaded.notes, note("invalid_dropped", examples)], loaded.no_results)


def _places(frame: pl.DataFrame) -> str:
    """The first rows as (query, document), with their lines where a file gave them."""
    texts = pairs(frame)
    if LINE in frame.columns:
        lines = frame[LINE].head(EXAMPLES)
        texts = [f"{text} on line {line}" for text, line in zip(texts, lines, strict=True)]
    more = frame.height - len(texts)
    return ", ".join(texts) + (f" and {more:,} more" if more else "")


def settled_judgments(loaded: Loaded, duplicates: Duplicates = "error") -> Loaded:
    """Judgments with each (query, document) once, sorted by query and document.

    The same judgment twice counts once and is noted; different grades for one pair are refused,
    or the highest is kept and noted where `duplicates="best"`.
    """
    choice("duplicates", duplicates, ("error", "best"))
    frame = loaded.frame.sort("query_id", "doc_id", maintain_order=True)
    again = frame.select(
        same=(pl.col("query_id") == pl.col("query_id").shift()) & (pl.col("doc_id") == pl.col("doc_id").shift())
    )["same"].fill_null(value=False)
    if not again.any():
        return Loaded(frame, loaded.where, loaded.notes, loaded.no_results)
    grades = frame.filter(again | again.shift(-1, fill_value=False)).group_by("query_id", "doc_id", maintain_order=True)
    repeated = grades.agg(
        pl.col("relevance").unique(maintain_order=True), *([pl.col(LINE)] if LINE in frame.columns else [])
    )
    conflicts = repeated.filter(pl.col("relevance").list.len() > 1)
    if conflicts.height and duplicates == "error":
        told = [
            f"({row['query_id']}, {row['doc_id']}) as {' and '.join(f'{grade:g}' for grade in row['relevance'])}"
            + (f" on lines {' and '.join(map(str, row[LINE]))}" if LINE in row else "")
            for row in conflicts.head(EXAMPLES).iter_rows(named=True)
        ]
        more = f" and {conflicts.height - len(told):,} more" if conflicts.height > len(told) else ""
        raise DataError(
            f"{loaded.where}: {counted(conflicts.height, 'pair')} judged with different grades: "
            f"{', '.join(told)}{more}; "
            f'duplicates="best" keeps the highest grade and counts them'
        )
    equal = repeated.filter(pl.col("relevance").list.len() == 1)
    notes = [
        note("conflict_resolved", pairs(conflicts), conflicts.height),
        note("repeated_judgment", pairs(equal), equal.height),
    ]
    best = frame.sort("query_id", "doc_id", "relevance", descending=[False, False, True], maintain_order=True)
    kept = best.unique(["query_id", "doc_id"], keep="first", maintain_order=True)
    return Loaded(kept, loaded.where, [*loaded.notes, *(n for n in notes if n.count)], loaded.no_results)
