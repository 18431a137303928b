"""Workloads: runs and judgments of set sizes, the same for a seed, with many ties.

Rows of a run stand by query, then score descending; tied documents stand in ascending order of their ids,
which is not the order in which trec_eval ranks them. Sparse judgments stand at every rank, more of them near
the top; graded ones stand evenly.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

Integers = NDArray[np.int64]

FIRST_ID = 1_000_000  # all ids have seven digits, so they sort as text as they do as numbers
TOP_SCORE = 20_000  # in thousandths
NOT_RETRIEVED = 0.1  # the share of sparse judgments that the run does not have


@dataclass(frozen=True, slots=True)
class Workload:
    """Sizes of a run and its judgments; `judged` is the mean number of judgments a query."""

    name: str
    queries: int
    depth: int
    judged: float
    graded: bool = False

    @property
    def collection(self) -> int:
        """How many documents there are to retrieve: a prime number."""
        least = max(20 * self.depth, self.queries * self.depth * 6 // 7)
        return next(n for n in count(least) if all(n % divisor for divisor in range(2, int(n**0.5) + 1)))

    def smaller(self, times: int) -> Workload:
        """The same with so many times fewer queries."""
        return replace(self, queries=max(1, self.queries // times))

    def __str__(self) -> str:
        return f"{self.name} ({self.queries:,} x {self.depth:,})"


WORKLOADS = {
    workload.name: workload
    for workload in (
        Workload("S", 300, 100, 1.1),
        Workload("M", 3_452, 1_000, 1.2),
        Workload("L", 6_980, 1_000, 1.07),
        Workload("G", 50, 1_000, 1_150, graded=True),
    )
}


@dataclass(frozen=True, slots=True)
class Data:
    """One workload as frames: `run` (query_id, doc_id, score) and `qrels` (query_id, doc_id, relevance)."""

    workload: Workload
    run: pl.DataFrame
    qrels: pl.DataFrame

    def shuffled(self, seed: int = 1) -> pl.DataFrame:
        """The rows of the run in no order."""
        return self.run.sample(fraction=1, shuffle=True, seed=seed).rechunk()

    def parquet(self, folder: Path) -> tuple[Path, Path]:
        """Write run and judgments as Parquet; the two paths."""
        run, qrels = (folder / f"{self.workload.name}_{kind}.parquet" for kind in ("run", "qrels"))
        self.run.write_parquet(run)
        self.qrels.write_parquet(qrels)
        return run, qrels

    def trec(self, folder: Path) -> tuple[Path, Path]:
        """Write run and judgments as TREC text; the two paths."""
        run, qrels = (folder / f"{self.workload.name}_{kind}.trec" for kind in ("run", "qrels"))
        rank = np.tile(np.arange(1, self.workload.depth + 1), self.workload.queries)
        self.run.select(
            "query_id",
            pl.lit("Q0").alias("iteration"),
            "doc_id",
            pl.Series("rank", rank),
            "score",
            pl.lit("bench").alias("tag"),
        ).write_csv(run, separator=" ", include_header=False)
        self.qrels.select(
            "query_id", pl.lit("0").alias("iteration"), "doc_id", pl.col("relevance").cast(pl.Int64)
        ).write_csv(qrels, separator=" ", include_header=False)
        return run, qrels


def generate(workload: Workload, seed: int = 0) -> Data:
    """Make a workload; the same for the same seed."""
    rng = np.random.default_rng(seed)
    prime = workload.collection
    offset = rng.integers(0, prime, (workload.queries, 1))
    stride = rng.integers(1, prime, (workload.queries, 1))
    slots = np.arange(workload.depth)
    documents: Integers = (offset + stride * slots) % prime  # distinct within a query: the modulus is prime
    below_top = rng.integers(0, TOP_SCORE + 1, documents.shape)
    key = np.sort(below_top * prime + documents, axis=1)  # by score descending, then document
    below_top, documents = key // prime, key % prime
    run = pl.DataFrame(
        [
            _query_ids(np.repeat(np.arange(workload.queries), workload.depth), workload),
            _doc_ids(documents.ravel()),
            pl.Series("score", (TOP_SCORE - below_top).ravel() / 1000),
        ]
    )
    query, slot = _graded_slots(workload, rng) if workload.graded else sparse_slots(workload, rng)
    retrieved = slot < workload.depth
    at_rank = documents[query, np.minimum(slot, workload.depth - 1)]
    elsewhere = (offset[query, 0] + stride[query, 0] * slot) % prime
    grades = rng.integers(0, 4, len(slot)) if workload.graded else np.ones(len(slot), dtype=np.int64)
    qrels = pl.DataFrame(
        [
            _query_ids(query, workload),
            _doc_ids(np.where(retrieved, at_rank, elsewhere)),
            pl.Series("relevance", grades.astype(np.float64)),
        ]
    ).sort("query_id", "doc_id")
    return Data(workload, run.rechunk(), qrels.rechunk())


def sparse_slots(workload: Workload, rng: np.random.Generator) -> tuple[Integers, Integers]:
    """Query and slot of a few judgments each: a rank from 0, or from `depth` on where it is not retrieved."""
    depth = workload.depth
    counts = 1 + rng.poisson(workload.judged - 1, workload.queries)
    query = np.repeat(np.arange(workload.queries), counts)
    rank = np.minimum((depth + 1) ** rng.random(len(query)), depth).astype(np.int64) - 1  # log-uniform
    other = rng.integers(depth, 2 * depth, len(query))
    slot = np.where(rng.random(len(query)) < NOT_RETRIEVED, other, rank)
    distinct = np.unique(query * (2 * depth) + slot)
    return distinct // (2 * depth), distinct % (2 * depth)


def _graded_slots(workload: Workload, rng: np.random.Generator) -> tuple[Integers, Integers]:
    """The same for many judgments a query, half of them retrieved where the depth allows."""
    judged = int(workload.judged)
    inside = min(judged // 2, workload.depth)
    ranks = rng.permuted(np.tile(np.arange(workload.depth), (workload.queries, 1)), axis=1)[:, :inside]
    others = np.tile(np.arange(workload.depth, workload.depth + judged - inside), (workload.queries, 1))
    slot = np.concatenate((ranks, others), axis=1)
    return np.repeat(np.arange(workload.queries), judged), slot.ravel()


def _query_ids(numbers: Integers, workload: Workload) -> pl.Series:
    names = pl.Series("query_id", [f"q{FIRST_ID + number}" for number in range(workload.queries)], dtype=pl.String)
    return names.gather(numbers)


def _doc_ids(numbers: Integers) -> pl.Series:
    return pl.select(pl.format("doc{}", pl.lit(pl.Series(numbers + FIRST_ID))).alias("doc_id")).to_series()


def passages(count: int, seed: int = 7) -> pl.DataFrame:
    """Generated passages of 40 to 100 words (doc_id, text), words as frequent as Zipf's law has them."""
    random = np.random.default_rng(seed)
    words = np.array([f"w{number:05x}" for number in range(200_000)])
    lengths = random.integers(40, 101, count)
    drawn = words[np.minimum(random.zipf(1.15, int(lengths.sum())), len(words)) - 1]
    texts = [" ".join(part) for part in np.split(drawn, np.cumsum(lengths)[:-1])]
    return pl.DataFrame({"doc_id": [f"d{number:06}" for number in range(count)], "text": texts})
