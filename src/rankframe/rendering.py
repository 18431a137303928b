"""How reports and other frames look: numbers, text tables, HTML, JSON, CSV and Markdown."""

from __future__ import annotations

import csv
import html
import io
import json
import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    import polars as pl


def number(value: float | None, digits: int, *, whole: bool = False) -> str:
    """A number with its digits, "-" for none; a `whole` one without them where it has no fraction.

    >>> number(0.5, 4), number(3.0, 4, whole=True), number(float("inf"), 4), number(None, 4)
    ('0.5000', '3', 'inf', '-')
    """
    if value is None:
        return "-"
    return f"{value:.{0 if whole and value.is_integer() else digits}f}"


def aligned(rows: Iterable[Sequence[str]]) -> str:
    """A text table: first column left, the others right, two blanks between.

    >>> print(aligned([["metric", "bm25"], ["map", "0.5"]]))
    metric  bm25
    map      0.5
    """
    rows = list(rows)
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(
            cell.ljust(w) if i == 0 else cell.rjust(w) for i, (cell, w) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    )


def html_table(rows: Sequence[Sequence[str]], caption: str, notes: Sequence[str]) -> str:
    """The same as HTML, under a caption and above a list of notes; everything is escaped.

    >>> html_table([["metric"], ["<b>"]], "over 1 query", []).partition("<tbody>")[2]
    "<tr><td style='text-align:left'>&lt;b&gt;</td></tr></tbody></table>"
    """
    header, *body = rows
    lines = "".join(_html_row(row, "td") for row in body)
    listed = "".join(f"<li>{html.escape(text)}</li>" for text in notes)
    return (
        f"<table><caption>{html.escape(caption)}</caption><thead>{_html_row(header, 'th')}</thead>"
        f"<tbody>{lines}</tbody></table>" + (f"<ul>{listed}</ul>" if notes else "")
    )


def _html_row(cells: Sequence[str], tag: str) -> str:
    sides = ["left", *["right"] * (len(cells) - 1)]
    written = (
        f"<{tag} style='text-align:{side}'>{html.escape(cell)}</{tag}>" for side, cell in zip(sides, cells, strict=True)
    )
    return f"<tr>{''.join(written)}</tr>"


def written(frame: pl.DataFrame, kind: Literal["json", "csv", "markdown"]) -> str:
    """A frame as JSON records (null for numbers that JSON cannot write), CSV with a header, or a Markdown table.

    >>> import polars as pl
    >>> print(written(pl.DataFrame({"metric": ["map"], "value": [0.5]}), "csv"))
    metric,value
    map,0.5
    """
    if kind == "json":
        rows = [{name: _plain(cell) for name, cell in row.items()} for row in frame.iter_rows(named=True)]
        return json.dumps(rows, ensure_ascii=False, indent=1, allow_nan=False)
    cells = [[_text(cell) for cell in row] for row in frame.iter_rows()]
    if kind == "csv":
        buffer = io.StringIO()
        csv.writer(buffer, lineterminator="\n").writerows([frame.columns, *cells])
        return buffer.getvalue().rstrip("\n")
    lines = [frame.columns, ["---"] * frame.width, *cells]
    return "\n".join("| " + " | ".join(map(_cell, line)) + " |" for line in lines)


def _plain(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _cell(text: str) -> str:
    """Text that stays in its cell of a Markdown table."""
    return "<br>".join(text.replace("|", "\\|").splitlines())


def _text(cell: Any) -> str:
    if cell is None or (isinstance(cell, float) and math.isnan(cell)):
        return ""
    return ", ".join(map(str, cell)) if isinstance(cell, list) else str(cell)
