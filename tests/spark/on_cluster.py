"""Scores runs on a standalone cluster, in a process of its own, and says when it is in the middle of that.

`python -m tests.spark.on_cluster spark://host:port scores|evaluate FOLDER`: FOLDER has run/ and qrels/ as Parquet, and
gets `middle` (once a task of the work is done and others are running), `scores`, and last `ended` (how many executors
are left).
"""

from __future__ import annotations

import sys
import threading
import time
from pathlib import Path
from typing import Any

import rankframe.spark

from .shared import CONFIG, METRICS

WORK = "work"


def _say_when_in_the_middle(context: Any, path: Path) -> None:
    tracker = context.statusTracker()
    while True:
        for job in tracker.getJobIdsForGroup(WORK):
            for stage in getattr(tracker.getJobInfo(job), "stageIds", ()):
                info = tracker.getStageInfo(stage)
                if info and info.numCompletedTasks and info.numActiveTasks and info.numTasks > 4:
                    path.write_text(f"stage {stage}: {info.numCompletedTasks} of {info.numTasks} tasks are done")
                    return
        time.sleep(0.01)


def _executors(context: Any) -> int:
    return len(context._jsc.sc().statusTracker().getExecutorInfos()) - 1  # one is the driver


def main(master: str, what: str, folder: Path) -> None:
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master(master)
    for key, value in {**CONFIG, "spark.sql.shuffle.partitions": "16"}.items():
        builder = builder.config(key, value)
    # as on data that is larger: stages of many tasks, which are not put together again
    builder = builder.config("spark.sql.adaptive.coalescePartitions.enabled", "false")
    session = builder.config("spark.executor.memory", "1g").config("spark.local.dir", str(folder)).getOrCreate()
    context = session.sparkContext
    while _executors(context) < 2:
        time.sleep(0.1)
    run, qrels = session.read.parquet(str(folder / "run")), session.read.parquet(str(folder / "qrels"))
    say = threading.Thread(target=_say_when_in_the_middle, args=(context, folder / "middle"), daemon=True)
    if what == "scores":
        found = rankframe.spark.scores(run, qrels, metrics=METRICS)
        context.setJobGroup(WORK, "the scores are made")
        say.start()
        found.write.parquet(str(folder / "scores"))
    else:
        context.setJobGroup(WORK, "the ranks are found")
        say.start()
        report = rankframe.spark.evaluate(run, qrels, metrics=METRICS)
        (folder / "scores").mkdir()
        report.scores.write_parquet(folder / "scores" / "all.parquet")
    (folder / "ended").write_text(str(_executors(context)))
    session.stop()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], Path(sys.argv[3]))
