"""`evaluate`: runs and judgments in, a report out."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import polars as pl

from rankframe import __version__
from rankframe.errors import DataError, MetricError, counted, listed
from rankframe.frames.checks import Duplicates, Invalid, Loaded, choice
from rankframe.frames.coerce import collected, conform, id_series, table_frame
from rankframe.frames.ledger import Note, ledger_frame, note
from rankframe.frames.schemas import CORPUS, QUERIES, Schema
from rankframe.io.files import stem
from rankframe.io.readers import load_qrels, load_run, load_texts
from rankframe.metrics.conventions import Count, SelfHits
from rankframe.metrics.conventions import convention as named_convention
from rankframe.metrics.metric import BASE_COLUMNS, BuiltIn, Metric
from rankframe.metrics.names import DEFAULT, resolve
from rankframe.metrics.rows import GROUP, Rows
from rankframe.ranking import Judgments, Population, Ranking, judge, judged_ranking, rank_run
from rankframe.ranking.population import STATUSES, Covered
from rankframe.report import Measured, Report

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Flags = NDArray[np.bool_]

_NEEDED = ("query_id", "doc_id", "score", "rank", "run_id")
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
    queries: object = None,
    corpus: object = None,
    duplicates: Duplicates = "error",
    invalid: Invalid = "error",
    fingerprint: Literal["size", "sha256"] = "size",
) -> Report:
    """Score one or more runs against judgments.

    Args:
        runs: a run (a frame, a path, a mapping query -> {document: score}), a list of paths, or a mapping
            name -> any of these. Names come from the mapping, else the column run_id, else the file, else "run".
        qrels: judgments: whatever `read_qrels` takes.
        metrics: names, `Metric` objects, or both; see `rankframe.metrics`.
        convention: "documented", "trec_eval", "trec_eval_c", "ir_measures" or "beir"; sets the next three.
        missing: a judged query that the run misses counts "zero" or is left out ("skip").
        no_relevant: the same for a query without a relevant document.
        self_hits: "drop" takes documents whose id is the query's out of the run.
        queries: the queries that count (frame, path, ids, or mapping by id); the others are `not_asked`.
        corpus: the documents that exist (frame, path, mapping by id); judged ones that it lacks go to the ledger.
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
        RankframeWarning: for an empty run, whose scores are 0.

    >>> report = evaluate({"q1": {"d1": 2.0, "d2": 1.0}}, {"q1": {"d2": 1}, "q2": {"d3": 1}}, metrics="mrr@10")
    >>> report.scores.select("query_id", "status", "mrr@10").rows()
    [('q1', 'ok', 0.5), ('q2', 'missing', 0.0)]
    >>> report.value("mrr@10")
    0.25
    """
    rules = named_convention(convention, missing=missing, no_relevant=no_relevant, self_hits=self_hits)
    asked = resolve(metrics, dialect=rules.dialect)
    choice("duplicates", duplicates, ("error", "best"))
    choice("fingerprint", fingerprint, ("size", "sha256"))
    loaded_qrels = load_qrels(qrels, invalid=invalid)
    if loaded_qrels.frame.is_empty():
        raise DataError(_no_judgments(loaded_qrels.where, runs))
    judgments = judge(loaded_qrels, duplicates, by_id=any(not isinstance(metric, BuiltIn) for metric in asked))
    measured = _measured(asked, judgments.max_grade)
    bound = list(measured)
    cutoff = max((metric.cutoff for metric in bound if metric.cutoff is not None), default=None)
    population = Population(judgments, rules, None if queries is None else _ids(queries, QUERIES))
    notes = [*judgments.notes, *population.notes, *_absent_documents(judgments, corpus)]
    found: dict[str, tuple[Ranking, Covered]] = {}
    inputs: dict[str, dict[str, Any]] = {}
    for source in sources(runs):
        for name, loaded in load_runs(source, invalid=invalid):
            if name in found:
                raise DataError(
                    f"two runs are called {name!r}; give names: evaluate({{'first': .., 'second': ..}}, qrels)"
                )
            ranking = rank_run(name, loaded, judgments, duplicates=duplicates, self_hits=rules.self_hits, cutoff=cutoff)
            found[name] = ranking, population.covered(ranking, loaded)
            inputs[name] = {
                "run_id": name,
                "rows": loaded.frame.height,
                "queries": ranking.n_queries,
                **_file(source.holder, fingerprint),
            }
    covered = [found[name] for name in sorted(found)]
    notes.extend(said for ranking, cover in covered for said in (*ranking.notes, *cover.notes))
    scores = _scores(judgments, covered, bound)
    _check_ranges(scores, bound)
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
                "documents": judgments.docs.n_unique(),
                "max_grade": judgments.max_grade,
                **_file(qrels, fingerprint),
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
    ids = listed(first[0].unique(maintain_order=True).head(3), 3) if first else "none"
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


def _file(source: object, fingerprint: str) -> dict[str, Any]:
    """Path and size of an input that is a file, and the hash of its bytes where that is asked for."""
    if not isinstance(source, (str, PathLike)) or not Path(source).is_file():
        return {}
    told: dict[str, Any] = {"path": str(source), "bytes": Path(source).stat().st_size}
    if fingerprint == "sha256":
        with Path(source).open("rb") as file:
            told["sha256"] = hashlib.file_digest(file, "sha256").hexdigest()
    return told


# Which runs there are.


class Source(NamedTuple):
    """Where a run comes from: the name that the caller gave, the one it has otherwise, and what holds it."""

    given: str | None
    otherwise: str
    holder: object


def sources(runs: object) -> list[Source]:
    """The runs that a caller gave.

    A mapping is one run where its values map documents to scores, else name -> run. A list is one of paths.
    """
    if isinstance(runs, Mapping) and not _is_run(runs):
        for name in runs:
            if not isinstance(name, str):
                raise DataError(f"the name of a run is text, got {name!r}")
        return [Source(str(name), str(name), run) for name, run in runs.items()]
    if _are_paths(runs):
        return [Source(None, stem(Path(path)), path) for path in runs]  # type: ignore[attr-defined]  # a list
    if isinstance(runs, (str, PathLike)):
        return [Source(None, stem(Path(runs)), runs)]
    return [Source(None, "run", runs)]


def _are_paths(value: object) -> bool:
    return isinstance(value, (list, tuple)) and len(value) > 0 and all(isinstance(p, (str, PathLike)) for p in value)


def _is_run(runs: Mapping[Any, Any]) -> bool:
    """Whether a mapping is one run: its values are mappings, and theirs are no mappings or tables."""
    inner = [value for value in runs.values() if isinstance(value, Mapping)]
    if len(inner) < len(runs):
        return False
    return not any(isinstance(next(iter(value.values()), None), Mapping) for value in inner)


def load_runs(source: Source, *, invalid: Invalid) -> list[tuple[str, Loaded]]:
    """The runs of one source by name: the given one, else the column run_id, else the file's name, else "run".

    A list of paths under one name is one run in several files.
    """
    if _are_paths(source.holder):
        parts = [load_run(path, invalid=invalid, only=_NEEDED) for path in source.holder]  # type: ignore[attr-defined]  # a list
        loaded = Loaded(
            pl.concat([part.frame for part in parts], how="diagonal_relaxed"),
            ", ".join(part.where for part in parts),
            [said for part in parts for said in part.notes],
        )
    else:
        loaded = load_run(source.holder, invalid=invalid, only=_NEEDED)
    frame = loaded.frame
    if "run_id" not in frame.columns:
        return [(source.otherwise, loaded)]
    names = frame["run_id"]
    if names.null_count():
        raise DataError(f"{loaded.where}: {names.null_count():,} null run_id; name every row's run or drop the column")
    found = names.unique().sort().to_list()
    if len(found) <= 1:
        return [(source.given or next(iter(found), source.otherwise), replace(loaded, frame=frame.drop("run_id")))]
    parts_by_name = frame.partition_by("run_id", as_dict=True, include_key=False, maintain_order=True)
    label = f"{source.given}/" if source.given else ""
    return [
        (f"{label}{name}", replace(loaded, frame=parts_by_name[name,], where=f"{loaded.where}, run {name!r}"))
        for name in found
    ]


# What each query scores.


def _scores(
    judgments: Judgments, covered: Sequence[tuple[Ranking, Covered]], metrics: Sequence[Metric]
) -> pl.DataFrame:
    """The scores of every run and judged query: status, counts, metrics; null where a query does not count."""
    import numpy as np

    rows = Rows()
    columns = {metric.name: (metric.expression(rows), metric.empty) for metric in metrics}
    used = {name for expr, _ in columns.values() for name in expr.meta.root_names()}
    rankings = [ranking for ranking, _ in covered]
    judged = judged_ranking(judgments, rankings, texts=bool(used & {"run_id", "query_id", "doc_id"}))
    size = len(judgments.queries)
    names = pl.Series("run_id", [ranking.run_id for ranking in rankings], dtype=pl.String)
    counts = np.concatenate([cover.counts for _, cover in covered])
    try:
        values = (
            rows.add_to(judged)
            .group_by(GROUP, maintain_order=True)
            .agg(
                pl.col("rank").count().cast(pl.Int64).alias("n_judged"),
                *(expr.cast(pl.Float64).alias(name) for name, (expr, _) in columns.items()),
            )
            .collect()
        )
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException):
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
            *(_settled(values[name], empty, counts) for name, (_, empty) in columns.items()),
        ]
    )


def _settled(values: pl.Series, empty: float, counts: Flags) -> pl.Series:
    """The values with `empty` for null and NaN, and null for queries that do not count."""
    import numpy as np

    numbers = values.to_numpy()
    numbers = np.where(np.isnan(numbers), empty, numbers)
    if counts.all():
        return pl.Series(values.name, numbers)
    numbers[~counts] = np.nan
    return pl.Series(values.name, numbers, nan_to_null=True)


def _blame(judged: pl.LazyFrame, metrics: Sequence[Metric]) -> None:
    """Find the custom metric whose expression does not run, and say so."""
    for metric in metrics:
        if isinstance(metric, BuiltIn):
            continue
        try:
            judged.group_by(GROUP).agg(metric.expr.cast(pl.Float64).alias("value")).collect()
        except pl.exceptions.PolarsError as error:
            raise MetricError(
                f"metric {metric.name!r} cannot be computed over the judged ranking ({', '.join(BASE_COLUMNS)}), one "
                f"number per query: {str(error).partition(chr(10))[0]}"
            ) from error


def _check_ranges(scores: pl.DataFrame, metrics: Sequence[Metric]) -> None:
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
            told = [
                f"{query}: {score:g}" for query, score in outside.select("query_id", metric.name).head(3).iter_rows()
            ]
            raise MetricError(
                f"metric {metric.name!r} gives values outside of its range {metric.range}: {', '.join(told)}"
            )


def _ids(source: object, schema: Schema) -> pl.Series:
    """The ids that a caller gives as a frame, a path, a mapping by id, or just ids."""
    key = schema.columns[0].name
    if isinstance(source, (str, PathLike)):
        return load_texts(source, schema).frame[key].unique(maintain_order=True)
    frame = source.alias(key).to_frame() if isinstance(source, pl.Series) else table_frame(source, schema.label)
    if frame is not None:
        only_ids = Schema(schema.name, schema.columns[:1], schema.label)
        ids = collected(conform(frame, only_ids, schema.label).select(key))[key]
    elif isinstance(source, Iterable):
        ids = id_series(key, list(source), schema.label)
    else:
        raise DataError(f"{schema.label}= takes ids or a frame with {key!r}, got a {type(source).__name__}")
    if ids.null_count():
        raise DataError(f"{schema.label}: {counted(ids.null_count(), 'record')} without {key}")
    return ids.unique(maintain_order=True)


def _absent_documents(judgments: Judgments, corpus: object) -> list[Note]:
    if corpus is None:
        return []
    judged = judgments.frame["doc_id"].unique().sort()
    absent = judged.filter(~judged.is_in(_ids(corpus, CORPUS).implode()))
    return [note("not_in_corpus", absent.to_list())]
