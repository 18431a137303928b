"""The ledger: notes become rows, in one vocabulary."""

from __future__ import annotations

import re

import polars as pl
import pytest

from rankframe.frames.ledger import REASONS, SCHEMA, Note, ledger_frame, note, pairs


def test_a_note_keeps_five_examples_and_counts_all() -> None:
    assert Note("missing_query", 7, ("q0", "q1", "q2", "q3", "q4")) == note(
        "missing_query", [f"q{i}" for i in range(7)]
    )
    assert Note("self_hit", 9, ("a",)) == note("self_hit", ["a"], 9)
    assert Note("self_hit", 2, ("a", "b")) == note("self_hit", pl.Series(["a", "b"]))


def test_a_note_of_one_run_names_it() -> None:
    assert Note("self_hit", 1, ("a",), "bm25") == note("self_hit", ["a"]).of("bm25")


def test_a_reason_outside_of_the_vocabulary_is_a_mistake() -> None:
    with pytest.raises(KeyError, match="because"):
        note("because", ["a"])


@pytest.mark.parametrize("reason", REASONS)
def test_reasons_are_words_with_a_meaning(reason: str) -> None:
    assert re.fullmatch(r"[a-z]+(_[a-z]+)*", reason)
    assert REASONS[reason]
    assert not REASONS[reason].endswith(".")


def test_rows_are_sorted_by_run_and_reason_and_count_something() -> None:
    """What is said of the judgments stands first."""
    notes = [
        note("self_hit", ["x"]).of("b"),
        note("missing_query", ["q"]).of("b"),
        note("no_relevant", ["r"]),
        note("missing_query", []).of("a"),
        note("self_hit", ["y"]).of("a"),
    ]
    frame = ledger_frame(notes)
    assert frame.rows() == [
        (None, "no_relevant", 1, ["r"]),
        ("a", "self_hit", 1, ["y"]),
        ("b", "missing_query", 1, ["q"]),
        ("b", "self_hit", 1, ["x"]),
    ]


def test_an_empty_ledger_has_its_columns() -> None:
    assert ledger_frame([]).schema == SCHEMA
    assert ledger_frame([]).columns == ["run_id", "reason", "count", "examples"]
    assert [pl.String, pl.String, pl.Int64, pl.List(pl.String)] == ledger_frame([]).dtypes
    assert ledger_frame([note("no_relevant", ["q"])]).schema == SCHEMA


def test_pairs_are_examples_of_rows() -> None:
    frame = pl.DataFrame({"query_id": ["q"] * 7, "doc_id": [*"abcdef", None]})
    assert pairs(frame) == ["(q, a)", "(q, b)", "(q, c)", "(q, d)", "(q, e)"]
    assert pairs(frame.clear()) == []
