"""Draw what a report of the two lexical handbook runs holds: the difference of every query.

    pip install 'rankframe[plots]' && python data/make_picture.py

Writes `handbook/per_query.svg`.
"""

from __future__ import annotations

from pathlib import Path

import altair as alt

import rankframe as rf

HANDBOOK = Path(__file__).parent / "handbook"
METRIC = "ndcg@10"

beir = rf.read_beir(HANDBOOK)
report = rf.evaluate([HANDBOOK / "runs/bm25.trec", HANDBOOK / "runs/tfidf.trec"], beir.qrels, metrics=METRIC)
wide = report.scores.pivot("run_id", index="query_id", values=METRIC)
difference = wide.with_columns(difference=wide["tfidf"] - wide["bm25"]).sort("difference", "query_id")
means = {run: report.value(METRIC, run) for run in report.runs}

bars = (
    alt.Chart(difference)
    .mark_bar()
    .encode(
        x=alt.X("query_id:N", sort=difference["query_id"].to_list(), title="query"),
        y=alt.Y("difference:Q", title="nDCG@10, tfidf minus bm25"),
        color=alt.condition("datum.difference > 0", alt.value("#0072B2"), alt.value("#E69F00")),
    )
)
average = f"bm25 {means['bm25']:.3f}, tfidf {means['tfidf']:.3f} on average"
title = f"{difference.height} questions: {average}, and where they differ"
bars.properties(width=640, height=220, title=title).save(HANDBOOK / "per_query.svg")
