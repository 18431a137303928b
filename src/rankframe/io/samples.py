"""RAG samples: one row per question and answer, from files, records, frames and other libraries' data sets."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any, get_args

import polars as pl

from rankframe.errors import EXAMPLES, DataError, listed, nearest, warn
from rankframe.frames.cells import listlike, plain
from rankframe.frames.checks import Invalid, Loaded, choice
from rankframe.frames.coerce import ArrowStream, Frame, collected, record_frame, table_frame
from rankframe.frames.ledger import REASONS
from rankframe.frames.samples import LEGACY, Options, Raw, identified, no_samples, refuse_mixed, shaped
from rankframe.frames.schemas import SAMPLES
from rankframe.io.files import Format, existing, format_of
from rankframe.io.tables import read_csv, read_json, read_records, scan_parquet, unreadable
from rankframe.io.text import first_line

_FORMATS = ("jsonl", "json", "csv", "parquet")


def read_samples(
    source: object,
    *,
    format: Format | None = None,
    columns: Mapping[str, str] | None = None,
    lists: str | None = None,
    legacy: bool = False,
    invalid: Invalid = "error",
) -> pl.DataFrame:
    """RAG samples as a frame.

    Args:
        source: a path (JSON lines, JSON, CSV, Parquet or a folder of it; gzip and zstd are recognised), records
            (mappings, dataclass or pydantic objects, in any iterable), a mapping sample_id -> record, a mapping of
            columns, a frame (Polars, pandas, pyarrow, anything with an Arrow stream), a `Dataset` of Hugging Face, or
            an `EvaluationDataset` of Ragas.
        format: what a file holds ("jsonl", "json", "csv", "parquet"), where its suffix does not say so.
        columns: your column names -> ours; a name that stands for itself stays metadata.
        lists: how lists that are stored as text are decoded: "json" as JSON arrays, "python" as Python prints lists,
            any other text is the separator between their parts. Without it, text in place of a list is refused.
        legacy: map the names of Ragas 0.1 (question, answer, contexts, ground_truth, ground_truths).
        invalid: "error" refuses malformed lines and null sample ids; "drop" leaves them out with a warning.

    Returns:
        As far as the source has them, in this order: run_id, sample_id, user_input, response, reference String,
        references, retrieved_contexts, reference_contexts, retrieved_context_ids, reference_context_ids,
        multi_responses List(String), rubrics, persona_name, query_style, query_length, query_id String,
        ground_truth_sources List(String), then metadata as it is. Rows as they stand. Without ids, sample_id is
        the position within its run, from 0, padded with zeros. A list in `reference` stands in `references`. Whatever
        stands for none (None, NaN, pandas.NA) is null, in a list too; an empty list stays empty. No rows for an empty
        source.

    Raises:
        FileNotFoundError: for a path where nothing is.
        DataError: for input that cannot be read as it is; the message names samples, by number from 0 and by id, and
            what resolves it.

    >>> read_samples([{"user_input": "Where?", "response": "Here.", "retrieved_contexts": ["It is here."]}]).rows()
    [('0', 'Where?', 'Here.', ['It is here.'])]
    """
    loaded = load_samples(source, format=format, columns=columns, lists=lists, legacy=legacy, invalid=invalid)
    for note in loaded.notes:
        warn(f"{loaded.where}: {REASONS[note.reason]}: {note.count:,}, such as {listed(note.examples)}")
    return loaded.frame


def scan_samples(
    source: object,
    *,
    format: Format | None = None,
    columns: Mapping[str, str] | None = None,
    lists: str | None = None,
    legacy: bool = False,
) -> pl.LazyFrame:
    """`read_samples`, lazily where the source allows it (Parquet, LazyFrames).

    Names are settled at once and cells when it is collected; whether ids are null or repeated is for `read_samples`
    and for what scores the samples to say.
    """
    options = _options(columns, lists, legacy)
    if isinstance(source, pl.LazyFrame) or (
        isinstance(source, (str, PathLike)) and _format(existing(source), format) == "parquet"
    ):
        raw = _raw(source, format, options, "error", SAMPLES.label)
        if not raw.empty and pl.Object not in raw.parts(())[0].collect_schema().dtypes():
            return shaped(raw, options).lazy()
    return read_samples(source, format=format, columns=columns, lists=lists, legacy=legacy).lazy()


def load_samples(
    source: object,
    *,
    format: Format | None = None,
    columns: Mapping[str, str] | None = None,
    lists: str | None = None,
    legacy: bool = False,
    invalid: Invalid = "error",
    where: str = SAMPLES.label,
) -> Loaded:
    """Samples with where they came from and what was left out of them; `where` is how messages call an object."""
    choice("invalid", invalid, ("error", "drop"))
    options = _options(columns, lists, legacy)
    raw = _raw(source, format, options, invalid, where)
    try:
        if raw.empty:
            return Loaded(no_samples(), raw.where, raw.notes)
        frame = collected(shaped(raw, options))
        refuse_mixed(frame, options, raw.where)
    except (pl.exceptions.PolarsError, OSError) as error:
        raise unreadable(raw.where, "a table", error) from error
    return identified(Loaded(frame, raw.where, raw.notes), invalid)


def _options(columns: object, lists: object, legacy: object) -> Options:
    if columns is not None and not isinstance(columns, Mapping):
        raise DataError('columns= is a mapping here, as in {"yours": "user_input"}')
    if lists is not None and (not isinstance(lists, str) or not lists):
        raise DataError(f'lists={lists!r} is unknown; valid: "json", "python", or the text between the parts of a list')
    if not isinstance(legacy, bool):
        raise DataError(f"legacy={legacy!r} is unknown; valid: True, False")
    return Options(columns, lists, legacy)


# What a source holds.


def _raw(source: object, format: Format | None, options: Options, invalid: Invalid, where: str) -> Raw:
    if isinstance(source, (str, PathLike)):
        return _of_path(existing(source), format, options, invalid)
    home = type(source).__module__.partition(".")[0]
    if home == "datasets":
        source = _of_hub(source, where)
    if isinstance(source, Mapping):
        return _of_mapping(source, where)
    if home == "pandas" and hasattr(source, "columns"):
        return _of_pandas(source, where)
    if isinstance(source, (pl.DataFrame, pl.LazyFrame, ArrowStream)) and not isinstance(source, pl.Series):
        frame = table_frame(source, where)
        if frame is not None:
            return _of_frame(frame, where)
    return _of_records(_several(source, where), where)


def _several(source: object, where: str) -> Sequence[Any]:
    """The samples that an object holds."""
    held = getattr(source, "samples", None)  # as an EvaluationDataset of Ragas has
    if isinstance(held, (list, tuple)):
        return held
    if _is_record(source) and any(SAMPLES.column(str(name)) for name in _record(source, 0, where)):
        raise DataError(f"{where}: one {type(source).__name__} is one sample; it stands in a list, as in [sample]")
    is_column = isinstance(source, (bytes, bytearray, pl.Series)) or hasattr(source, "to_frame")
    if isinstance(source, Iterable) and not is_column and not _is_record(source):
        return list(source)
    raise DataError(
        f"{where}: a {type(source).__name__} holds no samples; expected a path, records, or a frame (Polars, pandas, "
        f"pyarrow)"
    )


def _of_hub(source: Any, where: str) -> object:
    """A data set of Hugging Face as the Arrow table of its rows, which are not all of those that it holds."""
    if isinstance(source, Mapping):
        raise DataError(
            f"{where}: the data set has the splits {listed(source)}; give one, as in "
            f"data[{next(iter(source), 'test')!r}]"
        )
    return source.with_format("arrow")[:] if hasattr(source, "__len__") else source


def _of_path(path: Path, format: Format | None, options: Options, invalid: Invalid) -> Raw:
    where = str(path)
    match _format(path, format):
        case "parquet":
            raw = _of_frame(scan_parquet(path), where)
        case "csv":
            known = dict.fromkeys([*(options.columns or ()), *LEGACY], "")
            raw = _of_frame(read_csv(path, SAMPLES, known), where)
        case "jsonl":
            records, notes = read_records(path, invalid)
            raw = replace(_of_records(records, where), notes=notes)
        case _:
            value = read_json(path)
            if not isinstance(value, (dict, list)):
                raise DataError(f"{path}: a JSON file holds a list of samples, or a mapping of them by id")
            raw = _of_mapping(value, where) if isinstance(value, dict) else _of_records(value, where)
    return raw


def _format(path: Path, given: Format | None) -> Format:
    """The format as given or by suffix; else JSON, by its first letter."""
    if given is not None and given in get_args(Format) and given not in _FORMATS:
        raise DataError(f"format={given!r}: samples are not read from it; {nearest(given, _FORMATS)}")
    kind = format_of(path, given, "trec")
    if kind in _FORMATS:
        return kind
    start = None if kind == "tsv" else first_line(path)
    if start is not None and start[1][0].startswith(("{", "[")):
        return "jsonl" if start[1][0].startswith("{") else "json"
    raise DataError(f"{path}: samples are read from JSON lines, JSON, CSV and Parquet; format= says which this is")


def _of_mapping(source: Mapping[Any, Any], where: str) -> Raw:
    """Records by their ids, or columns by their names."""
    values = list(source.values())
    if all(_is_record(value) for value in values):
        records = [{**_record(value, place, where)} for place, value in enumerate(values)]
        if any("sample_id" in record for record in records):
            raise DataError(
                f"{where}: the records of a mapping by id hold 'sample_id' too; leave it out of one of them"
            )
        return _of_records([{"sample_id": key, **record} for key, record in zip(source, records, strict=True)], where)
    if all(listlike(value) for value in values):
        lengths = {str(name): len(value) for name, value in source.items()}
        if len(set(lengths.values())) > 1:
            told = ", ".join(f"{name!r} {length:,}" for name, length in lengths.items())
            raise DataError(f"{where}: the columns of a mapping are of different lengths: {told}")
        return _of_records([dict(zip(source, row, strict=True)) for row in zip(*values, strict=True)], where)
    odd = [f"{key!r} holds {type(value).__name__}" for key, value in source.items() if not _is_record(value)]
    raise DataError(
        f"{where}: a mapping holds records by id, or whole columns: {', '.join(odd[:EXAMPLES])}; one sample stands in "
        f"a list, as in [sample]"
    )


def _of_frame(frame: Frame, where: str) -> Raw:
    def parts(known: Collection[str]) -> tuple[Frame, dict[str, list[Any]]]:
        odd = [name for name, dtype in schema.items() if dtype == pl.Object and name in known]
        if not odd:
            return frame, {}
        whole = collected(frame)
        return whole.drop(odd), {name: whole[name].to_list() for name in odd}

    schema = frame.collect_schema()
    return Raw(schema.names(), parts, where, empty=not schema)


def _of_pandas(source: Any, where: str) -> Raw:
    """A pandas frame; known columns of Python objects are read value by value, as these may be of any type."""
    names = [str(name) for name in [*(name for name in source.index.names if name is not None), *source.columns]]

    def parts(known: Collection[str]) -> tuple[Frame, dict[str, list[Any]]]:
        unique = len(set(names)) == len(names)
        odd = [name for name in source.columns if unique and source[name].dtype == object and str(name) in known]
        values = {str(name): source[name].tolist() for name in odd}
        rest = table_frame(source.drop(columns=odd), where)
        return rest, values  # type: ignore[return-value]  # it is a table

    return Raw(names, parts, where, empty=not names)


def _of_records(source: Sequence[Any], where: str) -> Raw:
    records = [_record(record, place, where) for place, record in enumerate(source)]
    names = list(dict.fromkeys(name for record in records for name in record))
    if odd := [name for name in names if not isinstance(name, str)]:
        raise DataError(f"{where}: the names of columns are text, got {listed(odd)}")

    def parts(known: Collection[str]) -> tuple[Frame, dict[str, list[Any]]]:
        values = {name: [record.get(name) for record in records] for name in names if name in known}
        others = [name for name in names if name not in known]
        rest = [{name: plain(record.get(name)) for name in others} for record in records]
        return record_frame(rest, where), values

    return Raw(names, parts, where, empty=not records)


def _is_record(value: object) -> bool:
    if isinstance(value, Mapping):
        return True
    return not isinstance(value, type) and (is_dataclass(value) or callable(getattr(value, "model_dump", None)))


def _record(record: Any, place: int, where: str) -> Mapping[Any, Any]:
    """A sample as a mapping: of a pydantic object the fields that it has, of a dataclass all."""
    if isinstance(record, Mapping):
        return record
    if not _is_record(record):
        raise DataError(
            f"{where}: sample {place} is {type(record).__name__} {record!r:.40}; a sample is a mapping of its columns, "
            f"or an object that has them as fields"
        )
    if is_dataclass(record):
        return {each.name: getattr(record, each.name) for each in fields(record)}
    return {name: value for name, value in record.model_dump().items() if value is not None}
