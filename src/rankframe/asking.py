"""Asking something slow, several jobs at once by threads, with what is awaited on an event loop in one of its own."""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import AsyncIterable, Awaitable, Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import TimeoutError as FutureTimeoutError
from contextlib import suppress
from contextvars import copy_context
from queue import Empty, SimpleQueue
from threading import Event, Lock, Semaphore, Thread
from types import TracebackType
from typing import Any, Protocol, Self, TypeVar

J_contra = TypeVar("J_contra", contravariant=True)
Answer = TypeVar("Answer")

_PATIENCE = 5.0  # seconds that a task may take to end when it is told to
_BLOCKED = 2.0  # seconds after which a loop that does nothing else is not waited for
_LOOK = 0.2  # seconds after which it is looked whether the user interrupts


class TimeOutError(Exception):
    """What was asked did not answer in time."""

    def __init__(self, seconds: float | None) -> None:
        super().__init__(f"no answer within {seconds:g} s")


class Loop:
    """An event loop in a thread of its own, for whatever is to be awaited; made when first needed.

    So a coroutine function is asked like any other, and no loop that runs already is disturbed.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: Thread | None = None

    def __enter__(self) -> Self:
        return self

    def result(
        self, awaitable: Awaitable[Any] | AsyncIterable[Any], limit: int = 1, timeout: float | None = None
    ) -> Any:
        """What is awaited, or the first items of an asynchronous iterator.

        Raises:
            TimeOutError: where that takes longer than `timeout` seconds; it is cancelled then.
        """

        async def whole() -> tuple[Any, Exception | None]:
            try:
                found = await awaitable if inspect.isawaitable(awaitable) else awaitable
                return await _first(found, limit) if iterates_alone(found) else found, None
            except Exception as error:  # noqa: BLE001  # a future would raise another TimeoutError than this one
                return None, error

        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._thread = Thread(target=_run, args=[self._loop], daemon=True, name="rankframe-asking")
                self._thread.start()
        coroutine = whole()
        try:
            waited = asyncio.run_coroutine_threadsafe(coroutine, self._loop)
        except RuntimeError:  # the loop has ended, as the user interrupted
            _unawaited(coroutine)
            _unawaited(awaitable)
            raise
        end = None if timeout is None else time.monotonic() + timeout
        while True:  # a wait without end would not always be interrupted
            left = _LOOK if end is None else min(_LOOK, end - time.monotonic())
            with suppress(FutureTimeoutError):
                answer, error = waited.result(max(left, 0.0))
                break
            if end is not None and time.monotonic() >= end:
                waited.cancel()
                raise TimeOutError(timeout)
        if error is not None:
            raise error
        return answer

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, at: TracebackType | None) -> None:
        if self._loop is None or self._thread is None:
            return
        turns = Event()
        with suppress(RuntimeError):  # it has ended already
            self._loop.call_soon_threadsafe(turns.set)
            self._loop.call_soon_threadsafe(self._loop.stop)
        if turns.wait(_BLOCKED):  # else a coroutine that never awaits holds it, and it ends when that does
            self._thread.join(3 * _PATIENCE)


def _run(loop: asyncio.AbstractEventLoop) -> None:
    """Run a loop until it is stopped, and end what it does then.

    A task that ends the program ends it where its result is waited for.
    """
    for run in (loop.run_forever, lambda: loop.run_until_complete(_cancelled())):
        while True:
            with suppress(KeyboardInterrupt, SystemExit):
                run()
                break
    loop.close()


def _unawaited(awaitable: object) -> None:
    """Say of a coroutine that nobody is going to await it."""
    if inspect.iscoroutine(awaitable):
        awaitable.close()


def iterates_alone(found: object) -> bool:
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


def noted(error: BaseException, note: str) -> None:
    """Add a note to an error, unless it is one that nothing can be written on."""
    with suppress(Exception):
        error.add_note(note)


def within(timeout: float | None, function: Callable[[Any], Any], argument: Any, loop: Loop) -> Any:
    """What a function, plain or a coroutine function, gives, if it does so in time.

    A plain function that takes longer goes on in its thread, and nobody waits for it.

    Raises:
        TimeOutError: where it takes longer than `timeout` seconds.
    """
    if timeout is None:
        given = function(argument)
        return loop.result(given) if inspect.isawaitable(given) else given
    began = time.monotonic()
    given = _in_thread(timeout, function, argument)
    if not inspect.isawaitable(given):
        return given
    try:
        return loop.result(given, timeout=max(timeout - (time.monotonic() - began), 0.0))
    except TimeOutError:
        raise TimeOutError(timeout) from None


def _in_thread(timeout: float, function: Callable[[Any], Any], argument: Any) -> Any:
    found: SimpleQueue[tuple[Any, BaseException | None]] = SimpleQueue()

    def call() -> None:
        try:
            found.put((function(argument), None))
        except BaseException as error:  # noqa: BLE001  # raised where the caller waits
            found.put((None, error))

    Thread(target=copy_context().run, args=[call], daemon=True, name="rankframe-call").start()
    end = time.monotonic() + timeout
    while True:
        with suppress(Empty):
            given, error = found.get(timeout=max(min(_LOOK, end - time.monotonic()), 0.0))
            break
        if time.monotonic() >= end:
            raise TimeOutError(timeout)
    if error is not None:
        raise error
    return given


class Asker(Protocol[J_contra, Answer]):
    """What answers jobs. Once `stop` is set nothing is begun any more."""

    @property
    def stop(self) -> Event:
        """Whether to begin nothing any more."""

    def answers(self, job: J_contra, /) -> list[Answer]:
        """The answers of one job."""


def asked(
    asker: Asker[J_contra, Answer], jobs: Sequence[J_contra], concurrency: int
) -> Generator[list[Answer], None, None]:
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


def _asked_at_once(
    asker: Asker[J_contra, Answer], jobs: Sequence[J_contra], concurrency: int
) -> Iterator[list[Answer]]:
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


def _come(done: SimpleQueue[Any]) -> Iterator[list[Any]]:
    """The answers that have come already."""
    while not done.empty():
        if isinstance(answers := done.get(), list):
            yield answers


def _workers(
    asker: Asker[J_contra, Answer],
    jobs: Iterable[J_contra],
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
        Thread(target=copy_context().run, args=[work], daemon=True, name=f"rankframe-asking-{place}")
        for place in range(number)
    ]
