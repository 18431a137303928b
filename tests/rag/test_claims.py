"""Claims beside contexts: what is read of a judge's claims, and the figures that are group-bys over one table."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import rankframe as rf
from rankframe.rag.claims import Claim, by_context, listed_claims, read_compared, read_faithfulness
from rankframe.rag.replies import UnreadError
from rankframe.summaries import CLAIM

from .shared import answering, evaluated, samples, told

KEYS = ["run_id", "sample_id"]

SAMPLES: list[dict[str, Any]] = [
    {
        "sample_id": "s0",
        "user_input": "#0# Which kite is it?",
        "response": "It is red [a]. It eats voles [b]. It is a fish [1][c]. It is old.",
        "reference": "It is red and eats voles.",
        "retrieved_contexts": ["It is red.", "It eats voles. Some call it a fish.", "It is wet."],
        "retrieved_context_ids": ["a", "b", "c"],
        "reference_context_ids": ["a", "d"],
    },
    {
        "sample_id": "s1",
        "user_input": "#1# And this?",
        "response": "It is blue. It is small.",
        "reference": "It is blue.",
        "retrieved_contexts": ["It is blue and small.", "It is large."],
        "retrieved_context_ids": ["d", "a"],
        "reference_context_ids": ["d"],
    },
    {
        "sample_id": "s2",
        "user_input": "#2# And that?",
        "response": "I do not know.",
        "reference": "It is green.",
        "retrieved_contexts": ["It is wet."],
        "retrieved_context_ids": ["c"],
        "reference_context_ids": ["e"],
    },
]
FOUND = [
    [
        ("It is red [a].", [1], True),
        ("It eats voles [b].", [2], True),
        ("It is a fish [1][c].", [2], False),
        ("It is old.", [], False),
    ],
    [("It is blue.", [1], True), ("It is small.", [1], False)],
    [],
]
"""Of each sample the claims, the contexts that support them, and whether the reference states them."""
REPLIES = [
    json.dumps({"claims": [dict(zip(("claim", "contexts", "correct"), claim, strict=True)) for claim in claims]})
    for claims in FOUND
]


@pytest.fixture(scope="module")
def report() -> rf.Report:
    """Faithfulness of three samples, each claim held against the reference too."""
    return evaluated(rf.rag.faithfulness(llm=answering(REPLIES), reference=True), SAMPLES)


@pytest.fixture(scope="module")
def claims(report: rf.Report) -> pl.DataFrame:
    """The table, beside whether each context is one of the reference."""
    relevant = pl.DataFrame(SAMPLES).select("sample_id", "reference_context_ids")
    return report.claims.join(relevant, on="sample_id").with_columns(
        relevant=pl.col("context_id").is_in(pl.col("reference_context_ids"))
    )


# The table.


def test_every_claim_stands_beside_every_context(report: rf.Report) -> None:
    table = report.claims
    assert table.schema == {
        **dict.fromkeys(("run_id", "sample_id", "metric"), pl.String()),
        **{field.name: field.dtype for field in CLAIM.fields},
    }
    assert table.height == 4 * 3 + 2 * 2
    assert table.select("sample_id", "claim", "context", "context_id", "supports", "cited").rows() == [
        *[("s0", 1, 1, "a", True, True), ("s0", 1, 2, "b", False, False), ("s0", 1, 3, "c", False, False)],
        *[("s0", 2, 1, "a", False, False), ("s0", 2, 2, "b", True, True), ("s0", 2, 3, "c", False, False)],
        *[("s0", 3, 1, "a", False, True), ("s0", 3, 2, "b", True, False), ("s0", 3, 3, "c", False, True)],
        *[("s0", 4, 1, "a", False, False), ("s0", 4, 2, "b", False, False), ("s0", 4, 3, "c", False, False)],
        *[("s1", 1, 1, "d", True, False), ("s1", 1, 2, "a", False, False)],
        *[("s1", 2, 1, "d", True, False), ("s1", 2, 2, "a", False, False)],
    ]
    of_claims = table.unique(["sample_id", "claim"], maintain_order=True)
    assert of_claims.select("text", "of", "supported", "correct", "reason").rows() == [
        (text, "response", bool(contexts), correct, None) for claims in FOUND for text, contexts, correct in claims
    ]
    assert table.select("run_id", "metric").unique().rows() == [("run", "faithfulness")]


def test_the_share_of_supported_claims_is_the_metric(report: rf.Report) -> None:
    assert told(report, "value", "status") == [(0.75, "ok"), (1.0, "ok"), (None, "no_claims")]
    shares = report.claims.unique([*KEYS, "claim"]).group_by(*KEYS, maintain_order=True).agg(pl.col("supported").mean())
    assert shares.sort("sample_id").rows() == [("run", "s0", 0.75), ("run", "s1", 1.0)]


# Figures that are group-bys over it, by hand.


def of_samples(figures: pl.DataFrame) -> dict[str, Any]:
    """sample -> figure."""
    return dict(figures.sort("sample_id").iter_rows())


def test_the_hallucination_rate_is_a_group_by(claims: pl.DataFrame) -> None:
    """The share of claims that are false, and of which no context says anything."""
    per_claim = claims.unique(["sample_id", "claim"])
    rate = per_claim.group_by("sample_id").agg((~pl.col("correct") & ~pl.col("supported")).mean())
    assert of_samples(rate) == {"s0": 1 / 4, "s1": 0.0}


def test_noise_sensitivity_is_a_group_by(claims: pl.DataFrame) -> None:
    """The share of claims that are false, and that come of a context: of a relevant one, or of others alone."""
    per_claim = claims.group_by("sample_id", "claim").agg(
        wrong=~pl.col("correct").first(),
        relevant=(pl.col("supports") & pl.col("relevant")).any(),
        irrelevant=(pl.col("supports") & ~pl.col("relevant")).any(),
    )
    of_relevant = per_claim.group_by("sample_id").agg((pl.col("wrong") & pl.col("relevant")).mean())
    of_others = per_claim.group_by("sample_id").agg(
        (pl.col("wrong") & pl.col("irrelevant") & ~pl.col("relevant")).mean()
    )
    assert of_samples(of_relevant) == {"s0": 0.0, "s1": 1 / 2}
    assert of_samples(of_others) == {"s0": 1 / 4, "s1": 0.0}


def test_context_utilisation_is_a_group_by(claims: pl.DataFrame) -> None:
    """The share of contexts that any claim comes of, and that of the relevant ones."""
    used = claims.group_by("sample_id", "context").agg(pl.col("supports").any(), pl.col("relevant").first())
    assert of_samples(used.group_by("sample_id").agg(pl.col("supports").mean())) == {"s0": 2 / 3, "s1": 1 / 2}
    relevant = used.filter("relevant").group_by("sample_id").agg(pl.col("supports").mean())
    assert of_samples(relevant) == {"s0": 1.0, "s1": 1.0}


def test_citation_precision_and_recall_are_group_bys(claims: pl.DataFrame) -> None:
    """The share of citations that support their claim, and that of claims that cite a context which supports them."""
    precision = claims.filter("cited").group_by("sample_id").agg(pl.col("supports").mean())
    assert of_samples(precision) == {"s0": 2 / 4}
    per_claim = claims.group_by("sample_id", "claim").agg(borne=(pl.col("cited") & pl.col("supports")).any())
    assert of_samples(per_claim.group_by("sample_id").agg(pl.col("borne").mean())) == {"s0": 2 / 4, "s1": 0.0}


def test_support_by_rank_is_a_group_by(report: rf.Report) -> None:
    by_place = report.claims.group_by("context").agg(pl.col("supports").sum()).sort("context")
    assert by_place.rows() == [(1, 3), (2, 2), (3, 0)]


def test_claims_of_several_runs_are_told_apart() -> None:
    runs = {"ours": SAMPLES, "theirs": SAMPLES[1:]}
    report = rf.evaluate_samples(runs, metrics=rf.rag.faithfulness(llm=answering(REPLIES), reference=True))
    rate = report.claims.unique([*KEYS, "claim"]).group_by("run_id").agg((~pl.col("supported")).sum(), pl.len())
    assert rate.sort("run_id").rows() == [("ours", 1, 6), ("theirs", 0, 2)]


def test_claims_survive_parquet(report: rf.Report, tmp_path: Path) -> None:
    report.write_parquet(tmp_path / "report.parquet")
    again = rf.read_report(tmp_path / "report.parquet")
    assert again.claims.equals(report.claims)
    assert again.claims.schema == report.claims.schema
    assert again.scores.equals(report.scores)
    assert_frame_equal(again.summary, report.summary, rel_tol=1e-12)


def test_claims_of_several_metrics_stand_below_each_other() -> None:
    said = json.dumps({"claims": [{"claim": "It is red.", "correct": True}], "missing": ["It is large."]})
    metrics = [rf.rag.faithfulness(llm=answering(REPLIES)), rf.rag.correctness(llm=lambda _: said)]
    table = evaluated(metrics, SAMPLES).claims
    assert table["metric"].to_list() == ["faithfulness"] * 16 + ["correctness"] * 6
    rows = table.filter(metric="correctness").select("claim", "text", "of", "supported", "correct", "context").rows()
    assert rows[:2] == [
        (1, "It is red.", "response", None, True, None),
        (2, "It is large.", "reference", None, False, None),
    ]


def test_without_claims_the_table_is_empty_and_has_its_columns(report: rf.Report) -> None:
    for other in (
        evaluated(rf.rag.judged("x", "{response}", llm=lambda _: '{"score": 1}')),
        evaluated(rf.rag.faithfulness(llm=lambda _: '{"claims": []}')),
        rf.evaluate_samples(SAMPLES, metrics="exact_match"),
    ):
        assert other.claims.schema == report.claims.schema
        assert other.claims.height == 0


def test_claims_are_there_where_a_metric_has_another_name() -> None:
    metrics = [rf.rag.faithfulness(llm=answering(REPLIES)), rf.rag.faithfulness(llm=answering(REPLIES), name="second")]
    assert evaluated(metrics[:1], SAMPLES).claims.height == 16
    assert evaluated(metrics, SAMPLES).claims["metric"].unique().sort().to_list() == ["faithfulness", "second"]


# What is read of a reply.

WRONG = "the reply says {}_claims {}, and its claims give {}"
UNNAMED = "the reply names 0 claims as unsupported, and its counts give 1"


def supports(*claims: dict[str, Any], n: int = 2, **more: Any) -> list[tuple[bool | None, Any]]:
    found, _ = read_faithfulness({"claims": [{"claim": "c", **claim} for claim in claims], **more}, n)
    return [(claim.supported, claim.contexts) for claim in found]


def test_contexts_or_a_verdict_say_what_supports_a_claim() -> None:
    assert supports(
        {"contexts": [2, 1, 2]},
        {"contexts": []},
        {"contexts": ["1", " 2 ", 1.0]},
        {"supported": True},
        {"verdict": 0},
        {"supported": "yes", "contexts": None},
        {"supported": True, "contexts": [1]},
        {"supported": "unsupported", "contexts": []},
    ) == [
        (True, (1, 2)),
        (False, ()),
        (True, (1, 2)),
        (True, None),
        (False, None),
        (True, None),
        (True, (1,)),
        (False, ()),
    ]


@pytest.mark.parametrize(
    ("claim", "why"),
    [
        ({"contexts": [3]}, r"^claim 1 names the context 3; there are 2, from 1$"),
        ({"contexts": [0]}, r"^claim 1 names the context 0; there are 2, from 1$"),
        ({"contexts": [True]}, r"^claim 1 names the context True"),
        ({"contexts": ["1000000000"]}, r"^claim 1 names the context '1000000000'"),
        ({"contexts": "1"}, r"^the contexts of claim 1 are '1', not a list$"),
        ({"contexts": [], "supported": True}, r"^claim 1 is said to be supported and not to be, beside .*\[\]$"),
        ({"contexts": [1], "verdict": "no"}, r"^claim 1 is said to be supported and not to be, beside .*\[1\]$"),
        ({"supported": True, "verdict": False}, r"^claim 1 is said to be supported and not to be$"),
        ({}, r'^claim 1 has neither "contexts" nor "supported"$'),
        ({"claim": " ", "contexts": [1]}, r"^claim 1 is ' ', not a text$"),
        ({"contexts": [1], "correct": "perhaps"}, r"^'perhaps' is no verdict"),
    ],
    ids=str,
)
def test_contradictions_and_unknown_contexts_are_refused(claim: dict[str, Any], why: str) -> None:
    with pytest.raises(UnreadError, match=why):
        supports(claim)


@pytest.mark.parametrize(
    ("more", "flaw"),
    [
        ({}, None),
        ({"total_claims": 2, "supported_claims": 1, "faithfulness_score": 0.5}, None),
        ({"total_claims": 2.0, "faithfulness_score": 0.51}, None),
        ({"faithfulness_score": 0.52}, "the reply says faithfulness_score 0.52, and its counts give 0.5"),
        ({"faithfulness_score": 50}, "the reply says faithfulness_score 50, and its counts give 0.5"),
        ({"faithfulness_score": "0.5"}, "the reply says faithfulness_score '0.5', and its counts give 0.5"),
        ({"faithfulness_score": True}, "the reply says faithfulness_score True, and its counts give 0.5"),
        ({"total_claims": 3}, "the reply says total_claims 3, and its claims give 2"),
        ({"supported_claims": "one"}, "the reply says supported_claims 'one', and its claims give 1"),
        (
            {"total_claims": 5, "supported_claims": 2},
            f"{WRONG.format('total', 5, 2)}; {WRONG.format('supported', 2, 1)}",
        ),
    ],
    ids=str,
)
def test_numbers_that_do_not_add_up_are_told_and_those_of_the_claims_count(more: Any, flaw: str | None) -> None:
    claims = [{"claim": "a", "contexts": [1]}, {"claim": "b", "contexts": []}]
    found, said = read_faithfulness({"claims": claims, **more}, 1)
    assert [claim.supported for claim in found] == [True, False]
    assert said == flaw
    report = evaluated(rf.rag.faithfulness(llm=lambda _: json.dumps({"claims": claims, **more})), samples(1))
    assert told(report, "value", "status", "reason") == [(0.5, "ok", flaw)]


def test_claims_that_say_nothing_of_a_reference_that_was_shown_are_told() -> None:
    claims = [{"claim": "a", "contexts": [1], "correct": True}, {"claim": "b", "contexts": [1]}]
    assert read_faithfulness({"claims": claims}, 1)[1] is None
    assert read_faithfulness({"claims": claims}, 1, reference=True)[1] == '1 of 2 claims do not say "correct"'
    report = evaluated(rf.rag.faithfulness(llm=lambda _: json.dumps({"claims": claims}), reference=True), samples(1))
    assert told(report, "value", "reason") == [(1.0, '1 of 2 claims do not say "correct"')]
    assert report.claims.unique("claim", maintain_order=True)["correct"].to_list() == [True, None]


@pytest.mark.parametrize(
    ("found", "texts", "flaw"),
    [
        ({"unsupported": ["a"]}, [None, None, "a"], None),
        ({"unsupported": ["a"], "faithfulness_score": 0.67}, [None, None, "a"], None),
        ({}, [None, None, None], UNNAMED),
        ({"unsupported": None}, [None, None, None], UNNAMED),
        (
            {"unsupported": ["a", "b"]},
            [None, None, "a"],
            "the reply names 2 claims as unsupported, and its counts give 1",
        ),
        (
            {"unsupported": [], "faithfulness_score": 1},
            [None, None, None],
            f"the reply says faithfulness_score 1, and its counts give 0.6667; {UNNAMED}",
        ),
    ],
    ids=str,
)
def test_counts_in_place_of_claims(found: dict[str, Any], texts: list[Any], flaw: str | None) -> None:
    claims, said = read_faithfulness({"total_claims": 3, "supported_claims": 2, **found}, 4)
    assert [(claim.text, claim.supported, claim.contexts) for claim in claims] == [
        (text, place < 2, None) for place, text in enumerate(texts)
    ]
    assert said == flaw


def test_counts_alone_do_not_say_which_context_supports() -> None:
    claims, _ = read_faithfulness({"total_claims": 2, "supported_claims": 1, "unsupported": ["a [2]"]}, 2)
    rows = [(row["claim"], row["context"], row["supports"], row["cited"]) for row in by_context(claims, 2, None)]
    assert rows == [(1, 1, None, None), (1, 2, None, None), (2, 1, False, False), (2, 2, False, True)]


@pytest.mark.parametrize(
    ("text", "ids", "cited"),
    [
        ("It is.", None, [False, False]),
        ("It is [1].", None, [True, False]),
        ("It is [1, 2].", None, [True, True]),
        ("It is [b].", ["a", "b"], [False, True]),
        ("It is [2].", ["a", "b"], [False, True]),
        ("It is [2].", ["2", "1"], [True, False]),
        ("It is [3].", ["3", "9"], [True, False]),
        ("It is [b; x].", ["a", "b"], [False, True]),
        ("It is [b].", ["a", "b", "too many"], [False, False]),
        ("It is [a].", ["a", "a"], [True, True]),
        ("It is (1).", None, [False, False]),
    ],
)
def test_a_citation_is_an_id_where_there_is_one_of_that_name_and_a_place_elsewhere(
    text: str, ids: list[str] | None, cited: list[bool]
) -> None:
    rows = by_context([Claim(text, supported=True, contexts=(1,))], 2, ids)
    assert [row["cited"] for row in rows] == cited


def test_compared_claims_are_of_response_and_reference() -> None:
    claims, missing = read_compared(
        {"claims": [{"claim": " a ", "correct": "yes", "reason": "r"}, {"claim": "b", "correct": 0}], "missing": ["c"]}
    )
    assert claims == [Claim("a", correct=True, reason="r"), Claim("b", correct=False)]
    assert missing == [Claim("c", correct=False, of="reference")]
    rows = listed_claims([*claims, *missing])
    assert [(row["claim"], row["of"], row["context"], row["supports"]) for row in rows] == [
        (1, "response", None, None),
        (2, "response", None, None),
        (3, "reference", None, None),
    ]


@pytest.mark.parametrize(
    ("found", "why"),
    [
        ({"claims": []}, r"^'missing' is None, not a list$"),
        ({"missing": []}, r"^'claims' is None, not a list$"),
        ({"claims": ["a"], "missing": []}, r"^claim 1 is 'a', not an object$"),
        ({"claims": [{"claim": "a"}], "missing": []}, r'^claim 1 has no "correct"$'),
        ({"claims": [], "missing": [1]}, r"^a missing claim is 1, not a text$"),
        ({"claims": [], "missing": ["a"] * 1_001}, r"^'missing' is 1001, and no reply lists more than 1,000$"),
    ],
    ids=["no missing", "no claims", "text", "no verdict", "number", "too many"],
)
def test_what_is_no_comparison_is_refused(found: dict[str, Any], why: str) -> None:
    with pytest.raises(UnreadError, match=why):
        read_compared(found)


def test_half_a_surrogate_pair_in_a_claim_is_a_question_mark() -> None:
    """So that the table can hold what stands in a reply by its escape."""
    claims = [{"claim": "red \ud800", "contexts": [1], "reason": "so \udfff"}]
    report = evaluated(rf.rag.faithfulness(llm=lambda _: json.dumps({"claims": claims})), samples(1))
    assert report.claims.select("text", "reason").row(0) == ("red ?", "so ?")
