"""The documented functions of one ranking give trec_eval's values, query by query, as the expressions do."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import polars as pl
import pytest

from rankframe.metrics import average_precision, ndcg_at_k, precision_at_k, recall_at_k, reciprocal_rank
from tests.golden.shared import PAIRS, Pair, present

Scalar = Callable[[Sequence[str], Mapping[str, float]], float]

SCALARS: dict[str, Scalar] = {
    "ndcg_cut_10": lambda ranked, grades: ndcg_at_k(ranked, grades, 10),
    "ndcg_cut_100": lambda ranked, grades: ndcg_at_k(ranked, grades, 100),
    "recall_100": lambda ranked, grades: recall_at_k(ranked, grades, 100),
    "P_10": lambda ranked, grades: precision_at_k(ranked, grades, 10),
    "recip_rank": reciprocal_rank,
    "map": average_precision,
    "map_cut_10": lambda ranked, grades: average_precision(ranked, grades, 10),
}


@present
@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair.name)
def test_scalars(pair: Pair) -> None:
    golden = pair.values().filter(
        pl.col("tool") == "trec_eval 10.0-rc3", pl.col("measure").is_in(list(SCALARS)), pl.col("query_id").is_not_null()
    )
    ranked = pair.run().sort("score", "doc_id", descending=True).group_by("query_id").agg("doc_id")
    judged = pair.qrels().group_by("query_id").agg("doc_id", "relevance")
    rankings = dict(ranked.iter_rows())
    grades = {query: dict(zip(docs, values, strict=True)) for query, docs, values in judged.iter_rows()}
    for measure, query, value in golden.select("measure", "query_id", "value").iter_rows():
        assert value == pytest.approx(SCALARS[measure](rankings[query], grades[query]), abs=1e-9), (measure, query)
    assert golden.height >= len(SCALARS)
