"""Tables in files: Parquet, CSV, TSV, JSON and JSON lines, each as a frame with the columns that the file has."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl

from rankframe.errors import EXAMPLES, DataError, counted
from rankframe.frames.checks import Invalid
from rankframe.frames.coerce import record_frame
from rankframe.frames.ledger import Note, note
from rankframe.frames.schemas import Schema
from rankframe.io.files import read_bytes, read_text


def scan_parquet(path: Path) -> pl.LazyFrame:
    """A Parquet file, or every one in a folder."""
    source = path / "**/*.parquet" if path.is_dir() else path
    try:
        scan = pl.scan_parquet(source)
        scan.collect_schema()
    except (pl.exceptions.PolarsError, OSError) as error:
        raise DataError(f"{path}: cannot be read as Parquet ({_first_line(error)})") from error
    return scan


def scan_csv(path: Path, schema: Schema, columns: Mapping[str, str] | None, *, separator: str = ",") -> pl.LazyFrame:
    """A CSV file with a header; known text columns are kept as text, so that 0042 stays 0042."""
    names = schema_names(path, separator)
    text = {name for column in schema.columns if column.kind != "number" for name in (column.name, *column.aliases)} | {
        mine for mine, ours in (columns or {}).items() if ours in {c.name for c in schema.columns if c.kind != "number"}
    }
    return pl.scan_csv(
        path,
        separator=separator,
        quote_char='"' if separator == "," else None,
        schema_overrides={name: pl.String for name in names if name in text},
        infer_schema_length=None,
        missing_columns="raise",
    )


def read_csv(path: Path, schema: Schema, columns: Mapping[str, str] | None) -> pl.DataFrame:
    """A CSV file with a header, read whole."""
    try:
        return scan_csv(path, schema, columns).collect()
    except pl.exceptions.PolarsError as error:
        read_text(path)  # names the line where it is not UTF-8
        raise DataError(f"{path}: cannot be read as CSV ({_first_line(error)})") from error


def schema_names(path: Path, separator: str) -> list[str]:
    """The names in the header of a CSV file."""
    if not path.stat().st_size:
        raise DataError(f"{path}: the file is empty; a CSV file needs a header")
    try:
        scan = pl.scan_csv(path, separator=separator, infer_schema=False, n_rows=0)
        return scan.collect_schema().names()
    except pl.exceptions.PolarsError as error:
        raise DataError(f"{path}: cannot be read as CSV ({_first_line(error)})") from error


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0]


def read_json(path: Path) -> Any:
    """The value that a JSON file holds; a name that an object has twice is an error, not a choice."""
    text = read_text(path)
    try:
        return json.loads(text, object_pairs_hook=_unique)
    except json.JSONDecodeError as error:
        raise DataError(f"{path}: line {error.lineno}, column {error.colno}: not JSON ({error.msg})") from error
    except _RepeatedNameError as error:
        raise DataError(f"{path}: a JSON object has the name {error.args[0]!r} twice") from None


class _RepeatedNameError(Exception):
    pass


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        seen: set[str] = set()
        raise _RepeatedNameError(next(name for name, _ in pairs if name in seen or seen.add(name)))  # type: ignore[func-returns-value]  # add() gives None, which is false
    return made


def read_jsonl(path: Path, invalid: Invalid) -> tuple[pl.DataFrame, list[Note]]:
    """A file of one JSON object per line; every key of any line is a column.

    A line that is no JSON object is refused with its number; with `invalid="drop"` it is left out and noted.
    """
    content = read_bytes(path)
    if content.strip():
        try:
            return pl.read_ndjson(content, infer_schema_length=None), []
        except (pl.exceptions.PolarsError, BaseException) as error:
            if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
                raise
    return _by_line(path, invalid)


def _by_line(path: Path, invalid: Invalid) -> tuple[pl.DataFrame, list[Note]]:
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
    if wrong and invalid == "error":
        told = ", ".join(f"line {number} ({why})" for number, why in wrong[:EXAMPLES])
        more = f" and {len(wrong) - EXAMPLES:,} more" if len(wrong) > EXAMPLES else ""
        raise DataError(
            f"{path}: {counted(len(wrong), 'line')} without a JSON object: {told}{more}; a download may have broken "
            f'off; invalid="drop" leaves such lines out and counts them'
        )
    notes = [note("invalid_dropped", [f"line {number}" for number, _ in wrong])] if wrong else []
    return record_frame(records, str(path)), notes
