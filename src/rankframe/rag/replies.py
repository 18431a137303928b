"""What a judge's reply says: its last valid JSON object, amid any prose and fences; no number by its looks."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

T = TypeVar("T")

_MOST = 2_000  # braces that hold no object, after which a reply is given up
_OBJECT_BEGINS = re.compile(r"\{\s*[\"'}]")
_FENCE = re.compile(r"^\s*```[a-z]*\s*|\s*```\s*$")
_REFUSAL = re.compile(
    r"\W*(?:(?:i'?m|i am) (?:(?:very|so|really) )?(?:sorry|not able|unable)|sorry|i can(?:'?t|not)|i won'?t|"
    r"i (?:must|have to) (?:decline|refuse)|i (?:decline|refuse)|as an ai|unfortunately,? i (?:can|am|will))",
    re.IGNORECASE,
)
_APOSTROPHE = "\u2019"


class UnreadError(Exception):
    """A reply, or an object in it, does not hold what was asked for; the message says why."""


class RefusalError(UnreadError):
    """A reply that refuses instead of answering."""


def last_valid(reply: str, read: Callable[[dict[str, Any]], T]) -> T:
    """What `read` makes of the last JSON object of a reply for which it raises no `UnreadError`.

    Raises:
        RefusalError: where there is no object and the reply begins as refusals do.
        UnreadError: where there is none, or none is valid; the message is that of the last one.

    >>> last_valid('First {"score": 1}. No, rather: ```json {"score": 2}```', lambda found: found["score"])
    2
    """
    if not reply.strip():
        raise UnreadError("the reply is empty")
    failure: UnreadError | None = None
    for found in reversed(list(objects(reply))):
        try:
            return read(found)
        except UnreadError as error:
            failure = failure or error
    if failure is not None:
        raise failure
    if _REFUSAL.match(reply.replace(_APOSTROPHE, "'")):
        raise RefusalError("the judge refuses")
    raise UnreadError("there is no whole JSON object in the reply")


def objects(reply: str) -> Iterator[dict[str, Any]]:
    """The JSON objects of a reply that stand in no other, in their order.

    What stands inside of an object that is broken or cut off is none: a part of a verdict is not the verdict.

    >>> list(objects('{"a": {"b": 1}} and {"score": {"c": 2}, '))
    [{'a': {'b': 1}}]
    """
    place, failed = reply.find("{"), 0
    while place >= 0 and failed < _MOST:
        try:
            found, end = _DECODER.raw_decode(reply, place)
        except (ValueError, RecursionError):
            failed += 1
            end = _end_of(reply, place) if _OBJECT_BEGINS.match(reply, place) else place + 1
        else:
            yield found
        place = reply.find("{", end)


def _end_of(text: str, place: int) -> int:
    """Where the braces that open at a place are closed, the end of the text where they are not."""
    depth, inside, skip = 0, False, False
    for at in range(place, len(text)):
        letter = text[at]
        if skip:
            skip = False
        elif letter == "\\":
            skip = inside
        elif letter == '"':
            inside = not inside
        elif not inside and letter in "{}":
            depth += 1 if letter == "{" else -1
            if not depth:
                return at + 1
    return len(text)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a name stands there twice")
    return found


def _no_number(text: str) -> float:
    raise ValueError(f"{text} is no number")


_DECODER = json.JSONDecoder(object_pairs_hook=_unique, parse_constant=_no_number)


def score(reply: str, low: float | None, high: float | None) -> tuple[float, str | None]:
    """The number under "score" in the last object that has a valid one, or the number that is the whole reply.

    Returns:
        The number, and the text under "reason" where there is one.

    Raises:
        UnreadError: where there is no such number in the range.

    >>> score('{"score": 0.5, "reason": "half of it"}', 0, 1)
    (0.5, 'half of it')
    """

    def read(found: dict[str, Any]) -> tuple[float, str | None]:
        if "score" not in found:
            raise UnreadError(f'the object has no "score", only {", ".join(map(repr, found)) or "nothing"}')
        return within(found["score"], low, high), reason(found)

    try:
        alone = json.loads(_FENCE.sub("", reply), parse_constant=_no_number)
    except (ValueError, RecursionError):
        alone = None
    return (within(alone, low, high), None) if isinstance(alone, (int, float)) else last_valid(reply, read)


def within(value: object, low: float | None, high: float | None) -> float:
    """A number of the range, as it was given; anything else is an `UnreadError`."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise UnreadError(f"{value!r:.40} is no number")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise UnreadError(f"{value!r:.40} is no finite number")
    if (low is not None and number < low) or (high is not None and number > high):
        raise UnreadError(f"{number:g} is outside of the range {_end(low)} to {_end(high)}")
    return number


def _end(end: float | None) -> str:
    return "any" if end is None else f"{end:g}"


def reason(found: dict[str, Any]) -> str | None:
    """The text under "reason", if there is any."""
    said = found.get("reason")
    return said if isinstance(said, str) and said.strip() else None


def count(found: dict[str, Any], name: str) -> int:
    """The whole number from 0 under a name; anything else is an `UnreadError`."""
    value = found.get(name)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise UnreadError(f"{name!r} is {value!r:.40}, not a whole number from 0")
    return value


_YES = frozenset({"yes", "true", "supported", "correct"})
_NO = frozenset({"no", "false", "unsupported", "not supported", "incorrect"})


def verdict(value: object) -> bool:
    """A verdict: true or false, 1 or 0, or one of a few words for them; anything else is an `UnreadError`.

    >>> verdict("Yes"), verdict(0)
    (True, False)
    """
    if isinstance(value, bool) or (isinstance(value, (int, float)) and value in (0, 1)):
        return bool(value)
    word = value.strip().lower() if isinstance(value, str) else ""
    if word in _YES or word in _NO:
        return word in _YES
    raise UnreadError(f"{value!r:.40} is no verdict; valid: true, false, yes, no")


def text(value: object, what: str) -> str:
    """A text that says something; anything else is an `UnreadError`."""
    if not isinstance(value, str) or not value.strip():
        raise UnreadError(f"{what} is {value!r:.40}, not a text")
    return value.strip().encode(errors="replace").decode()


def listing(found: dict[str, Any], name: str) -> list[Any]:
    """The list under a name; anything else is an `UnreadError`."""
    value = found.get(name)
    if not isinstance(value, list):
        raise UnreadError(f"{name!r} is {value!r:.40}, not a list")
    return value
