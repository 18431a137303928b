"""Samples from every source give one frame; what holds none is refused."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankframe as rf
from rankframe.io.samples import load_samples, read_samples, scan_samples

from .samples import FRAME, LISTS, RECORDS, SCHEMA, TEXTS, Record, Sample, by_column, lines, parquet, written


def _pydantic(records: list[Record]) -> list[Any]:
    pydantic = pytest.importorskip("pydantic", reason="pydantic models are read where pydantic is installed")
    model = pydantic.create_model("Sample", **dict.fromkeys(SCHEMA, (Any, None)))
    return [model(**record) for record in records]


def _hub(records: list[Record]) -> Any:
    """A data set that holds more rows than it has: a selection of the rows of its table."""
    datasets = pytest.importorskip("datasets", reason="data sets of Hugging Face are read where datasets is installed")
    every = datasets.Dataset.from_list([{**records[0], "sample_id": "other"}, *records[::-1]])
    return every.select(range(len(records), 0, -1))


@dataclass
class EvaluationSet:
    """What holds its samples as Ragas does."""

    samples: list[Any]


SOURCES: dict[str, Callable[[Path], Any]] = {
    "records": lambda _: RECORDS,
    "tuple of records": lambda _: tuple(RECORDS),
    "generator": lambda _: iter(RECORDS),
    "mapping by id": lambda _: {r["sample_id"]: {k: v for k, v in r.items() if k != "sample_id"} for r in RECORDS},
    "mapping of columns": lambda _: by_column(RECORDS),
    "mapping of series": lambda _: {column.name: column for column in FRAME},
    "dataclasses": lambda _: [Sample(**record) for record in RECORDS],
    "pydantic": lambda _: _pydantic(RECORDS),
    "set of samples": lambda _: EvaluationSet([Sample(**record) for record in RECORDS]),
    "polars": lambda _: FRAME,
    "lazy": lambda _: FRAME.lazy(),
    "pandas of records": lambda _: pd.DataFrame(RECORDS),
    "pandas from arrow": lambda _: FRAME.to_pandas(),
    "pandas from parquet": lambda at: pd.read_parquet(parquet(FRAME, at / "p.parquet")),
    "pandas with arrow dtypes": lambda _: FRAME.to_pandas(use_pyarrow_extension_array=True),
    "pandas by index": lambda _: pd.DataFrame(RECORDS).set_index("sample_id"),
    "arrow": lambda _: FRAME.to_arrow(),
    "record batches": lambda _: pa.RecordBatchReader.from_batches(
        FRAME.to_arrow().schema, FRAME.to_arrow().to_batches()
    ),
    "hub": lambda _: _hub(RECORDS),
    "jsonl": lambda at: written(at / "s.jsonl", lines(RECORDS)),
    "jsonl of another name": lambda at: written(at / "samples.txt", lines(RECORDS)),
    "gzip": lambda at: written(at / "s.jsonl.gz", gzip.compress(lines(RECORDS).encode())),
    "zstd": lambda at: written(at / "s.jsonl", pa.compress(lines(RECORDS).encode(), codec="zstd", asbytes=True)),
    "json": lambda at: written(at / "s.json", json.dumps(RECORDS, indent=1)),
    "json of another name": lambda at: written(at / "samples", json.dumps(RECORDS)),
    "json by id": lambda at: written(
        at / "s.json", json.dumps({r["sample_id"]: {k: v for k, v in r.items() if k != "sample_id"} for r in RECORDS})
    ),
    "json of columns": lambda at: written(at / "s.json", json.dumps(by_column(RECORDS))),
    "parquet": lambda at: parquet(FRAME, at / "s.parquet"),
    "folder of parquet": lambda at: (
        (
            parquet(FRAME[:1], at / "shards" / "0.parquet"),
            parquet(FRAME[1:], at / "shards" / "1.parquet"),
        )[0].parent
    ),
}


@pytest.mark.parametrize("kind", SOURCES)
def test_every_source_gives_the_same_frame(kind: str, tmp_path: Path) -> None:
    frame = read_samples(SOURCES[kind](tmp_path))
    assert frame.schema == FRAME.schema
    assert frame.rows() == FRAME.rows()


@pytest.mark.parametrize("kind", SOURCES)
def test_every_source_is_scanned(kind: str, tmp_path: Path) -> None:
    lazy = scan_samples(SOURCES[kind](tmp_path))
    assert isinstance(lazy, pl.LazyFrame)
    assert lazy.collect().equals(FRAME)


@pytest.mark.parametrize("kind", ["parquet", "folder of parquet", "lazy"])
def test_parquet_and_lazy_frames_are_scanned_without_being_read(kind: str, tmp_path: Path) -> None:
    def fail(_: pl.Series) -> pl.Series:
        raise AssertionError

    source = SOURCES[kind](tmp_path)
    if kind == "lazy":
        source = source.with_columns(pl.col("topic").map_batches(fail, return_dtype=pl.String))
    assert scan_samples(source).collect_schema() == FRAME.schema
    if kind != "lazy":
        assert "PARQUET" in scan_samples(source).explain().upper()


@pytest.mark.parametrize("engine", ["in-memory", "streaming"])
def test_ids_are_those_of_all_samples_whatever_is_selected_later(engine: Any) -> None:
    source = FRAME.drop("sample_id").lazy()
    for lazy in (scan_samples(source), scan_samples(source.with_columns(pl.lit("a").alias("run_id")))):
        assert lazy.filter(turn=3).select("sample_id").collect(engine=engine).rows() == [("2",)]
        assert lazy.tail(1).collect(engine=engine)["sample_id"].to_list() == ["3"]


def test_the_callers_objects_are_never_changed() -> None:
    records = [{"id": 1, "question": "q", "contexts": ["c", None], "ground_truths": ["x"], "tags": np.array(["a"])}]
    held = records[0]["contexts"]
    frame = pd.DataFrame(records)
    before = repr(records), frame.to_dict()
    read_samples(records, legacy=True)
    read_samples(frame, legacy=True)
    assert (repr(records), repr(frame.to_dict())) == (before[0], repr(before[1]))
    assert records[0]["contexts"] is held


def test_a_loaded_frame_says_where_it_came_from(tmp_path: Path) -> None:
    path = written(tmp_path / "s.jsonl", lines(RECORDS))
    assert load_samples(path).where == str(path)
    assert load_samples(RECORDS).where == "samples"
    assert load_samples(RECORDS, where="answers").where == "answers"
    assert load_samples(RECORDS).notes == []


# An empty source.


@pytest.mark.parametrize(
    "source",
    [[], (), {}, iter([]), pl.DataFrame(), pl.LazyFrame(), pd.DataFrame(), EvaluationSet([]), pa.table({})],
    ids=["list", "tuple", "mapping", "iterator", "polars", "lazy", "pandas", "set of samples", "arrow"],
)
def test_an_empty_source_is_a_frame_without_rows(source: object) -> None:
    frame = read_samples(source)
    assert frame.is_empty()
    assert {"sample_id", "user_input", "response", "reference", "retrieved_contexts"} <= set(frame.columns)
    assert frame.schema["retrieved_contexts"] == TEXTS


@pytest.mark.parametrize("name", ["s.jsonl", "s.json"])
def test_an_empty_file_is_a_frame_without_rows(name: str, tmp_path: Path) -> None:
    assert read_samples(written(tmp_path / name, "[]" if name == "s.json" else "")).is_empty()


def test_a_frame_without_rows_keeps_its_columns() -> None:
    frame = read_samples(FRAME.clear())
    assert frame.schema == FRAME.schema
    assert read_samples(FRAME.clear().drop("sample_id")).schema == FRAME.schema
    assert read_samples(pd.DataFrame(columns=["user_input", "retrieved_contexts"])).schema == {
        "sample_id": pl.String,
        "user_input": pl.String,
        "retrieved_contexts": TEXTS,
    }


@pytest.mark.parametrize("record", [{}, {"user_input": None}])
def test_a_sample_of_nothing_is_no_empty_source(record: dict[str, Any]) -> None:
    if record:
        assert read_samples([record]).rows() == [("0", None)]
    else:
        with pytest.raises(rf.DataError, match=r"samples: no column of samples among no columns; read are user_input"):
            read_samples([record])


# CSV.


def _csv(path: Path, write: Callable[[Any], str]) -> Path:
    texts = FRAME.with_columns(
        pl.col(name).map_elements(lambda cell: write(cell.to_list()), return_dtype=pl.String) for name in LISTS
    )
    texts.write_csv(path)
    return path


@pytest.mark.parametrize(("lists", "write"), [("json", json.dumps), ("python", repr)])
@pytest.mark.parametrize("name", ["s.csv", "s.data"])
def test_csv_gives_its_lists_back_where_they_are_decoded(lists: str, write: Any, name: str, tmp_path: Path) -> None:
    path = _csv(tmp_path / name, write)
    frame = read_samples(path, lists=lists, format="csv")
    assert frame.schema == FRAME.schema
    assert frame.rows() == FRAME.rows()


def test_csv_that_pandas_wrote_is_refused_until_its_lists_are_decoded(tmp_path: Path) -> None:
    path = tmp_path / "s.csv"
    pd.DataFrame(RECORDS).to_csv(path, index=False)
    with pytest.raises(rf.DataError, match=rf'{path}: .* sample 0 \(\'s1\'\) is the text .*lists="python" decodes it'):
        read_samples(path)
    frame = read_samples(path, lists="python")
    assert frame.select(LISTS).rows() == FRAME.select(LISTS).rows()


def test_csv_is_text_where_samples_know_the_column(tmp_path: Path) -> None:
    text = "id,user_input,response,reference,query_length,question,n\n007,1,2,3.50,12,9,5\n008,4,5,6,13,true,6\n"
    frame = read_samples(written(tmp_path / "s.csv", text))
    assert frame.rows() == [("007", "1", "2", "3.50", "12", "9", 5), ("008", "4", "5", "6", "13", "true", 6)]


def test_csv_with_our_names_given_is_text_there_too(tmp_path: Path) -> None:
    path = written(tmp_path / "s.csv", "nr,ask,docs\n001,7,a;b\n002,8,\n")
    columns = {"nr": "sample_id", "ask": "user_input", "docs": "retrieved_contexts"}
    assert read_samples(path, columns=columns, lists=";").rows() == [("001", "7", ["a", "b"]), ("002", "8", None)]


def test_csv_with_old_names(tmp_path: Path) -> None:
    path = written(tmp_path / "s.csv", "question,answer,contexts,ground_truth\n1,2,a|b,3\n")
    assert read_samples(path, legacy=True, lists="|").rows() == [("0", "1", "2", "3", ["a", "b"])]


def test_a_column_of_empty_cells_in_csv_is_null(tmp_path: Path) -> None:
    frame = read_samples(written(tmp_path / "s.csv", "user_input,response,retrieved_contexts\nq,,\nr,,\n"))
    assert frame.schema["retrieved_contexts"] == TEXTS
    assert frame.rows() == [("0", "q", None, None), ("1", "r", None, None)]


# Files that are none.


def test_a_path_where_nothing_is() -> None:
    for read in (read_samples, scan_samples):
        with pytest.raises(FileNotFoundError, match=r"no such file or folder: nowhere\.jsonl"):
            read("nowhere.jsonl")


@pytest.mark.parametrize("name", ["s.tsv", "s.trec", "s"])
def test_another_format_is_refused_with_those_that_are_read(name: str, tmp_path: Path) -> None:
    path = written(tmp_path / name, "user_input\tresponse\nq\tr\n")
    with pytest.raises(
        rf.DataError, match=rf"{path}: samples are read from JSON lines, JSON, CSV and Parquet; format="
    ):
        read_samples(path)


@pytest.mark.parametrize("format", ["tsv", "trec", "msmarco"])
def test_formats_of_runs_are_none_of_samples(format: Any, tmp_path: Path) -> None:
    path = written(tmp_path / "s.jsonl", lines(RECORDS))
    with pytest.raises(
        rf.DataError, match=rf"format='{format}': samples are not read from it; .*jsonl, json, csv, parquet"
    ):
        read_samples(path, format=format)
    with pytest.raises(rf.DataError, match=r"format='xml': "):
        read_samples(path, format="xml")  # type: ignore[arg-type]  # on purpose


def test_a_format_goes_before_the_suffix(tmp_path: Path) -> None:
    assert read_samples(written(tmp_path / "s.csv", lines(RECORDS)), format="jsonl").equals(FRAME)


@pytest.mark.parametrize("value", ["5", '"text"', "null", "true"])
def test_json_that_holds_no_samples_is_refused(value: str, tmp_path: Path) -> None:
    path = written(tmp_path / "s.json", value)
    with pytest.raises(rf.DataError, match=rf"{path}: a JSON file holds a list of samples, or a mapping of them by id"):
        read_samples(path)


@pytest.mark.parametrize("value", ['["a"]', "[[1]]", '[{"user_input": "q"}, 5]'])
def test_json_of_other_things_names_the_first(value: str, tmp_path: Path) -> None:
    path = written(tmp_path / "s.json", value)
    with pytest.raises(rf.DataError, match=rf"{path}: sample [01] is (str|list|int) .*a sample is a mapping"):
        read_samples(path)


def test_a_line_without_an_object_is_refused_or_dropped(tmp_path: Path) -> None:
    path = written(tmp_path / "s.jsonl", '{"id": "a", "user_input": "q"}\n{"id": "b", "user_in\n')
    with pytest.raises(rf.DataError, match=rf'{path}: 1 line without a JSON object: line 2 .*invalid="drop"'):
        read_samples(path)
    with pytest.warns(rf.RankframeWarning, match=rf"{path}: .*: 1, such as 'line 2'"):
        assert read_samples(path, invalid="drop").rows() == [("a", "q")]
    assert load_samples(path, invalid="drop").notes[0].examples == ("line 2",)


def test_a_key_that_a_line_has_twice_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path / "s.jsonl", '{"user_input": "q", "user_input": "r"}\n')
    with pytest.raises(rf.DataError, match=r"line 1 \(the name 'user_input' stands there twice\)"):
        read_samples(path)


def test_a_key_that_appears_late_is_a_column(tmp_path: Path) -> None:
    records: list[Record] = [
        *({"user_input": f"q{n}"} for n in range(300)),
        {"user_input": "last", "retrieved_contexts": ["c"]},
    ]
    frame = read_samples(written(tmp_path / "s.jsonl", lines(records)))
    assert frame["retrieved_contexts"].null_count() == 300
    assert frame["retrieved_contexts"][-1].to_list() == ["c"]


def test_numbers_in_a_list_of_a_file_do_not_become_text(tmp_path: Path) -> None:
    path = written(tmp_path / "s.jsonl", '{"user_input": "q", "retrieved_contexts": ["a", 1]}\n')
    with pytest.raises(rf.DataError, match=rf"{path}: 'retrieved_contexts' .* sample 0 holds 1 \(int\) at place 1"):
        read_samples(path)


def test_half_a_surrogate_pair_is_refused_by_sample(tmp_path: Path) -> None:
    path = written(tmp_path / "s.jsonl", '{"user_input": "q"}\n{"user_input": "\\ud83d"}\n')
    with pytest.raises(
        rf.DataError, match=r"'user_input' is no text in 1 sample: sample 1 holds half a surrogate pair"
    ):
        read_samples(path)
    with pytest.raises(rf.DataError, match=r"'retrieved_contexts' .* sample 0 holds half a surrogate pair"):
        read_samples([{"user_input": "q", "retrieved_contexts": ["a", "\udc00"]}])


def test_a_folder_without_parquet_is_refused(tmp_path: Path) -> None:
    with pytest.raises(rf.DataError, match=r"no Parquet files in this folder"):
        read_samples(tmp_path)


def test_a_damaged_parquet_file_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path / "s.parquet", b"PAR1 no more")
    for read in (read_samples, scan_samples):
        with pytest.raises(rf.DataError, match=rf"{path}: cannot be read as Parquet"):
            read(path)


# Objects that are none.


@pytest.mark.parametrize(
    "source",
    [
        5,
        None,
        1.5,
        b"bytes",
        pl.Series(["a"]),
        pd.Series(["a"]),
        object(),
        lambda: RECORDS,
        rf.Retrieval(pl.DataFrame(), pl.DataFrame()),
    ],
)
def test_what_holds_no_samples_is_refused(source: object) -> None:
    with pytest.raises(rf.DataError, match=r"samples: a .* holds no samples; expected a path, records, or a frame"):
        read_samples(source)


@pytest.mark.parametrize("source", [["a.jsonl"], [1], [("q", "r")], [None], [RECORDS[0], "x"], [Sample]])
def test_what_is_no_sample_is_refused_by_its_number(source: object) -> None:
    with pytest.raises(rf.DataError, match=r"samples: sample [01] is .*; a sample is a mapping of its columns"):
        read_samples(source)


def test_one_sample_is_no_list_of_samples() -> None:
    with pytest.raises(rf.DataError, match=r"samples: one Sample is one sample; it stands in a list, as in \[sample\]"):
        read_samples(Sample(**RECORDS[0]))
    with pytest.raises(
        rf.DataError, match=r"a mapping holds records by id, or whole columns: 'sample_id' holds str.*\[sample\]"
    ):
        read_samples(RECORDS[0])


def test_columns_of_different_lengths_are_refused() -> None:
    with pytest.raises(
        rf.DataError, match=r"columns of a mapping are of different lengths: 'user_input' 2, 'response' 1"
    ):
        read_samples({"user_input": ["a", "b"], "response": ["c"]})


def test_ids_stand_beside_the_records_or_in_them() -> None:
    with pytest.raises(rf.DataError, match=r"the records of a mapping by id hold 'sample_id' too; leave it out"):
        read_samples({"a": {"sample_id": "b", "user_input": "q"}})
    with pytest.raises(rf.DataError, match=r"'sample_id' and 'id' both name the column 'sample_id'"):
        read_samples({"a": {"id": "b", "user_input": "q"}})
    frame = read_samples({"a": {"id": "b", "user_input": "q"}}, columns={"id": "id"})
    assert frame.rows() == [("a", "q", "b")]


def test_the_names_of_columns_are_text() -> None:
    with pytest.raises(rf.DataError, match=r"the names of columns are text, got 5"):
        read_samples([{"user_input": "q", 5: "x"}])


def test_a_pandas_frame_with_a_column_twice_is_refused() -> None:
    frame = pd.DataFrame([["q", "r"]], columns=["user_input", "user_input"])
    with pytest.raises(rf.DataError, match=r"has the column \(or named index\) 'user_input' twice"):
        read_samples(frame)


def test_metadata_that_pandas_mixes_is_refused_as_everywhere() -> None:
    frame = pd.DataFrame({"user_input": ["q", "r"], "odd": [1, "x"]})
    with pytest.raises(rf.DataError, match=r"the pandas column 'odd' mixes types"):
        read_samples(frame)


def test_splits_of_a_hub_data_set_are_refused() -> None:
    datasets = pytest.importorskip("datasets", reason="data sets of Hugging Face are read where datasets is installed")
    splits = datasets.DatasetDict(train=datasets.Dataset.from_list(RECORDS))
    with pytest.raises(rf.DataError, match=r"the data set has the splits 'train'; give one, as in data\['train'\]"):
        read_samples(splits)


@pytest.mark.parametrize("how", ["formatted", "streamed", "empty"])
def test_hub_data_sets_in_every_state(how: str) -> None:
    datasets = pytest.importorskip("datasets", reason="data sets of Hugging Face are read where datasets is installed")
    whole = datasets.Dataset.from_list(RECORDS)
    if how == "empty":
        assert read_samples(whole.select([])).schema == FRAME.schema
    else:
        made = whole.with_format("numpy") if how == "formatted" else whole.to_iterable_dataset()
        assert read_samples(made).equals(FRAME)


@pytest.mark.parametrize("option", ["invalid", "legacy", "columns"])
def test_options_are_checked_before_anything_is_read(option: str) -> None:
    wrong: dict[str, Any] = {"invalid": "keep", "legacy": "yes", "columns": ["user_input"]}
    with pytest.raises(rf.DataError, match=rf"{option}="):
        read_samples("nowhere.jsonl", **{option: wrong[option]})


# Laws.


NAMES = st.sampled_from("abcé東🦊")
CELL = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
LIST = st.none() | st.lists(st.none() | CELL, max_size=3)
RECORD = st.fixed_dictionaries(
    {
        "user_input": CELL,
        "response": st.none() | CELL,
        "reference": st.none() | CELL,
        "references": LIST,
        "retrieved_contexts": LIST,
        "retrieved_context_ids": LIST,
        "topic": st.none() | CELL,
    }
)


@given(st.lists(RECORD, min_size=1, max_size=12))
def test_what_is_written_reads_as_the_same_frame(records: list[dict[str, Any]]) -> None:
    frame = read_samples(records)
    assert frame.drop("sample_id").to_dicts() == records
    again: Mapping[str, Callable[[Path], Any]] = {
        "dicts": lambda _: frame.to_dicts(),
        "pandas": lambda _: frame.to_pandas(),
        "arrow": lambda _: frame.to_arrow(),
        "jsonl": lambda at: written(at / "s.jsonl", lines(frame.to_dicts())),
        "json": lambda at: written(at / "s.json", json.dumps(frame.to_dicts())),
        "parquet": lambda at: parquet(frame, at / "s.parquet"),
    }
    with tempfile.TemporaryDirectory() as at:
        for kind, made in again.items():
            read = read_samples(made(Path(at)))
            assert read.drop("topic").equals(frame.drop("topic")), kind
            assert read["topic"].to_list() == frame["topic"].to_list(), kind


def test_reading_loads_no_library_that_is_not_needed(tmp_path: Path) -> None:
    path = written(tmp_path / "s.jsonl", lines(RECORDS))
    code = (
        "import sys; from rankframe.io.samples import read_samples; "
        f"read_samples({str(path)!r}); read_samples([{{'user_input': 'q'}}]); "
        "print([name for name in ('pandas', 'datasets', 'ragas', 'pydantic') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
