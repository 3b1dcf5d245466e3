"""Piggybacking: sources avoid congested global links of their group that they do not see themselves."""

from functools import cache

import numpy as np
import pytest

from routing.registry import make_plan
from simulation.arrays.network import make_network
from simulation.arrays.ports import link_ports
from simulation.kernels import state as of
from simulation.kernels.credit import run
from simulation.settings import Decision, RouterSettings, Workload
from simulation.tables.compiler import compile_tables
from topology.errors import ParameterError
from topology.families.dragonflies.dragonfly import Dragonfly
from traffic.workload.patterns import Pattern, make_pattern

pytestmark = pytest.mark.usefixtures("compiled_kernels")

TOPOLOGY = Dragonfly(a=8, h=4, trunking=4)  # every router has global links to four other groups
HOSTS = 2
ROUTING = "four-color-adaptive"
PIGGYBACK, PRODUCT = ({"law": law, "candidates": 16} for law in ("piggyback", "product"))


@cache
def tables_of(routing):
    return compile_tables(make_plan(TOPOLOGY, HOSTS, routing))


def links():
    """For each directed link: the router that sends, and how many groups further on it leads."""
    tables = tables_of(ROUTING)
    senders = np.repeat(np.arange(tables.routers), np.diff(tables.link_starts))
    return senders, (TOPOLOGY.group_of[tables.link_targets] - TOPOLOGY.group_of[senders]) % 9


def carried(decision, occupied, routing=ROUTING, pattern=None):
    """The share of packets that took detours, and the flits that each directed link passed.

    Args:
        decision: the law, with its parameters.
        occupied: flits beyond each directed link that are there for good, as sources are told.
        routing: the routing.
        pattern: the pattern; None for adv:1.
    """
    tables = tables_of(routing)
    pattern = pattern or make_pattern("adv:1", TOPOLOGY, HOSTS, 1)
    network = make_network(
        tables, Workload(pattern=pattern, load=0.02), RouterSettings(), Decision(**decision), 1
    )
    network.counts[of.WINDOW_BEGIN] = 0
    network.used[link_ports(tables)] = occupied
    run(network, 2 * 2000, False)
    assert network.counts[of.DELIVERED] > 100
    flits = network.outputs[link_ports(tables), of.FLITS_SENT]
    return network.counts[of.DETOURED_COUNT] / network.counts[of.DELIVERED], flits


@pytest.mark.parametrize("routing", [ROUTING, "ugal-group"])
def test_a_congested_link_of_another_router_is_avoided(routing):
    _, onward = links()
    occupied = np.where(onward == 1, 20, 0)
    assert carried(PIGGYBACK, occupied, routing)[0] > 0.98
    # The routers without a link to the next group do not see the queues of the others.
    assert 0 < carried(PRODUCT, occupied, routing)[0] < 0.7


@pytest.mark.parametrize(("flits", "congested"), [(5, True), (11, False)])
def test_a_link_is_congested_over_twice_the_mean_of_its_router_and_the_margin(flits, congested):
    # Twice the mean of 20, x, 0 and 0 is 10 + x / 2; the margin is 6 flits. Packets add a little.
    senders, onward = links()
    occupied = np.where(onward == 1, 20, 0)
    _, first = np.unique(np.where(onward > 1, senders, -1), return_index=True)
    occupied[first[1:]] = flits
    assert (carried(PIGGYBACK | {"margin": 6 / 32}, occupied)[0] > 0.9) == congested


def test_detours_whose_global_link_is_congested_are_avoided_as_well():
    senders, onward = links()
    leaving = (onward > 0) & (TOPOLOGY.group_of[senders] == 0)
    minimal = np.isin(senders, senders[onward == 1])
    congested = np.zeros(len(senders), bool)
    congested[np.unique(np.where(leaving & ~minimal, senders, -1), return_index=True)[1][1:]] = True
    assert congested.sum() == 4
    occupied = np.where(congested | (onward == 1), 20, 0)
    own = np.flatnonzero(TOPOLOGY.group_of[tables_of(ROUTING).host_routers] == 0).tolist()
    pattern = Pattern("group", 72 * HOSTS, matrix=tuple((host, host + len(own), 1.0) for host in own))
    detoured, knowing = carried(PIGGYBACK, occupied, pattern=pattern)
    assert detoured > 0.98
    _, unknowing = carried(PRODUCT, occupied, pattern=pattern)
    assert knowing[leaving].sum() > 500
    assert knowing[congested].sum() == 0 < unknowing[congested].sum()


def test_queues_that_drop_do_not_tell_of_other_routers():
    workload = Workload(pattern=make_pattern("adv:1", TOPOLOGY, HOSTS, 1), load=0.05)
    routers = RouterSettings(flow_control="drop")
    with pytest.raises(ParameterError, match=r"piggyback .* credit"):
        make_network(tables_of(ROUTING), workload, routers, Decision(**PIGGYBACK), 1)
