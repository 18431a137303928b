"""Runs and judgments with everything that may go wrong, and how two reports of them are compared."""

from __future__ import annotations

import random
from typing import Any

import polars as pl
from polars.testing import assert_frame_equal

import rankframe as rf

CONFIG = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.sql.shuffle.partitions": "2",
}

HOSTILE = [
    "",
    " ",
    "q 1",
    "q'1",
    'q"1',
    "naïve",
    "日本語",
    "a\tb",
    "\uff5e",
    "\U0001f600",
    "Q1",
    "q1",
    "`",
    "NULL",
    "-1",
]
"""Ids that are all different; the bytes of two of them are in another order in UTF-16."""

METRICS = [
    "ndcg@10",
    "ndcg(gain=exponential)@5",
    "err@12",
    "map",
    "mrr@3",
    "bpref",
    "precision@5",
    "judged@10",
    "rprec",
]


def made(seed: int, *, ids: list[str] | None = None) -> tuple[pl.DataFrame, pl.DataFrame]:
    """A run of many ties, and judgments of any sign: some queries of each are not in the other."""
    chance = random.Random(seed)
    ids = ids or [f"{number:03}" for number in range(20)]
    run = [
        (query, doc, chance.choice([0.0, -0.0, 1.0, 1.5, 2.0, -3.0, float("inf"), float("-inf")]))
        for query in ids[3:]
        for doc in chance.sample(ids, chance.randint(1, len(ids)))
    ]
    qrels = [
        (query, doc, float(chance.choice([-1, 0, 0, 1, 2, 3])))
        for query in ids[:-3]
        for doc in chance.sample(ids, chance.randint(1, len(ids) // 2))
    ]
    chance.shuffle(run)
    return (
        pl.DataFrame(run, schema=["query_id", "doc_id", "score"], orient="row"),
        pl.DataFrame(qrels, schema=["query_id", "doc_id", "relevance"], orient="row"),
    )


def several(*seeds: int) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Several runs in one frame, and judgments."""
    runs = [made(seed)[0].with_columns(run_id=pl.lit(f"run {seed}")) for seed in seeds]
    return pl.concat(runs), made(seeds[0])[1]


def sent(session: Any, frame: pl.DataFrame) -> Any:
    """A frame as a Spark DataFrame in two partitions, so that the rows of a query stand apart."""
    return session.createDataFrame(frame.rechunk().to_arrow(compat_level=pl.CompatLevel.oldest())).repartition(2)


def assert_same(found: rf.Report, expected: rf.Report) -> None:
    """The same scores in the same order, the same ledger and options; examples of rows may be others."""
    assert_frame_equal(found.scores, expected.scores, abs_tol=1e-12)
    assert_frame_equal(found.ledger.drop("examples"), expected.ledger.drop("examples"))
    of_rows = pl.col("reason").is_in(["invalid_dropped", "duplicate_dropped", "self_hit_dropped"])
    assert_frame_equal(found.ledger.filter(~of_rows), expected.ledger.filter(~of_rows))
    assert found.metrics == expected.metrics
    assert found.options == expected.options
