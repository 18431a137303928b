"""The commands of retrieval: scoring and making runs, pooling judgments, checking, and the list of metrics."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rankframe.cli.program import Format, Invalid, Output, app, print_report, refuse_writing_over, split_names
from rankframe.errors import RankframeError, warn
from rankframe.rendering import aligned, written

if TYPE_CHECKING:
    from rankframe.io.retrievals import Retrieval


class ConventionName(str, Enum):
    documented = "documented"
    trec_eval = "trec_eval"
    trec_eval_c = "trec_eval_c"
    ir_measures = "ir_measures"
    beir = "beir"


class Duplicates(str, Enum):
    error = "error"
    best = "best"


class RetrieverName(str, Enum):
    bm25 = "bm25"
    tfidf = "tfidf"
    dense = "dense"


Runs = Annotated[list[Path], typer.Argument(metavar="RUN...", help="Run files: TREC text, TSV, CSV, JSON, Parquet.")]
Qrels = Annotated[Path, typer.Option(help="Judgments: a file, or a BEIR folder.")]
OnDuplicates = Annotated[Duplicates, typer.Option(help="A pair that stands there twice: refuse it, or keep the best.")]
OnInvalid = Annotated[
    Invalid, typer.Option(help="Malformed lines, null ids, NaN scores: refuse them, or drop and count them.")
]
Limit = Annotated[int, typer.Option(help="How many results to ask a retriever for.")]
Vectors = Annotated[
    Path | None,
    typer.Option(help="For dense: a folder with corpus.parquet and queries.parquet; default: vectors in the folder."),
]


@app.command()
def evaluate(
    runs: Annotated[
        list[Path],
        typer.Argument(metavar="RUN...", help="Run files (TREC text, TSV, CSV, JSON, Parquet); or one BEIR folder."),
    ],
    qrels: Annotated[
        Path | None, typer.Option(help="Judgments: a file, or a BEIR folder; with --retriever that of the queries.")
    ] = None,
    retriever: Annotated[
        list[RetrieverName] | None,
        typer.Option(help="Search the BEIR folder with this, and score what it finds; may be repeated."),
    ] = None,
    limit: Annotated[
        int | None, typer.Option(help="How many results to ask a retriever for; 100 unless given.")
    ] = None,
    vectors: Vectors = None,
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
    duplicates: OnDuplicates = Duplicates.error,
    invalid: OnInvalid = Invalid.error,
    memory_limit: Annotated[
        str, typer.Option(help="Memory for the rows of Parquet runs at a time; larger runs are read in batches.")
    ] = "512MB",
) -> None:
    """Score one or more runs, or what retrievers find in a BEIR folder, against judgments."""
    from rankframe.metrics.conventions import CONVENTIONS
    from rankframe.metrics.metric import checked_cutoff
    from rankframe.metrics.names import DEFAULT, resolve
    from rankframe.scoring import evaluate as evaluate_runs

    asked = split_names(metrics) if metrics is not None else DEFAULT
    wanted = resolve(asked, dialect=CONVENTIONS[convention.value].dialect)  # before anything is searched
    refuse_writing_over("--per-query", per_query, [*runs, qrels, queries, corpus, vectors])
    scored: object = list(runs)
    if retriever:
        folder = _only_folder(runs)
        qrels = qrels or folder
        names = list(dict.fromkeys(name.value for name in retriever))
        limit = checked_cutoff(100 if limit is None else limit, "limit")
        _warn_of_limit(limit, [metric.cutoff for metric in wanted])
        needed = {name: vectors if name == "dense" or "dense" not in names else None for name in names}
        scored = {name: _retrieved(name, folder, limit, needed[name], queries) for name in names}
    elif limit is not None or vectors is not None:
        raise RankframeError("--limit and --vectors go with --retriever; runs are scored as they are")
    elif qrels is None:
        raise RankframeError("--qrels says where the judgments are; or give a BEIR folder with --retriever bm25")
    report = evaluate_runs(
        scored,
        qrels,
        metrics=asked,
        convention=convention.value,
        queries=queries,
        corpus=corpus,
        duplicates=duplicates.value,
        invalid=invalid.value,
        per_query=per_query,
        memory_limit=memory_limit,
        progress=_watched(),
    )
    print_report(report, output)


@app.command()
def retrieve(
    folder: Annotated[Path, typer.Argument(metavar="BEIR_FOLDER", help="A folder with a corpus and queries.")],
    retriever: Annotated[RetrieverName, typer.Option(help="What searches the corpus.")],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="The run: Parquet keeps the log with it; TREC text, CSV, JSON, ...")
    ],
    limit: Limit = 100,
    vectors: Vectors = None,
    queries: Annotated[Path | None, typer.Option(help="Other queries than those of the folder.")] = None,
) -> None:
    """Search the corpus of a BEIR folder for all of its queries, and write the run."""
    from rankframe.io.files import format_of
    from rankframe.io.writers import write_run
    from rankframe.metrics.metric import checked_cutoff

    checked_cutoff(limit, "limit")
    refuse_writing_over("--output", output, [folder, vectors, queries])
    found = _retrieved(retriever.value, folder, limit, vectors, queries)
    if format_of(output, None, "trec") == "parquet":
        found.write_parquet(output)
    else:
        write_run(found, output, tag=retriever.value)
    typer.echo(f"{found!r} in {output}", err=True)


def _retrieved(name: str, folder: Path, limit: int, vectors: Path | None, queries: Path | None) -> Retrieval:
    """What the named retriever finds for the queries, with a bar where somebody watches."""
    from rankframe.retrievers.named import named_retriever
    from rankframe.retrievers.retrieving import retrieve as ask

    searcher = named_retriever(name, folder, vectors=vectors)
    return ask(searcher, queries or folder, limit=limit, progress=_watched())


def _watched() -> bool:
    """Whether somebody watches, and so is shown a bar."""
    return sys.stderr is not None and sys.stderr.isatty()


@app.command()
def pool(
    runs: Runs,
    depth: Annotated[int, typer.Option(help="How many documents of each query a run gives.")],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="What is to be judged: CSV, JSON lines, JSON or Parquet.")
    ],
    texts: Annotated[Path | None, typer.Option(help="A BEIR folder whose queries and documents are shown.")] = None,
    qrels: Annotated[Path | None, typer.Option(help="Judgments that there are: a file, or a BEIR folder.")] = None,
    duplicates: OnDuplicates = Duplicates.error,
    invalid: OnInvalid = Invalid.error,
) -> None:
    """Write the pairs of query and document that somebody still has to judge, with a column for the grade."""
    from rankframe.io.writers import write_pool
    from rankframe.pooling import pool as pool_runs

    refuse_writing_over("--output", output, [*runs, qrels, texts])
    found = pool_runs(
        list(runs),
        depth=depth,
        qrels=qrels,
        queries=texts,
        corpus=texts,
        duplicates=duplicates.value,
        invalid=invalid.value,
    )
    write_pool(found, output)
    typer.echo(f"{found.height:,} pairs to judge in {output}", err=True)


@app.command()
def merge(
    judged: Annotated[list[Path], typer.Argument(metavar="JUDGED...", help="Pools with grades filled in.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="The judgments: TSV (BEIR's), TREC text, CSV, ...")],
    qrels: Annotated[Path | None, typer.Option(help="Judgments so far: a file, or a BEIR folder.")] = None,
    duplicates: OnDuplicates = Duplicates.error,
    invalid: OnInvalid = Invalid.error,
) -> None:
    """Put judged pools and judgments together; pairs with different grades are refused."""
    from rankframe.io.writers import write_qrels
    from rankframe.pooling import merge_judgments

    refuse_writing_over("--output", output, list(judged))
    merged = merge_judgments(qrels, *judged, duplicates=duplicates.value, invalid=invalid.value)
    write_qrels(merged, output)
    typer.echo(f"{merged.height:,} judgments in {output}", err=True)


def _only_folder(paths: Sequence[Path]) -> Path:
    for path in paths:
        if not path.exists():
            raise FileNotFoundError(f"no such file or folder: {path}")
    if len(paths) != 1 or not paths[0].is_dir():
        raise RankframeError(
            f"--retriever searches one BEIR folder; got {', '.join(map(str, paths))}; runs are scored without it"
        )
    return paths[0]


def _warn_of_limit(limit: int, cutoffs: Sequence[int | None]) -> None:
    largest = max((cutoff for cutoff in cutoffs if cutoff is not None), default=limit)
    if limit < largest:
        warn(f"--limit {limit} is below the largest cutoff, {largest}: scores there are over {limit} results")


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
        typer.echo(written(table, output.value))


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

    if qrels.is_dir():
        queries = queries or _found(find_texts, qrels, "queries")
        corpus = corpus or _found(find_texts, qrels, "corpus")
    found = check_runs(list(runs), qrels, queries=queries, corpus=corpus)
    if output is not Output.table:
        typer.echo(written(found, output.value))
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
