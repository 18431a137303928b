"""Every picture as PNG, SVG, HTML and in a notebook, without a network."""

from __future__ import annotations

import base64
import json
import zlib
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree as ET

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import rankframe as rf
from tests.plots.shared import ODD, TITLES, pictures, report, samples

alt = pytest.importorskip("altair", reason="the extra plots is not installed")
pytest.importorskip("vl_convert", reason="the extra plots is not installed")

PICTURES = pictures()
every_picture = pytest.mark.parametrize("name", PICTURES)


class _Tags(HTMLParser):
    """The tags of a page and the names of their attributes; what stands in a script is none."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, list[str]]] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, [name for name, _ in attrs]))


def _said(svg: str) -> set[str]:
    return {element.text or "" for element in ET.fromstring(svg).iter() if element.tag.endswith("}text")}


def _pixels(png: bytes) -> bytes:
    """The filtered bytes of the image, which of a blank one are nearly all the same."""
    at, packed = 8, b""
    while at < len(png):
        length, kind = int.from_bytes(png[at : at + 4]), png[at + 4 : at + 8]
        packed += png[at + 8 : at + 8 + length] if kind == b"IDAT" else b""
        at += length + 12
    return zlib.decompress(packed)


@every_picture
def test_png_has_a_drawing_at_the_scale_asked_for(name: str, tmp_path: Path) -> None:
    picture = PICTURES[name]()
    picture.save(tmp_path / "large.png")
    picture.save(tmp_path / "small.PNG", scale=1)
    large, small = (tmp_path / "large.png").read_bytes(), (tmp_path / "small.PNG").read_bytes()
    assert large.startswith(b"\x89PNG\r\n\x1a\n")
    assert len(set(_pixels(large))) > 100
    widths = [int.from_bytes(image[16:20]) for image in (large, small)]
    assert abs(widths[0] - 2 * widths[1]) <= 2
    assert widths[1] > 300


@every_picture
def test_svg_says_in_words_what_is_drawn_and_names_the_runs(name: str, tmp_path: Path) -> None:
    PICTURES[name]().save(tmp_path / "picture.svg")
    said = _said((tmp_path / "picture.svg").read_text(encoding="utf-8"))
    assert set(TITLES[name]) <= said
    assert any("bm25" in text for text in said)
    assert any("dense" in text for text in said)


@every_picture
def test_html_holds_all_that_it_needs(name: str, tmp_path: Path) -> None:
    PICTURES[name]().save(tmp_path / "picture.html")
    page = (tmp_path / "picture.html").read_text(encoding="utf-8")
    tags = _Tags(page).found
    assert [name for name, _ in tags if name == "script"] == ["script", "script"]
    assert not [tag for tag in tags if {"src", "href"} & set(tag[1])]
    assert "@import" not in page
    assert "vegaEmbed" in page
    assert len(page) > 500_000


def test_text_of_a_query_does_not_end_the_script_of_the_page(tmp_path: Path) -> None:
    PICTURES["differences"]().save(tmp_path / "picture.html")
    page = (tmp_path / "picture.html").read_text(encoding="utf-8")
    assert "</script><b>" not in page
    assert "\\u003c/script>\\u003cb>what is q00?" in page


@every_picture
def test_the_same_frame_gives_the_same_chart(name: str) -> None:
    assert PICTURES[name]().chart.to_json() == PICTURES[name]().chart.to_json()


@every_picture
def test_the_chart_draws_the_numbers_of_the_frame(name: str) -> None:
    """Every number of the frame that is not null stands in the data of the chart."""
    picture = PICTURES[name]()
    told = [row for rows in picture.chart.to_dict()["datasets"].values() for row in rows]
    number = next(column for column in ("value", "difference", "share") if column in picture.frame.columns)
    drawn = {row[number] for row in told if number in row}
    assert drawn >= set(picture.frame[number].drop_nulls().to_list())
    assert picture.frame.height


@every_picture
def test_a_notebook_gets_a_live_chart_and_a_png_and_no_html(name: str) -> None:
    picture = PICTURES[name]()
    shown, metadata = picture._repr_mimebundle_(include=None, exclude=None)
    live = [mime for mime in shown if mime.startswith("application/vnd.vegalite.v")]
    assert sorted(shown) == sorted([*live, "image/png", "text/plain"])
    assert len(live) == 1
    assert json.loads(json.dumps(shown[live[0]])) == picture.chart.to_dict()
    image = base64.b64decode(shown["image/png"])
    assert image.startswith(b"\x89PNG")
    assert metadata["image/png"]["width"] == round(int.from_bytes(image[16:20]) / 2)
    assert "https" not in json.dumps({mime: text for mime, text in shown.items() if mime not in live})


@pytest.mark.parametrize("name", [name for name in PICTURES if name != "differences"])
def test_names_that_mean_something_to_charts_are_names(name: str) -> None:
    said = _said(pictures(ODD)[name]().svg())
    assert set(ODD) <= said


def test_differences_of_runs_and_metadata_with_odd_names() -> None:
    frame = report(("a.b", "it's")).diff("a.b", "it's", metric="ndcg@3").rename({"text": "x[0].'y"})
    picture = rf.plots.differences(frame, a="a.b", b="it's")
    assert "nDCG at 3: it's minus a.b" in _said(picture.svg())
    titles = [line["title"] for line in picture.chart.to_dict()["encoding"]["tooltip"]]
    assert titles == ["query_id", "difference", "nDCG at 3, it's", "nDCG at 3, a.b", "a.b", "k:1", "x[0].'y"]
    assert {"a.b", "k:1", "x[0].'y"} <= set(picture.frame.columns)


def test_what_the_caller_gave_is_not_changed() -> None:
    made = report()
    frames = [made.summary, made.diff("bm25", "dense"), made.by("a.b", "k:1"), samples()]
    before = [frame.clone() for frame in frames]
    rf.plots.summary(frames[0])
    rf.plots.differences(frames[1])
    rf.plots.slices(frames[2])
    rf.plots.end_to_end(frames[3])
    for frame, old in zip(frames, before, strict=True):
        assert_frame_equal(frame, old)


def test_lazy_frames_are_drawn_too() -> None:
    made = report()
    lazy, eager = (rf.plots.slices(frame).frame for frame in (made.by("a.b").lazy(), made.by("a.b")))
    assert_frame_equal(lazy, eager)
    assert_frame_equal(rf.plots.end_to_end(samples().lazy()).frame, rf.plots.end_to_end(samples()).frame)


def test_more_rows_than_altair_takes_are_drawn_and_its_settings_stay() -> None:
    n = 6_980
    frame = pl.DataFrame(
        {
            "query_id": [str(i) for i in range(n)],
            "metric": "ndcg@10",
            "value_a": 0.0,
            "value_b": [i / n for i in range(n)],
            "difference": [i / n for i in range(n)],
        }
    )
    before = (alt.data_transformers.active, dict(alt.data_transformers.options))
    picture = rf.plots.differences(frame)
    assert picture.frame.height == n
    assert "number of queries, the largest gain first" in _said(picture.svg())
    assert (alt.data_transformers.active, dict(alt.data_transformers.options)) == before


def test_twenty_runs_have_twenty_looks() -> None:
    runs = tuple(f"run {i:02}" for i in range(20))
    picture = rf.plots.precision_recall(report(runs).summary)
    points = picture.chart.to_dict()["layer"][-1]["encoding"]
    looks = zip(points["color"]["scale"]["range"], points["shape"]["scale"]["range"], strict=True)
    assert len(set(looks)) == 20
    assert set(runs) <= _said(picture.svg())


@pytest.mark.parametrize("path", ["picture.pdf", "picture", "picture.svg.gz"])
def test_another_suffix_is_refused_with_the_valid_ones(path: str, tmp_path: Path) -> None:
    with pytest.raises(rf.DataError, match=r"saved by its suffix as one of \.png, \.svg, \.html, got '"):
        PICTURES["slices"]().save(tmp_path / path)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(
        rf.DataError, match=r"missing/picture\.svg': the picture cannot be written there \(No such file"
    ):
        PICTURES["slices"]().save(tmp_path / "missing" / "picture.svg")


@pytest.mark.parametrize("scale", [0, -1, 11, True, "2", float("nan")])
def test_a_scale_that_means_nothing_is_refused(scale: float, tmp_path: Path) -> None:
    with pytest.raises(rf.DataError, match=r"scale=.*: a number from 0\.1 to 10"):
        PICTURES["slices"]().save(tmp_path / "picture.png", scale=scale)


def test_a_picture_says_what_it_draws() -> None:
    assert repr(PICTURES["cutoffs"]()) == (
        "Picture of 6 rows: run_id, cutoff, metric, aggregate, value, ci_low, ci_high, n, ci_reason"
    )
