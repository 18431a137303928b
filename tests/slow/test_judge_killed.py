"""An evaluation by judges that is killed at any moment resumes where it stopped, and ends as if nothing had been."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import rankframe as rf

from .judge_killed import metrics, reply, samples, vectors

pytestmark = pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs a signal that no process can catch")

NUMBER = 400
ROUNDS = 8
LATEST = 60.0  # seconds for what must happen
UNREPEATED = ["attempts", "latency_s"]
"""What stands behind a value and is of the call that asked."""

ways = pytest.mark.parametrize("way", ["plain", "async"])


@dataclass
class Round:
    """Processes that ask about the same samples with the same cache, one after another."""

    folder: Path
    number: int
    concurrency: int
    way: str
    kills: list[str] = field(default_factory=list)
    begun: int = 0

    def asked(self) -> list[str]:
        """What was asked so far, by all processes."""
        path = self.folder / "asked"
        return path.read_text().split() if path.exists() else []

    def begin(self) -> subprocess.Popen[bytes]:
        self.begun += 1
        options = [str(self.folder), str(self.number), str(self.concurrency), self.way]
        command = [sys.executable, "-W", "error", "-m", "tests.slow.judge_killed", *options]
        return subprocess.Popen(command, cwd=Path(__file__).parents[2])

    def kill_when_asked(self, number: int, delay: float = 0.0) -> None:
        """Kill a process once so much is asked, and a moment more has gone by."""
        process = self.begin()
        path, ends = self.folder / "asked", time.monotonic() + LATEST
        while (not path.exists() or path.read_bytes().count(b"\n") < number) and process.poll() is None:
            assert time.monotonic() < ends
            time.sleep(0.0005)
        time.sleep(delay)
        process.kill()
        if process.wait(LATEST) == -signal.SIGKILL:
            self.kills.append(f"{len(self.asked())} asked")

    def finish(self) -> rf.Report:
        assert self.begin().wait(LATEST) == 0
        return rf.read_report(self.folder / "report.parquet")


@cache
def uninterrupted(number: int) -> rf.Report:
    return rf.evaluate_samples(samples(number), metrics=metrics(reply, vectors), timeout=None, concurrency=1)


def repeated(report: rf.Report) -> pl.DataFrame:
    """The scores without what is of the call that asked."""
    return report.scores.select(name for name in report.scores.columns if not name.endswith(tuple(UNREPEATED)))


def ended(report: rf.Report, number: int) -> None:
    """The same scores, claims, summary and ledger as of an evaluation that was not interrupted."""
    right = uninterrupted(number)
    assert repeated(report).equals(repeated(right))
    assert report.claims.equals(right.claims)
    assert_frame_equal(report.summary, right.summary, rel_tol=1e-12)
    assert report.ledger.equals(right.ledger)


def failed(report: rf.Report) -> int:
    """How many verdicts are not kept, and asked for by every process."""
    return int(report.summary["n_failed"].sum())


def asked_no_more_than_needed(this: Round, report: rf.Report) -> None:
    """What was kept once is asked once, but for what was under way when a process was killed."""
    times = Counter(this.asked())
    answered = 4 * this.number - report.summary.filter(metric="answer_relevance")["n_failed"].item()
    assert len(times) == answered
    kept = answered - failed(report)
    again = sum(times.values()) - len(times)
    unkept = failed(report) * (this.begun - 1)
    assert again <= this.concurrency * len(this.kills) + unkept, this.kills
    lines = (this.folder / "judge.jsonl").read_bytes().splitlines()
    assert len({json.loads(line).get("key") for line in lines[1:]}) == len(lines) - 1 == kept


def test_an_evaluation_that_is_killed_once_asks_only_for_what_is_missing(tmp_path: Path) -> None:
    this = Round(tmp_path, 40, 8, "async")
    this.kill_when_asked(60)
    assert this.kills
    report = this.finish()
    ended(report, 40)
    asked_no_more_than_needed(this, report)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(ROUNDS))
@ways
def test_an_evaluation_that_is_killed_resumes_and_ends_as_an_uninterrupted_one(
    seed: int, way: str, tmp_path: Path
) -> None:
    """And a process that finds everything kept asks nothing but for what failed."""
    rng = random.Random(f"{seed} {way}")
    this = Round(tmp_path, NUMBER, (1, 8, 8)[seed % 3], way)
    for _ in range(rng.randrange(1, 4)):
        begun = len(this.asked())
        this.kill_when_asked(rng.randrange(begun, begun + max(4 * NUMBER - begun, 2) // 2), delay=rng.uniform(0, 0.02))
    report = this.finish()
    ended(report, NUMBER)
    asked_no_more_than_needed(this, report)

    before = len(this.asked())
    again = this.finish()
    assert len(this.asked()) - before == failed(report) > 0
    ended(again, NUMBER)
    attempts = again.scores.select(pl.selectors.ends_with("_attempts")).sum().row(0)
    assert sum(attempts) == failed(report)
