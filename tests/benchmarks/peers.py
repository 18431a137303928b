"""One function per side: run and judgments in, the means of the same metrics out, by rankframe's names.

Every side computes the values of each query and their means. pytrec_eval has the reciprocal rank without a
cutoff only, which is mrr@1000 here, as no run is deeper. Imports stand in the functions, so that a subprocess
loads what it uses.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import polars as pl

Means = dict[str, float]
RunDict = dict[str, dict[str, float]]
QrelsDict = dict[str, dict[str, int]]

CUTOFFS = (5, 10, 100, 1000)
METRICS = tuple(f"{metric}@{k}" for metric in ("ndcg", "recall", "precision", "map", "mrr") for k in CUTOFFS)
_TREC_EVAL = {"ndcg": "ndcg_cut", "recall": "recall", "precision": "P", "map": "map_cut"}
_OUR_NAMES = {
    **{f"{theirs}_{k}": f"{ours}@{k}" for ours, theirs in _TREC_EVAL.items() for k in CUTOFFS},
    "recip_rank": "mrr@1000",
}
ROOT = Path(__file__).resolve().parents[2]


def agree(ours: Means, theirs: Means, tolerance: float = 1e-9) -> None:
    """Times are only worth something where both sides compute the same."""
    far = {name: (ours[name], mean) for name, mean in theirs.items() if not abs(ours[name] - mean) <= tolerance}
    if far or not theirs:
        raise AssertionError(f"means differ: {far or 'there are none'}")


# rankframe.


def rankframe(run: object, qrels: object) -> Means:
    """`rankframe.evaluate` on frames or paths; means alone, as no peer makes intervals."""
    from rankframe import evaluate

    return _our_means(evaluate(run, qrels, metrics=METRICS, convention="trec_eval").scores).row(0, named=True)


def rankframe_runs(runs: Mapping[str, pl.DataFrame], qrels: pl.DataFrame) -> pl.DataFrame:
    """`rankframe.evaluate` on many runs at once: the means of all."""
    import polars as pl

    from rankframe import evaluate

    scores = evaluate(runs, qrels, metrics=METRICS, convention="trec_eval").scores
    return scores.group_by("run_id", maintain_order=True).agg(pl.col(METRICS).mean())


def _our_means(scores: pl.DataFrame) -> pl.DataFrame:
    return scores.select(METRICS).mean()


def rankframe_command(run: Path, qrels: Path) -> list[str]:
    """The command line that evaluates files and prints means, as those of peers do; in JSON they have intervals too."""
    options = ["--metrics", ",".join(METRICS), "--convention", "trec_eval"]
    return [sys.executable, "-m", "rankframe", "evaluate", str(run), "--qrels", str(qrels), *options]


# pytrec_eval.


def pytrec_eval_dicts(run: Mapping[str, Mapping[str, float]], qrels: Mapping[str, Mapping[str, int]]) -> Means:
    """pytrec_eval on what it takes: nested dictionaries."""
    pytrec_eval: Any = import_module("pytrec_eval")
    measures = {f"{name}.{','.join(map(str, CUTOFFS))}" for name in _TREC_EVAL.values()} | {"recip_rank"}
    values = list(pytrec_eval.RelevanceEvaluator(qrels, measures).evaluate(run).values())
    return {ours: sum(value[theirs] for value in values) / len(values) for theirs, ours in _OUR_NAMES.items()}


def pytrec_eval_frames(run: pl.DataFrame, qrels: pl.DataFrame) -> Means:
    """pytrec_eval from frames, with the fastest way found to make dictionaries of them."""
    return pytrec_eval_dicts(run_dict(run), qrels_dict(qrels))


def pytrec_eval_parquet(run: Path | str, qrels: Path | str) -> Means:
    """pytrec_eval from Parquet files."""
    import polars as pl

    columns = ["query_id", "doc_id"]
    return pytrec_eval_frames(
        pl.read_parquet(run, columns=[*columns, "score"]),
        pl.read_parquet(qrels, columns=[*columns, "relevance"]),
    )


def pytrec_eval_text(run: Path | str, qrels: Path | str) -> Means:
    """pytrec_eval from TREC text, read by its own parsers."""
    pytrec_eval: Any = import_module("pytrec_eval")
    with Path(run).open() as run_lines, Path(qrels).open() as qrels_lines:
        return pytrec_eval_dicts(pytrec_eval.parse_run(run_lines), pytrec_eval.parse_qrel(qrels_lines))


def pytrec_eval_command(run: Path, qrels: Path) -> list[str]:
    """`pytrec_eval_text` as a command."""
    return function_command("pytrec_eval_text", run, qrels)


def run_dict(run: pl.DataFrame) -> RunDict:
    """A run as pytrec_eval takes it."""
    return _nested(run, "score")


def qrels_dict(qrels: pl.DataFrame) -> QrelsDict:
    """Judgments as pytrec_eval takes them."""
    import polars as pl

    return _nested(qrels.with_columns(pl.col("relevance").cast(pl.Int64)), "relevance")


def _nested(frame: pl.DataFrame, value: str) -> dict[str, dict[str, Any]]:
    grouped = frame.group_by("query_id").agg("doc_id", value)
    return {query: dict(zip(*pairs, strict=True)) for query, *pairs in grouped.iter_rows()}


# The others.


def ranx_parquet(run: Path, qrels: Path) -> Means:
    """ranx from Parquet files. Its first call compiles; under ties its values are not trec_eval's."""
    ranx: Any = import_module("ranx")
    pandas: Any = import_module("pandas")
    names = {"q_id_col": "query_id", "doc_id_col": "doc_id"}
    with pandas.option_context("future.infer_string", False):  # it takes text as `object` only
        judged = pandas.read_parquet(qrels).astype({"relevance": int})
        ranked = ranx.Run.from_parquet(str(run), score_col="score", **names)
        means = ranx.evaluate(ranx.Qrels.from_df(judged, score_col="relevance", **names), ranked, list(METRICS))
    return {name: float(mean) for name, mean in means.items()}


def ir_measures_parquet(run: Path, qrels: Path) -> Means:
    """ir_measures from Parquet files through pandas. Its RR breaks ties in another way than trec_eval."""
    ir_measures: Any = import_module("ir_measures")
    pandas: Any = import_module("pandas")
    names = {"ndcg": "nDCG", "recall": "R", "precision": "P", "map": "AP", "mrr": "RR"}
    measures = {getattr(ir_measures, theirs) @ k: f"{ours}@{k}" for ours, theirs in names.items() for k in CUTOFFS}
    judged = pandas.read_parquet(qrels).astype({"relevance": int})
    found = ir_measures.calc(list(measures), judged, pandas.read_parquet(run)).aggregated
    return {measures[measure]: float(mean) for measure, mean in found.items()}


def trec_eval_command(run: Path, qrels: Path) -> list[str] | None:
    """The C program as a command, None where it is not installed."""
    program = shutil.which("trec_eval")
    if program is None:
        return None
    cutoffs = ",".join(map(str, CUTOFFS))
    measures = [part for name in _TREC_EVAL.values() for part in ("-m", f"{name}.{cutoffs}")]
    return [program, "-q", *measures, "-m", "recip_rank", str(qrels), str(run)]


# Subprocesses.


def function_command(name: str, *arguments: Path) -> list[str]:
    """A function of this module as a command that prints its result and its peak of memory in MiB."""
    code = (
        "import sys; from tests.benchmarks import peers; print(getattr(peers, sys.argv[1])(*sys.argv[2:])); "
        "print(peers.peak_memory())"
    )
    return [sys.executable, "-c", code, name, *map(str, arguments)]


def output(command: list[str]) -> str:
    """Run a command to its end; what it printed."""
    return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout


def peak_memory() -> float:
    """The most memory that this process has held, in MiB.

    Linux hands `ru_maxrss` of the parent on to a program that it starts, so a large parent hides its
    children; VmHWM is the program's own.
    """
    status = Path("/proc/self/status")
    if status.exists():
        lines = dict(line.split(":", 1) for line in status.read_text().splitlines() if ":" in line)
        return int(lines["VmHWM"].split()[0]) / 1024
    import resource

    unit = 1024**2 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit
