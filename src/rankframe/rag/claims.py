"""Claims: what a judge finds in a response, one by one, and which contexts support each.

The table that they make, `report.claims`, has a row for each claim and context, so what is counted in them is a
group-by: the share of claims without support, the contexts that nothing was taken from, the citations that hold.

>>> import polars as pl
>>> rows = by_context([Claim("It is red.", True, (2,)), Claim("It is old.", False, ())], 2, None)
>>> claims = pl.DataFrame(rows)
>>> claims.group_by("claim").agg(pl.col("supports").any()).select((~pl.col("supports")).mean()).item()
0.5
>>> claims.group_by("context").agg(pl.col("supports").any()).sort("context").rows()
[(1, False), (2, True)]
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rankframe.rag.replies import UnreadError, count, limited, listing, names, reason, text, verdict, whole

_TOLERANCE = 0.01 + 1e-9  # by how much a score that a judge reports may differ from the one that its counts give
_DIGITS = 6  # of the number of a context that is written as text


@dataclass(frozen=True, slots=True)
class Claim:
    """One claim. contexts: the places of those that support it, None where the judge did not say which."""

    text: str | None
    supported: bool | None = None
    contexts: tuple[int, ...] | None = None
    correct: bool | None = None
    reason: str | None = None
    of: str = "response"


def read_faithfulness(
    found: dict[str, Any], n_contexts: int, *, reference: bool = False
) -> tuple[list[Claim], str | None]:
    """The claims of a reply, and what in it does not add up though the counts are clear.

    Where the judge was shown a `reference`, it should say of each claim whether that states it.

    Raises:
        UnreadError: for an object that holds neither a list of claims nor counts, or holds bad ones.
    """
    if "claims" in found:
        claims = [_claim(one, place, n_contexts) for place, one in enumerate(listing(found, "claims"), 1)]
        flaws = _miscounted(found, len(claims), sum(claim.supported is True for claim in claims))
        silent = sum(claim.correct is None for claim in claims) if reference else 0
        flaws += [f'{silent} of {len(claims)} claims do not say "correct"'] if silent else []
    elif "total_claims" in found:
        claims, flaws = _counted(found)
    else:
        raise UnreadError(f'the object has no "claims", only {names(found)}')
    return claims, "; ".join(flaws) or None


def _counted(found: dict[str, Any]) -> tuple[list[Claim], list[str]]:
    """The claims of a reply that has only their numbers, and the texts of those without support."""
    total, supported = count(found, "total_claims"), count(found, "supported_claims")
    limited(total, "total_claims")
    if supported > total:
        raise UnreadError(f"{supported!s:.12} supported claims are more than all {total}")
    named = [] if found.get("unsupported") is None else listing(found, "unsupported")
    said = [text(one, "an unsupported claim") for one in named][: total - supported]
    claims = [
        *(Claim(None, supported=True) for _ in range(supported)),
        *(Claim(one, supported=False) for one in said),
        *(Claim(None, supported=False) for _ in range(total - supported - len(said))),
    ]
    flaws = _miscounted(found, total, supported)
    if len(named) != total - supported:
        flaws.append(f"the reply names {len(named)} claims as unsupported, and its counts give {total - supported}")
    return claims, flaws


def _miscounted(found: dict[str, Any], total: int, supported: int) -> list[str]:
    """Where the reply says other numbers than its claims give."""
    flaws = [
        f"the reply says {name} {found[name]!r:.20}, and its claims give {counted}"
        for name, counted in (("total_claims", total), ("supported_claims", supported))
        if found.get(name) is not None and whole(found[name]) != counted
    ]
    said = found.get("faithfulness_score")
    if total and said is not None and not _is_near(said, supported / total):
        flaws.append(f"the reply says faithfulness_score {said!r:.20}, and its counts give {supported / total:.4g}")
    return flaws


def _is_near(said: object, share: float) -> bool:
    is_share = isinstance(said, (int, float)) and not isinstance(said, bool) and 0 <= said <= 1
    return is_share and abs(said - share) <= _TOLERANCE  # type: ignore[operator]  # it is a number


def _claim(one: object, place: int, n_contexts: int) -> Claim:
    if not isinstance(one, dict):
        raise UnreadError(f"claim {place} is {one!r:.40}, not an object")
    said = text(one.get("claim"), f"claim {place}")
    correct = one.get("correct")
    contexts = _contexts(one["contexts"], place, n_contexts) if one.get("contexts") is not None else None
    told = {verdict(one[name]) for name in ("supported", "verdict") if one.get(name) is not None}
    if contexts is not None:
        told.add(bool(contexts))
    if not told:
        raise UnreadError(f'claim {place} has neither "contexts" nor "supported"')
    if len(told) > 1:
        beside = f", beside the contexts {list(contexts)!s:.40}" if contexts is not None else ""
        raise UnreadError(f"claim {place} is said to be supported and not to be{beside}")
    return Claim(said, told.pop(), contexts, None if correct is None else verdict(correct), reason(one))


def _contexts(given: object, place: int, n_contexts: int) -> tuple[int, ...]:
    if not isinstance(given, list):
        raise UnreadError(f"the contexts of claim {place} are {given!r:.40}, not a list")
    places = set()
    for one in given:
        number = _written(one) if isinstance(one, str) else whole(one)
        if number is None or not 1 <= number <= n_contexts:
            raise UnreadError(f"claim {place} names the context {one!r:.40}; there are {n_contexts}, from 1")
        places.add(number)
    return tuple(sorted(places))


def _written(number: str) -> int | None:
    """A whole number that is written as text in the digits 0 to 9, None for another text."""
    digits = number.strip()
    return int(digits) if digits.isascii() and digits.isdecimal() and len(digits) <= _DIGITS else None


def read_compared(found: dict[str, Any]) -> tuple[list[Claim], list[Claim]]:
    """The claims of a response, each with whether the reference states it, and those of the reference that it lacks.

    Raises:
        UnreadError: for an object that does not hold them.
    """
    claims = []
    for place, one in enumerate(listing(found, "claims"), 1):
        if not isinstance(one, dict):
            raise UnreadError(f"claim {place} is {one!r:.40}, not an object")
        if one.get("correct") is None:
            raise UnreadError(f'claim {place} has no "correct"')
        said = text(one.get("claim"), f"claim {place}")
        claims.append(Claim(said, correct=verdict(one["correct"]), reason=reason(one)))
    missing = [Claim(text(one, "a missing claim"), correct=False, of="reference") for one in listing(found, "missing")]
    return claims, missing


def by_context(claims: Sequence[Claim], n_contexts: int, ids: Sequence[str] | None) -> list[dict[str, Any]]:
    """A row for each claim and context; `ids` are those of the contexts.

    What a claim cites is an id of a context where there is one of that name, and the place of a context elsewhere.

    >>> rows = by_context([Claim("It is red [a].", True, (1,))], 2, ["a", "b"])
    >>> [(row["context_id"], row["supports"], row["cited"]) for row in rows]
    [('a', True, True), ('b', False, False)]
    """
    named = list(ids) if ids is not None and len(ids) == n_contexts else [None] * n_contexts
    return [
        {
            **_row(number, claim),
            "context": place,
            "context_id": name,
            "supports": place in claim.contexts if claim.contexts is not None else None if claim.supported else False,
            "cited": None if marks is None else name in marks or str(place) in marks - set(named),
        }
        for number, claim in enumerate(claims, 1)
        for marks in [_marks(claim)]
        for place, name in enumerate(named, 1)
    ]


def listed_claims(claims: Sequence[Claim]) -> list[dict[str, Any]]:
    """A row for each claim, beside no context."""
    nothing = dict.fromkeys(("context", "context_id", "supports", "cited"))
    return [{**_row(number, claim), **nothing} for number, claim in enumerate(claims, 1)]


def _row(number: int, claim: Claim) -> dict[str, Any]:
    return {
        "claim": number,
        "text": claim.text,
        "of": claim.of,
        "supported": claim.supported,
        "correct": claim.correct,
        "reason": claim.reason,
    }


def _marks(claim: Claim) -> set[str | None] | None:
    """What a claim cites in square brackets, places of contexts or their ids; None where it has no text."""
    from rankframe.metrics.texts_scalar import cited_sources

    return None if claim.text is None else {*cited_sources(claim.text)}
