"""Anything that holds a table becomes a Polars frame with our column names and dtypes."""

from __future__ import annotations

import numbers
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from decimal import Decimal
from typing import Any, Protocol, runtime_checkable

import polars as pl

from rankframe.errors import EXAMPLES, DataError, counted, listed, with_more
from rankframe.frames.cells import TEXTS, cells
from rankframe.frames.schemas import Column, Schema

Frame = pl.DataFrame | pl.LazyFrame

_WIDE = (pl.Int64, pl.UInt64, pl.Int128, pl.UInt128)
_EXACT_INTEGER = 2**53  # the largest magnitude up to which every integer is a Float64 of its own


@runtime_checkable
class ArrowStream(Protocol):
    """Anything that exports the Arrow C stream: pyarrow, DuckDB, pandas, Ibis, ..."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...


def table_frame(source: object, where: str, texts: Collection[str] = ()) -> pl.DataFrame | pl.LazyFrame | None:
    """The Polars frame of an object that holds a table, or None where it is no table.

    Polars frames are returned as they are, LazyFrames lazy. pandas frames keep a named index as columns;
    everything else with an Arrow C stream is taken through it. A list of records (mappings) is a table too.
    """
    if isinstance(source, (pl.DataFrame, pl.LazyFrame)):
        return source
    if type(source).__module__.partition(".")[0] == "pandas":
        return _pandas_frame(source, where)
    if isinstance(source, ArrowStream):
        try:
            return pl.DataFrame(source)
        except (TypeError, ValueError, pl.exceptions.PolarsError) as error:
            raise DataError(f"{where}: the Arrow data of a {type(source).__name__} is no table: {error}") from error
    if isinstance(source, Sequence) and source and all(isinstance(row, Mapping) for row in source):
        return record_frame(source, where, texts)
    return None


def _pandas_frame(source: Any, where: str) -> pl.DataFrame | None:
    """A pandas frame with the named levels of its index as columns; None for a Series or an Index."""
    if not hasattr(source, "columns"):
        return None
    named = [name for name in source.index.names if name is not None]
    names = [*named, *source.columns]
    twice = sorted({str(name) for name in names if names.count(name) > 1})
    if twice:
        raise DataError(f"{where}: the pandas frame has the column (or named index) {listed(twice)} twice")
    frame = source.reset_index(level=named) if named else source
    try:
        made: pl.DataFrame = pl.from_pandas(frame)
    except (TypeError, ValueError) as error:  # pyarrow's errors for an object column of mixed types are among them
        odd = [name for name in frame.columns if frame[name].map(type).nunique() > 1]
        odd = odd or [name for name in frame.columns if frame[name].dtype == object]
        raise DataError(
            f"{where}: the pandas column {listed(odd)} mixes types, or holds what no column can ({error}); "
            f'make it text first, as in frame["{odd[0] if odd else "doc_id"}"].astype(str)'
        ) from error
    return made


def record_frame(records: Sequence[Mapping[str, Any]], where: str, texts: Collection[str] = ()) -> pl.DataFrame:
    """A frame of records: every key of any record is a column, null where a record lacks it.

    In the columns `texts` whole numbers that stand among text become text, and other mixtures are an error; elsewhere
    a mixture of types becomes text.
    """
    names = list(dict.fromkeys(key for record in records for key in record))
    columns = []
    for name in names:
        values = [record.get(name) for record in records]
        try:
            columns.append(_nested(name, values, where) if any(map(_is_nested, values)) else pl.Series(name, values))
        except OverflowError as error:
            if name not in texts:
                raise DataError(f"{where}: {name!r} holds a whole number of more than 128 bits") from error
            columns.append(id_series(name, values, where))
        except DataError:
            raise
        except (TypeError, ValueError, pl.exceptions.PolarsError):
            columns.append(id_series(name, values, where) if name in texts else _mixed_column(name, values, where))
    return pl.DataFrame(columns)


def _is_nested(value: object) -> bool:
    return isinstance(value, dict) or (isinstance(value, list) and any(isinstance(item, dict) for item in value))


def _nested(name: str, values: list[Any], where: str) -> pl.Series:
    """A column of mappings, or of lists of them, with the keys of all: a Series would keep those of the first."""
    if len({isinstance(value, dict) for value in values if value is not None}) > 1:
        raise DataError(f"{where}: some values of {name!r} are mappings, and others none, which no column can hold")
    return pl.DataFrame([{name: value} for value in values], infer_schema_length=None)[name]


def _mixed_column(name: str, values: list[Any], where: str) -> pl.Series:
    """A column whose values are not of one Python type."""
    try:
        return pl.Series(name, values, strict=False)
    except (TypeError, ValueError, OverflowError, pl.exceptions.PolarsError) as error:
        raise DataError(f"{where}: the values of {name!r} are of types that no column can hold: {error}") from error


def conform(frame: Frame, schema: Schema, where: str, columns: Mapping[str, str] | None = None) -> Frame:
    """`frame` with the names and dtypes of `schema`, its columns first; metadata columns are kept.

    Lazy in, lazy out. Ids of integer, Categorical or Enum type become text. Text that stands for a number stays:
    `read_numbers` or `valid_rows` reads it. A dtype that cannot mean the column is an error.
    """
    present = frame.collect_schema()
    renames = schema.names(present.names(), columns=columns, where=where)
    if renames:
        frame = frame.rename(renames)
        present = frame.collect_schema()
    known = [column for column in schema.columns if column.name in present]
    key = schema.key if schema.key in present else ""
    casts = [cast for column in known if (cast := _cast(column, present[column.name], where, key)) is not None]
    if casts:
        frame = collected_like(frame, frame.lazy().with_columns(casts))
    first = [column.name for column in known if column.leads]
    order = [*first, *(name for name in present.names() if name not in first)]
    return frame if order == present.names() else frame.select(order)


def scored_by_rank(frame: Frame, columns: Mapping[str, str] | None, where: str) -> Frame:
    """A run that has ranks and no scores gets score = -rank; any other is returned as it is."""
    names = frame.collect_schema().names()
    if "score" in names or "rank" not in names or "score" in (columns or {}).values():
        return frame
    dtype = frame.collect_schema()["rank"]
    if dtype != pl.String and not dtype.is_numeric() and dtype != pl.Null:
        raise DataError(f"{where}: 'rank' is {dtype}, not a number, and there is no score")
    read = _parsed if dtype == pl.String else _exact
    rank = read("rank", where) if dtype == pl.String or dtype in _WIDE else pl.col("rank").cast(pl.Float64)
    return collected_like(frame, frame.lazy().with_columns(score=-rank))


def _cast(column: Column, dtype: pl.DataType, where: str, key: str) -> pl.Expr | None:
    """The expression that turns a column into its kind, None where it is so already."""
    if column.kind == "any":
        return None
    if column.kind in ("texts", "ids"):
        return list_cast(column, dtype, where, key)
    target = pl.Float64() if column.kind == "number" else pl.String()
    if dtype == target:
        return None
    col = pl.col(column.name)
    if dtype == pl.Null:
        return col.cast(target)
    if column.kind == "number":
        if dtype == pl.String:
            return None
        if not dtype.is_numeric():
            raise DataError(f"{where}: {column.name!r} is {dtype}, not a number; cast it before")
        return _exact(column.name, where) if dtype in _WIDE or dtype.is_decimal() else col.cast(target)
    if dtype.is_float() and column.kind == "id":
        raise DataError(
            f"{where}: {column.name!r} is {dtype}: ids are text, and whole numbers turn into floats where one is "
            f"missing (1 became 1.0); drop the missing rows and cast to an integer or to text before"
        )
    if dtype.is_integer() or isinstance(dtype, (pl.Categorical, pl.Enum)):
        return col.cast(target)
    raise DataError(f"{where}: {column.name!r} is {dtype}, which is not text; cast it to text before")


def list_cast(column: Column, dtype: pl.DataType, where: str, key: str, lists: str | None = None) -> pl.Expr | None:
    """The expression that turns a column into List(String), None where it is so already.

    Text in place of a list is decoded as `lists` says, and refused without it; the column `key` names the rows then.
    """
    if dtype == TEXTS:
        return None
    inner = dtype.inner if isinstance(dtype, (pl.List, pl.Array)) else None
    whole = column.kind == "ids" and isinstance(inner, pl.DataType) and inner.is_integer()
    if dtype == pl.Null or whole or isinstance(inner, (pl.String, pl.Null, pl.Categorical, pl.Enum)):
        return pl.col(column.name).cast(TEXTS)

    def read(rows: pl.Series) -> pl.Series:
        fields = rows.struct.unnest()
        keys = fields[key].to_list() if key else None
        return cells(column, fields[column.name].to_list(), where, keys=keys, lists=lists)

    parts = [pl.col(column.name), *([pl.col(key)] if key else [])]
    return pl.struct(parts).map_batches(read, return_dtype=TEXTS).alias(column.name)


def _exact(name: str, where: str) -> pl.Expr:
    """Whole numbers and decimals as Float64; one that would be rounded, and so could tie with another, is refused."""

    def cast(values: pl.Series) -> pl.Series:
        number = values.cast(pl.Float64)
        if values.dtype.is_decimal():
            rounded = values.filter(number.cast(values.dtype, strict=False).ne_missing(values))
        else:
            ends = [end for end in (values.min(), values.max()) if isinstance(end, int) and abs(end) > _EXACT_INTEGER]
            rounded = pl.Series(ends)
        if len(rounded):
            raise would_round(where, name, rounded[0])
        return number

    return pl.col(name).map_batches(cast, return_dtype=pl.Float64, is_elementwise=True)


def read_numbers(frame: pl.LazyFrame, schema: Schema, where: str) -> pl.LazyFrame:
    """A lazy frame whose numbers are read from text; what is no number raises when the frame is collected."""
    present = frame.collect_schema()
    text = [c.name for c in schema.columns if c.kind == "number" and present.get(c.name) == pl.String]
    return frame.with_columns(_parsed(name, where) for name in text)


def _parsed(name: str, where: str) -> pl.Expr:
    def parse(text: pl.Series) -> pl.Series:
        number = text.str.strip_chars().cast(pl.Float64, strict=False)
        wrong = text.filter(number.is_null() & text.is_not_null())
        if len(wrong):
            raise DataError(f"{where}: {len(wrong):,} {name} that is no number, such as {listed(wrong)}")
        rounded = rounded_rows(pl.DataFrame({"text": text, "number": number}), "text", "number")
        if rounded.height:
            raise would_round(where, name, rounded["text"][0])
        return number

    return pl.col(name).map_batches(parse, return_dtype=pl.Float64, is_elementwise=True)


def rounded_rows(frame: pl.DataFrame, text: str, number: str) -> pl.DataFrame:
    """The rows with a whole number, as text, that is another one as Float64."""
    whole = pl.col(text).str.contains(r"^\s*[+-]?[0-9]+\s*$")
    large = pl.col(text).str.strip_chars(" +").cast(pl.Int128, strict=False).abs() > _EXACT_INTEGER
    return frame.filter(whole, pl.col(number).abs() >= _EXACT_INTEGER).filter(large.fill_null(value=True))


def would_round(where: str, name: str, value: object, places: str = "") -> DataError:
    """The error for a number that Float64 would round, with the places where such numbers stand, if they are known."""
    at = f": {places}" if places else ""
    return DataError(
        f"{where}: {name!r} holds {value}, which Float64 would round (exact up to 2**53), so different values could "
        f"tie{at}; scale the numbers down before"
    )


def collected_like(frame: Frame, lazy: pl.LazyFrame) -> Frame:
    """`lazy`, in memory where `frame` is: errors of expressions then come without Polars' plan behind them."""
    return lazy if isinstance(frame, pl.LazyFrame) else collected(lazy)


def collected(frame: Frame) -> pl.DataFrame:
    """The frame in memory; an error of ours that its plan raises is told as we said it."""
    with as_said():
        return frame.collect() if isinstance(frame, pl.LazyFrame) else frame


@contextmanager
def as_said() -> Iterator[None]:
    """Errors of ours without what Polars puts behind them: the expression in which they were raised."""
    try:
        yield
    except DataError as error:
        said, context, _ = str(error).partition("\n\nThis error occurred")
        if not context:
            raise
        raise DataError(said) from error


def nested_columns(source: Mapping[Any, Any], value: str, where: str) -> tuple[pl.DataFrame, list[str]]:
    """The frame of a mapping query -> {document: number}, and the queries whose mapping is empty.

    Columns: query_id String, doc_id String, `value` Float64, or String where a value is no number: `valid_rows` then
    says which. Whole-number keys become text, None becomes null.
    """
    for query, docs in source.items():
        if not isinstance(docs, Mapping):
            raise DataError(
                f"{where}: query {query!r} holds a {type(docs).__name__}; expected a mapping "
                f'query -> {{document: {value}}}, as in {{"q1": {{"d1": 1.0}}}}'
            )
    queries = id_series("query_id", list(source), where)
    lengths = pl.Series([len(docs) for docs in source.values()], dtype=pl.UInt32)
    row = pl.int_range(len(queries), dtype=pl.UInt32, eager=True).repeat_by(lengths).explode(empty_as_null=False)
    docs = id_series("doc_id", [doc for docs in source.values() for doc in docs], where)
    numbers = _number_series(value, [number for docs in source.values() for number in docs.values()], where)
    frame = pl.DataFrame([queries.gather(row) if len(row) else queries.clear(), docs, numbers])
    empty = queries.filter(lengths == 0)
    if empty.null_count():
        raise DataError(f"{where}: null query_id: the id of a query without documents is None")
    return frame, empty.to_list()


def id_series(name: str, values: list[Any], where: str) -> pl.Series:
    """Ids from Python values: text as it is, whole numbers as text, None as null; anything else is an error."""
    try:
        return pl.Series(name, values, dtype=pl.String, strict=True)
    except (TypeError, OverflowError, pl.exceptions.PolarsError):
        return pl.Series(name, [_id_text(name, value, where) for value in values], dtype=pl.String)
    except UnicodeEncodeError as error:
        raise DataError(
            f"{where}: {name!r} holds {error.object!r}, which is no Unicode text (a lone surrogate)"
        ) from error


def _id_text(name: str, value: object, where: str) -> str | None:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, numbers.Integral) and not isinstance(value, bool):
        return str(int(value))
    raise DataError(f"{where}: {name!r} holds {value!r} ({type(value).__name__}); an id is text or a whole number")


def _number_series(name: str, values: list[Any], where: str) -> pl.Series:
    """Numbers from Python values as Float64; as the text of each where one of them is no number."""
    if all(type(number) is float for number in values):  # the common case, and the only one that needs no look
        return pl.Series(name, values, dtype=pl.Float64, strict=True)
    read = [None if number is None else _number(number) for number in values]
    if any(isinstance(number, str) for number in read):
        return pl.Series(name, [number if number is None else str(number) for number in read], dtype=pl.String)
    for number in values:
        if isinstance(number, numbers.Integral) and abs(int(number)) > _EXACT_INTEGER:
            raise DataError(f"{where}: {name} {number} is more than Float64 holds exactly (2**53)")
    return pl.Series(name, read, dtype=pl.Float64)


def _number(value: object) -> float | str:
    """A value as Float64, or as text that reads as no number where it is none."""
    if isinstance(value, (numbers.Real, Decimal)) and not isinstance(value, bool):
        try:
            return float(value)
        except (OverflowError, ValueError):  # more than Float64 holds, or a signalling NaN
            return f"a number such as {value!r:.20}"
    return repr(value)


def text_columns(source: Mapping[Any, Any], key: str, where: str) -> pl.DataFrame:
    """The frame of a mapping id -> text, or id -> record; `key` names the id column."""
    ids = id_series(key, list(source), where)
    values = list(source.values())
    if all(isinstance(value, str) for value in values):
        return pl.DataFrame([ids, id_series("text", values, where)])
    if all(isinstance(value, Mapping) for value in values):
        records = record_frame(values, where)
        if key in records.columns:
            raise DataError(f"{where}: the records of a mapping by id hold {key!r} too; leave it out of one of them")
        return pl.DataFrame([ids, *records])
    kind, wanted = ("record", Mapping) if isinstance(values[0], Mapping) else ("text", str)
    other = [name for name, value in source.items() if not isinstance(value, wanted)]
    told = with_more([f"{name!r} holds {source[name]!r:.40}" for name in other[:EXAMPLES]], len(other))
    raise DataError(
        f"{where}: {counted(len(other), 'value')} of the mapping no {kind}: {told}; the values are all text, or "
        f"all records such as {{'title': .., 'text': ..}}"
    )
