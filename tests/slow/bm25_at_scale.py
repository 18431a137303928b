"""A process that searches 100,000 passages by BM25 and tells what it took; `test_bm25_at_scale` starts it."""

from __future__ import annotations

import json
import sys
import time

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rankframe.retrievers.bm25 import BM25
from tests.benchmarks.peers import peak_memory

PASSAGES, QUERIES, WORDS = 100_000, 1_000, 200_000


def passages() -> tuple[pl.DataFrame, list[str]]:
    """Passages of 60 to 80 words and queries of 4 to 10, drawn by Zipf's law (with Mandelbrot's shift) from 200,000."""
    random = np.random.default_rng(0)
    letters = random.choice(list("etaoinshrdlucmfwypvbgkqjxz"), p=_zipf(26, 1), size=(WORDS, 16))
    lengths = np.clip(random.poisson(6, WORDS) + 2, 2, 16)
    words = np.array(["".join(row[:length]) for row, length in zip(letters, lengths, strict=True)], dtype=object)
    share = _zipf(WORDS, 2.7)

    def texts(n: int, shortest: int, longest: int) -> list[str]:
        sizes = random.integers(shortest, longest + 1, n)
        drawn = words[random.choice(WORDS, p=share, size=sizes.sum())]
        return [" ".join(part) for part in np.split(drawn, np.cumsum(sizes)[:-1])]

    ids = [f"d{number}" for number in range(PASSAGES)]
    return pl.DataFrame({"doc_id": ids, "text": texts(PASSAGES, 60, 80)}), texts(QUERIES, 4, 10)


def _zipf(n: int, shift: float) -> NDArray[np.float64]:
    weights = 1 / (np.arange(n) + shift)
    shares: NDArray[np.float64] = weights / weights.sum()
    return shares


def main() -> None:
    """Index, search, and write the figures as JSON."""
    corpus, queries = passages()
    started = time.perf_counter()
    index = BM25(corpus)
    indexed = time.perf_counter()
    found = index.search(queries, limit=100)
    searched = time.perf_counter()
    peak = peak_memory() * 2**20
    figures = {
        "index_s": indexed - started,
        "search_s": searched - indexed,
        "peak_bytes": peak,
        "docs": index.n_docs,
        "found": [len(hits) for hits in found],
        "sorted": all(hits == sorted(hits, key=lambda hit: (hit[1], hit[0]), reverse=True) for hits in found),
    }
    sys.stdout.write(json.dumps(figures))


if __name__ == "__main__":
    main()
