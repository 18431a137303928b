"""Contexts as they are met: a text, the text of a list, an array, and a list with holes."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import rankframe as rf
from rankframe.evaluation import evaluate_rag
from rankframe.io.samples import read_samples, scan_samples
from rankframe.rag.evaluating import evaluate_samples

Samples = Sequence[Mapping[str, Any]]
Read = Callable[[Any], object]

FORMS: dict[str, Callable[[Samples], Any]] = {
    "records": list,
    "generator": iter,
    "by id": lambda samples: {f"s{number}": sample for number, sample in enumerate(samples)},
    "columns": lambda samples: {name: [sample[name] for sample in samples] for name in samples[0]},
    "frame": pl.DataFrame,
    "lazy": pl.LazyFrame,
    "pandas": lambda samples: pd.DataFrame(list(samples)),
    "arrow": lambda samples: pa.Table.from_pylist(list(samples)),
}
"""Every form that samples stand in, in memory."""

SCORED: dict[str, Read] = {
    "read": read_samples,
    "scan": lambda samples: scan_samples(samples).collect(),
    "evaluate": lambda samples: evaluate_samples(samples, metrics=["context_recall"]),
}
"""What is done with samples, wherever they end."""

LISTS = ("retrieved_contexts", "reference_contexts", "references")


def sample(contexts: Any, **more: Any) -> dict[str, Any]:
    """One sample whose reference stands in the first context of the cases."""
    return {
        "user_input": "where is the fox",
        "response": "den",
        "retrieved_contexts": contexts,
        "reference": "den",
    } | more


def recall(samples: Any) -> list[float | None]:
    """The context recall of each sample, in their order."""
    return evaluate_samples(samples, metrics=["context_recall"]).scores["context_recall"].to_list()


def contexts(samples: Any) -> list[list[str | None] | None]:
    """The contexts of each sample, by every way to read them."""
    frame = read_samples(samples)
    assert scan_samples(samples).collect().equals(frame)
    return frame["retrieved_contexts"].to_list()


TEXT = "The fox sleeps in the den."
LITERAL = "['The fox sleeps in the den.', 'An owl sleeps by day.']"
PARTS = ["The fox sleeps in the den.", "An owl sleeps by day."]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("way", SCORED)
def test_contexts_as_plain_string(form: str, way: str) -> None:
    """Refused with the number of the sample and the field: never read letter by letter."""
    right = r"'retrieved_contexts' is no list of texts in 1 sample: sample 0 .*'The fox sleeps in the den\.'; one text"
    with pytest.raises(rf.DataError, match=right):
        SCORED[way](FORMS[form]([sample(TEXT)]))


def test_contexts_as_plain_string_in_the_documented_api() -> None:
    with pytest.raises(ValueError, match=r"'retrieved_contexts' is no list of texts in 1 sample: sample 0"):
        evaluate_rag([sample(TEXT)])


@pytest.mark.parametrize("field", LISTS)
@pytest.mark.parametrize("form", FORMS)
def test_a_plain_string_in_any_list_names_its_sample_and_field(form: str, field: str) -> None:
    """The second of three samples has it; with ids, it is named by both."""
    samples = [sample([TEXT], references=["den"], reference_contexts=[TEXT]) for _ in range(3)]
    samples = [{**one, field: TEXT if number == 1 else None} for number, one in enumerate(samples)]
    with pytest.raises(rf.DataError, match=rf"'{field}' is no list of texts in 1 sample: sample 1 "):
        read_samples(FORMS[form](samples))
    if form != "by id":
        named = [{"id": f"n{number}", **one} for number, one in enumerate(samples)]
        with pytest.raises(rf.DataError, match=rf"'{field}' .*: sample 1 \('n1'\) is the text"):
            read_samples(FORMS[form](named))


@pytest.mark.parametrize("form", FORMS)
def test_one_text_in_a_list_is_one_context(form: str) -> None:
    """What the message says to do."""
    assert contexts_of(form, [sample([TEXT])]) == [[TEXT]]
    assert recall(FORMS[form]([sample([TEXT])])) == [1.0]


def contexts_of(form: str, samples: Samples) -> list[list[str | None] | None]:
    """As `contexts`, of a form that may be read once only."""
    frame = read_samples(FORMS[form](samples))
    assert scan_samples(FORMS[form](samples)).collect().equals(frame)
    return frame["retrieved_contexts"].to_list()


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("way", SCORED)
def test_contexts_as_list_literal(form: str, way: str) -> None:
    """Refused with the hint that the list was stored as text, and read as two contexts on request."""
    right = r"sample 0 .*; a list was stored as text there, as CSV does: lists=\"python\" decodes it"
    with pytest.raises(rf.DataError, match=right):
        SCORED[way](FORMS[form]([sample(LITERAL)]))
    frame = read_samples(FORMS[form]([sample(LITERAL)]), lists="python")
    assert frame["retrieved_contexts"].to_list() == [PARTS]
    assert recall(frame) == [1.0]


def test_contexts_as_list_literal_in_the_documented_api() -> None:
    with pytest.raises(ValueError, match=r"sample 0 .*a list was stored as text"):
        evaluate_rag([sample(LITERAL)])


def test_contexts_that_went_through_csv(tmp_path: Path) -> None:
    path = tmp_path / "samples.csv"
    pd.DataFrame([sample(PARTS), sample([])]).to_csv(path, index=False)
    for read in (read_samples, lambda given: evaluate_samples(given, metrics=["context_recall"])):
        with pytest.raises(
            rf.DataError, match=rf"{re.escape(str(path))}: .* in 2 samples: sample 0 .*lists=\"python\""
        ):
            read(path)
    frame = read_samples(path, lists="python")
    assert frame["retrieved_contexts"].to_list() == [PARTS, []]
    assert recall(frame) == [1.0, 0.0]


@pytest.mark.parametrize(
    ("text", "lists"),
    [(LITERAL, "python"), ('["The fox sleeps in the den.", "An owl sleeps by day."]', "json"), ("|".join(PARTS), "|")],
)
def test_lists_in_every_spelling_are_the_same_contexts(text: str, lists: str) -> None:
    assert read_samples([sample(text)], lists=lists)["retrieved_contexts"].to_list() == [PARTS]


ARRAYS = [
    sample(np.array(["fox in the den", "owl in a tree"])),
    {"user_input": "q2", "response": "x", "retrieved_contexts": np.array([]), "reference": "y"},
]
PLAIN = [{**one, "retrieved_contexts": one["retrieved_contexts"].tolist()} for one in ARRAYS]


def test_contexts_as_numpy_array(tmp_path: Path) -> None:
    """A pandas frame from Parquet has arrays as cells, one of them empty: lists of 2 and of 0 contexts."""
    path = tmp_path / "samples.parquet"
    pd.DataFrame(PLAIN).to_parquet(path)
    frame = pd.read_parquet(path)
    assert [type(cell) for cell in frame["retrieved_contexts"]] == [np.ndarray, np.ndarray]
    right = read_samples(PLAIN)
    for samples in (frame, path, ARRAYS, pd.DataFrame(ARRAYS)):
        read = read_samples(samples)
        assert read.equals(right)
        assert read["retrieved_contexts"].list.len().to_list() == [2, 0]
        report, expected = (
            evaluate_samples(each, metrics=["context_recall", "non_empty_rate"]) for each in (samples, PLAIN)
        )
        assert report.scores.drop("run_id").equals(expected.scores.drop("run_id"))
        assert report.scores["n_contexts"].to_list() == [2, 0]
    assert recall(frame) == [1.0, 0.0]


def test_contexts_as_numpy_array_in_the_documented_api() -> None:
    assert evaluate_rag(ARRAYS) == evaluate_rag(PLAIN)


@pytest.mark.parametrize(
    "dtype", [object, "str", np.dtypes.StringDType(), np.dtypes.StringDType(na_object=None)], ids=repr
)
def test_arrays_of_every_kind_of_text(dtype: Any) -> None:
    samples = [sample(np.array(["fox in the den", "owl in a tree"], dtype=dtype)), sample(np.array([], dtype=dtype))]
    assert contexts(samples) == [["fox in the den", "owl in a tree"], []]
    assert contexts(pd.DataFrame(samples)) == [["fox in the den", "owl in a tree"], []]


HOLES: dict[str, Any] = {"None": None, "nan": float("nan"), "NA": pd.NA}


@pytest.mark.parametrize("hole", HOLES)
@pytest.mark.parametrize("form", ["records", "generator", "by id", "columns", "pandas"])
def test_contexts_with_none_entry(form: str, hole: str) -> None:
    """It keeps its place as an empty context; the other is scored."""
    samples = [sample(["fox in the den", HOLES[hole]]), sample([HOLES[hole]]), sample([HOLES[hole], "fox in the den"])]
    assert contexts_of(form, samples) == [["fox in the den", None], [None], [None, "fox in the den"]]
    assert recall(FORMS[form](samples)) == [1.0, 0.0, 1.0]


def test_contexts_with_none_entry_in_the_documented_api() -> None:
    report = evaluate_rag([sample(["fox in the den", None])], metrics=["context_recall", "context_precision"])
    assert report.metrics == {"context_recall": 1.0, "context_precision": 0.5}


def test_contexts_with_none_entry_in_a_file(tmp_path: Path) -> None:
    samples = [sample(["fox in the den", None])]
    frame = read_samples(samples)
    frame.write_parquet(tmp_path / "s.parquet")
    frame.write_ndjson(tmp_path / "s.jsonl")
    for path in (tmp_path / "s.parquet", tmp_path / "s.jsonl"):
        assert read_samples(path).equals(frame)
        assert recall(path) == [1.0]
