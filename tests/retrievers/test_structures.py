"""Structures that objects of other libraries have, without those libraries; `tests/frameworks` has the objects."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import rankframe as rf

QUERIES = {"q1": "one", "q2": "two"}


def pairs(found: rf.Retrieval) -> list[tuple[str, str, float]]:
    return found.run.select("query_id", "doc_id", "score").rows()


def told(query: str, limit: int) -> list[str]:
    return [f"{query}-{limit}"]


# Which of its methods an object is asked by.


def test_a_method_that_names_query_and_limit_goes_before_a_first_one_that_names_neither() -> None:
    class Collection:
        def search(self, searches: Any, read_level: int = 0) -> Any:
            raise NotImplementedError

        def query(self, query_texts: Any = None, n_results: int = 10) -> Any:
            return {"ids": [[f"{text}-{n_results}"] for text in query_texts]}

    assert rf.retrieve(Collection(), QUERIES, limit=3).run["doc_id"].to_list() == ["one-3", "two-3"]


def test_a_first_method_that_names_the_query_is_asked() -> None:
    class Both:
        def search(self, query: str) -> list[str]:
            return told(query, 0)

        def run(self, query: str, limit: int) -> list[str]:
            return told(query, limit)

    assert rf.retrieve(Both(), QUERIES).run["doc_id"].to_list() == ["one-0", "two-0"]


def test_a_first_method_is_asked_where_no_other_says_more() -> None:
    class Engine:
        def retrieve(self, bundle: Any) -> list[str]:
            return told(bundle, 0)

        def query(self, query: str) -> list[str]:
            raise NotImplementedError

        def run(self, data: Any, limit: int) -> list[str]:
            raise NotImplementedError

    assert rf.retrieve(Engine(), QUERIES).run["doc_id"].to_list() == ["one-0", "two-0"]


# What holds results, and what is one.


class Model:
    """Gives its fields when it is iterated over, as models of pydantic do."""

    def __init__(self, **fields: Any) -> None:
        self.__dict__ |= fields

    def __iter__(self) -> Iterator[Any]:
        yield from self.__dict__.items()

    def model_dump(self) -> dict[str, Any]:
        return self.__dict__


class Several(Model):
    def __iter__(self) -> Iterator[Any]:
        yield from vars(self)["found"]


def test_a_model_is_one_result_and_no_list() -> None:
    one = Model(id=7, version=0, score=0.5)
    with pytest.raises(rf.DataError, match=r"query 'q1': the answer is a Model: .*expected a list of results"):
        rf.retrieve(lambda _: one, QUERIES, limit=1)
    assert pairs(rf.retrieve(lambda _: [one], QUERIES)) == [("q1", "7", 0.5), ("q2", "7", 0.5)]


def test_a_model_may_hold_results_or_iterate_over_them() -> None:
    for holder in (Model(points=["d1"]), Several(found=["d1"])):
        assert pairs(rf.retrieve(lambda _, holder=holder: holder, QUERIES)) == [("q1", "d1", -1.0), ("q2", "d1", -1.0)]


def test_groups_are_told_by_what_they_are_grouped_by() -> None:
    groups = [Model(hits=[Model(id=4, score=0.9)], id="d2"), Model(hits=[Model(id=3, score=0.8)], id="d1")]
    found = rf.retrieve(lambda _: Model(groups=groups), {"q1": "one"})
    assert pairs(found) == [("q1", "d2", -1.0), ("q1", "d1", -2.0)]


def test_the_only_part_of_a_pipeline_with_results_is_read() -> None:
    part: Any = {"documents": [SimpleNamespace(id="d1", score=0.5)]}
    for answer in ({"retriever": part}, {"retriever": part, "embedder": {"embedding": [0.1]}, "took": 3}):
        found = rf.retrieve(lambda _, answer=answer: answer, {"q1": "one"})
        assert pairs(found) == [("q1", "d1", 0.5)]
    assert rf.retrieve(lambda _: {"retriever": {"documents": []}}, {"q1": "one"}).log["n_results"].item() == 0
    others: list[Any] = [{"one": part, "other": part}, {"one": {"d1": 0.5}}, {"one": {}}]
    for other in others:
        with pytest.raises(rf.DataError, match="the answer is a dict with the keys"):
            rf.retrieve(lambda _, other=other: other, {"q1": "one"})


# Arrays.


@pytest.mark.parametrize("rows", [[[3, 1]], [[3, 1, 2]], [[3, 1], [2, 0]]])
def test_rows_of_numbers_are_ids_and_no_pairs(rows: list[list[int]]) -> None:
    with pytest.raises(rf.DataError, match="the answer to one query is an array with rows of ids"):
        rf.retrieve(lambda _: np.array(rows), {"q1": "one"})
    found = rf.retrieve(lambda queries: np.array(rows[:1] * len(queries)), {"q1": "one"})
    assert found.run["doc_id"].to_list() == [str(number) for number in rows[0]]
    assert rf.retrieve(lambda _: np.array(rows)[0], {"q1": "one"}).run.equals(found.run)


def test_an_array_of_pairs_is_read() -> None:
    array = np.array([["d1", 0.5], [7, 0.25]], dtype=object)
    assert pairs(rf.retrieve(lambda _: array, {"q1": "one"})) == [("q1", "d1", 0.5), ("q1", "7", 0.25)]
    assert pairs(rf.retrieve(lambda _: array[:1], {"q1": "one"})) == [("q1", "d1", 0.5)]
