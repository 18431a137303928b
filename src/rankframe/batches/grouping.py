"""Rows that come in parts, as batches of whole queries.

In the order of the rows where those of a query stand together; else through temporary files, sorted out by query.
"""

from __future__ import annotations

import math
import mmap
import re
import tempfile
from collections.abc import Generator, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from itertools import pairwise
from numbers import Integral
from typing import IO, TYPE_CHECKING, TypeVar

import polars as pl

from rankframe.errors import DataError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Integers = NDArray[np.int64]
    Hashes = NDArray[np.uint64]

_ROW = 512  # bytes of memory that a row takes at most while its batch is read and ranked, with ids of usual length
_USUAL = 64  # bytes of a row in a frame, with ids of usual length
_LEAST = 10**6  # bytes that can be asked for: less would take forever
_READ = 131_072  # rows that are read at a time: batches are made of such parts
_BITS = 6  # of a hash, which name a bucket
_UNITS = {"": 1, "k": 1000, "m": 1000**2, "g": 1000**3, "t": 1000**4}

T = TypeVar("T")


class NotGroupedError(Exception):
    """A query comes again after others."""


def rows_within(memory_limit: int | str) -> int:
    """How many rows may be in memory at a time.

    Raises:
        DataError: for a limit that says no number of bytes.

    >>> rows_within("512 MB"), rows_within("1GiB"), rows_within(1_024_000)
    (1000000, 2097152, 2000)
    """
    size = None
    if isinstance(memory_limit, Integral) and not isinstance(memory_limit, bool):
        size = float(min(memory_limit, 2**62))
    elif isinstance(memory_limit, str) and (
        found := re.fullmatch(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([kmgt]?)(i?)b?\s*", memory_limit, re.IGNORECASE)
    ):
        number, unit, binary = found.groups()
        factor = _UNITS[unit.lower()]
        size = min(float(number) * (1024 ** round(math.log(factor, 1000)) if binary and unit else factor), 2.0**62)
    if size is None or size < 1:
        raise DataError(
            f'memory_limit={memory_limit!r} is no amount of memory; a number of bytes, or as "512MB", "4 GiB"'
        )
    if size < _LEAST:
        raise DataError(f'memory_limit={memory_limit!r} is {size:,.0f} bytes; one megabyte is the least, as in "64MB"')
    return max(1, int(size) // _ROW)


def read_size(rows: int) -> int:
    """How many rows to read at a time where so many may be in memory."""
    return max(1, min(_READ, rows // 4))


def in_order(parts: Iterable[pl.DataFrame], keys: Sequence[str], rows: int) -> Generator[pl.DataFrame]:
    """Batches of about so many rows, in their order; rows of one query that stand together stay so.

    Args:
        parts: the rows as they come, at least one part.
        keys: the columns that name a query: query_id, with run_id where there are several runs.
        rows: how many rows a batch has at least, but for the last.

    Raises:
        NotGroupedError: when a query comes again after others, unless all rows are one batch.
    """
    import numpy as np

    seen = np.empty(0, dtype=np.uint64)
    held: list[pl.DataFrame] = []
    wanted = rows
    for part in parts:
        held.append(part)
        if sum(map(_weight, held)) < wanted:
            continue
        frame = _together(held)
        hashes = _hashes(frame, keys)
        changes = np.flatnonzero(hashes[1:] != hashes[:-1]) + 1
        if not len(changes):  # one query alone, which goes on
            held, wanted = [frame], 2 * _weight(frame)
            continue
        last = int(changes[-1])  # of which the next part may have more
        seen = _met(seen, hashes[np.concatenate(([0], changes[:-1]))])
        yield frame[:last]
        held, wanted = [_compact(frame[last:])], rows
    frame = _together(held)
    if len(seen):
        _met(seen, np.unique(_hashes(frame, keys)))
    yield frame


def by_bucket(
    parts: Iterable[pl.DataFrame], keys: Sequence[str], rows: int, *, seed: int = 0
) -> Generator[pl.DataFrame]:
    """Batches of whole queries from rows in any order, by way of temporary files, each of some of the queries.

    The files have no name, so that nothing of them is left whatever happens. Rows of a query keep their order.

    Raises:
        DataError: where there is no room for them.
    """
    with ExitStack() as stack:
        try:
            buckets = [_Bucket(stack) for _ in range(2**_BITS)]
            with closing(ahead(_sorted_out(_gathered(parts, rows), keys, seed))) as sorted_out:
                for frame, order, ends in sorted_out:
                    ordered = frame[order]
                    for bucket, (start, end) in zip(buckets, pairwise([0, *ends]), strict=True):
                        bucket.add(ordered[start:end])
        except (OSError, pl.exceptions.PolarsError) as error:
            raise DataError(
                f"the rows of a run do not stand together by query, and sorting them out into temporary files failed "
                f"({error}); the variable TMPDIR names another folder for them when Python starts, or sort the rows by "
                f"query_id"
            ) from error
        with closing(ahead(_emptied(buckets, keys, rows, seed))) as batches:
            yield from batches


def ahead(made: Generator[T]) -> Generator[T]:
    """The same things, each made while the one before it is in use."""
    with closing(made), ThreadPoolExecutor(1) as other:
        pending = other.submit(next, made, None)
        while (thing := pending.result()) is not None:
            pending = other.submit(next, made, None)
            yield thing


def _emptied(buckets: Sequence[_Bucket], keys: Sequence[str], rows: int, seed: int) -> Generator[pl.DataFrame]:
    """What is in the buckets, small ones together; ones that are too large are sorted out again."""
    total = sum(bucket.weight for bucket in buckets)
    held: list[pl.DataFrame] = []
    weight = 0
    for bucket in buckets:
        if 2 * rows < bucket.weight < total:  # a bucket of one query alone cannot be divided
            yield from by_bucket(bucket.frames(), keys, rows, seed=seed + 1)
            continue
        if held and weight + bucket.weight > rows:
            yield _together(held)
            held, weight = [], 0
        weight += bucket.weight
        held += bucket.frames()
    if held:
        yield _together(held)


class _Bucket:
    """Rows in a temporary file without a name: one Arrow stream after another."""

    def __init__(self, stack: ExitStack) -> None:
        self._file: IO[bytes] = stack.enter_context(
            tempfile.TemporaryFile()  # noqa: SIM115  # the stack closes it
        )
        self._rows = self._bytes = 0

    @property
    def weight(self) -> int:
        """As how many rows it counts, see `_weight`."""
        return max(self._rows, self._bytes // _USUAL)

    def add(self, frame: pl.DataFrame) -> None:
        if not frame.is_empty():
            frame.write_ipc_stream(self._file)
            self._rows += frame.height
            self._bytes = self._file.tell()

    def frames(self) -> Iterator[pl.DataFrame]:
        """What was added, in order; the file's room is free when the last is let go."""
        import pyarrow as pa

        self._file.flush()
        if not self._rows:
            return
        reader = pa.BufferReader(pa.py_buffer(mmap.mmap(self._file.fileno(), 0, access=mmap.ACCESS_READ)))
        self._file.close()
        while reader.tell() < reader.size():
            frame = pl.from_arrow(pa.ipc.open_stream(reader).read_all())
            assert isinstance(frame, pl.DataFrame)  # a table is no Series
            yield frame


def _sorted_out(
    parts: Iterable[pl.DataFrame], keys: Sequence[str], seed: int
) -> Generator[tuple[pl.DataFrame, Integers, list[int]]]:
    """Each part with its row numbers by bucket, in order, and where the rows of each bucket end among them."""
    import numpy as np

    for frame in parts:
        bucket = (_hashes(frame, keys, seed) >> np.uint64(64 - _BITS)).astype(np.uint8)  # 8 bits sort fastest
        ends = np.cumsum(np.bincount(bucket, minlength=2**_BITS))
        yield frame, np.argsort(bucket, kind="stable"), ends.tolist()


def _gathered(parts: Iterable[pl.DataFrame], rows: int) -> Generator[pl.DataFrame]:
    """The parts put together until they have so many rows."""
    held: list[pl.DataFrame] = []
    for part in parts:
        held.append(part)
        if sum(map(_weight, held)) >= rows:
            yield _together(held)
            held = []
    if held:
        yield _together(held)


def _weight(frame: pl.DataFrame) -> int:
    """As how many rows a frame counts: those with long ids count for more."""
    return max(frame.height, int(frame.estimated_size()) // _USUAL)


def _together(parts: Sequence[pl.DataFrame]) -> pl.DataFrame:
    if len(parts) == 1 and parts[0].n_chunks() == 1:
        return parts[0]
    alike = all(frame.schema == parts[0].schema for frame in parts)
    return pl.concat(parts, how="vertical" if alike else "diagonal_relaxed", rechunk=True)


def _compact(frame: pl.DataFrame) -> pl.DataFrame:
    """The same rows without the memory of those that stood before them."""
    copied = pl.from_arrow(frame.to_arrow(compat_level=pl.CompatLevel.oldest()))
    assert isinstance(copied, pl.DataFrame)  # a table is no Series
    return copied


def _hashes(frame: pl.DataFrame, keys: Sequence[str], seed: int = 0) -> Hashes:
    """A number for the query of each row."""
    import numpy as np

    hashes: Hashes = frame[keys[0]].hash(seed).to_numpy()
    for key in keys[1:]:
        hashes = hashes * np.uint64(0x9E3779B97F4A7C15) + frame[key].hash(seed).to_numpy()
    return hashes


def _met(seen: Hashes, queries: Hashes) -> Hashes:
    """The queries that were met, sorted, with those of one more batch, each of which is to be new."""
    import numpy as np

    merged: Hashes = np.sort(np.concatenate((seen, queries)), kind="stable")
    if (merged[1:] == merged[:-1]).any():
        raise NotGroupedError
    return merged
