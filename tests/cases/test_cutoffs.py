"""Cutoffs: what is counted within them, what stands in the denominators, and which are refused."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import rankframe as rf
from rankframe.evaluation import RetrievalEvalReport, evaluate_retrieval
from tests.shown import shown

from .helpers import scored

SCALARS: dict[str, Callable[..., float]] = {
    "dcg_at_k": rf.metrics.dcg_at_k,
    "ndcg_at_k": rf.metrics.ndcg_at_k,
    "recall_at_k": rf.metrics.recall_at_k,
    "precision_at_k": rf.metrics.precision_at_k,
    "reciprocal_rank": rf.metrics.reciprocal_rank,
    "average_precision": rf.metrics.average_precision,
}
WITH_CUTOFF = sorted(name for name, family in rf.metrics.REGISTRY.items() if family.has_cutoff)
OF_QUERIES = [name for name in WITH_CUTOFF if rf.metrics.REGISTRY[name].unit == "query"]
OF_SAMPLES = [name for name in WITH_CUTOFF if rf.metrics.REGISTRY[name].unit == "sample"]
WITHOUT_CUTOFF = sorted(name for name, family in rf.metrics.REGISTRY.items() if not family.has_cutoff)


def test_more_relevant_than_k() -> None:
    """The ideal for k places is the best k documents; recall and map keep all twelve in the denominator."""
    docs = [f"r{i:02d}" for i in range(12)]
    qrels = {"q1": dict.fromkeys(docs, 1)}
    run = {"q1": {doc: 12.0 - i for i, doc in enumerate(docs)}}
    right = {
        "ndcg@10": 1.0,
        "precision@10": 1.0,
        "recall@10": 10 / 12,
        "map@10": 10 / 12,
        "map(over=min_R_k)@10": 1.0,
        "capped_recall@10": 1.0,
    }
    assert scored(run, qrels, *right) == pytest.approx(right, abs=1e-12)
    assert rf.metrics.ndcg_at_k(docs, qrels["q1"], 10) == pytest.approx(1.0)
    assert rf.metrics.average_precision(docs, qrels["q1"], 10) == pytest.approx(10 / 12)
    assert rf.metrics.average_precision(docs, qrels["q1"], 10, over="min_R_k") == pytest.approx(1.0)


@pytest.mark.parametrize("gain", ["linear", "exponential"])
@pytest.mark.parametrize("k", range(1, 15))
def test_more_relevant_than_k_at_any_cutoff(k: int, gain: str) -> None:
    """A perfect run has an ndcg of 1 at every cutoff, with graded judgments, fewer and more than k."""
    grades = {f"d{i:02d}": grade for i, grade in enumerate([3, 3, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 0, -1])}
    run = {"q1": {doc: 20.0 - i for i, doc in enumerate(grades)}}
    name = rf.metrics.parse(f"ndcg(gain={gain})@{k}").name
    assert scored(run, {"q1": grades}, name) == {name: pytest.approx(1.0, abs=1e-12)}


def test_map_denominator() -> None:
    """The sum of precisions over all relevant documents, never over those found; over min(k, R) by name."""
    qrels = {"q1": dict.fromkeys("abcdef", 1)}
    run = {"q1": {"a": 5.0, "x": 4.0, "b": 3.0, "y": 2.0, "c": 1.0}}
    right = {"map@5": 0.3777777778, "map(over=min_R_k)@5": 0.4533333333}
    assert scored(run, qrels, *right) == pytest.approx(right)
    assert rf.metrics.average_precision("axbyc", qrels["q1"], 5) == pytest.approx(right["map@5"])
    with pytest.raises(rf.MetricError, match="cutoff"):
        rf.metrics.parse("map(over=min_R_k)")


@pytest.mark.parametrize("name", ["map@5", "AP@5", "MAP@5", "map_cut_5", "map_cut.5", "map_at_5", "ap(over=R)@5"])
def test_map_denominator_under_every_name(name: str) -> None:
    """Every name that is read as map@5 is over R."""
    qrels = {"q1": dict.fromkeys("abcdef", 1)}
    run = {"q1": {"a": 5.0, "x": 4.0, "b": 3.0, "y": 2.0, "c": 1.0}}
    report = rf.evaluate(run, qrels, metrics=name)
    assert report.summary.select("metric", "value").row(0) == (
        "map@5",
        pytest.approx((1 + 2 / 3 + 3 / 5) / 6),
    )


def test_mrr_multiple_relevant() -> None:
    """Only the first relevant document counts."""
    run = {"q1": {"a": 3.0, "x": 2.0, "b": 1.0}}
    assert scored(run, {"q1": {"a": 1, "b": 1}}, "mrr@3") == {"mrr@3": 1.0}
    assert rf.metrics.reciprocal_rank("axb", {"a": 1, "b": 1}, 3) == 1.0


def test_mrr_multiple_relevant_is_cut() -> None:
    """The first relevant document counts within the cutoff, and not behind it."""
    run = {"q1": {"x": 4.0, "y": 3.0, "a": 2.0, "b": 1.0}}
    right = {"mrr@2": 0.0, "mrr@3": 1 / 3, "mrr@4": 1 / 3, "mrr": 1 / 3}
    assert scored(run, {"q1": {"a": 1, "b": 2}}, *right) == pytest.approx(right)


THREE = {"q1": {"a": 3.0, "b": 2.0, "c": 1.0}}
ONE = {"q1": "red kite"}


def test_k_larger_than_corpus() -> None:
    """A cutoff past the end of a retriever's list is harmless; where it refuses to look that far, it says so itself."""

    def retriever(query: str, k: int) -> list[tuple[str, float]]:  # noqa: ARG001  # it takes both
        return [("a", 3.0), ("b", 2.0), ("c", 1.0)][:k]

    report = evaluate_retrieval(retriever, {"q1": {"b": 1}}, ONE, k_values=(1, 10, 100))
    right = {
        "recall@1": 0.0,
        "recall@10": 1.0,
        "precision@10": 0.1,
        "precision@100": 0.01,
        "mrr@100": 0.5,
        "ndcg@10": 0.6309297536,
    }
    assert {name: report.metrics[name] for name in right} == pytest.approx(right)

    def strict(query: str, k: int) -> list[tuple[str, float]]:
        if k > 3:
            raise ValueError(f"k of {k} is larger than the number of documents, 3")
        return retriever(query, k)

    with pytest.raises(ValueError, match="k of 100 is larger than the number of documents, 3") as caught:
        evaluate_retrieval(strict, {"q1": {"b": 1}}, ONE, k_values=(1, 10, 100))
    assert type(caught.value) is ValueError
    assert any("query 'q1'" in note for note in caught.value.__notes__)
    limited = evaluate_retrieval(strict, {"q1": {"b": 1}}, ONE, k_values=(1, 10, 100), limit=3)
    assert report == limited


@pytest.mark.parametrize("error", [ValueError, IndexError, RuntimeError, AssertionError, KeyError])
def test_k_larger_than_an_engine_allows(error: type[Exception]) -> None:
    """Its error is not swallowed, not even one that looks like the end of a list."""

    def strict(query: str, k: int) -> list[str]:
        if k > 3:
            raise error(f"{query}: {k} of 3")
        return ["a", "b", "c"][:k]

    with pytest.raises(error, match="red kite: 10 of 3") as caught:
        evaluate_retrieval(strict, {"q1": {"b": 1}}, ONE, k_values=10)  # type: ignore[arg-type]  # one alone will do
    assert any("query 'q1'" in note for note in caught.value.__notes__)


def test_k_larger_than_a_list() -> None:
    """A cutoff past the end is harmless: empty places are not relevant, and k stays in the denominator."""
    right = {
        "recall@1": 0.0,
        "recall@10": 1.0,
        "precision@10": 0.1,
        "precision@100": 0.01,
        "mrr@100": 0.5,
        "ndcg@10": 0.6309297536,
        "precision(over=returned)@10": 1 / 3,
        "judged@10": 1 / 3,
        "f1@10": 2 / 11,
    }
    assert scored(THREE, {"q1": {"b": 1}}, *right) == pytest.approx(right)
    for name in ("recall_at_k", "ndcg_at_k", "reciprocal_rank"):
        assert SCALARS[name]("abc", {"b": 1}, 10) == SCALARS[name]("abc", {"b": 1}, 3)
    assert rf.metrics.precision_at_k("abc", {"b": 1}, 10) == 0.1


@pytest.mark.parametrize("k", [4, 10**6, 2**31, 2**33, 2**63 - 1, 2**64, 10**30], ids=str)
@pytest.mark.parametrize("family", OF_QUERIES)
def test_k_larger_than_any_list(family: str, k: int) -> None:
    """Beyond the list a cutoff changes what is divided by k, and nothing else, however large it is."""
    name = f"{family}@{k}"
    value = rf.evaluate(THREE, {"q1": {"a": 0, "b": 2, "z": 1}}, metrics=name).value(name)
    uncut = {"capped_recall": "recall", "unjudged": "unjudged@3"}.get(family, family)
    whole = rf.evaluate(THREE, {"q1": {"a": 0, "b": 2, "z": 1}}, metrics=uncut).value(uncut)
    if family in ("precision", "unjudged"):
        assert value == pytest.approx(whole * 3 / k)
    elif family == "f1":
        assert value == pytest.approx(2 / (k + 2))
    else:
        assert value == pytest.approx(whole)


THREE_IDS = {"user_input": "red kite", "retrieved_context_ids": ["a", "b", "c"], "reference_context_ids": ["b", "z"]}


def of_sample(name: str, **changed: list[str]) -> float:
    """The value of a metric of ids for one sample."""
    return rf.evaluate_samples([{**THREE_IDS, **changed}], metrics=name).value(name)


@pytest.mark.parametrize("k", [4, 10**6, 2**31, 2**33, 2**63 - 1, 2**64, 10**30], ids=str)
@pytest.mark.parametrize("family", OF_SAMPLES)
def test_k_larger_than_any_list_of_ids(family: str, k: int) -> None:
    """The ids of a sample are a ranking too."""
    whole = of_sample(family)
    assert of_sample(f"{family}@{k}") == pytest.approx(whole * 3 / k if family == "context_id_precision" else whole)
    assert of_sample(f"context_id_precision(over=returned)@{k}") == pytest.approx(1 / 3)


BAD_CUTOFFS: list[Any] = [
    0,
    -1,
    1.5,
    10.0,
    "10",
    "",
    True,
    False,
    math.nan,
    math.inf,
    np.float64(5),
    np.bool_(True),
    [5],
    (),
    b"10",
    1j,
]


class Counting:
    """A retriever that counts its calls and keeps their limits."""

    def __init__(self) -> None:
        self.limits: list[int] = []

    def search(self, query: str, limit: int) -> list[str]:  # noqa: ARG002  # it takes both
        self.limits.append(limit)
        return ["a", "b", "c"][:limit]


def _at(k_values: Any, retriever: Any, **options: Any) -> RetrievalEvalReport:
    return evaluate_retrieval(retriever, {"q1": {"b": 1}}, ONE, k_values=k_values, **options)


def test_k_values_invalid() -> None:
    """Each bad cutoff is a ValueError that shows it before the retriever is called once; each good one works."""
    retriever = Counting()
    bad: Any
    for bad in ([0], [-1], [1.5], ["10"], [None], [True], math.nan):
        shown = bad[0] if isinstance(bad, list) else bad
        with pytest.raises(ValueError, match=f"cutoff is a whole number from 1, got {shown!r}"):
            _at(bad, retriever)
    with pytest.raises(ValueError, match="k_values is empty"):
        _at([], retriever)
    assert retriever.limits == []
    assert list(_at([5, 5, 10], retriever, metrics=("ndcg",)).metrics) == ["ndcg@5", "ndcg@10"]
    assert _at([1, 10], retriever) == _at([10, 1], retriever)
    assert _at([10, 1], retriever).k_values == (1, 10)
    for five in (np.array([5], dtype=np.int64), [np.int64(5)]):
        assert _at(five, retriever) == _at([5], retriever)
    assert _at(3, retriever) == _at([3], retriever)
    assert retriever.limits == [10, 10, 10, 10, 5, 5, 5, 5, 3, 3]


@pytest.mark.parametrize("place", ["alone", "in a list", "behind good ones"])
@pytest.mark.parametrize(
    "bad",
    [
        0,
        -1,
        -(10**30),
        1.5,
        10.0,
        "10",
        "",
        None,
        True,
        False,
        math.nan,
        math.inf,
        np.float64(5),
        np.bool_(True),
        [5],
        b"10",
        1j,
    ],
    ids=repr,
)
def test_k_values_invalid_before_any_call(bad: Any, place: str) -> None:
    """Wherever a bad one stands."""
    retriever = Counting()
    k_values = {"alone": bad, "in a list": [bad], "behind good ones": (1, 10, bad)}[place]
    if place == "alone" and isinstance(bad, list):
        assert _at(bad, retriever).k_values == (5,)
    else:
        with pytest.raises(ValueError, match=f"whole number from 1, got {re.escape(repr(bad))}"):
            _at(k_values, retriever)
        assert retriever.limits == []


@pytest.mark.parametrize("empty", [[], (), set(), range(0), iter(()), np.array([], dtype=int), {}], ids=shown)
def test_k_values_invalid_where_there_are_none(empty: Any) -> None:
    retriever = Counting()
    with pytest.raises(ValueError, match="k_values is empty"):
        _at(empty, retriever)
    assert retriever.limits == []


@pytest.mark.parametrize("bad", [0, -1, 1.5, 10.0, "10", True, math.nan, math.inf, [5], np.float64(5)], ids=repr)
def test_limits_invalid_before_any_call(bad: Any) -> None:
    """How many results are asked for is a whole number from 1 too."""
    retriever = Counting()
    with pytest.raises(ValueError, match=f"whole number from 1, got {re.escape(repr(bad))}"):
        _at([1], retriever, limit=bad)
    with pytest.raises(ValueError, match=f"whole number from 1, got {re.escape(repr(bad))}"):
        rf.retrieve(retriever, ONE, limit=bad)
    assert retriever.limits == []


@pytest.mark.parametrize(
    "good",
    [
        [1, 5],
        (5, 1),
        {1, 5},
        np.array([5, 1]),
        np.array([1, 5], dtype=np.uint8),
        [5, 1, 5, 1],
        iter([5, 1]),
        {5: 0, 1: 0},
    ],
    ids=shown,
)
def test_k_values_in_every_collection(good: Any) -> None:
    """In any order and as often as they like: ascending and once, as plain whole numbers."""
    report = _at(good, Counting(), metrics=("mrr",))
    assert report.metrics == {"mrr@1": 0.0, "mrr@5": 0.5}
    assert report.k_values == (1, 5)
    assert [type(k) for k in report.k_values] == [int, int]


def test_k_values_invalid_in_metrics(tmp_path: Path) -> None:
    """Each bad cutoff is a ValueError that shows it, before anything is read; each good one works."""
    bad: Any
    for bad in (0, -1, 1.5, "10", True, math.nan):
        with pytest.raises(ValueError, match=f"cutoff.*{bad!r}"):
            rf.metrics.ndcg(k=bad)
    with pytest.raises(ValueError, match="metrics= is empty"):
        rf.evaluate(tmp_path / "absent.txt", tmp_path / "absent.txt", metrics=[])
    for written in ("0", "-1", "1.5", "nan", "True", "None", "ten"):
        with pytest.raises(ValueError, match=f"cutoff.*{written}"):
            rf.evaluate(tmp_path / "absent.txt", tmp_path / "absent.txt", metrics=f"ndcg@{written}")
    repeated = rf.evaluate(THREE, {"q1": {"b": 1}}, metrics=[rf.metrics.ndcg(k=k) for k in (5, 5, 10)])
    assert [metric.name for metric in repeated.metrics] == ["ndcg@5", "ndcg@10"]
    assert repeated.to_dict()["k_values"] == (5, 10)
    down = rf.evaluate(THREE, {"q1": {"b": 1}}, metrics=["ndcg@10", "ndcg@1"])
    up = rf.evaluate(THREE, {"q1": {"b": 1}}, metrics=["ndcg@1", "ndcg@10"])
    assert down.to_dict() == up.to_dict()
    five: Any = np.int64(5)
    assert rf.metrics.ndcg(k=five).name == "ndcg@5"


@pytest.mark.parametrize("bad", BAD_CUTOFFS, ids=repr)
def test_k_values_invalid_for_every_metric(bad: Any) -> None:
    """No family takes a cutoff that is not a whole number from 1."""
    for family in WITH_CUTOFF:
        with pytest.raises(rf.MetricError, match="cutoff is a whole number from 1"):
            rf.metrics.REGISTRY[family](k=bad)


@pytest.mark.parametrize(
    "written",
    ["0", "-1", "+5", "1.5", "1e1", "10.0", "ten", "nan", "True", "None", "1_0", "0x10", "\u0661", "007"],
)
def test_k_values_invalid_in_names(written: str) -> None:
    """Neither does a name, and no column is ever called ndcg@1.5."""
    for family in WITH_CUTOFF:
        with pytest.raises(rf.MetricError, match="cutoff is a whole number from 1"):
            rf.metrics.parse(f"{family}@{written}")


@pytest.mark.parametrize(
    "name", ["ndcg@", "ndcg@@5", "ndcg@5@10", "ndcg_cut_0", "P_0", "ndcg_cut.1.5", "@5", "ndcg@5 10"]
)
def test_k_values_invalid_in_names_of_other_forms(name: str) -> None:
    """Half a cutoff, two of them, and other tools' forms of a bad one."""
    with pytest.raises(rf.MetricError):
        rf.metrics.parse(name)


@pytest.mark.parametrize("family", WITHOUT_CUTOFF)
def test_k_values_where_there_is_no_cutoff(family: str) -> None:
    """A metric over the whole list refuses one rather than pass over it."""
    parameters: dict[str, Any] = {"recall": 0.1} if family == "iprec" else {}
    with pytest.raises(rf.MetricError, match="no cutoff"):
        rf.metrics.REGISTRY[family](k=5, **parameters)


@pytest.mark.parametrize("good", [1, 5, np.int64(5), np.int8(5), np.uint64(5)], ids=repr)
def test_k_values_of_whole_number_types(good: Any) -> None:
    """Whole numbers of any type are one cutoff, written the same."""
    assert rf.metrics.ndcg(k=good).name == f"ndcg@{int(good)}"
    assert type(rf.metrics.ndcg(k=good).cutoff) is int
    assert rf.metrics.precision_at_k("abc", {"a": 1}, good) == 1 / int(good)


@pytest.mark.parametrize("bad", [-1, 1.5, 1.0, "10", True, math.nan, math.inf], ids=repr)
@pytest.mark.parametrize("name", SCALARS)
def test_k_values_invalid_in_scalar_functions(name: str, bad: Any) -> None:
    """The documented functions refuse them too."""
    with pytest.raises(ValueError, match="whole number from 0"):
        SCALARS[name](["a"], {"a": 1}, bad)


@pytest.mark.parametrize("name", SCALARS)
def test_k_of_0_in_scalar_functions(name: str) -> None:
    """k = 0 gives 0.0 there, as documented."""
    assert SCALARS[name](["a"], {"a": 1}, 0) == 0.0
    assert SCALARS[name]([], {}, 0) == 0.0


@pytest.mark.parametrize("name", ["ndcg_at_k", "dcg_at_k", "recall_at_k", "precision_at_k"])
def test_k_of_none_in_scalar_functions(name: str) -> None:
    """Where the signature asks for a cutoff, None is not one: `k_values` refuse it too."""
    with pytest.raises((ValueError, TypeError)):
        SCALARS[name](["a"], {"a": 1}, None)


def test_retriever_returns_more_than_k() -> None:
    """A retriever that passes over its limit is cut at each k: d4 is outside of the first three."""
    report = evaluate_retrieval(
        lambda query, k=3: [(f"d{i}", 50.0 - i) for i in range(50)],  # noqa: ARG005  # it takes both
        {"q1": {"d0": 1, "d4": 1}},
        ONE,
        k_values=(1, 3),
    )
    right = {"precision@1": 1.0, "precision@3": 0.3333333333, "recall@3": 0.5}
    assert {name: report.metrics[name] for name in right} == pytest.approx(right)


FIFTY = [f"d{i}" for i in range(50)]
TOO_MANY: dict[str, Callable[[], Any]] = {
    "ids": lambda: FIFTY,
    "pairs": lambda: [(doc, 50.0 - i) for i, doc in enumerate(FIFTY)],
    "generator": lambda: iter(FIFTY),
    "mapping": lambda: {doc: 50.0 - i for i, doc in enumerate(FIFTY)},
    "numpy": lambda: np.array(FIFTY),
    "frame": lambda: pl.DataFrame({"doc_id": FIFTY, "score": range(50, 0, -1)}),
    "frame with ranks": lambda: pl.DataFrame({"doc_id": FIFTY[::-1], "rank": range(50, 0, -1)}),
    "hits": lambda: {"hits": {"hits": [{"_id": doc, "_score": 50.0 - i} for i, doc in enumerate(FIFTY)]}},
}


@pytest.mark.parametrize("form", TOO_MANY)
def test_retriever_returns_more_than_k_in_every_form(form: str) -> None:
    """The first ones of its ranking are kept, as many as were asked for."""
    qrels = {"q1": {"d0": 1, "d4": 1}}
    for limit, kept in ((None, 3), (4, 4), (100, 50), (2, 2)):
        report = evaluate_retrieval(lambda _: TOO_MANY[form](), qrels, ONE, k_values=(1, 3), limit=limit)
        assert {"recall@3": 0.5, "precision@3": pytest.approx(1 / 3), "map@3": 0.5} == {
            name: report.metrics[name] for name in ("recall@3", "precision@3", "map@3")
        }
        assert rf.retrieve(lambda _: TOO_MANY[form](), ONE, limit=limit or 3).run["doc_id"].to_list() == FIFTY[:kept]


def test_a_list_is_cut_at_each_k() -> None:
    """A list of 50 is cut at each k: rank 5 is outside of the first three."""
    docs = [f"d{i}" for i in range(50)]
    qrels = {"q1": {"d0": 1, "d4": 1}}
    run = {"q1": {doc: 50.0 - i for i, doc in enumerate(docs)}}
    right = {"precision@1": 1.0, "precision@3": 1 / 3, "recall@3": 0.5, "recall@4": 0.5, "recall@5": 1.0}
    assert scored(run, qrels, *right) == pytest.approx(right)
    assert rf.metrics.precision_at_k(docs, qrels["q1"], 3) == pytest.approx(1 / 3)
    assert rf.metrics.recall_at_k(docs, qrels["q1"], 3) == 0.5


@pytest.mark.parametrize("family", OF_SAMPLES)
def test_ids_behind_the_cutoff_do_not_count(family: str) -> None:
    long = of_sample(f"{family}@3", retrieved_context_ids=["a", "b", "c", "z"])
    assert long == of_sample(f"{family}@3") > 0
    assert of_sample(f"{family}@1") == 0.0


@pytest.mark.parametrize("family", OF_QUERIES)
def test_results_behind_the_cutoff_do_not_count(family: str) -> None:
    """No metric at 3 sees what stands in rank 4 and below."""
    qrels = {"q1": {"a": 1, "d": 2, "e": 0, "f": -1, "g": 1}}
    short = {"q1": {"a": 9.0, "u": 8.0, "e": 7.0}}
    long = {"q1": {**short["q1"], "d": 6.0, "f": 5.0, "v": 4.0, "g": 3.0}}
    name = f"{family}@3"
    assert scored(long, qrels, name) == scored(short, qrels, name)
