"""Runs on their way: each batch goes to the ranker of its run, and two runs are ranked at once."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import closing, suppress
from functools import partial
from threading import Event
from typing import Any

import polars as pl

from rankframe.batches import Batches, NotGroupedError, StoppedError
from rankframe.frames.checks import Invalid
from rankframe.inputs import Source
from rankframe.ranking import RunRanker

_TICK = 0.2  # seconds
_AT_ONCE = 2  # one is read while another is ranked; more of them share the same threads of Polars


def ranked_runs(
    sources: Sequence[Source],
    ranker: Callable[[str], RunRanker],
    asked: pl.Series | None,
    *,
    invalid: Invalid,
    rows: int,
    progress: bool,
) -> Generator[tuple[Source, RunRanker]]:
    """The runs of all sources with their sources, ranked, in their order.

    Args:
        sources: where the runs come from.
        ranker: makes the ranker of a run.
        asked: the queries that were asked, if they were named.
        invalid: "error" or "drop".
        rows: how many rows may be in memory at a time.
        progress: show bars of the rows read.
    """
    stop = Event()

    def rank(source: Source, rows: int) -> Iterable[RunRanker]:
        return _ranked(source, ranker, asked, stop, invalid=invalid, rows=rows, progress=progress)

    if len(sources) == 1:
        yield from ((sources[0], run) for run in rank(sources[0], rows))
        return
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        try:
            pending = [pool.submit(rank, source, max(1, rows // _AT_ONCE)) for source in sources]
            for runs in pending:
                runs.add_done_callback(partial(_stop_if_interrupted, stop))
            for source, runs in zip(sources, pending, strict=True):
                while not runs.done():  # a wait without end hears of no Ctrl-C that reaches another thread
                    wait([runs], timeout=_TICK)
                yield from ((source, run) for run in runs.result())
        except StoppedError:
            raise next(end for end in map(_interrupt, pending) if end is not None) from None
        finally:  # also where one failed, or somebody interrupts: the others end at their next part
            stop.set()
            pool.shutdown(cancel_futures=True)


def _interrupt(runs: Future[Any]) -> BaseException | None:
    """What ended the ranking of a source from outside: Ctrl-C, of which Polars tells the thread that calls it."""
    end = None if runs.cancelled() or not runs.done() else runs.exception()
    return None if isinstance(end, Exception) else end


def _stop_if_interrupted(stop: Event, runs: Future[Any]) -> None:
    if _interrupt(runs) is not None:
        stop.set()


def _ranked(
    source: Source,
    ranker: Callable[[str], RunRanker],
    asked: pl.Series | None,
    stop: Event,
    *,
    invalid: Invalid,
    rows: int,
    progress: bool,
) -> Iterable[RunRanker]:
    """The runs of a source, each ranked; begun anew where its rows turn out not to stand together by query."""
    source_batches = Batches(source, invalid=invalid, rows=rows, progress=progress, stop=stop)
    for grouped in (True, False):
        runs: dict[str, RunRanker] = {}
        batches = source_batches.read(grouped=grouped)
        with closing(batches), suppress(NotGroupedError):
            for name, loaded in batches:
                if stop.is_set():
                    raise StoppedError
                if asked is not None and loaded.collapsed:
                    loaded.collapsed = {query: loaded.collapsed[query] for query in asked if query in loaded.collapsed}
                if name not in runs:
                    runs[name] = ranker(name)
                runs[name].add(loaded)
            break
    for run, (name, where) in source_batches.named(runs).items():
        runs[run].run_id, runs[run].where = name, where
    return [run for _, run in sorted(runs.items())]
