"""BM25: the committed run, bm25s' own results, the formula in plain Python, and an index in a folder."""

from __future__ import annotations

import json
import math
import pickle
import re
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankframe as rf
from rankframe.errors import DataError, ExtraError, MetricError
from rankframe.retrievers.bm25 import BM25, METHODS
from rankframe.retrievers.saved import MANIFEST, load_index, save_index
from rankframe.retrievers.searching import searched_texts
from tests.retrievers.shared import (
    HANDBOOK,
    best_of,
    check_threads,
    check_what_is_refused,
    corpora,
    handbook_run,
    rows,
    texts,
)

bm25s = pytest.importorskip("bm25s", reason="needs the extra bm25: pip install 'rankframe[bm25]'")
Stemmer = pytest.importorskip("Stemmer", reason="needs the extra bm25: pip install 'rankframe[bm25]'")

QUERIES = rf.read_queries(HANDBOOK)
BIRDS = {"d1": "A red kite.", "d2": "An owl and a kite.", "d3": "An owl and a kite."}


def test_the_committed_run_is_reproduced() -> None:
    found = BM25(HANDBOOK).search(QUERIES["text"].to_list(), limit=20)
    assert handbook_run("bm25") == rows(QUERIES, found)


@pytest.mark.parametrize("method", METHODS)
def test_the_best_are_those_of_bm25s(method: str) -> None:
    """Up to the order of equal scores, and without the documents that have no word of the query."""
    ids, docs = searched_texts(HANDBOOK)
    index = bm25s.BM25(k1=1.2, b=0.6, delta=1.0, method=method, dtype="float64")
    stemmer = Stemmer.Stemmer("english")
    index.index(bm25s.tokenize(docs, stemmer=stemmer, show_progress=False), show_progress=False)
    words = bm25s.tokenize(QUERIES["text"].to_list(), stemmer=stemmer, return_ids=False, show_progress=False)
    expected = index.retrieve(words, k=10, show_progress=False)
    found = BM25(HANDBOOK, k1=1.2, b=0.6, delta=1.0, method=method).search(QUERIES["text"].to_list(), limit=10)
    for hits, places, scores in zip(found, expected.documents, expected.scores, strict=True):
        assert [score for _, score in hits] == scores[: len(hits)].tolist()
        least = hits[-1][1]
        clear = {ids[place] for place, score in zip(places, scores, strict=True) if score > least}
        assert clear == {doc for doc, score in hits if score > least}


@given(corpora, st.lists(texts, max_size=3), st.integers(1, 14))
def test_the_scores_are_the_formula(corpus: dict[str, str], queries: list[str], limit: int) -> None:
    """Lucene's variant, operation by operation; equal scores by id, descending; the rest has no word of the query."""
    bags = {doc: re.findall(r"\b\w\w+\b", text.lower()) for doc, text in corpus.items()}
    mean = sum(map(len, bags.values())) / max(len(bags), 1)
    df = Counter(word for bag in bags.values() for word in set(bag))

    def score(doc: str, query: list[str]) -> float:
        total = 0.0
        for word in query:
            if tf := bags[doc].count(word):
                idf = math.log(1 + (len(bags) - df[word] + 0.5) / (df[word] + 0.5))
                total += idf * (tf / (1.5 * ((1 - 0.75) + 0.75 * len(bags[doc]) / mean) + tf))
        return total

    index = BM25(corpus, stopwords=None, stemmer=None)
    found = index.search(queries, limit)
    asked = [re.findall(r"\b\w\w+\b", query.lower()) for query in queries]
    scores = [{doc: value for doc in corpus if (value := score(doc, query)) > 0} for query in asked]
    assert [best_of(values, limit) for values in scores] == found
    if limit > 1:
        assert [hits[: limit - 1] for hits in found] == index.search(queries, limit - 1)


@pytest.mark.parametrize("method", METHODS)
def test_documents_without_a_word_of_the_query_are_left_out(method: str) -> None:
    """Though bm25l and bm25+ give them a score."""
    index = BM25({**BIRDS, "d4": "A heron.", "d5": ""}, method=method)
    assert [{doc for doc, _ in hits} for hits in index.search(["owls", "heron heron", "stork", ""])] == [
        {"d2", "d3"},
        {"d4"},
        set(),
        set(),
    ]


def test_equal_scores_stand_by_id_descending_across_the_cut() -> None:
    corpus = {f"d{number}": "a kite" for number in (3, 10, 2, 1)}
    index = BM25(corpus)
    assert [doc for doc, _ in index.search(["kite"])[0]] == ["d3", "d2", "d10", "d1"]
    assert [doc for doc, _ in index.search(["kite"], limit=2)[0]] == ["d3", "d2"]


@pytest.mark.parametrize("corpus", [{}, {"d1": ""}, {"d1": "a the", "d2": "?! \x00 x"}, {"d1": None, "d2": "..."}])
def test_a_corpus_without_words_finds_nothing(corpus: dict[str, Any], tmp_path: Path) -> None:
    frame = pl.DataFrame({"doc_id": list(corpus), "text": list(corpus.values())}, schema_overrides={"text": pl.String})
    index = BM25(frame)
    assert index.search(["a kite", ""]) == [[], []]
    index.save(tmp_path)
    assert BM25.load(tmp_path).search(["a kite", ""]) == [[], []]
    assert BM25.load(tmp_path).n_docs == len(corpus)


def test_odd_texts_and_queries() -> None:
    index = BM25({"d1": "Straße 東京 caf\u00e9 naïve \U0001f985 kite", "": "kite"}, stopwords=None)
    assert index.search([]) == []
    found = index.search(["東京 \ud800", "STRASSE", "straße \U0001f985", "kite" * 10_000, "kite\x00"], limit=1000)
    assert [[doc for doc, _ in hits] for hits in found] == [["d1"], [], ["d1"], [], ["", "d1"]]
    assert index.search(("kite",)) == index.search(pl.Series(["kite"])) == [found[-1]]  # type: ignore[arg-type]


def test_words_of_the_query_count_each_time() -> None:
    index = BM25(BIRDS)
    [once, twice] = index.search(["kite", "kite kites"])
    assert [score * 2 for _, score in once] == [score for _, score in twice]


def test_stopwords_and_stemmer_are_chosen() -> None:
    german = {"d1": "Die Häuser", "d2": "Das Haus"}
    assert [doc for doc, _ in BM25(german, stopwords="de", stemmer="german").search(["haus"])[0]] == ["d2", "d1"]
    assert BM25(german, stopwords="german", stemmer="german").search(["die das"]) == [[]]
    assert [doc for doc, _ in BM25(german, stopwords=["DAS"], stemmer=None).search(["die das haus"])[0]] == ["d2", "d1"]
    assert BM25(german, stopwords=["DAS"], stemmer=None).search(["das"]) == [[]]
    assert BM25(german, stopwords=[], stemmer=None).search(["das"]) != [[]]


def test_threads_may_share_an_index() -> None:
    check_threads(BM25(HANDBOOK), QUERIES["text"].to_list())


def test_it_tells_itself() -> None:
    told = "BM25(3 documents, k1=1.5, b=0.75, method='lucene', stopwords='en', stemmer='english')"
    assert told == repr(BM25(BIRDS))
    told = "BM25(1 document, k1=1.0, b=0.0, method='bm25+', delta=1.0, stopwords='2 words of your own', stemmer=None)"
    assert told == repr(BM25({"d1": "x"}, k1=1, b=0, method="bm25+", delta=1, stopwords=["a", "The"], stemmer=None))


def test_what_is_refused() -> None:
    check_what_is_refused(lambda: BM25(BIRDS))
    for k1 in (-0.1, math.nan, math.inf, True, "1.5", None):
        with pytest.raises(MetricError, match=r"k1=.*: k1 is a number from 0"):
            BM25(BIRDS, k1=k1)  # type: ignore[arg-type]
    with pytest.raises(MetricError, match=r"b=1\.5: b is a number from 0 to 1"):
        BM25(BIRDS, b=1.5)
    with pytest.raises(MetricError, match="delta=0: delta is a number above 0"):
        BM25(BIRDS, delta=0)
    with pytest.raises(DataError, match="method='okapi' is unknown; valid: 'lucene', 'robertson'"):
        BM25(BIRDS, method="okapi")
    with pytest.raises(DataError, match=r"stemmer='englisch': did you mean 'english'\? Valid: arabic.*; or None"):
        BM25(BIRDS, stemmer="englisch")
    with pytest.raises(DataError, match="stemmer=3: "):
        BM25(BIRDS, stemmer=3)  # type: ignore[arg-type]
    with pytest.raises(
        DataError, match=r"stopwords='germna': did you mean 'german'\? Valid: .*a list of words, or None"
    ):
        BM25(BIRDS, stopwords="germna")
    for words in (True, 3, ["a", 3], {"a": 1}):
        with pytest.raises(DataError, match=r"stopwords=.*: expected the name of a language, a list of words, or None"):
            BM25(BIRDS, stopwords=words)  # type: ignore[arg-type]


def test_every_language_that_a_message_lists_is_one() -> None:
    with pytest.raises(DataError) as refused:
        BM25(BIRDS, stopwords="?")
    for language in str(refused.value).partition("Valid: ")[2].partition(";")[0].split(", "):
        BM25(BIRDS, stopwords=language, stemmer=None)


def test_without_a_stemmer_pystemmer_is_not_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "Stemmer", None)
    assert BM25(BIRDS, stemmer=None).search(["kite"]) != [[]]
    with pytest.raises(ExtraError, match=r"BM25 needs PyStemmer, .* pip install 'rankframe\[bm25\]'"):
        BM25(BIRDS)


def test_it_can_be_pickled() -> None:
    index = BM25(BIRDS)
    assert index.search(["owls"]) == pickle.loads(pickle.dumps(index)).search(["owls"])


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("stopwords", ["en", ["kite"], None])
def test_a_saved_index_gives_equal_results(method: str, stopwords: Any, tmp_path: Path) -> None:
    index = BM25(HANDBOOK, k1=0.9, b=0.4, delta=0.7, method=method, stopwords=stopwords)
    index.save(tmp_path / "new" / "folder")
    loaded = BM25.load(str(tmp_path / "new" / "folder"))
    queries = QUERIES["text"].to_list()
    assert index.search(queries) == loaded.search(queries)
    assert repr(index) == repr(loaded)
    assert (index.delta, index.n_docs) == (loaded.delta, loaded.n_docs)


def test_saving_again_replaces_the_index_and_leaves_what_else_is_there(tmp_path: Path) -> None:
    (tmp_path / "index-notes").mkdir()
    (tmp_path / "corpus.jsonl").write_text("mine")
    BM25({"d1": "a stork"}).save(tmp_path)
    BM25(BIRDS).save(tmp_path)
    assert BM25.load(tmp_path).search(["stork", "owl"], limit=1) == BM25(BIRDS).search(["stork", "owl"], limit=1)
    names = {path.name for path in tmp_path.iterdir()}
    assert len(names) == 4
    assert {"index-notes", "corpus.jsonl", MANIFEST} < names


def test_an_index_that_was_half_written_is_none(tmp_path: Path) -> None:
    """Whatever stops the writing, what stood there before is still what is loaded."""

    def stopped(folder: Path) -> None:
        (folder / "ids.parquet").write_bytes(b"PAR1")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        save_index(tmp_path, "BM25", {}, stopped)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(DataError, match=f"holds no index: there is no {MANIFEST} in it"):
        BM25.load(tmp_path)
    BM25(BIRDS).save(tmp_path)
    with pytest.raises(KeyboardInterrupt):
        save_index(tmp_path, "BM25", {}, stopped)
    assert BM25.load(tmp_path).search(["owl"]) == BM25(BIRDS).search(["owl"])
    assert len(list(tmp_path.iterdir())) == 2


def test_what_is_no_index_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="no such file or folder"):
        BM25.load(tmp_path / "nowhere")
    with pytest.raises(DataError, match=r"handbook holds no index: there is no rankframe-index\.json in it"):
        BM25.load(HANDBOOK)
    file = tmp_path / "file"
    file.touch()
    with pytest.raises(DataError, match="file is a file; an index is saved into a folder"):
        BM25(BIRDS).save(file)
    with pytest.raises(DataError, match="holds no index"):
        BM25.load(file)
    save_index(tmp_path, "Other", {}, lambda _: None)
    with pytest.raises(DataError, match="holds no index of BM25, but of 'Other'"):
        BM25.load(tmp_path)
    for text, told in (
        ("{", "is not what save"),
        ("[]", "a JSON list"),
        ('{"kind": "BM25"}', "holds no index of BM25"),
    ):
        (tmp_path / MANIFEST).write_text(text)
        with pytest.raises(DataError, match=told):
            BM25.load(tmp_path)
    BM25(BIRDS).save(tmp_path)  # what cannot be read is in nobody's way
    assert BM25.load(tmp_path).n_docs == 3


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"version": 2}, "the index has version 2, and this release of rankframe reads 1; build it again"),
        ({"files": "../index-1"}, "holds no index of BM25"),
        ({"files": "index-/"}, "holds no index of BM25"),
        ({"options": {}}, r"the index is damaged \(KeyError: "),
        ({"options": 3}, r"the index is damaged \(TypeError: "),
        ({"sizes": None}, r"the index is damaged \(TypeError: "),
    ],
)
def test_a_manifest_that_was_changed_is_refused(change: dict[str, Any], told: str, tmp_path: Path) -> None:
    BM25(BIRDS).save(tmp_path)
    manifest = json.loads((tmp_path / MANIFEST).read_text())
    (tmp_path / MANIFEST).write_text(json.dumps(manifest | change))
    with pytest.raises(DataError, match=told):
        BM25.load(tmp_path)


def test_files_that_were_lost_or_cut_are_refused(tmp_path: Path) -> None:
    BM25(BIRDS).save(tmp_path)
    [ids] = tmp_path.rglob("ids.parquet")
    content = ids.read_bytes()
    ids.write_bytes(content[:-1])
    with pytest.raises(DataError, match=r"the index is damaged: 'ids\.parquet' missing or not as long as written"):
        BM25.load(tmp_path)
    ids.write_bytes(b"x" * len(content))
    with pytest.raises(DataError, match=r"the index is damaged \(ComputeError: "):
        BM25.load(tmp_path)
    ids.unlink()
    with pytest.raises(DataError, match=r"'ids\.parquet' missing"):
        BM25.load(tmp_path)


def test_an_index_of_no_kind_is_loaded_as_written(tmp_path: Path) -> None:
    """The folder is the same for any index."""

    def write(folder: Path) -> None:
        (folder / "f").write_text("x")

    save_index(tmp_path, "Any", {"n": 1}, write)
    assert load_index(tmp_path, "Any", lambda folder, options: (options, (folder / "f").read_text())) == ({"n": 1}, "x")


@pytest.mark.parametrize("method", ["bm25l", "bm25+"])
def test_k1_of_0_is_refused_where_it_would_divide(method: str) -> None:
    with pytest.raises(MetricError, match=f"k1=0: {re.escape(method)} divides by it; k1 is above 0 there"):
        BM25({"d1": "red kite"}, method=method, k1=0)
