"""Replies as judges should not write them: a valid one is broken in one of many ways, by seed."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

MEGABYTE = 1_000_000
UNREAD, REFUSED = "parse_error", "refused"


@dataclass(frozen=True)
class Reply:
    """A reply, in which way it was made, and the status and value that are right for it."""

    kind: str
    text: str
    status: str
    value: float | None = None


@dataclass(frozen=True)
class Contract:
    """What a metric takes: how a valid object looks and what its value is, and objects that are JSON and invalid."""

    metric: str
    valid: Callable[[random.Random], tuple[dict[str, Any], float]]
    invalid: list[str] = field(default_factory=list)


REFUSALS = [
    "I cannot evaluate this.",
    "I can't help with that request.",
    "I\u2019m sorry, but I can\u2019t assist with that.",
    "I am very sorry, this content is not something that I can judge.",
    "Sorry, I am unable to comply.",
    "My apologies, but I must stop here.",
    "I apologize, but I will not rate this answer.",
    "As an AI language model, I do not judge people.",
    "As a large language model I have no opinion.",
    "I must respectfully decline.",
    "I won't take part in this.",
    "**I'm not able to** rate medical advice.",
    "Unfortunately, I am not permitted to answer.",
    "I do not feel comfortable judging this.",
    "Unable to assist with this request.",
    "I'd rather not.",
    "I'm afraid I can't do that.",
    "\u201cI refuse.\u201d",
    "抱歉，我无法评价这个回答。",
    "Es tut mir leid, das beurteile ich nicht.",
    "Je suis désolée, je ne peux pas évaluer cela.",
    "Lo siento, no puedo ayudar con eso.",
]
PROSE = [
    "",
    " \n\t ",
    "{",
    "}",
    "{}{}{}",
    "[]",
    "{{{{}}}}",
    "null",
    "true",
    "None",
    "Score: 0.7",
    "Out of 10 criteria I looked at 3; Score: 0.7",
    "The score is 1.0 (3/3 claims, 100%).",
    "Faithfulness score = 3/4 = 0.75",
    "0.5 or 0.7",
    "score: ٣/٤, or １ in other digits",
    "<html><head><title>502 Bad Gateway</title></head><body><h1>1</h1></body></html>",
    "<score>1</score>",
    "评分：0.9，所有陈述都有依据。",
    "- claim one: supported\n- claim two: supported\n\n**Result:** 2/2",
    "score = 1\nreason = 'all of it'",
    "Yes.",
    "\x00\x01\x02",
    "\ufeff",
    "\\frac{1}{2}",
    "The set {1, 2} and the template {score}.",
    "lone \ud800 surrogate",
    '{"',
    "{'",
    '"{\\"score\\": 1}"',
]


def _objects(*found: Any) -> list[str]:
    return [json.dumps(one) for one in found]


def _texts(*found: str) -> list[str]:
    return list(found)


def _each(make: Callable[[Any], dict[str, Any]], *values: Any) -> list[str]:
    return [json.dumps(make(value)) for value in values]


def _claims(rng: random.Random) -> tuple[dict[str, Any], float]:
    claims = [
        {"claim": f'Claim {place} {{of}} "it" 🦊.', "contexts": sorted(rng.sample([1, 2], rng.randrange(3)))}
        for place in range(rng.randrange(1, 6))
    ]
    return {"claims": claims}, sum(bool(claim["contexts"]) for claim in claims) / len(claims)


def _counts(rng: random.Random) -> tuple[dict[str, Any], float]:
    total = rng.randrange(1, 9)
    supported = rng.randrange(total + 1)
    names = [f"unsupported {place}" for place in range(total - supported)]
    share = supported / total
    counted = {"total_claims": total, "supported_claims": supported}
    return counted | {"faithfulness_score": share, "unsupported": names}, share


def _compared(rng: random.Random) -> tuple[dict[str, Any], float]:
    right, wrong, missing = rng.randrange(1, 4), rng.randrange(3), rng.randrange(3)
    claims = [{"claim": f"c{place}", "correct": place < right} for place in range(right + wrong)]
    value = 2 * right / (2 * right + wrong + missing)
    return {"claims": claims, "missing": [f"m{place}" for place in range(missing)]}, value


def _scored(rng: random.Random) -> tuple[dict[str, Any], float]:
    value = round(rng.random(), 3)
    return {"score": value, "reason": 'so {far} "so" good'}, value


def _claim(**parts: Any) -> dict[str, Any]:
    return {"claims": [{"claim": "It is.", "contexts": [1]}, {"claim": "It was.", **parts}]}


_OF_CLAIMS = [
    *_objects({}, {"score": 1}, {"claim": []}, {"claims": 3}, {"claims": None}, {"claims": {"claim": "a"}}),
    *_objects({"claims": ["a"]}, {"claims": [1]}, {"claims": [None]}, {"claims": [[]]}, {"result": {"claims": []}}),
    *_objects({"claims": [{"contexts": [1]}]}, {"claims": [{"claim": "", "contexts": [1]}]}),
    *_objects({"claims": [{"claim": 3, "contexts": [1]}]}, {"claims": [{"claim": ["a"], "contexts": [1]}]}),
    *_objects(_claim(), _claim(contexts=None), _claim(contexts=1), _claim(contexts="1"), _claim(contexts={})),
    *_each(lambda one: _claim(contexts=[one]), 0, 3, -1, 1.5, True, None, "one", "", "1.0", [1], 10**400),
    *_objects(_claim(contexts=["١"]), _claim(contexts=["9" * 5_000]), _claim(contexts=[1], supported=False)),
    *_objects(_claim(contexts=[], supported=True), _claim(supported="partly"), _claim(supported=2)),
    *_objects(_claim(supported=True, verdict=0), _claim(supported=0.5), _claim(contexts=[1], correct="maybe")),
    *_objects({"claims": [{"claim": "a", "contexts": [1]}] * 1_001}),
    *_texts(*(f'{{"claims": [{{"claim": "a", "contexts": [{n}]}}]}}' for n in ("NaN", "Infinity", "1e999", "01"))),
]


def _total(total: Any = 4, supported: Any = 3, **more: Any) -> dict[str, Any]:
    return {"total_claims": total, "supported_claims": supported, **more}


_OF_COUNTS = [
    *_objects({}, {"total_claims": 4}, {"supported_claims": 4}, {"faithfulness_score": 0.5}, {"Total_claims": 4}),
    *_each(_total, -4, 4.5, "4", True, None, [4], {}, 10**30, 10**400, 1e300, 2),
    *_each(lambda one: _total(supported=one), -1, 2.5, "3", True, None, [3], 5, 10**400),
    *_each(lambda one: _total(unsupported=one), "a", 1, {"a": 1}, [1], [None], [""], [{"claim": "a"}], False),
    *_texts(
        *(f'{{"total_claims": {n}, "supported_claims": 0}}' for n in ("NaN", "Infinity", "-Infinity", "1e999", "+4")),
        *(f'{{"total_claims": 4, "supported_claims": {n}}}' for n in ("NaN", "Infinity", "1e999", "0x3", "1_0")),
    ),
]
_OF_QUESTIONS = [
    *_objects({}, {"question": ["a"]}, {"questions": "a"}, {"questions": None}, {"questions": {}}, {"questions": []}),
    *_objects({"questions": [""]}, {"questions": [1]}, {"questions": ["a", None]}, {"questions": [["a"]]}),
    *_each(lambda one: {"questions": ["a"], "noncommittal": one}, "maybe", 2, [], {}, 0.5, -1),
    *_objects({"questions": ["a"] * 1_001}, {"data": {"questions": ["a"]}}),
    *_texts('{"questions": ["a", NaN]}', '{"questions": ["a"], "noncommittal": NaN}'),
]
_OF_COMPARED = [
    *_objects({}, {"claims": []}, {"missing": []}, {"claims": 1, "missing": []}, {"claims": ["a"], "missing": []}),
    *_objects({"claims": [{"claim": "a"}], "missing": []}, {"claims": [{"correct": True}], "missing": []}),
    *_each(lambda one: {"claims": [{"claim": "a", "correct": one}], "missing": []}, "maybe", 2, -1, [], {}, 0.5),
    *_each(lambda one: {"claims": [], "missing": one}, "a", 1, {}, [1], [""], [None], ["a"] * 1_001, None),
    *_texts('{"claims": [{"claim": "a", "correct": NaN}], "missing": []}'),
]
_OF_SCORES = [
    *_objects({}, {"verdict": "good"}, {"Score": 1}, {"scores": [1]}, {"result": {"score": 1}}, [1], "0.5"),
    *_each(lambda one: {"score": one}, "0.5", "high", True, False, None, [1], {"value": 1}, "", 10**400),
    *_each(lambda one: {"score": one}, -0.001, 1.001, 7, -1, 100, 1e300),
    *_texts(
        *(f'{{"score": {n}}}' for n in ("NaN", "Infinity", "-Infinity", "1e999", "-1e999", ".5", "+1", "1.", "１"))
    ),
    *_texts(*(f'{{"score": {n}}}' for n in ("1,5", "50%", "1/2", "0x1", "1_0", "9" * 5_000, "--1"))),
    *_texts("7", "-1", "NaN", "1e999", "```\n7\n```", "1.2.3", "true", "0.5.", "1" * 5_000),
]


def _reading_questions(_: random.Random) -> tuple[dict[str, Any], float]:
    return {"questions": ["Is it {so}?", 'Is "it"?', "It?"], "noncommittal": False}, 1.0


CONTRACTS = {
    "faithfulness by claims": Contract("faithfulness", _claims, _OF_CLAIMS),
    "faithfulness by counts": Contract("faithfulness", _counts, _OF_COUNTS),
    "answer_relevance": Contract("answer_relevance", _reading_questions, _OF_QUESTIONS),
    "correctness": Contract("correctness", _compared, _OF_COMPARED),
    "judged": Contract("judged", _scored, _OF_SCORES),
}


# A valid object broken as text, whatever it holds: nothing may be read of it.


def _truncated(said: str, rng: random.Random) -> str:
    return said[: rng.randrange(1, len(said))]


def _broken(said: str, rng: random.Random) -> str:
    """One of many things that are nearly JSON."""
    first = said.index(":") + 1
    ways: list[Callable[[], str]] = [
        lambda: said.replace('"', "'"),
        lambda: f"{said[:-1]},}}",
        lambda: f"{said[:-1]}, // a comment\n}}",
        lambda: f"{{/* a comment */{said[1:]}",
        lambda: f"{said[:first]} # a comment\n{said[first:]}",
        lambda: said.replace('"', "\u201c"),
        lambda: said.replace(":", "=", 1),
        lambda: f"{said[:-1]}]",
        lambda: said.replace('"', "", 1),
        lambda: said.replace('"', "", 2),
        lambda: f"{{// a comment\n{said[1:]}",
        lambda: f"{said[:first]} None, {said[1:]}",
        lambda: f"{said[:first]} undefined, {said[1:]}",
        lambda: said.replace('"', '\\"'),
        lambda: f'{said[:-1]}, "more": "a\nb"}}',
        lambda: f'{said[:-1]}, "more": "\x01"}}',
        lambda: f'{said[:-1]}, "more": "\\x41"}}',
        lambda: f'{said[:-1]}, "more": NaN}}',
        lambda: f"{said[:-1]} {said[1:]}",
    ]
    return rng.choice(ways)()


def _twice(said: str, _: random.Random) -> str:
    return f"{said[:-1]}, {said[1:]}"


def _inside(said: str, rng: random.Random) -> str:
    """An object that holds the valid one."""
    ways = ['{"result": %s}', '{"result": [%s]}', '{"a": {"b": {"c": %s}}}', '{"thought": "{", "answer": %s}']
    return rng.choice(ways).replace("%s", said)


def _amid(said: str, rng: random.Random) -> str:
    """The valid one inside of one that is cut off."""
    ways = ['{"result": %s', '{"draft": %s, "final": {"sco', '[{"a": {"b": %s}, ', '{"thought": "so", "answer":\n%s\n']
    return rng.choice(ways).replace("%s", said)


def huge(said: str = '{"score": 1}') -> list[str]:
    """Replies of a megabyte, and of more, that hold no whole object."""
    return [
        "{" * MEGABYTE,
        "[" * MEGABYTE,
        '{"a":' * (MEGABYTE // 5),
        '{"}' * (MEGABYTE // 3),
        "{'" * (MEGABYTE // 2),
        "{ " * (MEGABYTE // 2),
        "{a" * (MEGABYTE // 2),
        "{a:" * (MEGABYTE // 3),
        " " * MEGABYTE + "x",
        "{" + " " * MEGABYTE + "x",
        '{"a": "' + "x" * MEGABYTE,
        '{"' + "\\" * MEGABYTE,
        '{"a": ' + "[" * MEGABYTE + "]" * MEGABYTE + "}",
        '{"a":' * (MEGABYTE // 5) + "1" + "}" * (MEGABYTE // 5),
        "\n```json\n{" * (MEGABYTE // 10),
        '\n```json\n{"' * (MEGABYTE // 11),
        '{"a" 1} ' * (MEGABYTE // 8),
        "5" * MEGABYTE,
        "5" + " " * MEGABYTE + "x",
        "```" + "\n" * MEGABYTE + "x",
        "." * MEGABYTE,
        "<think>" * (MEGABYTE // 7),
        said[:-1] + " " * MEGABYTE,
        said.replace(":", ": " + "9" * MEGABYTE + ",", 1),
    ]


NEVER_READ: dict[str, Callable[[str, random.Random], str]] = {
    "truncated": _truncated,
    "broken": _broken,
    "names twice": _twice,
    "inside of another": _inside,
    "amid one that is cut off": _amid,
}


# A valid object among other text: it is read.


def _among(said: str, rng: random.Random) -> str:
    ways = [
        "```json\n%s\n```",
        "```\n%s```",
        "Here it is:\n\n%s\n\nLet me know if you need more.",
        "I count 3 of 4, so 0.75: %s",
        "[%s]",
        "{%s}",
        "<answer>%s</answer>",
        '<think>perhaps {"score": 0.123}, or {"claims": [] ...</think>\n%s',
        "\ufeff%s",
        "The set {1, 2}, \\frac{1}{2} and {name}: %s {x}",
        "结论：%s。",
        'It\u2019s "so" {\n%s',
        "%s\r\n\r\n",
        'Reply with {"verdict": "..."}: %s',
        "{'draft': 'no'} %s",
        "I can't be sure, but: %s",
        'I begin with {"score": and then, in a block:\n```json\n%s\n```',
        "%s" + " " * 1_000 + "}",
    ]
    return rng.choice(ways).replace("%s", said)


def malformed(contract: Contract, number: int, seed: int) -> list[Reply]:
    """Replies to a judge's prompt, of every kind in turn, each with what is right for it."""
    rng = random.Random(seed)
    found: list[Reply] = []
    large = iter(rng.sample(huge(), 4))
    while len(found) < number:
        valid, value = contract.valid(rng)
        said = json.dumps(valid, ensure_ascii=rng.random() < 0.5, indent=rng.choice([None, 2]))
        wrong = rng.choice(contract.invalid)
        found += [Reply(kind, make(said, rng), UNREAD) for kind, make in NEVER_READ.items()]
        found += [
            Reply("invalid", wrong, UNREAD),
            Reply("prose", rng.choice(PROSE), UNREAD),
            Reply("refusal", rng.choice(REFUSALS), REFUSED),
            Reply("among", _among(said, rng), "ok", value),
            Reply("valid, then invalid", f"{said}\n{wrong}", "ok", value),
            Reply("invalid, then valid", f"{wrong}\n{said}", "ok", value),
            Reply("valid, then broken", f"{said} or {_broken(said, rng)}", "ok", value),
        ]
        if len(found) % 240 == 0:
            found[-1] = Reply("huge", next(large), UNREAD)
    return found[:number]
