"""What metrics are called: the labels of a report, and how a caller's name finds one."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping

from rankframe.errors import MetricError
from rankframe.metrics.names import parse
from rankframe.summaries import Measured

Find = Callable[[str], str | None]
"""Gives the label of a metric for what a caller calls it."""


def known(name: str) -> str:
    """The label of a metric in whatever way it is written: its canonical name, and its aggregate where unusual.

    >>> known("P_5"), known("gm_map"), known("token_f1")
    ('precision@5', 'map (gmean)', 'token_f1')
    """
    try:
        metric = parse(name)
    except MetricError:  # a metric of samples, or the caller's own
        return name
    return metric.name if metric.aggregate == parse(metric.name).aggregate else f"{metric.name} ({metric.aggregate})"


def labelled(pairs: Iterable[tuple[str, str]]) -> dict[tuple[str, str], str]:
    """What every (metric, aggregate) is called beside the others, as reports call it.

    >>> list(labelled([("map", "mean"), ("map", "gmean"), ("num_ret", "sum")]).values())
    ['map', 'map (gmean)', 'num_ret']
    """
    there = dict.fromkeys(pairs)
    labels = {}
    for name, aggregate in there:
        try:
            usual: str = parse(name).aggregate
        except MetricError:
            usual = "sum" if (name, "sum") in there and (name, "mean") not in there else "mean"
        labels[name, aggregate] = name if aggregate == usual else f"{name} ({aggregate})"
    return labels


def meant(name: str, metrics: Mapping[str, Measured], dialect: str | None) -> Measured | None:
    """The metric, of these by label, that a label, a name of another tool, or the name it was asked for means."""
    if name in metrics:
        return metrics[name]
    try:
        metric = parse(name, dialect=dialect)
    except MetricError:
        named = []
    else:
        named = [m for m in metrics.values() if metric.name in (m.name, m.asked) and metric.aggregate == m.aggregate]
    return next(iter([*named, *(m for m in metrics.values() if name in (m.name, m.asked))]), None)


def found(name: str, labels: Container[str], find: Find) -> str | None:
    """The label that a name means, None where none of these is meant."""
    label = name if name in labels else find(name)
    return label if label in labels else None


def named(name: object) -> str:
    """A metric's name as given; anything but text is refused."""
    if not isinstance(name, str) or not name.strip():
        raise MetricError(f'a metric is named by text, as in {{"faithfulness": 0.9}}, got {name!r:.80}')
    return name
