"""Scores that stay on Spark are those that `evaluate` gives in memory."""

from __future__ import annotations

import io
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import rankframe as rf
import rankframe.spark
from rankframe.metrics import Metric

from .shared import HOSTILE, METRICS, made, sent, several


def _in_order(scores: Any) -> pl.DataFrame:
    return pl.DataFrame(scores.toArrow()).sort("run_id", "query_id")


@pytest.mark.filterwarnings("ignore:run. run row dropped because the document is the query itself")
@pytest.mark.parametrize("convention", ["documented", "trec_eval", "beir"])
def test_scores_of_several_runs_are_those_of_memory(spark: Any, convention: str) -> None:
    run, qrels = several(1, 2)
    found = rankframe.spark.scores(
        sent(spark, run), sent(spark, qrels), metrics=METRICS, convention=convention, buckets=5
    )
    expected = rf.evaluate(run, qrels, metrics=METRICS, convention=convention).scores
    assert_frame_equal(_in_order(found), expected, abs_tol=1e-12)
    assert found.columns == expected.columns


def test_scores_of_hostile_ids_are_written_as_parquet(spark: Any, tmp_path: Path) -> None:
    run, qrels = made(5, ids=HOSTILE)
    found = rankframe.spark.scores(sent(spark, run), sent(spark, qrels), metrics=METRICS, run_id="it's \u65e5")
    found.write.parquet(str(tmp_path / "scores"))
    expected = rf.evaluate({"it's \u65e5": run}, qrels, metrics=METRICS).scores
    written = pl.read_parquet(tmp_path / "scores" / "*.parquet").sort("run_id", "query_id")
    assert_frame_equal(written, expected, abs_tol=1e-12)


def test_a_query_in_a_bucket_without_the_largest_grade_is_measured_by_it_too(spark: Any) -> None:
    run = pl.DataFrame({"query_id": ["a", "b"], "doc_id": ["d", "d"], "score": [1.0, 1.0]})
    qrels = pl.DataFrame({"query_id": ["a", "b", "c"], "doc_id": ["d", "d", "d"], "relevance": [1, 4, 2]})
    expected = rf.evaluate(run, qrels, metrics="err@5").scores
    found = _in_order(rankframe.spark.scores(sent(spark, run), sent(spark, qrels), metrics="err@5", buckets=1000))
    assert_frame_equal(found, expected, abs_tol=1e-12)
    assert "err(max_grade=4)@5" in found.columns


def test_metrics_of_ones_own_see_the_same_rows(spark: Any) -> None:
    run, qrels = several(1, 3)
    first = Metric("first_found", pl.col("doc_id").filter(pl.col("rank") == 1).len().cast(pl.Float64), range=(0, 1))
    names = Metric("names", pl.col("run_id").first().str.len_bytes().cast(pl.Float64) + pl.col("n_ret").first())
    found = rankframe.spark.scores(sent(spark, run), sent(spark, qrels), metrics=[first, names, "map"])
    expected = rf.evaluate(run, qrels, metrics=[first, names, "map"]).scores
    assert_frame_equal(_in_order(found), expected, abs_tol=1e-12)


def test_what_is_left_out_on_request_is_warned_of(spark: Any) -> None:
    run, qrels = made(7)
    bad = pl.DataFrame({"query_id": ["004"], "doc_id": ["x"], "score": [float("nan")]})
    run = pl.concat([run, bad, run.head(4).with_columns(pl.col("score") + 1.0)])
    wrong = pl.DataFrame({"query_id": [None], "doc_id": ["y"], "relevance": [1.0]})
    qrels = pl.concat([qrels, wrong, qrels.head(3).with_columns(pl.col("relevance") + 1), qrels.tail(2)])
    rest: dict[str, Any] = {"metrics": METRICS, "invalid": "drop", "duplicates": "best"}
    with pytest.warns(rf.RankframeWarning) as warned:
        found = rankframe.spark.scores(sent(spark, run), sent(spark, qrels), **rest)
    assert_frame_equal(_in_order(found), rf.evaluate(run, qrels, **rest).scores, abs_tol=1e-12)
    told = "\n".join(str(warning.message) for warning in warned)
    for part in (
        "run: row dropped on request because of a null id, or a null or NaN number: 1, such as '(004, x)'",
        "run: run row dropped on request because its pair stands there with a better score: 4",
        "qrels: row dropped on request because of a null id, or a null or NaN number: 1, such as '(None, y)'",
        "qrels: pair judged with different grades, of which the highest was kept on request: 3",
    ):
        assert part in told


def test_a_run_without_rows_is_warned_of(spark: Any) -> None:
    run, qrels = made(1)
    with pytest.warns(rf.RankframeWarning, match=r"run: the run 'run' is empty"):
        found = rankframe.spark.scores(sent(spark, run.clear()), sent(spark, qrels), metrics="map")
    assert _in_order(found)["n_ret"].unique().to_list() == [0]


@pytest.mark.usefixtures("_spark_is_here")
@pytest.mark.parametrize("buckets", [0, -1, 2.5, "8", True])
def test_buckets_are_a_number_from_1(buckets: Any) -> None:
    with pytest.raises(rf.DataError, match=r"buckets=.*; a whole number from 1, or None"):
        rankframe.spark.scores(None, None, buckets=buckets)


def test_only_judged_documents_go_to_python(spark: Any) -> None:
    run, qrels = made(1)
    found = rankframe.spark.scores(sent(spark, run), sent(spark, qrels))
    with redirect_stdout(io.StringIO()) as plan:
        found.explain()
    above, _, below = plan.getvalue().partition("FlatMapGroupsInArrow")
    assert "Window" in below
    assert "Window" not in above
    assert "isnotnull(relevance" in below
