"""The text metrics of one sample, beside the recipes that they follow and at their edges."""

from __future__ import annotations

import itertools
import math
import re
import string
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rankframe.errors import DataError, MetricError
from rankframe.metrics.texts_scalar import (
    STOPWORDS,
    citation_precision,
    citation_recall,
    cited_sources,
    contains_answer,
    context_precision,
    context_recall,
    exact_match,
    lexical_faithfulness,
    normalized,
    query_context_precision,
    split_claims,
    tfidf_cosine,
    token_f1,
)

OF_REFERENCE: dict[str, Callable[[Any, Any], float]] = {
    "exact_match": exact_match,
    "token_f1": token_f1,
    "contains_answer": contains_answer,
    "context_recall": lambda text, reference: context_recall(reference, [text]),
    "context_precision": lambda text, reference: context_precision(reference, [text]),
}
"""What compares one text with references, as functions of the two."""

OF_RESPONSE: dict[str, Callable[[Any], Any]] = {
    "exact_match": lambda response: exact_match(response, "red kite"),
    "token_f1": lambda response: token_f1(response, "red kite"),
    "contains_answer": lambda response: contains_answer(response, "red kite"),
    "split_claims": split_claims,
    "lexical_faithfulness": lambda response: lexical_faithfulness(response, ["A red kite."]),
    "tfidf_cosine": lambda response: tfidf_cosine("red kite", response),
    "cited_sources": cited_sources,
    "citation_recall": lambda response: citation_recall(response, ["a.pdf"]),
    "citation_precision": lambda response: citation_precision(response, ["a.pdf"]),
}

OF_CONTEXTS: dict[str, Callable[[Any], float]] = {
    "context_recall": lambda contexts: context_recall("red kite", contexts),
    "context_precision": lambda contexts: context_precision("red kite", contexts),
    "query_context_precision": lambda contexts: query_context_precision("red kite", contexts),
    "lexical_faithfulness": lambda contexts: lexical_faithfulness("It is a red kite.", contexts),
}

EVERY: dict[str, Callable[[str, str], Any]] = {
    **OF_REFERENCE,
    "query_context_precision": lambda text, query: query_context_precision(query, [text]),
    "lexical_faithfulness": lambda text, context: lexical_faithfulness(text, [context]),
    "tfidf_cosine": lambda text, query: tfidf_cosine(query, text),
    "citation_recall": lambda text, source: citation_recall(text, [source]),
    "citation_precision": lambda text, source: citation_precision(text, [source]),
}

# The recipe of SQuAD 2.0, step by step and by other means than the module's.

LETTERS = st.characters() | st.sampled_from(
    "aAnTtheE  .-_'\u2019\u00b2\u00c9\u0130\u03a3\u0301\u0915\u094d\u6771\x1c\t\n"
)
PIECES = st.sampled_from(
    ["a", "an", "the", "The", "A.", "the-end", "b", "b", "c", "3.5", "35", "-", " ", "  ", "\x1c", "\u2028", "an\u0301"]
)
TEXTS = (
    st.text(LETTERS, max_size=20)
    | st.lists(PIECES, max_size=8).map(" ".join)
    | st.lists(PIECES, max_size=8).map("".join)
)


def squad_tokens(text: str) -> list[str]:
    """Lower, drop punctuation, blank out articles that are whole words, split."""
    kept = "".join(letter for letter in text.lower() if letter not in set(string.punctuation))
    runs = itertools.groupby(kept, key=lambda letter: re.fullmatch(r"\w", letter) is not None)
    words = ["".join(run) for _, run in runs]
    return "".join(" " if word in {"a", "an", "the"} else word for word in words).split()


def squad_exact(response: str, reference: str) -> int:
    return int(" ".join(squad_tokens(response)) == " ".join(squad_tokens(reference)))


def squad_f1(response: str, reference: str) -> float:
    given_tokens, right = squad_tokens(response), squad_tokens(reference)
    if len(given_tokens) == 0 or len(right) == 0:
        return int(given_tokens == right)
    left = list(right)
    same = 0
    for token in given_tokens:
        if token in left:
            left.remove(token)
            same += 1
    if same == 0:
        return 0
    precision, recall = 1.0 * same / len(given_tokens), 1.0 * same / len(right)
    return (2 * precision * recall) / (precision + recall)


@given(text=TEXTS)
@example(text="a_the")
@example(text="the\u00b2 a\u0301")
def test_texts_are_normalised_as_squad_does(text: str) -> None:
    assert normalized(text) == " ".join(squad_tokens(text))
    assert normalized(normalized(text)) == " ".join(squad_tokens(normalized(text)))


@given(response=TEXTS, references=st.lists(TEXTS, min_size=1, max_size=4))
def test_exact_match_and_f1_are_those_of_squad(response: str, references: list[str]) -> None:
    """To the last bit, and the best over the references, each on its own."""
    for reference in references:
        assert exact_match(response, reference) == squad_exact(response, reference)
        assert token_f1(response, reference) == squad_f1(response, reference)
    assert exact_match(response, references) == max(squad_exact(response, one) for one in references)
    assert token_f1(response, references) == max(squad_f1(response, one) for one in references)


@given(response=TEXTS, references=st.lists(TEXTS, min_size=1, max_size=3))
def test_an_answer_is_contained_as_a_run_of_tokens(response: str, references: list[str]) -> None:
    tokens = squad_tokens(response)

    def stands(answer: list[str]) -> bool:
        starts = range(len(tokens) - len(answer) + 1)
        return bool(answer) and any(tokens[start : start + len(answer)] == answer for start in starts)

    assert contains_answer(response, references) == max(stands(squad_tokens(one)) for one in references)


@given(references=st.lists(TEXTS, min_size=1, max_size=3), contexts=st.lists(TEXTS, max_size=4))
def test_contexts_are_held_against_the_tokens_of_the_reference(references: list[str], contexts: list[str]) -> None:
    every = [token for context in contexts for token in squad_tokens(context)]
    recalls, precisions = [0.0], []
    for wanted in map(squad_tokens, references):
        distinct = list(dict.fromkeys(wanted))
        if distinct:
            recalls.append(sum(token in every for token in distinct) / len(distinct))
        useful = [context for context in contexts if any(token in squad_tokens(context) for token in wanted)]
        precisions.append(len(useful) / len(contexts) if contexts else 0.0)
    assert context_recall(references, contexts) == max(recalls)
    assert context_precision(references, contexts) == max(precisions)


# The documented examples, and what the rule means.


def test_documented_examples() -> None:
    assert exact_match("The Eiffel Tower", "eiffel tower") == 1.0
    assert exact_match("Paris", "London") == 0.0
    assert token_f1("the quick brown fox", "a quick brown fox") == 1.0
    assert round(token_f1("quick brown fox", "quick brown dog"), 4) == 0.6667
    assert context_recall("paris france", ["Paris is the capital of France."]) == 1.0
    assert context_recall("paris france", ["London is in England."]) == 0.0
    assert context_precision("paris", ["Paris is in France.", "Unrelated text."]) == 0.5


@pytest.mark.parametrize(
    ("response", "reference", "exact", "f1"),
    [
        ("-5", "5", 1, 1),
        ("3.14", "314", 1, 1),
        ("$1.50", "150", 1, 1),
        ("the-end", "theend", 1, 1),
        ("\u201cParis\u201d", "Paris", 0, 0),
        ("Paris\u2014", "Paris", 0, 0),
        ("\u00e9", "e\u0301", 0, 0),
        ("Stra\u00dfe", "STRASSE", 0, 0),
        ("\u6771\u4eac", "\u6771\u4eac\u90fd", 0, 0),
        ("the the a cat", "cat", 1, 1),
        ("A", "", 1, 1),
        ("...", "the", 1, 1),
        ("owl", "", 0, 0),
        ("", "owl", 0, 0),
        ("red owl", "owl red", 0, 1),
        ("very very good", "very good", 0, 0.8),
    ],
)
def test_consequences_of_the_rule(response: str, reference: str, exact: float, f1: float) -> None:
    assert exact_match(response, reference) == exact
    assert token_f1(response, reference) == pytest.approx(f1, abs=1e-15)


def test_an_answer_is_contained_in_words_only_and_not_in_parts_of_them() -> None:
    assert contains_answer("The answer is: 35, I think.", "3.5") == 1.0
    assert contains_answer("New York City", ["Boston", "york city"]) == 1.0
    assert contains_answer("Parisian", "Paris") == 0.0
    assert contains_answer("york", "New York") == 0.0


def test_the_best_reference_is_found_for_each_metric_on_its_own() -> None:
    """One reference is equal to the response in part, the other stands in it."""
    references = ["New York City in America", "city"]
    response = "New York City"
    found = {name: function(response, references) for name, function in OF_REFERENCE.items()}
    assert found == {
        "exact_match": 0.0,
        "token_f1": pytest.approx(2 * 3 / (3 + 5)),
        "contains_answer": 1.0,
        "context_recall": 1.0,
        "context_precision": 1.0,
    }


def test_contexts_are_put_together_for_recall_and_counted_one_by_one_for_precision() -> None:
    contexts = ["A red kite.", "Kite; red.", None, "An owl", ""]
    assert context_recall("the red owl", contexts) == 1.0
    assert context_recall("red red red fox", contexts) == 0.5
    assert context_precision("the red owl", contexts) == 3 / 5


def test_a_reference_without_tokens_has_nothing_that_could_be_found() -> None:
    """It is passed over where there is another one."""
    for function in (contains_answer, OF_REFERENCE["context_recall"], OF_REFERENCE["context_precision"]):
        assert function("the red kite", "the") == 0.0
        assert function("", "...") == 0.0
        assert function("the red kite", ["the", "kite"]) == 1.0


# Words that say nothing.


def test_stop_words_are_no_overlap_on_request() -> None:
    contexts = ["Rome is in Italy.", "Paris is large.", "It is."]
    assert context_precision("it is in Paris", contexts) == 1.0
    assert context_precision("it is in Paris", contexts, stopwords="keep") == 1.0
    assert context_precision("it is in Paris", contexts, stopwords="drop") == 1 / 3
    assert context_precision(["it is", "Rome"], contexts, stopwords="drop") == 1 / 3
    assert context_precision("it is", contexts, stopwords="drop") == 0.0


def test_stop_words_are_function_words_as_they_are_compared() -> None:
    assert {"a", "an", "the", "is", "of", "and", "in"} <= STOPWORDS
    assert {normalized(word) for word in STOPWORDS} == STOPWORDS - {"a", "an", "the"} | {""}
    assert STOPWORDS.isdisjoint({"no", "not", "none", "yes", "us", "may", "mine", "one"})
    assert 100 <= len(STOPWORDS) <= 150


@pytest.mark.parametrize("bad", ["english", True, None, "", ["drop"]], ids=repr)
def test_other_ways_with_stop_words_are_refused(bad: Any) -> None:
    with pytest.raises(MetricError, match=r"stopwords=.*valid: keep, drop"):
        context_precision("paris", ["Paris"], stopwords=bad)


# The textbook's rules of thumb.


def textbook_claims(answer: str) -> list[str]:
    """Cut behind every . ! or ? that white space follows."""
    sentences, start, place = [], 0, 0
    while place < len(answer):
        if place and answer[place - 1] in ".!?" and answer[place].isspace():
            sentences.append(answer[start:place])
            while place < len(answer) and answer[place].isspace():
                place += 1
            start = place
        else:
            place += 1
    sentences.append(answer[start:])
    return [sentence.strip() for sentence in sentences if len(sentence.strip()) > 10]


def textbook_faithfulness(answer: str, contexts: list[str]) -> float:
    claims = textbook_claims(answer)
    supported = 0
    for claim in claims:
        words = set(claim.lower().split())
        shares = [len(words & set(context.lower().split())) / len(words) for context in contexts]
        supported += any(share > 0.7 for share in shares)
    return supported / len(claims) if claims else 0.0


def textbook_precision(query: str, contexts: list[str]) -> float:
    words = set(query.lower().split())
    return sum(bool(words & set(c.lower().split())) for c in contexts) / len(contexts) if contexts else 0.0


SENTENCES = st.lists(
    st.sampled_from([*"abcdefghij", "Kites", "kites", "soar.", "soar", "Yes!", "why?", "\n", " "]), max_size=30
)
PROSE = SENTENCES.map(" ".join) | st.text(st.sampled_from("ab.!? \n\x1c\u2028\u00a0"), max_size=40)


@given(answer=PROSE | TEXTS)
def test_claims_are_the_textbooks(answer: str) -> None:
    assert split_claims(answer) == textbook_claims(answer)


@given(answer=PROSE, contexts=st.lists(PROSE, max_size=4))
def test_faithfulness_is_the_textbooks(answer: str, contexts: list[str]) -> None:
    assert lexical_faithfulness(answer, contexts) == textbook_faithfulness(answer, contexts)


@given(query=PROSE | TEXTS, contexts=st.lists(PROSE | TEXTS, max_size=4))
def test_precision_by_the_query_is_the_textbooks(query: str, contexts: list[str]) -> None:
    assert query_context_precision(query, contexts) == textbook_precision(query, contexts)


def test_claims_end_at_a_mark_that_white_space_follows() -> None:
    assert split_claims("It has 3.5 million people. Really!\n\nIs it so large?  It is, e.g. today") == [
        "It has 3.5 million people.",
        "Is it so large?",
        "It is, e.g.",
    ]
    assert split_claims("  One claim without an end  ") == ["One claim without an end"]
    assert split_claims("No end.Here") == ["No end.Here"]


def test_claims_are_longer_than_the_shortest_length() -> None:
    assert split_claims("1234567890") == []
    assert split_claims("12345678901") == ["12345678901"]
    assert split_claims("Yes. No. ", min_length=0) == ["Yes.", "No."]
    assert split_claims("Yes. No.", 3) == ["Yes."]
    assert split_claims("", 0) == []


@pytest.mark.parametrize("bad", [-1, 1.5, "10", None, True, math.nan], ids=repr)
def test_a_length_that_is_none_is_refused(bad: Any) -> None:
    with pytest.raises(MetricError, match=rf"min_length is a whole number from 0, got {bad!r}"):
        split_claims("Yes.", bad)


def test_a_claim_needs_more_than_70_percent_of_its_words_in_one_context() -> None:
    """Of the distinct ones; what several contexts have together is not enough."""
    ten = [f"word{number}" for number in range(10)]
    claim = " ".join(ten)
    assert lexical_faithfulness(claim, [" ".join(ten[:7])]) == 0.0
    assert lexical_faithfulness(claim, [" ".join(ten[:8])]) == 1.0
    assert lexical_faithfulness(claim, [" ".join(ten[:5]), " ".join(ten[5:])]) == 0.0
    assert lexical_faithfulness(f"{claim} {' '.join(ten[:7] * 9)}", [" ".join(ten[:7])]) == 0.0
    for n in range(10, 400, 10):
        words = [str(number) for number in range(n)]
        few, more = " ".join(words[: n * 7 // 10]), " ".join(words[: n * 7 // 10 + 1])
        assert (lexical_faithfulness(" ".join(words), [few]), lexical_faithfulness(" ".join(words), [more])) == (0, 1)


def test_an_answer_in_the_words_of_a_context_is_faithful_and_an_invented_year_is_not() -> None:
    contexts = [
        "Paris has been the capital of France since 987.",
        "France has 68 million people.",
        "The Seine flows through Paris.",
    ]
    assert lexical_faithfulness("Paris has been the capital of France since 987.", contexts) == 1.0
    assert lexical_faithfulness("Lyon became France's capital after 1789, they say.", contexts) == 0.0


def test_nothing_that_is_claimed_is_faithful_to_nothing() -> None:
    assert lexical_faithfulness("Yes.", ["Yes."]) == 0.0
    assert lexical_faithfulness("", ["It is a red kite."]) == 0.0
    assert lexical_faithfulness("It is a red kite.", []) == 0.0


def test_words_of_the_query_keep_their_punctuation() -> None:
    """All three chunks name the country, and one names it before a comma."""
    chunks = ["The capital of France is Paris.", "France is in Europe.", "In france the Seine flows."]
    assert query_context_precision("capital of France", chunks) == 1.0
    assert query_context_precision("France", [*chunks, "Of France, little is said."]) == 0.75


# TF-IDF.

BY_SCIKIT_LEARN = [
    ("What is the capital of France?", "The capital of France is Paris.", 0.7168117414430619),
    ("capital of France", "Paris is the capital of France", 0.5797386715376658),
    ("red kite", "owl", 0.0),
    ("red red kite", "red kite kite kite", 0.7071067811865477),
    ("a b c", "a b c", 0.0),
    ("", "x", 0.0),
    ("kite", "kite", 1.0),
    ("Stra\u00dfe \u00dcBER caf\u00e9", "\u00fcber die stra\u00dfe, CAFE", 0.4112070550676187),
    ("don't stop", "don t stop", 1.0),
    ("x1 y2 snake_case", "snake case x1", 0.20199309249791833),
    ("\u6771\u4eac \u30bf\u30ef\u30fc", "\u6771\u4eac\u30bf\u30ef\u30fc", 0.0),
    ("\u0391\u03a3 \u039f\u0394\u039f\u03a3", "\u03b1\u03c2 \u03bf\u03b4\u03bf\u03c2", 1.0),
]
"""Query, response and cosine of the vectors of scikit-learn 1.9.1's TfidfVectorizer(), fitted on the two."""


@pytest.mark.parametrize(("query", "response", "cosine"), BY_SCIKIT_LEARN)
def test_cosines_are_those_of_scikit_learn(query: str, response: str, cosine: float) -> None:
    assert tfidf_cosine(query, response) == pytest.approx(cosine, abs=1e-12)


@given(query=TEXTS | PROSE, response=TEXTS | PROSE)
def test_cosines_are_of_smoothed_weights_with_unit_length(query: str, response: str) -> None:
    """By vectors over the whole vocabulary."""
    counts = [Counter(re.findall(r"\b\w\w+\b", text.lower())) for text in (query, response)]
    vocabulary = sorted(set().union(*counts))
    matrix = np.array([[count[term] for term in vocabulary] for count in counts], dtype=np.float64)
    weighted = matrix * (np.log((1 + 2) / (1 + (matrix > 0).sum(axis=0))) + 1)
    norms = np.linalg.norm(weighted, axis=1)
    right = float(weighted[0] @ weighted[1] / norms.prod()) if norms.all() else 0.0
    cosine = tfidf_cosine(query, response)
    assert cosine == pytest.approx(right, abs=1e-12)
    assert cosine == tfidf_cosine(response, query)
    assert 0.0 <= cosine <= 1.0
    assert tfidf_cosine(query, query) in {0.0, 1.0}


# Cited sources.


@pytest.mark.parametrize(
    ("response", "cited"),
    [
        ("Kites soar [birds.pdf].", ["birds.pdf"]),
        ("Kites soar [ birds.pdf , kites.md;owls ] and dive [owls].", ["birds.pdf", "kites.md", "owls"]),
        ("[b][a][b]", ["b", "a"]),
        ("[[1]] and [2", ["1"]),
        ("[] [ ] [,;]", []),
        ("None at all", []),
        ("", []),
        ("[two\nlines]", ["two\nlines"]),
        ("[A.pdf] [a.pdf]", ["A.pdf", "a.pdf"]),
    ],
)
def test_sources_stand_in_brackets(response: str, cited: list[str]) -> None:
    assert cited_sources(response) == cited


def test_citations_are_counted_once_each() -> None:
    response = "Kites soar [birds.pdf, kites.md]. They eat voles [kites.md; blog]."
    assert citation_recall(response, ["kites.md", "owls.pdf", "owls.pdf"]) == 0.5
    assert citation_precision(response, ["kites.md", "owls.pdf", "kites.md"]) == 1 / 3
    assert citation_recall(response, {"blog", "kites.md"}) == 1.0
    assert citation_precision(response, ["blog", "kites.md", "birds.pdf", "owls.pdf"]) == 1.0


def test_nothing_cited_or_nothing_to_cite_is_0() -> None:
    assert (citation_recall("Kites soar.", ["a.pdf"]), citation_precision("Kites soar.", ["a.pdf"])) == (0.0, 0.0)
    assert (citation_recall("Kites [a.pdf].", []), citation_precision("Kites [a.pdf].", [])) == (0.0, 0.0)


# What is given.


@pytest.mark.parametrize("name", EVERY)
@given(text=TEXTS | PROSE, other=TEXTS | PROSE)
def test_every_value_is_a_float_from_0_to_1(name: str, text: str, other: str) -> None:
    value = EVERY[name](text, other)
    assert type(value) is float
    assert 0.0 <= value <= 1.0


@pytest.mark.parametrize("name", OF_REFERENCE)
def test_a_text_is_all_that_itself_can_be(name: str) -> None:
    assert OF_REFERENCE[name]("The red kite, e.g.", "The red kite, e.g.") == 1.0


@pytest.mark.parametrize("name", OF_RESPONSE)
def test_no_response_is_an_empty_one(name: str) -> None:
    assert OF_RESPONSE[name](None) == OF_RESPONSE[name]("")


@pytest.mark.parametrize("bad", [7, math.nan, ["red kite"], b"red kite", {"text": "red kite"}], ids=repr)
@pytest.mark.parametrize("name", OF_RESPONSE)
def test_a_response_that_is_no_text_is_refused(name: str, bad: Any) -> None:
    with pytest.raises(DataError, match=rf"response is a {type(bad).__name__}, .*expected text"):
        OF_RESPONSE[name](bad)


@pytest.mark.parametrize("name", OF_REFERENCE)
def test_a_reference_that_is_missing_is_an_error_that_says_so(name: str) -> None:
    """It is no wrong answer, and a function of one sample has no null."""
    with pytest.raises(DataError, match=r"reference is None: there is nothing to compare with"):
        OF_REFERENCE[name]("red kite", None)
    with pytest.raises(DataError, match=r"reference is an empty list: there is nothing to compare with"):
        OF_REFERENCE[name]("red kite", [])


@pytest.mark.parametrize(
    ("bad", "told"),
    [
        (7, r"reference is a int, 7; expected text, or a list of texts"),
        (math.nan, r"reference is a float, nan"),
        (b"red", r"reference is a bytes"),
        ({"red": 1}, r"reference is a dict"),
        (["red", None], r"reference\[1\] is None; expected text"),
        (["red", 7], r"reference\[1\] is a int, 7; expected text"),
    ],
    ids=repr,
)
@pytest.mark.parametrize("name", OF_REFERENCE)
def test_a_reference_that_is_no_text_is_refused(name: str, bad: Any, told: str) -> None:
    with pytest.raises(DataError, match=told):
        OF_REFERENCE[name]("red kite", bad)


@pytest.mark.parametrize("name", OF_CONTEXTS)
@pytest.mark.parametrize(
    "made",
    [tuple, iter, np.array, pl.Series, dict.fromkeys, frozenset],
    ids=["tuple", "iterator", "numpy", "polars", "keys of a mapping", "set"],
)
def test_contexts_may_be_any_collection_of_texts(name: str, made: Callable[[list[str]], Any]) -> None:
    texts = ["It is a red kite.", "An owl hoots."]
    contexts = made(texts)
    if isinstance(contexts, dict):
        contexts = contexts.keys()
    assert OF_CONTEXTS[name](contexts) == OF_CONTEXTS[name](texts) > 0.0


@pytest.mark.parametrize("made", [tuple, iter, np.array, pl.Series], ids=["tuple", "iterator", "numpy", "polars"])
@pytest.mark.parametrize("name", OF_REFERENCE)
def test_references_may_be_any_collection_of_texts(name: str, made: Callable[[list[str]], Any]) -> None:
    assert OF_REFERENCE[name]("red kite", made(["an owl", "a red kite"])) == 1.0


@pytest.mark.parametrize("name", OF_CONTEXTS)
def test_no_contexts_are_0_and_a_context_of_none_is_an_empty_one(name: str) -> None:
    nothing: list[Any] = [[], (), None, np.array([], dtype=str), iter(())]
    for none in nothing:
        assert OF_CONTEXTS[name](none) == 0.0
    assert OF_CONTEXTS[name]([None]) == 0.0
    assert OF_CONTEXTS[name](["It is a red kite.", None]) == OF_CONTEXTS[name](["It is a red kite.", ""]) > 0.0


def test_a_context_of_none_does_not_say_none() -> None:
    assert context_recall("None", [None]) == context_precision("None", [None]) == 0.0
    assert query_context_precision("none", [None]) == lexical_faithfulness("none none none", [None]) == 0.0


@pytest.mark.parametrize("name", OF_CONTEXTS)
def test_one_text_in_place_of_contexts_is_refused(name: str) -> None:
    """Its letters are no contexts."""
    with pytest.raises(DataError, match=r"contexts is one text, 'The red kite\.'; expected a list of texts, as in"):
        OF_CONTEXTS[name]("The red kite.")
    with pytest.raises(DataError, match=r"contexts is one text, .*stored as text; decode it first"):
        OF_CONTEXTS[name]("['The red kite.', 'An owl.']")


@pytest.mark.parametrize(
    ("bad", "told"),
    [
        (7, r"contexts is a int, 7; expected a list of texts"),
        ({"c1": "red"}, r"contexts is a dict"),
        (b"red", r"contexts is a bytes"),
        (["red", 7], r"contexts\[1\] is a int, 7; expected text"),
        (["red", math.nan], r"contexts\[1\] is a float, nan"),
        ([["red"]], r"contexts\[0\] is a list"),
    ],
    ids=repr,
)
@pytest.mark.parametrize("name", OF_CONTEXTS)
def test_contexts_that_are_no_texts_are_refused(name: str, bad: Any, told: str) -> None:
    with pytest.raises(DataError, match=told):
        OF_CONTEXTS[name](bad)


@pytest.mark.parametrize("function", [tfidf_cosine, query_context_precision])
@pytest.mark.parametrize(
    ("bad", "told"), [(None, "query is None"), (7, "query is a int, 7"), (["x"], "query is a list")]
)
def test_a_query_that_is_no_text_is_refused(function: Callable[[Any, Any], float], bad: Any, told: str) -> None:
    with pytest.raises(DataError, match=rf"{told}.*; expected text"):
        function(bad, None)


@pytest.mark.parametrize(
    ("bad", "told"),
    [
        (None, "sources is None: nothing says what should be cited"),
        ("a.pdf", r"sources is one text, 'a\.pdf'; expected a list of names, as in sources=\['a\.pdf'\]"),
        (7, "sources is a int, 7; expected a list of names"),
        (["a.pdf", None], r"sources\[1\] is None; expected text"),
    ],
    ids=repr,
)
@pytest.mark.parametrize("function", [citation_recall, citation_precision])
def test_sources_that_are_no_names_are_refused(function: Callable[[Any, Any], float], bad: Any, told: str) -> None:
    with pytest.raises(DataError, match=told):
        function("Kites [a.pdf].", bad)
