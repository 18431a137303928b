"""Tables for papers and pages: a summary or a comparison as HTML (extra `tables`), LaTeX and Markdown.

Cells are prepared once, with their marks and notes; three writers say the same in three languages.
"""

from __future__ import annotations

from rankframe.tables.compared import comparisons as comparisons
from rankframe.tables.summarised import summary as summary
from rankframe.tables.table import Table as Table

__all__ = ["Table", "comparisons", "summary"]
