"""What each query scores: the metrics over the judged rankings, block by block."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import polars as pl

from rankframe.errors import MetricError
from rankframe.metrics.families import BuiltIn
from rankframe.metrics.metric import BASE_COLUMNS, Metric
from rankframe.metrics.rows import GROUP, Rows
from rankframe.ranking import Judgments, Ranking, judged_blocks
from rankframe.ranking.population import STATUSES, Covered
from rankframe.summaries import Measured

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Flags = NDArray[np.bool_]
    Integers = NDArray[np.int64]

_TOLERANCE = 1e-9  # how far a score may stand outside of its range before that is no rounding


def measured(asked: Sequence[Metric], max_grade: float) -> dict[Metric, Measured]:
    """The metrics with the largest grade filled in, each once, and what the report says of them."""
    found: dict[tuple[str, str], tuple[Metric, Measured]] = {}
    for was in asked:
        metric = was.bound(max_grade)
        definition = metric.family.definition if isinstance(metric, BuiltIn) else str(metric.expr)
        said = Measured(metric.name, was.name, metric.aggregate, metric.range, definition, metric.cutoff)
        earlier = found.get((metric.name, metric.aggregate))
        if earlier is None or earlier[1].asked == metric.name:
            found[metric.name, metric.aggregate] = metric, said
    return dict(found.values())


def largest_cutoff(metrics: Iterable[Metric]) -> int | None:
    """The largest cutoff of any metric; None where none has one."""
    return max((metric.cutoff for metric in metrics if metric.cutoff is not None), default=None)


def score_blocks(
    judgments: Judgments, covered: Sequence[tuple[Ranking, Covered]], metrics: Sequence[Metric]
) -> Iterator[pl.DataFrame]:
    """The scores of every run and judged query, in order, as frames of a few hundred thousand judgments each.

    Columns: run_id, query_id, status String, n_ret, n_rel, n_judged Int64, a Float64 column per metric; null where a
    query does not count.

    Raises:
        MetricError: for a metric of the caller's own that gives no number, or one outside of its range.
    """
    import numpy as np

    rows = Rows()
    metrics = list({metric.name: metric for metric in metrics}.values())
    expressions = [metric.expression(rows) for metric in metrics]
    texts = any(not isinstance(metric, BuiltIn) and _reads_texts(metric.expr) for metric in metrics)
    rankings = [ranking for ranking, _ in covered]
    size = len(judgments.queries)
    names = pl.Series("run_id", [ranking.run_id for ranking in rankings], dtype=pl.String)
    counts = np.concatenate([cover.counts for _, cover in covered])
    statuses = np.concatenate([cover.status for _, cover in covered])
    n_ret = np.concatenate([ranking.n_ret for ranking in rankings])
    for block in judged_blocks(judgments, rankings, texts=texts):
        try:
            values = _values(rows.add_to(block.judged), expressions)
        except (Exception, pl.exceptions.PanicException):  # an expression may call any function
            _blame(block.judged, metrics)
            raise
        at = slice(block.groups.start, block.groups.stop)
        groups = np.arange(at.start, at.stop)
        scores = pl.DataFrame(
            [
                names[groups // size],
                judgments.queries[groups % size],
                pl.Series("status", STATUSES, dtype=pl.String)[statuses[at]],
                _n_ret(n_ret[at]),
                pl.Series("n_rel", judgments.n_rel[groups % size]),
                values["n_judged"],
                *(_settled(metric, values[str(place)], counts[at]) for place, metric in enumerate(metrics)),
            ]
        )
        check_ranges(scores, metrics)
        yield scores


def _n_ret(counts: Integers) -> pl.Series:
    """How many documents there are, null where that is not known."""
    column = pl.Series("n_ret", counts)
    return column if (counts >= 0).all() else column.set(column < 0, None)


def _reads_texts(expr: pl.Expr) -> bool:
    """Whether an expression may look at ids: by their names, or by a pattern or selector."""
    return expr.meta.has_multiple_outputs() or not {"run_id", "query_id", "doc_id"}.isdisjoint(expr.meta.root_names())


def _values(judged: pl.LazyFrame, expressions: Sequence[pl.Expr]) -> pl.DataFrame:
    """What the expressions give for each group: n_judged, and a Float64 column for each, named by its place."""
    columns = {str(place): expr.cast(pl.Float64) for place, expr in enumerate(expressions)}
    values = (
        judged.group_by(GROUP, maintain_order=True)
        .agg(pl.col("rank").count().cast(pl.Int64).alias("n_judged"), **columns)
        .collect()
    )
    for name in columns:
        if (dtype := values[name].dtype) != pl.Float64:
            raise pl.exceptions.SchemaError(f"it gives {dtype}")
    return values


def _settled(metric: Metric, values: pl.Series, counts: Flags) -> pl.Series:
    """A metric's column: its `empty` value for null and NaN, and null for queries that do not count."""
    import numpy as np

    numbers = values.to_numpy()
    numbers = np.where(np.isnan(numbers), metric.empty, numbers)
    if counts.all():
        return pl.Series(metric.name, numbers)
    numbers[~counts] = np.nan
    return pl.Series(metric.name, numbers, nan_to_null=True)


def _blame(judged: pl.LazyFrame, metrics: Sequence[Metric]) -> None:
    """Find the custom metric whose expression does not give a number for every query, and say so."""
    for metric in metrics:
        if isinstance(metric, BuiltIn):
            continue
        try:
            _values(judged, [metric.expr])
        except (Exception, pl.exceptions.PanicException) as error:  # likewise
            raise MetricError(
                f"metric {metric.name!r} cannot be computed over the judged ranking ({', '.join(BASE_COLUMNS)}), one "
                f"number per query: {str(error).partition(chr(10))[0].partition('; valid columns')[0]}"
            ) from error


def check_ranges(scores: pl.DataFrame, metrics: Sequence[Metric], key: str = "query_id") -> None:
    """Refuse scores of a caller's own metric outside of the range that it declares."""
    for metric in metrics:
        if isinstance(metric, BuiltIn) or metric.range is None:
            continue
        low, high = metric.range
        value = pl.col(metric.name)
        outside = scores.filter(
            (value < low - _TOLERANCE if low is not None else False)
            | (value > high + _TOLERANCE if high is not None else False)
        )
        if outside.height:
            told = [f"{query}: {score:g}" for query, score in outside.select(key, metric.name).head(3).iter_rows()]
            raise MetricError(
                f"metric {metric.name!r} gives values outside of its range {metric.range}: {', '.join(told)}"
            )
