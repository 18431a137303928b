"""`check`: what is odd about runs and judgments, counted before anything is scored."""

from __future__ import annotations

from dataclasses import replace

import polars as pl

from rankframe.frames.checks import Loaded
from rankframe.frames.ledger import Note, ledger_frame, note, pairs
from rankframe.frames.schemas import CORPUS, QUERIES, Schema
from rankframe.inputs import load_ids, load_runs, sources
from rankframe.io.beir import Beir
from rankframe.io.readers import load_qrels
from rankframe.metrics.metric import checked_cutoff
from rankframe.ranking import Judgments, judge, rank_run

_FOUND = {
    "invalid_dropped": "invalid",
    "duplicate_dropped": "duplicate",
    "conflict_resolved": "conflicting_judgment",
}
"""What a repair on request is called where it is only found."""


def check(
    runs: object, qrels: object, *, queries: object = None, corpus: object = None, cutoff: int | None = 10
) -> pl.DataFrame:
    """Count what is odd about runs and judgments, without scoring and without refusing bad rows.

    Args:
        runs: as for `evaluate`.
        qrels: judgments as for `evaluate`, or a `Beir`, whose queries and corpus are then looked at too.
        queries: the queries that exist (frame, path, mapping by id, or ids); ids that only runs or judgments have are
            counted, and empty texts where there are texts.
        corpus: the documents that exist; likewise.
        cutoff: where to look for rankings that are cut inside a tie, None for nowhere.

    Returns:
        A frame in the ledger's shape: run_id (null where it is said of the judgments or texts), reason String, count
        Int64, examples List(String). No rows where nothing is odd.

    Raises:
        MetricError: for a cutoff that is none, before anything is read.
        DataError: for input that is no run or no judgments at all.
        FileNotFoundError: for a path where nothing is.

    >>> check({"q1": {"d1": 1.0}}, {"q1": {"d1": 1}, "q2": {"d2": 1}}).rows()
    [('run', 'missing_query', 1, ['q2'])]
    """
    if cutoff is not None:
        cutoff = checked_cutoff(cutoff)
    if isinstance(qrels, Beir):
        queries = qrels.queries if queries is None else queries
        corpus = qrels.corpus if corpus is None else corpus
        qrels = qrels.qrels
    judgments = judge(load_qrels(qrels, invalid="drop"), duplicates="best")
    texts = {
        schema.columns[0].name: load_ids(source, schema, texts=True, invalid="drop")
        for schema, source in ((QUERIES, queries), (CORPUS, corpus))
        if source is not None
    }
    ids = judgments.queries
    notes = [*judgments.notes, note("no_relevant", ids.filter(pl.Series(judgments.n_rel == 0)).to_list())]
    for schema in (QUERIES, CORPUS):
        if loaded := texts.get(schema.columns[0].name):
            notes.extend(_text_notes(loaded, schema))
    notes.extend(_absent(judgments.frame, texts))
    for source in sources(runs):
        for name, loaded in load_runs(source, invalid="drop"):
            notes.extend(said.of(name) for said in _run_notes(name, loaded, judgments, cutoff))
            notes.extend(said.of(name) for said in _absent(loaded.frame, texts))
    return ledger_frame(replace(said, reason=_FOUND.get(said.reason, said.reason)) for said in notes)


def _text_notes(loaded: Loaded, schema: Schema) -> list[Note]:
    frame, key = loaded.frame, schema.columns[0].name
    texts = [name for name in ("text", "title") if frame.schema.get(name) == pl.String]
    blank = pl.all_horizontal(pl.col(texts).str.strip_chars().fill_null("") == "") & ("text" in texts)
    return [
        *loaded.notes,
        note("empty_text", frame.filter(blank)[key].to_list()),
        note("repeated_id", frame[key].filter(frame[key].is_duplicated()).unique().sort().to_list()),
    ]


def _run_notes(name: str, loaded: Loaded, judgments: Judgments, cutoff: int | None) -> list[Note]:
    ranking = rank_run(name, loaded, judgments, duplicates="best", cutoff=cutoff)
    missing = judgments.queries.filter(pl.Series(ranking.n_ret == 0))
    told = pl.Series([*loaded.no_results, *loaded.failed], dtype=pl.String)
    missing = missing.filter(~missing.is_in(told.implode()))
    own = loaded.frame.filter(pl.col("query_id") == pl.col("doc_id"))
    return [
        *ranking.notes,
        note("missing_query", missing.to_list()),
        note("no_results", loaded.no_results),
        note("failed_query", loaded.failed),
        note("self_hit", pairs(own), own.height),
    ]


def _absent(frame: pl.DataFrame, texts: dict[str, Loaded]) -> list[Note]:
    """Ids of a frame that the queries or the corpus do not have."""
    reasons = {"query_id": "not_in_queries", "doc_id": "not_in_corpus"}
    notes = []
    for key, loaded in texts.items():
        ids = frame[key].unique().sort()
        notes.append(note(reasons[key], ids.filter(~ids.is_in(loaded.frame[key].implode())).to_list()))
    return notes
