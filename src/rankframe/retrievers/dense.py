"""Exact search by vectors, in blocks: the products are Float32, the scores and the order are exact."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from rankframe.errors import DataError, counted, listed
from rankframe.frames.checks import choice
from rankframe.frames.coerce import id_series
from rankframe.metrics.metric import checked_cutoff
from rankframe.retrievers.searching import Floats, Hits, Integers, best, query_texts
from rankframe.retrievers.vectors import Matrix, load_vectors

Metric = Literal["cosine", "dot"]

_DOCUMENTS = 16_384  # documents, and
_QUERIES = 128  # queries whose products are held at once
_TAME = 1e-20  # from this length up to its inverse, products in Float32 neither overflow nor lose digits near 0
_DECIMALS = 12  # to which cosines are rounded, so that vectors of one direction are equally good


class Dense:
    """The nearest documents by their vectors, without approximation, in memory.

    Args:
        documents: a frame, anything that holds one, or a path to Parquet, with doc_id and `vector`: a List or Array of
            numbers, all of one length. They are kept as Float32.
        queries: the vectors of the queries, likewise with query_id and `vector`; `search` finds them by query id.
        encode: what makes vectors of the queries instead: list of texts -> matrix with one row for each.
        metric: "cosine", where a vector of zeros is like none (0), or "dot".

    Attributes:
        n_docs: how many documents there are. dim: numbers in a vector, None without documents. metric: as given.

    Raises:
        DataError: for both or none of `queries` and `encode`; a null, NaN or infinite number, a number beyond Float32,
            vectors of different lengths, an id that several share: each names the document or query.

    `search` gives every document a score, negative ones too: the cosine, -1 to 1, rounded to 12 decimals, or the
    product, not rounded. Products in Float32 only narrow the choice, by a bound on their error: the scores are sums in
    Float64 over the Float32 vectors, so neither they nor the order depend on blocks, threads or the other queries.
    Documents with equal scores stand by their id, descending. At most the products of a block of queries with a block
    of documents are held at once.

    >>> documents = [{"doc_id": "d1", "vector": [1.0, 0.0]}, {"doc_id": "d2", "vector": [3.0, 4.0]}]
    >>> found = Dense(documents, queries=[{"query_id": "q1", "vector": [0.0, 2.0]}])
    >>> found.search(["an owl"], query_ids=["q1"])
    [[('d2', 0.8), ('d1', 0.0)]]
    """

    def __init__(
        self,
        documents: object,
        *,
        queries: object = None,
        encode: Callable[[list[str]], Any] | None = None,
        metric: Metric = "cosine",
    ) -> None:
        choice("metric", metric, ("cosine", "dot"))
        if (queries is None) == (encode is None):
            raise DataError(
                "the vectors of queries come from queries=, a frame with query_id and vector, or from encode=, a "
                f"function of their texts; {'neither' if encode is None else 'both'} was given"
            )
        if encode is not None and not callable(encode):
            raise DataError(f"encode= is a function from a list of texts to a matrix, got a {type(encode).__name__}")
        self.metric = metric
        self._encode = encode
        self._docs = load_vectors(documents, "doc_id")
        self._queries = None if queries is None else load_vectors(queries, "query_id")
        self._query_rows = {} if self._queries is None else {key: row for row, key in enumerate(self._queries.ids)}
        if self._queries is not None and None not in (self.dim, self._queries.dim) and self._queries.dim != self.dim:
            raise DataError(
                f"{self._queries.where}: vectors of {counted(self._queries.dim or 0, 'number')}, and of {self.dim} in "
                f"{self._docs.where}; both must come from one model"
            )
        self._places = self._docs.ids.rank("ordinal").to_numpy().astype(np.int64)
        self._names = self._docs.ids.to_list()
        self._norms = _norms(self._docs.matrix)
        lengths = self._norms[self._norms > 0]
        self._is_tame = bool(((lengths > _TAME) & (lengths < 1 / _TAME)).all())

    @property
    def n_docs(self) -> int:
        return len(self._names)

    @property
    def dim(self) -> int | None:
        return self._docs.dim

    def __repr__(self) -> str:
        of = "encode" if self._queries is None else counted(len(self._query_rows), "query")
        return f"Dense({counted(self.n_docs, 'document')}, dim={self.dim}, metric={self.metric!r}, vectors of {of})"

    def search(self, queries: Sequence[str], limit: int = 100, query_ids: Sequence[str] | None = None) -> list[Hits]:
        """The nearest documents of every query.

        Args:
            queries: a list of texts; only `encode` looks at them.
            limit: how many documents each finds at most, from 1.
            query_ids: the ids of the queries, in the same order: needed with `queries=` vectors.

        Returns:
            For each query a list of (doc_id, score), best first; empty without documents.

        Raises:
            DataError: for one text instead of a list, ids that are missing, unknown or not as many as the texts, and
                vectors of `encode` that are not as expected.
            MetricError: for a limit that is no whole number from 1.
        """
        texts, limit = query_texts(queries), checked_cutoff(limit, "limit")
        asked = self._looked_up(texts, query_ids) if self._encode is None else None
        if not texts or not self.n_docs:
            return [[] for _ in texts]
        return self._nearest(self._encoded(texts) if asked is None else asked, limit)

    def _looked_up(self, texts: list[str], query_ids: Sequence[str] | None) -> Matrix:
        vectors: Any = self._queries
        if query_ids is None or isinstance(query_ids, (str, bytes)):
            raise DataError("query_ids= is needed where queries have stored vectors: a list with the id of each query")
        ids = id_series("query_ids", list(query_ids), "query_ids").to_list()
        if len(ids) != len(texts):
            raise DataError(f"query_ids= has {counted(len(ids), 'id')} for {counted(len(texts), 'query')}")
        unknown = [key for key in ids if key not in self._query_rows]
        if unknown:
            raise DataError(
                f"{vectors.where}: no vector for {counted(len(unknown), 'query')}: {listed(unknown)}; there are "
                f"{len(self._query_rows):,}, such as {listed(list(self._query_rows)[:3]) or 'none'}"
            )
        rows: Matrix = vectors.matrix[[self._query_rows[key] for key in ids]]
        return rows

    def _encoded(self, texts: list[str]) -> Matrix:
        encode: Any = self._encode
        expected = f"expected a matrix of numbers of the shape ({len(texts)}, {self.dim}), a row for each text"
        given = encode(texts)
        try:
            made = np.asarray(given)
        except (RuntimeError, TypeError, ValueError) as error:  # rows of several lengths, tensors that live elsewhere
            raise DataError(f"encode= gave no matrix ({error}); {expected}") from error
        if made.shape != (len(texts), self.dim) or made.dtype.kind not in "iuf":
            raise DataError(f"encode= gave {made.dtype} of the shape {made.shape}; {expected}")
        with np.errstate(over="ignore"):  # what Float32 cannot hold is refused as infinite
            matrix = made.astype(np.float32)
        odd = np.flatnonzero(~np.isfinite(matrix).all(axis=1))
        if len(odd):
            raise DataError(
                f"encode= gave NaN, infinity or numbers beyond Float32 for {counted(len(odd), 'query')}: "
                f"{listed([texts[row][:60] for row in odd])}"
            )
        return matrix

    def _nearest(self, asked: Matrix, limit: int) -> list[Hits]:
        """The nearest documents of each vector.

        Products in Float32 are those of documents and queries scaled to lengths up to 1, so that one bound holds for
        the error of all. Where no product can overflow, it is the product that is scaled.
        """
        norms = _norms(asked)
        slack = float((asked.shape[1] + 8) * np.finfo(np.float32).eps)  # twice what rounding can add up to, at least
        longest = np.full(self.n_docs, self._norms.max())
        scale = _inverse(self._norms if self.metric == "cosine" else longest)
        units = (asked * _inverse(norms)[:, None]).astype(np.float32)
        to_product = np.ones(len(asked)) if self.metric == "cosine" else _inverse(norms * longest[0])
        searches = [
            _Search(*each, limit, slack)
            for each in zip(asked.astype(np.float64), norms, to_product.tolist(), strict=True)
        ]
        for start in range(0, self.n_docs, _DOCUMENTS):
            block = slice(start, start + _DOCUMENTS)
            vectors, factors = self._docs.matrix[block], scale[block].astype(np.float32)
            if not self._is_tame:
                vectors, factors = (vectors * scale[block, None]).astype(np.float32), np.ones_like(factors)
            for first in range(0, len(asked), _QUERIES):
                batch = slice(first, first + _QUERIES)
                for search, products in zip(searches[batch], units[batch] @ vectors.T * factors, strict=True):
                    rows = start + search.candidates(products)
                    if len(rows):
                        search.add(rows, self._scores(rows, search.vector, search.norm), self._places)
        return [
            [(self._names[row], score) for row, score in zip(search.rows.tolist(), search.scores.tolist(), strict=True)]
            for search in searches
        ]

    def _scores(self, rows: Integers, vector: Floats, norm: float) -> Floats:
        """The exact scores of some documents: each is a sum of its own, whatever else is asked."""
        scores: Floats = np.sum(self._docs.matrix[rows].astype(np.float64) * vector, axis=1)
        if self.metric == "cosine":
            scores = np.round(scores * _inverse(self._norms[rows] * norm), _DECIMALS)
        scores += 0.0  # makes 0.0 of -0.0
        return scores


@dataclass(slots=True)
class _Search:
    """One query on its way through the blocks: the best documents so far, best first.

    `slack` is a bound on the error of a product, so that whoever is among the best has one that is at most so much
    below the least of the best so far, and at most twice as much below the last that the block alone would keep.
    """

    vector: Floats
    norm: float
    to_product: float  # what makes a product of a score
    limit: int
    slack: float
    rows: Integers = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    scores: Floats = field(default_factory=lambda: np.empty(0))

    def candidates(self, products: Matrix) -> Integers:
        """The places in a block that can be among the best."""
        full = len(self.rows) == self.limit
        least = float(self.scores[-1]) * self.to_product - self.slack if full else -np.inf
        near = np.flatnonzero(products >= least)
        if (cut := len(near) - self.limit) > 0:
            near = near[products[near] >= np.partition(products[near], cut)[cut] - 2 * self.slack]
        return near

    def add(self, rows: Integers, scores: Floats, places: Integers) -> None:
        """Keep the best of those so far and these."""
        rows, scores = np.concatenate([self.rows, rows]), np.concatenate([self.scores, scores])
        kept = best(scores, places[rows], self.limit)
        self.rows, self.scores = rows[kept], scores[kept]


def _norms(matrix: Matrix) -> Floats:
    """The length of every vector."""
    squares = [
        np.sum(matrix[start : start + _DOCUMENTS].astype(np.float64) ** 2, axis=1)
        for start in range(0, len(matrix), _DOCUMENTS)
    ]
    norms: Floats = np.sqrt(np.concatenate([np.empty(0), *squares]))
    return norms


def _inverse(norms: Floats) -> Floats:
    """1 / norm, and 0 where it is 0."""
    inverse: Floats = np.divide(1.0, norms, out=np.zeros_like(norms), where=norms > 0)
    return inverse
