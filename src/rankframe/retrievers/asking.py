"""Asking a retriever: one after another or several at once, with retries; what fails is told, never lost."""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import AsyncIterator, Awaitable, Iterable, Iterator, Sequence
from contextvars import copy_context
from dataclasses import dataclass
from queue import SimpleQueue
from threading import Event, Lock, Thread
from types import TracebackType
from typing import Any, Self

from rankframe.errors import DataError
from rankframe.retrievers.calling import Caller, Query
from rankframe.retrievers.results import Reader, Results, by_query

Job = Sequence[Query]

_PATIENCE = 5.0  # seconds that a task may take to end when it is told to


@dataclass(frozen=True, slots=True)
class Answer:
    """How one query went: its results, or the error that it failed with, and the seconds that it took."""

    query: Query
    results: Results | None
    error: Exception | None
    latency_s: float


class Loop:
    """An event loop in a thread of its own, for whatever a retriever gives to be awaited; made when first needed.

    So a coroutine function is asked like any other, and no loop that runs already is disturbed.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: Thread | None = None

    def __enter__(self) -> Self:
        return self

    def result(self, awaitable: Awaitable[Any] | AsyncIterator[Any], limit: int) -> Any:
        """What is awaited, or the first items of an asynchronous iterator."""

        async def whole() -> Any:
            found = await awaitable if inspect.isawaitable(awaitable) else awaitable
            return await _first(found, limit) if isinstance(found, AsyncIterator) else found

        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._thread = Thread(target=self._loop.run_forever, daemon=True, name="rankframe-retrieve")
                self._thread.start()
        return asyncio.run_coroutine_threadsafe(whole(), self._loop).result()

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, at: TracebackType | None) -> None:
        if self._loop is None or self._thread is None:
            return
        asyncio.run_coroutine_threadsafe(_cancelled(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


async def _first(results: AsyncIterator[Any], limit: int) -> list[Any]:
    found = []
    async for item in results:
        found.append(item)
        if len(found) >= limit:
            break
    if hasattr(results, "aclose"):
        await results.aclose()
    return found


async def _cancelled() -> None:
    """Every other task of this loop, ended."""
    tasks = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    for task in tasks:
        task.cancel()
    if tasks:
        await asyncio.wait(tasks, timeout=_PATIENCE)
    await asyncio.get_running_loop().shutdown_asyncgens()


@dataclass(frozen=True, slots=True)
class Asker:
    """A retriever with everything that is done around one call of it."""

    caller: Caller
    reader: Reader
    loop: Loop
    retries: int
    wait: float

    def answers(self, job: Job) -> list[Answer]:
        """Ask for these queries; where a batch fails in spite of its retries, each of its queries alone."""
        failure: Exception | None = None
        started = time.perf_counter()
        for attempt in range(self.retries + 1):
            if attempt:
                time.sleep(self.wait * 2 ** (attempt - 1))
            started = time.perf_counter()
            try:
                found = self._asked(job)
            except DataError as error:  # what is not recognised now is not recognised later
                failure = error
                break
            except Exception as error:  # noqa: BLE001  # a retriever may raise anything; it is told with its query
                failure = error
            else:
                each = (time.perf_counter() - started) / len(job)
                return [Answer(query, results, None, each) for query, results in zip(job, found, strict=True)]
        if len(job) > 1:
            return [answer for query in job for answer in self.answers([query])]
        return [Answer(job[0], None, failure, time.perf_counter() - started)]

    def _asked(self, job: Job) -> list[Results]:
        limit = self.reader.limit
        answer = self.caller(job, limit)
        if inspect.isawaitable(answer) or isinstance(answer, AsyncIterator):
            answer = self.loop.result(answer, limit if self.caller.batch_size is None else len(job) + 1)
        if self.caller.batch_size is None:
            return [self._read(job[0], answer)]
        found = by_query(answer, [query.id for query in job], [query.text for query in job])
        return [self._read(query, one) for query, one in zip(job, found, strict=True)]

    def _read(self, query: Query, answer: Any) -> Results:
        try:
            return self.reader.results(answer)
        except DataError as error:
            raise DataError(f"query {query.id!r}: {error}") from error


def asked(asker: Asker, jobs: Iterable[Job], concurrency: int, stop: Event) -> Iterator[list[Answer]]:
    """The answers of every job, in the order in which they come; several jobs at once where `concurrency` is above 1.

    Alone, they are asked in the caller's thread. Once `stop` is set no further job is begun, and those that are under
    way still come.
    """
    if concurrency == 1:
        for job in jobs:
            if stop.is_set():
                break
            yield asker.answers(job)
        return
    done: SimpleQueue[list[Answer] | BaseException | None] = SimpleQueue()
    working = _begin(asker, iter(jobs), concurrency, stop, done)
    try:
        while working:
            answers = done.get()
            if isinstance(answers, BaseException):
                raise answers
            if answers is None:
                working -= 1
            else:
                yield answers
    finally:
        stop.set()


def _begin(
    asker: Asker, jobs: Iterator[Job], threads: int, stop: Event, done: SimpleQueue[list[Answer] | BaseException | None]
) -> int:
    """Threads that take the jobs, put the answers of each into `done`, and None when they find no more."""
    lock = Lock()

    def work() -> None:
        while True:
            with lock:
                job = None if stop.is_set() else next(jobs, None)
            if job is None:
                break
            try:
                done.put(asker.answers(job))
            except BaseException as error:  # noqa: BLE001  # SystemExit and its like: raised where the caller waits
                done.put(error)
                break
        done.put(None)

    for number in range(threads):
        thread = Thread(target=copy_context().run, args=(work,), daemon=True, name=f"rankframe-retrieve-{number}")
        thread.start()
    return threads
