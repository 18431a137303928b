"""Pools: which documents somebody still has to judge, and the judgments that come back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from os import PathLike

import polars as pl

from rankframe.errors import EXAMPLES, DataError, counted, listed, warn, with_more
from rankframe.frames.checks import LINE, Duplicates, Invalid, Loaded, choice, settled_judgments, valid_rows
from rankframe.frames.coerce import nested_columns
from rankframe.frames.ledger import REASONS, note, pairs
from rankframe.frames.schemas import CORPUS, POOL, QUERIES, Schema
from rankframe.inputs import load_runs, sources
from rankframe.io.beir import Beir
from rankframe.io.files import existing, format_of
from rankframe.io.readers import load_qrels, load_texts
from rankframe.io.tables import read_json
from rankframe.metrics.metric import checked_cutoff
from rankframe.ranking import judge, rank_run

_PAIR = ("query_id", "doc_id")
_PLACE = "__rankframe_place__"  # where a judgment stands, as conflicts say it
_JUDGED = (*_PAIR, "relevance", _PLACE)


def pool(
    runs: object,
    *,
    depth: int,
    qrels: object = None,
    queries: object = None,
    corpus: object = None,
    duplicates: Duplicates = "error",
    invalid: Invalid = "error",
) -> pl.DataFrame:
    """The documents that somebody still has to judge: the best of every run, without those that are judged.

    Rows stand by query and document id, as in TREC's pools, so that neither rank nor system sways whoever judges.

    Args:
        runs: as for `evaluate`; names play no part, and runs of one name are pooled like any others.
        depth: how many documents of each query a run gives: the first by score, ties by document id, descending.
        qrels: judgments that there are already (whatever `read_qrels` takes; filled-in pools by way of
            `merge_judgments`), or a `Beir`, whose queries and corpus are then shown too. A pair with any grade is
            judged, with a negative one too.
        queries: whose text is shown (whatever `read_queries` takes). A query that it lacks stays, with a null text and
            a warning.
        corpus: whose titles and texts are shown (whatever `read_corpus` takes); likewise.
        duplicates: "error" refuses a pair that stands twice in a run and conflicting judgments; "best" ranks a pair by
            its best score, and warns.
        invalid: "error" refuses null ids and null or NaN numbers; "drop" leaves the rows out and warns.

    Returns:
        query_id, doc_id String; query_text String where queries are given; title, text String where a corpus is;
        relevance Float64, all null, to be filled in: see `write_pool` and `merge_judgments`. No rows for runs without
        results, and where everything is judged. The arguments are never changed.

    Raises:
        MetricError: for a depth that is no whole number from 1, before anything is read.
        DataError: for input that cannot be read as it is, and for a document or query of the pool with several texts.
        FileNotFoundError: for a path where nothing is.

    Warns:
        RankframeWarning: for whatever was left out, for a run without results, for ids without a text, and where
            the judgments have no query of the runs.

    >>> run = {"q1": {"d1": 3.0, "d2": 2.0, "d3": 1.0}}
    >>> pool(run, depth=2, qrels={"q1": {"d1": 1}}, corpus={"d2": "A red kite."}).rows()
    [('q1', 'd2', None, 'A red kite.', None)]
    """
    depth = checked_cutoff(depth, "the depth of a pool")
    choice("duplicates", duplicates, ("error", "best"))
    choice("invalid", invalid, ("error", "drop"))
    if isinstance(qrels, Beir):
        queries = qrels.queries if queries is None else queries
        corpus = qrels.corpus if corpus is None else corpus
        qrels = qrels.qrels
    found = [
        _best(name, loaded, depth, duplicates)
        for source in sources(runs)
        for name, loaded in load_runs(source, invalid=invalid)
    ]
    frame = pl.concat(found).unique().sort(_PAIR)
    if qrels is not None:
        frame = _unjudged(frame, settled_judgments(_told(load_qrels(qrels, invalid=invalid)), duplicates))
    if queries is not None:
        frame = _with_texts(
            frame, _told(load_texts(queries, QUERIES, invalid=invalid)), QUERIES, {"query_text": "text"}
        )
    if corpus is not None:
        shown = {"title": "title", "text": "text"}
        frame = _with_texts(frame, _told(load_texts(corpus, CORPUS, invalid=invalid)), CORPUS, shown)
    return frame.with_columns(relevance=pl.lit(None, pl.Float64))


def merge_judgments(
    qrels: object, *judged: object, duplicates: Duplicates = "error", invalid: Invalid = "error"
) -> pl.DataFrame:
    """Judgments with those of filled-in pools added.

    A row whose grade is missing (null, empty or blank) is not judged yet: it is left out without a word, as a
    half-filled pool is nothing odd. `pool(.., qrels=merged)` gives what is left to judge; it also shows ids that a
    spreadsheet wrote anew (42 for 0042), whose documents are left.

    Args:
        qrels: the judgments so far: whatever `read_qrels` takes, without missing grades. None for the first ones.
        judged: pools that were filled in, and other judgments: whatever `read_qrels` takes, and what `write_pool`
            wrote. Columns other than the pair and its grade are dropped; a grade may be text, as spreadsheets have it.
        duplicates: "error" refuses pairs with different grades, wherever they stand; "best" keeps the highest and
            warns. The same grade again counts once.
        invalid: "error" refuses null ids, and grades that are no finite number; "drop" leaves them out and warns.

    Returns:
        query_id, doc_id String, relevance Float64, then the metadata of `qrels`, which is null in rows of `judged`;
        sorted by query and document. No rows where nothing is judged. The arguments are never changed.

    Raises:
        DataError: for judgments in conflict, with their grades and where each stands; for input that cannot be read
            as it is, with query, document and file.
        FileNotFoundError: for a path where nothing is.

    Warns:
        RankframeWarning: for whatever was left out on request.

    >>> merge_judgments({"q1": {"d1": 1}}, {"q1": {"d2": 0, "d3": None}}).rows()
    [('q1', 'd1', 1.0), ('q1', 'd2', 0.0)]
    """
    choice("duplicates", duplicates, ("error", "best"))
    choice("invalid", invalid, ("error", "drop"))
    parts = [pl.DataFrame(schema={name: pl.Float64 if name == "relevance" else pl.String for name in _JUDGED})]
    if qrels is not None:
        parts.append(_placed(_told(load_qrels(qrels, invalid=invalid))))
    for number, source in enumerate(judged, start=1):
        parts.append(_placed(_told(_filled_in(source, number, invalid))).select(_JUDGED))
    every = pl.concat(parts, how="diagonal")
    every = every.sort(*_PAIR, "relevance", descending=[False, False, True], maintain_order=True)
    _settle(every, duplicates)
    return every.unique(_PAIR, keep="first", maintain_order=True).drop(_PLACE, LINE, strict=False)


def _best(name: str, loaded: Loaded, depth: int, duplicates: Duplicates) -> pl.DataFrame:
    """The pairs of the first `depth` places of one run.

    Its own pairs are taken for judgments, so that order and ties are decided where they are for every score.
    """
    frame = _told(loaded).frame
    if loaded.failed:
        warn(f"{loaded.where}: of {counted(len(loaded.failed), 'query')} the retrieval failed: {listed(loaded.failed)}")
    if frame.is_empty():
        warn(f"{loaded.where}: the run {name!r} is empty and adds nothing to the pool")
        return frame.select(_PAIR)
    if duplicates == "error":  # every row is a document of its own then, and most are too far down to be looked at
        last = pl.col("score").top_k(min(depth, frame.height)).min().over("query_id")
        frame = frame.filter(pl.col("score") >= last)
    own = judge(Loaded(frame.select(*_PAIR, relevance=pl.lit(1.0)), loaded.where), "best", by_id=False)
    ranking = rank_run(name, replace(loaded, notes=[]), own, duplicates=duplicates)
    _told(replace(loaded, notes=list(ranking.notes)))
    return own.frame.filter(pl.Series(ranking.rank <= depth)).select(_PAIR)


def _unjudged(frame: pl.DataFrame, judged: Loaded) -> pl.DataFrame:
    """The pool without judged pairs; ids that never meet are warned of, before everything is judged again."""
    ours, theirs = (pairs_["query_id"].unique().sort() for pairs_ in (frame, judged.frame))
    if len(ours) and len(theirs) and not ours.is_in(theirs.implode()).any():
        warn(
            f"{judged.where}: no query of the runs is judged; runs: {listed(ours.head(3))}, judgments: "
            f"{listed(theirs.head(3))}; ids are compared as text, letter by letter"
        )
    return frame.join(judged.frame, on=_PAIR, how="anti", maintain_order="left")


def _with_texts(frame: pl.DataFrame, loaded: Loaded, schema: Schema, shown: Mapping[str, str]) -> pl.DataFrame:
    """The pool with texts by id, null where there are none, which is warned of: nobody can judge what is not there."""
    key = schema.columns[0].name
    there = {new: pl.col(old) if old in loaded.frame.columns else pl.lit(None, pl.String) for new, old in shown.items()}
    wanted = frame.select(key).unique().sort(key)
    texts = loaded.frame.select(key, **there).join(wanted, on=key, how="semi").unique(maintain_order=True)
    several = texts[key].filter(texts[key].is_duplicated()).unique().sort()
    if len(several):
        raise DataError(
            f"{loaded.where}: {counted(len(several), key)} of the pool with several texts: {listed(several)}; "
            f"leave one record of each, as whoever judges can be shown only one"
        )
    absent = wanted.join(texts, on=key, how="anti")[key]
    if len(absent):
        told = f"{counted(len(absent), key)} of the pool not there, so without a text: {listed(absent)}"
        warn(f"{loaded.where}: {told}")
    return frame.join(texts, on=key, how="left", maintain_order="left")


def _filled_in(source: object, number: int, invalid: Invalid) -> Loaded:
    """The rows of a pool that have a grade; any other form of judgments as `load_qrels` reads it."""
    where = f"judged source {number}"
    if isinstance(source, (str, PathLike)):
        path, where = existing(source), str(source)
        kind = format_of(path, None, "trec")
        if path.is_dir() or kind in ("trec", "tsv"):  # a line that lacks its grade is malformed there
            return load_qrels(path, invalid=invalid)
        if kind == "json" and isinstance(value := read_json(path), Mapping):
            source = value
    if isinstance(source, Mapping):
        loaded = Loaded(nested_columns(source, "relevance", where)[0], where)
    else:
        loaded = replace(load_texts(source, POOL, invalid=invalid), where=where)
    frame = loaded.frame
    if frame["relevance"].dtype == pl.String:
        frame = frame.filter(pl.col("relevance").str.strip_chars() != "")
    return valid_rows(replace(loaded, frame=frame.filter(pl.col("relevance").is_not_null())), "relevance", invalid)


def _placed(loaded: Loaded) -> pl.DataFrame:
    where = pl.lit(loaded.where, pl.String)
    placed = pl.format("{}, line {}", where, LINE) if LINE in loaded.frame.columns else where
    return loaded.frame.with_columns(placed.alias(_PLACE))


def _settle(every: pl.DataFrame, duplicates: Duplicates) -> None:
    """Refuse pairs with different grades, or warn that the highest is kept; the judgments are sorted by pair."""
    grades = every.unique([*_PAIR, "relevance"], keep="first", maintain_order=True)
    several = grades.filter(pl.struct(_PAIR).is_duplicated()).group_by(_PAIR, maintain_order=True)
    conflicts = several.agg("relevance", _PLACE)
    if conflicts.is_empty():
        return
    if duplicates == "best":
        _told(Loaded(conflicts, "judgments", [note("conflict_resolved", pairs(conflicts), conflicts.height)]))
        return
    told = [
        f"({query}, {doc}) as {' and '.join(f'{grade!r} in {place}' for grade, place in zip(*stood, strict=True))}"
        for query, doc, *stood in conflicts.head(EXAMPLES).iter_rows()
    ]
    raise DataError(
        f"{counted(conflicts.height, 'pair')} judged with different grades: {with_more(told, conflicts.height)}; "
        f'duplicates="best" keeps the highest grade of each and warns'
    )


def _told(loaded: Loaded) -> Loaded:
    """`loaded`, after a warning of what was left out of it, which a frame cannot say."""
    for said in loaded.notes:
        warn(f"{loaded.where}: {REASONS[said.reason]}: {said.count:,}, such as {listed(said.examples)}")
    return loaded
