"""BM25 over the words of a corpus: bm25s finds and weighs the words, the order is rankframe's."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from functools import partial
from numbers import Real
from os import PathLike
from pathlib import Path
from typing import Any, Self

import numpy as np
import polars as pl

from rankframe.errors import DataError, ExtraError, MetricError, counted, nearest
from rankframe.frames.checks import choice
from rankframe.metrics.metric import checked_cutoff
from rankframe.retrievers.saved import load_index, save_index
from rankframe.retrievers.searching import Hits, best_hits, query_texts, searched_texts

METHODS = ("lucene", "robertson", "atire", "bm25l", "bm25+")
_LIFTED = ("bm25l", "bm25+")  # those that use delta
_OPTIONS = ("k1", "b", "method", "delta", "stopwords", "stemmer")
_KIND, _IDS, _INDEX = "BM25", "ids.parquet", "bm25s"  # of a saved index: its kind, and what lies in its folder


class BM25:
    r"""BM25 in memory; needs the extra `bm25` (bm25s and PyStemmer).

    Words are two or more letters, digits or underscores (`\w\w+`) in lower case, without stopwords, stemmed. A document
    is searched by its title and text.

    Args:
        corpus: whatever `read_corpus` takes: a frame, a path, a BEIR folder, a mapping id -> text; or a `Beir`.
        k1: how slowly repeated words saturate, from 0; above it for bm25l and bm25+.
        b: how much long documents are held back, 0 to 1.
        method: the variant: "lucene", "robertson", "atire", "bm25l" or "bm25+", as compared by Kamphuis et al.
        delta: what bm25l and bm25+ grant every word that occurs, above 0; of no effect elsewhere.
        stopwords: a language of bm25s ("en", "german", ..), your own words, or None.
        stemmer: a Snowball language ("english", "german", ..), or None.

    Attributes:
        n_docs: how many documents there are; the arguments under their names.

    Raises:
        ExtraError: without the extra.
        DataError: for a corpus that cannot be read, an id that several documents share, an unknown option.
        MetricError: for k1, b or delta out of range.

    `search` gives scores above 0 in Float64 and leaves out documents without any word of the query. Equal input gives
    equal scores; documents with equal scores stand by their id, descending. A corpus without words finds nothing.

    Reference: Kamphuis et al., Which BM25 Do You Mean?, ECIR 2020, doi:10.1007/978-3-030-45442-5_4; the words are
    counted by bm25s (Lù, 2024, arXiv:2407.03618).

    Example: `BM25({"d1": "A red kite."}).search(["kites"])` finds d1.
    """

    def __init__(
        self,
        corpus: object,
        *,
        k1: float = 1.5,
        b: float = 0.75,
        method: str = "lucene",
        delta: float = 0.5,
        stopwords: str | Sequence[str] | None = "en",
        stemmer: str | None = "english",
    ) -> None:
        self.k1 = _number("k1", k1, "a number from 0", math.inf)
        self.b = _number("b", b, "a number from 0 to 1", 1)
        self.delta = _number("delta", delta, "a number above 0", math.inf, above=True)
        choice("method", method, METHODS)
        if method in _LIFTED and not self.k1:
            raise MetricError(f"k1={k1!r}: {method} divides by it; k1 is above 0 there")
        self.method = method
        self.stopwords = _stopwords(stopwords)
        self.stemmer = _stemmer(stemmer)
        self._ids, texts = searched_texts(corpus)
        words = self._words(texts, return_ids=True)
        del texts
        self._index = None
        if words.vocab:  # bm25s cannot index nothing
            self._index = _bm25s().BM25(k1=self.k1, b=self.b, delta=self.delta, method=method, dtype="float64")
            self._index.index(words, show_progress=False)

    @property
    def n_docs(self) -> int:
        return len(self._ids)

    def __repr__(self) -> str:
        shown = ("k1", "b", "method", *(("delta",) if self.method in _LIFTED else ()), "stopwords", "stemmer")
        options = {name: getattr(self, name) for name in shown}
        if isinstance(self.stopwords, list):
            options["stopwords"] = f"{counted(len(self.stopwords), 'word')} of your own"
        told = ", ".join(f"{name}={value!r}" for name, value in options.items())
        return f"BM25({counted(self.n_docs, 'document')}, {told})"

    def search(self, queries: Sequence[str], limit: int = 100) -> list[Hits]:
        """The best documents of every query.

        Args:
            queries: a list of texts.
            limit: how many documents each finds at most, from 1.

        Returns:
            For each query a list of (doc_id, score), best first; empty where the corpus has none of its words.

        Raises:
            DataError: for one text instead of a list, and for what is no text.
            MetricError: for a limit that is no whole number from 1.
        """
        texts, limit = query_texts(queries), checked_cutoff(limit, "limit")
        if self._index is None:
            return [[] for _ in texts]
        return [self._hits(words, limit) for words in self._words(texts, return_ids=False)]

    def _hits(self, words: list[str], limit: int) -> Hits:
        index: Any = self._index
        known = [word for word in words if word and word in index.vocab_dict]  # bm25s may add "", without postings
        if not known:
            return []
        scores = index.get_scores(known)
        missed = 0.0  # what bm25l and bm25+ give a document for words that it lacks
        if index.nonoccurrence_array is not None:
            missed = index.nonoccurrence_array[[index.vocab_dict[word] for word in known]].sum()
        return best_hits(self._ids, scores, np.flatnonzero(scores > missed), limit)

    def _words(self, texts: list[str], *, return_ids: bool) -> Any:
        """The words of every text, as bm25s finds them; with `return_ids` as numbers with their vocabulary."""
        stemmer = None  # a new one each time, as one must not be used by two threads
        if self.stemmer is not None:
            stemmer = _pystemmer().Stemmer(self.stemmer)
        return _bm25s().tokenize(
            texts, stopwords=self.stopwords, stemmer=stemmer, return_ids=return_ids, show_progress=False
        )

    def save(self, folder: str | PathLike[str]) -> None:
        """Write index, ids and options into a folder, which is made where it is absent.

        An index that stands there is replaced once the new one is complete: whatever happens, `load` gives one of them.

        Raises:
            DataError: if the path is a file.
        """
        options = {name: getattr(self, name) for name in _OPTIONS}
        save_index(Path(folder), _KIND, options | {"words": self._index is not None}, self._write)

    def _write(self, folder: Path) -> None:
        pl.DataFrame({"doc_id": pl.Series(self._ids, dtype=pl.String)}).write_parquet(folder / _IDS)
        if self._index is not None:
            self._index.save(folder / _INDEX)

    @classmethod
    def load(cls, folder: str | PathLike[str]) -> Self:
        """The index that `save` wrote; its results are equal.

        Raises:
            ExtraError: without the extra.
            FileNotFoundError: for a path where nothing is.
            DataError: for a folder without such an index, or with a damaged one.
        """
        return load_index(Path(folder), _KIND, partial(cls._read, cls.__new__(cls)))

    def _read(self, files: Path, options: dict[str, Any]) -> Self:
        bm25s = _bm25s()
        for name in _OPTIONS:
            setattr(self, name, options[name])
        _stemmer(self.stemmer)
        self._ids = pl.read_parquet(files / _IDS)["doc_id"].to_list()
        self._index = bm25s.BM25.load(files / _INDEX) if options["words"] else None
        return self


def _bm25s() -> Any:
    try:
        with warnings.catch_warnings():  # in a notebook it asks tqdm for bars of widgets, and shows none
            warnings.filterwarnings("ignore", message="IProgress not found")
            import bm25s
    except ImportError as error:
        raise _missing("bm25s") from error
    return bm25s


def _pystemmer() -> Any:
    try:
        import Stemmer
    except ImportError as error:
        raise _missing("PyStemmer") from error
    return Stemmer


def _missing(package: str) -> ExtraError:
    return ExtraError(f"BM25 needs {package}, which is not installed: pip install 'rankframe[bm25]'")


def _number(name: str, value: object, meaning: str, top: float, *, above: bool = False) -> float:
    """A finite number from 0 (or above it) to `top`."""
    if isinstance(value, Real) and not isinstance(value, bool):
        number = float(value)
        if math.isfinite(number) and (number > 0 if above else number >= 0) and number <= top:
            return number
    raise MetricError(f"{name}={value!r}: {name} is {meaning}")


def _stopwords(stopwords: str | Sequence[str] | None) -> str | list[str] | None:
    """A language that bm25s knows, or words in lower case, as those of the texts are."""
    if stopwords is None:
        return None
    if isinstance(stopwords, str):
        bm25s = _bm25s()
        try:
            bm25s.tokenize([], stopwords=stopwords, show_progress=False)
        except ValueError as error:
            lists = [name for name in vars(bm25s.stopwords) if name.startswith("STOPWORDS_")]
            valid = sorted(name.removeprefix("STOPWORDS_").lower() for name in lists)
            raise DataError(
                f"stopwords={stopwords!r}: {nearest(stopwords, valid)}; or a list of words, or None"
            ) from error
        return stopwords
    if not isinstance(stopwords, (list, tuple, set, frozenset)) or not all(isinstance(w, str) for w in stopwords):
        raise DataError(f"stopwords={stopwords!r:.80}: expected the name of a language, a list of words, or None")
    return sorted({word.lower() for word in stopwords})


def _stemmer(stemmer: str | None) -> str | None:
    """A language that Snowball knows."""
    if stemmer is None:
        return None
    library = _pystemmer()
    try:
        library.Stemmer(stemmer)
    except (KeyError, AttributeError, TypeError) as error:
        raise DataError(f"stemmer={stemmer!r}: {nearest(str(stemmer), library.algorithms())}; or None") from error
    return stemmer
