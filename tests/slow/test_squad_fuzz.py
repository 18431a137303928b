"""No difference from the official recipe of SQuAD: over many hostile pairs, and over every character that there is."""

from __future__ import annotations

import pytest

from tests.laws.samples import hostile_pairs
from tests.metrics import official
from tests.metrics.test_lexical import ROUGE_TEMPLATES, rouge_differences
from tests.metrics.test_squad import FUNCTIONS, differences, score

pytestmark = pytest.mark.slow

PAIRS = 100_000

TEMPLATES = {
    "normalised": official.AROUND,
    "token_sets": ("{c}", "a{c}", "{c}the", "x{c}an", "{c} {c}a"),
    "words": ("{c}", "a{c}b"),
    "terms": ("{c}", "a{c}b", "{c}{c}"),
    "claims": ("a.{c}b", "{c}a{c}", "a!{c}{c} b"),
}


@pytest.mark.parametrize("seed", range(5))
def test_scores_of_hostile_pairs_are_those_of_the_official_script(seed: int) -> None:
    """Exact match and F1 over up to three references, to the last bit."""
    pairs = list(hostile_pairs(1_000 + seed, PAIRS))
    found = zip(*score(pairs), strict=True)
    right = (official.best(golds, response) for response, golds in pairs)
    assert [(pair, a, b) for pair, a, b in zip(pairs, found, right, strict=True) if a != b] == []


@pytest.mark.parametrize("name", TEMPLATES)
def test_hostile_texts_are_taken_as_python_takes_them(name: str) -> None:
    texts = (text for response, references in hostile_pairs(99, PAIRS // 2) for text in (response, *references))
    assert differences(texts, *FUNCTIONS[name]) == []


@pytest.mark.parametrize(
    ("name", "template"),
    [(name, template) for name, templates in TEMPLATES.items() for template in templates],
)
def test_every_character_is_taken_as_python_takes_it(name: str, template: str) -> None:
    """All 1,112,064 of them, alone and glued to articles, stops, letters and sigmas."""
    assert len(official.CHARACTERS) == 1_112_064
    assert differences(official.around(official.CHARACTERS, [template]), *FUNCTIONS[name]) == []


@pytest.mark.parametrize("template", ROUGE_TEMPLATES)
def test_words_of_rouge_are_known_of_every_character(template: str) -> None:
    assert rouge_differences(official.CHARACTERS, template) == []
