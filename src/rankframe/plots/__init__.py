"""Pictures of reports: each is a function of a report's frame, and gives the frame that it draws beside the chart.

Altair draws them, extra `plots`; this module loads without it.

>>> import rankframe as rf
>>> qrels = {"q1": {"d1": 1, "d2": 0}, "q2": {"d3": 1}}
>>> report = rf.evaluate({"q1": {"d1": 2.0, "d2": 1.0}, "q2": {"d1": 1.0}}, qrels, metrics=["map", "mrr"])
>>> picture = rf.plots.summary(report.summary)  # doctest: +SKIP
>>> picture.save("intervals.svg")  # doctest: +SKIP
"""

from rankframe.plots.bars import differences
from rankframe.plots.cells import end_to_end, slices
from rankframe.plots.lines import cutoffs, precision_recall, summary
from rankframe.plots.picture import Picture

__all__ = ["Picture", "cutoffs", "differences", "end_to_end", "precision_recall", "slices", "summary"]
