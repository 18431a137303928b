"""Claims: what a judge finds in a response, one by one, and which contexts support each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rankframe.rag.replies import UnreadError, count, listing, reason, text, verdict

_TOLERANCE = 0.01  # by how much a score that a judge reports may differ from the one that its counts give


@dataclass(frozen=True, slots=True)
class Claim:
    """One claim. contexts: the places of those that support it, None where the judge did not say which."""

    text: str | None
    supported: bool | None = None
    contexts: tuple[int, ...] | None = None
    correct: bool | None = None
    reason: str | None = None
    of: str = "response"


def read_faithfulness(found: dict[str, Any], n_contexts: int) -> tuple[list[Claim], str | None]:
    """The claims of a reply, and what in it does not add up though the counts are clear.

    Raises:
        UnreadError: for an object that holds neither a list of claims nor counts, or holds bad ones.
    """
    if "claims" in found:
        claims = [_claim(one, place, n_contexts) for place, one in enumerate(listing(found, "claims"), 1)]
        return claims, _flaw(found, len(claims), sum(claim.supported is True for claim in claims))
    if "total_claims" not in found:
        raise UnreadError(f'the object has no "claims", only {", ".join(map(repr, found)) or "nothing"}')
    total, supported = count(found, "total_claims"), count(found, "supported_claims")
    if supported > total:
        raise UnreadError(f"{supported} supported claims are more than all {total}")
    if total > _MOST:
        raise UnreadError(f"{total} claims are more than a response can hold")
    named = found.get("unsupported") or []
    if not isinstance(named, list):
        raise UnreadError(f"'unsupported' is {named!r:.40}, not a list")
    unsupported = [text(one, "an unsupported claim") for one in named][: total - supported]
    lost = total - supported - len(unsupported)
    claims = [
        *(Claim(None, supported=True) for _ in range(supported)),
        *(Claim(one, supported=False) for one in unsupported),
        *(Claim(None, supported=False) for _ in range(lost)),
    ]
    flaw = _flaw(found, total, supported)
    if len(named) != total - supported and not flaw:
        flaw = f"{len(named)} claims are named as unsupported, and {total - supported} are counted"
    return claims, flaw


_MOST = 1_000


def _flaw(found: dict[str, Any], total: int, supported: int) -> str | None:
    """Where the reply says other numbers than its claims give."""
    for name, counted in (("total_claims", total), ("supported_claims", supported)):
        said = found.get(name)
        if isinstance(said, (int, float)) and said != counted:
            return f"the reply says {name} {said}, and its claims give {counted}"
    said = found.get("faithfulness_score")
    if total and isinstance(said, (int, float)) and not abs(said - supported / total) <= _TOLERANCE:
        return f"the reply says faithfulness_score {said}, and its counts give {supported / total:.4g}"
    return None


def _claim(one: object, place: int, n_contexts: int) -> Claim:
    if not isinstance(one, dict):
        raise UnreadError(f"claim {place} is {one!r:.40}, not an object")
    said = text(one.get("claim"), f"claim {place}")
    correct = one.get("correct")
    contexts = _contexts(one["contexts"], place, n_contexts) if one.get("contexts") is not None else None
    told = [verdict(one[name]) for name in ("supported", "verdict") if one.get(name) is not None]
    if contexts is None and not told:
        raise UnreadError(f'claim {place} has neither "contexts" nor "supported"')
    supported = told[0] if told else bool(contexts)
    if contexts is not None and bool(contexts) != supported:
        raise UnreadError(f"claim {place} is said to be {_words(supported)}, and its contexts are {list(contexts)}")
    return Claim(said, supported, contexts, None if correct is None else verdict(correct), reason(one))


def _words(supported: bool) -> str:  # noqa: FBT001  # a word for a truth value
    return "supported" if supported else "unsupported"


def _contexts(given: object, place: int, n_contexts: int) -> tuple[int, ...]:
    if not isinstance(given, list):
        raise UnreadError(f"the contexts of claim {place} are {given!r:.40}, not a list")
    places = []
    for one in given:
        number = int(one) if isinstance(one, str) and one.strip().isdecimal() else one
        if isinstance(number, bool) or not isinstance(number, int) or not 1 <= number <= n_contexts:
            raise UnreadError(f"claim {place} names the context {one!r:.40}; there are {n_contexts}, from 1")
        places.append(number)
    return tuple(sorted(set(places)))


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
        claims.append(
            Claim(text(one.get("claim"), f"claim {place}"), correct=verdict(one["correct"]), reason=reason(one))
        )
    missing = [Claim(text(one, "a missing claim"), correct=False, of="reference") for one in listing(found, "missing")]
    return claims, missing


def by_context(claims: Sequence[Claim], n_contexts: int, ids: Sequence[str] | None) -> list[dict[str, Any]]:
    """A row for each claim and context; `ids` are those of the contexts."""
    names = list(ids) if ids is not None and len(ids) == n_contexts else [None] * n_contexts
    return [
        {
            **_row(number, claim),
            "context": place,
            "context_id": name,
            "supports": place in claim.contexts if claim.contexts is not None else None if claim.supported else False,
            "cited": None if claim.text is None else _cites(claim.text, place, name),
        }
        for number, claim in enumerate(claims, 1)
        for place, name in enumerate(names, 1)
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


def _cites(said: str, place: int, name: str | None) -> bool:
    """Whether a text has the mark of a context in square brackets: its place or its id."""
    from rankframe.metrics.texts_scalar import cited_sources

    return not {str(place), name}.isdisjoint(cited_sources(said))
