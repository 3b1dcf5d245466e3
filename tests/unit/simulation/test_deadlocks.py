"""Deadlocks: found and named by a circle if any channel may be taken, and none if hops order channels."""

from itertools import pairwise

import pytest
from support.builders.graphs import Drawn
from support.builders.simulated_networks import polarfly_pattern, polarfly_tables, simulated
from support.oracles.booksim import booksim_pattern

from routing.registry import make_plan
from simulation.arrays.network import make_network
from simulation.deadlock import stuck_queues
from simulation.kernels.credit import run
from simulation.kernels.state import FIRST, TARGET
from simulation.settings import Decision, RouterSettings, Workload
from simulation.tables.compiler import compile_tables
from topology.families.dragonflies.dragonfly import Dragonfly
from traffic.workload.patterns import Pattern, make_pattern

pytestmark = pytest.mark.usefixtures("compiled_kernels")

PF = Decision(law="threshold")


def check_circle(tables, circle, channels):
    """Each link of a circle ends at the router where the next one begins."""
    owners = [
        router
        for router in range(tables.routers)
        for _ in range(*tables.link_starts[router : router + 2].tolist())
    ]
    assert len(circle) == len(set(circle)) > 1
    for (link, channel), (following, _) in pairwise([*circle, circle[0]]):
        assert tables.link_targets[link] == owners[following]
        assert 0 <= channel < channels


def test_any_channels_deadlock_beyond_saturation_in_a_circle_of_links():
    tables = polarfly_tables(5, 3, "ugal-pf")
    found = simulated(
        tables, booksim_pattern("perm2hop"), 0.7, decision=PF, channel_policy="any", window=20_000
    )
    assert found.deadlock is not None
    assert found.deadlock.cycle == found.cycles < 21_000
    assert found.deadlock.waiting > len(found.deadlock.cyclic_dependency)
    assert found.accepted < found.offered
    check_circle(tables, found.deadlock.cyclic_dependency, 4)


def test_a_deadlock_of_some_is_found_while_others_go_on():
    # Flows go round a ring of four and block one another; those between two other routers are not on it.
    topology = Drawn([(0, 1), (1, 2), (2, 3), (0, 3), (3, 4), (4, 5)])
    tables = compile_tables(make_plan(topology, 2, "min"))
    around = tables.untagged.copy()
    for router in range(4):
        around[router, (router + 2) % 4] = around[router, (router + 1) % 4]
    tables.untagged[:], tables.from_host[:] = around, around
    pattern = Pattern("ring-and-pair", 12, partners=(4, 5, 6, 7, 0, 1, 2, 3, 10, 11, 8, 9))
    settings = {"channel_policy": "any", "channels": 2, "buffer_flits": 4}
    found = simulated(tables, pattern, 1.0, warmup=0, window=20_000, **settings)
    assert found.deadlock is not None
    check_circle(tables, found.deadlock.cyclic_dependency, 2)
    assert (found.host_packets[8:] > 0).all()
    assert found.deadlock.arrived >= found.host_packets.sum()


@pytest.mark.parametrize("pattern", ["perm2hop", "random-permutation", "uniform"])
def test_stuck_queues_never_move_again(pattern):
    tables = polarfly_tables(5, 3, "ugal-pf")
    network = make_network(
        tables,
        Workload(pattern=polarfly_pattern(5, 3, pattern), load=0.95),
        RouterSettings(channel_policy="any"),
        PF,
        1,
    )
    stuck, cycle = stuck_queues(network), 0
    while not len(stuck) and cycle < 60_000:
        cycle += 100
        run(network, 2 * cycle, False)
        stuck = stuck_queues(network)
    assert len(stuck)
    before = network.queues[stuck].copy()
    for later in range(1, 6):
        run(network, 2 * (cycle + 1000 * later), False)
        now = stuck_queues(network)
        assert set(stuck.tolist()) <= set(now.tolist())
        assert (network.queues[stuck][:, [FIRST, TARGET]] == before[:, [FIRST, TARGET]]).all()


def test_channels_by_hop_do_not_deadlock():
    tables = polarfly_tables(5, 3, "ugal-pf")
    found = simulated(tables, booksim_pattern("perm2hop"), 0.7, decision=PF, window=20_000, most_drain=1000)
    assert found.deadlock is None
    assert found.accepted / (20_000 * tables.hosts / 4) > 0.5


OPPOSITE = Pattern("opposite", 8, partners=(4, 5, 6, 7, 0, 1, 2, 3))


def ring_tables():
    """Every router of a ring of four sends to the opposite one, all the same way round."""
    topology = Drawn([(0, 1), (1, 2), (2, 3), (0, 3)])
    tables = compile_tables(make_plan(topology, 2, "min"))
    around = tables.untagged.copy()
    for router in range(4):
        around[router, (router + 2) % 4] = around[router, (router + 1) % 4]
    tables.untagged[:], tables.from_host[:] = around, around
    return tables


def test_a_circle_of_queues_with_room_is_not_stuck():
    workload = Workload(pattern=OPPOSITE, load=0.2)
    settings = RouterSettings(channel_policy="any", channels=1, buffer_flits=1024, speedup=1)
    network = make_network(ring_tables(), workload, settings, Decision(), 1)
    for tick in range(8000):
        run(network, tick, False)
        assert not len(stuck_queues(network)), tick


@pytest.mark.parametrize("policy", ["any", "free", "random", "hop"])
def test_a_ring_deadlocks_unless_hops_order_its_channels(policy):
    tables, pattern = ring_tables(), OPPOSITE
    found = simulated(
        tables, pattern, 1.0, channel_policy=policy, channels=2, buffer_flits=4, window=20_000, most_drain=100
    )
    assert (found.deadlock is None) == (policy == "hop")
    if found.deadlock:
        check_circle(tables, found.deadlock.cyclic_dependency, 2)
        assert len(found.deadlock.cyclic_dependency) == 4


@pytest.mark.parametrize(
    ("routing", "channels", "policy"),
    [
        ("hierarchical", 2, "level"),
        ("valiant:over=hierarchical", 4, "level"),
        ("hierarchical", 2, "free"),
        ("valiant:over=hierarchical", 4, "free"),
    ],
)
def test_levels_order_the_channels_of_hierarchical_paths(routing, channels, policy):
    topology = Dragonfly(a=4, h=2)
    tables = compile_tables(make_plan(topology, 2, routing))
    found = simulated(
        tables,
        make_pattern("uniform", topology, 2, 1),
        1.0,
        channel_policy=policy,
        channels=channels,
        buffer_flits=4,
        window=6_000,
        most_drain=100,
    )
    assert (found.deadlock is None) == (policy == "level")
