"""A hundred million rows: in little memory, shuffled or not, and with a bad row far behind."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import rankframe as rf
from tests.benchmarks.large import Large

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform != "linux", reason="limits and peaks of Linux")]

ROWS = 100_000_000
FAR = 90_000_000
LARGE = Large(ROWS)
METRICS = ["ndcg@10", "recall@100", "map@1000", "mrr@10"]

_EVALUATED = """
import json, resource, sys
import rankframe as rf
run, qrels, scores, address_space = sys.argv[1:]
if int(address_space):
    resource.setrlimit(resource.RLIMIT_AS, (int(address_space), int(address_space)))
report = rf.evaluate({"run": run}, qrels, metrics=%s, per_query=scores)
peak = next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(json.dumps({"peak": peak * 1024, "ledger": report.ledger.rows()}))
""" % json.dumps(METRICS)  # noqa: UP031  # braces of a dictionary


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    """Where two gigabytes of rows stand while these tests run, and four more for a while."""
    with tempfile.TemporaryDirectory(prefix="rankframe-large-") as name:
        yield Path(name)


@pytest.fixture(scope="module")
def qrels(folder: Path) -> Path:
    return LARGE.qrels(folder)


@pytest.fixture(scope="module")
def grouped(folder: Path) -> Path:
    return LARGE.run(folder, "grouped")


@pytest.fixture(scope="module")
def shuffled(folder: Path) -> Path:
    return LARGE.run(folder, "shuffled")


def _evaluated(run: Path, qrels: Path, scores: Path, *, spill: Path, address_space: int = 0) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-c", _EVALUATED, str(run), str(qrels), str(scores), str(address_space)],
        env={**os.environ, "TMPDIR": str(spill)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    told: dict[str, Any] = json.loads(done.stdout)
    return told


def test_grouped_and_shuffled_rows_score_alike_in_little_memory(
    folder: Path, qrels: Path, grouped: Path, shuffled: Path
) -> None:
    """The shuffled rows in four gigabytes of address space; of the sorting out nothing is left."""
    spill = folder / "spill"
    spill.mkdir()
    first = _evaluated(grouped, qrels, folder / "grouped.parquet", spill=spill)
    second = _evaluated(shuffled, qrels, folder / "shuffled.parquet", spill=spill, address_space=4 << 30)
    assert first["ledger"] == second["ledger"]
    assert first["peak"] < 700e6
    assert second["peak"] < 900e6
    ours, right = (pl.read_parquet(folder / f"{name}.parquet") for name in ("shuffled", "grouped"))
    assert_frame_equal(ours, right, check_exact=False, rel_tol=0, abs_tol=1e-12)
    assert right.height == LARGE.queries + 3
    assert not list(spill.iterdir())


def _with(run: Path, folder: Path, row: dict[str, Any] | None) -> Path:
    """The run with another row at a place far behind, or the row of that place twice."""
    folder.mkdir(exist_ok=True)
    for file in run.iterdir():
        link = folder / file.name
        link.unlink(missing_ok=True)
        link.symlink_to(file)
    number, at = divmod(FAR, LARGE.file_rows)
    place = folder / f"part-{number:03}.parquet"
    frame = pl.read_parquet(place)
    here = frame.slice(at, 1)
    changed = (
        here if row is None else here.with_columns(pl.lit(v, dtype=frame.schema[k]).alias(k) for k, v in row.items())
    )
    parts = [frame.head(at), *([here] if row is None else []), changed, frame.slice(at + 1)]
    place.unlink()
    pl.concat(parts).write_parquet(place)
    return folder


_LEFT_OUT = r'invalid="drop" leaves such rows out'


@pytest.mark.parametrize(
    ("layout", "row", "told"),
    [
        ("grouped", {"score": float("nan")}, rf"1 NaN score, in 1 row: \(q\d+, doc\d+\); {_LEFT_OUT}"),
        ("grouped", {"doc_id": None}, rf"1 null doc_id, in 1 row: \(q\d+, None\); {_LEFT_OUT}"),
        ("shuffled", {"query_id": None}, rf"1 null query_id, in 1 row: \(None, doc\d+\); {_LEFT_OUT}"),
        ("shuffled", {"score": None}, rf"1 null score, in 1 row: \(q\d+, doc\d+\); {_LEFT_OUT}"),
        ("grouped", None, r"1 \(query, document\) pair more than once: \(q\d+, doc\d+\); duplicates=\"best\" keeps"),
        ("shuffled", None, r"1 \(query, document\) pair more than once: \(q\d+, doc\d+\); duplicates=\"best\" keeps"),
    ],
)
def test_a_bad_row_far_behind_is_a_clear_error(
    layout: str, row: dict[str, Any] | None, told: str, folder: Path, qrels: Path, grouped: Path, shuffled: Path
) -> None:
    out = folder / "out"
    out.mkdir(exist_ok=True)
    bad = _with(grouped if layout == "grouped" else shuffled, folder / "bad", row)
    with pytest.raises(rf.DataError, match=f"bad: {told}"):
        rf.evaluate(bad, qrels, metrics=METRICS, per_query=out / "scores.parquet")
    assert not list(out.iterdir())
