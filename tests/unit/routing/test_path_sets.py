"""Routings within a path set: the links that their packets take, by walks over the rules of the switches."""

from itertools import pairwise

import numpy as np
import pytest

from routing.path_sets.hierarchical import entry_routers
from routing.path_sets.up_down import central_router, up_down_paths
from routing.registry import make_plan
from routing.verification.forwarding_states import StateSpace
from routing.verification.paths import packet_paths
from routing.verification.verifier import prove
from topology.errors import ParameterError, UsageError
from topology.failures import link_failures
from topology.registry import FAMILIES, family, make_topology
from topology.shortest_paths import TabledTopology

TRUNKED = make_topology("dragonfly", {"a": 4, "h": 2, "trunking": 2})
CANONICAL = make_topology("dragonfly", {"a": 4, "h": 2})
CASCADE = make_topology("dragonfly", {"local": "2x3", "h": 1})


def router_paths(plan):
    """Yields the routers of every path that the packets of any two routers with hosts may take."""
    space = StateSpace(plan)
    for source in space.hosts:
        for destination in space.hosts:
            if source != destination:
                for path in packet_paths(space, source, destination):
                    assert not path.fault
                    yield path.routers


def globals_of(topology, routers):
    """Returns, for each link of a path, whether it leads to another group."""
    return [topology.group_of[a] != topology.group_of[b] for a, b in pairwise(routers)]


@pytest.mark.parametrize("topology", [TRUNKED, CANONICAL, CASCADE], ids=repr)
def test_hierarchical_paths_take_at_most_one_global_link_and_no_detour_in_a_group(topology):
    plan = make_plan(topology, 1, "hierarchical", local_repair=False)
    longest = 0
    for routers in router_paths(plan):
        between_groups = topology.group_of[routers[0]] != topology.group_of[routers[-1]]
        assert sum(globals_of(topology, routers)) == between_groups
        longest = max(longest, len(routers) - 1)
    assert longest == (5 if topology is CASCADE else 3)
    assert prove(plan).ok


@pytest.mark.parametrize("topology", [TRUNKED, CANONICAL], ids=repr)
def test_any_gateway_is_used_unless_the_source_has_its_own_link(topology):
    plan = make_plan(topology, 1, "hierarchical:gateways=any", local_repair=False)
    group_of = topology.group_of
    found = {}
    for routers in router_paths(plan):
        found.setdefault((routers[0], routers[-1]), set()).add(routers)
    for (source, destination), paths in found.items():
        allowed = set()
        group = np.flatnonzero(group_of == group_of[source]).tolist()
        leads = {
            gateway: [n for n in topology.neighbours(gateway) if group_of[n] == group_of[destination]]
            for gateway in group
        }
        for gateway in [source] if leads[source] else group:
            for entry in leads[gateway]:
                walk = (source, gateway, entry, destination)
                allowed.add(tuple(dict.fromkeys(map(int, walk))))
        if group_of[source] == group_of[destination]:
            allowed = {(source, destination)}
        assert paths == allowed
    assert prove(plan).ok


def test_some_hierarchical_paths_are_longer_than_the_shortest_over_two_global_links():
    plan = make_plan(CANONICAL, 1, "hierarchical")
    everyone = np.arange(CANONICAL.routers)
    shortest = CANONICAL.distances(everyone[:, None], everyone)
    own = plan.topology.distances(everyone[:, None], everyone)
    assert (own >= shortest).all()
    assert (own > shortest).any()


def test_the_diameter_is_that_of_the_paths_not_of_the_graph():
    topology = make_topology("torus", {"shape": "3x7"})
    paths = up_down_paths(topology)
    assert paths.diameter == paths.distance_table.max() > topology.diameter
    assert sum(paths.pairs_by_distance().values()) == 21 * 20


def test_trunks_share_the_packets_between_two_groups():
    plan = make_plan(TRUNKED, 1, "hierarchical", local_repair=False)
    used = {
        (a, b)
        for routers in router_paths(plan)
        for a, b in pairwise(routers)
        if globals_of(TRUNKED, (a, b))[0]
    }
    assert used == {tuple(end) for link in TRUNKED.global_links.tolist() for end in (link, link[::-1])}


@pytest.mark.parametrize(
    ("family", "params"),
    [("hyperx", {"shape": "3x4"}), ("torus", {"shape": "5x4"}), ("hypercube", {"dimension": 4})],
)
def test_dimension_order_has_one_shortest_path_that_corrects_the_first_coordinates_first(family, params):
    topology = make_topology(family, params)
    plan = make_plan(topology, 1, "dor", local_repair=False)
    pairs = set()
    for routers in router_paths(plan):
        pair = routers[0], routers[-1]
        assert pair not in pairs
        pairs.add(pair)
        assert len(routers) - 1 == topology.distances(*pair)
        steps = topology.coordinates[list(routers)]
        dimensions = (steps[1:] != steps[:-1]).argmax(axis=1)
        assert (np.diff(dimensions) >= 0).all()
    assert len(pairs) == topology.routers * (topology.routers - 1)


@pytest.mark.parametrize(
    ("family", "params", "upward"),
    [
        ("fat-tree", {"arity": 3, "levels": 3}, 3),
        ("megafly", {"rho": 1, "a": 4}, 1),
        ("orthogonal-fat-tree", {"q": 2}, 1),
    ],
)
def test_paths_over_a_common_ancestor_go_up_and_then_down(family, params, upward):
    topology = make_topology(family, params)
    plan = make_plan(topology, 1, "nca", local_repair=False)
    first_hops = {}
    for routers in router_paths(plan):
        levels = topology.level_of[list(routers)]
        turn = int(levels.argmax())
        assert (np.diff(levels[: turn + 1]) > 0).all()
        assert (np.diff(levels[turn:]) <= 0).all()
        first_hops.setdefault((routers[0], routers[-1]), set()).add(routers[1])
    assert max(map(len, first_hops.values())) >= upward


@pytest.mark.parametrize("example", [f.example for name, f in FAMILIES.items() if name != "graph"])
def test_up_down_paths_never_go_up_again_on_any_family(example):
    name, *words = example.split()
    options = {word.removeprefix("--"): value for word, value in zip(words[::2], words[1::2], strict=True)}
    parameters = {p.key: p.read(options[p.name]) for p in family(name).parameters if p.name in options}
    topology = make_topology(name, parameters)
    restricted = up_down_paths(topology)
    root = central_router(topology)
    away = topology.distances(root, np.arange(topology.routers)).astype(int)
    rank = np.empty(topology.routers, int)
    rank[np.lexsort((np.arange(topology.routers), away))] = np.arange(topology.routers)
    everyone = np.arange(topology.routers)
    hops = restricted.next_hop_table
    at = np.repeat(everyone[:, None], topology.routers, axis=1)
    descended = np.zeros(at.shape, bool)
    for _ in range(restricted.diameter):
        after = hops[at, everyone]
        up = rank[after] < rank[at]
        assert not (up & descended).any()
        descended |= rank[after] > rank[at]
        at = after
    assert (at == everyone).all()
    # Every other allowed port keeps the same length, and so the same property.
    for router in everyone:
        mask = restricted.minimal_port_mask(router)
        assert mask.any(axis=0).sum() == topology.routers - 1
        lengths = restricted.distance_table
        nearer = lengths[topology.neighbours(router)] == lengths[router] - 1
        assert not (mask & ~nearer).any()


@pytest.mark.parametrize("routing", ["valiant-group", "ugal-group"])
def test_detours_by_group_enter_the_other_group_where_a_link_of_the_source_does(routing):
    plan = make_plan(CANONICAL, 1, routing, local_repair=False)
    entries = entry_routers(CANONICAL)
    space = StateSpace(plan)
    for destination in (5, 17, 35):
        for path in packet_paths(space, space.hosts[0], space.hosts[destination]):
            crossed = sum(globals_of(CANONICAL, path.routers))
            assert crossed <= 2
            assert len(path.routers) - 1 <= 5
            if crossed == 2:
                assert set(path.routers) & set(entries[0])
    assert prove(make_plan(CANONICAL, 1, routing)).ok


def test_valiant_goes_over_the_paths_that_it_is_asked_for():
    plan = make_plan(TRUNKED, 1, "valiant:over=hierarchical", local_repair=False)
    space = StateSpace(plan)
    paths = packet_paths(space, space.hosts[0], space.hosts[19])
    found = [globals_of(TRUNKED, path.routers) for path in paths]
    assert max(map(sum, found)) == 2
    assert 3 < max(map(len, found)) <= 6
    assert plan.routing == "valiant:over=hierarchical"


@pytest.mark.parametrize(
    ("family", "params", "routing"),
    [
        ("dragonfly", {"a": 4, "h": 2, "trunking": 2}, "hierarchical"),
        ("hyperx", {"shape": "4x4"}, "dor"),
        ("fat-tree", {"arity": 2, "levels": 3}, "nca"),
        ("jellyfish", {"routers": 20, "degree": 4}, "up-down"),
    ],
)
def test_single_failures_of_links_are_repaired(family, params, routing):
    plan = make_plan(make_topology(family, params), 1, routing)
    assert not [pair for pair in plan.unprotected if "link" in str(pair[2])]
    proof = prove(plan, link_failures(plan.topology), every_host=False)
    assert proof.ok, proof.faults


def test_a_polarfly_under_up_down_does_not_take_detours_made_for_its_shortest_paths():
    topology = make_topology("polarfly", {"q": 3})
    plan = make_plan(topology, 1, "up-down")
    assert isinstance(plan.topology, TabledTopology)
    assert prove(plan, link_failures(topology), every_host=False).ok


@pytest.mark.parametrize(
    ("family", "params", "routing", "told"),
    [
        ("polarfly", {"q": 3}, "hierarchical", "must be dragonfly, .* got polarfly; try min or up-down"),
        ("polarfly", {"q": 3}, "dor", "must be hyperx, torus or hypercube"),
        ("hyperx", {"shape": "4x4"}, "nca", "must be fat-tree, megafly"),
        ("hyperx", {"shape": "4x4"}, "ugal-group", "for ugal-group must be dragonfly"),
        ("hyperx", {"shape": "4x4"}, "ugal:over=nca", "must be fat-tree, megafly"),
        ("dragonfly3", {"a": 2, "h2": 1, "h3": 1}, "two-color", "must be dragonfly, .* got dragonfly3"),
    ],
)
def test_families_without_such_paths_are_refused(family, params, routing, told):
    with pytest.raises(UsageError, match=told):
        make_plan(make_topology(family, params), 1, routing)


def test_a_root_that_is_not_there_is_refused():
    with pytest.raises(ParameterError, match=r"up-down .* 1 to 13, got 14"):
        make_plan(make_topology("polarfly", {"q": 3}), 1, "up-down:root=14")
