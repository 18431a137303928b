"""Run and judgments become the judged ranking.

Order, ties, duplicates and populations are decided here, nowhere else.
"""

from rankframe.ranking.judged import judged_blocks
from rankframe.ranking.judgments import Judgments, judge
from rankframe.ranking.population import Population
from rankframe.ranking.runs import Ranking, RunRanker, rank_run

__all__ = ["Judgments", "Population", "Ranking", "RunRanker", "judge", "judged_blocks", "rank_run"]
