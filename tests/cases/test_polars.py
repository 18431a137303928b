"""What Polars does with nulls, categories and joins, and what must not come of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

import rankframe as rf

from .helpers import ledger, per_query, scored

NULL_QRELS = pl.DataFrame({"query_id": ["q1", None], "doc_id": ["a", "b"], "relevance": [1, 1]})
NULL_RUN = pl.DataFrame({"query_id": ["q1", None], "doc_id": ["a", "b"], "score": [1.0, 1.0]})


def test_null_query_key() -> None:
    """A null id is refused by column and number; dropped on request, it is no query and no document."""
    with pytest.raises(rf.DataError, match=r'qrels: 1 null query_id.*invalid="drop"'):
        rf.evaluate(NULL_RUN, NULL_QRELS, metrics="mrr@1")
    with pytest.raises(rf.DataError, match=r'run: 1 null query_id.*invalid="drop"'):
        rf.evaluate(NULL_RUN, {"q1": {"a": 1}}, metrics="mrr@1")
    report = rf.evaluate(NULL_RUN, NULL_QRELS, metrics="mrr@1", invalid="drop")
    assert report.value("mrr@1") == 1.0
    assert report.scores["query_id"].to_list() == ["q1"]
    assert report.summary["n"].to_list() == [1]
    assert report.ledger.select("run_id", "reason", "count").rows() == [
        (None, "invalid_dropped", 1),
        ("run", "invalid_dropped", 1),
    ]
    with pytest.raises(rf.DataError, match=r'run: 1 null doc_id.*\(q1, None\).*invalid="drop"'):
        rf.read_run(pl.DataFrame({"query_id": ["q1", "q1"], "doc_id": ["a", None], "score": [1.0, 1.0]}))
    with pytest.raises(rf.DataError, match=r'qrels: 1 null doc_id.*\(q1, None\).*invalid="drop"'):
        rf.read_qrels(pl.DataFrame({"query_id": ["q1", "q1"], "doc_id": ["a", None], "relevance": [1, 1]}))


@pytest.mark.parametrize("dtype", [pl.Int64(), pl.Categorical(), pl.Enum(["1", "2"])], ids=str)
@pytest.mark.parametrize("column", ["query_id", "doc_id"])
def test_null_key_of_any_dtype(column: str, dtype: pl.DataType) -> None:
    """A cast to text does not turn a null into an id."""
    ids = pl.Series(["1", None, "2"]).cast(dtype)
    other = "doc_id" if column == "query_id" else "query_id"
    run = pl.DataFrame({column: ids, other: ["1", "1", "2"], "score": [1.0, 2.0, 3.0]})
    with pytest.raises(rf.DataError, match=f"1 null {column}"):
        rf.read_run(run)
    with pytest.raises(rf.DataError, match=f"1 null {column}"):
        rf.read_qrels(run)


def test_null_key_of_all_rows() -> None:
    """A column of nothing but nulls has no dtype of its own; it is refused all the same."""
    run = pl.DataFrame({"query_id": [None, None], "doc_id": ["a", "b"], "score": [1.0, 2.0]})
    with pytest.raises(rf.DataError, match="2 null query_id"):
        rf.read_run(run)


def test_null_keys_are_counted_and_five_shown() -> None:
    """How many of which, in how many rows."""
    run = pl.DataFrame(
        {"query_id": ["q"] * 4 + [None] * 6, "doc_id": [None] * 6 + ["d"] * 4, "score": [None, *range(9)]}
    )
    with pytest.raises(
        rf.DataError, match=r"6 null query_id and 6 null doc_id and 1 null score, in 10 rows: .* and 5 more"
    ):
        rf.read_run(run)


@pytest.mark.parametrize("reader", [rf.read_queries, rf.read_corpus], ids=["queries", "corpus"])
def test_null_key_of_a_record(reader: Any) -> None:
    """A query or document without an id is refused by record; dropped on request with a warning."""
    frame = pl.DataFrame({"_id": ["a", None, "c", None], "text": ["1", "2", "3", "4"]})
    with pytest.raises(rf.DataError, match=r'2 records without .*record 2, record 4.*invalid="drop"'):
        reader(frame)
    with pytest.warns(rf.RankframeWarning, match="record 2"):
        assert reader(frame, invalid="drop").rows() == [("a", "1"), ("c", "3")]


def test_null_run_id() -> None:
    """A row that belongs to no run is refused."""
    run = pl.DataFrame({"run_id": ["one", None], "query_id": ["q1", "q1"], "doc_id": ["a", "b"], "score": [2.0, 1.0]})
    with pytest.raises(rf.DataError, match="1 null run_id"):
        rf.evaluate(run, {"q1": {"a": 1}})


def test_null_in_metadata_is_kept() -> None:
    """Only ids and numbers must be there."""
    run = pl.DataFrame({"query_id": ["q1"], "doc_id": ["a"], "score": [1.0], "note": [None]})
    assert rf.read_run(run)["note"].to_list() == [None]
    assert scored(run, {"q1": {"a": 1}}, "mrr") == {"mrr": 1.0}


@pytest.mark.parametrize("ids", [["q1", None], pl.Series(["q1", None]), pl.DataFrame({"query_id": ["q1", None]})])
def test_null_among_the_queries_that_count(ids: object) -> None:
    """`queries=` and `corpus=` refuse a null id as well."""
    with pytest.raises(rf.DataError, match="query_id"):
        rf.evaluate({"q1": {"a": 1.0}}, {"q1": {"a": 1}}, queries=ids)


def test_enum_tie_order() -> None:
    """Ties are ordered by the text of the id, descending, whatever dtype holds it."""
    docs = pl.Series("doc_id", ["a", "b", "c"])
    for column in (
        docs,
        docs.cast(pl.Enum(["c", "b", "a"])),
        docs.cast(pl.Enum(["a", "b", "c"])),
        docs.cast(pl.Categorical),
    ):
        run = pl.DataFrame([pl.Series("query_id", ["q1"] * 3), column, pl.Series("score", [1.0] * 3)])
        assert scored(run, {"q1": {"a": 1}}, "mrr@3") == {"mrr@3": pytest.approx(1 / 3)}
        assert scored(run, {"q1": {"c": 1}}, "mrr@3") == {"mrr@3": 1.0}


CATEGORIES = {
    "String": pl.String(),
    "Categorical": pl.Categorical(),
    "Enum backwards": pl.Enum(["q2", "q1", "d", "c", "b", "a"]),
    "Enum": pl.Enum(["a", "b", "c", "d", "q1", "q2"]),
}


@pytest.mark.parametrize("ours", CATEGORIES)
@pytest.mark.parametrize("theirs", CATEGORIES)
def test_enum_and_categorical_ids_on_either_side(ours: str, theirs: str) -> None:
    """Every mixture of dtypes in run and judgments gives the same scores, in the order of the text."""
    run = pl.DataFrame(
        {
            "query_id": ["q2", "q2", "q1", "q1", "q1"],
            "doc_id": ["d", "a", "c", "b", "a"],
            "score": [1.0, 1.0, 2.0, 2.0, 2.0],
            "run_id": ["q1"] * 5,
        }
    ).with_columns(pl.col("query_id", "doc_id", "run_id").cast(CATEGORIES[ours]))
    qrels = pl.DataFrame({"query_id": ["q2", "q1"], "doc_id": ["a", "b"], "relevance": [1, 1]}).with_columns(
        pl.col("query_id", "doc_id").cast(CATEGORIES[theirs])
    )
    asked = pl.Series("query_id", ["q2", "q1"]).cast(CATEGORIES[theirs])
    corpus = pl.DataFrame({"doc_id": ["a", "c"], "text": ["", ""]}).with_columns(
        pl.col("doc_id").cast(CATEGORIES[ours])
    )
    report = rf.evaluate(run, qrels, metrics="mrr", queries=asked, corpus=corpus)
    assert report.scores.select("run_id", "query_id", "mrr").rows() == [("q1", "q1", 0.5), ("q1", "q2", 0.5)]
    assert ledger(report) == {"not_in_corpus": (1, ["b"])}


def test_tie_order_is_by_bytes() -> None:
    """Capitals before small letters, letters before accents, shorter before longer: then reversed."""
    docs = ["z", "Z", "a", "aa", "10", "9", "\u00e9", "e\u0301", "\U0001f98a", "\uffff", ""]
    order = sorted(docs, key=lambda doc: doc.encode(), reverse=True)
    run = pl.DataFrame({"query_id": ["q"] * len(docs), "doc_id": docs, "score": [1.0] * len(docs)})
    for rank, doc in enumerate(order, start=1):
        assert scored(run, {"q": {doc: 1}}, "mrr") == {"mrr": pytest.approx(1 / rank)}


def test_ties_at_the_cutoff_are_in_the_ledger() -> None:
    """Where the order of a tie decides who is in the top k, the report says in which queries."""
    run = {"q1": {"a": 2.0, "b": 1.0, "c": 1.0}, "q2": {"a": 3.0, "b": 2.0, "c": 1.0}}
    report = rf.evaluate(run, {"q1": {"b": 1}, "q2": {"b": 1}}, metrics=["recall@1", "recall@2"])
    assert ledger(report) == {"tie_at_cutoff": (1, ["q1"])}
    assert per_query(report, "recall@2") == {"q1": 0.0, "q2": 1.0}


METADATA = pl.DataFrame({"query_id": ["q1", "q7"], "topic": ["birds", "none"]})
QRELS = {"q1": {"a": 1}, "q2": {"b": 1}}
RUN = {"q1": {"a": 1.0}, "q2": {"x": 1.0}}


def test_metadata_missing_query() -> None:
    """Every scored query stays, once, null where metadata lacks it; metadata of other queries is left out."""
    report = rf.evaluate(RUN, QRELS, metrics="mrr").join(METADATA)
    assert isinstance(report, rf.Report)
    assert report.scores.height == 2
    assert per_query(report, "topic") == {"q1": "birds", "q2": None}
    assert per_query(report, "mrr") == {"q1": 1.0, "q2": 0.0}
    assert ledger(report) == {"without_metadata": (1, ["q2"]), "metadata_without_scores": (1, ["q7"])}


def test_metadata_missing_query_is_exported(tmp_path: Path) -> None:
    """The file of per-query results has the same rows."""
    report = rf.evaluate(RUN, QRELS, metrics="mrr").join(METADATA)
    report.write_parquet(tmp_path / "report.parquet")
    exported = pl.read_parquet(tmp_path / "report.parquet")
    assert exported.select("query_id", "topic", "mrr").rows() == [("q1", "birds", 1.0), ("q2", None, 0.0)]
    assert rf.read_report(tmp_path / "report.parquet").scores.equals(report.scores)


@pytest.mark.parametrize("dtype", [pl.Int64(), pl.Categorical(), pl.Enum(["7", "2", "1"])], ids=str)
def test_metadata_of_other_key_dtypes(dtype: pl.DataType) -> None:
    """Keys of metadata are text like other ids, under any of their names."""
    metadata = pl.DataFrame({"qid": pl.Series(["1", "7"]).cast(dtype), "topic": ["birds", "none"]})
    report = rf.evaluate({"1": {"a": 1.0}}, {"1": {"a": 1}, "2": {"b": 1}}, metrics="mrr").join(metadata)
    assert per_query(report, "topic") == {"1": "birds", "2": None}


@pytest.mark.parametrize(
    ("metadata", "said"),
    [
        ({"query_id": ["q1", "q1"], "topic": ["a", "b"]}, "q1.*multiply"),
        ({"query_id": ["q1", None], "topic": ["a", "b"]}, "null"),
        ({"query_id": [1.0, 2.0], "topic": ["a", "b"]}, "query_id.*Float64"),
        ({"topic": ["a"]}, "query_id"),
        ({"query_id": ["q1"], "mrr": [0.5]}, 'mrr.*suffix="_meta"'),
    ],
    ids=["twice", "null", "floats", "no key", "taken"],
)
def test_metadata_that_would_change_scores_is_refused(metadata: dict[str, Any], said: str) -> None:
    """Keys that stand there twice, null and float keys, no key, and names that scores have."""
    with pytest.raises(rf.DataError, match=said):
        rf.evaluate(RUN, QRELS, metrics="mrr").join(pl.DataFrame(metadata))


def test_metadata_changes_no_number() -> None:
    """The summary is the same with metadata, and for several runs each row stays."""
    plain = rf.evaluate({"one": RUN, "two": RUN}, QRELS, metrics=["mrr", "map"])
    joined = plain.join(METADATA)
    assert joined.summary.equals(plain.summary)
    assert joined.scores.drop("topic").equals(plain.scores)
    assert joined.scores.select("run_id", "query_id", "topic").rows() == [
        ("one", "q1", "birds"),
        ("one", "q2", None),
        ("two", "q1", "birds"),
        ("two", "q2", None),
    ]


def test_check_counts_the_same_faults() -> None:
    """`check` gives a ledger of what `evaluate` would refuse or leave out, without raising."""
    run = pl.DataFrame(
        {"query_id": ["q1", "q1", "q1", "q9"], "doc_id": ["a", "a", "b", "c"], "score": [2.0, 1.0, None, 1.0]}
    )
    told = rf.check(run, {"q1": {"a": 1}, "q2": {"b": 1}, "q3": {"c": 0}})
    assert told.columns == ["run_id", "reason", "count", "examples"]
    found = {reason: (count, examples) for _, reason, count, examples in told.rows()}
    assert found["duplicate"] == (1, ["(q1, a)"])
    assert found["invalid"] == (1, ["(q1, b)"])
    assert found["missing_query"][0] == 2
    assert found["unjudged_query"] == (1, ["q9"])
    assert found["no_relevant"] == (1, ["q3"])


def test_check_finds_conflicts_and_dangling_documents() -> None:
    """Of the judgments, too."""
    qrels = pl.DataFrame(
        {"query_id": ["q1"] * 5, "doc_id": ["a", "a", "b", "b", "ghost"], "relevance": [1, 0, 1, 1, 1]}
    )
    told = rf.check({"q1": {"a": 1.0}}, qrels, corpus={"a": "A.", "b": "B."})
    found = {reason: (count, examples) for _, reason, count, examples in told.rows()}
    assert found["conflicting_judgment"] == (1, ["(q1, a)"])
    assert found["repeated_judgment"] == (1, ["(q1, b)"])
    assert found["not_in_corpus"] == (1, ["ghost"])


def test_check_of_clean_input_is_empty() -> None:
    """Nothing to say, in the shape of a ledger."""
    told = rf.check({"q1": {"a": 1.0}}, {"q1": {"a": 1}})
    assert told.rows() == []
    assert told.schema == rf.evaluate({"q1": {"a": 1.0}}, {"q1": {"a": 1}}).ledger.schema


def test_callers_frames_are_never_changed() -> None:
    """Whatever is cast, renamed, sorted or dropped, the caller's frames and mappings stay as they were."""
    run = pl.DataFrame({"docno": [2, 1, 1], "qid": [1, 1, 1], "score": [1, 2, 3], "rank": [1, 2, 3]})
    qrels = pl.DataFrame({"qid": [1, 1], "docno": [1, 1], "label": [1, 0]})
    asked, metadata = {"1": "t"}, pl.DataFrame({"qid": [1], "topic": ["x"]})
    before = [frame.clone() for frame in (run, qrels, metadata)]
    rf.evaluate(run, qrels, duplicates="best", invalid="drop", queries=asked).join(metadata)
    for frame, was in zip((run, qrels, metadata), before, strict=True):
        assert frame.equals(was)
        assert frame.schema == was.schema
    nested: dict[Any, dict[Any, Any]] = {1: {2: 1, "3": 2.0}}
    rf.evaluate(nested, {1: {2: 1}}, queries=asked)
    assert nested == {1: {2: 1, "3": 2.0}}
    assert asked == {"1": "t"}


def test_frames_in_pieces_are_read_like_whole_ones() -> None:
    """Slices, several chunks and reversed frames hold the same run."""
    rows = pl.DataFrame(
        {
            "query_id": [f"q{i % 7}" for i in range(700)],
            "doc_id": [f"d{i:03d}" for i in range(700)],
            "score": range(700),
        }
    )
    qrels = {f"q{i}": {f"d{350 + i:03d}": 1} for i in range(7)}
    whole = rf.evaluate(rows, qrels, metrics=["mrr", "num_ret"]).scores
    pieces = pl.concat([rows.slice(start, 70) for start in range(0, 700, 70)], rechunk=False)
    padded = pl.concat([rows.head(5), rows, rows.tail(5)]).slice(5, 700)
    for same in (
        pieces,
        padded,
        rows.reverse(),
        rows.sort("doc_id"),
        rows.lazy(),
        rows.to_arrow(),
        rows.to_pandas(),
    ):
        assert rf.evaluate(same, qrels, metrics=["mrr", "num_ret"]).scores.equals(whole)
