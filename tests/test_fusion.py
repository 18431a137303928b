"""Fused runs are what plain Python finds, whichever way and order the runs come in, and lazy where they are."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from statistics import fmean, median, pstdev
from typing import Any, get_args

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankframe as rf
from rankframe.fusion.methods import METHODS, NORMALIZERS, Method, Normalize

Run = dict[str, dict[str, float]]

BM25: Run = {"q1": {"d1": 9.0, "d2": 7.5, "d3": 5.0}, "q2": {"d1": 1.0}}
DENSE: Run = {"q1": {"d2": 0.9, "d4": 0.8}}
HANDBOOK = Path(__file__).parents[1] / "data" / "handbook"

IDS = st.sampled_from(["d", "d1", "d10", "0042", "42", "é", "e\u0301", "🦊", "a b"])
SCORES = st.sampled_from([0.0, -0.0, 0.1, 0.3, 1.0, 1 / 3, 7.5, 1e-9, 123456.789])
SIGNED = SCORES | st.sampled_from([-0.1, -1.0, -7.0])
OF_RANKS = [name for name, fusion in METHODS.items() if fusion.by == "rank"]
OF_SCORES = [name for name, fusion in METHODS.items() if fusion.by == "score"]
NORMALIZE = st.sampled_from(list(NORMALIZERS))
WAYS: list[tuple[str, str | None]] = [(method, None) for method in OF_RANKS] + [
    (method, name) for method in OF_SCORES for name in NORMALIZERS
]


def a_run(scores: st.SearchStrategy[float]) -> st.SearchStrategy[Run]:
    docs = st.dictionaries(IDS, scores, min_size=1, max_size=7)
    return st.dictionaries(st.sampled_from(["q1", "q2", "007"]), docs, min_size=1)


def some_runs(scores: st.SearchStrategy[float]) -> st.SearchStrategy[dict[str, Run]]:
    return st.dictionaries(st.sampled_from("abcd"), a_run(scores), min_size=2, max_size=4)


def table(run: Run) -> pl.DataFrame:
    rows = [(query, doc, score) for query, docs in run.items() for doc, score in docs.items()]
    return pl.DataFrame(rows, schema={"query_id": pl.String, "doc_id": pl.String, "score": pl.Float64}, orient="row")


def tables(runs: dict[str, Run]) -> dict[str, pl.DataFrame]:
    return {name: table(run) for name, run in runs.items()}


def fused(runs: Any, **options: Any) -> pl.DataFrame:
    found = rf.fuse(runs, **options)
    assert isinstance(found, pl.DataFrame)
    return found


def collected(runs: Any, **options: Any) -> pl.DataFrame:
    found = rf.fuse(runs, **options)
    assert isinstance(found, pl.LazyFrame)
    return found.collect()


def nested(frame: pl.DataFrame) -> Run:
    found: Run = {}
    for query, doc, score in frame.iter_rows():
        found.setdefault(query, {})[doc] = score
    return found


# The oracle: plain Python, one query at a time.


def ordered(docs: dict[str, float]) -> list[str]:
    return sorted(docs, key=lambda doc: (docs[doc], doc.encode()), reverse=True)


def normalized(docs: dict[str, float], how: str) -> dict[str, float]:
    low, high = min(docs.values()), max(docs.values())
    if how in ("min-max", "sum", "z-score") and low == high:
        return dict.fromkeys(docs, 0.0)
    shifted = math.fsum(score - low for score in docs.values())
    formulas: dict[str, Callable[[str], float]] = {
        "none": lambda doc: docs[doc],
        "min-max": lambda doc: (docs[doc] - low) / (high - low),
        "max": lambda doc: docs[doc] / high if high > 0 else 0.0,
        "sum": lambda doc: (docs[doc] - low) / shifted,
        "z-score": lambda doc: (docs[doc] - fmean(docs.values())) / pstdev(docs.values()),
        "rank": lambda doc: 1 - ordered(docs).index(doc) / len(docs),
    }
    return {doc: formulas[how](doc) for doc in docs}


def by_hand(
    runs: dict[str, Run], method: str, normalize: str | None = None, weights: dict[str, float] | None = None
) -> Run:
    found: Run = {}
    for query in {query for run in runs.values() for query in run}:
        lists = {name: run[query] for name, run in runs.items() if query in run}
        candidates = {doc for docs in lists.values() for doc in docs}
        if normalize:
            lists = {name: normalized(docs, normalize) for name, docs in lists.items()}
        found[query] = {doc: of_document(doc, lists, len(candidates), method, weights) for doc in candidates}
    return found


def of_document(
    doc: str, lists: dict[str, dict[str, float]], candidates: int, method: str, weights: dict[str, float] | None
) -> float:
    weight = weights or dict.fromkeys(lists, 1.0)
    have = [name for name, docs in lists.items() if doc in docs]
    scores = [lists[name][doc] for name in have]

    def summed(term: Callable[[int], float]) -> float:
        return math.fsum(weight[name] * term(ordered(lists[name]).index(doc) + 1) for name in have)

    def shared() -> float:
        return math.fsum(
            weight[name] * (candidates - len(docs) + 1) / 2 for name, docs in lists.items() if doc not in docs
        )

    total = math.fsum(weight[name] * lists[name][doc] for name in have)
    formulas: dict[str, Callable[[], float]] = {
        "rrf": lambda: summed(lambda rank: 1 / (60 + rank)),
        "isr": lambda: len(have) * summed(lambda rank: 1 / rank**2),
        "rbc": lambda: summed(lambda rank: 0.2 * 0.8 ** (rank - 1)),
        "borda": lambda: summed(lambda rank: candidates - rank + 1) + shared(),
        "combsum": lambda: total,
        "combmnz": lambda: total * len(have),
        "combanz": lambda: total / len(have),
        "combmed": lambda: median(scores),
        "combmin": lambda: min(scores),
        "combmax": lambda: max(scores),
    }
    return formulas[method]()


def close(ours: Run, right: Run) -> bool:
    flat = [
        {(query, doc): score for query, docs in run.items() for doc, score in docs.items()} for run in (ours, right)
    ]
    return flat[0] == pytest.approx(flat[1], rel=1e-9, abs=1e-9)


# What is computed.


@pytest.mark.parametrize("method", METHODS)
@given(data=st.data())
def test_a_fused_run_is_what_plain_python_finds(method: str, data: st.DataObject) -> None:
    normalize = data.draw(NORMALIZE) if method in OF_SCORES else None
    runs = data.draw(some_runs(SCORES if normalize == "max" else SIGNED))
    found = fused(tables(runs), method=method, normalize=normalize)
    assert dict(found.schema) == {"query_id": pl.String, "doc_id": pl.String, "score": pl.Float64}
    assert close(nested(found), by_hand(runs, method, normalize))
    assert found["score"].is_finite().all()
    order = sorted(found.rows(), key=lambda row: (row[2], row[1].encode()), reverse=True)
    assert found.rows() == sorted(order, key=lambda row: str(row[0]).encode())


@given(data=st.data(), way=st.sampled_from([way for way in WAYS if METHODS[way[0]].weighted]))
def test_a_run_adds_as_much_as_its_weight_says(way: tuple[str, str | None], data: st.DataObject) -> None:
    method, normalize = way
    runs = data.draw(some_runs(SCORES))
    weights = {name: data.draw(st.sampled_from([0.0, 0.3, 1.0, 2.5]), label=name) for name in runs}
    found = fused(tables(runs), method=method, normalize=normalize, weights=weights)
    assert close(nested(found), by_hand(runs, method, normalize, weights))


@given(data=st.data(), way=st.sampled_from(WAYS))
def test_the_order_of_runs_and_rows_changes_no_bit(way: tuple[str, str | None], data: st.DataObject) -> None:
    method, normalize = way
    runs = tables(data.draw(some_runs(SCORES)))
    weights = {name: 0.1 + place / 3 for place, name in enumerate(runs)} if METHODS[method].weighted else None
    mixed = {
        name: runs[name][data.draw(st.permutations(range(runs[name].height)))]
        for name in data.draw(st.permutations(list(runs)))
    }
    first, second = (fused(given_, method=method, normalize=normalize, weights=weights) for given_ in (runs, mixed))
    assert first.equals(second)


def test_many_runs_are_added_up_in_one_order() -> None:
    """Large enough to be computed by several threads."""
    rng = np.random.default_rng(5)
    runs = {
        f"r{run}": pl.DataFrame(
            {
                "query_id": np.repeat([f"q{query}" for query in range(40)], 200),
                "doc_id": [f"d{doc}" for _ in range(40) for doc in rng.permutation(400)[:200]],
                "score": rng.random(8000),
            }
        )
        for run in range(7)
    }
    backwards = {name: runs[name].reverse() for name in reversed(runs)}
    stacked = pl.concat([run.select(pl.lit(name).alias("run_id"), pl.all()) for name, run in backwards.items()])
    for method, normalize in WAYS:
        first = fused(runs, method=method, normalize=normalize)
        assert first.equals(fused(backwards, method=method, normalize=normalize))
        assert first.equals(collected(stacked.lazy(), method=method, normalize=normalize))


def test_reciprocal_ranks_are_the_default() -> None:
    found = fused({"bm25": BM25, "dense": DENSE})
    assert found.rows() == [
        ("q1", "d2", 1 / 62 + 1 / 61),
        ("q1", "d1", 1 / 61),
        ("q1", "d4", 1 / 62),
        ("q1", "d3", 1 / 63),
        ("q2", "d1", 1 / 61),
    ]


def test_the_parameters_of_a_method_are_its_own() -> None:
    found = nested(fused({"bm25": BM25, "dense": DENSE}, k=0))
    assert found["q1"] == {"d2": 1.5, "d1": 1.0, "d4": 0.5, "d3": 1 / 3}
    found = nested(fused({"bm25": BM25, "dense": DENSE}, method="rbc", p=0.5))
    assert found["q1"] == {"d2": 0.75, "d1": 0.5, "d4": 0.25, "d3": 0.125}


def test_ties_are_ranked_as_everywhere() -> None:
    """By document id, descending by bytes, and -0.0 is 0.0."""
    found = fused({"a": {"q": {"z": 0.0, "é": -0.0, "b": 0.0}}, "b": {"q": {"x": 1.0}}}, k=0)
    assert nested(found)["q"] == {"é": 1.0, "z": 0.5, "b": 1 / 3, "x": 1.0}
    assert found["doc_id"].to_list() == ["é", "x", "z", "b"]


@pytest.mark.parametrize(("normalize", "score"), [("min-max", 0.0), ("sum", 0.0), ("z-score", 0.0), ("max", 1.0)])
def test_equal_scores_of_a_query_are_no_division_by_zero(normalize: str, score: float) -> None:
    runs = {"a": {"q": {"d1": 0.1, "d2": 0.1, "d3": 0.1}}, "b": {"q": {"d4": 5.0}}}
    found = fused(runs, method="combsum", normalize=normalize)
    assert found["score"].to_list() == [score] * 4


def test_the_best_score_of_a_query_becomes_exactly_one() -> None:
    """So that the best of two runs tie, for any spread of their scores."""
    rng = np.random.default_rng(1)
    docs = [{f"{name}{doc}": float(score) for doc, score in enumerate(rng.normal(size=9) * 37)} for name in "ab"]
    runs = {
        name: {f"q{query}": {doc: score + query / 7 for doc, score in docs[place].items()} for query in range(99)}
        for place, name in enumerate("ab")
    }
    for normalize in ("min-max", "rank"):
        assert fused(runs, method="combmax", normalize=normalize).filter(score=1.0).height == 2 * 99


def test_scores_far_apart_stay_finite() -> None:
    runs = {"a": {"q": {"d1": 1e150, "d2": -1e150, "d3": 5e-324}}, "b": {"q": {"d1": 5e-324, "d2": 0.0}}}
    for normalize in ("min-max", "sum", "z-score", "none"):
        for method in OF_SCORES:
            found = fused(runs, method=method, normalize=normalize)
            assert found["score"].is_finite().all()
    assert fused(runs, method="combsum", normalize="none", weights={"a": 1e150, "b": 1e150})["score"].is_finite().all()


# What comes back.


@given(runs=some_runs(SIGNED), limit=st.integers(1, 9))
def test_a_limit_keeps_the_best_of_each_query(runs: dict[str, Run], limit: int) -> None:
    whole = fused(tables(runs), method="combsum")
    kept = whole.group_by("query_id", maintain_order=True).head(limit)
    assert kept.equals(fused(tables(runs), method="combsum", limit=limit))


@given(run=a_run(SCORES))
def test_a_run_fused_with_itself_keeps_its_order(run: Run) -> None:
    docs = {query: ordered(docs) for query, docs in run.items()}
    for method in OF_RANKS:
        found = fused({"a": table(run), "b": table(run)}, method=method)
        assert {query: list(scores) for query, scores in nested(found).items()} == docs


def test_evaluate_takes_what_was_fused() -> None:
    """And three systems of the handbook are fused to more than the worst of them."""
    paths = sorted((HANDBOOK / "runs").glob("*.trec"))
    runs: dict[str, Any] = {path.stem: rf.read_run(path) for path in paths}
    report = rf.evaluate({**runs, "fused": rf.fuse(runs)}, rf.read_beir(HANDBOOK).qrels, metrics="ndcg@10")
    values = dict(report.summary.select("run_id", "value").iter_rows())
    assert values["fused"] > min(values[name] for name in runs)
    assert rf.fuse(paths).equals(rf.fuse(runs))


def test_the_callers_objects_stay_as_they_are() -> None:
    runs = tables({"a": BM25, "b": DENSE})
    weights = {"a": 1, "b": 2}
    before = {name: run.clone() for name, run in runs.items()}
    fused(runs, method="combsum", weights=weights)
    assert all(before[name].equals(run) for name, run in runs.items())
    assert weights == {"a": 1, "b": 2}


# How runs are given.


def test_runs_are_given_as_for_evaluate(tmp_path: Path) -> None:
    right = fused({"bm25": BM25, "dense": DENSE})
    frames = tables({"bm25": BM25, "dense": DENSE})
    for name, frame in frames.items():
        rf.write_run(frame, tmp_path / f"{name}.trec")
        frame.write_parquet(tmp_path / f"{name}.parquet")
    stacked = pl.concat([frame.select(pl.lit(name).alias("run_id"), pl.all()) for name, frame in frames.items()])
    log = pl.DataFrame(
        {
            "query_id": ["q1"],
            "n_results": [2],
            "status": ["ok"],
            "error": [None],
            "latency_s": [0.1],
            "n_collapsed": [0],
        },
        schema_overrides={"error": pl.String},
    )
    for runs in (
        frames,
        stacked,
        stacked.to_pandas(),
        [tmp_path / "bm25.trec", tmp_path / "dense.trec"],
        {"bm25": str(tmp_path / "bm25.parquet"), "dense": tmp_path / "dense.trec"},
        {"one": BM25, "two": rf.Retrieval(frames["dense"], log)},
        {"one": frames["bm25"].rename({"doc_id": "docno"}).to_arrow(), "two": DENSE},
    ):
        assert right.equals(fused(runs))


@given(data=st.data(), way=st.sampled_from(WAYS))
def test_lazy_runs_give_what_eager_ones_do(way: tuple[str, str | None], data: st.DataObject) -> None:
    method, normalize = way
    runs = tables(data.draw(some_runs(SCORES)))
    weights = {name: 0.3 + place for place, name in enumerate(runs)} if METHODS[method].weighted else None
    options: dict[str, Any] = {"method": method, "normalize": normalize, "weights": weights, "limit": 3}
    right = fused(runs, **options)
    stacked = pl.concat([frame.select(pl.lit(name).alias("run_id"), pl.all()) for name, frame in runs.items()])
    mixed = {name: frame.lazy() if place else frame for place, (name, frame) in enumerate(runs.items())}
    for given_ in ({name: frame.lazy() for name, frame in runs.items()}, stacked.lazy(), mixed):
        found = rf.fuse(given_, **options)
        assert isinstance(found, pl.LazyFrame)
        assert found.collect_schema() == right.schema
        assert right.equals(found.collect())


def test_nothing_is_read_before_it_is_collected() -> None:
    read: list[int] = []

    def look(rows: pl.DataFrame) -> pl.DataFrame:
        read.append(rows.height)
        return rows

    runs = {name: frame.lazy().map_batches(look) for name, frame in tables({"a": BM25, "b": DENSE}).items()}
    found = rf.fuse(runs, method="combmnz", weights={"a": 1, "b": 1}, limit=2)
    assert found.collect_schema().names() == ["query_id", "doc_id", "score"]
    assert read == []
    assert found.collect().height == 3
    assert sorted(read) == [2, 4]


def test_a_lazy_fusion_goes_on_lazily(tmp_path: Path) -> None:
    for name, frame in tables({"a": BM25, "b": DENSE}).items():
        frame.write_parquet(tmp_path / f"{name}.parquet")
    runs = {name: pl.scan_parquet(tmp_path / f"{name}.parquet") for name in "ab"}
    rf.fuse(runs).filter(query_id="q2").sink_parquet(tmp_path / "fused.parquet")
    assert rf.read_run(tmp_path / "fused.parquet").rows() == [("q2", "d1", 1 / 61)]
    assert rf.fuse(runs).collect(engine="streaming").equals(fused({"a": BM25, "b": DENSE}))


def test_runs_without_rows_add_nothing() -> None:
    empty = table({})
    with pytest.warns(rf.RankframeWarning, match=r"run 'b': the run is empty and adds nothing"):
        assert fused({"a": table(BM25), "b": empty}, method="combsum").height == 4
    for method in METHODS:
        found = collected({"a": empty.lazy(), "b": empty.lazy()}, method=method)
        assert found.is_empty()
        assert dict(found.schema) == {"query_id": pl.String, "doc_id": pl.String, "score": pl.Float64}


def test_queries_whose_retrieval_failed_are_warned_of() -> None:
    log = pl.DataFrame(
        {
            "query_id": ["q1", "q2"],
            "n_results": [2, None],
            "status": ["ok", "failed"],
            "error": [None, "timeout"],
            "latency_s": [0.1, 9.0],
            "n_collapsed": [0, 0],
        }
    )
    with pytest.warns(rf.RankframeWarning, match=r"run 'dense': of 1 query the retrieval failed: 'q2'"):
        found = fused({"bm25": BM25, "dense": rf.Retrieval(table(DENSE), log)})
    assert found.equals(fused({"bm25": BM25, "dense": DENSE}))


# What is refused.


def test_the_tables_are_what_types_say() -> None:
    assert list(get_args(Method)) == list(METHODS)
    assert list(get_args(Normalize)) == list(NORMALIZERS)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"method": "RFR"}, r"method='RFR' is unknown; did you mean 'rrf'\? Valid: rrf, isr, rbc, borda, combsum, "),
        ({"method": None}, r"method=None is unknown"),
        (
            {"method": "combsum", "normalize": "zscore"},
            r"normalize='zscore' is unknown; did you mean 'z-score'\? Valid: min-max,",
        ),
        (
            {"normalize": "min-max"},
            r"normalize='min-max' goes with a method of scores \(combsum, .*\); 'rrf' looks at ranks",
        ),
        ({"method": "isr", "k": 10}, r"k=10 goes with method='rrf'; 'isr' has no such parameter"),
        ({"p": 0.5}, r"p=0.5 goes with method='rbc'; 'rrf' has no such parameter"),
        ({"k": -1}, r"k=-1: a number from 0"),
        ({"k": math.nan}, r"k=nan: a number from 0"),
        ({"k": "60"}, r"k='60': a number from 0"),
        ({"method": "rbc", "p": 1}, r"p=1: the persistence of a reader lies between 0 and 1"),
        ({"method": "rbc", "p": True}, r"p=True: the persistence"),
        (
            {"method": "combmax", "weights": {"a": 1, "b": 1}},
            r"weights= goes with a method that adds up \(rrf, .*\), not 'combmax'",
        ),
        ({"weights": [1, 2]}, r"weights= is a mapping, as in \{'bm25': 0.3, 'dense': 0.7\}, got \[1, 2\]"),
        ({"weights": {"a": 1, "b": -1}}, r"weights: 'b' has -1; a weight is a number from 0"),
        ({"weights": {"a": 1, "b": math.inf}}, r"weights: 'b' has inf"),
        ({"weights": {"a": 1, "b": "2"}}, r"weights: 'b' has '2'"),
        ({"weights": {"a": 1}}, r"weights: every run has one, and 'b' none; 0 leaves a run without a say"),
        ({"weights": {"a": 1, "b": 1, "bb": 1}}, r"weights: no run is called 'bb'; did you mean 'b'\? Valid: a, b"),
        ({"duplicates": "all"}, r"duplicates='all' is unknown"),
        ({"invalid": "all"}, r"invalid='all' is unknown"),
    ],
    ids=str,
)
def test_options_that_mean_nothing_are_refused(options: dict[str, Any], told: str) -> None:
    with pytest.raises(rf.DataError, match=told):
        rf.fuse({"a": BM25, "b": DENSE}, **options)


@pytest.mark.parametrize("limit", [0, -1, 1.5, True, "10", math.nan], ids=repr)
def test_a_limit_is_a_whole_number_from_one(limit: Any) -> None:
    with pytest.raises(rf.MetricError, match=r"limit is a whole number from 1, got"):
        rf.fuse({"a": "nowhere", "b": "nowhere"}, limit=limit)


@pytest.mark.parametrize(
    "runs", [BM25, {"bm25": BM25}, table(BM25), table(BM25).lazy(), {"a": table(BM25).lazy()}], ids=[*"abcde"]
)
def test_one_run_is_not_fused(runs: Any) -> None:
    with pytest.raises(rf.DataError, match=r"two runs or more are fused, got 1 run \('.*'\); give names, as in fuse"):
        rf.fuse(runs)


def test_one_name_is_not_that_of_two_runs(tmp_path: Path) -> None:
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        rf.write_run(table(BM25), tmp_path / folder / "bm25.trec")
    with pytest.raises(rf.DataError, match=r"two runs are called 'bm25'; give names, as in fuse"):
        rf.fuse([tmp_path / "one" / "bm25.trec", tmp_path / "two" / "bm25.trec"])


@pytest.mark.parametrize("lazy", [False, True])
@pytest.mark.parametrize(
    ("change", "options", "told"),
    [
        (pl.col("score").replace(9.0, math.nan), {}, r"run.*1 NaN score, in 1 row: \(q1, d1\); invalid=\"drop\""),
        (pl.col("score").replace(9.0, None), {}, r"1 null score"),
        (pl.col("doc_id").replace("d1", None), {}, r"2 null doc_id"),
        (
            pl.col("doc_id").replace("d1", "d2"),
            {},
            r"run 'a': 1 \(query, document\) pair more than once: \(q1, d2\); duplicates=\"best\"",
        ),
        (
            pl.col("score").replace(9.0, math.inf),
            {"method": "combsum"},
            r"run 'a': 1 score infinite or beyond 1e\+150, .*: \(q1, d1\); a method of ranks takes them \(rrf, .*\)",
        ),
        (
            pl.col("score").replace(9.0, -2e150),
            {"method": "combmax", "normalize": "none"},
            r"run 'a': 1 score infinite or beyond",
        ),
        (
            -pl.col("score"),
            {"method": "combsum", "normalize": "max"},
            r"run 'a': 4 scores below 0, .*; normalize=\"min-max\" takes them",
        ),
    ],
    ids=["nan", "null", "null id", "twice", "infinite", "large", "negative"],
)
def test_bad_rows_are_refused_where_they_are_read(
    change: pl.Expr, options: dict[str, Any], told: str, *, lazy: bool
) -> None:
    """Of lazy runs when they are collected, and by the same words."""
    bad = table(BM25).with_columns(change)
    if not lazy:
        with pytest.raises(rf.DataError, match=told):
            rf.fuse({"a": bad, "b": table(DENSE)}, **options)
        return
    found = rf.fuse({"a": bad.lazy(), "b": table(DENSE).lazy()}, **options)
    with pytest.raises(rf.DataError, match=told):
        found.collect()


@pytest.mark.parametrize("lazy", [False, True])
def test_bad_rows_are_left_out_on_request(*, lazy: bool) -> None:
    bad = table(BM25).with_columns(pl.col("score").replace(5.0, math.nan))
    twice = pl.concat([bad, bad.filter(doc_id="d2").with_columns(score=pl.lit(1.0))])
    runs: dict[str, Any] = {"a": twice.lazy() if lazy else twice, "b": table(DENSE)}
    with pytest.warns(rf.RankframeWarning) as told:
        found = rf.fuse(runs, invalid="drop", duplicates="best").lazy().collect()
    said = [str(warning.message) for warning in told]
    assert any("dropped on request because of a null id" in text and "(q1, d3)" in text for text in said)
    assert any("pair stands there with a better score: 1, of (q1, d2)" in text for text in said)
    assert found.equals(fused({"a": {"q1": {"d1": 9.0, "d2": 7.5}, "q2": {"d1": 1.0}}, "b": DENSE}))


def test_infinite_scores_have_ranks() -> None:
    runs = {"a": {"q": {"d1": math.inf, "d2": 1.0, "d3": -math.inf}}, "b": {"q": {"d3": 1.0}}}
    assert nested(fused(runs, k=0))["q"] == {"d3": 1 / 3 + 1, "d1": 1.0, "d2": 0.5}
    assert nested(fused(runs, method="combsum", normalize="rank"))["q"]["d1"] == 1.0


def test_a_lazy_frame_of_several_runs_is_looked_at_when_it_is_collected() -> None:
    stacked = table(BM25).lazy().with_columns(run_id=pl.lit("a"))
    with pytest.raises(rf.DataError, match=r"two runs or more are fused, got 1 run \('a'\)"):
        rf.fuse(stacked).collect()
    with pytest.raises(rf.DataError, match=r"run: 4 null run_id; name every row's run"):
        rf.fuse(stacked.with_columns(run_id=pl.lit(None, pl.String))).collect()
    with pytest.raises(rf.DataError, match=r"lazy frame under the name 'x' has a column run_id; drop it"):
        rf.fuse({"x": stacked, "y": stacked})
    both = pl.concat([stacked, table(DENSE).lazy().with_columns(run_id=pl.lit("b"))])
    with pytest.raises(rf.DataError, match=r"no run is called 'c'"):
        rf.fuse(both, weights={"a": 1, "c": 1}).collect()
    assert rf.fuse(both).collect().equals(fused({"a": BM25, "b": DENSE}))
    with pytest.raises(rf.DataError, match=r"1 \(query, document\) pair more than once: \(q1, d2\)"):
        rf.fuse(pl.concat([both, both.filter(run_id="b", doc_id="d2")])).collect()
