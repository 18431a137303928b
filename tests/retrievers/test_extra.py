"""Without the extra, BM25 names what installs it; the rest needs no extra."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from rankframe.errors import ExtraError
from rankframe.retrievers.bm25 import BM25
from rankframe.retrievers.saved import save_index


def test_the_extra_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "bm25s", None)
    message = r"BM25 needs bm25s, which is not installed: pip install 'rankframe\[bm25\]'"
    with pytest.raises(ExtraError, match=message):
        BM25({"d1": "a red kite"})
    with pytest.raises(ImportError, match=message):
        BM25({"d1": "a red kite"}, stopwords=None, stemmer=None)
    save_index(tmp_path, "BM25", {}, lambda _: None)
    with pytest.raises(ExtraError, match=message):
        BM25.load(tmp_path)
