"""One query explained: where its documents stand in every run, what they were judged, what they say."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankframe as rf

Run = dict[str, dict[str, float]]

BM25: Run = {"q1": {"d1": 9.0, "d2": 7.5, "d3": 5.0}, "q2": {"d1": 1.0}}
DENSE: Run = {"q1": {"d3": 0.9, "d1": 0.8}, "q3": {"d1": 1.0}}
QRELS: Run = {"q1": {"d1": 2, "d4": 1, "d2": -1, "d5": 0}, "q4": {"d1": 1}}
CORPUS = {"d1": {"title": "One", "text": "first"}, "d3": {"title": "Three", "text": "third"}}
HANDBOOK = Path(__file__).parents[1] / "data" / "handbook"

IDS = st.sampled_from(["d", "d1", "d10", "0042", "42", "é", "🦊", "a b"])
SCORES = st.sampled_from([0.0, -0.0, 1.0, 2.0, math.inf, -math.inf])
RUNS = st.dictionaries(
    st.sampled_from(["bm25", "dense", "é x"]), st.dictionaries(IDS, SCORES, min_size=1), min_size=1, max_size=3
)
GRADES = st.dictionaries(IDS, st.sampled_from([-1.0, 0.0, 0.5, 2.0]), min_size=1)


def table(run: Run, name: str = "score") -> pl.DataFrame:
    rows = [(query, doc, number) for query, docs in run.items() for doc, number in docs.items()]
    return pl.DataFrame(rows, schema={"query_id": pl.String, "doc_id": pl.String, name: pl.Float64}, orient="row")


def ordered(docs: dict[str, float]) -> list[str]:
    return sorted(docs, key=lambda doc: (docs[doc], doc.encode()), reverse=True)


# What is shown.


def test_every_run_has_its_ranks_beside_the_judgment() -> None:
    found = rf.explain("q1", runs={"bm25": BM25, "dense": DENSE}, qrels=QRELS, scores=True, corpus=CORPUS)
    assert dict(found.schema) == {
        "doc_id": pl.String,
        "relevance": pl.Float64,
        "judged": pl.Boolean,
        "rank_bm25": pl.Int64,
        "rank_dense": pl.Int64,
        "score_bm25": pl.Float64,
        "score_dense": pl.Float64,
        "title": pl.String,
        "text": pl.String,
    }
    assert found.rows() == [
        ("d1", 2.0, True, 1, 2, 9.0, 0.8, "One", "first"),
        ("d3", None, False, 3, 1, 5.0, 0.9, "Three", "third"),
        ("d2", -1.0, True, 2, None, 7.5, None, None, None),
        ("d4", 1.0, True, None, None, None, None, None, None),
    ]


def test_the_depth_cuts_every_run_and_leaves_relevant_documents() -> None:
    run = {"q": {f"d{place}": -float(place) for place in range(1, 8)}}
    found = rf.explain("q", runs={"run": run}, qrels={"q": {"d6": 1, "d5": 0, "d9": 3}}, depth=2)
    assert found.rows() == [
        ("d1", None, False, 1),
        ("d2", None, False, 2),
        ("d6", 1.0, True, 6),
        ("d9", 3.0, True, None),
    ]


def test_a_query_of_the_handbook_is_explained() -> None:
    """From a folder's own files: every document shown has a title, and its ranks are those of the file."""
    runs = {path.stem: path for path in sorted((HANDBOOK / "runs").glob("*.trec"))}
    beir = rf.read_beir(HANDBOOK)
    found = rf.explain("q01", runs=runs, qrels=beir, depth=5)
    assert found.columns == ["doc_id", "relevance", "judged", *(f"rank_{name}" for name in runs), "title", "text"]
    assert found["title"].null_count() == 0
    for name, path in runs.items():
        best = rf.read_run(path).filter(query_id="q01").sort("score", "doc_id", descending=True).head(5)["doc_id"]
        first = found.filter(pl.col(f"rank_{name}") <= 5).sort(f"rank_{name}")
        assert first["doc_id"].to_list() == best.to_list()
        assert first[f"rank_{name}"].to_list() == [1, 2, 3, 4, 5]
    relevant = beir.qrels.filter(pl.col("relevance") > 0, query_id="q01")["doc_id"]
    assert set(relevant) <= set(found["doc_id"])
    assert found.equals(rf.explain("q01", runs=runs, qrels=HANDBOOK, corpus=HANDBOOK, queries=HANDBOOK, depth=5))
    assert found.equals(rf.explain("q01", runs=runs, qrels=beir.qrels, corpus=beir, queries=beir, depth=5))
    assert found.drop("title", "text").equals(rf.explain("q01", runs=runs, qrels=HANDBOOK, depth=5))


@given(runs=RUNS, grades=GRADES, depth=st.integers(1, 9))
def test_a_query_is_explained_as_plain_python_would(
    runs: dict[str, dict[str, float]], grades: dict[str, float], depth: int
) -> None:
    ranks = {name: {doc: place for place, doc in enumerate(ordered(docs), 1)} for name, docs in runs.items()}
    docs = {doc for own in ranks.values() for doc, rank in own.items() if rank <= depth}
    docs |= {doc for doc, grade in grades.items() if grade > 0}
    never = 99
    best = {doc: min(own.get(doc, never) for own in ranks.values()) for doc in docs}
    right = [
        (doc, grades.get(doc), doc in grades, *(own.get(doc) for own in ranks.values()))
        for doc in sorted(docs, key=lambda doc: (best[doc], doc.encode()))
    ]
    other: Run = {"other": {"d": 1.0}}
    frames: dict[str, Any] = {name: table({**other, "q": own}) for name, own in runs.items()}
    found = rf.explain("q", runs=frames, qrels={"q": grades, "p": {"x": 1}}, depth=depth)
    assert found.rows() == right
    lazy = {name: frame.lazy() for name, frame in frames.items()}
    judged = table({"q": grades, "p": {"x": 1}}, "relevance").lazy()
    assert found.equals(rf.explain("q", runs=lazy, qrels=judged, depth=depth))


@given(runs=RUNS, grades=GRADES)
def test_ranks_are_those_that_evaluate_scores(runs: dict[str, dict[str, float]], grades: dict[str, float]) -> None:
    named = {name: {"q": docs} for name, docs in runs.items()}
    found = rf.explain("q", runs=named, qrels={"q": grades}, depth=1)
    report = rf.evaluate(named, {"q": grades}, metrics="mrr", no_relevant="zero")
    for name in runs:
        first = found.filter(pl.col("relevance") > 0)[f"rank_{name}"].min()
        assert report.value("mrr", run_id=name) == (1 / first if isinstance(first, int) else 0.0)


def test_ties_are_ranked_as_everywhere() -> None:
    found = rf.explain("q", runs={"r": {"q": {"a": 1.0, "é": 1.0, "z": 1.0}}}, qrels={})
    assert found.select("doc_id", "rank_r").rows() == [("é", 1), ("z", 2), ("a", 3)]


# Queries that are not everywhere.


def test_a_query_that_nobody_judged_is_shown_unjudged() -> None:
    found = rf.explain("q2", runs={"bm25": BM25, "dense": DENSE}, qrels=QRELS)
    assert found.rows() == [("d1", None, False, 1, None)]


def test_a_query_that_a_run_misses_has_null_ranks_there() -> None:
    found = rf.explain("q4", runs={"bm25": BM25, "dense": DENSE}, qrels=QRELS)
    assert found.rows() == [("d1", 1.0, True, None, None)]
    assert found.schema["rank_bm25"] == pl.Int64


def test_a_query_known_from_elsewhere_has_no_rows() -> None:
    log = pl.DataFrame(
        {
            "query_id": ["q9"],
            "n_results": [0],
            "status": ["ok"],
            "error": [None],
            "latency_s": [0.1],
            "n_collapsed": [0],
        },
        schema_overrides={"error": pl.String},
    )
    runs: dict[str, Any] = {"bm25": BM25}
    assert rf.explain("q9", runs=runs, qrels=QRELS, queries={"q9": "nine"}).is_empty()
    found = rf.explain("q9", runs={**runs, "dense": rf.Retrieval(table({}), log)}, qrels=QRELS, corpus=CORPUS)
    assert found.is_empty()
    assert found.columns == ["doc_id", "relevance", "judged", "rank_bm25", "rank_dense", "title", "text"]


@pytest.mark.parametrize("lazy", [False, True])
def test_a_query_that_is_nowhere_is_refused_with_ids_like_it(*, lazy: bool) -> None:
    runs: Any = {"bm25": table(BM25), "dense": table(DENSE)}
    qrels: Any = table(QRELS, "relevance")
    if lazy:
        runs, qrels = {name: run.lazy() for name, run in runs.items()}, qrels.lazy()
    with pytest.raises(
        rf.DataError,
        match=r"query_id='q01' is in none of the runs 'bm25', 'dense' and qrels; similar: 'q1'(, 'q\d')*$",
    ):
        rf.explain("q01", runs=runs, qrels=qrels)
    with pytest.raises(rf.DataError, match=r"the runs 'bm25', 'dense', qrels and queries; there are: 'other', 'q1', "):
        rf.explain("zzz", runs=runs, qrels=qrels, queries=["other"])


def test_a_query_that_is_nowhere_is_refused_without_any_ids() -> None:
    with pytest.raises(rf.DataError, match=r"query_id='q' is in none of the run 'bm25' and qrels; there are none"):
        rf.explain("q", runs={"bm25": table({})}, qrels={})


# How it is given.


def test_a_query_is_text_or_a_whole_number() -> None:
    run = pl.DataFrame({"query_id": [7, 8], "doc_id": ["x", "y"], "score": [1, 2]})
    assert rf.explain(7, runs=run, qrels={}).rows() == [("x", None, False, 1)]
    assert rf.explain("7", runs={"a": run.lazy()}, qrels={}).rows() == [("x", None, False, 1)]
    with pytest.raises(rf.DataError, match=r"'query_id' holds 7.5 \(float\); an id is text or a whole number"):
        rf.explain(7.5, runs=run, qrels={})


def test_runs_are_given_as_for_evaluate(tmp_path: Path) -> None:
    frames = {"bm25": table(BM25), "dense": table(DENSE)}
    right = rf.explain("q1", runs=frames, qrels=QRELS)
    for name, frame in frames.items():
        rf.write_run(frame, tmp_path / f"{name}.trec")
        frame.write_parquet(tmp_path / f"{name}.parquet")
    stacked = pl.concat([frame.select(pl.lit(name).alias("run_id"), pl.all()) for name, frame in frames.items()])
    for runs in (
        [tmp_path / "bm25.trec", tmp_path / "dense.trec"],
        stacked,
        stacked.lazy(),
        stacked.to_pandas(),
        {"bm25": str(tmp_path / "bm25.parquet"), "dense": pl.scan_parquet(tmp_path / "dense.parquet")},
    ):
        assert right.equals(rf.explain("q1", runs=runs, qrels=QRELS))
    assert rf.explain("q3", runs=stacked.lazy(), qrels={}).rows() == [("d1", None, False, None, 1)]
    named = rf.explain("q1", runs={"mine": stacked.lazy()}, qrels=QRELS)
    assert named.columns == rf.explain("q1", runs={"mine": stacked}, qrels=QRELS).columns
    one = stacked.filter(run_id="bm25")
    for alone in (one, one.lazy()):
        assert rf.explain("q1", runs={"mine": alone}, qrels=QRELS).columns == [
            "doc_id",
            "relevance",
            "judged",
            "rank_mine",
        ]


def test_fused_runs_are_explained_without_being_collected_first() -> None:
    lazy = {"bm25": table(BM25).lazy(), "dense": table(DENSE).lazy()}
    found = rf.explain("q1", runs={**lazy, "fused": rf.fuse(lazy)}, qrels=QRELS)
    assert found.select("doc_id", "rank_fused").rows() == [("d1", 1), ("d3", 2), ("d2", 3), ("d4", None)]


def test_texts_come_lazily_too() -> None:
    corpus = pl.LazyFrame({"doc_id": ["d1", "d3"], "text": ["first", None], "more": [1, 2]})
    found = rf.explain("q1", runs={"dense": DENSE}, qrels={}, corpus=corpus)
    assert found.select("doc_id", "title", "text").rows() == [("d3", None, None), ("d1", None, "first")]


def test_the_callers_objects_stay_as_they_are() -> None:
    run, judged = table(BM25), table(QRELS, "relevance")
    before = run.clone(), judged.clone()
    rf.explain("q1", runs=run, qrels=judged)
    assert before[0].equals(run)
    assert before[1].equals(judged)


# What is refused.


@pytest.mark.parametrize("depth", [0, -1, 1.5, True, "10", None], ids=repr)
def test_a_depth_is_a_whole_number_from_one(depth: Any) -> None:
    with pytest.raises(rf.MetricError, match=r"depth is a whole number from 1, got"):
        rf.explain("q1", runs="nowhere", qrels="nowhere", depth=depth)


@pytest.mark.parametrize("option", ["duplicates", "invalid"])
def test_unknown_choices_are_refused(option: str) -> None:
    options: dict[str, Any] = {option: "all"}
    with pytest.raises(rf.DataError, match=f"{option}='all' is unknown"):
        rf.explain("q1", runs="nowhere", qrels="nowhere", **options)


def test_one_name_is_not_that_of_two_runs(tmp_path: Path) -> None:
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        rf.write_run(table(BM25), tmp_path / folder / "bm25.trec")
    with pytest.raises(rf.DataError, match=r"two runs are called 'bm25'; give names, as in explain"):
        rf.explain("q1", runs=[tmp_path / "one" / "bm25.trec", tmp_path / "two" / "bm25.trec"], qrels=QRELS)


def test_a_document_twice_is_refused_or_ranked_by_its_best_score() -> None:
    run = pl.DataFrame({"query_id": ["q"] * 3, "doc_id": ["a", "b", "a"], "score": [1.0, 2.0, 3.0]})
    with pytest.raises(rf.DataError, match=r"pair more than once: \(q, a\); duplicates=\"best\""):
        rf.explain("q", runs={"r": run}, qrels={})
    with pytest.warns(rf.RankframeWarning, match=r"better score: 1, such as '\(q, a\)'"):
        found = rf.explain("q", runs={"r": run}, qrels={}, duplicates="best", scores=True)
    assert found.select("doc_id", "rank_r", "score_r").rows() == [("a", 1, 3.0), ("b", 2, 2.0)]


def test_conflicting_judgments_of_the_query_are_refused_or_settled() -> None:
    qrels = pl.DataFrame({"query_id": ["q1", "q1"], "doc_id": ["d1", "d1"], "relevance": [1, 2]})
    for judged in (qrels, qrels.lazy()):
        with pytest.raises(rf.DataError, match=r"1 pair judged with different grades: \(q1, d1\) as 1 and 2"):
            rf.explain("q1", runs={"r": BM25}, qrels=judged)
        with pytest.warns(rf.RankframeWarning, match=r"highest was kept on request: 1, such as '\(q1, d1\)'"):
            found = rf.explain("q1", runs={"r": BM25}, qrels=judged, duplicates="best")
        assert found.filter(doc_id="d1")["relevance"].to_list() == [2.0]
        assert rf.explain("q2", runs={"r": BM25}, qrels=judged).height == 1


def test_bad_rows_are_refused_or_left_out_with_a_warning() -> None:
    run = table(BM25).with_columns(pl.col("score").replace(7.5, math.nan))
    for given_ in (run, run.lazy()):
        with pytest.raises(rf.DataError, match=r"1 NaN score, in 1 row: \(q1, d2\); invalid=\"drop\""):
            rf.explain("q1", runs={"r": given_}, qrels={})
        with pytest.warns(rf.RankframeWarning, match=r"dropped on request.*\(q1, d2\)"):
            found = rf.explain("q1", runs={"r": given_}, qrels={}, invalid="drop")
        assert found["doc_id"].to_list() == ["d1", "d3"]
    unnamed = run.lazy().with_columns(run_id=pl.lit(None, pl.String))
    with pytest.raises(rf.DataError, match=r"null run_id; name every row's run"):
        rf.explain("q1", runs=unnamed, qrels={})


def test_several_texts_of_one_document_are_refused_where_it_is_shown() -> None:
    corpus = pl.DataFrame({"doc_id": ["d1", "d1", "x", "x"], "text": ["a", "b", "c", "d"]})
    with pytest.raises(rf.DataError, match=r"corpus: 'd1' with several texts; leave one record of each document"):
        rf.explain("q1", runs={"r": BM25}, qrels={}, corpus=corpus)
    same = corpus.with_columns(text=pl.lit("a"))
    assert rf.explain("q2", runs={"r": BM25}, qrels={}, corpus=same)["text"].to_list() == ["a"]
