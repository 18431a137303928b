"""Where samples come from: one source of them, or several under their names, each an answer system."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any

import polars as pl

from rankframe.errors import DataError
from rankframe.frames.checks import Invalid, Loaded
from rankframe.inputs import described
from rankframe.io.files import stem
from rankframe.io.samples import load_samples
from rankframe.metrics.grammar import is_text
from rankframe.rag.reports import keyed

_FILES = (".jsonl", ".ndjson", ".json", ".csv", ".parquet", ".pq", ".gz", ".zst", ".zstd")


def named_samples(samples: object, invalid: Invalid, fingerprint: str) -> tuple[Loaded, list[dict[str, Any]]]:
    """The samples of every run in one frame, and what a report says of where they came from.

    A mapping is name -> samples unless its values are records, or columns of values; a list of paths is a run each.
    A run's name is the given one, else the column run_id, else the file's name, else "run".

    Raises:
        DataError: for samples that cannot be read as they are, none at all, and two runs of one name.
    """
    sources = _sources(samples)
    parts = [_named(name, given, _loaded(one, invalid, name)) for name, given, one in sources]
    names = [run for part in parts for run in part.frame["run_id"].unique(maintain_order=True)]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise DataError(
            f"two runs are called {twice[0]!r}; give names, as in evaluate_samples({{'first': .., 'second': ..}}), or "
            f"rename a file"
        )
    frame = parts[0].frame if len(parts) == 1 else pl.concat([part.frame for part in parts], how="diagonal_relaxed")
    where = ", ".join(part.where for part in parts)
    if frame.is_empty():
        raise DataError(f"{where or 'samples'}: there are no samples to score")
    counts = keyed(frame).group_by("run_id", maintain_order=True).len()
    told: list[dict[str, Any]] = [{"run_id": run, "rows": rows} for run, rows in counts.iter_rows()]
    files = [described(one, fingerprint) for _, _, one in sources]
    notes = [said for part in parts for said in part.notes]
    return Loaded(frame, where, notes), [*told, *(file for file in files if file)]


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
        return [(stem(Path(one)), False, one) for one in samples]
    name = stem(Path(samples)) if isinstance(samples, (str, PathLike)) else "run"
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
    return hasattr(one, "columns") or hasattr(one, "__iter__")


def _loaded(samples: object, invalid: Invalid, name: str) -> Loaded:
    """What `load_samples` gives; options that its messages name are those of `read_samples`."""
    try:
        return load_samples(samples, invalid=invalid, where="samples" if name == "run" else f"samples of {name!r}")
    except DataError as error:
        options = re.search(r"\b(columns|format|lists|legacy)=", str(error))
        hint = "; these are options of read_samples, whose frame is taken here" if options else ""
        raise DataError(f"{error}{hint}") from error


def _named(name: str, given: bool, loaded: Loaded) -> Loaded:  # noqa: FBT001  # as the source has it
    """Samples with the name of their run in each row; a given name stands in front of several that they have."""
    frame = loaded.frame
    if "run_id" not in frame.columns:
        return replace(loaded, frame=frame.select(pl.lit(name).alias("run_id"), pl.all()))
    if not given:
        return loaded
    several = frame["run_id"].n_unique() > 1
    renamed = pl.lit(f"{name}/") + pl.col("run_id") if several else pl.lit(name)
    return replace(loaded, frame=frame.with_columns(run_id=renamed))
