"""The judged ranking as one SQL statement, for runs that live in a warehouse.

The engine finds the ranks, where the rows of the run already are; what comes back has one row per judgment, whatever
the size of the run, and goes to `evaluate_ranking`. This module only writes text: it connects to nothing.

In DuckDB, over Parquet files:

    import duckdb
    import rankframe as rf

    run, qrels = "read_parquet('run/*.parquet')", "read_parquet('qrels.parquet')"
    odd = duckdb.sql(rf.sql.problems(run=run, qrels=qrels)).pl()  # no rows: nothing is odd
    judged = duckdb.sql(rf.sql.judged_ranking(run=run, qrels=qrels)).pl()
    report = rf.evaluate_ranking(judged, metrics=["ndcg@10", "recall@100"])
"""

from __future__ import annotations

import re

from rankframe.errors import DataError

_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"|`[^`]*`")
_NAN = "'nan', '-nan'"  # as engines write it, in small letters
_INFINITE = "'inf', '-inf', 'infinity', '-infinity'"


def judged_ranking(*, run: str = "run", qrels: str = "qrels", run_id: bool = False, collate: str | None = None) -> str:
    """The statement that gives the judged ranking: one row per judgment, with the rank at which the run has it.

    To the judgments and their ideal ranks it joins the ranks of the run's documents, found for judged queries only, and
    how many documents the run has for each query. These are left joins, so that a judged query without a row in the run
    stays, with `n_ret` 0.

    It is standard SQL (SQL:2003, with window functions) and tested in DuckDB and Spark. PostgreSQL 15 (with `collate`)
    gave the same rows when it was tried. What is said of other engines is not tried:

    - Equal scores are ordered by document id, descending, by bytes. So compare DuckDB, Snowflake, BigQuery and Spark
      unless a column or the session has another collation. PostgreSQL compares by its locale: give `collate='"C"'`.
      MySQL and SQL Server do not take the statement as it is (`rank` is reserved in one, USING unknown to the other).
    - Null scores come first in PostgreSQL and Snowflake, last in DuckDB, BigQuery and Spark; NaN comes first, but last
      in BigQuery. Neither has a place in a run, and no engine complains: ask `problems` first. Only that statement
      sees a document that is repeated and not judged, too, which pushes down those below it.
    - Ids are ordered as text, whatever their type: `|| ''` makes text of numbers (10 before 9), of ENUM and of
      dictionaries, and engines that cannot refuse them. They must be of one type in both tables. Scores and grades must
      be numbers: `+ 0` makes engines refuse text (Snowflake and Spark read numbers from it), and -0.0 the same as 0.0.
    - Snowflake gives column names in capitals: `judged.rename(str.lower)` has them right.

    Args:
        run: the run: the name of a table or view, a table function such as `read_parquet('run/*.parquet')`, or a query
            in parentheses, with columns query_id, doc_id (text) and score (a number). Inserted as given, without an
            alias: never text that comes from elsewhere. Other column names by a query:
            `(SELECT qid AS query_id, docno AS doc_id, sim AS score FROM results)`.
        qrels: the judgments, likewise, with columns query_id, doc_id (text) and relevance (a number).
        run_id: whether the run has several runs, told apart by a further column run_id. Then every run gets every
            judgment. A run without any row does not exist here.
        collate: a collation that compares by bytes, where the engine's own does not; written behind doc_id wherever
            ids are ordered, as given, with its quotes.

    Returns:
        The statement, without a semicolon at its end. Its rows stand in no order; their columns: run_id (with
        `run_id=True`), query_id, doc_id, relevance, all as the tables have them; rank (from 1, over all documents of
        the run; null where the run does not have the document), ideal_rank (from 1), n_ret (documents that the run has
        for the query, 0 where it has none), whole numbers. Without judgments: no rows.

    Raises:
        DataError: for a table that can be none: no text, a semicolon, a query without parentheses.

    >>> print(judged_ranking(run="results"))
    WITH returned_counts AS (
        SELECT query_id, COUNT(*) AS n_ret
        FROM results AS run_rows
        GROUP BY query_id
    ),
    ranked_documents AS (
        SELECT query_id, doc_id,
            ROW_NUMBER() OVER (PARTITION BY query_id ORDER BY score + 0 DESC, doc_id || '' DESC) AS rank
        FROM results AS run_rows
        WHERE query_id IN (SELECT query_id FROM qrels AS judgments)
    ),
    ranked_judgments AS (
        SELECT query_id, doc_id, relevance,
            ROW_NUMBER() OVER (PARTITION BY query_id ORDER BY relevance + 0 DESC, doc_id || '') AS ideal_rank
        FROM qrels AS judgments
    )
    SELECT query_id, doc_id, relevance, rank, ideal_rank, COALESCE(n_ret, 0) AS n_ret
    FROM ranked_judgments
    LEFT JOIN ranked_documents USING (query_id, doc_id)
    LEFT JOIN returned_counts USING (query_id)
    """
    run, qrels = _inserted("run", run), _inserted("qrels", qrels)
    doc_id = "doc_id || ''" if collate is None else f"(doc_id || '') COLLATE {_inserted('collate', collate)}"
    keys = "run_id, query_id" if run_id else "query_id"
    every_run = "\n    CROSS JOIN (SELECT DISTINCT run_id FROM returned_counts) AS run_names" if run_id else ""
    return f"""\
WITH returned_counts AS (
    SELECT {keys}, COUNT(*) AS n_ret
    FROM {run} AS run_rows
    GROUP BY {keys}
),
ranked_documents AS (
    SELECT {keys}, doc_id,
        ROW_NUMBER() OVER (PARTITION BY {keys} ORDER BY score + 0 DESC, {doc_id} DESC) AS rank
    FROM {run} AS run_rows
    WHERE query_id IN (SELECT query_id FROM {qrels} AS judgments)
),
ranked_judgments AS (
    SELECT {keys}, doc_id, relevance,
        ROW_NUMBER() OVER (PARTITION BY {keys} ORDER BY relevance + 0 DESC, {doc_id}) AS ideal_rank
    FROM {qrels} AS judgments{every_run}
)
SELECT {keys}, doc_id, relevance, rank, ideal_rank, COALESCE(n_ret, 0) AS n_ret
FROM ranked_judgments
LEFT JOIN ranked_documents USING ({keys}, doc_id)
LEFT JOIN returned_counts USING ({keys})"""  # noqa: S608  # the caller's tables


def problems(*, run: str = "run", qrels: str = "qrels", run_id: bool = False, text: str = "VARCHAR(64)") -> str:
    """The statement that counts what `evaluate` would refuse or note in a run and in judgments.

    One row per kind, in the ledger's words, counted as `check` counts; no rows where nothing is odd:

    - `invalid` (run): rows with a null id, or a null or NaN score. Infinite scores are ordered like any number.
    - `duplicate` (run): rows that repeat a (query, document) pair, judged or not.
    - `invalid` (qrels): rows with a null id, or a null, NaN or infinite grade.
    - `conflicting_judgment` (qrels): pairs that are judged with different grades.
    - `repeated_judgment` (qrels): pairs that are judged more than once with the same grade.

    `evaluate_ranking` refuses what it sees of them. A query in place of the table resolves each: for repeated
    judgments `(SELECT DISTINCT query_id, doc_id, relevance FROM qrels)`, for duplicates of which the best score counts
    `(SELECT query_id, doc_id, MAX(score) AS score FROM run GROUP BY query_id, doc_id)`.

    Rows that are invalid are not looked at further. NaN is found by its text, one of several, since the statistics of
    Parquet files leave it out: from them DuckDB answers `isnan(score)`, `score <> score` and the like with no row.

    Args:
        run: the run, as for `judged_ranking`.
        qrels: the judgments, likewise.
        run_id: whether the run has several runs, told apart by a further column run_id. A null there is invalid.
        text: the engine's type for text; STRING in BigQuery.

    Returns:
        The statement, without a semicolon at its end. Its columns: run_id (with `run_id=True`; null for judgments),
        table_name ("run" or "qrels"), reason, count (a whole number), query_id, doc_id (of one example).

    Raises:
        DataError: as for `judged_ranking`.

    >>> print(problems(run="results").partition("odd_judgments")[0].rstrip())
    WITH odd_run AS (
        SELECT query_id, doc_id, SUM(is_invalid) AS invalid, COUNT(*) - SUM(is_invalid) AS valid
        FROM (
            SELECT query_id, doc_id,
                CASE WHEN query_id IS NULL OR doc_id IS NULL OR score IS NULL
                    OR LOWER(CAST(score + 0 AS VARCHAR(64))) IN ('nan', '-nan')
                    THEN 1 ELSE 0 END AS is_invalid
            FROM results AS run_rows
        ) AS flagged
        GROUP BY query_id, doc_id
        HAVING COUNT(*) > 1 OR SUM(is_invalid) > 0
    ),
    """
    run, qrels, text = _inserted("run", run), _inserted("qrels", qrels), _inserted("text", text)
    runs, no_run, null = ("run_id, ", "run_id IS NULL OR ", "NULL, ") if run_id else ("", "", "")
    return f"""\
WITH odd_run AS (
    SELECT {runs}query_id, doc_id, SUM(is_invalid) AS invalid, COUNT(*) - SUM(is_invalid) AS valid
    FROM (
        SELECT {runs}query_id, doc_id,
            CASE WHEN {no_run}query_id IS NULL OR doc_id IS NULL OR score IS NULL
                OR LOWER(CAST(score + 0 AS {text})) IN ({_NAN})
                THEN 1 ELSE 0 END AS is_invalid
        FROM {run} AS run_rows
    ) AS flagged
    GROUP BY {runs}query_id, doc_id
    HAVING COUNT(*) > 1 OR SUM(is_invalid) > 0
),
odd_judgments AS (
    SELECT query_id, doc_id, SUM(is_invalid) AS invalid, COUNT(*) - SUM(is_invalid) AS valid,
        MIN(CASE WHEN is_invalid = 0 THEN relevance END) AS lowest,
        MAX(CASE WHEN is_invalid = 0 THEN relevance END) AS highest
    FROM (
        SELECT query_id, doc_id, relevance,
            CASE WHEN query_id IS NULL OR doc_id IS NULL OR relevance IS NULL
                OR LOWER(CAST(relevance + 0 AS {text})) IN ({_NAN}, {_INFINITE})
                THEN 1 ELSE 0 END AS is_invalid
        FROM {qrels} AS judgments
    ) AS flagged
    GROUP BY query_id, doc_id
    HAVING COUNT(*) > 1 OR SUM(is_invalid) > 0
),
odd_pairs AS (
    SELECT {runs}'run' AS table_name, 'invalid' AS reason, query_id, doc_id, invalid AS odd
    FROM odd_run
    WHERE invalid > 0
    UNION ALL
    SELECT {runs}'run', 'duplicate', query_id, doc_id, valid - 1
    FROM odd_run
    WHERE valid > 1
    UNION ALL
    SELECT {null}'qrels', 'invalid', query_id, doc_id, invalid
    FROM odd_judgments
    WHERE invalid > 0
    UNION ALL
    SELECT {null}'qrels', CASE WHEN lowest < highest THEN 'conflicting_judgment' ELSE 'repeated_judgment' END,
        query_id, doc_id, 1
    FROM odd_judgments
    WHERE valid > 1
),
counted_pairs AS (
    SELECT {runs}table_name, reason, query_id, doc_id,
        SUM(odd) OVER (PARTITION BY {runs}table_name, reason) AS total,
        ROW_NUMBER() OVER (PARTITION BY {runs}table_name, reason ORDER BY query_id, doc_id) AS place
    FROM odd_pairs
)
SELECT {runs}table_name, reason, CAST(total AS BIGINT) AS count, query_id, doc_id
FROM counted_pairs
WHERE place = 1
ORDER BY {runs}table_name, reason"""  # noqa: S608  # likewise


def _inserted(name: str, text: str) -> str:
    """Text that goes into a statement as it is, unless it cannot stand there."""
    if not isinstance(text, str) or not text.strip():
        given = repr(text) if isinstance(text, str) else f"a {type(text).__name__}"
        raise DataError(
            f"{name}={given} is no text of SQL; expected the name of a table, a table function such as "
            f"\"read_parquet('{name}/*.parquet')\", or a query in parentheses"
        )
    bare = _QUOTED.sub("", text)
    if ";" in bare:
        raise DataError(f"{name}={text!r} has a semicolon, where the statement would end; leave it out")
    if "--" in bare or "/*" in bare:
        raise DataError(f"{name}={text!r} has a comment, which would hide what follows; leave it out")
    if re.match(r"\s*(select|with|from|values)\b", bare, re.IGNORECASE):
        raise DataError(f"{name}={text!r} is a query; put it in parentheses: {name}='({text.strip()})'")
    return text.strip()
