"""Where a BEIR folder keeps what: plain files, or the Parquet layout of the Hugging Face hub."""

from __future__ import annotations

import re
from pathlib import Path

from rankframe.errors import DataError, listed

SPLITS = ("test", "dev", "validation", "train")
_PACKED = ("", ".gz", ".zst")
_QRELS_FILES = ("qrels.jsonl", "qrels.parquet", "qrels.json")


def find_texts(folder: Path, name: str) -> Path:
    """The file, or folder of Parquet files, that holds the corpus or the queries.

    Raises:
        FileNotFoundError: naming what was looked for.
    """
    candidates = [f"{name}{suffix}{packed}" for suffix in (".jsonl", ".tsv", ".csv") for packed in _PACKED]
    candidates.append(f"{name}.parquet")
    for candidate in candidates:
        if (folder / candidate).is_file():
            return folder / candidate
    if any((folder / name).glob("*.parquet")):
        return folder / name
    if parts_in(folder):
        return folder
    raise FileNotFoundError(
        f"{folder}: no {name}.jsonl, nor .tsv, .csv, .parquet, nor a folder {name} of Parquet files"
    )


def find_qrels(folder: Path, split: str | None = None) -> list[Path]:
    """The judgments of a folder: the first found in the documented order, or those of one split (perhaps in shards).

    Raises:
        FileNotFoundError: naming the splits that there are.
    """
    if split is None and (found := _packed(folder / "qrels.tsv")):
        return found
    for name in SPLITS if split is None else (split,):
        if found := _of_split(folder, name):
            return found
    if split is None:
        for name in _QRELS_FILES:
            if found := _packed(folder / name):
                return found
    splits = splits_of(folder)
    if split is None and len(splits) == 1:
        return _of_split(folder, splits[0])
    if split is None and not splits and (parts := parts_in(folder)):
        return parts
    there = f"the splits there are: {listed(splits, 12)}" if splits else "there are none"
    raise FileNotFoundError(
        f"{folder}: no judgments{f' for the split {split!r}' if split else ''} in qrels.tsv or qrels/; {there}"
    )


def parts_in(folder: Path) -> list[Path]:
    """The Parquet files of a table that an engine wrote into a folder of its own."""
    return sorted(folder.glob("part-*.parquet"))


def splits_of(folder: Path) -> list[str]:
    """The names of the splits that a folder has judgments for."""
    files = [path.name for path in (folder / "qrels").glob("*") if path.is_file()]
    names = {re.sub(r"-\d+-of-\d+$", "", name.partition(".")[0]) for name in files}
    return sorted(name for name in names if name and _of_split(folder, name))


def _of_split(folder: Path, split: str) -> list[Path]:
    if Path(split).name != split:
        raise DataError(f"split={split!r} is the name of a split, not a path; qrels= takes a path")
    qrels = folder / "qrels"
    for suffix in (".tsv", ".jsonl", ".csv", ".parquet"):
        if found := _packed(qrels / f"{split}{suffix}"):
            return found
    shards = qrels.iterdir() if qrels.is_dir() else ()
    return sorted(path for path in shards if path.name.startswith(f"{split}-") and path.suffix == ".parquet")


def _packed(path: Path) -> list[Path]:
    return next(([found] for packed in _PACKED if (found := path.with_name(path.name + packed)).is_file()), [])


def is_part_of(target: Path, source: Path) -> bool:
    """Whether a file is this one, or one of those that this BEIR folder consists of: its texts, judgments, vectors."""
    if not (target.exists() and source.exists()):
        return False
    if target.samefile(source):
        return True
    at, folder = target.resolve(), source.resolve()
    if not folder.is_dir() or not at.is_relative_to(folder):
        return False
    return at.relative_to(folder).parts[0].startswith(("corpus", "queries", "qrels", "vectors"))
