"""Random runs and judgments, and a list of metrics that covers the registry."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

from hypothesis import strategies as st

from rankframe.metrics import REGISTRY
from rankframe.metrics.families import BuiltIn

Run = dict[str, dict[str, float]]
Qrels = dict[str, dict[str, float]]

_VALUES: dict[str, list[Any]] = {
    "rel": [1.0, 2.0, 0.5],
    "p": [0.5, 0.95],
    "max_grade": [4.0],
    "recall": [0.0, 0.1, 0.5, 1.0],
    "judged_only": [True],
}


FAMILIES = [name for name, family in REGISTRY.items() if family.unit == "query"]
"""The metrics of rankings; those of samples stand in `samples.py`."""


def metrics() -> list[BuiltIn]:
    """Every family with every choice and some values of each parameter, uncut and at several cutoffs."""
    return list({metric.name: metric for name in FAMILIES for metric in _of(name)}.values())


def _of(name: str) -> Iterator[BuiltIn]:
    family = REGISTRY[name]
    required = {key: _VALUES[key][1] for key in family.required}
    for k in (None, 1, 3, 10) if family.has_cutoff else (None,):
        if k is None and family.needs_cutoff is True:
            continue
        for key in (None, *family.defaults):
            for value in [None] if key is None else family.choices.get(key, _VALUES.get(key, [])):
                if k is None and value == family.needs_cutoff:
                    continue
                chosen = required if key is None else {**required, key: value}
                made = family(k=k, **chosen)
                assert isinstance(made, BuiltIn)
                yield made
                if key in ("gain", "rel", "over"):
                    both = family(k=k, **chosen, judged_only=True)
                    assert isinstance(both, BuiltIn)
                    yield both


_IDS = st.sampled_from(
    ["d1", "d2", "d3", "d10", "D2", "é", "e\u0301", "日本", "😀", "a b", "#7", "007", "7", "z" * 40, "x:y"]
)
_QUERY_IDS = st.sampled_from(["q1", "q2", "Q1", "1", "01", "ü", "q 3"])
_SCORES = st.sampled_from([0.0, -0.0, 1.0, 1.0, 2.5, -3.0, 1e-9, 1e9, float("inf"), float("-inf")]) | st.floats(
    allow_nan=False, width=32
)
_GRADES = st.sampled_from([-2.0, -1.0, 0.0, 0.0, 0.5, 1.0, 1.0, 2.0, 3.0, 4.0])


def runs() -> st.SearchStrategy[Run]:
    return st.dictionaries(_QUERY_IDS, st.dictionaries(_IDS, _SCORES, max_size=14), min_size=1, max_size=5)


def qrels() -> st.SearchStrategy[Qrels]:
    return st.dictionaries(_QUERY_IDS, st.dictionaries(_IDS, _GRADES, min_size=1, max_size=12), min_size=1, max_size=5)


def scored(run: Run, judgments: Qrels) -> tuple[Run, Qrels]:
    """The same with a query that both have and that has a relevant document, so that there is something to score."""
    run, judgments = dict(run), dict(judgments)
    run["both"], judgments["both"] = {"d1": 1.0, "d2": 1.0}, {"d1": 1.0, "d3": 0.0}
    return run, judgments


def shuffled(rows: list[Any], seed: int) -> list[Any]:
    rows = list(rows)
    random.Random(seed).shuffle(rows)
    return rows
