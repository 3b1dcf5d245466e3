"""Patterns of routers against their definitions, on several fabrics."""

import numpy as np
import pytest
from support.builders.leaf_spine import LeafSpine

from topology.clusters import Clusters
from topology.errors import ParameterError
from topology.families.dragonflies.dragonfly import Dragonfly
from topology.families.hierarchical.megafly import Megafly
from topology.families.low_diameter.polarfly import PolarFly
from topology.families.low_diameter.polarstar import PolarStar
from topology.families.low_diameter.slimfly import SlimFly
from traffic.workload.patterns import PATTERNS, make_pattern

# Patterns of groups need clusters of equal size; that of only paths does not exist on small PolarFlies.
NOT_EVERYWHERE = ("adversarial", "adv", "group-permutation", "worst-case")
PERMUTATIONS = [name for name, d in PATTERNS.items() if d.router_map and name not in NOT_EVERYWHERE]
ORDERS = (2, 3, 4, 5, 7, 8)


def partners(name, q, hosts=1, seed=1):
    return np.array(make_pattern(name, PolarFly(q), hosts, seed).partners)


@pytest.mark.parametrize("q", ORDERS)
@pytest.mark.parametrize("name", PERMUTATIONS)
def test_every_router_sends_to_one_other_and_receives_from_one(name, q):
    found = partners(name, q)
    assert sorted(found) == list(range(q * q + q + 1))
    assert (found != np.arange(len(found))).all()


@pytest.mark.parametrize("q", ORDERS)
def test_tornado_sends_half_way_round(q):
    routers = q * q + q + 1
    assert (partners("tornado", q) == (np.arange(routers) + routers // 2) % routers).all()


@pytest.mark.parametrize("by", [1, 3, 6, 14, 100])
def test_a_shift_goes_on_by_its_distance(by):
    assert (partners(f"shift:{by}", 3) == (np.arange(13) + by) % 13).all()


def test_a_shift_counts_the_routers_with_hosts():
    assert make_pattern("shift:2", LeafSpine(5, 3), 1, 1).partners == (2, 3, 4, 0, 1)


@pytest.mark.parametrize("q", ORDERS)
@pytest.mark.parametrize(("name", "distance"), [("perm1hop", 1), ("perm2hop", 2)])
def test_permutations_by_distance_keep_it(name, distance, q):
    found = partners(name, q)
    assert (PolarFly(q).distances(np.arange(len(found)), found) == distance).all()


FABRICS = [PolarStar(2, "iq", 3), SlimFly(4)]
on_two_fabrics = pytest.mark.parametrize("fabric", FABRICS, ids=["PolarStar 56", "Slim Fly 32"])


@on_two_fabrics
def test_neighbour_sends_to_the_next_router(fabric):
    found = make_pattern("neighbour", fabric, 2, 1).partners
    assert found == tuple((host + 2) % (2 * fabric.routers) for host in range(2 * fabric.routers))


@on_two_fabrics
def test_adversarial_sends_every_group_to_one_other_as_far_as_can_be(fabric):
    routers = np.array(make_pattern("adversarial", fabric, 1, 1).partners)
    assert sorted(routers) == list(range(fabric.routers))
    groups = fabric.clusters().members
    group_of = {router: number for number, group in enumerate(groups) for router in group}
    targets = [{group_of[routers[router]] for router in group} for group in groups]
    assert all(len(target) == 1 for target in targets)
    assert len(set.union(*targets)) == len(groups)
    assert all(number not in target for number, target in enumerate(targets))
    distances = fabric.distances(np.arange(fabric.routers), routers)
    assert (distances == fabric.diameter).all()


def test_adversarial_needs_groups_of_equal_size():
    with pytest.raises(ParameterError, match="polarfly"):
        make_pattern("adversarial", PolarFly(3), 1, 1)
    with pytest.raises(ParameterError, match="leafspine"):
        make_pattern("adversarial", Grouped(5), 1, 1)


@on_two_fabrics
@pytest.mark.parametrize(("name", "distance"), [("perm1hop", 1), ("perm2hop", 2)])
def test_permutations_keep_their_distance_elsewhere(fabric, name, distance):
    found = np.array(make_pattern(name, fabric, 1, 1).partners)
    assert (fabric.distances(np.arange(fabric.routers), found) == distance).all()
    assert sorted(found) == list(range(fabric.routers))


class Grouped(LeafSpine):
    """A leaf-spine fabric of two groups, each of which has two leaves and a spine."""

    def clusters(self):
        return Clusters(((0, 1, 4), (2, 3, 5)))


def test_tornado_goes_half_way_round_the_routers_with_hosts():
    # 5 leaves: i to i + 2, not to i + 4 of 8 routers.
    assert make_pattern("tornado", LeafSpine(5, 3), 1, 1).partners == (2, 3, 4, 0, 1)
    assert make_pattern("neighbour", LeafSpine(5, 3), 2, 1).partners == (2, 3, 4, 5, 6, 7, 8, 9, 0, 1)


@pytest.mark.parametrize("name", ["random-permutation", "perm2hop"])
@pytest.mark.parametrize("seed", range(5))
def test_random_permutations_are_of_the_routers_with_hosts(name, seed):
    found = make_pattern(name, LeafSpine(6, 2), 3, seed).partners
    assert sorted(found) == list(range(18))
    assert all(host // 3 != partner // 3 and host % 3 == partner % 3 for host, partner in enumerate(found))


def test_a_permutation_over_a_distance_at_which_no_router_has_hosts_is_refused():
    with pytest.raises(ParameterError, match=r"perm1hop.*distance 1.*leafspine"):
        make_pattern("perm1hop", LeafSpine(), 1, 1)


def test_adversarial_pairs_the_groups_routers_with_hosts():
    found = make_pattern("adversarial", Grouped(), 1, 1).partners
    assert (sorted(found[:2]), sorted(found[2:])) == ([2, 3], [0, 1])


DRAGONFLY = Dragonfly(a=4, h=2)


@pytest.mark.parametrize("by", [1, 2, 8, 10])
def test_adv_sends_each_group_to_the_one_so_many_groups_on(by):
    found = np.array(make_pattern(f"adv:{by}", DRAGONFLY, 1, 1).partners)
    assert (found == (np.arange(36) + 4 * by) % 36).all()


def test_adv_leaves_routers_without_hosts_out_of_their_groups():
    megafly = Megafly(rho=1, a=4)
    pattern = make_pattern("adv:1", megafly, 1, 1)
    leaves = np.flatnonzero(megafly.level_of == 0)
    groups = [set(members) for members in megafly.clusters().members]
    for leaf, partner in zip(leaves, leaves[list(pattern.partners)], strict=True):
        own = next(number for number, group in enumerate(groups) if leaf in group)
        assert partner in groups[(own + 1) % len(groups)]


@pytest.mark.parametrize(("name", "told"), [("adv:9", "number of groups, 9, got 9"), ("adv:0", "by")])
def test_adv_to_the_own_group_is_refused(name, told):
    with pytest.raises(ParameterError, match=told):
        make_pattern(name, DRAGONFLY, 1, 1)


def test_a_group_permutation_keeps_groups_together_and_places_in_them():
    found = np.array(make_pattern("group-permutation:5", DRAGONFLY, 1, 1).partners)
    assert (found % 4 == np.arange(36) % 4).all()
    groups = found.reshape(9, 4) // 4
    assert (groups == groups[:, :1]).all()
    assert sorted(groups[:, 0]) == list(range(9))
    assert (groups[:, 0] != np.arange(9)).all()


@pytest.mark.parametrize("name", ["adv", "group-permutation"])
def test_patterns_of_groups_need_groups_of_equal_size(name):
    with pytest.raises(ParameterError, match=f"pattern {name} .* clusters"):
        make_pattern(name, PolarFly(3), 1, 1)
