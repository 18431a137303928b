"""Judged metrics from samples to report, with a real client, a server that fails at times, and a cache."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import rankframe as rf
from rankframe.rag.adapters import openai_embedder
from rankframe.rag.judges import Judge
from tests.judges.server import Reply, Request, Server, failure
from tests.judges.shared import KEY, OPENAI, Kind, across_loops, both, forget

SAMPLES = [
    {
        "sample_id": f"s{number}",
        "user_input": f"What is number {number}?",
        "response": f"Number {number} is a kite. It is old.",
        "retrieved_contexts": [f"Number {number} is a kite.", "Owls are no kites."],
    }
    for number in range(6)
]
FOUND = {"claims": [{"claim": "It is a kite.", "contexts": [1]}, {"claim": "It is old.", "contexts": []}]}


def number_of(request: Request) -> int:
    """Which sample a prompt is about."""
    return next(number for number in range(len(SAMPLES)) if f"What is number {number}?" in request.prompt)


class Moody:
    """Fails once for each sample, each time in another way, and then says what it found."""

    WAYS = (
        failure(429, retry_after="0"),
        failure(529),
        failure(500, retry_after_ms="1"),
        Reply(broken="closed"),
        Reply("a text", broken="half"),
        Reply(body='{"error": {"message": "Slow down.", "code": 503}}'),
    )

    def __init__(self) -> None:
        self.asked: Counter[int] = Counter()

    def __call__(self, request: Request) -> Reply:
        number = number_of(request)
        self.asked[number] += 1
        return Reply(json.dumps(FOUND)) if self.asked[number] > 1 else self.WAYS[number]


def evaluated(judge: Judge, **options: Any) -> rf.Report:
    return rf.evaluate_samples(SAMPLES, metrics=[rf.rag.faithfulness(llm=judge)], **{"wait": 0.01} | options)


@pytest.fixture(params=["plain", "async"])
def is_async(request: pytest.FixtureRequest) -> bool:
    return bool(request.param == "async")


@pytest.fixture
def judge_of(server: Server, is_async: bool) -> Iterator[Any]:  # noqa: FBT001
    """Makes the judge of a kind: with the client that is made here, or with an async one of the caller's."""

    def made(kind: Kind) -> Judge:
        if not is_async:
            return kind.judge(server, max_tokens=500)
        return kind.adapter("a-model", client=kind.client(server, is_async=True), max_tokens=500)

    yield made
    forget()


@both
@across_loops
def test_a_busy_service_is_asked_again_and_a_finished_evaluation_asks_nothing(
    kind: Kind, server: Server, judge_of: Any, tmp_path: Path
) -> None:
    server.answer = Moody()
    cache = tmp_path / "judge.jsonl"
    report = evaluated(judge_of(kind), cache=cache)
    assert report.scores["faithfulness"].to_list() == [0.5] * 6
    assert report.scores["faithfulness_status"].to_list() == ["ok"] * 6
    assert report.scores["faithfulness_attempts"].to_list() == [2] * 6
    assert report.summary.select("n", "n_failed").row(0) == (6, 0)
    assert report.claims.filter("supports")["text"].to_list() == ["It is a kite."] * 6
    assert len(server.requests) == 12

    again = evaluated(judge_of(kind), cache=cache)
    assert len(server.requests) == 12
    assert again.scores["faithfulness"].to_list() == [0.5] * 6
    assert again.scores["faithfulness_attempts"].to_list() == [0] * 6
    assert KEY not in cache.read_text()
    assert "a-model" in cache.read_text()


@both
def test_another_model_length_or_address_is_asked_anew(kind: Kind, server: Server, tmp_path: Path) -> None:
    server.answer = lambda _: Reply(json.dumps(FOUND))
    cache = tmp_path / "judge.jsonl"
    base_url = kind.base_url(server)
    for judge in (
        kind.judge(server, max_tokens=500),
        kind.judge(server, max_tokens=501),
        kind.judge(server, max_tokens=500, system="Be strict."),
        kind.adapter("another-model", api_key=KEY, base_url=base_url, max_tokens=500),
        kind.judge(server, max_tokens=500, base_url=base_url.replace("127.0.0.1", "localhost")),
    ):
        before = len(server.requests)
        evaluated(judge, cache=cache)
        assert len(server.requests) == before + 6
        evaluated(judge, cache=cache)
        assert len(server.requests) == before + 6
    evaluated(kind.judge(server, max_tokens=500, timeout=20, api_key="another-key"), cache=cache)
    assert len(server.requests) == 30, "who pays, and for how long one waits, changes no answer"


@both
@across_loops
def test_an_async_client_serves_one_evaluation_after_another(kind: Kind, server: Server) -> None:
    server.answer = lambda _: Reply(json.dumps(FOUND))
    judge = kind.adapter("a-model", client=kind.client(server, is_async=True))
    for _ in range(3):
        assert evaluated(judge).scores["faithfulness_status"].to_list() == ["ok"] * 6
    del judge
    forget()


@both
@across_loops
def test_each_failure_has_its_status_and_none_of_them_is_kept(
    kind: Kind, server: Server, judge_of: Any, tmp_path: Path
) -> None:
    replies = [
        Reply(json.dumps(FOUND)),
        Reply("", stop="refusal", refusal="It is not allowed."),
        Reply('{"claims": [{"cl', stop="length"),
        Reply("I do not know."),
        failure(401, f"the key {KEY} is unknown"),
        Reply(body="<html>Welcome</html>", headers={"content-type": "text/html"}),
    ]
    server.answer = lambda request: replies[number_of(request)]
    cache = tmp_path / "judge.jsonl"
    report = evaluated(judge_of(kind), cache=cache)
    scores = report.scores
    assert scores["faithfulness"].to_list() == [0.5, *[None] * 5]
    assert scores["faithfulness_status"].to_list() == ["ok", "refused", *["parse_error"] * 2, *["error"] * 2]
    assert scores["faithfulness_reply"].to_list()[2:4] == ['{"claims": [{"cl', "I do not know."]
    assert scores["faithfulness_attempts"].to_list() == [1] * 6
    assert report.summary.select("value", "n", "n_failed").row(0) == (0.5, 1, 5)
    reasons = " ".join(scores["faithfulness_reason"].drop_nulls())
    for said in ("It is not allowed.", "max_tokens=", "the key [api key] is unknown", "base_url="):
        assert said in reasons

    file = tmp_path / "report.parquet"
    report.write_parquet(file)
    assert KEY.encode() not in file.read_bytes()
    assert KEY not in cache.read_text()
    assert len(cache.read_text().splitlines()) == 2, "its head, and the one that could be read"


def test_answer_relevance_asks_a_judge_and_an_embedder_of_one_client(server: Server, tmp_path: Path) -> None:
    questions = ["What is the kite?", "How old is it?", "Which kite is old?"]
    said = json.dumps({"questions": questions, "noncommittal": False})

    def answer(request: Request) -> Reply:
        if request.path == "/v1/chat/completions":
            return Reply(said)
        rows = [(index, [1.0, float(text in questions)]) for index, text in enumerate(request.body["input"])]
        return Reply(vectors=rows[::-1])

    server.answer = answer
    with OPENAI.client(server) as client:
        judge = OPENAI.adapter("a-model", client=client)
        embed = openai_embedder("vectors", client=client)
        for _ in range(2):
            report = rf.evaluate_samples(
                SAMPLES, metrics=[rf.rag.answer_relevance(llm=judge, embed=embed)], cache=tmp_path / "judge.jsonl"
            )
            assert report.scores["answer_relevance_status"].to_list() == ["ok"] * 6
            assert report.value("answer_relevance") == pytest.approx(0.5**0.5)
    asked = Counter(request.path for request in server.requests)
    assert asked == {"/v1/chat/completions": 6, "/v1/embeddings": 6}
