"""How retrievers are called: each parameter is given what it was meant for, or nothing is called at all."""

from __future__ import annotations

import functools
import operator
import re
import types
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any
from unittest.mock import Mock

import pytest

import rankframe as rf
from rankframe.retrievers.calling import Query, caller

ONE = [Query("q1", "red kite")]
TWO = [Query("q1", "red kite"), Query("q2", "owl")]


def given(retriever: object, queries: Sequence[Query] = ONE, *, batch_size: int | None = None) -> Any:
    """What a retriever that answers with its arguments is given, where 7 results are asked for."""
    return caller(retriever, batch_size)(queries, 7)


def taking(parameters: str) -> Callable[..., Any]:
    """A function with these parameters, written as in its definition, that answers with what each is given."""
    made: dict[str, Any] = {}
    exec(f"def search({parameters}): return dict(locals())", made)
    return made["search"]  # type: ignore[no-any-return]  # as it was just defined


# Functions of one query.


@pytest.mark.parametrize("name", ["limit", "k", "top_k", "n_results", "topk", "num_results", "max_results", "size"])
@pytest.mark.parametrize("default", ["", "=None", "=0", "=10"])
def test_the_limit_goes_to_the_parameter_that_is_called_so(name: str, default: str) -> None:
    assert given(taking(f"query, {name}{default}")) == {"query": "red kite", name: 7}
    assert given(taking(f"query, *, {name}{default}")) == {"query": "red kite", name: 7}


def test_without_such_a_parameter_no_limit_is_given() -> None:
    assert given(taking("query")) == {"query": "red kite"}
    assert given(lambda query: query.upper()) == "RED KITE"


@pytest.mark.parametrize("name", ["limit", "k", "size"])
@pytest.mark.parametrize("value", [1.2, "large", True, False], ids=repr)
def test_what_is_no_number_of_results_by_its_default_is_no_limit(name: str, value: object) -> None:
    """`k=1.2` is BM25's, `size="large"` a model's."""
    assert given(taking(f"query, {name}={value!r}")) == {"query": "red kite", name: value}
    assert given(taking(f"query, {name}={value!r}, top_k=3")) == {"query": "red kite", name: value, "top_k": 7}


USUAL = ["query", "query_text", "query_str", "search_query", "question", "text", "q", "input", "str_or_query_bundle"]


@pytest.mark.parametrize("name", [*USUAL, "anything", "αβγ", "_"])
def test_the_query_goes_to_its_usual_names_or_to_the_only_required_parameter(name: str) -> None:
    assert given(taking(f"{name}, k=3, fuzzy=False")) == {name: "red kite", "k": 7, "fuzzy": False}


def test_of_usual_names_the_most_usual_counts() -> None:
    """The others are the retriever's own matter, if they may be left out."""
    right = {"text": "t", "question": "x", "query": "red kite", "top_k": 7}
    assert right == given(taking("text='t', question='x', query='', top_k=1"))


@pytest.mark.parametrize(
    "parameters", ["doc_id, limit", "vector, k", "index, limit", "page: int, limit", "collection", "id"]
)
def test_a_parameter_that_is_called_like_something_else_is_not_given_the_query(parameters: str) -> None:
    with pytest.raises(rf.DataError, match=r"none of its parameters is the query; .*; wrap it, as in retrieve"):
        caller(taking(parameters), None)


@pytest.mark.parametrize("parameters", ["query, limit=10, k=60", "query, *, top_k, size=3", "q, k, n_results"])
def test_two_parameters_that_may_be_the_limit_are_refused(parameters: str) -> None:
    """One of them would be left at what it is, and cut every answer there."""
    with pytest.raises(rf.DataError, match="may each be the limit; wrap it, as in retrieve"):
        caller(taking(parameters), None)


def test_the_place_of_a_parameter_does_not_matter() -> None:
    assert given(taking("limit, k1=1.2, query=None")) == {"limit": 7, "k1": 1.2, "query": "red kite"}


@pytest.mark.parametrize("name", ["query_id", "qid"])
def test_the_id_of_the_query_goes_to_who_asks_for_it(name: str) -> None:
    """Of it alone too: answers that were computed before."""
    assert given(taking(f"query, {name}")) == {"query": "red kite", name: "q1"}
    assert given(taking(f"{name}=None, query=None")) == {name: "q1", "query": "red kite"}
    assert given(taking(f"{name}, k")) == {name: "q1", "k": 7}


@pytest.mark.parametrize(
    ("parameters", "right"),
    [
        ("query, limit, /", {"query": "red kite", "limit": 7}),
        ("limit, query, /", {"limit": 7, "query": "red kite"}),
        ("anything, k=3, /", {"anything": "red kite", "k": 7}),
        ("query, fuzzy=False, /", {"query": "red kite", "fuzzy": False}),
        ("query, /, limit", {"query": "red kite", "limit": 7}),
        ("query, /, *, limit", {"query": "red kite", "limit": 7}),
        ("*, query, limit", {"query": "red kite", "limit": 7}),
        ("*, anything, limit=3", {"anything": "red kite", "limit": 7}),
        ("query, limit, **options", {"query": "red kite", "limit": 7, "options": {}}),
        ("query, *more, limit=3", {"query": "red kite", "more": (), "limit": 7}),
        ("anything, *more, limit=3", {"anything": "red kite", "more": (), "limit": 7}),
        ("anything, **options", {"anything": "red kite", "options": {}}),
        ("*anything", {"anything": ("red kite",)}),
        ("*anything, limit=3", {"anything": ("red kite",), "limit": 7}),
        ("*anything, **options", {"anything": ("red kite",), "options": {}}),
    ],
)
def test_arguments_are_passed_as_the_signature_asks(parameters: str, right: dict[str, Any]) -> None:
    """What takes anything is given the query alone: nothing says what it would make of a limit."""
    assert right == given(taking(parameters))


# What a partial has settled stays.


def settled(*places: object, of: str = "index, query, limit=10, fuzzy=False", **names: object) -> Any:
    return functools.partial(taking(of), *places, **names)


ALL = {"index": "i", "query": "red kite", "limit": 7, "fuzzy": False}


@pytest.mark.parametrize(
    ("partial", "right"),
    [
        (settled("i"), ALL),
        (settled(index="i"), ALL),
        (settled("i", limit=3), ALL | {"limit": 3}),
        (settled("i", fuzzy=True), ALL | {"fuzzy": True}),
        (functools.partial(settled("i"), limit=3), ALL | {"limit": 3}),
        (settled(query="owl", of="anything, query, limit"), {"anything": "red kite", "query": "owl", "limit": 7}),
        (settled(index="i", of="index, anything, k"), {"index": "i", "anything": "red kite", "k": 7}),
        (settled("i", limit=3, of="*places, limit=1"), {"places": ("i", "red kite"), "limit": 3}),
        (settled("i", of="index, query, /"), {"index": "i", "query": "red kite"}),
    ],
    ids=[
        *("by place", "by name", "the limit", "another", "twice", "another query"),
        *("unnamed after a name", "places", "only by place"),
    ],
)
def test_what_a_partial_has_settled_stays(partial: Any, right: dict[str, Any]) -> None:
    """A parameter that is called as the query is the query only where it is open."""
    assert right == given(partial)
    assert right == given(types.SimpleNamespace(search=partial))


@pytest.mark.parametrize(
    "partial",
    [settled("i", query="owl"), settled("owl", of="query, limit, /"), settled(limit=3, of="**names")],
    ids=["by name", "by place", "nothing"],
)
def test_a_partial_that_leaves_no_place_for_the_query_is_refused(partial: Any) -> None:
    with pytest.raises(rf.DataError, match=r"search.*: none of its parameters is the query"):
        given(partial)


# Decorators and errors.


def bare(function: Callable[..., Any]) -> Callable[..., Any]:
    def inner(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    return inner


def test_a_wrapped_function_is_called_by_the_signature_of_the_one_inside() -> None:
    search = taking("query, k=10")
    for wrapped in (functools.wraps(search)(bare(search)), functools.cache(search), functools.lru_cache(2)(search)):
        assert given(wrapped) == {"query": "red kite", "k": 7}


def test_a_decorated_function_without_wraps_is_given_the_query_alone() -> None:
    assert given(bare(taking("query, k=10"))) == {"query": "red kite", "k": 10}


def test_a_type_error_inside_is_the_retrievers_own() -> None:
    """It is raised, and no other way of calling is tried."""
    calls = []

    def search(query: str, k: int = 10) -> list[str]:
        calls.append((query, k))
        return len(query, k)  # type: ignore[call-arg,return-value]

    with pytest.raises(TypeError, match="len"):
        given(search)
    assert calls == [("red kite", 7)]
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'limit'"):
        given(bare(taking("query, limit")))


def test_builtins_are_called_by_place() -> None:
    """Where they say nothing of their signature, with the query alone."""
    assert given({"red kite": ["d1"]}.get) == ["d1"]
    assert given({"red kite": ["d1"]}.__getitem__) == ["d1"]
    assert given(operator.itemgetter(0)) == "r"
    assert given("{}?".format) == "red kite?"


# Objects.


class Engine:
    """Methods that answer with what they are and are given."""

    def search(self, query: str, limit: int) -> Any:
        return "search", query, limit

    def retrieve(self, query: str) -> Any:
        return "retrieve", query

    @staticmethod
    def of_a_class(query: str, k: int) -> Any:
        return "static", query, k

    @classmethod
    def of_its_class(cls, query: str, k: int) -> Any:
        return cls.__name__, query, k

    def __call__(self, query: str) -> Any:
        return "call", query


def test_bound_methods_are_functions() -> None:
    assert given(Engine().retrieve) == ("retrieve", "red kite")
    assert given(Engine().__call__) == ("call", "red kite")
    assert given(Engine.of_a_class) == ("static", "red kite", 7)
    assert given(Engine.of_its_class) == ("Engine", "red kite", 7)


def test_a_method_counts_before_the_call_of_an_object() -> None:
    assert given(Engine()) == ("search", "red kite", 7)


def test_an_object_that_only_can_be_called_is() -> None:
    class Search:
        def __call__(self, query: str, *, top_k: int = 3) -> Any:
            return query, top_k

    assert given(Search()) == ("red kite", 7)


METHODS = ["search", "retrieve", "invoke", "query", "run"]


def answering(*names: str) -> dict[str, Any]:
    """Methods that answer with their own names."""

    def method(name: str) -> Callable[[str], str]:
        return lambda query: f"{name} {query}"

    return {name: method(name) for name in names}


@pytest.mark.parametrize("method", METHODS)
def test_an_object_is_asked_by_the_first_of_the_usual_methods(method: str) -> None:
    there = METHODS[METHODS.index(method) :]
    right = f"{method} red kite"
    assert right == given(types.SimpleNamespace(**answering(*there)))
    no_methods = dict.fromkeys(METHODS[: METHODS.index(method)], "text")
    assert right == given(types.SimpleNamespace(**no_methods, **answering(*there)))


@pytest.mark.parametrize("method", METHODS)
def test_an_object_that_is_only_asynchronous_is_asked_by_its_methods(method: str) -> None:
    """Where both are there, by the plain one."""
    assert given(types.SimpleNamespace(**answering(f"a{method}"))) == f"a{method} red kite"
    assert given(types.SimpleNamespace(**answering(f"a{method}", method))) == f"{method} red kite"


def test_objects_of_the_libraries_are_called_by_their_signatures() -> None:
    search = types.SimpleNamespace
    assert given(search(invoke=taking("input, config=None, **kwargs"))) == {
        "input": "red kite",
        "config": None,
        "kwargs": {},
    }
    assert given(search(retrieve=taking("str_or_query_bundle"))) == {"str_or_query_bundle": "red kite"}
    assert given(search(run=taking("query, filters=None, top_k=None, scale_score=None"))) == {
        "query": "red kite",
        "filters": None,
        "top_k": 7,
        "scale_score": None,
    }
    assert given(search(query=taking("query_embeddings=None, query_texts=None, n_results=10")), TWO) == {
        "query_embeddings": None,
        "query_texts": ["red kite", "owl"],
        "n_results": 7,
    }


def test_a_mock_is_given_the_query() -> None:
    mock = Mock()
    given(mock)
    mock.search.assert_called_once_with("red kite")


# What is refused.


@pytest.mark.parametrize(
    ("parameters", "names"),
    [
        ("query, index", "'index'"),
        ("query, *, index", "'index'"),
        ("query, index, /", "'index'"),
        ("query, index, path, limit", "'index', 'path'"),
        ("one, other", "'other'"),
        ("one, *, other", "'other'"),
        ("*anything, other", "'other'"),
        ("query, text", "'text'"),
        ("query, queries", "'queries'"),
        ("query_id, anything", "'anything'"),
        ("self, query", "'self'"),
    ],
)
def test_required_parameters_that_nothing_explains_are_refused_by_name(parameters: str, names: str) -> None:
    """With an example of what is understood."""
    said = f"nothing says what its {names} is given; .*; wrap it, as in retrieve"
    with pytest.raises(rf.DataError, match=said):
        caller(taking(parameters), None)


@pytest.mark.parametrize(
    "parameters",
    [
        *("", "verbose=True", "k", "**names", "*, one, other"),
        *("limit=10, *anything", "verbose=False, *anything", "k, *anything"),
    ],
)
def test_functions_without_a_place_for_the_query_are_refused(parameters: str) -> None:
    """What stands before `*anything` would be given the query in its place."""
    with pytest.raises(rf.DataError, match=r"none of its parameters is the query; usual names are query, .*; wrap it"):
        caller(taking(parameters), None)


def test_a_gap_between_parameters_that_are_passed_by_place_is_refused() -> None:
    with pytest.raises(rf.DataError, match=r"search: 'verbose', 'query' are passed by place, and not all .*; wrap it"):
        caller(taking("verbose=False, query='', /"), None)


def test_methods_of_a_class_without_an_object_are_refused() -> None:
    for method, parameter in ((Engine.search, "'self'"), (dict.get, "'key'")):
        with pytest.raises(rf.DataError, match=f"nothing says what its {parameter} is given"):
            caller(method, None)


@pytest.mark.parametrize(
    "retriever",
    [None, 3, "search", ["d1"], {"red kite": ["d1"]}, types.SimpleNamespace(search="text"), object()],
    ids=lambda retriever: type(retriever).__name__,
)
def test_what_does_not_search_is_refused(retriever: object) -> None:
    with pytest.raises(rf.DataError, match=f"a {type(retriever).__name__} is no retriever: .*search, retrieve"):
        caller(retriever, None)


@pytest.mark.parametrize("retriever", [Engine, dict, functools], ids=["class", "builtin class", "module"])
def test_classes_and_modules_are_refused(retriever: object) -> None:
    said = f"the retriever is {retriever!r}; give a function, or an object made of the class"
    with pytest.raises(rf.DataError, match=re.escape(said)):
        caller(retriever, None)


@pytest.mark.parametrize("retriever", [None, taking("query, index"), Engine], ids=["none", "unknown", "class"])
def test_a_retriever_is_refused_before_the_queries_are_read(retriever: object) -> None:
    with pytest.raises(rf.DataError, match=r"retriever|'index'"):
        rf.retrieve(retriever, "absent/queries.jsonl")


# Retrievers of batches.


@pytest.mark.parametrize("name", ["queries", "query_texts", "questions", "texts", "inputs"])
def test_a_list_is_given_to_the_parameter_that_is_called_so(name: str) -> None:
    search = taking(f"{name}, limit, query_id=None")
    assert caller(search, None).batch_size == 32
    assert given(search, TWO) == {name: ["red kite", "owl"], "limit": 7, "query_id": ["q1", "q2"]}


@pytest.mark.parametrize("name", ["query_ids", "qids"])
def test_a_list_of_ids_too(name: str) -> None:
    assert given(taking(f"{name}, k"), TWO) == {name: ["q1", "q2"], "k": 7}
    assert given(taking(f"queries, {name}"), TWO) == {"queries": ["red kite", "owl"], name: ["q1", "q2"]}


def annotated(annotation: object) -> Callable[..., Any]:
    """A function whose first parameter has this annotation, or this text as one."""
    search = taking("query, limit=3")
    search.__annotations__["query"] = annotation
    return search


@pytest.mark.parametrize(
    "annotation",
    [
        *(list[str], Sequence[str], Iterable[str], list, list[str] | None, list[str | int]),
        *(
            "list[str]",
            "List[str]",
            "typing.List[str]",
            "t.Optional[t.List[str]]",
            "Sequence[str] | None",
            "'list[str]'",
            "list",
        ),
    ],
    ids=repr,
)
def test_a_list_is_given_to_whoever_says_so_by_an_annotation(annotation: object) -> None:
    assert given(annotated(annotation), TWO) == {"query": ["red kite", "owl"], "limit": 7}
    assert given(functools.partial(annotated(annotation), limit=2), TWO) == {"query": ["red kite", "owl"], "limit": 2}


@pytest.mark.parametrize(
    "annotation",
    [
        *(str, "str", object, "Any", str | None, dict[str, list[str]], Mapping[str, str]),
        *(str | list[str], list[str] | str, "list[str] | str", "Union[str, list[str]]", "Optional[str]"),
        *("Query", "listing[str]", "None"),
    ],
    ids=repr,
)
def test_whoever_takes_one_text_is_given_one(annotation: object) -> None:
    """Whatever else it takes."""
    assert given(annotated(annotation)) == {"query": "red kite", "limit": 7}


@pytest.mark.parametrize(
    "annotation",
    ["list[float]", "Sequence[float]", list[int], "np.ndarray", "NDArray[np.float32]", "list[list[float]]"],
    ids=repr,
)
def test_a_vector_is_no_query(annotation: object) -> None:
    with pytest.raises(rf.DataError, match=r"search: 'query' takes a vector .*, and a query is text; wrap it"):
        given(annotated(annotation))


def test_batch_size_says_so_where_nothing_else_does() -> None:
    search = taking("query, query_id, k")
    assert given(search, TWO, batch_size=2) == {"query": ["red kite", "owl"], "query_id": ["q1", "q2"], "k": 7}
    assert given(search, batch_size=1) == {"query": ["red kite"], "query_id": ["q1"], "k": 7}
    assert given([["red kite"]].index, batch_size=1) == 0
    assert caller(taking("queries"), 5).batch_size == 5
    assert caller(taking("query"), None).batch_size is None


@pytest.mark.parametrize("method", ["batch", "batch_search", "search_batch"])
def test_of_an_object_the_method_for_batches_counts_where_batches_are_asked_for(method: str) -> None:
    engine = types.SimpleNamespace(**{method: taking("queries, k"), "search": taking("query, k")})
    assert given(engine, TWO, batch_size=2) == {"queries": ["red kite", "owl"], "k": 7}
    assert given(engine) == {"query": "red kite", "k": 7}


# What a retriever is called.


@pytest.mark.parametrize(
    ("retriever", "name"),
    [
        (taking("query"), "search"),
        (Engine(), "Engine.search"),
        (Engine().retrieve, "Engine.retrieve"),
        (functools.partial(taking("query")), "search"),
        ({"a": 1}.get, "dict.get"),
        (operator.itemgetter(0), "itemgetter"),
    ],
    ids=["function", "object", "method", "partial", "builtin", "callable"],
)
def test_retrievers_have_names_for_messages(retriever: object, name: str) -> None:
    assert name == caller(retriever, None).name
