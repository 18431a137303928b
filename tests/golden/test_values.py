"""Every golden value that binds, per query and in the mean, for all pairs of run and judgments.

Compared, to 1e-9 and counts exactly:

- trec_eval 10.0-rc3, plain, -c and -l2: everything it prints but `iprec_at_recall_*` and `11pt_avg`.
- trec_eval 9.0.8, plain, -c and -l2, and pytrec_eval 0.5.11: everything, over scores in single precision, in which
  both hold them; their recall levels are ours.
- `definition`: ERR, nERR, RBP, Judged@k, RR@k, nDCG with exponential gain.
- ir_measures 0.4.3: everything but what is left out below, over scores in single precision; gdeval's five decimals
  (ERR, nDCG with dcg='exp-log2'), computed on the first 50 documents, to 6e-6.
- ranx 0.3.21, on runs without ties: everything but bpref and rbp.

Left out, with the reason:

- `Rndcg`, `num_nonrel_judged_ret`: not metrics here (definitions 2).
- `num_q`: compared with the summary's n rather than as a metric.
- `rbp_p=0.8` of trec_eval 10: rescales the grades of each query by its own largest; `definition` binds.
- trec_eval 10's `iprec_at_recall_*` and `11pt_avg`: round where version 9 takes floor(level * R + 0.9), which binds.
- `gm_map` per query of trec_eval and pytrec_eval: a logarithm; its mean is compared with our geometric mean.
- `RR@k`, `Judged@k`, `RBP`, `NERR8/9` of ir_measures: ties in ascending order of ids or in file order (definitions 2).
- `NumRel` of ir_measures for queries that the run misses, and its total then: it counts 0 where ours adds R.
- ranx on runs with ties: its sort is unstable. ranx `bpref` (NaN without judged non-relevant) and `rbp` (raw grades).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import polars as pl
import pytest

import rankframe as rf
from rankframe.metrics import Metric
from tests.golden.shared import PAIRS, Pair, present

LEFT_OUT = {"Rndcg", "num_nonrel_judged_ret", "num_q", "rbp_p=0.8"}


def trec(measure: str) -> Metric | None:
    return None if measure in LEFT_OUT else rf.metrics.parse(measure, dialect="trec_eval")


def trec10(measure: str) -> Metric | None:
    return None if measure.startswith("iprec") or measure == "11pt_avg" else trec(measure)


def at_level_2(measure: str) -> Metric | None:
    base = trec(measure)
    assert base is not None
    name, at, k = base.name.partition("@")
    return rf.metrics.parse(f"{name}(rel=2){at}{k}")


def definition(measure: str) -> Metric:
    written = re.sub(r"n?ERR\(max=(\d+)\)", lambda m: m[0].lower().replace("max=", "max_grade="), measure)
    written = written.replace("nDCG(exp gain)", "ndcg(gain=exponential)").replace("RBP(p=0.8, binary)", "rbp")
    return rf.metrics.parse(written.replace("RBP(p=0.8, graded)", "rbp(gain=graded)"))


def ir_measures(measure: str) -> Metric | None:
    if re.match(r"RR@|Judged|RBP|NERR", measure) or measure.startswith(("ERR@", "nDCG(dcg")):
        return None
    return rf.metrics.parse(measure, dialect="ir_measures")


def gdeval(measure: str) -> Metric | None:
    return rf.metrics.parse(measure, dialect="ir_measures") if measure.startswith(("ERR@", "nDCG(dcg")) else None


def ranx(measure: str) -> Metric | None:
    return None if measure.startswith(("bpref", "rbp")) else rf.metrics.parse(measure, dialect="ranx")


@dataclass(frozen=True)
class Tool:
    """One tool's values: which of our metrics a measure is, over which queries, how exactly."""

    name: str
    metric: Callable[[str], Metric | None]
    convention: str = "trec_eval"
    single_precision: bool = False
    tolerance: float = 1e-9
    depth: int | None = None
    tie_free: bool = False


TOOLS = [
    Tool("trec_eval 10.0-rc3", trec10),
    Tool("trec_eval 10.0-rc3 -c", trec10, convention="trec_eval_c"),
    Tool("trec_eval 10.0-rc3 -l2", at_level_2),
    Tool("trec_eval 9.0.8", trec, single_precision=True),
    Tool("trec_eval 9.0.8 -c", trec, convention="trec_eval_c", single_precision=True),
    Tool("trec_eval 9.0.8 -l2", at_level_2, single_precision=True),
    Tool("pytrec_eval 0.5.11", trec, single_precision=True),
    Tool("pytrec_eval 0.5.11 relevance_level=2", at_level_2, single_precision=True),
    Tool("definition", definition, convention="trec_eval_c"),
    Tool("ir_measures 0.4.3", ir_measures, convention="ir_measures", single_precision=True),
    Tool("ir_measures 0.4.3", gdeval, convention="ir_measures", single_precision=True, tolerance=6e-6, depth=50),
    Tool("ranx 0.3.21", ranx, tie_free=True),
]


def has_ties(run: pl.DataFrame) -> bool:
    return bool(run.select(pl.struct("query_id", "score").is_duplicated().any()).item())


def first(run: pl.DataFrame, depth: int) -> pl.DataFrame:
    ranked = pl.struct("score", "doc_id").rank("ordinal", descending=True).over("query_id")
    return run.filter(ranked <= depth)


@present
@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair.name)
def test_values(pair: Pair) -> None:
    run, qrels, values = pair.run(), pair.qrels(), pair.values()
    compared = 0
    for tool in TOOLS:
        golden = values.filter(tool=tool.name)
        if golden.is_empty() or (tool.tie_free and has_ties(run)):
            continue
        compared += compare(tool, run, qrels, golden)
    assert compared > 600


def out_of_core(run: pl.DataFrame, qrels: pl.DataFrame, **options: Any) -> rf.Report:
    """The rows in any order, sorted out by query into temporary files."""
    shuffled = run.sample(fraction=1, shuffle=True, seed=1).lazy()
    return rf.evaluate(shuffled, qrels, memory_limit="1MB", **options)


def by_sql(run: pl.DataFrame, qrels: pl.DataFrame, **options: Any) -> rf.Report:
    """Ranks found by one statement in DuckDB."""
    with pytest.importorskip(
        "duckdb", reason="DuckDB, which finds the ranks, is not installed"
    ).connect() as connection:
        connection.register("run", run)
        connection.register("qrels", qrels)
        return rf.evaluate_ranking(connection.sql(rf.sql.judged_ranking()).pl(), **options)


@present
@pytest.mark.parametrize("route", [out_of_core, by_sql], ids=lambda route: route.__name__)
@pytest.mark.parametrize("pair", PAIRS[::2], ids=lambda pair: pair.name)
def test_values_by_other_ways(pair: Pair, route: Callable[..., rf.Report]) -> None:
    tool = TOOLS[0]
    assert compare(tool, pair.run(), pair.qrels(), pair.values().filter(tool=tool.name), route) > 60


def compare(
    tool: Tool,
    run: pl.DataFrame,
    qrels: pl.DataFrame,
    golden: pl.DataFrame,
    evaluate: Callable[..., rf.Report] = rf.evaluate,
) -> int:
    measures = {measure: tool.metric(measure) for measure in golden["measure"].unique().to_list()}
    metrics = {measure: metric for measure, metric in measures.items() if metric is not None}
    if not metrics:
        return 0
    if tool.single_precision:
        run = run.with_columns(pl.col("score").cast(pl.Float32))
    if tool.depth:
        run = first(run, tool.depth)
    report = evaluate(run, qrels, metrics=list(metrics.values()), convention=tool.convention)
    bound = {measured.asked: measured.name for measured in report.metrics}
    names = pl.DataFrame(
        {
            "measure": list(metrics),
            "metric": [bound[metric.name] for metric in metrics.values()],
            "aggregate": [metric.aggregate for metric in metrics.values()],
        }
    )
    golden = golden.join(names, on="measure")
    per_query = golden.filter(pl.col("query_id").is_not_null() & (pl.col("measure") != "gm_map"))
    ours = report.long.drop("run_id")
    means = golden.filter(pl.col("query_id").is_null())
    if "NumRel" in metrics and report.scores["status"].is_in(["missing"]).any():
        answered = report.scores.filter(pl.col("status") != "missing")["query_id"]
        per_query = per_query.filter((pl.col("measure") != "NumRel") | pl.col("query_id").is_in(answered.implode()))
        means = means.filter(pl.col("measure") != "NumRel")
    both = per_query.join(ours, on=["query_id", "metric"], how="left", suffix=" ours")
    assert_close(tool, both)
    summary = report.summary.select("metric", "aggregate", pl.col("value").alias("value ours"), "n")
    assert_close(tool, means.join(summary, on=["metric", "aggregate"], how="left"))
    return both.height + means.height


def assert_close(tool: Tool, both: pl.DataFrame) -> None:
    tolerance = pl.when(pl.col("metric").str.starts_with("num_")).then(0.0).otherwise(tool.tolerance)
    off = (pl.col("value") - pl.col("value ours")).abs()
    wrong = both.filter(off.is_null() | (off > tolerance))
    assert wrong.is_empty(), f"{tool.name}: {wrong.height} of {both.height} differ\n{wrong.head(10)}"


@present
@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair.name)
def test_number_of_queries(pair: Pair) -> None:
    """trec_eval's num_q is the n of every summary row."""
    for tool, convention in (("trec_eval 10.0-rc3", "trec_eval"), ("trec_eval 10.0-rc3 -c", "trec_eval_c")):
        golden = (
            pair.values().filter(tool=tool, measure="num_q").filter(pl.col("query_id").is_null())["value"].to_list()
        )
        report = rf.evaluate(pair.run(), pair.qrels(), metrics="map", convention=convention)
        assert golden == report.summary["n"].to_list()
