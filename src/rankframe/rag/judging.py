"""Asking judges: each prompt once, several at a time, with time-outs, retries and a cache that outlives the process."""

from __future__ import annotations

import json
import math
import time
from asyncio import CancelledError
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from os import PathLike
from threading import TIMEOUT_MAX, Event
from typing import Any, NamedTuple, Protocol, TypeVar

import polars as pl

from rankframe.asking import Loop, TimeOutError, asked, within
from rankframe.errors import MetricError, warn
from rankframe.rag.caching import Cache, key_of
from rankframe.rag.judges import Embedder, Judge, Refused, Truncated
from rankframe.rag.replies import RefusalError, UnreadError, printable
from rankframe.rag.transport import is_transport_error, retry_after

T = TypeVar("T")

_LONGEST = 120.0  # seconds that an overloaded service can make us wait at a time


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a judge found about one sample.

    value: the score, None where there is none. status: `ok`, `no_claims`, `missing_input`, `refused`, `parse_error`,
    `error`. reason: why, in words, or what in a reply that was read does not add up. reply: what the judge wrote.
    attempts: how often judge and embedder were called, 0 where the cache knew. latency_s: how long these calls took.
    more: what further columns of the metric hold.
    """

    value: float | None
    status: str = "ok"
    reason: str | None = None
    reply: str | None = None
    attempts: int = 0
    latency_s: float = 0.0
    more: Mapping[str, Any] = field(default_factory=dict)


class JudgedMetric(Protocol):
    """What the engine needs of a metric: which columns it looks at, and its verdict on one sample."""

    @property
    def fields(self) -> tuple[str, ...]:
        """The columns of a sample that the verdict depends on."""

    def check(self, columns: Sequence[str]) -> None:
        """`MetricError` where samples with these columns lack one that no verdict can do without."""

    def judge(self, sample: Mapping[str, Any], desk: Desk) -> Verdict:
        """The verdict on one sample; whatever it raises is told as its status."""


@dataclass(frozen=True, slots=True)
class Limits:
    """How judges are asked: see `evaluate_samples`."""

    concurrency: int
    timeout: float | None
    retries: int
    wait: float


class FailedError(Exception):
    """A sample has no value: the status that it gets, why, and what the judge wrote."""

    def __init__(self, status: str, reason: str, reply: str | None = None) -> None:
        super().__init__(reason)
        self.status = status
        self.reason = reason
        self.reply = reply


class Desk:
    """Where the verdict on one sample is asked for: it counts attempts and time, retries, and knows the cache."""

    def __init__(self, cache: Cache, loop: Loop, limits: Limits, stop: Event) -> None:
        self._cache = cache
        self._loop = loop
        self._limits = limits
        self._stop = stop
        self.attempts = 0
        self.latency_s = 0.0

    def ask(self, judge: Judge, template: str, prompt: str, read: Callable[[str], T]) -> tuple[T, str]:
        """What `read` makes of the judge's reply to a prompt, and the reply. Only a reply that is read is kept.

        Raises:
            FailedError: where there is no reply or it cannot be read.
        """
        key = key_of({"judge": self._cache.known(judge)}, template, prompt)
        with self._cache.alone(key):
            kept = self._cache.get(key)
            if isinstance(kept, str):
                try:
                    return read(kept), kept
                except UnreadError:  # of a version that read less strictly
                    pass
            reply = self._reply(judge, prompt)
            try:
                found = read(reply)
            except UnreadError as error:
                status = "refused" if isinstance(error, RefusalError) else "parse_error"
                raise FailedError(status, str(error), reply) from error
            short = blake2b(prompt.encode(), digest_size=8).hexdigest()
            self._cache.keep(key, reply, judge=judge.identity, prompt=short)
        return found, reply

    def _reply(self, judge: Judge, prompt: str) -> str:
        try:
            reply = self._called(judge.ask, prompt)
        except Refused as error:
            raise _refused(error) from error
        except Truncated as error:
            raise FailedError("parse_error", str(error), error.text) from error
        if not isinstance(reply, str):
            raise FailedError("error", f"the judge gave a {type(reply).__name__}, not a text: {reply!r:.80}")
        return printable(reply)

    def numbers(self, embedder: Embedder, texts: list[str], make: Callable[[Any], list[float]]) -> list[float]:
        """The numbers that `make` gives for the vectors of texts; they are kept, and the vectors are not.

        Raises:
            FailedError: where there are no vectors, or `make` raises.
        """
        key = key_of({"embedder": self._cache.known(embedder)}, "", texts)
        with self._cache.alone(key):
            kept = self._cache.get(key)
            if isinstance(kept, list):
                return kept
            try:
                vectors = self._called(embedder.ask, texts)
            except Refused as error:
                raise _refused(error) from error
            except Truncated as error:
                raise FailedError("error", str(error)) from error
            try:
                found = make(vectors)
            except Exception as error:  # whatever holds the vectors is asked for its numbers
                raise FailedError("error", f"the embedder gave no vector for each text: {_said(error)}") from error
            self._cache.keep(key, found, embedder=embedder.identity)
        return found

    def _called(self, function: Callable[[Any], Any], argument: Any) -> Any:
        """What a function gives, asked again after a wait where the way to it failed.

        One that did not answer in time is not asked again.
        """
        attempt = 0
        while True:
            try:
                return self._timed(function, argument)
            except TimeOutError as error:
                raise FailedError("error", f"timed out: {error}") from error
            except CancelledError as error:  # of the call, not of us: nobody awaits what asks here
                raise FailedError("error", "the call was cancelled") from error
            except (Refused, Truncated):
                raise
            except Exception as error:
                if attempt >= self._limits.retries or not is_transport_error(error):
                    raise FailedError("error", _said(error)) from error
                pause = retry_after(error)
                if pause is None:
                    pause = self._limits.wait * 2 ** min(attempt, 60)
                if self._stop.wait(min(pause, _LONGEST, TIMEOUT_MAX)):
                    raise FailedError("error", f"interrupted after {_said(error)}") from error
            attempt += 1

    def _timed(self, function: Callable[[Any], Any], argument: Any) -> Any:
        self.attempts += 1
        began = time.perf_counter()
        try:
            return within(self._limits.timeout, function, argument, self._loop)
        finally:
            self.latency_s += time.perf_counter() - began


def _refused(error: Refused) -> FailedError:
    said = _words(error)
    return FailedError("refused", f"the model refuses: {said}" if said else "the model refuses")


def _said(error: BaseException) -> str:
    """An error by its class and in its words."""
    said = _words(error)
    return f"{type(error).__name__}: {said}" if said else type(error).__name__


def _words(error: BaseException) -> str:
    """What an error says, without surprises in its text."""
    try:
        return printable(str(error))[:500]
    except Exception:  # noqa: BLE001  # some cannot say anything
        return ""


class Job(NamedTuple):
    """A sample that a metric is asked about, and every row that is the same to this metric."""

    metric: int
    sample: Mapping[str, Any]
    rows: list[int]


@dataclass(frozen=True, slots=True)
class _Clerk:
    metrics: Sequence[JudgedMetric]
    cache: Cache
    loop: Loop
    limits: Limits
    stop: Event

    def answers(self, job: Job) -> list[tuple[Job, Verdict]]:
        desk = Desk(self.cache, self.loop, self.limits, self.stop)
        try:
            found = self.metrics[job.metric].judge(job.sample, desk)
        except FailedError as error:
            found = Verdict(None, error.status, error.reason, error.reply)
        except Exception as error:  # noqa: BLE001  # told with its sample, whatever it is
            found = Verdict(None, "error", _said(error))
        reason, reply = _held(found.reason), _held(found.reply)
        return [(job, replace(found, reason=reason, reply=reply, attempts=desk.attempts, latency_s=desk.latency_s))]


def _held(text: object) -> str | None:
    """A text as a frame holds it."""
    return None if text is None else printable(str(text))


def verdicts(
    metrics: Sequence[JudgedMetric],
    samples: pl.DataFrame,
    limits: Limits,
    cache: str | PathLike[str] | None,
    *,
    progress: bool,
) -> list[list[Verdict]]:
    """The verdict of each metric on each sample.

    Samples that are the same to a metric are asked about once.

    Raises:
        MetricError: where the samples lack a column that a metric needs, before anything is asked.
        DataError: for a cache that is none.

    Warns:
        RankframeWarning: where the cache could not be written to the end.
    """
    for metric in metrics:
        metric.check(samples.columns)
    jobs = [job for place, metric in enumerate(metrics) for job in _jobs(place, metric, samples)]
    found: list[list[Verdict | None]] = [[None] * samples.height for _ in metrics]
    stop = Event()
    with closing(Cache(cache)) as kept, Loop() as loop:
        clerk = _Clerk(metrics, kept, loop, limits, stop)
        coming = asked(clerk, jobs, limits.concurrency)
        with closing(coming), _bar(len(jobs), shown=progress) as bar:
            try:
                for answers in coming:
                    for job, verdict in answers:
                        for row in job.rows:
                            found[job.metric][row] = verdict
                    bar.update()
            finally:
                stop.set()
                if kept.lost is not None:
                    warn(
                        f"cache={str(cache)!r} could not be written any more ({kept.lost}); what came since is not kept"
                    )
    return found  # type: ignore[return-value]  # every row stands in a job


def _jobs(place: int, metric: JudgedMetric, samples: pl.DataFrame) -> list[Job]:
    fields = list(dict.fromkeys(metric.fields))
    lacking = [name for name in fields if name not in samples.columns]
    frame = samples.with_columns(pl.lit(None).alias(name) for name in lacking).select(fields)
    found: dict[bytes, Job] = {}
    for row, sample in enumerate(frame.iter_rows(named=True)):
        told = json.dumps(sample, sort_keys=True, default=repr)
        same = blake2b(told.encode(), digest_size=16).digest()
        found.setdefault(same, Job(place, sample, [])).rows.append(row)
    return list(found.values())


def _bar(total: int, *, shown: bool) -> Any:
    from tqdm import tqdm

    return tqdm(total=total, desc="judging", unit="sample", disable=not shown)


def limits(concurrency: object, timeout: object, retries: object, wait: object) -> Limits:
    """The limits, checked.

    Raises:
        MetricError: for one that means nothing.
    """
    from rankframe.metrics.metric import checked_cutoff, real

    if isinstance(retries, bool) or not isinstance(retries, int) or retries < 0:
        raise MetricError(f"retries={retries!r} is not a whole number from 0")
    seconds = {"timeout": None if timeout is None else real(timeout), "wait": real(wait)}
    for name, given in (("timeout", timeout), ("wait", wait)):
        value = seconds[name]
        if given is not None and (value is None or math.isinf(value) or value < 0 or (name == "timeout" and not value)):
            raise MetricError(f"{name}={given!r} is not a number of seconds")
    if wait is None:
        raise MetricError("wait=None is not a number of seconds")
    return Limits(checked_cutoff(concurrency, "concurrency"), seconds["timeout"], retries, seconds["wait"] or 0.0)
