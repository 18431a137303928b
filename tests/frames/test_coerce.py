"""Any table of any library becomes a frame with our dtypes, or an error of ours."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import rankframe as rf
from rankframe.frames.coerce import record_frame

INTEGERS: list[Any] = [pl.Int8, pl.Int16, pl.Int32, pl.Int64, pl.Int128, pl.UInt8, pl.UInt16, pl.UInt32, pl.UInt64]
INTEGERS += [pl.UInt128]
BASE: dict[str, Any] = {"query_id": ["q", "q"], "doc_id": ["1", "2"], "score": [2.0, 1.0]}


def _run(**columns: Any) -> pl.DataFrame:
    return pl.DataFrame({**BASE, **columns})


def _both(frame: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The frame as it is read, and as it is read from a LazyFrame."""
    return rf.read_run(frame), rf.read_run(frame.lazy())


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
def test_whole_numbers_of_any_width_are_ids_and_scores(dtype: Any) -> None:
    column = pl.Series([1, 2]).cast(dtype)
    for run in _both(_run(query_id=column, doc_id=column, score=column)):
        assert run.rows() == [("1", "1", 1.0), ("2", "2", 2.0)]
        assert [pl.String, pl.String, pl.Float64] == run.dtypes


@pytest.mark.parametrize(
    ("dtype", "large"),
    [(pl.Int64, 2**53 + 1), (pl.Int64, -(2**53) - 1), (pl.UInt64, 2**64 - 1), (pl.Int128, 2**100), (pl.UInt128, 2**64)],
    ids=str,
)
def test_whole_numbers_that_float64_would_round_are_refused_as_scores_and_kept_as_ids(dtype: Any, large: int) -> None:
    column = pl.Series([large, 1], dtype=dtype)
    for frame in (_run(score=column), _run(score=column).lazy()):
        with pytest.raises(rf.DataError, match=f"'score' holds {large}, which Float64 would round"):
            rf.read_run(frame)
    assert [str(large), "1"] == rf.read_run(_run(doc_id=column))["doc_id"].to_list()


@pytest.mark.parametrize("dtype", [pl.Float32, pl.Float64, pl.Decimal(10, 2), pl.Float16], ids=str)
def test_fractions_are_scores_and_no_ids(dtype: Any) -> None:
    column = pl.Series([1.5, 2.25]).cast(dtype)
    for run in _both(_run(score=column)):
        assert run["score"].to_list() == [1.5, 2.25]
        assert pl.Float64 == run["score"].dtype
    for frame in (_run(doc_id=column), _run(doc_id=column).lazy()):
        with pytest.raises(rf.DataError, match=r"'doc_id' is (Float|Decimal)"):
            rf.read_run(frame)


@pytest.mark.parametrize("dtype", [pl.Categorical(), pl.Enum(["2", "1"])], ids=str)
def test_categories_are_ids_by_their_text_and_no_scores(dtype: Any) -> None:
    column = pl.Series(["1", "2"], dtype=dtype)
    for run in _both(_run(doc_id=column)):
        assert run["doc_id"].to_list() == ["1", "2"]
    with pytest.raises(rf.DataError, match=r"'score' is (Categorical|Enum).*, not a number"):
        rf.read_run(_run(score=column))


OTHERS: dict[str, pl.Series] = {
    "Boolean": pl.Series([True, False]),
    "Binary": pl.Series([b"1", b"2"]),
    "List": pl.Series([["1"], ["2"]]),
    "Array": pl.Series([[1], [2]], dtype=pl.Array(pl.Int64, 1)),
    "Struct": pl.Series([{"a": 1}, {"a": 2}]),
    "Date": pl.Series([dt.date(2020, 1, 31)] * 2),
    "Datetime": pl.Series([dt.datetime(2020, 1, 31)] * 2),  # noqa: DTZ001  # a column without a zone
    "Duration": pl.Series([dt.timedelta(days=1)] * 2),
    "Time": pl.Series([dt.time(1)] * 2),
    "Object": pl.Series([{1}, {2}], dtype=pl.Object),
}


@pytest.mark.parametrize("column", ["query_id", "doc_id", "score"])
@pytest.mark.parametrize("dtype", OTHERS)
def test_other_dtypes_are_refused_by_column_and_dtype(dtype: str, column: str) -> None:
    """Eagerly and lazily, before any row is looked at."""
    frame = _run(**{column: OTHERS[dtype]})
    for read in (rf.read_run, lambda source: rf.scan_run(source.lazy())):
        with pytest.raises(rf.DataError, match=rf"'{column}' is {dtype}"):
            read(frame)


@pytest.mark.parametrize("dtype", OTHERS)
def test_texts_of_other_dtypes_are_refused(dtype: str) -> None:
    for read, key in ((rf.read_queries, "query_id"), (rf.read_corpus, "doc_id")):
        with pytest.raises(rf.DataError, match=f"'text' is {dtype}"):
            read(pl.DataFrame({key: ["a", "b"], "text": OTHERS[dtype]}))


@pytest.mark.parametrize("column", ["query_id", "doc_id", "score"])
def test_columns_of_nothing_but_null_are_refused_as_null(column: str) -> None:
    with pytest.raises(rf.DataError, match=f"2 null {column}"):
        rf.read_run(_run(**{column: [None, None]}))
    assert rf.read_queries(pl.DataFrame({"query_id": ["a", "b"], "text": [None, None]}))["text"].to_list() == [
        None,
        None,
    ]


def test_text_that_stands_for_a_number_is_one() -> None:
    for run in _both(_run(score=[" 1.5", "2e0 "])):
        assert run["score"].to_list() == [1.5, 2.0]
    assert rf.scan_run(_run(score=[" 1.5", "2e0 "]).lazy()).collect()["score"].to_list() == [1.5, 2.0]


@pytest.mark.parametrize("text", ["", " ", "high", "1,5", "0x10", "1_000", "True", "None"])
def test_text_that_stands_for_no_number_is_refused(text: str) -> None:
    with pytest.raises(rf.DataError, match="1 score that is no number"):
        rf.read_run(_run(score=["1", text]))
    with pytest.raises(rf.DataError, match="1 score that is no number"):
        rf.scan_run(_run(score=["1", text]).lazy()).collect()


# Records and mappings of Python values.


@pytest.mark.parametrize(
    ("number", "right"),
    [
        (1, 1.0),
        (np.float32(0.5), 0.5),
        (np.int64(3), 3.0),
        (np.uint8(3), 3.0),
        (Decimal("1.5"), 1.5),
        (Fraction(1, 4), 0.25),
        (-0.0, -0.0),
        (float("inf"), float("inf")),
    ],
    ids=repr,
)
def test_numbers_of_any_python_type_are_scores(number: Any, right: float) -> None:
    assert [right, 1.0] == rf.read_run({"q": {"d": number, "e": 1.0}})["score"].to_list()


@pytest.mark.parametrize("number", [10**400, Fraction(10**400), 2**53 + 1, Decimal("sNaN")], ids=lambda n: f"{n!r:.20}")
def test_numbers_that_float64_cannot_hold_are_refused(number: Any) -> None:
    with pytest.raises(rf.DataError, match="score"):
        rf.read_run({"q": {"d": number, "e": 1.0}})


@pytest.mark.parametrize("number", [float("nan"), np.float64("nan"), Decimal("NaN")], ids=repr)
def test_nan_of_any_python_type_is_refused(number: Any) -> None:
    with pytest.raises(rf.DataError, match=r"1 NaN score.*\(q, d\)"):
        rf.read_run({"q": {"d": number, "e": 1.0}})


@pytest.mark.parametrize("key", [1, np.int64(1), np.str_("1"), "1"], ids=repr)
def test_keys_of_any_python_type_are_text(key: Any) -> None:
    assert rf.read_run({key: {key: 1.0}}).rows() == [("1", "1", 1.0)]


@pytest.mark.parametrize("key", [1.0, True, (1, 2), b"1", dt.date(2020, 1, 31)], ids=repr)
def test_keys_of_other_python_types_are_refused(key: Any) -> None:
    with pytest.raises(rf.DataError, match=r"doc_id.*an id is text or a whole number"):
        rf.read_run({"q": {key: 1.0}})
    with pytest.raises(rf.DataError, match=r"query_id.*an id is text or a whole number"):
        rf.read_run({key: {"d": 1.0}})


def test_records_may_lack_keys_and_mix_numbers() -> None:
    records = [{"query_id": "q", "doc_id": 1, "score": 1}, {"doc_id": "b", "score": 1.5, "query_id": 2, "note": "x"}]
    assert rf.read_run(records).rows() == [("q", "1", 1.0, None), ("2", "b", 1.5, "x")]
    with pytest.raises(rf.DataError, match="1 null score"):
        rf.read_run([{"query_id": "q", "doc_id": "a"}, {"query_id": "q", "doc_id": "b", "score": 1.0}])


@pytest.mark.parametrize("odd", [1.5, True, ["x"]], ids=repr)
def test_ids_of_records_that_are_no_text_are_refused(odd: Any) -> None:
    for ids in ([odd, "a"], ["a", odd], [odd]):
        with pytest.raises(rf.DataError, match="doc_id"):
            rf.read_run([{"query_id": "q", "doc_id": key, "score": 1.0} for key in ids])


# pandas.

PANDAS = pd.DataFrame(BASE)


@pytest.mark.parametrize("index", [["query_id"], ["query_id", "doc_id"], ["score"]], ids=str)
def test_a_named_index_of_pandas_holds_columns(index: list[str]) -> None:
    assert rf.read_run(PANDAS.set_index(index)).equals(rf.read_run(pl.DataFrame(BASE)))


def test_an_index_of_pandas_without_a_name_is_no_column() -> None:
    assert rf.read_run(PANDAS.set_index(pd.Index([7, 8]))).columns == ["query_id", "doc_id", "score"]
    half = PANDAS.set_index(pd.MultiIndex.from_arrays([["q", "q"], [0, 1]], names=["query_id", None]))
    assert rf.read_run(half.drop(columns="query_id")).columns == ["query_id", "doc_id", "score"]


@pytest.mark.parametrize("dtype", ["str", "string", "string[pyarrow]", "object", "category", "Int64", "int8", "uint64"])
def test_ids_of_every_pandas_dtype(dtype: str) -> None:
    assert rf.read_run(PANDAS.astype({"doc_id": dtype}))["doc_id"].to_list() == ["1", "2"]


@pytest.mark.parametrize("dtype", ["float32", "Float64", "Int64", "int8", "double[pyarrow]", "object"])
def test_scores_of_every_pandas_dtype(dtype: str) -> None:
    assert rf.read_run(PANDAS.astype({"score": dtype}))["score"].to_list() == [2.0, 1.0]


@pytest.mark.parametrize("missing", [None, np.nan, pd.NA, pd.NaT], ids=repr)
@pytest.mark.parametrize("column", ["query_id", "doc_id", "score"])
def test_what_pandas_calls_missing_is_refused(column: str, missing: Any) -> None:
    frame = PANDAS.astype(object)
    frame.loc[0, column] = missing
    with pytest.raises(rf.DataError, match=f"{column}"):
        rf.read_run(frame)


@pytest.mark.parametrize(
    ("frame", "said"),
    [
        (PANDAS.assign(doc_id=[1, "b"]), "'doc_id' mixes types"),
        (PANDAS.assign(note=[1, "b"]), "'note' mixes types"),
        (PANDAS.assign(note=pd.Series([object(), object()], dtype=object)), "'note'"),
        (pd.concat([PANDAS, PANDAS[["score"]]], axis=1), "'score'"),
        (PANDAS.set_index("query_id", drop=False), "'query_id'"),
        (PANDAS.set_index(["query_id", "doc_id"]).set_axis(["query_id"], axis=1), "'query_id'"),
        (PANDAS.assign(doc_id=[b"1", b"2"]), "'doc_id' is Binary"),
        (PANDAS.assign(doc_id=[1.0, 2.0]), "'doc_id' is Float64"),
    ],
    ids=["mixed", "mixed metadata", "objects", "twice", "index and column", "index and value", "bytes", "floats"],
)
def test_pandas_frames_that_cannot_be_meant_are_refused_by_column(frame: pd.DataFrame, said: str) -> None:
    """Never with an error of pandas, pyarrow or Polars, and never without saying which column."""
    with pytest.raises(rf.DataError, match=said):
        rf.read_run(frame)


@pytest.mark.parametrize(
    "source", [PANDAS["score"], pd.Series([1.0, 2.0]), pd.Index(["q"])], ids=["column", "series", "index"]
)
def test_single_columns_of_pandas_are_no_run(source: Any) -> None:
    with pytest.raises(rf.DataError, match="run"):
        rf.read_run(source)


def test_a_series_of_pandas_whose_index_has_the_ids_is_a_run() -> None:
    """The result of a group-by."""
    series = PANDAS.set_index(["query_id", "doc_id"])["score"]
    assert rf.read_run(series.to_frame()).equals(rf.read_run(PANDAS))


def test_whole_numbers_as_names_of_pandas_columns_can_be_named() -> None:
    """A frame made of an array has the names 0, 1, 2."""
    frame = pd.DataFrame([["q", "a", 1.0]])
    columns: Any = {0: "query_id", 1: "doc_id", 2: "score"}
    try:
        run = rf.read_run(frame, columns=columns)
    except rf.DataError:
        run = rf.read_run(frame, columns={str(name): ours for name, ours in columns.items()})
    assert run.rows() == [("q", "a", 1.0)]


# Arrow.

ARROW = pa.table(BASE)


class Stream:
    """An object of which nothing is known but that it exports an Arrow stream."""

    def __init__(self, table: Any) -> None:
        self._table = table

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._table.__arrow_c_stream__(requested_schema)


@pytest.mark.parametrize(
    "make",
    [lambda: ARROW, ARROW.to_reader, lambda: ARROW.to_batches()[0], lambda: Stream(ARROW)],
    ids=["table", "reader", "batch", "stream"],
)
def test_everything_that_exports_arrow_is_a_run(make: Any) -> None:
    """Tables, readers that can be read once, record batches, and any other library's frames."""
    assert rf.read_run(make()).equals(rf.read_run(pl.DataFrame(BASE)))
    assert rf.evaluate(make(), {"q": {"1": 1}}, metrics="mrr").value("mrr") == 1.0


@pytest.mark.parametrize(
    "ids",
    [
        pa.array(["1", "2"]).dictionary_encode(),
        pa.array([1, 2]).dictionary_encode(),
        pa.array(["1", "2"], pa.large_string()),
        pa.array(["1", "2"], pa.string_view()),
        pa.array([1, 2], pa.uint16()),
        pa.chunked_array([["1"], ["2"]]),
    ],
    ids=["dictionary", "dictionary of numbers", "large", "view", "uint16", "chunks"],
)
def test_ids_of_every_arrow_type(ids: Any) -> None:
    assert rf.read_run(ARROW.set_column(1, "doc_id", ids))["doc_id"].to_list() == ["1", "2"]


@pytest.mark.parametrize(
    "table",
    [
        pa.table(
            [pa.array(["q"]), pa.array(["d"]), pa.array([1.0]), pa.array([1.0])], names=["qid", "doc", "score", "score"]
        ),
        ARROW.set_column(1, "doc_id", pa.RunEndEncodedArray.from_arrays([1, 2], ["1", "2"])),
        pa.chunked_array([[1.0]]),
    ],
    ids=["a name twice", "run-end encoded", "one column"],
)
def test_arrow_that_polars_cannot_take_is_refused(table: Any) -> None:
    with pytest.raises(rf.DataError, match="run"):
        rf.read_run(table)


@pytest.mark.parametrize("source", [pl.DataFrame(BASE), PANDAS, ARROW], ids=["polars", "pandas", "arrow"])
def test_the_callers_tables_stay_as_they_are(source: Any) -> None:
    before = pl.DataFrame(source)
    rf.read_run(source)
    rf.evaluate(source, {"q": {"1": 1}})
    assert pl.DataFrame(source).equals(before)


def test_decimals_that_float64_would_tie_are_refused() -> None:
    close = pl.Series("score", ["2.00000000000000002", "2.00000000000000001"]).str.to_decimal(scale=17)
    frame = pl.DataFrame({"query_id": ["q", "q"], "doc_id": ["a", "b"]}).with_columns(close)
    with pytest.raises(rf.DataError, match=r"'score' holds 2\.00000000000000002, which Float64 would round"):
        rf.read_run(frame)
    plain = frame.with_columns(pl.Series("score", ["0.1", "2.5"]).str.to_decimal(scale=3))
    assert rf.read_run(plain)["score"].to_list() == [0.1, 2.5]


@pytest.mark.parametrize("wrapped", [lambda value: value, lambda value: [value]], ids=["mapping", "list"])
def test_mappings_in_records_keep_the_keys_of_all(wrapped: Callable[[dict[str, int | None]], object]) -> None:
    frame = record_frame([{"m": wrapped({"a": 1})}, {"m": None}, {"m": wrapped({"b": 2})}], "records")
    assert frame["m"].to_list() == [wrapped({"a": 1, "b": None}), None, wrapped({"a": None, "b": 2})]


def test_mappings_beside_lists_are_refused() -> None:
    with pytest.raises(rf.DataError, match=r"^records: some values of 'm' are mappings, and others none, which"):
        record_frame([{"m": {"a": 1}}, {"m": [{"a": 1}]}], "records")
