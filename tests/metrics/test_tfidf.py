"""TF-IDF cosine by hand: which words count, what they weigh, and what a corpus is."""

from __future__ import annotations

import math

import polars as pl
import pytest

import rankframe as rf
from rankframe.metrics.tfidf import tfidf_cosine
from tests.laws.samples import hostile_pairs

PAIR, CORPUS = "tfidf_answer_relevance", "tfidf_answer_relevance(idf=corpus)"


def cosine(query: str | None, response: str | None) -> float | None:
    found: float | None = tfidf_cosine(pl.Series([query], dtype=pl.String), pl.Series([response], dtype=pl.String))[0]
    return found


def test_a_pair_by_hand() -> None:
    """Three words of both weigh 1; the three that the response has alone weigh ln(3/2) + 1."""
    right = 3 / (math.sqrt(3) * math.sqrt(3 + 3 * (math.log(3 / 2) + 1) ** 2))
    assert right == pytest.approx(0.5797, abs=5e-5)
    assert cosine("capital of France", "Paris is the capital of France") == pytest.approx(right, abs=1e-15)


def test_a_word_counts_as_often_as_it_stands_there() -> None:
    alone = math.log(3 / 2) + 1
    right = (2 * 1) / (math.hypot(2, alone) * math.hypot(1, 3 * alone))
    assert cosine("kite kite red", "owl owl kite owl") == pytest.approx(right, abs=1e-15)


def test_a_corpus_by_hand() -> None:
    """Three texts that are there: red and owl in two of them, kite in one."""
    red, kite = math.log(4 / 3) + 1, math.log(4 / 2) + 1
    samples = [{"user_input": "red kite", "response": "red owl"}, {"user_input": "owl", "response": None}]
    found = rf.evaluate_samples(samples, metrics=[CORPUS]).scores[CORPUS]
    assert found.to_list() == [pytest.approx(red**2 / (math.hypot(red, kite) * math.hypot(red, red))), None]


@pytest.mark.parametrize(
    ("query", "response", "right"),
    [
        (None, "kite", None),
        ("kite", None, None),
        (None, None, None),
        ("", "kite", 0.0),
        ("kite", "", 0.0),
        ("", "", 0.0),
        ("a b c", "a b c", 0.0),  # a word has two characters
        ("kite", "owl", 0.0),
        ("Kite, KITE!", "kite", 1.0),
        ("the red-kite_1", "kite_1 red the", 1.0),  # no stop words, no stems, an underscore is a letter
        ("Größe ÉTÉ", "été größe", 1.0),
        ("kites", "kite", 0.0),
    ],
)
def test_words_and_edges(query: str | None, response: str | None, right: float | None) -> None:
    for corpus in (False, True):
        sides = (pl.Series([text, None], dtype=pl.String) for text in (query, response))
        assert tfidf_cosine(*sides, corpus=corpus).to_list() == [right if right is None else pytest.approx(right), None]


def test_no_rows() -> None:
    nothing = pl.Series([], dtype=pl.String)
    for corpus in (False, True):
        assert tfidf_cosine(nothing, nothing, corpus=corpus).to_list() == []
        assert tfidf_cosine(nothing, nothing, corpus=corpus).dtype == pl.Float64


def test_a_corpus_is_all_of_a_run_and_nothing_else() -> None:
    samples = [{"user_input": "red kite", "response": "red owl"}, {"user_input": "kite", "response": "a kite"}]
    other = [{"user_input": "red owl owl", "response": "red red"}]
    alone = rf.evaluate_samples(samples, metrics=[CORPUS]).scores[CORPUS]
    beside = rf.evaluate_samples({"ours": samples, "theirs": other}, metrics=[CORPUS]).scores.filter(run_id="ours")
    assert alone.equals(beside[CORPUS])
    assert alone[0] != rf.evaluate_samples(samples[:1], metrics=[CORPUS]).scores[CORPUS][0]
    pairs = rf.evaluate_samples(samples, metrics=[PAIR]).scores[PAIR]
    assert pairs[0] == rf.evaluate_samples(samples[:1], metrics=[PAIR]).scores[PAIR][0]


@pytest.mark.parametrize("corpus", [False, True])
def test_many_texts_in_any_order_give_the_same_bits(corpus: bool) -> None:  # noqa: FBT001
    """However many threads add them up."""
    pairs = [(references[0], response) for response, references in hostile_pairs(2, 4_000)]
    query, response = (pl.Series(side) for side in zip(*pairs, strict=True))
    first = tfidf_cosine(query, response, corpus=corpus)
    assert first.is_between(0.0, 1.0).all()
    for seed in range(4):
        order = pl.int_range(len(query), eager=True).shuffle(seed)
        again = tfidf_cosine(query.gather(order), response.gather(order), corpus=corpus)
        assert again.to_list() == first.gather(order).to_list()
