"""Where a run has the judged documents.

The order of a run is its score, higher first; equal scores are ordered by document id, descending, by bytes
(trec_eval's rule). A rank is counted over all documents of the run, but found only for the judged ones: judge
first, rank what is judged. Cost is a few linear passes over the run and no sort of it where its rows already stand by
query and score; otherwise one sort of row numbers by score within each query.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import polars as pl

from rankframe.errors import DataError, counted
from rankframe.frames.checks import Duplicates, Loaded, choice
from rankframe.frames.ledger import Note, note, pairs
from rankframe.metrics.rows import places
from rankframe.ranking.judgments import Judgments, pair_keys

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Integers = NDArray[np.int64]
    Hashes = NDArray[np.uint64]
    Scores = NDArray[np.float64]
    Flags = NDArray[np.bool_]

_LARGE = 200_000  # rows from which on it pays to look at some before a pass over all of them is made
_FEW = 4  # rows for each judgment up to which looking for judged documents first does not pay
_LOOK = 4096  # how many are looked at


@dataclass(frozen=True, slots=True)
class Ranking:
    """One run over the judgments: where it has what was judged.

    rank: for each row of `Judgments.frame`, the place of the document in the run, 0 where it is not there.
    found: the rows of those that are there, mostly in the order of the run.
    n_ret: for each query, how many documents the run has. n_queries: how many queries it has, judged or not.
    """

    run_id: str
    rank: Integers
    found: Integers
    n_ret: Integers
    n_queries: int
    notes: tuple[Note, ...]


@dataclass(slots=True)
class _Listing:
    """The rows of a run, query by query and best score first.

    queries: the query id of each group. starts, ends: where it lies among the positions. order: position -> row of
    the frame, None where the frame already stands in this order. by_row: the scores by row. hashes: of the documents,
    by row.
    """

    frame: pl.DataFrame
    queries: pl.Series
    starts: Integers
    ends: Integers
    order: Integers | None
    by_row: Scores
    hashes: pl.Series

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

    def group_of(self, rows: Integers) -> Integers:
        """Which group each row of the frame belongs to."""
        import numpy as np

        if self.order is None:
            groups: Integers = np.searchsorted(self.starts, rows, side="right") - 1
            return groups
        by_id = self.queries.arg_sort()
        place = self.queries[by_id].search_sorted(self.frame["query_id"][rows])
        return by_id[place].to_numpy().astype(np.int64)


def rank_run(
    run_id: str,
    loaded: Loaded,
    judgments: Judgments,
    *,
    duplicates: Duplicates = "error",
    self_hits: Literal["keep", "drop"] = "keep",
    cutoff: int | None = None,
    asked: Flags | None = None,
) -> Ranking:
    """Find where the run has the judged documents.

    Args:
        run_id: the name of the run.
        loaded: the run: query_id, doc_id String, score Float64 without null or NaN; perhaps rank.
        judgments: what `judge` made.
        duplicates: "error", or "best" to keep the best score of a repeated pair and note the rest.
        self_hits: "drop" takes out documents whose id is the query's.
        cutoff: the largest cutoff asked, for the notes on ties there and on results that are too few since they were
            collapsed.
        asked: which judged queries these notes are about; all unless given.

    Raises:
        DataError: for a repeated pair (unless `duplicates="best"`).
    """
    import numpy as np

    choice("duplicates", duplicates, ("error", "best"))
    notes = list(loaded.notes)
    frame = loaded.frame
    if self_hits == "drop":
        own = frame["doc_id"] == frame["query_id"]
        if own.any():
            notes.append(note("self_hit_dropped", pairs(frame.filter(own)), int(own.sum())))
            frame = frame.filter(~own)
    listing = _listing(frame, judgments.seed)
    repeated = _repeated_groups(listing)
    if len(repeated):
        frame, resolved = _without_duplicates(frame, listing.queries[repeated], loaded.where, duplicates)
        if resolved:
            notes.extend(resolved)
            listing = _listing(frame, judgments.seed)
    query = _query_numbers(listing.queries, judgments)
    known = query >= 0
    n_ret = np.zeros(len(judgments.queries), dtype=np.int64)
    n_ret[query[known]] = (listing.ends - listing.starts)[known]
    judgment, row, group = _hits(listing, query, judgments)
    rank = np.zeros(len(judgments.query), dtype=np.int64)
    rank[judgment] = _places(listing, row, group)
    if not known.all():
        notes.append(note("unjudged_query", listing.queries.filter(pl.Series(~known)).sort().to_list()))
    if cutoff is not None:
        notes.extend(_ties_at(cutoff, listing, known if asked is None else known & asked[query]))
        short = [query for query, left in loaded.collapsed.items() if left < cutoff and query in judgments.numbers]
        notes.append(note("collapsed_below_cutoff", short))
    if "rank" in frame.columns:
        notes.extend(_contradictions(listing))
    return Ranking(run_id, rank, judgment, n_ret, len(listing.queries), tuple(n.of(run_id) for n in notes))


def _listing(frame: pl.DataFrame, seed: int) -> _Listing:
    """Bring the rows together by query, best score first; at no cost where they stand so."""
    import numpy as np

    ids, scores, hashes = frame["query_id"], frame["score"].to_numpy(), frame["doc_id"].hash(seed)
    if frame.height < _LARGE or ids.head(_LOOK).rle_id().n_unique() == ids.head(_LOOK).n_unique():
        groups = ids.rle().struct.unnest()
        values = groups["value"]
        if values.n_unique() == len(values):
            ends = np.cumsum(groups["len"].to_numpy(), dtype=np.int64)
            starts = ends - groups["len"].to_numpy()
            rising = np.flatnonzero(scores[1:] > scores[:-1]) + 1
            if (starts[np.searchsorted(starts, rising, side="right") - 1] == rising).all():
                return _Listing(frame, values, starts, ends, None, scores, hashes)
    grouped = (
        frame.lazy()
        .select("query_id", "score", row=pl.int_range(pl.len(), dtype=pl.UInt32))
        .group_by("query_id")
        .agg(pl.col("row").sort_by("score", descending=True))
        .collect()
    )
    lengths = grouped["row"].list.len().to_numpy()
    ends = np.cumsum(lengths, dtype=np.int64)
    starts = ends - lengths
    order = grouped["row"].explode(empty_as_null=False).to_numpy()
    return _Listing(frame, grouped["query_id"], starts, ends, order, scores, hashes)


def _repeated_groups(listing: _Listing) -> Integers:
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


def _without_duplicates(
    frame: pl.DataFrame, queries: pl.Series, where: str, duplicates: Duplicates
) -> tuple[pl.DataFrame, list[Note]]:
    """Confirm repeated pairs by their text; refuse them, or keep the best score of each."""
    row = pl.int_range(pl.len()).alias("row")
    suspects = frame.with_columns(row).filter(pl.col("query_id").is_in(queries.implode()))
    twice = suspects.filter(pl.struct("query_id", "doc_id").is_duplicated())
    if twice.is_empty():
        return frame, []
    distinct = twice.unique(["query_id", "doc_id"], maintain_order=True)
    if duplicates == "error":
        examples = pairs(distinct)
        more = f" and {distinct.height - len(examples):,} more" if distinct.height > len(examples) else ""
        raise DataError(
            f"{where}: {counted(distinct.height, '(query, document) pair')} more than once: "
            f'{", ".join(examples)}{more}; duplicates="best" keeps the best score of each and counts the rest'
        )
    best = twice.sort("score", descending=True, maintain_order=True).unique(["query_id", "doc_id"], keep="first")
    worse = twice.filter(~pl.col("row").is_in(best["row"].implode()))
    kept = frame.filter(~pl.int_range(pl.len()).is_in(worse["row"].implode()))
    return kept, [note("duplicate_dropped", pairs(worse), worse.height)]


def _query_numbers(queries: pl.Series, judgments: Judgments) -> Integers:
    """The number that the judgments give each query id, -1 where they do not have it."""
    import numpy as np

    return np.fromiter((judgments.numbers.get(query, -1) for query in queries.to_list()), np.int64, len(queries))


def _hits(listing: _Listing, query: Integers, judgments: Judgments) -> tuple[Integers, Integers, Integers]:
    """The judgments that the run has, its rows that have them, and their groups.

    Documents that are judged for any query are found by their hash, pairs among them by the hash of the pair; what is
    found so is confirmed by its text.
    """
    import numpy as np

    row = np.arange(listing.frame.height)
    if len(row) > _FEW * len(judgments.docs):
        row = np.flatnonzero(listing.hashes.is_in(judgments.docs.implode()).to_numpy())
    group = listing.group_of(row)
    known = query[group] >= 0
    row, group = row[known], group[known]
    number = query[group]
    keys = pair_keys(listing.hashes[row].to_numpy(), number, len(judgments.queries))
    at = np.minimum(np.searchsorted(judgments.keys, keys), len(judgments.keys) - 1)
    judgment = judgments.by_key[at]
    found = np.flatnonzero((judgments.keys[at] == keys) & (judgments.query[judgment] == number))
    judgment, row, group = judgment[found], row[found], group[found]
    same = (judgments.frame["doc_id"][judgment] == listing.frame["doc_id"][row]).to_numpy()
    return judgment[same], row[same], group[same]


def _places(listing: _Listing, row: Integers, group: Integers) -> Integers:
    """Ranks of the documents in these rows: ties are put in the order of document ids, descending."""
    import numpy as np

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


def _first(listing: _Listing, score: Scores, low: Integers, high: Integers, *, strictly: bool) -> Integers:
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


def _ties_at(cutoff: int, listing: _Listing, known: Flags) -> list[Note]:
    """Judged queries whose first `cutoff` places end between two documents with the same score."""
    import numpy as np

    cutoff = places(cutoff)
    deeper = np.flatnonzero(known & (listing.ends - listing.starts > cutoff))
    last = listing.starts[deeper] + cutoff - 1
    tied = deeper[listing.scores(last) == listing.scores(last + 1)]
    return [note("tie_at_cutoff", listing.queries[tied].sort().to_list())] if len(tied) else []


def _contradictions(listing: _Listing) -> list[Note]:
    """Queries whose rank column puts a document with a lower score above one with a higher score."""
    import numpy as np

    ranks = listing.frame["rank"]
    if ranks.dtype == pl.String:
        ranks = ranks.cast(pl.Float64, strict=False)
    if not ranks.dtype.is_numeric():
        return []
    ranks = listing.at(ranks)
    falls = _falls(ranks)
    falls = falls[listing.starts[np.searchsorted(listing.starts, falls, side="right") - 1] != falls]
    if not len(falls):
        return []
    rank = ranks.to_numpy()  # NaN where there is none
    queries = []
    for group in np.unique(np.searchsorted(listing.starts, falls, side="right") - 1).tolist():
        positions = np.arange(listing.starts[group], listing.ends[group])
        positions = positions[~np.isnan(rank[positions])]
        scores = listing.scores(positions)
        worst_above = np.maximum.accumulate(rank[positions])
        first_of_tie = np.searchsorted(-scores, -scores, side="left")
        above = first_of_tie > 0
        if (rank[positions][above] < worst_above[first_of_tie[above] - 1]).any():
            queries.append(group)
    return [note("rank_contradicts_score", listing.queries[queries].sort().to_list())]


def _falls(ranks: pl.Series) -> Integers:
    """Where a rank is not at least the one before it, or one of the two is missing; without a copy of all of them."""
    import numpy as np

    found, offset, last = [], 0, None
    for chunk in ranks.get_chunks():
        values = chunk.to_numpy()
        falls = np.flatnonzero(~(values[1:] >= values[:-1])) + 1
        if last is not None and len(values) and not values[0] >= last:
            falls = np.concatenate(([0], falls))
        found.append(falls + offset)
        offset += len(values)
        last = values[-1] if len(values) else last
    return np.concatenate(found) if found else np.empty(0, dtype=np.int64)
