"""One side of a row in a process of its own: the seconds of the call, imports not counted, and the peak of memory.

    python -m tests.benchmarks.sides SIDE ARGUMENTS

It prints JSON, a measurement for each call that is timed. Imports stand in the functions, so that a process loads what
its side uses.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from importlib import import_module
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from . import peers
from .rows import told

if TYPE_CHECKING:
    import polars as pl

    from rankframe import Report

MEMORY_LIMIT = "512MB"
CONVENTION = "trec_eval"
TOLERANCE = 1e-12

_Call = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class Measurement:
    """One call: its seconds, the peak of its process in MiB, and the means that it found, where it finds any."""

    seconds: float
    peak: float
    means: peers.Means


@dataclass(frozen=True, slots=True)
class Side:
    """What runs in a process: a function of this module by its name, and its arguments."""

    name: str
    arguments: Mapping[str, object]
    address_space: int | None = None

    def measured(self) -> list[Measurement]:
        """Run it; a measurement for each call."""
        arguments = json.dumps({"address_space": self.address_space, **self.arguments}, default=str)
        command = [sys.executable, "-m", __name__, self.name, arguments]
        done = subprocess.run(command, cwd=peers.ROOT, check=False, capture_output=True, text=True)
        if done.returncode:
            raise AssertionError(f"{self.name} {arguments} ended with {done.returncode}: {done.stderr[-2000:]}")
        return [Measurement(**found) for found in json.loads(done.stdout.splitlines()[-1])]


def in_processes(sides: Mapping[str, Side], rounds: int) -> dict[str, list[list[Measurement]]]:
    """The measurements of every side, in turn, round by round; every second round goes backwards."""
    found: dict[str, list[list[Measurement]]] = {name: [] for name in sides}
    for number in range(rounds):
        for name in list(sides) if number % 2 == 0 else reversed(list(sides)):
            found[name].append(sides[name].measured())
    for name, measured in found.items():
        seconds, peaks = median(seconds_of(measured)), median(peaks_of(measured))
        told(f"  {name} {seconds:.4g} s, {peaks:.0f} MiB")
    return found


def seconds_of(measured: Iterable[list[Measurement]], call: int = 0) -> list[float]:
    """Of one call in each round."""
    return [calls[call].seconds for calls in measured]


def peaks_of(measured: Iterable[list[Measurement]], call: int = 0) -> list[float]:
    """Of the process after one call in each round."""
    return [calls[call].peak for calls in measured]


def agree(first: Path, second: Path) -> None:
    """Two files of scores hold the same queries, counts and scores; names of runs aside."""
    import polars as pl
    from polars.testing import assert_frame_equal

    ours, theirs = (pl.read_parquet(path).drop("run_id") for path in (first, second))
    assert_frame_equal(ours, theirs, rel_tol=0, abs_tol=TOLERANCE)


# What runs in a process.


def rankframe(run: str, qrels: str, scores: str | None = None) -> list[Measurement]:
    """`rankframe.evaluate` on a folder of Parquet files, out of core; its scores go to a file where asked."""
    _warm()
    return [_timed(lambda: _evaluated(run, qrels), scores)]


def together(run: str, qrels: str, count: int) -> list[Measurement]:
    """One evaluation of so many runs."""
    _warm()
    return [_timed(lambda: _evaluated({f"run{number:02}": run for number in range(count)}, qrels))]


def singly(run: str, qrels: str, count: int) -> list[Measurement]:
    """So many evaluations of one run."""
    _warm()
    return [_timed(lambda: [_evaluated(run, qrels) for _ in range(count)])]


def limit(run: str) -> list[Measurement]:
    """Read, hash, the top 100 of each query."""
    from . import limit as physical

    physical._top(_one_row())
    return [_timed(lambda: physical.limit(run))]


def pytrec_eval(run: str, qrels: str) -> list[Measurement]:
    """pytrec_eval from the same files."""
    import polars as pl

    run_dict, qrels_dict = peers.run_dict(_one_row()), peers.qrels_dict(_one_row().select(pl.all(), relevance=1))
    peers.pytrec_eval_dicts(run_dict, qrels_dict)
    return [_timed(lambda: peers.pytrec_eval_parquet(run, qrels))]


def plain_polars(run: str, qrels: str, scores: str | None = None) -> list[Measurement]:
    """The same window and joins as a plan of Polars, nothing checked, then `rankframe.evaluate_ranking`."""
    import polars as pl

    import rankframe as rf

    _warm()
    query = "query_id"

    def call() -> Report:
        rows = pl.scan_parquet(f"{run}/*.parquet").select(query, "doc_id", "score")
        placed = rows.sort(query, "score", "doc_id", descending=[False, True, True]).with_columns(
            rank=pl.int_range(1, pl.len() + 1).over(query)
        )
        judged = (
            pl.scan_parquet(qrels)
            .join(placed.drop("score"), on=[query, "doc_id"], how="left")
            .join(rows.group_by(query).agg(n_ret=pl.len()), on=query, how="left")
            .with_columns(pl.col("n_ret").fill_null(0))
        )
        report: Report = rf.evaluate_ranking(judged, metrics=peers.METRICS, convention=CONVENTION)
        return report

    return [_timed(call, scores)]


def spark(run: str, qrels: str, cores: int = 2, scores: str | None = None) -> list[Measurement]:
    """`rankframe.spark.evaluate` in a session that is already there: the first call and one that finds it warm."""
    evaluate: _Call = import_module("rankframe.spark").evaluate
    _warm()
    builder: Any = import_module("pyspark.sql").SparkSession.builder.master(f"local[{cores}]")
    for name, value in _SESSION.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    try:
        frames = session.read.parquet(run), session.read.parquet(qrels)
        call = lambda: evaluate(*frames, peers.METRICS, convention=CONVENTION)
        return [_timed(call, scores), _timed(call)]
    finally:
        session.stop()


_SESSION = {
    "spark.ui.enabled": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.memory": "4g",
    "spark.sql.shuffle.partitions": "8",
    "spark.log.level": "ERROR",
}


def duckdb(run: str, qrels: str, scores: str | None = None) -> list[Measurement]:
    """The judged ranking by one SQL statement in DuckDB, then `rankframe.evaluate_ranking`."""
    import rankframe as rf

    judged_ranking: Any = import_module("rankframe.sql").judged_ranking
    _warm()
    connection = import_module("duckdb").connect()
    connection.execute("SET enable_progress_bar = false")
    connection.sql("SELECT 1 AS one").pl()
    statement = judged_ranking(run=f"read_parquet('{run}/*.parquet')", qrels=f"read_parquet('{qrels}')")

    def call() -> Report:
        judged = connection.sql(statement).pl()
        report: Report = rf.evaluate_ranking(judged, metrics=peers.METRICS, convention=CONVENTION)
        return report

    return [_timed(call, scores)]


_SIDES = ("rankframe", "together", "singly", "limit", "pytrec_eval", "plain_polars", "spark", "duckdb")


def _evaluated(runs: object, qrels: str) -> Report:
    import rankframe as rf

    return rf.evaluate(runs, qrels, metrics=peers.METRICS, convention=CONVENTION, memory_limit=MEMORY_LIMIT)


def _warm() -> None:
    """What is imported in the first call is imported, and threads run."""
    import rankframe as rf

    rf.evaluate({"q": {"d": 1.0}}, {"q": {"d": 1}}, metrics=peers.METRICS)


def _one_row() -> pl.DataFrame:
    import polars as pl

    return pl.DataFrame({"query_id": ["q"], "doc_id": ["d"], "score": [1.0]})


def _timed(call: _Call, scores: str | None = None) -> Measurement:
    started = time.perf_counter()
    found = call()
    seconds, peak = time.perf_counter() - started, peers.peak_memory()
    if scores is not None:
        found.scores.write_parquet(scores)
    return Measurement(seconds, peak, _means(found))


def _means(found: object) -> peers.Means:
    if isinstance(found, dict):
        return found
    summary = getattr(found, "summary", None)
    if summary is None or summary["run_id"].n_unique() > 1:
        return {}
    return dict(zip(summary["metric"].to_list(), summary["value"].to_list(), strict=True))


def _main(name: str, text: str) -> None:
    side = {side: globals()[side] for side in _SIDES}[name]
    arguments = json.loads(text)
    if (most := arguments.pop("address_space", None)) is not None:
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (most, most))
    print(json.dumps([asdict(found) for found in side(**arguments)]))


if __name__ == "__main__":
    _main(*sys.argv[1:])
