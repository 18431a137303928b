"""`fuse`: several runs become one, by frame expressions.

Every row of every run has a value; a document's score is one aggregation of the values that it has. Lazy in, lazy out.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from os import PathLike
from typing import NamedTuple, overload

import polars as pl

from rankframe.errors import DataError, counted, listed, nearest, warn, with_more
from rankframe.frames.checks import Duplicates, Invalid, Loaded, choice, repeated_pairs, valid_rows
from rankframe.frames.coerce import Frame
from rankframe.frames.ledger import REASONS, pairs
from rankframe.frames.schemas import RUN
from rankframe.fusion.methods import METHODS, NORMALIZERS, Fusion, Method, Normalize, Parameters, total, with_spread
from rankframe.inputs import Source, load_runs, sources
from rankframe.io.retrievals import Retrieval
from rankframe.io.scans import scan_run
from rankframe.metrics.metric import checked_cutoff

_Eager = pl.DataFrame | Retrieval | str | PathLike[str] | Mapping[str, Mapping[str, float]]
_PAIR = ("query_id", "doc_id")
_LARGEST = 1e150  # scores and weights up to which no product of two, and no sum of such, leaves Float64


@overload
def fuse(
    runs: pl.LazyFrame | Mapping[str, pl.LazyFrame],
    *,
    method: Method = ...,
    normalize: Normalize | None = ...,
    k: float = ...,
    p: float = ...,
    weights: Mapping[str, float] | None = ...,
    limit: int | None = ...,
    duplicates: Duplicates = ...,
    invalid: Invalid = ...,
) -> pl.LazyFrame: ...


@overload
def fuse(
    runs: pl.DataFrame | Mapping[str, _Eager] | Sequence[str | PathLike[str]],
    *,
    method: Method = ...,
    normalize: Normalize | None = ...,
    k: float = ...,
    p: float = ...,
    weights: Mapping[str, float] | None = ...,
    limit: int | None = ...,
    duplicates: Duplicates = ...,
    invalid: Invalid = ...,
) -> pl.DataFrame: ...


@overload
def fuse(
    runs: object,
    *,
    method: Method = ...,
    normalize: Normalize | None = ...,
    k: float = ...,
    p: float = ...,
    weights: Mapping[str, float] | None = ...,
    limit: int | None = ...,
    duplicates: Duplicates = ...,
    invalid: Invalid = ...,
) -> pl.DataFrame | pl.LazyFrame: ...


def fuse(
    runs: object,
    *,
    method: Method = "rrf",
    normalize: Normalize | None = None,
    k: float = 60,
    p: float = 0.8,
    weights: Mapping[str, float] | None = None,
    limit: int | None = None,
    duplicates: Duplicates = "error",
    invalid: Invalid = "error",
) -> pl.DataFrame | pl.LazyFrame:
    """Fuse two or more runs into one.

    A query is fused from the runs that have it, and a document's score comes from the runs that have the document: a
    run that misses it adds nothing, and no method punishes it further but those that count (`combmnz`, `isr`).
    Ranks go by score, ties by document id, descending by bytes, as everywhere.

    Methods of ranks, r being the rank of the document in a run:

    - `rrf`: sum of 1 / (k + r). Cormack, Clarke & Buettcher 2009, Reciprocal rank fusion outperforms Condorcet and
      individual rank learning methods, https://doi.org/10.1145/1571941.1572114.
    - `isr`: sum of 1 / r^2, times the number of runs that have the document. Mourao, Martins & Magalhaes 2015,
      https://doi.org/10.1016/j.compmedimag.2014.05.006.
    - `rbc`: sum of (1 - p) p^(r - 1). Bailey, Moffat, Scholer & Thomas 2017, Retrieval consistency in the presence of
      query variations, https://doi.org/10.1145/3077136.3080839.
    - `borda`: of c documents that any run has for the query, the first of a run gets c points, the next c - 1, and
      those that the run does not have share the points that are left evenly. Aslam & Montague 2001, Models for
      metasearch, https://doi.org/10.1145/383952.384007.

    Methods of scores, after `normalize`, over the runs that have the document: `combsum` their sum, `combmnz` their
    sum times their number, `combanz` their mean, `combmed`, `combmin`, `combmax` their median, least and largest. Fox
    & Shaw 1994, Combination of multiple searches, TREC-2, NIST SP 500-215, pages 243-252.

    Args:
        runs: two runs or more, as for `evaluate`: a mapping name -> run, one frame with a column run_id, or paths.
        method: one of those above.
        normalize: what is done to the scores of each query in each run, for methods of scores alone: "min-max" (the
            default; least 0, largest 1), "max" (divided by the largest, for scores from 0), "sum" (least 0, sum 1),
            "z-score" (mean 0, population standard deviation 1; a document that a run misses then counts as an average
            one), "rank" (1 - (r - 1) / n for n documents) or "none". Where all scores of a query are equal, as of a
            single document, "min-max", "sum" and "z-score" give 0.
        k: of `rrf`, a number from 0.
        p: of `rbc`, a number between 0 and 1.
        weights: name -> number from 0, for every run, where the method adds up (all but `combanz`, `combmed`,
            `combmin` and `combmax`): a run's terms are multiplied by its weight.
        limit: how many documents are kept of each query, the best ones; None for all.
        duplicates: "error" refuses a pair that stands twice in a run; "best" keeps its best score, and warns.
        invalid: "error" refuses null ids and null or NaN scores; "drop" leaves the rows out and warns.

    Returns:
        query_id, doc_id String, score Float64, finite; sorted by query, score descending, document id descending. A
        LazyFrame where any run is one: nothing is read before it is collected, and its rows are checked then. No rows
        for runs without rows. The order of the runs and of their rows plays no part, to the last bit.

    Raises:
        DataError: for an unknown method or normalization, an option that the method does not have, fewer than two
            runs, two of one name, weights of other runs, bad rows; and, for methods of scores, scores that are
            infinite or beyond 1e150, and below 0 for "max". What is said of rows comes when lazy input is collected.
        MetricError: for a limit that is no whole number from 1.
        FileNotFoundError: for a path where nothing is.

    Warns:
        RankframeWarning: for whatever was left out, for a run without results, and for queries whose retrieval failed.

    >>> bm25 = {"q1": {"d1": 9.0, "d2": 7.5, "d3": 5.0}}
    >>> dense = {"q1": {"d2": 0.9, "d4": 0.8}}
    >>> fuse({"bm25": bm25, "dense": dense}, method="combsum", weights={"bm25": 0.5, "dense": 1.0}).rows()
    [('q1', 'd2', 1.3125), ('q1', 'd1', 0.5), ('q1', 'd4', 0.0), ('q1', 'd3', 0.0)]
    >>> fuse({"bm25": bm25, "dense": dense}, limit=1)["doc_id"].to_list()
    ['d2']
    """
    fusion = METHODS[_known("method", method, METHODS)]
    normalizer = _normalizer(method, fusion, normalize)
    given = _parameters(method, k=k, p=p)
    limit = None if limit is None else checked_cutoff(limit, "limit")
    choice("duplicates", duplicates, ("error", "best"))
    choice("invalid", invalid, ("error", "drop"))
    weigh = _weights(method, fusion, weights)
    found = [part for source in sources(runs) for part in _parts(source, duplicates, invalid)]
    if not (len(found) == 1 and found[0].several):
        _refuse_names([part.name for part in found], weigh)
    parts = []
    for part in found:
        named = partial(_refuse_names, weights=weigh) if part.several else None
        rows = _looked_at(part.rows, partial(_usable, where=part.where, by=normalizer, named=named))
        parts.append(_valued(rows.lazy(), part, normalizer, weigh))
    rows = pl.concat(parts).with_columns(**fusion.rows(given))
    summed = total(pl.col("value"), at_most_two=len(found) == 2)
    fused = rows.group_by(_PAIR).agg(score=fusion.fused(summed) + 0.0)  # -0.0 and 0.0 are one score
    fused = fused.sort(*_PAIR[:1], "score", "doc_id", descending=[False, True, True])
    if limit is not None:
        fused = fused.filter(pl.int_range(pl.len()).over("query_id") < limit)
    return fused if any(isinstance(part.rows, pl.LazyFrame) for part in found) else fused.collect()


# What a caller asks for.


def _known(option: str, name: object, table: Mapping[str, object]) -> str:
    if not isinstance(name, str) or name not in table:
        raise DataError(f"{option}={name!r} is unknown; {nearest(str(name).lower(), list(table))}")
    return name


def _normalizer(method: str, fusion: Fusion, normalize: object) -> str | None:
    """The name of the normalization, None for methods of ranks."""
    if fusion.by == "rank":
        if normalize is not None:
            raise DataError(
                f"normalize={normalize!r} goes with a method of scores ({_those(lambda f: f.by == 'score')}); "
                f"{method!r} looks at ranks alone"
            )
        return None
    return _known("normalize", "min-max" if normalize is None else normalize, NORMALIZERS)


def _those(wanted: Callable[[Fusion], bool]) -> str:
    return ", ".join(name for name, fusion in METHODS.items() if wanted(fusion))


def _parameters(method: str, *, k: float, p: float) -> Parameters:
    for name, value, default, owner in (("k", k, 60, "rrf"), ("p", p, 0.8, "rbc")):
        if method != owner and value != default:
            raise DataError(f"{name}={value!r} goes with method={owner!r}; {method!r} has no such parameter")
    if not _is_number(k) or not 0 <= k <= _LARGEST:
        raise DataError(f"k={k!r}: a number from 0 is added to every rank, usually 60")
    if not _is_number(p) or not 0 < p < 1:
        raise DataError(f"p={p!r}: the persistence of a reader lies between 0 and 1, such as 0.8")
    return Parameters(float(k), float(p))


def _is_number(value: object) -> bool:
    return isinstance(value, numbers.Real) and not isinstance(value, bool) and math.isfinite(value)


def _weights(method: str, fusion: Fusion, weights: object) -> dict[str, float] | None:
    if weights is None:
        return None
    if not fusion.weighted:
        raise DataError(f"weights= goes with a method that adds up ({_those(lambda f: f.weighted)}), not {method!r}")
    if not isinstance(weights, Mapping):
        raise DataError(f"weights= is a mapping, as in {{'bm25': 0.3, 'dense': 0.7}}, got {weights!r:.80}")
    for name, weight in weights.items():
        if not _is_number(weight) or not 0 <= weight <= _LARGEST:
            raise DataError(f"weights: {name!r} has {weight!r}; a weight is a number from 0 to {_LARGEST:g}")
    return {name: float(weight) for name, weight in weights.items()}


def _refuse_names(names: Sequence[str], weights: Mapping[str, float] | None) -> None:
    """Refuse fewer than two runs, two of one name, and weights of other runs."""
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise DataError(
            f"two runs are called {listed(twice)}; give names, as in fuse({{'first': .., 'second': ..}}), or rename a "
            f"file"
        )
    if len(names) < 2:
        raise DataError(
            f"two runs or more are fused, got {counted(len(names), 'run')} ({listed(names) or 'none'}); give names, "
            f"as in fuse({{'bm25': first, 'dense': second}}), or a frame with a column run_id"
        )
    if weights is None:
        return
    if unknown := [name for name in weights if name not in names]:
        raise DataError(f"weights: no run is called {unknown[0]!r}; {nearest(str(unknown[0]), sorted(names))}")
    if lacking := sorted(set(names) - set(weights)):
        raise DataError(f"weights: every run has one, and {listed(lacking)} none; 0 leaves a run without a say")


# What a caller gives.


class _Part(NamedTuple):
    """Rows of one run, or of `several` that a column run_id tells apart: query_id, doc_id String, score Float64."""

    name: str
    rows: Frame
    where: str
    several: bool = False

    @property
    def keys(self) -> list[str]:
        return ["run_id", "query_id"] if self.several else ["query_id"]


def _parts(source: Source, duplicates: Duplicates, invalid: Invalid) -> list[_Part]:
    """The runs of one source, each pair of them once."""
    if isinstance(source.holder, pl.LazyFrame):
        return [_scanned(source, source.holder, duplicates, invalid)]
    parts = []
    for name, loaded in load_runs(source, invalid=invalid):
        where = f"run {name!r}" if loaded.where in (RUN.label, "retrieval") else loaded.where  # which have no path
        _tell(where, loaded)
        if loaded.failed:
            warn(f"{where}: of {counted(len(loaded.failed), 'query')} the retrieval failed: {listed(loaded.failed)}")
        if loaded.frame.is_empty():
            warn(f"{where}: the run is empty and adds nothing")
        rows = loaded.frame.select(RUN.required)
        parts.append(_Part(name, _once(rows, list(_PAIR), where, duplicates), where))
    return parts


def _scanned(source: Source, run: pl.LazyFrame, duplicates: Duplicates, invalid: Invalid) -> _Part:
    """A run, or several, whose rows are looked at when they are collected."""
    rows = scan_run(run)
    several = "run_id" in rows.collect_schema()
    if several and source.given is not None:
        raise DataError(
            f"run: the lazy frame under the name {source.given!r} has a column run_id; drop it, or give the frame"
        )
    where = "run" if several else f"run {source.otherwise!r}"
    part = _Part(source.otherwise, rows.select(*(["run_id"] if several else []), *RUN.required), where, several)

    def look(frame: pl.DataFrame) -> pl.DataFrame:
        loaded = valid_rows(Loaded(frame, where), "score", invalid)
        _tell(where, loaded)
        return _once(loaded.frame, [*part.keys, "doc_id"], where, duplicates)

    return part._replace(rows=_looked_at(part.rows, look))


def _tell(where: str, loaded: Loaded) -> None:
    for said in loaded.notes:
        warn(f"{where}: {REASONS[said.reason]}: {said.count:,}, such as {listed(said.examples)}")


def _looked_at(frame: Frame, look: Callable[[pl.DataFrame], pl.DataFrame]) -> Frame:
    """The frame as `look` gives it back, now or when it is collected."""
    if isinstance(frame, pl.DataFrame):
        return look(frame)
    return frame.map_batches(look, predicate_pushdown=False, projection_pushdown=False, slice_pushdown=False)


def _once(rows: pl.DataFrame, keys: list[str], where: str, duplicates: Duplicates) -> pl.DataFrame:
    """The rows of a run, each (query, document) once; looked for by a hash, and confirmed by the text."""
    if rows.select(pl.struct(keys).hash().n_unique()).item() == rows.height:
        return rows
    again = rows.select(keys).is_duplicated()
    if not again.any():
        return rows
    twice = rows.filter(again).unique(keys, maintain_order=True)
    if duplicates == "error":
        raise repeated_pairs(where, twice.height, pairs(twice))
    told = with_more(pairs(twice), twice.height)
    warn(f"{where}: {REASONS['duplicate_dropped']}: {int(again.sum()) - twice.height:,}, of {told}")
    return rows.sort("score", descending=True, maintain_order=True).unique(keys, keep="first", maintain_order=True)


def _usable(
    rows: pl.DataFrame, *, where: str, by: str | None, named: Callable[[list[str]], None] | None
) -> pl.DataFrame:
    """The rows, if their runs are named as they must be and their scores can be added up."""
    if named is not None:
        if rows["run_id"].null_count():
            raise DataError(f"{where}: {rows['run_id'].null_count():,} null run_id; name every row's run")
        named(rows["run_id"].unique().sort().to_list())
    if by in (None, "rank") or rows.is_empty():
        return rows
    wrong = rows.filter(pl.col("score").abs() > _LARGEST)
    if wrong.height:
        raise DataError(
            f"{where}: {counted(wrong.height, 'score')} infinite or beyond {_LARGEST:g}, which cannot be added up: "
            f"{', '.join(pairs(wrong))}; a method of ranks takes them ({_those(lambda f: f.by == 'rank')}), and "
            f'normalize="rank"'
        )
    below = rows.filter(pl.col("score") < 0) if by == "max" else rows.clear()
    if below.height:
        raise DataError(
            f"{where}: {counted(below.height, 'score')} below 0, which cannot be a share of the largest: "
            f'{", ".join(pairs(below))}; normalize="min-max" takes them'
        )
    return rows


# The fusion.


def _valued(rows: pl.LazyFrame, part: _Part, by: str | None, weights: Mapping[str, float] | None) -> pl.LazyFrame:
    """query_id, doc_id, weight, and either rank and n or the normalised score."""
    weight: pl.Expr = pl.lit(1.0)
    if weights is not None:
        names = pl.col("run_id") if part.several else pl.lit(part.name)
        weight = names.replace_strict(list(weights), list(weights.values()), return_dtype=pl.Float64)
    rows = rows.with_columns(pl.col("score") + 0.0, weight=weight)
    if by in (None, "rank"):
        rows = rows.sort(*part.keys, "score", "doc_id", descending=[False] * len(part.keys) + [True, True])
        rows = rows.with_columns(
            pl.int_range(1, pl.len() + 1).over(part.keys).cast(pl.Float64).alias("rank"),
            n=pl.len().over(part.keys).cast(pl.Float64),
        )
    if by is None:
        return rows.select(*_PAIR, "weight", "rank", "n")
    return with_spread(rows, part.keys).select(*_PAIR, "weight", score=NORMALIZERS[by])
