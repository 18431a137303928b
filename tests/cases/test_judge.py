"""Judges that fail, hang or leave their range: none of it becomes a value, and the summary says how many there were."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

import pytest

import rankframe as rf
from rankframe.errors import RankframeWarning

OUTPUTS = [
    '{"score": 1.0}',
    "I cannot evaluate this.",
    '{"score": ',
    "Out of 10 criteria I looked at 3; Score: 0.7",
    '{"verdict": "good"}',
]


def judge_of(outputs: Sequence[str]) -> Callable[[str], str]:
    """A judge that gives the outputs for the samples in their order."""
    return lambda prompt: outputs[int(prompt.split("#")[1])]


def scored(judge: Callable[[str], Any], number: int, ends: tuple[float, float] = (0, 1), **options: Any) -> rf.Report:
    """The report of a metric that a judge scores between two ends."""
    samples = [{"sample_id": f"s{place}", "response": f"response #{place}#"} for place in range(number)]
    metric = rf.rag.judged("score", "Rate it: {response}", ends, llm=judge)
    return rf.evaluate_samples(samples, metrics=metric, **options)


def found(report: rf.Report, *columns: str) -> list[Any]:
    rows = report.per_sample.select(f"score{column}" for column in columns)
    return rows.rows() if len(columns) > 1 else rows.to_series().to_list()


def summary(report: rf.Report) -> tuple[Any, ...]:
    return report.summary.select("value", "n", "n_null", "n_failed").row(0)


@pytest.mark.parametrize("concurrency", [1, 8])
def test_judge_invalid_json(concurrency: int) -> None:
    """No figure that stands in the prose is the score; what was written is kept, and four have failed."""
    report = scored(judge_of(OUTPUTS), 5, concurrency=concurrency)
    assert found(report, "") == [1.0, None, None, None, None]
    assert found(report, "_status") == ["ok", "refused", "parse_error", "parse_error", "parse_error"]
    assert found(report, "_reply") == OUTPUTS
    assert summary(report) == (1.0, 1, 4, 4)
    assert "(n=1)" in repr(report)
    assert report.ledger.select("reason", "count").rows() == [("judge_refused", 1), ("judge_unread", 3)]


@pytest.mark.parametrize(
    ("output", "value"),
    [
        ("Score: 0.7", None),
        ("0.7", 0.7),
        ("The score is 0.7 out of 1.", None),
        ('3 of 10: {"score": 0.3}', 0.3),
        ('```json\n{"score": 0.3}\n```', 0.3),
        ('{"Score": 0.3}', None),
        ('{"score": "0.3"}', None),
        ('{"score": null}', None),
        ('{"score": NaN}', None),
        ('{"score": true}', None),
        ('{"score": [0.3]}', None),
        ("{'score': 0.3}", None),
        ("", None),
    ],
)
def test_judge_invalid_json_of_other_kinds(output: str, value: float | None) -> None:
    """A number counts under its name in an object, or where it is the whole reply; nothing else is guessed at."""
    report = scored(judge_of([output, '{"score": 1}']), 2)
    assert found(report, "") == [value, 1.0]
    assert found(report, "_reply")[0] == output
    assert summary(report)[3] == (value is None)


def test_judge_invalid_json_for_every_sample_is_warned_of() -> None:
    with pytest.warns(RankframeWarning, match=r"^score: the judge failed for 4 samples, all that it was asked about: "):
        report = scored(judge_of(OUTPUTS[1:]), 4)
    assert summary(report) == (None, 0, 4, 4)


@pytest.mark.parametrize("concurrency", [1, 3])
@pytest.mark.parametrize("way", ["plain", "async"])
def test_judge_timeout(way: str, concurrency: int) -> None:
    """The call ends in about the time-out, and keeps the other results."""
    free = threading.Event()

    def plain(prompt: str) -> str:
        if "#1#" in prompt:
            free.wait(20)
        return '{"score": 1.0}'

    async def later(prompt: str) -> str:
        await asyncio.sleep(20 if "#1#" in prompt else 0)
        return '{"score": 1.0}'

    began = time.monotonic()
    report = scored(plain if way == "plain" else later, 3, timeout=0.2, concurrency=concurrency)
    took = time.monotonic() - began
    free.set()
    assert 0.2 <= took < 3.0
    assert found(report, "") == [1.0, None, 1.0]
    assert found(report, "_status", "_reason")[1] == ("error", "timed out: no answer within 0.2 s")
    assert summary(report) == (1.0, 2, 1, 1)
    assert report.ledger.select("reason", "count", "examples").rows() == [("judge_failed", 1, ["s1"])]


def test_judge_range_mismatch() -> None:
    """A score out of the declared range is none: it is not cut, and not rescaled."""
    report = scored(judge_of(['{"score": 4}', '{"score": 2}']), 2, (0, 2))
    assert found(report, "") == [None, 2.0]
    assert found(report, "_status", "_reason", "_reply")[0] == (
        "parse_error",
        "4 is outside of the range 0 to 2",
        '{"score": 4}',
    )
    assert summary(report) == (2.0, 1, 1, 1)


@pytest.mark.parametrize(
    ("ends", "score", "valid"),
    [
        ((0, 2), 0, True),
        ((0, 2), 2.0001, False),
        ((0, 2), -0.0001, False),
        ((1, 5), 0.9, False),
        ((-1, 1), -1, True),
        ((0, 100), 100, True),
        ((0, 1), 85, False),
    ],
)
def test_judge_range_mismatch_at_the_ends(ends: tuple[float, float], score: float, valid: bool) -> None:  # noqa: FBT001
    """Both ends belong to the range, and the prompt says which it is."""
    prompts: list[str] = []

    def judge(prompt: str) -> str:
        prompts.append(prompt)
        return json.dumps({"score": score}) if "#0#" in prompt else json.dumps({"score": ends[1]})

    report = scored(judge, 2, ends)
    assert found(report, "")[0] == (score if valid else None)
    assert summary(report)[3] == (not valid)
    assert all(f"a number from {ends[0]} to {ends[1]}" in prompt for prompt in prompts)
