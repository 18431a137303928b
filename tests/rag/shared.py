"""Judges that answer as a test wants them to and tell what they were asked, and samples to ask them about."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Lock
from typing import Any

import polars as pl

import rankframe as rf
from rankframe.metrics.metric import Metric

RELEVANT = '{"claims": [{"claim": "It is red.", "contexts": [1]}, {"claim": "It is old.", "contexts": []}]}'
"""What a judge of faithfulness may reply: one of two claims is supported."""


@dataclass
class Asked:
    """A judge, plain or async, that keeps what it was asked, and how many asked it at once at most."""

    answer: Callable[[Any], Any] = lambda _: '{"score": 1}'
    pause: float = 0.0
    calls: list[Any] = field(default_factory=list)
    at_once: int = 0
    most: int = 0
    lock: Lock = field(default_factory=Lock)

    @contextmanager
    def _counted(self, asked: Any) -> Iterator[None]:
        with self.lock:
            self.calls.append(asked)
            self.at_once += 1
            self.most = max(self.most, self.at_once)
        try:
            yield
        finally:
            with self.lock:
                self.at_once -= 1

    def plain(self, asked: Any) -> Any:
        with self._counted(asked):
            time.sleep(self.pause)
            return self.answer(asked)

    async def later(self, asked: Any) -> Any:
        with self._counted(asked):
            await asyncio.sleep(self.pause)
            return self.answer(asked)

    def way(self, name: str) -> Callable[[Any], Any]:
        """The judge as a plain function or as a coroutine function."""
        return self.plain if name == "plain" else self.later


def samples(number: int = 3, **columns: Any) -> list[dict[str, Any]]:
    """Samples that differ; a column holds the same value for each, or what a function makes of its place."""
    return [
        {
            "sample_id": f"s{place:04d}",
            "user_input": f"question #{place}#",
            "response": f"response #{place}#",
            "reference": f"reference #{place}#",
            "retrieved_contexts": [f"context #{place}#", "another context"],
            **{name: value(place) if callable(value) else value for name, value in columns.items()},
        }
        for place in range(number)
    ]


def place_of(prompt: str) -> int:
    """The place of the sample that a prompt is about."""
    return int(prompt.split("#")[1])


def answering(replies: Sequence[Any]) -> Callable[[str], Any]:
    """A judge whose reply is that of the sample's place; an error is raised."""

    def answer(prompt: str) -> Any:
        reply = replies[place_of(prompt)]
        if isinstance(reply, BaseException):
            raise reply
        return reply

    return answer


def evaluated(metrics: Metric | Sequence[Metric], given: Any = None, **options: Any) -> rf.Report:
    """The report of a judged metric, without waits between retries."""
    return rf.evaluate_samples(samples() if given is None else given, metrics=metrics, **{"wait": 0.0} | options)


def told(report: rf.Report, *names: str, metric: str | None = None) -> list[Any]:
    """What stands behind the values of a metric: rows of several columns, or the values of one."""
    metric = report.metrics[0].name if metric is None else metric
    found = report.scores.select(metric if name == "value" else f"{metric}_{name}" for name in names)
    return found.rows() if len(names) > 1 else found.to_series().to_list()


def counts(report: rf.Report, metric: str | None = None) -> tuple[Any, int, int, int]:
    """Value, n, n_null and n_failed of a metric."""
    rows = report.summary if metric is None else report.summary.filter(metric=metric)
    value, n, n_null, n_failed = rows.select("value", "n", "n_null", "n_failed").row(0)
    return value, n, n_null, n_failed


def ledger(report: rf.Report) -> Mapping[str, tuple[int, list[str]]]:
    """reason -> (count, examples)."""
    return {reason: (count, examples) for reason, count, examples in report.ledger.select(pl.exclude("run_id")).rows()}


def one_direction(texts: Sequence[str]) -> list[list[float]]:
    """An embedder to which every text is the same."""
    return [[1.0, 0.0] for _ in texts]
