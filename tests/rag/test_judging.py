"""Asking judges: what is kept and what is asked again, how many at once, for how long, how often, and to what end."""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import random
import re
import subprocess
import sys
import textwrap
import threading
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import pytest

import rankframe as rf
from rankframe import asking
from rankframe.errors import DataError, MetricError, RankframeWarning
from rankframe.metrics.metric import Metric
from rankframe.rag.caching import Cache
from rankframe.rag.judges import Embedder, Judge, Refused, Truncated
from rankframe.rag.judging import limits

from .shared import RELEVANT, Asked, answering, counts, evaluated, one_direction, place_of, samples, told

SCORE = '{"score": 1}'
QUESTIONS = '{"questions": ["a", "b"]}'
LATEST = 20.0  # seconds for what takes a moment on a machine that nobody else uses

both_ways = pytest.mark.parametrize("way", ["plain", "later"])
alone_or_at_once = pytest.mark.parametrize("concurrency", [1, 8])


def scored(ask: Callable[[str], Any], name: str = "x", prompt: str = "{response}") -> Metric:
    return rf.rag.judged(name, prompt, llm=Judge(ask, name="judge", model="m"))


def cached(path: Path, metrics: Any, given: Any = None, **options: Any) -> rf.Report:
    return evaluated(metrics, given, cache=path, **options)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "judge.jsonl"


# The cache: what is asked again.


@both_ways
@alone_or_at_once
def test_a_finished_evaluation_asks_nothing(way: str, concurrency: int, path: Path) -> None:
    """Neither a judge nor an embedder, and what comes out is the same."""
    judge = Asked(lambda prompt: QUESTIONS if "noncommittal" in prompt else RELEVANT)
    embed = Asked(one_direction)
    llm = Judge(judge.way(way), model="m")
    metrics = [
        rf.rag.faithfulness(llm=llm),
        rf.rag.answer_relevance(llm=llm, embed=Embedder(embed.way(way), model="e")),
    ]
    first = cached(path, metrics, samples(5), concurrency=concurrency)
    assert (len(judge.calls), len(embed.calls)) == (10, 5)
    again = cached(path, metrics, samples(5), concurrency=concurrency)
    assert (len(judge.calls), len(embed.calls)) == (10, 5)
    asked = [
        "faithfulness_attempts",
        "faithfulness_latency_s",
        "answer_relevance_attempts",
        "answer_relevance_latency_s",
    ]
    assert again.scores.drop(asked).equals(first.scores.drop(asked))
    assert again.scores.select(asked).sum().row(0) == (0, 0.0, 0, 0.0)
    assert again.claims.equals(first.claims)


VARIANTS: dict[str, dict[str, Any]] = {
    "nothing": {},
    "name": {"name": "another"},
    "model": {"model": "n"},
    "no model": {"model": None},
    "parameters": {"parameters": {"temperature": 1}},
    "more parameters": {"parameters": {"temperature": 0, "seed": 1}},
}


@pytest.mark.parametrize("change", VARIANTS)
def test_another_judge_is_asked_anew(change: str, path: Path) -> None:
    """Whatever of its identity differs; no reply of one ever stands for another's."""
    judge = Asked()
    one: dict[str, Any] = {"name": "judge", "model": "m", "parameters": {"temperature": 0}}
    cached(path, rf.rag.judged("x", "{response}", llm=Judge(judge.plain, **one)))
    cached(path, rf.rag.judged("x", "{response}", llm=Judge(judge.plain, **one | VARIANTS[change])))
    assert len(judge.calls) == (3 if change == "nothing" else 6)


@pytest.mark.parametrize(
    ("prompt", "range", "given", "asked"),
    [
        ("{response}", (0, 1), {}, 0),
        ("{answer}", (0, 1), {}, 3),  # the prompts are the same and the templates are not
        ("{response} ", (0, 1), {}, 3),
        ("{response}", (0, 2), {}, 3),
        ("{response}", (0, 1), {"response": lambda place: f"other #{place}#"}, 3),
        ("{response}", (0, 1), {"reference": None, "sample_id": lambda place: f"t{place}"}, 0),
    ],
    ids=["the same", "an alias", "template", "range", "samples", "what no prompt shows"],
)
def test_another_prompt_is_asked_anew(prompt: str, range: Any, given: Any, asked: int, path: Path) -> None:
    judge = Asked()
    llm = Judge(judge.plain, model="m")
    cached(path, rf.rag.judged("x", "{response}", llm=llm))
    before = len(judge.calls)
    cached(path, rf.rag.judged("x", prompt, range, llm=llm), samples(**given))
    assert len(judge.calls) - before == asked


def test_another_embedder_is_asked_anew_and_the_judge_is_not(path: Path) -> None:
    judge, embed = Asked(lambda _: QUESTIONS), Asked(one_direction)
    for model in ("a", "b", "a"):
        embedder = Embedder(embed.plain, model=model)
        cached(path, rf.rag.answer_relevance(llm=Judge(judge.plain, model="m"), embed=embedder))
    assert (len(judge.calls), len(embed.calls)) == (3, 6)


FAILURES: dict[str, Any] = {
    "unread": "I do not know.",
    "out of range": '{"score": 7}',
    "refusing": "I cannot evaluate this.",
    "refused": Refused("no"),
    "cut short": Truncated('{"score": 1'),
    "no text": 3,
    "error": ValueError("broken"),
    "lost connection": ConnectionError("reset"),
}


@pytest.mark.parametrize("failure", FAILURES)
def test_what_failed_is_never_kept(failure: str, path: Path) -> None:
    """And is all that is asked for the next time."""
    cached(path, scored(answering([SCORE, FAILURES[failure], SCORE])), retries=0)
    assert len(path.read_text().splitlines()) == 1 + 2
    mended = Asked()
    report = cached(path, scored(mended.plain))
    assert [place_of(prompt) for prompt in mended.calls] == [1]
    assert counts(report) == (1.0, 3, 0, 0)


def test_vectors_that_failed_are_never_kept_and_the_reply_is(path: Path) -> None:
    judge = Asked(lambda _: QUESTIONS)

    def metric(embed: Callable[[Any], Any]) -> Metric:
        return rf.rag.answer_relevance(llm=Judge(judge.plain, model="m"), embed=Embedder(embed, model="e"))

    with pytest.warns(RankframeWarning, match=r"the judge failed for 3 samples"):
        cached(path, metric(lambda _: [[0.0]] * 3))
    assert counts(cached(path, metric(one_direction))) == (1.0, 3, 0, 0)
    assert len(judge.calls) == 3


def test_a_kept_reply_that_is_not_valid_any_more_is_asked_for_and_replaced(path: Path) -> None:
    """As where an earlier version read less strictly."""
    cached(path, scored(lambda _: SCORE))
    path.write_text(path.read_text().replace('"reply": "{\\"score\\": 1}"', '"reply": "{\\"score\\": 3}"'))
    for asked in (3, 0):
        judge = Asked()
        assert counts(cached(path, scored(judge.plain))) == (1.0, 3, 0, 0)
        assert len(judge.calls) == asked


def test_metrics_share_a_cache_and_the_prompts_that_are_the_same(path: Path) -> None:
    judge = Asked()
    ask = judge.plain
    metrics = [scored(ask, "x"), scored(ask, "y"), scored(ask, "z", "{user_input}")]
    report = cached(path, metrics, concurrency=8)
    assert [counts(report, name) for name in "xyz"] == [(1.0, 3, 0, 0)] * 3
    assert len(judge.calls) == 6
    cached(path, metrics[::-1], samples(4))
    assert len(judge.calls) == 8


@alone_or_at_once
def test_prompts_that_are_the_same_are_asked_once_without_a_file_too(concurrency: int) -> None:
    """Of samples that differ in what the prompt does not show; so the result does not depend on who is asked when."""
    replies = itertools.count()
    judge = Asked(lambda _: json.dumps({"claims": [{"claim": f"c{next(replies)}", "contexts": [1]}]}), pause=0.005)
    given = samples(20, user_input="the same", response="it", retrieved_contexts=["c"])
    for place, sample in enumerate(given):
        sample["retrieved_context_ids"] = [f"d{place}"]
    report = evaluated(rf.rag.faithfulness(llm=judge.plain), given, concurrency=concurrency)
    assert len(judge.calls) == 1
    assert report.claims["text"].to_list() == ["c0"] * 20
    assert report.claims["context_id"].to_list() == [f"d{place}" for place in range(20)]


def test_samples_that_are_the_same_are_asked_about_once() -> None:
    judge = Asked(answering([json.dumps({"score": place / 10}) for place in range(5)]))
    given = [dict(sample, sample_id=f"{copy}-{sample['sample_id']}") for copy in range(4) for sample in samples(5)]
    report = evaluated(rf.rag.judged("x", "{response}", llm=judge.plain), given)
    assert len(judge.calls) == 5
    assert told(report, "value") == [0.0, 0.1, 0.2, 0.3, 0.4] * 4
    assert told(report, "attempts") == [1] * 20


def test_the_same_that_fails_is_asked_for_by_each_until_one_succeeds() -> None:
    """Of four metrics with one prompt."""
    replies = iter(["unread", "unread", SCORE])
    judge = Asked(lambda _: next(replies))
    metrics = [scored(judge.plain, name) for name in "wxyz"]
    with pytest.warns(RankframeWarning, match=r"^[wx]: the judge failed for 1 sample"):
        report = evaluated(metrics, samples(1), concurrency=1)
    assert [told(report, "status", metric=name)[0] for name in "wxyz"] == ["parse_error", "parse_error", "ok", "ok"]
    assert [told(report, "attempts", metric=name)[0] for name in "wxyz"] == [1, 1, 1, 0]
    assert len(judge.calls) == 3


# The cache as a file.


def test_a_cache_holds_replies_and_who_gave_them_and_no_prompt(path: Path) -> None:
    cached(path, scored(lambda _: SCORE), samples(2))
    head, *lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert head == {"rankframe": "judge cache", "version": 1}
    for line in lines:
        assert set(line) == {"key", "judge", "prompt", "reply"}
        assert line["judge"] == {"name": "judge", "model": "m", "parameters": {}}
        assert line["reply"] == SCORE
    assert len({line["key"] for line in lines}) == 2
    assert "response #" not in path.read_text()


def test_a_folder_for_the_cache_is_made(tmp_path: Path) -> None:
    cached(tmp_path / "a" / "b" / "judge.jsonl", scored(lambda _: SCORE))
    assert [file.name for file in (tmp_path / "a" / "b").iterdir()] == ["judge.jsonl"]


def test_a_cache_is_there_only_where_something_is_judged(path: Path) -> None:
    rf.evaluate_samples(samples(), metrics="exact_match", cache=path)
    assert not path.exists()


def test_a_cache_that_was_cut_off_anywhere_is_resumed(path: Path) -> None:
    """In its first line too: what is whole is kept, what is not is asked for again."""
    cached(path, scored(lambda _: '{"score": 1, "reason": "sô 🦊"}'), samples(2), concurrency=1)
    whole = path.read_bytes()
    ends = sorted({*range(0, len(whole), 7), *(match.end() for match in re.finditer(rb"\n", whole))})
    for end in ends:
        path.write_bytes(whole[:end])
        judge = Asked(lambda _: '{"score": 1, "reason": "sô 🦊"}')
        assert counts(cached(path, scored(judge.plain), samples(2), concurrency=1)) == (1.0, 2, 0, 0)
        assert len(judge.calls) == 2 - max(whole[:end].count(b"\n") - 1, 0)
        assert sorted(path.read_bytes().splitlines()) == sorted(whole.splitlines())


DAMAGED: dict[str, tuple[str, str]] = {
    "no JSON": ("not JSON", r"Expecting value"),
    "half": ('{"key": "a", "rep', r"Unterminated string"),
    "empty": ("", r"Expecting value"),
    "no reply": ('{"key": "a"}', r"'reply'"),
    "no key": ('{"reply": "a"}', r"'key'"),
    "a list": ('["a"]', r"list indices"),
    "a number": ("3", r"not subscriptable"),
    "a key that is none": ('{"key": ["a"], "reply": "a"}', r"its key is no text"),
    "a reply that is none": ('{"key": "a", "reply": {"score": 1}}', r"its reply is neither a text nor numbers"),
    "NaN": ('{"key": "a", "reply": [NaN]}', r"its reply is neither a text nor numbers"),
    "nested": ("[" * 100_000, r"recursion"),
}


@pytest.mark.parametrize(("line", "why"), DAMAGED.values(), ids=DAMAGED)
def test_a_damaged_line_is_named_and_nothing_is_asked(line: str, why: str, path: Path) -> None:
    judge = Asked()
    cached(path, scored(judge.plain))
    lines = path.read_text().splitlines()
    damaged = "\n".join([*lines[:2], line, *lines[2:], ""])
    path.write_text(damaged)
    with pytest.raises(
        DataError, match=rf"judge\.jsonl: line 3 is no reply of a judge \(.*{why}.*\); without the line"
    ):
        cached(path, scored(judge.plain))
    assert (len(judge.calls), path.read_text()) == (3, damaged)
    path.write_text("\n".join([*lines, ""]))
    cached(path, scored(judge.plain))
    assert len(judge.calls) == 3


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (b'{"response": "a"}\n', "that no cache of judges is"),
        (b"sample_id,response\n1,a\n", "that no cache of judges is"),
        (b"\x80\x81\x00\n", "that no cache of judges is"),
        (b'{"rankframe": "judge cache", "version": 1} and more', "that no cache of judges is"),
        (b'{"rankframe": "checkpoint", "version": 1}\n', "that no cache of judges is"),
        (b"[" * 100_000 + b"\n", "that no cache of judges is"),
        (b"\n", "that no cache of judges is"),
        (b'{"rankframe": "judge cache", "version": 2}\n', "of another version of rankframe"),
    ],
    ids=["samples", "CSV", "bytes", "half", "checkpoint", "nested", "blank", "version"],
)
def test_a_foreign_file_is_refused_and_not_touched(content: bytes, what: str, path: Path) -> None:
    path.write_bytes(content)
    with pytest.raises(DataError, match=rf"is a file {what}, and is not written over; give another name$"):
        cached(path, scored(lambda _: SCORE))
    assert path.read_bytes() == content


def test_a_folder_or_pipe_is_no_cache(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for place in (tmp_path, tmp_path / "pipe", ""):
        with pytest.raises(DataError, match=r"^cache=.* is no file; name one, as in cache='judge\.jsonl'$"):
            cached(place, scored(lambda _: SCORE))  # type: ignore[arg-type]


@pytest.mark.parametrize("odd", [True, 3, ["a"], b"judge.jsonl"])
def test_what_is_no_path_is_no_cache(odd: Any) -> None:
    with pytest.raises(DataError, match=r"^cache=.* is no path; name a file, as in cache='judge\.jsonl'$"):
        cached(odd, scored(lambda _: SCORE))


def test_a_cache_that_another_process_writes_is_refused(path: Path) -> None:
    script = (
        f"from rankframe.rag.caching import Cache\ncache = Cache({str(path)!r})\nprint('open', flush=True)\ninput()"
    )
    process = subprocess.Popen([sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "open\n"
    with pytest.raises(DataError, match=r"^cache='.*judge\.jsonl' is being written by another process; wait, or give"):
        cached(path, scored(lambda _: SCORE))
    process.communicate("\n", timeout=LATEST)
    assert counts(cached(path, scored(lambda _: SCORE))) == (1.0, 3, 0, 0)


def test_a_cache_is_free_again_after_an_error(path: Path) -> None:
    def interrupted(_: str) -> str:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        cached(path, scored(interrupted))
    with pytest.raises(MetricError):
        cached(path, scored(lambda _: SCORE, prompt="{no_such_column}"))
    Cache(path).close()


def test_replies_of_many_threads_are_all_kept_whole(path: Path) -> None:
    number = 400
    replies = [json.dumps({"score": place / number, "reason": "long " * (place % 97)}) for place in range(number)]
    judge = Asked(answering(replies))
    cached(path, scored(judge.plain), samples(number), concurrency=16, timeout=None)
    lines = [json.loads(line) for line in path.read_text().splitlines()[1:]]
    assert sorted(line["reply"] for line in lines) == sorted(replies)
    report = cached(path, scored(judge.plain), samples(number), concurrency=16)
    assert told(report, "value") == [place / number for place in range(number)]
    assert len(judge.calls) == number


def test_a_full_disk_costs_no_verdict(path: Path) -> None:
    """What could not be written is said, and the file can be read as far as it goes."""
    pytest.importorskip("resource")
    script = textwrap.dedent(f"""
        import resource, warnings
        import rankframe as rf

        resource.setrlimit(resource.RLIMIT_FSIZE, (700, 700))
        samples = [{{"response": f"r{{place}}"}} for place in range(20)]
        judge = rf.rag.Judge(lambda _: '{{"score": 1}}', name="judge", model="m")
        metric = rf.rag.judged("x", "{{response}}", llm=judge)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            report = rf.evaluate_samples(samples, metrics=metric, cache={str(path)!r})
        print(report.value("x"), report.summary["n"].item(), [str(one.message) for one in caught])
    """)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert re.fullmatch(
        r"1\.0 20 \[.cache='.*judge\.jsonl' could not be written any more \(.*File too large\); what came since is not "
        r"kept.\]\n",
        done.stdout,
    )
    kept = path.read_text().count("\n") - 1
    assert 0 < kept < 20
    judge = Asked()
    cached(path, scored(judge.plain), [{"response": f"r{place}"} for place in range(20)])
    assert len(judge.calls) == 20 - kept


# How many at once.


@both_ways
@pytest.mark.parametrize("concurrency", [1, 3, 8])
def test_no_more_are_asked_at_once_than_was_said_and_no_fewer(way: str, concurrency: int) -> None:
    judge = Asked(pause=0.02)
    evaluated(scored(judge.way(way)), samples(24), concurrency=concurrency)
    assert len(judge.calls) == 24
    assert judge.most == concurrency


@both_ways
@alone_or_at_once
def test_the_result_is_the_same_whatever_the_concurrency(way: str, concurrency: int) -> None:
    """Samples stand in their order, whichever answer came first, and so do those of several runs."""
    rng = random.Random(0)
    pauses = [rng.uniform(0, 0.01) for _ in range(30)]
    judge = Asked(answering([json.dumps({"score": place / 30}) for place in range(30)]))

    def slow(prompt: str) -> Any:
        time.sleep(pauses[place_of(prompt)])
        return judge.answer(prompt)

    ask = Asked(slow).way(way)
    ours, theirs = samples(30)[::-1], samples(10)
    runs = {"b": ours, "a": theirs}
    report = rf.evaluate_samples(runs, metrics=scored(ask), concurrency=concurrency)
    assert report.scores.select("run_id", "sample_id", "x").rows() == [
        *(("a", f"s{place:04d}", place / 30) for place in range(10)),
        *(("b", f"s{place:04d}", place / 30) for place in range(30)[::-1]),
    ]


def test_alone_a_judge_is_asked_in_the_thread_of_the_caller() -> None:
    """For those that can be used from one thread only."""
    threads: set[int] = set()

    def ask(_: str) -> str:
        threads.add(threading.get_ident())
        return SCORE

    evaluated(scored(ask), concurrency=1, timeout=None)
    assert threads == {threading.get_ident()}


@both_ways
@alone_or_at_once
@pytest.mark.parametrize("timeout", [None, 60.0])
def test_a_judge_sees_the_context_of_the_caller(way: str, concurrency: int, timeout: float | None) -> None:
    trace: ContextVar[str] = ContextVar("trace", default="lost")
    trace.set("kept")
    judge = Asked(lambda _: SCORE if trace.get() == "kept" else "lost")
    assert counts(evaluated(scored(judge.way(way)), concurrency=concurrency, timeout=timeout)) == (1.0, 3, 0, 0)


@both_ways
@alone_or_at_once
def test_judges_are_asked_while_a_loop_runs(way: str, concurrency: int) -> None:
    """As in a notebook; the loop is not disturbed."""
    judge = Asked(pause=0.001)

    async def notebook() -> tuple[Any, bool]:
        here = asyncio.get_running_loop()
        report = evaluated(scored(judge.way(way)), samples(9), concurrency=concurrency)
        await asyncio.sleep(0)
        return counts(report), asyncio.get_running_loop() is here

    assert asyncio.run(notebook()) == ((1.0, 9, 0, 0), True)


def test_async_judges_of_one_evaluation_share_a_loop() -> None:
    """So that a client and its connections serve all of them."""
    loops: set[int] = set()

    async def ask(_: str) -> str:
        loops.add(id(asyncio.get_running_loop()))
        return SCORE

    evaluated(scored(ask), samples(9))
    assert len(loops) == 1


# For how long.


@pytest.mark.parametrize("number", [1, 20])
def test_plain_judges_that_hang_cost_one_timeout(number: int) -> None:
    free = threading.Event()
    began = time.monotonic()
    with pytest.warns(RankframeWarning, match=r"timed out: no answer within 0\.3 s"):
        report = evaluated(scored(lambda _: free.wait(LATEST)), samples(number), timeout=0.3, concurrency=20)
    took = time.monotonic() - began
    free.set()
    assert 0.3 <= took < 3.0
    assert (
        told(report, "value", "status", "reason", "attempts")
        == [(None, "error", "timed out: no answer within 0.3 s", 1)] * number
    )
    assert all(latency >= 0.29 for latency in told(report, "latency_s"))
    assert counts(report) == (None, 0, number, number)


def test_async_judges_that_hang_are_cancelled_in_time() -> None:
    ended: list[str] = []

    async def ask(_: str) -> str:
        try:
            await asyncio.sleep(LATEST)
        finally:
            ended.append("cancelled")
        return SCORE

    began = time.monotonic()
    with pytest.warns(RankframeWarning, match=r"timed out"):
        report = evaluated(scored(ask), samples(20), timeout=0.3, concurrency=20)
    assert 0.3 <= time.monotonic() - began < 3.0
    assert ended == ["cancelled"] * 20
    assert counts(report) == (None, 0, 20, 20)


def test_an_async_judge_that_hangs_is_cancelled_before_the_next_is_asked() -> None:
    """It does not go on beside the others until the end."""
    ended: list[int] = []

    async def ask(prompt: str) -> str:
        if place_of(prompt):
            await asyncio.sleep(0.05)
            return json.dumps({"score": len(ended)})
        try:
            await asyncio.sleep(LATEST)
        finally:
            ended.append(0)
        return SCORE

    report = evaluated(scored(ask), samples(2), timeout=0.3, concurrency=1)
    assert told(report, "value", "status") == [(None, "error"), (1.0, "ok")]


@both_ways
def test_one_that_hangs_takes_nothing_from_the_others(way: str) -> None:
    free = threading.Event()

    def plain(prompt: str) -> str:
        if place_of(prompt) == 1:
            free.wait(LATEST)
        return SCORE

    async def later(prompt: str) -> str:
        await asyncio.sleep(LATEST if place_of(prompt) == 1 else 0)
        return SCORE

    report = evaluated(scored({"plain": plain, "later": later}[way]), samples(5), timeout=0.3, concurrency=2)
    free.set()
    assert told(report, "status") == ["ok", "error", "ok", "ok", "ok"]
    assert counts(report) == (1.0, 4, 1, 1)


def test_a_coroutine_that_never_awaits_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """It blocks the loop of all judges, as a plain client in a coroutine function does."""
    monkeypatch.setattr(asking, "_BLOCKED", 0.1)
    free = threading.Event()

    async def ask(_: str) -> str:
        free.wait(LATEST)
        return SCORE

    began = time.monotonic()
    with pytest.warns(RankframeWarning, match=r"timed out"):
        evaluated(scored(ask), samples(3), timeout=0.3)
    took = time.monotonic() - began
    free.set()
    assert took < 3.0


def test_a_timeout_is_not_asked_again() -> None:
    free = threading.Event()
    judge = Asked(lambda _: free.wait(LATEST))
    with pytest.warns(RankframeWarning, match=r"timed out"):
        evaluated(scored(judge.plain), samples(1), timeout=0.1, retries=5)
    free.set()
    assert len(judge.calls) == 1


# How often.


class BusyError(Exception):
    """An error as clients raise it, with the response of a server."""

    def __init__(self, status: int, **headers: str) -> None:
        super().__init__(f"status {status}")
        self.status_code = status
        self.response = type("Response", (), {"headers": {name.replace("_", "-"): headers[name] for name in headers}})()


WAYS_TO_FAIL: dict[str, tuple[Callable[[], BaseException], bool]] = {
    "connection": (lambda: ConnectionError("reset"), True),
    "timeout of its own": (lambda: TimeoutError("slow"), True),
    "too many": (lambda: BusyError(429), True),
    "server": (lambda: BusyError(503), True),
    "not allowed": (lambda: BusyError(401), False),
    "value": (lambda: ValueError("bad"), False),
    "key": (lambda: KeyError("choices"), False),
    "no file": (lambda: FileNotFoundError(2, "no such file", "prompt.txt"), False),
    "stop": (StopIteration, False),
}


@both_ways
@pytest.mark.parametrize("how", WAYS_TO_FAIL)
def test_only_what_failed_on_the_way_is_asked_again(way: str, how: str) -> None:
    make, again = WAYS_TO_FAIL[how]
    attempts: Counter[int] = Counter()

    def moody(prompt: str) -> str:
        attempts[place_of(prompt)] += 1
        if place_of(prompt) == 1 and attempts[1] <= 2:
            raise make()
        return SCORE

    report = evaluated(scored(Asked(moody).way(way)), retries=2)
    assert told(report, "status") == ["ok", "ok" if again else "error", "ok"]
    assert told(report, "attempts") == [1, 3 if again else 1, 1]
    assert counts(report) == ((1.0, 3, 0, 0) if again else (1.0, 2, 1, 1))


@pytest.mark.parametrize("retries", [0, 1, 3])
def test_after_so_many_repetitions_it_has_failed(retries: int) -> None:
    judge = Asked(answering([ConnectionError("reset")]))
    with pytest.warns(RankframeWarning, match=r"'ConnectionError: reset'"):
        report = evaluated(scored(judge.plain), samples(1), retries=retries)
    assert told(report, "status", "reason", "attempts") == [("error", "ConnectionError: reset", 1 + retries)]
    assert len(judge.calls) == 1 + retries


@pytest.mark.parametrize(
    ("error", "shortest", "longest"),
    [
        (BusyError(429, retry_after="0.3"), 0.3, 2.0),
        (BusyError(429, retry_after_ms="300"), 0.3, 2.0),
        (BusyError(503, retry_after="0"), 0.0, 2.0),
        (BusyError(429, retry_after="soon"), 0.5, None),
    ],
    ids=["seconds", "milliseconds", "at once", "no time"],
)
def test_a_service_says_how_long_to_wait(error: BusyError, shortest: float, longest: float | None) -> None:
    """Instead of the wait that was given; the time waited is no time of the judge."""
    calls = itertools.count()

    def moody(_: str) -> str:
        if not next(calls):
            raise error
        return SCORE

    began = time.monotonic()
    report = evaluated(scored(moody), samples(1), wait=0.5 if longest is None else 60.0)
    took = time.monotonic() - began
    assert took >= shortest
    assert longest is None or took < longest
    assert told(report, "attempts") == [2]
    assert told(report, "latency_s")[0] < 0.3


def test_waits_double() -> None:
    begun: list[float] = []

    def ask(_: str) -> str:
        begun.append(time.monotonic())
        raise ConnectionError

    with pytest.warns(RankframeWarning, match=r"'ConnectionError'"):
        evaluated(scored(ask), samples(1), retries=3, wait=0.1)
    waits = [after - before for before, after in itertools.pairwise(begun)]
    assert [wait >= least for wait, least in zip(waits, (0.1, 0.2, 0.4), strict=True)] == [True] * 3


# What a judge gives or raises.


def _generator() -> Iterator[str]:
    yield SCORE


async def _async_generator() -> AsyncIterator[str]:
    yield SCORE


@both_ways
@pytest.mark.parametrize(
    ("given", "kind"),
    [
        (lambda: None, "NoneType"),
        (lambda: b'{"score": 1}', "bytes"),
        (lambda: 1, "int"),
        (lambda: 0.5, "float"),
        (lambda: {"score": 1}, "dict"),
        (lambda: [SCORE], "list"),
        (_generator, "generator"),
        (object, "object"),
    ],
    ids=["none", "bytes", "int", "float", "object of JSON", "list", "generator", "object"],
)
def test_what_is_no_text_is_an_error_that_says_so(way: str, given: Callable[[], Any], kind: str) -> None:
    with pytest.warns(RankframeWarning, match=rf"the judge gave a {kind}, not a text"):
        report = evaluated(scored(Asked(lambda _: given()).way(way)))
    assert told(report, "value", "status") == [(None, "error")] * 3


def test_a_stream_is_no_text() -> None:
    with pytest.warns(RankframeWarning, match=r"the judge gave a async_generator, not a text|gave a list, not a text"):
        evaluated(scored(lambda _: _async_generator()))


class UnspeakableError(Exception):
    def __str__(self) -> str:
        raise ValueError("no words")


class Text(str):
    __slots__ = ()


@both_ways
@pytest.mark.parametrize(
    ("raised", "reason"),
    [
        (ValueError("bad \ud800"), "ValueError: bad ?"),
        (UnspeakableError(), "UnspeakableError"),
        (RecursionError("too deep"), "RecursionError: too deep"),
        (MemoryError(), "MemoryError"),
        (asyncio.CancelledError(), "the call was cancelled"),
        (Refused(), "the model refuses"),
        (Refused("not \ud800 allowed"), "the model refuses: not ? allowed"),
        (Truncated("\ud800"), "the reply was cut short; allow a longer one with max_tokens="),
        (ValueError("x" * 10_000), f"ValueError: {'x' * 500}"),
    ],
    ids=["surrogate", "unspeakable", "recursion", "memory", "cancelled", "refused", "refused in words", "cut", "long"],
)
def test_whatever_a_judge_raises_is_told_with_its_sample(way: str, raised: BaseException, reason: str) -> None:
    report = evaluated(scored(Asked(answering([SCORE, raised, SCORE])).way(way)))
    value, status, said = told(report, "value", "status", "reason")[1]
    if isinstance(raised, asyncio.CancelledError) and way == "later":
        said = said.replace("CancelledError", "the call was cancelled")
    assert (value, said) == (None, reason)
    assert status == {"Refused": "refused", "Truncated": "parse_error"}.get(type(raised).__name__, "error")
    assert counts(report) == (1.0, 2, 1, 1)


def test_texts_of_other_classes_are_texts() -> None:
    assert counts(evaluated(scored(lambda _: Text(SCORE)))) == (1.0, 3, 0, 0)


def test_half_a_surrogate_pair_in_a_reply_is_kept_as_a_question_mark() -> None:
    report = evaluated(scored(lambda _: '{"score": 1, "reason": "a \ud800 b \\ud800"}'))
    assert told(report, "value", "reason", "reply")[0] == (1.0, "a ? b ?", '{"score": 1, "reason": "a ? b \\ud800"}')


ENDS: list[type[BaseException]] = [KeyboardInterrupt, SystemExit, GeneratorExit, type("Stop", (BaseException,), {})]


@both_ways
@alone_or_at_once
@pytest.mark.parametrize("end", ENDS)
@pytest.mark.filterwarnings("ignore:coroutine .* was never awaited:RuntimeWarning")
def test_what_ends_a_program_ends_the_evaluation_and_what_was_finished_is_kept(
    end: type[BaseException], way: str, concurrency: int, path: Path
) -> None:
    judge = Asked(answering([*[SCORE] * 10, end(), *[SCORE] * 9]), pause=0.001)
    with pytest.raises(end):
        cached(path, scored(judge.way(way)), samples(20), concurrency=concurrency)
    asked = {place_of(prompt) for prompt in judge.calls}
    assert set(range(11)) <= asked
    assert len(asked) <= 10 + 2 * concurrency
    mended = Asked()
    report = cached(path, scored(mended.way(way)), samples(20), concurrency=concurrency)
    assert {place_of(prompt) for prompt in mended.calls} == set(range(20)) - (asked - {10})
    assert counts(report) == (1.0, 20, 0, 0)


@both_ways
@alone_or_at_once
def test_an_interrupted_user_does_not_wait_for_what_hangs(way: str, concurrency: int, path: Path) -> None:
    """A real Ctrl-C, while a judge hangs; what was finished is in the file."""
    script = textwrap.dedent(f"""
        import asyncio, threading, time
        import rankframe as rf

        def hangs(prompt):
            return "r5" in prompt

        def plain(prompt):
            if hangs(prompt):
                print("hangs", flush=True)
                time.sleep(60)
            return '{{"score": 1}}'

        async def later(prompt):
            if hangs(prompt):
                print("hangs", flush=True)
                await asyncio.sleep(60)
            return '{{"score": 1}}'

        judge = rf.rag.Judge({way}, model="m")
        samples = [{{"response": f"r{{place}}"}} for place in range(6)]
        try:
            rf.evaluate_samples(
                samples, metrics=rf.rag.judged("x", "{{response}}", llm=judge), cache={str(path)!r},
                concurrency={concurrency},
            )
        except KeyboardInterrupt:
            print("interrupted", flush=True)
    """)
    process = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "hangs\n"
    until = time.monotonic() + LATEST
    while path.read_text().count("\n") < 6:
        assert time.monotonic() < until
    process.send_signal(2)
    began = time.monotonic()
    assert process.communicate(timeout=LATEST)[0] == "interrupted\n"
    assert time.monotonic() - began < 10.0
    assert path.read_text().count("\n") == 6


# Options.


@pytest.mark.parametrize(
    ("option", "why"),
    [
        ({"retries": -1}, r"^retries=-1 is not a whole number from 0$"),
        ({"retries": True}, r"^retries=True"),
        ({"retries": 1.5}, r"^retries=1\.5"),
        ({"timeout": 0}, r"^timeout=0 is not a number of seconds$"),
        ({"timeout": -1}, r"^timeout=-1"),
        ({"timeout": float("nan")}, r"^timeout=nan"),
        ({"timeout": float("inf")}, r"^timeout=inf"),
        ({"timeout": "1"}, r"^timeout='1'"),
        ({"wait": None}, r"^wait=None is not a number of seconds$"),
        ({"wait": -0.5}, r"^wait=-0\.5"),
        ({"concurrency": 0}, r"concurrency"),
        ({"concurrency": 1.5}, r"concurrency"),
        ({"concurrency": True}, r"concurrency"),
    ],
    ids=str,
)
def test_limits_that_mean_nothing_are_refused(option: dict[str, Any], why: str) -> None:
    judge = Asked()
    with pytest.raises(MetricError, match=why):
        evaluated(scored(judge.plain), **option)
    assert judge.calls == []


def test_limits_as_they_are_meant() -> None:
    assert limits(2, None, 0, 0) == limits(2, None, 0, 0.0)
    assert (limits(2, 1, 3, 0.5).timeout, limits(2, None, 3, 0.5).timeout) == (1.0, None)


def test_a_bar_of_the_samples_on_standard_error_only_on_request(capfd: pytest.CaptureFixture[str]) -> None:
    evaluated(scored(lambda _: SCORE))
    assert capfd.readouterr() == ("", "")
    evaluated(scored(lambda _: SCORE), progress=True)
    out, err = capfd.readouterr()
    assert out == ""
    assert re.search(r"judging: 100%.* 3/3 ", err)
