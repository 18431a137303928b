"""Pictures of how time and memory grow with the rows of a run, in the look of the house."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl

_WIDTH, _HEIGHT = 560, 360


def draw(points: pl.DataFrame, folder: Path) -> list[Path]:
    """Write `growth.csv`, `growth_time.svg` and `growth_memory.svg`; the pictures need the extra `plots`.

    Points have series, rows, round, seconds and peak (MiB); a line goes through the medians of the rounds.
    """
    folder.mkdir(parents=True, exist_ok=True)
    points.write_csv(folder / "growth.csv", float_precision=4)
    medians = points.group_by("series", "rows", maintain_order=True).agg(pl.col("seconds", "peak").median())
    drawn = {
        "growth_time.svg": ("seconds", "seconds", "Time against rows"),
        "growth_memory.svg": ("peak", "peak memory in MiB", "Peak memory against rows"),
    }
    for name, (column, measure, title) in drawn.items():
        _lines(medians, column, measure, title).save(folder / name)
    return [folder / "growth.csv", *(folder / name for name in drawn)]


def _lines(medians: pl.DataFrame, column: str, measure: str, title: str) -> Any:
    from rankframe.plots.picture import Picture, altair
    from rankframe.plots.style import BLUE, COLOURS, GREY, ORANGE, drawing_of, styled

    alt = altair()
    series = medians["series"].unique(maintain_order=True).to_list()
    colours = [BLUE, ORANGE, GREY, COLOURS[2]]
    shapes = ["circle", "square", "diamond", "triangle-up"]
    dashes = [[1, 0], [1, 0], [5, 3], [2, 2]]
    legend = alt.Legend(title=None, orient="bottom", columns=2, symbolSize=110, symbolOpacity=1, symbolDash=[1, 0])

    def told(channel: Any, values: list[Any], legend: Any = legend) -> Any:
        scale = alt.Scale(domain=series, range=values[: len(series)])
        return channel(field="series", type="nominal", scale=scale, legend=legend)

    sizes = medians["rows"].unique().sort().to_list()
    x = alt.X(
        field="rows",
        type="quantitative",
        title="rows of the run",
        scale=alt.Scale(type="log", domain=[sizes[0], sizes[-1]], nice=False, padding=14),
        axis=alt.Axis(values=sizes, labelExpr="format(datum.value, '~s')", grid=True),
    )
    ticks = ticks_around(medians[column].to_list())
    y = alt.Y(
        field=column,
        type="quantitative",
        title=measure,
        scale=alt.Scale(type="log", domain=[ticks[0], ticks[-1]], nice=False),
        axis=alt.Axis(values=ticks, labelExpr="format(datum.value, ',~r')"),
    )
    base = drawing_of(medians).encode(x=x, y=y, color=told(alt.Color, colours))
    lines = base.mark_line(strokeWidth=2).encode(strokeDash=told(alt.StrokeDash, dashes, None))
    dots = base.mark_point(filled=True, size=70, opacity=1).encode(shape=told(alt.Shape, shapes))
    chart = alt.layer(lines, dots).properties(width=_WIDTH, height=_HEIGHT)
    note = "medians, each round in a process of its own; both axes are logarithmic"
    return Picture(medians, styled(chart, title, [note], width=_WIDTH))


def ticks_around(values: list[float]) -> list[float]:
    """The numbers 1, 2, 5, 10, 20, 50, ... and 0.5, 0.2, 0.1, ... from the one below all values to the one above.

    >>> ticks_around([0.3, 4.0])
    [0.2, 0.5, 1.0, 2.0, 5.0]
    """
    steps = [float(f"{step}e{power}") for power in range(-6, 10) for step in (1, 2, 5)]
    lowest = max(step for step in steps if step <= min(values))
    highest = min(step for step in steps if step >= max(values))
    return [step for step in steps if lowest <= step <= highest]
