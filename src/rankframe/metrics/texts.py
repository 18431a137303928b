"""The sample columns that lexical metrics are made of: each made once, shared by all who need it.

A sample is a row with a question, a response, references and contexts. What several metrics need of them, such as
"the token F1 over the best reference", is one more column. With these, a metric is an expression over columns.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Literal

import polars as pl

from rankframe.metrics.listed import cited, ranked_ids
from rankframe.metrics.matching import (
    Contexts,
    Pairs,
    by_row,
    exploded,
    query_precision,
    reference_tokens,
    supported_claims,
)
from rankframe.metrics.squad import claims
from rankframe.metrics.texts_scalar import STOPWORDS
from rankframe.metrics.tfidf import tfidf_cosine

INPUTS = pl.Schema(
    {
        "user_input": pl.String(),
        "response": pl.String(),
        "reference": pl.String(),
        "references": pl.List(pl.String),
        "retrieved_contexts": pl.List(pl.String),
        "retrieved_context_ids": pl.List(pl.String),
        "reference_context_ids": pl.List(pl.String),
        "ground_truth_sources": pl.List(pl.String),
    }
)
"""The columns of samples that metrics read; one that is absent is null in every row."""

_GOLDS = "__rankframe_references"


class Held:
    """A frame of samples, with what was made of it so far: normalised texts and tokens, each once."""

    def __init__(self, samples: pl.DataFrame) -> None:
        self.samples = samples
        self._contexts: dict[bool, Contexts] = {}

    def __getitem__(self, name: str) -> pl.Series:
        return self.samples[name]

    @cached_property
    def pairs(self) -> Pairs:
        """Responses beside their references."""
        return Pairs(self["response"], self[_GOLDS])

    def contexts(self, *, stopwords: bool) -> Contexts:
        """Contexts beside the tokens of references, with or without stop words."""
        if stopwords not in self._contexts:
            without = frozenset() if stopwords else STOPWORDS
            self._contexts[stopwords] = Contexts(self[_GOLDS], self["retrieved_contexts"], reference_tokens(without))
        return self._contexts[stopwords]

    def ranked(self, metric: pl.Expr) -> pl.Series:
        """A retrieval metric of the retrieved ids, where those of the reference contexts are relevant."""
        return ranked_ids(self["retrieved_context_ids"], self["reference_context_ids"], metric)


class Texts:
    """Gives sample columns to metric formulas.

    A formula asks for a column, gets its name as an expression, and `add_to` makes whatever was asked for. `whole` says
    that a column depends on all samples together, so that they cannot be taken in parts.
    """

    def __init__(self) -> None:
        self._columns: dict[str, Callable[[Held], pl.Series]] = {}
        self.whole = False

    def include(self, other: Texts) -> None:
        """Take over what another builder was asked for: the same name always stands for the same column."""
        self._columns.update(other._columns)
        self.whole |= other.whole

    def add_to(self, samples: pl.DataFrame) -> pl.DataFrame:
        """`samples` with every column that was asked for, and with those inputs that they lack as nulls."""
        samples = completed(samples)
        held = Held(samples)
        return samples.with_columns(make(held).alias(name) for name, make in self._columns.items())

    @property
    def inputs(self) -> tuple[str, ...]:
        """The columns of samples that metrics may read."""
        return tuple(INPUTS)

    def column(self, name: str, make: Callable[[Held], pl.Series]) -> pl.Expr:
        """A column that is made of the samples, by its name."""
        name = f"__rankframe {name}"
        self._columns[name] = make
        return pl.col(name)

    # What a response is beside the references, of which the best counts.

    @property
    def exact(self) -> pl.Expr:
        """1 where response and reference are equal."""
        return self.column("exact", lambda held: held.pairs.best(held.pairs.exact))

    @property
    def f1(self) -> pl.Expr:
        """Harmonic mean of the shares of common tokens."""
        return self.column("f1", lambda held: held.pairs.best(held.pairs.f1))

    @property
    def contained(self) -> pl.Expr:
        """1 where the reference stands in the response as whole words."""
        return self.column("contained", lambda held: held.pairs.best(held.pairs.contained))

    def best(self, name: str, compare: Callable[[pl.Series, pl.Series], pl.Series]) -> pl.Expr:
        """The best over the references of what a comparison of texts gives: (responses, references) -> values."""

        def make(held: Held) -> pl.Series:
            given = exploded(held[_GOLDS])
            values = compare(held["response"].fill_null("").gather(given["row"]), given["item"])
            return by_row(given["row"], values, held.samples.height, lambda value: value.max())

        return self.column(name, make)

    # What the contexts have.

    def found(self, *, stopwords: bool = True) -> pl.Expr:
        """Share of the reference's tokens that stand in any context."""
        return self.column(f"found {stopwords}", lambda held: held.contexts(stopwords=stopwords).recall())

    def useful(self, *, stopwords: bool) -> pl.Expr:
        """Share of the contexts that have a token of the reference."""
        return self.column(f"useful {stopwords}", lambda held: held.contexts(stopwords=stopwords).precision())

    def asked_for(self, *, stopwords: bool) -> pl.Expr:
        """Share of the contexts that have a word of the question."""
        without = frozenset() if stopwords else STOPWORDS
        return self.column(
            f"asked for {stopwords}",
            lambda held: query_precision(held["user_input"], held["retrieved_contexts"], without),
        )

    @property
    def supported(self) -> pl.Expr:
        """Share of the response's claims that some context supports by its words; null without a claim."""
        return self.column(
            "supported", lambda held: supported_claims(claims(held["response"]), held["retrieved_contexts"])
        )

    def cited(self, what: Literal["recall", "precision"]) -> pl.Expr:
        """Share of the sources that are cited, or of the cited ones that are sources."""
        return self.column(f"cited {what}", lambda held: cited(held["response"], held["ground_truth_sources"], what))

    def cosine(self, *, corpus: bool) -> pl.Expr:
        """Cosine of the TF-IDF vectors of question and response."""
        self.whole |= corpus
        return self.column(
            f"cosine {corpus}", lambda held: tfidf_cosine(held["user_input"], held["response"], corpus=corpus)
        )


def completed(samples: pl.DataFrame) -> pl.DataFrame:
    """`samples` with the inputs that they lack as nulls, and the references of each."""
    lacking = {name: dtype for name, dtype in INPUTS.items() if name not in samples.columns}
    samples = samples.with_columns(pl.lit(None, dtype).alias(name) for name, dtype in lacking.items())
    return samples.with_columns(references(samples).alias(_GOLDS))


def references(samples: pl.DataFrame) -> pl.Series:
    """The references of each sample: those of its list, else the one; null where it has none."""
    one, several = (
        samples[name]
        if name in samples.columns
        else pl.Series(name, [None], dtype=INPUTS[name]).new_from_index(0, samples.height)
        for name in ("reference", "references")
    )
    listed = pl.col("references").list.drop_nulls()
    single = pl.when(pl.col("reference").is_not_null()).then(pl.concat_list("reference"))
    given = pl.when(listed.list.len() > 0).then(listed).otherwise(single)
    return pl.DataFrame([one.alias("reference"), several.alias("references")]).select(references=given)["references"]
