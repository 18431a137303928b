"""What every search shares: texts of documents, the order, the cut."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankframe.errors import DataError
from rankframe.retrievers.searching import best, searched_texts
from tests.retrievers.shared import HANDBOOK


@given(st.lists(st.sampled_from([-1.0, 0.0, 0.5, 0.5000001, 2.0])), st.integers(1, 12), st.randoms())
def test_the_best_are_those_that_a_sort_puts_first(scores: list[float], limit: int, random: Any) -> None:
    """Of equal scores those with the higher place, across the cut too."""
    places = list(range(len(scores)))
    random.shuffle(places)
    ranked = sorted(range(len(scores)), key=lambda at: (scores[at], places[at]), reverse=True)
    assert ranked[:limit] == best(np.array(scores), np.array(places, dtype=np.int64), limit).tolist()


def test_title_and_text_are_searched() -> None:
    frame = pl.DataFrame(
        {
            "doc_id": ["b", "a", "d", "c", "é", "e"],
            "title": ["T", None, "", "T", " ", None],
            "text": ["x", "x", "x", None, "x", None],
        }
    )
    ids, texts = searched_texts(frame)
    assert ids == ["a", "b", "c", "d", "e", "é"]
    assert texts == ["x", "T x", "T", "x", "", "  x"]


def test_a_corpus_may_be_anything_that_holds_one(tmp_path: Any) -> None:
    frame = pl.DataFrame({"_id": [2, 10], "text": ["x", "y"]})
    frame.write_parquet(tmp_path / "corpus.parquet")
    expected = (["10", "2"], ["y", "x"])
    for corpus in (frame, frame.lazy(), frame.to_arrow(), frame.to_dicts(), {2: "x", 10: "y"}):
        assert expected == searched_texts(corpus)
    assert expected == searched_texts(tmp_path / "corpus.parquet")
    assert len(searched_texts(HANDBOOK)[0]) == len(searched_texts(HANDBOOK / "corpus.jsonl")[0]) > 50
    assert searched_texts({}) == ([], [])


def test_an_id_that_documents_share_is_refused() -> None:
    frame = pl.DataFrame({"doc_id": ["a", "b", "a", "c", "b", "a"], "text": [""] * 6})
    with pytest.raises(DataError, match=r"corpus: 2 doc_ids more than once: 'a', 'b'; frame\.unique"):
        searched_texts(frame)
    with pytest.raises(DataError, match="corpus: 1 record without doc_id: record 2"):
        searched_texts(pl.DataFrame({"doc_id": ["a", None], "text": ["", ""]}))
    with pytest.raises(DataError, match="corpus: a int holds no table"):
        searched_texts(3)
