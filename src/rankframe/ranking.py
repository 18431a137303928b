"""Run and judgments become the judged ranking. Order, ties, duplicates and coverage are decided here, nowhere else.

The order of a run is its score, higher first; equal scores are ordered by document id, descending, by bytes
(trec_eval's rule). A rank is counted over all documents of the run, but found only for the judged ones: judge
first, rank what is judged. Cost is a few linear passes over the run and no sort of it where its rows already stand by
query and score; otherwise one sort of row numbers by score within each query.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

import polars as pl

from rankframe.errors import DataError, counted
from rankframe.frames.checks import Duplicates, Loaded, choice, settled_judgments
from rankframe.frames.ledger import Note, note, pairs
from rankframe.metrics.rows import GROUP

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Integers = NDArray[np.int64]
    Flags = NDArray[np.bool_]

_LOOK = 4096  # rows that are looked at before a pass over all of them is made

COLUMNS = ("run_id", "query_id", "doc_id", "relevance", "rank", "ideal_rank", "n_ret")


@dataclass(frozen=True, slots=True)
class Judgments:
    """Judgments made ready once for any number of runs.

    frame: query UInt32 (number of the query), query_id, doc_id String, relevance Float64, ideal_rank Int64;
        one row per judgment, sorted by query_id, relevance descending, doc_id: the ideal ranking.
    queries: query UInt32, query_id String, n_rel Int64 (grade above 0); sorted.
    """

    frame: pl.DataFrame
    queries: pl.DataFrame
    max_grade: float
    notes: tuple[Note, ...]

    @property
    def starts(self) -> Integers:
        """The first row of each query in `frame`."""
        import numpy as np

        first: Integers = np.flatnonzero(self.frame["ideal_rank"].to_numpy() == 1)
        return first


def judge(loaded: Loaded, duplicates: Duplicates = "error") -> Judgments:
    """Make judgments ready: each pair once, in ideal order, with their queries numbered.

    Raises:
        DataError: for no judgments at all, or pairs with different grades (unless `duplicates="best"`).
    """
    import numpy as np

    if loaded.frame.is_empty():
        raise DataError(f"{loaded.where}: there are no judgments; expected columns query_id, doc_id, relevance")
    settled = settled_judgments(loaded, duplicates)
    frame = settled.frame.select("query_id", "doc_id", "relevance")
    new = (frame["query_id"] != frame["query_id"].shift()).fill_null(value=True).to_numpy()
    query = np.cumsum(new, dtype=np.uint32) - np.uint32(1)
    relevance = frame["relevance"].to_numpy()
    order = np.lexsort((-relevance, query))  # stable: equal grades stay in the order of their ids
    starts = np.flatnonzero(new)
    ideal_rank = np.arange(len(query)) - starts[query] + 1
    frame = frame[order].with_columns(
        pl.Series("query", query, dtype=pl.UInt32), pl.Series("ideal_rank", ideal_rank, dtype=pl.Int64)
    )
    n_rel = np.add.reduceat((relevance > 0).astype(np.int64), starts)
    queries = pl.DataFrame(
        [
            pl.int_range(len(starts), dtype=pl.UInt32, eager=True).alias("query"),
            frame["query_id"].gather(starts),
            pl.Series("n_rel", n_rel, dtype=pl.Int64),
        ]
    )
    return Judgments(frame, queries, max(float(relevance.max()), 1.0), tuple(settled.notes))


@dataclass(frozen=True, slots=True)
class Ranking:
    """One run over the judgments: where it has what was judged.

    rank: for each row of `Judgments.frame`, the place of the document in the run, 0 where it is not there.
    n_ret: for each query, how many documents the run has.
    """

    run_id: str
    rank: Integers
    n_ret: Integers
    notes: tuple[Note, ...]


@dataclass(slots=True)
class _Listing:
    """The rows of a run, query by query and best score first.

    queries: the query id of each group. starts, ends: its rows as positions. order: position -> row of the frame,
    None where the frame already stands in this order. scores: by position.
    """

    frame: pl.DataFrame
    queries: pl.Series
    starts: Integers
    ends: Integers
    order: Integers | None
    scores: NDArray[np.float64]
    notes: list[Note] = field(default_factory=list)

    def rows(self, positions: Integers) -> Integers:
        """The frame's row numbers at these positions."""
        return positions if self.order is None else self.order[positions]

    def at(self, column: pl.Series) -> pl.Series:
        """A column of the frame, by position."""
        return column if self.order is None else column.gather(self.order)

    def group_of(self, positions: Integers) -> Integers:
        """Which group each position belongs to."""
        import numpy as np

        groups: Integers = np.searchsorted(self.starts, positions, side="right") - 1
        return groups


def rank_run(
    run_id: str,
    loaded: Loaded,
    judgments: Judgments,
    *,
    duplicates: Duplicates = "error",
    self_hits: Literal["keep", "drop"] = "keep",
    cutoff: int | None = None,
) -> Ranking:
    """Find where the run has the judged documents.

    Args:
        run_id: the name of the run.
        loaded: the run: query_id, doc_id String, score Float64 without null or NaN; perhaps rank.
        judgments: what `judge` made.
        duplicates: "error", or "best" to keep the best score of a repeated pair and note the rest.
        self_hits: "drop" takes out documents whose id is the query's.
        cutoff: the largest cutoff asked, for the note on ties there.

    Raises:
        DataError: for a repeated pair (unless `duplicates="best"`).
    """
    import numpy as np

    choice("duplicates", duplicates, ("error", "best"))
    notes = list(loaded.notes)
    frame = loaded.frame.select([c for c in ("query_id", "doc_id", "score", "rank") if c in loaded.frame.columns])
    if self_hits == "drop":
        own = frame["doc_id"] == frame["query_id"]
        if own.any():
            notes.append(note("self_hit_dropped", pairs(frame.filter(own)), int(own.sum())))
            frame = frame.filter(~own)
    listing = _listing(frame)
    repeated = _repeated_groups(listing)
    if len(repeated):
        frame, resolved = _without_duplicates(frame, listing.queries.gather(repeated), loaded.where, duplicates)
        notes.extend(resolved)
        if resolved:
            listing = _listing(frame)
    query = _query_numbers(listing.queries, judgments)
    known = query >= 0
    n_ret = np.zeros(judgments.queries.height, dtype=np.int64)
    n_ret[query[known]] = (listing.ends - listing.starts)[known]
    row, position = _hits(listing, query, judgments)
    rank = np.zeros(judgments.frame.height, dtype=np.int64)
    rank[row] = _places(listing, position)
    notes.append(note("unjudged_query", listing.queries.filter(pl.Series(~known)).sort().to_list()))
    if cutoff is not None:
        notes.append(_ties_at(cutoff, listing, known))
    if "rank" in frame.columns and frame["rank"].dtype.is_numeric() and not frame["rank"].null_count():
        notes.append(_contradictions(listing))
    return Ranking(run_id, rank, n_ret, tuple(n.of(run_id) for n in notes))


def _listing(frame: pl.DataFrame) -> _Listing:
    """Bring the rows together by query, best score first; at no cost where they stand so."""
    import numpy as np

    ids, scores = frame["query_id"], frame["score"].to_numpy()
    head = ids.head(_LOOK)
    if head.rle_id().n_unique() == head.n_unique():
        groups = ids.rle().struct.unnest()
        if groups["value"].n_unique() == groups.height:
            ends = groups["len"].cast(pl.Int64).cum_sum().to_numpy()
            starts = ends - groups["len"].cast(pl.Int64).to_numpy()
            rising = np.flatnonzero(scores[1:] > scores[:-1]) + 1
            if np.isin(rising, starts).all():
                return _Listing(frame, groups["value"], starts, ends, None, scores)
    row = pl.int_range(pl.len(), dtype=pl.Int64).alias("row")
    grouped = (
        frame.select("query_id", "score", row)
        .group_by("query_id")
        .agg(pl.col("row").sort_by("score", descending=True))
    )
    ends = grouped["row"].list.len().cast(pl.Int64).cum_sum().to_numpy()
    starts = np.concatenate((np.zeros(1, dtype=np.int64), ends[:-1])) if len(ends) else ends
    order = grouped["row"].explode(empty_as_null=False).to_numpy()
    return _Listing(frame, grouped["query_id"], starts, ends, order, scores[order])


def _repeated_groups(listing: _Listing) -> Integers:
    """The groups in which two rows may have one document: those whose 64-bit hashes are not all different."""
    import numpy as np

    lengths = listing.ends - listing.starts
    group = pl.Series("group", np.repeat(np.arange(len(lengths), dtype=np.uint32), lengths)).set_sorted()
    hashes = listing.at(listing.frame["doc_id"].hash())
    distinct = pl.DataFrame([group, hashes.alias("hash")]).group_by("group", maintain_order=True).agg(
        pl.col("hash").n_unique()
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
    numbers = (
        queries.alias("query_id")
        .to_frame()
        .join(judgments.queries, on="query_id", how="left", maintain_order="left")["query"]
        .cast(pl.Int64)
        .fill_null(-1)
        .to_numpy()
    )
    return numbers


def _hits(listing: _Listing, query: Integers, judgments: Judgments) -> tuple[Integers, Integers]:
    """The judgments that the run has, and their positions in it."""
    import numpy as np

    judged = judgments.frame["doc_id"].unique()
    maybe = listing.at(listing.frame["doc_id"].is_in(judged.implode())).arg_true().cast(pl.Int64).to_numpy()
    number = query[listing.group_of(maybe)]
    maybe, number = maybe[number >= 0], number[number >= 0]
    found = pl.DataFrame(
        [
            pl.Series("query", number.astype(np.uint32)),
            listing.frame["doc_id"].gather(listing.rows(maybe)),
            pl.Series("position", maybe),
        ]
    ).join(judgments.frame.select("query", "doc_id").with_row_index("judgment"), on=["query", "doc_id"])
    return found["judgment"].cast(pl.Int64).to_numpy(), found["position"].to_numpy()


def _places(listing: _Listing, position: Integers) -> Integers:
    """Ranks of the documents at these positions: ties are put in the order of document ids, descending."""
    import numpy as np

    group = listing.group_of(position)
    start, end = listing.starts[group], listing.ends[group]
    place = position - start + 1
    scores = listing.scores
    before = (position > start) & (scores[np.maximum(position - 1, 0)] == scores[position])
    after = (position + 1 < end) & (scores[np.minimum(position + 1, len(scores) - 1)] == scores[position])
    tied = np.flatnonzero(before | after)
    if not len(tied):
        return place
    score = scores[position[tied]]
    low = _first(scores, score, start[tied], position[tied], strictly=False)
    high = _first(scores, score, position[tied], end[tied], strictly=True)
    block, one = np.unique(low, return_index=True)
    sizes = high[one] - block
    first = np.repeat(block, sizes)
    members = first + np.arange(len(first)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    ordered = pl.DataFrame(
        [pl.Series("block", first), listing.frame["doc_id"].gather(listing.rows(members)), pl.Series("at", members)]
    ).sort("block", "doc_id", descending=[False, True])["at"]
    settled = members[np.argsort(ordered.to_numpy())]  # where each member goes; members ascend
    place[tied] = settled[np.searchsorted(members, position[tied])] - start[tied] + 1
    return place


def _first(
    scores: NDArray[np.float64], score: NDArray[np.float64], low: Integers, high: Integers, *, strictly: bool
) -> Integers:
    """The first position in [low, high) whose score is not above (or, strictly, is below) the given one; else high.

    A binary search in every range at once: within a query, scores descend.
    """
    import numpy as np

    low, high = low.copy(), high.copy()
    while (open_ := low < high).any():
        middle = (low + high) // 2
        probe = scores[np.minimum(middle, len(scores) - 1)]
        below = (probe < score) if strictly else (probe <= score)
        high = np.where(open_ & below, middle, high)
        low = np.where(open_ & ~below, middle + 1, low)
    return low


def _ties_at(cutoff: int, listing: _Listing, known: Flags) -> Note:
    """Judged queries whose first `cutoff` places end between two documents with the same score."""
    import numpy as np

    deeper = np.flatnonzero(known & (listing.ends - listing.starts > cutoff))
    last = listing.starts[deeper] + cutoff - 1
    tied = deeper[listing.scores[last] == listing.scores[last + 1]]
    return note("tie_at_cutoff", listing.queries.gather(tied).sort().to_list())


def _contradictions(listing: _Listing) -> Note:
    """Queries whose rank column puts a document with a lower score above one with a higher score."""
    import numpy as np

    rank = listing.at(listing.frame["rank"].cast(pl.Float64)).to_numpy()
    begins = np.zeros(len(rank) + 1, dtype=np.bool_)
    begins[listing.starts] = True
    begins = begins[:-1]
    falls = np.flatnonzero((rank[1:] < rank[:-1]) & ~begins[1:]) + 1
    queries = []
    for group in np.unique(listing.group_of(falls)).tolist():
        block = slice(int(listing.starts[group]), int(listing.ends[group]))
        ranks, scores = rank[block], listing.scores[block]
        worst_above = np.maximum.accumulate(ranks)
        first_of_tie = np.searchsorted(-scores, -scores, side="left")
        above = first_of_tie > 0
        if (ranks[above] < worst_above[first_of_tie[above] - 1]).any():
            queries.append(group)
    return note("rank_contradicts_score", listing.queries.gather(queries).sort().to_list())


def judged_ranking(judgments: Judgments, rankings: Sequence[Ranking], *, texts: bool = False) -> pl.DataFrame:
    """The judged rankings of all runs in one frame: one row per judgment and run.

    Columns: group UInt32 (the number of the run times the number of queries, plus that of the query), relevance
    Float64, rank Int64 (null where the run does not have the document), ideal_rank, n_ret Int64; with `texts` also
    run_id, query_id, doc_id String. Sorted by run, query_id, rank (nulls last), relevance descending, doc_id.
    """
    return pl.concat([_judged(judgments, ranking, number, texts) for number, ranking in enumerate(rankings)])


def _judged(judgments: Judgments, ranking: Ranking, number: int, texts: bool) -> pl.DataFrame:
    import numpy as np

    query = judgments.frame["query"].to_numpy().astype(np.int64)
    rank = ranking.rank
    ideal = judgments.frame["ideal_rank"].to_numpy()
    place = np.where(rank > 0, rank, (np.int64(1) << 31) + ideal)
    order = np.argsort((query << 32) | place)  # all keys differ, so any sort gives the same order
    base = judgments.frame[order] if texts else judgments.frame.select("relevance", "ideal_rank")[order]
    columns = [
        pl.Series(GROUP, query[order] + number * judgments.queries.height, dtype=pl.UInt32).set_sorted(),
        *([base["query_id"], base["doc_id"]] if texts else []),
        base["relevance"],
        pl.Series("rank", rank[order]).replace(0, None),
        base["ideal_rank"],
        pl.Series("n_ret", ranking.n_ret[query[order]]),
    ]
    frame = pl.DataFrame(columns)
    return frame.with_columns(run_id=pl.lit(ranking.run_id)) if texts else frame
