"""The handbook's documents and runs, texts for property tests, and the laws that every search keeps."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Protocol

import polars as pl
import pytest
from hypothesis import strategies as st

import rankframe as rf
from rankframe.errors import DataError, MetricError

HANDBOOK = Path(__file__).resolve().parents[2] / "data" / "handbook"

Hits = list[tuple[str, float]]

WORDS = ["kite", "kites", "red", "owl", "Owls", "straße", "čáp", "鳶", "x", "the", "a_b", "42"]
texts = st.lists(st.sampled_from(WORDS), max_size=6).map(" ".join)
corpora = st.dictionaries(st.text(max_size=3), texts, max_size=12)


class Search(Protocol):
    def search(self, queries: list[str], limit: int = 100) -> list[Hits]: ...


def handbook_run(tag: str) -> list[tuple[str, str, float]]:
    """The rows of a committed run, as they stand."""
    return rf.read_run(HANDBOOK / "runs" / f"{tag}.trec").select("query_id", "doc_id", "score").rows()


def rows(queries: pl.DataFrame, found: list[Hits]) -> list[tuple[str, str, float]]:
    """What was found, as the rows of a run."""
    return [(query, doc, score) for query, hits in zip(queries["query_id"], found, strict=True) for doc, score in hits]


def best_of(scores: Mapping[str, float], limit: int) -> Hits:
    """The order that the project means, said in plain Python."""
    ranked = sorted(scores.items(), key=lambda hit: (hit[1], hit[0].encode()), reverse=True)
    return ranked[:limit]


def check_threads(searcher: Search, queries: list[str]) -> None:
    """Searches at the same time find what they find alone."""
    expected = searcher.search(queries)
    with ThreadPoolExecutor(4) as pool:
        assert [expected] * 16 == list(pool.map(searcher.search, [queries] * 16))


def check_what_is_refused(make: Callable[[], Search]) -> None:
    """The arguments of a search are checked by all of them."""
    searcher = make()
    with pytest.raises(DataError, match=r"queries= is a list of texts, got one text; search\(\['red kite'\]\) asks"):
        searcher.search("red kite")  # type: ignore[arg-type]
    with pytest.raises(DataError, match="queries= is a list of texts, got a dict"):
        searcher.search({"q1": "red kite"})  # type: ignore[arg-type]
    with pytest.raises(DataError, match="queries= is a list of texts, but holds None at position 1, 3 at position 2"):
        searcher.search(["red kite", None, 3])  # type: ignore[list-item]
    for limit in (0, -1, True, 2.0, None, "10"):
        with pytest.raises(MetricError, match=r"limit is a whole number from 1, got "):
            searcher.search(["red kite"], limit)  # type: ignore[arg-type]
