"""Where a run has the judged documents.

The order of a run is its score, higher first; equal scores are ordered by document id, descending, by bytes
(trec_eval's rule). A rank is counted over all documents of the run, but found only for the judged ones: judge
first, rank what is judged. So a run may come in batches of whole queries, of which nothing but this is kept.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import polars as pl

from rankframe.errors import EXAMPLES
from rankframe.frames.checks import Duplicates, Loaded, choice, repeated_pairs
from rankframe.frames.ledger import Note, note, pairs, together
from rankframe.metrics.rows import places
from rankframe.ranking.judgments import Judgments, pair_keys
from rankframe.ranking.listing import Listing, listed_rows, places_of, repeated_groups

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Integers = NDArray[np.int64]
    Flags = NDArray[np.bool_]

_FEW = 4  # rows for each judgment up to which looking for judged documents first does not pay


@dataclass(frozen=True, slots=True)
class Ranking:
    """One run over the judgments: where it has what was judged.

    rank: for each row of `Judgments.frame`, the place of the document in the run, 0 where it is not there.
    found: the rows of those that are there, mostly in the order of the run.
    n_ret: for each query, how many documents the run has, -1 where that is not known.
    n_queries: how many queries it has, judged or not.
    n_rows: how many rows it has, before any was dropped as a repetition or as the query itself.
    strangers: a few ids of its queries where none of them is judged.
    """

    run_id: str
    rank: Integers
    found: Integers
    n_ret: Integers
    n_queries: int
    n_rows: int
    notes: tuple[Note, ...]
    strangers: tuple[str, ...] = ()


class RunRanker:
    """Ranks one run, which comes in one or more batches of whole queries.

    Args:
        run_id: the name of the run.
        judgments: what `judge` made.
        duplicates: "error", or "best" to keep the best score of a repeated pair and note the rest.
        self_hits: "drop" takes out documents whose id is the query's.
        cutoff: the largest cutoff asked, for the notes on ties there and on results that are too few since they were
            collapsed.
        asked: which judged queries these notes are about; all unless given.
    """

    def __init__(
        self,
        run_id: str,
        judgments: Judgments,
        *,
        duplicates: Duplicates = "error",
        self_hits: Literal["keep", "drop"] = "keep",
        cutoff: int | None = None,
        asked: Flags | None = None,
    ) -> None:
        import numpy as np

        choice("duplicates", duplicates, ("error", "best"))
        self.run_id = run_id
        self.where = ""
        self.no_results: list[str] = []
        self.failed: list[str] = []
        self._judgments = judgments
        self._duplicates, self._self_hits, self._cutoff, self._asked = duplicates, self_hits, cutoff, asked
        self._rank = np.zeros(len(judgments.query), dtype=np.int64)
        self._n_ret = np.zeros(len(judgments.queries), dtype=np.int64)
        self._found: list[Integers] = []
        self._n_queries = self._n_rows = self._n_repeated = 0
        self._repeated: list[str] = []
        self._met = False
        self._strangers: list[str] = []
        self._notes: list[Note] = []

    def add(self, loaded: Loaded) -> None:
        """Find where a batch has the judged documents.

        Args:
            loaded: rows of queries that no other batch has: query_id, doc_id String, score Float64 without null or NaN;
                perhaps rank.
        """
        judgments, notes = self._judgments, self._notes
        self.where = loaded.where
        self.no_results += loaded.no_results
        self.failed += loaded.failed
        self._n_rows += loaded.frame.height
        notes += loaded.notes
        frame = loaded.frame
        if self._self_hits == "drop":
            own = frame["doc_id"] == frame["query_id"]
            if own.any():
                notes.append(note("self_hit_dropped", pairs(frame.filter(own)), int(own.sum())))
                frame = frame.filter(~own)
        listing = listed_rows(frame, judgments.seed)
        suspects = repeated_groups(listing)
        if len(suspects):
            frame = self._without_duplicates(frame, listing.queries[suspects])
            if frame is not listing.frame:
                listing = listed_rows(frame, judgments.seed)
        query = _query_numbers(listing.queries, judgments)
        known = query >= 0
        self._see(loaded.frame, listing, known)
        self._n_queries += len(listing.queries)
        self._n_ret[query[known]] = (listing.ends - listing.starts)[known]
        judgment, row, group = _hits(listing, query, judgments)
        deep = self._deep(listing, query)
        if len(deep) or "rank" in frame.columns:
            listing.sort()
        self._rank[judgment] = places_of(listing, row, group)
        self._found.append(judgment)
        if not known.all():
            notes.append(note("unjudged_query", listing.queries.filter(pl.Series(~known)).sort().to_list()))
        if (cutoff := self._cutoff) is not None:
            notes += _ties_at(cutoff, listing, deep)
            short = [query for query, left in loaded.collapsed.items() if left < cutoff and query in judgments.numbers]
            notes.append(note("collapsed_below_cutoff", short))
        if "rank" in frame.columns:
            notes += _contradictions(listing)

    def ranking(self) -> Ranking:
        """The ranking of all batches.

        Raises:
            DataError: for repeated pairs (unless `duplicates="best"`).
        """
        import numpy as np

        if self._n_repeated:
            raise repeated_pairs(self.where, self._n_repeated, self._repeated)
        return Ranking(
            run_id=self.run_id,
            rank=self._rank,
            found=np.concatenate(self._found) if self._found else np.empty(0, dtype=np.int64),
            n_ret=self._n_ret,
            n_queries=self._n_queries,
            n_rows=self._n_rows,
            notes=tuple(said.of(self.run_id) for said in together(self._notes)),
            strangers=() if self._met else tuple(self._strangers),
        )

    def _see(self, frame: pl.DataFrame, listing: Listing, known: Flags) -> None:
        """Remember whether any query of the run is judged; also one of which every row was dropped here."""
        if self._met or frame.is_empty():
            return
        self._met = bool(known.any())
        if not self._met and frame is not listing.frame:
            self._met = frame["query_id"].is_in(self._judgments.queries.implode()).any()
        if not self._met:
            self._strangers = sorted({*self._strangers, *frame["query_id"].unique().bottom_k(3)})[:3]

    def _deep(self, listing: Listing, query: Integers) -> Integers:
        """The groups of judged queries whose rankings go on behind the largest cutoff."""
        import numpy as np

        if self._cutoff is None:
            return np.empty(0, dtype=np.int64)
        asked = (query >= 0) & (True if self._asked is None else self._asked[query])
        return np.flatnonzero(asked & (listing.ends - listing.starts > places(self._cutoff)))

    def _without_duplicates(self, frame: pl.DataFrame, queries: pl.Series) -> pl.DataFrame:
        """Confirm repeated pairs by their text; remember them as an error, or keep the best score of each."""
        row = pl.int_range(pl.len()).alias("row")
        suspects = frame.with_columns(row).filter(pl.col("query_id").is_in(queries.implode()))
        twice = suspects.filter(pl.struct("query_id", "doc_id").is_duplicated())
        if twice.is_empty():
            return frame
        if self._duplicates == "error":
            distinct = twice.unique(["query_id", "doc_id"], maintain_order=True)
            self._n_repeated += distinct.height
            self._repeated = [*self._repeated, *pairs(distinct)][:EXAMPLES]
        best = twice.sort("score", descending=True, maintain_order=True).unique(["query_id", "doc_id"], keep="first")
        worse = twice.filter(~pl.col("row").is_in(best["row"].implode()))
        self._notes.append(note("duplicate_dropped", pairs(worse), worse.height))
        return frame.filter(~pl.int_range(pl.len()).is_in(worse["row"].implode()))


def rank_run(
    run_id: str,
    loaded: Loaded,
    judgments: Judgments,
    *,
    duplicates: Duplicates = "error",
    cutoff: int | None = None,
) -> Ranking:
    """Find where a run that is in memory has the judged documents; see `RunRanker`.

    Raises:
        DataError: for a repeated pair (unless `duplicates="best"`).
    """
    ranker = RunRanker(run_id, judgments, duplicates=duplicates, cutoff=cutoff)
    ranker.add(loaded)
    return ranker.ranking()


def _query_numbers(queries: pl.Series, judgments: Judgments) -> Integers:
    """The number that the judgments give each query id, -1 where they do not have it."""
    import numpy as np

    return np.fromiter((judgments.numbers.get(query, -1) for query in queries.to_list()), np.int64, len(queries))


def _hits(listing: Listing, query: Integers, judgments: Judgments) -> tuple[Integers, Integers, Integers]:
    """The judgments that the run has, its rows that have them, and their groups.

    Documents that are judged for any query are found by their hash, pairs among them by the hash of the pair; what is
    found so is confirmed by its text.
    """
    import numpy as np

    row = np.arange(listing.frame.height)
    docs = judgments.docs_of(np.unique(query[query >= 0]))
    if len(row) > _FEW * len(docs):
        row = np.flatnonzero(listing.hashes.is_in(docs.implode()).to_numpy())
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


def _ties_at(cutoff: int, listing: Listing, deep: Integers) -> list[Note]:
    """Queries whose first `cutoff` places end between two documents with the same score, of those that go on behind."""
    last = listing.starts[deep] + places(cutoff) - 1
    tied = deep[listing.scores(last) == listing.scores(last + 1)]
    return [note("tie_at_cutoff", listing.queries[tied].sort().to_list())] if len(tied) else []


def _contradictions(listing: Listing) -> list[Note]:
    """Queries whose rank column puts a document with a lower score above one with a higher score."""
    import numpy as np

    ranks = listing.frame["rank"]
    if ranks.dtype != pl.String and not ranks.dtype.is_numeric():
        return []
    if ranks.dtype == pl.String or ranks.dtype.is_decimal() or ranks.dtype in (pl.Int128, pl.UInt128):
        ranks = ranks.cast(pl.Float64, strict=False)
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
