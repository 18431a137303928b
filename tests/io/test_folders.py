"""Where a folder keeps its corpus, queries and judgments."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import rankframe as rf
from rankframe.io.folders import find_qrels, find_texts, splits_of
from tests.cases.helpers import packed, write


def _judged(doc: str) -> str:
    """One judgment that says which file it stood in."""
    return f"query-id\tcorpus-id\tscore\nq1\t{doc}\t1\n"


ORDER = [
    "qrels.tsv",
    "qrels/test.tsv",
    "qrels/dev.tsv",
    "qrels/validation.tsv",
    "qrels/train.tsv",
]


@pytest.mark.parametrize("there", range(len(ORDER)), ids=ORDER)
def test_judgments_are_the_first_found_in_the_documented_order(there: int, tmp_path: Path) -> None:
    for name in ORDER[there:]:
        write(tmp_path / name, _judged(name))
    write(tmp_path / "qrels.jsonl", '{"query_id": "q1", "doc_id": "jsonl", "relevance": 1}\n')
    assert [tmp_path / ORDER[there]] == find_qrels(tmp_path)
    assert [ORDER[there]] == rf.read_qrels(tmp_path)["doc_id"].to_list()


@pytest.mark.parametrize("name", ["qrels.jsonl", "qrels.jsonl.gz", "qrels.json"])
def test_judgments_as_json_are_found_last(name: str, tmp_path: Path) -> None:
    content = '{"q1": {"json": 1}}' if name == "qrels.json" else '{"query_id": "q1", "doc_id": "json", "score": 1}\n'
    write(tmp_path / name, packed(content, "gzip" if name.endswith("gz") else "plain"))
    assert rf.read_qrels(tmp_path).rows() == [("q1", "json", 1.0)]


@pytest.mark.parametrize("suffix", ["tsv", "tsv.gz", "tsv.zst", "jsonl", "csv", "parquet"])
def test_a_split_is_read_in_any_format(suffix: str, tmp_path: Path) -> None:
    """By its name, packed or not."""
    (tmp_path / "qrels").mkdir()
    write(tmp_path / "qrels.tsv", _judged("all"))
    rf.write_qrels({"q1": {suffix: 1}}, tmp_path / "qrels" / f"odd.{suffix}")
    assert [suffix] == rf.read_qrels(tmp_path, split="odd")["doc_id"].to_list()
    assert splits_of(tmp_path) == ["odd"]


def test_a_split_in_shards_is_read_whole(tmp_path: Path) -> None:
    """The layout of the hub: test-00000-of-00002.parquet."""
    (tmp_path / "qrels").mkdir()
    for shard, doc in enumerate("ab"):
        frame = pl.DataFrame({"query-id": ["q1"], "corpus-id": [doc], "score": [1]})
        frame.write_parquet(tmp_path / "qrels" / f"test-0000{shard}-of-00002.parquet")
        frame.write_parquet(tmp_path / "qrels" / f"train-0000{shard}-of-00002.parquet")
    assert rf.read_qrels(tmp_path, split="test")["doc_id"].to_list() == ["a", "b"]
    assert splits_of(tmp_path) == ["test", "train"]


def test_shards_of_a_split_that_differ_are_read_or_refused_by_name(tmp_path: Path) -> None:
    """Never with an error of Polars."""
    (tmp_path / "qrels").mkdir()
    for shard, score in enumerate([1, 1.5]):
        frame = pl.DataFrame({"query-id": ["q1"], "corpus-id": [f"d{shard}"], "score": [score]})
        frame.write_parquet(tmp_path / "qrels" / f"test-0000{shard}-of-00002.parquet")
    grades, refused = [1.0, 1.5], "test-0000"
    try:
        grades = rf.read_qrels(tmp_path)["relevance"].to_list()
    except rf.DataError as error:
        refused = str(error)
    assert grades == [1.0, 1.5]
    assert "test-0000" in refused


def test_a_split_that_is_not_there_is_told_with_those_that_are(tmp_path: Path) -> None:
    write(tmp_path / "qrels" / "test.tsv", _judged("a"))
    write(tmp_path / "qrels" / "dev-small.tsv", _judged("b"))
    with pytest.raises(FileNotFoundError, match=r"no judgments for the split 'train'.*'test'"):
        rf.read_qrels(tmp_path, split="train")
    assert rf.read_qrels(tmp_path, split="dev-small")["doc_id"].to_list() == ["b"]


def test_one_split_of_another_name_is_the_judgments(tmp_path: Path) -> None:
    """Two of them are a choice that nobody made."""
    write(tmp_path / "qrels" / "odd.tsv", _judged("a"))
    assert rf.read_qrels(tmp_path)["doc_id"].to_list() == ["a"]
    write(tmp_path / "qrels" / "even.tsv", _judged("b"))
    with pytest.raises(FileNotFoundError, match=r"no judgments in qrels.tsv.*'even', 'odd'"):
        rf.read_qrels(tmp_path)


@pytest.mark.parametrize("split", ["../test", "qrels/test", "t*", "te?t", "[t]est"])
def test_a_split_is_a_name_not_a_path_or_a_pattern(split: str, tmp_path: Path) -> None:
    """A pattern would mix the judgments of several splits."""
    (tmp_path / "qrels").mkdir()
    for name in ("test", "train"):
        frame = pl.DataFrame({"query-id": ["q1"], "corpus-id": [name], "score": [1]})
        frame.write_parquet(tmp_path / "qrels" / f"{name}-00000-of-00001.parquet")
    with pytest.raises((rf.DataError, FileNotFoundError), match="split"):
        rf.read_qrels(tmp_path, split=split)


def test_a_split_goes_with_a_folder(tmp_path: Path) -> None:
    path = write(tmp_path / "qrels.tsv", _judged("a"))
    for source in (path, {"q1": {"a": 1}}):
        with pytest.raises(rf.DataError, match="split='test' goes with a BEIR folder"):
            rf.read_qrels(source, split="test")


@pytest.mark.parametrize("name", ["corpus", "queries"])
@pytest.mark.parametrize("suffix", ["jsonl", "jsonl.gz", "jsonl.zst", "tsv", "csv", "parquet"])
def test_texts_are_found_in_any_format(name: str, suffix: str, tmp_path: Path) -> None:
    write_texts = rf.write_corpus if name == "corpus" else rf.write_queries
    write_texts({"a": "one"}, tmp_path / f"{name}.{suffix}")
    assert tmp_path / f"{name}.{suffix}" == find_texts(tmp_path, name)
    read = rf.read_corpus if name == "corpus" else rf.read_queries
    scan = rf.scan_corpus if name == "corpus" else rf.scan_queries
    assert read(tmp_path).rows() == [("a", "one")]
    assert scan(tmp_path).collect().rows() == [("a", "one")]


@pytest.mark.parametrize("name", ["corpus", "queries"])
def test_texts_that_are_not_there_are_told_with_what_was_looked_for(name: str, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=rf"no {name}\.jsonl, nor \.tsv, \.csv, \.parquet, nor a folder"):
        find_texts(tmp_path, name)
