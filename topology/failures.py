"""Failures: sets of links and routers that do not work."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from topology.addressing import switch_name
from topology.base import Topology
from topology.faults import Component, ComponentKind, link_component


@dataclass(frozen=True)
class Failure:
    """The links and routers that have failed in one scenario.

    Attributes:
        name: a name for messages, such as `link s1-s7`; `none` if nothing has failed.
        failed_ends: (router, port) of both ends of every failed link, including the links of failed routers.
        failed_routers: the routers that have failed; their hosts are cut off.
    """

    name: str = "none"
    failed_ends: frozenset[tuple[int, int]] = frozenset()
    failed_routers: frozenset[int] = frozenset()

    @property
    def any_failed(self) -> bool:
        """Whether a link or a router has failed."""
        return bool(self.failed_ends or self.failed_routers)

    def failed_ports(self, router: int) -> frozenset[int]:
        """Returns the ports of a router whose links have failed.

        Args:
            router: the index of the router.

        Returns:
            Port numbers.
        """
        return self._failed_ports.get(router, frozenset())

    @cached_property
    def _failed_ports(self) -> dict[int, frozenset[int]]:
        ports: dict[int, set[int]] = {}
        for router, port in self.failed_ends:
            ports.setdefault(router, set()).add(port)
        return {router: frozenset(failed) for router, failed in ports.items()}


NO_FAILURE = Failure()


def link_failures(topology: Topology) -> Iterator[Failure]:
    """Yields one failure for each link.

    Args:
        topology: the graph of routers.

    Yields:
        One failure per link, in the order of `Topology.link_list`.
    """
    for link in topology.link_list:
        yield Failure(f"link {link_component(link).location}", frozenset(link.ends))


def switch_failures(topology: Topology) -> Iterator[Failure]:
    """Yields one failure for each switch: the switch, all its links, and the attachment of its hosts.

    Args:
        topology: the graph of routers.

    Yields:
        One failure per router, ascending.
    """
    for router in range(topology.routers):
        links = [link for link in topology.link_list if router in (link.a, link.b)]
        ends = frozenset(end for link in links for end in link.ends)
        yield Failure(f"switch {switch_name(router)}", ends, frozenset({router}))


# Named sets of failures that a proof iterates over, one failure at a time.
SCENARIOS: Mapping[str, Callable[[Topology], Iterable[Failure]]] = {
    "none": lambda _topology: (),
    "links": link_failures,
    "switches": switch_failures,
}


def failure_of(topology: Topology, components: Iterable[Component]) -> Failure:
    """Returns the combined failure of several components of a fabric.

    Args:
        topology: the graph of routers.
        components: links and switches; a hung switch counts as failed like one without power. The controller
            is ignored, because it forwards no packets.

    Returns:
        One failure, named after its components.
    """
    components = [component for component in components if component.kind is not ComponentKind.CONTROLLER]
    routers = frozenset(e.routers[0] for e in components if e.kind is not ComponentKind.LINK)
    failed = [link for link in topology.link_list if any(component.covers(link) for component in components)]
    ends = frozenset(end for link in failed for end in link.ends)
    return Failure(", ".join(component.name for component in components) or "none", ends, routers)
