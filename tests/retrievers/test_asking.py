"""How retrievers are asked: alone or at once, again when they fail, and with nothing left behind."""

from __future__ import annotations

import asyncio
import contextvars
import gc
import signal
import threading
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import closing
from typing import Any

import pytest

import rankframe as rf
from rankframe import asking
from rankframe.asking import Loop, asked
from rankframe.retrievers import checkpoint, retrieving
from rankframe.retrievers.asking import Asker
from rankframe.retrievers.calling import Query, caller
from rankframe.retrievers.results import Reader

PATIENCE = 10.0  # seconds for what must happen; nothing here takes as long
TICK = 0.05  # seconds for what must not happen


def queries(number: int) -> dict[str, str]:
    """q1: text q1 and so on."""
    return {f"q{place}": f"text q{place}" for place in range(1, number + 1)}


def answer(text: str) -> list[str]:
    """The one document of a query."""
    return [text.replace("text q", "d")]


def rows(number: int) -> list[tuple[str, str]]:
    """What is found for `queries`, in their order."""
    return [(f"q{place}", f"d{place}") for place in range(1, number + 1)]


def found_in(retrieval: rf.Retrieval) -> list[tuple[str, str]]:
    return retrieval.run.select("query_id", "doc_id").rows()


def kept_by(error: BaseException) -> list[str]:
    """The queries that were answered before the call ended with an error."""
    log = error.retrieval.log  # type: ignore[attr-defined]  # documented by retrieve
    return log.filter(status="ok")["query_id"].to_list()  # type: ignore[no-any-return]  # text


def threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name.startswith("rankframe-asking")]


@pytest.fixture(autouse=True)
def _nothing_is_left_behind() -> Iterator[None]:
    yield
    assert threads() == []


@pytest.fixture
def stops(monkeypatch: pytest.MonkeyPatch) -> list[threading.Event]:
    """The events that say of each call that nothing further is begun."""
    made: list[threading.Event] = []

    def event() -> threading.Event:
        made.append(threading.Event())
        return made[-1]

    monkeypatch.setattr(retrieving, "Event", event)
    return made


class UnderWay:
    """Counts how many calls are under way, and the most that ever were."""

    def __init__(self) -> None:
        self.now = self.most = 0
        self._lock = threading.Lock()

    def __enter__(self) -> None:
        with self._lock:
            self.now += 1
            self.most = max(self.most, self.now)

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self.now -= 1


# Several at once.


@pytest.mark.parametrize("concurrency", [2, 3, 8])
def test_so_many_calls_are_under_way_at_once_and_never_more(concurrency: int) -> None:
    """Each waits for the others, or none would end."""
    under_way, all_there = UnderWay(), threading.Barrier(concurrency)

    def search(query: str) -> list[str]:
        with under_way:
            all_there.wait(PATIENCE)
            return answer(query)

    found = rf.retrieve(search, queries(3 * concurrency), concurrency=concurrency)
    assert concurrency == under_way.most
    assert rows(3 * concurrency) == found_in(found)


@pytest.mark.parametrize("concurrency", [2, 8])
def test_so_many_coroutines_are_under_way_at_once_and_never_more(concurrency: int) -> None:
    under_way, all_there = UnderWay(), asyncio.Barrier(concurrency)

    async def search(query: str) -> list[str]:
        with under_way:
            await asyncio.wait_for(all_there.wait(), PATIENCE)
            return answer(query)

    found = rf.retrieve(search, queries(3 * concurrency), concurrency=concurrency)
    assert concurrency == under_way.most
    assert rows(3 * concurrency) == found_in(found)


def test_more_threads_than_queries_are_not_made() -> None:
    seen = set()

    def search(query: str) -> list[str]:
        seen.update(threads())
        return answer(query)

    assert rows(2) == found_in(rf.retrieve(search, queries(2), concurrency=1_000_000))
    assert len(seen) <= 2
    assert rf.retrieve(search, {}, concurrency=1_000_000).log.is_empty()


def test_batches_are_asked_at_once_too() -> None:
    under_way, all_there = UnderWay(), threading.Barrier(2)

    def search(texts: list[str]) -> list[list[str]]:
        with under_way:
            all_there.wait(PATIENCE)
            return [answer(text) for text in texts]

    found = rf.retrieve(search, queries(8), concurrency=2, batch_size=2)
    assert under_way.most == 2
    assert rows(8) == found_in(found)


def test_the_order_of_the_result_is_that_of_the_queries_whoever_answers_first() -> None:
    answered = {query: threading.Event() for query in ("text q2", "text q3")}

    def search(query: str) -> list[str]:
        last_first = {"text q1": "text q2", "text q2": "text q3"}
        if query in last_first:
            assert answered[last_first[query]].wait(PATIENCE)
        if query in answered:
            answered[query].set()
        return answer(query)

    found = rf.retrieve(search, queries(3), concurrency=3)
    assert rows(3) == found_in(found)
    assert found.log["query_id"].to_list() == ["q1", "q2", "q3"]


def test_calls_one_after_another_are_made_in_the_callers_thread() -> None:
    seen = []

    def search(query: str) -> list[str]:
        seen.append((threading.current_thread(), query))
        return answer(query)

    rf.retrieve(search, queries(3))
    assert [(threading.current_thread(), text) for text in queries(3).values()] == seen


def test_no_call_is_begun_while_as_many_answers_are_not_taken() -> None:
    """So a killed process loses no more answers than it has calls under way."""
    begun: list[str] = []
    two = threading.Event()

    def search(query: str) -> list[str]:
        begun.append(query)
        if len(begun) == 2:
            two.set()
        return answer(query)

    jobs = [[Query(query, text)] for query, text in queries(9).items()]
    with Loop() as loop:
        asker = Asker(caller(search, None), Reader(10), loop, 0, 0.0, threading.Event())
        with closing(asked(asker, jobs, 2)) as answers:
            for taken in range(1, 10):
                next(answers)
                assert two.wait(PATIENCE)
                threading.Event().wait(TICK / 10)
                assert len(begun) <= taken + 1
            assert list(answers) == []
    assert sorted(queries(9).values()) == sorted(begun)


def test_threads_that_cannot_be_made_end_the_call(monkeypatch: pytest.MonkeyPatch) -> None:
    """And those that were made ask nothing more."""
    begun: list[str] = []
    full = threading.Event()

    class Thread(threading.Thread):
        def start(self) -> None:
            if self.name.endswith("-2"):
                full.set()
                raise RuntimeError("can't start new thread")
            super().start()

    def search(query: str) -> list[str]:
        begun.append(query)
        assert full.wait(PATIENCE)
        return answer(query)

    monkeypatch.setattr(asking, "Thread", Thread)
    with pytest.raises(RuntimeError, match="can't start new thread"):
        rf.retrieve(search, queries(50), concurrency=8)
    for thread in threads():
        thread.join(PATIENCE)
    assert len(begun) <= 2


# What is awaited.


async def coroutine(query: str, limit: int) -> list[str]:
    assert limit == 3
    await asyncio.sleep(0)
    return answer(query)


async def generator(query: str, limit: int) -> AsyncIterator[str]:
    for doc in [*answer(query), *(f"more {place}" for place in range(limit - 1))]:
        await asyncio.sleep(0)
        yield doc


async def coroutine_of_a_generator(query: str, limit: int) -> AsyncIterator[str]:
    await asyncio.sleep(0)
    return generator(query, limit)


async def coroutine_of_batches(queries: list[str], limit: int) -> list[list[str]]:
    return [await coroutine(query, limit) for query in queries]


class Stream:
    """Gives its items only to a loop."""

    def __init__(self, items: list[str]) -> None:
        self._items = items

    async def __aiter__(self) -> AsyncIterator[str]:
        for item in self._items:
            yield item


class Searching:
    async def search(self, query: str, limit: int) -> list[str]:
        return await coroutine(query, limit)


class OnlyAsynchronous:
    async def ainvoke(self, input: str, top_k: int) -> list[str]:
        return await coroutine(input, top_k)


class Answering:
    async def __call__(self, query: str, limit: int) -> list[str]:
        return await coroutine(query, limit)


class Promise:
    def __init__(self, query: str) -> None:
        self._query = query

    def __await__(self) -> Iterator[Any]:
        return coroutine(self._query, 3).__await__()


AWAITED: dict[str, Any] = {
    "coroutine function": coroutine,
    "generator": generator,
    "coroutine of a generator": coroutine_of_a_generator,
    "batches": coroutine_of_batches,
    "stream": lambda query: Stream(answer(query)),
    "method": Searching(),
    "asynchronous method": OnlyAsynchronous(),
    "callable": Answering(),
    "function that gives a coroutine": lambda query: coroutine(query, 3),
    "promise": Promise,
}
AWAITED["promise"] = lambda query: Promise(query)  # noqa: PLW0108  # a class is refused


@pytest.mark.parametrize("concurrency", [1, 3])
@pytest.mark.parametrize("form", AWAITED)
def test_whatever_is_awaited_is_asked_like_any_other(form: str, concurrency: int) -> None:
    """Where no loop runs, inside one that runs, and from a thread of it."""

    def ask() -> list[tuple[str, str]]:
        found = rf.retrieve(AWAITED[form], queries(5), limit=3, concurrency=concurrency)
        return [(query, doc) for query, doc in found_in(found) if not doc.startswith("more")]

    async def inside() -> list[tuple[str, str]]:
        loop = asyncio.get_running_loop()
        found = ask()
        assert loop is asyncio.get_running_loop()
        return found

    async def beside() -> list[tuple[str, str]]:
        return await asyncio.to_thread(ask)

    assert rows(5) == ask()
    assert rows(5) == asyncio.run(inside())
    assert rows(5) == asyncio.run(beside())


def test_a_loop_that_runs_goes_on_as_it_was() -> None:
    """Its tasks wait while a call blocks it, and nothing of asyncio is replaced."""
    before = (asyncio.run, asyncio.get_running_loop, asyncio.Task, asyncio.events._get_running_loop)

    async def main() -> list[str]:
        ticks: list[str] = []

        async def tick() -> None:
            ticks.append("tick")

        task = asyncio.create_task(tick())
        rf.retrieve(coroutine, queries(2), limit=3)
        ticks.append("asked")
        await task
        return ticks

    assert asyncio.run(main()) == ["asked", "tick"]
    assert before == (asyncio.run, asyncio.get_running_loop, asyncio.Task, asyncio.events._get_running_loop)


def test_all_coroutines_of_a_call_run_in_one_loop() -> None:
    """So that a client which belongs to a loop can be used for all queries."""
    loops = set()

    async def search(query: str) -> list[str]:
        loops.add(asyncio.get_running_loop())
        return answer(query)

    rf.retrieve(search, queries(8), concurrency=4)
    (loop,) = loops
    assert loop.is_closed()


def test_an_asynchronous_generator_is_read_up_to_the_limit_and_closed() -> None:
    seen: list[str] = []

    async def search(query: str) -> AsyncIterator[str]:
        try:
            for place in range(1_000_000):
                seen.append(f"read {place}")
                yield f"{query} {place}"
        finally:
            await asyncio.sleep(0)
            seen.append("closed")

    rf.retrieve(search, queries(1), limit=2)
    assert seen == ["read 0", "read 1", "closed"]


def test_tasks_that_a_retriever_leaves_behind_are_cancelled() -> None:
    ends = []
    tasks = set()

    async def forever() -> None:
        try:
            await asyncio.sleep(PATIENCE)
        except asyncio.CancelledError:
            ends.append("cancelled")
            raise

    async def search(query: str) -> list[str]:
        tasks.add(asyncio.create_task(forever()))
        await asyncio.sleep(0)
        return answer(query)

    rf.retrieve(search, queries(2))
    assert ends == ["cancelled"] * 2
    assert all(task.cancelled() for task in tasks)


# Context variables.

WHO = contextvars.ContextVar("WHO", default="nobody")


def plain_who(query: str) -> list[str]:
    return [f"{query} {WHO.get()}"]


async def awaited_who(query: str) -> list[str]:
    return [f"{query} {WHO.get()}"]


@pytest.mark.parametrize("concurrency", [1, 2])
@pytest.mark.parametrize("search", [plain_who, awaited_who])
def test_context_variables_reach_the_retriever(search: Callable[[str], Any], concurrency: int) -> None:
    def ask() -> list[str]:
        WHO.set("me")
        return rf.retrieve(search, queries(2), concurrency=concurrency).run["doc_id"].to_list()

    assert contextvars.copy_context().run(ask) == ["text q1 me", "text q2 me"]
    assert WHO.get() == "nobody"


# Again.


def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The seconds that are waited for, without waiting."""
    told: list[float] = []

    class Event(threading.Event):
        def wait(self, timeout: float | None = None) -> bool:
            assert timeout is not None
            told.append(timeout)
            return self.is_set()

    monkeypatch.setattr(retrieving, "Event", Event)
    return told


class Failing:
    """A search whose first calls for each text fail."""

    def __init__(self, times: int, error: type[Exception] = ConnectionError) -> None:
        self.calls: Counter[str] = Counter()
        self._times, self._error = times, error

    def search(self, query: str) -> list[str]:
        self.calls[query] += 1
        if self.calls[query] <= self._times:
            raise self._error(f"call {self.calls[query]}")
        return answer(query)


def test_a_call_that_raised_is_repeated_and_each_wait_is_twice_the_last(monkeypatch: pytest.MonkeyPatch) -> None:
    told, engine = waits(monkeypatch), Failing(3)
    found = rf.retrieve(engine, queries(2), retries=3, wait=0.5)
    assert rows(2) == found_in(found)
    assert set(engine.calls.values()) == {4}
    assert told == [0.5, 1.0, 2.0] * 2
    assert found.log["status"].to_list() == ["ok", "ok"]


def test_without_retries_there_is_one_call() -> None:
    engine = Failing(1)
    found = rf.retrieve(engine, queries(2), on_error="record")
    assert found.log["error"].to_list() == ["ConnectionError: call 1"] * 2
    assert set(engine.calls.values()) == {1}


def test_when_all_repetitions_fail_the_last_error_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    waits(monkeypatch)
    engine = Failing(9)
    found = rf.retrieve(engine, queries(1), retries=2, on_error="record")
    assert found.log["error"].to_list() == ["ConnectionError: call 3"]
    with pytest.raises(ConnectionError, match="call 6"):
        rf.retrieve(engine, queries(1), retries=2)


def test_an_answer_that_is_not_recognised_is_not_asked_for_again() -> None:
    calls = []

    def search(query: str) -> None:
        calls.append(query)

    found = rf.retrieve(search, queries(2), retries=5, wait=PATIENCE, on_error="record")
    assert list(queries(2).values()) == calls
    assert found.log["status"].to_list() == ["failed"] * 2
    assert all("the answer is None" in error for error in found.log["error"])


@pytest.mark.parametrize("wait", [0, 0.0, 1e300])
def test_waits_of_any_length_have_no_error_of_their_own(wait: float, monkeypatch: pytest.MonkeyPatch) -> None:
    told = waits(monkeypatch)
    rf.retrieve(Failing(1_100), queries(1), retries=1_100, wait=wait)
    assert len(told) == 1_100
    assert max(told) <= threading.TIMEOUT_MAX


def test_an_error_while_a_generator_is_read_is_repeated_too() -> None:
    calls = []

    def search(query: str) -> Iterator[str]:
        calls.append(query)
        yield "d0"
        if len(calls) < 3:
            raise ConnectionError("lost")
        yield "d1"

    assert rf.retrieve(search, queries(1), retries=2, wait=0).run["doc_id"].to_list() == ["d0", "d1"]


def test_once_a_query_failed_no_other_is_repeated() -> None:
    """Nor is it waited for, however long its wait is."""
    both = threading.Barrier(2)
    calls = []

    def search(query: str) -> None:
        calls.append(query)
        both.wait(PATIENCE)
        if query == "text q1":
            raise ConnectionError("may be better later")

    started = time.monotonic()
    with pytest.raises(rf.DataError, match="query 'q2': the answer is None"):
        rf.retrieve(search, queries(2), concurrency=2, retries=1, wait=PATIENCE)
    assert sorted(calls) == ["text q1", "text q2"]
    assert time.monotonic() - started < PATIENCE


# Batches.


class Batches:
    """A search of batches that fails for some texts, and remembers what it was asked."""

    def __init__(self, *failing: str, answering: Callable[[str], Any] = answer) -> None:
        self.calls: list[list[str]] = []
        self._failing, self._answering = failing, answering

    def search(self, queries: list[str]) -> list[Any]:
        self.calls.append(queries)
        if set(queries) & set(self._failing):
            raise ConnectionError("a query is too long")
        return [self._answering(query) for query in queries]


def test_of_a_batch_that_fails_each_query_is_asked_alone() -> None:
    """So that only those fail that cannot be answered."""
    engine = Batches("text q2")
    found = rf.retrieve(engine, queries(5), batch_size=3, on_error="record")
    assert (engine.calls) == [
        ["text q1", "text q2", "text q3"],
        ["text q1"],
        ["text q2"],
        ["text q3"],
        ["text q4", "text q5"],
    ]
    assert found.log["status"].to_list() == ["ok", "failed", "ok", "ok", "ok"]
    assert found_in(found) == [row for row in rows(5) if row[0] != "q2"]


def test_of_a_batch_that_fails_what_could_be_answered_is_kept() -> None:
    engine = Batches("text q2")
    with pytest.raises(ConnectionError) as caught:
        rf.retrieve(engine, queries(5), batch_size=3)
    assert kept_by(caught.value) == ["q1", "q3"]
    assert ["text q4", "text q5"] not in engine.calls
    assert "query 'q2' failed: 'text q2'" in caught.value.__notes__


def test_of_a_batch_one_answer_that_is_not_recognised_fails_alone() -> None:
    """The others are answered already, and not asked for again."""
    engine = Batches(answering=lambda text: None if text == "text q2" else answer(text))
    found = rf.retrieve(engine, queries(4), batch_size=4, on_error="record")
    assert len(engine.calls) == 1
    assert found.log["status"].to_list() == ["ok", "failed", "ok", "ok"]
    assert found.log["error"][1] == (
        "DataError: query 'q2': the answer is None; a query without results has an empty list, []"
    )


def test_a_batch_that_is_answered_for_fewer_queries_fails_whole() -> None:
    """Whose the answers are is not guessed, and asking again would hide it."""
    calls = []

    def search(queries: list[str]) -> list[list[str]]:
        calls.append(len(queries))
        return [answer(queries[0])]

    found = rf.retrieve(search, queries(3), batch_size=3, on_error="record")
    told = "DataError: a batch of 3 queries was answered with 1 answers; expected a list with the results of each query"
    assert [told] * 3 == found.log["error"].to_list()
    assert calls == [3]


def test_the_time_of_a_batch_is_shared_by_its_queries() -> None:
    def search(queries: list[str]) -> list[list[str]]:
        threading.Event().wait(TICK)
        return [answer(query) for query in queries]

    latency = rf.retrieve(search, queries(4), batch_size=4).log["latency_s"]
    assert latency.n_unique() == 1
    assert TICK * 0.9 <= latency.sum() < PATIENCE


# When a query fails.


def test_what_is_under_way_when_a_query_fails_is_kept_and_nothing_further_is_begun(
    stops: list[threading.Event],
) -> None:
    begun = []
    three = threading.Barrier(3)

    def search(query: str) -> list[str]:
        begun.append(query)
        three.wait(PATIENCE)
        if query == "text q2":
            raise ConnectionError("lost")
        assert stops[0].wait(PATIENCE)
        return answer(query)

    with pytest.raises(ConnectionError, match="lost") as caught:
        rf.retrieve(search, queries(9), concurrency=3)
    assert kept_by(caught.value) == ["q1", "q3"]
    assert len(begun) == 3


def test_of_several_errors_the_first_is_raised() -> None:
    second = threading.Event()

    def search(query: str) -> list[str]:
        if query == "text q2":
            try:
                raise ConnectionError("first")
            finally:
                second.set()
        assert second.wait(PATIENCE)
        threading.Event().wait(TICK)
        raise TimeoutError("second")

    with pytest.raises(ConnectionError, match="first"):
        rf.retrieve(search, queries(2), concurrency=2)


def plain(search: Callable[[str], Any]) -> Callable[[str], Any]:
    return lambda query: search(query)  # noqa: PLW0108  # one of the ways below


def awaited(search: Callable[[str], Any]) -> Callable[[str], Awaitable[Any]]:
    async def retriever(query: str) -> Any:
        return search(query)

    return retriever


def awaited_from_a_task(search: Callable[[str], Any]) -> Callable[[str], Awaitable[Any]]:
    async def inner(query: str) -> Any:
        return search(query)

    async def retriever(query: str) -> Any:
        return await asyncio.create_task(inner(query))

    return retriever


@pytest.mark.parametrize("way", [plain, awaited, awaited_from_a_task])
@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
@pytest.mark.parametrize("concurrency", [1, 2])
def test_an_interrupt_or_exit_in_a_retriever_ends_the_call_and_keeps_what_is_finished(
    concurrency: int, error: type[BaseException], way: Callable[..., Any], stops: list[threading.Event]
) -> None:
    """What is under way beside it is kept too; no error of these is recorded as a failed query."""
    third = threading.Event()

    def search(query: str) -> list[str]:
        if query == "text q3":
            third.set()
            raise error("enough")
        if concurrency == 2 and way is plain:  # a coroutine that waits so would keep the others from running
            if query == "text q2":
                assert third.wait(PATIENCE)
            if query == "text q4":
                assert stops[0].wait(PATIENCE)
        return answer(query)

    with pytest.raises(error, match="enough") as caught:
        rf.retrieve(way(search), queries(9), concurrency=concurrency, on_error="record")
    kept = kept_by(caught.value)
    assert kept[:2] == ["q1", "q2"]
    assert "q3" not in kept
    if way is plain:
        assert len(kept) <= 3
    assert "it came while query 'q3' was asked" in caught.value.__notes__


@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="needs signals of POSIX")
def test_an_interrupt_from_outside_ends_the_call_at_once_and_keeps_what_has_come() -> None:
    """It does not wait for what is under way."""
    answered, ended = threading.Event(), threading.Event()
    main = threading.main_thread().ident
    assert main is not None

    def search(query: str) -> list[str]:
        if query == "text q2":
            assert answered.wait(PATIENCE)
            threading.Event().wait(TICK)
            signal.pthread_kill(main, signal.SIGINT)
        if query == "text q3":
            answered.set()
        if query in ("text q2", "text q3"):
            assert ended.wait(PATIENCE)
        return answer(query)

    with pytest.raises(KeyboardInterrupt) as caught:
        rf.retrieve(search, queries(9), concurrency=2)
    assert kept_by(caught.value) == ["q1"]
    ended.set()
    for thread in threads():
        thread.join(PATIENCE)


def test_when_answers_cannot_be_kept_nothing_further_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a full disk: the retriever is not asked behind the back of who handles the error."""
    begun = []
    add = checkpoint.Records.add

    def full(self: checkpoint.Records, one: checkpoint.Record) -> None:
        if one.query_id == "q2":
            raise OSError("no space left")
        add(self, one)

    def search(query: str) -> list[str]:
        begun.append(query)
        return answer(query)

    monkeypatch.setattr(checkpoint.Records, "add", full)
    with pytest.raises(OSError, match="no space left") as caught:
        rf.retrieve(search, queries(500), concurrency=4)
    for thread in threads():
        thread.join(PATIENCE)
    assert "q1" in kept_by(caught.value)
    assert len(begun) < 20


def test_nothing_is_left_for_the_end_of_the_program() -> None:
    """No coroutine that was never awaited, no task that is destroyed while it waits, whatever happened."""

    async def search(query: str) -> list[str]:
        if query == "text q3":
            raise ConnectionError("lost")
        await asyncio.sleep(0)
        return answer(query)

    for concurrency in (1, 4):
        rf.retrieve(search, queries(6), concurrency=concurrency, on_error="record", retries=1, wait=0)
        with pytest.raises(ConnectionError):
            rf.retrieve(search, queries(6), concurrency=concurrency)
    gc.collect()  # a warning would come now, and warnings are errors


def test_a_retriever_may_ask_another() -> None:
    """As one that rewrites the query first; plain ones and coroutines in any order."""

    async def inner(query: str) -> list[str]:
        return answer(query)

    def outer(query: str) -> list[str]:
        return rf.retrieve(inner, {"one": query}).run["doc_id"].to_list()

    async def outermost(query: str) -> list[str]:
        return rf.retrieve(outer, {"one": query}).run["doc_id"].to_list()

    assert rows(3) == found_in(rf.retrieve(outermost, queries(3), concurrency=2))
