"""Bootstrap intervals: how often they hold the mean, what scipy gives, and what they do not depend on."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankframe as rf
from rankframe import intervals
from rankframe.intervals import Interval, Intervals, Method, mean_intervals
from rankframe.metrics.metric import GMEAN_FLOOR
from tests.comparison.shared import report_of

METHODS: tuple[Method, ...] = ("bca", "percentile")
Array = np.ndarray[Any, np.dtype[np.float64]]
Draw = Callable[[np.random.Generator, tuple[int, int]], Array]


def of(*columns: Sequence[float] | Array, unit: str = "query", **options: Any) -> list[Interval]:
    return mean_intervals([np.asarray(column, dtype=np.float64) for column in columns], Intervals(**options), unit)


def ends(*columns: Sequence[float] | Array, **options: Any) -> Array:
    """(columns, 2): the low and the high end of each."""
    found = of(*columns, **options)
    assert [interval.reason for interval in found] == [None] * len(columns)
    return np.array([(interval.low, interval.high) for interval in found]).reshape(len(columns), 2)


def scores(n: int, seed: int = 3) -> Array:
    """Like the values of a retrieval metric: a third of them 0, some 1, the others between."""
    rng = np.random.default_rng(seed)
    values: Array = np.where(rng.random(n) < 0.3, 0.0, np.minimum(rng.beta(2, 2, n) * 1.3, 1.0))
    return values


# How often they hold the mean.

RECIPROCAL = np.array([1, 1 / 2, 1 / 3, 1 / 4, 1 / 10, 0])
SHARES = np.array([0.4, 0.2, 0.1, 0.1, 0.1, 0.1])


def _mostly(constant: float, share: float, draw: Draw) -> Draw:
    return lambda rng, shape: np.where(rng.random(shape) < share, constant, draw(rng, shape))


def _uniform(rng: np.random.Generator, shape: tuple[int, int]) -> Array:
    return rng.random(shape)


def _beta(a: float, b: float) -> Draw:
    return lambda rng, shape: rng.beta(a, b, shape)


POPULATIONS: dict[str, tuple[Draw, float]] = {
    "uniform": (_uniform, 0.5),
    "beta, skewed": (_beta(2, 5), 2 / 7),
    "beta, at both ends": (_beta(0.5, 0.5), 0.5),
    "a third is 0": (_mostly(0.0, 0.3, _beta(2, 2)), 0.35),
    "most are 0": (_mostly(0.0, 0.6, _beta(2, 2)), 0.2),
    "most are 1": (_mostly(1.0, 0.6, _beta(2, 2)), 0.8),
    "reciprocal ranks": (lambda rng, shape: rng.choice(RECIPROCAL, p=SHARES, size=shape), float(RECIPROCAL @ SHARES)),
}
HARD: dict[str, tuple[Draw, float]] = {
    "four fifths are 0": (_mostly(0.0, 0.8, _beta(2, 2)), 0.1),
    "four fifths are 1": (_mostly(1.0, 0.8, _uniform), 0.9),
}
"""So skewed that percentiles alone hold the mean of 50 values in 93 % of the samples, and would fail by chance."""
ALL = POPULATIONS | HARD


def covered(population: str, method: Method) -> float:
    """The share of 3 x 2,000 samples of 50 whose interval holds the mean of the population.

    Samples of one length share their resamples, so each 2,000 get another seed.
    """
    draw, mean = ALL[population]
    rng = np.random.default_rng(11)
    blocks = [ends(*draw(rng, (2_000, 50)), method=method, n_resamples=1_000, seed=seed) for seed in range(3)]
    low, high = np.concatenate(blocks).T
    return float(((low <= mean) & (mean <= high)).mean())


@pytest.mark.parametrize("population", POPULATIONS)
@pytest.mark.parametrize("method", METHODS)
def test_an_interval_of_95_percent_holds_the_mean_of_95_percent_of_samples(population: str, method: Method) -> None:
    assert 0.93 <= covered(population, method) <= 0.97


@pytest.mark.parametrize("population", HARD)
def test_the_default_does_so_for_skewed_values_and_percentiles_do_it_less_well(population: str) -> None:
    default = covered(population, Intervals().method)
    assert 0.93 <= default <= 0.97
    assert 0.92 <= covered(population, "percentile") < default


# What they are equal to.


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("level", [0.8, 0.95])
@pytest.mark.parametrize("n", [20, 50, 200])
def test_scipy_gives_the_same_but_for_noise(method: Method, level: float, n: int) -> None:
    stats = pytest.importorskip("scipy.stats", reason="the extra stats is not installed")
    values = scores(n)
    [(low, high)] = ends(values, method=method, level=level, n_resamples=10_000)
    theirs = stats.bootstrap(
        (values,),
        np.mean,
        confidence_level=level,
        n_resamples=10_000,
        method="BCa" if method == "bca" else method,
        rng=np.random.default_rng(1),
    ).confidence_interval
    # six standard errors of a quantile's difference at these tails, for a normal mean; those of BCa's bias are less
    noise = 6 * 2 * values.std() / math.sqrt(n) / math.sqrt(10_000)
    assert low == pytest.approx(theirs.low, abs=2 * noise)
    assert high == pytest.approx(theirs.high, abs=2 * noise)


LONG = {
    "scores": scores(12_000),
    "most are 1": np.where(np.random.default_rng(2).random(12_000) < 0.9, 1.0, 0.25),
    "symmetric": np.random.default_rng(4).random(10_000),
    "counts": np.random.default_rng(5).poisson(3, 10_000).astype(np.float64),
}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kind", LONG)
def test_an_expansion_of_many_values_gives_what_resampling_gives(
    kind: str, method: Method, monkeypatch: pytest.MonkeyPatch
) -> None:
    values = LONG[kind]
    found = ends(values, method=method)
    assert (found == ends(values, method=method, seed=9)).all()  # not drawn
    monkeypatch.setattr(intervals, "_EXPANDED_FROM", len(values) + 1)
    drawn = ends(values, method=method, n_resamples=4_000)
    assert (drawn != found).any()
    noise = 2 * values.std() / math.sqrt(len(values)) / math.sqrt(4_000)  # of a 2.5 % quantile: 2.67 standard errors
    assert found == pytest.approx(drawn, abs=6 * noise)


def test_an_expansion_gives_what_scipy_gives() -> None:
    stats = pytest.importorskip("scipy.stats", reason="the extra stats is not installed")
    values = LONG["scores"]
    theirs = stats.bootstrap((values,), np.mean, n_resamples=2_000, batch=200, rng=np.random.default_rng(1))
    noise = 2 * values.std() / math.sqrt(len(values)) / math.sqrt(2_000)
    assert ends(values)[0] == pytest.approx(np.array(theirs.confidence_interval), abs=6 * noise)


def test_many_values_of_which_the_mean_is_skewed_are_resampled() -> None:
    values = np.zeros(10_000)
    values[:10] = 1.0  # the skewness of the mean is 0.32
    assert (ends(values) != ends(values, seed=1)).any()


def test_a_shift_of_all_values_shifts_the_interval_and_a_factor_stretches_it() -> None:
    values = scores(60)
    plain, shifted, stretched = ends(values, values + 2.0, values * 8.0)
    assert shifted == pytest.approx(plain + 2.0)
    assert stretched == pytest.approx(plain * 8.0)


# Without a bootstrap.


@pytest.mark.parametrize("value", [0.0, 0.1, 1 / 3, 1.0])
@pytest.mark.parametrize("n", [2, 3, 49, 20_000])
@pytest.mark.parametrize("method", METHODS)
def test_equal_values_give_an_interval_without_width(value: float, n: int, method: Method) -> None:
    assert of([value] * n, method=method) == [Interval(value, value, None)]


@pytest.mark.parametrize(
    ("values", "unit", "reason"),
    [
        ([], "query", "no value"),
        ([], "sample", "no value"),
        ([0.5], "query", "one query"),
        ([0.5], "sample", "one sample"),
        ([math.inf], "query", "one query"),
        ([0.5, math.inf], "query", "a value is not finite"),
        ([-math.inf, 0.5, 0.5], "query", "a value is not finite"),
        ([math.inf, math.inf], "query", "a value is not finite"),
    ],
)
def test_what_has_no_interval_says_why(values: list[float], unit: str, reason: str) -> None:
    assert of(values, unit=unit) == [Interval(None, None, reason)]


def test_no_columns_have_no_intervals() -> None:
    assert of() == []


@pytest.mark.parametrize("size", [1e-120, 1e120])
@pytest.mark.parametrize("method", METHODS)
def test_values_may_be_of_any_size(size: float, method: Method) -> None:
    values = scores(30)
    plain, sized = ends(values, values * size, method=method)
    assert sized / size == pytest.approx(plain)


# What they depend on.


def test_the_same_seed_gives_the_same_and_another_nearly_the_same() -> None:
    values = scores(80)
    first = ends(values, seed=5)
    assert (first == ends(values, seed=5)).all()
    others = np.concatenate([ends(values, seed=seed) for seed in range(6, 12)])
    assert len(np.unique(others[:, 0])) > 1
    assert others == pytest.approx(np.repeat(first, 6, axis=0), abs=0.2 * (first[0, 1] - first[0, 0]))


def test_the_default_seed_is_0() -> None:
    assert (ends(scores(80)) == ends(scores(80), seed=0)).all()


KINDS = {
    "any": st.floats(0, 1, allow_subnormal=False).map(lambda value: round(value, 6)),
    "reciprocal ranks": st.sampled_from([1, 1 / 2, 1 / 3, 1 / 5, 1 / 7, 0]),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("method", METHODS)
@given(data=st.data())
def test_an_interval_depends_on_its_own_column_alone(kind: str, method: Method, data: st.DataObject) -> None:
    """Neither on those beside it, nor on which comes first, whatever the rounding of a product of matrices."""
    drawn = data.draw(
        st.lists(
            st.sampled_from([7, 37, 40]).flatmap(lambda n: st.lists(KINDS[kind], min_size=n, max_size=n)), max_size=9
        )
    )
    options: dict[str, Any] = {"method": method, "n_resamples": 500}
    together = ends(*drawn, **options)
    assert ends(*reversed(drawn), **options)[::-1] == pytest.approx(together, abs=1e-12)
    for column, interval in zip(drawn, together, strict=True):
        assert ends(column, **options)[0] == pytest.approx(interval, abs=1e-12)


def test_of_forty_columns_of_reciprocal_ranks_too() -> None:
    rng = np.random.default_rng(1)
    columns = rng.choice([1, 1 / 2, 1 / 3, 1 / 4, 1 / 5, 1 / 7, 0], size=(40, 37))
    alone = np.concatenate([ends(column) for column in columns])
    assert ends(*columns) == pytest.approx(alone, abs=1e-12)
    assert ends(*columns[::-1])[::-1] == pytest.approx(alone, abs=1e-12)


def test_how_many_draws_are_held_at_a_time_does_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    values = scores(33), scores(33, seed=8)
    whole = ends(*values)
    monkeypatch.setattr(intervals, "_DRAWS_AT_ONCE", 33 * 7)
    assert ends(*values) == pytest.approx(whole, abs=1e-12)


def test_the_columns_are_not_changed() -> None:
    values = scores(40)
    before = values.copy()
    ends(values)
    assert (values == before).all()


LEVELS = st.floats(0.01, 0.9999)


@pytest.mark.parametrize("method", METHODS)
@given(values=st.lists(KINDS["any"], min_size=2, max_size=60), levels=st.tuples(LEVELS, LEVELS).map(sorted))
def test_a_higher_level_is_wider_and_low_is_never_above_high(
    method: Method, values: list[float], levels: list[float]
) -> None:
    [narrow], [wide] = (ends(values, method=method, level=level, n_resamples=300) for level in levels)
    assert wide[0] <= narrow[0] <= narrow[1] <= wide[1]
    for low, high in (narrow, wide):
        assert min(values) - 1e-12 <= low
        assert high <= max(values) + 1e-12


@pytest.mark.parametrize("level", [0.99, 0.999999, 1 - 1e-9, 1 - 1e-12])
@pytest.mark.parametrize("method", METHODS)
def test_an_interval_of_one_value_among_zeros_holds_the_mean_at_every_high_level(method: Method, level: float) -> None:
    [(low, high)] = ends([1.0, *[0.0] * 49], method=method, level=level)
    assert low <= 0.02 < high


# Options.


@pytest.mark.parametrize("level", [0, 1, 95, -0.1, math.nan, True, "0.95", None])
def test_a_level_is_a_share(level: Any) -> None:
    with pytest.raises(rf.DataError, match=r"^level is a share between 0 and 1, as in level=0\.95, got "):
        Intervals(level=level)


@pytest.mark.parametrize("method", ["BCa", "basic", "", None, 1])
def test_a_method_is_one_of_two(method: Any) -> None:
    with pytest.raises(rf.DataError, match=rf'^method is "bca" or "percentile", got {method!r}$'):
        Intervals(method=method)


@pytest.mark.parametrize("n", [0, 99, -100, 1_000.0, True, "1000", None])
def test_resamples_are_a_whole_number_of_at_least_100(n: Any) -> None:
    with pytest.raises(
        rf.DataError, match=r"^n_resamples is a whole number of at least 100 and at most 1,000,000, got "
    ):
        Intervals(n_resamples=n)


@pytest.mark.parametrize("seed", [-1, 0.5, False, "1", None])
def test_a_seed_is_a_whole_number(seed: Any) -> None:
    with pytest.raises(rf.DataError, match=r"^seed is a whole number of at least 0, got "):
        Intervals(seed=seed)


def test_a_report_refuses_them_at_once() -> None:
    report = report_of({"a": {"q1": 0.5}})
    with pytest.raises(rf.DataError, match=r"^level is a share between 0 and 1"):
        report.with_intervals(level=95)
    with pytest.raises(
        rf.DataError, match=r"^n_resamples is a whole number of at least 100 and at most 1,000,000, got 10$"
    ):
        report.with_intervals(n_resamples=10)


# In reports.

QRELS = {f"q{i:02}": {"d1": 1, "d2": 2} for i in range(12)}
HALVES = pl.DataFrame({"query_id": list(QRELS), "half": ["x", "y"] * 6})
RUNS = {
    "a": {query: {f"d{(i + j) % 5}": 1.0 / (j + 1) for j in range(3)} for i, query in enumerate(QRELS)},
    "b": {query: {f"d{(2 * i + j) % 7}": 1.0 / (j + 1) for j in range(4)} for i, query in enumerate(QRELS)},
}


def report(*metrics: str) -> rf.Report:
    return rf.evaluate(RUNS, QRELS, metrics=metrics or ["ndcg@3", "map"])


def test_a_summary_has_the_intervals_of_its_means() -> None:
    found = report().summary
    assert found.columns[:9] == [
        "run_id", "metric", "aggregate", "value", "std", "median", "ci_low", "ci_high", "n",
    ]  # fmt: skip
    assert found.columns[9:] == ["n_missing", "n_null", "n_failed", "ci_reason"]
    for row in found.iter_rows(named=True):
        values = report().scores.filter(run_id=row["run_id"])[row["metric"]]
        assert (row["ci_low"], row["ci_high"]) == pytest.approx(tuple(ends(values.to_numpy())[0]))
        assert row["ci_low"] < row["value"] < row["ci_high"]
        assert row["ci_reason"] is None


def test_a_sum_and_a_geometric_mean_have_the_interval_of_the_mean_below_them() -> None:
    made = report("map", "gm_map", "num_rel_ret")
    for run in ("a", "b"):
        rows = made.scores.filter(run_id=run)
        found = {row["aggregate"]: row for row in made.summary.filter(run_id=run).iter_rows(named=True)}
        of_logs = ends(np.log(np.maximum(rows["map"].to_numpy(), GMEAN_FLOOR)))[0]
        assert (found["gmean"]["ci_low"], found["gmean"]["ci_high"]) == pytest.approx(tuple(np.exp(of_logs)))
        of_counts = ends(rows["num_rel_ret"].to_numpy())[0] * rows.height
        assert (found["sum"]["ci_low"], found["sum"]["ci_high"]) == pytest.approx(tuple(of_counts))
        assert (found["mean"]["ci_low"], found["mean"]["ci_high"]) == pytest.approx(
            tuple(ends(rows["map"].to_numpy())[0])
        )


@pytest.mark.parametrize("value", [0.1, 1 / 3, 0.7])
def test_of_equal_scores_both_ends_are_the_very_value(value: float) -> None:
    row = report_of({"a": {f"q{i}": value for i in range(13)}}).summary.row(0, named=True)
    assert row["ci_low"] == row["value"] == row["ci_high"]
    assert row["ci_reason"] is None


def test_a_summary_says_why_there_is_no_interval() -> None:
    found = report_of({"a": {"q1": 0.5, "q2": None}, "b": {"q1": None, "q2": None}, "c": {"q1": 0.1, "q2": math.inf}})
    told = found.summary.select("run_id", "ci_low", "ci_high", "ci_reason").rows()
    assert told == [
        ("a", None, None, "one query"),
        ("b", None, None, "no value"),
        ("c", None, None, "a value is not finite"),
    ]


def test_of_samples_each_metric_has_its_own_number_of_values() -> None:
    samples = [
        {"user_input": "x", "response": text, "reference": reference}
        for text, reference in [("Paris", "Paris"), ("Rome now", "Rome"), ("so", None)]
    ]
    made = rf.evaluate_samples(samples, metrics=["token_f1", "exact_match"])
    assert made.summary["n"].to_list() == [2, 2]
    assert made.summary["ci_reason"].to_list() == [None, None]
    one = rf.evaluate_samples(samples[1:], metrics="token_f1").summary.row(0, named=True)
    assert (one["n"], one["ci_low"], one["ci_high"], one["ci_reason"]) == (1, None, None, "one sample")


def widths(summary: pl.DataFrame) -> Array:
    found: Array = (summary["ci_high"] - summary["ci_low"]).to_numpy()
    return found


def test_other_intervals_are_in_the_summary_and_in_slices() -> None:
    plain = report().join(HALVES)
    narrow = plain.with_intervals(level=0.5)
    assert narrow.intervals == Intervals(level=0.5)
    assert plain.intervals == Intervals()
    assert (widths(narrow.summary) < widths(plain.summary)).all()
    assert (widths(narrow.by("half")) < widths(plain.by("half"))).all()
    assert narrow.summary.drop("ci_low", "ci_high").equals(plain.summary.drop("ci_low", "ci_high"))
    assert narrow.with_intervals().summary.equals(plain.summary)


@pytest.mark.parametrize(
    "options", [{"method": "percentile"}, {"seed": 4}, {"n_resamples": 300}], ids=lambda options: next(iter(options))
)
def test_every_option_changes_the_summary(options: dict[str, Any]) -> None:
    made = report().with_intervals(**options)
    assert not made.summary.equals(report().summary)
    row = made.summary.row(0, named=True)
    values = made.scores.filter(run_id=row["run_id"])[row["metric"]]
    assert (row["ci_low"], row["ci_high"]) == pytest.approx(tuple(ends(values.to_numpy(), **options)[0]))


def test_a_saved_report_keeps_its_intervals(tmp_path: Path) -> None:
    made = report().with_intervals(level=0.8, method="percentile", n_resamples=500, seed=3)
    made.write_parquet(tmp_path / "report.parquet")
    back = rf.read_report(tmp_path / "report.parquet")
    assert back.intervals == Intervals(0.8, "percentile", 500, 3)
    assert back.summary.equals(made.summary)


def test_a_report_saved_without_has_the_usual_ones(tmp_path: Path) -> None:
    report().write_parquet(tmp_path / "report.parquet")
    assert rf.read_report(tmp_path / "report.parquet").intervals == Intervals()


def test_joining_keeps_them() -> None:
    made = report().with_intervals(level=0.5)
    assert made.join(HALVES).intervals == Intervals(level=0.5)
