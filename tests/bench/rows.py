"""A row of the benchmark's table."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass
class Row:
    """What was measured, against what, and whether it reached its goal."""

    what: str
    reference: str
    measured: str
    goal: str
    reached: bool


RowMaker = Callable[[], list[Row]]


def best_of(times: int, act: Callable[[], object]) -> float:
    """Returns the shortest of several runs in seconds: noise only ever adds."""
    best = float("inf")
    for _ in range(times):
        started = time.perf_counter()
        act()
        best = min(best, time.perf_counter() - started)
    return best
