"""The comparison as a table: a row per metric and pair of runs, significant differences marked, doubts in notes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import polars as pl

from rankframe.comparison.comparing import COMPARISON
from rankframe.intervals import whole_number
from rankframe.tables.cells import Cell, Column, Grid, interval, shown, taken
from rankframe.tables.marks import letter, tested
from rankframe.tables.table import Table

_UNSHOWN = ("value", "other_value", "n_missing", "detectable", "judged", "other_judged", "alpha", "level")
_COMPARISON = pl.Schema({name: dtype for name, dtype in COMPARISON.items() if name not in _UNSHOWN})
"""What the table needs of a comparison."""


def comparisons(frame: pl.DataFrame, *, digits: int = 4, caption: str = "Comparison") -> Table:
    """A row per metric and pair of runs: the difference, how sure it is, and what speaks against trusting it.

    Args:
        frame: that of `rankframe.compare`, filtered and sorted as you like.
        digits: of differences and intervals, behind the point; relative differences have one, effect sizes two, p
            three ("< 0.001" below).
        caption: what stands above the table, before the number of pairs.

    Returns:
        A table whose `frame` has the columns shown, as they were given. A * stands behind a significant difference;
        letters behind p lead to the notes of that row. A table without rows for a frame without rows.

    Raises:
        DataError: for a frame of something else, or a pair that is there twice.

    >>> from rankframe.comparison.comparing import COMPARISON
    >>> pair = {"metric": "mrr", "run_id": "b", "other": "a", "difference": 0.5, "wins": 2, "ties": 2, "losses": 0}
    >>> told = {"n": 4, "effect_size": 0.87, "p": 0.5, "test": "t", "many_ties": True}
    >>> print(comparisons(pl.DataFrame([pair | told], schema=COMPARISON), digits=2))
    Comparison (n = 4)
    metric  run  other  difference  relative  W/T/L  effect size        p
    mrr       b      a       +0.50         -  2/2/0         0.87  0.500^a
    Difference: the mean of run minus that of other (paired t-test, p uncorrected).
    W/T/L: wins, ties and losses of run. Effect size: mean by standard deviation of the differences.
    a: many ties.
    """
    whole_number("digits", digits, 0)
    keys = ("metric", "run_id", "other")
    table = taken(frame, _COMPARISON, keys, "tables.comparisons", "rankframe.compare(report)")
    with_n, with_corrected = table["n"].n_unique() > 1, bool(table["correction"].is_not_null().any())
    numbers = ["difference", "relative", "W/T/L", *(["n"] if with_n else []), "effect size", "p"]
    columns = [Column("metric", names=True), Column("run", names=True), Column("other", names=True)]
    columns += map(Column, [*numbers, *(["corrected p"] if with_corrected else [])])
    marks: dict[str, str] = {}
    rows = []
    for row in table.iter_rows(named=True):
        ps = [p_value(row["p"]), *([p_value(row["p_corrected"])] if with_corrected else [])]
        cells = [*(Cell(row[name]) for name in keys), *_difference(row, digits)]
        cells += [Cell(f"{row['n']:,}")] if with_n else []
        cells += [Cell(shown(row["effect_size"], 2)), *map(Cell, ps)]
        cells[-1] = Cell(ps[-1], raised=_marked(_doubts(row), marks))
        rows.append(cells)
    over = f" (n = {table['n'][0]:,})" if table.height and not with_n else ""
    notes = [*_notes(table), *(f"{mark}: {doubt}." for doubt, mark in marks.items())]
    return Table(table, Grid(f"{caption}{over}", columns, rows, notes))


def _difference(row: Mapping[str, Any], digits: int) -> Iterator[Cell]:
    """The difference with its mark and interval, the same in percent, and how often it went which way."""
    ends = interval(row["ci_low"], row["ci_high"], digits, signed=True)
    yield Cell(shown(row["difference"], digits, signed=True), raised="*" if row["significant"] else "", beside=ends)
    relative = row["relative"]
    yield Cell("-" if relative is None else f"{shown(100 * relative, 1, signed=True)} %")
    yield Cell("/".join(f"{row[name]}" for name in ("wins", "ties", "losses")))


def p_value(p: float | None) -> str:
    """A p value as it is read; never 0.

    >>> p_value(0.04321), p_value(0.0004), p_value(None)
    ('0.043', '< 0.001', '-')
    """
    return "< 0.001" if p is not None and p < 0.001 else shown(p, 3)


def _notes(table: pl.DataFrame) -> list[str]:
    if table.is_empty():
        return []
    notes = ["Difference: the mean of run minus that of other"]
    if table["ci_low"].is_not_null().any():
        levels = table["level"].unique().to_list() if "level" in table.columns else []
        level = f"{100 * levels[0]:g} % " if len(levels) == 1 and levels[0] is not None else ""
        notes[0] += f"; in brackets its {level}bootstrap interval"
    notes[0] += f". *: significant ({tested(table)})." if table["significant"].any() else f" ({tested(table)})."
    return [*notes, "W/T/L: wins, ties and losses of run. Effect size: mean by standard deviation of the differences."]


def _doubts(row: Mapping[str, Any]) -> list[str]:
    """What speaks against trusting a row, each once: its reason, then what its flags say beyond that."""
    reason: str = row["reason"] or ""
    doubts = [reason] if reason else []
    if row["few_queries"] and "few " not in reason and not reason.startswith(("one ", "no query", "no sample")):
        doubts.append("few pairs")
    if row["no_spread"] and "equal" not in reason and "no difference" not in reason:
        doubts.append("all differences are equal")
    if row["many_ties"] and "ties" not in reason and "no difference" not in reason:
        doubts.append("many ties")
    if row["n_unpaired"]:
        doubts.append(f"{row['n_unpaired']:,} left out, without a value in one of the runs")
    return doubts


def _marked(doubts: Iterable[str], marks: dict[str, str]) -> str:
    """The letters of some doubts, which get the next one where they are new to `marks`."""
    return ",".join(marks.setdefault(doubt, letter(len(marks))) for doubt in doubts)
