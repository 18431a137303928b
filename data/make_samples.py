"""Fill in what follows from other files in the RAG samples of the handbook set, and sort them.

Usage: ``python data/make_samples.py``. A line of ``handbook/samples.jsonl`` needs the columns of `BY_HAND`; whatever
else it holds is written anew from questions, passages, judgments and runs. On the committed file nothing changes.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from pathlib import Path
from typing import Any

import polars as pl

import rankframe as rf

HANDBOOK = Path(__file__).resolve().parent / "handbook"
SAMPLES = HANDBOOK / "samples.jsonl"
CONTEXTS = {"careful": ("dense", 4), "fluent": ("tfidf", 3)}
"""Of each answer system: the run that it read, and how many results of it."""
VERDICTS = ("label_faithful", "label_claims", "label_supported", "label_correct", "label_relevant")
BY_HAND = ("run_id", "query_id", "response", "reference", "references", *VERDICTS, "label_fault", "label_note")
USEFUL = 2.0
"""The lowest grade of a reference context."""

Ids = dict[str, list[str]]


def ids_by_query(frame: pl.DataFrame) -> Ids:
    """The documents of each query, in the order of the frame."""
    ids: Ids = defaultdict(list)
    for query, doc in frame.select("query_id", "doc_id").iter_rows():
        ids[query].append(doc)
    return ids


def retrieved(run: str, depth: int) -> Ids:
    """The first documents of each query by trec_eval's order: by score, then by id, both descending."""
    frame = rf.read_run(HANDBOOK / "runs" / f"{run}.trec")
    ordered = frame.sort("query_id", "score", "doc_id", descending=[False, True, True])
    return ids_by_query(ordered.group_by("query_id", maintain_order=True).head(depth))


def lexically_faithful(response: str, contexts: list[str]) -> bool | None:
    """Whether every sentence has more than 70 percent of its distinct words in some one context.

    Sentences of at most 10 characters, and those that say what the passages do not hold, are no claims; without a claim
    there is no verdict.
    """
    sentences = re.split(r"(?<=[.!?])\s+", response)
    claims = [words(text) for text in sentences if len(text) > 10 and not text.startswith("The passages do not ")]
    supported = [any(10 * len(claim & words(text)) > 7 * len(claim) for text in contexts) for claim in claims]
    return all(supported) if supported else None


def words(text: str) -> set[str]:
    """The distinct words in small letters."""
    return set(re.findall(r"\w+", text.lower()))


def main() -> None:
    """Write every line anew."""
    beir = rf.read_beir(HANDBOOK)
    passages = {row["doc_id"]: f"{row['title']} {row['text']}" for row in beir.corpus.iter_rows(named=True)}
    queries = {row["query_id"]: row for row in beir.queries.iter_rows(named=True)}
    found = {system: retrieved(run, depth) for system, (run, depth) in CONTEXTS.items()}
    judged = beir.qrels.sort("query_id", "relevance", "doc_id", descending=[False, True, False])
    useful = ids_by_query(judged.filter(pl.col("relevance") >= USEFUL))
    best = ids_by_query(judged.filter(pl.col("relevance") == pl.col("relevance").max().over("query_id")))

    def completed(line: dict[str, Any]) -> dict[str, Any]:
        query = line["query_id"]
        ids = found[line["run_id"]][query]
        contexts = [passages[doc] for doc in ids]
        hand = {column: line[column] for column in BY_HAND}
        return {
            "sample_id": query,
            "run_id": hand.pop("run_id"),
            "query_id": hand.pop("query_id"),
            "user_input": queries[query]["text"],
            **hand,
            "judge_faithful": lexically_faithful(line["response"], contexts),
            "topic": queries[query]["topic"],
            "difficulty": queries[query]["difficulty"],
            "ground_truth_sources": best[query],
            "retrieved_context_ids": ids,
            "reference_context_ids": useful[query],
            "retrieved_contexts": contexts,
            "reference_contexts": [passages[doc] for doc in useful[query]],
        }

    samples = [completed(json.loads(line)) for line in SAMPLES.read_text(encoding="utf-8").splitlines()]
    samples.sort(key=lambda sample: (sample["query_id"], sample["run_id"]))
    lines = [json.dumps(sample, ensure_ascii=False) + "\n" for sample in samples]
    SAMPLES.write_text("".join(lines), encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
