"""Reports of given scores, without runs and judgments behind them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl

import rankframe as rf
from rankframe.frames.ledger import SCHEMA
from rankframe.summaries import Measured

Scores = Mapping[str, float | None]


def report_of(
    runs: Mapping[str, Scores], *, missing: Mapping[str, Sequence[str]] | None = None, metric: str = "map"
) -> rf.Report:
    """A report of one metric: run -> {query: score}; None where a query is left out; `missing` names those of a run."""
    missing = missing or {}
    rows = [
        (run, query, "missing" if query in missing.get(run, ()) else "ok", 10, 1, 1, score)
        for run in sorted(runs)
        for query, score in sorted(runs[run].items())
    ]
    names = ["run_id", "query_id", "status", "n_ret", "n_rel", "n_judged", metric]
    dtypes = [pl.String] * 3 + [pl.Int64] * 3 + [pl.Float64]
    scores = pl.DataFrame(rows, schema=dict(zip(names, dtypes, strict=True)), orient="row")
    return rf.Report(scores, pl.DataFrame(schema=SCHEMA), (Measured(metric, metric),))
