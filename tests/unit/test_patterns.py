"""Patterns against their definitions, on several fabrics."""

import numpy as np
import pytest

from topology.errors import UsageError
from topology.polarfly import PolarFly
from traffic.patterns import NAMES, Pattern, make_pattern
from traffic.schedule import PoissonSchedule, from_dict

PERMUTATIONS = [name for name in NAMES if name != "uniform"]
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


@pytest.mark.parametrize("name", NAMES)
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
    schedule = PoissonSchedule(pattern, 100.0, 10**9, 4, 1)
    assert from_dict(schedule.to_dict()) == schedule
    for events in schedule.chunks():
        assert (np.array(pattern.partners)[events.source] == events.destination).all()


def test_an_unknown_pattern_is_refused():
    with pytest.raises(UsageError, match="unknown pattern 'storm'; there are: perm1hop, perm2hop"):
        make_pattern("storm", PolarFly(2), 1, 1)


def test_uniform_has_no_fixed_partners():
    assert make_pattern("uniform", PolarFly(2), 3, 1) == Pattern("uniform", 21)
