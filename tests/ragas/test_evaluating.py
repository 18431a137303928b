"""Metrics of Ragas run on samples: each on those that have what it needs, each failure with its reason."""

from __future__ import annotations

import asyncio
import logging
import os
import random
import subprocess
import sys
import threading
import warnings
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("ragas", reason="needs Ragas, of the extra `ragas`")

import httpx
import openai
import polars as pl
from langchain_core.callbacks import BaseCallbackHandler
from ragas import RunConfig, evaluate
from ragas.llms import llm_factory
from ragas.metrics import DiscreteMetric, NumericMetric, collections, numeric_metric

from rankframe.errors import DataError, MetricError
from rankframe.rag.ragas_bridge import as_ragas_dataset, evaluate_with_ragas, from_ragas_result
from rankframe.report import Report
from tests.ragas.shared import METRICS, NOISE, SAMPLES, Letters, Rule, half_supported, old

pytestmark = NOISE

ROOT = Path(__file__).parents[2]
HANDBOOK = ROOT / "data" / "handbook" / "samples.jsonl"


def outcomes(report: Report, *metrics: str) -> dict[str, list[tuple[float | None, str]]]:
    """metric -> the value and status of every sample."""
    return {name: report.scores.select(name, f"{name}_status").rows() for name in metrics}


# What each metric is given.


def test_the_scores_are_those_of_ragas_own_evaluate() -> None:
    metrics = [old(name) for name in METRICS]
    theirs = evaluate(as_ragas_dataset(SAMPLES), metrics=metrics, show_progress=False)
    assert evaluate_with_ragas(SAMPLES, metrics).scores.equals(from_ragas_result(theirs, SAMPLES).scores)


@pytest.mark.parametrize("order", [[0, 1, 2, 3], [3, 2, 1, 0], [2, 3, 0, 1]])
def test_no_order_of_the_samples_changes_a_score(order: list[int]) -> None:
    samples = [
        *SAMPLES[:2],
        {"sample_id": "mute", "user_input": "q", "reference": "t"},
        {"sample_id": "bare", "user_input": "q"},
    ]
    report = evaluate_with_ragas([samples[place] for place in order], [old("ExactMatch"), old("IDBasedContextRecall")])
    assert sorted(report.scores.select("sample_id", "exact_match", "exact_match_status").rows()) == [
        ("bare", None, "missing_input"),
        ("kite", 1.0, "ok"),
        ("mute", None, "missing_input"),
        ("owl", 0.0, "ok"),
    ]
    assert report.summary.select("metric", "value", "n", "n_null", "n_failed").rows() == [
        ("exact_match", 0.5, 2, 2, 0),
        ("id_based_context_recall", 0.75, 2, 2, 0),
    ]
    assert report.ledger.select("reason", "count").rows() == [("missing_input", 4)]


def test_a_metric_that_no_sample_can_answer_is_null_everywhere() -> None:
    report = evaluate_with_ragas([{"user_input": "q", "response": "r"}], [old("ExactMatch")])
    assert outcomes(report, "exact_match") == {"exact_match": [(None, "missing_input")]}
    assert report.summary.select("value", "n").rows() == [(None, 0)]


def test_samples_of_several_runs_are_summarised_by_run() -> None:
    samples = [{**sample, "run_id": run} for run in ("b", "a") for sample in SAMPLES]
    report = evaluate_with_ragas(samples, [old("ExactMatch")])
    assert report.summary.select("run_id", "n").rows() == [("a", 3), ("b", 3)]
    with pytest.raises(DataError, match=r"the samples have the column 'run_id' already; leave out run_id='c'"):
        evaluate_with_ragas(samples, [old("ExactMatch")], run_id="c")


# The two kinds of metrics.


def judged(**llms: Any) -> list[Any]:
    """Faithfulness and answer relevancy of the new kind."""
    llm = llms.get("llm", Rule())
    return [
        collections.Faithfulness(llm=llm),
        collections.AnswerRelevancy(llm=llm, embeddings=Letters(), strictness=1),
    ]


def test_old_and_new_metrics_stand_side_by_side() -> None:
    renamed = collections.ExactMatch(name="equal")
    report = evaluate_with_ragas(SAMPLES[:2], [old("ExactMatch"), renamed, *judged()])
    scores = report.scores
    assert scores["equal"].to_list() == scores["exact_match"].to_list() == [1.0, 0.0]
    assert scores["faithfulness"].to_list() == [0.5, 0.5]
    assert scores["answer_relevancy"][0] == pytest.approx(1.0)
    assert [metric.range for metric in report.metrics] == [None, (0.0, 1.0), (0.0, 1.0), (0.0, 1.0)]


def test_old_judged_metrics_take_the_llm_of_the_call() -> None:
    metrics = [old("Faithfulness"), old("ResponseRelevancy")]
    report = evaluate_with_ragas(SAMPLES[:2], metrics, llm=Rule(), embeddings=Letters())
    assert report.scores["faithfulness"].to_list() == [0.5, 0.5]
    assert report.scores["answer_relevancy"][0] == pytest.approx(1.0)
    assert [metric.llm for metric in metrics] == [None, None]


def test_a_metric_that_needs_no_column_is_asked_for_every_sample() -> None:
    """An aspect is judged on whatever there is."""
    yes = Rule(lambda *_: {"reason": "by rule", "verdict": 1})
    aspect = old("AspectCritic", name="polite", definition="Is it polite?")
    samples = [SAMPLES[0], {"sample_id": "bare", "user_input": "q"}]
    report = evaluate_with_ragas(samples, [aspect], llm=yes)
    assert outcomes(report, "polite") == {"polite": [(1.0, "ok"), (1.0, "ok")]}


def test_a_failing_llm_is_null_with_its_reason_and_loses_no_other_sample() -> None:
    llm = Rule(fails_on="does the owl hunt")
    for metrics, options in (([old("Faithfulness")], {"llm": llm}), (judged(llm=llm)[:1], {})):
        report = evaluate_with_ragas(SAMPLES[:2], metrics, **options)
        assert outcomes(report, "faithfulness") == {"faithfulness": [(0.5, "ok"), (None, "error")]}
        assert report.scores["faithfulness_reason"].to_list() == [None, "ConnectionError: the model is gone"]
        assert report.scores["status"].to_list() == ["ok", "failed"]
        assert report.summary.select("value", "n", "n_failed").rows() == [(0.5, 1, 1)]
        assert report.ledger.select("count", "examples").rows() == [(1, ["owl"])]
        with pytest.raises(ConnectionError, match="the model is gone"):
            evaluate_with_ragas(SAMPLES[:2], metrics, raise_exceptions=True, **options)


def test_an_empty_answer_fails_in_a_new_metric_alone() -> None:
    """Those of collections raise for it, and Ragas' own batch would end there."""
    report = evaluate_with_ragas(SAMPLES, judged())
    assert outcomes(report, "faithfulness") == {"faithfulness": [(0.5, "ok"), (0.5, "ok"), (None, "error")]}
    assert report.scores["faithfulness_reason"][2].startswith("ValueError: response is missing")


@pytest.mark.filterwarnings("ignore:FUNCTIONS is deprecated:DeprecationWarning")  # of instructor, by its own import
def test_a_real_client_is_asked_and_its_broken_replies_are_errors() -> None:
    """Ragas' own factory around OpenAI's client; its transport answers here."""

    def answer(request: httpx.Request) -> httpx.Response:
        asked = request.content.decode()
        if "owl sleeps" in asked:
            content = "I cannot say."
        elif "verdict" in asked:
            content = '{"statements": [{"statement": "s", "reason": "r", "verdict": 1}]}'
        else:
            content = '{"statements": ["s"]}'
        choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": content}}
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        told = {"id": "x", "object": "chat.completion", "created": 0, "model": "m", "choices": [choice], "usage": usage}
        return httpx.Response(200, json=told)

    http = httpx.AsyncClient(transport=httpx.MockTransport(answer))
    client = openai.AsyncOpenAI(api_key="none", http_client=http, max_retries=0)
    report = evaluate_with_ragas(SAMPLES[:2], [collections.Faithfulness(llm=llm_factory("m", client=client))])
    assert outcomes(report, "faithfulness") == {"faithfulness": [(1.0, "ok"), (None, "error")]}
    assert report.scores["faithfulness_reason"][1]


def test_ones_own_numeric_metrics_take_metadata_too() -> None:
    @numeric_metric(name="words", allowed_values=(0.0, 10.0))
    def words(response: str, topic: str, reference: str = "none") -> float:
        assert topic in ("birds", "mammals")
        return float(len(f"{response} {reference}".split()))

    samples = [*SAMPLES[:2], {"sample_id": "bare", "user_input": "q", "response": "one two", "topic": "birds"}]
    report = evaluate_with_ragas(samples, [words])
    assert outcomes(report, "words") == {"words": [(6.0, "ok"), (6.0, "ok"), (3.0, "ok")]}
    assert report.metrics[0].range == (0.0, 10.0)


def test_a_prompt_is_asked_with_the_llm_of_the_call() -> None:
    seven = Rule(lambda prompt, _: {"value": 7.0 if "red kite" in prompt else 1.0, "reason": "by rule"})
    rating = NumericMetric(name="rating", prompt="Rate {response} to {user_input}", allowed_values=(0.0, 10.0))
    with pytest.raises(MetricError, match=r"rating asks an LLM: give llm="):
        evaluate_with_ragas(SAMPLES[:2], [rating])
    report = evaluate_with_ragas(SAMPLES[:2], [rating], llm=seven)
    assert report.scores.select("rating", "rating_reason").rows() == [(7.0, "by rule"), (1.0, "by rule")]
    blind = NumericMetric(name="blind", prompt="Rate whatever it is", allowed_values=(0.0, 10.0))
    assert outcomes(evaluate_with_ragas(SAMPLES[:2], [blind], llm=seven), "blind") == {"blind": [(1.0, "ok")] * 2}


# Refused before anything is asked.


@pytest.mark.parametrize(
    ("metric", "message"),
    [
        (lambda: type(old("ExactMatch")), r"ExactMatch'> is no metric of Ragas; make one of it: ExactMatch\(\)"),
        (lambda: "exact_match", r"'exact_match' is no metric of Ragas; expected objects such as ExactMatch\(\)"),
        (lambda: old("Faithfulness"), r"faithfulness asks an LLM: give llm=, or make the metric with it"),
        (lambda: old("SemanticSimilarity"), r"semantic_similarity asks embeddings: give embeddings="),
        (lambda: old("AgentGoalAccuracyWithReference"), r"scores conversations \(MultiTurnSample\)"),
        (collections.ToolCallF1, r"tool_call_f1 needs 'reference_tool_calls', which the samples do not have"),
        (
            lambda: DiscreteMetric(name="v", prompt="{response}"),
            r"v gives no numbers \(allowed_values=\['pass', 'fail'\]",
        ),
        (
            lambda: collections.BaseMetric("odd"),
            r"odd does not tell which columns it needs \(ascore takes \*\*kwargs\)",
        ),
    ],
)
def test_what_cannot_be_scored_is_refused(metric: Any, message: str) -> None:
    llm = Rule()
    with pytest.raises(MetricError, match=message):
        evaluate_with_ragas(SAMPLES, [*judged(llm=llm), metric()])
    assert llm.asked == 0


def test_names_that_are_taken_are_refused_or_get_the_suffix() -> None:
    llm = Rule()
    samples = [{**sample, "faithfulness": 1.0} for sample in SAMPLES[:2]]
    with pytest.raises(DataError, match=r"'faithfulness' .* columns of the samples; suffix=\"_ragas\" renames them"):
        evaluate_with_ragas(samples, judged(llm=llm))
    assert llm.asked == 0
    report = evaluate_with_ragas(samples, judged(llm=llm), suffix="_ragas")
    assert [(metric.name, metric.asked) for metric in report.metrics] == [
        ("faithfulness_ragas", "faithfulness"),
        ("answer_relevancy", "answer_relevancy"),
    ]
    assert report.scores["faithfulness_ragas_status"].to_list() == ["ok", "ok"]


def test_a_metric_twice_is_refused_and_two_modes_are_two() -> None:
    with pytest.raises(DataError, match=r"'exact_match' more than once; give one of them another name"):
        evaluate_with_ragas(SAMPLES, [old("ExactMatch"), collections.ExactMatch()])
    modes = [old("RougeScore", mode=mode) for mode in ("recall", "precision")]
    report = evaluate_with_ragas(SAMPLES[:1], modes)
    assert [metric.name for metric in report.metrics] == ["rouge_score(mode=recall)", "rouge_score(mode=precision)"]


def test_unknown_options_and_no_metrics_are_refused() -> None:
    with pytest.raises(MetricError, match=r"no option 'show_progess': did you mean 'show_progress'"):
        evaluate_with_ragas(SAMPLES, [old("ExactMatch")], show_progess=True)
    with pytest.raises(MetricError, match=r"metrics is empty; expected metrics of Ragas"):
        evaluate_with_ragas(SAMPLES, [])
    with pytest.raises(DataError, match=r"samples: no samples"):
        evaluate_with_ragas([], [old("ExactMatch")])


# How it is run.


class Slow(Rule):
    """Answers later, and counts how many calls are under way."""

    def __init__(self) -> None:
        super().__init__()
        self.under_way = self.most = 0

    async def agenerate(self, prompt: Any, response_model: Any) -> Any:
        self.under_way += 1
        self.most = max(self.most, self.under_way)
        await asyncio.sleep(0.02 * random.random())  # answers come in another order than they are asked
        self.under_way -= 1
        return self.generate(prompt, response_model)


@pytest.mark.parametrize("kind", ["old", "new"])
def test_workers_are_as_many_as_asked_and_scores_stand_with_their_samples(kind: str) -> None:
    llm = Slow()
    samples = [{**SAMPLES[place % 2], "sample_id": f"{place:02}"} for place in range(12)]
    samples[5] = {"sample_id": "05", "user_input": "q"}
    metric = old("Faithfulness") if kind == "old" else collections.Faithfulness(llm=llm)
    config = RunConfig(max_workers=3)
    report = evaluate_with_ragas(samples, [metric], llm=llm, run_config=config)
    expected = [(0.5, "ok")] * 5 + [(None, "missing_input")] + [(0.5, "ok")] * 6
    assert outcomes(report, "faithfulness") == {"faithfulness": expected}
    assert 1 < llm.most <= 3


@pytest.mark.parametrize("kind", ["old", "new"])
def test_what_takes_too_long_is_an_error(kind: str) -> None:
    class Never(Rule):
        async def agenerate(self, prompt: Any, response_model: Any) -> Any:
            if "does the owl hunt" in str(prompt):
                await asyncio.sleep(60)
            return self.generate(prompt, response_model)

    metric = old("Faithfulness") if kind == "old" else collections.Faithfulness(llm=Never())
    report = evaluate_with_ragas(SAMPLES[:2], [metric], llm=Never(), run_config=RunConfig(timeout=1))
    assert outcomes(report, "faithfulness") == {"faithfulness": [(0.5, "ok"), (None, "error")]}
    assert report.scores["faithfulness_reason"].to_list() == [None, "TimeoutError"]


def test_a_loop_that_runs_is_left_alone() -> None:
    """As in a notebook; Ragas' own evaluate patches the loop there."""

    async def cell() -> Report:
        report = evaluate_with_ragas(SAMPLES[:2], [old("ExactMatch"), *judged()])
        await asyncio.sleep(0)
        assert not hasattr(asyncio, "_nest_patched")
        return report

    report = asyncio.run(cell())
    assert report.scores["exact_match"].to_list() == [1.0, 0.0]
    assert report.scores["faithfulness"].to_list() == [0.5, 0.5]


def test_reasons_are_those_of_this_evaluation() -> None:
    """Ragas tells them to a log that another thread may write to as well; NaN of its own accord has none."""
    logger = logging.getLogger("ragas.executor")
    before = list(logger.handlers)

    def rule(prompt: str, kind: str) -> dict[str, Any]:
        elsewhere = ("Exception raised in Job[%s]: %s(%s)", 0, "ValueError", "of another evaluation")
        thread = threading.Thread(target=logger.error, args=elsewhere)
        thread.start()
        thread.join()
        return {"statements": []} if kind == "StatementGeneratorOutput" else half_supported(prompt, kind)

    report = evaluate_with_ragas(SAMPLES[:1], [old("Faithfulness")], llm=Rule(rule))
    assert outcomes(report, "faithfulness") == {"faithfulness": [(None, "error")]}
    assert "faithfulness_reason" not in report.scores.columns
    assert logger.handlers == before


def test_nothing_of_the_caller_is_changed_and_nothing_is_printed(capfd: pytest.CaptureFixture[str]) -> None:
    frame = pl.DataFrame(SAMPLES)
    callbacks = [BaseCallbackHandler()]
    before, metrics = frame.clone(), [old("ExactMatch"), *judged()]
    evaluate_with_ragas(frame, metrics, callbacks=callbacks)
    assert frame.equals(before)
    assert len(callbacks) == 1
    assert len(metrics) == 3
    assert capfd.readouterr() == ("", "")
    evaluate_with_ragas(frame, metrics, show_progress=True)
    shown = capfd.readouterr().err
    assert "Evaluating" in shown
    assert "faithfulness" in shown


def test_no_warning_of_ragas_reaches_the_caller() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", DeprecationWarning)
        evaluate_with_ragas(SAMPLES, [old("ExactMatch")])


def test_the_handbook_is_scored() -> None:
    report = evaluate_with_ragas(HANDBOOK, [old("StringPresence"), old("IDBasedContextRecall")], references="first")
    assert len(report.runs) == 2
    counts = report.summary.select((pl.col("n") + pl.col("n_null")).unique())
    assert counts.height == 1
    assert report.summary["n_failed"].sum() == 0
    assert report.summary["n"].min() > 20  # type: ignore[operator]  # a number, as n is
    assert report.summary["value"].is_between(0, 1).all()


# Telemetry.

_GUARDED = """
import os, socket, sys
def refuse(*arguments): os.write(2, repr(arguments).encode()); os._exit(7)
socket.socket.connect = socket.socket.connect_ex = socket.getaddrinfo = refuse
from rankframe.rag.ragas_bridge import evaluate_with_ragas
assert "ragas" not in sys.modules
if len(sys.argv) > 1: import ragas
samples = [{"user_input": "q", "response": "r", "reference": "r"}]
class Metric: name = "odd"
try: evaluate_with_ragas(samples, [Metric()])
except ValueError: pass
from ragas.metrics import ExactMatch
assert evaluate_with_ragas(samples, [ExactMatch()]).value("exact_match") == 1.0
print(os.environ["RAGAS_DO_NOT_TRACK"])
"""


def guarded(given: str | None, *arguments: str) -> tuple[int, str]:
    """Whether it ends well, and what the variable is then; any look-up of a name or connection ends it with 7."""
    environment = {name: value for name, value in os.environ.items() if name != "RAGAS_DO_NOT_TRACK"}
    if given is not None:
        environment["RAGAS_DO_NOT_TRACK"] = given
    command = [sys.executable, "-c", _GUARDED, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=ROOT, check=False)
    return done.returncode, done.stdout.strip() or done.stderr.splitlines()[-1]


@pytest.mark.parametrize("arguments", [[], ["imported before"]])
def test_ragas_reports_to_nobody(arguments: list[str]) -> None:
    assert guarded(None, *arguments) == (0, "true")


def test_it_reports_where_the_user_says_so() -> None:
    """So the test above can fail."""
    ended, told = guarded("false")
    assert ended == 7
    assert "explodinggradients" in told
