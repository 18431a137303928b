"""What Spark finds is what is found in memory, and the session stays as it was."""

from __future__ import annotations

import io
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import rankframe as rf
import rankframe.spark
from rankframe.metrics.conventions import CONVENTIONS
from rankframe.spark import evaluating, ranks, rows, survey

from .shared import HOSTILE, METRICS, assert_same, made, sent, several

HANDBOOK = Path(__file__).parents[2] / "data" / "handbook"


@pytest.mark.parametrize("convention", CONVENTIONS)
def test_the_runs_of_the_handbook_score_as_in_memory(spark: Any, convention: str) -> None:
    runs = [rf.read_run(path).with_columns(run_id=pl.lit(path.stem)) for path in sorted(HANDBOOK.glob("runs/*.trec"))]
    run = pl.concat(frame.select("run_id", "query_id", "doc_id", "score") for frame in runs)
    qrels = rf.read_qrels(HANDBOOK)
    found = rankframe.spark.evaluate(sent(spark, run), sent(spark, qrels), metrics=METRICS, convention=convention)
    assert_same(found, rf.evaluate(run, qrels, metrics=METRICS, convention=convention))
    assert found.runs == ["bm25", "dense", "rrf", "tfidf"]


@pytest.mark.parametrize("comparisons", [0, 10**9], ids=["sorted", "counted"])
@pytest.mark.parametrize("seed", range(3))
def test_ties_missing_and_unjudged_queries_are_as_in_memory(
    spark: Any, monkeypatch: pytest.MonkeyPatch, seed: int, comparisons: int
) -> None:
    monkeypatch.setattr(ranks, "_FEW", comparisons)
    run, qrels = made(seed, ids=HOSTILE if seed == 0 else None)
    expected = rf.evaluate(run, qrels, metrics=METRICS)
    assert {"missing_query", "unjudged_query", "tie_at_cutoff"} <= {*expected.ledger["reason"]}
    assert_same(rankframe.spark.evaluate(sent(spark, run), sent(spark, qrels), metrics=METRICS), expected)


def test_several_runs_are_told_apart_and_options_hold(spark: Any) -> None:
    run, qrels = several(4, 5, 6)
    rest: dict[str, Any] = {"metrics": "ndcg@3", "missing": "skip", "no_relevant": "zero", "self_hits": "drop"}
    rest |= {"queries": ["003", "004", "005", "019"], "corpus": [f"{number:03}" for number in range(15)]}
    expected = rf.evaluate(run, qrels, **rest)
    found = rankframe.spark.evaluate(sent(spark, run), sent(spark, qrels), **rest)
    assert_same(found, expected)
    assert {"self_hit_dropped", "not_asked", "not_in_corpus", "unjudged_query"} <= {*found.ledger["reason"]}
    assert found.runs == ["run 4", "run 5", "run 6"]


def test_what_is_left_out_on_request_is_counted(spark: Any) -> None:
    run, qrels = several(7, 8)
    bad = pl.DataFrame(
        {
            "query_id": [None, "004", "004", "005", "zzz"],
            "doc_id": ["001", None, "998", "999", "1"],
            "score": [1.0, 1.0, None, float("nan"), 1.0],
            "run_id": ["run 7", "run 7", "run 8", "run 8", "run 8"],
        }
    )
    again = run.sample(9, seed=1).with_columns(pl.col("score") + 1.0)
    run = pl.concat([run, bad, again, again.with_columns(pl.col("score") - 2.0)])
    wrong = pl.DataFrame({"query_id": ["004", None], "doc_id": ["000", "001"], "relevance": [float("inf"), 1.0]})
    qrels = pl.concat([qrels, wrong, qrels.head(3), qrels.tail(3).with_columns(pl.col("relevance") + 1)])
    rest: dict[str, Any] = {"metrics": METRICS, "invalid": "drop", "duplicates": "best"}
    expected = rf.evaluate(run, qrels, **rest)
    found = rankframe.spark.evaluate(sent(spark, run), sent(spark, qrels), **rest)
    assert_same(found, expected)
    reasons = {"invalid_dropped", "duplicate_dropped", "repeated_judgment", "conflict_resolved"}
    assert reasons <= {*found.ledger["reason"]}
    told = found.ledger.filter(run_id="run 8", reason="invalid_dropped")["examples"].to_list()
    assert told == [["(004, 998)", "(005, 999)"]]


@pytest.mark.parametrize(
    ("cast", "names"),
    [
        ({"query_id": pl.Int64, "doc_id": pl.Int32}, {"query_id": "qid", "doc_id": "docno"}),
        ({"score": pl.Float32}, {"query_id": "query-id", "doc_id": "corpus-id"}),
        ({"score": pl.Decimal(20, 3)}, {}),
        ({"score": pl.Int64}, {"score": "rank"}),
    ],
    ids=["whole ids", "narrow scores", "decimal scores", "ranks alone"],
)
def test_columns_of_other_names_and_types_are_read(spark: Any, cast: Any, names: dict[str, str]) -> None:
    run = (
        made(9)[0]
        .filter(pl.col("score").is_finite())
        .with_columns(pl.col("query_id", "doc_id").str.strip_chars_start("0"))
    )
    run = run.with_columns(pl.col("query_id", "doc_id").replace("", "0"))
    qrels = made(9)[1].with_columns(pl.col("query_id", "doc_id").str.strip_chars_start("0").replace("", "0"))
    run = run.cast(cast).rename(names).with_columns(pl.lit(1).alias("a.b `c`"))
    labels = qrels.cast({"relevance": pl.Int16}).rename({"relevance": "label"})
    expected = rf.evaluate(run, labels, metrics=METRICS)
    found = rankframe.spark.evaluate(sent(spark, run), sent(spark, labels), metrics=METRICS)
    assert_same(found, expected)


def test_ids_are_compared_by_bytes_whatever_their_collation(spark: Any) -> None:
    from pyspark.sql import functions as sf

    run = pl.DataFrame({"query_id": ["q", "Q"], "doc_id": ["d", "D"], "score": [1.0, 2.0]})
    qrels = pl.DataFrame({"query_id": ["q", "Q"], "doc_id": ["D", "D"], "relevance": [1, 1]})
    lower = sent(spark, run).withColumns({name: sf.collate(name, "UTF8_LCASE") for name in ("query_id", "doc_id")})
    assert_same(rankframe.spark.evaluate(lower, sent(spark, qrels)), rf.evaluate(run, qrels))


def test_a_run_without_rows_is_warned_of_and_scores_0(spark: Any) -> None:
    run, qrels = made(1)
    with pytest.warns(rf.RankframeWarning, match=r"the run 'mine' is empty"):
        found = rankframe.spark.evaluate(sent(spark, run.clear()), sent(spark, qrels), metrics="map", run_id="mine")
    assert found.scores["map"].drop_nulls().unique().to_list() == [0.0]
    assert found.runs == ["mine"]


def test_no_row_goes_through_python_and_the_session_stays_as_it_was(
    spark: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[Any] = []
    collected = rankframe.spark.frames.collected

    def noted(frame: Any) -> pl.DataFrame:
        seen.append(frame)
        return collected(frame)

    for module in (evaluating, ranks, rows, survey, rankframe.spark.frames):
        monkeypatch.setattr(module, "collected", noted)
    run, qrels = (sent(spark, frame) for frame in several(2, 3))
    before = dict(spark.conf.getAll), spark.sparkContext._jsc.getPersistentRDDs().size(), spark.catalog.listTables()
    rankframe.spark.evaluate(run, qrels)
    after = dict(spark.conf.getAll), spark.sparkContext._jsc.getPersistentRDDs().size(), spark.catalog.listTables()
    assert after == before
    assert not run.is_cached
    assert len(seen) > 3
    with redirect_stdout(io.StringIO()) as plans:
        for frame in seen:
            frame.explain()
    assert "HashAggregate" in plans.getvalue()
    assert not any(word in plans.getvalue() for word in ("Python", "Pandas", "Arrow", "UDF"))
