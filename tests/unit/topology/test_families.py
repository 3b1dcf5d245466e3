"""PolarStar, Slim Fly and graphs from files: known invariants, and shortest routes for every pair."""

import csv
import os
import subprocess
import sys
from functools import lru_cache
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import shortest_path

from topology.errors import ParameterError
from topology.families.graph_file import GraphFile
from topology.families.polarstar import PolarStar, designs_of_radix
from topology.families.slimfly import SlimFly
from topology.families.supernodes import SUPERNODE_KINDS, make_supernode, supernode_exists, supernode_order
from topology.registry import FAMILIES, make_topology
from topology.shortest_paths import all_distances

with open(Path(__file__).parents[1].joinpath("data") / "invariants.csv", newline="") as file:
    ROWS = [row for row in csv.DictReader(file) if row["family"] != "polarfly"]


@lru_cache
def member(family, params):
    values = dict(word.split("=") for word in params.split())
    q = int(values["q"])
    if family == "slimfly":
        return SlimFly(q)
    if family == "polarstar-iq":
        return PolarStar(q, "iq", int(values["d"]))
    return PolarStar(q, "paley", (int(values["paley"]) - 1) // 2)


def matrix(topology):
    adjacency = topology.adjacency
    ones = np.ones(len(adjacency.neighbours))
    return csr_matrix((ones, adjacency.neighbours, adjacency.starts), shape=(topology.routers,) * 2)


def triangles(topology):
    joined = (matrix(topology) > 0).astype(np.int64)
    return int((joined @ joined).multiply(joined).sum()) // 6


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row['family']} {row['params']}")
def test_invariants_that_another_program_computed(row):
    topology = member(row["family"], row["params"])
    degrees = dict(map(int, entry.split(":")) for entry in row["degrees"].split(";"))
    found = dict(zip(*(a.tolist() for a in np.unique(topology.degrees, return_counts=True)), strict=True))
    assert (topology.routers, topology.links, topology.diameter) == (
        int(row["routers"]),
        int(row["links"]),
        int(row["diameter"]),
    )
    assert found == degrees
    assert topology.average_path_length == pytest.approx(float(row["average_path_length"]), abs=1e-6)
    assert triangles(topology) == int(row["triangles"])


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row['family']} {row['params']}")
def test_every_next_hop_is_on_a_shortest_path(row):
    topology = member(row["family"], row["params"])
    joined = matrix(topology)
    distances = shortest_path(joined, unweighted=True)
    hops = topology.all_next_hops().astype(np.int64)
    everyone = np.arange(topology.routers)
    away = everyone[:, None] != everyone
    assert (topology.distances(everyone[:, None], everyone) == distances).all()
    assert (distances[hops, everyone] == distances - 1)[away].all()
    assert (joined.toarray()[everyone[:, None], hops] > 0)[away].all()
    assert (hops[~away] == everyone).all()


def test_the_largest_polarstars_of_radix_15():
    assert [(d.routers, d.supernode) for d in designs_of_radix(15)][:1] == [(1064, "iq")]
    assert max(d.routers for d in designs_of_radix(15, "paley")) == 949
    assert PolarStar(radix=15).params == {"q": 11, "supernode": "iq", "degree": 3}
    assert PolarStar(radix=15, supernode="paley").routers == 949


@pytest.mark.parametrize("kind", SUPERNODE_KINDS)
def test_supernodes_exist_where_they_should(kind):
    degrees = [d for d in range(20) if supernode_exists(kind, d)]
    expected = {
        "iq": [0, 3, 4, 7, 8, 11, 12, 15, 16, 19],
        "paley": [2, 4, 6, 8, 12, 14, 18],
        "complete": list(range(20)),
    }
    assert degrees == expected[kind]
    for degree in degrees:
        assert make_supernode(kind, degree).order == supernode_order(kind, degree)  # checks its property


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"q": 3, "degree": 5}, "degree .* iq .* got 5; \\D*4 and 7$"),
        ({"q": 3, "supernode": "paley", "degree": 3}, "degree .* paley .* got 3; \\D*2 and 4$"),
        ({"q": 6, "degree": 3}, "^q .* got 6; \\D*5 and 7$"),
        ({"q": 3, "supernode": "bundle", "degree": 3}, "iq, paley, complete, got 'bundle'"),
        ({"q": 3}, "--q and --degree, or --radix"),
        ({"radix": 15, "q": 3}, "--radix .*without --q and --degree"),
        ({"radix": 2}, "radix .* got 2; \\D*3$"),
    ],
)
def test_polarstars_that_do_not_exist(options, said):
    with pytest.raises(ParameterError, match=said):
        PolarStar(**options)


@pytest.mark.parametrize(("q", "nearest"), [(2, "3"), (6, "5 and 7"), (90, "89"), (97, "89"), (200, "89")])
def test_slimflies_that_do_not_exist(q, nearest):
    with pytest.raises(ParameterError, match=rf"^q .* 3 to 89.* got {q}; \D*{nearest}$"):
        SlimFly(q)


def test_one_mask_stands_for_a_supernode():
    topology = PolarStar(2, "iq", 4)  # 10 vertices: 4 bits
    numbers = [topology.address_number(router) for router in range(topology.routers)]
    assert len(set(numbers)) == topology.routers
    assert [number >> 4 for number in numbers] == [router // 10 for router in range(topology.routers)]


# ---- graphs from files ----


GRAPHML = "<graphml><graph edgedefault='undirected'>{}</graph></graphml>"


def imported(tmp_path, text, name="graph.edges"):
    path = tmp_path / name
    path.write_text(text)
    return GraphFile(**{"from": str(path)})


def test_an_edge_list_is_read(tmp_path):
    topology = imported(tmp_path, "# a square\n10 2\n2 3 {}\n3 1 # comment\n\n1 10\n")
    assert topology.labels == ("1", "2", "3", "10")
    assert (topology.routers, topology.links, topology.diameter) == (4, 4, 2)


def test_an_adjacency_list_is_read(tmp_path):
    topology = imported(tmp_path, "a b c\nb c\nc d\n", "graph.adjlist")
    assert (topology.labels, topology.links) == (("a", "b", "c", "d"), 4)


def test_graphml_is_read_as_it_is_written(tmp_path):
    import networkx as nx

    nx.write_graphml(nx.petersen_graph(), tmp_path / "p.graphml")
    topology = GraphFile(**{"from": str(tmp_path / "p.graphml")})
    assert (topology.routers, topology.links, topology.diameter) == (10, 15, 2)


def test_parallel_links_are_links_of_their_own(tmp_path):
    topology = imported(tmp_path, "1 2\n1 2\n2 3\n")
    assert topology.degrees.tolist() == [2, 3, 1]
    assert len({(link.port_a, link.port_b) for link in topology.link_list if link.a == 0}) == 2


@pytest.mark.parametrize(
    ("text", "name", "said"),
    [
        ("", "g.edges", "g.edges .*link"),
        ("1 2\n3\n", "g.edges", "line 2: .*link.* got '3'"),
        ("1 2\n1 2 3\n", "g.edges", "line 2: .*link.* got '1 2 3'"),
        ("1 2\n3 3\n", "g.edges", "line 2: .*'3'"),
        ("1 2\n3 4\n", "g.edges", "connected.* 2\\b"),
        ("a b\nc c\n", "g.adjlist", "line 2: .*'c'"),
        ("<graphml", "g.graphml", "line 1: .*XML"),
        ("<svg/>", "g.graphml", "line 1: .*graphml.*got 'svg'"),
        ("<graphml/>", "g.graphml", "g.graphml .*one graph"),
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
        (GRAPHML.format("</graph><graph>"), "g.graphml", "line 1: .*second graph"),
        ("1 2 {\n", "g.edges", "line 1: .*link.* got '1 2 {'"),
        ("1 2 {} junk\n", "g.edges", "line 1: .*link.* got '1 2 {} junk'"),
        ("1 2\0\n", "g.edges", "line 1: .*text"),
        ("1 2 " + "x" * 5000, "g.edges", "x\\.\\.\\.'$"),
    ],
)
def test_what_is_no_fabric_is_refused_with_the_place(tmp_path, text, name, said):
    with pytest.raises(ParameterError, match=said):
        imported(tmp_path, text, name)


def test_a_directed_graph_is_refused(tmp_path):
    import networkx as nx

    nx.write_graphml(nx.DiGraph([(1, 2)]), tmp_path / "d.graphml")
    with pytest.raises(ParameterError, match="directed"):
        GraphFile(**{"from": str(tmp_path / "d.graphml")})


def test_a_file_that_is_not_there_is_told():
    with pytest.raises(ParameterError, match="/nowhere cannot be read"):
        GraphFile(**{"from": "/nowhere"})


@pytest.mark.parametrize("name", sorted(FAMILIES))
def test_every_familys_example_is_one(name):
    words = FAMILIES[name].example.split()[1:]
    types = {parameter.name: parameter.type for parameter in FAMILIES[name].parameters}
    params = {key.removeprefix("--"): value for key, value in zip(words[::2], words[1::2], strict=True)}
    assert make_topology(name, {key: types[key](value) for key, value in params.items()}).routers > 1


def test_an_adjacency_list_may_say_every_link_at_both_ends(tmp_path):
    assert imported(tmp_path, "1 2 3\n2 1 3\n3 1 2\n", "sym.adjlist").links == 3
    assert imported(tmp_path, "1 2 2\n2 1\n", "twice.adjlist").links == 2
    assert imported(tmp_path, "2 1 1\n1 2 2\n", "both.adjlist").links == 2


def test_links_of_graphml_are_as_many_whatever_their_ids(tmp_path):
    edge = "<edge {} source='a' target='b'/>"
    edges = "".join(edge.format(given) for given in ("id='0'", "", "id='1'", "id='0'"))
    topology = imported(tmp_path, GRAPHML.format("<node id='a'/><node id='b'/>" + edges), "g.graphml")
    assert topology.links == 4


@pytest.mark.parametrize("name", ["g.edges", "g.EDGES", "g.adjlist"])
def test_a_mark_at_the_files_beginning_and_other_line_ends_are_no_part_of_names(tmp_path, name):
    (tmp_path / name).write_bytes(b"\xef\xbb\xbf1 2\r\n2 3\r\n")
    assert GraphFile(**{"from": str(tmp_path / name)}).labels == ("1", "2", "3")


def test_names_may_be_numbers_of_any_length_and_anything_else(tmp_path):
    long = "9" * 5000
    topology = imported(tmp_path, f"{long} 10\n10 9\n9 x\n")
    assert topology.labels == ("9", "10", long, "x")


def test_what_is_no_text_is_told(tmp_path):
    (tmp_path / "g.edges").write_bytes(b"\xff\xfe1 2")
    with pytest.raises(ParameterError, match=r"g.edges .*text"):
        GraphFile(**{"from": str(tmp_path / "g.edges")})


def test_families_end_where_tables_of_all_pairs_would_not_fit():
    assert SlimFly(89).routers == 15_842
    with pytest.raises(ParameterError, match=r"3 to 89.* got 97"):
        SlimFly(97)
    with pytest.raises(ParameterError, match=r"at most 16384\b"):
        PolarStar(radix=100)


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


@pytest.mark.parametrize("routers", [2, 40, 256, 257])
def test_distances_are_those_of_networkx_however_they_are_found(routers):
    graph = nx.gnp_random_graph(routers, 2.5 / routers, seed=routers)
    joined = nx.to_numpy_array(graph).astype(bool)
    expected = np.full(joined.shape, np.inf)
    for source, lengths in nx.all_pairs_shortest_path_length(graph):
        for destination, length in lengths.items():
            expected[source, destination] = length
    assert (all_distances(joined) == expected).all()
