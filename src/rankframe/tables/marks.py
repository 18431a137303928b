"""What marks say: which value is best, which runs a value significantly exceeds, and how that was tested."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

UNRANKED = ("judged", "unjudged", "num_ret", "num_rel")
"""Metrics that tell about the judgments or how much was retrieved: more is not better, so none is the best."""

TESTS = {
    "randomisation": "paired randomisation test",
    "t": "paired t-test",
    "wilcoxon": "Wilcoxon signed-rank test",
    "wilcoxon-pratt": "Wilcoxon signed-rank test with Pratt's zeros",
    "wilcoxon-zsplit": "Wilcoxon signed-rank test with split zeros",
    "sign": "sign test",
    "bootstrap": "paired bootstrap test",
}
CORRECTIONS = {
    "holm": "Holm",
    "bonferroni": "Bonferroni",
    "holm-sidak": "Holm-Sidak",
    "bh": "Benjamini-Hochberg",
    "by": "Benjamini-Yekutieli",
}


def letter(place: int) -> str:
    """The letter of a run: a to z, then aa, ab and so on.

    >>> letter(0), letter(25), letter(26), letter(701), letter(702)
    ('a', 'z', 'aa', 'zz', 'aaa')
    """
    before, own = divmod(place, 26)
    return (letter(before - 1) if before else "") + chr(ord("a") + own)


def raised_letters(letters: Sequence[str]) -> str:
    """Letters in one superscript; those of two and more signs are kept apart.

    >>> raised_letters(["a", "c"]), raised_letters(["a", "ab"])
    ('ac', 'a,ab')
    """
    return ("" if all(len(each) == 1 for each in letters) else ",").join(letters)


def exceeded(pairs: pl.DataFrame, runs: Sequence[str], *, lower: bool = False) -> dict[str, list[str]]:
    """Run -> the runs that it is significantly better than, in the order of `runs`.

    Args:
        pairs: run_id, other String, difference Float64, significant Boolean: of one metric; either direction of a
            pair does.
        runs: those that are shown; pairs with others do not count.
        lower: whether the lower value is the better one.
    """
    found: dict[str, set[str]] = {run: set() for run in runs}
    told = pairs.filter(pl.col("significant"), pl.col("difference") != 0)
    for run, other, difference in told.select("run_id", "other", "difference").iter_rows():
        better, worse = (run, other) if (difference > 0) != lower else (other, run)
        if better in found and worse in found:
            found[better].add(worse)
    return {better: [run for run in runs if run in worse] for better, worse in found.items()}


def best(values: Mapping[str, str], *, lower: bool = False) -> set[str]:
    """The runs with the best value as it is shown, so that equal numbers are marked alike; none of a single run.

    >>> sorted(best({"a": "0.50", "b": "0.50", "c": "-"}))
    ['a', 'b']
    """
    numbers = {run: float(text) for run, text in values.items() if text not in ("-", "nan")}
    if len(numbers) < 2:
        return set()
    top = min(numbers.values()) if lower else max(numbers.values())
    return {run for run, value in numbers.items() if value == top}


def is_unranked(metric: str) -> bool:
    """Whether more of a metric is not better, nor less.

    >>> is_unranked("unjudged@10"), is_unranked("num_rel_ret")
    (True, False)
    """
    return metric.partition("@")[0].partition("(")[0] in UNRANKED


def tested(table: pl.DataFrame) -> str:
    """How the p values of a comparison came about, in words."""
    tests = [TESTS.get(name, name) for name in _told(table["test"]) if name is not None]
    corrections = [
        "p uncorrected" if name is None else f"p corrected by {CORRECTIONS.get(name, name)}"
        for name in _told(table["correction"])
    ]
    alphas = [f"alpha = {alpha:g}" for alpha in _told(table["alpha"]) if alpha is not None] if "alpha" in table else []
    return ", ".join(" or ".join(each) for each in (tests, corrections, alphas) if each)


def compared_with(table: pl.DataFrame) -> str:
    """Which pairs were tested, in words."""
    pairs = {frozenset(pair) for pair in table.select("run_id", "other").iter_rows()}
    runs = frozenset[str]().union(*pairs)
    if len(runs) > 2 and len(pairs) == len(runs) * (len(runs) - 1) // 2:
        return "all pairs of runs"
    return f"runs against {', '.join(_told(table['other']))}"


def _told(values: pl.Series) -> list[Any]:
    """The values that there are, each once."""
    return values.unique(maintain_order=True).to_list()
