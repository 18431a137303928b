"""Responses, references and contexts held against each other: what several lexical metrics are made of.

What a sample has several of, such as references, stands in a frame with a row for each and the number of its sample in
`row`; what it has one of in a column with a row for each sample, and so do the results. The best reference counts.
"""

from __future__ import annotations

from collections.abc import Callable

import polars as pl

from rankframe.metrics.squad import normalised, tokens

_ENOUGH = 7
"""Tenths of a claim's words that a context must have more than, for the claim to count as supported."""


class Pairs:
    """Every sample beside each of its references, normalised: what answers are compared over."""

    def __init__(self, response: pl.Series, references: pl.DataFrame) -> None:
        """The references: row, item, normalised."""
        self.height = len(response)
        self.row, self.reference = references["row"], references["item"]
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
    """The items of lists, with the row that each came from: row, item. Null items and empty lists are left out."""
    frame = lists.alias("item").to_frame().with_row_index("row")
    return frame.filter(pl.col("item").list.len() > 0).explode("item").filter(pl.col("item").is_not_null())


def by_row(row: pl.Series, values: pl.Series, height: int, put: Callable[[pl.Expr], pl.Expr]) -> pl.Series:
    """The values of each row put together, null for rows that have none."""
    made = pl.DataFrame({"row": row, "value": values})
    if len(row) != height or made["row"].n_unique() != height:
        made = made.group_by("row").agg(put(pl.col("value")))
        every = pl.DataFrame({"row": pl.int_range(height, dtype=pl.get_index_type(), eager=True)})
        made = every.join(made, on="row", how="left", maintain_order="left")
    return made["value"]


_CERTAIN = "[A-Za-z0-9]{4,}"
"""What normalisation never takes away: no article is as long, and what is deleted only joins words."""


def emptied(references: pl.Series) -> pl.Series:
    """Whether normalisation leaves nothing of some reference of each sample, from lists of them: Boolean."""
    given = exploded(references)
    doubtful = given.filter(~pl.col("item").str.contains(_CERTAIN))
    rows = doubtful["row"].filter(normalised(doubtful["item"]) == "")
    return pl.int_range(len(references), dtype=pl.get_index_type(), eager=True).is_in(rows.implode())


class Contexts:
    """Every sample's contexts beside the tokens of each of its references."""

    def __init__(
        self, references: pl.DataFrame, contexts: pl.DataFrame, n_contexts: pl.Series, without: frozenset[str]
    ) -> None:
        """The references: row, item, normalised; contexts: row, tokens; `without` is not looked for."""
        self.pair_row, self.n_contexts = references["row"], n_contexts.cast(pl.Int64)
        self.wanted = _dropped(tokens(references["item"]).list.unique(), without)
        pairs = self.pair_row.alias("row").to_frame().with_row_index("pair")
        beside = contexts["row"].to_frame().with_row_index("context").join(pairs, on="row", maintain_order="left")
        every = beside.height == contexts.height and beside["context"].n_unique() == contexts.height
        context = contexts["tokens"] if every else contexts["tokens"].gather(beside["context"])
        shared = pl.DataFrame([beside["pair"], self.wanted.gather(beside["pair"]).alias("wanted"), context])
        found = shared.select("pair", found=pl.col("wanted").list.set_intersection("tokens"))
        self.found = found.filter(pl.col("found").list.len() > 0)

    def recall(self) -> pl.Series:
        """Share of a reference's tokens that stand in any context; null where it has none."""
        distinct = self.found.explode("found").unique().group_by("pair").agg(pl.len().cast(pl.Int64).alias("n"))
        n = _placed(distinct, len(self.wanted))
        size = self.wanted.list.len().cast(pl.Int64)
        share = pl.DataFrame({"n": n, "size": size}).select(
            share=pl.when(pl.col("size") > 0).then(pl.col("n") / pl.col("size"))
        )["share"]
        return by_row(self.pair_row, share, len(self.n_contexts), lambda value: value.max())

    def precision(self) -> pl.Series:
        """Share of the contexts that have any of a reference's tokens, 0 where there is no context."""
        n = _placed(self.found.group_by("pair").agg(pl.len().cast(pl.Int64).alias("n")), len(self.wanted))
        all_of = self.n_contexts.gather(self.pair_row)
        share = pl.DataFrame({"n": n, "all": all_of}).select(
            share=pl.when(pl.col("all") > 0).then(pl.col("n") / pl.col("all")).otherwise(0.0)
        )["share"]
        return by_row(self.pair_row, share, len(self.n_contexts), lambda value: value.max())


def _placed(counts: pl.DataFrame, height: int) -> pl.Series:
    """The counts of pairs in their order, 0 for those without one."""
    every = pl.DataFrame({"pair": pl.int_range(height, dtype=pl.get_index_type(), eager=True)})
    return every.join(counts, on="pair", how="left", maintain_order="left")["n"].fill_null(0)


def query_precision(
    query: pl.Series, contexts: pl.DataFrame, n_contexts: pl.Series, without: frozenset[str]
) -> pl.Series:
    """Share of the contexts that have a word of the query, 0 where there is no context; null without a query.

    The query: its words; contexts: row, words.
    """
    wanted = _dropped(query, without)
    pair = pl.DataFrame({"wanted": wanted.gather(contexts["row"]), "context": contexts["words"]})
    useful = pair.select(useful=pl.col("wanted").list.set_intersection("context").list.len() > 0)["useful"]
    n = by_row(contexts["row"], useful.cast(pl.Int64), len(query), lambda value: value.sum()).fill_null(0)
    frame = pl.DataFrame({"query": query, "n": n, "all": n_contexts})
    share = pl.when(pl.col("all") > 0).then(pl.col("n") / pl.col("all")).otherwise(0.0)
    return frame.select(share=pl.when(pl.col("query").is_not_null()).then(share))["share"]


def _dropped(sets: pl.Series, without: frozenset[str]) -> pl.Series:
    if not without:
        return sets
    stop = pl.Series([sorted(without)], dtype=pl.List(pl.String))
    return sets.list.set_difference(stop.new_from_index(0, len(sets)))


def supported_claims(claims: pl.DataFrame, contexts: pl.DataFrame, height: int) -> pl.Series:
    """Share of each sample's claims of which more than 70 % of the distinct words stand in one context.

    Null where there is no claim. Claims and contexts: row, words.
    """
    claim = claims.with_row_index("number")
    shared_words = pl.col("words").list.set_intersection("words_right").list.len().cast(pl.Int64)
    enough = 10 * shared_words > _ENOUGH * pl.col("words").list.len().cast(pl.Int64)
    supported = claim.join(contexts, on="row").filter(enough).select("number").unique()
    is_supported = claim["number"].is_in(supported["number"].implode())
    return by_row(claims["row"], is_supported.cast(pl.Float64), height, lambda value: value.mean())
