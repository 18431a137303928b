"""The page of a comparison: complete, self-contained, and safe with any names."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import polars as pl
import pytest

import rankframe as rf

for extra in ("scipy", "altair", "vl_convert", "great_tables"):
    pytest.importorskip(extra, reason=f"{extra} is not installed (extras stats, plots, tables)")

from rankframe.pages import comparison_page  # noqa: E402  # it needs them

HANDBOOK = Path(__file__).parents[2] / "data" / "handbook"
HOSTILE = "<b>a</b>.x[0]:1 & 'it' \"s\" </script><script>alert(1)</script>"


class Tags(HTMLParser):
    """Every tag with what it has, and whether they close in the order they opened."""

    VOID = frozenset({"meta", "link", "br", "img", "hr", "col"})

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in self.VOID:
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] not in {"script", "style"}:
            self.text += data


def parsed(page: str) -> Tags:
    tags = Tags()
    tags.feed(page)
    tags.close()
    assert tags.open == []
    return tags


@pytest.fixture(scope="module")
def report() -> rf.Report:
    beir = rf.read_beir(HANDBOOK)
    runs = {name: HANDBOOK / "runs" / f"{name}.trec" for name in ("bm25", "dense", "rrf")}
    return rf.evaluate(runs, beir.qrels, metrics=["ndcg@10", "map", "judged@10"]).join(beir.queries)


@pytest.fixture(scope="module")
def page(report: rf.Report) -> str:
    return comparison_page(report, rf.compare(report, baseline="bm25", metrics=["ndcg@10", "map"]), by=["topic"])


def test_it_has_every_section_and_a_place_for_every_picture(page: str) -> None:
    tags = parsed(page)
    ids = [attributes["id"] for _, attributes in tags.seen if "id" in attributes]
    assert len(ids) == len(set(ids))
    links = [str(attributes["href"]) for tag, attributes in tags.seen if tag == "a" and "href" in attributes]
    assert {link.removeprefix("#") for link in links} <= set(ids)
    assert [link[1:] for link in links] == ["summary", "comparison", "differences", "by-1", "hardest", "made"]
    drawn = re.findall(r'vegaEmbed\("#(picture-\d+)"', page)
    assert (
        drawn
        == [name for name in map(str, ids) if name.startswith("picture-")]
        == [f"picture-{i}" for i in (1, 2, 3, 4)]
    )


def test_nothing_is_loaded_from_elsewhere(page: str) -> None:
    loaded = [
        attributes.get(name) for _, attributes in parsed(page).seen for name in ("src", "href") if name in attributes
    ]
    assert all(str(address).startswith(("#", "data:")) for address in loaded)


def test_the_same_report_gives_the_same_page(report: rf.Report, page: str) -> None:
    again = comparison_page(report, rf.compare(report, baseline="bm25", metrics=["ndcg@10", "map"]), by=["topic"])
    assert again == page


def test_names_of_any_kind_are_text() -> None:
    queries = [f"q{i}" for i in range(6)]
    runs = {HOSTILE: {query: {"d1": 1.0} for query in queries}, "b": {query: {"d2": 1.0} for query in queries}}
    qrels = {query: {"d1": 1, "d2": i % 2} for i, query in enumerate(queries)}
    metadata = pl.DataFrame({"query_id": queries, HOSTILE: [HOSTILE, None] * 3})
    report = rf.evaluate(runs, qrels, metrics=["map"]).join(metadata)
    page = comparison_page(report, rf.compare(report), by=[HOSTILE], title=HOSTILE)
    tags = parsed(page)
    assert HOSTILE in tags.text
    assert [tag for tag, _ in tags.seen if tag == "b"] == []
    assert "<script>alert(1)" not in page


def test_specifications_are_json_that_no_text_can_end(page: str) -> None:
    for spec in re.findall(r'vegaEmbed\("#picture-\d+", (\{.*?\}), \{"actions"', page):
        assert "<" not in spec
        assert json.loads(spec)["$schema"].startswith("https://vega.github.io/schema/vega-lite/")


def test_more_pairs_than_pictures_are_counted() -> None:
    queries = [f"q{i}" for i in range(8)]
    runs = {f"r{j}": {query: {f"d{(i * j) % 5}": 1.0} for i, query in enumerate(queries)} for j in range(1, 6)}
    report = rf.evaluate(runs, {query: {"d1": 1} for query in queries}, metrics=["map"])
    page = comparison_page(report, rf.compare(report))
    assert "4 pairs without a picture here, of smaller differences." in page
