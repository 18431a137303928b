"""Asking retrievers: what waiting for them, and one call of them, costs; and BM25 over many passages."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import polars as pl

import rankframe as rf

from . import peers
from .data import passages
from .rows import Row, in_turn, needed, told

LATENCY = 0.05  # seconds
SLOW_QUERIES = 1_000
CONCURRENCY = 16
QUERIES = 5_000
PASSAGES = 100_000


def queries(count: int) -> dict[str, str]:
    return {f"q{number}": f"query {number}" for number in range(count)}


def slow(query: str, limit: int) -> list[str]:
    time.sleep(LATENCY)
    return [f"{query} {rank}" for rank in range(limit)]


async def slow_coroutine(query: str, limit: int) -> list[str]:
    await asyncio.sleep(LATENCY)
    return [f"{query} {rank}" for rank in range(limit)]


def slow_retriever(rounds: int) -> Iterator[Row]:
    """A retriever of 50 ms a query, asked 16 queries at a time, against the wait alone."""
    asked = queries(SLOW_QUERIES)
    ideal = SLOW_QUERIES / CONCURRENCY * LATENCY
    for name, retriever in (("a function", slow), ("a coroutine function", slow_coroutine)):
        ask = partial(rf.retrieve, retriever, asked, limit=10, concurrency=CONCURRENCY)
        seconds = in_turn({name: ask}, rounds)[name]
        what = f"`retrieve`, {name} of {LATENCY * 1000:.0f} ms, {SLOW_QUERIES:,} queries, {CONCURRENCY} at a time"
        yield needed(what, "the wait alone", seconds, [ideal] * rounds, 1.2)


def cost_of_a_query(rounds: int) -> Iterator[Row]:
    """What one query costs beside the retriever's own time, one after another."""
    asked = queries(QUERIES)
    for depth in (10, 100):
        hits = [(f"d{rank}", 1.0 / rank) for rank in range(1, depth + 1)]

        def known(query: str, limit: int, hits: list[tuple[str, float]] = hits) -> list[tuple[str, float]]:
            return hits[:limit] if query else []

        seconds = in_turn({f"{depth} results": partial(rf.retrieve, known, asked)}, rounds)[f"{depth} results"]
        each = [second / QUERIES * 1e6 for second in seconds]
        what = f"`retrieve`, {depth} results a query, one after another"
        yield needed(what, "100 microseconds a query", each, [100.0] * rounds, 1.0, " us")


def bm25_at_scale(folder: Path) -> Iterator[Row]:
    """BM25 over generated passages: index and answers, in a process of its own, against bm25s alone and 2 GB."""
    corpus = passages(PASSAGES)
    corpus.write_parquet(folder / "passages.parquet")
    asked = corpus.head(SLOW_QUERIES).select(query_id="doc_id", text=pl.col("text").str.slice(0, 40))
    asked.write_parquet(folder / "asked.parquet")
    ours, theirs = (_measured(side, folder) for side in ("ours", "theirs"))
    told(f"  BM25: {ours} / {theirs} (seconds, MiB)")
    what = f"BM25, {PASSAGES:,} passages, {SLOW_QUERIES:,} queries"
    yield needed(what, "bm25s alone", [ours[0]], [theirs[0]])
    yield needed(f"{what}, peak memory", "2 GB", [ours[1]], [2e9 / 2**20], 1.0, " MiB")


def _measured(side: str, folder: Path) -> tuple[float, float]:
    seconds, mebibytes = peers.output([sys.executable, "-m", __name__, side, str(folder)]).split()[-2:]
    return float(seconds), float(mebibytes)


def _side(side: str, folder: Path) -> None:
    """Index and answer, and print seconds and the peak of memory in MiB."""
    started = time.perf_counter()
    if side == "ours":
        index = rf.retrievers.BM25(folder / "passages.parquet")
        rf.retrieve(index, folder / "asked.parquet", limit=10)
    else:
        import bm25s
        import Stemmer

        stemmer = Stemmer.Stemmer("english")
        tokenize = partial(bm25s.tokenize, stopwords="en", stemmer=stemmer, show_progress=False)
        peer = bm25s.BM25(dtype="float64")
        peer.index(tokenize(pl.read_parquet(folder / "passages.parquet")["text"].to_list()), show_progress=False)
        texts = pl.read_parquet(folder / "asked.parquet")["text"].to_list()
        peer.retrieve(tokenize(texts), k=10, show_progress=False)
    seconds = time.perf_counter() - started
    print(seconds, peers.peak_memory())


if __name__ == "__main__":
    _side(sys.argv[1], Path(sys.argv[2]))
