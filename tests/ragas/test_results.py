"""Scores that Ragas computed, back beside the samples: row by row what Ragas gave, with NaN as null."""

from __future__ import annotations

import asyncio
import math
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("ragas", reason="needs Ragas, of the extra `ragas`")

import polars as pl
from ragas import Dataset, SingleTurnSample, evaluate, experiment
from ragas.metrics import collections
from ragas.metrics.result import MetricResult

import rankframe as rf
from rankframe.errors import DataError
from rankframe.rag.ragas_bridge import as_ragas_dataset, from_ragas_result
from tests.ragas.shared import METRICS, NOISE, SAMPLES, Letters, Rule, old

pytestmark = NOISE

COLUMNS = {
    "ExactMatch": "exact_match",
    "StringPresence": "string_present",
    "NonLLMStringSimilarity": "non_llm_string_similarity",
    "BleuScore": "bleu_score",
    "RougeScore": "rouge_score(mode=fmeasure)",
    "ChrfScore": "chrf_score",
    "NonLLMContextRecall": "non_llm_context_recall",
    "NonLLMContextPrecisionWithReference": "non_llm_context_precision_with_reference",
    "IDBasedContextPrecision": "id_based_context_precision",
    "IDBasedContextRecall": "id_based_context_recall",
}


def evaluated(samples: Any, *metrics: Any, **options: Any) -> Any:
    return evaluate(as_ragas_dataset(samples), metrics=list(metrics), show_progress=False, **options)


def alone(metric: Any, sample: dict[str, Any]) -> float:
    """What a metric of Ragas gives for one sample, without its `evaluate`."""
    given = SingleTurnSample(**{name: value for name, value in sample.items() if name in SingleTurnSample.model_fields})
    return float(asyncio.run(metric.single_turn_ascore(given)))


@pytest.fixture(scope="module")
def result() -> Any:
    """All metrics without an LLM, on all samples."""
    return evaluated(SAMPLES, *map(old, METRICS))


@pytest.mark.parametrize("name", METRICS)
def test_every_score_is_what_ragas_gives_for_that_sample(result: Any, name: str) -> None:
    report = from_ragas_result(result, SAMPLES)
    column = COLUMNS[name]
    values = report.scores[column].to_list()
    assert values == [row[column] for row in result.scores]
    assert values == [alone(old(name), sample) for sample in SAMPLES]
    assert report.scores[f"{column}_status"].to_list() == ["ok"] * 3
    assert report.value(column) == pytest.approx(math.fsum(values) / 3, abs=1e-12)


def test_values_by_hand(result: Any) -> None:
    """Enough to see that the rows are in order and the metrics are what their names say."""
    scores = from_ragas_result(result, SAMPLES).scores
    assert scores["sample_id"].to_list() == ["kite", "owl", "fox"]
    assert scores["exact_match"].to_list() == [1.0, 0.0, 0.0]
    assert scores["id_based_context_precision"].to_list() == [0.5, 0.5, 0.0]
    assert scores["id_based_context_recall"].to_list() == [0.5, 1.0, 0.0]
    assert scores["non_llm_context_recall"].to_list() == [1.0, 0.5, 0.0]
    assert scores["non_llm_context_precision_with_reference"].to_list() == pytest.approx([1.0, 0.5, 0.0], abs=1e-9)


def test_the_report_is_one_of_samples(result: Any) -> None:
    report = from_ragas_result(result, SAMPLES, run_id="bm25")
    assert report.unit == "sample"
    assert report.runs == ["bm25"]
    assert [metric.name for metric in report.metrics] == list(COLUMNS.values())
    by_topic = report.join(pl.DataFrame(SAMPLES).select("sample_id", "topic"))
    assert by_topic.scores.group_by("topic", maintain_order=True).agg("exact_match").rows() == [
        ("birds", [1.0, 0.0]),
        ("mammals", [0.0]),
    ]


@pytest.mark.parametrize("form", ["result", "rows", "pandas", "polars", "mapping"])
def test_every_form_of_a_result_is_the_same_report(result: Any, form: str) -> None:
    forms = {
        "result": result,
        "rows": result.scores,
        "pandas": result.to_pandas(),
        "polars": pl.from_pandas(result.to_pandas()),
        "mapping": {name: result[name] for name in COLUMNS.values()},
    }
    assert from_ragas_result(forms[form], SAMPLES).scores.equals(from_ragas_result(result, SAMPLES).scores)


def test_the_order_of_the_samples_must_be_that_of_the_result(result: Any) -> None:
    message = r"in 2 rows user_input is not that of the sample in the same place: sample 'fox' has 'What does"
    with pytest.raises(DataError, match=message):
        from_ragas_result(result, SAMPLES[::-1])
    with pytest.raises(DataError, match=r"3 rows for 2 samples; scores are put back by position"):
        from_ragas_result(result, SAMPLES[:2])


def test_ragas_compares_texts_as_they_are_and_rankframe_normalises() -> None:
    """SQuAD's exact match drops case, punctuation and articles; that of Ragas is `==`."""
    samples = [{"user_input": "q", "response": "the Kite", "reference": "kite."}]
    theirs = from_ragas_result(evaluated(samples, old("ExactMatch")), samples)
    assert theirs.value("exact_match") == 0.0
    assert theirs.metrics[0].definition == "exact_match, as Ragas computes it"
    assert rf.evaluate_samples(samples, metrics=["exact_match"]).value("exact_match") == 1.0


# Judged.


def test_faithfulness_and_answer_relevancy_as_the_documents_call_them() -> None:
    samples = SAMPLES[:2]
    result = evaluated(samples, old("Faithfulness"), old("ResponseRelevancy"), llm=Rule(), embeddings=Letters())
    report = from_ragas_result(result, samples)
    assert report.scores["faithfulness"].to_list() == [0.5, 0.5]
    relevancy = report.scores["answer_relevancy"].to_list()
    assert relevancy == [row["answer_relevancy"] for row in result.scores]
    assert relevancy[0] == pytest.approx(1.0)
    assert relevancy[1] < 1.0


def test_a_failing_llm_is_null_and_counted() -> None:
    """Ragas gives NaN, says why only in its log, and prints a mean over the rest."""
    result = evaluated(SAMPLES[:2], old("Faithfulness"), llm=Rule(fails_on="does the owl hunt"))
    assert math.isnan(result["faithfulness"][1])
    report = from_ragas_result(result, SAMPLES[:2])
    assert report.scores["faithfulness"].to_list() == [0.5, None]
    assert report.scores["faithfulness_status"].to_list() == ["ok", "error"]
    assert report.scores["status"].to_list() == ["ok", "failed"]
    row = report.summary.row(0, named=True)
    assert (row["value"], row["n"], row["n_null"], row["n_failed"]) == (0.5, 1, 1, 1)
    assert not report.summary["value"].is_nan().any()


def test_results_of_collections_keep_their_reasons() -> None:
    faithfulness = collections.Faithfulness(llm=Rule())
    relevancy = collections.AnswerRelevancy(llm=Rule(), embeddings=Letters(), strictness=1)

    async def scored() -> dict[str, list[Any]]:
        asked = [
            {key: sample[key] for key in ("user_input", "response", "retrieved_contexts")} for sample in SAMPLES[:2]
        ]
        return {
            "faithfulness": [await faithfulness.ascore(**given) for given in asked],
            "relevancy": [
                await relevancy.ascore(user_input=given["user_input"], response=given["response"]) for given in asked
            ],
            "tone": [MetricResult(0.25, reason="curt"), MetricResult(None, reason="no answer")],
        }

    report = from_ragas_result(asyncio.run(scored()), SAMPLES[:2])
    assert report.scores["faithfulness"].to_list() == [0.5, 0.5]
    assert report.scores["relevancy"][0] == pytest.approx(1.0)
    assert report.scores.select("tone", "tone_status", "tone_reason").rows() == [
        (0.25, "ok", "curt"),
        (None, "error", "no answer"),
    ]
    assert "faithfulness_reason" not in report.scores.columns


def test_words_of_a_discrete_metric_are_refused() -> None:
    words = {"verdict": [MetricResult("pass"), MetricResult("fail")], "exact_match": [1.0, 0.0]}
    message = r"2 values of 'verdict' no number \(sample 'kite': 'pass', sample 'owl': 'fail'\); turn the words"
    with pytest.raises(DataError, match=message):
        from_ragas_result(words, SAMPLES[:2])
    assert from_ragas_result(words, SAMPLES[:2], metrics=["exact_match"]).value("exact_match") == 0.5


def test_an_experiment_is_a_result_and_one_that_lost_rows_is_refused(
    capsys: pytest.CaptureFixture[str],
) -> None:
    fails = False

    @experiment()
    async def judged(row: Any) -> dict[str, Any]:
        if fails and row["sample_id"] == "owl":
            raise ConnectionError("gone")
        return {"sample_id": row["sample_id"], "length": len(row["response"])}

    dataset = Dataset(name="birds", backend="inmemory")
    for sample in SAMPLES:
        dataset.append(sample)
    done = asyncio.run(judged.arun(dataset, name="whole", backend="inmemory"))
    order = [row["sample_id"] for row in done]
    samples = [next(sample for sample in SAMPLES if sample["sample_id"] == key) for key in order]
    for form in (done, done.to_pandas()):
        report = from_ragas_result(form, samples)
        assert report.scores["length"].to_list() == [float(len(sample["response"])) for sample in samples]
    fails = True
    torn = asyncio.run(judged.arun(dataset, name="torn", backend="inmemory"))
    capsys.readouterr()  # Ragas prints that a task failed
    message = r"2 rows for 3 samples, none for sample_id 'owl'; .* leaves out the rows that failed: evaluate_with_ragas"
    with pytest.raises(DataError, match=message):
        from_ragas_result(torn, SAMPLES)


# What a metric needs.


def test_given_the_metric_a_sample_that_lacks_its_input_is_missing() -> None:
    """Ragas' ExactMatch calls two missing texts equal, and its StringPresence fails on them."""
    samples = [SAMPLES[0], {"sample_id": "none", "user_input": "q"}]
    exact, present = old("ExactMatch"), old("StringPresence")
    result = evaluated(samples, exact, present)
    assert result["exact_match"] == [1.0, 1.0]
    blind = from_ragas_result(result, samples)
    assert blind.scores["exact_match_status"].to_list() == ["ok", "ok"]
    assert blind.scores["string_present_status"].to_list() == ["ok", "error"]
    report = from_ragas_result(result, samples, metrics=[exact, present])
    for name in ("exact_match", "string_present"):
        assert report.scores.select(name, f"{name}_status").rows() == [(1.0, "ok"), (None, "missing_input")]
    assert report.summary["n_failed"].to_list() == [0, 0]
    assert report.ledger.select("reason", "count").rows() == [("missing_input", 2)]


def test_the_range_of_a_given_metric_is_kept() -> None:
    report = from_ragas_result({"exact_match": [1.0, 0.0]}, SAMPLES[:2], metrics=[collections.ExactMatch()])
    assert report.metrics[0].range == (0.0, 1.0)


def test_a_reference_among_references_is_no_missing_input() -> None:
    samples = [{"user_input": "q", "response": "r", "references": ["r", "s"]}]
    exact = old("ExactMatch")
    result = evaluate(as_ragas_dataset(samples, references="first"), metrics=[exact], show_progress=False)
    assert from_ragas_result(result, samples, metrics=[exact]).scores["exact_match"].to_list() == [1.0]


def test_a_report_of_ragas_is_read_back(result: Any, tmp_path: Path) -> None:
    report = from_ragas_result(result, SAMPLES)
    report.write_parquet(tmp_path / "ragas.parquet")
    again = rf.read_report(tmp_path / "ragas.parquet")
    assert again.summary.equals(report.summary)
    assert again.options["ragas"] == version("ragas")
