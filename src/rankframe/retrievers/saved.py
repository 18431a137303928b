"""An index in a folder: all of it or none, whenever the writing stops."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar
from uuid import uuid4

import polars as pl

from rankframe.errors import DataError, RankframeError, listed
from rankframe.io.files import existing

MANIFEST = "rankframe-index.json"
_VERSION = 1

Index = TypeVar("Index")


def save_index(folder: Path, kind: str, options: dict[str, Any], write: Callable[[Path], None]) -> None:
    """Let `write` fill a new folder inside of `folder`, then name it, its files and the options in one small file.

    Only the last step, which is one renaming, makes it the index of `folder`; the one before is removed then.

    Raises:
        DataError: if `folder` is a file.
    """
    if folder.exists() and not folder.is_dir():
        raise DataError(f"{folder} is a file; an index is saved into a folder")
    before: Any = None
    with suppress(DataError):  # nothing stands there, or nothing that can be read
        before = _manifest(folder).get("files")
    files = folder / f"index-{uuid4().hex[:12]}"
    files.mkdir(parents=True)
    part = folder / f".{MANIFEST}.{files.name}"
    try:
        write(files)
        manifest = {"kind": kind, "version": _VERSION, "options": options, "files": files.name, "sizes": _sizes(files)}
        part.write_text(json.dumps(manifest, indent=1), encoding="utf-8")
        part.replace(folder / MANIFEST)
    except BaseException:
        shutil.rmtree(files, ignore_errors=True)
        part.unlink(missing_ok=True)
        raise
    if _is_name(before):
        shutil.rmtree(folder / before, ignore_errors=True)


def load_index(folder: Path, kind: str, read: Callable[[Path, dict[str, Any]], Index]) -> Index:
    """What `read` makes of the files and options that `save_index` wrote.

    Raises:
        FileNotFoundError: for a path where nothing is.
        DataError: for a folder without an index, with one of another kind or version, or with files that are missing
            or not as long as they were.
    """
    manifest = _manifest(existing(folder))
    if manifest.get("kind") != kind or not _is_name(manifest.get("files")):
        raise DataError(f"{folder} holds no index of {kind}, but of {manifest.get('kind')!r:.40}")
    if manifest.get("version") != _VERSION:
        raise DataError(
            f"{folder}: the index has version {manifest.get('version')!r}, and this release of rankframe reads "
            f"{_VERSION}; build it again"
        )
    files = folder / manifest["files"]
    damage = f"{folder}: the index is damaged"
    try:
        sizes, found = dict(manifest["sizes"]), _sizes(files)
        if odd := sorted(name for name in sizes if found.get(name) != sizes[name]):
            raise DataError(f"{damage}: {listed(odd)} missing or not as long as written; build it again")
        return read(files, manifest["options"])
    except RankframeError:
        raise
    except (EOFError, KeyError, OSError, TypeError, ValueError, pl.exceptions.PolarsError) as error:
        raise DataError(f"{damage} ({type(error).__name__}: {error}); build it again") from error


def _manifest(folder: Path) -> dict[str, Any]:
    path = folder / MANIFEST
    if not path.is_file():
        raise DataError(f"{folder} holds no index: there is no {MANIFEST} in it, which save() writes")
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise DataError(f"{path} is not what save() writes ({error})") from error
    if not isinstance(manifest, dict):
        raise DataError(f"{path} is not what save() writes (a JSON {type(manifest).__name__})")
    return manifest


def _is_name(name: object) -> bool:
    """Whether this names a folder as `save_index` does, so that no other is ever read or removed."""
    return isinstance(name, str) and name.startswith("index-") and name.removeprefix("index-").isalnum()


def _sizes(folder: Path) -> dict[str, int]:
    """The bytes of every file in a folder, by its name there."""
    return {
        path.relative_to(folder).as_posix(): path.stat().st_size for path in sorted(folder.rglob("*")) if path.is_file()
    }
