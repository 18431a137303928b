"""Large runs: the same rows in both orders, random to look at, the same for a seed; what the limit reads."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from .large import NOT_IN_THE_RUN, Large, Layout, mixed, permuted
from .limit import limit
from .rows import Aim, needed

LAYOUTS: tuple[Layout, Layout] = ("grouped", "shuffled")
FILES = 3


@pytest.fixture(scope="module")
def large() -> Large:
    return Large(120_000, depth=400, file_rows=48_000)


@pytest.fixture(scope="module")
def folder(large: Large, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("large")
    for layout in LAYOUTS:
        large.run(folder, layout)
    large.qrels(folder)
    return folder


@pytest.fixture(scope="module")
def grouped(large: Large) -> pl.DataFrame:
    return large.frame(0, large.rows, "grouped")


# An order without memory.


@given(st.integers(1, 3_000), st.integers(0, 2**40))
def test_a_permutation_gives_each_number_once(size: int, key: int) -> None:
    assert np.sort(permuted(np.arange(size), size, key)).tolist() == list(range(size))


@pytest.mark.parametrize("size", [99_991, 100_000, 131_072, 131_073])
def test_a_permutation_of_many_numbers_gives_each_once(size: int) -> None:
    assert np.array_equal(np.sort(permuted(np.arange(size), size, 7)), np.arange(size))


def test_each_key_has_a_permutation_of_its_own() -> None:
    numbers = np.tile(np.arange(100), 50)
    keys = np.repeat(np.arange(50), 100)
    orders = permuted(numbers, 100, keys).reshape(50, 100)
    assert np.array_equal(np.sort(orders, axis=1), np.tile(np.arange(100), (50, 1)))
    assert len({tuple(order) for order in orders.tolist()}) == 50
    assert np.array_equal(orders[3], permuted(np.arange(100), 100, 3))


def test_a_permutation_leaves_no_order() -> None:
    moved = permuted(np.arange(100_000), 100_000, 1)
    assert abs(np.corrcoef(np.arange(100_000), moved)[0, 1]) < 0.02
    assert abs(np.corrcoef(moved[1:], moved[:-1])[0, 1]) < 0.02
    assert len(np.unique(np.diff(moved))) > 50_000


def test_mixed_numbers_look_random() -> None:
    words = mixed(np.arange(100_000), 3).astype(np.float64) / 2**31
    assert 0 <= words.min() < words.max() < 1
    assert np.histogram(words, bins=10, range=(0, 1))[0] == pytest.approx(10_000, rel=0.05)


# Rows.


def test_both_layouts_have_the_same_rows(large: Large, grouped: pl.DataFrame) -> None:
    shuffled = large.frame(0, large.rows, "shuffled")
    assert not shuffled.equals(grouped)
    assert_frame_equal(shuffled, grouped, check_row_order=False)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_files_hold_the_rows_in_their_order(large: Large, folder: Path, layout: Layout) -> None:
    files = sorted(large.run(folder, layout).glob("*.parquet"))
    assert len(files) == FILES
    assert_frame_equal(pl.concat(map(pl.read_parquet, files)), large.frame(0, large.rows, layout))
    assert_frame_equal(pl.read_parquet(files[1]).slice(100, 50), large.frame(48_100, 48_150, layout))


def test_grouped_rows_stand_by_query_and_score(large: Large, grouped: pl.DataFrame) -> None:
    assert grouped.schema == {"query_id": pl.String, "doc_id": pl.String, "score": pl.Float64}
    assert grouped["query_id"].rle_id().max() == large.queries - 1
    assert grouped.sort("query_id", -pl.col("score"), maintain_order=True).equals(grouped)
    assert grouped.group_by("query_id").len()["len"].unique().to_list() == [large.depth]


def test_the_files_of_a_shuffled_run_hold_rows_of_all_queries(large: Large, folder: Path) -> None:
    for file in large.run(folder, "shuffled").glob("*.parquet"):
        queries = pl.read_parquet(file)["query_id"].to_numpy()[: 24_000 // large.queries * large.queries]
        assert all(len(set(part)) == large.queries for part in queries.reshape(-1, large.queries))


def test_many_scores_are_tied_and_all_have_three_decimals(grouped: pl.DataFrame) -> None:
    assert grouped["score"].equals(grouped["score"].round(3))
    sizes = grouped.group_by("query_id", "score").len()["len"]
    assert 0.3 < sizes.filter(sizes > 1).sum() / grouped.height < 0.7
    assert grouped["score"].is_between(0, 20).all()
    assert grouped["score"].n_unique() > 10_000


def test_documents_are_distinct_within_a_query_and_do_not_compress(
    large: Large, folder: Path, grouped: pl.DataFrame
) -> None:
    assert grouped.select("query_id", "doc_id").is_unique().all()
    assert grouped["doc_id"].n_unique() > 0.4 * grouped.height
    assert sum(file.stat().st_size for file in large.run(folder, "grouped").glob("*.parquet")) > 4 * grouped.height


def test_rows_are_the_same_for_a_seed(large: Large, grouped: pl.DataFrame) -> None:
    again, other = (Large(large.rows, seed, large.depth, large.file_rows) for seed in (0, 1))
    assert again.frame(0, 50_000, "shuffled").equals(large.frame(0, 50_000, "shuffled"))
    assert again.judgments().equals(large.judgments())
    assert not other.frame(0, 50_000, "grouped").equals(grouped.head(50_000))
    assert not other.frame(0, 50_000, "shuffled").equals(large.frame(0, 50_000, "shuffled"))
    assert not other.judgments().equals(large.judgments())


def test_judgments_stand_at_every_rank_some_are_not_retrieved_and_some_queries_are_missing() -> None:
    large = Large(4_000_000)
    judged, run = large.judgments(), large.frame(0, large.rows, "grouped")
    assert judged.schema == {"query_id": pl.String, "doc_id": pl.String, "relevance": pl.Float64}
    assert judged.select("query_id", "doc_id").is_unique().all()
    assert judged["query_id"].n_unique() == large.queries + NOT_IN_THE_RUN
    assert judged.join(run, on="query_id", how="anti")["query_id"].n_unique() == NOT_IN_THE_RUN
    assert judged.height == pytest.approx(1.07 * large.queries, rel=0.03)
    ranked = run.with_columns(rank=pl.int_range(pl.len()).over("query_id"))
    hits = judged.join(ranked, on=["query_id", "doc_id"])
    assert hits.height / judged.height == pytest.approx(0.9, abs=0.03)
    assert hits["rank"].median() == pytest.approx(30, abs=10)
    assert hits["rank"].max() > 900  # type: ignore[operator]


def test_a_run_that_is_there_is_kept_and_half_a_run_is_not(tmp_path: Path) -> None:
    large = Large(4_000, depth=100, file_rows=2_000)
    half = tmp_path / "grouped-4000-seed0.unfinished"
    half.mkdir()
    (half / "part-007.parquet").touch()
    made = large.run(tmp_path, "grouped")
    assert sorted(file.name for file in made.iterdir()) == ["part-000.parquet", "part-001.parquet"]
    assert [path.name for path in tmp_path.iterdir()] == [made.name]
    was = {file: file.stat().st_mtime_ns for file in made.iterdir()}
    assert large.run(tmp_path, "grouped") == made
    assert {file: file.stat().st_mtime_ns for file in made.iterdir()} == was


def test_rows_are_whole_queries() -> None:
    with pytest.raises(ValueError, match=r"multiples of 1000, got 1500, 5000000"):
        Large(1_500)


# The limit.


@pytest.mark.parametrize("step", [400, 8_000, 1_000_000])
def test_the_limit_finds_the_top_of_each_query(large: Large, folder: Path, step: int) -> None:
    assert limit(large.run(folder, "grouped"), step) == 100 * large.queries


# Rows of the table.


def test_a_row_tells_what_was_hoped() -> None:
    row = needed("a", "b", [8.0], [2.0], 10, " s", 5)
    assert row.aim == Aim(10, at_most=True, hoped=5)
    assert str(row) == "| a | b | 4.00x (n=1) | at most 10x (aim 5x) | 8 / 2 s |"
