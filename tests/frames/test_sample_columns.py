"""Columns of samples: which is which, under old and misspelt names too; references, and ids."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import rankframe as rf
from rankframe.frames.samples import LEGACY
from rankframe.frames.schemas import SAMPLES
from rankframe.io.samples import load_samples, read_samples, scan_samples
from tests.io.samples import FRAME, RECORDS, TEXTS, lines, parquet, written

# Columns: order, kinds, metadata.


ALL: dict[str, Any] = {
    "run_id": "a",
    "sample_id": "s",
    "user_input": "u",
    "response": "r",
    "reference": "x",
    "references": ["x", "y"],
    "retrieved_contexts": ["c"],
    "reference_contexts": ["k"],
    "retrieved_context_ids": ["1"],
    "reference_context_ids": ["2"],
    "multi_responses": ["m", "n"],
    "rubrics": {"score1": "bad", "score2": "good"},
    "persona_name": "p",
    "query_style": "short",
    "query_length": "long",
    "query_id": "q",
    "ground_truth_sources": ["z"],
}


def test_known_columns_come_first_in_the_documented_order_then_metadata() -> None:
    record = {"zeta": 1, **dict(reversed(ALL.items())), "alpha": 2}
    assert list(ALL) == [column.name for column in SAMPLES.columns]
    for source in ([record], pl.DataFrame([record]), pd.DataFrame([record]), pl.LazyFrame([record])):
        frame = read_samples(source)
        assert frame.columns == [*ALL, "zeta", "alpha"]
        assert frame.row(0, named=True) == {**ALL, "zeta": 1, "alpha": 2}


def test_every_field_of_a_ragas_sample_survives() -> None:
    fields = [
        "user_input",
        "retrieved_contexts",
        "reference_contexts",
        "retrieved_context_ids",
        "reference_context_ids",
        "response",
        "multi_responses",
        "reference",
        "rubrics",
        "persona_name",
        "query_style",
        "query_length",
    ]
    frame = read_samples([{name: ALL[name] for name in fields}])
    assert frame.row(0, named=True) == {"sample_id": "0"} | {name: ALL[name] for name in fields}


@pytest.mark.parametrize("suffix", ["parquet", "jsonl"])
def test_nested_metadata_and_dates_survive(suffix: str, tmp_path: Path) -> None:
    metadata = {"who": {"name": "a", "ages": [1, 2]}, "tags": ["x"], "n": 3, "share": 0.5, "ok": True}
    frame = pl.DataFrame([{"user_input": "q", **metadata}, {"user_input": "r", **metadata}])
    if suffix == "parquet":
        frame = frame.with_columns(on=pl.lit(date(2024, 2, 29)), price=pl.lit(Decimal("1.10")))
        source: object = parquet(frame, tmp_path / "s.parquet")
    else:
        source = written(tmp_path / "s.jsonl", lines(frame.to_dicts()))
    read = read_samples(source)
    assert read.drop("sample_id").equals(frame)
    assert read.drop("sample_id").schema == frame.schema


def test_metadata_of_records_is_kept_as_it_is() -> None:
    on = date(2024, 2, 29)
    record = {
        "user_input": "q",
        "on": on,
        "array": np.array(["a", "b"]),
        "none": pd.NA,
        "nan": float("nan"),
        "d": {"k": 1},
    }
    row = read_samples([record, {"user_input": "r", "array": np.array([])}]).row(0, named=True)
    assert row["on"] == on
    assert row["array"] == ["a", "b"]
    assert row["none"] is None
    assert row["nan"] != row["nan"]
    assert row["d"] == {"k": 1}


def test_rubrics_are_kept_as_a_struct() -> None:
    frame = read_samples([{"user_input": "q", "rubrics": {"score1": "a"}}, {"user_input": "r", "rubrics": None}])
    assert frame.schema["rubrics"] == pl.Struct({"score1": pl.String})
    assert frame["rubrics"].to_list() == [{"score1": "a"}, None]


@pytest.mark.parametrize("name", ["run_id", "sample_id", "query_id"])
def test_ids_are_text_and_not_normalised(name: str) -> None:
    values = ["0042", "é", "e\u0301", " a ", 7]
    frame = read_samples([{"user_input": "q", name: value} for value in values])
    assert frame[name].to_list() == ["0042", "é", "e\u0301", " a ", "7"]
    assert read_samples(pl.DataFrame({"user_input": ["a", "b"], name: [1, 2]}))[name].to_list() == ["1", "2"]


@pytest.mark.parametrize("name", ["run_id", "sample_id", "query_id"])
def test_float_ids_are_refused(name: str) -> None:
    with pytest.raises(rf.DataError, match=rf"samples: '{name}' is no id in 1 sample: sample 1.* is 2.5 \(float\)"):
        read_samples([{"user_input": "q", name: "1"}, {"user_input": "r", name: 2.5}])
    for frame in (pl.DataFrame({"user_input": ["a"], name: [1.0]}), pd.DataFrame({"user_input": ["a"], name: [1.0]})):
        with pytest.raises(rf.DataError, match=rf"'{name}' is Float64.*ids are text.*where one is missing.*before"):
            read_samples(frame)


@pytest.mark.parametrize("kind", ["records", "polars", "pandas"])
def test_ids_of_contexts_may_be_whole_numbers(kind: str) -> None:
    made = {"user_input": ["a", "b"], "retrieved_context_ids": [[1, 2], []], "reference_context_ids": [[2], None]}
    frames = {"records": made, "polars": pl.DataFrame(made), "pandas": pd.DataFrame(made)}
    frame = read_samples(frames[kind])
    assert frame["retrieved_context_ids"].to_list() == [["1", "2"], []]
    assert frame["reference_context_ids"].to_list() == [["2"], None]


def test_ids_of_contexts_may_mix_numbers_and_text() -> None:
    frame = read_samples([{"user_input": "q", "retrieved_context_ids": [1, "b", np.int64(3), None]}])
    assert frame["retrieved_context_ids"].to_list() == [["1", "b", "3", None]]


@pytest.mark.parametrize("odd", [1.0, True, float("inf"), {"a": 1}, ["x"], b"x"])
def test_ids_of_contexts_that_are_none_are_refused(odd: object) -> None:
    with pytest.raises(rf.DataError, match=r"'retrieved_context_ids' is no list of ids in 1 sample: sample 1.*place 1"):
        read_samples([{"user_input": "q"}, {"user_input": "r", "retrieved_context_ids": ["a", odd]}])


def test_float_ids_of_contexts_are_refused_in_a_frame() -> None:
    frame = pl.DataFrame({"user_input": ["a", "b"], "retrieved_context_ids": [[], [1.0]]})
    with pytest.raises(rf.DataError, match=r"no list of ids in 1 sample: sample 1 holds 1.0 \(float\) at place 0"):
        read_samples(frame)


@pytest.mark.parametrize("name", ["user_input", "response", "reference", "persona_name"])
def test_whole_numbers_become_text_as_everywhere(name: str) -> None:
    source = [{"user_input": "q", name: 42}, {"user_input": "r", name: "x"}]
    assert read_samples(source)[name].to_list() == ["42", "x"]
    assert read_samples(pd.DataFrame(source))[name].to_list() == ["42", "x"]
    assert read_samples(pl.DataFrame({"retrieved_contexts": [["c"]], name: [42]}))[name].to_list() == ["42"]


@pytest.mark.parametrize("value", [3.5, True, {"a": 1}, date(2024, 1, 1), b"x"])
@pytest.mark.parametrize("name", ["user_input", "response", "reference"])
def test_what_is_no_text_is_refused_by_sample_and_field(name: str, value: object) -> None:
    source = [{"id": "a", "user_input": "q"}, {"id": "b", "user_input": "r", name: value}]
    with pytest.raises(rf.DataError, match=rf"samples: '{name}' is no text in 1 sample: sample 1 \('b'\) is .*before"):
        read_samples(source)


def test_a_conversation_of_several_turns_is_refused() -> None:
    with pytest.raises(rf.DataError, match=r"'user_input' is no text in 1 sample: sample 0 is a list.*several turns"):
        read_samples([{"user_input": [{"content": "hello", "type": "human"}]}])


@pytest.mark.parametrize("name", ["user_input", "response"])
def test_a_list_in_place_of_text_is_refused_in_a_frame(name: str) -> None:
    with pytest.raises(rf.DataError, match=rf"'{name}' is List\(String\), which is not text"):
        read_samples(pl.DataFrame({name: [["a"]], "reference": ["x"]}))


@pytest.mark.parametrize("dtype", [pl.Categorical, pl.Enum(["a", "b"])])
def test_categories_are_text(dtype: Any) -> None:
    frame = pl.DataFrame(
        {
            "user_input": pl.Series(["a", None], dtype=dtype),
            "retrieved_contexts": pl.Series([["a", "b"], None], dtype=pl.List(dtype)),
        }
    )
    assert read_samples(frame).rows() == [("0", "a", ["a", "b"]), ("1", None, None)]


def test_arrays_of_fixed_length_are_lists() -> None:
    contexts = pl.Series([["a", "b"], None], dtype=pl.Array(pl.String, 2))
    frame = read_samples(pl.DataFrame({"user_input": ["q", "r"], "retrieved_contexts": contexts}))
    assert frame.schema["retrieved_contexts"] == TEXTS
    assert frame["retrieved_contexts"].to_list() == [["a", "b"], None]


# Names.


@pytest.mark.parametrize("alias", ["id", "_id", "sample-id"])
def test_sample_ids_are_read_under_other_names(alias: str) -> None:
    assert read_samples([{alias: "a", "user_input": "q"}]).rows() == [("a", "q")]
    assert read_samples(pl.DataFrame({alias: [1], "user_input": ["q"]})).rows() == [("1", "q")]


def test_columns_names_any_other(tmp_path: Path) -> None:
    columns = {"ask": "user_input", "docs": "retrieved_contexts", "nr": "sample_id"}
    records = [{"ask": "q", "docs": ["c"], "nr": 7, "keep": True}]
    for source in (records, pl.DataFrame(records), pl.LazyFrame(records), pd.DataFrame(records)):
        assert read_samples(source, columns=columns).rows() == [("7", "q", ["c"], True)]
    path = written(tmp_path / "s.jsonl", lines(records))
    assert read_samples(path, columns=columns).columns == ["sample_id", "user_input", "retrieved_contexts", "keep"]


def test_columns_that_are_not_there_are_refused() -> None:
    with pytest.raises(rf.DataError, match=r"columns= names 'ask', but there are only 'user_input'"):
        read_samples([{"user_input": "q"}], columns={"ask": "response"})


@pytest.mark.parametrize("name", ["user_input", "response", "reference", "references", "retrieved_contexts"])
def test_one_column_of_content_is_enough(name: str) -> None:
    value = ["x"] if name.endswith("s") else "x"
    assert read_samples([{name: value}]).rows() == [("0", value)]


def test_ids_of_contexts_alone_are_enough() -> None:
    record = {"retrieved_context_ids": ["a"], "reference_context_ids": ["b"]}
    assert read_samples([record]).row(0, named=True) == {"sample_id": "0", **record}


@pytest.mark.parametrize(
    ("record", "told"),
    [
        ({"prompt": "q", "completion": "r"}, r"no column of samples among 'prompt', 'completion'; read are user_input"),
        ({"query": "q", "user_inp": "x"}, r"among 'query', 'user_inp'; did you mean 'user_input'\? read are"),
        ({"sample_id": "a", "query_id": "q"}, r'read are .*; anything else by columns=\{"yours": "user_input"\}'),
    ],
)
def test_a_source_without_content_is_refused_with_what_is_read(record: dict[str, str], told: str) -> None:
    for source in ([record], pl.DataFrame([record]), pd.DataFrame([record])):
        with pytest.raises(rf.DataError, match=told):
            read_samples(source)
    with pytest.raises(rf.DataError, match=told):
        scan_samples(pl.LazyFrame([record]))


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("retreived_contexts", "retrieved_contexts"),
        ("retrieved_context", "retrieved_contexts"),
        ("retrievedContexts", "retrieved_contexts"),
        ("Retrieved Contexts", "retrieved_contexts"),
        ("retrieved-contexts", "retrieved_contexts"),
        ("refrence", "reference"),
        ("Reference", "reference"),
        ("refernces", "references"),
        ("respnse", "response"),
        ("RESPONSE", "response"),
        ("reference_context_id", "reference_context_ids"),
        ("ground_truth_source", "ground_truth_sources"),
    ],
)
def test_a_misspelt_column_is_refused_with_the_one_that_is_meant(name: str, meant: str) -> None:
    with pytest.raises(rf.DataError, match=rf"samples: '{name}': did you mean '{meant}'\? columns=") as error:
        read_samples([{"user_input": "q", name: "x"}])
    assert f'columns={{"{name}": "{meant}"}} reads it so' in str(error.value)
    kept = read_samples([{"user_input": "q", name: "x"}], columns={name: name})
    assert kept.rows() == [("0", "q", "x")]
    value = ["x"] if meant.endswith("s") else "x"
    assert read_samples([{"user_input": "q", name: value}], columns={name: meant}).columns[-1] == meant


@pytest.mark.parametrize(
    "name",
    [
        "topic",
        "context_count",
        "reference_id",
        "response_time",
        "user",
        "user_id",
        "input",
        "references_count",
        "source",
    ],
)
def test_honest_metadata_is_no_misspelling(name: str) -> None:
    assert read_samples([{"question_type": "x", "retrieved_contexts": ["c"], name: 1}]).columns[-1] == name


def test_a_column_like_one_that_is_there_is_metadata() -> None:
    record = {"response": "r", "Response": "other", "reference": "x", "reference2": "y"}
    assert read_samples([record]).columns == ["sample_id", "response", "reference", "Response", "reference2"]


# The names of Ragas 0.1.


OLD: dict[str, Any] = {"question": "q", "answer": "r", "contexts": ["c", "d"], "ground_truth": "t"}


def test_the_old_names_are_refused_with_the_new_ones() -> None:
    for source in ([OLD], pl.DataFrame([OLD]), pd.DataFrame([OLD]), {name: [value] for name, value in OLD.items()}):
        with pytest.raises(
            rf.DataError, match=r"samples: names of Ragas 0.1: 'question' is now 'user_input', "
        ) as error:
            read_samples(source)
        assert all(f"{name!r} is now {LEGACY[name]!r}" for name in OLD)
        assert "'contexts' is now 'retrieved_contexts'" in str(error.value)
        assert "legacy=True reads them so" in str(error.value)
    with pytest.raises(rf.DataError, match=r"'ground_truths' is now 'references'"):
        read_samples([{"user_input": "q", "ground_truths": ["a"]}])
    with pytest.raises(rf.DataError, match=r"names of Ragas 0.1"):
        scan_samples(pl.LazyFrame([OLD]))


@pytest.mark.parametrize("name", LEGACY)
def test_each_old_name_is_refused_beside_new_ones(name: str) -> None:
    new = {"user_input": "q", "response": "r", "retrieved_contexts": ["c"], "reference": "t"}
    kept = {key: value for key, value in new.items() if key not in (LEGACY[name], "reference")}
    with pytest.raises(rf.DataError, match=rf"'{name}' is now '{LEGACY[name]}'; legacy=True"):
        read_samples([{**kept, name: ["x"] if LEGACY[name].endswith("s") else "x"}])


def test_the_old_names_are_mapped_on_request() -> None:
    right = {"sample_id": "0", "user_input": "q", "response": "r", "reference": "t", "retrieved_contexts": ["c", "d"]}
    for source in ([OLD], pl.DataFrame([OLD]), pl.LazyFrame([OLD]), pd.DataFrame([OLD])):
        assert read_samples(source, legacy=True).row(0, named=True) == right
    assert scan_samples(pl.LazyFrame([OLD]), legacy=True).collect().row(0, named=True) == right


def test_old_ground_truths_are_references() -> None:
    several = {"question": "q", "ground_truths": ["a", "b"]}
    assert read_samples([several], legacy=True).row(0, named=True)["references"] == ["a", "b"]
    both = read_samples([{**several, "ground_truth": "t"}], legacy=True).row(0, named=True)
    assert (both["reference"], both["references"]) == ("t", ["a", "b"])
    listed = read_samples([{"question": "q", "ground_truth": ["a", "b"]}], legacy=True)
    assert listed.row(0, named=True) == {"sample_id": "0", "user_input": "q", "references": ["a", "b"]}


def test_an_old_name_beside_its_new_one_is_metadata() -> None:
    record = {"user_input": "q", "question": "raw", "reference": "t", "ground_truths": ["u"], "contexts_n": 1}
    for legacy in (False, True):
        frame = read_samples([record], legacy=legacy)
        assert frame.columns == ["sample_id", "user_input", "reference", "question", "ground_truths", "contexts_n"]


def test_an_old_name_can_be_kept_as_metadata() -> None:
    frame = read_samples([{"user_input": "q", "answer": "gold"}], columns={"answer": "answer"})
    assert frame.rows() == [("0", "q", "gold")]


def test_legacy_changes_nothing_where_the_names_are_new() -> None:
    assert read_samples(RECORDS, legacy=True).equals(FRAME)


# Lists in `reference`.


@pytest.mark.parametrize("kind", ["records", "pandas", "objects"])
def test_lists_in_reference_go_to_references_and_texts_stay(kind: str) -> None:
    rows = [
        {"user_input": "q", "reference": value} for value in ["one", ["two", "three"], None, (), np.array(["four"])]
    ]
    source: Any = rows if kind == "records" else pd.DataFrame(rows)
    if kind == "objects":
        source = pl.DataFrame(
            {"user_input": ["q"] * 5, "reference": pl.Series([row["reference"] for row in rows], dtype=pl.Object)}
        )
    frame = read_samples(source)
    assert frame["reference"].to_list() == ["one", None, None, None, None]
    assert frame["references"].to_list() == [None, ["two", "three"], None, [], ["four"]]


@pytest.mark.parametrize("kind", ["records", "polars", "lazy", "pandas", "jsonl"])
def test_where_all_are_lists_there_is_no_reference(kind: str, tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [{"user_input": "q", "reference": ["a", "b"]}, {"user_input": "r", "reference": None}]
    sources: dict[str, Any] = {
        "records": rows,
        "polars": pl.DataFrame(rows),
        "lazy": pl.LazyFrame(rows),
        "pandas": pd.DataFrame(rows),
        "jsonl": written(tmp_path / "s.jsonl", lines(rows)),
    }
    frame = read_samples(sources[kind])
    assert frame.columns == ["sample_id", "user_input", "references"]
    assert frame["references"].to_list() == [["a", "b"], None]
    if kind == "lazy":
        assert scan_samples(sources[kind]).collect().equals(frame)


def test_a_reference_and_references_of_one_sample_are_both_kept() -> None:
    record = {"user_input": "q", "reference": "a", "references": ["b", "c"]}
    assert read_samples([record]).row(0, named=True) == {"sample_id": "0", **record}


def test_lists_of_reference_join_those_of_references() -> None:
    rows = [
        {"user_input": "q", "reference": ["a"], "references": None},
        {"user_input": "r", "reference": None, "references": ["b"]},
        {"user_input": "s", "reference": ["c"], "references": ["c"]},
    ]
    for source in (rows, pl.DataFrame(rows), pl.LazyFrame(rows)):
        frame = read_samples(source)
        assert frame.columns == ["sample_id", "user_input", "references"]
        assert frame["references"].to_list() == [["a"], ["b"], ["c"]]


def test_two_different_lists_for_one_sample_are_refused() -> None:
    rows = [
        {"id": "a", "user_input": "q", "reference": ["x"], "references": ["x"]},
        {"id": "b", "user_input": "q", "reference": ["x"], "references": ["y"]},
    ]
    for source in (rows, pl.DataFrame(rows), pl.LazyFrame(rows)):
        with pytest.raises(
            rf.DataError, match=r"'reference' and 'references' hold different lists in sample 1 \('b'\); keep one"
        ):
            read_samples(source)


def test_what_is_no_text_in_a_list_of_reference_is_refused() -> None:
    with pytest.raises(rf.DataError, match=r"'reference' is no list of texts in 1 sample: sample 0 holds 5 \(int\)"):
        read_samples([{"user_input": "q", "reference": ["x", 5]}])
    with pytest.raises(rf.DataError, match=r"'reference' is no list of texts in 1 sample: sample 0 holds 5 \(int\)"):
        read_samples(pl.DataFrame({"user_input": ["q"], "reference": [[5]]}))


# Sample ids.


@pytest.mark.parametrize(
    ("count", "first", "last"), [(1, "0", "0"), (10, "0", "9"), (11, "00", "10"), (101, "000", "100")]
)
def test_ids_are_made_from_positions_so_that_text_order_is_theirs(count: int, first: str, last: str) -> None:
    records = [{"user_input": f"q{n}"} for n in range(count)]
    for source in (records, pl.DataFrame(records), pl.LazyFrame(records), pd.DataFrame(records)):
        frame = read_samples(source)
        assert (frame["sample_id"][0], frame["sample_id"][-1]) == (first, last)
        assert frame["sample_id"].is_sorted()
        assert frame["sample_id"].n_unique() == count
        assert frame["user_input"].to_list() == [f"q{n}" for n in range(count)]


def test_ids_are_made_within_each_run_and_of_one_width() -> None:
    records = [{"run_id": "ab"[n % 2] if n < 4 else "a", "user_input": f"q{n}"} for n in range(14)]
    for frame in (read_samples(records), scan_samples(pl.LazyFrame(records)).collect()):
        a = frame.filter(run_id="a")
        assert a["sample_id"].to_list() == [f"{n:02d}" for n in range(12)]
        assert frame.filter(run_id="b")["sample_id"].to_list() == ["00", "01"]
        assert frame["user_input"].to_list() == [record["user_input"] for record in records]


def test_an_id_may_stand_in_every_run_once() -> None:
    records = [{"run_id": run, "sample_id": "s", "user_input": "q"} for run in "ab"]
    assert read_samples(records)["sample_id"].to_list() == ["s", "s"]
    with pytest.raises(rf.DataError, match=r"1 sample_id more than once in a run: 's' \(samples 1, 2\)"):
        read_samples([*records, records[1]])


def test_repeated_ids_are_refused_whatever_invalid_says() -> None:
    records = [{"id": f"s{n // 2}", "user_input": "q"} for n in range(14)]
    for invalid in ("error", "drop"):
        with pytest.raises(
            rf.DataError,
            match=r"7 sample_ids more than once: 's0' \(samples 0, 1\), .* and 2 more; a column run_id .*columns=",
        ):
            read_samples(records, invalid=invalid)


def test_ids_that_are_none_are_metadata_by_their_own_name() -> None:
    records = [{"id": "s", "user_input": "q"}, {"id": "s", "user_input": "r"}]
    frame = read_samples(records, columns={"id": "id"})
    assert frame.rows() == [("0", "q", "s"), ("1", "r", "s")]


def test_null_ids_are_refused_or_dropped_and_counted() -> None:
    records = [{"id": None if n % 3 else f"s{n}", "user_input": "q"} for n in range(12)]
    with pytest.raises(
        rf.DataError, match=r'8 samples without sample_id: sample 1, sample 2, .* and 3 more; invalid="drop"'
    ):
        read_samples(records)
    with pytest.warns(rf.RankframeWarning, match=r"samples: .*null id.*: 8, such as 'sample 1', 'sample 2'"):
        assert read_samples(records, invalid="drop")["sample_id"].to_list() == ["s0", "s3", "s6", "s9"]
    loaded = load_samples(records, invalid="drop")
    assert [(note.reason, note.count) for note in loaded.notes] == [("invalid_dropped", 8)]


def test_samples_are_numbered_as_they_stand_whatever_is_dropped() -> None:
    records = [{"id": name, "user_input": "q"} for name in (None, "a", None, "a")]
    with pytest.raises(rf.DataError, match=r"1 sample_id more than once: 'a' \(samples 1, 3\)"):
        read_samples(records, invalid="drop")


def test_a_null_run_is_refused() -> None:
    with pytest.raises(rf.DataError, match=r"samples: 1 null run_id; name every sample's run or drop the column"):
        read_samples([{"run_id": "a", "user_input": "q"}, {"run_id": None, "user_input": "q"}])
