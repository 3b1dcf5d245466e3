"""What can be broken in a fabric: nothing, single links, single switches."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from topology.addressing import switch_name
from topology.base import Topology
from topology.faults import Element, ElementKind, link_element


@dataclass(frozen=True)
class Failure:
    """What is broken in one scenario: links, by their (router, port) at both ends, and routers."""

    name: str = "none"
    failed_ends: frozenset[tuple[int, int]] = frozenset()
    failed_routers: frozenset[int] = frozenset()

    @property
    def any_failed(self) -> bool:
        """Whether anything is broken at all."""
        return bool(self.failed_ends or self.failed_routers)

    def failed_ports(self, router: int) -> frozenset[int]:
        """Returns the ports of a router that are down."""
        return self._failed_ports.get(router, frozenset())

    @cached_property
    def _failed_ports(self) -> dict[int, frozenset[int]]:
        ports: dict[int, set[int]] = {}
        for router, port in self.failed_ends:
            ports.setdefault(router, set()).add(port)
        return {router: frozenset(dead) for router, dead in ports.items()}


NO_FAILURE = Failure()


def link_failures(topology: Topology) -> Iterator[Failure]:
    """Yields the failure of every single link."""
    for link in topology.link_list:
        yield Failure(f"link {link_element(link).location}", frozenset(link.ends))


def switch_failures(topology: Topology) -> Iterator[Failure]:
    """Yields the failure of every single switch: its links are dead, its hosts cut off."""
    for router in range(topology.routers):
        links = [link for link in topology.link_list if router in (link.a, link.b)]
        ends = frozenset(end for link in links for end in link.ends)
        yield Failure(f"switch {switch_name(router)}", ends, frozenset({router}))


def failure_of(topology: Topology, elements: Iterable[Element]) -> Failure:
    """Returns the failure of some links and switches; a switch that hangs is as dead as any."""
    elements = [element for element in elements if element.kind is not ElementKind.CONTROLLER]
    routers = frozenset(e.routers[0] for e in elements if e.kind is not ElementKind.LINK)
    dead = [link for link in topology.link_list if any(element.covers(link) for element in elements)]
    ends = frozenset(end for link in dead for end in link.ends)
    return Failure(", ".join(element.name for element in elements) or "none", ends, routers)
