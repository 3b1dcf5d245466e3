"""Specification of a sweep: the product of routings, patterns and loads."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

from experiments.spec.values import plain_name, words_of
from routing.registry import routing
from topology.errors import ParameterError
from traffic.workload.patterns import check_load, pattern_name

LEAST_LOAD_STEP = 0.001


@dataclass(frozen=True)
class Point:
    """One point of a sweep."""

    routing: str
    pattern: str
    load: float

    @property
    def name(self) -> str:
        """The point's name in file names."""
        return plain_name(self.routing, self.pattern, f"{self.load:g}")


@dataclass(frozen=True)
class SweepOptions:
    """The points of a sweep.

    Attributes:
        routings, patterns: names of registered routings and patterns, with their parameters; texts that mean
            the same become one name.
        loads: offered loads, over 0 and at most 1, ascending.
        repeat: replications of each point, with a seed each.
    """

    routings: Sequence[str]
    patterns: Sequence[str]
    loads: Sequence[float]
    repeat: int = 1

    def __post_init__(self) -> None:
        routings = dict.fromkeys(routing(text).name for text in self.routings)
        object.__setattr__(self, "routings", tuple(routings))
        object.__setattr__(self, "patterns", tuple(dict.fromkeys(map(pattern_name, self.patterns))))

    def points(self) -> list[Point]:
        """Returns all points, routing by routing, loads ascending."""
        return [Point(*values) for values in itertools.product(self.routings, self.patterns, self.loads)]


def parse_routings(text: str) -> tuple[str, ...]:
    """Returns the routings of a list with commas; raises UsageError for one that does not exist."""
    return tuple(dict.fromkeys(routing(name).name for name in words_of("routings", text)))


def parse_patterns(text: str) -> tuple[str, ...]:
    """Returns the patterns of a list with commas; raises UsageError for one that does not exist."""
    return tuple(dict.fromkeys(map(pattern_name, words_of("patterns", text))))


def parse_loads(text: str) -> tuple[float, ...]:
    """Returns the loads that `0.1,0.5` or `0.1:0.9:0.2` names, ascending, to six digits.

    Raises:
        ParameterError: the text has another form, or a load is not over 0 and at most 1.
    """
    try:
        if ":" in text:
            first, last, step = map(float, text.split(":"))
            if not (0 < first <= last <= 1 and step >= LEAST_LOAD_STEP):
                raise ValueError(text)
            count = math.floor((last - first) / step + 1e-9) + 1
            loads = [first + index * step for index in range(count)]
        else:
            loads = [float(word) for word in words_of("loads", text)]
    except ValueError:
        raise ParameterError(
            f"loads must be like 0.1,0.5 or 0.1:0.9:0.2, over 0 and at most 1, got {text!r}"
        ) from None
    for load in loads:
        check_load(load)
    return tuple(sorted({float(f"{load:g}") for load in loads}))
