"""Samples as Ragas holds them, and back: its twelve fields, and what it cannot hold from where they came."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Literal

import polars as pl

from rankframe.errors import DataError, counted, listed
from rankframe.frames.checks import Loaded
from rankframe.io.samples import load_samples

References = Literal["error", "first"]
Nulls = Literal["error", "empty"]

RAGAS_FIELDS = (
    "user_input",
    "retrieved_contexts",
    "reference_contexts",
    "retrieved_context_ids",
    "reference_context_ids",
    "response",
    "multi_responses",
    "reference",
    "rubrics",
    "persona_name",
    "query_style",
    "query_length",
)
"""The fields of Ragas' SingleTurnSample, in its order."""

_TEXT_LISTS = ("retrieved_contexts", "reference_contexts", "multi_responses")
_ID_LISTS = ("retrieved_context_ids", "reference_context_ids")


def from_ragas_dataset(dataset: Any, samples: object = None) -> pl.DataFrame:
    """The samples of an `EvaluationDataset` as a frame; Ragas need not be installed.

    Args:
        dataset: an `EvaluationDataset` of single turns.
        samples: what the dataset was made from, in the same order, as `read_samples` takes it: what Ragas cannot hold
            is taken from there by position, and fields that are filled or changed since are those of the dataset.

    Returns:
        the columns of `samples` and any field that was filled since; without `samples`, sample_id String (made) and
        the fields that any sample has. Texts are String, lists List(String), context ids text.

    Raises:
        DataError: for conversations, for another number of samples, and where `user_input` differs.

    >>> from types import SimpleNamespace
    >>> turns = [SimpleNamespace(user_input="Where?", retrieved_contexts=["It is here."], response="Here.")]
    >>> from_ragas_dataset(turns, samples=[{"sample_id": "s1", "user_input": "Where?", "topic": "places"}]).row(0)
    ('s1', 'Where?', 'places', ['It is here.'], 'Here.')
    """
    turns = list(getattr(dataset, "samples", dataset))
    odd = [place for place, turn in enumerate(turns) if not hasattr(turn, "retrieved_contexts")]
    if odd:
        raise DataError(
            f"dataset: sample {odd[0]} is a {type(turns[odd[0]]).__name__}; expected an EvaluationDataset of "
            f"SingleTurnSamples"
        )
    fields = pl.DataFrame([_field(name, [getattr(turn, name, None) for turn in turns]) for name in RAGAS_FIELDS])
    if samples is None:
        filled = [name for name in RAGAS_FIELDS if fields[name].null_count() < fields.height or name == "user_input"]
        return loaded_samples(fields.select(filled)).frame
    loaded = loaded_samples(samples)
    kept = loaded.frame
    if kept.height != fields.height:
        raise DataError(
            f"dataset: {counted(fields.height, 'sample')}, and {kept.height:,} in samples=; give those that the "
            f"dataset was made from, in the same order"
        )
    sent = given_fields(loaded, "first", "empty")
    ours, theirs = sent["user_input"], fields["user_input"]
    if other := ours.ne_missing(theirs).arg_true().to_list():
        raise DataError(
            f"dataset: user_input of {counted(len(other), 'sample')} differs from samples=, first that of sample "
            f"{kept['sample_id'][other[0]]!r}: {theirs[other[0]]!r:.80} is not {ours[other[0]]!r:.80}"
        )
    changed = [name for name in RAGAS_FIELDS if not all(_same(sent[name], fields[name]))]
    return kept.with_columns(_merged(name, kept, sent, fields) for name in changed)


def _same(sent: pl.Series, come: pl.Series) -> list[bool]:
    """Where a field is as it was given to Ragas."""
    return [before == after for before, after in zip(_cells(sent), _cells(come), strict=True)]


def _merged(name: str, kept: pl.DataFrame, sent: pl.DataFrame, fields: pl.DataFrame) -> pl.Series:
    """A field as it was where it is unchanged, else as Ragas has it."""
    ours = _cells(kept[name]) if name in kept.columns else [None] * kept.height
    same = _same(sent[name], fields[name])
    told = zip(ours, _cells(fields[name]), same, strict=True)
    return _field(name, [mine if as_sent else new for mine, new, as_sent in told])


def _field(name: str, values: Sequence[Any]) -> pl.Series:
    """A field of Ragas as a column; of rubrics every key of any sample is a field, null where a sample lacks it."""
    if name == "rubrics":
        keys = dict.fromkeys(key for value in values if value is not None for key in value)
        return pl.Series(name, values, dtype=pl.Struct(dict.fromkeys(keys, pl.String())))
    if name in _ID_LISTS:
        texts = [None if ids is None else [None if each is None else str(each) for each in ids] for ids in values]
        return pl.Series(name, texts, dtype=pl.List(pl.String))
    return pl.Series(name, values, dtype=pl.List(pl.String) if name in _TEXT_LISTS else pl.String)


def _cells(column: pl.Series) -> list[Any]:
    """The cells as Python has them, rubrics without the keys that only other samples have."""
    if column.name != "rubrics":
        return column.to_list()
    return [None if cell is None else _without_nones(cell) for cell in column.to_list()]


def _without_nones(rubrics: Any) -> Any:
    return {key: text for key, text in rubrics.items() if text is not None} if isinstance(rubrics, dict) else rubrics


def loaded_samples(samples: object) -> Loaded:
    """What `load_samples` gives; options that its messages name are those of `read_samples`."""
    try:
        return load_samples(samples)
    except DataError as error:
        options = re.search(r"\b(invalid|columns|format|lists|legacy)=", str(error))
        hint = "; these are options of read_samples, whose frame is taken here" if options else ""
        raise DataError(f"{error}{hint}") from error


def given_fields(loaded: Loaded, references: References, nulls: Nulls) -> pl.DataFrame:
    """The twelve fields as Ragas is given them; what it cannot hold is refused, naming the samples."""
    frame = loaded.frame
    if "references" in frame.columns:
        frame = frame.with_columns(reference=one_reference(loaded, references))
    for name in (*_TEXT_LISTS, *_ID_LISTS):
        if name in frame.columns:
            frame = frame.with_columns(_without_nulls(frame[name], loaded, nulls))
    if "rubrics" in frame.columns:
        _check_rubrics(frame["rubrics"], loaded.where)
    absent = [_field(name, [None] * frame.height) for name in RAGAS_FIELDS if name not in frame.columns]
    return frame.with_columns(absent).select(RAGAS_FIELDS)


def one_reference(loaded: Loaded, references: References) -> pl.Series:
    """`reference`, or where it is null the one that stands in `references`."""
    lists = loaded.frame["references"].list.drop_nulls()
    first = lists.list.first()
    if "reference" not in loaded.frame.columns:
        known = pl.repeat(None, len(lists), dtype=pl.String, eager=True)
    else:
        known = loaded.frame["reference"]
    several = loaded.frame["sample_id"].filter(known.is_null() & (lists.list.len() > 1).fill_null(value=False))
    if len(several) and references == "error":
        raise DataError(
            f"{loaded.where}: {counted(len(several), 'sample')} with several references and none in 'reference': "
            f'{listed(several)}; Ragas holds one: references="first" gives it the first'
        )
    return known.zip_with(known.is_not_null(), first)


def _without_nulls(lists: pl.Series, loaded: Loaded, nulls: Nulls) -> pl.Series:
    with_null = lists.list.eval(pl.element().is_null().any()).list.first().fill_null(value=False)
    samples = loaded.frame["sample_id"].filter(with_null)
    if not len(samples):
        return lists
    if lists.name in _ID_LISTS:
        hint = "give every context an id"
    elif nulls == "empty":
        return lists.list.eval(pl.element().fill_null(""))
    else:
        hint = 'nulls="empty" gives an empty text in its place, where ids keep their places too'
    raise DataError(
        f"{loaded.where}: a null inside {lists.name!r} in {counted(len(samples), 'sample')}: {listed(samples)}; Ragas "
        f"refuses it: {hint}"
    )


def plain_rows(frame: pl.DataFrame) -> list[dict[str, Any]]:
    """The rows as Python has them, rubrics without the keys that only other samples have."""
    columns = [_cells(column) for column in frame]
    return [dict(zip(frame.columns, row, strict=True)) for row in zip(*columns, strict=True)]


def _check_rubrics(rubrics: pl.Series, where: str) -> None:
    dtype = rubrics.dtype
    texts = isinstance(dtype, pl.Struct) and all(each.dtype in (pl.String, pl.Null) for each in dtype.fields)
    if not texts and rubrics.null_count() < len(rubrics):
        raise DataError(f"{where}: 'rubrics' is {dtype}; Ragas takes a mapping of texts for each sample, a Struct here")
