"""Frames of reports, by hand and from real evaluations, and every picture of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import polars as pl

import rankframe as rf

ODD = ("a.b", "x[0]", "k:1", "it's", "r@5 (best)", 'say "b"', "back\\slash")
"""Names that mean something to the grammar of charts."""

_SUMMARY = {
    "run_id": pl.String,
    "metric": pl.String,
    "aggregate": pl.String,
    "value": pl.Float64,
    "ci_low": pl.Float64,
    "ci_high": pl.Float64,
    "n": pl.Int64,
    "ci_reason": pl.String,
}


def summary(*rows: tuple[Any, ...]) -> pl.DataFrame:
    """A summary of (run, metric, value) or of whole rows."""
    whole = [row if len(row) > 3 else (*row[:2], "mean", row[2], None, None, 3, "one query") for row in rows]
    return pl.DataFrame(whole, schema=_SUMMARY, orient="row")


def report(runs: tuple[str, ...] = ("bm25", "dense")) -> rf.Report:
    """Twelve queries; the first run finds more for the first six of them, and run after run less."""
    qrels = {f"q{i:02}": {"d1": 2, "d2": 1, "d3": 0} for i in range(12)}
    found = {
        run: {
            query: {"d1": float(i % (place + 2)), "d2": 1.5, "d3": 1.0 if i < 6 else 3.0 - place}
            for i, query in enumerate(qrels)
        }
        for place, run in enumerate(runs)
    }
    levels = [f"iprec(recall={level / 10})" for level in range(11)]
    made = rf.evaluate(found, qrels, metrics=["ndcg@1", "ndcg@2", "ndcg@3", "map", "num_rel_ret", *levels])
    topics = ["x[0]", "it's", None]
    queries = pl.DataFrame(
        {
            "query_id": list(qrels),
            "a.b": [topics[i % 3] for i in range(12)],
            "k:1": [i % 2 == 0 for i in range(12)],
            "text": [f"</script><b>what is {query}?" for query in qrels],
        }
    )
    return made.join(queries)


def samples(runs: tuple[str, ...] = ("careful", "fluent")) -> pl.DataFrame:
    """Scores of samples as `evaluate_samples` gives them; one of them without a value."""
    rows = [
        (run, f"s{i}", "ok", (i % 5) / 4, None if i == 7 else ((i + place) % 7) / 6)
        for place, run in enumerate(runs)
        for i in range(20)
    ]
    return pl.DataFrame(rows, schema=["run_id", "sample_id", "status", "context_id_recall", "token_f1"], orient="row")


def pictures(runs: tuple[str, ...] = ("bm25", "dense")) -> dict[str, Callable[[], rf.plots.Picture]]:
    """Every picture, of the same runs."""
    made = report(runs)
    return {
        "summary": lambda: rf.plots.summary(made.summary, metrics=["ndcg@3", "map"]),
        "cutoffs": lambda: rf.plots.cutoffs(made.summary),
        "differences": lambda: rf.plots.differences(made.diff(*runs[:2], metric="ndcg@3"), a=runs[0], b=runs[1]),
        "slices": lambda: rf.plots.slices(made.by("a.b"), metric="map"),
        "slices of two": lambda: rf.plots.slices(made.by("a.b", "k:1"), metric="map"),
        "precision_recall": lambda: rf.plots.precision_recall(made.summary),
        "end_to_end": lambda: rf.plots.end_to_end(samples(runs)),
    }


TITLES = {
    "summary": ["mean nDCG at 3", "mean average precision"],
    "cutoffs": ["mean nDCG", "cutoff (number of documents from the top)"],
    "differences": ["nDCG at 3: dense minus bm25", "query"],
    "slices": ["a.b", "mean average precision"],
    "slices of two": ["a.b", "k:1", "mean average precision"],
    "precision_recall": ["recall", "mean interpolated precision"],
    "end_to_end": ["recall of contexts by id", "token F1", "share of samples", "both fine", "retrieval failed"],
}
"""What axes, legends and quarters say."""
