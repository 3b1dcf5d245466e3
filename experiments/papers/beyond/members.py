"""Members of families that are about equal to a PolarFly: in ports of a router, in endpoints, or in cost.

Cost is counted twice: in ports of routers, and by the prices of the Slim Fly paper, which have the lengths of
cables.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache

from experiments.papers.networks import Network, network
from experiments.papers.prices import paper_prices
from experiments.papers.sizes import members_of_family
from topology.base import Topology
from topology.costs.cost import network_cost
from topology.families.family import Member

RADIX, ENDPOINTS = "equal ports of a router", "equal endpoints"
COST, PRICE = "equal cost of an endpoint in ports", "equal cost of an endpoint in $"
COMPARISONS = (RADIX, ENDPOINTS, COST, PRICE)
_NEAREST = 6  # members by endpoints, of which that of equal cost is taken
_TREE_LEVELS = 3


@dataclass(frozen=True)
class Attached:
    """A network with endpoints.

    Attributes:
        network: the network.
        hosts: endpoints at each router that has any.
    """

    network: Network
    hosts: int

    @property
    def endpoints(self) -> int:
        """The number of endpoints."""
        return self.network.graph().endpoints(self.hosts)

    @property
    def ports(self) -> int:
        """The ports of the router that has most."""
        graph = self.network.graph()
        return int((graph.degrees + graph.host_counts(self.hosts)).max())

    @property
    def cost(self) -> float:
        """The cost of an endpoint, in ports of routers."""
        return cost_of_endpoint(self.network.graph(), self.hosts)

    @property
    def price(self) -> float:
        """The cost of an endpoint by the prices of the Slim Fly paper, in $."""
        return _price(self)


def cost_of_endpoint(graph: Topology, hosts: int) -> float:
    """Returns the cost of a network over its endpoints, in ports of its routers.

    Args:
        graph: the network.
        hosts: endpoints at each router that has any, at least 1.
    """
    endpoints = graph.endpoints(hosts)
    return (2 * graph.links + endpoints) / endpoints


def _any(_member: Member) -> bool:
    return True


def _of_paper(member: Member) -> bool:
    """Returns whether a PolarStar has a supernode of its paper's, of more than one router."""
    return member.params["supernode"] in ("iq", "paley") and member.params["degree"] != 0


@cache
def _price(one: Attached) -> float:
    return network_cost(one.network.graph(), one.hosts, paper_prices()).per_endpoint


# Family -> whether a member is compared: those of the forms that the sources describe.
_FORMS: dict[str, Callable[[Member], bool]] = {
    "polarfly": _any,
    "slimfly": _any,
    "polarstar": _of_paper,
    "dragonfly": lambda member: {*member.params} == {"a", "h"},
    "hyperx": _any,
    "fat-tree": lambda member: member.params["levels"] == _TREE_LEVELS,
    "jellyfish": _any,
}
FAMILIES = tuple(_FORMS)


@cache
def compared_members(q: int, comparison: str) -> tuple[Attached, ...]:
    """Returns a member of each family that is about equal to a PolarFly with half its radix of endpoints.

    Of the members with the nearest number of ports it is that with most endpoints. Equal in cost is the
    member, with any number of hosts at a router up to twice the source's, whose cost and number of endpoints
    differ by the least factors.

    Args:
        q: order of the PolarFly.
        comparison: one of COMPARISONS.
    """
    [base] = [_attached("polarfly", one) for one in _members("polarfly") if one.params["q"] == q]
    return base, *(_nearest(family, base, comparison) for family in FAMILIES[1:])


def _members(family: str) -> list[Member]:
    return [member for member in members_of_family(family) if _FORMS[family](member)]


def _attached(family: str, member: Member, hosts: int | None = None) -> Attached:
    label = " ".join([family, *(f"{key}={value}" for key, value in member.params.items())])
    return Attached(network(label, family, **member.params), hosts or member.hosts)


def _nearest(family: str, base: Attached, comparison: str) -> Attached:
    """Returns the member of a family that is nearest to a network."""
    members = _members(family)
    if comparison == RADIX:
        nearest = min(members, key=lambda one: (abs(_ports(one) - base.ports), -one.endpoints))
        return _attached(family, nearest)
    members.sort(key=lambda one: _factor(one.endpoints, base.endpoints))
    if comparison == ENDPOINTS:
        return _attached(family, members[0])
    counted: Callable[[Attached], float] = _price if comparison == PRICE else lambda one: one.cost
    return min(
        _with_hosts(family, members[:_NEAREST]),
        key=lambda one: _factor(counted(one), counted(base)) + _factor(one.endpoints, base.endpoints),
    )


def _ports(member: Member) -> int:
    """Returns the ports of a router by formulas; a tree's switches have most where no hosts are."""
    return member.radix + (member.hosts if member.hosting is None else 0)


def _with_hosts(family: str, members: Iterable[Member]) -> Iterator[Attached]:
    for member in members:
        for hosts in range(1, 2 * member.hosts + 1):
            yield _attached(family, member, hosts)


def _factor(one: float, other: float) -> float:
    """Returns the logarithm of the factor between two numbers, at least 0."""
    return abs(math.log(one / other))
