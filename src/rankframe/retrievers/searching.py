"""What every search over a corpus shares: its documents, the queries it takes, and the order of what it finds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rankframe.errors import DataError, counted, listed, with_more
from rankframe.frames.schemas import CORPUS
from rankframe.io.beir import Beir, full_text
from rankframe.io.readers import load_texts

Hits = list[tuple[str, float]]
"""The documents found for one query, best first, each with its score."""

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


def searched_texts(corpus: object) -> tuple[list[str], list[str]]:
    """The ids of a corpus by their bytes, and for each what is searched: title and text, joined by one blank.

    A null text is empty; a title that is null or empty is none.

    Raises:
        DataError: for what `read_corpus` refuses, and for an id that several documents share.

    >>> searched_texts({"d2": {"title": "Kites", "text": "A red kite."}, "d1": {"title": None, "text": "Owls."}})
    (['d1', 'd2'], ['Owls.', 'Kites A red kite.'])
    """
    loaded = load_texts(corpus.corpus if isinstance(corpus, Beir) else corpus, CORPUS)
    frame = loaded.frame
    unique_ids(frame["doc_id"], loaded.where)
    documents = frame.select("doc_id", full_text(frame)).sort("doc_id")
    return documents["doc_id"].to_list(), documents["text"].to_list()


def unique_ids(ids: pl.Series, where: str) -> None:
    """Refuse ids that stand there more than once, naming them."""
    if ids.n_unique() == len(ids):
        return
    repeated = ids.filter(ids.is_duplicated()).unique().sort()
    raise DataError(
        f"{where}: {counted(len(repeated), f'{ids.name}')} more than once: {listed(repeated)}; "
        f'frame.unique("{ids.name}", keep="first") keeps the first of each'
    )


def query_texts(queries: object) -> list[str]:
    """The texts of a list of queries.

    Raises:
        DataError: for one text, which would be read letter by letter, and for anything in the list that is no text.
    """
    if isinstance(queries, (str, bytes)):
        raise DataError(f"queries= is a list of texts, got one text; search([{queries[:40]!r}]) asks for one")
    if isinstance(queries, Mapping) or not isinstance(queries, Iterable):
        raise DataError(f"queries= is a list of texts, got a {type(queries).__name__}")
    texts = list(queries)
    wrong = [f"{text!r:.40} at position {at}" for at, text in enumerate(texts) if not isinstance(text, str)]
    if wrong:
        raise DataError(f"queries= is a list of texts, but holds {with_more(wrong[:3], len(wrong))}")
    return texts


def best(scores: NDArray[Any], places: Integers, limit: int) -> Integers:
    """Which `limit` of the scores are best, best first; of equal scores those whose place is higher.

    Args:
        scores: any numbers but NaN.
        places: for each score, the place of its document among all documents by id.
        limit: how many at most. A tie across it is decided by the places, like any other.

    Returns:
        Positions in `scores`; none for no scores.

    >>> best(np.array([0.5, 1.0, 0.5, 0.5]), np.array([7, 8, 9, 6]), 2).tolist()
    [1, 2]
    """
    cut = len(scores) - limit
    kept = np.arange(len(scores)) if cut <= 0 else np.flatnonzero(scores >= np.partition(scores, cut)[cut])
    order: Integers = kept[np.lexsort((places[kept], scores[kept]))[::-1][:limit]]
    return order


def best_hits(ids: list[str], scores: Floats, found: Integers, limit: int) -> Hits:
    """The best of the documents `found`, where ids and scores stand in the order of the ids."""
    chosen = found[best(scores[found], found, limit)]
    return [(ids[place], score) for place, score in zip(chosen.tolist(), scores[chosen].tolist(), strict=True)]
