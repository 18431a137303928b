"""TF-IDF over the character n-grams of a corpus, by cosine: needs no training, no language and no extra."""

from __future__ import annotations

import re
from array import array
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count

import numpy as np

from rankframe.errors import MetricError, counted
from rankframe.metrics.metric import checked_cutoff
from rankframe.retrievers.searching import Floats, Hits, Integers, best_hits, query_texts, searched_texts

_WORD = re.compile(r"\w+")
_DECIMALS = 12  # to which cosines are rounded, so that the last bits of a sum decide nothing
_BLOCK = 1_000_000  # grams that are counted at once while the index is built


class TfIdf:
    r"""Cosine of the TF-IDF vectors of character n-grams, in memory.

    The n-grams are those inside of each word (`\w+` in lower case, with a blank before and behind it). A gram weighs
    its count times log((1 + N) / (1 + df)) + 1, where df of N documents have it; grams that no document has are left
    out of a query. A document is searched by its title and text.

    Args:
        corpus: whatever `read_corpus` takes: a frame, a path, a BEIR folder, a mapping id -> text; or a `Beir`.
        ngrams: the shortest and the longest n.

    Attributes:
        n_docs: how many documents there are. n_grams: how many different n-grams. ngrams: as given.

    Raises:
        DataError: for a corpus that cannot be read, and an id that several documents share.
        MetricError: for `ngrams` that are no two whole numbers from 1 in ascending order.

    `search` gives cosines above 0 up to 1, rounded to 12 decimals, and leaves out documents without any gram of the
    query. Documents with equal scores stand by their id, descending. A corpus without words finds nothing.

    Reference: McNamee and Mayfield, Character N-Gram Tokenization for European Language Text Retrieval, 2004,
    doi:10.1023/B:INRT.0000009441.78971.be; the weights are those of scikit-learn's `TfidfVectorizer`.

    >>> TfIdf({"d1": "A red kite.", "d2": "An owl."}).search(["kites"])
    [[('d1', 0.612372435696)]]
    """

    def __init__(self, corpus: object, *, ngrams: tuple[int, int] = (3, 5)) -> None:
        self.ngrams = _ngrams(ngrams)
        self._ids, texts = searched_texts(corpus)
        vocabulary, self._docs = _counts(_WORD.findall(text.lower()) for text in texts)
        del texts
        self._grams, words = _counts(self._inside(word) for word in vocabulary)
        self._words = words.turned()
        df = np.zeros(self.n_grams, dtype=np.int64)
        for _, grams, _ in _blocks(self._docs, words):
            df += np.bincount(grams, minlength=self.n_grams)
        self._idf = np.log((1 + self.n_docs) / (1 + df)) + 1
        squares = np.zeros(self.n_docs)
        for docs, grams, tf in _blocks(self._docs, words):
            squares += np.bincount(docs, weights=(tf * self._idf[grams]) ** 2, minlength=self.n_docs)
        self._norms = np.sqrt(squares)
        self._filled = np.flatnonzero(squares)  # the rest may have words, but none that gives a product

    @property
    def n_docs(self) -> int:
        return len(self._ids)

    @property
    def n_grams(self) -> int:
        return len(self._grams)

    def __repr__(self) -> str:
        return f"TfIdf({counted(self.n_docs, 'document')}, ngrams={self.ngrams}, {self.n_grams:,} grams)"

    def search(self, queries: Sequence[str], limit: int = 100) -> list[Hits]:
        """The best documents of every query.

        Args:
            queries: a list of texts.
            limit: how many documents each finds at most, from 1.

        Returns:
            For each query a list of (doc_id, cosine), best first; empty where the corpus has none of its grams.

        Raises:
            DataError: for one text instead of a list, and for what is no text.
            MetricError: for a limit that is no whole number from 1.
        """
        texts, limit = query_texts(queries), checked_cutoff(limit, "limit")
        scratch = np.empty(len(self._docs.columns))
        return [self._hits(text, limit, scratch) for text in texts]

    def _hits(self, text: str, limit: int, scratch: Floats) -> Hits:
        tf = Counter(gram for word in _WORD.findall(text.lower()) for gram in self._inside(word) if gram in self._grams)
        if not tf:
            return []
        grams = np.array([self._grams[gram] for gram in tf])
        weights = np.array(list(tf.values())) * self._idf[grams]
        by_word = self._by_word(grams, weights / np.sqrt(np.sum(weights**2)))
        # A document's product with the query is the sum over its words, so that it needs no grams of its own.
        np.take(by_word, self._docs.columns, out=scratch, mode="clip")
        np.multiply(scratch, self._docs.counts, out=scratch)
        sums = np.add.reduceat(scratch, self._docs.starts[self._filled])
        scores = np.zeros(self.n_docs)
        scores[self._filled] = np.round(sums / self._norms[self._filled], _DECIMALS)
        return best_hits(self._ids, scores, np.flatnonzero(scores > 0), limit)

    def _by_word(self, grams: Integers, weights: Floats) -> Floats:
        """For every word of the corpus, its product with a query whose grams weigh so much."""
        words, starts = self._words, self._words.starts
        spans = [slice(start, end) for start, end in zip(starts[grams], starts[grams + 1], strict=True)]
        of_gram = np.repeat(weights * self._idf[grams], starts[grams + 1] - starts[grams])
        tf = np.concatenate([words.counts[span] for span in spans])
        columns = np.concatenate([words.columns[span] for span in spans])
        return np.bincount(columns, weights=tf * of_gram, minlength=words.width).astype(np.float64, copy=False)

    def _inside(self, word: str) -> list[str]:
        """The n-grams of a word with a blank before and behind it."""
        padded = f" {word} "
        lengths = range(self.ngrams[0], min(self.ngrams[1], len(padded)) + 1)
        return [padded[at : at + n] for n in lengths for at in range(len(padded) - n + 1)]


@dataclass(frozen=True, slots=True)
class _Counts:
    """A sparse matrix of `width` columns: row i has `counts` in `columns`, from starts[i] up to starts[i + 1]."""

    starts: Integers
    columns: Integers
    counts: Floats
    width: int

    def turned(self) -> _Counts:
        """The same counts with rows as columns."""
        height = len(self.starts) - 1
        rows = np.repeat(np.arange(height), np.diff(self.starts))
        order = np.argsort(self.columns, kind="stable")
        starts = _starts(np.bincount(self.columns, minlength=self.width))
        return _Counts(starts, rows[order], self.counts[order], height)


def _counts(rows: Iterable[Iterable[str]]) -> tuple[dict[str, int], _Counts]:
    """How often every item stands in every row, and the column of each item, in the order of first sight."""
    numbers: defaultdict[str, int] = defaultdict(count().__next__)
    columns, counts, lengths = array("q"), array("d"), array("q")
    for row in rows:
        tally = Counter(row)
        columns.extend(map(numbers.__getitem__, tally))
        counts.extend(tally.values())
        lengths.append(len(tally))
    starts = _starts(np.array(lengths, dtype=np.int64))
    return dict(numbers), _Counts(starts, np.array(columns, dtype=np.int64), np.array(counts), len(numbers))


def _starts(lengths: Integers) -> Integers:
    return np.concatenate([[0], np.cumsum(lengths)])


def _blocks(docs: _Counts, words: _Counts) -> Iterator[tuple[Integers, Integers, Floats]]:
    """Document, gram and count of every gram in every document, some documents at a time."""
    sizes = np.diff(words.starts)
    before = _starts(sizes[docs.columns])[docs.starts]  # grams up to each document
    first, height = 0, len(docs.starts) - 1
    while first < height:
        last = max(int(np.searchsorted(before, before[first] + _BLOCK, side="right")) - 1, first + 1)
        entries = slice(docs.starts[first], docs.starts[last])
        found = docs.columns[entries]
        each = sizes[found]
        at = np.arange(each.sum()) + np.repeat(words.starts[found] - _starts(each)[:-1], each)
        rows = np.repeat(np.repeat(np.arange(first, last), np.diff(docs.starts[first : last + 1])), each)
        columns = words.columns[at]
        keys = rows * words.width + columns
        order = np.argsort(keys, kind="stable")
        new = np.flatnonzero(np.diff(keys[order], prepend=-1))
        if len(new):
            tf = np.repeat(docs.counts[entries], each) * words.counts[at]
            yield rows[order[new]], columns[order[new]], np.add.reduceat(tf[order], new)
        first = last


def _ngrams(ngrams: object) -> tuple[int, int]:
    """The shortest and the longest n."""
    if isinstance(ngrams, (tuple, list)) and len(ngrams) == 2 and all(type(n) is int for n in ngrams):
        shortest, longest = ngrams
        if 1 <= shortest <= longest:
            return shortest, longest
    raise MetricError(f"ngrams={ngrams!r}: expected the shortest and the longest n from 1, as in (3, 5)")
