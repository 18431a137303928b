"""The frames that pictures of summaries and differences draw, and notes of what is not in them; no picture in sight."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import polars as pl

from rankframe.errors import DataError, counted, listed, nearest
from rankframe.gates import labels
from rankframe.metrics.grammar import canonical
from rankframe.plots.checks import NUMBERS, SUMMARY, TEXTS, as_text, known, one_row_each, taken, without_value
from rankframe.plots.words import built_in, cut, plural, together, unit_of

_SLICED = "a frame of report.by(..) goes to rankframe.plots.slices"
NONE = ("(none)", "(no value)", "(null)")
"""What the slice without a value is called: the first that is not the name of another slice."""


MOST = 500
"""Up to how many slices there are in a picture: the converter fails at some thousands, and nobody reads so many."""


class Drawn(NamedTuple):
    """A frame that is drawn, and what must be said beside it."""

    frame: pl.DataFrame
    notes: list[str]


class Sliced(NamedTuple):
    """Slices that are drawn, what must be said beside them, and what the caller calls their columns."""

    frame: pl.DataFrame
    notes: list[str]
    names: list[str]


def interval_rows(summary: object, metrics: str | Sequence[str] | None) -> Drawn:
    """A row per metric and run, the highest value of each metric first; metrics without any value are left out."""
    frame = taken(summary, SUMMARY, "summary", "report.summary")
    there = _labelled(frame)
    if metrics is not None:
        asked = [metrics] if isinstance(metrics, str) else list(metrics)
        if not asked:
            raise DataError(f"metrics= is empty; the frame has {listed(there)}")
        pairs = dict.fromkeys(_meant(name, there) for name in asked)
        frame = pl.concat([frame.filter(_is(pair)) for pair in pairs])
    one_row_each(frame, ("run_id", "metric", "aggregate"), _SLICED)
    notes = without_value(frame, "and not drawn")
    own = ("metric", "aggregate")
    words = {pair: together(*pair) for pair in frame.select(own).unique().iter_rows()}
    rows = (
        frame.filter(pl.col("value").is_not_null().any().over(own))
        .with_row_index("first")
        .with_columns(pl.col("first").min().over(own))
        .sort("first", "value", "run_id", descending=[False, True, False], nulls_last=True)
    )
    measure = pl.Series("measure", [words[pair] for pair in rows.select(own).iter_rows()], dtype=pl.String)
    drawn = rows.select(measure, *SUMMARY).select("run_id", "measure", pl.all().exclude("run_id", "measure"))
    return Drawn(drawn, [*notes, *without_interval(drawn)])


def _labelled(frame: pl.DataFrame) -> dict[str, tuple[str, str]]:
    """What a report calls every metric of the frame -> its name and aggregate."""
    pairs = frame.select("metric", "aggregate").unique(maintain_order=True).iter_rows()
    return {label: pair for pair, label in labels.labelled(pairs).items()}


def _meant(name: object, there: dict[str, tuple[str, str]]) -> tuple[str, str]:
    """The metric and aggregate that a caller's name means."""
    label = labels.found(name, there, labels.known) if isinstance(name, str) else None
    return there[known(name if label is None else label, there, "metric")]


def _is(pair: tuple[str, str]) -> pl.Expr:
    return (pl.col("metric") == pair[0]) & (pl.col("aggregate") == pair[1])


def without_interval(rows: pl.DataFrame) -> list[str]:
    """A line that counts the values without an interval, if there are any, and says why."""
    bare = rows.filter(pl.col("value").is_not_null() & (pl.col("ci_low").is_null() | pl.col("ci_high").is_null()))
    if not bare.height:
        return []
    reasons = bare["ci_reason"].drop_nulls().unique(maintain_order=True).to_list()
    return [f"without an interval: {bare.height} of {rows.height}" + (f" ({', '.join(reasons)})" if reasons else "")]


def cutoff_rows(summary: object, metric: str) -> Drawn:
    """A row per run and cutoff of a family of metrics, sorted by both."""
    frame = taken(summary, SUMMARY, "cutoffs", "report.summary")
    cuts = {name: cut(name) for name in frame["metric"].unique(maintain_order=True)}
    families = dict.fromkeys(at.family for at in cuts.values() if at is not None)
    asked = _family(metric)
    levels = {name: at.cutoff for name, at in cuts.items() if at is not None and at.family == asked}
    if len(levels) < 2:
        several = [f for f in families if sum(at is not None and at.family == f for at in cuts.values()) > 1]
        others = f"; metric= may be {listed(several)}" if several else ""
        raise DataError(
            f"cutoffs needs {metric!r} at two cutoffs or more, and this summary has {listed(levels) or 'none'}: "
            f"ask evaluate for metrics=[{', '.join(repr(f'{asked}@{k}') for k in (1, 5, 10))}]{others}"
        )
    return _curves(frame, levels, "cutoff", pl.Int64)


def _family(metric: object) -> str:
    if not isinstance(metric, str):
        raise DataError(f"metric={metric!r}: the name of a metric without its cutoff, as in metric='ndcg'")
    if "@" in metric:
        raise DataError(f"metric={metric!r}: name it without its cutoff, {metric.partition('@')[0]!r}")
    at = cut(f"{metric}@1")
    return metric if at is None else at.family


def recall_rows(summary: object, metric: str) -> Drawn:
    """A row per run and level of recall, sorted by both."""
    frame = taken(summary, SUMMARY, "precision_recall", "report.summary")
    found: dict[str, dict[str, float]] = {}
    for name in frame["metric"].unique(maintain_order=True):
        one = built_in(name)
        if one is not None and one.family.name == "iprec":
            rest = {key: value for key, value in one.parameters.items() if key != "recall"}
            found.setdefault(canonical("iprec", rest, None), {})[name] = float(one.parameters["recall"])
    levels = found.get(str(metric).replace(" ", ""), {})
    if len(levels) < 2:
        others = [name for name, of in found.items() if len(of) > 1]
        hint = f"; {nearest(str(metric), others)} (metric=)" if others else ""
        raise DataError(
            f"precision_recall needs {metric!r} at two levels of recall or more, and this summary has "
            f"{listed(levels) or 'none'}: ask evaluate for "
            f'metrics=[f"iprec(recall={{i / 10}})" for i in range(11)], eleven levels from 0 to 1{hint}'
        )
    return _curves(frame, levels, "recall", pl.Float64)


def _curves(
    frame: pl.DataFrame, levels: dict[str, int] | dict[str, float], level: str, dtype: type[pl.DataType]
) -> Drawn:
    rows = frame.filter(pl.col("metric").is_in(list(levels)))
    aggregates = rows["aggregate"].unique(maintain_order=True).to_list()
    rows = rows.filter(pl.col("aggregate") == ("mean" if "mean" in aggregates else aggregates[0]))
    one_row_each(rows, ("run_id", "metric"), _SLICED)
    at = pl.col("metric").replace_strict(list(levels), list(levels.values()), return_dtype=dtype)
    drawn = rows.select("run_id", at.alias(level), *(name for name in SUMMARY if name != "run_id"))
    drawn = drawn.sort("run_id", level)
    return Drawn(drawn, without_value(drawn, "and not drawn"))


def difference_rows(diff: object) -> Drawn:
    """A row per query with a difference, the largest gain first, with its place, outcome and metadata."""
    needs = {"metric": TEXTS, "value_a": NUMBERS, "value_b": NUMBERS, "difference": NUMBERS}
    frame = taken(diff, needs, "differences", 'report.diff("a", "b")')
    key = next((name for name in ("query_id", "sample_id") if name in frame.columns), None)
    if key is None:
        raise DataError(
            'rankframe.plots.differences takes the frame of report.diff("a", "b"), with the column \'query_id\' or '
            f"'sample_id'; this one has {', '.join(frame.columns)}"
        )
    if frame["metric"].n_unique() > 1:
        raise DataError(
            f"differences draws one metric, and the frame has {listed(frame['metric'].unique(maintain_order=True))}: "
            "filter it"
        )
    frame = frame.with_columns(pl.col(key).cast(pl.String))
    one_row_each(frame, (key,), "give the frame of one pair of runs")
    there = frame.filter(pl.col("difference").is_not_null())
    if not there.height:
        raise DataError("no row has a difference: there is nothing to draw")
    gap = pl.col("difference")
    outcome = pl.when(gap > 0).then(pl.lit("better")).when(gap < 0).then(pl.lit("worse")).otherwise(pl.lit("equal"))
    own = ["place", key, "metric", "value_a", "value_b", "difference", "outcome"]
    nested = [name for name, dtype in frame.schema.items() if dtype.is_nested() or dtype in {pl.Object, pl.Binary}]
    rows = (
        there.sort("difference", key, descending=[True, False])
        .drop(nested)
        .rename({name: f"{name}_joined" for name in ("place", "outcome") if name in frame.columns})
        .with_columns(outcome.alias("outcome"))
        .with_row_index("place", 1)
        .with_columns(pl.col("place").cast(pl.Int64))
    )
    gone = frame.height - there.height
    noun = key.removesuffix("_id")
    notes = [f"without a value in one of the runs, and not drawn: {counted(gone, noun)}"] if gone else []
    return Drawn(rows[[*own, *(name for name in rows.columns if name not in own)]], notes)


def slice_rows(by: object, metric: str | None, few: int) -> Sliced:
    """A row per slice and run of one metric; slices as text in `slice` and `slice_2`, null as "(none)"."""
    frame = taken(by, SUMMARY, "slices", 'report.by("topic")')
    columns = frame.columns[: frame.columns.index("run_id")]
    if len(columns) not in {1, 2}:
        raise DataError(
            "rankframe.plots.slices draws one or two slice columns, which stand before run_id as report.by puts them; "
            f"this frame has {listed(columns) or 'none'}"
        )
    there = _labelled(frame)
    pair = next(iter(there.values())) if metric is None else _meant(metric, there)
    rows = frame.filter(_is(pair))
    for column in columns:
        if rows[column].n_unique() > MOST:
            raise DataError(
                f"slices draws up to {MOST} slices, and {column!r} has {rows[column].n_unique():,}: filter the frame, "
                "or join numbers into few slices by report.by(.., bins=..)"
            )
    one_row_each(rows, (*columns, "run_id"), "give the frame of one report")
    notes = without_value(rows, "grey")
    if isinstance(few, bool) or not isinstance(few, int) or few < 0:
        raise DataError(f"few={few!r}: a whole number, 0 to mark no slice")
    small = pl.col("n") < few
    number = pl.col("value").map_elements(_short, return_dtype=pl.String)
    label = (
        pl.when(pl.col("value").is_null())
        .then(pl.lit("-"))
        .otherwise(number + pl.when(small).then(pl.lit("*")).otherwise(pl.lit("")))
    )
    names = ["slice", "slice_2"][: len(columns)]
    own = ["run_id", "metric", "aggregate", "value", "ci_low", "ci_high", "n", "ci_reason"]
    drawn = rows.select(
        *(_labels(rows[column]).alias(new) for column, new in zip(columns, names, strict=True)),
        *own,
        small.alias("few"),
        label.alias("label"),
    )
    if drawn["few"].any():
        notes.append(f"* fewer than {few} {plural(unit_of([pair[0]]))} in the slice")
    return Sliced(drawn, notes, columns)


def short(value: float) -> str:
    """The format of a value that has to be short: small ones to three digits, others to one."""
    return ",.3f" if abs(value) < 10 else ",.1f"


def _short(value: float) -> str:
    return format(value, short(value))


def _labels(values: pl.Series) -> pl.Series:
    """Slices as text."""
    if values.dtype.is_nested() or values.dtype in {pl.Object, pl.Binary}:
        raise DataError(f"the slice column {values.name!r} is {values.dtype}; a slice is text, a number or a date")
    texts = as_text(values).alias("")  # Polars reads some names as patterns
    taken_names = set(texts.unique().to_list())
    none = next((name for name in NONE if name not in taken_names), NONE[0] * 2)
    return texts.fill_null(none).alias(values.name)
