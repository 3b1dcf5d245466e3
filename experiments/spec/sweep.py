"""Specification of a sweep: the product of routings, patterns, loads and varied options, point by point."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from experiments.spec.fabric import FabricOptions, routing_name
from experiments.spec.traffic import TrafficOptions
from experiments.spec.values import plain_name
from experiments.spec.variations import (
    MAX_POINTS,
    SHORT_FORMS,
    Variation,
    listed_values,
    number,
    parameters_of,
    read_variations,
)
from topology.errors import ParameterError, UsageError
from topology.files.escaping import quoted
from topology.parameters import Value, join_parameters, split_parameters, value_text
from traffic.workload.patterns import pattern_name

_NUMBER = re.compile(r"(\d+(?:\.\d+)?)")


@dataclass(frozen=True)
class Point:
    """One point of a sweep.

    Attributes:
        routing, pattern: names with their parameters.
        load: offered load.
        options: (name, value) of each varied option, sorted by name.
    """

    routing: str
    pattern: str
    load: float
    options: tuple[tuple[str, Value], ...] = ()

    @property
    def name(self) -> str:
        """The name of the point's files."""
        options = (f"{name}={value_text(value)}" for name, value in self.options)
        return plain_name(self.routing, self.pattern, f"{self.load:g}", *options)

    @property
    def order(self) -> tuple[object, ...]:
        """The sort key of the point: routing, pattern, options, load; numbers in names compare as numbers."""
        options = tuple((number(*option) or 0.0, value_text(option[1])) for option in self.options)
        return (_natural(self.routing), _natural(self.pattern), options, self.load)


def _natural(text: str) -> tuple[object, ...]:
    """Returns a sort key that alternates text and numbers, so that 9 sorts before 10."""
    return tuple(float(part) if place % 2 else part for place, part in enumerate(_NUMBER.split(text)))


@dataclass(frozen=True)
class SweepOptions:
    """The points of a sweep.

    Attributes:
        routings, patterns: canonical names of routings and patterns, with their parameters.
        loads: offered loads, over 0 and at most 1, ascending, rounded to six digits.
        repeat: number of replications of each point, each with its own seed.
        vary: further varied options and parameters of routings and patterns.

    Raises:
        UsageError: a value is outside its domain.
    """

    routings: Sequence[str]
    patterns: Sequence[str]
    loads: Sequence[float]
    repeat: int = 1
    vary: tuple[Variation, ...] = ()

    def __post_init__(self) -> None:
        self._check_owners()
        if self._count > MAX_POINTS:
            raise ParameterError(f"a sweep must have at most {MAX_POINTS} points, got {self._count}")
        if not (self.varied_routings and self.varied_patterns):
            raise ParameterError("a sweep must have a routing and a pattern, got none")

    @property
    def _count(self) -> int:
        """The number of points."""

        def combinations(owner: str) -> int:
            return math.prod(len(variation.values) for variation in self.vary if variation.owner == owner)

        routings = sum(combinations(text.partition(":")[0]) for text in self.routings)
        patterns = sum(combinations(text.partition(":")[0]) for text in self.patterns)
        return routings * patterns * combinations("") * len(self.loads)

    def _check_owners(self) -> None:
        """Raises UsageError if a varied parameter belongs to a routing or pattern outside the sweep."""
        owners = {text.partition(":")[0] for text in (*self.routings, *self.patterns)}
        for variation in self.vary:
            if variation.owner and variation.owner not in owners:
                raise UsageError(
                    f"--vary {variation.key} needs {variation.owner} among the sweep's routings or patterns, "
                    f"got {', '.join((*self.routings, *self.patterns))}"
                )

    @property
    def varied_routings(self) -> tuple[str, ...]:
        """The names of the routings, each with all combinations of values of its varied parameters."""
        return _with_parameters(self.routings, self.vary, routing_name)

    @property
    def varied_patterns(self) -> tuple[str, ...]:
        """The names of the patterns, each with all combinations of values of its varied parameters."""
        return _with_parameters(self.patterns, self.vary, pattern_name)

    def points(self) -> list[Point]:
        """Returns all points, grouped by routing, with ascending loads."""
        options = [variation for variation in self.vary if not variation.owner]
        names = [variation.key for variation in options]
        return [
            Point(routing, pattern, load, tuple(sorted(zip(names, values, strict=True))))
            for routing in self.varied_routings
            for values in itertools.product(*(variation.values for variation in options))
            for pattern in self.varied_patterns
            for load in self.loads
        ]


def _with_parameters(
    names: Sequence[str], vary: Sequence[Variation], canonical: Callable[[str], str]
) -> tuple[str, ...]:
    """Returns each name with each combination of values of its varied parameters, in canonical form.

    Args:
        names: names of routings or of patterns, with their parameters.
        vary: swept values; those that belong to none of the names are ignored.
        canonical: name -> its canonical form.
    """
    found: list[str] = []
    for text in names:
        name = text.partition(":")[0]
        own = [variation for variation in vary if variation.owner == name]
        if not own:
            found.append(text)
            continue
        declared = parameters_of(name)
        _, given = split_parameters(text, declared)
        keys = [variation.parameter.key for variation in own]
        twice = next((variation.key for variation, key in zip(own, keys, strict=True) if key in given), None)
        if twice:
            raise UsageError(f"{twice} must be given once, got {quoted(text)} and --vary {twice}")
        for values in itertools.product(*(variation.values for variation in own)):
            changed = {**given, **dict(zip(keys, values, strict=True))}
            found.append(canonical(join_parameters(name, changed, declared)))
    return tuple(dict.fromkeys(found))


@dataclass(frozen=True)
class PointOptions:
    """Specification of a point: its fabric and traffic."""

    point: Point
    fabric: FabricOptions
    traffic: TrafficOptions


def sweep_options(values: Mapping[str, Any], kind: str) -> SweepOptions:
    """Returns the points of a sweep.

    Args:
        values: option -> value.
        kind: name under which the varied options are declared: SWEEP or SIMULATED_SWEEP.
    """
    vary = {variation.key: variation for variation in read_variations(values.get("vary", ()), kind)}

    def listed(key: str) -> tuple[Any, ...]:
        return vary.pop(key).values if key in vary else listed_values(key, values[SHORT_FORMS[key]])

    routings, patterns, loads = map(listed, SHORT_FORMS)
    loads = tuple(sorted({float(f"{load:g}") for load in loads}))
    return SweepOptions(routings, patterns, loads, values["repeat"], tuple(vary.values()))


def values_at(point: Point, values: Mapping[str, Any]) -> dict[str, Any]:
    """Returns option -> value at a point of a sweep.

    Args:
        point: the point.
        values: option -> value of the sweep.
    """
    own = {**values, "routing": point.routing, "pattern": point.pattern, "load": point.load}
    return own | dict(point.options)
