"""Where samples come from: one source of them, or several under their names, each an answer system."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any

import polars as pl

from rankframe.errors import DataError
from rankframe.frames.checks import Invalid, Loaded
from rankframe.frames.ledger import note
from rankframe.frames.schemas import SAMPLES
from rankframe.inputs import described
from rankframe.io.files import stem
from rankframe.io.samples import load_samples
from rankframe.metrics.grammar import is_text
from rankframe.rag.reports import keyed

_FILES = (".jsonl", ".ndjson", ".json", ".csv", ".parquet", ".pq", ".gz", ".zst", ".zstd")


@dataclass(frozen=True, slots=True)
class Reading:
    """How samples are read: the options of `read_samples`."""

    lists: str | None = None
    legacy: bool = False
    invalid: Invalid = "error"


def named_samples(samples: object, reading: Reading, fingerprint: str) -> tuple[Loaded, list[dict[str, Any]]]:
    """The samples of every run in one frame, and what a report says of where they came from.

    A mapping is name -> samples unless its values are records, or columns of values; a list of paths is a run each.
    A run's name is the given one, else the column run_id, else the file's name, else "run".

    Raises:
        DataError: for samples that cannot be read as they are, none at all, and two runs of one name.
    """
    sources = _sources(samples)
    parts = [_named(name, given, _loaded(one, reading, name)) for name, given, one in sources]
    _refuse_equal_names(parts)
    frame, left_out = _stacked(parts)
    counts = keyed(frame).group_by("run_id", maintain_order=True).len()
    told: list[dict[str, Any]] = [{"run_id": run, "rows": rows} for run, rows in counts.iter_rows()]
    files = [described(one, fingerprint) for _, _, one in sources]
    notes = [*(said for part in parts for said in part.notes), note("column_left_out", left_out)]
    return Loaded(frame, ", ".join(part.where for part in parts), notes), [*told, *(file for file in files if file)]


def _stacked(parts: Sequence[Loaded]) -> tuple[pl.DataFrame, list[str]]:
    """All samples below each other, and the metadata left out, of which some is text, say, and some lists."""
    frames = [part.frame for part in parts]
    names = dict.fromkeys(name for frame in frames for name in frame.columns)
    clashing = [name for name in names if SAMPLES.column(name) is None and not _together(name, frames)]
    return pl.concat([frame.drop(clashing, strict=False) for frame in frames], how="diagonal_relaxed"), clashing


def _together(name: str, frames: Sequence[pl.DataFrame]) -> bool:
    """Whether the columns of a name can stand below each other."""
    columns = [frame.select(name) for frame in frames if name in frame.columns]
    try:
        pl.concat(columns, how="vertical_relaxed")
    except pl.exceptions.PolarsError:
        return False
    return True


def _refuse_equal_names(parts: Sequence[Loaded]) -> None:
    holders: dict[str, str] = {}
    for part in parts:
        for run in part.frame["run_id"].unique(maintain_order=True):
            if run in holders:
                raise DataError(
                    f"{holders[run]} and {part.where} both hold samples of {run!r}; rename a file or its run_id, or "
                    f"give names, as in evaluate_samples({{'first': .., 'second': ..}})"
                )
            holders[run] = part.where


def _sources(samples: object) -> list[tuple[str, bool, object]]:
    """Each source with its name, and whether the caller gave that."""
    if isinstance(samples, Mapping) and samples and all(_holds_samples(one) for one in samples.values()):
        for name in samples:
            if not is_text(name):
                raise DataError(
                    f"the name of a run is text, got {name!r}; name it, as in evaluate_samples({{'ours': samples}})"
                )
        return [(name, True, one) for name, one in samples.items()]
    if isinstance(samples, (list, tuple)) and samples and all(_is_file(one) for one in samples):
        return [(stem(Path(one).absolute()), False, one) for one in samples]
    name = stem(Path(samples).absolute()) if isinstance(samples, (str, PathLike)) else "run"
    return [(name, False, samples)]


def _is_file(one: object) -> bool:
    return isinstance(one, PathLike) or (isinstance(one, str) and one.lower().endswith(_FILES))


def _holds_samples(one: object) -> bool:
    """Whether a value of a mapping holds samples of its own, and is no record, text or column of values."""
    if isinstance(one, (str, PathLike)):
        return _is_file(one)
    if isinstance(one, (list, tuple)):
        return bool(one) and (isinstance(one[0], Mapping) or hasattr(one[0], "__dict__"))
    if isinstance(one, (Mapping, bytes, pl.Series)) or hasattr(one, "dtype"):
        return False
    return isinstance(one, pl.LazyFrame) or hasattr(one, "columns") or hasattr(one, "__iter__")


def _loaded(samples: object, reading: Reading, name: str) -> Loaded:
    """What `load_samples` gives, if it is anything; what only `read_samples` takes is told so."""
    where = "samples" if name == "run" else f"samples of {name!r}"
    try:
        loaded = load_samples(samples, lists=reading.lists, legacy=reading.legacy, invalid=reading.invalid, where=where)
    except DataError as error:
        hint = (
            "; columns= and format= are options of read_samples"
            if re.search(r"\b(columns|format)=", str(error))
            else ""
        )
        raise DataError(f"{error}{hint}") from error
    if loaded.frame.is_empty():
        raise DataError(f"{loaded.where}: there are no samples to score")
    return loaded


def _named(name: str, given: bool, loaded: Loaded) -> Loaded:  # noqa: FBT001  # as the source has it
    """Samples with the name of their run in each row; a given name stands in front of several that they have."""
    frame = loaded.frame
    if "run_id" not in frame.columns:
        frame = frame.select(pl.lit(name).alias("run_id"), pl.all())
    elif given:
        several = frame["run_id"].n_unique() > 1
        frame = frame.with_columns(run_id=pl.lit(f"{name}/") + pl.col("run_id") if several else pl.lit(name))
    runs = frame["run_id"].unique()
    notes = [said.of(runs[0]) for said in loaded.notes] if len(runs) == 1 else loaded.notes
    return replace(loaded, frame=frame, notes=notes)
