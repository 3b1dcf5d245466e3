"""ER_q: its vectors, its edges, its known invariants, and the shortest paths that cross products give."""

import csv
from functools import lru_cache
from math import comb
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.sparse import csgraph

from topology.families.low_diameter.polarfly import PolarFly
from topology.finite_fields.prime_powers import prime_power

SMALL = (2, 3, 4, 5, 7, 8, 9, 11, 13)
SUPPORTED = [q for q in range(2, 129) if prime_power(q)]

with open(Path(__file__).parents[1].joinpath("data") / "invariants.csv", newline="") as file:
    INVARIANTS = [row for row in csv.DictReader(file) if row["family"] == "polarfly"]

er = lru_cache(PolarFly)
small_q = pytest.mark.parametrize("q", SMALL)


def vector_list(q: int) -> list[tuple[int, int, int]]:
    """The points of the projective plane in the documented order of the routers."""
    affine = [(1, a, b) for a in range(q) for b in range(q)]
    return affine + [(0, 1, a) for a in range(q)] + [(0, 0, 1)]


def brute_force_adjacency(q: int) -> np.ndarray:
    """Boolean N x N: dot product 0 and not the same router."""
    field, points = er(q).field, vector_list(q)
    result = np.zeros((len(points), len(points)), bool)
    for s, u in enumerate(points):
        for d, v in enumerate(points):
            total = 0
            for a, b in zip(u, v, strict=True):
                total = int(field.sum[total, field.product[a, b]])
            result[s, d] = total == 0 and s != d
    return result


def as_matrix(topology: PolarFly) -> sparse.csr_array:
    """The adjacency as a sparse matrix, read from the neighbour lists."""
    n = topology.routers
    rows = np.repeat(np.arange(n), topology.degrees)
    entries = (np.ones(len(rows), np.int64), (rows, topology.adjacency.neighbours))
    return sparse.csr_array(entries, shape=(n, n))


def as_graph(topology: PolarFly) -> nx.Graph:
    return nx.Graph((link.a, link.b) for link in topology.link_list)


# ---- vectors ----


@small_q
def test_vectors_come_in_the_documented_order(q):
    topology = er(q)
    assert topology.routers == q**2 + q + 1
    assert topology.vectors(np.arange(topology.routers)).tolist() == [list(v) for v in vector_list(q)]


@pytest.mark.parametrize("q", [*SMALL, 64, 127, 128])
def test_index_of_a_routers_vector_is_the_router(q):
    everyone = np.arange(er(q).routers)
    assert np.array_equal(er(q).indices(er(q).vectors(everyone)), everyone)


@small_q
def test_every_multiple_of_a_vector_is_the_same_router(q):
    topology = er(q)
    everyone = np.arange(topology.routers)
    for factor in range(1, q):
        scaled = topology.field.product[factor, topology.vectors(everyone)]
        assert np.array_equal(topology.indices(scaled), everyone)


def test_the_zero_vector_does_not_stand_for_a_router():
    assert er(5).indices([0, 0, 0]) == -1
    assert er(5).indices([[0, 0, 0], [1, 0, 0]]).tolist() == [-1, 0]


@small_q
def test_cross_product_is_perpendicular_to_both_factors(q):
    topology = er(q)
    everyone = np.arange(topology.routers)
    s, d = everyone[:, None], everyone[None, :]
    points = topology.indices(topology.cross(s, d))
    assert np.array_equal(points == -1, s == d)
    apart = points >= 0
    assert not topology.dot(np.broadcast_to(s, points.shape)[apart], points[apart]).any()
    assert not topology.dot(np.broadcast_to(d, points.shape)[apart], points[apart]).any()


# ---- the graph ----


@small_q
def test_neighbours_are_those_whose_dot_product_is_zero(q):
    expected = brute_force_adjacency(q)
    for router in range(er(q).routers):
        assert er(q).neighbours(router).tolist() == np.flatnonzero(expected[router]).tolist()


@small_q
def test_sizes_of_the_vertex_classes(q):
    quadrics, adjacent, remote = er(q).vertex_classes
    odd = q % 2 == 1
    assert len(quadrics) == q + 1
    assert len(adjacent) == (q * (q + 1) // 2 if odd else q**2)
    assert len(remote) == (q * (q - 1) // 2 if odd else 0)


@small_q
def test_members_of_the_vertex_classes(q):
    topology, adjacency = er(q), brute_force_adjacency(q)
    everyone = np.arange(topology.routers)
    quadric = topology.dot(everyone, everyone) == 0
    beside = adjacency[:, quadric].any(axis=1) & ~quadric
    assert topology.vertex_classes.quadrics.tolist() == np.flatnonzero(quadric).tolist()
    assert topology.vertex_classes.adjacent.tolist() == np.flatnonzero(beside).tolist()
    assert topology.vertex_classes.remote.tolist() == np.flatnonzero(~quadric & ~beside).tolist()


@pytest.mark.parametrize("q", [2, 4, 8, 16])
def test_quadrics_of_even_q_share_one_neighbour(q):
    topology = er(q)
    shared = set.intersection(
        *(set(topology.neighbours(w).tolist()) for w in topology.vertex_classes.quadrics)
    )
    assert len(shared) == 1


@small_q
def test_number_of_triangles(q):
    assert sum(nx.triangles(as_graph(er(q))).values()) // 3 == comb(q + 1, 3)


@pytest.mark.parametrize("row", INVARIANTS, ids=lambda row: row["params"])
def test_invariants_that_another_program_computed(row):
    topology = er(int(row["params"].removeprefix("q=")))
    degrees, counts = np.unique(topology.degrees, return_counts=True)
    assert topology.routers == int(row["routers"])
    assert topology.links == int(row["links"])
    shown = ";".join(f"{d}:{n}" for d, n in zip(degrees, counts, strict=True))
    assert shown == row["degrees"]
    assert topology.diameter == int(row["diameter"])
    assert topology.average_path_length == pytest.approx(float(row["average_path_length"]), abs=1e-6)
    matrix = as_matrix(topology)
    assert (matrix != matrix.T).nnz == 0
    assert (matrix @ matrix * matrix).sum() // 6 == int(row["triangles"])
    measured = csgraph.shortest_path(matrix, unweighted=True)
    assert measured.max() == int(row["diameter"])
    assert measured.sum() / topology.routers / (topology.routers - 1) == pytest.approx(
        float(row["average_path_length"]), abs=1e-6
    )


def test_every_reference_row_is_tested():
    assert len(INVARIANTS) == 14


@small_q
def test_pairs_by_distance_agree_with_a_breadth_first_search(q):
    distances = csgraph.shortest_path(as_matrix(er(q)), unweighted=True).astype(int)
    assert er(q).pairs_by_distance() == {d: int((distances == d).sum()) for d in (1, 2)}


@pytest.mark.parametrize(("q", "efficiency"), [(2, 7 / 10), (7, 57 / 65), (127, 16257 / 16385)])
def test_moore_efficiency(q, efficiency):
    assert er(q).moore_efficiency == pytest.approx(efficiency)


# ---- minimal routes ----


@small_q
def test_distances_are_those_of_a_breadth_first_search(q):
    topology = er(q)
    everyone = np.arange(topology.routers)
    expected = csgraph.shortest_path(as_matrix(topology), unweighted=True)
    assert np.array_equal(topology.distances(everyone[:, None], everyone), expected)


@small_q
def test_next_hops_follow_the_breadth_first_search_of_networkx(q):
    topology, graph = er(q), as_graph(er(q))
    hops = topology.all_next_hops()
    for d, distance in nx.all_pairs_shortest_path_length(graph):
        for s in graph:
            hop = int(hops[s, d])
            if s == d:
                assert hop == d
            else:
                assert graph.has_edge(s, hop)
                assert distance[hop] == distance[s] - 1


@pytest.mark.parametrize("q", [*SMALL, 16, 25, 49])
def test_all_next_hops_equal_the_next_hops_of_single_pairs(q):
    everyone = np.arange(er(q).routers)
    hops = er(q).all_next_hops()
    assert hops.dtype == np.int16
    assert np.array_equal(hops, er(q).next_hops(everyone[:, None], everyone[None, :]))


def test_all_next_hops_of_the_largest_field_fit_their_type():
    hops = er(128).all_next_hops()
    assert hops.min() == 0
    assert hops.max() == er(128).routers - 1
    rows = np.array([0, 1, 8000, 16383, 16384, 16511, 16512])
    assert np.array_equal(hops[rows], er(128).next_hops(rows[:, None], np.arange(er(128).routers)))


@given(data=st.data(), q=st.sampled_from(SUPPORTED))
@settings(deadline=None, max_examples=150)
def test_minimal_paths_between_any_routers_of_any_field(data, q):
    topology = er(q)
    router = st.integers(0, topology.routers - 1)
    pairs = np.array(data.draw(st.lists(st.tuples(router, router), min_size=1, max_size=50)))
    source, destination = pairs.T
    distance = topology.distances(source, destination)
    hop = topology.next_hops(source, destination)
    away = distance > 0
    assert np.array_equal(away, source != destination)
    assert np.all(topology.distances(source, hop)[away] == 1)
    assert np.array_equal(topology.distances(hop, destination)[away], distance[away] - 1)
    assert np.array_equal(hop[~away], destination[~away])
    far = distance == 2
    assert np.array_equal(hop[far], topology.next_hops(destination, source)[far])


# ---- ports ----


@small_q
def test_ports_lead_to_the_neighbours_in_ascending_order(q):
    topology = er(q)
    for router in range(topology.routers):
        neighbours = topology.neighbours(router)
        assert np.all(np.diff(neighbours) > 0)
        ports = topology.ports_toward(router, neighbours)
        assert ports.tolist() == list(range(1, len(neighbours) + 1))
        assert topology.host_port(router, 0) == len(neighbours) + 1
        assert topology.host_port(router, 2) == len(neighbours) + 3


@small_q
def test_links_join_each_port_to_one_other(q):
    topology = er(q)
    ends = set()
    for link in topology.link_list:
        assert link.a < link.b
        assert topology.neighbours(link.a)[link.port_a - 1] == link.b
        assert topology.neighbours(link.b)[link.port_b - 1] == link.a
        ends |= {(link.a, link.port_a), (link.b, link.port_b)}
    assert len(topology.link_list) == topology.links
    assert len(ends) == 2 * topology.links
