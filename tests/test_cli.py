"""The command line: what it prints, writes and refuses, in this process and as a program."""

from __future__ import annotations

import csv
import io
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

import rankframe as rf
from rankframe import cli
from rankframe.metrics import REGISTRY, metric_table
from tests.cases.helpers import write

QRELS = {"q1": {"a": 1, "b": 0}, "q2": {"b": 2}, "q3": {"c": 1}}
RUN = {"q1": {"a": 1.0, "b": 2.0}, "q2": {"b": 1.0}}
SUMMARY = [
    *("run_id", "metric", "aggregate", "value", "std", "median", "ci_low", "ci_high"),
    *("n", "n_missing", "n_null", "n_failed", "ci_reason"),
]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with runs, judgments and a BEIR set, in which the program runs."""
    monkeypatch.chdir(tmp_path)
    rf.write_run(RUN, "bm25.trec")
    rf.write_run(RUN, "dense.parquet")
    rf.write_qrels(QRELS, "qrels.txt")
    rf.write_beir("set", {"a": "x", "b": "y"}, {"q1": "x", "q2": "y"}, QRELS)
    rf.write_queries({"q1": "x"}, "one.jsonl")
    return tmp_path


def _printed(*arguments: str) -> str:
    """What a command prints that does what it should."""
    result = CliRunner().invoke(cli.app, list(arguments), catch_exceptions=False)
    assert (result.exit_code, result.stderr) == (0, "")
    return result.stdout


def _program(*arguments: str) -> subprocess.CompletedProcess[str]:
    """A real run of the program, with warnings as errors."""
    command = [sys.executable, "-W", "error", "-m", "rankframe", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


# evaluate.


@pytest.mark.usefixtures("here")
def test_evaluate_prints_a_table_and_what_was_left_out() -> None:
    assert _printed(
        "evaluate", "bm25.trec", "dense.parquet", "--qrels", "qrels.txt", "--metrics", "ndcg@1,map,num_rel_ret"
    ) == (
        "metric         bm25   dense\n"
        "ndcg@1       0.3333  0.3333\n"
        "map          0.5000  0.5000\n"
        "num_rel_ret       2       2\n"
        "\n"
        "over 3 queries\n"
        "bm25: missing_query 1 (q3)\n"
        "dense: missing_query 1 (q3)\n"
    )


@pytest.mark.usefixtures("here")
def test_evaluate_prints_the_summary_as_json_csv_and_markdown() -> None:
    summary = rf.evaluate(["bm25.trec"], "qrels.txt", metrics=["map", "mrr"]).summary
    asked = ("evaluate", "bm25.trec", "--qrels", "qrels.txt", "--metrics", "map,mrr", "--format")
    assert list(summary.iter_rows(named=True)) == json.loads(_printed(*asked, "json"))
    rows = list(csv.reader(io.StringIO(_printed(*asked, "csv"))))
    assert rows[0] == SUMMARY
    told = [["" if cell is None else str(cell) for cell in row] for row in summary.rows()]
    assert told == rows[1:]
    lines = _printed(*asked, "markdown").splitlines()
    assert f"| {' | '.join(SUMMARY)} |" == lines[0]
    assert f"| {' | '.join(['---'] * 13)} |" == lines[1]
    assert [f"| {' | '.join(row)} |" for row in told] == lines[2:]


@pytest.mark.usefixtures("here")
def test_a_value_of_nobody_is_null_in_json_and_empty_in_csv() -> None:
    rf.write_qrels({"q1": {"a": 0}}, "none.txt")
    asked = ("evaluate", "bm25.trec", "--qrels", "none.txt", "--metrics", "map", "--format")
    assert [row["value"] for row in json.loads(_printed(*asked, "json"))] == [None]
    assert _printed(*asked, "csv").splitlines()[1] == "bm25,map,mean,,,,,,0,0,1,0,no value"


@pytest.mark.usefixtures("here")
def test_names_are_split_at_commas_outside_of_parentheses() -> None:
    names = "ndcg(gain=exponential,judged_only=true)@10, rbp(p=0.5,rel=2),P@5"
    told = json.loads(_printed("evaluate", "bm25.trec", "--qrels", "qrels.txt", "--metrics", names, "--format", "json"))
    right = ["ndcg(gain=exponential,judged_only=true)@10", "rbp(p=0.5,rel=2)", "precision@5"]
    assert right == [row["metric"] for row in told]


@pytest.mark.usefixtures("here")
def test_without_names_there_are_the_documented_metrics() -> None:
    told = json.loads(_printed("evaluate", "bm25.trec", "--qrels", "qrels.txt", "--format", "json"))
    assert [row["metric"] for row in told] == ["ndcg@10", "recall@100", "mrr@10", "map", "precision@10", "judged@10"]


@pytest.mark.usefixtures("here")
def test_per_query_writes_a_report() -> None:
    asked = ["evaluate", "bm25.trec", "dense.parquet", "--qrels", "qrels.txt", "--metrics", "err@5,map"]
    _printed(*asked, "--per-query", "report.parquet")
    report = rf.evaluate(["bm25.trec", "dense.parquet"], "qrels.txt", metrics=["err@5", "map"])
    read = rf.read_report("report.parquet")
    assert read.scores.equals(report.scores)
    assert read.ledger.equals(report.ledger)
    assert report.metrics == read.metrics
    assert pl.read_parquet("report.parquet").equals(report.scores)


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(("convention", "right"), [("documented", 0.5), ("trec_eval", 0.75), ("beir", 0.75)])
def test_a_convention_says_who_counts(convention: str, right: float) -> None:
    asked = ["evaluate", "bm25.trec", "--qrels", "qrels.txt", "--metrics", "map", "--format", "json"]
    (row,) = json.loads(_printed(*asked, "--convention", convention))
    assert right == row["value"]


@pytest.mark.usefixtures("here")
def test_a_convention_speaks_its_dialect() -> None:
    asked = ["evaluate", "bm25.trec", "--qrels", "qrels.txt", "--metrics", "ERR@5", "--format", "json"]
    (row,) = json.loads(_printed(*asked, "--convention", "ir_measures"))
    assert row["metric"] == "err(max_grade=4)@5"


@pytest.mark.usefixtures("here")
def test_queries_narrow_the_population_and_a_corpus_is_looked_at() -> None:
    asked = ["evaluate", "bm25.trec", "--qrels", "qrels.txt", "--metrics", "map"]
    told = _printed(*asked, "--queries", "one.jsonl", "--corpus", "set/corpus.jsonl")
    assert "over 1 query\n" in told
    assert "not_asked 2 (q2, q3)\n" in told
    assert "not_in_corpus 1 (c)\n" in told


@pytest.mark.usefixtures("here")
def test_a_folder_has_its_own_judgments() -> None:
    asked = ["--metrics", "map", "--format", "json"]
    assert _printed("evaluate", "bm25.trec", "--qrels", "set", *asked) == _printed(
        "evaluate", "bm25.trec", "--qrels", "qrels.txt", *asked
    )


@pytest.mark.usefixtures("here")
def test_duplicates_and_invalid_rows_are_kept_or_dropped_on_request() -> None:
    write(Path("odd.trec"), "q1 Q0 a 1 1.0 t\nq1 Q0 a 2 2.0 t\nq1 Q0 b 3 nan t\n")
    asked = ["evaluate", "odd.trec", "--qrels", "qrels.txt", "--metrics", "mrr"]
    told = _printed(*asked, "--duplicates", "best", "--invalid", "drop")
    assert "odd: duplicate_dropped 1 ((q1, a))\n" in told
    assert "odd: invalid_dropped 1 ((q1, b))\n" in told


# metrics, check.


def test_metrics_lists_every_metric_with_its_definition() -> None:
    told = _printed("metrics")
    for row in metric_table().iter_rows(named=True):
        assert f"{row['name']}: {row['summary']}\n    definition: {row['definition']}\n" in told
    assert len(REGISTRY) == sum(not line.startswith(" ") for line in told.splitlines())


def test_metrics_prints_its_table_in_every_format() -> None:
    table = metric_table()
    assert table.equals(pl.DataFrame(json.loads(_printed("metrics", "--format", "json"))))
    rows = list(csv.reader(io.StringIO(_printed("metrics", "--format", "csv"))))
    assert [list(table.columns), *map(list, table.rows())] == rows
    lines = _printed("metrics", "--format", "markdown").splitlines()
    assert table.height + 2 == len(lines)
    assert {table.width + 1} == {line.replace("\\|", "").count("|") for line in lines}


@pytest.mark.usefixtures("here")
def test_check_counts_what_is_odd() -> None:
    told = json.loads(_printed("check", "bm25.trec", "--qrels", "set", "--format", "json"))
    right = rf.check(["bm25.trec"], "set", queries="set/queries.jsonl", corpus="set/corpus.jsonl")
    assert list(right.iter_rows(named=True)) == told
    assert {"not_in_corpus", "not_in_queries", "missing_query"} == {row["reason"] for row in told}
    table = _printed("check", "bm25.trec", "--qrels", "set")
    for reason in ("not_in_corpus", "not_in_queries", "missing_query"):
        assert reason in table


@pytest.mark.usefixtures("here")
def test_check_of_nothing_odd_says_so() -> None:
    rf.write_qrels({"q1": {"a": 1}, "q2": {"b": 1}}, "two.txt")
    assert _printed("check", "bm25.trec", "--qrels", "two.txt") == "nothing odd found\n"
    assert _printed("check", "bm25.trec", "--qrels", "two.txt", "--format", "json") == "[]\n"
    csv_lines = _printed("check", "bm25.trec", "--qrels", "two.txt", "--format", "csv").splitlines()
    assert csv_lines == ["run_id,reason,count,examples"]


@pytest.mark.usefixtures("here")
def test_check_refuses_no_bad_row() -> None:
    """It is there to count them."""
    write(Path("odd.trec"), "q1 Q0 a 1 1.0 t\nq1 Q0 a 2 2.0 t\nq1 Q0 b 3 nan t\nq1 Q0\n")
    write(Path("odd.txt"), "q1 0 a 1\nq1 0 a 2\nq1 0 b x\n")
    told = json.loads(_printed("check", "odd.trec", "--qrels", "odd.txt", "--format", "json"))
    assert {row["reason"]: row["count"] for row in told if row["reason"] != "invalid"} == {
        "duplicate": 1,
        "conflicting_judgment": 1,
    }
    assert {
        run: sum(row["count"] for row in told if row["reason"] == "invalid" and row["run_id"] == run)
        for run in ("odd", None)
    } == {"odd": 2, None: 1}


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("", []),
        (" , ,", []),
        ("a", ["a"]),
        ("a,b", ["a", "b"]),
        ("a(x=1,y=2),b", ["a(x=1,y=2)", "b"]),
        ("a((,)),b", ["a((,))", "b"]),
        ("a),b", ["a)", "b"]),
        ("a(x,b", ["a(x,b"]),
    ],
)
def test_split_names(text: str, names: list[str]) -> None:
    assert names == cli.split_names(text)


# retrieve, pool and merge.


@pytest.mark.usefixtures("here")
def test_evaluate_scores_what_a_retriever_finds_in_a_folder() -> None:
    index = rf.retrievers.TfIdf("set")
    report = rf.evaluate({"tfidf": rf.retrieve(index, {"q1": "x", "q2": "y"})}, QRELS, metrics="map")
    printed = _printed("evaluate", "set", "--retriever", "tfidf", "--metrics", "map", "--format", "json")
    assert list(report.summary.iter_rows(named=True)) == json.loads(printed)
    assert report.summary.select("run_id", "value").rows() == [("tfidf", 2 / 3)]


@pytest.mark.usefixtures("here")
def test_evaluate_searches_other_queries_and_judgments_where_they_are_given() -> None:
    asked = ("evaluate", "set", "--retriever", "tfidf", "--queries", "one.jsonl", "--qrels", "qrels.txt")
    rows = json.loads(_printed(*asked, "--metrics", "map", "--format", "json"))
    assert [(row["value"], row["n"], row["n_missing"]) for row in rows] == [(1.0, 1, 0)]


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("name", ["run.parquet", "run.trec", "run.csv", "run.jsonl"])
def test_retrieve_writes_a_run_that_evaluate_reads(name: str) -> None:
    result = CliRunner().invoke(cli.app, ["retrieve", "set", "--retriever", "tfidf", "-o", name, "--limit", "1"])
    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr.startswith("Retrieval(2 results of 2 queries)")
    assert rf.read_run(name).select("query_id", "doc_id").rows() == [("q1", "a"), ("q2", "b")]
    rows = json.loads(_printed("evaluate", name, "--qrels", "set", "--metrics", "success@1", "--format", "json"))
    assert [(row["value"], row["n"]) for row in rows] == [(2 / 3, 3)]


@pytest.mark.usefixtures("here")
def test_retrieve_with_vectors_of_the_folder_and_of_another() -> None:
    documents = pl.DataFrame({"doc_id": ["a", "b"], "vector": [[1.0, 0.0], [0.0, 1.0]]})
    queries = pl.DataFrame({"query_id": ["q1", "q2"], "vector": [[0.0, 1.0], [1.0, 0.0]]})
    for folder in ("set/vectors", "other"):
        documents.write_parquet(f"{folder}/corpus.parquet", mkdir=True)
        queries.write_parquet(f"{folder}/queries.parquet")
    found = []
    for options in ([], ["--vectors", "other"]):
        arguments = ["retrieve", "set", "--retriever", "dense", "-o", "run.parquet", *options]
        assert CliRunner().invoke(cli.app, arguments, catch_exceptions=False).exit_code == 0
        found.append(rf.read_run("run.parquet").rows())
    right = [("q1", "b", 1.0), ("q1", "a", 0.0), ("q2", "a", 1.0), ("q2", "b", 0.0)]
    assert [right, right] == found


@pytest.mark.usefixtures("here")
def test_vectors_go_to_the_retriever_that_needs_them() -> None:
    pl.DataFrame({"doc_id": ["a", "b"], "vector": [[1.0], [2.0]]}).write_parquet("other/corpus.parquet", mkdir=True)
    pl.DataFrame({"query_id": ["q1", "q2"], "vector": [[1.0], [1.0]]}).write_parquet("other/queries.parquet")
    both = ("--retriever", "tfidf", "--retriever", "dense", "--vectors", "other", "--metrics", "num_ret")
    rows = json.loads(_printed("evaluate", "set", *both, "--format", "json"))
    assert [(row["run_id"], row["value"]) for row in rows] == [("dense", 4.0), ("tfidf", 2.0)]


@pytest.mark.usefixtures("here")
def test_a_failed_query_of_a_written_retrieval_is_told_by_evaluate() -> None:
    def fails(query: str) -> list[str]:
        raise ConnectionError(query)

    rf.retrieve(fails, {"q1": "x"}, on_error="record").write_parquet("run.parquet")
    with pytest.warns(rf.RankframeWarning, match="whose retrieval failed: 1"):
        printed = _printed("evaluate", "run.parquet", "--qrels", "qrels.txt", "--metrics", "map")
    assert "run: failed_query 1 (q1)" in printed


@pytest.mark.usefixtures("here")
def test_pool_and_merge_make_judgments() -> None:
    result = CliRunner().invoke(
        cli.app, ["pool", "bm25.trec", "--depth", "2", "--texts", "set", "-o", "pool.csv"], catch_exceptions=False
    )
    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr == "3 pairs to judge in pool.csv\n"
    pool = pl.read_csv("pool.csv", schema_overrides={"relevance": pl.Int64})
    pool.with_columns(relevance=pl.Series([2, 0, None])).write_csv("judged.csv")
    result = CliRunner().invoke(cli.app, ["merge", "judged.csv", "-o", "first.tsv"], catch_exceptions=False)
    assert result.stderr == "2 judgments in first.tsv\n"
    assert rf.read_qrels("first.tsv").rows() == [("q1", "a", 2.0), ("q1", "b", 0.0)]


# Errors.

OK = ["evaluate", "bm25.trec", "--qrels", "qrels.txt"]


def _file(name: str, content: str | bytes) -> Callable[[], object]:
    return lambda: write(Path(name), content)


ERRORS: dict[str, tuple[Callable[[], object], list[str], str]] = {
    "missing run": (lambda: None, ["evaluate", "absent.trec", "--qrels", "qrels.txt"], "absent.trec"),
    "missing qrels": (lambda: None, ["evaluate", "bm25.trec", "--qrels", "absent.txt"], "absent.txt"),
    "missing queries": (lambda: None, [*OK, "--queries", "absent.jsonl"], "absent.jsonl"),
    "unknown metric": (lambda: None, [*OK, "--metrics", "ndgc@10"], "did you mean 'ndcg'"),
    "no metric": (lambda: None, [*OK, "--metrics", ""], "metrics= is empty"),
    "bad cutoff": (lambda: None, [*OK, "--metrics", "ndcg@0"], "a cutoff is a whole number from 1"),
    "malformed line": (
        _file("bad.trec", "q1 Q0 a 1 x t\n"),
        ["evaluate", "bad.trec", "--qrels", "qrels.txt"],
        "line 1",
    ),
    "conflicting qrels": (
        _file("bad.txt", "q1 0 a 1\nq1 0 a 2\n"),
        ["evaluate", "bm25.trec", "--qrels", "bad.txt"],
        "as 1 and 2",
    ),
    "no common queries": (
        _file("bad.trec", "z Q0 a 1 1.0 t\n"),
        ["evaluate", "bad.trec", "--qrels", "qrels.txt"],
        "no query in common",
    ),
    "folder without qrels": (
        lambda: Path("empty").mkdir(),
        ["evaluate", "bm25.trec", "--qrels", "empty"],
        "no judgments",
    ),
    "folder as a run": (lambda: Path("empty").mkdir(), ["evaluate", "empty", "--qrels", "qrels.txt"], "empty"),
    "output nowhere": (lambda: None, [*OK, "--per-query", "absent/report.parquet"], "absent/report.parquet"),
    "output a folder": (lambda: Path("taken").mkdir(), [*OK, "--per-query", "taken"], "taken"),
    "output behind a file": (
        lambda: None,
        [*OK, "--per-query", "qrels.txt/report.parquet"],
        "qrels.txt/report.parquet",
    ),
    "output unwritable": (lambda: None, [*OK, "--per-query", "/proc/report.parquet"], "/proc/report.parquet"),
    "binary": (_file("bad.trec", bytes(range(256)) * 9), ["evaluate", "bad.trec", "--qrels", "qrels.txt"], "bad.trec"),
    "zeros": (_file("bad.trec", bytes(3000)), ["evaluate", "bad.trec", "--qrels", "qrels.txt"], "bad.trec"),
    "gzip garbage": (
        _file("bad.gz", b"\x1f\x8b" + bytes(99)),
        ["evaluate", "bad.gz", "--qrels", "qrels.txt"],
        "bad.gz",
    ),
    "zstd garbage": (
        _file("b.zst", b"\x28\xb5\x2f\xfd" + bytes(99)),
        ["evaluate", "b.zst", "--qrels", "qrels.txt"],
        "b.zst",
    ),
    "parquet garbage": (
        _file("b.parquet", b"PAR1" * 99),
        ["evaluate", "b.parquet", "--qrels", "qrels.txt"],
        "b.parquet",
    ),
    "json garbage": (_file("b.json", "{" * 99), ["evaluate", "b.json", "--qrels", "qrels.txt"], "b.json"),
    "deep json": (_file("b.json", "[" * 100_000), ["evaluate", "b.json", "--qrels", "qrels.txt"], "b.json"),
    "csv garbage": (_file("b.csv", '"'), ["evaluate", "b.csv", "--qrels", "qrels.txt"], "b.csv"),
    "swapped": (lambda: None, ["evaluate", "qrels.txt", "--qrels", "bm25.trec"], "more than 4 fields"),
    "judgments as a run": (lambda: None, ["evaluate", "qrels.txt", "--qrels", "qrels.txt"], "a TREC run has six"),
    "one run twice": (lambda: None, ["evaluate", "bm25.trec", "./bm25.trec", "--qrels", "qrels.txt"], "'bm25'"),
    "neither qrels nor retriever": (lambda: None, ["evaluate", "bm25.trec"], "--qrels says where"),
    "a run and a retriever": (lambda: None, ["evaluate", "bm25.trec", "--retriever", "tfidf"], "one BEIR folder"),
    "two folders": (lambda: None, ["evaluate", "set", "set", "--retriever", "tfidf"], "one BEIR folder"),
    "no limit": (lambda: None, ["evaluate", "set", "--retriever", "tfidf", "--limit", "0"], "limit is a whole number"),
    "limit without retriever": (lambda: None, [*OK, "--limit", "5"], "go with --retriever"),
    "retrieve over the corpus": (
        lambda: None,
        ["retrieve", "set", "--retriever", "tfidf", "-o", "set/corpus.jsonl"],
        "would write over an input",
    ),
    "report over the judgments": (
        lambda: None,
        ["evaluate", "set", "--retriever", "tfidf", "--per-query", "set/qrels.tsv"],
        "would write over an input",
    ),
    "pool over the texts": (
        lambda: None,
        ["pool", "bm25.trec", "--depth", "1", "--texts", "set", "-o", "set/queries.jsonl"],
        "would write over an input",
    ),
    "pool over grades": (
        _file("pool.csv", "query_id,doc_id,relevance\nq1,a,3\n"),
        ["pool", "bm25.trec", "--depth", "1", "-o", "pool.csv"],
        "1 grade already there",
    ),
    "no vectors": (lambda: None, ["evaluate", "set", "--retriever", "dense"], "set/vectors"),
    "a folder as a run": (lambda: None, ["evaluate", "set", "--qrels", "set"], "a BEIR folder is no run"),
    "needless vectors": (
        lambda: None,
        ["evaluate", "set", "--retriever", "tfidf", "--vectors", "set"],
        "goes with the retriever 'dense'",
    ),
    "retrieve over its queries": (
        lambda: None,
        ["retrieve", "set", "--retriever", "tfidf", "--queries", "one.jsonl", "-o", "one.jsonl"],
        "would write over",
    ),
    "retrieve without a corpus": (
        lambda: Path("empty").mkdir(),
        ["retrieve", "empty", "--retriever", "tfidf", "-o", "run.trec"],
        "no corpus.jsonl",
    ),
    "pool over a run": (lambda: None, ["pool", "bm25.trec", "--depth", "1", "-o", "bm25.trec"], "would write over"),
    "shallow pool": (lambda: None, ["pool", "bm25.trec", "--depth", "0", "-o", "pool.csv"], "depth of a pool"),
    "conflicting merge": (
        _file("judged.csv", "query_id,doc_id,relevance\nq1,a,3\n"),
        ["merge", "judged.csv", "--qrels", "qrels.txt", "-o", "merged.tsv"],
        "judged with different grades",
    ),
    "check of a missing run": (lambda: None, ["check", "absent.trec", "--qrels", "qrels.txt"], "absent.trec"),
    "check of an empty folder": (
        lambda: Path("empty").mkdir(),
        ["check", "bm25.trec", "--qrels", "empty"],
        "no judgments",
    ),
}


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("how", ERRORS)
def test_bad_input_is_one_line_of_error_and_exit_2(
    how: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """No traceback, nothing on standard output, and the line names what is wrong."""
    prepare, arguments, said = ERRORS[how]
    prepare()
    monkeypatch.setattr(sys, "argv", ["rankframe", *arguments])
    with pytest.raises(SystemExit) as caught:
        cli.main()
    out, err = capsys.readouterr()
    assert (caught.value.code, out) == (2, "")
    assert err.startswith("error: ")
    assert len(err.splitlines()) == 1
    assert said in err


# As a program.


@pytest.mark.usefixtures("here")
def test_the_program_evaluates() -> None:
    done = _program("evaluate", "bm25.trec", "--qrels", "qrels.txt", "--metrics", "map", "--format", "csv")
    assert (done.returncode, done.stderr) == (0, "")
    assert f"{','.join(SUMMARY)}\nbm25,map,mean,0.5,0.5,0.5,0.0,1.0,3,1,0,0,\n" == done.stdout


def test_the_program_lists_metrics() -> None:
    done = _program("metrics")
    assert (done.returncode, done.stderr) == (0, "")
    assert _printed("metrics") == done.stdout


@pytest.mark.usefixtures("here")
def test_the_program_checks() -> None:
    done = _program("check", "bm25.trec", "--qrels", "qrels.txt", "--format", "csv")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "run_id,reason,count,examples\nbm25,missing_query,1,q3\n"


@pytest.mark.usefixtures("here")
def test_the_program_refuses_in_one_line() -> None:
    done = _program("evaluate", "absent.trec", "--qrels", "qrels.txt")
    assert (done.returncode, done.stdout, done.stderr) == (2, "", "error: no such file or folder: absent.trec\n")


@pytest.mark.usefixtures("here")
def test_the_program_warns_in_one_line() -> None:
    """Of an empty run, whose scores are zeros."""
    write(Path("empty.trec"), "")
    command = [sys.executable, "-m", "rankframe", "evaluate", "empty.trec", "--qrels", "qrels.txt", "--metrics", "map"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, len(done.stderr.splitlines())) == (0, 1)
    assert done.stderr.startswith("warning: ")
    assert "map     0.0000" in done.stdout


@pytest.mark.usefixtures("here")
def test_a_reader_that_stops_early_is_no_error() -> None:
    """As in `rankframe metrics | head -1`."""
    command = f"{sys.executable} -m rankframe metrics | head -1"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert (len(done.stdout.splitlines()), done.stderr) == (1, "")


_WRITES = """
from pathlib import Path
from time import sleep
from rankframe.cli.program import app, run
from rankframe.io.files import beside
@app.command()
def write(path: Path):
    with beside(path) as part:
        part.write_text("half")
        print("written", flush=True)
        sleep(60)
run()
"""


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
@pytest.mark.parametrize(("kill", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_program_that_is_told_to_end_leaves_no_half_of_a_file(
    kill: signal.Signals, code: int, tmp_path: Path
) -> None:
    command = [sys.executable, "-c", _WRITES, "write", str(tmp_path / "scores.parquet")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "written\n"
        assert list(tmp_path.iterdir())
        process.send_signal(kill)
        process.communicate(timeout=60)
    assert process.returncode == code
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("arguments", [[], ["--help"], ["evaluate", "--help"], ["check", "--help"]], ids=str)
def test_help_says_what_there_is(arguments: list[str]) -> None:
    result = CliRunner().invoke(cli.app, arguments)
    assert (2 if arguments == [] else 0) == result.exit_code
    assert "Usage:" in result.output
