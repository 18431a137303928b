"""Files in, files out."""

from rankframe.io.readers import (
    read_corpus,
    read_qrels,
    read_queries,
    read_run,
    scan_corpus,
    scan_qrels,
    scan_queries,
    scan_run,
)

__all__ = [
    "read_corpus",
    "read_qrels",
    "read_queries",
    "read_run",
    "scan_corpus",
    "scan_qrels",
    "scan_queries",
    "scan_run",
]
