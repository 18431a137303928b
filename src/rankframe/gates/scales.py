"""Bands: what practitioners call poor, acceptable, good and excellent, as data."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from rankframe.errors import MetricError
from rankframe.gates.labels import known, labelled, named
from rankframe.gates.values import finite, plain, with_columns_of

_BANDS = ("poor", "acceptable", "good", "excellent")


@dataclass(frozen=True, slots=True)
class Scale:
    """The bands of one metric by their three edges.

    Below the first edge is poor, strictly above the last is excellent, and an edge between two bands belongs to the
    better one; so the first edge is acceptable, the second good, and the last still good.

    >>> scale = Scale("mrr", (0.5, 0.7, 0.85))
    >>> [scale.band(value) for value in (0.49, 0.5, 0.7, 0.85, 0.86)]
    ['poor', 'acceptable', 'good', 'good', 'excellent']
    """

    metric: str
    edges: tuple[float, float, float]

    def band(self, value: float | None) -> str | None:
        """The band of a value, None where there is no value."""
        if value is None or math.isnan(value):
            return None
        first, second, last = self.edges
        return _BANDS[(value >= first) + (value >= second) + (value > last)]

    def rows(self) -> list[tuple[str, str, float | None, float | None, str]]:
        """Its rows of `band_table`."""
        first, second, last = map(plain, self.edges)
        rules = (f"< {first}", f">= {first} and < {second}", f">= {second} and <= {last}", f"> {last}")
        lows, highs = (None, *self.edges), (*self.edges, None)
        return [(self.metric, *row) for row in zip(_BANDS, lows, highs, rules, strict=True)]


BANDS = (
    Scale("precision@5", (0.40, 0.60, 0.80)),
    Scale("recall@5", (0.50, 0.70, 0.85)),
    Scale("mrr", (0.50, 0.70, 0.85)),
    Scale("faithfulness", (0.70, 0.85, 0.95)),
    Scale("answer_relevance", (0.70, 0.85, 0.95)),
)
"""The bands of a practitioner's note on evaluating RAG. `mrr` stands for every cutoff of it.

`lexical_faithfulness` and `tfidf_answer_relevance` are other metrics on other scales, and have none.
"""

_SAME = {"answer_relevancy": "answer_relevance"}  # as Ragas calls it
_MRR = re.compile(r"mrr@\d+")


def bands(summary: pl.DataFrame, table: Mapping[str, Sequence[float]] | None = None) -> pl.DataFrame:
    """How good values are in words, for the metrics that have bands.

    Args:
        summary: run_id, metric, aggregate String, value Float64, n Int64, as in `Report.summary`.
        table: metric -> its three ascending edges, as in `{"token_f1": (0.3, 0.5, 0.7)}`; `BANDS` unless given. What
            an edge belongs to: see `Scale`.

    Returns:
        run_id, metric String, value Float64, band String (null where there is no value), n Int64: a row per run and
        metric that has bands, in the summary's order; none where no metric has any. Metrics match by their whole
        definition: `P@5` is `precision@5`, but `precision(over=returned)@5` or a geometric mean is not. `mrr` matches
        `mrr@10` too, and `answer_relevance` what Ragas calls `answer_relevancy`.

    Raises:
        MetricError: for a table that is empty, or edges that are not three ascending numbers.
        DataError: for a summary that lacks a column.

    >>> columns = ["run_id", "metric", "aggregate", "value", "n"]
    >>> summary = pl.DataFrame([("bm25", "mrr@10", "mean", 0.72, 40)], columns, orient="row")
    >>> bands(summary).rows()
    [('bm25', 'mrr@10', 0.72, 'good', 40)]
    """
    scales = {scale.metric: scale for scale in _scales(table)}
    columns = ("run_id", "metric", "aggregate", "value", "n")
    with_columns_of(summary, columns, "the summary")
    labels = labelled(summary.select("metric", "aggregate").iter_rows())
    rows = {}
    for run, metric, aggregate, value, n in summary.select(columns).iter_rows():
        label = labels[metric, aggregate]
        name = _SAME.get(label, label)
        scale = scales.get(name) or (scales.get("mrr") if _MRR.fullmatch(name) else None)
        if scale is not None:
            rows[run, label] = (run, label, value, scale.band(value), n)
    types = {"run_id": pl.String, "metric": pl.String, "value": pl.Float64, "band": pl.String, "n": pl.Int64}
    return pl.DataFrame(list(rows.values()), types, orient="row")


def band_table(table: Mapping[str, Sequence[float]] | None = None) -> pl.DataFrame:
    """The bands themselves, four rows per metric.

    Args:
        table: as for `bands`.

    Returns:
        metric, band String, low, high Float64 (null for an open end), rule String, which says what the edges belong to.

    Raises:
        MetricError: as for `bands`.

    >>> band_table().filter(metric="faithfulness")["rule"].to_list()
    ['< 0.7', '>= 0.7 and < 0.85', '>= 0.85 and <= 0.95', '> 0.95']
    """
    types = {"metric": pl.String, "band": pl.String, "low": pl.Float64, "high": pl.Float64, "rule": pl.String}
    return pl.DataFrame([row for scale in _scales(table) for row in scale.rows()], types, orient="row")


def _scales(table: Mapping[str, Sequence[float]] | None) -> tuple[Scale, ...]:
    if table is None:
        return BANDS
    if not isinstance(table, Mapping) or not table:
        raise MetricError(f'bands are metric -> three edges, as in {{"token_f1": (0.3, 0.5, 0.7)}}, got {table!r:.80}')
    scales: dict[str, Scale] = {}
    for name, edges in table.items():
        label = known(named(name))
        scale = Scale(_SAME.get(label, label), _edges(name, edges))
        if scales.setdefault(scale.metric, scale) is not scale:
            raise MetricError(f"{name}: the bands of {scale.metric} stand there twice, under two names")
    return tuple(scales.values())


def _edges(name: str, given: object) -> tuple[float, float, float]:
    edges = [finite(edge) for edge in given] if isinstance(given, Sequence) else []
    match edges:
        case [float(first), float(second), float(last)] if first < second < last:
            return first, second, last
    raise MetricError(f"{name}: bands have three ascending edges, as in (0.3, 0.5, 0.7), got {given!r:.80}")
