"""What can be broken in a fabric: nothing, single links, single switches."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from topology.addressing import switch_name
from topology.base import Topology
from topology.faults import Element, Kind, link_element


@dataclass(frozen=True)
class Failure:
    """What is broken in one scenario: links, by their (router, port) at both ends, and routers."""

    name: str = "none"
    dead_ends: frozenset[tuple[int, int]] = frozenset()
    dead_routers: frozenset[int] = frozenset()

    @property
    def breaks_something(self) -> bool:
        """Whether anything is broken at all."""
        return bool(self.dead_ends or self.dead_routers)

    def dead_ports(self, router: int) -> frozenset[int]:
        """Returns the ports of a router that are down."""
        return self._dead_ports.get(router, frozenset())

    @cached_property
    def _dead_ports(self) -> dict[int, frozenset[int]]:
        ports: dict[int, set[int]] = {}
        for router, port in self.dead_ends:
            ports.setdefault(router, set()).add(port)
        return {router: frozenset(dead) for router, dead in ports.items()}


NO_FAILURE = Failure()


def link_failures(topology: Topology) -> Iterator[Failure]:
    """Yields the failure of every single link."""
    for link in topology.link_list:
        yield Failure(f"link {link_element(link).place}", frozenset(link.ends))


def switch_failures(topology: Topology) -> Iterator[Failure]:
    """Yields the failure of every single switch: its links are dead, its hosts cut off."""
    for router in range(topology.routers):
        links = [link for link in topology.link_list if router in (link.a, link.b)]
        ends = frozenset(end for link in links for end in link.ends)
        yield Failure(f"switch {switch_name(router)}", ends, frozenset({router}))


def failure_of(topology: Topology, elements: Iterable[Element]) -> Failure:
    """Returns the failure of some links and switches; a switch that hangs is as dead as any."""
    elements = [element for element in elements if element.kind is not Kind.CONTROLLER]
    routers = frozenset(e.routers[0] for e in elements if e.kind is not Kind.LINK)
    dead = [link for link in topology.link_list if any(element.covers(link) for element in elements)]
    ends = frozenset(end for link in dead for end in link.ends)
    return Failure(", ".join(element.name for element in elements) or "none", ends, routers)


def parts(topology: Topology, failure: Failure) -> list[int]:
    """Returns, for each router, the number of the part of the fabric that a failure leaves it in.

    Routers of different parts cannot reach each other by any routing; dead ones are each a part.
    """
    part = [-1] * topology.routers
    number = 0
    for first in range(topology.routers):
        if part[first] >= 0:
            continue
        waiting = [first]
        part[first] = number
        while waiting:
            router = waiting.pop()
            dead = failure.dead_ports(router)
            for port, neighbour in enumerate(topology.neighbours(router).tolist(), start=1):
                if part[neighbour] < 0 and port not in dead:
                    part[neighbour] = number
                    waiting.append(neighbour)
        number += 1
    return part
