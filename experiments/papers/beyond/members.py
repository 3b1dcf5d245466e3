"""Members of families that are comparable to a PolarFly: in router ports, in endpoints, or in cost.

There are two measures of cost: router ports, and the prices of the Slim Fly paper, which depend on cable
lengths. Members are comparable if their ports differ by at most one, or if their endpoints and costs differ
by less than a factor of two. A family without such a member is left out.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache

from experiments.papers.networks import Network, network
from experiments.papers.prices import paper_prices
from experiments.papers.sizes import members_of_family
from topology.base import Topology
from topology.costs.cost import network_cost
from topology.families.family import Member
from topology.registry import FAMILIES as ALL_FAMILIES

RADIX, ENDPOINTS = "equal ports of a router", "equal endpoints"
COST, PRICE = "equal cost of an endpoint in ports", "equal cost of an endpoint in $"
COMPARISONS = (RADIX, ENDPOINTS, COST, PRICE)
_NEAREST = 6  # candidates: members nearest in endpoints; the one nearest in cost is chosen
_TREE_LEVELS = 3
_PORTS_APART = 1
_MAX_FACTOR = 2.0  # largest factor between the endpoints, or costs, of comparable networks
# Limit for members of equal ports, as a multiple of the PolarFly's endpoints: larger simulations take hours.
_MAX_ENDPOINTS = 8


@dataclass(frozen=True)
class NetworkWithHosts:
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
        """The largest number of ports of a router."""
        graph = self.network.graph()
        return int((graph.degrees + graph.host_counts(self.hosts)).max())

    @property
    def cost(self) -> float:
        """The cost per endpoint, in router ports."""
        return cost_of_endpoint(self.network.graph(), self.hosts)

    @property
    def price(self) -> float:
        """The cost per endpoint at the prices of the Slim Fly paper, in $."""
        return _price(self)


def cost_of_endpoint(graph: Topology, hosts: int) -> float:
    """Returns the cost of a network per endpoint, in router ports.

    Args:
        graph: the network.
        hosts: endpoints at each router that has any, at least 1.
    """
    endpoints = graph.endpoints(hosts)
    return (2 * graph.links + endpoints) / endpoints


def _any(_member: Member) -> bool:
    return True


def _of_paper(member: Member) -> bool:
    """Returns whether a PolarStar's supernodes have several routers and are of a kind that its paper uses."""
    return member.params["supernode"] in ("iq", "paley") and member.params["degree"] != 0


@cache
def _price(one: NetworkWithHosts) -> float:
    return network_cost(one.network.graph(), one.hosts, paper_prices()).per_endpoint


# Family -> (member -> whether it is compared); some families have more variants than their sources describe.
_FORMS: dict[str, Callable[[Member], bool]] = {
    "polarstar": _of_paper,
    "dragonfly": lambda member: {*member.params} == {"a", "h"},
    "fat-tree": lambda member: member.params["levels"] == _TREE_LEVELS,
}
_BASE = "polarfly"
FAMILIES = (_BASE, *(name for name, entry in ALL_FAMILIES.own.items() if entry.members and name != _BASE))


@cache
def nearest_members(
    q: int, comparison: str, families: tuple[str, ...] = FAMILIES
) -> tuple[NetworkWithHosts, ...]:
    """Returns the members of families that are nearest to a PolarFly.

    The PolarFly has half as many endpoints at a router as links. Among members that are equally near in
    ports, the one with most endpoints is chosen. For equal cost, a member may have any number of hosts per
    router up to twice the number in its source. The member whose cost and endpoints differ by the smallest
    factors is chosen.

    Args:
        q: order of the PolarFly.
        comparison: one of COMPARISONS.
        families: names of families.
    """
    base = _base(q)
    found = (base if family == _BASE else _nearest(family, base, comparison) for family in families)
    return tuple(one for one in found if one)


@cache
def compared_members(q: int, comparison: str) -> tuple[NetworkWithHosts, ...]:
    """Returns the nearest members of all families that are comparable to a PolarFly.

    Args:
        q: order of the PolarFly.
        comparison: one of COMPARISONS.

    Returns:
        The PolarFly, and the members in the order of FAMILIES.
    """
    base = _base(q)
    apart = {one: _log_distance(one, base, comparison) for one in nearest_members(q, comparison)}
    return tuple(one for one, factors in apart.items() if max(factors) < math.log(_MAX_FACTOR))


def left_out(q: int, comparison: str) -> tuple[str, ...]:
    """Returns the families without a member that is comparable to a PolarFly.

    Args:
        q: order of the PolarFly.
        comparison: one of COMPARISONS.
    """
    compared = {one.network.family for one in compared_members(q, comparison)}
    return tuple(family for family in FAMILIES if family not in compared)


_COUNTED: Mapping[str, Callable[[NetworkWithHosts], float]] = {
    ENDPOINTS: lambda one: one.endpoints,
    COST: lambda one: one.cost,
    PRICE: lambda one: one.price,
}


def _members(family: str) -> list[Member]:
    return [member for member in members_of_family(family) if _FORMS.get(family, _any)(member)]


def _network_with_hosts(family: str, member: Member, hosts: int | None = None) -> NetworkWithHosts:
    label = " ".join([family, *(f"{key}={value}" for key, value in member.params.items())])
    return NetworkWithHosts(network(label, family, **member.params), hosts or member.hosts)


def _base(q: int) -> NetworkWithHosts:
    [base] = [_network_with_hosts(_BASE, one) for one in _members(_BASE) if one.params["q"] == q]
    return base


def _nearest(family: str, base: NetworkWithHosts, comparison: str) -> NetworkWithHosts | None:
    """Returns the member of a family that is nearest to a network; None if all members are too large."""
    if comparison == RADIX:
        return _of_equal_ports(family, base)
    members = sorted(_members(family), key=lambda one: _factor(one.endpoints, base.endpoints))[:_NEAREST]
    # Members with too many endpoints even at one per router go first: their graphs may be too large to build.
    members = [one for one in members if one.endpoints // one.hosts < _MAX_FACTOR * base.endpoints]
    alone = comparison == ENDPOINTS
    found = (
        [_network_with_hosts(family, one) for one in members[:1]] if alone else _with_hosts(family, members)
    )
    return min(found, key=lambda one: sum(_log_distance(one, base, comparison)), default=None)


def _log_distance(one: NetworkWithHosts, base: NetworkWithHosts, comparison: str) -> tuple[float, ...]:
    """Returns how much two networks differ: |log ratio| of the compared quantity, then of their endpoints."""
    if comparison == RADIX:
        return (0.0,)  # endpoints and cost may differ
    counted = _COUNTED[comparison]
    return _factor(counted(one), counted(base)), _factor(one.endpoints, base.endpoints)


def _of_equal_ports(family: str, base: NetworkWithHosts) -> NetworkWithHosts | None:
    """Returns the member of a family whose number of router ports is nearest to that of a network.

    The numbers may differ by one at most; otherwise the result is None. Among equally near members, the one
    with most endpoints is chosen.
    """
    members = [
        one
        for one in _members(family)
        if abs(_ports(one) - base.ports) <= _PORTS_APART and one.endpoints <= _MAX_ENDPOINTS * base.endpoints
    ]
    nearest = min(members, key=lambda one: (abs(_ports(one) - base.ports), -one.endpoints), default=None)
    return _network_with_hosts(family, nearest) if nearest else None


def _ports(member: Member) -> int:
    """Returns the largest number of ports of a member's routers, by formula, without building its graph.

    In trees, switches without hosts have the most ports, so hosts are not added there.
    """
    return member.radix + (member.hosts if member.hosting is None else 0)


def _with_hosts(family: str, members: Iterable[Member]) -> Iterator[NetworkWithHosts]:
    for member in members:
        for hosts in range(1, 2 * member.hosts + 1):
            yield _network_with_hosts(family, member, hosts)


def _factor(one: float, other: float) -> float:
    """Returns the absolute logarithm of the ratio of two numbers: 0 if they are equal."""
    return abs(math.log(one / other))
