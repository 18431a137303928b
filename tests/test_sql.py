"""The SQL statements, run by DuckDB over Parquet files: ranks, and what must not be there."""

from __future__ import annotations

import math
import tempfile
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

import rankframe as rf
from rankframe import sql
from rankframe.frames.ledger import REASONS

duckdb = pytest.importorskip("duckdb", reason="DuckDB, which runs the statements, is not installed")

HANDBOOK = Path(__file__).parent.parent / "data" / "handbook"
METRICS = ["ndcg@10", "ndcg(gain=exponential)@3", "recall@5", "mrr@10", "map", "precision@10", "judged@10", "bpref"]
RUN = pl.Schema({"query_id": pl.String, "doc_id": pl.String, "score": pl.Float64})
QRELS = pl.Schema({"query_id": pl.String, "doc_id": pl.String, "relevance": pl.Float64})
TIED = {"query_id": ["q1", "q1", "q1"], "doc_id": ["d9", "d10", "é"], "score": [1.0, 1.0, 1.0]}
JUDGED = {"query_id": ["q1", "q1", "q2"], "doc_id": ["d10", "é", "d1"], "relevance": [1.0, 0.0, 2.0]}

IDS = st.sampled_from(
    ["d", "d1", "d10", "D1", "0042", "42", "é", "e\u0301", "🦊", "\uffff", "a,b", "a'b", "a\nb", " ", ""]
)
QUERIES = st.sampled_from(["q1", "q2", "Q1", "007", "ß"])
SCORES = st.sampled_from([0.0, -0.0, 1.0, 2.0, 1e-300, math.inf, -math.inf])
GRADES = st.sampled_from([-1.0, 0.0, 0.5, 1.0, 2.0])
PAIRS = st.tuples(QUERIES, IDS)
RUNS = st.dictionaries(PAIRS, SCORES, max_size=25)
JUDGMENTS = st.dictionaries(PAIRS, GRADES, max_size=12)

Pairs = Mapping[tuple[str, str], float]
Rows = list[tuple[Any, ...]]


def table(pairs: Pairs, schema: pl.Schema) -> pl.DataFrame:
    return pl.DataFrame([(*pair, number) for pair, number in pairs.items()], schema=schema, orient="row")


def asked(statement: str) -> pl.DataFrame:
    """What DuckDB answers."""
    with duckdb.connect() as connection:
        answer: pl.DataFrame = connection.sql(statement).pl()
    return answer


def over_parquet(statement: Any, run: pl.DataFrame, qrels: pl.DataFrame, **options: Any) -> pl.DataFrame:
    """What DuckDB answers where the run lies in two Parquet files and the judgments in one."""
    with tempfile.TemporaryDirectory() as folder:
        for part, rows in enumerate((run[::2], run[1::2])):
            rows.write_parquet(f"{folder}/run-{part}.parquet")
        qrels.write_parquet(f"{folder}/qrels.parquet")
        tables = {"run": f"read_parquet('{folder}/run-*.parquet')", "qrels": f"read_parquet('{folder}/qrels.parquet')"}
        return asked(statement(**tables, **options))


def judged(run: pl.DataFrame, qrels: pl.DataFrame, **options: Any) -> pl.DataFrame:
    return over_parquet(sql.judged_ranking, run, qrels, **options)


def found(run: pl.DataFrame, qrels: pl.DataFrame, **options: Any) -> Rows:
    return over_parquet(sql.problems, run, qrels, **options).rows()


def by_definition(run: Pairs, judgments: Pairs) -> Rows:
    """The judged ranking in plain Python."""
    rows = []
    for (query, doc), relevance in judgments.items():
        ranking = sorted((d for q, d in run if q == query), key=lambda d: (run[query, d], d.encode()), reverse=True)
        ideal = sorted((d for q, d in judgments if q == query), key=lambda d: (-judgments[query, d], d.encode()))
        rank = ranking.index(doc) + 1 if doc in ranking else None
        rows.append((query, doc, relevance, rank, ideal.index(doc) + 1, len(ranking)))
    return sorted(rows)


def same_reports(ours: rf.Report, direct: rf.Report) -> None:
    """Scores, their order, statuses and counts; and of the ledger what the judgments' rows can say."""
    assert_frame_equal(ours.scores, direct.scores, rel_tol=0, abs_tol=1e-12)
    assert_frame_equal(ours.summary, direct.summary, rel_tol=0, abs_tol=1e-12)
    known = pl.col("reason").is_in(["missing_query", "no_relevant"])
    assert_frame_equal(ours.ledger.filter(known), direct.ledger.filter(known))


def made_at_random(seed: int) -> tuple[dict[str, pl.DataFrame], pl.DataFrame]:
    """Two runs and judgments: many ties, ids of every alphabet, queries that only one side has, negative grades."""
    rng = np.random.default_rng(seed)
    docs = np.array([f"{letter}{number}" for letter in ["d", "D", "é", "ж", "文", "🦊"] for number in range(40)])
    queries = np.array([f"{letter}{number}" for letter in ["q", "Ü", "質"] for number in range(20)])
    runs = {
        name: pl.concat(
            pl.DataFrame({"query_id": query, "doc_id": chosen, "score": rng.integers(0, 8, len(chosen)) / 4})
            for query in rng.choice(queries, 50, replace=False)
            for chosen in [rng.choice(docs, rng.integers(1, 150), replace=False)]
        ).sample(fraction=1, shuffle=True, seed=seed)
        for name in ("first", "second")
    }
    qrels = pl.concat(
        pl.DataFrame({"query_id": query, "doc_id": chosen, "relevance": rng.integers(-1, 4, len(chosen)).astype(float)})
        for query in rng.choice(queries, 45, replace=False)
        for chosen in [rng.choice(docs, rng.integers(1, 30), replace=False)]
    )
    return runs, qrels


def stacked(runs: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
    columns = ["query_id", "doc_id", "score"]
    return pl.concat(run.select(pl.lit(name).alias("run_id"), *columns) for name, run in runs.items())


def handbook() -> tuple[dict[str, pl.DataFrame], pl.DataFrame]:
    runs = {path.stem: rf.read_run(path) for path in sorted((HANDBOOK / "runs").glob("*.trec"))}
    assert len(runs) == 4
    return runs, rf.read_qrels(HANDBOOK / "qrels" / "test.tsv")


# The judged ranking.


def test_columns_are_those_of_a_judged_ranking() -> None:
    frame = judged(pl.DataFrame(TIED), pl.DataFrame(JUDGED))
    assert frame.schema == QRELS | {"rank": pl.Int64, "ideal_rank": pl.Int64, "n_ret": pl.Int64}
    assert frame.sort("query_id", "doc_id").rows() == [
        ("q1", "d10", 1.0, 3, 1, 3),
        ("q1", "é", 0.0, 1, 2, 3),
        ("q2", "d1", 2.0, None, 1, 0),
    ]


@given(run=RUNS, judgments=JUDGMENTS)
def test_ranks_are_those_of_the_definition(run: Pairs, judgments: Pairs) -> None:
    frame = judged(table(run, RUN), table(judgments, QRELS))
    assert sorted(frame.rows()) == by_definition(run, judgments)


@given(runs=st.dictionaries(st.sampled_from(["a", "b", "B"]), RUNS, min_size=1), judgments=JUDGMENTS)
def test_every_run_gets_every_judgment(runs: dict[str, Pairs], judgments: Pairs) -> None:
    frame = judged(stacked({name: table(run, RUN) for name, run in runs.items()}), table(judgments, QRELS), run_id=True)
    there = {name: run for name, run in runs.items() if run}
    expected = [(name, *row) for name, run in there.items() for row in by_definition(run, judgments)]
    assert sorted(frame.rows()) == sorted(expected)


def test_a_run_of_unjudged_queries_misses_every_judgment() -> None:
    elsewhere = pl.DataFrame({"query_id": ["q9"], "doc_id": ["d1"], "score": [1.0]})
    frame = judged(stacked({"a": pl.DataFrame(TIED), "b": elsewhere}), pl.DataFrame(JUDGED), run_id=True)
    assert frame.filter(run_id="b").select("rank", "n_ret").rows() == [(None, 0)] * 3


@pytest.mark.parametrize("dtype", [pl.Float32, pl.Int8, pl.Int64, pl.UInt8, pl.UInt64, pl.Decimal(6, 2)], ids=str)
def test_numbers_of_every_type_are_ordered_as_numbers(dtype: pl.DataType) -> None:
    run = pl.DataFrame({"query_id": "q", "doc_id": ["a", "b", "c"], "score": pl.Series([9, 10, 10], dtype=dtype)})
    qrels = pl.DataFrame({"query_id": "q", "doc_id": ["a", "b", "c"], "relevance": pl.Series([2, 10, 9], dtype=dtype)})
    frame = judged(run, qrels).sort("doc_id")
    assert frame["rank"].to_list() == [3, 2, 1]
    assert frame["ideal_rank"].to_list() == [3, 1, 2]
    assert found(run, qrels) == []


@pytest.mark.parametrize("dtype", ["ENUM ('9', '10')", "BIGINT", "VARCHAR"])
def test_ids_of_every_type_are_ordered_as_text(dtype: str) -> None:
    """As in memory: 10 before 9, and not as an ENUM or numbers have them."""
    values = f"(SELECT 'q' AS query_id, unnest(['9', '10'])::{dtype} AS doc_id, 1 AS score)"
    grades = f"(SELECT 'q' AS query_id, unnest(['9', '10'])::{dtype} AS doc_id, 1 AS relevance)"
    with duckdb.connect() as connection:
        frame = connection.sql(sql.judged_ranking(run=values, qrels=grades)).pl()
    told = frame.select(pl.col("doc_id").cast(pl.String), "rank", "ideal_rank").sort("rank")
    assert told.rows() == [("9", 1, 2), ("10", 2, 1)]
    assert rf.evaluate_ranking(frame, metrics="mrr").value("mrr") == 1.0


@pytest.mark.parametrize("number", ["score", "relevance"])
@pytest.mark.parametrize("statement", [sql.judged_ranking, sql.problems])
def test_text_is_not_ordered_in_place_of_numbers(statement: Any, number: str) -> None:
    run, qrels = (
        frame.cast({number: pl.String}, strict=False) if number in frame.columns else frame
        for frame in (pl.DataFrame(TIED), pl.DataFrame(JUDGED))
    )
    with pytest.raises(duckdb.BinderException, match=r"VARCHAR"):
        over_parquet(statement, run, qrels)


@pytest.mark.parametrize("run_id", [False, True])
@pytest.mark.parametrize("statement", [sql.judged_ranking, sql.problems])
def test_it_is_one_statement(statement: Any, *, run_id: bool) -> None:
    with duckdb.connect() as connection:
        assert len(connection.extract_statements(statement(run_id=run_id))) == 1


def test_a_collation_is_written_where_ids_are_ordered() -> None:
    run = "(VALUES ('q', 'B', 1.0), ('q', 'a', 1.0)) t(query_id, doc_id, score)"
    with duckdb.connect() as connection:
        connection.sql(f"CREATE TABLE run AS SELECT * FROM {run}")
        connection.sql("CREATE TABLE qrels AS SELECT query_id, doc_id, 1 AS relevance FROM run")
        connection.sql("SET default_collation = 'nocase'")
        ranks = {
            collate: connection.sql(sql.judged_ranking(collate=collate)).pl().sort("rank")["doc_id"].to_list()
            for collate in (None, '"C"')
        }
    assert ranks == {None: ["B", "a"], '"C"': ["a", "B"]}


# What is given as a table.


@pytest.mark.parametrize(
    ("run", "qrels"),
    [
        ("run", "qrels"),
        ('"run"', "main.qrels"),
        ("best", " qrels\n"),
        ("(SELECT qid AS query_id, id AS doc_id, -distance AS score FROM hits)", "(SELECT * FROM qrels)"),
        ("(WITH x AS (SELECT * FROM run) SELECT * FROM x)", "(SELECT *, 'a;b' AS note FROM qrels)"),
    ],
)
def test_a_table_a_view_or_a_query_stands_for_the_run(run: str, qrels: str) -> None:
    with duckdb.connect() as connection:
        connection.register("run", pl.DataFrame(TIED).to_arrow())
        connection.sql("CREATE TABLE qrels (query_id TEXT, doc_id TEXT, relevance DOUBLE)")
        connection.executemany("INSERT INTO qrels VALUES (?, ?, ?)", list(pl.DataFrame(JUDGED).iter_rows()))
        connection.sql("CREATE TEMP VIEW best AS SELECT * FROM run")
        connection.sql("CREATE TEMP VIEW hits AS SELECT query_id AS qid, doc_id AS id, -score AS distance FROM run")
        frame = connection.sql(sql.judged_ranking(run=run, qrels=qrels)).pl()
        assert connection.sql(sql.problems(run=run, qrels=qrels)).pl().is_empty()
    assert_frame_equal(frame, judged(pl.DataFrame(TIED), pl.DataFrame(JUDGED)), check_row_order=False)


@pytest.mark.parametrize("statement", [sql.judged_ranking, sql.problems])
@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("run", "", r"run='' is no text of SQL; expected the name of a table, .*read_parquet\('run/\*\.parquet'\)"),
        ("qrels", " \n", r"qrels=' \\n' is no text of SQL"),
        ("run", None, r"run=a NoneType is no text of SQL"),
        ("run", Path("run.parquet"), r"run=a \w*Path is no text of SQL"),
        ("run", pl.DataFrame({"query_id": ["q"] * 99}), r"run=a DataFrame is no text of SQL; expected the name"),
        ("qrels", "qrels; DROP TABLE qrels", r"has a semicolon, where the statement would end"),
        ("run", "run;", r"run='run;' has a semicolon"),
        ("run", "it's;", r"has a semicolon"),
        ("run", "select * FROM r", r"is a query; put it in parentheses: run='\(select \* FROM r\)'"),
        ("qrels", "\nWITH x AS (SELECT 1) SELECT * FROM x", r"is a query; put it in parentheses"),
    ],
)
def test_what_can_be_no_table_is_refused(statement: Any, name: str, text: Any, message: str) -> None:
    with pytest.raises(rf.DataError, match=message):
        statement(**{name: text})


def test_a_collation_that_ends_the_statement_is_refused() -> None:
    with pytest.raises(rf.DataError, match=r"collate='C;' has a semicolon"):
        sql.judged_ranking(collate="C;")


# What must not be there.


ODD_RUN: Rows = [
    ("q1", "d1", 1.0),
    ("q1", "d1", 2.0),
    ("q1", "d1", 3.0),
    ("q7", "unjudged", 1.0),
    ("q7", "unjudged", 1.0),
    (None, "d1", 1.0),
    ("q1", None, 1.0),
    ("q2", "d2", None),
    ("q2", "d2", math.nan),
    ("q2", "d2", math.inf),
    ("q2", "d3", -math.inf),
]
ODD_QRELS: Rows = [
    ("q1", "d1", 1.0),
    ("q1", "d1", 2.0),
    ("q1", "d1", 1.0),
    ("q2", "d2", 0.0),
    ("q2", "d2", -0.0),
    ("q3", "d3", 1.0),
    (None, "d3", 1.0),
    ("q3", None, 1.0),
    ("q3", "d3", None),
    ("q3", "d3", math.nan),
    ("q3", "d3", math.inf),
]


def test_problems_are_counted_by_kind_with_an_example() -> None:
    rows = found(pl.DataFrame(ODD_RUN, RUN, orient="row"), pl.DataFrame(ODD_QRELS, QRELS, orient="row"))
    assert [row[:3] for row in rows] == [
        ("qrels", "conflicting_judgment", 1),
        ("qrels", "invalid", 5),
        ("qrels", "repeated_judgment", 1),
        ("run", "duplicate", 3),
        ("run", "invalid", 4),
    ]
    examples = {row[:2]: row[3:] for row in rows}
    assert examples["qrels", "conflicting_judgment"] == ("q1", "d1")
    assert examples["qrels", "repeated_judgment"] == ("q2", "d2")
    assert examples["run", "duplicate"] == ("q1", "d1")
    assert examples["run", "invalid"] in [row[:2] for row in ODD_RUN[5:9]]
    assert {reason for _, reason, *_ in rows} <= set(REASONS)


@pytest.mark.parametrize("row", ODD_RUN[5:9])
def test_each_kind_of_bad_row_is_found_alone(row: tuple[Any, ...]) -> None:
    run = pl.DataFrame([("q1", "d1", 1.0), row], RUN, orient="row")
    assert found(run, pl.DataFrame(JUDGED)) == [("run", "invalid", 1, *row[:2])]


@pytest.mark.parametrize("row", ODD_QRELS[6:])
def test_each_kind_of_bad_judgment_is_found_alone(row: tuple[Any, ...]) -> None:
    qrels = pl.DataFrame([("q1", "d1", 1.0), row], QRELS, orient="row")
    assert found(pl.DataFrame(TIED), qrels) == [("qrels", "invalid", 1, *row[:2])]


def test_grades_that_are_none_are_not_compared() -> None:
    repeated = pl.DataFrame([("q1", "d1", grade) for grade in (1.0, 1.0, math.inf, None)], QRELS, orient="row")
    assert found(pl.DataFrame(TIED), repeated) == [
        ("qrels", "invalid", 2, "q1", "d1"),
        ("qrels", "repeated_judgment", 1, "q1", "d1"),
    ]


@pytest.mark.parametrize("writer", ["polars", "pyarrow", "duckdb"])
@pytest.mark.parametrize("others", [[], [1.0], [1.0, 1.0], [-5.0, -1.0], [0.0, 2.0], [math.inf, -math.inf]])
@pytest.mark.parametrize("nan", [math.nan, -math.nan], ids=["nan", "-nan"])
def test_nan_is_found_where_statistics_leave_it_out(
    nan: float, others: list[float], writer: str, tmp_path: Path
) -> None:
    numbers = [*others, nan]
    frame = pl.DataFrame({"query_id": "q", "doc_id": [f"d{place}" for place in range(len(numbers))], "score": numbers})
    path, grades = (
        tmp_path / "run.parquet",
        f"(SELECT query_id, doc_id, score AS relevance FROM '{tmp_path}/run.parquet')",
    )
    if writer == "polars":
        frame.write_parquet(path)
    elif writer == "pyarrow":
        pq.write_table(frame.to_arrow(), path)
    else:
        with duckdb.connect() as connection:
            connection.register("frame", frame.to_arrow())
            connection.sql(f"COPY frame TO '{path}' (FORMAT parquet)")
    rows = asked(sql.problems(run=f"'{path}'", qrels=grades)).rows()
    infinite = sum(map(math.isinf, others))
    assert [row[:3] for row in rows] == [("qrels", "invalid", 1 + infinite), ("run", "invalid", 1)]
    assert rows[1][3:] == ("q", f"d{len(others)}")


def test_nothing_odd_gives_no_rows() -> None:
    runs, qrels = handbook()
    assert found(stacked(runs), qrels, run_id=True) == []
    assert found(pl.DataFrame(schema=RUN), pl.DataFrame(schema=QRELS)) == []


def test_pairs_repeat_within_a_run_and_not_across_runs() -> None:
    run = pl.DataFrame(TIED)
    assert found(stacked({"a": run, "b": run}), pl.DataFrame(JUDGED), run_id=True) == []
    twice = pl.concat([stacked({"a": run, "b": pl.concat([run, run[:1]])}), stacked({"a": run[:1]})[:0]])
    assert found(twice, pl.DataFrame(JUDGED), run_id=True) == [("b", "run", "duplicate", 1, "q1", "d9")]
    unnamed = twice.with_columns(run_id=pl.when(pl.col("run_id") == "a").then("run_id"))
    assert [row[1:4] for row in found(unnamed, pl.DataFrame(JUDGED), run_id=True)] == [("run", "invalid", 4)]


NULLABLE = st.tuples(st.none() | QUERIES, st.none() | IDS, st.none() | st.just(math.nan) | SCORES)


@given(
    run=st.lists(NULLABLE, max_size=30),
    qrels=st.lists(st.tuples(QUERIES, st.none() | IDS, st.none() | SCORES | GRADES), max_size=20),
)
def test_problems_count_as_check_counts(run: Rows, qrels: Rows) -> None:
    first = ("q0", "d0", 1.0)  # check refuses judgments without any usable row
    frames = pl.DataFrame([first, *run], RUN, orient="row"), pl.DataFrame([first, *qrels], QRELS, orient="row")
    reasons = ["invalid", "duplicate", "conflicting_judgment", "repeated_judgment"]
    checked = rf.check(*frames).filter(pl.col("reason").is_in(reasons)).select("run_id", "reason", "count")
    counts = Counter({("qrels" if run is None else "run", reason): n for run, reason, n in checked.iter_rows()})
    assert {row[:2]: row[2] for row in found(*frames)} == counts


# From the statement to a report.


def test_the_handbook_scores_as_it_does_directly() -> None:
    runs, qrels = handbook()
    direct = rf.evaluate(runs, qrels, metrics=METRICS)
    same_reports(rf.evaluate_ranking(judged(stacked(runs), qrels, run_id=True), metrics=METRICS), direct)


def test_one_run_scores_as_it_does_directly() -> None:
    runs, qrels = handbook()
    ours = rf.evaluate_ranking(judged(runs["bm25"], qrels), metrics=METRICS)
    same_reports(ours, rf.evaluate(runs["bm25"].drop("run_id", strict=False), qrels, metrics=METRICS))


@pytest.mark.parametrize("convention", ["documented", "trec_eval"])
@pytest.mark.parametrize("seed", range(3))
def test_random_runs_score_as_they_do_directly(seed: int, convention: str) -> None:
    runs, qrels = made_at_random(seed)
    direct = rf.evaluate(runs, qrels, metrics=METRICS, convention=convention)
    assert {"ok", "missing", "no_relevant"} <= set(direct.scores["status"])
    table = judged(stacked(runs), qrels, run_id=True)
    same_reports(rf.evaluate_ranking(table, metrics=METRICS, convention=convention), direct)


def test_a_judged_document_that_stands_twice_is_refused() -> None:
    twice = pl.concat([pl.DataFrame(TIED), pl.DataFrame(TIED)[1:2]])
    with pytest.raises(rf.DataError, match=r"d10"):
        rf.evaluate_ranking(judged(twice, pl.DataFrame(JUDGED)))


def test_an_unjudged_document_that_stands_twice_is_a_problem() -> None:
    twice = pl.concat([pl.DataFrame(TIED), pl.DataFrame(TIED)[:1]])
    assert found(twice, pl.DataFrame(JUDGED)) == [("run", "duplicate", 1, "q1", "d9")]


def test_queries_in_place_of_tables_resolve_what_stands_twice() -> None:
    run = pl.concat([pl.DataFrame(TIED), pl.DataFrame(TIED).with_columns(score=0.5)])
    qrels = pl.concat([pl.DataFrame(JUDGED), pl.DataFrame(JUDGED)])
    with duckdb.connect() as connection:
        connection.register("run", run.to_arrow())
        connection.register("qrels", qrels.to_arrow())
        best = "(SELECT query_id, doc_id, MAX(score) AS score FROM run GROUP BY query_id, doc_id)"
        once = "(SELECT DISTINCT query_id, doc_id, relevance FROM qrels)"
        assert connection.sql(sql.problems(run=best, qrels=once)).pl().is_empty()
        table = connection.sql(sql.judged_ranking(run=best, qrels=once)).pl()
    direct = rf.evaluate(run, qrels, metrics=METRICS, duplicates="best")
    same_reports(rf.evaluate_ranking(table, metrics=METRICS), direct)
