"""Cases for the evaluation of a RAG system: a question, the chunks that answer it, the answer, the sources to cite.

A list of cases evaluates a retriever; with the answers of a system it is a frame of samples.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import Any

import polars as pl

from rankframe.errors import DataError, counted
from rankframe.metrics.metric import checked_cutoff
from rankframe.metrics.scalar import precision_at_k, recall_at_k, reciprocal_rank
from rankframe.retrievers.hits import OWN, identity, lookup, shown
from rankframe.retrievers.results import Key
from rankframe.retrievers.retrieving import retrieve

_SAMPLES = pl.Schema(
    {
        "user_input": pl.String(),
        "response": pl.String(),
        "reference": pl.String(),
        "ground_truth_sources": pl.List(pl.String()),
        "reference_context_ids": pl.List(pl.String()),
    }
)


@dataclass
class RAGEvalCase:
    """A question with everything that is known of its right answer.

    query: the question. relevant_chunk_ids: ids of the chunks that answer it. reference_answer: the right answer, None
    where there is none. ground_truth_sources: the names of the documents that an answer should cite.

    >>> RAGEvalCase("Do kites eat voles?", {"birds-7"}).ground_truth_sources
    []
    """

    query: str
    relevant_chunk_ids: set[str]
    reference_answer: str | None = None
    ground_truth_sources: list[str] = field(default_factory=list)


def run_retrieval_eval(
    eval_cases: Iterable[RAGEvalCase], retriever: object, k: int = 5, *, key: Key | None = None
) -> dict[str, float]:
    """Ask a retriever for every case, once, and score the chunks that it finds.

    Args:
        eval_cases: the cases. Two with the same query are two.
        retriever: whatever `rankframe.retrieve` takes, such as an object with `.retrieve(query, top_k)`.
        k: how many results are asked for and count.
        key: takes a result and gives the id of its chunk. Without it, that is `metadata.chunk_id` of the result, else
            its `chunk_id`, else its own id. A chunk that comes twice counts at its best rank.

    Returns:
        "precision@k" (over k), "recall@k" and "mrr", each the mean over all cases, between 0.0 and 1.0. A case without
        relevant chunks counts 0 in all of them, as one does for which nothing is found.

    Raises:
        MetricError: for a k that is no whole number from 1, before anything is asked.
        DataError: where there are no cases, for what is no case, and for results without an id.
        Exception: whatever the retriever raises, with a note that says which case it was, counted from 0.

    >>> def search(query, top_k):
    ...     return [{"metadata": {"chunk_id": f"birds-{number}"}} for number in range(top_k)]
    >>> run_retrieval_eval([RAGEvalCase("Do kites eat voles?", {"birds-1", "birds-7"})], search, k=5)
    {'precision@5': 0.2, 'recall@5': 0.5, 'mrr': 0.5}
    """
    k = checked_cutoff(k, "k")
    cases = _checked(eval_cases)
    relevant = [_chunk_ids(case, place) for place, case in enumerate(cases)]
    names = [f"case {place}" for place in range(len(cases))]
    queries = {name: case.query for name, case in zip(names, cases, strict=True)}
    found = retrieve(retriever, queries, limit=k, key=_chunk_id if key is None else key)
    ranked: dict[str, list[str]] = {name: [] for name in names}
    for name, chunk in found.run.select("query_id", "doc_id").iter_rows():
        ranked[name].append(chunk)
    pairs = list(zip(ranked.values(), relevant, strict=True))
    return {
        f"precision@{k}": fmean(precision_at_k(chunks, wanted, k) for chunks, wanted in pairs),
        f"recall@{k}": fmean(recall_at_k(chunks, wanted, k) for chunks, wanted in pairs),
        "mrr": fmean(reciprocal_rank(chunks, wanted) for chunks, wanted in pairs),
    }


def samples_from_cases(cases: Iterable[RAGEvalCase], answers: Iterable[str | None] | None = None) -> pl.DataFrame:
    """The cases as a frame of samples, which `rankframe.evaluate_samples` scores.

    Args:
        cases: the cases.
        answers: what a system answered to each of them, in their order; None where it did not answer.

    Returns:
        user_input, response (null without answers), reference String, ground_truth_sources, reference_context_ids
        List(String, the ids sorted): a row per case, in their order. Contexts are columns that you add.

    Raises:
        DataError: where there are no cases, for what is no case, and for more or fewer answers than cases.

    >>> case = RAGEvalCase("Do kites eat voles?", {"birds-7"}, "yes", ["birds.pdf"])
    >>> samples_from_cases([case], ["Yes [birds.pdf]."]).row(0)
    ('Do kites eat voles?', 'Yes [birds.pdf].', 'yes', ['birds.pdf'], ['birds-7'])
    """
    given = _checked(cases)
    responses = [None] * len(given) if answers is None else _answers(answers, len(given))
    columns = {
        "user_input": [_text(case.query, "query", place) for place, case in enumerate(given)],
        "response": [_text(response, "answer", place) for place, response in enumerate(responses)],
        "reference": [_text(case.reference_answer, "reference_answer", place) for place, case in enumerate(given)],
        "ground_truth_sources": [_sources(case, place) for place, case in enumerate(given)],
        "reference_context_ids": [sorted(_chunk_ids(case, place)) for place, case in enumerate(given)],
    }
    return pl.DataFrame(columns, schema=_SAMPLES)


def _checked(cases: object) -> list[Any]:
    """The cases: at least one, each with the two things that every case has."""
    if isinstance(cases, (str, Mapping)) or not isinstance(cases, Iterable):
        raise DataError(f"the cases are a {type(cases).__name__}; expected a list of RAGEvalCase")
    given = list(cases)
    if not given:
        raise DataError("there are no cases: nothing to evaluate")
    for place, case in enumerate(given):
        if not (hasattr(case, "query") and hasattr(case, "relevant_chunk_ids")):
            raise DataError(
                f"case {place} is a {type(case).__name__}, {case!r:.80}; expected a RAGEvalCase, or what has its "
                f"attributes"
            )
    return given


def _chunk_ids(case: Any, place: int) -> set[str]:
    """The ids of the relevant chunks, as text."""
    ids = _list(case.relevant_chunk_ids, "relevant_chunk_ids", place)
    for chunk in ids:
        if identity(chunk) is None:
            raise DataError(f"relevant_chunk_ids of case {place} hold {chunk!r}; an id is text or a whole number")
    return {str(identity(chunk)) for chunk in ids}


def _sources(case: Any, place: int) -> list[str | None]:
    sources = _list(case.ground_truth_sources, "ground_truth_sources", place)
    return [_text(source, "ground_truth_sources", place) for source in sources]


def _text(value: Any, name: str, place: int) -> str | None:
    if value is not None and not isinstance(value, str):
        raise DataError(f"{name} of case {place} is a {type(value).__name__}, {value!r:.80}; expected text")
    return value


def _list(values: Any, name: str, place: int) -> list[Any]:
    """The values of a collection; one text is none, though its letters could be gone through."""
    if isinstance(values, (str, bytes, Mapping)) or not isinstance(values, Iterable):
        raise DataError(f"{name} of case {place} is {values!r:.80}; expected a set or list of them")
    return list(values)


def _answers(answers: Any, cases: int) -> Sequence[str | None]:
    if isinstance(answers, (str, bytes, Mapping)) or not isinstance(answers, Iterable):
        raise DataError(f"answers is a {type(answers).__name__}; expected a list of texts in the order of the cases")
    given = list(answers)
    if len(given) != cases:
        raise DataError(f"{counted(len(given), 'answer')} for {counted(cases, 'case')}; expected one each, or None")
    return given


def _chunk_id(result: Any) -> Any:
    """The id of a result's chunk: what its metadata says, before any other id that it has."""
    held = result[0] if type(result) in (tuple, list) and result else result  # (result, score)
    if (own := identity(held)) is not None:
        return own
    told = (lookup(lookup(held)("metadata"))("chunk_id"), *map(lookup(held), ("chunk_id", *OWN)))
    found = next((chunk for chunk in told if chunk is not None), None)
    if found is None:
        raise DataError(
            f"{shown(result)} has neither metadata.chunk_id nor an id of its own; give key=, which takes a result and "
            f"gives the id of its chunk"
        )
    return found
