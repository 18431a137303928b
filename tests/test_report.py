"""The report: its frames, its numbers by name, what is joined to it, its file, and how it is shown."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import rankframe as rf

QRELS = {"q1": {"a": 1}, "q2": {"b": 2, "x": 0}, "q3": {"c": 0}, "q4": {"d": 1}}
RUN = {"q1": {"a": 1.0}, "q2": {"x": 2.0, "b": 1.0, "y": 0.5}, "q3": {"c": 1.0}, "q9": {"z": 1.0}}
TOPICS = pl.DataFrame({"query_id": ["q1", "q2", "q7"], "topic": ["birds", "trees", "none"]})


def _report(*metrics: Any, run: object = RUN, **options: Any) -> rf.Report:
    """A report on one run: two queries found, one without relevant documents, one missing."""
    return rf.evaluate(run, QRELS, metrics=metrics or ("mrr", "num_ret"), **options)


# The frames.


def test_scores_have_a_row_per_judged_query_and_a_column_per_metric() -> None:
    scores = _report("mrr@10", "ndcg", "num_rel").scores
    assert {
        "run_id": pl.String,
        "query_id": pl.String,
        "status": pl.String,
        "n_ret": pl.Int64,
        "n_rel": pl.Int64,
        "n_judged": pl.Int64,
        "mrr@10": pl.Float64,
        "ndcg": pl.Float64,
        "num_rel": pl.Float64,
    } == dict(scores.schema)
    assert [
        ("run", "q1", "ok", 1, 1, 1, 1.0, 1.0, 1.0),
        ("run", "q2", "ok", 3, 1, 2, 0.5, pytest.approx(1 / math.log2(3)), 1.0),
        ("run", "q3", "no_relevant", 1, 0, 1, None, None, None),
        ("run", "q4", "missing", 0, 1, 0, 0.0, 0.0, 1.0),
    ] == scores.rows()


def test_scores_are_sorted_by_run_and_query_in_the_order_of_bytes() -> None:
    qrels = {query: {"a": 1} for query in ("q10", "q9", "Q", "é", "z")}
    scores = rf.evaluate({"b": {"z": {"a": 1.0}}, "B": {"z": {"a": 1.0}}, "a": {"z": {"a": 1.0}}}, qrels).scores
    right = [(run, query) for run in ("B", "a", "b") for query in ("Q", "q10", "q9", "z", "é")]
    assert right == scores.select("run_id", "query_id").rows()


def test_per_query_is_the_scores_under_the_name_of_their_unit() -> None:
    report = _report()
    assert report.per_query is report.scores
    assert (report.unit, report.key) == ("query", "query_id")


def test_the_summary_has_a_row_per_run_and_metric() -> None:
    summary = _report("mrr", "num_ret").summary
    assert {
        "run_id": pl.String,
        "metric": pl.String,
        "aggregate": pl.String,
        "value": pl.Float64,
        "std": pl.Float64,
        "median": pl.Float64,
        "ci_low": pl.Float64,
        "ci_high": pl.Float64,
        "n": pl.Int64,
        "n_missing": pl.Int64,
        "n_null": pl.Int64,
        "n_failed": pl.Int64,
        "ci_reason": pl.String,
    } == dict(summary.schema)
    assert summary.row(0) == ("run", "mrr", "mean", 0.5, 0.5, 0.5, 0.0, 1.0, 3, 1, 1, 0, None)
    assert summary.row(1)[:4] == ("run", "num_ret", "sum", 4.0)
    assert pytest.approx(np.std([1, 3, 0], ddof=1)) == summary["std"][1]


def test_the_summary_is_in_the_order_of_runs_and_of_metrics_asked() -> None:
    report = rf.evaluate({"b": RUN, "a": RUN}, QRELS, metrics=["recall@5", "map", "mrr"])
    right = [(run, metric) for run in ("a", "b") for metric in ("recall@5", "map", "mrr")]
    assert right == report.summary.select("run_id", "metric").rows()


def test_one_query_has_no_standard_deviation() -> None:
    summary = rf.evaluate({"q": {"a": 1.0}}, {"q": {"a": 1}}, metrics="mrr").summary
    assert summary.select("value", "std", "median", "n").row(0) == (1.0, None, 1.0, 1)


def test_long_is_the_scores_in_tidy_form() -> None:
    report = _report("mrr", "recall")
    assert report.long.columns == ["run_id", "query_id", "metric", "value"]
    assert [pl.String, pl.String, pl.String, pl.Float64] == report.long.dtypes
    right = [
        (*row[:2], metric, row[place]) for place, metric in ((6, "mrr"), (7, "recall")) for row in report.scores.rows()
    ]
    assert sorted(right) == sorted(report.long.rows())
    assert report.long.equals(report.join(TOPICS).long)


def test_the_ledger_has_a_row_per_run_and_reason() -> None:
    ledger = _report().ledger
    assert {"run_id": pl.String, "reason": pl.String, "count": pl.Int64, "examples": pl.List(pl.String)} == dict(
        ledger.schema
    )
    assert ledger.rows() == [
        (None, "no_relevant", 1, ["q3"]),
        ("run", "missing_query", 1, ["q4"]),
        ("run", "unjudged_query", 1, ["q9"]),
    ]


def test_runs_are_named_in_order() -> None:
    assert rf.evaluate({"b": RUN, "a": RUN}, QRELS).runs == ["a", "b"]


# Aggregates.


def test_the_geometric_mean_counts_small_values_as_the_floor() -> None:
    """exp(mean(ln(max(value, 0.00001)))) over the scored queries."""
    report = _report("gm_map")
    right = math.exp((math.log(1) + math.log(0.5) + math.log(1e-5)) / 3)
    assert report.summary.select("metric", "aggregate").rows() == [("map", "gmean")]
    assert pytest.approx(right) == report.summary["value"].item()
    assert pytest.approx(right) == report.value("gm_map")


@pytest.mark.parametrize("order", [["map", "gm_map"], ["gm_map", "map"]], ids=lambda order: order[0])
def test_a_mean_and_a_geometric_mean_of_one_metric_are_told_apart(order: list[str]) -> None:
    """Whichever was asked first: the name of the mean gives the mean."""
    report = _report(*order)
    assert report.value("map") == 0.5
    assert pytest.approx(0.01709975946676697) == report.value("gm_map")
    metrics = report.to_dict()["metrics"]
    assert metrics["map"] == 0.5
    assert pytest.approx(0.01709975946676697) in [value for name, value in metrics.items() if name != "map"]
    assert list(report.to_dict()["per_query"]) == ["q1", "q2", "q4"]


def test_counts_are_summed_over_the_scored_queries() -> None:
    report = _report("num_ret", "num_rel", "num_rel_ret")
    assert report.to_dict()["metrics"] == {"num_ret": 4.0, "num_rel": 3.0, "num_rel_ret": 2.0}


def test_an_aggregate_can_be_asked_of_any_metric() -> None:
    mean, total = rf.metrics.recall(k=5), rf.metrics.recall(k=5, aggregate="sum")
    report = _report(mean, total)
    assert report.summary.select("aggregate", "value").rows() == [("mean", 2 / 3), ("sum", 2.0)]


# A population of nobody.


def test_where_no_query_counts_the_value_is_null_and_n_is_0() -> None:
    report = rf.evaluate({"q": {"a": 1.0}}, {"q": {"a": 0}}, metrics=["mrr", "num_ret", "gm_map"])
    assert report.summary["value"].to_list() == [None] * 3
    assert report.summary["n"].to_list() == [0] * 3
    assert report.summary["n_null"].to_list() == [1] * 3
    assert math.isnan(report.value("mrr"))
    assert report.to_dict()["n_queries"] == 0
    assert report.to_dict()["per_query"] == {}
    assert {None} == set(report.to_dict()["metrics"].values())
    assert "over 0 queries" in repr(report)
    assert report.table()[1] == ["mrr", "-"]


# Values by name.


def test_a_value_is_found_by_its_canonical_name_as_asked_and_by_other_tools_names() -> None:
    report = _report("P@2", "err@5", "ndcg_cut_10")
    for name in ("precision@2", "P@2", "P_2", "p@2"):
        assert pytest.approx(1 / 3) == report.value(name)
    assert report.value("err@5") == report.value("err(max_grade=2)@5") == report.value("ERR@5")
    assert report.value("ndcg@10") == report.value("NDCG@10") == report.value("ndcg_cut.10")


def test_a_dialects_name_is_found_under_the_convention_that_spoke_it() -> None:
    report = _report("ERR@5", convention="ir_measures")
    assert report.value("ERR@5") == report.value("err(max_grade=4)@5")
    assert report.summary["metric"].to_list() == ["err(max_grade=4)@5"]


def test_a_value_that_is_not_there_is_told_with_those_that_are() -> None:
    report = _report("mrr@10", "map")
    with pytest.raises(rf.DataError, match=r"no metric 'mrr@1'.*did you mean 'mrr@10'\? Valid: mrr@10, map"):
        report.value("mrr@1")
    with pytest.raises(rf.DataError, match="no run 'other'; this report has 'run'"):
        report.value("map", "other")
    several = rf.evaluate({"a": RUN, "b": RUN}, QRELS, metrics="map")
    with pytest.raises(rf.DataError, match="say which run with run_id=; this report has 'a', 'b'"):
        several.value("map")
    assert 0.5 == several.value("map", "a") == several.value("map", run_id="b")


# The documented dictionary.


def test_to_dict_is_the_documented_report() -> None:
    """metrics, per_query, n_queries, k_values; queries left out are in none of them."""
    told = _report("recall@3", "ndcg@1", "recall@1", "mrr").to_dict()
    assert list(told) == ["metrics", "per_query", "n_queries", "k_values"]
    assert told["metrics"] == {"recall@3": 2 / 3, "ndcg@1": 1 / 3, "recall@1": 1 / 3, "mrr": 0.5}
    assert list(told["per_query"]) == ["q1", "q2", "q4"]
    assert told["per_query"]["q2"] == {"recall@3": 1.0, "ndcg@1": 0.0, "recall@1": 0.0, "mrr": 0.5}
    assert (told["n_queries"], told["k_values"]) == (3, (1, 3))
    assert told == json.loads(json.dumps(told)) | {"k_values": (1, 3)}


def test_to_dict_is_of_one_run() -> None:
    report = rf.evaluate({"a": RUN, "b": {"q1": {"x": 1.0}}}, QRELS, metrics="mrr")
    assert report.to_dict("a")["metrics"] == {"mrr": 0.5}
    assert report.to_dict(run_id="b")["metrics"] == {"mrr": 0.0}
    with pytest.raises(rf.DataError, match="say which run with run_id="):
        report.to_dict()
    with pytest.raises(rf.DataError, match="no run 'c'"):
        report.to_dict("c")


# Joins.


@pytest.mark.parametrize("form", ["frame", "lazy", "pandas", "pandas index", "arrow", "records", "alias"])
def test_metadata_of_any_form_is_joined_behind_the_scores(form: str) -> None:
    metadata = {
        "frame": TOPICS,
        "lazy": TOPICS.lazy(),
        "pandas": TOPICS.to_pandas(),
        "pandas index": TOPICS.to_pandas().set_index("query_id"),
        "arrow": TOPICS.to_arrow(),
        "records": TOPICS.to_dicts(),
        "alias": TOPICS.rename({"query_id": "query-id"}),
    }[form]
    report = _report()
    joined = report.join(metadata)
    assert joined.scores.drop("topic").equals(report.scores)
    assert joined.scores.columns[-1] == "topic"
    assert joined.scores["topic"].to_list() == ["birds", "trees", None, None]
    assert report.scores.columns == ["run_id", "query_id", "status", "n_ret", "n_rel", "n_judged", "mrr", "num_ret"]


def test_keys_that_match_nothing_go_to_the_ledger_which_stays_sorted() -> None:
    ledger = _report().join(TOPICS).ledger
    assert {("metadata_without_scores", 1), ("without_metadata", 2)} <= set(ledger.select("reason", "count").rows())
    order = [(run or "", reason) for run, reason in ledger.select("run_id", "reason").rows()]
    assert sorted(order) == order


def test_metadata_of_runs_is_joined_by_run() -> None:
    report = rf.evaluate({"a": RUN, "b": RUN}, QRELS, metrics="mrr")
    models = pl.DataFrame({"run_id": ["a", "z"], "model": ["small", "large"]})
    joined = report.join(models, on="run_id")
    assert joined.scores["model"].to_list() == ["small"] * 4 + [None] * 4
    both = report.join(models.with_columns(query_id=pl.lit("q1")), on=["run_id", "query_id"])
    assert ["small", *[None] * 7] == both.scores["model"].to_list()


def test_metadata_may_hold_nothing_but_keys() -> None:
    report = _report()
    assert report.join(TOPICS.select("query_id")).scores.equals(report.scores)


@pytest.mark.parametrize(
    ("metadata", "options", "said"),
    [
        (pl.concat([TOPICS, TOPICS.head(1)]), {}, "2 rows share a key .query_id.*q1.*multiply"),
        (TOPICS.rename({"topic": "mrr"}), {}, "'mrr' are in the scores already; suffix="),
        (TOPICS.rename({"topic": "status"}), {}, "'status' are in the scores already; suffix="),
        (TOPICS.rename({"topic": "mrr"}), {"suffix": ""}, "'mrr' are still taken"),
        (TOPICS.with_columns(mrr=1, mrr_2=2), {"suffix": "_2"}, "mrr_2"),
        (TOPICS, {"on": "absent"}, "'absent'"),
        (TOPICS, {"on": "topic"}, "'topic'"),
        (TOPICS, {"on": []}, "on="),
        (TOPICS.with_columns(qid=pl.lit("x")), {}, "'query_id' and 'qid' both name"),
        ("topics.csv", {}, "metadata is a str"),
        ({"q1": "birds"}, {}, "metadata is a dict"),
        (None, {}, "metadata is a NoneType"),
    ],
    ids=[
        *("twice", "metric", "column", "no suffix", "suffix taken", "absent", "no score", "nothing", "alias"),
        *("path", "mapping", "None"),
    ],
)
def test_joins_that_would_change_scores_are_refused(metadata: Any, options: dict[str, Any], said: str) -> None:
    with pytest.raises(rf.DataError, match=said):
        _report().join(metadata, **options)


def test_a_suffix_renames_what_is_taken_and_nothing_else() -> None:
    metadata = TOPICS.with_columns(mrr=pl.lit(0.25), status=pl.lit("x"))
    scores = _report().join(metadata, suffix="_meta").scores
    assert scores.columns[-3:] == ["topic", "mrr_meta", "status_meta"]
    again = _report().join(TOPICS).join(TOPICS, suffix="_2").scores
    assert again.columns[-2:] == ["topic", "topic_2"]


def test_a_join_leaves_the_first_report_as_it_was() -> None:
    report = _report()
    before = (report.scores.clone(), report.ledger.clone(), TOPICS.clone())
    report.join(TOPICS)
    assert all(frame.equals(was) for frame, was in zip((report.scores, report.ledger, TOPICS), before, strict=True))


# The file.


def test_a_report_is_read_as_it_was_written(tmp_path: Path) -> None:
    """Every frame, every metric, every option; with joined metadata of nested types."""
    first = rf.Metric("first", (pl.col("rank") == 1).any().cast(pl.Float64), range=(0, 1))
    deep = rf.Metric("deep", pl.col("rank").max().cast(pl.Float64), range=(0, None), aggregate="sum")
    report = rf.evaluate(
        {"b": RUN, "a": RUN},
        QRELS,
        metrics=["err@5", "gm_map", "map", first, deep],
        corpus=["a"],
        convention="trec_eval",
    ).join(TOPICS.with_columns(tags=pl.Series([["x"], [], None])))
    report.write_parquet(tmp_path / "report.parquet")
    read = rf.read_report(tmp_path / "report.parquet")
    assert read.scores.equals(report.scores)
    assert read.scores.schema == report.scores.schema
    assert read.ledger.equals(report.ledger)
    assert read.ledger.schema == report.ledger.schema
    assert read.summary.equals(report.summary)
    assert read.long.equals(report.long)
    assert (report.metrics, report.options, report.unit) == (read.metrics, read.options, read.unit)
    assert report.value("err@5", "a") == read.value("err@5", "a")
    assert repr(report) == repr(read)
    assert pl.read_parquet(tmp_path / "report.parquet").equals(report.scores)
    read.write_parquet(tmp_path / "again.parquet")
    assert (tmp_path / "again.parquet").read_bytes() == (tmp_path / "report.parquet").read_bytes()


def test_a_report_of_a_file_of_any_name(tmp_path: Path) -> None:
    """A path names one file: what looks like a pattern matches no other."""
    for place, name in enumerate(["r1.parquet", "r[1].parquet", "r*.parquet"], start=1):
        rf.evaluate({str(place): RUN}, QRELS).write_parquet(tmp_path / name)
    assert rf.read_report(tmp_path / "r[1].parquet").runs == ["2"]
    assert rf.read_report(tmp_path / "r*.parquet").runs == ["3"]


@pytest.mark.parametrize("bound", [np.float32(1), np.int64(1), 1, 1.0, math.inf], ids=repr)
def test_a_range_of_any_number_type_is_written(bound: Any, tmp_path: Path) -> None:
    metric = rf.Metric("one", pl.lit(1.0), range=(0, bound))
    rf.evaluate(RUN, QRELS, metrics=[metric]).write_parquet(tmp_path / "report.parquet")
    assert (0, float(bound)) == rf.read_report(tmp_path / "report.parquet").metrics[0].range


FOREIGN: dict[str, Any] = {
    "no metadata": {},
    "no JSON": {"rankframe": "nonsense"},
    "an empty object": {"rankframe": "{}"},
    "a list": {"rankframe": "[1]"},
    "null": {"rankframe": "null"},
    "a later format": {"rankframe": '{"format": 99}'},
    "no metrics": {"rankframe": '{"format": 1}'},
}


@pytest.mark.parametrize("metadata", FOREIGN.values(), ids=FOREIGN)
def test_parquet_of_other_writers_is_refused(metadata: dict[str, str], tmp_path: Path) -> None:
    TOPICS.write_parquet(tmp_path / "other.parquet", metadata=metadata)
    with pytest.raises(rf.DataError, match=r"other\.parquet"):
        rf.read_report(tmp_path / "other.parquet")


@pytest.mark.parametrize(
    "content", [b"", b"run_id,mrr\n", b"PAR1" + bytes(100) + b"PAR1"], ids=["empty", "text", "zeros"]
)
def test_what_is_no_parquet_is_refused(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "other.parquet").write_bytes(content)
    with pytest.raises(rf.DataError, match=r"other\.parquet"):
        rf.read_report(tmp_path / "other.parquet")


def test_a_report_that_is_not_there_is_named(tmp_path: Path) -> None:
    for path in (tmp_path / "absent.parquet", tmp_path):
        with pytest.raises(FileNotFoundError, match=path.name):
            rf.read_report(path)
    with pytest.raises(OSError, match="absent"):
        _report().write_parquet(tmp_path / "absent" / "report.parquet")


# How it is shown.


def test_a_report_is_shown_as_a_table_of_runs() -> None:
    report = rf.evaluate({"long name": RUN, "b": RUN}, QRELS, metrics=["mrr", "num_ret", "gm_map"])
    assert repr(report) == (
        "Report over 3 queries\n"
        "metric            b  long name\n"
        "mrr          0.5000     0.5000\n"
        "num_ret           4          4\n"
        "map (gmean)  0.0171     0.0171\n" + "\n".join(report.counts()[1:])
    )
    assert len(report.counts()) > 1


@pytest.mark.parametrize("number", [math.inf, -math.inf, 1e300, -0.0, 0.5], ids=repr)
@pytest.mark.parametrize("aggregate", ["mean", "sum", "gmean"])
def test_numbers_of_any_size_are_shown(aggregate: Any, number: float) -> None:
    metric = rf.Metric("mine", pl.lit(number), aggregate=aggregate)
    report = rf.evaluate({"q": {"a": 1.0}}, {"q": {"a": 1}}, metrics=[metric])
    assert "mine" in repr(report)
    assert "mine" in report._repr_html_()


def test_runs_of_different_populations_are_told_apart() -> None:
    report = rf.evaluate({"a": RUN, "b": {"q1": {"a": 1.0}}}, QRELS, metrics="mrr", missing="skip")
    assert "over 2 queries (a), 1 query (b)" in repr(report)


def test_counts_say_what_was_left_out() -> None:
    assert (_report().counts()) == [
        "over 3 queries",
        "no_relevant 1 (q3)",
        "run: missing_query 1 (q4)",
        "run: unjudged_query 1 (q9)",
    ]
    many = rf.evaluate({"q0": {"a": 1.0}}, {f"q{i}": {"a": 1} for i in range(1001)}, metrics="mrr").counts()
    assert many == ["over 1,001 queries", "run: missing_query 1,000 (q1, q10, q100, q1000, q101, ...)"]


HOSTILE = "<script>alert('x')</script>&\"\x00<!--"


def test_html_escapes_what_comes_from_outside() -> None:
    """Names of runs, metrics and ids are text, not markup."""
    metric = rf.Metric("<b>mine</b>", pl.lit(1.0))
    page = rf.evaluate({HOSTILE: RUN}, QRELS | {"<i>q</i>": {"a": 1}}, metrics=[metric])._repr_html_()
    for markup in ("<script", "<b>", "<i>", "<!--", '&"'):
        assert markup not in page
    assert "&lt;script&gt;alert(&#x27;x&#x27;)&lt;/script&gt;&amp;&quot;" in page
    assert "&lt;b&gt;mine&lt;/b&gt;" in page
    assert "&lt;i&gt;q&lt;/i&gt;" in page
    opened = re.findall(r"<(\w+)", page)
    assert sorted(opened) == sorted(re.findall(r"</(\w+)", page))


def test_html_shows_what_the_text_shows() -> None:
    page = _report("mrr")._repr_html_()
    for part in ("<caption>over 3 queries</caption>", ">run</th>", ">0.5000</td>", "<li>no_relevant 1 (q3)</li>"):
        assert part in page
    assert "<ul>" not in rf.evaluate({"q": {"a": 1.0}}, {"q": {"a": 1}}, metrics="mrr")._repr_html_()


def test_metadata_of_pandas_with_missing_values_is_null() -> None:
    frame = pd.DataFrame({"query_id": ["q1", "q2"], "year": pd.array([1900, None], dtype="Int64")})
    assert _report().join(frame).scores["year"].to_list() == [1900, None, None, None]
