"""Port numbers as data: those by default, those that are given, and what reads them."""

import json
import pickle

import pytest
from support.builders.graphs import FABRICS
from support.builders.leaf_spine import LeafSpine
from support.builders.port_tables import with_shuffled_ports

from experiments.theory.export import FORMATS
from topology.drains import drain_named
from topology.errors import ParameterError
from topology.failures import failure_of
from topology.families.low_diameter.polarfly import PolarFly
from topology.faults import parse_components
from topology.networkx_graphs import to_networkx
from topology.shortest_paths import connected_components


@pytest.fixture
def leaf_spine():
    """Three leaves of two hosts and two spines, whose ports are given; its links have been listed before."""
    topology = LeafSpine(leaves=3, spines=2)
    assert topology.link_list[0].ends == ((0, 1), (3, 1))
    links = [[9, 4], [2, 30], [4095, 1], [5, 6, 7], [3, 2, 1]]
    return topology.with_ports(links, [[1, 2], [65279, 1], [2, 3], [], []])


def test_the_ends_of_links_have_the_ports_that_are_given(leaf_spine):
    ends = [link.ends for link in leaf_spine.link_list]
    assert ends == [
        ((0, 9), (3, 5)),
        ((0, 4), (4, 3)),
        ((1, 2), (3, 6)),
        ((1, 30), (4, 2)),
        ((2, 4095), (3, 7)),
        ((2, 1), (4, 1)),
    ]
    assert leaf_spine.ports_toward(1, [4, 3]).tolist() == [30, 2]
    assert leaf_spine.minimal_ports(0) == [(), (9, 4), (9, 4), (9,), (4,)]
    assert [leaf_spine.host_port(router, host) for router, host in ((0, 1), (1, 0), (2, 1))] == [2, 65279, 3]


def test_the_topology_before_keeps_its_ports():
    before = FABRICS["two links and no more"]()
    before.with_ports([[8, 3], [1, 5]], [[1], [2]])
    assert before.given_ports is None
    assert [link.ends for link in before.link_list] == [((0, 1), (1, 1)), ((0, 2), (1, 2))]


def test_ports_travel_with_their_topology(leaf_spine):
    there = pickle.loads(pickle.dumps(leaf_spine))
    assert there.link_list == leaf_spine.link_list
    assert there.router_ports(2, 2) == leaf_spine.router_ports(2, 2) == ([4095, 1], [2, 3])


def test_parallel_links_have_ports_of_their_own():
    topology = FABRICS["two links and no more"]().with_ports([[8, 3], [1, 5]], [[1], [2]])
    assert [(link.ends, link.copy) for link in topology.link_list] == [
        (((0, 8), (1, 1)), 1),
        (((0, 3), (1, 5)), 2),
    ]
    assert topology.minimal_ports(0)[1] == (8, 3)


def test_failures_and_drains_name_given_ports(leaf_spine):
    [link] = parse_components("link:s2-s5", leaf_spine, 1)
    assert failure_of(leaf_spine, [link]).failed_ports(1) == {30}
    assert drain_named(leaf_spine, ["s5"]).ports(leaf_spine, 1) == {30}
    alone = failure_of(leaf_spine, parse_components("switch:s4,link:s2-s5", leaf_spine, 1))
    assert connected_components(leaf_spine, alone) == [0, 1, 0, 2, 0]


def test_exports_have_given_ports(leaf_spine):
    exported = json.loads(FORMATS["json"](leaf_spine, 2))
    assert exported["links"][0] == [0, 3, 9, 5]
    assert to_networkx(leaf_spine).edges[1, 4] == {"port_a": 30, "port_b": 2}


@pytest.mark.parametrize("fabric", ["slimfly 3", "a ring with one link twice"])
def test_a_link_is_found_by_its_port(fabric):
    topology = with_shuffled_ports(FABRICS[fabric](), 2)
    for link in topology.link_list:
        a, b = (topology.link_numbers[end] for end in link.ends)
        assert (topology.reverse_links[a], topology.reverse_links[b]) == (b, a)
        assert topology.adjacency.neighbours[a] == link.b


@pytest.mark.parametrize(
    ("links", "hosts", "named"),
    [
        ([[1, 2]], [[3], [3]], "links .* got 1"),
        ([[1, 2], [1, 2]], [[3]], "hosts .* got 1"),
        ([[1, 2], [1]], [[3], [3]], "s2 .* got 1"),
        ([[1, 4096], [1, 2]], [[3], [3]], "s1 .* 1 to 4095, got 4096"),
        ([[1, 2], [1, 2]], [[3], [0]], "s2 .* 1 to 65279, got 0"),
        ([[1, 2], [1, 2.0]], [[3], [3]], "s2 .* 1 to 4095, got 2.0"),
        ([[1, 2], [7, 7]], [[3], [3]], "s2 .* got 7 twice"),
        ([[1, 2], [7, 8]], [[3], [4, 8]], "s2 .* got 8 twice"),
    ],
)
def test_what_no_switch_can_have_is_refused(links, hosts, named):
    with pytest.raises(ParameterError, match=named):
        FABRICS["two links and no more"]().with_ports(links, hosts)


def test_each_host_needs_a_port():
    topology = PolarFly(2)
    given = topology.with_ports([topology.link_ports(r).tolist() for r in range(7)], [[9]] * 7)
    assert given.host_port(3, 0) == 9
    with pytest.raises(ParameterError, match="h4_2"):
        given.host_port(3, 1)
