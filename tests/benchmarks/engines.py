"""Other engines that find the ranks of a run: Spark's DataFrames and one SQL statement in DuckDB."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

from .large import Large, Layout
from .rows import Aim, Row, needed
from .sides import Side, agree, in_processes, seconds_of

ROWS = 10_000_000
CORES = 2
PLAIN = "a window and joins in plain Polars"
OURS = "rankframe.evaluate"
_AIM = Aim(10, at_most=True, hoped=5)


def engines(data: Path, folder: Path, rounds: int, rows: int = ROWS) -> Iterator[Row]:
    """Both layouts on both engines, beside the same plan in plain Polars and rankframe; the results are equal."""
    large = Large(rows)
    for layout in ("grouped", "shuffled"):
        yield from _engines(large, layout, data, folder, rounds)


def _engines(large: Large, layout: Layout, data: Path, folder: Path, rounds: int) -> Iterator[Row]:
    files = {"run": large.run(data, layout), "qrels": large.qrels(data)}
    there = {"rankframe": True, "plain_polars": True, "spark": has_spark(), "duckdb": find_spec("duckdb") is not None}
    scores = {name: folder / f"{name}-{layout}.parquet" for name, found in there.items() if found}
    sides = {name: Side(name, {**files, "scores": path}) for name, path in scores.items()}
    found = in_processes(sides, rounds)
    for path in scores.values():
        agree(scores["rankframe"], path)
    seconds = {name: seconds_of(measured) for name, measured in found.items()}
    name = f"K ({large.queries:,} x {large.depth:,}), Parquet, {layout}"
    on_spark, in_sql = f"{name}, Spark local[{CORES}]", f"{name}, one SQL statement in DuckDB"
    yield needed(f"{name}, {PLAIN}", OURS, seconds["plain_polars"], seconds["rankframe"])
    if there["spark"]:
        for call, which in enumerate(("first call", "warm")):
            theirs = seconds_of(found["spark"], call)
            yield needed(f"{on_spark}, {which}", PLAIN, theirs, seconds["plain_polars"], _AIM.bound, "", _AIM.hoped)
            yield needed(f"{on_spark}, {which}", OURS, theirs, seconds["rankframe"])
    else:
        yield Row(on_spark, PLAIN, aim=_AIM)
    if there["duckdb"]:
        yield needed(in_sql, PLAIN, seconds["duckdb"], seconds["plain_polars"])
    else:
        yield Row(in_sql, PLAIN)


def has_spark() -> bool:
    """Whether a session can be started: PySpark and Java are there."""
    java = "JAVA_HOME" in os.environ or shutil.which("java") is not None
    return java and find_spec("pyspark") is not None
