"""Graphs from files: formats, names and their order, and the place of every error."""

import os
import subprocess
import sys

import networkx as nx
import pytest

from topology.errors import ParameterError
from topology.families.graph_file import GraphFile
from topology.networkx_graphs import from_networkx, graphml

GRAPHML = "<graphml><graph edgedefault='undirected'>{}</graph></graphml>"


def graph_from(tmp_path, text, name="graph.edges"):
    path = tmp_path / name
    path.write_text(text)
    return GraphFile(**{"from": str(path)})


def test_an_edge_list_is_read(tmp_path):
    topology = graph_from(tmp_path, "# a square\n10 2\n2 3 {}\n3 1 # comment\n\n1 10\n")
    assert topology.labels == ("1", "2", "3", "10")
    assert (topology.routers, topology.links, topology.diameter) == (4, 4, 2)


def test_names_of_an_edge_list_may_have_commas(tmp_path):
    assert graph_from(tmp_path, "0,0 0,1\n0,1 1,1\n").labels == ("0,0", "0,1", "1,1")


def test_standard_input_is_not_a_graph():
    with pytest.raises(ParameterError, match="standard input"):
        GraphFile(**{"from": "-"})


def test_an_adjacency_list_is_read(tmp_path):
    topology = graph_from(tmp_path, "a b c\nb c\nc d\n", "graph.adjlist")
    assert (topology.labels, topology.links) == (("a", "b", "c", "d"), 4)


def test_graphml_of_networkx_is_read(tmp_path):
    import networkx as nx

    nx.write_graphml(nx.petersen_graph(), tmp_path / "p.graphml")
    topology = GraphFile(**{"from": str(tmp_path / "p.graphml")})
    assert (topology.routers, topology.links, topology.diameter) == (10, 15, 2)


def test_parallel_links_are_links_of_their_own(tmp_path):
    topology = graph_from(tmp_path, "1 2\n1 2\n2 3\n")
    assert topology.degrees.tolist() == [2, 3, 1]
    assert len({(link.port_a, link.port_b) for link in topology.link_list if link.a == 0}) == 2


@pytest.mark.parametrize(
    ("text", "name", "named"),
    [
        ("", "g.edges", "g.edges .*link"),
        ("1 2\n3\n", "g.edges", "line 2: .*link.* got '3'"),
        ("1 2\n1 2 3\n", "g.edges", "line 2: .*link.* got '1 2 3'"),
        ("1 2\n3 3\n", "g.edges", "line 2: .*'3'"),
        ("1 2\n3 4\n", "g.edges", "connected.* 2\\b"),
        ("a b\nc c\n", "g.adjlist", "line 2: .*'c'"),
        ("<graphml", "g.graphml", "line 1: .*XML"),
        ("<svg/>", "g.graphml", "line 1: .*graphml.*got 'svg'"),
        ("<graphml/>", "g.graphml", "g.graphml .*one GraphML graph"),
        (GRAPHML.format("<node id='a'/>"), "g.graphml", "g.graphml .*link"),
        (
            GRAPHML.format("<node id='a'/>\n<node id='a'/>"),
            "g.graphml",
            "line 2: .*node.*'a'",
        ),
        (GRAPHML.format("<node id='a'/><edge source='a'/>"), "g.XML", "line 1: .*edge.*target"),
        (GRAPHML.format("<node id='a'/><edge source='a' target='b'/>"), "g.graphml", "line 1: .*node.*'b'"),
        (
            GRAPHML.format("<node id='a'/>\n<edge source='a' target='a'/>"),
            "g.graphml",
            "line 2: .*'a'",
        ),
        (
            GRAPHML.format("<edge source='a' target='b' directed='true'/>"),
            "g.graphml",
            "line 1: .*directed",
        ),
        (GRAPHML.format("</graph><graph>"), "g.graphml", "line 1: .*second one"),
        ("1 2 {\n", "g.edges", "line 1: .*link.* got '1 2 {'"),
        ("New York,Boston\n", "g.edges", "line 1: .*commas.* got 'New York,Boston'"),
        ("a, b\n", "g.edges", "line 1: .*commas.* got 'a, b'"),
        ("1 2 {} junk\n", "g.edges", "line 1: .*link.* got '1 2 {} junk'"),
        ("1 2\0\n", "g.edges", "text, but line 1 .*NUL"),
        ("1 2 " + "x" * 5000, "g.edges", "x\\.\\.\\.'$"),
    ],
)
def test_other_contents_are_refused_with_the_place(tmp_path, text, name, named):
    with pytest.raises(ParameterError, match=named):
        graph_from(tmp_path, text, name)


def test_a_directed_graph_is_refused(tmp_path):
    import networkx as nx

    nx.write_graphml(nx.DiGraph([(1, 2)]), tmp_path / "d.graphml")
    with pytest.raises(ParameterError, match="directed"):
        GraphFile(**{"from": str(tmp_path / "d.graphml")})


def test_a_missing_file_is_named():
    with pytest.raises(ParameterError, match="/nowhere "):
        GraphFile(**{"from": "/nowhere"})


def test_an_adjacency_list_may_name_every_link_at_both_ends(tmp_path):
    assert graph_from(tmp_path, "1 2 3\n2 1 3\n3 1 2\n", "sym.adjlist").links == 3
    assert graph_from(tmp_path, "1 2 2\n2 1\n", "twice.adjlist").links == 2
    assert graph_from(tmp_path, "2 1 1\n1 2 2\n", "both.adjlist").links == 2


def test_links_of_graphml_with_equal_ids_are_parallel_links(tmp_path):
    edge = "<edge {} source='a' target='b'/>"
    edges = "".join(edge.format(given) for given in ("id='0'", "", "id='1'", "id='0'"))
    topology = graph_from(tmp_path, GRAPHML.format("<node id='a'/><node id='b'/>" + edges), "g.graphml")
    assert topology.links == 4


@pytest.mark.parametrize("name", ["g.edges", "g.EDGES", "g.adjlist"])
def test_names_contain_neither_a_byte_order_mark_nor_line_ends(tmp_path, name):
    (tmp_path / name).write_bytes(b"\xef\xbb\xbf1 2\r\n2 3\r\n")
    assert GraphFile(**{"from": str(tmp_path / name)}).labels == ("1", "2", "3")


def test_names_may_be_numbers_of_any_length_and_anything_else(tmp_path):
    long = "9" * 5000
    topology = graph_from(tmp_path, f"{long} 10\n10 9\n9 x\n")
    assert topology.labels == ("9", "10", long, "x")


def test_a_file_that_is_not_text_is_refused(tmp_path):
    (tmp_path / "g.edges").write_bytes(b"\xff\xfe1 2")
    with pytest.raises(ParameterError, match=r"g.edges .*text"):
        GraphFile(**{"from": str(tmp_path / "g.edges")})


def test_names_that_are_one_number_have_the_same_order_in_every_process(tmp_path):
    """Controller and emulation read the file each by itself, and sets have another order in each."""
    path = tmp_path / "ring.edges"
    path.write_text("7 07\n07 007\n007 7\n")
    code = "from topology.families.graph_file import GraphFile; "
    code += f"print(GraphFile(**{{'from': {str(path)!r}}}).labels)"
    orders = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": str(seed)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in range(6)
    }
    assert len(orders) == 1


GRAPHML_WITH_HOSTS = """<?xml version="1.0"?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
  <key id="d0" for="node" attr.name="hosts" attr.type="long"/>
  <key id="d1" for="edge" attr.name="hosts" attr.type="long"/>
  <graph edgedefault="undirected">
    <node id="a"><data key="d0">{hosts}</data></node>
    <node id="b"/>
    <edge source="a" target="b"><data key="d1">7</data></edge>
  </graph>
</graphml>
"""


def test_graphml_may_have_hosts_of_nodes(tmp_path):
    path = tmp_path / "hosts.graphml"
    path.write_text(GRAPHML_WITH_HOSTS.format(hosts=3))
    assert GraphFile(**{"from": str(path)}).host_counts(2).tolist() == [6, 2]


@pytest.mark.parametrize("hosts", ["-1", "255", "x", "", "9" * 5000])
def test_hosts_of_nodes_that_are_no_number_are_refused_with_their_line(tmp_path, hosts):
    path = tmp_path / "hosts.graphml"
    path.write_text(GRAPHML_WITH_HOSTS.format(hosts=hosts))
    with pytest.raises(ParameterError, match=r"line 6: hosts .* 254, got"):
        GraphFile(**{"from": str(path)})


@pytest.mark.parametrize("label", ["São Paulo", ""])
def test_names_of_an_exported_graph_are_kept_with_its_numbers(tmp_path, label):
    source = nx.cycle_graph(12)
    nx.set_node_attributes(source, {node: f"city {node}" for node in source} | {3: label}, "label")
    path = tmp_path / "exported.graphml"
    path.write_text(graphml(from_networkx(source), 1))
    read = GraphFile(**{"from": str(path)})
    known = [f"city {node}" for node in range(3)] + [label] + [f"city {node}" for node in range(4, 12)]
    assert list(read.labels) == (known if label else [*map(str, range(12))])
    assert [(link.a, link.b) for link in read.link_list] == sorted(
        (min(ends), max(ends)) for ends in source.edges
    )


def test_labels_of_nodes_with_names_of_their_own_are_not_used(tmp_path):
    source = nx.relabel_nodes(nx.cycle_graph(3), {0: "a", 1: "b", 2: "c"})
    nx.set_node_attributes(source, "x", "label")
    nx.write_graphml(source, tmp_path / "g.graphml")
    assert GraphFile(**{"from": str(tmp_path / "g.graphml")}).labels == ("a", "b", "c")
