"""Runs that come in batches: equal to the same run in memory, whatever the order of rows and the size of a batch."""

from __future__ import annotations

import contextlib
import hashlib
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

import rankframe as rf
from rankframe.batches.grouping import NotGroupedError, by_bucket, in_order, rows_within
from rankframe.frames.checks import Loaded
from rankframe.ranking import judge, judged_blocks, rank_run

ROW = 512  # bytes that a row counts for, so that so many rows may be given as memory
METRICS = ["ndcg@10", "recall@5", "map", "mrr", "bpref", "judged@10", "num_ret"]
WORDS = ["a", "b", "é", "Z", "10", "9", "a long id of more than twelve letters", " "]


def _run(queries: int = 40, depth: int = 30, *, seed: int = 0) -> pl.DataFrame:
    """A run with many ties, grouped by query, best first."""
    draw = random.Random(seed)
    rows = [
        (f"q{query:03}", f"doc{doc}", draw.randrange(depth // 2) / 8)
        for query in range(queries)
        for doc in draw.sample(range(10 * depth), depth)
    ]
    frame = pl.DataFrame(rows, schema=["query_id", "doc_id", "score"], orient="row")
    return frame.sort("query_id", "score", descending=[False, True], maintain_order=True)


def _qrels(run: pl.DataFrame, *, seed: int = 0) -> pl.DataFrame:
    """Judgments of most of its queries, and of some that it does not have."""
    found = run.filter(pl.col("query_id") != "q000").sample(fraction=0.15, seed=seed)
    absent = pl.DataFrame({"query_id": ["q001", "q998", "q999"], "doc_id": ["nowhere", "doc1", "doc2"]})
    judged = pl.concat([found.select("query_id", "doc_id"), absent])
    grades = [draw for _, draw in zip(range(judged.height), _grades(seed), strict=False)]
    return judged.with_columns(relevance=pl.Series(grades, dtype=pl.Float64))


def _grades(seed: int) -> Iterator[int]:
    draw = random.Random(seed)
    while True:
        yield draw.choice([-1, 0, 1, 1, 2, 3])


def _equal(ours: rf.Report, right: rf.Report) -> None:
    """The same report, to rounding."""
    assert_frame_equal(ours.scores, right.scores, check_exact=False, rel_tol=0, abs_tol=1e-12)
    assert_frame_equal(ours.ledger, right.ledger)
    assert_frame_equal(ours.summary, right.summary, check_exact=False, rel_tol=0, abs_tol=1e-12)
    assert [{key: run[key] for key in ("run_id", "rows", "queries")} for run in ours.options["runs"]] == [
        {key: run[key] for key in ("run_id", "rows", "queries")} for run in right.options["runs"]
    ]


def _pieces(frame: pl.DataFrame, folder: Path, files: int) -> Path:
    """The rows in so many files, in order."""
    folder.mkdir()
    size = -(-frame.height // files)
    for number in range(files):
        frame.slice(number * size, size).write_parquet(folder / f"part-{number:02}.parquet")
    return folder


@pytest.fixture(autouse=True, scope="module")
def _small_batches() -> Iterator[None]:
    """Limits so small that few rows make many batches."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("rankframe.batches.grouping._LEAST", 1)
        yield


RUN = _run()
QRELS = _qrels(RUN)
SHUFFLED = RUN.sample(fraction=1, shuffle=True, seed=3)


# The same as in memory.


@pytest.mark.parametrize("rows", [1, 7, 31, 100, 700, 10_000])
@pytest.mark.parametrize("run", [RUN, SHUFFLED], ids=["grouped", "shuffled"])
@pytest.mark.parametrize("files", [1, 7])
def test_batches_of_any_size_score_like_the_whole(run: pl.DataFrame, files: int, rows: int, tmp_path: Path) -> None:
    folder = _pieces(run, tmp_path / "run", files)
    right = rf.evaluate({"run": run}, QRELS, metrics=METRICS)
    assert {"missing_query", "unjudged_query", "tie_at_cutoff"} <= set(right.ledger["reason"])
    for source in (folder, rf.scan_run(folder), sorted(folder.iterdir()), run.lazy()):
        _equal(rf.evaluate({"run": source}, QRELS, metrics=METRICS, memory_limit=rows * ROW), right)


@given(st.data())
def test_batches_score_like_the_whole_on_hostile_input(data: st.DataObject) -> None:
    """Any ids, any ties, any order, queries without judgments and judgments without rows."""
    ids = st.sampled_from(WORDS)
    pairs = data.draw(st.lists(st.tuples(ids, ids), min_size=1, max_size=40, unique=True))
    scores = data.draw(st.lists(st.sampled_from([0.0, -0.0, 1.0, -1.5, float("inf")]), min_size=40, max_size=40))
    run = pl.DataFrame(
        [(*pair, score) for pair, score in zip(pairs, scores, strict=False)],
        schema=["query_id", "doc_id", "score"],
        orient="row",
    )
    judged = data.draw(st.lists(st.tuples(ids, ids), min_size=1, max_size=20, unique=True))
    judged.append((pairs[0][0], "judged"))  # a query in common
    qrels = (
        pl.DataFrame(judged, schema=["query_id", "doc_id"], orient="row").unique().with_columns(relevance=pl.lit(1.0))
    )
    rows = data.draw(st.integers(1, 50))
    right = rf.evaluate(run, qrels, metrics=METRICS)
    _equal(rf.evaluate(run.lazy(), qrels, metrics=METRICS, memory_limit=rows * ROW), right)


@pytest.mark.parametrize(
    "order", [["run_id", "query_id"], ["query_id", "run_id"], None], ids=["runs", "queries", "none"]
)
def test_several_runs_in_one_scan_are_told_apart(order: list[str] | None) -> None:
    both = pl.concat(
        [RUN.with_columns(run_id=pl.lit("a")), _run(50, 20, seed=5).with_columns(run_id=pl.lit("b"))], how="diagonal"
    )
    mixed = both.sample(fraction=1, shuffle=True, seed=1) if order is None else both.sort(order, maintain_order=True)
    right = rf.evaluate(mixed, QRELS, metrics=METRICS)
    assert right.runs == ["a", "b"]
    _equal(rf.evaluate(mixed.lazy(), QRELS, metrics=METRICS, memory_limit=64 * ROW), right)
    named = rf.evaluate({"x": mixed.lazy()}, QRELS, metrics=METRICS, memory_limit=64 * ROW)
    assert named.runs == ["x/a", "x/b"]


@pytest.mark.parametrize("convention", ["trec_eval", "trec_eval_c", "ir_measures", "beir"])
def test_every_convention_holds_in_batches(convention: str) -> None:
    own = pl.DataFrame({"query_id": ["q003", "q030"], "doc_id": ["q003", "q030"], "score": [99.0, 99.0]})
    run = pl.concat([SHUFFLED, own])
    right = rf.evaluate(run, QRELS, metrics=METRICS, convention=convention)
    _equal(rf.evaluate(run.lazy(), QRELS, metrics=METRICS, convention=convention, memory_limit=90 * ROW), right)


def test_options_hold_in_batches() -> None:
    repeated = pl.concat([RUN, RUN.head(3).with_columns(pl.col("score") - 1), RUN.tail(2)])
    bad = pl.DataFrame({"query_id": ["q001", None], "doc_id": ["x", "y"], "score": [float("nan"), 1.0]})
    run = pl.concat([repeated, bad]).with_columns(rank=pl.len() - pl.int_range(pl.len()))
    options: dict[str, Any] = {
        "duplicates": "best",
        "invalid": "drop",
        "queries": ["q001", "q002", "q999"],
        "corpus": ["doc1"],
        "metrics": ["mrr", rf.Metric("own", pl.col("doc_id").str.len_chars().max().cast(pl.Float64))],
    }
    right = rf.evaluate(run, QRELS, **options)
    assert {"duplicate_dropped", "invalid_dropped", "rank_contradicts_score"} <= set(right.ledger["reason"])
    ours = rf.evaluate(run.lazy(), QRELS, **options, memory_limit=100 * ROW)
    assert_frame_equal(ours.scores, right.scores)
    assert_frame_equal(ours.ledger.drop("examples"), right.ledger.drop("examples"))


def test_parameters_are_bound_from_all_judgments() -> None:
    """The highest grade is that of all judgments, also where a batch has none so high."""
    qrels = pl.concat([QRELS, pl.DataFrame({"query_id": ["q999"], "doc_id": ["top"], "relevance": [7.0]})])
    report = rf.evaluate(RUN.lazy(), qrels, metrics="err@10", memory_limit=30 * ROW)
    assert [metric.name for metric in report.metrics] == ["err(max_grade=7)@10"]
    _equal(report, rf.evaluate(RUN, qrels, metrics="err@10"))


def test_ranks_alone_integers_and_text_are_read_in_batches(tmp_path: Path) -> None:
    ranked = RUN.with_columns(rank=pl.int_range(1, pl.len() + 1).over("query_id")).drop("score")
    whole = RUN.with_columns((pl.col("score") * 8).cast(pl.Int64))
    text = RUN.with_columns(pl.col("score").cast(pl.String))
    numbers = RUN.with_columns(pl.col("query_id").str.slice(1).cast(pl.Int32).alias("qid")).drop("query_id")
    judged = QRELS.with_columns(pl.col("query_id").str.slice(1).cast(pl.Int32).cast(pl.String))
    for name, run, qrels in [
        ("ranks", ranked, QRELS),
        ("whole", whole, QRELS),
        ("text", text, QRELS),
        ("numbers", numbers, judged),
    ]:
        run.write_parquet(tmp_path / f"{name}.parquet")
        right = rf.evaluate({name: run}, qrels, metrics=METRICS)
        for source in (tmp_path / f"{name}.parquet", rf.scan_run(tmp_path / f"{name}.parquet"), run.lazy()):
            _equal(rf.evaluate({name: source}, qrels, metrics=METRICS, memory_limit=90 * ROW), right)


def test_a_plan_of_the_callers_own_is_read_in_batches() -> None:
    plan = RUN.lazy().with_columns(pl.col("score") * 2).filter(pl.col("score") > 1)
    _equal(
        rf.evaluate(plan, QRELS, metrics=METRICS, memory_limit=50 * ROW),
        rf.evaluate(plan.collect(), QRELS, metrics=METRICS),
    )


def test_an_empty_scan_is_an_empty_run() -> None:
    with pytest.warns(rf.RankframeWarning, match=r"the run 'run' is empty; judged queries that are missing: \d+"):
        report = rf.evaluate(RUN.clear().lazy(), QRELS, metrics="mrr")
    assert report.value("mrr") == 0.0


def test_runs_that_are_ranked_at_once_are_those_ranked_alone(tmp_path: Path) -> None:
    runs: dict[str, Any] = {}
    for number in range(6):
        run = _run(seed=number).sample(fraction=1, shuffle=number % 2 == 0, seed=number)
        runs[f"r{number}"] = run if number % 3 == 0 else run.lazy()
    report = rf.evaluate(runs, QRELS, metrics=METRICS, memory_limit=80 * ROW, per_query=tmp_path / "all.parquet")
    alone = [rf.evaluate({name: run}, QRELS, metrics=METRICS) for name, run in runs.items()]
    assert_frame_equal(report.scores, pl.concat([one.scores for one in alone]), check_exact=False, abs_tol=1e-12)
    assert [run["run_id"] for run in report.options["runs"]] == sorted(runs)


def test_the_first_run_that_cannot_be_used_is_told_and_the_others_end() -> None:
    begun: list[str] = []

    def slow(frame: pl.DataFrame) -> pl.DataFrame:
        begun.append("part")
        time.sleep(0.01)
        return frame

    bad = RUN.with_columns(score=pl.lit(None, dtype=pl.Float64))
    endless = SHUFFLED.lazy().map_batches(slow, streamable=True)
    runs = {"good": RUN, "bad": bad.lazy(), "worse": pl.concat([RUN, RUN]), **{f"x{n}": endless for n in range(50)}}
    with pytest.raises(rf.DataError, match="run: 1,200 null score, in 1,200 rows"):
        rf.evaluate(runs, QRELS, metrics="mrr", memory_limit=80 * ROW)
    assert len(begun) < 50


# What is wrong is found as in memory.


def _message(run: object, **options: Any) -> str:
    with pytest.raises(rf.DataError) as caught:
        rf.evaluate({"run": run}, QRELS, metrics="mrr", **options)
    return str(caught.value)


BAD = {
    "NaN": {"score": float("nan")},
    "null score": {"score": None},
    "null query": {"query_id": None},
    "null document": {"doc_id": None},
}


@pytest.mark.parametrize("bad", BAD.values(), ids=BAD)
@pytest.mark.parametrize("run", [RUN, SHUFFLED], ids=["grouped", "shuffled"])
def test_unusable_rows_are_the_same_error(run: pl.DataFrame, bad: dict[str, Any], tmp_path: Path) -> None:
    """All of them counted, the first of them named, wherever they stand."""
    late = run.slice(run.height - 9, 7)
    (name, value), *_ = bad.items()
    run = pl.concat([run.head(-9), late.with_columns(pl.lit(value, dtype=run.schema[name]).alias(name)), run.tail(2)])
    run.write_parquet(tmp_path / "run.parquet")
    right = _message(run)
    assert "in 7 rows" in right
    for source in (tmp_path / "run.parquet", run.lazy()):
        found = _message(source, memory_limit=100 * ROW)
        assert found.partition(": ")[2] == right.partition(": ")[2]
    assert _message(tmp_path / "run.parquet", memory_limit=100 * ROW).startswith(f"{tmp_path / 'run.parquet'}: 7 ")


def test_repeated_pairs_are_the_same_error_and_all_counted() -> None:
    run = pl.concat([RUN, RUN.gather([5, 700, 1100])]).sort("query_id", maintain_order=True)
    right = _message(run)
    assert "run: 3 (query, document) pairs more than once: (q000, doc" in right
    assert _message(run.lazy(), memory_limit=40 * ROW) == right
    shuffled = _message(run.sample(fraction=1, shuffle=True, seed=2).lazy(), memory_limit=40 * ROW)
    assert "run: 3 (query, document) pairs more than once: (q0" in shuffled


def test_runs_of_one_scan_are_told_their_own_losses() -> None:
    run = pl.concat([RUN.with_columns(run_id=pl.lit(name)) for name in ("b", "a")])
    run = run.with_columns(
        pl.when(pl.int_range(pl.len()).is_in([3, 2000])).then(None).otherwise("score").alias("score")
    )
    assert _message(run.lazy(), memory_limit=99 * ROW) == _message(run)
    right = rf.evaluate(run, QRELS, metrics="mrr", invalid="drop")
    assert right.ledger.filter(reason="invalid_dropped").select("run_id", "count").rows() == [("a", 1), ("b", 1)]
    _equal(rf.evaluate(run.lazy(), QRELS, metrics="mrr", invalid="drop", memory_limit=99 * ROW), right)
    nameless = run.with_columns(pl.when(pl.int_range(pl.len()) != 9).then("run_id"))
    assert _message(nameless.lazy()) == _message(nameless)


def test_a_run_of_other_queries_is_the_same_error() -> None:
    run = RUN.with_columns(query_id="x" + pl.col("query_id"))
    assert "no query in common; run: 'xq000', 'xq001', 'xq002'" in _message(run)
    assert _message(run.lazy(), memory_limit=99 * ROW) == _message(run)


def test_two_runs_of_one_name_are_an_error(tmp_path: Path) -> None:
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        RUN.write_parquet(tmp_path / folder / "run.parquet")
    with pytest.raises(rf.DataError, match="two runs are called 'run'"):
        rf.evaluate([tmp_path / "a/run.parquet", tmp_path / "b/run.parquet"], QRELS)


@pytest.mark.parametrize("limit", ["", "much", "-1", 0, -5, True, 1.5, None, "1 PB", "MB", "1e9"])
def test_a_memory_limit_that_is_none_is_refused(limit: Any) -> None:
    with pytest.raises(rf.DataError, match=r'memory_limit=.* is no amount of memory; .*"512MB", "4 GiB"'):
        rf.evaluate(RUN, QRELS, memory_limit=limit)


def test_a_memory_limit_is_a_number_of_rows() -> None:
    assert [rows_within(limit) * ROW for limit in ("1k", "4 GiB", "1.5MB", " 2 mb ", 1)] == [
        512,
        2**32,
        1_499_648,
        1_999_872,
        512,
    ]


def test_runs_of_several_files_are_told_apart_by_all_of_them(tmp_path: Path) -> None:
    folder = _pieces(RUN, tmp_path / "run", 3)
    files = sorted(folder.iterdir())
    content = b"".join(file.read_bytes() for file in files)
    right = {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    for source, path in ((folder, str(folder)), (files, ", ".join(map(str, files)))):
        told = rf.evaluate({"run": source}, QRELS, metrics="mrr", fingerprint="sha256").options["runs"][0]
        assert {key: told[key] for key in ("path", *right)} == {"path": path, **right}
    assert "sha256" not in rf.evaluate(folder, QRELS, metrics="mrr").options["runs"][0]
    assert "path" not in rf.evaluate(rf.scan_run(folder), QRELS, metrics="mrr").options["runs"][0]


_PEAK = """
import sys, rankframe as rf
rf.evaluate(sys.argv[1], sys.argv[2], metrics="mrr", memory_limit=sys.argv[3])
print(next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads a peak of memory in /proc")
@pytest.mark.parametrize("shuffled", [False, True], ids=["grouped", "shuffled"])
def test_a_small_limit_takes_less_memory(shuffled: bool, tmp_path: Path) -> None:  # noqa: FBT001
    """A million and a half rows with long ids: where all of them were held, both limits would take the same."""
    row = pl.int_range(1_500_000, eager=True)
    run = pl.select(
        pl.format("a-query-with-a-long-name-{}", row // 1000).alias("query_id"),
        pl.format("https://example.org/documents/of/some/length/{}", row).alias("doc_id"),
        (-row).cast(pl.Float64).alias("score"),
    )
    run = run.sample(fraction=1, shuffle=True, seed=1) if shuffled else run
    run.write_parquet(tmp_path / "run.parquet", row_group_size=50_000)
    run.head(100).select("query_id", "doc_id", relevance=1.0).write_parquet(tmp_path / "qrels.parquet")
    peak = {}
    for limit in ("16MB", "4GB"):
        files = [str(tmp_path / f"{name}.parquet") for name in ("run", "qrels")]
        peak[limit] = int(subprocess.check_output([sys.executable, "-c", _PEAK, *files, limit]))
    assert peak["16MB"] < 0.8 * peak["4GB"]


# How rows become batches.


def test_batches_in_order_hold_whole_queries() -> None:
    parts = [RUN.slice(at, 13) for at in range(0, RUN.height, 13)]
    batches = list(in_order(parts, ["query_id"], 100))
    assert_frame_equal(pl.concat(batches), RUN)
    queries = [query for batch in batches for query in batch["query_id"].unique()]
    assert sorted(queries) == RUN["query_id"].unique().sort().to_list()
    assert max(batch.height for batch in batches) < 150


def test_a_query_that_comes_again_is_noticed() -> None:
    again = pl.concat([RUN, RUN.head(1)])
    with pytest.raises(NotGroupedError):
        list(in_order([again.slice(at, 50) for at in range(0, again.height, 50)], ["query_id"], 100))


def test_one_query_larger_than_a_batch_stays_whole() -> None:
    parts = [RUN.head(300).with_columns(query_id=pl.lit("q1")).slice(at, 10) for at in range(0, 300, 10)]
    assert [batch.height for batch in in_order(parts, ["query_id"], 20)] == [300]
    assert [batch.height for batch in by_bucket(parts, ["query_id"], 20)] == [300]


def test_buckets_too_large_are_sorted_out_again() -> None:
    """More queries than buckets hold at this size: no batch has more than twice the rows asked for."""
    run = _run(900, 10)
    batches = list(by_bucket([run.sample(fraction=1, shuffle=True, seed=1)], ["query_id"], 30))
    assert max(batch.height for batch in batches) <= 60
    assert_frame_equal(pl.concat(batches), run, check_row_order=False)
    queries = [query for batch in batches for query in batch["query_id"].unique()]
    assert sorted(queries) == run["query_id"].unique().sort().to_list()


def test_small_blocks_of_judged_rankings_are_one_large_one() -> None:
    judgments = judge(Loaded(rf.read_qrels(QRELS), "qrels"))
    rankings = [rank_run(name, Loaded(run, "run"), judgments) for name, run in (("a", RUN), ("b", _run(seed=4)))]
    (one,) = judged_blocks(judgments, rankings, texts=True)
    whole = one.judged.collect()
    assert whole.height == 2 * len(QRELS)
    for rows in (1, 10, len(QRELS), len(QRELS) + 1, 10 * len(QRELS)):
        blocks = list(judged_blocks(judgments, rankings, texts=True, rows=rows))
        assert_frame_equal(pl.concat([block.judged.collect() for block in blocks]), whole)
        assert [group for block in blocks for group in block.groups] == whole["group"].unique().sort().to_list()


# What is written, and what is left.


def test_scores_are_written_while_they_are_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rankframe.ranking.judged._ROWS", 20)
    place = tmp_path / "scores.parquet"
    right = rf.evaluate({"b": RUN, "a": _run(seed=7)}, QRELS, metrics=METRICS)
    report = rf.evaluate({"b": RUN.lazy(), "a": _run(seed=7)}, QRELS, metrics=METRICS, per_query=place)
    _equal(report, right)
    assert pq.ParquetFile(place).num_row_groups > 5
    _equal(rf.read_report(place), right)
    assert_frame_equal(pl.read_parquet(place), right.scores, check_exact=False, abs_tol=1e-12)
    assert [place] == list(tmp_path.iterdir())


def test_nothing_is_written_where_anything_fails(tmp_path: Path) -> None:
    place = tmp_path / "scores.parquet"
    rf.evaluate(RUN, QRELS, metrics="map", per_query=place)
    before = place.read_bytes()
    odd = rf.Metric("odd", (pl.col("relevance").sum() * 9).cast(pl.Float64), range=(0, 1))
    with pytest.raises(rf.MetricError, match="outside of its range"):
        rf.evaluate(RUN.lazy(), QRELS, metrics=["mrr", odd], per_query=place)
    assert "more than once" in _message(pl.concat([RUN, RUN]).lazy(), per_query=place)
    assert place.read_bytes() == before
    assert [place] == list(tmp_path.iterdir())
    with pytest.raises(FileNotFoundError, match=r"no folder .*absent for .*scores.parquet; make it first"):
        rf.evaluate(RUN.lazy(), QRELS, per_query=tmp_path / "absent" / "scores.parquet")
    with pytest.raises(rf.DataError, match="it is a folder; name a file"):
        rf.evaluate(RUN.lazy(), QRELS, per_query=tmp_path)


def test_an_input_is_not_written_over(tmp_path: Path) -> None:
    run, qrels = _pieces(RUN, tmp_path / "run", 3), tmp_path / "qrels.parquet"
    QRELS.write_parquet(qrels)
    RUN.write_parquet(tmp_path / "alone.parquet")
    before = {path: path.read_bytes() for path in tmp_path.rglob("*.parquet")}
    (tmp_path / "link.parquet").symlink_to(qrels)
    for runs, place in [
        (run, run / "part-01.parquet"),
        (run, run / "scores.parquet"),
        ({"a": run}, qrels),
        (tmp_path / "alone.parquet", tmp_path / "alone.parquet"),
        ({"a": [tmp_path / "alone.parquet"]}, tmp_path / "alone.parquet"),
        (RUN, tmp_path / "link.parquet"),
    ]:
        with pytest.raises(rf.DataError, match="would write over an input, or among the files of a run"):
            rf.evaluate(runs, qrels, metrics="mrr", per_query=place)
    assert {path: path.read_bytes() for path in before} == before


@pytest.mark.parametrize("name", ["scores.csv", "scores.jsonl.gz", "scores.TSV"])
def test_a_report_is_written_as_parquet_alone(name: str, tmp_path: Path) -> None:
    with pytest.raises(rf.DataError, match=r"the report is a Parquet file; name it scores.*\.parquet"):
        rf.evaluate(RUN, QRELS, per_query=tmp_path / name)
    assert not list(tmp_path.iterdir())


def test_a_pattern_is_told_to_be_none(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"part-\*\.parquet; patterns are not read: give the folder"):
        rf.evaluate(tmp_path / "part-*.parquet", QRELS)


@pytest.mark.parametrize("lazily", [rf.scan_run, pl.scan_parquet, str])
def test_a_report_is_not_written_over_its_input(lazily: Any, tmp_path: Path) -> None:
    """Also where only Polars knows the file."""
    run = tmp_path / "run.parquet"
    RUN.write_parquet(run)
    before = run.read_bytes()
    with pytest.raises(rf.DataError, match=r"per_query=.*run\.parquet:? would write over"):
        rf.evaluate(lazily(str(run)), QRELS, metrics="mrr", per_query=run)
    QRELS.write_parquet(qrels := tmp_path / "qrels.parquet")
    with pytest.raises(rf.DataError, match=r"qrels\.parquet: would write over a file that is no report; name another"):
        rf.evaluate(RUN, pl.scan_parquet(qrels), metrics="mrr", per_query=qrels)
    assert run.read_bytes() == before


def test_a_report_and_an_empty_file_are_written_over(tmp_path: Path) -> None:
    place = tmp_path / "scores.parquet"
    place.touch()
    for metric in ("mrr", "map"):
        rf.evaluate(RUN, QRELS, metrics=metric, per_query=place)
        assert [m.name for m in rf.read_report(place).metrics] == [metric]


@pytest.mark.parametrize("parts", [0, 1, 3])
def test_a_function_that_raises_stop_iteration_does_not_end_the_rows(parts: int, tmp_path: Path) -> None:
    RUN.write_parquet(tmp_path / "run.parquet", row_group_size=100)
    some = iter(range(parts))

    def drawn(scores: pl.Series) -> pl.Series:
        next(some)
        return scores

    lazy = pl.scan_parquet(tmp_path / "run.parquet").with_columns(
        pl.col("score").map_batches(drawn, return_dtype=pl.Float64, is_elementwise=True)
    )
    with pytest.raises(rf.DataError, match="run: a function in the LazyFrame raised StopIteration"):
        rf.evaluate(lazy, QRELS, metrics="mrr", memory_limit=60 * ROW)


def test_a_run_without_rows_may_have_a_column_of_runs(tmp_path: Path) -> None:
    empty = RUN.clear().with_columns(run_id=pl.lit("a"))
    empty.write_parquet(tmp_path / "empty.parquet")
    for run in (empty, empty.lazy(), tmp_path / "empty.parquet"):
        with pytest.warns(rf.RankframeWarning, match="is empty"):
            assert rf.evaluate({"x": run}, QRELS, metrics="mrr").runs == ["x"]


@pytest.mark.parametrize("name", ["run[1].parquet", "runs*[a]/part-0.parquet", "run_id=bm25[k=1]/part-0.parquet"])
def test_a_path_is_no_pattern(name: str, tmp_path: Path) -> None:
    place = tmp_path / name
    place.parent.mkdir(exist_ok=True)
    RUN.write_parquet(place)
    right = rf.evaluate(RUN, QRELS, metrics="mrr").scores.drop("run_id")
    for path in (place, place.parent):
        assert_frame_equal(rf.evaluate(path, QRELS, metrics="mrr").scores.drop("run_id"), right)


@pytest.mark.parametrize(
    ("log", "told"),
    [("_delta_log", r"a Delta table.*pl\.scan_delta"), ("_spark_metadata", "a stream of Spark"), (".hoodie", "a Hudi")],
)
def test_a_table_whose_log_says_which_files_count_is_refused(log: str, told: str, tmp_path: Path) -> None:
    (tmp_path / log).mkdir()
    RUN.write_parquet(tmp_path / "part-0.parquet")
    with pytest.raises(rf.DataError, match=f"{told}"):
        rf.evaluate(tmp_path, QRELS)


def test_judgments_and_queries_that_an_engine_wrote_are_read_from_its_folder(tmp_path: Path) -> None:
    folder = tmp_path / "qrels"
    folder.mkdir()
    for number, part in enumerate((QRELS.head(3), QRELS.slice(3))):
        part.write_parquet(folder / f"part-{number:05}-c000.snappy.parquet")
    (folder / "_SUCCESS").touch()
    assert_frame_equal(rf.read_qrels(folder), QRELS, check_row_order=False, check_column_order=False)
    assert_frame_equal(rf.evaluate(RUN, folder).scores, rf.evaluate(RUN, QRELS).scores)
    asked = tmp_path / "asked"
    asked.mkdir()
    QRELS.select("query_id", text="query_id").unique().head(2).write_parquet(asked / "part-0.parquet")
    assert rf.evaluate(RUN, QRELS, queries=asked).scores["status"].is_in(["not_asked"]).any()


@pytest.mark.parametrize(
    "rank", [pl.Int128, pl.UInt128, pl.Decimal(20, 2), pl.String, pl.Date, pl.Boolean, pl.List(pl.Int64)], ids=str
)
def test_ranks_of_any_type_are_looked_at_alike(rank: Any, tmp_path: Path) -> None:
    """Beside scores they are held against them where they are numbers, and not looked at where they are none."""
    places = pl.int_range(1, pl.len() + 1).over("query_id")
    typed = places.cast(rank) if rank != pl.List(pl.Int64) else pl.concat_list(places)
    run = SHUFFLED.with_columns(rank=pl.lit(None, pl.Date) if rank == pl.Date else typed)
    right = rf.evaluate(run, QRELS, metrics="mrr")
    assert_frame_equal(rf.evaluate(run.lazy(), QRELS, metrics="mrr", memory_limit=99 * ROW).ledger, right.ledger)
    run.head(500).write_parquet(tmp_path / "a.parquet")
    run.slice(500).with_columns(rank=places).write_parquet(tmp_path / "b.parquet")
    two = rf.evaluate({"run": [tmp_path / "a.parquet", tmp_path / "b.parquet"]}, QRELS, metrics="mrr")
    assert_frame_equal(two.scores, right.scores)


def test_text_that_would_be_rounded_is_refused_where_it_is_scanned() -> None:
    text = pl.DataFrame({"query_id": "q", "doc_id": ["a", "b"], "score": ["9007199254740993", "9007199254740992"]})
    for run in (text, text.lazy(), rf.scan_run(text.lazy())):
        with pytest.raises(rf.DataError, match="holds 9007199254740993, which Float64 would round"):
            rf.evaluate(run, {"q": {"a": 1}}, metrics="mrr")


def test_a_file_that_is_written_keeps_its_place_and_mode(tmp_path: Path) -> None:
    place, link = tmp_path / "scores.parquet", tmp_path / "link.parquet"
    place.touch()
    place.chmod(0o640)
    link.symlink_to(place)
    rf.evaluate(RUN, QRELS, metrics="mrr", per_query=link)
    assert link.is_symlink()
    assert rf.read_report(place).runs == ["run"]
    assert place.stat().st_mode & 0o777 == 0o640
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe")
        with pytest.raises(rf.DataError, match="it is a pipe or device"):
            rf.evaluate(RUN, QRELS, metrics="mrr", per_query=tmp_path / "pipe")


# Files of every layout.


def test_folders_of_partitions_give_their_columns(tmp_path: Path) -> None:
    for name, run in (("bm25", RUN), ("a b", _run(seed=8))):
        for query, rows in run.partition_by("query_id", as_dict=True, include_key=False).items():
            folder = tmp_path / "run" / f"run_id={name.replace(' ', '%20')}" / f"query_id={query[0]}"
            folder.mkdir(parents=True)
            rows.write_parquet(folder / "part-0.parquet")
    for hidden in ("_temporary", ".old"):
        (tmp_path / "run" / hidden).mkdir()
        RUN.write_parquet(tmp_path / "run" / hidden / "part.parquet")
    RUN.write_parquet(tmp_path / "run" / ".part.parquet")
    (tmp_path / "run" / "_SUCCESS").touch()
    right = rf.evaluate({"bm25": RUN, "a b": _run(seed=8)}, QRELS, metrics=METRICS)
    _equal(rf.evaluate(tmp_path / "run", QRELS, metrics=METRICS, memory_limit=200 * ROW), right)


def test_files_that_differ_in_their_columns_are_one_run(tmp_path: Path) -> None:
    """Each is read by its own types: 7 and "7" are one id, 2**53 + 1 is refused also beside floats."""
    run = RUN.with_columns(pl.col("query_id").str.slice(1).str.strip_chars_start("0"), pl.col("score") * 8)
    first, second = run.filter(pl.col("query_id") == "1"), run.filter(pl.col("query_id") != "1")
    qrels = QRELS.with_columns(pl.col("query_id").str.slice(1).str.strip_chars_start("0"))
    folder = tmp_path / "run"
    folder.mkdir()
    first.select("doc_id", pl.col("query_id").cast(pl.Int64), pl.col("score").cast(pl.Int64)).write_parquet(
        folder / "a.parquet"
    )
    second.with_columns(pl.col("score").cast(pl.Float32), pl.col("query_id").cast(pl.Categorical)).rename(
        {"doc_id": "docno"}
    ).write_parquet(folder / "b.pq")
    right = rf.evaluate({"run": pl.concat([first, second])}, qrels, metrics=METRICS)
    for source in (folder, sorted(folder.iterdir())):
        _equal(rf.evaluate({"run": source}, qrels, metrics=METRICS, memory_limit=99 * ROW), right)
    first.with_columns(score=pl.lit(2**53 + 1)).write_parquet(folder / "a.parquet")
    assert "which Float64 would round" in _message(folder)
    first.drop("score").write_parquet(folder / "a.parquet")
    assert "no column 'score'" in _message(folder)
    (folder / "a.parquet").write_bytes(b"PAR1 and no more")
    assert f"{folder / 'a.parquet'}: cannot be read as Parquet" in _message(folder)


def test_rows_that_come_only_once_are_never_scored_as_missing() -> None:
    """A plan whose source is gone after one run: read in one go, or refused."""
    left = [True]

    def once(frame: pl.DataFrame) -> pl.DataFrame:
        return frame if left and left[0] else frame.clear()

    def gone(frame: pl.DataFrame) -> pl.DataFrame:
        found = once(frame)
        left.append(True)
        if len(left) > 1:
            left[0] = False
        return found

    plan = RUN.with_columns(run_id=pl.lit("a")).lazy().map_batches(gone)
    report = rf.evaluate(plan, QRELS, metrics="mrr", progress=False)
    assert report.value("mrr") == rf.evaluate(RUN, QRELS, metrics="mrr").value("mrr")
    left[:] = [True]
    assert "were left when the LazyFrame was run again" in _message(
        SHUFFLED.lazy().map_batches(gone), memory_limit=99 * ROW
    )


def test_ranks_beyond_32_bits_stay_with_their_queries() -> None:
    judged = pl.DataFrame({"query_id": ["q1", "q2"], "doc_id": ["a", "b"], "relevance": [1, 1], "rank": [10**10, 1]})
    report = rf.evaluate_ranking(judged, metrics="mrr")
    assert report.scores["mrr"].to_list() == [1e-10, 1.0]


def test_no_temporary_file_can_be_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", "/nowhere/at/all")
    assert "sorting them out into temporary files failed" in _message(SHUFFLED.lazy(), memory_limit=99 * ROW)
    assert rf.evaluate(RUN.lazy(), QRELS, metrics="mrr", memory_limit=99 * ROW).runs == ["run"]


def _spills(process: int, folder: Path) -> bool:
    """Whether a process has a temporary file in the folder that something was written to."""
    for number in Path(f"/proc/{process}/fd").iterdir():
        with contextlib.suppress(OSError):
            if str(number.readlink()).startswith(str(folder)) and number.stat().st_size:
                return True
    return False


_INTERRUPTED = """
import os, sys, polars as pl, rankframe as rf, rankframe.batches.grouping as grouping
grouping._LEAST = 1
run = pl.scan_parquet(sys.argv[1])
def slow(frame):
    import time
    time.sleep(0.05)
    os.write(1, b"read\\n")
    return frame
run = run.map_batches(slow, streamable=True)
runs = run if sys.argv[4] == "1" else {"a": run, "b": run, "c": run}
rf.evaluate(runs, sys.argv[2], metrics="mrr", memory_limit=60 * 512, per_query=sys.argv[3])
"""


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
@pytest.mark.parametrize(
    ("kill", "runs"), [(signal.SIGINT, 1), (signal.SIGINT, 3), (signal.SIGTERM, 1), (signal.SIGKILL, 1)]
)
def test_an_interrupted_evaluation_leaves_nothing(kill: signal.Signals, runs: int, tmp_path: Path) -> None:
    spill, out = tmp_path / "spill", tmp_path / "out"
    spill.mkdir()
    out.mkdir()
    SHUFFLED.write_parquet(tmp_path / "run.parquet", row_group_size=50)
    QRELS.write_parquet(tmp_path / "qrels.parquet")
    process = subprocess.Popen(
        [
            *(sys.executable, "-c", _INTERRUPTED),
            *(str(tmp_path / "run.parquet"), str(tmp_path / "qrels.parquet"), str(out / "scores.parquet")),
            str(runs),
        ],
        env={**os.environ, "TMPDIR": str(spill)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "read\n"
    started = time.monotonic()
    while sys.platform == "linux" and not _spills(process.pid, spill):
        assert process.poll() is None
        assert time.monotonic() - started < 60
        time.sleep(0.005)
    process.send_signal(kill)
    started = time.monotonic()
    process.communicate(timeout=60)
    assert process.returncode != 0
    assert time.monotonic() - started < 30
    assert not list(spill.iterdir())
    assert not list(out.iterdir())


def test_an_interrupt_in_one_run_ends_the_others(tmp_path: Path) -> None:
    RUN.write_parquet(tmp_path / "run.parquet", row_group_size=50)
    begun = threading.Event()
    read = 0

    def slow(scores: pl.Series) -> pl.Series:
        nonlocal read
        read += 1
        begun.set()
        time.sleep(0.1)
        return scores

    def interrupted(_: pl.Series) -> pl.Series:
        assert begun.wait(60)
        raise KeyboardInterrupt

    lazy = pl.scan_parquet(tmp_path / "run.parquet")
    runs = {
        name: lazy.with_columns(pl.col("score").map_batches(way, return_dtype=pl.Float64, is_elementwise=True))
        for name, way in (("slow", slow), ("stopped", interrupted), ("waits", slow))
    }
    with pytest.raises(KeyboardInterrupt):
        rf.evaluate(runs, QRELS, metrics="mrr", memory_limit=60 * ROW)
    assert 0 < read < RUN.height / 50


def test_progress_is_shown_where_it_is_asked_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    RUN.write_parquet(tmp_path / "run.parquet")
    rf.evaluate(tmp_path / "run.parquet", QRELS, metrics="mrr")
    assert capsys.readouterr() == ("", "")
    rf.evaluate(tmp_path / "run.parquet", QRELS, metrics="mrr", progress=True)
    out, err = capsys.readouterr()
    assert not out
    assert "1.20k/1.20k" in err
