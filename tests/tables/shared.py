"""Frames as a report and `compare` give them, of given numbers; and names that every language would misread."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import polars as pl
from hypothesis import strategies as st

from rankframe.comparison.comparing import COMPARISON

SUMMARY = pl.Schema(
    [
        *((name, pl.String()) for name in ("run_id", "metric", "aggregate")),
        *((name, pl.Float64()) for name in ("value", "std", "median", "ci_low", "ci_high")),
        *((name, pl.Int64()) for name in ("n", "n_missing", "n_null", "n_failed")),
        ("ci_reason", pl.String()),
    ]
)

HOSTILE = (
    "a_b",
    "50%",
    "<b>x</b>",
    "a|b",
    "$x$",
    "two\nlines",
    "\\end{table}",
    "a&b",
    "#1",
    "[x](y)",
    "*x*",
    "`x`",
    "\\",
)

NAMES = st.one_of(st.sampled_from(HOSTILE), st.text(st.characters(exclude_categories=["Cs"]), max_size=12))


def summary_of(values: Mapping[str, Mapping[str, float | None]], **given: Any) -> pl.DataFrame:
    """run -> {metric: value}, over 50 queries and with intervals of 0.1 either way, unless `given` otherwise."""
    rows = [
        {
            "run_id": run,
            "metric": metric,
            "aggregate": "sum" if metric.startswith("num_") else "mean",
            "value": value,
            "ci_low": None if value is None else value - 0.1,
            "ci_high": None if value is None else value + 0.1,
            "n": 50,
            "n_missing": 0,
            "n_null": 0,
            "n_failed": 0,
            **given,
        }
        for run, of_run in values.items()
        for metric, value in of_run.items()
    ]
    return pl.DataFrame(rows, schema=SUMMARY)


def compared(rows: Iterable[tuple[str, str, float, bool]], metric: str = "map", **given: Any) -> pl.DataFrame:
    """A row per (run, other, difference, significant)."""
    told = [
        {
            "metric": metric,
            "run_id": run,
            "other": other,
            "difference": difference,
            "ci_low": difference - 0.05,
            "ci_high": difference + 0.05,
            "relative": difference / 0.4,
            "wins": 30,
            "ties": 5,
            "losses": 15,
            "n": 50,
            "n_unpaired": 0,
            "effect_size": 2 * difference,
            "p": 0.0001 if significant else 0.4,
            "p_corrected": 0.0002 if significant else 0.8,
            "significant": significant,
            "few_queries": False,
            "no_spread": False,
            "many_ties": False,
            "test": "randomisation",
            "correction": "holm",
            **given,
        }
        for run, other, difference, significant in rows
    ]
    return pl.DataFrame(told, schema=COMPARISON)
