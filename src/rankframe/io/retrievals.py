"""What a retriever answered, as frames and as one Parquet file."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from io import BytesIO
from os import PathLike
from pathlib import Path
from typing import Any

import polars as pl
from polars.exceptions import PolarsError

from rankframe.errors import DataError, counted, listed
from rankframe.frames.checks import Loaded
from rankframe.frames.schemas import RUN
from rankframe.io.files import beside, existing, writing
from rankframe.io.readers import load_run
from rankframe.io.tables import unreadable

LOG = pl.Schema(
    {
        "query_id": pl.String,
        "n_results": pl.Int64,
        "status": pl.String,
        "error": pl.String,
        "latency_s": pl.Float64,
        "n_collapsed": pl.Int64,
    }
)
"""The columns of a log."""

_METADATA = "rankframe_retrieval"
_FORMAT = 1


@dataclass(frozen=True, slots=True, eq=False)
class Retrieval:
    """What a retriever answered: a run, and how every query went.

    Attributes:
        run: query_id, doc_id String, score Float64, in the order of the queries and best first; where the retriever's
            own scores did not give its order, they stand in `retriever_score` Float64 and `score` is minus the rank.
        log: a row per query that was asked: query_id, n_results Int64 (null where it failed), status String (`ok`,
            `failed`), error String, latency_s Float64 in seconds, n_collapsed Int64 (results left out because a better
            one is of the same document).

        made: limit, collapse and whose answers these are, for a checkpoint that resumes from the file.

    `evaluate` takes it in place of a run: a query without results counts 0, a failed one is `failed`.
    """

    run: pl.DataFrame
    log: pl.DataFrame
    made: Mapping[str, Any] = field(default_factory=dict, repr=False)

    def __repr__(self) -> str:
        failed = self.log.filter(status="failed").height
        collapsed = int(self.log["n_collapsed"].sum())
        told = [f"{counted(failed, 'query')} failed"] if failed else []
        told += [f"{counted(collapsed, 'result')} collapsed"] if collapsed else []
        found = f"{counted(self.run.height, 'result')} of {counted(self.log.height, 'query')}"
        return f"Retrieval({', '.join([found, *told])})"

    def write_parquet(self, path: str | PathLike[str]) -> None:
        """Write the run as one Parquet file with the log in its metadata; `read_retrieval` gives both back.

        Any other reader sees the run; `evaluate` and the command line see both.

        Raises:
            DataError: where it cannot be written.
        """
        made = dict(self.made)
        asked = made.pop("asked", None)
        log = self.log if asked is None else self.log.join(asked, on="query_id", how="left", maintain_order="left")
        write_retrieval(Path(path), self.run, log, made)


def loaded_retrieval(found: Retrieval, where: str = "retrieval", only: tuple[str, ...] | None = None) -> Loaded:
    """The run of a retrieval as it is evaluated or written, with what the log says of queries that have no row."""
    if lacking := _lacking(found.run, found.log):
        raise DataError(f"{where}: the frames of a retrieval are without {lacking}")
    log = found.log
    if unknown := set(log["status"]) - {"ok", "failed"}:
        raise DataError(f"{where}: the log has the status {listed(unknown)}; valid: 'ok', 'failed'")
    answered = log["query_id"].is_in(found.run["query_id"].unique().implode())
    failed = pl.col("status") == "failed"
    if rows := log.filter(failed & answered)["query_id"].to_list():
        raise DataError(
            f"{where}: {counted(len(rows), 'query')} failed and {'has' if len(rows) == 1 else 'have'} "
            f"results: {listed(rows)}; take the rows out of the run, or set the status to 'ok'"
        )
    collapsed = log.filter(pl.col("n_collapsed") > 0).select("query_id", "n_results")
    return replace(
        load_run(found.run, only=only, checked=False),
        where=where,
        no_results=log.filter(~failed & ~answered)["query_id"].to_list(),
        failed=log.filter(failed)["query_id"].to_list(),
        collapsed=dict(collapsed.iter_rows()),
    )


def read_retrieval(path: str | PathLike[str]) -> Retrieval:
    """The retrieval that `Retrieval.write_parquet`, or `retrieve` with a checkpoint, wrote.

    Raises:
        FileNotFoundError: where there is no such file.
        DataError: for a file that holds no retrieval, or one of a later format.
    """
    found = load_retrieval(existing(path))
    if found is None:
        raise DataError(f"{path}: this file was not written by Retrieval.write_parquet; read_run reads a run")
    return found[0]


def without_own(run: pl.DataFrame) -> pl.DataFrame:
    """A run without the retriever's own scores where these are the scores, or none."""
    own = run.get_column("retriever_score", default=None)
    if own is not None and (own.null_count() == len(own) or own.equals(run["score"])):
        return run.drop("retriever_score")
    return run


def write_retrieval(path: Path, run: pl.DataFrame, log: pl.DataFrame, told: Mapping[str, Any]) -> None:
    """Write run and log, and what else is `told`, beside the place and then into it: nobody meets half of a file."""
    if lacking := _lacking(run, log):
        raise DataError(f"{path}: a retrieval is not written without {lacking}")
    packed = BytesIO()
    log.write_ipc(packed, compression="zstd")
    metadata = {"format": _FORMAT, "log": base64.b64encode(packed.getvalue()).decode(), **told}
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
    with beside(path, one_writer=True) as part, writing(path):
        run.write_parquet(part, metadata={_METADATA: json.dumps(metadata)})


def load_retrieval(path: Path) -> tuple[Retrieval, dict[str, Any]] | None:
    """The retrieval in a Parquet file, and what else its metadata tells; None for a file that holds none.

    With the latter, `run` and `log` are as they were written: a checkpoint has the retriever's own scores in any case.
    """
    metadata = _told(path)
    if metadata is None:
        return None
    try:
        told: dict[str, Any] = json.loads(metadata)
        if (newer := told.pop("format")) > _FORMAT:
            raise DataError(f"{path}: retrieval format {newer} is newer than this rankframe knows ({_FORMAT})")
        log = pl.read_ipc(base64.b64decode(told.pop("log")))
        run = pl.read_parquet(path, glob=False)
        if lacking := _lacking(run, log):
            raise ValueError(f"without {lacking}")  # noqa: TRY301  # told as below
    except (AttributeError, LookupError, OSError, RecursionError, TypeError, ValueError, PolarsError) as error:
        if isinstance(error, DataError):
            raise
        raise DataError(
            f"{path}: its metadata {_METADATA!r} is not what a retrieval's is ({error!s:.80}); the run alone is read "
            f"by pl.read_parquet"
        ) from error
    if "settings" not in told:
        return Retrieval(run, log), told | {"run": run, "log": log}
    made = {**told, "asked": log.select("query_id", "asked")}
    return Retrieval(without_own(run), log.select(LOG.names()), made), told | {"run": run, "log": log}


def _lacking(run: pl.DataFrame, log: pl.DataFrame) -> str:
    """Which columns of a retrieval these frames do not have, or have as another type."""
    needed = {name: pl.Float64() if name == "score" else pl.String() for name in RUN.required}
    return listed(
        f"{name} {dtype}"
        for frame, columns in ((run, needed), (log, LOG))
        for name, dtype in columns.items()
        if frame.schema.get(name) != dtype
    )


def holds_retrieval(source: object) -> bool:
    """Whether a path is that of a retrieval's file."""
    return isinstance(source, (str, PathLike)) and _told(existing(source)) is not None


def _told(path: Path) -> str | None:
    """What a Parquet file says of the retrieval that it holds."""
    if not _is_parquet(path):
        return None
    try:
        return pl.read_parquet_metadata(path).get(_METADATA)
    except (PolarsError, OSError) as error:
        raise unreadable(path, "Parquet", error) from error


def _is_parquet(path: Path) -> bool:
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(4) == b"PAR1"
