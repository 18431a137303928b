"""Runs larger than memory, written file by file: any row follows from its number, so no order of rows needs the others.

    python -m tests.benchmarks.large FOLDER ROWS

A run is `grouped` (by query, score descending, tied documents in no order) or `shuffled` (as many rows as there are
queries, one after another, hold a row of each query, in an order without memory). Both have the same rows.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from math import isqrt
from pathlib import Path
from shutil import rmtree
from typing import Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from .data import FIRST_ID, TOP_SCORE, Integers, Workload, sparse_slots

Layout = Literal["grouped", "shuffled"]

DEPTH = 1_000
JUDGED = 1.07
NOT_IN_THE_RUN = 3
"""So many judged queries have no rows."""

FIRST_DOCUMENT = 10_000_000  # all ids have eight digits up to 100M rows
TIED_TOGETHER = 4  # about half of the blocks of so many places have one score
FILE_ROWS = 5_000_000
_BLOCK = 200_000  # rows made at once, which fit the cache
_ROUNDS = 3

_Words = NDArray[np.uint64]


@dataclass(frozen=True)
class Large:
    """A run of many rows and its judgments, the same for a seed."""

    rows: int
    seed: int = 0
    depth: int = DEPTH
    file_rows: int = FILE_ROWS

    def __post_init__(self) -> None:
        if self.rows % self.depth or self.file_rows % self.depth or self.rows <= 0:
            raise ValueError(
                f"rows and rows of a file are multiples of {self.depth}, got {self.rows}, {self.file_rows}"
            )

    @property
    def queries(self) -> int:
        """How many queries the run has."""
        return self.rows // self.depth

    @cached_property
    def workload(self) -> Workload:
        return Workload("XL", self.queries, self.depth, JUDGED)

    def run(self, folder: Path, layout: Layout) -> Path:
        """The folder of the run's Parquet files inside of `folder`; it is written where it is not there."""
        name = folder / f"{layout}-{self.rows}-seed{self.seed}"
        if not name.exists():
            unfinished = name.with_name(f"{name.name}.unfinished")
            rmtree(unfinished, ignore_errors=True)
            unfinished.mkdir(parents=True)
            for number, start in enumerate(range(0, self.rows, self.file_rows)):
                frame = self.frame(start, min(start + self.file_rows, self.rows), layout)
                frame.write_parquet(unfinished / f"part-{number:03}.parquet")
            unfinished.rename(name)
        return name

    def qrels(self, folder: Path) -> Path:
        """The Parquet file of the judgments inside of `folder`; it is written where it is not there."""
        name = folder / f"qrels-{self.rows}-seed{self.seed}.parquet"
        folder.mkdir(parents=True, exist_ok=True)
        self.judgments().write_parquet(name)
        return name

    def frame(self, start: int, stop: int, layout: Layout) -> pl.DataFrame:
        """The rows from one place in the files to another: query_id, doc_id String, score Float64."""
        blocks = (np.arange(at, min(at + _BLOCK, stop)) for at in range(start, stop, _BLOCK))
        return pl.concat(self._rows(places, layout) for places in blocks)

    def judgments(self) -> pl.DataFrame:
        """query_id, doc_id String, relevance Float64: a few documents of each query and of some that the run misses."""
        query, slot = sparse_slots(self.workload, np.random.default_rng((self.seed, 1)))
        missed = np.arange(self.queries, self.queries + NOT_IN_THE_RUN)
        query, slot = np.append(query, missed), np.append(slot, np.zeros_like(missed))
        columns = [
            self._query_ids[query],
            _doc_ids(self._documents(query, slot)),
            pl.repeat(1.0, len(query), eager=True),
        ]
        return pl.DataFrame(columns, schema=["query_id", "doc_id", "relevance"]).sort("query_id", "doc_id")

    # A row by its number.

    def _rows(self, places: Integers, layout: Layout) -> pl.DataFrame:
        query, slot = np.divmod(places, self.depth) if layout == "grouped" else self._dealt(places)
        return pl.DataFrame([self._query_ids[query], _doc_ids(self._documents(query, slot)), self._scores(query, slot)])

    def _dealt(self, places: Integers) -> tuple[Integers, Integers]:
        """Query and slot at each place: every round deals one row of each query, in an order of its own."""
        number, turn = np.divmod(places, self.queries)
        query = permuted(turn, self.queries, number + self.seed * self.depth)
        return query, permuted(number, self.depth, query + self.seed * self.queries)

    def _documents(self, query: Integers, slot: Integers) -> Integers:
        """Distinct within a query: the modulus is prime."""
        offset, stride = self._progressions
        return (offset[query] + stride[query] * slot) % self._prime

    def _scores(self, query: Integers, slot: Integers) -> pl.Series:
        """Descending with the slot, in thousandths; many ties."""
        _, stride = self._progressions
        within = slot % TIED_TOGETHER
        tied = stride[query] >> (slot // TIED_TOGETHER % 16) & 1
        level = slot - within * tied
        step = TOP_SCORE // self.depth - 1
        below_top = level * step + (mixed(query * self.depth + level, self.seed) % np.uint64(step)).astype(np.int64)
        return pl.Series("score", (TOP_SCORE - below_top) / 1000)

    @cached_property
    def _prime(self) -> int:
        return self.workload.collection

    @cached_property
    def _progressions(self) -> tuple[Integers, Integers]:
        """Where the documents of each query start among all, and how far one is from the next."""
        rng = np.random.default_rng((self.seed, 0))
        size = self.queries + NOT_IN_THE_RUN
        return rng.integers(0, self._prime, size), rng.integers(1, self._prime, size)

    @cached_property
    def _query_ids(self) -> pl.Series:
        numbers = range(FIRST_ID, FIRST_ID + self.queries + NOT_IN_THE_RUN)
        return pl.Series("query_id", [f"q{number}" for number in numbers], dtype=pl.String)


def _doc_ids(numbers: Integers) -> pl.Series:
    return pl.select(pl.format("doc{}", pl.lit(pl.Series(numbers + FIRST_DOCUMENT))).alias("doc_id")).to_series()


# An order without memory.


def permuted(numbers: Integers, size: int, key: Integers | int) -> Integers:
    """Where each number below `size` goes under its key: a bijection for every key.

    A Feistel network over a rectangle that is a little larger than `size`; who lands outside walks on.
    """
    height = isqrt(size - 1) + 1
    width = -(-size // height)
    keys = np.broadcast_to(np.asarray(key, dtype=np.int64), numbers.shape)
    moved = _network(numbers, height, width, keys)
    outside = np.flatnonzero(moved >= size)
    while len(outside):
        moved[outside] = _network(moved[outside], height, width, keys[outside])
        outside = outside[moved[outside] >= size]
    return moved


def _network(numbers: Integers, height: int, width: int, keys: Integers) -> Integers:
    sides = list(np.divmod(numbers.astype(np.uint64), np.uint64(width)))
    sizes = (np.uint64(height), np.uint64(width))
    salted = keys.astype(np.uint64) << np.uint64(24)
    for number in range(_ROUNDS):
        for this, other in ((0, 1), (1, 0)):
            sides[this] = (sides[this] + mixed(sides[other] + salted, 2 * number + this)) % sizes[this]
    found: Integers = (sides[0] * sizes[1] + sides[1]).astype(np.int64)
    return found


def mixed(numbers: Integers | _Words, salt: int) -> _Words:
    """A number of 31 bits that looks random, for each number and salt (the finaliser of SplitMix64)."""
    words = numbers.astype(np.uint64)
    words += np.uint64((salt + 1) * 0x9E3779B97F4A7C15 % 2**64)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        words ^= words >> np.uint64(shift)
        words *= np.uint64(factor)
    return words >> np.uint64(33)


def _sizes(arguments: list[str]) -> Iterator[Path]:
    folder, *sizes = arguments
    for size in sizes:
        large = Large(int(size))
        yield large.qrels(Path(folder))
        yield from (large.run(Path(folder), layout) for layout in ("grouped", "shuffled"))


if __name__ == "__main__":
    for path in _sizes(sys.argv[1:]):
        print(path)
