"""Samples as Ragas takes them, and its metrics run on them; nothing else in rankframe imports Ragas."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Mapping, Sequence
from importlib import import_module
from typing import Any, get_args

from rankframe.errors import DataError, ExtraError, MetricError, nearest
from rankframe.frames.checks import choice
from rankframe.rag.ragas_metrics import job, metric_range, run
from rankframe.rag.ragas_results import Scored, column_names, from_ragas_result, named_run, ragas_report
from rankframe.rag.ragas_samples import Nulls, References, from_ragas_dataset, given_fields, loaded_samples, plain_rows
from rankframe.report import Report

__all__ = ["as_ragas_dataset", "evaluate_with_ragas", "from_ragas_dataset", "from_ragas_result"]

_OPTIONS = ("llm", "embeddings", "run_config", "callbacks", "batch_size", "show_progress", "raise_exceptions")


def as_ragas_dataset(samples: object, *, references: References = "error", nulls: Nulls = "error") -> Any:
    """Samples as an `EvaluationDataset` of Ragas.

    All twelve fields of Ragas' SingleTurnSample are given over, in the order of the samples; a null is None. Ragas
    holds nothing else: keep the samples, and `from_ragas_dataset(dataset, samples)` and `from_ragas_result(result,
    samples)` put ids and metadata back.

    Importing Ragas takes seconds, and it reports its use over the network unless RAGAS_DO_NOT_TRACK is true: where that
    variable is not set, it is set to true in the environment of this process.

    Args:
        samples: what `read_samples` takes.
        references: Ragas holds one reference. Where `reference` is null, a single one of `references` is given;
            several are refused, or the first is given with "first".
        nulls: Ragas takes no null inside a list: "error" refuses it, "empty" gives an empty text in place of a context
            or response.

    Returns:
        a `ragas.EvaluationDataset`.

    Raises:
        ExtraError: an ImportError, where Ragas is not installed or cannot be imported; the message says what helps.
        DataError: for samples that Ragas cannot hold, and for none at all.
    """
    _check(references, nulls)
    ragas = _ragas()
    loaded = loaded_samples(samples)
    if not loaded.frame.height:
        raise DataError(f"{loaded.where}: no samples; Ragas can neither show nor evaluate an empty dataset")
    return _dataset(ragas, plain_rows(given_fields(loaded, references, nulls)))


def evaluate_with_ragas(
    samples: object,
    metrics: Sequence[object],
    *,
    references: References = "error",
    nulls: Nulls = "error",
    run_id: str | None = None,
    suffix: str | None = None,
    **ragas_options: Any,
) -> Report:
    """Run metrics of Ragas on samples; the report is the same whatever the order of the samples.

    Ragas takes its columns from the first sample, so that one null decides whether a metric runs at all, and what a
    later sample lacks it scores as wrong, or as right. Here each metric is given the samples that have what it needs;
    the others are null and counted.

    Args:
        samples: what `read_samples` takes.
        metrics: metrics of Ragas: those of `ragas.metrics` that its `evaluate` takes, those of
            `ragas.metrics.collections`, and your own numeric ones, which may also take columns of metadata.
        references: as in `as_ragas_dataset`.
        nulls: likewise.
        run_id: the name of the run, where the samples have no run_id.
        suffix: appended to the names of metrics that are taken: by a column of the samples or of the report.
        **ragas_options: what Ragas' `evaluate` takes: llm, embeddings, run_config, callbacks, batch_size,
            show_progress (False unless given), raise_exceptions. Metrics of collections hold their own llm and
            embeddings, and follow run_config (how many calls at once, seconds for a sample), show_progress and
            raise_exceptions; a metric that is a prompt takes llm too.

    Returns:
        A `Report` per sample as `from_ragas_result` gives it. Where a metric failed, the status is `error`, and
        `<metric>_reason` says what was raised, as far as Ragas tells.

    Raises:
        ExtraError: where Ragas is not installed or cannot be imported.
        MetricError: before anything is asked, for what is no metric of Ragas, scores conversations, gives no numbers,
            or lacks its llm or embeddings.
        DataError: for samples that Ragas cannot hold, and names that are taken.

    Ragas is imported as in `as_ragas_dataset`. An event loop that runs, such as a notebook's, is left alone.
    """
    _check(references, nulls)
    unknown = [name for name in ragas_options if name not in _OPTIONS]
    if unknown:
        raise MetricError(f"evaluate_with_ragas has no option {unknown[0]!r}: {nearest(unknown[0], _OPTIONS)}")
    ragas = _ragas()
    loaded = named_run(loaded_samples(samples), run_id)
    if not loaded.frame.height:
        raise DataError(f"{loaded.where}: no samples")
    frame = loaded.frame.with_columns(given_fields(loaded, references, nulls).get_columns())
    asked = list(metrics) if isinstance(metrics, Iterable) and not isinstance(metrics, str) else [metrics]
    if not asked:
        raise MetricError("metrics is empty; expected metrics of Ragas, such as [ExactMatch()]")
    jobs = [job(metric, frame, ragas_options) for metric in asked]
    column_names([each.name for each in jobs], loaded.frame, suffix)  # refused before anything is asked

    async def evaluate(metric: object, rows: Sequence[Mapping[str, Any]]) -> list[object]:
        options = {"show_progress": False, **ragas_options}
        if isinstance(options.get("callbacks"), list):
            options["callbacks"] = list(options["callbacks"])  # Ragas puts its own there
        result = await ragas.aevaluate(_dataset(ragas, rows), [metric], **options)
        return [next(iter(scores.values())) for scores in result.scores]

    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", r"aevaluate\(\) is deprecated", DeprecationWarning)
        cells = run(jobs, evaluate, ragas_options)
    scored = [Scored(each.name, come, metric_range(each.metric)) for each, come in zip(jobs, cells, strict=True)]
    return ragas_report(loaded, scored, suffix)


def _check(references: object, nulls: object) -> None:
    choice("references", references, get_args(References))
    choice("nulls", nulls, get_args(Nulls))


def _dataset(ragas: Any, rows: Sequence[Mapping[str, Any]]) -> Any:
    return ragas.EvaluationDataset(samples=[ragas.SingleTurnSample(**row) for row in rows])


def _ragas() -> Any:
    """The package, its telemetry off unless the user has decided about it."""
    os.environ.setdefault("RAGAS_DO_NOT_TRACK", "true")
    try:
        return import_module("ragas")
    except ImportError as error:
        raise _not_imported(error) from error


def _not_imported(error: ImportError) -> ExtraError:
    if error.name == "ragas":
        return ExtraError("Ragas is not installed: pip install 'rankframe[ragas]'")
    told = f"Ragas is installed and cannot be imported ({error})"
    if (error.name or "").startswith("langchain_community"):
        return ExtraError(
            f"{told}: langchain-community 0.4.2 took away a module that Ragas imports: "
            f"pip install 'langchain-community<0.4.2'"
        )
    return ExtraError(f"{told}: pip install 'rankframe[ragas]'")
