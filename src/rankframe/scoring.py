"""`evaluate`: runs and judgments in, a report out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Literal

import polars as pl

from rankframe import __version__
from rankframe.errors import DataError, MetricError, counted, listed, warn
from rankframe.frames.checks import Duplicates, Invalid, Loaded, choice
from rankframe.frames.ledger import Note, ledger_frame, note
from rankframe.frames.schemas import CORPUS, QUERIES
from rankframe.inputs import described, load_ids, load_runs, sources
from rankframe.io.beir import Beir
from rankframe.io.readers import load_qrels
from rankframe.metrics.conventions import Count, SelfHits
from rankframe.metrics.conventions import convention as named_convention
from rankframe.metrics.metric import BASE_COLUMNS, BuiltIn, Metric
from rankframe.metrics.names import DEFAULT, resolve
from rankframe.metrics.rows import GROUP, Rows
from rankframe.ranking import Judgments, Population, Ranking, judge, judged_ranking, rank_run
from rankframe.ranking.population import STATUSES, Covered
from rankframe.report import Report
from rankframe.summaries import Measured

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Flags = NDArray[np.bool_]

_TOLERANCE = 1e-9  # how far a score may stand outside of its range before that is no rounding


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
) -> Report:
    """Score one or more runs against judgments.

    Args:
        runs: a run (a frame, a path, a mapping query -> {document: score}, a `Retrieval`), a list of paths, or a
            mapping name -> any of these. Names come from the mapping, else the column run_id, else the file, else
            "run".
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
    if isinstance(qrels, Beir):
        qrels = qrels.qrels
    loaded_qrels = load_qrels(qrels, invalid=invalid)
    if loaded_qrels.frame.is_empty():
        raise DataError(_no_judgments(loaded_qrels.where, runs))
    judgments = judge(loaded_qrels, duplicates, by_id=any(not isinstance(metric, BuiltIn) for metric in asked))
    measured = _measured(asked, judgments.max_grade)
    bound = list(measured)
    cutoff = max((metric.cutoff for metric in bound if metric.cutoff is not None), default=None)
    notes = list(judgments.notes)
    asked_ids = None
    if queries is not None:
        loaded_queries = load_ids(queries, QUERIES, invalid=invalid)
        asked_ids = loaded_queries.frame["query_id"]
        notes.extend(loaded_queries.notes)
    population = Population(judgments, rules, asked_ids)
    notes.extend(population.notes)
    if corpus is not None:
        notes.extend(_absent_documents(judgments, load_ids(corpus, CORPUS, invalid=invalid)))
    found: dict[str, tuple[Ranking, Covered]] = {}
    inputs: dict[str, dict[str, Any]] = {}
    for source in sources(runs):
        for name, loaded in load_runs(source, invalid=invalid):
            if name in found:
                raise DataError(
                    f"two runs are called {name!r}; give names, as in evaluate({{'first': .., 'second': ..}}, qrels), "
                    f"or rename a file"
                )
            if asked_ids is not None:
                loaded.collapsed = {query: loaded.collapsed[query] for query in asked_ids if query in loaded.collapsed}
            ranking = rank_run(
                name,
                loaded,
                judgments,
                duplicates=duplicates,
                self_hits=rules.self_hits,
                cutoff=cutoff,
                asked=population.asked,
            )
            found[name] = ranking, population.covered(ranking, loaded)
            _warn_of_short(ranking, loaded.where, cutoff)
            inputs[name] = {
                "run_id": name,
                "rows": loaded.frame.height,
                "queries": ranking.n_queries,
                **described(source.holder, fingerprint),
            }
    covered = [found[name] for name in sorted(found)]
    notes.extend(said for ranking, cover in covered for said in (*ranking.notes, *cover.notes))
    scores = _scores(judgments, covered, bound)
    check_ranges(scores, bound)
    return Report(
        scores=scores,
        ledger=ledger_frame(notes),
        metrics=tuple(measured.values()),
        options={
            "convention": convention,
            **{key: value for key, value in asdict(rules).items() if key != "dialect"},
            "duplicates": duplicates,
            "invalid": invalid,
            "qrels": {
                "rows": loaded_qrels.frame.height,
                "queries": len(judgments.queries),
                "max_grade": judgments.max_grade,
                **described(qrels, fingerprint),
            },
            "runs": [inputs[name] for name in sorted(inputs)],
            "versions": _versions(),
        },
    )


def _no_judgments(where: str, runs: object) -> str:
    """The message for empty qrels, with ids of the first run."""
    first = [
        loaded.frame["query_id"] for source in sources(runs)[:1] for _, loaded in load_runs(source, invalid="drop")
    ]
    ids = listed(first[0].unique(maintain_order=True).head(3), 3) if first else ""
    return (
        f"{where}: there are no judgments (expected query_id, doc_id, relevance); queries of the run: {ids or 'none'}"
    )


def _measured(asked: Sequence[Metric], max_grade: float) -> dict[Metric, Measured]:
    """The metrics with the largest grade filled in, each once, and what the report says of them."""
    found: dict[tuple[str, str], tuple[Metric, Measured]] = {}
    for was in asked:
        metric = was.bound(max_grade)
        definition = metric.family.definition if isinstance(metric, BuiltIn) else str(metric.expr)
        said = Measured(metric.name, was.name, metric.aggregate, metric.range, definition, metric.cutoff)
        earlier = found.get((metric.name, metric.aggregate))
        if earlier is None or earlier[1].asked == metric.name:
            found[metric.name, metric.aggregate] = metric, said
    return dict(found.values())


def _versions() -> dict[str, str]:
    return {"rankframe": __version__, "polars": pl.__version__}


# What each query scores.


def _scores(
    judgments: Judgments, covered: Sequence[tuple[Ranking, Covered]], metrics: Sequence[Metric]
) -> pl.DataFrame:
    """The scores of every run and judged query: status, counts, metrics; null where a query does not count."""
    import numpy as np

    rows = Rows()
    metrics = list({metric.name: metric for metric in metrics}.values())
    expressions = [metric.expression(rows) for metric in metrics]
    texts = any(not isinstance(metric, BuiltIn) and _reads_texts(metric.expr) for metric in metrics)
    rankings = [ranking for ranking, _ in covered]
    judged = judged_ranking(judgments, rankings, texts=texts)
    size = len(judgments.queries)
    names = pl.Series("run_id", [ranking.run_id for ranking in rankings], dtype=pl.String)
    counts = np.concatenate([cover.counts for _, cover in covered])
    try:
        values = _values(rows.add_to(judged), expressions)
    except (Exception, pl.exceptions.PanicException):  # an expression may call any function
        _blame(judged, metrics)
        raise
    return pl.DataFrame(
        [
            names[np.repeat(np.arange(len(rankings)), size)],
            judgments.queries[np.tile(np.arange(size), len(rankings))],
            pl.Series("status", STATUSES, dtype=pl.String)[np.concatenate([cover.status for _, cover in covered])],
            pl.Series("n_ret", np.concatenate([ranking.n_ret for ranking in rankings])),
            pl.Series("n_rel", np.tile(judgments.n_rel, len(rankings))),
            values["n_judged"],
            *(_settled(metric, values[str(place)], counts) for place, metric in enumerate(metrics)),
        ]
    )


def _reads_texts(expr: pl.Expr) -> bool:
    """Whether an expression may look at ids: by their names, or by a pattern or selector."""
    return expr.meta.has_multiple_outputs() or not {"run_id", "query_id", "doc_id"}.isdisjoint(expr.meta.root_names())


def _values(judged: pl.LazyFrame, expressions: Sequence[pl.Expr]) -> pl.DataFrame:
    """What the expressions give for each group: n_judged, and a Float64 column for each, named by its place."""
    columns = {str(place): expr.cast(pl.Float64) for place, expr in enumerate(expressions)}
    values = (
        judged.group_by(GROUP, maintain_order=True)
        .agg(pl.col("rank").count().cast(pl.Int64).alias("n_judged"), **columns)
        .collect()
    )
    for name in columns:
        if (dtype := values[name].dtype) != pl.Float64:
            raise pl.exceptions.SchemaError(f"it gives {dtype}")
    return values


def _settled(metric: Metric, values: pl.Series, counts: Flags) -> pl.Series:
    """A metric's column: its `empty` value for null and NaN, and null for queries that do not count."""
    import numpy as np

    numbers = values.to_numpy()
    numbers = np.where(np.isnan(numbers), metric.empty, numbers)
    if counts.all():
        return pl.Series(metric.name, numbers)
    numbers[~counts] = np.nan
    return pl.Series(metric.name, numbers, nan_to_null=True)


def _blame(judged: pl.LazyFrame, metrics: Sequence[Metric]) -> None:
    """Find the custom metric whose expression does not give a number for every query, and say so."""
    for metric in metrics:
        if isinstance(metric, BuiltIn):
            continue
        try:
            _values(judged, [metric.expr])
        except (Exception, pl.exceptions.PanicException) as error:  # likewise
            raise MetricError(
                f"metric {metric.name!r} cannot be computed over the judged ranking ({', '.join(BASE_COLUMNS)}), one "
                f"number per query: {str(error).partition(chr(10))[0].partition('; valid columns')[0]}"
            ) from error


def _warn_of_short(ranking: Ranking, where: str, cutoff: int | None) -> None:
    for said in ranking.notes:
        if said.reason == "collapsed_below_cutoff" and said.count:
            warn(
                f"{where}: of {counted(said.count, 'query')} the run {ranking.run_id!r} has fewer documents than the "
                f"largest cutoff, {cutoff}, since several results are of one document ({listed(said.examples)}); "
                f"ask for more with limit="
            )


def _absent_documents(judgments: Judgments, corpus: Loaded) -> list[Note]:
    judged = judgments.frame["doc_id"].unique().sort()
    absent = judged.filter(~judged.is_in(corpus.frame["doc_id"].implode()))
    return [*corpus.notes, note("not_in_corpus", absent.to_list())]


def check_ranges(scores: pl.DataFrame, metrics: Sequence[Metric], key: str = "query_id") -> None:
    """Refuse scores of a caller's own metric outside of the range that it declares."""
    for metric in metrics:
        if isinstance(metric, BuiltIn) or metric.range is None:
            continue
        low, high = metric.range
        value = pl.col(metric.name)
        outside = scores.filter(
            (value < low - _TOLERANCE if low is not None else False)
            | (value > high + _TOLERANCE if high is not None else False)
        )
        if outside.height:
            told = [f"{query}: {score:g}" for query, score in outside.select(key, metric.name).head(3).iter_rows()]
            raise MetricError(
                f"metric {metric.name!r} gives values outside of its range {metric.range}: {', '.join(told)}"
            )
