"""What holds for every metric of rankings, whatever run and judgments it gets."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from itertools import pairwise

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal, assert_series_equal

import rankframe as rf
from rankframe.frames.checks import Loaded
from rankframe.metrics import REGISTRY
from rankframe.metrics.families import BuiltIn
from rankframe.ranking import judge, judged_blocks, rank_run
from tests.laws import cases, oracle
from tests.laws.cases import Qrels, Run

METRICS = cases.metrics()


def frame(rows: list[tuple[str, str, float]], number: str) -> pl.DataFrame:
    return pl.DataFrame(rows, schema={"query_id": pl.String, "doc_id": pl.String, number: pl.Float64}, orient="row")


def rows_of(nested: Run | Qrels) -> list[tuple[str, str, float]]:
    return [(query, doc, number) for query, docs in nested.items() for doc, number in docs.items()]


def report(run: object, judgments: object, **options: object) -> rf.Report:
    return rf.evaluate(run, judgments, metrics=METRICS, convention="trec_eval_c", **options)  # type: ignore[arg-type]  # options of any kind


def test_the_list_covers_the_registry() -> None:
    assert {metric.family.name for metric in METRICS} == set(cases.FAMILIES)
    used = {key for metric in METRICS for key in metric.parameters}
    assert used >= {key for name in cases.FAMILIES for key in REGISTRY[name].defaults} - {"max_grade"}
    missing = set(cases.FAMILIES) - set(oracle.DEFINITIONS)
    assert not missing, f"{missing} have no definition in DEFINITIONS of tests/laws/oracle.py"


@given(cases.runs(), cases.qrels())
def test_every_metric_is_what_its_definition_says(run: Run, judgments: Qrels) -> None:
    run, judgments = cases.scored(run, judgments)
    got = report(run, judgments)
    largest = max(1.0, *(grade for docs in judgments.values() for grade in docs.values()))
    for row in got.scores.iter_rows(named=True):
        for asked in METRICS:
            bound = asked.bound(largest)
            assert isinstance(bound, BuiltIn)
            query = row["query_id"]
            expected = oracle.value(bound, run.get(query, {}), judgments[query])
            assert row[bound.name] == pytest.approx(expected, abs=1e-9), (bound.name, query)


@given(cases.runs(), cases.qrels())
def test_values_stand_in_their_range_and_are_never_null(run: Run, judgments: Qrels) -> None:
    run, judgments = cases.scored(run, judgments)
    got = report(run, judgments)
    for measured in got.metrics:
        values = got.scores[measured.name]
        assert values.null_count() == 0
        assert values.is_finite().all()
        low, high = measured.range or (None, None)
        assert low is None or values.ge(low - 1e-12).all(), measured.name
        assert high is None or values.le(high + 1e-12).all(), measured.name


@given(cases.runs(), cases.qrels(), st.integers(0, 1000))
def test_the_order_of_rows_does_not_matter(run: Run, judgments: Qrels, seed: int) -> None:
    run, judgments = cases.scored(run, judgments)
    a = report(frame(rows_of(run), "score"), frame(rows_of(judgments), "relevance"))
    b = report(
        frame(cases.shuffled(rows_of(run), seed), "score"), frame(cases.shuffled(rows_of(judgments), seed), "relevance")
    )
    assert_frame_equal(a.scores, b.scores, abs_tol=1e-12)
    assert a.ledger.equals(b.ledger)


@given(cases.runs(), cases.qrels())
def test_the_expression_alone_gives_what_the_report_gives(run: Run, judgments: Qrels) -> None:
    """`metric.expr` in a plain group_by over the judged ranking is the metric."""
    run, judgments = cases.scored(run, judgments)
    got = report(run, judgments)
    judged = judge(Loaded(frame(rows_of(judgments), "relevance"), "qrels"))
    ranking = rank_run("run", Loaded(frame(rows_of(run), "score"), "run"), judged)
    (block,) = judged_blocks(judged, [ranking], texts=True)
    rows = block.judged.collect()
    assert rows.drop("group").columns == ["run_id", "query_id", "doc_id", "relevance", "rank", "ideal_rank", "n_ret"]
    bound = {metric.name: metric for metric in (asked.bound(judged.max_grade) for asked in METRICS)}.values()
    alone = rows.group_by("query_id", maintain_order=True).agg(metric.expr.alias(metric.name) for metric in bound)
    for metric in bound:
        values = alone[metric.name].cast(pl.Float64).fill_nan(None).fill_null(metric.empty)
        assert_series_equal(values, got.scores[metric.name], abs_tol=1e-12)


@given(cases.qrels())
def test_a_perfect_ranking_is_perfect(judgments: Qrels) -> None:
    judgments = {query: docs for query, docs in judgments.items() if max(docs.values()) > 0}
    judgments["both"] = {"d1": 2.0, "d2": 1.0, "d3": 0.0}
    run = {query: {doc: grade for doc, grade in docs.items() if grade > 0} for query, docs in judgments.items()}
    names = ["ndcg", "ndcg@3", "ndcg(gain=exponential)@10", "recall", "capped_recall@2", "precision", "mrr", "map",
             "map(over=min_R_k)@2", "success@1", "r_precision", "bpref", "nerr@10", "iprec_11pt", "judged@10", "f1",
             "precision(over=returned)@10"]  # fmt: skip
    got = rf.evaluate(run, judgments, metrics=names)
    for measured in got.metrics:
        assert got.scores[measured.name].to_list() == pytest.approx([1.0] * got.scores.height), measured.name


@given(cases.runs(), cases.qrels())
def test_what_grows_with_the_cutoff(run: Run, judgments: Qrels) -> None:
    run, judgments = cases.scored(run, judgments)
    for name in ("recall", "success", "dcg", "mrr", "map", "err"):
        got = rf.evaluate(run, judgments, metrics=[f"{name}@{k}" for k in (1, 2, 5, 20)] + [name])
        values = got.scores.select(measured.name for measured in got.metrics).drop_nulls()
        for row in values.iter_rows():
            assert all(b >= a - 1e-12 for a, b in pairwise(row)), name


SCALARS: dict[str, Callable[..., float]] = {
    "ndcg": rf.metrics.ndcg_at_k,
    "dcg": rf.metrics.dcg_at_k,
    "recall": rf.metrics.recall_at_k,
    "precision": rf.metrics.precision_at_k,
    "mrr": rf.metrics.reciprocal_rank,
    "map": rf.metrics.average_precision,
}


@given(cases.runs(), cases.qrels())
def test_the_documented_functions_agree(run: Run, judgments: Qrels) -> None:
    run, judgments = cases.scored(run, judgments)
    metrics = [m for m in METRICS if m.family.name in SCALARS and not set(m.parameters) & {"rel", "judged_only"}]
    cut = [metric for metric in metrics if metric.k or metric.family.name in ("mrr", "map")]
    got = rf.evaluate(run, judgments, metrics=cut, convention="trec_eval_c")
    for metric in cut:
        scalar = SCALARS[metric.family.name]
        for query, value in got.scores.select("query_id", metric.name).iter_rows():
            docs = run.get(query, {})
            ranked = sorted(docs, key=lambda doc: (docs[doc], doc.encode()), reverse=True)  # used at once
            assert value == pytest.approx(scalar(ranked, judgments[query], metric.k, **metric.parameters), abs=1e-9)


@given(cases.runs(), cases.qrels())
@settings(max_examples=30)
def test_the_type_of_ids_does_not_matter(run: Run, judgments: Qrels) -> None:
    run, judgments = cases.scored(run, judgments)
    plain, grades = frame(rows_of(run), "score"), frame(rows_of(judgments), "relevance")
    docs = sorted({*plain["doc_id"], *grades["doc_id"]}, reverse=True)
    for dtype in (pl.Categorical(), pl.Enum(docs)):
        typed = plain.with_columns(pl.col("doc_id").cast(dtype))
        assert report(typed, grades).scores.equals(report(plain, grades).scores)
        assert typed["doc_id"].dtype == dtype


@given(cases.runs(), cases.qrels())
@settings(max_examples=30)
def test_the_callers_objects_are_never_changed(run: Run, judgments: Qrels) -> None:
    run, judgments = cases.scored(run, judgments)
    run_before, judgments_before = copy.deepcopy(run), copy.deepcopy(judgments)
    a, b = frame(rows_of(run), "score"), frame(rows_of(judgments), "relevance")
    a_before, b_before = a.clone(), b.clone()
    report(run, judgments, self_hits="drop")
    report(a, b, self_hits="drop")
    assert (run, judgments) == (run_before, judgments_before)
    assert a.equals(a_before)
    assert b.equals(b_before)


@given(cases.runs(), cases.qrels())
@settings(max_examples=30)
def test_the_same_input_gives_the_same_bits(run: Run, judgments: Qrels) -> None:
    run, judgments = cases.scored(run, judgments)
    assert report(run, judgments).scores.equals(report(run, judgments).scores)


@given(cases.runs(), cases.runs(), cases.qrels())
@settings(max_examples=30)
def test_many_runs_score_as_each_alone(first: Run, second: Run, judgments: Qrels) -> None:
    first, judgments = cases.scored(first, judgments)
    second, judgments = cases.scored(second, judgments)
    together = report({"b": first, "a": second}, judgments)
    for name, run in (("a", second), ("b", first)):
        alone = report({name: run}, judgments).scores
        assert_frame_equal(together.scores.filter(run_id=name), alone, abs_tol=1e-12)
    assert together.runs == ["a", "b"]


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.name)
def test_a_name_carries_the_whole_definition(metric: BuiltIn) -> None:
    again = rf.metrics.parse(metric.name)
    assert isinstance(again, BuiltIn)
    assert (metric.family, metric.parameters, metric.k) == (again.family, again.parameters, again.k)
    assert (
        metric.name == again.name == rf.metrics.parse(metric.name.upper().replace("MIN_R_K", "min_R_k")).name
        if not (metric.parameters)
        else True
    )


def test_pytrec_eval_agrees_on_random_runs() -> None:
    """An independent tool, over scores that single precision holds."""
    pytrec_eval = pytest.importorskip("pytrec_eval")
    names = {"ndcg": "ndcg", "ndcg_cut.3": "ndcg@3", "map": "map", "map_cut.3": "map@3", "P.3": "precision@3",
             "recall.3": "recall@3", "recip_rank": "mrr", "bpref": "bpref", "infAP": "infap", "Rprec": "r_precision",
             "set_F": "f1", "success.3": "success@3", "11pt_avg": "iprec_11pt"}  # fmt: skip

    @given(cases.runs(), cases.qrels())
    def compare(run: Run, judgments: Qrels) -> None:
        run, judgments = cases.scored(run, judgments)
        whole = {q: {d: math.ceil(g) for d, g in docs.items()} for q, docs in judgments.items()}
        tame = {  # it crashes on queries without results or relevant documents, and on infinite scores
            query: {doc: max(min(score, 1e30), -1e30) for doc, score in docs.items()}
            for query, docs in run.items()
            if docs and max(whole.get(query, {}).values(), default=0) > 0
        }
        single = {q: dict(zip(d, pl.Series(list(d.values()), dtype=pl.Float32), strict=True)) for q, d in tame.items()}
        both = {query: whole[query] for query in single}
        theirs = pytrec_eval.RelevanceEvaluator(both, set(names)).evaluate(single)
        ours = rf.evaluate(single, both, metrics=list(names.values()), convention="trec_eval").scores
        for query, values in theirs.items():
            row = ours.row(by_predicate=pl.col("query_id") == query, named=True)
            for theirs_name, our_name in names.items():
                assert values[theirs_name.replace(".", "_")] == pytest.approx(row[our_name], abs=1e-9), theirs_name

    compare()
