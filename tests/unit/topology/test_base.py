"""Topologies in general, on a small graph with parallel links and on one with hosts at some routers only."""

from types import MappingProxyType

import numpy as np
import pytest
from support.builders.leaf_spine import LeafSpine

from topology.base import Adjacency, Link, Topology


class DoubledPath(Topology):
    """Three routers in a row; the first two are joined twice."""

    name = "doubled-path"
    params = MappingProxyType({})

    @property
    def adjacency(self):
        return Adjacency(np.array([0, 2, 5, 6]), np.array([1, 1, 0, 0, 2, 1], np.int32))

    def next_hops(self, sources, destinations):
        s, d = np.broadcast_arrays(sources, destinations)
        return np.where(abs(s - d) == 2, 1, d).astype(np.int32)

    def distances(self, sources, destinations):
        return np.abs(np.asarray(sources) - np.asarray(destinations)).astype(np.int8)

    def pairs_by_distance(self):
        return {1: 4, 2: 2}


@pytest.fixture
def path() -> DoubledPath:
    return DoubledPath()


def test_sizes_follow_from_the_neighbour_lists(path):
    assert path.routers == 3
    assert path.links == 3
    assert path.degrees.tolist() == [2, 3, 1]
    assert path.network_radix == 3
    assert path.diameter == 2
    assert path.average_path_length == pytest.approx(8 / 6)


def test_moore_efficiency_compares_with_the_bound_of_radix_and_diameter(path):
    assert path.moore_efficiency == pytest.approx(3 / 10)


def test_parallel_links_are_paired_in_order_of_their_ports(path):
    assert path.link_list == (Link(0, 1, 1, 1, 1), Link(0, 1, 2, 2, 2), Link(1, 2, 3, 1))


def test_port_toward_a_doubled_neighbour_is_the_first(path):
    assert path.ports_toward(1, [0, 2]).tolist() == [1, 3]


def test_host_ports_come_after_the_fabric_ports(path):
    assert [path.host_port(router, 0) for router in range(3)] == [3, 4, 2]
    assert path.host_port(1, 5) == 9


def test_hosts_may_be_at_some_routers_only():
    leaf_spine = LeafSpine(leaves=4, spines=2)
    assert leaf_spine.host_counts(3).tolist() == [3, 3, 3, 3, 0, 0]
    assert leaf_spine.endpoints(3) == 12
    assert [leaf_spine.host_port(leaf, host) for leaf in (0, 3) for host in (0, 2)] == [3, 5, 3, 5]
    assert leaf_spine.degrees.tolist() == [2, 2, 2, 2, 4, 4]


def test_every_router_is_a_destination_whether_it_has_hosts_or_not():
    leaf_spine = LeafSpine(leaves=4, spines=2)
    for router in range(6):
        blocks = list(leaf_spine.destination_blocks(router))
        assert [other for block in blocks for other in block.routers] == [r for r in range(6) if r != router]
        assert len(blocks) <= leaf_spine.next_hop_rules


def test_all_next_hops_equal_the_next_hops_of_single_pairs(path):
    assert path.all_next_hops().tolist() == [[0, 1, 1], [0, 1, 2], [1, 1, 2]]


def test_address_number_is_the_index_unless_a_family_numbers_otherwise(path):
    assert [path.address_number(router) for router in range(3)] == [0, 1, 2]
