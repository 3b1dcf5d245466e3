"""Costs: racks and cables of a graph, and the costs of members of families."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from topology.addressing import switch_name
from topology.analysis.bisection import bisect, search_remark
from topology.base import Topology
from topology.costs.cost import network_cost
from topology.costs.prices import Prices
from topology.costs.racks import links_of_racks, racks_of

__all__ = ["MemberCosts", "member_costs", "prices_from", "rack_numbers", "search_remark"]

# Number of searches for a bisection -> largest number of routers of graphs that get so many searches. Without
# METIS, searches in large graphs take long.
_SEARCHES = {8: 1000, 2: 4000, 1: 1 << 14}


@dataclass(frozen=True)
class MemberCosts:
    """Costs of a member of a family.

    Attributes:
        bisection: share of the links cut by the best bisection that a few searches found.
        cables: number of pairs of racks with links between them; each pair has one bundle of cables.
        cost_per_endpoint: price of routers and cables for each host, in $.
    """

    bisection: float
    cables: int
    cost_per_endpoint: float


def member_costs(topology: Topology, hosts: int, prices: Prices) -> MemberCosts:
    """Returns the costs of a member of a family.

    Args:
        topology: the graph of the member.
        hosts: hosts attached to each router that has any.
        prices: prices of routers and cables.
    """
    searches = next(number for number, most in _SEARCHES.items() if topology.routers <= most)
    cost = network_cost(topology, hosts, prices)
    return MemberCosts(round(bisect(topology, searches).share, 6), cost.bundles, round(cost.per_endpoint, 2))


def prices_from(path: Path | str | None) -> Prices:
    """Returns the prices of a file.

    Args:
        path: the file; None for the prices of the Slim Fly paper.

    Raises:
        ParameterError: the file cannot be read, or its prices are not complete and within their domains.
    """
    from experiments.papers.prices import paper_prices, read_prices

    if path is None:
        return paper_prices()
    return read_prices(Path(path))


def rack_numbers(topology: Topology) -> Mapping[str, Any]:
    """Returns the racks of a graph and the links between them, with the keys of `polarlab topology --json`.

    Args:
        topology: the graph.

    Returns:
        Key -> value. The totals are the numbers of racks, of rows and columns on the floor, of links inside
        and between racks, and of pairs of racks with links between them (`cables`). `each` has an entry per
        rack, numbered from 1 along the rows. `bundles` has an entry per pair of racks with links.
    """
    racks = racks_of(topology)
    links = links_of_racks(topology, racks)
    _, firsts = np.unique(racks.rack_of, return_index=True)
    lists = (racks.sizes.tolist(), firsts.tolist(), links.inside.tolist())
    each = [
        {"rack": rack, "routers": routers, "first": switch_name(first), "links": inside}
        for rack, (routers, first, inside) in enumerate(zip(*lists, strict=True), 1)
    ]
    joined = zip(links.bundles.tolist(), links.links.tolist(), strict=True)
    return {
        "count": racks.count,
        "rows": racks.rows,
        "columns": racks.columns,
        "links_inside": int(links.inside.sum()),
        "links_between": links.between,
        "cables": len(links.bundles),
        "each": each,
        "bundles": [{"racks": [a + 1, b + 1], "links": number} for (a, b), number in joined],
    }
