"""Pictures of a summary: values with their intervals, curves over cutoffs, precision against recall."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl

from rankframe.plots.picture import Picture, altair
from rankframe.plots.prepared import cutoff_rows, interval_rows, recall_rows, without_interval
from rankframe.plots.style import (
    BLUE,
    COLOURS,
    COUNT,
    VALUE,
    by_run,
    dashed,
    drawable,
    drawing_of,
    on_axis,
    runs_of,
    styled,
    tip,
)
from rankframe.plots.words import headline, plural, together, unit_of
from rankframe.report import Report

_WIDTH, _HEIGHT = 520, 340


def summary(frame: Report | pl.DataFrame | pl.LazyFrame, *, metrics: str | Sequence[str] | None = None) -> Picture:
    """Every metric of every run, as a point with its interval: how sure are we.

    Each metric has a panel and a scale of its own, with its highest run on top.

    Args:
        frame: a report, which tells the level of its intervals too, or its `summary`: run_id, metric, aggregate, value,
            ci_low, ci_high, n, ci_reason.
        metrics: names of those to draw, in this order; all unless given.

    Returns:
        A picture whose frame has run_id, measure (the metric in words), metric, aggregate String, value, ci_low,
        ci_high Float64, n Int64, ci_reason String; a row per metric and run. Values that are null, NaN or infinite are
        null and counted under the title; a metric without any value has no panel.

    Raises:
        DataError: for another frame, one without rows or values, or a metric that it does not have.
        ExtraError: without the extra `plots`.
    """
    alt = altair()
    rows, notes = interval_rows(frame, metrics)
    drawn = drawable(rows)
    runs = runs_of(drawn)
    colours = dict(zip(runs, COLOURS, strict=False)) if len(runs) <= len(COLOURS) else {}
    panels = [_panel(panel, colours) for panel in drawn.partition_by("metric", "aggregate", maintain_order=True)]
    columns = len(panels) if len(panels) < 4 else 2 if len(panels) == 4 else 3
    level = f"{100 * frame.intervals.level:g} % " if isinstance(frame, Report) else ""
    told = [f"points are values, lines their {level}intervals; the highest value stands on top", *notes]
    chart = alt.concat(*panels, columns=columns, spacing=28) if len(panels) > 1 else panels[0]
    title = rows["measure"][0] if len(panels) == 1 else "Values with their intervals"
    return Picture(rows, styled(chart, headline(title), told, width=340 * columns))


def _panel(rows: pl.DataFrame, colours: dict[str, str]) -> Any:
    alt = altair()
    measure, order = rows["measure"][0], rows["run_id"].to_list()
    scale = alt.Scale(zero=False, nice=True, padding=12)
    axis = {"tickCount": 5}
    encodings: dict[str, Any] = {
        "y": alt.Y(field="run_id", type="nominal", sort=order, title=None, scale=alt.Scale(domain=order)),
        "tooltip": _tips(rows, tip("run_id", "run")),
    }
    if colours:
        scaled = alt.Scale(domain=list(colours), range=list(colours.values()))
        encodings["color"] = alt.Color(field="run_id", type="nominal", scale=scaled, legend=None)
    mark = {} if colours else {"color": BLUE}
    point = drawing_of(rows).mark_point(filled=True, size=80, opacity=1, **mark)
    layers = [
        point.encode(x=on_axis(alt.X, "value", measure, type="quantitative", scale=scale, axis=axis), **encodings)
    ]
    sure = rows.drop_nulls(["value", "ci_low", "ci_high"])
    if sure.height:
        low = on_axis(alt.X, "ci_low", measure, type="quantitative", scale=scale, axis=axis)
        line = drawing_of(sure).mark_rule(strokeWidth=2.5, opacity=0.75, **mark)
        layers.insert(0, line.encode(x=low, x2=alt.X2(field="ci_high"), **encodings))
    return alt.layer(*layers).properties(width=320, height=alt.Step(24))


def _tips(rows: pl.DataFrame, *first: Any) -> list[Any]:
    """What a tooltip says of a value."""
    noun = plural(unit_of(rows["metric"].unique().to_list()))
    return [
        *first,
        tip("metric", "metric"),
        tip("value", "value", number=VALUE),
        tip("ci_low", "interval from", number=VALUE),
        tip("ci_high", "interval to", number=VALUE),
        tip("n", f"number of {noun}", number=COUNT),
    ]


def cutoffs(summary: Report | pl.DataFrame | pl.LazyFrame, *, metric: str = "ndcg") -> Picture:
    """A metric against its cutoff, a line per run in the band of its interval: how deep do runs differ.

    Bands are drawn for up to seven runs; the tooltips have the intervals of all.

    Args:
        summary: the frame `report.summary`: run_id, metric, aggregate, value, ci_low, ci_high, n, ci_reason, with the
            metric at two cutoffs or more.
        metric: the metric without its cutoff, as `ndcg` or `recall(rel=2)`.

    Returns:
        A picture whose frame has run_id String, cutoff Int64, metric, aggregate String, value, ci_low, ci_high
        Float64, n Int64, ci_reason String; a row per run and cutoff. Values that are null, NaN or infinite are null and
        counted under the title.

    Raises:
        DataError: for another frame, or one with fewer than two cutoffs of the metric.
        ExtraError: without the extra `plots`.
    """
    alt = altair()
    rows, notes = cutoff_rows(summary, metric)
    drawn = drawable(rows)
    ticks = rows["cutoff"].unique().sort().to_list()
    x = alt.X(
        field="cutoff",
        type="quantitative",
        title="cutoff (number of documents from the top)",
        scale=alt.Scale(type="log", domain=[ticks[0], ticks[-1]], nice=False, padding=8),
        axis=alt.Axis(values=ticks, format=COUNT, grid=False, labelOverlap=True),
    )
    measure = together(drawn["metric"][0], rows["aggregate"][0], level=False)
    y = on_axis(alt.Y, "value", measure, type="quantitative", scale=alt.Scale(zero=False))
    bands = _bands(drawn, x, measure)
    layers = [*bands, *_curves(drawn, x, y, tip("cutoff", "cutoff", number=COUNT))]
    told = [
        f"over {_over(rows)}" + ("; bands are intervals" if bands else ""),
        *notes,
        *without_interval(rows),
    ]
    return Picture(rows, _titled(layers, f"{measure} by cutoff", told))


def precision_recall(summary: Report | pl.DataFrame | pl.LazyFrame, *, metric: str = "iprec") -> Picture:
    """Interpolated precision against recall, a line per run: what does it cost to find more.

    Args:
        summary: the frame `report.summary`: run_id, metric, aggregate, value, ci_low, ci_high, n, ci_reason, with
            `iprec(recall=0)`, `iprec(recall=0.1)` and so on, at two levels or more.
        metric: which of them, where they have other parameters too, as `iprec(rel=2)`.

    Returns:
        A picture whose frame has run_id String, recall Float64, metric, aggregate String, value (interpolated
        precision), ci_low, ci_high Float64, n Int64, ci_reason String; a row per run and level. Values that are null,
        NaN or infinite are null and counted under the title.

    Raises:
        DataError: for another frame, or one with fewer than two levels of recall; it names the metrics to ask for.
        ExtraError: without the extra `plots`.
    """
    alt = altair()
    rows, notes = recall_rows(summary, metric)
    drawn = drawable(rows)
    unit = alt.Scale(domain=[0, 1])
    x = alt.X(field="recall", type="quantitative", title="recall", scale=unit, axis=alt.Axis(tickCount=5))
    measure = together(drawn["metric"][0], rows["aggregate"][0], level=False)
    y = on_axis(alt.Y, "value", measure, type="quantitative", scale=unit, axis={"tickCount": 5})
    layers = _curves(drawn, x, y, tip("recall", "recall", number=VALUE))
    return Picture(rows, _titled(layers, f"{measure} by recall", [f"over {_over(rows)}", *notes]))


def _titled(layers: Sequence[Any], title: str, notes: Sequence[str]) -> Any:
    chart = altair().layer(*layers).properties(width=_WIDTH, height=_HEIGHT)
    return styled(chart, headline(title), notes, width=_WIDTH + 120)


def _curves(rows: pl.DataFrame, x: Any, y: Any, level: Any) -> list[Any]:
    """A line per run through its points."""
    runs = runs_of(rows)
    looks, tips = by_run(runs), _tips(rows, tip("run_id", "run"), level)
    lines = [
        drawing_of(rows.filter(pl.col("run_id").is_in(list(group))))
        .mark_line(strokeWidth=2, strokeDash=dash)
        .encode(x=x, y=y, color=looks["color"])
        for group, dash in dashed(runs)
    ]
    points = drawing_of(rows).mark_point(filled=True, size=55, opacity=1)
    return [*lines, points.encode(x=x, y=y, **looks, tooltip=tips)]


def _bands(rows: pl.DataFrame, x: Any, measure: str) -> list[Any]:
    """The intervals below the lines, where there are few enough runs to tell them apart."""
    alt = altair()
    sure, runs = rows.drop_nulls(["value", "ci_low", "ci_high"]), runs_of(rows)
    if not sure.height or len(runs) > len(COLOURS):
        return []
    low = on_axis(alt.Y, "ci_low", measure, type="quantitative", scale=alt.Scale(zero=False))
    drawing, colour = drawing_of(sure), by_run(runs)["color"]
    band = drawing.mark_area(opacity=0.1 if len(runs) < 4 else 0.06)
    edges = [
        drawing.mark_line(strokeWidth=1, opacity=0.45).encode(
            x=x, y=on_axis(alt.Y, end, measure, type="quantitative"), color=colour
        )
        for end in ("ci_low", "ci_high")
    ]
    return [band.encode(x=x, y=low, y2=alt.Y2(field="ci_high"), color=colour), *edges]


def _over(rows: pl.DataFrame) -> str:
    """Over how many queries or samples the values are."""
    noun = plural(unit_of(rows["metric"].unique().to_list()))
    numbers = rows["n"].drop_nulls()
    if not numbers.len():
        return noun
    low, high = int(numbers.min()), int(numbers.max())  # type: ignore[arg-type]  # of a column of numbers
    return f"{low:,} {noun}" if low == high else f"{low:,} to {high:,} {noun}"
