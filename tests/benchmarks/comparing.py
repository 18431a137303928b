"""Comparing many runs by randomisation: against scipy's `permutation_test` pair by pair, and the memory it takes."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl

import rankframe as rf
from rankframe.frames.ledger import SCHEMA
from rankframe.summaries import Measured

from . import peers
from .rows import Aim, Row, faster, in_turn, needed, told

RUNS, QUERIES = 20, 6_980
PAIRS_TIMED = 4
"""Of scipy only so many pairs are timed, and the time of all is reckoned from them."""


def report(runs: int, queries: int, seed: int = 0) -> rf.Report:
    """A report of runs whose scores are related, query by query, as those of search systems are."""
    rng = np.random.default_rng(seed)
    ease = rng.beta(0.5, 0.8, queries)
    ids = [f"q{i:06}" for i in range(queries)]
    scores = pl.concat(
        pl.DataFrame(
            {
                "run_id": [f"run{run:02}"] * queries,
                "query_id": ids,
                "status": ["ok"] * queries,
                "n_ret": [1_000] * queries,
                "n_rel": [1] * queries,
                "n_judged": [1] * queries,
                "ndcg@10": np.clip(ease + rng.normal(0.001 * run, 0.2, queries), 0, 1),
            }
        )
        for run in range(runs)
    )
    return rf.Report(scores, pl.DataFrame(schema=SCHEMA), (Measured("ndcg@10", "ndcg@10", cutoff=10),))


def ours(found: rf.Report) -> dict[tuple[str, str], float]:
    """The p value of every pair, by its names in order."""
    rows = rf.compare(found, n_resamples=10_000).select("run_id", "other", "p").rows()
    return {(min(run, other), max(run, other)): p for run, other, p in rows}


def with_scipy(found: rf.Report, pairs: list[tuple[str, str]]) -> dict[tuple[str, str], float]:
    """The same of some pairs by scipy's vectorised test."""
    from scipy.stats import permutation_test

    columns = found.scores.pivot("run_id", index="query_id", values="ndcg@10")

    def mean_difference(a: Any, b: Any, axis: int) -> Any:
        return np.mean(a - b, axis=axis)

    told_: dict[tuple[str, str], float] = {}
    for run, other in pairs:
        samples = columns[run].to_numpy(), columns[other].to_numpy()
        options = {"permutation_type": "samples", "vectorized": True, "n_resamples": 10_000, "batch": 500}
        told_[run, other] = float(permutation_test(samples, mean_difference, rng=1, **options).pvalue)
    return told_


def comparing(rounds: int, runs: int = RUNS, queries: int = QUERIES) -> Iterator[Row]:
    """All pairs of many runs, with intervals, corrections and diagnostics, against p values alone."""
    found = report(runs, queries)
    pairs = list(combinations(found.runs, 2))
    timed = pairs[:: max(1, len(pairs) // PAIRS_TIMED)][:PAIRS_TIMED]
    first = ours(found)
    for pair, p in with_scipy(found, timed).items():
        if abs(first[pair] - p) > 4 * (2 * max(p, 1e-4) / 10_000) ** 0.5:
            raise AssertionError(f"p values of {pair} differ: {first[pair]} and {p}")
    seconds = in_turn({"ours": partial(ours, found), "theirs": partial(with_scipy, found, timed)}, rounds)
    name = f"compare, {runs} runs x {queries:,} queries, all {len(pairs)} pairs, 10,000 resamples"
    reckoned = [second * len(pairs) / len(timed) for second in seconds["theirs"]]
    yield faster(
        name, f"scipy's permutation_test, reckoned from {len(timed)} pairs", seconds["ours"], reckoned, Aim(10)
    )
    peak = float(peers.output([sys.executable, "-m", __name__, str(runs), str(queries)]).split()[-1])
    told(f"  peak {peak:.0f} MiB")
    yield needed(f"{name}, peak memory", "2 GB", [peak], [2e9 / 2**20], 1.0, " MiB")


if __name__ == "__main__":
    ours(report(*map(int, sys.argv[1:])))
    print(peers.peak_memory())
