"""`evaluate`: runs and judgments in, a report out."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import closing
from functools import partial
from os import PathLike
from typing import Any, Literal

from rankframe.batches import Batches, rows_within
from rankframe.errors import DataError, counted, listed, warn
from rankframe.frames.checks import Duplicates, Invalid, choice, no_judgments
from rankframe.inputs import described, sources
from rankframe.io.beir import Beir
from rankframe.io.readers import load_qrels
from rankframe.metrics.conventions import Count, SelfHits
from rankframe.metrics.conventions import convention as named_convention
from rankframe.metrics.families import BuiltIn
from rankframe.metrics.metric import Metric
from rankframe.metrics.names import DEFAULT, resolve
from rankframe.ranking import Ranking, RunRanker, judge
from rankframe.ranking.population import Covered
from rankframe.report import Report
from rankframe.scoring.reporting import conditions, narrowed, refuse_target, reported
from rankframe.scoring.running import ranked_runs
from rankframe.scoring.values import largest_cutoff, measured


def evaluate(
    runs: object,
    qrels: object,
    *,
    metrics: str | Metric | Iterable[str | Metric] = DEFAULT,
    convention: str = "documented",
    missing: Count | None = None,
    no_relevant: Count | None = None,
    self_hits: SelfHits | None = None,
    failed: Count | None = None,
    queries: object = None,
    corpus: object = None,
    duplicates: Duplicates = "error",
    invalid: Invalid = "error",
    fingerprint: Literal["size", "sha256"] = "size",
    per_query: str | PathLike[str] | None = None,
    memory_limit: int | str = "512MB",
    progress: bool = False,
) -> Report:
    """Score one or more runs against judgments.

    Args:
        runs: a run (a frame, a path, a mapping query -> {document: score}, a `Retrieval`), a list of paths, each of a
            run, or a mapping name -> run, where a list of paths is one run in several files. Names come from the
            mapping, else the column run_id, else the file, else "run".
        qrels: judgments: whatever `read_qrels` takes, or a `Beir`.
        metrics: names, `Metric` objects, or both; see `rankframe.metrics`.
        convention: "documented", "trec_eval", "trec_eval_c", "ir_measures" or "beir"; sets the next four.
        missing: a judged query that the run misses counts "zero" or is left out ("skip").
        no_relevant: the same for a query without a relevant document.
        self_hits: "drop" takes documents whose id is the query's out of the run.
        failed: a query whose retrieval failed counts "zero" or is left out ("skip"); as a missing one unless given.
        queries: the queries that count (frame, path, ids, or mapping by id); the others are `not_asked`.
        corpus: the documents that exist (likewise); judged ones that it lacks go to the ledger.
        duplicates: "error" refuses a (query, document) pair that stands there twice and conflicting judgments; "best"
            keeps the best score and the highest grade and counts the rest in the ledger.
        invalid: "error" refuses null ids and null or NaN numbers; "drop" leaves the rows out and counts them.
        fingerprint: how the report's options tell input files apart: by path and "size", or by "sha256" of their bytes
            too.
        per_query: write the report to this Parquet file while its scores are made; it is there when it is whole, and
            `read_report` reads it. An older report is written over, any other file is not.
        memory_limit: how much memory the rows of a run may take at a time where they are read in batches (Parquet
            files and LazyFrames), in bytes or as text: "512MB", "4 GiB"; 1 MB at least. Several runs share it. Queries
            come whole: where the rows of each stand together, in the order of the files; otherwise the rows are sorted
            into temporary files first, which nobody else sees and which are gone at the end, also of an interrupted
            evaluation (in TMPDIR, 40 bytes a row and more with ids of over 12 letters). Judgments, scores, and what
            Polars holds to read come on top, some 250 MB and the groups of rows of the files. More memory is hardly
            faster; a limit far under 64 MB takes longer.
        progress: show a bar of the rows read.

    Returns:
        A `Report`: `scores` per run and judged query, `summary`, `ledger`. A scored query for which a metric is not
        defined has 0. The arguments are never changed.

    Raises:
        MetricError: for an unknown metric, parameter, cutoff or convention, before anything is read.
        DataError: for input that cannot be scored as it is: no judgments, no query in common, bad rows.
        FileNotFoundError: for a path where nothing is.

    Warns:
        RankframeWarning: for a run without results, whose scores are 0, and for one whose results, collapsed to
            documents, are fewer than the largest cutoff.

    >>> report = evaluate({"q1": {"d1": 2.0, "d2": 1.0}}, {"q1": {"d2": 1}, "q2": {"d3": 1}}, metrics="mrr@10")
    >>> report.scores.select("query_id", "status", "mrr@10").rows()
    [('q1', 'ok', 0.5), ('q2', 'missing', 0.0)]
    >>> report.value("mrr@10")
    0.25
    """
    rules = named_convention(convention, missing=missing, no_relevant=no_relevant, self_hits=self_hits, failed=failed)
    asked = resolve(metrics, dialect=rules.dialect)
    choice("duplicates", duplicates, ("error", "best"))
    choice("fingerprint", fingerprint, ("size", "sha256"))
    rows = rows_within(memory_limit)
    if per_query is not None:
        refuse_target(per_query, runs, [qrels, queries, corpus])
    if isinstance(qrels, Beir):
        qrels = qrels.qrels
    loaded_qrels = load_qrels(qrels, invalid=invalid)
    if loaded_qrels.frame.is_empty():
        raise no_judgments(loaded_qrels.where, _first_queries(runs, rows))
    judgments = judge(loaded_qrels, duplicates, by_id=any(not isinstance(metric, BuiltIn) for metric in asked))
    metrics_measured = measured(asked, judgments.max_grade)
    cutoff = largest_cutoff(metrics_measured)
    population, notes, asked_ids = narrowed(judgments, rules, queries, corpus, invalid)
    ranker = partial(
        RunRanker,
        judgments=judgments,
        duplicates=duplicates,
        self_hits=rules.self_hits,
        cutoff=cutoff,
        asked=population.asked,
    )
    found: dict[str, tuple[Ranking, Covered]] = {}
    inputs: dict[str, dict[str, Any]] = {}
    ranked = ranked_runs(sources(runs), ranker, asked_ids, invalid=invalid, rows=rows, progress=progress)
    with closing(ranked):
        for source, run in ranked:
            if run.run_id in found:
                raise DataError(
                    f"two runs are called {run.run_id!r}; give names, as in evaluate({{'first': .., 'second': ..}}, "
                    f"qrels), or rename a file"
                )
            ranking = run.ranking()
            found[run.run_id] = ranking, population.covered(ranking, run.where, run.no_results, run.failed)
            _warn_of_short(ranking, run.where, cutoff)
            inputs[run.run_id] = {
                "run_id": run.run_id,
                "rows": ranking.n_rows,
                "queries": ranking.n_queries,
                **described(source.holder, fingerprint, folders=True),
            }
    options = conditions(
        convention,
        rules,
        judgments,
        inputs.values(),
        duplicates=duplicates,
        invalid=invalid,
        qrels={"rows": loaded_qrels.frame.height, **described(qrels, fingerprint)},
    )
    return reported(judgments, list(found.values()), metrics_measured, notes, options, per_query)


def _first_queries(runs: object, rows: int) -> list[str]:
    """A few ids of the first run."""
    for source in sources(runs)[:1]:
        some = Batches(source, invalid="drop", rows=rows).first()
        return some["query_id"].drop_nulls().unique(maintain_order=True).head(3).to_list()
    return []


def _warn_of_short(ranking: Ranking, where: str, cutoff: int | None) -> None:
    for said in ranking.notes:
        if said.reason == "collapsed_below_cutoff" and said.count:
            warn(
                f"{where}: of {counted(said.count, 'query')} the run {ranking.run_id!r} has fewer documents than the "
                f"largest cutoff, {cutoff}, since several results are of one document ({listed(said.examples)}); "
                f"ask for more with limit="
            )
