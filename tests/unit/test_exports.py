"""Exported graphs: other programs read the same graph back, and no file is overwritten."""

import json

import networkx as nx
import pytest

from experiments.exports import FORMATS, export
from topology.errors import UsageError
from topology.polarfly import PolarFly

ER_3 = PolarFly(3)
EDGES = {(link.a, link.b) for link in ER_3.link_list}
every_format = pytest.mark.parametrize("format_", FORMATS)


def edges_of(graph: nx.Graph) -> set[tuple[int, int]]:
    return {(min(edge), max(edge)) for edge in graph.edges()}


def test_networkx_reads_graphml_with_its_ports(tmp_path):
    export(ER_3, "graphml", tmp_path / "g.graphml")
    graph = nx.read_graphml(tmp_path / "g.graphml", node_type=int)
    assert sorted(graph) == list(range(13))
    assert edges_of(graph) == EDGES
    for link in ER_3.link_list:
        assert graph.edges[link.a, link.b] == {"port_a": link.port_a, "port_b": link.port_b}


def test_networkx_reads_the_adjacency_list(tmp_path):
    export(ER_3, "adjlist", tmp_path / "g.adjlist")
    graph = nx.read_adjlist(tmp_path / "g.adjlist", nodetype=int)
    assert sorted(graph) == list(range(13))
    assert edges_of(graph) == EDGES


def test_json_names_the_graph_and_its_links(tmp_path):
    export(ER_3, "json", tmp_path / "g.json")
    content = json.loads((tmp_path / "g.json").read_text())
    assert (content["name"], content["params"], content["routers"]) == ("polarfly", {"q": 3}, 13)
    assert content["link_fields"] == ["a", "b", "port_a", "port_b"]
    assert content["links"] == [[n.a, n.b, n.port_a, n.port_b] for n in ER_3.link_list]


@every_format
def test_an_existing_file_is_refused_and_left_alone(tmp_path, format_):
    path = tmp_path / "precious"
    path.write_text("precious")
    with pytest.raises(UsageError, match="precious exists already; choose another file"):
        export(ER_3, format_, path)
    assert path.read_text() == "precious"


@pytest.mark.parametrize("name", ["missing/g", "file/g"])
def test_a_folder_that_is_none_is_told(tmp_path, name):
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="is no folder to write g into"):
        export(ER_3, "json", tmp_path / name)


def test_an_unknown_format_is_refused_with_those_that_exist(tmp_path):
    with pytest.raises(UsageError, match="unknown format 'gml'; there are: adjlist, graphml, json"):
        export(ER_3, "gml", tmp_path / "g")
    assert list(tmp_path.iterdir()) == []
