"""p values corrected for their number: one family in, the same family out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib import import_module
from numbers import Real
from typing import TYPE_CHECKING, Any, Literal, get_args, overload

from rankframe.errors import DataError, ExtraError, nearest

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, np.dtype[np.float64]]

Correction = Literal["holm", "bonferroni", "holm-sidak", "bh", "by"]


def _bonferroni(ascending: Array) -> Array:
    return ascending * len(ascending)


def _holm(ascending: Array) -> Array:
    import numpy as np

    return np.maximum.accumulate(ascending * np.arange(len(ascending), 0, -1))


def _holm_sidak(ascending: Array) -> Array:
    import numpy as np

    with np.errstate(divide="ignore"):  # p = 1
        return np.maximum.accumulate(-np.expm1(np.arange(len(ascending), 0, -1) * np.log1p(-ascending)))


def _false_discovery(method: Literal["bh", "by"]) -> Callable[[Array], Array]:
    def correct(ascending: Array) -> Array:
        false_discovery_control = scipy_module("scipy.stats").false_discovery_control
        found: Array = false_discovery_control(ascending, method=method)
        return found

    return correct


_CORRECTIONS: dict[str, Callable[[Array], Array]] = {
    "holm": _holm,
    "bonferroni": _bonferroni,
    "holm-sidak": _holm_sidak,
    "bh": _false_discovery("bh"),
    "by": _false_discovery("by"),
}


@overload
def corrected(p_values: Mapping[str, float | None], method: Correction = ...) -> dict[str, float | None]: ...
@overload
def corrected(p_values: Sequence[float | None], method: Correction = ...) -> list[float | None]: ...
def corrected(
    p_values: Mapping[str, float | None] | Sequence[float | None], method: Correction = "holm"
) -> dict[str, float | None] | list[float | None]:
    """The p values of one family of tests, corrected for their number.

    Args:
        p_values: of every test that was made, together; None where there was no test, such as that of a baseline with
            itself, which does not count.
        method: "holm" or "bonferroni" or "holm-sidak" (the chance of any false finding), "bh" or "by" (the expected
            share of false ones among the findings: Benjamini-Hochberg, Benjamini-Yekutieli).

    Returns:
        What was given, in the same order, corrected, each at most 1.

    Raises:
        DataError: for an unknown method, or a p value that is no number between 0 and 1.
        ExtraError: for "bh" and "by" without the extra `stats`.

    Source: Holm 1979; Dunn 1961; Benjamini and Hochberg 1995, doi:10.1111/j.2517-6161.1995.tb02031.x.

    >>> corrected({"base": None, "r1": 0.01, "r2": 0.04, "r3": 0.03}, "holm")
    {'base': None, 'r1': 0.03, 'r2': 0.06, 'r3': 0.06}
    """
    import numpy as np

    check_correction(method)
    if isinstance(p_values, Mapping):
        return dict(zip(p_values, corrected(list(p_values.values()), method), strict=True))
    if isinstance(p_values, (str, bytes)) or not isinstance(p_values, Iterable):
        raise DataError(f"corrected() takes the p values of all tests, in a list or by name, got {p_values!r:.80}")
    values = [None if p is None else _share(p) for p in p_values]
    tested = np.array([p for p in values if p is not None])
    order = np.argsort(tested, kind="stable")
    found = np.empty(len(tested))
    found[order] = np.minimum(_CORRECTIONS[method](tested[order]), 1.0) if len(tested) else tested
    left = iter(found.tolist())
    return [None if p is None else next(left) for p in values]


def check_correction(method: object) -> None:
    """Refuse a correction that there is not."""
    if method not in get_args(Correction):
        raise DataError(f"no correction {method!r:.80}: {nearest(str(method), get_args(Correction))}")


def scipy_module(name: str) -> Any:
    """A module of scipy.

    Raises:
        ExtraError: where it is not installed.
    """
    try:
        return import_module(name)
    except ImportError as error:
        raise ExtraError("this needs scipy, which is not installed; pip install 'rankframe[stats]'") from error


def _share(p: object) -> float:
    if not isinstance(p, Real) or not 0 <= float(p) <= 1:  # NaN too
        raise DataError(f"a p value is a number between 0 and 1, or None where there was no test, got {p!r:.80}")
    return float(p)
