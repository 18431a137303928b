"""Every case of these kinds has its test."""

from __future__ import annotations

import ast
import json
from pathlib import Path

import pytest

HERE = Path(__file__).parent
CASES = HERE.parents[1].parent / "shared" / "cases" / "cases.jsonl"
KINDS = (
    *("ids", "ranking", "grades", "coverage", "cutoffs", "files", "polars", "retriever"),
    *("text", "rag-inputs", "judge", "ragas-bridge", "significance"),
)


def _tested() -> dict[str, str]:
    """test function -> the module it stands in."""
    return {
        node.name: path.stem
        for path in sorted(HERE.glob("test_*.py"))
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.FunctionDef)
    }


def _cases() -> dict[str, str]:
    """case id -> kind, of the kinds tested here."""
    if not CASES.is_file():
        pytest.skip(f"the list of cases is not there to compare with: {CASES}")
    records = (json.loads(line) for line in CASES.read_text(encoding="utf-8").splitlines() if line.strip())
    return {record["id"]: record["kind"] for record in records if record["kind"] in KINDS}


def test_every_case_is_tested_in_the_module_of_its_kind() -> None:
    """Under the name of its id."""
    tested, cases = _tested(), _cases()
    assert cases
    absent = {
        case: kind
        for case, kind in cases.items()
        if tested.get("test_" + case.replace("-", "_")) != "test_" + kind.replace("-", "_")
    }
    assert absent == {}
