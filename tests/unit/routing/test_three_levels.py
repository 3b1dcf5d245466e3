"""Hierarchical and coloured paths of three-level dragonflies: their form and their order, by all paths."""

import re
from itertools import pairwise

import numpy as np
import pytest

from routing.deadlock.proof import prove_deadlock_freedom
from routing.path_sets.registry import with_paths
from routing.registry import make_plan
from routing.verification.forwarding_states import StateSpace
from routing.verification.paths import packet_paths
from routing.verification.verifier import prove
from topology.errors import ParameterError, UsageError
from topology.failures import link_failures
from topology.families.dragonflies.dragonfly3 import Dragonfly3


def kinds(dragonfly, path):
    """Returns a letter for each hop of a path: l, m or g."""
    ends = pairwise(path)
    return "".join(
        "g"
        if dragonfly.supergroup_of[u] != dragonfly.supergroup_of[v]
        else "m"
        if dragonfly.group_of[u] != dragonfly.group_of[v]
        else "l"
        for u, v in ends
    )


def all_paths(paths):
    everyone = range(paths.routers)
    masks = [paths.minimal_port_mask(router) for router in everyone]
    for destination in everyone:
        begun = [[source] for source in everyone if source != destination]
        while begun:
            path = begun.pop()
            if path[-1] == destination:
                yield path
                continue
            following = np.unique(paths.neighbours(path[-1])[masks[path[-1]][:, destination]]).tolist()
            assert following
            begun += [[*path, router] for router in following]


@pytest.mark.parametrize(
    "params",
    [
        {"a": 2, "h2": 1, "h3": 1},
        {"a": 2, "h2": 1, "h3": 1, "t3": 2},
        {"a": 2, "h2": 2, "h3": 1, "t2": 2, "t3": 3},
        {"a": 3, "h2": 1, "h3": 1, "t2": 3, "t3": 2},
    ],
)
def test_paths_have_one_link_between_supergroups_and_one_between_groups_on_either_side(params):
    dragonfly = Dragonfly3(**params)
    paths = with_paths(dragonfly, "hierarchical")
    pairs, forms = set(), set()
    for path in all_paths(paths):
        form = kinds(dragonfly, path)
        within = dragonfly.supergroup_of[path[0]] == dragonfly.supergroup_of[path[-1]]
        assert re.fullmatch("l?m?l?" if within else "l?m?l?gl?m?l?", form), form
        assert len(form) == paths.distance_table[path[0], path[-1]]
        pairs.add((path[0], path[-1]))
        forms.add(form)
    assert len(pairs) == dragonfly.routers * (dragonfly.routers - 1)
    if params.get("t3", 1) == params.get("t2", 1) == 1:
        assert "lmlglml" in forms


def test_plans_of_three_levels_are_proven_with_failed_links():
    plan = make_plan(Dragonfly3(a=2, h2=1, h3=1), 1, "hierarchical")
    assert prove(plan, [*link_failures(plan.topology)][::5]).ok


def test_gateways_of_three_levels_cannot_be_chosen():
    with pytest.raises(UsageError, match=r"dragonfly3 .* nearest, got any"):
        make_plan(Dragonfly3(a=2, h2=1, h3=1), 1, "hierarchical:gateways=any")


def test_a_dragonfly_without_four_colours_is_named_by_its_own_options():
    with pytest.raises(ParameterError, match=r"^t2 .* got 1 with a 3 and h2 1; try --a .* --h2 .* --t3"):
        make_plan(Dragonfly3(a=3, h2=1, h3=1), 1, "four-color")


# The classes of links in their order; those of one line come in any order.
ORDER = (
    ("l+0AA", "l+0BA"),
    ("mA",),
    ("l+1AA", "l+0AB"),
    ("gA", "gB"),
    ("l+1AB", "l+1BB"),
    ("mB",),
    ("l+1BA", "l+0BB"),
)
RANK = {name: rank for rank, names in enumerate(ORDER) for name in names}
COLOURED = {"a": 8, "h2": 1, "t2": 4, "h3": 1, "t3": 12}


def link_class(dragonfly, near, far):
    """Returns the class of a link, by the positions of its ends in their groups of eight."""
    (x, p), (y, q) = (("0A", "0B", "1A", "1B")[min(place, 7 - place)] for place in (near % 8, far % 8))
    if kinds(dragonfly, [near, far]) == "l":
        return f"l+{(int(y) - int(x)) % 2}{p}{q}"
    assert (x, p) == (y, q), "links to other groups join routers of one label"
    return kinds(dragonfly, [near, far]) + p


def test_coloured_paths_of_three_levels_ascend_in_one_order():
    dragonfly = Dragonfly3(**COLOURED)
    space = StateSpace(make_plan(dragonfly, 1, "four-color", local_repair=False))
    forms = set()
    for source in space.hosts[::17]:
        for destination in space.hosts:
            if source == destination:
                continue
            paths = list(packet_paths(space, source, destination))
            assert paths
            for path in paths:
                assert not path.fault
                hops = [link_class(dragonfly, *ends) for ends in pairwise(path.routers)]
                ranks = [RANK[hop] for hop in hops]
                assert ranks == sorted(ranks) or len(hops) == 1, hops
                assert len(set(ranks)) == len(ranks), hops
                form = kinds(dragonfly, path.routers)
                assert form.count("g") == (source.router // 24 != destination.router // 24)
                assert re.fullmatch("l?m?l?|l?m?l?gl?m?l?", form)
                forms.add(form)
    assert "lmlglml" in forms


@pytest.mark.parametrize(
    "params", [COLOURED, pytest.param({**COLOURED, "h2": 2, "t3": 20}, marks=pytest.mark.slow)]
)
def test_four_colours_of_three_levels_need_one_channel(params):
    plan = make_plan(Dragonfly3(**params), 1, "four-color")
    assert prove_deadlock_freedom(plan, 1, []).acyclic
    assert prove(plan, [*link_failures(plan.topology)][:: len(plan.topology.link_list) // 2]).ok
    hierarchical = make_plan(Dragonfly3(**params), 1, "hierarchical")
    assert not prove_deadlock_freedom(hierarchical, 1, []).acyclic


def test_supergroups_need_links_of_all_labels():
    with pytest.raises(UsageError, match=r"t3 for four-color .* got 3"):
        make_plan(Dragonfly3(**{**COLOURED, "t3": 3}), 1, "four-color")
    with pytest.raises(UsageError, match=r"t2 for four-color .* 4 labels, got 1"):
        make_plan(Dragonfly3(a=4, h2=1, h3=1, t3=4), 1, "four-color")
    with pytest.raises(UsageError, match=r"order of four-color .* got own"):
        make_plan(Dragonfly3(**COLOURED), 1, "four-color:order=own")
