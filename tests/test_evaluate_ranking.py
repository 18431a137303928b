"""`evaluate_ranking`: a ranking that another engine made scores as `evaluate` scores the runs themselves."""

from __future__ import annotations

import inspect
import json
import math
import random
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import polars as pl
import polars.selectors as cs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

import rankframe as rf
from rankframe.metrics import CONVENTIONS
from rankframe.metrics.families import BuiltIn
from tests.cases.helpers import ledger, packed, per_query, write
from tests.golden.shared import PAIRS, Pair, present
from tests.golden.test_values import trec10
from tests.laws import cases, oracle
from tests.laws.cases import Qrels, Run

HANDBOOK = Path(__file__).parent.parent / "data" / "handbook"
COLUMNS = ("run_id", "query_id", "doc_id", "relevance", "rank", "ideal_rank", "n_ret")
UNSAID = ("unjudged_query", "tie_at_cutoff", "self_hit_dropped")
"""What only the rows of a run can tell."""

METRICS = cases.metrics()
PLACE = pl.int_range(1, pl.len() + 1)
OWN = [
    rf.Metric("query", (pl.col("query_id") == "both").all()),
    rf.Metric("order of documents", pl.col("doc_id").str.join("|").hash() % 1_000_003),
    rf.Metric("order of the ideal", (pl.col("ideal_rank") * PLACE).sum()),
    rf.Metric("order of ranks", (pl.col("rank") * PLACE).sum(), empty=-1.0),
    rf.Metric("length", pl.col("n_ret").max(), aggregate="sum"),
    rf.Metric("run", (pl.col("run_id") == "b").all()),
    rf.Metric("whole numbers", pl.sum_horizontal(cs.integer()).sum()),
]


def ranked(runs: Mapping[str, Run], judgments: Qrels, *, self_hits: str = "keep") -> pl.DataFrame:
    """The judged ranking of runs, in plain Python: by score and then by the bytes of the id, both descending."""
    rows: list[tuple[Any, ...]] = []
    for name, run in runs.items():
        for query, grades in judgments.items():
            scores = {d: s for d, s in run.get(query, {}).items() if self_hits == "keep" or d != query}
            order = sorted(scores, key=lambda doc: (scores[doc], doc.encode()), reverse=True)
            ideal = sorted(grades, key=lambda doc: (-grades[doc], doc.encode()))
            for doc, grade in grades.items():
                rank = order.index(doc) + 1 if doc in order else None
                rows.append((name, query, doc, float(grade), rank, ideal.index(doc) + 1, len(order)))
    types = [pl.String] * 3 + [pl.Float64] + [pl.Int64] * 3
    return pl.DataFrame(rows, schema=dict(zip(COLUMNS, types, strict=True)), orient="row")


def ranked_by_polars(runs: Mapping[str, pl.DataFrame], qrels: pl.DataFrame) -> pl.DataFrame:
    """The same of frames, as an engine with window functions makes it; without ideal_rank."""
    pair, parts = ["query_id", "doc_id"], []
    for name, run in runs.items():
        order = run.sort("score", "doc_id", descending=True)
        order = order.select(*pair, rank=pl.int_range(1, pl.len() + 1).over("query_id"))
        lengths = run.group_by("query_id").agg(n_ret=pl.len())
        part = qrels.join(order, on=pair, how="left").join(lengths, on="query_id", how="left")
        parts.append(part.with_columns(pl.col("n_ret").fill_null(0), run_id=pl.lit(name)))
    return pl.concat(parts)


def frames(runs: Mapping[str, Run]) -> dict[str, pl.DataFrame]:
    """Runs as frames, in which a query that returned nothing does not stand."""
    types = {"query_id": pl.String, "doc_id": pl.String, "score": pl.Float64}
    return {
        name: pl.DataFrame(
            [(query, doc, score) for query, docs in run.items() for doc, score in docs.items()], types, orient="row"
        )
        for name, run in runs.items()
    }


def same_reports(ours: rf.Report, direct: rf.Report) -> None:
    """Scores with their order, statuses and counts; summary; metrics; and what the ledger can know."""
    assert_frame_equal(ours.scores, direct.scores, rel_tol=0, abs_tol=1e-12)
    assert_frame_equal(ours.summary, direct.summary, rel_tol=0, abs_tol=1e-12)
    assert_frame_equal(ours.ledger, direct.ledger.filter(~pl.col("reason").is_in(UNSAID)))
    assert ours.metrics == direct.metrics
    for option in ("convention", "missing", "no_relevant", "self_hits"):
        assert ours.options[option] == direct.options[option]


# The law: what an engine ranked scores as the runs themselves.

_SELF = {"q1": "d1", "1": "7"}


def with_self_hits(nested: Mapping[str, dict[str, float]]) -> dict[str, dict[str, float]]:
    """The same where ids of some queries are ids of documents."""
    return {_SELF.get(query, query): docs for query, docs in nested.items()}


COUNTS = st.sampled_from([None, "zero", "skip"])
ASKED = st.none() | st.sets(st.sampled_from(["d1", "q2", "Q1", "7", "01", "ü", "never"]))
DOCUMENTS = st.none() | st.sets(st.sampled_from(["d1", "d2", "d3", "é", "日本", "7"]), min_size=1)


@given(
    cases.runs(), cases.runs(), cases.qrels(), st.sampled_from(list(CONVENTIONS)), COUNTS, COUNTS, ASKED, DOCUMENTS,
    st.integers(0, 1000),
)  # fmt: skip
@settings(max_examples=30)
def test_a_ranking_scores_as_its_runs(
    first: Run,
    second: Run,
    judgments: Qrels,
    convention: str,
    missing: Any,
    no_relevant: Any,
    asked: set[str] | None,
    documents: set[str] | None,
    seed: int,
) -> None:
    """Ties, queries that one side lacks, negative and fractional grades; whatever the order of rows and columns."""
    first, judgments = cases.scored(with_self_hits(first), with_self_hits(judgments))
    second, judgments = cases.scored(with_self_hits(second), judgments)
    runs = {"b": first, "a": second} if seed % 3 else {"run": first}
    options: dict[str, Any] = {
        "metrics": [*METRICS, *OWN],
        "convention": convention,
        "missing": missing,
        "no_relevant": no_relevant,
        "queries": None if asked is None else sorted({*asked, "both"}),
        "corpus": documents,
    }
    judged = ranked(runs, judgments, self_hits=CONVENTIONS[convention].self_hits)
    judged = judged.sample(fraction=1, shuffle=True, seed=seed).with_columns(note=pl.lit("kept out"))
    left_out = [["ideal_rank"], [], ["ideal_rank", "note"], ["note"]][seed % 4]
    left_out += ["run_id"] if len(runs) == 1 and seed % 2 else []
    judged = judged.select(cases.shuffled([name for name in judged.columns if name not in left_out], seed))
    same_reports(rf.evaluate_ranking(judged, **options), rf.evaluate(frames(runs), judgments, **options))


@given(cases.runs(), cases.qrels())
@settings(max_examples=15)
def test_a_ranking_scores_what_the_definitions_say(run: Run, judgments: Qrels) -> None:
    run, judgments = cases.scored(run, judgments)
    scores = rf.evaluate_ranking(ranked({"run": run}, judgments), metrics=METRICS, convention="trec_eval_c").scores
    largest = max(1.0, *(grade for docs in judgments.values() for grade in docs.values()))
    for row in scores.iter_rows(named=True):
        for metric in METRICS:
            bound = metric.bound(largest)
            assert isinstance(bound, BuiltIn)
            query = row["query_id"]
            expected = oracle.value(bound, run.get(query, {}), judgments[query])
            assert row[bound.name] == pytest.approx(expected, abs=1e-9), (bound.name, query)


def lengthy(metric: BuiltIn) -> bool:
    """Whether the definition speaks of the length of the whole list."""
    name, chosen = metric.family.name, metric.parameters
    if chosen.get("judged_only"):
        return False
    uncut = name in ("precision", "f1") and metric.k is None
    return uncut or name in ("judged", "unjudged", "num_ret") or chosen.get("over") == "returned"


SHORT = [metric for metric in METRICS if not lengthy(metric)]


@given(cases.runs(), cases.runs(), cases.qrels(), st.sampled_from(["documented", "trec_eval_c", "ir_measures"]))
@settings(max_examples=15)
def test_without_n_ret_a_metric_that_does_not_need_it_is_the_same(
    first: Run, second: Run, judgments: Qrels, convention: str
) -> None:
    first, judgments = cases.scored(first, judgments)
    second, judgments = cases.scored(second, judgments)
    runs = {"b": first, "a": second}
    metrics = [*SHORT, *(metric for metric in OWN if metric.name not in ("length", "whole numbers"))]
    judged = ranked(runs, judgments)
    ours = rf.evaluate_ranking(judged.drop("n_ret"), metrics=metrics, convention=convention)
    direct = rf.evaluate(frames(runs), judgments, metrics=metrics, convention=convention)
    unknown = ["n_ret", "status"]
    assert_frame_equal(ours.scores.drop(unknown), direct.scores.drop(unknown), rel_tol=0, abs_tol=1e-12)
    assert_frame_equal(ours.summary.drop("n_missing"), direct.summary.drop("n_missing"), rel_tol=0, abs_tol=1e-12)
    assert ours.scores["n_ret"].dtype == pl.Int64
    assert ours.scores["n_ret"].null_count() == ours.scores.height
    relevant = pl.when(pl.col("n_rel") > 0).then(pl.lit("ok")).otherwise(pl.lit("no_relevant"))
    assert ours.scores["status"].to_list() == ours.scores.select(relevant).to_series().to_list()
    met = judged.group_by("run_id", "query_id").agg(pl.col("rank").count()).filter(rank=0).sort("run_id", "query_id")
    without = {run: rows["query_id"].to_list() for (run,), rows in met.partition_by("run_id", as_dict=True).items()}
    told = ours.ledger.filter(reason="no_hits").select("run_id", "count", "examples").rows()
    assert told == [(run, len(queries), queries[:5]) for run, queries in without.items()]
    assert set(ours.ledger["reason"]) <= {"no_hits", "no_relevant"}


# A case to see at a glance: q3 is missed, q4 has a hit and nothing relevant; ids need their order by bytes.

RUN: Run = {"q1": {"a": 1.0, "b": 1.0, "x": 5.0, "é": 1.0}, "q2": {"b": 1.0, "y": 0.5}, "q4": {"a": 1.0}}
QRELS: Qrels = {"q1": {"a": 2.0, "b": 0.5, "c": 1.0}, "q2": {"b": 1.0}, "q3": {"c": 1.0}, "q4": {"a": -1.0}}
JUDGED = ranked({"run": RUN}, QRELS).drop("run_id")
TWO = ranked({"x": RUN, "y": {"q1": {"c": 1.0}}}, QRELS)
NAMES = ["ndcg@10", "map", "mrr", "precision@2", "judged@3", "err@5", "bpref"]
DIRECT = rf.evaluate(RUN, QRELS, metrics=NAMES)


def changed(**columns: Any) -> pl.DataFrame:
    """The case with other values in some columns, or without them where they are None."""
    kept = JUDGED.drop(name for name, values in columns.items() if values is None)
    return kept.with_columns(pl.Series(name, values) for name, values in columns.items() if values is not None)


def test_the_case_is_what_it_looks_like() -> None:
    assert JUDGED.select("query_id", "doc_id", "rank", "ideal_rank", "n_ret").rows() == [
        ("q1", "a", 4, 1, 4),
        ("q1", "b", 3, 3, 4),
        ("q1", "c", None, 2, 4),
        ("q2", "b", 1, 1, 2),
        ("q3", "c", None, 1, 0),
        ("q4", "a", 1, 1, 1),
    ]
    report = rf.evaluate_ranking(JUDGED, metrics="mrr")
    assert report.scores.select("query_id", "status", "n_ret", "n_rel", "n_judged", "mrr").rows() == [
        ("q1", "ok", 4, 3, 2, 1 / 3),
        ("q2", "ok", 2, 1, 1, 1.0),
        ("q3", "missing", 0, 1, 0, 0.0),
        ("q4", "no_relevant", 1, 0, 1, None),
    ]
    assert ledger(report) == {"missing_query": (1, ["q3"]), "no_relevant": (1, ["q4"])}


# Forms.


def text(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.with_columns(pl.all().cast(pl.String))


FORMS: dict[str, Callable[[Path], Any]] = {
    "frame": lambda _: JUDGED,
    "lazy": lambda _: JUDGED.lazy(),
    "lazy text": lambda _: text(JUDGED).lazy(),
    "text": lambda _: text(JUDGED),
    "text with blanks": lambda _: JUDGED.with_columns(rank=pl.format(" {} ", "rank"), n_ret=pl.format("{} ", "n_ret")),
    "pandas": lambda _: JUDGED.to_pandas(),
    "pandas whole numbers": lambda _: JUDGED.to_pandas().astype({"rank": "Int64"}),
    "pandas index": lambda _: JUDGED.to_pandas().set_index(["query_id", "doc_id"]),
    "arrow": lambda _: JUDGED.to_arrow(),
    "records": lambda _: JUDGED.to_dicts(),
    "records without nulls": lambda _: [
        {name: value for name, value in row.items() if value is not None} for row in JUDGED.to_dicts()
    ],
    "categories": lambda _: JUDGED.with_columns(pl.col("query_id", "doc_id").cast(pl.Categorical)),
    "reversed columns": lambda _: JUDGED.select(reversed(JUDGED.columns)),
    "further columns": lambda _: JUDGED.with_columns(score=pl.lit("x"), text=pl.lit(None), group=pl.lit(0)),
    "aliases": lambda _: JUDGED.rename({"query_id": "qid", "doc_id": "docno", "relevance": "label"}),
    "other aliases": lambda _: JUDGED.rename({"query_id": "query-id", "doc_id": "corpus-id", "relevance": "rel"}),
    "without ideal_rank": lambda _: JUDGED.drop("ideal_rank"),
    "one named run": lambda _: JUDGED.with_columns(run_id=pl.lit("run")),
    "parquet": lambda folder: folder / "judged.parquet",
    "parquet shards": lambda folder: folder / "shards",
    "csv": lambda folder: folder / "judged.csv",
    "csv as text": lambda folder: str(folder / "judged.csv"),
    "gzip": lambda folder: folder / "judged.csv.gz",
    "tsv": lambda folder: folder / "judged.tsv",
    "json": lambda folder: folder / "judged.json",
    "jsonl": lambda folder: folder / "judged.jsonl",
}


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """A folder that holds the case in every format."""
    (tmp_path / "shards").mkdir()
    JUDGED[:2].write_parquet(tmp_path / "shards" / "0.parquet")
    JUDGED[2:].write_parquet(tmp_path / "shards" / "1.parquet")
    JUDGED.write_parquet(tmp_path / "judged.parquet")
    JUDGED.write_csv(tmp_path / "judged.csv")
    JUDGED.write_csv(tmp_path / "judged.tsv", separator="\t")
    JUDGED.write_ndjson(tmp_path / "judged.jsonl")
    write(tmp_path / "judged.json", json.dumps(JUDGED.to_dicts()))
    write(tmp_path / "judged.csv.gz", packed(JUDGED.write_csv(), "gzip"))
    return tmp_path


@pytest.mark.parametrize("form", FORMS)
def test_every_form_scores_as_the_run(form: str, files: Path) -> None:
    same_reports(rf.evaluate_ranking(FORMS[form](files), metrics=NAMES), DIRECT)


@pytest.mark.parametrize(
    "dtype",
    [pl.Int8, pl.Int32, pl.UInt32, pl.UInt64, pl.Int128, pl.Float32, pl.Float64, pl.Decimal(10, 2), pl.String],
    ids=str,
)
def test_whole_numbers_of_every_type_are_places(dtype: Any) -> None:
    judged = JUDGED.with_columns(pl.col("rank", "ideal_rank", "n_ret").cast(dtype))
    same_reports(rf.evaluate_ranking(judged, metrics=NAMES), DIRECT)


@pytest.mark.parametrize("dtype", [pl.Int64, pl.UInt8, pl.Categorical], ids=str)
def test_ids_become_text(dtype: Any) -> None:
    judged = changed(query_id=["10", "10", "10", "9", "9", "8"], doc_id=["1", "2", "3", "1", "2", "1"], ideal_rank=None,
                     n_ret=[4, 4, 4, 2, 2, 1])  # fmt: skip
    if dtype == pl.Categorical:
        typed = judged.with_columns(pl.col("query_id", "doc_id").cast(dtype))
    else:
        typed = judged.with_columns(pl.col("query_id", "doc_id").cast(dtype), run_id=pl.lit(7, dtype))
    report = rf.evaluate_ranking(typed, metrics=NAMES)
    assert report.runs == (["run"] if dtype == pl.Categorical else ["7"])
    assert report.scores["query_id"].to_list() == ["10", "8", "9"]
    assert report.scores.drop("run_id").equals(rf.evaluate_ranking(judged, metrics=NAMES).scores.drop("run_id"))


@pytest.mark.parametrize("name", ["", " ", "a/b", "é🦊", "x" * 300])
def test_names_of_runs_of_any_look_are_kept(name: str) -> None:
    judged = pl.concat([JUDGED.with_columns(run_id=pl.lit(run)) for run in (name, "other")])
    assert rf.evaluate_ranking(judged, metrics="mrr").runs == sorted([name, "other"])


def test_options_say_what_was_read(files: Path) -> None:
    path = files / "judged.parquet"
    options = rf.evaluate_ranking(path, metrics="mrr", convention="trec_eval", missing="zero").options
    assert (options["convention"], options["missing"], options["no_relevant"]) == ("trec_eval", "zero", "zero")
    ranking = {"rows": 6, "queries": 4, "max_grade": 2.0, "path": str(path), "bytes": path.stat().st_size}
    assert options["ranking"] == ranking
    assert {"rankframe", "polars"} <= set(options["versions"])


def test_without_metrics_there_are_those_of_evaluate() -> None:
    same_reports(rf.evaluate_ranking(JUDGED), rf.evaluate(RUN, QRELS))


@pytest.mark.parametrize(
    ("convention", "name", "right"),
    [
        ("ir_measures", "ERR@10", "err(max_grade=4)@10"),
        ("documented", "ERR@10", "err(max_grade=2)@10"),
        ("beir", "Accuracy@1", "success@1"),
        ("trec_eval_c", "ndcg_cut.10", "ndcg@10"),
    ],
)
def test_a_convention_speaks_its_tools_dialect(convention: str, name: str, right: str) -> None:
    options: dict[str, Any] = {"metrics": name, "convention": convention}
    report = rf.evaluate_ranking(JUDGED, **options)
    assert [right] == report.summary["metric"].to_list()
    same_reports(report, rf.evaluate(RUN, QRELS, **options))


def test_the_report_is_the_documented_dictionary() -> None:
    assert rf.evaluate_ranking(JUDGED, metrics=NAMES).to_dict() == DIRECT.to_dict()


def test_the_callers_objects_are_unchanged() -> None:
    frame, pandas, records = JUDGED.clone(), JUDGED.to_pandas(), JUDGED.to_dicts()
    asked, metrics = ["q1"], ["mrr", "err@5"]
    for judged in (frame, pandas, records):
        rf.evaluate_ranking(judged, metrics=metrics, queries=asked, corpus=asked)
    assert frame.equals(JUDGED)
    assert pandas.equals(JUDGED.to_pandas())
    assert records == JUDGED.to_dicts()
    assert (asked, metrics) == (["q1"], ["mrr", "err@5"])


def test_a_run_without_results_is_warned_of_and_scores_zero() -> None:
    """The warning points at the caller."""
    judged = ranked({"none": {}, "all": RUN}, QRELS)
    with pytest.warns(rf.RankframeWarning, match=r"the run 'none' is empty; .* that are missing: 4") as caught:
        report = rf.evaluate_ranking(judged, metrics=NAMES)
    assert [warning.filename for warning in caught] == [__file__]
    with pytest.warns(rf.RankframeWarning, match=r"the run 'none' is empty"):
        direct = rf.evaluate(frames({"none": {}, "all": RUN}), QRELS, metrics=NAMES)
    same_reports(report, direct)
    assert report.scores.filter(run_id="none", query_id="q1")["mrr"].to_list() == [0.0]


@pytest.mark.parametrize("convention", CONVENTIONS)
def test_self_hits_without_a_rank_are_judgments_like_others(convention: str) -> None:
    """They were taken out of the run, and still are relevant documents that it does not have."""
    qrels: Qrels = {"q1": {"q1": 1.0, "a": 1.0}}
    run: Run = {"q1": {"q1": 2.0, "a": 1.0}}
    judged = ranked({"run": run}, qrels, self_hits="drop")
    report = rf.evaluate_ranking(judged, metrics=["mrr", "recall@5"], convention=convention)
    assert report.scores.select("n_ret", "n_rel", "mrr", "recall@5").rows() == [(1, 2, 1.0, 0.5)]


# Without n_ret.


def refused(metric: str | rf.Metric) -> bool:
    try:
        rf.evaluate_ranking(JUDGED.drop("n_ret"), metrics=metric)
    except rf.MetricError as error:
        return "the column n_ret" in str(error)
    return False


def test_without_n_ret_metrics_that_need_it_are_refused_and_no_others() -> None:
    assert {metric.name for metric in METRICS if refused(metric)} == {m.name for m in METRICS if lengthy(m)}


def test_what_changes_with_unjudged_documents_at_the_end_needs_n_ret() -> None:
    """The definitions themselves: such documents change no rank."""
    grades = {"a": 1.0, "b": 0.0}
    lists: list[Run] = [{"q": {}}, {"q": {"a": 2.0}}, {"q": {"b": 3.0, "a": 2.0}}]
    longer: list[Run] = [{"q": {**run["q"], "y": 0.5, "z": 0.1}} for run in lists]
    both = list(zip(lists, longer, strict=True))
    for metric in METRICS:
        bound = metric.bound(1.0) if metric.parameters.get("max_grade") is None else metric
        assert isinstance(bound, BuiltIn)
        if any(oracle.value(bound, a["q"], grades) != oracle.value(bound, b["q"], grades) for a, b in both):
            assert refused(metric), metric.name


@pytest.mark.parametrize("metric", ["err", "err@5", "err(judged_only=true)@5", "nerr@5", "rbp(gain=graded)"])
def test_without_n_ret_metrics_that_take_the_largest_grade_are_scored(metric: str) -> None:
    ours = rf.evaluate_ranking(JUDGED.drop("n_ret"), metrics=metric)
    assert ours.value(metric) == pytest.approx(rf.evaluate(RUN, QRELS, metrics=metric).value(metric), abs=1e-12)


LOOKING: dict[str, pl.Expr] = {
    "by name": pl.col("n_ret").max(),
    "by pattern": pl.col("^n_.*$").max(),
    "by type": pl.col(pl.Int64).max(),
    "by selector": cs.integer().max(),
    "by place": pl.nth(-1).max(),
    "last": pl.last().max(),
    "all": pl.all().max(),
    "all but": pl.exclude("run_id", "query_id", "doc_id", "relevance", "rank", "ideal_rank").max(),
    "in a record": pl.struct(cs.numeric()).struct.field("n_ret").max(),
    "in a sum": pl.sum_horizontal(cs.numeric()).sum(),
    "in SQL": pl.sql_expr("MAX(n_ret)"),
}


@pytest.mark.parametrize("how", LOOKING)
def test_without_n_ret_no_metric_of_ones_own_sees_a_number_in_its_place(how: str) -> None:
    assert refused(rf.Metric("mine", LOOKING[how]))


@pytest.mark.parametrize("options", [{"missing": "skip"}, {"convention": "trec_eval"}, {"convention": "beir"}], ids=str)
def test_without_n_ret_missing_queries_cannot_be_left_out(options: dict[str, Any]) -> None:
    with pytest.raises(
        rf.DataError, match=r"judged ranking: there is no column n_ret.*add n_ret, .*, or ask for missing=\"zero\""
    ):
        rf.evaluate_ranking(JUDGED.drop("n_ret"), metrics="mrr", **options)
    report = rf.evaluate_ranking(JUDGED.drop("n_ret"), metrics="mrr", **{**options, "missing": "zero"})
    assert per_query(report, "mrr")["q3"] == 0.0


def test_without_n_ret_the_default_metrics_are_refused_and_the_message_says_which() -> None:
    with pytest.raises(rf.MetricError, match=r"'judged@10' needs? the column n_ret; add n_ret, .* other metrics"):
        rf.evaluate_ranking(JUDGED.drop("n_ret"))


def test_without_n_ret_the_ledger_says_which_queries_have_no_hit() -> None:
    report = rf.evaluate_ranking(JUDGED.drop("n_ret"), metrics="mrr")
    assert ledger(report) == {"no_hits": (1, ["q3"]), "no_relevant": (1, ["q4"])}
    assert per_query(report, "status") == {"q1": "ok", "q2": "ok", "q3": "ok", "q4": "no_relevant"}
    assert per_query(report, "n_ret") == dict.fromkeys(QRELS)


# What is written while scores are made.


@pytest.mark.parametrize("left_out", [[], ["n_ret"]], ids=["with n_ret", "without n_ret"])
def test_the_file_of_scores_reads_back_as_the_report(left_out: list[str], tmp_path: Path) -> None:
    judged, path = TWO.drop(left_out), tmp_path / "report.parquet"
    metrics = ["mrr", "map", "ndcg@10", *([] if left_out else ["err@5"])]
    report = rf.evaluate_ranking(judged, metrics=metrics, per_query=path)
    for same in (rf.read_report(path), rf.evaluate_ranking(judged, metrics=metrics)):
        assert report.scores.equals(same.scores)
        assert report.scores.schema == same.scores.schema
        assert report.summary.equals(same.summary)
        assert report.ledger.equals(same.ledger)
        assert report.metrics == same.metrics
        assert report.options == same.options
    assert [entry.name for entry in tmp_path.iterdir()] == ["report.parquet"]


@pytest.mark.parametrize(
    "metric",
    [rf.Metric("mine", pl.col("absent").max()), rf.Metric("mine", pl.col("n_ret").max(), range=(0, 1))],
    ids=["no column", "out of range"],
)
def test_nothing_half_written_is_left_where_scores_cannot_be_made(metric: rf.Metric, tmp_path: Path) -> None:
    """And what stood there stays."""
    with pytest.raises(rf.MetricError, match=r"metric 'mine'"):
        rf.evaluate_ranking(TWO, metrics=[metric], per_query=tmp_path / "report.parquet")
    assert list(tmp_path.iterdir()) == []
    rf.evaluate_ranking(TWO, metrics="mrr", per_query=tmp_path / "report.parquet")
    before = (tmp_path / "report.parquet").read_bytes()
    with pytest.raises(rf.MetricError, match=r"metric 'mine'"):
        rf.evaluate_ranking(TWO, metrics=[metric], per_query=tmp_path / "report.parquet")
    assert [(entry.name, entry.read_bytes()) for entry in tmp_path.iterdir()] == [("report.parquet", before)]


def test_a_folder_that_does_not_exist_is_refused_before_anything_is_read(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"no folder .*nowhere"):
        rf.evaluate_ranking("absent.parquet", metrics="mrr", per_query=tmp_path / "nowhere" / "report.parquet")


# What is refused.

RANKS = [4, 3, None, 1, None, 1]
GRADES = [2.0, 0.5, 1.0, 1.0, 1.0, -1.0]
NOT_A_PLACE = r"no place from 1: \(q1, a\) {}; null is for documents that the run does not have"
AGAIN = r"\(q1, b\), \(q1, b\); a repeated row of the run, or of the judgments, makes two of a join"
OTHERS = r"the run 'y' has other judgments than the first run, {}; every run has a row for every judgment"
UNREAD = r"1 {} that is no number, such as 'x'"


def places(first: Any) -> pl.DataFrame:
    """The case with another rank in its first row."""
    ranks = [None if rank is None else type(first)(rank) for rank in RANKS[1:]]
    return changed(rank=[first, *ranks])


def of_y(expr: pl.Expr) -> pl.Expr:
    return (pl.col("run_id") == "y") & expr


REFUSED: dict[str, tuple[Any, str]] = {
    "no rows": (JUDGED.clear(), r"there are no judgments; expected columns query_id, doc_id, relevance, rank"),
    "no columns": (pl.DataFrame(), r"no column 'query_id' for a judged ranking among no columns"),
    "no rank": (changed(rank=None), r"no column 'rank' for a judged ranking among 'query_id', 'doc_id', "),
    "no grade": (
        JUDGED.rename({"relevance": "score"}),
        r"no column 'relevance'.*read as relevance: relevance, label, rel",
    ),
    "two names": (JUDGED.with_columns(qid=pl.col("query_id")), r"'query_id' and 'qid' both name the column 'query_id'"),
    "a mapping": (QRELS, r"a mapping is none; expected a frame or a path, .*: query_id, doc_id, relevance, rank"),
    "columns in a mapping": (JUDGED.to_dict(as_series=False), r"a mapping is none"),
    "nothing": (None, r"a NoneType holds no table; expected a path"),
    "a number": (3, r"an? int holds no table; expected a path"),
    "no records": ([], r"a list holds no table; expected a path"),
    "a list of frames": ([JUDGED, JUDGED], r"a list holds no table; expected a path"),
    "null query": (changed(query_id=[None, "q1", "q1", "q2", "q3", "q4"]), r"1 null query_id, in 1 row: \(None, a\)"),
    "null document": (changed(doc_id=["a", "b", None, "b", "c", "a"]), r"1 null doc_id, in 1 row: \(q1, None\)"),
    "null run": (TWO.with_columns(pl.col("run_id").replace("x", None)), r"6 null run_id"),
    "ids that are fractions": (changed(query_id=[1.0] * 6), r"'query_id' is Float64: ids are text"),
    "null grade": (changed(relevance=[None, *GRADES[1:]]), r"1 null relevance, in 1 row: \(q1, a\)"),
    "NaN grade": (changed(relevance=[math.nan, *GRADES[1:]]), r"1 infinite or NaN relevance, in 1 row: \(q1, a\)"),
    "infinite grade": (
        changed(relevance=[-math.inf, *GRADES[1:]]),
        r"1 infinite or NaN relevance, in 1 row: \(q1, a\)",
    ),
    "grade in words": (changed(relevance=["x", "1", "1", "1", "1", "1"]), UNREAD.format("relevance")),
    "grade true": (changed(relevance=[True] * 6), r"'relevance' is Boolean, not a number; cast it"),
    "rank 0": (places(0), r"1 row whose rank is " + NOT_A_PLACE.format(r"0(\.0)?")),
    "rank negative": (places(-1), r"1 row whose rank is " + NOT_A_PLACE.format(r"-1(\.0)?")),
    "rank 1.5": (places(1.5), r"1 row whose rank is " + NOT_A_PLACE.format(r"1\.5")),
    "rank NaN": (places(math.nan), r"1 row whose rank is " + NOT_A_PLACE.format("nan")),
    "rank infinite": (places(math.inf), r"1 row whose rank is " + NOT_A_PLACE.format("inf")),
    "rank too large": (places(1e300), r"1 row whose rank is " + NOT_A_PLACE.format(r"1e\+300")),
    "rank in words": (places("x"), UNREAD.format("rank")),
    "rank as text 0": (places("0"), r"1 row whose rank is " + NOT_A_PLACE.format(r"0(\.0)?")),
    "rank true": (changed(rank=[True] * 6), r"'rank' is Boolean, not a number; cast it"),
    "rank that rounds": (
        changed(rank=[2**60, 3, None, 1, None, 1]),
        r"'rank' holds 1152921504606846976, which Float64",
    ),
    "ranks 0": (
        JUDGED.with_columns(pl.col("rank").fill_null(0)),
        r"2 rows whose rank is no place from 1: \(q1, c\) 0(\.0)?, \(q3, c\) 0(\.0)?; null is for documents that",
    ),
    "two at one rank": (
        changed(rank=[3, 3, None, 1, None, 1]),
        (
            r"2 rows whose rank another document of (its|their) query has: \(q1, a\) 3, \(q1, b\) 3; documents with "
            r"equal scores have places of their own, by doc_id, descending"
        ),
    ),
    "two at one rank in one of two runs": (
        TWO.with_columns(rank=pl.when(of_y(pl.col("query_id") == "q1")).then(1).otherwise("rank")),
        r"3 rows whose rank .*: \(q1, a\) 1, \(q1, b\) 1, \(q1, c\) 1;",
    ),
    "rank behind the end": (
        changed(n_ret=[3, 3, 3, 2, 0, 1]),
        r"1 row whose rank is behind n_ret, the end of the ranking: \(q1, a\) 4; n_ret counts all documents of the run",
    ),
    "rank in a query that is missed": (
        changed(n_ret=[4, 4, 4, 0, 0, 1]),
        r"1 row whose rank is behind n_ret.*\(q2, b\) 1",
    ),
    "n_ret null": (
        changed(n_ret=[4, 4, None, 2, 0, 1]),
        r"1 row whose n_ret is no count from 0: \(q1, c\) None; n_ret is a count from 0 in every row",
    ),
    "n_ret null where it is 0": (
        changed(n_ret=[4, 4, 4, 2, None, 1]),
        r"1 row whose n_ret is no count from 0: \(q3, c\)",
    ),
    "n_ret null everywhere": (
        JUDGED.with_columns(n_ret=pl.lit(None)),
        r"6 rows whose n_ret is no count from 0: \(q1, a\) None, .* and 1 more; n_ret is a count from 0 in every row",
    ),
    "n_ret negative": (changed(n_ret=[4, 4, 4, 2, -1, 1]), r"1 row whose n_ret is no count from 0: \(q3, c\) -1"),
    "n_ret a fraction": (
        changed(n_ret=[4.0, 4.0, 4.0, 2.0, 0.5, 1.0]),
        r"1 row whose n_ret is no count from 0: \(q3, c\) 0\.5",
    ),
    "n_ret in words": (changed(n_ret=["4", "4", "4", "2", "x", "1"]), UNREAD.format("n_ret")),
    "n_ret not constant": (
        changed(n_ret=[4, 5, 4, 2, 0, 1]),
        (
            r"3 rows whose n_ret is not that of the other rows of (its|their) query: \(q1, a\) 4, \(q1, b\) 5, "
            r"\(q1, c\) 4; n_ret counts the documents of the run for the query"
        ),
    ),
    "ideal rank in the order of ids": (
        changed(ideal_rank=[1, 2, 3, 1, 1, 1]),
        (
            r"1 row whose ideal_rank is not its place by grade: \(q1, c\) 3; ideal_rank counts the judgments of a "
            r"query from 1, highest grade first; it is not needed, leave it out"
        ),
    ),
    "ideal rank with a gap": (
        changed(ideal_rank=[1, 4, 2, 1, 1, 1]),
        r"1 row whose ideal_rank is not its place.*\(q1, b\) 4",
    ),
    "ideal rank from 2": (
        changed(ideal_rank=[1, 3, 2, 1, 1, 2]),
        r"1 row whose ideal_rank is not its place.*\(q4, a\) 2",
    ),
    "ideal rank 0": (changed(ideal_rank=[0, 2, 1, 1, 1, 1]), r"1 row whose ideal_rank is no place from 1: \(q1, a\) 0"),
    "ideal rank null": (
        changed(ideal_rank=[1, 3, None, 1, 1, 1]),
        r"1 row whose ideal_rank is no place from 1: \(q1, c\)",
    ),
    "ideal rank twice": (changed(ideal_rank=[1, 2, 2, 1, 1, 1]), r"2 rows whose ideal_rank.*\(q1, b\) 2, \(q1, c\) 2"),
    "a pair twice": (
        pl.concat([JUDGED, JUDGED[1:2]]),
        r"2 rows whose pair stands there (again|twice|more than once): " + AGAIN,
    ),
    "a pair twice with other grades": (
        pl.concat([JUDGED, JUDGED[1:2].with_columns(relevance=pl.lit(2.0))]),
        r"2 rows whose pair stands there (again|twice|more than once): " + AGAIN,
    ),
    "a pair twice at other ranks": (
        pl.concat([JUDGED, JUDGED[1:2].with_columns(rank=pl.lit(2, pl.Int64))]),
        r"2 rows whose pair stands there (again|twice|more than once): " + AGAIN,
    ),
    "a run without one judgment": (TWO[:-1], OTHERS.format(r"1 pair: \(q4, a\)")),
    "a first run without one judgment": (TWO[1:].drop("ideal_rank"), OTHERS.format(r"1 pair: \(q1, a\)")),
    "a run with one more judgment": (
        pl.concat([TWO, TWO[-1:].with_columns(doc_id=pl.lit("new"), rank=pl.lit(None, pl.Int64))]).drop("ideal_rank"),
        OTHERS.format(r"1 pair: \(q4, new\)"),
    ),
    "a run with another judgment": (
        TWO.with_columns(doc_id=pl.when(of_y(pl.col("query_id") == "q4")).then(pl.lit("new")).otherwise("doc_id")),
        OTHERS.format(r"1 pair: \(q4, a\)"),
    ),
    "a run with another grade": (
        TWO.with_columns(relevance=pl.when(of_y(pl.col("query_id") == "q2")).then(5.0).otherwise("relevance")),
        OTHERS.format(r"1 pair: \(q2, b\).*"),
    ),
    "a run with few judgments": (
        TWO.filter((pl.col("run_id") == "x") | (pl.col("query_id") == "q4")),
        OTHERS.format(r"5 pairs: \(q1, a\), .*, \(q3, c\)"),
    ),
    "a plan that fails": (
        JUDGED.lazy().with_columns(rank=pl.col("doc_id").cast(pl.Int64)),
        r"cannot be read as a table",
    ),
    "a plan over a column that is not there": (
        JUDGED.lazy().with_columns(rank=pl.col("absent")),
        r"cannot be read as a table .*absent",
    ),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_can_be_no_ranking_is_refused(what: str) -> None:
    judged, said = REFUSED[what]
    with pytest.raises(rf.DataError, match=rf"^judged ranking: .*{said}" if what.startswith("no ") else said):
        rf.evaluate_ranking(judged, metrics="mrr")


def said_of(judged: Any, **options: Any) -> str:
    with pytest.raises(rf.DataError) as caught:
        rf.evaluate_ranking(judged, metrics="mrr", **options)
    return str(caught.value)


@pytest.mark.parametrize("what", [what for what in REFUSED if not what.startswith(("null run", "a plan over"))])
def test_a_message_is_one_line_that_names_the_place(what: str) -> None:
    message = said_of(REFUSED[what][0])
    assert message.startswith("judged ranking: ")
    assert message.splitlines() == [message]


@pytest.mark.parametrize("what", [what for what in REFUSED if not what.startswith(("null run", "a plan over"))])
def test_a_message_names_arguments_and_functions_that_are_there(what: str) -> None:
    message = said_of(REFUSED[what][0])
    assert set(re.findall(r"(\w+)=", message)) <= set(inspect.signature(rf.evaluate_ranking).parameters)
    assert set(re.findall(r"\b(?:read|scan)_\w+", message)) <= set(rf.__all__)


@pytest.mark.parametrize("source", [None, 3, []], ids=str)
def test_what_holds_no_table_is_not_told_to_be_a_mapping(source: Any) -> None:
    assert "a mapping" not in said_of(source)


def test_equal_ideal_ranks_are_not_told_of_scores() -> None:
    """It is equal grades that need places of their own there."""
    assert "equal scores" not in said_of(REFUSED["ideal rank twice"][0])


FILES: dict[str, tuple[str, str, str]] = {
    "a mapping in JSON": ("m.json", '{"q1": {"a": 1}}', r"mapping.*(expected|holds) .*records|a mapping is none"),
    "a list of numbers": ("l.json", "[1, 2]", r"a JSON file holds .*a list of records"),
    "no JSON": ("b.json", "{", r"line 1, column 2: not JSON"),
    "nothing in JSON": ("e.json", "[]", r"there are no judgments"),
    "nothing in JSON lines": ("e.jsonl", "", r"there are no judgments"),
    "nothing in CSV": ("e.csv", "", r"the file is empty"),
    "only a header": ("h.csv", "query_id,doc_id,relevance,rank\n", r"there are no judgments"),
    "a short line": ("s.csv", "query_id,doc_id,relevance,rank\nq1,a,1,1\nq1,b,1\n", r"the last line has 3 of 4 fields"),
    "no Parquet": ("n.parquet", "x", r"cannot be read as Parquet"),
    "rank in words": ("w.csv", "query_id,doc_id,relevance,rank\nq1,a,1,x\n", UNREAD.format("rank")),
    "rank 1.5": (
        "f.csv",
        "query_id,doc_id,relevance,rank\nq1,a,1,1.5\n",
        r"1 row whose rank is no place.*\(q1, a\) 1\.5",
    ),
    "no rank": ("r.csv", "query_id,doc_id,relevance\nq1,a,1\n", r"no column 'rank' for a judged ranking"),
    "no document": ("d.csv", "query_id,doc_id,relevance,rank\nq1,,1,1\n", r"1 null doc_id, in 1 row: \(q1, None\)"),
    "commas without a suffix": (
        "plain",
        "query_id,doc_id,relevance,rank\nq1,a,1,1\n",
        r"is read from Parquet, CSV, TSV, JSON or JSON lines, by the suffix",
    ),
}


@pytest.mark.parametrize("what", FILES)
def test_what_is_wrong_with_a_file_is_said_with_its_path(what: str, tmp_path: Path) -> None:
    name, content, said = FILES[what]
    path = write(tmp_path / name, content)
    with pytest.raises(rf.DataError, match=rf"^{re.escape(str(path))}: .*({said})"):
        rf.evaluate_ranking(path, metrics="mrr")


@pytest.mark.parametrize("what", FILES)
def test_a_message_about_a_file_is_one_line_of_what_is_there(what: str, tmp_path: Path) -> None:
    name, content, _ = FILES[what]
    message = said_of(write(tmp_path / name, content))
    assert message.splitlines() == [message]
    assert set(re.findall(r"(\w+)=", message)) <= set(inspect.signature(rf.evaluate_ranking).parameters)
    assert set(re.findall(r"\b(?:read|scan)_\w+", message)) <= set(rf.__all__)


def test_a_path_that_does_not_exist_is_named() -> None:
    with pytest.raises(FileNotFoundError, match=r"absent\.parquet"):
        rf.evaluate_ranking("absent.parquet", metrics="mrr")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"metrics": "nope"}, r"unknown metric 'nope'"),
        ({"metrics": ["mrr", "mpa"]}, r"unknown metric 'mpa': did you mean 'map'"),
        ({"metrics": []}, r"metrics= is empty"),
        ({"metrics": "token_f1"}, r"'token_f1' scores samples: rankframe\.evaluate_samples takes it"),
        ({"convention": "trec"}, r"unknown convention 'trec': did you mean 'trec_eval'"),
        ({"missing": "drop"}, r"missing='drop'; valid: zero, skip"),
        ({"no_relevant": 0}, r"no_relevant=0; valid: zero, skip"),
    ],
    ids=str,
)
def test_metrics_and_rules_are_refused_before_anything_is_read(options: dict[str, Any], said: str) -> None:
    with pytest.raises(rf.MetricError, match=said):
        rf.evaluate_ranking("absent.parquet", **options)


def test_grades_above_the_one_named_are_refused() -> None:
    with pytest.raises(rf.MetricError, match=r"have the grade 2, above max_grade=1"):
        rf.evaluate_ranking(JUDGED, metrics="err(max_grade=1)@10")


def test_queries_that_no_judgment_is_about_are_refused() -> None:
    with pytest.raises(rf.DataError, match=r"queries= has no judged query; queries: 'q7', judgments: 'q1', 'q2', 'q3'"):
        rf.evaluate_ranking(JUDGED, metrics="mrr", queries=["q7"])


@pytest.mark.parametrize("convention", CONVENTIONS)
def test_a_rank_of_the_query_itself_is_refused_where_such_do_not_count(convention: str) -> None:
    """It pushes others down, and taking it out later would not lift them."""
    judged = changed(doc_id=["q1", "b", "c", "b", "c", "a"])
    if CONVENTIONS[convention].self_hits == "drop":
        with pytest.raises(
            rf.DataError,
            match=r"judged ranking: 1 row whose document is the query itself: \(q1, q1\) 4; drop such rows of the run",
        ):
            rf.evaluate_ranking(judged, metrics="mrr", convention=convention)
    else:
        assert per_query(rf.evaluate_ranking(judged, metrics="mrr", convention=convention), "mrr")["q1"] == 1 / 3


# Real runs, and the values of another tool.


@pytest.mark.parametrize("convention", CONVENTIONS)
def test_the_handbook_scores_as_its_runs(convention: str) -> None:
    paths = sorted((HANDBOOK / "runs").glob("*.trec"))
    qrels = rf.read_qrels(HANDBOOK)
    judged = ranked_by_polars({path.stem: rf.read_run(path) for path in paths}, qrels)
    options: dict[str, Any] = {"metrics": [*METRICS, *OWN], "convention": convention}
    ours, direct = rf.evaluate_ranking(judged, **options), rf.evaluate(list(paths), qrels, **options)
    assert len(paths) == len(ours.runs)
    same_reports(ours, direct)


@present
@pytest.mark.parametrize(
    "pair",
    [pair for pair in PAIRS if pair.name in ("covid-round1__irc_entrez", "trec_eval_suite__rel_level")],
    ids=lambda pair: pair.name,
)
@pytest.mark.parametrize(
    ("tool", "convention"), [("trec_eval 10.0-rc3", "trec_eval"), ("trec_eval 10.0-rc3 -c", "trec_eval_c")]
)
def test_trec_eval_gives_the_same(pair: Pair, tool: str, convention: str) -> None:
    """Per query and in the mean, for all that it prints and we have: 1e-9, and counts exactly."""
    values = pair.values().filter(tool=tool)
    asked = {name: metric for name in values["measure"].unique() if (metric := trec10(name)) is not None}
    judged = ranked_by_polars({"run": pair.run()}, pair.qrels())
    report = rf.evaluate_ranking(judged, metrics=list(asked.values()), convention=convention)
    bound = {measured.asked: measured.name for measured in report.metrics}
    names = pl.DataFrame(
        [(name, bound[metric.name], metric.aggregate) for name, metric in asked.items()],
        ["measure", "metric", "aggregate"],
        orient="row",
    )
    values = values.join(names, on="measure")
    each = values.filter(pl.col("query_id").is_not_null(), pl.col("measure") != "gm_map")  # it prints a logarithm
    means = values.filter(pl.col("query_id").is_null())
    ours = {"on": ["query_id", "metric"], "how": "left", "suffix": " of ours"}
    compared = 0
    for both in (
        each.join(report.long, **ours),  # type: ignore[arg-type]  # the options of a join
        means.join(report.summary, **{**ours, "on": ["metric", "aggregate"]}),  # type: ignore[arg-type]  # likewise
    ):
        tolerance = pl.when(pl.col("metric").str.starts_with("num_")).then(0.0).otherwise(1e-9)
        off = (pl.col("value") - pl.col("value of ours")).abs()
        assert both.filter(off.is_null() | (off > tolerance)).is_empty()
        compared += both.height
    assert compared >= len(asked) * (1 if convention == "trec_eval_c" else 3)
    assert len(asked) > 40


def test_random_blocks_of_many_judgments_score_as_the_runs() -> None:
    """More judgments than are scored at a time, of which one query alone has many."""
    chance = random.Random(5)
    sizes = {f"q{number}": 40 for number in range(800)} | {"large": 3000}
    qrels = pl.DataFrame(
        [
            (q, f"d{d}", float(chance.randrange(-1, 4)))
            for q, n in sizes.items()
            for d in chance.sample(range(n * 2), n)
        ],
        ["query_id", "doc_id", "relevance"],
        orient="row",
    )
    runs = {
        name: pl.DataFrame(
            [
                (q, f"d{d}", chance.randrange(9) / 2)
                for q in sizes
                if chance.random() < 0.9
                for d in chance.sample(range(80), 50)
            ],
            ["query_id", "doc_id", "score"],
            orient="row",
        )
        for name in (f"run {number}" for number in range(9))
    }
    judged = ranked_by_polars(runs, qrels)
    same_reports(rf.evaluate_ranking(judged, metrics=NAMES), rf.evaluate(runs, qrels, metrics=NAMES))
