"""Samples, an LLM and embeddings that answer by rule, and the metrics of Ragas by name."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

import pytest

pytest.importorskip("ragas", reason="needs Ragas, of the extra `ragas`")
pytest.importorskip("rapidfuzz", reason="Ragas' string metrics need rapidfuzz")
pytest.importorskip("sacrebleu", reason="Ragas' BLEU and chrF need sacrebleu")
pytest.importorskip("rouge_score", reason="Ragas' ROUGE needs rouge_score")

from ragas.embeddings.base import BaseRagasEmbedding
from ragas.llms.base import InstructorBaseRagasLLM

NOISE = [
    pytest.mark.filterwarnings("ignore:evaluate\\(\\) is deprecated:DeprecationWarning"),  # and yet what users call
    pytest.mark.filterwarnings("ignore:aevaluate\\(\\) is deprecated:DeprecationWarning"),  # it calls itself
    pytest.mark.filterwarnings("ignore:unclosed file:ResourceWarning"),  # Ragas reads its uuid.json so
]
"""What Ragas warns of whatever one does."""

SAMPLES: list[dict[str, Any]] = [
    {
        "sample_id": "kite",
        "user_input": "Where does the red kite nest?",
        "response": "In tall trees.",
        "reference": "In tall trees.",
        "retrieved_contexts": ["The red kite nests in tall trees.", "The owl hunts at night."],
        "reference_contexts": ["The red kite nests in tall trees."],
        "retrieved_context_ids": ["k1", "o1"],
        "reference_context_ids": ["k1", "k2"],
        "topic": "birds",
    },
    {
        "sample_id": "owl",
        "user_input": "When does the owl hunt?",
        "response": "it hunts by night",
        "reference": "At night.",
        "retrieved_contexts": ["The owl sleeps in the barn.", "The owl hunts at night."],
        "reference_contexts": ["The owl hunts at night.", "Feathers muffle every beat of its wings."],
        "retrieved_context_ids": ["o2", "o1"],
        "reference_context_ids": ["o1"],
        "topic": "birds",
    },
    {
        "sample_id": "fox",
        "user_input": "What does the fox eat?",
        "response": "",
        "reference": "Mice.",
        "retrieved_contexts": ["Foxes live in dens."],
        "reference_contexts": ["Foxes eat mice."],
        "retrieved_context_ids": ["f1"],
        "reference_context_ids": ["f2"],
        "topic": "mammals",
    },
]
"""Three samples that have all that the metrics without an LLM need."""

METRICS = (
    "ExactMatch",
    "StringPresence",
    "NonLLMStringSimilarity",
    "BleuScore",
    "RougeScore",
    "ChrfScore",
    "NonLLMContextRecall",
    "NonLLMContextPrecisionWithReference",
    "IDBasedContextPrecision",
    "IDBasedContextRecall",
)
"""The metrics of Ragas that ask no LLM."""


def old(metric: str, **options: Any) -> Any:
    """A metric of the kind that Ragas' `evaluate` takes; its module says of all of them that they will move."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return getattr(import_module("ragas.metrics"), metric)(**options)


def half_supported(_prompt: str, kind: str) -> dict[str, Any]:
    """Two statements in every answer, of which the first is supported; every question is about the red kite."""
    if kind == "StatementGeneratorOutput":
        return {"statements": ["first", "second"]}
    if kind == "NLIStatementOutput":
        verdicts = [("first", 1), ("second", 0)]
        return {"statements": [{"statement": said, "reason": "by rule", "verdict": is_so} for said, is_so in verdicts]}
    return {"question": "Where does the red kite nest?", "noncommittal": 0}


class Rule(InstructorBaseRagasLLM):
    """An LLM that answers by rule: a function of the prompt and the kind of answer that is wanted."""

    is_async = True  # without it, Ragas gives NaN for every cell

    def __init__(
        self, rule: Callable[[str, str], dict[str, Any]] = half_supported, fails_on: str | None = None
    ) -> None:
        self.rule = rule
        self.fails_on = fails_on
        self.asked = 0

    def generate(self, prompt: Any, response_model: Any) -> Any:
        self.asked += 1
        if self.fails_on is not None and self.fails_on in str(prompt):
            raise ConnectionError("the model is gone")
        return response_model(**self.rule(str(prompt), response_model.__name__))

    async def agenerate(self, prompt: Any, response_model: Any) -> Any:
        return self.generate(prompt, response_model)


class Letters(BaseRagasEmbedding):
    """Embeddings that count three letters."""

    def embed_text(self, text: str, **_options: Any) -> list[float]:
        return [1.0 + text.count(letter) for letter in "eot"]

    def embed_query(self, text: str) -> list[float]:  # what the old metrics call
        return self.embed_text(text)

    def embed_documents(self, texts: Sequence[str]) -> list[list[float]]:  # likewise
        return [self.embed_text(text) for text in texts]

    async def aembed_text(self, text: str, **_options: Any) -> list[float]:
        return self.embed_text(text)

    async def aembed_texts(self, texts: Sequence[str], **_options: Any) -> list[list[float]]:
        return [self.embed_text(text) for text in texts]
