"""`explain`: what every run did with one query, a row per document, beside its judgment and its text."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from dataclasses import replace
from functools import reduce

import polars as pl

from rankframe.errors import EXAMPLES, DataError, listed, warn
from rankframe.frames.checks import Duplicates, Invalid, Loaded, choice, settled_judgments, valid_rows
from rankframe.frames.coerce import id_series
from rankframe.frames.ledger import REASONS
from rankframe.frames.schemas import CORPUS, QUERIES
from rankframe.inputs import Source, load_ids, load_runs, sources
from rankframe.io.beir import Beir
from rankframe.io.readers import load_qrels, load_texts
from rankframe.io.scans import scan_corpus, scan_qrels, scan_run
from rankframe.metrics.metric import checked_cutoff
from rankframe.ranking import judge, rank_run

_PAIR = ("query_id", "doc_id")


def explain(
    query_id: object,
    *,
    runs: object,
    qrels: object,
    corpus: object = None,
    queries: object = None,
    depth: int = 10,
    scores: bool = False,
    duplicates: Duplicates = "error",
    invalid: Invalid = "error",
) -> pl.DataFrame:
    """What every run did with one query: where its documents stand, what they were judged, and what they say.

    Args:
        query_id: the query, as text or a whole number.
        runs: one or more, as for `evaluate`.
        qrels: judgments: whatever `read_qrels` takes, or a `Beir`, whose corpus and queries are then used too.
        corpus: whose titles and texts are shown: whatever `read_corpus` takes, or a `Beir`.
        queries: where the query may be known from if no run and no judgment has it: as for `evaluate`, or a `Beir`.
        depth: how many places of each run are shown; relevant documents are shown wherever they stand.
        scores: show the score that each run gave as well.
        duplicates: "error" refuses a document that stands in a run twice and conflicting judgments; "best" keeps the
            best score and the highest grade, and warns.
        invalid: "error" refuses null ids and null or NaN numbers; "drop" leaves the rows out and warns.

    Returns:
        One row per document that stands in the first `depth` places of any run, or has a grade above 0: doc_id String;
        relevance Float64, null where it is not judged; judged Boolean (a negative grade is a judgment);
        `rank_<run>` Int64 for each run in the order given, counted over all of its documents, ties by document id,
        descending, null where it does not have the document; with `scores`, `score_<run>` Float64; with a corpus,
        title, text String, null where it lacks the document. Sorted by the best rank, then by doc_id. No rows for a
        query without results and relevant documents. Of lazy input only the rows of the query are read.

    Raises:
        DataError: for a query that is known nowhere, two runs of one name, several texts of one document, and input
            that cannot be read as it is.
        MetricError: for a depth that is no whole number from 1.
        FileNotFoundError: for a path where nothing is.

    Warns:
        RankframeWarning: for whatever was left out, and for ranks in a run that contradict its scores.

    >>> bm25, dense = {"q1": {"d1": 9.0, "d2": 7.5}}, {"q1": {"d3": 0.9, "d1": 0.8}}
    >>> shown = explain("q1", runs={"bm25": bm25, "dense": dense}, qrels={"q1": {"d1": 2, "d4": 1}})
    >>> shown.columns
    ['doc_id', 'relevance', 'judged', 'rank_bm25', 'rank_dense']
    >>> for row in shown.rows():
    ...     print(row)
    ('d1', 2.0, True, 1, 2)
    ('d3', None, False, None, 1)
    ('d2', None, False, 2, None)
    ('d4', 1.0, True, None, None)
    """
    depth = checked_cutoff(depth, "depth")
    choice("duplicates", duplicates, ("error", "best"))
    choice("invalid", invalid, ("error", "drop"))
    query = id_series("query_id", [query_id], "query_id")[0]
    if isinstance(qrels, Beir):
        corpus = qrels if corpus is None else corpus
        queries = qrels if queries is None else queries
        qrels = qrels.qrels
    queries = queries.queries if isinstance(queries, Beir) else queries
    found = _runs(runs, query, invalid)
    judged = _judged(qrels, query, invalid, duplicates)
    if judged.frame.is_empty() and not any(_has(loaded, query) for loaded in found.values()):
        _refuse_stranger(query, runs=runs, names=list(found), qrels=qrels, queries=queries)
    ranked = [_ranked(name, loaded, duplicates) for name, loaded in found.items()]
    frame = reduce(_joined, ranked, judged.frame.select("doc_id", "relevance"))
    ranks = [f"rank_{name}" for name in found]
    best = pl.min_horizontal(ranks)
    shown = frame.filter((best <= depth).fill_null(value=False) | (pl.col("relevance") > 0).fill_null(value=False))
    shown = shown.sort(best, pl.col("doc_id"), nulls_last=True).select(
        "doc_id",
        "relevance",
        pl.col("relevance").is_not_null().alias("judged"),
        *ranks,
        *([f"score_{name}" for name in found] if scores else []),
    )
    return shown if corpus is None else _with_texts(shown, corpus, invalid)


# What a caller gives, of one query.


def _runs(runs: object, query: str | None, invalid: Invalid) -> dict[str, Loaded]:
    """The rows of the query in each run, by its name."""
    found: dict[str, Loaded] = {}
    for source in sources(runs):
        for part in _narrowed(source, query):
            for name, loaded in load_runs(part, invalid=invalid):
                if name in found:
                    raise DataError(
                        f"two runs are called {name!r}; give names, as in explain(.., runs={{'first': .., 'second': "
                        f"..}}), or rename a file"
                    )
                _tell(loaded)
                found[name] = replace(loaded, frame=loaded.frame.filter(query_id=query), notes=[])
    return found


def _narrowed(source: Source, query: str | None) -> Iterator[Source]:
    """A source; of a LazyFrame, the rows of the query alone, and a source for each run that a column run_id names."""
    if not isinstance(source.holder, pl.LazyFrame):
        yield source
        return
    rows = scan_run(source.holder)
    if "run_id" not in rows.collect_schema():
        yield source._replace(holder=rows.filter(query_id=query))
        return
    names = rows.select(pl.col("run_id").cast(pl.String)).unique().collect()["run_id"].sort().to_list()
    if None in names:
        raise DataError("run: null run_id; name every row's run or drop the column")
    label = f"{source.given}/" if source.given and len(names) > 1 else ""
    for name in names:
        own = rows.filter(pl.col("run_id").cast(pl.String) == name, query_id=query).drop("run_id")
        called = source.given if source.given and not label else f"{label}{name}"
        yield Source(called, called, own)


def _judged(qrels: object, query: str | None, invalid: Invalid, duplicates: Duplicates) -> Loaded:
    """The judgments of the query, each document once."""
    if isinstance(qrels, pl.LazyFrame):
        loaded = valid_rows(Loaded(scan_qrels(qrels).filter(query_id=query).collect(), "qrels"), "relevance", invalid)
    else:
        loaded = load_qrels(qrels, invalid=invalid)
    _tell(loaded)
    settled = settled_judgments(replace(loaded, frame=loaded.frame.filter(query_id=query), notes=[]), duplicates)
    _tell(replace(settled, notes=[said for said in settled.notes if said.reason == "conflict_resolved"]))
    return settled


def _has(loaded: Loaded, query: str | None) -> bool:
    return not loaded.frame.is_empty() or query in loaded.no_results or query in loaded.failed


def _tell(loaded: Loaded) -> None:
    for said in loaded.notes:
        if said.count:
            warn(f"{loaded.where}: {REASONS[said.reason]}: {said.count:,}, such as {listed(said.examples)}")


def _refuse_stranger(query: str | None, *, runs: object, names: list[str], qrels: object, queries: object) -> None:
    """Refuse a query that is known nowhere, with ids that are like it."""
    places = {f"the run{'s' if len(names) > 1 else ''} {listed(names)}": _ids_of_runs(runs), "qrels": _ids(qrels)}
    if queries is not None:
        places["queries"] = load_ids(queries, QUERIES, invalid="drop").frame["query_id"]
        if query in places["queries"]:
            return
    every = pl.concat([ids.alias("query_id") for ids in places.values()]).unique().sort().to_list()
    close = _similar(str(query), every)
    hint = f"similar: {listed(close)}" if close else f"there are: {listed(every)}" if every else "there are none"
    *first, last = places
    raise DataError(f"query_id={query!r} is in none of {', '.join(first)} and {last}; {hint}")


def _similar(query: str, ids: list[str]) -> list[str]:
    """The few ids that are most like the query, best first, then by id."""
    like = difflib.get_close_matches(query, ids, n=50, cutoff=0.5)
    return sorted(like, key=lambda known: (-difflib.SequenceMatcher(None, known, query).ratio(), known))[:EXAMPLES]


def _ids_of_runs(runs: object) -> pl.Series:
    found = []
    for source in sources(runs):
        if isinstance(source.holder, pl.LazyFrame):
            found.append(scan_run(source.holder).select("query_id").unique().collect()["query_id"])
        else:
            loaded = [part for _, part in load_runs(source, invalid="drop")]
            found.extend(part.frame["query_id"].unique() for part in loaded)
            found.extend(pl.Series(part.no_results + part.failed, dtype=pl.String) for part in loaded)
    return pl.concat([ids.alias("query_id") for ids in found]).drop_nulls()


def _ids(qrels: object) -> pl.Series:
    if isinstance(qrels, pl.LazyFrame):
        return scan_qrels(qrels).select("query_id").unique().collect()["query_id"].drop_nulls()
    return load_qrels(qrels, invalid="drop").frame["query_id"].unique()


# What is shown.


def _ranked(name: str, loaded: Loaded, duplicates: Duplicates) -> pl.DataFrame:
    """doc_id, and the rank and score of every document of a run, named by it.

    Its own documents are taken for judgments, so that order and ties are decided where they are for every score.
    """
    rank, score = f"rank_{name}", f"score_{name}"
    if loaded.frame.is_empty():
        return pl.DataFrame(schema={"doc_id": pl.String, rank: pl.Int64, score: pl.Float64})
    rows = loaded.frame.select(*_PAIR, relevance=pl.lit(1.0))
    own = judge(Loaded(rows, loaded.where), "best", by_id=False)
    ranking = rank_run(name, loaded, own, duplicates=duplicates)
    _tell(replace(loaded, notes=list(ranking.notes)))
    best = loaded.frame.group_by("doc_id").agg(pl.col("score").max().alias(score))
    return own.frame.select("doc_id", pl.Series(rank, ranking.rank, dtype=pl.Int64)).join(best, on="doc_id")


def _joined(left: pl.DataFrame, right: pl.DataFrame) -> pl.DataFrame:
    return left.join(right, on="doc_id", how="full", coalesce=True)


def _with_texts(shown: pl.DataFrame, source: object, invalid: Invalid) -> pl.DataFrame:
    """The rows with title and text, null where there are none."""
    source = source.corpus if isinstance(source, Beir) else source
    if isinstance(source, pl.LazyFrame):
        rows = scan_corpus(source)
    else:
        loaded = load_texts(source, CORPUS, invalid=invalid)
        _tell(loaded)
        rows = loaded.frame.lazy()
    there = rows.collect_schema().names()
    columns = [pl.col(name) if name in there else pl.lit(None, pl.String).alias(name) for name in ("title", "text")]
    wanted = rows.filter(pl.col("doc_id").is_in(shown["doc_id"].implode()))
    texts = wanted.select("doc_id", *columns).unique().collect()
    several = texts["doc_id"].filter(texts["doc_id"].is_duplicated()).unique().sort()
    if len(several):
        raise DataError(f"corpus: {listed(several)} with several texts; leave one record of each document")
    return shown.join(texts, on="doc_id", how="left", maintain_order="left")
