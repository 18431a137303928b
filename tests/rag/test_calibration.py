"""A judge against labels: values of independent tools and by hand, laws, every form of input, every refusal."""

from __future__ import annotations

import enum
import math
from collections.abc import Callable
from dataclasses import FrozenInstanceError, fields
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankframe.errors import DataError, MetricError
from rankframe.rag.calibration import Agreement, _resampled, agreement

Cells = dict[tuple[Any, Any], int]

BOTH: Cells = {(True, True): 45, (True, False): 15, (False, True): 25, (False, False): 15}
RARE: Cells = {(True, True): 118, (True, False): 5, (False, True): 2}
THREE: Cells = {
    ("a", "a"): 44,
    ("a", "b"): 5,
    ("a", "c"): 1,
    ("b", "a"): 7,
    ("b", "b"): 20,
    ("b", "c"): 3,
    ("c", "a"): 9,
    ("c", "b"): 5,
    ("c", "c"): 6,
}
GRADES = ([1, 2, 3, 4, 5, 5, 4, 3, 2, 1, 1, 2, 4, 5, 5, 3], [1, 2, 4, 4, 5, 4, 2, 3, 2, 2, 1, 1, 4, 5, 5, 5])
GAPS = ([1, 2, 5, 5, 1, 2, 5, 1], [1, 5, 5, 2, 1, 2, 5, 2])  # nobody gave 3 or 4

PAIRS = st.integers(1, 4).flatmap(
    lambda q: st.lists(st.tuples(st.integers(0, q - 1), st.integers(0, q - 1)), min_size=1, max_size=40)
)
GAPPED = st.lists(
    st.tuples(st.sampled_from([True, False, None]), st.sampled_from([True, False, None])), min_size=1, max_size=30
).filter(lambda pairs: any(None not in pair for pair in pairs))


def of(cells: Cells, **options: Any) -> Agreement:
    pairs = [pair for pair, n in cells.items() for _ in range(n)]
    return agreement([judged for judged, _ in pairs], [label for _, label in pairs], **options)


def quick(pairs: list[tuple[Any, Any]], **options: Any) -> Agreement:
    return agreement([judged for judged, _ in pairs], [label for _, label in pairs], resamples=50, **options)


def facts(found: Agreement) -> dict[str, Any]:
    """Everything that is said, in a form that compares."""
    values = {field.name: getattr(found, field.name) for field in fields(found)}
    return {name: value.rows() if isinstance(value, pl.DataFrame) else value for name, value in values.items()}


# The values are right.


@pytest.mark.parametrize(
    ("cells", "raw", "kappa", "ac1"),
    [
        (BOTH, 0.6, 0.13043478260869568, 0.26606),
        (RARE, 0.944, -0.023391812865497075, 0.94078),
        (THREE, 0.7, 0.4915254237288136, 0.57597),
        ({(True, True): 29, (True, False): 1}, 29 / 30, 0.0, 0.96554),
        ({(True, True): 28, (True, False): 1, (False, True): 1}, 28 / 30, -0.034482758620689724, 0.92874),
        ({("x", "y"): 3, ("y", "x"): 3}, 0.0, -1.0, -1.0),
    ],
)
def test_figures_are_those_of_scikit_learn_and_irrcac(cells: Cells, raw: float, kappa: float, ac1: float) -> None:
    found = of(cells)
    assert found.raw == raw
    assert found.kappa == pytest.approx(kappa, abs=1e-14)
    assert found.ac1 == pytest.approx(ac1, abs=5e-6)  # irrCAC prints five digits


@pytest.mark.parametrize(
    ("columns", "weights", "kappa"),
    [
        (GRADES, None, 0.5294117647058824),
        (GRADES, "linear", 0.6995305164319249),
        (GRADES, "quadratic", 0.8273381294964028),
        (GAPS, None, 0.4418604651162791),
        (GAPS, "linear", 0.5254237288135593),
        (GAPS, "quadratic", 0.6082474226804124),
    ],
)
def test_weighted_kappa_is_that_of_scikit_learn_on_the_whole_scale(
    columns: tuple[list[int], list[int]], weights: Any, kappa: float
) -> None:
    found = agreement(*columns, weights=weights)
    assert found.kappa == pytest.approx(kappa, abs=1e-14)
    assert found.weights == weights
    assert found.ac1 == agreement(*columns).ac1


def test_kappa_by_hand() -> None:
    found = of(BOTH)
    by_chance = Fraction(60 * 70 + 40 * 30, 100 * 100)
    assert found.kappa == pytest.approx(float((Fraction(60, 100) - by_chance) / (1 - by_chance)), abs=1e-15)


def test_ac1_by_hand() -> None:
    share = Fraction(60 + 70, 200)
    by_chance = 2 * share * (1 - share)
    assert of(BOTH).ac1 == pytest.approx(float((Fraction(60, 100) - by_chance) / (1 - by_chance)), abs=1e-15)


def test_rates_of_a_yes_or_no_judge() -> None:
    found = of(BOTH)
    assert found.true_positive_rate == 45 / 70
    assert found.true_negative_rate == 15 / 30
    assert found.precision == 45 / 60


def test_zero_and_one_have_rates_too_and_stay_numbers() -> None:
    numbers: Cells = {(int(judged), int(label)): n for (judged, label), n in BOTH.items()}
    found, booleans = of(numbers), of(BOTH)
    assert (found.true_positive_rate, found.true_negative_rate, found.precision) == (45 / 70, 15 / 30, 45 / 60)
    assert found.confusion.schema == {"judged": pl.Int64, "label": pl.Int64, "n": pl.Int64}
    assert (found.kappa, found.kappa_low, found.ac1) == (booleans.kappa, booleans.kappa_low, booleans.ac1)


@pytest.mark.parametrize("cells", [THREE, {(1, 2): 4, (2, 2): 3}, {("0", "1"): 1}])
def test_other_categories_have_no_rates(cells: Cells) -> None:
    found = of(cells)
    assert (found.true_positive_rate, found.true_negative_rate, found.precision) == (None, None, None)


def test_a_rate_over_nothing_has_no_value() -> None:
    assert of({(True, True): 3, (False, True): 1}).true_negative_rate is None
    assert of({(True, False): 3, (False, False): 1}).true_positive_rate is None
    assert of({(False, True): 3, (False, False): 1}).precision is None


def test_confusion_has_every_pair_of_categories_sorted() -> None:
    found = of({("b", "c"): 2, ("a", "a"): 1})
    assert found.confusion.schema == {"judged": pl.String, "label": pl.String, "n": pl.Int64}
    assert found.confusion.rows() == [
        ("a", "a", 1),
        ("a", "b", 0),
        ("a", "c", 0),
        ("b", "a", 0),
        ("b", "b", 0),
        ("b", "c", 2),
        ("c", "a", 0),
        ("c", "b", 0),
        ("c", "c", 0),
    ]


def test_both_booleans_are_categories_where_one_occurs() -> None:
    assert of({(True, True): 2}).confusion.rows() == [
        (False, False, 0),
        (False, True, 0),
        (True, False, 0),
        (True, True, 2),
    ]


def test_base_rates_are_the_shares_of_each_category_on_both_sides() -> None:
    found = of(BOTH).base_rates
    assert found.columns == ["category", "judged", "label", "n_judged", "n_label"]
    assert found.rows() == [(False, 0.4, 0.3, 40, 30), (True, 0.6, 0.7, 60, 70)]


def test_numbers_are_sorted_as_numbers() -> None:
    assert of({(10, 9): 1, (2, 2): 1}).base_rates["category"].to_list() == [2, 9, 10]


# Kappa where it has no value, and where it says little.


def test_one_category_alone_has_no_kappa_but_an_ac1() -> None:
    for cells in ({(True, True): 40}, {("x", "x"): 40}, {(3, 3): 40}):
        found = of(cells)
        assert (found.kappa, found.kappa_low, found.kappa_high) == (None, None, None)
        assert (found.raw, found.ac1, found.ac1_low, found.ac1_high) == (1.0, 1.0, 1.0, 1.0)
        assert found.n_undefined == found.resamples
        ((category, _),) = cells
        assert found.note == (
            f"kappa has no value: {category!r} alone occurs, so chance explains all agreement; look at ac1"
        )


def test_the_note_points_to_ac1_where_one_category_dominates() -> None:
    found = of(RARE)
    assert "98.4% of the verdicts are True: kappa collapses where one dominates; look at ac1" in found.note
    assert not of(BOTH).note


def test_the_note_names_the_side_on_which_a_category_dominates() -> None:
    cells: Cells = {("no", "no"): 20, ("yes", "no"): 18, ("yes", "yes"): 2}
    assert "95.0% of the labels are 'no'" in of(cells).note


@pytest.mark.parametrize(("labelled_true", "told"), [(90, False), (91, True)])
def test_dominating_is_more_than_nine_in_ten(labelled_true: int, *, told: bool) -> None:
    cells: Cells = {(True, True): 50, (False, True): labelled_true - 50, (False, False): 100 - labelled_true}
    assert ("kappa collapses" in of(cells).note) == told


@pytest.mark.parametrize(("n", "told"), [(29, True), (30, False)])
def test_the_note_calls_few_pairs_rough(n: int, *, told: bool) -> None:
    cells: Cells = {(True, True): 10, (True, False): 5, (False, False): n - 15}
    assert ("fewer than 30 pairs" in of(cells).note) == told


def test_the_note_tells_of_categories_that_never_meet() -> None:
    assert "share no category" in of({("Yes", "yes"): 20, ("No", "no"): 20}).note
    assert "share no category" not in of({("Yes", "yes"): 20, ("no", "no"): 20}).note
    assert "share no category" not in of({(True, False): 40}).note


def test_resamples_without_a_kappa_are_left_out_and_counted() -> None:
    found = of({(True, True): 29, (True, False): 1})
    assert 600 < found.n_undefined < 900  # (29/30) ** 30 of 2,000 is 723
    assert f"no value in {found.n_undefined} of 2,000 resamples" in found.note
    assert (found.kappa_low, found.kappa_high) == (0.0, 0.0)


def test_no_resample_with_a_kappa_gives_no_interval() -> None:
    alone = [agreement([True, False], [True, False], resamples=1, seed=seed) for seed in range(20)]
    undefined = [found for found in alone if found.n_undefined]
    assert 0 < len(undefined) < 20
    assert {(found.kappa, found.kappa_low, found.kappa_high) for found in undefined} == {(1.0, None, None)}


# Intervals.


def test_the_interval_of_raw_agreement_is_wilsons() -> None:
    found = of({(True, True): 8, (False, False): 1, (True, False): 1})
    assert (found.raw_low, found.raw_high) == pytest.approx((0.595850, 0.982124), abs=1e-6)


def test_the_interval_of_raw_agreement_is_no_point_where_all_agree() -> None:
    found = of({(True, True): 3, (False, False): 2})
    assert found.raw_low == pytest.approx(5 / (5 + 1.959963984540054**2), abs=1e-12)
    assert found.raw_high == 1.0
    assert (found.kappa_low, found.kappa_high) == (1.0, 1.0)
    assert "all pairs agree" in found.note


def test_a_higher_level_gives_a_wider_interval() -> None:
    narrow, wide = of(BOTH, level=0.5), of(BOTH, level=0.99)
    for name in ("raw", "kappa", "ac1"):
        assert getattr(wide, f"{name}_low") < getattr(narrow, f"{name}_low")
        assert getattr(wide, f"{name}_high") > getattr(narrow, f"{name}_high")


@pytest.mark.parametrize("cells", [BOTH, THREE], ids=["booleans", "text"])
def test_the_bootstrap_draws_what_drawing_pairs_would(cells: Cells) -> None:
    names = sorted({category for pair in cells for category in pair})
    pairs = np.array(
        [[names.index(judged), names.index(label)] for (judged, label), n in cells.items() for _ in range(n)]
    )
    rng = np.random.default_rng(7)
    kappas = []
    for _ in range(4000):
        judged, label = pairs[rng.integers(0, len(pairs), len(pairs))].T
        by_chance = np.bincount(judged, minlength=3) @ np.bincount(label, minlength=3) / len(pairs) ** 2
        kappas.append((np.mean(judged == label) - by_chance) / (1 - by_chance))
    found = of(cells, resamples=4000)
    assert (found.kappa_low, found.kappa_high) == pytest.approx(tuple(np.quantile(kappas, [0.025, 0.975])), abs=0.02)


@given(st.lists(st.integers(0, 5), min_size=9, max_size=9).filter(any), st.integers(0, 9))
def test_a_resample_has_as_many_pairs_and_no_others(counts: list[int], seed: int) -> None:
    cells = np.array(counts, dtype=np.float64).reshape(3, 3)
    (drawn,) = _resampled(cells, 30, seed)
    assert drawn.shape == (30, 3, 3)
    assert (drawn.sum(axis=(1, 2)) == cells.sum()).all()
    assert not drawn[:, cells == 0].any()


def test_intervals_cover_the_truth_about_as_often_as_they_say() -> None:
    rng = np.random.default_rng(3)
    covered = 0
    for _ in range(200):  # kappa of this judge is 0.6: right in 80 of 100 cases of even classes
        labels = rng.random(150) < 0.5
        found = agreement(np.where(rng.random(150) < 0.8, labels, ~labels), labels, resamples=300)
        assert found.kappa_low is not None
        assert found.kappa_high is not None
        covered += found.kappa_low <= 0.6 <= found.kappa_high
    assert 178 <= covered <= 200


def test_the_seed_decides_the_resamples() -> None:
    assert facts(of(THREE, seed=5)) == facts(of(THREE, seed=5))
    assert of(THREE, seed=5).kappa_low != of(THREE, seed=6).kappa_low


def test_resamples_are_the_same_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = facts(of(THREE))
    monkeypatch.setattr("rankframe.rag.calibration._AT_ONCE", 100)
    assert facts(of(THREE)) == whole


def test_a_scale_of_0_to_100_is_no_burden() -> None:
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 101, 400)
    found = agreement(np.clip(labels + rng.integers(-5, 6, 400), 0, 100), labels, weights="quadratic", resamples=200)
    assert found.kappa is not None
    assert found.kappa_low is not None
    assert 0.97 < found.kappa_low < found.kappa < 1
    assert "judged \\ label" not in repr(found)


# Laws.


def plain_kappa(pairs: list[tuple[Any, Any]], cost: Callable[[Any, Any], int] | None = None) -> Fraction | None:
    """Cohen's kappa in plain Python: one minus what disagreement costs, by what it costs when verdicts are shuffled."""
    cost = cost or (lambda judged, label: int(judged != label))
    paid = Fraction(sum(cost(judged, label) for judged, label in pairs), len(pairs))
    by_chance = Fraction(sum(cost(judged, label) for judged, _ in pairs for _, label in pairs), len(pairs) ** 2)
    return 1 - paid / by_chance if by_chance else None


def plain_ac1(pairs: list[tuple[Any, Any]]) -> Fraction:
    said = [category for pair in pairs for category in pair]
    shares = [Fraction(said.count(category), len(said)) for category in set(said)]
    by_chance = sum((share * (1 - share) for share in shares), Fraction(0)) / max(len(shares) - 1, 1)
    return (Fraction(sum(judged == label for judged, label in pairs), len(pairs)) - by_chance) / (1 - by_chance)


COSTS = {
    None: lambda judged, label: int(judged != label),
    "linear": lambda judged, label: abs(judged - label),
    "quadratic": lambda judged, label: (judged - label) ** 2,
}


@given(PAIRS, st.sampled_from([None, "linear", "quadratic"]))
def test_figures_are_those_of_plain_python(pairs: list[tuple[int, int]], weights: Any) -> None:
    found, kappa = quick(pairs, weights=weights), plain_kappa(pairs, COSTS[weights])
    assert found.kappa == (None if kappa is None else pytest.approx(float(kappa), abs=1e-12))
    assert found.ac1 == pytest.approx(float(plain_ac1(pairs)), abs=1e-12)
    assert found.raw == sum(judged == label for judged, label in pairs) / len(pairs)


@given(PAIRS, st.sampled_from([None, "linear", "quadratic"]))
def test_figures_keep_their_ranges(pairs: list[tuple[int, int]], weights: Any) -> None:
    found = quick(pairs, weights=weights)
    assert 0 <= found.raw_low <= found.raw <= found.raw_high <= 1
    assert -1 - 1e-12 <= found.ac1_low <= found.ac1_high <= 1
    assert -1 - 1e-12 <= found.ac1 <= 1
    assert (found.kappa is None) == (len({category for pair in pairs for category in pair}) == 1)
    if found.kappa is not None:
        assert -1 - 1e-12 <= found.kappa <= 1
    if found.kappa_low is not None:
        assert found.kappa_high is not None
        assert -1 - 1e-12 <= found.kappa_low <= found.kappa_high <= 1


@given(PAIRS)
def test_counts_and_shares_add_up(pairs: list[tuple[int, int]]) -> None:
    found = quick(pairs)
    assert found.n == len(pairs) == found.confusion["n"].sum()
    assert found.base_rates["n_judged"].sum() == found.base_rates["n_label"].sum() == len(pairs)
    assert found.base_rates["judged"].sum() == pytest.approx(1)
    counted = {(judged, label): n for judged, label, n in found.confusion.iter_rows() if n}
    assert counted == {pair: pairs.count(pair) for pair in pairs}


@given(st.lists(st.integers(0, 3), min_size=1, max_size=40), st.sampled_from([None, "linear", "quadratic"]))
def test_a_judge_that_is_the_label_agrees_fully(column: list[int], weights: Any) -> None:
    found = agreement(column, column, weights=weights, resamples=50)
    assert (found.raw, found.ac1) == (1.0, 1.0)
    assert found.kappa == (1.0 if len(set(column)) > 1 else None)


@given(PAIRS)
def test_swapping_the_sides_transposes(pairs: list[tuple[int, int]]) -> None:
    found, swapped = quick(pairs), quick([(label, judged) for judged, label in pairs])
    assert swapped.raw == found.raw
    assert swapped.kappa == (None if found.kappa is None else pytest.approx(found.kappa, abs=1e-12))
    assert swapped.ac1 == pytest.approx(found.ac1, abs=1e-12)
    transposed = swapped.confusion.select(judged="label", label="judged", n="n").sort("judged", "label")
    assert transposed.rows() == found.confusion.rows()
    assert (swapped.true_positive_rate, swapped.precision) == (found.precision, found.true_positive_rate)


@given(PAIRS, st.randoms(use_true_random=False))
def test_the_order_of_the_pairs_changes_nothing(pairs: list[tuple[int, int]], random: Any) -> None:
    shuffled = random.sample(pairs, len(pairs))
    assert facts(quick(shuffled)) == facts(quick(pairs))


@given(PAIRS)
def test_the_names_of_categories_change_no_figure(pairs: list[tuple[int, int]]) -> None:
    found, named = quick(pairs), quick([("abcd"[judged], "abcd"[label]) for judged, label in pairs])
    for name in ("raw", "kappa", "kappa_low", "kappa_high", "ac1", "ac1_low", "ac1_high"):
        assert getattr(named, name) == getattr(found, name)


@given(GAPPED)
def test_every_pair_is_counted_once_and_gaps_are_never_averaged_in(pairs: list[tuple[Any, Any]]) -> None:
    found = quick(pairs)
    whole = [pair for pair in pairs if None not in pair]
    assert found.n + found.n_abstained + found.n_unlabelled == len(pairs)
    assert found.n_unlabelled == sum(label is None for _, label in pairs)
    assert found.n_abstained == sum(judged is None and label is not None for judged, label in pairs)
    assert found.abstention_rate == found.n_abstained / (found.n + found.n_abstained)
    gaps = {"n_abstained", "n_unlabelled", "abstention_rate"}
    assert {k: v for k, v in facts(found).items() if k not in gaps} == {
        k: v for k, v in facts(quick(whole)).items() if k not in gaps
    }


@given(GAPPED, st.randoms(use_true_random=False))
def test_ids_align_in_any_order(pairs: list[tuple[Any, Any]], random: Any) -> None:
    judged = {f"s{i}": verdict for i, (verdict, _) in enumerate(pairs)}
    labels = random.sample([(f"s{i}", label) for i, (_, label) in enumerate(pairs)], len(pairs))
    assert facts(agreement(judged, dict(labels), resamples=50)) == facts(quick(pairs))


# Forms of input.

TEXT: list[str | None] = ["no", "yes", None, "yes", "no", "no"]
BOOLEANS: list[bool | None] = [False, True, None, True, False, True]
NUMBERS: list[int | None] = [3, 1, None, 2, 3, 1]
FORMS: dict[str, Callable[[list[Any]], Any]] = {
    "list": list,
    "tuple": tuple,
    "polars": pl.Series,
    "polars objects": lambda values: pl.Series(values, dtype=pl.Object),
    "numpy objects": lambda values: np.array(values, dtype=object),
    "masked": lambda values: np.ma.array(
        [values[0] if value is None else value for value in values], mask=[value is None for value in values]
    ),
    "pandas": pd.Series,
    "pandas objects": lambda values: pd.Series(values, dtype=object),
    "pandas categories": lambda values: pd.Series(values, dtype="category"),
    "pandas nullable": lambda values: pd.Series(values).convert_dtypes(),
    "with NaN": lambda values: [math.nan if value is None else value for value in values],
    "with NA": lambda values: [pd.NA if value is None else value for value in values],
    "numpy scalars": lambda values: [None if value is None else np.array([value])[0] for value in values],
}


@pytest.mark.parametrize("column", [TEXT, BOOLEANS, NUMBERS], ids=["text", "booleans", "numbers"])
@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_columns_of_every_form_say_the_same(form: Callable[[list[Any]], Any], column: list[Any]) -> None:
    labels = [*column[1:], column[0]]
    assert facts(agreement(form(column), form(labels))) == facts(agreement(column, labels))
    assert agreement(form(column), labels).n == 4


IDS = ["s1", "s2", "s3", "s4", "s5", "s6"]
TABLES: dict[str, Callable[[list[Any]], Any]] = {
    "mapping": lambda values: dict(zip(IDS, values, strict=True)),
    "polars": lambda values: pl.DataFrame({"sample_id": IDS, "verdict": values}),
    "lazy": lambda values: pl.LazyFrame({"verdict": values, "sample_id": IDS}),
    "pandas": lambda values: pd.DataFrame({"sample_id": IDS, "verdict": values}),
    "pandas index": lambda values: pd.DataFrame({"v": values}, index=pd.Index(IDS, name="sample_id")),
    "arrow": lambda values: pa.table({"sample_id": IDS, "verdict": values}),
    "records": lambda values: [{"sample_id": i, "v": value} for i, value in zip(IDS, values, strict=True)],
}


@pytest.mark.parametrize("column", [TEXT, BOOLEANS, NUMBERS], ids=["text", "booleans", "numbers"])
@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
def test_tables_of_every_form_say_the_same(table: Callable[[list[Any]], Any], column: list[Any]) -> None:
    labels = [*column[1:], column[0]]
    expected = facts(agreement(column, labels))
    assert facts(agreement(table(column), table(labels))) == expected
    assert facts(agreement(table(column), dict(zip(IDS, labels, strict=True)))) == expected


def test_ids_of_one_side_are_named_and_not_abstentions() -> None:
    judged = {"b": True, "a": True, "c": None, "x": False, "y": None}
    found = agreement(judged, {"a": True, "b": False, "c": True, "d": True, 7: False})
    assert (found.n, found.n_abstained, found.n_unlabelled) == (2, 1, 0)
    assert found.only_judged == ("x", "y")
    assert found.only_labels == ("7", "d")
    assert "only judged 2 ('x', 'y')" in repr(found)
    assert "only labelled 2 ('7', 'd')" in repr(found)


def test_columns_have_no_ids_of_one_side() -> None:
    found = of(BOTH)
    assert (found.only_judged, found.only_labels) == ((), ())


def test_whole_number_ids_are_text() -> None:
    judged = pl.DataFrame({"sample_id": [1, 2], "verdict": [True, False]})
    assert agreement(judged, {"1": True, "2": True}).n == 2


def test_categorical_and_enum_verdicts_are_text() -> None:
    labels = pl.Series(["good", "bad", "good"], dtype=pl.Enum(["good", "fair", "bad"]))
    found = agreement(pl.Series(["good", "good", "good"], dtype=pl.Categorical), labels)
    assert found.confusion["judged"].dtype == pl.String
    assert found.raw == 2 / 3


def test_members_of_a_text_enum_are_their_text() -> None:
    class Verdict(enum.StrEnum):
        YES = "yes"
        NO = "no"

    assert agreement([Verdict.YES, Verdict.NO, "no"], ["yes", "no", "no"]).raw == 1.0


def test_floats_that_are_whole_are_whole_numbers() -> None:
    found = agreement(pd.Series([1, 2, None]), [1, 3, 2])
    assert (found.n, found.n_abstained) == (2, 1)
    assert found.base_rates["category"].to_list() == [1, 2, 3]


@pytest.mark.parametrize("numbers", [[0, 1, 1], [0.0, 1.0, 1.0], [Decimal(0), Decimal(1), Decimal(1)]])
def test_zero_and_one_stand_for_booleans_beside_booleans(numbers: list[Any]) -> None:
    booleans = [False, True, False]
    assert facts(agreement(numbers, booleans)) == facts(agreement([False, True, True], booleans))
    assert facts(agreement(booleans, numbers)) == facts(agreement(booleans, [False, True, True]))


def test_a_threshold_cuts_floats_from_its_value_on() -> None:
    found = agreement([0.7, 0.69, 0.9, math.nan], [True, False, False, True], threshold=0.7)
    assert found.confusion.rows() == [(False, False, 1), (False, True, 0), (True, False, 1), (True, True, 1)]
    assert found.n_abstained == 1


@pytest.mark.parametrize(
    "floats",
    [
        pl.Series([0.7, 0.2], dtype=pl.Float32),
        np.array([0.7, 0.2], dtype=np.float32),
        np.array([0.7, 0.2], dtype=">f4"),
        pd.Series([0.7, 0.2], dtype="float32"),
    ],
)
def test_a_threshold_is_of_the_precision_of_the_floats(floats: Any) -> None:
    assert agreement(floats, [True, False], threshold=0.7).raw == 1.0


def test_a_threshold_cuts_floats_on_both_sides() -> None:
    found = agreement([0.9, 0.2, 0.6], pl.Series([1.0, 0.0, 0.4]), threshold=0.5)
    assert (found.true_positive_rate, found.true_negative_rate) == (1.0, 0.5)


def test_a_threshold_leaves_other_verdicts_as_they_are() -> None:
    assert facts(agreement([0.9, 0.2], [1, 0], threshold=0.5)) == facts(agreement([True, False], [True, False]))


def test_infinite_floats_are_cut_too() -> None:
    assert agreement([math.inf, -math.inf], [True, False], threshold=0).raw == 1.0


def test_text_is_compared_as_it_is() -> None:
    assert agreement(["Yes", "yes ", "yes"], ["yes", "yes", "yes"]).raw == 1 / 3


def test_arguments_are_not_changed() -> None:
    judged, labels = pl.Series("j", [1.0, math.nan, 0.3]), {"a": True}
    frame = pl.DataFrame({"sample_id": ["a"], "verdict": [True]})
    agreement(judged, [True, False, False], threshold=0.5)
    agreement(frame, labels)
    assert judged.to_list()[0::2] == [1.0, 0.3]
    assert math.isnan(judged[1])
    assert judged.name == "j"
    assert frame.columns == ["sample_id", "verdict"]
    assert labels == {"a": True}


# Refusals.


@pytest.mark.parametrize(
    ("judged", "labels", "message"),
    [
        ([], [], r"no pair has a verdict and a label: 0 pairs, 0 with a label, 0 with a verdict"),
        ({}, {}, r"no pair has a verdict and a label"),
        ([None, None, True], [True, False, None], r"no pair .*: 3 pairs, 2 with a label, 1 with a verdict"),
        ({"a": True}, {"b": True}, r"0 pairs, .*; only judged: 'a'; only labelled: 'b'"),
        ([True], [True, False], r"judged has 1 row and labels 2 rows; columns are aligned by position"),
        ({"a": True}, [True], r"judged has ids and labels is a column without"),
        ([True], {"a": True}, r"labels has ids and judged is a column without"),
        (["yes", "no"], [True, False], r"judged holds text and labels booleans.*map the text first, .*'yes': True"),
        ([True, False], ["yes", "no"], r"labels text, which cannot be compared.*\(the text is 'no', 'yes'\)"),
        (["1", "2"], [1, 2], r"judged holds text and labels whole numbers, .*make both text first"),
        ([1, 2, 3], [True, False, True], r"judged holds whole numbers such as 2, 3 and labels booleans; 0 and 1 alone"),
        ([True, False], [-1, 1], r"labels holds whole numbers such as -1 and judged booleans"),
        ([0.5, 0.25, 1.0], [True, False, True], r"judged: 2 floats no category, such as 0\.5, 0\.25; threshold=0\.5"),
        ([1, 2], [1.0, 1.5], r"labels: 1 float no category, such as 1\.5"),
        ([math.inf], [1], r"judged: 1 float no category, such as inf"),
        ([2.0**53], [1], r"judged: 1 float no category, such as 9007199254740992"),
        ([2**70, 0.5], [1, 1], r"judged holds a whole number of more than 64 bits: 1180591620717411303424"),
        (
            [True, "yes"],
            [True, True],
            r"judged mixes verdicts of the types bool \(1, such as True\), str \(1, such as 'yes'\)",
        ),
        ([True, 1], [True, True], r"judged mixes verdicts of the types"),
        ([True, True], [None, [1]], r"labels: row 1 holds \[1\] \(list\); a verdict is a boolean"),
        ([b"yes"], [True], r"judged: row 0 holds b'yes' \(bytes\)"),
        ("yes", ["y", "e", "s"], r"judged is a str; expected a column"),
        ({True, False}, [True, False], r"judged is a set; expected a column"),
        (None, [True], r"judged is a NoneType; expected a column"),
        ([2**70], [1], r"judged holds a whole number of more than 64 bits: "),
        (pl.Series([2**63], dtype=pl.UInt64), [1], r"judged holds a whole number of more than 64 bits: "),
        (pl.Series([[True]]), [True], r"judged is List\(Boolean\); verdicts are booleans, text or numbers"),
        (np.ones((2, 2)), [1, 1], r"judged is an array of shape \(2, 2\)"),
        (np.array(["2024-01-01"], dtype="M8[D]"), [1], r"judged: row 0 holds .*date"),
        (list(range(201)), list(range(201)), r"have 201 categories, such as 0, 1, 2, 3, 4 and 196 more"),
        (["\ud800"], ["a"], r"lone surrogate"),
    ],
)
def test_what_cannot_be_compared_is_refused(judged: Any, labels: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        agreement(judged, labels)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (pl.DataFrame({"verdict": [True]}), r"judged: a frame of verdicts has sample_id and one column more, this one"),
        (pl.DataFrame({"sample_id": ["a"]}), r"this one has 'sample_id'; choose them, as in frame\.select"),
        (pl.DataFrame({"sample_id": ["a"], "u": [1], "v": [1]}), r"this one has 'sample_id', 'u', 'v'"),
        ([{"sample_id": "a", "u": 1}, {"sample_id": "b", "v": 1}], r"this one has 'sample_id', 'u', 'v'"),
        (
            [{"sample_id": "a", "v": 1}, {"sample_id": "b", "v": "x"}],
            r"mixes verdicts of the types int \(1, such as 1\), str",
        ),
        (pl.DataFrame({"sample_id": ["a", "a", "b"], "v": [1, 2, 1]}), r"judged: 1 id more than once, such as 'a'"),
        (pl.DataFrame({"sample_id": ["a", None], "v": [1, 2]}), r"judged: 1 row without a sample_id"),
        (pl.DataFrame({"sample_id": [1.0], "v": [1]}), r"'sample_id' is Float64: ids are text"),
        ({1: True, "1": False}, r"judged: 1 id more than once, such as '1'"),
        ({None: True}, r"judged: 1 row without a sample_id"),
        ({1.5: True}, r"an id is text or a whole number"),
    ],
)
def test_tables_that_name_no_samples_are_refused(table: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        agreement(table, {"a": 1})


def test_pandas_columns_of_different_indexes_are_not_aligned_by_position() -> None:
    judged, labels = pd.Series([True, False, True]), pd.Series([True, True, False], index=[2, 0, 1])
    with pytest.raises(DataError, match=r"different indexes.*judged\.to_dict\(\)"):
        agreement(judged, labels)
    assert agreement(judged.to_dict(), labels.to_dict()).raw == 1.0
    assert agreement(judged, labels.reset_index(drop=True)).n == 3


def test_a_threshold_without_floats_is_refused() -> None:
    with pytest.raises(DataError, match=r"threshold=0\.5 cuts floats, and there are none: judged holds booleans"):
        agreement([True], [1], threshold=0.5)


def test_a_threshold_does_not_make_text_booleans() -> None:
    with pytest.raises(DataError, match=r"judged holds booleans and labels text"):
        agreement([0.9], ["yes"], threshold=0.5)


@pytest.mark.parametrize(("column", "kind"), [([True, False], "booleans"), (["a", "b"], "text")])
def test_weights_are_for_whole_numbers(column: list[Any], kind: str) -> None:
    with pytest.raises(DataError, match=rf"weights='linear' weighs .* the verdicts are {kind}: leave it out"):
        agreement(column, column, weights="linear")


def test_unknown_weights_are_refused_with_the_valid_ones() -> None:
    with pytest.raises(DataError, match=r"weights='cubic' is unknown; valid: 'linear', 'quadratic'"):
        agreement([1], [1], weights="cubic")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"threshold": math.nan}, r"threshold is a finite number, got nan"),
        ({"threshold": "0.5"}, r"threshold is a finite number, got '0\.5'"),
        ({"threshold": True}, r"threshold is a finite number, got True"),
        ({"level": 95}, r"level is between 0 and 1, as in level=0\.95, got 95"),
        ({"level": 1.0}, r"level is between 0 and 1"),
        ({"level": None}, r"level is between 0 and 1"),
        ({"resamples": 0}, r"resamples is a whole number from 1, got 0"),
        ({"seed": -1}, r"seed is a whole number from 0, got -1"),
        ({"seed": 0.5}, r"seed is a whole number from 0, got 0\.5"),
    ],
)
def test_options_that_mean_nothing_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(MetricError, match=message):
        agreement([0.1], [True], **options)


# How it looks.


def test_the_text_form_says_everything_at_a_glance() -> None:
    pairs = [pair for pair, n in BOTH.items() for _ in range(n)] + [(None, True), (True, None)]
    found = agreement([judged for judged, _ in pairs], [label for _, label in pairs])
    lines = repr(found).splitlines()
    assert lines[0] == "Agreement over 100 pairs, 95% intervals"
    assert lines[1].split() == ["figure", "value", "low", "high"]
    assert [line.split()[:2] for line in lines[2:8]] == [
        ["raw", "0.6000"],
        ["kappa", "0.1304"],
        ["ac1", "0.2661"],
        ["true_positive_rate", "0.6429"],
        ["true_negative_rate", "0.5000"],
        ["precision", "0.7500"],
    ]
    assert [line.split() for line in lines[8:11]] == [
        ["judged", "\\", "label", "False", "True"],
        ["False", "15", "25"],
        ["True", "15", "45"],
    ]
    assert lines[11:] == ["abstained 1 (1.0% of the labelled)", "unlabelled 1"]


def test_the_text_form_names_weights_and_shows_no_value_as_a_dash() -> None:
    assert "kappa (quadratic)" in repr(agreement(*GRADES, weights="quadratic"))
    assert ["kappa", "-", "-", "-"] in [line.split() for line in repr(of({("x", "x"): 2})).splitlines()]


def test_the_html_form_escapes_categories_and_ids() -> None:
    found = agreement({"<i>": "<b>", "s": "<b>"}, {"s": "ok", "<u>": "ok"})
    html = found._repr_html_()
    assert "&lt;b&gt;" in html
    assert not any(tag in html for tag in ("<b>", "<i>", "<u>"))
    assert "agreement over 1 pair" in html


def test_an_agreement_is_frozen() -> None:
    with pytest.raises(FrozenInstanceError):
        of(BOTH).kappa = 1.0  # type: ignore[misc]
