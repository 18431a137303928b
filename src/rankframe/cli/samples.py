"""The commands of RAG samples and of gates: scoring answer systems, and holding reports to what they must reach."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rankframe.cli.program import Format, Invalid, Output, app, print_report, refuse_writing_over, split_names
from rankframe.errors import DataError, GateError, RankframeError, counted, warn
from rankframe.rendering import aligned, number, written

if TYPE_CHECKING:
    import polars as pl


GateFile = Annotated[
    Path | None, typer.Option("--gate", help="What the report must reach: a TOML file of thresholds by metric.")
]
Baseline = Annotated[Path | None, typer.Option(help="An earlier report, below which no metric may fall.")]
MaxDrop = Annotated[
    float | None, typer.Option(help="By how much a value may fall below --baseline; else as --gate says, else 0.")
]
MinCoverage = Annotated[
    float | None,
    typer.Option(help="Share of the queries or samples that must be scored; else as --gate says, else 1."),
]


@app.command()
def rag(
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="SAMPLES...",
            help="Sample files (JSON lines, JSON, CSV, Parquet): one answer system each, or those of a column run_id.",
        ),
    ],
    metrics: Annotated[
        str | None, typer.Option(help="Names, separated by commas: 'token_f1,context_recall'. See `rankframe metrics`.")
    ] = None,
    output: Format = Output.table,
    per_sample: Annotated[
        Path | None, typer.Option(help="Write the report, with a row per sample, to this Parquet file.")
    ] = None,
    gate: GateFile = None,
    baseline: Baseline = None,
    max_drop: MaxDrop = None,
    min_coverage: MinCoverage = None,
    lists: Annotated[
        str | None,
        typer.Option(
            metavar="json|python|SEPARATOR", help="How lists are written that stand as text in a file, as in CSV."
        ),
    ] = None,
    legacy: Annotated[
        bool, typer.Option("--legacy", help="Read the column names of Ragas 0.1: question, answer, contexts, ...")
    ] = False,
    invalid: Annotated[
        Invalid, typer.Option(help="Malformed lines, null ids: refuse them, or drop and count them.")
    ] = Invalid.error,
) -> None:
    """Score the RAG samples of one or more answer systems, by metrics that need no judge."""
    from rankframe.metrics.names import DEFAULT_OF_SAMPLES, resolve
    from rankframe.rag.evaluating import evaluate_samples

    asked = split_names(metrics) if metrics is not None else DEFAULT_OF_SAMPLES
    resolve(asked, unit="sample")  # before anything is read
    refuse_writing_over("--per-sample", per_sample, [*files, gate, baseline])
    _refuse_writing_into("--per-sample", per_sample, files)
    held = _held_against(gate, baseline, max_drop, min_coverage)
    report = evaluate_samples(list(files), metrics=asked, lists=lists, legacy=legacy, invalid=invalid.value)
    if per_sample is not None:
        report.write_parquet(per_sample)
    fell_short, checks = None, None
    try:
        checks = report.gate(**held) if held else None
    except GateError as error:
        fell_short = error
    print_report(report, output)
    if fell_short is not None:
        raise fell_short
    if checks is not None:
        typer.echo(f"{counted(checks.height, 'check')} passed", err=True)


@app.command()
def gate(
    report: Annotated[
        Path, typer.Argument(metavar="REPORT", help="The report, as --per-query or --per-sample write it.")
    ],
    gate: GateFile = None,
    baseline: Baseline = None,
    max_drop: MaxDrop = None,
    min_coverage: MinCoverage = None,
    output: Format = Output.table,
) -> None:
    """Hold a report against thresholds, an earlier report, or both: exit 1 where it falls short."""
    from rankframe.saved import read_report

    held = _held_against(gate, baseline, max_drop, min_coverage)
    if not held:
        raise RankframeError("give --gate, a file of thresholds, or --baseline, an earlier report, or both")
    try:
        checks = read_report(report).gate(**held)
    except GateError as error:
        if output is not Output.table:
            typer.echo(written(error.table, output.value))
        raise
    if output is Output.table:
        typer.echo(aligned(_rows(checks, without=("passed", "why", *_same_runs(checks)))))
        typer.echo(f"\n{counted(checks.height, 'check')} passed")
    else:
        typer.echo(written(checks, output.value))


def _refuse_writing_into(option: str, target: Path | None, inputs: Sequence[Path]) -> None:
    """Refuse a target in a folder of samples, where it would write over a part of them or be read as one."""
    for folder in inputs:
        if target is not None and folder.is_dir() and target.resolve().is_relative_to(folder.resolve()):
            raise RankframeError(f"{option} {target} would write into the samples in {folder}")


def _held_against(
    gate: Path | None, baseline: Path | None, max_drop: float | None, min_coverage: float | None
) -> dict[str, Any]:
    """The arguments of `Report.gate`, what is given before what the file says; empty where no gate is asked for."""
    from rankframe.gates import Gate, read_gate
    from rankframe.gates.baselines import drop_of
    from rankframe.gates.values import share
    from rankframe.saved import read_report

    if max_drop is not None and baseline is None:
        raise RankframeError("--max-drop goes with --baseline, an earlier report")
    if min_coverage is not None and gate is None and baseline is None:
        raise RankframeError("--min-coverage goes with --gate or --baseline")
    drop = None if max_drop is None else drop_of("--max-drop", max_drop)
    least = None if min_coverage is None else share("--min-coverage", min_coverage)
    if gate is None and baseline is None:
        return {}
    told = Gate() if gate is None else read_gate(gate)
    if baseline is None and not told.thresholds:
        raise DataError(f"{gate} has no thresholds, only max_drop, which goes with --baseline")
    if baseline is None and told.max_drop:
        warn(f"{gate} has max_drop, which is not looked at without --baseline")
    return {
        "thresholds": told.thresholds or None,
        "min_coverage": told.min_coverage if least is None else least,
        "baseline": None if baseline is None else read_report(baseline),
        "max_drop": told.max_drop if drop is None else drop,
    }


def _same_runs(checks: pl.DataFrame) -> list[str]:
    """The column of the runs that others were held against, where these are called the same."""
    if "new_run_id" not in checks.columns:
        return []
    names = checks.drop_nulls("new_run_id")
    return ["new_run_id"] if (names["new_run_id"] == names["run_id"]).all() else []


def _rows(frame: pl.DataFrame, *, without: Collection[str] = ()) -> list[list[str]]:
    """A header and the rows of a frame as text, without columns that say nothing."""
    names = [name for name in frame.columns if name not in without and frame[name].null_count() < frame.height]
    return [names, *([_cell(value) for value in row] for row in frame.select(names).iter_rows())]


def _cell(value: Any) -> str:
    if value is None or isinstance(value, float):
        return number(value, 4)
    return f"{value:,}" if isinstance(value, int) else str(value)
