"""Frames with ids and numbers of every kind, and what it means that a file gives one back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
from hypothesis import strategies as st

import rankframe as rf

IDS = st.text(st.sampled_from("abq01.,;:|/\\\"'#{}[]-_ \t\n\r\x00\x0b\x0c\x1c\x7f\x85\xa0\u2028\ufeffé🦊"), max_size=4)
"""Short ids of letters, separators, quotes, comments, control characters and marks; the empty one among them."""

ODD_IDS = IDS | st.sampled_from(
    ["# 7", "#", "query_id", "doc_id", "_id", "nan", "null", "0042", "1e3", "\ufeffa", " a "]
)
FLOATS = st.floats(allow_nan=False) | st.sampled_from([-0.0, 5e-324, 1e-300, 1e308, 2.0**53 + 2, 1 / 3])
FINITE = st.floats(allow_nan=False, allow_infinity=False) | st.sampled_from([-0.0, -1.0, 0.5, 2.0**53, 1e16, 1e22])


@dataclass(frozen=True)
class Kind:
    """One kind of frame: its columns, its reader, scanner and writer, and the formats that it is written in."""

    name: str
    columns: tuple[str, ...]
    read: Callable[..., pl.DataFrame]
    scan: Callable[..., pl.LazyFrame]
    write: Callable[..., None]
    formats: tuple[str, ...]

    def frame(self, *rows: tuple[Any, ...]) -> pl.DataFrame:
        """Rows as a frame of this kind."""
        number = {"score": pl.Float64, "relevance": pl.Float64}
        return pl.DataFrame(list(rows), schema={c: number.get(c, pl.String) for c in self.columns}, orient="row")

    @property
    def plain(self) -> pl.DataFrame:
        """Two rows without anything odd."""
        numbers = self.columns[-1] in ("score", "relevance")
        return self.frame(("q1", "a", 2.0), ("q2", "b", 1.0)) if numbers else self.frame(("a", "one"), ("b", "two"))


TEXTS = ("jsonl", "json", "csv", "tsv", "parquet")
RUN = Kind("run", ("query_id", "doc_id", "score"), rf.read_run, rf.scan_run, rf.write_run, (*TEXTS, "trec"))
QRELS = Kind(
    "qrels", ("query_id", "doc_id", "relevance"), rf.read_qrels, rf.scan_qrels, rf.write_qrels, (*TEXTS, "trec")
)
QUERIES = Kind("queries", ("query_id", "text"), rf.read_queries, rf.scan_queries, rf.write_queries, TEXTS)
CORPUS = Kind("corpus", ("doc_id", "text"), rf.read_corpus, rf.scan_corpus, rf.write_corpus, TEXTS)
KINDS = {kind.name: kind for kind in (RUN, QRELS, QUERIES, CORPUS)}
WAYS = [(kind, suffix) for kind in KINDS.values() for suffix in kind.formats]
"""Every kind with every format that it is written in."""


def way(pair: object) -> str:
    """How a kind or a suffix is called in the name of a test."""
    return pair.name if isinstance(pair, Kind) else str(pair)


def same(expected: pl.DataFrame, actual: pl.DataFrame) -> bool:
    """Whether two frames have the same columns, dtypes and values, -0.0 and 0.0 told apart."""
    return expected.schema == actual.schema and repr(expected.rows()) == repr(actual.rows())


def what_changed(kind: Kind, frame: pl.DataFrame, path: Path) -> str:
    """How the file differs from the frame that was written: not at all, or how, or which fault the refusal has.

    A frame may be refused if nothing is written then and the message shows an id, a value or a column of it.
    """
    path.unlink(missing_ok=True)
    try:
        kind.write(frame, path)
    except rf.DataError as error:
        shown = [repr(value) for column in frame for value in column] + [repr(name) for name in frame.columns]
        if path.exists():
            return f"refused, and yet there is a file: {error}"
        return "" if any(part in str(error) for part in shown) else f"refused without saying what: {error}"
    try:
        read = kind.read(path, **({"iteration": True} if kind.name == "qrels" and "iteration" in frame.columns else {}))
    except rf.DataError as error:
        return f"written and not readable: {error}"
    made_up = ["rank", "tag"] if ".trec" in path.suffixes and kind is RUN else []
    actual = read.drop([name for name in made_up if name not in frame.columns], strict=False)
    if same(frame, actual):
        return ""
    return f"{frame.rows()} {dict(frame.schema)} became {actual.rows()} {dict(actual.schema)}"
