"""What Ragas scored, back as a report: by position, each value with a status, NaN as null and counted."""

from __future__ import annotations

import math
import numbers
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import polars as pl

from rankframe.errors import DataError, counted, listed, nearest
from rankframe.frames.checks import Loaded
from rankframe.frames.coerce import collected, table_frame
from rankframe.rag.ragas_metrics import NOT_ASKED, Range, cell, complete, metric_name, metric_range, needed
from rankframe.rag.ragas_samples import RAGAS_FIELDS, loaded_samples, one_reference
from rankframe.rag.reports import KEYS, sample_report
from rankframe.report import Report
from rankframe.summaries import Measured

_INPUTS = frozenset({*RAGAS_FIELDS, "sample_id"})
"""What stands beside scores and is none."""


@dataclass(frozen=True, slots=True)
class Scored:
    """A metric as Ragas calls it, with a cell for every sample."""

    name: str
    cells: Sequence[object]
    range: Range | None = None


def from_ragas_result(
    result: object,
    samples: object,
    *,
    metrics: Sequence[object] | None = None,
    run_id: str | None = None,
    suffix: str | None = None,
) -> Report:
    """The report of scores that Ragas computed, put back beside the samples by position.

    Args:
        result: what `ragas.evaluate` returned; or the scores alone: a list with a mapping metric -> value for each
            sample, a mapping metric -> list of values or of MetricResults, a frame, or an Experiment. Ragas' own input
            columns may stand among them; they are not scores.
        samples: what was scored, as `read_samples` takes it, in the same order.
        metrics: which columns are scores, by name or as the metrics of Ragas themselves; all that are no input without
            it. Of a metric itself it is known what it needs: a sample that lacks it is null here, whatever Ragas made
            of it (its ExactMatch gives 1.0 where reference and response are both missing).
        run_id: the name of the run, where the samples have no run_id.
        suffix: appended to the names of metrics that are taken: by a column of the samples or of the report.

    Returns:
        A `Report` per sample. For every metric the scores have `<metric>` Float64 (in Ragas' own range, most are
        0 to 1), `<metric>_status` String and, where a reason was given, `<metric>_reason` String. The status is `ok`;
        `error` where Ragas gave NaN, None or infinity (value null); or `missing_input` where the sample lacks what the
        metric needs (value null). True and False are 1 and 0.

    Raises:
        DataError: for another number of scores than of samples, scores of other samples, values that are no numbers,
            and names that are taken.

    >>> samples = [{"user_input": "q1", "response": "a"}, {"user_input": "q2", "response": "b"}]
    >>> report = from_ragas_result([{"faithfulness": 0.5}, {"faithfulness": float("nan")}], samples)
    >>> report.scores.select("faithfulness", "faithfulness_status").rows()
    [(0.5, 'ok'), (None, 'error')]
    >>> report.summary.select("value", "n", "n_failed").rows()
    [(0.5, 1, 1)]
    """
    loaded = named_run(loaded_samples(samples), run_id)
    table = _table(result)
    _check_aligned(table, loaded)
    frame = loaded.frame
    if "references" in frame.columns:
        frame = frame.with_columns(reference=one_reference(loaded, "first"))
    scored = [_scored(name, metric, table[name], frame) for name, metric in _asked(table, metrics)]
    return ragas_report(loaded, scored, suffix)


def named_run(loaded: Loaded, run_id: str | None) -> Loaded:
    """The samples as one run of this name."""
    if run_id is None:
        return loaded
    if "run_id" in loaded.frame.columns:
        raise DataError(f"{loaded.where}: the samples have the column 'run_id' already; leave out run_id={run_id!r}")
    return replace(loaded, frame=loaded.frame.with_columns(run_id=pl.lit(run_id)))


def ragas_report(loaded: Loaded, scored: Sequence[Scored], suffix: str | None) -> Report:
    """The report of these metrics; names that are taken get the suffix, or are refused."""
    names = column_names([one.name for one in scored], loaded.frame, suffix)
    columns = [_columns(one, name, loaded.frame["sample_id"]) for one, name in zip(scored, names, strict=True)]
    try:
        told = version("ragas")
    except PackageNotFoundError:  # the scores were made elsewhere
        told = None
    return sample_report(loaded, columns, options={"source": "ragas", "ragas": told})


# The scores as they come.


def _table(result: Any) -> dict[str, list[object]]:
    """The columns of a result; of rows, a row without a metric has None there. Ragas' own inputs are columns too."""
    if isinstance(result, str):
        raise _no_scores(result)
    frame = None if isinstance(result, Sequence) else table_frame(result, "scores")
    if frame is not None:
        return {name: column.to_list() for name, column in collected(frame).to_dict().items()}
    if isinstance(result, Mapping):
        return _by_metric(result)
    rows = result.scores if hasattr(result, "scores") else result
    if not isinstance(rows, Iterable):
        raise _no_scores(result)
    records = [row.model_dump() if hasattr(row, "model_dump") else row for row in rows]
    if not all(isinstance(record, Mapping) for record in records):
        raise _no_scores(result)
    if (dataset := getattr(result, "dataset", None)) is not None and len(dataset.samples) == len(records):
        records = [
            {"user_input": sample.user_input, **record} for sample, record in zip(dataset.samples, records, strict=True)
        ]
    names = list(dict.fromkeys(name for record in records for name in record))
    return {name: [record.get(name) for record in records] for name in names}


def _by_metric(result: Mapping[Any, Any]) -> dict[str, list[object]]:
    """The columns of a mapping metric -> values."""
    odd = [
        name
        for name, values in result.items()
        if isinstance(values, (str, Mapping)) or not isinstance(values, Iterable)
    ]
    if odd:
        raise DataError(
            f"scores: {listed(odd)} of the mapping hold no list; expected metric -> a value for each sample, as in "
            f'{{"faithfulness": [0.5, 1.0]}}'
        )
    table = {str(name): list(values) for name, values in result.items()}
    lengths = {name: len(values) for name, values in table.items()}
    if len(set(lengths.values())) > 1:
        raise DataError(f"scores: the lists of the mapping are of different lengths: {lengths}")
    return table


def _no_scores(result: object) -> DataError:
    return DataError(
        f"scores: {result!r:.60} is no result of Ragas; expected what evaluate() returned, a list with a mapping "
        f"metric -> value for each sample, a mapping metric -> list of values, or a frame"
    )


def _check_aligned(table: Mapping[str, list[object]], loaded: Loaded) -> None:
    """Refuse scores that are not one for each sample, or say themselves that they are of other samples."""
    ids = loaded.frame["sample_id"]
    count = len(next(iter(table.values()), []))
    keys = [key for key in ("sample_id", "user_input") if key in table and key in loaded.frame.columns]
    if count != len(ids):
        without = _absent(table[keys[0]], loaded.frame[keys[0]]) if keys else ""
        raise DataError(
            f"scores: {counted(count, 'row')} for {counted(len(ids), 'sample')}{without}; scores are put back by "
            f"position, so there is one for each sample (an @experiment of Ragas leaves out the rows that failed: "
            f"evaluate_with_ragas does not)"
        )
    for key in keys:
        ours = loaded.frame[key].to_list()
        other = [place for place, told in enumerate(table[key]) if told is not None and told != ours[place]]
        if other:
            raise DataError(
                f"scores: in {counted(len(other), 'row')} {key} is not that of the sample in the same place: sample "
                f"{ids[other[0]]!r} has {ours[other[0]]!r:.80}, the scores have {table[key][other[0]]!r:.80}; give the "
                f"samples in the order in which Ragas was given them"
            )


def _absent(told: list[object], ours: pl.Series) -> str:
    without = [value for value in ours if value not in told]
    return f", none for {ours.name} {listed(without, 3)}" if without else ""


def _asked(table: Mapping[str, list[object]], metrics: Sequence[object] | None) -> list[tuple[str, object | None]]:
    """Which columns are scores, each with the metric itself where it was given."""
    if metrics is None:
        asked: list[tuple[str, object | None]] = [(name, None) for name in table if name not in _INPUTS]
    else:
        given = [metrics] if isinstance(metrics, str) or not isinstance(metrics, Iterable) else list(metrics)
        asked = [(one, None) if isinstance(one, str) else (metric_name(one), one) for one in given]
    unknown = [name for name, _ in asked if name not in table]
    if unknown:
        valid = [name for name in table if name not in _INPUTS]
        raise DataError(f"scores: no metric {unknown[0]!r}: {nearest(unknown[0], valid)}")
    if not asked:
        raise DataError(f"scores: no metric among the columns {listed(table, 12) or '(none)'}")
    return asked


def _scored(name: str, metric: object | None, cells: list[object], frame: pl.DataFrame) -> Scored:
    """The cells of a metric; where the metric is given, samples that lack what it needs are missing."""
    if metric is None:
        return Scored(name, cells)
    there = complete(needed(metric)[0], frame)
    told = [each if has else NOT_ASKED for each, has in zip(cells, there, strict=True)]
    return Scored(name, told, metric_range(metric))


# The columns of the report.


def column_names(asked: Sequence[str], frame: pl.DataFrame, suffix: str | None) -> list[str]:
    """What the columns of these metrics are called; taken names get the suffix, or are refused."""
    twice = sorted({name for name in asked if asked.count(name) > 1})
    if twice:
        raise DataError(
            f"metrics: {listed(twice)} more than once; give one of them another name, as in metric.name = .."
        )
    taken = {*frame.columns, *KEYS}
    clash = [name for name in asked if taken & _companions(name)]
    names = [f"{name}{suffix or ''}" if name in clash else name for name in asked]
    still = [name for name in names if taken & _companions(name)]
    still += [name for name in names if names.count(name) > 1]
    if still and suffix is None:
        raise DataError(
            f'metrics: {listed(still)} (or the columns beside) are columns of the samples; suffix="_ragas" renames them'
        )
    if still:
        raise DataError(f"metrics: with suffix={suffix!r} the names {listed(sorted(set(still)))} are still taken")
    return names


def _companions(name: str) -> set[str]:
    return {name, f"{name}_status", f"{name}_reason"}


def _columns(scored: Scored, name: str, ids: pl.Series) -> tuple[Measured, list[pl.Series]]:
    """A metric and its columns: values, statuses, and reasons where there are any."""
    cells = [cell(each) for each in scored.cells]
    values = [_number(cell.value) for cell in cells]
    words = [place for place, value in enumerate(values) if value is None and cells[place].value is not None]
    if words:
        told = ", ".join(f"sample {ids[place]!r}: {cells[place].value!r:.40}" for place in words[:3])
        raise DataError(
            f"scores: {counted(len(words), 'value')} of {scored.name!r} no number ({told}); turn the words of a "
            f"discrete metric into numbers before, or name the columns that are scores with metrics=[..]"
        )
    finite = [value if value is not None and math.isfinite(value) else None for value in values]
    statuses = [
        "ok" if value is not None else "missing_input" if cell.missing else "error"
        for value, cell in zip(finite, cells, strict=True)
    ]
    columns = [pl.Series(name, finite, dtype=pl.Float64), pl.Series(f"{name}_status", statuses, dtype=pl.String)]
    reasons = pl.Series(f"{name}_reason", [cell.reason for cell in cells], dtype=pl.String)
    if reasons.null_count() < len(reasons):
        columns.append(reasons)
    measured = Measured(
        name,
        scored.name,
        range=scored.range,
        definition=f"{scored.name}, as Ragas computes it",
        status=f"{name}_status",
    )
    return measured, columns


def _number(value: Any) -> float | None:
    """A number as Float64, infinite and NaN ones too; None for None and for what is no number."""
    if not isinstance(value, numbers.Real) and type(value).__module__ == "numpy" and getattr(value, "ndim", 1) == 0:
        value = value.item()  # numpy's booleans and 0-dimensional arrays
    return float(value) if isinstance(value, numbers.Real) else None
