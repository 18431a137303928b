"""Write the two lexical runs of the handbook set: word BM25 and character n-gram TF-IDF.

Usage: ``python data/make_runs.py`` (needs bm25s, PyStemmer and numpy). The output is deterministic.
"""

import json
import re
from collections import Counter
from pathlib import Path

import bm25s  # type: ignore[import-untyped]
import numpy as np
import numpy.typing as npt
import Stemmer  # type: ignore[import-not-found]

HANDBOOK = Path(__file__).resolve().parent / "handbook"
DEPTH = 20

Scores = npt.NDArray[np.float64]


def read_jsonl(path: Path) -> list[dict[str, str]]:
    """Read one JSON object per line."""
    with path.open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


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

    def unit(tf: Scores) -> Scores:
        weighted = tf * idf
        norm = np.linalg.norm(weighted, axis=1, keepdims=True)
        return np.asarray(np.divide(weighted, norm, out=np.zeros_like(weighted), where=norm > 0))

    # Rounded to 12 decimals so that the last bits of a matrix product cannot differ between machines.
    return np.asarray(np.round(unit(query_tf) @ unit(doc_tf).T, 12))


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
    """Score every query with both systems and write their runs."""
    corpus, queries = read_jsonl(HANDBOOK / "corpus.jsonl"), read_jsonl(HANDBOOK / "queries.jsonl")
    docs, texts = [f"{doc['title']} {doc['text']}" for doc in corpus], [query["text"] for query in queries]
    doc_ids, query_ids = [doc["_id"] for doc in corpus], [query["_id"] for query in queries]
    write_run("bm25", query_ids, doc_ids, bm25_scores(docs, texts))
    write_run("tfidf", query_ids, doc_ids, tfidf_scores(docs, texts))


if __name__ == "__main__":
    main()
