"""The retrievers at hand by their names, made from a BEIR folder."""

from __future__ import annotations

from os import PathLike
from pathlib import Path

from rankframe.errors import DataError
from rankframe.frames.checks import choice
from rankframe.io.files import existing
from rankframe.io.folders import find_texts

NAMES = ("bm25", "tfidf", "dense")


def named_retriever(name: str, folder: str | PathLike[str], *, vectors: str | PathLike[str] | None = None) -> object:
    """The retriever of this name over the corpus of a BEIR folder, with its usual options.

    Args:
        name: "bm25", "tfidf" or "dense".
        folder: where the corpus lies.
        vectors: for "dense", the folder with `corpus.parquet` (doc_id, vector) and `queries.parquet` (query_id,
            vector); `vectors` in the BEIR folder unless given.

    Raises:
        DataError: for another name, and for vectors that cannot be used.
        ExtraError: for "bm25" without its extra.
        FileNotFoundError: for a corpus or vectors that are not there.
    """
    choice("retriever", name, NAMES)
    at = existing(folder)
    if vectors is not None and name != "dense":
        raise DataError(f"vectors= goes with the retriever 'dense', not with {name!r}")
    if name == "dense":
        from rankframe.retrievers.dense import Dense

        there = at / "vectors" if vectors is None else Path(vectors)
        if lacking := [name for name in ("corpus.parquet", "queries.parquet") if not (there / name).is_file()]:
            raise FileNotFoundError(
                f"{there}: no {' and no '.join(lacking)}; dense needs corpus.parquet (doc_id, vector) and "
                f"queries.parquet (query_id, vector), in this folder or in the one that vectors= (--vectors) names"
            )
        return Dense(there / "corpus.parquet", queries=there / "queries.parquet")
    corpus = find_texts(at, "corpus")
    if name == "bm25":
        from rankframe.retrievers.bm25 import BM25

        return BM25(corpus)
    from rankframe.retrievers.tfidf import TfIdf

    return TfIdf(corpus)
