"""Detours by distances: those of ER_q, and on expanded PolarFlys only paths that visit no router twice."""

from itertools import product

import networkx as nx
import pytest

from topology.families.low_diameter.expanded_detours import ExpandedDetours
from topology.families.low_diameter.expanded_polarfly import make_polarfly
from topology.families.low_diameter.polarfly_detours import RouterDetours

EXPANSIONS = [(3, "quadric,nonquadric=2"), (5, "quadric:1"), (5, "nonquadric:3")]


@pytest.mark.parametrize("q", [3, 4, 5])
def test_on_er_q_they_are_the_detours_in_closed_form(q):
    graph = make_polarfly(q)
    for router in range(graph.routers):
        closed, searched = RouterDetours(graph, router), ExpandedDetours(graph, router)
        for other in set(range(graph.routers)) - {router}:
            next_hop = int(graph.next_hops(router, other))
            if next_hop != other:
                assert searched.first_hops(other) == closed.far(next_hop)
                continue
            near = [one for bundle in closed.near(other) for one in bundle]
            assert searched.first_hops(other) == [d.first_hop for d in near if d.intermediate is None]
            tagged = {d.intermediate for d in near if d.intermediate is not None}
            assert set(searched.intermediates(other)) == tagged


@pytest.mark.parametrize(("q", "expand"), EXPANSIONS)
def test_they_visit_no_router_twice_and_leave_out_no_router_that_would_do(q, expand):
    """Against all shortest paths of networkx, from two routers of each kind."""
    topology = make_polarfly(q, expand)
    graph = topology.to_networkx()
    paths = dict(nx.all_pairs_all_shortest_paths(graph))
    lengths = {a: {b: len(found[0]) - 1 for b, found in row.items()} for a, row in paths.items()}

    def simple(source, middle, destination):
        halves = product(paths[source][middle], paths[middle][destination])
        return all(len({*first, *second}) == len(first) + len(second) - 1 for first, second in halves)

    for source in {0, 1, q, q * q, q * q + q, topology.routers - 1}:
        detours = ExpandedDetours(topology, source)
        for destination in set(graph) - {source}:
            away = lengths[source][destination]
            first_hops = detours.first_hops(destination)
            assert all(simple(source, one, destination) for one in first_hops)
            equal = [one for one in sorted(graph[source]) if lengths[one][destination] == away]
            assert first_hops == equal
            if away == 1:
                four = [r for r in graph if lengths[source][r] == lengths[r][destination] == 2]
                fit = [r for r in sorted(four) if simple(source, r, destination)]
                assert detours.intermediates(destination) == fit
