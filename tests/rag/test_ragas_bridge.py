"""The bridge to Ragas where Ragas is not: what is said of its absence, and results that are plain objects."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from rankframe.errors import DataError, ExtraError, MetricError
from rankframe.io.samples import load_samples
from rankframe.rag.ragas_bridge import as_ragas_dataset, evaluate_with_ragas, from_ragas_dataset, from_ragas_result

SAMPLES = [
    {"sample_id": "a", "user_input": "q1", "response": "r1", "reference": "t1", "topic": "x"},
    {"sample_id": "b", "user_input": "q2", "response": "r2", "topic": "y"},
    {"sample_id": "c", "user_input": "q3", "response": "r3", "reference": "t3", "topic": "x"},
]

NAN = float("nan")


# Without Ragas.

CALLS: dict[str, Callable[[], object]] = {
    "dataset": lambda: as_ragas_dataset(SAMPLES),
    "empty dataset": lambda: as_ragas_dataset([]),
    "evaluation": lambda: evaluate_with_ragas(SAMPLES, [object()]),
}


@pytest.mark.parametrize("call", CALLS)
def test_the_extra_is_named(monkeypatch: pytest.MonkeyPatch, call: str) -> None:
    monkeypatch.setenv("RAGAS_DO_NOT_TRACK", "true")
    monkeypatch.setitem(sys.modules, "ragas", None)
    for kind in (ImportError, ExtraError):
        with pytest.raises(kind, match=r"^Ragas is not installed: pip install 'rankframe\[ragas\]'$"):
            CALLS[call]()


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., None]:
    """Puts packages where they are imported from, by path and content."""
    monkeypatch.setenv("RAGAS_DO_NOT_TRACK", "true")

    def install(**contents: str) -> None:
        for name in [key for key in sys.modules if key.partition(".")[0] in ("ragas", "langchain_community")]:
            monkeypatch.delitem(sys.modules, name)
        for name, content in contents.items():
            (tmp_path / name).mkdir()
            (tmp_path / name / "__init__.py").write_text(content)
        monkeypatch.syspath_prepend(tmp_path)

    return install


def test_a_langchain_community_that_lacks_a_module_is_named_with_its_pin(installed: Callable[..., None]) -> None:
    installed(ragas="from langchain_community.chat_models.vertexai import ChatVertexAI", langchain_community="")
    message = (
        r"Ragas is installed and cannot be imported \(No module named 'langchain_community.chat_models'\): .* took "
        r"away a module that Ragas imports: pip install 'langchain-community<0.4.2'"
    )
    with pytest.raises(ExtraError, match=message):
        as_ragas_dataset(SAMPLES)


def test_any_other_module_that_it_lacks_is_named(installed: Callable[..., None]) -> None:
    installed(ragas="import a_module_that_is_nowhere")
    message = r"cannot be imported \(No module named 'a_module_that_is_nowhere'\): pip install 'rankframe\[ragas\]'"
    with pytest.raises(ExtraError, match=message):
        as_ragas_dataset(SAMPLES)


@pytest.mark.parametrize(("given", "then"), [(None, "true"), ("false", "false"), ("true", "true")])
def test_telemetry_is_off_before_ragas_is_imported_unless_the_user_decided(
    installed: Callable[..., None], monkeypatch: pytest.MonkeyPatch, given: str | None, then: str
) -> None:
    installed(ragas="import os; raise ImportError(f'told {os.environ[\"RAGAS_DO_NOT_TRACK\"]}')")
    if given is None:
        monkeypatch.delenv("RAGAS_DO_NOT_TRACK")
    else:
        monkeypatch.setenv("RAGAS_DO_NOT_TRACK", given)
    with pytest.raises(ExtraError, match=rf"cannot be imported \(told {then}\)"):
        as_ragas_dataset(SAMPLES)
    assert os.environ["RAGAS_DO_NOT_TRACK"] == then


def test_results_and_datasets_are_read_without_importing_ragas() -> None:
    code = (
        "import os, sys; from rankframe.rag.ragas_bridge import from_ragas_result; "
        "print(from_ragas_result([{'m': 0.5}], [{'user_input': 'q'}]).value('m')); "
        "print(*sys.modules); assert 'RAGAS_DO_NOT_TRACK' not in os.environ"
    )
    environment = {name: value for name, value in os.environ.items() if name != "RAGAS_DO_NOT_TRACK"}
    command = [sys.executable, "-W", "error", "-c", code]
    told = subprocess.run(command, capture_output=True, text=True, check=True, env=environment).stdout
    value, modules = told.splitlines()
    assert value == "0.5"
    assert set(modules.split()) & {"ragas", "langchain_core", "datasets", "pandas", "openai"} == set()


# Scores as they come.

FORMS: dict[str, Callable[[list[Any]], object]] = {
    "rows": lambda values: [{"m": value} for value in values],
    "mapping": lambda values: {"m": values},
    "array": lambda values: {"m": np.array(values, dtype=float)},
    "series": lambda values: {"m": pl.Series(values)},
    "polars": lambda values: pl.DataFrame({"m": values}, schema={"m": pl.Float64}),
    "lazy": lambda values: pl.LazyFrame({"m": values}, schema={"m": pl.Float64}),
    "pandas": lambda values: pd.DataFrame({"m": values}),
    "arrow": lambda values: pl.DataFrame({"m": values}, schema={"m": pl.Float64}).to_arrow(),
    "result": lambda values: SimpleNamespace(scores=[{"m": value} for value in values]),
    "experiment": lambda values: (SimpleNamespace(model_dump=lambda value=value: {"m": value}) for value in values),
    "metric results": lambda values: {"m": [SimpleNamespace(value=value, reason=None) for value in values]},
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([1.0, 0.25, 0.0], [(1.0, "ok"), (0.25, "ok"), (0.0, "ok")]),
        ([NAN, 0.25, None], [(None, "error"), (0.25, "ok"), (None, "error")]),
        ([math.inf, -math.inf, -0.5], [(None, "error"), (None, "error"), (-0.5, "ok")]),
        ([None, NAN, None], [(None, "error")] * 3),
    ],
)
def test_scores_of_every_form_are_read(form: str, values: list[Any], expected: list[Any]) -> None:
    report = from_ragas_result(FORMS[form](values), SAMPLES)
    assert report.scores.select("sample_id", "m", "m_status").rows() == [
        (sample["sample_id"], *row) for sample, row in zip(SAMPLES, expected, strict=True)
    ]
    assert report.scores.select("m", "m_status").schema == {"m": pl.Float64, "m_status": pl.String}
    scored = [value for value, _ in expected if value is not None]
    row = report.summary.row(0, named=True)
    assert (row["n"], row["n_null"], row["n_failed"]) == (len(scored), 3 - len(scored), 3 - len(scored))
    assert row["value"] == (sum(scored) / len(scored) if scored else None)


@pytest.mark.parametrize("one", [True, np.True_, np.float32(1), np.int64(1), np.array(1.0), 1])
def test_numbers_of_every_type_are_numbers(one: Any) -> None:
    assert from_ragas_result([{"m": one}], SAMPLES[:1]).scores["m"].to_list() == [1.0]


def test_reasons_are_kept_where_there_are_any() -> None:
    cells = [SimpleNamespace(value=0.5, reason="half"), SimpleNamespace(value=None, reason="gone"), 1.0]
    report = from_ragas_result({"m": cells, "n": [1, 0, 1]}, SAMPLES)
    assert report.scores["m_reason"].to_list() == ["half", "gone", None]
    assert "n_reason" not in report.scores.columns


def test_a_row_without_a_metric_has_no_score() -> None:
    report = from_ragas_result([{"m": 1.0}, {"n": 0.5}, {"m": 0.0, "n": 0.5}], SAMPLES)
    assert report.scores["m_status"].to_list() == ["ok", "error", "ok"]
    assert report.scores["n"].to_list() == [None, 0.5, 0.5]


def test_inputs_among_the_scores_are_none_and_are_looked_at() -> None:
    rows = [{**sample, "m": 1.0} for sample in SAMPLES]
    report = from_ragas_result(
        rows, [{"sample_id": sample["sample_id"], "response": "r"} for sample in SAMPLES], metrics="m"
    )
    assert [metric.name for metric in report.metrics] == ["m"]
    some = [{key: row[key] for key in (*keys, "m")} for row, keys in zip(rows, [["sample_id"], [], []], strict=True)]
    assert from_ragas_result(some, SAMPLES).value("m") == 1.0
    with pytest.raises(DataError, match=r"in 2 rows sample_id is not that of the sample in the same place: sample 'c'"):
        from_ragas_result(rows, SAMPLES[::-1], metrics=["m"])
    with pytest.raises(DataError, match=r"in 1 row user_input is not .*: sample 'b' has 'other', the scores have 'q2'"):
        from_ragas_result(rows, [SAMPLES[0], {**SAMPLES[1], "user_input": "other"}, SAMPLES[2]], metrics=["m"])


@pytest.mark.parametrize(
    ("result", "message"),
    [
        ([{"m": 1.0}], r"1 row for 3 samples; scores are put back by position, so there is one for each sample"),
        ([{"m": 1.0}] * 4, r"4 rows for 3 samples"),
        ([], r"0 rows for 3 samples"),
        ([{"m": 1.0, "user_input": "q1"}, {"m": 1.0, "user_input": "q3"}], r"2 rows for 3 .*none for user_input 'q2'"),
        ([{}, {}, {}], r"0 rows for 3 samples"),
        (
            [{"user_input": "q1"}, {"user_input": "q2"}, {"user_input": "q3"}],
            r"no metric among the columns 'user_input'",
        ),
        ({"m": [1.0, 0.5, 0.0], "n": [1.0]}, r"lists of the mapping are of different lengths: {'m': 3, 'n': 1}"),
        ({"m": 0.5}, r"'m' of the mapping hold no list; expected metric -> a value for each sample"),
        ({"m": {"a": 0.5}}, r"'m' of the mapping hold no list"),
        ([0.5, 0.5, 0.5], r"is no result of Ragas; expected what evaluate\(\) returned"),
        ("scores.csv", r"scores: 'scores.csv' is no result of Ragas"),
        (7, r"scores: 7 is no result of Ragas"),
        (
            {"m": ["pass", "fail", 1.0]},
            r"2 values of 'm' no number \(sample 'a': 'pass', sample 'b': 'fail'\); turn the w",
        ),
        ({"m": [[1, 2], 1.0, 1.0]}, r"1 value of 'm' no number \(sample 'a': \[1, 2\]\)"),
        ({"topic": [1.0, 1.0, 1.0]}, r"'topic' .* are columns of the samples; suffix=\"_ragas\" renames them"),
        ({"status": [1.0, 1.0, 1.0]}, r"'status' .* are columns of the samples; suffix=\"_ragas\""),
    ],
)
def test_what_is_no_score_of_these_samples_is_refused(result: object, message: str) -> None:
    with pytest.raises(DataError, match=message):
        from_ragas_result(result, SAMPLES)


def test_a_metric_that_is_not_there_is_named_with_the_nearest() -> None:
    with pytest.raises(
        DataError, match=r"no metric 'faithfulnes': did you mean 'faithfulness'\? Valid: faithfulness, m"
    ):
        from_ragas_result({"faithfulness": [1, 1, 1], "m": [1, 1, 1]}, SAMPLES, metrics=["faithfulnes"])


def test_taken_names_get_the_suffix_and_others_stay() -> None:
    samples = [{**sample, "m_status": "mine"} for sample in SAMPLES]
    result = {"topic": [1.0, 1.0, 1.0], "m": [0.5, 0.5, 0.5], "n": [0.0, 0.0, 0.0]}
    report = from_ragas_result(result, samples, suffix="_ragas")
    assert [(metric.name, metric.asked) for metric in report.metrics] == [
        ("topic_ragas", "topic"),
        ("m_ragas", "m"),
        ("n", "n"),
    ]
    with pytest.raises(DataError, match=r"with suffix='_id' the names 'topic_id' are still taken"):
        from_ragas_result(result, [{**sample, "topic_id": 1} for sample in SAMPLES], suffix="_id")
    with pytest.raises(DataError, match=r"with suffix='_2' the names 'topic_2' are still taken"):
        from_ragas_result({"topic": [1.0] * 3, "topic_2": [1.0] * 3}, SAMPLES, suffix="_2")


def test_the_run_is_named_by_the_samples_or_the_caller() -> None:
    assert from_ragas_result({"m": [1, 1, 1]}, SAMPLES).runs == ["run"]
    assert from_ragas_result({"m": [1, 1, 1]}, SAMPLES, run_id="bm25").runs == ["bm25"]
    samples = [{**sample, "run_id": run} for sample, run in zip(SAMPLES, "zyz", strict=True)]
    report = from_ragas_result({"m": [1, 2, 3]}, samples)
    assert report.scores.select("run_id", "sample_id", "m").rows() == [
        ("y", "b", 2.0),
        ("z", "a", 1.0),
        ("z", "c", 3.0),
    ]
    with pytest.raises(DataError, match=r"have the column 'run_id' already; leave out run_id='x'"):
        from_ragas_result({"m": [1, 2, 3]}, samples, run_id="x")


# What a metric needs, by the attributes that Ragas' metrics have.


def metric(**attributes: Any) -> Any:
    return SimpleNamespace(name="m", **attributes)


async def ascore(response: str, reference: str, retrieved_contexts: Any = None) -> None: ...


async def anything(**given: Any) -> None: ...


@pytest.mark.parametrize(
    "needs",
    [
        metric(required_columns={"SINGLE_TURN": {"response", "reference"}}),
        metric(ascore=ascore),
        metric(ascore=anything, _func=ascore),
        metric(ascore=anything, get_variables=lambda: ["response", "reference", "response"]),
    ],
)
def test_samples_that_lack_what_a_given_metric_needs_are_missing(needs: Any) -> None:
    report = from_ragas_result({"m": [0.5, 1.0, NAN]}, SAMPLES, metrics=[needs])
    assert report.scores.select("m", "m_status").rows() == [(0.5, "ok"), (None, "missing_input"), (None, "error")]
    assert report.summary.select("value", "n", "n_null", "n_failed").rows() == [(0.5, 1, 2, 1)]


def test_a_mode_is_part_of_the_name() -> None:
    needs = metric(mode="recall", required_columns={"SINGLE_TURN": set()})
    report = from_ragas_result({"m(mode=recall)": [1, 0, 1]}, SAMPLES, metrics=[needs])
    assert report.scores["m(mode=recall)"].to_list() == [1.0, 0.0, 1.0]
    both = from_ragas_result({"m(mode=recall)": [1, 0, 1], "m": [1, 1, 1]}, SAMPLES, metrics=[needs, "m"])
    assert [each.name for each in both.metrics] == ["m(mode=recall)", "m"]


def test_metrics_that_do_not_tell_what_they_need_are_refused() -> None:
    with pytest.raises(MetricError, match=r"m scores conversations \(MultiTurnSample\), and samples are none"):
        from_ragas_result({"m": [1, 1, 1]}, SAMPLES, metrics=[metric(required_columns={"MULTI_TURN": set()})])
    with pytest.raises(MetricError, match=r"m does not tell which columns it needs \(ascore takes \*\*kwargs\)"):
        from_ragas_result({"m": [1, 1, 1]}, SAMPLES, metrics=[metric(ascore=anything)])


def test_a_metric_twice_is_refused() -> None:
    with pytest.raises(DataError, match=r"'m' more than once; give one of them another name, as in metric.name"):
        from_ragas_result({"m": [1, 1, 1]}, SAMPLES, metrics=["m", "m"])


# Datasets.


def test_samples_of_any_object_with_the_fields_come_back() -> None:
    turns = [SimpleNamespace(user_input="q1", retrieved_contexts=["c"], response=None)]
    assert from_ragas_dataset(SimpleNamespace(samples=turns)).rows() == [("0", "q1", ["c"])]
    assert from_ragas_dataset(turns, SAMPLES[:1]).equals(
        load_samples(SAMPLES[:1]).frame.with_columns(response=None, reference=None, retrieved_contexts=pl.lit(["c"]))
    )
