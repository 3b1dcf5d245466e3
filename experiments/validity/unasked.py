"""Detects links and switches that a controller avoids although nothing failed or drained them."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property

from controller.reports import PortSet, Replanned
from topology.addressing import switch_router
from topology.base import Topology
from topology.drains import Drain, drain_of
from topology.failures import Failure, failure_of
from topology.faults import Component, ComponentKind, Fault, link_component, parse_components

_NONE = "none"
_MAX_NAMED = 5


@dataclass(frozen=True)
class Plan:
    """The failed and drained components that a controller's plan avoids, as its reports name them.

    Attributes:
        failed, drained: locations of the links and switches, like `s1-s7, s4`; `none` if there are none.
    """

    failed: str
    drained: str


@dataclass(frozen=True)
class Asked:
    """Links and switches that were failed or drained on purpose.

    Attributes:
        topology: the graph of routers.
        failed: links and switches that have failed.
        drained: links and switches that are drained.
    """

    topology: Topology
    failed: tuple[Component, ...]
    drained: tuple[Component, ...] = ()

    @cached_property
    def failure(self) -> Failure:
        """The failed switches and the failed links between switches, combined."""
        return failure_of(self.topology, (component for component in self.failed if component.host is None))

    @cached_property
    def drain(self) -> Drain:
        """The combined drain of all drained links and switches."""
        return drain_of(self.topology, self.drained)

    def beyond(self, plans: Iterable[Plan], ports: Iterable[PortSet | tuple[str, int]] = ()) -> list[str]:
        """Returns the links and switches that the controller took out of use without a failure or drain.

        Args:
            plans: plans of the controller, which avoid some components.
            ports: the ports that the controller has set down or up; a pair is (name of the switch, number).
        """
        names = [name for plan in plans for name in self._beyond(plan)]
        names += [name for port in ports for name in self._behind(port)]
        return list(dict.fromkeys(names))

    def unexplained(
        self, begun: Sequence[tuple[float, Fault]], ports: Iterable[PortSet], plans: Iterable[Replanned]
    ) -> list[str]:
        """Returns the links and switches that the controller took out of use without an earlier reason.

        Args:
            begun: further faults, with the times at which their injection began, on the clock of the reports.
            ports: the controller's reports of ports.
            plans: its reports of plans.
        """
        times_s = [time_s for time_s, _ in begun]

        @cache
        def after(faults: int) -> Asked:
            drained = [fault.component for _, fault in begun[:faults] if fault.maintenance]
            failed = [fault.component for _, fault in begun[:faults] if not fault.maintenance]
            return Asked(self.topology, (*self.failed, *failed), (*self.drained, *drained))

        names = []
        for plan in plans:
            asked = after(bisect_right(times_s, plan.monotonic_s))
            names += asked.beyond([Plan(plan.failed, plan.drained)])
        for port in ports:
            names += after(bisect_right(times_s, port.monotonic_s)).beyond([], [port])
        return list(dict.fromkeys(names))

    def lacking(self, plan: Plan) -> list[str]:
        """Returns the failed links and switches that a plan does not avoid, as locations like `s1-s7`."""
        planned = failure_of(self.topology, self._components(plan.failed))
        return [
            component.location
            for component in self.failed
            if component.kind is not ComponentKind.CONTROLLER
            and component.host is None
            and not failure_of(self.topology, [component]).failed_ends <= planned.failed_ends
        ]

    def _beyond(self, plan: Plan) -> list[str]:
        names = []
        for component in self._components(plan.failed):
            own = failure_of(self.topology, [component])
            asked = own.failed_ends <= self.failure.failed_ends
            if not (asked and own.failed_routers <= self.failure.failed_routers):
                names.append(component.location)
        for component in self._components(plan.drained):
            drain = drain_of(self.topology, [component])
            if not (drain.ends <= self.drain.ends and drain.routers <= self.drain.routers):
                names.append(component.location)
        return names

    def _behind(self, port: PortSet | tuple[str, int]) -> list[str]:
        switch, number = (port.switch, port.port) if isinstance(port, PortSet) else port
        end = switch_router(switch, self.topology.routers), number
        if end in self.failure.failed_ends:
            return []
        return [link_component(link).location for link in self.topology.link_list if end in link.ends]

    def _components(self, locations: str) -> tuple[Component, ...]:
        if locations == _NONE:
            return ()
        kinds = {True: ComponentKind.LINK.value, False: ComponentKind.SWITCH.value}
        words = [f"{kinds['-' in location]}:{location}" for location in locations.split(", ")]
        return parse_components(",".join(words), self.topology, seed=1)


def listed(names: Sequence[str]) -> str:
    """Returns names as a comma-separated list, shortened to the first five and a count."""
    more = len(names) - _MAX_NAMED
    return ", ".join(names[:_MAX_NAMED]) + (f" and {more} more" if more > 0 else "")


def unasked_doubt(names: Sequence[str]) -> str:
    """Returns the reason to doubt a run in which the controller took components out of use unasked.

    Args:
        names: locations of the links and switches.
    """
    return f"the controller took {listed(names)} out of use without a failure or drain"
