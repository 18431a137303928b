"""What a judge's reply says: its last valid JSON object, amid any prose and fences; no number by its looks."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

from rankframe.errors import listed

T = TypeVar("T")

_MOST = 1_000  # entries of a list, as no response has more claims, and no judge is asked for more questions
_BEGINS = re.compile(  # an object, or what is meant as one, with other quotes, none or a comment: no brace of the prose
    r"\{\s*(?:[\"'}\u201c\u2018]|//|/\*|\#|[^\W\d]\w*[\"']?\s*:)"
)
_MARKS = re.compile(r'[{}]|"(?:[^"\\]++|\\.)*+"?', re.DOTALL)  # braces, and texts, whose braces are none
_FENCED = re.compile(r"\n[ \t]*```\w*\s*\{")
_ALONE = re.compile(r"(?:```\w*\s*)?(-?[0-9][0-9.eE+-]*)(?:\s*```)?")
_THOUGHTS = re.compile(r"\s*<(think(?:ing)?|thoughts?|reasoning)>")  # in front of the reply of who thinks aloud

_SORRY = (
    r"(?:i'?m|i am) (?:(?:very|so|really|truly) )?(?:sorry|afraid|not able|unable|not comfortable|not permitted)",
    r"(?:my )?(?:sincere )?(?:apologies|sorry)\b",
    r"i (?:sincerely )?apologi[sz]e",
    r"i (?:cannot|can'?t|can not|won'?t|will not|refuse|decline)\b",
    r"i (?:must|have to|need to) (?:respectfully )?(?:decline|refuse)",
    r"i (?:do not|don'?t) feel comfortable",
    r"i(?:'d| would) (?:rather|prefer) not\b",
    r"as an? (?:ai|artificial intelligence|(?:large )?language model|assistant)\b",
    r"unfortunately,? i\b",
    r"(?:unable|not able) to (?:assist|help|comply|evaluate|judge|answer)",
    r"es tut mir leid|tut mir leid|ich kann (?:das|dies|ihnen|dir) ?(?:leider )?nicht",
    r"(?:je suis )?désolée?\b|je ne peux pas",
    r"lo siento|no puedo\b",
    r"(?:很|非常)?抱歉|对不起|對不起|我(?:无法|無法|不能)",
    r"申し訳|すみません|죄송",
)
_REFUSAL = re.compile(rf"\W*+(?:{'|'.join(_SORRY)})", re.IGNORECASE)
_LOOKED_AT = 300  # letters of a reply that tell whether it refuses
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
    said = _without_thoughts(reply)
    if not said.strip():
        raise UnreadError("the reply is empty")
    failure: UnreadError | None = None
    for found in reversed(list(objects(said))):
        try:
            return read(found)
        except UnreadError as error:
            failure = failure or error
        except RecursionError:  # of values that can be parsed, and not shown in a message
            failure = failure or UnreadError("the object is nested too deeply")
    if failure is not None:
        raise failure
    if _REFUSAL.match(said.lstrip()[:_LOOKED_AT].replace(_APOSTROPHE, "'")):
        raise RefusalError("the judge refuses")
    raise UnreadError("there is no whole JSON object in the reply")


def _without_thoughts(reply: str) -> str:
    """The reply behind the thoughts that it begins with, which weigh verdicts and are none."""
    begun = _THOUGHTS.match(reply)
    if begun is None:
        return reply
    _, ended, said = reply.partition(f"</{begun[1]}>")
    if not ended:
        raise UnreadError("the reply ends amid its thoughts; allow a longer one")
    return said


def objects(reply: str) -> Iterator[dict[str, Any]]:
    """The JSON objects of a reply that stand in no other, in their order.

    What stands inside of an object that is broken or cut off is none: a part of a verdict is not the verdict. Behind
    one that is not closed, the last fenced block is looked at.

    >>> list(objects('{"a": {"b": 1}} and {"score": {"c": 2}, '))
    [{'a': {'b': 1}}]
    """
    place = 0
    while begins := _BEGINS.search(reply, place):
        start = begins.start()
        end = _end_of(reply, start)
        if end is None:
            fences = [match.end() for match in _FENCED.finditer(reply, start)]
            if not fences:
                return
            place = fences[-1] - 1
            continue
        place = end
        try:
            found = _DECODER.decode(reply[start:end])
        except (ValueError, RecursionError):
            continue
        yield found


def _end_of(text: str, start: int) -> int | None:
    """Where the braces that open at a place are closed, None where they are not."""
    depth = 0
    for mark in _MARKS.finditer(text, start):
        if mark[0] == "{":
            depth += 1
        elif mark[0] == "}":
            depth -= 1
            if not depth:
                return mark.end()
    return None


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
            raise UnreadError(f'the object has no "score", only {names(found)}')
        return within(found["score"], low, high), reason(found)

    if alone := _ALONE.fullmatch(_without_thoughts(reply).strip()):
        try:
            value = json.loads(alone[1])
        except ValueError:  # as in 1.2.3, or with more digits than a number may have
            pass
        else:
            return within(value, low, high), None
    return last_valid(reply, read)


def names(found: Iterable[str]) -> str:
    """The first names of an object, each as far as a message has room."""
    return listed([name[:40] for name in found]) or "nothing"


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
        raise UnreadError(f"{shown(number)} is outside of the range {shown(low)} to {shown(high)}")
    return number


def shown(number: float | None) -> str:
    """A number in its shortest exact form, "any" for an open end.

    >>> shown(2.0), shown(0.25), shown(None)
    ('2', '0.25', 'any')
    """
    return "any" if number is None else repr(float(number)).removesuffix(".0")


def reason(found: dict[str, Any]) -> str | None:
    """The text under "reason", if there is any."""
    said = found.get("reason")
    return printable(said) if isinstance(said, str) and said.strip() else None


def printable(text: str) -> str:
    r"""A text that a frame can hold: half a surrogate pair, which is no letter, becomes a question mark.

    >>> printable("kite \ud800")
    'kite ?'
    """
    return text.encode(errors="replace").decode()


def count(found: dict[str, Any], name: str) -> int:
    """The whole number from 0 under a name; anything else is an `UnreadError`."""
    value = whole(found.get(name))
    if value is None or value < 0:
        raise UnreadError(f"{name!r} is {found.get(name)!r:.40}, not a whole number from 0")
    return value


def whole(value: object) -> int | None:
    """A whole number, which may be written as 2.0; None for anything else."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


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
    return printable(value.strip())


def listing(found: dict[str, Any], name: str) -> list[Any]:
    """The list under a name; anything else, and one that is too long to be meant, is an `UnreadError`."""
    value = found.get(name)
    if not isinstance(value, list):
        raise UnreadError(f"{name!r} is {value!r:.40}, not a list")
    limited(len(value), name)
    return value


def limited(number: int, name: str) -> None:
    """`UnreadError` for more entries than a reply can mean."""
    if number > _MOST:
        raise UnreadError(f"{name!r} is {number!s:.12}, and no reply lists more than {_MOST:,}")


def read_questions(found: dict[str, Any]) -> tuple[list[str], bool | None]:
    """The different questions of a reply, and whether it calls the response noncommittal, None where it does not say.

    Raises:
        UnreadError: for an object that does not hold them.
    """
    questions = [text(one, "a question") for one in listing(found, "questions")]
    if not questions:
        raise UnreadError("there is no question in the reply")
    evasive = found.get("noncommittal")
    return list(dict.fromkeys(questions)), None if evasive is None else verdict(evasive)
