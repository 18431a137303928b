"""The runs of a source, read in batches: rows are checked as they come, and told of when all were seen."""

from __future__ import annotations

from collections.abc import Collection, Generator, Sequence
from contextlib import closing, nullcontext
from dataclasses import dataclass
from threading import Event
from typing import Any

import polars as pl

from rankframe.batches.grouping import by_bucket, in_order, read_size
from rankframe.errors import DataError
from rankframe.frames.checks import Invalid, Loaded, Unusable, parted_rows
from rankframe.frames.coerce import as_said
from rankframe.frames.ledger import Note
from rankframe.frames.schemas import RUN
from rankframe.inputs import NEEDED, Source, all_there, are_paths, load_runs, null_runs, refuse_collection, run_name
from rankframe.io.readers import conformed
from rankframe.io.retrievals import holds_retrieval
from rankframe.io.scans import scan_needed
from rankframe.io.tables import unreadable


class StoppedError(Exception):
    """Nobody waits for these rows any more."""


class Batches:
    """The runs of one source in batches of whole queries.

    Args:
        source: the runs: Parquet files and LazyFrames come in batches of about so many `rows`, anything else whole.
        invalid: "error" or "drop", as for `load_runs`.
        rows: how many rows may be in memory at a time.
        progress: show a bar of the rows read.
        stop: when it is set, reading ends.
    """

    def __init__(
        self, source: Source, *, invalid: Invalid, rows: int, progress: bool = False, stop: Event | None = None
    ) -> None:
        self._source, self._invalid, self._rows, self._progress, self._stop = source, invalid, rows, progress, stop
        self._scan = _scan(source)
        self._n_rows = 0

    def read(self, *, grouped: bool = True) -> Generator[tuple[str, Loaded]]:
        """The batches, each with the run that it is of: see `named`.

        With `grouped`, rows of a query are taken to stand together; otherwise they are sorted out first.

        Raises:
            NotGroupedError: where the rows of a query do not stand together and are taken to.
            StoppedError: where reading was stopped.
            DataError: for rows that cannot be used, when all of them were seen.
        """
        if self._scan is None:
            yield from load_runs(self._source, invalid=self._invalid)
            return
        before, self._n_rows = self._n_rows, 0
        notes: dict[str, list[Note]] = {}
        frame = pl.DataFrame()
        keys = ("query_id", "run_id") if self._scan.has_runs else ("query_id",)
        parts = self._valid_parts(notes)
        with closing(parts), closing((in_order if grouped else by_bucket)(parts, keys, self._rows)) as batches:
            for frame in batches:
                for run, part in _by_run(frame):
                    yield run, Loaded(part, self._scan.where)
        if self._scan.has_runs and not self._n_rows:  # a run without a name, as there is no row to give it
            yield "", Loaded(frame.clear().drop("run_id", strict=False), self._scan.where)
        if self._n_rows < before:
            raise DataError(
                f"{self._scan.where}: of {before:,} rows {self._n_rows:,} were left when the LazyFrame was run again, "
                f"as rows of one query do not stand together; collect() it, or write it to Parquet before"
            )
        for run, said in notes.items():
            yield run, Loaded(frame.clear().drop("run_id", strict=False), self._scan.where, said)

    def first(self) -> pl.DataFrame:
        """The rows that come first, as they are."""
        if self._scan is None:
            return load_runs(self._source, invalid=self._invalid)[0][1].frame
        with closing(self._scan.parts(read_size(self._rows))) as parts:
            return next(parts)

    def named(self, runs: Collection[str]) -> dict[str, tuple[str, str]]:
        """The name of each run that was read, and what messages call it."""
        if self._scan is None:
            return {}
        found = [run for run in runs if run]
        where = self._scan.where
        return {
            run: (run_name(self._source, run, found), f"{where}, run {run!r}" if len(found) > 1 else where)
            for run in runs
        }

    def _valid_parts(self, notes: dict[str, list[Note]]) -> Generator[pl.DataFrame]:
        """The rows that can be used; the others are noted for their run, or refused when all of them were seen."""
        assert self._scan is not None
        wrong: dict[str, Unusable] = {}
        runs: set[str] = set()
        nameless = 0
        with self._bar() as bar:
            for frame in self._scan.parts(read_size(self._rows)):
                if self._stop is not None and self._stop.is_set():
                    raise StoppedError
                if bar is not None:
                    bar.update(frame.height)
                self._n_rows += frame.height
                if self._scan.has_runs:
                    names = frame["run_id"]
                    nameless += names.null_count()
                    runs.update(names.drop_nulls().unique())
                valid, found = parted_rows(Loaded(frame, self._scan.where), "score")
                if found is not None:
                    _add_unusable(frame, wrong, notes)
                if not nameless and (not wrong or self._invalid == "drop"):
                    yield valid.frame
            if bar is not None:
                bar.leave = True  # one that stops before, since rows do not stand by query, makes place for the next
        if nameless:
            raise null_runs(self._scan.where, nameless)
        if wrong and self._invalid == "error":
            run = min(wrong)
            raise DataError(wrong[run].message(self.named(runs or {""})[run][1]))

    def _bar(self) -> Any:
        """A bar of the rows that are read, or nothing."""
        if not self._progress:
            return nullcontext()
        from tqdm import tqdm

        assert self._scan is not None
        total = self._scan.n_rows()
        return tqdm(total=total, unit=" rows", unit_scale=True, desc=self._source.otherwise, leave=False)


@dataclass(frozen=True, slots=True)
class _Scan:
    """Runs that need not be in memory at once: the columns needed, lazily, file behind file.

    where: what messages call them. of_files: whether they stand in files, which know how many rows they have.
    """

    frames: tuple[pl.LazyFrame, ...]
    where: str
    of_files: bool

    def n_rows(self) -> int | None:
        """How many rows there are, where that costs nothing."""
        return sum(int(frame.select(pl.len()).collect().item()) for frame in self.frames) if self.of_files else None

    @property
    def has_runs(self) -> bool:
        """Whether a column tells several runs apart."""
        return any("run_id" in frame.collect_schema() for frame in self.frames)

    def parts(self, size: int) -> Generator[pl.DataFrame]:
        """The rows in order, some at a time, with our names and dtypes; one part at least."""
        has_runs, part = self.has_runs, None
        for lazy in self.frames:
            part = None
            try:
                with as_said():
                    for frame in self._collected(lazy, size):
                        part = self._conformed(frame, has_runs=has_runs)
                        yield part
            except (pl.exceptions.PolarsError, OSError) as error:
                raise unreadable(self.where, "a table", error) from error
        if part is None:
            yield self._conformed(pl.DataFrame(schema=self.frames[-1].collect_schema()), has_runs=has_runs)

    def _collected(self, lazy: pl.LazyFrame, size: int) -> Generator[pl.DataFrame]:
        """The rows of a lazy frame, some at a time."""
        batches = lazy.collect_batches(chunk_size=size, maintain_order=True, engine="streaming")
        while True:
            try:
                frame = next(batches)
            except StopIteration as end:
                if end.args:  # raised by a function in the plan; Polars' own has none
                    raise DataError(
                        f"{self.where}: a function in the LazyFrame raised StopIteration, which is no end of its rows; "
                        f"handle it in that function"
                    ) from end
                return
            yield frame

    def _conformed(self, frame: pl.DataFrame, *, has_runs: bool) -> pl.DataFrame:
        part = conformed(frame, RUN, self.where, only=NEEDED)
        if "rank" in part.columns:  # it is only held against the scores, and parts may differ in its type
            read = part["rank"].dtype.is_numeric() or part["rank"].dtype == pl.String
            rank = pl.col("rank").cast(pl.Float64, strict=False) if read else pl.lit(None, pl.Float64)
            part = part.with_columns(rank=rank)
        return part.with_columns(run_id=pl.lit(None, pl.String)) if has_runs and "run_id" not in part.columns else part


def _scan(source: Source) -> _Scan | None:
    """The runs of a source that can be read in parts; None for those that can only be read whole."""
    if are_paths(source.holder):
        with all_there(source):
            return _scan_of(list(source.holder))  # type: ignore[call-overload]  # a list
    return _scan_of([source.holder])


def _scan_of(holders: Sequence[object]) -> _Scan | None:
    frames: list[pl.LazyFrame] = []
    for holder in holders:
        refuse_collection(holder)
        found = None if holds_retrieval(holder) else scan_needed(holder, NEEDED)
        if found is None:
            return None
        frames += found
    of_files = not isinstance(holders[0], pl.LazyFrame)
    return _Scan(tuple(frames), ", ".join(map(str, holders)) if of_files else RUN.label, of_files)


def _add_unusable(frame: pl.DataFrame, wrong: dict[str, Unusable], notes: dict[str, list[Note]]) -> None:
    """Add what is wrong with the rows of each run."""
    for run, part in _by_run(frame):
        of_run, found = parted_rows(Loaded(part, ""), "score")
        if found is not None:
            wrong[run] = wrong[run] + found if run in wrong else found
            notes.setdefault(run, []).extend(of_run.notes)


def _by_run(frame: pl.DataFrame) -> list[tuple[str, pl.DataFrame]]:
    """The rows of each run in a part, in the order of their names; "" where there is one and has none."""
    if "run_id" not in frame.columns:
        return [("", frame)]
    parts = frame.partition_by("run_id", as_dict=True, include_key=False, maintain_order=True)
    return sorted(((str(run), part) for (run,), part in parts.items()), key=lambda found: found[0])
