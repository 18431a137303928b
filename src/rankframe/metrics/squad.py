"""SQuAD normalisation and words of text, a column at a time and equal to Python's to the letter.

The official recipe lowers, drops ASCII punctuation, drops the words a, an and the, and collapses white space, in that
order. Polars' regular expressions know other words and blanks than Python's; the patterns below say Python's.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from functools import cache

import polars as pl

from rankframe.metrics import texts_scalar

BLANK = r"\s\x1c-\x1f"
"""What Python takes for white space, inside of a character class."""

_ARTICLE = r"(^|[^\p{L}\p{N}])(?:a|an|the)($|[^\p{L}\p{N}])"  # Python's \b, where no underscore is left
_UNUSUAL = r"[^ -~\t\n\r\x0b\x0c\x1c-\x1f]"
_WORD = r"[\p{L}\p{N}_]{2,}"


@cache
def _unknown() -> str:
    """The pattern of characters that are newer than this Python's Unicode, and which it does not know as letters."""
    major, minor, _ = map(int, unicodedata.unidata_version.split("."))
    for version in (f"{major}.{minor}", *(f"{older}.0" for older in range(major - 1, 9, -1))):
        pattern = rf"[^\p{{age:{version}}}]"
        try:
            pl.Series([""]).str.contains(pattern)
        except pl.exceptions.PolarsError:  # newer than Polars' own
            continue
        return pattern
    return r"[^\x00-\x7f]"


def _patched(text: pl.Series, made: pl.Series, pattern: str, other: Callable[[pl.Series], pl.Series]) -> pl.Series:
    """`made`, with what `other` gives where the text holds what the pattern finds."""
    odd = text.str.contains(pattern).fill_null(value=False)
    if not odd.any():
        return made
    places = odd.arg_true()
    index = pl.int_range(len(text), dtype=pl.Int64, eager=True)
    index = index.scatter(places, pl.int_range(len(text), len(text) + len(places), dtype=pl.Int64, eager=True))
    return pl.concat([made, other(text.gather(places)).cast(made.dtype)]).gather(index).alias(made.name)


def _run(expr: pl.Expr, text: pl.Series) -> pl.Series:
    return text.alias("text").to_frame().select(expr.alias("text"))["text"]


_TEXT = pl.col("text")


def _without_articles(text: pl.Expr) -> pl.Expr:
    """Twice, as two articles in a row share the blank between them."""
    return text.str.replace_all(_ARTICLE, "${1} ${2}").str.replace_all(_ARTICLE, "${1} ${2}")


def normalised(text: pl.Series) -> pl.Series:
    """The texts after SQuAD normalisation; null stays null.

    >>> normalised(pl.Series(["The Eiffel  Tower!", None])).to_list()
    ['eiffel tower', None]
    """
    plain = _without_articles(_TEXT.str.to_lowercase().str.replace_all("[[:punct:]]", ""))
    made = _run(plain.str.replace_all(f"[{BLANK}]+", " ").str.strip_chars(" "), text)
    return _patched(text, made, _unknown(), lambda odd: _python(odd, texts_scalar.normalized))


def tokens(normal: pl.Series) -> pl.Series:
    """The tokens of normalised texts, in order: List(String); none of an empty text.

    >>> tokens(pl.Series(["eiffel tower", ""])).to_list()
    [['eiffel', 'tower'], []]
    """
    split = _TEXT.str.split(" ")
    return _run(pl.when(_TEXT == "").then(pl.lit([], pl.List(pl.String))).otherwise(split), normal)


def token_sets(text: pl.Series) -> pl.Series:
    """What a text may share with the tokens of another: its tokens, each any number of times, in no order.

    The articles stand among them where that does no harm, as no normalised text has one as a token.
    """
    lowered = _TEXT.str.to_lowercase().str.replace_all("[[:punct:]]", "")
    blanks = rf"[{BLANK}--[ ]]"
    made = _run(lowered.str.replace_all(blanks, " ").str.split(" "), text)
    return _patched(text, made, _UNUSUAL, lambda odd: tokens(normalised(odd)))


def words(text: pl.Series) -> pl.Series:
    """What Python's `lower().split()` gives, as a set: List(String)."""
    made = _run(_TEXT.str.to_lowercase().str.extract_all(f"[^{BLANK}]+").list.unique(), text)
    return _patched(text, made, _unknown(), lambda odd: _python(odd, lambda one: sorted(set(one.lower().split()))))


def terms(text: pl.Series) -> pl.Series:
    r"""What the pattern \b\w\w+\b finds in the lowered text, in order: List(String)."""
    made = _run(_TEXT.str.to_lowercase().str.extract_all(_WORD), text)
    return _patched(text, made, _unknown(), lambda odd: _python(odd, lambda one: re.findall(r"\w\w+", one.lower())))


def _python(text: pl.Series, function: Callable[[str], object]) -> pl.Series:
    """A function of one text for each, for the few that hold what only Python itself can say."""
    return pl.Series([None if one is None else function(one) for one in text])


_CUT = "\ufdd0"  # a code point that is no character and stands in no text


def claims(response: pl.Series, longer_than: int = 10) -> pl.Series:
    """The sentences of each response that are longer than so many characters: List(String), null of null.

    A sentence ends with . ! or ? before white space. A simple rule: it knows no abbreviations.

    >>> claims(pl.Series(["It is red. It is a large kite!"])).to_list()
    [['It is a large kite!']]
    """
    sentence = pl.element().str.replace_all(f"^[{BLANK}]+|[{BLANK}]+$", "")
    split = _TEXT.str.replace_all(f"([.!?])[{BLANK}]+", f"${{1}}{_CUT}").str.split(_CUT)
    made = _run(
        split.list.eval(sentence).list.eval(pl.element().filter(pl.element().str.len_chars() > longer_than)), response
    )
    return _patched(
        response, made, _CUT, lambda odd: _python(odd, lambda one: texts_scalar.split_claims(one, longer_than))
    )
