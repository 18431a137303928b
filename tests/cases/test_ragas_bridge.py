"""The bridge to Ragas: whichever sample stands first, and whatever Ragas once called its columns."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from importlib import import_module
from itertools import permutations
from typing import Any

import pandas as pd
import polars as pl
import pytest

import rankframe as rf
from rankframe.evaluation import as_ragas_dataset, evaluate_rag
from rankframe.rag.ragas_bridge import evaluate_with_ragas, from_ragas_result

OLD: dict[str, list[Any]] = {"question": ["q1"], "answer": ["r1"], "contexts": [["c1"]], "ground_truth": ["t1"]}


@pytest.fixture
def ragas() -> Any:
    return pytest.importorskip("ragas", reason="needs Ragas, of the extra `ragas`")


def metrics(*names: str) -> list[Any]:
    """Metrics of the kind that Ragas' evaluate takes; their module says of all of them that they will move."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return [getattr(import_module("ragas.metrics"), name)() for name in names]


def by_question(report: rf.Report, samples: Sequence[dict[str, Any]], metric: str) -> dict[str, tuple[Any, str]]:
    """question -> the value and status of its sample."""
    rows = report.scores.select(metric, f"{metric}_status").rows()
    return {sample["user_input"]: row for sample, row in zip(samples, rows, strict=True)}


@pytest.mark.filterwarnings("ignore:unclosed file:ResourceWarning")  # Ragas reads its uuid.json so
def test_bridge_first_sample_decides(ragas: Any) -> None:
    """Both orders give the same outcome: the sample with a reference is scored, the other is null and counted."""
    first: dict[str, Any] = {"user_input": "q1", "response": "r1", "retrieved_contexts": ["c1"], "reference": None}
    second: dict[str, Any] = {"user_input": "q2", "response": "r2", "retrieved_contexts": ["c2"], "reference": "t2"}
    for samples in permutations([first, second]):
        report = evaluate_with_ragas(samples, metrics("ExactMatch", "StringPresence"))
        for metric in ("exact_match", "string_present"):
            assert by_question(report, samples, metric) == {"q1": (None, "missing_input"), "q2": (0.0, "ok")}
        assert report.summary.select("value", "n", "n_null", "n_failed").unique().rows() == [(0.0, 1, 1, 0)]
        assert report.ledger.select("reason", "count").rows() == [("missing_input", 2)]
    # the kind: any field, in any place, of any metric; what a field that is nowhere does, too
    third: dict[str, Any] = {"user_input": "q3", "response": "t3", "reference": "t3", "retrieved_context_ids": ["a"]}
    fourth: dict[str, Any] = {"user_input": "q4", "retrieved_context_ids": ["a"], "reference_context_ids": ["a", "b"]}
    for order in permutations([first, second, third, fourth]):
        report = evaluate_with_ragas(order, metrics("ExactMatch", "IDBasedContextRecall", "NonLLMContextRecall"))
        missing = (None, "missing_input")
        exact = by_question(report, order, "exact_match")
        assert exact == {"q1": missing, "q2": (0.0, "ok"), "q3": (1.0, "ok"), "q4": missing}
        recall = by_question(report, order, "id_based_context_recall")
        assert recall == {"q1": missing, "q2": missing, "q3": missing, "q4": (0.5, "ok")}
        assert set(by_question(report, order, "non_llm_context_recall").values()) == {missing}
        assert report.summary["value"].to_list() == [0.5, 0.5, None]
        assert report.summary["n"].to_list() == [2, 1, 0]
        # what is given over has the same fields whichever stands first
        dataset = as_ragas_dataset(order)
        assert {frozenset(sample.model_fields_set) for sample in dataset.samples} == {
            frozenset(ragas.SingleTurnSample.model_fields)
        }
        assert [sample.user_input for sample in dataset.samples] == [sample["user_input"] for sample in order]


FORMS: dict[str, Callable[[dict[str, list[Any]]], Any]] = {
    "frame": pl.DataFrame,
    "lazy": pl.LazyFrame,
    "pandas": pd.DataFrame,
    "arrow": lambda columns: pl.DataFrame(columns).to_arrow(),
    "columns": dict,
    "records": lambda columns: [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)],
}


@pytest.mark.parametrize("form", FORMS)
def test_bridge_old_column_names(form: str) -> None:
    """Refused with the name that each has now, and mapped on request."""
    made: Callable[[dict[str, list[Any]]], Any] = FORMS[form]
    renamed = {"question": "user_input", "answer": "response", "contexts": "retrieved_contexts"}
    plural: dict[str, list[Any]] = {**OLD, "ground_truths": [["t1", "r1"]]}
    del plural["ground_truth"]
    calls: list[Callable[[Any], object]] = [
        evaluate_rag,
        rf.evaluate_samples,
        lambda samples: from_ragas_result({"m": [1.0]}, samples),
    ]
    for columns, last in ((OLD, ("ground_truth", "reference")), (plural, ("ground_truths", "references"))):
        for call in calls:
            with pytest.raises(rf.DataError) as refused:
                call(made(columns))
            for old, new in [*renamed.items(), last]:
                assert f"{old!r} is now {new!r}" in str(refused.value)
            assert "legacy=True" in str(refused.value)
        read: Any = rf.read_samples(made(columns), legacy=True)
        assert set(read.columns) == {"sample_id", *renamed.values(), last[1]}
        report = evaluate_rag(read)
        assert report.coverage["exact_match"] == 1
        assert report.metrics["exact_match"] == (1.0 if last[0] == "ground_truths" else 0.0)
        assert report.metrics["non_empty_rate"] == 1.0


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.usefixtures("ragas")
def test_the_bridge_refuses_old_names_and_takes_what_was_mapped(form: str) -> None:
    with pytest.raises(rf.DataError, match=r"'question' is now 'user_input'.*'ground_truth' is now 'reference'"):
        as_ragas_dataset(FORMS[form](OLD))
    read: Any = rf.read_samples(FORMS[form](OLD), legacy=True)
    [sample] = as_ragas_dataset(read).samples
    assert (sample.user_input, sample.response, sample.retrieved_contexts, sample.reference) == (
        "q1",
        "r1",
        ["c1"],
        "t1",
    )
