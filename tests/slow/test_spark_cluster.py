"""On a cluster of Spark of which a worker is killed in the middle, every judged query has the scores of memory."""

from __future__ import annotations

import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import rankframe as rf
from tests.spark.shared import METRICS

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="finds the executor of a worker in /proc"),
]

LATEST = 240.0  # seconds for what must happen, on two busy cores
QUERIES, DEPTH, FILES = 2_000, 500, 12


def _until(happened: Callable[[], bool], process: subprocess.Popen[bytes], log: Path) -> None:
    """Wait for something that a process does."""
    ends = time.monotonic() + LATEST
    while not happened():
        assert process.poll() is None, log.read_text()[-5000:]
        assert time.monotonic() < ends, log.read_text()[-5000:]
        time.sleep(0.01)


@dataclass
class Worker:
    """A worker of Spark; its executor is a process of its own, which it starts."""

    process: subprocess.Popen[bytes]

    def executors(self) -> list[int]:
        """The ids of the executors that the worker started, and that still run."""
        found = []
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                _, _, rest = (folder / "stat").read_text().rpartition(")")
                command = (folder / "cmdline").read_bytes()
            except OSError:  # it has just ended
                continue
            if int(rest.split()[1]) == self.process.pid and b"CoarseGrainedExecutorBackend" in command:
                found.append(int(folder.name))
        return found

    def end_executors(self) -> None:
        """End those that outlive their worker."""
        for pid in self.executors():
            os.kill(pid, signal.SIGKILL)

    def kill(self) -> int:
        """Kill it and its executor at once; gives how many executors there were."""
        executors = self.executors()
        for pid in (self.process.pid, *executors):
            os.kill(pid, signal.SIGKILL)
        self.process.wait()
        return len(executors)


@dataclass
class Cluster:
    master: str
    workers: list[Worker]


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    """A master and two workers on loopback; all are gone at the end."""
    pyspark = pytest.importorskip("pyspark", reason="needs PySpark (extra spark)", exc_type=ImportError)
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        pytest.skip("needs Java, on which Spark runs")
    script = str(Path(pyspark.__file__).parent / "bin" / "spark-class")
    environment = {**os.environ, "SPARK_LOCAL_IP": "127.0.0.1", "SPARK_LOCAL_DIRS": str(tmp_path)}
    environment |= {"SPARK_SCALA_VERSION": "2.13", "PYSPARK_PYTHON": sys.executable}
    with ExitStack() as at_end:

        def start(name: str, *arguments: str) -> tuple[subprocess.Popen[bytes], Path]:
            log = tmp_path / f"{name}.log"
            output = at_end.enter_context(log.open("wb"))
            common = ("--host", "127.0.0.1", "--webui-port", "0")
            process = subprocess.Popen(
                [script, f"org.apache.spark.deploy.{name.partition(' ')[0]}", *arguments, *common],
                stdout=output,
                stderr=output,
                cwd=tmp_path,
                env=environment,
            )
            at_end.callback(process.wait)
            at_end.callback(process.kill)
            return process, log

        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            port = taken.getsockname()[1]
        master = f"spark://127.0.0.1:{port}"
        process, log = start("master.Master", "--port", str(port))
        _until(lambda: "New state: ALIVE" in log.read_text(), process, log)
        workers = []
        for number in (1, 2):
            folder = tmp_path / f"worker {number}"
            process, log = start(
                f"worker.Worker {number}", "-c", "1", "-m", "1g", "--work-dir", str(folder), "--port", "0", master
            )
            _until(lambda log=log: "Successfully registered" in log.read_text(), process, log)  # type: ignore[misc]
            workers.append(Worker(process))
            at_end.callback(workers[-1].end_executors)
        yield Cluster(master, workers)


def _written(folder: Path) -> tuple[pl.DataFrame, pl.DataFrame]:
    """A run and judgments, in files that each hold rows of all queries."""
    chance = random.Random(1)
    queries = [f"q{number}" for number in range(QUERIES)]
    run = pl.DataFrame(
        {
            "query_id": [query for query in queries[3:] for _ in range(DEPTH)],
            "doc_id": [f"d{doc}" for _ in queries[3:] for doc in chance.sample(range(2_000), DEPTH)],
            "score": [chance.randint(0, 300) / 10 for _ in range((QUERIES - 3) * DEPTH)],
        }
    ).sample(fraction=1.0, shuffle=True, seed=1)
    qrels = pl.DataFrame(
        [(query, f"d{doc}", chance.randint(0, 3)) for query in queries[:-2] for doc in chance.sample(range(2_000), 20)],
        schema=["query_id", "doc_id", "relevance"],
        orient="row",
    )
    for name, frame, parts in (("run", run, FILES), ("qrels", qrels, 2)):
        (folder / name).mkdir()
        for number in range(parts):
            frame.gather_every(parts, number).write_parquet(folder / name / f"{number}.parquet")
    return run, qrels


@pytest.mark.parametrize("what", ["scores", "evaluate"])
def test_a_worker_is_killed_in_the_middle_and_every_judged_query_has_its_scores(
    cluster: Cluster, tmp_path: Path, what: str
) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    run, qrels = _written(folder)
    log = tmp_path / "driver.log"
    with log.open("wb") as output:
        driver = subprocess.Popen(
            [sys.executable, "-m", "tests.spark.on_cluster", cluster.master, what, str(folder)],
            stdout=output,
            stderr=output,
            cwd=Path(__file__).parents[2],
            env={**os.environ, "SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable},
        )
    try:
        _until((folder / "middle").exists, driver, log)
        assert cluster.workers[0].kill() == 1
        assert not (folder / "ended").exists()  # so the kill came before the work was done
        assert driver.poll() is None
        assert driver.wait(LATEST) == 0, log.read_text()[-5000:]
    finally:
        driver.kill()
        driver.wait()
    assert (folder / "ended").read_text() == "1"  # of two executors
    found = pl.read_parquet(folder / "scores" / "*.parquet").sort("run_id", "query_id")
    expected = rf.evaluate(run, qrels, metrics=METRICS).scores
    assert found["query_id"].to_list() == sorted(qrels["query_id"].unique())
    assert_frame_equal(found, expected, abs_tol=1e-12)
