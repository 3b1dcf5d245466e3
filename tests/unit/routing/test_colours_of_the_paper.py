"""Two- and four-colour routing against an enumeration of the paths that the paper's text allows."""

from functools import cache
from itertools import pairwise

import networkx as nx
import pytest
from support.oracles.coloured_paths import ORDER, ColouredPaths

from routing.path_sets.colours import router_colours
from routing.registry import make_plan
from routing.verification.forwarding_states import StateSpace
from routing.verification.paths import packet_paths
from routing.verification.verifier import prove
from topology.errors import UsageError
from topology.failures import link_failures
from topology.families.dragonflies.dragonfly import Dragonfly

SMALL = {"h": 2, "a": 4, "groups": 5, "trunking": 2}
MIDDLE = {"h": 4, "a": 8, "groups": 9, "trunking": 4}
LABELS = {2: ("0", "1"), 4: ("0A", "0B", "1A", "1B")}


@cache
def fabric(colours, arrangement="palmtree"):
    """Returns a dragonfly and the oracle of its paths."""
    dragonfly = Dragonfly(**(SMALL if colours == 2 else MIDDLE), arrangement=arrangement)
    labels = [LABELS[colours][colour] for colour in router_colours(dragonfly, colours, "a test")]
    return dragonfly, ColouredPaths(dragonfly, dragonfly.a, labels)


def installed(dragonfly, routing):
    """Yields (source, destination, routers of every path) of pairs of different groups, by a plan's rules."""
    space = StateSpace(make_plan(dragonfly, 1, routing, local_repair=False))
    group_of = dragonfly.group_of
    for source in space.hosts:
        for destination in space.hosts:
            if group_of[source.router] != group_of[destination.router]:
                paths = packet_paths(space, source, destination)
                assert not any(path.fault for path in paths)
                yield source.router, destination.router, {path.routers for path in paths}


def compare(routing, colours, arrangement, allowed):
    """Compares all paths of all pairs, and returns the graph of the dependencies between their links."""
    dragonfly, oracle = fabric(colours, arrangement)
    graph = nx.DiGraph()
    pairs = 0
    for source, destination, paths in installed(dragonfly, routing):
        assert paths == allowed(oracle, source, destination)
        assert paths
        pairs += 1
        for path in paths:
            graph.add_edges_from(pairwise(pairwise(path)))
    assert pairs == dragonfly.routers * (dragonfly.routers - dragonfly.a)
    return graph, oracle


def alternating(group, groups=5):
    """Returns the rank of a group: 0, 2, 4, then 3, 1."""
    return [*range(0, groups, 2), *reversed(range(1, groups, 2))].index(group)


@pytest.mark.parametrize("arrangement", ["palmtree", "circulant"])
@pytest.mark.parametrize(("ranks", "rank"), [("index", int), ("alternating", alternating)])
def test_two_color_takes_exactly_the_paths_of_section_6_1(arrangement, ranks, rank):
    graph, _ = compare(
        f"two-color:order=paper,ranks={ranks}",
        2,
        arrangement,
        lambda oracle, s, d: oracle.two_color(s, d, rank),
    )
    assert nx.is_directed_acyclic_graph(graph)


def minimal(oracle, source, destination):
    return oracle.four_color(source, destination)


def nonminimal(oracle, source, destination):
    return oracle.four_color_nonminimal(source, destination)


def adaptive(oracle, source, destination):
    return minimal(oracle, source, destination) | nonminimal(oracle, source, destination)


@pytest.mark.parametrize(
    ("routing", "allowed", "arrangement"),
    [
        ("four-color", minimal, "palmtree"),
        ("four-color", minimal, "circulant"),
        ("four-color-valiant", nonminimal, "palmtree"),
        pytest.param("four-color-valiant", nonminimal, "circulant", marks=pytest.mark.slow),
        pytest.param("four-color-adaptive", adaptive, "palmtree", marks=pytest.mark.slow),
    ],
)
def test_four_color_takes_exactly_the_paths_of_section_6_2_in_ascending_order(routing, allowed, arrangement):
    graph, oracle = compare(f"{routing}:order=paper", 4, arrangement, allowed)
    for before, after in graph.edges:
        first, second = oracle.ranks((*before, after[1]))
        assert first < second
    assert nx.is_directed_acyclic_graph(graph)


def test_the_oracle_has_the_examples_of_section_6_2():
    _, oracle = fabric(4)
    others = [router for router in oracle.routers if oracle.group[router]]
    for source in (router for router in oracle.routers[:8] if oracle.labels[router] == "0A"):
        for destination in others:
            label = oracle.labels[destination]
            if label == "1A":
                for path in oracle.four_color(source, destination):
                    assert oracle.classes(path)[-2:] == ("gA", "+1AA")
                    assert oracle.classes(path)[:-2] in ((), ("+0AA",))
            if label == "0A":
                [path] = oracle.four_color(source, destination)
                assert oracle.classes(path) == ("+1AB", "gB", "+1BA")
                paths = oracle.four_color_nonminimal(source, destination)
                for path in paths:
                    assert oracle.classes(path)[-5:] == ("gA", "+0AB", "+1BB", "gB", "+1BA")
                    assert oracle.classes(path)[:-5] in ((), ("+0AA",))
                ends = (0, oracle.group[destination])
                assert {oracle.middle(path) for path in paths} == {
                    router
                    for router in oracle.routers
                    if oracle.labels[router] == "0B" and oracle.group[router] not in ends
                }


@pytest.mark.parametrize("routing", ["four-color:order=paper", "four-color-valiant:order=paper"])
def test_four_color_is_proven_with_failed_links(routing):
    plan = make_plan(fabric(4)[0], 1, routing)
    assert prove(plan, [*link_failures(plan.topology)][::45]).ok


def test_ranks_belong_to_the_order_of_the_paper():
    with pytest.raises(UsageError, match="ranks of two-color"):
        make_plan(fabric(2)[0], 1, "two-color:ranks=alternating,order=own")


def test_the_order_names_every_class_of_links_once():
    classes = [link for node in ORDER for link in node]
    assert len(classes) == len({*classes}) == 10
