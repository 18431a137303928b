"""Every metric once more, in plain Python over one list: slow, and as close to the words as can be."""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, islice
from typing import Any

from rankframe.metrics import texts_scalar
from rankframe.metrics.families import BuiltIn

Grades = Mapping[str, float]


@dataclass(frozen=True)
class Query:
    """One query: its documents best first, its judgments, and the parameters of a metric."""

    ranked: list[str]
    grades: Grades
    parameters: Mapping[str, Any]
    k: int | None

    @cached_property
    def docs(self) -> list[str]:
        if not self.parameters.get("judged_only"):
            return self.ranked
        return [doc for doc in self.ranked if self.grades.get(doc, -1) >= 0]

    @property
    def top(self) -> list[str]:
        return list_cut(self.docs, self.k)

    def relevant(self, doc: str) -> bool:
        rel = self.parameters.get("rel")
        grade = self.grades.get(doc, 0)
        return grade > 0 if rel is None else grade >= rel

    def nonrelevant(self, doc: str) -> bool:
        return doc in self.grades and self.grades[doc] >= 0 and not self.relevant(doc)

    @property
    def total(self) -> int:
        return sum(self.relevant(doc) for doc in self.grades)

    @property
    def hits(self) -> int:
        return sum(self.relevant(doc) for doc in self.top)

    def gain(self, doc: str) -> float:
        grade = max(self.grades.get(doc, 0), 0)
        return grade if self.parameters.get("gain", "linear") == "linear" else 2**grade - 1

    @property
    def ideal(self) -> list[str]:
        return sorted(self.grades, key=lambda doc: -self.grades[doc])

    def dcg(self, docs: list[str]) -> float:
        return sum(self.gain(doc) / math.log2(rank + 1) for rank, doc in enumerate(list_cut(docs, self.k), 1))

    def err(self, docs: list[str]) -> float:
        reached, total = 1.0, 0.0
        for rank, doc in enumerate(list_cut(docs, self.k), 1):
            stop = (2 ** max(self.grades.get(doc, 0), 0) - 1) / 2 ** self.parameters["max_grade"]
            total += reached * stop / rank
            reached *= 1 - stop
        return total

    def precisions(self) -> list[tuple[int, float]]:
        """Running count and precision at every relevant document of the whole list."""
        running = accumulate(self.relevant(doc) for doc in self.docs)
        return [(n, n / r) for r, (doc, n) in enumerate(zip(self.docs, running, strict=True), 1) if self.relevant(doc)]

    def iprec(self, recall: float) -> float:
        needed = math.floor(recall * self.total + 0.9)
        return max((precision for count, precision in self.precisions() if count >= needed), default=0.0)


def list_cut(docs: list[str], k: int | None) -> list[str]:
    return list(islice(docs, k))


def ratio(numerator: float, denominator: float) -> float:
    return numerator / denominator if denominator else 0.0


def precision(q: Query) -> float:
    if q.k is None:
        return ratio(q.hits, len(q.docs))
    return ratio(q.hits, min(len(q.docs), q.k) if q.parameters.get("over") == "returned" else q.k)


def average_precision(q: Query) -> float:
    total = 0.0
    for count, value in q.precisions():
        if q.k is None or round(count / value) <= q.k:
            total += value
    return ratio(total, min(q.total, q.k or 0) if q.parameters.get("over") == "min_R_k" else q.total)


def bpref(q: Query) -> float:
    relevant, nonrelevant = q.total, sum(q.nonrelevant(doc) for doc in q.grades)
    total, above = 0.0, 0
    for doc in q.docs:
        if q.relevant(doc):
            total += 1 - (min(above, relevant) / min(nonrelevant, relevant) if above else 0)
        above += q.nonrelevant(doc)
    return ratio(total, relevant)


def infap(q: Query) -> float:
    small, total, judged, found, not_found = 0.00001, 0.0, 0, 0, 0
    for rank, doc in enumerate(q.docs, 1):
        if q.relevant(doc):
            total += 1 / rank + judged / rank * (found + small) / (found + not_found + 2 * small)
        judged += doc in q.grades
        found += q.relevant(doc)
        not_found += q.nonrelevant(doc)
    return ratio(total, q.total)


def rbp(q: Query) -> float:
    p, graded = float(q.parameters.get("p", 0.8)), q.parameters.get("gain") == "graded"
    share = [(q.grades[d] / q.parameters["max_grade"] if graded else 1) if q.relevant(d) else 0 for d in q.docs]
    return sum((1 - p) * p**i * part for i, part in enumerate(share))


def mrr(q: Query) -> float:
    return next((1 / rank for rank, doc in enumerate(q.top, 1) if q.relevant(doc)), 0.0)


def f1(q: Query) -> float:
    return ratio(2 * q.hits, (len(q.docs) if q.k is None else q.k) + q.total) if q.total else 0.0


def unjudged(q: Query) -> float:
    assert q.k
    return sum(q.grades.get(doc, -1) < 0 for doc in q.top) / q.k


DEFINITIONS: dict[str, Callable[[Query], float]] = {
    "ndcg": lambda q: ratio(q.dcg(q.docs), q.dcg(q.ideal)),
    "dcg": lambda q: q.dcg(q.docs),
    "recall": lambda q: ratio(q.hits, q.total),
    "capped_recall": lambda q: ratio(q.hits, min(q.total, q.k or 0)),
    "precision": precision,
    "f1": f1,
    "mrr": mrr,
    "map": average_precision,
    "success": lambda q: float(q.hits > 0),
    "r_precision": lambda q: ratio(sum(q.relevant(doc) for doc in q.docs[: q.total]), q.total),
    "bpref": bpref,
    "infap": infap,
    "rbp": rbp,
    "err": lambda q: q.err(q.docs),
    "nerr": lambda q: ratio(q.err(q.docs), q.err(q.ideal)),
    "iprec": lambda q: q.iprec(q.parameters["recall"]),
    "iprec_11pt": lambda q: sum(q.iprec(level / 10) for level in range(11)) / 11,
    "judged": lambda q: ratio(sum(doc in q.grades for doc in q.top), len(q.top)),
    "unjudged": unjudged,
    "num_ret": lambda q: len(q.docs),
    "num_rel": lambda q: q.total,
    "num_rel_ret": lambda q: sum(q.relevant(doc) for doc in q.docs),
}


def value(metric: BuiltIn, run: Mapping[str, float], grades: Grades) -> float:
    """What a metric is for one query, from scores and grades."""
    ranked = sorted(run, key=lambda doc: (run[doc], doc.encode()), reverse=True)
    return float(DEFINITIONS[metric.family.name](Query(ranked, grades, metric.parameters, metric.k)))


# Metrics of samples.


@dataclass(frozen=True)
class Sample:
    """One sample, the parameters of a metric, and all samples together, where a metric depends on them."""

    record: Mapping[str, Any]
    parameters: Mapping[str, Any]
    k: int | None
    all_of_them: Sequence[Mapping[str, Any]]

    def __getitem__(self, name: str) -> Any:
        return self.record.get(name)

    @property
    def response(self) -> str:
        return self["response"] or ""

    @property
    def references(self) -> list[str]:
        """Those of the list that are there, else the one."""
        several = [text for text in self["references"] or [] if text is not None]
        one = [] if self["reference"] is None else [self["reference"]]
        return several or one

    @property
    def contexts(self) -> list[str]:
        return [text or "" for text in self["retrieved_contexts"] or []]

    @property
    def stopwords(self) -> frozenset[str]:
        return texts_scalar.STOPWORDS if self.parameters.get("stopwords") == "drop" else frozenset()


Definition = Callable[[Sample], float | None]


def with_reference(function: Callable[[str, list[str]], float]) -> Definition:
    """Null without a reference."""
    return lambda s: function(s.response, s.references) if s.references else None


def contains_answer(s: Sample) -> float | None:
    answers = [text for text in s.references if texts_scalar.normalized(text)]
    return texts_scalar.contains_answer(s.response, answers) if answers else None


def context_recall(s: Sample) -> float | None:
    found = {token for text in s.contexts for token in texts_scalar.normalized(text).split()}
    wanted = [set(texts_scalar.normalized(text).split()) - s.stopwords for text in s.references]
    return max((len(tokens & found) / len(tokens) for tokens in wanted if tokens), default=None)


def context_precision(s: Sample) -> float | None:
    if s.parameters.get("against") != "user_input":
        stopwords = s.parameters.get("stopwords", "keep")
        return texts_scalar.context_precision(s.references, s.contexts, stopwords=stopwords) if s.references else None
    if s["user_input"] is None:
        return None
    wanted = set(s["user_input"].lower().split()) - s.stopwords
    return ratio(sum(bool(wanted & set(text.lower().split())) for text in s.contexts), len(s.contexts))


def lexical_faithfulness(s: Sample) -> float | None:
    nothing = 0.0 if s.parameters.get("none") == "zero" else None
    return (
        texts_scalar.lexical_faithfulness(s.response, s.contexts) if texts_scalar.split_claims(s.response) else nothing
    )


def tfidf(s: Sample) -> float | None:
    if s["user_input"] is None or s["response"] is None:
        return None
    pair = (s["user_input"], s["response"])
    corpus = [sample.get(side) for sample in s.all_of_them for side in ("user_input", "response")]
    documents = pair if s.parameters.get("idf") != "corpus" else [text for text in corpus if text is not None]
    terms = [set(re.findall(r"\b\w\w+\b", text.lower())) for text in documents]

    def weights(text: str) -> dict[str, float]:
        counts = Counter(re.findall(r"\b\w\w+\b", text.lower()))
        idf = {term: math.log((1 + len(terms)) / (1 + sum(term in one for one in terms))) + 1 for term in counts}
        return {term: count * idf[term] for term, count in counts.items()}

    query, response = map(weights, pair)
    dot = math.fsum(weight * response.get(term, 0.0) for term, weight in query.items())
    return ratio(dot, math.hypot(*query.values()) * math.hypot(*response.values()))


def ids(metric: str) -> Definition:
    """A metric of rankings, over ids in their order: each once, and none that is null."""

    def of(s: Sample) -> float | None:
        retrieved, relevant = (
            None if s[name] is None else [key for key in dict.fromkeys(s[name]) if key is not None]
            for name in ("retrieved_context_ids", "reference_context_ids")
        )
        if retrieved is None or not relevant:
            return None
        return float(DEFINITIONS[metric](Query(retrieved, dict.fromkeys(relevant, 1.0), s.parameters, s.k)))

    return of


def citations(function: Callable[[str, list[str]], float]) -> Definition:
    """Null without a source."""

    def of(s: Sample) -> float | None:
        sources = [source for source in s["ground_truth_sources"] or [] if source is not None]
        return function(s.response, sources) if sources else None

    return of


UNSPACED = (
    *("CJK ", "IDEOGRAPHIC ITERATION", "VERTICAL IDEOGRAPHIC", "OLD CHINESE ITERATION", "HIRAGANA ", "HENTAIGANA "),
    *("KATAKANA ", "HALFWIDTH KATAKANA LETTER", "THAI ", "LAO ", "KHMER ", "MYANMAR "),
)
"""How names of characters begin that are written without blanks."""


def rouge_words(text: str) -> list[str]:
    """Runs of letters, marks and digits; a letter of those above is a word with its marks."""
    found: list[str] = []
    kinds = ""  # what the last word is made of: a letter that stands alone, others, or nothing to go on with
    for char in text.lower():
        category = unicodedata.category(char)[0]
        alone = category == "L" and unicodedata.name(char, "").startswith(UNSPACED)
        if category not in "LMN":
            kinds = ""
        elif alone or not kinds or (kinds == "alone" and category != "M"):
            found.append(char)
            kinds = "alone" if alone else "others"
        else:
            found[-1] += char
    return found


def rouge_l(response: str, reference: str) -> float:
    said, right = rouge_words(response), rouge_words(reference)
    row = [0] * (len(right) + 1)
    for word in said:
        before = row
        row = [0]
        for place, other in enumerate(right, 1):
            row.append(before[place - 1] + 1 if word == other else max(before[place], row[-1]))
    shares = ratio(row[-1], len(said)), ratio(row[-1], len(right))
    return ratio(2 * shares[0] * shares[1], sum(shares))


def sacrebleu(metric: str) -> Definition:
    """What the library gives for a sentence and one reference: the best of them."""

    def score(response: str, reference: str) -> float:
        import sacrebleu

        if metric == "chrf":
            return float(sacrebleu.sentence_chrf(response, [reference]).score)
        return float(sacrebleu.sentence_bleu(response, [reference], use_effective_order=True).score)

    return with_reference(lambda response, references: max(score(response, text) for text in references))


SAMPLE_DEFINITIONS: dict[str, Definition] = {
    "exact_match": with_reference(texts_scalar.exact_match),
    "token_f1": with_reference(texts_scalar.token_f1),
    "contains_answer": contains_answer,
    "context_recall": context_recall,
    "context_precision": context_precision,
    "non_empty_rate": lambda s: float(any(text.strip() for text in s.contexts)),
    "lexical_faithfulness": lexical_faithfulness,
    "tfidf_answer_relevance": tfidf,
    "rouge_l": with_reference(lambda response, references: max(rouge_l(response, text) for text in references)),
    "chrf": sacrebleu("chrf"),
    "bleu": sacrebleu("bleu"),
    "context_id_recall": ids("recall"),
    "context_id_precision": ids("precision"),
    "citation_recall": citations(texts_scalar.citation_recall),
    "citation_precision": citations(texts_scalar.citation_precision),
}


def sample_value(
    metric: BuiltIn, record: Mapping[str, Any], all_of_them: Sequence[Mapping[str, Any]] = ()
) -> float | None:
    """What a metric is for one sample, None where it does not apply."""
    return SAMPLE_DEFINITIONS[metric.family.name](Sample(record, metric.parameters, metric.k, all_of_them or [record]))
