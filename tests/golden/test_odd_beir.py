"""The odd shapes of public files: each is read, or refused, and gives the values of independent tools."""

from __future__ import annotations

from typing import Literal

import polars as pl
import pytest

import rankframe as rf
from tests.golden.shared import GOLDEN, present
from tests.golden.test_values import ir_measures, trec, trec10

ODD = GOLDEN / "odd_beir"
STANDARD = [("q1", "d1", 2.0), ("q1", "d3", 0.0), ("q2", "d2", 1.0)]

pytestmark = present


@pytest.mark.parametrize(
    "folder", ["01_no_title", "02_id_key", "05_metadata", "08_blank_lines", "09_bom_crlf", "16_hf_parquet"]
)
def test_folders_of_the_same_content(folder: str) -> None:
    beir = rf.read_beir(ODD / folder)
    assert beir.qrels.rows() == STANDARD
    assert beir.queries.select("query_id", "text").rows() == [("q1", "red kite"), ("q2", "blue boat")]
    assert beir.corpus["doc_id"].to_list() == ["d1", "d2", "d3"]
    assert beir.corpus["text"].to_list()[:2] == ["A red kite.", "A blue boat."]


@pytest.mark.parametrize("folder", ["03_integer_ids", "17_hf_parquet_numeric"])
def test_integer_ids_are_text(folder: str) -> None:
    beir = rf.read_beir(ODD / folder)
    assert beir.qrels.rows() == [("7", "1", 2.0), ("7", "300", 0.0), ("8", "20", 1.0)]
    assert beir.corpus["doc_id"].to_list() == ["1", "20", "300"]
    assert beir.queries["query_id"].to_list() == ["7", "8"]


def test_leading_zeros_and_exponents_stay() -> None:
    beir = rf.read_beir(ODD / "04_leading_zeros")
    assert beir.corpus["doc_id"].to_list() == ["007", "7", "1e3", "1000"]
    assert beir.qrels.rows() == [("01", "007", 1.0), ("1", "7", 1.0), ("1", "1e3", 2.0)]


def test_metadata_is_kept() -> None:
    beir = rf.read_beir(ODD / "05_metadata")
    assert beir.corpus["title"].to_list() == ["Kite", None, "Stone"]
    assert beir.corpus["extra"].to_list() == [None, None, 1.5]
    first, _, third = beir.corpus["metadata"].to_list()
    assert (first["url"], first["year"], third["tags"]) == ("http://x.example/1", 2001, ["a", "b"])
    assert beir.queries["metadata"].to_list()[0] == {"query_id": "x", "split": "test"}


@pytest.mark.parametrize("name", ["doc", "none", "qid", "reordered", "standard", "underscore"])
def test_header_variants(name: str) -> None:
    assert rf.read_qrels(ODD / "06_header_variants" / f"{name}.tsv").rows() == STANDARD


@pytest.mark.parametrize("name", ["spaces", "test"])
def test_trec_qrels_named_tsv(name: str) -> None:
    assert rf.read_qrels(ODD / "07_trec_qrels_named_tsv" / f"{name}.tsv").rows() == STANDARD


def test_ids_with_blanks_and_letters() -> None:
    beir = rf.read_beir(ODD / "10_spaces_unicode_ids")
    assert beir.qrels["doc_id"].to_list() == ["Ada Example", "Kříž/2–3", "<x:Ring_(song)>"]
    assert set(beir.qrels["query_id"]) == set(beir.queries["query_id"])


def test_qrels_as_json_lines() -> None:
    assert rf.read_qrels(ODD / "11_qrels_jsonl").rows() == STANDARD


def test_repeated_judgments() -> None:
    assert rf.read_qrels(ODD / "12_duplicates/equal.tsv").height == 4
    with pytest.raises(rf.DataError, match=r"conflicting\.tsv: 1 pair judged .*\(q1, d1\) as 2 and 1 on lines 2 and 5"):
        rf.read_qrels(ODD / "12_duplicates/conflicting.tsv")


def test_grades() -> None:
    assert rf.read_qrels(ODD / "13_grades/float.tsv").rows() == STANDARD
    assert rf.read_qrels(ODD / "13_grades/fraction.tsv")["relevance"].to_list() == [0.5, 1.0]
    assert rf.read_qrels(ODD / "13_grades/negative.tsv")["relevance"].to_list() == [2.0, -2.0, -1.0]


def test_dangling_judgments_are_kept_and_told() -> None:
    beir = rf.read_beir(ODD / "14_dangling")
    assert beir.qrels.height == 5
    told = rf.check({"q1": {"d1": 1.0}}, beir)
    assert told.filter(reason="not_in_corpus")["examples"].to_list() == [["d99"]]
    assert told.filter(reason="not_in_queries")["examples"].to_list() == [["q9"]]


def test_splits() -> None:
    folder = ODD / "15_splits"
    for split in (None, "test", "dev", "train"):
        assert rf.read_qrels(folder, split=split).rows() == STANDARD
    with pytest.raises(FileNotFoundError, match="'dev', 'test', 'train'"):
        rf.read_qrels(folder, split="validation")


def expected(name: str) -> pl.DataFrame:
    return pl.read_csv(ODD / name, separator="\t", schema_overrides={"query_id": pl.String})


RUNS = ["comments", "crlf", "float32_tie", "header", "interleaved", "plain", "rank_contradicts_score", "rank_zero",
        "scientific", "tabs", "tag_with_space", "ties"]  # fmt: skip


@pytest.mark.parametrize("name", RUNS)
def test_runs(name: str) -> None:
    check_run(f"{name}.trec", "error")


def test_run_with_nan() -> None:
    with pytest.raises(rf.DataError, match=r'nan_inf\.trec: 1 NaN score.*\(q1, d2\) on line 2; invalid="drop"'):
        rf.read_run(ODD / "18_runs/nan_inf.trec")
    check_run("nan_inf.trec", "drop")


def test_run_with_a_document_twice() -> None:
    with pytest.raises(rf.DataError, match=r'\(q1, d1\); duplicates="best"'):
        rf.evaluate(ODD / "18_runs/duplicate_document.trec", ODD / "18_runs_qrels.txt")


def test_runs_of_other_shapes() -> None:
    pairs = [("q1", "d1"), ("q1", "d2"), ("q2", "d2")]
    for name in ("five_columns.trec", "nested.json"):
        assert rf.read_run(ODD / "18_runs" / name).select("query_id", "doc_id").rows() == pairs
    msmarco = rf.read_run(ODD / "18_runs/msmarco.tsv", format="msmarco")
    assert msmarco.rows() == [("q1", "d1", -1.0, 1), ("q1", "d2", -2.0, 2), ("q2", "d2", -1.0, 1)]
    with pytest.raises(rf.DataError, match=r'three columns without a header.*format="msmarco"'):
        rf.read_run(ODD / "18_runs/msmarco.tsv")
    assert rf.read_run(ODD / "18_runs/empty.trec").is_empty()


def check_run(name: str, invalid: Literal["error", "drop"]) -> None:
    values = expected("18_runs_expected.tsv").filter(file=name)
    for tool, single in (("trec_eval 10.0-rc3", False), ("pytrec_eval 0.5.11", True)):
        golden = values.filter(tool=tool)
        if golden.is_empty():  # pytrec_eval takes no header line
            assert (tool, name) == ("pytrec_eval 0.5.11", "header.trec")
            continue
        if name == "nan_inf.trec":  # the tools rank the NaN of q1 first; without its row only q2 is as they say
            golden = golden.filter(query_id="q2")
        metrics = {m: trec(m) for m in golden["measure"].unique()}
        if invalid == "drop":
            with pytest.warns(rf.RankframeWarning, match="dropped on request"):
                run = rf.read_run(ODD / "18_runs" / name, invalid="drop")
        else:
            run = rf.read_run(ODD / "18_runs" / name)
        if single:
            run = run.with_columns(pl.col("score").cast(pl.Float32))
        report = rf.evaluate(
            run, ODD / "18_runs_qrels.txt", metrics=[m for m in metrics.values() if m], convention="trec_eval"
        )
        for measure, query, value in golden.select("measure", "query_id", "value").iter_rows():
            ours = metrics[measure]
            if ours is None:  # num_q
                assert value == report.summary["n"][0]
                continue
            got = report.scores.filter(query_id=query)[ours.name].item() if query else report.value(ours.name)
            assert value == pytest.approx(got, abs=1e-9), (tool, measure, query)
        assert golden.height >= 9


def _counts_no_relevant(measure: str, query: str | None) -> bool:
    """ir_measures adds 0 relevant documents for a query that the run misses, where ours adds them (definitions 3)."""
    return measure == "NumRel" and query in (None, "missing_from_run")


def test_edge_cases() -> None:
    values = expected("19_edge_cases/expected.tsv")
    compared = 0
    for tool, convert, convention in (
        ("trec_eval 10.0-rc3 -c", trec10, "trec_eval_c"),
        ("trec_eval 9.0.8", trec, "trec_eval"),
        ("pytrec_eval 0.5.11", trec, "trec_eval"),
        ("ir_measures 0.4.3", ir_measures, "ir_measures"),
    ):
        golden = values.filter(tool=tool)
        metrics = {measure: convert(measure) for measure in golden["measure"].unique()}
        asked = {measure: metric for measure, metric in metrics.items() if metric}
        report = rf.evaluate(
            ODD / "19_edge_cases/run.trec",
            ODD / "19_edge_cases/qrels.txt",
            metrics=list(asked.values()),
            convention=convention,
        )
        for measure, query, value in golden.select("measure", "query_id", "value").iter_rows():
            if measure not in asked or (measure == "gm_map" and query) or _counts_no_relevant(measure, query):
                continue
            ours = asked[measure]
            if query:
                got = report.scores.filter(query_id=query)[ours.name].item()
            else:
                got = report.summary.filter(metric=ours.name, aggregate=ours.aggregate)["value"].item()
            assert value == pytest.approx(got, abs=1e-9), (tool, measure, query)
            compared += 1
    assert compared > 500
