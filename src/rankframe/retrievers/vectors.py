"""Vectors in frames: a column of lists becomes one matrix, and what is no vector is refused by name."""

from __future__ import annotations

from collections.abc import Callable
from os import PathLike
from typing import Any, Literal, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rankframe.errors import DataError, counted, listed, with_more
from rankframe.frames.checks import Loaded, valid_ids
from rankframe.frames.coerce import Frame, collected, conform, table_frame
from rankframe.frames.schemas import CORPUS, QUERIES, Schema
from rankframe.io.files import existing, format_of
from rankframe.io.tables import scan_parquet, unreadable
from rankframe.retrievers.searching import unique_ids

Matrix = NDArray[np.float32]

_SCHEMAS = {
    "doc_id": Schema("vectors of documents", CORPUS.columns[:1], "documents"),
    "query_id": Schema("vectors of queries", QUERIES.columns[:1], "queries"),
}


class Vectors(NamedTuple):
    """Ids and their vectors: row i of the matrix belongs to ids[i]; `where` says whence they came."""

    ids: pl.Series
    matrix: Matrix
    where: str

    @property
    def dim(self) -> int | None:
        """How many numbers a vector has; None where there is no vector."""
        return self.matrix.shape[1] if len(self.ids) else None


def load_vectors(source: object, key: Literal["doc_id", "query_id"]) -> Vectors:
    """The vectors of a frame, anything that holds one, or a path to Parquet.

    Args:
        source: holds the column `key` (or one of its aliases) and `vector`, a List or Array of numbers.
        key: "doc_id" or "query_id".

    Returns:
        The ids as String and a Float32 matrix, in the order of the rows; other columns are not read. Vectors that are
        Float32 already are not copied. No rows: a matrix of none.

    Raises:
        FileNotFoundError: for a path where nothing is.
        DataError: for what holds no such table, and vectors that are null, not all of one length, or hold what Float32
            cannot: the message names the ids.
    """
    schema = _SCHEMAS[key]
    frame, where = _table(source, schema)
    frame = conform(frame, schema, where)
    names = frame.collect_schema().names()
    if "vector" not in names:
        raise DataError(
            f"{where}: no column 'vector' among {listed(names, 12)}; a List or Array of numbers is expected"
        )
    try:
        loaded = Loaded(collected(frame.select(key, "vector")), where)
    except (pl.exceptions.PolarsError, OSError) as error:
        raise unreadable(where, "a table", error) from error
    ids = valid_ids(loaded, key).frame[key]
    unique_ids(ids, where)
    return Vectors(ids, _matrix(loaded.frame["vector"], ids, where), where)


def _table(source: object, schema: Schema) -> tuple[Frame, str]:
    if isinstance(source, (str, PathLike)):
        path = existing(source)
        if format_of(path, None, "trec") != "parquet":
            raise DataError(f"{path}: vectors are read from Parquet; anything else as a frame")
        return scan_parquet(path), str(path)
    frame = table_frame(source, schema.label)
    if frame is None:
        raise DataError(
            f"{schema.label}: a {type(source).__name__} holds no table; expected a frame with "
            f"{schema.columns[0].name} and vector, or a path to Parquet"
        )
    return frame, schema.label


def _matrix(vectors: pl.Series, ids: pl.Series, where: str) -> Matrix:
    dtype = vectors.dtype
    if not len(vectors):
        return np.empty((0, 0), dtype=np.float32)
    inner: Any = dtype.inner if isinstance(dtype, (pl.List, pl.Array)) else None
    if dtype != pl.Null and (inner is None or not (inner.is_numeric() or inner == pl.Null)):
        raise DataError(f"{where}: 'vector' is {dtype}; expected a List or Array of numbers")

    def refuse(rows: pl.Series, what: str, told: Callable[[int], str] = lambda _: "") -> None:
        if len(rows):
            examples = [f"{ids[row]}{told(row)}" for row in rows.head(5)]
            raise DataError(f"{where}: {counted(len(rows), 'vector')} {what}: {with_more(examples, len(rows))}")

    refuse(vectors.is_null().arg_true(), "null")
    if isinstance(dtype, pl.Array):
        vectors = vectors.cast(pl.List(inner))
    lengths = vectors.list.len()
    usual = int(lengths.mode().max())  # type: ignore[arg-type]  # there is one
    refuse(
        (lengths != usual).arg_true(),
        f"not of {counted(usual, 'number')} like the others",
        lambda row: f" ({lengths[row]})",
    )
    if not usual:
        raise DataError(f"{where}: the vectors are empty")
    flat = vectors.explode().cast(pl.Float32).rechunk()
    odd = (~flat.is_finite()).fill_null(value=True).arg_true() // usual
    refuse(odd.unique().sort(), "with a number that is null, NaN, infinite or beyond Float32")
    matrix: Matrix = flat.to_numpy().reshape(len(vectors), usual)
    return matrix
