"""Spark DataFrames in and out: their columns under our names and types, frames there and back."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import polars as pl

from rankframe.errors import DataError, ExtraError, listed
from rankframe.frames.coerce import would_round
from rankframe.frames.schemas import QRELS, RUN, Column, Schema

if TYPE_CHECKING:
    from pyspark.sql import Column as Expression
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import DataType

ROUNDED = "rounded"
"""A column where numbers may be such that a double would round them: the text of those, null for all others."""

SMALL = 1_000_000
"""Rows up to which a frame is sent to every executor, rather than that rows are moved to meet it."""

_EXACT_INTEGER = 2**53  # the largest magnitude up to which every integer is a double of its own


def needs_spark() -> None:
    """Refuse to go on without PySpark 4 or later."""
    try:
        import pyspark
    except ImportError as error:
        raise ExtraError("rankframe.spark needs PySpark 4 or later: pip install 'rankframe[spark]'") from error
    if int(pyspark.__version__.partition(".")[0]) < 4:
        raise ExtraError(
            f"rankframe.spark needs PySpark 4 or later, and {pyspark.__version__} is installed: pip install "
            f"'rankframe[spark]'"
        )


def conformed(source: object, schema: Schema) -> DataFrame:
    """The columns of a run or of judgments under our names, and no others.

    Columns: run_id string where a run has it, query_id, doc_id string, score or relevance double, `ROUNDED` string
    where the number was of a type of more than 53 bits. A run with `rank` and no `score` gets score = -rank.

    Raises:
        DataError: for anything but a Spark DataFrame, and for columns that are missing or of a wrong type.
    """
    frame, where = _spark_frame(source, schema), schema.label
    fields = [(field.name, field.dataType) for field in frame.schema.fields]
    names = [name for name, _ in fields]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise DataError(f"{where}: the DataFrame has the column {listed(twice)} twice; rename or drop one")
    by_rank = schema is RUN and "score" not in names and "rank" in names
    ours = ["score" if by_rank and name == "rank" else name for name in names]
    renames = replace(schema, readers="").names(ours, columns=None, where=where)
    place = {renames.get(name, name): number for number, name in enumerate(ours)}
    plain = frame.toDF(*(f"c{number}" for number in range(len(names))))  # whatever the names hold
    selected: list[Expression] = []
    for column in schema.columns:
        if column.name in place and column.kind in ("id", "number"):
            number = place[column.name]
            given, dtype = plain[f"c{number}"], fields[number][1]
            if column.kind == "id":
                selected.append(_id(given, dtype, column, where).alias(column.name))
            else:
                value, rounded = _number(given, dtype, names[number], where)
                value = _zero_signless(-value if by_rank else value)
                selected.append(value.alias(column.name))
                selected += [] if rounded is None else [rounded.alias(ROUNDED)]
    return plain.select(*selected)


def _spark_frame(source: object, schema: Schema) -> DataFrame:
    from pyspark.sql import DataFrame

    if isinstance(source, DataFrame):
        if source.isStreaming:
            raise DataError(f"{schema.label}: a stream has no end; write its rows to a table and give that")
        return source
    kind = f"{type(source).__module__.partition('.')[0]}.{type(source).__name__}".removeprefix("builtins.")
    raise DataError(
        f"{schema.label}: expected a Spark DataFrame, got {kind}; rankframe.evaluate takes frames and paths, and "
        f"spark.read.parquet(path) makes a Spark DataFrame of files"
    )


def _id(value: Expression, dtype: DataType, column: Column, where: str) -> Expression:
    """An id as text, compared by bytes."""
    from pyspark.sql import functions as sf
    from pyspark.sql import types as st

    if isinstance(dtype, st.StringType):
        return value if dtype == st.StringType() else sf.collate(value, "UTF8_BINARY")
    if isinstance(dtype, (st.CharType, st.VarcharType, st.IntegralType, st.NullType)):
        return value.cast("string")
    told = f"{where}: {column.name!r} is {dtype.simpleString()}"
    if isinstance(dtype, (st.FloatType, st.DoubleType)):
        raise DataError(
            f"{told}: ids are text, and whole numbers turn into floats where one is missing (1 became 1.0); drop the "
            f"missing rows and cast to an integer or to text before"
        )
    raise DataError(f"{told}, which is not text; cast it to text before")


def _number(value: Expression, dtype: DataType, name: str, where: str) -> tuple[Expression, Expression | None]:
    """A number as double, and its text where that rounds it; None for a type that a double holds."""
    from pyspark.sql import functions as sf
    from pyspark.sql import types as st

    double = value.cast("double")
    if isinstance(dtype, st.LongType):
        return double, sf.when(~value.between(-_EXACT_INTEGER, _EXACT_INTEGER), value.cast("string"))
    if isinstance(dtype, st.DecimalType):
        return double, sf.when(~double.try_cast(dtype).eqNullSafe(value), value.cast("string"))
    if isinstance(dtype, (st.NumericType, st.NullType)):
        return double, None
    raise DataError(
        f"{where}: {name!r} is {dtype.simpleString()}, not a number; cast it before, as in "
        f'.withColumn("{name}", col("{name}").cast("double"))'
    )


def _zero_signless(value: Expression) -> Expression:
    """-0.0 as 0.0, whatever an engine thinks of their order."""
    from pyspark.sql import functions as sf

    return value + sf.lit(0.0)


def unusable(number: str) -> dict[str, Expression]:
    """What makes a row one that cannot be used, each kind as a condition that is never null."""
    from pyspark.sql import functions as sf

    value = sf.col(number)
    nulls = {f"null {name}": sf.col(name).isNull() for name in ("query_id", "doc_id", number)}
    if number == "score":
        return {**nulls, "NaN score": sf.isnan(value)}
    infinite = sf.abs(value) == sf.lit(float("inf"))
    return {**nulls, "infinite or NaN relevance": sf.coalesce(sf.isnan(value) | infinite, sf.lit(False))}


def refuse_rounded(rows: DataFrame, schema: Schema) -> None:
    """Refuse whole numbers and decimals that a double would round.

    Raises:
        DataError: where there is one.
    """
    if ROUNDED not in rows.columns:
        return
    found = collected(rows.select(ROUNDED).filter(f"{ROUNDED} is not null").limit(1))
    if found.height:
        number = "relevance" if schema is QRELS else "score"
        raise would_round(schema.label, number, found[ROUNDED][0])


def collected(frame: DataFrame) -> pl.DataFrame:
    """A Spark DataFrame in memory."""
    return pl.DataFrame(frame.toArrow())


def sent(session: SparkSession, frame: pl.DataFrame) -> DataFrame:
    """A frame as a Spark DataFrame; in one piece, as a client of Spark Connect 4.0 sends the first piece alone."""
    made = session.createDataFrame(frame.rechunk().to_arrow(compat_level=pl.CompatLevel.oldest()))
    return near(made, frame.height)


def near(frame: DataFrame, rows: int) -> DataFrame:
    """A Spark DataFrame of so many rows, which goes to every executor when it is joined, unless there are many."""
    from pyspark.sql import functions as sf

    return sf.broadcast(frame) if rows <= SMALL else frame
