"""Reports read back: one, or several as one."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import rankframe as rf

QRELS = {"q1": {"d1": 1}, "q2": {"d2": 1, "d3": 0}, "q3": {"d3": 2}, "q4": {"d1": 0}}
RUNS = {
    "a": {"q1": {"d1": 1.0}, "q2": {"d3": 2.0, "d2": 1.0}, "q9": {"d1": 1.0}},
    "b": {"q1": {"d2": 2.0, "d1": 1.0}, "q2": {"d2": 1.0}, "q3": {"d3": 1.0}},
}


def saved(path: Path, *runs: str, **options: object) -> Path:
    options = {"metrics": ["map", "mrr"], **options}
    rf.evaluate({run: RUNS[run] for run in runs}, QRELS, **options).write_parquet(path)  # type: ignore[arg-type]
    return path


def test_several_reports_are_one_of_all_their_runs(tmp_path: Path) -> None:
    both = rf.read_report([saved(tmp_path / "b.parquet", "b"), saved(tmp_path / "a.parquet", "a")])
    right = rf.evaluate(RUNS, QRELS, metrics=["map", "mrr"])
    assert_frame_equal(both.scores, right.scores)
    assert_frame_equal(both.summary, right.summary)
    assert_frame_equal(both.ledger, right.ledger)
    assert [run["run_id"] for run in both.options["runs"]] == ["b", "a"]


def test_a_list_of_one_is_that_one(tmp_path: Path) -> None:
    path = saved(tmp_path / "a.parquet", "a")
    assert_frame_equal(rf.read_report([path]).scores, rf.read_report(path).scores)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"metrics": ["map"]}, r"their metrics differ, \['map \(mean\)', 'mrr \(mean\)'\] and \['map \(mean\)'\]"),
        ({"convention": "trec_eval"}, r"their rules of 'convention' differ, documented and trec_eval"),
    ],
    ids=["metrics", "rules"],
)
def test_scores_that_do_not_mean_the_same_do_not_stand_together(
    options: dict[str, object], said: str, tmp_path: Path
) -> None:
    paths = [saved(tmp_path / "a.parquet", "a"), saved(tmp_path / "b.parquet", "b", **options)]
    with pytest.raises(rf.DataError, match=rf"a\.parquet and .*b\.parquet cannot stand together: {said}"):
        rf.read_report(paths)


def test_equal_names_are_refused(tmp_path: Path) -> None:
    paths = [saved(tmp_path / "old.parquet", "a"), saved(tmp_path / "new.parquet", "a", "b")]
    with pytest.raises(rf.DataError, match=r"old\.parquet and .*new\.parquet both hold a run 'a'; evaluate"):
        rf.read_report(paths)


def test_columns_that_cannot_stand_together_are_refused(tmp_path: Path) -> None:
    for run, tags in (("a", ["x", "y", "z"]), ("b", [["x"], [], None])):
        report = rf.evaluate({run: RUNS[run]}, QRELS, metrics="map")
        report.join(pl.DataFrame({"query_id": ["q1", "q2", "q3"], "tags": tags})).write_parquet(tmp_path / run)
    with pytest.raises(rf.DataError, match=r"columns of one name cannot stand together .*join metadata after reading"):
        rf.read_report([tmp_path / "a", tmp_path / "b"])


@pytest.mark.parametrize("path", [[], 3, None], ids=["none", "a number", "nothing"])
def test_what_is_no_path_is_refused(path: object) -> None:
    with pytest.raises(rf.DataError, match=r"^read_report takes a path, or a list of paths, got "):
        rf.read_report(path)  # type: ignore[arg-type]
