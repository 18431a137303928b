"""Tables in files: Parquet, CSV, TSV, JSON and JSON lines, each as a frame with the columns that the file has."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import polars as pl

from rankframe.errors import EXAMPLES, DataError, counted, listed, with_more
from rankframe.frames.checks import Invalid
from rankframe.frames.coerce import record_frame
from rankframe.frames.ledger import Note, note
from rankframe.frames.schemas import Schema
from rankframe.io.files import read_bytes, read_text

_HIVE_NULL = "__HIVE_DEFAULT_PARTITION__"
_LOGS = {
    "_delta_log": ("a Delta table", "give pl.scan_delta(path)"),
    "_spark_metadata": ("written by a stream of Spark", "write what Spark reads of it as plain Parquet"),
    ".hoodie": ("a Hudi table", "write what its engine reads of it as plain Parquet"),
}
"""Folders that stand beside files some of which are out of date: what they are of, and how to read it."""


def scan_parquet(path: Path) -> pl.LazyFrame:
    """A Parquet file, or every one in a folder."""
    return scan_shards(parquet_files(path), path) if path.is_dir() else scan_shards([path])


def parquet_files(folder: Path) -> list[Path]:
    """The Parquet files in a folder and below, in the order of their names.

    Names that begin with `_` or `.` are those of files that are not finished, or not meant to be read.

    Raises:
        DataError: where there is none, and for a table of which a log says which files count.
    """
    files = []
    for place, below, names in os.walk(folder, followlinks=True):
        if logs := _LOGS.keys() & set(below):
            what, how = _LOGS[logs.pop()]
            raise DataError(f"{place}: {what}, of which not every file counts; {how}")
        below[:] = [name for name in below if not name.startswith(("_", "."))]  # those alone are walked
        files += [
            Path(place) / name
            for name in names
            if not name.startswith(("_", ".")) and name.lower().endswith((".parquet", ".pq"))
        ]
    if not files:
        raise DataError(f"{folder}: no Parquet files in this folder")
    return sorted(files)


def scan_shards(files: Sequence[Path], root: Path | None = None) -> pl.LazyFrame:
    """Parquet files as one frame; they may differ in their columns, not in the type of one."""
    scans = scan_alike(files, root)
    place = str(files[0]) if len(files) == 1 else f"{files[0]} and {len(files) - 1} more"
    try:
        scan = scans[0] if len(scans) == 1 else pl.concat(scans, how="diagonal")
        scan.collect_schema()
    except (pl.exceptions.PolarsError, OSError) as error:
        raise unreadable(place, "Parquet", error) from error
    return scan


def scan_alike(files: Sequence[Path], root: Path | None = None) -> list[pl.LazyFrame]:
    """Parquet files in order, those beside each other that have the same columns as one frame.

    Below `root`, folders that are named `column=value` give their files this column, as text.
    """
    groups: list[tuple[pl.Schema, dict[str, str | None], list[Path]]] = []
    for file in files:
        try:
            schema = pl.scan_parquet(file, glob=False).collect_schema()
        except (pl.exceptions.PolarsError, OSError) as error:
            raise unreadable(file, "Parquet", error) from error
        partition = _partition(file, root)
        if groups and (list(groups[-1][0].items()), groups[-1][1]) == (list(schema.items()), partition):
            groups[-1][2].append(file)
        else:
            groups.append((schema, partition, [file]))
    return [
        pl.scan_parquet(paths, glob=False).with_columns(
            pl.lit(value, dtype=pl.String).alias(name) for name, value in partition.items() if name not in schema
        )
        for schema, partition, paths in groups
    ]


def _partition(file: Path, root: Path | None) -> dict[str, str | None]:
    """The columns that the folders of a file give it."""
    if root is None:
        return {}
    parts = [part.partition("=") for part in file.relative_to(root).parts[:-1] if "=" in part]
    return {name: None if value == _HIVE_NULL else unquote(value) for name, _, value in parts}


def unreadable(path: Path | str, what: str, error: Exception) -> DataError:
    """The error for a file whose content is not what it should be."""
    return DataError(f"{path}: cannot be read as {what} ({str(error).partition(chr(10))[0]})")


def read_csv(path: Path, schema: Schema, columns: Mapping[str, str] | None) -> pl.DataFrame:
    """A CSV file with a header; empty lines at its end are no rows, a row broken off there is an error."""
    content = read_bytes(path).rstrip(b"\r\n")
    if not content:
        raise DataError(f"{path}: the file is empty; a CSV file needs a header")
    try:
        frame = _csv(path, content + b"\n", schema, columns)
    except pl.exceptions.PolarsError as error:
        read_text(path)  # names the line where it is not UTF-8
        raise unreadable(path, "CSV", error) from error
    last = content.rpartition(b"\n")[2]
    if frame.height and b'"' not in last and last.count(b",") < frame.width - 1:
        raise DataError(
            f"{path}: the last line has {last.count(b',') + 1} of {frame.width} fields: "
            f"{last[:80].decode(errors='replace')!r}; a download may have broken off"
        )
    return frame


def _csv(path: Path, content: bytes, schema: Schema, columns: Mapping[str, str] | None) -> pl.DataFrame:
    """Every column as text, but for metadata that reads as numbers or truth values without losing a letter."""
    names = _csv_names(path, content)
    frame = pl.read_csv(content, infer_schema=False)
    known = {name for column in schema.columns for name in (column.name, *column.aliases)} | set(columns or {})
    return frame.with_columns(_inferred(frame[name]) for name in names if name not in known)


def _inferred(text: pl.Series) -> pl.Series:
    """A column of text as what it spells: whole numbers, numbers, truth values, or text (as 0042 is)."""
    for pattern, dtype in (
        (r"^-?(0|[1-9][0-9]{0,17})$", pl.Int64),
        (r"^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$", pl.Float64),
        (r"^(true|false)$", pl.Boolean),
    ):
        if text.null_count() < len(text) and text.str.contains(pattern).all():
            return (text == "true") if dtype == pl.Boolean else text.cast(dtype)
    return text


def _csv_names(path: Path, content: bytes) -> list[str]:
    """The names in the header of a CSV file; the same name twice is an error, as Polars would rename one."""
    try:
        header = pl.read_csv(content, has_header=False, n_rows=1, infer_schema=False, truncate_ragged_lines=True)
    except (pl.exceptions.PolarsError, OSError) as error:
        read_text(path)
        raise unreadable(path, "CSV", error) from error
    names = [str(name) for name in header.row(0)] if header.height else []
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise DataError(f"{path}: the header names the column {listed(twice)} twice; rename one of them")
    return names


def read_json(path: Path) -> Any:
    """The value that a JSON file holds; a name that an object has twice is an error, not a choice."""
    text = read_text(path)
    try:
        return json.loads(text, object_pairs_hook=_unique)
    except json.JSONDecodeError as error:
        raise DataError(f"{path}: line {error.lineno}, column {error.colno}: not JSON ({error.msg})") from error
    except _RepeatedNameError as error:
        raise DataError(f"{path}: a JSON object has the name {error.args[0]!r} twice") from None
    except (RecursionError, ValueError) as error:  # nested too deep, or a number of too many digits
        raise unreadable(path, "JSON", error) from error


class _RepeatedNameError(Exception):
    pass


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        seen: set[str] = set()
        raise _RepeatedNameError(next(name for name, _ in pairs if name in seen or seen.add(name)))  # type: ignore[func-returns-value]  # add() gives None, which is false
    return made


def read_jsonl(
    path: Path, schema: Schema, columns: Mapping[str, str] | None, invalid: Invalid
) -> tuple[pl.DataFrame, list[Note]]:
    """A file of one JSON object per line; every key of any line is a column.

    A line that is no JSON object is refused with its number; with `invalid="drop"` it is left out and noted.
    """
    content = read_bytes(path)
    texts = schema.text_names(columns)
    if content.strip() and not _needs_care(content, texts):
        try:
            frame = pl.read_ndjson(content, infer_schema_length=None)
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException):
            pass  # the line is found below
        else:
            names = [name.encode() for name in frame.columns if name in texts or name in schema.required]
            if all(len(re.findall(rb'"%s"\s*:' % re.escape(name), content)) <= frame.height for name in names):
                return frame, []
    return _by_line(path, texts, invalid)


def _needs_care(content: bytes, texts: Collection[str]) -> bool:
    """Whether a text may be none, or hold half a surrogate pair: Polars would take both for text."""
    names = b"|".join(re.escape(name.encode()) for name in sorted(texts))
    odd_text = rb'"(?:%s)"\s*:\s*(?:-?\d+[.eE]|[tf\[{])' % names
    half_pair = rb"\\u[dD][89abAB][0-9a-fA-F]{2}(?!\\u[dD][c-fC-F])"
    return re.search(odd_text, content) is not None or re.search(half_pair, content) is not None


def _by_line(path: Path, texts: Collection[str], invalid: Invalid) -> tuple[pl.DataFrame, list[Note]]:
    records, notes = read_records(path, invalid)
    return record_frame(records, str(path), texts), notes


def read_records(path: Path, invalid: Invalid) -> tuple[list[dict[str, Any]], list[Note]]:
    """The objects of a file of one JSON object per line, as Python values; lines without one as in `read_jsonl`."""
    records, wrong = [], []
    for number, line in enumerate(read_text(path).split("\n"), start=1):
        if not line.strip():
            continue
        try:
            record = json.loads(line, object_pairs_hook=_unique)
            if not isinstance(record, dict):
                wrong.append((number, f"a JSON {type(record).__name__}, not an object"))
            else:
                records.append(record)
        except json.JSONDecodeError as error:
            wrong.append((number, error.msg))
        except _RepeatedNameError as error:
            wrong.append((number, f"the name {error.args[0]!r} stands there twice"))
        except (RecursionError, ValueError) as error:  # nested too deep, or a number of too many digits
            wrong.append((number, str(error).partition("\n")[0]))
    if wrong and invalid == "error":
        told = with_more([f"line {number} ({why})" for number, why in wrong[:EXAMPLES]], len(wrong))
        raise DataError(
            f"{path}: {counted(len(wrong), 'line')} without a JSON object: {told}; a download may have broken "
            f'off; invalid="drop" leaves such lines out and counts them'
        )
    return records, [note("invalid_dropped", [f"line {number}" for number, _ in wrong])] if wrong else []
