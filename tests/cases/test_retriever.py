"""A retriever fails, has errors of its own, answers lazily or finds nothing: no work is lost, and no failure hidden."""

from __future__ import annotations

import asyncio
import functools
import itertools
import re
import subprocess
import sys
import threading
from collections import Counter, deque
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import rankframe as rf
from rankframe.evaluation import RetrievalEvalReport, evaluate_retrieval

from .helpers import ledger

Searching = Callable[[str], Any]

QUERIES = {f"q{number:03d}": f"text {number:03d}" for number in range(100)}
QRELS = {query: {f"d{number:03d}": 1} for number, query in enumerate(QUERIES)}
SIXTIETH = "q059"
ONE = {"q1": "red kite"}


def first_relevant(text: str) -> list[str]:
    """The document that is relevant to one of QUERIES, and one that is not."""
    return [text.replace("text ", "d"), "other"]


@dataclass
class Engine:
    """A search that remembers what it was asked, and fails for some texts."""

    failing: Mapping[str, BaseException] = field(default_factory=dict)
    find: Searching = first_relevant
    asked: list[str] = field(default_factory=list)

    def __call__(self, text: str) -> Any:
        self.asked.append(text)
        if text in self.failing:
            raise self.failing[text]
        return self.find(text)


# One search in every form that a retriever has.


def plain(search: Searching) -> Any:
    def retriever(query: str, limit: int) -> Any:
        assert limit >= 1
        return search(query)

    return retriever


def coroutine(search: Searching) -> Any:
    async def retriever(query: str, limit: int) -> Any:
        assert limit >= 1
        await asyncio.sleep(0)
        return search(query)

    return retriever


def batch(search: Searching) -> Any:
    def retriever(queries: Sequence[str], limit: int) -> list[Any]:
        assert limit >= 1
        return [search(query) for query in queries]

    return retriever


def coroutine_of_batches(search: Searching) -> Any:
    async def retriever(queries: Sequence[str], limit: int) -> list[Any]:
        assert limit >= 1
        await asyncio.sleep(0)
        return [search(query) for query in queries]

    return retriever


def method(search: Searching) -> Any:
    class Index:
        def search(self, query: str, *, top_k: int) -> Any:
            assert top_k >= 1
            return search(query)

    return Index()


WAYS = {way.__name__: way for way in (plain, coroutine, batch, coroutine_of_batches, method)}
every_way = pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
alone_or_at_once = pytest.mark.parametrize("concurrency", [1, 8])
kept_or_not = pytest.mark.parametrize("kept", ["in memory", "in a checkpoint"])


def retrieval(error: BaseException) -> rf.Retrieval:
    """What was finished, as the error carries it."""
    found = vars(error)["retrieval"]
    assert isinstance(found, rf.Retrieval)
    return found


def notes(error: BaseException) -> str:
    return "\n".join(error.__notes__)


def scores(found: object, **options: Any) -> tuple[float, int, int]:
    """Mean recall at 1 over QUERIES, how many queries count, and how many failed."""
    report = rf.evaluate(found, QRELS, metrics="recall@1", **options)
    value, counted, failed = report.summary.select("value", "n", "n_failed").row(0)
    return value, counted, failed


# It fails.


def test_retriever_raises_midway(tmp_path: Path) -> None:
    """The error is the retriever's, names the query and carries the 59 results; or the call goes on and counts it."""
    calls: list[str] = []

    def retriever(query: str) -> list[str]:
        calls.append(query)
        if len(calls) == 60:
            raise ConnectionError("connection reset by peer")
        return first_relevant(query)

    with pytest.raises(ConnectionError) as caught:
        evaluate_retrieval(retriever, QRELS, QUERIES, k_values=(1,))
    assert str(caught.value) == "connection reset by peer"
    assert [QUERIES[query] for query in list(QUERIES)[:60]] == calls
    assert f"query {SIXTIETH!r}" in notes(caught.value)
    finished = retrieval(caught.value)
    assert list(QUERIES)[:59] == finished.log["query_id"].to_list()
    assert (59 * ["ok"], [f"d{number:03d}" for number in range(59)]) == (
        finished.log["status"].to_list(),
        finished.run["doc_id"].to_list(),
    )

    finished.write_parquet(tmp_path / "finished.parquet")
    resumed = rf.retrieve(retriever, QUERIES, limit=1, checkpoint=tmp_path / "finished.parquet")
    assert len(calls) == 60 + 41
    assert scores(resumed) == (1.0, 100, 0)

    calls.clear()
    found = rf.retrieve(retriever, QUERIES, limit=1, on_error="record")
    report = rf.evaluate(found, QRELS, metrics="recall@1")
    assert pytest.approx(0.99) == report.value("recall@1")
    assert ledger(report) == {"failed_query": (1, [SIXTIETH])}
    assert report.summary.select("n", "n_failed").row(0) == (100, 1)
    assert len(calls) == 100


@pytest.mark.parametrize("kept", ["in the error", "in a checkpoint"])
@alone_or_at_once
@every_way
def test_what_was_finished_before_an_error_is_not_asked_again(
    way: Callable[[Searching], Any], concurrency: int, kept: str, tmp_path: Path
) -> None:
    """All that came before the failing query is kept; with several calls at once, what else ended meanwhile too."""
    path = tmp_path / "kept.parquet"
    error = ConnectionError("reset")
    with pytest.raises(ConnectionError) as caught:
        rf.retrieve(
            way(Engine({QUERIES[SIXTIETH]: error})),
            QUERIES,
            limit=1,
            concurrency=concurrency,
            checkpoint=path if kept == "in a checkpoint" else None,
        )
    assert caught.value is error
    assert f"query {SIXTIETH!r}" in notes(error)
    finished = retrieval(error)
    done = finished.log["query_id"].to_list()
    assert set(list(QUERIES)[:59]) <= set(done)
    assert SIXTIETH not in done
    assert finished.log["status"].unique().to_list() == ["ok"]
    if kept == "in the error":
        finished.write_parquet(path)
    else:
        assert sorted(done) == sorted(rf.read_retrieval(path).log["query_id"])

    mended = Engine()
    found = rf.retrieve(way(mended), QUERIES, limit=1, concurrency=concurrency, checkpoint=path)
    assert sorted(QUERIES[query] for query in set(QUERIES) - set(done)) == sorted(mended.asked)
    assert list(QUERIES) == found.log["query_id"].to_list() == found.run["query_id"].to_list()
    assert scores(found) == (1.0, 100, 0)


@kept_or_not
@alone_or_at_once
@every_way
def test_a_failed_query_is_counted_and_never_left_out_unseen(
    way: Callable[[Searching], Any], concurrency: int, kept: str, tmp_path: Path
) -> None:
    """Under on_error="record" the mean counts it 0, or not by the caller's choice; its number stands beside either."""
    path = tmp_path / "kept.parquet" if kept == "in a checkpoint" else None
    engine = Engine({QUERIES[SIXTIETH]: ConnectionError("reset")})
    found = rf.retrieve(way(engine), QUERIES, limit=1, concurrency=concurrency, on_error="record", checkpoint=path)
    failed = found.log.filter(status="failed")
    assert failed.select("query_id", "n_results", "error").rows() == [(SIXTIETH, None, "ConnectionError: reset")]
    assert set(QUERIES.values()) == set(engine.asked)
    assert scores(found) == (0.99, 100, 1)
    assert scores(found, failed="skip") == (1.0, 99, 1)
    assert ledger(rf.evaluate(found, QRELS, failed="skip")) == {"failed_query": (1, [SIXTIETH])}
    if path is not None:
        mended = Engine()
        again = rf.retrieve(way(mended), QUERIES, limit=1, concurrency=concurrency, checkpoint=path)
        assert [QUERIES[SIXTIETH]] == mended.asked
        assert scores(again) == (1.0, 100, 0)


def test_what_was_finished_before_the_process_was_killed_is_not_asked_again(tmp_path: Path) -> None:
    """It is in the checkpoint from the moment that it is answered."""
    path = tmp_path / "kept.parquet"
    script = f"""
import os
import re
import rankframe as rf

class Index:
    calls = 0

    def search(self, query, limit):
        self.calls += 1
        if self.calls == 60:
            os._exit(9)
        return [query.replace("text ", "d")]

rf.retrieve(Index(), {QUERIES!r}, limit=1, checkpoint={str(path)!r})
"""
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 9
    mended = Engine()
    found = rf.retrieve(method(mended), QUERIES, limit=1, checkpoint=path)
    assert list(QUERIES.values())[59:] == mended.asked
    assert scores(found) == (1.0, 100, 0)


def test_what_an_error_carries_is_scored_with_the_rest_as_missing() -> None:
    """Nobody takes the mean of 59 queries for that of 100."""
    engine = Engine({QUERIES[SIXTIETH]: ConnectionError("reset")})
    with pytest.raises(ConnectionError) as caught:
        evaluate_retrieval(plain(engine), QRELS, QUERIES, k_values=(1,))
    report = rf.evaluate(retrieval(caught.value), QRELS, metrics="recall@1")
    assert pytest.approx(0.59) == report.value("recall@1")
    assert ledger(report)["missing_query"][0] == 41


@pytest.mark.parametrize("fails", [1, 2, 3])
@every_way
def test_retries_repeat_a_call_that_raised(way: Callable[[Searching], Any], fails: int) -> None:
    """Until it answers, or as often as was said; nothing of it is left in the results."""
    calls: list[str] = []

    def search(text: str) -> list[str]:
        calls.append(text)
        if len(calls) <= fails:
            raise TimeoutError("slow")
        return ["d1"]

    if fails <= 2:
        found = rf.retrieve(way(search), ONE, retries=2, wait=0)
        assert found.log.select("query_id", "n_results", "status", "error").rows() == [("q1", 1, "ok", None)]
    else:
        with pytest.raises(TimeoutError):
            rf.retrieve(way(search), ONE, retries=2, wait=0)
    assert min(fails + 1, 3) * ["red kite"] == calls


class ApiError(Exception):
    """An error that cannot be made from its text."""

    def __init__(self, status: int, *, body: bytes) -> None:
        super().__init__(status, body)


ERRORS: dict[str, Callable[[], Exception]] = {
    "connection": lambda: ConnectionError("reset"),
    "timeout": TimeoutError,
    "type": lambda: TypeError("search() got an unexpected keyword argument 'limit'"),
    "value": lambda: ValueError("k must be at most 3"),
    "key": lambda: KeyError("doc_id"),
    "attribute": lambda: AttributeError("'NoneType' object has no attribute 'search'"),
    "assertion": AssertionError,
    "recursion": lambda: RecursionError("maximum recursion depth exceeded"),
    "memory": MemoryError,
    "system": lambda: OSError(28, "No space left on device"),
    "codec": lambda: UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid start byte"),
    "group": lambda: ExceptionGroup("several", [ValueError("one"), OSError("two")]),
    "of the client": lambda: ApiError(503, body=b""),
    "warning": lambda: UserWarning("deprecated"),
    "of rankframe": lambda: rf.DataError("the index is empty"),
    "stop": lambda: StopIteration("no more"),
}
NOT_OF_COROUTINES = ("stop",)
"""Python itself makes a RuntimeError of these where a coroutine raises them."""
THREE = {"q1": "first", "q2": "second", "q3": "third"}


def told_whole(kind: str, way: object) -> bool:
    """Whether all queries of a batch fail: a TypeError says that it is asked in another way than it takes lists."""
    return kind == "type" and way in (batch, coroutine_of_batches)


@alone_or_at_once
@every_way
@pytest.mark.parametrize("kind", ERRORS)
def test_errors_of_every_type_reach_the_caller_as_they_are(
    kind: str, way: Callable[[Searching], Any], concurrency: int
) -> None:
    """Not wrapped, not repeated in other words; with the query, and with what was finished."""
    error = ERRORS[kind]()
    engine = Engine({"second": error}, find=lambda _: ["d1"])
    try:
        rf.retrieve(way(engine), THREE, concurrency=concurrency)
    except Exception as caught:  # noqa: BLE001  # each of them
        raised: Exception = caught
    if kind in NOT_OF_COROUTINES and way in (coroutine, coroutine_of_batches):
        assert raised.__cause__ is error
    else:
        assert raised is error
        assert str(ERRORS[kind]()) == str(raised)
    whole = told_whole(kind, way)
    assert ("q1 to q3" if whole else "query 'q2' failed: 'second'") in notes(raised).replace("'q1' to 'q3'", "q1 to q3")
    assert ("q1" in retrieval(raised).log["query_id"]) is not whole
    assert "q2" not in retrieval(raised).log["query_id"]


@pytest.mark.parametrize("kind", ERRORS)
@every_way
def test_errors_of_every_type_are_recorded(way: Callable[[Searching], Any], kind: str) -> None:
    """By class and message, for the query alone that failed."""
    error = ERRORS[kind]()
    engine = Engine({"second": error}, find=lambda _: ["d1"])
    found = rf.retrieve(way(engine), THREE, on_error="record")
    if told_whole(kind, way):
        assert found.log["status"].to_list() == ["failed"] * 3
        return
    assert found.log["status"].to_list() == ["ok", "failed", "ok"]
    told = found.log["error"].to_list()
    assert told[::2] == [None, None]
    if not (kind in NOT_OF_COROUTINES and way in (coroutine, coroutine_of_batches)):
        parts = [f"{type(part).__name__}: {part}" for part in getattr(error, "exceptions", ())]
        said = ": ".join([str(error), ", ".join(parts)] if parts else [str(error)] if str(error) else [])
        assert ": ".join([type(error).__name__, said] if said else [type(error).__name__]) == told[1]
    assert found.run["query_id"].to_list() == ["q1", "q3"]


@dataclass(frozen=True)
class FrozenError(Exception):
    """An error that nothing can be written on."""

    status: int


@every_way
def test_an_error_that_takes_no_note_reaches_the_caller_too(way: Callable[[Searching], Any]) -> None:
    """And not the error of writing on it."""
    engine = Engine({"second": FrozenError(503)}, find=lambda _: ["d1"])
    try:
        rf.retrieve(way(engine), THREE)
    except Exception as caught:  # noqa: BLE001  # that is the question
        raised = caught
    assert FrozenError(503) == raised


class SpeechlessError(Exception):
    """An error whose own text fails."""

    def __str__(self) -> str:
        raise RuntimeError("no text")


def test_an_error_whose_text_fails_is_recorded_by_its_class() -> None:
    """It does not end a call that was to go on."""
    found = rf.retrieve(plain(Engine({"second": SpeechlessError()}, find=lambda _: ["d1"])), THREE, on_error="record")
    assert found.log["status"].to_list() == ["ok", "failed", "ok"]
    assert str(found.log["error"][1]).startswith("SpeechlessError")


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit])
@pytest.mark.parametrize("on_error", ["raise", "record"])
@alone_or_at_once
@pytest.mark.parametrize("way", [plain, batch, method])
def test_an_interrupt_ends_the_call_and_what_was_finished_is_kept(
    way: Callable[[Searching], Any], concurrency: int, on_error: Any, kind: type[BaseException], tmp_path: Path
) -> None:
    """Whatever is to be done about errors: this is none of them."""
    path = tmp_path / "kept.parquet"
    engine = Engine({QUERIES[SIXTIETH]: kind()})
    with pytest.raises(kind) as caught:
        rf.retrieve(
            way(engine),
            QUERIES,
            limit=1,
            batch_size=10 if way is batch else None,
            concurrency=concurrency,
            on_error=on_error,
            checkpoint=path,
        )
    finished = rf.read_retrieval(path)
    assert sorted(finished.log["query_id"]) == sorted(retrieval(caught.value).log["query_id"])
    assert SIXTIETH not in finished.log["query_id"]
    if concurrency == 1:
        assert finished.log.height == (50 if way is batch else 59)
    mended = Engine()
    found = rf.retrieve(way(mended), QUERIES, limit=1, checkpoint=path)
    assert len(mended.asked) == 100 - finished.log.height
    assert scores(found) == (1.0, 100, 0)


@pytest.mark.parametrize("way", [coroutine, coroutine_of_batches])
def test_an_exit_inside_a_coroutine_ends_the_call(way: Callable[[Searching], Any]) -> None:
    """It is not waited for: the thread that it ended answers no more."""
    outcome: list[type[BaseException]] = []

    def call() -> None:
        try:
            rf.retrieve(way(Engine({"second": SystemExit(3)}, find=lambda _: ["d1"])), THREE)
        except BaseException as error:  # noqa: BLE001  # that is the question
            outcome.append(type(error))

    thread = threading.Thread(target=call, daemon=True)
    thread.start()
    thread.join(5)
    assert [SystemExit] == outcome


@pytest.mark.parametrize("way", [coroutine, coroutine_of_batches])
def test_no_event_loop_is_left_behind(way: Callable[[Searching], Any]) -> None:
    """After an error neither, and inside of a loop that runs already."""

    async def inside() -> None:
        with pytest.raises(ConnectionError):
            rf.retrieve(way(Engine({"second": ConnectionError("reset")})), THREE)

    asyncio.run(inside())
    assert not [thread for thread in threading.enumerate() if thread.name == "rankframe-asking"]


# It has an error of its own.


def test_retriever_typeerror_not_masked() -> None:
    """The body runs once, and its own TypeError reaches the caller with its own line."""
    calls = []

    def retrieve(query: str, limit: int = 10) -> Any:  # noqa: ARG001  # it takes one
        calls.append(query)
        return len(None)  # type: ignore[arg-type]  # the fault

    with pytest.raises(TypeError) as caught:
        evaluate_retrieval(retrieve, {"q1": {"d1": 1}}, ONE)
    assert str(caught.value) == "object of type 'NoneType' has no len()"
    assert caught.traceback[-1].name == "retrieve"
    assert str(caught.traceback[-1].statement).strip().startswith("return len(None)")
    assert calls == ["red kite"]
    assert "limit" not in notes(caught.value)


LIKE_A_SIGNATURE = "retriever() got an unexpected keyword argument 'limit'"


Fail = Callable[..., Any]


def _functions(fail: Fail) -> tuple[Any, ...]:
    def without(query: str) -> Any:
        return fail(query)

    def limit(query: str, limit: int = 10) -> Any:
        return fail(query, limit)

    def required(query: str, k: int) -> Any:
        return fail(query, k)

    def named(text: str, *, n_results: int = 5) -> Any:
        return fail(text, n_results)

    def positional(query: str, top_k: int, /) -> Any:
        return fail(query, top_k)

    def options(query: str, **options: Any) -> Any:
        return fail(query, **options)

    def with_id(query: str, query_id: str, limit: int) -> Any:
        assert query_id == "q1"
        return fail(query, limit)

    @functools.wraps(limit)
    def wrapped(*args: Any, **options: Any) -> Any:
        return limit(*args, **options)

    return without, limit, required, named, positional, options, with_id, wrapped


def _awaited(fail: Fail) -> tuple[Any, ...]:
    async def awaited(query: str, limit: int = 10) -> Any:
        return fail(query, limit)

    def batches(queries: list[str], limit: int = 10) -> Any:
        return fail(*queries, limit)

    async def awaited_batches(queries: list[str], limit: int = 10) -> Any:
        return fail(*queries, limit)

    def lazy(query: str, limit: int = 10) -> Iterator[str]:
        yield fail(query, limit)

    async def awaited_lazy(query: str, limit: int = 10) -> AsyncIterator[str]:
        yield fail(query, limit)

    return awaited, batches, awaited_batches, lazy, awaited_lazy


def _objects(fail: Fail) -> dict[str, Any]:
    class Index:
        def search(self, query: str, *, limit: int = 10) -> Any:
            return fail(query, limit)

        def __call__(self, query: str, limit: int = 10) -> Any:
            return fail(query, limit)

    class Called:
        def __call__(self, query: str, limit: int = 10) -> Any:
            return fail(query, limit)

    def settled(query: str, index: str, limit: int) -> Any:
        assert index == "main"
        return fail(query, limit)

    partial = functools.partial(settled, index="main")
    return {"partial": partial, "object": Index(), "bound method": Index().search, "called object": Called()}


def _failing(calls: list[tuple[Any, ...]]) -> dict[str, Any]:
    """Retrievers of every signature, which tell how they were called and fail like a call of a wrong signature."""

    def fail(*args: Any, **options: Any) -> Any:
        calls.append((*args, *options.items()))
        raise TypeError(LIKE_A_SIGNATURE)

    return {made.__name__: made for made in (*_functions(fail), *_awaited(fail))} | _objects(fail)


@alone_or_at_once
@pytest.mark.parametrize("form", _failing([]))
def test_a_body_runs_once_whatever_its_type_error_says(form: str, concurrency: int) -> None:
    """How it is called is read off its signature and never tried, even where the message is that of a wrong call."""
    calls: list[tuple[Any, ...]] = []
    retriever = _failing(calls)[form]
    with pytest.raises(TypeError) as caught:
        rf.retrieve(retriever, ONE, limit=7, concurrency=concurrency)
    assert str(caught.value) == LIKE_A_SIGNATURE
    assert caught.traceback[-1].name == "fail"
    assert [("red kite",) if form in ("without", "options") else ("red kite", 7)] == calls


def test_a_batch_with_a_type_error_is_asked_once() -> None:
    """As one query alone would be: it is not hidden behind further calls."""
    calls: list[list[str]] = []

    def retriever(queries: list[str], limit: int = 10) -> list[list[str]]:
        calls.append(queries)
        return [len(None) for _ in queries[:limit]]  # type: ignore[arg-type, misc]  # the mistake

    with pytest.raises(TypeError, match="object of type 'NoneType' has no len"):
        rf.retrieve(retriever, THREE)
    assert calls == [["first", "second", "third"]]


def test_a_batch_that_fails_is_asked_with_its_limit_every_time() -> None:
    """Each of its queries alone afterwards, which tells the one that fails and saves the others."""
    calls: list[tuple[list[str], int]] = []

    def retriever(queries: list[str], limit: int = 10) -> list[list[str]]:
        calls.append((queries, limit))
        if "second" in queries:
            raise ValueError(LIKE_A_SIGNATURE)
        return [["d1"] for _ in queries]

    with pytest.raises(ValueError, match=re.escape(LIKE_A_SIGNATURE)) as caught:
        rf.retrieve(retriever, THREE, limit=7)
    assert str(caught.value) == LIKE_A_SIGNATURE
    assert calls == [(["first", "second", "third"], 7), (["first"], 7), (["second"], 7), (["third"], 7)]
    assert retrieval(caught.value).log["query_id"].to_list() == ["q1", "q3"]


# It answers lazily.


def test_generator_results() -> None:
    """A generator is read once for all cutoffs; an endless one as far as the largest of them."""

    def two(query: str, k: int) -> Iterator[tuple[str, float]]:  # noqa: ARG001  # it takes both
        yield "d2", 0.9
        yield "d1", 0.8

    taken: list[int] = []

    def endless(query: str, k: int) -> Iterator[tuple[str, float]]:  # noqa: ARG001  # it takes both
        for number in itertools.count():
            taken.append(number)
            yield f"d{number}", 1.0 / (number + 1)

    first = evaluate_retrieval(two, {"q1": {"d1": 1}}, ONE, k_values=(1, 2), metrics=("recall", "mrr"))
    assert first.metrics == {"recall@1": 0.0, "recall@2": 1.0, "mrr@1": 0.0, "mrr@2": 0.5}
    second = evaluate_retrieval(endless, {"q1": {"d1": 1}}, ONE, k_values=(1, 2), metrics=("recall",))
    assert second.metrics == {"recall@1": 0.0, "recall@2": 1.0}
    assert taken == [0, 1]


@dataclass
class Endless:
    """Endless results of each query, of which it is counted how many are taken and which of them were ended."""

    taken: Counter[str] = field(default_factory=Counter)
    ended: list[str] = field(default_factory=list)

    def results(self, query: str) -> Iterator[tuple[str, float]]:
        try:
            for number in itertools.count():
                self.taken[query] += 1
                yield f"d{number}", 1.0 / (number + 1)
        finally:
            self.ended.append(query)

    async def coming(self, query: str) -> AsyncIterator[tuple[str, float]]:
        try:
            for number in itertools.count():
                self.taken[query] += 1
                yield f"d{number}", 1.0 / (number + 1)
                await asyncio.sleep(0)
        finally:
            self.ended.append(query)


class Cursor:
    """An iterator that is no generator."""

    def __init__(self, rows: Iterator[Any]) -> None:
        self.rows = rows

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        return next(self.rows)


def _lazy(source: Endless) -> dict[str, Any]:
    """Retrievers that give endless results, in every way."""

    def generator(query: str, k: int) -> Iterator[Any]:  # noqa: ARG001  # it takes both
        yield from source.results(query)

    async def asynchronous(query: str) -> AsyncIterator[Any]:
        async for result in source.coming(query):
            yield result

    async def awaited_generator(query: str) -> Any:
        return source.results(query)

    async def awaited_asynchronous(query: str) -> Any:
        return source.coming(query)

    async def awaited_batch(queries: list[str]) -> list[Any]:
        return [source.results(query) for query in queries]

    async def asynchronous_batch(queries: list[str]) -> AsyncIterator[Any]:
        for query in queries:
            yield source.results(query)

    return {
        "generator": generator,
        "iterator": lambda query: Cursor(source.results(query)),
        "map": lambda query: map(list, source.results(query)),
        "ids": lambda query: (doc for doc, _ in source.results(query)),
        "mappings": lambda query: ({"doc_id": doc, "score": score} for doc, score in source.results(query)),
        "asynchronous": asynchronous,
        "awaited generator": awaited_generator,
        "awaited asynchronous": awaited_asynchronous,
        "batch": lambda queries: [source.results(query) for query in queries],
        "generator of a batch": lambda queries: (source.results(query) for query in queries),
        "awaited batch": awaited_batch,
        "asynchronous batch": asynchronous_batch,
    }


@kept_or_not
@alone_or_at_once
@pytest.mark.parametrize("form", _lazy(Endless()))
def test_lazy_results_are_taken_up_to_the_limit_and_no_further(
    form: str, concurrency: int, kept: str, tmp_path: Path
) -> None:
    """Of every query its own results, as often as there are cutoffs from one reading."""
    source = Endless()
    queries = dict(list(QUERIES.items())[:20])
    checkpoint = tmp_path / "kept.parquet" if kept == "in a checkpoint" else None
    found = rf.retrieve(_lazy(source)[form], queries, limit=3, concurrency=concurrency, checkpoint=checkpoint)
    assert dict.fromkeys(queries.values(), 3) == source.taken
    assert found.run["doc_id"].to_list() == 20 * ["d0", "d1", "d2"]
    report = rf.evaluate(found, {query: {"d1": 1} for query in queries}, metrics=["recall@1", "recall@2", "mrr@3"])
    assert report.summary["value"].to_list() == [0.0, 1.0, 0.5]


@pytest.mark.parametrize("form", [form for form in _lazy(Endless()) if form not in ("iterator", "map")])
def test_generators_are_closed_when_enough_is_taken(form: str) -> None:
    """What they hold, such as a connection, is given back before the call returns."""
    source = Endless()
    held = _lazy(source)[form]
    rf.retrieve(held, THREE, limit=2)
    assert sorted(THREE.values()) == sorted(source.ended)


@pytest.mark.parametrize(("limit", "taken"), [(None, 5), (5, 5), (2, 2), (9, 9)])
def test_lazy_results_of_evaluate_retrieval_are_taken_up_to_its_limit(limit: int | None, taken: int) -> None:
    """Which is the largest cutoff unless it is given."""
    source = Endless()
    evaluate_retrieval(_lazy(source)["generator"], {"q1": {"d1": 1}}, ONE, k_values=(5, 1), limit=limit)
    assert {"red kite": taken} == source.taken


def test_lazy_results_may_end_before_the_limit_or_hold_nothing() -> None:
    answers = {"first": iter(["d1"]), "second": iter([]), "third": (doc for doc in ("d1", "d2"))}
    found = rf.retrieve(lambda query: answers[query], THREE, limit=5)
    assert found.run.select("query_id", "doc_id").rows() == [("q1", "d1"), ("q3", "d1"), ("q3", "d2")]
    assert found.log["n_results"].to_list() == [1, 0, 2]


def test_lazy_results_of_one_document_count_as_results() -> None:
    """No more are read for them; that documents are fewer than the cutoff is told."""
    taken: list[str] = []

    def retriever(query: str) -> Iterator[str]:  # noqa: ARG001  # it takes one
        for doc in ("d2", "d2", "d1", "d3"):
            taken.append(doc)
            yield doc

    with pytest.warns(rf.RankframeWarning, match=r"fewer documents than the largest cutoff, 2.*limit="):
        short = evaluate_retrieval(retriever, {"q1": {"d1": 1}}, ONE, k_values=(2,), metrics=("recall",))
    assert (short.metrics, taken) == ({"recall@2": 0.0}, ["d2", "d2"])
    longer = evaluate_retrieval(retriever, {"q1": {"d1": 1}}, ONE, k_values=(2,), metrics=("recall",), limit=3)
    assert longer.metrics == {"recall@2": 1.0}


@every_way
def test_lazy_results_that_fail_are_an_error_of_their_query_unless_nobody_gets_there(
    way: Callable[[Searching], Any],
) -> None:
    def breaking(text: str) -> Iterator[str]:
        yield "d1"
        if text == "second":
            raise ConnectionError("reset")
        yield "d2"

    assert rf.retrieve(way(breaking), THREE, limit=1).run["doc_id"].to_list() == ["d1", "d1", "d1"]
    with pytest.raises(ConnectionError) as caught:
        rf.retrieve(way(breaking), THREE, limit=2)
    assert str(caught.value) == "reset"
    assert "query 'q2'" in notes(caught.value)
    found = rf.retrieve(way(breaking), THREE, limit=2, on_error="record")
    assert found.log["n_results"].to_list() == [2, None, 2]
    assert "q2" not in found.run["query_id"]


def test_a_batch_without_end_is_refused() -> None:
    """One answer for each query: reading on would never tell."""
    taken: list[int] = []

    def retriever(queries: list[str]) -> Iterator[list[str]]:  # noqa: ARG001  # it takes them
        for number in itertools.count():
            taken.append(number)
            yield ["d1"]

    with pytest.raises(rf.DataError, match="a batch of 1 queries was answered with more answers"):
        rf.retrieve(retriever, ONE)
    assert taken == [0, 1]


# It finds nothing.


def nothing(
    retriever: Any, qrels: Mapping[str, Mapping[str, float]], queries: Mapping[str, str]
) -> RetrievalEvalReport:
    """The report on a retriever that finds nothing for any query, of which a warning tells."""
    with pytest.warns(rf.RankframeWarning, match="is empty; judged queries that returned nothing and count 0"):
        return evaluate_retrieval(retriever, qrels, queries, k_values=(5,))


ZERO = {"ndcg@5": 0.0, "recall@5": 0.0, "precision@5": 0.0, "mrr@5": 0.0, "map@5": 0.0}


def test_retriever_returns_nothing() -> None:
    """An empty list or mapping is a normal answer that scores 0; None is an error that names the query and says so."""
    qrels = {"q1": {"d1": 1}}
    empty: tuple[Any, ...] = (lambda q, k: [], lambda q, k: {})  # noqa: ARG005  # they take both
    for retriever in empty:
        report = nothing(retriever, qrels, ONE)
        assert report.metrics == ZERO
        assert report.per_query == {"q1": ZERO}
        assert report.n_queries == 1
    with pytest.raises(ValueError, match=r"query 'q1'.* None.*empty list") as caught:
        evaluate_retrieval(lambda q, k: None, qrels, ONE, k_values=(5,))  # noqa: ARG005
    assert "query 'q1'" in notes(caught.value)


EMPTY: dict[str, Callable[[], Any]] = {
    "list": list,
    "tuple": tuple,
    "mapping": dict,
    "iterator": lambda: iter(()),
    "generator": lambda: (str(number) for number in range(0)),
    "map": lambda: map(str, ()),
    "deque": deque,
    "range": lambda: range(0),
    "numpy": lambda: np.array([]),
    "numpy text": lambda: np.array([], dtype=str),
    "numpy pairs": lambda: np.empty((0, 2)),
    "series": lambda: pl.Series([], dtype=pl.String),
    "pandas series": lambda: pd.Series([], dtype=str),
    "arrow array": lambda: pa.array([], pa.string()),
    "frame": lambda: pl.DataFrame({"doc_id": [], "score": []}),
    "typed frame": lambda: pl.DataFrame(schema={"doc_id": pl.String, "score": pl.Float64}),
    "lazy frame": lambda: pl.LazyFrame(schema={"doc_id": pl.String}),
    "frame of no records": lambda: pl.DataFrame([]),
    "pandas": lambda: pd.DataFrame({"doc_id": [], "score": []}),
    "pandas columns": lambda: pd.DataFrame([], columns=["doc_id", "score"]),
    "pandas whole numbers": lambda: pd.DataFrame({"doc_id": pd.Series([], dtype="int64")}),
    "pandas of no records": lambda: pd.DataFrame([]),
    "arrow": lambda: pa.table({"doc_id": pa.array([], pa.string())}),
    "hits": lambda: {"hits": {"total": {"value": 0}, "hits": []}},
    "points": lambda: {"points": []},
    "documents": lambda: {"documents": []},
    "chroma": lambda: {"ids": [[]], "distances": [[]], "metadatas": [[]]},
}


@pytest.mark.parametrize("form", EMPTY)
@every_way
def test_nothing_in_every_form_is_no_result(way: Callable[[Searching], Any], form: str) -> None:
    """It counts 0, and its query is neither left out nor failed."""
    report = nothing(way(lambda _: EMPTY[form]()), {"q1": {"d1": 1}}, ONE)
    assert (report.per_query, report.n_queries) == ({"q1": ZERO}, 1)


@kept_or_not
@alone_or_at_once
@every_way
def test_nothing_for_some_queries_counts_in_the_mean(
    way: Callable[[Searching], Any], concurrency: int, kept: str, tmp_path: Path
) -> None:
    """A strict search is told apart from one that failed, and from queries that were never asked."""
    queries = dict(list(QUERIES.items())[:4])
    search = way(lambda text: [] if text == "text 002" else first_relevant(text))
    path = tmp_path / "kept.parquet" if kept == "in a checkpoint" else None
    found = rf.retrieve(search, queries, concurrency=concurrency, checkpoint=path)
    if path is not None:
        found = rf.read_retrieval(path)
    assert found.log.sort("query_id")["n_results"].to_list() == [2, 2, 0, 2]
    assert {"ok"} == set(found.log["status"])
    qrels = {query: QRELS[query] for query in queries}
    report = rf.evaluate(found, qrels, metrics="recall@5")
    assert report.value("recall@5") == 0.75
    assert ledger(report) == {"no_results": (1, ["q002"])}
    for rule in ("missing", "failed"):
        assert rf.evaluate(found, qrels, metrics="recall@5", **{rule: "skip"}).value("recall@5") == 0.75  # type: ignore[arg-type]  # two options


def test_nothing_for_some_queries_is_in_the_report() -> None:
    """With its row of zeros."""
    answers = {"first": ["d1"], "second": []}
    queries = {"q1": "first", "q2": "second"}
    report = evaluate_retrieval(
        answers.__getitem__, {"q1": {"d1": 1}, "q2": {"d1": 1}}, queries, k_values=(5,), metrics=("recall", "mrr")
    )
    assert report.metrics == {"recall@5": 0.5, "mrr@5": 0.5}
    assert report.per_query["q2"] == {"recall@5": 0.0, "mrr@5": 0.0}
    assert report.n_queries == 2


NO_ANSWERS: dict[str, tuple[Any, str]] = {
    "None": (None, "None"),
    "False": (False, "bool"),
    "zero": (0, "int"),
    "NaN": (float("nan"), "float"),
    "no text": ("", "str"),
    "text": ("d1", "str"),
    "bytes": (b"d1", "bytes"),
    "empty set": (set(), "set"),
    "set": ({"d1"}, "set"),
    "hits of None": ({"hits": None}, "dict"),
    "error as a value": ({"error": "index not found", "status": 404}, "tells of an error, 'index not found'"),
    "list of None": ([None], "NoneType"),
    "list of mappings without ids": ([{}], "dict"),
    "list of lists": ([[]], "list"),
    "id of None": ([{"doc_id": None}], "dict"),
    "frame of something else": (pl.DataFrame({"text": ["x"]}), "doc_id"),
}


@pytest.mark.parametrize("case", NO_ANSWERS)
@every_way
def test_what_is_no_answer_is_not_taken_for_nothing(way: Callable[[Searching], Any], case: str) -> None:
    """It is an error of its query that names it and the type; recorded, it is a failure that counts 0."""
    answer, told = NO_ANSWERS[case]
    retriever = way(lambda text: answer if text == "second" else ["d1"])
    with pytest.raises(rf.DataError, match=f"query 'q2'.*{told}"):
        evaluate_retrieval(retriever, {query: {"d1": 1} for query in THREE}, THREE, k_values=(5,))
    found = rf.retrieve(retriever, THREE, on_error="record")
    assert found.log["status"].to_list() == ["ok", "failed", "ok"]
    report = rf.evaluate(found, {query: {"d1": 1} for query in THREE}, metrics="recall@5")
    assert pytest.approx(2 / 3) == report.value("recall@5")
    assert ledger(report)["failed_query"] == (1, ["q2"])


@pytest.mark.parametrize("answer", [None, [], {}, "", [["d1"], ["d1"]]], ids=repr)
def test_a_batch_without_an_answer_for_each_query_is_refused(answer: Any) -> None:
    """Where one is missing, nobody knows whose the others are."""
    with pytest.raises(rf.DataError, match=r"batch|queries|str") as caught:
        rf.retrieve(lambda queries: answer, ONE)  # noqa: ARG005  # it takes them
    assert "query 'q1'" in notes(caught.value)
