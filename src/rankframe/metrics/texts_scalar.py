"""The text metrics of one sample: plain Python, no frame, the readable definition of what RAG samples are scored by.

Texts are compared as SQuAD does: lower case, without ASCII punctuation, without the words a, an and the, split at
whitespace, in that order. So `3.5` is `35` and `state-of-the-art` is one token: the rule is old, odd and everybody's.
A reference may be a list of references, of which the best counts. Where there is nothing to divide by, these functions
give 0.0; over frames such a score is null.
"""

from __future__ import annotations

import math
import numbers
import re
import string
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, Literal

from rankframe.errors import DataError, MetricError

Reference = str | Iterable[str]
Contexts = Iterable[str | None]
Stopwords = Literal["keep", "drop"]

_FUNCTION_WORDS = """
    a an the this that these those
    i me my myself we our ours ourselves you your yours yourself yourselves
    he him his himself she her hers herself it its itself they them their theirs themselves
    who whom whose which what when where why how
    am is are was were be been being do does did doing have has had having can could shall should will would
    and or but if because as than then so while although though until unless whether
    of at by for with about against between into through during before after above below to from up down in out on off
    over under within without upon per via
    such too very just also there here again both each more most other some any every
"""
STOPWORDS = frozenset(_FUNCTION_WORDS.split())
"""English function words, which say nothing about what a text is about; none that may be an answer (no, us, may)."""

_PUNCTUATION = str.maketrans("", "", string.punctuation)
_ARTICLES = re.compile(r"\b(?:a|an|the)\b")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")
_TERM = re.compile(r"\w\w+")
_BRACKETS = re.compile(r"\[([^\[\]]+)\]")
_SEPARATORS = re.compile("[,;]")


# Against the reference.


def exact_match(response: str | None, reference: Reference) -> float:
    """1.0 where the response equals a reference after normalisation, else 0.0.

    Args:
        response: the generated answer; None counts as an empty one.
        reference: the right answer, or several of them.

    Returns:
        1.0 or 0.0. Two texts without tokens are equal.

    Raises:
        DataError: (a ValueError) for a reference of None or an empty list, and for what is no text.

    Source: SQuAD (Rajpurkar et al. 2016, https://arxiv.org/abs/1606.05250), evaluation script.

    >>> exact_match("The Eiffel Tower", "eiffel tower"), exact_match("Paris", "London")
    (1.0, 0.0)
    >>> exact_match("NYC.", ["New York City", "nyc"])
    1.0
    """
    given = normalized(_response(response))
    return 1.0 if any(given == normalized(text) for text in _references(reference)) else 0.0


def token_f1(response: str | None, reference: Reference) -> float:
    """Harmonic mean of token precision and recall, tokens counted as often as they stand: the F1 of SQuAD 2.0.

    Arguments and errors as in `exact_match`. Between 0.0 and 1.0; 0.0 where one side has no token, 1.0 where both have
    none.

    Source: SQuAD 2.0 (Rajpurkar et al. 2018, https://arxiv.org/abs/1806.03822), evaluation script.

    >>> token_f1("the quick brown fox", "a quick brown fox")
    1.0
    >>> round(token_f1("quick brown fox", "quick brown dog"), 4)
    0.6667
    """
    given = _tokens(_response(response))
    return max(_f1(given, _tokens(text)) for text in _references(reference))


def contains_answer(response: str | None, reference: Reference) -> float:
    """1.0 where some reference stands in the response as whole words, after normalisation, else 0.0.

    Arguments and errors as in `exact_match`. A reference without tokens stands nowhere: 0.0 where there is no other.

    Source: the exact match of strings in ASQA (Stelmakh et al. 2022, https://arxiv.org/abs/2204.06092).

    >>> contains_answer("It is Paris, of course.", "Paris"), contains_answer("Parisian", "Paris")
    (1.0, 0.0)
    """
    given = f" {normalized(_response(response))} "
    answers = filter(None, map(normalized, _references(reference)))
    return 1.0 if any(f" {answer} " in given for answer in answers) else 0.0


def context_recall(reference: Reference, retrieved_contexts: Contexts | None) -> float:
    """Share of the reference's distinct tokens that stand anywhere in the contexts.

    Args:
        reference: the right answer, or several of them.
        retrieved_contexts: the texts that the answer was made from; None among them counts as an empty one.

    Returns:
        Between 0.0 and 1.0; 0.0 without contexts, and for a reference without tokens.

    Raises:
        DataError: (a ValueError) for a reference of None or an empty list, one text in place of a list of contexts,
            and what is no text.

    >>> context_recall("paris france", ["Paris is the capital of France."])
    1.0
    >>> context_recall("paris france", ["London is in England."])
    0.0
    """
    found = set[str]().union(*map(_tokens, _contexts(retrieved_contexts)))
    wanted = [set(_tokens(text)) for text in _references(reference)]
    return max((len(tokens & found) / len(tokens) for tokens in wanted if tokens), default=0.0)


def context_precision(
    reference: Reference, retrieved_contexts: Contexts | None, *, stopwords: Stopwords = "keep"
) -> float:
    """Share of the contexts that have a token in common with the reference.

    Arguments and errors as in `context_recall`; `stopwords="drop"` takes no notice of `STOPWORDS`, by which any two
    English texts have something in common. Between 0.0 and 1.0; 0.0 without contexts.

    >>> context_precision("paris", ["Paris is in France.", "Unrelated text."])
    0.5
    >>> context_precision("it is in Paris", ["Rome is in Italy."], stopwords="drop")
    0.0
    """
    if stopwords not in ("keep", "drop"):
        raise MetricError(f"stopwords={stopwords!r}; valid: keep, drop")
    ignored = STOPWORDS if stopwords == "drop" else frozenset[str]()
    contexts = [_tokens(text) for text in _contexts(retrieved_contexts)]
    return max(_useful(set(_tokens(text)) - ignored, contexts) for text in _references(reference))


# Against the query, and the response against the contexts: rules of thumb where there is no reference.


def query_context_precision(query: str, retrieved_contexts: Contexts | None) -> float:
    """Share of the contexts that have a word in common with the query, in lower case and with their punctuation.

    Between 0.0 and 1.0; 0.0 without contexts. Errors as in `context_recall`.

    >>> query_context_precision("capital of France", ["France is large.", "Rome and Italy"])
    0.5
    """
    contexts = [_words(text) for text in _contexts(retrieved_contexts)]
    return _useful(_words(_text("query", query)), contexts)


def split_claims(response: str | None, min_length: int = 10) -> list[str]:
    """The sentences of a response that are longer than `min_length` characters: what may be claimed in it.

    A sentence ends at whitespace behind a full stop, exclamation or question mark. No response: no claims.

    >>> split_claims("Kites soar. Yes! They eat voles and carrion.")
    ['Kites soar.', 'They eat voles and carrion.']
    """
    if isinstance(min_length, bool) or not isinstance(min_length, numbers.Integral) or min_length < 0:
        raise MetricError(f"min_length is a whole number from 0, got {min_length!r}")
    sentences = (part.strip() for part in _SENTENCE_END.split(_response(response)))
    return [sentence for sentence in sentences if len(sentence) > min_length]


def lexical_faithfulness(response: str | None, contexts: Contexts | None) -> float:
    """Share of the claims of which more than 70 % of the distinct words stand in some one context.

    Claims are those of `split_claims`; words are in lower case and keep their punctuation. Between 0.0 and 1.0; 0.0
    where nothing is claimed. Errors as in `context_recall`.

    >>> lexical_faithfulness("Kites eat voles. Owls eat only the finest cheese.", ["Red kites eat voles. Owls hoot."])
    0.5
    """
    sources = [_words(text) for text in _contexts(contexts, "contexts")]
    claims = [_words(claim) for claim in split_claims(response)]
    supported = sum(any(10 * len(words & source) > 7 * len(words) for source in sources) for words in claims)
    return supported / len(claims) if claims else 0.0


def tfidf_cosine(query: str, response: str | None) -> float:
    """Cosine of the TF-IDF vectors of query and response, where the two are all the documents there are.

    What scikit-learn's `TfidfVectorizer()` gives, fitted on the pair: words of two characters or more in lower case,
    idf = ln(3 / (1 + df)) + 1. Between 0.0 and 1.0; 0.0 where they have no word in common.

    >>> round(tfidf_cosine("capital of France", "Paris is the capital of France"), 4)
    0.5797
    """
    one, other = (Counter(_TERM.findall(text.lower())) for text in (_text("query", query), _response(response)))
    alone = math.log(3 / 2) + 1  # the idf of a word that one of the two has; of a word of both it is 1
    common = one.keys() & other.keys()
    dot = math.fsum(one[term] * other[term] for term in common)
    if not dot:
        return 0.0
    squares = [
        math.fsum((n if term in common else n * alone) ** 2 for term, n in counts.items()) for counts in (one, other)
    ]
    return dot / math.sqrt(squares[0] * squares[1])


# Sources that the response cites.


def cited_sources(response: str | None) -> list[str]:
    """What stands in square brackets, split at commas and semicolons, in order, each once.

    >>> cited_sources("Kites soar [birds.pdf; kites.md]. They eat voles [kites.md].")
    ['birds.pdf', 'kites.md']
    """
    parts = (part.strip() for held in _BRACKETS.findall(_response(response)) for part in _SEPARATORS.split(held))
    return list(dict.fromkeys(filter(None, parts)))


def citation_recall(response: str | None, sources: Iterable[str]) -> float:
    """Share of the distinct sources that the response cites.

    Args:
        response: the generated answer, which cites as `cited_sources` reads it; None counts as an empty one.
        sources: the names that should be cited, compared as they are.

    Returns:
        Between 0.0 and 1.0; 0.0 without sources.

    Raises:
        DataError: (a ValueError) for sources of None, one text in place of a list, and what is no text.

    >>> citation_recall("They eat voles [kites.md].", ["kites.md", "birds.pdf"])
    0.5
    """
    wanted = set(_sources(sources))
    return len(wanted.intersection(cited_sources(response))) / len(wanted) if wanted else 0.0


def citation_precision(response: str | None, sources: Iterable[str]) -> float:
    """Share of what the response cites that is among the sources; 0.0 where it cites nothing.

    Arguments and errors as in `citation_recall`.

    >>> citation_precision("They eat voles [kites.md, blog].", ["kites.md"])
    0.5
    """
    wanted, cited = set(_sources(sources)), cited_sources(response)
    return len(wanted.intersection(cited)) / len(cited) if cited else 0.0


# What they share.


def normalized(text: str) -> str:
    """A text as SQuAD compares it: its tokens with one blank between them.

    >>> normalized("The  state-of-the-art, a 3.5!")
    'stateoftheart 35'
    """
    return " ".join(_tokens(text))


def _tokens(text: str) -> list[str]:
    # Articles go after the punctuation: "the-end" is "theend".
    return _ARTICLES.sub(" ", text.lower().translate(_PUNCTUATION)).split()


def _words(text: str) -> set[str]:
    return set(text.lower().split())


def _f1(given: list[str], right: list[str]) -> float:
    if not given or not right:
        return 1.0 if given == right else 0.0
    same = (Counter(given) & Counter(right)).total()
    if not same:
        return 0.0
    precision, recall = same / len(given), same / len(right)
    return 2 * precision * recall / (precision + recall)


def _useful(wanted: set[str], contexts: list[Any]) -> float:
    useful = sum(not wanted.isdisjoint(words) for words in contexts)
    return useful / len(contexts) if contexts else 0.0


def _text(name: str, text: Any) -> str:
    if isinstance(text, str):
        return text
    raise DataError(f"{name} is {_shown(text)}; expected text")


def _response(response: Any) -> str:
    return "" if response is None else _text("response", response)


def _references(reference: Any) -> list[str]:
    if isinstance(reference, str):
        return [reference]
    if reference is None:
        raise DataError("reference is None: there is nothing to compare with; in a frame such a score is null")
    texts = _list("reference", reference, "text, or a list of texts")
    if not texts:
        raise DataError("reference is an empty list: there is nothing to compare with; in a frame such a score is null")
    return [_text(f"reference[{place}]", text) for place, text in enumerate(texts)]


def _contexts(contexts: Any, name: str = "retrieved_contexts") -> list[str]:
    texts = [] if contexts is None else _list(name, contexts, "a list of texts")
    return ["" if text is None else _text(f"{name}[{place}]", text) for place, text in enumerate(texts)]


def _sources(sources: Any) -> list[str]:
    if sources is None:
        raise DataError("sources is None: nothing says what should be cited; in a frame such a score is null")
    texts = _list("sources", sources, "a list of names")
    return [_text(f"sources[{place}]", text) for place, text in enumerate(texts)]


def _list(name: str, values: Any, expected: str) -> list[Any]:
    """The values of a list; one text is none, though its letters could be gone through."""
    if isinstance(values, str):
        stored = values.lstrip().startswith("[")
        hint = "a list that was stored as text; decode it first" if stored else f"as in {name}=[{values!r:.40}]"
        raise DataError(f"{name} is one text, {values!r:.80}; expected {expected}, {hint}")
    if isinstance(values, (bytes, Mapping)) or not isinstance(values, Iterable):
        raise DataError(f"{name} is {_shown(values)}; expected {expected}")
    return list(values)


def _shown(value: object) -> str:
    return "None" if value is None else f"a {type(value).__name__}, {value!r:.80}"
