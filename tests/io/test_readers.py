"""Every reader over every form, and what lazy readers share with them."""

from __future__ import annotations

import json
import os
import warnings
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import rankframe as rf
from tests.cases.helpers import packed, write

from .shared import CORPUS, KINDS, QRELS, QUERIES, RUN, WAYS, Kind, same, way


def _written(kind: Kind, suffix: str, folder: Path) -> Path:
    """A file of this kind and format with two rows, and a column of metadata where it has a place for one."""
    frame = kind.plain
    if suffix in ("csv", "tsv", "jsonl", "parquet"):
        frame = frame.with_columns(note=pl.Series(["x", "y"]))
    kind.write(frame, folder / f"{kind.name}.{suffix}")
    return folder / f"{kind.name}.{suffix}"


# Lazy readers.


@pytest.mark.parametrize("how", ["", ".gz", ".zst"])
@pytest.mark.parametrize(("kind", "suffix"), WAYS, ids=way)
def test_scanned_files_are_what_is_read(kind: Kind, suffix: str, how: str, tmp_path: Path) -> None:
    """A LazyFrame with the same columns, dtypes and rows, from every format and packing."""
    path = _written(kind, suffix + how, tmp_path)
    lazy = kind.scan(path)
    assert isinstance(lazy, pl.LazyFrame)
    assert same(kind.read(path), lazy.collect())
    assert kind.read(path).schema == lazy.collect_schema()


@pytest.mark.parametrize("kind", KINDS.values(), ids=way)
def test_scanned_frames_stay_lazy(kind: Kind) -> None:
    """A LazyFrame is neither collected nor changed; nothing of its source is read before it is needed."""

    def never(_: pl.DataFrame) -> pl.DataFrame:
        raise AssertionError("collected")

    alias = {"query_id": "qid", "doc_id": "docno"}
    frame = kind.plain.rename({name: alias[name] for name in kind.columns if name in alias})
    lazy = frame.lazy()
    assert same(kind.plain, kind.scan(lazy).collect())
    guarded = lazy.map_batches(never, schema=frame.schema)
    assert list(kind.columns) == kind.scan(guarded).collect_schema().names()


@pytest.mark.parametrize("kind", KINDS.values(), ids=way)
@pytest.mark.parametrize("form", ["frame", "pandas", "arrow", "mapping"])
def test_scanners_take_what_readers_take(kind: Kind, form: str) -> None:
    """Frames in memory and mappings become lazy too."""
    mapping: dict[str, Any] = {"a": "one", "b": "two"}
    if kind in (RUN, QRELS):
        mapping = {"q1": {"a": 2.0}, "q2": {"b": 1.0}}
    plain = kind.plain
    source = {"frame": plain, "pandas": plain.to_pandas(), "arrow": plain.to_arrow(), "mapping": mapping}[form]
    lazy = kind.scan(source)
    assert isinstance(lazy, pl.LazyFrame)
    assert same(plain, lazy.collect())


@pytest.mark.parametrize("kind", KINDS.values(), ids=way)
@pytest.mark.parametrize("end", ["", "\n", "\n\n", "\r\n\r\n"], ids=repr)
def test_scanned_csv_ends_where_the_read_one_does(kind: Kind, end: str, tmp_path: Path) -> None:
    """Empty lines at the end are no rows."""
    content = kind.plain.write_csv().rstrip("\n") + end
    path = write(tmp_path / "file.csv", content)
    assert same(kind.plain, kind.read(path))
    assert same(kind.plain, kind.scan(path).collect())


@pytest.mark.parametrize("suffix", ["csv", "parquet", "jsonl", "tsv"])
def test_scanned_judgments_leave_the_iteration_out_as_read_ones_do(suffix: str, tmp_path: Path) -> None:
    """It is kept on request."""
    frame = QRELS.plain.with_columns(iteration=pl.lit("0"))
    rf.write_qrels(frame, tmp_path / f"qrels.{suffix}")
    assert same(QRELS.plain, rf.read_qrels(tmp_path / f"qrels.{suffix}"))
    assert same(QRELS.plain, rf.scan_qrels(tmp_path / f"qrels.{suffix}").collect())
    assert same(frame, rf.read_qrels(tmp_path / f"qrels.{suffix}", iteration=True))


@pytest.mark.parametrize("large", [2**53 + 1, -(2**53) - 1, 2**60], ids=str)
@pytest.mark.parametrize("form", ["lazy", "parquet", "csv", "folder"])
def test_whole_numbers_that_float64_would_round_are_refused_from_everywhere(
    form: str, large: int, tmp_path: Path
) -> None:
    """Two scores that differ must not tie; a lazy source is no way around that."""
    frame = pl.DataFrame({"query_id": ["q"], "doc_id": ["d"], "score": [large]})
    (tmp_path / "folder").mkdir()
    frame.write_parquet(tmp_path / "run.parquet")
    frame.write_parquet(tmp_path / "folder" / "0.parquet")
    frame.write_csv(tmp_path / "run.csv")
    source = frame.lazy() if form == "lazy" else tmp_path / ("folder" if form == "folder" else f"run.{form}")
    with pytest.raises(rf.DataError, match=f"{large}.*2.*53"):
        rf.read_run(source)
    with pytest.raises(rf.DataError, match=f"{large}.*2.*53"):
        rf.evaluate(source, {"q": {"d": 1}})


def test_scanned_text_that_is_no_number_is_refused_when_it_is_collected() -> None:
    lazy = rf.scan_run(pl.LazyFrame({"query_id": ["q"], "doc_id": ["d"], "score": ["high"]}))
    with pytest.raises(rf.DataError, match="1 score that is no number, such as 'high'"):
        lazy.collect()


# Arguments.


@pytest.mark.parametrize("suffix", ["csv", "tsv", "jsonl", "json", "parquet"])
@pytest.mark.parametrize("kind", KINDS.values(), ids=way)
def test_columns_as_a_mapping_name_yours(kind: Kind, suffix: str, tmp_path: Path) -> None:
    """In files of every format with names, in frames and lazily; others are kept."""
    yours = {f"my {name}": name for name in kind.columns}
    frame = kind.plain.rename({ours: mine for mine, ours in yours.items()}).with_columns(note=pl.lit("x"))
    path = tmp_path / f"file.{suffix}"
    {
        "csv": lambda: frame.write_csv(path),
        "tsv": lambda: frame.write_csv(path, separator="\t"),
        "jsonl": lambda: frame.write_ndjson(path),
        "json": lambda: frame.write_json(path),
        "parquet": lambda: frame.write_parquet(path),
    }[suffix]()
    right = kind.plain.with_columns(note=pl.lit("x"))
    for source in (path, frame, frame.lazy()):
        assert same(right, kind.read(source, columns=yours))
        assert same(right, kind.scan(source, columns=yours).collect())
    with pytest.raises(rf.DataError, match=r"no column|columns="):
        kind.read(path)


@pytest.mark.parametrize("kind", KINDS.values(), ids=way)
@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({"absent": "query_id"}, "columns= names 'absent', but there are only"),
        ({"absent": "doc_id"}, "columns= names 'absent', but there are only"),
        (["query_id", "doc_id"], "columns= is a mapping here"),
        ("query_id", "columns= is a mapping here"),
    ],
    ids=["absent query", "absent document", "list", "text"],
)
def test_columns_that_cannot_be_meant_are_refused(kind: Kind, columns: Any, said: str) -> None:
    with pytest.raises(rf.DataError, match=said):
        kind.read(kind.plain, columns=columns)


def test_columns_that_give_one_name_twice_are_refused() -> None:
    frame = RUN.plain.with_columns(other=pl.lit(1.0))
    with pytest.raises(rf.DataError, match="same name twice"):
        rf.read_run(frame, columns={"other": "score", "score": "score"})
    with pytest.raises(rf.DataError, match="write over the column 'score'"):
        rf.read_run(frame, columns={"other": "score"})


@pytest.mark.parametrize(
    ("kind", "line", "columns", "right"),
    [
        (RUN, "q1 a 2.0", ["query_id", "doc_id", "score"], ("q1", "a", 2.0)),
        (RUN, "2.0\ta\tq1", ["score", "doc_id", "query_id"], ("q1", "a", 2.0)),
        (QRELS, "a q1 2", ["doc_id", "query_id", "relevance"], ("q1", "a", 2.0)),
        (QUERIES, "one\ta", ["text", "query_id"], ("a", "one")),
        (CORPUS, "one\ta", ["text", "doc_id"], ("a", "one")),
    ],
    ids=["run", "run backwards", "qrels", "queries", "corpus"],
)
def test_columns_as_a_list_name_the_fields_of_text(
    kind: Kind, line: str, columns: list[str], right: tuple[Any, ...], tmp_path: Path
) -> None:
    """In their order; a file without a header needs nothing else."""
    path = write(tmp_path / "file.tsv", line + "\n")
    assert same(kind.frame(right), kind.read(path, columns=columns))
    assert same(kind.frame(right), kind.scan(path, columns=columns).collect())
    with pytest.raises(rf.DataError, match="column"):
        kind.read(path, columns=[*columns, "another"])


@pytest.mark.parametrize("columns", [["query_id", "doc_id", "doc_id"], ["query_id", "a", "b"], ["x", "y", "score"]])
def test_lists_of_columns_that_lack_one_or_have_it_twice_are_refused(columns: list[str], tmp_path: Path) -> None:
    path = write(tmp_path / "run.tsv", "q1\ta\t2.0\n")
    with pytest.raises(rf.DataError, match=r"run\.tsv"):
        rf.read_run(path, columns=columns)


@pytest.mark.parametrize("read", [kind.read for kind in KINDS.values()], ids=KINDS)
def test_formats_and_choices_that_are_none_are_refused(read: Any, tmp_path: Path) -> None:
    """With the valid ones."""
    path = write(tmp_path / "file", "")
    with pytest.raises(rf.DataError, match=r"format='excel'.*parquet"):
        read(path, format="excel")
    with pytest.raises(rf.DataError, match=r"invalid='ignore'.*'error', 'drop'"):
        read(path, invalid="ignore")


def test_duplicates_best_keeps_the_highest_grade_and_warns() -> None:
    """One row per pair; the same judgment twice is no conflict."""
    frame = QRELS.frame(("q", "a", 1.0), ("q", "b", 0.0), ("q", "a", 3.0), ("q", "b", 0.0))
    with pytest.raises(rf.DataError, match=r'\(q, a\) as 1 and 3.*duplicates="best"'):
        rf.read_qrels(frame)
    with pytest.warns(rf.RankframeWarning) as caught:
        read = rf.read_qrels(frame, duplicates="best")
    assert read.rows() == [("q", "a", 3.0), ("q", "b", 0.0)]
    assert any("(q, a)" in str(warning.message) for warning in caught)
    with pytest.raises(rf.DataError, match=r"duplicates='first'.*'error', 'best'"):
        rf.read_qrels(frame, duplicates="first")  # type: ignore[arg-type]  # as a caller may


def test_invalid_rows_are_dropped_with_a_warning_that_counts_them(tmp_path: Path) -> None:
    """Malformed lines, null ids and NaN; the rest is read."""
    path = write(tmp_path / "run.trec", "q Q0 a 1 2.0 t\nq Q0\nq Q0 b 2 nan t\nq Q0 c 3 high t\n")
    with pytest.warns(rf.RankframeWarning) as caught:
        run = rf.read_run(path, invalid="drop")
    assert run["doc_id"].to_list() == ["a"]
    said = " ".join(str(warning.message) for warning in caught)
    assert "2, such as 'line 2', 'line 4'" in said
    assert "1, such as '(q, b)'" in said


@pytest.mark.parametrize("kind", KINDS.values(), ids=way)
def test_clean_input_warns_of_nothing(kind: Kind, tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for suffix in kind.formats:
            kind.write(kind.plain, tmp_path / f"file.{suffix}")
            kind.read(tmp_path / f"file.{suffix}", invalid="drop")


def test_queries_without_results_are_told_of() -> None:
    """A frame has no row for them."""
    with pytest.warns(rf.RankframeWarning, match="1 queries have no results .'silent'."):
        run = rf.read_run({"q": {"a": 1.0}, "silent": {}})
    assert run["query_id"].to_list() == ["q"]


# Sources.

NO_TABLE: dict[str, Any] = {
    "None": None,
    "number": 3,
    "bytes": b"q1",
    "object": object(),
    "set": {"a"},
    "empty list": [],
    "tuples": [("q", "d", 1.0)],
    "iterator": iter([{"query_id": "q"}]),
    "function": len,
}


@pytest.mark.parametrize("source", NO_TABLE.values(), ids=NO_TABLE)
@pytest.mark.parametrize("read", [kind.read for kind in KINDS.values()], ids=KINDS)
def test_what_holds_no_table_is_refused(read: Any, source: Any) -> None:
    """With what is expected instead."""
    with pytest.raises(rf.DataError, match="expected a path, a mapping, or a frame"):
        read(source)


@pytest.mark.parametrize(
    "source",
    [{"q": ["d1", "d2"]}, {"q": "d1"}, {"q": 1.0}, {"q": None}, {"query_id": ["q"], "doc_id": ["d"], "score": [1.0]}],
    ids=["list", "text", "number", "None", "columns"],
)
@pytest.mark.parametrize("read", [rf.read_run, rf.read_qrels], ids=["run", "qrels"])
def test_mappings_of_another_shape_are_refused(read: Any, source: Any) -> None:
    with pytest.raises(rf.DataError, match=r"query '.*' holds a \w+; expected a mapping"):
        read(source)


@pytest.mark.parametrize("number", ["high", True, 1j, [1.0], {"a": 1.0}], ids=repr)
@pytest.mark.parametrize("read", [rf.read_run, rf.read_qrels], ids=["run", "qrels"])
def test_numbers_of_mappings_that_are_none_are_refused(read: Any, number: Any) -> None:
    with pytest.raises(rf.DataError, match=r"is no number.*\(q, d\)|1 \w+ that is no number"):
        read({"q": {"d": number, "e": 1.0}})


@pytest.mark.parametrize("read", [kind.read for kind in KINDS.values()], ids=KINDS)
@pytest.mark.parametrize("place", ["key", "value"])
def test_half_a_surrogate_pair_is_refused(read: Any, place: str) -> None:
    """Python text that is no Unicode cannot be an id, nor a text."""
    numbers = read in (rf.read_run, rf.read_qrels)
    bad = "\ud800"
    if place == "key":
        source: Any = {bad: {"d": 1.0}} if numbers else {bad: "text"}
    else:
        source = {"q": {bad: 1.0}} if numbers else {"q": bad}
    with pytest.raises(rf.DataError, match=r"surrogate|Unicode"):
        read(source)


@pytest.mark.parametrize("read", [rf.read_queries, rf.read_corpus], ids=["queries", "corpus"])
def test_texts_from_mappings(read: Any) -> None:
    """Of ids to text, or of ids to records; never of both, nor of an id that the record has too."""
    key = "query_id" if read is rf.read_queries else "doc_id"
    assert read({1: "one", "b": "two"}).rows() == [("1", "one"), ("b", "two")]
    assert [key, "text", "note"] == read({"a": {"note": "x", "text": "one"}}).columns
    assert read({}).rows() == []
    for bad in ({"a": "one", "b": {"text": "two"}}, {"a": None}, {"a": 1}, {"a": ["one"]}):
        with pytest.raises(rf.DataError, match="all text, or all records"):
            read(bad)
    with pytest.raises(rf.DataError, match=key):
        read({"a": {"text": "one", key: "b"}})
    with pytest.raises(rf.DataError, match="no column 'text'"):
        read({"a": {"title": "one"}})


def test_records_of_python_numbers_of_any_size_are_read_or_refused() -> None:
    """A number beyond 128 bits is an error of ours, and an id of any size is text."""
    with pytest.raises(rf.DataError, match="score"):
        rf.read_run([{"query_id": "q", "doc_id": "d", "score": 2**200}])
    huge = rf.read_run([{"query_id": "q", "doc_id": 2**200, "score": 1.0}])
    assert [str(2**200)] == huge["doc_id"].to_list()


def test_json_holds_a_mapping_or_records(tmp_path: Path) -> None:
    """Of any of the four kinds; anything else is refused."""
    nested = write(tmp_path / "run.json", json.dumps({"q1": {"a": 2.0}, "q2": {"b": 1.0}}))
    assert same(RUN.plain, rf.read_run(nested))
    assert same(QUERIES.plain, rf.read_queries(write(tmp_path / "queries.json", '{"a": "one", "b": "two"}')))
    records = write(tmp_path / "list.json", json.dumps(RUN.plain.to_dicts()))
    assert same(RUN.plain, rf.read_run(records))
    for content in ("1", '"text"', "null", "[1, 2]", '[{"query_id": "q"}, 3]'):
        with pytest.raises(rf.DataError, match="a mapping or a list of records"):
            rf.read_run(write(tmp_path / "bad.json", content))
    with pytest.raises(rf.DataError, match="the name 'a' twice"):
        rf.read_run(write(tmp_path / "bad.json", '{"q": {"a": 1.0, "a": 2.0}}'))


@pytest.mark.parametrize("content", ["[" * 100_000, '{"q": {"d": ' + "1" * 5000 + "}}"], ids=["deep", "long number"])
@pytest.mark.parametrize("suffix", ["json", "jsonl"])
def test_json_beyond_what_python_parses_is_refused(suffix: str, content: str, tmp_path: Path) -> None:
    """Brackets a hundred thousand deep and a number of 5,000 digits are errors that name the file."""
    with pytest.raises(rf.DataError, match=f"file.{suffix}"):
        rf.read_run(write(tmp_path / f"file.{suffix}", content))


@pytest.mark.parametrize("how", ["plain", "gzip", "zstd"])
def test_iteration_is_kept_on_request(how: str, tmp_path: Path) -> None:
    path = write(tmp_path / "qrels.txt", packed("q1 Q0 a 1\nq1 x b 0\n", how))
    assert rf.read_qrels(path).columns == ["query_id", "doc_id", "relevance"]
    assert rf.read_qrels(path, iteration=True)["iteration"].to_list() == ["Q0", "x"]
    assert rf.read_qrels({"q": {"d": 1}}, iteration=True).columns == ["query_id", "doc_id", "relevance"]


@pytest.mark.parametrize("suffix", ["trec", "tsv", "csv", "json", "jsonl", "parquet", "trec.gz", "csv.zst"])
@pytest.mark.parametrize("name", ["run[1]", "run*", "run?", "{a,b}", "~run", "$HOME", "a b", "run#1", "run%20", "é🦊"])
def test_files_of_any_name_are_read(name: str, suffix: str, tmp_path: Path) -> None:
    """A path names one file: what looks like a pattern matches no other."""
    for other in ("run1", "runs", "a", "b", "run"):
        rf.write_run(RUN.frame((other, "x", 1.0)), tmp_path / f"{other}.{suffix}")
    path = tmp_path / f"{name}.{suffix}"
    rf.write_run(RUN.plain, path)
    assert same(RUN.plain, rf.read_run(path).select(RUN.columns))
    assert same(RUN.plain, rf.scan_run(path).collect().select(RUN.columns))


def test_broken_lazy_frames_are_told_of() -> None:
    """An error of the caller's own lazy plan is not lost; it reaches the caller as it is or named."""
    broken = pl.LazyFrame({"query_id": ["q"], "doc_id": ["d"], "score": ["x"]}).with_columns(
        pl.col("score").str.to_integer()
    )
    with pytest.raises((rf.DataError, pl.exceptions.ComputeError), match="x"):
        rf.read_run(broken)


def test_a_pipe_is_refused(tmp_path: Path) -> None:
    """It can be read only once, and a format is recognised before it is read."""
    os.mkfifo(tmp_path / "run.trec")
    with pytest.raises(rf.DataError, match=r"run\.trec: a pipe or device can be read only once"):
        rf.read_run(tmp_path / "run.trec")


def test_an_empty_path_is_not_this_folder() -> None:
    with pytest.raises(rf.DataError, match="a path is empty"):
        rf.read_run("")


def test_commas_in_a_file_of_tabs_are_told(tmp_path: Path) -> None:
    path = write(tmp_path / "qrels.tsv", "query_id,doc_id,relevance\nq,d,1\n")
    with pytest.raises(rf.DataError, match=r"among 'query_id,doc_id,relevance'; commas separate here: format='csv'"):
        rf.read_qrels(path)
