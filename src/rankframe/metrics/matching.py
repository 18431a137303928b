"""Responses, references and contexts held against each other: what several lexical metrics are made of.

Every function takes columns of equal length, a row for each sample, and gives one. Samples with several references get
the best over them.
"""

from __future__ import annotations

from collections.abc import Callable

import polars as pl

from rankframe.metrics.squad import normalised, token_sets, tokens, words

_ENOUGH = 7
"""Tenths of a claim's words that a context must have more than, for the claim to count as supported."""


class Pairs:
    """Every sample beside each of its references, normalised: what answers are compared over."""

    def __init__(self, response: pl.Series, references: pl.Series) -> None:
        self.height = len(response)
        pairs = exploded(references)
        self.row = pairs["row"]
        self.reference = normalised(pairs["item"])
        self.response = normalised(response.fill_null("")).gather(self.row)

    def best(self, values: pl.Series) -> pl.Series:
        """The largest of the values of each sample's references, null where it has none."""
        return by_row(self.row, values, self.height, lambda value: value.max())

    @property
    def exact(self) -> pl.Series:
        """1 where response and reference are equal."""
        return (self.response == self.reference).cast(pl.Float64)

    @property
    def contained(self) -> pl.Series:
        """1 where the reference stands in the response as whole words; null where it has no word."""
        pair = pl.DataFrame({"response": self.response, "reference": self.reference})
        found = (" " + pl.col("response") + " ").str.contains(" " + pl.col("reference") + " ", literal=True)
        return pair.select(pl.when(pl.col("reference") != "").then(found.cast(pl.Float64)).alias("found"))["found"]

    @property
    def f1(self) -> pl.Series:
        """Harmonic mean of the shares of tokens that both have, each as often as it stands there."""
        pair = pl.DataFrame({"response": tokens(self.response), "reference": tokens(self.reference)})
        counts = pair.select(
            n_response=pl.col("response").list.len().cast(pl.Int64),
            n_reference=pl.col("reference").list.len().cast(pl.Int64),
            same=shared(pair["response"], pair["reference"]),
        )
        none = (pl.col("n_response") == 0) | (pl.col("n_reference") == 0)
        precision, recall = pl.col("same") / pl.col("n_response"), pl.col("same") / pl.col("n_reference")
        return counts.select(
            f1=pl.when(none)
            .then((pl.col("n_response") == pl.col("n_reference")).cast(pl.Float64))
            .when(pl.col("same") == 0)
            .then(0.0)
            .otherwise(2 * precision * recall / (precision + recall))
        )["f1"]


def shared(left: pl.Series, right: pl.Series) -> pl.Series:
    """How many tokens two lists share, each counted as often as it stands in both: Int64."""
    pair = pl.DataFrame({"left": left, "right": right})
    sets = pair.select(same=pl.col("left").list.set_intersection("right").list.len().cast(pl.Int64))["same"]
    repeated = pair.select(
        both=pl.all_horizontal(pl.col(side).list.n_unique() < pl.col(side).list.len() for side in ("left", "right"))
    )["both"]
    if not repeated.any():
        return sets
    rows = repeated.arg_true()
    return sets.scatter(rows, _shared_bags(pair.filter(repeated)))


def _shared_bags(pair: pl.DataFrame) -> pl.Series:
    """The same where both lists hold a token twice: every token is counted, those of the right in another unit."""
    unit = 2**32
    numbered = pair.lazy().with_row_index("row")
    both = pl.concat(
        numbered.select("row", token=side).explode("token").with_columns(count=pl.lit(one, pl.Int64))
        for side, one in (("left", 1), ("right", unit))
    )
    counts = both.group_by("row", "token").agg(pl.col("count").sum())
    same = counts.group_by("row").agg(pl.min_horizontal(pl.col("count") % unit, pl.col("count") // unit).sum())
    return same.sort("row").collect()["count"]


def exploded(lists: pl.Series) -> pl.DataFrame:
    """The items of lists, with the row that each came from: row UInt32, item. Null items and empty lists are left out.

    The place of an item in its list, null items counted, is in `place`.
    """
    frame = lists.alias("item").to_frame().with_row_index("row")
    frame = frame.filter(pl.col("item").list.len() > 0)
    frame = frame.with_columns(place=pl.int_ranges(pl.col("item").list.len())).explode("item", "place")
    return frame.filter(pl.col("item").is_not_null())


def by_row(row: pl.Series, values: pl.Series, height: int, put: Callable[[pl.Expr], pl.Expr]) -> pl.Series:
    """The values of each row put together, null for rows that have none."""
    made = pl.DataFrame({"row": row, "value": values})
    if len(row) != height or made["row"].n_unique() != height:
        made = made.group_by("row").agg(put(pl.col("value")))
        every = pl.DataFrame({"row": pl.int_range(height, dtype=pl.UInt32, eager=True)})
        made = every.join(made, on="row", how="left", maintain_order="left")
    return made["value"]


class Contexts:
    """Every sample's contexts as token sets, beside each of its references as one."""

    def __init__(self, references: pl.Series, contexts: pl.Series, wanted: Callable[[pl.Series], pl.Series]) -> None:
        """`wanted` gives the tokens of references that are looked for."""
        self.height = len(contexts)
        pairs = exploded(references).select("row", pl.int_range(pl.len(), dtype=pl.UInt32).alias("pair"), "item")
        self.pair_row = pairs["row"]
        self.wanted = wanted(pairs["item"])
        found = exploded(contexts)
        sets = pl.DataFrame({"row": found["row"], "context": token_sets(found["item"])})
        beside = pl.DataFrame({"row": self.pair_row, "pair": pairs["pair"], "wanted": self.wanted})
        self.found = (
            beside.join(sets, on="row", maintain_order="left")
            .select("pair", found=pl.col("wanted").list.set_intersection("context"))
            .filter(pl.col("found").list.len() > 0)
        )
        self.n_contexts = contexts.list.len().fill_null(0).cast(pl.Int64)

    def recall(self) -> pl.Series:
        """Share of a reference's tokens that stand in any context; null where it has none."""
        distinct = self.found.explode("found").unique().group_by("pair").agg(pl.len().cast(pl.Int64).alias("n"))
        n = _placed(distinct, len(self.wanted))
        size = self.wanted.list.len().cast(pl.Int64)
        share = pl.DataFrame({"n": n, "size": size}).select(
            share=pl.when(pl.col("size") > 0).then(pl.col("n") / pl.col("size"))
        )["share"]
        return by_row(self.pair_row, share, self.height, lambda value: value.max())

    def precision(self) -> pl.Series:
        """Share of the contexts that have any of a reference's tokens, 0 where there is no context."""
        n = _placed(self.found.group_by("pair").agg(pl.len().cast(pl.Int64).alias("n")), len(self.wanted))
        all_of = self.n_contexts.gather(self.pair_row)
        share = pl.DataFrame({"n": n, "all": all_of}).select(
            share=pl.when(pl.col("all") > 0).then(pl.col("n") / pl.col("all")).otherwise(0.0)
        )["share"]
        return by_row(self.pair_row, share, self.height, lambda value: value.max())


def _placed(counts: pl.DataFrame, height: int) -> pl.Series:
    """The counts of pairs in their order, 0 for those without one."""
    every = pl.DataFrame({"pair": pl.int_range(height, dtype=pl.UInt32, eager=True)})
    return every.join(counts, on="pair", how="left", maintain_order="left")["n"].fill_null(0)


def query_precision(query: pl.Series, contexts: pl.Series, without: frozenset[str]) -> pl.Series:
    """Share of the contexts that have a word of the query, 0 where there is no context; null without a query."""
    found = exploded(contexts)
    wanted = _dropped(words(query), without)
    pair = pl.DataFrame({"wanted": wanted.gather(found["row"]), "context": words(found["item"])})
    useful = pair.select(useful=pl.col("wanted").list.set_intersection("context").list.len() > 0)["useful"]
    n = by_row(found["row"], useful.cast(pl.Int64), len(query), lambda value: value.sum()).fill_null(0)
    frame = pl.DataFrame({"query": query, "n": n, "all": contexts.list.len().fill_null(0)})
    share = pl.when(pl.col("all") > 0).then(pl.col("n") / pl.col("all")).otherwise(0.0)
    return frame.select(share=pl.when(pl.col("query").is_not_null()).then(share))["share"]


def reference_tokens(without: frozenset[str]) -> Callable[[pl.Series], pl.Series]:
    """The distinct tokens of references, without these."""
    return lambda references: _dropped(tokens(normalised(references)).list.unique(), without)


def _dropped(sets: pl.Series, without: frozenset[str]) -> pl.Series:
    if not without:
        return sets
    stop = pl.Series([sorted(without)], dtype=pl.List(pl.String))
    return sets.list.set_difference(stop.new_from_index(0, len(sets)))


def supported_claims(claims: pl.Series, contexts: pl.Series) -> pl.Series:
    """Share of each sample's claims of which more than 70 % of the distinct words stand in one context.

    Null where there is no claim.
    """
    said, found = exploded(claims), exploded(contexts)
    claim = pl.DataFrame({"row": said["row"], "claim": words(said["item"])}).with_row_index("number")
    context = pl.DataFrame({"row": found["row"], "context": words(found["item"])})
    shared_words = pl.col("claim").list.set_intersection("context").list.len().cast(pl.Int64)
    enough = 10 * shared_words > _ENOUGH * pl.col("claim").list.len().cast(pl.Int64)
    supported = claim.join(context, on="row").filter(enough).select("number").unique()
    is_supported = claim["number"].is_in(supported["number"].implode())
    return by_row(said["row"], is_supported.cast(pl.Float64), len(claims), lambda value: value.mean())
