"""The judged ranking: one row per judgment, with the rank at which a run has it."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from rankframe.metrics.rows import GROUP
from rankframe.ranking.judgments import Judgments
from rankframe.ranking.runs import Ranking


def judged_ranking(judgments: Judgments, rankings: Sequence[Ranking], *, texts: bool = False) -> pl.DataFrame:
    """The judged rankings of all runs in one frame: one row per judgment and run.

    Columns: group UInt32 (the number of the run times the number of queries, plus that of the query), relevance
    Float64, rank Int64 (null where the run does not have the document), ideal_rank, n_ret Int64; with `texts` also
    run_id, query_id, doc_id String. Sorted by run, query_id, rank (nulls last), relevance descending, doc_id.
    """
    import numpy as np

    query, ideal = judgments.query, judgments.ideal_rank
    orders = []
    for ranking in rankings:
        place = np.where(ranking.rank > 0, ranking.rank, (np.int64(1) << 31) + ideal)
        orders.append(np.argsort((query << 32) | place))  # all keys differ, so any sort gives the same order
    order = np.concatenate(orders)
    run = np.repeat(np.arange(len(rankings)), len(query))
    columns = {
        GROUP: (run * len(judgments.queries) + query[order]).astype(np.uint32),
        "relevance": judgments.frame["relevance"].to_numpy()[order],
        "rank": np.concatenate([r.rank[o] for r, o in zip(rankings, orders, strict=True)]),
        "ideal_rank": ideal[order],
        "n_ret": np.concatenate([r.n_ret[query] for r in rankings]),
    }
    frame = pl.DataFrame(columns)
    if texts:
        names = pl.Series("run_id", [ranking.run_id for ranking in rankings], dtype=pl.String)
        frame = pl.concat(
            [names.gather(run).to_frame(), judgments.frame.select("query_id", "doc_id")[order], frame], how="horizontal"
        )
    return frame.with_columns(pl.col(GROUP).set_sorted(), pl.col("rank").replace(0, None))
