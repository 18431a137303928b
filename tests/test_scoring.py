"""`evaluate`: every form of runs, every rule of who counts, the caller's own metrics."""

from __future__ import annotations

import contextlib
import json
import math
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pytest

import rankframe as rf
from rankframe.metrics import CONVENTIONS
from tests.cases.helpers import ledger, per_query, write
from tests.shown import shown

QRELS = {"q1": {"a": 1, "b": 0}, "q2": {"b": 2}}
RUN = {"q1": {"a": 1.0, "b": 2.0}, "q2": {"b": 1.0}}
FRAME = rf.read_run(RUN)
TWO = pl.concat([FRAME.with_columns(run_id=pl.lit(name)) for name in ("y", "x")])


def _runs(runs: object, **options: Any) -> list[str]:
    """The names of the runs of a report, of which each must have the same values."""
    report = rf.evaluate(runs, QRELS, metrics="mrr", **options)
    assert [0.75] * len(report.runs) == report.summary["value"].to_list()
    return report.runs


# Which runs there are, and what they are called.


@pytest.mark.parametrize(
    ("runs", "names"),
    [
        (RUN, ["run"]),
        (FRAME, ["run"]),
        (FRAME.lazy(), ["run"]),
        (FRAME.to_pandas(), ["run"]),
        (FRAME.to_arrow(), ["run"]),
        (FRAME.to_dicts(), ["run"]),
        (TWO, ["x", "y"]),
        (TWO.lazy(), ["x", "y"]),
        (TWO.to_pandas(), ["x", "y"]),
        (TWO.filter(run_id="x"), ["x"]),
        (TWO.with_columns(pl.col("run_id").cast(pl.Categorical)), ["x", "y"]),
        (TWO.with_columns(run_id=pl.when(run_id="x").then(1).otherwise(2)), ["1", "2"]),
        ({"one": RUN}, ["one"]),
        ({"two": FRAME, "one": RUN, "three": FRAME.lazy()}, ["one", "three", "two"]),
        ({"one": TWO}, ["one/x", "one/y"]),
        ({"one": TWO.filter(run_id="x")}, ["one"]),
        ({"one": FRAME.to_dicts()}, ["one"]),
    ],
    ids=[
        *("mapping", "frame", "lazy", "pandas", "arrow", "records", "two in a frame", "two lazy", "two in pandas"),
        *("one of two", "categories", "numbers"),
        *("named mapping", "several", "named frame of two", "named frame of one", "named records"),
    ],
)
def test_runs_in_memory(runs: object, names: list[str]) -> None:
    """The mapping's name, else the column run_id, else `run`."""
    assert names == _runs(runs)


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """A folder of run files."""
    rf.write_run(RUN, tmp_path / "bm25.trec")
    rf.write_run(RUN, tmp_path / "dense.v2.parquet")
    rf.write_run(RUN, tmp_path / "sparse.jsonl.gz")
    rf.write_run(RUN, tmp_path / "nested.json")
    rf.write_run(RUN, tmp_path / "plain")
    rf.write_run(RUN, tmp_path / "sub" / "bm25.trec")
    (tmp_path / "shards").mkdir()
    FRAME.write_parquet(tmp_path / "shards" / "0.parquet")
    TWO.write_parquet(tmp_path / "two.parquet")
    TWO.filter(run_id="x").write_csv(tmp_path / "one.csv")
    return tmp_path


@pytest.mark.parametrize(
    ("name", "names"),
    [
        ("bm25.trec", ["bm25"]),
        ("dense.v2.parquet", ["dense.v2"]),
        ("sparse.jsonl.gz", ["sparse"]),
        ("nested.json", ["nested"]),
        ("plain", ["plain"]),
        ("shards", ["shards"]),
        ("two.parquet", ["x", "y"]),
        ("one.csv", ["x"]),
    ],
)
def test_runs_in_files_are_called_after_their_column_or_file(name: str, names: list[str], files: Path) -> None:
    for path in (files / name, str(files / name), [files / name], (str(files / name),)):
        assert names == _runs(path)


def test_lists_are_of_paths(files: Path) -> None:
    assert _runs([files / "two.parquet", str(files / "bm25.trec"), files / "dense.v2.parquet"]) == [
        "bm25",
        "dense.v2",
        "x",
        "y",
    ]
    for several in ([FRAME, FRAME], [files / "bm25.trec", FRAME]):
        with pytest.raises(rf.DataError, match=r"a list of \w+ is no run; name several, as in evaluate"):
            rf.evaluate(several, QRELS)
    others: list[Any] = [[], {files / "bm25.trec"}, None, 3]
    for bad in others:
        with pytest.raises(rf.DataError, match="expected a path, a mapping, or a frame"):
            rf.evaluate(bad, QRELS)


def test_a_name_given_counts_before_the_one_in_the_file(files: Path) -> None:
    """The mapping key is the name of the run, whatever column or file it comes from."""
    assert _runs({"mine": files / "bm25.trec"}) == ["mine"]
    assert _runs({"mine": files / "one.csv"}) == ["mine"]
    assert _runs({"mine": files / "two.parquet"}) == ["mine/x", "mine/y"]


@pytest.mark.parametrize("name", ["", " ", "a/b", "é🦊", "run", "x" * 300, "\x00", "2"], ids=repr)
def test_names_of_any_look_are_kept(name: str) -> None:
    assert [name] == _runs({name: RUN})
    assert [name] == _runs(FRAME.with_columns(run_id=pl.lit(name)))


def test_equal_names_are_refused(files: Path) -> None:
    with pytest.raises(rf.DataError, match="two runs are called 'bm25'; give names"):
        rf.evaluate([files / "bm25.trec", files / "sub" / "bm25.trec"], QRELS)
    with pytest.raises(rf.DataError, match="two runs are called 'one/x'"):
        rf.evaluate({"one": TWO, "one/x": FRAME}, QRELS)


@pytest.mark.parametrize("name", [1, None, ("a",), "\ud800"], ids=ascii)
def test_names_that_are_no_text_are_refused(name: Any) -> None:
    with pytest.raises(rf.DataError, match="name of a run"):
        rf.evaluate({name: FRAME}, QRELS)


def test_a_mapping_is_one_run_where_its_values_map_documents_to_scores() -> None:
    """Empty ones among them; where a value maps to mappings, it is name -> run."""
    assert rf.evaluate({"q1": {}, "q2": {"b": 1.0}}, QRELS).runs == ["run"]
    assert rf.evaluate({"q1": {"a": 1.0}, "q2": {}}, QRELS).runs == ["run"]
    assert rf.evaluate({"one": {"q1": {}, "q2": {"b": 1.0}}, "two": RUN}, QRELS).runs == ["one", "two"]
    with pytest.raises(rf.DataError, match="expected a mapping"):
        rf.evaluate({"q1": {"a": 1.0}, "other": FRAME}, QRELS)


def test_an_empty_run_among_several_has_its_name_and_zeros() -> None:
    with pytest.warns(rf.RankframeWarning, match="the run 'none' is empty"):
        report = rf.evaluate({"none": {}, "all": RUN}, QRELS, metrics="mrr")
    assert report.summary.select("run_id", "value").rows() == [("all", 0.75), ("none", 0.0)]
    assert report.scores.filter(run_id="none")["status"].to_list() == ["missing", "missing"]


def test_judgments_of_every_form(tmp_path: Path) -> None:
    frame = rf.read_qrels(QRELS)
    rf.write_beir(tmp_path / "set", {"a": "x", "b": "y"}, {"q1": "x", "q2": "y"}, QRELS)
    rf.write_qrels(QRELS, tmp_path / "qrels.trec")
    for qrels in (QRELS, frame, frame.lazy(), frame.to_pandas(), tmp_path / "qrels.trec", tmp_path / "set"):
        assert rf.evaluate(RUN, qrels, metrics="mrr").value("mrr") == 0.75


# Who counts.

JUDGED = {"ok": {"a": 1}, "none": {"b": 0}, "missing": {"c": 1}, "silent": {"d": 1}, "none missing": {"e": 0}}
FOUND: dict[str, dict[str, float]] = {"ok": {"a": 1.0}, "none": {"b": 1.0}, "silent": {}, "unjudged": {"z": 1.0}}


def _population(**options: Any) -> dict[str, float | None]:
    return per_query(rf.evaluate(FOUND, JUDGED, metrics="mrr", **options), "mrr")


@pytest.mark.parametrize(
    ("missing", "no_relevant", "counted"),
    [
        ("zero", "skip", {"ok", "missing", "silent"}),
        ("skip", "skip", {"ok", "silent"}),
        ("zero", "zero", {"ok", "none", "missing", "silent", "none missing"}),
        ("skip", "zero", {"ok", "none", "silent"}),
    ],
)
def test_queries_count_as_zero_or_are_left_out(missing: Any, no_relevant: Any, counted: set[str]) -> None:
    """A query that was asked and returned nothing is 0 under every rule."""
    scores = _population(missing=missing, no_relevant=no_relevant)
    assert counted == {query for query, score in scores.items() if score is not None}
    assert {1.0 if query == "ok" else 0.0 for query in counted} == {scores[query] for query in counted}
    assert set(JUDGED) == set(scores)


@pytest.mark.parametrize(
    ("convention", "missing", "no_relevant", "self_hits"),
    [
        ("documented", "zero", "skip", "keep"),
        ("trec_eval", "skip", "zero", "keep"),
        ("trec_eval_c", "zero", "zero", "keep"),
        ("ir_measures", "zero", "zero", "keep"),
        ("beir", "skip", "zero", "drop"),
    ],
)
def test_conventions_are_names_of_options(convention: str, missing: Any, no_relevant: Any, self_hits: Any) -> None:
    options = {"missing": missing, "no_relevant": no_relevant, "self_hits": self_hits}
    report = rf.evaluate(FOUND, JUDGED, metrics="mrr", convention=convention)
    assert report.scores.equals(rf.evaluate(FOUND, JUDGED, metrics="mrr", **options).scores)
    assert {"convention": convention, **options}.items() <= report.options.items()


@pytest.mark.parametrize("convention", CONVENTIONS)
@pytest.mark.parametrize("option", ["zero", "skip"])
def test_an_option_counts_before_the_convention(convention: str, option: Any) -> None:
    report = rf.evaluate(FOUND, JUDGED, metrics="mrr", convention=convention, missing=option, no_relevant=option)
    assert (3 if option == "zero" else 2) + (option == "zero") * 2 == report.summary["n"].item()


def test_status_says_why_a_row_counts_or_not() -> None:
    """not_asked before no_relevant before missing; a query that returned nothing is ok."""
    statuses = per_query(rf.evaluate(FOUND, JUDGED), "status")
    assert statuses == {
        "ok": "ok",
        "none": "no_relevant",
        "missing": "missing",
        "silent": "ok",
        "none missing": "no_relevant",
    }
    asked = rf.evaluate(FOUND, JUDGED, queries=["ok", "none missing"])
    assert per_query(asked, "status") == {
        "ok": "ok",
        "none": "not_asked",
        "missing": "not_asked",
        "silent": "not_asked",
        "none missing": "no_relevant",
    }
    for options in ({"no_relevant": "zero"}, {"missing": "skip"}, {"convention": "beir"}):
        assert statuses == per_query(rf.evaluate(FOUND, JUDGED, **options), "status")  # type: ignore[arg-type]


def test_the_ledger_counts_what_was_left_out() -> None:
    assert ledger(rf.evaluate(FOUND, JUDGED)) == {
        "missing_query": (2, ["missing", "none missing"]),
        "no_relevant": (2, ["none", "none missing"]),
        "no_results": (1, ["silent"]),
        "unjudged_query": (1, ["unjudged"]),
    }


@pytest.mark.parametrize("convention", CONVENTIONS)
def test_a_run_that_returned_nothing_is_zero_under_every_rule(convention: str) -> None:
    """An empty run is warned of; its asked queries are not missing, and the warning does not say so."""
    with pytest.warns(rf.RankframeWarning) as caught:
        report = rf.evaluate({"silent": {}}, {"silent": {"d": 1}}, metrics=["mrr", "judged@5"], convention=convention)
    assert report.summary["value"].to_list() == [0.0, 0.0]
    assert report.summary.select("n", "n_missing").rows() == [(1, 0)] * 2
    assert report.scores["status"].to_list() == ["ok"]
    assert ledger(report) == {"no_results": (1, ["silent"])}
    assert not any("missing" in str(warning.message) for warning in caught)


def test_beir_drops_self_hits_skips_missing_and_counts_no_relevant_as_zero() -> None:
    """Worked by hand: q1 finds itself first, which goes; q2 is missing; q3 has nothing relevant.

    q1 without itself: x at 1, a (grade 2) at 2, b (grade 1) at 3.
    """
    qrels = {"q1": {"a": 2, "b": 1, "q1": 1}, "q2": {"a": 1}, "q3": {"c": 0}}
    run = {"q1": {"q1": 9.0, "x": 5.0, "a": 4.0, "b": 3.0}, "q3": {"c": 1.0, "q3": 2.0}}
    names = ["ndcg@3", "recall@3", "P@1", "mrr"]
    report = rf.evaluate(run, qrels, metrics=names, convention="beir")
    ideal = 2 + 1 / math.log2(3) + 1 / math.log2(4)
    ndcg = (2 / math.log2(3) + 1 / math.log2(4)) / ideal
    q1 = report.scores.filter(query_id="q1").row(0, named=True)
    assert (q1["n_ret"], q1["n_rel"], q1["n_judged"]) == (3, 3, 2)
    assert pytest.approx(ndcg) == q1["ndcg@3"]
    assert pytest.approx([ndcg / 2, 1 / 3, 0.0, 0.25]) == [report.value(name) for name in names]
    assert report.summary["n"].to_list() == [2] * 4
    assert ledger(report)["self_hit_dropped"] == (2, ["(q1, q1)", "(q3, q3)"])
    assert per_query(report, "status") == {"q1": "ok", "q2": "missing", "q3": "no_relevant"}
    kept = rf.evaluate(run, qrels, metrics="mrr", convention="beir", self_hits="keep")
    assert per_query(kept, "mrr") == {"q1": 1.0, "q2": None, "q3": 0.0}


def test_a_query_left_without_documents_by_self_hits_scores_zero() -> None:
    """It was asked, and returned nothing that counts; trec_eval is not told of it, and would not count it."""
    report = rf.evaluate(
        {"q": {"q": 1.0}, "r": {"a": 1.0}}, {"q": {"a": 1}, "r": {"a": 1}}, metrics="mrr", self_hits="drop"
    )
    assert per_query(report, "mrr") == {"q": 0.0, "r": 1.0}
    assert ledger(report)["self_hit_dropped"][0] == 1


@pytest.mark.parametrize("convention", CONVENTIONS)
def test_a_run_of_nothing_but_self_hits_has_its_queries_in_common(convention: str) -> None:
    """What was dropped was dropped on request; no id is wrong."""
    report = rf.evaluate({"q": {"q": 1.0}}, {"q": {"a": 1}}, metrics="mrr", convention=convention, self_hits="drop")
    assert per_query(report, "mrr")["q"] in (0.0, None)
    assert ledger(report)["self_hit_dropped"] == (1, ["(q, q)"])


@pytest.mark.parametrize("empty", [{}, {"a": 1.0}], ids=["nothing", "something"])
def test_a_query_whose_id_is_null_is_refused_whatever_it_returned(empty: dict[str, float]) -> None:
    with pytest.raises(rf.DataError, match="null query_id"):
        rf.evaluate({None: empty, "q1": {"a": 1.0}}, QRELS)


# Which queries are asked.

ASKED: dict[str, Any] = {
    "list": ["q1"],
    "tuple": ("q1",),
    "set": {"q1"},
    "generator": (query for query in ["q1"]),
    "twice": ["q1", "q1"],
    "others": ["q1", "q7", "q8"],
    "mapping": {"q1": "text"},
    "keys": {"q1": "text"}.keys(),
    "series": pl.Series(["q1"]),
    "frame": pl.DataFrame({"query_id": ["q1"], "text": ["text"]}),
    "alias": pl.DataFrame({"_id": ["q1"]}),
    "lazy": pl.LazyFrame({"qid": ["q1"]}),
    "records": [{"query_id": "q1"}],
    "pandas": pd.DataFrame({"qid": ["q1"]}),
    "pandas index": pd.DataFrame({"text": ["text"]}, index=pd.Index(["q1"], name="query_id")),
    "pandas column": pd.DataFrame({"qid": ["q1"]})["qid"],
    "pandas array": pd.Index(["q1"]),
    "array": pd.Series(["q1"], dtype=object).to_numpy(),
    "categories": pl.Series(["q1"], dtype=pl.Categorical),
    "arrow": pl.Series(["q1"]).to_arrow(),
}


@pytest.mark.parametrize("form", ASKED)
def test_queries_narrow_the_population(form: str) -> None:
    report = rf.evaluate(RUN, QRELS, metrics="mrr", queries=ASKED[form])
    assert per_query(report, "mrr") == {"q1": 0.5, "q2": None}
    assert per_query(report, "status") == {"q1": "ok", "q2": "not_asked"}
    assert ledger(report) == {"not_asked": (1, ["q2"])}


@pytest.mark.parametrize("suffix", ["jsonl", "csv", "tsv", "parquet"])
def test_queries_of_a_file_narrow_the_population(suffix: str, tmp_path: Path) -> None:
    rf.write_queries({"q1": "text"}, tmp_path / f"queries.{suffix}")
    report = rf.evaluate(RUN, QRELS, metrics="mrr", queries=tmp_path / f"queries.{suffix}")
    assert per_query(report, "mrr") == {"q1": 0.5, "q2": None}


def test_whole_numbers_are_asked_as_text() -> None:
    report = rf.evaluate({1: {"a": 1.0}, 2: {"a": 1.0}}, {1: {"a": 1}, 2: {"a": 1}}, metrics="mrr", queries=[1])
    assert per_query(report, "mrr") == {"1": 1.0, "2": None}


@pytest.mark.parametrize(
    ("queries", "said"),
    [
        (["q7"], "queries= has no judged query; queries: 'q7', judgments: 'q1', 'q2'"),
        ([], "queries= has no judged query"),
        ([1.0], "'query_id' holds 1.0"),
        ([True], "'query_id' holds True"),
        ([["q1"]], "'query_id' holds"),
        ([None], "1 record without query_id"),
        (pl.Series([["q1"]]), "'query_id' is List"),
        (pl.DataFrame({"text": ["q1"]}), "no column 'query_id'"),
        (3, "queries= takes ids or a frame"),
    ],
    ids=["other", "none", "fraction", "truth", "list", "null", "series of lists", "no ids", "number"],
)
def test_queries_that_cannot_be_meant_are_refused(queries: Any, said: str) -> None:
    with pytest.raises(rf.DataError, match=said):
        rf.evaluate(RUN, QRELS, queries=queries)


@pytest.mark.parametrize(
    "corpus",
    [{"a": "text"}, ["a"], {"a"}, pl.Series(["a"]), pl.DataFrame({"_id": ["a"], "text": ["x"]}), pd.Index(["a"])],
    ids=["mapping", "list", "set", "series", "frame", "pandas array"],
)
def test_judged_documents_that_a_corpus_lacks_are_in_the_ledger(corpus: Any) -> None:
    """And change no score."""
    report = rf.evaluate(RUN, QRELS, metrics="mrr", corpus=corpus)
    assert ledger(report) == {"not_in_corpus": (1, ["b"])}
    assert report.value("mrr") == 0.75


# What is refused before anything is read.


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"metrics": "nope"}, "unknown metric 'nope'"),
        ({"metrics": ["ndcg@10", "mpa"]}, "unknown metric 'mpa': did you mean 'map'"),
        ({"metrics": "ndcg@0"}, "a cutoff is a whole number from 1, got '0'"),
        ({"metrics": "rbp(p=2)"}, "p=2 is outside of"),
        ({"metrics": "capped_recall"}, "needs a cutoff"),
        ({"metrics": []}, "metrics= is empty"),
        ({"metrics": None}, "metrics= takes names"),
        ({"metrics": 3}, "metrics= takes names"),
        ({"metrics": [None]}, "a metric is a name or a Metric, got None"),
        ({"metrics": [rf.metrics.ndcg]}, "a metric is a name or a Metric"),
        ({"metrics": "accuracy"}, "different numbers to different tools"),
        ({"metrics": "rbp", "convention": "trec_eval"}, "'rbp' of trec_eval has no counterpart"),
        ({"convention": "trec"}, "unknown convention 'trec': did you mean 'trec_eval'"),
        ({"convention": None}, "unknown convention None"),
        ({"missing": "drop"}, "missing='drop'; valid: zero, skip"),
        ({"no_relevant": 0}, "no_relevant=0; valid: zero, skip"),
        ({"self_hits": "zero"}, "self_hits='zero'; valid: keep, drop"),
    ],
    ids=lambda value: "" if isinstance(value, str) else shown(value),
)
def test_metrics_and_conventions_are_refused_before_anything_is_read(options: dict[str, Any], said: str) -> None:
    """The paths do not exist, and nobody looked."""
    with pytest.raises(rf.MetricError, match=said):
        rf.evaluate("absent/run.trec", "absent/qrels.tsv", **options)


@pytest.mark.parametrize("option", ["duplicates", "invalid"])
def test_choices_are_refused_before_anything_is_read(option: str) -> None:
    options: dict[str, Any] = {option: "ignore"}
    with pytest.raises(rf.DataError, match=f"{option}='ignore' is unknown"):
        rf.evaluate("absent/run.trec", "absent/qrels.tsv", **options)


@pytest.mark.parametrize("cutoff", [0, -1, 1.5, True, "10"], ids=repr)
def test_cutoffs_of_check_are_refused_before_anything_is_read(cutoff: Any) -> None:
    with pytest.raises(rf.MetricError, match="a cutoff is a whole number from 1"):
        rf.check("absent/run.trec", "absent/qrels.tsv", cutoff=cutoff)


def test_two_metrics_of_one_name_are_refused_before_anything_is_read() -> None:
    one, other = rf.Metric("mine", pl.col("rank").min()), rf.Metric("mine", pl.col("rank").max())
    with pytest.raises(rf.MetricError, match="two metrics are called 'mine'"):
        rf.evaluate("absent", "absent", metrics=[one, other])


def test_paths_that_do_not_exist_are_named() -> None:
    with pytest.raises(FileNotFoundError, match="absent-qrels"):
        rf.evaluate("absent-run", "absent-qrels")
    with pytest.raises(FileNotFoundError, match="absent-run"):
        rf.evaluate("absent-run", QRELS)


# Names of metrics.


def test_names_and_objects_stand_beside_each_other_each_once() -> None:
    mine = rf.Metric("mine", pl.lit(1.0))
    metrics: list[str | rf.Metric] = ["ndcg@10", rf.metrics.rbp(p=0.5), mine, "nDCG@10", "ndcg_cut_10", mine]
    assert rf.evaluate(RUN, QRELS, metrics=metrics).summary["metric"].to_list() == ["ndcg@10", "rbp(p=0.5)", "mine"]


def test_without_metrics_there_are_the_documented_six() -> None:
    right = ["ndcg@10", "recall@100", "mrr@10", "map", "precision@10", "judged@10"]
    assert right == rf.evaluate(RUN, QRELS).summary["metric"].to_list()


def test_the_largest_grade_is_bound_from_all_judgments_and_the_column_says_so() -> None:
    """Of queries that are not asked too; what was asked and what was delivered are one metric."""
    report = rf.evaluate(RUN, QRELS | {"q3": {"z": 3.5}}, metrics=["ERR@10", "nerr@5"], queries=["q1"])
    assert report.summary["metric"].to_list() == ["err(max_grade=3.5)@10", "nerr(max_grade=3.5)@5"]
    for name in ("err@10", "ERR@10", "err(max_grade=3.5)@10"):
        assert pytest.approx((2**1 - 1) / 2**3.5 / 2) == report.value(name)
    assert rf.evaluate(RUN, {"q1": {"a": 0.5}}, metrics="err@5").summary["metric"].to_list() == ["err(max_grade=1)@5"]


@pytest.mark.parametrize("grade", [1.0, 3.5, 999.5, 1000.0, 1001.0, 1023.0, 1024.0, 1e5, 1e308])
@pytest.mark.parametrize("metric", ["err", "nerr@5", "rbp(gain=graded)"])
def test_a_name_that_was_bound_can_be_asked_again(metric: str, grade: float) -> None:
    """Whatever the largest grade, the column parses back to its metric, or the grade is refused."""
    with contextlib.suppress(rf.MetricError):
        report = rf.evaluate({"q": {"a": 1.0}}, {"q": {"a": grade}}, metrics=metric)
        bound = report.summary["metric"].item()
        try:
            again = rf.metrics.parse(bound).name
        except rf.MetricError as error:
            again = str(error)
        assert again == bound
        assert 0.0 < report.value(metric) <= 1.0


def test_grades_above_the_one_named_are_refused() -> None:
    with pytest.raises(rf.MetricError, match="have the grade 2, above max_grade=1"):
        rf.evaluate(RUN, QRELS, metrics="err(max_grade=1)@10")
    with pytest.raises(rf.MetricError, match="have the grade 5, above max_grade=4"):
        rf.evaluate(RUN, {"q1": {"a": 5}}, metrics="ERR@10", convention="ir_measures")


@pytest.mark.parametrize(
    ("convention", "name", "right"),
    [
        ("ir_measures", "ERR@10", "err(max_grade=4)@10"),
        ("documented", "ERR@10", "err(max_grade=2)@10"),
        ("beir", "Accuracy@1", "success@1"),
        ("trec_eval", "ndcg_cut.10", "ndcg@10"),
        ("trec_eval_c", "P.5", "precision@5"),
    ],
)
def test_a_convention_speaks_its_tools_dialect(convention: str, name: str, right: str) -> None:
    report = rf.evaluate(RUN, QRELS, metrics=name, convention=convention)
    assert [right] == report.summary["metric"].to_list()
    assert report.value(right) == report.value(name)


# The caller's own metrics.


def _mine(expr: pl.Expr, *, name: str = "mine", **options: Any) -> dict[str, Any]:
    report = rf.evaluate({"bm25": RUN}, QRELS, metrics=["ndcg@10", rf.Metric(name, expr, **options), "map"])
    assert pytest.approx(0.75) == report.value("map", "bm25")  # nothing of ours is disturbed
    return per_query(report, name)


COLUMNS: dict[str, tuple[pl.Expr, dict[str, float]]] = {
    "run_id": ((pl.col("run_id") == "bm25").all(), {"q1": 1.0, "q2": 1.0}),
    "query_id": ((pl.col("query_id") == "q1").all(), {"q1": 1.0, "q2": 0.0}),
    "doc_id": (pl.col("doc_id").str.join("").str.len_chars(), {"q1": 2.0, "q2": 1.0}),
    "relevance": (pl.col("relevance").sum(), {"q1": 1.0, "q2": 2.0}),
    "rank": (pl.col("rank").filter(pl.col("doc_id") == "a").sum(), {"q1": 2.0, "q2": 0.0}),
    "ideal_rank": (pl.col("ideal_rank").filter(pl.col("doc_id") == "b").first(), {"q1": 2.0, "q2": 1.0}),
    "n_ret": (pl.col("n_ret").first(), {"q1": 2.0, "q2": 1.0}),
    "all": (pl.len(), {"q1": 2.0, "q2": 1.0}),
}


@pytest.mark.parametrize("column", COLUMNS)
def test_a_metric_of_ones_own_is_over_every_column_of_the_judged_ranking(column: str) -> None:
    expr, right = COLUMNS[column]
    assert right == _mine(expr)


def test_its_rows_are_sorted_by_rank_then_grade_then_document() -> None:
    """What the run does not have stands behind, best grade first."""
    qrels = {"q": {"a": 0, "b": 1, "c": 2, "d": 2, "e": 3}}
    order = pl.col("doc_id").str.join("") == "ebcda"
    metric = rf.Metric("order", order.cast(pl.Float64))
    assert rf.evaluate({"q": {"e": 2.0, "b": 1.0}}, qrels, metrics=[metric]).value("order") == 1.0


@pytest.mark.parametrize(
    ("expr", "right"),
    [
        (pl.lit(None), 0.25),
        (pl.lit(math.nan), 0.25),
        (pl.col("rank").filter(pl.col("rank") > 99).first(), 0.25),
        (pl.lit(math.inf), math.inf),
        (pl.lit(1), 1.0),
        ((pl.col("rank") > 0).any(), 1.0),
    ],
    ids=["null", "NaN", "nothing", "infinite", "whole", "truth"],
)
def test_null_and_nan_are_the_value_declared_for_them(expr: pl.Expr, right: float) -> None:
    assert {"q1": right, "q2": right} == _mine(expr, empty=0.25)


@pytest.mark.parametrize("empty", [None, "x", math.nan, [0.0]], ids=repr)
def test_a_value_for_null_that_is_no_number_is_refused(empty: Any) -> None:
    with pytest.raises(rf.MetricError, match=r"'mine'.*empty"):
        rf.Metric("mine", pl.lit(None), empty=empty)


@pytest.mark.parametrize(
    ("expr", "range"),
    [
        (pl.col("n_ret").first(), (0, 1)),
        (pl.col("n_ret").first(), (None, 1)),
        (-pl.col("n_ret").first(), (0, None)),
        (pl.lit(math.inf), (0, 1)),
        (pl.lit(1 + 1e-6), (0, 1)),
    ],
    ids=["both", "above", "below", "infinite", "barely"],
)
def test_values_outside_of_the_declared_range_are_refused(expr: pl.Expr, range: Any) -> None:
    with pytest.raises(rf.MetricError, match=r"metric 'mine' gives values outside of its range .*: q1: "):
        _mine(expr, range=range)


def test_rounding_is_not_outside_of_the_range_and_an_open_end_has_no_outside() -> None:
    assert pytest.approx(_mine(pl.lit(1 + 1e-12), range=(0, 1))) == {"q1": 1.0, "q2": 1.0}
    assert _mine(-pl.col("n_ret").first(), range=(None, None)) == {"q1": -2.0, "q2": -1.0}


@pytest.mark.parametrize("range", [(0, 1, 2), (0,), "ab", (1, 0), ("0", "1"), 1, (0, math.nan)], ids=repr)
def test_ranges_that_are_none_are_refused(range: Any) -> None:  # the documented name
    with pytest.raises(rf.MetricError, match=r"'mine'.*range"):
        rf.Metric("mine", pl.lit(1.0), range=range)


@pytest.mark.parametrize(
    "name", ["ndcg", "NDCG@5", "P_5", "hit_rate@1", "rbp(p=0.5)", "gm_map", "iprec_at_recall_0.10"]
)
def test_names_of_built_in_metrics_are_refused(name: str) -> None:
    with pytest.raises(rf.MetricError, match="is the name of a built-in metric"):
        rf.Metric(name, pl.lit(1.0))


@pytest.mark.parametrize("name", ["", "  ", None, 3, b"x"], ids=repr)
def test_names_that_are_none_are_refused(name: Any) -> None:
    with pytest.raises(rf.MetricError, match="a metric needs a name"):
        rf.Metric(name, pl.lit(1.0))


@pytest.mark.parametrize("name", ["run_id", "query_id", "status", "n_ret", "n_rel", "n_judged"])
def test_names_of_columns_that_scores_have_are_refused(name: str) -> None:
    with pytest.raises(rf.MetricError, match=f"'{name}'"):
        rf.evaluate(RUN, QRELS, metrics=["mrr", rf.Metric(name, pl.lit(1.0))])


@pytest.mark.parametrize(
    "name", ["rank", "relevance", "doc_id", "group", "counts", "ideal_rank", "mine mean", "é", "a b"]
)
def test_any_other_name_is_free(name: str) -> None:
    """Names of columns that only the judged ranking or the inside of a report has among them."""
    assert _mine(pl.col("rank").sum(), name=name) == {"q1": 3.0, "q2": 1.0}


BROKEN: dict[str, pl.Expr] = {
    "no such column": pl.col("absent").sum(),
    "text": pl.col("doc_id").first(),
    "a list": pl.col("rank").implode(),
    "many values": pl.col("rank"),
    "many values of arithmetic": pl.col("relevance") / pl.col("n_ret"),
    "a head": pl.col("rank").head(1),
    "a record": pl.struct("rank").first(),
    "many columns": pl.all().sum(),
    "an element": pl.element().sum(),
    "a function that fails": pl.col("rank").map_batches(lambda _: 1 / 0, return_dtype=pl.Float64, returns_scalar=True),
}


@pytest.mark.parametrize("how", BROKEN)
@pytest.mark.parametrize("beside", [[], ["ndcg@10"]], ids=["alone", "beside others"])
def test_an_expression_that_gives_no_number_is_refused_by_the_name_of_its_metric(how: str, beside: list[str]) -> None:
    """Never with an error of Polars."""
    with pytest.raises(rf.MetricError, match="metric 'mine'"):
        rf.evaluate(RUN, QRELS, metrics=[*beside, rf.Metric("mine", BROKEN[how])])


@pytest.mark.parametrize("expr", ["rank", 1.0, None, pl.Series([1.0]), len], ids=lambda expr: type(expr).__name__)
def test_what_is_no_expression_is_refused(expr: Any) -> None:
    with pytest.raises(rf.MetricError, match=r"metric 'mine': expr is a \w+, expected a Polars expression"):
        rf.Metric("mine", expr)


@pytest.mark.parametrize("aggregate", ["max", None, "", 1], ids=repr)
def test_unknown_aggregates_are_refused(aggregate: Any) -> None:
    with pytest.raises(rf.MetricError, match=r"'mine': aggregate=.*valid: mean, gmean, sum"):
        rf.Metric("mine", pl.lit(1.0), aggregate=aggregate)


def test_a_metric_of_ones_own_is_aggregated_and_exported_like_any_other(tmp_path: Path) -> None:
    metric = rf.Metric("found", pl.col("rank").count(), aggregate="sum")
    report = rf.evaluate(RUN, QRELS, metrics=[metric])
    assert report.value("found") == 3.0
    report.write_parquet(tmp_path / "report.parquet")
    assert rf.read_report(tmp_path / "report.parquet").value("found") == 3.0
    assert report.to_dict()["metrics"] == {"found": 3.0}


# What stays as it was.


def test_the_callers_objects_are_unchanged(tmp_path: Path) -> None:
    """Mappings, frames of every library, ids and metrics."""
    nested, judged = json.loads(json.dumps(RUN)), json.loads(json.dumps(QRELS))
    asked = ["q1", "q2"]
    metrics: list[str | rf.Metric] = ["err@10", rf.metrics.nerr(k=5)]
    frame, pandas = FRAME.clone(), FRAME.to_pandas()
    path = write(tmp_path / "run.json", json.dumps(RUN))
    for run in (nested, frame, pandas, path):
        for convention in CONVENTIONS:
            rf.evaluate(run, judged, metrics=metrics, queries=asked, corpus=asked, convention=convention)
    assert (nested, judged, asked) == (RUN, QRELS, ["q1", "q2"])
    assert repr(metrics) == """['err@10', Metric('nerr@5')]"""
    assert frame.equals(FRAME)
    assert pandas.equals(FRAME.to_pandas())
    assert json.loads(path.read_text()) == RUN


def test_options_and_inputs_are_in_the_report(tmp_path: Path) -> None:
    rf.write_run(RUN, tmp_path / "bm25.trec")
    report = rf.evaluate([tmp_path / "bm25.trec"], QRELS, convention="trec_eval", missing="zero", duplicates="best")
    assert {"convention": "trec_eval", "missing": "zero", "no_relevant": "zero", "duplicates": "best"}.items() <= (
        report.options.items()
    )
    (run,) = report.options["runs"]
    assert ("bm25", 3, str(tmp_path / "bm25.trec")) == (run["run_id"], run["rows"], run["path"])
    assert (tmp_path / "bm25.trec").stat().st_size == run["bytes"]
    assert {"rows": 3, "queries": 2, "max_grade": 2.0}.items() <= report.options["qrels"].items()
    assert {"rankframe", "polars"} <= set(report.options["versions"])


def test_what_is_dropped_is_told_of_its_own_run() -> None:
    """A column run_id tells runs apart before their rows are checked."""
    frame = pl.DataFrame(
        {
            "run_id": ["a", "a", "b"],
            "query_id": ["q1"] * 3,
            "doc_id": ["d1", "d2", "d1"],
            "score": [float("nan"), float("nan"), 2.0],
        }
    )
    with pytest.warns(rf.RankframeWarning, match="'a' is empty"):
        report = rf.evaluate(frame, {"q1": {"d1": 1}}, metrics="mrr", invalid="drop")
    assert report.scores.select("run_id", "status", "mrr").rows() == [("a", "missing", 0.0), ("b", "ok", 1.0)]
    dropped = report.ledger.filter(reason="invalid_dropped").select("run_id", "count").rows()
    assert dropped == [("a", 2)]


def test_a_list_of_documents_is_no_list_of_files() -> None:
    with pytest.raises(FileNotFoundError, match=r"d1; 'q1' holds a list.*\{document: score\}"):
        rf.evaluate({"q1": ["d1", "d2"]}, {"q1": {"d1": 1}})


def test_plain_ids_in_a_file_are_queries(tmp_path: Path) -> None:
    (tmp_path / "ids.txt").write_text("q1\n")
    report = rf.evaluate(
        {"q1": {"a": 1.0}, "q2": {"a": 1.0}},
        {"q1": {"a": 1}, "q2": {"b": 1}},
        metrics="mrr",
        queries=tmp_path / "ids.txt",
    )
    assert report.scores["status"].to_list() == ["ok", "not_asked"]


def test_hashes_that_tell_nothing_apart_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Never a wrong number, however the hash behaves."""
    monkeypatch.setattr(
        pl.Series, "hash", lambda series, *_: pl.Series(series.name, [7] * len(series), dtype=pl.UInt64)
    )
    with pytest.raises(rf.DataError, match="no hash tells"):
        rf.evaluate({"q1": {"a": 1.0}}, {"q1": {"a": 1, "b": 0}})


def test_ties_are_counted_for_the_queries_that_were_asked() -> None:
    qrels = {"q1": {"a": 1}, "q2": {"a": 1}}
    run = {query: {"a": 1.0, "b": 1.0} for query in qrels}
    ties = rf.evaluate(run, qrels, metrics="mrr@1").ledger.filter(reason="tie_at_cutoff")
    assert ties["examples"].to_list() == [["q1", "q2"]]
    ties = rf.evaluate(run, qrels, metrics="mrr@1", queries=["q2"]).ledger.filter(reason="tie_at_cutoff")
    assert ties["examples"].to_list() == [["q2"]]
