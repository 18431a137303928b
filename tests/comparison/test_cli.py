"""The command `compare`: what it prints, writes and refuses."""

from __future__ import annotations

import io
import json
import re
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

import rankframe as rf
from rankframe import cli

pytest.importorskip("scipy", reason="the extra stats is not installed")

HANDBOOK = Path(__file__).parents[2] / "data" / "handbook"
RUNS = [str(HANDBOOK / "runs" / f"{name}.trec") for name in ("bm25", "dense", "rrf")]
README = Path(__file__).parents[2] / "README.md"


def printed(*arguments: str) -> str:
    result = CliRunner().invoke(cli.app, ["compare", *arguments], catch_exceptions=False)
    assert (result.exit_code, result.stderr) == (0, "")
    return result.stdout


def refused(*arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-m", "rankframe", "compare", *arguments],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    return line


def test_it_prints_values_differences_and_slices() -> None:
    text = printed(
        *RUNS, "--qrels", str(HANDBOOK), "--baseline", "bm25", "--by", f"{HANDBOOK}:topic", "--metrics", "map"
    )
    values, differences, slices, counts = text.strip().split("\n\n")
    assert values.splitlines()[0].split() == ["metric", "bm25", "dense", "rrf"]
    assert [line.split()[:3] for line in differences.splitlines()[1:]] == [
        ["map", "rrf", "bm25"],
        ["map", "dense", "bm25"],
    ]
    topics = rf.read_queries(HANDBOOK)["topic"].unique().sort().to_list()
    assert [line.split()[0] for line in slices.splitlines()[1:]] == topics
    assert counts.startswith("over 86 queries")


def test_json_is_the_frame_of_compare() -> None:
    text = printed(*RUNS, "--qrels", str(HANDBOOK), "--metrics", "map,ndcg@10", "--test", "t", "--format", "json")
    report = rf.evaluate(RUNS, HANDBOOK, metrics=["map", "ndcg@10", "judged@10"])
    found = rf.compare(report, metrics=["map", "ndcg@10"], test="t")
    assert json.loads(text) == found.to_dicts()


def test_csv_and_markdown_have_every_column() -> None:
    text = printed(*RUNS, "--qrels", str(HANDBOOK), "--metrics", "map", "--format", "csv", "--correction", "none")
    read = pl.read_csv(io.StringIO(text))
    assert read.columns == rf.compare(rf.evaluate(RUNS, HANDBOOK, metrics="map")).columns
    assert read["p"].to_list() == read["p_corrected"].to_list()
    assert printed(*RUNS, "--qrels", str(HANDBOOK), "--format", "markdown").startswith("| metric | run_id |")


def test_the_share_of_judged_documents_stands_beside_the_scores() -> None:
    text = printed(*RUNS, "--qrels", str(HANDBOOK), "--metrics", "ndcg@5,mrr@20")
    assert re.findall(r"^(judged@\d+)", text, re.MULTILINE) == ["judged@5", "judged@20"]
    compared = re.findall(r"^(\S+) +(?:bm25|dense|rrf) +(?:bm25|dense|rrf) +[+-]\d", text, re.MULTILINE)
    assert compared == ["ndcg@5"] * 3 + ["mrr@20"] * 3


def test_a_saved_report_is_compared_without_running_anything(tmp_path: Path) -> None:
    saved = tmp_path / "scores.parquet"
    rf.evaluate(RUNS, HANDBOOK, metrics="map").join(rf.read_queries(HANDBOOK)).write_parquet(saved)
    from_runs = printed(*RUNS, "--qrels", str(HANDBOOK), "--metrics", "map", "--format", "json")
    assert json.loads(printed(str(saved), "--format", "json")) == json.loads(from_runs)
    assert "map by topic" in printed(str(saved), "--by", "topic")


def test_several_saved_reports_are_compared(tmp_path: Path) -> None:
    saved = [str(tmp_path / f"{Path(run).stem}.parquet") for run in RUNS]
    for run, path in zip(RUNS, saved, strict=True):
        rf.evaluate(run, HANDBOOK, metrics="map").write_parquet(path)
    from_runs = printed(*RUNS, "--qrels", str(HANDBOOK), "--metrics", "map", "--format", "json")
    assert json.loads(printed(*saved, "--format", "json")) == json.loads(from_runs)


def test_level_and_seed_reach_intervals_and_tests() -> None:
    wide = json.loads(
        printed(*RUNS, "--qrels", str(HANDBOOK), "--metrics", "map", "--format", "json", "--level", "0.99")
    )
    usual = json.loads(printed(*RUNS, "--qrels", str(HANDBOOK), "--metrics", "map", "--format", "json"))
    assert all(w["ci_low"] < u["ci_low"] < u["ci_high"] < w["ci_high"] for w, u in zip(wide, usual, strict=True))
    other = json.loads(printed(*RUNS, "--qrels", str(HANDBOOK), "--metrics", "map", "--format", "json", "--seed", "5"))
    assert [row["p"] for row in other] != [row["p"] for row in usual]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([RUNS[0], "--qrels", str(HANDBOOK)], "there are no two runs to compare, only 'bm25'"),
        ([*RUNS], "--qrels says where the judgments are"),
        (
            [*RUNS, "--qrels", str(HANDBOOK), "--baseline", "bm52"],
            "no run 'bm52' to be the baseline: did you mean 'bm25'",
        ),
        (
            [*RUNS, "--qrels", str(HANDBOOK), "--by", "topic"],
            "--by topic: no such column in the report; FILE:COLUMN takes it",
        ),
        ([*RUNS, "--qrels", str(HANDBOOK), "--by", f"{HANDBOOK}:topics"], "no column 'topics'; there are 'query_id', "),
        ([*RUNS, "--qrels", str(HANDBOOK), "--by", "queries.parquet:"], "expected FILE:COLUMN"),
        ([*RUNS, "--qrels", str(HANDBOOK), "--by", "absent.parquet:topic"], "absent.parquet"),
        ([*RUNS, "--qrels", str(HANDBOOK), "--level", "95"], "level is a share between 0 and 1"),
        ([*RUNS, "--qrels", str(HANDBOOK), "--html", RUNS[0]], "would write over an input"),
    ],
    ids=range(9),
)
def test_bad_input_is_one_line(arguments: list[str], said: str) -> None:
    assert said in refused(*arguments)


def test_the_readme_shows_what_it_prints() -> None:
    told = README.read_text(encoding="utf-8")
    (command,) = re.findall(r"^\$ rankframe compare (.*)$", told, re.MULTILINE)
    shown = told.split(f"$ rankframe compare {command}\n", 1)[1].split("\n```", 1)[0]
    runs = sorted(str(path.relative_to(README.parent)) for path in (HANDBOOK / "runs").glob("*.trec"))
    arguments = command.replace("data/handbook/runs/*.trec", " ".join(runs)).split()
    program = [sys.executable, "-m", "rankframe", "compare", *arguments]
    done = subprocess.run(program, capture_output=True, text=True, cwd=README.parent, check=True)
    assert done.stderr == ""
    assert done.stdout.rstrip("\n") == shown
