"""The picture of two runs: by how much each query gained or lost."""

from __future__ import annotations

import json
from typing import Any

import polars as pl

from rankframe.errors import counted
from rankframe.plots.picture import Picture, altair
from rankframe.plots.prepared import difference_rows
from rankframe.plots.style import (
    BLUE,
    GRID,
    ORANGE,
    VALUE,
    drawable,
    drawing_of,
    on_axis,
    safe_names,
    styled,
    tip,
    visible,
)
from rankframe.plots.words import headline, in_words, plural

NAMED = 100
"""Up to how many bars the id of each stands below it."""

_SCALE = {"domain": ["better", "worse"], "range": [BLUE, ORANGE]}
_BEFORE = "_before"
"""The place before that of a bar, in the data of the chart alone."""


def differences(diff: pl.DataFrame | pl.LazyFrame, *, a: str | None = None, b: str | None = None) -> Picture:
    """The difference of two runs for every query or sample, sorted: who gains, who loses, and by how much.

    Args:
        diff: the frame `report.diff("bm25", "dense")`: query_id or sample_id, metric, value_a, value_b, difference;
            its other columns are shown where the pointer is, but for lists and structs.
        a: what to call the run that the difference starts from; as `run_a` of the frame says unless given.
        b: what to call the other run, likewise.

    Returns:
        A picture whose frame has place Int64 (1 is the largest gain of `b`), query_id or sample_id, metric String,
        value_a, value_b, difference Float64, outcome String ("better", "worse" or "equal", of `b`), then the other
        columns of `diff`; a row per bar. Rows without a difference are counted under the title.

    Raises:
        DataError: for another frame, one of several metrics or pairs, or one without any difference.
        ExtraError: without the extra `plots`.
    """
    alt = altair()
    rows, notes = difference_rows(diff)
    drawn = drawable(rows)
    a, b = visible(_called(rows, "a", a)), visible(_called(rows, "b", b))
    key = rows.columns[1]
    noun, measure = key.removesuffix("_id"), in_words(drawn["metric"][0])
    bars, width = _bars(drawn, key, noun)
    told_by = {"better": f"{b} is better", "worse": f"{a} is better"}
    zero = alt.condition("datum.value === 0", alt.value("#555555"), alt.value(GRID))
    y = on_axis(
        alt.Y,
        "difference",
        f"{measure}: {b} minus {a}",
        type="quantitative",
        scale=alt.Scale(zero=True),
        axis={"tickCount": 7, "gridColor": zero},
    )
    colour = alt.Color(
        field="outcome",
        type="nominal",
        scale=_SCALE,
        legend=alt.Legend(title=None, orient="top", labelExpr=f"{json.dumps(told_by)}[datum.value]"),
    )
    chart = bars.encode(y=y, color=colour, tooltip=_tips(rows, key, measure, a, b))
    counts = dict(rows["outcome"].value_counts().iter_rows())
    mean = float(rows["difference"].mean())  # type: ignore[arg-type]  # of a column of numbers
    told = (
        f"over {counted(rows.height, noun)}: {b} is better in {counts.get('better', 0):,}, {a} in "
        f"{counts.get('worse', 0):,}, equal in {counts.get('equal', 0):,}; mean difference {mean:+.4f}"
    )
    title = f"{headline(measure)} of every {noun}: {b} minus {a}"
    return Picture(
        rows, styled(chart.properties(width=width, height=280), title, [told, *notes], width=max(width, 480))
    )


def _bars(rows: pl.DataFrame, key: str, noun: str) -> tuple[Any, int]:
    """Bars over their ids, or, where there are too many, side by side over their number; and how wide that is."""
    alt = altair()
    n, drawing = rows.height, drawing_of(rows)
    if n <= NAMED:
        ids = rows[key].to_list()
        axis = alt.Axis(labelAngle=-90, labelFontSize=10, labelLimit=120, domain=False, ticks=False, labelOverlap=False)
        scale = alt.Scale(domain=ids, paddingInner=0.15, paddingOuter=0.1)
        x = alt.X(field=key, type="nominal", sort=ids, title=noun, axis=axis, scale=scale)
        return drawing.mark_bar(opacity=1).encode(x=x), max(280, 13 * n)
    numbered = alt.X(
        field=_BEFORE,
        type="quantitative",
        title=f"number of {plural(noun)}, the largest gain first",
        scale=alt.Scale(domain=[0, n], nice=False),
        axis=alt.Axis(grid=False, format=",d", tickCount=8),
    )
    rects = drawing.transform_calculate(as_=_BEFORE, calculate="datum.place - 1").mark_rect(opacity=1, strokeWidth=0.5)
    edges = alt.Stroke(field="outcome", type="nominal", scale=_SCALE, legend=None)  # or thin bars would look pale
    return rects.encode(x=numbered, x2=alt.X2(field="place"), y2=alt.Y2Datum(0), stroke=edges), 900


def _called(rows: pl.DataFrame, side: str, given: str | None) -> str:
    """What a run is called."""
    if given is not None or f"run_{side}" not in rows.columns:
        return side if given is None else given
    return str(rows[f"run_{side}"][0])


def _tips(rows: pl.DataFrame, key: str, measure: str, a: str, b: str) -> list[Any]:
    safe = safe_names(rows.columns)
    own = {"place", key, "metric", "run_a", "run_b", "value_a", "value_b", "difference", "outcome"}
    empty = {name for name, dtype in rows.schema.items() if rows[name].null_count() == rows.height or dtype == pl.Null}
    return [
        tip(key, key),
        tip("difference", "difference", number="+,.4~f"),
        tip("value_b", f"{measure}, {b}", number=VALUE),
        tip("value_a", f"{measure}, {a}", number=VALUE),
        *(tip(safe[name], name) for name in rows.columns if name not in own | empty),
    ]
