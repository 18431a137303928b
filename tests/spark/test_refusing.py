"""What is refused, is refused in the words that are used in memory."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import rankframe as rf
import rankframe.spark

from .shared import made, sent, several

FUNCTIONS = [rankframe.spark.evaluate, rankframe.spark.scores]


def _with(frame: pl.DataFrame, **row: Any) -> pl.DataFrame:
    """The frame with one more row, sorted, so that what comes first in memory comes first by its ids."""
    more = frame.head(1).with_columns(pl.lit(value).cast(frame.schema[name]).alias(name) for name, value in row.items())
    return pl.concat([frame, more]).sort("query_id", "doc_id")


RUN, QRELS = (frame.sort("query_id", "doc_id") for frame in made(3))
RUNS = several(3, 4)[0]
NOBODY = RUN.with_columns(pl.concat_str(pl.lit("x"), "query_id").alias("query_id"))
CASES = {
    "null query_id": (_with(RUN, query_id=None), QRELS),
    "null doc_id": (_with(_with(RUN, doc_id=None), query_id="000", doc_id=None), QRELS),
    "null score": (_with(RUN, doc_id="d", score=None), QRELS),
    "NaN score": (
        RUN.with_columns(pl.when(pl.col("doc_id") < "004").then(float("nan")).otherwise("score").alias("score")),
        QRELS,
    ),
    "pair twice": (pl.concat([RUN, RUN.head(12)]).sort("query_id", "doc_id"), QRELS),
    "pair of an unjudged query twice": (pl.concat([RUN, RUN.tail(1)]), QRELS),
    "several runs, one with a pair twice": (pl.concat([RUNS, RUNS.tail(1)]), QRELS),
    "null run_id": (pl.concat([RUNS, RUNS.tail(2).with_columns(run_id=pl.lit(None, pl.String))]), QRELS),
    "null grade": (RUN, _with(QRELS, relevance=None, doc_id="d")),
    "infinite grade": (RUN, _with(QRELS, relevance=float("inf"), doc_id="d")),
    "conflict": (
        RUN,
        pl.concat([QRELS, QRELS.head(7).with_columns(pl.col("relevance") + 1)]).sort("query_id", "doc_id", "relevance"),
    ),
    "no query in common": (NOBODY.sort("query_id"), QRELS),
    "no judgments": (RUN, QRELS.clear()),
    "rounded": (RUN.with_columns(score=pl.lit(2**53 + 1)), QRELS),
    "no column": (RUN.drop("score"), QRELS),
    "ids that are floats": (RUN.with_columns(query_id=pl.col("query_id").cast(pl.Float64)), QRELS),
    "two columns of one meaning": (RUN.with_columns(qid=pl.lit("q")), QRELS),
}


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("case", CASES)
def test_bad_rows_are_refused_in_the_same_words_as_in_memory(spark: Any, case: str, function: Any) -> None:
    run, qrels = CASES[case]
    with pytest.raises(rf.DataError) as expected:
        rf.evaluate(run, qrels)
    run_frame, qrels_frame = sent(spark, run), sent(spark, qrels)
    with pytest.raises(rf.DataError) as found:
        function(run_frame, qrels_frame)
    told, wanted = str(found.value), str(expected.value).partition("\n")[0]
    if case == "ids that are floats":  # Spark calls the type by another name
        told = told.replace("double", "Float64")
    wanted = re.sub("say which with columns=.*", "drop one of them", wanted)  # there is no such option on Spark
    wanted = re.sub("anything else by columns=.*", "rename yours", wanted)
    assert told == wanted


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize(
    "source", [RUN, RUN.lazy(), Path("run.parquet"), {"q": {"d": 1.0}}, None], ids=lambda s: type(s).__name__
)
def test_what_is_no_spark_dataframe_is_named_with_the_way_out(spark: Any, source: object, function: Any) -> None:
    qrels = sent(spark, QRELS)
    with pytest.raises(
        rf.DataError, match=r"run: expected a Spark DataFrame, got .*rankframe\.evaluate takes .*spark\.read"
    ):
        function(source, qrels)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_scores_that_are_text_are_refused(spark: Any, function: Any) -> None:
    run = sent(spark, RUN.with_columns(pl.col("score").cast(pl.String)))
    qrels = sent(spark, QRELS)
    with pytest.raises(rf.DataError, match=r"run: 'score' is string, not a number; cast it before"):
        function(run, qrels)


@pytest.mark.usefixtures("_spark_is_here")
@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"metrics": "ndgc@10"}, r"ndcg"),
        ({"convention": "trec"}, r"unknown convention 'trec'"),
        ({"duplicates": "first"}, r"duplicates='first' is unknown; valid: 'error', 'best'"),
        ({"invalid": "skip"}, r"invalid='skip' is unknown; valid: 'error', 'drop'"),
        ({"self_hits": "zero"}, r"self_hits='zero'; valid: keep, drop"),
        ({"run_id": 5}, r"the name of a run is text, got run_id=5"),
    ],
)
def test_options_are_refused_before_anything_is_read(options: dict[str, Any], message: str, function: Any) -> None:
    with pytest.raises(rf.RankframeError, match=message):
        function(None, None, **options)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_without_pyspark_the_extra_is_named(monkeypatch: pytest.MonkeyPatch, function: Any) -> None:
    monkeypatch.setitem(sys.modules, "pyspark", None)
    with pytest.raises(rf.errors.ExtraError, match=r"pip install 'rankframe\[spark\]'"):
        function(None, None)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_stream_is_refused(spark: Any, function: Any) -> None:
    stream = spark.readStream.format("rate").load()
    with pytest.raises(rf.DataError, match="run: a stream has no end; write its rows to a table"):
        function(stream, None)


def test_rows_that_differ_each_time_they_are_read_are_refused(spark: Any) -> None:
    """Half of the rows, drawn anew by every execution: whatever is lost in between has no rank."""

    def half(batches: Any) -> Any:
        import random

        for batch in batches:
            yield batch.filter([random.random() < 0.5 for _ in range(batch.num_rows)])

    run = pl.DataFrame({"query_id": [f"q{n:03}" for n in range(200)], "doc_id": ["d"] * 200, "score": [1.0] * 200})
    qrels = run.select("query_id", "doc_id", relevance=pl.lit(1.0))
    drawn = sent(spark, run).mapInArrow(half, "query_id string, doc_id string, score double")
    with pytest.raises(
        rf.DataError, match=r"run: \d+ rows that were there when the rows were read first .*; cache\(\)"
    ):
        rankframe.spark.evaluate(drawn, sent(spark, qrels))
