"""Which names mean which column."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

import rankframe as rf
from rankframe.frames.schemas import CORPUS, QRELS, QUERIES, RUN, Column, Schema

QUERY_NAMES = ["query_id", "qid", "query-id", "query"]
DOC_NAMES = ["doc_id", "docno", "doc", "corpus-id", "corpus_id", "docid", "_id", "id"]


@pytest.mark.parametrize("query", QUERY_NAMES)
@pytest.mark.parametrize("doc", DOC_NAMES)
def test_ids_are_read_under_every_documented_name(query: str, doc: str) -> None:
    frame = pl.DataFrame({"extra": [0], doc: ["d"], query: ["q"], "score": [1.0]})
    assert rf.read_run(frame).row(0, named=True) == {"query_id": "q", "doc_id": "d", "score": 1.0, "extra": 0}
    assert rf.read_run(frame).columns == ["query_id", "doc_id", "score", "extra"]
    assert rf.read_qrels(frame).columns == ["query_id", "doc_id", "relevance", "extra"]


@pytest.mark.parametrize("grade", ["relevance", "label", "rel", "score"])
def test_grades_are_read_under_every_documented_name(grade: str) -> None:
    assert rf.read_qrels(pl.DataFrame({"qid": ["q"], "docno": ["d"], grade: [2]}))["relevance"].to_list() == [2.0]


@pytest.mark.parametrize("name", ["relevance", "label", "rel", "Score", "similarity"])
def test_a_score_has_no_other_name(name: str) -> None:
    """A grade is not taken for a score."""
    with pytest.raises(rf.DataError, match=r"no column 'score' for a run.*read as score: score"):
        rf.read_run(pl.DataFrame({"qid": ["q"], "docno": ["d"], name: [2]}))


@pytest.mark.parametrize("name", [*QUERY_NAMES, "_id", "id"])
def test_queries_are_known_by_their_own_id(name: str) -> None:
    assert rf.read_queries(pl.DataFrame({"text": ["t"], name: ["q"]})).columns == ["query_id", "text"]


@pytest.mark.parametrize("name", DOC_NAMES)
def test_documents_are_known_by_their_own_id(name: str) -> None:
    frame = pl.DataFrame({"more": [1], "title": ["T"], "text": ["t"], name: ["d"]})
    assert rf.read_corpus(frame).columns == ["doc_id", "text", "title", "more"]


@pytest.mark.parametrize("second", QUERY_NAMES[1:])
def test_two_names_for_one_column_are_an_error_that_shows_both(second: str) -> None:
    frame = pl.DataFrame({"query_id": ["q"], second: ["x"], "doc_id": ["d"], "score": [1.0]})
    with pytest.raises(rf.DataError, match=f"'query_id' and '{second}' both name the column 'query_id'.*columns="):
        rf.read_run(frame)


def test_letter_case_counts_in_names() -> None:
    with pytest.raises(rf.DataError, match="no column 'query_id' for a run among 'Query_ID', 'doc_id', 'score'"):
        rf.read_run(pl.DataFrame({"Query_ID": ["q"], "doc_id": ["d"], "score": [1.0]}))


def test_a_frame_of_no_columns_lacks_one() -> None:
    with pytest.raises(rf.DataError, match="no column 'query_id' for a run among no columns"):
        rf.read_run(pl.DataFrame())


@pytest.mark.parametrize(
    ("present", "columns", "right"),
    [
        (["query_id", "doc_id", "score"], None, {}),
        (["qid", "docno", "score"], None, {"qid": "query_id", "docno": "doc_id"}),
        (["qid", "docno", "s"], {"s": "score"}, {"qid": "query_id", "docno": "doc_id", "s": "score"}),
        (["a", "qid", "docno", "score"], {"a": "b"}, {"a": "b", "qid": "query_id", "docno": "doc_id"}),
        (["qid", "query", "doc", "score"], {"query": "text"}, {"qid": "query_id", "query": "text", "doc": "doc_id"}),
        (["qid", "query_id", "doc", "score"], {"qid": "query_id", "query_id": "old"}, None),
    ],
)
def test_renames(present: list[str], columns: dict[str, str] | None, right: dict[str, str] | None) -> None:
    """What is named explicitly comes first; a name that changes places with another is no clash."""
    if right is None:
        right = {**(columns or {}), "doc": "doc_id"}
    assert right == RUN.names(present, columns=columns, where="here")


def test_required_columns_and_names_of_ids() -> None:
    assert RUN.required == ("query_id", "doc_id", "score")
    assert QRELS.required == ("query_id", "doc_id", "relevance")
    assert QUERIES.required == ("query_id", "text")
    assert CORPUS.required == ("doc_id", "text")
    assert {"mine", "other", "doc_id", "docno", "text"} <= CORPUS.text_names({"mine": "doc_id", "other": "text"})
    assert "n" not in QRELS.text_names({"n": "relevance"})
    assert {"key", "alias"} == Schema("x", (Column("key", "id", ("alias",)), Column("n", "number"))).text_names()


@pytest.mark.parametrize("read", [rf.read_run, rf.scan_run], ids=["read", "scan"])
def test_names_stay_lazy_where_the_frame_is(read: Any) -> None:
    frame = pl.LazyFrame({"docno": ["d"], "qid": ["q"], "score": [1]})
    out = read(frame)
    assert (pl.LazyFrame if read is rf.scan_run else pl.DataFrame) is type(out)
    assert {"query_id": pl.String, "doc_id": pl.String, "score": pl.Float64} == dict(out.lazy().collect_schema())
