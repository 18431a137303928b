"""TF-IDF of character n-grams: the committed run, the definition in plain Python, odd input."""

from __future__ import annotations

import math
import re
from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankframe as rf
from rankframe.errors import MetricError
from rankframe.retrievers import tfidf
from rankframe.retrievers.tfidf import TfIdf
from tests.retrievers.shared import (
    HANDBOOK,
    best_of,
    check_threads,
    check_what_is_refused,
    corpora,
    handbook_run,
    rows,
    texts,
)

Range = tuple[int, int]


def _grams(text: str, ngrams: Range) -> Counter[str]:
    padded = [f" {word} " for word in re.findall(r"\w+", text.lower())]
    lengths = range(ngrams[0], ngrams[1] + 1)
    return Counter(word[i : i + n] for word in padded for n in lengths for i in range(len(word) - n + 1))


def _cosines(corpus: dict[str, str], query: str, ngrams: Range) -> dict[str, float]:
    """The definition: whole vectors, one product for each document."""
    counts = {doc: _grams(text, ngrams) for doc, text in corpus.items()}
    df = Counter(gram for bag in counts.values() for gram in bag)
    idf = {gram: math.log((1 + len(corpus)) / (1 + n)) + 1 for gram, n in df.items()}

    def unit(bag: Counter[str]) -> dict[str, float]:
        weighted = {gram: n * idf[gram] for gram, n in bag.items() if gram in idf}
        norm = math.sqrt(sum(weight**2 for weight in weighted.values()))
        return {gram: weight / norm for gram, weight in weighted.items()}

    asked = unit(_grams(query, ngrams))
    units = {doc: unit(bag) for doc, bag in counts.items()}
    return {doc: round(sum(asked.get(gram, 0) * w for gram, w in vector.items()), 12) for doc, vector in units.items()}


def test_the_committed_run_is_reproduced() -> None:
    queries = rf.read_queries(HANDBOOK)
    found = TfIdf(HANDBOOK).search(queries["text"].to_list(), limit=20)
    assert handbook_run("tfidf") == rows(queries, found)


@given(corpora, st.lists(texts, max_size=3), st.integers(1, 14), st.sampled_from([(3, 5), (1, 1), (2, 3), (6, 9)]))
def test_the_scores_are_the_definition(corpus: dict[str, str], queries: list[str], limit: int, ngrams: Range) -> None:
    """Equal scores by id, descending, across the cut too; what has no gram of the query is left out."""
    index = TfIdf(corpus, ngrams=ngrams)
    found = index.search(queries, limit)
    for query, hits in zip(queries, found, strict=True):
        expected = _cosines(corpus, query, ngrams)
        ranked = best_of({doc: score for doc, score in expected.items() if score > 0}, limit)
        assert [doc for doc, _ in ranked] == [doc for doc, _ in hits]
        assert [score for _, score in hits] == pytest.approx([score for _, score in ranked], abs=1.1e-12)
    if limit > 1:
        assert [hits[: limit - 1] for hits in found] == index.search(queries, limit - 1)


@given(corpora)
def test_blocks_do_not_change_the_scores(corpus: dict[str, str]) -> None:
    expected = TfIdf(corpus).search(["red kites", "owl"])
    for block in (1, 20, 100):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(tfidf, "_BLOCK", block)
            assert expected == TfIdf(corpus).search(["red kites", "owl"])


def test_the_handbook_in_blocks() -> None:
    queries = rf.read_queries(HANDBOOK)["text"].to_list()
    expected = TfIdf(HANDBOOK).search(queries)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tfidf, "_BLOCK", 1000)
        assert expected == TfIdf(HANDBOOK).search(queries)


def test_a_text_is_most_like_itself() -> None:
    corpus = {"d1": "A red kite.", "d2": "A red kite", "d3": "Red kites over a field", "d4": ""}
    [hits] = TfIdf(corpus).search(["kite, RED a"])
    assert hits[:2] == [("d2", 1.0), ("d1", 1.0)]
    assert [doc for doc, _ in hits] == ["d2", "d1", "d3"]


@pytest.mark.parametrize("corpus", [{}, {"d1": ""}, {"d1": "?! ..", "d2": "-"}])
def test_a_corpus_without_words_finds_nothing(corpus: dict[str, str]) -> None:
    assert TfIdf(corpus).search(["a kite", ""]) == [[], []]


def test_words_too_short_for_any_gram_find_nothing() -> None:
    index = TfIdf({"d1": "a b c", "d2": "ab a", "d3": "abcdef", "d4": "z"}, ngrams=(8, 8))
    assert index.search(["a", "abcdef a"]) == [[], [("d3", 1.0)]]


def test_odd_texts_and_queries() -> None:
    index = TfIdf({"d1": "Straße 東京 \U0001f985 ΟΔΟΣ", "": "kite", "d2": "x" * 100_000})
    assert index.search([]) == []
    found = index.search(["東京 \ud800", "STRASSE", "οδος", "?", "kite\x00", "xxxxxx"], limit=1000)
    assert [[doc for doc, _ in hits] for hits in found] == [["d1"], ["d1"], ["d1"], [], [""], ["d2"]]
    assert index.search(["kite"]) == [[("", 1.0)]]


def test_threads_may_share_an_index() -> None:
    check_threads(TfIdf(HANDBOOK), rf.read_queries(HANDBOOK)["text"].to_list())


def test_it_tells_itself() -> None:
    index = TfIdf({"d1": "kite"}, ngrams=(3, 4))
    assert repr(index) == "TfIdf(1 document, ngrams=(3, 4), 7 grams)"
    assert (index.n_docs, index.n_grams, index.ngrams) == (1, 7, (3, 4))


def test_what_is_refused() -> None:
    check_what_is_refused(lambda: TfIdf({"d1": "kite"}))
    wrong: list[Any] = [3, (3,), (0, 2), (5, 3), (True, 2), (1.0, 2), "35", (1, 2, 3), None]
    for ngrams in wrong:
        with pytest.raises(MetricError, match=r"ngrams=.*: expected the shortest and the longest n from 1, as in"):
            TfIdf({"d1": "kite"}, ngrams=ngrams)
