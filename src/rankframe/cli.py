"""The command line: parse, call, print or write."""

from __future__ import annotations

import csv
import gc
import io
import json
import math
import os
import re
import sys
import warnings
from collections.abc import Callable, Sequence
from contextlib import contextmanager, suppress
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn, cast

import typer

from rankframe.errors import RankframeError, RankframeWarning

if TYPE_CHECKING:
    from collections.abc import Iterator

    import polars as pl

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help="Retrieval and RAG evaluation: exact scores from runs and judgments.",
)


class Output(str, Enum):
    table = "table"
    json = "json"
    csv = "csv"
    markdown = "markdown"


class ConventionName(str, Enum):
    documented = "documented"
    trec_eval = "trec_eval"
    trec_eval_c = "trec_eval_c"
    ir_measures = "ir_measures"
    beir = "beir"


class Duplicates(str, Enum):
    error = "error"
    best = "best"


class Invalid(str, Enum):
    error = "error"
    drop = "drop"


Runs = Annotated[list[Path], typer.Argument(metavar="RUN...", help="Run files: TREC text, TSV, CSV, JSON, Parquet.")]
Qrels = Annotated[Path, typer.Option(help="Judgments: a file, or a BEIR folder.")]
Format = Annotated[
    Output, typer.Option("--format", help="How to print. A number that is infinite or none at all is null in JSON.")
]


def _version(asked: bool) -> None:  # noqa: FBT001  # as typer calls it
    if asked:
        from rankframe import __version__

        typer.echo(f"rankframe {__version__}")
        raise typer.Exit


@app.callback()
def rankframe(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Retrieval and RAG evaluation: exact scores from runs and judgments."""


@app.command()
def evaluate(
    runs: Runs,
    qrels: Qrels,
    metrics: Annotated[
        str | None, typer.Option(help="Names, separated by commas: 'ndcg@10,rbp(p=0.9)'. See `rankframe metrics`.")
    ] = None,
    output: Format = Output.table,
    per_query: Annotated[
        Path | None, typer.Option(help="Write the report, with a row per query, to this Parquet file.")
    ] = None,
    convention: Annotated[
        ConventionName, typer.Option(help="Which queries count, and whose metric names are meant.")
    ] = ConventionName.documented,
    queries: Annotated[Path | None, typer.Option(help="Only the queries of this file count.")] = None,
    corpus: Annotated[Path | None, typer.Option(help="Count judged documents that this corpus lacks.")] = None,
    duplicates: Annotated[
        Duplicates, typer.Option(help="A pair that stands there twice: refuse it, or keep the best.")
    ] = Duplicates.error,
    invalid: Annotated[
        Invalid, typer.Option(help="Malformed lines, null ids, NaN scores: refuse them, or drop and count them.")
    ] = Invalid.error,
) -> None:
    """Score one or more runs against judgments."""
    from rankframe.metrics.names import DEFAULT
    from rankframe.scoring import evaluate as evaluate_runs

    inputs = [path for path in (*runs, qrels, queries, corpus) if path is not None]
    if per_query is not None and any(
        per_query.exists() and path.exists() and per_query.samefile(path) for path in inputs
    ):
        raise RankframeError(f"--per-query {per_query} would write over an input")
    report = evaluate_runs(
        list(runs),
        qrels,
        metrics=split_names(metrics) if metrics is not None else DEFAULT,
        convention=convention.value,
        queries=queries,
        corpus=corpus,
        duplicates=duplicates.value,
        invalid=invalid.value,
    )
    if per_query is not None:
        report.write_parquet(per_query)
    if output is Output.table:
        from rankframe.rendering import aligned

        typer.echo(aligned(report.table()))
        typer.echo("\n" + "\n".join(report.counts()))
    else:
        typer.echo(written(report.summary, output))


@app.command()
def metrics(output: Format = Output.table) -> None:
    """List every metric: its definition, parameters, range and other names."""
    from rankframe.metrics import metric_table

    table = metric_table()
    if output is Output.table:
        for row in table.iter_rows(named=True):
            typer.echo(f"{row['name']}: {row['summary']}")
            for part in ("definition", "parameters", "range", "aliases", "reference"):
                if row[part]:
                    typer.echo(f"    {part}: {row[part]}")
    else:
        typer.echo(written(table, output))


@app.command()
def check(
    runs: Runs,
    qrels: Qrels,
    queries: Annotated[Path | None, typer.Option(help="The queries that exist.")] = None,
    corpus: Annotated[Path | None, typer.Option(help="The documents that exist.")] = None,
    output: Format = Output.table,
) -> None:
    """Count what is odd about runs and judgments, without scoring. A BEIR folder as --qrels brings its texts."""
    from rankframe.checking import check as check_runs
    from rankframe.frames.ledger import REASONS
    from rankframe.io.folders import find_texts
    from rankframe.rendering import aligned

    if qrels.is_dir():
        queries = queries or _found(find_texts, qrels, "queries")
        corpus = corpus or _found(find_texts, qrels, "corpus")
    found = check_runs(list(runs), qrels, queries=queries, corpus=corpus)
    if output is not Output.table:
        typer.echo(written(found, output))
    elif found.is_empty():
        typer.echo("nothing odd found")
    else:
        rows = [
            [run or "-", reason, f"{count:,}", ", ".join(examples), REASONS[reason]]
            for run, reason, count, examples in found.iter_rows()
        ]
        header = ["run", "reason", "count", "examples", "meaning"]
        typer.echo("\n\n".join(_record(header, row) for row in rows) if _too_wide(rows) else aligned([header, *rows]))


def _found(find: Callable[[Path, str], Path], folder: Path, name: str) -> Path | None:
    try:
        return find(folder, name)
    except FileNotFoundError:
        return None


def _too_wide(rows: Sequence[Sequence[str]]) -> bool:
    """Whether the rows are too wide to stand beside each other on a terminal."""
    return max(sum(map(len, row)) for row in rows) > 150


def _record(header: Sequence[str], row: Sequence[str]) -> str:
    return "\n".join(f"{name + ':':<10}{cell}" for name, cell in zip(header, row, strict=True) if cell)


def split_names(text: str) -> list[str]:
    """Metric names at the commas outside of parentheses.

    >>> split_names("ndcg@10, rbp(p=0.5,rel=2)")
    ['ndcg@10', 'rbp(p=0.5,rel=2)']
    """
    names, depth = [""], 0
    for letter in text:
        depth += (letter == "(") - (letter == ")")
        if letter == "," and depth <= 0:
            names.append("")
        else:
            names[-1] += letter
    return [name.strip() for name in names if name.strip()]


def written(frame: pl.DataFrame, output: Output) -> str:
    """A frame as JSON records (null for numbers that JSON cannot write), CSV with a header, or a Markdown table."""
    if output is Output.json:
        rows = [{name: _plain(cell) for name, cell in row.items()} for row in frame.iter_rows(named=True)]
        return json.dumps(rows, ensure_ascii=False, indent=1, allow_nan=False)
    cells = [[_text(cell) for cell in row] for row in frame.iter_rows()]
    if output is Output.csv:
        buffer = io.StringIO()
        csv.writer(buffer, lineterminator="\n").writerows([frame.columns, *cells])
        return buffer.getvalue().rstrip("\n")
    lines = [frame.columns, ["---"] * frame.width, *cells]
    return "\n".join("| " + " | ".join(map(_cell, line)) + " |" for line in lines)


def _plain(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _cell(text: str) -> str:
    """Text that stays in its cell of a Markdown table."""
    return "<br>".join(text.replace("|", "\\|").splitlines())


def _text(cell: Any) -> str:
    if cell is None or (isinstance(cell, float) and math.isnan(cell)):
        return ""
    return ", ".join(map(str, cell)) if isinstance(cell, list) else str(cell)


@contextmanager
def _warnings_on_stderr() -> Iterator[None]:
    """Say warnings in one line each, without the place in the source."""

    def say(message: Warning | str, category: type[Warning], *_: object) -> None:
        if issubclass(category, RankframeWarning):
            print(f"warning: {message}", file=sys.stderr)

    with warnings.catch_warnings():
        warnings.simplefilter("always", RankframeWarning)
        warnings.showwarning = cast("Any", say)
        yield


def main() -> None:
    """Run the command line: exit 0, or 2 for bad input with one line on standard error."""
    try:
        with _warnings_on_stderr():
            app()
    except (RankframeError, OSError) as error:
        told = re.sub(r'\b(invalid|duplicates)="(\w+)"', r"--\1 \2", str(error))  # as the command line spells it
        print(f"error: {' '.join(told.split())}", file=sys.stderr)
        raise SystemExit(2) from None


def run() -> NoReturn:
    """`main` as a process of its own: it ends before collecting garbage or handing back memory pays."""
    gc.disable()
    try:
        main()
        code: object = 0
    except SystemExit as end:
        code = end.code
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError):  # nobody reads it any more
            stream.flush()
    os._exit(code if isinstance(code, int) else code is not None)
