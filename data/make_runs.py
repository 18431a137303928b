"""Write the three runs of the handbook set: word BM25, character n-gram TF-IDF, and stored dense vectors.

Usage: ``python data/make_runs.py`` (needs rankframe with the extra bm25). The output is deterministic. The vectors are
those that ``make_vectors.py`` wrote.
"""

import re
from collections import Counter
from pathlib import Path

import bm25s
import numpy as np
import numpy.typing as npt
import polars as pl
import Stemmer

import rankframe as rf

HANDBOOK = Path(__file__).resolve().parent / "handbook"
DEPTH = 20

Scores = npt.NDArray[np.float64]


def cosines(queries: Scores, docs: Scores, decimals: int) -> Scores:
    """Compare every query with every document.

    Rounded, so that the last bits of a matrix product cannot differ between machines.
    """

    def unit(rows: Scores) -> Scores:
        norm = np.linalg.norm(rows, axis=1, keepdims=True)
        return np.asarray(np.divide(rows, norm, out=np.zeros_like(rows), where=norm > 0))

    return np.asarray(np.round(unit(queries) @ unit(docs).T, decimals))


def bm25_scores(docs: list[str], queries: list[str]) -> Scores:
    """Score by BM25 (k1=1.5, b=0.75) over stemmed words without English stopwords."""
    stemmer = Stemmer.Stemmer("english")

    def words(texts: list[str]) -> list[list[str]]:
        tokens: list[list[str]] = bm25s.tokenize(
            texts, stopwords="en", stemmer=stemmer, return_ids=False, show_progress=False
        )
        return tokens

    index = bm25s.BM25(k1=1.5, b=0.75, dtype="float64")
    index.index(words(docs), show_progress=False)
    return np.stack([index.get_scores(query) for query in words(queries)]).astype(np.float64)


def char_ngrams(text: str) -> Counter[str]:
    """Count the character 3- to 5-grams inside each word, padded by one blank on both sides."""
    padded = [f" {word} " for word in re.findall(r"\w+", text.lower())]
    return Counter(word[i : i + n] for word in padded for n in (3, 4, 5) for i in range(len(word) - n + 1))


def tfidf_scores(docs: list[str], queries: list[str]) -> Scores:
    """Score by the cosine of TF-IDF vectors with smoothed inverse document frequency."""
    counts = [char_ngrams(doc) for doc in docs]
    column = {gram: i for i, gram in enumerate(sorted(set().union(*counts)))}

    def vectors(bags: list[Counter[str]]) -> Scores:
        matrix = np.zeros((len(bags), len(column)))
        for row, bag in enumerate(bags):
            for gram, count in bag.items():
                if gram in column:
                    matrix[row, column[gram]] = count
        return matrix

    doc_tf, query_tf = vectors(counts), vectors([char_ngrams(query) for query in queries])
    idf = np.log((1 + len(docs)) / (1 + np.count_nonzero(doc_tf, axis=0))) + 1
    return cosines(query_tf * idf, doc_tf * idf, decimals=12)


def stored_vectors(name: str, ids: list[str]) -> Scores:
    """Read the vectors of these ids, in their order."""
    id_column, vector_column = pl.read_parquet(HANDBOOK / "vectors" / f"{name}.parquet").get_columns()
    vectors = dict(zip(id_column, vector_column.to_numpy().astype(np.float64), strict=True))
    return np.stack([vectors[key] for key in ids])


def dense_scores(doc_ids: list[str], query_ids: list[str]) -> Scores:
    """Score by the cosine of the stored vectors."""
    return cosines(stored_vectors("queries", query_ids), stored_vectors("corpus", doc_ids), decimals=6)


def write_run(tag: str, query_ids: list[str], doc_ids: list[str], scores: Scores) -> None:
    """Write the best DEPTH documents with a positive score, ties by document id descending."""
    lines = []
    for query_id, row in zip(query_ids, scores.tolist(), strict=True):
        hits = sorted(zip(row, doc_ids, strict=True), reverse=True)[:DEPTH]
        for rank, (score, doc_id) in enumerate(hits, start=1):
            if score > 0:
                lines.append(f"{query_id} Q0 {doc_id} {rank} {score!r} {tag}\n")
    path = HANDBOOK / "runs" / f"{tag}.trec"
    path.parent.mkdir(exist_ok=True)
    path.write_text("".join(lines), encoding="utf-8", newline="\n")


def main() -> None:
    """Score every query with all three systems and write their runs."""
    corpus, queries = rf.read_corpus(HANDBOOK), rf.read_queries(HANDBOOK)
    docs, texts = (corpus["title"] + " " + corpus["text"]).to_list(), queries["text"].to_list()
    doc_ids, query_ids = corpus["doc_id"].to_list(), queries["query_id"].to_list()
    write_run("bm25", query_ids, doc_ids, bm25_scores(docs, texts))
    write_run("tfidf", query_ids, doc_ids, tfidf_scores(docs, texts))
    write_run("dense", query_ids, doc_ids, dense_scores(doc_ids, query_ids))


if __name__ == "__main__":
    main()
