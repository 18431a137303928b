"""The documented functions of one ranking, on the documents' own examples and at their edges."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankframe as rf
from rankframe.metrics import (
    average_precision,
    dcg_at_k,
    ndcg_at_k,
    precision_at_k,
    recall_at_k,
    reciprocal_rank,
)

RANKED = ["d1", "x", "d2"]
RELEVANT = {"d1": 1.0, "d2": 1.0}
CUT: dict[str, Callable[..., float]] = {
    "dcg": dcg_at_k,
    "ndcg": ndcg_at_k,
    "recall": recall_at_k,
    "precision": precision_at_k,
}
UNCUT: dict[str, Callable[..., float]] = {"rr": reciprocal_rank, "ap": average_precision}
ALL = CUT | UNCUT


def test_examples_of_the_documented_module() -> None:
    """Two relevant documents at the first and third place; one at the second."""
    assert pytest.approx(1 + 1 / 2) == dcg_at_k(RANKED, RELEVANT, 3)
    assert (recall_at_k(RANKED, RELEVANT, 2), recall_at_k(RANKED, RELEVANT, 3)) == (0.5, 1.0)
    assert precision_at_k(RANKED, RELEVANT, 2) == 0.5
    assert pytest.approx((1 + 2 / 3) / 2) == average_precision(RANKED, RELEVANT)
    assert reciprocal_rank(["x", "d1", "d2"], {"d1": 1.0}) == 0.5
    assert reciprocal_rank(["x", "d1"], {"d1": 1.0}, k=1) == 0.0
    assert pytest.approx(1.5 / (1 + 1 / math.log2(3))) == ndcg_at_k(RANKED, RELEVANT, 3)


def test_figures_of_the_textbook() -> None:
    """Set precision, exponential gain; to the three digits that it prints."""
    ranked = ["eu", "2019", "2023", "mechanisms", "provinces"]
    graded = {"2019": 2.0, "2023": 3.0, "mechanisms": 1.0, "provinces": 1.0}
    for k, right in {3: (0.667, 0.5, 0.574), 5: (0.8, 1.0, 0.632)}.items():
        found = (
            precision_at_k(ranked, set(graded), k, over="returned"),
            recall_at_k(ranked, set(graded), k),
            ndcg_at_k(ranked, graded, k, gain="exponential"),
        )
        assert right == tuple(round(value, 3) for value in found)
    assert reciprocal_rank(ranked, set(graded)) == 0.5
    report = rf.evaluate(
        {"q": {doc: -place for place, doc in enumerate(ranked)}},
        {"q": graded},
        metrics=["ndcg(gain=exponential)@3", "precision(over=returned)@3", "recall@3", "mrr"],
    )
    assert [round(value, 3) for value in report.summary["value"]] == [0.574, 0.667, 0.5, 0.5]


def test_the_note_divides_by_k_and_cenote_by_what_was_returned() -> None:
    """One result where two were asked."""
    assert (precision_at_k(["a"], {"a"}, 2), precision_at_k(["a"], {"a"}, 2, over="returned")) == (0.5, 1.0)


@dataclass(frozen=True)
class Hit:
    """A result as retrievers give it."""

    doc: str


@pytest.mark.parametrize("name", ALL)
def test_results_may_be_objects_of_which_key_gives_the_id(name: str) -> None:
    hits = [Hit(doc) for doc in RANKED]
    assert ALL[name](RANKED, RELEVANT, 2) == ALL[name](hits, RELEVANT, 2, key=lambda hit: hit.doc)


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize(
    "relevant", [{"d1", "d2"}, frozenset({"d1", "d2"}), {"d1": 1.0, "d2": 1.0}.keys()], ids=["set", "frozen", "keys"]
)
def test_judgments_may_be_a_set(name: str, relevant: Any) -> None:
    assert ALL[name](RANKED, RELEVANT, 3) == ALL[name](RANKED, relevant, 3)


@pytest.mark.parametrize("name", ALL)
def test_a_repeated_id_counts_at_its_best_rank_only(name: str) -> None:
    assert ALL[name](RANKED, RELEVANT, 3) == ALL[name](["d1", "d1", "x", "d1", "x", "d2", "d2"], RELEVANT, 3)


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize(
    ("ranked", "relevant"), [([], RELEVANT), (RANKED, {}), (RANKED, set()), (RANKED, {"d1": 0}), (RANKED, {"d1": -3})]
)
def test_nothing_found_or_nothing_to_find_is_zero(name: str, ranked: list[str], relevant: Any) -> None:
    value = ALL[name](ranked, relevant, 3)
    assert value == 0.0
    assert float is type(value)


@pytest.mark.parametrize("name", ALL)
def test_zero_places_hold_nothing(name: str) -> None:
    assert ALL[name](RANKED, RELEVANT, 0) == 0.0


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("k", [-1, 0.5, 2.0, "3", True, math.inf], ids=repr)
def test_cutoffs_that_are_none_are_refused_by_value(name: str, k: Any) -> None:
    with pytest.raises(ValueError, match=r"k is a whole number from 0, got"):
        ALL[name](RANKED, RELEVANT, k)


@pytest.mark.parametrize("name", UNCUT)
def test_without_a_cutoff_all_places_count(name: str) -> None:
    assert UNCUT[name](RANKED, RELEVANT) == UNCUT[name](RANKED, RELEVANT, None) == UNCUT[name](RANKED, RELEVANT, 10**30)


@pytest.mark.parametrize("name", ALL)
def test_cutoffs_of_numpy_are_whole_numbers(name: str) -> None:
    assert ALL[name](RANKED, RELEVANT, 2) == ALL[name](RANKED, RELEVANT, np.int64(2))


def test_negative_grades_gain_nothing_and_zero_is_not_relevant() -> None:
    grades = {"a": -2.0, "b": 0.0, "c": 1.0}
    assert pytest.approx(1 / 2) == dcg_at_k(["a", "b", "c"], grades, 3)
    assert pytest.approx(1 / 2) == dcg_at_k(["a", "b", "c"], grades, 3, gain="exponential")
    assert pytest.approx(1 / 3) == reciprocal_rank(["a", "b", "c"], grades)
    assert pytest.approx([1.0, 1 / 3]) == [recall_at_k("abc", grades, 3), precision_at_k("abc", grades, 3)]


def test_gains() -> None:
    """A grade of 3 gains 3, or 7."""
    assert (dcg_at_k(["a"], {"a": 3}, 1), dcg_at_k(["a"], {"a": 3}, 1, gain="exponential")) == (3.0, 7.0)
    with pytest.raises(rf.MetricError, match="gain='cubic'; valid: linear, exponential"):
        dcg_at_k(["a"], {"a": 1}, 1, gain="cubic")  # type: ignore[arg-type]  # as a caller may


@pytest.mark.parametrize("ranked", [["a"], []], ids=["one", "none"])
@pytest.mark.parametrize("relevant", [{"a": 1.0}, {}], ids=["one", "none"])
def test_unknown_choices_are_refused_whatever_the_ranking(ranked: list[str], relevant: dict[str, float]) -> None:
    """Not only where a result is looked at."""
    uses: list[Callable[[], float]] = [
        lambda: dcg_at_k(ranked, relevant, 1, gain="cubic"),  # type: ignore[arg-type]  # as a caller may
        lambda: ndcg_at_k(ranked, relevant, 1, gain="cubic"),  # type: ignore[arg-type]
        lambda: precision_at_k(ranked, relevant, 1, over="found"),  # type: ignore[arg-type]
        lambda: average_precision(ranked, relevant, 1, over="k"),  # type: ignore[arg-type]
        lambda: average_precision(ranked, relevant, over="min_R_k"),
    ]
    for use in uses:
        with pytest.raises(rf.MetricError, match="valid:"):
            use()


def test_average_precision_over_the_places_that_count() -> None:
    """Three relevant documents, two places: a perfect ranking has 1 over two, 2/3 over three."""
    relevant = {"a", "b", "c"}
    assert pytest.approx(2 / 3) == average_precision(["a", "b"], relevant, 2)
    assert average_precision(["a", "b"], relevant, 2, over="min_R_k") == 1.0


def test_rankings_are_read_no_further_than_needed() -> None:
    """A generator of results is asked for k of them."""
    asked: list[int] = []

    def results() -> Any:
        for place in range(10):
            asked.append(place)
            yield f"d{place}"

    recall_at_k(results(), {"d9"}, 3)
    assert asked == [0, 1, 2]


GRADES = st.dictionaries(st.sampled_from("abcdefgh"), st.integers(-1, 4).map(float), max_size=8)


@given(ranked=st.lists(st.sampled_from("abcdefghij"), max_size=12), grades=GRADES, k=st.integers(0, 12))
def test_values_stand_between_0_and_1_and_leave_their_arguments_alone(
    ranked: list[str], grades: dict[str, float], k: int
) -> None:
    before = (list(ranked), dict(grades))
    for name, function in ALL.items():
        value = function(ranked, grades, k)
        assert value >= 0.0
        assert value <= 1.0 + 1e-12 or name == "dcg"
    assert before == (ranked, grades)


@given(grades=GRADES.filter(lambda grades: any(grade > 0 for grade in grades.values())), k=st.integers(1, 12))
def test_the_ideal_ranking_is_perfect(grades: dict[str, float], k: int) -> None:
    ideal = sorted(grades, key=lambda doc: -grades[doc])
    assert pytest.approx(1.0) == ndcg_at_k(ideal, grades, k)
    assert pytest.approx(1.0) == ndcg_at_k(ideal, grades, k, gain="exponential")
    assert 1.0 == reciprocal_rank(ideal, grades, k) == average_precision(ideal, grades, k, over="min_R_k")
    assert 1.0 == average_precision(ideal, grades) == recall_at_k(ideal, grades, 12)
