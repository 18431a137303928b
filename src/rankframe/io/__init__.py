"""Files in, files out."""

from rankframe.io.beir import Beir, read_beir, write_beir
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
from rankframe.io.writers import write_corpus, write_qrels, write_queries, write_run

__all__ = [
    "Beir",
    "read_beir",
    "read_corpus",
    "read_qrels",
    "read_queries",
    "read_run",
    "scan_corpus",
    "scan_qrels",
    "scan_queries",
    "scan_run",
    "write_beir",
    "write_corpus",
    "write_qrels",
    "write_queries",
    "write_run",
]
