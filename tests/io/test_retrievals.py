"""A retrieval as a file: run and log come back as they were, and other files are told apart."""

from __future__ import annotations

import base64
import json
import math
import re
from io import BytesIO
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankframe as rf
from rankframe.io import retrievals
from rankframe.io.retrievals import LOG

from .shared import FLOATS, IDS, same

RUN = pl.Schema({"query_id": pl.String(), "doc_id": pl.String(), "score": pl.Float64()})
OWN = pl.Schema({**RUN, "retriever_score": pl.Float64()})


def run_of(*rows: tuple[Any, ...], schema: pl.Schema = RUN) -> pl.DataFrame:
    return pl.DataFrame(list(rows), schema=schema, orient="row")


def log_of(*rows: tuple[Any, ...]) -> pl.DataFrame:
    return pl.DataFrame(list(rows), schema=LOG, orient="row")


FOUND = rf.Retrieval(
    run_of(("q2", "d1", 0.5), ("q2", "d0", 0.25), ("q1", "d1", -1.0)),
    log_of(
        ("q2", 2, "ok", None, 0.125, 1),
        ("q1", 1, "ok", None, 0.25, 0),
        ("q3", 0, "ok", None, 0.5, 0),
        ("q4", None, "failed", "ConnectionError: lost", 1.0, None),
    ),
)


def written(found: rf.Retrieval, path: Path) -> rf.Retrieval:
    found.write_parquet(path)
    return rf.read_retrieval(path)


def metadata_of(path: Path) -> dict[str, Any]:
    told: dict[str, Any] = json.loads(pl.read_parquet_metadata(path)["rankframe_retrieval"])
    return told


def rewritten(path: Path, change: dict[str, Any] | str) -> None:
    """The file with other metadata: keys changed, taken out where they are None, or this text."""
    run, told = pl.read_parquet(path), metadata_of(path)
    if not isinstance(change, str):
        change = json.dumps({key: value for key, value in (told | change).items() if value is not None})
    run.write_parquet(path, metadata={"rankframe_retrieval": change})


# There and back.


@pytest.mark.parametrize("name", ["found.parquet", "found.pq", "found", "found.PARQUET", "a b é🦊.parquet"])
def test_what_was_written_is_read_back(name: str, tmp_path: Path) -> None:
    """By its content, whatever the file is called."""
    back = written(FOUND, tmp_path / name)
    assert same(FOUND.run, back.run)
    assert same(FOUND.log, back.log)
    assert [name] == [path.name for path in tmp_path.iterdir()]


def test_paths_are_text_or_objects_and_folders_are_made(tmp_path: Path) -> None:
    path = tmp_path / "runs" / "2026" / "found.parquet"
    FOUND.write_parquet(str(path))
    assert same(FOUND.log, rf.read_retrieval(str(path)).log)


def test_nothing_is_read_back_as_nothing(tmp_path: Path) -> None:
    back = written(rf.Retrieval(run_of(), log_of()), tmp_path / "found.parquet")
    assert same(run_of(), back.run)
    assert same(log_of(), back.log)


def test_the_retrievers_own_scores_come_back(tmp_path: Path) -> None:
    different = [("q", "a", -1.0, math.nan), ("q", "b", -2.0, None), ("q", "c", -3.0, math.inf)]
    for rows in (different, [("q", "a", 1.0, 1.0)], [("q", "a", -1.0, None)]):
        run = run_of(*rows, schema=OWN)
        assert same(run, written(rf.Retrieval(run, FOUND.log), tmp_path / "found.parquet").run)


def test_further_columns_come_back(tmp_path: Path) -> None:
    run = FOUND.run.with_columns(text=pl.lit("a red kite"), ranks=pl.Series([[1, 2], [], None]))
    log = FOUND.log.with_columns(topic=pl.lit("birds"))
    back = written(rf.Retrieval(run, log), tmp_path / "found.parquet")
    assert same(run, back.run)
    assert same(log, back.log)


def test_frames_that_are_no_retrieval_are_not_written(tmp_path: Path) -> None:
    path = tmp_path / "found.parquet"
    for run, log, said in (
        (FOUND.run.drop("score"), FOUND.log, "'score Float64'"),
        (FOUND.run.cast({"score": pl.String}), FOUND.log, "'score Float64'"),
        (FOUND.run, FOUND.log.drop("error", "status"), "'status String', 'error String'"),
        (FOUND.run, FOUND.log.cast({"n_results": pl.Int32}), "'n_results Int64'"),
    ):
        with pytest.raises(rf.DataError, match=re.escape(f"{path}: a retrieval is not written without {said}")):
            rf.Retrieval(run, log).write_parquet(path)
    assert list(tmp_path.iterdir()) == []


ROWS = st.lists(st.tuples(IDS, IDS, FLOATS), max_size=4)
COUNTS = st.integers(0, 9) | st.none()
LOGS = st.lists(
    st.tuples(IDS, COUNTS, st.sampled_from(["ok", "failed"]), IDS | st.none(), FLOATS, COUNTS),
    max_size=4,
)


@given(rows=ROWS, log=LOGS)
def test_ids_texts_and_numbers_of_every_kind_come_back(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[Any, ...]], log: list[tuple[Any, ...]]
) -> None:
    found = rf.Retrieval(run_of(*rows), log_of(*log))
    back = written(found, tmp_path_factory.mktemp("any") / "found.parquet")
    assert same(found.run, back.run)
    assert same(found.log, back.log)


def test_a_file_is_written_over_by_its_owner_and_kept_whole_where_that_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "found.parquet"
    written(FOUND, path)
    other = rf.Retrieval(run_of(), log_of())

    def full(_: pl.DataFrame, target: Path, **__: object) -> None:
        target.write_bytes(b"PAR1 half of it")
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(pl.DataFrame, "write_parquet", full)
        with pytest.raises(rf.DataError, match=r"found\.parquet: cannot be written .*No space left on device"):
            other.write_parquet(path)
    assert same(FOUND.log, rf.read_retrieval(path).log)
    assert [file.name for file in tmp_path.iterdir()] == ["found.parquet"]
    assert written(other, path).log.is_empty()


def test_a_place_where_nothing_can_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for path in (tmp_path, tmp_path / "file" / "found.parquet"):
        with pytest.raises(rf.DataError, match=re.escape(f"{path}: cannot be written")):
            FOUND.write_parquet(path)


# For others.


def test_other_readers_see_a_run(tmp_path: Path) -> None:
    FOUND.write_parquet(tmp_path / "found.parquet")
    assert same(FOUND.run, pl.read_parquet(tmp_path / "found.parquet"))
    assert same(FOUND.run, rf.read_run(tmp_path / "found.parquet"))
    assert same(FOUND.run, rf.scan_run(tmp_path / "found.parquet").collect())


def test_the_file_is_evaluated_as_what_it_was(tmp_path: Path) -> None:
    FOUND.write_parquet(tmp_path / "found.parquet")
    qrels = {query: {"d0": 1, "d1": 2} for query in ("q1", "q2", "q3", "q4", "q5")}
    for failed in ("zero", "skip"):
        options: dict[str, Any] = {"metrics": ["ndcg@3", "map"], "failed": failed}
        with pytest.warns(rf.RankframeWarning, match="fewer documents than the largest cutoff"):
            by_object = rf.evaluate({"run": FOUND}, qrels, **options)
        with pytest.warns(rf.RankframeWarning, match="fewer documents than the largest cutoff"):
            by_path = rf.evaluate({"run": tmp_path / "found.parquet"}, qrels, **options)
        assert by_object.scores.equals(by_path.scores)
        assert by_object.ledger.equals(by_path.ledger)


# Files that are none.


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"absent\.parquet"):
        rf.read_retrieval(tmp_path / "absent.parquet")


@pytest.mark.parametrize("kind", ["run", "report", "text", "empty", "folder"])
def test_what_was_written_by_others_is_no_retrieval(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "other.parquet"
    if kind == "run":
        rf.write_run({"q1": {"d1": 1.0}}, path)
    elif kind == "report":
        rf.evaluate({"q1": {"d1": 1.0}}, {"q1": {"d1": 1}}).write_parquet(path)
    elif kind == "folder":
        path.mkdir()
    else:
        path.write_text("" if kind == "empty" else "q1 Q0 d1 1 1.0 mine\n")
    with pytest.raises(rf.DataError, match=r"was not written by Retrieval\.write_parquet; read_run reads a run"):
        rf.read_retrieval(path)


def test_a_run_of_others_is_evaluated_as_a_run(tmp_path: Path) -> None:
    rf.write_run({"q1": {"d1": 1.0}}, tmp_path / "run.parquet")
    assert rf.evaluate(tmp_path / "run.parquet", {"q1": {"d1": 1}}, metrics="mrr").value("mrr") == 1.0


@pytest.mark.parametrize("end", [-1, -10, 8, 4])
def test_a_file_that_is_cut_short_is_refused(end: int, tmp_path: Path) -> None:
    path = tmp_path / "found.parquet"
    FOUND.write_parquet(path)
    path.write_bytes(path.read_bytes()[:end])
    for read in (rf.read_retrieval, lambda path: rf.evaluate(path, {"q1": {"d1": 1}})):
        with pytest.raises(rf.DataError, match=r"found\.parquet: cannot be read as Parquet"):
            read(path)


def test_a_later_format_is_refused_everywhere(tmp_path: Path) -> None:
    path = tmp_path / "found.parquet"
    FOUND.write_parquet(path)
    assert metadata_of(path)["format"] == retrievals._FORMAT == 1
    rewritten(path, {"format": 2})
    for read in (rf.read_retrieval, lambda path: rf.evaluate(path, {"q1": {"d1": 1}})):
        with pytest.raises(rf.DataError, match=r"retrieval format 2 is newer than this rankframe knows \(1\)"):
            read(path)


def packed(log: pl.DataFrame) -> str:
    into = BytesIO()
    log.write_ipc(into)
    return base64.b64encode(into.getvalue()).decode()


FOREIGN: dict[str, dict[str, Any] | str] = {
    "no JSON": "what is this",
    "no mapping": "[1, 2]",
    "a number": "1",
    "deep": "[" * 100_000,
    "no format": {"format": None},
    "a format in words": {"format": "one"},
    "no log": {"log": None},
    "a log in words": {"log": "the log"},
    "a log of numbers": {"log": 3},
    "a log that is no Arrow file": {"log": base64.b64encode(b"ARROW1 half").decode()},
    "a log of other columns": {"log": packed(FOUND.log.drop("status"))},
    "a log of other types": {"log": packed(FOUND.log.with_columns(pl.col("status").cast(pl.Categorical)))},
}


@pytest.mark.parametrize("case", FOREIGN)
def test_metadata_that_is_not_ours_is_refused(case: str, tmp_path: Path) -> None:
    """Never with an error of another library, and never as a run without its log."""
    path = tmp_path / "found.parquet"
    FOUND.write_parquet(path)
    rewritten(path, FOREIGN[case])
    for read in (rf.read_retrieval, lambda path: rf.evaluate(path, {"q1": {"d1": 1}})):
        with pytest.raises(rf.DataError, match=r"its metadata 'rankframe_retrieval' is not what a retrieval's is"):
            read(path)


@pytest.mark.parametrize("change", [pl.exclude("doc_id"), pl.all().cast(pl.String)], ids=["lacking", "text"])
def test_metadata_on_rows_that_are_no_run_is_refused(change: pl.Expr, tmp_path: Path) -> None:
    path = tmp_path / "found.parquet"
    FOUND.write_parquet(path)
    told = pl.read_parquet_metadata(path)["rankframe_retrieval"]
    FOUND.run.select(change).write_parquet(path, metadata={"rankframe_retrieval": told})
    with pytest.raises(rf.DataError, match=r"its metadata 'rankframe_retrieval' is not what a retrieval's is"):
        rf.read_retrieval(path)
