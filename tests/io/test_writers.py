"""What is written reads back equal, or is refused by name before anything is written."""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rankframe as rf

from .shared import CORPUS, FINITE, FLOATS, KINDS, ODD_IDS, QRELS, QUERIES, RUN, WAYS, Kind, same, way, what_changed

PACKED = st.sampled_from(["", ".gz", ".zst"])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One folder for all examples of a property."""
    return tmp_path_factory.mktemp("written")


# Round trips.


@pytest.mark.parametrize(("kind", "suffix"), WAYS, ids=way)
@settings(max_examples=40)
@given(data=st.data())
def test_ids_of_every_kind_come_back_or_are_refused(kind: Kind, suffix: str, folder: Path, data: st.DataObject) -> None:
    """Ids of separators, quotes, comments, control characters, marks and nothing at all, in every packing."""
    if kind in (RUN, QRELS):
        pairs = sorted(data.draw(st.sets(st.tuples(ODD_IDS, ODD_IDS), min_size=1, max_size=3)))
        frame = kind.frame(*((*pair, float(place)) for place, pair in enumerate(pairs)))
    else:
        ids = data.draw(st.lists(ODD_IDS, min_size=1, max_size=3, unique=True))
        frame = kind.frame(*((key, "text") for key in ids))
    assert what_changed(kind, frame, folder / f"{kind.name}.{suffix}{data.draw(PACKED)}") == ""


@pytest.mark.parametrize(
    ("kind", "suffix"), [(kind, suffix) for kind, suffix in WAYS if kind in (QUERIES, CORPUS)], ids=way
)
@settings(max_examples=40)
@given(texts=st.lists(ODD_IDS, min_size=1, max_size=3), titles=st.none() | st.lists(ODD_IDS, min_size=3, max_size=3))
def test_texts_of_every_kind_come_back_or_are_refused(
    kind: Kind, suffix: str, folder: Path, texts: list[str], titles: list[str] | None
) -> None:
    """Texts and titles hold line ends, tabs, quotes and nothing at all."""
    frame = kind.frame(*((f"d{place}", text) for place, text in enumerate(texts)))
    if titles is not None and kind is CORPUS:
        frame = frame.with_columns(title=pl.Series(titles[: len(texts)]))
    assert what_changed(kind, frame, folder / f"{kind.name}.{suffix}") == ""


@pytest.mark.parametrize(("kind", "suffix"), [(kind, suffix) for kind, suffix in WAYS if kind in (RUN, QRELS)], ids=way)
@settings(max_examples=40)
@given(data=st.data())
def test_finite_numbers_come_back_to_the_last_bit(kind: Kind, suffix: str, folder: Path, data: st.DataObject) -> None:
    """Subnormal, huge, negative and fractional scores and grades; a score of -0.0 stays -0.0."""
    numbers = data.draw(
        st.lists(FINITE if kind is RUN else FINITE.map(lambda grade: grade + 0.0), min_size=1, max_size=4)
    )
    frame = kind.frame(*(("q", f"d{place}", number) for place, number in enumerate(numbers)))
    path = folder / f"{kind.name}.{suffix}{data.draw(PACKED)}"
    kind.write(frame, path)
    assert same(frame, kind.read(path).select(frame.columns))


@pytest.mark.parametrize("suffix", RUN.formats)
@given(scores=st.lists(st.sampled_from([math.inf, -math.inf, 0.5, -0.0]) | FLOATS, min_size=1, max_size=4))
def test_infinite_scores_come_back_or_are_refused(suffix: str, folder: Path, scores: list[float]) -> None:
    """A format without infinite numbers says so; none turns into null."""
    assert (
        what_changed(
            RUN, RUN.frame(*(("q", f"d{i}", score) for i, score in enumerate(scores))), folder / f"run.{suffix}"
        )
        == ""
    )


@pytest.mark.parametrize(("kind", "suffix"), WAYS, ids=way)
def test_frames_without_rows_come_back(kind: Kind, suffix: str, tmp_path: Path) -> None:
    """With their columns and dtypes."""
    kind.write(kind.frame(), tmp_path / f"file.{suffix}")
    assert same(kind.frame(), kind.read(tmp_path / f"file.{suffix}").select(kind.columns))


@pytest.mark.parametrize("suffix", CORPUS.formats)
def test_a_corpus_of_no_rows_keeps_its_title_or_is_refused(suffix: str, tmp_path: Path) -> None:
    """A file of records has no place for the names of columns that no record has."""
    assert what_changed(CORPUS, CORPUS.frame().with_columns(title=pl.lit("")), tmp_path / f"corpus.{suffix}") == ""


@pytest.mark.parametrize(
    ("kind", "suffix"), [(kind, suffix) for kind, suffix in WAYS if kind in (QUERIES, CORPUS)], ids=way
)
def test_texts_that_are_null_come_back_or_are_refused(kind: Kind, suffix: str, tmp_path: Path) -> None:
    """Null and the empty text are two things."""
    assert what_changed(kind, kind.frame(("a", None), ("b", "two")), tmp_path / f"file.{suffix}") == ""
    assert what_changed(kind, kind.frame(("a", "one"), ("b", "")), tmp_path / f"file.{suffix}") == ""
    assert what_changed(kind, kind.frame(("a", ""), ("b", None)), tmp_path / f"file.{suffix}") == ""


# Metadata.

PLAIN_METADATA = {
    "whole": pl.Series([1, None]),
    "fraction": pl.Series([0.5, None]),
    "not a number": pl.Series([0.5, math.nan]),
    "infinite": pl.Series([0.5, math.inf]),
    "true or false": pl.Series([True, None]),
    "text": pl.Series(["a", None]),
    "empty text": pl.Series(["", "a"]),
    "empty text and null": pl.Series(["", None]),
    "leading zeros": pl.Series(["0042", "1"]),
    "text like fractions": pl.Series(["1.0", "2"]),
    "text like truth": pl.Series(["true", "false"]),
    "text like dates": pl.Series(["2020-01-31", "2021-12-31"]),
    "text like null": pl.Series(["null", "NA"]),
    "text of lines": pl.Series(["a\nb", 'c, "d"']),
    "text with tabs": pl.Series(["a\tb", " c "]),
    "text like json": pl.Series(['{"a": 1}', "[1]"]),
    "list": pl.Series([["a"], []]),
    "record": pl.Series([{"a": 1}, {"a": None}]),
}
TYPED_METADATA = {
    "Int8": pl.Series([1, 2], dtype=pl.Int8),
    "UInt64": pl.Series([2**63 + 5, 1], dtype=pl.UInt64),
    "Int128": pl.Series([2**100, 1], dtype=pl.Int128),
    "Float32": pl.Series([0.1, 2.0], dtype=pl.Float32),
    "Decimal": pl.Series([Decimal("1.10"), None]),
    "Date": pl.Series([dt.date(2020, 1, 31), None]),
    "Datetime": pl.Series([dt.datetime(2020, 1, 31, 1, 2, 3, 4), None]),  # noqa: DTZ001  # a column without a zone
    "Duration": pl.Series([dt.timedelta(days=1), None]),
    "Time": pl.Series([dt.time(1, 2), None]),
    "Categorical": pl.Series(["a", "b"], dtype=pl.Categorical),
    "Enum": pl.Series(["a", "b"], dtype=pl.Enum(["a", "b"])),
    "Null": pl.Series([None, None]),
    "String of nulls": pl.Series([None, None], dtype=pl.String),
    "Array": pl.Series([[1, 2], [3, 4]], dtype=pl.Array(pl.Int64, 2)),
    "Binary": pl.Series([b"a", b"\xff"]),
    "Object": pl.Series([{1}, {2}], dtype=pl.Object),
}


def _changed(kind: Kind, suffix: str, metadata: dict[str, pl.Series], folder: Path) -> dict[str, str]:
    """What became of metadata that was written and did not come back."""
    changed = {}
    for name, column in metadata.items():
        try:
            how = what_changed(kind, kind.plain.with_columns(column.alias("meta")), folder / f"{kind.name}.{suffix}")
        except BaseException as error:  # noqa: BLE001  # Polars panics with an exception that is none
            how = f"{type(error).__name__}: {error!s:.80}"
        if how:
            changed[name] = how
    return changed


@pytest.mark.parametrize(("kind", "suffix"), WAYS, ids=way)
def test_metadata_comes_back_or_is_refused(kind: Kind, suffix: str, tmp_path: Path) -> None:
    """Numbers, text that looks like numbers, lists and records: equal, or refused by the name of the column."""
    assert _changed(kind, suffix, PLAIN_METADATA, tmp_path) == {}


@pytest.mark.parametrize(("kind", "suffix"), WAYS, ids=way)
def test_metadata_of_every_dtype_comes_back_or_is_refused(kind: Kind, suffix: str, tmp_path: Path) -> None:
    """No dtype turns into another, and none ends in an error of Polars."""
    assert _changed(kind, suffix, TYPED_METADATA, tmp_path) == {}


NAMES = ["_id", "id", "qid", "score", "rel", "rank", "tag", "Q0", "iteration", "run_id", "text", "title", "metadata"]
NAMES += ["fields", "whole line", "line number", "as written", "", " ", "a,b", 'a"b', "a\tb", "a\nb", "é", "0", "1.5"]


@pytest.mark.parametrize(("kind", "suffix"), WAYS, ids=way)
def test_metadata_of_any_name_comes_back_or_is_refused(kind: Kind, suffix: str, tmp_path: Path) -> None:
    """Names of other columns and formats, of ours, of nothing, of separators and quotes, and numbers."""
    changed = {}
    for name in NAMES:
        frame = kind.plain.with_columns(pl.Series(["m1", "m2"]).alias(name))
        try:
            kept = name in kind.read(frame).columns
        except rf.DataError:  # the name means one of ours, which is there already
            continue
        if kept and (how := what_changed(kind, frame, tmp_path / f"file.{suffix}")):
            changed[name] = how
    assert changed == {}


# Refusals.


@pytest.mark.parametrize("suffix", ["trec", "tsv"])
def test_a_refusal_leaves_what_was_there(suffix: str, tmp_path: Path) -> None:
    """No file, no folder, no half of one; the old file stays as it was."""
    odd = RUN.frame(("q1", "a\tb", 1.0))
    with pytest.raises(rf.DataError, match=r"a\\tb"):
        rf.write_run(odd, tmp_path / "new" / f"run.{suffix}")
    assert not (tmp_path / "new").exists()
    old = tmp_path / f"run.{suffix}"
    rf.write_run(RUN.plain, old)
    before = old.read_bytes()
    with pytest.raises(rf.DataError, match=r"a\\tb"):
        rf.write_run(odd, old)
    assert before == old.read_bytes()


def test_folders_are_made(tmp_path: Path) -> None:
    """A path into folders that do not exist yet is written."""
    rf.write_run(RUN.plain, tmp_path / "some" / "where" / "run.trec")
    assert (tmp_path / "some" / "where" / "run.trec").is_file()


@pytest.mark.parametrize("kind", KINDS.values(), ids=way)
def test_a_folder_is_no_file_to_write(kind: Kind, tmp_path: Path) -> None:
    with pytest.raises(rf.DataError, match="is a folder"):
        kind.write(kind.plain, tmp_path)


@pytest.mark.parametrize("kind", KINDS.values(), ids=way)
def test_unknown_formats_and_choices_are_refused(kind: Kind, tmp_path: Path) -> None:
    """Whatever the format, before anything is written."""
    with pytest.raises(rf.DataError, match=r"format='zip'.*parquet"):
        kind.write(kind.plain, tmp_path / "file", format="zip")
    for suffix in kind.formats:
        with pytest.raises(rf.DataError, match="columns='all'"):
            kind.write(kind.plain, tmp_path / f"file.{suffix}", columns="all")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("kind", "format"), [(QUERIES, "trec"), (CORPUS, "trec"), (QRELS, "msmarco")], ids=way)
def test_formats_of_another_kind_are_refused(kind: Kind, format: str, tmp_path: Path) -> None:
    with pytest.raises(rf.DataError, match=f"{format} is no format for"):
        kind.write(kind.plain, tmp_path / "file", format=format)


def test_msmarco_is_written_as_it_is_read_or_not_at_all(tmp_path: Path) -> None:
    """Three columns that end in a rank hold no scores."""
    try:
        rf.write_run(RUN.plain, tmp_path / "run", format="msmarco")
    except rf.DataError:
        assert not (tmp_path / "run").exists()
    else:
        assert rf.read_run(tmp_path / "run", format="msmarco")["doc_id"].to_list() == ["a", "b"]


@pytest.mark.parametrize("kind", KINDS.values(), ids=way)
def test_the_format_given_counts_not_the_suffix(kind: Kind, tmp_path: Path) -> None:
    for suffix in kind.formats:
        kind.write(kind.plain, tmp_path / "file.dat", format=suffix)
        read = kind.read(tmp_path / "file.dat", format=suffix)
        assert same(kind.plain, read.select(kind.columns))


@pytest.mark.parametrize(
    ("kind", "suffix", "extra"),
    [
        (RUN, "trec", "note"),
        (RUN, "json", "note"),
        (QRELS, "trec", "note"),
        (QRELS, "json", "note"),
        (RUN, "csv", "tags"),
        (QRELS, "tsv", "tags"),
        (QUERIES, "csv", "tags"),
        (CORPUS, "tsv", "tags"),
    ],
    ids=way,
)
def test_columns_without_a_place_are_refused_or_dropped(kind: Kind, suffix: str, extra: str, tmp_path: Path) -> None:
    """The message names them and the argument that leaves them out."""
    path = tmp_path / f"file.{suffix}"
    frame = kind.plain.with_columns(pl.Series(extra, ["x", "y"] if extra == "note" else [["x"], []]))
    with pytest.raises(rf.DataError, match=f"'{extra}'.*columns=\"drop\""):
        kind.write(frame, path)
    assert not path.exists()
    kind.write(frame, path, columns="drop")
    assert same(kind.plain, kind.read(path).select(kind.columns))


@pytest.mark.parametrize("suffix", RUN.formats)
@pytest.mark.parametrize("write", [rf.write_run, rf.write_qrels], ids=["run", "qrels"])
def test_queries_without_results_are_written_to_json_alone(write: object, suffix: str, tmp_path: Path) -> None:
    """A row cannot say that a query returned nothing; the message names the query."""
    assert callable(write)
    path = tmp_path / f"file.{suffix}"
    source = {"q1": {"a": 1.0}, "silent": {}}
    if suffix == "json":
        write(source, path)
        assert path.read_text() == '{"q1": {"a": 1.0}, "silent": {}}'
        return
    with pytest.raises(rf.DataError, match=r"no results.*'silent'.*JSON"):
        write(source, path)
    assert not path.exists()


def test_a_pair_twice_is_not_written_to_a_mapping(tmp_path: Path) -> None:
    """JSON would keep one of the two."""
    with pytest.raises(rf.DataError, match=r"2 rows share a .query, document. pair"):
        rf.write_run(RUN.frame(("q", "d", 2.0), ("q", "d", 1.0)), tmp_path / "run.json")
    assert not (tmp_path / "run.json").exists()


# TREC text.


def test_trec_text_has_rank_and_tag(tmp_path: Path) -> None:
    """Rank by score, ties by document id descending; rows as they stand; whole grades without a point."""
    path = tmp_path / "run.trec"
    rf.write_run({"q": {"a": 1.0, "c": 2.5, "b": 1.0}, "p": {"z": -1.0}}, path, tag="mine")
    assert path.read_text() == "q Q0 a 3 1.0 mine\nq Q0 c 1 2.5 mine\nq Q0 b 2 1.0 mine\np Q0 z 1 -1.0 mine\n"
    rf.write_qrels({"q": {"a": 1, "b": -2.0, "c": 0.5, "d": -0.0}}, path)
    assert [line.split()[3] for line in path.read_text().splitlines()][:3] == ["1", "-2", "0.5"]
    assert [line.split()[1] for line in path.read_text().splitlines()] == ["0"] * 4


def test_trec_columns_of_the_run_are_kept(tmp_path: Path) -> None:
    """Rank and tag of the run itself are written and read back."""
    frame = RUN.plain.with_columns(rank=pl.Series([7, 3]), tag=pl.Series(["one", "the other"]))
    rf.write_run(frame, tmp_path / "run.trec")
    assert same(frame, rf.read_run(tmp_path / "run.trec"))


@pytest.mark.parametrize(
    "column",
    [
        pl.Series("rank", ["first", "second"]),
        pl.Series("rank", [1, None]),
        pl.Series("rank", [1.5, 2.5]),
        pl.Series("rank", [[1], [2]]),
        pl.Series("tag", ["one", None]),
        pl.Series("tag", [None, None], dtype=pl.String),
        pl.Series("tag", ["a", " b"]),
        pl.Series("tag", ["a", "b\nq1 Q0 x 1 9.0 t"]),
        pl.Series("Q0", ["Q1", "Q1"]),
        pl.Series("run_id", ["one", "two"]),
    ],
    ids=lambda column: f"{column.name} {column.to_list()}",
)
def test_trec_columns_come_back_or_are_refused(column: pl.Series, tmp_path: Path) -> None:
    """Ranks that are none, tags that are no text, and whatever the format has no place for."""
    assert what_changed(RUN, RUN.plain.with_columns(column), tmp_path / "run.trec") == ""


@pytest.mark.parametrize("tag", ["", " ", "a\nb", " a", "a ", "a  b", "a\tb", 3, None], ids=repr)
def test_tags_that_would_not_come_back_are_refused(tag: object, tmp_path: Path) -> None:
    with pytest.raises(rf.DataError, match="tag"):
        rf.write_run(RUN.plain, tmp_path / "run.trec", tag=tag)  # type: ignore[arg-type]  # as a caller may
    assert not (tmp_path / "run.trec").exists()


@pytest.mark.parametrize("tag", ["my tag", "#", "# x", "1", "nan", "é", "query_id"])
def test_tags_of_any_look_come_back(tag: str, tmp_path: Path) -> None:
    rf.write_run(RUN.plain, tmp_path / "run.trec", tag=tag)
    assert [tag, tag] == rf.read_run(tmp_path / "run.trec")["tag"].to_list()


@pytest.mark.parametrize("iteration", [["Q0", "it"], [None, "x"], ["a b", "c"], ["", "c"]], ids=repr)
def test_iterations_come_back_or_are_refused(iteration: list[object], tmp_path: Path) -> None:
    """The second column of TREC judgments."""
    frame = QRELS.plain.with_columns(pl.Series("iteration", iteration))
    assert what_changed(QRELS, frame, tmp_path / "qrels.trec") == ""


@pytest.mark.parametrize(("kind", "column"), [(RUN, "tag"), (QRELS, "iteration")], ids=["run", "qrels"])
def test_whole_numbers_of_trecs_text_columns_are_text(kind: Kind, column: str, tmp_path: Path) -> None:
    """A tag and an iteration are text, as ids are."""
    kind.write(kind.plain.with_columns(pl.Series(column, [3, 4])), tmp_path / "file.trec")
    options = {"iteration": True} if kind is QRELS else {}
    assert kind.read(tmp_path / "file.trec", **options)[column].to_list() == ["3", "4"]


def test_beirs_table_has_beirs_names(tmp_path: Path) -> None:
    """`.tsv` judgments and JSON lines can be read by every BEIR tool."""
    rf.write_qrels(QRELS.plain, tmp_path / "qrels.tsv")
    assert (tmp_path / "qrels.tsv").read_text() == "query-id\tcorpus-id\tscore\nq1\ta\t2\nq2\tb\t1\n"
    rf.write_queries(QUERIES.plain, tmp_path / "queries.jsonl")
    assert (tmp_path / "queries.jsonl").read_text() == '{"_id":"a","text":"one"}\n{"_id":"b","text":"two"}\n'
