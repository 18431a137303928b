"""Paired tests and corrections of real runs give what scipy, ranx and statsmodels give, and means what trec_eval gives.

t and the sign test are compared to 1e-9. So is Wilcoxon's, with scipy over differences whose sizes are tied where they
differ by rounding alone. The golden values were computed without that: they are scipy's over the raw differences of
trec_eval's scores, to 1e-9, and the last bit of those decides there what is tied, which moves them by up to 0.006.

Tests by randomisation are random on both sides, and may differ by four standard errors of both. ranx counts how often
the sum is as far from 0 as the observed one, as we do. scipy doubles the smaller of its one-sided p values, which has
twice the error of half the p value: near 1 that is far more than sqrt(p (1 - p) / n), and the value for two runs of
covid-round1 (0.9904; 0.9805 by 200,000 resamples) lies 3.6 times that tolerance off.
"""

from __future__ import annotations

import math
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl
import pytest

import rankframe as rf
from rankframe.comparison import corrected
from rankframe.comparison.corrections import Correction
from rankframe.comparison.paired import Test
from tests.golden.shared import GOLDEN, Pair, present

pytest.importorskip("scipy", reason="the extra stats is not installed")

from scipy.stats import wilcoxon  # it needs the extra

EXACT: dict[str, Test] = {
    "scipy ttest_rel two-sided": "t",
    "scipy wilcoxon asymptotic zero_method=wilcox": "wilcoxon",
    "scipy wilcoxon asymptotic zero_method=pratt": "wilcoxon-pratt",
    "scipy wilcoxon asymptotic zero_method=zsplit": "wilcoxon-zsplit",
    "scipy binomtest sign test": "sign",
}
RANDOM = ["scipy permutation_test samples n=20000 seed=42", "ranx fisher_randomization_test n=20000 seed=42"]
CORRECTIONS: dict[str, Correction] = {
    "holm": "holm",
    "bonferroni": "bonferroni",
    "holm-sidak": "holm-sidak",
    "fdr_bh": "bh",
    "fdr_by": "by",
}
MEASURES = ["ndcg_cut_10", "map"]
RESAMPLES = 20_000


@cache
def golden(name: str) -> pl.DataFrame:
    return pl.read_parquet(GOLDEN / "significance" / f"{name}.parquet")


@cache
def report(collection: str) -> rf.Report:
    """Our scores of the runs of a collection."""
    pairs = {name: Pair(f"{collection}__{name}") for name in runs(collection)}
    judged = next(iter(pairs.values())).qrels()
    found = {name: pair.run() for name, pair in pairs.items()}
    return rf.evaluate(found, judged, metrics=MEASURES, convention="trec_eval")


def trec_eval_scores(collection: str, run: str, measure: str) -> np.ndarray[Any, np.dtype[np.float64]]:
    """trec_eval's scores of a run, by query."""
    values = Pair(f"{collection}__{run}").values().filter(tool="trec_eval 10.0-rc3", measure=measure)
    return values.drop_nulls("query_id").sort("query_id")["value"].to_numpy()


def runs(collection: str) -> list[str]:
    rows = golden("pairwise").filter(collection=collection)
    return sorted({*rows["run_a"], *rows["run_b"]})


def compared(report: rf.Report, test: Test, correction: Correction | None = None) -> pl.DataFrame:
    """Every pair, both ways round, under the names of the golden rows."""
    found = rf.compare(report, test=test, correction=correction, n_resamples=RESAMPLES)
    named = found.with_columns(pl.col("metric").replace_strict(["ndcg@10", "map"], MEASURES).alias("measure"))
    turned = named.rename({"run_id": "other", "other": "run_id", "value": "other_value", "other_value": "value"})
    turned = turned.rename({"wins": "losses", "losses": "wins"})
    turned = turned.with_columns(-pl.col("difference"), -pl.col("ci_low"), -pl.col("ci_high"))
    return pl.concat([named, turned.select(named.columns)]).rename({"run_id": "run_a", "other": "run_b"})


COLLECTIONS = ["acordar", "covid-round1", "robust03", "scifact"]
KEYS = ["measure", "run_a", "run_b"]


@present
@pytest.mark.parametrize("collection", COLLECTIONS)
@pytest.mark.parametrize("name", EXACT)
def test_tests_that_are_not_random(collection: str, name: str) -> None:
    rows = golden("pairwise").filter(collection=collection, test=name)
    both = rows.join(compared(report(collection), EXACT[name]), on=KEYS, how="left", suffix="_ours")
    assert both.height == rows.height > 0
    for row in both.iter_rows(named=True):
        assert row["p"] == pytest.approx(row["p_value"], abs=0.006 if "wilcoxon" in name else 1e-9)
        assert row["n"] == row["n_queries"]
        assert row["value"] == pytest.approx(row["mean_a"], abs=1e-9)
        assert row["other_value"] == pytest.approx(row["mean_b"], abs=1e-9)
        assert row["difference"] == pytest.approx(row["mean_difference"], abs=1e-9)


@present
@pytest.mark.parametrize("collection", COLLECTIONS)
@pytest.mark.parametrize("zeros", ["wilcox", "pratt", "zsplit"])
def test_wilcoxon_is_that_of_scipy_where_equal_sizes_are_tied(collection: str, zeros: str) -> None:
    rows = golden("pairwise").filter(collection=collection, test=f"scipy wilcoxon asymptotic zero_method={zeros}")
    test: Test = EXACT[f"scipy wilcoxon asymptotic zero_method={zeros}"]
    both = rows.join(compared(report(collection), test), on=KEYS, how="left", suffix="_ours")
    for row in both.iter_rows(named=True):
        a, b = (trec_eval_scores(collection, row[side], row["measure"]) for side in ("run_a", "run_b"))
        raw, tied = (wilcoxon(d, zero_method=zeros, method="asymptotic").pvalue for d in (a - b, np.round(a - b, 12)))
        assert row["p_value"] == pytest.approx(raw, abs=1e-9)
        assert row["p"] == pytest.approx(tied, abs=1e-9)


@present
@pytest.mark.parametrize("collection", COLLECTIONS)
@pytest.mark.parametrize("name", RANDOM)
def test_tests_by_randomisation(collection: str, name: str) -> None:
    rows = golden("pairwise").filter(collection=collection, test=name)
    both = rows.join(compared(report(collection), "randomisation"), on=KEYS, how="left", suffix="_ours")
    assert both.height == rows.height > 0
    doubled = 2 if name.startswith("scipy") else 1
    for row in both.iter_rows(named=True):
        ours, theirs = row["p"], row["p_value"] / doubled
        variance = ours * (1 - ours) + doubled**2 * max(theirs, 1 / RESAMPLES) * (1 - theirs)
        assert ours == pytest.approx(row["p_value"], abs=4 * math.sqrt(variance / RESAMPLES))
        assert ours > 0


@present
@pytest.mark.parametrize("collection", COLLECTIONS)
def test_wins_ties_and_losses_are_those_of_the_sign_test(collection: str) -> None:
    rows = golden("pairwise").filter(collection=collection, test="scipy binomtest sign test")
    both = rows.join(compared(report(collection), "sign"), on=KEYS, how="left", suffix="_ours")
    assert both.height > 0
    for row in both.iter_rows(named=True):
        assert row["note"] == f"wins={row['wins']} losses={row['losses']} ties={row['ties']}"


@present
@pytest.mark.parametrize("name", CORRECTIONS)
def test_corrections(name: str) -> None:
    families = golden("corrected").filter(correction=name).group_by("collection", "measure", "test")
    assert len(list(families)) == 28
    for _, family in families:
        found = corrected(family["p_value"].to_list(), CORRECTIONS[name])
        assert found == pytest.approx(family["p_corrected"].to_list(), abs=1e-12)
        assert [p is not None and p <= 0.05 for p in found] == family["rejected_at_0.05"].to_list()


@present
@pytest.mark.parametrize("collection", ["acordar", "robust03"])
@pytest.mark.parametrize("name", CORRECTIONS)
def test_a_comparison_corrects_all_pairs_of_a_metric(collection: str, name: str) -> None:
    for test, ours in EXACT.items():
        rows = golden("corrected").filter(collection=collection, test=test, correction=name)
        both = rows.join(compared(report(collection), ours, CORRECTIONS[name]), on=KEYS, how="left", suffix="_ours")
        for row in both.iter_rows(named=True):
            tolerance = 0.05 if "wilcoxon" in test else 1e-9  # up to ten times that of p
            assert row["p_corrected_ours"] == pytest.approx(row["p_corrected"], abs=tolerance)
            assert row["significant"] == row["rejected_at_0.05"]


@present
def test_rows_stand_by_metric_and_then_best_first() -> None:
    found = rf.compare(report("robust03"), baseline="pircRBa1")
    assert found["metric"].to_list() == ["ndcg@10"] * 4 + ["map"] * 4
    assert all(first >= second for first, second in pairwise(found["value"][:4]))
