"""Coloured paths of dragonflies: colourings, and the order of links in all paths of all pairs."""

from itertools import pairwise

import networkx as nx
import numpy as np
import pytest

from routing.path_sets.coloured import FOUR_COLOR, TWO_COLOR
from routing.path_sets.colours import router_colours
from routing.path_sets.registry import PATH_SETS, with_paths
from routing.registry import make_plan
from routing.verification.verifier import prove
from topology.errors import UsageError
from topology.failures import link_failures, switch_failures
from topology.families.dragonflies.dragonfly import Dragonfly

SMALL = {"h": 2, "a": 4, "groups": 5, "trunking": 2}
MIDDLE = {"h": 4, "a": 8, "groups": 9, "trunking": 4}
LARGE = {"h": 13, "a": 24, "groups": 79, "trunking": 4}


def all_paths(paths):
    """Yields the routers of every path of a set, by its next hops alone."""
    everyone = range(paths.routers)
    next_hops = [
        [np.unique(paths.neighbours(r)[mask[:, d]]).tolist() for d in everyone]
        for r, mask in ((r, paths.minimal_port_mask(r)) for r in everyone)
    ]
    for destination in everyone:
        begun = [[source] for source in everyone if source != destination]
        while begun:
            path = begun.pop()
            if path[-1] == destination:
                yield path
            else:
                assert next_hops[path[-1]][destination], "a router without a next hop"
                begun += [[*path, router] for router in next_hops[path[-1]][destination]]


def dependencies(paths):
    """Returns the graph of the links that packets wait for while they hold others."""
    graph = nx.DiGraph()
    for path in paths:
        graph.add_edges_from(pairwise(pairwise(path)))
    return graph


@pytest.mark.parametrize(
    ("params", "arrangement", "colours"),
    [
        (SMALL, "palmtree", 2),
        (SMALL, "circulant", 2),
        (MIDDLE, "palmtree", 4),
        (MIDDLE, "circulant", 4),
        (MIDDLE, "palmtree", 2),
        (LARGE, "palmtree", 4),
    ],
)
def test_global_links_join_one_colour_and_those_of_two_groups_have_all(params, arrangement, colours):
    dragonfly = Dragonfly(**params, arrangement=arrangement)
    colour = router_colours(dragonfly, colours, "a test")
    near, far = dragonfly.global_links.T
    assert (colour[near] == colour[far]).all()
    for group in range(params["groups"]):
        for other in range(params["groups"]):
            if group != other:
                assert set(colour[dragonfly.gateways[group, other]].tolist()) == set(range(colours))
    if arrangement == "palmtree":
        place = np.arange(dragonfly.routers) % params["a"]
        assert colour.tolist() == (np.minimum(place, params["a"] - 1 - place) % colours).tolist()


@pytest.mark.parametrize("order", ["paper", "own"])
@pytest.mark.parametrize(
    ("name", "params", "arrangement"),
    [
        (TWO_COLOR, SMALL, "palmtree"),
        (TWO_COLOR, SMALL, "circulant"),
        (TWO_COLOR, MIDDLE, "palmtree"),
        (FOUR_COLOR, MIDDLE, "palmtree"),
        (FOUR_COLOR, MIDDLE, "circulant"),
    ],
)
def test_packets_on_coloured_paths_never_wait_for_each_other_in_a_circle(name, params, arrangement, order):
    paths = PATH_SETS[name].restrict(Dragonfly(**params, arrangement=arrangement), order=order)
    found = list(all_paths(paths))
    hops = paths.distance_table
    assert {(path[0], path[-1]) for path in found} == {
        (s, d) for s in range(paths.routers) for d in range(paths.routers) if s != d
    }
    for path in found:
        assert len(path) - 1 == hops[path[0], path[-1]] <= 3
        # A router is on no path if it is farther from both ends than the path is long.
        # Not in the paper's order: the path to a router may be longer than one that passes it.
        if order == "own":
            assert all(hops[path[0], router] <= place for place, router in enumerate(path))
        crossed = sum(paths.whole.group_of[a] != paths.whole.group_of[b] for a, b in pairwise(path))
        assert crossed == (paths.whole.group_of[path[0]] != paths.whole.group_of[path[-1]])
    assert nx.is_directed_acyclic_graph(dependencies(found))


def test_hierarchical_paths_of_the_same_dragonfly_do_wait_in_circles():
    assert not nx.is_directed_acyclic_graph(
        dependencies(all_paths(with_paths(Dragonfly(**SMALL), "hierarchical")))
    )


@pytest.mark.parametrize("routing", [TWO_COLOR, "two-color:order=own", "valiant:over=two-color"])
def test_two_color_is_proven_with_a_failed_link_or_switch(routing):
    plan = make_plan(Dragonfly(**SMALL), 1, routing)
    proof = prove(plan, [*link_failures(plan.topology), *switch_failures(plan.topology)])
    assert proof.ok
    assert not plan.unprotected


@pytest.mark.parametrize(
    ("params", "name", "message"),
    [
        ({"h": 2, "a": 4}, TWO_COLOR, "trunking for two-color must be at least 2, .* got 1"),
        (SMALL, FOUR_COLOR, "trunking for four-color must be at least 4, .* got 2"),
        (MIDDLE | {"arrangement": "random"}, FOUR_COLOR, "arrangement for four-color .* got random"),
        ({"h": 4, "a": 9, "trunking": 4}, FOUR_COLOR, "palmtree with 5 classes of 9 routers"),
        ({"h": 1, "a": 2}, FOUR_COLOR, "got 1"),
    ],
)
def test_a_dragonfly_without_colours_is_told_the_nearest_that_has_them(params, name, message):
    with pytest.raises(UsageError, match=message) as raised:
        PATH_SETS[name].restrict(Dragonfly(**params))
    a, h, groups, trunking, arrangement = str(raised.value).rpartition(": ")[2].split()[1::2]
    numbers = {"a": int(a), "h": int(h), "groups": int(groups), "trunking": int(trunking)}
    assert PATH_SETS[name].restrict(Dragonfly(**numbers, arrangement=arrangement)).routers


def test_dragonflies_of_hamming_groups_have_no_colours():
    with pytest.raises(UsageError, match=r"groups for two-color .* 2x2"):
        PATH_SETS[TWO_COLOR].restrict(Dragonfly(local="2x2", h=2, trunking=2))
