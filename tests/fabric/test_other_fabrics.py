"""Other fabrics than PolarFly, with real packets: all pairs, over as many hops as the graph says; repairs."""

import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from conftest import (
    QUIET,
    eventually,
    eventually_missing,
    fabric_options,
    probe_all_pairs,
    summary_of_run,
)
from pair_probes import next_run

import polarlab
from emulation.fault_injection import FaultInjector
from experiments.live_fabric import controlled, live_fabric, prepared_network
from experiments.measurement import measure
from experiments.pair_check import check_all_pairs
from experiments.spec.traffic import TrafficOptions
from experiments.traffic_jobs import make_job
from routing.replan.surviving_graph import surviving_graph
from routing.verification.verifier import prove
from topology.errors import UsageError
from topology.failures import failure_of
from topology.faults import Component, ComponentKind, link_component
from traffic.engine.engine import run_traffic
from traffic.wire.layout import HEADER_BYTES
from traffic.workload.patterns import Pattern
from traffic.workload.schedule import PatternSchedule

pytestmark = pytest.mark.usefixtures("no_leftovers")

TORUS = str(Path(__file__).parents[2] / "examples" / "torus-3x3.edges")


def test_all_pairs_and_a_run(tmp_path):
    traffic = {"load": 0.1, "duration": 1, "warmup": 0.2, "link_rate": "1Mbit"}
    torus = shutil.copy(TORUS, tmp_path)
    summary = summary_of_run(tmp_path / "run", "graph", from_=torus, routing="ugal", **traffic)
    assert summary["verified"]["pairs"] == summary["verified"]["delivered"] == 9 * 8
    assert summary["loss"] == 0
    assert max(map(int, summary["hops"])) == 2
    with Path(torus).open("a") as file:
        file.write("00 11\n")
    with pytest.raises(UsageError, match="changed"):
        polarlab.crosscheck(tmp_path / "run")
    with pytest.raises(UsageError, match="changed"):
        polarlab.run(again=tmp_path / "run")


DOUBLE = "1 2\n1 2\n2 3\n3 4\n4 1\n"
FABRICS = [
    ("polarstar", {"q": 2, "degree": 0}, 5, ("ugal",)),
    pytest.param("polarstar", {"q": 2, "degree": 3}, 90, (), marks=pytest.mark.slow),
    pytest.param("slimfly", {"q": 3}, 9, ("ugal",), marks=pytest.mark.slow),
    pytest.param("graph", {"from": TORUS}, 3, (), marks=pytest.mark.slow),
]


@pytest.mark.parametrize(("name", "params", "every", "measured"), FABRICS, ids=str)
def test_dead_links_are_repaired_and_traffic_takes_shortest_paths(name, params, every, measured):
    """On one network: every so many links die, then each of some routings is measured."""
    options = fabric_options(name, params)
    with prepared_network(options, QUIET) as network:
        with controlled(options, network, QUIET) as fabric:
            if name == "graph":
                carried = frames_sent(fabric, "s1", (1, 2, 3, 4))
                assert min(carried) > 0.6 * max(carried), carried
            _break_links(fabric, every)
        for routing in measured:
            with controlled(replace(options, routing=routing), network, QUIET) as fabric:
                _measure(fabric)


def _break_links(fabric, every):
    """Breaks a link with a controller, and one after the other without."""
    topology = fabric.options.topology
    faults = FaultInjector(fabric.network)
    assert probe_all_pairs(fabric) == ([], topology.diameter)

    first = link_component(topology.link_list[0])
    faults.fail(first)
    assert fabric.controller.wait_for_plan(lambda failed: failed != "none", 10)
    left = surviving_graph(topology, failure_of(topology, [first])).distances
    assert probe_all_pairs(fabric) == ([], int(left.max()))
    faults.restore(first)
    assert fabric.controller.wait_for_plan(lambda failed: failed == "none", 10)
    assert probe_all_pairs(fabric) == ([], topology.diameter)

    fabric.controller.stop()
    for link in topology.link_list[::every]:
        faults.fail(link_component(link))
        planned = prove(fabric.plan, [failure_of(topology, [link_component(link)])])
        assert topology.diameter <= eventually_missing(fabric) <= planned.max_hops, link
        faults.restore(link_component(link))
    eventually(lambda: probe_all_pairs(fabric) == ([], topology.diameter))


def _measure(fabric):
    """Checks all pairs, and sends uniform traffic that no queue is too short for."""
    traffic = TrafficOptions("uniform", 0.02, 1000, 64, 0.2, 1.0, seed=1)
    check = check_all_pairs(fabric, QUIET)
    routers = fabric.options.topology.routers
    assert check.pairs == check.delivered == routers * (routers - 1)
    summary = measure(fabric, traffic, check, QUIET).summary
    assert summary.loss == 0
    assert max(summary.hops) == fabric.options.topology.diameter


def test_parallel_links_have_ports_of_their_own_and_stand_in_for_each_other(tmp_path):
    (tmp_path / "double.edges").write_text(DOUBLE)
    with live_fabric(fabric_options("graph", {"from": str(tmp_path / "double.edges")}), QUIET) as fabric:
        assert probe_all_pairs(fabric) == ([], 2)
        fabric.controller.stop()
        one, other = frames_sent(fabric, "s1", (1, 2))
        assert 0.5 < one / other < 2
        faults = FaultInjector(fabric.network)
        faults.fail(Component(ComponentKind.LINK, (0, 1), copy=2))
        assert eventually_missing(fabric) == 2
        faults.fail(Component(ComponentKind.LINK, (0, 1)))
        assert eventually_missing(fabric) > 2


def frames_sent(fabric, switch, ports):
    """Sends uniform traffic of many flows and returns how many frames a switch sent out of some ports."""
    before = counters(fabric, switch)
    pattern = Pattern("uniform", len(fabric.hosts))
    schedule = PatternSchedule(pattern, 4000, 1_000_000_000, 64, seed=3)
    job = make_job(fabric, schedule, HEADER_BYTES, next_run(), 64, (0, schedule.end_ns))
    received = run_traffic(job, {}, fabric.network.run_dir).received
    assert received.frames.sum() > 3000
    after = counters(fabric, switch)
    return [after[port] - before[port] for port in ports]


def counters(fabric, switch):
    """The frames that a switch has sent, by port."""
    said = fabric.network[switch].dpctl("dump-ports")
    return {int(port): int(sent) for port, sent in re.findall(r"-eth(\d+)\W+rx.*\n +tx pkts=(\d+)", said)}
