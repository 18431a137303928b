"""`evaluate_ranking`: scores where another engine found the ranks."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, replace
from functools import partial
from itertools import zip_longest
from os import PathLike

import polars as pl

from rankframe.errors import EXAMPLES, DataError, MetricError, counted, listed, with_more
from rankframe.frames.ledger import note, pairs
from rankframe.inputs import described, null_runs
from rankframe.io.readers import load_judged
from rankframe.metrics.conventions import Convention, Count, SelfHits
from rankframe.metrics.conventions import convention as named_convention
from rankframe.metrics.families import BuiltIn
from rankframe.metrics.metric import Metric
from rankframe.metrics.names import DEFAULT, resolve
from rankframe.metrics.rows import Rows
from rankframe.ranking import Judgments, Ranking, judge
from rankframe.report import Report
from rankframe.scoring.reporting import narrowed, refuse_target, reported
from rankframe.scoring.values import measured

_LARGEST = 2**53
_COUNTED = {"rank": (1, "place from 1"), "ideal_rank": (1, "place from 1"), "n_ret": (0, "count from 0")}
"""The columns of whole numbers: the least of them, and what they are."""


def evaluate_ranking(
    judged: object,
    *,
    metrics: str | Metric | Iterable[str | Metric] = DEFAULT,
    convention: str = "documented",
    missing: Count | None = None,
    no_relevant: Count | None = None,
    self_hits: SelfHits | None = None,
    queries: object = None,
    corpus: object = None,
    per_query: str | PathLike[str] | None = None,
) -> Report:
    """Score a judged ranking: judgments, with the rank at which a run has each document.

    Any engine with window functions makes one where the runs are, and only what is judged comes back: see
    `rankframe.sql.judged_ranking`, and `rankframe.spark`.

    Args:
        judged: a row per judgment and run (a frame, or a path): query_id, doc_id, relevance; rank, the place of the
            document among all documents of the run for the query, from 1, null where the run does not have it; n_ret,
            how many documents the run has for the query, 0 where it has none. run_id where there are several runs, each
            with all judgments. ideal_rank is checked where it is there, and not needed. Without n_ret a query that the
            run misses cannot be told from one without a hit: no metric and no rule may ask for it then.
        metrics: names, `Metric` objects, or both; see `rankframe.metrics`.
        convention: as for `evaluate`.
        missing: a judged query that the run misses counts "zero" or is left out ("skip").
        no_relevant: the same for a query without a relevant document.
        self_hits: "drop" refuses a rank of a document that is the query itself: it would push others down, so such rows
            are to be dropped before ranks are found.
        queries: the queries that count (frame, path, ids, or mapping by id); the others are `not_asked`.
        corpus: the documents that exist (likewise); judged ones that it lacks go to the ledger.
        per_query: write the report to this Parquet file while its scores are made.

    Returns:
        The `Report` that `evaluate` gives of the runs; its ledger lacks what only the whole runs can tell (queries
        without judgments, ties at the cutoff, ranks that contradict scores). n_ret is null in its scores where the
        ranking has none.

    Raises:
        MetricError: for an unknown metric, parameter, cutoff or convention, and for one that needs n_ret where there is
            none.
        DataError: for a ranking that cannot be one: a pair twice (which a repeated row of the run or of the judgments
            makes of a join), ranks that are no places, runs with other judgments.
        FileNotFoundError: for a path where nothing is.

    Warns:
        RankframeWarning: for a run without results, whose scores are 0.

    >>> judged = pl.DataFrame(
    ...     {
    ...         "query_id": ["q1", "q2"],
    ...         "doc_id": ["d2", "d3"],
    ...         "relevance": [1, 1],
    ...         "rank": [2, None],
    ...         "n_ret": [2, 0],
    ...     }
    ... )
    >>> report = evaluate_ranking(judged, metrics="mrr@10")
    >>> report.scores.select("query_id", "status", "mrr@10").rows()
    [('q1', 'ok', 0.5), ('q2', 'missing', 0.0)]
    """
    rules = named_convention(convention, missing=missing, no_relevant=no_relevant, self_hits=self_hits)
    asked = resolve(metrics, dialect=rules.dialect)
    if per_query is not None:
        refuse_target(per_query, judged, [queries, corpus])
    loaded = load_judged(judged)
    frame, where = loaded.frame, loaded.where
    if "run_id" in frame.columns and (nameless := frame["run_id"].null_count()):
        raise null_runs(where, nameless)
    if frame.is_empty():
        raise DataError(f"{where}: there are no judgments; expected columns query_id, doc_id, relevance, rank")
    frame = _places(frame, where)
    runs = _runs(frame)
    first = next(iter(runs.values()))
    own = replace(loaded, frame=first.select("query_id", "doc_id", "relevance"))
    judgments = judge(own, by_id=any(not isinstance(metric, BuiltIn) for metric in asked))
    bound = measured(asked, judgments.max_grade)
    if "n_ret" not in frame.columns:
        _refuse_without_n_ret(bound, rules, where)
    population, notes, _ = narrowed(judgments, rules, queries, corpus, "error")
    if rules.self_hits == "drop":
        _refuse_self_hits(frame, where)
    rankings = [_ranking(name, rows, judgments, where) for name, rows in runs.items()]
    covered = [(ranking, population.covered(ranking, where)) for ranking in rankings]
    options = {
        "convention": convention,
        **{key: value for key, value in asdict(rules).items() if key not in ("dialect", "failed")},
        "ranking": {
            "rows": frame.height,
            "queries": len(judgments.queries),
            "max_grade": judgments.max_grade,
            **described(judged, "size"),
        },
    }
    return reported(judgments, covered, bound, notes, options, per_query)


def _refuse_without_n_ret(metrics: Iterable[Metric], rules: Convention, where: str) -> None:
    """A ranking without n_ret says less: nothing may need it."""
    how = "add n_ret, the number of documents of the run for the query, 0 where it has none"
    if rules.missing == "skip":
        raise DataError(
            f"{where}: there is no column n_ret, so queries that the run misses cannot be told from those without a "
            f'hit, and missing="skip" leaves them out; {how}, or ask for missing="zero"'
        )
    needing = [metric.name for metric in metrics if _needs_n_ret(metric)]
    if needing:
        need = "needs" if len(needing) == 1 else "need"
        raise MetricError(f"{where}: {listed(needing)} {need} the column n_ret; {how}, or ask for other metrics")


def _needs_n_ret(metric: Metric) -> bool:
    rows = Rows()
    expr = metric.expression(rows)
    return "n_ret" in {*expr.meta.root_names(), *rows.roots()} or (
        not isinstance(metric, BuiltIn) and expr.meta.has_multiple_outputs()
    )


def _places(frame: pl.DataFrame, where: str) -> pl.DataFrame:
    """The frame with whole numbers as ranks and counts.

    Raises:
        DataError: for what is no place or no count, two documents at one place, and places behind the end.
    """
    query = [name for name in ("run_id", "query_id") if name in frame.columns]
    numbers = [name for name in _COUNTED if name in frame.columns]
    refuse = partial(_refuse, frame, where)
    refuse(
        pl.struct(*query, "doc_id").is_duplicated(),
        "whose pair stands there again",
        "a repeated row of the run, or of the judgments, makes two of a join",
    )
    for name in numbers:
        value, (least, what) = pl.col(name), _COUNTED[name]
        proper = (value == value.floor()) & value.is_between(least, _LARGEST)
        absent = value.is_null() if name == "rank" else pl.lit(value=False)
        refuse(
            ~(proper.fill_null(value=False) | absent),
            f"whose {name} is no {what}",
            "null is for documents that the run does not have"
            if name == "rank"
            else f"{name} is a {what} in every row",
            name,
        )
    frame = frame.with_columns(pl.col(numbers).cast(pl.Int64))
    refuse = partial(_refuse, frame, where)
    for name in numbers:
        if name == "n_ret":
            refuse(
                pl.col(name).n_unique().over(query) > 1,
                "whose n_ret is not that of the other rows of its query",
                "n_ret counts the documents of the run for the query",
                name,
            )
            refuse(
                pl.col("rank") > pl.col(name),
                "whose rank is behind n_ret, the end of the ranking",
                "n_ret counts all documents of the run for the query",
                "rank",
            )
        else:
            refuse(
                pl.col(name).is_not_null() & pl.struct(*query, name).is_duplicated(),
                f"whose {name} another document of its query has",
                "documents with equal scores have places of their own, by doc_id, descending, as ROW_NUMBER() gives"
                if name == "rank"
                else "documents of equal grades have places of their own; ideal_rank is not needed, leave it out",
                name,
            )
    if "ideal_rank" in numbers:
        frame = frame.sort(*query, "ideal_rank")
        _refuse(
            frame,
            where,
            (pl.col("ideal_rank") != pl.int_range(1, pl.len() + 1).over(query))
            | (pl.col("relevance") > pl.col("relevance").shift().over(query)).fill_null(value=False),
            "whose ideal_rank is not its place by grade",
            "ideal_rank counts the judgments of a query from 1, highest grade first; it is not needed, leave it out",
            "ideal_rank",
        )
    return frame


def _refuse(frame: pl.DataFrame, where: str, wrong: pl.Expr, what: str, how: str, name: str | None = None) -> None:
    """An error where any row is wrong, with the first of them."""
    rows = frame.filter(wrong)
    if rows.height:
        values = [] if name is None else [f" {value}" for value in rows[name].head(EXAMPLES)]
        told = [f"{pair}{value}" for pair, value in zip_longest(pairs(rows), values, fillvalue="")]
        raise DataError(f"{where}: {counted(rows.height, 'row')} {what}: {with_more(told, rows.height)}; {how}")


def _runs(frame: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """The rows of each run, by name."""
    if "run_id" not in frame.columns:
        return {"run": frame}
    names = frame["run_id"].unique().sort().to_list()
    parts = frame.partition_by("run_id", as_dict=True, include_key=False)
    return {name: parts[name,] for name in names}


def _ranking(name: str, rows: pl.DataFrame, judgments: Judgments, where: str) -> Ranking:
    """The ranks of one run, in the order of the judgments.

    Raises:
        DataError: where the run has other judgments.
    """
    import numpy as np

    pair = ["query_id", "doc_id"]
    own = judgments.frame.select(*pair, "relevance")
    found = own.join(rows, on=pair, how="left", maintain_order="left", suffix="_here")
    other = pl.col("relevance") != pl.col("relevance_here")
    differing = found.filter(other.fill_null(value=True))
    if differing.height or rows.height != own.height:
        odd = differing if differing.height else rows.join(own, on=pair, how="anti")
        raise DataError(
            f"{where}: the run {name!r} has other judgments than the first run, {counted(odd.height, 'pair')}: "
            f"{with_more(pairs(odd), odd.height)}; every run has a row for every judgment"
        )
    rank = found["rank"].fill_null(0).to_numpy()
    hits = np.flatnonzero(rank)
    n_queries, notes = len(judgments.queries), []
    if "n_ret" in found.columns:
        n_ret = np.zeros(n_queries, dtype=np.int64)
        n_ret[judgments.query] = found["n_ret"].to_numpy()
    else:
        n_ret = np.full(n_queries, -1, dtype=np.int64)
        met = np.zeros(n_queries, dtype=np.bool_)
        met[judgments.query[hits]] = True
        notes = [note("no_hits", judgments.queries.filter(pl.Series(~met)).to_list()).of(name)]
    return Ranking(
        run_id=name,
        rank=rank,
        found=hits,
        n_ret=n_ret,
        n_queries=int((n_ret != 0).sum()),
        n_rows=abs(int(n_ret.sum())),
        notes=tuple(notes),
    )


def _refuse_self_hits(frame: pl.DataFrame, where: str) -> None:
    """Where documents that are the query itself do not count, none may have a rank: it would push others down."""
    _refuse(
        frame,
        where,
        pl.col("rank").is_not_null() & (pl.col("doc_id") == pl.col("query_id")),
        "whose document is the query itself",
        "drop such rows of the run before ranks are found, as this convention does, or ask for self_hits='keep'",
        "rank",
    )
