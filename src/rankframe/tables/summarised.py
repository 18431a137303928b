"""The summary as a table: runs as rows, metrics as columns, the best marked, letters for what is significant."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import polars as pl

from rankframe.errors import DataError, counted, listed, nearest
from rankframe.gates.labels import found, known, labelled
from rankframe.intervals import whole_number
from rankframe.report import Report
from rankframe.tables.cells import Cell, Column, Grid, interval, shown, taken
from rankframe.tables.marks import best, compared_with, exceeded, is_unranked, letter, raised_letters, tested
from rankframe.tables.table import Table

_SUMMARY = pl.Schema(
    {
        "run_id": pl.String,
        "metric": pl.String,
        "aggregate": pl.String,
        "value": pl.Float64,
        "ci_low": pl.Float64,
        "ci_high": pl.Float64,
        "n": pl.Int64,
        "n_missing": pl.Int64,
        "n_null": pl.Int64,
        "n_failed": pl.Int64,
        "ci_reason": pl.String,
    }
)
_PAIRS = pl.Schema(
    {
        "metric": pl.String,
        "run_id": pl.String,
        "other": pl.String,
        "difference": pl.Float64,
        "significant": pl.Boolean,
        "test": pl.String,
        "correction": pl.String,
        "reason": pl.String,
    }
)

_FRAME = pl.Schema(
    [
        *((name, pl.String()) for name in ("run_id", "letter", "metric", "aggregate")),
        *((name, pl.Float64()) for name in ("value", "ci_low", "ci_high")),
        ("n", pl.Int64()),
        ("best", pl.Boolean()),
        ("exceeds", pl.List(pl.String())),
    ]
)

Metrics = Mapping[str, tuple[str, str]]
"""What a metric is called -> its name and aggregate."""


class _Shown(NamedTuple):
    """What the cells and notes are made from: rows of the summary by (run, label), and how to show them."""

    rows: Mapping[tuple[str, str], dict[str, Any]]
    runs: Sequence[str]
    metrics: Metrics
    lower: Sequence[str]
    digits: int
    intervals: bool


class _Marks(NamedTuple):
    """Label -> its best runs; label -> run -> the runs that it exceeds; run -> its letter."""

    best: Mapping[str, set[str]]
    better: Mapping[str, Mapping[str, Sequence[str]]]
    letters: Mapping[str, str]


def summary(
    report: Report | pl.DataFrame,
    *,
    comparison: pl.DataFrame | None = None,
    metrics: str | Sequence[str] | None = None,
    digits: int = 4,
    intervals: bool = True,
    lower_is_better: str | Sequence[str] = (),
    caption: str = "Summary",
) -> Table:
    r"""Runs as rows and metrics as columns, as in papers: the best values bold, significance as letters.

    Args:
        report: a report, or its `summary`, filtered as you like; runs and metrics keep their order. A report also
            tells the level of the intervals and what was counted.
        comparison: of the same report, by `rankframe.compare`. Every run gets a letter, and behind a value stand the
            letters of the runs that it is significantly better than.
        metrics: those to show, in this order; all unless given.
        digits: behind the point. Sums of whole numbers have none.
        intervals: whether to show the bootstrap intervals.
        lower_is_better: metrics of which the lowest value is best. Values of judged@k, unjudged@k, num_ret and num_rel
            are not marked unless named here, as more of them is neither better nor worse.
        caption: what stands above the table, before the number of queries.

    Returns:
        A table, whose `frame` has a row per run and metric shown: run_id, letter (null without a comparison), metric,
        aggregate String, value, ci_low, ci_high Float64, n Int64, best Boolean (equal where the shown digits are;
        never of a single run), exceeds List(String) (runs that it is significantly better than; null where that was
        not tested). A table without rows for a summary without rows.

    Raises:
        DataError: for a frame of something else, metrics that it does not have, slices, and a comparison of other runs.

    >>> import rankframe as rf
    >>> runs = {"a": {"q1": {"d1": 1.0}, "q2": {"d9": 1.0}}, "b": {"q1": {"d1": 1.0}, "q2": {"d2": 1.0}}}
    >>> report = rf.evaluate(runs, {"q1": {"d1": 1}, "q2": {"d2": 1}}, metrics=["mrr", "num_rel_ret"])
    >>> print(rf.tables.summary(report, digits=2, intervals=False).markdown())
    Summary (2 queries)
    <BLANKLINE>
    | run | mrr | num\_rel\_ret |
    | :--- | ---: | ---: |
    | a | 0.50 | 1 |
    | b | **1.00** | **2** |
    <BLANKLINE>
    - Bold: the best value of each metric.
    <BLANKLINE>
    """
    whole_number("digits", digits, 0)
    whole = report if isinstance(report, Report) else None
    given = report if whole is None else whole.summary
    keys = ("run_id", "metric", "aggregate")
    table = taken(given, _SUMMARY, keys, "tables.summary", "report.summary")
    labels = {label: pair for pair, label in labelled(table.select("metric", "aggregate").iter_rows()).items()}
    label_of = {pair: label for label, pair in labels.items()}
    what = _Shown(
        {(row["run_id"], label_of[row["metric"], row["aggregate"]]): row for row in table.iter_rows(named=True)},
        table["run_id"].unique(maintain_order=True).to_list(),
        labels if metrics is None else {label: labels[label] for label in _asked(metrics, labels, "metrics")},
        _asked(lower_is_better, labels, "lower_is_better"),
        digits,
        intervals,
    )
    better, on_letters = ({}, []) if comparison is None else _better(what, comparison)
    letters = {} if comparison is None else {run: letter(place) for place, run in enumerate(what.runs)}
    marks = _Marks({label: _best(what, label) for label in what.metrics}, better, letters)
    over, n_of, n_in_cells = _counts(what, whole)
    heads = [
        *([Column("letter", names=True)] if letters else []),
        Column("run", names=True),
        *([Column("n")] if n_of else []),
        *map(Column, what.metrics),
    ]
    rows = [
        [
            *([Cell(letters[run])] if letters else []),
            Cell(run),
            *([Cell(f"{n_of[run]:,}")] if n_of else []),
            *(_cell(what, marks, run, label, with_n=n_in_cells) for label in what.metrics),
        ]
        for run in what.runs
    ]
    notes = [*_on_best(what, marks.best), *on_letters, *_on_intervals(what, whole), *_on_counts(what)]
    return Table(_frame(what, marks), Grid(f"{caption}{over}", heads, rows, notes))


def _asked(metrics: str | Sequence[str], labels: Mapping[str, object], option: str) -> list[str]:
    """The labels that a caller means."""
    asked = [metrics] if isinstance(metrics, str) else list(metrics)
    if option == "metrics" and not asked:
        raise DataError("metrics= is empty; leave it out to show all metrics of the summary")
    meant = [(name, found(name, labels, known)) for name in asked]
    for name, label in meant:
        if label is None:
            raise DataError(f"{option}=: no metric {name!r:.80} in this summary: {nearest(str(name), list(labels))}")
    return list(dict.fromkeys(label for _, label in meant if label is not None))


def _value(what: _Shown, run: str, label: str) -> str:
    row = what.rows.get((run, label))
    return "-" if row is None else shown(row["value"], what.digits, whole=row["aggregate"] == "sum")


def _has_best(what: _Shown, label: str) -> bool:
    return label in what.lower or not is_unranked(what.metrics[label][0])


def _best(what: _Shown, label: str) -> set[str]:
    values = {run: _value(what, run, label) for run in what.runs}
    return best(values, lower=label in what.lower) if _has_best(what, label) else set()


def _cell(what: _Shown, marks: _Marks, run: str, label: str, *, with_n: bool) -> Cell:
    row = what.rows.get((run, label))
    if row is None:
        return Cell("-")
    digits = 0 if row["aggregate"] == "sum" and (row["value"] or 0.0).is_integer() else what.digits
    ends = interval(row["ci_low"], row["ci_high"], digits)
    beside = [ends] if what.intervals and ends else []
    beside += [f"n = {row['n']:,}"] if with_n else []
    worse = [marks.letters[other] for other in marks.better.get(label, {}).get(run, [])]
    return Cell(_value(what, run, label), run in marks.best[label], raised_letters(worse), ", ".join(beside))


def _better(what: _Shown, comparison: pl.DataFrame) -> tuple[dict[str, dict[str, list[str]]], list[str]]:
    """Of every metric, which run is better than which others; and the notes on that."""
    pairs = taken(comparison, _PAIRS, ("metric", "run_id", "other"), "comparison=", "rankframe.compare(report)")
    both = pl.col("run_id").is_in(what.runs) & pl.col("other").is_in(what.runs)
    shown_pairs = pairs.filter(both, pl.col("metric").is_in([name for name, _ in what.metrics.values()]))
    compared = pl.concat([pairs["run_id"], pairs["other"]]).unique(maintain_order=True)
    if shown_pairs.is_empty():
        raise DataError(
            f"comparison= and this summary have no pair of runs and metric in common: it compares {listed(compared)} "
            f"by {listed(pairs['metric'].unique(maintain_order=True))}; give the comparison of the same report"
        )
    better = {
        label: exceeded(of_metric, what.runs, lower=label in what.lower)
        for label, (name, aggregate) in what.metrics.items()
        if aggregate != "gmean"
        and _has_best(what, label)  # tests are of means
        and not (of_metric := shown_pairs.filter(metric=name)).is_empty()
    }
    used = shown_pairs.filter(pl.col("metric").is_in([what.metrics[label][0] for label in better]))
    hidden = ", ".join(run for run in compared if run not in what.runs)
    left = ", ".join(label for label in what.metrics if label not in better)
    notes = _on_letters(used, better) if better else []
    notes += [f"Without letters: {left}."] if left else []
    return better, notes + ([f"Compared too, and not shown: {hidden}."] if hidden else [])


def _on_letters(used: pl.DataFrame, better: Mapping[str, Mapping[str, Sequence[str]]]) -> list[str]:
    """What letters mean, how that was tested, and what speaks against trusting it."""
    if any(worse for of_metric in better.values() for worse in of_metric.values()):
        told = "Superscripts: the letters of the runs that the value is significantly better than"
    else:
        told = "No value is significantly better than that of another run"
    notes = [f"{told} ({tested(used)}; compared: {compared_with(used)})."]
    doubts = used.group_by("reason", maintain_order=True).len().drop_nulls()
    if doubts.height:
        each = ", ".join(f"{reason} in {n:,}" for reason, n in doubts.iter_rows())
        notes.append(f"Of {counted(used.height, 'comparison')}: {each}.")
    return notes


def _counts(what: _Shown, report: Report | None) -> tuple[str, dict[str, int], bool]:
    """Over how many the numbers are: in the caption where all are the same, else by run, else in every cell."""
    counts = {
        run: {what.rows[run, label]["n"] for label in what.metrics if (run, label) in what.rows} for run in what.runs
    }
    numbers = set().union(*counts.values())
    if len(numbers) == 1:
        n = numbers.pop()
        return f" (n = {n:,})" if report is None else f" ({counted(n, report.unit)})", {}, False
    if all(len(each) == 1 for each in counts.values()):
        return "", {run: each.pop() for run, each in counts.items()}, False
    return "", {}, bool(numbers)


def _on_best(what: _Shown, bests: Mapping[str, set[str]]) -> list[str]:
    if not any(bests.values()):
        return []
    lower = ", ".join(label for label in what.metrics if bests[label] and label in what.lower)
    return [f"Bold: the best value of each metric{lower and f', the lowest of {lower}'}."]


def _on_intervals(what: _Shown, report: Report | None) -> list[str]:
    """What the brackets are, and why there are none."""
    if not what.intervals:
        return []
    there = [(label, what.rows[run, label]) for label in what.metrics for run in what.runs if (run, label) in what.rows]
    level = "" if report is None else f"{100 * report.intervals.level:g} % "
    notes = [f"In brackets: {level}bootstrap intervals."] if any(row["ci_low"] is not None for _, row in there) else []
    without = [(row["ci_reason"], label, row["run_id"]) for label, row in there if row["ci_low"] is None]
    return notes + [f"No interval ({reason}): {cells}." for reason, cells in _by_reason(without)]


def _on_counts(what: _Shown) -> list[str]:
    """Why a cell is empty, and what counts as 0 or was left out."""
    empty = []
    for label in what.metrics:
        for run in what.runs:
            row = what.rows.get((run, label))
            if row is None:
                empty.append(("not in the summary", label, run))
            elif row["value"] is None:
                empty.append(("nothing has a value", label, run))
    notes = [f"No number ({reason}): {cells}." for reason, cells in _by_reason(empty)]
    for column, words in (("n_missing", "Without a result, counted as 0"), ("n_failed", "Failed")):
        many = {
            run: n
            for run in what.runs
            if (
                n := max(
                    (row[column] or 0 for (r, label), row in what.rows.items() if r == run and label in what.metrics),
                    default=0,
                )
            )
        }
        if many:
            notes.append(f"{words}: {', '.join(f'{n:,} of {run}' for run, n in many.items())}.")
    return notes


def _by_reason(cells: Iterable[tuple[str | None, str, str]]) -> list[tuple[str, str]]:
    """Reason -> the cells that it is of, in words: all runs of a metric together."""
    reasons: dict[str, dict[str, list[str]]] = {}
    for reason, label, run in cells:
        reasons.setdefault(reason or "no reason told", {}).setdefault(label, []).append(run)
    return [
        (reason, "; ".join(f"{label} of {', '.join(runs)}" for label, runs in of_metrics.items()))
        for reason, of_metrics in reasons.items()
    ]


def _frame(what: _Shown, marks: _Marks) -> pl.DataFrame:
    """What the table shows, a row per run and metric."""
    columns = ("aggregate", "value", "ci_low", "ci_high", "n")
    rows = [
        (
            run,
            marks.letters.get(run),
            label,
            *(what.rows[run, label][name] for name in columns),
            run in marks.best[label],
            marks.better[label][run] if label in marks.better else None,
        )
        for run in what.runs
        for label in what.metrics
        if (run, label) in what.rows
    ]
    return pl.DataFrame(rows, schema=_FRAME, orient="row")
