"""Verdicts and labels in any form become pairs: two columns of one dtype, aligned by position or by id."""

from __future__ import annotations

import math
import numbers
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, TypeGuard

import polars as pl

from rankframe.errors import DataError, counted, listed
from rankframe.frames.coerce import collected, conform, id_series, table_frame
from rankframe.frames.schemas import Column, Schema

_KEY = "sample_id"
_KINDS = {"Boolean": "booleans", "String": "text", "Int64": "whole numbers"}


@dataclass(frozen=True, slots=True)
class Pairs:
    """What there is to compare: verdicts and labels of one dtype without nulls, and what could not be paired."""

    judged: pl.Series
    label: pl.Series
    n_abstained: int
    n_unlabelled: int
    only_judged: tuple[str, ...]
    only_labels: tuple[str, ...]


def paired(judged: object, labels: object, threshold: float | None) -> Pairs:
    """The pairs that have both a verdict and a label; at least one."""
    verdicts, truth, only_judged, only_labels = _side_by_side(judged, labels)
    has_verdict, has_label = verdicts.is_not_null(), truth.is_not_null()
    both, n_labelled = has_verdict & has_label, int(has_label.sum())
    if not both.any():
        raise DataError(
            f"no pair has a verdict and a label: {counted(len(truth), 'pair')}, {n_labelled:,} with a label, "
            f"{int(has_verdict.sum()):,} with a verdict"
            + (f"; only judged: {listed(only_judged)}" if only_judged else "")
            + (f"; only labelled: {listed(only_labels)}" if only_labels else "")
        )
    found = _comparable(verdicts.filter(both), truth.filter(both), threshold)
    n_abstained, n_unlabelled = n_labelled - int(both.sum()), len(truth) - n_labelled
    return Pairs(*found, n_abstained, n_unlabelled, only_judged, only_labels)


def _side_by_side(judged: object, labels: object) -> tuple[pl.Series, pl.Series, tuple[str, ...], tuple[str, ...]]:
    """Verdicts and labels of equal length, and the ids that only one of them has."""
    (ids, verdicts), (label_ids, truth) = _side(judged, "judged"), _side(labels, "labels")
    if ids is not None and label_ids is not None:
        left = pl.DataFrame([ids, verdicts.rename("judged")])
        right = pl.DataFrame([label_ids, truth.rename("label")])
        both = left.join(right, on=_KEY)
        only = (one.join(other, on=_KEY, how="anti")[_KEY].sort() for one, other in ((left, right), (right, left)))
        only_judged, only_labels = map(tuple, only)
        return both["judged"], both["label"], only_judged, only_labels
    if ids is not None or label_ids is not None:
        by_id, by_position = ("judged", "labels") if ids is not None else ("labels", "judged")
        raise DataError(
            f"{by_id} has ids and {by_position} is a column without; give both as columns of the same order, or both "
            f"with ids: a mapping {_KEY} -> verdict, or a frame of {_KEY} and verdict"
        )
    if len(verdicts) != len(truth):
        raise DataError(
            f"judged has {counted(len(verdicts), 'row')} and labels {counted(len(truth), 'row')}; columns are aligned "
            f"by position: a missing verdict is None, and mappings or frames with {_KEY} are aligned by id"
        )
    if _is_pandas(judged) and _is_pandas(labels) and not judged.index.equals(labels.index):
        raise DataError(
            "judged and labels are pandas Series with different indexes, and columns are aligned by position; give "
            "judged.to_dict() and labels.to_dict() to align them by index, or reset_index(drop=True) on both"
        )
    return verdicts, truth, (), ()


def _is_pandas(source: object) -> TypeGuard[Any]:
    """Whether this is a pandas Series."""
    return type(source).__module__.partition(".")[0] == "pandas" and not hasattr(source, "columns")


def _side(source: object, where: str) -> tuple[pl.Series | None, pl.Series]:
    """The ids, None for a column, and the verdicts of one side."""
    if isinstance(source, Mapping):
        return _keyed(id_series(_KEY, list(source), where), where), _listed(source.values(), where)
    if (column := _column(source, where)) is not None:
        return None, column
    if isinstance(source, Sequence) and not isinstance(source, (str, bytes)):
        name = _verdict_name(dict.fromkeys(key for record in source for key in record), where)
        ids = id_series(_KEY, [record.get(_KEY) for record in source], where)
        return _keyed(ids, where), _listed((record.get(name) for record in source), where)
    frame = table_frame(source, where)
    if frame is None:
        raise DataError(
            f"{where} is a {type(source).__name__}; expected a column (pl.Series, list, numpy array, pandas Series), "
            f"a mapping {_KEY} -> verdict, or a frame of {_KEY} and verdict"
        )
    name = _verdict_name(frame.collect_schema(), where)
    table = collected(conform(frame.select(_KEY, name), Schema("verdicts", (Column(_KEY, "id"),)), where))
    return _keyed(table[_KEY], where), _typed(table[name], where)


def _verdict_name(names: Iterable[str], where: str) -> str:
    """The one column beside the ids."""
    others = [name for name in names if name != _KEY]
    if _KEY not in names or len(others) != 1:
        raise DataError(
            f"{where}: a frame of verdicts has {_KEY} and one column more, this one has {listed(names, 12)}; "
            f'choose them, as in frame.select("{_KEY}", "verdict"), or give the column alone'
        )
    return others[0]


def _keyed(ids: pl.Series, where: str) -> pl.Series:
    """The ids, which are there and stand once."""
    if ids.null_count():
        raise DataError(f"{where}: {counted(ids.null_count(), 'row')} without a {_KEY}")
    twice = ids.filter(ids.is_duplicated()).unique(maintain_order=True)
    if len(twice):
        raise DataError(
            f"{where}: {counted(len(twice), 'id')} more than once, such as {listed(twice)}; one verdict per sample, so "
            f"choose one run or judge first"
        )
    return ids


def _column(source: object, where: str) -> pl.Series | None:
    """The verdicts of a column, None where it is no column."""
    import numpy as np

    if isinstance(source, pl.Series):
        return _typed(source, where)
    if _is_pandas(source):
        source = np.asarray(source)
    if isinstance(source, np.ndarray):
        if source.ndim != 1:
            raise DataError(f"{where} is an array of shape {source.shape}; a column of verdicts has one dimension")
        if source.dtype.kind == "f" and source.dtype.itemsize == 4 and not np.ma.isMaskedArray(source):
            return _typed(pl.Series(source.astype(np.float32)), where)  # as a list it would be 0.699999988 for 0.7
        return _listed(source.tolist(), where)
    if isinstance(source, Sequence) and not isinstance(source, (str, bytes)):
        records = bool(source) and all(isinstance(row, Mapping) for row in source)
        return None if records else _listed(source, where)
    return None


def _typed(values: pl.Series, where: str) -> pl.Series:
    """The verdicts as Boolean, String, Int64 or a float without NaN."""
    dtype = values.dtype
    if dtype in (pl.Boolean, pl.String, pl.Null):
        return values
    if dtype.is_float():
        return values.fill_nan(None)
    if dtype.is_decimal():
        return values.cast(pl.Float64)
    if dtype.is_integer() or dtype in (pl.Categorical, pl.Enum):
        try:
            return values.cast(pl.Int64 if dtype.is_integer() else pl.String)
        except pl.exceptions.InvalidOperationError as error:
            raise DataError(f"{where} holds a whole number of more than 64 bits: {values.max()!r}") from error
    if dtype == pl.Object:
        return _listed(values.to_list(), where)
    raise DataError(f"{where} is {dtype}; verdicts are booleans, text or numbers")


def _listed(values: Iterable[object], where: str) -> pl.Series:
    """The verdicts from Python values of one kind."""
    plain = [_plain(value, row, where) for row, value in enumerate(values)]
    count = Counter(type(value) for value in plain if value is not None)
    if count.keys() == {str}:
        return id_series("verdict", plain, where)
    if len(count) > 1 and count.keys() != {int, float}:
        first = {kind: next(value for value in plain if type(value) is kind) for kind in count}
        told = ", ".join(f"{kind.__name__} ({n:,}, such as {first[kind]!r})" for kind, n in count.items())
        raise DataError(f"{where} mixes verdicts of the types {told}; make them one type first")
    wide = [value for value in plain if type(value) is int and not -(2**63) <= value < 2**63]
    if wide:
        raise DataError(f"{where} holds a whole number of more than 64 bits: {wide[0]}")
    dtype = {bool: pl.Boolean, int: pl.Int64, float: pl.Float64}
    return pl.Series(plain, dtype=pl.Float64 if float in count else dtype[next(iter(count))] if count else pl.Null)


def _plain(value: object, row: int, where: str) -> bool | int | float | str | None:
    """A verdict as Python's own type; None, NaN and pandas' NA are none."""
    if value is None or type(value).__name__ in {"NAType", "NaTType"}:
        return None
    if isinstance(value, bool):
        return value
    if isinstance(value, str):
        return str.__str__(value)  # the text of a member of a str Enum too
    if isinstance(value, numbers.Integral):
        return int(value)
    if isinstance(value, (numbers.Real, Decimal)):
        return None if math.isnan(value) else float(value)
    if type(value).__name__ in {"bool", "bool_"}:  # numpy's is no bool
        return bool(value)
    raise DataError(
        f"{where}: row {row} holds {value!r:.60} ({type(value).__name__}); a verdict is a boolean, text, a number, or "
        f"None where there is none"
    )


def _comparable(judged: pl.Series, label: pl.Series, threshold: float | None) -> tuple[pl.Series, pl.Series]:
    """Both columns as one kind: Boolean, String or Int64."""
    if threshold is not None and not (judged.dtype.is_float() or label.dtype.is_float()):
        raise DataError(
            f"threshold={threshold!r} cuts floats, and there are none: judged holds {kind(judged)} and labels "
            f"{kind(label)}; leave it out"
        )
    judged, label = _discrete(judged, threshold, "judged"), _discrete(label, threshold, "labels")
    if judged.dtype == pl.Boolean and label.dtype == pl.Int64:
        label = _as_booleans(label, "labels", "judged")
    if label.dtype == pl.Boolean and judged.dtype == pl.Int64:
        judged = _as_booleans(judged, "judged", "labels")
    if judged.dtype != label.dtype:
        kinds = {judged.dtype, label.dtype}
        hint = "map the text first, as in {'yes': True, 'no': False}" if pl.Boolean in kinds else "make both text first"
        text = judged if judged.dtype == pl.String else label
        raise DataError(
            f"judged holds {kind(judged)} and labels {kind(label)}, which cannot be compared; {hint} "
            f"(the text is {listed(text.unique().sort())})"
        )
    return judged.alias("judged"), label.alias("label")


def kind(values: pl.Series) -> str:
    """What a column holds, in a word of the messages."""
    return "floats" if values.dtype.is_float() else _KINDS[str(values.dtype)]


def _discrete(values: pl.Series, threshold: float | None, where: str) -> pl.Series:
    """Floats as booleans by a threshold, or as the whole numbers that they are; anything else as it is."""
    if not values.dtype.is_float():
        return values
    if threshold is not None:
        return values >= pl.Series([threshold], dtype=values.dtype)  # in their own precision: Float32 0.7 is from 0.7
    odd = values.filter((values != values.round()) | (values.abs() >= 2**53))
    if len(odd):
        raise DataError(
            f"{where}: {counted(len(odd), 'float')} no category, such as {listed(odd.unique(maintain_order=True), 3)}; "
            f"threshold=0.5 makes floats booleans, True from 0.5 on"
        )
    return values.cast(pl.Int64)


def _as_booleans(values: pl.Series, where: str, other: str) -> pl.Series:
    odd = sorted(set(values) - {0, 1})
    if odd:
        raise DataError(
            f"{where} holds whole numbers such as {listed(odd, 3)} and {other} booleans; 0 and 1 alone stand for "
            f"booleans: cut the numbers first, as in {where} >= {odd[-1]}"
        )
    return values.cast(pl.Boolean)
