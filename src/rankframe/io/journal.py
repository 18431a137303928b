"""A file that grows by a line of JSON at a time and survives the process: what is in it was written whole."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from threading import Lock
from typing import IO

from rankframe.errors import DataError


class Journal:
    """Lines of JSON in a file that nobody else writes meanwhile.

    path: the file, made where it is absent. name: what messages call it.

    Raises:
        DataError: where another process is writing it, if the system can tell.
    """

    def __init__(self, path: Path, name: str) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self.path = path
        self._lock = Lock()
        self._file = _claimed(path, name)

    def append(self, value: object) -> None:
        """Add a line; it is in the file when this returns."""
        left = memoryview(_line(value))
        with self._lock:
            while left:
                left = left[self._file.write(left) :]

    def lines(self) -> Iterator[tuple[int, bytes]]:
        """The lines that are there, numbered from 1; one that an earlier process could not end is taken off."""
        self._file.seek(0)
        content = self._file.read()
        whole = content.rfind(b"\n") + 1
        self._file.truncate(whole)
        yield from enumerate(content[:whole].splitlines(), 1)

    def begins_with(self) -> object:
        """The value of the first line, None where it is no JSON or was never ended."""
        self._file.seek(0)
        line = self._file.readline()
        try:
            return json.loads(line) if line.endswith(b"\n") else None
        except (ValueError, RecursionError):
            return None

    def begun_with(self, value: object) -> bool:
        """Whether the first line is `value`. A file that is empty gets it, and one that was left amid writing it."""
        line = _line(value)
        self._file.seek(0)
        there = self._file.read(len(line))
        if there == line or not line.startswith(there):
            return self.begins_with() == value
        self._file.truncate(0)
        self.append(value)
        return True

    @property
    def is_empty(self) -> bool:
        """Whether nothing is in the file."""
        return not os.fstat(self._file.fileno()).st_size

    def remove(self) -> None:
        """Take the file away, and close it."""
        try:
            self.path.unlink()  # before it is closed: who opens it afterwards opens a new one
        except PermissionError:  # Windows, where nobody else could have it
            self._file.close()
            self.path.unlink()
        self._file.close()

    def close(self) -> None:
        """Let others write the file."""
        self._file.close()


def _line(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode() + b"\n"


def _claimed(journal: Path, name: str) -> IO[bytes]:
    """The journal, open; refused where another process is writing it, if the system can tell."""
    while True:
        file: IO[bytes] = journal.open("ab+", buffering=0)
        try:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if _stands(file, journal):
                return file
        except BlockingIOError as error:
            file.close()
            raise DataError(f"{name} is being written by another process; wait, or give another name") from error
        except (ImportError, OSError):  # Windows, and file systems without locks
            return file
        file.close()  # the other process ended, and took its journal away, while this one opened it


def _stands(file: IO[bytes], path: Path) -> bool:
    """Whether an open file is still the one of this path."""
    try:
        return os.path.samestat(os.fstat(file.fileno()), path.stat())
    except FileNotFoundError:
        return False
