"""Thresholds: values held against a bound, and their coverage against a minimum."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import polars as pl

from rankframe.errors import MetricError, nearest
from rankframe.gates.labels import Find, found, known, labelled, named
from rankframe.gates.values import below, finite, plain, share, told, with_columns_of

_COMPARISONS: dict[str, tuple[Callable[[float, float], bool], str]] = {
    ">=": (operator.ge, "below"),
    "<=": (operator.le, "above"),
    ">": (operator.gt, "not above"),
    "<": (operator.lt, "not below"),
}
"""How a value is held against a bound, and what is said where it falls short; the longer signs are read first."""


@dataclass(frozen=True, slots=True)
class Threshold:
    """A comparison (`>=`, `>`, `<=` or `<`) with a bound, exact and unrounded.

    >>> str(Threshold(">", 0.90)), Threshold(">", 0.90).shortfall(0.95), Threshold(">", 0.90).shortfall(0.8123)
    ('> 0.9', None, '0.8123 is not above 0.9')
    """

    sign: str
    bound: float

    def __str__(self) -> str:
        return f"{self.sign} {plain(self.bound)}"

    def shortfall(self, value: float | None) -> str | None:
        """Why a value does not pass, None where it does."""
        if value is None or math.isnan(value):
            return "there is no value"
        passes, short = _COMPARISONS[self.sign]
        return None if passes(value, self.bound) else f"{told(value, self.bound, 4)} is {short} {plain(self.bound)}"


GATES: Mapping[str, Mapping[str, float | str]] = MappingProxyType(
    {"clinical": MappingProxyType({"faithfulness": "> 0.90"})}
)
"""Thresholds by name. `clinical` is the least for clinical use, where an unfaithful answer is a safety risk."""


def thresholds_of(given: Mapping[str, float | str] | str) -> dict[str, Threshold]:
    """The thresholds as a caller gives them, by the names that the caller uses.

    Raises:
        MetricError: for one that is neither number nor comparison, none at all, and an unknown preset.
    """
    if isinstance(given, str):
        if given not in GATES:
            raise MetricError(f"unknown gate {given!r}: {nearest(given, list(GATES))}")
        given = GATES[given]
    if not isinstance(given, Mapping) or not given:
        raise MetricError(
            f'thresholds are metric -> the lowest value that passes, as in {{"faithfulness": 0.9}}, or one of the '
            f"presets {', '.join(GATES)}; got {given!r:.80}"
        )
    return {named(name): _threshold(name, value) for name, value in given.items()}


def _threshold(name: str, given: object) -> Threshold:
    sign, bound = ">=", finite(given)
    if isinstance(given, str):
        sign = next((sign for sign in _COMPARISONS if given.strip().startswith(sign)), "")
        bound = _read(given.strip().removeprefix(sign)) if sign else None
    if bound is None:
        raise MetricError(
            f'{name}: a threshold is a number, as in 0.9, or text that compares, as in "> 0.9" (with one of '
            f"{', '.join(_COMPARISONS)}), got {given!r:.80}"
        )
    return Threshold(sign, bound)


def _read(text: str) -> float | None:
    try:
        return finite(float(text))
    except ValueError:
        return None


_CHECKED = pl.Schema(
    {
        "run_id": pl.String,
        "metric": pl.String,
        "value": pl.Float64,
        "rule": pl.String,
        "n": pl.Int64,
        "coverage": pl.Float64,
        "passed": pl.Boolean,
        "why": pl.String,
    }
)


def checked(
    summary: pl.DataFrame,
    coverage: pl.DataFrame,
    thresholds: Mapping[str, float | str] | str,
    *,
    min_coverage: float = 1.0,
    find: Find = known,
) -> pl.DataFrame:
    """Hold every run against thresholds.

    Args:
        summary: run_id, metric, aggregate String, value Float64, n_missing, n_failed Int64, as in `Report.summary`.
        coverage: run_id, metric String, n, n_expected Int64: how many were scored, and how many should have been.
        thresholds: metric -> the lowest value that passes, or a comparison ("> 0.9", ">= 0.9", "< 0.1", "<= 0.1"); or
            the name of a preset in `GATES`. Values are compared as they are, without rounding or tolerance: 0.8999999
            does not pass 0.9.
        min_coverage: the share of what should have been scored that must be, from 0 to 1.
        find: gives the label of a metric for what the caller calls it; unless given, canonical names and the
            unambiguous ones of other tools are read.

    Returns:
        A row per run and threshold, runs in the summary's order: run_id, metric, value Float64, rule String (`>= 0.9`),
        n Int64, coverage Float64 (n / n_expected), passed Boolean, why String (null where passed). A metric that is
        not there, no value, and coverage that is too low or unknown do not pass. Without any run there is a row per
        threshold, with a null run_id, that does not pass.

    Raises:
        MetricError: for thresholds that are none, and an unknown preset.
        DataError: for `min_coverage` outside of [0, 1], and frames that lack a column.

    >>> summary = pl.DataFrame({"run_id": ["a"], "metric": ["faithfulness"], "aggregate": ["mean"], "value": [0.8123],
    ...                         "n_missing": [0], "n_failed": [15]})
    >>> coverage = pl.DataFrame({"run_id": ["a"], "metric": ["faithfulness"], "n": [80], "n_expected": [100]})
    >>> checked(summary, coverage, {"faithfulness": 0.8}, min_coverage=0.95)["why"].to_list()
    ['scored 80 of 100, coverage 0.80 below 0.95 (15 failed, 5 without a value)']
    """
    rules = thresholds_of(thresholds)
    least = share("min_coverage", min_coverage)
    with_columns_of(summary, ("run_id", "metric", "aggregate", "value", "n_missing", "n_failed"), "the summary")
    with_columns_of(coverage, ("run_id", "metric", "n", "n_expected"), "the coverage")
    labels = labelled(summary.select("metric", "aggregate").iter_rows())
    values = {(row["run_id"], labels[row["metric"], row["aggregate"]]): row for row in summary.iter_rows(named=True)}
    counts = {(row["run_id"], row["metric"]): row for row in coverage.iter_rows(named=True)}
    there = list(dict.fromkeys(labels.values()))
    rows: list[tuple[Any, ...]] = []
    for run in list(dict.fromkeys(summary["run_id"])) or [None]:
        for name, rule in rules.items():
            label = found(name, there, find)
            row = values.get((run, label or ""))
            if row is None:
                why = _absent(name, label, there)
                rows.append((run, label or name, None, str(rule), None, None, False, why))
                continue
            count = counts.get((run, row["metric"]), {"n": None, "n_expected": None})
            short = [text for text in (rule.shortfall(row["value"]), _uncovered(row, count, least)) if text]
            rows.append(
                (
                    run,
                    label,
                    row["value"],
                    str(rule),
                    count["n"],
                    count["n"] / count["n_expected"] if count["n_expected"] else None,
                    not short,
                    "; ".join(short) or None,
                )
            )
    return pl.DataFrame(rows, _CHECKED, orient="row")


def _absent(name: str, label: str | None, there: Sequence[str]) -> str:
    """Why a metric has no row of a run."""
    if label is not None:
        return "not scored for this run"
    return f"not in this report: {nearest(name, there) if there else 'it has no runs'}"


def _uncovered(row: Mapping[str, Any], count: Mapping[str, Any], least: float) -> str | None:
    """Why coverage does not pass, None where it does."""
    n, expected = count["n"], count["n_expected"]
    if n is None or expected is None:
        return "its coverage is unknown"
    if expected == 0:
        return "nothing was to be scored"
    covered = n / expected
    if covered >= least:
        return None
    rest = expected - n
    failed = min(row["n_failed"], rest)
    missing = min(row["n_missing"], rest - failed)
    reasons = {"failed": failed, "missing": missing, "without a value": rest - failed - missing}
    told_reasons = ", ".join(f"{number:,} {reason}" for reason, number in reasons.items() if number)
    return f"scored {n:,} of {expected:,}, {below(covered, least)} ({told_reasons})"
