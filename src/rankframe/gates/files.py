"""Gates as files: thresholds, coverage and allowed drops in TOML."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any

from rankframe.errors import DataError, RankframeError, nearest
from rankframe.gates.baselines import drop_of
from rankframe.gates.thresholds import GATES, thresholds_of
from rankframe.gates.values import share

_KEYS = ("preset", "min_coverage", "max_drop", "metrics")


@dataclass(frozen=True, slots=True)
class Gate:
    """What a report is held against.

    Attributes:
        thresholds: metric -> the lowest value that passes, or a comparison; a preset's among them. Empty where there
            is only `max_drop`.
        min_coverage: the share that must be scored, from 0 to 1.
        max_drop: by how much a value may fall below an earlier report's, for all metrics or by metric.
    """

    thresholds: Mapping[str, float | str] = field(default_factory=dict)
    min_coverage: float = 1.0
    max_drop: float | Mapping[str, float] = 0.0


def read_gate(path: str | PathLike[str]) -> Gate:
    """The gate that a TOML file describes.

    The keys are `preset` (a name in `GATES`), `min_coverage`, `max_drop` (a number, or a table metric -> number) and
    the table `metrics`, metric -> threshold; each may be left out, but one of preset, metrics and max_drop is there:

        min_coverage = 0.95
        max_drop = 0.01
        [metrics]
        faithfulness = 0.90
        token_f1 = ">= 0.5"
        "ndcg@10" = 0.4

    Raises:
        FileNotFoundError: where there is no such file.
        DataError: for a file that is no TOML, unknown keys, and values that mean nothing; it names file and key.
    """
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"no gate at {path}")
    try:
        told = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except (OSError, ValueError, RecursionError) as error:
        raise DataError(
            f'{path}: cannot be read as TOML ({error}); a name with @ or brackets is quoted, as in "ndcg@10" = 0.4'
        ) from error
    try:
        return _gate(told)
    except RankframeError as error:
        raise DataError(f"{path}: {error}") from error


def _gate(told: Mapping[str, Any]) -> Gate:
    for key in told:
        if key not in _KEYS:
            raise DataError(f"unknown key {key!r}: {nearest(key, _KEYS)}; metrics stand under [metrics]")
    if not told.keys() & {"preset", "metrics", "max_drop"}:
        raise DataError(f"it checks nothing; give a preset ({', '.join(GATES)}), a table [metrics], or max_drop")
    return Gate(
        thresholds=_thresholds(told),
        min_coverage=share("min_coverage", told.get("min_coverage", 1.0)),
        max_drop=_max_drop(told.get("max_drop", 0.0)),
    )


def _thresholds(told: Mapping[str, Any]) -> dict[str, float | str]:
    """Thresholds of the preset and of the table; one must not loosen the other unseen."""
    thresholds: dict[str, float | str] = {}
    if "preset" in told:
        preset = told["preset"]
        if not isinstance(preset, str) or preset not in GATES:
            raise DataError(f"preset = {preset!r} is unknown: {nearest(str(preset), list(GATES))}")
        thresholds |= GATES[preset]
    if "metrics" in told:
        own = _table("metrics", told["metrics"])
        try:
            thresholds_of(own)
        except RankframeError as error:
            raise DataError(f"[metrics] {error}") from error
        for name in own:
            if name in thresholds:
                raise DataError(
                    f"[metrics] {name}: the preset {told['preset']!r} has it already ({thresholds[name]}); leave one "
                    f"of them out"
                )
        thresholds |= own
    return thresholds


def _max_drop(given: Any) -> float | dict[str, float]:
    if isinstance(given, dict):
        return {name: drop_of(f"[max_drop] {name}", drop) for name, drop in _table("max_drop", given).items()}
    return drop_of("max_drop", given)


def _table(name: str, given: Any) -> dict[str, Any]:
    if not isinstance(given, dict):
        raise DataError(f"{name} is a table metric -> number, got {given!r:.80}")
    for key in given:
        if key in _KEYS:  # TOML takes what stands below a table's head into the table
            raise DataError(f"{key!r} stands in the table [{name}]; put it above the first table")
    return given
