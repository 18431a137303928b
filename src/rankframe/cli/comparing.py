"""The command that compares runs: which is better, how sure that is, and for which queries."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from rankframe.cli.program import Format, Invalid, Output, app, refuse_writing_over, split_names
from rankframe.cli.retrieval import ConventionName, Duplicates, OnDuplicates, OnInvalid
from rankframe.errors import DataError, RankframeError, listed
from rankframe.rendering import aligned, number, written

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl

    from rankframe.comparison.corrections import Correction
    from rankframe.report import Report


class TestName(str, Enum):
    randomisation = "randomisation"
    t = "t"
    wilcoxon = "wilcoxon"
    wilcoxon_pratt = "wilcoxon-pratt"
    wilcoxon_zsplit = "wilcoxon-zsplit"
    sign = "sign"
    bootstrap = "bootstrap"


class CorrectionName(str, Enum):
    holm = "holm"
    bonferroni = "bonferroni"
    holm_sidak = "holm-sidak"
    bh = "bh"
    by = "by"
    none = "none"


@app.command()
def compare(
    runs: Annotated[
        list[Path],
        typer.Argument(metavar="RUN...", help="Two or more run files; or reports that were saved, without --qrels."),
    ],
    qrels: Annotated[Path | None, typer.Option(help="Judgments: a file, or a BEIR folder.")] = None,
    baseline: Annotated[
        list[str] | None, typer.Option(help="Compare with this run alone; may be repeated; else all pairs.")
    ] = None,
    by: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FILE:COLUMN", help="Also by slices of the queries: queries.parquet:topic; may be repeated."
        ),
    ] = None,
    html: Annotated[Path | None, typer.Option(help="Write one page with all tables and pictures.")] = None,
    metrics: Annotated[
        str | None, typer.Option(help="Names, separated by commas: 'ndcg@10,map'. See `rankframe metrics`.")
    ] = None,
    test: Annotated[TestName, typer.Option(help="The paired test.")] = TestName.randomisation,
    correction: Annotated[
        CorrectionName, typer.Option(help="For the number of tests of a metric.")
    ] = CorrectionName.holm,
    level: Annotated[float, typer.Option(help="Of the intervals.")] = 0.95,
    seed: Annotated[int, typer.Option(help="Of random tests and intervals.")] = 0,
    output: Format = Output.table,
    convention: Annotated[
        ConventionName, typer.Option(help="Which queries count, and whose metric names are meant.")
    ] = ConventionName.documented,
    queries: Annotated[Path | None, typer.Option(help="Only the queries of this file count.")] = None,
    duplicates: OnDuplicates = Duplicates.error,
    invalid: OnInvalid = Invalid.error,
) -> None:
    """Compare runs query by query: differences, intervals, paired tests, slices, and one page of all of it."""
    from rankframe.comparison import compare as compare_runs

    slices = [_slice(text) for text in by or []]
    refuse_writing_over("--html", html, [*runs, qrels, queries, *(path for path, _ in slices)])
    if html is not None and html.suffix.lower() not in {".html", ".htm"}:
        raise RankframeError(f"--html {html}: a page is written to a file that ends in .html")
    asked = None if metrics is None else split_names(metrics)
    if qrels is None:
        report, compared = _saved(runs, asked)
    else:
        report, compared = _scored(runs, qrels, asked, convention.value, queries, duplicates.value, invalid.value)
    report = _with_slices(report, slices).with_intervals(level=level, seed=seed)
    chosen = None if correction is CorrectionName.none else cast("Correction", correction.value)
    found = compare_runs(
        report, baseline=baseline or None, metrics=compared, test=test.value, correction=chosen, seed=seed
    )
    sliced = {column: report.by(column) for _, column in slices}
    if html is not None:
        from rankframe.pages import comparison_page

        page = comparison_page(report, found, by=list(sliced), title=f"Comparison of {', '.join(report.runs)}")
        html.write_text(page, encoding="utf-8")
    if output is not Output.table:
        typer.echo(written(found, output.value))
        return
    typer.echo(aligned(report.table()))
    typer.echo("\n" + aligned(_lines(found)))
    for column, frame in sliced.items():
        typer.echo("\n" + aligned(_slice_lines(frame, column, found["metric"][0])))
    typer.echo("\n" + "\n".join(report.counts()))


def _slice(text: str) -> tuple[Path | None, str]:
    """The file and the column of `FILE:COLUMN`; a column alone stands in the report."""
    path, colon, column = text.rpartition(":")
    if not column or (colon and not path):
        raise RankframeError(f"--by {text}: expected FILE:COLUMN, such as queries.parquet:topic")
    return Path(path) if path else None, column


def _saved(runs: Sequence[Path], metrics: Sequence[str] | None) -> tuple[Report, Sequence[str] | None]:
    """The report of earlier evaluations, and what is compared of it."""
    from rankframe.saved import read_report

    try:
        report = read_report(runs)
    except DataError as error:
        if any(path.suffix.lower() not in {".parquet", ".pq"} for path in runs):
            raise RankframeError(
                "--qrels says where the judgments are; without it, reports that were saved are compared"
            ) from error
        raise
    return report, metrics


def _scored(
    runs: Sequence[Path],
    qrels: Path,
    metrics: Sequence[str] | None,
    convention: str,
    queries: Path | None,
    duplicates: str,
    invalid: str,
) -> tuple[Report, Sequence[str] | None]:
    """The report on the runs, with the share of judged documents at every cutoff, and what is compared of it."""
    from rankframe.metrics.conventions import CONVENTIONS
    from rankframe.metrics.names import DEFAULT, resolve
    from rankframe.scoring import evaluate

    asked = DEFAULT if metrics is None else metrics
    cutoffs = {metric.cutoff for metric in resolve(asked, dialect=CONVENTIONS[convention].dialect)}
    judged = [f"judged@{cutoff}" for cutoff in sorted(cutoff for cutoff in cutoffs if cutoff is not None)]
    named = [*asked, *(name for name in judged if name not in asked)]
    options = {"convention": convention, "queries": queries, "duplicates": duplicates, "invalid": invalid}
    report = evaluate(list(runs), qrels, metrics=named, **options)  # type: ignore[arg-type]  # choices, as text
    return report, metrics


def _with_slices(report: Report, slices: Sequence[tuple[Path | None, str]]) -> Report:
    """With the columns to slice by joined, file by file."""
    from rankframe.io.readers import read_queries

    for path, column in slices:
        if path is None and column not in report.scores.columns:
            raise RankframeError(
                f"--by {column}: no such column in the report; FILE:COLUMN takes it from a file, such as "
                f"queries.parquet:{column}"
            )
    for path in dict.fromkeys(path for path, _ in slices if path is not None):
        columns = list(dict.fromkeys(column for holder, column in slices if holder == path))
        metadata = read_queries(path)
        lacking = [column for column in columns if column not in metadata.columns]
        if lacking:
            raise RankframeError(f"--by {path}: no column {listed(lacking)}; there are {listed(metadata.columns, 12)}")
        texts = [
            name for name in ("text",) if name in metadata.columns and name not in [*columns, *report.scores.columns]
        ]
        taken = [column for column in columns if column in report.scores.columns and column != "query_id"]
        if taken:
            raise RankframeError(
                f"--by {path}: {listed(taken)} is in the report already; leave the file out, or rename it"
            )
        kept = dict.fromkeys(["query_id", *columns, *texts])
        report = report.join(metadata.select(list(kept)))
    return report


def _lines(found: pl.DataFrame) -> list[list[str]]:
    """The comparison in the columns that fit a terminal."""
    header = ["metric", "run", "other", "difference", "interval", "relative", "w/t/l", "p", "corrected", "note"]
    return [header, *([*_cells(row)] for row in found.iter_rows(named=True))]


def _cells(row: dict[str, object]) -> list[str]:
    low, high, relative = row["ci_low"], row["ci_high"], row["relative"]
    return [
        str(row["metric"]),
        str(row["run_id"]),
        str(row["other"]),
        _signed(row["difference"]),
        "-" if low is None else f"{_signed(low)} to {_signed(high)}",
        f"{relative:+.1%}" if isinstance(relative, float) else "-",
        f"{row['wins']}/{row['ties']}/{row['losses']}",
        _share(row["p"]),
        _share(row["p_corrected"]) + ("*" if row["significant"] else ""),
        str(row["reason"] or ""),
    ]


def _signed(value: object) -> str:
    return f"{value:+.4f}" if isinstance(value, float) else "-"


def _share(p: object) -> str:
    if not isinstance(p, float):
        return "-"
    return f"{p:.4f}" if p >= 0.0001 else "<0.0001"


def _slice_lines(slices: pl.DataFrame, column: str, metric: str) -> list[list[str]]:
    """A row per slice, a column per run, of one metric."""
    rows = slices.filter(metric=metric)
    runs = rows["run_id"].unique(maintain_order=True).to_list()
    told = [[f"{metric} by {column}", "n", *runs]]
    for _, group in rows.group_by(column, maintain_order=True):
        values = dict(group.select("run_id", "value").rows())
        name = group[column][0]
        ns = group["n"].unique(maintain_order=True).to_list()
        cells = [number(values.get(run), 4) for run in runs]
        told.append(["(none)" if name is None else str(name), "/".join(map(str, ns)), *cells])
    return told
