"""Graphs of networkx: exact round trips, graphs of users, and graphs that no fabric can have."""

import networkx as nx
import numpy as np
import pytest
from support.builders.leaf_spine import LeafSpine

from polarlab.cli.parser import parse
from routing.plan.digest import plan_digest
from routing.registry import make_plan
from topology.addressing import hosts_of
from topology.errors import ParameterError
from topology.families.graph_file import GraphFile
from topology.networkx_graphs import from_graphml, from_networkx
from topology.registry import FAMILIES, make_topology

MEMBERS = {
    "polarfly": {"q": 5},
    "polarstar": {"q": 2, "supernode": "iq", "degree": 3},
    "slimfly": {"q": 5},
    "bundlefly": {"q": 3, "degree": 2},
    "spectralfly": {"p": 3, "q": 5},
    "delorme": {"q": 2},
    "jellyfish": {"routers": 12, "degree": 3},
    "xpander": {"degree": 3, "lift": 4},
    "dln": {"routers": 12, "shortcuts": 2},
    "dragonfly": {"h": 1, "local": "2x2", "arrangement": "random"},
    "dragonfly3": {"a": 2, "h2": 1, "h3": 1},
    "fat-tree": {"arity": 2, "levels": 3},
    "megafly": {"rho": 1, "a": 4},
    "orthogonal-fat-tree": {"q": 2},
    "multi-layer-full-mesh": {"h": 3, "layers": 2},
    "tree": {"depth": 3, "fanout": 2},
    "hyperx": {"shape": "3x4"},
    "torus": {"shape": "2x3x4"},
    "hypercube": {"dimension": 3},
    "long-hop": {"dimension": 3},
    "graph": {"from": "examples/torus-3x3.edges"},
}


def member(family):
    """Returns a small member of a family, or the one of its example."""
    if family in MEMBERS:
        return make_topology(family, MEMBERS[family])
    return parse(["topology", *FAMILIES[family].example.split()]).experiment.topology


def same_graph(one, other, hosts=1):
    """Returns whether routers, ports, hosts and clusters are the same."""
    return (
        np.array_equal(one.adjacency.starts, other.adjacency.starts)
        and np.array_equal(one.adjacency.neighbours, other.adjacency.neighbours)
        and one.link_list == other.link_list
        and np.array_equal(one.host_counts(hosts), other.host_counts(1))
        and one.clusters() == other.clusters()
        and one.labels == other.labels
    )


@pytest.mark.parametrize("family", sorted(FAMILIES))
@pytest.mark.parametrize("hosts", [1, 3])
def test_a_topology_comes_back_as_it_was(family, hosts):
    topology = member(family)
    assert same_graph(topology, from_networkx(topology.to_networkx(hosts)), hosts)


@pytest.mark.parametrize("family", sorted(FAMILIES))
def test_a_topology_comes_back_from_its_text(family):
    topology = from_networkx(member(family).to_networkx(2))
    again = from_graphml(topology.graphml)
    assert same_graph(topology, again)
    assert (again.graphml, again.file_name) == (topology.graphml, topology.file_name)


def test_parallel_links_hosts_and_names_come_back_from_the_text():
    graph = nx.MultiGraph([("a ü", "b"), ("a ü", "b"), ("b", "c")])
    graph.nodes["b"].update(hosts=0, group="<1>")
    topology = from_networkx(graph)
    assert same_graph(topology, from_graphml(topology.graphml))


def test_files_of_different_graphs_have_different_names():
    graphs = [nx.cycle_graph(4), nx.complete_graph(4), nx.relabel_nodes(nx.cycle_graph(4), str)]
    graphs.append(nx.cycle_graph(4))
    graphs[-1].nodes[0]["hosts"] = 2
    names = [from_networkx(graph).file_name for graph in (*graphs, nx.cycle_graph(4))]
    assert len(set(names)) == 4
    assert names[0] == names[-1]


@pytest.mark.parametrize("text", ["", "a b", "<graphml/>", "<graphml", "<a/>"])
def test_a_text_that_is_no_graph_is_refused_in_one_line(text):
    with pytest.raises(ParameterError) as refused:
        from_graphml(text)
    assert "\n" not in str(refused.value)


def test_routers_without_hosts_come_back_without_hosts():
    leaf_spine = LeafSpine(4, 2)
    assert same_graph(leaf_spine, from_networkx(leaf_spine.to_networkx(2)), 2)


def test_attributes_of_nodes_and_links():
    topology = make_topology("polarfly", {"q": 3})
    graph = topology.to_networkx(2)
    assert list(graph) == list(range(13))
    assert (graph.nodes[4]["name"], graph.nodes[4]["hosts"]) == ("s5", 2)
    for a, b, ports in graph.edges(data=True):
        assert a < b
        assert topology.neighbours(a)[ports["port_a"] - 1] == b
        assert topology.neighbours(b)[ports["port_b"] - 1] == a
    assert graph.graph["name"] == "polarfly"
    assert graph.graph["q"] == 3
    members = topology.clusters().members
    assert [graph.nodes[router]["group"] for router in members[1]] == [1] * len(members[1])


def test_parallel_links_are_a_multigraph_and_come_back():
    graph = nx.MultiGraph([("a", "b"), ("a", "b"), ("b", "c")])
    topology = from_networkx(graph)
    assert topology.links == 3
    assert [link.copy for link in topology.link_list] == [1, 2, 0]
    assert same_graph(topology, from_networkx(topology.to_networkx()))


def test_routers_are_in_the_order_of_the_nodes_and_have_their_names():
    graph = nx.Graph([("z", "b"), ("b", "a")])
    topology = from_networkx(graph)
    assert topology.labels == ("z", "b", "a")
    assert topology.neighbours(1).tolist() == [0, 2]


def test_hosts_of_each_node():
    graph = nx.cycle_graph(4)
    graph.nodes[1]["hosts"] = 3
    graph.nodes[2]["hosts"] = 0
    topology = from_networkx(graph)
    names = [host.name for host in hosts_of(topology, 1)]
    assert names == ["h1_1", "h2_1", "h2_2", "h2_3", "h4_1"]
    assert topology.endpoints(2) == 10


def test_a_file_of_the_graph_makes_the_same_plan(tmp_path):
    graph = nx.random_regular_graph(3, 8, seed=2)
    graph.nodes[3]["hosts"] = 2
    topology = from_networkx(graph)
    nx.write_graphml(topology.to_networkx(), tmp_path / "graph.graphml")
    read = GraphFile(**{"from": str(tmp_path / "graph.graphml")})
    assert plan_digest(make_plan(read, 1, "min")) == plan_digest(make_plan(topology, 1, "min"))


@pytest.mark.parametrize(
    ("graph", "text"),
    [
        (nx.Graph(), "2 to 16384 nodes, got 0"),
        (nx.empty_graph(3), "connected, got 3 components"),
        (nx.Graph([(1, 2), (3, 4)]), "connected, got 2 components"),
        (nx.Graph([(1, 2), (2, 2)]), "got 2 at both ends"),
        (nx.DiGraph([(1, 2)]), "undirected, got DiGraph"),
        ([(1, 2)], "networkx graph, got list"),
    ],
)
def test_a_graph_that_no_fabric_can_have_is_refused_in_one_line(graph, text):
    with pytest.raises(ParameterError, match=text) as refused:
        from_networkx(graph)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("hosts", [-1, 255, 1.5, "two", True, None])
def test_a_wrong_number_of_hosts_is_refused_with_its_node(hosts):
    graph = nx.path_graph(3)
    graph.nodes[1]["hosts"] = hosts
    with pytest.raises(ParameterError, match=r"^hosts .* 254, got .* at 1"):
        from_networkx(graph)


def test_a_graph_needs_two_hosts():
    graph = nx.path_graph(3)
    nx.set_node_attributes(graph, {0: 1, 1: 0, 2: 0}, "hosts")
    with pytest.raises(ParameterError, match="two hosts, got 1"):
        from_networkx(graph)
