"""Pools hold what somebody still has to judge, survive the file they are filled in, and come back as judgments."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankframe as rf
from rankframe.io.writers import write_pool
from rankframe.pooling import merge_judgments, pool

Run = dict[str, dict[str, float]]
Grades = dict[str, dict[str, float]]

RUN: Run = {"q1": {"d1": 3.0, "d2": 2.0, "d3": 1.0}, "q2": {"d1": 1.0}}
IDS = st.sampled_from(["d", "d1", "d10", "0042", "42", "é", "e\u0301", "🦊", "a,b", 'a"b', "a\nb", " a "])
QUERIES = st.sampled_from(["q1", "q2", "007"])
SCORES = st.sampled_from([0.0, -0.0, 1.0, 2.0, math.inf, -math.inf])
RUNS = st.dictionaries(QUERIES, st.dictionaries(IDS, SCORES, min_size=1, max_size=8), min_size=1)
GRADES = st.dictionaries(QUERIES, st.dictionaries(IDS, st.sampled_from([-1.0, 0.0, 0.5, 2.0]), min_size=1), min_size=1)


def pairs(frame: pl.DataFrame) -> list[tuple[str, str]]:
    return frame.select("query_id", "doc_id").rows()


def grades(frame: pl.DataFrame) -> list[tuple[str, str, float]]:
    return frame.select("query_id", "doc_id", "relevance").rows()


def table(run: Run, name: str = "score") -> pl.DataFrame:
    rows = [(query, doc, number) for query, docs in run.items() for doc, number in docs.items()]
    return pl.DataFrame(rows, schema={"query_id": pl.String, "doc_id": pl.String, name: pl.Float64}, orient="row")


def by_hand(runs: list[Run], depth: int, judged: Grades) -> list[tuple[str, str]]:
    """The pool in plain Python."""
    found: set[tuple[str, str]] = set()
    for run in runs:
        for query, docs in run.items():
            ranked = sorted(docs, key=lambda doc: (docs[doc], doc.encode()), reverse=True)
            found |= {(query, doc) for doc in ranked[:depth]}
    left = found - {(query, doc) for query, docs in judged.items() for doc in docs}
    return sorted(left, key=lambda pair: (pair[0].encode(), pair[1].encode()))


# What is pooled.


def test_a_pool_is_the_best_of_every_run_by_id() -> None:
    other = {"q1": {"d9": 1.0, "d8": 2.0}, "q3": {"d0": 1.0}}
    found = pool({"a": RUN, "b": other}, depth=2)
    assert {"query_id": pl.String, "doc_id": pl.String, "relevance": pl.Float64} == dict(found.schema)
    assert pairs(found) == [("q1", "d1"), ("q1", "d2"), ("q1", "d8"), ("q1", "d9"), ("q2", "d1"), ("q3", "d0")]
    assert found["relevance"].null_count() == found.height


def test_ties_at_the_depth_are_cut_as_they_are_ranked() -> None:
    """By document id, descending by bytes: é comes after z."""
    assert pairs(pool({"q": {"a": 1.0, "é": 1.0, "z": 1.0, "b": 0.0}}, depth=2)) == [("q", "z"), ("q", "é")]


@pytest.mark.parametrize("grade", [2, 1, 0, -1, 0.5])
def test_what_has_any_grade_is_judged(grade: float) -> None:
    assert pairs(pool(RUN, depth=2, qrels={"q1": {"d2": grade}})) == [("q1", "d1"), ("q2", "d1")]


def test_nothing_moves_up_for_what_is_judged() -> None:
    """The depth is one of the run, so pools of one depth shrink as they are judged."""
    assert pool(RUN, depth=1, qrels={"q1": {"d1": 1}, "q2": {"d1": 0}}).is_empty()


@given(runs=st.lists(RUNS, min_size=1, max_size=3), depth=st.integers(1, 9), judged=GRADES)
def test_a_pool_is_what_plain_python_finds(runs: list[Run], depth: int, judged: Grades) -> None:
    tables = [table(run) for run in runs]
    left = by_hand(runs, depth, judged)
    meet = bool({query for run in runs for query in run} & set(judged))
    options: dict[str, Any] = {"qrels": judged} if meet else {}
    left = left if meet else by_hand(runs, depth, {})
    for duplicates in ("error", "best"):
        found = pool({str(i): run for i, run in enumerate(tables)}, depth=depth, duplicates=duplicates, **options)
        assert left == pairs(found)


@given(runs=st.lists(RUNS, min_size=2, max_size=3), depth=st.integers(1, 6), data=st.data())
def test_order_of_runs_and_rows_says_nothing(runs: list[Run], depth: int, data: st.DataObject) -> None:
    tables = [table(run) for run in runs]
    mixed = [frame[data.draw(st.permutations(range(frame.height)))] for frame in data.draw(st.permutations(tables))]
    one, other = ({f"r{place}": run for place, run in enumerate(given_)} for given_ in (tables, mixed))
    assert pool(one, depth=depth).equals(pool(other, depth=depth))


@given(runs=st.lists(RUNS, min_size=1, max_size=3), depth=st.integers(2, 9))
def test_a_deeper_pool_holds_the_shallower(runs: list[Run], depth: int) -> None:
    named = {f"r{place}": table(run) for place, run in enumerate(runs)}
    assert set(pairs(pool(named, depth=depth))) >= set(pairs(pool(named, depth=depth - 1)))


def test_a_large_run_is_pooled_as_a_small_one() -> None:
    """Coarse scores, so that the depth cuts ties; rows in no order."""
    rng = np.random.default_rng(7)
    run = pl.DataFrame(
        {
            "query_id": np.repeat([f"q{place}" for place in range(50)], 400),
            "doc_id": [f"d{doc}" for _ in range(50) for doc in rng.permutation(1000)[:400]],
            "score": rng.integers(0, 30, 20_000).astype(float),
        }
    ).sample(fraction=1, shuffle=True, seed=1)
    ranked = run.sort("query_id", "score", "doc_id", descending=[False, True, True])
    right = ranked.group_by("query_id", maintain_order=True).head(30).sort("query_id", "doc_id")
    assert pairs(right) == pairs(pool(run, depth=30))


def test_runs_are_given_as_for_evaluate(tmp_path: Path) -> None:
    """A mapping, a path, several paths, a frame of several runs, files of one name."""
    (tmp_path / "other").mkdir()
    for path in (tmp_path / "bm25.trec", tmp_path / "other" / "bm25.trec"):
        rf.write_run({"q": {path.parent.name: 1.0}}, path)
    paths = [tmp_path / "bm25.trec", tmp_path / "other" / "bm25.trec"]
    assert [("q", "other"), ("q", tmp_path.name)] == pairs(pool(paths, depth=1))
    assert pairs(pool(str(paths[1]), depth=1)) == [("q", "other")]
    assert pool({"one": paths}, depth=1).height == 1  # one run in two files
    several = pl.DataFrame({"run_id": ["a", "b"], "query_id": [1, 1], "doc_id": ["x", "y"], "score": [1, 2]})
    assert pairs(pool(several, depth=1)) == [("1", "x"), ("1", "y")]
    assert pairs(pool(several.lazy(), depth=1)) == [("1", "x"), ("1", "y")]
    assert pairs(pool(several.to_pandas(), depth=1)) == [("1", "x"), ("1", "y")]


@pytest.mark.parametrize("depth", [0, -1, 1.5, 2.0, True, "10", None, math.nan], ids=repr)
def test_a_depth_is_a_whole_number_from_one(depth: Any) -> None:
    """It is refused before anything is read."""
    with pytest.raises(rf.MetricError, match=r"depth of a pool is a whole number from 1, got"):
        pool("nowhere", depth=depth)


@pytest.mark.parametrize("depth", [3, np.int64(3), 10**30])
def test_a_depth_beyond_the_run_takes_all_of_it(depth: Any) -> None:
    assert pool(RUN, depth=depth).height == 4
    assert pool(RUN, depth=depth, duplicates="best").height == 4


@pytest.mark.parametrize("option", ["duplicates", "invalid"])
def test_unknown_choices_are_refused_before_anything_is_read(option: str) -> None:
    choice: dict[str, Any] = {option: "all"}
    with pytest.raises(rf.DataError, match=f"{option}='all' is unknown"):
        pool("nowhere", depth=1, **choice)
    with pytest.raises(rf.DataError, match=f"{option}='all' is unknown"):
        merge_judgments("nowhere", **choice)


def test_a_pair_twice_is_refused_wherever_it_stands() -> None:
    """Below the depth too; a repeated document takes one place."""
    run = pl.DataFrame({"query_id": ["q"] * 4, "doc_id": ["a", "a", "b", "c"], "score": [3.0, 2.5, 2.0, 1.0]})
    low = pl.DataFrame({"query_id": ["q"] * 3, "doc_id": ["a", "b", "b"], "score": [3.0, 2.0, 1.0]})
    for rows in (run, low):
        with pytest.raises(
            rf.DataError, match=r"1 .query, document. pair more than once: \(q, .\); duplicates=\"best\""
        ):
            pool(rows, depth=1)
    with pytest.warns(rf.RankframeWarning, match=r"dropped on request because its pair stands there.*: 1, such as"):
        assert pairs(pool(run, depth=2, duplicates="best")) == [("q", "a"), ("q", "b")]


def test_bad_rows_are_refused_or_left_out_with_a_warning() -> None:
    run = pl.DataFrame({"query_id": ["q", "q"], "doc_id": ["a", "b"], "score": [math.nan, 1.0]})
    with pytest.raises(rf.DataError, match=r"1 NaN score, in 1 row: \(q, a\); invalid=\"drop\""):
        pool(run, depth=5)
    with pytest.warns(rf.RankframeWarning, match=r"dropped on request.*: 1, such as '\(q, a\)'"):
        assert pairs(pool(run, depth=5, invalid="drop")) == [("q", "b")]


def test_ranks_that_contradict_the_scores_are_warned_of() -> None:
    """The pool goes by score; whoever meant the ranks should know."""
    run = pl.DataFrame({"query_id": ["q", "q"], "doc_id": ["a", "b"], "score": [1.0, 2.0], "rank": [1, 2]})
    with pytest.warns(rf.RankframeWarning, match="against their scores: 1, such as 'q'"):
        assert pairs(pool(run, depth=1)) == [("q", "b")]


def test_runs_without_results_add_nothing_and_are_warned_of() -> None:
    with pytest.warns(rf.RankframeWarning, match="run 'b' is empty and adds nothing"):
        assert pool({"a": RUN, "b": table({})}, depth=9).height == 4
    with pytest.warns(rf.RankframeWarning, match="empty"):
        found = pool({}, depth=9, qrels={"q1": {"d1": 1}}, queries={"q1": "one"}, corpus={"d1": "one"})
    assert found.columns == ["query_id", "doc_id", "query_text", "title", "text", "relevance"]
    assert found.is_empty()
    with pytest.warns(rf.RankframeWarning) as told:
        pool(pl.DataFrame({"query_id": [None], "doc_id": ["d"], "score": [1.0]}), depth=1, invalid="drop")
    assert [next(w for w in ("dropped", "empty") if w in str(t.message)) for t in told] == ["dropped", "empty"]


def test_a_run_without_rows_for_a_query_leaves_it_to_the_others() -> None:
    assert pairs(pool({"a": {"q1": {"d1": 1.0}}, "b": {"q2": {"x": 1.0}}}, depth=1)) == [("q1", "d1"), ("q2", "x")]
    assert pairs(pool({"q1": {"d1": 1.0}, "silent": {}}, depth=1)) == [("q1", "d1")]


def test_the_callers_objects_stay_as_they_are() -> None:
    run, judged, corpus = (
        table(RUN),
        table({"q1": {"d1": 1.0}}, "relevance"),
        pl.DataFrame({"id": ["d2"], "text": ["t"]}),
    )
    before = run.clone(), judged.clone(), corpus.clone()
    with pytest.warns(rf.RankframeWarning):
        found = pool(run, depth=5, qrels=judged, corpus=corpus)
    merge_judgments(judged, found)
    assert all(one.equals(other) for one, other in zip(before, (run, judged, corpus), strict=True))


# What is judged already.


def test_no_judgments_yet_leave_the_pool_whole(tmp_path: Path) -> None:
    (tmp_path / "empty.tsv").write_text("")
    assert pool(RUN, depth=9, qrels={}).height == 4
    assert pool(RUN, depth=9, qrels=tmp_path / "empty.tsv").height == 4


def test_judgments_of_other_queries_are_warned_of() -> None:
    """The likeliest reason is that ids are written in two ways, and a judge would do everything again."""
    with pytest.warns(rf.RankframeWarning, match=r"no query of the runs is judged; runs: 'q1', 'q2', judgments: '1'"):
        assert pool(RUN, depth=9, qrels={"1": {"d1": 1}}).height == 4


def test_conflicting_judgments_are_refused_before_anybody_judges() -> None:
    qrels = pl.DataFrame({"query_id": ["q1", "q1"], "doc_id": ["d1", "d1"], "relevance": [1, 2]})
    with pytest.raises(rf.DataError, match=r"1 pair judged with different grades: \(q1, d1\) as 1 and 2"):
        pool(RUN, depth=1, qrels=qrels)
    assert pairs(pool(RUN, depth=1, qrels=qrels, duplicates="best")) == [("q2", "d1")]  # judged, whichever grade holds


def test_a_half_filled_pool_counts_as_judgments_on_request() -> None:
    filled = pool(RUN, depth=2).with_columns(relevance=pl.Series([1.0, None, None]))
    with pytest.raises(rf.DataError, match=r"2 null relevance.*invalid=\"drop\""):
        pool(RUN, depth=2, qrels=filled)
    with pytest.warns(rf.RankframeWarning, match="null"):
        assert pool(RUN, depth=2, qrels=filled, invalid="drop").height == 2


# Texts.


def test_texts_are_shown_beside_the_ids() -> None:
    corpus = {"d1": {"title": "One", "text": "first"}, "d2": {"title": "", "text": "second\nline"}}
    found = pool(RUN, depth=2, queries={"q2": "two", "q1": "one", "q9": "nine"}, corpus=corpus)
    assert found.columns == ["query_id", "doc_id", "query_text", "title", "text", "relevance"]
    assert [pl.String] * 5 + [pl.Float64] == found.dtypes
    assert found.rows() == [
        ("q1", "d1", "one", "One", "first", None),
        ("q1", "d2", "one", "", "second\nline", None),
        ("q2", "d1", "two", "One", "first", None),
    ]


def test_a_corpus_without_titles_has_null_ones() -> None:
    found = pool({"q": {"d": 1.0}}, depth=1, corpus=pl.DataFrame({"doc_id": ["d"], "text": ["t"], "more": [1]}))
    assert found.row(0, named=True) == {"query_id": "q", "doc_id": "d", "title": None, "text": "t", "relevance": None}


def test_what_has_no_text_stays_and_is_warned_of() -> None:
    with pytest.warns(rf.RankframeWarning) as told:
        found = pool(RUN, depth=9, queries={"q1": "one"}, corpus={"d1": "first"})
    assert [str(warning.message) for warning in told] == [
        "queries: 1 query_id of the pool not there, so without a text: 'q2'",
        "corpus: 2 doc_ids of the pool not there, so without a text: 'd2', 'd3'",
    ]
    assert found["text"].to_list() == ["first", None, None, "first"]
    assert found["query_text"].to_list() == ["one", "one", "one", None]


def test_several_texts_of_one_id_are_refused_where_they_matter() -> None:
    """The same record twice says one thing; a document outside of the pool says nothing."""
    corpus = pl.DataFrame({"doc_id": ["d1", "d1", "x", "x"], "text": ["a", "a", "b", "c"]})
    assert pool({"q": {"d1": 1.0}}, depth=1, corpus=corpus)["text"].to_list() == ["a"]
    with pytest.raises(rf.DataError, match="corpus: 1 doc_id of the pool with several texts: 'x'; leave one record"):
        pool({"q": {"d1": 1.0, "x": 1.0}}, depth=2, corpus=corpus)
    with pytest.raises(rf.DataError, match="queries: 1 query_id of the pool with several texts: 'q'"):
        pool({"q": {"d": 1.0}}, depth=1, queries=pl.DataFrame({"query_id": ["q", "q"], "text": ["a", "b"]}))


def test_a_beir_folder_gives_all_three(tmp_path: Path) -> None:
    """By path for each, or read: a `Beir` as qrels brings its texts, unless others are given."""
    corpus = {doc: {"title": doc.upper(), "text": f"text of {doc}"} for doc in ("d1", "d2", "d3")}
    rf.write_beir(tmp_path, corpus, {"q1": "one", "q2": "two"}, {"q1": {"d1": 1}})
    found = pool(RUN, depth=2, qrels=tmp_path, queries=tmp_path, corpus=tmp_path)
    assert found.rows() == [
        ("q1", "d2", "one", "D2", "text of d2", None),
        ("q2", "d1", "two", "D1", "text of d1", None),
    ]
    beir = rf.read_beir(tmp_path)
    assert found.equals(pool(RUN, depth=2, qrels=beir))
    assert pool(RUN, depth=2, qrels=beir, queries={"q1": "1", "q2": "2"})["query_text"].to_list() == ["1", "2"]


def test_texts_that_are_none_are_refused() -> None:
    with pytest.raises(rf.DataError, match="no column 'text' for a corpus"):
        pool(RUN, depth=1, corpus=pl.DataFrame({"doc_id": ["d1"]}))


# Files.

ODD: Run = {
    "0042": {"007": 1.0, 'a "b", c': 1.0, "a\nb": 1.0, "1e3": 1.0, " a ": 1.0, "nan": 1.0, "": 1.0, "#": 1.0},
    "q, é": {"🦊": 1.0, "e\u0301": 1.0, "a;b": 1.0, "\ufeffa": 1.0},
}
FORMATS = ["csv", "jsonl", "json", "parquet", "csv.gz", "jsonl.zst"]


@pytest.mark.parametrize("suffix", FORMATS)
def test_a_pool_comes_back_as_it_was_written(suffix: str, tmp_path: Path) -> None:
    """Ids and texts of separators, quotes, line ends, zeros; numbers that are text; null and empty texts."""
    texts = ["1", "007", "", 'He said: "a, b"\n\nc', "x\r\ny", "\t", "true", "null", "a;b", "é 🦊", "=1+1", "#"]
    docs = sorted({doc for docs in ODD.values() for doc in docs})
    corpus = {
        doc: {"title": "" if place % 2 else "7", "text": text}
        for place, (doc, text) in enumerate(zip(docs, texts, strict=True))
    }
    found = pool(ODD, depth=99, queries={"0042": "1", "q, é": "2"}, corpus=corpus)
    path = tmp_path / f"pool.{suffix}"
    write_pool(found, path)
    graded = found.with_columns(relevance=pl.int_range(pl.len()).cast(pl.Float64))
    assert merge_judgments(None, path).is_empty()
    write_pool(graded, path)
    assert grades(graded) == grades(merge_judgments(None, path))
    if suffix == "csv":
        with path.open(newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        assert found["text"].to_list() == [row["text"] for row in rows]
        assert found["query_text"].to_list() == [row["query_text"] for row in rows]
        assert found["doc_id"].to_list() == [row["doc_id"] for row in rows]


@pytest.mark.parametrize("suffix", FORMATS)
def test_an_empty_pool_is_written(suffix: str, tmp_path: Path) -> None:
    """When everything is judged, a script that writes what is left should not fail."""
    left = pool(RUN, depth=1, qrels={"q1": {"d1": 1}, "q2": {"d1": 1}}, corpus={"d1": "one"})
    write_pool(left, tmp_path / f"pool.{suffix}")
    assert (tmp_path / f"pool.{suffix}").is_file()
    if suffix == "csv":
        assert next(csv.reader((tmp_path / "pool.csv").read_text().splitlines())) == [
            "query_id",
            "doc_id",
            "title",
            "text",
            "relevance",
        ]
    assert merge_judgments(None, tmp_path / f"pool.{suffix}").is_empty()


@pytest.mark.parametrize("suffix", ["tsv", "trec", "xlsx"])
def test_formats_that_cannot_hold_a_missing_grade_are_refused(suffix: str, tmp_path: Path) -> None:
    """And suffixes that say nothing, as nobody could read the file by its name."""
    with pytest.raises(rf.DataError, match=r"is no format for writing a pool; csv, json, jsonl, parquet are"):
        write_pool(pool(RUN, depth=1), tmp_path / f"pool.{suffix}")
    assert list(tmp_path.iterdir()) == []


def test_a_pool_without_an_id_or_a_grade_column_is_refused(tmp_path: Path) -> None:
    found = pool(RUN, depth=1)
    with pytest.raises(rf.DataError, match="no column 'relevance' for a pool"):
        write_pool(found.drop("relevance"), tmp_path / "pool.csv")
    for key in ("query_id", "doc_id"):
        with pytest.raises(rf.DataError, match=f"2 records without {key}: record 1, record 2"):
            write_pool(found.with_columns(pl.lit(None, pl.String).alias(key)), tmp_path / "pool.csv")
    assert list(tmp_path.iterdir()) == []


def test_a_file_of_a_pool_is_written_again(tmp_path: Path) -> None:
    """In another format, with further columns in their places."""
    found = pool(RUN, depth=1).with_columns(relevance=pl.Series([1.0, None]), assessor=pl.Series(["x", None]))
    write_pool(found, tmp_path / "pool.csv")
    write_pool(tmp_path / "pool.csv", tmp_path / "pool.parquet")
    assert found.equals(pl.read_parquet(tmp_path / "pool.parquet"))


# There and back.


def _by_csv(path: Path, grade_of: Callable[[str], float]) -> None:
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        row["relevance"] = str(grade_of(row["doc_id"]))
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


def _by_pandas(path: Path, grade_of: Callable[[str], float]) -> None:
    frame = pd.read_csv(path, dtype={"query_id": str, "doc_id": str}, keep_default_na=False)
    frame["relevance"] = frame["doc_id"].map(grade_of)
    frame.to_csv(path, index=False)


def _by_polars(path: Path, grade_of: Callable[[str], float]) -> None:
    frame = pl.read_csv(path, infer_schema=False)
    frame.with_columns(pl.col("doc_id").map_elements(grade_of, pl.Float64).alias("relevance")).write_csv(path)


@pytest.mark.parametrize("fill_in", [_by_csv, _by_pandas, _by_polars])
def test_a_pool_is_filled_in_and_scored(fill_in: Callable[..., None], tmp_path: Path) -> None:
    """Pool, file, grades, judgments, file, scores."""
    run = {"0042": {"007": 3.0, "a, b": 2.0, 'c"d': 1.0, "x\ny": 0.5}, "é": {"🦊": 1.0, "7": 0.5}}
    corpus = {doc: f'{doc}: a "text",\nof lines' for docs in run.values() for doc in docs}
    path = tmp_path / "pool.csv"
    write_pool(pool(run, depth=10, queries={"0042": "one, two", "é": "three"}, corpus=corpus), path)
    fill_in(path, lambda doc: 1.0 if doc in ("a, b", "🦊") else 0.0)
    merged = merge_judgments(None, path)
    assert [(q, d, float(d in ("a, b", "🦊"))) for q, d in pairs(pool(run, depth=10))] == grades(merged)
    rf.write_qrels(merged, tmp_path / "qrels.csv")
    report = rf.evaluate(run, tmp_path / "qrels.csv", metrics=["mrr@10", "judged@10"])
    assert (report.value("mrr@10"), report.value("judged@10")) == (0.75, 1.0)
    assert pool(run, depth=10, qrels=tmp_path / "qrels.csv").is_empty()


def test_a_pool_is_judged_little_by_little(tmp_path: Path) -> None:
    """Each time the rest is pooled, half of it is judged, and nothing is asked twice."""
    qrels = pl.DataFrame(schema={"query_id": pl.String, "doc_id": pl.String, "relevance": pl.Float64})
    asked: list[tuple[str, str]] = []
    for turn in range(3):
        left = pool(RUN, depth=9, qrels=qrels)
        path = tmp_path / f"{turn}.jsonl"
        write_pool(left.with_columns(relevance=pl.when(pl.int_range(pl.len()) < 2).then(float(turn))), path)
        asked += pairs(left)[:2]
        qrels = merge_judgments(qrels, path)
    assert sorted(set(asked)) == asked == pairs(qrels) == pairs(pool(RUN, depth=9))


# Merging.


def test_judgments_are_merged_from_whatever_holds_them(tmp_path: Path) -> None:
    frame = table({"q": {"f": 1.0}}, "relevance")
    sources = [
        {"q": {"mapping": 1, "unjudged": None}},
        pl.DataFrame({"qid": [1], "docno": ["aliases"], "label": [2], "text": ["dropped"]}),
        pl.DataFrame({"query": ["q"], "doc": ["query names the id"], "rel": [0]}),
        frame.lazy(),
        pd.DataFrame({"query_id": ["q", "q"], "doc_id": ["pandas", "unjudged"], "relevance": [1.0, math.nan]}),
        pa.table({"query_id": ["q"], "doc_id": ["arrow"], "relevance": [1]}),
        [{"query_id": "q", "doc_id": "records", "relevance": 1}, {"query_id": "q", "doc_id": "unjudged"}],
    ]
    files = {
        "trec.qrels": "q 0 trec 1\n",
        "beir.tsv": "query-id\tcorpus-id\tscore\nq\tbeir\t1\n",
        "plain.tsv": "q\tplain\t1\n",
        "pool.csv": 'query_id,doc_id,query_text,relevance\nq,csv,"what, is",1\nq,unjudged,what,\n',
        "pool.jsonl": '{"query_id":"q","doc_id":"jsonl","relevance":1}\n{"query_id":"q","doc_id":"unjudged"}\n',
        "records.json": '[{"query_id": "q", "doc_id": "json records", "relevance": 1}]',
        "mapping.json": '{"q": {"json mapping": 1, "unjudged": null}}',
        "beir/qrels/test.tsv": "q\tfolder\t1\n",
    }
    for name, content in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(content)
    paths = [tmp_path / name for name in files if "beir/" not in name]
    merged = merge_judgments(None, *sources, *paths, str(tmp_path / "beir"))
    assert {"query_id": pl.String, "doc_id": pl.String, "relevance": pl.Float64} == dict(merged.schema)
    docs = [
        "arrow",
        "beir",
        "csv",
        "f",
        "folder",
        "json mapping",
        "json records",
        "jsonl",
        "mapping",
        "pandas",
        "plain",
    ]
    docs += ["query names the id", "records", "trec"]
    assert [("1", "aliases"), *(("q", doc) for doc in docs)] == pairs(merged)


@pytest.mark.parametrize("written", ["1", " 1 ", "1.0", "+1", "1e0", "1\u00a0"])
def test_grades_may_be_text(written: str, tmp_path: Path) -> None:
    (tmp_path / "pool.csv").write_text(f"query_id,doc_id,relevance\nq,a,{written}\nq,b,2\n", encoding="utf-8")
    assert grades(merge_judgments(None, tmp_path / "pool.csv")) == [("q", "a", 1.0), ("q", "b", 2.0)]
    (tmp_path / "pool.jsonl").write_text(
        "\n".join(json.dumps({"query_id": "q", "doc_id": doc, "relevance": r}) for doc, r in [("a", written), ("b", 2)])
    )
    assert grades(merge_judgments(None, tmp_path / "pool.jsonl")) == [("q", "a", 1.0), ("q", "b", 2.0)]


@pytest.mark.parametrize("written", ["", '""', " ", '"  "', "\t", '"\n"', "\u00a0"], ids=repr)
def test_blank_grades_are_not_judged_yet(written: str, tmp_path: Path) -> None:
    (tmp_path / "pool.csv").write_text(f"query_id,doc_id,relevance\nq,a,{written}\nq,b,2\n", encoding="utf-8")
    assert grades(merge_judgments(None, tmp_path / "pool.csv")) == [("q", "b", 2.0)]


@pytest.mark.parametrize("written", ["x", "1;5", '"1,5"', "NaN", "inf", "-inf", "true", "1 2", "99999999999999999"])
def test_grades_that_are_none_are_refused_by_place(written: str, tmp_path: Path) -> None:
    path = tmp_path / "pool.csv"
    path.write_text(f"query_id,doc_id,relevance\nq,a,{written}\nq,b,2\nq,c,\n")
    with pytest.raises(rf.DataError, match=r"pool\.csv.*\(q, a\)") as told:
        merge_judgments(None, path)
    if written == "99999999999999999":  # no grade that Float64 would round is a judgment, whatever is asked
        return
    assert 'invalid="drop"' in str(told.value)
    with pytest.warns(rf.RankframeWarning, match=r"pool\.csv: row dropped on request.*: 1, such as '\(q, a\)'"):
        assert grades(merge_judgments(None, path, invalid="drop")) == [("q", "b", 2.0)]


@pytest.mark.parametrize("value", [math.nan, math.inf, "x", True], ids=repr)
def test_grades_of_mappings_and_frames_likewise(value: Any) -> None:
    with pytest.raises(rf.DataError, match="judged source 2"):
        merge_judgments(None, {"q": {"b": 1}}, {"q": {"a": value}})
    if value is not True:
        with pytest.raises(rf.DataError, match=r"judged source 1: 1 .*\(q, a\)"):
            merge_judgments(None, pl.DataFrame({"query_id": ["q"], "doc_id": ["a"], "relevance": [value]}))


def test_judged_rows_need_both_ids(tmp_path: Path) -> None:
    path = tmp_path / "pool.csv"
    path.write_text("query_id,doc_id,relevance\nq,,1\nq,b,2\n")
    with pytest.raises(rf.DataError, match=r"pool\.csv: 1 null doc_id"):
        merge_judgments(None, path)
    path.write_text("query_id,doc_id,relevance\n,a,1\nq,b,2\n,,\n")
    with pytest.raises(rf.DataError, match=r"pool\.csv: 2 records without query_id: record 1, record 3; invalid="):
        merge_judgments(None, path)
    with pytest.warns(rf.RankframeWarning, match="2, such as 'record 1', 'record 3'"):
        assert grades(merge_judgments(None, path, invalid="drop")) == [("q", "b", 2.0)]


def test_conflicts_are_refused_with_grades_and_places(tmp_path: Path) -> None:
    """Between the judgments there are and a pool, two pools, and within one; the same grade again counts once."""
    rf.write_qrels({"q": {"a": 1, "b": 1}}, tmp_path / "qrels.trec")
    (tmp_path / "pool.csv").write_text("query_id,doc_id,relevance\nq,a,1\nq,b,2\nq,c,0\nq,c,1\nq,d,0\n")
    sources = (tmp_path / "qrels.trec", tmp_path / "pool.csv", {"q": {"d": 0.5, "a": 1}})
    with pytest.raises(rf.DataError, match="3 pairs judged with different grades") as told:
        merge_judgments(*sources)
    for part in (
        f"(q, b) as 2.0 in {tmp_path / 'pool.csv'} and 1.0 in {tmp_path / 'qrels.trec'}, line 2",
        f"(q, c) as 1.0 in {tmp_path / 'pool.csv'} and 0.0 in {tmp_path / 'pool.csv'}",
        f"(q, d) as 0.5 in judged source 2 and 0.0 in {tmp_path / 'pool.csv'}",
        'duplicates="best" keeps the highest',
    ):
        assert part in str(told.value)
    with pytest.warns(rf.RankframeWarning, match=r"of which the highest was kept on request: 3, such as '\(q, b\)'"):
        merged = merge_judgments(*sources, duplicates="best")
    assert grades(merged) == [("q", "a", 1.0), ("q", "b", 2.0), ("q", "c", 1.0), ("q", "d", 0.5)]


def test_conflicts_are_counted_and_five_are_shown() -> None:
    with pytest.raises(rf.DataError, match=r"7 pairs.*and 2 more; duplicates=") as told:
        merge_judgments({"q": dict.fromkeys("abcdefg", 0)}, {"q": dict.fromkeys("abcdefg", 1)})
    assert str(told.value).count("1.0 in judged source 1 and 0.0 in qrels") == 5


def test_metadata_of_the_judgments_is_kept() -> None:
    """A row that is kept keeps what stood beside it; rows of pools have nothing there."""
    qrels = pl.DataFrame(
        {"query_id": ["q", "q"], "doc_id": ["b", "a"], "relevance": [1, 2], "assessor": ["x", "y"], "pass": [1, 2]}
    )
    judged = pl.DataFrame({"query_id": ["q", "q"], "doc_id": ["c", "a"], "relevance": [0, 2], "assessor": ["z", "z"]})
    merged = merge_judgments(qrels, judged)
    assert merged.columns == ["query_id", "doc_id", "relevance", "assessor", "pass"]
    assert merged.rows() == [("q", "a", 2.0, "y", 2), ("q", "b", 1.0, "x", 1), ("q", "c", 0.0, None, None)]
    with pytest.warns(rf.RankframeWarning, match="highest"):
        best = merge_judgments(qrels, {"q": {"b": 3}}, duplicates="best")
    assert best.row(1) == ("q", "b", 3.0, None, None)  # nobody called x gave this grade


def test_the_judgments_there_are_have_no_missing_grades() -> None:
    with pytest.raises(rf.DataError, match=r"qrels: 1 null relevance"):
        merge_judgments({"q": {"a": None}}, {"q": {"b": 1}})


def test_nothing_merged_is_nothing_judged() -> None:
    schema = {"query_id": pl.String, "doc_id": pl.String, "relevance": pl.Float64}
    for merged in (merge_judgments(None), merge_judgments({}, {}), merge_judgments(None, pool(RUN, depth=1))):
        assert merged.is_empty()
        assert schema == dict(merged.schema)
    assert grades(merge_judgments(None, {"q": {"a": 1}}, {})) == [("q", "a", 1.0)]


def test_what_is_no_judged_pool_is_refused(tmp_path: Path) -> None:
    with pytest.raises(rf.DataError, match="no column 'relevance' for a pool among 'query_id', 'doc_id', 'query_text'"):
        merge_judgments(None, pl.DataFrame({"query_id": ["q"], "doc_id": ["d"], "query_text": ["t"]}))
    with pytest.raises(rf.DataError, match="a list holds no table"):
        merge_judgments(None, ["pool.csv"])
    with pytest.raises(FileNotFoundError, match="no such file"):
        merge_judgments(None, tmp_path / "pool.csv")


@given(parts=st.lists(GRADES, min_size=1, max_size=4), data=st.data())
def test_merging_knows_no_order_and_no_repeats(parts: list[Grades], data: st.DataObject) -> None:
    """Grades that agree; and merged once more, with themselves or their parts, they stay as they are."""
    grade: dict[tuple[str, str], float] = {}
    agreed = [
        {
            query: {doc: grade.setdefault((query, doc), given_) for doc, given_ in docs.items()}
            for query, docs in part.items()
        }
        for part in parts
    ]
    merged = merge_judgments(None, *agreed)
    assert sorted((*pair, given_) for pair, given_ in grade.items()) == grades(merged)
    assert merged.equals(merge_judgments(None, *data.draw(st.permutations(agreed))))
    assert merged.equals(merge_judgments(agreed[0], *agreed[1:]))
    assert merged.equals(merge_judgments(merged, *agreed, merged))


@pytest.mark.filterwarnings("ignore::rankframe.RankframeWarning")
@given(parts=st.lists(GRADES, min_size=1, max_size=4), data=st.data())
def test_the_highest_grade_is_the_same_in_any_order(parts: list[Grades], data: st.DataObject) -> None:
    best: dict[tuple[str, str], float] = {}
    for part in parts:
        for query, docs in part.items():
            for doc, given_ in docs.items():
                best[query, doc] = max(given_, best.get((query, doc), -math.inf))
    mixed = data.draw(st.permutations(parts))
    assert sorted((*pair, given_) for pair, given_ in best.items()) == grades(
        merge_judgments(None, *mixed, duplicates="best")
    )
    assert grades(merge_judgments(None, *parts, duplicates="best")) == grades(
        merge_judgments(mixed[0], *mixed[1:], duplicates="best")
    )


@given(run=RUNS, depth=st.integers(1, 9), data=st.data())
def test_a_pool_minus_what_was_judged_is_what_is_left(run: Run, depth: int, data: st.DataObject) -> None:
    whole = pool(run, depth=depth)
    some = data.draw(st.lists(st.sampled_from([0.0, 1.0, None]), min_size=whole.height, max_size=whole.height))
    merged = merge_judgments(None, whole.with_columns(relevance=pl.Series(some, dtype=pl.Float64)))
    done = set(pairs(merged))
    assert sum(grade is not None for grade in some) == len(done)
    if {query for query, _ in done}:
        left = pool(run, depth=depth, qrels=merged)
        assert [pair for pair in pairs(whole) if pair not in done] == pairs(left)


# Spreadsheets.


def test_what_excel_writes_is_read(tmp_path: Path) -> None:
    """A byte-order mark, CRLF, quotes only where they are needed, line ends inside of cells, an empty line at last."""
    rows = 'query_id,doc_id,query_text,title,text,relevance\r\n0042,"a, b",was,,"eins\nzwei ""drei""",2\r\n'
    rows += "q,é,,,,\r\nq,7,,,,0\r\n\r\n"
    (tmp_path / "pool.csv").write_bytes(b"\xef\xbb\xbf" + rows.encode())
    assert grades(merge_judgments(None, tmp_path / "pool.csv")) == [("0042", "a, b", 2.0), ("q", "7", 0.0)]


@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_semicolons_are_refused_with_a_hint(mark: str, tmp_path: Path) -> None:
    """Where a comma is the decimal sign, spreadsheets separate by semicolons; a guess could split a text."""
    path = tmp_path / "pool.csv"
    path.write_text(f"{mark}query_id;doc_id;relevance\nq;a;1\n", encoding="utf-8")
    with pytest.raises(rf.DataError, match=r"no column 'query_id'.*semicolons separate here, CSV is read with commas"):
        merge_judgments(None, path)
    path.write_text(f"{mark}query_id;doc_id;text;relevance\nq;a;one, two;1\n", encoding="utf-8")
    with pytest.raises(rf.DataError, match=r"pool\.csv"):
        merge_judgments(None, path)


def test_another_encoding_is_refused_by_line(tmp_path: Path) -> None:
    (tmp_path / "pool.csv").write_bytes("query_id,doc_id,relevance\nq,é,1\n".encode("cp1252"))
    with pytest.raises(rf.DataError, match=r"pool\.csv: line 2 is not UTF-8"):
        merge_judgments(None, tmp_path / "pool.csv")


@given(
    cells=st.lists(
        st.tuples(
            st.text(st.sampled_from("ab01,;'\"\n\r\t éß🦊=-+#"), max_size=5),
            st.text(st.sampled_from("ab01,;'\"\n\r\t éß🦊=-+#"), max_size=9) | st.none(),
        ),
        min_size=1,
        max_size=4,
        unique_by=lambda cell: cell[0],
    ),
    suffix=st.sampled_from(["csv", "jsonl", "json", "parquet"]),
)
def test_texts_and_ids_of_any_kind_come_back_or_are_refused(
    cells: list[tuple[str, str | None]], suffix: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    docs, texts = [doc for doc, _ in cells], [text for _, text in cells]
    corpus = pl.DataFrame({"doc_id": docs, "text": texts}, schema={"doc_id": pl.String, "text": pl.String})
    found = pool({"q": dict.fromkeys(docs, 1.0)}, depth=9, corpus=corpus)
    path = tmp_path_factory.mktemp("pool") / f"pool.{suffix}"
    try:
        write_pool(found, path)
    except rf.DataError as error:
        told = str(error)
    else:
        told = ""
    if told:
        assert not path.exists()
        assert any(repr(part) in told for part in (*docs, "text", "title"))
        return
    assert merge_judgments(None, path).is_empty()
    write_pool(found.with_columns(relevance=1.0), path)
    assert pairs(found) == pairs(merge_judgments(None, path))
