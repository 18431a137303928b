"""Lexical metrics of RAG samples: against plain Python, against Ragas, and the memory that they take."""

from __future__ import annotations

import re
import string
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from random import Random

import polars as pl

import rankframe as rf

from . import peers
from .ragas_peer import exact_match_with_ragas
from .rows import Aim, Row, Side, faster, in_turn, needed, told

SAMPLES = 100_000
METRICS = ("exact_match", "token_f1", "context_recall", "context_precision")
FUNCTION_WORDS = ("the", "a", "an", "of", "to", "and", "in", "is", "for", "that", "it", "on", "with", "as", "are", "by")

Scores = list[tuple[float | None, ...]]


def samples(count: int, seed: int = 0) -> pl.DataFrame:
    """Samples of ordinary length: a question of 8 to 12 words, references, responses and three contexts."""
    random = Random(seed)
    letters = string.ascii_lowercase
    content = ["".join(random.choices(letters, k=random.randint(3, 10))) for _ in range(20_000)]

    def text(words: int) -> str:
        found = [random.choice(FUNCTION_WORDS if random.random() < 0.4 else content) for _ in range(words)]
        found[0] = found[0].capitalize()
        for place in range(11, words, 12):
            found[place] += random.choice((".", ",", ";"))
        return f"{' '.join(found)}."

    references = [text(random.randint(5, 25)) for _ in range(count)]
    responses = [
        reference if random.random() < 0.1 else f"{' '.join(reference.split()[:5])} {text(random.randint(10, 35))}"
        for reference in references
    ]
    return pl.DataFrame(
        {
            "user_input": [text(random.randint(8, 12)) for _ in range(count)],
            "response": responses,
            "reference": references,
            "retrieved_contexts": [[text(60), text(60), text(60)] for _ in range(count)],
        }
    )


def ours(frame: pl.DataFrame, metrics: tuple[str, ...] = METRICS) -> Scores:
    """What rankframe gives, a row for each sample."""
    return rf.evaluate_samples(frame, metrics=metrics).scores.select(metrics).rows()


_MARKS = frozenset(string.punctuation)
_DELETED = str.maketrans("", "", string.punctuation)
_ARTICLES = re.compile(r"\b(?:a|an|the)\b")


def without_marks(text: str) -> str:
    """As SQuAD's own script does it."""
    return "".join(letter for letter in text if letter not in _MARKS)


def translated(text: str) -> str:
    """The same by the fastest way that Python has."""
    return text.translate(_DELETED)


def plain_python(frame: pl.DataFrame, unmarked: Callable[[str], str] = without_marks) -> Scores:
    """The same by the SQuAD recipe in plain Python, which normalises every text once."""

    def normal(text: str) -> str:
        return " ".join(_ARTICLES.sub(" ", unmarked(text.lower())).split())

    found: Scores = []
    for response, reference, contexts in frame.select("response", "reference", "retrieved_contexts").iter_rows():
        said, right = normal(response), normal(reference)
        given, wanted = said.split(), right.split()
        same = sum((Counter(given) & Counter(wanted)).values())
        precision, recall = same / len(given), same / len(wanted)
        f1 = 2 * precision * recall / (precision + recall) if same else 0.0
        distinct = set(wanted)
        sets = [distinct & set(normal(context).split()) for context in contexts]
        covered = len(set().union(*sets)) / len(distinct)
        found.append((float(said == right), f1, covered, sum(map(bool, sets)) / len(sets)))
    return found


def lexical(folder: Path, count: int, rounds: int, slow_rounds: int) -> Iterator[Row]:
    """The four documented metrics together, and ExactMatch alone against Ragas' own."""
    frame = samples(count)
    if ours(frame) != plain_python(frame):
        raise AssertionError("scores differ from plain Python's")
    name = f"{count:,} RAG samples, exact_match, token_f1, context_recall, context_precision"
    seconds = in_turn(
        {
            "ours": partial(ours, frame),
            "recipe": partial(plain_python, frame),
            "translated": partial(plain_python, frame, translated),
        },
        rounds,
    )
    yield faster(name, "plain Python, SQuAD's recipe", seconds["ours"], seconds["recipe"], Aim(2.5, hoped=4))
    yield faster(name, "the same with str.translate", seconds["ours"], seconds["translated"])
    frame.write_parquet(folder / "samples.parquet")
    peak = float(peers.output([sys.executable, "-m", __name__, str(folder / "samples.parquet")]).split()[-1])
    told(f"  peak {peak:.0f} MiB")
    yield needed(f"{name}, peak memory", "1.5 GB", [peak], [1.5e9 / 2**20], 1.0, " MiB")
    name = f"{count:,} RAG samples, exact_match alone"
    if find_spec("ragas") is None:
        yield Row(name, "Ragas' ExactMatch by its evaluate", aim=Aim(20))
        return
    pairs = frame.select("response", "reference")
    records = pairs.to_dicts()
    sides: dict[str, Side] = {
        "ours": partial(ours, pairs, METRICS[:1]),
        "theirs": partial(exact_match_with_ragas, records),
    }
    seconds = in_turn(sides, slow_rounds)
    yield faster(name, "Ragas' ExactMatch by its evaluate", seconds["ours"], seconds["theirs"], Aim(20))


if __name__ == "__main__":
    rf.evaluate_samples(sys.argv[1], metrics=METRICS)
    print(peers.peak_memory())
