"""Retrieval and RAG evaluation as Polars DataFrames.

A metric is an expression over rank columns; `evaluate` puts runs and judgments together and gives a report of frames.
Names are loaded when they are first used, so that importing the package costs no more than importing Polars.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rankframe import comparison as comparison
    from rankframe import evaluation as evaluation
    from rankframe import gates as gates
    from rankframe import metrics as metrics
    from rankframe import plots as plots
    from rankframe import rag as rag
    from rankframe import retrievers as retrievers
    from rankframe import spark as spark
    from rankframe import sql as sql
    from rankframe import tables as tables
    from rankframe.checking import check as check
    from rankframe.comparison import compare as compare
    from rankframe.errors import DataError as DataError
    from rankframe.errors import ExtraError as ExtraError
    from rankframe.errors import GateError as GateError
    from rankframe.errors import MetricError as MetricError
    from rankframe.errors import RankframeError as RankframeError
    from rankframe.errors import RankframeWarning as RankframeWarning
    from rankframe.explanation import explain as explain
    from rankframe.fusion import fuse as fuse
    from rankframe.io.beir import Beir as Beir
    from rankframe.io.beir import read_beir as read_beir
    from rankframe.io.beir import write_beir as write_beir
    from rankframe.io.readers import read_corpus as read_corpus
    from rankframe.io.readers import read_qrels as read_qrels
    from rankframe.io.readers import read_queries as read_queries
    from rankframe.io.readers import read_run as read_run
    from rankframe.io.retrievals import Retrieval as Retrieval
    from rankframe.io.retrievals import read_retrieval as read_retrieval
    from rankframe.io.samples import read_samples as read_samples
    from rankframe.io.samples import scan_samples as scan_samples
    from rankframe.io.scans import scan_corpus as scan_corpus
    from rankframe.io.scans import scan_qrels as scan_qrels
    from rankframe.io.scans import scan_queries as scan_queries
    from rankframe.io.scans import scan_run as scan_run
    from rankframe.io.writers import write_corpus as write_corpus
    from rankframe.io.writers import write_pool as write_pool
    from rankframe.io.writers import write_qrels as write_qrels
    from rankframe.io.writers import write_queries as write_queries
    from rankframe.io.writers import write_run as write_run
    from rankframe.metrics import Metric as Metric
    from rankframe.pooling import merge_judgments as merge_judgments
    from rankframe.pooling import pool as pool
    from rankframe.rag.evaluating import evaluate_samples as evaluate_samples
    from rankframe.rag.samples import samples_from_run as samples_from_run
    from rankframe.report import Report as Report
    from rankframe.retrievers.retrieving import retrieve as retrieve
    from rankframe.saved import read_report as read_report
    from rankframe.scoring import evaluate as evaluate
    from rankframe.scoring import evaluate_ranking as evaluate_ranking

_HOMES = {
    "checking": ("check",),
    "comparison": ("compare",),
    "errors": ("DataError", "ExtraError", "GateError", "MetricError", "RankframeError", "RankframeWarning"),
    "explanation": ("explain",),
    "fusion": ("fuse",),
    "io.beir": ("Beir", "read_beir", "write_beir"),
    "io.readers": (
        "read_corpus",
        "read_qrels",
        "read_queries",
        "read_run",
    ),
    "io.retrievals": ("Retrieval", "read_retrieval"),
    "io.scans": ("scan_corpus", "scan_qrels", "scan_queries", "scan_run"),
    "io.samples": ("read_samples", "scan_samples"),
    "io.writers": ("write_corpus", "write_pool", "write_qrels", "write_queries", "write_run"),
    "metrics": ("Metric",),
    "pooling": ("merge_judgments", "pool"),
    "rag.evaluating": ("evaluate_samples",),
    "rag.samples": ("samples_from_run",),
    "report": ("Report",),
    "retrievers.retrieving": ("retrieve",),
    "saved": ("read_report",),
    "scoring": ("evaluate", "evaluate_ranking"),
}
_HOME = {name: home for home, names in _HOMES.items() for name in names}

__version__ = "0.1.0"
_MODULES = ("comparison", "evaluation", "gates", "metrics", "plots", "rag", "retrievers", "spark", "sql", "tables")
__all__ = ["__version__", *_MODULES, *sorted(_HOME)]  # noqa: PLE0604  # names of the table above


def __getattr__(name: str) -> object:
    if name in _MODULES:
        return import_module(f"rankframe.{name}")
    if name not in _HOME:
        raise AttributeError(f"module 'rankframe' has no attribute {name!r}")
    value: object = getattr(import_module(f"rankframe.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
