"""Links and switches that a controller keeps packets from though nobody failed, drained or scheduled them."""

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
    """What a controller's plan is for, in the words of its reports.

    Attributes:
        failed, drained: locations of the elements that it avoids, as `s1-s7, s4`; `none` for none.
    """

    failed: str
    drained: str


@dataclass(frozen=True)
class Asked:
    """Elements that were failed or drained on purpose.

    Attributes:
        topology: the graph of routers.
        failed: elements that have failed, or are scheduled to.
        drained: elements that are drained, or are scheduled to be.
    """

    topology: Topology
    failed: tuple[Element, ...]
    drained: tuple[Element, ...] = ()

    @cached_property
    def failure(self) -> Failure:
        """The failure of elements between switches."""
        return failure_of(self.topology, (element for element in self.failed if element.host is None))

    @cached_property
    def drain(self) -> Drain:
        """The drain."""
        return drain_of(self.topology, self.drained)

    def beyond(self, plans: Iterable[Plan], ports: Iterable[PortSet | tuple[str, int]] = ()) -> list[str]:
        """Returns the locations of what plans avoid, or ports lead to, though it was not asked for.

        Args:
            plans: plans of the controller.
            ports: ports, as name of the switch and number, that the controller has set down or up.
        """
        names = [name for plan in plans for name in self._beyond(plan)]
        names += [name for port in ports for name in self._behind(port)]
        return list(dict.fromkeys(names))

    def lacking(self, plan: Plan) -> list[str]:
        """Returns the locations of the failed elements that a plan does not avoid."""
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
    """Returns some names in a line, the first few of many."""
    more = len(names) - _MOST_NAMED
    return ", ".join(names[:_MOST_NAMED]) + (f" and {more} more" if more > 0 else "")


def unasked_doubt(names: Sequence[str]) -> str:
    """Returns the reason not to trust a run in which the controller took elements out of use unasked.

    Args:
        names: locations of the elements.
    """
    return f"the controller took {listed(names)} out of use, which had not failed and was not scheduled to"
