"""Each lexical metric by hand: its values, where it is null, what of a sample it reads, and what is missing for it."""

from __future__ import annotations

import sys
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import rankframe as rf
from rankframe.metrics import REGISTRY, optional, parse
from rankframe.metrics.matching import emptied
from tests.laws import oracle
from tests.metrics import official

Sample = dict[str, Any]

EXTRA = sorted(name for name, family in REGISTRY.items() if family.extra is not None)


def values(metric: str, *samples: Sample) -> list[float | None]:
    return rf.evaluate_samples(list(samples), metrics=metric).per_sample[metric].to_list()


def value(metric: str, **sample: Any) -> float | None:
    """Of one sample; a column that stands for it where a metric needs no other."""
    return values(metric, {"user_input": None, **sample})[0]


# Against references.


@pytest.mark.parametrize(
    ("metric", "right"),
    [
        ("exact_match", 0.0),
        ("token_f1", 0.0),
        ("contains_answer", 0.0),
        ("context_recall", 1.0),
        ("context_precision", 0.5),
    ],
)
def test_a_response_that_is_null_or_empty_counts_as_empty(metric: str, right: float) -> None:
    """Where there is a reference."""
    sample = {"reference": "red kite", "retrieved_contexts": ["A red kite.", "An owl."]}
    assert values(metric, {**sample, "response": None}, {**sample, "response": ""}) == [right, right]
    assert values(metric, sample) == [right]


@pytest.mark.parametrize(
    "metric", ["exact_match", "token_f1", "contains_answer", "context_recall", "context_precision"]
)
@pytest.mark.parametrize("references", [None, [], [None]])
def test_null_without_a_reference(metric: str, references: list[None] | None) -> None:
    """Neither in one column nor in the other."""
    sample = {"response": "kite", "reference": None, "references": references, "retrieved_contexts": ["kite"]}
    assert values(metric, sample) == [None]


def test_the_references_of_a_list_stand_in_place_of_the_one() -> None:
    """And nulls among them are none."""
    sample = {"response": "kite", "reference": "kite", "references": ["owl", None]}
    assert value("exact_match", **sample) == 0.0
    assert value("exact_match", **{**sample, "references": [None]}) == 1.0


@pytest.mark.parametrize(
    ("response", "reference", "right"),
    [
        ("It is Paris, of course.", "Paris", 1.0),
        ("Parisian", "Paris", 0.0),
        ("a new york-based firm", "New York", 0.0),
        ("in the city of New, York!", "new york", 1.0),
        ("the (.*) pattern", "(.*)", None),
        ("the $1 a b", "1 b", 1.0),
        ("", "Paris", 0.0),
        (None, "Paris", 0.0),
        ("Paris", "the", None),
        ("kite", "kite kite", 0.0),
    ],
)
def test_contains_answer(response: str | None, reference: str, right: float | None) -> None:
    """As whole words after normalisation; null where nothing is left of the reference."""
    assert value("contains_answer", response=response, reference=reference) == right


def test_contains_answer_is_over_the_references_that_have_words() -> None:
    assert value("contains_answer", response="red kite", references=["the", "owl", "kite"]) == 1.0
    assert value("contains_answer", response="red kite", references=["the", "owl"]) == 0.0
    assert value("contains_answer", response="red kite", references=["the", "..."]) is None


@pytest.mark.parametrize(
    ("reference", "contexts", "right"),
    [
        ("red kite", ["The RED one.", "kites, kite!"], 1.0),
        ("red kite owl owl", ["red"], 1 / 3),
        ("red kite", [], 0.0),
        ("red kite", None, 0.0),
        ("red kite", [None, ""], 0.0),
        ("red-kite", ["red kite"], 0.0),
        ("the", ["the"], None),
        ("", ["the"], None),
    ],
)
def test_context_recall(reference: str, contexts: list[str | None] | None, right: float | None) -> None:
    """Distinct tokens of the reference; null where it has none."""
    assert value("context_recall", reference=reference, retrieved_contexts=contexts) == right


def test_context_recall_takes_the_best_reference_and_not_their_union() -> None:
    contexts = {"retrieved_contexts": ["red kite"]}
    assert value("context_recall", references=["red owl vole", "kite owl", "the"], **contexts) == 0.5


def test_stop_words_are_not_looked_for_on_request() -> None:
    sample = {"reference": "It is in Paris", "retrieved_contexts": ["It is in Rome.", "Paris"]}
    assert value("context_recall", **sample) == 1.0
    assert value("context_recall(stopwords=drop)", **{**sample, "retrieved_contexts": ["It is in Rome."]}) == 0.0
    assert value("context_precision", **sample) == 1.0
    assert value("context_precision(stopwords=drop)", **sample) == 0.5
    only = {"reference": "it is", "retrieved_contexts": ["it is"]}
    assert value("context_recall(stopwords=drop)", **only) is None
    assert value("context_precision(stopwords=drop)", **only) == 0.0


@pytest.mark.parametrize(
    ("contexts", "right"),
    [
        (["A red one", "an owl", None, ""], 0.25),
        (["redder"], 0.0),
        (["red"] * 3, 1.0),
        ([], 0.0),
        (None, 0.0),
    ],
)
def test_context_precision(contexts: list[str | None] | None, right: float) -> None:
    """Null and empty contexts are contexts; without any it is 0."""
    assert value("context_precision", reference="The red kite", retrieved_contexts=contexts) == right


@pytest.mark.parametrize(
    ("query", "contexts", "right"),
    [
        ("Capital of France?", ["of course", "in France", "France?", None], 0.5),
        ("the", ["The owl", "an owl"], 0.5),
        ("red kite", [], 0.0),
        ("red kite", None, 0.0),
        ("", ["red"], 0.0),
        (None, ["red"], None),
    ],
)
def test_context_precision_against_the_question(
    query: str | None, contexts: list[str | None], right: float | None
) -> None:
    """By words with their punctuation and articles, as the textbook has it; no reference is needed."""
    assert value("context_precision(against=user_input)", user_input=query, retrieved_contexts=contexts) == right


def test_the_textbook_asks_for_words_of_the_question() -> None:
    """Chunks that mention the subject share a word with the question, and be it an article."""
    query = "What is the capital of France?"
    contexts = [
        "Paris is the capital of France.",
        "France is in Europe and the EU.",
        "Of the French, the most eat bread.",
    ]
    name = "context_precision(against=user_input)"
    assert value(name, user_input=query, retrieved_contexts=contexts) == 1.0
    dropped = "context_precision(against=user_input,stopwords=drop)"
    assert value(dropped, user_input=query, retrieved_contexts=contexts) == 1 / 3  # France? is no word of theirs


# Against contexts alone.


@pytest.mark.parametrize(
    ("contexts", "right"),
    [(None, 0.0), ([], 0.0), ([None], 0.0), (["", " \n\t\x1c\x85\xa0"], 0.0), ([None, "."], 1.0), (["\u200b"], 1.0)],
)
def test_non_empty_rate_is_never_null(contexts: list[str | None] | None, right: float) -> None:
    assert value("non_empty_rate", retrieved_contexts=contexts) == right


FACTS = ["red kites eat voles and soar over the hills", "owls eat mice"]


@pytest.mark.parametrize(
    ("response", "right"),
    [
        ("Red kites eat voles. Owls hoot only at midnight.", 0.5),
        ("a b c d e f g red kites eat", 0.0),
        ("red kites eat voles and soar over one two three", 0.0),  # 7 of 10 words are not more than 70 %
        ("red kites eat voles and soar over the one two three", 1.0),  # 8 of 11 are
        ("red red red kites kites eat owls", 1.0),  # 3 of 4 distinct words
        ("Red kites. Owls. No!", None),  # longer than 10 characters is what counts
        ("Kites soar. ", 0.0),  # 11 of them
        ("red kites eat mice owls over", 0.0),  # in two contexts, not in one
        ("", None),
        (None, None),
    ],
)
def test_lexical_faithfulness(response: str | None, right: float | None) -> None:
    """More than 70 % of the distinct words of a claim in some one context."""
    assert value("lexical_faithfulness", response=response, retrieved_contexts=FACTS) == right
    zero = "lexical_faithfulness(none=zero)"
    assert value(zero, response=response, retrieved_contexts=FACTS) == (right or 0.0)


@pytest.mark.parametrize("contexts", [None, [], [None], [""]])
def test_nothing_is_supported_without_a_context(contexts: list[str | None] | None) -> None:
    assert value("lexical_faithfulness", response="Red kites eat voles.", retrieved_contexts=contexts) == 0.0


# Ids and citations.


@pytest.mark.parametrize(
    ("retrieved", "relevant", "recall", "precision"),
    [
        (["a", "x", "b"], ["a", "b"], 1.0, 2 / 3),
        (["a", "a", "b"], ["b"], 1.0, 0.5),
        (["a", None], ["a"], 1.0, 1.0),
        ([], ["a"], 0.0, 0.0),
        ([None], ["a"], 0.0, 0.0),
        (None, ["a"], None, None),
        (["a"], None, None, None),
        (["a"], [], None, None),
        (["a"], [None], None, None),
        ([1, 2], ["2"], 1.0, 0.5),
        (["A"], ["a"], 0.0, 0.0),
    ],
)
def test_context_ids(
    retrieved: list[Any] | None, relevant: list[Any] | None, recall: float | None, precision: float | None
) -> None:
    """Ids compared as text; an id that stands there twice counts once."""
    sample = {"retrieved_context_ids": retrieved, "reference_context_ids": relevant}
    assert value("context_id_recall", **sample) == recall
    assert value("context_id_precision", **sample) == precision


@pytest.mark.parametrize(
    ("retrieved", "recall", "precision"),
    [(["a", "x", "a", "y"], 1.0, 0.5), (["x", "x", "y", "a"], 0.0, 0.0), (["x", "x", "a"], 1.0, 0.5)],
)
def test_an_id_that_was_retrieved_twice_counts_at_its_first_place(
    retrieved: list[str], recall: float, precision: float
) -> None:
    """And those behind it move up."""
    sample = {"retrieved_context_ids": retrieved, "reference_context_ids": ["a"]}
    assert value("context_id_recall@2", **sample) == recall
    assert value("context_id_precision@2", **sample) == precision


def test_context_ids_at_a_cutoff_are_metrics_of_rankings() -> None:
    """The textbook's five documents: precision 0.667 and recall 0.500 at 3, 0.800 and 1.000 at 5."""
    retrieved = ["eu", "2019", "2023", "mechanisms", "provinces"]
    sample = {"retrieved_context_ids": retrieved, "reference_context_ids": retrieved[1:]}
    right = {
        "context_id_precision@3": 2 / 3,
        "context_id_recall@3": 0.5,
        "context_id_precision@5": 0.8,
        "context_id_recall@5": 1.0,
        "context_id_precision@10": 0.4,
        "context_id_precision(over=returned)@10": 0.8,
    }
    row = rf.evaluate_samples([sample | {"user_input": "?"}], metrics=list(right)).scores.row(0, named=True)
    assert {name: row[name] for name in right} == pytest.approx(right)
    run = {"q": {doc: -float(rank) for rank, doc in enumerate(retrieved)}}
    retrieval = rf.evaluate(run, {"q": dict.fromkeys(retrieved[1:], 1)}, metrics=["precision@3", "recall@3"])
    assert retrieval.value("precision@3") == row["context_id_precision@3"]
    assert retrieval.value("recall@3") == row["context_id_recall@3"]


@pytest.mark.parametrize(
    ("response", "recall", "precision"),
    [
        ("Kites soar [a.md]. They eat [b.md; c.md].", 1.0, 2 / 3),
        ("Kites soar [a.md, a.md].", 0.5, 1.0),
        ("Kites soar [ \x1c a.md\x1f\u2003].", 0.5, 1.0),
        ("Kites soar [A.md] [] [,;].", 0.0, 0.0),
        ("Kites [[a.md]] soar [b.md", 0.5, 1.0),
        ("Kites soar.", 0.0, 0.0),
        ("", 0.0, 0.0),
        (None, 0.0, 0.0),
    ],
)
def test_citations(response: str | None, recall: float, precision: float) -> None:
    """In square brackets, parted by commas and semicolons, without the white space around them."""
    sample = {"response": response, "ground_truth_sources": ["a.md", "b.md", "b.md", None]}
    assert value("citation_recall", **sample) == recall
    assert value("citation_precision", **sample) == precision


@pytest.mark.parametrize("sources", [None, [], [None]])
def test_citations_are_null_without_sources(sources: list[None] | None) -> None:
    for metric in ("citation_recall", "citation_precision"):
        assert value(metric, response="[a.md]", ground_truth_sources=sources) is None


# Expressions alone.

TYPES: dict[str, pl.DataFrame] = {
    "categories": pl.DataFrame(
        {"response": ["kite"], "reference": ["Kite"]}, schema_overrides={"response": pl.Categorical}
    ),
    "enums": pl.DataFrame(
        {"response": ["kite"], "reference": ["Kite"]}, schema_overrides={"response": pl.Enum(["kite"])}
    ),
    "a list of categories": pl.DataFrame(
        {"response": ["kite"], "references": [["Kite"]]}, schema_overrides={"references": pl.List(pl.Categorical)}
    ),
    "an array": pl.DataFrame(
        {"response": ["kite"], "references": [["Kite", "owl"]]}, schema_overrides={"references": pl.Array(pl.String, 2)}
    ),
    "nulls": pl.DataFrame({"response": ["kite"], "reference": ["Kite"], "references": [None]}),
    "a list of nulls": pl.DataFrame({"response": ["kite"], "reference": ["Kite"], "references": [[None]]}),
}


@pytest.mark.parametrize("types", TYPES)
def test_an_expression_takes_text_of_every_type(types: str) -> None:
    assert TYPES[types].select(parse("exact_match").expr).to_series().to_list() == [1.0]


@pytest.mark.parametrize(
    ("frame", "said"),
    [
        ({"response": [1.5], "reference": ["a"]}, r"'response' is Float64, expected String; rankframe.read_samples"),
        ({"response": [["a"]], "reference": ["a"]}, r"'response' is List\(String\), expected String"),
        ({"response": ["a"], "references": ["a"]}, r"'references' is String, expected List\(String\)"),
        ({"response": ["a"], "references": [[1]]}, r"'references' is List\(Int64\), expected List\(String\)"),
    ],
)
def test_an_expression_refuses_what_is_no_text(frame: dict[str, Any], said: str) -> None:
    """A text in place of a list is not taken for a list of one."""
    with pytest.raises(rf.DataError, match=said):
        pl.DataFrame(frame).select(parse("exact_match").expr)


def test_an_expression_takes_numbers_as_ids() -> None:
    frame = pl.DataFrame({"retrieved_context_ids": [[1, 2]], "reference_context_ids": [["2"]]})
    assert frame.select(parse("context_id_precision").expr).to_series().to_list() == [0.5]


@pytest.mark.parametrize(
    ("references", "right"),
    [(["kite"], False), (["The"], True), (["kite", "..."], True), ([], False), (None, False), ([None], False),
     (["a an the A.N. \x1f"], True), (["a-n"], True), (["t_h_e"], True), (["\u2003"], True), (["no"], False),
     (["an the a"], True), (["一"], False)],
)  # fmt: skip
def test_references_of_which_nothing_is_left(references: list[str | None] | None, right: bool) -> None:  # noqa: FBT001
    given = pl.Series([references, ["kite"], ["."]], dtype=pl.List(pl.String))
    assert emptied(given).to_list() == [right, False, True]


# The extra `lexical`.


ROUGE_TEMPLATES = ("{c}", "a{c}B", "東{c}{c}x")


def rouge_differences(characters: list[str], template: str) -> list[tuple[str, list[str], list[str]]]:
    """Where the words of a text are not those of its characters' names and categories, of characters known to both."""
    texts = [*official.around((char for char in characters if unicodedata.category(char) != "Cn"), [template])]
    found = optional._words(pl.Series(texts)).to_list()
    pairs = ((text, words, oracle.rouge_words(text)) for text, words in zip(texts, found, strict=True))
    return [(ascii(text), words, right) for text, words, right in pairs if words != right]


@pytest.mark.parametrize("template", ROUGE_TEMPLATES)
def test_words_of_rouge_are_letters_marks_and_digits_of_every_script(template: str) -> None:
    """And single letters where no blanks are written; all characters in the slow suite."""
    assert rouge_differences(official.some_characters(seed=3, share=0.05), template) == []


@pytest.fixture
def without_libraries(monkeypatch: pytest.MonkeyPatch) -> None:
    """As where the extra is not installed."""
    for name in (
        "rapidfuzz",
        "rapidfuzz.distance",
        "sacrebleu",
        "sacrebleu.metrics",
        "sacrebleu.metrics.chrf",
        "sacrebleu.metrics.bleu",
    ):
        monkeypatch.setitem(sys.modules, name, None)


LIBRARIES = {"rouge_l": "rapidfuzz", "chrf": "sacrebleu", "bleu": "sacrebleu"}


def test_every_metric_of_the_extra_has_a_library() -> None:
    assert sorted(LIBRARIES) == EXTRA
    assert {REGISTRY[name].extra for name in EXTRA} == {"lexical"}


@pytest.mark.parametrize("metric", EXTRA)
@pytest.mark.usefixtures("without_libraries")
def test_a_missing_library_is_told_before_anything_is_read(metric: str, tmp_path: Path) -> None:
    """With the line that installs it; it is an ImportError too."""
    said = rf"^{metric} needs {LIBRARIES[metric]}, which is not installed; pip install 'rankframe\[lexical\]'$"
    read = []

    def samples() -> Iterator[Sample]:
        read.append(True)
        yield {"response": "kite", "reference": "kite"}

    fresh = REGISTRY[metric]()
    for given in (samples(), tmp_path / "absent.jsonl"):
        with pytest.raises(rf.ExtraError, match=said):
            rf.evaluate_samples(given, metrics=["exact_match", fresh])
    assert read == []
    with pytest.raises(ImportError, match=said.rstrip("$")):
        pl.DataFrame({"response": ["kite"]}).select(fresh.expr)


@pytest.mark.usefixtures("without_libraries")
def test_names_and_the_table_need_no_library() -> None:
    assert [parse(name).name for name in EXTRA] == EXTRA
    assert set(EXTRA) <= set(rf.metrics.metric_table()["name"])
    assert value("exact_match", response="kite", reference="kite") == 1.0
