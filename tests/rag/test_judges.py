"""Judges and embedders: what may stand for one, what identifies its answers, and what vectors may be."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankframe as rf
from rankframe.errors import DataError, MetricError
from rankframe.rag.judges import Embedder, Judge, as_embedder, as_judge, cosines, is_named, is_same

from .shared import Asked, counts, evaluated, one_direction, samples, told

QUESTIONS = '{"questions": ["a", "b"], "noncommittal": false}'


def module_judge(prompt: str) -> str:
    """A judge that is a function of a module, and has a name of its own so."""
    return f'{{"score": {int("#" in prompt)}}}'


def module_embedder(texts: Sequence[str]) -> list[list[float]]:
    return [[1.0, float(len(text))] for text in texts]


@functools.lru_cache
def remembering_judge(prompt: str) -> str:
    return module_judge(prompt)


NAMELESS: Callable[[str], str] = lambda prompt: module_judge(prompt)  # noqa: PLW0108  # it has no name of its own


class Callable_:  # noqa: N801
    """An object that judges, like a client."""

    def __call__(self, prompt: str) -> str:
        return module_judge(prompt)

    def ask(self, prompt: str) -> str:
        return module_judge(prompt)


class Encoder:
    """An embedder as sentence-transformers has them."""

    def __init__(self, direction: float = 1.0) -> None:
        self.direction = direction
        self.asked: list[list[str]] = []

    def encode(self, texts: list[str]) -> Any:
        self.asked.append(texts)
        return np.array([[1.0, self.direction * place] for place in range(len(texts))], dtype=np.float32)


class CallableEncoder(Encoder):
    """One that is a module of a network too."""

    def __call__(self, texts: Any) -> Any:
        raise AssertionError(texts)


class Embeddings:
    """An embedder as langchain has them."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [[1.0, 0.0] for _ in texts]


# What may judge.


@pytest.mark.parametrize("llm", [None, 3, "gpt-4o", b"x", ["ask"], object(), str, dict, Callable_])
def test_what_cannot_be_called_is_refused_by_every_metric(llm: Any) -> None:
    """A class too: what it would give is no text."""
    makers: list[Callable[[], Any]] = [
        lambda: rf.rag.faithfulness(llm=llm),
        lambda: rf.rag.correctness(llm=llm),
        lambda: rf.rag.answer_relevance(llm=llm, embed=one_direction),
        lambda: rf.rag.judged("x", "{response}", llm=llm),
        lambda: Judge(llm),
    ]
    for make in makers:
        with pytest.raises(MetricError, match=r"^a judge is a function \(prompt -> text\), plain or async, got "):
            make()


def test_a_judge_stays_itself_and_a_function_becomes_one() -> None:
    judge = Judge(module_judge, model="m")
    assert as_judge(judge) is judge
    assert as_judge(module_judge) == Judge(module_judge)
    assert as_judge(module_judge)("#") == '{"score": 1}'
    assert as_judge(module_judge).identity == {
        "name": f"{__name__}.module_judge",
        "model": None,
        "parameters": {},
    }


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (lambda: module_judge, f"{__name__}.module_judge"),
        (lambda: remembering_judge, f"{__name__}.remembering_judge"),
        (Callable_, f"{__name__}.Callable_"),
        (lambda: Callable_().ask, f"{__name__}.Callable_.ask"),
        (lambda: functools.partial(module_judge), "functools.partial"),
        (lambda: NAMELESS, f"{__name__}.<lambda>"),
    ],
    ids=["function", "wrapped", "object", "method", "partial", "lambda"],
)
def test_a_judge_is_called_by_its_qualified_name(make: Any, name: str) -> None:
    assert as_judge(make()).name == name


def test_parameters_are_those_that_were_given_whatever_becomes_of_them() -> None:
    given_ = {"temperature": 0.2, "stop": ["\n"], "more": {"seed": 1}}
    judge = Judge(module_judge, parameters=given_)
    given_["stop"].append("x")  # type: ignore[attr-defined]
    given_["top_p"] = 1
    assert judge.identity["parameters"] == {"temperature": 0.2, "stop": ["\n"], "more": {"seed": 1}}


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"name": 3}, r"^name=3 of Judge is not a text$"),
        ({"model": 3}, r"^model=3 of Judge is not a text$"),
        ({"model": "\ud800"}, r"^model='\\ud800' of Judge is not a text$"),
        ({"parameters": ["a"]}, r"^parameters=\['a'\] is not a mapping"),
        ({"parameters": {"stop": {1, 2}}}, r"cannot be told in a cache or a report: .*set is not JSON"),
        ({"parameters": {"temperature": np.float32(0.2)}}, r"cannot be told in a cache or a report"),
        ({"parameters": {"temperature": math.nan}}, r"cannot be told in a cache or a report"),
        ({"parameters": {"system": "\ud800"}}, r"cannot be told in a cache or a report"),
        ({"parameters": {"api_key": "sk-1"}}, r"^parameters= holds 'api_key': it changes no answer, and a cache"),
        ({"parameters": {"Authorization": "Bearer x"}}, r"^parameters= holds 'Authorization'"),
        ({"parameters": {"x-api-key": "x", "auth_token": "x"}}, r"^parameters= holds 'x-api-key', 'auth_token'"),
    ],
)
def test_an_identity_that_cannot_be_told_is_refused(options: dict[str, Any], why: str) -> None:
    """When it is made, not once a reply was paid for."""
    with pytest.raises(MetricError, match=why) as caught:
        Judge(module_judge, **options)
    assert "sk-1" not in str(caught.value)
    assert "Bearer" not in str(caught.value)


def test_max_tokens_is_no_secret() -> None:
    assert Judge(module_judge, parameters={"max_tokens": 9}).parameters == {"max_tokens": 9}


# What may embed.


@pytest.mark.parametrize("embed", [Encoder(), CallableEncoder(), Embeddings(), one_direction, Embedder(one_direction)])
def test_objects_with_a_method_embed_by_it(embed: Any) -> None:
    metric = rf.rag.answer_relevance(llm=lambda _: QUESTIONS, embed=embed)
    report = evaluated(metric, samples(2), timeout=None)
    assert told(report, "status") == ["ok", "ok"]
    assert told(report, "questions") == [["a", "b"]] * 2


def test_an_embedder_is_made_of_such_objects_too() -> None:
    """As the message about a cache says that it should be."""
    encoder = Encoder()
    embedder = Embedder(encoder, model="mini")
    embedder(("a", "b"))
    assert encoder.asked == [["a", "b"]]
    assert (embedder.name, is_named(embedder)) == (f"{__name__}.Encoder.encode", True)


@pytest.mark.parametrize("embed", [None, 3, "all-MiniLM-L6-v2", b"x", ["a"], object(), Encoder, Embeddings, list])
def test_what_does_not_embed_is_refused(embed: Any) -> None:
    """The name of a model, which as a text has an `.encode`, and a class too."""
    with pytest.raises(MetricError, match=r"^embed= takes a function of a list of texts .* object with \.encode; got "):
        rf.rag.answer_relevance(llm=module_judge, embed=embed)
    with pytest.raises(MetricError, match=r"^an embedder is a function \(list of texts -> vectors\)"):
        Embedder(embed)
    with pytest.raises(MetricError):
        as_embedder(embed)


# Which judges can be told apart.


def cached(judge: Judge | Embedder, folder: Path) -> rf.Report:
    """The report of a metric that asks a judge, or an embedder, with a cache."""
    if isinstance(judge, Embedder):
        metric = rf.rag.answer_relevance(llm=Judge(lambda _: QUESTIONS, model="m"), embed=judge)
    else:
        metric = rf.rag.judged("x", "{response}", llm=judge)
    return evaluated(metric, cache=folder / "judge.jsonl")


@pytest.mark.parametrize(
    "judge",
    [
        Judge(module_judge),
        Judge(remembering_judge),
        Judge(NAMELESS, model="m"),
        Judge(NAMELESS, name="mine"),
        Judge(Callable_(), model="m"),
        Embedder(module_embedder),
        Embedder(Encoder(), model="mini"),
    ],
    ids=["function", "wrapped", "model", "name", "object with a model", "embeds", "encoder with a model"],
)
def test_a_cache_takes_judges_that_it_can_tell_apart(judge: Judge | Embedder, tmp_path: Path) -> None:
    assert is_named(judge)
    assert counts(cached(judge, tmp_path))[1:] == (3, 0, 0)
    assert judge.name in (tmp_path / "judge.jsonl").read_text()


@pytest.mark.parametrize(
    "judge",
    [
        Judge(NAMELESS),
        Judge(Callable_()),
        Judge(Callable_().ask),
        Judge(functools.partial(module_judge)),
        Judge(Judge(module_judge)),
        as_embedder(Encoder()),
    ],
    ids=["lambda", "object", "method", "partial", "judge", "encoder"],
)
def test_a_cache_takes_no_judge_of_whose_name_there_may_be_another(judge: Judge | Embedder, tmp_path: Path) -> None:
    """Two objects, methods or partials of one name may ask different models."""
    assert not is_named(judge)
    kind = type(judge).__name__
    with pytest.raises(
        DataError, match=rf"^cache= cannot tell .* from another: wrap it, as in rankframe\.rag\.{kind}\("
    ):
        cached(judge, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_local_function_needs_a_name_too(tmp_path: Path) -> None:
    def ask(prompt: str) -> str:
        return module_judge(prompt)

    metric = rf.rag.judged("x", "{response}", llm=ask)
    with pytest.raises(DataError, match=r"<locals>\.ask from another: wrap it"):
        evaluated(metric, cache=tmp_path / "judge.jsonl")
    assert counts(evaluated(metric)) == (1.0, 3, 0, 0)


def test_judges_are_the_same_where_function_and_identity_are() -> None:
    first, second = lambda _: "", lambda _: ""
    assert is_same(Judge(first), Judge(first))
    assert not is_same(Judge(first), Judge(second))
    assert is_same(Judge(first, model="m"), Judge(second, model="m"))
    assert not is_same(Judge(first, model="m"), Judge(first, model="n"))
    assert not is_same(Judge(first, parameters={"a": 1}), Judge(first, parameters={"a": 2}))


# What vectors may be.


class Tensor:
    """What has only `__array__`, as tensors do; of one that learns it fails."""

    def __init__(self, rows: Any, *, learns: bool = False) -> None:
        self.rows = rows
        self.learns = learns

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        if self.learns:
            raise RuntimeError("Can't call numpy() on Tensor that requires grad.")
        return np.array(self.rows, dtype=dtype, copy=copy)


ROWS = [[3.0, 4.0], [4.0, 3.0], [-3.0, -4.0]]
HOLDERS: dict[str, Callable[[Any], Any]] = {
    "lists": list,
    "tuples": lambda rows: tuple(map(tuple, rows)),
    "numpy": np.array,
    "single precision": lambda rows: np.array(rows, dtype=np.float32),
    "integers": lambda rows: np.array(rows, dtype=np.int8),
    "rows of numpy": lambda rows: [np.array(row) for row in rows],
    "tensor": Tensor,
    "list of tensors": lambda rows: [np.asarray(Tensor(row)) for row in rows],
    "Polars": lambda rows: pl.DataFrame(rows, orient="row"),
    "Arrow": lambda rows: pa.FixedSizeListArray.from_arrays(pa.array([x for row in rows for x in row]), 2).to_pylist(),
    "large": lambda rows: [[x * 1e200 for x in row] for row in rows],
    "small": lambda rows: [[x * 1e-200 for x in row] for row in rows],
    "of every size": lambda rows: [
        [x * size for x in row] for row, size in zip(rows, (1e-300, 1.0, 1e300), strict=True)
    ],
}


@pytest.mark.parametrize("hold", HOLDERS.values(), ids=HOLDERS)
def test_vectors_of_any_kind_and_length_have_the_same_cosines(hold: Callable[[Any], Any]) -> None:
    assert cosines(hold(ROWS), 3) == pytest.approx([0.96, -1.0], rel=1e-6)


ODD: dict[str, tuple[Any, str]] = {
    "none": (None, r"its shape is \(\) for 3 texts"),
    "too few": ([[1.0]], r"its shape is \(1, 1\) for 3 texts"),
    "too many": ([[1.0]] * 4, r"its shape is \(4, 1\) for 3 texts"),
    "flat": ([1.0, 2.0, 3.0], r"its shape is \(3,\) for 3 texts"),
    "deep": ([[[1.0]]] * 3, r"its shape is \(3, 1, 1\) for 3 texts"),
    "without a number": ([[], [], []], r"its shape is \(3, 0\) for 3 texts"),
    "ragged": ([[1.0], [1.0, 2.0], [1.0]], r"inhomogeneous shape"),
    "zero": ([[1.0, 0.0], [0.0, 0.0], [1.0, 1.0]], r"a vector is 0 and has no direction"),
    "NaN": ([[1.0], [math.nan], [1.0]], r"a number in it is not finite"),
    "infinite": ([[1.0], [math.inf], [1.0]], r"a number in it is not finite"),
    "null": ([[1.0], [None], [1.0]], r"not finite|NoneType"),
    "text": ([["1"], ["2"], ["3"]], r"it holds <U1, not numbers"),
    "complex": (np.array([[1j], [1j], [1j]]), r"it holds complex128, not numbers"),
    "too large": ([[10**400], [1], [1]], r"OverflowError: int too large"),
    "a mapping": ({"data": [[1.0]] * 3}, r"its shape is \(\) for 3 texts"),
    "a generator": ((row for row in ROWS), r"its shape is \(\) for 3 texts"),
    "a tensor that learns": (Tensor(ROWS, learns=True), r"RuntimeError: Can't call numpy\(\)"),
}


@pytest.mark.parametrize(("vectors", "why"), ODD.values(), ids=ODD)
def test_what_is_no_vector_for_each_text_is_told_beside_the_reply(vectors: Any, why: str) -> None:
    """Reply and questions are kept, and the next sample goes on."""
    answers = iter([vectors, ROWS])
    metric = rf.rag.answer_relevance(llm=lambda _: QUESTIONS, embed=lambda _: next(answers))
    report = evaluated(metric, samples(2), concurrency=1)
    first, second = told(report, "value", "status", "reply", "questions", "noncommittal")
    assert first == (None, "error", QUESTIONS, ["a", "b"], False)
    assert second == (pytest.approx(-0.02), "ok", QUESTIONS, ["a", "b"], False)
    reason = told(report, "reason")[0]
    assert reason.startswith("the embedder gave no vector for each text: ")
    assert pl.Series([reason]).str.contains(why).all()
    assert counts(report)[1:] == (1, 1, 1)


@given(
    st.lists(st.lists(st.floats(-1e300, 1e300), min_size=3, max_size=3).filter(any), min_size=2, max_size=5),
)
def test_cosines_stay_in_their_range(rows: list[list[float]]) -> None:
    found = cosines(rows, len(rows))
    assert len(found) == len(rows) - 1
    assert all(-1.0 <= one <= 1.0 for one in found)


def test_an_embedder_may_be_async_and_fail_as_a_judge_does() -> None:
    embed = Asked(one_direction)
    metric = rf.rag.answer_relevance(llm=lambda _: QUESTIONS, embed=embed.later)
    assert counts(evaluated(metric)) == (1.0, 3, 0, 0)
    assert embed.calls[0][1:] == ["a", "b"]

    def failing(_: list[str]) -> Any:
        raise rf.rag.Refused("no vectors today")

    with pytest.warns(rf.errors.RankframeWarning, match=r"the judge failed for"):
        report = evaluated(rf.rag.answer_relevance(llm=lambda _: QUESTIONS, embed=failing))
    assert told(report, "status", "reason", "reply")[0] == ("refused", "the model refuses: no vectors today", QUESTIONS)
