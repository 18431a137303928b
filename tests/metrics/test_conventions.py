"""Conventions: presets of who counts."""

from __future__ import annotations

from typing import Any

import pytest

import rankframe as rf
from rankframe.metrics.conventions import CONVENTIONS, Convention, convention
from rankframe.metrics.names import DIALECTS


@pytest.mark.parametrize(
    ("name", "right"),
    [
        ("documented", ("zero", "skip", "keep", None)),
        ("trec_eval", ("skip", "zero", "keep", "trec_eval")),
        ("trec_eval_c", ("zero", "zero", "keep", "trec_eval")),
        ("ir_measures", ("zero", "zero", "keep", "ir_measures")),
        ("beir", ("skip", "zero", "drop", "beir")),
    ],
)
def test_presets(name: str, right: tuple[str | None, ...]) -> None:
    rules = convention(name)
    assert right == (rules.missing, rules.no_relevant, rules.self_hits, rules.dialect)
    assert rules.dialect is None or rules.dialect in DIALECTS


def test_the_documented_one_is_the_default() -> None:
    assert Convention() == convention() == CONVENTIONS["documented"]


def test_options_change_a_preset_and_nothing_else() -> None:
    assert convention("trec_eval", missing="zero") == convention("trec_eval_c")
    rules = convention("beir", self_hits="keep")
    assert (rules.missing, rules.no_relevant, rules.self_hits, rules.dialect) == ("skip", "zero", "keep", "beir")
    assert CONVENTIONS["beir"].self_hits == "drop"


@pytest.mark.parametrize("name", ["trec", "", "Documented", None, 3, ["beir"]], ids=repr)
def test_unknown_conventions_are_told_the_known_ones(name: Any) -> None:
    with pytest.raises(
        rf.MetricError, match=r"unknown convention .*documented, trec_eval, trec_eval_c, ir_measures, beir"
    ):
        convention(name)


@pytest.mark.parametrize(
    ("option", "valid"),
    [("missing", "zero, skip"), ("no_relevant", "zero, skip"), ("failed", "zero, skip"), ("self_hits", "keep, drop")],
)
@pytest.mark.parametrize("value", ["none", "", 0, False, ["zero"]], ids=repr)
def test_unknown_options_are_told_the_valid_ones(option: str, valid: str, value: Any) -> None:
    options: dict[str, Any] = {option: value}
    with pytest.raises(rf.MetricError, match=f"{option}=.*; valid: {valid}"):
        convention("documented", **options)
