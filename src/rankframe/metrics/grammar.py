"""The grammar of metric names: `name(parameter=value,..)@k`."""

from __future__ import annotations

import re
from collections.abc import Mapping

from rankframe.errors import MetricError

Value = str | float | bool


def canonical(name: str, parameters: Mapping[str, Value], k: int | None) -> str:
    """The name that carries the whole definition.

    >>> canonical("ndcg", {"gain": "exponential"}, 10)
    'ndcg(gain=exponential)@10'
    >>> canonical("rbp", {"rel": 2.0, "p": 0.5}, None)
    'rbp(p=0.5,rel=2)'
    """
    inside = ",".join(f"{key}={_written(value)}" for key, value in sorted(parameters.items()))
    return name + (f"({inside})" if inside else "") + (f"@{k}" if k is not None else "")


def _written(value: Value) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)
    return str(value)


def is_text(name: object) -> bool:
    r"""Whether a name can stand in a frame: text without half of a surrogate pair.

    >>> is_text("map"), is_text("\ud800"), is_text(3)
    (True, False, False)
    """
    return isinstance(name, str) and name.encode(errors="ignore").decode() == name


_NAME = re.compile(r"\s*(?P<name>[^()@\s]+)\s*(?:\((?P<inside>[^()]*)\))?\s*(?:@\s*(?P<k>[^()@]+))?\s*")


def split_name(text: str) -> tuple[str, dict[str, str], str | None]:
    """The parts of a metric name as text: name, parameters, cutoff.

    >>> split_name("rbp(p=0.5, rel=2)")
    ('rbp', {'p': '0.5', 'rel': '2'}, None)
    """
    match = _NAME.fullmatch(text)
    if match is None:
        raise MetricError(f"{text!r} is not a metric name; write name, name@k or name(parameter=value)@k")
    parameters: dict[str, str] = {}
    inside = match["inside"]
    for part in inside.split(",") if inside and inside.strip() else []:
        key, equals, value = (piece.strip() for piece in part.partition("="))
        if not (key and equals and value):
            raise MetricError(f"{text!r}: {part.strip()!r} is not parameter=value")
        if key in parameters:
            raise MetricError(f"{text!r}: the parameter {key!r} stands there twice")
        parameters[key] = value.strip("'\"")
    return match["name"], parameters, match["k"]


def read_value(text: str) -> Value:
    """A parameter value as written in a name: true, false, a number, or a word.

    >>> read_value("true"), read_value("0.80"), read_value("linear")
    (True, 0.8, 'linear')
    """
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    try:
        return float(text)
    except ValueError:
        return text


def read_cutoff(text: str, whole: str) -> int:
    """A cutoff as written behind the @."""
    if not re.fullmatch(r"\s*[1-9][0-9]*\s*", text):
        several = "; several metrics are a list of names" if "," in text else ""
        raise MetricError(f"{whole!r}: a cutoff is a whole number from 1, got {text.strip()!r}{several}")
    return int(text)
