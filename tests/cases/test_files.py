"""Files as they are met: without a header, with odd line ends, compressed, cut short, and very long."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import rankframe as rf

from .helpers import Row, nested, packed, scored, triples, write

Reader = Callable[..., pl.DataFrame]

RUN = [("q1", "d1", 2.0), ("q1", "d2", 1.0), ("q2", "d1", 0.5)]
QRELS = [("q1", "d1", 1.0), ("q1", "d2", 0.0), ("q2", "d1", 2.0)]
QUERIES = [("q1", "red kite"), ("q2", "blue heron")]
CORPUS = [("d1", "A red kite.", "Kites"), ("d2", "A heron.", "Herons")]


def _lines(rows: list[Any], form: str, header: str | None = None) -> str:
    made = [form.format(*row) for row in rows]
    return "".join(f"{line}\n" for line in ([header] if header else []) + made)


def _jsonl(rows: list[Any], *names: str) -> str:
    return "".join(json.dumps(dict(zip(names, row, strict=True))) + "\n" for row in rows)


def _json(rows: list[Any], *names: str) -> str:
    return json.dumps([dict(zip(names, row, strict=True)) for row in rows], indent=1)


TEXTS: dict[str, tuple[Reader, str, str, list[Any]]] = {
    "run, trec": (rf.read_run, "run.trec", _lines(RUN, "{0} Q0 {1} 1 {2} tag"), RUN),
    "run, trec of many blanks": (
        rf.read_run,
        "run.txt",
        _lines(RUN, "{0}  Q0 \t {1} 1 {2}   tag").replace("\t", " "),
        RUN,
    ),
    "run, trec of tabs": (rf.read_run, "run.txt", _lines(RUN, "{0}\tQ0\t{1}\t1\t{2}\ttag"), RUN),
    "run, trec of five": (rf.read_run, "run.txt", _lines(RUN, "{0} Q0 {1} 1 {2}"), RUN),
    "run, trec of seven": (rf.read_run, "run.txt", _lines(RUN, "{0} Q0 {1} 1 {2} my tag"), RUN),
    "run, tsv": (rf.read_run, "run.tsv", _lines(RUN, "{0}\t{1}\t{2}", "query_id\tdoc_id\tscore"), RUN),
    "run, csv": (rf.read_run, "run.csv", _lines(RUN, "{0},{1},{2}", "query_id,doc_id,score"), RUN),
    "run, jsonl": (rf.read_run, "run.jsonl", _jsonl(RUN, "query_id", "doc_id", "score"), RUN),
    "run, json": (rf.read_run, "run.json", json.dumps(nested(RUN), indent=1), RUN),
    "run, json of records": (rf.read_run, "run.json", _json(RUN, "query_id", "doc_id", "score"), RUN),
    "qrels, trec": (rf.read_qrels, "qrels.txt", _lines(QRELS, "{0} 0 {1} {2:g}"), QRELS),
    "qrels, trec of tabs": (rf.read_qrels, "qrels.tsv", _lines(QRELS, "{0}\t0\t{1}\t{2:g}"), QRELS),
    "qrels, beir": (
        rf.read_qrels,
        "test.tsv",
        _lines(QRELS, "{0}\t{1}\t{2:g}", "query-id\tcorpus-id\tscore"),
        QRELS,
    ),
    "qrels, three columns": (rf.read_qrels, "test.tsv", _lines(QRELS, "{0}\t{1}\t{2:g}"), QRELS),
    "qrels, csv": (
        rf.read_qrels,
        "qrels.csv",
        _lines(QRELS, "{0},{1},{2:g}", "query_id,doc_id,relevance"),
        QRELS,
    ),
    "qrels, jsonl": (rf.read_qrels, "qrels.jsonl", _jsonl(QRELS, "query-id", "corpus-id", "score"), QRELS),
    "qrels, json": (rf.read_qrels, "qrels.json", json.dumps(nested(QRELS), indent=1), QRELS),
    "queries, jsonl": (rf.read_queries, "queries.jsonl", _jsonl(QUERIES, "_id", "text"), QUERIES),
    "queries, tsv": (rf.read_queries, "queries.tsv", _lines(QUERIES, "{0}\t{1}"), QUERIES),
    "queries, tsv with header": (
        rf.read_queries,
        "queries.tsv",
        _lines(QUERIES, "{0}\t{1}", "query_id\ttext"),
        QUERIES,
    ),
    "queries, csv": (rf.read_queries, "queries.csv", _lines(QUERIES, "{0},{1}", "query_id,text"), QUERIES),
    "queries, json": (rf.read_queries, "queries.json", json.dumps(dict(QUERIES)), QUERIES),
    "corpus, jsonl": (rf.read_corpus, "corpus.jsonl", _jsonl(CORPUS, "_id", "text", "title"), CORPUS),
    "corpus, tsv": (
        rf.read_corpus,
        "corpus.tsv",
        _lines(CORPUS, "{0}\t{1}\t{2}", "doc_id\ttext\ttitle"),
        CORPUS,
    ),
    "corpus, csv": (rf.read_corpus, "corpus.csv", _lines(CORPUS, "{0},{1},{2}", "doc_id,text,title"), CORPUS),
    "corpus, json": (rf.read_corpus, "corpus.json", _json(CORPUS, "_id", "text", "title"), CORPUS),
}
EVERY = pytest.mark.parametrize("kind", TEXTS)


def _read(kind: str, path: Path, content: bytes | None = None, **options: Any) -> list[Row]:
    reader, name, text, _ = TEXTS[kind]
    path = path / name if path.is_dir() else path
    frame = reader(write(path, text if content is None else content), **options)
    columns = [c for c in frame.columns if c not in ("rank", "tag")]
    assert len(columns) == (2 if "queries" in kind else 3), frame.columns
    return frame.select(columns).rows()


@EVERY
def test_files_of_every_format_are_read(kind: str, tmp_path: Path) -> None:
    """What the other tests of this module start from."""
    assert _read(kind, tmp_path) == TEXTS[kind][3]


# Headers and columns.


def test_qrels_without_header(tmp_path: Path) -> None:
    """A third field that is a number is a judgment: no line is lost."""
    path = write(tmp_path / "qrels/test.tsv", "q1\td1\t1\nq1\td2\t0\nq2\td3\t2\n")
    rows = [("q1", "d1", 1.0), ("q1", "d2", 0.0), ("q2", "d3", 2.0)]
    assert rf.read_qrels(path).rows() == rows
    assert rf.read_qrels(tmp_path).rows() == rows
    write(tmp_path / "corpus.jsonl", '{"_id": "d1", "text": "t"}\n')
    write(tmp_path / "queries.jsonl", '{"_id": "q1", "text": "t"}\n')
    assert rf.read_beir(tmp_path).qrels.rows() == rows


@pytest.mark.parametrize("row", ["q1\td1\t1", "1\t2\t3", "q1\td1\t1.0", "q1\td1\t-1", "q1\td1\t1e0", "q1\td1\t 1 "])
def test_qrels_without_header_of_one_line(row: str, tmp_path: Path) -> None:
    """One line is one judgment, with whatever the grade looks like, between tabs or blanks."""
    query, doc, grade = (field.strip() for field in row.split("\t"))
    for text in (row + "\n", row, row.replace("\t", " ") + "\n"):
        assert rf.read_qrels(write(tmp_path / "qrels.tsv", text)).rows() == [(query, doc, float(grade))]


@pytest.mark.parametrize(
    "header",
    [
        "query-id\tcorpus-id\tscore",
        "query_id\tdoc_id\trelevance",
        "qid\tdocno\tlabel",
        "query\tdoc\trel",
        "qid\tid\tscore",
    ],
)
def test_qrels_with_header(header: str, tmp_path: Path) -> None:
    """A first line of names is the header, under any alias; alone it leaves no judgment."""
    assert rf.read_qrels(write(tmp_path / "qrels.tsv", header + "\nq1\td1\t1\n")).rows() == [("q1", "d1", 1.0)]
    assert rf.read_qrels(write(tmp_path / "empty.tsv", header + "\n")).rows() == []


def test_qrels_with_columns_in_another_order(tmp_path: Path) -> None:
    """A header names the columns, wherever they stand, and further ones are metadata."""
    path = write(tmp_path / "qrels.tsv", "score\tcorpus-id\tnote\tquery-id\n2\td1\tgood\tq1\n")
    assert rf.read_qrels(path).to_dicts() == [{"query_id": "q1", "doc_id": "d1", "relevance": 2.0, "note": "good"}]


@pytest.mark.parametrize("name", ["qrels.tsv", "qrels.csv", "qrels.txt"])
def test_qrels_with_a_column_name_twice(name: str, tmp_path: Path) -> None:
    """Which of two columns of one name is meant nobody knows: refused by file and name, not chosen."""
    separator = "," if name.endswith("csv") else "\t"
    rows = (["query_id", "doc_id", "relevance", "relevance"], ["q1", "d1", "1", "0"])
    path = write(tmp_path / name, "".join(separator.join(row) + "\n" for row in rows))
    with pytest.raises(rf.DataError, match=rf"{name}.*relevance"):
        rf.read_qrels(path)


def test_qrels_with_a_first_line_that_is_neither(tmp_path: Path) -> None:
    """A first line that is no header and no judgment is refused; it is not skipped."""
    with pytest.raises(rf.DataError, match=r"qrels\.tsv.*(query_id|line 1)"):
        rf.read_qrels(write(tmp_path / "qrels.tsv", "q1\td1\tgood\nq1\td2\t0\n"))


def test_qrels_with_a_header_inside(tmp_path: Path) -> None:
    """A second header, as of concatenated files, is a malformed line, with its number."""
    text = "query-id\tcorpus-id\tscore\nq1\td1\t1\nquery-id\tcorpus-id\tscore\nq2\td1\t1\n"
    with pytest.raises(rf.DataError, match=r"qrels\.tsv.*line 3"):
        rf.read_qrels(write(tmp_path / "qrels.tsv", text))
    with pytest.raises(rf.DataError, match=r"run\.txt.*line 2.*no number"):
        rf.read_run(write(tmp_path / "run.txt", "q1 Q0 d1 1 1.0 t\nquery_id Q0 doc_id rank score tag\n"))


def test_qrels_four_columns_tsv(tmp_path: Path) -> None:
    """Four columns are TREC, tabs or not: the second is not the document."""
    path = write(tmp_path / "qrels.dev.tsv", "101\t0\t9001\t1\n102\t0\t9002\t1\n")
    qrels = rf.read_qrels(path)
    assert qrels.rows() == [("101", "9001", 1.0), ("102", "9002", 1.0)]
    assert scored({"101": {"9001": 1.0}, "102": {"9002": 1.0}}, path, "mrr@10") == {"mrr@10": 1.0}


@pytest.mark.parametrize("name", ["qrels.tsv", "qrels.txt", "qrels.dev.small", "2019qrels-pass.txt", "qrels"])
@pytest.mark.parametrize("separator", ["\t", " ", "   "], ids=["tab", "blank", "blanks"])
def test_qrels_four_columns_of_any_name(name: str, separator: str, tmp_path: Path) -> None:
    """Neither suffix nor separator decides; on request the second column is kept."""
    path = write(tmp_path / name, separator.join(["101", "Q0", "9001", "2"]) + "\n")
    assert rf.read_qrels(path).rows() == [("101", "9001", 2.0)]
    assert rf.read_qrels(path, iteration=True)["iteration"].to_list() == ["Q0"]


def test_run_with_header(tmp_path: Path) -> None:
    """A run may have a header as its first line; it is no result."""
    text = "query_id Q0 doc_id rank score tag\nq1 Q0 d1 1 2.0 t\n"
    assert triples(rf.read_run(write(tmp_path / "run.trec", text))) == [("q1", "d1", 2.0)]


def test_run_with_comments(tmp_path: Path) -> None:
    """A line that begins with `# ` is a comment, before, between and after results."""
    text = "# made by hand\nq1 Q0 d1 1 2.0 t\n# more\nq1 Q0 #d2 2 1.0 t # no comment\n#\n"
    run = rf.read_run(write(tmp_path / "run.trec", text))
    assert triples(run) == [("q1", "d1", 2.0), ("q1", "#d2", 1.0)]
    assert run["tag"].to_list() == ["t", "t # no comment"]


@pytest.mark.parametrize("line", ["q1 Q0 d1", "q1 Q0 d1 1", "q1 Q0 d1 1 high t", "q1", "q1 Q0 d1 first 1.0 t"])
def test_run_with_malformed_lines(line: str, tmp_path: Path) -> None:
    """A line that is no result is refused with its number and content, or left out and counted on request."""
    path = write(tmp_path / "run.trec", f"q1 Q0 d0 1 3.0 t\n\n{line}\nq1 Q0 d2 3 1.0 t\n")
    with pytest.raises(rf.DataError, match=rf'run\.trec: 1 malformed line: line 3 .*{line}.*invalid="drop"'):
        rf.read_run(path)
    with pytest.warns(rf.RankframeWarning, match="line 3"):
        assert triples(rf.read_run(path, invalid="drop")) == [("q1", "d0", 3.0), ("q1", "d2", 1.0)]


@pytest.mark.parametrize("line", ["q1 0 d1", "q1 0 d1 1 extra", "q1 0 d1 good", "q1"])
def test_qrels_with_malformed_lines(line: str, tmp_path: Path) -> None:
    """The same for judgments: too few fields, too many, or a grade that is no number."""
    path = write(tmp_path / "qrels.txt", f"q1 0 d0 1\n{line}\nq1 0 d2 0\n")
    with pytest.raises(rf.DataError, match=rf'qrels\.txt: 1 malformed line: line 2 .*{line}.*invalid="drop"'):
        rf.read_qrels(path)
    with pytest.warns(rf.RankframeWarning, match="line 2"):
        assert rf.read_qrels(path, invalid="drop").rows() == [("q1", "d0", 1.0), ("q1", "d2", 0.0)]


# Line ends, marks, and the last line.


def test_file_with_crlf(tmp_path: Path) -> None:
    """A carriage return is part of the line end: of no grade, tag, id or text, and no record of its own."""
    qrels = rf.read_qrels(write(tmp_path / "qrels.txt", "q1 0 d1 1\r\nq1 0 d2 0\r\n"))
    assert qrels["doc_id"].to_list() == ["d1", "d2"]
    assert qrels["relevance"].to_list() == [1.0, 0.0]
    beir = rf.read_qrels(write(tmp_path / "qrels.tsv", "query-id\tcorpus-id\tscore\r\nq1\td1\t1\r\n"))
    assert beir.rows() == [("q1", "d1", 1.0)]
    run = rf.read_run(write(tmp_path / "run.txt", "q1 Q0 d1 1 2.0 tag\r\n"))
    assert triples(run) == [("q1", "d1", 2.0)]
    assert run["tag"].to_list() == ["tag"]
    queries = rf.read_queries(write(tmp_path / "queries.jsonl", '{"_id":"q1","text":"red"}\r\n'))
    assert queries.rows() == [("q1", "red")]


CHANGES: dict[str, Callable[[str], str]] = {
    "crlf": lambda text: text.replace("\n", "\r\n"),
    "crlf without the last": lambda text: text.replace("\n", "\r\n").removesuffix("\r\n"),
    "crlf in the first line only": lambda text: text.replace("\n", "\r\n", 1),
    "crlf but in the first line": lambda text: text.replace("\n", "\r\n").replace("\r\n", "\n", 1),
    "no line end at the end": lambda text: text.removesuffix("\n"),
    "empty lines at the end": lambda text: text + "\n\n",
    "crlf and empty lines at the end": lambda text: text.replace("\n", "\r\n") + "\r\n\r\n",
    "byte-order mark": lambda text: "\ufeff" + text,
    "byte-order mark and crlf": lambda text: "\ufeff" + text.replace("\n", "\r\n"),
}


@EVERY
@pytest.mark.parametrize("change", CHANGES)
def test_file_with_other_line_ends(change: str, kind: str, tmp_path: Path) -> None:
    """Windows line ends, all or some, none at the end, empty lines behind, a mark before: the same rows."""
    content = CHANGES[change](TEXTS[kind][2]).encode()
    assert _read(kind, tmp_path, content) == TEXTS[kind][3]


@pytest.mark.parametrize("text", ["q1 Q0 d1 1 2.0 tag\r\n", "q1\tQ0\td1\t1\t2.0\ttag\r\n", "q1 Q0 d1 1 2.0 my tag\r\n"])
def test_file_with_crlf_keeps_the_tag_clean(text: str, tmp_path: Path) -> None:
    """No tag ends in a carriage return, on the fast way or the careful one."""
    tag = rf.read_run(write(tmp_path / "run.txt", text))["tag"].item()
    assert tag == ("my tag" if "my" in text else "tag")


def test_file_with_crlf_and_metadata(tmp_path: Path) -> None:
    """Nor does the last column of a table, or its name."""
    for name, text in {
        "run.csv": "query_id,doc_id,score,source\r\nq1,d1,1,web\r\n",
        "run.tsv": "query_id\tdoc_id\tscore\tsource\r\nq1\td1\t1\tweb\r\n",
    }.items():
        assert rf.read_run(write(tmp_path / name, text)).to_dicts() == [
            {"query_id": "q1", "doc_id": "d1", "score": 1.0, "source": "web"}
        ]


# Compression.


@EVERY
@pytest.mark.parametrize("how", ["gzip", "zstd"])
@pytest.mark.parametrize("suffix", ["suffix", "no suffix"])
def test_compressed_files(suffix: str, how: str, kind: str, tmp_path: Path) -> None:
    """gzip and zstd are known by their first bytes, whether the name says so or not."""
    _, name, text, rows = TEXTS[kind]
    path = tmp_path / (name + {"gzip": ".gz", "zstd": ".zst"}[how] if suffix == "suffix" else name)
    assert _read(kind, path, packed(text, how)) == rows


@EVERY
@pytest.mark.parametrize("how", ["gzip", "zstd"])
def test_compressed_files_in_several_parts(how: str, kind: str, tmp_path: Path) -> None:
    """Files that were compressed one by one and concatenated are read to the end."""
    _, _, text, rows = TEXTS[kind]
    middle = text.index("\n") + 1 if "\n" in text else len(text) // 2
    content = packed(text[:middle], how) + packed(text[middle:], how)
    assert _read(kind, tmp_path, content) == rows


@EVERY
@pytest.mark.parametrize("how", ["gzip", "zstd"])
def test_compressed_files_that_are_cut_short(how: str, kind: str, tmp_path: Path) -> None:
    """A compressed file whose end is missing is refused by name: there was more than can be unpacked."""
    reader, name, text, _ = TEXTS[kind]
    content = packed(text, how)
    with pytest.raises(rf.DataError, match=name.replace(".", r"\.")):
        reader(write(tmp_path / name, content[: len(content) - 9]))


@pytest.mark.parametrize(("magic", "said"), [(b"BZh91AY", "bzip2"), (b"\xfd7zXZ\x00", "xz"), (b"PK\x03\x04..", "zip")])
def test_compressed_files_of_other_kinds_are_refused(magic: bytes, said: str, tmp_path: Path) -> None:
    """The error says what it is and what is read."""
    for reader in (rf.read_run, rf.read_qrels, rf.read_queries, rf.read_corpus):
        with pytest.raises(rf.DataError, match=f"{said} is not read.*gzip"):
            reader(write(tmp_path / "run.txt", magic + b"..."))


def test_a_file_of_arrow_ipc_is_a_frame_for_polars(tmp_path: Path) -> None:
    run = pl.DataFrame({"query_id": ["q"], "doc_id": ["d"], "score": [1.0]})
    run.write_ipc(tmp_path / "run.arrow")
    with pytest.raises(rf.DataError, match=r"run\.arrow: Arrow IPC \(Feather\) .*pl\.scan_ipc\(path\)"):
        rf.read_run(tmp_path / "run.arrow")
    assert rf.evaluate(pl.scan_ipc(tmp_path / "run.arrow"), {"q": {"d": 1}}, metrics="mrr").value("mrr") == 1.0


# Cut short, damaged, late.


def test_jsonl_truncated_last_line(tmp_path: Path) -> None:
    """A download that broke off is refused by file and line; on request its whole records are read."""
    path = write(tmp_path / "corpus.jsonl", '{"_id": "d1", "text": "ok"}\n{"_id": "d2", "te')
    with pytest.raises(rf.DataError, match=r'corpus\.jsonl: 1 line .*line 2 .*broken.*invalid="drop"'):
        rf.read_corpus(path)
    with pytest.warns(rf.RankframeWarning, match=r"corpus\.jsonl.*: 1, such as 'line 2'"):
        assert rf.read_corpus(path, invalid="drop").rows() == [("d1", "ok")]


@pytest.mark.parametrize("how", ["plain", "gzip", "zstd"])
@pytest.mark.parametrize("kind", [kind for kind in TEXTS if "jsonl" in kind])
def test_jsonl_truncated_in_any_place(kind: str, how: str, tmp_path: Path) -> None:
    """Wherever the last record breaks off, in every reader: refused with its line."""
    reader, name, text, rows = TEXTS[kind]
    first = text.rstrip("\n").rindex("\n") + 1
    for end in range(first + 1, len(text) - 1):
        with pytest.raises(rf.DataError, match=rf"{name}.*line {len(rows)} "):
            reader(write(tmp_path / name, packed(text[:end], how)))


@pytest.mark.parametrize("line", ["[]", "5", "null", '"text"', "{", "{} {}", '{"_id": "d9"} x', "nonsense"])
def test_jsonl_with_a_line_that_is_no_object(line: str, tmp_path: Path) -> None:
    """In the first, a middle or the last line; with Windows line ends the same."""
    records = ['{"_id": "d1", "text": "ok"}', '{"_id": "d2", "text": "ok"}']
    for place in range(3):
        for end in ("\n", "\r\n"):
            lines = [*records[:place], line, *records[place:]]
            path = write(tmp_path / "corpus.jsonl", "".join(text + end for text in lines))
            with pytest.raises(rf.DataError, match=rf"corpus\.jsonl: 1 line .*line {place + 1} "):
                rf.read_corpus(path)
            with pytest.warns(rf.RankframeWarning, match=f"line {place + 1}"):
                assert rf.read_corpus(path, invalid="drop")["doc_id"].to_list() == ["d1", "d2"]


def test_jsonl_with_a_name_twice_in_an_object(tmp_path: Path) -> None:
    """Which of two ids is meant nobody knows: refused with the line, not chosen."""
    path = write(tmp_path / "corpus.jsonl", '{"_id": "d1", "text": "a"}\n{"_id": "d2", "text": "b", "_id": "d3"}\n')
    with pytest.raises(rf.DataError, match=r"line 2.*_id"):
        rf.read_corpus(path)


@pytest.mark.parametrize(
    "content", ['{"_id": "d1"}\n', '{"text": "a"}\n', '{"_id": "d1", "text": "a"}\n{"text": "b"}\n']
)
def test_jsonl_without_an_id_or_text(content: str, tmp_path: Path) -> None:
    """A file without either, or a record without an id, is refused: what is missing is named."""
    with pytest.raises(rf.DataError, match=r"corpus\.jsonl.*(doc_id|text)"):
        rf.read_corpus(write(tmp_path / "corpus.jsonl", content))


def test_json_that_breaks_off(tmp_path: Path) -> None:
    """A JSON file is refused with the line and column where it stops making sense."""
    for reader in (rf.read_run, rf.read_qrels, rf.read_queries, rf.read_corpus):
        with pytest.raises(rf.DataError, match=r"run\.json: line 2"):
            reader(write(tmp_path / "run.json", '{"q1": {"d1": 1.0},\n "q2": {"d'))


@pytest.mark.parametrize("kind", [kind for kind in TEXTS if "json" not in kind])
def test_text_that_breaks_off(kind: str, tmp_path: Path) -> None:
    """A last line that lacks its numbers or text is refused in every text format."""
    reader, name, text, _ = TEXTS[kind]
    last = text.rstrip("\n").rindex("\n") + 1
    content = text[: last + 2]
    with pytest.raises(rf.DataError, match=name.replace(".", r"\.")):
        reader(write(tmp_path / name, content))


def test_parquet_that_breaks_off(tmp_path: Path) -> None:
    """A Parquet file without its end is refused by name; so is text with that suffix, and an empty file."""
    pl.DataFrame({"query_id": ["q1"], "doc_id": ["d1"], "score": [1.0]}).write_parquet(tmp_path / "whole.parquet")
    content = (tmp_path / "whole.parquet").read_bytes()
    for broken in (content[:-20], b"q1 Q0 d1 1 1.0 t\n", b""):
        with pytest.raises(rf.DataError, match=r"run\.parquet"):
            rf.read_run(write(tmp_path / "run.parquet", broken))


@EVERY
def test_text_that_is_not_utf_8(kind: str, tmp_path: Path) -> None:
    """Another encoding is refused with the line, not read with replacement characters."""
    reader, name, text, _ = TEXTS[kind]
    at = text.rindex("d" if "queries" not in kind else "b")
    content = text[:at].encode() + b"\xe9" + text[at:].encode()
    with pytest.raises(rf.DataError, match=rf"{name}.*line {text.count(chr(10), 0, at) + 1} is not UTF-8"):
        reader(write(tmp_path / name, content))


def test_jsonl_late_key(tmp_path: Path) -> None:
    """A key that first comes on line 151 is a column."""
    lines = [json.dumps({"_id": f"d{i}", "text": "t"}) for i in range(150)]
    lines.append('{"_id": "d150", "text": "t", "title": "Late title"}')
    corpus = rf.read_corpus(write(tmp_path / "corpus.jsonl", "\n".join(lines) + "\n"))
    assert corpus.height == 151
    assert corpus.filter(doc_id="d150")["title"].item() == "Late title"
    assert corpus["title"].null_count() == 150


@pytest.mark.parametrize(
    ("reader", "record"),
    [
        (rf.read_run, {"query_id": "q", "doc_id": "d", "score": 1.0}),
        (rf.read_qrels, {"query-id": "q", "corpus-id": "d", "score": 1}),
        (rf.read_queries, {"_id": "q", "text": "t"}),
        (rf.read_corpus, {"_id": "d", "text": "t"}),
    ],
    ids=["run", "qrels", "queries", "corpus"],
)
@pytest.mark.parametrize("how", ["plain", "gzip", "zstd"])
def test_jsonl_late_key_in_every_reader(reader: Reader, record: dict[str, Any], how: str, tmp_path: Path) -> None:
    """Of any type, behind any number of lines; what was not there before is null."""
    key = next(name for name in ("doc_id", "corpus-id", "_id") if name in record)
    records = [{**record, key: f"{i:05d}"} for i in range(3000)]
    records.append({**record, key: "03000", "language": "en", "tags": ["a"], "made": {"by": "x"}, "length": 1.5})
    text = "".join(json.dumps(item) + "\n" for item in records)
    frame = reader(write(tmp_path / "file.jsonl", packed(text, how)))
    assert frame.height == 3001
    last = frame.row(-1, named=True)
    assert (last["language"], last["tags"], last["made"], last["length"]) == ("en", ["a"], {"by": "x"}, 1.5)
    assert frame["language"].null_count() == 3000


@pytest.mark.parametrize("late", [0.5, 3_000_000_000, -1.5], ids=str)
def test_jsonl_late_type(late: float, tmp_path: Path) -> None:
    """A number that turns from small whole ones to another kind late is read as it stands."""
    lines = "".join(json.dumps({"query_id": "q", "doc_id": f"d{i}", "score": i % 2}) + "\n" for i in range(500))
    path = write(tmp_path / "run.jsonl", lines + json.dumps({"query_id": "q", "doc_id": "x", "score": late}) + "\n")
    run = rf.read_run(path)
    assert run["score"].to_list()[-2:] == [1.0, float(late)]


def test_jsonl_late_text_among_metadata(tmp_path: Path) -> None:
    """Metadata that turns from numbers to text late costs no record and no value."""
    lines = "".join(json.dumps({"_id": f"d{i}", "text": "t", "year": 1900 + i}) + "\n" for i in range(120))
    corpus = rf.read_corpus(write(tmp_path / "corpus.jsonl", lines + '{"_id": "x", "text": "t", "year": "c. 1850"}\n'))
    assert corpus.height == 121
    assert corpus["year"].to_list()[-2:] == ["2019", "c. 1850"]


def test_csv_late_type(tmp_path: Path) -> None:
    """In CSV too: neither a late fraction nor late text is lost."""
    lines = "".join(f"q,d{i},{i % 2},{i}\n" for i in range(3000))
    path = write(tmp_path / "run.csv", "query_id,doc_id,score,note\n" + lines + "q,x,0.25,late\n")
    run = rf.read_run(path)
    assert run.height == 3001
    assert run.row(-1) == ("q", "x", 0.25, "late")


# Long lines.


def test_very_long_line(tmp_path: Path) -> None:
    """A document of 2 MB and a query of 200,000 characters are records like any other."""
    content = '{"_id": "big", "text": "' + "ab " * 700_000 + '"}\n{"_id": "d2", "text": "t"}\n'
    corpus = rf.read_corpus(write(tmp_path / "corpus.jsonl", content))
    assert corpus.select("doc_id", pl.col("text").str.len_chars()).rows() == [("big", 2_100_000), ("d2", 1)]
    queries = rf.read_queries(write(tmp_path / "queries.tsv", "q1\t" + "x" * 200_000 + "\n"))
    assert queries.select("query_id", pl.col("text").str.len_chars()).rows() == [("q1", 200_000)]


@pytest.mark.parametrize("how", ["plain", "gzip", "zstd"])
@pytest.mark.parametrize(
    ("name", "form"),
    [
        ("file.tsv", "a\t{0}\n{1}\tt\n"),
        ("file.csv", "_id,text\na,{0}\n{1},t\n"),
        ("file.csv", '_id,text\na,"{0}"\n{1},t\n'),
        ("file.jsonl", '{{"_id": "a", "text": "{0}"}}\n{{"_id": "{1}", "text": "t"}}\n'),
        ("file.json", '{{"a": "{0}", "{1}": "t"}}'),
    ],
    ids=["tsv", "csv", "quoted csv", "jsonl", "json"],
)
def test_very_long_line_in_every_format(name: str, form: str, how: str, tmp_path: Path) -> None:
    """Texts and ids beyond 131,072 and beyond a million characters, in every format and both readers."""
    text, key = "w" * 1_500_000, "k" * 150_000
    path = write(tmp_path / name, packed(form.format(text, key), how))
    assert rf.read_queries(path).rows() == [("a", text), (key, "t")]
    assert rf.read_corpus(path).rows() == [("a", text), (key, "t")]


@pytest.mark.parametrize("how", ["plain", "gzip", "zstd"])
def test_very_long_line_of_trec_text(how: str, tmp_path: Path) -> None:
    """Of runs and judgments as well, on the fast way and the careful one."""
    key = "k" * 1_500_000
    for tag in ("t", "my tag"):
        run = write(tmp_path / "run.txt", packed(f"q1 Q0 a 1 2.0 {tag}\nq1 Q0 {key} 2 1.0 {tag}\n", how))
        assert triples(rf.read_run(run)) == [("q1", "a", 2.0), ("q1", key, 1.0)]
    qrels = write(tmp_path / "qrels.txt", packed(f"q1 0 a 0\nq1 0 {key} 1\n", how))
    assert rf.read_qrels(qrels).rows() == [("q1", "a", 0.0), ("q1", key, 1.0)]


# Numbers as they are written.


def test_grade_written_as_float(tmp_path: Path) -> None:
    """1.0, 2.0 and 0.0 are the grades 1, 2 and 0."""
    path = write(tmp_path / "qrels.tsv", "query-id\tcorpus-id\tscore\nq1\td1\t1.0\nq1\td2\t2.0\nq1\td3\t0.0\n")
    assert rf.read_qrels(path)["relevance"].to_list() == [1.0, 2.0, 0.0]
    run = {"q1": {"d1": 3.0, "d2": 2.0, "d3": 1.0}}
    right = {"ndcg@3": 0.8597186999, "recall@3": 1.0}
    assert scored(run, path, *right) == pytest.approx(right, abs=1e-9)


@pytest.mark.parametrize("written", ["1", "1.0", "1.", "+1", "1e0", "1E0", "01", "1.000000", "10e-1"])
@pytest.mark.parametrize("where", ["first line", "later"])
def test_grade_and_score_written_in_any_way(written: str, where: str, tmp_path: Path) -> None:
    """A number is its value in every text format, on the first line as on others."""
    before = [] if where == "first line" else ["9"]
    for name, form in {
        "qrels.txt": "q 0 d{0} {1}",
        "qrels.tsv": "q\td{0}\t{1}",
        "four.tsv": "q\t0\td{0}\t{1}",
    }.items():
        text = "".join(form.format(i, number) + "\n" for i, number in enumerate([*before, written]))
        assert rf.read_qrels(write(tmp_path / name, text))["relevance"].to_list()[-1] == 1.0
    for name, form in {"run.txt": "q Q0 d{0} 1 {1} t", "slow.txt": "q Q0 d{0} 1 {1} my tag"}.items():
        text = "".join(form.format(i, number) + "\n" for i, number in enumerate([*before, written]))
        assert rf.read_run(write(tmp_path / name, text))["score"].to_list()[-1] == 1.0
    path = write(tmp_path / "qrels.csv", f"query_id,doc_id,relevance\nq,d,{written}\n")
    assert rf.read_qrels(path)["relevance"].to_list() == [1.0]


@pytest.mark.parametrize("written", ["1,5", "0x10", "1_000", "one", "1 000", "--1", "1.0.0", "1e", "\u0661", "1%"])
def test_grade_and_score_that_are_no_numbers(written: str, tmp_path: Path) -> None:
    """What only looks like a number is refused, never read as a part of it."""
    for tag in ("t", "my tag"):
        path = write(tmp_path / "run.txt", f"q\tQ0\ta\t1\t2.0\t{tag}\nq\tQ0\tb\t2\t{written}\t{tag}\n")
        with pytest.raises(rf.DataError, match=r"run\.txt.*line 2"):
            rf.read_run(path)
    with pytest.raises(rf.DataError, match=r"qrels\.tsv.*line 2"):
        rf.read_qrels(write(tmp_path / "qrels.tsv", f"q\ta\t1\nq\tb\t{written}\n"))


def test_scores_keep_every_digit(tmp_path: Path) -> None:
    """Float64 is read to its last bit, plain and compressed, and written so that it comes back equal."""
    values = [
        0.1,
        1 / 3,
        1e-300,
        1.7976931348623157e308,
        5e-324,
        17.62310028076172,
        0.30000000000000004,
        -0.0,
    ]
    text = "".join(f"q Q0 d{i} 1 {value!r} t\n" for i, value in enumerate(values))
    for how in ("plain", "gzip", "zstd"):
        assert rf.read_run(write(tmp_path / "run.txt", packed(text, how)))["score"].to_list() == values
    run = rf.read_run({"q": {f"d{i}": value for i, value in enumerate(values)}})
    for suffix in ("trec", "csv", "tsv", "json", "jsonl", "parquet", "trec.gz", "jsonl.zst"):
        rf.write_run(run, tmp_path / f"out.{suffix}")
        assert rf.read_run(tmp_path / f"out.{suffix}")["score"].to_list() == values


def test_files_that_are_absent(tmp_path: Path) -> None:
    """A path where nothing is says so, and is not an empty run."""
    for reader in (rf.read_run, rf.read_qrels, rf.read_queries, rf.read_corpus):
        with pytest.raises(FileNotFoundError, match=r"absent\.tsv"):
            reader(tmp_path / "absent.tsv")


@pytest.mark.parametrize("name", ["run.trec.gz", "run.csv.zst", "run.jsonl.gz"])
def test_written_files_are_compressed_as_their_name_says(name: str, tmp_path: Path) -> None:
    """And read back equal."""
    rf.write_run({"q1": {"a": 2.0, "b": 1.0}}, tmp_path / name)
    assert (tmp_path / name).read_bytes()[:2] == {"gz": b"\x1f\x8b", "st": b"\x28\xb5"}[name[-2:]]
    assert triples(rf.read_run(tmp_path / name)) == [("q1", "a", 2.0), ("q1", "b", 1.0)]
    if name.endswith("gz"):
        assert gzip.decompress((tmp_path / name).read_bytes()).count(b"\n") == 2
