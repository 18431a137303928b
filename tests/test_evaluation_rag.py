"""The documented dictionary API, RAG half: every name, signature, default, error and worked number of it."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import json
import math
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, get_type_hints, is_typeddict

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankframe as rf
from rankframe import evaluation
from rankframe.evaluation import (
    RagEvalReport,
    RagSample,
    as_ragas_dataset,
    context_precision,
    context_recall,
    evaluate_rag,
    exact_match,
    token_f1,
)
from rankframe.metrics import texts_scalar
from tests.shown import shown

ALL = ("exact_match", "token_f1", "context_recall", "context_precision", "non_empty_rate")
OF_REFERENCE = ALL[:4]

# What the module has.

DOCUMENTED = {
    "Qrels",
    "RETRIEVAL_METRICS",
    "RagEvalReport",
    "RagSample",
    "RetrievalEvalReport",
    "as_ragas_dataset",
    "average_precision",
    "context_precision",
    "context_recall",
    "dcg_at_k",
    "evaluate_rag",
    "evaluate_retrieval",
    "exact_match",
    "ndcg_at_k",
    "precision_at_k",
    "read_beir",
    "recall_at_k",
    "reciprocal_rank",
    "token_f1",
    "write_beir",
}


def test_the_module_has_the_documented_names_and_no_others() -> None:
    assert set(evaluation.__all__) == DOCUMENTED
    assert len(evaluation.__all__) == len(DOCUMENTED)
    found: dict[str, Any] = {}
    exec("from rankframe.evaluation import *", found)  # as programs do
    assert set(found) - {"__builtins__"} == DOCUMENTED
    assert rf.evaluation is evaluation


@pytest.mark.parametrize("name", sorted(DOCUMENTED - {"Qrels", "RETRIEVAL_METRICS"}))
def test_every_documented_function_and_class_says_what_it_is(name: str) -> None:
    found = getattr(evaluation, name)
    assert found.__name__ == name
    assert len(inspect.getdoc(found) or "") > 40


SIGNATURES: dict[str, tuple[Callable[..., Any], str]] = {
    "exact_match": (exact_match, "(response, reference)"),
    "token_f1": (token_f1, "(response, reference)"),
    "context_recall": (context_recall, "(reference, retrieved_contexts)"),
    "context_precision": (context_precision, "(reference, retrieved_contexts)"),
    "evaluate_rag": (evaluate_rag, f"(samples, *, metrics={ALL})"),
    "as_ragas_dataset": (as_ragas_dataset, "(samples)"),
    "RagEvalReport": (RagEvalReport, "(metrics, coverage, n_samples)"),
}
FURTHER = {"context_precision": {"stopwords"}, "as_ragas_dataset": {"references", "nulls"}}
"""What is taken beyond the documented signature, by name only and with a default."""


@pytest.mark.parametrize("name", SIGNATURES)
def test_signatures_are_the_documented_ones(name: str) -> None:
    function, documented = SIGNATURES[name]
    parameters = inspect.signature(function).parameters
    further = {n for n in FURTHER.get(name, ()) if parameters[n].kind is inspect.Parameter.KEYWORD_ONLY}
    assert further == FURTHER.get(name, set())
    assert all(parameters[n].default is not inspect.Parameter.empty for n in further)
    bare = [p.replace(annotation=inspect.Parameter.empty) for n, p in parameters.items() if n not in further]
    assert str(inspect.Signature(bare)) == documented


def test_types_are_the_documented_ones() -> None:
    for name in OF_REFERENCE:
        assert get_type_hints(SIGNATURES[name][0])["return"] is float
    hints = get_type_hints(evaluate_rag)
    assert hints == {
        "samples": Iterable[RagSample | Mapping[str, Any]],
        "metrics": Sequence[str],
        "return": RagEvalReport,
    }
    assert get_type_hints(as_ragas_dataset)["samples"] == hints["samples"]
    assert get_type_hints(as_ragas_dataset)["return"] is Any


def test_a_sample_is_a_dictionary_of_which_every_key_may_be_absent() -> None:
    """By the names of Ragas."""
    assert is_typeddict(RagSample)
    keys = {"user_input", "response", "retrieved_contexts", "reference", "reference_contexts"}
    assert RagSample.__optional_keys__ == keys
    assert not RagSample.__required_keys__
    sample: RagSample = {"user_input": "capital of France?", "response": "Paris"}
    assert RagSample(user_input="capital of France?", response="Paris") == sample
    assert type(sample) is dict


def test_a_report_is_made_by_place_or_by_name() -> None:
    report = RagEvalReport(metrics={"exact_match": 0.5}, coverage={"exact_match": 4}, n_samples=4)
    assert report.metrics["exact_match"] == 0.5
    assert report == RagEvalReport({"exact_match": 0.5}, {"exact_match": 4}, 4)
    assert [field.name for field in dataclasses.fields(report)] == ["metrics", "coverage", "n_samples"]
    with pytest.raises(dataclasses.FrozenInstanceError):
        report.n_samples = 5  # type: ignore[misc]  # that is the question


# Worked examples: every number by the functions of one sample, by the dictionaries, and by frames.


def by_asking(sample: Mapping[str, Any], name: str) -> float:
    return evaluate_rag([sample], metrics=[name]).metrics[name]


def by_frames(sample: Mapping[str, Any], name: str) -> float:
    return rf.evaluate_samples([sample], metrics=[name]).value(name)


@pytest.mark.parametrize(
    ("function", "sample", "right"),
    [
        (exact_match, {"response": "The Eiffel Tower", "reference": "eiffel tower"}, 1.0),
        (exact_match, {"response": "Paris", "reference": "London"}, 0.0),
        (token_f1, {"response": "the quick brown fox", "reference": "a quick brown fox"}, 1.0),
        (token_f1, {"response": "quick brown fox", "reference": "quick brown dog"}, 0.6667),
        (
            context_recall,
            {"reference": "paris france", "retrieved_contexts": ["Paris is the capital of France."]},
            1.0,
        ),
        (context_recall, {"reference": "paris france", "retrieved_contexts": ["London is in England."]}, 0.0),
        (
            context_precision,
            {"reference": "paris", "retrieved_contexts": ["Paris is in France.", "Unrelated text."]},
            0.5,
        ),
    ],
)
def test_examples_of_the_functions(function: Callable[..., float], sample: dict[str, Any], right: float) -> None:
    """Whose arguments stand in the documented order."""
    assert round(function(*sample.values()), 4) == right
    assert function(**sample) == function(*sample.values())
    assert round(by_asking(sample, function.__name__), 4) == right
    assert round(by_frames(sample, function.__name__), 4) == right


SAMPLES: list[RagSample] = [
    {
        "user_input": "capital of France?",
        "response": "Paris",
        "reference": "Paris",
        "retrieved_contexts": ["Paris is the capital of France."],
    },
    {"user_input": "2 + 2?", "response": "five", "reference": "four", "retrieved_contexts": []},
]


def test_the_example_of_evaluate_rag() -> None:
    report = evaluate_rag(SAMPLES)
    assert report.metrics["exact_match"] == 0.5
    assert report.metrics["non_empty_rate"] == 0.5
    assert report.metrics == dict.fromkeys(ALL, 0.5)
    assert report.coverage == dict.fromkeys(ALL, 2)
    assert report.n_samples == 2


CHUNKS = [
    "Paris has been the capital of France since 987.",
    "France has 68 million people.",
    "The Seine flows through France and Paris.",
]


@pytest.mark.parametrize(
    ("response", "faithfulness"),
    [("Paris has been the capital of France since 987.", 1.0), ("It became a capital after 1789, they say.", 0.0)],
)
def test_what_the_textbook_says_of_its_pipeline(response: str, faithfulness: float) -> None:
    """Its texts are not printed: all three chunks name the country that is asked for, and a year may be invented."""
    query = "capital of France"
    sample = {"user_input": query, "response": response, "retrieved_contexts": CHUNKS}
    assert by_frames(sample, "context_precision(against=user_input)") == 1.0
    assert by_frames(sample, "lexical_faithfulness") == faithfulness
    assert texts_scalar.query_context_precision(query, CHUNKS) == 1.0
    assert texts_scalar.lexical_faithfulness(response, CHUNKS) == faithfulness
    relevance = by_frames(sample, "tfidf_answer_relevance")
    assert relevance == pytest.approx(texts_scalar.tfidf_cosine(query, response), abs=1e-12)
    assert (relevance > 0.4) == (faithfulness == 1.0)


# What is given, and what comes back.


def test_everything_in_a_report_is_plain_python() -> None:
    report = evaluate_rag(SAMPLES)
    assert {type(value) for value in report.metrics.values()} == {float}
    assert {type(count) for count in report.coverage.values()} == {int}
    assert type(report.n_samples) is int
    assert json.loads(json.dumps(dataclasses.asdict(report)))["n_samples"] == 2


def test_only_the_metrics_that_were_asked_for_are_there() -> None:
    """In the order asked, each once."""
    report = evaluate_rag(SAMPLES, metrics=["token_f1", "exact_match", "token_f1"])
    assert list(report.metrics) == list(report.coverage) == ["token_f1", "exact_match"]
    assert list(evaluate_rag(SAMPLES).metrics) == list(ALL)
    assert list(evaluate_rag(SAMPLES, metrics="token_f1").metrics) == ["token_f1"]
    assert list(evaluate_rag(SAMPLES, metrics=iter(["token_f1"])).metrics) == ["token_f1"]  # type: ignore[arg-type]  # any iterable


@pytest.mark.parametrize("missing", [{}, {"reference": None}, {"reference": math.nan}], ids=repr)
def test_metrics_that_need_a_reference_skip_samples_without_one(missing: dict[str, Any]) -> None:
    """A missing reference is no wrong answer; whether there are contexts is known without it."""
    without = {"user_input": "why?", "response": "It just is.", "retrieved_contexts": ["It is."]} | missing
    report = evaluate_rag([*SAMPLES, without])
    assert report.metrics == dict.fromkeys(OF_REFERENCE, 0.5) | {"non_empty_rate": pytest.approx(2 / 3)}
    assert report.coverage == dict.fromkeys(OF_REFERENCE, 2) | {"non_empty_rate": 3}
    assert report.n_samples == 3


def test_the_mean_over_no_sample_is_0_and_its_coverage_says_so() -> None:
    report = evaluate_rag([{"user_input": "why?", "response": "because"}])
    assert report.metrics == dict.fromkeys(ALL, 0.0)
    assert report.coverage == dict.fromkeys(OF_REFERENCE, 0) | {"non_empty_rate": 1}
    assert {type(value) for value in report.metrics.values()} == {float}


@pytest.mark.parametrize("response", [{}, {"response": None}, {"response": ""}], ids=repr)
def test_a_response_that_is_missing_is_an_empty_one(response: dict[str, Any]) -> None:
    """It counts 0 and is not left out."""
    report = evaluate_rag([*SAMPLES[:1], {"reference": "Paris", **response}], metrics=["exact_match", "token_f1"])
    assert report.metrics == {"exact_match": 0.5, "token_f1": 0.5}
    assert report.coverage == {"exact_match": 2, "token_f1": 2}


@pytest.mark.parametrize("contexts", [{}, {"retrieved_contexts": None}, {"retrieved_contexts": []}], ids=repr)
def test_contexts_that_are_missing_hold_nothing(contexts: dict[str, Any]) -> None:
    report = evaluate_rag([*SAMPLES[:1], {"reference": "Paris", **contexts}])
    assert [report.metrics[name] for name in ALL[2:]] == [0.5, 0.5, 0.5]
    assert [report.coverage[name] for name in ALL[2:]] == [2, 2, 2]


@pytest.mark.parametrize("contexts", [[""], [None], [" \n"], ["", None]], ids=repr)
def test_contexts_without_text_are_none(contexts: list[Any]) -> None:
    report = evaluate_rag([*SAMPLES[:1], {"reference": "Paris", "retrieved_contexts": contexts}])
    assert report.metrics["non_empty_rate"] == 0.5


def test_several_references_are_taken_and_the_best_counts() -> None:
    sample = {"response": "nyc", "reference": ["New York City", "NYC"], "retrieved_contexts": ["new york city"]}
    report = evaluate_rag([sample])
    assert report.metrics == dict.fromkeys(ALL, 1.0)


def test_other_keys_are_no_matter() -> None:
    """Ids, metadata and the further fields of Ragas."""
    more = [
        dict(sample) | {"sample_id": f"s{place}", "topic": "x", "reference_contexts": ["Paris."], "latency": 0.1}
        for place, sample in enumerate(SAMPLES)
    ]
    more[1] |= {"only_here": {"a": [1]}}
    assert evaluate_rag(more) == evaluate_rag(SAMPLES)


def test_samples_of_several_systems_have_no_mean_in_common() -> None:
    """One system may be named."""
    samples = [{**sample, "run_id": "ours"} for sample in SAMPLES]
    assert evaluate_rag(samples) == evaluate_rag(SAMPLES)
    with pytest.raises(rf.DataError, match=r"run_id tells of several systems, 'ours', 'theirs'.*evaluate_samples"):
        evaluate_rag([*samples, {**SAMPLES[0], "run_id": "theirs"}])
    by_name: Any = {"ours": SAMPLES, "theirs": SAMPLES}
    with pytest.raises(rf.DataError, match=r"several systems, 'ours', 'theirs'"):
        evaluate_rag(by_name)


def test_an_iterator_is_read_once_and_to_its_end() -> None:
    taken = []

    def samples() -> Iterator[RagSample]:
        for sample in SAMPLES:
            taken.append(sample)
            yield sample

    assert evaluate_rag(samples()) == evaluate_rag(SAMPLES)
    assert taken == SAMPLES


def test_samples_may_be_any_mappings_in_any_collection() -> None:
    given_as: list[Any] = [
        tuple(SAMPLES),
        [MappingProxyType(sample) for sample in SAMPLES],
        dict(enumerate(SAMPLES)).values(),
        np.array(SAMPLES, dtype=object),
    ]
    for samples in given_as:
        assert evaluate_rag(samples) == evaluate_rag(SAMPLES)


def test_samples_may_be_a_frame_or_a_file(tmp_path: Path) -> None:
    frame = pl.DataFrame(SAMPLES)
    path = tmp_path / "samples.jsonl"
    path.write_text("".join(json.dumps(sample) + "\n" for sample in SAMPLES))
    given_as: list[Any] = [frame, frame.lazy(), frame.to_arrow(), pd.DataFrame(SAMPLES), path, str(path)]
    for samples in given_as:
        assert evaluate_rag(samples) == evaluate_rag(SAMPLES)


def test_samples_are_not_changed() -> None:
    samples: list[Any] = [*copy.deepcopy(SAMPLES), {"reference": ["a", "b"], "extra": {"k": [1]}}]
    before = copy.deepcopy(samples)
    evaluate_rag(samples)
    assert samples == before


# Errors.


@pytest.mark.parametrize(
    "unknown",
    ["f1", "exact_mach", "EXACT_MATCH", "faithfulness", "contains_answer", "ndcg@10", "", None, 10, ["token_f1"]],
    ids=repr,
)
def test_an_unknown_metric_is_named_with_the_valid_ones(unknown: Any) -> None:
    """Before a sample is taken; `evaluate_samples` knows more of them."""
    told = repr(unknown).replace("[", r"\[").replace("]", r"\]")
    never = iter(SAMPLES)
    for metrics in ([unknown], ("token_f1", unknown)):
        with pytest.raises(ValueError, match=f"unknown metric {told}.*{', '.join(ALL)}") as caught:
            evaluate_rag(never, metrics=metrics)
        assert isinstance(caught.value, rf.MetricError)
    assert next(never) == SAMPLES[0]


def test_the_nearest_metric_is_suggested() -> None:
    with pytest.raises(ValueError, match="did you mean 'exact_match'"):
        evaluate_rag(SAMPLES, metrics=["exact_mach"])


@pytest.mark.parametrize("empty", [[], (), iter(())], ids=shown)
def test_no_metrics_are_an_error(empty: Any) -> None:
    with pytest.raises(ValueError, match=f"metrics is empty; valid: {', '.join(ALL)}"):
        evaluate_rag(SAMPLES, metrics=copy.copy(empty))


def _exhausted() -> Iterator[RagSample]:
    samples = iter(SAMPLES)
    list(samples)
    return samples


EMPTY: dict[str, Callable[[], Any]] = {
    "list": list,
    "tuple": tuple,
    "iterator": lambda: iter(()),
    "exhausted generator": _exhausted,
    "mapping": dict,
    "frame": pl.DataFrame,
    "typed frame": lambda: pl.DataFrame(schema={"response": pl.String, "reference": pl.String}),
    "lazy frame": lambda: pl.LazyFrame(schema={"response": pl.String}),
    "pandas": lambda: pd.DataFrame({"response": []}),
    "columns": lambda: {"response": [], "reference": []},
}


@pytest.mark.parametrize("form", EMPTY)
def test_no_samples_are_an_error(form: str) -> None:
    with pytest.raises(ValueError, match="samples: there are no samples to score") as caught:
        evaluate_rag(EMPTY[form]())
    assert isinstance(caught.value, rf.DataError)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("question", "user_input"),
        ("answer", "response"),
        ("contexts", "retrieved_contexts"),
        ("ground_truth", "reference"),
        ("ground_truths", "references?"),
    ],
)
def test_the_old_names_of_ragas_are_refused_with_the_new_ones(old: str, new: str) -> None:
    """Under them nothing would be scored."""
    value: Any = ["x"] if old in {"contexts", "ground_truths"} else "x"
    with pytest.raises(ValueError, match=f"{old}.*{new}"):
        evaluate_rag([{old: value}, {old: value}])
    with pytest.raises(ValueError, match=f"{old}.*{new}"):
        evaluate_rag(pl.DataFrame({old: [value]}))  # type: ignore[arg-type]  # frames are taken too


@pytest.mark.parametrize(
    ("bad", "told"),
    [
        ({"retrieved_contexts": "Paris is the capital of France."}, "retrieved_contexts"),
        ({"response": ["Paris"]}, "response"),
        ({"reference": {"text": "Paris"}}, "reference"),
        ({"retrieved_contexts": ["Paris", 7]}, "retrieved_contexts"),
    ],
    ids=repr,
)
def test_what_is_no_sample_is_refused_by_its_number(bad: dict[str, Any], told: str) -> None:
    with pytest.raises(ValueError, match=rf"(?s){told}.*\b1\b|\b1\b.*{told}"):
        evaluate_rag([SAMPLES[0], bad])


@pytest.mark.parametrize("bad", [None, 7, SAMPLES[0], ["text"], [None]], ids=repr)
def test_what_holds_no_samples_is_refused(bad: Any) -> None:
    with pytest.raises(ValueError, match="sample"):
        evaluate_rag(bad)


# The law: the dictionaries give the means of what the functions give.

_TEXT = st.lists(st.sampled_from(["the", "A", "Paris", "paris", "france.", "3.5", "-", "\u00e9", ""]), max_size=5).map(
    " ".join
)
_LAW_SAMPLES = st.lists(
    st.fixed_dictionaries(
        {},
        optional={
            "user_input": _TEXT,
            "response": st.none() | _TEXT,
            "reference": st.none() | _TEXT | st.lists(_TEXT, min_size=1, max_size=3),
            "retrieved_contexts": st.none() | st.lists(st.none() | _TEXT, max_size=3),
        },
    ).filter(bool),
    min_size=1,
    max_size=6,
)


@given(samples=_LAW_SAMPLES)
def test_a_report_holds_the_means_of_what_the_functions_give(samples: list[dict[str, Any]]) -> None:
    """Over the samples with a reference; for recall, one that has a token."""
    values: dict[str, list[float]] = {name: [] for name in ALL}
    for sample in samples:
        response, reference = sample.get("response"), sample.get("reference")
        contexts = sample.get("retrieved_contexts") or []
        values["non_empty_rate"].append(float(any(text and text.strip() for text in contexts)))
        if reference is None:
            continue
        values["exact_match"].append(exact_match(response, reference))
        values["token_f1"].append(token_f1(response, reference))
        values["context_precision"].append(context_precision(reference, contexts))
        if context_recall(reference, [reference] if isinstance(reference, str) else reference):
            values["context_recall"].append(context_recall(reference, contexts))
    report = evaluate_rag(samples)
    means = {
        name: sum(given_values) / len(given_values) if given_values else 0.0 for name, given_values in values.items()
    }
    assert dict(report.metrics) == pytest.approx(means, abs=1e-12)
    assert dict(report.coverage) == {name: len(given_values) for name, given_values in values.items()}
    assert report.n_samples == len(samples)


# Ragas.


def test_without_ragas_the_error_is_an_import_error_that_says_how_to_install_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "ragas", None)
    with pytest.raises(ImportError, match=r"pip install 'rankframe\[ragas\]'") as caught:
        as_ragas_dataset(SAMPLES)
    assert isinstance(caught.value, rf.RankframeError)


def test_the_bridge_is_given_the_samples_and_the_options(monkeypatch: pytest.MonkeyPatch) -> None:
    """That it makes a real data set of them is tested where Ragas is installed."""
    from rankframe.rag import ragas_bridge

    given_to: list[Any] = []
    monkeypatch.setattr(
        ragas_bridge, "as_ragas_dataset", lambda samples, **options: given_to.append((samples, options))
    )
    as_ragas_dataset(SAMPLES)
    as_ragas_dataset(SAMPLES, references="first", nulls="empty")
    assert [samples is SAMPLES for samples, _ in given_to] == [True, True]
    assert [options for _, options in given_to] == [
        {"references": "error", "nulls": "error"},
        {"references": "first", "nulls": "empty"},
    ]
