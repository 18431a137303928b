"""Ragas' own ExactMatch through its `evaluate`: samples in, a score for each out.

Imports stand in the function, so that a process that does not measure Ragas loads nothing of it.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any


def exact_match_with_ragas(samples: Sequence[Mapping[str, Any]]) -> list[float]:
    """What Ragas gives for samples that all have `response` and `reference`; other keys are those of its samples."""
    os.environ.setdefault("RAGAS_DO_NOT_TRACK", "true")
    ragas: Any = import_module("ragas")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of evaluate, and of where the metric is imported from
        metric = import_module("ragas.metrics").ExactMatch()
        dataset = ragas.EvaluationDataset.from_list(list(samples))
        result = ragas.evaluate(dataset, metrics=[metric], show_progress=False)
    return [float(score) for score in result["exact_match"]]
