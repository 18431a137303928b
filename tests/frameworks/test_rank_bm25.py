"""rank-bm25: the best documents, and the scores of all."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("rank_bm25", reason="needs rank-bm25, of the extra `frameworks`")

from rank_bm25 import BM25Okapi

import rankframe as rf
from tests.frameworks.shared import CHUNKS, QUERIES, by_rank, ranked, recall_is_right, source, words

NAMES = list(CHUNKS)


@pytest.fixture
def model() -> Any:
    return BM25Okapi([words(text) for text in CHUNKS.values()])


def test_the_best_documents(model: Any) -> None:
    found = rf.retrieve(lambda query, limit: model.get_top_n(words(query), NAMES, n=limit), QUERIES, limit=7)
    assert ranked(found) == by_rank(
        {query: [(doc, 0.0) for doc in model.get_top_n(words(text), NAMES, n=7)] for query, text in QUERIES.items()}
    )
    documents = [source(chunk) for chunk in NAMES]
    assert recall_is_right(rf.retrieve(lambda query, k: model.get_top_n(words(query), documents, n=k), QUERIES))


def test_the_scores_of_all(model: Any) -> None:
    def scores(query: str) -> dict[str, float]:
        return dict(zip(NAMES, model.get_scores(words(query)), strict=True))

    found = rf.retrieve(scores, QUERIES, limit=7)
    assert ranked(found) == {
        query: sorted(scores(text).items(), key=lambda pair: (pair[1], pair[0]), reverse=True)[:7]
        for query, text in QUERIES.items()
    }


def test_scores_without_their_documents_are_refused(model: Any) -> None:
    with pytest.raises(rf.DataError, match="a float, has no id"):
        rf.retrieve(lambda query: model.get_scores(words(query)), QUERIES)
