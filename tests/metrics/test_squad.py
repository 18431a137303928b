"""Normalisation, words and sentences of columns equal Python's to the letter, and the scores those of SQuAD."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable
from typing import Any

import polars as pl
import pytest

import rankframe as rf
from rankframe.metrics import squad, texts_scalar
from tests.laws.samples import PIECES, hostile_pairs
from tests.metrics import official

Different = list[tuple[str, Any, Any]]


def differences(
    texts: Iterable[str], column: Callable[[pl.Series], pl.Series], one: Callable[[str], object]
) -> Different:
    """Where a function of columns does not give what one of a text gives."""
    texts = list(texts)
    found = column(pl.Series(texts, dtype=pl.String)).to_list()
    pairs = ((text, value, one(text)) for text, value in zip(texts, found, strict=True))
    return [(ascii(text), value, right) for text, value, right in pairs if value != right]


FUNCTIONS: dict[str, tuple[Callable[[pl.Series], pl.Series], Callable[[str], object]]] = {
    "normalised": (squad.normalised, official.normalise),
    "tokens": (lambda text: squad.tokens(squad.normalised(text)), lambda text: official.normalise(text).split()),
    "token_sets": (
        lambda text: squad.token_sets(text).list.set_difference(["a", "an", "the", ""]).list.sort(),
        lambda text: sorted(set(official.normalise(text).split())),
    ),
    "words": (lambda text: squad.words(text).list.sort(), lambda text: sorted(set(text.lower().split()))),
    "terms": (squad.terms, lambda text: re.findall(r"\b\w\w+\b", text.lower())),
    "claims": (
        lambda text: squad.claims(text, longer_than=1),
        lambda text: [part.strip() for part in re.split(r"(?<=[.!?])\s+", text) if len(part.strip()) > 1],
    ),
}
"""Every function of columns, and the same of one text by Python's own means."""


@pytest.mark.parametrize("name", FUNCTIONS)
def test_any_character_is_taken_as_python_takes_it(name: str) -> None:
    """Whatever stands beside it; all that there are, in the slow suite."""
    texts = official.around(official.some_characters(seed=5, share=0.004))
    assert differences(texts, *FUNCTIONS[name]) == []


@pytest.mark.parametrize("name", FUNCTIONS)
def test_hostile_texts_are_taken_as_python_takes_them(name: str) -> None:
    texts = [text for response, references in hostile_pairs(11, 1_500) for text in (response, *references)]
    assert differences(texts, *FUNCTIONS[name]) == []


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_piece_is_taken_as_python_takes_it(name: str) -> None:
    """Beside every other."""
    assert differences((f"{one}{other}" for one in PIECES for other in PIECES), *FUNCTIONS[name]) == []


@pytest.mark.parametrize("name", FUNCTIONS)
def test_null_stays_null_in_its_place(name: str) -> None:
    """With and without texts that only Python can read; and nothing of nothing."""
    column, one = FUNCTIONS[name]
    for texts in ([None], [None, "the Red. Kite"], ["\U00010d50a \ufdd0 b", None, "x. y", None, "\x00an"]):
        found = column(pl.Series(texts, dtype=pl.String))
        assert found.to_list() == [None if text is None else one(text) for text in texts]
    empty = column(pl.Series([], dtype=pl.String))
    assert (len(empty), empty.dtype) == (0, found.dtype)


def test_characters_that_are_newer_than_python_are_read_by_python() -> None:
    """What Polars knows as letters already and this Python does not, or the other way round, is Python's to say."""
    texts = [f"a{char}the{char}" for char in official.CHARACTERS[0x1C80:0x1C90] + official.CHARACTERS[0x10D40:0x10D90]]
    assert differences(texts, *FUNCTIONS["normalised"]) == []
    assert re.fullmatch(r"\[\^\\p\{age:\d+\.\d\}\]", squad._unknown())


@pytest.mark.parametrize("age", [(99, 0), (15, 9), (3, 2)])
def test_a_python_of_any_age_is_understood(age: tuple[int, int], monkeypatch: pytest.MonkeyPatch) -> None:
    """One whose Unicode is newer than Polars' has the newest of that; one that is too old, ASCII."""
    monkeypatch.setattr(unicodedata, "unidata_version", f"{age[0]}.{age[1]}.0")
    pattern = squad._unknown.__wrapped__()
    assert pl.Series(["\U000e0080", "aé"]).str.contains(pattern)[0]
    assert not pl.Series(["plain text, 1."]).str.contains(pattern).any()


@pytest.mark.parametrize(
    ("text", "right"),
    [
        ("The Eiffel  Tower!", "eiffel tower"),
        ("the-end", "theend"),
        ("a an the", ""),
        ("the the the kite", "kite"),
        ("A.B.C.", "abc"),
        ("_the_", ""),
        ("²a b", "²a b"),
        ("a\u0301 b", "\u0301 b"),
        ("“the” end", "“ ” end"),
        ("x\x1ca\x1fy", "x y"),
        ("ΟΔΟΣ", "οδος"),
        ("İ", "i̇"),
        ("\u2003kite\xa0", "kite"),
        ("\u200bthe", "\u200b"),
        ("3.5 -7", "35 7"),
        ("", ""),
    ],
)
def test_normalisation_to_the_letter(text: str, right: str) -> None:
    assert squad.normalised(pl.Series([text])).to_list() == [right]
    assert official.normalise(text) == texts_scalar.normalized(text) == right


# The scores.


def score(pairs: list[tuple[str, list[str]]]) -> tuple[list[float], list[float]]:
    """Exact match and F1 of each pair, over frames."""
    samples = {"response": [response for response, _ in pairs], "references": [golds for _, golds in pairs]}
    scores = rf.evaluate_samples(samples, metrics=["exact_match", "token_f1"]).scores
    return scores["exact_match"].to_list(), scores["token_f1"].to_list()


def test_scores_are_those_of_the_official_script() -> None:
    """To the last bit, for 5,000 hostile pairs of up to three references; 100,000 and more in the slow suite."""
    pairs = list(hostile_pairs(17, 5_000))
    right = [official.best(golds, response) for response, golds in pairs]
    found = list(zip(*score(pairs), strict=True))
    assert [(pair, a, b) for pair, a, b in zip(pairs, found, right, strict=True) if a != b] == []
    assert 0.05 < sum(value for value, _ in right) / len(right) < 0.95
    assert len({value for _, value in right}) > 80


@pytest.mark.parametrize("golds", [["", "owl"], ["owl", "the"], ["..."], ["a", "an"]])
@pytest.mark.parametrize("response", ["", "The.", "owl", "an owl", "kite"])
def test_an_empty_reference_is_right_where_nothing_is_said(response: str, golds: list[str]) -> None:
    """As version 2.0 has it for each pair."""
    assert tuple(values[0] for values in score([(response, golds)])) == official.best(golds, response)


def test_tokens_that_both_have_several_times() -> None:
    """Bags are counted where both sides repeat a token, and sets where one does not."""
    pairs = [
        ("b b b c", ["b b c c"]),
        ("b b b c", ["b c d"]),
        ("b c", ["b b c c", "b c c c"]),
        (" ".join("bcd" * 40), [" ".join("bbc" * 40)]),
        ("b b", ["c c"]),
    ]
    assert list(zip(*score(pairs), strict=True)) == [official.best(golds, response) for response, golds in pairs]
