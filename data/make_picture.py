"""Draw what a report of the two lexical handbook runs holds: the difference of every query.

    pip install 'rankframe[plots]' && python data/make_picture.py

Writes `handbook/per_query.svg`.
"""

from __future__ import annotations

from pathlib import Path

import rankframe as rf

HANDBOOK = Path(__file__).parent / "handbook"

beir = rf.read_beir(HANDBOOK)
report = rf.evaluate([HANDBOOK / "runs/bm25.trec", HANDBOOK / "runs/tfidf.trec"], beir.qrels, metrics="ndcg@10")
changes = report.join(beir.queries).diff("bm25", "tfidf")
rf.plots.differences(changes, a="bm25", b="tfidf").save(HANDBOOK / "per_query.svg")
