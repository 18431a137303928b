"""The documented dictionary API: the same names, signatures and values, over the frames of rankframe.

A program that imports the documented module changes one import line. Dictionaries are turned into frames, evaluated by
`retrieve`, `evaluate` and `evaluate_samples`, and turned back; no formula stands here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypedDict

import polars as pl

from rankframe.errors import DataError, MetricError, counted, listed, nearest
from rankframe.frames.checks import settled_judgments
from rankframe.frames.schemas import QUERIES
from rankframe.io import beir
from rankframe.io.readers import load_qrels, load_texts
from rankframe.metrics.metric import checked_cutoff
from rankframe.metrics.scalar import (
    average_precision,
    dcg_at_k,
    ndcg_at_k,
    precision_at_k,
    recall_at_k,
    reciprocal_rank,
)
from rankframe.metrics.texts_scalar import context_precision, context_recall, exact_match, token_f1
from rankframe.rag.evaluating import evaluate_samples
from rankframe.retrievers.retrieving import retrieve
from rankframe.scoring import evaluate

__all__ = [
    "RETRIEVAL_METRICS",
    "Qrels",
    "RagEvalReport",
    "RagSample",
    "RetrievalEvalReport",
    "as_ragas_dataset",
    "average_precision",
    "context_precision",
    "context_recall",
    "dcg_at_k",
    "evaluate_rag",
    "evaluate_retrieval",
    "exact_match",
    "ndcg_at_k",
    "precision_at_k",
    "read_beir",
    "recall_at_k",
    "reciprocal_rank",
    "token_f1",
    "write_beir",
]

Qrels = Mapping[str, Mapping[str, float]]
"""Judgments: query id -> document id -> grade; above 0 is relevant, 0 is judged and not relevant."""

RETRIEVAL_METRICS: dict[str, Callable[[Sequence[str], Mapping[str, float], int], float]] = {
    "map": average_precision,
    "mrr": reciprocal_rank,
    "ndcg": ndcg_at_k,
    "precision": precision_at_k,
    "recall": recall_at_k,
}
"""The metrics of `evaluate_retrieval` by their short names, each as a function of one ranking."""

_RAG_METRICS = ("exact_match", "token_f1", "context_recall", "context_precision", "non_empty_rate")


@dataclass(frozen=True, slots=True)
class RetrievalEvalReport:
    """Scores of a retriever over a set of queries.

    metrics: "<metric>@<k>" -> mean over the scored queries. per_query: query id -> the same of that query.
    n_queries: how many queries were scored. k_values: the cutoffs, ascending.

    >>> RetrievalEvalReport({"ndcg@10": 0.5}, {}, 1, (10,)).primary
    0.5
    """

    metrics: Mapping[str, float]
    per_query: Mapping[str, Mapping[str, float]]
    n_queries: int
    k_values: tuple[int, ...]

    @property
    def primary(self) -> float | None:
        """Mean NDCG@10, None where it was not asked for."""
        return self.primary_at(10)

    def primary_at(self, k: int) -> float | None:
        """Mean NDCG at another cutoff, None where it was not asked for."""
        return self.metrics.get(f"ndcg@{k}")


def evaluate_retrieval(
    retriever: Any,
    qrels: Qrels,
    queries: Mapping[str, str],
    *,
    k_values: Sequence[int] = (1, 5, 10, 100),
    metrics: Sequence[str] = ("ndcg", "recall", "precision", "mrr", "map"),
    limit: int | None = None,
) -> RetrievalEvalReport:
    """Ask a retriever for every judged query and score what it answers.

    Args:
        retriever: whatever `rankframe.retrieve` takes; results are mapped to their source documents, of which the best
            rank counts.
        qrels: judgments; a query without a grade above 0 is skipped.
        queries: query id -> text; a judged query that is not there is skipped.
        k_values: cutoffs; one alone may stand without a list, repeated ones count once.
        metrics: names of `RETRIEVAL_METRICS`.
        limit: how many results to ask for; the largest cutoff unless given.

    Returns:
        A `RetrievalEvalReport` with a mean for each metric and cutoff.

    Raises:
        MetricError: (a ValueError) for an unknown metric, a bad cutoff or limit, before the retriever is called.
        DataError: (a ValueError) where no query can be scored, and for input that cannot be read.
        Exception: whatever the retriever raises, with a note that names the query; what was finished is in its
            attribute `retrieval`.

    Warns:
        RankframeWarning: where nothing is found for any query, and where results, several of one document, are fewer
            documents than the largest cutoff.

    >>> qrels, queries = {"q1": {"d1": 1.0}}, {"q1": "red kite"}
    >>> report = evaluate_retrieval(lambda query: ["d9", "d1"], qrels, queries, k_values=(1, 2))
    >>> report.metrics["recall@1"], report.metrics["mrr@2"], report.n_queries
    (0.0, 0.5, 1)
    """
    cutoffs = _cutoffs(k_values)
    names = [f"{name}@{k}" for name in _known(metrics, list(RETRIEVAL_METRICS)) for k in cutoffs]
    judgments = load_qrels(qrels)
    judged = judgments.frame.filter(pl.col("relevance") > 0)["query_id"].unique(maintain_order=True)
    texts = load_texts(queries, QUERIES).frame
    asked = texts.join(judged.to_frame(), on="query_id", how="semi", maintain_order="left")
    if asked.is_empty():
        raise DataError(
            f"no query can be scored: none has both a text and a relevant document; queries: "
            f"{listed(texts['query_id'].head(3), 3) or 'none'}, judged with a grade above 0: "
            f"{listed(judged.head(3), 3) or 'none'}"
        )
    settled_judgments(judgments, "error")  # conflicting ones are refused before anything is asked
    found = retrieve(retriever, asked, limit=cutoffs[-1] if limit is None else limit)
    told = evaluate({"retriever": found}, judgments.frame, metrics=names, queries=asked).to_dict()
    ids = {str(query): query for query in qrels}
    told["per_query"] = {ids.get(query, query): scores for query, scores in told["per_query"].items()}
    return RetrievalEvalReport(**told)


def _cutoffs(k_values: object) -> tuple[int, ...]:
    """The cutoffs, ascending, each once."""
    given = list(k_values) if isinstance(k_values, Iterable) and not isinstance(k_values, (str, bytes)) else [k_values]
    if not given:
        raise MetricError("k_values is empty; name a cutoff, as in k_values=(10,)")
    return tuple(sorted(set(map(checked_cutoff, given))))


def _known(metrics: object, valid: Sequence[str]) -> list[str]:
    """The names, each once."""
    names: list[Any] = (
        list(metrics) if isinstance(metrics, Iterable) and not isinstance(metrics, (str, bytes)) else [metrics]
    )
    unknown = [name for name in names if not isinstance(name, str) or name not in valid]
    if unknown:
        raise MetricError(f"unknown metric {unknown[0]!r}: {nearest(str(unknown[0]), valid)}")
    if not names:
        raise MetricError(f"metrics is empty; valid: {', '.join(valid)}")
    return list(dict.fromkeys(names))


def read_beir(
    directory: str, *, qrels: str | None = None
) -> tuple[dict[str, str], dict[str, str], dict[str, dict[str, float]]]:
    """A BEIR folder as three dictionaries: document id -> title and text, query id -> text, and the judgments.

    Args:
        directory: the folder.
        qrels: the file of judgments, relative to it; without it the first found of `qrels.tsv`, `qrels/test.tsv`,
            `qrels/dev.tsv` and whatever else `rankframe.read_beir` finds.

    Raises:
        FileNotFoundError: for a file that is missing.
        DataError: for content that cannot be read, an id that stands for different texts, a query without text.
    """
    found = beir.read_beir(directory, qrels=qrels)
    judgments: dict[str, dict[str, float]] = {}
    for query, doc, grade in found.qrels.select("query_id", "doc_id", "relevance").iter_rows():
        judgments.setdefault(query, {})[doc] = grade
    corpus = found.corpus.select("doc_id", beir.full_text(found.corpus))
    return _texts(corpus, "doc_id"), _texts(found.queries.select("query_id", "text"), "query_id"), judgments


def _texts(frame: pl.DataFrame, key: str) -> dict[str, str]:
    without = frame[key].filter(frame["text"].is_null())
    if len(without):
        raise DataError(
            f"{counted(len(without), key)} without text: {listed(without)}; rankframe.read_beir takes it so"
        )
    frame = frame.unique(maintain_order=True)
    twice = frame[key].filter(frame[key].is_duplicated()).unique(maintain_order=True)
    if len(twice):
        raise DataError(
            f"{counted(len(twice), key)} with different texts: {listed(twice)}; a dictionary holds one each"
        )
    return dict(frame.iter_rows())


def write_beir(
    directory: str, corpus: Mapping[str, str], queries: Mapping[str, str], qrels: Mapping[str, Mapping[str, float]]
) -> None:
    """Write three dictionaries as `corpus.jsonl`, `queries.jsonl` and `qrels.tsv`; `read_beir` gives them back.

    The folder is made where it is absent.

    Raises:
        DataError: for what the files cannot hold, such as an id with a tab. No file is written then.
    """
    beir.write_beir(directory, corpus, queries, qrels)


class RagSample(TypedDict, total=False):
    """One question and what became of it, by the field names of Ragas; every key may be absent.

    user_input: the question. response: the generated answer. retrieved_contexts: the texts that it was made from.
    reference: the right answer. reference_contexts: the texts that hold it.
    """

    user_input: str
    response: str
    retrieved_contexts: list[str]
    reference: str
    reference_contexts: list[str]


@dataclass(frozen=True, slots=True)
class RagEvalReport:
    """Scores of RAG samples.

    metrics: metric -> mean over the samples that it applies to, 0.0 where there are none. coverage: metric -> how many
    samples these are. n_samples: how many samples there are in all.

    >>> RagEvalReport({"exact_match": 0.5}, {"exact_match": 4}, 6).coverage["exact_match"]
    4
    """

    metrics: Mapping[str, float]
    coverage: Mapping[str, int]
    n_samples: int


def evaluate_rag(
    samples: Iterable[RagSample | Mapping[str, Any]], *, metrics: Sequence[str] = _RAG_METRICS
) -> RagEvalReport:
    """Score RAG samples by the metrics that need no LLM.

    Args:
        samples: mappings with the keys of `RagSample` and whatever else, or anything that `rankframe.evaluate_samples`
            takes. An iterator is read once. A `reference` may be a list of references, of which the best counts.
        metrics: of exact_match, token_f1, context_recall, context_precision and non_empty_rate, the share of the
            samples that have a context. `rankframe.evaluate_samples` has more.

    Returns:
        A `RagEvalReport`. The first four skip samples without a reference; a missing response or context is none.

    Raises:
        MetricError: (a ValueError) for an unknown metric, before a sample is looked at.
        DataError: (a ValueError) where there are no samples, for those of several systems (by `run_id`), and for input
            that cannot be read.

    >>> samples = [
    ...     {"user_input": "capital of France?", "response": "Paris", "reference": "Paris"},
    ...     {"user_input": "2 + 2?", "response": "five", "reference": "four", "retrieved_contexts": ["2 + 2 is four."]},
    ...     {"user_input": "And why?", "response": "It just is."},
    ... ]
    >>> report = evaluate_rag(samples, metrics=["exact_match", "non_empty_rate"])
    >>> report.metrics["exact_match"], report.coverage["exact_match"], report.n_samples
    (0.5, 2, 3)
    """
    report = evaluate_samples(samples, metrics=_known(metrics, _RAG_METRICS))
    if len(report.runs) > 1:
        raise DataError(
            f"samples: run_id tells of several systems, {listed(report.runs)}, and here is one mean for all: give the "
            f"samples of one, or take rankframe.evaluate_samples"
        )
    told = report.to_dict()
    told["metrics"] = {name: 0.0 if value is None else value for name, value in told["metrics"].items()}
    return RagEvalReport(**told)


def as_ragas_dataset(
    samples: Iterable[RagSample | Mapping[str, Any]],
    *,
    references: Literal["error", "first"] = "error",
    nulls: Literal["error", "empty"] = "error",
) -> Any:
    """The samples as a `ragas.EvaluationDataset`, for the metrics of Ragas with the LLM of your choice.

    Args:
        samples: as in `evaluate_rag`.
        references: whether several references of a sample, of which Ragas holds one, are refused or the first is given.
        nulls: whether None in a list of contexts, which Ragas does not take, is refused or becomes an empty text.

    Raises:
        ExtraError: (an ImportError) where Ragas is not installed; the message says how to install it.
        DataError: (a ValueError) where there are no samples, and for what Ragas cannot hold.
    """
    from rankframe.rag import ragas_bridge

    return ragas_bridge.as_ragas_dataset(samples, references=references, nulls=nulls)
