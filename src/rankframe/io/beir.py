"""BEIR folders: a corpus, queries and judgments that belong together."""

from __future__ import annotations

from dataclasses import dataclass
from os import PathLike
from pathlib import Path

import polars as pl

from rankframe.io.files import existing
from rankframe.io.readers import read_corpus, read_qrels, read_queries
from rankframe.io.writers import write_texts_and_qrels


@dataclass(frozen=True, slots=True, eq=False)
class Beir:
    """A test collection: three frames that share their ids.

    corpus: doc_id, text String, title String where there is one, metadata.
    queries: query_id, text String, metadata. qrels: query_id, doc_id String, relevance Float64, metadata.
    """

    corpus: pl.DataFrame
    queries: pl.DataFrame
    qrels: pl.DataFrame

    def __repr__(self) -> str:
        judged = self.qrels["query_id"].n_unique()
        return (
            f"Beir({self.corpus.height:,} documents, {self.queries.height:,} queries, "
            f"{self.qrels.height:,} judgments of {judged:,} queries)"
        )


def read_beir(
    folder: str | PathLike[str], *, split: str | None = None, qrels: str | PathLike[str] | None = None
) -> Beir:
    """A BEIR folder as frames: `corpus.jsonl`, `queries.jsonl` and judgments, or the Parquet layout of the hub.

    Args:
        folder: where the files lie.
        split: which judgments ("test", "dev", "train"); without it the first found of `qrels.tsv`,
            `qrels/test.tsv`, `qrels/dev.tsv`, `qrels/train.tsv`, `qrels.jsonl`.
        qrels: the file of judgments, relative to the folder, instead.

    Returns:
        A `Beir` with all metadata columns; queries of every split are kept.

    Raises:
        FileNotFoundError: for a file that is missing, naming what was looked for.
        DataError: for content that cannot be read as it is.
    """
    at = existing(folder)
    judged = at if qrels is None else existing(at / Path(qrels))
    return Beir(read_corpus(at), read_queries(at), read_qrels(judged, split=split))


def write_beir(
    folder: str | PathLike[str], corpus: object, queries: object, qrels: object, *, split: str | None = None
) -> None:
    """Write a BEIR folder: `corpus.jsonl`, `queries.jsonl`, and `qrels.tsv` (or `qrels/<split>.tsv`).

    Each argument is whatever the reader of its kind takes. The folder is made where it is absent.

    Raises:
        DataError: for what the files cannot hold, such as an id with a tab. No file is written then.
    """
    name = "qrels.tsv" if split is None else f"qrels/{split}.tsv"
    write_texts_and_qrels(Path(folder), corpus, queries, qrels, name)


def full_text(corpus: pl.DataFrame) -> pl.Expr:
    """What a document says: its title and text, joined by one blank where it has both; empty where it has neither.

    >>> corpus = pl.DataFrame({"title": ["Kites", None, "Owls"], "text": ["A red kite.", "Bats.", None]})
    >>> corpus.select(full_text(corpus)).to_series().to_list()
    ['Kites A red kite.', 'Bats.', 'Owls']
    """
    parts = [pl.when(pl.col(name) != "").then(name) for name in ("title", "text") if name in corpus.columns]
    return pl.concat_str(parts, separator=" ", ignore_nulls=True).alias("text")
