"""One long evaluation by judges in a process of its own, which may be killed at any moment.

    python -m tests.slow.judge_killed FOLDER NUMBER CONCURRENCY plain|async

What judge and embedder are asked is a line of FOLDER/asked each, the cache is FOLDER/judge.jsonl, and the report that
comes out in the end FOLDER/report.parquet.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from collections.abc import Callable
from hashlib import blake2b
from pathlib import Path
from typing import Any

import rankframe as rf
from rankframe.metrics.metric import Metric

PAUSE = 0.002  # seconds that an answer takes

Asking = Callable[[Any], Any]


def samples(number: int) -> list[dict[str, Any]]:
    """Samples that differ, in letters of several alphabets."""
    return [
        {
            "sample_id": f"s{place}",
            "user_input": f"question {place}? é🦊",
            "response": f"response {place}, \u2028 水.",
            "retrieved_contexts": [f"context {place}", "another"],
        }
        for place in range(number)
    ]


def reply(prompt: str) -> str:
    """What the judge says to a prompt; for some it says nothing that can be read, and for some it refuses."""
    chance = blake2b(prompt.encode()).digest()[0]
    if chance % 31 == 0:
        return "I cannot judge this."
    if chance % 31 == 1:
        return '{"claims": [{"claim": "cut'
    if "noncommittal" in prompt:
        questions = [f"{chance} é?", f"{chance + 1} 🦊?"]
        return json.dumps({"questions": questions, "noncommittal": chance % 2 == 0}, ensure_ascii=False)
    if "score" in prompt:
        return f'Let me see.\n```json\n{{"score": {chance / 255}, "reason": "\\u2028 水"}}\n```'
    claims = [{"claim": f"claim {place} \u2028", "contexts": [1] * (chance % (place + 2))} for place in range(4)]
    return json.dumps({"claims": [{**claim, "contexts": claim["contexts"][:1]} for claim in claims]})


def vectors(texts: list[str]) -> list[list[float]]:
    """A direction for each text."""
    return [[1.0 + byte for byte in blake2b(text.encode(), digest_size=4).digest()] for text in texts]


def metrics(ask: Asking, embed: Asking) -> list[Metric]:
    """Three metrics that share the judge."""
    judge = rf.rag.Judge(ask, name="judge", model="m")
    return [
        rf.rag.faithfulness(llm=judge),
        rf.rag.answer_relevance(llm=judge, embed=rf.rag.Embedder(embed, name="embedder", model="e")),
        rf.rag.judged("tone", "Give a score: {response}", llm=judge),
    ]


def main(folder: Path, number: int, concurrency: int, way: str) -> None:
    """Ask about all samples, or for what no process before this one was told."""
    asked = os.open(folder / "asked", os.O_APPEND | os.O_CREAT | os.O_WRONLY)

    def told(about: Any) -> None:
        os.write(asked, f"{blake2b(json.dumps(about).encode(), digest_size=8).hexdigest()}\n".encode())

    def plain(answer: Asking) -> Asking:
        def ask(about: Any) -> Any:
            told(about)
            time.sleep(PAUSE)
            return answer(about)

        return ask

    def later(answer: Asking) -> Asking:
        async def ask(about: Any) -> Any:
            told(about)
            await asyncio.sleep(PAUSE)
            return answer(about)

        return ask

    made = plain if way == "plain" else later
    report = rf.evaluate_samples(
        samples(number),
        metrics=metrics(made(reply), made(vectors)),
        cache=folder / "judge.jsonl",
        concurrency=concurrency,
    )
    report.write_parquet(folder / "report.parquet")


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), sys.argv[4])
