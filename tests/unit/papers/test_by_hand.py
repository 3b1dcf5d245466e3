"""Five claims of the PolarFly paper, drawn by lot, by programs that share no code with the product.

The lot is `random.Random(22).sample` of the first 86 claims on structure, in the order of their file; later
claims follow them.
"""

import csv
import itertools
import random
from pathlib import Path

import networkx as nx
import pytest

FIGURES = Path(__file__).parents[3] / "docs" / "figures" / "papers"
CLAIMS = Path(__file__).parents[3] / "experiments" / "papers" / "polarfly" / "claims.csv"
DRAWN = [
    ("triangles", "between q=13"),
    ("table2", "V2V2V2 q=11"),
    ("fig2", "q=31"),
    ("table6", "4 V2-V2"),
    ("fig12", "dragonfly"),
]


def rows_of(path):
    with path.open(encoding="utf-8") as lines:
        return list(csv.DictReader(lines))


def command_value(item, key):
    """Returns the number that the command has left in the gallery."""
    [claim] = [row["claim"] for row in rows_of(CLAIMS) if (row["item"], row["key"]) == (item, key)]
    kept = rows_of(FIGURES / f"polarfly-{item}-claims.csv")
    [value] = [float(row["value"]) for row in kept if row["claim"] == claim]
    return value


def polarity_graph(q):
    """Returns ER_q for a prime q by its definition: points of the plane, joined if they are orthogonal."""
    points = [(1, y, z) for y in range(q) for z in range(q)] + [(0, 1, z) for z in range(q)] + [(0, 0, 1)]
    graph = nx.Graph()
    graph.add_nodes_from(points)
    graph.add_edges_from(
        (u, v)
        for u, v in itertools.combinations(points, 2)
        if sum(a * b for a, b in zip(u, v, strict=True)) % q == 0
    )
    quadrics = {u for u in points if sum(a * a for a in u) % q == 0}
    return graph, quadrics


def clusters_of(graph, quadrics):
    """Returns the cluster of every other router: the neighbour that it has of a starter quadric's."""
    starter = min(quadrics)
    return {v: c for c in graph[starter] for v in {c, *graph[c]} - quadrics}


def triangles_of(graph):
    order = {v: number for number, v in enumerate(graph)}
    for u, v in graph.edges:
        for w in set(graph[u]) & set(graph[v]):
            if order[w] > max(order[u], order[v]):
                yield u, v, w


def triangles_between_clusters(q):
    graph, quadrics = polarity_graph(q)
    cluster = clusters_of(graph, quadrics)
    found = [one for one in triangles_of(graph) if len({cluster.get(v) for v in one}) == 3]
    return graph, quadrics, found


def between_clusters():
    return len(triangles_between_clusters(13)[2])


def without_neighbours_of_quadrics():
    graph, quadrics, found = triangles_between_clusters(11)
    second = {v for v in graph if v not in quadrics and not quadrics & set(graph[v])}
    return sum(second >= set(one) for one in found)


def share_of_the_moore_bound():
    graph, _ = polarity_graph(31)
    degree = max(dict(graph.degree()).values())
    return len(graph) / (1 + degree + degree * (degree - 1))


def paths_of_four_links():
    graph, quadrics = polarity_graph(7)
    second = [v for v in graph if v not in quadrics and not quadrics & set(graph[v])]
    counts = {
        sum(len(path) == 5 for path in nx.all_simple_paths(graph, u, v, cutoff=4))
        for u, v in itertools.combinations(second, 2)
        if v not in graph[u] and not set(graph[u]) & set(graph[v]) & quadrics
    }
    [count] = counts
    return count


def cut_of_a_dragonfly():
    """36 groups and half of another one of the 73 of a = 12, h = 6, with one link between each two."""
    a, h = 12, 6
    groups = a * h + 1
    graph = nx.Graph()
    for one in range(groups):
        graph.add_edges_from(((one, i), (one, j)) for i, j in itertools.combinations(range(a), 2))
        for port in range(a * h):
            graph.add_edge((one, port // h), ((one + port + 1) % groups, (a * h - 1 - port) // h))
    whole = {(one, i) for one in range(groups // 2) for i in range(a)}
    cuts = (
        nx.cut_size(graph, whole | {(groups // 2, i) for i in part})
        for part in itertools.combinations(range(a), a // 2)
    )
    return min(cuts) / graph.number_of_edges()


BY_HAND = dict(
    zip(
        DRAWN,
        (
            between_clusters,
            without_neighbours_of_quadrics,
            share_of_the_moore_bound,
            paths_of_four_links,
            cut_of_a_dragonfly,
        ),
        strict=True,
    )
)


def test_the_claims_are_those_of_the_lot():
    structure = [(row["item"], row["key"]) for row in rows_of(CLAIMS) if row["kind"] == "structure"]
    assert random.Random(22).sample(structure[:86], 5) == DRAWN


@pytest.mark.parametrize("claim", DRAWN, ids=" ".join)
def test_the_command_s_number_is_that_by_hand(claim):
    assert command_value(*claim) == pytest.approx(BY_HAND[claim]())
