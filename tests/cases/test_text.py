"""Texts beside references: what the rule of SQuAD makes of numbers, hyphens, repetition and nothing at all."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import rankframe as rf
from rankframe.evaluation import evaluate_rag, exact_match, token_f1

Samples = Sequence[Mapping[str, Any]]

FUNCTIONS: dict[str, Callable[..., float]] = {"exact_match": exact_match, "token_f1": token_f1}

FORMS: dict[str, Callable[[Samples], Any]] = {
    "records": list,
    "columns": lambda samples: {name: [sample[name] for sample in samples] for name in samples[0]},
    "frame": lambda samples: pl.DataFrame(samples, strict=False),
    "lazy": lambda samples: pl.LazyFrame(samples, strict=False),
    "pandas": lambda samples: pd.DataFrame(list(samples)),
    "arrow": lambda samples: pa.Table.from_pylist(list(samples)),
}
"""Every form that samples stand in, in memory."""


def pair(response: str | None, reference: Any) -> dict[str, Any]:
    return {"response": response, "reference": reference}


def per_sample(samples: Any, metric: str) -> list[float | None]:
    """The values of the samples, in their order."""
    return rf.evaluate_samples(samples, metrics=[metric]).per_sample[metric].to_list()


def each(samples: Samples, metric: str) -> list[float | None]:
    """The same by the function of one sample; null without a reference."""
    function = FUNCTIONS[metric]
    return [
        None if sample["reference"] is None else function(sample["response"], sample["reference"]) for sample in samples
    ]


def holds(samples: Samples, **right: list[float | None]) -> None:
    """By the functions of one sample, over frames, and in the documented report."""
    for metric, values in right.items():
        assert each(samples, metric) == pytest.approx(values)
        assert per_sample(samples, metric) == pytest.approx(values)
        scored = [value for value in values if value is not None]
        report = evaluate_rag(samples, metrics=[metric])
        assert report.metrics == {metric: pytest.approx(sum(scored) / len(scored))}
        assert (report.coverage, report.n_samples) == ({metric: len(scored)}, len(samples))


def test_decimal_point_deleted() -> None:
    """Deleting the point makes 3.5 equal to 35: the true values of SQuAD, however odd."""
    samples = [pair("35", "3.5"), pair("10", "1.0"), pair("1,000", "1000")]
    holds(samples, exact_match=[1.0, 1.0, 1.0], token_f1=[1.0, 1.0, 1.0])


def test_decimal_point_deleted_is_documented_as_a_trap() -> None:
    """Where the rule is defined."""
    from rankframe.metrics import texts_scalar

    assert "`3.5` is `35`" in (texts_scalar.__doc__ or "")


@pytest.mark.parametrize(
    ("response", "reference", "right"),
    [("-5", "5", 1.0), ("$1.50", "150", 1.0), ("50%", "50", 1.0), ("1e3", "1000", 0.0), ("4", "four", 0.0)],
)
def test_decimal_point_and_other_signs_of_numbers_are_deleted(response: str, reference: str, right: float) -> None:
    """Sign, currency and percent go; no number is understood."""
    holds([pair(response, reference)], exact_match=[right], token_f1=[right])


def test_hyphens_join_words() -> None:
    """A hyphen is deleted and no blank: one token, and no article is in it."""
    samples = [pair("state of the art", "state-of-the-art"), pair("well known", "well-known")]
    holds(samples, exact_match=[0.0, 0.0], token_f1=[0.0, 0.0])


def test_hyphens_join_words_on_both_sides() -> None:
    samples = [pair("the state-of-the-art", "StateOfTheArt"), pair("a well-known case", "wellknown cases")]
    holds(samples, exact_match=[1.0, 0.0], token_f1=[1.0, 0.5])


@pytest.mark.parametrize("dash", ["\u2010", "\u2013", "\u2014", "\u2212"], ids=["hyphen", "en", "em", "minus"])
def test_hyphens_beyond_ascii_stay(dash: str) -> None:
    """The rule knows ASCII punctuation only."""
    holds([pair(f"well{dash}known", "well-known")], exact_match=[0.0], token_f1=[0.0])
    holds([pair(f"state {dash} the art", f"state {dash} art")], exact_match=[1.0], token_f1=[1.0])


def test_repeated_tokens() -> None:
    """Common tokens count as often as both have them."""
    samples = [pair("very very good", "very good"), pair("red red red", "red fox")]
    holds(samples, token_f1=[0.8, 0.4])


def test_repeated_tokens_of_both_sides() -> None:
    samples = [
        pair("red red", "red red red"),
        pair("red owl red owl", "owl red owl red"),
        pair("a red the red", "red"),
        pair("red", "red"),
    ]
    holds(samples, token_f1=[0.8, 1.0, 2 / 3, 1.0])


def test_both_empty() -> None:
    """An empty reference is the answer that there is none; a missing one is a gap in the data."""
    samples = [pair("", ""), pair("owl", ""), pair("", None)]
    holds(samples, exact_match=[1.0, 0.0, None], token_f1=[1.0, 0.0, None])
    report = rf.evaluate_samples(samples, metrics=["exact_match", "token_f1"])
    assert report.summary["n"].to_list() == [2, 2]
    assert report.summary["n_null"].to_list() == [1, 1]
    for function in FUNCTIONS.values():
        with pytest.raises(ValueError, match="reference is None"):
            function("", None)


@pytest.mark.parametrize("nothing", ["", " ", "...", "the", "A, an. THE!", "\x1c\u2028"], ids=repr)
@pytest.mark.parametrize("other", ["", "\n", "--", "an"], ids=repr)
def test_both_empty_after_normalisation(nothing: str, other: str) -> None:
    """Exact match and F1 agree there too."""
    samples = [pair(nothing, other), pair(nothing, "owl"), pair("owl", other), pair(None, other)]
    holds(samples, exact_match=[1.0, 0.0, 0.0, 1.0], token_f1=[1.0, 0.0, 0.0, 1.0])


def test_multiple_references() -> None:
    """The best reference counts, for each metric on its own."""
    samples = [pair("nyc", ["New York City", "NYC"]), pair("York City", ["New York City", "NYC"])]
    holds(samples, exact_match=[1.0, 0.0], token_f1=[1.0, 0.8])


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("column", ["reference", "references"])
def test_multiple_references_of_every_form(form: str, column: str) -> None:
    """In either column, one alone or several."""
    rows: list[tuple[str, list[str]]] = [
        ("nyc", ["New York City", "NYC"]),
        ("York City", ["NYC", "New York City"]),
        ("x y", ["x"]),
    ]
    samples = FORMS[form]([{"response": response, column: references} for response, references in rows])
    assert per_sample(samples, "exact_match") == [1.0, 0.0, 0.0]
    assert per_sample(samples, "token_f1") == pytest.approx([1.0, 0.8, 2 / 3])


def test_multiple_references_beside_single_ones() -> None:
    """A list in some samples, a text in others, none in one."""
    samples = [pair("nyc", "NYC"), pair("nyc", ["New York City", "NYC"]), pair("nyc", None)]
    holds(samples, exact_match=[1.0, 1.0, None], token_f1=[1.0, 1.0, None])


def test_none_reference_aggregate() -> None:
    """The mean is over the samples that have a reference, and says over how many."""
    samples = [pair("red", "red"), pair("blue", None)]
    holds(samples, exact_match=[1.0, None])
    report = evaluate_rag(samples, metrics=["exact_match"])
    assert (report.metrics, report.coverage, report.n_samples) == ({"exact_match": 1.0}, {"exact_match": 1}, 2)
    assert rf.evaluate_samples(samples, metrics=["exact_match"]).summary.select("value", "n", "n_null").row(0) == (
        1.0,
        1,
        1,
    )


@pytest.mark.parametrize("missing", [None, math.nan, pd.NA], ids=repr)
@pytest.mark.parametrize("form", ["records", "columns", "pandas"])
def test_none_reference_of_every_kind(form: str, missing: Any) -> None:
    samples = FORMS[form]([pair("red", "red"), pair("blue", missing), pair("red", "blue")])
    assert per_sample(samples, "exact_match") == [1.0, None, 0.0]
    assert evaluate_rag(samples).coverage["exact_match"] == 2


@pytest.mark.parametrize("form", FORMS)
def test_none_reference_in_every_form(form: str) -> None:
    samples = FORMS[form]([pair("red", "red"), pair("blue", None), pair("red", "blue")])
    assert per_sample(samples, "exact_match") == [1.0, None, 0.0]
    assert evaluate_rag(samples).coverage["exact_match"] == 2


@pytest.mark.parametrize("form", FORMS)
def test_none_reference_at_all_is_no_score(form: str) -> None:
    """Null over frames; the documented report has its 0.0 and a coverage of 0."""
    samples = FORMS[form]([pair("red", None), pair("blue", None)])
    report = rf.evaluate_samples(samples, metrics=["exact_match"])
    assert report.summary.select("value", "n", "n_null").row(0) == (None, 0, 2)
    documented = evaluate_rag(samples, metrics=["exact_match"])
    assert (documented.metrics, documented.coverage) == ({"exact_match": 0.0}, {"exact_match": 0})
