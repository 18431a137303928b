"""Pictures where the extra `plots` is not installed."""

from __future__ import annotations

import subprocess
import sys

import pytest

import rankframe as rf
from tests.plots.shared import summary


@pytest.mark.parametrize("missing", ["altair", "vl_convert"])
def test_without_the_extra_the_error_names_it(missing: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(rf.ExtraError, match=r"pictures need .*; pip install 'rankframe\[plots\]'"):
        rf.plots.summary(summary(("a", "map", 0.5)))


def test_naming_the_module_loads_no_altair() -> None:
    code = "import sys, rankframe.plots; print(sorted({'altair', 'vl_convert', 'numpy'} & set(sys.modules)))"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout == "[]\n"
