"""Conventions: which queries count, and whose names and parameters are meant, under one name."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

from rankframe.errors import MetricError, nearest

Count = Literal["zero", "skip"]
SelfHits = Literal["keep", "drop"]


@dataclass(frozen=True, slots=True)
class Convention:
    """How queries without an answer count.

    missing: a judged query that the run misses scores 0 ("zero") or is left out ("skip").
    no_relevant: the same for a query without a relevant document.
    self_hits: "drop" takes documents whose id is the query's out of the run before it is ranked.
    failed: the same for a query whose retrieval failed; None is whatever holds for a missing one.
    dialect: whose metric names are meant where tools differ.
    """

    missing: Count = "zero"
    no_relevant: Count = "skip"
    self_hits: SelfHits = "keep"
    failed: Count | None = None
    dialect: str | None = None


CONVENTIONS: dict[str, Convention] = {
    "documented": Convention(),
    "trec_eval": Convention(missing="skip", no_relevant="zero", dialect="trec_eval"),
    "trec_eval_c": Convention(no_relevant="zero", dialect="trec_eval"),
    "ir_measures": Convention(no_relevant="zero", dialect="ir_measures"),
    "beir": Convention(missing="skip", no_relevant="zero", self_hits="drop", dialect="beir"),
}
"""The named conventions; `documented` is the default."""


def convention(
    name: str = "documented",
    *,
    missing: Count | None = None,
    no_relevant: Count | None = None,
    self_hits: SelfHits | None = None,
    failed: Count | None = None,
) -> Convention:
    """The convention of that name, with the options that are given instead of its own.

    Raises:
        MetricError: for an unknown name or option value.

    >>> convention("trec_eval", missing="zero") == convention("trec_eval_c")
    True
    """
    if not isinstance(name, str) or name not in CONVENTIONS:
        raise MetricError(f"unknown convention {name!r}: {nearest(str(name), list(CONVENTIONS))}")
    options: dict[str, Any] = {
        "missing": missing,
        "no_relevant": no_relevant,
        "self_hits": self_hits,
        "failed": failed,
    }
    for option, value in options.items():
        valid = ("keep", "drop") if option == "self_hits" else ("zero", "skip")
        if value is not None and value not in valid:
            raise MetricError(f"{option}={value!r}; valid: {', '.join(valid)}")
    return replace(CONVENTIONS[name], **{key: value for key, value in options.items() if value is not None})
