"""The rows of runs, on Spark: whose they are, and which of them are refused or left out, and why."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, Any

import polars as pl

from rankframe.errors import EXAMPLES, DataError
from rankframe.frames.checks import Duplicates, Invalid, Unusable, no_judgments, repeated_pairs
from rankframe.frames.ledger import Note, note
from rankframe.frames.schemas import QRELS, RUN
from rankframe.inputs import Source, null_runs, run_name
from rankframe.metrics.grammar import is_text
from rankframe.spark.frames import collected, sent, unusable

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


@dataclass(frozen=True, slots=True)
class Run:
    """The rows of one or more runs.

    rows: run int (its place among `names`), query_id, doc_id, score, perhaps `ROUNDED`.
    names: what the runs are called, sorted. wheres: what messages call them.
    """

    rows: DataFrame
    names: tuple[str, ...]
    wheres: tuple[str, ...]


def check_name(name: object) -> None:
    """Refuse the name of a run that is no text."""
    if name is not None and not is_text(name):
        raise DataError(f"the name of a run is text, got run_id={name!r:.80}; as in run_id='bm25'")


def runs_of(rows: DataFrame, name: str | None) -> Run:
    """The runs that a conformed DataFrame holds, under their names.

    Raises:
        DataError: for a null run_id.
    """
    from pyspark.sql import functions as sf

    source = Source(name, "run", rows)
    if "run_id" not in rows.columns:
        return Run(rows.withColumn("run", sf.lit(0)), (source.given or source.otherwise,), (RUN.label,))
    counts = collected(rows.groupBy("run_id").count())
    if (nulls := counts.filter(pl.col("run_id").is_null())).height:
        raise null_runs(RUN.label, nulls["count"][0])
    found = counts["run_id"].sort().to_list()
    if len(found) < 2:
        only = run_name(source, next(iter(found), ""), found)
        return Run(rows.drop("run_id").withColumn("run", sf.lit(0)), (only,), (RUN.label,))
    numbers = pl.DataFrame({"run_id": found, "run": range(len(found))}, schema_overrides={"run": pl.Int32})
    return Run(
        rows.join(sent(rows.sparkSession, numbers), "run_id").drop("run_id"),
        tuple(run_name(source, run, found) for run in found),
        tuple(f"{RUN.label}, run {run!r}" for run in found),
    )


def kept(*, drops_own: bool) -> Column:
    """Whether a row is ranked: it can be used, and, with `drops_own`, its document is not the query itself."""
    from pyspark.sql import functions as sf

    usable = ~reduce(or_, unusable("score").values())
    return usable & (sf.col("doc_id") != sf.col("query_id")) if drops_own else usable


def invalid_rows(run: Run, invalid: Invalid) -> list[Note]:
    """What is left out because of a null id or no proper score.

    Raises:
        DataError: where such rows are refused, for the first run that has any.
    """
    from pyspark.sql import functions as sf

    kinds = unusable("score")
    wrong = run.rows.filter(~kept(drops_own=False))
    counts = collected(
        wrong.groupBy("run").agg(
            sf.count("*").alias("rows"),
            *(sf.count_if(kind).alias(str(place)) for place, kind in enumerate(kinds.values())),
        )
    ).sort("run")
    examples = first_rows(wrong, "query_id", "doc_id")
    if invalid == "error":
        row = counts.row(0, named=True)
        counted_kinds = {name: row[str(place)] for place, name in enumerate(kinds)}
        told = Unusable(row["rows"], counted_kinds, tuple(_pairs(examples[row["run"]])))
        raise DataError(told.message(run.wheres[row["run"]]))
    return [
        note("invalid_dropped", _pairs(examples[number]), rows).of(run.names[number])
        for number, rows in counts.select("run", "rows").iter_rows()
    ]


def own_rows(run: Run) -> list[Note]:
    """What is left out because the document is the query itself."""
    own = run.rows.filter(kept(drops_own=False) & ~kept(drops_own=True))
    counts = collected(own.groupBy("run").count())
    examples = first_rows(own, "query_id", "doc_id")
    return [
        note("self_hit_dropped", _pairs(examples[number]), rows).of(run.names[number])
        for number, rows in counts.iter_rows()
    ]


def repeated_rows(run: Run, duplicates: Duplicates) -> list[Note]:
    """What is left out because its pair stands there with a better score; nothing where no pair is there twice.

    Raises:
        DataError: where such rows are refused, for the first run that has any.
    """
    from pyspark.sql import functions as sf

    pairs = run.rows.groupBy("run", "query_id", "doc_id").agg(sf.count("*").alias("n")).filter("n > 1")
    counts = collected(pairs.groupBy("run").agg(sf.count("*").alias("pairs"), sf.sum("n").alias("rows"))).sort("run")
    if counts.is_empty():
        return []
    examples = first_rows(pairs, "query_id", "doc_id", "n")
    if duplicates == "error":
        number, count, _ = counts.row(0)
        raise repeated_pairs(run.wheres[number], count, _pairs(row[:2] for row in examples[number]))
    return [
        note("duplicate_dropped", _worse(examples[number]), rows - count).of(run.names[number])
        for number, count, rows in counts.iter_rows()
    ]


def _worse(pairs: list[tuple[Any, ...]]) -> list[str]:
    """A row for each repetition of these pairs, which come with how often they are there."""
    return [told for *pair, n in pairs for told in _pairs([tuple(pair)]) * (min(n, EXAMPLES + 1) - 1)][:EXAMPLES]


def _pairs(rows: Iterable[tuple[Any, ...]]) -> list[str]:
    return [f"({query}, {doc})" for query, doc in rows]


def first_rows(rows: DataFrame, *columns: str) -> dict[int, list[tuple[Any, ...]]]:
    """The first few rows of each run, in their order, by the number of the run."""
    from pyspark.sql import Window
    from pyspark.sql import functions as sf

    window = Window.partitionBy("run").orderBy(*columns)
    few = rows.select("run", *columns, sf.row_number().over(window).alias("place")).filter(sf.col("place") <= EXAMPLES)
    found: dict[int, list[tuple[Any, ...]]] = {}
    for number, *values in collected(few).sort("run", "place").drop("place").iter_rows():
        found.setdefault(number, []).append(tuple(values))
    return found


def without_judgments(rows: DataFrame) -> DataError:
    """The error for empty qrels, with ids of the run."""
    few = rows.select("query_id").filter("query_id is not null").distinct().orderBy("query_id").limit(3)
    return no_judgments(QRELS.label, collected(few)["query_id"].to_list())
