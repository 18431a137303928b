"""Random samples, as hostile as text can be, and a list of metrics that covers those of samples in the registry."""

from __future__ import annotations

import random
from collections.abc import Iterator
from importlib.util import find_spec
from itertools import product
from typing import Any

from hypothesis import strategies as st

from rankframe.metrics import REGISTRY
from rankframe.metrics.families import BuiltIn

Sample = dict[str, Any]

FAMILIES = [name for name, family in REGISTRY.items() if family.unit == "sample"]
EXTRAS = all(find_spec(library) is not None for library in ("rapidfuzz", "sacrebleu"))
"""Whether the libraries of the extra `lexical` are here."""


def metrics(*, extras: bool = EXTRAS) -> list[BuiltIn]:
    """Every family with every combination of its choices, uncut and at several cutoffs."""
    return [metric for name in FAMILIES if extras or REGISTRY[name].extra is None for metric in _of(name)]


def _of(name: str) -> Iterator[BuiltIn]:
    family = REGISTRY[name]
    assert set(family.choices) == set(family.defaults), f"say in samples.py which values of {name} are tried"
    for k in (None, 1, 3) if family.has_cutoff else (None,):
        for values in product(*family.choices.values()):
            chosen: dict[str, Any] = dict(zip(family.choices, values, strict=True))
            made = family(k=k, **chosen)
            assert isinstance(made, BuiltIn)
            yield made


ARTICLES = ["a", "an", "the", "The", "AN", " the ", "the the", "a\x1fan"]
BLANKS = [" ", "  ", "\n", "\t", "\x0b", "\x0c", "\x1c", "\x1f", "\x85", "\xa0", "\u2003", "\u2028", "\u3000"]
NO_BLANKS = ["\u200b", "\u200d", "\ufeff", "\x00", "\u180e"]
PUNCTUATION = [".", ". ", "! ", "?", ",", ";", "-", "_", "'", '"', "[", "]", "[b.md]", "(", "$", "%", "“", "—", "。"]
LETTERS = ["é", "e\u0301", "\u0301", "Σ", "ΑΣ", "ς", "İ", "ß", "ﬁ", "²", "½", "Ⓐ", "ª", "𝔞", "K", "ǅ", "٣"]
SCRIPTS = ["東京", "東京都", "ไทย", "กินข้าว", "हिन्दी", "한국어", "كتاب", "日本語は", "🦊", "👩\u200d🔬"]
UNASSIGNED = ["\ufdd0", "\u0378", "\U000e0080", "\U00010d50", "\u1c89", "\ua7dc", "\U0010ffff"]
WORDS = ["kite", "Red", "voles", "soar", "u.s.", "3.5", "35", "it", "of", "and", "no", "us", "theend", "anthem", "aa"]
PIECES = [*ARTICLES, *BLANKS, *NO_BLANKS, *PUNCTUATION, *LETTERS, *SCRIPTS, *UNASSIGNED, *WORDS, *WORDS, *BLANKS]

_CHARACTERS = st.characters(exclude_categories=["Cs"])
_PIECE = st.sampled_from(PIECES) | st.sampled_from([" kite ", " red ", " the ", "Kites eat voles. "]) | _CHARACTERS
TEXTS = st.lists(_PIECE, max_size=14).map("".join)
_IDS = st.sampled_from(["a.md", "b.md", "B.md", "é"])
_LIST_OF_IDS = (
    st.none()
    | st.lists(_IDS | st.none(), max_size=6)
    | st.lists(_IDS, min_size=3, max_size=6)
    | st.lists(_IDS, min_size=2, max_size=4, unique=True)
)


@st.composite
def _sample(draw: st.DrawFn) -> Sample:
    """Its texts are made of the same few parts, so that they have something in common."""
    parts = draw(st.lists(TEXTS, min_size=1, max_size=4))
    text = st.lists(st.sampled_from(parts), max_size=4).map(" ".join) | TEXTS
    nullable = text | st.none()
    return {
        "user_input": draw(nullable),
        "response": draw(nullable),
        "reference": draw(nullable),
        "references": draw(st.none() | st.lists(nullable, max_size=3)),
        "retrieved_contexts": draw(st.none() | st.lists(nullable, max_size=3)),
        "retrieved_context_ids": draw(_LIST_OF_IDS),
        "reference_context_ids": draw(_LIST_OF_IDS),
        "ground_truth_sources": draw(_LIST_OF_IDS),
    }


def samples(min_size: int = 1) -> st.SearchStrategy[list[Sample]]:
    """Samples of every column that is scored, without ids."""
    return st.lists(_sample(), min_size=min_size, max_size=12)


def text_of(record: Sample) -> str:
    """All that stands in a sample."""
    values = [value if isinstance(value, list) else [value] for value in record.values()]
    return "".join(text for each in values for text in each if text is not None)


# The same without Hypothesis, where there are many.


def hostile_text(rng: random.Random, longest: int = 20) -> str:
    """Pieces from above, and one in a dozen any character that there is."""
    return "".join(_any(rng) if rng.random() < 0.08 else rng.choice(PIECES) for _ in range(rng.randint(0, longest)))


def _any(rng: random.Random) -> str:
    number = rng.randrange(0x110000 - 0x800)
    return chr(number + 0x800 if number >= 0xD800 else number)  # halves of surrogate pairs are no text


def hostile_pairs(seed: int, count: int) -> Iterator[tuple[str, list[str]]]:
    """A response and one to three references each: unrelated, equal, shortened, in another order or case."""
    rng = random.Random(seed)

    def like(text: str) -> str:
        words = text.split(" ")
        rng.shuffle(words)
        kept = words[: rng.randint(0, len(words))]
        mixed = " ".join([*kept, *(hostile_text(rng, 3) for _ in range(rng.randint(0, 3)))])
        same = rng.choice([text, text.upper(), text.title(), f"the {text}."])
        return rng.choice([same, mixed, mixed, hostile_text(rng)])

    for _ in range(count):
        words = [hostile_text(rng, 3) for _ in range(rng.randint(0, 15))]
        response = rng.choice([hostile_text(rng), " ".join(words)])
        yield response, [like(response) for _ in range(rng.choice([1, 1, 1, 2, 3]))]


_ORDINARY = ["kite", "Red", "voles", "soar", "owl", "3.5", "it", "is", "of", "and", "the", "a", "an", "in", "hills,"]
_ENDS = [". ", "! ", "? ", " ", ".\x1f", " [a.md]. ", " [b.md; é]. ", " [B.md,a.md] "]


def random_samples(seed: int, count: int) -> Iterator[Sample]:
    """Samples of which every column is there more often than not, made of sentences that they share."""
    rng = random.Random(seed)

    def sentence() -> str:
        words = [
            rng.choice(_ORDINARY) if rng.random() < 0.9 else hostile_text(rng, 3) for _ in range(rng.randint(1, 8))
        ]
        return " ".join(words) + rng.choice(_ENDS)

    def maybe(value: Any, share: float = 0.1) -> Any:
        return None if rng.random() < share else value

    def some(values: list[str], most: int) -> list[str | None]:
        return [maybe(rng.choice(values), 0.05) for _ in range(rng.randint(0, most))]

    for _ in range(count):
        sentences = [sentence() for _ in range(4)]
        texts = ["".join(rng.sample(sentences, rng.randint(0, 3))) for _ in range(5)]
        ids = ["a.md", "b.md", "B.md", "é", "x"]
        yield {
            "user_input": maybe(rng.choice(texts)),
            "response": maybe(rng.choice(texts)),
            "reference": maybe(rng.choice(texts)),
            "references": maybe(some([*texts, sentence()], 3), 0.5),
            "retrieved_contexts": maybe(some([*texts, sentence(), sentence()], 4)),
            "retrieved_context_ids": maybe(some(ids, 6)),
            "reference_context_ids": maybe(some(ids, 4)),
            "ground_truth_sources": maybe(some(ids, 3)),
        }
