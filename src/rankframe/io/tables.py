"""Tables in files: Parquet, CSV, TSV, JSON and JSON lines, each as a frame with the columns that the file has."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import polars as pl

from rankframe.errors import EXAMPLES, DataError, counted, listed
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


def scan_csv(path: Path, schema: Schema, columns: Mapping[str, str] | None) -> pl.LazyFrame:
    """A CSV file with a header; known text columns are kept as text, so that 0042 stays 0042."""
    return _csv(path, path, schema, columns)


def read_csv(path: Path, schema: Schema, columns: Mapping[str, str] | None) -> pl.DataFrame:
    """A CSV file with a header, read whole; empty lines at its end are no rows, a row broken off there is an error."""
    content = read_bytes(path).rstrip(b"\r\n")
    if not content:
        raise DataError(f"{path}: the file is empty; a CSV file needs a header")
    try:
        frame = _csv(path, content + b"\n", schema, columns).collect()
    except pl.exceptions.PolarsError as error:
        read_text(path)  # names the line where it is not UTF-8
        raise DataError(f"{path}: cannot be read as CSV ({_first_line(error)})") from error
    last = content.rpartition(b"\n")[2]
    if frame.height and b'"' not in last and last.count(b",") < frame.width - 1:
        raise DataError(
            f"{path}: the last line has {last.count(b',') + 1} of {frame.width} fields: "
            f"{last[:80].decode(errors='replace')!r}; a download may have broken off"
        )
    return frame


def _csv(path: Path, content: Path | bytes, schema: Schema, columns: Mapping[str, str] | None) -> pl.LazyFrame:
    names = _csv_names(path, content)
    kinds = {name: column.kind for column in schema.columns for name in (column.name, *column.aliases)}
    kinds |= {mine: kinds[ours] for mine, ours in (columns or {}).items() if ours in kinds}
    text = {name: pl.String for name in names if kinds.get(name, "number") != "number"}
    return pl.scan_csv(content, schema_overrides=text, infer_schema_length=None)


def _csv_names(path: Path, content: Path | bytes) -> list[str]:
    """The names in the header of a CSV file; the same name twice is an error, as Polars would rename one."""
    try:
        header = pl.read_csv(content, has_header=False, n_rows=1, infer_schema=False, truncate_ragged_lines=True)
    except (pl.exceptions.PolarsError, OSError) as error:
        read_text(path)
        raise DataError(f"{path}: cannot be read as CSV ({_first_line(error)})") from error
    names = [str(name) for name in header.row(0)] if header.height else []
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise DataError(f"{path}: the header names the column {listed(twice)} twice; rename one of them")
    return names


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


def read_jsonl(
    path: Path, schema: Schema, columns: Mapping[str, str] | None, invalid: Invalid
) -> tuple[pl.DataFrame, list[Note]]:
    """A file of one JSON object per line; every key of any line is a column.

    A line that is no JSON object is refused with its number; with `invalid="drop"` it is left out and noted.
    """
    content = read_bytes(path)
    ids = schema.id_names(columns)
    if content.strip() and not _needs_care(content, ids):
        try:
            frame = pl.read_ndjson(content, infer_schema_length=None)
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException):
            pass  # the line is found below
        else:
            names = [name.encode() for name in frame.columns if name in ids or name in schema.required]
            if all(len(re.findall(rb'"%s"\s*:' % re.escape(name), content)) <= frame.height for name in names):
                return frame, []
    return _by_line(path, ids, invalid)


def _needs_care(content: bytes, ids: Collection[str]) -> bool:
    """Whether an id may be no text and no whole number, or a text may hold half a surrogate pair: Polars takes both."""
    names = b"|".join(re.escape(name.encode()) for name in sorted(ids))
    odd_id = rb'"(?:%s)"\s*:\s*(?:-?\d+[.eE]|[tfn\[{])' % names
    half_pair = rb"\\u[dD][89abAB][0-9a-fA-F]{2}(?!\\u[dD][c-fC-F])"
    return re.search(odd_id, content) is not None or re.search(half_pair, content) is not None


def _by_line(path: Path, ids: Collection[str], invalid: Invalid) -> tuple[pl.DataFrame, list[Note]]:
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
    return record_frame(records, str(path), ids), notes
