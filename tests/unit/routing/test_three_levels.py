"""Hierarchical paths of three-level dragonflies: their form, by all paths of all pairs."""

import re
from itertools import pairwise

import numpy as np
import pytest

from routing.path_sets.registry import with_paths
from routing.registry import make_plan
from routing.verification.verifier import prove
from topology.errors import UsageError
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
    with pytest.raises(UsageError, match="got dragonfly3"):
        make_plan(Dragonfly3(a=2, h2=1, h3=1), 1, "hierarchical:gateways=any")
