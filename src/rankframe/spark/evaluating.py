"""`evaluate`: Spark DataFrames in, the report out that the same rows give in memory."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import polars as pl

from rankframe.frames.checks import Duplicates, Invalid, choice
from rankframe.frames.ledger import note
from rankframe.frames.schemas import QRELS, RUN
from rankframe.io.readers import load_qrels
from rankframe.metrics.conventions import Count, SelfHits
from rankframe.metrics.conventions import convention as named_convention
from rankframe.metrics.families import BuiltIn
from rankframe.metrics.metric import Metric
from rankframe.metrics.names import DEFAULT, resolve
from rankframe.ranking import Judgments, Population, Ranking, judge
from rankframe.report import Report
from rankframe.scoring.reporting import conditions, narrowed, reported
from rankframe.scoring.values import largest_cutoff, measured
from rankframe.spark.frames import ROUNDED, collected, conformed, near, needs_spark, refuse_rounded, sent
from rankframe.spark.ranks import ranked
from rankframe.spark.rows import Run, check_name, first_rows, kept, runs_of, without_judgments
from rankframe.spark.survey import Lookup, Survey, survey

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def evaluate(
    run: DataFrame,
    qrels: DataFrame,
    metrics: str | Metric | Iterable[str | Metric] = DEFAULT,
    *,
    convention: str = "documented",
    missing: Count | None = None,
    no_relevant: Count | None = None,
    self_hits: SelfHits | None = None,
    queries: object = None,
    corpus: object = None,
    duplicates: Duplicates = "error",
    invalid: Invalid = "error",
    run_id: str | None = None,
) -> Report:
    """Score runs that stand on Spark against judgments that stand there too.

    Every row of the run is checked and ranked by Spark's own joins and aggregations, without a Python worker. What is
    collected has the size of the judgments. The run is read twice (three times with a column run_id), and again for
    each kind of thing that is refused or left out: cache it before where it is costly to make. Its rows must be the
    same each time. The session stays as it is: nothing is configured, cached or stopped.

    Args:
        run: a Spark DataFrame, classic or of Spark Connect, with query_id, doc_id, score, and run_id where there are
            several runs; other names are read as by `read_run`. Numbers of any type, no text.
        qrels: likewise, with query_id, doc_id, relevance.
        metrics: names, `Metric` objects, or both; see `rankframe.metrics`.
        convention: as for `rankframe.evaluate`, as are the next three.
        missing: a judged query that the run misses counts "zero" or is left out ("skip").
        no_relevant: the same for a query without a relevant document.
        self_hits: "drop" takes documents whose id is the query's out of the run.
        queries: the queries that count (frame in memory, path, ids, or mapping by id); the others are `not_asked`.
        corpus: the documents that exist (likewise); judged ones that it lacks go to the ledger.
        duplicates: "error" refuses a (query, document) pair that stands there twice and conflicting judgments; "best"
            keeps the best score and the highest grade and counts the rest in the ledger.
        invalid: "error" refuses null ids and null or NaN numbers; "drop" leaves the rows out and counts them.
        run_id: what the run is called; its column run_id, else "run", unless given.

    Returns:
        The `Report` that `rankframe.evaluate` gives of the same rows: equal scores (to 1e-12), in the same order, and
        the same ledger. Rows that are named there as examples are the first by their ids, as rows on Spark have no
        order of their own. A rank column beside the scores is not looked at.

    Raises:
        ExtraError: without PySpark 4 or later.
        MetricError: for an unknown metric, parameter, cutoff or convention, before anything is read.
        DataError: for anything but Spark DataFrames, and for rows that cannot be scored as they are: no judgments, no
            query in common, bad rows.

    Warns:
        RankframeWarning: for a run without rows, whose scores are 0.

    Example:
        On any session, here called spark::

            run = spark.read.parquet("s3://bucket/run")
            qrels = spark.read.parquet("s3://bucket/qrels")
            report = rankframe.spark.evaluate(run, qrels, metrics=["ndcg@10", "recall@100"])
            report.value("ndcg@10")
    """
    needs_spark()
    check_name(run_id)
    rules = named_convention(convention, missing=missing, no_relevant=no_relevant, self_hits=self_hits)
    asked = resolve(metrics, dialect=rules.dialect)
    choice("duplicates", duplicates, ("error", "best"))
    choice("invalid", invalid, ("error", "drop"))
    rows, judged = conformed(run, RUN), conformed(qrels, QRELS)
    refuse_rounded(judged, QRELS)
    in_order = collected(judged.drop(ROUNDED)).sort("query_id", "doc_id", "relevance")  # rows come in no order
    loaded = load_qrels(in_order, invalid=invalid)
    if loaded.frame.is_empty():
        raise without_judgments(rows)
    judgments = judge(loaded, duplicates, by_id=any(not isinstance(metric, BuiltIn) for metric in asked))
    metrics_measured = measured(asked, judgments.max_grade)
    population, notes, _ = narrowed(judgments, rules, queries, corpus, invalid)
    found, docs = runs_of(rows, run_id), _docs(judgments)
    seen = survey(
        found,
        _lookup(rows, docs),
        self_hits=rules.self_hits,
        invalid=invalid,
        duplicates=duplicates,
        cutoff=largest_cutoff(metrics_measured),
    )
    rankings = _rankings(found, seen, judgments, docs, population)
    covered = [
        (ranking, population.covered(ranking, where)) for ranking, where in zip(rankings, found.wheres, strict=True)
    ]
    options = conditions(
        convention,
        rules,
        judgments,
        [{"run_id": run.run_id, "rows": run.n_rows, "queries": run.n_queries} for run in rankings],
        duplicates=duplicates,
        invalid=invalid,
        qrels={"rows": loaded.frame.height},
    )
    return reported(judgments, covered, metrics_measured, notes, options)


def _lookup(rows: DataFrame, docs: pl.DataFrame) -> Lookup:
    """What is judged, where the run is; hashes are Spark's own."""
    from pyspark.sql import functions as sf

    listed_docs = docs.group_by("query_id", "number").agg("doc_id")
    queries = sent(rows.sparkSession, listed_docs)
    hashes = sf.transform("doc_id", lambda doc: sf.xxhash64(doc)).alias("hashes")  # noqa: PLW0108  # Spark calls no function of *cols
    return Lookup(near(queries.select("query_id", "number", hashes), docs.height), listed_docs.height)


def _docs(judgments: Judgments) -> pl.DataFrame:
    """What is judged: query_id, doc_id String, number (of the query), judgment (its row) Int64."""
    return judgments.frame.select(
        "query_id",
        "doc_id",
        pl.Series("number", judgments.query),
        judgment=pl.int_range(pl.len(), dtype=pl.Int64),
    )


def _rankings(
    run: Run, seen: Survey, judgments: Judgments, docs: pl.DataFrame, population: Population
) -> list[Ranking]:
    """Where each run has what was judged, and what there is to say of it."""
    import numpy as np

    ranks = ranked(seen, docs)
    unjudged = _unjudged(run, seen, docs)
    rankings = []
    for total, name in zip(seen.totals.iter_rows(named=True), run.names, strict=True):
        its = ranks.filter(run=total["run"])
        queries = seen.judged.filter(run=total["run"])
        rank = np.zeros(len(judgments.query), dtype=np.int64)
        rank[its["judgment"].to_numpy()] = its["rank"].to_numpy()
        n_ret = np.zeros(len(judgments.queries), dtype=np.int64)
        n_ret[queries["number"].to_numpy()] = queries["n_ret"].to_numpy()
        tied = np.sort(queries.filter("tied")["number"].to_numpy())
        strangers = unjudged.get(total["run"], [])
        notes = (
            note("unjudged_query", strangers, total["unjudged"]),
            note("tie_at_cutoff", judgments.queries[tied[population.asked[tied]]].to_list()),
        )
        rankings.append(
            Ranking(
                run_id=name,
                rank=rank,
                found=its["judgment"].to_numpy(),
                n_ret=n_ret,
                n_queries=total["queries"],
                n_rows=total["rows"],
                notes=(*(said for said in seen.notes if said.run_id == name), *(said.of(name) for said in notes)),
                strangers=tuple(strangers[:3]) if not total["met"] else (),
            )
        )
    return rankings


def _unjudged(run: Run, seen: Survey, docs: pl.DataFrame) -> dict[int, list[str]]:
    """The first queries without judgments of each run that has any."""
    totals = seen.totals
    strange = (totals["rows"] > 0) & (totals["met"] == 0)
    if not totals["unjudged"].sum() and not strange.any():
        return {}
    rows = run.rows.filter(kept(drops_own=False)) if strange.any() else seen.rows  # a run of the others is refused then
    other = (
        rows.join(sent(rows.sparkSession, docs.select("query_id").unique()), "query_id", "left_anti")
        .select("run", "query_id")
        .distinct()
    )
    return {number: [query for (query,) in found] for number, found in first_rows(other, "query_id").items()}
