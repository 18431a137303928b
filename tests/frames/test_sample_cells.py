"""Cells of samples: what stands for none, lists in every form, and lists that are stored as text."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankframe as rf
from rankframe.io.samples import read_samples, scan_samples
from tests.io.samples import RECORDS, TEXTS, by_column, lines, parquet, written

# Missing values and empty lists.


NOTHING = [None, float("nan"), pd.NA, pd.NaT, np.float32("nan")]


@pytest.mark.parametrize("nothing", NOTHING, ids=lambda value: type(value).__name__)
@pytest.mark.parametrize("kind", ["records", "pandas", "objects"])
def test_what_stands_for_none_is_null(nothing: object, kind: str) -> None:
    rows: list[dict[str, Any]] = [
        {"user_input": "q", "response": "r", "retrieved_contexts": ["c"], "references": ["x"]},
        {"user_input": "q", "response": nothing, "retrieved_contexts": nothing, "references": nothing},
    ]
    source: Any = rows if kind == "records" else pd.DataFrame(rows)
    if kind == "objects":
        source = pl.DataFrame({name: pl.Series(values, dtype=pl.Object) for name, values in by_column(rows).items()})
    frame = read_samples(source)
    assert frame.select("response", "retrieved_contexts", "references").rows() == [
        ("r", ["c"], ["x"]),
        (None, None, None),
    ]


@pytest.mark.parametrize("nothing", NOTHING, ids=lambda value: type(value).__name__)
def test_a_null_context_keeps_its_place(nothing: object) -> None:
    frame = read_samples([{"user_input": "q", "retrieved_contexts": ["a", nothing, "b"]}])
    assert frame["retrieved_contexts"].to_list() == [["a", None, "b"]]


@pytest.mark.parametrize("name", ["response", "reference", "references", "retrieved_contexts", "persona_name"])
@pytest.mark.parametrize("values", [[None, None], [np.nan, np.nan], [pd.NA, pd.NA]], ids=["None", "nan", "NA"])
def test_a_column_without_values_is_null_whatever_its_type(name: str, values: list[Any]) -> None:
    dtype = TEXTS if name.endswith(("s", "contexts")) else pl.String
    frames = [
        pd.DataFrame({"user_input": ["q", "r"], name: values}),
        pd.DataFrame({"user_input": ["q", "r"], name: pd.Series(values, dtype=object)}),
        [{"user_input": "q", name: value} for value in values],
    ]
    if values[0] is not pd.NA:
        frames += [pl.DataFrame({"user_input": ["q", "r"], name: pl.Series(values, dtype=pl.Float64)})]
        frames += [pl.LazyFrame({"user_input": ["q", "r"], name: pl.Series(values, dtype=pl.Float64)})]
    for frame in frames:
        read = read_samples(frame)
        assert read.schema[name] == dtype
        assert read[name].null_count() == 2


def test_empty_and_null_lists_stay_apart_in_every_source(tmp_path: Path) -> None:
    frame = pl.DataFrame({"user_input": ["a", "b", "c"], "retrieved_contexts": [[], None, [None]]})
    frame = frame.with_columns(pl.col("retrieved_contexts").cast(TEXTS))
    right = [[], None, [None]]
    for source in (
        frame,
        frame.lazy(),
        frame.to_pandas(),
        frame.to_dicts(),
        parquet(frame, tmp_path / "s.parquet"),
        written(tmp_path / "s.jsonl", lines(frame.to_dicts())),
    ):
        assert read_samples(source)["retrieved_contexts"].to_list() == right


def test_lists_of_no_type_are_lists_of_texts() -> None:
    frame = read_samples(pl.DataFrame({"user_input": ["a", "b"], "retrieved_contexts": [[], [None]]}))
    assert frame.schema["retrieved_contexts"] == TEXTS


@pytest.mark.parametrize(
    "form",
    [list, tuple, np.array, pd.Series, pl.Series, pa.array, lambda values: np.array(values, dtype=object)],
    ids=["list", "tuple", "numpy", "pandas", "polars", "arrow", "objects"],
)
def test_lists_in_every_form_are_read(form: Callable[[list[str]], Any]) -> None:
    cells = [form(["a", "b"]), form(["c"]), []]
    frame = read_samples([{"user_input": "q", "retrieved_contexts": cell, "references": cell} for cell in cells])
    assert frame["retrieved_contexts"].to_list() == [["a", "b"], ["c"], []]
    assert frame["references"].to_list() == [["a", "b"], ["c"], []]


@pytest.mark.parametrize("cell", [{"a", "b"}, frozenset("a"), {"a": 1}, 5, 1.5, True, b"text", object, np.array("a")])
@pytest.mark.parametrize("name", ["retrieved_contexts", "references", "multi_responses", "ground_truth_sources"])
def test_what_is_no_list_is_refused(cell: object, name: str) -> None:
    with pytest.raises(rf.DataError, match=rf"samples: '{name}' is no list of texts in 1 sample: sample 0 is .*list"):
        read_samples([{"user_input": "q", name: cell}])


@pytest.mark.parametrize("entry", [5, 1.5, True, {"page_content": "x"}, ["x"], b"x", np.array(["x"])])
def test_what_is_no_text_inside_a_list_is_refused_by_its_place(entry: object) -> None:
    records = [{"id": "a", "user_input": "q"}, {"id": "b", "user_input": "q", "retrieved_contexts": ["c", entry]}]
    with pytest.raises(rf.DataError, match=r"sample 1 \('b'\) holds .* at place 1; each entry is text, or None"):
        read_samples(records)


@pytest.mark.parametrize("cells", [[[1, 2]], [[[1]]], [[{"a": "x"}]], [5], [date(2024, 1, 1)]])
def test_a_frame_whose_lists_hold_no_text_is_refused(cells: list[Any]) -> None:
    frame = pl.DataFrame({"user_input": ["q"], "retrieved_contexts": cells})
    for source in (frame, frame.lazy()):
        with pytest.raises(rf.DataError, match=r"'retrieved_contexts' is no list of texts in 1 sample: sample 0"):
            read_samples(source)
    with pytest.raises(rf.DataError, match=r"'retrieved_contexts' is no list of texts"):
        scan_samples(frame.lazy()).collect()


def test_all_faulty_samples_are_counted_and_five_are_shown() -> None:
    records = [{"id": f"s{n}", "user_input": "q", "retrieved_contexts": "text" if n % 2 else ["x"]} for n in range(20)]
    shown = ", ".join(rf"sample {n} \('s{n}'\) is the text 'text'" for n in range(1, 10, 2))
    for source in (
        records,
        pd.DataFrame(records),
        pl.DataFrame([{**r, "retrieved_contexts": "text"} for r in records[1::2]]),
    ):
        with pytest.raises(rf.DataError, match=r"in 10 samples: sample .* and 5 more; one text") as error:
            read_samples(source)
        if not isinstance(source, pl.DataFrame):
            assert error.match(shown)


# Lists that are text.


ONE = "The fox sleeps in the den."


def _in_every_frame(name: str, cell: str) -> list[Any]:
    rows = [{"id": "s", "user_input": "q", name: cell}]
    return [rows, iter(rows), pl.DataFrame(rows), pl.LazyFrame(rows), pd.DataFrame(rows), pa.Table.from_pylist(rows)]


@pytest.mark.parametrize(
    "name",
    ["references", "retrieved_contexts", "reference_contexts", "retrieved_context_ids", "reference_context_ids"],
)
@pytest.mark.parametrize(
    ("cell", "remedy"),
    [
        (ONE, r'one text stands in a list too, as in \["text"\]; lists= decodes'),
        ("", r'one text stands in a list too, as in \["text"\]; lists= decodes'),
        ("['a', 'b']", r'a list was stored as text there, as CSV does: lists="python" decodes it'),
        ("[\"it's\", 'b']", r'a list was stored as text there, as CSV does: lists="python" decodes it'),
        ('["a", "b"]', r'a list was stored as text there, as CSV does: lists="json" decodes it'),
        ("[]", r'a list was stored as text there, as CSV does: lists="json" decodes it'),
        ("['a' 'b']", r"an array was printed there.* store the samples again as JSON lines or Parquet"),
        ("['a'\n 'b']", r"an array was printed there.* store the samples again as JSON lines or Parquet"),
        ("array(['a', 'b'], dtype=object)", r"an array was printed there"),
        ("['a' ... 'z']", r"one text stands in a list too"),
        ("[1] Foxes, by [2]", r"one text stands in a list too"),
    ],
)
def test_text_in_place_of_a_list_is_refused_with_what_resolves_it(name: str, cell: str, remedy: str) -> None:
    for source in _in_every_frame(name, cell):
        with pytest.raises(rf.DataError, match=rf"'{name}' is no list of .* sample 0 \('s'\) is the text .*; {remedy}"):
            read_samples(source)


@pytest.mark.parametrize(
    ("lists", "cell", "right"),
    [
        ("json", '["a", "b"]', ["a", "b"]),
        ("json", ' ["a", null] ', ["a", None]),
        ("json", "[]", []),
        ("json", "", None),
        ("json", "  ", None),
        ("json", "null", None),
        ("python", "['a', 'b']", ["a", "b"]),
        ("python", '["it\'s", \'say "no"\']', ["it's", 'say "no"']),
        ("python", "['a, b', None]", ["a, b", None]),
        ("python", "('a',)", ["a"]),
        ("python", "['a',\n 'b']", ["a", "b"]),
        ("python", "['a', # one\n 'b']", ["a", "b"]),
        ("python", "[]", []),
        ("python", "", None),
        ("python", "None", None),
        ("|", "a|b", ["a", "b"]),
        ("|", "a", ["a"]),
        ("|", "a||b", ["a", "", "b"]),
        ("|", "", None),
        (" ## ", "a ## b", ["a", "b"]),
        (",", "[1] a, by b [2]", ["[1] a", " by b [2]"]),
    ],
)
def test_lists_that_are_text_are_decoded_on_request(lists: str, cell: str, right: list[str] | None) -> None:
    for source in _in_every_frame("retrieved_contexts", cell):
        assert read_samples(source, lists=lists)["retrieved_contexts"].to_list() == [right]
    lazy = scan_samples(pl.LazyFrame({"user_input": ["q"], "retrieved_contexts": [cell]}), lists=lists)
    assert lazy.collect_schema()["retrieved_contexts"] == TEXTS
    assert lazy.collect()["retrieved_contexts"].to_list() == [right]


@pytest.mark.parametrize(
    ("lists", "cell", "told"),
    [
        ("json", "['a']", r'no JSON \(.*lists="python" decodes it'),
        ("json", "one text", r'no JSON \(.*lists="json", "python" or a separator'),
        ("json", '{"a": 1}', r"is \{'a': 1\} \(dict\)"),
        ("json", '"text"', r"is 'text' \(str\)"),
        ("json", '["a", 1]', r"holds 1 \(int\) at place 1"),
        ("json", '["a"', r"no JSON"),
        ("python", '["a", null]', r'no Python literal; .*lists="json" decodes it'),
        ("python", "one text", r"no Python literal"),
        ("python", "nan", r"no Python literal"),
        ("python", "__import__('os').getcwd()", r"no Python literal"),
        ("python", "['a' 'b']", r"side by side without a comma.*store the samples again"),
        ("python", "['a'\n 'b', 'c']", r"side by side without a comma"),
        ("python", "array(['a'])", r"no Python literal; an array was printed"),
        ("python", "{'a'}", r"is \{'a'\} \(set\)"),
        ("python", "(" * 5000, r"no Python literal"),
        ("|", "['a', 'b']", r'a list as text and not divided by \'\|\'.*lists="python" decodes it'),
        ("|", '["a"]', r'not divided by \'\|\'.*lists="json" decodes it'),
        (";", "['a' 'b']", r"not divided by ';'.*store the samples again"),
    ],
)
def test_a_text_that_is_no_such_list_is_refused_by_sample_and_field(lists: str, cell: str, told: str) -> None:
    for source in _in_every_frame("retrieved_contexts", cell):
        with pytest.raises(
            rf.DataError, match=rf"'retrieved_contexts' is no list of texts in 1 sample: sample 0 \('s'\) {'.*'}{told}"
        ):
            read_samples(source, lists=lists)


def test_lists_are_decoded_beside_lists_that_are_such() -> None:
    records = [{"user_input": "q", "retrieved_contexts": "a|b"}, {"user_input": "r", "retrieved_contexts": ["c|d"]}]
    assert read_samples(records, lists="|")["retrieved_contexts"].to_list() == [["a", "b"], ["c|d"]]


def test_ids_are_decoded_too() -> None:
    frame = read_samples([{"user_input": "q", "retrieved_context_ids": "[1, 'b']"}], lists="python")
    assert frame["retrieved_context_ids"].to_list() == [["1", "b"]]


def test_a_reference_is_text_even_where_it_looks_like_a_list() -> None:
    frame = read_samples([{"user_input": "q", "reference": "['a', 'b']", "response": "[1]"}], lists="python")
    assert frame["reference"].to_list() == ["['a', 'b']"]
    assert frame["response"].to_list() == ["[1]"]


@pytest.mark.parametrize("lists", ["", 5, ["json"], True])
def test_lists_is_a_text(lists: Any) -> None:
    with pytest.raises(rf.DataError, match=r'lists=.* is unknown; valid: "json", "python", or the text between'):
        read_samples(RECORDS, lists=lists)


# Laws.


CELL = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)


@given(st.lists(st.none() | CELL.filter(bool), max_size=4))
def test_decoding_gives_back_what_was_printed(cell: list[str | None]) -> None:
    for lists, text in (("json", json.dumps(cell)), ("python", repr(cell)), ("python", repr(tuple(cell)))):
        frame = read_samples([{"user_input": "q", "retrieved_contexts": text}], lists=lists)
        assert frame["retrieved_contexts"].to_list() == [cell]


@given(st.text(max_size=12))
def test_a_text_is_never_read_letter_by_letter(text: str) -> None:
    with pytest.raises(
        rf.DataError, match=r"'retrieved_contexts' is no list of texts in 1 sample: sample 0 is the text"
    ):
        read_samples([{"user_input": "q", "retrieved_contexts": text}])
