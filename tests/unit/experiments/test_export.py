"""Exported graphs: other programs read the same graph back, and no file is overwritten."""

import json

import networkx as nx
import numpy as np
import pytest

from experiments.theory.export import FORMATS, export
from topology.errors import UsageError
from topology.families.graph_file import GraphFile
from topology.families.low_diameter.polarfly import PolarFly
from topology.shortest_paths import SearchedTopology, adjacency_from_links

ER_3 = PolarFly(3)
EDGES = {(link.a, link.b) for link in ER_3.link_list}
every_format = pytest.mark.parametrize("format_", FORMATS)


def edges_of(graph: nx.Graph) -> set[tuple[int, int]]:
    return {(min(edge), max(edge)) for edge in graph.edges()}


def test_networkx_reads_graphml_with_its_ports(tmp_path):
    export(ER_3, 1, "graphml", tmp_path / "g.graphml")
    graph = nx.read_graphml(tmp_path / "g.graphml", node_type=int)
    assert sorted(graph) == list(range(13))
    assert edges_of(graph) == EDGES
    for link in ER_3.link_list:
        assert graph.edges[link.a, link.b] == {"port_a": link.port_a, "port_b": link.port_b}


def test_networkx_reads_the_adjacency_list(tmp_path):
    export(ER_3, 1, "adjlist", tmp_path / "g.adjlist")
    graph = nx.read_adjlist(tmp_path / "g.adjlist", nodetype=int)
    assert sorted(graph) == list(range(13))
    assert edges_of(graph) == EDGES


def test_json_names_the_graph_and_its_links(tmp_path):
    export(ER_3, 1, "json", tmp_path / "g.json")
    content = json.loads((tmp_path / "g.json").read_text())
    assert (content["name"], content["params"], content["routers"]) == ("polarfly", {"q": 3}, 13)
    assert content["link_fields"] == ["a", "b", "port_a", "port_b"]
    assert content["links"] == [[n.a, n.b, n.port_a, n.port_b] for n in ER_3.link_list]


@every_format
def test_an_existing_file_is_refused_and_left_alone(tmp_path, format_):
    path = tmp_path / "precious"
    path.write_text("precious")
    with pytest.raises(UsageError, match="precious already exists"):
        export(ER_3, 1, format_, path)
    assert path.read_text() == "precious"


@pytest.mark.parametrize("name", ["missing/g", "file/g"])
def test_a_folder_that_is_none_is_told(tmp_path, name):
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="g cannot be"):
        export(ER_3, 1, "json", tmp_path / name)


def test_an_unknown_format_is_refused_with_those_that_exist(tmp_path):
    with pytest.raises(UsageError, match=r"adjlist, booksim, graphml.* 'gml'"):
        export(ER_3, 1, "gml", tmp_path / "g")
    assert list(tmp_path.iterdir()) == []


def parsed_by_anynet(text):
    """Reads BookSim's format as its `anynet` does: a link goes both ways, a node belongs to one router."""
    links, node_of = set(), {}
    for line in text.splitlines():
        words = line.split(" ")
        pairs = [(words[place], int(words[place + 1])) for place in range(0, len(words), 2)]
        (kind, router), *others = pairs
        assert kind == "router"
        for what, number in others:
            if what == "router":
                links.add((min(router, number), max(router, number)))
            else:
                assert what == "node"
                assert node_of.setdefault(number, router) == router
    return links, node_of


@pytest.mark.parametrize("hosts", [1, 3])
def test_booksim_gets_routers_links_and_hosts(tmp_path, hosts):
    export(ER_3, hosts, "booksim", tmp_path / "g.anynet")
    links, node_of = parsed_by_anynet((tmp_path / "g.anynet").read_text())
    assert links == EDGES
    assert node_of == {node: node // hosts for node in range(13 * hosts)}


def test_sst_gets_a_plain_edge_list(tmp_path):
    export(ER_3, 1, "sst", tmp_path / "g.edges")
    graph = nx.read_edgelist(tmp_path / "g.edges", nodetype=int)
    assert edges_of(graph) == EDGES
    assert len((tmp_path / "g.edges").read_text().splitlines()) == ER_3.links


def test_what_is_exported_as_an_edge_list_comes_back_as_the_same_graph(tmp_path):
    export(ER_3, 1, "sst", tmp_path / "g.edges")
    again = GraphFile(**{"from": str(tmp_path / "g.edges")})
    assert again.link_list == ER_3.link_list


def test_parallel_links_are_kept_or_refused(tmp_path):
    double = SearchedTopology(adjacency_from_links(3, np.array([[0, 1], [0, 1], [1, 2]])))
    export(double, 1, "sst", tmp_path / "g.edges")
    assert (tmp_path / "g.edges").read_text() == "0 1\n0 1\n1 2\n"
    with pytest.raises(UsageError, match="no parallel links"):
        export(double, 1, "booksim", tmp_path / "g.anynet")
    assert not (tmp_path / "g.anynet").exists()
