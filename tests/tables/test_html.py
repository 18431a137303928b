"""Tables as HTML, by Great Tables: what a browser would read there."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankframe as rf
from rankframe.tables.cells import in_line
from tests.tables.shared import HOSTILE, NAMES, compared, summary_of

pytest.importorskip("great_tables", reason="the extra tables is not installed")

VOID = ("br", "meta")
TAGS = {"div", "style", "table", "thead", "tbody", "tfoot", "tr", "th", "td", "span", "strong", "sup", "br"}


class Reader(HTMLParser):
    """The cells of a page as text, row by row, its tags, and that all of them are closed."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.rows: list[list[str]] = []
        self.tags: set[str] = set()
        self.ids: list[str] = []
        self.marked: list[str] = []
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.ids += [value or "" for name, value in attrs if name == "id"]
        if tag not in VOID:
            self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")
        if tag == "br":
            self.rows[-1][-1] += "\n"

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "td" in self.open or "th" in self.open:
            self.rows[-1][-1] += data
        if "strong" in self.open:
            self.marked.append(data)


def read(written: str) -> Reader:
    reader = Reader()
    reader.feed(written)
    reader.close()
    assert reader.open == []
    return reader


def summary(names: list[str]) -> rf.tables.Table:
    """Runs of these names, which are metrics too."""
    values = summary_of({run: dict.fromkeys(names, i * 0.1) for i, run in enumerate(names)})
    pairs = [compared([(run, names[0], 0.1, True) for run in names[1:]], metric=metric) for metric in names]
    return rf.tables.summary(values, comparison=pl.concat(pairs), digits=1, caption=names[0])


def test_a_summary_is_read_as_it_was_made() -> None:
    seen = read(summary(["a_b", "<c>"]).html())
    assert [row for row in seen.rows if len(row) > 1] == [
        ["letter", "run", "a_b", "<c>"],
        ["a", "a_b", "0.0\n[-0.1, 0.1]", "0.0\n[-0.1, 0.1]"],
        ["b", "<c>", "0.1a\n[0.0, 0.2]", "0.1a\n[0.0, 0.2]"],
    ]
    assert seen.rows[0] == ["a_b (n = 50)"]
    assert seen.marked == ["0.1", "0.1"]
    assert [row[0].partition(":")[0].strip() for row in seen.rows[4:]] == ["Bold", "Superscripts", "In brackets"]


def test_a_comparison_is_read_as_it_was_made() -> None:
    rows = compared([("b|1", "a & co", -0.1, True)], reason="few queries", few_queries=True)
    seen = read(rf.tables.comparisons(rows, digits=2).html())
    assert seen.rows[2] == [
        *("map", "b|1", "a & co", "-0.10*\n[-0.15, -0.05]", "-25.0 %", "30/5/15", "-0.20", "< 0.001", "< 0.001a")
    ]


@given(st.lists(NAMES, min_size=2, max_size=4, unique=True))
def test_no_name_becomes_markup(names: list[str]) -> None:
    seen = read(summary(names).html())
    shown = [in_line(name).replace("\r", "\n") for name in names]
    rows = [row for row in seen.rows if len(row) == len(names) + 2]
    assert rows[0][2:] == shown
    assert [row[1] for row in rows[1:]] == shown
    assert seen.tags <= TAGS


@pytest.mark.parametrize("name", HOSTILE)
def test_no_hostile_name_stands_unescaped(name: str) -> None:
    written = summary([name, "other"]).html()
    assert "<b>x" not in written
    assert "a&b" not in written


def test_the_same_table_is_the_same_text_and_another_has_another_id() -> None:
    first, again, other = summary(["a", "b"]), summary(["a", "b"]), summary(["a", "c"])
    assert first.html() == again.html()
    assert first.html() == first._repr_html_()
    assert read(first.html()).ids[0].startswith("rankframe-")
    assert read(first.html()).ids[0] != read(other.html()).ids[0]


def test_a_page_is_whole_and_loads_nothing(tmp_path: Path) -> None:
    summary(["naïve <b>", "東京"]).save(tmp_path / "table.HTML")
    written = (tmp_path / "table.HTML").read_text(encoding="utf-8")
    assert written.startswith(
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>naïve &lt;b&gt;'
    )
    assert not [word for word in ("http", "url(", "@import", "<script", "<link", "src=") if word in written]
    assert ["b", "東京"] in [row[:2] for row in read(written).rows]


def test_a_table_without_rows_is_a_head(tmp_path: Path) -> None:
    rf.tables.comparisons(compared([]).clear()).save(tmp_path / "table.html")
    assert read((tmp_path / "table.html").read_text(encoding="utf-8")).rows[1][:3] == ["metric", "run", "other"]


def test_the_great_table_can_be_styled_further() -> None:
    from great_tables import GT

    table = summary(["a", "b"]).great_table()
    assert isinstance(table, GT)
    assert "table of mine" in table.tab_source_note("table of mine").as_raw_html()
