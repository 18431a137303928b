"""BM25 over 100,000 passages stays below 2 GB, from the corpus to the results of 1,000 queries."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("bm25s", reason="needs the extra bm25: pip install 'rankframe[bm25]'")
pytest.importorskip("Stemmer", reason="needs the extra bm25: pip install 'rankframe[bm25]'")
pytest.importorskip("resource", reason="the peak of memory is asked of a Unix system")


@pytest.mark.slow
def test_a_hundred_thousand_passages_fit_into_two_gigabytes() -> None:
    """In a process of its own, whose peak is nobody else's."""
    command = [sys.executable, "-W", "error", "-m", "tests.slow.bm25_at_scale"]
    told = subprocess.run(command, capture_output=True, text=True, check=True, cwd=Path(__file__).parents[2])
    figures = json.loads(told.stdout)
    assert told.stderr == ""
    assert figures["docs"] == 100_000
    assert len(figures["found"]) == 1_000
    assert min(figures["found"]) > 0
    assert figures["sorted"]
    assert figures["peak_bytes"] < 2 * 10**9, figures
