"""Small inputs after public bug reports: one module per kind of fault, one test per case, named after its id.

Each test embeds its input and the right values. Around each case stand tests of the whole kind of fault.

The cases below are shown here by frames, files and metric names. Their other half needs a retriever and
belongs to the tests of `evaluate_retrieval`:

- results-without-scores: a retriever that returns bare ids; scores must be made up that keep its order.
- scores-are-distances: a retriever whose scores rise down its list; its order is the ranking.
- k-larger-than-corpus: a retriever that refuses a large limit; its own message reaches the caller.
- k-values-invalid: bad cutoffs are refused before the retriever is called once.
- retriever-returns-more-than-k: a retriever that ignores its limit.
- ids-mixed-types-sort: queries given as a mapping with keys of mixed types.
"""

RETRIEVER_HALF = (
    "results-without-scores",
    "scores-are-distances",
    "k-larger-than-corpus",
    "k-values-invalid",
    "retriever-returns-more-than-k",
    "ids-mixed-types-sort",
)
"""Ids of the cases whose retriever half is tested elsewhere; see above."""
