"""Deadlocks: found and named by a circle if any channel may be taken, and none if hops order channels."""

from itertools import pairwise

import pytest
from sample_fabrics import Drawn
from simulated_booksim import booksim_pattern
from simulated_networks import polarfly_tables, simulated

from routing.registry import make_plan
from simulation.settings import Decision
from simulation.tables.compiler import compile_tables
from traffic.workload.patterns import Pattern

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
    assert found.deadlock.waiting > len(found.deadlock.circle)
    assert found.accepted < found.offered
    check_circle(tables, found.deadlock.circle, 4)


def test_channels_by_hop_do_not_deadlock():
    tables = polarfly_tables(5, 3, "ugal-pf")
    found = simulated(tables, booksim_pattern("perm2hop"), 0.7, decision=PF, window=20_000, most_drain=1000)
    assert found.deadlock is None
    assert found.accepted / (20_000 * tables.hosts / 4) > 0.5


@pytest.mark.parametrize("policy", ["any", "random", "hop"])
def test_a_ring_deadlocks_unless_hops_order_its_channels(policy):
    # Every router of a ring of four sends to the opposite one, all the same way round.
    topology = Drawn([(0, 1), (1, 2), (2, 3), (0, 3)])
    tables = compile_tables(make_plan(topology, 2, "min"))
    around = tables.untagged.copy()
    for router in range(4):
        around[router, (router + 2) % 4] = around[router, (router + 1) % 4]
    tables.untagged[:], tables.from_host[:] = around, around
    pattern = Pattern("opposite", 8, partners=(4, 5, 6, 7, 0, 1, 2, 3))
    found = simulated(
        tables, pattern, 1.0, channel_policy=policy, channels=2, buffer_flits=4, window=20_000, most_drain=100
    )
    assert (found.deadlock is None) == (policy == "hop")
    if found.deadlock:
        check_circle(tables, found.deadlock.circle, 2)
        assert len(found.deadlock.circle) == 4
