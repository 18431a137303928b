"""The rows of a run, query by query and best score first, and the places of documents among them.

Cost is a few linear passes and no sort where the rows already stand so. Otherwise they are brought together by query,
and the rows above a few judged documents are counted; where these are many, or more is asked for, row numbers are
sorted by score within each query.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Integers = NDArray[np.int64]
    Scores = NDArray[np.float64]

_LARGE = 200_000  # rows from which on it pays to look at some before a pass over all of them is made
_LOOK = 4096  # how many are looked at
_COUNTED = 3  # comparisons for each row up to which counting is faster than sorting
_ROUNDS = 8  # judged documents of one query up to which it is


@dataclass(slots=True)
class Listing:
    """The rows of a run, query by query.

    queries: the query id of each group. starts, ends: where it lies among the positions. order: position -> row of
    the frame, None where the frame already stands in this order. by_row: the scores by row. hashes: of the documents,
    by row. best_first: whether the best score of each query stands first.
    """

    frame: pl.DataFrame
    queries: pl.Series
    starts: Integers
    ends: Integers
    order: Integers | None
    by_row: Scores
    hashes: pl.Series
    best_first: bool

    def rows(self, positions: Integers) -> Integers:
        """The frame's row numbers at these positions."""
        return positions if self.order is None else self.order[positions]

    def scores(self, positions: Integers) -> Scores:
        """The scores at these positions."""
        scores: Scores = self.by_row[self.rows(positions)]
        return scores

    def at(self, column: pl.Series) -> pl.Series:
        """A column of the frame, by position."""
        return column if self.order is None else column[self.order]

    def sort(self) -> None:
        """Put the best score of each query first."""
        import numpy as np

        if self.best_first:
            return
        lengths = self.ends - self.starts
        group = np.repeat(np.arange(len(lengths), dtype=np.uint32), lengths)
        row = np.arange(len(self.by_row), dtype=np.uint32) if self.order is None else self.order
        score = self.by_row if self.order is None else self.by_row[row]
        rows = pl.DataFrame([pl.Series("group", group).set_sorted(), pl.Series("score", score), pl.Series("row", row)])
        by_score = pl.col("row").sort_by("score", descending=True)
        ordered = rows.lazy().group_by("group", maintain_order=True).agg(by_score).collect()["row"]
        self.order, self.best_first = ordered.explode(empty_as_null=False).to_numpy(), True

    def group_of(self, rows: Integers) -> Integers:
        """Which group each row of the frame belongs to."""
        import numpy as np

        if self.order is None:
            groups: Integers = np.searchsorted(self.starts, rows, side="right") - 1
            return groups
        by_id = self.queries.arg_sort()
        place = self.queries[by_id].search_sorted(self.frame["query_id"][rows])
        return by_id[place].to_numpy().astype(np.int64)


def listed_rows(frame: pl.DataFrame, seed: int) -> Listing:
    """Bring the rows together by query; at no cost where they stand so."""
    import numpy as np

    ids, scores, hashes = frame["query_id"], frame["score"].to_numpy(), frame["doc_id"].hash(seed)
    if frame.height < _LARGE or ids.head(_LOOK).rle_id().n_unique() == ids.head(_LOOK).n_unique():
        groups = ids.rle().struct.unnest()
        values = groups["value"]
        if values.n_unique() == len(values):
            ends = np.cumsum(groups["len"].to_numpy(), dtype=np.int64)
            starts = ends - groups["len"].to_numpy()
            rising = np.flatnonzero(scores[1:] > scores[:-1]) + 1
            falling = bool((starts[np.searchsorted(starts, rising, side="right") - 1] == rising).all())
            return Listing(frame, values, starts, ends, None, scores, hashes, falling)
    row = pl.int_range(pl.len(), dtype=pl.UInt32)
    grouped = frame.lazy().select("query_id", row=row).group_by("query_id").agg("row").collect()
    lengths = grouped["row"].list.len().to_numpy()
    ends = np.cumsum(lengths, dtype=np.int64)
    starts = ends - lengths
    order = grouped["row"].explode(empty_as_null=False).to_numpy()
    return Listing(frame, grouped["query_id"], starts, ends, order, scores, hashes, best_first=False)


def repeated_groups(listing: Listing) -> Integers:
    """The groups in which two rows may have one document: those whose 64-bit hashes are not all different."""
    import numpy as np

    lengths = listing.ends - listing.starts
    group = pl.Series("group", np.repeat(np.arange(len(lengths), dtype=np.uint32), lengths)).set_sorted()
    distinct = (
        pl.DataFrame([group, listing.at(listing.hashes).alias("hash")])
        .lazy()
        .group_by("group", maintain_order=True)
        .agg(pl.col("hash").n_unique())
        .collect()
    )
    found: Integers = np.flatnonzero(distinct["hash"].to_numpy() < lengths)
    return found


def places_of(listing: Listing, row: Integers, group: Integers) -> Integers:
    """Ranks of the documents in these rows: ties are put in the order of document ids, descending."""
    import numpy as np

    if not listing.best_first:
        compared = (listing.ends - listing.starts)[group].sum()
        if compared <= _COUNTED * len(listing.by_row) and np.bincount(group, minlength=1).max() <= _ROUNDS:
            return _counted(listing, row, group)
        listing.sort()
    start, end = listing.starts[group], listing.ends[group]
    score = listing.by_row[row]
    if listing.order is None:  # the row is the position, and mostly a tie ends beside it
        before = (row > start) & (listing.by_row[np.maximum(row - 1, 0)] == score)
        after = (row + 1 < end) & (listing.by_row[np.minimum(row + 1, len(listing.by_row) - 1)] == score)
        place, tied = row - start + 1, np.flatnonzero(before | after)
        low = _first(listing, score[tied], start[tied], row[tied] + 1, strictly=False)
        high = _first(listing, score[tied], row[tied], end[tied], strictly=True)
    else:
        low = _first(listing, score, start, end, strictly=False)
        high = _first(listing, score, low, end, strictly=True)
        place, tied = low - start + 1, np.flatnonzero(high - low > 1)
        low, high = low[tied], high[tied]
    if not len(tied):
        return place
    block, one = np.unique(low, return_index=True)
    sizes = high[one] - block
    members = np.repeat(block - np.cumsum(sizes) + sizes, sizes) + np.arange(sizes.sum())
    rows = listing.rows(members)
    ordered = pl.DataFrame(
        [pl.Series("block", np.repeat(block, sizes)), listing.frame["doc_id"][rows], pl.Series("row", rows)]
    ).sort("block", "doc_id", descending=[False, True])["row"]
    by_row = np.argsort(ordered.to_numpy())  # where each row, in ascending order, went among the members
    settled = members[by_row[np.searchsorted(np.sort(rows), row[tied])]]
    place[tied] = settled - start[tied] + 1
    return place


def _counted(listing: Listing, row: Integers, group: Integers) -> Integers:
    """The same without an order: as many as stand above, counted among all rows of the query."""
    import numpy as np

    scores = listing.by_row if listing.order is None else listing.by_row[listing.order]
    place = np.empty(len(row), dtype=np.int64)
    by_group = np.argsort(group, kind="stable")
    first = np.flatnonzero(np.diff(group[by_group], prepend=-1))
    nth = np.arange(len(row)) - np.repeat(first, np.diff(first, append=len(row)))
    for n in range(int(nth.max(initial=-1)) + 1):  # one document of each query at a time
        here = by_group[nth == n]
        groups, positions = group[here], None
        if 2 * len(groups) > len(listing.starts):  # then all rows are looked at as they stand
            groups = np.arange(len(listing.starts))
        lengths = (listing.ends - listing.starts)[groups]
        offset = np.cumsum(lengths) - lengths
        if len(groups) < len(listing.starts):
            positions = np.arange(lengths.sum()) + np.repeat(listing.starts[groups] - offset, lengths)
        own = np.full(len(listing.starts), np.nan)  # above which nothing is, where there is no document
        own[group[here]] = listing.by_row[row[here]]
        score, mine = scores if positions is None else scores[positions], np.repeat(own[groups], lengths)
        above = np.zeros(len(listing.starts), dtype=np.int64)
        above[groups] = np.add.reduceat(score > mine, offset, dtype=np.int64)
        tied = np.flatnonzero(score == mine)
        above += _tied_above(listing, tied if positions is None else positions[tied], row[here], group[here])
        place[here] = 1 + above[group[here]]
    return place


def _tied_above(listing: Listing, positions: Integers, row: Integers, group: Integers) -> Integers:
    """For each group, at how many of the positions a document stands that ties go to before that of its row."""
    import numpy as np

    of = np.searchsorted(listing.ends, positions, side="right")
    own = np.zeros(len(listing.ends), dtype=np.int64)
    own[group] = row
    rows = listing.rows(positions)
    others = rows != own[of]
    of, rows = of[others], rows[others]
    docs = listing.frame["doc_id"]
    return np.bincount(of[(docs[rows] > docs[own[of]]).to_numpy()], minlength=len(listing.ends))


def _first(listing: Listing, score: Scores, low: Integers, high: Integers, *, strictly: bool) -> Integers:
    """The first position in [low, high) whose score is not above (or, strictly, is below) the given one; else high.

    A binary search in every range at once: within a query, scores descend.
    """
    import numpy as np

    low, high = low.copy(), high.copy()
    while len(open_ := np.flatnonzero(low < high)):
        middle = (low[open_] + high[open_]) // 2
        probe, wanted = listing.scores(middle), score[open_]
        below = (probe < wanted) if strictly else (probe <= wanted)
        high[open_] = np.where(below, middle, high[open_])
        low[open_] = np.where(below, low[open_], middle + 1)
    return low
