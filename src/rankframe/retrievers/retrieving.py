"""`retrieve`: queries in, a run and a log out, whatever the retriever and however long it takes."""

from __future__ import annotations

import math
import numbers
import re
import sys
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager, closing, nullcontext, suppress
from os import PathLike
from pathlib import Path
from threading import Event
from typing import Any, Literal

import polars as pl

from rankframe.asking import Loop, asked, noted
from rankframe.errors import DataError, counted, listed
from rankframe.frames.checks import choice
from rankframe.frames.schemas import QUERIES
from rankframe.io.beir import Beir
from rankframe.io.readers import load_texts
from rankframe.io.retrievals import Retrieval
from rankframe.metrics.metric import checked_cutoff
from rankframe.retrievers.asking import Answer, Asker
from rankframe.retrievers.calling import Query, caller, named
from rankframe.retrievers.checkpoint import Checkpoint, Records, fingerprint, record, retrieval
from rankframe.retrievers.hits import Collapse
from rankframe.retrievers.results import Key, Reader


def retrieve(
    retriever: object,
    queries: object,
    *,
    limit: int = 100,
    key: Key | None = None,
    collapse: Collapse = "best",
    concurrency: int = 1,
    batch_size: int | None = None,
    on_error: Literal["raise", "record"] = "raise",
    retries: int = 0,
    wait: float = 1.0,
    checkpoint: str | PathLike[str] | None = None,
    progress: bool = False,
) -> Retrieval:
    """Ask a retriever for every query.

    Args:
        retriever: a function of a query, or an object with `.search`, `.retrieve`, `.invoke`, `.query` or `.run`;
            plain or a coroutine function. Its signature is looked at: the limit goes to `limit`, `k`, `top_k` or
            `n_results`, the id to `query_id`; a parameter `queries` (or `batch_size=`) makes it one of batches, which
            takes a list of texts and answers with a list of results for each.
        queries: query_id, text: whatever `read_queries` takes, or a `Beir`.
        limit: how many results to ask for. Longer answers are cut, iterators are read no further.
        key: takes a result and gives its id; of a mapping {id: score} it takes the pair, of a frame the row as a
            mapping. Without it, ids and scores are recognised: ids, (id, score) pairs, {id: score}, mappings and
            objects with `doc_id`, `id` and the like, on them, in their metadata (`source` too), or on the segment, node
            or document that they hold; frames with doc_id; what LangChain, LlamaIndex, Haystack, Qdrant, Chroma and
            Elasticsearch answer.
        collapse: "best" takes the id of the source document and keeps its best rank; "none" takes the id of the
            result itself (the chunk) before that of its source, and refuses one that comes twice.
        concurrency: how many calls may be under way at once.
        batch_size: how many queries a call takes, for a retriever of batches; 32 where only its signature tells.
        on_error: "raise" stops at the first query that fails; "record" logs it as failed and goes on.
        retries: how often a call that raised is repeated. A batch that raises still is then asked query by query, so
            that only those fail that must.
        wait: seconds before the first repetition, doubled before each further one.
        checkpoint: a Parquet file that keeps what is finished, from the first query on. The same call resumes there,
            also after the process was killed: finished queries are not asked again, failed ones and changed texts are.
            Queries that are no longer asked stay in the file. While it lasts, answers stand in a journal beside it. A
            retriever is known by its name only: where its body changes, give another file.
        progress: show a bar with rate and failures on standard error.

    Returns:
        A `Retrieval`: `run` in the order of the queries, best first, and `log`. The order of an answer is its ranking:
        where its scores do not give that order (missing, tied, distances), `score` is minus the rank. A mapping
        {id: score} and a frame with `rank` are put in their order. No queries: no rows.

    Raises:
        MetricError: for a limit that is no whole number from 1, before anything is asked.
        DataError: for queries that cannot be asked, for a retriever whose parameters nothing explains, for answers that
            are not recognised, and for a checkpoint that was made with other options.
        Exception: whatever the retriever raises, as it is, with a note that names the query. What was finished is in
            its attribute `retrieval`, and in the checkpoint.

    >>> rankings = {"red kite": ["d1", "d9"], "owl": []}
    >>> found = retrieve(lambda query: rankings[query], {"q1": "red kite", "q2": "owl"})
    >>> found.run.rows()
    [('q1', 'd1', -1.0), ('q1', 'd9', -2.0)]
    >>> found.log.select("query_id", "n_results", "status").rows()
    [('q1', 2, 'ok'), ('q2', 0, 'ok')]
    """
    limit = checked_cutoff(limit, "limit")
    reader = Reader(min(limit, sys.maxsize), key, collapse)
    choice("collapse", collapse, ("best", "none"))
    choice("on_error", on_error, ("raise", "record"))
    _whole("concurrency", concurrency, 1)
    _whole("retries", retries, 0)
    if batch_size is not None:
        _whole("batch_size", batch_size, 1)
    if isinstance(wait, bool) or not isinstance(wait, numbers.Real) or not 0 <= wait < math.inf:
        raise DataError(f"wait={wait!r}: it must be a number of seconds, from 0")
    if key is not None and not callable(key):
        raise DataError(f"key={key!r}: it must be a function that takes a result and gives its id")
    called = caller(retriever, batch_size)
    texts = _texts(queries)
    settings = {"limit": limit, "collapse": collapse, "key": None if key is None else named(key)}
    made = {"settings": settings, "retriever": called.name}
    kept = Records() if checkpoint is None else Checkpoint(_path(checkpoint), made, texts["query_id"])
    failure = None
    try:
        with closing(kept):
            todo = _unfinished(texts, kept.frames()[1])
            size = called.batch_size or 1
            jobs = [todo[start : start + size] for start in range(0, len(todo), size)]
            with Loop() as loop, _bar(texts.height, texts.height - len(todo), shown=progress) as bar:
                asker = Asker(called, reader, loop, retries, float(wait), stop := Event())
                with closing(asked(asker, jobs, concurrency)) as answers:
                    failure = _keep(answers, kept, stop if on_error == "raise" else None, bar)
        if failure is not None:
            raise failure  # noqa: TRY301  # as the retriever raised it, with what is said below
    except BaseException as error:
        run, log = kept.frames()
        _leave(error, retrieval(run, log, _asked_so(texts, log)["query_id"], made), texts.height, checkpoint)
        raise
    return retrieval(*kept.frames(), texts["query_id"], made)


def _path(checkpoint: object) -> Path:
    """The file itself where the path is a link to it."""
    if not isinstance(checkpoint, (str, PathLike)):
        raise DataError(f"checkpoint={checkpoint!r} is a path, as in checkpoint='run.parquet'")
    path = Path(checkpoint)
    return path.resolve() if path.is_symlink() else path


def _whole(name: str, value: object, least: int) -> None:
    if isinstance(value, bool) or not isinstance(value, numbers.Integral) or value < least:
        raise DataError(f"{name}={value!r}: it must be a whole number from {least}")


def _texts(queries: object) -> pl.DataFrame:
    """query_id, text: every query once, each with its text."""
    if isinstance(queries, (list, tuple)) and any(isinstance(query, str) for query in queries):
        raise DataError(f"queries: a list of texts has no ids; name them, as in {{'q1': {queries[0]!r:.40}}}")
    try:
        loaded = load_texts(queries.queries if isinstance(queries, Beir) else queries, QUERIES)
    except DataError as error:
        hint = "; these are options of read_queries" if re.search(r"\b(invalid|columns|format)=", str(error)) else ""
        raise DataError(f"{error}{hint}") from error
    texts = loaded.frame.select("query_id", "text")
    twice = texts["query_id"].filter(texts["query_id"].is_duplicated()).unique(maintain_order=True)
    if len(twice):
        raise DataError(f"{loaded.where}: {counted(len(twice), 'query id')} more than once: {listed(twice)}")
    blank = texts.filter(pl.col("text").is_null())["query_id"]
    if len(blank):
        raise DataError(f"{loaded.where}: {counted(len(blank), 'query')} without text: {listed(blank)}")
    return texts


def _asked_so(texts: pl.DataFrame, log: pl.DataFrame) -> pl.DataFrame:
    """The queries that were asked with the text that they have now."""
    known = dict(log.select("query_id", "asked").iter_rows())
    return texts.filter(
        pl.Series(
            [
                query_id in known and known[query_id] in (None, fingerprint(text))
                for query_id, text in texts.iter_rows()
            ],
            dtype=pl.Boolean,
        )
    )


def _unfinished(texts: pl.DataFrame, log: pl.DataFrame) -> list[Query]:
    """The queries that are not answered yet: new ones, ones that failed, and ones whose text is another now."""
    finished = _asked_so(texts, log.filter(status="ok"))
    left = texts.join(finished, on="query_id", how="anti", maintain_order="left")
    return [Query(query_id, text) for query_id, text in left.iter_rows()]


def _bar(total: int, done: int, *, shown: bool) -> AbstractContextManager[Any]:
    """A bar of progress, or nothing."""
    if not shown:
        return nullcontext()
    from tqdm import tqdm

    return tqdm(total=total, initial=done, unit=" queries", desc="retrieve")


def _keep(
    answers: Iterable[Sequence[Answer]], kept: Records | Checkpoint, stop: Event | None, bar: Any
) -> Exception | None:
    """Keep what is answered. The first error sets `stop` and is given back; without `stop`, errors are kept too."""
    failure, failed = None, 0
    for several in answers:
        for answer in several:
            failed += answer.error is not None
            if answer.error is None or stop is None:
                kept.add(record(answer))
            elif failure is None:
                failure = answer.error
                noted(failure, f"query {answer.query.id!r} failed: {answer.query.text!r:.200}")
                stop.set()
        if bar is not None:
            bar.update(len(several))
            bar.set_postfix(failed=failed, refresh=False)
    return failure


def _leave(error: BaseException, finished: Retrieval, total: int, checkpoint: object) -> None:
    """Leave what was finished with the error that ends the call."""
    kept = "" if checkpoint is None else f", and in {str(checkpoint)!r}, where the same call resumes"
    answered = finished.log.filter(status="ok").height
    noted(error, f"{answered:,} of {counted(total, 'query')} are answered: in this error's .retrieval{kept}")
    with suppress(Exception):  # an error that nothing can be written on
        error.retrieval = finished  # type: ignore[attr-defined]  # documented by `retrieve`
