"""Calibration: how far a judge's verdicts can be trusted, measured against labels.

A judge is compared with labels as two columns: everything is counted from their confusion, resamples too.
"""

from __future__ import annotations

import math
import numbers
import operator
from collections.abc import Iterator
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import TYPE_CHECKING, Literal, TypeGuard

import polars as pl

from rankframe.errors import DataError, MetricError, counted, listed
from rankframe.frames.checks import choice
from rankframe.metrics.metric import checked_cutoff
from rankframe.rag.verdicts import Pairs, kind, paired
from rankframe.rendering import aligned, html_table, number

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]

Weights = Literal["linear", "quadratic"]

DOMINANT = 0.9
"""Above this share of one category kappa says little, and the note says so."""
FEW = 30
"""Below this number of pairs the note calls the intervals rough."""
MOST_CATEGORIES = 200
"""More than this are no verdicts but ids, free text or measurements; a scale of 0 to 100 fits."""

_SHOWN = 10  # categories up to which the text form shows the confusion
_AT_ONCE = 2_000_000  # cells of resamples that are in memory together


@dataclass(frozen=True, eq=False)
class Agreement:
    """How a judge agrees with labels. Shares and rates are in 0 to 1, None where they have no value.

    Attributes:
        n: pairs with a verdict and a label; everything below is over them.
        n_abstained: pairs with a label and no verdict.
        n_unlabelled: pairs without a label, whatever the judge says.
        abstention_rate: n_abstained among the labelled pairs.
        raw: the share of pairs in which both say the same.
        raw_low, raw_high: its Wilson interval, which is no point where all agree.
        kappa: Cohen's, in -1 to 1, weighted where `weights` says so. None where only one category occurs.
        kappa_low, kappa_high: its percentile bootstrap interval over pairs.
        ac1: Gwet's AC1 (never weighted), in -1 to 1: agreement beyond chance that holds where one category dominates.
        ac1_low, ac1_high: likewise.
        true_positive_rate: of the pairs labelled True, the share that the judge calls True. For booleans, and where
            only the numbers 0 and 1 occur; None otherwise, and where there is no such pair.
        true_negative_rate: of the pairs labelled False, the share that the judge calls False; likewise.
        precision: of the pairs that the judge calls True, the share labelled True; likewise.
        confusion: judged, label (Boolean, Int64 or String), n Int64: every pair of categories, zeros too, sorted.
        base_rates: category, judged, label Float64 (its share among verdicts and labels), n_judged, n_label Int64;
            sorted by category.
        only_judged, only_labels: ids that the other side does not have, sorted; they are in no count.
        weights: "linear", "quadratic" or None.
        level: of the intervals.
        resamples: how many the bootstrap drew.
        n_undefined: resamples in which kappa has no value; they are left out of its interval.
        note: what to know before trusting the numbers, a sentence per line; empty where there is nothing.
    """

    n: int
    n_abstained: int
    n_unlabelled: int
    abstention_rate: float
    raw: float
    raw_low: float
    raw_high: float
    kappa: float | None
    kappa_low: float | None
    kappa_high: float | None
    ac1: float
    ac1_low: float
    ac1_high: float
    true_positive_rate: float | None
    true_negative_rate: float | None
    precision: float | None
    confusion: pl.DataFrame
    base_rates: pl.DataFrame
    only_judged: tuple[str, ...]
    only_labels: tuple[str, ...]
    weights: Weights | None
    level: float
    resamples: int
    n_undefined: int
    note: str

    def table(self, digits: int = 4) -> list[list[str]]:
        """The figures as text: a header, then a row per figure with its interval."""
        kappa = f"kappa ({self.weights})" if self.weights else "kappa"
        rows: list[tuple[str, float | None, float | None, float | None]] = [
            ("raw", self.raw, self.raw_low, self.raw_high),
            (kappa, self.kappa, self.kappa_low, self.kappa_high),
            ("ac1", self.ac1, self.ac1_low, self.ac1_high),
        ]
        rates = ("true_positive_rate", "true_negative_rate", "precision")
        rows += [(rate, getattr(self, rate), None, None) for rate in rates if getattr(self, rate) is not None]
        return [["figure", "value", "low", "high"], *([row[0], *(number(x, digits) for x in row[1:])] for row in rows)]

    def counts(self) -> list[str]:
        """What the numbers are over, in words, then whatever was left out, and the note."""
        left_out = [
            f"abstained {self.n_abstained:,} ({self.abstention_rate:.1%} of the labelled)" if self.n_abstained else "",
            f"unlabelled {self.n_unlabelled:,}" if self.n_unlabelled else "",
            f"only judged {len(self.only_judged):,} ({listed(self.only_judged)})" if self.only_judged else "",
            f"only labelled {len(self.only_labels):,} ({listed(self.only_labels)})" if self.only_labels else "",
        ]
        over = f"over {counted(self.n, 'pair')}, {self.level * 100:.6g}% intervals"
        return [over, *filter(None, left_out), *self.note.splitlines()]

    def _crossed(self) -> list[list[str]]:
        """The confusion as text: a row per verdict, a column per label."""
        names = [repr(category) for category in self.base_rates["category"]]
        cells = [f"{n:,}" for n in self.confusion["n"]]
        body = [[name, *cells[i * len(names) : (i + 1) * len(names)]] for i, name in enumerate(names)]
        return [["judged \\ label", *names], *body]

    def __repr__(self) -> str:
        over, *notes = self.counts()
        crossed = [aligned(self._crossed())] if len(self.base_rates) <= _SHOWN else []
        return "\n".join([f"Agreement {over}", aligned(self.table()), *crossed, *notes])

    def _repr_html_(self) -> str:
        over, *notes = self.counts()
        crossed = html_table(self._crossed(), "confusion", []) if len(self.base_rates) <= _SHOWN else ""
        return crossed + html_table(self.table(), f"agreement {over}", notes)


def agreement(
    judged: object,
    labels: object,
    *,
    threshold: float | None = None,
    weights: Weights | None = None,
    level: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
) -> Agreement:
    """How a judge's verdicts agree with labels: raw agreement, Cohen's kappa, Gwet's AC1, rates and confusion.

    Verdicts are booleans, text (compared as it is), whole numbers, or floats. Floats that are all whole are whole
    numbers: pandas writes 1 as 1.0 beside a missing value; other floats need `threshold`. Numbers stand for booleans
    where the other side is boolean, and are then 0 or 1. Null, None and NaN mean no verdict: the judge abstained, or
    nobody labelled. They are counted, and are in no share.

    Args:
        judged: the judge's verdicts: a column (`pl.Series`, list, numpy array, pandas Series), a mapping
            sample_id -> verdict, or a frame of sample_id and one column of verdicts.
        labels: the same of whoever is right. Columns are aligned by position; mappings and frames by id, as text.
        threshold: floats become booleans, True from this value on. Other verdicts are left as they are.
        weights: for whole numbers on a scale: a disagreement weighs by its distance, "linear", or by the square of
            it, "quadratic". The distance is that of the numbers, so a grade that nobody gave still keeps its place.
        level: of the intervals, between 0 and 1.
        resamples: how many resamples the bootstrap draws.
        seed: of the bootstrap. The same pairs and seed give the same intervals, whatever the order of the pairs.

    Returns:
        An `Agreement`. Kappa is None where both sides know the same one category, as chance then explains everything.
        AC1 counts the categories that occur (False and True always), and is 1 where there is one. The caller's
        objects are never changed.

    Raises:
        DataError: where no pair has a verdict and a label (empty input likewise), for columns of different length or
            with different pandas indexes, ids that are null or stand twice, verdicts of mixed types or of types that
            cannot be compared (text is never read as booleans), fractions without a threshold, a threshold without
            floats, weights without whole numbers, and more than 200 categories.
        MetricError: for a threshold, level, resamples or seed that means nothing.

    Sources: Cohen 1960 doi:10.1177/001316446002000104, weighted 1968 doi:10.1037/h0026256; Gwet 2008
    doi:10.1348/000711006X126600; Wilson 1927 doi:10.1080/01621459.1927.10502953; Efron 1979, percentile bootstrap,
    doi:10.1214/aos/1176344552.

    >>> found = agreement([True] * 45 + [False] * 15, [True] * 40 + [False] * 20)
    >>> round(found.raw, 3), round(found.kappa, 3), round(found.true_negative_rate, 3)
    (0.917, 0.8, 0.75)
    >>> found.confusion.rows()
    [(False, False, 15), (False, True, 0), (True, False, 5), (True, True, 40)]
    """
    if weights is not None:
        choice("weights", weights, ("linear", "quadratic"))
    resamples = checked_cutoff(resamples, "resamples")
    threshold, level, seed = _checked_options(threshold, level, seed)
    pairs = paired(judged, labels, threshold)
    categories = _categories(pairs)
    if weights is not None and categories.dtype != pl.Int64:
        raise DataError(
            f"weights={weights!r} weighs how far whole numbers are apart; the verdicts are {kind(categories)}: leave "
            f"it out, or number the categories"
        )
    n = len(pairs.label)
    confusion = _confusion(pairs, categories)
    cells: Floats = confusion["n"].cast(pl.Float64).to_numpy().reshape(len(categories), -1)
    costs = _costs(categories, weights)
    (kappa,), (ac1,) = _beyond_chance(cells[None], costs)
    drawn = [_beyond_chance(part, costs) for part in _resampled(cells, resamples, seed)]
    kappas = [value for part, _ in drawn for value in part.tolist() if not math.isnan(value)]
    kappa_low, kappa_high = _percentiles(kappas, level) if kappas else (None, None)
    ac1_low, ac1_high = _percentiles([value for _, part in drawn for value in part.tolist()], level)
    raw = int(cells.trace()) / n
    raw_low, raw_high = _wilson(raw, n, level)
    true_positive_rate, true_negative_rate, precision = _rates(confusion)
    found = Agreement(
        n=n,
        n_abstained=pairs.n_abstained,
        n_unlabelled=pairs.n_unlabelled,
        abstention_rate=pairs.n_abstained / (n + pairs.n_abstained),
        raw=raw,
        raw_low=raw_low,
        raw_high=raw_high,
        kappa=None if math.isnan(kappa) else float(kappa),
        kappa_low=kappa_low,
        kappa_high=kappa_high,
        ac1=float(ac1),
        ac1_low=ac1_low,
        ac1_high=ac1_high,
        true_positive_rate=true_positive_rate,
        true_negative_rate=true_negative_rate,
        precision=precision,
        confusion=confusion,
        base_rates=_base_rates(confusion, n),
        only_judged=pairs.only_judged,
        only_labels=pairs.only_labels,
        weights=weights,
        level=level,
        resamples=resamples,
        n_undefined=resamples - len(kappas),
        note="",
    )
    return replace(found, note="\n".join(_notes(found)))


def _checked_options(threshold: object, level: object, seed: object) -> tuple[float | None, float, int]:
    if threshold is not None and not (_is_number(threshold) and math.isfinite(threshold)):
        raise MetricError(f"threshold is a finite number, got {threshold!r}")
    if not (_is_number(level) and 0 < level < 1):
        raise MetricError(f"level is between 0 and 1, as in level=0.95, got {level!r}")
    if isinstance(seed, bool) or not isinstance(seed, numbers.Integral) or seed < 0:
        raise MetricError(f"seed is a whole number from 0, got {seed!r}")
    return None if threshold is None else float(threshold), float(level), int(seed)


def _is_number(value: object) -> TypeGuard[float]:
    return isinstance(value, numbers.Real) and not isinstance(value, bool)


def _categories(pairs: Pairs) -> pl.Series:
    """Every category that occurs, sorted; both booleans in any case."""
    if pairs.label.dtype == pl.Boolean:
        return pl.Series([False, True])
    found = pl.concat([pairs.judged, pairs.label.rename("judged")]).unique().sort()
    if len(found) > MOST_CATEGORIES:
        raise DataError(
            f"the verdicts and labels have {len(found):,} categories, such as {listed(found)}; more than "
            f"{MOST_CATEGORIES} are no verdicts: group them first, or cut numbers into booleans"
        )
    return found


def _confusion(pairs: Pairs, categories: pl.Series) -> pl.DataFrame:
    seen = pl.DataFrame([pairs.judged, pairs.label]).group_by("judged", "label").agg(n=pl.len().cast(pl.Int64))
    every = pl.DataFrame({"judged": categories}).join(pl.DataFrame({"label": categories}), how="cross")
    found = every.join(seen, on=["judged", "label"], how="left", maintain_order="left")
    return found.with_columns(pl.col("n").fill_null(0))


def _base_rates(confusion: pl.DataFrame, n: int) -> pl.DataFrame:
    sums = {
        side: confusion.group_by(side, maintain_order=True).agg(pl.col("n").sum())["n"] for side in ("judged", "label")
    }
    # Polars divides a column by a number as a product with its inverse: 70 / 100 would be 0.7000000000000001.
    shares = {side: pl.Series([count / n for count in counts], dtype=pl.Float64) for side, counts in sums.items()}
    categories = confusion["judged"].unique(maintain_order=True)
    return pl.DataFrame({"category": categories, **shares, "n_judged": sums["judged"], "n_label": sums["label"]})


def _rates(confusion: pl.DataFrame) -> tuple[float | None, float | None, float | None]:
    """True positive rate, true negative rate and precision of a yes-or-no judge."""
    if not set(confusion["label"]) <= {0, 1}:  # False and True are among them
        return None, None, None
    count = {(bool(judged), bool(label)): n for judged, label, n in confusion.iter_rows()}
    hits, rejections = count.get((True, True), 0), count.get((False, False), 0)
    misses, alarms = count.get((False, True), 0), count.get((True, False), 0)
    return _share(hits, misses), _share(rejections, alarms), _share(hits, alarms)


def _share(part: int, rest: int) -> float | None:
    return part / (part + rest) if part + rest else None


def _costs(categories: pl.Series, weights: Weights | None) -> Floats:
    """What a disagreement of each pair of categories costs."""
    import numpy as np

    if weights is None:
        return 1.0 - np.eye(len(categories))
    values = categories.cast(pl.Float64).to_numpy()
    distances: Floats = np.abs(values[:, None] - values[None, :])
    return distances if weights == "linear" else distances**2


def _beyond_chance(cells: Floats, costs: Floats) -> tuple[Floats, Floats]:
    """Kappa (NaN where it has no value) and AC1 of each confusion: (resample, judged, label) -> (resample,)."""
    import numpy as np

    n, judged, label = cells.sum(axis=(1, 2)), cells.sum(axis=2), cells.sum(axis=1)
    paid = (cells * costs).sum(axis=(1, 2)) * n
    by_chance = ((judged @ costs) * label).sum(axis=1)
    kappa = 1.0 - np.divide(paid, by_chance, out=np.full_like(paid, np.nan), where=by_chance > 0)
    share = (judged + label) / (2 * n[:, None])
    expected = (share * (1 - share)).sum(axis=1) / max(len(costs) - 1, 1)
    raw = np.trace(cells, axis1=1, axis2=2) / n
    return kappa, (raw - expected) / (1 - expected)


def _resampled(cells: Floats, resamples: int, seed: int) -> Iterator[Floats]:
    """Confusions of pairs drawn with replacement, some at a time: (resample, judged, label).

    The counts of drawn pairs are multinomial, so no pair is drawn, and the order of the pairs plays no part. Only cells
    with pairs take part: the last one gets what rounding leaves over.
    """
    import numpy as np

    rng, n = np.random.default_rng(seed), int(cells.sum())
    filled = np.flatnonzero(cells)
    shares = cells.ravel()[filled] / n
    step = max(1, _AT_ONCE // cells.size)
    for start in range(0, resamples, step):
        size = min(step, resamples - start)
        drawn = np.zeros((size, cells.size))
        drawn[:, filled] = rng.multinomial(n, shares, size=size)
        yield drawn.reshape(size, *cells.shape)


def _percentiles(values: list[float], level: float) -> tuple[float, float]:
    import numpy as np

    low, high = np.quantile(values, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def _wilson(share: float, n: int, level: float) -> tuple[float, float]:
    """Wilson's score interval of a share."""
    z2 = NormalDist().inv_cdf((1 - level) / 2) ** 2 / n
    centre, scale = share + z2 / 2, 1 + z2
    half = math.sqrt(share * (1 - share) * z2 + z2 * z2 / 4)
    return max(0.0, min(share, (centre - half) / scale)), min(1.0, max(share, (centre + half) / scale))


def _notes(found: Agreement) -> list[str]:
    """What to know before trusting the numbers."""
    notes = []
    categories, judged, label = (found.base_rates[name].to_list() for name in ("category", "judged", "label"))
    side, most, category = max(
        ("labels", max(label), categories[label.index(max(label))]),
        ("verdicts", max(judged), categories[judged.index(max(judged))]),
        key=lambda told: told[1],
    )
    if found.kappa is None:
        notes.append(f"kappa has no value: {category!r} alone occurs, so chance explains all agreement; look at ac1")
    elif most > DOMINANT:
        notes.append(f"{most:.1%} of the {side} are {category!r}: kappa collapses where one dominates; look at ac1")
    if found.kappa is not None and found.n_undefined:
        notes.append(f"kappa has no value in {found.n_undefined:,} of {counted(found.resamples, 'resample')}, left out")
    if found.kappa is not None and found.raw == 1:
        notes.append("all pairs agree, so no resample can disagree: the interval of raw alone says what n allows")
    if found.base_rates["category"].dtype != pl.Boolean and not any(map(operator.mul, judged, label)):
        notes.append("judge and labels share no category; is one of them spelled or numbered in another way?")
    if found.n < FEW:
        notes.append(f"fewer than {FEW} pairs: the intervals are rough")
    return notes
