"""How time and memory grow with the rows of a run: grouped, shuffled, the physical limit, and a peer while it can."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import polars as pl

from rankframe.plots.picture import altair

from . import curves, peers
from .large import DEPTH, Large
from .rows import Aim, Row, needed, told
from .sides import Measurement, Side, in_processes, peaks_of, seconds_of

SIZES = (1_000_000, 5_000_000, 10_000_000, 25_000_000, 50_000_000, 100_000_000)
ONE_QUERY = DEPTH
SMALL = 10_000_000
"""Up to so many rows the peer takes part."""

GROUPED, SHUFFLED = "rankframe, grouped by query", "rankframe, shuffled"
LIMIT, PEER = "the limit: read, hash, top 100", "pytrec_eval"
SERIES = (GROUPED, SHUFFLED, LIMIT, PEER)


def growth(data: Path, rounds: int, sizes: Sequence[int] = SIZES, pictures: Path | None = None) -> Iterator[Row]:
    """Time per row at the largest size against a tenth of it, and memory; pictures where a folder is given."""
    if pictures is not None:
        altair()  # better missing now than after the last measurement
    points = pl.concat(_points(data, rows, rounds) for rows in (ONE_QUERY, *sizes))
    if pictures is not None:
        curves.draw(points.filter(pl.col("rows") > ONE_QUERY), pictures)
    largest, reference = sizes[-1], compared(sizes)
    for series in (GROUPED, SHUFFLED, LIMIT):
        seconds = median_of(points, series, "seconds")
        fixed = seconds[ONE_QUERY]
        each = [time_of_a_row(seconds, rows) * 1e9 for rows in (largest, reference)]
        aim = None if series == LIMIT else Aim(1.2, at_most=True)
        name = f"growth, {series}, time of a row at {largest:,} rows (the {fixed:.2g} s that one query takes taken off)"
        yield Row(name, f"at {reference:,} rows", each[0] / each[1], rounds, aim, each[0], each[1], " ns")
    for series in (GROUPED, SHUFFLED):
        peaks = median_of(points, series, "peak")
        name = f"growth, {series}, peak memory at {largest:,} rows"
        yield needed(name, f"at {reference:,} rows", [peaks[largest]], [peaks[reference]], None, " MiB")


def time_of_a_row(seconds: Mapping[int, float], rows: int) -> float:
    """Seconds, without the fixed cost, which is what a run of one query takes."""
    return (seconds[rows] - seconds[ONE_QUERY]) / (rows - ONE_QUERY)


def compared(sizes: Sequence[int]) -> int:
    """The size to compare the largest with: the largest of at most a tenth of it, else the smallest."""
    return max((rows for rows in sizes if rows <= max(sizes) / 10), default=min(sizes))


def median_of(points: pl.DataFrame, series: str, column: str) -> dict[int, float]:
    """The median of a series at each size."""
    medians = points.filter(pl.col("series") == series).group_by("rows").agg(pl.col(column).median())
    return dict(medians.sort("rows").rows())


def _points(data: Path, rows: int, rounds: int) -> pl.DataFrame:
    told(f"growth, {rows:,} rows")
    large = Large(rows)
    qrels = large.qrels(data)
    grouped, shuffled = large.run(data, "grouped"), large.run(data, "shuffled")
    sides = {
        GROUPED: Side("rankframe", {"run": grouped, "qrels": qrels}),
        SHUFFLED: Side("rankframe", {"run": shuffled, "qrels": qrels}),
        LIMIT: Side("limit", {"run": grouped}),
    }
    if rows <= SMALL:
        sides[PEER] = Side("pytrec_eval", {"run": grouped, "qrels": qrels})
    found = in_processes(sides, rounds)
    _agree(found)
    return pl.concat(
        pl.DataFrame(
            {
                "series": [name] * rounds,
                "rows": [rows] * rounds,
                "round": range(1, rounds + 1),
                "seconds": seconds_of(measured),
                "peak": peaks_of(measured),
            }
        )
        for name, measured in found.items()
    )


def _agree(found: Mapping[str, Sequence[Sequence[Measurement]]]) -> None:
    means = {name: measured[0][0].means for name, measured in found.items()}
    peers.agree(means[GROUPED], means[SHUFFLED], 1e-12)
    if PEER in means:
        peers.agree(means[GROUPED], means[PEER])
