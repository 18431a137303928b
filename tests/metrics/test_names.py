"""The grammar of metric names, other tools' names, and what a wrong name is answered with."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankframe as rf
from rankframe.metrics import DEFAULT, DEFAULT_OF_SAMPLES, REGISTRY, parse
from rankframe.metrics.metric import checked_cutoff
from rankframe.metrics.names import ALIASES, DIALECTS, is_builtin, resolve

PEERS: dict[str, str] = {
    "nDCG@10": "ndcg@10",
    "NDCG@10": "ndcg@10",
    "ndcg_cut_10": "ndcg@10",
    "ndcg_cut.10": "ndcg@10",
    "ndcg_at_10": "ndcg@10",
    "ndcg_burges@10": "ndcg(gain=exponential)@10",
    "nDCG(dcg='exp-log2')@10": "ndcg(gain=exponential)@10",
    "nDCG(dcg='log2')@10": "ndcg@10",
    "dcg_at_5": "dcg@5",
    "R@100": "recall@100",
    "recall_100": "recall@100",
    "Recall@100": "recall@100",
    "set_recall": "recall",
    "R_cap@10": "capped_recall@10",
    "P@5": "precision@5",
    "P_5": "precision@5",
    "P.5": "precision@5",
    "set_P": "precision",
    "set_F": "f1",
    "RR": "mrr",
    "RR@10": "mrr@10",
    "recip_rank": "mrr",
    "MRR@10": "mrr@10",
    "AP": "map",
    "AP@10": "map@10",
    "AP(rel=2)@10": "map(rel=2)@10",
    "map_cut_10": "map@10",
    "MAP@10": "map@10",
    "hit_rate@5": "success@5",
    "Success@5": "success@5",
    "success_5": "success@5",
    "Rprec": "r_precision",
    "infAP": "infap",
    "RBP(p=0.8)": "rbp",
    "rbp(p=0.95)": "rbp(p=0.95)",
    "ERR@10": "err@10",
    "iprec_at_recall_0.10": "iprec(recall=0.1)",
    "iprec_at_recall.0.10": "iprec(recall=0.1)",
    "iprec_at_recall_0.00": "iprec(recall=0)",
    "iprec_at_recall_1.00": "iprec(recall=1)",
    "11pt_avg": "iprec_11pt",
    "Judged@10": "judged@10",
    "unj_10": "unjudged@10",
    "num_ret": "num_ret",
    "num_rel_ret": "num_rel_ret",
}


@pytest.mark.parametrize("name", PEERS)
def test_the_documented_names_of_peers(name: str) -> None:
    """In any letter case, with blanks around; parameters are written as they are."""
    base, opened, rest = name.partition("(")
    for written in (name, base.upper() + opened + rest, base.lower() + opened + rest, f"  {name} "):
        assert PEERS[name] == parse(written).name


@pytest.mark.parametrize("alias", ALIASES)
def test_every_alias_leads_to_a_metric_and_hides_none(alias: str) -> None:
    assert alias not in REGISTRY
    assert alias == alias.lower()
    cut = "@5" if ALIASES[alias].k is None and REGISTRY[ALIASES[alias].family].needs_cutoff is True else ""
    metric = parse(alias + cut)
    assert metric.name.startswith(ALIASES[alias].family)
    assert (ALIASES[alias].aggregate or REGISTRY[ALIASES[alias].family].aggregate) == metric.aggregate


@pytest.mark.parametrize(("names", "unit"), [(DEFAULT, "query"), (DEFAULT_OF_SAMPLES, "sample")])
def test_the_default_metrics_have_canonical_names(names: tuple[str, ...], unit: str) -> None:
    """And need no extra."""
    metrics = [parse(name) for name in names]
    assert [metric.name for metric in metrics] == list(names)
    assert {metric.unit for metric in metrics} == {unit}
    assert {REGISTRY[name.partition("@")[0]].extra for name in names} == {None}


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("ndcg ( gain = exponential ) @ 10", "ndcg(gain=exponential)@10"),
        ("ndcg()@10", "ndcg@10"),
        ("ndcg(gain=linear)@10", "ndcg@10"),
        ("ndcg(judged_only=true,gain='exponential')@10", "ndcg(gain=exponential,judged_only=true)@10"),
        ("recall(judged_only=false)@5", "recall@5"),
        ("rbp(rel=2, p=0.50)", "rbp(p=0.5,rel=2)"),
        ("rbp(p=5e-1)", "rbp(p=0.5)"),
        ("recall(rel=2.0)@5", "recall(rel=2)@5"),
        ("recall(rel=1)@5", "recall(rel=1)@5"),
        ("recall(rel=0.25)@5", "recall(rel=0.25)@5"),
        ("err(max_grade=4.0)@20", "err(max_grade=4)@20"),
        ("map(over=min_R_k)@10", "map(over=min_R_k)@10"),
        ("Exact_Match", "exact_match"),
        (
            "context_precision(stopwords=drop, against=user_input)",
            "context_precision(against=user_input,stopwords=drop)",
        ),
        ("context_precision(stopwords=keep)", "context_precision"),
        ("lexical_faithfulness(none='zero')", "lexical_faithfulness(none=zero)"),
        ("context_id_precision(over=returned)@5", "context_id_precision(over=returned)@5"),
        ("context_id_recall_5", "context_id_recall@5"),
        ("precision(over=returned)@5", "precision(over=returned)@5"),
    ],
)
def test_names_are_written_in_one_way(written: str, name: str) -> None:
    """Defaults left out, parameters alphabetical, numbers in their shortest form."""
    assert name == parse(written).name
    assert name == parse(name).name


@given(
    gain=st.sampled_from(["linear", "exponential", None]),
    judged_only=st.booleans(),
    k=st.none() | st.integers(1, 10**12),
    rel=st.none() | st.floats(min_value=5e-324, allow_infinity=False, allow_nan=False),
    p=st.floats(min_value=5e-324, max_value=1, exclude_max=True),
)
def test_a_name_gives_the_same_metric_back(
    *, gain: Any, judged_only: bool, k: int | None, rel: float | None, p: float
) -> None:
    """Whatever the parameters, to the last digit."""
    for metric in (
        rf.metrics.ndcg(k=k, gain=gain, judged_only=judged_only),
        rf.metrics.recall(k=k, rel=rel, judged_only=judged_only),
        rf.metrics.rbp(p=p, rel=rel, judged_only=judged_only),
    ):
        again = parse(metric.name)
        assert metric.name == again.name
        assert metric.cutoff == again.cutoff
        assert getattr(metric, "parameters", None) == getattr(again, "parameters", 0)


# What is refused.


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("nope", "unknown metric 'nope': Valid: "),
        ("nope", "ndcg, dcg, recall"),
        ("nope", "exact_match, token_f1, contains_answer"),
        ("exactmatch", "did you mean 'exact_match'"),
        ("tokenf1", "did you mean 'token_f1'"),
        ("ndgc@10", "unknown metric 'ndgc@10': did you mean 'ndcg'"),
        ("precison@5", "did you mean 'precision'"),
        ("capped_recal@5", "did you mean 'capped_recall'"),
        ("", "not a metric name"),
        ("   ", "not a metric name"),
        ("@10", "not a metric name"),
        ("ndcg@", "not a metric name"),
        ("ndcg@10@5", "not a metric name"),
        ("ndcg(gain=exponential", "not a metric name"),
        ("ndcg)", "not a metric name"),
        ("ndcg((gain=linear))", "not a metric name"),
        ("ndcg(gain)@10", "'gain' is not parameter=value"),
        ("ndcg(=linear)@10", "'=linear' is not parameter=value"),
        ("ndcg(gain=)@10", "'gain=' is not parameter=value"),
        ("ndcg(,)@10", "is not parameter=value"),
        ("ndcg(gain=linear,gain=linear)@10", "the parameter 'gain' stands there twice"),
        ("ndcg(gian=linear)@10", "ndcg has no parameter 'gian': did you mean 'gain'"),
        ("ndcg(rel=2)@10", "ndcg has no parameter 'rel'"),
        ("ndcg(gain=cubic)@10", "gain='cubic'; valid: linear, exponential"),
        ("ndcg(k=10)", "'k' is no parameter; a cutoff stands behind the @"),
        ("map(aggregate=gmean)", "'aggregate' is no parameter"),
        ("recall(rel=0)@5", "rel=0 is outside of"),
        ("recall(rel=-1)@5", "rel=-1 is outside of"),
        ("recall(rel=inf)@5", "is not a number"),
        ("recall(rel=nan)@5", "is not a number"),
        ("recall(rel=two)@5", "is not a number"),
        ("recall(rel=true)@5", "is not a number"),
        ("rbp(p=0)", "p=0 is outside of"),
        ("rbp(p=1)", "p=1 is outside of"),
        ("err(max_grade=0)@5", "max_grade=0 is outside of"),
        ("iprec(recall=1.1)", "recall=1.1 is outside of"),
        ("iprec", "iprec needs the parameter 'recall'"),
        ("recall(judged_only=yes)@5", "judged_only='yes'; valid: true, false"),
        ("capped_recall", "needs a cutoff"),
        ("unjudged", "needs a cutoff"),
        ("map(over=min_R_k)", "needs a cutoff"),
        ("r_precision@5", "r_precision has no cutoff, got @5"),
        ("bpref@5", "bpref has no cutoff"),
        ("num_ret@5", "num_ret has no cutoff"),
        ("exact_match@5", "exact_match has no cutoff"),
        ("token_f1(rel=2)", "token_f1 has no parameter 'rel'"),
        ("token_f1(judged_only=true)", "token_f1 has no parameter 'judged_only'"),
        ("context_precision(against=response)", "against='response'; valid: reference, user_input"),
        ("context_precision(stopword=drop)", "did you mean 'stopwords'"),
        ("lexical_faithfulness(none=0)", "valid: null, zero"),
        ("tfidf_answer_relevance(idf=none)", "idf='none'; valid: pair, corpus"),
        ("context_id_recall@0", "a cutoff is a whole number from 1"),
        ("rbp@5", "rbp has no cutoff"),
    ],
)
def test_wrong_names_are_told_what_is_wrong(name: str, said: str) -> None:
    with pytest.raises(rf.MetricError) as caught:
        parse(name)
    assert said in str(caught.value)
    assert isinstance(caught.value, ValueError)


@pytest.mark.parametrize("name", [None, 10, b"ndcg", ["ndcg"], rf.metrics.ndcg], ids=lambda name: type(name).__name__)
def test_what_is_no_text_is_no_name(name: Any) -> None:
    with pytest.raises(rf.MetricError, match="a metric is a name or a Metric"):
        parse(name)


@pytest.mark.parametrize("k", [0, -1, 1.5, 1.0, True, "10", math.nan, np.float64(10)], ids=repr)
def test_cutoffs_of_objects_are_refused_by_value(k: Any) -> None:
    with pytest.raises(rf.MetricError, match="a cutoff is a whole number from 1, got"):
        rf.metrics.ndcg(k=k)
    with pytest.raises(rf.MetricError, match="a cutoff is a whole number from 1, got"):
        checked_cutoff(k)


@pytest.mark.parametrize("options", [{"k": 5}, {"gain": "x"}, {"rel": 0}, {"max_grade": True}, {"depth": 3}], ids=repr)
def test_parameters_of_objects_are_checked_like_those_of_names(options: dict[str, Any]) -> None:
    with pytest.raises(rf.MetricError, match=r"^rbp"):
        rf.metrics.rbp(**options)


def test_parameters_of_objects_that_are_none_are_left_out() -> None:
    assert rf.metrics.ndcg(k=10, gain=None).name == "ndcg@10"
    assert rf.metrics.recall(k=None, rel=None).name == "recall"
    numpy: dict[str, Any] = {"k": np.int64(5), "rel": np.float32(2)}
    assert rf.metrics.recall(**numpy).name == "recall(rel=2)@5"


# Dialects.


@pytest.mark.parametrize(
    ("name", "dialect", "right"),
    [
        ("ERR@10", "ir_measures", "err(max_grade=4)@10"),
        ("ERR(max_grade=3)@10", "ir_measures", "err(max_grade=3)@10"),
        ("ERR@10", None, "err@10"),
        ("ERR@10", "trec_eval", "err@10"),
        ("Accuracy@5", "beir", "success@5"),
        ("top_k_accuracy@5", "beir", "success@5"),
        ("accuracy", "mteb", "recall@1"),
        ("map@100-l2", "ranx", "map(rel=2)@100"),
        ("recall@10-l3", "ranx", "recall(rel=3)@10"),
        ("nDCG@10", "ir_measures", "ndcg@10"),
        ("ndcg_at_10", "mteb", "ndcg@10"),
        ("NDCG@10", "beir", "ndcg@10"),
        ("P_5", "trec_eval", "precision@5"),
        ("gm_map", "trec_eval", "map"),
    ],
)
def test_a_dialect_says_whose_name_it_is(name: str, dialect: str | None, right: str) -> None:
    assert right == parse(name, dialect=dialect).name


@pytest.mark.parametrize(
    ("name", "dialect", "said"),
    [
        ("accuracy", None, "beir, mteb, ir_measures"),
        ("Hole@10", None, "dialect=...): beir"),
        ("rbp.80", None, "trec_eval, ranx"),
        ("rbp_p=0.8", None, "dialect=...): trec_eval"),
        ("nauc_ndcg_at_10_max", None, "dialect=...): mteb"),
        ("nauc_ndcg_at_10_max", "mteb", "abstention"),
        ("Hole@10", "beir", "judged for any query"),
        ("rbp", "trec_eval", "largest grade of each query"),
        ("rbp.80", "ranx", "raw grade as gain"),
        ("NERR8@10", "ir_measures", "Chapelle"),
        ("Accuracy@5", "ir_measures", "judged documents only"),
        ("ndcg@10-l2", "ranx", "lower grades away"),
        ("ndcg@10", "trec-eval", "unknown dialect 'trec-eval': did you mean 'trec_eval'"),
    ],
)
def test_names_without_a_counterpart_are_told_the_difference(name: str, dialect: str | None, said: str) -> None:
    with pytest.raises(rf.MetricError) as caught:
        parse(name, dialect=dialect)
    assert said in str(caught.value)


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("name", ["ndcg@10", "recall@100", "mrr@10", "map", "precision@5", "rbp(p=0.9)", "bpref"])
def test_canonical_names_mean_the_same_in_every_dialect(dialect: str, name: str) -> None:
    """Save those that the tool itself uses for another number."""
    if (dialect, name) == ("trec_eval", "rbp(p=0.9)"):
        return
    assert name == parse(name, dialect=dialect).name


# What was asked.


def test_a_built_in_name_is_one_that_parses() -> None:
    assert is_builtin("P_5")
    assert not is_builtin("ndcg@0")
    assert not is_builtin("mine")


def test_what_was_asked_is_resolved_each_once_in_its_order() -> None:
    assert [metric.name for metric in resolve(["AP", "ndcg_cut_5", "map", rf.metrics.ndcg(k=5)])] == ["map", "ndcg@5"]
    assert [metric.aggregate for metric in resolve(["map", "gm_map", "map"])] == ["mean", "gmean"]
    assert [metric.name for metric in resolve("map")] == ["map"]
    assert [metric.name for metric in resolve(iter(["map"]))] == ["map"]


@pytest.mark.parametrize(
    ("name", "unit", "other"), [("token_f1", "query", "evaluate_samples"), ("ndcg@10", "sample", "evaluate")]
)
def test_a_metric_of_the_other_unit_is_told_who_takes_it(name: str, unit: Any, other: str) -> None:
    what = {"query": "samples", "sample": "queries"}[unit]
    with pytest.raises(rf.MetricError, match=rf"^'{name}' scores {what}: rankframe\.{other} takes it$"):
        resolve(["mrr" if unit == "query" else "exact_match", name], unit=unit)


def test_a_metric_of_ones_own_is_taken_for_either_unit() -> None:
    mine = rf.Metric("mine", pl.len())
    assert mine.unit is None
    for unit in ("query", "sample"):
        assert resolve([mine], unit=unit) == [mine]
