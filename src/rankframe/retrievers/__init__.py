"""Retrievers: `retrieve` asks any of them; BM25, TfIdf and Dense are at hand.

The names are loaded when they are first used; BM25 needs the extra `bm25`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rankframe.retrievers.bm25 import BM25 as BM25
    from rankframe.retrievers.dense import Dense as Dense
    from rankframe.retrievers.tfidf import TfIdf as TfIdf

_HOMES = {"BM25": "bm25", "Dense": "dense", "TfIdf": "tfidf"}

__all__ = ["BM25", "Dense", "TfIdf"]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'rankframe.retrievers' has no attribute {name!r}")
    value: object = getattr(import_module(f"rankframe.retrievers.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
