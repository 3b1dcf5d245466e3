"""Shares of traffic: as the groups of the plan split it, between the routers that have hosts."""

import numpy as np
import pytest
from support.builders.leaf_spine import LeafSpine

from routing.registry import make_plan
from routing.verification.traffic_split import TrafficSplit, traffic_split
from topology.families.low_diameter.polarfly import PolarFly


def link_loads(split: TrafficSplit, source: int, destination: int, links: int) -> np.ndarray:
    """The share of a pair's packets that cross each directed link; all of them must be delivered."""
    flow = np.zeros(split.states)
    flow[split.starts[source, destination]] = 1
    loads, delivered = np.zeros(links), 0.0
    while flow.any():
        delivered += flow @ split.delivered
        moved = split.shares * flow[split.origins]
        loads += np.bincount(split.links, moved, links)
        flow = np.bincount(split.targets, moved, split.states)
    assert delivered == pytest.approx(1)
    return loads


class UnevenLeaves(LeafSpine):
    """A leaf-spine fabric whose leaves have 1, 2, 3, ... hosts, at most p."""

    def host_counts(self, hosts_per_router: int) -> np.ndarray:
        return np.minimum(super().host_counts(hosts_per_router), np.arange(self.routers) + 1)


@pytest.mark.parametrize("hosts", [1, 3])
@pytest.mark.parametrize("topology", [LeafSpine(4, 2), UnevenLeaves(4, 2)])
def test_every_pair_of_routers_with_hosts_is_split_and_no_other(topology, hosts):
    split = traffic_split(make_plan(topology, hosts, "min"))
    leaf = np.arange(topology.routers) < topology.leaves
    expected = leaf[:, None] & leaf & ~np.eye(topology.routers, dtype=bool)
    assert np.array_equal(split.starts >= 0, expected)


def test_packets_of_a_leaf_are_split_evenly_over_the_spines():
    topology = LeafSpine(4, 2)
    split = traffic_split(make_plan(topology, 2, "min"))
    for source, destination in np.argwhere(split.starts >= 0).tolist():
        loads = link_loads(split, source, destination, 2 * topology.links)
        # Up to both spines, and down from both of them.
        assert loads.sum() == pytest.approx(2)
        assert sorted(loads[loads > 0].tolist()) == pytest.approx([0.5] * 4)


def test_minimal_paths_take_as_many_links_as_the_pair_is_apart():
    topology = PolarFly(3)
    split = traffic_split(make_plan(topology, 2, "min"))
    for source, destination in np.argwhere(split.starts >= 0).tolist():
        loads = link_loads(split, source, destination, 2 * topology.links)
        assert loads.sum() == topology.distances(source, destination)
