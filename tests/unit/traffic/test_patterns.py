"""Patterns against their definitions, on several fabrics."""

import numpy as np
import pytest
from leaf_spine import LeafSpine

from topology.clusters import Clusters
from topology.errors import ParameterError, UsageError
from topology.families.polarfly import PolarFly
from topology.families.polarstar import PolarStar
from topology.families.slimfly import SlimFly
from traffic.workload.patterns import IDLE, NAMES, PATTERNS, Pattern, make_pattern
from traffic.workload.placement import place_ranks
from traffic.workload.schedule import PatternSchedule, schedule_from_dict

PERMUTATIONS = [name for name, d in PATTERNS.items() if d.router_map and name != "adversarial"]
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


@pytest.mark.parametrize("q", ORDERS)
@pytest.mark.parametrize(("name", "distance"), [("perm1hop", 1), ("perm2hop", 2)])
def test_permutations_by_distance_keep_it(name, distance, q):
    found = partners(name, q)
    assert (PolarFly(q).distances(np.arange(len(found)), found) == distance).all()


@pytest.mark.parametrize("name", PERMUTATIONS)
def test_a_routers_hosts_all_send_to_the_hosts_of_its_partner(name):
    routers, hosts = partners(name, 3), partners(name, 3, hosts=4)
    for host, partner in enumerate(hosts):
        assert partner // 4 == routers[host // 4]
        assert partner % 4 == host % 4


@pytest.mark.parametrize("name", ["random-permutation", "perm1hop", "perm2hop"])
def test_the_seed_decides(name):
    assert (partners(name, 7, seed=3) == partners(name, 7, seed=3)).all()
    assert (partners(name, 7, seed=3) != partners(name, 7, seed=4)).any()


@pytest.mark.parametrize("name", ["uniform", *PERMUTATIONS])
def test_shares_say_where_the_packets_go(name):
    pattern = make_pattern(name, PolarFly(2), 2, 1)
    shares = pattern.shares()
    assert shares.sum(axis=1) == pytest.approx(1)
    assert np.trace(shares) == 0
    sources = np.repeat(np.arange(pattern.hosts), 2000)
    drawn = pattern.destinations(sources, np.random.default_rng(1))
    counted = np.zeros_like(shares)
    np.add.at(counted, (sources, drawn), 1 / 2000)
    assert np.abs(counted - shares).max() < 0.04


def test_a_schedule_keeps_its_partners_through_a_file():
    pattern = make_pattern("perm2hop", PolarFly(3), 2, 1)
    schedule = PatternSchedule(pattern, 100.0, 10**9, 4, 1)
    assert schedule_from_dict(schedule.to_dict()) == schedule
    for events in schedule.chunks():
        assert (np.array(pattern.partners)[events.source] == events.destination).all()


def test_an_unknown_pattern_is_refused():
    with pytest.raises(UsageError, match=r"adversarial, bit-complement.*'storm'"):
        make_pattern("storm", PolarFly(2), 1, 1)


def test_uniform_has_no_fixed_partners():
    assert make_pattern("uniform", PolarFly(2), 3, 1) == Pattern("uniform", 21)


# ---- by their definitions, on two more fabrics ----

FABRICS = [PolarStar(2, "iq", 3), SlimFly(4)]
on_two_fabrics = pytest.mark.parametrize("fabric", FABRICS, ids=["PolarStar 56", "Slim Fly 32"])


@on_two_fabrics
def test_neighbour_sends_to_the_next_router(fabric):
    found = make_pattern("neighbour", fabric, 2, 1).partners
    assert found == tuple((host + 2) % (2 * fabric.routers) for host in range(2 * fabric.routers))


@on_two_fabrics
@pytest.mark.parametrize("hosts", [1, 3])
@pytest.mark.parametrize("name", ["bit-shuffle", "bit-reverse", "bit-complement"])
def test_bit_patterns_do_with_the_bits_what_they_are_called(fabric, hosts, name):
    partners = make_pattern(name, fabric, hosts, 1).partners
    endpoints = fabric.routers * hosts
    bits = len(bin(endpoints)) - 3
    assert 2**bits <= endpoints < 2 ** (bits + 1)
    assert len(partners) == endpoints
    for host, partner in enumerate(partners):
        word = f"{host:0{bits}b}"
        expected = {
            "bit-shuffle": word[1:] + word[0],
            "bit-reverse": word[::-1],
            "bit-complement": word.translate(str.maketrans("01", "10")),
        }[name]
        if host >= 2**bits or expected == word:
            assert partner == IDLE
        else:
            assert partner == int(expected, 2)


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


def test_adversarial_needs_groups():
    with pytest.raises(ParameterError, match="polarfly"):
        make_pattern("adversarial", PolarFly(3), 1, 1)


@on_two_fabrics
def test_uniform_goes_everywhere_else(fabric):
    shares = make_pattern("uniform", fabric, 2, 1).shares()
    hosts = 2 * fabric.routers
    assert shares == pytest.approx((1 - np.eye(hosts)) / (hosts - 1))


@on_two_fabrics
@pytest.mark.parametrize(("name", "distance"), [("perm1hop", 1), ("perm2hop", 2)])
def test_permutations_keep_their_distance_elsewhere(fabric, name, distance):
    found = np.array(make_pattern(name, fabric, 1, 1).partners)
    assert (fabric.distances(np.arange(fabric.routers), found) == distance).all()
    assert sorted(found) == list(range(fabric.routers))


@pytest.mark.parametrize("name", ["random-permutation", "perm1hop", "perm2hop"])
def test_a_seed_behind_the_name_counts_and_not_the_runs(name):
    assert partners(f"{name}:7", 5, seed=1).tolist() == partners(name, 5, seed=7).tolist()
    assert partners(f"{name}:7", 5, seed=1).tolist() == partners(f"{name}:7", 5, seed=2).tolist()


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("tornado:7", "tornado.*'7'"),
        ("perm1hop:x", "perm1hop:7.*'x'"),
        ("perm1hop:", "perm1hop:7.*''"),
        ("matrix", "matrix:demand.csv"),
        ("nonsense:3", "tornado.*'nonsense'"),
        ("allreduce:ring", "tornado.*'allreduce'.*polarlab run"),
    ],
)
def test_what_may_follow_a_name(name, said):
    with pytest.raises(UsageError, match=said):
        make_pattern(name, PolarFly(3), 1, 1)


class Two(PolarFly):
    routers = 2


def test_too_few_endpoints_are_told():
    with pytest.raises(ParameterError, match=r"4 .*bit-shuffle, got 2"):
        make_pattern("bit-shuffle", Two(2), 1, 1)


@pytest.mark.parametrize("name", NAMES)
def test_every_pattern_says_what_it_is_and_where_it_is_from(name):
    definition = PATTERNS[name]
    assert definition.description
    assert definition.source
    assert definition.level in ("packets", "routers", "endpoints")


# ---- fabrics in which some routers have no hosts ----


class HostsAt(LeafSpine):
    """A leaf-spine fabric whose leaves have numbers of hosts of their own."""

    def __init__(self, counts: list[int]) -> None:
        super().__init__(len(counts), 2)
        self.counts = counts

    def host_counts(self, _concentration: int) -> np.ndarray:
        return np.array([*self.counts, *[0] * (self.routers - self.leaves)])


class Grouped(LeafSpine):
    """A leaf-spine fabric of two groups, each of which has two leaves and a spine."""

    def clusters(self):
        return Clusters(((0, 1, 4), (2, 3, 5)))


class Crossed(LeafSpine):
    """A leaf-spine fabric whose even leaves are one cluster, and its odd leaves the other."""

    def clusters(self):
        return Clusters(((0, 2), (1, 3)))


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


@pytest.mark.parametrize("name", [name for name in NAMES if name not in ("adversarial", "perm1hop")])
def test_every_pattern_counts_the_hosts_that_there_are(name, tmp_path):
    pattern = make_pattern(matrix(tmp_path, "h1_1,h4_2,1") if name == "matrix" else name, LeafSpine(), 2, 1)
    assert pattern.hosts == 8
    assert pattern.shares().shape == (8, 8)
    assert pattern.senders.max() < 8


def test_hosts_are_matched_modulo_the_number_of_the_partners_hosts():
    # Hosts 0, 1, 2 at router 0; host 3 at router 2; hosts 4, 5 at router 3.
    assert make_pattern("neighbour", HostsAt([3, 0, 1, 2]), 1, 1).partners == (3, 3, 3, 4, 0, 1)


def test_patterns_need_two_routers_with_hosts():
    with pytest.raises(ParameterError, match=r"routers with hosts must be at least 2.*tornado, got 1"):
        make_pattern("tornado", HostsAt([4, 0]), 1, 1)
    with pytest.raises(ParameterError, match=r"endpoints must be at least 2.*uniform, got 1"):
        make_pattern("uniform", HostsAt([1, 0]), 1, 1)


def test_a_matrix_names_hosts_of_routers_that_have_some(tmp_path):
    with pytest.raises(ParameterError, match=r"line 2: destination .*h1_1 to h4_1, got 'h5_1'"):
        make_pattern(matrix(tmp_path, "h1_1,h5_1,1"), LeafSpine(), 1, 1)


def test_ranks_are_placed_on_the_hosts_that_there_are():
    assert place_ranks("linear", 4, HostsAt([2, 0, 2]), 1, 1) == (0, 1, 2, 3)
    assert sorted(place_ranks("random:3", 8, LeafSpine(), 2, 1)) == list(range(8))
    with pytest.raises(ParameterError, match="2 to 8 on this fabric, got 9"):
        place_ranks("linear", 9, LeafSpine(), 2, 1)


def test_the_placement_by_clusters_leaves_out_routers_without_hosts():
    assert place_ranks("cluster", 8, Grouped(), 2, 1) == tuple(range(8))
    assert place_ranks("cluster", 4, Crossed(), 1, 1) == (0, 2, 1, 3)


@pytest.mark.parametrize(
    ("placement", "message"),
    [("best", "linear, random, .*, got 'best'"), ("linear:7", "'7'"), ("random:x", "random:7, got 'x'")],
)
def test_wrong_placements_are_refused(placement, message):
    with pytest.raises(UsageError, match=message):
        place_ranks(placement, 2, LeafSpine(), 2, 1)


# ---- idle hosts and matrices ----


def test_idle_hosts_send_nothing_and_the_others_as_much_as_ever():
    pattern = make_pattern("bit-complement", PolarFly(3), 1, 1)  # 8 of 13 endpoints
    assert pattern.senders.tolist() == list(range(8))
    schedule = PatternSchedule(pattern, 1000.0, 2_000_000_000, 4, seed=3)
    counts = np.zeros(13, int)
    for events in schedule.chunks():
        counts += np.bincount(events.source, minlength=13)
        assert (events.destination == events.source ^ 7).all()
    assert (counts[8:] == 0).all()
    assert counts[:8] == pytest.approx(2000, abs=250)
    assert schedule_from_dict(schedule.to_dict()) == schedule


def matrix(tmp_path, *lines, header="source,destination,share"):
    path = tmp_path / "demand.csv"
    path.write_text("\n".join([header, *lines]) + "\n")
    return f"matrix:{path}"


def test_a_matrix_gives_every_destination_its_share(tmp_path):
    name = matrix(tmp_path, "h3_1, h1_2, 0.25", "h1_1,h2_1,1.0", "h3_1,h5_1,0.7", "", "h3_1,h2_2,0.05")
    pattern = make_pattern(name, PolarFly(2), 2, 1)
    assert pattern.senders.tolist() == [0, 4]
    shares = pattern.shares()
    assert (shares[0, 2], shares[4, 1], shares[4, 8], shares[4, 3]) == (1, 0.25, 0.7, 0.05)
    assert shares.sum() == pytest.approx(2)
    generator = np.random.default_rng(1)
    drawn = pattern.destinations(np.full(20_000, 4), generator)
    assert np.bincount(drawn, minlength=14) / 20_000 == pytest.approx(shares[4], abs=0.02)
    assert set(pattern.destinations(np.zeros(100, int), generator).tolist()) == {2}
    schedule = PatternSchedule(pattern, 100.0, 1_000_000_000, 4, seed=3)
    assert schedule_from_dict(schedule.to_dict()) == schedule


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (["h1_1,h9_1,1"], "line 2: .*h1_1 to h7_1, got 'h9_1'"),
        (["h1_1,h2_1,0.5"], "h1_1 must be 1, got 0.5"),
        (["h1_1,h2_1,1", "h1_1,h2_1,1"], "line 3: .*h1_1, h2_1"),
        (["h1_1,h1_1,1"], "line 2: .*h1_1"),
        (["h1_1,h2_1,x"], "line 2: .*0 to 1, got 'x'"),
        (["h1_1,h2_1,nan"], "line 2: .*0 to 1, got"),
        (["h1_1,h2_1,-1"], "line 2: .*0 to 1, got"),
        (["h1_1,h2_1"], "line 2: .*3, got 2"),
        (["h1_1,h2_1,0"], "share must be over 0"),
        ([], "share must be over 0"),
    ],
)
def test_a_wrong_matrix_is_refused_with_the_place(tmp_path, lines, said):
    with pytest.raises(ParameterError, match=said):
        make_pattern(matrix(tmp_path, *lines), PolarFly(2), 1, 1)


def test_a_file_that_is_no_matrix_is_refused(tmp_path):
    with pytest.raises(ParameterError, match=r"line 1: .*source,destination,share, got 'a,b'"):
        make_pattern(matrix(tmp_path, header="a,b"), PolarFly(2), 1, 1)
    with pytest.raises(ParameterError, match="cannot be read"):
        make_pattern(f"matrix:{tmp_path}", PolarFly(2), 1, 1)
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ParameterError, match="CSV"):
        make_pattern(f"matrix:{tmp_path}/binary", PolarFly(2), 1, 1)


def test_a_matrix_may_begin_with_a_byte_order_mark(tmp_path):
    path = tmp_path / "excel.csv"
    path.write_bytes(b"\xef\xbb\xbfsource,destination,share\nh1_1,h2_1,1\n")
    pattern = make_pattern(f"matrix:{path}", PolarFly(2), 1, 1)
    assert pattern.matrix == ((0, 1, 1.0),)
