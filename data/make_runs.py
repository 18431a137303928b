"""Write the four runs of the handbook set: word BM25, character n-gram TF-IDF, stored dense vectors, and a fusion.

Usage: ``python data/make_runs.py`` (needs rankframe with the extra bm25). The output is deterministic. The vectors are
those that ``make_vectors.py`` wrote.
"""

from pathlib import Path

import rankframe as rf
from rankframe.retrievers import BM25, Dense, TfIdf

HANDBOOK = Path(__file__).resolve().parent / "handbook"
DEPTH = 20
FUSED = ("bm25", "dense")

corpus, queries = rf.read_corpus(HANDBOOK), rf.read_queries(HANDBOOK)
vectors = HANDBOOK / "vectors"
retrievers = {
    "bm25": BM25(corpus),
    "tfidf": TfIdf(corpus),
    "dense": Dense(vectors / "corpus.parquet", queries=vectors / "queries.parquet"),
}
runs = {name: rf.retrieve(retriever, queries, limit=DEPTH).run for name, retriever in retrievers.items()}
runs["rrf"] = rf.fuse({name: runs[name] for name in FUSED}, method="rrf", limit=DEPTH)
for name, run in runs.items():
    rf.write_run(run, HANDBOOK / "runs" / f"{name}.trec", tag=name)
