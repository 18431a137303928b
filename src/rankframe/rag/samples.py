"""From retrieval to samples: what a run found, as contexts beside the question, the answer and the references.

Everything here is a join. Frames stay lazy where they come so; what must hold of their rows is looked at when they are
collected.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Literal, NamedTuple

import polars as pl

from rankframe.errors import DataError, counted, listed, warn
from rankframe.frames.cells import TEXTS, cells
from rankframe.frames.checks import Duplicates, Invalid, Loaded, choice, settled_judgments, valid_rows
from rankframe.frames.coerce import Frame, collected, id_series
from rankframe.frames.ledger import REASONS, Note
from rankframe.frames.samples import settled
from rankframe.frames.schemas import CORPUS, QRELS, QUERIES, RUN, SAMPLES, Column, Schema
from rankframe.inputs import load_runs, sources
from rankframe.io.beir import Beir, full_text
from rankframe.io.readers import read_corpus, read_qrels, read_queries
from rankframe.io.samples import load_samples, scan_samples
from rankframe.io.scans import scan_corpus, scan_qrels, scan_queries, scan_run
from rankframe.metrics.metric import checked_cutoff

Missing = Literal["error", "null"]

_PLACE = "__rankframe_place__"
_UNNAMED = ""
_MADE = ("sample_id", "query_id", "user_input", "retrieved_contexts", "retrieved_context_ids")
_REFERENCES = ("reference_contexts", "reference_context_ids")


def samples_from_run(
    run: object,
    corpus: object,
    queries: object,
    answers: object = None,
    *,
    k: int = 5,
    qrels: object = None,
    missing: Missing = "error",
    invalid: Invalid = "error",
    duplicates: Duplicates = "error",
) -> pl.DataFrame | pl.LazyFrame:
    """Samples whose contexts are the first `k` documents that a run has for each query.

    Args:
        run: as for `evaluate`: a path, mapping, frame or `Retrieval`, or a mapping of several by name.
        corpus: documents as for `read_corpus`, or a `Beir`. A context is title and text, joined by one blank.
        queries: queries as for `read_queries`, or a `Beir`: which questions are asked, in this order.
        answers: what was answered: a mapping query_id -> text or record, or whatever `read_samples` reads, with
            query_id and perhaps run_id (the answer system), response, reference, references and metadata. Its
            sample_id gives way to the query's id. Answers without run_id are those of every run.
        k: how many documents make the contexts, a whole number from 1.
        qrels: judgments as for `read_qrels`, or a `Beir`; documents with a grade above 0 become the reference
            contexts, by grade, then by id.
        missing: "error" refuses documents that the corpus does not have; "null" keeps a null context in their place.
        invalid: "error" refuses bad rows of any input; "drop" leaves them out with a warning.
        duplicates: "error" refuses a (query, document) pair that stands in a run twice, or is judged differently;
            "best" keeps the best of them.

    Returns:
        One row per query, and per run where runs have names: sorted by run_id, then in the order of the queries.
        run_id, sample_id (the query_id), user_input, response, reference String, references, retrieved_contexts,
        reference_contexts, retrieved_context_ids, reference_context_ids List(String) and query_id, as far as there
        are such, then metadata of the queries and of the answers. A query that the run misses has empty lists; one
        without judgments has null reference contexts. A LazyFrame where any input is one.

    Raises:
        MetricError: for a k that is no cutoff.
        DataError: for input that cannot be read as it is, ids that stand there twice, documents without text, columns
            that would be written over, and runs or answers that share no query id with the queries. Of lazy input the
            rows are looked at when it is collected, and common ids are not looked for.

    >>> run = {"q1": {"d1": 0.5, "d2": 0.9}}
    >>> samples_from_run(run, {"d1": "Owls.", "d2": "Kites."}, {"q1": "Which birds?"}, {"q1": "Kites."}, k=1).rows()
    [('q1', 'Which birds?', 'Kites.', ['Kites.'], ['d2'], 'q1')]
    """
    k = checked_cutoff(k)
    choice("missing", missing, ("error", "null"))
    choice("invalid", invalid, ("error", "drop"))
    choice("duplicates", duplicates, ("error", "best"))
    found = _found(run, invalid)
    documents = _read(corpus, CORPUS, invalid)
    asked = _read(queries, QUERIES, invalid)
    asked = _looked_at(asked, lambda rows: _once(rows, ["query_id"], QUERIES.label))
    answered = None if answers is None else _answers(answers, invalid)
    judged = None if qrels is None else _judged(qrels, invalid, duplicates)
    _refuse_collisions(asked, answered, judged)
    inputs = [frame for frame in (found.rows, documents, asked, answered, judged) if frame is not None]
    lazy = any(isinstance(frame, pl.LazyFrame) for frame in inputs)
    if not lazy:
        _refuse_strangers(found, collected(asked), None if answered is None else collected(answered))
    texts = _texts(documents)
    keys = ["query_id"] if found.names is None else ["run_id", "query_id"]
    contexts = _with_texts(
        _best(found.rows.lazy(), asked.lazy(), keys, k, duplicates), texts, keys, "retrieved", missing
    )
    rows = _filled(_grid(asked, found.names, answered).join(contexts, on=keys, how="left"), "retrieved")
    if judged is not None:
        rows = rows.join(_relevant(judged.lazy(), asked.lazy(), texts, missing), on="query_id", how="left")
    if answered is not None:
        on = [name for name in ("run_id", "query_id") if name in answered.collect_schema()]
        rows = rows.join(answered.lazy(), on=on, how="left")
    order = [name for name in ("run_id", _PLACE) if name in rows.collect_schema()]
    rows = rows.sort(order).drop(_PLACE).with_columns(sample_id=pl.col("query_id")).rename({"text": "user_input"})
    whole = settled(rows, SAMPLES.label)
    return whole if lazy else collected(whole)


# What a caller gives.


def _read(source: object, schema: Schema, invalid: Invalid) -> Frame:
    """A corpus or queries, lazily where they come so."""
    read, scan = (read_corpus, scan_corpus) if schema is CORPUS else (read_queries, scan_queries)
    if isinstance(source, Beir):
        source = source.corpus if schema is CORPUS else source.queries
    return scan(source) if isinstance(source, pl.LazyFrame) else read(source, invalid=invalid)


class _Found(NamedTuple):
    """The rows of all runs: run_id where they have names, query_id, doc_id, score; and the queries that failed.

    names: run_id, each run once, those without rows among them; None where the run has no name.
    """

    rows: Frame
    names: pl.LazyFrame | None
    failed: list[str]


def _found(run: object, invalid: Invalid) -> _Found:
    """What was retrieved."""
    parts: list[pl.DataFrame] = []
    lazy: list[pl.LazyFrame] = []
    names: list[str] = []
    failed: list[str] = []
    for source in sources(run):
        if isinstance(source.holder, pl.LazyFrame):
            lazy.append(_scanned(source.given, source.holder))
            continue
        own = source.holder is run  # then it has the name that stands in it, or none
        for name, loaded in load_runs(source._replace(otherwise=_UNNAMED) if own else source, invalid=invalid):
            _tell(loaded.where, loaded.notes)
            failed.extend(loaded.failed)
            rows = loaded.frame.select(RUN.required)
            names.append(name)
            parts.append(rows if name == _UNNAMED else rows.select(pl.lit(name).alias("run_id"), pl.all()))
    names += [source.given for source in sources(run) if source.given and isinstance(source.holder, pl.LazyFrame)]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise DataError(f"run: {listed(twice)} names two runs; give each a name of its own")
    every: Frame = pl.concat([*lazy, *(part.lazy() for part in parts)]) if lazy else pl.concat(parts)
    if "run_id" not in every.collect_schema():
        return _Found(every, None, failed)
    known = pl.LazyFrame({"run_id": names}) if names else every.lazy().select("run_id").unique()
    return _Found(every, known, failed)


def _scanned(given: str | None, run: pl.LazyFrame) -> pl.LazyFrame:
    """The rows of a lazy run, under the name that it was given, if any."""
    rows = scan_run(run)
    names = rows.collect_schema().names()
    if given is not None and "run_id" in names:
        raise DataError(f"run: the lazy frame under the name {given!r} has a column run_id; drop it, or give the frame")
    rows = rows.select([name for name in ("run_id", *RUN.required) if name in names])
    rows = _looked_at(rows, _valid).lazy()
    return rows if given is None else rows.select(pl.lit(given).alias("run_id"), pl.all())


def _valid(rows: pl.DataFrame) -> pl.DataFrame:
    if "run_id" in rows.columns and rows["run_id"].null_count():
        raise DataError(f"run: {rows['run_id'].null_count():,} null run_id; name every row's run or drop the column")
    return valid_rows(Loaded(rows, "run"), "score").frame


def _tell(where: str, notes: Sequence[Note]) -> None:
    for note in notes:
        warn(f"{where}: {REASONS[note.reason]}: {note.count:,}, such as {listed(note.examples)}")


def _answers(source: object, invalid: Invalid) -> Frame:
    """The answers with their query ids, and run ids where they have such; without ids of samples."""
    frame: Frame
    if isinstance(source, Mapping) and all(isinstance(value, str) or value is None for value in source.values()):
        ids = id_series("query_id", list(source), "answers")
        frame = pl.DataFrame([ids, cells(Column("response", "text"), list(source.values()), "answers", keys=list(ids))])
    elif isinstance(source, pl.LazyFrame):
        frame = scan_samples(source)
    else:
        if isinstance(source, Mapping) and all(isinstance(value, Mapping) for value in source.values()):
            source = [{"query_id": query, **answer} for query, answer in source.items()]
        loaded = load_samples(source, invalid=invalid, where="answers")
        _tell(loaded.where, loaded.notes)
        frame = loaded.frame
    if "query_id" not in (names := frame.collect_schema().names()):
        raise DataError(f"answers: no column 'query_id' among {listed(names, 12)}; rename the one that names the query")
    keys = [name for name in ("run_id", "query_id") if name in names]
    return _looked_at(frame.drop("sample_id", strict=False), lambda rows: _once(rows, keys, "answers"))


def _judged(source: object, invalid: Invalid, duplicates: Duplicates) -> Frame:
    if isinstance(source, Beir):
        source = source.qrels
    if not isinstance(source, pl.LazyFrame):
        return settled_judgments(Loaded(read_qrels(source, invalid=invalid, duplicates=duplicates), "qrels")).frame

    def settle(rows: pl.DataFrame) -> pl.DataFrame:
        return settled_judgments(valid_rows(Loaded(rows, "qrels"), "relevance", invalid), duplicates).frame

    return _looked_at(scan_qrels(source).select(QRELS.required), settle)


def _texts(corpus: Frame) -> pl.LazyFrame:
    """doc_id and what each document says, of documents whose ids are their own."""
    said = full_text(pl.DataFrame(schema=corpus.collect_schema()))
    texts = corpus.lazy().select("doc_id", said)
    return _looked_at(texts, lambda rows: _once(rows, ["doc_id"], CORPUS.label)).lazy()


# What must hold of it.


def _looked_at(frame: Frame, look: Callable[[pl.DataFrame], pl.DataFrame]) -> Frame:
    """The frame as `look` gives it back, now or when it is collected."""
    if isinstance(frame, pl.DataFrame):
        return look(frame)
    return frame.map_batches(look, predicate_pushdown=False, projection_pushdown=False, slice_pushdown=False)


def _once(rows: pl.DataFrame, keys: Sequence[str], where: str) -> pl.DataFrame:
    """The rows, if each has an id and none another's."""
    nulls = sum(rows[key].null_count() for key in keys)
    if nulls:
        raise DataError(f"{where}: {counted(nulls, 'row')} without {' or '.join(keys)}; drop them before")
    twice = rows.filter(pl.struct(keys).is_duplicated()).select(keys).unique(maintain_order=True)
    if twice.height:
        told = listed(row[0] if len(row) == 1 else row for row in twice.iter_rows())
        raise DataError(
            f"{where}: {counted(twice.height, keys[-1])} more than once: {told}; "
            f'frame.unique({list(keys)}, keep="first") keeps the first of each'
        )
    return rows


def _pairs_once(rows: pl.DataFrame, keys: list[str], duplicates: Duplicates) -> pl.DataFrame:
    """The rows of a run, each (query, document) once."""
    pair = [*keys, "doc_id"]
    again = rows.select(pair).is_duplicated()
    if not again.any():
        return rows
    twice = rows.filter(again).select(pair).unique(maintain_order=True)
    told = listed(twice.iter_rows())
    if duplicates == "error":
        raise DataError(
            f"run: {counted(twice.height, '(query, document) pair')} more than once: {told}; "
            f'duplicates="best" keeps the best score of each'
        )
    dropped = int(again.sum()) - twice.height
    warn(f"run: {REASONS['duplicate_dropped']}: {dropped:,}, such as {told}")
    return rows.sort("score", descending=True, maintain_order=True).unique(pair, keep="first", maintain_order=True)


def _refuse_strangers(found: _Found, asked: pl.DataFrame, answered: pl.DataFrame | None) -> None:
    """Refuse runs and answers that share no query, or no run, with the rest; of single ones that are left out, warn."""
    rows = collected(found.rows)
    if rows.is_empty():
        warn("run: no rows; every query has empty contexts")
    if found.failed:
        told = f"{len(found.failed):,}, such as {listed(found.failed)}"
        warn(f"run: {REASONS['failed_query']}: {told}; their contexts are empty")
    for frame, label in ((rows, "run"), (answered, "answers")):
        if frame is None or frame.is_empty():
            continue
        ids = frame["query_id"].unique(maintain_order=True)
        strangers = ids.filter(~ids.is_in(asked["query_id"].implode()))
        if len(strangers) == len(ids):
            raise DataError(
                f"{label}: no query id in common with the queries: {listed(strangers, 3)} here, "
                f"{listed(asked['query_id'], 3) or 'none'} there"
            )
        if label == "answers" and len(strangers):
            warn(f"answers: {counted(len(strangers), 'query id')} that the queries do not have: {listed(strangers)}")
    if answered is None or found.names is None or "run_id" not in answered.columns:
        return
    runs = found.names.collect()["run_id"].sort()
    if others := sorted(set(answered["run_id"]) - set(runs)):
        raise DataError(f"answers: no run is called {listed(others)}; the runs are {listed(runs)}")


def _refuse_collisions(asked: Frame, answered: Frame | None, judged: Frame | None) -> None:
    """Refuse columns of queries and answers that are made here, and those that both have."""
    made = {*_MADE, "run_id", _PLACE, *(_REFERENCES if judged is not None else ())}
    of_queries = set(asked.collect_schema().names()) - {"query_id", "text"}
    of_answers = set() if answered is None else set(answered.collect_schema().names()) - {"query_id", "run_id"}
    for label, clash in (("queries", of_queries & made), ("answers", of_answers & (made | of_queries))):
        if clash:
            raise DataError(
                f"{label}: the samples have {listed(sorted(clash))} from elsewhere; rename or drop the column"
            )


# The joins.


def _grid(asked: Frame, names: pl.LazyFrame | None, answered: Frame | None) -> pl.LazyFrame:
    """Every query, for every run or answer system that has a name."""
    places = asked.lazy().with_row_index(_PLACE)
    if names is None and answered is not None and "run_id" in answered.collect_schema():
        names = answered.lazy().select("run_id").unique()
    return places if names is None else names.join(places, how="cross")


def _filled(rows: pl.LazyFrame, prefix: str) -> pl.LazyFrame:
    """Empty lists for what no document was found for."""
    names = (f"{prefix}_contexts", f"{prefix}_context_ids")
    return rows.with_columns(pl.col(name).fill_null(pl.lit([], dtype=TEXTS)) for name in names)


def _best(ranked: pl.LazyFrame, asked: pl.LazyFrame, keys: list[str], k: int, duplicates: Duplicates) -> pl.LazyFrame:
    """The first `k` documents of each query that is asked: a list `doc_id`, in the order of the run."""
    rows = ranked.join(asked.select("query_id"), on="query_id", how="semi")
    rows = _looked_at(rows, lambda frame: _pairs_once(frame, keys, duplicates)).lazy()
    score = pl.col("score") + 0.0  # -0.0 and 0.0 are one score
    return rows.group_by(keys).agg(pl.col("doc_id").sort_by(score, "doc_id", descending=True).head(k))


def _relevant(judged: pl.LazyFrame, asked: pl.LazyFrame, texts: pl.LazyFrame, missing: Missing) -> pl.LazyFrame:
    """The relevant documents of each judged query, best first."""
    rows = judged.join(asked.select("query_id"), on="query_id", how="semi")
    order = pl.col("doc_id").sort_by("relevance", "doc_id", descending=[True, False])
    best = rows.filter(pl.col("relevance") > 0).group_by("query_id").agg(order)
    found = _with_texts(best, texts, ["query_id"], "reference", missing)
    return _filled(rows.select("query_id").unique().join(found, on="query_id", how="left"), "reference")


def _with_texts(
    best: pl.LazyFrame, texts: pl.LazyFrame, keys: list[str], prefix: str, missing: Missing
) -> pl.LazyFrame:
    """Lists of documents as two lists of one length: what they say, and their ids."""
    rows = best.explode("doc_id", empty_as_null=False).with_row_index(_PLACE).join(texts, on="doc_id", how="left")
    if missing == "error":
        rows = _looked_at(rows, _none_absent).lazy()
    return rows.group_by(keys).agg(
        pl.col("text").sort_by(_PLACE).alias(f"{prefix}_contexts"),
        pl.col("doc_id").sort_by(_PLACE).alias(f"{prefix}_context_ids"),
    )


def _none_absent(rows: pl.DataFrame) -> pl.DataFrame:
    absent = rows.filter(pl.col("text").is_null())["doc_id"].unique().sort()
    if len(absent):
        raise DataError(
            f"corpus: {counted(len(absent), 'document')} without text here, needed as contexts: {listed(absent)}; "
            f'missing="null" keeps a null context in the place of each'
        )
    return rows
