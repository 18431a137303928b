"""rankframe: retrieval and RAG evaluation as Polars DataFrames."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rankframe import metrics
    from rankframe.errors import DataError, ExtraError, MetricError, RankframeError, RankframeWarning
    from rankframe.io import (
        read_corpus, read_qrels, read_queries, read_run, scan_corpus, scan_qrels, scan_queries, scan_run,
    )
    from rankframe.report import Report, read_report
    from rankframe.scoring import evaluate

_HOMES = {
    "DataError": "rankframe.errors",
    "ExtraError": "rankframe.errors",
    "Metric": "rankframe.metrics",
    "MetricError": "rankframe.errors",
    "RankframeError": "rankframe.errors",
    "RankframeWarning": "rankframe.errors",
    "Report": "rankframe.report",
    "evaluate": "rankframe.scoring",
    "read_corpus": "rankframe.io",
    "read_qrels": "rankframe.io",
    "read_queries": "rankframe.io",
    "read_report": "rankframe.report",
    "read_run": "rankframe.io",
    "scan_corpus": "rankframe.io",
    "scan_qrels": "rankframe.io",
    "scan_queries": "rankframe.io",
    "scan_run": "rankframe.io",
}

def __getattr__(name: str) -> object:
    if name == "metrics":
        return import_module("rankframe.metrics")
    if name not in _HOMES:
        raise AttributeError(f"module 'rankframe' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
