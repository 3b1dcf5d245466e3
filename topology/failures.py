"""Failures: sets of links and routers that do not work, of one link, one switch, or any elements."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from topology.addressing import switch_name
from topology.base import Topology
from topology.faults import Element, ElementKind, link_element


@dataclass(frozen=True)
class Failure:
    """The links and routers that have failed in one scenario.

    Attributes:
        name: a name for messages, as `link s1-s7`; `none` if nothing has failed.
        failed_ends: (router, port) of both ends of every failed link, those of failed routers included.
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
    """Yields the failure of every single link.

    Args:
        topology: the graph of routers.

    Yields:
        One failure per link, in the order of `Topology.link_list`.
    """
    for link in topology.link_list:
        yield Failure(f"link {link_element(link).location}", frozenset(link.ends))


def switch_failures(topology: Topology) -> Iterator[Failure]:
    """Yields the failure of every single switch, of all its links and of its hosts' attachment.

    Args:
        topology: the graph of routers.

    Yields:
        One failure per router, ascending.
    """
    for router in range(topology.routers):
        links = [link for link in topology.link_list if router in (link.a, link.b)]
        ends = frozenset(end for link in links for end in link.ends)
        yield Failure(f"switch {switch_name(router)}", ends, frozenset({router}))


# Failures, one at a time, that a proof goes over.
SCENARIOS: Mapping[str, Callable[[Topology], Iterable[Failure]]] = {
    "none": lambda _topology: (),
    "links": link_failures,
    "switches": switch_failures,
}


def failure_of(topology: Topology, elements: Iterable[Element]) -> Failure:
    """Returns the failure of several elements of a fabric together.

    Args:
        topology: the graph of routers.
        elements: links and switches; a switch that hangs has failed like one without power, and the
            controller, which forwards no packets, is left out.

    Returns:
        One failure, named by its elements.
    """
    elements = [element for element in elements if element.kind is not ElementKind.CONTROLLER]
    routers = frozenset(e.routers[0] for e in elements if e.kind is not ElementKind.LINK)
    failed = [link for link in topology.link_list if any(element.covers(link) for element in elements)]
    ends = frozenset(end for link in failed for end in link.ends)
    return Failure(", ".join(element.name for element in elements) or "none", ends, routers)
