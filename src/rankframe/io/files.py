"""Paths: what is there, how it is compressed, which format it has."""

from __future__ import annotations

import gzip
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from os import PathLike
from pathlib import Path
from typing import Literal, get_args
from uuid import uuid4

import polars as pl

from rankframe.errors import DataError, nearest

Format = Literal["trec", "msmarco", "tsv", "csv", "json", "jsonl", "parquet"]

_SUFFIXES: dict[str, Format] = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".csv": "csv",
    ".tsv": "tsv",
    ".json": "json",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
}
_COMPRESSED = (".gz", ".zst", ".zstd")
_MAGIC = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd"}
_PACKED = {b"BZh": "bzip2", b"\xfd7zXZ": "xz", b"PK\x03\x04": "zip"}
_UNREAD = {magic: f"{name} is not read; gzip, zstd and plain files are" for magic, name in _PACKED.items()} | {
    b"ARROW1": "Arrow IPC (Feather) is not read as a file; pl.scan_ipc(path) makes a frame of it, which is"
}


def existing(path: str | PathLike[str]) -> Path:
    """The path, if something is there.

    Raises:
        FileNotFoundError: naming it, if not.
        DataError: for a file compressed in a way that is not read here, and for a pipe.
    """
    found = Path(path)
    if not str(path):
        raise DataError("a path is empty; an unset variable of the shell, perhaps")
    if not found.exists():
        journal = found.with_name(f"{found.name}.journal.jsonl") if found.name else found
        begun = (
            f"; {journal} is a checkpoint that has begun: the same call of retrieve ends it" if journal.exists() else ""
        )
        pattern = (
            "; patterns are not read: give the folder of the files; a run may be a list of them under a name, as in "
            "evaluate({'bm25': [first, second]}, qrels)"
            if "*" in found.name
            else ""
        )
        raise FileNotFoundError(f"no such file or folder: {found}{begun}{pattern}")
    if not (found.is_file() or found.is_dir()):
        raise DataError(f"{found}: a pipe or device can be read only once; write its content to a file first")
    if found.is_file():
        start = _start(found)
        for magic, told in _UNREAD.items():
            if start.startswith(magic):
                raise DataError(f"{found}: {told}")
    return found


def _start(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(6)


def compression(path: Path) -> str | None:
    """How a file is packed, "gzip" or "zstd", by its first bytes; None where it is plain."""
    start = _start(path)
    return next((name for magic, name in _MAGIC.items() if start.startswith(magic)), None)


def read_bytes(path: Path) -> bytes:
    """The content of a file, decompressed, without a byte-order mark."""
    kind = compression(path)
    try:
        if kind == "gzip":
            with gzip.open(path) as file:
                content = file.read()
        elif kind == "zstd":
            import pyarrow as pa

            with pa.input_stream(str(path), compression="zstd") as stream:
                content = stream.read()
        else:
            content = path.read_bytes()
    except (EOFError, OSError) as error:
        raise DataError(f"{path}: the compressed file is damaged or cut short ({error})") from error
    return content.removeprefix(b"\xef\xbb\xbf")


def read_text(path: Path) -> str:
    """The content of a file as UTF-8 text; another encoding is an error that names the line."""
    content = read_bytes(path)
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise DataError(
            f"{path}: line {line} is not UTF-8 (byte 0x{content[error.start]:02x}); "
            f"convert the file, as in iconv -f latin1 -t utf-8"
        ) from error


def format_of(path: Path, given: str | None, default: Format) -> Format:
    """The format: as given, else by the file's suffix, else `default`."""
    if given is not None:
        if given not in get_args(Format):
            raise DataError(f"format={given!r}: {nearest(given, get_args(Format))}")
        return given  # type: ignore[return-value]  # one of them
    suffixes = [suffix for suffix in path.suffixes if suffix not in _COMPRESSED]
    if path.is_dir():
        return "parquet"
    return _SUFFIXES.get(suffixes[-1].lower(), default) if suffixes else default


def stem(path: Path) -> str:
    """The name of a run that stands in this file: without compression and format suffix.

    >>> stem(Path("runs/bm25.v2.trec.gz"))
    'bm25.v2'
    """
    name = path.name
    for suffix in _COMPRESSED:
        name = name.removesuffix(suffix)
    return Path(name).stem or name


def place_for(path: str | PathLike[str]) -> Path:
    """The path of a file to be written, behind symbolic links, if a file may stand there.

    Raises:
        FileNotFoundError: if there is no folder for it.
        DataError: for the path of a folder, a pipe or a device.
    """
    place = Path(path).resolve()
    if place.exists() and not place.is_file():
        what = "a folder" if place.is_dir() else "a pipe or device"
        raise DataError(f"{place}: cannot be written, it is {what}; name a file")
    if not place.parent.is_dir():
        raise FileNotFoundError(f"no folder {place.parent} for {place}; make it first")
    return place


@contextmanager
def beside(path: Path, *, one_writer: bool = False) -> Iterator[Path]:
    """A place beside the path to write to; what stands there goes into the path at the end, and nowhere on an error.

    So nobody meets half of a file, two writers do not meet, and an interrupted write leaves nothing behind. Where there
    is `one_writer`, the place is always the same, so that the next write takes away what a killed one left.

    Raises:
        FileNotFoundError: where its folder is not there.
        DataError: where it cannot be written.
    """
    place = place_for(path)
    part = place.with_name(f".{place.name}.part" if one_writer else f".{place.name}.{uuid4().hex[:12]}.part")
    try:
        yield part
        with writing(path):
            if place.exists():
                shutil.copymode(place, part)
            part.replace(place)
    finally:
        with suppress(OSError):
            part.unlink(missing_ok=True)


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Say of what cannot be written where it was to stand."""
    try:
        yield
    except (pl.exceptions.PolarsError, OSError) as error:
        raise DataError(f"{path}: cannot be written ({str(error).partition(chr(10))[0]})") from error


def compressed(path: Path, content: bytes) -> bytes:
    """The content as the suffix of the path asks for it: gzip, zstd or plain."""
    if path.suffix == ".gz":
        return gzip.compress(content, mtime=0)
    if path.suffix in (".zst", ".zstd"):
        import pyarrow as pa

        packed: bytes = pa.compress(content, codec="zstd", asbytes=True)
        return packed
    return content
