"""Fused rankings equal those of ranx and of an independent calculation, for every query."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

import rankframe as rf
from tests.golden.shared import GOLDEN, present

RUNS = {
    "scifact": {"dense": "dense.json.gz", "sparse": "sparse.json.gz"},
    "robust03": {"pircRBa1": "pircRBa1.gz", "UIUC03Rd1": "UIUC03Rd1.gz"},
    "acordar": {"BM25F": "BM25F.txt", "FSDM": "FSDM.txt"},
}
OPTIONS: dict[str, dict[str, Any]] = {
    "rrf k=60": {"method": "rrf", "k": 60},
    "CombSUM min-max": {"method": "combsum", "normalize": "min-max"},
    "CombMNZ min-max": {"method": "combmnz", "normalize": "min-max"},
}
RANX_BREAKS_TIES = {("scifact", "rrf k=60"): ["1"], ("robust03", "rrf k=60"): ["375", "638"]}
"""Queries in whose runs ranx orders documents of one score by chance, so that their ranks are others."""


def golden(collection: str, method: str, tool: str) -> pl.DataFrame:
    every = pl.read_parquet(GOLDEN / "fusion" / "top10.parquet")
    return every.filter(collection=collection, method=method, tool=tool)


def runs(collection: str) -> dict[str, pl.DataFrame]:
    return {name: rf.read_run(GOLDEN / "runs" / collection / file) for name, file in RUNS[collection].items()}


def top10(collection: str, method: str) -> pl.DataFrame:
    frame: pl.DataFrame = rf.fuse(runs(collection), limit=10, **OPTIONS[method])
    return frame.with_columns(rank=pl.int_range(1, pl.len() + 1).over("query_id"))


@present
def test_every_golden_ranking_is_compared() -> None:
    every = pl.read_parquet(GOLDEN / "fusion" / "top10.parquet")
    given = every.select("collection", "run_a", "run_b", "tool", "method").unique().rows()
    ours = [(name, *RUNS[name], tool, method) for name in RUNS for tool in ("ranx", "definition") for method in OPTIONS]
    assert sorted(given) == sorted(ours)


@present
@pytest.mark.parametrize("tool", ["ranx", "definition"])
@pytest.mark.parametrize("method", OPTIONS)
@pytest.mark.parametrize("collection", RUNS)
def test_the_first_ten_are_those_of_other_tools(collection: str, method: str, tool: str) -> None:
    """Place by place; where places 10 and 11 are tied, the scores alone, and the documents above the tie."""
    right, ours = golden(collection, method, tool), top10(collection, method)
    if tool == "ranx":
        odd = pl.col("query_id").is_in(RANX_BREAKS_TIES.get((collection, method), []))
        right, ours = right.filter(~odd), ours.filter(~odd)
    both = right.join(ours, on=["query_id", "rank"], suffix="_ours")
    assert both.height == right.height == ours.height
    assert both.filter((pl.col("score") - pl.col("score_ours")).abs() > 1e-9).is_empty()
    last = pl.col("score").min().over("query_id")
    settled = both.filter(~pl.col("tie_at_10") | (pl.col("score") - last > 1e-9))
    assert settled.height > 0.8 * both.height
    assert settled.filter(pl.col("doc_id") != pl.col("doc_id_ours")).is_empty()


@present
@pytest.mark.parametrize(("collection", "method"), RANX_BREAKS_TIES)
def test_where_ranx_is_not_followed_a_run_is_tied(collection: str, method: str) -> None:
    on = ["query_id", "doc_id"]
    both = golden(collection, method, "ranx").join(golden(collection, method, "definition"), on=on, suffix="_ours")
    apart = both.filter((pl.col("score") - pl.col("score_ours")).abs() > 1e-9)
    assert apart["query_id"].unique().sort().to_list() == RANX_BREAKS_TIES[collection, method]
    tied = [run.filter(pl.struct("query_id", "score").is_duplicated()) for run in runs(collection).values()]
    assert apart.join(pl.concat(tied, how="diagonal"), on=on, how="anti").is_empty()
