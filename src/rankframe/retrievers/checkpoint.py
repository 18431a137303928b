"""What a retriever has answered, kept while it is asked: in memory, and in a file that survives the process.

Finished queries go to a journal, a line of JSON each, as they come; when a call ends, well or not, the journal becomes
the Parquet file. A process that is killed loses only what was under way: the next one reads both.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import IO, Any, NamedTuple

import polars as pl

from rankframe.errors import DataError, RankframeWarning
from rankframe.frames.coerce import id_series
from rankframe.io.retrievals import LOG, Retrieval, load_retrieval, write_retrieval
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
    """An error as a log says it: its class and message."""
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


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


def retrieval(run: pl.DataFrame, log: pl.DataFrame, queries: pl.Series) -> Retrieval:
    """The kept answers to these queries, in their order; the retriever's own scores where they are not the scores."""
    order = pl.DataFrame([queries, pl.int_range(len(queries), eager=True).alias("place")])
    run, log = (
        frame.join(order, on="query_id").sort("place", maintain_order=True).drop("place") for frame in (run, log)
    )
    own = run["retriever_score"]
    if own.null_count() == len(own) or own.equals(run["score"]):
        run = run.drop("retriever_score")
    return Retrieval(run, log.select(LOG.names()))


class Checkpoint:
    """Answers kept in a file that grows while a retriever is asked.

    path: the Parquet file. settings: what the answers depend on, which a later call must share. retriever: its name.
    """

    def __init__(self, path: Path, settings: Mapping[str, Any], retriever: str) -> None:
        if path.suffix not in (".parquet", ".pq"):
            raise DataError(f"checkpoint={str(path)!r}: it becomes a Parquet file with the run; name it .parquet")
        self._path = path
        self._told: dict[str, Any] = {"settings": dict(settings), "retriever": retriever}
        self._records = Records()
        if path.exists():
            self._read_file()
        path.parent.mkdir(parents=True, exist_ok=True)
        self._journal = path.with_name(f"{path.name}.journal.jsonl")
        self._file: IO[bytes] = self._journal.open("ab+", buffering=0)
        try:
            _claim(self._file, path)
            self._read_journal()
        except BaseException:
            self._file.close()
            raise

    def add(self, one: Record) -> None:
        """Keep one more answer; it is in the journal when this returns."""
        self._records.add(one)
        self._append(one)

    def frames(self) -> tuple[pl.DataFrame, pl.DataFrame]:
        """The run and the log of all that is kept, with `asked`; also of queries that are not asked now."""
        return self._records.frames()

    def close(self) -> None:
        """Write the Parquet file, which takes the place of the journal."""
        run, log = self.frames()
        write_retrieval(self._path, run, log, self._told)
        self._file.close()
        self._journal.unlink()

    def _append(self, value: object) -> None:
        self._file.write(json.dumps(value, ensure_ascii=False).encode() + b"\n")

    def _read_file(self) -> None:
        found = load_retrieval(self._path)
        if found is None:
            raise DataError(
                f"checkpoint={str(self._path)!r} is a file that retrieve did not write, and is not written over; "
                f"give another name"
            )
        kept, told = found
        self._compare(told)
        log = told["log"] if "asked" in told["log"].columns else told["log"].with_columns(asked=pl.lit(None, pl.String))
        run = (
            kept.run
            if "retriever_score" in kept.run.columns
            else kept.run.with_columns(retriever_score=pl.col("score"))
        )
        self._records.add_frames(run, log)

    def _read_journal(self) -> None:
        """The lines of a journal that an earlier process left; one that it could not end is taken off."""
        self._file.seek(0)
        content = self._file.read()
        whole = content.rfind(b"\n") + 1
        self._file.truncate(whole)
        lines = content[:whole].splitlines()
        if not lines:
            self._append(self._told)
            return
        try:
            self._compare(json.loads(lines[0]))
            for line in lines[1:]:
                self._records.add(Record(*json.loads(line)))
        except (ValueError, TypeError, LookupError) as error:
            if isinstance(error, DataError):
                raise
            raise DataError(f"{self._journal}: a line is not what retrieve writes ({error!s:.80})") from error

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
            warnings.warn(
                f"checkpoint={str(self._path)!r} was made by a retriever called {told['retriever']!r}, and this one is "
                f"called {self._told['retriever']!r}; what is finished there is taken as it is",
                RankframeWarning,
                stacklevel=5,
            )


def _claim(file: IO[bytes], path: Path) -> None:
    """Refuse a checkpoint that another process is writing, where the system can tell."""
    try:
        import fcntl
    except ImportError:  # Windows
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        raise DataError(
            f"checkpoint={str(path)!r} is being written by another process; wait, or give another name"
        ) from error
