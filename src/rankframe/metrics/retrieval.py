"""Every retrieval metric: one aggregation over the judged ranking each.

Shapes: a formula takes the row columns of one query (one row per judgment, sorted by rank) and its parameters, and
gives one Float64. A scored query for which it gives null or NaN (a ratio whose denominator is 0) has the value 0.0;
no formula handles that. Notation: R relevant documents, N judged non-relevant ones, k the cutoff, h relevant
documents in the first k places, n_ret documents that the run has for the query, g the grade, r a rank.
"""

from __future__ import annotations

from typing import Literal

import polars as pl

from rankframe.metrics.families import REGISTRY, family
from rankframe.metrics.rows import Rows, count, places, total

UNIT = (0.0, 1.0)
OPEN = (0.0, None)

TREC_EVAL = "trec_eval, https://github.com/usnistgov/trec_eval"


@family(
    "ndcg",
    range=UNIT,
    definition="DCG@k / ideal DCG@k, the ideal over all judged documents",
    reference="Jarvelin and Kekalainen 2002, doi:10.1145/582415.582418; exponential gain: Burges et al. 2005, "
    "doi:10.1145/1102351.1102363",
    example="ndcg@10",
)
def ndcg(rows: Rows, *, k: int | None = None, gain: Literal["linear", "exponential"] = "linear") -> pl.Expr:
    """Normalised discounted cumulative gain.

    >>> ndcg(k=10, gain="exponential").name
    'ndcg(gain=exponential)@10'
    """
    ideal = rows.ideally_discounted(gain)
    best = ideal.sum() if k is None else total(ideal, pl.col("ideal_rank") <= places(k))
    return total(rows.discounted(gain), rows.within(k)) / best


@family(
    "dcg",
    range=OPEN,
    definition="sum over r <= k of gain / log2(r + 1)",
    reference="Jarvelin and Kekalainen 2002, doi:10.1145/582415.582418",
    example="dcg@10",
)
def dcg(rows: Rows, *, k: int | None = None, gain: Literal["linear", "exponential"] = "linear") -> pl.Expr:
    """Discounted cumulative gain, not normalised.

    >>> dcg(k=5).name
    'dcg@5'
    """
    return total(rows.discounted(gain), rows.within(k))


@family("recall", range=UNIT, definition="h / R", reference=TREC_EVAL, example="recall@100")
def recall(rows: Rows, *, k: int | None = None, rel: float | None = None) -> pl.Expr:
    """Share of the relevant documents that are found.

    >>> recall(k=100, rel=2).name
    'recall(rel=2)@100'
    """
    relevant = rows.relevant(rel)
    return count(relevant & rows.within(k)) / count(relevant)


@family(
    "capped_recall",
    range=UNIT,
    definition="h / min(R, k)",
    reference="Thakur et al. 2021 (BEIR), arXiv:2104.08663",
    example="capped_recall@10",
    needs_cutoff=True,
)
def capped_recall(rows: Rows, *, k: int, rel: float | None = None) -> pl.Expr:
    """Recall that a perfect ranking of k places can bring to 1.

    >>> capped_recall(k=10).name
    'capped_recall@10'
    """
    relevant = rows.relevant(rel)
    return count(relevant & rows.within(k)) / count(relevant).clip(upper_bound=places(k))


@family(
    "precision",
    range=UNIT,
    definition="h / k; uncut: relevant retrieved / n_ret",
    reference=TREC_EVAL,
    example="precision@10",
)
def precision(
    rows: Rows, *, k: int | None = None, over: Literal["k", "returned"] = "k", rel: float | None = None
) -> pl.Expr:
    """Share of the first k places that hold a relevant document.

    `over="returned"` divides by the documents that came back where those are fewer than k.

    >>> precision(k=5, over="returned").name
    'precision(over=returned)@5'
    """
    returned = rows.n_ret.first()
    over_all = (
        returned if k is None else returned.clip(upper_bound=places(k)) if over == "returned" else pl.lit(float(k))
    )
    return count(rows.relevant(rel) & rows.within(k)) / over_all


@family("f1", range=UNIT, definition="2h / (k + R); uncut: 2h / (n_ret + R)", reference=TREC_EVAL, example="f1@10")
def f1(rows: Rows, *, k: int | None = None, rel: float | None = None) -> pl.Expr:
    """Harmonic mean of precision and recall of one query.

    >>> f1(k=10).name
    'f1@10'
    """
    relevant = rows.relevant(rel)
    retrieved = rows.n_ret.first() if k is None else pl.lit(float(k))
    found = count(relevant & rows.within(k))
    return pl.when(count(relevant) > 0).then(2.0 * found / (retrieved + count(relevant)))


@family("mrr", range=UNIT, definition="1 / rank of the first relevant document", reference=TREC_EVAL, example="mrr@10")
def mrr(rows: Rows, *, k: int | None = None, rel: float | None = None) -> pl.Expr:
    """Reciprocal rank of the first relevant document, 0 where none is in the first k.

    >>> mrr(k=10).name
    'mrr@10'
    """
    return 1.0 / pl.when(rows.relevant(rel) & rows.within(k)).then(rows.rank).min()


@family(
    "map",
    range=UNIT,
    definition="sum over relevant documents at r <= k of (relevant at or above / r) / R",
    reference=TREC_EVAL,
    example="map",
    needs_cutoff="min_R_k",
)
def mean_average_precision(
    rows: Rows, *, k: int | None = None, over: Literal["R", "min_R_k"] = "R", rel: float | None = None
) -> pl.Expr:
    """Average precision: precision at every relevant document found, averaged over all relevant ones.

    `over="min_R_k"` divides by min(R, k), so that a perfect ranking of k places has 1.

    >>> mean_average_precision(k=10, over="min_R_k").name
    'map(over=min_R_k)@10'
    """
    relevant = rows.relevant(rel)
    found = total(rows.hits(rel) / rows.rank, relevant & rows.within(k))
    return found / (count(relevant) if over == "R" or k is None else count(relevant).clip(upper_bound=places(k)))


@family("success", range=UNIT, definition="1 if h > 0", reference=TREC_EVAL, example="success@10")
def success(rows: Rows, *, k: int | None = None, rel: float | None = None) -> pl.Expr:
    """1 where any relevant document is in the first k places.

    >>> success(k=5).name
    'success@5'
    """
    return (rows.relevant(rel) & rows.within(k)).any().cast(pl.Float64)


@family(
    "r_precision",
    range=UNIT,
    definition="relevant documents in the first R places / R",
    reference=TREC_EVAL,
    example="r_precision",
)
def r_precision(rows: Rows, *, rel: float | None = None) -> pl.Expr:
    """Precision at R, also where fewer than R documents came back.

    >>> r_precision().name
    'r_precision'
    """
    relevant = rows.relevant(rel)
    return count(relevant & (rows.rank <= rows.n_relevant(rel)).fill_null(value=False)) / count(relevant)


@family(
    "bpref",
    range=UNIT,
    definition="1/R sum over retrieved relevant of (1 - min(n, R) / min(N, R)), n = judged non-relevant above it",
    reference="Buckley and Voorhees 2004, doi:10.1145/1008992.1009000",
    example="bpref",
)
def bpref(rows: Rows, *, rel: float | None = None) -> pl.Expr:
    """How rarely judged non-relevant documents stand above relevant ones; unjudged ones do not matter.

    >>> bpref().name
    'bpref'
    """
    relevant, above = rows.relevant(rel), rows.misses(rel)
    most = pl.min_horizontal(rows.n_nonrelevant(rel), rows.n_relevant(rel))
    term = 1.0 - pl.when(above > 0).then(pl.min_horizontal(above, rows.n_relevant(rel)) / most).otherwise(0.0)
    return total(term, relevant & rows.within(None)) / count(relevant)


@family(
    "infap",
    range=UNIT,
    definition="1/R sum over retrieved relevant at r of 1/r + (j/r)(a + e)/(a + n + 2e), e = 0.00001; above it: "
    "j judged, a relevant, n non-relevant",
    reference="Yilmaz and Aslam 2006, doi:10.1145/1183614.1183633",
    example="infap",
)
def infap(rows: Rows, *, rel: float | None = None) -> pl.Expr:
    """Average precision inferred where only a sample of the pool was judged.

    >>> infap().name
    'infap'
    """
    smooth = 0.00001
    relevant, rank = rows.relevant(rel), rows.rank
    above, nonrelevant = rows.hits(rel) - 1, rows.misses(rel)
    expected = (above + smooth) / (above + nonrelevant + 2 * smooth)
    return total(1.0 / rank + rows.above / rank * expected, relevant & rows.within(None)) / count(relevant)


@family(
    "rbp",
    range=UNIT,
    definition="(1 - p) sum over relevant of p^(r - 1); graded: times g / max_grade",
    reference="Moffat and Zobel 2008, doi:10.1145/1416950.1416952",
    example="rbp(p=0.8)",
)
def rbp(
    rows: Rows,
    *,
    p: float = 0.8,
    gain: Literal["binary", "graded"] = "binary",
    rel: float | None = None,
    max_grade: float | None = None,
) -> pl.Expr:
    """Rank-biased precision over the whole list: what a reader who goes on with probability p gains per place.

    >>> rbp(p=0.95).name
    'rbp(p=0.95)'
    """
    weight = (1.0 - p) * pl.lit(p).pow(rows.rank - 1)
    share = rows.gain("linear") / max_grade if gain == "graded" and max_grade else pl.lit(1.0)
    return total(weight * share, rows.relevant(rel) & rows.within(None))


@family(
    "err",
    range=UNIT,
    definition="sum over r <= k of s_r / r times the product over i < r of (1 - s_i), s = (2^g - 1) / 2^max_grade",
    reference="Chapelle et al. 2009, doi:10.1145/1645953.1646033",
    example="err@10",
)
def err(rows: Rows, *, k: int | None = None, max_grade: float) -> pl.Expr:
    """Expected reciprocal rank at which a reader is satisfied.

    `max_grade` is the largest grade of all judgments, at least 1, unless it is named.

    >>> err(k=10, max_grade=4).name
    'err(max_grade=4)@10'
    """
    return total(rows.stops(max_grade) * rows.reached(max_grade) / rows.rank, rows.within(k))


@family(
    "nerr",
    range=UNIT,
    definition="err@k / err@k of all judged documents by grade",
    reference="Chapelle et al. 2009, doi:10.1145/1645953.1646033",
    example="nerr@10",
)
def nerr(rows: Rows, *, k: int | None = None, max_grade: float) -> pl.Expr:
    """Expected reciprocal rank, normalised by that of the ideal ranking.

    >>> nerr(k=10, max_grade=4).name
    'nerr(max_grade=4)@10'
    """
    found = total(rows.stops(max_grade) * rows.reached(max_grade) / rows.rank, rows.within(k))
    ideal = rows.stops(max_grade) * rows.ideally_reached(max_grade) / pl.col("ideal_rank")
    return found / (ideal.sum() if k is None else total(ideal, pl.col("ideal_rank") <= places(k)))


def _interpolated(rows: Rows, recall: float, rel: float | None) -> pl.Expr:
    """The largest precision at a retrieved relevant document from which on at least this recall is reached."""
    hits = rows.hits(rel)
    needed = (recall * rows.n_relevant(rel) + 0.9).floor()
    point = rows.relevant(rel) & rows.within(None) & (hits >= needed)
    return pl.when(point).then(hits / rows.rank).max().fill_null(0.0)


@family(
    "iprec",
    range=UNIT,
    definition="largest precision at a retrieved relevant document with at least floor(recall R + 0.9) at or above it",
    reference="trec_eval 9, https://github.com/usnistgov/trec_eval",
    example="iprec(recall=0.1)",
)
def iprec(rows: Rows, *, recall: float, rel: float | None = None) -> pl.Expr:
    """Interpolated precision at a level of recall.

    >>> iprec(recall=0.1).name
    'iprec(recall=0.1)'
    """
    return _interpolated(rows, recall, rel)


@family(
    "iprec_11pt",
    range=UNIT,
    definition="mean of iprec at recall 0, 0.1, ... 1",
    reference="trec_eval 9, https://github.com/usnistgov/trec_eval",
    example="iprec_11pt",
)
def iprec_11pt(rows: Rows, *, rel: float | None = None) -> pl.Expr:
    """Interpolated precision averaged over eleven levels of recall.

    >>> iprec_11pt().name
    'iprec_11pt'
    """
    return pl.sum_horizontal(*(_interpolated(rows, level / 10, rel) for level in range(11))) / 11.0


@family(
    "judged",
    range=UNIT,
    definition="documents with any judgment in the first k places / min(k, n_ret)",
    reference="ir_measures, https://github.com/terrierteam/ir_measures",
    example="judged@10",
)
def judged(rows: Rows, *, k: int | None = None) -> pl.Expr:
    """Share of the returned documents that somebody judged: how far a score can be trusted.

    >>> judged(k=10).name
    'judged@10'
    """
    returned = rows.n_ret.first()
    return count(rows.within(k)) / (returned if k is None else returned.clip(upper_bound=places(k)))


@family(
    "unjudged",
    range=UNIT,
    definition="documents without a judgment or with a negative grade in the first k places / k",
    reference="trec_eval 10 (unj), https://github.com/usnistgov/trec_eval",
    example="unjudged@10",
    needs_cutoff=True,
)
def unjudged(rows: Rows, *, k: int) -> pl.Expr:
    """Share of the first k places that hold a document nobody assessed.

    >>> unjudged(k=10).name
    'unjudged@10'
    """
    assessed = count(rows.within(k) & (pl.col("relevance") >= 0))
    return (rows.n_ret.first().clip(upper_bound=places(k)) - assessed) / float(k)


@family("num_ret", range=OPEN, definition="n_ret", reference=TREC_EVAL, example="num_ret", aggregate="sum")
def num_ret(rows: Rows) -> pl.Expr:
    """Documents that the run has for the query.

    >>> num_ret().name
    'num_ret'
    """
    return rows.n_ret.first().cast(pl.Float64)


@family("num_rel", range=OPEN, definition="R", reference=TREC_EVAL, example="num_rel", aggregate="sum")
def num_rel(rows: Rows, *, rel: float | None = None) -> pl.Expr:
    """Relevant documents of the query.

    >>> num_rel(rel=2).name
    'num_rel(rel=2)'
    """
    return count(rows.relevant(rel))


@family(
    "num_rel_ret",
    range=OPEN,
    definition="relevant documents retrieved",
    reference=TREC_EVAL,
    example="num_rel_ret",
    aggregate="sum",
)
def num_rel_ret(rows: Rows, *, rel: float | None = None) -> pl.Expr:
    """Relevant documents that the run has for the query.

    >>> num_rel_ret().name
    'num_rel_ret'
    """
    return count(rows.relevant(rel) & rows.within(None))


__test__ = {name: family.formula for name, family in REGISTRY.items() if family.unit == "query"}
"""Where doctest finds the examples of the formulas, as the names above stand for families."""
