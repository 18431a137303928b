"""A finished table: a value that writes itself as HTML, LaTeX and Markdown, and keeps the frame it shows."""

from __future__ import annotations

from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import polars as pl

from rankframe.errors import DataError
from rankframe.tables import writers
from rankframe.tables.cells import Grid


@dataclass(frozen=True, eq=False, repr=False)
class Table:
    """A table to be read by people.

    Attributes:
        frame: what it shows, as numbers; the function that made the table tells the columns.
        grid: what it shows, as text: caption, columns, rows of cells with their marks, notes.
    """

    frame: pl.DataFrame
    grid: Grid

    def html(self) -> str:
        """A fragment of HTML with its own style, which loads nothing; the same table always gives the same text.

        Raises:
            ExtraError: without the extra `tables`.
        """
        fragment: str = self.great_table().as_raw_html().strip()
        return fragment + "\n"

    def latex(self, *, label: str | None = None) -> str:
        r"""A `table` float that needs the package booktabs; best values are bold in the cell itself.

        Args:
            label: of the float, for `\ref`; written as it is.
        """
        return writers.latex(self.grid, label)

    def markdown(self) -> str:
        """A table of GitHub's Markdown, with its caption above and its notes below."""
        return writers.markdown(self.grid)

    def great_table(self) -> Any:
        """The `great_tables.GT` that makes the HTML, to be styled further.

        Raises:
            ExtraError: without the extra `tables`.
        """
        return writers.great_table(self.grid)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the table to a file, as its suffix says: `.html` (a whole page), `.tex` or `.md`, in UTF-8.

        Raises:
            DataError: for another suffix, and where the file cannot be written.
            ExtraError: for `.html` without the extra `tables`.
        """
        target = Path(path)
        kinds = {".html": lambda: writers.page(self.grid), ".tex": self.latex, ".md": self.markdown}
        suffix = target.suffix.lower()
        if suffix not in kinds:
            raise DataError(f"{path}: a table is written to a file that ends with {', '.join(kinds)}, not {suffix!r}")
        written = kinds[suffix]()
        try:
            target.write_text(written, encoding="utf-8", newline="\n")
        except OSError as error:
            raise DataError(f"{path}: the table cannot be written there ({error.strerror})") from error

    def __repr__(self) -> str:
        return writers.text(self.grid)

    def _repr_html_(self) -> str | None:
        """The table in a notebook; its text without the extra `tables`."""
        try:
            return self.html()
        except ImportError:
            return None
