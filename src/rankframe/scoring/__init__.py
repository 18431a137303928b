"""Runs and judgments in, a report out: `evaluate`, and `evaluate_ranking` where another engine found the ranks."""

from rankframe.scoring.evaluating import evaluate
from rankframe.scoring.given import evaluate_ranking
from rankframe.scoring.values import check_ranges

__all__ = ["check_ranges", "evaluate", "evaluate_ranking"]
