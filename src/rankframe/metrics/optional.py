"""Text metrics of other libraries, extra `lexical`: comparisons of a column of responses and one of references."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import polars as pl

from rankframe.errors import ExtraError

Compare = Callable[[pl.Series, pl.Series], pl.Series]


def rouge_l() -> Compare:
    """ROUGE-L by rapidfuzz's longest common subsequence.

    Raises:
        ExtraError: where rapidfuzz is missing.
    """
    try:
        from rapidfuzz.distance import LCSseq
    except ImportError as error:
        raise _missing("rouge_l", "rapidfuzz") from error

    def score(said: list[str], right: list[str]) -> float:
        common: int = LCSseq.similarity(said, right)
        if not common:
            return 0.0
        precision, recall = common / len(said), common / len(right)
        return 2 * precision * recall / (precision + recall)

    def compare(responses: pl.Series, references: pl.Series) -> pl.Series:
        return each(_words(responses), _words(references))

    each = _each(score)
    return compare


_UNSPACED = r"[[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]&&\p{L}]"
_WORD = rf"{_UNSPACED}\p{{M}}*|[[\p{{L}}\p{{M}}\p{{N}}]--{_UNSPACED}]+"


def _words(texts: pl.Series) -> pl.Series:
    """Words of letters, with their marks, and digits; where no blanks are written, every letter is a word."""
    return texts.str.to_lowercase().str.extract_all(_WORD)


def chrf() -> Compare:
    """ChrF2 by sacrebleu.

    Raises:
        ExtraError: where sacrebleu is missing.
    """
    try:
        from sacrebleu.metrics.chrf import CHRF
    except ImportError as error:
        raise _missing("chrf", "sacrebleu") from error
    metric = CHRF()
    return _each(lambda response, reference: metric.sentence_score(response, [reference]).score)


def bleu() -> Compare:
    """BLEU of a sentence by sacrebleu, with the orders that the sentence is long enough for.

    Raises:
        ExtraError: where sacrebleu is missing.
    """
    try:
        from sacrebleu.metrics.bleu import BLEU
    except ImportError as error:
        raise _missing("bleu", "sacrebleu") from error
    metric = BLEU(effective_order=True)
    return _each(lambda response, reference: metric.sentence_score(response, [reference]).score)


def _each(score: Callable[[Any, Any], float]) -> Compare:
    def compare(responses: pl.Series, references: pl.Series) -> pl.Series:
        pairs = zip(responses.to_list(), references.to_list(), strict=True)
        values = [score(one, other) for one, other in pairs]
        return pl.Series(values, dtype=pl.Float64)

    return compare


def _missing(metric: str, library: str) -> ExtraError:
    return ExtraError(f"{metric} needs {library}, which is not installed; pip install 'rankframe[lexical]'")
