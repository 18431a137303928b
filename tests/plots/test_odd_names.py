"""Names that could end a process, a string literal or a selection of columns are drawn as names."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path

import polars as pl
import pytest

import rankframe as rf
from rankframe.plots.picture import _version

pytest.importorskip("altair", reason="the extra plots is not installed")
vl_convert = pytest.importorskip("vl_convert", reason="the extra plots is not installed")

QRELS = {f"q{i}": {"d1": 1, "d2": 0} for i in range(30)}


def _runs(name: str) -> dict[str, dict[str, dict[str, float]]]:
    return {
        run: {f"q{i}": {"d1": float(i * k % 3), "d2": 1.0} for i in range(30)} for k, run in enumerate((name, "z"), 1)
    }


def _report(name: str) -> rf.Report:
    return rf.evaluate(_runs(name), QRELS, metrics="map")


@pytest.mark.parametrize("sign", ["\x00", "\x01", "\x1b", "\ufffe", "\uffff", "\u2028"])
def test_characters_that_cannot_be_drawn_are_written_out(sign: str) -> None:
    made = _report(f"a{sign}")
    picture = rf.plots.summary(made.summary)
    written = f"a{sign}".encode("unicode_escape").decode("ascii")
    assert written in picture.svg()
    assert set(picture.frame["run_id"]) == {f"a{sign}", "z"}
    assert written in rf.plots.differences(made.diff(f"a{sign}", "z")).svg()


@pytest.mark.parametrize("name", [r"exp\x1", r"\users", "ab\\", "a\nb", '"+x+"', '\\"+x+"'])
def test_the_tooltip_says_the_name_as_it_is(name: str) -> None:
    picture = rf.plots.differences(_report(name).diff(name, "z"))
    assert picture.svg()
    vega = vl_convert.vegalite_to_vega(picture.chart.to_dict(), vl_version=_version())
    signal = vega["marks"][0]["encode"]["update"]["tooltip"]["signal"]
    key = f"average precision, {name}"
    assert f"{json.dumps(key)}: " in signal


@pytest.mark.parametrize("name", ["*", "^t.*$"])
def test_columns_named_like_patterns_are_columns(name: str) -> None:
    made = _report("a").join(pl.DataFrame({"query_id": list(QRELS), name: ["x"] * 30}))
    assert rf.plots.differences(made.diff("a", "z")).svg()
    assert rf.plots.slices(made.by(name)).svg()


def test_the_unusual_aggregate_is_drawn_by_its_label() -> None:
    made = rf.evaluate(_runs("a"), QRELS, metrics=["map", "gm_map"]).join(
        pl.DataFrame({"query_id": list(QRELS), "half": ["x", "y"] * 15})
    )
    for label in ("gm_map", "map (gmean)"):
        drawn = rf.plots.slices(made.by("half"), metric=label).frame
        assert drawn["aggregate"].unique().to_list() == ["gmean"]
        assert rf.plots.summary(made, metrics=label).frame["aggregate"].unique().to_list() == ["gmean"]
    assert rf.plots.summary(made, metrics="map").frame["aggregate"].unique().to_list() == ["mean"]


def test_too_many_slices_to_be_seen_are_refused() -> None:
    qrels = {f"q{i}": {"d1": 1} for i in range(501)}
    made = rf.evaluate({"a": {query: {"d1": 1.0} for query in qrels}}, qrels, metrics="map")
    with pytest.raises(rf.DataError, match=r"up to 500 slices, and .query_id. has 501"):
        rf.plots.slices(made.by("query_id"))


def test_durations_are_slices_too() -> None:
    spans = pl.Series([timedelta(days=1), timedelta(hours=2)] * 15)
    made = _report("a").join(pl.DataFrame({"query_id": list(QRELS), "span": spans}))
    assert rf.plots.slices(made.by("span")).svg()
    assert rf.plots.differences(made.diff("a", "z")).svg()


def test_a_target_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    picture = rf.plots.summary(_report("a"))
    (tmp_path / "folder.svg").mkdir()
    for target in (tmp_path / "folder.svg", tmp_path / ("x" * 300 + ".svg"), f"{tmp_path}/\0.svg"):
        with pytest.raises(rf.DataError, match=r"the picture cannot be written there"):
            picture.save(target)
