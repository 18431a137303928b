"""Metrics in words, as titles of axes: `ndcg@10` is "nDCG at 10", and its mean "mean nDCG at 10"."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from rankframe.errors import MetricError
from rankframe.metrics.families import BuiltIn
from rankframe.metrics.grammar import canonical
from rankframe.metrics.metric import Metric
from rankframe.metrics.names import parse

_WORDS = {
    "ndcg": "nDCG",
    "dcg": "DCG",
    "f1": "F1",
    "mrr": "reciprocal rank",
    "map": "average precision",
    "r_precision": "R-precision",
    "infap": "inferred average precision",
    "rbp": "rank-biased precision",
    "err": "expected reciprocal rank",
    "nerr": "normalised expected reciprocal rank",
    "iprec": "interpolated precision",
    "iprec_11pt": "interpolated precision over 11 levels of recall",
    "judged": "share of judged documents",
    "unjudged": "share of unjudged documents",
    "num_ret": "number of documents retrieved",
    "num_rel": "number of relevant documents",
    "num_rel_ret": "number of relevant documents retrieved",
    "token_f1": "token F1",
    "rouge_l": "ROUGE-L",
    "chrf": "chrF",
    "bleu": "BLEU",
    "context_id_recall": "recall of contexts by id",
    "context_id_precision": "precision of contexts by id",
    "tfidf_answer_relevance": "answer relevance by TF-IDF",
    "non_empty_rate": "share with any context",
}
"""Families whose words are not their name with blanks for underscores."""

_AGGREGATES = {"mean": "mean", "gmean": "geometric mean of", "sum": "total"}


class Cut(NamedTuple):
    """A metric name taken apart: what it is without its cutoff, and the cutoff."""

    family: str
    cutoff: int


def built_in(name: str) -> BuiltIn | None:
    """The built-in metric of this name, None for any other."""
    try:
        metric: Metric = parse(name)
    except MetricError:
        return None
    return metric if isinstance(metric, BuiltIn) else None


def cut(name: str) -> Cut | None:
    """A name with a cutoff taken apart, None where it has none.

    >>> cut("nDCG(gain=exponential)@10"), cut("map"), cut("mine@5")
    (Cut(family='ndcg(gain=exponential)', cutoff=10), None, Cut(family='mine', cutoff=5))
    """
    metric = built_in(name)
    if metric is not None:
        return None if metric.k is None else Cut(canonical(metric.family.name, metric.parameters, None), metric.k)
    family, _, digits = name.rpartition("@")
    return Cut(family, int(digits)) if family and digits.isascii() and digits.isdigit() and int(digits) else None


def in_words(name: str, *, level: bool = True) -> str:
    """A metric of one query or sample in words; without its cutoff or level of recall where they are an axis.

    >>> in_words("ndcg@10"), in_words("iprec(recall=0.5)"), in_words("recall(rel=2)@5"), in_words("mine")
    ('nDCG at 10', 'interpolated precision (recall=0.5)', 'recall at 5 (rel=2)', 'mine')
    """
    metric = built_in(name)
    if metric is None:
        at = None if level else cut(name)
        return (name if at is None else at.family).replace("_", " ")
    family = metric.family.name
    words = _WORDS.get(family, family.replace("_", " "))
    inside = canonical("", {key: of for key, of in metric.parameters.items() if level or key != "recall"}, None)
    return words + (f" at {metric.k}" if level and metric.k is not None else "") + (f" {inside}" if inside else "")


def together(name: str, aggregate: str, *, level: bool = True) -> str:
    """A metric over many queries or samples in words.

    >>> together("map", "gmean"), together("num_rel_ret", "sum")
    ('geometric mean of average precision', 'total number of relevant documents retrieved')
    """
    return f"{_AGGREGATES.get(aggregate, aggregate)} {in_words(name, level=level)}"


def headline(words: str) -> str:
    """With a capital first letter, but for a word that is written otherwise.

    >>> headline("mean recall"), headline("nDCG at 10")
    ('Mean recall', 'nDCG at 10')
    """
    return words[:1].upper() + words[1:] if words[:2].islower() else words


def unit_of(names: Iterable[str]) -> str:
    """What these metrics are scored for: "query" or "sample"; a "query" where only metrics of the caller's say it.

    >>> unit_of(["mine", "token_f1"])
    'sample'
    """
    units = {metric.unit for name in names if (metric := built_in(name)) is not None}
    return "sample" if units == {"sample"} else "query"


def plural(unit: str) -> str:
    """Queries or samples.

    >>> plural("query")
    'queries'
    """
    return "queries" if unit == "query" else f"{unit}s"
