"""What retrievers answer with, in every shape: its ids, its order, its scores, and what is refused."""

from __future__ import annotations

import enum
import itertools
import math
import re
from collections import UserDict, deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from types import MappingProxyType, SimpleNamespace
from typing import Any, NamedTuple
from unittest.mock import MagicMock, Mock
from uuid import UUID

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankframe as rf
from rankframe.retrievers.answers import by_query
from rankframe.retrievers.hits import Collapse
from rankframe.retrievers.results import Reader, Results
from tests.shown import shown

NAN, INF = math.nan, math.inf


def read(answer: object, limit: int = 10, **options: Any) -> Results:
    return Reader(limit, **options).results(answer)


def hits(answer: object, **options: Any) -> list[tuple[str, float]]:
    """Ids with scores; these are minus the rank where the answer has none that give its order."""
    found = read(answer, **options)
    return list(zip(found.docs, found.scores, strict=True))


def refused(answer: object, **options: Any) -> str:
    """Why an answer is not taken."""
    with pytest.raises(rf.DataError) as caught:
        read(answer, **options)
    return str(caught.value)


# Objects of the structure that other libraries' have.


@dataclass
class Document:
    """LangChain's."""

    page_content: str
    metadata: dict[str, Any] = field(default_factory=dict)
    id: str | None = None


@dataclass
class TextNode:
    """LlamaIndex's."""

    id_: str
    ref_doc_id: str | None = None
    metadata: dict[str, Any] = field(default_factory=dict)


@dataclass
class NodeWithScore:
    """LlamaIndex's."""

    node: TextNode
    score: float | None = None


@dataclass
class MetaDocument:
    """Haystack's."""

    id: str
    content: str
    meta: dict[str, Any] = field(default_factory=dict)
    score: float | None = None


@dataclass
class ScoredPoint:
    """Qdrant's."""

    id: int | str
    score: float
    payload: dict[str, Any] | None = None


@dataclass
class Segment:
    segment_id: str
    source_id: str
    text: str = ".."


@dataclass
class SegmentHit:
    segment: Segment
    score: float


class Pair(NamedTuple):
    doc_id: str
    score: float


SCORED = [("d1", 0.9), ("d2", 0.8)]
RANKED = [("d1", -1.0), ("d2", -2.0)]
FRAME = pl.DataFrame(SCORED, schema=["doc_id", "score"], orient="row")
LANGCHAIN = [Document("..", {"source": "d1"}, "c1"), Document("..", {"source": "d2"}, "c2")]
LLAMA_INDEX = [NodeWithScore(TextNode("n1", "d1"), 0.9), NodeWithScore(TextNode("d2"), 0.8)]
HAYSTACK = [MetaDocument("h1", "..", {"source_id": "d1"}, 0.9), MetaDocument("d2", "..", {}, 0.8)]
QDRANT = [ScoredPoint(1, 0.9, {"doc_id": "d1"}), ScoredPoint("d2", 0.8)]
CHROMA = {
    "ids": [["c1", "d2"]],
    "embeddings": None,
    "documents": [["..", ".."]],
    "metadatas": [[{"source": "d1"}, None]],
    "distances": [[0.1, 0.4]],
}
ELASTIC = [{"_id": "d1", "_score": 0.9, "_source": {"text": ".."}}, {"_id": "d2", "_score": 0.8, "_source": {}}]

ANSWERS: dict[str, tuple[Callable[[], Any], list[tuple[str, float]]]] = {
    "ids": (lambda: ["d1", "d2"], RANKED),
    "tuple of ids": (lambda: ("d1", "d2"), RANKED),
    "deque of ids": (lambda: deque(["d1", "d2"]), RANKED),
    "generator of ids": (lambda: (doc for doc in ("d1", "d2")), RANKED),
    "keys of a mapping, as a list": (lambda: list(dict(SCORED)), RANKED),
    "array": (lambda: np.array(["d1", "d2"]), RANKED),
    "array of objects": (lambda: np.array(["d1", "d2"], dtype=object), RANKED),
    "Arrow array": (lambda: pa.array(["d1", "d2"]), RANKED),
    "Arrow column": (lambda: pa.chunked_array([["d1"], ["d2"]]), RANKED),
    "Polars column": (lambda: pl.Series(["d1", "d2"]), RANKED),
    "pandas column": (lambda: pd.Series(["d1", "d2"]), RANKED),
    "pandas index": (lambda: pd.Index(["d1", "d2"]), RANKED),
    "pairs": (lambda: SCORED, SCORED),
    "lists of two": (lambda: [["d1", 0.9], ["d2", 0.8]], SCORED),
    "generator of pairs": (lambda: iter(SCORED), SCORED),
    "pairs and more": (lambda: [("d1", 0.9, {"text": ".."}), ("d2", 0.8, None)], SCORED),
    "pairs without scores": (lambda: [("d1", None), ("d2", None)], RANKED),
    "named pairs": (lambda: [Pair("d1", 0.9), Pair("d2", 0.8)], SCORED),
    "mapping": (lambda: {"d2": 0.8, "d1": 0.9}, SCORED),
    "mapping of another type": (lambda: MappingProxyType(UserDict({"d2": 0.8, "d1": 0.9})), SCORED),
    "mapping of numpy's numbers": (lambda: {np.str_("d2"): np.int8(-2), np.str_("d1"): np.float32(-1)}, RANKED),
    "records": (lambda: [{"doc_id": "d1", "score": 0.9}, {"doc_id": "d2", "score": 0.8}], SCORED),
    "records of another type": (lambda: [UserDict({"id": "d1"}), MappingProxyType({"id": "d2"})], RANKED),
    "records with metadata": (lambda: [{"id": "c1", "metadata": {"doc_id": "d1"}}, {"meta": {"source": "d2"}}], RANKED),
    "results": (lambda: {"results": [{"id": "d1"}, {"id": "d2"}], "total": 2}, RANKED),
    "matches": (lambda: SimpleNamespace(matches=[SimpleNamespace(id="d1"), SimpleNamespace(id="d2")]), RANKED),
    "frame": (lambda: FRAME, SCORED),
    "lazy frame": (FRAME.lazy, SCORED),
    "pandas": (FRAME.to_pandas, SCORED),
    "pandas with ids in the index": (lambda: FRAME.to_pandas().set_index("doc_id"), SCORED),
    "Arrow table": (FRAME.to_arrow, SCORED),
    "Arrow reader": (lambda: FRAME.to_arrow().to_reader(), SCORED),
    "frame of ids alone": (lambda: FRAME.select("doc_id"), RANKED),
    "frame of categories": (lambda: FRAME.with_columns(pl.col("doc_id").cast(pl.Categorical)), SCORED),
    "frame with scores as text": (lambda: FRAME.with_columns(pl.col("score").cast(pl.String)), SCORED),
    "frame with ranks": (lambda: FRAME.select("doc_id").reverse().with_columns(rank=pl.Series([2, 1])), RANKED),
    "frame with ranks as text": (
        lambda: FRAME.select("doc_id").reverse().with_columns(rank=pl.Series(["10", "9"])),
        RANKED,
    ),
    "frame with ranks and scores": (lambda: FRAME.with_columns(rank=pl.Series([2, 1])), SCORED),
    "frame of distances": (lambda: pl.DataFrame({"_id": ["d1", "d2"], "distance": [0.1, 0.4]}), RANKED),
    "frame with its query": (lambda: FRAME.with_columns(query_id=pl.lit("q1")), SCORED),
    "LangChain": (lambda: LANGCHAIN, RANKED),
    "LangChain with scores": (lambda: list(zip(LANGCHAIN, [0.9, 0.8], strict=True)), SCORED),
    "LlamaIndex": (lambda: LLAMA_INDEX, SCORED),
    "LlamaIndex's response": (lambda: SimpleNamespace(response="..", source_nodes=LLAMA_INDEX), SCORED),
    "Haystack": (lambda: {"documents": HAYSTACK}, SCORED),
    "Haystack's documents": (lambda: HAYSTACK, SCORED),
    "Qdrant": (lambda: SimpleNamespace(points=QDRANT), SCORED),
    "Qdrant's points": (lambda: QDRANT, SCORED),
    "Chroma": (lambda: CHROMA, RANKED),
    "Chroma without anything else": (lambda: {"ids": [["d1", "d2"]], "metadatas": None, "distances": None}, RANKED),
    "Chroma's of one query": (lambda: {"ids": ["d1", "d2"], "metadatas": None}, RANKED),
    "segments": (lambda: [SegmentHit(Segment("s1", "d1"), 0.9), SegmentHit(Segment("s2", "d2"), 0.8)], SCORED),
    "segments as mappings": (
        lambda: [{"segment": {"source_id": doc}, "score": score} for doc, score in SCORED],
        SCORED,
    ),
    "a segment that holds its document": (
        lambda: [SimpleNamespace(segment=SimpleNamespace(document={"id": doc}), score=score) for doc, score in SCORED],
        SCORED,
    ),
    "Elasticsearch": (lambda: {"took": 3, "hits": {"total": {"value": 2}, "hits": ELASTIC}}, SCORED),
    "Elasticsearch's hits": (lambda: ELASTIC, SCORED),
}


@pytest.mark.parametrize("shape", ANSWERS)
def test_answers_of_every_shape_are_recognised(shape: str) -> None:
    answer, right = ANSWERS[shape]
    assert right == hits(answer())


@pytest.mark.parametrize("shape", ANSWERS)
def test_the_limit_cuts_answers_of_every_shape(shape: str) -> None:
    assert read(ANSWERS[shape][0](), limit=1).docs == ["d1"]


NOTHING: dict[str, Any] = {
    "list": [],
    "tuple": (),
    "mapping": {},
    "iterator": iter([]),
    "array": np.array([]),
    "Polars column": pl.Series([], dtype=pl.String),
    "pandas column": pd.Series([], dtype=str),
    "frame": FRAME.clear(),
    "frame without columns": pl.DataFrame(),
    "pandas": FRAME.clear().to_pandas(),
    "documents": {"documents": []},
    "points": SimpleNamespace(points=[]),
    "hits": {"hits": {"hits": []}},
    "columns": {"ids": [[]], "distances": [[]]},
    "columns of one query": {"ids": [], "distances": []},
}


@pytest.mark.parametrize("shape", NOTHING)
def test_an_answer_of_no_results_is_empty(shape: str) -> None:
    assert read(NOTHING[shape]) == Results([], [], [], 0)


# How far an answer is read.


def test_a_generator_is_read_up_to_the_limit_and_closed() -> None:
    seen: list[str] = []

    def endless() -> Iterator[str]:
        try:
            for number in itertools.count():
                seen.append(f"read {number}")
                yield f"d{number}"
        finally:
            seen.append("closed")

    assert read(endless(), limit=3).docs == ["d0", "d1", "d2"]
    assert seen == ["read 0", "read 1", "read 2", "closed"]


def test_an_iterator_without_end_is_read_up_to_the_limit() -> None:
    left = iter(map(str, itertools.count()))
    assert read(left, limit=3).docs == ["0", "1", "2"]
    assert next(left) == "3"


def test_what_stands_behind_the_limit_is_not_looked_at() -> None:
    assert read(["d1", None, {"no": "id"}], limit=1).docs == ["d1"]
    assert read([f"d{number}" for number in range(1_000_000)], limit=2).docs == ["d0", "d1"]


def test_the_limit_counts_results_and_not_documents() -> None:
    assert read(["d1", "d1", "d2"], limit=2) == Results(["d1"], [-1.0], [None], 1)


# Ids.


class Color(enum.StrEnum):
    RED = "red"


class Text(str, enum.Enum):  # noqa: UP042  # older code's
    RED = "red"


class Number(enum.IntEnum):
    ONE = 1


@pytest.mark.parametrize(
    ("value", "right"),
    [
        ("", ""),
        (" a\tb\n", " a\tb\n"),
        ("0042", "0042"),
        ("é🦊\x00\u2028", "é🦊\x00\u2028"),
        (np.str_("d1"), "d1"),
        (Color.RED, "red"),
        (Text.RED, "red"),
        (7, "7"),
        (-1, "-1"),
        (2**70, str(2**70)),
        (np.int64(7), "7"),
        (np.uint8(7), "7"),
        (Number.ONE, "1"),
        (UUID(int=7), "00000000-0000-0000-0000-000000000007"),
    ],
    ids=ascii,
)
def test_ids_are_text_and_whole_numbers(value: Any, right: str) -> None:
    """Compared as text, whatever holds them; never normalised."""
    for answer in ([value], [(value, 0.5)], {value: 0.5}, [{"doc_id": value}], [Document("..", {"source": value})]):
        found = read(answer).docs
        assert [right] == found
        assert [str] == [type(doc) for doc in found]


@pytest.mark.parametrize("value", [True, None, b"d1", 1.0, NAN, ["d1"], ("d1",), {"d1"}, object(), ...], ids=shown)
def test_what_is_no_id_is_refused(value: Any) -> None:
    """With the object, and how to write a key."""
    shown = re.escape(repr(value)[:20])
    for answer in ([value], ["d0", value]):
        assert re.search(
            f"a result, a {type(value).__name__}, .*{shown}.*; give key=.* as in key=lambda", refused(answer)
        )
    assert "give key=" in refused([(value, 0.5)])


@pytest.mark.parametrize("value", ["\ud800", "a\udfff", "é\ud83e"], ids=ascii)
def test_ids_that_are_no_text_are_refused(value: str) -> None:
    for answer in ([value], [(value, 0.5)], {value: 0.5}, [{"doc_id": value}]):
        assert refused(answer) == f"the id {value!r} is no Unicode text (a lone surrogate)"


def test_a_number_with_a_fraction_is_no_id_wherever_it_stands() -> None:
    """A whole number becomes one where another is missing; what stands behind it would be another id."""
    for hit in ({"doc_id": 1.0, "id": "c1"}, {"id": "c1", "metadata": {"doc_id": np.float64(1.0)}}):
        assert "the doc_id of the result" in refused([hit])
        assert "is a float" in refused([hit])
    assert read([{"id": "c1", "metadata": {"doc_id": NAN}}]).docs == ["c1"]  # pandas' way of saying that there is none
    assert "'doc_id' is Float64: ids are text" in refused(pl.DataFrame({"doc_id": [1.0, 2.0]}))


def test_missing_ids_of_a_frame_are_refused() -> None:
    assert "1 null doc_id" in refused(pl.DataFrame({"doc_id": ["d1", None]}))
    assert "no column 'doc_id'" in refused(pl.DataFrame({"text": ["a"]}))


# Which id: the document's or the result's own.


@pytest.mark.parametrize(
    ("hit", "best", "own"),
    [
        ({"doc_id": "d", "id": "c"}, "d", "c"),
        ({"id": "c"}, "c", "c"),
        ({"doc_id": "d"}, "d", "d"),
        ({"source": "s", "doc_id": "d", "source_id": "i"}, "i", "i"),
        ({"id": "c", "metadata": {"source": "s", "id": "x"}}, "s", "c"),
        ({"id": "c", "metadata": {"source": "s", "doc_id": "d"}}, "d", "c"),
        ({"chunk_id": "c", "document_id": "d"}, "d", "c"),
        ({"id": None, "doc_id": None, "metadata": {"source": "s"}}, "s", "s"),
        (Document("..", {"source": "s"}, "c"), "s", "c"),
        (Document("..", {}, "c"), "c", "c"),
        (NodeWithScore(TextNode("n", "d")), "d", "n"),
        (NodeWithScore(TextNode("n", None, {"source": "s"})), "s", "n"),
        (MetaDocument("h", "..", {"source_id": "d"}), "d", "h"),
        (ScoredPoint(7, 0.5, {"source": "s"}), "s", "7"),
        (SegmentHit(Segment("s1", "d"), 0.5), "d", "d"),
        (SimpleNamespace(id="h", segment=SimpleNamespace(id="s1", source_id="d")), "d", "h"),
        (SimpleNamespace(segment=SimpleNamespace(id="s1", document=SimpleNamespace(doc_id="d"))), "d", "s1"),
        ({"_id": "c", "_source": {"doc_id": "d"}}, "d", "c"),
        ({"document": "a text, not a document", "id": "c"}, "c", "c"),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_best_takes_the_documents_id_and_none_the_results_own(hit: Any, best: str, own: str) -> None:
    for answer in ([hit], [(hit, 0.5)]):
        assert [best] == read(answer).docs
        assert [own] == read(answer, collapse="none").docs


def test_columns_of_a_frame_are_looked_at_like_the_names_of_a_result() -> None:
    """Two of them are no contradiction: chunks have their document beside them."""
    frame = pl.DataFrame({"chunk_id": ["c1", "c2", "c3"], "doc_id": ["d1", "d1", "d2"], "score": [0.9, 0.8, 0.7]})
    for answer in (frame, frame.to_pandas(), frame.rename({"chunk_id": "id"})):
        assert hits(answer) == [("d1", 0.9), ("d2", 0.7)]
        assert hits(answer, collapse="none") == [("c1", 0.9), ("c2", 0.8), ("c3", 0.7)]


# Chunks to documents.


def test_of_several_results_of_a_document_the_best_rank_counts() -> None:
    """With its score; how many are left out is told."""
    chunks = [("d1", 0.9), ("d2", 0.8), ("d1", 0.7), ("d3", 0.6), ("d2", 0.5), ("d1", 0.4)]
    assert read(chunks) == Results(["d1", "d2", "d3"], [0.9, 0.8, 0.6], [0.9, 0.8, 0.6], 3)
    assert read([doc for doc, _ in chunks]) == Results(["d1", "d2", "d3"], [-1.0, -2.0, -3.0], [None] * 3, 3)


def test_the_first_result_of_a_document_counts_whatever_its_score() -> None:
    """The order of an answer is its ranking."""
    assert read([("d1", 0.1), ("d2", 0.8), ("d1", 0.9)]) == Results(["d1", "d2"], [-1.0, -2.0], [0.1, 0.8], 1)


def test_without_collapsing_an_id_that_comes_twice_is_refused() -> None:
    said = refused(["d1", "d2", "d1"], collapse="none")
    assert said == ("two results have the id 'd1'; collapse=\"best\" keeps the better one, or a key= tells them apart")


# Order and scores.

ORDERS: dict[str, tuple[list[tuple[Any, Any]], bool]] = {
    "descending": ([("b", 3.0), ("a", 2.5), ("c", -1.0)], True),
    "one": ([("a", 0.0)], True),
    "whole numbers": ([("a", 3), ("b", np.int64(2))], True),
    "decimals": ([("a", Decimal("0.3")), ("b", Fraction(1, 10))], True),
    "single precision": ([("a", np.float32(0.5)), ("b", np.float32(0.25))], True),
    "ties by id, descending": ([("c", 1.0), ("b", 1.0), ("a", 1.0), ("z", 0.0)], True),
    "ties by bytes": ([("🦊", 1.0), ("\uffff", 1.0), ("é", 1.0), ("z", 1.0), ("Z", 1.0)], True),
    "zeros of both signs are a tie": ([("b", -0.0), ("a", 0.0)], True),
    "infinite": ([("b", INF), ("a", INF), ("c", 0.0), ("e", -INF), ("d", -INF)], True),
    "ties by id, ascending": ([("a", 1.0), ("b", 1.0)], False),
    "zeros of both signs, ascending ids": ([("a", 0.0), ("b", -0.0)], False),
    "a tie in another order": ([("z", 2.0), ("a", 1.0), ("b", 1.0)], False),
    "distances": ([("a", 0.1), ("b", 0.4)], False),
    "one out of order": ([("a", 3.0), ("b", 1.0), ("c", 2.0)], False),
    "whole numbers that floats do not tell apart": ([("a", 2**53 + 1), ("b", 2**53)], False),
    "NaN": ([("a", 2.0), ("b", NAN), ("c", 1.0)], False),
    "only NaN": ([("a", NAN)], False),
    "some missing": ([("a", 2.0), ("b", None)], False),
    "all missing": ([("a", None), ("b", None)], False),
}


@pytest.mark.parametrize("case", ORDERS)
def test_the_order_of_an_answer_is_its_ranking(case: str) -> None:
    """Scores that give it are kept as they are; else the score is minus the rank, and they stand beside."""
    answer, kept = ORDERS[case]
    own = [None if score is None else float(score) for _, score in answer]
    found = read(answer)
    assert [doc for doc, _ in answer] == found.docs
    assert repr(own) == repr(list(found.own))
    assert (own if kept else [-1.0, -2.0, -3.0, -4.0, -5.0][: len(answer)]) == found.scores
    assert {float} == {type(score) for score in found.scores}


@pytest.mark.parametrize("value", [True, np.bool_(0)], ids=repr)
def test_truths_are_no_scores(value: Any) -> None:
    assert hits([{"id": "a", "score": value}]) == [("a", -1.0)]
    assert "is no (id, score) pair" in refused([("a", value)])


def test_text_is_no_score() -> None:
    assert (
        refused([{"id": "a", "score": "0.5"}])
        == "the score of the result {'id': 'a', 'score': '0.5'} is text, '0.5'; a score is a number"
    )
    assert "is no (id, score) pair" in refused([("a", "0.5")])
    assert "1 score that is no number, such as 'high'" in refused(pl.DataFrame({"doc_id": ["a"], "score": ["high"]}))
    assert hits([{"id": "a", "metadata": {"score": "high"}}]) == [("a", -1.0)]  # not the search's


@pytest.mark.parametrize(
    "value", [10**400, -(10**400), Decimal("sNaN"), 10**5000], ids=["large", "low", "signal", "huge"]
)
def test_numbers_that_no_float_holds_are_refused(value: Any) -> None:
    for answer in ([("a", value)], {"a": value}, [{"id": "a", "score": value}]):
        assert "no number that Float64 holds" in refused(answer)


def test_a_mapping_is_ordered_by_score_and_then_by_id_descending() -> None:
    """It has no order of its own."""
    assert hits({"a": 1.0, "c": 2.0, "b": 1, "é": 1.0}) == [("c", 2.0), ("é", 1.0), ("b", 1.0), ("a", 1.0)]
    assert hits({"a": 2**53 + 1, "b": 2**53}) == [("a", -1.0), ("b", -2.0)]
    assert hits({"a": Decimal("0.10000000000000000002"), "b": Decimal("0.1")}) == [("a", -1.0), ("b", -2.0)]
    assert hits({"a": -INF, "b": INF}) == [("b", INF), ("a", -INF)]
    assert "a score is no NaN" in refused({"a": NAN})
    assert hits({1: 0.5, "d2": 0.75}) == [("d2", 0.75), ("1", 0.5)]


NAMES = st.text(st.sampled_from("abzé🦊\uffff0 \x00"), max_size=2)
NUMBERS = st.sampled_from([0.0, -0.0, 0.5, 1.0, -1.0, INF, -INF, 5e-324, 1e300])
PAIRS = st.lists(st.tuples(NAMES, NUMBERS | st.none() | st.just(NAN)), max_size=6)


@given(PAIRS)
def test_the_result_has_the_order_of_the_answer_whatever_the_scores(answer: list[tuple[str, float | None]]) -> None:
    first = list(dict.fromkeys(doc for doc, _ in answer))
    found = read(answer)
    assert first == found.docs
    assert len(answer) - len(first) == found.n_collapsed
    by_rule = sorted(
        zip(found.scores, found.docs, strict=True), key=lambda hit: (hit[0], hit[1].encode()), reverse=True
    )
    assert first == [doc for _, doc in by_rule]


@given(PAIRS)
def test_evaluation_ranks_the_result_as_the_retriever_did(answer: list[tuple[str, float | None]]) -> None:
    """By the project's rule: score, then id, both descending."""
    found = rf.retrieve(lambda _: answer, {"q": ".."})
    docs = found.run["doc_id"].to_list()
    for place, doc in enumerate(docs, 1):
        assert 1 / place == rf.evaluate(found, {"q": {doc: 1}}, metrics="mrr").value("mrr")


@given(st.dictionaries(NAMES, NUMBERS, max_size=6))
def test_a_mapping_says_the_same_in_every_order(scores: dict[str, float]) -> None:
    backwards = dict(reversed(scores.items()))
    assert hits(scores) == hits(backwards)


# A key of the caller's.


def test_a_key_counts_before_everything_that_is_recognised() -> None:
    """It takes the result as it is, in every shape."""
    chunk = {"doc_id": "wrong", "text": "d1"}
    for answer in ([chunk], iter([chunk]), {"results": [chunk]}, pl.DataFrame([chunk]), pd.DataFrame([chunk])):
        assert read(answer, key=lambda hit: hit["text"]).docs == ["d1"]
    assert read(["d1#1", "d1#2"], key=lambda hit: hit.split("#")[0]) == Results(["d1"], [-1.0], [None], 1)
    assert hits([("d1#1", 0.9)], key=lambda hit: hit[0].split("#")[0]) == [("d1", 0.9)]
    assert hits({"d1#1": 0.9, "d1#2": 0.8}, key=lambda hit: hit[0].split("#")[0]) == [("d1", 0.9)]
    assert hits([(Document("d1"), 0.9)], key=lambda hit: hit[0].page_content) == [("d1", 0.9)]
    assert hits([SegmentHit(Segment("s1", "d1"), 0.9)], key=lambda hit: hit.segment.segment_id) == [("s1", 0.9)]
    assert read([3.5, 2.5], key=int).docs == ["3", "2"]


def test_a_frame_that_a_key_reads_keeps_its_scores_or_ranks() -> None:
    frame = pl.DataFrame({"text": ["d2", "d1"], "score": [0.9, 0.8]})
    assert hits(frame, key=lambda row: row["text"]) == [("d2", 0.9), ("d1", 0.8)]
    ranked = pl.DataFrame({"text": ["d1", "d2"], "rank": [2, 1]})
    assert hits(ranked, key=lambda row: row["text"]) == [("d2", -1.0), ("d1", -2.0)]
    assert read(ranked, limit=1, key=lambda row: row["text"]).docs == ["d2"]


@pytest.mark.parametrize("collapse", ["best", "none"])
def test_results_whose_key_is_one_are_collapsed_or_refused(collapse: Collapse) -> None:
    if collapse == "best":
        assert read(["a", "b"], key=lambda _: "d", collapse=collapse).n_collapsed == 1
    else:
        assert "two results have the id 'd'" in refused(["a", "b"], key=lambda _: "d", collapse=collapse)


def test_a_key_that_fails_or_gives_no_id_is_told_with_the_result() -> None:
    assert (
        refused([{"text": "a"}], key=lambda hit: hit["doc_id"])
        == "key= fails with KeyError: 'doc_id' on the result {'text': 'a'}"
    )
    assert refused(["d1"], key=lambda _: None) == "key= gives None for the result 'd1'; an id is text or a whole number"
    assert "key= gives 1.0 for the result 'd1'" in refused(["d1"], key=lambda _: 1.0)
    assert "a lone surrogate" in refused(["d1"], key=lambda _: "\ud800")


# What is not recognised.


class Opaque:
    def __repr__(self) -> str:
        return "Opaque(text='a red kite')"


class Unspeakable:
    def __repr__(self) -> str:
        raise RuntimeError("no repr")


def itself() -> dict[str, Any]:
    made: dict[str, Any] = {}
    made["results"] = made
    return made


def pair_of_itself() -> list[Any]:
    made: list[Any] = [None, 0.5]
    made[0] = made
    return made


class Holder:
    """A result that holds itself wherever one may look."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self


UNREAD: dict[str, tuple[Any, str]] = {
    "None": (None, "the answer is None; a query without results has an empty list"),
    "text": ("d1", "the answer is 'd1', a str; one id stands in a list"),
    "bytes": (b"d1", "the answer is b'd1', a bytes; one id stands in a list"),
    "set": ({"d1"}, "the answer is {'d1'}, a set; a set has no order"),
    "frozen set": (frozenset({"d1"}), "a frozenset; a set has no order"),
    "whole number": (3, "the answer is a int: 3; expected a list of results"),
    "number": (0.5, "the answer is a float: 0.5"),
    "object": (Opaque(), "the answer is a Opaque: Opaque(text='a red kite'); expected a list of results"),
    "object without a repr": (Unspeakable(), "the answer is a Unspeakable: <"),
    "mock": (Mock(), "the answer is a Mock"),
    "mock of everything": (MagicMock(), "the answer is a MagicMock"),
    "mapping of text": ({"d1": "text"}, "the answer is a dict with the keys ['d1']"),
    "mapping of truths": ({"d1": True}, "the answer is a dict with the keys ['d1']"),
    "mapping without a score": ({"d1": 0.5, "d2": None}, "the answer is a dict with the keys ['d1', 'd2']"),
    "one result alone": ({"doc_id": 7, "score": 0.5}, "the answer is a dict with the keys ['doc_id', 'score']"),
    "mapping of None": ({None: 0.5}, "the answer gives None the score 0.5; an id is text"),
    "mapping of a truth": ({True: 0.5}, "the answer gives True the score 0.5"),
    "a mapping in itself": (itself(), "the answer is a dict with the keys ['results']"),
    "an object in itself": (Holder(), "the answer is a Holder"),
    "one in an array": (np.array("d1"), "the answer is a ndarray"),
    "columns that end early": (
        {"ids": [["a", "b"]], "distances": [[0.1]]},
        "the columns 'id', 'score' of the answer do",
    ),
    "columns of more queries": (
        {"ids": [["a"]], "distances": [[0.1], [0.2]]},
        "the columns 'id', 'score' of the answer",
    ),
    "columns of None": ({"ids": [["a"]], "distances": [None]}, "the columns 'id', 'score' of the answer do not fit"),
    "columns of two queries": ({"ids": [["a"], ["b"]]}, "the answer to one query holds results of 2 queries"),
}


@pytest.mark.parametrize("case", UNREAD)
def test_answers_that_are_not_recognised_are_refused(case: str) -> None:
    answer, said = UNREAD[case]
    assert said in refused(answer)


ODD: dict[str, Any] = {
    "object": Opaque(),
    "object without a repr": Unspeakable(),
    "mock": Mock(),
    "mock of everything": MagicMock(),
    "itself": Holder(),
    "a pair of itself": pair_of_itself(),
    "a mapping in itself": itself(),
    "empty list": [],
    "one in a tuple": ("d1",),
    "two texts": ("d1", "d2"),
    "score before id": (0.5, "d1"),
    "pair of a pair": (("d1", 0.5), 0.5),
    "mapping": {"text": "a"},
    "empty mapping": {},
    "text as metadata": {"metadata": "d1"},
    "document": Document("a"),
    "node": SimpleNamespace(node=SimpleNamespace(text="a")),
    "many": [f"d{number}" for number in range(100_000)],
    "bytes": b"d1",
}


@pytest.mark.parametrize("case", ODD)
def test_results_that_are_not_recognised_are_shown_with_how_to_write_a_key(case: str) -> None:
    result = ODD[case]
    said = refused(["d1", result])
    assert re.search(rf"a result, a {type(result).__name__}, (has no id|is no \(id, score\) pair): ", said)
    assert said.endswith(
        "give key=, which takes a result and gives its id, as in key=lambda hit: hit.metadata['doc_id']"
    )
    assert len(said) < 500


def test_an_error_inside_a_result_is_not_hidden() -> None:
    class Failing:
        @property
        def doc_id(self) -> str:
            raise ConnectionError("lost")

    with pytest.raises(ConnectionError, match="lost"):
        read([Failing()])


# Answers to batches.

TWO = [[("d1", 0.9)], ["d2"]]


@pytest.mark.parametrize(
    "answer",
    [
        TWO,
        tuple(TWO),
        (one for one in TWO),
        {"q1": TWO[0], "q2": TWO[1]},
        {"owl": TWO[1], "kite": TWO[0], "other": []},
    ],
    ids=["list", "tuple", "generator", "by id", "by text"],
)
def test_a_batch_is_answered_in_the_order_of_its_queries_or_by_their_ids_or_texts(answer: Any) -> None:
    assert by_query(answer, ["q1", "q2"], ["kite", "owl"]) == TWO


def test_columns_of_a_batch_are_of_each_query() -> None:
    columns = {"ids": [["c1", "c2"], []], "distances": [[0.1, 0.2], []], "metadatas": [[{"source": "d1"}, None], []]}
    first, second = by_query(columns, ["q1", "q2"], ["kite", "owl"])
    assert [read(first).docs, read(second).docs] == [["d1", "c2"], []]


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (None, "a batch of 2 queries was answered with None"),
        ([["d1"]], "answered with 1 answers"),
        ([], "answered with 0 answers"),
        ([["d1"]] * 3, "answered with more answers"),
        (itertools.repeat(["d1"]), "answered with more answers"),
        ({"q1": ["d1"]}, r"a mapping with the keys ['q1']; expected every query id, or every text"),
        ({"ids": [["d1"]]}, "answered with 1 answers"),
        ("ab", "one id stands in a list"),
        (Mock(), "the answer is a Mock"),
    ],
    ids=["None", "fewer", "none", "more", "without end", "mapping", "columns", "text", "mock"],
)
def test_a_batch_that_is_not_answered_query_by_query_is_refused(answer: Any, said: str) -> None:
    with pytest.raises(rf.DataError) as caught:
        by_query(answer, ["q1", "q2"], ["kite", "owl"])
    assert said in str(caught.value)
