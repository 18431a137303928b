"""Line-based text: TREC files and tables of tabs or blanks, read into columns with their line numbers.

A line with a tab is split at tabs, so that ids may hold blanks; any other at runs of blanks. Blanks around a field
do not belong to it. Empty lines, and comments (lines that begin with `# `), are passed over.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from rankframe.errors import EXAMPLES, DataError, counted, listed
from rankframe.frames.checks import LINE, Invalid
from rankframe.frames.ledger import Note, note
from rankframe.frames.schemas import Schema
from rankframe.io.files import compression, read_text

_BLANKS = " \t\r\x0b\x0c"
_BOM = "\ufeff"
_WHOLE = "__rankframe_line__"
_COUNT = "__rankframe_fields__"


@dataclass(frozen=True, slots=True)
class Layout:
    """How the lines of a file are read: which fields they have, and which of them are numbers.

    least: how many fields a line must have. rest: whether the last field takes whatever is left of the line.
    header: the number of the line that holds names, to be passed over.
    sparse: whether two tabs in a row hold an empty field between them, as in a table; in TREC text they separate once.
    """

    fields: tuple[str, ...]
    numbers: tuple[str, ...] = ()
    least: int = 0
    rest: bool = False
    header: int | None = None
    sparse: bool = False


def split_line(line: str) -> list[str]:
    r"""The fields of one line.

    >>> split_line("q1\tred fox\t 1 "), split_line(" q1 0  d1\t")
    (['q1', 'red fox', '1'], ['q1', '0', 'd1'])
    """
    line = line.rstrip(_BLANKS)
    if "\t" in line:
        return [field.strip(_BLANKS) for field in line.split("\t")]
    return [field for field in line.strip(_BLANKS).split(" ") if field]


def first_line(path: Path) -> tuple[int, list[str]] | None:
    """Number and fields of the first line that holds anything, None in an empty file."""
    if compression(path) is None:  # without starting an engine for one line
        with path.open("rb") as file:
            for number, line in enumerate(file, start=1):
                text = _decoded(path, line).removeprefix(_BOM).rstrip(_BLANKS + "\n")
                if text.strip(_BLANKS) and text != "#" and not text.startswith("# "):
                    return number, split_line(text)
        return None
    lines = collect(path, numbered(path).head(1))
    return None if lines.is_empty() else (lines[LINE][0], split_line(lines[_WHOLE][0]))


def _decoded(path: Path, line: bytes) -> str:
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError:
        read_text(path)  # names the line
        raise


def collect(path: Path, lines: pl.LazyFrame) -> pl.DataFrame:
    """Lines of a file in memory; damaged compression or bytes that are no UTF-8 are an error that names the place."""
    try:
        return lines.collect()
    except (pl.exceptions.PolarsError, OSError) as error:
        read_text(path)  # names the line where it is not UTF-8, and says so where the compression is damaged
        raise DataError(f"{path}: cannot be read as text ({error})") from error


def numbered(path: Path) -> pl.LazyFrame:
    """The lines that hold anything, with their numbers: LINE Int64, text String."""
    text = pl.col(_WHOLE).str.strip_chars_end(_BLANKS)
    return (
        pl.scan_lines(path, name=_WHOLE, row_index_name=LINE, row_index_offset=1, glob=False)
        .with_columns(
            pl.when(pl.col(LINE) == 1).then(text.str.strip_prefix(_BOM)).otherwise(text).alias(_WHOLE),
            pl.col(LINE).cast(pl.Int64),
        )
        .filter(
            pl.col(_WHOLE).str.strip_chars_start(_BLANKS) != "",
            pl.col(_WHOLE) != "#",
            ~pl.col(_WHOLE).str.starts_with("# "),
        )
    )


def fields(path: Path, layout: Layout) -> pl.LazyFrame:
    """The fields of a layout by their places, all String and null where empty, with LINE and how many a line has."""
    width = len(layout.fields)
    text = pl.col(_WHOLE)
    tabbed = text.str.contains("\t", literal=True)
    blank = text.str.strip_chars_start(" ").str.replace_all(" +", " ")
    cells = text if layout.sparse else text.str.strip_chars_start(_BLANKS).str.replace_all(" *\t[ \t]*", "\t")
    split = (
        pl.when(tabbed)
        .then(_split(cells, "\t", width, rest=layout.rest))
        .otherwise(_split(blank, " ", width, rest=layout.rest))
    )
    lines = numbered(path)
    if layout.header is not None:
        lines = lines.filter(pl.col(LINE) != layout.header)
    names = [f"field_{place}" for place in range(width if layout.rest else width + 1)]
    parsed = lines.select(LINE, _WHOLE, *(split.struct.field(name).str.strip_chars(_BLANKS) for name in names))
    return parsed.select(
        LINE,
        _WHOLE,
        pl.sum_horizontal(pl.col(names).is_not_null()).alias(_COUNT),
        *(pl.when(pl.col(name) != "").then(pl.col(name)).alias(name) for name in names[:width]),
    )


def _split(text: pl.Expr, by: str, width: int, *, rest: bool) -> pl.Expr:
    return text.str.splitn(by, width if rest else width + 1)


def read_lines(path: Path, layout: Layout, invalid: Invalid) -> tuple[pl.DataFrame, list[Note]]:
    """The lines of a file as columns: text String, numbers Float64, and LINE.

    A line with too few or too many fields, or with text where a number belongs, is refused with its number and
    content; with `invalid="drop"` it is left out and noted.
    """
    raw = collect(path, fields(path, layout))
    wrong = (pl.col(_COUNT) < layout.least) | (pl.col(_COUNT) > len(layout.fields))
    places = {name: pl.col(f"field_{place}") for place, name in enumerate(layout.fields)}
    casts = {name: places[name].cast(pl.Float64, strict=False) for name in layout.numbers}
    unread = [places[name].is_not_null() & cast.is_null() for name, cast in casts.items()]
    wrong = pl.any_horizontal(wrong, *unread)
    bad = raw.filter(wrong)
    notes: list[Note] = []
    if bad.height:
        if invalid == "error":
            raise DataError(_malformed(path, bad, layout))
        notes = [note("invalid_dropped", [f"line {number}" for number in bad[LINE]])]
        raw = raw.filter(~wrong)
    return raw.select(LINE, *(casts.get(name, place).alias(name) for name, place in places.items())), notes


def _malformed(path: Path, bad: pl.DataFrame, layout: Layout) -> str:
    told = []
    for row in bad.head(EXAMPLES).iter_rows(named=True):
        line = row[_WHOLE] if len(row[_WHOLE]) <= 80 else row[_WHOLE][:77] + "..."
        count = row[_COUNT]
        if not layout.least <= count <= len(layout.fields):
            why = f"{counted(count, 'field') if count <= len(layout.fields) else f'more than {count - 1} fields'}"
        else:
            why = " and ".join(
                f"{name} is no number"
                for name in layout.numbers
                if not _is_number(row[f"field_{layout.fields.index(name)}"])
            )
        told.append(f"line {row[LINE]} ({why}): {line!r}")
    more = f"; and {bad.height - len(told):,} more" if bad.height > len(told) else ""
    expected = " ".join(layout.fields)
    optional = f" (the first {layout.least} of them at least)" if layout.least < len(layout.fields) else ""
    return (
        f"{path}: {counted(bad.height, 'malformed line')}: {'; '.join(told)}{more}; expected: {expected}{optional}, "
        f'separated by tabs or blanks; invalid="drop" leaves such lines out and counts them'
    )


def _is_number(text: str | None) -> bool:
    return text is None or pl.Series([text]).cast(pl.Float64, strict=False)[0] is not None


def numeric(text: str) -> bool:
    """Whether a field stands for a number, NaN and infinity among them."""
    return text != "" and _is_number(text)


def read_table(
    path: Path, schema: Schema, columns: Mapping[str, str] | Sequence[str] | None, invalid: Invalid
) -> tuple[pl.DataFrame, list[Note]]:
    """Queries or a corpus as a table of tabs: with a header that names its columns, or id and text without one."""
    first = first_line(path)
    required = schema.required
    if first is None:
        return pl.DataFrame(schema=dict.fromkeys(required, pl.String)), []
    number, names = first
    if columns is not None and not isinstance(columns, Mapping):
        return read_lines(path, Layout(tuple(columns), least=len(columns)), invalid)
    known = {name for column in schema.columns for name in (column.name, *column.aliases)} | set(columns or ())
    if sum(name in known for name in names) >= len(required):
        return read_lines(path, named(path, names, schema, number, columns), invalid)
    if len(names) != len(required):
        raise DataError(
            f"{path}: line {number} has {counted(len(names), 'field')} and no header; expected "
            f"{' and '.join(required)} between tabs; columns= names others in their order"
        )
    return read_lines(path, Layout(required, least=len(required)), invalid)


def named(path: Path, names: Sequence[str], schema: Schema, header: int, columns: Mapping[str, str] | None) -> Layout:
    """The layout of a table whose line `header` holds these names; a row must reach its last required column."""
    twice = sorted({name for name in names if list(names).count(name) > 1})
    if twice:
        raise DataError(f"{path}: line {header} names the column {listed(twice)} twice; rename one of them")
    ours = {name: column.name for column in schema.columns for name in (column.name, *column.aliases)} | {
        **(columns or {})
    }
    required = [place for place, name in enumerate(names) if ours.get(name) in schema.required]
    return Layout(tuple(names), least=1 + max(required, default=0), sparse=True, header=header)
