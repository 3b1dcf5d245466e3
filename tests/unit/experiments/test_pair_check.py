"""The check of all pairs: who is missing is tried again, and waited for longer."""

from dataclasses import replace
from types import SimpleNamespace

import networkx as nx
import numpy as np
import pytest

from experiments import pair_check
from experiments.events.base import ignore
from experiments.spec.fabric import FabricOptions
from routing.registry import make_plan
from topology.addressing import hosts_of
from topology.drains import drain_faults, drain_of
from topology.errors import NegativeResult
from topology.families.low_diameter.polarfly import PolarFly
from topology.faults import link_component, parse_drained, parse_schedule
from topology.links import LinkSpec
from traffic.workload.schedule import AllPairsSchedule


@pytest.fixture
def fabric():
    """What the check needs of a fabric of ER_2 with links of 1 Mbit/s."""
    topology = PolarFly(2)
    options = FabricOptions("polarfly", {"q": 2}, topology, 1, "min", LinkSpec(1_000_000, 32), "user")
    hosts = hosts_of(topology, 1)
    interface = lambda host: (1, host.name)  # noqa: E731
    network = SimpleNamespace(run_dir=None, host_interface=interface, switch_interface=interface)
    return SimpleNamespace(
        options=options,
        hosts=hosts,
        plan=make_plan(topology, 1, "min"),
        drained=(),
        network=network,
        host_distances=lambda: topology.distances(np.arange(7)[:, None], np.arange(7)),
    )


def arrivals(monkeypatch, answer, damaged=0, longer=0):
    """Has probes arrive as `answer` says of every attempt (hosts x hosts), and returns the jobs that ran.

    They take as many hops as the hosts' distances, and `longer` more.
    """
    jobs = []

    def run_traffic(job, _environment, _folder):
        jobs.append(job)
        frames = answer(len(jobs))
        distances = PolarFly(2).distances(np.arange(7)[:, None], np.arange(7)[None, :])
        hops = (distances + longer).astype(np.uint8)
        received = SimpleNamespace(frames=frames, hops_max=hops, damaged=damaged)
        return SimpleNamespace(received=received)

    monkeypatch.setattr(pair_check, "run_traffic", run_traffic)
    return jobs


def arrivals_of_one_attempt(fabric, monkeypatch):
    """Returns the jobs of a check in which all probes arrive at once."""
    jobs = arrivals(monkeypatch, lambda _attempt: np.ones((7, 7), int))
    pair_check.check_all_pairs(fabric, ignore)
    return jobs


def test_probes_that_are_late_are_waited_for_longer_the_next_time(fabric, monkeypatch):
    jobs = arrivals(monkeypatch, lambda attempt: np.full((7, 7), attempt >= 3, int))
    check = pair_check.check_all_pairs(fabric, ignore)
    assert (check.delivered, check.repeated) == (42, 84)
    waits_s = [job.quiet_ns / 1e9 for job in jobs]
    assert waits_s[1] > waits_s[0] + 0.5
    assert waits_s[2] > waits_s[1] + 2


def test_a_probe_that_is_sent_late_counts(fabric, monkeypatch):
    """A machine that sends a round late sends the last round after the schedule's end."""
    [job] = arrivals_of_one_attempt(fabric, monkeypatch)
    assert job.window_ns[0] == 0
    assert job.window_ns[1] > AllPairsSchedule(7, 10**9).end_ns + 60 * 10**9


def test_pairs_that_never_reach_each_other_are_named(fabric, monkeypatch):
    reached = np.ones((7, 7), int)
    reached[2, 5] = 0
    arrivals(monkeypatch, lambda _attempt: reached)
    with pytest.raises(NegativeResult, match=r"^1 pairs .* h3_1 to h6_1"):
        pair_check.check_all_pairs(fabric, ignore)


def test_forged_probes_prove_nothing(fabric, monkeypatch):
    arrivals(monkeypatch, lambda _attempt: np.ones((7, 7), int), damaged=2)
    with pytest.raises(NegativeResult, match="2 damaged"):
        pair_check.check_all_pairs(fabric, ignore)


def test_probes_take_the_paths_around_a_drain(fabric, monkeypatch):
    fabric.drained = parse_drained("link:s1-s6", fabric.options.topology)
    without = nx.from_edgelist((link.a, link.b) for link in fabric.options.topology.link_list)
    without.remove_edge(0, 5)
    around = dict(nx.all_pairs_shortest_path_length(without))
    longer = np.array([[around[a][b] for b in range(7)] for a in range(7)]) - fabric.host_distances()
    assert longer.any()
    arrivals(monkeypatch, lambda _attempt: np.ones((7, 7), int), longer=longer)
    assert pair_check.check_all_pairs(fabric, ignore).delivered == 42
    arrivals(monkeypatch, lambda _attempt: np.ones((7, 7), int))
    with pytest.raises(NegativeResult, match="unplanned paths"):
        pair_check.check_all_pairs(fabric, ignore)


def test_probes_may_take_any_detour_around_a_drain_of_an_adaptive_routing(fabric, monkeypatch):
    topology = fabric.options.topology
    fabric.drained = parse_drained("link:s1-s6", topology)
    fabric.options = replace(fabric.options, routing="ugal-pf")
    fabric.plan = make_plan(topology, 1, "ugal-pf")
    arrivals(monkeypatch, lambda _attempt: np.ones((7, 7), int), longer=4)
    assert pair_check.check_all_pairs(fabric, ignore).delivered == 42


def test_a_drain_that_cuts_others_off_is_repeated_with_force(fabric):
    topology = fabric.options.topology
    links = [link_component(link) for link in topology.link_list if 0 in (link.a, link.b)]
    faults = drain_faults(topology, drain_of(topology, links))
    assert [fault.forced for fault in faults] == [False] * (len(links) - 1) + [True]
    assert parse_schedule("".join(f"{fault.line}\n" for fault in faults), topology) == faults
