"""Every metric once more, in plain Python over one list: slow, and as close to the words as can be."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, islice
from typing import Any

from rankframe.metrics.metric import BuiltIn

Grades = Mapping[str, float]


@dataclass(frozen=True)
class Query:
    """One query: its documents best first, its judgments, and the parameters of a metric."""

    ranked: list[str]
    grades: Grades
    parameters: Mapping[str, Any]
    k: int | None

    @cached_property
    def docs(self) -> list[str]:
        if not self.parameters.get("judged_only"):
            return self.ranked
        return [doc for doc in self.ranked if self.grades.get(doc, -1) >= 0]

    @property
    def top(self) -> list[str]:
        return list_cut(self.docs, self.k)

    def relevant(self, doc: str) -> bool:
        rel = self.parameters.get("rel")
        grade = self.grades.get(doc, 0)
        return grade > 0 if rel is None else grade >= rel

    def nonrelevant(self, doc: str) -> bool:
        return doc in self.grades and self.grades[doc] >= 0 and not self.relevant(doc)

    @property
    def total(self) -> int:
        return sum(self.relevant(doc) for doc in self.grades)

    @property
    def hits(self) -> int:
        return sum(self.relevant(doc) for doc in self.top)

    def gain(self, doc: str) -> float:
        grade = max(self.grades.get(doc, 0), 0)
        return grade if self.parameters.get("gain", "linear") == "linear" else 2**grade - 1

    @property
    def ideal(self) -> list[str]:
        return sorted(self.grades, key=lambda doc: -self.grades[doc])

    def dcg(self, docs: list[str]) -> float:
        return sum(self.gain(doc) / math.log2(rank + 1) for rank, doc in enumerate(list_cut(docs, self.k), 1))

    def err(self, docs: list[str]) -> float:
        reached, total = 1.0, 0.0
        for rank, doc in enumerate(list_cut(docs, self.k), 1):
            stop = (2 ** max(self.grades.get(doc, 0), 0) - 1) / 2 ** self.parameters["max_grade"]
            total += reached * stop / rank
            reached *= 1 - stop
        return total

    def precisions(self) -> list[tuple[int, float]]:
        """Running count and precision at every relevant document of the whole list."""
        running = accumulate(self.relevant(doc) for doc in self.docs)
        return [(n, n / r) for r, (doc, n) in enumerate(zip(self.docs, running, strict=True), 1) if self.relevant(doc)]

    def iprec(self, recall: float) -> float:
        needed = math.floor(recall * self.total + 0.9)
        return max((precision for count, precision in self.precisions() if count >= needed), default=0.0)


def list_cut(docs: list[str], k: int | None) -> list[str]:
    return list(islice(docs, k))


def ratio(numerator: float, denominator: float) -> float:
    return numerator / denominator if denominator else 0.0


def precision(q: Query) -> float:
    if q.k is None:
        return ratio(q.hits, len(q.docs))
    return ratio(q.hits, min(len(q.docs), q.k) if q.parameters.get("over") == "returned" else q.k)


def average_precision(q: Query) -> float:
    total = 0.0
    for count, value in q.precisions():
        if q.k is None or round(count / value) <= q.k:
            total += value
    return ratio(total, min(q.total, q.k or 0) if q.parameters.get("over") == "min_R_k" else q.total)


def bpref(q: Query) -> float:
    relevant, nonrelevant = q.total, sum(q.nonrelevant(doc) for doc in q.grades)
    total, above = 0.0, 0
    for doc in q.docs:
        if q.relevant(doc):
            total += 1 - (min(above, relevant) / min(nonrelevant, relevant) if above else 0)
        above += q.nonrelevant(doc)
    return ratio(total, relevant)


def infap(q: Query) -> float:
    small, total, judged, found, not_found = 0.00001, 0.0, 0, 0, 0
    for rank, doc in enumerate(q.docs, 1):
        if q.relevant(doc):
            total += 1 / rank + judged / rank * (found + small) / (found + not_found + 2 * small)
        judged += doc in q.grades
        found += q.relevant(doc)
        not_found += q.nonrelevant(doc)
    return ratio(total, q.total)


def rbp(q: Query) -> float:
    p, graded = float(q.parameters.get("p", 0.8)), q.parameters.get("gain") == "graded"
    share = [(q.grades[d] / q.parameters["max_grade"] if graded else 1) if q.relevant(d) else 0 for d in q.docs]
    return sum((1 - p) * p**i * part for i, part in enumerate(share))


def mrr(q: Query) -> float:
    return next((1 / rank for rank, doc in enumerate(q.top, 1) if q.relevant(doc)), 0.0)


def f1(q: Query) -> float:
    return ratio(2 * q.hits, (len(q.docs) if q.k is None else q.k) + q.total) if q.total else 0.0


def unjudged(q: Query) -> float:
    assert q.k
    return sum(q.grades.get(doc, -1) < 0 for doc in q.top) / q.k


DEFINITIONS: dict[str, Callable[[Query], float]] = {
    "ndcg": lambda q: ratio(q.dcg(q.docs), q.dcg(q.ideal)),
    "dcg": lambda q: q.dcg(q.docs),
    "recall": lambda q: ratio(q.hits, q.total),
    "capped_recall": lambda q: ratio(q.hits, min(q.total, q.k or 0)),
    "precision": precision,
    "f1": f1,
    "mrr": mrr,
    "map": average_precision,
    "success": lambda q: float(q.hits > 0),
    "r_precision": lambda q: ratio(sum(q.relevant(doc) for doc in q.docs[: q.total]), q.total),
    "bpref": bpref,
    "infap": infap,
    "rbp": rbp,
    "err": lambda q: q.err(q.docs),
    "nerr": lambda q: ratio(q.err(q.docs), q.err(q.ideal)),
    "iprec": lambda q: q.iprec(q.parameters["recall"]),
    "iprec_11pt": lambda q: sum(q.iprec(level / 10) for level in range(11)) / 11,
    "judged": lambda q: ratio(sum(doc in q.grades for doc in q.top), len(q.top)),
    "unjudged": unjudged,
    "num_ret": lambda q: len(q.docs),
    "num_rel": lambda q: q.total,
    "num_rel_ret": lambda q: sum(q.relevant(doc) for doc in q.docs),
}


def value(metric: BuiltIn, run: Mapping[str, float], grades: Grades) -> float:
    """What a metric is for one query, from scores and grades."""
    ranked = sorted(run, key=lambda doc: (run[doc], doc.encode()), reverse=True)
    return float(DEFINITIONS[metric.family.name](Query(ranked, grades, metric.parameters, metric.k)))
