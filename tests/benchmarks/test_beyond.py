"""The workloads on large files run at a small size, and the sides of each agree."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import polars as pl
import pytest

from . import growth, peers, sides
from .beyond import beyond, many_runs
from .curves import draw, ticks_around
from .engines import engines, has_spark
from .growth import GROUPED, LIMIT, ONE_QUERY, PEER, SHUFFLED
from .large import Large
from .rows import Row
from .sides import Side, in_processes

pytestmark = pytest.mark.slow

ROWS = 100_000


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("data")


def measured(rows: list[Row]) -> list[bool]:
    return [row.ratio is not None and row.ratio > 0 and row.ours > 0 and row.theirs > 0 for row in rows]


def test_beyond_memory_gives_time_and_memory_of_both_layouts(data: Path, tmp_path: Path) -> None:
    rows = list(beyond(data, tmp_path, 1, ROWS))
    assert measured(rows) == [True] * 4
    assert [row.aim.bound if row.aim else None for row in rows] == [2, 1, 3, None]
    assert all(row.workload.startswith("X (100 x 1,000), Parquet, ") for row in rows)
    scores = pl.read_parquet(tmp_path / "shuffled.parquet")
    assert scores["status"].value_counts(sort=True).rows() == [("ok", 100), ("missing", 3)]
    assert set(peers.METRICS) <= set(scores.columns)


def test_many_runs_give_a_row(data: Path) -> None:
    rows = list(many_runs(data, 2, 20_000, 3))
    assert measured(rows) == [True]
    assert str(rows[0]).startswith("| 3 runs x 20,000 rows, Parquet | 3 evaluations |")


def test_growth_gives_rows_numbers_and_pictures(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(growth, "SMALL", ROWS // 2)
    pictures = tmp_path / "pictures" if find_spec("altair") else None
    rows = list(growth.growth(data, 2, (ROWS // 10, ROWS), pictures))
    assert [row.rounds for row in rows] == [2, 2, 2, 1, 1]
    assert [row.unit for row in rows] == [" ns"] * 3 + [" MiB"] * 2
    assert [row.against for row in rows] == ["at 10,000 rows"] * 5
    assert measured(rows[3:]) == [True] * 2
    if pictures is not None:
        points = pl.read_csv(pictures / "growth.csv")
        assert points.columns == ["series", "rows", "round", "seconds", "peak"]
        rounds = {name: {10_000: 2, ROWS: 2} for name in (GROUPED, SHUFFLED, LIMIT)} | {PEER: {10_000: 2}}
        found = points.group_by("series", "rows").len().rows()
        assert {(name, size): n for name, size, n in found} == {
            (name, size): n for name, sizes in rounds.items() for size, n in sizes.items()
        }
        assert points.select(pl.col("seconds", "peak").min()).row(0) > (0, 0)


def test_engines_agree_with_plain_rankframe_or_are_not_installed(data: Path, tmp_path: Path) -> None:
    rows = list(engines(data, tmp_path, 1, ROWS))
    there = [True, *([True] * 4 if has_spark() else [False]), find_spec("duckdb") is not None]
    assert measured(rows) == there * 2
    assert all("not installed" in str(row) for row in rows if row.ratio is None)


# The parts.


def test_the_time_of_a_row_is_without_the_fixed_cost() -> None:
    seconds = {ONE_QUERY: 0.5, 10_000: 0.5 + 9_000 * 1e-6, 100_000: 0.5 + 99_000 * 1e-6}
    assert [growth.time_of_a_row(seconds, rows) for rows in (10_000, 100_000)] == pytest.approx([1e-6, 1e-6])


@pytest.mark.parametrize(("sizes", "reference"), [((1, 5, 10, 50, 100), 10), ((1, 2, 5), 1), ((1, 5, 30), 1)])
def test_the_largest_size_is_compared_with_a_tenth(sizes: tuple[int, ...], reference: int) -> None:
    assert growth.compared(sizes) == reference


def test_ticks_hold_all_values() -> None:
    assert ticks_around([0.02, 0.7]) == [0.02, 0.05, 0.1, 0.2, 0.5, 1.0]
    assert ticks_around([130.0]) == [100.0, 200.0]


def test_pictures_show_every_series(tmp_path: Path) -> None:
    pytest.importorskip("altair", reason="needs the extra plots: pip install 'rankframe[plots]'")
    points = pl.DataFrame(
        [
            (name, rows, 1, rows / 1e6 * factor, 300.0)
            for factor, name in enumerate(growth.SERIES, 1)
            for rows in (1_000_000, 5_000_000)
        ],
        schema=["series", "rows", "round", "seconds", "peak"],
        orient="row",
    )
    _, time, memory = draw(points, tmp_path)
    assert all(f">{name}<" in path.read_text() for name in growth.SERIES for path in (time, memory))
    assert ">5M<" in time.read_text()


def test_a_side_that_fails_says_why(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match=r"rankframe .* ended with 1: [\s\S]*nowhere"):
        Side("rankframe", {"run": tmp_path / "nowhere", "qrels": tmp_path / "nowhere"}).measured()


def test_the_address_space_of_a_side_is_limited(data: Path) -> None:
    run = Large(ROWS).run(data, "grouped")
    with pytest.raises(AssertionError, match=r"limit .* ended with"):
        Side("limit", {"run": run}, address_space=64 * 2**20).measured()


def test_sides_take_turns_and_every_second_round_goes_backwards(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def measured(side: Side) -> list[sides.Measurement]:
        asked.append(side.name)
        return [sides.Measurement(1.0, 2.0, {})]

    monkeypatch.setattr(Side, "measured", measured)
    found = in_processes({"a": Side("first", {}), "b": Side("second", {})}, 2)
    assert asked == ["first", "second", "second", "first"]
    assert sides.seconds_of(found["a"]) == [1.0, 1.0]


def test_scores_that_differ_are_seen(tmp_path: Path) -> None:
    scores = pl.DataFrame({"run_id": ["a"], "query_id": ["q"], "mrr@10": [0.5]})
    other = tmp_path / "other.parquet"
    scores.write_parquet(tmp_path / "scores.parquet")
    scores.with_columns(run_id=pl.lit("b"), **{"mrr@10": 0.5 + 1e-14}).write_parquet(other)
    sides.agree(tmp_path / "scores.parquet", other)
    scores.with_columns(**{"mrr@10": pl.lit(0.5 + 1e-11)}).write_parquet(other)
    with pytest.raises(AssertionError, match=r"value mismatch"):
        sides.agree(tmp_path / "scores.parquet", other)
    scores.clear().write_parquet(other)
    with pytest.raises(AssertionError, match=r"height"):
        sides.agree(tmp_path / "scores.parquet", other)


@pytest.mark.parametrize("theirs", [{"mrr@10": 0.6}, {"mrr@10": float("nan")}, {}])
def test_means_that_differ_are_seen(theirs: peers.Means) -> None:
    peers.agree({"mrr@10": 0.5}, {"mrr@10": 0.5 + 1e-12})
    with pytest.raises(AssertionError, match=r"means differ"):
        peers.agree({"mrr@10": 0.5}, theirs)
