"""What can be broken in a fabric: nothing, single links, single switches."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from topology.addressing import switch_name
from topology.graph import Link, Topology


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
        return frozenset(port for where, port in self.dead_ends if where == router)


NO_FAILURE = Failure()


def link_failures(topology: Topology) -> Iterator[Failure]:
    """Yields the failure of every single link."""
    for link in topology.link_list:
        name = f"link {switch_name(link.a)}-{switch_name(link.b)}"
        yield Failure(name, frozenset(_ends(link)))


def switch_failures(topology: Topology) -> Iterator[Failure]:
    """Yields the failure of every single switch: its links are dead, its hosts cut off."""
    for router in range(topology.routers):
        links = [link for link in topology.link_list if router in (link.a, link.b)]
        ends = frozenset(end for link in links for end in _ends(link))
        yield Failure(f"switch {switch_name(router)}", ends, frozenset({router}))


def _ends(link: Link) -> tuple[tuple[int, int], tuple[int, int]]:
    return (link.a, link.port_a), (link.b, link.port_b)
