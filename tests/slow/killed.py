"""One long retrieval in a process of its own, which may be killed at any moment.

    python -m tests.slow.killed FOLDER CONCURRENCY [MOMENT]

Every query that is asked is a line of FOLDER/asked, the checkpoint is FOLDER/run.parquet, and what comes out in the end
FOLDER/found.parquet. At a MOMENT of HALTS the process stands still, says so by FOLDER/halted, and waits to be killed.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl

import rankframe as rf

NUMBER = 2_000
PAUSE = 0.002  # seconds that a search takes
HALTS = ("half written", "written", "in place")
"""While the Parquet file is written beside its place, before it is moved there, and before the journal is removed."""

QUERIES = {f"q{number}": f"text {number} é🦊" for number in range(NUMBER)}


def answer(text: str) -> list[tuple[str, float | None]]:
    """Up to ten results: with scores, distances, ties or none."""
    number = int(text.split()[1])
    scores: dict[int, Callable[[int], float | None]] = {
        0: lambda place: 1 / place,
        1: lambda place: place / 10,
        2: lambda place: float(place // 3),
        3: lambda _: None,
    }
    docs = [f"d{(number * 7 + place * 13) % 5_000}" for place in range(1, 1 + number % 11)]
    return [(doc, scores[number % 4](place)) for place, doc in enumerate(docs, 1)]


def halt_at(moment: str, folder: Path) -> None:
    """Stand still when the checkpoint gets there."""

    def halt(*_: object, **__: object) -> None:
        (folder / "halted").touch()
        time.sleep(60)

    replace: Any = Path.replace

    def half(_: pl.DataFrame, path: Path, **__: object) -> None:
        path.write_bytes(b"PAR1 and no more")
        halt()

    def move(self: Path, target: Path) -> Path:
        if moment == "in place":
            replace(self, target)
        halt()
        return target

    if moment == "half written":
        pl.DataFrame.write_parquet = half  # type: ignore[method-assign,assignment]  # in a process of its own
    else:
        Path.replace = move  # type: ignore[method-assign,assignment]


def main(folder: Path, concurrency: int, moment: str | None) -> None:
    """Ask for all queries, or for those that no process before this one did."""
    asked = os.open(folder / "asked", os.O_APPEND | os.O_CREAT | os.O_WRONLY)

    def search(query: str, query_id: str) -> list[tuple[str, float | None]]:
        os.write(asked, f"{query_id}\n".encode())
        time.sleep(PAUSE)
        return answer(query)

    if moment is not None:
        halt_at(moment, folder)
    found = rf.retrieve(search, QUERIES, checkpoint=folder / "run.parquet", concurrency=concurrency)
    found.write_parquet(folder / "found.parquet")


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3] if len(sys.argv) > 3 else None)
