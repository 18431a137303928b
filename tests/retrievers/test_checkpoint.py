"""A checkpoint: what is finished is asked for once, whatever ends a call, and nothing of anybody else's is touched."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankframe as rf
from rankframe.io import journal, retrievals
from rankframe.retrievers import checkpoint as module

QUERIES = {"q1": "red kite", "q2": "owl", "q3": "heron", "q4": "stork"}
ANSWERS: dict[str, Any] = {
    "red kite": [("d1", 0.9), ("d2", 0.8)],
    "owl": [],
    "heron": ["d3", "d1"],
    "stork": {"d4": 1.0},
}


class Killed(BaseException):
    """What ends a process does not let it write its file: the journal is all that is left."""


class Engine:
    """A search that remembers its calls, fails for some texts, and is killed at one."""

    def __init__(self, *failing: str, answers: dict[str, Any] | None = None, deadly: str | None = None) -> None:
        self.calls: list[str] = []
        self._failing = failing
        self._answers = ANSWERS if answers is None else answers
        self._deadly = deadly

    def search(self, query: str) -> Any:
        self.calls.append(query)
        if query == self._deadly:
            raise Killed
        if query in self._failing:
            raise ConnectionError(f"no {query}")
        return self._answers[query]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where the checkpoint is."""
    return tmp_path / "run.parquet"


def journal_of(path: Path) -> Path:
    return path.with_name(path.name + ".journal.jsonl")


def there(path: Path) -> list[str]:
    """The files beside a checkpoint, and itself."""
    return sorted(file.name for file in path.parent.iterdir())


def whole(queries: Any = QUERIES, **options: Any) -> rf.Retrieval:
    """What an uninterrupted call gives."""
    return rf.retrieve(Engine(), queries, **options)


def assert_same(expected: rf.Retrieval, actual: rf.Retrieval) -> None:
    """Equal frames, but for the seconds that were taken."""
    assert expected.run.schema == actual.run.schema
    assert repr(expected.run.rows()) == repr(actual.run.rows())
    assert expected.log.schema == actual.log.schema
    assert expected.log.drop("latency_s").equals(actual.log.drop("latency_s"))


def interrupted(path: Path, *failing: str, queries: Any = QUERIES, **options: Any) -> Engine:
    """A call that an error ends."""
    engine = Engine(*failing)
    with pytest.raises(ConnectionError):
        rf.retrieve(engine, queries, checkpoint=path, **options)
    return engine


Kill = Callable[..., None]


@pytest.fixture
def kill(monkeypatch: pytest.MonkeyPatch) -> Kill:
    """A call that ends before the query of a text is answered, as by a signal."""

    def killed(path: Path, at: str, queries: Any = QUERIES, answers: dict[str, Any] | None = None) -> None:
        with monkeypatch.context() as patch:
            patch.setattr(module.Checkpoint, "close", lambda self: self._journal.close())
            with pytest.raises(Killed):
                rf.retrieve(Engine(answers=answers, deadly=at), queries, checkpoint=path)

    return killed


# Resuming.


@pytest.mark.parametrize("text", QUERIES.values())
def test_a_call_that_an_error_ended_resumes_there(text: str, path: Path) -> None:
    first = interrupted(path, text)
    assert there(path) == ["run.parquet"]
    engine = Engine()
    assert_same(whole(), rf.retrieve(engine, QUERIES, checkpoint=path))
    assert first.calls[:-1] + engine.calls == list(QUERIES.values())


@pytest.mark.parametrize("text", QUERIES.values())
def test_a_call_that_was_killed_resumes_there(text: str, path: Path, kill: Kill) -> None:
    """From the journal alone."""
    kill(path, text)
    assert there(path) == ["run.parquet.journal.jsonl"]
    engine = Engine()
    assert_same(whole(), rf.retrieve(engine, QUERIES, checkpoint=path))
    assert engine.calls == list(QUERIES.values())[list(QUERIES.values()).index(text) :]
    assert there(path) == ["run.parquet"]


def test_a_call_that_was_killed_after_another_resumes_from_both_files(path: Path, kill: Kill) -> None:
    interrupted(path, "owl")
    kill(path, "stork")
    assert there(path) == ["run.parquet", "run.parquet.journal.jsonl"]
    engine = Engine()
    assert_same(whole(), rf.retrieve(engine, QUERIES, checkpoint=path))
    assert engine.calls == ["stork"]


def test_a_finished_call_asks_nothing(path: Path) -> None:
    rf.retrieve(Engine(), QUERIES, checkpoint=path)
    engine = Engine(*QUERIES.values())
    found = rf.retrieve(engine, QUERIES, checkpoint=path)
    assert engine.calls == []
    assert_same(whole(), found)


def test_the_time_that_was_taken_is_kept(path: Path) -> None:
    first = rf.retrieve(Engine(), QUERIES, checkpoint=path)
    assert first.log.equals(rf.retrieve(Engine(), QUERIES, checkpoint=path).log)


def test_what_is_finished_is_in_the_journal_before_the_next_query_is_asked(path: Path) -> None:
    lines: list[int] = []

    class Looking(Engine):
        def search(self, query: str) -> Any:
            lines.append(journal_of(path).read_bytes().count(b"\n"))
            return super().search(query)

    rf.retrieve(Looking(), QUERIES, checkpoint=path)
    assert lines == [1, 2, 3, 4]  # the first says of what it is


@pytest.mark.parametrize("cut", [1, 5, 30])
def test_a_last_line_that_was_not_ended_is_asked_again(cut: int, path: Path, kill: Kill) -> None:
    """The process was killed while it wrote it."""
    kill(path, "stork")
    content = journal_of(path).read_bytes()
    journal_of(path).write_bytes(content[:-cut])
    engine = Engine()
    assert_same(whole(), rf.retrieve(engine, QUERIES, checkpoint=path))
    assert engine.calls == ["heron", "stork"]


def test_a_journal_of_any_length_is_resumed(path: Path, kill: Kill) -> None:
    """Cut in its first line too, and in the middle of a character."""
    answers = {"é🦊": ["é🦊"], "b": ["d"], "end": []}
    queries = {"q🦊": "é🦊", "q2": "b", "q3": "end"}
    right = rf.retrieve(Engine(answers=answers), queries)
    kill(path, "end", queries, answers)
    content = journal_of(path).read_bytes()
    for length in range(0, len(content) + 1, 3):
        path.unlink(missing_ok=True)
        journal_of(path).write_bytes(content[:length])
        assert_same(right, rf.retrieve(Engine(answers=answers), queries, checkpoint=path))
        assert there(path) == ["run.parquet"]


def test_without_either_file_what_it_held_is_asked_again(path: Path, kill: Kill) -> None:
    rf.retrieve(Engine(), {"q1": "red kite"}, checkpoint=path)
    kill(path, "stork")
    kept = path.read_bytes(), journal_of(path).read_bytes()
    path.unlink()
    engine = Engine()
    assert_same(whole(), rf.retrieve(engine, QUERIES, checkpoint=path))
    assert engine.calls == ["red kite", "stork"]
    path.write_bytes(kept[0])
    engine = Engine()
    assert_same(whole(), rf.retrieve(engine, QUERIES, checkpoint=path))
    assert engine.calls == ["owl", "heron", "stork"]
    path.unlink()
    engine = Engine()
    assert_same(whole(), rf.retrieve(engine, QUERIES, checkpoint=path))
    assert engine.calls == list(QUERIES.values())


def test_half_of_a_file_that_was_left_beside_it_does_no_harm(path: Path, kill: Kill) -> None:
    """The process was killed while it wrote the Parquet file."""
    kill(path, "stork")
    path.with_name(".run.parquet.part").write_bytes(b"PAR1 half")
    assert_same(whole(), rf.retrieve(Engine(), QUERIES, checkpoint=path))
    assert there(path) == ["run.parquet"]


# What is asked again.


def test_failed_queries_are_asked_again(path: Path) -> None:
    found = rf.retrieve(Engine("owl", "heron"), QUERIES, checkpoint=path, on_error="record")
    assert found.log["status"].to_list() == ["ok", "failed", "failed", "ok"]
    engine = Engine("owl")
    found = rf.retrieve(engine, QUERIES, checkpoint=path, on_error="record")
    assert engine.calls == ["owl", "heron"]
    assert found.log["status"].to_list() == ["ok", "failed", "ok", "ok"]
    assert_same(whole(), rf.retrieve(Engine(), QUERIES, checkpoint=path))


def test_a_query_whose_text_is_another_now_is_asked_again(path: Path) -> None:
    rf.retrieve(Engine(), QUERIES, checkpoint=path)
    changed = QUERIES | {"q1": "owl", "q3": "stork"}
    engine = Engine()
    assert_same(whole(changed), rf.retrieve(engine, changed, checkpoint=path))
    assert engine.calls == ["owl", "stork"]
    assert rf.read_retrieval(path).run.filter(query_id="q1").is_empty()


def test_the_answer_to_another_text_is_not_what_was_finished(path: Path) -> None:
    """Neither in the result nor in the error of a call that did not get there."""
    rf.retrieve(Engine(), QUERIES, checkpoint=path)
    engine = Engine("stork")
    with pytest.raises(ConnectionError) as caught:
        rf.retrieve(engine, QUERIES | {"q1": "stork"}, checkpoint=path)
    kept = caught.value.retrieval  # type: ignore[attr-defined]  # documented by retrieve
    assert kept.log["query_id"].to_list() == ["q2", "q3", "q4"]
    assert set(kept.run["query_id"]) == {"q3", "q4"}
    assert any("3 of 4 queries are answered" in note for note in caught.value.__notes__)
    found = rf.retrieve(engine, QUERIES | {"q1": "stork"}, checkpoint=path, on_error="record")
    assert found.log.select("query_id", "status").row(0) == ("q1", "failed")
    assert "q1" not in found.run["query_id"]


def test_what_failed_before_is_not_among_the_answered(path: Path) -> None:
    rf.retrieve(Engine("owl"), {"q2": "owl", "q3": "heron"}, checkpoint=path, on_error="record")
    with pytest.raises(ConnectionError) as caught:
        rf.retrieve(Engine("red kite"), QUERIES, checkpoint=path)
    assert any("1 of 4 queries are answered" in note for note in caught.value.__notes__)


def test_queries_that_are_new_are_asked_and_ones_that_are_gone_stay_in_the_file(path: Path) -> None:
    rf.retrieve(Engine(), {"q1": "red kite", "q2": "owl"}, checkpoint=path)
    fewer = {"q3": "heron", "q1": "red kite"}
    engine = Engine()
    assert_same(whole(fewer), rf.retrieve(engine, fewer, checkpoint=path))
    assert engine.calls == ["heron"]
    assert rf.read_retrieval(path).log["query_id"].to_list() == ["q3", "q1", "q2"]
    engine = Engine()
    assert_same(whole(), rf.retrieve(engine, QUERIES, checkpoint=path))
    assert engine.calls == ["stork"]


def test_the_order_is_that_of_the_queries_of_each_call(path: Path) -> None:
    backwards = dict(reversed(QUERIES.items()))
    assert_same(whole(backwards), rf.retrieve(Engine(), backwards, checkpoint=path))
    assert_same(whole(), rf.retrieve(Engine(), QUERIES, checkpoint=path))


@given(
    failing=st.lists(st.sets(st.sampled_from(sorted(ANSWERS))), max_size=5),
    asked=st.lists(st.sets(st.sampled_from(sorted(QUERIES)), min_size=1), min_size=5, max_size=5),
    record=st.lists(st.booleans(), min_size=5, max_size=5),
    concurrency=st.sampled_from([1, 3]),
    batch_size=st.sampled_from([None, 2]),
)
def test_any_way_to_the_end_gives_the_same_run(
    tmp_path_factory: pytest.TempPathFactory,
    failing: list[set[str]],
    asked: list[set[str]],
    record: list[bool],
    concurrency: int,
    batch_size: int | None,
) -> None:
    """Whatever failed on the way, whichever queries were asked first, and no answered query is asked again."""
    path = tmp_path_factory.mktemp("way") / "run.parquet"
    answered: Counter[str] = Counter()

    def ask(queries: dict[str, str], broken: set[str], *, on_error: Any) -> rf.Retrieval | None:
        def one(text: str) -> Any:
            if text in broken:
                raise ConnectionError(text)
            answered[text] += 1
            return ANSWERS[text]

        def several(texts: list[str]) -> list[Any]:
            if broken & set(texts):
                raise ConnectionError(str(texts))
            return [one(text) for text in texts]

        search = one if batch_size is None else several
        search.__qualname__ = "search"
        try:
            return rf.retrieve(
                search, queries, checkpoint=path, concurrency=concurrency, batch_size=batch_size, on_error=on_error
            )
        except ConnectionError:
            return None

    for broken, some, recorded in zip(failing, asked, record, strict=False):
        ask({query: QUERIES[query] for query in sorted(some)}, broken, on_error="record" if recorded else "raise")
    last = ask(QUERIES, set(), on_error="raise")
    assert last is not None
    assert_same(whole(), last)
    assert set(answered.values()) == {1}


# What is refused.


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"limit": 50}, "was made with limit=100, and this call has limit=50; give another name, or the same options"),
        ({"collapse": "none"}, "was made with collapse='best', and this call has collapse='none'"),
        ({"limit": 5, "collapse": "none"}, "was made with limit=100, collapse='best', and this call has limit=5, coll"),
    ],
    ids=["limit", "collapse", "both"],
)
@pytest.mark.parametrize("how", ["finished", "failed", "killed"])
def test_a_checkpoint_that_was_made_with_other_options_is_refused(
    how: str, options: dict[str, Any], said: str, path: Path, kill: Kill
) -> None:
    if how == "killed":
        kill(path, "heron")
    elif how == "failed":
        interrupted(path, "heron")
    else:
        rf.retrieve(Engine(), QUERIES, checkpoint=path)
    before = {name: (path.parent / name).read_bytes() for name in there(path)}
    engine = Engine()
    with pytest.raises(rf.DataError) as caught:
        rf.retrieve(engine, QUERIES, checkpoint=path, **options)
    assert said in str(caught.value)
    assert engine.calls == []
    assert before == {name: (path.parent / name).read_bytes() for name in there(path)}


def test_options_that_change_no_answer_may_change(path: Path) -> None:
    interrupted(path, "stork")
    found = rf.retrieve(Engine().search, QUERIES, checkpoint=path, concurrency=2, retries=1, on_error="record")
    assert_same(whole(), found)


def test_another_retriever_is_warned_of(path: Path) -> None:
    """What is finished is taken as it is; the name is all that is known."""
    interrupted(path, "stork")

    def other(query: str) -> Any:
        return ["of the other"] if query == "stork" else []

    said = r"called 'Engine\.search', and this one is called '.*other'"
    with pytest.warns(rf.RankframeWarning, match=said) as caught:
        found = rf.retrieve(other, QUERIES, checkpoint=path)
    assert [__file__] == [warning.filename for warning in caught]
    assert found.run["doc_id"].to_list() == ["d1", "d2", "d3", "d1", "of the other"]


@pytest.mark.parametrize("make", ["run", "empty", "text", "folder", "report"])
def test_a_file_that_retrieve_did_not_write_is_not_written_over(make: str, path: Path) -> None:
    if make == "run":
        rf.write_run({"q1": {"d1": 1.0}}, path)
    elif make == "report":
        rf.evaluate({"q1": {"d1": 1.0}}, {"q1": {"d1": 1}}).write_parquet(path)
    elif make == "folder":
        path.mkdir()
    else:
        path.write_text("" if make == "empty" else "q1 Q0 d1 1 1.0 mine\n")
    before = None if path.is_dir() else path.read_bytes()
    engine = Engine()
    with pytest.raises(rf.DataError, match="is a file that retrieve did not write, and is not written over"):
        rf.retrieve(engine, QUERIES, checkpoint=path)
    assert engine.calls == []
    assert there(path) == ["run.parquet"]
    assert before == (None if path.is_dir() else path.read_bytes())


def test_a_file_that_is_cut_short_is_refused(path: Path) -> None:
    rf.retrieve(Engine(), QUERIES, checkpoint=path)
    path.write_bytes(path.read_bytes()[:-10])
    with pytest.raises(rf.DataError, match=r"run\.parquet: cannot be read as Parquet"):
        rf.retrieve(Engine(), QUERIES, checkpoint=path)


DAMAGED: dict[str, str] = {
    "no JSON": "what is this",
    "another kind": '{"query_id": "q1"}',
    "null": "null",
    "too short": '["q2", 0, "ok"]',
    "too long": '["q2", 0, "ok", null, 0.1, 0, "aa", [], [], [], []]',
    "id of another kind": '[2, 0, "ok", null, 0.1, 0, "aa", [], [], []]',
    "status of another kind": '["q2", 0, "fine", null, 0.1, 0, "aa", [], [], []]',
    "documents without scores": '["q2", 1, "ok", null, 0.1, 0, "aa", ["d1"], [], []]',
    "documents of another kind": '["q2", 1, "ok", null, 0.1, 0, "aa", [1], [0.5], [null]]',
    "scores of another kind": '["q2", 1, "ok", null, 0.1, 0, "aa", ["d1"], ["0.5"], [null]]',
    "another number of results": '["q2", 2, "ok", null, 0.1, 0, "aa", ["d1"], [0.5], [null]]',
    "text for documents": '["q2", 1, "ok", null, 0.1, 0, "aa", "d", [0.5], [null]]',
    "time of another kind": '["q2", 0, "ok", null, "fast", 0, "aa", [], [], []]',
    "number of another kind": '["q2", 0, "ok", null, 0.1, "0", "aa", [], [], []]',
    "error of another kind": '["q2", null, "failed", 7, 0.1, null, "aa", [], [], []]',
    "half of a character": r'["\ud800", 0, "ok", null, 0.1, 0, "aa", [], [], []]',
    "deep": "[" * 100_000,
    "bytes": "\udcff\udcfe",
}


@pytest.mark.parametrize("case", DAMAGED)
@pytest.mark.parametrize("number", [1, 2])
def test_a_damaged_line_is_named(case: str, number: int, path: Path, kill: Kill) -> None:
    """And nothing is asked or written; without the line, its query alone is asked again."""
    kill(path, "heron")
    lines = journal_of(path).read_bytes().splitlines()
    lines[number - 1] = DAMAGED[case].encode(errors="surrogateescape")
    if (case, number) == ("another kind", 1):
        lines[0] = b"[]"
    damaged = b"\n".join(lines) + b"\n"
    journal_of(path).write_bytes(damaged)
    engine = Engine()
    with pytest.raises(rf.DataError, match=rf"run\.parquet\.journal\.jsonl: line {number} is not what retrieve writes"):
        rf.retrieve(engine, QUERIES, checkpoint=path)
    assert engine.calls == []
    assert there(path) == ["run.parquet.journal.jsonl"]
    assert damaged == journal_of(path).read_bytes()
    if number > 1:
        del lines[number - 1]
        journal_of(path).write_bytes(b"\n".join(lines) + b"\n")
        assert_same(whole(), rf.retrieve(engine, QUERIES, checkpoint=path))
        assert len(engine.calls) == 3


def test_two_calls_at_once_are_refused(path: Path) -> None:
    """The second is, and the first goes on."""
    said = []

    def search(query: str) -> Any:
        with pytest.raises(rf.DataError) as caught:
            rf.retrieve(Engine(), QUERIES, checkpoint=path)
        said.append(str(caught.value))
        return ANSWERS[query]

    assert_same(whole(), rf.retrieve(search, QUERIES, checkpoint=path))
    assert [f"checkpoint={str(path)!r} is being written by another process; wait, or give another name"] * 4 == said


def test_two_processes_at_once_are_refused(path: Path) -> None:
    program = (
        "import sys, rankframe as rf\n"
        "try: rf.retrieve(lambda query: [], {'q1': 'a'}, checkpoint=sys.argv[1])\n"
        "except rf.DataError as error: print(error)\n"
    )
    told: list[str] = []

    def search(query: str) -> Any:
        if not told:
            command = [sys.executable, "-c", program, str(path)]
            told.append(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
        return ANSWERS[query]

    assert_same(whole(), rf.retrieve(search, QUERIES, checkpoint=path))
    assert "is being written by another process" in told[0]


def test_who_waited_for_the_end_of_another_call_has_its_answers(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file is read once it is nobody else's, or the answers of the other call would be written over."""
    opened, engine, other = Path.open, Engine(), Engine()

    def late(self: Path, *args: Any, **kwargs: Any) -> Any:
        file = opened(self, *args, **kwargs)
        if self == journal_of(path) and not other.calls:
            other.calls.append("begun")
            rf.retrieve(other, QUERIES, checkpoint=path)
        return file

    monkeypatch.setattr(Path, "open", late)
    assert_same(whole(), rf.retrieve(engine, QUERIES, checkpoint=path))
    assert (len(other.calls), engine.calls) == (5, [])
    assert there(path) == ["run.parquet"]


# What the file is.


def test_the_finished_file_is_a_retrieval_and_a_run(path: Path) -> None:
    """For `read_retrieval`, `read_run`, `evaluate` and whoever reads Parquet."""
    found = rf.retrieve(Engine("owl"), QUERIES, checkpoint=path, on_error="record")
    assert_same(found, rf.read_retrieval(path))
    assert found.run.rows() == rf.read_run(path).select(found.run.columns).rows()
    assert found.run.rows() == pl.read_parquet(path).select(found.run.columns).rows()
    qrels = {"q1": {"d2": 1}, "q2": {"d1": 1}, "q3": {"d3": 1}, "q5": {"d1": 1}}
    by_path, by_object = (rf.evaluate(run, qrels, metrics="mrr") for run in (path, found))
    assert by_path.runs == ["run"]
    assert by_path.scores.equals(by_object.scores)
    assert by_path.scores["status"].to_list() == ["ok", "failed", "ok", "missing"]
    assert by_path.ledger.equals(by_object.ledger)


@pytest.mark.parametrize("concurrency", [1, 3])
def test_the_finished_file_is_in_the_order_of_the_queries(concurrency: int, path: Path) -> None:
    """However the answers came."""
    answers = {str(number): [f"d{number}", "d"] for number in range(50, 0, -1)}
    queries = {f"q{text}": text for text in answers}
    found = rf.retrieve(Engine(answers=answers), queries, checkpoint=path, concurrency=concurrency)
    assert found.run.rows() == rf.read_retrieval(path).run.rows()
    assert found.log.rows() == rf.read_retrieval(path).log.rows()


ODD = ["", " ", "\t\n\r", "\x00\x1c\x85\u2028", '"\\', "é", "🦊", "\uffff\U0010ffff", "0042", "a" * 10_000]


@pytest.mark.parametrize("how", ["finished", "killed"])
def test_ids_and_texts_of_every_alphabet_survive(how: str, path: Path, kill: Kill) -> None:
    queries = {odd: odd for odd in ODD} | {"end": "end"}
    answers = {odd: [(odd + other, 1.0 / place) for place, other in enumerate(ODD, 1)] for odd in queries}
    right = rf.retrieve(Engine(answers=answers), queries)
    if how == "finished":
        rf.retrieve(Engine(answers=answers), queries, checkpoint=path)
    else:
        kill(path, "end", queries, answers)
    engine = Engine(answers=answers)
    assert_same(right, rf.retrieve(engine, queries, checkpoint=path))
    assert engine.calls == ([] if how == "finished" else ["end"])


@pytest.mark.parametrize("how", ["finished", "killed"])
def test_scores_of_every_kind_survive(how: str, path: Path, kill: Kill) -> None:
    numbers = [math.inf, 1e308, 1 / 3, 5e-324, 0.0, -0.0, -1e-300, -math.inf]
    answers: dict[str, Any] = {
        "in order": [(f"z{9 - place}", number) for place, number in enumerate(numbers)],
        "with NaN": [("a", math.nan), ("b", math.inf), ("c", -math.inf)],
        "missing": [("a", None), ("b", 0.5)],
        "end": [],
    }
    queries = {text: text for text in answers}
    right = rf.retrieve(Engine(answers=answers), queries)
    if how == "finished":
        rf.retrieve(Engine(answers=answers), queries, checkpoint=path)
    else:
        kill(path, "end", queries, answers)
    assert_same(right, rf.retrieve(Engine(answers=answers), queries, checkpoint=path))
    assert "retriever_score" in right.run.columns


@pytest.mark.parametrize("answers", [{"a": ["d1", "d2"], "b": ["d3"]}, {"a": [("d1", 0.9)], "b": [("d3", -1.0)]}])
def test_a_retrieval_that_was_written_later_may_be_resumed(answers: dict[str, Any], path: Path) -> None:
    rf.retrieve(Engine(answers=answers), {"q1": "a"}).write_parquet(path)
    engine = Engine(answers=answers)
    found = rf.retrieve(engine, {"q1": "a", "q2": "b"}, checkpoint=path)
    assert engine.calls == ["b"]
    assert_same(rf.retrieve(Engine(answers=answers), {"q1": "a", "q2": "b"}), found)


def test_a_retrieval_that_was_written_later_knows_its_options_and_texts(path: Path) -> None:
    """Also after it was read and written again."""
    rf.retrieve(Engine(), {"q1": "red kite", "q2": "owl"}, limit=3).write_parquet(path)
    rf.read_retrieval(path).write_parquet(path)
    with pytest.raises(rf.DataError, match="was made with limit=3, and this call has limit=100"):
        rf.retrieve(Engine(), QUERIES, checkpoint=path)
    engine = Engine(answers={"bats": ["d1"]})
    rf.retrieve(engine, {"q1": "red kite", "q2": "bats"}, limit=3, checkpoint=path)
    assert engine.calls == ["bats"]


def test_a_retrieval_made_by_hand_is_taken_with_a_warning(path: Path) -> None:
    """Nobody knows with which options, and for which texts, it was made."""
    found = rf.retrieve(Engine(), QUERIES)
    rf.Retrieval(found.run, found.log).write_parquet(path)
    engine = Engine()
    with pytest.warns(rf.RankframeWarning, match="does not say with which limit, collapse and texts it was made"):
        rf.retrieve(engine, QUERIES, checkpoint=path)
    assert engine.calls == []


@pytest.mark.parametrize("other", [None, len], ids=["no key", "another key"])
def test_answers_read_by_another_key_are_refused(other: Any, path: Path) -> None:
    def first(hit: tuple[str, float]) -> str:
        return hit[0]

    rf.retrieve(lambda query: [(query, 1.0)], QUERIES, key=first, checkpoint=path)
    with pytest.raises(rf.DataError, match=r"was made with key='.*first', and this call has key="):
        rf.retrieve(lambda query: [(query, 1.0)], QUERIES, key=other, checkpoint=path)


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "link.parquet").symlink_to(tmp_path / "run.parquet")
    rf.retrieve(Engine(), QUERIES, checkpoint=tmp_path / "link.parquet")
    assert (tmp_path / "link.parquet").is_symlink()
    assert rf.read_retrieval(tmp_path / "run.parquet").log.height == len(QUERIES)


def test_folders_are_made(tmp_path: Path) -> None:
    path = tmp_path / "runs" / "2026" / "run.pq"
    rf.retrieve(Engine(), QUERIES, checkpoint=str(path))
    assert there(path) == ["run.pq"]


# When it cannot be written.


def test_answers_are_kept_in_the_journal_where_the_file_cannot_be_written(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And in the error."""

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(pl.DataFrame, "write_parquet", full)
        with pytest.raises(rf.DataError, match="No space left on device") as caught:
            rf.retrieve(Engine(), QUERIES, checkpoint=path)
    assert_same(whole(), caught.value.retrieval)  # type: ignore[attr-defined]  # documented by retrieve
    assert there(path) == ["run.parquet.journal.jsonl"]
    engine = Engine()
    assert_same(whole(), rf.retrieve(engine, QUERIES, checkpoint=path))
    assert engine.calls == []


class Slow:
    """A file that takes a few bytes at a time, as a full disk does."""

    def __init__(self, file: Any) -> None:
        self._file = file

    def write(self, content: memoryview) -> int:
        return int(self._file.write(content[:7]))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)


def test_a_line_is_written_to_its_end(path: Path, monkeypatch: pytest.MonkeyPatch, kill: Kill) -> None:
    claimed = journal._claimed
    with monkeypatch.context() as patch:
        patch.setattr(journal, "_claimed", lambda path, name: Slow(claimed(path, name)))
        kill(path, "stork")
    engine = Engine()
    assert_same(whole(), rf.retrieve(engine, QUERIES, checkpoint=path))
    assert engine.calls == ["stork"]


def test_the_journal_is_lines_of_json(path: Path, kill: Kill) -> None:
    """As it is documented, for who wants to look."""
    kill(path, "owl")
    first, second = journal_of(path).read_text(encoding="utf-8").splitlines()
    settings = {"limit": 100, "collapse": "best", "key": None}
    assert json.loads(first) == {"settings": settings, "retriever": "Engine.search"}
    assert json.loads(second)[:3] == ["q1", 2, "ok"]


def test_a_later_format_is_refused(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(retrievals, "_FORMAT", 2)
        rf.retrieve(Engine(), QUERIES, checkpoint=path)
    with pytest.raises(rf.DataError, match="retrieval format 2 is newer than this rankframe knows"):
        rf.retrieve(Engine(), QUERIES, checkpoint=path)
    assert there(path) == ["run.parquet"]
