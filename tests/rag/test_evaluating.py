"""`evaluate_samples`: its report, ledger and file; metrics of a caller's own; what is refused, and with what words."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import rankframe as rf
from rankframe.metrics import DEFAULT_OF_SAMPLES

SAMPLES: list[dict[str, Any]] = [
    {
        "sample_id": "capital",
        "user_input": "What is the capital of France?",
        "response": "Paris",
        "reference": "Paris",
        "retrieved_contexts": ["Paris is the capital of France.", "Rome is old."],
        "topic": "places",
    },
    {
        "sample_id": "sum",
        "user_input": "What is two and two?",
        "response": "it is five",
        "reference": "four",
        "retrieved_contexts": [],
        "topic": "numbers",
    },
    {
        "sample_id": "silent",
        "user_input": "Who?",
        "response": None,
        "reference": "the owl",
        "retrieved_contexts": None,
        "topic": "birds",
    },
    {
        "sample_id": "open",
        "user_input": "Why do kites soar?",
        "response": "Kites soar to save strength.",
        "reference": None,
        "retrieved_contexts": ["Kites soar to save strength, as vultures do.", None],
        "topic": "birds",
    },
    {
        "sample_id": "articles",
        "user_input": "Which article?",
        "response": "",
        "reference": "the",
        "retrieved_contexts": ["The."],
        "topic": "words",
    },
]
NAMES = ["exact_match", "token_f1", "context_recall", "context_precision", "non_empty_rate"]


def report(metrics: Any = NAMES, samples: Any = SAMPLES, **options: Any) -> rf.Report:
    return rf.evaluate_samples(samples, metrics=metrics, **options)


# The report.


def test_scores_have_a_row_per_sample_and_a_column_per_metric() -> None:
    scores = report().scores
    assert dict(scores.schema) == {
        "run_id": pl.String,
        "sample_id": pl.String,
        "status": pl.String,
        "n_contexts": pl.Int64,
        **dict.fromkeys(NAMES, pl.Float64),
    }
    assert scores.rows() == [
        ("run", "capital", "ok", 2, 1.0, 1.0, 1.0, 0.5, 1.0),
        ("run", "sum", "ok", 0, 0.0, 0.0, 0.0, 0.0, 0.0),
        ("run", "silent", "ok", 0, 0.0, 0.0, 0.0, 0.0, 0.0),
        ("run", "open", "ok", 2, None, None, None, None, 1.0),
        ("run", "articles", "ok", 1, 1.0, 1.0, None, 0.0, 1.0),
    ]


def test_per_sample_is_the_scores_under_the_name_of_their_unit() -> None:
    found = report()
    assert found.per_sample is found.scores
    assert (found.unit, found.key) == ("sample", "sample_id")
    with pytest.raises(AttributeError, match=r"this report is per sample; see \.scores"):
        _ = found.per_query


def test_every_metric_has_a_population_of_its_own() -> None:
    """Null is never counted as 0, and n says over how many a mean is."""
    assert report().summary.select("metric", "value", "n", "n_missing", "n_null", "n_failed").rows() == [
        ("exact_match", 0.5, 4, 0, 1, 0),
        ("token_f1", 0.5, 4, 0, 1, 0),
        ("context_recall", pytest.approx(1 / 3), 3, 0, 2, 0),
        ("context_precision", 0.125, 4, 0, 1, 0),
        ("non_empty_rate", 0.6, 5, 0, 0, 0),
    ]


def test_the_ledger_says_what_was_missing() -> None:
    assert report().ledger.rows() == [
        ("run", "empty_reference", 1, ["articles"]),
        ("run", "no_contexts", 2, ["sum", "silent"]),
        ("run", "no_reference", 1, ["open"]),
        ("run", "no_response", 1, ["silent"]),
    ]


@pytest.mark.parametrize(
    ("metric", "reasons"),
    [
        ("exact_match", {"empty_reference", "no_reference", "no_response"}),
        ("context_recall", {"empty_reference", "no_contexts", "no_reference"}),
        ("non_empty_rate", {"no_contexts"}),
        ("lexical_faithfulness", {"no_contexts", "no_response"}),
        ("tfidf_answer_relevance", {"no_response"}),
        (rf.Metric("length", pl.col("response").str.len_chars()), set()),
    ],
    ids=lambda value: "-".join(sorted(value)) if isinstance(value, set) else str(value),
)
def test_the_ledger_speaks_of_what_the_metrics_read(metric: Any, reasons: set[str]) -> None:
    assert set(report(metric).ledger["reason"]) == reasons


def test_the_ledger_counts_for_each_run_and_shows_five() -> None:
    gaps = [{"sample_id": f"s{number}", "response": "x", "reference": None} for number in range(7)]
    found = report(["exact_match"], {"b": gaps, "a": SAMPLES}).ledger
    assert found.filter(reason="no_reference").rows() == [
        ("a", "no_reference", 1, ["open"]),
        ("b", "no_reference", 7, ["s0", "s1", "s2", "s3", "s4"]),
    ]


def test_columns_that_are_absent_altogether_are_in_the_ledger() -> None:
    found = report(["exact_match", "context_recall"], [{"user_input": "x"}, {"user_input": "y"}])
    assert dict(found.ledger.select("reason", "count").iter_rows()) == {
        "no_contexts": 2,
        "no_reference": 2,
        "no_response": 2,
    }
    assert found.summary.select("value", "n", "n_null").rows() == [(None, 0, 2), (None, 0, 2)]
    assert math.isnan(found.value("exact_match"))


def test_long_is_the_scores_in_tidy_form() -> None:
    long = report(["exact_match", "non_empty_rate"]).long
    assert long.columns == ["run_id", "sample_id", "metric", "value"]
    assert long.height == 2 * len(SAMPLES)
    assert long.filter(sample_id="open").rows() == [
        ("run", "open", "exact_match", None),
        ("run", "open", "non_empty_rate", 1.0),
    ]


def test_the_table_shows_over_how_many_where_that_differs() -> None:
    found = report(["exact_match", "context_recall", "non_empty_rate"])
    assert found.table() == [
        ["metric", "run"],
        ["exact_match", "0.5000 (n=4)"],
        ["context_recall", "0.3333 (n=3)"],
        ["non_empty_rate", "0.6000"],
    ]
    nothing = report(["exact_match"], [{"response": "x", "reference": None}])
    assert nothing.table()[1] == ["exact_match", "- (n=0)"]


def test_the_report_is_shown_over_its_samples_with_the_ledger() -> None:
    lines = repr(report(["exact_match", "non_empty_rate"])).splitlines()
    assert lines[0] == "Report over 5 samples"
    assert "run: no_reference 1 (open)" in lines
    html = report()._repr_html_()
    assert "5 samples" in html
    assert "(n=4)" in html
    several = report(["exact_match"], {"a": SAMPLES, "b": SAMPLES[:2]})
    assert several.counts()[0] == "over 5 samples (a), 2 samples (b)"


def test_to_dict_has_means_and_coverage() -> None:
    """None, and not 0, where a metric applies to no sample."""
    assert report(["exact_match", "context_recall"]).to_dict() == {
        "metrics": {"exact_match": 0.5, "context_recall": pytest.approx(1 / 3)},
        "coverage": {"exact_match": 4, "context_recall": 3},
        "n_samples": 5,
    }
    assert report(["exact_match"], [{"response": "x"}]).to_dict() == {
        "metrics": {"exact_match": None},
        "coverage": {"exact_match": 0},
        "n_samples": 1,
    }
    several = report(["exact_match"], {"a": SAMPLES, "b": SAMPLES[:1]})
    assert several.to_dict("b") == {"metrics": {"exact_match": 1.0}, "coverage": {"exact_match": 1}, "n_samples": 1}
    with pytest.raises(rf.DataError, match="say which run with run_id="):
        several.to_dict()


def test_an_aggregate_can_be_asked_of_any_metric() -> None:
    mean, total = rf.metrics.exact_match(), rf.metrics.exact_match(aggregate="sum")
    found = report([mean, total])
    assert found.summary.select("aggregate", "value", "n").rows() == [("mean", 0.5, 4), ("sum", 2.0, 4)]
    assert list(found.to_dict()["metrics"].values()) == [0.5, 2.0]
    geometric = rf.metrics.token_f1(aggregate="gmean")
    assert report(geometric, SAMPLES[:2]).value("token_f1") == pytest.approx(math.sqrt(1e-5))


def test_the_default_metrics_need_nothing_but_the_samples() -> None:
    found = rf.evaluate_samples(SAMPLES)
    assert tuple(metric.name for metric in found.metrics) == DEFAULT_OF_SAMPLES
    assert found.scores.columns[4:] == list(DEFAULT_OF_SAMPLES)


def test_metrics_are_told_in_the_order_asked_each_once() -> None:
    found = report(["token_f1", "EXACT_MATCH", rf.metrics.token_f1(), "exact_match"])
    assert [metric.name for metric in found.metrics] == ["token_f1", "exact_match"]
    assert [metric.range for metric in found.metrics] == [(0.0, 1.0), (0.0, 1.0)]
    assert found.metrics[0].definition == rf.metrics.token_f1.definition
    assert report("exact_match").scores.columns[4:] == ["exact_match"]


# The report's file, and what is joined to it.


def test_a_report_is_read_back_as_it_was_written(tmp_path: Path) -> None:
    path = tmp_path / "scores.parquet"
    own = rf.Metric("length", pl.col("response").str.len_chars(), range=(0, None))
    found = report([*NAMES, "context_id_recall@3", own], {"b": SAMPLES, "a": SAMPLES[:2]})
    found.write_parquet(path)
    again = rf.read_report(path)
    assert again.scores.equals(found.scores)
    assert_frame_equal(again.summary, found.summary, rel_tol=1e-15)
    assert again.ledger.equals(found.ledger)
    assert (again.metrics, dict(again.options), again.unit) == (found.metrics, dict(found.options), "sample")
    assert again.per_sample.equals(found.per_sample)
    assert (again.to_dict("a"), repr(again)) == (found.to_dict("a"), repr(found))
    assert again.counts() == found.counts()
    assert pl.read_parquet(path).equals(found.scores)


def test_metadata_of_the_samples_is_joined_and_sliced() -> None:
    topics = pl.DataFrame([{"sample_id": s["sample_id"], "topic": s["topic"]} for s in SAMPLES[:4]])
    joined = report(["exact_match"]).join(topics)
    assert joined.scores["topic"].to_list() == ["places", "numbers", "birds", "birds", None]
    assert joined.ledger.filter(reason="without_metadata").row(0) == (None, "without_metadata", 1, ["articles"])
    by = joined.scores.group_by("topic").agg(pl.col("exact_match").mean()).sort("topic")
    assert by.rows() == [(None, 1.0), ("birds", 0.0), ("numbers", 0.0), ("places", 1.0)]
    assert joined.summary.equals(report(["exact_match"]).summary)


def test_options_say_what_made_the_scores(tmp_path: Path) -> None:
    path = tmp_path / "ours.jsonl"
    pl.DataFrame(SAMPLES).write_ndjson(path)
    found = report(["exact_match"], path, fingerprint="sha256")
    assert found.runs == ["ours"]
    run, file = found.options["samples"]
    assert run == {"run_id": "ours", "rows": 5}
    assert Path(file["path"]).name == "ours.jsonl"
    assert len(file["sha256"]) == 64
    assert set(found.options["versions"]) == {"rankframe", "polars"}
    assert found.options["invalid"] == "error"


# Gates and bands.


def test_a_gate_holds_the_report_and_asks_for_its_coverage() -> None:
    found = report(["exact_match", "non_empty_rate"])
    assert found.gate({"non_empty_rate": 0.6}).height == 1
    assert found.gate({"exact_match": 0.5}, min_coverage=0.8).height == 1
    with pytest.raises(rf.errors.GateError, match="exact_match"):
        found.gate({"exact_match": 0.5})  # one of five samples has no value
    with pytest.raises(rf.errors.GateError, match="non_empty_rate"):
        found.gate({"non_empty_rate": 0.9})


def test_a_gate_compares_with_an_earlier_report(tmp_path: Path) -> None:
    before = report(["exact_match"])
    before.write_parquet(tmp_path / "before.parquet")
    worse = report(["exact_match"], [{**sample, "response": "?"} for sample in SAMPLES])
    earlier = rf.read_report(tmp_path / "before.parquet")
    assert before.gate(baseline=earlier, min_coverage=0.5).height >= 1
    with pytest.raises(rf.errors.GateError, match="exact_match"):
        worse.gate(baseline=earlier, min_coverage=0.5, max_drop=0.01)
    queries = rf.evaluate({"q": {"a": 1.0}}, {"q": {"a": 1}}, metrics="mrr")
    with pytest.raises(rf.DataError, match="baseline is per query and this report per sample"):
        worse.gate(baseline=queries)


def test_bands_are_those_of_the_metrics_that_have_them() -> None:
    """A word overlap has none of a judge's, unless a table says so."""
    found = report(["exact_match", "lexical_faithfulness"])
    assert found.bands().is_empty()
    told = found.bands({"exact_match": (0.3, 0.5, 0.7)})
    assert told.select("metric", "value", "band", "n").rows() == [("exact_match", 0.5, "good", 4)]


# Metrics of a caller's own.


def length(**options: Any) -> rf.Metric:
    return rf.Metric("length", pl.col("response").str.len_chars(), **options)


def test_an_expression_over_the_columns_is_a_metric() -> None:
    """Beside the built-in ones; null stays null, and is not what `empty` says."""
    found = report(["exact_match", length(range=(0, None), empty=7.0)])
    assert found.scores["length"].to_list() == [5.0, 10.0, None, 28.0, 0.0]
    row = found.summary.filter(metric="length").row(0, named=True)
    assert (row["value"], row["n"], row["n_null"]) == (10.75, 4, 1)
    assert found.metrics[1].definition == str(length().expr)


@pytest.mark.parametrize(
    ("expr", "right"),
    [
        (pl.col("topic") == "birds", [0.0, 0.0, 1.0, 1.0, 0.0]),
        (pl.col("topic").str.len_chars() / 0.0 - math.inf, [None] * 5),  # NaN is no value
        (pl.col("retrieved_contexts").list.len(), [2.0, 0.0, None, 2.0, 1.0]),
        (pl.int_range(pl.len()), [0.0, 1.0, 2.0, 3.0, 4.0]),
        (rf.metrics.exact_match().expr, [1.0, 0.0, 0.0, None, 1.0]),
    ],
)
def test_an_expression_gives_a_number_for_each_sample(expr: pl.Expr, right: list[float | None]) -> None:
    assert report(rf.Metric("mine", expr)).scores["mine"].to_list() == right


@pytest.mark.parametrize(
    ("expr", "why"),
    [
        (pl.col("absent"), "absent"),
        (pl.col("user_input"), "conversion from `str` to `f64` failed"),
        (pl.col("response").drop_nulls().str.len_chars(), "4 values of Float64 for 5 samples"),
        (pl.len(), "1 values of Float64 for 5 samples"),
        (pl.col("response").map_elements(lambda text: 1 / len(text), return_dtype=pl.Float64), "division by zero"),
        (pl.col("retrieved_contexts"), "List"),
    ],
    ids=["absent", "text", "fewer", "one", "raises", "lists"],
)
def test_an_expression_that_gives_no_number_per_sample_is_refused(expr: pl.Expr, why: str) -> None:
    """By its name, with the columns that there are."""
    said = rf"metric 'mine' cannot be computed over the samples \(run_id, sample_id, user_input.*topic\).*{why}"
    with pytest.raises(rf.MetricError, match=said):
        report(rf.Metric("mine", expr))


@pytest.mark.parametrize("bounds", [(0, 9), (6, None), (None, 27)])
def test_values_outside_of_a_declared_range_are_refused(bounds: tuple[float | None, float | None]) -> None:
    with pytest.raises(rf.MetricError, match=r"metric 'length' gives values outside of its range .*(sum|capital|open)"):
        report(length(range=bounds))
    assert report(length(range=(0, 28))).summary["n"].item() == 4


@pytest.mark.parametrize("taken", ["status", "run_id"])
def test_a_metric_that_is_called_like_a_column_is_refused(taken: str) -> None:
    with pytest.raises(rf.MetricError, match=f"'{taken}' is another column of the scores"):
        rf.Metric(taken, pl.len())


@pytest.mark.parametrize("taken", ["sample_id", "n_contexts"])
def test_a_metric_that_is_called_like_a_column_of_samples_is_refused(taken: str) -> None:
    with pytest.raises(rf.DataError, match=f"two columns of the scores are called '{taken}'"):
        report(rf.Metric(taken, pl.int_range(pl.len())))


def test_two_metrics_of_one_name_are_refused() -> None:
    with pytest.raises(rf.MetricError, match="two metrics are called 'length'; give one another name"):
        report([length(), rf.Metric("length", pl.lit(1.0))])
    assert report([length(), length()]).scores.columns[4:] == ["length"]


# What is refused.


def test_a_metric_of_rankings_is_refused_by_name(tmp_path: Path) -> None:
    """And the other way round, before anything is read."""
    with pytest.raises(rf.MetricError, match=r"'ndcg@10' scores queries: rankframe\.evaluate takes it"):
        report(["exact_match", "ndcg@10"], tmp_path / "absent.jsonl")
    with pytest.raises(rf.MetricError, match=r"'token_f1' scores samples: rankframe\.evaluate_samples takes it"):
        rf.evaluate(tmp_path / "absent.tsv", tmp_path / "absent.tsv", metrics=["mrr", rf.metrics.token_f1()])


@pytest.mark.parametrize(
    ("metrics", "said"),
    [
        ("exactmatch", "unknown metric 'exactmatch': did you mean 'exact_match'"),
        ([], "metrics= is empty; the default is exact_match, token_f1"),
        (None, "metrics= takes names and Metric objects, got None"),
        ([None], "a metric is a name or a Metric, got None"),
        ([rf.metrics.exact_match], "a metric is a name or a Metric"),
        ("exact_match@5", "exact_match has no cutoff"),
        ("faithfulness", r"a judge gives it: rankframe\.rag\.faithfulness\(llm=\.\.\.\)"),
    ],
)
def test_wrong_metrics_are_refused_before_anything_is_read(metrics: Any, said: str, tmp_path: Path) -> None:
    with pytest.raises(rf.MetricError, match=said):
        report(metrics, tmp_path / "absent.jsonl")


@pytest.mark.parametrize(
    "empty",
    [
        [],
        {},
        iter(()),
        pl.DataFrame(),
        pl.DataFrame(schema={"response": pl.String}),
        pl.LazyFrame(schema={"response": pl.String}),
        pd.DataFrame({"response": []}),
        {"response": []},
    ],
    ids=["list", "dict", "iterator", "no columns", "no rows", "lazy", "pandas", "columns"],
)
def test_no_samples_at_all_is_an_error(empty: Any) -> None:
    with pytest.raises(rf.DataError, match="there are no samples to score"):
        report(samples=empty)


def test_a_run_without_samples_is_named() -> None:
    with pytest.raises(rf.DataError, match="samples of 'b': there are no samples to score"):
        report(samples={"a": SAMPLES, "b": pl.DataFrame(schema={"response": pl.String})})


def test_no_file_is_not_found(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"absent\.jsonl"):
        report(samples=tmp_path / "absent.jsonl")


@pytest.mark.parametrize(
    ("samples", "said"),
    [
        ([{"response": "x", "sample_id": "a"}, {"response": "y", "sample_id": "a"}], "1 sample_id more than once: 'a'"),
        ([{"response": "x", "sample_id": None}], "1 sample without sample_id"),
        ([{"response": "x", "retrieved_contexts": "one text"}], "retrieved_contexts"),
        ([{"response": "x", "ground_truth": "y"}], "'ground_truth' is now 'reference'; legacy=True"),
        ([{"retreived_contexts": [], "response": "y"}], "did you mean 'retrieved_contexts'"),
        (5, "a int holds no samples"),
    ],
)
def test_samples_that_cannot_be_read_are_refused(samples: Any, said: str) -> None:
    with pytest.raises(rf.DataError, match=said):
        report(samples=samples)


@pytest.mark.parametrize(
    ("options", "said"),
    [({"fingerprint": "md5"}, "fingerprint='md5'"), ({"invalid": "skip"}, "invalid='skip'")],
)
def test_unknown_options_are_refused(options: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        report(**options)


def test_samples_without_an_id_are_dropped_on_request_and_counted() -> None:
    found = report(["exact_match"], [*SAMPLES, {**SAMPLES[0], "sample_id": None}], invalid="drop")
    assert found.scores.height == 5
    assert found.ledger.filter(reason="invalid_dropped").row(0) == ("run", "invalid_dropped", 1, ["sample 5"])


# Runs.


def test_a_mapping_of_names_is_a_run_each() -> None:
    """Whatever holds the samples of each."""
    frame = pl.DataFrame(SAMPLES)
    forms = {
        "list": SAMPLES,
        "frame": frame,
        "lazy": frame.lazy(),
        "pandas": pd.DataFrame(SAMPLES),
        "it": iter(SAMPLES),
    }
    found = report(samples=forms)
    assert found.runs == sorted(forms)
    for name in forms:
        assert found.scores.filter(run_id=name).drop("run_id").equals(report().scores.drop("run_id"))
        assert found.value("exact_match", name) == 0.5


def test_the_runs_of_a_frame_are_those_of_its_column() -> None:
    frame = pl.concat(pl.DataFrame(SAMPLES).with_columns(run_id=pl.lit(name)) for name in ("b", "a"))
    found = report(samples=frame)
    assert found.scores["run_id"].to_list() == ["a"] * 5 + ["b"] * 5
    assert found.scores["sample_id"].to_list() == [sample["sample_id"] for sample in SAMPLES] * 2
    named = report(samples={"new": frame, "old": SAMPLES})
    assert named.runs == ["new/a", "new/b", "old"]


def test_two_runs_of_one_name_are_refused(tmp_path: Path) -> None:
    """In whatever way they came to it."""
    frame = pl.concat(pl.DataFrame(SAMPLES).with_columns(run_id=pl.lit(name)) for name in ("b", "a"))
    with pytest.raises(rf.DataError, match="both hold samples of 'new/a'; rename a file or its run_id"):
        report(samples={"new": frame, "new/a": SAMPLES})
    paths = [tmp_path / folder / "ours.jsonl" for folder in ("x", "y")]
    for path in paths:
        path.parent.mkdir()
        pl.DataFrame(SAMPLES).write_ndjson(path)
    with pytest.raises(rf.DataError, match="both hold samples of 'ours'"):
        report(samples=paths)
    assert report(samples={"x": paths[0], "y": paths[1]}).runs == ["x", "y"]


@pytest.mark.parametrize("name", [1, None, ("a",), "\ud800"], ids=ascii)
def test_the_name_of_a_run_is_text(name: Any) -> None:
    with pytest.raises(rf.DataError, match="the name of a run is text"):
        report(samples={name: SAMPLES})


def test_a_mapping_of_records_or_of_columns_is_one_run() -> None:
    keyed = {sample["sample_id"]: {k: v for k, v in sample.items() if k != "sample_id"} for sample in SAMPLES}
    columns = {name: [sample[name] for sample in SAMPLES] for name in SAMPLES[0]}
    for samples in (keyed, columns):
        assert report(samples=samples).scores.equals(report().scores)


def test_runs_of_different_columns_stand_together() -> None:
    """Metadata that only one of them has, or that both have as something else, is no hindrance."""
    other = [{"response": "Paris", "reference": "Paris", "topic": ["a", "list"], "more": 1}]
    found = report(samples={"a": SAMPLES, "b": other})
    assert found.scores.filter(run_id="a").equals(report(samples={"a": SAMPLES}).scores)
    assert found.value("exact_match", "b") == 1.0


def test_the_same_samples_in_files_of_every_form_score_the_same(tmp_path: Path) -> None:
    frame = pl.DataFrame(SAMPLES)
    writers: dict[str, Callable[[Path], None]] = {
        "a.parquet": frame.write_parquet,
        "a.jsonl": frame.write_ndjson,
        "a.json": frame.write_json,
        "a.csv": lambda path: frame.with_columns(
            pl.col("retrieved_contexts").map_elements(_as_json, return_dtype=pl.String)
        ).write_csv(path),
    }
    right = report(samples={"a": frame}).scores
    for name, write in writers.items():
        write(tmp_path / name)
        lists = "json" if name == "a.csv" else None
        found = report(samples=tmp_path / name, lists=lists).scores
        if name == "a.csv":  # an empty text is none there
            assert found.filter(sample_id="capital").equals(right.filter(sample_id="capital"))
        else:
            assert_frame_equal(found, right)


def _as_json(texts: pl.Series) -> str:
    import json

    return json.dumps(texts.to_list())


# The caller's objects.


def test_objects_of_the_caller_are_never_changed() -> None:
    before = copy.deepcopy(SAMPLES)
    frame, pandas = pl.DataFrame(SAMPLES), pd.DataFrame(SAMPLES)
    for samples in (SAMPLES, frame, pandas, {"a": SAMPLES, "b": frame}):
        report([*DEFAULT_OF_SAMPLES, length()], samples)
    assert before == SAMPLES
    assert frame.equals(pl.DataFrame(before))
    pd.testing.assert_frame_equal(pandas, pd.DataFrame(before))


def test_the_documented_module_has_the_same_figures() -> None:
    """Its worked example, over frames."""
    samples = [
        {
            "user_input": "capital of France?",
            "response": "Paris",
            "reference": "Paris",
            "retrieved_contexts": ["Paris is the capital of France."],
        },
        {"user_input": "2 + 2?", "response": "five", "reference": "four", "retrieved_contexts": []},
    ]
    found = report(samples=samples)
    assert found.value("exact_match") == 0.5
    assert found.value("non_empty_rate") == 0.5
    assert found.to_dict()["metrics"] == rf.evaluation.evaluate_rag(samples).metrics
