"""What is read of a judge's reply: whatever it is, there is a status, and never a number that nobody gave."""

from __future__ import annotations

import json
import time
from collections import Counter
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import rankframe as rf
from rankframe.rag.claims import read_compared, read_faithfulness
from rankframe.rag.judged_metrics import JudgedMetric
from rankframe.rag.replies import (
    RefusalError,
    UnreadError,
    count,
    last_valid,
    objects,
    printable,
    read_questions,
    score,
    shown,
    verdict,
)

from .malformed import CONTRACTS, MEGABYTE, NEVER_READ, PROSE, REFUSALS, Contract, Reply, huge, malformed
from .shared import answering, counts, evaluated, one_direction, samples, told

NUMBER = 1_000
FAILED = ("refused", "parse_error", "error")

METRICS: dict[str, Any] = {
    "faithfulness": lambda ask: rf.rag.faithfulness(llm=ask),
    "answer_relevance": lambda ask: rf.rag.answer_relevance(llm=ask, embed=one_direction),
    "correctness": lambda ask: rf.rag.correctness(llm=ask),
    "judged": lambda ask: rf.rag.judged("quality", "{response}", llm=ask),
}


def metric_of(contract: Contract, replies: list[Reply]) -> JudgedMetric:
    metric: JudgedMetric = METRICS[contract.metric](answering([reply.text for reply in replies]))
    return metric


# A thousand malformed replies.


@pytest.mark.parametrize("contract", CONTRACTS.values(), ids=CONTRACTS)
def test_a_thousand_malformed_replies_have_a_status_each(contract: Contract) -> None:
    """And no exception; there is a value where the status is ok, and nowhere else; the reply is kept as it was."""
    replies = malformed(contract, NUMBER, seed=len(contract.metric))
    assert len(replies) == NUMBER
    report = evaluated(metric_of(contract, replies), samples(NUMBER), timeout=None)
    found = told(report, "value", "status", "reason", "reply", "attempts")
    wrong = [
        (reply.kind, reply.text[:200], row)
        for reply, row in zip(replies, found, strict=True)
        if row[:2] != (None if reply.value is None else pytest.approx(reply.value), reply.status)
    ]
    assert wrong == []
    assert [row[3] for row in found] == [printable(reply.text) for reply in replies]
    assert {row[4] for row in found} <= {1, 2}  # the judge, and the embedder where it answered
    assert all(row[2] for row in found if row[1] != "ok")

    statuses = Counter(reply.status for reply in replies)
    assert set(statuses) == {"ok", "refused", "parse_error"}
    right = [reply.value for reply in replies if reply.value is not None]
    value, n, n_null, n_failed = counts(report)
    assert value == pytest.approx(sum(right) / len(right))
    assert (n, n_null) == (len(right), NUMBER - len(right))
    assert n_failed == sum(statuses[status] for status in FAILED)


def test_the_thousand_are_of_every_kind_and_the_same_again() -> None:
    contract = CONTRACTS["judged"]
    replies = malformed(contract, NUMBER, seed=1)
    assert replies == malformed(contract, NUMBER, seed=1)
    kinds = Counter(reply.kind for reply in replies)
    assert set(NEVER_READ) < set(kinds)
    assert min(number for kind, number in kinds.items() if kind != "huge") > 50
    assert len({reply.text for reply in replies}) > NUMBER / 2


@pytest.mark.parametrize("text", PROSE)
@pytest.mark.parametrize("metric", METRICS)
def test_no_prose_is_a_verdict(metric: str, text: str) -> None:
    report = evaluated_alone(metric, text)
    assert told(report, "value", "status") == [(None, "parse_error")]


@pytest.mark.parametrize("text", REFUSALS)
@pytest.mark.parametrize("metric", METRICS)
def test_a_refusal_is_told_from_a_reply_that_cannot_be_read(metric: str, text: str) -> None:
    report = evaluated_alone(metric, text)
    assert told(report, "value", "status", "reason", "reply") == [(None, "refused", "the judge refuses", text)]


def evaluated_alone(metric: str, reply: str) -> rf.Report:
    with pytest.warns(rf.errors.RankframeWarning, match=r"the judge failed for 1 sample, all that it was asked about"):
        return evaluated(METRICS[metric](lambda _: reply), samples(1))


@pytest.mark.parametrize("place", range(len(huge())))
def test_a_megabyte_is_read_in_a_moment(place: int) -> None:
    """In time that grows with its length, not with the square of that; a verdict behind it is still found."""
    text = huge()[place]
    began = time.process_time()
    for read in (lambda: score(text, 0, 1), lambda: last_valid(text, read_compared)):
        with pytest.raises(UnreadError):
            read()
    if _END_OF.get(text[:4]) is not None:
        assert score(text + _END_OF[text[:4]], 0, 1) == (0.5, None)
    assert time.process_time() - began < 10.0


_END_OF = {
    "{{{{": '{"score": 0.5}',
    "[[[[": '{"score": 0.5}',
    "    ": '{"score": 0.5}',
    "{ { ": '{"score": 0.5}',
    "{a{a": '{"score": 0.5}',
    '{"a"': '\n```\n{"score": 0.5}\n```',
    "....": ' {"score": 0.5}',
}
"""What may stand behind such a megabyte, so that there is a score."""


def test_a_long_reply_that_is_valid_is_read() -> None:
    claims = [{"claim": "x" * 1_000, "contexts": [1]} for _ in range(1_000)]
    text = json.dumps({"claims": claims})
    assert len(text) > MEGABYTE
    found, flaw = last_valid(text, lambda one: read_faithfulness(one, 1))
    assert (len(found), flaw) == (1_000, None)


# Laws.

_ANY = st.text(max_size=60)
_PROSE = st.text(alphabet="{}[]\"'`\\:,0123456789.eabc \n\u00e9\u6c34", max_size=60)
_NUMBERS = st.floats(0, 1) | st.integers(0, 1)
_LEAVES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | _ANY


def _nested(leaves: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.recursive(
        leaves, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_ANY, inner, max_size=3), max_leaves=8
    )


_JSON = _nested(_LEAVES)
_NEARLY_JSON = _nested(_LEAVES | st.floats())
_CLAIMS = st.lists(
    st.fixed_dictionaries(
        {"claim": st.text(min_size=1, max_size=20).filter(str.strip)},
        optional={"contexts": st.lists(st.integers(1, 3), max_size=4), "reason": _ANY},
    ).map(lambda claim: claim if "contexts" in claim else {**claim, "supported": True}),
    max_size=5,
)


@given(_PROSE, _PROSE, _NUMBERS, st.sampled_from([None, 2]), st.booleans())
def test_a_score_is_the_same_in_any_prose(
    before: str,
    behind: str,
    value: float,
    indent: int | None,
    fenced: bool,  # noqa: FBT001
) -> None:
    """Of which no brace begins another object."""
    braces = before.replace("{", "{{ ").replace("}", "} ")
    behind = behind.replace("{", "(")
    said = json.dumps({"score": value, "reason": "so"}, indent=indent)
    text = f"{braces}\n```json\n{said}\n```{behind}" if fenced else f"{braces} {said}{behind}"
    assert score(text, 0, 1) == (value, "so")


@given(_CLAIMS, st.lists(_NEARLY_JSON, max_size=3), st.lists(_NEARLY_JSON, max_size=3), st.booleans())
def test_claims_are_the_same_among_other_objects(
    claims: list[dict[str, Any]],
    before: list[Any],
    behind: list[Any],
    fenced: bool,  # noqa: FBT001
) -> None:
    """Whatever is JSON stands before them, or behind them and is no such object."""
    said = json.dumps({"claims": claims})
    alone = last_valid(said, lambda found: read_faithfulness(found, 3))
    assert len(alone[0]) == len(claims)
    others = [f"\n{json.dumps(one)}\n" for one in (*before, *behind)]
    block = f"\n```json\n{said}\n```\n" if fenced else said
    text = "".join([*others[: len(before)], block, *others[len(before) :]])
    assert last_valid(text, lambda found: read_faithfulness(found, 3)) == alone


@given(_CLAIMS, st.dictionaries(st.sampled_from(["total_claims", "supported_claims", "faithfulness_score"]), _JSON))
def test_claims_are_counted_whatever_else_is_said(claims: list[dict[str, Any]], more: dict[str, Any]) -> None:
    report = evaluated(
        rf.rag.faithfulness(llm=lambda _: json.dumps({**more, "claims": claims})),
        samples(1, retrieved_contexts=["a", "b", "c"]),
        timeout=None,
    )
    supported = sum(bool(claim.get("contexts", True)) for claim in claims)
    value = supported / len(claims) if claims else None
    assert told(report, "value", "status") == [(value, "ok" if claims else "no_claims")]
    assert counts(report)[3] == 0
    table = report.claims
    assert table["supports"].fill_null(value=False).sum() <= table.height
    assert table.unique("claim")["supported"].sum() == supported


@given(st.integers(0, 30), st.integers(0, 30), st.floats(-2, 2), st.integers(0, 30))
def test_counts_alone_give_their_share(total: int, supported: int, reported: float, named: int) -> None:
    found = {
        "total_claims": total,
        "supported_claims": supported,
        "faithfulness_score": reported,
        "unsupported": [f"claim {place}" for place in range(named)],
    }
    if supported > total:
        with pytest.raises(UnreadError, match=r"supported claims are more than all"):
            read_faithfulness(found, 1)
        return
    claims, flaw = read_faithfulness(found, 1)
    assert len(claims) == total
    assert sum(claim.supported is True for claim in claims) == supported
    off = total > 0 and abs(reported - supported / total) > 0.01
    assume(not total or abs(abs(reported - supported / total) - 0.01) > 1e-6)
    assert ("faithfulness_score" in (flaw or "")) == off
    assert ("as unsupported" in (flaw or "")) == (named != total - supported)


@given(
    st.one_of(
        _ANY, _PROSE, st.builds(lambda one, end: json.dumps(one)[:end], _NEARLY_JSON, st.integers(-9, 9) | st.none())
    )
)
def test_whatever_is_replied_is_read_or_unread(text: str) -> None:
    """No other error ever leaves the parser, and no number leaves the range."""
    readers: list[Any] = [
        lambda: score(text, 0, 1)[0],
        lambda: score(text, None, None)[0],
        lambda: last_valid(text, lambda found: read_faithfulness(found, 2)),
        lambda: last_valid(text, read_compared),
        lambda: last_valid(text, read_questions),
    ]
    for place, read in enumerate(readers):
        with suppress(UnreadError):
            value = read()
            assert place > 0 or 0 <= value <= 1


@given(_JSON.filter(lambda one: not isinstance(one, dict)))
def test_an_object_that_is_cut_off_is_never_read(inner: Any) -> None:
    """Not even where a whole one stands in it."""
    whole = json.dumps({"draft": {"score": 1}, "inner": inner, "score": 0})
    for end in range(1, len(whole)):
        with pytest.raises(UnreadError):
            score(whole[:end], 0, 1)


# By example.


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('{"a": 1} {"b": 2}', [{"a": 1}, {"b": 2}]),
        ('{"a": {"b": 1}}', [{"a": {"b": 1}}]),
        ('[{"a": 1}, {"b": "}"}]', [{"a": 1}, {"b": "}"}]),
        ('{"a": "\\"}"}', [{"a": '"}'}]),
        ('{"a": "{"} {"b": 1}', [{"a": "{"}, {"b": 1}]),
        ('{x {"a": 1}', [{"a": 1}]),
        ('{{"a": 1}}', [{"a": 1}]),
        ('{x: {"a": 1}}', []),
        ('{"x: {"a": 1}}', []),
        ('{/* {"a": 1} */}', []),
        ('{\n# {"a": 1}\n}', []),
        ('{\u201cx\u201d: {"a": 1}}', []),
        ("{'x': {\"a\": 1}}", []),
        ('{"a": 1', []),
        ('{"a": {"b": 1}', []),
        ('{"a": \n```json\n{"b": 1}\n```', [{"b": 1}]),
        ('{"a": \n```json\n{"b": 1\n```', []),
        ('{"a": \n```\n{"b": 1}\n```\n{"c": \n```\n{"d": 1}\n```', [{"d": 1}]),
        ('{"a": 1}\n```\n{"b": ', [{"a": 1}]),
        ('{"a": NaN} {"b": 1}', [{"b": 1}]),
        ('{"a": 1, "a": 1}', []),
        ('{"a": {"b": 1, "b": 2}}', []),
        ("{}", [{}]),
        ("{ }", [{}]),
        ("", []),
    ],
)
def test_objects_are_those_that_stand_alone(text: str, found: list[dict[str, Any]]) -> None:
    assert list(objects(text)) == found


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"score": 1}', 1.0),
        ('{"score": 0.0}', 0.0),
        ("0.7", 0.7),
        (" 1\n", 1.0),
        ("```json\n0.25\n```", 0.25),
        ("1e-3", 0.001),
        ('{"score": 0.2} {"score": 0.4}', 0.4),
        ('{"score": 0.2} {"score": 4}', 0.2),
        ('{"score": 0.2} {"verdict": "good"}', 0.2),
        ('[{"score": 0.2}, {"score": 0.4}]', 0.4),
        ('<think>{"score": 0.1} or so</think>{"score": 0.9}', 0.9),
        ("<thinking>\n0.1</thinking>\n\n0.9", 0.9),
    ],
)
def test_a_score_is_that_of_the_last_valid_object_or_the_whole_reply(text: str, value: float) -> None:
    assert score(text, 0, 1)[0] == value


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", r"^the reply is empty$"),
        ("0.7 of 1", r"^there is no whole JSON object in the reply$"),
        ('{"score": 4}', r"^4 is outside of the range 0 to 1$"),
        ('{"score": 1.0000001}', r"^1\.0000001 is outside of the range 0 to 1$"),
        ("-0.5", r"^-0\.5 is outside of the range 0 to 1$"),
        ('{"score": "0.7"}', r"^'0\.7' is no number$"),
        ('{"score": true}', r"^True is no number$"),
        ('{"score": 1e999}', r"^inf is no finite number$"),
        ('{"verdict": "good"}', r"""^the object has no "score", only 'verdict'$"""),
        ("{}", r'^the object has no "score", only nothing$'),
        ('<think>{"score": 1}', r"^the reply ends amid its thoughts"),
        ('{"score": 7} then {"score": 8}', r"^8 is outside"),
    ],
)
def test_why_there_is_no_score(text: str, why: str) -> None:
    with pytest.raises(UnreadError, match=why):
        score(text, 0, 1)


def test_a_message_about_a_long_object_is_short() -> None:
    text = json.dumps({"x" * 10_000 + str(place): 1 for place in range(100)})
    with pytest.raises(UnreadError) as caught:
        score(text, 0, 1)
    assert len(str(caught.value)) < 400


def test_open_ends_of_a_range_are_open() -> None:
    assert score('{"score": 1e300}', 0, None)[0] == 1e300
    assert score('{"score": -7}', None, 0)[0] == -7
    with pytest.raises(UnreadError, match=r"outside of the range any to 0"):
        score('{"score": 7}', None, 0)


@pytest.mark.parametrize("text", ["I cannot find a fault: 1", 'I can\'t say {"verdict": 1}', "The judge refuses."])
def test_only_what_begins_as_a_refusal_and_holds_no_object_is_one(text: str) -> None:
    with pytest.raises(UnreadError) as caught:
        score(text, 0, 1)
    assert isinstance(caught.value, RefusalError) == text.startswith("I cannot")


@pytest.mark.parametrize(
    ("value", "found"), [(True, True), (0, False), (1.0, True), (" Yes ", True), ("not supported", False)]
)
def test_verdicts_are_booleans_or_words_for_them(value: Any, found: bool) -> None:  # noqa: FBT001
    assert verdict(value) is found


@pytest.mark.parametrize("value", [2, -1, 0.5, "", "maybe", None, [], {}, float("inf"), 10**400])
def test_anything_else_is_no_verdict(value: Any) -> None:
    with pytest.raises(UnreadError, match=r"is no verdict; valid: true, false, yes, no$"):
        verdict(value)


@pytest.mark.parametrize(("value", "found"), [(0, 0), (3, 3), (3.0, 3)])
def test_counts_are_whole_numbers(value: Any, found: int) -> None:
    assert count({"n": value}, "n") == found


@pytest.mark.parametrize("value", [-1, 1.5, True, "3", None, float("inf"), float("nan"), [3]])
def test_anything_else_is_no_count(value: Any) -> None:
    with pytest.raises(UnreadError, match=r"^'n' is .*, not a whole number from 0$"):
        count({"n": value}, "n")


def test_numbers_in_messages_and_prompts_are_exact() -> None:
    assert [shown(one) for one in (1, 0.1, 1234567, -0.25, 1e-7, None)] == [
        "1",
        "0.1",
        "1234567",
        "-0.25",
        "1e-07",
        "any",
    ]


def test_an_object_that_no_message_can_show_is_unread() -> None:
    def read(_: dict[str, Any]) -> None:
        raise RecursionError

    with pytest.raises(UnreadError, match=r"^the object is nested too deeply$"):
        last_valid("{}", read)
    for depth in (10, 500, 900, 2_000):
        with pytest.raises(UnreadError):
            score(f'{{"score": {"[" * depth}{"]" * depth}}}', 0, 1)
