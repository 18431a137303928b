"""Asking a retriever: one after another or several at once, with retries; what fails is told, never lost."""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import AsyncIterable, Awaitable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import TimeoutError as FutureTimeoutError
from contextlib import suppress
from contextvars import copy_context
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from threading import TIMEOUT_MAX, Event, Lock, Semaphore, Thread
from types import TracebackType
from typing import Any, Self

from rankframe.errors import DataError
from rankframe.retrievers.answers import by_query, of_another, opened
from rankframe.retrievers.calling import Caller, Query
from rankframe.retrievers.results import Reader, Results

Job = Sequence[Query]

_PATIENCE = 5.0  # seconds that a task may take to end when it is told to
_LOOK = 0.2  # seconds after which it is looked whether the user interrupts


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

    def result(self, awaitable: Awaitable[Any] | AsyncIterable[Any], limit: int) -> Any:
        """What is awaited, or the first items of an asynchronous iterator."""

        async def whole() -> tuple[Any, Exception | None]:
            try:
                found = await awaitable if inspect.isawaitable(awaitable) else awaitable
                return await _first(found, limit) if _iterates_alone(found) else found, None
            except Exception as error:  # noqa: BLE001  # a future would raise another TimeoutError than this one
                return None, error

        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._thread = Thread(target=_run, args=[self._loop], daemon=True, name="rankframe-retrieve")
                self._thread.start()
        waited = asyncio.run_coroutine_threadsafe(whole(), self._loop)
        while True:  # a wait without end would not always be interrupted
            with suppress(FutureTimeoutError):
                answer, error = waited.result(_LOOK)
                break
        if error is not None:
            raise error
        return answer

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, at: TracebackType | None) -> None:
        if self._loop is None or self._thread is None:
            return
        with suppress(FutureTimeoutError):
            asyncio.run_coroutine_threadsafe(_cancelled(), self._loop).result(2 * _PATIENCE)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(_PATIENCE)
        if not self._thread.is_alive():  # else a coroutine blocks it, and it ends with the process
            self._loop.close()


def _run(loop: asyncio.AbstractEventLoop) -> None:
    """Run a loop until it is stopped; a task that ends the program ends it where its result is waited for."""
    while True:
        with suppress(KeyboardInterrupt, SystemExit):
            loop.run_forever()
            break


def _iterates_alone(found: object) -> bool:
    """Whether an answer gives its items only to a loop."""
    return isinstance(found, AsyncIterable) and not isinstance(found, Iterable)


async def _first(results: AsyncIterable[Any], limit: int) -> list[Any]:
    found: list[Any] = []
    items = aiter(results)
    async for item in items:
        found.append(item)
        if len(found) >= limit:
            break
    if hasattr(items, "aclose"):
        await items.aclose()
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
        if inspect.isawaitable(answer) or _iterates_alone(answer):
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


def noted(error: BaseException, note: str) -> None:
    """Add a note to an error, unless it is one that nothing can be written on."""
    with suppress(Exception):
        error.add_note(note)


def asked(asker: Asker, jobs: Sequence[Job], concurrency: int) -> Generator[list[Answer], None, None]:
    """The answers of every job, in the order in which they come; several jobs at once where `concurrency` is above 1.

    Alone, they are asked in the caller's thread. Once the asker's `stop` is set no further job is begun, and those that
    are under way still come. No more jobs are under way, or answered and not yet taken, than `concurrency`: so many are
    lost at most when the process is killed.
    """
    if concurrency > 1 and len(jobs) > 1:
        yield from _asked_at_once(asker, jobs, min(concurrency, len(jobs)))
        return
    for job in jobs:
        if asker.stop.is_set():
            break
        yield asker.answers(job)


def _asked_at_once(asker: Asker, jobs: Sequence[Job], concurrency: int) -> Iterator[list[Answer]]:
    done: SimpleQueue[list[Answer] | BaseException | None] = SimpleQueue()
    room = Semaphore(concurrency)
    threads = _workers(asker, jobs, concurrency, room, done)
    end: BaseException | None = None
    try:
        for thread in threads:
            thread.start()
        working = len(threads)
        while working:
            answers = _next(done)
            if isinstance(answers, BaseException):
                end = answers
                asker.stop.set()
            elif answers is None:
                working -= 1
            else:
                yield answers
            room.release()
        for thread in threads:
            thread.join()
    except KeyboardInterrupt:  # of the user, who does not wait for what is under way
        yield from _come(done)
        raise
    finally:
        asker.stop.set()
        room.release(concurrency)  # whoever waits for it finds that nothing is begun any more
    if end is not None:
        raise end


def _next(done: SimpleQueue[Any]) -> Any:
    """What comes next; a wait without end would not always be interrupted."""
    while True:
        with suppress(Empty):
            return done.get(timeout=_LOOK)


def _come(done: SimpleQueue[Any]) -> Iterator[list[Answer]]:
    """The answers that have come already."""
    while not done.empty():
        if isinstance(answers := done.get(), list):
            yield answers


def _workers(
    asker: Asker,
    jobs: Iterable[Job],
    number: int,
    room: Semaphore,
    done: SimpleQueue[list[Answer] | BaseException | None],
) -> list[Thread]:
    """Threads that take the jobs while there is room, put the answers into `done`, and None when they find no more."""
    lock, left = Lock(), iter(jobs)

    def work() -> None:
        while room.acquire() and not asker.stop.is_set():
            with lock:
                job = next(left, None)
            if job is None:
                break
            try:
                done.put(asker.answers(job))
            except BaseException as error:  # noqa: BLE001  # SystemExit and its like: raised where the caller waits
                done.put(error)
                break
        done.put(None)

    return [
        Thread(target=copy_context().run, args=[work], daemon=True, name=f"rankframe-retrieve-{place}")
        for place in range(number)
    ]
