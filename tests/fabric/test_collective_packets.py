"""Collectives over real packets: right results, whatever is lost, and what is told of them."""

import threading

import pytest
from conftest import KIB, collective_options, complete_collective

from emulation.fault_injection import FaultInjector
from experiments.results.collective import collective_summary, collective_troubles
from topology.faults import parse_components
from traffic.workload.collectives.registry import COLLECTIVES


@pytest.mark.parametrize(
    "pattern", [f"{name}:{algorithm}" for name, c in COLLECTIVES.items() for algorithm in c.algorithms]
)
def test_every_rank_has_the_right_result(er3, pattern):
    chosen = collective_options(pattern, 11, (44 * 4, 44 * KIB))
    outcome = complete_collective(er3, chosen).outcome
    assert collective_troubles(outcome) == []
    assert len(outcome.iterations) == 6
    summary = collective_summary(chosen, outcome)
    assert summary.message_bytes == 44 * KIB
    assert [size.iterations for size in summary.sizes] == [2, 2]
    times = outcome.iterations["completion_ns"]
    assert (outcome.finished_ns.max(axis=1) == times).all()
    factor = COLLECTIVES[summary.name].bus_factor(11)
    assert summary.bus_bandwidth_bps == pytest.approx(summary.algorithm_bandwidth_bps * factor, rel=1e-3)


def test_ranks_are_where_they_were_placed(er3):
    chosen = collective_options("allreduce:ring", 5, (4 * KIB,), placement="random:3")
    result = complete_collective(er3, chosen)
    places = result.outcome.hosts.tolist()
    assert len(set(places)) == 5
    senders = {(int(s), int(d)) for s, d in zip(*result.sent.frames.nonzero(), strict=True)}
    assert senders == {(places[k], places[(k + 1) % 5]) for k in range(5)}


def test_a_link_may_fail_meanwhile(er3):
    faults = FaultInjector(er3.network)
    (link,) = parse_components("link:s1-s10", er3.options.topology, 1)

    def cut(_clock):
        timer = threading.Timer(0.3, lambda: faults.fail(link))
        timer.start()

    try:
        outcome = complete_collective(
            er3, collective_options("allreduce:rabenseifner", 26, (64 * KIB,), iterations=4), cut
        ).outcome
    finally:
        faults.restore(link)
        assert er3.controller.wait_until_recovered(20)
    assert collective_troubles(outcome) == []
