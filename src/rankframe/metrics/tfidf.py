"""TF-IDF cosine of two columns of texts, with scikit-learn's tokens, weights and norm."""

from __future__ import annotations

import math

import polars as pl

from rankframe.metrics.squad import terms


def tfidf_cosine(query: pl.Series, response: pl.Series, *, corpus: bool = False) -> pl.Series:
    """Cosine of the TF-IDF vectors of each query and its response; null where either is null, 0 without a word.

    Weights are smoothed as scikit-learn's: ln((1 + n) / (1 + df)) + 1, over the pair, or over all of these texts.
    """
    unit = 2**32
    sides = [
        terms(text).alias("term").to_frame().with_row_index("row").lazy().explode("term").drop_nulls("term")
        for text in (query, response)
    ]
    counts = (
        pl.concat(side.with_columns(count=pl.lit(one, pl.Int64)) for side, one in zip(sides, (1, unit), strict=True))
        .group_by("row", "term")
        .agg(pl.col("count").sum())
        .with_columns(q=pl.col("count") % unit, r=pl.col("count") // unit)
    )
    if corpus:
        n = len(query) - query.null_count() + len(response) - response.null_count()
        df = ((pl.col("q") > 0).cast(pl.Int64) + (pl.col("r") > 0).cast(pl.Int64)).sum().over("term")
        weight = ((1.0 + n) / (1.0 + df)).log() + 1.0
        counts = counts.with_columns(weight=weight * weight).sort("row", "term")
    else:
        alone = math.log(3 / 2) + 1
        both = (pl.col("q") > 0) & (pl.col("r") > 0)
        counts = counts.with_columns(weight=pl.when(both).then(1.0).otherwise(alone * alone))
    summed = counts.group_by("row", *([] if corpus else ["weight"])).agg(
        dot=_weighted(pl.col("q") * pl.col("r"), corpus=corpus),
        query=_weighted(pl.col("q") ** 2, corpus=corpus),
        response=_weighted(pl.col("r") ** 2, corpus=corpus),
    )
    if not corpus:  # whole numbers were added, so that no order of addition shows in the last bits
        parts = ("dot", "query", "response")
        summed = (
            summed.sort("row", "weight")
            .group_by("row", maintain_order=True)
            .agg((pl.col(parts) * pl.col("weight")).sum())
        )
    cosine = summed.select(
        "row",
        cosine=pl.when((pl.col("query") > 0) & (pl.col("response") > 0))
        .then((pl.col("dot") / (pl.col("query").sqrt() * pl.col("response").sqrt())).clip(0.0, 1.0))
        .otherwise(0.0),
    )
    every = pl.DataFrame({"row": pl.int_range(len(query), dtype=pl.UInt32, eager=True)}).lazy()
    found = every.join(cosine, on="row", how="left", maintain_order="left").collect()["cosine"].fill_null(0.0)
    both_there = query.is_not_null() & response.is_not_null()
    return pl.select(pl.when(both_there).then(found))[:, 0] if len(query) else pl.Series([], dtype=pl.Float64)


def _weighted(value: pl.Expr, *, corpus: bool) -> pl.Expr:
    return (value * pl.col("weight")).sum() if corpus else value.sum()
