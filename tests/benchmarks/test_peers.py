"""Means equal to the peers' on small workloads, and the time of both sides."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from . import comparing, lexical
from .data import WORKLOADS, Data, generate
from .peers import (
    METRICS,
    Means,
    ir_measures_parquet,
    output,
    pytrec_eval_command,
    pytrec_eval_dicts,
    pytrec_eval_frames,
    pytrec_eval_parquet,
    pytrec_eval_text,
    qrels_dict,
    rankframe,
    run_dict,
    trec_eval_command,
)
from .ragas_peer import exact_match_with_ragas

pytestmark = pytest.mark.slow

# 3-decimal scores up to 20 all differ as 32-bit floats, which pytrec_eval keeps, so both see the same ties.
EXACT = 1e-9

FORMS = ("dicts", "frames", "shuffled", "parquet", "text")


@pytest.fixture(scope="module", params=["S", "G"])
def data(request: pytest.FixtureRequest) -> Data:
    return generate(WORKLOADS[request.param])


def sides(data: Data, form: str, folder: Path) -> tuple[Callable[[], Means], Callable[[], Means]]:
    """Ours and pytrec_eval on the same form of input."""
    match form:
        case "dicts":
            run, qrels = run_dict(data.run), qrels_dict(data.qrels)
            return lambda: rankframe(data.run, data.qrels), lambda: pytrec_eval_dicts(run, qrels)
        case "frames":
            return lambda: rankframe(data.run, data.qrels), lambda: pytrec_eval_frames(data.run, data.qrels)
        case "shuffled":
            rows = data.shuffled()
            return lambda: rankframe(rows, data.qrels), lambda: pytrec_eval_frames(rows, data.qrels)
        case "parquet":
            parquet = data.parquet(folder)
            return lambda: rankframe(*parquet), lambda: pytrec_eval_parquet(*parquet)
        case _:
            text = data.trec(folder)
            return lambda: rankframe(*text), lambda: pytrec_eval_text(*text)


def assert_equal(ours: Means, theirs: Means) -> None:
    assert list(ours) == list(METRICS)
    assert {name: ours[name] for name in theirs} == pytest.approx(theirs, rel=0, abs=EXACT)


@pytest.mark.parametrize("form", FORMS)
def test_means_equal_pytrec_eval(data: Data, form: str, tmp_path: Path) -> None:
    ours, theirs = sides(data, form, tmp_path)
    assert_equal(ours(), theirs())


def test_means_equal_ir_measures_but_for_the_order_of_ties_in_rr(data: Data, tmp_path: Path) -> None:
    parquet = data.parquet(tmp_path)
    theirs = ir_measures_parquet(*parquet)
    assert_equal(rankframe(*parquet), {name: mean for name, mean in theirs.items() if not name.startswith("mrr")})


def test_means_equal_trec_eval(data: Data, tmp_path: Path) -> None:
    text = data.trec(tmp_path)
    command = trec_eval_command(*text)
    if command is None:
        pytest.skip("trec_eval is not installed")
    lines = [line.split() for line in output(command).splitlines()]
    printed = {measure: float(value) for measure, query, value in lines if query == "all" and measure != "runid"}
    ours = rankframe(*text)
    assert {"recip_rank", "ndcg_cut_10"} <= printed.keys()
    assert ours["mrr@1000"] == pytest.approx(printed["recip_rank"], abs=6e-5)  # it prints four decimals
    assert ours["ndcg@10"] == pytest.approx(printed["ndcg_cut_10"], abs=6e-5)


def test_the_command_of_pytrec_eval_prints_its_means(data: Data, tmp_path: Path) -> None:
    text = data.trec(tmp_path)
    assert output(pytrec_eval_command(*text)).splitlines()[0] == str(pytrec_eval_text(*text))


@pytest.mark.parametrize("side", ["rankframe", "pytrec_eval"])
@pytest.mark.parametrize("form", FORMS)
def test_speed(data: Data, form: str, side: str, tmp_path: Path, benchmark: Any) -> None:
    ours, theirs = sides(data, form, tmp_path)
    benchmark.group = f"{data.workload} {form}"
    benchmark(ours if side == "rankframe" else theirs)


# Lexical metrics of samples.


@pytest.fixture(scope="module")
def samples() -> pl.DataFrame:
    return lexical.samples(300)


LEXICAL: dict[str, Callable[[pl.DataFrame], lexical.Scores]] = {
    "rankframe": lexical.ours,
    "the recipe": lexical.plain_python,
    "with str.translate": lambda frame: lexical.plain_python(frame, lexical.translated),
}


def test_samples_are_the_same_for_a_seed_and_of_ordinary_length(samples: pl.DataFrame) -> None:
    assert samples.equals(lexical.samples(300))
    words = samples.select(pl.col("user_input", "response", "reference").str.split(" ").list.len())
    assert words["user_input"].is_between(8, 12).all()
    assert words["reference"].is_between(5, 25).all()
    assert words["response"].is_between(5, 40).all()
    assert (samples["retrieved_contexts"].list.len() == 3).all()


@pytest.mark.parametrize("side", LEXICAL)
def test_lexical_metrics_equal_plain_python(samples: pl.DataFrame, side: str) -> None:
    """To the last bit; and no column is the same for all."""
    found = LEXICAL[side](samples)
    assert found == lexical.ours(samples)
    assert min(len(set(column)) for column in zip(*found, strict=True)) > 1


def test_lexical_metrics_give_a_row_for_each_peer(tmp_path: Path) -> None:
    rows = list(lexical.lexical(tmp_path, 200, 1, 1))
    assert [row.against for row in rows] == [
        "plain Python, SQuAD's recipe",
        "the same with str.translate",
        "1.5 GB",
        "Ragas' ExactMatch by its evaluate",
    ]
    assert [row.ratio is not None for row in rows[:3]] == [True] * 3
    assert all(str(row).startswith("| 200 RAG samples, exact_match") for row in rows)


@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")  # its file
def test_ragas_gives_the_exact_match_of_raw_texts(samples: pl.DataFrame) -> None:
    pytest.importorskip("ragas", reason="needs the extra ragas: pip install 'rankframe[ragas]'")
    pairs = samples.select("response", "reference").head(40)
    right = [float(response == reference) for response, reference in pairs.iter_rows()]
    assert exact_match_with_ragas(pairs.to_dicts()) == right


@pytest.mark.parametrize("side", LEXICAL)
def test_speed_of_lexical_metrics(samples: pl.DataFrame, side: str, benchmark: Any) -> None:
    benchmark.group = "lexical metrics"
    benchmark(LEXICAL[side], samples)


# Comparisons.


def test_a_comparison_gives_scipys_p_values_and_a_row_for_time_and_memory() -> None:
    pytest.importorskip("scipy", reason="needs the extra stats: pip install 'rankframe[stats]'")
    rows = list(comparing.comparing(1, 4, 120))  # it fails where p values differ
    assert [row.ratio is not None for row in rows] == [True, True]
    assert all(str(row).startswith("| compare, 4 runs x 120 queries, all 6 pairs") for row in rows)


@pytest.mark.parametrize("side", ["rankframe", "scipy"])
def test_speed_of_a_comparison(side: str, benchmark: Any) -> None:
    pytest.importorskip("scipy", reason="needs the extra stats: pip install 'rankframe[stats]'")
    report = comparing.report(4, 120)
    pairs = list(combinations(report.runs, 2))
    benchmark.group = "all pairs of 4 runs x 120 queries"
    benchmark(*((comparing.ours, report) if side == "rankframe" else (comparing.with_scipy, report, pairs)))
