"""The metric table: a row per metric, the same everywhere."""

from __future__ import annotations

import doctest
from pathlib import Path

import polars as pl
import pytest

import rankframe as rf
import rankframe.metrics.lexical
import rankframe.metrics.retrieval
from rankframe.metrics import REGISTRY, metric_table, parse
from rankframe.metrics.texts import INPUTS

README = Path(__file__).parents[2] / "README.md"
MARKER = "<!-- metrics -->"
COLUMNS = ["name", "of", "definition", "parameters", "range", "aliases", "summary", "reference"]


def test_every_metric_has_a_row() -> None:
    table = metric_table()
    assert table.columns == COLUMNS
    assert {pl.String} == set(table.dtypes)
    names = [name.removesuffix("@k") for name in table["name"]]
    assert names == sorted(REGISTRY, key=lambda name: (REGISTRY[name].unit, name))
    assert table["of"].to_list() == [REGISTRY[name].unit for name in names]
    assert set(table["of"]) == {"query", "sample"}
    assert sum(table.null_count().row(0)) == 0


@pytest.mark.parametrize("column", ["name", "of", "definition", "range", "summary", "reference"])
def test_every_metric_says_what_it_is(column: str) -> None:
    assert all(cell.strip() for cell in metric_table()[column])


@pytest.mark.parametrize("family", REGISTRY)
def test_examples_and_aliases_are_names_of_the_metric(family: str) -> None:
    assert family == getattr(parse(REGISTRY[family].example), "family").name  # noqa: B009  # of built-in metrics
    row = metric_table().filter(pl.col("name").str.strip_suffix("@k") == family).row(0, named=True)
    for alias in row["aliases"].split(", ") if row["aliases"] else []:
        cut = "@5" if REGISTRY[family].needs_cutoff is True else ""
        assert family == getattr(parse(alias + cut), "family").name  # noqa: B009


def test_ranges_and_parameters_are_written_out() -> None:
    rows = {row["name"]: row for row in metric_table().iter_rows(named=True)}
    assert rows["ndcg@k"]["range"] == "[0, 1]"
    assert rows["dcg@k"]["range"] == "[0, ...)"
    assert rows["ndcg@k"]["parameters"] == "gain=linear|exponential, judged_only"
    assert rows["rbp"]["parameters"] == "gain=binary|graded, judged_only, max_grade, p=0.8, rel"
    assert rows["context_precision"]["parameters"] == "against=reference|user_input, stopwords=keep|drop"
    assert rows["context_id_precision@k"]["parameters"] == "over=k|returned"
    assert rows["token_f1"]["parameters"] == ""
    assert rows["chrf"]["range"] == "[0, 100]"


@pytest.mark.skipif(MARKER not in README.read_text(encoding="utf-8"), reason="the README has no metric table yet")
def test_the_readme_has_the_same_table() -> None:
    """Every cell of names, definitions and ranges stands there, in the order of the table."""
    _, _, text = README.read_text(encoding="utf-8").partition(MARKER)
    lines = [line for line in text.splitlines() if line.startswith("|")]
    header, _, *rows = lines[: metric_table().height + 2]
    names = [cell.strip().strip("`") for cell in header.strip("|").split("|")]
    columns = [name for name in names if name in COLUMNS]
    assert columns
    for row, right in zip(rows, metric_table().select(columns).rows(), strict=True):
        escaped = row.strip("|").replace("\\|", "\x00").split("|")
        cells = dict(zip(names, (cell.strip().strip("`").replace("\x00", "|") for cell in escaped), strict=True))
        assert right == tuple(cells[name] for name in columns)


def test_every_family_is_exported() -> None:
    for name, family in rf.metrics.REGISTRY.items():
        assert family is getattr(rf.metrics, name), f"export {name} from rankframe/metrics/__init__.py"
        assert name in rf.metrics.__all__


def test_the_examples_of_every_formula_run() -> None:
    """The names of a formula stand for families, so doctest is told of the formulas."""
    modules = (rankframe.metrics.retrieval, rankframe.metrics.lexical)
    tests = [test for module in modules for test in doctest.DocTestFinder().find(module)]
    found = {test.name.rpartition(".")[2] for test in tests if test.examples}
    assert set(rf.metrics.REGISTRY) <= found


@pytest.mark.parametrize("name", [name for name, family in REGISTRY.items() if family.unit == "sample"])
def test_metrics_of_samples_say_which_columns_they_read(name: str) -> None:
    """By names that samples have; and their default is the first of the choices."""
    family = REGISTRY[name]
    assert family.needs
    assert set(family.needs) <= set(INPUTS)
    assert family.aggregate == "mean"
    assert all(choices[0] == family.defaults[key] for key, choices in family.choices.items())
