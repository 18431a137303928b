"""The report: scores per query or sample, their summary, and a ledger of what was left out, all as frames."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Any

import polars as pl

from rankframe import gates
from rankframe.errors import DataError, listed, nearest
from rankframe.findings import changes, hardest, slice_columns, sliced
from rankframe.frames.ledger import extended, in_words
from rankframe.frames.metadata import with_metadata
from rankframe.gates.labels import labelled, meant
from rankframe.intervals import Intervals, Method
from rankframe.io.files import beside, writing
from rankframe.metrics.conventions import CONVENTIONS
from rankframe.rendering import aligned, html_table
from rankframe.summaries import (
    Measured,
    claims_of,
    covered,
    documented,
    population,
    summarised,
    text_table,
    with_intervals,
)

METADATA = "rankframe"
FORMAT = 1


@dataclass(frozen=True, eq=False)
class Report:
    """Scores of one or more runs, with everything that is needed to trust them.

    Attributes:
        scores: a row per run and judged query: run_id, query_id, status String (`ok`, `missing`, `failed`,
            `no_relevant`, `not_asked`), n_ret, n_rel, n_judged Int64, then a Float64 column per metric; null where
            the query is left out. Sorted by run_id and query_id. Or a row per run and sample, as `evaluate_samples`
            tells. Joined metadata stands behind.
        ledger: run_id, reason String, count Int64, examples List(String): what was left out and why.
        metrics: what the metric columns are.
        options: convention, options, inputs and versions that made the scores.
        unit: what a row is scored for: "query" or "sample".
    """

    scores: pl.DataFrame
    ledger: pl.DataFrame
    metrics: tuple[Measured, ...]
    options: Mapping[str, Any] = field(default_factory=dict)
    unit: str = "query"

    @property
    def key(self) -> str:
        """The column that names the unit: query_id or sample_id."""
        return f"{self.unit}_id"

    @property
    def per_query(self) -> pl.DataFrame:
        """`scores`, under the name of its unit."""
        return self._per("query")

    @property
    def per_sample(self) -> pl.DataFrame:
        """`scores`, under the name of its unit."""
        return self._per("sample")

    def _per(self, unit: str) -> pl.DataFrame:
        if self.unit != unit:
            raise AttributeError(f"this report is per {self.unit}; see .scores")
        return self.scores

    @property
    def runs(self) -> list[str]:
        """The names of the runs, sorted."""
        return self.scores["run_id"].unique().sort().to_list()

    @cached_property
    def summary(self) -> pl.DataFrame:
        """Every metric of every run, put together over the scored queries or samples.

        Columns: run_id, metric, aggregate String, value, std (of the sample), median, ci_low, ci_high Float64 (the ends
        of the bootstrap interval of `value`, 95 % and BCa unless `with_intervals` says otherwise), n (scored queries or
        samples), n_missing (of them: not in the run), n_null (without a value), n_failed (whose retrieval or judge
        failed) Int64, ci_reason String (why there is no interval, null where there is one). `value` is null where n
        is 0. All metrics of a report share one population of queries; of samples each has its own.
        """
        return with_intervals(self._totals, self.scores, self.metrics, self.unit, self.intervals)

    @cached_property
    def _totals(self) -> pl.DataFrame:
        """The summary without intervals, which take longer than all the rest of it."""
        return summarised(self.scores, self.metrics, self.unit)

    @property
    def intervals(self) -> Intervals:
        """How the intervals of this report are made: level, method, n_resamples, seed."""
        return Intervals(**self.options.get("intervals", {}))

    def with_intervals(
        self, *, level: float = 0.95, method: Method = "bca", n_resamples: int = 2_000, seed: int = 0
    ) -> Report:
        """The same report with other intervals, in its summary and slices and in comparisons.

        Args:
            level: the share of such intervals that hold the mean over all possible queries, between 0 and 1.
            method: "bca" (corrected for bias and skewness) or "percentile".
            n_resamples: how many times the queries are drawn anew; from 10,000 queries on that is not needed.
            seed: of the random numbers; the same seed gives the same intervals.

        Raises:
            DataError: for a value that means nothing here.
        """
        how = Intervals(level, method, n_resamples, seed)
        return replace(self, options={**self.options, "intervals": asdict(how)})

    def by(self, *columns: str, bins: Mapping[str, int | Sequence[float]] | None = None) -> pl.DataFrame:
        """The summary of every slice of the queries or samples, from the saved scores.

        Args:
            columns: columns of the scores, as `join` puts there: `report.join(queries).by("topic", "difficulty")`.
            bins: of numeric columns: how many slices of about equal size, or the edges between slices; a value on an
                edge belongs below it.

        Returns:
            The columns asked for, then those of `summary`; a row per slice, run and metric, sorted by slice. Binned
            columns are Enum, in order. What has no value in a column is a slice of its own, null.

        Raises:
            DataError: for a column that is not there or cannot be sliced by, and for bins that mean nothing.

        >>> import rankframe as rf
        >>> runs = {"a": {"q1": {"d1": 2.0}}, "b": {"q1": {"d9": 2.0, "d1": 1.0}, "q2": {"d2": 1.0}}}
        >>> report = rf.evaluate(runs, {"q1": {"d1": 1}, "q2": {"d2": 1}}, metrics="mrr")
        >>> metadata = pl.DataFrame({"query_id": ["q1", "q2"], "topic": ["x", None]})
        >>> report.join(metadata).by("topic").select("topic", "run_id", "value", "n").rows()
        [('x', 'a', 1.0, 1), ('x', 'b', 0.5, 1), (None, 'a', 0.0, 1), (None, 'b', 1.0, 1)]
        """
        scores = sliced(self.scores, columns, {} if bins is None else bins, {metric.name for metric in self.metrics})
        by = slice_columns(columns)
        totals = summarised(scores, self.metrics, self.unit, by)
        found = with_intervals(totals, scores, self.metrics, self.unit, self.intervals, by)
        return found.rename(dict(zip(by, columns, strict=True)))

    def hardest(self, n: int | None = 10, *, metric: str | None = None) -> pl.DataFrame:
        """The queries or samples that all runs together do worst on.

        Args:
            n: how many; None for all that have a value.
            metric: the first of the report unless given.

        Returns:
            query_id (or sample_id), metric String, value (mean over the runs), lowest, highest Float64 (of the runs),
            judged Float64 (mean share of judged documents down to the metric's cutoff; null where the report has no
            judged@k of it), then what was joined; the lowest value first.

        Raises:
            DataError: for a metric that the report does not have.

        >>> import rankframe as rf
        >>> runs = {"a": {"q1": {"d1": 2.0}}, "b": {"q1": {"d9": 2.0, "d1": 1.0}, "q2": {"d2": 1.0}}}
        >>> report = rf.evaluate(runs, {"q1": {"d1": 1}, "q2": {"d2": 1}}, metrics="mrr")
        >>> report.hardest(1).select("query_id", "value", "lowest", "highest").rows()
        [('q2', 0.5, 0.0, 1.0)]
        """
        return hardest(self.scores, self.metric(metric), self.metrics, self.key, n)

    def diff(self, a: str, b: str, *, metric: str | None = None, n: int | None = None) -> pl.DataFrame:
        """Where two runs differ: the queries or samples with the largest change from run `a` to run `b`.

        Args:
            a: the run to start from.
            b: the other run.
            metric: the first of the report unless given.
            n: how many; all unless given.

        Returns:
            query_id (or sample_id), metric, run_a, run_b String, value_a, value_b, difference (b - a, so above 0 where
            b is better), judged_a, judged_b Float64 (shares of judged documents down to the metric's cutoff; null where
            the report has no judged@k of it), then what was joined; the largest change first, either way, and what has
            no value in one of the runs last.

        Raises:
            DataError: for a metric or run that the report does not have.

        >>> import rankframe as rf
        >>> runs = {"a": {"q1": {"d1": 2.0}}, "b": {"q1": {"d9": 2.0, "d1": 1.0}, "q2": {"d2": 1.0}}}
        >>> report = rf.evaluate(runs, {"q1": {"d1": 1}, "q2": {"d2": 1}}, metrics="mrr")
        >>> report.diff("a", "b").select("query_id", "value_a", "value_b", "difference").rows()
        [('q2', 0.0, 1.0, 1.0), ('q1', 1.0, 0.5, -0.5)]
        """
        return changes(self.scores, (self._run(a), self._run(b)), self.metric(metric), self.metrics, self.key, n)

    @cached_property
    def long(self) -> pl.DataFrame:
        """The scores in tidy form: run_id, query_id, metric String, value Float64 (null where left out)."""
        names = dict.fromkeys(metric.name for metric in self.metrics)
        return self.scores.unpivot(list(names), index=["run_id", self.key], variable_name="metric", value_name="value")

    def value(self, metric: str, run_id: str | None = None) -> float:
        """The summary value of one metric of one run, by its canonical name or the name it was asked for.

        Where a metric is put together in several ways, its name alone means the usual one; `gm_map`, or the label that
        `table` shows (`map (gmean)`), means the other.

        Raises:
            DataError: for a metric or run that the report does not have, or several runs and none named.
        """
        found = self.metric(metric)
        row = self._totals.filter(run_id=self._run(run_id), metric=found.name, aggregate=found.aggregate)
        value = row["value"][0]
        return float("nan") if value is None else float(value)

    def metric(self, name: str | None = None) -> Measured:
        """The metric that a name means, however it is written; the first of the report for None.

        Raises:
            DataError: for one that the report does not have.
        """
        found = self.metrics[0] if name is None else self._meant(str(getattr(name, "name", name)))
        if found is None:
            raise DataError(f"no metric {name!r} in this report: {nearest(str(name), self._labels)}")
        return found

    @cached_property
    def _labels(self) -> list[str]:
        """What each metric is called beside the others: its name, and how it is put together where that is unusual."""
        return list(labelled((metric.name, metric.aggregate) for metric in self.metrics).values())

    def _meant(self, metric: str) -> Measured | None:
        """The metric that a caller means by a label, a name of another tool, or the name it was asked for."""
        dialect = CONVENTIONS[self.options.get("convention", "documented")].dialect
        return meant(metric, dict(zip(self._labels, self.metrics, strict=True)), dialect)

    def _label(self, metric: str) -> str | None:
        found = self._meant(metric)
        return None if found is None else self._labels[self.metrics.index(found)]

    def _run(self, run_id: str | None) -> str:
        runs = self.runs
        if run_id is None and len(runs) == 1:
            return runs[0]
        if run_id not in runs:
            asked = "say which run with run_id=" if run_id is None else f"no run {run_id!r}"
            raise DataError(f"{asked}; this report has {listed(runs)}")
        return run_id

    def join(self, metadata: object, *, on: str | Sequence[str] | None = None, suffix: str | None = None) -> Report:
        """The report with metadata columns behind the scores; every scored row stays, once.

        Args:
            metadata: any frame with the key column (aliases are read) and further columns.
            on: the key columns; the unit's key by default.
            suffix: appended to metadata columns whose names are taken.

        Raises:
            DataError: for `metadata` that is no frame or lacks the keys, for keys that stand there more than once, and
                for column names that are taken, with `suffix` too.

        Keys without metadata, and metadata without scores, are counted in the ledger.
        """
        keys = list(dict.fromkeys([self.key] if on is None else [on] if isinstance(on, str) else on))
        if not keys:
            raise DataError(f'on= is empty; name the key columns, as in on="{self.key}"')
        scores, notes = with_metadata(self.scores, metadata, keys, suffix, self.key)
        return replace(self, scores=scores, ledger=extended(self.ledger, notes))

    def to_dict(self, run_id: str | None = None) -> dict[str, Any]:
        """One run as the documented dictionary.

        Of queries: `metrics` maps a metric's name to its summary value, `per_query` a query id to the same of that
        query; queries that were left out are in neither; `n_queries` and `k_values`. Of samples: `metrics` likewise
        (None where it applies to no sample), `coverage` maps a metric's name to the number of samples with a value;
        `n_samples`. A metric that is put together in another way than its name says has that behind it: `map (gmean)`.

        Raises:
            DataError: for a run that the report does not have, or several runs and none named.
        """
        run = self._run(run_id)
        rows, totals = self.scores.filter(pl.col("run_id") == run), self._totals.filter(run_id=run)
        return documented(rows, totals, self.metrics, self._labels, self.key)

    @cached_property
    def claims(self) -> pl.DataFrame:
        """Every claim that a judge found, beside every context: hallucination, citation and noise are group-bys.

        One row with a null context where a claim was held against none; no rows where nothing was judged so.

        Columns: run_id, sample_id, metric String, claim Int64 (its number in the sample, from 1), text String (null
        where the judge only counted it), of String ("response" or "reference"), supported Boolean (by any context),
        correct Boolean (whether response and reference agree on it; null where that was not asked), reason String,
        context Int64 (its place, from 1), context_id String, supports Boolean (whether this context supports it),
        cited Boolean (whether the claim cites this context).
        """
        return claims_of(self.scores, [metric.name for metric in self.metrics])

    def bands(self, table: Mapping[str, Sequence[float]] | None = None) -> pl.DataFrame:
        """How good the values are in words: poor, acceptable, good or excellent, for metrics that have bands.

        Args:
            table: metric -> three ascending edges; `rankframe.gates.BANDS` unless given.

        Returns:
            run_id, metric String, value Float64, band String (null where there is no value), n Int64.
        """
        return gates.bands(self._totals, table)

    def gate(
        self,
        thresholds: Mapping[str, float | str] | str | None = None,
        *,
        min_coverage: float = 1.0,
        baseline: Report | None = None,
        max_drop: float | Mapping[str, float] = 0.0,
    ) -> pl.DataFrame:
        """Hold the report against thresholds, a baseline, or both; a plain call is an assertion in a test.

        Args:
            thresholds: metric -> the lowest value that passes, or a comparison such as "> 0.9"; or the name of a
                preset in `rankframe.gates.GATES`.
            min_coverage: share of the queries or samples that must have been answered and scored. Those that count as
                0 without an answer are not covered.
            baseline: an earlier report; every run and metric of it must be there, over what both reports score.
            max_drop: by how much a value may fall below the baseline's.

        Returns:
            A row per run and check: see `rankframe.gates`.

        Raises:
            GateError: (an AssertionError too) with a table of what fell short.
            DataError, MetricError: for thresholds or options that mean nothing, or when there is nothing to check.
        """
        if thresholds is None and baseline is None:
            raise DataError('a gate needs thresholds, as in report.gate({"faithfulness": 0.9}), or baseline=')
        if baseline is not None and baseline.unit != self.unit:
            raise DataError(
                f"the baseline is per {baseline.unit} and this report per {self.unit}; they cannot be compared"
            )
        options: dict[str, Any] = {"min_coverage": min_coverage, "find": self._label}
        tables = []
        if thresholds is not None:
            coverage = covered(self.scores, self.metrics, self.unit)
            tables.append(gates.checked(self._totals, coverage, thresholds, **options))
        if baseline is not None:
            now, then = self.scores, baseline.scores
            options |= {"max_drop": max_drop, "new_metrics": self.metrics}
            tables.append(gates.regressions(now, then, baseline.metrics, self.key, **options))
        return gates.require(pl.concat(tables, how="diagonal"))

    def write_parquet(self, path: str | PathLike[str]) -> None:
        """Write the scores as one Parquet file; ledger, metrics and options stand in its metadata.

        `read_report` gives the report back; any other reader sees the scores.

        Raises:
            DataError: where it cannot be written.
        """
        with beside(Path(path)) as part, writing(Path(path)):
            self.scores.write_parquet(part, metadata=self.told())

    def told(self) -> dict[str, str]:
        """What a file of the scores says of them in its metadata: everything else that the report holds."""
        told = {
            "format": FORMAT,
            "unit": self.unit,
            "metrics": [asdict(metric) for metric in self.metrics],
            "ledger": self.ledger.rows(),
            "options": dict(self.options),
        }
        return {METADATA: json.dumps(told)}

    def table(self, digits: int = 4) -> list[list[str]]:
        """The summary as text: a header, then a row per metric with a column per run.

        Where a metric has a value for some of the samples only, their number stands behind it.
        """
        return text_table(self._totals, self._labels, self.runs, self.unit, digits)

    def counts(self) -> list[str]:
        """What the numbers are over, in words: scored queries or samples, and every row of the ledger."""
        return [f"over {population(self.scores, self._totals, self.unit)}", *in_words(self.ledger)]

    def __repr__(self) -> str:
        over, *left_out = self.counts()
        return "\n".join([f"Report {over}", aligned(self.table()), *left_out])

    def _repr_html_(self) -> str:
        over, *left_out = self.counts()
        return html_table(self.table(), over, left_out)
