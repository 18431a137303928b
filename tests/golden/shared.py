"""Where the golden data lies, and the runs and judgments in it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import polars as pl
import pytest

import rankframe as rf

GOLDEN = Path(__file__).resolve().parents[3] / "shared" / "golden"

present = pytest.mark.skipif(
    not GOLDEN.is_dir(), reason="the golden data (../shared/golden) is not beside this checkout"
)

_QRELS = {
    "acordar": "qrels/acordar_qrels.txt",
    "compat": "qrels/compat.qrels",
    "covid-round1": "qrels/qrels.covid-round1.txt",
    "robust03": "qrels/robust03_qrels.txt.gz",
    "scifact": "qrels/qrels.beir-v1.0.0-scifact.test.txt",
    "tar2017": "qrels/tar2017.qrels.gz",
    "web.251-300": "qrels/qrels.web.251-300.txt",
}
_SUITE = {
    "302": ("results-302.test", "qrels-302.test"),
    "rel_level": ("results.test", "qrels.rel_level"),
    "results.trunc": ("results.trunc", "qrels.test"),
}


@dataclass(frozen=True, slots=True)
class Pair:
    """A run and its judgments, with the values that other tools computed from them."""

    name: str

    @property
    def run_path(self) -> Path:
        collection, run = self.name.split("__")
        if collection == "trec_eval_suite":
            return GOLDEN / collection / _SUITE[run][0]
        found = [
            path
            for path in (GOLDEN / "runs" / collection).iterdir()
            if path.name.partition(".")[0] == run.partition(".")[0]
        ]
        return found[0]

    @property
    def qrels_path(self) -> Path:
        collection, run = self.name.split("__")
        return (
            GOLDEN / "trec_eval_suite" / _SUITE[run][1]
            if collection == "trec_eval_suite"
            else GOLDEN / _QRELS[collection]
        )

    def run(self) -> pl.DataFrame:
        return rf.read_run(self.run_path)

    def qrels(self) -> pl.DataFrame:
        return rf.read_qrels(self.qrels_path)

    def values(self) -> pl.DataFrame:
        return pl.read_parquet(GOLDEN / "values" / f"{self.name}.parquet")


PAIRS = [Pair(path.stem) for path in sorted((GOLDEN / "values").glob("*.parquet"))] if GOLDEN.is_dir() else []
