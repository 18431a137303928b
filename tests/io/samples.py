"""Samples with whatever a cell may be, and files of them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import make_dataclass
from pathlib import Path
from typing import Any

import polars as pl

Record = Mapping[str, Any]

TEXTS = pl.List(pl.String)

RECORDS: list[Record] = [
    {
        "sample_id": "s1",
        "user_input": "Where does the fox sleep?",
        "response": "In a den.",
        "reference": "den",
        "retrieved_contexts": ["The fox sleeps in the den.", "An owl sleeps by day."],
        "retrieved_context_ids": ["d1", "d2"],
        "topic": "foxes",
        "turn": 1,
    },
    {
        "sample_id": "s2",
        "user_input": 'And the owl, "Bubo"?',
        "response": None,
        "reference": None,
        "retrieved_contexts": [],
        "retrieved_context_ids": [],
        "topic": "owls",
        "turn": 2,
    },
    {
        "sample_id": "s3",
        "user_input": "東京?",
        "response": "",
        "reference": "no",
        "retrieved_contexts": None,
        "retrieved_context_ids": None,
        "topic": None,
        "turn": 3,
    },
    {
        "sample_id": "s4",
        "user_input": "Last?",
        "response": "Yes\nindeed.",
        "reference": 'it\'s "so"',
        "retrieved_contexts": ["one", None, ""],
        "retrieved_context_ids": ["d1", "d9", None],
        "topic": "x",
        "turn": 4,
    },
]
SCHEMA: dict[str, Any] = {
    "sample_id": pl.String,
    "user_input": pl.String,
    "response": pl.String,
    "reference": pl.String,
    "retrieved_contexts": TEXTS,
    "retrieved_context_ids": TEXTS,
    "topic": pl.String,
    "turn": pl.Int64,
}
LISTS = ("retrieved_contexts", "retrieved_context_ids")
FRAME = pl.DataFrame(RECORDS, schema=SCHEMA)

Sample = make_dataclass("Sample", list(SCHEMA))


def by_column(records: Sequence[Record]) -> dict[str, list[Any]]:
    """The values of each column."""
    names = list(dict.fromkeys(name for record in records for name in record))
    return {name: [record.get(name) for record in records] for name in names}


def written(path: Path, text: str | bytes) -> Path:
    """The path, with exactly this content."""
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def lines(records: Sequence[Record]) -> str:
    """One JSON object per line."""
    return "".join(json.dumps(record) + "\n" for record in records)


def parquet(frame: pl.DataFrame, path: Path) -> Path:
    """The path, with the frame as Parquet."""
    path.parent.mkdir(exist_ok=True)
    frame.write_parquet(path)
    return path
