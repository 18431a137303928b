"""What judges said, kept by a hash of all that it depends on: in memory, and in a file that outlives the process."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from hashlib import blake2b
from os import PathLike
from pathlib import Path
from threading import Lock
from typing import Any

from rankframe.errors import DataError
from rankframe.io.journal import Journal
from rankframe.rag.judges import Embedder, Judge, of_this_process

_HEAD = {"rankframe": "judge cache", "version": 1}


class Cache:
    """Replies that could be read, by a hash of all that they depend on; in a file where there is a path.

    lost: why the file could not be written any more, None while it could.

    Raises:
        DataError: for a file that holds something else, or that another process is writing.
    """

    def __init__(self, path: str | PathLike[str] | None) -> None:
        self.lost: OSError | None = None
        self._kept: dict[str, Any] = {}
        self._lock = Lock()
        self._asked: dict[str, tuple[Lock, int]] = {}
        self._lasts = path is not None
        self._journal: Journal | None = None
        if path is None:
            return
        if not isinstance(path, (str, PathLike)):
            raise DataError(f"cache={path!r:.80} is no path; name a file, as in cache='judge.jsonl'")
        place = Path(path)
        if not str(path) or (place.exists() and not place.is_file()):
            raise DataError(f"cache={str(path)!r} is no file; name one, as in cache='judge.jsonl'")
        self._journal = Journal(place, f"cache={str(path)!r}")
        try:
            self._read(self._journal)
        except BaseException:
            self._journal.close()
            raise

    def _read(self, journal: Journal) -> None:
        if not journal.begun_with(_HEAD):
            head = journal.begins_with()
            later = isinstance(head, dict) and head.get("rankframe") == _HEAD["rankframe"]
            what = "of another version of rankframe" if later else "that no cache of judges is"
            raise DataError(f"cache={str(journal.path)!r} is a file {what}, and is not written over; give another name")
        for number, line in journal.lines():
            if number == 1:
                continue
            try:
                key, reply = _told(json.loads(line))
            except (LookupError, TypeError, ValueError, RecursionError) as error:
                raise DataError(
                    f"{journal.path}: line {number} is no reply of a judge ({error!s:.80}); without the line, it is "
                    f"asked again"
                ) from error
            self._kept[key] = reply

    def known(self, judge: Judge | Embedder) -> dict[str, Any]:
        """What tells its answers from those of another, for as long as they are kept."""
        return judge.identity if self._lasts else of_this_process(judge)

    def get(self, key: str) -> Any:
        """What is kept under a key, None where nothing is."""
        return self._kept.get(key)

    def keep(self, key: str, reply: Any, **told: Any) -> None:
        """Keep a reply; it is in the file when this returns, unless that cannot be written: see `lost`."""
        with self._lock:
            if self._kept.get(key) == reply:
                return
            self._kept[key] = reply
            if self._journal is None:
                return
            try:
                self._journal.append({"key": key, **told, "reply": reply})
            except OSError as error:  # a line behind half a line could not be read again
                self.lost = error
                self._journal.close()
                self._journal = None

    @contextmanager
    def alone(self, key: str) -> Iterator[None]:
        """While this lasts nobody else asks for the same: whoever wants to, waits, and finds it kept."""
        with self._lock:
            lock, number = self._asked.get(key, (Lock(), 0))
            self._asked[key] = lock, number + 1
        try:
            with lock:
                yield
        finally:
            with self._lock:
                lock, number = self._asked.pop(key)
                if number > 1:
                    self._asked[key] = lock, number - 1

    def close(self) -> None:
        """Let others write the file; who still asks writes nothing any more."""
        with self._lock:
            if self._journal is not None:
                self._journal.close()
            self._journal = None


def _told(line: Any) -> tuple[str, str | list[float]]:
    """Key and reply of a line: a judge's text, or the numbers that came of vectors."""
    key, reply = line["key"], line["reply"]
    if not isinstance(key, str):
        raise TypeError("its key is no text")
    if isinstance(reply, list) and all(isinstance(one, float) and math.isfinite(one) for one in reply):
        return key, reply
    if not isinstance(reply, str):
        raise TypeError("its reply is neither a text nor numbers")
    return key, reply


def key_of(identity: Mapping[str, Any], template: str, content: object) -> str:
    """The hash of all that an answer depends on: who is asked with which parameters, the template, the content.

    >>> key_of({"model": "a"}, "t", "p") == key_of({"model": "b"}, "t", "p")
    False
    """
    told = json.dumps([identity, template, content], sort_keys=True)
    return blake2b(told.encode(), digest_size=16).hexdigest()
