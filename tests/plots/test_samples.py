"""The grid of samples by retrieval and generation; Altair is not needed for it."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankframe as rf
from rankframe.plots.samples import OUTCOMES, Grid, grid


def _scores(*pairs: tuple[float | None, float | None], run: str = "r") -> pl.DataFrame:
    return pl.DataFrame(
        [(run, f"s{i}", "ok", *pair) for i, pair in enumerate(pairs)],
        schema={
            "run_id": pl.String,
            "sample_id": pl.String,
            "status": pl.String,
            "context_id_recall": pl.Float64,
            "token_f1": pl.Float64,
        },
        orient="row",
    )


def _grid(scores: object, *, bins: Any = 2, failing: Any = None, **metrics: str) -> Grid:
    names = {"retrieval": "context_id_recall", "generation": "token_f1", **metrics}
    return grid(scores, names["retrieval"], names["generation"], bins, failing)


def test_every_sample_is_in_the_cell_of_its_values() -> None:
    found = _grid(_scores((1.0, 1.0), (0.5, 0.5), (1.0, 0.0), (0.49, 1.0), (0.0, 0.0)))
    assert found.frame.columns == [
        *("run_id", "retrieval", "generation", "n", "share", "outcome", "retrieval_bin", "generation_bin")
    ]
    assert found.frame.rows() == [
        ("r", 0, 0, 1, 0.2, "both failed", "0 to < 0.5", "0 to < 0.5"),
        ("r", 0, 1, 1, 0.2, "retrieval failed", "0 to < 0.5", "0.5 to 1"),
        ("r", 1, 0, 1, 0.2, "generation failed", "0.5 to 1", "0 to < 0.5"),
        ("r", 1, 1, 2, 0.4, "both fine", "0.5 to 1", "0.5 to 1"),
    ]
    assert found.notes == []


def test_the_lines_of_failure_are_edges_too() -> None:
    found = _grid(_scores((0.3, 0.3)), bins=[0.25], failing=(0.5, 0.3))
    assert found.retrieval == [0.0, 0.25, 0.5, 1.0]
    assert found.generation == [0.0, 0.25, 0.3, 1.0]
    assert found.frame.filter(pl.col("n") > 0).select("retrieval", "generation", "outcome").rows() == [
        (1, 2, "retrieval failed")
    ]


def test_samples_without_a_value_are_counted_per_run_and_not_in_the_shares() -> None:
    scores = pl.concat([_scores((1.0, 1.0), (None, 1.0), (0.0, float("nan"))), _scores((1.0, 1.0), run="s")])
    found = _grid(scores)
    assert found.notes == ["without recall of contexts by id or token F1, and not drawn: r 2 of 3 samples"]
    assert found.frame.filter(pl.col("n") > 0).select("run_id", "n", "share").rows() == [("r", 1, 1.0), ("s", 1, 1.0)]


def test_a_run_without_any_value_is_named() -> None:
    scores = pl.concat([_scores((1.0, 1.0)), _scores((None, None), run="silent")])
    assert _grid(scores).notes[0].endswith("silent 1 of 1 sample")


def test_metrics_of_another_range_have_bins_of_theirs() -> None:
    scores = _scores((0.5, 80.0)).rename({"token_f1": "chrf"})
    found = _grid(scores, generation="chrf")
    assert found.generation == [0.0, 50.0, 100.0]
    assert found.failing == (0.5, 50.0)


def test_real_samples_are_all_there() -> None:
    samples = [
        {"sample_id": f"s{i}", "response": "the cat sat", "reference": "the cat sat" if i % 2 else "a dog ran off"}
        | {"retrieved_context_ids": ["d1", "d2"], "reference_context_ids": ["d1"] if i % 3 else ["d9"]}
        for i in range(12)
    ]
    scores = rf.evaluate_samples(samples, metrics=["token_f1", "context_id_recall"]).scores
    sums = dict(_grid(scores).frame.group_by("outcome").agg(pl.col("n").sum()).iter_rows())
    assert sums == {"both fine": 4, "generation failed": 4, "retrieval failed": 2, "both failed": 2}


_VALUES = st.one_of(st.none(), st.floats(0, 1))


@given(
    pairs=st.lists(st.tuples(_VALUES, _VALUES), min_size=1, max_size=30),
    bins=st.integers(2, 9),
    failing=st.floats(0.01, 0.99),
)
def test_nothing_is_lost(pairs: list[tuple[float | None, float | None]], bins: int, failing: float) -> None:
    pairs = [*pairs, (0.5, 0.5)]
    found = _grid(_scores(*pairs), bins=bins, failing=failing)
    whole = [pair for pair in pairs if None not in pair]
    assert found.frame["n"].sum() == len(whole)
    assert found.frame["share"].sum() == pytest.approx(1)
    assert found.frame.height == (len(found.retrieval) - 1) * (len(found.generation) - 1)
    both_fine = sum(r >= failing and g >= failing for r, g in whole if r is not None and g is not None)
    assert found.frame.filter(pl.col("outcome") == OUTCOMES[0])["n"].sum() == both_fine


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"bins": 1}, r"bins=1: from 2 to 20"),
        ({"bins": [0.5, 0.2]}, r"bins=\[0\.5, 0\.2\]: how many, or ascending edges between 0 and 1"),
        ({"bins": [0.0, 0.5]}, r"ascending edges between 0 and 1"),
        ({"bins": "four"}, r"bins='four': how many"),
        ({"failing": 1.5}, r"failing=1\.5: a number, or one for retrieval and one for generation, within 0 to 1"),
        ({"failing": (0.5,)}, r"failing=\(0\.5,\): a number"),
        ({"failing": "low"}, r"failing='low': a number"),
        ({"retrieval": "token_f1"}, r"are both 'token_f1'"),
        ({"generation": "token_f2"}, r"no metric 'token_f2' in the frame; did you mean 'token_f1'\?"),
    ],
)
def test_options_that_mean_nothing_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(rf.DataError, match=message):
        _grid(_scores((0.5, 0.5)), **options)


def test_frames_that_have_nothing_to_draw_are_refused() -> None:
    with pytest.raises(rf.DataError, match=r"frame of report\.scores of rankframe\.evaluate_samples, got one"):
        _grid(_scores((0.5, 0.5)).clear())
    with pytest.raises(rf.DataError, match=r"no sample has a value of both 'context_id_recall' and 'token_f1'"):
        _grid(_scores((0.5, None), (None, 0.5)))
    with pytest.raises(rf.DataError, match=r"'token_f1' has 1 value outside of 0 to 1, as 7"):
        _grid(_scores((0.5, 7.0)))
    with pytest.raises(rf.DataError, match=r"lacks 'run_id'"):
        _grid(_scores((0.5, 0.5)).drop("run_id"))
