"""A comparison as one page: the tables and pictures of a report, with everything in it that a browser needs."""

from __future__ import annotations

import html
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from rankframe import plots, tables
from rankframe.errors import DataError, counted
from rankframe.frames.ledger import in_words
from rankframe.plots.picture import Picture, embedded, embedding_script
from rankframe.rendering import number

if TYPE_CHECKING:
    from rankframe.report import Report

DIFFERENCES = 6
"""Up to so many pairs get a picture of their differences, the largest first."""
HARDEST = 10

_STYLE = """
:root { color-scheme: light; }
body { font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Liberation Sans", sans-serif; color: #1c1c1c;
  background: #fff; margin: 0 auto; max-width: 84rem; padding: 1.5rem 1rem 4rem; }
h1 { font-size: 1.7rem; margin: 0 0 .3rem; }
h2 { font-size: 1.25rem; margin: 2.5rem 0 .6rem; border-bottom: 1px solid #d5d5d5; padding-bottom: .2rem; }
h3 { font-size: 1rem; margin: 1.4rem 0 .4rem; }
p, li { max-width: 48rem; }
nav a { margin-right: 1.2rem; }
.wide { overflow-x: auto; }
.plain table { border-collapse: collapse; }
.plain th, .plain td { padding: .25rem .7rem; text-align: left; border-bottom: 1px solid #e3e3e3; vertical-align: top; }
.plain .number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
.picture { margin: .8rem 0; }
.vega-embed .vega-actions a { font-size: .8rem; }
"""


class _Section(NamedTuple):
    """A part of the page; `body` is HTML."""

    name: str
    title: str
    body: str


class _Page:
    """Collects the pictures of a page, which are drawn when everything stands."""

    def __init__(self) -> None:
        self.pictures: list[Picture] = []

    def drawn(self, draw: Callable[[], Picture]) -> str:
        """The place where the picture will be, or why there is none."""
        try:
            self.pictures.append(draw())
        except DataError as error:
            return f"<p>No picture: {html.escape(str(error))}</p>"
        return f'<div class="wide"><div class="picture" id="{self._place(len(self.pictures))}"></div></div>'

    def scripts(self) -> str:
        """What draws all pictures, and the one copy of Vega that this takes."""
        places = enumerate(self.pictures, start=1)
        return embedding_script() + "".join(embedded(picture, self._place(i)) for i, picture in places)

    @staticmethod
    def _place(number: int) -> str:
        return f"picture-{number}"


def comparison_page(
    report: Report,
    comparison: pl.DataFrame,
    *,
    by: Sequence[str] = (),
    title: str = "Comparison of runs",
) -> str:
    """One self-contained HTML page: which run is better, how sure that is, for which queries, and what was left out.

    Args:
        report: of at least two runs, with the columns of `by` joined.
        comparison: what `compare` gave for it.
        by: columns to slice by, each by itself.
        title: of the page.

    Returns:
        The document; nothing in it is loaded from elsewhere.

    Raises:
        DataError: for columns that the report does not have.
        ExtraError: without the extras `plots` and `tables`.
    """
    page = _Page()
    sections = [
        _summary(report, comparison, page),
        _comparison(comparison),
        _differences(report, comparison, page),
        *(_slices(report, comparison, column, page, i) for i, column in enumerate(by, start=1)),
        _hardest(report, comparison),
        _made(report),
    ]
    links = "".join(f'<a href="#{section.name}">{html.escape(section.title)}</a>' for section in sections)
    bodies = "".join(
        f'<section><h2 id="{section.name}">{html.escape(section.title)}</h2>{section.body}</section>'
        for section in sections
    )
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1"><link rel="icon" href="data:,">'
        f"<title>{html.escape(title)}</title><style>{_STYLE}</style></head><body>"
        f"<h1>{html.escape(title)}</h1><p>{html.escape(_over(report))}</p><nav>{links}</nav>{bodies}"
        f"{page.scripts()}</body></html>\n"
    )


def _over(report: Report) -> str:
    return f"{counted(len(report.runs), 'run')}, {report.counts()[0]}."


def _summary(report: Report, comparison: pl.DataFrame, page: _Page) -> _Section:
    metrics = comparison["metric"].unique(maintain_order=True).to_list()
    judged = [metric.name for metric in report.metrics if metric.name.partition("@")[0] == "judged"]
    table = tables.summary(report, comparison=comparison, metrics=[*dict.fromkeys([*metrics, *judged])])
    picture = page.drawn(lambda: plots.summary(report, metrics=metrics))
    return _Section("summary", "Summary", f'<div class="wide">{table.html()}</div>{picture}')


def _comparison(comparison: pl.DataFrame) -> _Section:
    found = comparison.group_by("metric", maintain_order=True).agg(
        pl.col("detectable").min().alias("low"), pl.col("detectable").max().alias("high")
    )
    told = [
        f"{metric} {number(low, 4)}" + (f" to {number(high, 4)}" if low != high else "")
        for metric, low, high in found.drop_nulls().iter_rows()
    ]
    smallest = (
        f"<p>The smallest true difference that so many queries detect (compare's `detectable`), before correction: "
        f"{html.escape('; '.join(told))}.</p>"
        if told
        else ""
    )
    table = tables.comparisons(comparison).html()
    return _Section("comparison", "Comparison", f'<div class="wide">{table}</div>{smallest}')


def _differences(report: Report, comparison: pl.DataFrame, page: _Page) -> _Section:
    """The first metric's differences, of the pairs that differ most."""
    metric = comparison["metric"][0]
    pairs = comparison.filter(metric=metric).drop_nulls("difference")
    pairs = pairs.sort(pl.col("difference").abs(), descending=True).head(DIFFERENCES)
    parts = []
    for run, other in pairs.select("run_id", "other").rows():
        parts.append(page.drawn(partial(_difference, report, other, run, metric)))
    left = comparison.filter(metric=metric).height - pairs.height
    if left:
        parts.append(f"<p>{counted(left, 'pair')} without a picture here, of smaller differences.</p>")
    return _Section("differences", "Query by query", "".join(parts))


def _difference(report: Report, other: str, run: str, metric: str) -> Picture:
    return plots.differences(report.diff(other, run, metric=metric))


def _slices(report: Report, comparison: pl.DataFrame, column: str, page: _Page, place: int) -> _Section:
    metric = comparison["metric"][0]
    picture = page.drawn(lambda: plots.slices(report.by(column).filter(metric=metric)))
    return _Section(f"by-{place}", f"By {column}", picture)


def _hardest(report: Report, comparison: pl.DataFrame) -> _Section:
    metric = comparison["metric"][0]
    found = report.hardest(HARDEST, metric=metric).drop("metric")
    about = f"<p>By {html.escape(metric)}, over all runs together; judged is the share of judged documents it saw.</p>"
    return _Section("hardest", "Hardest queries", about + _plain_table(found))


def _plain_table(frame: pl.DataFrame) -> str:
    """A frame of few rows as it is; lists and structs are left to the frame."""
    shown = frame.select(name for name, dtype in frame.schema.items() if not dtype.is_nested())
    head = "".join(f"<th>{html.escape(name)}</th>" for name in shown.columns)
    rows = ("".join(_cells(row)) for row in shown.iter_rows())
    body = "".join(f"<tr>{row}</tr>" for row in rows)
    return f'<div class="wide plain"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def _cells(row: Sequence[object]) -> Iterator[str]:
    for cell in row:
        if isinstance(cell, float):
            yield f'<td class="number">{number(cell, 4)}</td>'
        else:
            yield f"<td>{'-' if cell is None else html.escape(str(cell))}</td>"


def _made(report: Report) -> _Section:
    """What was left out, and how the numbers were made."""
    left_out = "".join(f"<li>{html.escape(line)}</li>" for line in in_words(report.ledger)) or "<li>nothing</li>"
    how = report.intervals
    told = (
        f"Intervals: {how.level:.0%}, {how.method} bootstrap, {how.n_resamples:,} resamples, seed {how.seed}.",
        *(f"{name}: {value}" for name, value in sorted(report.options.items()) if isinstance(value, (str, int, float))),
    )
    lines = "".join(f"<li>{html.escape(line)}</li>" for line in told)
    return _Section(
        "made", "What the numbers are", f"<h3>Left out</h3><ul>{left_out}</ul><h3>Made by</h3><ul>{lines}</ul>"
    )
