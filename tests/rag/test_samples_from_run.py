"""From retrieval to samples: the order of contexts is that of the ranking, and nothing is lost in a join."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankframe as rf
from rankframe.frames.checks import Loaded
from rankframe.io.samples import read_samples
from rankframe.rag.evaluating import evaluate_samples
from rankframe.rag.samples import samples_from_run
from rankframe.ranking import judge, rank_run

TEXTS = pl.List(pl.String)

RUN = {
    "q1": {"d1": 0.5, "d2": 2.0, "d3": 1.0, "d4": 1.0},
    "q3": {"d4": 1.0},
    "elsewhere": {"d9": 1.0},
}
CORPUS = {
    "d1": {"title": "Foxes", "text": "A fox sleeps in a den."},
    "d2": {"title": None, "text": "Owls sleep by day."},
    "d3": {"title": "Herons", "text": None},
    "d4": {"title": "", "text": "Kites are red."},
    "d5": {"title": "Bats", "text": "Bats hang."},
}
SAID = {
    "d1": "Foxes A fox sleeps in a den.",
    "d2": "Owls sleep by day.",
    "d3": "Herons",
    "d4": "Kites are red.",
    "d5": "Bats Bats hang.",
}
QUERIES = pl.DataFrame(
    {
        "query_id": ["q3", "q2", "q1"],
        "text": ["Which birds?", "Nothing?", "Where is the fox?"],
        "topic": ["birds", None, "foxes"],
    }
)
ANSWERS = {"q1": "In a den.", "q3": "Kites."}
QRELS = {"q1": {"d1": 1, "d5": 2, "d3": 2, "d2": 0, "d4": -1}, "q2": {"d2": 0}, "elsewhere": {"d9": 1}}


def eager(*inputs: Any, **options: Any) -> pl.DataFrame:
    frame = samples_from_run(*inputs, **options)
    assert isinstance(frame, pl.DataFrame)
    return frame


def run_frame(run: dict[str, dict[str, float]] = RUN) -> pl.DataFrame:
    rows = [(query, doc, score) for query, docs in run.items() for doc, score in docs.items()]
    return pl.DataFrame(rows, schema=["query_id", "doc_id", "score"], orient="row")


def test_one_row_per_query_with_its_first_documents_as_contexts() -> None:
    frame = eager(RUN, CORPUS, QUERIES, ANSWERS, k=3)
    assert dict(frame.schema) == {
        "sample_id": pl.String,
        "user_input": pl.String,
        "response": pl.String,
        "retrieved_contexts": TEXTS,
        "retrieved_context_ids": TEXTS,
        "query_id": pl.String,
        "topic": pl.String,
    }
    assert frame.rows() == [
        ("q3", "Which birds?", "Kites.", [SAID["d4"]], ["d4"], "q3", "birds"),
        ("q2", "Nothing?", None, [], [], "q2", None),
        (
            "q1",
            "Where is the fox?",
            "In a den.",
            [SAID["d2"], SAID["d4"], SAID["d3"]],
            ["d2", "d4", "d3"],
            "q1",
            "foxes",
        ),
    ]


@pytest.mark.parametrize("k", [1, 2, 3, 4, 100, np.int64(2)])
def test_k_cuts_the_contexts(k: int) -> None:
    frame = eager(RUN, CORPUS, QUERIES, k=k)
    assert frame["retrieved_context_ids"].to_list() == [["d4"], [], ["d2", "d4", "d3", "d1"][:k]]
    assert frame["retrieved_contexts"].list.len().to_list() == frame["retrieved_context_ids"].list.len().to_list()


def test_five_contexts_are_the_default() -> None:
    run = {"q1": {f"d{n}": float(n) for n in range(9)}}
    frame = eager(run, {f"d{n}": f"text {n}" for n in range(9)}, {"q1": "?"})
    assert frame["retrieved_context_ids"].to_list() == [["d8", "d7", "d6", "d5", "d4"]]


@pytest.mark.parametrize("k", [0, -1, 1.5, True, "3", None])
def test_a_k_that_is_no_cutoff_is_refused_before_anything_is_read(k: Any) -> None:
    with pytest.raises(rf.MetricError, match=r"a cutoff is a whole number from 1, got"):
        samples_from_run("nowhere.trec", "nowhere", "nowhere", k=k)


@pytest.mark.parametrize("option", ["missing", "invalid", "duplicates"])
def test_options_are_checked_before_anything_is_read(option: str) -> None:
    with pytest.raises(rf.DataError, match=rf"{option}='x' is unknown; valid: 'error'"):
        samples_from_run("nowhere.trec", "nowhere", "nowhere", **{option: "x"})  # type: ignore[arg-type]  # on purpose


# Sources.


def _written(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


RUNS: dict[str, Callable[[Path], Any]] = {
    "mapping": lambda _: RUN,
    "frame": lambda _: run_frame(),
    "pandas": lambda _: run_frame().to_pandas(),
    "arrow": lambda _: run_frame().to_arrow(),
    "records": lambda _: run_frame().to_dicts(),
    "retrieval": lambda _: rf.retrieve(
        lambda query, limit: dict(list(RUN[query].items())[:limit]), {query: query for query in RUN}, limit=100
    ),
    "trec": lambda at: _written(
        at / "bm25.trec",
        "".join(f"{q} Q0 {d} 1 {s} t\n" for q, docs in RUN.items() for d, s in docs.items()),
    ),
}


@pytest.mark.parametrize("kind", RUNS)
def test_runs_in_every_form_that_is_read(kind: str, tmp_path: Path) -> None:
    """A run by itself has no name, whatever file it stands in."""
    assert eager(RUNS[kind](tmp_path), CORPUS, QUERIES, ANSWERS).equals(eager(RUN, CORPUS, QUERIES, ANSWERS))


def test_a_collection_gives_all_three() -> None:
    qrels = rf.read_qrels(QRELS)
    beir = rf.Beir(rf.read_corpus(CORPUS), QUERIES, qrels)
    right = eager(RUN, CORPUS, QUERIES, ANSWERS, qrels=QRELS)
    assert eager(RUN, beir, beir, ANSWERS, qrels=beir).equals(right)


def test_inputs_from_files(tmp_path: Path) -> None:
    rf.write_corpus(CORPUS, tmp_path / "corpus.jsonl")
    rf.write_queries(QUERIES, tmp_path / "queries.jsonl")
    answers = _written(
        tmp_path / "answers.jsonl",
        "".join(json.dumps({"query_id": q, "response": a}) + "\n" for q, a in ANSWERS.items()),
    )
    frame = eager(RUNS["trec"](tmp_path), tmp_path / "corpus.jsonl", tmp_path / "queries.jsonl", answers)
    assert frame.equals(eager(RUN, CORPUS, QUERIES, ANSWERS))


def test_the_handbook_gives_samples() -> None:
    at = Path(__file__).parents[2] / "data" / "handbook"
    beir = rf.read_beir(at)
    frame = eager(at / "runs" / "bm25.trec", beir, beir, qrels=beir, k=5)
    assert frame["query_id"].to_list() == beir.queries["query_id"].to_list()
    assert frame["retrieved_contexts"].list.len().max() == 5
    recall = rf.evaluate(at / "runs" / "bm25.trec", beir.qrels, metrics=["recall@5"])
    scored = evaluate_samples(frame, metrics=["context_id_recall"])
    assert scored.value("context_id_recall") == pytest.approx(recall.value("recall@5"))


# Laziness.


@pytest.mark.parametrize("lazy", ["run", "corpus", "queries", "answers", "qrels"])
def test_any_lazy_input_makes_a_lazy_frame_of_the_same_rows(lazy: str) -> None:
    inputs: dict[str, Any] = {
        "run": run_frame(),
        "corpus": rf.read_corpus(CORPUS),
        "queries": QUERIES,
        "answers": pl.DataFrame({"query_id": list(ANSWERS), "response": list(ANSWERS.values())}),
        "qrels": rf.read_qrels(QRELS),
    }
    right = eager(**inputs)
    made = samples_from_run(**{**inputs, lazy: inputs[lazy].lazy()})
    assert isinstance(made, pl.LazyFrame)
    assert made.collect_schema() == right.schema
    assert made.collect().equals(right)
    assert samples_from_run(**{name: one.lazy() for name, one in inputs.items()}).lazy().collect().equals(right)


def test_a_lazy_run_is_not_read_before_it_is_collected() -> None:
    def fail(_: pl.DataFrame) -> pl.DataFrame:
        raise AssertionError

    run = run_frame().lazy().map_batches(fail, schema=run_frame().schema)
    made = samples_from_run(run, CORPUS, QUERIES)
    assert "retrieved_contexts" in made.collect_schema()
    with pytest.raises(AssertionError):
        made.lazy().collect()


def test_bad_rows_of_lazy_input_are_refused_when_it_is_collected() -> None:
    null = pl.LazyFrame({"query_id": ["q1", "q1"], "doc_id": ["d1", "d2"], "score": [1.0, None]})
    again = pl.LazyFrame({"query_id": ["q1", "q1"], "doc_id": ["d1", "d1"], "score": [1.0, 2.0]})
    nameless = pl.LazyFrame({"run_id": [None], "query_id": ["q1"], "doc_id": ["d1"], "score": [1.0]})
    nameless = nameless.with_columns(pl.col("run_id").cast(pl.String))
    for run, told in ((null, "1 null score"), (again, "more than once"), (nameless, "1 null run_id")):
        made = samples_from_run(run, CORPUS, QUERIES)
        with pytest.raises(rf.DataError, match=told):
            made.lazy().collect()
    absent = samples_from_run(run_frame().lazy(), {"d1": "x"}, QUERIES)
    with pytest.raises(rf.DataError, match=r"3 documents without text here.*'d2', 'd3', 'd4'"):
        absent.lazy().collect()
    twice = samples_from_run(RUN, CORPUS, pl.concat([QUERIES, QUERIES]).lazy())
    with pytest.raises(rf.DataError, match=r"queries: 3 query_ids more than once"):
        twice.lazy().collect()


# The order of contexts.


SCORES = st.sampled_from([0.0, -0.0, 1.0, 1.0, 2.5, -3.0, float("inf"), float("-inf"), 5e-324])
IDS = st.text(st.sampled_from("ab01é🦊Z "), min_size=1, max_size=3)


@given(st.dictionaries(st.sampled_from(["q1", "q2", "q3"]), st.dictionaries(IDS, SCORES, min_size=1), min_size=1))
def test_the_order_is_that_of_the_ranking(run: dict[str, dict[str, float]]) -> None:
    """Every document is judged, so that the ranking room says the rank of each."""
    frame = run_frame(run).sample(fraction=1.0, shuffle=True, seed=7)
    qrels = frame.select("query_id", "doc_id", relevance=pl.lit(1.0))
    judgments = judge(Loaded(qrels, "qrels"))
    ranking = rank_run("run", Loaded(frame, "run"), judgments)
    ranked = (
        judgments.frame.select("query_id", "doc_id").with_columns(rank=pl.Series(ranking.rank)).sort("query_id", "rank")
    )
    right = {query: ranked.filter(query_id=query)["doc_id"].to_list() for query in run}
    corpus = {doc: f"text of {doc}" for docs in run.values() for doc in docs}
    for source in (frame, frame.lazy()):
        made = samples_from_run(source, corpus, {query: query for query in run}, k=1000).lazy().collect()
        found = dict(made.select("query_id", "retrieved_context_ids").iter_rows())
        assert found == right
        said = dict(made.select("query_id", "retrieved_contexts").iter_rows())
        assert said == {query: [f"text of {doc}" for doc in docs] for query, docs in right.items()}


def test_infinite_scores_are_ordered_and_nan_is_refused() -> None:
    run = {"q1": {"d1": float("-inf"), "d2": 0.0, "d4": float("inf")}}
    assert eager(run, CORPUS, QUERIES)["retrieved_context_ids"][-1].to_list() == ["d4", "d2", "d1"]
    with pytest.raises(rf.DataError, match=r"1 NaN score"):
        eager({"q1": {"d1": float("nan")}}, CORPUS, QUERIES)


def test_a_rank_without_a_score_gives_the_order() -> None:
    run = pl.DataFrame({"query_id": ["q1"] * 3, "doc_id": ["d1", "d2", "d4"], "rank": [3, 1, 2]})
    assert eager(run, CORPUS, QUERIES)["retrieved_context_ids"][-1].to_list() == ["d2", "d4", "d1"]


def test_repeated_pairs_are_refused_or_the_best_is_kept() -> None:
    run = pl.DataFrame({"query_id": ["q1"] * 4, "doc_id": ["d1", "d2", "d1", "d4"], "score": [1.0, 2.0, 3.0, 0.5]})
    with pytest.raises(
        rf.DataError, match=r"run: 1 \(query, document\) pair more than once: \('q1', 'd1'\); duplicates=\"best\""
    ):
        eager(run, CORPUS, QUERIES)
    with pytest.warns(rf.RankframeWarning, match=r"run: run row dropped on request.*: 1, such as \('q1', 'd1'\)"):
        frame = eager(run, CORPUS, QUERIES, duplicates="best")
    assert frame["retrieved_context_ids"][-1].to_list() == ["d1", "d2", "d4"]


def test_bad_rows_are_dropped_on_request_with_a_warning() -> None:
    run = pl.DataFrame({"query_id": ["q1", "q1"], "doc_id": ["d1", "d2"], "score": [1.0, None]})
    with pytest.raises(rf.DataError, match=r"run: 1 null score"):
        eager(run, CORPUS, QUERIES)
    with pytest.warns(rf.RankframeWarning, match=r"run: row dropped on request.*: 1, such as '\(q1, d2\)'"):
        frame = eager(run, CORPUS, QUERIES, invalid="drop")
    assert frame["retrieved_context_ids"][-1].to_list() == ["d1"]


# Documents.


@pytest.mark.parametrize("k", [1, 5])
def test_a_document_without_text_is_refused_with_its_id(k: int) -> None:
    corpus = {doc: text for doc, text in CORPUS.items() if doc != "d2"}
    with pytest.raises(
        rf.DataError, match=r"corpus: 1 document without text here, needed as contexts: 'd2'; missing=\"null\" keeps"
    ):
        eager(RUN, corpus, QUERIES, k=k)


def test_a_document_below_the_cut_needs_no_text() -> None:
    corpus = {doc: text for doc, text in CORPUS.items() if doc != "d1"}
    assert eager(RUN, corpus, QUERIES, k=3)["retrieved_context_ids"][-1].to_list() == ["d2", "d4", "d3"]


def test_a_document_without_text_keeps_its_place_on_request() -> None:
    corpus = {doc: text for doc, text in CORPUS.items() if doc != "d4"}
    frame = eager(RUN, corpus, QUERIES, k=3, missing="null")
    assert frame["retrieved_context_ids"].to_list() == [["d4"], [], ["d2", "d4", "d3"]]
    assert frame["retrieved_contexts"].to_list() == [[None], [], [SAID["d2"], None, SAID["d3"]]]


def test_a_document_of_no_words_is_an_empty_context() -> None:
    corpus = {**CORPUS, "d2": {"title": None, "text": None}}
    assert eager(RUN, corpus, QUERIES, k=1)["retrieved_contexts"][-1].to_list() == [""]


@pytest.mark.parametrize("lazy", [False, True])
def test_documents_that_share_an_id_are_refused(lazy: bool) -> None:  # noqa: FBT001  # a parameter
    corpus = pl.DataFrame({"doc_id": ["d1", "d1"], "text": ["a", "b"]})
    with pytest.raises(rf.DataError, match=r"corpus: 1 doc_id more than once: 'd1'; frame\.unique\(\['doc_id'\]"):
        samples_from_run(RUN, corpus.lazy() if lazy else corpus, QUERIES).lazy().collect()


# Queries.


def test_queries_decide_which_samples_there_are() -> None:
    frame = eager(RUN, CORPUS, QUERIES.filter(query_id="q2").vstack(QUERIES.filter(query_id="q1")))
    assert frame["sample_id"].to_list() == ["q2", "q1"]


def test_queries_that_share_an_id_are_refused() -> None:
    with pytest.raises(rf.DataError, match=r"queries: 3 query_ids more than once: 'q3', 'q2', 'q1'"):
        eager(RUN, CORPUS, pl.concat([QUERIES, QUERIES]))


def test_a_run_of_other_queries_is_refused_with_ids_of_both() -> None:
    with pytest.raises(
        rf.DataError, match=r"run: no query id in common with the queries: 'Q1' here, 'q3', 'q2', 'q1' there"
    ):
        eager({"Q1": {"d1": 1.0}}, CORPUS, QUERIES)
    with pytest.raises(rf.DataError, match=r"run: no query id in common with the queries: .* here, none there"):
        eager(RUN, CORPUS, {})


def test_an_empty_run_is_a_warning_and_empty_contexts() -> None:
    runs: list[Any] = [{}, run_frame().clear(), {"q1": {}}]
    for run in runs:
        with pytest.warns(rf.RankframeWarning, match=r"run: no rows; every query has empty contexts"):
            frame = eager(run, CORPUS, QUERIES)
        assert frame["retrieved_contexts"].to_list() == [[], [], []]


def test_failed_queries_of_a_retrieval_are_told() -> None:
    def search(query: str, limit: int) -> dict[str, float]:
        if query == "Nothing?":
            raise TimeoutError
        return {"d1": 1.0, "d2": 0.5} if limit else {}

    found = rf.retrieve(search, QUERIES, limit=5, on_error="record")
    with pytest.warns(rf.RankframeWarning, match=r"run: query whose retrieval failed: 1, such as 'q2'; their contexts"):
        frame = eager(found, CORPUS, QUERIES)
    assert frame["retrieved_context_ids"].to_list() == [["d1", "d2"], [], ["d1", "d2"]]


def test_references_of_the_queries_are_those_of_the_samples() -> None:
    queries = QUERIES.with_columns(
        reference=pl.Series([["Kites", "Herons"], None, ["In a den"]]), query_length=pl.lit(3)
    )
    frame = eager(RUN, CORPUS, queries)
    assert frame["references"].to_list() == [["Kites", "Herons"], None, ["In a den"]]
    assert frame["query_length"].to_list() == ["3", "3", "3"]
    assert "reference" not in frame.columns
    assert samples_from_run(RUN, CORPUS, queries.lazy()).lazy().collect().equals(frame)


def test_an_answer_among_the_queries_metadata_stays_metadata() -> None:
    frame = eager(RUN, CORPUS, QUERIES.with_columns(answer=pl.lit("gold")))
    assert frame.columns[-1] == "answer"
    assert "response" not in frame.columns


# Answers.


def test_answers_as_records_by_query() -> None:
    answers = {
        "q1": {"response": "In a den.", "references": ["den", "a den"], "seconds": 0.5},
        "q2": {"response": None},
    }
    frame = eager(RUN, CORPUS, QUERIES, answers)
    assert frame["response"].to_list() == [None, None, "In a den."]
    assert frame["references"].to_list() == [None, None, ["den", "a den"]]
    assert frame["seconds"].to_list() == [None, None, 0.5]


@pytest.mark.parametrize("form", ["frame", "lazy", "pandas", "records", "arrow"])
def test_answers_as_a_table(form: str) -> None:
    table = pl.DataFrame(
        {
            "query_id": ["q1", "q2"],
            "response": ["In a den.", None],
            "reference": [["den"], None],
            "model": ["m", "n"],
        }
    )
    forms: dict[str, Any] = {
        "frame": table,
        "lazy": table.lazy(),
        "pandas": table.to_pandas(),
        "records": table.to_dicts(),
        "arrow": table.to_arrow(),
    }
    frame = samples_from_run(RUN, CORPUS, QUERIES, forms[form]).lazy().collect()
    assert frame.columns == [
        "sample_id",
        "user_input",
        "response",
        "references",
        "retrieved_contexts",
        "retrieved_context_ids",
        "query_id",
        "topic",
        "model",
    ]
    assert frame["references"].to_list() == [None, None, ["den"]]
    assert frame["model"].to_list() == [None, "n", "m"]


def test_whole_number_ids_of_answers_are_text() -> None:
    frame = eager({"1": {"d1": 1.0}}, CORPUS, {1: "one"}, {1: "yes"})
    assert frame.select("sample_id", "query_id", "response").rows() == [("1", "1", "yes")]


def test_samples_may_be_the_answers_of_another_retrieval() -> None:
    """Their sample_id gives way to the query's id."""
    answers = read_samples([{"sample_id": "other", "query_id": "q1", "response": "In a den."}])
    frame = eager(RUN, CORPUS, QUERIES, answers)
    assert frame["sample_id"].to_list() == ["q3", "q2", "q1"]
    assert frame["response"].to_list() == [None, None, "In a den."]


def test_answers_to_other_queries_are_told() -> None:
    with pytest.warns(rf.RankframeWarning, match=r"answers: 1 query id that the queries do not have: 'q9'"):
        frame = eager(RUN, CORPUS, QUERIES, {**ANSWERS, "q9": "x"})
    assert frame.equals(eager(RUN, CORPUS, QUERIES, ANSWERS))
    with pytest.raises(rf.DataError, match=r"answers: no query id in common with the queries: 'q9' here"):
        eager(RUN, CORPUS, QUERIES, {"q9": "x"})


@pytest.mark.parametrize(
    ("answers", "told"),
    [
        ([{"response": "x"}], r"answers: no column 'query_id' among 'sample_id', 'response'; rename"),
        ([{"query_id": "q1", "response": "x"}] * 2, r"answers: 1 query_id more than once: 'q1'"),
        ([{"query_id": None, "response": "x"}], r"answers: 1 row without query_id"),
        ([{"query_id": "q1", "answer": "x"}], r"answers: names of Ragas 0\.1: 'answer' is now 'response'"),
        ([{"query_id": "q1", "response": "x", "topic": "y"}], r"answers: the samples have 'topic' from elsewhere"),
        ([{"query_id": "q1", "user_input": "x"}], r"answers: the samples have 'user_input' from elsewhere"),
        ([{"query_id": "q1", "response": ["x"]}], r"answers: 'response' is no text in 1 sample: sample 0 is a list"),
        ({"q1": 5}, r"answers: a mapping holds records by id, or whole columns: 'q1' holds int"),
        (5, r"answers: a int holds no samples"),
    ],
)
def test_answers_that_cannot_be_joined_are_refused(answers: Any, told: str) -> None:
    with pytest.raises(rf.DataError, match=told):
        eager(RUN, CORPUS, QUERIES, answers)


@pytest.mark.parametrize("name", ["sample_id", "user_input", "retrieved_contexts", "retrieved_context_ids", "run_id"])
def test_metadata_of_queries_under_the_name_of_what_is_made_is_refused(name: str) -> None:
    with pytest.raises(rf.DataError, match=rf"queries: the samples have '{name}' from elsewhere; rename or drop"):
        eager(RUN, CORPUS, QUERIES.with_columns(pl.lit("x").alias(name)))


# Several runs and answer systems.


TWO = {"dense": {"q1": {"d1": 1.0}}, "bm25": {"q1": {"d2": 1.0}, "q3": {"d4": 1.0}}}


@pytest.mark.parametrize("form", ["mapping", "frame", "lazy", "paths", "retrievals", "mapping of lazy"])
def test_every_run_has_every_query(form: str, tmp_path: Path) -> None:
    frames = {name: run_frame(run) for name, run in TWO.items()}
    whole = pl.concat([frame.with_columns(run_id=pl.lit(name)) for name, frame in frames.items()])
    forms: dict[str, Callable[[], Any]] = {
        "mapping": lambda: TWO,
        "frame": lambda: whole,
        "lazy": whole.lazy,
        "paths": lambda: [_csv(frame, tmp_path / f"{name}.csv") for name, frame in frames.items()],
        "retrievals": lambda: {
            name: rf.retrieve(
                lambda query, limit, run=run: run.get(query, {}) if limit else {},
                {q: q for q in ("q1", "q2", "q3")},
                limit=9,
            )
            for name, run in TWO.items()
        },
        "mapping of lazy": lambda: {name: frame.lazy() for name, frame in frames.items()},
    }
    frame = samples_from_run(forms[form](), CORPUS, QUERIES).lazy().collect()
    assert frame.select("run_id", "sample_id", "retrieved_context_ids").rows() == [
        ("bm25", "q3", ["d4"]),
        ("bm25", "q2", []),
        ("bm25", "q1", ["d2"]),
        ("dense", "q3", []),
        ("dense", "q2", []),
        ("dense", "q1", ["d1"]),
    ]
    assert frame.columns[0] == "run_id"


def _csv(frame: pl.DataFrame, path: Path) -> Path:
    frame.write_csv(path)
    return path


def test_one_run_under_a_name_keeps_it() -> None:
    named = run_frame().with_columns(run_id=pl.lit("bm25"))
    for run in ({"bm25": RUN}, named, named.lazy(), {"bm25": run_frame().lazy()}):
        frame = samples_from_run(run, CORPUS, QUERIES).lazy().collect()
        assert frame["run_id"].to_list() == ["bm25"] * 3


@pytest.mark.parametrize("name", ["bm25", "run"])
def test_a_run_keeps_the_name_in_its_file(name: str, tmp_path: Path) -> None:
    path = tmp_path / f"{name}.parquet"
    run_frame().with_columns(run_id=pl.lit(name)).write_parquet(path)
    assert eager(path, CORPUS, QUERIES)["run_id"].to_list() == [name] * 3


def test_a_named_run_without_rows_has_empty_contexts() -> None:
    frame = eager({"none": run_frame().clear(), "some": run_frame()}, CORPUS, QUERIES)
    assert frame.filter(run_id="none")["retrieved_context_ids"].to_list() == [[], [], []]


def test_two_runs_of_one_name_are_refused() -> None:
    named = run_frame().with_columns(run_id=pl.lit("b"))
    both = pl.concat([named, run_frame().with_columns(run_id=pl.lit("c"))])
    with pytest.raises(rf.DataError, match=r"run: 'a/b' names two runs"):
        eager({"a": both, "a/b": run_frame()}, CORPUS, QUERIES)
    with pytest.raises(rf.DataError, match=r"lazy frame under the name 'a' has a column run_id"):
        samples_from_run({"a": named.lazy()}, CORPUS, QUERIES)


def test_answers_go_to_their_run_or_to_every_run() -> None:
    every = eager(TWO, CORPUS, QUERIES, {"q1": "x"})
    assert every.filter(query_id="q1")["response"].to_list() == ["x", "x"]
    own = pl.DataFrame({"run_id": ["bm25", "dense"], "query_id": ["q1", "q1"], "response": ["b", "d"]})
    frame = eager(TWO, CORPUS, QUERIES, own)
    assert frame.filter(query_id="q1").select("run_id", "response").rows() == [("bm25", "b"), ("dense", "d")]
    with pytest.raises(rf.DataError, match=r"answers: no run is called 'other'; the runs are 'bm25', 'dense'"):
        eager(TWO, CORPUS, QUERIES, own.with_columns(run_id=pl.lit("other").alias("run_id"))[:1])


def test_several_answer_systems_over_one_retrieval() -> None:
    answers = pl.DataFrame({"run_id": ["b", "a"], "query_id": ["q1", "q3"], "response": ["x", "y"]})
    for source in (answers, answers.lazy()):
        frame = samples_from_run(RUN, CORPUS, QUERIES, source, k=1).lazy().collect()
        assert frame.select("run_id", "sample_id", "response", "retrieved_context_ids").rows() == [
            ("a", "q3", "y", ["d4"]),
            ("a", "q2", None, []),
            ("a", "q1", None, ["d2"]),
            ("b", "q3", None, ["d4"]),
            ("b", "q2", None, []),
            ("b", "q1", "x", ["d2"]),
        ]


# Judgments.


def test_relevant_documents_are_the_reference_contexts() -> None:
    """By grade, then by id; a query without judgments has none to speak of, one without relevant ones an empty list."""
    frame = eager(RUN, CORPUS, QUERIES, qrels=QRELS)
    assert frame["reference_context_ids"].to_list() == [None, [], ["d3", "d5", "d1"]]
    assert frame["reference_contexts"].to_list() == [None, [], [SAID["d3"], SAID["d5"], SAID["d1"]]]


def test_a_relevant_document_without_text() -> None:
    corpus = {doc: text for doc, text in CORPUS.items() if doc != "d5"}
    with pytest.raises(rf.DataError, match=r"corpus: 1 document without text here, needed as contexts: 'd5'"):
        eager(RUN, corpus, QUERIES, qrels=QRELS)
    frame = eager(RUN, corpus, QUERIES, qrels=QRELS, missing="null")
    assert frame["reference_contexts"][-1].to_list() == [SAID["d3"], None, SAID["d1"]]
    assert frame["reference_context_ids"][-1].to_list() == ["d3", "d5", "d1"]


def test_conflicting_judgments_are_refused_or_the_best_is_kept() -> None:
    qrels = pl.DataFrame({"query_id": ["q1", "q1"], "doc_id": ["d1", "d1"], "relevance": [0, 1]})
    for source in (qrels, qrels.lazy()):
        with pytest.raises(rf.DataError, match=r"1 pair judged with different grades: \(q1, d1\)"):
            samples_from_run(RUN, CORPUS, QUERIES, qrels=source).lazy().collect()
    frame = samples_from_run(RUN, CORPUS, QUERIES, qrels=qrels.lazy(), duplicates="best").lazy().collect()
    assert frame["reference_context_ids"][-1].to_list() == ["d1"]


def test_reference_contexts_come_from_one_place() -> None:
    answers = [{"query_id": "q1", "response": "x", "reference_contexts": ["given"]}]
    assert eager(RUN, CORPUS, QUERIES, answers)["reference_contexts"].to_list() == [None, None, ["given"]]
    with pytest.raises(rf.DataError, match=r"answers: the samples have 'reference_contexts' from elsewhere"):
        eager(RUN, CORPUS, QUERIES, answers, qrels=QRELS)


# What is made is samples.


def test_samples_from_a_run_are_samples(tmp_path: Path) -> None:
    frame = eager(TWO, CORPUS, QUERIES, ANSWERS, qrels=QRELS)
    assert read_samples(frame).equals(frame)
    frame.write_parquet(tmp_path / "s.parquet")
    assert read_samples(tmp_path / "s.parquet").equals(frame)


def test_id_metrics_of_the_samples_are_the_retrieval_metrics() -> None:
    """Over the queries with a relevant document, recall and precision are the same numbers by either way."""
    frame = eager(RUN, CORPUS, QUERIES, qrels=QRELS, k=3)
    scored = evaluate_samples(frame.filter(query_id="q1"), metrics=["context_id_recall", "context_id_precision"])
    report = rf.evaluate(RUN, QRELS, metrics=["recall@3", "precision(over=returned)@3"], queries=["q1"])
    assert scored.value("context_id_recall") == pytest.approx(report.value("recall@3"))
    assert scored.value("context_id_precision") == pytest.approx(report.value("precision(over=returned)@3"))


def test_the_callers_objects_are_never_changed() -> None:
    run, corpus, answers = pd.DataFrame(run_frame().to_pandas()), {**CORPUS}, {**ANSWERS}
    before = run.copy(), QUERIES.clone()
    eager(run, corpus, QUERIES, answers, qrels=QRELS)
    assert run.equals(before[0])
    assert QUERIES.equals(before[1])
    assert (corpus, answers) == (CORPUS, ANSWERS)
