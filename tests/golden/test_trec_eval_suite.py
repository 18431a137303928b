"""trec_eval's own test suite: what it prints, to its four decimals.

Left out, with the reason:

- `Rndcg`, `num_nonrel_judged_ret`, `ndcg_rel`, `G`, `binG`, `utility`, `relstring*`, `Rprec_mult_*`, `set_map`,
  `set_relative_P`, `rbp_resid`: not metrics here (definitions 3).
- `rbp`: graded gains over the largest grade of each query (golden README 6).
- `iprec_at_recall_*`, `11pt_avg`: printed by version 10, which rounds recall levels; version 9 binds (definitions 2).
- `num_q`: compared with the summary's n. `runid`: no number.
- `gm_map`, `gm_bpref` per query: logarithms; their means are compared with our geometric means.
- `bpref`, `gm_bpref` and other per-query lines that the suite does not print.
"""

from __future__ import annotations

import re

import polars as pl
import pytest

import rankframe as rf
from tests.golden.shared import GOLDEN, present

SUITE = GOLDEN / "trec_eval_suite"
LEFT_OUT = re.compile(
    r"Rndcg|num_nonrel_judged_ret|ndcg_rel|G|binG|utility|relstring.*|Rprec_mult_.*|set_map|set_relative_P|rbp(_resid)?"
    r"|iprec_at_recall_.*|11pt_avg|num_q|runid"
)
COMMANDS = {
    "out.test.aqc": ("results.trunc", "qrels.test", "trec_eval_c", None, None),
    "out.test.aqcM": ("results.trunc", "qrels.test", "trec_eval_c", None, 100),
    "out.test.aql": ("results.test", "qrels.rel_level", "trec_eval", 2, None),
}


def metric(measure: str, rel: int | None) -> rf.Metric:
    plain = rf.metrics.parse(measure, dialect="trec_eval")
    if rel is None or plain.name.startswith(("ndcg", "num_ret", "unjudged")):
        return plain
    name, at, k = plain.name.partition("@")
    family = rf.metrics.REGISTRY[name]
    return family(k=int(k) if at else None, rel=rel, aggregate=plain.aggregate)


@present
@pytest.mark.parametrize("output", COMMANDS)
def test_printed_values(output: str) -> None:
    results, judgments, convention, rel, depth = COMMANDS[output]
    printed = pl.read_csv(SUITE / "expected.tsv", separator="\t", quote_char=None, infer_schema=False).filter(
        output=output
    )
    wanted = [m for m in printed["measure"].unique().sort() if not LEFT_OUT.fullmatch(m)]
    metrics = {measure: metric(measure, rel) for measure in wanted}
    run = rf.read_run(SUITE / results)
    if depth:
        run = run.filter(pl.struct("score", "doc_id").rank("ordinal", descending=True).over("query_id") <= depth)
    report = rf.evaluate(run, rf.read_qrels(SUITE / judgments), metrics=list(metrics.values()), convention=convention)
    compared = 0
    for measure, query, text in printed.select("measure", "query_id", "value").iter_rows():
        if measure not in metrics or (measure.startswith("gm_") and query != "all"):
            continue
        ours = metrics[measure]
        if query == "all":
            value = report.summary.filter(metric=ours.name, aggregate=ours.aggregate)["value"].item()
        else:
            value = report.scores.filter(query_id=query)[ours.name].item()
        assert float(text) == pytest.approx(value, abs=5.0001e-5), (measure, query)
        compared += 1
    assert compared > 200


@present
def test_comments_change_nothing() -> None:
    """The commented file has the same judgments, but for one id that holds a #."""
    plain, commented = (rf.read_qrels(SUITE / name) for name in ("qrels.test", "qrels.test.with-comments"))
    assert "CR#93E-1860" in commented["doc_id"]
    assert plain.equals(commented.with_columns(pl.col("doc_id").str.replace("#", "")))
