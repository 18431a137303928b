"""The sample columns that lexical metrics are made of: each made once, shared by all who need it.

A sample is a row with a question, a response, references and contexts. What several metrics need of them, such as
"the token F1 over the best reference", is one more column. With these, a metric is an expression over columns.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, Literal

import polars as pl

from rankframe.errors import DataError
from rankframe.metrics.listed import cited, ranked_ids
from rankframe.metrics.matching import Contexts, Pairs, by_row, exploded, query_precision, supported_claims
from rankframe.metrics.squad import claims, normalised, token_sets, words
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
        self._beside: dict[bool, Contexts] = {}

    def __getitem__(self, name: str) -> pl.Series:
        return self.samples[name]

    @cached_property
    def references(self) -> pl.DataFrame:
        """Every reference of every sample, normalised: row, item."""
        given = exploded(self[_GOLDS])
        return given.with_columns(normalised(given["item"]).alias("item"))

    @cached_property
    def pairs(self) -> Pairs:
        """Responses beside their references."""
        return Pairs(self["response"], self.references)

    @cached_property
    def n_contexts(self) -> pl.Series:
        """How many contexts each sample has, those among them that are null."""
        return self["retrieved_contexts"].list.len().fill_null(0)

    @cached_property
    def _contexts(self) -> pl.DataFrame:
        return exploded(self["retrieved_contexts"])

    @cached_property
    def _context_tokens(self) -> pl.DataFrame:
        return self._contexts.select("row", token_sets(self._contexts["item"]).alias("tokens"))

    @cached_property
    def context_words(self) -> pl.DataFrame:
        """Every context of every sample, as words: row, words."""
        return self._contexts.select("row", words(self._contexts["item"]).alias("words"))

    @cached_property
    def claims(self) -> pl.DataFrame:
        """Every claim of every response, as words: row, words."""
        said = exploded(claims(self["response"]))
        return said.select("row", words(said["item"]).alias("words"))

    def contexts(self, *, stopwords: bool) -> Contexts:
        """Contexts beside the tokens of references, with or without stop words."""
        if stopwords not in self._beside:
            beside = Contexts(self.references, self._context_tokens, self.n_contexts, _without(stopwords=stopwords))
            self._beside[stopwords] = beside
        return self._beside[stopwords]

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
        without = _without(stopwords=stopwords)
        return self.column(
            f"asked for {stopwords}",
            lambda held: query_precision(words(held["user_input"]), held.context_words, held.n_contexts, without),
        )

    @property
    def supported(self) -> pl.Expr:
        """Share of the response's claims that some context supports by its words; null without a claim."""
        return self.column(
            "supported", lambda held: supported_claims(held.claims, held.context_words, held.samples.height)
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


def _without(*, stopwords: bool) -> frozenset[str]:
    return frozenset() if stopwords else STOPWORDS


def completed(samples: pl.DataFrame) -> pl.DataFrame:
    """`samples` with inputs of the right dtypes, those that they lack as nulls, and the references of each.

    Raises:
        DataError: for an input that holds something else than text, or lists of it.
    """
    lacking = {name: dtype for name, dtype in INPUTS.items() if name not in samples.columns}
    others = {name: dtype for name, dtype in INPUTS.items() if samples.schema.get(name, dtype) != dtype}
    for name, dtype in others.items():
        if not _is_text(samples.schema[name], dtype, ids=name.endswith("_ids")):
            raise DataError(
                f"samples: {name!r} is {samples.schema[name]}, expected {dtype}; rankframe.read_samples gives every "
                f"column of samples its type"
            )
    samples = samples.with_columns(
        *(pl.lit(None, dtype).alias(name) for name, dtype in lacking.items()),
        *(pl.col(name).cast(dtype) for name, dtype in others.items()),
    )
    return samples.with_columns(references(samples).alias(_GOLDS))


def _is_text(found: pl.DataType, wanted: pl.DataType, *, ids: bool) -> bool:
    """Whether a dtype holds what another does, but stores it in another way; whole numbers are ids."""
    held: Any = found
    if isinstance(wanted, pl.List) and found != pl.Null:
        if not isinstance(found, (pl.List, pl.Array)):
            return False
        held = found.inner
    return held in (pl.Null, pl.String, pl.Categorical, pl.Enum) or (ids and held.is_integer())


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
