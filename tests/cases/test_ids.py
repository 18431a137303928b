"""Ids are text, compared byte for byte, whatever they look like and whichever way they come in."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import rankframe as rf
from rankframe.evaluation import evaluate_retrieval

from .helpers import FORMS, ledger, run_as, scored, triples, write

ODD_IDS = {
    "hash inside": "marco#12",
    "hash first": "#7",
    "hash alone": "#",
    "leading zeros": "0042",
    "exponent": "1e3",
    "decimal": "1.0",
    "plus": "+7",
    "minus": "-12",
    "hexadecimal": "0x1F",
    "nan": "nan",
    "NA": "NA",
    "null": "null",
    "None": "None",
    "true": "true",
    "date": "2024-01-31",
    "slashes": "https://example.org/a?b=1&c=%20#d",
    "double quote inside": 'in"side',
    "double quotes around": '"quoted"',
    "double quote first": '"open',
    "single quote": "o'clock",
    "backslash": "a\\tb\\n",
    "comma": "a,b",
    "colon": "a:b",
    "brackets": "[a]{b}(c)",
    "composed": "caf\u00e9",
    "decomposed": "cafe\u0301",
    "kanji": "\u6587\u66f81",
    "emoji": "\U0001f98a",
    "right to left": "\u05d0\u05d1",
    "no-break space": "a\u00a0b",
    "ideographic space": "a\u3000b",
    "line separator": "a\u2028b",
    "next line": "a\u0085b",
    "byte-order mark inside": "a\ufeffb",
    "very long": "x" * 100_000,
}
ODD = pytest.mark.parametrize("odd", ODD_IDS.values(), ids=ODD_IDS)


def _trec(folder: Path, odd: str, *, separator: str = " ") -> tuple[Path, Path]:
    """A run and judgments in which `odd` is a document, behind one with a plain id."""
    run = [("q1", "Q0", "plain", "1", "2.0", "t"), ("q1", "Q0", odd, "2", "1.0", "t")]
    qrels = [("q1", "0", "plain", "0"), ("q1", "0", odd, "1")]
    return (
        write(folder / "run.txt", "".join(separator.join(row) + "\n" for row in run)),
        write(folder / "qrels.txt", "".join(separator.join(row) + "\n" for row in qrels)),
    )


def test_ids_hash_in_docid(tmp_path: Path) -> None:
    """`#` may stand inside an id or begin it; nothing after it is a comment."""
    qrels = rf.read_qrels(write(tmp_path / "qrels.txt", "q1 0 marco#12 1\nq1 0 #7 1\n"))
    run = rf.read_run(write(tmp_path / "run.txt", "q1 Q0 marco#12 1 2.0 t\nq1 Q0 #7 2 1.0 t\n"))
    assert scored(run, qrels, "recall@2", "precision@2") == {"recall@2": 1.0, "precision@2": 1.0}
    assert qrels["doc_id"].to_list() == ["marco#12", "#7"]
    assert run["doc_id"].to_list() == ["marco#12", "#7"]


def test_ids_unicode_forms() -> None:
    """Two Unicode forms of one word are two ids, and that nothing retrieved is judged shows."""
    composed, decomposed = "caf\u00e9", "cafe\u0301"
    run = {"q1": {decomposed: 0.9, "tea": 0.1}}
    report = rf.evaluate(run, {"q1": {composed: 1}}, metrics=["mrr@2", "judged@2"])
    assert report.value("mrr@2") == 0.0
    assert report.value("judged@2") == 0.0
    assert report.scores["n_judged"].to_list() == [0]
    assert rf.read_run(run)["doc_id"].to_list() == [decomposed, "tea"]
    both = {"q1": {composed: 2.0, decomposed: 1.0}}
    assert rf.read_run(both)["doc_id"].to_list() == [composed, decomposed]
    assert scored(both, {"q1": {decomposed: 1}}, "mrr@2") == {"mrr@2": 0.5}


@pytest.mark.parametrize("suffix", ["trec", "csv", "jsonl", "parquet"])
def test_ids_unicode_forms_are_written_back_unchanged(suffix: str, tmp_path: Path) -> None:
    """Both forms stand in a written run as they were."""
    run = rf.read_run({"q1": {"caf\u00e9": 2.0, "cafe\u0301": 1.0}})
    path = tmp_path / f"run.{suffix}"
    rf.write_run(run, path)
    assert rf.read_run(path)["doc_id"].to_list() == ["caf\u00e9", "cafe\u0301"]


def test_ids_with_spaces(tmp_path: Path) -> None:
    """An id with a blank is read from a tab file; TREC text cannot hold it and is not written."""
    qrels = rf.read_qrels(write(tmp_path / "qrels/test.tsv", "query-id\tcorpus-id\tscore\nq1\tred fox\t1\n"))
    assert qrels.rows() == [("q1", "red fox", 1.0)]
    run = rf.read_run({"q1": {"red fox": 2.0, "fox": 1.0}})
    assert scored(run, qrels, "mrr@2") == {"mrr@2": 1.0}
    path = tmp_path / "run.trec"
    with pytest.raises(rf.DataError, match="red fox"):
        rf.write_run(run, path)
    assert not path.exists()


def test_ids_with_spaces_in_trec_qrels_are_not_written(tmp_path: Path) -> None:
    """Judgments too: refused by id, for the query as for the document."""
    path = tmp_path / "qrels.txt"
    with pytest.raises(rf.DataError, match="red fox"):
        rf.write_qrels(rf.read_qrels({"q1": {"red fox": 1}}), path, format="trec")
    with pytest.raises(rf.DataError, match="my query"):
        rf.write_qrels(rf.read_qrels({"my query": {"d1": 1}}), path, format="trec")
    assert not path.exists()


def test_ids_with_spaces_between_tabs(tmp_path: Path) -> None:
    """Where a TREC file has tabs, they alone separate, and ids keep their blanks."""
    run = write(tmp_path / "run.txt", "my query\tQ0\tred fox\t1\t2.0\tmy tag\nmy query\tQ0\tfox\t2\t1.0\tmy tag\n")
    qrels = write(tmp_path / "qrels.txt", "my query\t0\tred fox\t1\n")
    assert triples(rf.read_run(run)) == [("my query", "red fox", 2.0), ("my query", "fox", 1.0)]
    assert rf.read_run(run)["tag"].to_list() == ["my tag", "my tag"]
    assert rf.read_qrels(qrels).rows() == [("my query", "red fox", 1.0)]
    assert scored(run, qrels, "mrr@2") == {"mrr@2": 1.0}


@pytest.mark.parametrize("form", FORMS)
def test_ids_with_spaces_in_every_form(form: str, tmp_path: Path) -> None:
    """Every form that is not split at blanks keeps them."""
    rows = [("my query", "red fox", 2.0), ("my query", "fox", 1.0)]
    assert triples(rf.read_run(run_as(form, rows, tmp_path))) == rows


def test_ids_mixed_types_sort() -> None:
    """Whole-number keys, negative ones too, and text keys are one kind of id: text."""
    run: dict[Any, dict[str, float]] = {-12: {"a": 1.0}, 7: {"b": 1.0}, "q3": {"c": 1.0}}
    qrels = {"-12": {"a": 1}, "7": {"b": 1}, "q3": {"c": 1}}
    queries = {"-12": "red kite", "7": "blue heron", "q3": "grey owl"}
    report = rf.evaluate(run, qrels, metrics="mrr@1", queries=queries)
    assert report.value("mrr@1") == 1.0
    assert report.to_dict()["n_queries"] == 3
    assert list(run) == [-12, 7, "q3"]
    results = {"red kite": ["a"], "blue heron": ["b"], "grey owl": ["c"]}
    mixed: dict[Any, str] = {-12: "red kite", 7: "blue heron", "q3": "grey owl"}
    asked = evaluate_retrieval(results.__getitem__, qrels, mixed, k_values=(1,), metrics=("mrr",))
    assert asked.metrics == {"mrr@1": 1.0}
    assert asked.n_queries == 3
    assert list(mixed) == [-12, 7, "q3"]


@pytest.mark.parametrize("side", ["queries", "qrels", "both"])
def test_ids_of_mixed_types_on_either_side_of_a_retriever(side: str) -> None:
    """Whole numbers and text meet, and the report has the keys that the judgments have."""
    keys: dict[str, Any] = {"-12": np.int64(-12), "7": 7, "q3": "q3"}
    numbers: dict[Any, str] = {key: query for query, key in keys.items()}
    qrels: dict[Any, dict[Any, int]] = {key: {7: 1} for key in (keys if side == "queries" else numbers)}
    queries: dict[Any, str] = {key: str(key) for key in (keys if side == "qrels" else numbers)}
    report = evaluate_retrieval(lambda _: [7], qrels, queries, k_values=(1,), metrics=("mrr",))
    assert report.per_query == {key: {"mrr@1": 1.0} for key in qrels}
    assert report.n_queries == 3


@pytest.mark.parametrize(
    "key",
    [42, np.int64(42), np.uint8(42), "42", np.str_("42")],
    ids=["int", "numpy int", "numpy unsigned", "str", "numpy str"],
)
def test_ids_of_any_whole_number_type_are_text(key: Any) -> None:
    """42 is "42", from whichever type, on either side and in either place."""
    assert scored({key: {"a": 1.0}}, {"42": {"a": 1}}, "mrr@1") == {"mrr@1": 1.0}
    assert scored({"42": {"a": 1.0}}, {key: {"a": 1}}, "mrr@1") == {"mrr@1": 1.0}
    assert scored({"q": {key: 1.0}}, {"q": {"42": 1}}, "mrr@1") == {"mrr@1": 1.0}
    assert scored({"q": {"42": 1.0}}, {"q": {key: 1}}, "mrr@1") == {"mrr@1": 1.0}


@pytest.mark.parametrize("key", [1.0, True, None, b"a", ("a", "b"), Decimal(1)], ids=repr)
def test_ids_of_other_types_in_mappings_are_refused(key: Any) -> None:
    """A key that is neither text nor a whole number is refused by the column it would be and its value."""
    with pytest.raises(rf.DataError, match="query_id.*" + str(key).replace("(", r"\(").replace(")", r"\)")):
        rf.read_run({key: {"a": 1.0}})
    with pytest.raises(rf.DataError, match="doc_id.*" + str(key).replace("(", r"\(").replace(")", r"\)")):
        rf.read_qrels({"q": {key: 1}})


DTYPES = {
    "Int64": pl.Int64(),
    "Int8": pl.Int8(),
    "UInt64": pl.UInt64(),
    "Categorical": pl.Categorical(),
    "Enum": pl.Enum(["42", "7"]),
}


@pytest.mark.parametrize("column", ["query_id", "doc_id"])
@pytest.mark.parametrize("dtype", DTYPES.values(), ids=DTYPES)
def test_ids_of_integer_and_category_columns_are_text(dtype: pl.DataType, column: str) -> None:
    """Integer, Categorical and Enum columns meet text ids of the other side."""
    source = (
        pl.Series(["7", "42"]).cast(dtype)
        if dtype.is_nested() or not dtype.is_integer()
        else (pl.Series([7, 42]).cast(dtype))
    )
    other = "doc_id" if column == "query_id" else "query_id"
    run = pl.DataFrame({column: source, other: ["7", "42"], "score": [1.0, 2.0]})
    assert rf.read_run(run)[column].to_list() == ["7", "42"]
    assert scored(run, {"7": {"7": 1}, "42": {"42": 1}}, "mrr@1") == {"mrr@1": 1.0}
    assert run.schema[column] == dtype


@pytest.mark.parametrize("column", ["query_id", "doc_id"])
@pytest.mark.parametrize("reader", [rf.read_run, rf.read_qrels], ids=["run", "qrels"])
def test_ids_that_became_floats_are_refused(reader: Any, column: str) -> None:
    """A float id column was an integer column with a gap; the error names it and says so."""
    data: dict[str, Any] = {"query_id": ["1", "2"], "doc_id": ["1", "2"], "score": [1.0, 2.0]}
    data[column] = [1.0, None]
    with pytest.raises(rf.DataError, match=f"{column}.*Float64.*missing"):
        reader(pl.DataFrame(data))
    with pytest.raises(rf.DataError, match=f"{column}.*Float64.*missing"):
        reader(pd.DataFrame(data))


@pytest.mark.parametrize("odd", [1.5, 1.0, True, ["x"], {"x": 1}], ids=repr)
@pytest.mark.parametrize("place", ["first", "last"])
def test_ids_of_other_types_in_json_lines_are_refused(odd: Any, place: str, tmp_path: Path) -> None:
    """A fraction, truth value or container among text ids is refused too, not written out as text."""
    ids = [odd, "a"] if place == "first" else ["a", odd]
    lines = "".join(json.dumps({"query_id": "q", "doc_id": doc, "score": 1.0}) + "\n" for doc in ids)
    with pytest.raises(rf.DataError, match="doc_id"):
        rf.read_run(write(tmp_path / "run.jsonl", lines))


def test_ids_of_mixed_types_in_json_lines(tmp_path: Path) -> None:
    """Whole numbers among text ids are text; so is a text id behind hundreds of numbers."""
    lines = "".join(json.dumps({"_id": key, "text": "t"}) + "\n" for key in [*range(300), "0042"])
    frame = rf.read_corpus(write(tmp_path / "corpus.jsonl", lines))
    assert frame["doc_id"].to_list() == [*(str(number) for number in range(300)), "0042"]


def test_ids_in_pandas_of_mixed_types_are_text_or_refused() -> None:
    """pandas' object column of numbers and text: text by their value, or an error that names the column."""
    run = pd.DataFrame({"query_id": [7, "q3"], "doc_id": ["b", "c"], "score": [1.0, 1.0]})
    with pytest.raises(rf.DataError, match=r"query_id.*mixes types.*astype"):
        rf.read_run(run)


def test_ids_that_differ_in_form_only_are_different() -> None:
    """0042 is not 42, 1e3 not 1000, A not a, and a trailing blank counts."""
    docs = ["0042", "42", "1e3", "1000", "A", "a", "a ", "1.0", "1"]
    qrels = {"q": dict.fromkeys(docs, 1)}
    assert rf.evaluate({"q": dict.fromkeys(docs, 1.0)}, qrels, metrics="num_rel_ret").value("num_rel_ret") == 9
    for doc in docs:
        assert scored({"q": {doc: 1.0}}, {"q": {other: 1 for other in docs if other != doc}}, "mrr") == {"mrr": 0.0}


@pytest.mark.parametrize("form", FORMS)
def test_ids_of_any_look_in_every_form(form: str, tmp_path: Path) -> None:
    """An id comes through every form as it is, as a document and as a query."""
    rows = [(query, odd, 1.0) for odd in ODD_IDS.values() for query in ("q1", odd)]
    if form == "mapping":
        rows.sort(key=lambda row: row[0] != "q1")
    run = rf.read_run(run_as(form, rows, tmp_path))
    qrels = rf.read_qrels(run_as(form, rows, tmp_path, "relevance"))
    assert triples(run) == rows
    assert triples(qrels) == rows


@pytest.mark.parametrize("separator", [" ", "\t", "  "], ids=["blank", "tab", "blanks"])
@ODD
def test_ids_of_any_look_in_trec_text(odd: str, separator: str, tmp_path: Path) -> None:
    """TREC text is split at blanks and tabs, nowhere else, and nothing in it is quoted."""
    run, qrels = _trec(tmp_path, odd, separator=separator)
    assert rf.read_run(run)["doc_id"].to_list() == ["plain", odd]
    assert rf.read_qrels(qrels)["doc_id"].to_list() == ["plain", odd]
    assert scored(run, qrels, "mrr@2") == {"mrr@2": 0.5}


@ODD
def test_ids_of_any_look_on_the_first_line_of_trec_text(odd: str, tmp_path: Path) -> None:
    """The first line is judged like any other, whatever its ids look like."""
    run = write(tmp_path / "run.txt", f"q1 Q0 {odd} 1 2.0 t\n")
    qrels = write(tmp_path / "qrels.txt", f"q1 0 {odd} 1\n")
    assert triples(rf.read_run(run)) == [("q1", odd, 2.0)]
    assert rf.read_qrels(qrels).rows() == [("q1", odd, 1.0)]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("queries.jsonl", '{{"_id": {json}, "text": "t"}}\n'),
        ("queries.tsv", "{odd}\tt\n"),
        ("queries.json", '{{{json}: "t"}}'),
    ],
    ids=["jsonl", "tsv", "json"],
)
@ODD
def test_ids_of_any_look_in_queries_and_corpus(odd: str, name: str, content: str, tmp_path: Path) -> None:
    """Queries and documents keep their ids."""
    path = write(tmp_path / name, content.format(odd=odd, json=json.dumps(odd)))
    assert rf.read_queries(path).rows() == [(odd, "t")]
    assert rf.read_corpus(path).rows() == [(odd, "t")]


def test_ids_that_csv_readers_take_for_numbers_or_nothing(tmp_path: Path) -> None:
    """Ids of a CSV file are never inferred, under any of their names."""
    ids = ["0042", "1e3", "1.0", "NA", "null", "nan", "true", "2024-01-31"]
    for names in ("query_id,doc_id,score", "qid,docno,score", "query-id,corpus-id,score", "query,id,score"):
        path = write(tmp_path / "run.csv", names + "\n" + "".join(f"{odd},{odd},1\n" for odd in ids))
        assert triples(rf.read_run(path)) == [(odd, odd, 1.0) for odd in ids]
    path = write(tmp_path / "mine.csv", "topic,page,score\n0042,007,1\n")
    assert triples(rf.read_run(path, columns={"topic": "query_id", "page": "doc_id"})) == [("0042", "007", 1.0)]
    path = write(tmp_path / "corpus.csv", "_id,text\n0042,1.50\n")
    assert rf.read_corpus(path).rows() == [("0042", "1.50")]


UNWRITABLE = {"blank": "red fox", "tab": "red\tfox", "line feed": "red\nfox", "return": "red\rfox"}


@pytest.mark.parametrize("place", ["query", "document"])
@pytest.mark.parametrize("odd", UNWRITABLE.values(), ids=UNWRITABLE)
def test_ids_that_trec_text_cannot_hold_are_refused(odd: str, place: str, tmp_path: Path) -> None:
    """Nothing is written, and the message shows the id."""
    run = rf.read_run({odd: {"d": 1.0}} if place == "query" else {"q": {odd: 1.0}})
    path = tmp_path / "run.trec"
    with pytest.raises(rf.DataError) as caught:
        rf.write_run(run, path)
    assert odd in str(caught.value) or repr(odd) in str(caught.value)
    assert not path.exists()


WRITTEN = {
    **ODD_IDS,
    **UNWRITABLE,
    "hash and blank": "# 7",
    "blank around": " a ",
    "mark first": "\ufeffa",
    "empty": "",
}


@pytest.mark.parametrize("suffix", ["trec", "tsv", "csv", "json", "jsonl", "parquet"])
@pytest.mark.parametrize("odd", WRITTEN.values(), ids=WRITTEN)
def test_ids_are_read_back_as_written_or_refused(odd: str, suffix: str, tmp_path: Path) -> None:
    """Reading what was written gives equal rows; an id that a format cannot hold is refused by name."""
    run = pl.DataFrame({"query_id": [odd, odd], "doc_id": [odd, "plain"], "score": [2.0, 1.0]})
    path = tmp_path / f"run.{suffix}"
    refused = ""
    try:
        rf.write_run(run, path)
    except rf.DataError as error:
        refused = str(error)
    if refused:
        assert repr(odd) in refused or odd in refused
        assert not path.exists()
    else:
        assert triples(rf.read_run(path)) == run.rows()


def test_ids_are_told_apart_in_the_ledger() -> None:
    """Queries of the run without judgments are counted and shown: an id mistake in part of a run is seen."""
    run = {"1": {"a": 1.0}, "02": {"b": 1.0}}
    report = rf.evaluate(run, {"1": {"a": 1}, "2": {"b": 1}}, metrics="mrr")
    assert ledger(report) == {"missing_query": (1, ["2"]), "unjudged_query": (1, ["02"])}
    assert report.value("mrr") == 0.5
