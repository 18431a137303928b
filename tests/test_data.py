"""The handbook set: as large as it says, and judged as deep as it says."""

from __future__ import annotations

from pathlib import Path

import pytest

import rankframe as rf

DATA = Path(__file__).parents[1] / "data"
RUNS = sorted((DATA / "handbook" / "runs").glob("*.trec"))


@pytest.fixture(scope="module")
def handbook() -> rf.Beir:
    return rf.read_beir(DATA / "handbook")


def test_every_pair_of_the_first_ten_of_each_system_is_judged(handbook: rf.Beir) -> None:
    assert [path.stem for path in RUNS] == ["bm25", "dense", "rrf", "tfidf"]
    assert rf.pool(RUNS, depth=10, qrels=handbook).is_empty()


def test_nothing_is_odd_but_ties_of_the_fused_run(handbook: rf.Beir) -> None:
    """A document at one rank of a run and another that stands there in the other have the same fused score."""
    assert rf.check(RUNS, handbook).select("run_id", "reason", "count").rows() == [("rrf", "tie_at_cutoff", 22)]


def test_it_is_as_large_as_it_should_be(handbook: rf.Beir) -> None:
    assert handbook.corpus.height >= 150
    assert handbook.queries.height >= 80
    assert {"topic", "difficulty", "kind"} <= set(handbook.queries.columns)
    assert handbook.queries.select("topic", "difficulty", "kind").null_count().row(0) == (0, 0, 0)
    useful = handbook.qrels.filter(handbook.qrels["relevance"] >= 2)
    assert set(useful["query_id"]) == set(handbook.queries["query_id"])


def test_the_fused_run_is_the_fusion_of_the_others() -> None:
    folder = DATA / "handbook" / "runs"
    fused = rf.fuse({name: folder / f"{name}.trec" for name in ("bm25", "dense")}, limit=20)
    assert fused.equals(rf.read_run(folder / "rrf.trec").select(fused.columns))


def test_the_counts_of_the_description_are_true(handbook: rf.Beir) -> None:
    told = (DATA / "README.md").read_text(encoding="utf-8")
    assert f"{handbook.corpus.height} passages" in told
    assert f"{handbook.queries.height} questions" in told
    assert f"{handbook.qrels.height:,} judgments" in told
    grades = dict(handbook.qrels["relevance"].value_counts().iter_rows())
    assert all(f"| {grade:g} | {meaning} | {grades[grade]} |" in told for grade, meaning in MEANINGS.items())


MEANINGS = {
    3.0: "answers the question fully",
    2.0: "answers a good part of it",
    1.0: "related background",
    0.0: "judged, not relevant",
}
