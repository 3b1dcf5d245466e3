"""Cost of a network: its routers and cables at their prices, and the power of its ports.

Cables inside racks, including those to endpoints, are electrical and have one length. Cables between racks
are optical; their length is the Manhattan distance between the racks plus an overhead. All routers of a
network have the same number of ports: the largest number that any of them needs.

Source: Slim Fly (SC14), section VI-B.
"""

from __future__ import annotations

from dataclasses import dataclass

from topology.base import Topology
from topology.costs.prices import Prices
from topology.costs.racks import links_of_racks, racks_of


@dataclass(frozen=True)
class Cost:
    """Cost of a network with its endpoints.

    Attributes:
        endpoints: number of endpoints.
        ports: k, the number of ports of each router.
        racks: number of racks.
        endpoint_cables: number of electrical cables between endpoints and routers.
        electric_cables: number of electrical cables between routers.
        optic_cables: number of optical cables.
        bundles: number of pairs of racks that are connected by optical cables.
        optic_metres: mean length of the optical cables in m; 0 without any.
        routers_cost: price of all routers, in $.
        endpoint_cables_cost: price of the cables to endpoints, in $.
        electric_cost: price of the electrical cables between routers, in $.
        optic_cost: price of the optical cables, in $.
        power: power of all routers, in W.
    """

    endpoints: int
    ports: int
    racks: int
    endpoint_cables: int
    electric_cables: int
    optic_cables: int
    bundles: int
    optic_metres: float
    routers_cost: float
    endpoint_cables_cost: float
    electric_cost: float
    optic_cost: float
    power: float

    @property
    def total(self) -> float:
        """The price of all routers and cables, in $."""
        return self.routers_cost + self.endpoint_cables_cost + self.electric_cost + self.optic_cost

    @property
    def per_endpoint(self) -> float:
        """The price of all routers and cables per endpoint, in $."""
        return self.total / self.endpoints

    @property
    def power_per_endpoint(self) -> float:
        """The power of all routers per endpoint, in W."""
        return self.power / self.endpoints


def router_ports(topology: Topology, hosts: int) -> int:
    """Returns k, the largest number of ports that any router needs.

    Args:
        topology: the graph.
        hosts: p, the number of endpoints at each router that has any, at least 1.
    """
    return int((topology.degrees + topology.host_counts(hosts)).max())


def network_cost(topology: Topology, hosts: int, prices: Prices) -> Cost:
    """Returns the cost of a network.

    Args:
        topology: the graph.
        hosts: p, the number of endpoints at each router that has any, at least 1.
        prices: the prices.
    """
    racks = racks_of(topology)
    links = links_of_racks(topology, racks)
    metres = racks.steps(links.bundles) * prices.rack + prices.overhead
    lengths = list(zip(links.links.tolist(), metres.tolist(), strict=True))
    endpoints = topology.endpoints(hosts)
    ports = router_ports(topology, hosts)
    inside = int(links.inside.sum())
    return Cost(
        endpoints=endpoints,
        ports=ports,
        racks=racks.count,
        endpoint_cables=endpoints,
        electric_cables=inside,
        optic_cables=links.between,
        bundles=len(links.bundles),
        optic_metres=sum(n * m for n, m in lengths) / max(1, links.between),
        routers_cost=topology.routers * prices.router(ports),
        endpoint_cables_cost=endpoints * prices.electric(prices.inside),
        electric_cost=inside * prices.electric(prices.inside),
        optic_cost=sum(n * prices.optic(m) for n, m in lengths),
        power=topology.routers * prices.router_power(ports),
    )
