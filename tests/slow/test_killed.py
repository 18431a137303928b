"""A long retrieval that is killed at any moment resumes where it stopped, and ends as if nothing had happened."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl
import pytest

import rankframe as rf

from .killed import HALTS, NUMBER, QUERIES, answer

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs a signal that no process can catch"),
]

ROUNDS = 20
LATEST = 60.0  # seconds for what must happen


@dataclass
class Round:
    """Processes that ask for the same queries into the same checkpoint, one after another."""

    folder: Path
    concurrency: int
    kills: list[str] = field(default_factory=list)

    def asked(self) -> list[str]:
        """The queries that were asked so far, by all processes."""
        path = self.folder / "asked"
        return path.read_text().split() if path.exists() else []

    def begin(self, halt: str | None = None) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-W", "error", "-m", "tests.slow.killed", str(self.folder), str(self.concurrency)]
        return subprocess.Popen([*command, *([halt] if halt else [])], cwd=Path(__file__).parents[2])

    def kill(self, process: subprocess.Popen[bytes], moment: str) -> None:
        process.kill()
        if process.wait(LATEST) == -signal.SIGKILL:
            self.kills.append(f"{moment}, {len(self.asked())} asked")
        (self.folder / "halted").unlink(missing_ok=True)

    def kill_when_asked(self, number: int, delay: float = 0.0) -> None:
        """Kill a process once so many queries are asked, and a moment more has gone by."""
        process = self.begin()
        path, ends = self.folder / "asked", time.monotonic() + LATEST
        while (not path.exists() or path.read_bytes().count(b"\n") < number) and process.poll() is None:
            assert time.monotonic() < ends
        time.sleep(delay)
        self.kill(process, f"asking for {number}")

    def kill_at(self, halt: str) -> None:
        """Kill a process where it stands still."""
        process = self.begin(halt)
        ends = time.monotonic() + LATEST
        while not (self.folder / "halted").exists():
            assert process.poll() is None
            assert time.monotonic() < ends
            time.sleep(0.001)
        self.kill(process, halt)

    def kill_after(self, seconds: float) -> None:
        process = self.begin()
        time.sleep(seconds)
        self.kill(process, f"after {seconds:.3f} s")


@pytest.fixture(scope="module")
def uninterrupted() -> rf.Retrieval:
    return rf.retrieve(lambda query: answer(query), QUERIES)  # noqa: PLW0108  # not under the name of a retriever


@pytest.mark.parametrize("seed", range(ROUNDS))
def test_a_retrieval_that_is_killed_resumes_and_ends_as_an_uninterrupted_one(
    seed: int, tmp_path: Path, uninterrupted: rf.Retrieval
) -> None:
    """And asks no query twice, but for those that were under way."""
    rng = random.Random(seed)
    this = Round(tmp_path, concurrency=(1, 8)[seed % 2])
    this.kill_when_asked(rng.randrange(1, NUMBER - 300))
    assert 0 < len(this.asked()) < NUMBER
    assert [file.name for file in tmp_path.iterdir() if "parquet" in file.name] == ["run.parquet.journal.jsonl"]
    if seed % 4 == 0:  # while the file is written, at a moment that is known
        this.kill_at(HALTS[seed // 4 % len(HALTS)])
    elif seed % 4 == 1:  # perhaps while it is written
        this.kill_when_asked(NUMBER, delay=rng.uniform(0, 0.03))
    elif seed % 4 == 2:  # perhaps while the journal is read
        this.kill_after(rng.uniform(0.2, 1.0))
    else:
        this.kill_when_asked(rng.randrange(len(this.asked()) + 1, NUMBER))
    assert this.begin().wait(LATEST) == 0

    found = rf.read_retrieval(tmp_path / "found.parquet")
    assert uninterrupted.run.equals(found.run)
    assert uninterrupted.log.drop("latency_s").equals(found.log.drop("latency_s"))
    kept = rf.read_retrieval(tmp_path / "run.parquet")
    assert found.run.equals(kept.run)
    assert found.log.equals(kept.log)
    times = Counter(this.asked())
    assert set(QUERIES) == set(times)
    assert sum(times.values()) - NUMBER <= this.concurrency * len(this.kills), this.kills
    assert sorted(file.name for file in tmp_path.iterdir()) == ["asked", "found.parquet", "run.parquet"]
    assert found.run.select(pl.len()).item() == found.log["n_results"].sum()
