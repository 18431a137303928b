"""How pictures look: colours that colour-blind readers tell apart, sizes of text, and rows as JSON with safe names."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Sequence
from itertools import chain, cycle, islice, repeat
from typing import Any

import polars as pl

from rankframe.plots.checks import as_text
from rankframe.plots.picture import altair

BLUE, ORANGE, GREY = "#0072B2", "#E69F00", "#767676"
GRID = "#e6e6e6"
COLOURS = (BLUE, ORANGE, "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#000000")
"""Those of Okabe and Ito, but for the yellow, which is too light for a line on white."""

_DASHES = ([1, 0], [7, 3], [2, 2], [9, 3, 2, 3])
_SHAPES = ("circle", "square", "triangle-up", "diamond")
_SAFE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")

_UNDRAWN = re.compile("[^\t\n\r\x20-\u2027\u202a-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What SVG cannot hold, at which the converter ends the process, and the two ends of lines that Vega does not read."""

_INK = "#222222"
_TEXT: dict[str, Any] = {
    "labelFontSize": 12,
    "labelColor": _INK,
    "titleColor": _INK,
    "titleFontWeight": "normal",
}
CONFIG: dict[str, Any] = {
    "background": "white",
    "font": "sans-serif",
    "title": {
        "anchor": "start",
        "color": _INK,
        "fontSize": 15,
        "subtitleFontSize": 12,
        "subtitleColor": "#555555",
        "offset": 12,
    },
    "axis": {
        **_TEXT,
        "titleFontSize": 13,
        "titlePadding": 8,
        "titleLimit": 600,
        "labelLimit": 240,
        "labelFlush": False,
        "gridColor": GRID,
    },
    "legend": {**_TEXT, "titleFontSize": 12, "titleLimit": 260, "labelLimit": 260, "symbolSize": 90},
    "view": {"stroke": None},
}
"""Colours are named one by one, so that no theme that a caller has turned on writes white on white."""


def styled(chart: Any, title: str, notes: Sequence[str], *, width: int) -> Any:
    """The chart under its title and notes, which are broken to about `width` pixels."""
    lines = [line for note in notes for line in textwrap.wrap(visible(note), max(40, width // 6))]
    titles = textwrap.wrap(visible(title), max(40, width // 8))
    told = {"text": titles, **({"subtitle": lines} if lines else {})}
    return chart.properties(title=told, description=visible(title)).configure(**CONFIG)


def visible(text: str) -> str:
    r"""Text that can be drawn: characters that cannot are written out.

    >>> visible("a\x00b")
    'a\\x00b'
    """
    return _UNDRAWN.sub(lambda found: found[0].encode("unicode_escape").decode("ascii"), text)


def in_literal(text: str) -> str:
    r"""Text for a title that Vega-Lite puts between quotes in an expression, where it escapes nothing but quotes.

    >>> print(in_literal("back\\slash\nand line"))
    back\\slash\nand line
    """
    return visible(text).replace("\\", "\\\\").replace("\n", "\\n").replace("\r", "\\r")


def on_axis(channel: Any, field: str, title: str, *, axis: dict[str, Any] | None = None, **others: Any) -> Any:
    """A channel with an axis: the title of the field goes to an expression, that of the axis is drawn as it is."""
    drawn = altair().Axis(title=visible(title), **(axis or {}))
    return channel(field=field, title=in_literal(title), axis=drawn, **others)


def drawable(frame: pl.DataFrame) -> pl.DataFrame:
    """The frame with values that JSON and SVG can hold: numbers that a browser keeps exactly, text for the rest."""
    return pl.DataFrame([_plain(column) for column in frame.iter_columns()])


def drawing_of(frame: pl.DataFrame) -> Any:
    """A chart of these rows: they stand in it, so that their number has no limit and no setting of Altair matters."""
    alt = altair()
    names = safe_names(frame.columns)
    return alt.Chart(alt.InlineData(values=drawable(frame).rename(names).to_dicts()))


def safe_names(columns: Sequence[str]) -> dict[str, str]:
    """A name for each column that means nothing to Vega, which reads `a.b`, `x[0]` and `it's` as paths.

    >>> safe_names(["value", "a.b"])
    {'value': 'value', 'a.b': 'column_1'}
    """
    safe: dict[str, str] = {}
    for i, name in enumerate(columns):
        own = f"column_{i}"
        while own in columns:
            own += "_"
        safe[name] = name if _SAFE.fullmatch(name) else own
    return safe


def _plain(column: pl.Series) -> pl.Series:
    if column.dtype.is_float() or column.dtype in {pl.Int64, pl.UInt32, pl.Int32, pl.Boolean}:
        return column
    texts = as_text(column).alias("")  # Polars reads some names as patterns
    shown = {text: visible(text) for text in texts.drop_nulls().unique()}
    odd = {text: written for text, written in shown.items() if text != written}
    return (texts.replace(list(odd), list(odd.values())) if odd else texts).alias(column.name)


def runs_of(frame: pl.DataFrame) -> list[str]:
    """The runs in a frame, sorted, so that each has the same colour in every picture of a report."""
    return frame["run_id"].unique().sort().to_list()


def by_run(runs: Sequence[str]) -> dict[str, Any]:
    """Encodings `color` and `shape`, which with the dashes of `dashed` tell up to 28 runs apart, and their legend."""
    alt = altair()
    legend = alt.Legend(title="run", orient="right", symbolLimit=0, symbolOpacity=1, columns=1 + (len(runs) - 1) // 25)

    def told(channel: Any, values: Iterable[Any]) -> Any:
        scale = alt.Scale(domain=list(runs), range=list(islice(values, len(runs))))
        return channel(field="run_id", type="nominal", scale=scale, legend=legend)

    shapes = chain.from_iterable(repeat(shape, len(COLOURS)) for shape in cycle(_SHAPES))
    return {"color": told(alt.Color, cycle(COLOURS)), "shape": told(alt.Shape, shapes)}


def dashed(runs: Sequence[str]) -> list[tuple[Sequence[str], list[int]]]:
    """The runs that have different colours, and the dashes of their lines."""
    groups = [runs[at : at + len(COLOURS)] for at in range(0, len(runs), len(COLOURS))]
    return list(zip(groups, cycle(_DASHES), strict=False))


def tip(field: str, title: str, *, number: str | None = None) -> Any:
    """A line of a tooltip; `number` is the format of a numeric one."""
    alt = altair()
    kind = "nominal" if number is None else "quantitative"
    return alt.Tooltip(
        field=field, type=kind, title=in_literal(title), **({} if number is None else {"format": number})
    )


VALUE, COUNT = ",.4~f", ",d"
