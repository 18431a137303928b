"""RAG samples: judged metrics, calibration of judges, claims, and the bridge to Ragas."""

from rankframe.rag.calibration import Agreement, agreement
from rankframe.rag.judged import JudgedMetric, answer_relevance, correctness, faithfulness, judged
from rankframe.rag.judges import Embedder, Judge, Refused, Truncated

__all__ = [
    "Agreement",
    "Embedder",
    "Judge",
    "JudgedMetric",
    "Refused",
    "Truncated",
    "agreement",
    "answer_relevance",
    "correctness",
    "faithfulness",
    "judged",
]
