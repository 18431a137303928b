"""What a retriever has answered, kept while it is asked: in memory, and in a file that survives the process.

Finished queries go to a journal, a line of JSON each, as they come; when a call ends, well or not, the journal becomes
the Parquet file. A process that is killed loses only what was under way: the next one reads both.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from rankframe.errors import DataError, warn
from rankframe.frames.coerce import id_series
from rankframe.frames.schemas import RUN
from rankframe.io.journal import Journal
from rankframe.io.retrievals import LOG, Retrieval, load_retrieval, without_own, write_retrieval
from rankframe.retrievers.asking import Answer

_CHUNK = 1_000  # answers after which Python lists become a frame


class Record(NamedTuple):
    """One answer as it is kept: its row of the log, a hash of the text that was asked, and its results."""

    query_id: str
    n_results: int | None
    status: str
    error: str | None
    latency_s: float
    n_collapsed: int | None
    asked: str
    docs: Sequence[str]
    scores: Sequence[float]
    own: Sequence[float | None]


_KEPT = pl.Schema({**LOG, "asked": pl.String()})
"""The log as it is kept: with the hash that tells one text of a query from another."""


def record(answer: Answer) -> Record:
    """What is kept of an answer."""
    query, results = answer.query, answer.results
    asked = fingerprint(query.text)
    if results is None:
        return Record(query.id, None, "failed", told(answer.error), answer.latency_s, None, asked, (), (), ())
    return Record(
        query.id,
        len(results.docs),
        "ok",
        None,
        answer.latency_s,
        results.n_collapsed,
        asked,
        results.docs,
        results.scores,
        results.own,
    )


def told(error: BaseException | None) -> str:
    """An error as a log says it: its class and message, which may be any text or none."""
    said = ""
    with suppress(Exception):
        said = str(error)
    name = type(error).__name__
    if isinstance(error, BaseExceptionGroup):
        said = f"{said}: {', '.join(map(told, error.exceptions))}"
    return f"{name}: {said}".encode(errors="backslashreplace").decode() if said else name


def fingerprint(text: str) -> str:
    """A short hash of a query's text.

    >>> fingerprint("red kite") == fingerprint("red kite "), len(fingerprint(""))
    (False, 16)
    """
    return blake2b(text.encode(), digest_size=8).hexdigest()


class Records:
    """Answers kept in memory: Python lists that become frames as they grow."""

    def __init__(self) -> None:
        self._frames: list[tuple[pl.DataFrame, pl.DataFrame]] = []
        self._new: list[Record] = []

    def add(self, one: Record) -> None:
        """Keep one more answer; one of the same query that is kept already no longer counts."""
        self._new.append(one)
        if len(self._new) >= _CHUNK:
            self._frames.append(_frames(self._new))
            self._new = []

    def frames(self) -> tuple[pl.DataFrame, pl.DataFrame]:
        """The run (query_id, doc_id, score, retriever_score) and the log of all that is kept, with `asked`."""
        parts = [*self._frames, _frames(self._new)]
        run = pl.concat([run.with_columns(part=pl.lit(part)) for part, (run, _) in enumerate(parts)])
        log = pl.concat([log.with_columns(part=pl.lit(part)) for part, (_, log) in enumerate(parts)])
        log = log.unique("query_id", keep="last", maintain_order=True)
        run = run.join(log.select("query_id", "part"), on=["query_id", "part"], how="semi", maintain_order="left")
        return run.drop("part"), log.drop("part")

    def add_frames(self, run: pl.DataFrame, log: pl.DataFrame) -> None:
        """Keep what frames hold, as `frames` gives them."""
        self._frames.append((run, log))

    def close(self) -> None:
        """Nothing: memory needs no end."""


def _frames(records: Sequence[Record]) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The run and the log of some answers, the last one of each query."""
    last = list({one.query_id: one for one in records}.values())
    log = pl.DataFrame([one[: len(_KEPT)] for one in last], schema=_KEPT, orient="row")
    lengths = pl.Series([len(one.docs) for one in last], dtype=pl.UInt32)
    row = pl.int_range(len(last), dtype=pl.UInt32, eager=True).repeat_by(lengths).explode(empty_as_null=False)
    run = pl.DataFrame(
        [
            log["query_id"].gather(row) if len(row) else log["query_id"].clear(),
            id_series("doc_id", [doc for one in last for doc in one.docs], "results"),
            pl.Series("score", [score for one in last for score in one.scores], pl.Float64),
            pl.Series("retriever_score", [score for one in last for score in one.own], pl.Float64),
        ]
    )
    return run, log


def retrieval(run: pl.DataFrame, log: pl.DataFrame, queries: pl.Series, made: Mapping[str, Any]) -> Retrieval:
    """The kept answers to these queries, in their order; the retriever's own scores where they are not the scores."""
    run, log = (_placed(frame.filter(pl.col("query_id").is_in(queries.implode())), queries) for frame in (run, log))
    asked = log.select("query_id", "asked")
    return Retrieval(without_own(run), log.select(LOG.names()), {**made, "asked": asked})


def _placed(frame: pl.DataFrame, queries: pl.Series) -> pl.DataFrame:
    """A frame in the order of these queries, and what is of others behind."""
    order = pl.DataFrame([queries, pl.int_range(len(queries), eager=True).alias("place")])
    placed = frame.join(order, on="query_id", how="left", maintain_order="left")
    return placed.sort("place", nulls_last=True, maintain_order=True).drop("place")


class Checkpoint:
    """Answers kept in a file that grows while a retriever is asked.

    path: the Parquet file. made: the settings that the answers depend on, which a later call must share, and the name
    of the retriever. queries: their order, in which the file has them in the end.
    """

    def __init__(self, path: Path, made: Mapping[str, Any], queries: pl.Series) -> None:
        if path.suffix not in (".parquet", ".pq"):
            raise DataError(f"checkpoint={str(path)!r}: it becomes a Parquet file with the run; name it .parquet")
        self._path = path
        self._told = dict(made)
        self._queries = queries
        self._records = Records()
        self._journal = Journal(path.with_name(f"{path.name}.journal.jsonl"), f"checkpoint={str(path)!r}")
        try:
            if path.exists():
                self._read_file()
            self._read_journal()
        except BaseException:
            if self._journal.is_empty:
                self._journal.remove()
            self._journal.close()
            raise

    def add(self, one: Record) -> None:
        """Keep one more answer; it is in the journal when this returns."""
        self._records.add(one)
        self._journal.append(one)

    def frames(self) -> tuple[pl.DataFrame, pl.DataFrame]:
        """The run and the log of all that is kept, with `asked`; also of queries that are not asked now."""
        return self._records.frames()

    def close(self) -> None:
        """Write the Parquet file, which takes the place of the journal."""
        try:
            run, log = (_placed(frame, self._queries) for frame in self.frames())
            write_retrieval(self._path, run, log, self._told)
            self._journal.remove()
        finally:
            self._journal.close()

    def _read_file(self) -> None:
        found = load_retrieval(self._path)
        if found is None:
            raise DataError(
                f"checkpoint={str(self._path)!r} is a file that retrieve did not write, and is not written over; "
                f"give another name"
            )
        told = found[1]
        if "settings" not in told:
            warn(
                f"checkpoint={str(self._path)!r} does not say with which limit, collapse and texts it was made; what "
                f"is answered there is taken as it is"
            )
        self._compare(told)
        run, log = told["run"], told["log"]
        if "asked" not in log.columns:
            log = log.with_columns(asked=pl.lit(None, pl.String))
        if "retriever_score" not in run.columns:  # it was the score, or there was none
            ranks = -(pl.int_range(pl.len()).over("query_id") + 1)
            none = run.select((pl.col("score") == ranks).all()).item()
            run = run.with_columns(retriever_score=pl.lit(None, pl.Float64) if none else pl.col("score"))
        self._records.add_frames(run.select(*RUN.required, "retriever_score"), log.select(_KEPT.names()))

    def _read_journal(self) -> None:
        """The lines of a journal that an earlier process left; one that it could not end is taken off."""
        for number, line in self._journal.lines():
            try:
                if number == 1:
                    self._compare(json.loads(line))
                else:
                    self._records.add(_read(json.loads(line)))
            except DataError:
                raise
            except (AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
                raise DataError(
                    f"{self._journal.path}: line {number} is not what retrieve writes ({error!s:.80}); "
                    + ("remove the file" if number == 1 else "without the line, its query is asked again")
                ) from error
        if self._journal.is_empty:
            self._journal.append(self._told)

    def _compare(self, told: Mapping[str, Any]) -> None:
        """Refuse answers that were made with other settings."""
        there, here = told.get("settings", {}), self._told["settings"]
        other = [name for name in here if name in there and there[name] != here[name]]
        if other:
            raise DataError(
                f"checkpoint={str(self._path)!r} was made with {', '.join(f'{n}={there[n]!r}' for n in other)}, and "
                f"this call has {', '.join(f'{n}={here[n]!r}' for n in other)}; give another name, or the same options"
            )
        if told.get("retriever", self._told["retriever"]) != self._told["retriever"]:
            warn(
                f"checkpoint={str(self._path)!r} was made by a retriever called {told['retriever']!r}, and this one is "
                f"called {self._told['retriever']!r}; what is finished there is taken as it is"
            )


def _read(line: Any) -> Record:
    """The answer in a line of a journal; any error says that it holds none."""
    one = Record(*line)
    numbers = [one.latency_s, *one.scores, *(score for score in one.own if score is not None)]
    texts = [one.query_id, one.asked, one.error or "", *one.docs]
    if not (
        one.status in ("ok", "failed")
        and isinstance(one.n_collapsed, int | None)
        and all(type(part) is list for part in (one.docs, one.scores, one.own))
        and len(one.docs) == len(one.scores) == len(one.own) == (one.n_results or 0)
        and all(isinstance(text, str) for text in texts)
        and all(isinstance(number, float) for number in numbers)
    ):
        raise ValueError(f"no answer: {line!r:.60}")
    "".join(texts).encode()  # a lone surrogate is no text
    return one
