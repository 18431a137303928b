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
ENDS = f"^[{BLANK}]+|[{BLANK}]+$"
"""What Python's `strip` takes away."""

_ARTICLE = r"(^|[^\p{L}\p{N}])(?:a|an|the)($|[^\p{L}\p{N}])"  # Python's \b, where no underscore is left
_BLANKS = rf"[{BLANK}]{{2,}}|[{BLANK}--[ ]]"  # all but a single blank, which is most of them and stays
_ASCII_BLANK = r"[\t-\r\x1c-\x1f]"
_ASCII_CONTROLS = (r"[\x00-\x08]", r"[\x0e-\x17]", r"[\x18-\x1b\x7f]")  # so few at a time are found much faster
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


def _beyond_ascii(text: pl.Series) -> pl.Series:
    return (text.str.len_bytes() != text.str.len_chars()).fill_null(value=False)


def _patched(
    text: pl.Series, made: pl.Series, other: Callable[[pl.Series], pl.Series], pattern: str | None = None
) -> pl.Series:
    """`made`, with what `other` gives where the text holds what the pattern, by default unknown characters, finds.

    The pattern is of characters beyond ASCII.
    """
    places = _beyond_ascii(text).arg_true()
    if len(places):
        places = places.filter(text.gather(places).str.contains(pattern or _unknown()))
    return _replaced(text, made, places, other)


def _replaced(
    text: pl.Series, made: pl.Series, places: pl.Series, other: Callable[[pl.Series], pl.Series]
) -> pl.Series:
    """`made`, with what `other` gives for the texts at some places."""
    if not len(places):
        return made
    index = pl.int_range(len(text), dtype=pl.Int64, eager=True)
    index = index.scatter(places, pl.int_range(len(text), len(text) + len(places), dtype=pl.Int64, eager=True))
    return pl.concat([made, other(text.gather(places)).cast(made.dtype)]).gather(index).alias(made.name)


def _run(expr: pl.Expr, text: pl.Series) -> pl.Series:
    return text.alias("text").to_frame().select(expr.alias("text"))["text"]


_TEXT = pl.col("text")


def _without_articles(text: pl.Expr) -> pl.Expr:
    """Twice, as two articles in a row share the blank between them."""
    return text.str.replace_all(_ARTICLE, "${1} ${2}").str.replace_all(_ARTICLE, "${1} ${2}")


def _collapsed(text: pl.Expr) -> pl.Expr:
    """What `" ".join(text.split())` gives."""
    return text.str.replace_all(_BLANKS, " ").str.strip_chars(" ")


def normalised(text: pl.Series) -> pl.Series:
    """The texts after SQuAD normalisation; null stays null.

    >>> normalised(pl.Series(["The Eiffel  Tower!", None])).to_list()
    ['eiffel tower', None]
    """
    plain = _without_articles(_TEXT.str.to_lowercase().str.replace_all("[[:punct:]]", ""))
    made = _run(_collapsed(plain), text)
    return _patched(text, made, lambda odd: _python(odd, texts_scalar.normalized))


def tokens(normal: pl.Series) -> pl.Series:
    """The tokens of texts whose blanks are collapsed, in order: List(String); none of an empty text.

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
    made = _run(lowered.str.replace_all(_ASCII_BLANK, " ").str.split(" "), text)
    odd = _beyond_ascii(text)
    for controls in _ASCII_CONTROLS:  # with an article beside one, what stands between blanks is no token
        odd |= text.str.contains(controls).fill_null(value=False)
    return _replaced(text, made, odd.arg_true(), lambda odd: tokens(normalised(odd)))


def words(text: pl.Series) -> pl.Series:
    """What Python's `lower().split()` gives, as a set: List(String)."""
    made = tokens(_run(_collapsed(_TEXT.str.to_lowercase()), text)).list.unique()
    return _patched(text, made, lambda odd: _python(odd, lambda one: sorted(set(one.lower().split()))))


def terms(text: pl.Series) -> pl.Series:
    r"""What the pattern \b\w\w+\b finds in the lowered text, in order: List(String)."""
    made = _run(_TEXT.str.to_lowercase().str.extract_all(_WORD), text)
    return _patched(text, made, lambda odd: _python(odd, lambda one: re.findall(r"\w\w+", one.lower())))


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
    split = _TEXT.str.replace_all(f"([.!?])[{BLANK}]+", f"${{1}}{_CUT}").str.split(_CUT)
    stripped = split.list.eval(pl.element().str.replace_all(ENDS, ""))
    made = _run(stripped.list.eval(pl.element().filter(pl.element().str.len_chars() > longer_than)), response)
    return _patched(
        response, made, lambda odd: _python(odd, lambda one: texts_scalar.split_claims(one, longer_than)), _CUT
    )
