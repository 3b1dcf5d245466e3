"""What a sweep goes over: routings, patterns and loads, as the command line names them."""

from __future__ import annotations

import argparse
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

from experiments.spec.traffic import add_frame_arguments, add_seed_argument
from experiments.spec.values import plain_name, words_of
from routing.registry import ROUTINGS, routing
from topology.errors import ParameterError
from traffic.workload.patterns import check_load, split_name

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
    """What to sweep over, and how many seeds each point is measured with; the rest is told elsewhere."""

    routings: Sequence[str]
    patterns: Sequence[str]
    loads: Sequence[float]
    repeat: int = 1

    def points(self) -> list[Point]:
        """Returns all points, routing by routing, loads ascending."""
        return [Point(*values) for values in itertools.product(self.routings, self.patterns, self.loads)]


def add_sweep_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds what a sweep goes over, instead of one routing, pattern and load; and its traffic."""
    parser.add_argument(
        "--routings", default="min,ugal-pf", help=f"of {', '.join(ROUTINGS)} (default min,ugal-pf)"
    )
    parser.add_argument(
        "--patterns",
        default="uniform,tornado",
        help="`polarlab patterns` lists them (default uniform,tornado)",
    )
    parser.add_argument(
        "--loads", default="0.1:0.9:0.2", help="as 0.1,0.5 or FIRST:LAST:STEP (default 0.1:0.9:0.2)"
    )
    add_seed_argument(parser)
    add_frame_arguments(parser)


def read_sweep(arguments: argparse.Namespace) -> SweepOptions:
    """Returns the checked routings, patterns and loads of a sweep; errors as `read_fabric`."""
    routings = words_of("--routings", arguments.routings)
    patterns = words_of("--patterns", arguments.patterns)
    for name in routings:
        routing(name)
    for pattern in patterns:
        split_name(pattern)
    return SweepOptions(routings, patterns, parse_loads(arguments.loads), arguments.repeat or 1)


def parse_loads(text: str) -> tuple[float, ...]:
    """Returns the loads that `0.1,0.5` or `0.1:0.9:0.2` names, ascending, to six digits.

    Raises:
        ParameterError: the text has another form, or a load is none.
    """
    try:
        if ":" in text:
            first, last, step = map(float, text.split(":"))
            if not (0 < first <= last <= 1 and step >= LEAST_LOAD_STEP):
                raise ValueError(text)
            count = math.floor((last - first) / step + 1e-9) + 1
            loads = [first + index * step for index in range(count)]
        else:
            loads = [float(word) for word in words_of("--loads", text)]
    except ValueError:
        raise ParameterError(
            f"--loads must be like 0.1,0.5 or 0.1:0.9:0.2, over 0 and at most 1, got {text!r}"
        ) from None
    for load in loads:
        check_load(load)
    return tuple(sorted({float(f"{load:g}") for load in loads}))
