"""Beyond memory: runs of Parquet files larger than memory against the physical limit, and many runs at once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from .large import Large
from .rows import Row, needed
from .sides import Side, agree, in_processes, peaks_of, seconds_of

ROWS = 100_000_000
ROWS_OF_EACH = 7_000_000
RUNS = 20
ADDRESS_SPACE = 4 * 2**30
MEGABYTES = 700


def beyond(data: Path, folder: Path, rounds: int, rows: int = ROWS) -> Iterator[Row]:
    """A large run grouped by query, and the same rows shuffled with little address space."""
    large = Large(rows)
    qrels = large.qrels(data)
    grouped, shuffled = large.run(data, "grouped"), large.run(data, "shuffled")
    scores = {name: folder / f"{name}.parquet" for name in ("grouped", "shuffled")}
    sides = {
        "limit": Side("limit", {"run": grouped}),
        "grouped": Side("rankframe", {"run": grouped, "qrels": qrels, "scores": scores["grouped"]}),
        "shuffled": Side(
            "rankframe", {"run": shuffled, "qrels": qrels, "scores": scores["shuffled"]}, address_space=ADDRESS_SPACE
        ),
    }
    found = in_processes(sides, rounds)
    agree(scores["grouped"], scores["shuffled"])
    seconds = {name: seconds_of(measured) for name, measured in found.items()}
    peaks = {name: peaks_of(measured) for name, measured in found.items()}
    most = [MEGABYTES * 1e6 / 2**20] * rounds
    name = f"X ({large.queries:,} x {large.depth:,}), Parquet"
    yield needed(
        f"{name}, grouped by query", "read + hash + top 100 of each query", seconds["grouped"], seconds["limit"], 2
    )
    yield needed(f"{name}, grouped by query, peak memory", f"{MEGABYTES} MB", peaks["grouped"], most, 1, " MiB")
    less = f"{name}, shuffled, in {ADDRESS_SPACE / 2**30:g} GiB of address space"
    yield needed(less, "grouped by query, without a limit", seconds["shuffled"], seconds["grouped"], 3)
    yield needed(f"{less}, peak memory", f"{MEGABYTES} MB", peaks["shuffled"], most, None, " MiB")


def many_runs(data: Path, rounds: int, rows: int = ROWS_OF_EACH, runs: int = RUNS) -> Iterator[Row]:
    """Runs that share their judgments, from Parquet files."""
    large = Large(rows)
    arguments = {"run": large.run(data, "grouped"), "qrels": large.qrels(data), "count": runs}
    found = in_processes({side: Side(side, arguments) for side in ("together", "singly")}, rounds)
    name = f"{runs} runs x {rows:,} rows, Parquet"
    seconds = {side: seconds_of(measured) for side, measured in found.items()}
    yield needed(name, f"{runs} evaluations", seconds["together"], seconds["singly"], 0.85)
