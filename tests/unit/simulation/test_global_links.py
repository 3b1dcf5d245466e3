"""Links between clusters that have a delay of their own: latencies without any wait, credits, ideal times."""

from functools import cache
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.builders.message_graphs import graph, sent
from support.builders.simulated_networks import mean_latency, polarfly_tables, simulated

from simulation.arrays.ports import link_ports, make_ports
from simulation.kernels.state import DELAY
from simulation.settings import Decision, RouterSettings
from simulation.timing import fastest_cycles, unloaded_cycles
from topology.families.low_diameter.polarfly import PolarFly
from traffic.workload.patterns import Pattern

pytestmark = pytest.mark.usefixtures("compiled_kernels")

ER = PolarFly(3)
LOCAL, GLOBAL = 3, 20
DELAYS = {"link_cycles": LOCAL, "global_link_cycles": GLOBAL}


@cache
def local_pairs():
    """Returns the pairs of routers that belong to one cluster."""
    return {(a, b) for members in ER.clusters().members for a in members for b in members}


def path(source, destination):
    """Returns the delays of the links on the minimal path between two routers of ER_3."""
    routers = [source]
    while routers[-1] != destination:
        routers.append(int(ER.next_hops(routers[-1], destination)))
    return [LOCAL if pair in local_pairs() else GLOBAL for pair in pairwise(routers)]


def alone(source, destination, **others):
    """Returns the result of rare packets from one router's host to another's."""
    partners = tuple(destination if host == source else -1 for host in range(ER.routers))
    tables, pattern = polarfly_tables(3, 1, "min"), Pattern("alone", ER.routers, partners=partners)
    return simulated(tables, pattern, 0.05, arrivals="constant", warmup=0, window=1000, **others)


EVERY_KIND = {tuple(path(a, b)): (a, b) for a in range(13) for b in range(13) if a != b}


@pytest.mark.parametrize("flow_control", ["credit", "drop"])
@pytest.mark.parametrize("kind", EVERY_KIND, ids=str)
def test_a_packet_alone_takes_the_delays_of_the_links_on_its_path(kind, flow_control):
    found = alone(*EVERY_KIND[kind], flow_control=flow_control, **DELAYS)
    routers = RouterSettings(flow_control=flow_control, **DELAYS)
    expected = 2 + sum(kind) + 2 * (len(kind) + 1) + (4 if flow_control == "credit" else 0)
    assert unloaded_cycles(len(kind), routers, path_cycles=sum(kind)) == expected
    assert found.delivered == found.offered > 10
    assert mean_latency(found) == expected
    assert found.queueing_sum == 0


def test_paths_of_every_kind_were_looked_at():
    # The clusters of ER_3 are triangles: two local links are never a minimal path.
    both = {(LOCAL, GLOBAL), (GLOBAL, LOCAL), (GLOBAL, GLOBAL)}
    assert set(EVERY_KIND) == {(LOCAL,), (GLOBAL,), *both}


@pytest.mark.parametrize("flow_control", ["credit", "drop"])
def test_global_links_may_be_much_longer_than_all_others(flow_control):
    ends = EVERY_KIND[GLOBAL, GLOBAL]
    found = alone(*ends, flow_control=flow_control, global_link_cycles=2000, buffer_flits=4096)
    assert found.deadlock is None
    assert found.delivered == found.offered > 10
    assert mean_latency(found) == 4000 + 2 + 2 * 3 + (4 if flow_control == "credit" else 0)


def test_global_links_lead_out_of_a_cluster_in_both_directions():
    tables = polarfly_tables(3, 1, "min")
    owners = np.repeat(np.arange(13), np.diff(tables.link_starts))
    for link, ends in enumerate(zip(owners.tolist(), tables.link_targets.tolist(), strict=True)):
        assert bool(tables.global_links[link]) == (ends not in local_pairs()), ends
    _, _, outputs = make_ports(tables, RouterSettings(**DELAYS))
    delays = outputs[link_ports(tables), DELAY]
    assert set(delays[tables.global_links == 1]) == {GLOBAL}
    assert set(delays[tables.global_links == 0]) == {LOCAL}


@pytest.mark.parametrize("flow_control", ["credit", "drop"])
def test_one_delay_for_all_links_is_that_of_both_classes(flow_control):
    tables = polarfly_tables(3, 2, "ugal-pf")
    pattern = Pattern("uniform", tables.hosts)
    other = {"decision": Decision(law="threshold"), "flow_control": flow_control, "link_cycles": 5}
    one, two = (simulated(tables, pattern, 0.5, **other, global_link_cycles=cycles) for cycles in (None, 5))
    assert (one.latency_sum, one.queueing_sum, one.delivered, one.cycles) == (
        two.latency_sum, two.queueing_sum, two.delivered, two.cycles,
    )  # fmt: skip


@settings(max_examples=10, deadline=None)
@given(local=st.integers(1, 6), between=st.integers(1, 6), seed=st.integers(0, 99))
def test_an_application_is_never_faster_than_its_ideal(local, between, seed):
    rng = np.random.default_rng(seed)
    messages = [(int(a), int(b), 256) for a, b in rng.integers(0, 13, (6, 2)) if a != b] or [(0, 1, 4)]
    chain = graph(messages, [(k, k + 1) for k in range(len(messages) - 1)])
    found = sent(chain, link_cycles=local, global_link_cycles=between)
    assert found.iterations[0].cycles >= found.ideals[0].path_cycles > 0


def test_the_fastest_path_may_have_more_links():
    tables, routers = polarfly_tables(3, 1, "min"), RouterSettings(link_cycles=1, global_link_cycles=100)
    pairs = np.divmod(np.arange(169, dtype=np.int32), 13)
    found = fastest_cycles(tables, routers, *pairs).reshape(13, 13)
    assert (np.diag(found) == unloaded_cycles(0, routers)).all()
    minimal = np.array([[sum(1 if d == LOCAL else 100 for d in path(a, b)) + 2 * len(path(a, b))
                         for b in range(13)] for a in range(13)])  # fmt: skip
    assert (found - unloaded_cycles(0, routers) <= minimal).all()
    assert (found - unloaded_cycles(0, routers) < minimal).any()
    even = fastest_cycles(tables, RouterSettings(), *pairs)
    assert even.tolist() == [unloaded_cycles(int(n), RouterSettings()) for n in ER.distances(*pairs)]
