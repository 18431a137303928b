"""Measure every speed and memory aim and print one Markdown table.

    python -m tests.benchmarks [--quick] [--workload NAME ...] [--data FOLDER] [--pictures FOLDER]

Both sides of a row run in turn in each round; a ratio is the median of the ratios of the rounds.
"""

from __future__ import annotations

import argparse
import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import polars as pl

from . import peers
from .beyond import ROWS as ROWS_BEYOND
from .beyond import ROWS_OF_EACH, beyond, many_runs
from .comparing import comparing
from .data import WORKLOADS, Data, Workload, generate
from .engines import ROWS as ROWS_OF_ENGINES
from .engines import engines
from .growth import SIZES, growth
from .lexical import SAMPLES, lexical
from .retrievers import bm25_at_scale, cost_of_a_query, slow_retriever
from .rows import Aim, Row, Side, Times, faster, in_turn, needed, told

ROUNDS = 5
SMALL_ROUNDS = 41
IMPORT_ROUNDS = 15
SLOW_ROUNDS = 3
RUNS = 20
QUICK = 10  # --quick divides the queries of M and L, and the rows of K and of the many runs, by this
QUICK_ROWS = 2_000_000
QUICK_SIZES = (1_000_000, 2_000_000, 5_000_000)
NAMED = (
    *("rankframe", "polars", "numpy", "pytrec-eval-terrier", "ranx", "ir-measures", "bm25s", "ragas", "scipy"),
    *("pyspark", "duckdb"),
)
NOT_IMPORTED = ("numpy", "pyarrow", "typer")


def command(arguments: list[str]) -> None:
    peers.output(arguments)


# The rows.


def small(workload: Workload, rounds: int) -> Iterator[Row]:
    """S and G: frames in memory, where fixed cost counts."""
    data = generate(workload)
    run, qrels = peers.run_dict(data.run), peers.qrels_dict(data.qrels)
    peers.agree(peers.rankframe(data.run, data.qrels), peers.pytrec_eval_dicts(run, qrels))
    seconds = in_turn(
        {
            "ours": partial(peers.rankframe, data.run, data.qrels),
            "frames": partial(peers.pytrec_eval_frames, data.run, data.qrels),
            "dicts": partial(peers.pytrec_eval_dicts, run, qrels),
        },
        rounds,
    )
    name = f"{workload}, frames"
    yield faster(name, "pytrec_eval from a frame", seconds["ours"], seconds["frames"], Aim(1.4))
    yield faster(name, "pytrec_eval on ready dicts", seconds["ours"], seconds["dicts"])


def frames(data: Data, rounds: int) -> Iterator[Row]:
    """L in memory: ordered, and what the check for duplicates costs; shuffled; many runs."""
    qrels = peers.qrels_dict(data.qrels)
    run = peers.run_dict(data.run)
    ours = partial(peers.rankframe, data.run, data.qrels)
    peers.agree(ours(), peers.pytrec_eval_dicts(run, qrels))
    seconds = in_turn(
        {
            "ours": ours,
            "unchecked": partial(unchecked, ours),
            "theirs": partial(peers.pytrec_eval_dicts, run, qrels),
        },
        rounds,
    )
    name = f"{data.workload}, frames"
    ordered = f"{name}, ordered"
    yield faster(ordered, "pytrec_eval on ready dicts", seconds["ours"], seconds["theirs"], Aim(8, hoped=10))
    yield needed(ordered, "itself without the duplicate check", seconds["ours"], seconds["unchecked"])
    del run
    rows = data.shuffled()
    run = peers.run_dict(rows)
    told(f"{data.workload}, shuffled")
    seconds = in_turn(
        {
            "ours": partial(peers.rankframe, rows, data.qrels),
            "theirs": partial(peers.pytrec_eval_dicts, run, qrels),
        },
        rounds,
    )
    yield faster(f"{name}, shuffled", "pytrec_eval on ready dicts", seconds["ours"], seconds["theirs"], Aim(3))
    del run, rows
    told(f"{data.workload}, {RUNS} runs")
    runs = {f"run{number:02}": data.run for number in range(RUNS)}
    seconds = in_turn({"many": partial(peers.rankframe_runs, runs, data.qrels), "one": ours}, rounds)
    name = f"{data.workload}, frames, {RUNS} runs"
    yield needed(name, "one run", seconds["many"], seconds["one"], 18)
    singly = [RUNS * second for second in seconds["one"]]
    yield needed(name, f"{RUNS} evaluations, reckoned from one", seconds["many"], singly, 0.85)


def unchecked(ours: Side) -> object:
    """One evaluation without the check for duplicates."""
    with patch("rankframe.ranking.runs.repeated_groups", lambda _: np.empty(0, dtype=np.int64)):
        return ours()


def parquet(data: Data, folder: Path, rounds: int) -> Iterator[Row]:
    """L from Parquet files, end to end, and the memory of it."""
    files = data.parquet(folder)
    ours, theirs = partial(peers.rankframe, *files), partial(peers.pytrec_eval_parquet, *files)
    seconds = in_turn({"ours": ours, "theirs": theirs}, rounds)
    name = f"{data.workload}, Parquet"
    yield faster(name, "pytrec_eval", seconds["ours"], seconds["theirs"], Aim(6))
    our_peak, their_peak = (
        float(peers.output(peers.function_command(function, *files)).splitlines()[-1])
        for function in ("rankframe", "pytrec_eval_parquet")
    )
    told(f"  peak {our_peak:.0f} / {their_peak:.0f} MiB")
    yield needed(f"{name}, peak memory", "pytrec_eval", [our_peak], [their_peak], 0.4, " MiB")


def text(data: Data, folder: Path, rounds: int) -> Iterator[Row]:
    """L from TREC text: whole commands, start-up included."""
    files = data.trec(folder)
    ours, how = our_command(files, folder)
    trec_eval = peers.trec_eval_command(*files)
    sides = {"ours": partial(command, ours), "theirs": partial(command, peers.pytrec_eval_command(*files))}
    if trec_eval is not None:
        sides["trec_eval"] = partial(command, trec_eval)
    seconds = in_turn(sides, rounds)
    name = f"{data.workload}, TREC text, whole command ({how})"
    yield faster(name, "pytrec_eval", seconds["ours"], seconds["theirs"], Aim(6))
    if trec_eval is None:
        yield Row(name, "trec_eval (C)", aim=Aim(4))
    else:
        yield faster(name, "trec_eval (C)", seconds["ours"], seconds["trec_eval"], Aim(4))


def our_command(files: tuple[Path, Path], folder: Path) -> tuple[list[str], str]:
    """Our command line where it runs, else a call of the function; and which."""
    tried = generate(WORKLOADS["S"]).trec(folder)
    command_line = peers.rankframe_command(*tried)
    probe = subprocess.run(command_line, check=False, cwd=peers.ROOT, capture_output=True, text=True)
    if probe.returncode == 0:
        return peers.rankframe_command(*files), "rankframe evaluate"
    told(f"  the command line does not run, python -c instead: {probe.stderr.strip()[-200:]}")
    return peers.function_command("rankframe", *files), "python -c"


def dense_peers(workload: Workload, folder: Path, rounds: int, slow_rounds: int) -> Iterator[Row]:
    """M from Parquet against the peers in Python."""
    warm = generate(WORKLOADS["S"]).parquet(folder)
    peers.ranx_parquet(*warm)  # it compiles on its first call
    peers.ir_measures_parquet(*warm)
    files = generate(workload).parquet(folder)
    ours = partial(peers.rankframe, *files)
    name = f"{workload}, Parquet"
    seconds = in_turn({"ours": ours, "ranx": partial(peers.ranx_parquet, *files)}, rounds)
    yield faster(name, "ranx", seconds["ours"], seconds["ranx"], Aim(18))
    seconds = in_turn({"ours": ours, "ir_measures": partial(peers.ir_measures_parquet, *files)}, slow_rounds)
    yield faster(name, "ir_measures", seconds["ours"], seconds["ir_measures"], Aim(45))


IMPORT = """
import sys, time
started = time.perf_counter()
{statement}
print(time.perf_counter() - started, *(name for name in {names} if name in sys.modules))
"""


def imports(rounds: int) -> Iterator[Row]:
    """Import in a fresh interpreter: seconds of the statement itself, by the clock inside."""
    statements = {
        "import rankframe": "import rankframe",
        "from rankframe import evaluate": "from rankframe import evaluate",
        "import polars": "import polars",
    }
    seconds: Times = {name: [] for name in statements}
    loaded: dict[str, list[str]] = {}
    for number in range(rounds + 1):
        for name, statement in statements.items():
            code = IMPORT.format(statement=statement, names=NOT_IMPORTED)
            taken, *loaded[name] = peers.output([sys.executable, "-c", code]).split()
            if number:  # the first round reads the disk
                seconds[name].append(float(taken))
    for name in list(statements)[:2]:
        told(f"  {name} loads {loaded[name] or 'none'} of {NOT_IMPORTED}")
        found = f"loads {', '.join(loaded[name])}" if loaded[name] else f"loads no {', '.join(NOT_IMPORTED)}"
        missed = ", **missed**" if loaded["import rankframe"] and name == "import rankframe" else ""
        bound = 1.2 if name == "import rankframe" else None
        yield needed(f"`{name}` ({found}{missed})", "`import polars`", seconds[name], seconds["import polars"], bound)


# The command.


@dataclass(frozen=True, slots=True)
class Folders:
    """Where passing files go, where large runs are kept, and where pictures go, if anywhere."""

    passing: Path
    data: Path
    pictures: Path | None


def rows(chosen: Iterable[str], folders: Folders, *, quick: bool) -> Iterator[Row]:
    """Every row of the chosen workloads."""
    folder = folders.passing
    rounds = SLOW_ROUNDS if quick else ROUNDS
    large = {name: workload.smaller(QUICK) if quick else workload for name, workload in WORKLOADS.items()}
    for name in chosen:
        told(f"workload {name}")
        match name:
            case "S" | "G":
                yield from small(WORKLOADS[name], SMALL_ROUNDS)
            case "M":
                yield from dense_peers(large[name], folder, rounds, 1 if quick else SLOW_ROUNDS)
            case "L":
                data = generate(large[name])
                yield from frames(data, rounds)
                told("L, Parquet")
                yield from parquet(data, folder, rounds)
                told("L, TREC text")
                yield from text(data, folder, rounds)
            case "R":
                yield from slow_retriever(rounds)
                yield from cost_of_a_query(SMALL_ROUNDS)
                yield from bm25_at_scale(folder)
            case "T":
                yield from lexical(folder, SAMPLES // (QUICK if quick else 1), rounds, 1 if quick else SLOW_ROUNDS)
            case "C":
                yield from comparing(1, 5, 698) if quick else comparing(rounds)
            case "X" | "growth" | "K":
                yield from beyond_memory(name, folders, quick=quick)
            case _:
                yield from imports(SLOW_ROUNDS if quick else IMPORT_ROUNDS)


def beyond_memory(name: str, folders: Folders, *, quick: bool) -> Iterator[Row]:
    """The workloads on large files."""
    times, rounds = (QUICK, 1) if quick else (1, ROUNDS)
    match name:
        case "X":
            yield from beyond(folders.data, folders.passing, rounds, QUICK_ROWS if quick else ROWS_BEYOND)
            yield from many_runs(folders.data, rounds, ROWS_OF_EACH // times)
        case "growth":
            sizes = QUICK_SIZES if quick else SIZES
            yield from growth(folders.data, rounds, sizes, folders.pictures)
        case _:
            yield from engines(folders.data, folders.passing, rounds, ROWS_OF_ENGINES // times)


def installed(name: str) -> bool:
    try:
        version(name)
    except PackageNotFoundError:
        return False
    return True


def versions() -> str:
    return ", ".join(f"{name} {version(name)}" for name in NAMED if installed(name))


def main() -> None:
    everything = ["import", "S", "G", "M", "L", "R", "T", "C", "X", "growth", "K"]
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks", description=str(__doc__).partition("\n")[0])
    parser.add_argument(
        "--quick",
        action="store_true",
        help="a tenth of the queries of M and L, or less, fewer rounds: no word on the aims",
    )
    parser.add_argument("--workload", action="append", choices=everything, help="only these rows; may be repeated")
    parser.add_argument("--data", type=Path, help="where large runs are kept and found again, 3 GB; else they pass")
    parser.add_argument("--pictures", type=Path, help="where the pictures of growth and their numbers go")
    arguments: Any = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="rankframe-benchmarks-") as name:
        data = (arguments.data or Path(name) / "data").resolve()
        folders = Folders(Path(name), data, arguments.pictures)
        print("| workload | against | ratio | aim | seconds ours / theirs |")
        print("|---|---|---|---|---|")
        for row in rows(arguments.workload or everything, folders, quick=arguments.quick):
            print(row if not arguments.quick else replace(row, aim=None), flush=True)
    machine = f"{pl.thread_pool_size()} threads, {os.cpu_count()} cores"
    print(f"\nPython {platform.python_version()}, {versions()}; {machine}.")


if __name__ == "__main__":
    main()
