"""Tables in files: what each format makes of types, repeated names, broken ends."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

import rankframe as rf
from tests.cases.helpers import write

from .shared import KINDS, RUN, Kind, same, way


@pytest.mark.parametrize("kind", KINDS.values(), ids=way)
def test_csv_without_a_header_is_refused(kind: Kind, tmp_path: Path) -> None:
    """An empty file and one of values alone."""
    with pytest.raises(rf.DataError, match=r"file\.csv: the file is empty; a CSV file needs a header"):
        kind.read(write(tmp_path / "file.csv", ""))
    values = kind.plain.write_csv(include_header=False)
    with pytest.raises(rf.DataError, match=r"file\.csv: no column"):
        kind.read(write(tmp_path / "file.csv", values))


@pytest.mark.parametrize("kind", KINDS.values(), ids=way)
def test_csv_of_a_header_alone_has_no_rows(kind: Kind, tmp_path: Path) -> None:
    path = write(tmp_path / "file.csv", ",".join(kind.columns) + "\n")
    assert same(kind.frame(), kind.read(path))
    assert same(kind.frame(), kind.scan(path).collect())


@pytest.mark.parametrize("field", ["a,b", 'say "a"', "a\nb", "a\r\nb", " a ", "", "é", "#a", "'a'"], ids=repr)
def test_csv_quotes_hold_everything(field: str, tmp_path: Path) -> None:
    """Separators, quotes and line ends within quotes are text, in ids and in texts."""
    quoted = '"' + field.replace('"', '""') + '"'
    path = write(tmp_path / "queries.csv", f"query_id,text\n{quoted},{quoted}\n")
    assert [(field, field)] == rf.read_queries(path).rows()


@pytest.mark.parametrize("broken", ["q1,a,1.0\nq1,b", "q1,a,1.0\nq1", 'q1,a,1.0\nq1,"b'], ids=["two", "one", "quote"])
def test_csv_that_breaks_off_is_refused(broken: str, tmp_path: Path) -> None:
    with pytest.raises(rf.DataError, match=r"run\.csv"):
        rf.read_run(write(tmp_path / "run.csv", "query_id,doc_id,score\n" + broken))


def test_csv_rows_of_too_many_fields_are_refused(tmp_path: Path) -> None:
    with pytest.raises(rf.DataError, match=r"run\.csv"):
        rf.read_run(write(tmp_path / "run.csv", "query_id,doc_id,score\nq1,a,1.0\nq1,b,1.0,extra\n"))


def test_csv_rows_of_too_few_fields_are_refused_wherever_they_stand(tmp_path: Path) -> None:
    """A score that is not there is null, and refused as such."""
    with pytest.raises(rf.DataError, match=r"run\.csv"):
        rf.read_run(write(tmp_path / "run.csv", "query_id,doc_id,score\nq1,a\nq1,b,1.0\n"))


def test_csv_of_separate_lazy_columns(tmp_path: Path) -> None:
    """A scanned CSV file keeps ids as text under any of their names."""
    path = write(tmp_path / "run.csv", "qid,docno,score\n0042,007,1\n")
    assert rf.scan_run(path).collect().rows() == [("0042", "007", 1.0)]
    path = write(tmp_path / "run.csv", "topic,page,score\n0042,007,1\n")
    columns = {"topic": "query_id", "page": "doc_id"}
    assert rf.scan_run(path, columns=columns).collect().rows() == [("0042", "007", 1.0)]


@pytest.mark.parametrize("suffix", ["csv", "tsv"])
def test_a_name_twice_in_a_header_is_refused(suffix: str, tmp_path: Path) -> None:
    separator = "," if suffix == "csv" else "\t"
    content = "\n".join(
        [separator.join(["query_id", "doc_id", "doc_id", "score"]), separator.join(["q", "a", "b", "1"])]
    )
    for read in (rf.read_run, rf.scan_run):
        with pytest.raises(rf.DataError, match=r"'doc_id'.*twice"):
            read(write(tmp_path / f"run.{suffix}", content + "\n"))


@pytest.mark.parametrize("suffix", ["csv", "tsv", "jsonl", "parquet"])
def test_two_names_for_one_column_are_refused_until_one_is_chosen(suffix: str, tmp_path: Path) -> None:
    """`columns=` says which."""
    frame = RUN.plain.with_columns(docno=pl.Series(["x", "y"]))
    path = tmp_path / f"run.{suffix}"
    {
        "csv": lambda: frame.write_csv(path),
        "tsv": lambda: frame.write_csv(path, separator="\t"),
        "jsonl": lambda: frame.write_ndjson(path),
        "parquet": lambda: frame.write_parquet(path),
    }[suffix]()
    for source in (path, frame):
        with pytest.raises(rf.DataError, match="'doc_id' and 'docno' both name the column 'doc_id'"):
            rf.read_run(source)
        chosen = rf.read_run(source, columns={"docno": "doc_id", "doc_id": "other"})
        assert chosen.select(*RUN.columns, "other").rows() == [("q1", "x", 2.0, "a"), ("q2", "y", 1.0, "b")]
        kept = rf.read_run(source, columns={"doc_id": "doc_id"})
        assert kept["doc_id"].to_list() == ["a", "b"]


def test_every_key_of_any_line_is_a_column(tmp_path: Path) -> None:
    """JSON lines of different keys; what a line lacks is null."""
    lines = [{"_id": "a", "text": "one"}, {"_id": "b", "text": "two", "year": 1900}, {"text": "three", "_id": "c"}]
    path = write(tmp_path / "corpus.jsonl", "\n".join(map(json.dumps, lines)))
    assert rf.read_corpus(path).rows() == [("a", "one", None), ("b", "two", 1900), ("c", "three", None)]


@pytest.mark.parametrize("text", ["null", "1", "true", '["a"]', '{"a": 1}'])
def test_texts_of_other_json_types_are_text_or_refused(text: str, tmp_path: Path) -> None:
    """A text is text or null; nothing else is turned into it in silence among texts."""
    path = write(tmp_path / "corpus.jsonl", f'{{"_id": "a", "text": "one"}}\n{{"_id": "b", "text": {text}}}\n')
    if text == "null":
        assert rf.read_corpus(path)["text"].to_list() == ["one", None]
    elif text == "1":
        assert rf.read_corpus(path)["text"].to_list() == ["one", "1"]
    else:
        with pytest.raises(rf.DataError, match="text"):
            rf.read_corpus(path)


@pytest.mark.parametrize("escape", ["\\ud800", "\\udc00", "\\ud83d\\ud83d"], ids=str)
@pytest.mark.parametrize("place", ["_id", "text"])
def test_half_a_surrogate_pair_in_json_lines_is_refused(place: str, escape: str, tmp_path: Path) -> None:
    """An escape that is no character is an error, never a replacement."""
    record = {"_id": "a", "text": "one"} | {place: "ESCAPE"}
    path = write(tmp_path / "corpus.jsonl", json.dumps(record).replace("ESCAPE", escape) + "\n")
    with pytest.raises(rf.DataError, match=place.lstrip("_")):
        rf.read_corpus(path)


def test_whole_pairs_of_escapes_are_characters(tmp_path: Path) -> None:
    path = write(tmp_path / "corpus.jsonl", '{"_id": "\\ud83e\\udd8a", "text": "\\u00e9\\u0000"}\n')
    assert rf.read_corpus(path).rows() == [("🦊", "é\x00")]


def test_damaged_parquet_is_refused_by_name(tmp_path: Path) -> None:
    """Pages that do not unpack, behind a footer that is whole."""
    path = tmp_path / "run.parquet"
    docs = [f"d{place * 7919 % 1000}" for place in range(1000)]
    pl.DataFrame({"query_id": "q", "doc_id": docs, "score": 1.0}).write_parquet(path, statistics=False)
    content = bytearray(path.read_bytes())
    content[8:600] = bytes(byte ^ 0x5A for byte in content[8:600])
    path.write_bytes(content)
    with pytest.raises(rf.DataError, match=r"run\.parquet"):
        rf.read_run(path)
    with pytest.raises(rf.DataError, match=r"run\.parquet"):
        rf.evaluate(path, {"q": {"d1": 1}})


@pytest.mark.parametrize("rows", [0, 1, 5])
def test_a_folder_of_parquet_is_one_run(rows: int, tmp_path: Path) -> None:
    """Shards in any depth, by name, with the columns that folders name; other files do not matter."""
    for shard in range(3):
        at = tmp_path / "run" / f"part={shard}" / f"{shard}.parquet"
        at.parent.mkdir(parents=True)
        ids = [f"d{shard}{place}" for place in range(rows)]
        pl.DataFrame(
            {"query_id": ["q"] * rows, "doc_id": ids, "score": [1.0] * rows}, schema=RUN.frame().schema
        ).write_parquet(at)
    write(tmp_path / "run" / "_SUCCESS", "")
    read = rf.read_run(tmp_path / "run")
    assert [*RUN.columns, "part"] == read.columns
    assert [str(shard) for shard in range(3) for _ in range(rows)] == read["part"].to_list()
    assert [f"d{shard}{place}" for shard in range(3) for place in range(rows)] == read["doc_id"].to_list()
    assert same(read, rf.scan_run(tmp_path / "run").collect())


SHARDS = {
    "a dtype": pl.DataFrame({"query_id": ["q"], "doc_id": ["b"], "score": [1]}),
    "ids": pl.DataFrame({"query_id": [1], "doc_id": ["b"], "score": [1.0]}),
    "a name": pl.DataFrame({"query_id": ["q"], "docno": ["b"], "score": [1.0]}),
    "a further column": pl.DataFrame({"query_id": ["q"], "doc_id": ["b"], "score": [1.0], "note": ["x"]}),
    "a missing column": pl.DataFrame({"query_id": ["q"], "doc_id": ["b"]}),
}


@pytest.mark.parametrize("how", SHARDS)
def test_shards_that_differ_are_read_or_refused_by_name(how: str, tmp_path: Path) -> None:
    """Never with an error of Polars."""
    RUN.frame(("q", "a", 2.0)).write_parquet(tmp_path / "0.parquet")
    SHARDS[how].write_parquet(tmp_path / "1.parquet")
    for use in (rf.read_run, lambda folder: rf.evaluate(folder, {"q": {"a": 1}})):
        refused = str(tmp_path)
        try:
            use(tmp_path)
        except rf.DataError as error:
            refused = str(error)
        assert str(tmp_path) in refused


def test_a_folder_without_parquet_is_refused(tmp_path: Path) -> None:
    with pytest.raises(rf.DataError, match=tmp_path.name):
        rf.read_run(tmp_path)
    with pytest.raises(rf.DataError, match=tmp_path.name):
        rf.scan_run(tmp_path)
