"""Evaluation on a Spark cluster: ranks are found where the runs are, and only what is judged comes back.

`evaluate` gives the report that `rankframe.evaluate` gives. `scores` is for judgments too many to collect: it gives a
Spark DataFrame. Both take the caller's DataFrames, classic or of Spark Connect, and leave the session as it is. PySpark
is the extra `spark`.
"""

from rankframe.spark.distributed import scores
from rankframe.spark.evaluating import evaluate

__all__ = ["evaluate", "scores"]
