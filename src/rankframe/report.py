"""The report: scores per query, their summary, and a ledger of what was left out, all as frames."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Any

import polars as pl

from rankframe.errors import DataError, MetricError, counted, listed, nearest
from rankframe.frames.coerce import collected, conform, table_frame
from rankframe.frames.ledger import SCHEMA, extended, note
from rankframe.frames.schemas import QUERIES, Column, Schema
from rankframe.metrics.conventions import CONVENTIONS
from rankframe.metrics.metric import GMEAN_FLOOR, Aggregate
from rankframe.metrics.names import parse
from rankframe.rendering import aligned, html_table, number

_METADATA = "rankframe"
FORMAT = 1


@dataclass(frozen=True, slots=True)
class Measured:
    """A metric as a report holds it: the column of its values, and how it was asked for and put together."""

    name: str
    asked: str
    aggregate: Aggregate = "mean"
    range: tuple[float | None, float | None] | None = None
    definition: str | None = None
    cutoff: int | None = None


@dataclass(frozen=True, eq=False)
class Report:
    """Scores of one or more runs, with everything that is needed to trust them.

    Attributes:
        scores: a row per run and judged query: run_id, query_id, status String (`ok`, `missing`, `failed`,
            `no_relevant`, `not_asked`), n_ret, n_rel, n_judged Int64, then a Float64 column per metric; null where
            the query is left out. Sorted by run_id and query_id. Joined metadata stands behind.
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
        if self.unit != "query":
            raise AttributeError(f"this report is per {self.unit}; see .scores")
        return self.scores

    @property
    def runs(self) -> list[str]:
        """The names of the runs, sorted."""
        return self.scores["run_id"].unique().sort().to_list()

    @cached_property
    def summary(self) -> pl.DataFrame:
        """Every metric of every run, put together over the scored queries.

        Columns: run_id, metric, aggregate String, value, std (of the sample), median Float64, n (scored queries),
        n_missing (of them: not in the run), n_null (left out), n_failed Int64. `value` is null where n is 0.
        """
        by_aggregate = {
            aggregate: list(dict.fromkeys(m.name for m in self.metrics if m.aggregate == aggregate))
            for aggregate in dict.fromkeys(metric.aggregate for metric in self.metrics)
        }
        counted_in = pl.col(self.metrics[0].name).is_not_null()  # one population for all metrics of a report
        grouped = (
            self.scores.lazy()
            .group_by("run_id", maintain_order=True)
            .agg(
                *(_AGGREGATES[a](pl.col(names)).name.suffix(f" {a}") for a, names in by_aggregate.items()),
                pl.col({metric.name for metric in self.metrics}).std().name.suffix(" std"),
                pl.col({metric.name for metric in self.metrics}).median().name.suffix(" median"),
                counted_in.sum().alias("n"),
                (counted_in & (pl.col("status") == "missing")).sum().alias("n_missing"),
                (~counted_in).sum().alias("n_null"),
                (pl.col("status") == "failed").sum().alias("n_failed"),
            )
            .collect()
        )
        rows = [
            (
                row["run_id"],
                metric.name,
                metric.aggregate,
                row[f"{metric.name} {metric.aggregate}"] if row["n"] else None,
                row[f"{metric.name} std"],
                row[f"{metric.name} median"],
                *(row[count] for count in ("n", "n_missing", "n_null", "n_failed")),
            )
            for row in grouped.iter_rows(named=True)
            for metric in self.metrics
        ]
        return pl.DataFrame(rows, schema=_SUMMARY, orient="row")

    @cached_property
    def long(self) -> pl.DataFrame:
        """The scores in tidy form: run_id, query_id, metric String, value Float64 (null where left out)."""
        names = list(dict.fromkeys(metric.name for metric in self.metrics))
        return self.scores.unpivot(names, index=["run_id", self.key], variable_name="metric", value_name="value")

    def value(self, metric: str, run_id: str | None = None) -> float:
        """The summary value of one metric of one run, by its canonical name or the name it was asked for.

        Where a metric is put together in several ways, its name alone means the usual one; `gm_map`, or the label that
        `table` shows (`map (gmean)`), means the other.

        Raises:
            DataError: for a metric or run that the report does not have, or several runs and none named.
        """
        found = (
            [m for label, m in zip(self._labels, self.metrics, strict=True) if metric == label]
            or self._parsed(metric)
            or [m for m in self.metrics if metric in (m.name, m.asked)]
        )
        if not found:
            raise DataError(f"no metric {metric!r} in this report: {nearest(metric, self._labels)}")
        row = self.summary.filter(run_id=self._run(run_id), metric=found[0].name, aggregate=found[0].aggregate)
        value = row["value"][0]
        return float("nan") if value is None else float(value)

    @cached_property
    def _labels(self) -> list[str]:
        """What each metric is called beside the others: its name, and how it is put together where that is unusual."""
        return [m.name if m.aggregate == self._usual(m.name) else f"{m.name} ({m.aggregate})" for m in self.metrics]

    def _usual(self, name: str) -> Aggregate:
        """How the metric of this name is put together where nothing else is said."""
        try:
            return parse(name).aggregate
        except MetricError:  # the caller's own
            there = {metric.aggregate for metric in self.metrics if metric.name == name}
            return "sum" if "sum" in there and "mean" not in there else "mean"

    def _parsed(self, metric: str) -> list[Measured]:
        """The metrics that a name of another tool stands for."""
        try:
            named = parse(metric, dialect=CONVENTIONS[self.options.get("convention", "documented")].dialect)
        except MetricError:
            return []
        return [m for m in self.metrics if named.name in (m.name, m.asked) and named.aggregate == m.aggregate]

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
        keys = [self.key] if on is None else [on] if isinstance(on, str) else list(dict.fromkeys(on))
        if not keys:
            raise DataError(f'on= is empty; name the key columns, as in on="{self.key}"')
        right = self._metadata_frame(metadata, keys)
        twice = right.filter(pl.struct(keys).is_duplicated())
        if twice.height:
            raise DataError(
                f"metadata: {counted(twice.height, 'row')} share a key ({', '.join(keys)}), such as "
                f"{listed(twice.select(keys).unique(maintain_order=True).rows(), 3)}; a join would multiply scores"
            )
        taken = [name for name in right.columns if name not in keys and name in self.scores.columns]
        if taken and suffix is None:
            raise DataError(
                f'metadata: the columns {listed(taken)} are in the scores already; suffix="_meta" renames them'
            )
        renames = {name: f"{name}{suffix}" for name in taken}
        names = [renames.get(name, name) for name in right.columns if name not in keys]
        clash = sorted({name for name in names if name in self.scores.columns or names.count(name) > 1})
        if clash:
            raise DataError(f"metadata: with suffix={suffix!r} the columns {listed(clash)} are still taken")
        right = right.rename(renames)
        scores = self.scores.join(right, on=keys, how="left", maintain_order="left")
        without = self.scores.join(right, on=keys, how="anti")[self.key].unique().sort().to_list()
        extra = right.join(self.scores, on=keys, how="anti")[keys[-1]].unique().sort().to_list()
        notes = [note("without_metadata", without), note("metadata_without_scores", extra)]
        return replace(self, scores=scores, ledger=extended(self.ledger, notes))

    def _metadata_frame(self, metadata: object, keys: list[str]) -> pl.DataFrame:
        frame = table_frame(metadata, "metadata")
        if frame is None:
            raise DataError(f"metadata is a {type(metadata).__name__}; expected a frame with the column {self.key!r}")
        right = collected(frame)
        aliases = {column.name: column.aliases for column in QUERIES.columns}
        known = Schema("metadata", tuple(Column(key, "id", aliases.get(key, ())) for key in keys))
        right = collected(conform(right, known, "metadata"))
        missing = [name for name in keys if name not in right.columns or name not in self.scores.columns]
        if missing:
            raise DataError(
                f"metadata: the key {listed(missing)} is not on both sides; there are {listed(right.columns, 12)}"
            )
        if any(right[name].null_count() for name in keys):
            raise DataError("metadata: a key is null")
        return right

    def to_dict(self, run_id: str | None = None) -> dict[str, Any]:
        """One run as the documented dictionary: metrics, per_query, n_queries, k_values.

        `metrics` maps a metric's name to its summary value, `per_query` a query id to the same of that query;
        queries that were left out are in neither. A metric that is put together in another way than its name says has
        that behind it: `map (gmean)`.

        Raises:
            DataError: for a run that the report does not have, or several runs and none named.
        """
        run = self._run(run_id)
        names = list(dict.fromkeys(metric.name for metric in self.metrics))
        scored = self.scores.filter(pl.col("run_id") == run).filter(pl.any_horizontal(pl.col(names).is_not_null()))
        summary = self.summary.filter(run_id=run)
        return {
            "metrics": dict(zip(self._labels, summary["value"], strict=True)),
            "per_query": dict(zip(scored[self.key], scored.select(names).iter_rows(named=True), strict=True)),
            "n_queries": scored.height,
            "k_values": tuple(sorted({metric.cutoff for metric in self.metrics if metric.cutoff is not None})),
        }

    def write_parquet(self, path: str | PathLike[str]) -> None:
        """Write the scores as one Parquet file; ledger, metrics and options stand in its metadata.

        `read_report` gives the report back; any other reader sees the scores.

        Raises:
            DataError: where it cannot be written.
        """
        told = {
            "format": FORMAT,
            "unit": self.unit,
            "metrics": [asdict(metric) for metric in self.metrics],
            "ledger": self.ledger.rows(),
            "options": dict(self.options),
        }
        try:
            self.scores.write_parquet(Path(path), metadata={_METADATA: json.dumps(told)})
        except pl.exceptions.PolarsError as error:
            raise DataError(
                f"{path}: the report cannot be written there ({str(error).partition(chr(10))[0]})"
            ) from error

    def table(self, digits: int = 4) -> list[list[str]]:
        """The summary as text: a header, then a row per metric with a column per run."""
        by_run = {run: frame["value"].to_list() for (run,), frame in self.summary.group_by(["run_id"])}
        header = ["metric", *self.runs]
        rows = [
            [label, *(number(by_run[run][i], digits, whole=metric.aggregate == "sum") for run in self.runs)]
            for i, (label, metric) in enumerate(zip(self._labels, self.metrics, strict=True))
        ]
        return [header, *rows]

    def counts(self) -> list[str]:
        """What the numbers are over, in words: scored queries, and every row of the ledger."""
        scored = dict(self.summary.select("run_id", "n").iter_rows())
        numbers = set(scored.values())
        over = (
            counted(numbers.pop(), self.unit)
            if len(numbers) == 1
            else ", ".join(f"{counted(n, self.unit)} ({run})" for run, n in scored.items())
        )
        return [
            f"over {over}",
            *(
                (f"{run}: " if run else "")
                + f"{reason} {count:,} ({', '.join([*examples, '...'] if count > len(examples) else examples)})"
                for run, reason, count, examples in self.ledger.iter_rows()
            ),
        ]

    def __repr__(self) -> str:
        over, *left_out = self.counts()
        return "\n".join([f"Report {over}", aligned(self.table()), *left_out])

    def _repr_html_(self) -> str:
        over, *left_out = self.counts()
        return html_table(self.table(), over, left_out)


_AGGREGATES: dict[Aggregate, Callable[[pl.Expr], pl.Expr]] = {
    "mean": lambda values: values.mean(),
    "sum": lambda values: values.sum(),
    "gmean": lambda values: values.clip(lower_bound=GMEAN_FLOOR).log().mean().exp(),
}

_SUMMARY = pl.Schema(
    {
        "run_id": pl.String,
        "metric": pl.String,
        "aggregate": pl.String,
        "value": pl.Float64,
        "std": pl.Float64,
        "median": pl.Float64,
        "n": pl.Int64,
        "n_missing": pl.Int64,
        "n_null": pl.Int64,
        "n_failed": pl.Int64,
    }
)


def read_report(path: str | PathLike[str]) -> Report:
    """The report that `Report.write_parquet` wrote; its summary is computed anew from the scores.

    Raises:
        FileNotFoundError: where there is no such file.
        DataError: for a Parquet file that holds no report, or one of a later format.
    """
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"no report at {path}")
    try:
        metadata = pl.read_parquet_metadata(path).get(_METADATA)
        scores = pl.read_parquet(path, glob=False)
    except (pl.exceptions.PolarsError, OSError) as error:
        raise DataError(f"{path}: cannot be read as Parquet ({str(error).partition(chr(10))[0]})") from error
    if metadata is None:
        raise DataError(f"{path}: this Parquet file was not written by Report.write_parquet; read it with Polars")
    try:
        told = json.loads(metadata)
        newer = told["format"] > FORMAT
        report = None if newer else _retold(told, scores)
    except (LookupError, TypeError, ValueError, RecursionError, pl.exceptions.PolarsError) as error:
        raise DataError(
            f"{path}: its metadata {_METADATA!r} is not what Report.write_parquet writes "
            f"({type(error).__name__}: {error!s:.80}); read the file with Polars"
        ) from error
    if report is None:
        raise DataError(f"{path}: report format {told['format']} is newer than this rankframe knows ({FORMAT})")
    return report


def _retold(told: Mapping[str, Any], scores: pl.DataFrame) -> Report:
    """The report of these scores that the metadata tells of; any error says that it tells of another."""
    metrics = tuple(
        Measured(**{**metric, "range": metric["range"] and tuple(metric["range"])}) for metric in told["metrics"]
    )
    report = Report(
        scores=scores,
        ledger=pl.DataFrame(told["ledger"], schema=SCHEMA, orient="row"),
        metrics=metrics,
        options=dict(told["options"]),
        unit=told["unit"],
    )
    lacking = {"run_id", report.key, "status", *(metric.name for metric in metrics)} - set(scores.columns)
    unknown = {metric.aggregate for metric in metrics} - set(_AGGREGATES)
    if lacking or unknown or not metrics:
        raise LookupError(*sorted(lacking | unknown))
    return report
