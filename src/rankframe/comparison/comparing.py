"""`compare`: one frame, a row for each pair of runs and metric, with what can be concluded from it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import combinations
from numbers import Real
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

import polars as pl

from rankframe.comparison.corrections import Correction, check_correction, corrected, scipy_module
from rankframe.comparison.paired import Draws, Test, check_test, has_spread, p_values
from rankframe.errors import DataError, listed, nearest
from rankframe.findings import difference, judged_share
from rankframe.intervals import LARGEST, MOST_RESAMPLES, ROUNDING, Interval, mean_intervals, whole_number
from rankframe.report import Report
from rankframe.summaries import Measured

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, np.dtype[np.float64]]

Family = Literal["metric", "table"]

_SPELLED: dict[str, Test] = {"randomization": "randomisation"}

_NEITHER = ("judged", "unjudged", "num_ret", "num_rel")
"""Metrics that say how a run was judged and how much it returns, and not how good it is."""

FEW = 25
"""With fewer queries than this, a row says that they are few."""

COMPARISON = pl.Schema(
    {
        "metric": pl.String,
        "run_id": pl.String,
        "other": pl.String,
        "value": pl.Float64,
        "other_value": pl.Float64,
        "difference": pl.Float64,
        "ci_low": pl.Float64,
        "ci_high": pl.Float64,
        "relative": pl.Float64,
        "wins": pl.Int64,
        "ties": pl.Int64,
        "losses": pl.Int64,
        "n": pl.Int64,
        "n_missing": pl.Int64,
        "n_unpaired": pl.Int64,
        "effect_size": pl.Float64,
        "p": pl.Float64,
        "p_corrected": pl.Float64,
        "significant": pl.Boolean,
        "detectable": pl.Float64,
        "few_queries": pl.Boolean,
        "no_spread": pl.Boolean,
        "many_ties": pl.Boolean,
        "judged": pl.Float64,
        "other_judged": pl.Float64,
        "test": pl.String,
        "correction": pl.String,
        "alpha": pl.Float64,
        "level": pl.Float64,
        "reason": pl.String,
    }
)


def compare(
    report: Report,
    *,
    baseline: str | Sequence[str] | None = None,
    metrics: str | Sequence[str] | None = None,
    test: Test = "randomisation",
    correction: Correction | None = "holm",
    family: Family = "metric",
    alpha: float = 0.05,
    power: float = 0.8,
    n_resamples: int = 10_000,
    seed: int = 0,
) -> pl.DataFrame:
    """Which run is better than which other, by how much, and how sure that is; from saved scores.

    Args:
        report: of at least two runs. Pairs are made by the id of the query or sample.
        baseline: the run, or runs, that every other run is compared with; all pairs unless given, with the better run
            as `run_id`.
        metrics: those to compare; all of the report unless given but for judged, unjudged, num_ret and num_rel, of
            which more is neither better nor worse. Of the others the higher value is taken to be the better one.
        test: "randomisation" (of signs: all 2^n ways where these are no more than `n_resamples`, else as many random
            ones, the observed one counted too, so p is never 0), "t" (paired), "wilcoxon" (signed ranks, differences
            of 0 left out; "wilcoxon-pratt" and "wilcoxon-zsplit" keep them; sizes that differ by rounding alone are
            tied), "sign", or "bootstrap" (of t).
        correction: for the number of tests: "holm", "bonferroni", "holm-sidak", "bh" (Benjamini-Hochberg), "by", None.
        family: what is corrected together: "metric", all pairs of a metric, or "table", all rows.
        alpha: a corrected p up to this is significant.
        power: the chance with which a difference of the size `detectable` is found.
        n_resamples: random resamples of the tests that take them.
        seed: of their random numbers; the same seed gives the same p values.

    Returns:
        A row per (metric, run_id, other), in the order of the metrics and then the best run first:
        metric, run_id, other String; value, other_value (means over the pairs), difference (value - other_value),
        ci_low, ci_high (its bootstrap interval, made as `report.with_intervals` says), relative (difference /
        other_value; null where that is 0) Float64; wins, ties, losses (queries on which run_id has the higher value,
        the same, the lower), n (pairs), n_missing (of them: missing or failed in a run, and 0), n_unpaired
        (queries without a value in one run, left out) Int64; effect_size (mean by standard deviation of the
        differences, Cohen's d of pairs), p, p_corrected Float64, significant Boolean (false without a p); detectable
        Float64 (the smallest true difference that a paired t-test of so many queries finds at `alpha` with `power`,
        before correction);
        few_queries (below 25), no_spread (all differences equal), many_ties (more than half) Boolean; judged,
        other_judged Float64 (shares of judged documents down to the metric's cutoff, null where the report has no
        judged@k of it); test, correction String, alpha, level (of the intervals) Float64, reason String (why there is
        no p, or why not to trust the row, or null).
        Scores that differ by rounding alone are ties, and runs that never differ have p = 1 under every test.

    Raises:
        DataError: for fewer than two runs, an unknown run, metric, test or correction, or an option out of its range.
        ExtraError: without the extra `stats`.

    Source: Smucker, Allan and Carterette 2007, doi:10.1145/1321440.1321528 (randomisation); Phipson and Smyth 2010,
    doi:10.2202/1544-6115.1585 (p is never 0); Sakai 2018, Laboratory Experiments in Information Retrieval.

    >>> import rankframe as rf
    >>> runs = {"a": {"q1": {"d1": 1.0}, "q2": {"d9": 1.0}}, "b": {"q1": {"d1": 1.0}, "q2": {"d2": 1.0}}}
    >>> report = rf.evaluate(runs, {"q1": {"d1": 1}, "q2": {"d2": 1}}, metrics="mrr")
    >>> found = compare(report, baseline="a")  # doctest: +SKIP
    >>> found.select("run_id", "other", "difference", "wins", "ties", "p", "reason").rows()  # doctest: +SKIP
    [('b', 'a', 0.5, 1, 1, 1.0, 'few queries')]
    """
    if not isinstance(report, Report):
        raise DataError(
            f"compare() takes a report, got a {type(report).__name__}; reports that were saved are read as one: "
            f"read_report(['a.parquet', 'b.parquet'])"
        )
    test = _SPELLED.get(test, test)
    _check(test, correction, family, alpha, power)
    scipy_module("scipy.stats")
    draws = Draws(whole_number("n_resamples", n_resamples, 100, MOST_RESAMPLES), whole_number("seed", seed, 0))
    pairs = _pairs(report.runs, baseline)
    rows = [
        row
        for metric in _metrics(report, metrics)
        for row in _compared(
            report, metric, pairs, test, draws, better_first=baseline is None, alpha=alpha, power=power
        )
    ]
    rows = _with_corrections(rows, correction, family, alpha)
    same = {"test": test, "correction": correction, "alpha": alpha, "level": report.intervals.level}
    table = pl.DataFrame([{**row, **same} for row in rows], schema=COMPARISON)
    ranked = table.with_columns(pl.col("metric").rle_id().alias("#"))
    return ranked.sort(
        "#", "value", "other_value", "run_id", "other", descending=[False, True, True, False, False], nulls_last=True
    ).drop("#")


def _check(test: object, correction: object, family: object, alpha: float, power: float) -> None:
    check_test(test)
    if correction is not None:
        check_correction(correction)
    if family not in get_args(Family):
        raise DataError(f'family is "metric" (all pairs of a metric) or "table" (all rows), got {family!r:.80}')
    for name, share in (("alpha", alpha), ("power", power)):
        if isinstance(share, bool) or not isinstance(share, Real) or not 1e-9 < share < 1 - 1e-9:
            raise DataError(f"{name} is a share between 0 and 1, got {share!r:.80}")


def _pairs(runs: Sequence[str], baseline: str | Sequence[str] | None) -> list[tuple[str, str]]:
    """Which run is held against which other."""
    if len(runs) < 2:
        raise DataError(
            f"there are no two runs to compare, only {listed(runs)}; evaluate them together, as in "
            f"evaluate({{'a': first, 'b': second}}, qrels)"
        )
    if baseline is None:
        return list(combinations(runs, 2))
    named = [baseline] if isinstance(baseline, str) or not isinstance(baseline, Iterable) else list(baseline)
    for name in named:
        if name not in runs:
            raise DataError(f"no run {name!r:.80} to be the baseline: {nearest(str(name), runs)}")
    baselines = list(dict.fromkeys(named))
    others = [run for run in runs if run not in baselines]
    if not others or not baselines:
        raise DataError("every run is a baseline, or none is; leave baseline= out to compare all pairs")
    return [(run, other) for other in baselines for run in others]


def _metrics(report: Report, metrics: str | Sequence[str] | None) -> list[Measured]:
    """The metrics to compare, each column once: a metric's pairs are the same however it is put together."""
    if metrics is not None and (isinstance(metrics, str) or not isinstance(metrics, Iterable)):
        metrics = [metrics]
    if metrics is None:
        asked = [metric for metric in report.metrics if metric.name.partition("@")[0] not in _NEITHER] or report.metrics
    else:
        asked = [report.metric(name) for name in metrics]
    if not asked:
        raise DataError("metrics= is empty; leave it out to compare by all metrics of the report")
    return list({metric.name: metric for metric in asked}.values())


class _Scores(NamedTuple):
    """One metric's scores: a row per query or sample, a column per run, in the order of the report's runs."""

    values: list[pl.Series]
    missing: list[pl.Series]
    judged: list[pl.Series]


def _scores(report: Report, metric: Measured) -> _Scores:
    """The scores side by side, joined by the id of the query or sample; what is left out is null."""
    told = report.scores.select(
        report.key,
        "run_id",
        pl.col(metric.name).fill_nan(None).alias("value"),
        pl.col("status").is_in(["missing", "failed"]).alias("missing"),
        judged_share(metric, report.metrics, report.key).alias("judged"),
    )
    ids = told.select(report.key).unique().sort(report.key)
    runs = [told.filter(pl.col("run_id") == run) for run in report.runs]
    rows = [ids.join(run, on=report.key, how="left", maintain_order="left") for run in runs]
    return _Scores(*([run[name] for run in rows] for name in ("value", "missing", "judged")))


def _compared(
    report: Report,
    metric: Measured,
    pairs: Sequence[tuple[str, str]],
    test: Test,
    draws: Draws,
    *,
    better_first: bool,
    alpha: float,
    power: float,
) -> Iterator[dict[str, Any]]:
    """A row per pair, all but the correction; perhaps with the better run of each first."""
    import numpy as np

    scores = _scores(report, metric)
    places = {run: place for place, run in enumerate(report.runs)}
    found = [_differences(scores.values[places[run]], scores.values[places[other]]) for run, other in pairs]
    if better_first:
        worse = [(_mean(differences) or 0.0) < 0 for differences in found]
        pairs = [(other, run) if turn else (run, other) for (run, other), turn in zip(pairs, worse, strict=True)]
        found = [-differences if turn else differences for differences, turn in zip(found, worse, strict=True)]
    columns = [differences.drop_nulls().to_numpy() for differences in found]
    stacked = np.stack([differences.fill_null(np.nan).to_numpy() for differences in found], axis=1)
    tests = p_values(stacked, test, draws)
    intervals = mean_intervals(columns, report.intervals, report.unit)
    for (run, other), differences, column, p, interval in zip(pairs, found, columns, tests, intervals, strict=True):
        sides, paired = (places[run], places[other]), differences.is_not_null()
        value, other_value = (_mean(scores.values[side].filter(paired)) for side in sides)
        judged, other_judged = (_mean(scores.judged[side].filter(paired)) for side in sides)
        one_missing = (scores.missing[sides[0]] | scores.missing[sides[1]]).filter(paired)
        one_without = scores.values[sides[0]].is_null() != scores.values[sides[1]].is_null()
        yield {
            "metric": metric.name,
            "run_id": run,
            "other": other,
            "value": value,
            "other_value": other_value,
            **_differing(column, other_value, interval),
            "n_missing": int(one_missing.sum()),
            "n_unpaired": int(one_without.sum()),
            "p": p,
            "detectable": _detectable(column, alpha, power),
            "judged": judged,
            "other_judged": other_judged,
            **_doubts(column, p, test, report.unit),
        }


def _differences(values: pl.Series, others: pl.Series) -> pl.Series:
    """The differences of one pair, null where a side has no value."""
    both = pl.DataFrame([values.alias("value"), others.alias("other")])
    return both.select(difference(pl.col("value"), pl.col("other")).alias("difference"))["difference"]


def _mean(values: pl.Series) -> float | None:
    """The mean, None where there is none: of nothing, or of infinities that cancel out."""
    mean = values.mean()
    return float(mean) if isinstance(mean, float) and not math.isnan(mean) else None


def _differing(column: Array, other_value: float | None, interval: Interval) -> dict[str, Any]:
    """How large a difference is, and on how many queries it is on which side."""
    mean = _mean(pl.Series(column))
    if mean is not None and abs(mean) <= ROUNDING:
        mean = 0.0
    spread = float(column.std(ddof=1)) if len(column) > 1 and has_spread(column) else 0.0
    relative = mean / other_value if mean is not None and other_value else None
    return {
        "difference": mean,
        "ci_low": interval.low,
        "ci_high": interval.high,
        "relative": None if relative is None or math.isnan(relative) else relative,
        "wins": int((column > 0).sum()),
        "ties": int((column == 0).sum()),
        "losses": int((column < 0).sum()),
        "n": len(column),
        "effect_size": mean / spread if mean is not None and spread else None,
    }


def _doubts(column: Array, p: float | None, test: Test, unit: str) -> dict[str, Any]:
    """Why there is no p value, and what speaks against trusting the row."""
    n = len(column)
    units = "queries" if unit == "query" else "samples"
    ties = int((column == 0).sum())
    few, many_ties, no_spread = n < FEW, ties * 2 > n, n > 1 and not has_spread(column)
    if n == 0:
        reasons = [f"no {unit} in common"]
    elif n == 1:
        reasons = [f"one {unit}"]
    elif ties == n:
        reasons = ["no difference"]
    elif not (abs(column) <= LARGEST).all():
        no_spread, reasons = False, [f"a difference is infinite or beyond {LARGEST:g}"]
    else:
        undefined = f", for which {test} is not defined" if p is None else ""
        reasons = [f"all differences are equal{undefined}"] if no_spread else [f"few {units}"] if few else []
        reasons += ["many ties"] if many_ties else []
    return {"few_queries": few, "no_spread": no_spread, "many_ties": many_ties, "reason": "; ".join(reasons) or None}


def _detectable(column: Array, alpha: float, power: float) -> float | None:
    """The smallest true difference that a paired t-test of such differences finds with this power."""
    n = len(column)
    if n < 2 or not has_spread(column):
        return None
    return float(column.std(ddof=1) / n**0.5 * _noncentrality(n - 1, alpha, power))


@cache
def _noncentrality(df: int, alpha: float, power: float) -> float:
    """How many standard errors a difference must measure to be found with this power."""
    import numpy as np
    from scipy.optimize import brentq
    from scipy.special import ndtr
    from scipy.stats import chi2, t

    # scipy's noncentral t is not defined everywhere here, and the mean over its variance is
    limits = t.isf(alpha / 2, df) * np.sqrt(chi2.ppf((np.arange(2_000) + 0.5) / 2_000, df) / df)

    def missed(shift: float) -> float:
        return float(power - (ndtr(shift - limits) + ndtr(-shift - limits)).mean())

    return float(brentq(missed, 0.0, limits[-1] + 40.0)) if missed(0.0) > 0 else 0.0


def _with_corrections(
    rows: list[dict[str, Any]], correction: Correction | None, family: Family, alpha: float
) -> list[dict[str, Any]]:
    """The rows with corrected p values, corrected family by family."""
    done = []
    for name in dict.fromkeys(row["metric"] for row in rows) if family == "metric" else [None]:
        members = [row for row in rows if name in (None, row["metric"])]
        p = [row["p"] for row in members]
        for row, value in zip(members, p if correction is None else corrected(p, correction), strict=True):
            done.append({**row, "p_corrected": value, "significant": value is not None and value <= alpha})
    return done
