"""Markdown, LaTeX, HTML and plain text of one prepared grid; each escapes every name that it writes."""

from __future__ import annotations

import hashlib
import html
import re
from collections.abc import Callable
from typing import Any

import polars as pl

from rankframe.errors import ExtraError
from rankframe.rendering import aligned
from rankframe.tables.cells import Cell, Column, Grid, in_line


def text(grid: Grid) -> str:
    """The grid for a terminal: the best value has a * before it, what is raised stands behind a ^."""
    rows = [[in_line(column.heading) for column in grid.columns]]
    rows += [[_text(cell) for cell in row] for row in grid.rows]
    return "\n".join([in_line(grid.caption), aligned(rows), *map(in_line, grid.notes)])


def markdown(grid: Grid) -> str:
    """A table of GitHub's Markdown under its caption and above its notes; ends with a line break."""
    heads = [_markdown(column.heading) for column in grid.columns]
    sides = [":---" if column.names else "---:" for column in grid.columns]
    rows = [[_markdown_cell(cell) for cell in row] for row in grid.rows]
    table = "\n".join(f"| {' | '.join(row)} |" for row in [heads, sides, *rows])
    notes = "\n".join(f"- {_markdown(note)}" for note in grid.notes)
    return "\n\n".join(part for part in (_markdown(grid.caption), table, notes) if part) + "\n"


def latex(grid: Grid, label: str | None) -> str:
    r"""A float with a table of booktabs, its caption above and its notes below; ends with a line break."""
    sides = "".join("l" if column.names else "r" for column in grid.columns)
    heads = " & ".join(_latex(column.heading) for column in grid.columns)
    rows = [" & ".join(map(_latex_cell, row, grid.columns)) for row in grid.rows]
    notes = ["\\begin{flushleft}\\footnotesize", *(f"{_latex(note)}\\par" for note in grid.notes), "\\end{flushleft}"]
    lines = [
        "% needs \\usepackage{booktabs}",
        "\\begin{table}",
        "\\centering",
        f"\\caption{{{_latex(grid.caption)}}}",
        *([] if label is None else [f"\\label{{{label}}}"]),
        f"\\begin{{tabular}}{{{sides}}}",
        "\\toprule",
        f"{heads} \\\\",
        "\\midrule",
        *(f"{row} \\\\" for row in rows),
        "\\bottomrule",
        "\\end{tabular}",
        *(notes if grid.notes else []),
        "\\end{table}",
    ]
    return "\n".join(lines) + "\n"


def great_table(grid: Grid) -> Any:
    """The grid as a `great_tables.GT`, whose id depends on nothing but what it shows.

    Raises:
        ExtraError: without the extra `tables`.
    """
    try:
        from great_tables import GT
        from great_tables import html as as_it_is
    except ImportError as error:
        raise ExtraError("HTML tables need great-tables: pip install 'rankframe[tables]'") from error
    names = [f"c{place}" for place in range(len(grid.columns))]  # ids in the page, so nobody's names
    rows = [list(map(_html_cell, row, grid.columns)) for row in grid.rows]
    frame = pl.DataFrame(rows, schema=dict.fromkeys(names, pl.String), orient="row")
    told = hashlib.sha256(repr(grid).encode()).hexdigest()
    table = (
        GT(frame, id=f"rankframe-{told[:12]}")
        .fmt(str)  # cells are escaped here, marks and all
        .cols_label({name: as_it_is(_html(c.heading)) for name, c in zip(names, grid.columns, strict=True)})
        .cols_align("right")
        .cols_align("left", [name for name, column in zip(names, grid.columns, strict=True) if column.names])
        .tab_header(as_it_is(_html(grid.caption)))
        .tab_options(
            table_font_size="14px",
            heading_align="left",
            heading_title_font_size="15px",
            column_labels_font_weight="bold",
            data_row_padding="5px",
            source_notes_font_size="12px",
        )
    )
    for note in grid.notes:
        table = table.tab_source_note(as_it_is(_html(note)))
    return table


def page(grid: Grid) -> str:
    """A whole HTML document with the table alone."""
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f"<title>{_html(grid.caption)}</title>\n</head>\n<body>\n{great_table(grid).as_raw_html().strip()}\n</body>\n</html>\n"
    )


def _text(cell: Cell) -> str:
    marked = f"{'*' if cell.best else ''}{in_line(cell.text)}{'^' if cell.raised else ''}{cell.raised}"
    return f"{marked} {cell.beside}".rstrip()


def _markdown_cell(cell: Cell) -> str:
    value = _markdown(cell.text)
    value = f"**{value}**" if cell.best else value
    raised = f"<sup>{_markdown(cell.raised)}</sup>" if cell.raised else ""
    return f"{value}{raised} {cell.beside}".rstrip() if cell.beside else f"{value}{raised}"


def _latex_cell(cell: Cell, column: Column) -> str:
    signs: Callable[[str], str] = _latex if column.names else _latex_number
    value = f"\\textbf{{{signs(cell.text)}}}" if cell.best else signs(cell.text)
    raised = f"\\textsuperscript{{{_latex(cell.raised)}}}" if cell.raised else ""
    beside = f" {{\\scriptsize {_minus(cell.beside)}}}" if cell.beside else ""
    return f"{value}{raised}{beside}"


def _html_cell(cell: Cell, column: Column) -> str:
    if column.names:  # which may break
        return _html(cell.text)
    value = f"<strong>{_html(cell.text)}</strong>" if cell.best else _html(cell.text)
    raised = f'<sup style="line-height:0">{_html(cell.raised)}</sup>' if cell.raised else ""
    beside = f'<br><span style="color:#595959;font-size:85%">{_html(cell.beside)}</span>' if cell.beside else ""
    return f'<span style="white-space:nowrap;font-variant-numeric:tabular-nums">{value}{raised}{beside}</span>'


def _html(written: str) -> str:
    return html.escape(in_line(written))


_MARKDOWN = {sign: f"\\{sign}" for sign in "\\`*_{}[]|$~#"} | {"&": "&amp;", "<": "&lt;", ">": "&gt;"}


def _markdown(written: str) -> str:
    r"""Text that Markdown shows as it is, also in a cell and with formulas on.

    >>> _markdown("a_b|<c>")
    'a\\_b\\|&lt;c&gt;'
    """
    return "".join(_MARKDOWN.get(sign, sign) for sign in in_line(written))


_LATEX = {sign: f"\\{sign}" for sign in "#$%&_{}"} | {
    "\\": "\\textbackslash{}",
    "^": "\\textasciicircum{}",
    "~": "\\textasciitilde{}",
    "`": "\\textasciigrave{}",
    "|": "\\textbar{}",
    "<": "\\textless{}",
    ">": "\\textgreater{}",
    "[": "{[}",  # after a line's end it would be an option
    "*": "{*}",  # likewise
}


def _latex(written: str) -> str:
    r"""Text that LaTeX shows as it is, also at the start of a row.

    >>> _latex("50% of [a_b]")
    '50\\% of {[}a\\_b]'
    """
    escaped = "".join(_LATEX.get(sign, sign) for sign in in_line(written))
    return re.sub("-(?=-)", "-{}", escaped)  # two would become a dash


def _latex_number(written: str) -> str:
    return _minus(_latex(written))


def _minus(numbers: str) -> str:
    return re.sub(r"-(?=[\di])", "$-$", numbers)
