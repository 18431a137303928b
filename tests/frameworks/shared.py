"""Six documents of two chunks, and what a search over their words must find: in plain Python, of no library."""

from __future__ import annotations

import functools
import math
import operator
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import ParamSpec, TypeVar

import polars as pl

import rankframe as rf

P = ParamSpec("P")
R = TypeVar("R")
Ranking = list[tuple[str, float]]

QUERIES = {
    "q1": "red kite over the valley",
    "q2": "white snow in the winter",
    "q3": "the bird that eats fish in cold water",
    "q4": "the one that hunts mice at night",
}
QRELS = {"q1": {"kite": 2, "fox": 1}, "q2": {"hare": 2, "owl": 1}, "q3": {"heron": 2, "otter": 1}, "q4": {"owl": 1}}
CHUNKS = {  # every chunk has "the", so that the queries find all of them
    "kite#0": "The red kite glides over the valley.",
    "kite#1": "It takes the carrion that foxes leave.",
    "owl#0": "The snowy owl hunts lemmings by day.",
    "owl#1": "Its ears find the mice under snow.",
    "otter#0": "The otter swims in cold rivers.",
    "otter#1": "It carries the fish to its holt.",
    "fox#0": "The red fox hunts at night.",
    "fox#1": "Its den lies near the valley farms.",
    "heron#0": "The heron waits in cold shallow water.",
    "heron#1": "It spears the fish and frogs.",
    "hare#0": "The mountain hare turns white in winter.",
    "hare#1": "It rests in the snow by day.",
}


def source(chunk: str) -> str:
    """The document that a chunk is of."""
    return chunk.partition("#")[0]


DOCUMENTS = {doc: f"{CHUNKS[f'{doc}#0']} {CHUNKS[f'{doc}#1']}" for doc in dict.fromkeys(map(source, CHUNKS))}


def words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


VOCABULARY = sorted({word for text in CHUNKS.values() for word in words(text)})


def vector(text: str) -> list[float]:
    """How often each word occurs, each with a weight of its own, so that hardly two chunks are equally similar."""
    occurs = Counter(words(text))
    return [occurs[word] * (1 + place / 20) for place, word in enumerate(VOCABULARY)]


@functools.cache
def _similar(query: str, *, chunked: bool) -> Ranking:
    one = vector(query)
    found = {}
    for name, text in (CHUNKS if chunked else DOCUMENTS).items():
        other = vector(text)
        found[name] = sum(map(operator.mul, one, other)) / math.hypot(*one) / math.hypot(*other)
    ranking = sorted(found.items(), key=lambda pair: pair[1], reverse=True)
    assert all(first[1] - second[1] > 1e-4 for first, second in pairwise(ranking)), query
    return ranking


def similar(limit: int, *, chunked: bool = True) -> dict[str, Ranking]:
    """The cosine of every query with its most similar chunks, or documents."""
    return {query: _similar(text, chunked=chunked)[:limit] for query, text in QUERIES.items()}


def collapsed(rankings: Mapping[str, Sequence[tuple[str, float]]]) -> dict[str, Ranking]:
    """The documents of chunks, each by its best one."""
    found: dict[str, Ranking] = {}
    for query, ranking in rankings.items():
        best: dict[str, float] = {}
        for chunk, score in ranking:
            best.setdefault(source(chunk), score)
        found[query] = list(best.items())
    return found


def by_rank(rankings: Mapping[str, Sequence[tuple[str, object]]]) -> dict[str, Ranking]:
    """The same order where the library gives no scores, or none that are higher for better results."""
    return {
        query: [(doc, -float(rank)) for rank, (doc, _) in enumerate(ranking, 1)] for query, ranking in rankings.items()
    }


def ranked(found: rf.Retrieval, score: str = "score") -> dict[str, Ranking]:
    """The run, by query, those without results too."""
    assert found.log["status"].unique().to_list() == ["ok"], found.log
    assert found.log["query_id"].to_list() == list(QUERIES)
    rows = found.run.select("query_id", "doc_id", pl.col(score)).rows()
    return {query: [(doc, value) for asked, doc, value in rows if asked == query] for query in QUERIES}


def close(found: Mapping[str, Ranking], wanted: Mapping[str, Ranking], tolerance: float = 1e-6) -> bool:
    """Whether ids and order are equal, and scores as near as the precision of the library lets them be."""
    return list(found) == list(wanted) and all(
        [doc for doc, _ in found[query]] == [doc for doc, _ in wanted[query]]
        and all(abs(one - other) <= tolerance for (_, one), (_, other) in zip(found[query], wanted[query], strict=True))
        for query in wanted
    )


def recall_is_right(found: rf.Retrieval, k: int = 2) -> bool:
    """Whether `evaluate` takes the retrieval, and gives of it what plain Python does."""
    report = rf.evaluate(found, QRELS, metrics=[f"recall@{k}"])
    scores = dict(report.scores.select("query_id", f"recall@{k}").iter_rows())
    assert report.scores["status"].unique().to_list() == ["ok"]
    wanted = {
        query: len({doc for doc, _ in ranking[:k]} & set(QRELS[query])) / len(QRELS[query])
        for query, ranking in ranked(found).items()
    }
    return scores == wanted and sum(wanted.values()) > 0


def recording(function: Callable[P, R], answers: list[R]) -> Callable[P, R]:
    """The same function, to its signature; what the library answers is kept, before anything is cut."""

    @functools.wraps(function)
    def ask(*args: P.args, **kwargs: P.kwargs) -> R:
        answers.append(answer := function(*args, **kwargs))
        return answer

    return ask
