"""`retrieve` as a whole: what it refuses before anything is asked, what it gives back, and what an error leaves."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import rankframe as rf
from rankframe.io.retrievals import LOG

QUERIES = {"q1": "red kite", "q2": "owl", "q3": "heron"}
FOUND = {"red kite": ["d1", "d9"], "owl": [], "heron": ["d3"]}
RUN = pl.Schema({"query_id": pl.String(), "doc_id": pl.String(), "score": pl.Float64()})


def search(query: str) -> list[str]:
    return FOUND[query]


def failing(query: str) -> list[str]:
    if query == "owl":
        raise ConnectionError("lost")
    return FOUND[query]


def never(query: str) -> list[str]:
    raise AssertionError(f"asked for {query}")


def raising(error: BaseException, *texts: str) -> Callable[[str], list[str]]:
    """A retriever that raises this error, for all texts or for these."""

    def retriever(query: str) -> list[str]:
        if query in (texts or FOUND):
            raise error
        return FOUND[query]

    return retriever


def raised_by(ask: Callable[[], object]) -> Any:
    """The error that ends a call, whatever its class."""
    try:
        ask()
    except BaseException as error:  # noqa: BLE001  # that is what is looked at
        return error
    return None


@pytest.fixture(autouse=True)
def _same_width(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the bar of progress, on any terminal."""
    monkeypatch.setenv("COLUMNS", "120")


# Before anything is asked.


@pytest.mark.parametrize("limit", [0, -1, 1.5, 10.0, True, "10", None, np.float64(3)], ids=repr)
def test_limits_are_checked_before_the_first_call_and_before_the_queries_are_read(limit: Any) -> None:
    with pytest.raises(rf.MetricError, match=re.escape(f"limit is a whole number from 1, got {limit!r}")):
        rf.retrieve(never, "absent/queries.jsonl", limit=limit)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"collapse": "mean"}, "collapse='mean' is unknown; valid: 'best', 'none'"),
        ({"collapse": None}, "collapse=None is unknown"),
        ({"on_error": "skip"}, "on_error='skip' is unknown; valid: 'raise', 'record'"),
        ({"concurrency": 0}, "concurrency=0: it must be a whole number from 1"),
        ({"concurrency": 1.5}, "concurrency=1.5: it must be a whole number from 1"),
        ({"concurrency": True}, "concurrency=True: it must be a whole number from 1"),
        ({"batch_size": 0}, "batch_size=0: it must be a whole number from 1"),
        ({"batch_size": "8"}, "batch_size='8': it must be a whole number from 1"),
        ({"retries": -1}, "retries=-1: it must be a whole number from 0"),
        ({"retries": None}, "retries=None: it must be a whole number from 0"),
        ({"wait": -0.5}, "wait=-0.5: it must be a number of seconds, from 0"),
        ({"wait": float("nan")}, "wait=nan: it must be a number of seconds"),
        ({"wait": float("inf")}, "wait=inf: it must be a number of seconds"),
        ({"wait": "1"}, "wait='1': it must be a number of seconds"),
        ({"wait": True}, "wait=True: it must be a number of seconds"),
        ({"key": "doc_id"}, "key='doc_id': it must be a function that takes a result and gives its id"),
    ],
    ids=repr,
)
def test_options_are_checked_before_the_first_call_and_before_the_queries_are_read(
    options: dict[str, Any], said: str
) -> None:
    with pytest.raises(rf.DataError, match=re.escape(said)):
        rf.retrieve(never, "absent/queries.jsonl", **options)


@pytest.mark.parametrize("name", ["run.csv", "run", "run.parquet.gz", ""])
def test_a_checkpoint_that_is_no_parquet_file_by_its_name_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(rf.DataError, match=r"it becomes a Parquet file with the run; name it \.parquet"):
        rf.retrieve(never, QUERIES, checkpoint=tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_numpys_numbers_are_numbers_too() -> None:
    given = []

    def retriever(query: str, limit: int) -> list[str]:
        given.append(limit)
        return FOUND[query]

    numbers: dict[str, Any] = {"limit": np.int64(1), "concurrency": np.int8(2), "retries": np.uint8(1)}
    numbers["wait"] = np.float32(0)
    found = rf.retrieve(retriever, QUERIES, **numbers)
    assert found.log["n_results"].to_list() == [1, 0, 1]
    assert [(int, 1)] * 3 == [(type(limit), limit) for limit in given]


# Queries.

FRAME = pl.DataFrame({"query_id": list(QUERIES), "text": list(QUERIES.values()), "topic": ["birds"] * 3})
FORMS: dict[str, Callable[[], Any]] = {
    "mapping": lambda: QUERIES,
    "mapping of records": lambda: {query: {"text": text, "topic": "birds"} for query, text in QUERIES.items()},
    "frame": lambda: FRAME,
    "frame of other names": lambda: FRAME.rename({"query_id": "_id"}),
    "lazy frame": FRAME.lazy,
    "pandas": FRAME.to_pandas,
    "pandas with the ids as index": lambda: FRAME.to_pandas().set_index("query_id"),
    "arrow": FRAME.to_arrow,
    "records": FRAME.to_dicts,
    "collection": lambda: rf.Beir(rf.read_corpus({"d1": ".."}), FRAME, rf.read_qrels({"q1": {"d1": 1}})),
}


@pytest.mark.parametrize("form", FORMS)
def test_queries_of_every_form_are_asked(form: str) -> None:
    found = rf.retrieve(search, FORMS[form]())
    assert found.run.rows() == [("q1", "d1", -1.0), ("q1", "d9", -2.0), ("q3", "d3", -1.0)]


@pytest.mark.parametrize("suffix", ["jsonl", "tsv", "csv", "json", "parquet"])
def test_queries_of_a_file_are_asked(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"queries.{suffix}"
    rf.write_queries(QUERIES, path)
    for source in (path, str(path)):
        assert rf.retrieve(search, source).log["query_id"].to_list() == list(QUERIES)


def test_queries_of_a_folder_are_asked(tmp_path: Path) -> None:
    rf.write_beir(tmp_path / "set", {"d1": ".."}, QUERIES, {"q1": {"d1": 1}})
    for source in (tmp_path / "set", rf.read_beir(tmp_path / "set")):
        assert rf.retrieve(search, source).log["query_id"].to_list() == list(QUERIES)


def test_ids_of_queries_are_text() -> None:
    found = rf.retrieve(search, pl.DataFrame({"query_id": [7, 42], "text": ["owl", "heron"]}))
    assert found.log["query_id"].to_list() == ["7", "42"]
    assert found.run["query_id"].to_list() == ["42"]


def test_texts_are_asked_as_they_are() -> None:
    texts = ["", " ", "a\tb\nc", "é🦊\x00", "'\"\\", "x" * 100_000]
    asked: list[str] = []

    def retriever(query: str) -> list[str]:
        asked.append(query)
        return []

    rf.retrieve(retriever, {str(place): text for place, text in enumerate(texts)})
    assert texts == asked


@pytest.mark.parametrize(
    ("queries", "said"),
    [
        (pl.DataFrame({"query_id": ["q1", "q2", "q1"], "text": ["a", "b", "a"]}), "1 query id more than once: 'q1'"),
        (pl.DataFrame({"query_id": list("aabb"), "text": list("wxyz")}), "2 query ids more than once: 'a', 'b'"),
        (pl.DataFrame({"query_id": ["q1", "q2"], "text": ["a", None]}), "1 query without text: 'q2'"),
        (pd.DataFrame({"query_id": ["q1", "q2"], "text": ["a", np.nan]}), "1 query without text: 'q2'"),
        (pl.DataFrame({"query_id": ["q1", None], "text": ["a", "b"]}), "1 record without query_id: record 2"),
        (pl.DataFrame({"query_id": ["q1"]}), "no column 'text'"),
        (pl.DataFrame({"query_id": [1.0], "text": ["a"]}), "'query_id' is Float64: ids are text"),
        ({"q1": None}, "no text: 'q1' holds None"),
        (["red kite"], "a list of texts has no ids"),
        (None, "a NoneType holds no table"),
    ],
    ids=["twice", "two twice", "null", "NaN", "no id", "no texts", "float ids", "None", "texts", "nothing"],
)
def test_queries_that_cannot_be_asked_are_refused_before_the_first_call(
    queries: Any, said: str, tmp_path: Path
) -> None:
    with pytest.raises(rf.DataError, match=f"queries: .*{re.escape(said)}"):
        rf.retrieve(never, queries, checkpoint=tmp_path / "run.parquet")
    assert list(tmp_path.iterdir()) == []


def test_a_file_without_queries_is_named() -> None:
    with pytest.raises(FileNotFoundError, match=r"absent/queries\.jsonl"):
        rf.retrieve(never, "absent/queries.jsonl")


# What is given back.


@pytest.mark.parametrize("concurrency", [1, 4])
@pytest.mark.parametrize("queries", [{}, FRAME.clear(), FRAME.clear().to_pandas()], ids=["mapping", "frame", "pandas"])
def test_without_queries_there_are_no_rows(queries: Any, concurrency: int, tmp_path: Path) -> None:
    for checkpoint in (None, tmp_path / "run.parquet"):
        found = rf.retrieve(never, queries, concurrency=concurrency, checkpoint=checkpoint)
        assert found.run.equals(pl.DataFrame(schema=RUN))
        assert found.log.equals(pl.DataFrame(schema=LOG))
        assert (found.run.schema, found.log.schema) == (RUN, LOG)


def test_columns_and_their_types() -> None:
    found = rf.retrieve(failing, QUERIES, on_error="record")
    assert found.run.schema == RUN
    assert found.log.schema == LOG
    assert found.log.drop("latency_s").rows() == [
        ("q1", 2, "ok", None, 0),
        ("q2", None, "failed", "ConnectionError: lost", None),
        ("q3", 1, "ok", None, 0),
    ]
    assert all(0 <= seconds < 10 for seconds in found.log["latency_s"])


def test_a_failed_query_is_no_empty_result() -> None:
    """One that found nothing says 0; one that failed says nothing of results."""
    found = rf.retrieve(search, QUERIES)
    assert found.log.filter(query_id="q2").select("n_results", "status", "error").row(0) == (0, "ok", None)
    found = rf.retrieve(failing, QUERIES, on_error="record")
    assert found.log.filter(query_id="q2").select("n_results", "status").row(0) == (None, "failed")
    assert "q2" not in found.run["query_id"]


@pytest.mark.parametrize(
    ("answers", "own"),
    [
        ({"q1": ["a"], "q2": ["b"]}, None),
        ({"q1": [("a", 0.5)], "q2": [("b", 0.5)]}, None),
        ({"q1": [("a", 0.5)], "q2": []}, None),
        ({"q1": [("a", 0.1), ("b", 0.2)], "q2": [("b", 0.5)]}, [0.1, 0.2, 0.5]),
        ({"q1": ["a"], "q2": [("b", 0.5)]}, [None, 0.5]),
        ({"q1": [("a", float("nan"))], "q2": [("b", 0.5)]}, [float("nan"), 0.5]),
        ({"q1": [("a", None), ("b", 0.5)], "q2": []}, [None, 0.5]),
    ],
    ids=["none", "in order", "nothing", "distances", "some queries", "NaN", "some results"],
)
def test_the_retrievers_own_scores_stand_beside_where_they_are_not_the_scores(
    answers: dict[str, Any], own: list[float | None] | None
) -> None:
    run = rf.retrieve(lambda query: answers[query], {"q1": "q1", "q2": "q2"}).run
    assert (RUN if own is None else pl.Schema({**RUN, "retriever_score": pl.Float64()})) == run.schema
    if own is not None:
        assert repr(own) == repr(run["retriever_score"].to_list())


@pytest.mark.parametrize("concurrency", [1, 3])
def test_a_long_run_has_the_order_of_its_queries_and_of_their_answers(concurrency: int) -> None:
    """More queries than are kept at once as lists, of ids in no order."""
    rng = random.Random(7)
    names = rng.sample(range(10**6), 2_500)
    answers = {str(name): [str(doc) for doc in rng.sample(range(10**6), rng.randrange(5))] for name in names}
    found = rf.retrieve(lambda query: answers[query], {str(name): str(name) for name in names}, concurrency=concurrency)
    assert found.log["query_id"].to_list() == list(answers)
    assert found.log["n_results"].to_list() == [len(docs) for docs in answers.values()]
    assert found.run.select("query_id", "doc_id").rows() == [(q, doc) for q, docs in answers.items() for doc in docs]


def test_the_callers_objects_are_unchanged() -> None:
    queries, hits = json.loads(json.dumps(QUERIES)), [{"doc_id": "d1", "metadata": {"a": [1]}}]
    frame, before = FRAME.clone(), json.dumps(hits)
    rf.retrieve(lambda _: hits, queries)
    rf.retrieve(lambda _: hits, frame)
    assert queries == QUERIES
    assert frame.equals(FRAME)
    assert before == json.dumps(hits)


def test_a_retrieval_says_what_it_holds() -> None:
    assert repr(rf.retrieve(search, QUERIES)) == "Retrieval(3 results of 3 queries)"
    assert repr(rf.retrieve(failing, QUERIES, on_error="record")) == (
        "Retrieval(3 results of 3 queries, 1 query failed)"
    )
    assert repr(rf.retrieve(lambda _: ["d", "d", "d"], {"q": "owl"})) == (
        "Retrieval(1 result of 1 query, 2 results collapsed)"
    )


def test_pyarrows_reader_is_read_for_every_query() -> None:
    table = pa.table({"doc_id": ["d1"]})
    assert rf.retrieve(lambda _: table.to_reader(), QUERIES).run["doc_id"].to_list() == ["d1"] * 3


# Errors.


def test_an_error_is_raised_as_it_is_and_names_the_query() -> None:
    error = ConnectionError("lost")
    caught = raised_by(lambda: rf.retrieve(raising(error, "owl"), QUERIES))
    assert error is caught
    assert caught.__notes__ == [
        "query 'q2' failed: 'owl'",
        "1 of 3 queries are answered: in this error's .retrieval",
    ]


def test_a_long_text_is_named_by_its_beginning() -> None:
    caught = raised_by(lambda: rf.retrieve(never, {"q": "x" * 10_000}))
    assert len(caught.__notes__[0]) < 300


def test_what_was_finished_is_in_the_error() -> None:
    """As a retrieval, with the failed query in neither of its frames; `evaluate` takes it."""
    caught = raised_by(lambda: rf.retrieve(failing, QUERIES))
    assert isinstance(caught.retrieval, rf.Retrieval)
    assert caught.retrieval.run.rows() == [("q1", "d1", -1.0), ("q1", "d9", -2.0)]
    assert caught.retrieval.log.select("query_id", "status").rows() == [("q1", "ok")]
    report = rf.evaluate(caught.retrieval, {"q1": {"d1": 1}, "q3": {"d3": 1}}, metrics="mrr")
    assert report.scores["status"].to_list() == ["ok", "missing"]


def test_an_error_before_anything_was_answered_has_nothing_in_it() -> None:
    caught = raised_by(lambda: rf.retrieve(failing, {"q2": "owl"}))
    assert caught.retrieval.run.equals(pl.DataFrame(schema=RUN))
    assert caught.retrieval.log.equals(pl.DataFrame(schema=LOG))


def test_the_error_says_where_the_checkpoint_is(tmp_path: Path) -> None:
    path = tmp_path / "run.parquet"
    caught = raised_by(lambda: rf.retrieve(failing, QUERIES, checkpoint=path))
    assert caught.__notes__[-1].endswith(f".retrieval, and in {str(path)!r}, where the same call resumes")
    assert rf.read_retrieval(path).log["query_id"].to_list() == ["q1"]


def test_an_answer_that_is_not_recognised_names_the_query_and_shows_the_result() -> None:
    caught = raised_by(lambda: rf.retrieve(lambda _: [{"text": "a red kite"}], QUERIES))
    assert isinstance(caught, rf.DataError)
    assert "query 'q1': a result, a dict, has no id: {'text': 'a red kite'}" in str(caught)
    assert "give key=" in str(caught)
    assert isinstance(caught.__cause__, rf.DataError)


def test_recording_goes_on_to_the_end() -> None:
    found = rf.retrieve(failing, QUERIES, on_error="record")
    assert found.log["status"].to_list() == ["ok", "failed", "ok"]
    assert found.run["query_id"].to_list() == ["q1", "q1", "q3"]


class NoTextError(Exception):
    pass


class SpeechlessError(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text")


@dataclass(frozen=True)
class FrozenError(Exception):
    """Nothing can be written on it."""

    status: int


ERRORS: list[tuple[Exception, str]] = [
    (NoTextError(), "NoTextError"),
    (SpeechlessError(), "SpeechlessError"),
    (ValueError("\ud800 é🦊\n\x00"), "ValueError: \\ud800 é🦊\n\x00"),
    (KeyError("d1"), "KeyError: 'd1'"),
    (StopIteration("early"), "StopIteration: early"),
    (TimeoutError(), "TimeoutError"),
    (RecursionError("deep"), "RecursionError: deep"),
    (ExceptionGroup("several", [ValueError("one")]), "ExceptionGroup: several (1 sub-exception): ValueError: one"),
]


@pytest.mark.parametrize(("error", "told"), ERRORS, ids=[type(error).__name__ for error, _ in ERRORS])
@pytest.mark.parametrize("checkpoint", [None, "run.parquet"])
def test_errors_of_every_kind_are_told_in_the_log(
    error: Exception, told: str, checkpoint: str | None, tmp_path: Path
) -> None:
    path = None if checkpoint is None else tmp_path / checkpoint
    found = rf.retrieve(raising(error, "owl"), QUERIES, on_error="record", checkpoint=path)
    assert found.log["error"].to_list() == [None, told, None]
    if path is not None:
        assert rf.read_retrieval(path).log["error"].to_list() == [None, told, None]


def test_an_error_on_which_nothing_can_be_written_is_raised_as_it_is() -> None:
    error = FrozenError(503)
    assert error is raised_by(lambda: rf.retrieve(raising(error), QUERIES))


def test_the_same_error_for_several_queries_is_raised_once() -> None:
    error = ConnectionError("lost")
    assert error is raised_by(lambda: rf.retrieve(raising(error), QUERIES, concurrency=3))
    assert len([note for note in error.__notes__ if "failed" in note]) == 1


# Progress.


def test_nothing_is_printed_unless_asked_for(capfd: pytest.CaptureFixture[str]) -> None:
    rf.retrieve(search, QUERIES)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("concurrency", [1, 2])
def test_the_bar_of_progress_is_on_standard_error(concurrency: int, capfd: pytest.CaptureFixture[str]) -> None:
    """With rate and failures, up to all queries."""
    rf.retrieve(failing, QUERIES, on_error="record", progress=True, concurrency=concurrency)
    out, err = capfd.readouterr()
    assert out == ""
    last = err.rstrip("\n").split("\r")[-1]
    assert last.startswith("retrieve: 100%")
    assert "3/3" in last
    assert re.search(r"queries/s|s/ queries", last)
    assert "failed=1" in last


def test_the_bar_begins_where_a_checkpoint_ends(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "run.parquet"
    rf.retrieve(search, {"q2": "owl"}, checkpoint=path)
    rf.retrieve(search, QUERIES, checkpoint=path, progress=True)
    bars = capfd.readouterr().err.replace("\n", "").split("\r")
    assert "1/3" in bars[1]
    assert "3/3" in bars[-1]


def test_the_bar_ends_where_an_error_ends_the_call(capfd: pytest.CaptureFixture[str]) -> None:
    raised_by(lambda: rf.retrieve(failing, QUERIES, progress=True))
    err = capfd.readouterr().err
    assert "failed=1" in err
    assert err.endswith("\n")


# Answers that are of another query.

OF_ANOTHER = {
    "frame": pl.DataFrame({"query_id": ["q9"], "doc_id": ["d1"]}),
    "pandas frame": pd.DataFrame({"qid": ["q9"], "docno": ["d1"]}),
    "frame of two": pl.DataFrame({"query_id": ["q1", "q9"], "doc_id": ["d1", "d2"]}),
    "hits": [{"query_id": "q9", "doc_id": "d1"}],
}


@pytest.mark.parametrize("case", OF_ANOTHER)
@pytest.mark.parametrize("batch", [False, True], ids=["alone", "batch"])
def test_results_that_say_they_are_of_another_query_are_refused(case: str, batch: bool) -> None:  # noqa: FBT001
    answer = OF_ANOTHER[case]
    retriever: Any = (lambda queries: [answer for _ in queries]) if batch else lambda query: answer if query else []
    with pytest.raises(rf.DataError, match="query 'q1': its results are of the query 'q9'; a batch may be answered by"):
        rf.retrieve(retriever, {"q1": "red kite"})


def test_results_that_say_they_are_of_their_query_are_taken() -> None:
    frame = pl.DataFrame({"query_id": ["q2", "q1"], "doc_id": ["b", "a"]})

    def by_id(queries: list[str]) -> dict[str, pl.DataFrame]:
        return {key: part for (key,), part in frame.partition_by("query_id", as_dict=True).items() if queries}

    found = rf.retrieve(by_id, {"q1": "x", "q2": "y"})
    assert found.run.select("query_id", "doc_id").rows() == [("q1", "a"), ("q2", "b")]


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ([[7, 3, 9]], r"is no \(id, score\) pair"),
        (([3, 5, 8], [70, 30, 90]), r"is no \(id, score\) pair"),
        ({"status": 404, "took": 3}, "with the keys"),
        ({"rank": 1, "docid": 7}, "with the keys"),
        ({"error": "rate limited", "results": []}, "tells of an error, 'rate limited'"),
        (pl.DataFrame({"doc_id": ["a", "b"], "rank": [2, None]}), "a rank is null or NaN"),
    ],
    ids=["numbers alone", "ids and scores by column", "a payload", "one hit", "an error", "a missing rank"],
)
def test_what_only_looks_like_results_is_refused(answer: Any, said: str) -> None:
    with pytest.raises(rf.DataError, match=said):
        rf.retrieve(lambda query: answer if query else [], {"q1": "red kite"})


class Unwritable(Exception):  # noqa: N818  # as somebody may name it
    def __setattr__(self, name: str, value: object) -> None:
        raise TypeError("frozen")


def test_an_error_that_refuses_to_be_written_on_is_raised_as_it_is() -> None:
    def fails(query: str) -> list[str]:
        raise Unwritable(query)

    with pytest.raises(Unwritable):
        rf.retrieve(fails, {"q1": "red kite"})
