"""The judged ranking: one row per judgment, with the rank at which a run has it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from rankframe.metrics.rows import GROUP
from rankframe.ranking.judgments import Judgments
from rankframe.ranking.runs import Ranking

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Integers = NDArray[np.int64]

_ROWS = 250_000  # of a block: with the row columns of many metrics some 100 MB


@dataclass(frozen=True, slots=True)
class Block:
    """The judged rankings of some groups, one after another. A group is a query of a run.

    groups: their numbers: the number of the run times the number of queries, plus that of the query.
    judged: one row per judgment and run. Columns: group UInt32, relevance Float64, rank Int64 (null where the run does
        not have the document), ideal_rank, n_ret Int64; with texts also run_id, query_id, doc_id String. Sorted by run,
        query_id, rank (nulls last), relevance descending; then by doc_id where the judgments were made ready in that
        order, which only metrics that see the rows need.
    """

    groups: range
    judged: pl.LazyFrame


def judged_blocks(
    judgments: Judgments, rankings: Sequence[Ranking], *, texts: bool = False, rows: int | None = None
) -> Iterator[Block]:
    """The judged rankings of all runs, in blocks of whole queries of about so many rows.

    Several runs stand in one block where there is room, so that what metrics cost once is paid once.
    """
    import numpy as np

    rows = _ROWS if rows is None else rows
    size, queries = len(judgments.query), len(judgments.queries)
    ends = judgments.ends
    together = max(1, rows // size)
    cuts = [*range(0, size, rows), size] if together == 1 else [0, size]
    spans = np.searchsorted(ends, cuts, side="left")
    spans[-1] = queries
    for first in range(0, len(rankings), together):
        part = rankings[first : first + together]
        orders = [_order(judgments, ranking) for ranking in part]
        for low, high in zip(spans[:-1].tolist(), spans[1:].tolist(), strict=True):
            if low < high:
                at = slice(int(ends[low - 1]) if low else 0, int(ends[high - 1]))
                groups = range(first * queries + low, (first + len(part) - 1) * queries + high)
                judged = _judged(judgments, part, [order[at] for order in orders], texts=texts, first=first * queries)
                yield Block(groups, judged)


def _judged(
    judgments: Judgments, rankings: Sequence[Ranking], orders: Sequence[Integers], *, texts: bool, first: int
) -> pl.LazyFrame:
    """The rows of the judgments that each run has in its order; groups count from `first`."""
    import numpy as np

    query = judgments.query
    order = np.concatenate(orders)
    run = np.repeat(np.arange(len(rankings)), [len(at) for at in orders])
    group = first + run * len(judgments.queries) + query[order]
    columns = [
        pl.Series(GROUP, group.astype(np.uint32)).set_sorted(),
        pl.Series("relevance", judgments.frame["relevance"].to_numpy()[order]),
        pl.Series("rank", np.concatenate([ranking.rank[at] for ranking, at in zip(rankings, orders, strict=True)])),
        pl.Series("ideal_rank", judgments.ideal_rank[order]),
        pl.Series("n_ret", np.concatenate([r.n_ret[query[at]] for r, at in zip(rankings, orders, strict=True)])),
    ]
    if texts:
        names = pl.Series("run_id", [ranking.run_id for ranking in rankings], dtype=pl.String)
        columns = [names[run], judgments.frame["query_id"][order], judgments.frame["doc_id"][order], *columns]
    return pl.LazyFrame(columns).with_columns(pl.when(pl.col("rank") > 0).then("rank"))


def _order(judgments: Judgments, ranking: Ranking) -> Integers:
    """The judgments' rows by query and rank; behind them what the run does not have, in ideal order."""
    import numpy as np

    query, rank, found = judgments.query, ranking.rank, ranking.found
    if rank.max(initial=0) < 2**32:
        found = found[np.argsort((query[found] << 32) | rank[found], kind="stable")]  # fast where they nearly stand so
    else:
        found = found[np.lexsort((rank[found], query[found]))]
    absent = judgments.order[rank[judgments.order] == 0]
    n_found = np.bincount(query[found], minlength=len(judgments.queries))
    n_absent = np.bincount(query[absent], minlength=len(judgments.queries))
    order = np.empty(len(query), dtype=np.int64)
    order[np.arange(len(found)) + (np.cumsum(n_absent) - n_absent)[query[found]]] = found
    order[np.arange(len(absent)) + np.cumsum(n_found)[query[absent]]] = absent
    return order
