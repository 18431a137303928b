"""Frames as text that programs read."""

from __future__ import annotations

import csv
import io
import json

import polars as pl
import pytest

from rankframe.rendering import written


def test_written_escapes_what_a_format_means_otherwise() -> None:
    frame = pl.DataFrame({"run": ["a|b", 'c"d\ne'], "value": [float("nan"), 0.5], "tags": [["x", "y"], []]})
    assert json.loads(written(frame, "json")) == [
        {"run": "a|b", "value": None, "tags": ["x", "y"]},
        {"run": 'c"d\ne', "value": 0.5, "tags": []},
    ]
    rows = list(csv.reader(io.StringIO(written(frame, "csv"))))
    assert rows == [["run", "value", "tags"], ["a|b", "", "x, y"], ['c"d\ne', "0.5", ""]]
    lines = written(frame, "markdown").split("\n")
    assert lines[2] == "| a\\|b |  | x, y |"
    assert len(lines) == 4


@pytest.mark.parametrize("number", [float("inf"), float("-inf")], ids=str)
def test_written_json_is_json(number: float) -> None:
    """A strict reader takes it: infinity is no JSON number."""

    def refuse(name: str) -> float:
        raise AssertionError(name)

    json.loads(written(pl.DataFrame({"value": [number]}), "json"), parse_constant=refuse)
