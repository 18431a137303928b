"""The parts of a metric name."""

from __future__ import annotations

import pytest

import rankframe as rf
from rankframe.metrics.grammar import canonical, read_cutoff, read_value, split_name


@pytest.mark.parametrize(
    ("text", "value"),
    [("true", True), ("False", False), ("1", 1.0), ("-0.5", -0.5), ("linear", "linear"), ("1e3", 1e3)],
)
def test_values_are_read_as_what_they_look_like(text: str, value: object) -> None:
    assert value == read_value(text)
    assert type(value) is type(read_value(text))


def test_the_parts_of_a_name() -> None:
    assert split_name("map( over=min_R_k , rel=2 )@10") == ("map", {"over": "min_R_k", "rel": "2"}, "10")
    assert canonical("map", {"rel": 2.0, "over": "min_R_k"}, 10) == "map(over=min_R_k,rel=2)@10"
    assert read_cutoff(" 12 ", "x") == 12
    with pytest.raises(rf.MetricError, match="'x': a cutoff is a whole number from 1, got '012'"):
        read_cutoff("012", "x")
