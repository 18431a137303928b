"""The evaluation script of SQuAD, written out from its description, and texts with every character that there is.

Nothing of rankframe is in it: it is what the columns are held against.
"""

from __future__ import annotations

import random
import re
import string
from collections import Counter
from collections.abc import Iterable, Iterator

PUNCTUATION = set(string.punctuation)


def normalise(text: str) -> str:
    """Lower, without punctuation, without articles, white space collapsed: in that order."""
    lowered = text.lower()
    unpunctuated = "".join(char for char in lowered if char not in PUNCTUATION)
    without_articles = re.sub(r"\b(a|an|the)\b", " ", unpunctuated)
    return " ".join(without_articles.split())


def exact(gold: str, given: str) -> float:
    return float(normalise(gold) == normalise(given))


def f1(gold: str, given: str) -> float:
    """Version 2.0: where either side has no token, whether both have none."""
    gold_tokens, given_tokens = normalise(gold).split(), normalise(given).split()
    if not gold_tokens or not given_tokens:
        return float(gold_tokens == given_tokens)
    same = sum((Counter(gold_tokens) & Counter(given_tokens)).values())
    if same == 0:
        return 0.0
    precision, recall = same / len(given_tokens), same / len(gold_tokens)
    return 2 * precision * recall / (precision + recall)


def best(golds: Iterable[str], given: str) -> tuple[float, float]:
    """Exact match and F1, each over the gold answer that it is best for."""
    each = [(exact(gold, given), f1(gold, given)) for gold in golds]
    return max(value for value, _ in each), max(value for _, value in each)


# Every character.

CHARACTERS = [chr(number) for number in range(0x110000) if not 0xD800 <= number < 0xE000]
"""All of Unicode, assigned or not; halves of surrogate pairs are no text."""


def some_characters(seed: int, share: float) -> list[str]:
    """The first 0x3100 of them, where most scripts that have cases stand, and a share of the others."""
    rng = random.Random(seed)
    return [*CHARACTERS[:0x3100], *(char for char in CHARACTERS[0x3100:] if rng.random() < share)]


AROUND = (
    "{c}",
    "a{c}",
    "{c}the",
    "x{c}an",
    "the{c}a{c}an",
    "{c}a ",
    "A.{c}B",
    "ΑΣ{c}",  # a last sigma has a form of its own, which depends on what stands beside it
    "ΑΣ{c}Α",
    "Α{c}Σ",
    "{c}Σ",
)
"""What stands around a character: articles, punctuation, blanks, letters and sigmas."""


def around(characters: Iterable[str], templates: Iterable[str] = AROUND) -> Iterator[str]:
    """Texts in which each character stands alone and glued to others."""
    return (template.replace("{c}", char) for template in templates for char in characters)
