"""The RAG samples of the handbook set: contexts as the runs and passages have them, labels as consistent as told."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import rankframe as rf

DATA = Path(__file__).parents[1] / "data"
HANDBOOK = DATA / "handbook"
SYSTEMS = {"careful": ("dense", 4), "fluent": ("tfidf", 3)}
FAULTS: dict[str | None, set[tuple[bool | None, bool, bool]]] = {  # faithful, correct, relevant that each allows
    None: {(True, True, True)},
    "invented": {(False, False, True)},
    "reversed": {(False, False, True)},
    "false": {(False, False, True)},
    "from elsewhere": {(False, True, True)},
    "beside the point": {(True, False, False)},
    "another answer": {(True, False, True)},
    "incomplete": {(True, False, True)},
    "declined": {(None, False, False), (True, False, False)},
    "wrongly declined": {(None, False, False)},
    "wrong citation": {(True, True, True)},
}

Sample = dict[str, Any]


@pytest.fixture(scope="module")
def samples() -> list[Sample]:
    return [json.loads(line) for line in (HANDBOOK / "samples.jsonl").read_text(encoding="utf-8").splitlines()]


@pytest.fixture(scope="module")
def beir() -> rf.Beir:
    return rf.read_beir(HANDBOOK)


@pytest.fixture(scope="module")
def passages() -> dict[str, str]:
    lines = map(json.loads, (HANDBOOK / "corpus.jsonl").read_text(encoding="utf-8").splitlines())
    return {line["_id"]: f"{line['title']} {line['text']}" for line in lines}


@pytest.fixture(scope="module")
def grades(beir: rf.Beir) -> dict[str, dict[str, float]]:
    by_query: dict[str, dict[str, float]] = {}
    for query, doc, grade in beir.qrels.select("query_id", "doc_id", "relevance").iter_rows():
        by_query.setdefault(query, {})[doc] = grade
    return by_query


def test_both_systems_answer_each_of_the_first_50_questions_once(samples: list[Sample], beir: rf.Beir) -> None:
    questions = dict(beir.queries.select("query_id", "text").head(50).iter_rows())
    pairs = [(sample["query_id"], sample["run_id"]) for sample in samples]
    assert pairs == [(query, system) for query in sorted(questions) for system in sorted(SYSTEMS)]
    assert all(sample["sample_id"] == sample["query_id"] for sample in samples)
    assert all(sample["user_input"] == questions[sample["query_id"]] for sample in samples)


def test_metadata_is_that_of_the_question(samples: list[Sample], beir: rf.Beir) -> None:
    told = [(sample["query_id"], sample["topic"], sample["difficulty"]) for sample in samples]
    assert set(told) == set(beir.queries.select("query_id", "topic", "difficulty").head(50).iter_rows())


@pytest.mark.parametrize("system", SYSTEMS)
def test_contexts_are_the_first_lines_of_the_committed_run(
    system: str, samples: list[Sample], passages: dict[str, str]
) -> None:
    run, depth = SYSTEMS[system]
    found: dict[str, list[str]] = {}
    for line in (HANDBOOK / "runs" / f"{run}.trec").read_text(encoding="utf-8").splitlines():
        query, _, doc, *_ = line.split()
        found.setdefault(query, []).append(doc)
    for sample in samples:
        if sample["run_id"] == system:
            assert sample["retrieved_context_ids"] == found[sample["query_id"]][:depth]
            assert sample["retrieved_contexts"] == [passages[doc] for doc in sample["retrieved_context_ids"]]


def test_reference_contexts_and_sources_are_what_the_judgments_say(
    samples: list[Sample], passages: dict[str, str], grades: dict[str, dict[str, float]]
) -> None:
    for sample in samples:
        judged = grades[sample["query_id"]]
        useful = sorted((doc for doc in judged if judged[doc] >= 2), key=lambda doc: (-judged[doc], doc))
        assert sample["reference_context_ids"] == useful
        assert sample["reference_contexts"] == [passages[doc] for doc in useful]
        assert sample["ground_truth_sources"] == [doc for doc in useful if judged[doc] == judged[useful[0]]]


def test_references_are_the_same_for_both_systems(samples: list[Sample]) -> None:
    texts = {(sample["query_id"], sample["reference"], str(sample["references"])) for sample in samples}
    assert len(texts) == len(samples) / 2
    several = [sample for sample in samples if sample["references"] is not None]
    assert len(several) == 2 * 4
    assert all(sample["references"][0] == sample["reference"] for sample in several)
    assert all(len(set(sample["references"])) == len(sample["references"]) >= 2 for sample in several)


def test_texts_are_a_few_sentences(samples: list[Sample]) -> None:
    for sample in samples:
        for text, most in ((sample["response"], 4), (sample["reference"], 3)):
            assert text == " ".join(text.split())
            assert text.endswith(".")
            assert 1 <= len(re.split(r"(?<=[.!?])\s+", text)) <= most


def test_no_two_answers_are_the_same(samples: list[Sample]) -> None:
    assert len({sample["response"] for sample in samples}) == len(samples)


def test_citations_are_of_retrieved_passages_but_for_one_that_is_invented(samples: list[Sample]) -> None:
    strays = [
        (sample["run_id"], sample["query_id"], cited)
        for sample in samples
        for cited in re.findall(r"\[(.*?)\]", sample["response"])
        if cited not in sample["retrieved_context_ids"]
    ]
    assert strays == [("fluent", "q30", "alpha-ndcg")]


def test_claims_and_faithfulness_agree(samples: list[Sample]) -> None:
    for sample in samples:
        claims, supported = sample["label_claims"], sample["label_supported"]
        assert 0 <= supported <= claims
        assert sample["label_faithful"] == (supported == claims if claims else None)
        assert sample["label_faithful"] in {True, False, None}


def test_faults_fit_the_verdicts(samples: list[Sample]) -> None:
    for sample in samples:
        verdicts = (sample["label_faithful"], sample["label_correct"], sample["label_relevant"])
        assert verdicts in FAULTS[sample["label_fault"]], sample["query_id"]
        assert (sample["label_note"] is None) == (sample["label_fault"] is None)


def test_it_is_declined_rightly_where_no_useful_passage_was_retrieved(
    samples: list[Sample], grades: dict[str, dict[str, float]]
) -> None:
    from_background = []
    for sample in samples:
        best = max(grades[sample["query_id"]].get(doc, 0.0) for doc in sample["retrieved_context_ids"])
        if sample["label_fault"] == "declined":
            assert best < 2, sample["query_id"]
        if sample["label_fault"] == "wrongly declined":
            assert best >= 2, sample["query_id"]
        if sample["label_faithful"] and sample["label_correct"] and best < 2:
            from_background.append((sample["run_id"], sample["query_id"], best))
    assert from_background == [("careful", "q43", 1.0)]  # recall, put together from two passages that mention it


def test_only_declining_makes_no_claim(samples: list[Sample]) -> None:
    silent = [sample for sample in samples if sample["label_claims"] == 0]
    assert {sample["label_fault"] for sample in silent} == {"declined", "wrongly declined"}
    assert all(sample["response"].startswith("The passages do not ") for sample in silent)
    assert all(sample["judge_faithful"] is None for sample in silent)


def test_careful_is_better_and_fluent_unfaithful_in_a_third_to_half(samples: list[Sample]) -> None:
    unfaithful = Counter(sample["run_id"] for sample in samples if sample["label_faithful"] is False)
    correct = Counter(sample["run_id"] for sample in samples if sample["label_correct"])
    assert unfaithful["careful"] * 3 < unfaithful["fluent"]
    assert 1 / 3 <= unfaithful["fluent"] / 50 <= 1 / 2
    assert correct["careful"] > correct["fluent"]


def test_the_counts_of_the_description_are_true(samples: list[Sample]) -> None:
    told = (DATA / "README.md").read_text(encoding="utf-8")
    assert f"{len(samples)} RAG samples" in told
    verdicts = re.findall(r"^\| `(\w+)` \| (true|false|null) \| (\d+) \| (\d+) \|$", told, re.MULTILINE)
    assert len(verdicts) == 10
    for column, value, *counts in verdicts:
        assert [int(count) for count in counts] == _counts(samples, column, json.loads(value))
    faults = re.findall(r"^\| ([a-z ]+) \| [^|`]+ \| (\d+) \| (\d+) \|$", told, re.MULTILINE)
    assert {fault for fault, *_ in faults} == {sample["label_fault"] for sample in samples} - {None}
    for fault, *counts in faults:
        assert [int(count) for count in counts] == _counts(samples, "label_fault", fault)


def test_the_claims_of_the_description_are_counted(samples: list[Sample]) -> None:
    told = (DATA / "README.md").read_text(encoding="utf-8")
    claims, supported = (
        [sum(sample[column] for sample in samples if sample["run_id"] == system) for system in SYSTEMS]
        for column in ("label_claims", "label_supported")
    )
    sentence = f"Of {claims[0]} claims of `careful` the contexts support {supported[0]}, of {claims[1]} of `fluent` "
    assert f"{sentence}{supported[1]}." in told


def test_the_described_judge_agrees_and_errs_as_told(samples: list[Sample]) -> None:
    told = (DATA / "README.md").read_text(encoding="utf-8")
    pairs = Counter((sample["label_faithful"], sample["judge_faithful"]) for sample in samples)
    declined = pairs[None, None]
    assert f"| true | {pairs[True, True]} | {pairs[True, False]} |" in told
    assert f"| false | {pairs[False, True]} | {pairs[False, False]} |" in told
    assert (
        sum(pairs.values()) == sum(pairs[label, judge] for label in (True, False) for judge in (True, False)) + declined
    )
    missed = [
        sample["label_fault"] for sample in samples if sample["label_faithful"] is False and sample["judge_faithful"]
    ]
    assert f"({missed.count('reversed')} of {len(missed)})" in told


def test_the_file_is_a_frame_with_lists(samples: list[Sample]) -> None:
    frame = pl.read_ndjson(HANDBOOK / "samples.jsonl")
    assert frame.height == len(samples)
    lists = {name for name, dtype in frame.schema.items() if dtype == pl.List(pl.String)}
    assert lists == {name for name in frame.columns if name.endswith(("_contexts", "_ids", "_sources", "references"))}
    assert {frame.schema[name] for name in ("label_faithful", "judge_faithful")} == {pl.Boolean()}


def test_the_script_changes_nothing_and_completes_what_is_written_by_hand(tmp_path: Path) -> None:
    committed = (HANDBOOK / "samples.jsonl").read_bytes()
    shutil.copytree(DATA, tmp_path / "data")
    written = tmp_path / "data" / "handbook" / "samples.jsonl"
    _make(tmp_path)
    assert written.read_bytes() == committed

    derived = ("sample_id", "user_input", "topic", "difficulty", "ground_truth_sources", "judge_faithful")
    endings = ("_contexts", "_context_ids")
    lines = [json.loads(line) for line in reversed(committed.decode().splitlines())]
    bare = [{k: v for k, v in line.items() if k not in derived and not k.endswith(endings)} for line in lines]
    written.write_text("".join(json.dumps(line) + "\n" for line in bare), encoding="utf-8")
    _make(tmp_path)
    assert written.read_bytes() == committed


def _make(folder: Path) -> None:
    subprocess.run([sys.executable, str(folder / "data" / "make_samples.py")], check=True)


def _counts(samples: list[Sample], column: str, value: object) -> list[int]:
    return [
        sum(sample[column] == value for sample in samples if sample["run_id"] == system) for system in sorted(SYSTEMS)
    ]
