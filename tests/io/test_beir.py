"""BEIR folders, in every layout that is met."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

import rankframe as rf
from tests.cases.helpers import write

CORPUS = pl.DataFrame({"doc_id": ["a", "b"], "text": ["one", "two"], "title": ["A", ""], "year": [1900, None]})
QUERIES = pl.DataFrame({"query_id": ["q1", "q2"], "text": ["x", "y"], "topic": ["birds", None]})
QRELS = pl.DataFrame({"query_id": ["q1", "q1"], "doc_id": ["a", "b"], "relevance": [2.0, 0.0]})


def _hub(folder: Path) -> Path:
    """The Parquet layout of the hub: folders of shards, BEIR's names, grades as whole numbers."""
    for name in ("corpus", "queries", "qrels"):
        (folder / name).mkdir(parents=True)
    corpus = CORPUS.rename({"doc_id": "_id"})
    corpus.head(1).write_parquet(folder / "corpus" / "corpus-00000-of-00002.parquet")
    corpus.tail(1).write_parquet(folder / "corpus" / "corpus-00001-of-00002.parquet")
    QUERIES.rename({"query_id": "_id"}).write_parquet(folder / "queries" / "queries-00000-of-00001.parquet")
    qrels = QRELS.rename({"query_id": "query-id", "doc_id": "corpus-id", "relevance": "score"})
    qrels.cast({"score": pl.Int64}).write_parquet(folder / "qrels" / "test-00000-of-00001.parquet")
    return folder


def test_a_folder_is_read_as_it_was_written(tmp_path: Path) -> None:
    """All three frames, with metadata; folders are made."""
    rf.write_beir(tmp_path / "new" / "set", CORPUS, QUERIES, QRELS)
    beir = rf.read_beir(tmp_path / "new" / "set")
    assert beir.corpus.equals(CORPUS)
    assert beir.queries.equals(QUERIES)
    assert beir.qrels.equals(QRELS)
    assert repr(beir) == "Beir(2 documents, 2 queries, 2 judgments of 1 queries)"


def test_the_files_are_beirs(tmp_path: Path) -> None:
    """Any BEIR tool reads them."""
    rf.write_beir(tmp_path, {"a": {"title": "A", "text": "one"}}, {"q1": "x"}, {"q1": {"a": 2}}, split="dev")
    assert json.loads((tmp_path / "corpus.jsonl").read_text()) == {"_id": "a", "text": "one", "title": "A"}
    assert json.loads((tmp_path / "queries.jsonl").read_text()) == {"_id": "q1", "text": "x"}
    assert (tmp_path / "qrels" / "dev.tsv").read_text() == "query-id\tcorpus-id\tscore\nq1\ta\t2\n"
    assert rf.read_beir(tmp_path).qrels.rows() == [("q1", "a", 2.0)]
    assert rf.read_beir(tmp_path, split="dev").qrels.rows() == [("q1", "a", 2.0)]


def test_the_layout_of_the_hub_is_read(tmp_path: Path) -> None:
    beir = rf.read_beir(_hub(tmp_path))
    assert beir.corpus.equals(CORPUS)
    assert beir.queries.equals(QUERIES)
    assert beir.qrels.equals(QRELS)


def test_the_layout_of_the_hub_is_scanned_as_it_is_read(tmp_path: Path) -> None:
    """Each scanner finds its own files."""
    _hub(tmp_path)
    assert rf.scan_corpus(tmp_path).collect().equals(CORPUS)
    assert rf.scan_queries(tmp_path).collect().equals(QUERIES)
    assert rf.scan_qrels(tmp_path).collect().equals(QRELS)


def test_a_folder_of_files_beside_parquet_is_scanned_as_it_is_read(tmp_path: Path) -> None:
    """A Parquet file of another kind does not hide the corpus."""
    rf.write_beir(tmp_path, CORPUS, QUERIES, QRELS)
    (tmp_path / "runs").mkdir()
    rf.write_run({"q1": {"a": 1.0}}, tmp_path / "runs" / "bm25.parquet")
    assert rf.scan_corpus(tmp_path).collect().equals(CORPUS)
    assert rf.scan_queries(tmp_path).collect().equals(QUERIES)
    assert rf.scan_qrels(tmp_path).collect().equals(QRELS)


def test_judgments_are_chosen_by_file_or_split(tmp_path: Path) -> None:
    rf.write_beir(tmp_path, CORPUS, QUERIES, QRELS)
    write(tmp_path / "qrels" / "train.tsv", "q2\tb\t1\n")
    write(tmp_path / "mine" / "qrels.trec", "q2 0 a 1\n")
    assert rf.read_beir(tmp_path, split="train").qrels.rows() == [("q2", "b", 1.0)]
    assert rf.read_beir(tmp_path, qrels="mine/qrels.trec").qrels.rows() == [("q2", "a", 1.0)]
    assert rf.read_beir(tmp_path, qrels=tmp_path / "mine" / "qrels.trec").qrels.rows() == [("q2", "a", 1.0)]


@pytest.mark.parametrize("missing", ["corpus.jsonl", "queries.jsonl", "qrels.tsv"])
def test_a_file_that_is_missing_is_named(missing: str, tmp_path: Path) -> None:
    rf.write_beir(tmp_path, CORPUS, QUERIES, QRELS)
    (tmp_path / missing).unlink()
    with pytest.raises(FileNotFoundError, match=missing.replace(".", r"\.")):
        rf.read_beir(tmp_path)


def test_a_folder_or_file_of_judgments_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="absent"):
        rf.read_beir(tmp_path / "absent")
    rf.write_beir(tmp_path, CORPUS, QUERIES, QRELS)
    with pytest.raises(FileNotFoundError, match=r"other\.tsv"):
        rf.read_beir(tmp_path, qrels="other.tsv")


def test_a_file_is_no_folder(tmp_path: Path) -> None:
    rf.write_beir(tmp_path, CORPUS, QUERIES, QRELS)
    with pytest.raises((rf.DataError, NotADirectoryError, FileNotFoundError), match=r"queries.jsonl"):
        rf.read_beir(tmp_path / "queries.jsonl")


def test_a_refusal_leaves_no_half_of_a_folder(tmp_path: Path) -> None:
    """An id that the judgments' table cannot hold is found before the corpus is written."""
    folder = tmp_path / "set"
    with pytest.raises(rf.DataError, match=r"a\\tb"):
        rf.write_beir(folder, {"a\tb": "one"}, {"q1": "x"}, {"q1": {"a\tb": 1}})
    assert not folder.exists()
