"""The documented functions of one ranking: plain Python, no frame, the readable definition of the metrics.

Each takes a ranking (ids, best first) and the judgments of one query, `{doc_id: relevance}` or a set of relevant
ids. A repeated id counts at its best rank only. A grade above 0 is relevant; a negative one gains nothing.
`k = 0` gives 0.0. The expressions of `rankframe.metrics` compute the same numbers over frames.
"""

from __future__ import annotations

import math
import numbers
import sys
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from itertools import islice
from typing import Any, Literal

from rankframe.errors import MetricError

Judgments = Mapping[Any, float] | AbstractSet[Any]
Key = Callable[[Any], Hashable]
Gain = Literal["linear", "exponential"]


def dcg_at_k(
    ranked: Iterable[Any], relevant: Judgments, k: int, *, gain: Gain = "linear", key: Key | None = None
) -> float:
    """Discounted cumulative gain of the first k results: the sum of gain / log2(rank + 1).

    Args:
        ranked: results, best first; ids, or objects of which `key` gives the id.
        relevant: the judgments of the query.
        k: cutoff; 0 gives 0.0.
        gain: "linear" (the grade) or "exponential" (2 to the grade, minus 1).
        key: takes a result, gives its id.

    Returns:
        0.0 or more; 0.0 for an empty ranking.

    Raises:
        MetricError: (a ValueError) for a negative or fractional k, or an unknown gain.

    >>> dcg_at_k(["a", "b", "c"], {"a": 1, "c": 1}, 3)
    1.5
    """
    _needs_cutoff(k)
    _known("gain", gain, ("linear", "exponential"))
    grades = _grades(relevant)
    discounted = (_gain(grades.get(doc, 0.0), gain) / math.log2(rank + 1) for rank, doc in _top(ranked, k, key))
    return sum(discounted, 0.0)


def ndcg_at_k(
    ranked: Iterable[Any], relevant: Judgments, k: int, *, gain: Gain = "linear", key: Key | None = None
) -> float:
    """DCG over the DCG of the best possible ranking of all judged documents, both cut at k.

    Arguments and errors as in `dcg_at_k`. Between 0.0 and 1.0; 0.0 where nothing relevant is judged.

    >>> round(ndcg_at_k(["a", "b"], {"a": 1, "b": 3}, 2), 4)
    0.7967
    """
    ideal = sorted(_grades(relevant).items(), key=lambda judgment: judgment[1], reverse=True)
    best = dcg_at_k([doc for doc, _ in ideal], relevant, k, gain=gain)
    return dcg_at_k(ranked, relevant, k, gain=gain, key=key) / best if best else 0.0


def recall_at_k(ranked: Iterable[Any], relevant: Judgments, k: int, *, key: Key | None = None) -> float:
    """Share of the relevant documents that stand in the first k places.

    Between 0.0 and 1.0; 0.0 where nothing is relevant. Raises MetricError (a ValueError) for a bad k.

    >>> recall_at_k(["a", "b", "c"], {"a": 1, "c": 1}, 2)
    0.5
    """
    _needs_cutoff(k)
    wanted = _wanted(relevant)
    hits = sum(doc in wanted for _, doc in _top(ranked, k, key))
    return hits / len(wanted) if wanted else 0.0


def precision_at_k(
    ranked: Iterable[Any],
    relevant: Judgments,
    k: int,
    *,
    over: Literal["k", "returned"] = "k",
    key: Key | None = None,
) -> float:
    """Share of the first k places that hold a relevant document.

    `over="returned"` divides by the results that there are where those are fewer than k.
    Between 0.0 and 1.0; 0.0 for an empty ranking. Raises MetricError (a ValueError) for a bad k or `over`.

    >>> precision_at_k(["a"], {"a"}, 2), precision_at_k(["a"], {"a"}, 2, over="returned")
    (0.5, 1.0)
    """
    _known("over", over, ("k", "returned"))
    _needs_cutoff(k)
    wanted, top = _wanted(relevant), list(_top(ranked, k, key))
    hits = sum(doc in wanted for _, doc in top)
    places = k if over == "k" else len(top)
    return hits / places if places else 0.0


def reciprocal_rank(
    ranked: Iterable[Any], relevant: Judgments, k: int | None = None, *, key: Key | None = None
) -> float:
    """1 over the rank of the first relevant result, 0.0 where none is in the first k (or in all).

    >>> reciprocal_rank(["a", "b"], {"b": 1})
    0.5
    """
    wanted = _wanted(relevant)
    return next((1.0 / rank for rank, doc in _top(ranked, k, key) if doc in wanted), 0.0)


def average_precision(
    ranked: Iterable[Any],
    relevant: Judgments,
    k: int | None = None,
    *,
    over: Literal["R", "min_R_k"] = "R",
    key: Key | None = None,
) -> float:
    """Precision at each relevant result in the first k (or in all), summed and divided by all relevant documents.

    `over="min_R_k"` divides by k where fewer places than relevant documents count; it needs k.

    >>> round(average_precision(["a", "b", "c"], {"a": 1, "c": 1}), 4)
    0.8333
    """
    _known("over", over, ("R", "min_R_k"))
    if over == "min_R_k" and k is None:
        raise MetricError("over='min_R_k' needs a cutoff; valid: R, and with a cutoff min_R_k")
    wanted = _wanted(relevant)
    hits, total = 0, 0.0
    for rank, doc in _top(ranked, k, key):
        if doc in wanted:
            hits += 1
            total += hits / rank
    places = len(wanted) if over == "R" or k is None else min(len(wanted), k)
    return total / places if places else 0.0


def _top(ranked: Iterable[Any], k: int | None, key: Key | None) -> Iterator[tuple[int, Hashable]]:
    """(rank, id) of the first k distinct ids; all of them without k. Reads no further than it needs."""
    if k is not None and (isinstance(k, bool) or not isinstance(k, numbers.Integral) or k < 0):
        raise MetricError(f"k is a whole number from 0, got {k!r}")
    ids = ranked if key is None else map(key, ranked)
    return enumerate(islice(_distinct(ids), None if k is None else min(k, sys.maxsize)), start=1)


def _needs_cutoff(k: int) -> None:
    if k is None:
        raise MetricError("k is a whole number from 0, got None")


def _known(option: str, value: object, valid: tuple[str, ...]) -> None:
    if value not in valid:
        raise MetricError(f"{option}={value!r}; valid: {', '.join(valid)}")


def _distinct(ids: Iterable[Hashable]) -> Iterator[Hashable]:
    seen: set[Hashable] = set()
    for doc in ids:
        if doc not in seen:
            seen.add(doc)
            yield doc


def _grades(relevant: Judgments) -> Mapping[Any, float]:
    return relevant if isinstance(relevant, Mapping) else dict.fromkeys(relevant, 1.0)


def _wanted(relevant: Judgments) -> AbstractSet[Any]:
    return {doc for doc, grade in relevant.items() if grade > 0} if isinstance(relevant, Mapping) else relevant


def _gain(grade: float, gain: Gain) -> float:
    grade = max(grade, 0.0)
    return grade if gain == "linear" else 2.0**grade - 1.0
