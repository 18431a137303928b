"""One look at every row of a run, on Spark: what each query has, what is wrong, which judged documents are there.

The rows are brought together by query as one number per document, its hash, so that little is moved: as many different
ones as rows say that no document is there twice. Where there are fewer, the texts decide.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import polars as pl

from rankframe.frames.checks import Duplicates, Invalid
from rankframe.frames.ledger import Note
from rankframe.frames.schemas import RUN
from rankframe.spark.frames import ROUNDED, collected, refuse_rounded
from rankframe.spark.rows import Run, invalid_rows, kept, own_rows, repeated_rows

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_HASHES = 2**62  # what is told apart of queries without judgments
_LONGEST = 2**31 - 2  # no list of Spark's is longer


@dataclass(frozen=True, slots=True)
class Lookup:
    """What is judged, on Spark.

    queries: query_id string, number long (from 0), hashes array of long, of the judged documents. n_queries: how many.
    """

    queries: DataFrame
    n_queries: int


@dataclass(frozen=True, slots=True)
class Survey:
    """What a run holds.

    rows: the run without rows that were left out.
    judged: run, number (of the query), n_ret Int64, tied Boolean (whether the last place that counts is inside a tie),
        for judged queries of the run; hits: run, number Int64, doc_id String, score Float64, of judged documents and
        perhaps others of the same hash.
    totals: run, rows (valid ones), met (those of them that are of judged queries), queries, unjudged (of them) Int64; a
        row per run.
    notes: what was left out.
    """

    rows: DataFrame
    judged: pl.DataFrame
    hits: pl.DataFrame
    totals: pl.DataFrame
    notes: tuple[Note, ...]


def survey(
    run: Run,
    lookup: Lookup | None,
    *,
    self_hits: Literal["keep", "drop"],
    invalid: Invalid,
    duplicates: Duplicates,
    cutoff: int | None = None,
) -> Survey:
    """Look at every row of the runs once; again where repeated rows are dropped on request.

    Args:
        run: the runs.
        lookup: the judgments; without them, nothing is found of single queries.
        self_hits: "drop" takes out documents whose id is the query's.
        invalid: "error" refuses null ids and null or NaN scores; "drop" leaves the rows out and notes them.
        duplicates: "error" refuses a repeated pair; "best" keeps its best score and notes the rest.
        cutoff: the largest cutoff asked, for the notes on ties there.

    Raises:
        DataError: for rows that cannot be used.
    """
    from pyspark.sql import functions as sf

    drops_own = self_hits == "drop"
    seen = _seen(run, lookup, drops_own=drops_own, cutoff=cutoff)
    n_queries = 1 if lookup is None else lookup.n_queries
    totals = _totals(run, seen, n_queries)
    if totals["rounded"].sum():
        refuse_rounded(run.rows, RUN)
    rows, notes = run.rows, list[Note]()
    if totals["bad"].sum():
        notes += invalid_rows(run, invalid)
    if totals["own"].sum():
        notes += own_rows(run)
    if totals["bad"].sum() or totals["own"].sum():
        rows = rows.filter(kept(drops_own=drops_own))
    rows = rows.select("run", "query_id", "doc_id", "score")
    if totals["suspects"].sum() and (repeated := repeated_rows(replace(run, rows=rows), duplicates)):
        notes += repeated
        rows = rows.groupBy("run", "query_id", "doc_id").agg(sf.max("score").alias("score"))
        seen = _seen(replace(run, rows=rows), lookup, drops_own=False, cutoff=cutoff)
        before, totals = totals, _totals(run, seen, n_queries)
        totals = totals.with_columns(before["rows"], before["met"])  # as in memory: before rows were left out
    known = seen.filter(pl.col("key") >= 0).with_columns(
        run=pl.col("key") // n_queries, number=pl.col("key") % n_queries
    )
    hits = known.select("run", "number", "hits").explode("hits", empty_as_null=False).unnest("hits")
    return Survey(
        rows,
        known.filter(pl.col("n_ret") > 0).select("run", "number", "n_ret", "tied"),
        hits.drop_nulls("doc_id"),
        totals.select("run", "rows", "queries", "unjudged", "met"),
        tuple(notes),
    )


def _seen(run: Run, lookup: Lookup | None, *, drops_own: bool, cutoff: int | None) -> pl.DataFrame:
    """What the queries have: a row per run and judged query, and one per run for all others together.

    Columns: key (the number of the run times the number of queries, plus that of the query; below 0 for the others of
    a run), bad, own, rounded, n_ret, queries, suspects Int64, tied Boolean, hits List.
    """
    from pyspark.sql import functions as sf

    n_runs = len(run.names)
    rows, number, judged = run.rows, sf.lit(None).cast("long"), sf.lit(False)
    n_queries = 0
    if lookup is not None:
        rows, n_queries = rows.join(lookup.queries, "query_id", "left"), lookup.n_queries
        number, judged = sf.col("number"), sf.array_contains("hashes", sf.xxhash64("doc_id"))
    is_kept, value = kept(drops_own=drops_own), sf.col("score")
    rounded = sf.col(ROUNDED).isNotNull() if ROUNDED in rows.columns else sf.lit(False)
    bad = ~kept(drops_own=False)
    flag = sf.when(rounded, "rounded").when(bad, "bad").when(~is_kept, "own")
    other = sf.pmod(sf.xxhash64("query_id"), sf.lit(_HASHES // n_runs)) * n_runs + sf.col("run")
    # One number as the key sorts several times faster than a text. Queries without judgments may share one: that
    # makes suspects, of which the texts decide.
    key = sf.coalesce(sf.col("run") * sf.lit(n_queries).cast("long") + number, -1 - other)
    narrow = rows.select(
        key.alias("key"),
        sf.when(is_kept, sf.xxhash64("doc_id")).alias("hash"),
        flag.alias("flag"),
        sf.when(is_kept & judged, sf.struct("doc_id", "score")).alias("hit"),
        sf.when(is_kept & number.isNotNull() & sf.lit(_has_ties(cutoff)), value).alias("score"),
    )
    by_query = narrow.groupBy("key").agg(
        *(sf.count_if(sf.col("flag") == name).alias(name) for name in ("bad", "own", "rounded")),
        sf.collect_list("hash").alias("hashes"),
        sf.collect_list("hit").alias("hits"),
        *([sf.sort_array(sf.collect_list("score"), asc=False).alias("scores")] if _has_ties(cutoff) else []),
    )
    told = by_query.select(
        sf.when(sf.col("key") >= 0, sf.col("key"))
        .otherwise(-1 - sf.pmod(-1 - sf.col("key"), sf.lit(n_runs)))
        .alias("key"),
        "bad",
        "own",
        "rounded",
        "hits",
        sf.size("hashes").alias("n_ret"),
        (sf.size(sf.array_distinct("hashes")) < sf.size("hashes")).alias("suspect"),
        _tied(cutoff).alias("tied"),
    )
    return collected(
        told.groupBy("key").agg(
            *(sf.sum(name).cast("long").alias(name) for name in ("bad", "own", "rounded", "n_ret")),
            sf.count_if(sf.col("n_ret") > 0).alias("queries"),
            sf.count_if("suspect").alias("suspects"),
            sf.first("tied").alias("tied"),
            sf.first("hits").alias("hits"),
        )
    )


def _has_ties(cutoff: int | None) -> bool:
    return cutoff is not None and cutoff < _LONGEST


def _tied(cutoff: int | None) -> Column:
    """Whether the best `cutoff` scores end between two that are equal."""
    from pyspark.sql import functions as sf

    if cutoff is None or not _has_ties(cutoff):
        return sf.lit(False)
    last, next_ = (sf.get("scores", sf.lit(place)) for place in (cutoff - 1, cutoff))
    return sf.coalesce(last == next_, sf.lit(False))


def _totals(run: Run, seen: pl.DataFrame, n_queries: int) -> pl.DataFrame:
    """What each run has in all: run, bad, own, rounded, queries, suspects, rows, unjudged, met; a row per run."""
    key = pl.col("key")
    found = seen.group_by(run=pl.when(key < 0).then(-1 - key).otherwise(key // n_queries)).agg(
        pl.col("bad", "own", "rounded", "queries", "suspects").sum(),
        rows=(pl.col("n_ret") + pl.col("own")).sum(),
        unjudged=pl.col("queries").filter(key < 0).sum(),
        met=(pl.col("n_ret") + pl.col("own")).filter(key >= 0).sum(),
    )
    every = pl.DataFrame({"run": range(len(run.names))}, schema_overrides={"run": pl.Int64})
    return every.join(found, on="run", how="left", maintain_order="left").fill_null(0)
