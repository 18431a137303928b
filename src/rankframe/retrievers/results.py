"""What a retriever answers for one query, as ids and scores in the order of its ranking."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from rankframe.errors import DataError
from rankframe.retrievers.answers import results_in
from rankframe.retrievers.hits import NAMES, Collapse, Hit, keyed, recognised

Key = Callable[[Any], Any]


@dataclass(frozen=True, slots=True)
class Results:
    """The results of one query.

    docs: ids, best first, each once. scores: strictly in that order, the higher the better. own: what the retriever
    gave as scores, None where it gave none. n_collapsed: results left out because a better one is of the same document.
    """

    docs: list[str]
    scores: list[float]
    own: Sequence[float | None]
    n_collapsed: int


@dataclass(frozen=True, slots=True)
class Reader:
    """How answers are read: at most `limit` results, each by its structure or by `key`."""

    limit: int
    key: Key | None = None
    collapse: Collapse = "best"

    def results(self, answer: object) -> Results:
        """The results of one query.

        Raises:
            DataError: for an answer, or a result in it, that is not recognised.
        """
        hits = self._hits(answer)
        seen: dict[str, float | None] = {}
        for doc, score in hits:
            if doc not in seen:
                seen[doc] = score
            elif self.collapse == "none":
                raise DataError(
                    f'two results have the id {doc!r}; collapse="best" keeps the better one, or a key= tells them apart'
                )
        docs, own = list(seen), list(seen.values())
        if not all(map(str.isascii, docs)):
            _encodable(docs)
        return Results(docs, _in_order(docs, own), own, len(hits) - len(docs))

    def _hits(self, answer: object) -> list[Hit]:
        found = results_in(answer, self.limit, NAMES[self.collapse] if self.key is None else None)
        if self.key is not None:
            return [keyed(item, self.key) for item in found]
        return [  # pairs of text and float as they are: a call for each would be half of what a query costs
            item
            if type(item) is tuple and len(item) == 2 and type(item[0]) is str and type(item[1]) is float
            else recognised(item, self.collapse)
            for item in found
        ]


def _encodable(docs: Iterable[str]) -> None:
    for doc in docs:
        try:
            doc.encode()
        except UnicodeEncodeError as error:
            raise DataError(f"the id {doc!r} is no Unicode text (a lone surrogate)") from error


def _in_order(docs: Sequence[str], own: Sequence[float | None]) -> list[float]:
    """The retriever's scores where they give its order (with ties by id, descending), else minus the rank."""
    scores = [score for score in own if score is not None and score == score]  # noqa: PLR0124  # no NaN
    if len(scores) == len(docs) and all(one > other for one, other in pairwise(zip(scores, docs, strict=True))):
        return scores
    return [-float(rank) for rank in range(1, len(docs) + 1)]
