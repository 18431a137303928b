"""The ledger: one vocabulary for everything that a result leaves out, repairs on request or warns of."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import polars as pl

from rankframe.errors import EXAMPLES

REASONS: dict[str, str] = {
    "missing_query": "judged query without a row in the run",
    "no_hits": "judged query without a ranked document, in a ranking that does not say whether the run has it",
    "no_results": "query that was asked and returned nothing",
    "unjudged_query": "query of the run without any judgment",
    "no_relevant": "judged query without a relevant document",
    "not_asked": "judged query outside of the given queries",
    "failed_query": "query whose retrieval failed",
    "collapsed_below_cutoff": "query of which fewer documents than the largest cutoff are left, its results collapsed",
    "tie_at_cutoff": "query whose ranking is cut inside a tie at the largest cutoff asked",
    "rank_contradicts_score": "query whose rank column orders documents against their scores",
    "self_hit": "run row whose document is the query itself",
    "self_hit_dropped": "run row dropped because the document is the query itself",
    "duplicate": "run row that repeats a (query, document) pair",
    "duplicate_dropped": "run row dropped on request because its pair stands there with a better score",
    "invalid": "row with a null id, or a null or NaN number",
    "invalid_dropped": "row dropped on request because of a null id, or a null or NaN number",
    "repeated_judgment": "judgment that stands there more than once with the same grade",
    "conflicting_judgment": "pair that is judged with different grades",
    "conflict_resolved": "pair judged with different grades, of which the highest was kept on request",
    "not_in_corpus": "document that the corpus does not have",
    "not_in_queries": "query id that the queries do not have",
    "without_metadata": "scored id for which joined metadata has no row",
    "metadata_without_scores": "id of joined metadata that was not scored",
    "column_left_out": "metadata column of which several sources hold values that cannot stand in one column",
    "repeated_id": "id that several documents or queries share",
    "no_reference": "sample without a reference, which metrics that need one leave out",
    "empty_reference": "sample of which a reference has no word left after normalisation",
    "no_response": "sample without a response, which scores 0 where there is a reference",
    "no_contexts": "sample without a retrieved context",
    "no_claims": "sample in whose response a judge found no claim",
    "missing_input": "sample that lacks what a metric needs",
    "judge_refused": "sample that a judge refused to judge",
    "judge_unread": "sample about which a judge's reply could not be read",
    "judge_failed": "sample for which asking a judge failed",
    "empty_text": "document or query whose text is empty",
}
"""Every reason that a ledger row can give, with what it counts."""

_OF_ROWS = ("invalid_dropped", "duplicate_dropped", "self_hit_dropped")
"""Reasons whose examples are rows, as they stand in the run."""

SCHEMA = pl.Schema(
    [("run_id", pl.String()), ("reason", pl.String()), ("count", pl.Int64()), ("examples", pl.List(pl.String()))]
)


@dataclass(frozen=True, slots=True)
class Note:
    """One row of a ledger: how many things of which kind, with up to five examples."""

    reason: str
    count: int
    examples: tuple[str, ...] = ()
    run_id: str | None = None

    def of(self, run_id: str) -> Note:
        """The same note, said of one run."""
        return replace(self, run_id=run_id)


def note(reason: str, examples: Sequence[str] | pl.Series, count: int | None = None) -> Note:
    """A note whose count is the number of `examples` unless given, of which the first few are kept."""
    if reason not in REASONS:
        raise KeyError(reason)
    return Note(reason, len(examples) if count is None else count, tuple(examples[:EXAMPLES]))


def together(notes: Iterable[Note]) -> list[Note]:
    """The notes of parts as notes of the whole: one for each reason and run, in the order in which they come.

    Examples of ids are the first in their order, as in the note of one part; those of rows are the first that come.
    """
    found: dict[tuple[str | None, str], Note] = {}
    for said in notes:
        key = said.run_id, said.reason
        found[key] = _sum(found[key], said) if key in found else said
    return list(found.values())


def _sum(first: Note, second: Note) -> Note:
    examples = (*first.examples, *second.examples)
    kept = examples if first.reason in _OF_ROWS else sorted(examples)
    return replace(first, count=first.count + second.count, examples=tuple(kept[:EXAMPLES]))


def ledger_frame(notes: Iterable[Note]) -> pl.DataFrame:
    """The notes that count anything, as a frame sorted by run and reason.

    Columns: run_id String (null where it is said of the judgments), reason String, count Int64,
    examples List(String). Without notes: no rows.
    """
    rows = [(said.run_id, said.reason, said.count, list(said.examples)) for said in notes if said.count]
    if not rows:
        return pl.DataFrame(schema=SCHEMA)
    return _sorted(pl.DataFrame(rows, schema=SCHEMA, orient="row"))


def extended(ledger: pl.DataFrame, notes: Iterable[Note]) -> pl.DataFrame:
    """A ledger with the rows of more notes, in the same order."""
    return _sorted(pl.concat([ledger, ledger_frame(notes)]))


def _sorted(ledger: pl.DataFrame) -> pl.DataFrame:
    return ledger.sort("run_id", "reason", nulls_last=False, maintain_order=True)


def pairs(frame: pl.DataFrame) -> list[str]:
    """The (query, document) pairs of the first rows, as text for examples."""
    head = frame.select("query_id", "doc_id").head(EXAMPLES)
    return [f"({query}, {doc})" for query, doc in head.iter_rows()]


def in_words(ledger: pl.DataFrame) -> list[str]:
    """A line per row of a ledger."""
    return [
        (f"{run}: " if run else "")
        + f"{reason} {count:,} ({', '.join([*examples, '...'] if count > len(examples) else examples)})"
        for run, reason, count, examples in ledger.iter_rows()
    ]
