"""Lexical metrics beside independent tools: scikit-learn, rouge-score, sacrebleu."""

from __future__ import annotations

import random
import string
from collections.abc import Callable
from typing import Any

import polars as pl
import pytest

import rankframe as rf

pytest.importorskip("rapidfuzz", reason="the extra lexical is not installed")
pytest.importorskip("sacrebleu", reason="the extra lexical is not installed")

WORDS = [
    *("the", "a", "of", "Paris", "paris", "is", "it", "3.5", "35", "state-of-the-art", "well-known", "don't", "U.S.A."),
    *(
        "naïve",
        "Straße",
        "café",
        "cafe\u0301",
        "東京",
        "東京都",
        "ß",
        "İstanbul",
        "x_y",
        "_",
        "--",
        "!",
        "été",
        "ไทย",
        "हिन्दी",
    ),
]
ASCII = [word for word in WORDS if word.isascii()]


def texts(count: int, words: list[str], seed: int, most: int = 14) -> list[str]:
    rng = random.Random(seed)
    made = [" ".join(rng.choices(words, k=rng.randint(0, most))) for _ in range(count)]
    noise = string.ascii_letters[:12] + string.digits[:4] + " .,;:!?-_()'\"\n\t"
    odd = ["".join(rng.choices(noise, k=rng.randint(0, 40))) for _ in range(count // 4)]
    return [*made[: count - len(odd)], *odd]


def pairs(count: int, words: list[str]) -> list[tuple[str, str]]:
    """Half of them near to each other."""
    rng = random.Random(7)
    left, right = texts(count, words, 1), texts(count, words, 2)
    return [
        (one, other if rng.random() < 0.5 else " ".join(one.split()[rng.randint(0, 2) :] + other.split()[:3]))
        for one, other in zip(left, right, strict=True)
    ]


def scored(metric: str, pair: list[tuple[str, str]], said: str = "response", right: str = "reference") -> list[float]:
    frame = pl.DataFrame(pair, schema=[said, right], orient="row")
    return rf.evaluate_samples(frame, metrics=metric).scores[metric].to_list()


def test_rouge_l_is_that_of_rouge_score_on_ascii() -> None:
    scorer: Any = pytest.importorskip("rouge_score.rouge_scorer").RougeScorer(["rougeL"], use_stemmer=False)
    given = pairs(3_000, ASCII)
    theirs = [scorer.score(reference, response)["rougeL"].fmeasure for response, reference in given]
    assert scored("rouge_l", given) == pytest.approx(theirs, abs=1e-12)
    assert sum(0 < score < 1 for score in theirs) > 1_000


@pytest.mark.parametrize(
    ("response", "reference", "value"),
    [
        ("东京是日本的首都", "东京是日本的首都", 1.0),
        ("東京", "東京都", 0.8),  # two of three letters
        ("กรุงเทพ", "กรุงเทพ", 1.0),
        ("हिन्दी भाषा", "हिन्दी", 2 / 3),  # marks of vowels end no word
        ("Straße", "strasse", 0.0),
        ("", "x", 0.0),
    ],
)
def test_rouge_l_knows_words_of_every_script(response: str, reference: str, value: float) -> None:
    assert scored("rouge_l", [(response, reference)]) == pytest.approx([value])


@pytest.mark.parametrize(
    ("metric", "theirs"),
    [
        ("chrf", lambda: __import__("sacrebleu").sentence_chrf),
        ("bleu", lambda: __import__("sacrebleu").sentence_bleu),
    ],
)
def test_chrf_and_bleu_are_those_of_sacrebleu(metric: str, theirs: Callable[[], Any]) -> None:
    given = pairs(400, WORDS)
    sentence = theirs()
    options = {"use_effective_order": True} if metric == "bleu" else {}
    right = [sentence(response, [reference], **options).score for response, reference in given]
    assert scored(metric, given) == pytest.approx(right, abs=1e-9)
    assert any(0 < score < 100 for score in right)


@pytest.mark.parametrize("metric", ["rouge_l", "chrf", "bleu"])
def test_the_best_reference_counts_and_none_is_null(metric: str) -> None:
    samples = [
        {"response": "a red kite flies over here", "references": ["a stork", "a red kite flies over there"]},
        {"response": "a red kite flies over here", "references": ["a red kite flies over there"]},
        {"response": None, "references": ["a red kite"]},
        {"response": "a red kite", "references": None},
    ]
    first, second, silent, without = rf.evaluate_samples(samples, metrics=metric).scores[metric]
    assert first == second > 0
    assert (silent, without) == (0.0, None)


def cosines(pair: list[tuple[str, str]], vectorizer: Any, fitted: list[str] | None) -> list[float]:
    """What scikit-learn gives; 0 where it has no word to fit on."""
    found = []
    if fitted is not None:
        vectorizer.fit(fitted)
    for query, response in pair:
        try:
            vectors = (
                vectorizer.fit_transform([query, response])
                if fitted is None
                else vectorizer.transform([query, response])
            )
        except ValueError:  # empty vocabulary
            found.append(0.0)
        else:
            found.append(float((vectors[0] @ vectors[1].T).toarray()[0, 0]))
    return found


@pytest.mark.parametrize("words", [WORDS, ASCII], ids=["all", "ascii"])
def test_tfidf_of_the_pair_is_that_of_scikit_learn(words: list[str]) -> None:
    vectorizer = pytest.importorskip("sklearn.feature_extraction.text").TfidfVectorizer()
    given = pairs(1_500, words)
    ours = scored("tfidf_answer_relevance", given, "user_input", "response")
    assert ours == pytest.approx(cosines(given, vectorizer, None), abs=1e-12)


def test_tfidf_of_the_corpus_is_that_of_scikit_learn() -> None:
    """Fitted on every question and every response of the run."""
    vectorizer = pytest.importorskip("sklearn.feature_extraction.text").TfidfVectorizer()
    given = pairs(1_500, WORDS)
    right = cosines(given, vectorizer, [text for pair in given for text in pair])
    assert scored("tfidf_answer_relevance(idf=corpus)", given, "user_input", "response") == pytest.approx(
        right, abs=1e-12
    )
    assert sum(0 < score < 1 for score in right) > 500


def test_texts_that_are_missing_are_no_part_of_the_corpus() -> None:
    vectorizer = pytest.importorskip("sklearn.feature_extraction.text").TfidfVectorizer()
    samples = [("red kite", "a red kite"), ("white stork", None), (None, "white owl"), ("white owl", "red owl")]
    given = [(query, response) for query, response in samples if query is not None and response is not None]
    right = cosines(given, vectorizer, [text for pair in samples for text in pair if text is not None])
    frame = pl.DataFrame(samples, schema=["user_input", "response"], orient="row")
    metric = "tfidf_answer_relevance(idf=corpus)"
    first, second, third, fourth = rf.evaluate_samples(frame, metrics=metric).scores[metric]
    assert [first, fourth] == pytest.approx(right, abs=1e-12)
    assert (second, third) == (None, None)
