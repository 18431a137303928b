"""Examples in docstrings that need an extra, which the doctests of the suite skip: run here where it is installed."""

from __future__ import annotations

import doctest
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest

EXAMPLES = {
    "rankframe.comparison.comparing": ("scipy",),
    "rankframe.metrics.lexical": ("rapidfuzz", "sacrebleu"),
    "rankframe.plots": ("altair", "vl_convert"),
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_that_need_an_extra(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lacking = [needed for needed in EXAMPLES[name] if find_spec(needed) is None]
    if lacking:
        pytest.skip(f"{lacking[0]} is not installed")
    monkeypatch.chdir(tmp_path)
    ran = 0
    for found in doctest.DocTestFinder().find(import_module(name), name):
        skipped = [example for example in found.examples if example.options.pop(doctest.SKIP, False)]
        if skipped:
            outcome = doctest.DocTestRunner().run(found)
            assert outcome.failed == 0
            ran += len(skipped)
    assert ran > 0
