"""What holds for every metric of samples, whatever texts it gets."""

from __future__ import annotations

import copy
import math
import unicodedata
from collections.abc import Callable, Sequence
from typing import Any
from unittest.mock import patch

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal, assert_series_equal

import rankframe as rf
from rankframe.metrics import REGISTRY
from rankframe.metrics.families import BuiltIn
from rankframe.rag import evaluating
from tests.laws import cases, oracle, samples
from tests.laws.samples import Sample

METRICS = samples.metrics()
NAMES = [metric.name for metric in METRICS]
FEW = settings(max_examples=10)

WHOLE = {"exact_match", "contains_answer", "non_empty_rate"} | {
    name for name in NAMES if "precision" in name and "@1" in name
}
"""Those that are 0 or 1."""

COLUMNS: dict[str, Any] = {
    "user_input": pl.String,
    "response": pl.String,
    "reference": pl.String,
    **dict.fromkeys(
        ("references", "retrieved_contexts", "retrieved_context_ids", "reference_context_ids", "ground_truth_sources"),
        pl.List(pl.String),
    ),
}


def frame(records: Sequence[Sample], ids: Sequence[str] | None = None) -> pl.DataFrame:
    made = pl.DataFrame({name: [record.get(name) for record in records] for name in COLUMNS}, schema=COLUMNS)
    return made if ids is None else made.with_columns(sample_id=pl.Series(ids, dtype=pl.String))


def ids(records: Sequence[Sample]) -> list[str]:
    return [f"s{number:02}" for number in range(len(records))]


def scores(given: object, metrics: Sequence[BuiltIn] = METRICS) -> pl.DataFrame:
    return rf.evaluate_samples(given, metrics=metrics).scores


def same(metric: str, right: float | None) -> object:
    """To the last bit, but for cosines, whose sums are added up in another order."""
    return pytest.approx(right, abs=1e-12) if right is not None and metric.startswith("tfidf") else right


def test_the_list_covers_the_registry() -> None:
    assert {*samples.FAMILIES, *cases.FAMILIES} == set(REGISTRY)
    every = samples.metrics(extras=True)
    assert {metric.family.name for metric in every} == set(samples.FAMILIES)
    for name in samples.FAMILIES:
        for key, values in REGISTRY[name].choices.items():
            tried = {
                metric.parameters.get(key, REGISTRY[name].defaults[key])
                for metric in every
                if name == metric.family.name
            }
            assert tried == set(values)
    missing = set(samples.FAMILIES) - set(oracle.SAMPLE_DEFINITIONS)
    assert not missing, f"{missing} have no definition in SAMPLE_DEFINITIONS of tests/laws/oracle.py"


def known(metric: BuiltIn, record: Sample) -> bool:
    """Whether the oracle can know the words of a sample; what this Python knows as no letter Polars may."""
    return metric.name != "rouge_l" or "Cn" not in map(unicodedata.category, samples.text_of(record))


def kind(value: float | None, highest: float) -> str:
    return "null" if value is None else "0" if value == 0 else "top" if value == highest else "between"


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.name)
def test_many_samples_have_what_the_definition_says(metric: BuiltIn) -> None:
    """And among them are samples with every kind of value that the metric can have."""
    records = [record for record in samples.random_samples(seed=4, count=500) if known(metric, record)]
    found = scores(frame(records), [metric])[metric.name].to_list()
    right = [oracle.sample_value(metric, record, records) for record in records]
    assert found == [same(metric.name, value) for value in right]
    kinds = {kind(value, metric.family.range[1] or 0.0) for value in right}
    never = {"between"} if metric.name in WHOLE else {"top"} if metric.name == "bleu" else set()
    never |= {"null"} if metric.name in ("non_empty_rate", "lexical_faithfulness(none=zero)") else set()
    assert kinds == {"null", "0", "top", "between"} - never


@given(samples.samples())
@settings(max_examples=60)
def test_every_metric_is_what_its_definition_says(records: list[Sample]) -> None:
    """And null exactly where that says so."""
    found = scores(frame(records))
    for record, row in zip(records, found.iter_rows(named=True), strict=True):
        for metric in METRICS:
            if not known(metric, record):
                continue
            assert row[metric.name] == same(metric.name, oracle.sample_value(metric, record, records)), metric.name


@given(samples.samples())
@settings(max_examples=20)
def test_values_stand_in_their_range(records: list[Sample]) -> None:
    report = rf.evaluate_samples(frame(records), metrics=METRICS)
    for measured in report.metrics:
        values = report.scores[measured.name].drop_nulls()
        assert measured.range is not None
        low, high = measured.range
        assert low is not None
        assert high is not None
        assert values.is_finite().all()
        assert values.is_between(low, high + 1e-9).all(), measured.name


@given(samples.samples(min_size=2), st.integers(0, 1000))
@FEW
def test_the_order_of_samples_does_not_matter(records: list[Sample], seed: int) -> None:
    named = frame(records, ids(records))
    other = named.sample(fraction=1, shuffle=True, seed=seed)
    a, b = scores(named), scores(other)
    assert b["sample_id"].to_list() == other["sample_id"].to_list()
    assert_frame_equal(a, b.sort("sample_id"), abs_tol=1e-12)


@given(samples.samples(min_size=2), st.integers(1, 3))
@FEW
def test_samples_taken_in_parts_are_the_same(records: list[Sample], size: int) -> None:
    whole = scores(frame(records))
    with patch.object(evaluating, "_PART", size):
        assert scores(frame(records)).equals(whole)


def test_more_samples_than_a_part_holds_are_the_same() -> None:
    count = 2 * evaluating._PART + 123
    records = [
        {
            "user_input": references[-1],
            "response": response,
            "references": references,
            "retrieved_contexts": [references[0], None, response[:9]][: len(response) % 4],
        }
        for response, references in samples.hostile_pairs(1, count)
    ]
    light = samples.metrics(extras=False)
    parts = scores(frame(records), light)
    with patch.object(evaluating, "_PART", 10**9):
        assert scores(frame(records), light).equals(parts)
    assert parts["sample_id"].to_list() == [f"{number:04}" for number in range(count)]


@given(samples.samples())
@FEW
def test_the_expression_alone_gives_what_the_report_gives(records: list[Sample]) -> None:
    """`metric.expr` in a plain select, eager or lazy, beside other columns and behind them."""
    given = frame(records).with_columns(pl.lit("x").alias("topic"))
    found = scores(given)
    alone = given.select(metric.expr for metric in METRICS)
    assert alone.equals(found.select(NAMES))
    assert given.lazy().select(metric.expr for metric in METRICS).collect().equals(alone)
    beside = given.with_columns(metric.expr for metric in METRICS)
    assert beside.equals(given.hstack(alone))


@given(samples.samples(), samples.TEXTS)
@FEW
def test_one_more_reference_never_lowers_what_is_over_the_best(records: list[Sample], text: str) -> None:
    """Where there was one, which a null is not."""
    best = {
        "exact_match",
        "token_f1",
        "contains_answer",
        "context_recall",
        "context_precision",
        "rouge_l",
        "chrf",
        "bleu",
    }
    best |= {name for name in NAMES if name.startswith(("context_recall", "context_precision(stopwords"))}
    best &= set(NAMES)
    there = [[one for one in record["references"] or [] if one is not None] for record in records]
    records = [
        {**record, "references": one or [record["reference"]]} for record, one in zip(records, there, strict=True)
    ]
    before = rf.evaluate_samples(frame(records), metrics=best).scores
    after = rf.evaluate_samples(
        frame([{**record, "references": [*record["references"], text]} for record in records]), metrics=best
    ).scores
    for name in best:
        pairs = zip(before[name], after[name], strict=True)
        assert all(new is not None and new >= old for old, new in pairs if old is not None), name


@given(samples.TEXTS, samples.TEXTS)
@FEW
def test_a_perfect_sample_is_perfect(text: str, query: str) -> None:
    """The response is the reference, and it stands in the only context, whose id is the right one."""
    text += " kite soars"
    sample = {
        "user_input": f"{query} kite",
        "response": f"{text} [a.md]",
        "reference": f"{text} [a.md]",
        "retrieved_contexts": [f"{text} [a.md]"],
        "retrieved_context_ids": ["a.md"],
        "reference_context_ids": ["a.md"],
        "ground_truth_sources": ["a.md"],
    }
    perfect = {metric.name for metric in METRICS if metric.k in (None, 1)}
    perfect -= {name for name in perfect if name.startswith(("tfidf", "citation_precision", "chrf", "bleu"))}
    row = scores(frame([sample])).row(0, named=True)
    assert {name: row[name] for name in perfect} == pytest.approx(dict.fromkeys(perfect, 1.0))
    for name in {"chrf", "bleu"} & set(NAMES):
        assert row[name] == pytest.approx(100.0)


_PLAIN = st.lists(st.sampled_from(["kite", "red", "voles", "35", "x", "of"]), max_size=8)


@given(_PLAIN, _PLAIN, _PLAIN, st.data())
def test_case_punctuation_articles_and_blanks_change_nothing(
    response: list[str], reference: list[str], context: list[str], data: st.DataObject
) -> None:
    """Of what is compared after normalisation."""
    joined = st.sampled_from([" ", "  ", " the ", "\t", " an\n", ", ", "; a ", " - "])
    change = st.sampled_from([str.lower, str.upper, str.title, lambda word: f"({word})", lambda word: f"{word}."])

    def disguised(words: list[str]) -> str:
        return "".join(data.draw(change)(word) + data.draw(joined) for word in words)

    names = ["exact_match", "token_f1", "contains_answer", "context_recall", "context_recall(stopwords=drop)",
             "context_precision", "context_precision(stopwords=drop)"]  # fmt: skip
    texts = (response, reference, context)
    plain, odd = (
        rf.evaluate_samples([{"response": a, "reference": b, "retrieved_contexts": [c]}], metrics=names).scores
        for a, b, c in (map(" ".join, texts), map(disguised, texts))
    )
    assert plain.equals(odd)


# The forms of samples.

MISSING: list[Any] = [None, math.nan, pd.NA, pd.NaT]


def _with_gaps(records: list[Sample], missing: Any) -> list[Sample]:
    return [{name: missing if value is None else value for name, value in record.items()} for record in records]


FORMS: dict[str, Callable[[list[Sample]], Any]] = {
    "records": list,
    "keys left out": lambda records: [{n: v for n, v in record.items() if v is not None} for record in records],
    "generator": lambda records: (record for record in records),
    "mapping": lambda records: {f"s{number}": record for number, record in enumerate(records)},
    "columns": lambda records: {name: [record[name] for record in records] for name in COLUMNS},
    "lazy": lambda records: frame(records).lazy(),
    "chunks": lambda records: pl.concat([frame([record]) for record in records], rechunk=False),
    "pandas": pd.DataFrame,
    "arrow": lambda records: frame(records).to_arrow(),
    "arrow of records": pa.Table.from_pylist,
}


@pytest.mark.parametrize("form", FORMS)
@given(records=samples.samples())
@FEW
def test_the_form_of_samples_does_not_matter(form: str, records: list[Sample]) -> None:
    records = [{**record, "response": record["response"] or ""} for record in records]  # one column has text in it
    a, b = scores(frame(records)), scores(FORMS[form](records))
    assert_frame_equal(a.drop("sample_id"), b.drop("sample_id"))


@pytest.mark.parametrize("missing", MISSING, ids=repr)
@given(records=samples.samples())
@FEW
def test_whatever_stands_for_nothing_is_null(missing: Any, records: list[Sample]) -> None:
    records = [{**record, "response": record["response"] or ""} for record in records]
    assert scores(frame(records)).equals(scores(_with_gaps(records, missing)))


@given(samples.samples(), st.sets(st.sampled_from(sorted(COLUMNS))))
@FEW
def test_a_column_that_is_absent_is_null(records: list[Sample], absent: set[str]) -> None:
    absent -= {"user_input"}
    emptied = [{name: None if name in absent else value for name, value in record.items()} for record in records]
    assert scores(frame(emptied)).equals(scores(frame(records).drop(absent)))
    alone = frame(records).drop(absent).select(metric.expr for metric in METRICS)
    assert alone.equals(frame(emptied).select(metric.expr for metric in METRICS))


@given(samples.samples(), samples.samples())
@FEW
def test_many_runs_score_as_each_alone(first: list[Sample], second: list[Sample]) -> None:
    """Whether they are named by a mapping or stand in one frame, one behind the other or mixed."""
    runs = {name: frame(records, ids(records)) for name, records in (("b", first), ("a", second))}
    together = rf.evaluate_samples(runs, metrics=METRICS)
    assert together.runs == ["a", "b"]
    for name, samples_of_run in runs.items():
        alone = rf.evaluate_samples({name: samples_of_run}, metrics=METRICS)
        assert together.scores.filter(run_id=name).equals(alone.scores)
        assert_frame_equal(together.summary.filter(run_id=name), alone.summary, abs_tol=1e-12)
    whole = pl.concat(one.with_columns(run_id=pl.lit(name)) for name, one in runs.items())
    assert scores(whole).equals(together.scores)
    assert scores(whole.sort("sample_id", maintain_order=True)).equals(together.scores)


@given(samples.samples())
@FEW
def test_the_callers_objects_are_never_changed(records: list[Sample]) -> None:
    before, given = copy.deepcopy(records), frame(records)
    scores(records)
    scores(given)
    given.select(metric.expr for metric in METRICS)
    assert records == before
    assert given.equals(frame(before))
    assert given.columns == list(COLUMNS)


@given(samples.samples())
@FEW
def test_the_same_samples_give_the_same_bits(records: list[Sample]) -> None:
    assert scores(frame(records)).equals(scores(frame(records)))


@given(samples.samples())
@FEW
def test_the_summary_is_over_what_has_a_value(records: list[Sample]) -> None:
    report = rf.evaluate_samples(frame(records), metrics=METRICS)
    for row in report.summary.iter_rows(named=True):
        values = report.scores[row["metric"]]
        assert row["n"] == len(values) - values.null_count()
        assert row["n_null"] == values.null_count()
        assert (row["n_failed"], row["n_missing"]) == (0, 0)
        right = values.mean()
        assert row["value"] is None if right is None else row["value"] == pytest.approx(right, abs=1e-12)


@pytest.mark.parametrize("metric", samples.metrics(extras=True), ids=lambda metric: metric.name)
def test_a_name_carries_the_whole_definition(metric: BuiltIn) -> None:
    for name in (metric.name, f" {metric.name} ", metric.name.replace(metric.family.name, metric.family.name.upper())):
        again = rf.metrics.parse(name)
        assert isinstance(again, BuiltIn)
        assert (again.name, again.family, again.parameters, again.k) == (
            metric.name,
            metric.family,
            metric.parameters,
            metric.k,
        )


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.name)
def test_nothing_at_all_is_null_or_nothing(metric: BuiltIn) -> None:
    """A sample of nulls, and a frame without a row or without a column that is read."""
    nulls = frame([{}])
    right = 0.0 if metric.name in ("non_empty_rate", "lexical_faithfulness(none=zero)") else None
    for lacking in (nulls, pl.DataFrame({"topic": [1]}), pl.DataFrame({"response": [None], "reference": [None]})):
        found = lacking.select(metric.expr).to_series()
        assert found.to_list() == [right]
        assert_series_equal(found, pl.Series(metric.name, [right], dtype=pl.Float64))
    assert nulls.clear().select(metric.expr).to_series().to_list() == []
