"""The metric table, generated from the registry: for the README, the command line and notebooks."""

from __future__ import annotations

import polars as pl

from rankframe.metrics.families import REGISTRY, Family
from rankframe.metrics.names import ALIASES


def metric_table() -> pl.DataFrame:
    """Every built-in metric, a row each: those of queries, then those of samples, sorted by name.

    Columns, all String: name, of (what it scores, query or sample), definition (its formula), parameters (with their
    defaults or choices), range, aliases (other tools' names that parse to it), summary, reference.

    >>> metric_table().filter(name="capped_recall@k").select("name", "definition", "range").row(0)
    ('capped_recall@k', 'h / min(R, k)', '[0, 1]')
    """
    rows = [_row(family) for _, family in sorted(REGISTRY.items(), key=lambda item: (item[1].unit, item[0]))]
    return pl.DataFrame(rows, schema=dict.fromkeys(rows[0], pl.String))


def _row(family: Family) -> dict[str, str]:
    low, high = family.range
    return {
        "name": family.name + ("@k" if family.has_cutoff else ""),
        "of": family.unit,
        "definition": family.definition,
        "parameters": ", ".join(_parameter(family, name) for name in family.defaults),
        "range": f"[{low:g}, {high:g}]" if high is not None else f"[{low:g}, ...)",
        "aliases": ", ".join(name for name, alias in ALIASES.items() if alias.family == family.name),
        "summary": family.summary,
        "reference": family.reference,
    }


def _parameter(family: Family, name: str) -> str:
    if name in family.choices:
        return f"{name}={'|'.join(map(str, family.choices[name]))}"
    default = family.defaults[name]
    return name if default is None or isinstance(default, bool) else f"{name}={default}"
