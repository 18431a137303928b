"""Metadata behind scores: a left join that loses no row, multiplies none and says what had no counterpart."""

from __future__ import annotations

import polars as pl

from rankframe.errors import DataError, counted, listed
from rankframe.frames.coerce import collected, conform, table_frame
from rankframe.frames.ledger import Note, note
from rankframe.frames.schemas import QUERIES, SAMPLES, Column, Schema

_ALIASES = {column.name: column.aliases for schema in (SAMPLES, QUERIES) for column in schema.columns}


def with_metadata(
    scores: pl.DataFrame, metadata: object, keys: list[str], suffix: str | None, unit_key: str
) -> tuple[pl.DataFrame, list[Note]]:
    """`scores` with the columns of `metadata` behind them, and notes of keys that are on one side only.

    Raises:
        DataError: for `metadata` that is no frame or lacks a key, for keys that stand there more than once, and for
            column names that are taken, with `suffix` too.
    """
    right = _metadata_frame(metadata, keys, scores, unit_key)
    twice = right.filter(pl.struct(keys).is_duplicated())
    if twice.height:
        raise DataError(
            f"metadata: {counted(twice.height, 'row')} share a key ({', '.join(keys)}), such as "
            f"{listed(twice.select(keys).unique(maintain_order=True).rows(), 3)}; a join would multiply scores"
        )
    taken = [name for name in right.columns if name not in keys and name in scores.columns]
    if taken and suffix is None:
        raise DataError(f'metadata: the columns {listed(taken)} are in the scores already; suffix="_meta" renames them')
    renames = {name: f"{name}{suffix}" for name in taken}
    names = [renames.get(name, name) for name in right.columns if name not in keys]
    clash = sorted({name for name in names if name in scores.columns or names.count(name) > 1})
    if clash:
        raise DataError(f"metadata: with suffix={suffix!r} the columns {listed(clash)} are still taken")
    right = right.rename(renames)
    without = scores.join(right, on=keys, how="anti")[unit_key].unique().sort().to_list()
    extra = (
        right.join(scores, on=keys, how="anti")[unit_key if unit_key in keys else keys[-1]].unique().sort().to_list()
    )
    joined = scores.join(right, on=keys, how="left", maintain_order="left")
    return joined, [note("without_metadata", without), note("metadata_without_scores", extra)]


def _metadata_frame(metadata: object, keys: list[str], scores: pl.DataFrame, unit_key: str) -> pl.DataFrame:
    frame = table_frame(metadata, "metadata")
    if frame is None:
        raise DataError(f"metadata is a {type(metadata).__name__}; expected a frame with the column {unit_key!r}")
    known = Schema("metadata", tuple(Column(key, "id", _ALIASES.get(key, ())) for key in keys))
    right = collected(conform(collected(frame), known, "metadata"))
    missing = [name for name in keys if name not in right.columns or name not in scores.columns]
    if missing:
        raise DataError(
            f"metadata: the key {listed(missing)} is not on both sides; there are {listed(right.columns, 12)}"
        )
    if any(right[name].null_count() for name in keys):
        raise DataError("metadata: a key is null")
    return right
