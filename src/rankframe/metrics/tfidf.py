"""TF-IDF cosine of two columns of texts, with scikit-learn's tokens, weights and norm."""

from __future__ import annotations

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
    n, df = 2, (pl.col("q") > 0).cast(pl.Int64) + (pl.col("r") > 0).cast(pl.Int64)
    if corpus:
        n, df = len(query) - query.null_count() + len(response) - response.null_count(), df.sum().over("term")
    parts = ("dot", "query", "response")
    summed = (  # whole numbers first, and then few floats in the order of df: their last bits are always the same
        counts.with_columns(df=df)
        .group_by("row", "df")
        .agg(dot=(pl.col("q") * pl.col("r")).sum(), query=(pl.col("q") ** 2).sum(), response=(pl.col("r") ** 2).sum())
        .sort("row", "df")
        .with_columns(weight=(((1.0 + n) / (1.0 + pl.col("df"))).log() + 1.0) ** 2)
        .group_by("row", maintain_order=True)
        .agg(pl.col(parts) * pl.col("weight"))
        .with_columns(pl.col(parts).list.sum())
    )
    cosine = summed.select(
        "row",
        cosine=pl.when((pl.col("query") > 0) & (pl.col("response") > 0))
        .then((pl.col("dot") / (pl.col("query").sqrt() * pl.col("response").sqrt())).clip(0.0, 1.0))
        .otherwise(0.0),
    )
    every = pl.DataFrame({"row": pl.int_range(len(query), dtype=pl.get_index_type(), eager=True)}).lazy()
    found = every.join(cosine, on="row", how="left", maintain_order="left").collect()["cosine"].fill_null(0.0)
    both_there = query.is_not_null() & response.is_not_null()
    return pl.select(pl.when(both_there).then(found))[:, 0] if len(query) else pl.Series([], dtype=pl.Float64)
