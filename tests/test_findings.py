"""Slices, the hardest queries and the largest changes: what they show of which scores, and in which order."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import date
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

import rankframe as rf
from tests.comparison.shared import report_of

QUERIES = [f"q{i:02}" for i in range(20)]
QRELS = {query: {"d1": 1, "d2": 2, "d3": 0} for query in QUERIES}
RUNS = {
    "a": {query: {f"d{(i + j) % 5}": 1.0 / (j + 1) for j in range(3)} for i, query in enumerate(QUERIES)},
    "b": {query: {f"d{(2 * i + j) % 7}": 1.0 / (j + 1) for j in range(4)} for i, query in enumerate(QUERIES[:17])},
}
METRICS = ["ndcg@3", "map", "num_rel_ret", "judged@3"]
SUMMARY = [
    *("run_id", "metric", "aggregate", "value", "std", "median", "ci_low", "ci_high"),
    *("n", "n_missing", "n_null", "n_failed", "ci_reason"),
]


def report(**options: Any) -> rf.Report:
    return rf.evaluate(RUNS, QRELS, metrics=METRICS, **options)


def joined(**columns: Sequence[Any] | pl.Series) -> rf.Report:
    """The report with these columns, one value per query."""
    return report().join(pl.DataFrame({"query_id": QUERIES, **columns}, strict=False))


def one(values: Sequence[Any] | pl.Series) -> rf.Report:
    """A report of one run with as many queries as values, and these joined as the column `c`."""
    queries = [f"q{i:03}" for i in range(len(values))]
    scores = report_of({"a": {query: i / len(values) for i, query in enumerate(queries)}})
    return scores.join(pl.DataFrame({"query_id": queries, "c": values}))


def slices(values: Sequence[Any] | pl.Series, bins: Any = None) -> list[tuple[Any, int]]:
    """Every slice of a column and how many queries it has."""
    found = one(values).by("c", bins=None if bins is None else {"c": bins})
    return found.select("c", "n").rows()


def bins_of(found: pl.DataFrame) -> list[str]:
    """All bins of the column `c`, empty ones too, in order."""
    dtype = found.schema["c"]
    assert isinstance(dtype, pl.Enum)
    return dtype.categories.to_list()


# Slices: what they are.


def test_a_slice_has_the_means_of_its_queries() -> None:
    made = joined(topic=["x", "y", "y", None] * 5, hard=[True] * 10 + [False] * 10)
    found = made.by("topic", "hard")
    names = ["map", "ndcg@3"]
    plain = made.scores.group_by("topic", "hard", "run_id").agg(
        pl.col(names).mean(), pl.len().cast(pl.Int64).alias("n")
    )
    right = plain.unpivot(names, index=["topic", "hard", "run_id", "n"], variable_name="metric", value_name="value")
    columns = ["topic", "hard", "run_id", "metric", "value", "n"]
    means = found.filter(pl.col("metric").is_in(names)).select(columns)
    assert_frame_equal(means, right.select(columns), check_row_order=False)
    sums = made.scores.group_by("topic", "hard", "run_id").agg(pl.col("num_rel_ret").sum().alias("value"))
    assert_frame_equal(
        found.filter(metric="num_rel_ret").select("topic", "hard", "run_id", "value"), sums, check_row_order=False
    )


def test_its_columns_stand_before_those_of_the_summary() -> None:
    made = joined(topic=["x", "y"] * 10, year=pl.Series([2020, 2021, 2022, 2023] * 5, dtype=pl.Int16))
    found = made.by("year", "topic")
    assert found.columns == ["year", "topic", *SUMMARY]
    assert found.schema["year"] == pl.Int16
    assert dict(found.drop("year", "topic").schema) == dict(made.summary.schema)
    assert found.height == 4 * len(made.runs) * len(METRICS)


def test_rows_are_sorted_by_slice_then_run_then_metric_as_asked() -> None:
    found = joined(topic=["y", None, "x", "B"] * 5).by("topic")
    right = [(topic, run, metric) for topic in ("B", "x", "y", None) for run in ("a", "b") for metric in METRICS]
    assert found.select("topic", "run_id", "metric").rows() == right


@given(values=st.lists(st.none() | st.integers(0, 3), min_size=1, max_size=30))
def test_slices_part_the_queries(values: list[int | None]) -> None:
    made = one(pl.Series(values, dtype=pl.Int64))
    found = made.by("c")
    assert found["n"].sum() == made.summary["n"][0] == len(values)
    assert found["c"].to_list() == sorted(set(values) - {None}) + [None] * (None in values)  # type: ignore[type-var]
    weighted = sum(value * n for value, n in found.select("value", "n").iter_rows())
    assert weighted / len(values) == pytest.approx(made.summary["value"][0])


def test_all_counts_part_too() -> None:
    made = rf.evaluate(RUNS, QRELS | {"none": {"d1": 0}}, metrics=METRICS, missing="zero")
    topics = pl.DataFrame({"query_id": [*QUERIES, "none"], "topic": ["x", "y", "z"] * 7})
    parts = made.join(topics).by("topic").group_by("run_id", "metric", maintain_order=True)
    counts = ["n", "n_missing", "n_null", "n_failed"]
    found = parts.agg(pl.col(counts).sum())
    assert_frame_equal(found, made.summary.select("run_id", "metric", *counts), check_row_order=False)
    assert found.filter(run_id="b")["n_missing"].to_list() == [3] * len(METRICS)


@pytest.mark.parametrize("topic", ["x", "y"])
def test_a_slice_is_the_summary_of_a_report_of_its_queries(topic: str) -> None:
    """With its intervals: those of a slice do not depend on the others."""
    topics = ["x", "y", "y", "x"] * 5
    made = joined(topic=topics).with_intervals(level=0.9)
    narrowed = rf.evaluate(
        RUNS, QRELS, metrics=METRICS, queries=[q for q, t in zip(QUERIES, topics, strict=True) if t == topic]
    ).with_intervals(level=0.9)
    mine = made.by("topic").filter(topic=topic).drop("topic", "n_null")
    assert_frame_equal(mine, narrowed.summary.drop("n_null"))


def test_a_slice_of_one_query_has_a_value_and_no_interval() -> None:
    found = one(["x", "x", "y"]).by("c")
    assert found.select("c", "n", "ci_low", "ci_high", "ci_reason").row(1) == ("y", 1, None, None, "one query")
    assert found["value"][1] == pytest.approx(2 / 3)


def test_a_slice_without_a_score_is_shown() -> None:
    made = rf.evaluate(RUNS, QRELS | {"none": {"d1": 0}}, metrics="map")
    found = made.join(pl.DataFrame({"query_id": [*QUERIES, "none"], "c": ["x"] * 20 + ["y"]})).by("c").filter(c="y")
    told = found.select("run_id", "value", "n", "n_null", "ci_reason").rows()
    assert told == [("a", None, 0, 1, "no value"), ("b", None, 0, 1, "no value")]


def test_queries_without_metadata_are_the_null_slice_and_stand_last() -> None:
    made = report().join(pl.DataFrame({"query_id": QUERIES[:15], "topic": ["x", "y", "z"] * 5}))
    found = made.by("topic").filter(metric="map", run_id="a").select("topic", "n").rows()
    assert found == [("x", 5), ("y", 5), ("z", 5), (None, 5)]


def test_nan_is_no_value_and_no_slice_of_its_own() -> None:
    assert slices([1.5, math.nan, None, 0.5, math.nan]) == [(0.5, 1), (1.5, 1), (None, 3)]
    assert slices([1.5, math.nan, None, 0.5, 3.0], [1]) == [("<= 1", 1), ("> 1", 2), (None, 2)]


@pytest.mark.parametrize(
    ("values", "right"),
    [
        (pl.Series([True, False, True, None]), [(False, 1), (True, 2), (None, 1)]),
        (pl.Series([10, 9, 10, None]), [(9, 1), (10, 2), (None, 1)]),
        (pl.Series([2, 1, 2, None], dtype=pl.UInt8), [(1, 1), (2, 2), (None, 1)]),
        (pl.Series(["b", "a", "b", None]), [("a", 1), ("b", 2), (None, 1)]),
        (pl.Series(["low", "high", "low", None], dtype=pl.Enum(["low", "high"])), [("low", 2), ("high", 1), (None, 1)]),
        (pl.Series(["b", "a", "b", None], dtype=pl.Categorical), [("a", 1), ("b", 2), (None, 1)]),
        (
            pl.Series([date(2024, 2, 1), date(2023, 12, 31), date(2024, 2, 1), None]),
            [(date(2023, 12, 31), 1), (date(2024, 2, 1), 2), (None, 1)],
        ),
        (pl.Series([None] * 4, dtype=pl.Null), [(None, 4)]),
        (pl.Series([math.inf, 0.0, -math.inf, -0.0]), [(-math.inf, 1), (0.0, 2), (math.inf, 1)]),
    ],
    ids=lambda given: str(given.dtype) if isinstance(given, pl.Series) else "",
)
def test_every_type_of_one_value_makes_slices_in_its_own_order(values: pl.Series, right: list[Any]) -> None:
    assert slices(values) == right
    assert one(values).by("c").schema["c"] == values.dtype


def test_columns_of_the_scores_themselves_make_slices() -> None:
    found = report().by("status").filter(metric="map")
    assert found.select("status", "run_id", "n").rows() == [("missing", "b", 3), ("ok", "a", 20), ("ok", "b", 17)]
    assert report().by("query_id").height == 20 * 2 * len(METRICS)


def test_samples_are_sliced_by_their_own_columns() -> None:
    samples = [
        {"sample_id": f"s{i}", "user_input": "x", "response": "Paris" if i % 3 else "no", "reference": reference}
        for i, reference in enumerate(["Paris", "Paris", None, "Paris", "Paris", "Paris"])
    ]
    made = rf.evaluate_samples(samples, metrics=["exact_match", "token_f1"])
    kinds = pl.DataFrame({"sample_id": [f"s{i}" for i in range(6)], "kind": ["x", "x", "x", "y", "y", None]})
    found = made.join(kinds).by("kind").filter(metric="exact_match")
    assert found.select("kind", "value", "n", "n_null").rows() == [
        ("x", 0.5, 2, 1),
        ("y", 0.5, 2, 0),
        (None, 1.0, 1, 0),
    ]
    assert found["ci_reason"].to_list() == [None, None, "one sample"]


@pytest.mark.parametrize("name", ["counts", "map mean", "map std", "map counts", "low", "#", "*", "^.*$", "length"])
def test_a_slice_column_may_have_any_name(name: str) -> None:
    found = joined(**{name: ["x", "y"] * 10}).by(name).filter(metric="map")
    assert found[name].to_list() == ["x", "x", "y", "y"]
    assert found.columns == [name, *SUMMARY]


# Slices: bins.


def test_a_value_on_an_edge_belongs_below_it() -> None:
    found = slices([9, 10, 11, 20, 21], [10, 20])
    assert found == [("<= 10", 2), ("> 10 to 20", 2), ("> 20", 1)]


def test_one_edge_makes_two_slices() -> None:
    assert slices([0.1, 0.2, 0.3], [0.2]) == [("<= 0.2", 2), ("> 0.2", 1)]


def test_a_number_of_slices_makes_slices_of_equal_size() -> None:
    assert [n for _, n in slices(list(range(20)), 4)] == [5, 5, 5, 5]
    assert [n for _, n in slices([i / 7 for i in range(21)], 3)] == [7, 7, 7]


@given(values=st.lists(st.integers(-50, 50), min_size=1, max_size=40), n=st.integers(2, 6))
def test_the_same_value_is_in_one_slice_and_slices_ascend(values: list[int], n: int) -> None:
    made = one(values)
    found = made.by("c", bins={"c": n})
    assert found["n"].sum() == len(values)
    assert found.height <= n
    names = found["c"].to_list()
    assert names == sorted(names, key=bins_of(found).index)
    assert found["c"].null_count() == 0


@given(
    values=st.lists(st.floats(-100, 100), min_size=1, max_size=30),
    edges=st.lists(st.integers(-90, 90), min_size=1, max_size=5, unique=True).map(sorted),
)
def test_bins_hold_what_lies_between_their_edges(values: list[float], edges: list[int]) -> None:
    sizes = [sum(value <= edges[0] for value in values)]
    sizes += [sum(low < value <= high for value in values) for low, high in pairwise(edges)]
    sizes += [sum(value > edges[-1] for value in values)]
    assert [n for _, n in slices(values, edges)] == [size for size in sizes if size]


def test_bins_are_an_enum_with_every_bin_in_order() -> None:
    found = one([1, 30]).by("c", bins={"c": [10, 9.5 + 10.5, 100]})
    assert found.schema["c"] == pl.Enum(["<= 10", "> 10 to 20", "> 20 to 100", "> 100"])


@pytest.mark.parametrize(
    ("edges", "right"),
    [
        ([1_234_567, 2_345_678], ["<= 1234567", "> 1234567 to 2345678", "> 2345678"]),
        ([20240101, 20240601], ["<= 20240101", "> 20240101 to 20240601", "> 20240601"]),
        ([0.1, 0.25], ["<= 0.1", "> 0.1 to 0.25", "> 0.25"]),
        ([0.1234567, 0.1234568], ["<= 0.1234567", "> 0.1234567 to 0.1234568", "> 0.1234568"]),
        ([-1.0, 0, 2.0], ["<= -1", "> -1 to 0", "> 0 to 2", "> 2"]),
    ],
)
def test_a_bin_tells_its_edges_exactly(edges: list[float], right: list[str]) -> None:
    found = one([1, 2]).by("c", bins={"c": edges})
    assert bins_of(found) == right


@pytest.mark.parametrize("edges", [(10, 20), np.array([10, 20]), np.array([10.0, 20.0]), pl.Series([10, 20])])
def test_edges_are_any_sequence_of_numbers(edges: Any) -> None:
    assert slices([5, 15, 25], edges) == [("<= 10", 1), ("> 10 to 20", 1), ("> 20", 1)]


def test_a_number_of_slices_may_be_numpys() -> None:
    assert [n for _, n in slices(list(range(6)), np.int64(2))] == [3, 3]


def test_equal_values_are_one_slice_whatever_is_asked() -> None:
    assert [n for _, n in slices([7, 7, 7], 3)] == [3]


def test_infinite_values_are_in_the_outer_slices() -> None:
    assert slices([-math.inf, 1.0, 3.0, math.inf], [2]) == [("<= 2", 2), ("> 2", 2)]
    assert sum(n for name, n in slices([-math.inf, 1.0, 3.0, math.inf], 2) if name is not None) == 4
    assert sum(n for name, n in slices([math.inf, math.inf], 2) if name is not None) == 2


def test_a_column_without_a_value_is_the_null_slice_under_bins() -> None:
    assert slices(pl.Series([None, None], dtype=pl.Int64), 3) == [(None, 2)]
    assert slices(pl.Series([None, math.nan], dtype=pl.Float64), [1, 2]) == [(None, 2)]


def test_decimals_and_large_integers_are_binned() -> None:
    assert [n for _, n in slices(pl.Series(["0.5", "1.5", "2.5"]).cast(pl.Decimal(10, 2)), [1])] == [1, 2]
    assert [n for _, n in slices(pl.Series([2**40, 2**41, 2**42]), 3)] == [1, 1, 1]


def test_some_columns_are_binned_beside_others_that_are_not() -> None:
    found = joined(topic=["x", "y"] * 10, length=list(range(20))).by("topic", "length", bins={"length": [9]})
    told = found.filter(metric="map", run_id="a").select("topic", "length", "n").rows()
    assert told == [("x", "<= 9", 5), ("x", "> 9", 5), ("y", "<= 9", 5), ("y", "> 9", 5)]


def test_slicing_changes_nothing_of_the_report() -> None:
    made = joined(length=list(range(20)))
    before = made.scores.clone()
    made.by("length", bins={"length": 3})
    assert_frame_equal(made.scores, before)


# Slices: what is refused.


def refused(match: str, *columns: str, bins: Any = None, of: rf.Report | None = None) -> None:
    made = of or joined(topic=["x", "y"] * 10, length=list(range(20)), value=["u", "v"] * 10)
    with pytest.raises(rf.DataError, match=match):
        made.by(*columns, bins=bins)


def test_a_column_that_is_not_there_is_refused_with_the_nearest() -> None:
    refused(
        r"^no column 'topics' in the scores; report\.join\(queries\) puts metadata there, by query_id\. .*'topic'",
        "topics",
    )
    refused(r"^no column 'len' in the scores", "topic", bins={"len": 3})


@pytest.mark.parametrize("name", ["map", "ndcg@3", "run_id", "value"])
def test_a_metric_or_a_column_of_the_summary_is_refused(name: str) -> None:
    refused(rf"^'{name}' is a column of every summary, or a metric; to slice by it give it another name", name)


def test_no_column_and_one_twice_are_refused() -> None:
    refused(r'^by\(\) takes the columns to slice by, as in report\.join\(queries\)\.by\("topic"\)$')
    refused(r"^a column to slice by is named twice: 'topic', 'topic'$", "topic", "topic")


@pytest.mark.parametrize("values", [[[1, 2]] * 4, [{"a": 1}] * 4], ids=["list", "struct"])
def test_nested_columns_are_refused(values: list[Any]) -> None:
    refused(r"^'c' is (List|Struct)\(.*\), which makes no slices; join a column of one value", "c", of=one(values))


def test_bins_of_what_is_no_number_are_refused() -> None:
    refused(r"^bins= is for numbers, and 'topic' is String; leave it out of bins=$", "topic", bins={"topic": 2})
    dates = one(pl.Series([date(2024, 1, 1)] * 2))
    refused(r"^bins= is for numbers, and 'c' is Date", "c", bins={"c": 2}, of=dates)
    refused(r"^bins= is for numbers, and 'c' is Boolean", "c", bins={"c": 2}, of=one([True, False]))


def test_bins_of_a_column_that_was_not_asked_for_are_refused() -> None:
    refused(r"^bins= names 'length', which by\(\) was not asked for$", "topic", bins={"length": 2})


@pytest.mark.parametrize("bins", [0, 1, -3, 2.5, True])
def test_a_number_of_slices_is_whole_and_at_least_2(bins: Any) -> None:
    refused(r"^bins of 'length' is a whole number of at least 2, got ", "length", bins={"length": bins})


@pytest.mark.parametrize(
    "edges",
    [[], [20, 10], [10, 10], [10, math.nan], [math.inf], ["10"], "10", [None], [[1, 2]], {}, object()],
    ids=lambda edges: repr(edges).partition(" at ")[0],
)
def test_edges_ascend_and_are_finite_numbers(edges: Any) -> None:
    refused(
        r"^bins of 'length' are a number of slices or ascending edges, as in bins=\{\"length\": \[10, 20\]\}, got ",
        "length",
        bins={"length": edges},
    )


# The hardest.

SCORES = {
    "a": {"q1": 0.5, "q2": 0.125, "q3": 0.875, "q4": None, "q5": 0.375, "q6": 0.0},
    "b": {"q1": 0.0, "q2": 0.375, "q3": 0.75, "q4": None, "q5": None, "q6": 0.5},
}
HARDEST = [
    ("q1", "map", 0.25, 0.0, 0.5),
    ("q2", "map", 0.25, 0.125, 0.375),
    ("q6", "map", 0.25, 0.0, 0.5),
    ("q5", "map", 0.375, 0.375, 0.375),
    ("q3", "map", 0.8125, 0.75, 0.875),
]
"""Those of one mean by id; q4 has no value and is not there; q5 has one run's."""


def test_the_hardest_queries_have_the_lowest_mean_over_the_runs() -> None:
    found = report_of(SCORES).hardest()
    assert found.columns == ["query_id", "metric", "value", "lowest", "highest", "judged"]
    assert dict(found.schema) == {
        "query_id": pl.String, "metric": pl.String, "value": pl.Float64, "lowest": pl.Float64,
        "highest": pl.Float64, "judged": pl.Float64,
    }  # fmt: skip
    assert found.drop("judged").rows() == HARDEST


@pytest.mark.parametrize(("n", "height"), [(1, 1), (3, 3), (5, 5), (50, 5), (None, 5)])
def test_as_many_as_are_asked_for(n: int | None, height: int) -> None:
    assert report_of(SCORES).hardest(n).drop("judged").rows() == HARDEST[:height]


def test_ten_unless_asked() -> None:
    assert report().hardest().height == 10
    assert report().hardest(None).height == 20


@pytest.mark.parametrize("n", [0, -1, 2.0, True, "3"])
def test_a_number_of_queries_is_whole_and_at_least_1(n: Any) -> None:
    with pytest.raises(rf.DataError, match=r"^n is a whole number of at least 1, got "):
        report().hardest(n)
    with pytest.raises(rf.DataError, match=r"^n is a whole number of at least 1, got "):
        report().diff("a", "b", n=n)


def test_by_the_metric_that_is_asked_for_by_any_of_its_names() -> None:
    first, by_map = report().hardest(None), report().hardest(None, metric="MAP")
    assert first["metric"].unique().to_list() == ["ndcg@3"]
    assert by_map["metric"].unique().to_list() == ["map"]
    right = report().scores.group_by("query_id").agg(pl.col("map").mean().alias("value")).sort("value", "query_id")
    assert_frame_equal(by_map.select("query_id", "value"), right)


# The largest changes.

CHANGES = [
    ("q1", "map", 0.5, 0.0, -0.5),
    ("q6", "map", 0.0, 0.5, 0.5),
    ("q2", "map", 0.125, 0.375, 0.25),
    ("q3", "map", 0.875, 0.75, -0.125),
    ("q4", "map", None, None, None),
    ("q5", "map", 0.375, None, None),
]
"""Those of one size by id, and what has no value in one of the runs last."""


def test_the_largest_change_is_first_either_way() -> None:
    found = report_of(SCORES).diff("a", "b")
    assert found.columns == [
        "query_id",
        "metric",
        "run_a",
        "run_b",
        "value_a",
        "value_b",
        "difference",
        "judged_a",
        "judged_b",
    ]
    assert found.schema.dtypes()[4:] == [pl.Float64] * 5
    assert found.drop("run_a", "run_b", "judged_a", "judged_b").rows() == CHANGES


def test_the_other_way_round_only_the_sign_changes() -> None:
    there, back = report().diff("a", "b"), report().diff("b", "a")
    assert there["query_id"].to_list() == back["query_id"].to_list()
    assert (there["difference"] == -back["difference"]).all()
    assert there["value_a"].equals(back["value_b"].alias("value_a"))


@given(
    st.dictionaries(
        st.sampled_from([f"q{i}" for i in range(9)]), st.tuples(*[st.none() | st.floats(0, 1)] * 2), min_size=1
    )
)
def test_a_change_is_b_minus_a(scores: dict[str, tuple[float | None, float | None]]) -> None:
    found = report_of({run: {q: pair[i] for q, pair in scores.items()} for i, run in enumerate("ab")}).diff("a", "b")
    assert sorted(found["query_id"]) == sorted(scores)
    for query, a, b, change in found.select("query_id", "value_a", "value_b", "difference").iter_rows():
        assert (a, b) == scores[query]
        assert change == (None if a is None or b is None else pytest.approx(b - a, abs=1e-11))
    sizes = [abs(change) for change in found["difference"].drop_nulls()]
    assert sizes == sorted(sizes, reverse=True)


def test_n_of_them() -> None:
    whole = report().diff("a", "b", metric="map")
    assert whole.height == 20
    assert_frame_equal(report().diff("a", "b", metric="map", n=4), whole.head(4))


def test_a_missing_query_that_counts_as_0_is_a_change() -> None:
    found = report().diff("a", "b", metric="map")
    assert found.filter(pl.col("query_id").is_in(QUERIES[17:]))["value_b"].to_list() == [0.0] * 3
    skipped = rf.evaluate(RUNS, QRELS, metrics="map", missing="skip").diff("a", "b")
    assert skipped["query_id"].to_list()[-3:] == QUERIES[17:]
    assert skipped["difference"].null_count() == 3


def test_what_rounding_alone_changed_did_not_change() -> None:
    found = report_of({"a": {"q1": 0.3}, "b": {"q1": 0.1 + 0.2}}).diff("a", "b")
    assert found["difference"].to_list() == [0.0]


def test_from_or_to_an_infinite_value_is_the_largest_change() -> None:
    a = {"q1": 0.0, "q2": math.inf, "q3": 0.5, "q4": math.inf, "q5": -math.inf}
    b = {"q1": 0.5, "q2": 0.5, "q3": math.inf, "q4": math.inf, "q5": math.inf}
    found = report_of({"a": a, "b": b}).diff("a", "b")
    right = [("q2", -math.inf), ("q3", math.inf), ("q5", math.inf), ("q1", 0.5), ("q4", 0.0)]
    assert found.select("query_id", "difference").rows() == right


def test_a_run_or_metric_that_is_not_there_is_refused() -> None:
    with pytest.raises(rf.DataError, match=r"^no run 'c'; this report has 'a', 'b'$"):
        report().diff("a", "c")
    with pytest.raises(rf.DataError, match=r"^no run 'A'; this report has 'a', 'b'$"):
        report().diff("A", "b")
    with pytest.raises(rf.DataError, match=r"^no metric 'mapp' in this report: .*'map'"):
        report().diff("a", "b", metric="mapp")
    with pytest.raises(rf.DataError, match=r"^no metric 'mapp' in this report: .*'map'"):
        report().hardest(metric="mapp")


# What stands beside them.


def test_the_judged_share_is_that_of_the_metrics_own_cutoff() -> None:
    found = report().diff("a", "b", metric="ndcg@3")
    shares = {
        (run, query): share for run, query, share in report().scores.select("run_id", "query_id", "judged@3").rows()
    }
    assert found["judged_a"].to_list() == [shares["a", query] for query in found["query_id"]]
    assert found["judged_b"].to_list() == [shares["b", query] for query in found["query_id"]]
    hardest = report().hardest(None, metric="ndcg@3")
    right = [(shares["a", query] + shares["b", query]) / 2 for query in hardest["query_id"]]
    assert hardest["judged"].to_list() == pytest.approx(right)


def test_of_an_uncut_metric_it_is_that_of_all_returned() -> None:
    rows = report().scores.select("run_id", "query_id", "n_judged", "n_ret").rows()
    shares = {(run, query): judged / returned if returned else None for run, query, judged, returned in rows}
    found = report().diff("a", "b", metric="map")
    assert found["judged_a"].to_list() == [shares["a", query] for query in found["query_id"]]
    assert found["judged_b"].to_list() == [shares["b", query] for query in found["query_id"]]
    assert found["judged_b"].null_count() == 3  # nothing returned
    assert report().hardest(None, metric="map")["judged"].null_count() == 0  # the other run returned something


def test_it_is_null_where_the_report_does_not_tell_it() -> None:
    made = rf.evaluate(RUNS, QRELS, metrics=["ndcg@2", "judged@3"])
    assert made.hardest()["judged"].null_count() == 10
    assert made.diff("a", "b").select(pl.col("judged_a", "judged_b").null_count()).row(0) == (20, 20)
    assert made.hardest().schema["judged"] == made.diff("a", "b").schema["judged_b"] == pl.Float64


def test_joined_columns_stand_behind() -> None:
    made = joined(topic=["x", "y"] * 10, length=list(range(20)))
    assert made.hardest().columns[6:] == ["topic", "length"]
    assert made.diff("a", "b").columns[9:] == ["topic", "length"]
    lengths = dict(zip(QUERIES, range(20), strict=True))
    for found in (made.hardest(None), made.diff("a", "b")):
        assert found["length"].to_list() == [lengths[query] for query in found["query_id"]]


def test_those_whose_names_are_taken_are_renamed() -> None:
    made = joined(value=["x", "y"] * 10, metric=[1] * 20, difference=[2.5] * 20)
    assert made.hardest().columns[6:] == ["value_joined", "metric_joined", "difference"]
    assert made.diff("a", "b").columns[9:] == ["value", "metric_joined", "difference_joined"]
    assert made.hardest()["value_joined"].to_list()[0] in {"x", "y"}


def test_and_renamed_so_that_they_differ() -> None:
    found = joined(value=["x", "y"] * 10, value_joined=["u", "v"] * 10).hardest()
    assert found.width == 8
    assert len(set(found.columns)) == 8


def test_queries_without_metadata_stay() -> None:
    made = report().join(pl.DataFrame({"query_id": QUERIES[:3], "topic": ["x", "y", "z"]}))
    assert made.hardest(None)["topic"].null_count() == 17
    assert made.diff("a", "b").height == 20


def test_metadata_of_runs_is_not_that_of_a_query() -> None:
    cost = pl.DataFrame({"run_id": ["a", "b", "c"], "cost": [1, 2, 3]})
    made = rf.evaluate(RUNS | {"c": RUNS["a"]}, QRELS, metrics="map").join(cost, on="run_id")
    assert "cost" not in made.diff("b", "c").columns
    assert "cost" not in made.hardest().columns
    assert made.by("cost")["cost"].to_list() == [1, 2, 3]


# Samples.


def samples(run: str, ids: Sequence[str]) -> pl.DataFrame:
    """Runs answer differently: that of "b" is right where the id is even."""
    rows = [
        {
            "run_id": run,
            "sample_id": name,
            "user_input": "x",
            "response": "Paris" if run == "a" or int(name[1:]) % 2 == 0 else "no",
            "reference": "Paris",
        }
        for name in ids
    ]
    return pl.DataFrame(rows)


def of_samples() -> rf.Report:
    """s0 is in run a alone, s4 in run b alone."""
    both = pl.concat([samples("a", ["s0", "s1", "s2", "s3"]), samples("b", ["s1", "s2", "s3", "s4"])])
    return rf.evaluate_samples(both, metrics="exact_match")


def test_samples_in_one_run_only_are_last_among_changes() -> None:
    found = of_samples().diff("a", "b")
    assert found.columns[0] == "sample_id"
    assert found.drop("metric", "run_a", "run_b", "judged_a", "judged_b").rows() == [
        ("s1", 1.0, 0.0, -1.0),
        ("s3", 1.0, 0.0, -1.0),
        ("s2", 1.0, 1.0, 0.0),
        ("s0", 1.0, None, None),
        ("s4", None, 1.0, None),
    ]
    assert found.select(pl.col("judged_a", "judged_b").null_count()).row(0) == (5, 5)


def test_the_hardest_samples_are_over_the_runs_that_have_them() -> None:
    found = of_samples().hardest()
    assert found.select("sample_id", "value", "lowest", "highest", "judged").rows() == [
        ("s1", 0.5, 0.0, 1.0, None),
        ("s3", 0.5, 0.0, 1.0, None),
        ("s0", 1.0, 1.0, 1.0, None),
        ("s2", 1.0, 1.0, 1.0, None),
        ("s4", 1.0, 1.0, 1.0, None),
    ]


def test_metadata_of_samples_stands_behind_also_of_those_in_one_run_only() -> None:
    kinds = pl.DataFrame({"sample_id": ["s0", "s1", "s2", "s3", "s4"], "kind": list("uvwxy")})
    made = of_samples().join(kinds)
    assert made.diff("a", "b")["kind"].to_list() == ["v", "x", "w", "u", "y"]
    assert made.hardest()["kind"].to_list() == ["v", "x", "u", "w", "y"]
