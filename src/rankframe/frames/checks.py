"""What a frame must hold before it is ranked: no null ids, no numbers that are none, no pair twice."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import polars as pl

from rankframe.errors import EXAMPLES, DataError, counted, listed, with_more
from rankframe.frames.coerce import rounded_rows, would_round
from rankframe.frames.ledger import Note, note, pairs

Invalid = Literal["error", "drop"]
Duplicates = Literal["error", "best"]

LINE = "__rankframe_line_number__"
"""Column that readers of line-based text add for messages, and that no reader returns."""


_TEXT = "__rankframe_as_written__"
"""What stood where a number was expected, while the rows are checked."""


@dataclass(slots=True)
class Loaded:
    """A frame on its way in: where it came from, and what the ledger has to say of it.

    Of a run, which queries returned nothing, which failed, and how many documents were left of those whose results
    were collapsed: no row can say so.
    """

    frame: pl.DataFrame
    where: str
    notes: list[Note] = field(default_factory=list)
    no_results: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    collapsed: dict[str, int] = field(default_factory=dict)


def choice(name: str, value: object, valid: tuple[str, ...]) -> None:
    """Refuse an option that is none of the valid ones, naming them."""
    if value not in valid:
        raise DataError(f"{name}={value!r} is unknown; valid: {', '.join(map(repr, valid))}")


def valid_rows(loaded: Loaded, number: str, invalid: Invalid = "error") -> Loaded:
    """`loaded` without rows that have a null id or no proper number: refused, or dropped and noted.

    Text in the number's column is read; an infinite score is ordered like any number, an infinite grade is none.
    """
    choice("invalid", invalid, ("error", "drop"))
    valid, wrong = parted_rows(loaded, number)
    if wrong is not None and invalid == "error":
        raise DataError(wrong.message(loaded.where))
    return valid


def parted_rows(loaded: Loaded, number: str) -> tuple[Loaded, Unusable | None]:
    """`loaded` without the rows that cannot be used, which are noted; and what is wrong with them, if there are any."""
    frame, finite, ids = loaded.frame, number == "relevance", ("query_id", "doc_id")
    if frame[number].n_chunks() > 1:  # it is looked at as one array, here and later
        frame = frame.with_columns(frame[number].rechunk())
    unread = pl.lit(value=False)
    if frame[number].dtype == pl.String:
        value = pl.col(number).str.strip_chars().cast(pl.Float64, strict=False)
        frame = frame.with_columns(value.alias(number), pl.col(number).alias(_TEXT))
        unread = pl.col(_TEXT).is_not_null() & pl.col(number).is_null()
        rounded = rounded_rows(frame, _TEXT, number)
        if rounded.height:
            raise would_round(loaded.where, number, rounded[_TEXT][0], _told_places(rounded))
    if not any(frame[name].null_count() for name in (*ids, number)) and _usable(frame[number], finite=finite):
        return replace(loaded, frame=frame if _TEXT not in frame.columns else frame.drop(_TEXT)), None
    unusable = ~pl.col(number).is_finite() if finite else pl.col(number).is_nan()
    bad = pl.any_horizontal(*(pl.col(name).is_null() for name in (*ids, number)), unusable)
    rows = frame.filter(bad)
    kinds = {f"null {name}": pl.col(name).is_null() for name in ids} | {
        f"null {number}": pl.col(number).is_null() & ~unread,
        f"{'infinite or NaN' if finite else 'NaN'} {number}": unusable,
        f"{number} that is no number": unread,
    }
    counts = rows.select(kind.fill_null(value=False).sum().alias(name) for name, kind in kinds.items()).row(
        0, named=True
    )
    wrong = Unusable(rows.height, counts, tuple(_places(rows)))
    dropped = note("invalid_dropped", pairs(rows), rows.height)
    kept = frame.filter(~bad).drop(_TEXT, strict=False)
    return replace(loaded, frame=kept, notes=[*loaded.notes, dropped]), wrong


@dataclass(frozen=True, slots=True)
class Unusable:
    """Rows that cannot be used: how many, how many of each kind, and where the first of them stand."""

    rows: int
    kinds: Mapping[str, int]
    places: tuple[str, ...]

    def __add__(self, other: Unusable) -> Unusable:
        """Those of two parts together."""
        kinds = {kind: count + other.kinds[kind] for kind, count in self.kinds.items()}
        return Unusable(self.rows + other.rows, kinds, (*self.places, *other.places)[:EXAMPLES])

    def message(self, where: str, how: str = 'invalid="drop" leaves such rows out and counts them') -> str:
        """The error that refuses them, with what resolves it."""
        told = " and ".join(f"{count:,} {kind}" for kind, count in self.kinds.items() if count)
        return f"{where}: {told}, in {counted(self.rows, 'row')}: {with_more(self.places, self.rows)}; {how}"


def _usable(numbers: pl.Series, *, finite: bool) -> bool:
    import numpy as np

    values = numbers.to_numpy()
    return bool(np.isfinite(values).all() if finite else not np.isnan(values).any())


def no_judgments(where: str, queries: Sequence[str]) -> DataError:
    """The error for qrels without rows, with a few queries of the run."""
    return DataError(
        f"{where}: there are no judgments (expected query_id, doc_id, relevance); queries of the run: "
        f"{listed(queries, 3) or 'none'}"
    )


def repeated_pairs(where: str, count: int, examples: Sequence[str]) -> DataError:
    """The error for (query, document) pairs that a run has more than once."""
    return DataError(
        f"{where}: {counted(count, '(query, document) pair')} more than once: {with_more(examples, count)}; "
        f'duplicates="best" keeps the best score of each and counts the rest'
    )


def conflicting_grades(where: str, count: int, examples: Sequence[str]) -> DataError:
    """The error for pairs that are judged with different grades."""
    return DataError(
        f"{where}: {counted(count, 'pair')} judged with different grades: {with_more(examples, count)}; "
        f'duplicates="best" keeps the highest grade and counts them'
    )


def no_query_in_common(where: str, run: str, queries: Sequence[str], judged: Sequence[str]) -> DataError:
    """The error for a run of whose queries none is judged, with a few of either."""
    return DataError(
        f"{where}: the run {run!r} and the judgments have no query in common; run: {listed(queries, 3)}, judgments: "
        f"{listed(judged, 3)}; ids are compared as text, letter by letter"
    )


def valid_ids(loaded: Loaded, key: str, invalid: Invalid = "error") -> Loaded:
    """`loaded` without records that have no id: refused, or dropped and noted."""
    ids = loaded.frame[key]
    if not ids.null_count():
        return loaded
    records = (ids.is_null().arg_true() + 1).to_list()
    examples = [f"record {number}" for number in records]
    if invalid == "error":
        raise DataError(
            f"{loaded.where}: {counted(len(records), 'record')} without {key}: "
            f"{with_more(examples[:EXAMPLES], len(records))}; "
            f'invalid="drop" leaves them out and counts them'
        )
    kept = loaded.frame.filter(pl.col(key).is_not_null())
    return replace(loaded, frame=kept, notes=[*loaded.notes, note("invalid_dropped", examples)])


def _places(frame: pl.DataFrame) -> list[str]:
    """The first rows as (query, document), with their lines where a file gave them."""
    texts = pairs(frame)
    if _TEXT in frame.columns:
        texts = [f"{text} {value!r}" for text, value in zip(texts, frame[_TEXT].head(EXAMPLES), strict=True)]
    if LINE in frame.columns:
        lines = frame[LINE].head(EXAMPLES)
        texts = [f"{text} on line {line}" for text, line in zip(texts, lines, strict=True)]
    return texts


def _told_places(frame: pl.DataFrame) -> str:
    return with_more(_places(frame), frame.height)


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
        return replace(loaded, frame=frame)
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
        raise conflicting_grades(loaded.where, conflicts.height, told)
    equal = repeated.filter(pl.col("relevance").list.len() == 1)
    notes = [
        note("conflict_resolved", pairs(conflicts), conflicts.height),
        note("repeated_judgment", pairs(equal), equal.height),
    ]
    best = frame.sort("query_id", "doc_id", "relevance", descending=[False, False, True], maintain_order=True)
    kept = best.unique(["query_id", "doc_id"], keep="first", maintain_order=True)
    return replace(loaded, frame=kept, notes=[*loaded.notes, *(said for said in notes if said.count)])
