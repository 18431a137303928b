"""Any run as batches of whole queries: one where it is in memory, else as many as memory asks for."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from contextlib import closing, nullcontext
from dataclasses import dataclass
from threading import Event
from typing import Any

import polars as pl

from rankframe.errors import DataError
from rankframe.frames.checks import Invalid, Loaded, Unusable, parted_rows
from rankframe.frames.grouping import NotGroupedError, by_bucket, in_order, read_size
from rankframe.frames.ledger import Note
from rankframe.frames.schemas import RUN
from rankframe.inputs import NEEDED, Source, all_there, are_paths, load_runs, null_runs, refuse_collection, run_name
from rankframe.io.readers import conformed, scan_needed
from rankframe.io.retrievals import holds_retrieval
from rankframe.io.tables import unreadable

__all__ = ["NotGroupedError", "StoppedError", "run_batches"]


class StoppedError(Exception):
    """Nobody waits for these rows any more."""


def run_batches(
    source: Source,
    *,
    invalid: Invalid,
    rows: int,
    grouped: bool = True,
    progress: bool = False,
    stop: Event | None = None,
) -> Generator[tuple[str, Loaded]]:
    """The runs of one source, by name as in `load_runs`, in batches of whole queries.

    Args:
        source: the runs: Parquet files and LazyFrames come in batches of about so many `rows`, anything else whole.
        invalid: "error" or "drop", as for `load_runs`.
        rows: how many rows may be in memory at a time.
        grouped: whether rows of a query are taken to stand together; otherwise they are sorted out first.
        progress: show a bar of the rows read.
        stop: when it is set, reading ends.

    Raises:
        NotGroupedError: where the rows of a query do not stand together and are taken to.
        StoppedError: where reading was stopped.
        DataError: for rows that cannot be used, when all of them were seen.
    """
    scan = _scan(source)
    if scan is None:
        yield from load_runs(source, invalid=invalid)
        return
    runs = scan.runs()
    notes: dict[str, list[Note]] = {}
    parts = _valid_parts(scan, runs, invalid, read_size(rows), notes, progress=progress, stop=stop)
    frame = pl.DataFrame()
    with closing(parts), closing((in_order if grouped else by_bucket)(parts, scan.keys, rows)) as batches:
        for frame in batches:
            for run, part in _by_run(frame, runs):
                yield run_name(source, run, runs), Loaded(part, scan.label(run, runs))
    for run, said in notes.items():
        yield run_name(source, run, runs), Loaded(frame.clear(), scan.label(run, runs), said)


@dataclass(frozen=True, slots=True)
class _Scan:
    """Runs that need not be in memory at once: the columns needed, lazily, and what messages call them."""

    frame: pl.LazyFrame
    where: str

    def label(self, run: str, runs: Sequence[str]) -> str:
        """What messages call one of the runs."""
        return f"{self.where}, run {run!r}" if len(runs) > 1 else self.where

    @property
    def has_runs(self) -> bool:
        """Whether a column tells several runs apart."""
        return "run_id" in self.frame.collect_schema()

    @property
    def keys(self) -> tuple[str, ...]:
        """The columns that name a query of a run."""
        return ("query_id", "run_id") if self.has_runs else ("query_id",)

    def runs(self) -> list[str]:
        """The names in the column run_id; none without it."""
        if not self.has_runs:
            return []
        run = pl.col("run_id")
        names = self._streamed(self.frame.group_by(run.cast(pl.String)).agg(pl.len()))
        null = names.filter(run.is_null())
        if null.height:
            raise null_runs(self.where, null["len"][0])
        return names["run_id"].sort().to_list()

    def n_rows(self) -> int:
        return int(self._streamed(self.frame.select(pl.len())).item())

    def parts(self, size: int) -> Iterator[pl.DataFrame]:
        """The rows in order, some at a time, with our names and dtypes; one part at least."""
        frame = pl.DataFrame(schema=self.frame.collect_schema())
        came = False
        try:
            for frame in self.frame.collect_batches(chunk_size=size, maintain_order=True, engine="streaming"):
                yield conformed(frame, RUN, self.where, only=NEEDED)
                came = True
            if not came:
                yield conformed(frame, RUN, self.where, only=NEEDED)
        except (pl.exceptions.PolarsError, OSError) as error:
            raise unreadable(self.where, "a table", error) from error

    def _streamed(self, frame: pl.LazyFrame) -> pl.DataFrame:
        try:
            return frame.collect(engine="streaming")
        except (pl.exceptions.PolarsError, OSError) as error:
            raise unreadable(self.where, "a table", error) from error


def _scan(source: Source) -> _Scan | None:
    """The runs of a source that can be read in parts; None for those that can only be read whole."""
    if are_paths(source.holder):
        with all_there(source):
            return _scan_of(list(source.holder))  # type: ignore[call-overload]  # a list
    return _scan_of([source.holder])


def _scan_of(holders: Sequence[object]) -> _Scan | None:
    frames = []
    for holder in holders:
        refuse_collection(holder)
        frame = None if holds_retrieval(holder) else scan_needed(holder, NEEDED)
        if frame is None or (len(holders) > 1 and "score" not in frame.collect_schema()):
            return None
        frames.append(frame)
    where = "run" if isinstance(holders[0], pl.LazyFrame) else ", ".join(map(str, holders))
    return _Scan(frames[0] if len(frames) == 1 else pl.concat(frames, how="diagonal_relaxed"), where)


def _valid_parts(
    scan: _Scan,
    runs: Sequence[str],
    invalid: Invalid,
    size: int,
    notes: dict[str, list[Note]],
    *,
    progress: bool,
    stop: Event | None,
) -> Generator[pl.DataFrame]:
    """The rows that can be used; the others are noted for their run, or refused when all of them were seen."""
    wrong: dict[str, Unusable] = {}
    with _bar(scan.n_rows()) if progress else nullcontext() as bar:
        for frame in scan.parts(size):
            if stop is not None and stop.is_set():
                raise StoppedError
            if bar is not None:
                bar.update(frame.height)
            valid, found = parted_rows(Loaded(frame, scan.where), "score")
            if found is not None:
                for run, part in _by_run(frame, runs):
                    of_run, found = parted_rows(Loaded(part, scan.where), "score")
                    if found is not None:
                        wrong[run] = wrong[run] + found if run in wrong else found
                        notes.setdefault(run, []).extend(of_run.notes)
            if not wrong or invalid == "drop":
                yield valid.frame
    if wrong and invalid == "error":
        run = min(wrong)
        raise DataError(wrong[run].message(scan.label(run, runs)))


def _bar(rows: int) -> Any:
    """A bar of the rows that are read."""
    from tqdm import tqdm

    return tqdm(total=rows, unit=" rows", unit_scale=True, desc="read")


def _by_run(frame: pl.DataFrame, runs: Sequence[str]) -> list[tuple[str, pl.DataFrame]]:
    """The rows of each run in a part."""
    if not runs:
        return [("", frame)]
    if len(runs) == 1:
        return [(runs[0], frame.drop("run_id"))]
    parts = frame.partition_by("run_id", as_dict=True, include_key=False, maintain_order=True)
    return [(str(run), part) for (run,), part in parts.items()]
