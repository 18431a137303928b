"""Lines of text: how they are split, which are passed over, which are refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankframe as rf
from rankframe.io.text import Layout, first_line, numeric, read_lines, split_line
from tests.cases.helpers import packed, write

from .shared import QRELS, RUN, same

FIELDS = st.text(st.sampled_from('abq019.,;:|/\\"#é🦊\x00\x1c\x85\xa0\u2028'), min_size=1, max_size=5).filter(
    lambda field: field != "#"
)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One file for all examples of a property."""
    return tmp_path_factory.mktemp("text") / "run.txt"


@given(fields=st.lists(FIELDS, min_size=1, max_size=6), blanks=st.lists(st.integers(1, 3), min_size=7, max_size=7))
def test_blanks_separate_however_many_there_are(fields: list[str], blanks: list[int]) -> None:
    line = " " * (blanks[-1] - 1) + "".join(f + " " * n for f, n in zip(fields, blanks, strict=False))
    assert fields == split_line(line)


@given(fields=st.lists(FIELDS | FIELDS.map(lambda field: f"{field} {field}"), min_size=2, max_size=6))
def test_tabs_alone_separate_where_there_are_tabs(fields: list[str]) -> None:
    """Ids with blanks are ids."""
    assert fields == split_line("\t".join(fields))


@given(query=FIELDS, doc=FIELDS, tag=FIELDS, score=st.floats(allow_nan=False), separator=st.sampled_from([" ", "\t"]))
def test_a_run_line_is_read_alike_on_the_fast_and_the_careful_way(
    query: str, doc: str, tag: str, score: float, separator: str, path: Path
) -> None:
    """Packed files and double blanks are read line by line, plain ones by Polars' CSV reader."""
    line = separator.join([query, "Q0", doc, "1", repr(score), tag]) + "\n"
    write(path, line)
    fast = rf.read_run(path)
    write(path, packed(line, "gzip"))
    assert same(rf.read_run(path), fast)
    write(path, line.replace(" Q0 ", "  Q0 "))
    assert same(rf.read_run(path), fast)
    assert [(query, doc, score)] == fast.select(RUN.columns).rows()


@pytest.mark.parametrize("how", ["plain", "gzip", "zstd"])
def test_comments_empty_lines_and_the_mark_are_passed_over(how: str, tmp_path: Path) -> None:
    """A comment begins with `# `, or is nothing but `#`; `#7` is an id."""
    text = "\ufeff# made by hand\n#\n\n  \t \nq1 Q0 a 1 2.0 t\n#7 Q0 b 1 1.0 t\n   \n# the end\n"
    run = rf.read_run(write(tmp_path / "run.txt", packed(text, how)))
    assert run.select(RUN.columns).rows() == [("q1", "a", 2.0), ("#7", "b", 1.0)]


@pytest.mark.parametrize("separator", [" ", "\t"], ids=["blank", "tab"])
def test_line_numbers_count_every_line(separator: str, tmp_path: Path) -> None:
    """Comments and empty lines among them."""
    lines = ["# c", "", "q1 Q0 a 1 2.0 t", "", "q1 Q0 b 2", "# c", "q1 Q0 c 3 high t"]
    path = write(
        tmp_path / "run.txt", "\n".join(line.replace(" ", separator) if line[:1] == "q" else line for line in lines)
    )
    with pytest.raises(rf.DataError, match=r"run\.txt: 2 malformed lines: line 5 \(4 fields\).*line 7 \(score is no"):
        rf.read_run(path)


def test_a_message_shows_five_lines_and_counts_the_rest(tmp_path: Path) -> None:
    """Each cut to eighty characters."""
    path = write(tmp_path / "run.txt", "q Q0 a 1 2.0 t\n" + "".join(f"short {'x' * 200}{i}\n" for i in range(9)))
    with pytest.raises(rf.DataError, match=r"9 malformed lines: .*line 6 .*; and 4 more") as caught:
        rf.read_run(path)
    assert "x" * 80 not in str(caught.value)
    assert "line 7" not in str(caught.value)


@pytest.mark.parametrize(
    ("line", "right"),
    [
        ("q1 Q0 a 1 2.0", ("q1", "a", 2.0, 1)),
        ("q1 Q0 a 1 2.0 t", ("q1", "a", 2.0, 1, "t")),
        ("q1 Q0 a 1 2.0 my own tag", ("q1", "a", 2.0, 1, "my own tag")),
        ("q1\tQ0\ta b\t1\t2.0\tmy tag", ("q1", "a b", 2.0, 1, "my tag")),
        ("q1\tQ0\ta b\t1\t2.0", ("q1", "a b", 2.0, 1)),
        (" q1   Q0 a\t1 2.0 t", None),
    ],
    ids=["five", "six", "more", "tabs", "five between tabs", "both"],
)
def test_five_fields_have_no_tag_and_more_than_six_a_long_one(
    line: str, right: tuple[Any, ...] | None, tmp_path: Path
) -> None:
    path = write(tmp_path / "run.txt", line + "\n")
    if right is None:
        with pytest.raises(rf.DataError, match=r"run\.txt: line 1"):
            rf.read_run(path)
    else:
        assert [right] == rf.read_run(path).rows()


def test_a_header_is_the_first_line_or_no_line(tmp_path: Path) -> None:
    names, row = "query_id\tdoc_id\tscore\n", "q1\ta\t2.0\n"
    assert rf.read_run(write(tmp_path / "run.tsv", names + row)).rows() == [("q1", "a", 2.0)]
    with pytest.raises(rf.DataError, match=r"run\.tsv.*line 3"):
        rf.read_run(write(tmp_path / "run.tsv", names + row + names))


@pytest.mark.parametrize("line", ["q1 a 2.0", "q1\ta\t1", "q1 a"], ids=["score", "rank", "two"])
def test_columns_that_nobody_named_are_refused(line: str, tmp_path: Path) -> None:
    """With both ways to say what they are."""
    path = write(tmp_path / "run.txt", line + "\n")
    with pytest.raises(rf.DataError, match="columns="):
        rf.read_run(path)
    if line.count(" ") + line.count("\t") == 2:
        assert rf.read_run(path, format="msmarco").select("query_id", "doc_id").rows() == [("q1", "a")]


def test_msmarco_ends_in_a_rank(tmp_path: Path) -> None:
    """The first place has the highest score; the rank stays a whole number."""
    path = write(tmp_path / "run.tsv", "q1\ta\t1\nq1\tb\t2\nq1\tc\t3\n")
    run = rf.read_run(path, format="msmarco")
    assert run.rows() == [("q1", "a", -1.0, 1), ("q1", "b", -2.0, 2), ("q1", "c", -3.0, 3)]


def test_a_table_may_leave_out_the_end_of_a_row(tmp_path: Path) -> None:
    """Two tabs hold an empty field, which is null; what is required must be there."""
    path = write(tmp_path / "queries.tsv", "query_id\ttext\ttopic\tyear\nq1\tone\tbirds\nq2\ttwo\t\t1900\n")
    assert rf.read_queries(path).rows() == [("q1", "one", "birds", None), ("q2", "two", None, "1900")]
    with pytest.raises(rf.DataError, match=r"line 2 \(1 field\)"):
        rf.read_queries(write(tmp_path / "queries.tsv", "query_id\ttext\nq1\n"))


@pytest.mark.parametrize(("text", "right"), [("1", True), ("-1.5e3", True), ("nan", True), ("inf", True)])
@pytest.mark.parametrize("blank", ["", " "])
def test_numbers_are_told_from_names(text: str, right: bool, blank: str) -> None:  # noqa: FBT001  # a row of a table
    assert right == numeric(text)
    assert not numeric(blank)
    assert not numeric("one")
    assert not numeric("1_000")


def test_first_line_passes_over_comments(tmp_path: Path) -> None:
    assert first_line(write(tmp_path / "file", "# c\n\n a  b\n")) == (3, ["a", "b"])
    assert first_line(write(tmp_path / "file", "# c\n")) is None
    assert first_line(write(tmp_path / "file", "")) is None


def test_read_lines_gives_text_numbers_and_line_numbers(tmp_path: Path) -> None:
    """Dropped lines are noted."""
    layout = Layout(("name", "size"), numbers=("size",), least=2)
    path = write(tmp_path / "file", "a 1\nb\nc x\nd -2.5\n")
    frame, notes = read_lines(path, layout, "drop")
    assert frame.rows() == [(1, "a", 1.0), (4, "d", -2.5)]
    assert [pl.Int64, pl.String, pl.Float64] == frame.dtypes
    assert [(n.reason, n.count, n.examples) for n in notes] == [("invalid_dropped", 2, ("line 2", "line 3"))]


@pytest.mark.parametrize("content", ["q1 0 a 1\n", "q1\ta\t1\n", "query-id\tcorpus-id\tscore\nq1\ta\t1\n"])
@pytest.mark.parametrize("name", ["qrels", "qrels.txt", "qrels.tsv", "test.qrels", "qrels.dev.small.tsv"])
def test_judgments_are_known_by_their_fields_not_their_name(name: str, content: str, tmp_path: Path) -> None:
    assert same(QRELS.frame(("q1", "a", 1.0)), rf.read_qrels(write(tmp_path / name, content)))
