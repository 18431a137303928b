"""`rankframe rag` and `rankframe gate`: what they print, write and refuse, and how they exit."""

from __future__ import annotations

import csv
import io
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl
import pytest

import rankframe as rf
from rankframe import cli
from rankframe.cli.program import spelled
from rankframe.metrics import parse
from rankframe.metrics.names import DEFAULT_OF_SAMPLES
from tests.cases.helpers import write

HANDBOOK = Path(__file__).parents[1] / "data" / "handbook"
SAMPLES = str(HANDBOOK / "samples.jsonl")
SUMMARY = [
    *("run_id", "metric", "aggregate", "value", "std", "median", "ci_low", "ci_high"),
    *("n", "n_missing", "n_null", "n_failed", "ci_reason"),
]

GOOD: list[dict[str, Any]] = [
    {"user_input": "Capital of France?", "response": "Paris", "reference": "Paris", "retrieved_contexts": ["Paris."]},
    {"user_input": "Two and two?", "response": "four", "reference": "four", "retrieved_contexts": ["Four.", "Five."]},
]
POOR: list[dict[str, Any]] = [
    {**GOOD[0], "response": "Paris"},
    {**GOOD[1], "response": "five"},
]
OPEN: list[dict[str, Any]] = [GOOD[0], {**GOOD[1], "reference": None}]
"""One sample cannot be scored."""


class Ran(NamedTuple):
    """How a command ended."""

    code: object
    out: str
    err: str


Run = Callable[..., Ran]


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs the command line in this process."""

    def run(*arguments: str) -> Ran:
        monkeypatch.setattr(sys, "argv", ["rankframe", *arguments])
        with pytest.raises(SystemExit) as caught:
            cli.main()
        return Ran(caught.value.code, *capsys.readouterr())

    return run


@pytest.fixture
def printed(ran: Run) -> Callable[..., str]:
    """What a command prints that does what it should."""

    def run(*arguments: str) -> str:
        code, out, err = ran(*arguments)
        assert (code, err) == (0, "")
        return out

    return run


Printed = Callable[..., str]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with samples, reports and gates, in which the program runs."""
    monkeypatch.chdir(tmp_path)
    for name, samples in {"good": GOOD, "poor": POOR, "open": OPEN}.items():
        _jsonl(f"{name}.jsonl", samples)
        rf.evaluate_samples(f"{name}.jsonl", metrics=["exact_match", "token_f1"]).write_parquet(f"{name}.parquet")
    write(Path("half.toml"), "[metrics]\nexact_match = 0.5\n")
    write(Path("high.toml"), "[metrics]\nexact_match = 0.9\ntoken_f1 = 0.1\n")
    return tmp_path


def _jsonl(path: str, records: list[dict[str, Any]]) -> Path:
    return write(Path(path), "".join(json.dumps(record) + "\n" for record in records))


def _csv(path: str, lists: Callable[[list[str]], str], names: dict[str, str] | None = None) -> None:
    rows = [{**sample, "retrieved_contexts": lists(sample["retrieved_contexts"])} for sample in POOR]
    pl.DataFrame(rows).rename(names or {}).write_csv(path)


# Scores.


def test_rag_prints_a_table_and_what_was_left_out(printed: Printed) -> None:
    assert printed("rag", "open.jsonl", "poor.jsonl", "--metrics", "exact_match,non_empty_rate") == (
        "metric                  open    poor\n"
        "exact_match     1.0000 (n=1)  0.5000\n"
        "non_empty_rate        1.0000  1.0000\n"
        "\n"
        "over 2 samples\n"
        "open: no_reference 1 (1)\n"
    )


def test_rag_scores_the_systems_of_the_handbook_as_python_does(printed: Printed) -> None:
    report = rf.evaluate_samples(SAMPLES)
    told = json.loads(printed("rag", SAMPLES, "--format", "json"))
    assert told == list(report.summary.iter_rows(named=True))
    assert [row["run_id"] for row in told] == ["careful"] * 8 + ["fluent"] * 8
    assert [row["metric"] for row in told[:8]] == list(DEFAULT_OF_SAMPLES)


def test_rag_prints_the_summary_as_csv_and_markdown(printed: Printed) -> None:
    summary = rf.evaluate_samples("poor.jsonl", metrics=["token_f1", "exact_match"]).summary
    asked = ("rag", "poor.jsonl", "--metrics", "token_f1,exact_match", "--format")
    rows = list(csv.reader(io.StringIO(printed(*asked, "csv"))))
    told = [["" if cell is None else str(cell) for cell in row] for row in summary.rows()]
    assert rows == [SUMMARY, *told]
    lines = printed(*asked, "markdown").splitlines()
    assert lines[0] == f"| {' | '.join(SUMMARY)} |"
    assert lines[2:] == [f"| {' | '.join(row)} |" for row in told]


def test_names_are_split_at_commas_outside_of_parentheses(printed: Printed) -> None:
    names = "context_precision(against=user_input,stopwords=drop), token_f1"
    told = json.loads(printed("rag", "good.jsonl", "--metrics", names, "--format", "json"))
    assert [row["metric"] for row in told] == names.split(", ")


def test_a_metric_of_an_extra_is_refused_without_it(ran: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "rapidfuzz", None)
    code, out, err = ran("rag", "good.jsonl", "--metrics", "rouge_l")
    assert (code, out) == (2, "")
    assert "pip install 'rankframe[lexical]'" in err


def test_files_are_systems_by_their_stems(printed: Printed) -> None:
    Path("b").mkdir()
    pl.DataFrame(GOOD).write_parquet("b/second.v2.parquet")
    write(Path("b/third.json"), json.dumps(POOR))
    asked = ("--metrics", "exact_match,token_f1", "--format", "json")
    told = json.loads(printed("rag", "poor.jsonl", "b/second.v2.parquet", "b/third.json", *asked))
    right = rf.evaluate_samples({"poor": POOR, "second.v2": GOOD, "third": POOR}, metrics=["exact_match", "token_f1"])
    assert told == list(right.summary.iter_rows(named=True))
    assert [row["value"] for row in told if row["metric"] == "exact_match"] == [0.5, 1.0, 0.5]


def test_a_column_of_runs_names_the_systems_of_its_file(printed: Printed) -> None:
    _jsonl("one.jsonl", [{"run_id": "ours", **sample} for sample in GOOD])
    _jsonl("two.jsonl", [{"run_id": name, **sample} for name in ("x", "y") for sample in POOR])
    told = json.loads(
        printed("rag", "two.jsonl", "one.jsonl", "poor.jsonl", "--metrics", "exact_match", "--format", "json")
    )
    assert [(row["run_id"], row["value"]) for row in told] == [("ours", 1.0), ("poor", 0.5), ("x", 0.5), ("y", 0.5)]


def test_a_folder_of_parts_is_one_system(printed: Printed, monkeypatch: pytest.MonkeyPatch) -> None:
    for place, sample in enumerate(POOR):
        pl.DataFrame([{"sample_id": str(place), **sample}]).write_parquet(f"parts/{place}.parquet", mkdir=True)
    asked = ("--metrics", "exact_match", "--format", "csv")
    told = printed("rag", "parts", *asked)
    assert told.splitlines()[1].startswith("parts,exact_match,mean,0.5,")
    monkeypatch.chdir("parts")
    assert printed("rag", ".", *asked) == told


def test_metadata_of_several_files_may_be_of_different_types(printed: Printed) -> None:
    _jsonl("one.jsonl", [{**sample, "label": {"a": 1}} for sample in GOOD])
    _jsonl("two.jsonl", [{**sample, "label": [True]} for sample in POOR])
    told = json.loads(printed("rag", "one.jsonl", "two.jsonl", "--metrics", "exact_match", "--format", "json"))
    assert [row["value"] for row in told] == [1.0, 0.5]


@pytest.mark.parametrize(
    ("how", "lists"),
    [("json", json.dumps), ("python", repr), (" | ", " | ".join)],
    ids=["json", "python", "separator"],
)
def test_lists_of_a_csv_file_are_decoded_as_asked(
    printed: Printed, how: str, lists: Callable[[list[str]], str]
) -> None:
    _csv("samples.csv", lists)
    told = json.loads(
        printed("rag", "samples.csv", "--lists", how, "--metrics", "context_precision", "--format", "json")
    )
    right = rf.evaluate_samples({"samples": POOR}, metrics=["context_precision"])
    assert told == list(right.summary.iter_rows(named=True))
    assert told[0]["value"] == 0.75


def test_lists_as_text_are_refused_with_the_option_that_decodes_them(ran: Run) -> None:
    _csv("samples.csv", json.dumps)
    code, out, err = ran("rag", "samples.csv")
    assert (code, out) == (2, "")
    assert err.endswith("a list was stored as text there, as CSV does: --lists json decodes it\n")


def test_old_names_are_read_on_request_only(ran: Run, printed: Printed) -> None:
    _csv("old.csv", json.dumps, {"user_input": "question", "response": "answer", "reference": "ground_truth"})
    code, out, err = ran("rag", "old.csv", "--lists", "json")
    assert (code, out) == (2, "")
    assert "'question' is now 'user_input'" in err
    assert "; --legacy reads them so" in err
    told = printed("rag", "old.csv", "--lists", "json", "--legacy", "--metrics", "exact_match")
    assert told == "metric          old\nexact_match  0.5000\n\nover 2 samples\n"


def test_invalid_samples_are_dropped_on_request_and_counted(printed: Printed) -> None:
    _jsonl("odd.jsonl", [{"sample_id": "a", **GOOD[0]}, {"sample_id": None, **GOOD[1]}])
    write(Path("cut.jsonl"), json.dumps({"sample_id": "a", **POOR[1]}) + '\n{"sample_id":')
    asked = ("rag", "odd.jsonl", "cut.jsonl", "--metrics", "exact_match", "--invalid", "drop")
    told = printed(*asked, "--per-sample", "report.parquet")
    assert told.endswith("over 1 sample\ncut: invalid_dropped 1 (line 2)\nodd: invalid_dropped 1 (sample 1)\n")
    assert rf.read_report("report.parquet").ledger.rows() == [
        ("cut", "invalid_dropped", 1, ["line 2"]),
        ("odd", "invalid_dropped", 1, ["sample 1"]),
    ]


def test_per_sample_writes_the_report(printed: Printed) -> None:
    printed("rag", SAMPLES, "--metrics", "token_f1,context_recall", "--per-sample", "report.parquet")
    read = rf.read_report("report.parquet")
    right = rf.evaluate_samples(SAMPLES, metrics=["token_f1", "context_recall"])
    assert read.unit == "sample"
    assert read.scores.equals(right.scores)
    assert read.ledger.equals(right.ledger)
    assert read.metrics == right.metrics
    assert read.options == {**right.options, "lists": None, "legacy": False}


def test_a_report_says_how_its_files_were_read(printed: Printed) -> None:
    _csv("old.csv", json.dumps, {"user_input": "question"})
    printed("rag", "old.csv", "good.jsonl", "--lists", "json", "--legacy", "--per-sample", "report.parquet")
    options = rf.read_report("report.parquet").options
    sizes = {name: Path(name).stat().st_size for name in ("old.csv", "good.jsonl")}
    assert options["samples"] == [
        {"run_id": "old", "rows": 2},
        {"run_id": "good", "rows": 2},
        *({"path": name, "bytes": size} for name, size in sizes.items()),
    ]
    assert (options["lists"], options["legacy"], options["invalid"]) == ("json", True, "error")


@pytest.mark.parametrize(
    ("name", "made"),
    [
        ("faithfulness", "rankframe.rag.faithfulness(llm=...)"),
        ("Faithfulness", "rankframe.rag.faithfulness(llm=...)"),
        ("answer_relevance", "rankframe.rag.answer_relevance(llm=..., embed=...)"),
        ("correctness", "rankframe.rag.correctness(llm=...)"),
    ],
)
def test_a_judged_metric_is_refused_with_what_makes_it(ran: Run, name: str, made: str) -> None:
    code, out, err = ran("rag", "absent.jsonl", "--metrics", f"exact_match,{name}")
    assert (code, out) == (2, "")
    assert err.startswith(f"error: unknown metric {name!r}: a judge gives it: {made} in the metrics of rankframe.eval")
    assert len(err.splitlines()) == 1


@pytest.mark.parametrize("name", ["faithfulness", "answer_relevance", "correctness"])
def test_what_a_judged_metric_is_refused_with_is_there(name: str) -> None:
    with pytest.raises(rf.MetricError, match=r"; (\w+) needs no judge$") as caught:
        parse(name)
    instead = str(caught.value).rpartition("; ")[2].partition(" ")[0]
    assert parse(instead).unit == "sample"
    options = {"embed": lambda texts: [[1.0] for _ in texts]} if "embed=" in str(caught.value) else {}
    assert getattr(rf.rag, name)(llm=lambda prompt: prompt, **options).name == name


# A gate behind the scores.


def test_a_gate_that_passes_is_one_line(ran: Run) -> None:
    code, out, err = ran("rag", "poor.jsonl", "good.jsonl", "--metrics", "exact_match", "--gate", "half.toml")
    assert (code, err) == (0, "2 checks passed\n")
    assert out == "metric         good    poor\nexact_match  1.0000  0.5000\n\nover 2 samples\n"


def test_a_gate_that_does_not_pass_is_a_table_behind_scores_and_report(ran: Run) -> None:
    asked = ("rag", "poor.jsonl", "good.jsonl", "--metrics", "exact_match,token_f1")
    code, out, err = ran(*asked, "--gate", "high.toml", "--per-sample", "report.parquet")
    assert code == 1
    assert out == ran(*asked).out
    assert err == (
        "1 of 4 checks fell short\n"
        "run_id  metric        value  rule    n  coverage  why\n"
        "poor    exact_match  0.5000  >= 0.9  2    1.0000  0.5 is below 0.9\n"
    )
    assert rf.read_report("report.parquet").value("exact_match", "poor") == 0.5


def test_a_gate_leaves_what_is_printed_for_machines_alone(ran: Run) -> None:
    asked = ("rag", "poor.jsonl", "--metrics", "exact_match", "--format", "json")
    code, out, err = ran(*asked, "--gate", "high.toml")
    assert (code, json.loads(out)) == (1, json.loads(ran(*asked).out))
    assert err.startswith("2 of 2 checks fell short\n")
    assert "token_f1" in err


def test_missing_coverage_does_not_pass(ran: Run) -> None:
    asked = ("rag", "open.jsonl", "--metrics", "exact_match", "--gate")
    code, _, err = ran(*asked, "half.toml")
    assert code == 1
    assert "scored 1 of 2, coverage 0.50 below 1 (1 without a value)" in err
    assert ran(*asked, "half.toml", "--min-coverage", "0.5").code == 0


def test_coverage_is_that_of_the_file_unless_it_is_given(ran: Run) -> None:
    write(Path("lenient.toml"), "min_coverage = 0.5\n[metrics]\nexact_match = 0.5\n")
    asked = ("rag", "open.jsonl", "--metrics", "exact_match", "--gate", "lenient.toml")
    assert ran(*asked).code == 0
    code, _, err = ran(*asked, "--min-coverage", "0.75")
    assert code == 1
    assert "coverage 0.50 below 0.75" in err
    assert ran(*asked, "--min-coverage", "0").code == 0


def test_a_metric_that_is_not_scored_does_not_pass(ran: Run) -> None:
    write(Path("clinical.toml"), 'preset = "clinical"\n')
    code, out, err = ran("rag", "good.jsonl", "--gate", "clinical.toml")
    assert code == 1
    assert "exact_match" in out
    assert "not in this report: did you mean 'lexical_faithfulness'" in err


def test_scores_are_held_against_an_earlier_report(ran: Run) -> None:
    asked = ("rag", "poor.jsonl", "--metrics", "exact_match,token_f1", "--baseline", "good.parquet")
    code, out, err = ran(*asked)
    assert (code, out.startswith("metric")) == (1, True)
    assert "fell by 0.5, more than 0" in err
    code, _, err = ran(*asked, "--max-drop", "0.5")
    assert (code, err) == (0, "2 checks passed\n")


def test_thresholds_and_an_earlier_report_are_checked_together(ran: Run) -> None:
    asked = ("rag", "good.jsonl", "--metrics", "exact_match,token_f1", "--baseline", "poor.parquet")
    assert ran(*asked, "--gate", "high.toml").err == "4 checks passed\n"


def test_drops_of_a_file_without_an_earlier_report_are_warned_of(ran: Run) -> None:
    write(Path("both.toml"), "max_drop = 0.1\n[metrics]\nexact_match = 0.5\n")
    code, _, err = ran("rag", "good.jsonl", "--metrics", "exact_match", "--gate", "both.toml")
    assert code == 0
    assert err == "warning: both.toml has max_drop, which is not looked at without --baseline\n1 check passed\n"


# A gate of reports.


def test_gate_prints_the_checks_that_passed(printed: Printed) -> None:
    assert printed("gate", "poor.parquet", "--gate", "half.toml") == (
        "run_id       metric   value    rule  n  coverage\n"
        "poor    exact_match  0.5000  >= 0.5  2    1.0000\n"
        "\n"
        "1 check passed\n"
    )
    assert printed("gate", "good.parquet", "--baseline", "good.parquet") == (
        "run_id       metric     old     new    drop  max_drop  n  coverage\n"
        "good    exact_match  1.0000  1.0000  0.0000    0.0000  2    1.0000\n"
        "good       token_f1  1.0000  1.0000  0.0000    0.0000  2    1.0000\n"
        "\n"
        "2 checks passed\n"
    )


def test_gate_tells_what_fell_short(ran: Run) -> None:
    code, out, err = ran("gate", "poor.parquet", "--gate", "high.toml")
    assert (code, out) == (1, "")
    assert err.startswith("1 of 2 checks fell short\nrun_id  metric")
    assert "0.5 is below 0.9" in err


def test_a_regression_does_not_pass_and_an_improvement_does(ran: Run, printed: Printed) -> None:
    code, out, err = ran("gate", "poor.parquet", "--baseline", "good.parquet", "--max-drop", "0.4")
    assert (code, out) == (1, "")
    assert "fell by 0.5, more than 0.4" in err
    assert "new_run_id" in err
    improved = printed("gate", "good.parquet", "--baseline", "poor.parquet")
    assert "poor          good  exact_match  0.5000  1.0000  -0.5000" in improved
    assert improved.endswith("\n2 checks passed\n")


def test_samples_that_are_no_longer_scored_do_not_pass(ran: Run) -> None:
    asked = ("gate", "open.parquet", "--baseline", "good.parquet")
    code, _, err = ran(*asked)
    assert code == 1
    assert "scores 1 of 2 samples of the old report, coverage 0.50 below 1" in err
    assert ran(*asked, "--min-coverage", "0.5").code == 0


@pytest.mark.parametrize("drops", ["max_drop = 0.5\n", "[max_drop]\nexact_match = 0.5\ntoken_f1 = 0.5\n"])
def test_the_drop_of_a_file_holds_unless_it_is_given(ran: Run, drops: str) -> None:
    write(Path("drops.toml"), drops)
    asked = ("gate", "poor.parquet", "--baseline", "good.parquet", "--gate", "drops.toml")
    assert ran(*asked).code == 0
    code, _, err = ran(*asked, "--max-drop", "0.25")
    assert code == 1
    assert err.count("fell by 0.5, more than 0.25") == 2


def test_reports_of_retrieval_are_held_too(ran: Run, printed: Printed) -> None:
    qrels = {"q1": {"a": 1, "b": 0}, "q2": {"b": 1}}
    rf.write_qrels(qrels, "qrels.txt")
    for name, run in {
        "old": {"q1": {"a": 2.0, "b": 1.0}, "q2": {"b": 1.0}},
        "new": {"q1": {"b": 2.0, "a": 1.0}},
    }.items():
        rf.write_run(run, f"{name}.trec")
        printed(
            "evaluate", f"{name}.trec", "--qrels", "qrels.txt", "--metrics", "mrr", "--per-query", f"{name}.parquet"
        )
    code, _, err = ran("gate", "new.parquet", "--baseline", "old.parquet", "--max-drop", "0.01")
    assert code == 1
    assert "fell by 0.75, more than 0.01" in err
    write(Path("mrr.toml"), "[metrics]\nRR = 0.25\n")
    code, _, err = ran("gate", "new.parquet", "--gate", "mrr.toml")
    assert code == 1
    assert "scored 1 of 2, coverage 0.50 below 1 (1 missing)" in err
    assert ran("gate", "new.parquet", "--gate", "mrr.toml", "--min-coverage", "0.5").code == 0


def test_gate_prints_all_checks_for_machines_passed_or_not(ran: Run) -> None:
    asked = ("gate", "poor.parquet", "--gate", "high.toml", "--format")
    code, out, err = ran(*asked, "json")
    assert (code, [(row["metric"], row["passed"], row["why"]) for row in json.loads(out)]) == (
        1,
        [("exact_match", False, "0.5 is below 0.9"), ("token_f1", True, None)],
    )
    assert err.startswith("1 of 2 checks fell short\n")
    header, *rows = csv.reader(io.StringIO(ran(*asked, "csv").out))
    assert header == ["run_id", "metric", "value", "rule", "n", "coverage", "passed", "why"]
    assert rows == [
        ["poor", "exact_match", "0.5", ">= 0.9", "2", "1.0", "False", "0.5 is below 0.9"],
        ["poor", "token_f1", "0.5", ">= 0.1", "2", "1.0", "True", ""],
    ]
    passing = ran("gate", "good.parquet", "--gate", "high.toml", "--format", "markdown")
    assert (passing.code, passing.err) == (0, "")
    assert passing.out.splitlines()[2] == "| good | exact_match | 1.0 | >= 0.9 | 2 | 1.0 | True |  |"


def test_an_empty_baseline_checks_nothing_and_does_not_pass(ran: Run) -> None:
    report = rf.read_report("good.parquet")
    report.scores.clear().write_parquet(
        "nothing.parquet", metadata=dict(pl.read_parquet_metadata("good.parquet").items())
    )
    code, out, err = ran("gate", "good.parquet", "--baseline", "nothing.parquet")
    assert (code, out, err) == (1, "", "nothing was checked\n")


# Errors.

RAG = ["rag", "good.jsonl", "--metrics", "exact_match"]
GATE = ["gate", "good.parquet"]


def _file(name: str, content: str | bytes) -> Callable[[], object]:
    return lambda: write(Path(name), content)


def _nothing() -> None:
    """Nothing needs to be there."""


ERRORS: dict[str, tuple[Callable[[], object], list[str], str]] = {
    "missing samples": (_nothing, ["rag", "absent.jsonl"], "no such file or folder: absent.jsonl"),
    "empty file": (_file("e.jsonl", ""), ["rag", "e.jsonl"], "e.jsonl: there are no samples to score"),
    "empty file beside a good one": (
        _file("e.jsonl", ""),
        ["rag", "good.jsonl", "e.jsonl"],
        "e.jsonl: there are no samples to score",
    ),
    "empty list": (_file("e.json", "[]"), ["rag", "e.json"], "e.json: there are no samples to score"),
    "empty JSON": (_file("e.json", ""), ["rag", "e.json"], "e.json"),
    "empty CSV": (_file("e.csv", ""), ["rag", "e.csv"], "e.csv: the file is empty"),
    "header alone": (_file("e.csv", "user_input,response\n"), ["rag", "e.csv"], "there are no samples to score"),
    "empty Parquet": (_file("e.parquet", ""), ["rag", "e.parquet"], "e.parquet: cannot be read as Parquet"),
    "all invalid": (
        _file("e.jsonl", '{"sample_id": null, "response": "x"}\n'),
        ["rag", "e.jsonl", "--invalid", "drop"],
        "there are no samples to score",
    ),
    "null ids": (
        _file("e.jsonl", '{"sample_id": null, "response": "x"}\n'),
        ["rag", "e.jsonl"],
        "; --invalid drop leaves them out",
    ),
    "a run": (
        _nothing,
        ["rag", str(HANDBOOK / "runs" / "bm25.trec")],
        "bm25.trec: samples are read from JSON lines, JSON, CSV and Parquet; its suffix says which this is",
    ),
    "a run as JSON": (_file("run.json", '{"q1": {"d1": 1.0}}'), ["rag", "run.json"], "no column of samples"),
    "a corpus": (_nothing, ["rag", str(HANDBOOK / "corpus.jsonl")], "no column of samples"),
    "a BEIR folder": (_nothing, ["rag", str(HANDBOOK)], "handbook"),
    "a report as samples": (_nothing, ["rag", "good.parquet"], "no column of samples"),
    "binary": (_file("b.jsonl", bytes(range(256)) * 9), ["rag", "b.jsonl"], "b.jsonl"),
    "Parquet garbage": (_file("b.parquet", b"PAR1" * 99), ["rag", "b.parquet"], "b.parquet"),
    "deep JSON": (_file("b.json", "[" * 100_000), ["rag", "b.json"], "b.json"),
    "one file twice": (
        _nothing,
        ["rag", "good.jsonl", "./good.jsonl"],
        "good.jsonl and good.jsonl both hold samples of 'good'; rename a file or its run_id",
    ),
    "one system in two files": (
        lambda: [_jsonl(name, [{"run_id": "x", "response": "y"}]) for name in ("a.jsonl", "b.jsonl")],
        ["rag", "a.jsonl", "b.jsonl"],
        "a.jsonl and b.jsonl both hold samples of 'x'",
    ),
    "a misspelt column": (
        _file("m.jsonl", '{"user_input": "x", "retreived_contexts": ["y"]}\n'),
        ["rag", "m.jsonl"],
        "did you mean 'retrieved_contexts'",
    ),
    "no separator": (_nothing, ["rag", "good.jsonl", "--lists", ""], "--lists '' is unknown; valid"),
    "unknown metric": (_nothing, ["rag", "absent.jsonl", "--metrics", "exact_mach"], "did you mean 'exact_match'"),
    "no metric": (_nothing, ["rag", "good.jsonl", "--metrics", ""], "metrics= is empty"),
    "a metric of queries": (_nothing, ["rag", "good.jsonl", "--metrics", "ndcg@10"], "'ndcg@10' scores queries"),
    "a metric of samples": (
        _nothing,
        ["evaluate", "absent.trec", "--qrels", "absent.txt", "--metrics", "token_f1"],
        "'token_f1' scores samples",
    ),
    "report nowhere": (_nothing, [*RAG, "--per-sample", "absent/report.parquet"], "absent/report.parquet"),
    "report over the samples": (
        lambda: pl.DataFrame(GOOD).write_parquet("s.parquet"),
        ["rag", "s.parquet", "--per-sample", "./s.parquet"],
        "--per-sample s.parquet would write over an input",
    ),
    "report over a part": (
        lambda: pl.DataFrame(GOOD).write_parquet("parts/0.parquet", mkdir=True),
        ["rag", "parts", "--per-sample", "parts/0.parquet"],
        "--per-sample parts/0.parquet would write into the samples in parts",
    ),
    "report beside the parts": (
        lambda: pl.DataFrame(GOOD).write_parquet("parts/0.parquet", mkdir=True),
        ["rag", "parts", "--per-sample", "./parts/report.parquet"],
        "--per-sample parts/report.parquet would write into the samples in parts",
    ),
    "report over the gate": (
        _nothing,
        [*RAG, "--gate", "half.toml", "--per-sample", "half.toml"],
        "would write over an input",
    ),
    "report over the baseline": (
        _nothing,
        [*RAG, "--baseline", "good.parquet", "--per-sample", "good.parquet"],
        "would write over an input",
    ),
    "missing gate": (_nothing, [*RAG, "--gate", "absent.toml"], "no gate at absent.toml"),
    "a gate that is none": (_file("g.toml", "exact_match ="), [*RAG, "--gate", "g.toml"], "cannot be read as TOML"),
    "a gate of unknown keys": (_file("g.toml", "exact_match = 0.9"), [*RAG, "--gate", "g.toml"], "unknown key"),
    "a gate of drops alone": (
        _file("g.toml", "max_drop = 0.1"),
        [*RAG, "--gate", "g.toml"],
        "g.toml has no thresholds, only max_drop, which goes with --baseline",
    ),
    "missing baseline": (_nothing, [*RAG, "--baseline", "absent.parquet"], "no report at absent.parquet"),
    "samples as a baseline": (_nothing, [*RAG, "--baseline", "good.jsonl"], "good.jsonl: cannot be read as Parquet"),
    "a drop without a baseline": (_nothing, [*RAG, "--max-drop", "0.1"], "--max-drop goes with --baseline"),
    "coverage without a gate": (_nothing, [*RAG, "--min-coverage", "1"], "--min-coverage goes with --gate or"),
    "a drop from below": (
        _nothing,
        [*GATE, "--baseline", "good.parquet", "--max-drop", "-1"],
        "--max-drop: a drop that is allowed is a number from 0, got -1",
    ),
    "no drop at all": (_nothing, [*GATE, "--baseline", "good.parquet", "--max-drop", "nan"], "--max-drop: a drop"),
    "coverage in percent": (
        _nothing,
        [*GATE, "--gate", "half.toml", "--min-coverage", "95"],
        "--min-coverage is a share from 0 to 1, got 95",
    ),
    "a gate of nothing": (_nothing, GATE, "give --gate, a file of thresholds, or --baseline, an earlier report"),
    "missing report": (_nothing, ["gate", "absent.parquet", "--gate", "half.toml"], "no report at absent.parquet"),
    "no report": (
        lambda: pl.DataFrame(GOOD).write_parquet("s.parquet"),
        ["gate", "s.parquet", "--gate", "half.toml"],
        "s.parquet: this Parquet file was not written by Report.write_parquet",
    ),
    "an empty report": (_file("e.parquet", ""), ["gate", "e.parquet", "--gate", "half.toml"], "e.parquet"),
    "no report as a baseline": (
        lambda: pl.DataFrame(GOOD).write_parquet("s.parquet"),
        [*GATE, "--baseline", "s.parquet"],
        "s.parquet: this Parquet file was not written by",
    ),
    "a baseline of queries": (
        lambda: rf.evaluate({"q": {"d": 1.0}}, {"q": {"d": 1}}, metrics="mrr").write_parquet("q.parquet"),
        [*GATE, "--baseline", "q.parquet"],
        "the baseline is per query and this report per sample",
    ),
    "scores and a baseline of queries": (
        lambda: rf.evaluate({"q": {"d": 1.0}}, {"q": {"d": 1}}, metrics="mrr").write_parquet("q.parquet"),
        [*RAG, "--baseline", "q.parquet"],
        "the baseline is per query and this report per sample",
    ),
    "a drop of an unknown metric": (
        _file("g.toml", "[max_drop]\nexact_mach = 0.1\n"),
        [*GATE, "--baseline", "good.parquet", "--gate", "g.toml"],
        "did you mean 'exact_match'",
    ),
}


@pytest.mark.parametrize("how", ERRORS)
def test_bad_input_is_one_line_of_error_and_exit_2(how: str, ran: Run) -> None:
    """No traceback, nothing on standard output, and the line names what is wrong."""
    prepare, arguments, said = ERRORS[how]
    prepare()
    code, out, err = ran(*arguments)
    assert (code, out) == (2, "")
    assert err.startswith("error: ")
    assert len(err.splitlines()) == 1
    assert said in err


@pytest.mark.parametrize(
    ("python", "option"),
    [
        ('invalid="drop" leaves such lines out', "--invalid drop leaves such lines out"),
        ('duplicates="best" keeps the highest', "--duplicates best keeps the highest"),
        ('lists="json" decodes it', "--lists json decodes it"),
        ('lists="|" decodes it', '--lists "|" decodes it'),
        ("lists= decodes lists", "--lists decodes lists"),
        ("lists='' is unknown", "--lists '' is unknown"),
        ("legacy=True reads them so, and", "--legacy reads them so, and"),
        ("min_coverage=0.5 lets it pass", "--min-coverage 0.5 lets it pass"),
        ("max_drop=0.1 lets it pass", "--max-drop 0.1 lets it pass"),
        ("thresholds, or baseline=", "thresholds, or --baseline"),
        ("CSV and Parquet; format= says which", "CSV and Parquet; its suffix says which"),
        ("gate.toml: max_drop is a table", "gate.toml: max_drop is a table"),
        ("two\n  lines", "two lines"),
    ],
)
def test_messages_speak_of_options(python: str, option: str) -> None:
    assert spelled(python) == option


# As a program.


def _program(*arguments: str) -> subprocess.CompletedProcess[str]:
    """A real run of the program, with warnings as errors."""
    command = [sys.executable, "-W", "error", "-m", "rankframe", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_the_program_exits_with_0_1_and_2() -> None:
    scored = _program("rag", SAMPLES, "--metrics", "token_f1", "--per-sample", "new.parquet")
    assert (scored.returncode, scored.stderr) == (0, "")
    assert scored.stdout == "metric    careful  fluent\ntoken_f1   0.4889  0.3908\n\nover 50 samples\n"
    write(Path("gate.toml"), "[metrics]\ntoken_f1 = 0.4\n")
    gated = _program("gate", "new.parquet", "--gate", "gate.toml")
    assert (gated.returncode, gated.stdout) == (1, "")
    assert gated.stderr == (
        "1 of 2 checks fell short\n"
        "run_id  metric     value  rule     n  coverage  why\n"
        "fluent  token_f1  0.3908  >= 0.4  50    1.0000  0.3908 is below 0.4\n"
    )
    refused = _program("gate", "absent.parquet", "--gate", "gate.toml")
    assert (refused.returncode, refused.stdout) == (2, "")
    assert refused.stderr == "error: no report at absent.parquet\n"


def test_the_command_line_starts_without_polars() -> None:
    code = "import rankframe.cli, sys; print(*sys.modules)"
    environment = {**os.environ, "PYTHONWARNINGS": "error"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    loaded = set(done.stdout.split())
    assert "typer" in loaded
    assert (
        loaded & {"polars", "numpy", "pyarrow", "tqdm", "rankframe.io", "rankframe.metrics", "rankframe.rag"} == set()
    )


@pytest.mark.parametrize("command", ["rag", "gate"])
def test_help_names_the_options(printed: Printed, command: str) -> None:
    told = printed(command, "--help")
    shared = ["--gate", "--baseline", "--max-drop", "--min-coverage", "--format"]
    own = ["--metrics", "--per-sample", "--lists", "--legacy", "--invalid"]
    assert [option for option in [*shared, *own] if f"  {option} " in told] == shared + (
        own if command == "rag" else []
    )
