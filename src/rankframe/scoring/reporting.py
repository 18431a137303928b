"""The report of judged rankings: scores made in blocks, kept or written as they are made."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from os import PathLike
from typing import Any

import polars as pl

from rankframe import __version__
from rankframe.errors import DataError
from rankframe.frames.checks import Duplicates, Invalid, Loaded
from rankframe.frames.ledger import Note, ledger_frame, note
from rankframe.frames.schemas import CORPUS, QUERIES
from rankframe.inputs import load_ids, refuse_writing_over
from rankframe.io.files import format_of, place_for
from rankframe.metrics.conventions import Convention
from rankframe.metrics.metric import Metric
from rankframe.ranking import Judgments, Population, Ranking
from rankframe.ranking.population import Covered
from rankframe.report import Report
from rankframe.saved import holds_report, written
from rankframe.scoring.values import score_blocks
from rankframe.summaries import Measured


def reported(
    judgments: Judgments,
    covered: Sequence[tuple[Ranking, Covered]],
    measured: Mapping[Metric, Measured],
    notes: Iterable[Note],
    options: Mapping[str, Any],
    per_query: str | PathLike[str] | None = None,
) -> Report:
    """The report of runs in the order of their names; its scores go straight to the file `per_query`, if there is one.

    Raises:
        MetricError: for a metric of the caller's own that gives no number, or one outside of its range.
        DataError: for a file that cannot be written.
    """
    covered = sorted(covered, key=lambda run: run[0].run_id)
    said = [*notes, *(told for ranking, cover in covered for told in (*ranking.notes, *cover.notes))]
    blocks = score_blocks(judgments, covered, list(measured))
    options = {**options, "versions": {"rankframe": __version__, "polars": pl.__version__}}
    report = partial(Report, ledger=ledger_frame(said), metrics=tuple(measured.values()), options=options)
    if per_query is None:
        return report(pl.concat(list(blocks), rechunk=True))
    return written(per_query, blocks, report)


def refuse_target(per_query: str | PathLike[str], runs: object, others: Iterable[object]) -> None:
    """Refuse, before anything is read, a file that the report cannot or may not be written to.

    A file that is there must be a report: an input may be one that only Polars knows of, behind a LazyFrame.

    Raises:
        FileNotFoundError: where its folder is not there.
        DataError: for one that is an input or no report, or whose name is that of another format.
    """
    place = place_for(per_query)
    if format_of(place, None, "parquet") != "parquet":
        raise DataError(
            f"per_query={place}: the report is a Parquet file; name it {place.with_suffix('.parquet').name}"
        )
    refuse_writing_over("per_query=", place, runs, others)
    if place.exists() and place.stat().st_size and not holds_report(place):
        raise DataError(
            f"per_query={place}: would write over a file that is no report; name another place or delete it"
        )


def conditions(
    convention: str,
    rules: Convention,
    judgments: Judgments,
    runs: Iterable[Mapping[str, Any]],
    *,
    duplicates: Duplicates,
    invalid: Invalid,
    qrels: Mapping[str, Any],
) -> dict[str, Any]:
    """What a report says of how its scores were made: the rules, and the inputs."""
    return {
        "convention": convention,
        **{key: value for key, value in asdict(rules).items() if key != "dialect"},
        "duplicates": duplicates,
        "invalid": invalid,
        "qrels": {"queries": len(judgments.queries), "max_grade": judgments.max_grade, **qrels},
        "runs": sorted(runs, key=lambda run: str(run["run_id"])),
    }


def narrowed(
    judgments: Judgments, rules: Convention, queries: object, corpus: object, invalid: Invalid
) -> tuple[Population, list[Note], pl.Series | None]:
    """Which judged queries count, what there is to say of the judgments alone, and the ids that were asked."""
    notes = list(judgments.notes)
    asked = None
    if queries is not None:
        loaded = load_ids(queries, QUERIES, invalid=invalid)
        asked = loaded.frame["query_id"]
        notes.extend(loaded.notes)
    population = Population(judgments, rules, asked)
    notes.extend(population.notes)
    if corpus is not None:
        notes.extend(_absent_documents(judgments, load_ids(corpus, CORPUS, invalid=invalid)))
    return population, notes, asked


def _absent_documents(judgments: Judgments, corpus: Loaded) -> list[Note]:
    judged = judgments.frame["doc_id"].unique().sort()
    absent = judged.filter(~judged.is_in(corpus.frame["doc_id"].implode()))
    return [*corpus.notes, note("not_in_corpus", absent.to_list())]
