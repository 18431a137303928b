"""Judged metrics: what their values mean, what stands beside them, and that no failure ever passes for a value."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

import rankframe as rf
from rankframe.errors import DataError, MetricError, RankframeWarning
from rankframe.metrics.metric import Metric
from rankframe.rag.judged_metrics import JudgedMetric
from rankframe.rag.judges import Embedder, Judge, Refused, Truncated

from .shared import RELEVANT, Asked, answering, counts, evaluated, ledger, one_direction, place_of, samples, told

HANDBOOK = Path(__file__).parents[2] / "data" / "handbook" / "samples.jsonl"

COMPARED = '{"claims": [{"claim": "a", "correct": true}, {"claim": "b", "correct": false}], "missing": ["c"]}'
QUESTIONS = '{"questions": ["q1", "q2", "q3"], "noncommittal": false}'

Make = Callable[[Any], JudgedMetric]
METRICS: dict[str, tuple[Make, str, float]] = {
    "faithfulness": (lambda llm: rf.rag.faithfulness(llm=llm), RELEVANT, 0.5),
    "correctness": (lambda llm: rf.rag.correctness(llm=llm), COMPARED, 0.5),
    "answer_relevance": (lambda llm: rf.rag.answer_relevance(llm=llm, embed=one_direction), QUESTIONS, 1.0),
    "tone": (lambda llm: rf.rag.judged("tone", "{response}", llm=llm), '{"score": 0.25, "reason": "so"}', 0.25),
}
every_metric = pytest.mark.parametrize("name", METRICS)


def made(name: str, llm: Any) -> JudgedMetric:
    return METRICS[name][0](llm)


# No failure passes for a value.

FAILURES: dict[str, tuple[Any, str]] = {
    "prose": ("The answer is fine: 1.0", "parse_error"),
    "empty": ("", "parse_error"),
    "cut off": ('{"score": 0.9, "claims": [', "parse_error"),
    "another object": ('{"verdict": "good"}', "parse_error"),
    "numbers as text": ('{"score": "1", "claims": "2", "questions": "3"}', "parse_error"),
    "refusal": ("I'm sorry, but I can't judge this.", "refused"),
    "refused": (Refused("not allowed"), "refused"),
    "too long": (Truncated('{"score": 1'), "parse_error"),
    "error": (RuntimeError("out of order"), "error"),
    "no connection": (ConnectionError("reset"), "error"),
    "no text": (7, "error"),
    "none": (None, "error"),
}
NUMBER = 10


@every_metric
@pytest.mark.parametrize("failure", FAILURES)
def test_a_judge_that_fails_for_half_of_the_samples_moves_no_mean_unseen(name: str, failure: str) -> None:
    """The value is the mean of the others, and the number that failed stands beside it."""
    given, status = FAILURES[failure]
    make, good, right = METRICS[name]
    judge = Asked(answering([good if place % 2 else given for place in range(NUMBER)]))
    report = evaluated(make(judge.plain), samples(NUMBER), retries=0)
    assert told(report, "value") == [None, pytest.approx(right)] * (NUMBER // 2)
    assert told(report, "status") == [status, "ok"] * (NUMBER // 2)
    assert counts(report) == (pytest.approx(right), NUMBER // 2, NUMBER // 2, NUMBER // 2)
    assert report.value(name) == pytest.approx(right)
    assert report.scores["status"].to_list() == ["failed", "ok"] * (NUMBER // 2)
    reason = {"refused": "judge_refused", "parse_error": "judge_unread", "error": "judge_failed"}[status]
    assert ledger(report) == {reason: (NUMBER // 2, [f"s{place:04d}" for place in range(0, NUMBER, 2)])}
    text = given.text if isinstance(given, Truncated) else given if isinstance(given, str) else None
    assert told(report, "reply") == [text, good] * (NUMBER // 2)
    assert all(told(report, "reason")[::2])
    assert f"(n={NUMBER // 2})" in repr(report)
    assert reason in repr(report)


@given(st.lists(st.none() | st.integers(0, 100), min_size=1, max_size=12))
def test_the_mean_is_that_of_the_values_and_every_sample_is_counted(scores: list[int | None]) -> None:
    replies = ["unread" if score is None else json.dumps({"score": score / 100}) for score in scores]
    right = [score / 100 for score in scores if score is not None]
    metric = rf.rag.judged("x", "{response}", llm=answering(replies))
    if right:
        report = evaluated(metric, samples(len(scores)), timeout=None)
    else:
        with pytest.warns(RankframeWarning, match=r"the judge failed for"):
            report = evaluated(metric, samples(len(scores)), timeout=None)
    value, n, n_null, n_failed = counts(report)
    assert value == (pytest.approx(math.fsum(right) / len(right)) if right else None)
    assert (n, n + n_null, n_failed) == (len(right), len(scores), len(scores) - len(right))


def test_each_run_is_counted_by_itself() -> None:
    def judge(prompt: str) -> str:
        return '{"score": 1}' if "ours" in prompt or place_of(prompt) == 0 else "unread"

    runs = {"a": samples(3, user_input="ours"), "b": samples(3, user_input="theirs")}
    report = rf.evaluate_samples(runs, metrics=rf.rag.judged("x", "{user_input} {response}", llm=judge))
    assert report.summary.select("run_id", "value", "n", "n_failed").rows() == [("a", 1.0, 3, 0), ("b", 1.0, 1, 2)]
    assert report.ledger.select("run_id", "reason", "count", "examples").rows() == [
        ("b", "judge_unread", 2, ["s0001", "s0002"])
    ]


@every_metric
def test_a_gate_does_not_pass_where_a_judge_failed(name: str) -> None:
    """However good the rest is."""
    _, good, right = METRICS[name]
    report = evaluated(made(name, answering([good, "unread", good])))
    with pytest.raises(rf.errors.GateError):
        report.gate({name: right})
    assert report.gate({name: right}, min_coverage=0.6).height == 1


@every_metric
def test_a_judge_that_fails_for_all_is_warned_of(name: str) -> None:
    message = rf"^{name}: the judge failed for 3 samples, all that it was asked about: 'RuntimeError: out of order'$"
    with pytest.warns(RankframeWarning, match=message):
        report = evaluated(made(name, answering([RuntimeError("out of order")] * 3)))
    assert counts(report) == (None, 0, 3, 3)
    assert math.isnan(report.value(name))


def test_samples_that_need_no_judge_do_not_hide_that_it_fails_for_all_others() -> None:
    given = samples(3)
    given[0]["retrieved_contexts"] = []
    with pytest.warns(RankframeWarning, match=r"^faithfulness: the judge failed for 2 samples, all that it was asked"):
        report = evaluated(rf.rag.faithfulness(llm=lambda _: "unread"), given)
    assert counts(report) == (0.0, 1, 2, 2)


@every_metric
def test_one_that_succeeds_is_enough_for_no_warning(name: str) -> None:
    _, good, right = METRICS[name]
    assert counts(evaluated(made(name, answering(["unread", "unread", good])))) == (pytest.approx(right), 1, 2, 2)


# What stands beside a value.


@every_metric
def test_the_columns_behind_a_value(name: str) -> None:
    _, good, right = METRICS[name]
    metric = made(name, lambda _: good)
    scores = evaluated(metric).scores
    assert list(scores.columns[4:]) == [name, *(f"{name}_{more}" for more in metric.columns)]
    assert {more: scores.schema[f"{name}_{more}"] for more in metric.columns} == metric.columns
    found = scores.row(0, named=True)
    assert (found[name], found[f"{name}_status"], found[f"{name}_reply"]) == (pytest.approx(right), "ok", good)
    assert found[f"{name}_attempts"] == (2 if name == "answer_relevance" else 1)
    assert 0 <= found[f"{name}_latency_s"] < 10
    assert found["status"] == "ok"


@every_metric
def test_a_report_survives_parquet_with_all_that_stands_beside(name: str, tmp_path: Path) -> None:
    _, good, _ = METRICS[name]
    report = evaluated(made(name, answering([good, "unread", Refused("no")])))
    report.write_parquet(tmp_path / "report.parquet")
    again = rf.read_report(tmp_path / "report.parquet")
    assert again.scores.equals(report.scores)
    assert again.scores.schema == report.scores.schema
    assert_frame_equal(again.summary, report.summary, rel_tol=1e-12)
    assert again.ledger.equals(report.ledger)
    assert again.claims.equals(report.claims)
    assert again.options["judges"] == report.options["judges"]
    assert again.metrics == report.metrics


def test_the_report_says_who_judged_and_what_was_asked() -> None:
    judge = Judge(lambda _: '{"score": 1}', name="mine", model="m", parameters={"temperature": 0})
    report = evaluated(rf.rag.judged("x", "Rate {response}", llm=judge))
    told_ = report.options["judges"]["x"]
    assert told_["judge"] == {"name": "mine", "model": "m", "parameters": {"temperature": 0}}
    assert told_["prompt"].startswith("Rate {response}")
    embed = Embedder(one_direction, model="e")
    relevance = evaluated(rf.rag.answer_relevance(llm=lambda _: QUESTIONS, embed=embed)).options["judges"]
    assert relevance["answer_relevance"]["embed"]["model"] == "e"


def test_judged_metrics_stand_beside_lexical_ones_and_own_ones() -> None:
    own = rf.Metric("length", pl.col("response").str.len_chars().cast(pl.Float64))
    metrics: list[Any] = ["exact_match", made("tone", lambda _: '{"score": 1}'), own]
    report = evaluated(metrics)
    assert report.summary.select("metric", "value", "n").rows() == [
        ("exact_match", 0.0, 3),
        ("tone", 1.0, 3),
        ("length", 12.0, 3),
    ]


def test_samples_are_not_changed() -> None:
    given = samples()
    frame = pl.DataFrame(given)
    evaluated(made("faithfulness", lambda _: RELEVANT), given)
    evaluated(made("faithfulness", lambda _: RELEVANT), frame)
    assert given == samples()
    assert frame.equals(pl.DataFrame(samples()))


# Faithfulness.


def faithfulness(reply: Any, given: Any = None, **options: Any) -> rf.Report:
    return evaluated(rf.rag.faithfulness(llm=lambda _: reply, **options), samples(1) if given is None else given)


def test_faithfulness_is_the_share_of_supported_claims() -> None:
    claims = [{"claim": f"c{place}", "contexts": [1] if place < 3 else []} for place in range(4)]
    report = faithfulness(json.dumps({"claims": claims, "faithfulness_score": 0.1}))
    assert told(report, "value", "status", "reason") == [
        (0.75, "ok", "the reply says faithfulness_score 0.1, and its counts give 0.75")
    ]


@pytest.mark.parametrize("reply", ['{"claims": []}', '{"total_claims": 0, "supported_claims": 0, "unsupported": []}'])
def test_without_a_claim_there_is_no_value_and_no_failure(reply: str) -> None:
    report = faithfulness(reply)
    assert told(report, "value", "status", "reason") == [(None, "no_claims", "the judge found no claim")]
    assert counts(report) == (None, 0, 1, 0)
    assert ledger(report) == {"no_claims": (1, ["s0000"])}
    assert report.claims.height == 0


@pytest.mark.parametrize("contexts", [[], None, [""], [" \n", None]], ids=str)
def test_without_a_context_nothing_is_supported_and_nobody_is_asked(contexts: Any) -> None:
    judge = Asked(lambda _: RELEVANT)
    given = [samples(1, retrieved_contexts=contexts)[0], samples(2)[1]]
    report = evaluated(rf.rag.faithfulness(llm=judge.plain), given)
    assert told(report, "value", "status", "attempts") == [(0.0, "ok", 0), (0.5, "ok", 1)]
    assert told(report, "reason")[0] == "there is no context that could support anything; the judge was not asked"
    assert len(judge.calls) == 1
    assert counts(report) == (0.25, 2, 0, 0)


@pytest.mark.parametrize(("column", "blank"), [("response", None), ("response", " "), ("user_input", None)])
def test_faithfulness_of_nothing_is_missing_input(column: str, blank: Any) -> None:
    judge = Asked(lambda _: RELEVANT)
    given = samples(2)
    given[0][column] = blank
    report = evaluated(rf.rag.faithfulness(llm=judge.plain), given)
    assert told(report, "value", "status", "reason") == [(None, "missing_input", f"no {column}"), (0.5, "ok", None)]
    assert counts(report) == (0.5, 1, 1, 0)
    assert ledger(report) == {"missing_input": (1, ["s0000"])}
    assert len(judge.calls) == 1


NOTE = """\
Compare an answer with the text that it should rest on.

Text:
{context}

Answer:
{answer}

Count the claims of the answer, and those of them that the text bears out. Reply with JSON:
{{"total_claims": N, "supported_claims": M, "faithfulness_score": M/N, "unsupported": ["...", ...]}}"""


def test_a_prompt_for_counts_is_judged_by_its_counts() -> None:
    """Context and answer are fields by those names; the reply has no claims but their numbers."""
    judge = Asked(
        lambda _: 'Here:\n{"total_claims": 4, "supported_claims": 3, "faithfulness_score": 0.75, "unsupported": ["x"]}'
    )
    given = [{"answer_id": "a", "response": "An answer.", "retrieved_contexts": ["One.", "Two."]}]
    report = evaluated(rf.rag.faithfulness(llm=judge.plain, prompt=NOTE), given)
    assert told(report, "value", "status", "reason") == [(0.75, "ok", None)]
    assert "One.\n" in judge.calls[0]
    assert "Answer:\nAn answer.\n" in judge.calls[0]
    assert '{"total_claims": N,' in judge.calls[0]
    claims = report.claims.unique("claim", maintain_order=True)
    assert claims.select("text", "supported").rows() == [(None, True)] * 3 + [("x", False)]


@pytest.mark.parametrize(
    ("found", "value", "reason"),
    [
        ((4, 3, 0.75, ["x"]), 0.75, None),
        ((4, 3, 0.9, ["x"]), 0.75, "the reply says faithfulness_score 0.9, and its counts give 0.75"),
        ((4, 3, 0.75, []), 0.75, "the reply names 0 claims as unsupported, and its counts give 1"),
        ((4, 4, 1, []), 1.0, None),
        ((3, 0, 0, ["a", "b", "c"]), 0.0, None),
        ((4, 5, 1.25, []), None, "5 supported claims are more than all 4"),
        ((-4, -3, 0.75, []), None, "'total_claims' is -4, not a whole number from 0"),
        ((4, True, 0.25, []), None, "'supported_claims' is True, not a whole number from 0"),
        ((4, "3", 0.75, []), None, "'supported_claims' is '3', not a whole number from 0"),
        ((4.5, 3, 0.75, []), None, "'total_claims' is 4.5, not a whole number from 0"),
    ],
    ids=str,
)
def test_counts_are_reconciled(found: tuple[Any, ...], value: float | None, reason: str | None) -> None:
    names = ("total_claims", "supported_claims", "faithfulness_score", "unsupported")
    reply = json.dumps(dict(zip(names, found, strict=True)))
    metric = rf.rag.faithfulness(llm=answering([reply, RELEVANT]))
    report = evaluated(metric, samples(2))
    assert told(report, "value", "status", "reason")[0] == (value, "parse_error" if value is None else "ok", reason)


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999"])
def test_what_is_no_number_is_no_count(number: str) -> None:
    reply = f'{{"total_claims": {number}, "supported_claims": 0, "faithfulness_score": 0, "unsupported": []}}'
    report = evaluated(rf.rag.faithfulness(llm=answering([reply, RELEVANT])), samples(2))
    assert told(report, "value", "status") == [(None, "parse_error"), (0.5, "ok")]


def test_claims_are_held_against_the_reference_on_request() -> None:
    judge = Asked(lambda _: '{"claims": [{"claim": "a", "contexts": [1], "correct": false}]}')
    report = evaluated(rf.rag.faithfulness(llm=judge.plain, reference=True), samples(1))
    assert "<reference>\nreference #0#\n</reference>" in judge.calls[0]
    assert '"correct": true' in judge.calls[0]
    assert told(report, "value") == [1.0]
    assert report.claims["correct"].to_list() == [False, False]
    plain = Asked(lambda _: RELEVANT)
    evaluated(rf.rag.faithfulness(llm=plain.plain), samples(1))
    assert "reference" not in plain.calls[0]


def test_without_a_reference_nothing_is_held_against_it() -> None:
    metric = rf.rag.faithfulness(llm=lambda _: RELEVANT, reference=True)
    given = samples(2)
    given[0]["reference"] = None
    assert told(evaluated(metric, given), "status", "reason")[0] == ("missing_input", "no reference")


# Correctness.


@pytest.mark.parametrize(
    ("right", "wrong", "missing", "value"),
    [(1, 0, 0, 1.0), (1, 1, 1, 0.5), (3, 1, 2, 2 / 3), (0, 2, 0, 0.0), (0, 0, 2, 0.0), (2, 0, 1, 0.8)],
)
def test_correctness_is_the_f1_of_claims(right: int, wrong: int, missing: int, value: float) -> None:
    claims = [{"claim": f"c{place}", "correct": place < right} for place in range(right + wrong)]
    reply = json.dumps({"claims": claims, "missing": [f"m{place}" for place in range(missing)]})
    report = evaluated(rf.rag.correctness(llm=lambda _: reply), samples(1))
    assert told(report, "value", "status") == [(pytest.approx(value), "ok")]
    assert report.claims.height == right + wrong + missing


def test_correctness_of_nothing_beside_nothing_has_no_value() -> None:
    report = evaluated(rf.rag.correctness(llm=lambda _: '{"claims": [], "missing": []}'), samples(1))
    assert told(report, "value", "status", "reason") == [(None, "no_claims", "the judge found no claim")]
    assert counts(report) == (None, 0, 1, 0)


@pytest.mark.parametrize("blank", [None, "", " \n"])
def test_no_response_beside_a_reference_is_0_and_nobody_is_asked(blank: Any) -> None:
    judge = Asked(lambda _: COMPARED)
    given = samples(2)
    given[0]["response"] = blank
    report = evaluated(rf.rag.correctness(llm=judge.plain), given)
    assert told(report, "value", "status", "reason") == [
        (0.0, "ok", "there is no response; the judge was not asked"),
        (0.5, "ok", None),
    ]
    assert len(judge.calls) == 1


@pytest.mark.parametrize("column", ["reference", "user_input"])
def test_correctness_without_something_to_compare_with_has_no_value(column: str) -> None:
    given = samples(2)
    given[0][column] = None
    report = evaluated(rf.rag.correctness(llm=lambda _: COMPARED), given)
    assert told(report, "value", "status", "reason")[0] == (None, "missing_input", f"no {column}")


@pytest.mark.parametrize(
    ("columns", "shown"),
    [
        ({"reference": "one"}, "one"),
        ({"reference": None, "references": ["one"]}, "one"),
        ({"reference": "one", "references": ["two", "three"]}, "two\nor: three"),
        ({"reference": "one", "references": []}, "one"),
        ({"reference": "one", "references": None}, "one"),
        ({"reference": "one", "references": [None, " "]}, "one"),
        ({"reference": ["one", "two"]}, "one\nor: two"),
    ],
    ids=str,
)
@pytest.mark.parametrize("metric", ["correctness", "faithfulness", "own"])
def test_several_references_are_shown_as_such(columns: dict[str, Any], shown: str, metric: str) -> None:
    """By every metric that shows a reference, and where samples have only a list of them."""
    judge = Asked(lambda _: COMPARED[:-1] + ', "score": 1}')
    makers: dict[str, Callable[[], Metric]] = {
        "correctness": lambda: rf.rag.correctness(llm=judge.plain),
        "faithfulness": lambda: rf.rag.faithfulness(
            llm=judge.plain, prompt="{response}{contexts}<reference>\n{reference}\n</reference>"
        ),
        "own": lambda: rf.rag.judged("own", "<reference>\n{reference}\n</reference>", llm=judge.plain),
    }
    given = samples(1, **columns)
    if columns == {"reference": None, "references": ["one"]}:
        del given[0]["reference"]
    with pytest.warns(RankframeWarning, match=r"") if metric == "faithfulness" else _nothing():
        evaluated(makers[metric](), given)
    assert f"<reference>\n{shown}\n</reference>" in judge.calls[0]


def _nothing() -> Any:
    from contextlib import nullcontext

    return nullcontext()


# Answer relevance.


def directions(texts: list[str]) -> list[list[float]]:
    """Of a text that ends with a number, the direction of so many degrees; of others that of 0."""
    angles = [math.radians(float(re.findall(r"-?\d+$", text)[0])) if text[-1].isdigit() else 0.0 for text in texts]
    return [[math.cos(angle), math.sin(angle)] for angle in angles]


@pytest.mark.parametrize(
    ("questions", "value"),
    [
        (["at 0"], 1.0),
        (["at 60"], 0.5),
        (["at 0", "at 60", "at 90"], 0.5),
        (["at 180"], -1.0),
        (["at 90", "at 180"], -0.5),
    ],
)
def test_answer_relevance_is_the_mean_cosine_and_may_be_negative(questions: list[str], value: float) -> None:
    reply = json.dumps({"questions": questions})
    report = evaluated(rf.rag.answer_relevance(llm=lambda _: reply, embed=directions, n=len(questions)), samples(1))
    assert told(report, "value", "status", "reason") == [(pytest.approx(value, abs=1e-12), "ok", None)]
    assert told(report, "questions", "noncommittal") == [(questions, None)]
    assert report.metrics[0].range == (-1.0, 1.0)


def test_a_question_that_is_written_twice_counts_once() -> None:
    embed = Asked(directions)
    reply = json.dumps({"questions": ["at 60", " at 60", "at 0", "at 60"]})
    report = evaluated(rf.rag.answer_relevance(llm=lambda _: reply, embed=embed.plain), samples(1, user_input="it"))
    assert told(report, "value", "reason") == [(pytest.approx(0.75), "2 different questions, of 3 asked for")]
    assert told(report, "questions") == [["at 60", "at 0"]]
    assert embed.calls == [["it", "at 60", "at 0"]]


@pytest.mark.parametrize(("said", "flag"), [(True, True), ("no", False), (1, True), (None, None)])
def test_a_noncommittal_response_is_a_column_of_its_own_and_changes_no_value(said: Any, flag: Any) -> None:
    reply = json.dumps({"questions": ["a", "b", "c"], "noncommittal": said})
    report = evaluated(rf.rag.answer_relevance(llm=lambda _: reply, embed=one_direction), samples(1))
    assert told(report, "value", "noncommittal") == [(1.0, flag)]


@pytest.mark.parametrize("column", ["user_input", "response"])
def test_answer_relevance_of_nothing_is_missing_input(column: str) -> None:
    judge = Asked(lambda _: QUESTIONS)
    given = samples(2)
    given[0][column] = None
    report = evaluated(rf.rag.answer_relevance(llm=judge.plain, embed=one_direction), given)
    assert told(report, "status", "reason")[0] == ("missing_input", f"no {column}")
    assert len(judge.calls) == 1


@pytest.mark.parametrize("n", [0, -1, 1.5, True, "3", None])
def test_a_number_of_questions_that_means_nothing_is_refused(n: Any) -> None:
    with pytest.raises(MetricError, match=r"n"):
        rf.rag.answer_relevance(llm=str.upper, embed=one_direction, n=n)


# A metric of one's own.


@pytest.mark.parametrize(
    ("range", "reply", "value"),
    [
        ((0, 1), '{"score": 0.5}', 0.5),
        ((1, 5), '{"score": 4}', 4.0),
        ((1, 5), "4", 4.0),
        ((-1, 1), '{"score": -0.25}', -0.25),
        ((0, None), '{"score": 1e6}', 1e6),
        ((None, None), '{"score": -7}', -7.0),
    ],
)
def test_a_score_is_taken_as_it_was_given(range: Any, reply: str, value: float) -> None:
    report = evaluated(rf.rag.judged("x", "{response}", range, llm=lambda _: reply), samples(1))
    assert told(report, "value", "status") == [(value, "ok")]
    assert report.metrics[0].range == range


@pytest.mark.parametrize("range", [(1, 0), (0,), "01", (0, 1, 2), (float("nan"), 1), ("a", 1), 5])
def test_a_range_that_is_none_is_refused(range: Any) -> None:
    with pytest.raises(MetricError, match=r"range"):
        rf.rag.judged("x", "{response}", range, llm=str.upper)


def test_the_reason_of_a_score_is_the_judges() -> None:
    report = evaluated(made("tone", lambda _: METRICS["tone"][1]))
    assert told(report, "reason") == ["so"] * 3


# Names.


def test_two_metrics_of_one_name_and_different_judges_are_refused() -> None:
    """Before anything is asked; none of them is left out."""
    first, second = Asked(), Asked()
    for one, other in (
        (rf.rag.judged("x", "{response}", llm=first.plain), rf.rag.judged("x", "{response}", llm=second.plain)),
        (rf.rag.judged("x", "{response}", llm=first.plain), rf.rag.judged("x", "{answer}", llm=first.plain)),
        (rf.rag.judged("x", "{response}", llm=first.plain), rf.rag.judged("x", "{response}", (0, 2), llm=first.plain)),
        (rf.rag.faithfulness(llm=first.plain), rf.rag.faithfulness(llm=second.plain)),
        (rf.rag.faithfulness(llm=first.plain), rf.rag.faithfulness(llm=first.plain, reference=True)),
        (
            rf.rag.faithfulness(llm=first.plain, prompt=NOTE, name="x"),
            rf.rag.correctness(llm=first.plain, prompt=NOTE, name="x"),
        ),
        (
            rf.rag.answer_relevance(llm=first.plain, embed=one_direction),
            rf.rag.answer_relevance(llm=first.plain, embed=directions),
        ),
        (
            rf.rag.answer_relevance(llm=first.plain, embed=directions, n=3),
            rf.rag.answer_relevance(llm=first.plain, embed=directions, n=4),
        ),
    ):
        with pytest.raises(MetricError, match=rf"^two metrics are called '{one.name}'; give one another name"):
            evaluated([one, other])
    assert first.calls == second.calls == []


def _redefined() -> list[Callable[[str], str]]:
    """Two functions of a notebook, the second defined in the place of the first."""
    cells = [f"def ask(prompt):\n    return '{reply}'\n" for reply in (RELEVANT, ALL)]
    found = []
    for cell in cells:
        names: dict[str, Any] = {"__name__": "__main__"}
        exec(cell, names)
        found.append(names["ask"])
    return found


ALL = '{"claims": [{"claim": "a", "contexts": [1]}]}'


@pytest.mark.parametrize(
    "judges",
    [
        [lambda _: RELEVANT, lambda _: ALL],
        [Asked(lambda _: RELEVANT).plain, Asked(lambda _: ALL).plain],
        [Judge(lambda _: RELEVANT, model="a"), Judge(lambda _: ALL, model="b")],
        _redefined(),
    ],
    ids=["lambdas", "methods", "models", "redefined"],
)
def test_another_name_keeps_both_judges(judges: list[Any]) -> None:
    """And each gives its own verdicts on the same prompts, though functions are called the same."""
    metrics = [rf.rag.faithfulness(llm=judges[0]), rf.rag.faithfulness(llm=judges[1], name="second_opinion")]
    report = evaluated(metrics)
    assert report.summary.select("metric", "value").rows() == [("faithfulness", 0.5), ("second_opinion", 1.0)]


def test_a_cache_refuses_two_judges_that_are_called_the_same(tmp_path: Path) -> None:
    first, second = _redefined()
    metrics = [rf.rag.faithfulness(llm=first), rf.rag.faithfulness(llm=second, name="second_opinion")]
    with pytest.raises(DataError, match=r"^cache= cannot tell __main__\.ask from another: wrap it, as in "):
        evaluated(metrics, cache=tmp_path / "judge.jsonl")
    assert list(tmp_path.iterdir()) == []
    same = [rf.rag.faithfulness(llm=first), rf.rag.faithfulness(llm=first, name="second_opinion")]
    assert evaluated(same, cache=tmp_path / "judge.jsonl").summary["value"].to_list() == [0.5, 0.5]


def test_embedders_that_are_called_the_same_give_each_their_own_vectors() -> None:
    embedders = [
        lambda texts: [[1.0, 0.0] for _ in texts],
        lambda texts: [[1.0, float(at > 0)] for at in range(len(texts))],
    ]
    metrics = [
        rf.rag.answer_relevance(llm=lambda _: QUESTIONS, embed=embed, name=f"by {place}")
        for place, embed in enumerate(embedders)
    ]
    assert evaluated(metrics).summary["value"].to_list() == [1.0, pytest.approx(0.5**0.5)]


def test_the_same_metric_twice_is_judged_once() -> None:
    judge = Asked()
    metrics = [rf.rag.judged("x", "{response}", llm=judge.plain) for _ in range(2)]
    named = [rf.rag.judged("y", "{response}", llm=Judge(lambda _: '{"score": 1}', model="m")) for _ in range(2)]
    report = evaluated([*metrics, *named])
    assert report.summary["metric"].to_list() == ["x", "y"]
    assert len(judge.calls) == 3


@pytest.mark.parametrize("name", ["sample_id", "n_contexts", "x_reply", "x_status"])
def test_a_name_that_is_another_column_is_refused_before_anything_is_asked(name: str) -> None:
    judge = Asked()
    metrics = [rf.rag.judged("x", "{response}", llm=judge.plain), rf.rag.judged(name, "{response}", llm=judge.plain)]
    with pytest.raises(
        DataError, match=rf"^two columns of the scores are called '{name}'; give one metric another name$"
    ):
        evaluated(metrics)
    assert judge.calls == []


@pytest.mark.parametrize("name", ["run_id", "status", "exact_match", "ndcg@10", "", " ", "*", "^x$", "\ud800", 3])
def test_a_name_that_is_taken_or_none_is_refused(name: Any) -> None:
    with pytest.raises(MetricError):
        rf.rag.judged(name, "{response}", llm=str.upper)


@pytest.mark.parametrize("name", ["faithful?", "très sûr", "a b", "x(y=1)", "{response}", "x\ny"])
def test_other_names_are_names(name: str, tmp_path: Path) -> None:
    report = evaluated(rf.rag.judged(name, "{response}", llm=lambda _: '{"score": 1}'))
    report.write_parquet(tmp_path / "report.parquet")
    assert rf.read_report(tmp_path / "report.parquet").value(name) == 1.0


@every_metric
def test_a_judged_metric_scores_samples_only(name: str) -> None:
    metric = made(name, str.upper)
    with pytest.raises(MetricError, match=rf"^'{name}' scores samples: rankframe\.evaluate_samples takes it$"):
        rf.evaluate({"q": {"d": 1.0}}, {"q": {"d": 1}}, metrics=metric)
    with pytest.raises(MetricError, match=rf"^'{name}' is what a judge says, no expression"):
        _ = metric.expr


# A judge beside labels.


def words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.lower()))


def rule(prompt: str) -> str:
    """A judge without a model: a sentence is supported by a passage that has more than 70 percent of its words."""
    passages = re.findall(r'<passage id="\d+">\n(.*?)\n</passage>', prompt, re.DOTALL)
    sentences = re.split(r"(?<=[.!?])\s+", prompt.partition("<answer>\n")[2].partition("\n</answer>")[0])
    claims = [text for text in sentences if len(text) > 10 and not text.startswith("The passages do not ")]
    found = [
        {
            "claim": claim,
            "contexts": [
                place
                for place, passage in enumerate(passages, 1)
                if 10 * len(words(claim) & words(passage)) > 7 * len(words(claim))
            ],
        }
        for claim in claims
    ]
    return json.dumps({"claims": found})


def test_a_judge_is_held_against_the_labels_of_the_handbook() -> None:
    """Its verdicts are those of the column that the same rule made, and agree with the labels as the notes say."""
    report = rf.evaluate_samples(HANDBOOK, metrics=rf.rag.faithfulness(llm=rule), concurrency=1, timeout=None)
    labels = rf.read_samples(HANDBOOK).select("run_id", "sample_id", "label_faithful", "judge_faithful")
    scores = report.join(labels, on=["run_id", "sample_id"]).scores
    assert scores.height == 100
    faithful = scores.select(pl.col("faithfulness") == 1.0).to_series()
    assert faithful.equals(scores["judge_faithful"].alias("faithfulness"))
    assert scores.filter(pl.col("faithfulness").is_null())["faithfulness_status"].unique().to_list() == ["no_claims"]

    found = rf.rag.agreement(scores["faithfulness"], scores["label_faithful"], threshold=1.0)
    assert found.confusion.rows() == [(False, False, 22), (False, True, 14), (True, False, 7), (True, True, 51)]
    assert (found.n, found.n_abstained, found.n_unlabelled) == (94, 0, 6)
    assert found.raw == pytest.approx(73 / 94)
    cited = report.claims.filter("cited")
    assert 0 < cited["supports"].mean() < 1  # type: ignore[operator]  # the share of citations that hold


def test_a_judge_that_abstains_is_counted_against_the_labels() -> None:
    labels = {f"s{place:04d}": place % 2 == 0 for place in range(8)}
    replies = [json.dumps({"score": int(place % 4 == 0)}) for place in range(6)] + ["unread", Refused("no")]
    report = evaluated(rf.rag.judged("x", "{response}", llm=answering(replies)), samples(8))
    found = rf.rag.agreement(report.scores.select("sample_id", "x"), labels)
    assert (found.n, found.n_abstained) == (6, 2)
    assert found.confusion.rows() == [(False, False, 3), (False, True, 1), (True, False, 0), (True, True, 2)]
