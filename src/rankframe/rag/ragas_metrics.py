"""Metrics of Ragas, old and new, run on the samples that have what each needs; Ragas itself is the caller's."""

from __future__ import annotations

import asyncio
import inspect
import logging
import threading
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import copy_context
from dataclasses import dataclass
from typing import Any, NamedTuple

import polars as pl

from rankframe.errors import MetricError, listed
from rankframe.rag.ragas_samples import RAGAS_FIELDS, plain_rows

Range = tuple[float | None, float | None]
Evaluate = Callable[[Any, Sequence[Mapping[str, Any]]], Awaitable[Sequence[object]]]

_WORKERS, _SECONDS = 16, 180.0  # as in Ragas' RunConfig


class Cell(NamedTuple):
    """What Ragas gave for one sample, under the names of its own MetricResult; `missing` where it was not asked."""

    value: object
    reason: str | None = None
    missing: bool = False


NOT_ASKED = Cell(None, missing=True)


def metric_name(metric: Any) -> str:
    """How Ragas' `evaluate` calls the scores of a metric: with its mode, where it has one."""
    return f"{metric.name}(mode={metric.mode})" if hasattr(metric, "mode") else str(metric.name)


def metric_range(metric: Any) -> Range | None:
    """The smallest and largest value that a metric tells of, None where it does not."""
    allowed = getattr(metric, "allowed_values", None)
    return (float(allowed[0]), float(allowed[-1])) if isinstance(allowed, (tuple, range)) else None


def needed(metric: Any) -> tuple[list[str], list[str]]:
    """The columns that a metric of Ragas must be given, and those that it takes besides.

    Raises:
        MetricError: for a metric of conversations, and for one that does not tell.
    """
    if hasattr(metric, "required_columns"):
        columns = metric.required_columns.get("SINGLE_TURN")
        if columns is None:
            raise MetricError(f"{metric_name(metric)} scores conversations (MultiTurnSample), and samples are none")
        return sorted(columns), []
    if hasattr(metric, "get_variables"):  # a prompt with placeholders
        return sorted(set(metric.get_variables())), []
    ascore = getattr(metric, "_func", None) or metric.ascore  # a function that a decorator of Ragas made a metric of
    parameters = list(inspect.signature(ascore).parameters.values())
    if any(p.kind in (p.VAR_KEYWORD, p.VAR_POSITIONAL) for p in parameters):
        raise MetricError(
            f"{metric_name(metric)} does not tell which columns it needs (ascore takes **kwargs); score it in Ragas "
            f"and give the results to from_ragas_result"
        )
    must = [p.name for p in parameters if p.default is p.empty]
    return must, [p.name for p in parameters if p.default is not p.empty]


def complete(columns: Sequence[str], frame: pl.DataFrame) -> list[bool]:
    """Which samples have all of these columns."""
    if not columns or any(name not in frame.columns for name in columns):
        return [not columns] * frame.height
    return frame.select(pl.all_horizontal(pl.col(name).is_not_null() for name in columns)).to_series().to_list()


@dataclass(frozen=True, slots=True)
class Job:
    """A metric with what it is given of each sample, None where the sample lacks something."""

    metric: Any
    inputs: Sequence[Mapping[str, Any] | None]
    is_old: bool

    @property
    def name(self) -> str:
        return metric_name(self.metric)


def job(metric: Any, frame: pl.DataFrame, options: Mapping[str, Any]) -> Job:
    """What this metric is given of these samples.

    Raises:
        MetricError: for what is no metric of Ragas, gives no numbers, or lacks what it asks with.
    """
    is_old = hasattr(metric, "single_turn_ascore") or hasattr(metric, "multi_turn_ascore")
    if isinstance(metric, type) or not (is_old or hasattr(metric, "ascore")):
        made = f"; make one of it: {metric.__name__}()" if isinstance(metric, type) else ""
        raise MetricError(f"{metric!r:.80} is no metric of Ragas{made or '; expected objects such as ExactMatch()'}")
    must, may = needed(metric)
    if absent := [name for name in must if name not in frame.columns]:
        raise MetricError(
            f"{metric_name(metric)} needs {listed(absent)}, which the samples do not have; there are "
            f"{listed(frame.columns, 20)}"
        )
    if not is_old:
        _check_numeric(metric)
    _check_asks_with(metric, options, is_old=is_old)
    further = {"llm": options["llm"]} if hasattr(metric, "get_variables") else {}
    names = RAGAS_FIELDS if is_old else [*must, *(name for name in may if name in frame.columns)]
    rows = plain_rows(frame.select(names)) if names else [{}] * frame.height
    if not is_old:  # what may be absent has a default there
        rows = [{name: value for name, value in row.items() if value is not None or name in must} for row in rows]
    there = complete(must, frame)
    return Job(metric, [{**row, **further} if has else None for row, has in zip(rows, there, strict=True)], is_old)


def _check_asks_with(metric: Any, options: Mapping[str, Any], *, is_old: bool) -> None:
    """Refuse a metric whose LLM or embeddings are nowhere: Ragas would make some of OpenAI's for it."""
    for part, what in (("llm", "an LLM"), ("embeddings", "embeddings")):
        lacks = getattr(metric, part, ...) is None if is_old else part == "llm" and hasattr(metric, "get_variables")
        if lacks and options.get(part) is None:
            raise MetricError(
                f"{metric_name(metric)} asks {what}: give {part}={', or make the metric with it' if is_old else ''}"
            )


def _check_numeric(metric: Any) -> None:
    """Refuse a metric that gives words or rankings before it is paid for."""
    allowed = getattr(metric, "allowed_values", None)
    if allowed is not None and not isinstance(allowed, (tuple, range)):
        raise MetricError(
            f"{metric_name(metric)} gives no numbers (allowed_values={allowed!r:.60}); score it in Ragas, and turn its "
            f"words into numbers for from_ragas_result"
        )


def run(jobs: Sequence[Job], evaluate: Evaluate, options: Mapping[str, Any]) -> list[list[Cell]]:
    """The cells of every job, for each sample one; all are asked in one event loop, and one that runs is left alone.

    `evaluate` runs a metric of the old kind on rows that are complete and gives a value for each.
    """

    async def every() -> list[list[Cell]]:
        return [await _cells(each, evaluate, options) for each in jobs]

    return _finished(every())


def _finished(coroutine: Coroutine[Any, Any, list[list[Cell]]]) -> list[list[Cell]]:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(coroutine)
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(copy_context().run, asyncio.run, coroutine).result()


async def _cells(job: Job, evaluate: Evaluate, options: Mapping[str, Any]) -> list[Cell]:
    asked = [given for given in job.inputs if given is not None]
    if not asked:
        return [NOT_ASKED] * len(job.inputs)
    come = iter(await (_evaluated(job, evaluate, asked) if job.is_old else _asked(job, asked, options)))
    return [NOT_ASKED if given is None else next(come) for given in job.inputs]


async def _evaluated(job: Job, evaluate: Evaluate, rows: Sequence[Mapping[str, Any]]) -> list[Cell]:
    with _failures() as reasons:
        values = await evaluate(job.metric, rows)
    return [Cell(value, reasons.get(place)) for place, value in enumerate(values)]


async def _asked(job: Job, inputs: Sequence[Mapping[str, Any]], options: Mapping[str, Any]) -> list[Cell]:
    """What a metric of the new kind gives; Ragas' own batches end with the first that fails."""
    from tqdm import tqdm

    config = options.get("run_config")
    workers = getattr(config, "max_workers", _WORKERS)
    seconds = getattr(config, "timeout", _SECONDS)
    room = asyncio.Semaphore(workers if workers > 0 else len(inputs))

    async def one(given: Mapping[str, Any]) -> Cell:
        async with room:
            try:
                result = await asyncio.wait_for(job.metric.ascore(**given), seconds)
            except Exception as error:
                if options.get("raise_exceptions"):
                    raise
                return Cell(None, _told(type(error).__name__, str(error)))
            finally:
                bar.update()
        return cell(result)

    with tqdm(total=len(inputs), desc=job.name, disable=not options.get("show_progress")) as bar:
        return await asyncio.gather(*map(one, inputs))


def cell(given: Any) -> Cell:
    """A cell, of a number as it is or of Ragas' MetricResult."""
    if isinstance(given, Cell):
        return given
    if hasattr(given, "value") and hasattr(given, "reason"):
        return Cell(given.value, None if given.reason is None else str(given.reason))
    return Cell(given)


class _Noted(logging.Handler):
    """Keeps why jobs of Ragas' executor failed: it gives NaN for them, and says the rest to its log alone."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.reasons: dict[int, str] = {}
        self._thread = threading.get_ident()  # another thread may evaluate something else

    def emit(self, record: logging.LogRecord) -> None:
        match record.args:
            case (int(place), str(kind), str(message)) if record.thread == self._thread:
                self.reasons[place] = _told(kind, message)


@contextmanager
def _failures() -> Iterator[dict[int, str]]:
    """The reasons of failed jobs by their place, as they come."""
    logger, noted = logging.getLogger("ragas.executor"), _Noted()
    logger.addHandler(noted)
    try:
        yield noted.reasons
    finally:
        logger.removeHandler(noted)


def _told(kind: str, message: str) -> str:
    return f"{kind}: {message}" if message else kind
