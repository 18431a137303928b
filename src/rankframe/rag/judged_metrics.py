"""Metrics that an LLM judges: each is an object like any other metric, made with the judge that the caller brings.

A value stands beside its status and reason, and a judge that fails leaves null: it is counted, and never averaged.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, TypeVar

import polars as pl

from rankframe.errors import MetricError, listed, nearest
from rankframe.metrics.metric import Metric, Unit
from rankframe.rag import prompts
from rankframe.rag.claims import Claim, by_context, listed_claims, read_compared, read_faithfulness
from rankframe.rag.judges import as_embedder, as_judge, cosines, is_same
from rankframe.rag.judging import Desk, FailedError, Verdict
from rankframe.rag.prompts import Template
from rankframe.rag.replies import last_valid, read_questions, score
from rankframe.summaries import CLAIM

SAYS = {
    "status": pl.String(),
    "reason": pl.String(),
    "reply": pl.String(),
    "attempts": pl.Int64(),
    "latency_s": pl.Float64(),
}
"""The columns that stand behind the values of every judged metric, as `<metric>_<name>`."""

T = TypeVar("T")

CONTEXT_IDS = "retrieved_context_ids"


class JudgedMetric(Metric):
    """A metric of samples whose values a judge gives; made by `faithfulness` and its sisters.

    name: the column of its values. judge: who is asked. template: what is asked.
    """

    __slots__ = ("judge_of", "template")

    further: Mapping[str, pl.DataType] = MappingProxyType({})
    """What else stands behind the values, as `<metric>_<name>`."""

    definition = ""

    optional: tuple[str, ...] = ()
    """What is needed of the samples as a column, and may be blank in one of them."""

    def __init__(
        self, name: str, llm: object, template: Template, range: tuple[float | None, float | None] | None
    ) -> None:
        super().__init__(name, pl.lit(None, pl.Float64), range=range)
        self.judge_of = as_judge(llm)
        self.template = template

    @property
    def unit(self) -> Unit:
        return "sample"

    @property
    def expr(self) -> pl.Expr:
        raise MetricError(f"{self.name!r} is what a judge says, no expression; evaluate_samples asks it")

    @property
    def needed(self) -> tuple[str, ...]:
        """The columns without which there is no verdict: those that the prompt has as fields, at least."""
        return self.template.fields

    @property
    def fields(self) -> tuple[str, ...]:
        """The columns of a sample that the verdict depends on."""
        return tuple(dict.fromkeys([*self.needed, *(("references",) if "reference" in self.needed else ())]))

    def check(self, columns: Sequence[str]) -> None:
        """Look for the columns that are needed.

        Raises:
            MetricError: for one that the samples do not have.
        """
        lacking = [name for name in self.needed if name not in columns]
        if "references" in columns and "reference" in lacking:
            lacking.remove("reference")
        if lacking:
            raise MetricError(
                f"metric {self.name!r} needs a column that the samples do not have, {listed(lacking)}: "
                f"{nearest(lacking[0], columns)}. A prompt of your own may do without, or with other fields"
            )

    @property
    def columns(self) -> dict[str, pl.DataType]:
        """What stands behind the values: the end of each column's name, and its type."""
        return {**SAYS, **self.further}

    @property
    def identity(self) -> dict[str, Any]:
        """Who judges, and what is asked."""
        return {"judge": self.judge_of.identity, "prompt": self.template.text}

    def same_values(self, other: Metric) -> bool:
        return (
            isinstance(other, JudgedMetric)
            and type(self) is type(other)
            and is_same(self.judge_of, other.judge_of)
            and (self.template.text, self.range) == (other.template.text, other.range)
        )

    def judge(self, sample: Mapping[str, Any], desk: Desk) -> Verdict:
        """The verdict on one sample."""
        several = [one for one in sample.get("references") or [] if not _is_blank(one)]
        if several and "reference" in self.needed:
            sample = {**sample, "reference": "\nor: ".join(several)}
        lacking = [name for name in self.needed if name not in self.optional and _is_blank(sample[name])]
        if lacking:
            raise FailedError("missing_input", f"no {' and no '.join(lacking)}")
        return self.verdict(sample, desk)

    def verdict(self, sample: Mapping[str, Any], desk: Desk) -> Verdict:
        """The verdict on one sample, in which nothing that is needed is blank but what is `optional`."""
        raise NotImplementedError

    def _ask(self, sample: Mapping[str, Any], desk: Desk, read: Callable[[str], T], **own: object) -> tuple[T, str]:
        return desk.ask(self.judge_of, self.template.text, self.template.filled(sample, **own), read)


def _is_blank(value: object) -> bool:
    """Whether a value says nothing: null, NaN, or a text without a letter."""
    if isinstance(value, float):
        return math.isnan(value)
    return value is None or (isinstance(value, str) and not value.strip())


def faithfulness(
    *, llm: object, name: str = "faithfulness", prompt: str | None = None, reference: bool = False
) -> JudgedMetric:
    """Share of the response's claims that a retrieved context supports, as a judge finds.

    The judge lists the claims and, for each, the contexts that support it; the share is counted here, not taken from
    its reply. `report.claims` has every claim beside every context.

    Args:
        llm: a function prompt -> text, plain or async, or a `Judge`.
        name: the column of the values; another one for a second judge.
        prompt: your own template, with the fields {retrieved_contexts}, {response} and, if you like, {user_input}. The
            reply is a JSON object {"claims": [{"claim": .., "contexts": [1, ..]}]}, or with "supported": true or false
            in place of the contexts, or only counts: {"total_claims": 4, "supported_claims": 3, "unsupported": [..]}.
        reference: also have each claim held against the reference, for the column `correct` of `report.claims`.

    Returns:
        A metric for `evaluate_samples`. Range 0 to 1. Null with status `missing_input` without a response,
        `no_claims` where the judge finds none, `refused`, `parse_error`, `error` where it fails. 0 where there is
        no context: the judge is not asked then.

    Raises:
        MetricError: for an `llm` that cannot be called, and a prompt without fields.

    Source: Es et al. 2023 (Ragas), arXiv:2309.15217.

    >>> import rankframe as rf
    >>> def ask(prompt):  # your LLM
    ...     return '{"claims": [{"claim": "It is red.", "contexts": [1]}, {"claim": "It is old.", "contexts": []}]}'
    >>> sample = {"user_input": "Which kite?", "response": "A red, old one.", "retrieved_contexts": ["A red kite."]}
    >>> report = rf.evaluate_samples([sample], metrics=[faithfulness(llm=ask)])
    >>> report.value("faithfulness")
    0.5
    >>> report.claims.select("text", "context", "supported").rows()
    [('It is red.', 1, True), ('It is old.', 1, False)]
    """
    default = prompts.FAITHFULNESS_AND_REFERENCE if reference else prompts.FAITHFULNESS
    return _Faithfulness(name, llm, Template(default if prompt is None else prompt), (0.0, 1.0))


class _Faithfulness(JudgedMetric):
    further = MappingProxyType({"claims": pl.List(CLAIM)})
    definition = "supported claims / claims of the response, as a judge finds"
    optional = ("retrieved_contexts",)

    @property
    def needed(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys([*self.template.fields, "response", "retrieved_contexts"]))

    @property
    def fields(self) -> tuple[str, ...]:
        return (*super().fields, CONTEXT_IDS)

    def verdict(self, sample: Mapping[str, Any], desk: Desk) -> Verdict:
        contexts = sample["retrieved_contexts"] or []
        if all(_is_blank(context) for context in contexts):
            return Verdict(0.0, reason="there is no context that could support anything; the judge was not asked")
        compared = "reference" in self.template.fields

        def read(found: dict[str, Any]) -> tuple[list[Claim], str | None]:
            return read_faithfulness(found, len(contexts), reference=compared)

        (claims, flaw), reply = self._ask(sample, desk, lambda said: last_valid(said, read))
        if not claims:
            return Verdict(None, "no_claims", flaw or "the judge found no claim", reply)
        more = {"claims": by_context(claims, len(contexts), sample[CONTEXT_IDS])}
        supported = sum(claim.supported is True for claim in claims)
        return Verdict(supported / len(claims), reason=flaw, reply=reply, more=more)


def correctness(*, llm: object, name: str = "correctness", prompt: str | None = None) -> JudgedMetric:
    """How far response and reference say the same, claim by claim, as a judge finds.

    2c / (2c + w + m): c claims of the response that the reference states, w others, m claims of the reference that the
    response does not state. `report.claims` lists them.

    Args:
        llm: a function prompt -> text, plain or async, or a `Judge`.
        name: the column of the values.
        prompt: your own template, with the fields {response} and {reference}. The reply is a JSON object
            {"claims": [{"claim": .., "correct": true}], "missing": [..]}.

    Returns:
        A metric for `evaluate_samples`. Range 0 to 1; 0 without a response, where the judge is not asked. Null with
        status `missing_input` without a reference, `no_claims` where neither side has one, `refused`, `parse_error`,
        `error` where the judge fails. Where there are several references, they are shown as such.

    Raises:
        MetricError: for an `llm` that cannot be called, and a prompt without fields.

    >>> import rankframe as rf
    >>> def ask(prompt):  # your LLM
    ...     return '{"claims": [{"claim": "It is red.", "correct": true}], "missing": ["It is large."]}'
    >>> sample = {"user_input": "What kite?", "response": "A red one.", "reference": "A large red kite."}
    >>> round(rf.evaluate_samples([sample], metrics=[correctness(llm=ask)]).value("correctness"), 4)
    0.6667
    """
    return _Correctness(name, llm, Template(prompts.CORRECTNESS if prompt is None else prompt), (0.0, 1.0))


class _Correctness(JudgedMetric):
    further = MappingProxyType({"claims": pl.List(CLAIM)})
    definition = "F1 of the claims of response and reference, as a judge finds"
    optional = ("response",)

    @property
    def needed(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys([*self.template.fields, "response", "reference"]))

    def verdict(self, sample: Mapping[str, Any], desk: Desk) -> Verdict:
        if _is_blank(sample["response"]):
            return Verdict(0.0, reason="there is no response; the judge was not asked")
        (claims, missing), reply = self._ask(sample, desk, lambda said: last_valid(said, read_compared))
        if not claims and not missing:
            return Verdict(None, "no_claims", "the judge found no claim", reply)
        right = sum(claim.correct is True for claim in claims)
        wrong = len(claims) - right
        value = 2 * right / (2 * right + wrong + len(missing))
        return Verdict(value, reply=reply, more={"claims": listed_claims([*claims, *missing])})


def answer_relevance(
    *, llm: object, embed: object, n: int = 3, name: str = "answer_relevance", prompt: str | None = None
) -> JudgedMetric:
    """How near the questions that the response answers are to the one that was asked.

    The judge writes `n` questions to which the response would be the best reply; the value is the mean cosine of their
    vectors with that of the question. Whether the response is noncommittal is a column of its own,
    `<name>_noncommittal`, and does not change the value; the questions are in `<name>_questions`.

    Args:
        llm: a function prompt -> text, plain or async, or a `Judge`.
        embed: a function of a list of texts that gives a vector for each, plain or async, an `Embedder`, or an object
            with `.encode` or `.embed_documents`.
        n: how many questions; one that is written twice counts once, and the reason tells of another number.
        name: the column of the values.
        prompt: your own template, with the field {response}, and {n} if you like. The reply is a JSON object
            {"questions": [..], "noncommittal": false}.

    Returns:
        A metric for `evaluate_samples`. Range -1 to 1, as cosines have it. Null with status `missing_input` without a
        question or a response, `refused`, `parse_error`, `error` where judge or embedder fail.

    Raises:
        MetricError: for an `llm` or `embed` that cannot be called, an `n` below 1, and a prompt without fields.

    Source: Es et al. 2023 (Ragas), arXiv:2309.15217.

    >>> import rankframe as rf
    >>> def ask(prompt):  # your LLM
    ...     return '{"questions": ["Which kite is red?"], "noncommittal": false}'
    >>> def embed(texts):  # your embedding model
    ...     return [[1.0, float("red" in text)] for text in texts]
    >>> sample = {"user_input": "Which kite?", "response": "The red one."}
    >>> report = rf.evaluate_samples([sample], metrics=[answer_relevance(llm=ask, embed=embed)])
    >>> round(report.value("answer_relevance"), 4)
    0.7071
    """
    from rankframe.metrics.metric import checked_cutoff

    template = Template(prompts.ANSWER_RELEVANCE if prompt is None else prompt, own=("n",))
    return _AnswerRelevance(name, llm, template, embed, checked_cutoff(n, "n"))


class _AnswerRelevance(JudgedMetric):
    __slots__ = ("embed", "n")

    further = MappingProxyType({"noncommittal": pl.Boolean(), "questions": pl.List(pl.String)})
    definition = "mean cosine of the question and those that the response answers, as a judge writes them"

    def __init__(self, name: str, llm: object, template: Template, embed: object, n: int) -> None:
        super().__init__(name, llm, template, (-1.0, 1.0))
        self.embed = as_embedder(embed)
        self.n = n

    @property
    def needed(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys([*self.template.fields, "user_input", "response"]))

    @property
    def identity(self) -> dict[str, Any]:
        return {**super().identity, "embed": self.embed.identity, "n": self.n}

    def same_values(self, other: Metric) -> bool:
        same = isinstance(other, _AnswerRelevance) and self.n == other.n and is_same(self.embed, other.embed)
        return same and super().same_values(other)

    def verdict(self, sample: Mapping[str, Any], desk: Desk) -> Verdict:
        (questions, evasive), reply = self._ask(sample, desk, lambda said: last_valid(said, read_questions), n=self.n)
        more = {"questions": questions, "noncommittal": evasive}
        texts = [sample["user_input"], *questions]
        try:
            found = desk.numbers(self.embed, texts, lambda vectors: cosines(vectors, len(texts)))
        except FailedError as error:
            return Verdict(None, error.status, error.reason, reply, more=more)
        flaw = None if len(questions) == self.n else f"{len(questions)} different questions, of {self.n} asked for"
        return Verdict(math.fsum(found) / len(found), reason=flaw, reply=reply, more=more)


def judged(
    name: str, prompt: str, range: tuple[float | None, float | None] = (0.0, 1.0), *, llm: object
) -> JudgedMetric:
    """A judged metric of your own: a prompt, and a number in a range as the reply.

    Args:
        name: the column of the values.
        prompt: a template whose fields are columns of the samples, as in {user_input}, {response},
            {retrieved_contexts} or any metadata. What the reply has to be, with the range, is added to it.
        range: lowest and highest score, None for an open end. Enforced on what comes back: a score outside is no
            score, and is not rescaled.
        llm: a function prompt -> text, plain or async, or a `Judge`.

    Returns:
        A metric for `evaluate_samples`: the number under "score" of the last JSON object of the reply that has a valid
        one. Null with status `missing_input` where a column of the prompt is null or blank, `refused`, `parse_error`,
        `error` where the judge fails.

    Raises:
        MetricError: for a name that is taken, a prompt without fields, a range that is none, an `llm` that cannot be
            called.

    >>> import rankframe as rf
    >>> def ask(prompt):  # your LLM
    ...     return '{"score": 2}'
    >>> polite = judged("polite", "How polite is this, from 0 to 2? {response}", (0, 2), llm=ask)
    >>> rf.evaluate_samples([{"response": "Gladly."}], metrics=[polite]).value("polite")
    2.0
    """
    metric = _Scored(name, llm, Template(prompt), range)
    metric.template = Template(prompt + prompts.score_from(*(metric.range or (None, None))))
    return metric


class _Scored(JudgedMetric):
    definition = "a score, as a judge gives it"

    def verdict(self, sample: Mapping[str, Any], desk: Desk) -> Verdict:
        low, high = self.range or (None, None)
        (value, reason), reply = self._ask(sample, desk, lambda said: score(said, low, high))
        return Verdict(value, reason=reason, reply=reply)


def columns_of(metric: JudgedMetric, verdicts: Sequence[Verdict]) -> list[pl.Series]:
    """The columns of a judged metric: its values, then what says more of them."""
    told = [
        {"status": v.status, "reason": v.reason, "reply": v.reply, "attempts": v.attempts, "latency_s": v.latency_s}
        | dict(v.more)
        for v in verdicts
    ]
    values = pl.Series(metric.name, [v.value for v in verdicts], dtype=pl.Float64)
    return [
        values,
        *(
            pl.Series(f"{metric.name}_{name}", [row.get(name) for row in told], dtype=dtype)
            for name, dtype in metric.columns.items()
        ),
    ]
