"""Exact search by vectors: plain Python agrees, whatever the blocks, and what is no vector is refused by name."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankframe as rf
from rankframe.errors import DataError
from rankframe.retrievers import dense
from rankframe.retrievers.dense import Dense, Metric
from tests.retrievers.shared import HANDBOOK, best_of, check_threads, check_what_is_refused, handbook_run, rows

METRICS: list[Metric] = ["cosine", "dot"]
DOCS = pl.DataFrame({"doc_id": ["d1", "d2", "d3"], "vector": [[1.0, 0.0], [3.0, 4.0], [0.0, 0.0]]})
ASKED = pl.DataFrame({"query_id": ["q1", "q2"], "vector": [[0.0, 2.0], [-1.0, 0.0]]})

vectors = st.lists(st.integers(-2, 2), min_size=3, max_size=3)
documents = st.dictionaries(st.text(max_size=3), vectors, max_size=14)


def _frame(docs: dict[str, list[int]]) -> pl.DataFrame:
    values = pl.Series("vector", list(docs.values()), dtype=pl.List(pl.Int64))
    return pl.DataFrame([pl.Series("doc_id", list(docs), dtype=pl.String), values])


def _score(one: list[int], other: list[int], metric: Metric) -> float:
    product = float(sum(a * b for a, b in zip(one, other, strict=True)))
    lengths = math.sqrt(sum(a * a for a in one) * sum(b * b for b in other))
    return product if metric == "dot" else round(product / lengths, 12) + 0.0 if lengths else 0.0


@pytest.mark.parametrize("metric", METRICS)
@given(docs=documents, asked=st.lists(vectors, max_size=4), limit=st.integers(1, 16))
def test_the_scores_are_the_definition(
    metric: Metric, docs: dict[str, list[int]], asked: list[list[int]], limit: int
) -> None:
    """Equal scores by id, descending, across the cut too, and in blocks of any size."""
    searcher = Dense(_frame(docs), encode=lambda _: asked, metric=metric)
    texts = ["?"] * len(asked)
    expected = [best_of({doc: _score(vector, one, metric) for doc, vector in docs.items()}, limit) for one in asked]
    assert expected == searcher.search(texts, limit)
    for n_docs, n_queries in ((1, 1), (3, 2), (5, 100)):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(dense, "_DOCUMENTS", n_docs)
            patch.setattr(dense, "_QUERIES", n_queries)
            assert expected == searcher.search(texts, limit)
    if limit > 1:
        assert [hits[: limit - 1] for hits in expected] == searcher.search(texts, limit - 1)


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("scale", [1.0, 1e-30, 1e30])
def test_products_in_float32_do_not_decide(metric: Metric, scale: float) -> None:
    """Vectors that differ less than Float32 can tell in a product, and pairs of equal ones."""
    random = np.random.default_rng(5)
    near = random.standard_normal(100) + 1e-6 * random.standard_normal((300, 100))
    docs = (np.concatenate([near, near, random.standard_normal((500, 100))]) * scale).astype(np.float32)
    order = random.permutation(len(docs))
    ids = [f"d{number:04}" for number in range(len(docs))]
    asked = random.standard_normal((7, 100)).astype(np.float32)
    asked[0] = near[0]
    exact = docs.astype(np.float64)
    products = exact @ asked.T.astype(np.float64)
    if metric == "cosine":
        lengths = np.linalg.norm(exact, axis=1)[:, None] * np.linalg.norm(asked.astype(np.float64), axis=1)
        products = np.round(products / lengths, 12)
    frame = pl.DataFrame({"doc_id": [ids[row] for row in order], "vector": docs[order]})
    searcher = Dense(frame, encode=lambda _: asked, metric=metric)
    found = searcher.search(["?"] * 7, limit=250)
    for hits, scores in zip(found, products.T, strict=True):
        values = dict(zip(ids, scores.tolist(), strict=True))
        assert [score for _, score in hits] == pytest.approx([s for _, s in best_of(values, 250)], rel=1e-12)
        assert hits == best_of(dict(hits), 250)
        least = hits[-1][1]
        margin = abs(least) * 1e-12
        assert {doc for doc, score in values.items() if score > least + margin} <= {doc for doc, _ in hits}
    if scale == 1:
        rough = (docs @ asked[0])[:300]
        assert np.argsort(rough).tolist() != np.argsort(products[:300, 0]).tolist()
    for n_docs, n_queries in ((1, 3), (64, 1), (999, 2)):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(dense, "_DOCUMENTS", n_docs)
            patch.setattr(dense, "_QUERIES", n_queries)
            assert found == searcher.search(["?"] * 7, limit=250)


def test_the_committed_run_is_reproduced() -> None:
    queries = rf.read_queries(HANDBOOK)
    stored = HANDBOOK / "vectors"
    searcher = Dense(stored / "corpus.parquet", queries=str(stored / "queries.parquet"))
    found = searcher.search(queries["text"].to_list(), limit=20, query_ids=queries["query_id"].to_list())
    assert handbook_run("dense") == rows(queries, found)


def test_a_query_finds_its_vector_by_its_id() -> None:
    searcher = Dense(DOCS, queries=ASKED)
    found = searcher.search(["?", "?", "?"], query_ids=["q2", "q1", "q2"])
    assert found[1] == [("d2", 0.8), ("d3", 0.0), ("d1", 0.0)]
    assert found[0] == found[2] == [("d3", 0.0), ("d2", -0.6), ("d1", -1.0)]
    assert all(math.copysign(1, score) == 1 for _, score in found[1])
    assert Dense(DOCS, queries=ASKED, metric="dot").search(["?"], 2, ["q1"]) == [[("d2", 8.0), ("d3", 0.0)]]
    numbered = pl.DataFrame({"qid": [7], "vector": [[1, 1]]})
    assert Dense(DOCS, queries=numbered).search(["?"], 1, [7]) == [[("d2", 0.989949493661)]]  # type: ignore[list-item]


def test_an_encoder_is_asked_once_for_all_texts() -> None:
    asked = []

    def encode(texts: list[str]) -> list[list[int]]:
        asked.append(texts)
        return [[len(text), 0] for text in texts]

    searcher = Dense(DOCS, encode=encode, metric="dot")
    assert searcher.search(["ab", ""], limit=1) == [[("d2", 6.0)], [("d3", 0.0)]]
    assert searcher.search([]) == []
    assert asked == [["ab", ""]]
    assert Dense(DOCS, encode=lambda texts: np.full((len(texts), 2), 0.5, np.float16)).search(["?"])[0][0][0] == "d2"


@pytest.mark.parametrize(
    "dtype", [pl.List(pl.Float64), pl.List(pl.Int8), pl.Array(pl.Float32, 2), pl.List(pl.Decimal(9, 2))]
)
def test_vectors_may_be_lists_or_arrays_of_any_number(dtype: Any, tmp_path: Path) -> None:
    expected = Dense(DOCS, queries=ASKED).search(["?"], query_ids=["q1"])
    frame = DOCS.select(pl.col("doc_id").alias("_id"), pl.col("vector").cast(dtype), more=pl.lit(1))
    frame.write_parquet(tmp_path / "docs.parquet")
    (tmp_path / "shards").mkdir()
    frame[:1].write_parquet(tmp_path / "shards" / "0.parquet")
    frame[1:].write_parquet(tmp_path / "shards" / "1.parquet")
    for source in (
        frame,
        frame.lazy(),
        frame.to_arrow(),
        tmp_path / "docs.parquet",
        str(tmp_path / "shards"),
        pl.concat([frame[:1], frame[1:]], rechunk=False),
        pl.concat([frame, frame])[2:5],
    ):
        assert expected == Dense(source, queries=ASKED).search(["?"], query_ids=["q1"])
    assert expected == Dense(DOCS.to_dicts(), queries=ASKED.to_dicts()).search(["?"], query_ids=["q1"])


def test_without_documents_nothing_is_found() -> None:
    for frame in (DOCS.clear(), DOCS.clear().cast({"vector": pl.Array(pl.Float32, 2)}), DOCS.select("doc_id").clear()):
        none = frame if "vector" in frame.columns else frame.with_columns(vector=None)
        searcher = Dense(none, queries=ASKED)
        assert searcher.search(["?", "?"], query_ids=["q1", "q2"]) == [[], []]
        assert (searcher.n_docs, searcher.dim) == (0, None)
    assert Dense(DOCS.clear(), encode=lambda _: None).search(["?"]) == [[]]
    assert Dense(DOCS, queries=ASKED.clear()).search([], query_ids=[]) == []


def test_threads_may_share_an_index() -> None:
    random = np.random.default_rng(1)
    docs = pl.DataFrame({"doc_id": [f"d{number}" for number in range(200)], "vector": random.standard_normal((200, 8))})
    check_threads(Dense(docs, encode=lambda texts: [[len(text)] * 8 for text in texts]), ["a", "", "abc"])


def test_it_tells_itself() -> None:
    assert repr(Dense(DOCS, queries=ASKED)) == "Dense(3 documents, dim=2, metric='cosine', vectors of 2 queries)"
    told = "Dense(3 documents, dim=2, metric='dot', vectors of encode)"
    assert told == repr(Dense(DOCS, encode=lambda _: [], metric="dot"))


def test_what_a_search_refuses() -> None:
    check_what_is_refused(lambda: Dense(DOCS, encode=lambda texts: [[1, 1] for _ in texts]))
    searcher = Dense(DOCS, queries=ASKED)
    with pytest.raises(DataError, match="query_ids= is needed where queries have stored vectors"):
        searcher.search(["?"])
    with pytest.raises(DataError, match=r"query_ids= is needed .* a list with the id of each query"):
        searcher.search(["?", "?"], query_ids="q1")
    with pytest.raises(DataError, match="query_ids= has 1 id for 2 queries"):
        searcher.search(["?", "?"], query_ids=["q1"])
    with pytest.raises(
        DataError, match="queries: no vector for 2 queries: 'q7', 'q8'; there are 2, such as 'q1', 'q2'"
    ):
        searcher.search(["?", "?", "?"], query_ids=["q7", "q1", "q8"])


@pytest.mark.parametrize(
    ("made", "told"),
    [
        (
            [[1.0, 2.0]],
            r"encode= gave float64 of the shape \(1, 2\); expected .* of the shape \(2, 2\), a row for each",
        ),
        ([1.0, 2.0], r"float64 of the shape \(2,\)"),
        (np.ones((2, 3)), r"float64 of the shape \(2, 3\)"),
        ([[1.0], [1.0, 2.0]], "encode= gave no matrix .*inhomogeneous.*expected a matrix"),
        ([["a", "b"], ["c", "d"]], r"encode= gave <U1 of the shape \(2, 2\); expected a matrix of numbers"),
        (None, r"encode= gave object of the shape \(\); expected"),
        ([[1.0, 2.0], [math.nan, 1.0]], "encode= gave NaN, infinity or numbers beyond Float32 for 1 query: 'two'"),
        ([[1e300, 2.0], [1.0, 1.0]], "beyond Float32 for 1 query: 'one'"),
    ],
)
def test_an_encoder_that_gives_no_vectors_is_refused(made: Any, told: str) -> None:
    with pytest.raises(DataError, match=told):
        Dense(DOCS, encode=lambda _: made).search(["one", "two"])


def test_what_an_encoder_raises_is_its_own() -> None:
    def encode(_: list[str]) -> None:
        raise ValueError("out of tokens")

    with pytest.raises(ValueError, match=r"^out of tokens$"):
        Dense(DOCS, encode=encode).search(["one"])


def _docs(*values: Any, dtype: Any = None) -> pl.DataFrame:
    ids = [f"d{number}" for number in range(1, len(values) + 1)]
    return pl.DataFrame([pl.Series("doc_id", ids), pl.Series("vector", values, dtype=dtype, strict=False)])


@pytest.mark.parametrize(
    ("docs", "told"),
    [
        (_docs([1.0], None, [2.0], None), "documents: 2 vectors null: d2, d4"),
        (_docs([1.0, 2.0], [1.0, None]), "documents: 1 vector with a number that is null, NaN, infinite .*: d2$"),
        (_docs([1.0, math.inf], [1.0, math.nan], [1.0, 1.0]), "2 vectors with a number that is .*: d1, d2$"),
        (_docs([1.0], *[[1e39]] * 7), "7 vectors with .* beyond Float32: d2, d3, d4, d5, d6 and 2 more"),
        (_docs([1.0, 2.0], [1.0], [2.0, 2.0], []), r"2 vectors not of 2 numbers like the others: d2 \(1\), d4 \(0\)"),
        (_docs([], [], dtype=pl.List(pl.Float32)), "documents: the vectors are empty"),
        (_docs("[1, 2]"), r"documents: 'vector' is String; expected a List or Array of numbers"),
        (_docs(["1"]), r"'vector' is List\(String\); expected"),
        (_docs([True]), r"'vector' is List\(Boolean\); expected"),
        (_docs([[1.0]]), r"'vector' is List\(List\(Float64\)\); expected"),
        (_docs(None, None), "documents: 2 vectors null: d1, d2"),
        (_docs([None]), "1 vector with a number that is null"),
        (DOCS.drop("vector"), "documents: no column 'vector' among 'doc_id'; a List or Array of numbers is expected"),
        (DOCS.drop("doc_id"), "documents: no column 'doc_id' for vectors of documents among 'vector'"),
        (pl.concat([DOCS, DOCS[:1]]), "documents: 1 doc_id more than once: 'd1'"),
        (DOCS.with_columns(doc_id=pl.lit(None, pl.String)), "documents: 3 records without doc_id: record 1"),
        ({"d1": [1.0]}, "documents: a dict holds no table; expected a frame with doc_id and vector, or a path to"),
        (DOCS.lazy().with_columns(pl.col("vector").list.get(9)), "'vector' is Float64|cannot be read as a table"),
    ],
)
def test_what_is_no_vector_is_refused_by_name(docs: Any, told: str) -> None:
    with pytest.raises(DataError, match=told):
        Dense(docs, queries=ASKED)


def test_paths_that_hold_no_vectors_are_refused(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="no such file or folder"):
        Dense(tmp_path / "nowhere.parquet", queries=ASKED)
    with pytest.raises(DataError, match=r"corpus\.jsonl: vectors are read from Parquet; anything else as a frame"):
        Dense(HANDBOOK / "corpus.jsonl", queries=ASKED)
    (tmp_path / "no.parquet").write_text("no")
    with pytest.raises(DataError, match=r"no\.parquet: cannot be read as"):
        Dense(tmp_path / "no.parquet", queries=ASKED)


def test_what_the_arguments_may_not_be() -> None:
    with pytest.raises(DataError, match="from encode=, a function of their texts; neither was given"):
        Dense(DOCS)
    with pytest.raises(DataError, match="from encode=, a function of their texts; both was given"):
        Dense(DOCS, queries=ASKED, encode=lambda _: [])
    with pytest.raises(DataError, match="encode= is a function from a list of texts to a matrix, got a str"):
        Dense(DOCS, encode="model")  # type: ignore[arg-type]
    with pytest.raises(DataError, match="metric='l2' is unknown; valid: 'cosine', 'dot'"):
        Dense(DOCS, queries=ASKED, metric="l2")  # type: ignore[arg-type]
    with pytest.raises(DataError, match="queries: vectors of 1 number, and of 2 in documents; both must come from one"):
        Dense(DOCS, queries=[{"query_id": "q1", "vector": [1.0]}])
    with pytest.raises(DataError, match="queries: 1 query_id more than once: 'q1'"):
        Dense(DOCS, queries=pl.concat([ASKED, ASKED[:1]]))
