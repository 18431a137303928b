"""Judgments made ready: each pair once, in ideal order, found by hash."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

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

    frame: query_id, doc_id String, relevance Float64, ...; one row per judgment, in any order.
    query, ideal_rank: for each row, the number of its query and its place in the ideal ranking.
    order: the rows by query and ideal rank. With `by_id`, equal grades stand in the order of their ids.
    ends: for each query, where its rows end in this order.
    queries: query_id String, sorted: what the numbers stand for; numbers: the same by id. n_rel: documents of each
        with a grade above 0.
    docs: the hash of each row's document. keys: the hashes of the pairs, sorted, all different; by_key: their rows.
    """

    frame: pl.DataFrame
    query: Integers
    ideal_rank: Integers
    order: Integers
    ends: Integers
    queries: pl.Series
    numbers: dict[str, int]
    n_rel: Integers
    max_grade: float
    docs: pl.Series
    keys: Hashes
    by_key: Integers
    seed: int
    notes: tuple[Note, ...]

    def docs_of(self, queries: Integers) -> pl.Series:
        """The hashes of the documents that are judged for these queries, given by their numbers, ascending."""
        import numpy as np

        if len(queries) == len(self.queries):
            return self.docs
        ends = self.ends[queries]
        lengths = ends - np.where(queries > 0, self.ends[queries - 1], 0)
        at = np.arange(lengths.sum()) + np.repeat(ends - np.cumsum(lengths), lengths)
        docs: pl.Series = self.docs[self.order[at]]
        return docs


def judge(loaded: Loaded, duplicates: Duplicates = "error", *, by_id: bool = True) -> Judgments:
    """Make judgments ready: each pair once, with their queries numbered and their ideal ranking known.

    Without `by_id` the order of equal grades is left as it is, which no metric can see.

    Raises:
        DataError: for no judgments at all, or pairs with different grades (unless `duplicates="best"`).
    """
    import numpy as np

    choice("duplicates", duplicates, ("error", "best"))
    frame, notes = loaded.frame, loaded.notes
    if frame.is_empty():
        raise DataError(f"{loaded.where}: there are no judgments; expected columns query_id, doc_id, relevance")
    numbers, query = _numbered(frame["query_id"])
    for seed in range(_SEEDS):
        docs = frame["doc_id"].hash(seed)
        keys = pair_keys(docs.to_numpy(), query, len(numbers))
        by_key = np.argsort(keys)
        if (np.diff(keys[by_key]) != 0).all():
            break
        if not seed:  # a pair stands there twice, which settling ends, or two pairs share a hash by chance
            settled = settled_judgments(loaded, duplicates)
            frame, notes = settled.frame, settled.notes
            numbers, query = _numbered(frame["query_id"])
    else:
        raise DataError(f"{loaded.where}: no hash tells all judged pairs apart")
    relevance = frame["relevance"].to_numpy()
    by = (_narrow(-relevance), _narrow(query))
    order = np.lexsort((frame["doc_id"].rank("ordinal").to_numpy(), *by)) if by_id else np.lexsort(by)
    sizes = np.bincount(query)
    ends = np.cumsum(sizes)
    ideal_rank = np.empty(len(query), dtype=np.int64)
    ideal_rank[order] = np.arange(1, len(query) + 1) - np.repeat(ends - sizes, sizes)
    return Judgments(
        frame=frame,
        query=query,
        ideal_rank=ideal_rank,
        order=order,
        ends=ends,
        queries=pl.Series("query_id", list(numbers), dtype=pl.String),
        numbers=numbers,
        n_rel=np.bincount(query[relevance > 0], minlength=len(numbers)),
        max_grade=max(float(relevance.max()), 1.0),
        docs=docs,
        keys=keys[by_key],
        by_key=by_key,
        seed=seed,
        notes=tuple(notes),
    )


def _numbered(ids: pl.Series) -> tuple[dict[str, int], Integers]:
    """The distinct ids in their order, each with its number, and for every row the number of its id.

    Python orders text by code points, which is the order of its bytes in UTF-8.
    """
    import numpy as np

    groups = ids.rle().struct.unnest()
    values = groups["value"].to_list()
    numbers = {query: number for number, query in enumerate(sorted(set(values)))}
    of_group = np.fromiter(map(numbers.__getitem__, values), dtype=np.int64, count=len(values))
    return numbers, np.repeat(of_group, groups["len"].to_numpy())


def _narrow(values: NDArray[Any]) -> NDArray[Any]:
    """The same values as 16-bit integers where they are such, which sort several times faster."""
    import numpy as np

    with np.errstate(invalid="ignore"):  # what does not fit is seen by the comparison
        narrow = values.astype(np.int16)
    return narrow if (narrow == values).all() else values


def pair_keys(docs: Hashes, query: Integers, n_queries: int) -> Hashes:
    """One 64-bit number per (query, document): the query's number in the upper bits, the document's hash below.

    Rows that stand query by query then have keys that lie together, which makes looking them up several times faster.
    """
    import numpy as np

    bits = max(n_queries - 1, 1).bit_length()
    return (query.astype(np.uint64) << np.uint64(64 - bits)) | (docs >> np.uint64(bits))
