"""Names of metrics, ours and other tools', turned into metrics."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import rankframe.metrics.lexical  # registers the families
import rankframe.metrics.retrieval  # noqa: F401  # likewise
from rankframe.errors import MetricError, nearest
from rankframe.metrics.families import REGISTRY
from rankframe.metrics.grammar import Value, read_cutoff, read_value, split_name
from rankframe.metrics.metric import Aggregate, Metric, Unit

DEFAULT = ("ndcg@10", "recall@100", "mrr@10", "map", "precision@10", "judged@10")
"""What `evaluate` computes where no metrics are named."""

DEFAULT_OF_SAMPLES = (
    "exact_match",
    "token_f1",
    "contains_answer",
    "context_recall",
    "context_precision",
    "non_empty_rate",
    "lexical_faithfulness",
    "tfidf_answer_relevance",
)
"""What `evaluate_samples` computes where no metrics are named."""


@dataclass(frozen=True, slots=True)
class Alias:
    """Another tool's name for one of ours."""

    family: str
    parameters: Mapping[str, Value] = field(default_factory=dict)
    aggregate: Aggregate | None = None
    k: int | None = None


ALIASES: dict[str, Alias] = {
    "ndcg_cut": Alias("ndcg"),
    "ndcg_burges": Alias("ndcg", {"gain": "exponential"}),
    "r": Alias("recall"),
    "set_recall": Alias("recall"),
    "setr": Alias("recall"),
    "r_cap": Alias("capped_recall"),
    "relative_p": Alias("capped_recall"),
    "p": Alias("precision"),
    "set_p": Alias("precision"),
    "setp": Alias("precision"),
    "set_f": Alias("f1"),
    "setf": Alias("f1"),
    "rr": Alias("mrr"),
    "recip_rank": Alias("mrr"),
    "ap": Alias("map"),
    "map_cut": Alias("map"),
    "gm_map": Alias("map", aggregate="gmean"),
    "gm_bpref": Alias("bpref", aggregate="gmean"),
    "hit_rate": Alias("success"),
    "rprec": Alias("r_precision"),
    "r-precision": Alias("r_precision"),
    "11pt_avg": Alias("iprec_11pt"),
    "unj": Alias("unjudged"),
    "numret": Alias("num_ret"),
    "numrel": Alias("num_rel"),
    "numrelret": Alias("num_rel_ret"),
}
"""Names of other tools that mean one of ours wherever they are met, in lower case."""

_RBP = (
    "ours, rbp(p=0.8), is binary, or over the largest grade of all judgments with gain=graded; "
    "{tool} {does}, so its numbers are on another scale"
)
_HOLE = (
    "a document counts there as judged that is judged for any query; ours, judged@k, asks for a judgment of the query"
)

DIALECTS: dict[str, dict[str, Alias | str]] = {
    "trec_eval": {
        "rbp": _RBP.format(tool="trec_eval", does="takes graded gains over the largest grade of each query"),
        "rbp.": _RBP.format(tool="trec_eval", does="takes graded gains over the largest grade of each query"),
        "rbp_": _RBP.format(tool="trec_eval", does="takes graded gains over the largest grade of each query"),
        "rndcg": "it interpolates the discount by R; ours, ndcg, does not",
        "num_q": "the number of scored queries is the column n of every summary",
        "num_nonrel_judged_ret": "the judged non-relevant documents retrieved are not a metric here",
    },
    "ir_measures": {
        "err": Alias("err", {"max_grade": 4.0}),
        "accuracy": "it counts over judged documents only; ours, success@k or recall@k, counts over all",
        "nerr8": "it is cwl-eval's form over ties in file order; ours, nerr@k, is Chapelle's",
        "nerr9": "it is cwl-eval's form over ties in file order; ours, nerr@k, is Chapelle's",
    },
    "ranx": {
        "rbp.": _RBP.format(tool="ranx", does="takes the raw grade as gain"),
    },
    "beir": {
        "hole": _HOLE,
        "accuracy": Alias("success"),
        "top_k_accuracy": Alias("success"),
    },
    "mteb": {
        "accuracy": Alias("recall", k=1),
        "nauc": "it measures abstention, which no ranking metric does",
    },
}
"""What a name means to one tool where that differs from the table above: one of ours, or why there is none."""

_ELSEWHERE = {
    "accuracy": "beir, mteb, ir_measures",
    "hole": "beir",
    "rbp.": "trec_eval, ranx",
    "rbp_": "trec_eval",
    "nauc": "mteb",
    "nerr8": "ir_measures",
    "nerr9": "ir_measures",
}
"""Names that mean nothing here without a dialect."""

_JUDGED = {
    "faithfulness": ("faithfulness(llm=...)", "lexical_faithfulness"),
    "answer_relevance": ("answer_relevance(llm=..., embed=...)", "tfidf_answer_relevance"),
    "correctness": ("correctness(llm=...)", "token_f1"),
}
"""Names of judged metrics: what makes them, and what comes nearest among those that names stand for."""

_PREFIXES = ("rbp.", "rbp_", "nauc")
"""Names whose rest is a parameter: `rbp.80`, `rbp_p=0.8`, `nauc_ndcg_at_10_max`."""

_OPTIONS: dict[tuple[str, str], tuple[str, Value]] = {
    ("dcg", "exp-log2"): ("gain", "exponential"),
    ("dcg", "log2"): ("gain", "linear"),
}
"""Parameters of ir_measures that are written otherwise here."""

_PLURAL: dict[Unit | None, str] = {"query": "queries", "sample": "samples"}
_CUT = re.compile(r"(?P<name>.+?)(?:_at)?[_.](?P<k>\d+)")
_IPREC = re.compile(r"iprec_at_recall[_.](?P<recall>[01]\.\d+)", re.IGNORECASE)
_LEVEL = re.compile(r"(?P<name>.+?)-l(?P<level>\d+)")


def parse(name: str, *, dialect: str | None = None) -> Metric:
    """The metric that a name stands for.

    Canonical names (`ndcg(gain=exponential)@10`) and the unambiguous names of other tools (`ndcg_cut_10`, `P@5`,
    `AP(rel=2)`, `hit_rate@1`) are read in any letter case. Where one name means different numbers to different
    tools, `dialect` says whose it is.

    Args:
        name: the name.
        dialect: "trec_eval", "ir_measures", "ranx", "beir" or "mteb".

    Raises:
        MetricError: for an unknown name (with the nearest valid one), a bad parameter or cutoff, an unknown dialect,
            or a name whose number another tool computes in a way that has no counterpart here (the message says how).

    >>> parse("nDCG(dcg='exp-log2')@10").name, parse("P_5").name
    ('ndcg(gain=exponential)@10', 'precision@5')
    >>> parse("ERR@20", dialect="ir_measures").name
    'err(max_grade=4)@20'
    """
    if not isinstance(name, str):
        raise MetricError(f"a metric is a name or a Metric, got {name!r} ({type(name).__name__})")
    if dialect is not None and (not isinstance(dialect, str) or dialect not in DIALECTS):
        raise MetricError(f"unknown dialect {dialect!r}: {nearest(str(dialect), list(DIALECTS))}")
    return _parse(name, dialect)


@lru_cache(maxsize=1024)
def _parse(name: str, dialect: str | None) -> Metric:
    if match := _IPREC.fullmatch(name.strip()):
        return REGISTRY["iprec"](recall=float(match["recall"]))
    whole, parameters = (name, {}) if dialect != "ranx" else _without_level(name)
    base, written, cut = split_name(whole)
    for key, text in written.items():
        ours, value = _OPTIONS.get((key, text), (key, read_value(text)))
        parameters[ours] = value
    k = None if cut is None else read_cutoff(cut, name)
    base = base.lower()
    alias = _known(base, name, dialect)
    if alias is None and k is None and (match := _CUT.fullmatch(base)):
        alias, k = _known(match["name"], name, dialect), read_cutoff(match["k"], name)
    if alias is None and base in _JUDGED:
        made, unjudged = _JUDGED[base]
        raise MetricError(
            f"unknown metric {name!r}: a judge gives it: rankframe.rag.{made} in the metrics of "
            f"rankframe.evaluate_samples; {unjudged} needs no judge"
        )
    if alias is None:
        raise MetricError(f"unknown metric {name!r}: {nearest(base, list(REGISTRY))}")
    arguments = {**alias.parameters, **parameters}
    return REGISTRY[alias.family](k=alias.k if k is None else k, aggregate=alias.aggregate, **_split(arguments))


def _split(arguments: Mapping[str, Value]) -> dict[str, Any]:
    reserved = {"k", "aggregate"} & set(arguments)
    if reserved:
        raise MetricError(f"{reserved.pop()!r} is no parameter; a cutoff stands behind the @, as in ndcg@10")
    return dict(arguments)


def _known(base: str, name: str, dialect: str | None) -> Alias | None:
    """What the name stands for, None where nothing is known of it."""
    base = next((prefix for prefix in _PREFIXES if base.startswith(prefix)), base)
    told = DIALECTS[dialect].get(base) if dialect else None
    if isinstance(told, str):
        raise MetricError(f"{name!r} of {dialect} has no counterpart here: {told}")
    if told is not None:
        return told
    if base in _ELSEWHERE and dialect is None:
        raise MetricError(
            f"{name!r} means different numbers to different tools; say whose it is with "
            f"rankframe.metrics.parse({name!r}, dialect=...): {_ELSEWHERE[base]}"
        )
    return ALIASES.get(base) or (Alias(base) if base in REGISTRY else None)


def _without_level(name: str) -> tuple[str, dict[str, Value]]:
    """Ranx writes the smallest relevant grade at the end: `map@100-l2`."""
    match = _LEVEL.fullmatch(name.strip())
    if match is None:
        return name, {}
    if "dcg" in match["name"].lower():
        raise MetricError(f"{name!r} of ranx has no counterpart here: it takes the gain of lower grades away")
    return match["name"], {"rel": float(match["level"])}


def resolve(metrics: object, *, dialect: str | None = None, unit: Unit = "query") -> list[Metric]:
    """The metrics that a caller asked for, each once: names, Metric objects, or a mixture.

    Raises:
        MetricError: for anything else, for an empty list, where two metrics share a name but differ, and for one that
            scores queries where samples are scored, or the other way round.
    """
    if isinstance(metrics, (str, Metric)):
        metrics = [metrics]
    if not isinstance(metrics, Iterable):
        raise MetricError(f"metrics= takes names and Metric objects, got {metrics!r}")
    found: dict[tuple[str, Aggregate], Metric] = {}
    by_name: dict[str, Metric] = {}
    for item in metrics:
        metric = item if isinstance(item, Metric) else parse(item, dialect=dialect)
        if metric.unit not in (None, unit):
            other = "evaluate_samples" if metric.unit == "sample" else "evaluate"
            raise MetricError(f"{metric.name!r} scores {_PLURAL[metric.unit]}: rankframe.{other} takes it")
        same = by_name.setdefault(metric.name, metric)
        if same is not metric and not same.same_values(metric):
            raise MetricError(f"two metrics are called {metric.name!r}; give one another name")
        found.setdefault((metric.name, metric.aggregate), metric)
    if not found:
        default = DEFAULT if unit == "query" else DEFAULT_OF_SAMPLES
        raise MetricError(f"metrics= is empty; the default is {', '.join(default)}")
    return list(found.values())


def is_builtin(name: str) -> bool:
    """Whether a name would be read as a built-in metric."""
    try:
        parse(name)
    except MetricError:
        return False
    return True
