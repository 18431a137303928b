"""Ids and sources of a sample held against those that should be there."""

from __future__ import annotations

from typing import Literal

import polars as pl

from rankframe.metrics.matching import by_row, exploded
from rankframe.metrics.squad import ENDS

_CITATION = r"\[([^\[\]]+)\]"


def ranked_ids(retrieved: pl.Series, relevant: pl.Series, metric: pl.Expr) -> pl.Series:
    """A retrieval metric of each list of ids, in their order, where the other list holds the relevant ones.

    An id that stands there twice counts at its first place. Null where either list is null or none is relevant.
    """
    found = exploded(retrieved).lazy().unique(["row", "item"], keep="first", maintain_order=True)
    found = found.with_columns(
        rank=pl.int_range(1, pl.len() + 1, dtype=pl.Int64).over("row"),
        n_ret=pl.len().cast(pl.Int64).over("row"),
    )
    lengths = found.select("row", "n_ret").unique()
    judged = (
        exploded(relevant)
        .lazy()
        .unique(["row", "item"], keep="first", maintain_order=True)
        .join(found.select("row", "item", "rank"), on=["row", "item"], how="left")
        .join(lengths, on="row", how="left")
        .with_columns(
            pl.col("n_ret").fill_null(0),
            relevance=pl.lit(1.0),
            ideal_rank=pl.int_range(1, pl.len() + 1, dtype=pl.Int64).over("row"),
        )
        .sort("row", "rank", "item", nulls_last=True)
    )
    values = judged.group_by("row", maintain_order=True).agg(value=metric.fill_nan(0.0).fill_null(0.0)).collect()
    made = by_row(values["row"], values["value"], len(retrieved), lambda value: value.first())
    return pl.DataFrame({"there": retrieved.is_not_null(), "value": made}).select(
        value=pl.when(pl.col("there")).then(pl.col("value"))
    )["value"]


def cited(response: pl.Series, sources: pl.Series, what: Literal["recall", "precision"]) -> pl.Series:
    """Recall or precision of what a response cites in square brackets, as a set; null without sources."""
    frame = pl.DataFrame({"response": response.fill_null(""), "sources": sources.list.drop_nulls().list.unique()})
    marks = pl.col("response").str.extract_all(_CITATION).list.eval(pl.element().str.slice(1).str.head(-1))
    cuts = marks.list.join(";").str.replace_all(",", ";", literal=True).str.split(";")
    stripped = cuts.list.eval(pl.element().str.replace_all(ENDS, ""))
    said = stripped.list.eval(pl.element().filter(pl.element() != "")).list.unique()
    right = said.list.set_intersection("sources").list.len()
    over = pl.col("sources").list.len() if what == "recall" else said.list.len()
    share = pl.when(over > 0).then(right / over).otherwise(0.0)
    return frame.select(share=pl.when(pl.col("sources").list.len() > 0).then(share))["share"]
