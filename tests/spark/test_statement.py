"""The judged ranking as one SQL statement, in Spark's SQL."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import rankframe as rf

from .shared import HOSTILE, METRICS, made, sent, several


@pytest.mark.parametrize("runs", [made(1), made(2, ids=HOSTILE), several(3, 4)], ids=["one", "hostile", "several"])
def test_the_statement_gives_the_scores_of_memory(spark: Any, runs: tuple[pl.DataFrame, pl.DataFrame]) -> None:
    run, qrels = runs
    sent(spark, run).createOrReplaceTempView("run")
    sent(spark, qrels).createOrReplaceTempView("qrels")
    statement = rf.sql.judged_ranking(run_id="run_id" in run.columns)
    report = rf.evaluate_ranking(pl.DataFrame(spark.sql(statement).toArrow()), metrics=METRICS)
    assert_frame_equal(report.scores, rf.evaluate(run, qrels, metrics=METRICS).scores, abs_tol=1e-12)
    assert spark.sql(rf.sql.problems(run_id="run_id" in run.columns)).count() == 0
