"""Detects links and switches that a controller avoids although nothing failed or drained them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from controller.reports import PortSet
from topology.addressing import switch_router
from topology.base import Topology
from topology.drains import Drain, drain_of
from topology.failures import Failure, failure_of
from topology.faults import Element, ElementKind, link_element, parse_elements

_NONE = "none"
_MOST_NAMED = 5


@dataclass(frozen=True)
class Plan:
    """The failures and drains that a controller's plan avoids, as its reports name them.

    Attributes:
        failed, drained: locations of the links and switches, like `s1-s7, s4`; `none` for none.
    """

    failed: str
    drained: str


@dataclass(frozen=True)
class Asked:
    """Links and switches that were failed or drained on purpose.

    Attributes:
        topology: the graph of routers.
        failed: links and switches that have failed or are scheduled to.
        drained: links and switches that are drained or are scheduled to be.
    """

    topology: Topology
    failed: tuple[Element, ...]
    drained: tuple[Element, ...] = ()

    @cached_property
    def failure(self) -> Failure:
        """The combined failure of switches and the links between them."""
        return failure_of(self.topology, (element for element in self.failed if element.host is None))

    @cached_property
    def drain(self) -> Drain:
        """The drain."""
        return drain_of(self.topology, self.drained)

    def beyond(self, plans: Iterable[Plan], ports: Iterable[PortSet | tuple[str, int]] = ()) -> list[str]:
        """Returns the locations that plans or disabled ports take out of use although nobody requested it.

        Args:
            plans: plans of the controller.
            ports: ports, as (name of the switch, number), that the controller has set down or up.
        """
        names = [name for plan in plans for name in self._beyond(plan)]
        names += [name for port in ports for name in self._behind(port)]
        return list(dict.fromkeys(names))

    def lacking(self, plan: Plan) -> list[str]:
        """Returns the locations of the failed links and switches that a plan does not avoid."""
        planned = failure_of(self.topology, self._elements(plan.failed))
        return [
            element.location
            for element in self.failed
            if element.kind is not ElementKind.CONTROLLER
            and element.host is None
            and not failure_of(self.topology, [element]).failed_ends <= planned.failed_ends
        ]

    def _beyond(self, plan: Plan) -> list[str]:
        names = []
        for element in self._elements(plan.failed):
            own = failure_of(self.topology, [element])
            asked = own.failed_ends <= self.failure.failed_ends
            if not (asked and own.failed_routers <= self.failure.failed_routers):
                names.append(element.location)
        for element in self._elements(plan.drained):
            drain = drain_of(self.topology, [element])
            if not (drain.ends <= self.drain.ends and drain.routers <= self.drain.routers):
                names.append(element.location)
        return names

    def _behind(self, port: PortSet | tuple[str, int]) -> list[str]:
        switch, number = (port.switch, port.port) if isinstance(port, PortSet) else port
        end = switch_router(switch, self.topology.routers), number
        if end in self.failure.failed_ends:
            return []
        return [link_element(link).location for link in self.topology.link_list if end in link.ends]

    def _elements(self, locations: str) -> tuple[Element, ...]:
        if locations == _NONE:
            return ()
        kinds = {True: ElementKind.LINK.value, False: ElementKind.SWITCH.value}
        words = [f"{kinds['-' in location]}:{location}" for location in locations.split(", ")]
        return parse_elements(",".join(words), self.topology, seed=1)


def listed(names: Sequence[str]) -> str:
    """Returns names as a comma-separated list, shortened to the first five and a count."""
    more = len(names) - _MOST_NAMED
    return ", ".join(names[:_MOST_NAMED]) + (f" and {more} more" if more > 0 else "")


def unasked_doubt(names: Sequence[str]) -> str:
    """Returns the reason to doubt a run in which the controller took links or switches out of use unasked.

    Args:
        names: locations of the links and switches.
    """
    return f"the controller took {listed(names)} out of use without a failure or drain"
