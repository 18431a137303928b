"""Heat maps: a metric by slice and run, and retrieval quality by generation quality."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

import polars as pl

from rankframe.plots.picture import Picture, altair
from rankframe.plots.prepared import short, slice_rows
from rankframe.plots.samples import Edges, Grid, grid
from rankframe.plots.style import COUNT, GREY, VALUE, drawable, drawing_of, on_axis, runs_of, styled, tip, visible
from rankframe.plots.words import headline, in_words, plural, together, unit_of
from rankframe.report import Report


def slices(by: pl.DataFrame | pl.LazyFrame, *, metric: str | None = None, few: int = 10) -> Picture:
    """A metric by slice and run, its value in the cell: where is which run good.

    With one slice column runs stand side by side; with two, the slices of the second do, in a panel per run.

    Args:
        by: the frame `report.by("topic")` or `report.by("topic", "difficulty")`: one or two slice columns, then run_id,
            metric, aggregate, value, ci_low, ci_high, n, ci_reason.
        metric: the first in the frame unless given.
        few: slices with fewer queries or samples than this are marked by a star.

    Returns:
        A picture whose frame has slice, slice_2 (with two columns) String, as text and "(none)" for null, run_id,
        metric, aggregate String, value, ci_low, ci_high Float64, n Int64, ci_reason String, few Boolean, label String
        (what stands in the cell); a row per cell. A cell without a value is grey and says "-".

    Raises:
        DataError: for another frame, one without values, or a metric that it does not have.
        ExtraError: without the extra `plots`.
    """
    alt = altair()
    rows, notes, names = slice_rows(by, metric, few)
    name, aggregate = rows["metric"][0], rows["aggregate"][0]
    measure = visible(together(name, aggregate))
    drawn = drawable(rows)
    if len(names) == 1:
        chart, width = _heat_map(drawn, "run_id", None, names[0], measure), 90 * rows["run_id"].n_unique()
    else:
        panels = [
            _heat_map(drawn.filter(pl.col("run_id") == run), "slice_2", names[1], names[0], measure, drawn).properties(
                title=alt.TitleParams(run, fontSize=13, anchor="middle")
            )
            for run in runs_of(drawn)
        ]
        chart, width = alt.concat(*panels, columns=min(3, len(panels)), spacing=24), 200 * min(3, len(panels)) + 200
    title = f"{headline(measure)} by {' and '.join(names)}"
    return Picture(rows, styled(chart, title, notes, width=max(width, 420)))


def _heat_map(
    rows: pl.DataFrame,
    across: str,
    across_title: str | None,
    down_title: str,
    measure: str,
    of: pl.DataFrame | None = None,
) -> Any:
    """One panel, on the scales of all the rows `of`."""
    alt = altair()
    whole = rows if of is None else of
    columns = runs_of(whole) if across == "run_id" else whole[across].unique(maintain_order=True).to_list()
    lines = whole["slice"].unique(maintain_order=True).to_list()
    low, high = _extent(whole["value"])
    bare = {"domain": False, "ticks": False}
    above = {**bare, "labelAngle": -35 if max(map(len, columns)) > 9 else 0, "orient": "top"}
    aside = {**bare, "titleAnchor": "middle", "titlePadding": 14}
    across_scale, down_scale = alt.Scale(domain=columns), alt.Scale(domain=lines)
    x = (
        alt.X(field=across, type="nominal", title=None, scale=across_scale, sort=columns, axis=alt.Axis(**above))
        if across_title is None
        else on_axis(alt.X, across, across_title, type="nominal", scale=across_scale, sort=columns, axis=above)
    )
    base = drawing_of(rows).encode(
        x=x,
        y=on_axis(alt.Y, "slice", down_title, type="nominal", scale=down_scale, sort=lines, axis=aside),
        tooltip=[
            tip("slice", down_title),
            *([tip("slice_2", across_title)] if across_title is not None else []),
            tip("run_id", "run"),
            tip("metric", "metric"),
            tip("value", "value", number=VALUE),
            tip("ci_low", "interval from", number=VALUE),
            tip("ci_high", "interval to", number=VALUE),
            tip("n", f"number of {plural(unit_of([rows['metric'][0]]))}", number=COUNT),
        ],
    )
    colour = alt.Color(
        field="value",
        type="quantitative",
        scale=alt.Scale(scheme="viridis", domain=[low, high]),
        legend=None
        if whole["value"].drop_nulls().n_unique() == 1  # a bar of one value would show others
        else alt.Legend(
            title=measure,
            titleOrient="right",
            gradientLength=160,
            values=[low, (low + high) / 2, high],
            format=short(high),
        ),
    )
    cells = base.mark_rect(stroke="white", strokeWidth=2)
    dark = f"isValid(datum.value) && datum.value < {low + 0.6 * (high - low)!r}"
    return alt.layer(
        cells.transform_filter("!isValid(datum.value)").encode(color=alt.value("#e0e0e0")),
        cells.transform_filter("isValid(datum.value)").encode(color=colour),
        base.mark_text(fontSize=12).encode(
            text=alt.Text(field="label", type="nominal"),
            color=alt.condition(dark, alt.value("white"), alt.value("black")),
        ),
    ).properties(width=alt.Step(76), height=alt.Step(30))


def _extent(values: pl.Series) -> tuple[float, float]:
    """The ends of the scale of colours, apart even where all values are one."""
    low, high = float(values.min()), float(values.max())  # type: ignore[arg-type]  # of a column of numbers
    return (low, high) if high > low else (low - 0.5, high + 0.5)


def end_to_end(
    scores: Report | pl.DataFrame | pl.LazyFrame,
    *,
    retrieval: str = "context_id_recall",
    generation: str = "token_f1",
    bins: int | Sequence[float] = 4,
    failing: float | tuple[float, float] | None = None,
) -> Picture:
    """Measured samples by quality of retrieval and of generation, a panel per run: which half of a pipeline fails.

    Args:
        scores: the frame `report.scores` of `rankframe.evaluate_samples`: run_id and the two metrics.
        retrieval: the metric of what was retrieved; upwards.
        generation: the metric of what was answered; to the right.
        bins: how many of equal width, 2 to 20, or the ascending edges between them; `failing` becomes an edge too. A
            value on an edge is in the bin above it.
        failing: values below are failures; a number, or one for retrieval and one for generation. The middle of each
            metric's range unless given.

    Returns:
        A picture whose frame has run_id String, retrieval, generation Int64 (places of the bins, from 0), n Int64
        (samples in the cell), share Float64 (of the run's samples that are drawn), outcome String ("both fine",
        "generation failed", "retrieval failed" or "both failed"), retrieval_bin, generation_bin String; a row per run
        and cell, empty ones too. The sums over each outcome stand beside the cells. Samples without a value of either
        metric are counted under the title.

    Raises:
        DataError: for another frame, one without samples that have both values, a metric that is not there, values out
            of the metric's range, or `bins` and `failing` that mean nothing in it.
        ExtraError: without the extra `plots`.
    """
    alt = altair()
    found = grid(scores, retrieval, generation, bins, failing)
    drawn = found._replace(frame=drawable(found.frame))
    top = max(float(found.frame["share"].max()), 1e-9)  # type: ignore[arg-type]  # of a column of numbers
    titles = (visible(in_words(retrieval)), visible(in_words(generation)))
    panels = [_quadrants(drawn, run, titles, top, plural(found.unit)) for run in runs_of(drawn.frame)]
    columns = min(2 if len(panels) <= 4 else 3, len(panels))
    lines = [f"{name} below {line:g}" for name, line in zip(titles, found.failing, strict=True)]
    told = [f"number and share of {plural(found.unit)}; failed means {lines[0]}, or {lines[1]}", *found.notes]
    chart = alt.concat(*panels, columns=columns, spacing=36)
    return Picture(found.frame, styled(chart, "Retrieval and generation, end to end", told, width=400 * columns))


_ANY = "datum.n > 0"
_CELL = (86, 58)
_STRIP = 0.7
"""How high the strips above and below the cells are, which name the quadrants, as a share of a cell."""


def _quadrants(found: Grid, run: str, titles: tuple[str, str], top: float, noun: str) -> Any:
    """The cells of one run, and around them what each quarter of them means."""
    alt = altair()
    rows = found.frame.filter(pl.col("run_id") == run)
    wide, high = len(found.generation) - 1, len(found.retrieval) - 1
    x_scale = alt.Scale(domain=[0, wide], nice=False)
    y_scale = alt.Scale(domain=[-_STRIP, high + _STRIP], nice=False, zero=False)
    x = {"type": "quantitative", "title": titles[1], "scale": x_scale, "axis": _edge_axis(found.generation)}
    y = {"type": "quantitative", "title": titles[0], "scale": y_scale, "axis": _edge_axis(found.retrieval)}
    drawn = rows.with_columns(
        (pl.col("generation") + 1).alias("right"),
        (pl.col("retrieval") + 1).alias("upper"),
        (pl.col("generation") + 0.5).alias("x"),
        (pl.col("retrieval") + 0.5).alias("y"),
        (pl.format("{}%", (pl.col("share") * 100).round(0).cast(pl.Int64))).alias("percent"),
    )
    base = drawing_of(drawn)
    there = base.transform_filter(_ANY)
    cells = base.mark_rect(stroke="white", strokeWidth=2).encode(
        x=on_axis(alt.X, "generation", **x),
        x2=alt.X2(field="right"),
        y=on_axis(alt.Y, "retrieval", **y),
        y2=alt.Y2(field="upper"),
        color=alt.Color(
            field="share",
            type="quantitative",
            scale=alt.Scale(scheme="viridis", domain=[0, top]),
            legend=alt.Legend(title=f"share of {noun}", format=".0%", gradientLength=160),
        ),
        tooltip=[
            tip("run_id", "run"),
            tip("retrieval_bin", titles[0]),
            tip("generation_bin", titles[1]),
            tip("n", f"number of {noun}", number=COUNT),
            tip("share", f"share of {noun}", number=".1%"),
            tip("outcome", "outcome"),
        ],
    )
    ink = alt.condition(f"datum.share < {0.6 * top!r}", alt.value("white"), alt.value("black"))
    middle = {"x": on_axis(alt.X, "x", **x), "y": on_axis(alt.Y, "y", **y), "color": ink}
    return alt.layer(
        cells.encode(color=alt.value("#eeeeee")),
        cells.transform_filter(_ANY),
        there.mark_text(fontSize=15, dy=-7).encode(
            text=alt.Text(field="n", type="quantitative", format=COUNT), **middle
        ),
        there.mark_text(fontSize=11, dy=10).encode(text=alt.Text(field="percent", type="nominal"), **middle),
        *_lines(found, x, y),
        *_names(found, rows, x, y),
    ).properties(
        width=_CELL[0] * wide,
        height=round(_CELL[1] * (high + 2 * _STRIP)),
        title=alt.TitleParams(run, fontSize=13, anchor="middle"),
    )


def _edge_axis(edges: Edges) -> dict[str, Any]:
    """An axis of edges at even distances."""
    told = json.dumps(["" if math.isinf(edge) else f"{edge:g}" for edge in edges])
    bare = {"grid": False, "domain": False, "ticks": False}
    return {"values": list(range(len(edges))), "labelExpr": f"{told}[datum.value]", **bare}


def _lines(found: Grid, x: dict[str, Any], y: dict[str, Any]) -> list[Any]:
    """The lines between failed and fine."""
    alt = altair()
    wide, high = float(len(found.generation) - 1), float(len(found.retrieval) - 1)
    left, below = _line(found)
    ends = pl.DataFrame(
        {"x": [left, 0.0], "x2": [left, wide], "y": [0.0, below], "y2": [high, below]},
        schema=dict.fromkeys(("x", "x2", "y", "y2"), pl.Float64),
    )
    return [
        drawing_of(ends)
        .mark_rule(strokeWidth=4, color="black")
        .encode(x=on_axis(alt.X, "x", **x), x2=alt.X2(field="x2"), y=on_axis(alt.Y, "y", **y), y2=alt.Y2(field="y2"))
    ]


def _line(found: Grid) -> tuple[float, float]:
    return (
        float(found.generation.index(found.failing[1])),
        float(found.retrieval.index(found.failing[0])),
    )


def _names(found: Grid, rows: pl.DataFrame, x: dict[str, Any], y: dict[str, Any]) -> list[Any]:
    """What each quarter means and how many are in it, in the strip beside it."""
    alt = altair()
    wide, high = len(found.generation) - 1, len(found.retrieval) - 1
    left, _ = _line(found)
    sums = rows.group_by("outcome").agg(pl.col("n").sum(), pl.col("share").sum()).rows_by_key("outcome", unique=True)
    places = {
        "generation failed": (left / 2, high + _STRIP / 2),
        "both fine": ((left + wide) / 2, high + _STRIP / 2),
        "both failed": (left / 2, -_STRIP / 2),
        "retrieval failed": ((left + wide) / 2, -_STRIP / 2),
    }
    told = pl.DataFrame(
        {
            "x": [place[0] for place in places.values()],
            "y": [place[1] for place in places.values()],
            "outcome": list(places),
            "number": [f"{sums[name][0]:,} ({sums[name][1]:.0%})" for name in places],
        }
    )
    at = {"x": on_axis(alt.X, "x", **x), "y": on_axis(alt.Y, "y", **y)}
    return [
        drawing_of(told)
        .mark_text(fontSize=12, fontWeight="bold", dy=-8)
        .encode(text=alt.Text(field="outcome", type="nominal"), **at),
        drawing_of(told)
        .mark_text(fontSize=12, dy=8, color=GREY)
        .encode(text=alt.Text(field="number", type="nominal"), **at),
    ]
