"""The command line: parse, call, print or write."""

from rankframe.cli import comparing, retrieval, samples  # noqa: F401  # they register their commands
from rankframe.cli.program import app, main, run, split_names

__all__ = ["app", "main", "run", "split_names"]
