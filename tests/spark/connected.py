"""Evaluates on a Spark Connect server, in a process of its own: `python -m tests.spark.connected sc://host:port`."""

from __future__ import annotations

import sys

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import rankframe as rf
import rankframe.spark

from .shared import HOSTILE, METRICS, assert_same, made, sent, several


def main(address: str) -> None:
    from pyspark.sql import SparkSession

    session = SparkSession.builder.remote(address).getOrCreate()
    assert type(session).__module__.startswith("pyspark.sql.connect")
    before = dict(session.conf.getAll)
    for run, qrels in (several(1, 2), made(3, ids=HOSTILE)):
        frames = sent(session, run), sent(session, qrels)
        expected = rf.evaluate(run, qrels, metrics=METRICS)
        assert_same(rankframe.spark.evaluate(*frames, metrics=METRICS), expected)
        found = pl.DataFrame(rankframe.spark.scores(*frames, metrics=METRICS, buckets=3).toArrow())
        assert_frame_equal(found.sort("run_id", "query_id"), expected.scores, abs_tol=1e-12)
    run, qrels = made(1)
    with pytest.raises(rf.DataError, match=r"3 \(query, document\) pairs more than once"):
        rankframe.spark.evaluate(sent(session, pl.concat([run, run.head(3)])), sent(session, qrels))
    assert dict(session.conf.getAll) == before
    print("as in memory")  # noqa: T201  # what the test waits for


if __name__ == "__main__":
    main(sys.argv[1])
