"""Asking a retriever for its queries, with retries; what fails is told, never lost."""

from __future__ import annotations

import inspect
import time
from collections.abc import Sequence
from dataclasses import dataclass
from threading import TIMEOUT_MAX, Event
from typing import Any

from rankframe.asking import Loop, iterates_alone, noted
from rankframe.errors import DataError
from rankframe.retrievers.answers import by_query, of_another, opened
from rankframe.retrievers.calling import Caller, Query
from rankframe.retrievers.results import Reader, Results

Job = Sequence[Query]


@dataclass(frozen=True, slots=True)
class Answer:
    """How one query went: its results, or the error that it failed with, and the seconds that it took."""

    query: Query
    results: Results | None
    error: Exception | None
    latency_s: float


@dataclass(frozen=True, slots=True)
class Asker:
    """A retriever with everything that is done around one call of it.

    Once `stop` is set nothing is begun any more: no job, no repetition.
    """

    caller: Caller
    reader: Reader
    loop: Loop
    retries: int
    wait: float
    stop: Event

    def answers(self, job: Job) -> list[Answer]:
        """Ask for these queries; where a batch fails in spite of its retries, each of its queries alone.

        A TypeError is told at once: the retriever takes lists in another way than it is asked with.
        """
        failure: Exception | None = None
        started = time.perf_counter()
        for attempt in range(self.retries + 1):
            if attempt and self.stop.wait(min(self.wait * 2 ** min(attempt - 1, 60), TIMEOUT_MAX)):
                break
            started = time.perf_counter()
            try:
                found = self._asked(job)
            except DataError as error:  # what is not recognised now is not recognised later
                failure = error
                break
            except Exception as error:  # noqa: BLE001  # a retriever may raise anything; it is told with its query
                failure = error
            except BaseException as error:
                noted(error, f"it came while query {job[0].id!r} was asked")
                raise
            else:
                each = (time.perf_counter() - started) / len(job)
                return [
                    Answer(query, None, one, each) if isinstance(one, DataError) else Answer(query, one, None, each)
                    for query, one in zip(job, found, strict=True)
                ]
        if len(job) > 1 and not isinstance(failure, TypeError) and not self.stop.is_set():
            return [answer for query in job for answer in self.answers([query])]
        took = time.perf_counter() - started
        if len(job) > 1 and failure is not None:
            noted(failure, f"{len(job)} queries were asked at once, {job[0].id!r} to {job[-1].id!r}")
        return [Answer(query, None, failure, took) for query in job]

    def _asked(self, job: Job) -> list[Results | DataError]:
        limit = self.reader.limit
        answer = self.caller(job, limit)
        if inspect.isawaitable(answer) or iterates_alone(answer):
            answer = self.loop.result(answer, limit if self.caller.batch_size is None else len(job) + 1)
        if self.caller.batch_size is None:
            return [self._read(job[0], answer)]
        try:
            found = by_query(answer, [query.id for query in job], [query.text for query in job])
        except DataError as error:
            return [error] * len(job)
        return [self._read(query, one) for query, one in zip(job, found, strict=True)]

    def _read(self, query: Query, answer: Any) -> Results | DataError:
        """The results of one query, or why they are not recognised: the others of its batch are answered."""
        try:
            answer = opened(answer)
            of_another(query.id, answer)
            return self.reader.results(answer)
        except DataError as error:
            told = DataError(f"query {query.id!r}: {error}")
            told.__cause__ = error
            return told
