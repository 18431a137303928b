"""RAG samples: judged metrics and the judges that give them, calibration, and the bridge to Ragas."""

from rankframe.metrics.texts_scalar import cited_sources, split_claims
from rankframe.rag.adapters import anthropic_judge, openai_embedder, openai_judge
from rankframe.rag.calibration import Agreement, agreement
from rankframe.rag.cases import RAGEvalCase, run_retrieval_eval, samples_from_cases
from rankframe.rag.endpoints import EndpointError
from rankframe.rag.judged_metrics import JudgedMetric, answer_relevance, correctness, faithfulness, judged
from rankframe.rag.judges import Embedder, Judge, Refused, Truncated
from rankframe.rag.ragas_bridge import as_ragas_dataset, evaluate_with_ragas
from rankframe.rag.ragas_results import from_ragas_result
from rankframe.rag.ragas_samples import from_ragas_dataset

__all__ = [
    "Agreement",
    "Embedder",
    "EndpointError",
    "Judge",
    "JudgedMetric",
    "RAGEvalCase",
    "Refused",
    "Truncated",
    "agreement",
    "answer_relevance",
    "anthropic_judge",
    "as_ragas_dataset",
    "cited_sources",
    "correctness",
    "evaluate_with_ragas",
    "faithfulness",
    "from_ragas_dataset",
    "from_ragas_result",
    "judged",
    "openai_embedder",
    "openai_judge",
    "run_retrieval_eval",
    "samples_from_cases",
    "split_claims",
]
