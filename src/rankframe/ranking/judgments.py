"""Judgments made ready: each pair once, in ideal order, found by hash."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from rankframe.errors import DataError
from rankframe.frames.checks import Duplicates, Loaded, choice, settled_judgments
from rankframe.frames.ledger import Note

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Integers = NDArray[np.int64]
    Hashes = NDArray[np.uint64]

_SEEDS = 8  # hash seeds that are tried until no two judged pairs share a hash


@dataclass(frozen=True, slots=True)
class Judgments:
    """Judgments made ready once for any number of runs.

    frame: query_id, doc_id String, relevance Float64; one row per judgment, sorted by query and relevance
        descending: the ideal ranking. With `by_id`, equal grades stand in the order of their ids, else as they came.
    query, ideal_rank: for each row, the number of its query and its place in the ideal ranking.
    queries: query_id String, sorted: what the numbers stand for. n_rel: documents of each with a grade above 0.
    docs: the hashes of the judged documents. keys, key_rows: hashes of the judged pairs, sorted, and their rows.
    """

    frame: pl.DataFrame
    query: Integers
    ideal_rank: Integers
    queries: pl.Series
    n_rel: Integers
    max_grade: float
    docs: pl.Series
    keys: Hashes
    key_rows: Integers
    seed: int
    notes: tuple[Note, ...]


def judge(loaded: Loaded, duplicates: Duplicates = "error", *, by_id: bool = True) -> Judgments:
    """Make judgments ready: each pair once, in ideal order, with their queries numbered.

    Without `by_id` the order of equal grades is left as it is, which no metric can see.

    Raises:
        DataError: for no judgments at all, or pairs with different grades (unless `duplicates="best"`).
    """
    import numpy as np

    choice("duplicates", duplicates, ("error", "best"))
    frame = loaded.frame
    if frame.is_empty():
        raise DataError(f"{loaded.where}: there are no judgments; expected columns query_id, doc_id, relevance")
    notes = loaded.notes
    queries, query = _numbered(frame["query_id"])
    for seed in range(_SEEDS):
        keys = pair_keys(frame["doc_id"].hash(seed).to_numpy(), query)
        key_rows = np.argsort(keys)
        if (np.diff(keys[key_rows]) != 0).all():
            break
        if not seed:  # a pair stands there twice, which settling ends, or two pairs share a hash by chance
            settled = settled_judgments(loaded, duplicates)
            frame, notes = settled.frame, settled.notes
            queries, query = _numbered(frame["query_id"])
    relevance = frame["relevance"].to_numpy()
    ties = frame["doc_id"].rank("ordinal").to_numpy() if by_id else np.arange(len(query))
    order = np.lexsort((ties, -relevance, query)) if by_id else np.lexsort((-relevance, query))
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    query = query[order]
    starts = np.flatnonzero(np.diff(query, prepend=-1))
    return Judgments(
        frame=frame.select("query_id", "doc_id", "relevance")[order],
        query=query,
        ideal_rank=np.arange(len(query)) - starts[query] + 1,
        queries=queries,
        n_rel=np.add.reduceat((relevance[order] > 0).astype(np.int64), starts),
        max_grade=max(float(relevance.max()), 1.0),
        docs=frame["doc_id"].hash(seed),
        keys=keys[key_rows],
        key_rows=place[key_rows],
        seed=seed,
        notes=tuple(notes),
    )


def _numbered(ids: pl.Series) -> tuple[pl.Series, Integers]:
    """The distinct ids, sorted, and for every row the number of its id among them."""
    import numpy as np

    groups = ids.rle()
    values = groups.struct.field("value")
    number = values.rank("dense").to_numpy().astype(np.int64) - 1
    return values.unique().sort().alias(ids.name), np.repeat(number, groups.struct.field("len").to_numpy())


def pair_keys(docs: Hashes, query: Integers) -> Hashes:
    """One 64-bit number per (query, document): the document's hash, and the query's number spread over all bits."""
    import numpy as np

    return docs ^ (query.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15))
