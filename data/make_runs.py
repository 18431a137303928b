"""Write the three runs of the handbook set: word BM25, character n-gram TF-IDF, and stored dense vectors.

Usage: ``python data/make_runs.py`` (needs rankframe with the extra bm25). The output is deterministic. The vectors are
those that ``make_vectors.py`` wrote.
"""

from pathlib import Path

import rankframe as rf
from rankframe.retrievers import BM25, Dense, TfIdf

HANDBOOK = Path(__file__).resolve().parent / "handbook"
DEPTH = 20

corpus, queries = rf.read_corpus(HANDBOOK), rf.read_queries(HANDBOOK)
vectors = HANDBOOK / "vectors"
retrievers = {
    "bm25": BM25(corpus),
    "tfidf": TfIdf(corpus),
    "dense": Dense(vectors / "corpus.parquet", queries=vectors / "queries.parquet"),
}
for name, retriever in retrievers.items():
    found = rf.retrieve(retriever, queries, limit=DEPTH)
    rf.write_run(found.run, HANDBOOK / "runs" / f"{name}.trec", tag=name)
