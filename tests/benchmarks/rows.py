"""Lines of the table: two sides timed in turn, and what their ratio is to reach."""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from statistics import median

Side = Callable[[], object]
Times = dict[str, list[float]]


@dataclass(frozen=True, slots=True)
class Aim:
    """What a ratio is to reach: at least `bound` times faster, or at most `bound` times as much."""

    bound: float
    at_most: bool = False
    hoped: float | None = None

    def met(self, ratio: float) -> bool:
        return ratio <= self.bound if self.at_most else ratio >= self.bound

    def __str__(self) -> str:
        hoped = f" (aim {self.hoped:g}x)" if self.hoped else ""
        return f"{'at most' if self.at_most else 'at least'} {self.bound:g}x{hoped}"


@dataclass(frozen=True, slots=True)
class Row:
    """A line of the table; `ours` and `theirs` are medians, in seconds unless `unit` says otherwise."""

    workload: str
    against: str
    ratio: float | None = None
    rounds: int = 0
    aim: Aim | None = None
    ours: float = 0.0
    theirs: float = 0.0
    unit: str = ""

    def __str__(self) -> str:
        if self.ratio is None:
            return f"| {self.workload} | {self.against} | not installed | {self.aim or ''} | |"
        missed = ", **missed**" if self.aim and not self.aim.met(self.ratio) else ""
        values = f"{self.ours:.4g} / {self.theirs:.4g}{self.unit}"
        return (
            f"| {self.workload} | {self.against} | {self.ratio:.2f}x (n={self.rounds}){missed} "
            f"| {self.aim or ''} | {values} |"
        )


# Timing.


def told(text: str) -> None:
    print(f"[{time.strftime('%H:%M:%S')}] {text}", file=sys.stderr, flush=True)


def in_turn(sides: Mapping[str, Side], rounds: int) -> Times:
    """Seconds of every side, in turn, round by round; every second round goes backwards."""
    seconds: Times = {name: [] for name in sides}
    for number in range(rounds):
        for name in list(sides) if number % 2 == 0 else reversed(list(sides)):
            gc.collect()
            started = time.perf_counter()
            sides[name]()
            seconds[name].append(time.perf_counter() - started)
    told("  " + ", ".join(f"{name} {median(values):.4g} s" for name, values in seconds.items()))
    return seconds


def faster(workload: str, against: str, ours: list[float], theirs: list[float], aim: Aim | None = None) -> Row:
    """The row of how many times faster we are."""
    ratios = [their / our for our, their in zip(ours, theirs, strict=True)]
    return Row(workload, against, median(ratios), len(ratios), aim, median(ours), median(theirs))


def needed(
    workload: str,
    against: str,
    ours: list[float],
    theirs: list[float],
    bound: float | None = None,
    unit: str = "",
    hoped: float | None = None,
) -> Row:
    """The row of how many times as much ours needs."""
    ratios = [our / their for our, their in zip(ours, theirs, strict=True)]
    aim = None if bound is None else Aim(bound, at_most=True, hoped=hoped)
    return Row(workload, against, median(ratios), len(ratios), aim, median(ours), median(theirs), unit)
