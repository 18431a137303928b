"""Samples to Ragas and back: nothing is lost, and what Ragas cannot hold is refused by name."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

pytest.importorskip("ragas", reason="needs Ragas, of the extra `ragas`")

from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal
from ragas import EvaluationDataset, MultiTurnSample, SingleTurnSample
from ragas.messages import HumanMessage

from rankframe.errors import DataError
from rankframe.io.samples import load_samples
from rankframe.rag.ragas_bridge import as_ragas_dataset, from_ragas_dataset
from rankframe.rag.ragas_samples import RAGAS_FIELDS
from tests.ragas.shared import SAMPLES

HANDBOOK = Path(__file__).parents[2] / "data" / "handbook" / "samples.jsonl"

FULL: dict[str, Any] = {
    "user_input": "q",
    "retrieved_contexts": ["c1", "c2"],
    "reference_contexts": [],
    "retrieved_context_ids": ["1", "2"],
    "reference_context_ids": ["2"],
    "response": "r",
    "multi_responses": ["r", "s"],
    "reference": "t",
    "rubrics": {"score1": "wrong", "score5": "right"},
    "persona_name": "birdwatcher",
    "query_style": "formal",
    "query_length": "short",
}

texts = st.text(max_size=8)
maybe_text = st.none() | texts
maybe_texts = st.none() | st.lists(texts, max_size=3)
LISTS = {name for name in RAGAS_FIELDS if name.endswith(("contexts", "ids", "responses"))}
RUBRICS = pl.Struct({"score1": pl.String, "score5": pl.String})
rubrics = st.none() | st.dictionaries(st.sampled_from(["score1", "score5"]), texts)
records = st.fixed_dictionaries(
    {name: maybe_texts if name in LISTS else rubrics if name == "rubrics" else maybe_text for name in RAGAS_FIELDS}
)


def dumped(dataset: Any) -> list[dict[str, Any]]:
    return [sample.model_dump() for sample in dataset.samples]


def framed(rows: list[dict[str, Any]]) -> pl.DataFrame:
    dtypes = {name: pl.List(pl.String) if name in LISTS else pl.String for name in RAGAS_FIELDS} | {"rubrics": RUBRICS}
    return pl.DataFrame({name: pl.Series([row[name] for row in rows], dtype=dtypes[name]) for name in RAGAS_FIELDS})


# Lossless.


def test_the_fields_are_those_of_ragas() -> None:
    assert tuple(SingleTurnSample.model_fields) == RAGAS_FIELDS


def test_every_field_goes_over_and_comes_back() -> None:
    dataset = as_ragas_dataset([FULL])
    assert isinstance(dataset, EvaluationDataset)
    assert dumped(dataset) == [FULL]
    assert from_ragas_dataset(dataset).to_dicts() == [{"sample_id": "0", **FULL}]


@given(rows=st.lists(records, min_size=1, max_size=5))
def test_a_frame_comes_back_as_it_was(rows: list[dict[str, Any]]) -> None:
    """Its ids and metadata too; Ragas is given every field of every sample, null as None, empty as empty."""
    frame = framed(rows).with_columns(
        sample_id=pl.format("s{}", pl.int_range(pl.len())),
        query_id=pl.lit("q"),
        references=pl.lit(["t"]),
        topic=pl.int_range(pl.len()),
    )
    before = frame.clone()
    dataset = as_ragas_dataset(frame)
    assert dumped(dataset) == [
        row | {"reference": row["reference"] if row["reference"] is not None else "t"} for row in rows
    ]
    assert {frozenset(sample.model_fields_set) for sample in dataset.samples} == {frozenset(RAGAS_FIELDS)}
    assert_frame_equal(from_ragas_dataset(dataset, frame), load_samples(frame).frame)
    assert_frame_equal(frame, before)


@given(rows=st.lists(records, min_size=1, max_size=5))
def test_a_dataset_comes_back_as_it_was(rows: list[dict[str, Any]]) -> None:
    dataset = EvaluationDataset(samples=[SingleTurnSample(**row) for row in rows])
    assert dumped(as_ragas_dataset(from_ragas_dataset(dataset))) == dumped(dataset)


def test_ids_of_numbers_are_text() -> None:
    dataset = EvaluationDataset(samples=[SingleTurnSample(user_input="q", retrieved_context_ids=[7, "x"])])
    assert from_ragas_dataset(dataset)["retrieved_context_ids"].to_list() == [["7", "x"]]


def test_rubrics_of_different_names_stay_those_of_their_sample() -> None:
    dataset = EvaluationDataset(
        samples=[
            SingleTurnSample(user_input="q1", rubrics={"a": "x"}),
            SingleTurnSample(user_input="q2", rubrics={"b": "y"}),
            SingleTurnSample(user_input="q3", rubrics={}),
            SingleTurnSample(user_input="q4"),
        ]
    )
    frame = from_ragas_dataset(dataset)
    assert frame["rubrics"].to_list() == [{"a": "x", "b": None}, {"a": None, "b": "y"}, {"a": None, "b": None}, None]
    assert dumped(as_ragas_dataset(frame)) == dumped(dataset)


def test_rubrics_of_records_go_over_with_every_name() -> None:
    samples = [{"user_input": "q1", "rubrics": {"a": "x"}}, {"user_input": "q2", "rubrics": {"b": "y"}}]
    assert [sample.rubrics for sample in as_ragas_dataset(samples).samples] == [{"a": "x"}, {"b": "y"}]


def test_what_ragas_filled_or_changed_since_comes_back() -> None:
    asked = [
        {"sample_id": "s1", "user_input": "q1", "topic": 1, "response": "old"},
        {"sample_id": "s2", "user_input": "q2"},
    ]
    dataset = as_ragas_dataset(asked)
    dataset.samples[1].response = "new"
    dataset.samples[0].retrieved_contexts = ["c"]
    back = from_ragas_dataset(dataset, asked)
    assert back["response"].to_list() == ["old", "new"]
    assert back["retrieved_contexts"].to_list() == [["c"], None]
    assert back.select("sample_id", "topic").rows() == [("s1", 1), ("s2", None)]


def test_slices_and_copies_come_back_with_the_samples_they_are_of() -> None:
    frame = pl.DataFrame(SAMPLES)
    dataset = as_ragas_dataset(frame)
    assert from_ragas_dataset(dataset[1:], frame[1:])["sample_id"].to_list() == ["owl", "fox"]
    assert_frame_equal(from_ragas_dataset(copy.deepcopy(dataset), frame), load_samples(frame).frame)
    with pytest.raises(DataError, match=r"dataset: 2 samples, and 3 in samples=; give those that the dataset was made"):
        from_ragas_dataset(dataset[1:], frame)
    message = r"user_input of 2 samples differs from samples=, first that of sample 'kite': 'When .*' is not 'Where .*'"
    with pytest.raises(DataError, match=message):
        from_ragas_dataset(dataset[1:], frame[:2])


@pytest.mark.parametrize("form", ["records", "frame", "pandas", "arrow", "dataset"])
def test_samples_of_every_form_make_the_same_dataset(form: str) -> None:
    frame = pl.DataFrame(SAMPLES)
    forms: dict[str, Callable[[], Any]] = {
        "records": lambda: SAMPLES,
        "frame": frame.lazy,
        "pandas": frame.to_pandas,
        "arrow": frame.to_arrow,
        "dataset": lambda: as_ragas_dataset(SAMPLES),
    }
    made = dumped(as_ragas_dataset(forms[form]()))
    assert made == [dict.fromkeys(RAGAS_FIELDS) | {k: v for k, v in s.items() if k in RAGAS_FIELDS} for s in SAMPLES]


def test_an_empty_dataset_comes_back_without_rows() -> None:
    back = from_ragas_dataset(EvaluationDataset(samples=[]))
    assert back.height == 0
    assert {"sample_id", "user_input"} <= set(back.columns)


def test_the_handbook_goes_over_and_comes_back() -> None:
    frame = load_samples(HANDBOOK).frame
    assert_frame_equal(from_ragas_dataset(as_ragas_dataset(HANDBOOK, references="first"), HANDBOOK), frame)


# References.


def test_one_of_references_is_the_reference() -> None:
    samples = [
        {"user_input": "q", "references": ["t"]},
        {"user_input": "q", "references": ["u", "v"], "reference": "w"},
    ]
    assert [sample.reference for sample in as_ragas_dataset(samples).samples] == ["t", "w"]
    assert_frame_equal(from_ragas_dataset(as_ragas_dataset(samples), samples), load_samples(samples).frame)


def test_several_references_are_refused_or_the_first_is_given() -> None:
    samples = [
        {"sample_id": "a", "user_input": "q", "reference": "t"},
        {"sample_id": "b", "user_input": "q", "reference": ["u", "v"]},
        {"sample_id": "c", "user_input": "q"},
    ]
    with pytest.raises(DataError, match=r"1 sample with several references and none in 'reference': 'b'; .*\"first\""):
        as_ragas_dataset(samples)
    dataset = as_ragas_dataset(samples, references="first")
    assert [sample.reference for sample in dataset.samples] == ["t", "u", None]
    assert_frame_equal(from_ragas_dataset(dataset, samples), load_samples(samples).frame)


# What Ragas cannot hold.


def test_a_null_among_contexts_is_refused_or_empty() -> None:
    samples = [
        {"sample_id": "a", "user_input": "q", "retrieved_contexts": ["c"]},
        {"sample_id": "b", "user_input": "q", "retrieved_contexts": ["c", None]},
    ]
    with pytest.raises(DataError, match=r"a null inside 'retrieved_contexts' in 1 sample: 'b'; .*nulls=\"empty\""):
        as_ragas_dataset(samples)
    dataset = as_ragas_dataset(samples, nulls="empty")
    assert [sample.retrieved_contexts for sample in dataset.samples] == [["c"], ["c", ""]]
    assert_frame_equal(from_ragas_dataset(dataset, samples), load_samples(samples).frame)


def test_a_null_among_ids_is_refused() -> None:
    samples = [{"user_input": "q", "retrieved_context_ids": ["c", None]}]
    with pytest.raises(DataError, match=r"'retrieved_context_ids' in 1 sample: '0'; Ragas refuses it: give every"):
        as_ragas_dataset(samples, nulls="empty")


def test_rubrics_that_are_no_mapping_of_texts_are_refused() -> None:
    for odd in ("a text", {"score1": 1}):
        with pytest.raises(DataError, match=r"'rubrics' is .*; Ragas takes a mapping of texts for each sample"):
            as_ragas_dataset([{"user_input": "q", "rubrics": odd}])


def test_no_samples_are_refused() -> None:
    with pytest.raises(DataError, match=r"no samples; Ragas can neither show nor evaluate an empty dataset"):
        as_ragas_dataset([])


def test_conversations_are_refused() -> None:
    dataset = EvaluationDataset(samples=[MultiTurnSample(user_input=[HumanMessage(content="hi")])])
    with pytest.raises(
        DataError, match=r"dataset: sample 0 is a MultiTurnSample; expected an EvaluationDataset of Sing"
    ):
        from_ragas_dataset(dataset)


def test_names_of_ragas_0_1_are_refused_with_the_new_ones() -> None:
    frame = {"question": ["q1"], "answer": ["r1"], "contexts": [["c1"]], "ground_truth": ["t1"]}
    message = (
        r"'question' is now 'user_input'.*legacy=True.*these are options of read_samples, whose frame is taken here"
    )
    with pytest.raises(DataError, match=message):
        as_ragas_dataset(pl.DataFrame(frame))
    read = load_samples(pl.DataFrame(frame), legacy=True).frame
    assert as_ragas_dataset(read).samples[0].reference == "t1"


@pytest.mark.parametrize("options", [{"references": "last"}, {"nulls": "drop"}])
def test_unknown_options_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(DataError, match=r"is unknown; valid: 'error', '(first|empty)'"):
        as_ragas_dataset(SAMPLES, **options)
