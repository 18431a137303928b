"""`scores`: per-query scores as a Spark DataFrame, for judgments that are too many to collect."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, Any

import polars as pl

from rankframe.errors import EXAMPLES, DataError, RankframeWarning, listed, warn
from rankframe.frames.checks import (
    Duplicates,
    Invalid,
    Unusable,
    choice,
    conflicting_grades,
    no_query_in_common,
)
from rankframe.frames.ledger import REASONS, pairs
from rankframe.frames.schemas import QRELS, RUN
from rankframe.metrics.conventions import Convention, Count, SelfHits
from rankframe.metrics.conventions import convention as named_convention
from rankframe.metrics.metric import Metric
from rankframe.metrics.names import DEFAULT, resolve
from rankframe.scoring import evaluate_ranking
from rankframe.scoring.values import measured
from rankframe.spark.frames import collected, conformed, needs_spark, refuse_rounded, unusable
from rankframe.spark.rows import Run, check_name, first_rows, runs_of, without_judgments
from rankframe.spark.survey import survey

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_PER_BUCKET = 50_000
_LEAST = 64


def scores(
    run: DataFrame,
    qrels: DataFrame,
    metrics: str | Metric | Iterable[str | Metric] = DEFAULT,
    *,
    convention: str = "documented",
    missing: Count | None = None,
    no_relevant: Count | None = None,
    self_hits: SelfHits | None = None,
    duplicates: Duplicates = "error",
    invalid: Invalid = "error",
    run_id: str | None = None,
    buckets: int | None = None,
) -> DataFrame:
    """The scores of every run and judged query as a Spark DataFrame, where judgments are too many to collect.

    Ranks are found by Spark's own windows. Then the judged documents, without the rest of the run, go to Python workers
    in buckets of whole queries, where the metrics are computed. So the workers need rankframe: installed on the
    cluster, or in an archive of an environment (`spark.addArtifacts("env.tar.gz", archive=True)`, or `--archives` of
    spark-submit). Polars, on which it stands, is compiled: `--py-files` is enough only where the workers have Polars,
    PyArrow and NumPy. Spark's option spark.sql.execution.arrow.useLargeVarTypes has to be off, as it is unless set.

    Args:
        run: a Spark DataFrame, classic or of Spark Connect, with query_id, doc_id, score, and run_id where there are
            several runs; other names are read as by `read_run`. Numbers of any type, no text.
        qrels: likewise, with query_id, doc_id, relevance.
        metrics: names, `Metric` objects, or both; see `rankframe.metrics`. What depends on the largest grade takes that
            of all judgments.
        convention: as for `rankframe.evaluate`, as are the next three.
        missing: a judged query that the run misses counts "zero" or is left out ("skip").
        no_relevant: the same for a query without a relevant document.
        self_hits: "drop" takes documents whose id is the query's out of the run.
        duplicates: "error" refuses a (query, document) pair that stands there twice and conflicting judgments; "best"
            keeps the best score and the highest grade, with a warning that counts the rest.
        invalid: "error" refuses null ids and null or NaN numbers; "drop" leaves the rows out, with a warning that
            counts them.
        run_id: what the run is called; its column run_id, else "run", unless given.
        buckets: into how many parts the judged queries are put; a part must fit in the memory of a worker. Some 50,000
            judgments each unless given, and 64 parts at least.

    Returns:
        run_id, query_id, status string, n_ret, n_rel, n_judged bigint, then a double per metric: what `Report.scores`
        holds, in no order. Rows are checked before it is returned; scores are made when it is used, anew each time.

    Raises:
        ExtraError: without PySpark 4 or later.
        MetricError: for an unknown metric, parameter, cutoff or convention, before anything is read. A metric of your
            own that gives no number, or one outside of its range, fails in Spark, when the scores are made.
        DataError: for anything but Spark DataFrames, and for rows that cannot be scored as they are: no judgments, no
            query in common, bad rows.

    Warns:
        RankframeWarning: for a run without rows, and for rows that are left out: on request, or because their document
            is the query itself, where the convention says so.

    Example:
        On any session, here called spark::

            run = spark.read.parquet("s3://bucket/run")
            qrels = spark.read.parquet("s3://bucket/qrels")
            scores = rankframe.spark.scores(run, qrels, metrics="ndcg@10")
            scores.write.parquet("s3://bucket/scores")
            scores.groupBy("run_id").avg().show()  # means; what a mean leaves out is null

        Read back with `pl.read_parquet`, they are a frame for plots and joins like `Report.scores`.
    """
    needs_spark()
    from pyspark.sql import functions as sf

    check_name(run_id)
    rules = named_convention(convention, missing=missing, no_relevant=no_relevant, self_hits=self_hits)
    asked = resolve(metrics, dialect=rules.dialect)
    choice("duplicates", duplicates, ("error", "best"))
    choice("invalid", invalid, ("error", "drop"))
    if buckets is not None and (isinstance(buckets, bool) or not isinstance(buckets, int) or buckets < 1):
        raise DataError(f"buckets={buckets!r}; a whole number from 1, or None")
    rows = conformed(run, RUN)
    judgments = _judgments(conformed(qrels, QRELS), rows, invalid, duplicates)
    bound = list(measured(asked, judgments.max_grade))
    found = runs_of(rows, run_id)
    seen = survey(found, None, self_hits=rules.self_hits, invalid=invalid, duplicates=duplicates)
    for said in seen.notes:
        warn(f"{RUN.label}: {REASONS[said.reason]}: {said.count:,}, such as {listed(said.examples)}")
    _refuse_strangers(found, seen.rows, seen.totals["rows"].to_list(), judgments.rows)
    count = buckets or max(_LEAST, judgments.count * len(found.names) // _PER_BUCKET)
    judged = _judged_rows(seen.rows, judgments.rows, len(found.names))
    bucketed = judged.withColumn("bucket", sf.pmod(sf.xxhash64("query_id"), sf.lit(count)))
    kernel = _kernel(bound, found.names, convention, rules)
    return bucketed.groupBy("bucket").applyInArrow(kernel, _spark_schema(bound))


@dataclass(frozen=True, slots=True)
class _Judgments:
    """Judgments that were checked: query_id, doc_id, relevance, each pair once; how many, and the largest grade."""

    rows: DataFrame
    count: int
    max_grade: float


def _judgments(rows: DataFrame, run: DataFrame, invalid: Invalid, duplicates: Duplicates) -> _Judgments:
    """The judgments without what is left out on request.

    Raises:
        DataError: for rows that cannot be used, conflicts, and where there is no judgment.
    """
    from pyspark.sql import functions as sf

    refuse_rounded(rows, QRELS)
    rows = _usable(rows.select("query_id", "doc_id", "relevance"), invalid)
    grade = sf.col("relevance")
    pairs_ = rows.groupBy("query_id", "doc_id").agg(
        sf.count("*").alias("n"), sf.min(grade).alias("lowest"), sf.max(grade).alias("relevance")
    )
    differ = (sf.col("n") > 1) & (sf.col("lowest") < grade)
    count, repeated, conflicts, top = collected(
        pairs_.agg(sf.count("*"), sf.count_if(sf.col("n") > 1), sf.count_if(differ), sf.max(grade))
    ).row(0)
    if not count:
        raise without_judgments(run)
    if conflicts:
        _settle_conflicts(pairs_.filter(differ), conflicts, duplicates)
    settled = pairs_.select("query_id", "doc_id", "relevance") if repeated else rows
    return _Judgments(settled, count, max(top, 1.0))


def _usable(rows: DataFrame, invalid: Invalid) -> DataFrame:
    """Judgments without a null id and with a finite grade.

    Raises:
        DataError: where others are refused.
    """
    from pyspark.sql import functions as sf

    kinds = unusable("relevance")
    bad = reduce(or_, kinds.values())
    total, *counts = collected(rows.agg(sf.count_if(bad), *map(sf.count_if, kinds.values()))).row(0)
    if not total:
        return rows
    few = collected(rows.filter(bad).orderBy("query_id", "doc_id").limit(EXAMPLES))
    if invalid == "error":
        raise DataError(Unusable(total, dict(zip(kinds, counts, strict=True)), tuple(pairs(few))).message(QRELS.label))
    warn(f"{QRELS.label}: {REASONS['invalid_dropped']}: {total:,}, such as {listed(pairs(few))}")
    return rows.filter(~bad)


def _settle_conflicts(conflicts: DataFrame, count: int, duplicates: Duplicates) -> None:
    """Say which pairs are judged with different grades.

    Raises:
        DataError: where they are refused.
    """
    few = collected(conflicts.orderBy("query_id", "doc_id").limit(EXAMPLES))
    if duplicates == "error":
        told = [
            f"({query}, {doc}) as {low:g} and {high:g}"
            for query, doc, low, high in few.select("query_id", "doc_id", "lowest", "relevance").iter_rows()
        ]
        raise conflicting_grades(QRELS.label, count, told)
    warn(f"{QRELS.label}: {REASONS['conflict_resolved']}: {count:,}, such as {listed(pairs(few))}")


def _refuse_strangers(run: Run, rows: DataFrame, counts: Sequence[int], judged: DataFrame) -> None:
    """Refuse a run of whose queries none is judged; warn of one without rows."""
    queries = judged.select("query_id").distinct()
    theirs = rows.select("run", "query_id").distinct()
    met = set(collected(theirs.join(queries, "query_id", "left_semi").select("run").distinct())["run"])
    for number, (name, where, n_rows) in enumerate(zip(run.names, run.wheres, counts, strict=True)):
        if not n_rows:
            warn(f"{where}: the run {name!r} is empty; all judged queries are missing")
        elif number not in met:
            some = first_rows(theirs.filter(f"run = {number}"), "query_id").get(number, [])
            few = collected(queries.orderBy("query_id").limit(3))["query_id"]
            raise no_query_in_common(where, name, [query for (query,) in some[:3]], few.to_list())


def _judged_rows(rows: DataFrame, judged: DataFrame, n_runs: int) -> DataFrame:
    """The judged ranking: run, query_id, doc_id, relevance, rank, n_ret; a row per judgment and run.

    Runs and judgments are put under each other, so that all of a query is brought together once, also where the run
    does not have it; a judgment then stands beside the row of its document, if there is one.
    """
    from pyspark.sql import Window
    from pyspark.sql import functions as sf

    numbers = sf.explode(sf.sequence(sf.lit(0), sf.lit(n_runs - 1)))
    wanted = judged.select(
        numbers.alias("run"), "query_id", "doc_id", sf.lit(None).cast("double").alias("score"), "relevance"
    )
    both = rows.withColumn("relevance", sf.lit(None).cast("double")).unionByName(wanted)
    query = Window.partitionBy("run", "query_id")
    order = query.orderBy(sf.desc_nulls_last("score"), sf.desc("doc_id"))
    pair = Window.partitionBy("run", "query_id", "doc_id")
    placed = both.select("*", sf.row_number().over(order).alias("place"), sf.count("score").over(query).alias("n_ret"))
    ranked = placed.select(
        "run",
        "query_id",
        "doc_id",
        "relevance",
        sf.max(sf.when(sf.col("score").isNotNull(), sf.col("place"))).over(pair).cast("long").alias("rank"),
        "n_ret",
    )
    return ranked.filter("relevance is not null")


def _kernel(metrics: list[Metric], names: tuple[str, ...], convention: str, rules: Convention) -> Callable[[Any], Any]:
    """What a worker does with a bucket: the judged rankings of some queries in, their scores out, as Arrow tables."""
    arrow = _arrow_schema(metrics)

    def kernel(table):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202  # Spark reads annotations, and means other types
        judged = pl.DataFrame(table).select(
            pl.lit(pl.Series(names)).gather(pl.col("run")).alias("run_id"),
            "query_id",
            "doc_id",
            "relevance",
            "rank",
            "n_ret",
        )
        with warnings.catch_warnings():  # of runs without rows in this bucket
            warnings.simplefilter("ignore", RankframeWarning)
            report = evaluate_ranking(
                judged,
                metrics=metrics,
                convention=convention,
                missing=rules.missing,
                no_relevant=rules.no_relevant,
                self_hits="keep",  # those that are to be dropped are not there any more
            )
        return report.scores.to_arrow(compat_level=pl.CompatLevel.oldest()).cast(arrow)

    return kernel


def _columns(metrics: list[Metric]) -> list[tuple[str, str]]:
    """The columns of scores with their types."""
    texts = [(name, "string") for name in ("run_id", "query_id", "status")]
    counts = [(name, "long") for name in ("n_ret", "n_rel", "n_judged")]
    return [*texts, *counts, *((name, "double") for name in dict.fromkeys(metric.name for metric in metrics))]


def _arrow_schema(metrics: list[Metric]) -> Any:
    """The columns as Arrow has them; Polars' own texts are of a type that Spark does not take."""
    import pyarrow as pa

    types = {"string": pa.string(), "long": pa.int64(), "double": pa.float64()}
    return pa.schema([(name, types[kind]) for name, kind in _columns(metrics)])


def _spark_schema(metrics: list[Metric]) -> Any:
    """The columns as Spark has them."""
    from pyspark.sql import types as st

    types = {"string": st.StringType(), "long": st.LongType(), "double": st.DoubleType()}
    return st.StructType([st.StructField(name, types[kind]) for name, kind in _columns(metrics)])
