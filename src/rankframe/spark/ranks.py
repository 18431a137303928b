"""The places of judged documents, on Spark, counted over all rows of their queries that can stand above them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from rankframe.errors import DataError, counted, with_more
from rankframe.frames.ledger import pairs
from rankframe.frames.schemas import RUN
from rankframe.spark.frames import SMALL, collected, sent
from rankframe.spark.survey import Survey

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_FEW = 8
"""Comparisons per row up to which counting the rows above each judged document is faster than a sort."""


def ranked(seen: Survey, docs: pl.DataFrame) -> pl.DataFrame:
    """The judged documents that the runs have, with their places.

    Args:
        seen: the runs.
        docs: number (of the query), judgment Int64, query_id, doc_id String.

    Returns:
        run, judgment, rank Int64. Equal scores are in the order of their ids, descending.

    Raises:
        DataError: where the rows are others than they were before.
    """
    hits = seen.hits.join(docs, on=["number", "doc_id"]).with_row_index("hit").cast({"hit": pl.Int64, "run": pl.Int32})
    if hits.is_empty():
        return pl.DataFrame(schema={"run": pl.Int64, "judgment": pl.Int64, "rank": pl.Int64})
    per_query = hits.group_by(pl.col("run").cast(pl.Int64), "number").len("hits")
    compared = per_query.join(seen.judged, on=["run", "number"]).select((pl.col("hits") * pl.col("n_ret")).sum()).item()
    few = hits.height <= SMALL and compared <= _FEW * seen.totals["rows"].sum()
    ranks = (_counted if few else _sorted)(seen.rows, hits)
    found = hits.join(collected(ranks), on="hit", how="left")
    lost = found.filter(pl.col("rank").is_null())
    if lost.height:
        raise DataError(
            f"{RUN.label}: {counted(lost.height, 'row')} that were there when the rows were read first were not there "
            f"the second time: {with_more(pairs(lost), lost.height)}; cache() the DataFrame, or write it before"
        )
    return found.select(pl.col("run", "judgment", "rank").cast(pl.Int64))


def _sent(rows: DataFrame, hits: pl.DataFrame) -> DataFrame:
    """The judged documents beside which rows are put: a query has few of them, so no row is moved."""
    names = {"query_id": "its_query", "run": "its_run", "doc_id": "its_doc", "score": "its_score"}
    return sent(rows.sparkSession, hits.select("hit", *names).rename(names))


def _counted(rows: DataFrame, hits: pl.DataFrame) -> DataFrame:
    """Ranks as how many rows stand there or above."""
    from pyspark.sql import functions as sf

    above = (sf.col("score") > sf.col("its_score")) | (
        (sf.col("score") == sf.col("its_score")) & (sf.col("doc_id") >= sf.col("its_doc"))
    )
    of_query = (sf.col("run") == sf.col("its_run")) & (sf.col("query_id") == sf.col("its_query"))
    return rows.join(_sent(rows, hits), of_query & above).groupBy("hit").agg(sf.count("*").alias("rank"))


def _sorted(rows: DataFrame, hits: pl.DataFrame) -> DataFrame:
    """Ranks by a sort of the rows that are not below every judged document of their query."""
    from pyspark.sql import Window
    from pyspark.sql import functions as sf

    lowest = hits.group_by("run", "query_id").agg(pl.col("score").min().alias("lowest"))
    window = Window.partitionBy("run", "query_id").orderBy(sf.desc("score"), sf.desc("doc_id"))
    placed = (
        rows.join(sent(rows.sparkSession, lowest), ["run", "query_id"])
        .filter(sf.col("score") >= sf.col("lowest"))
        .select("run", "query_id", "doc_id", sf.row_number().over(window).alias("rank"))
    )
    same = (
        (sf.col("run") == sf.col("its_run"))
        & (sf.col("query_id") == sf.col("its_query"))
        & (sf.col("doc_id") == sf.col("its_doc"))
    )
    return placed.join(_sent(rows, hits), same).select("hit", "rank")
