"""Every lexical metric of RAG samples: deterministic, without an LLM, one expression over sample columns each.

A formula takes the sample columns (`Texts`) and its parameters, and gives one Float64 for each sample, null where the
metric does not apply: a null is never counted as 0. Texts are compared after SQuAD normalisation unless said otherwise:
lower case, without ASCII punctuation, without a, an and the, white space collapsed. Where a sample has several
references, the best counts, for each metric on its own. A response that is null counts as empty where there is a
reference.
"""

from __future__ import annotations

from typing import Any, Literal

import polars as pl

from rankframe.metrics import optional
from rankframe.metrics.families import REGISTRY, family
from rankframe.metrics.texts import Held, Texts

UNIT = (0.0, 1.0)

SQUAD = "Rajpurkar et al. 2018 (SQuAD 2.0), arXiv:1806.03822"
_TEXTBOOK = "word overlap, as textbooks have it"

Stopwords = Literal["keep", "drop"]


@family(
    "exact_match",
    unit="sample",
    range=UNIT,
    definition="1 if response and reference are equal after normalisation",
    reference=SQUAD,
    example="exact_match",
    needs=("response", "reference"),
)
def exact_match(texts: Texts) -> pl.Expr:
    """1 where the response is the reference, but for case, ASCII punctuation, articles and white space.

    The rule of SQuAD to the letter: it deletes points and hyphens, so that 3.5 equals 35. Null without a reference.

    >>> exact_match().name
    'exact_match'
    """
    return texts.exact


@family(
    "token_f1",
    unit="sample",
    range=UNIT,
    definition="2PR / (P + R) over the bags of normalised tokens; either side empty: 1 if both are, else 0",
    reference=SQUAD,
    example="token_f1",
    needs=("response", "reference"),
)
def token_f1(texts: Texts) -> pl.Expr:
    """How many tokens response and reference share, each counted as often as both have it.

    Null without a reference.

    >>> token_f1().name
    'token_f1'
    """
    return texts.f1


@family(
    "contains_answer",
    unit="sample",
    range=UNIT,
    definition="1 if the normalised reference stands in the normalised response as whole words",
    reference="Stelmakh et al. 2022 (STR-EM), arXiv:2204.06092",
    example="contains_answer",
    needs=("response", "reference"),
)
def contains_answer(texts: Texts) -> pl.Expr:
    """1 where a longer response contains the reference: the fair exact match of sentences.

    Null without a reference, or with one of which normalisation leaves nothing.

    >>> contains_answer().name
    'contains_answer'
    """
    return texts.contained


@family(
    "context_recall",
    unit="sample",
    range=UNIT,
    definition="distinct tokens of the reference that stand in any context / distinct tokens of the reference",
    reference=_TEXTBOOK,
    example="context_recall",
    needs=("reference", "retrieved_contexts"),
)
def context_recall(texts: Texts, *, stopwords: Stopwords = "keep") -> pl.Expr:
    """Whether retrieval brought the words that the answer needs.

    Null without a reference, or with one of which normalisation leaves nothing; 0 without a context.

    >>> context_recall(stopwords="drop").name
    'context_recall(stopwords=drop)'
    """
    return texts.found(stopwords=stopwords == "keep")


@family(
    "context_precision",
    unit="sample",
    range=UNIT,
    definition="contexts that share a token with the reference / contexts; against=user_input: a word of the question",
    reference=_TEXTBOOK,
    example="context_precision",
    needs=("reference", "retrieved_contexts"),
)
def context_precision(
    texts: Texts, *, against: Literal["reference", "user_input"] = "reference", stopwords: Stopwords = "keep"
) -> pl.Expr:
    """Share of the contexts that have to do with the answer; with `against="user_input"`, with the question.

    Words of the question are split at white space and only lowered. Null without a reference (a question); 0 without a
    context; a null or empty context is a context that shares nothing.

    >>> context_precision(against="user_input").name
    'context_precision(against=user_input)'
    """
    keep = stopwords == "keep"
    return texts.asked_for(stopwords=keep) if against == "user_input" else texts.useful(stopwords=keep)


@family(
    "non_empty_rate",
    unit="sample",
    range=UNIT,
    definition="1 if any context has text",
    reference=_TEXTBOOK,
    example="non_empty_rate",
    needs=("retrieved_contexts",),
)
def non_empty_rate(texts: Texts) -> pl.Expr:  # noqa: ARG001  # it needs no more than the contexts
    """Share of the samples for which retrieval brought any text. Never null.

    >>> non_empty_rate().name
    'non_empty_rate'
    """
    has_text = pl.col("retrieved_contexts").list.eval(pl.element().str.contains(r"[^\s\x1c-\x1f]")).list.any()
    return has_text.fill_null(value=False).cast(pl.Float64)


@family(
    "lexical_faithfulness",
    unit="sample",
    range=UNIT,
    definition="sentences of the response (over 10 characters) of which > 70 % of the distinct words stand in one "
    "context / such sentences",
    reference=_TEXTBOOK,
    example="lexical_faithfulness",
    needs=("response", "retrieved_contexts"),
)
def lexical_faithfulness(texts: Texts, *, none: Literal["null", "zero"] = "null") -> pl.Expr:
    """Share of the response's claims that a context supports by its words: a rough stand-in for a judge.

    Words are split at white space and only lowered. Null without a response or a claim in it, where `none="zero"` gives
    0; 0 without a context.

    >>> lexical_faithfulness(none="zero").name
    'lexical_faithfulness(none=zero)'
    """
    return texts.supported if none == "null" else texts.supported.fill_null(0.0)


@family(
    "tfidf_answer_relevance",
    unit="sample",
    range=UNIT,
    definition="cosine of the TF-IDF vectors of question and response, idf over the pair or over all of the samples",
    reference="scikit-learn's TfidfVectorizer, https://scikit-learn.org",
    example="tfidf_answer_relevance",
    needs=("user_input", "response"),
)
def tfidf_answer_relevance(texts: Texts, *, idf: Literal["pair", "corpus"] = "pair") -> pl.Expr:
    """Whether the response speaks of what was asked, by its words.

    With `idf="corpus"` a score depends on the other samples of its run. Null without a question or a response; 0 where
    either has no word.

    >>> tfidf_answer_relevance(idf="corpus").name
    'tfidf_answer_relevance(idf=corpus)'
    """
    return texts.cosine(corpus=idf == "corpus")


@family(
    "rouge_l",
    unit="sample",
    range=UNIT,
    definition="2PR / (P + R) of the longest common subsequence of the words",
    reference="Lin 2004, https://aclanthology.org/W04-1013",
    example="rouge_l",
    needs=("response", "reference"),
    extra="lexical",
)
def rouge_l(texts: Texts) -> pl.Expr:
    """How much of the reference the response says in the same order; words of letters and digits of any script.

    Equal to rouge-score's on ASCII. Chinese, Japanese, Thai, Lao, Khmer and Burmese stand without blanks: every letter
    of theirs, with its marks, is a word. Null without a reference.

    >>> rouge_l().name  # doctest: +SKIP
    'rouge_l'
    """
    return texts.best("rouge_l", optional.rouge_l())


@family(
    "chrf",
    unit="sample",
    range=(0.0, 100.0),
    definition="F2 of the character n-grams up to 6",
    reference="Popovic 2015, https://aclanthology.org/W15-3049, by sacrebleu",
    example="chrf",
    needs=("response", "reference"),
    extra="lexical",
)
def chrf(texts: Texts) -> pl.Expr:
    """How many short runs of letters response and reference share, as sacrebleu counts them. Null without a reference.

    >>> chrf().name  # doctest: +SKIP
    'chrf'
    """
    return texts.best("chrf", optional.chrf())


@family(
    "bleu",
    unit="sample",
    range=(0.0, 100.0),
    definition="geometric mean of the n-gram precisions up to 4, times the brevity penalty, of one sentence",
    reference="Papineni et al. 2002, doi:10.3115/1073083.1073135, by sacrebleu",
    example="bleu",
    needs=("response", "reference"),
    extra="lexical",
)
def bleu(texts: Texts) -> pl.Expr:
    """How many runs of words response and reference share, as sacrebleu counts them for a sentence.

    The best over the references, each on its own. Null without a reference.

    >>> bleu().name  # doctest: +SKIP
    'bleu'
    """
    return texts.best("bleu", optional.bleu())


# Ids of contexts and sources: retrieval metrics, and sets.


@family(
    "context_id_recall",
    unit="sample",
    range=UNIT,
    definition="recall@k of retrieved_context_ids, where reference_context_ids are relevant",
    reference="Es et al. 2023 (Ragas), arXiv:2309.15217",
    example="context_id_recall@5",
    needs=("retrieved_context_ids", "reference_context_ids"),
)
def context_id_recall(texts: Texts, *, k: int | None = None) -> pl.Expr:
    """Share of the contexts that should have been retrieved, by their ids, that were.

    Null where either list of ids is null or no context should have been retrieved.

    >>> context_id_recall(k=5).name
    'context_id_recall@5'
    """
    return _ranked(texts, "recall", k)


@family(
    "context_id_precision",
    unit="sample",
    range=UNIT,
    definition="precision@k of retrieved_context_ids, where reference_context_ids are relevant",
    reference="Es et al. 2023 (Ragas), arXiv:2309.15217",
    example="context_id_precision@5",
    needs=("retrieved_context_ids", "reference_context_ids"),
)
def context_id_precision(texts: Texts, *, k: int | None = None, over: Literal["k", "returned"] = "k") -> pl.Expr:
    """Share of the retrieved contexts, by their ids, that should have been.

    An id that was retrieved twice counts at its first place. Null where either list of ids is null or no context
    should have been retrieved; 0 where none was.

    >>> context_id_precision().name
    'context_id_precision'
    """
    return _ranked(texts, "precision", k, over=over)


def _ranked(texts: Texts, metric: str, k: int | None, **parameters: Any) -> pl.Expr:
    """A retrieval metric of the retrieved ids, by its own expression."""
    family = REGISTRY[metric](k=k, **parameters)

    def make(held: Held) -> pl.Series:
        return held.ranked(family.expr)

    return texts.column(f"ids {family.name}", make)


@family(
    "citation_recall",
    unit="sample",
    range=UNIT,
    definition="ground_truth_sources that the response cites / ground_truth_sources",
    reference="Gao et al. 2023 (ALCE), arXiv:2305.14627",
    example="citation_recall",
    needs=("response", "ground_truth_sources"),
)
def citation_recall(texts: Texts) -> pl.Expr:
    """Share of the sources that should be cited, in square brackets, that are.

    Null without sources; 0 where the response cites nothing.

    >>> citation_recall().name
    'citation_recall'
    """
    return texts.cited("recall")


@family(
    "citation_precision",
    unit="sample",
    range=UNIT,
    definition="sources that the response cites and should / sources that it cites",
    reference="Gao et al. 2023 (ALCE), arXiv:2305.14627",
    example="citation_precision",
    needs=("response", "ground_truth_sources"),
)
def citation_precision(texts: Texts) -> pl.Expr:
    """Share of the sources that the response cites, in square brackets, that it should.

    Null without sources; 0 where the response cites nothing.

    >>> citation_precision().name
    'citation_precision'
    """
    return texts.cited("precision")


__test__ = {name: family.formula for name, family in REGISTRY.items() if family.unit == "sample"}
"""Where doctest finds the examples of the formulas, as the names above stand for families."""
