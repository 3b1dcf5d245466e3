"""Drawn fault schedules: components of a fabric that fail and are repaired at random times; pure data.

`mtbf:links=30s,mttr=10s` means: on average, a link of the fabric fails every 30 s and is repaired after 10 s.
Failures of each kind are a Poisson process of the whole fabric, whose rate does not depend on the number of
components. The failing component is drawn uniformly from those that are up. Repair times are exponential.
Times of a simulation are in cycles: `mtbf:links=3000,mttr=1000`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from topology.base import Topology
from topology.errors import ParameterError
from topology.faults import CONTROLLER, SECONDS, Component, ComponentKind, Fault, TimeUnit, link_component
from topology.files.escaping import quoted
from topology.units import number_of, quantity

PREFIX = "mtbf:"
FORM = SECONDS.form
# A schedule with more failures than this is probably a mistake in the unit.
MAX_FAILURES = 10_000
_KINDS = {
    "links": ComponentKind.LINK,
    "switches": ComponentKind.SWITCH,
    "controller": ComponentKind.CONTROLLER,
}
_REPAIR = "mttr"


@dataclass(frozen=True)
class FaultProcess:
    """Random failures of a fabric's components, and their repairs.

    Attributes:
        mtbf_s: kind of component -> mean time between two failures of that kind in the whole fabric.
        mttr_s: mean time from a failure to its repair.
        unit: the unit of these times and of all times in the schedule: seconds, or cycles in a simulation.
    """

    mtbf_s: Mapping[ComponentKind, float]
    mttr_s: float
    unit: TimeUnit = SECONDS


def parse_process(text: str, unit: TimeUnit = SECONDS) -> FaultProcess:
    """Parses a description of random failures.

    Args:
        text: for example `mtbf:links=30s,switches=2min,controller=60s,mttr=500ms`, in any order; at least
            one kind of component, and mttr.
        unit: the unit of the times.

    Raises:
        ParameterError: the text is malformed, or a time is outside the range of its unit (1 ms to one day for
            times in seconds).
    """
    times_s: dict[str, float] = {}
    for word in text.removeprefix(PREFIX).split(","):
        name, _, value = word.strip().partition("=")
        if name not in (*_KINDS, _REPAIR):
            raise ParameterError(
                f"random faults must name only {', '.join(_KINDS)} and {_REPAIR}, as in {unit.form}, got "
                f"{quoted(text)}"
            )
        if name in times_s:
            raise ParameterError(f"random faults must name {name} only once, got {quoted(text)}")
        times_s[name] = _parse_time(name, value, unit)
    mtbf_s = {kind: times_s[name] for name, kind in _KINDS.items() if name in times_s}
    if not mtbf_s or _REPAIR not in times_s:
        raise ParameterError(
            f"random faults must have {_REPAIR} and at least one of {', '.join(_KINDS)}, as in {unit.form}, "
            f"got {quoted(text)}"
        )
    return FaultProcess(mtbf_s, times_s[_REPAIR], unit)


def _parse_time(name: str, text: str, unit: TimeUnit) -> float:
    name = f"{name} of --faults mtbf"
    number = (quantity if unit == SECONDS else number_of)(name, text, unit.name)
    time = -1.0 if number is None else float(number)
    if not unit.step <= time <= unit.limit:
        if unit == SECONDS:
            domain = f"1ms to {unit.limit}s, such as 500ms, 30s or 2min"
        else:
            domain = f"{unit.step:g} to {unit.limit} {unit.name}, without a unit"
        raise ParameterError(f"{name} must be a time of {domain}, got {quoted(text)}")
    return time


def draw_faults(process: FaultProcess, topology: Topology, seed: int, end_s: float) -> tuple[Fault, ...]:
    """Draws a fault schedule at random.

    The failure times of one kind do not depend on the other kinds. A failure is dropped if no component of
    its kind is up. A repair after `end_s` is dropped, too.

    Args:
        process: the random failures.
        topology: the graph of routers.
        seed: seed of the random generators, not negative.
        end_s: end of the schedule, in the unit of `process`, exclusive.

    Returns:
        The faults in order of time, in whole milliseconds or cycles; a component fails only while it is up,
        and a link only while both of its switches are up.

    Raises:
        ParameterError: the expected number of failures exceeds `MAX_FAILURES`.
    """
    expected = sum(end_s / mtbf_s for mtbf_s in process.mtbf_s.values())
    if expected > MAX_FAILURES:
        raise ParameterError(
            f"number of random faults must be at most {MAX_FAILURES}, got {expected:.0f} in {end_s:g} "
            f"{process.unit.name}; choose a longer "
            "time between failures"
        )
    kinds = [kind for kind in _KINDS.values() if kind in process.mtbf_s]
    numbers = list(_KINDS.values())
    draws = {kind: _Draws(seed, numbers.index(kind), process.unit) for kind in kinds}
    failures = [
        (time_s, place, kind)
        for place, kind in enumerate(kinds)
        for time_s in draws[kind].failure_times(process.mtbf_s[kind], end_s)
    ]
    down: dict[Component, float] = {}  # component -> time of its repair
    faults: list[Fault] = []
    for time_s, _, kind in sorted(failures, key=lambda failure: failure[:2]):
        down = {component: repaired_s for component, repaired_s in down.items() if repaired_s > time_s}
        repair_s, choose = draws[kind].repair(process.mttr_s)
        candidates = _COMPONENTS[kind](topology, down)
        if not candidates:
            continue
        component = candidates[choose(len(candidates))]
        down[component] = round(time_s + repair_s, process.unit.decimals)
        faults.append(Fault(time_s, component))
        if down[component] < end_s:
            faults.append(Fault(down[component], component, restores=True))
    # At equal times a repair precedes a failure, because the repaired component may be the one that fails.
    return tuple(sorted(faults, key=lambda fault: (fault.time_s, not fault.restores)))


class _Draws:
    """Random numbers for one kind of component; times and choices come from independent generators."""

    def __init__(self, seed: int, kind: int, unit: TimeUnit) -> None:
        self._unit = unit
        self._times = np.random.default_rng([seed, kind, 0])
        self._others = np.random.default_rng([seed, kind, 1])

    def failure_times(self, mtbf_s: float, end_s: float) -> list[float]:
        """Returns the failure times of a Poisson process that starts at 0 and stops before `end_s`.

        Args:
            mtbf_s: mean time between two failures, in s or cycles.
            end_s: the end, in s or cycles.

        Returns:
            Times in s, rounded to milliseconds; or in whole cycles.
        """
        times_s: list[float] = []
        decimals = self._unit.decimals
        time_s = float(self._times.exponential(mtbf_s))
        while round(time_s, decimals) < end_s:
            times_s.append(round(time_s, decimals))
            time_s += float(self._times.exponential(mtbf_s))
        return times_s

    def repair(self, mttr_s: float) -> tuple[float, Callable[[int], int]]:
        """Draws how long a repair takes, and which component fails.

        Args:
            mttr_s: mean time to repair, in s or cycles.

        Returns:
            (time from the failure to the repair, at least one step of the unit; a function that draws which
            component fails: it takes n, the number of candidates, and returns an index below n).
        """
        repair_s, fraction = float(self._others.exponential(mttr_s)), float(self._others.random())
        return max(self._unit.step, repair_s), lambda count: min(count - 1, int(fraction * count))


def _links_up(topology: Topology, down: Mapping[Component, float]) -> Sequence[Component]:
    dark = {component.routers[0] for component in down if component.kind is ComponentKind.SWITCH}
    lit = (link_component(link) for link in topology.link_list if not {link.a, link.b} & dark)
    return [component for component in lit if component not in down]


def _switches_up(topology: Topology, down: Mapping[Component, float]) -> Sequence[Component]:
    switches = (Component(ComponentKind.SWITCH, (router,)) for router in range(topology.routers))
    return [component for component in switches if component not in down]


def _controller_up(_topology: Topology, down: Mapping[Component, float]) -> Sequence[Component]:
    return [] if CONTROLLER in down else [CONTROLLER]


_COMPONENTS: Mapping[ComponentKind, Callable[[Topology, Mapping[Component, float]], Sequence[Component]]] = {
    ComponentKind.LINK: _links_up,
    ComponentKind.SWITCH: _switches_up,
    ComponentKind.CONTROLLER: _controller_up,
}
