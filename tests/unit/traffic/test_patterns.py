"""Patterns by name: their hosts, shares and arguments."""

import json

import numpy as np
import pytest
from support.builders.leaf_spine import LeafSpine

from topology.errors import ParameterError, UsageError
from topology.families.classic.hypercube import Hypercube
from topology.families.low_diameter.polarfly import PolarFly
from topology.families.low_diameter.polarstar import PolarStar
from topology.families.low_diameter.slimfly import SlimFly
from topology.plugins import register
from traffic.workload.patterns import (
    PATTERNS,
    Pattern,
    PatternDefinition,
    make_pattern,
    pattern_name,
    split_name,
)
from traffic.workload.schedule import PatternSchedule, schedule_from_dict

# Patterns of groups need clusters of equal size, and the worst case larger PolarFlies than those here.
ELSEWHERE = ("adversarial", "adv", "group-permutation", "worst-case")
PERMUTATIONS = [name for name, d in PATTERNS.items() if d.router_map and name not in ELSEWHERE]


def partners(name, q, hosts=1, seed=1):
    return np.array(make_pattern(name, PolarFly(q), hosts, seed).partners)


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


HOT = ["hotspot", "hotspot:hosts=3,share=0.4", "hotspot:hosts=14", "hotspot:share=1"]


@pytest.mark.parametrize("name", ["uniform", *PERMUTATIONS, *HOT])
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


def test_hot_spots_get_their_share_and_their_part_of_the_rest():
    shares = make_pattern("hotspot:hosts=2,share=0.6", PolarFly(2), 2, 1).shares()  # hosts 0 and 7 of 14
    rest = 0.4 / 13
    assert shares[3, [0, 7]] == pytest.approx(0.6 / 2 + rest)
    assert shares[3, 1] == pytest.approx(rest)
    assert shares[0, 7] == pytest.approx(0.6 + rest)
    assert shares[0, 0] == 0


def test_a_single_hot_spot_sends_evenly_to_all_others():
    shares = make_pattern("hotspot:share=1", PolarFly(2), 1, 1).shares()
    assert shares[1:, 0] == pytest.approx(1)
    assert shares[0, 1:] == pytest.approx(1 / 6)


def test_a_schedule_keeps_its_hot_spots_through_a_file():
    schedule = PatternSchedule(make_pattern("hotspot:hosts=3", PolarFly(3), 2, 1), 100.0, 10**9, 4, 1)
    again = schedule_from_dict(json.loads(json.dumps(schedule.to_dict())))
    assert again == schedule
    for one, other in zip(schedule.chunks(), again.chunks(), strict=True):
        assert (one.destination == other.destination).all()


@pytest.mark.parametrize(
    ("texts", "name"),
    [
        (["perm1hop:7", "perm1hop:seed=7", "perm1hop:007"], "perm1hop:7"),
        (["shift:3", "shift:by=3"], "shift:by=3"),
        (["shift", "shift:1"], "shift"),
        (["hotspot:8", "hotspot:hosts=8", "hotspot:share=0.50,hosts=8"], "hotspot:hosts=8"),
        (["matrix:a=1,b.csv", "matrix:file=a=1,b.csv"], "matrix:a=1,b.csv"),
        (["uniform"], "uniform"),
    ],
)
def test_a_pattern_has_one_name_for_all_texts_that_mean_the_same(texts, name):
    assert {pattern_name(text) for text in texts} == {name}
    assert pattern_name(name) == name


@pytest.mark.parametrize("text", ["perm2hop:seed=5", "shift:by=3"])
def test_a_pattern_is_the_same_by_each_of_its_names(text):
    one = make_pattern(text, PolarFly(3), 1, 1)
    assert one.name == pattern_name(text)
    assert one == make_pattern(text.replace("seed=", "").replace("by=", ""), PolarFly(3), 1, 2)


def test_a_schedule_keeps_its_partners_through_a_file():
    pattern = make_pattern("perm2hop", PolarFly(3), 2, 1)
    schedule = PatternSchedule(pattern, 100.0, 10**9, 4, 1)
    assert schedule_from_dict(schedule.to_dict()) == schedule
    for events in schedule.chunks():
        assert (np.array(pattern.partners)[events.source] == events.destination).all()


def test_uniform_has_no_fixed_partners():
    assert make_pattern("uniform", PolarFly(2), 3, 1) == Pattern("uniform", 21)


FABRICS = [PolarStar(2, "iq", 3), SlimFly(4)]
on_two_fabrics = pytest.mark.parametrize("fabric", FABRICS, ids=["PolarStar 56", "Slim Fly 32"])


@on_two_fabrics
def test_uniform_goes_everywhere_else(fabric):
    shares = make_pattern("uniform", fabric, 2, 1).shares()
    hosts = 2 * fabric.routers
    assert shares == pytest.approx((1 - np.eye(hosts)) / (hosts - 1))


@pytest.mark.parametrize("name", ["random-permutation", "perm1hop", "perm2hop"])
def test_a_seed_behind_the_name_counts_and_not_the_runs(name):
    assert partners(f"{name}:7", 5, seed=1).tolist() == partners(name, 5, seed=7).tolist()
    assert partners(f"{name}:7", 5, seed=1).tolist() == partners(f"{name}:7", 5, seed=2).tolist()


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("tornado:7", "tornado has no parameters.*'7'"),
        ("perm1hop:x", "in 'perm1hop:x', seed must be 0 to .*'x'"),
        ("perm1hop:", "seed must be 0 to .*''"),
        ("perm1hop:sed=7", "perm1hop has the parameter seed.*did you mean 'seed'"),
        ("matrix", "matrix:FILE"),
        ("matrix:", "file must be the name of a file"),
        ("hotspot:hosts=14", "pattern hotspot: hosts must be 1 to 13 on this fabric, got 14"),
        ("hotspot:share=0", "share must be over 0 and at most 1, got 0"),
        ("shift:by=0", "by must be 1 or more, got 0"),
        ("shift:26", "pattern shift: by must not be a multiple of.*routers with hosts, 13, got 26"),
        ("hotspots", "did you mean 'hotspot'"),
        ("allredcue", "did you mean 'allreduce'"),
        ("nonsense:3", "tornado.*'nonsense'"),
        ("allreduce:ring", "tornado.*'allreduce'.*polarlab run"),
    ],
)
def test_what_may_follow_a_name(name, message):
    with pytest.raises(UsageError, match=message):
        make_pattern(name, PolarFly(3), 1, 1)


@pytest.mark.parametrize("name", PATTERNS)
def test_every_pattern_says_what_it_is_and_where_it_is_from(name):
    definition = PATTERNS[name]
    assert definition.description
    assert definition.source
    assert definition.level in ("packets", "routers", "endpoints")


@pytest.mark.parametrize(
    ("partners", "words"),
    [
        (lambda routers: routers, "router 0"),
        (lambda routers: routers + 1, "number 4"),
        (lambda routers: routers[1:], "3 partners"),
    ],
)
@pytest.mark.usefixtures("own_names")
def test_partners_of_a_wrong_pattern_are_refused(partners, words):
    register(
        "wrong",
        PatternDefinition("routers", "wrong", "-", lambda _graph, routers, _random: partners(routers)),
    )
    with pytest.raises(ParameterError, match=f"wrong .*got {words}"):
        make_pattern("wrong", Hypercube(2), 1, 1)


class HostsAt(LeafSpine):
    """A leaf-spine fabric whose leaves have numbers of hosts of their own."""

    def __init__(self, counts: list[int]) -> None:
        super().__init__(len(counts), 2)
        self.counts = counts

    def host_counts(self, _concentration: int) -> np.ndarray:
        return np.array([*self.counts, *[0] * (self.routers - self.leaves)])


@pytest.mark.parametrize("name", [name for name in PATTERNS if name not in (*ELSEWHERE, "perm1hop")])
def test_every_pattern_counts_the_hosts_that_there_are(name, tmp_path):
    (tmp_path / "demand.csv").write_text("source,destination,share\nh1_1,h4_2,1\n")
    argument = f":{tmp_path}/demand.csv" if name == "matrix" else ""
    pattern = make_pattern(name + argument, LeafSpine(), 2, 1)
    assert pattern.hosts == 8
    assert pattern.shares().shape == (8, 8)
    assert pattern.senders.max() < 8


def test_hosts_are_matched_modulo_the_number_of_the_partners_hosts():
    # Hosts 0, 1, 2 at router 0; host 3 at router 2; hosts 4, 5 at router 3.
    assert make_pattern("neighbour", HostsAt([3, 0, 1, 2]), 1, 1).partners == (3, 3, 3, 4, 0, 1)


def test_patterns_need_two_routers_with_hosts():
    with pytest.raises(ParameterError, match=r"routers .* 2.*tornado, got 1"):
        make_pattern("tornado", HostsAt([4, 0]), 1, 1)
    with pytest.raises(ParameterError, match=r"endpoints .* 2.*uniform, got 1"):
        make_pattern("uniform", HostsAt([1, 0]), 1, 1)


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


def test_uniform_never_sends_to_itself_and_covers_all_others_equally():
    hosts, each = 9, 8000
    sources = np.repeat(np.arange(hosts), each)
    destinations = Pattern("uniform", hosts).destinations(sources, np.random.default_rng(5))
    counts = np.zeros((hosts, hosts), int)
    np.add.at(counts, (sources, destinations), 1)
    assert not counts.diagonal().any()
    others = counts[~np.eye(hosts, dtype=bool)]
    assert np.all(np.abs(others - each / (hosts - 1)) < 4.5 * (each / (hosts - 1)) ** 0.5)


@pytest.mark.parametrize("name", ["", "Uni-from", "nonsense"])
def test_unknown_pattern_is_refused_with_those_that_exist(name):
    with pytest.raises(UsageError, match=f"uniform.*, got '{name}'.*allreduce"):
        split_name(name)
