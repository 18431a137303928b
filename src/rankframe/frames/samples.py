"""Samples: which column is which, and every column as it is scored.

Names, lists and ids are settled here once, so that a metric meets List(String), String and null, and nothing else.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import polars as pl

from rankframe.errors import EXAMPLES, DataError, counted, listed, with_more
from rankframe.frames.cells import TEXTS, cells, listlike, missing, plain
from rankframe.frames.checks import Invalid, Loaded
from rankframe.frames.coerce import Frame, collected, collected_like, conform, list_cast, record_frame
from rankframe.frames.ledger import Note, note
from rankframe.frames.schemas import SAMPLES, Column

LEGACY = {
    "question": "user_input",
    "answer": "response",
    "contexts": "retrieved_contexts",
    "ground_truth": "reference",
    "ground_truths": "references",
}
"""What Ragas 0.1 called the columns of samples."""

_CONTENT = ("user_input", "response", "reference", "references", "retrieved_contexts", "retrieved_context_ids")
_SCORED = (*_CONTENT, "reference_contexts", "reference_context_ids", "ground_truth_sources")
_REFERENCE = {"reference", "references"}
_ID_ALIASES = ("id", "_id", "sample-id")
_MOVED = "__rankframe_lists_in_reference__"
_CLOSE = 0.9  # one or two letters off in a name of ten; `reference_id` is another name than `reference`


@dataclass(slots=True)
class Raw:
    """What a source holds before its columns are named.

    parts: given the names that samples know, a frame of all other columns, and the values of those that are still
    Python's. empty: whether there is nothing at all, neither a name nor a row.
    """

    names: list[str]
    parts: Callable[[Collection[str]], tuple[Frame, dict[str, list[Any]]]]
    where: str
    empty: bool
    notes: list[Note] = field(default_factory=list)


class Options(NamedTuple):
    """How a caller wants samples read: as the arguments of `read_samples`."""

    columns: Mapping[str, str] | None
    lists: str | None
    legacy: bool


def no_samples() -> pl.DataFrame:
    """The frame of an empty source."""
    lists = ("retrieved_contexts", "reference_contexts")
    texts = ("sample_id", "user_input", "response", "reference")
    return pl.DataFrame(schema=dict.fromkeys(texts, pl.String()) | dict.fromkeys(lists, TEXTS))


# Which column is which.


def _renames(present: list[str], options: Options, where: str) -> dict[str, str]:
    """Which columns are renamed to which known ones; old and misspelt names are refused with the name that is meant."""
    given = dict(options.columns or {})
    free = [name for name in present if name not in given]
    ours = {name: column.name for column in SAMPLES.columns for name in (column.name, *column.aliases)}
    there = {ours[name] for name in free if name in ours} | set(given.values())
    answered = there | (_REFERENCE if there & _REFERENCE else set())
    old = {name: new for name, new in LEGACY.items() if name in free and new not in answered}
    if old and not options.legacy:
        told = ", ".join(f"{name!r} is now {new!r}" for name, new in old.items())
        name = next(iter(old))
        raise DataError(
            f"{where}: names of Ragas 0.1: {told}; legacy=True reads them so, and columns={{{name!r}: {name!r}}} keeps "
            f"a column as metadata"
        )
    renames = SAMPLES.names(present, columns=given | old, where=where)
    there |= set(old.values())
    near = {
        name: new
        for name in free
        if name not in ours and name not in old and (new := _meant(name)) not in (None, *there)
    }
    if near:
        told = ", ".join(f"{name!r}: did you mean {new!r}?" for name, new in near.items())
        name, new = next(iter(near.items()))
        raise DataError(
            f'{where}: {told} columns={{"{name}": "{new}"}} reads it so, and columns={{"{name}": "{name}"}} keeps '
            f"it as metadata"
        )
    if not there & set(_CONTENT):
        seen = [name for name in present if not name.startswith("__rankframe")]
        close = [new for name in seen for new in difflib.get_close_matches(name, _CONTENT, n=1, cutoff=0.4)]
        hint = f"did you mean {close[0]!r}? " if close else ""
        raise DataError(
            f"{where}: no column of samples among {listed(seen, 12) or 'no columns'}; {hint}read are "
            f"{', '.join(_SCORED)}, at least one of the first six; anything else by "
            f'columns={{"yours": "user_input"}} of {SAMPLES.readers}'
        )
    return renames


def refuse_mixed(frame: pl.DataFrame, options: Options, where: str) -> None:
    """Refuse samples of which some bear the old names and others the new: the odd ones would score 0."""
    for old, new in LEGACY.items():
        news = [name for name in (_REFERENCE if new in _REFERENCE else {new}) if name in frame.columns]
        if old not in frame.columns or old in (options.columns or {}) or not news:
            continue
        odd = (pl.col(old).is_not_null() & pl.all_horizontal(pl.col(news).is_null())).arg_true()
        rows = frame.select(odd)[:, 0].to_list()
        if rows and frame.select(pl.any_horizontal(pl.col(news).is_not_null()).any()).item():
            raise DataError(
                f"{where}: {counted(len(rows), 'sample')} with {old!r}, Ragas 0.1's name, and without {new!r}, which "
                f"others have: {listed(rows)} (from 0); give all of them one name, or columns={{{old!r}: {old!r}}} "
                f"where it is metadata"
            )


def _meant(name: str) -> str | None:
    """The column of scores that a name is a misspelling of."""
    squeezed = {re.sub(r"[^a-z]", "", known): known for known in _SCORED}
    close = difflib.get_close_matches(name, _SCORED, n=1, cutoff=_CLOSE)
    return squeezed.get(re.sub(r"[^a-z0-9]", "", name.lower())) or next(iter(close), None)


# Columns as they are scored.


def shaped(raw: Raw, options: Options) -> Frame:
    """The source with our names and dtypes, and with sample ids."""
    renames = _renames(raw.names, options, raw.where)
    known = {name for name in raw.names if SAMPLES.column(renames.get(name, name)) is not None}
    frame, values = raw.parts(known)
    names = [renames.get(name, name) for name in raw.names]
    frame = frame.rename({name: renames[name] for name in frame.collect_schema().names() if name in renames})
    values = {renames.get(name, name): column for name, column in values.items()}
    if values:
        held = collected(frame)
        keys = values.get("sample_id", held["sample_id"].to_list() if "sample_id" in held.columns else None)
        made = [each for name, column in values.items() for each in _columns(name, column, keys, raw.where, options)]
        whole = pl.DataFrame([*held, *made])
        frame = whole.select([name for name in [*names, _MOVED] if name in whole.columns])
    return settled(frame, raw.where, options.lists)


def settled(frame: Frame, where: str, lists: str | None = None) -> Frame:
    """A frame of known names with the dtypes of samples, its columns first, and with sample ids; lazy in, lazy out."""
    frame = _with_lists(frame, where, lists)
    names = frame.collect_schema().names()
    if "sample_id" not in names:
        frame = frame.with_columns(_positions(frame).alias("sample_id"))
    return conform(frame, SAMPLES, where, {name: name for name in names if name in _ID_ALIASES})


def _columns(name: str, values: list[Any], keys: Sequence[Any] | None, where: str, options: Options) -> list[pl.Series]:
    """A known column of Python values; lists in `reference` stand in a column of their own."""
    column = SAMPLES.column(name)
    if column is None or column.kind == "any":
        return list(record_frame([{name: plain(value)} for value in values], where))
    if name != "reference" or not any(map(listlike, values)):
        return [cells(column, values, where, keys=keys, lists=options.lists)]
    texts = [None if listlike(value) else value for value in values]
    lists = [value if listlike(value) else None for value in values]
    moved = cells(Column(name, "texts"), lists, where, keys=keys).alias(_MOVED)
    return [moved] if all(map(missing, texts)) else [cells(column, texts, where, keys=keys), moved]


def _with_lists(frame: Frame, where: str, lists: str | None) -> Frame:
    """The frame with its lists as List(String); of numbers in place of text it is seen that they are none at all."""
    schema = frame.collect_schema()
    key = "sample_id" if "sample_id" in schema else ""
    casts = []
    for column in SAMPLES.columns:
        dtype = schema.get(column.name)
        if dtype is None:
            continue
        if column.name == "reference" and isinstance(dtype, (pl.List, pl.Array)):
            cast = list_cast(Column("reference", "texts"), dtype, where, key)
            casts.append((pl.col("reference") if cast is None else cast).alias(_MOVED))
        elif column.kind in ("texts", "ids"):
            cast = list_cast(column, dtype, where, key, lists)
            casts += [] if cast is None else [cast]
        elif column.kind in ("id", "text") and dtype.is_float():
            casts.append(_blank(column, where))
    if casts:
        frame = collected_like(frame, frame.lazy().with_columns(casts))
    if isinstance(schema.get("reference"), (pl.List, pl.Array)):
        frame = frame.drop("reference")
    return _with_moved(frame, where, key)


def _blank(column: Column, where: str) -> pl.Expr:
    """A column of floats as text, if none of them is a value: what pandas makes of a column without any."""

    def blank(values: pl.Series) -> pl.Series:
        if values.is_nan().fill_null(value=True).all():
            return pl.repeat(None, len(values), dtype=pl.String, eager=True)
        why = "ids are text, and whole numbers turn into floats where one is missing" if column.kind == "id" else ""
        raise DataError(
            f"{where}: {column.name!r} is {values.dtype}, which is not text{f': {why}' if why else ''}; cast it to "
            f"text before"
        )

    return pl.col(column.name).map_batches(blank, return_dtype=pl.String)


def _with_moved(frame: Frame, where: str, key: str) -> Frame:
    """The lists of `reference` among `references`; two different lists for one sample are refused."""
    names = frame.collect_schema().names()
    if _MOVED not in names:
        return frame
    if "references" not in names:
        return frame.rename({_MOVED: "references"})

    def merged(rows: pl.Series) -> pl.Series:
        both = rows.struct.unnest().with_row_index("__rankframe_row__")
        clash = both.filter(
            pl.col(_MOVED).is_not_null(), pl.col("references").is_not_null(), pl.col(_MOVED) != pl.col("references")
        )
        if clash.height:
            told = _places(clash["__rankframe_row__"].to_list(), clash[key].to_list() if key else None)
            raise DataError(f"{where}: 'reference' and 'references' hold different lists in {told}; keep one of them")
        return both.select(pl.coalesce("references", _MOVED)).to_series()

    parts = [*dict.fromkeys([_MOVED, "references", *([key] if key else [])])]
    both = pl.struct(parts).map_batches(merged, return_dtype=TEXTS).alias("references")
    return collected_like(frame, frame.lazy().with_columns(both)).drop(_MOVED)


def _positions(frame: Frame) -> pl.Expr:
    """The place of each sample in its run, from 0, as text of one width, so that its order is theirs."""
    place = pl.int_range(pl.len())
    if "run_id" in frame.collect_schema():
        place = place.over("run_id")
    return place.cast(pl.String).str.zfill(place.max().cast(pl.String).str.len_bytes())


def identified(loaded: Loaded, invalid: Invalid) -> Loaded:
    """`loaded`, where each sample has an id that is its own within its run."""
    keys = [name for name in ("run_id", "sample_id") if name in loaded.frame.columns]
    if (nulls := loaded.frame[keys[0]].null_count()) and keys[0] == "run_id":
        raise DataError(f"{loaded.where}: {nulls:,} null run_id; name every sample's run or drop the column")
    places = loaded.frame.select(keys).with_row_index("place")
    nameless = [f"sample {place}" for place in loaded.frame["sample_id"].is_null().arg_true()]
    if nameless and invalid == "error":
        raise DataError(
            f"{loaded.where}: {counted(len(nameless), 'sample')} without sample_id: "
            f"{with_more(nameless[:EXAMPLES], len(nameless))}"
            f'; invalid="drop" leaves them out and counts them, and without the column ids are made'
        )
    if nameless:
        kept = loaded.frame.filter(pl.col("sample_id").is_not_null())
        loaded = replace(loaded, frame=kept, notes=[*loaded.notes, note("invalid_dropped", nameless)])
    twice = places.filter(pl.struct(keys).is_duplicated(), pl.col("sample_id").is_not_null())
    if twice.is_empty():
        return loaded
    groups = twice.group_by(keys, maintain_order=True).agg("place")
    told = [
        f"{row['sample_id']!r} (samples {', '.join(map(str, row['place'][:EXAMPLES]))})"
        for row in groups.head(EXAMPLES).iter_rows(named=True)
    ]
    raise DataError(
        f"{loaded.where}: {counted(groups.height, 'sample_id')} more than once{' in a run' if len(keys) > 1 else ''}: "
        f"{with_more(told, groups.height)}; a column run_id tells the answers of several systems apart; a column "
        f'that is no id stays metadata by its own name, as in columns={{"id": "id"}}'
    )


def _places(places: list[int], keys: list[Any] | None) -> str:
    told = [f"sample {place}" + (f" ({keys[at]!r})" if keys else "") for at, place in enumerate(places[:EXAMPLES])]
    return with_more(told, len(places))
