"""Switches whose queues drop: waits and losses as theory says, and schedules packet for packet."""

import numpy as np
import pytest
from support.builders.graphs import Drawn
from support.builders.simulated_networks import polarfly_pattern, polarfly_tables, simulated

from experiments.theory.fluid_model import predict_pattern
from routing.registry import make_plan
from simulation.settings import Decision, RouterSettings, Times, Workload
from simulation.simulator import simulate
from simulation.tables.compiler import compile_tables
from topology.errors import ParameterError
from topology.families.low_diameter.polarfly import PolarFly
from traffic.workload.patterns import Pattern
from traffic.workload.schedule import PatternSchedule

FLITS = 4
# Links and routers that take no time, as in the emulation.
SWITCHES = {"flow_control": "drop", "router_cycles": 0, "link_cycles": 0, "host_link_cycles": 0}


def pair_of_routers(hosts):
    """Tables of two routers, and the pattern in which their hosts send to each other."""
    tables = compile_tables(make_plan(Drawn([(0, 1)]), hosts, "min"))
    partners = (*range(hosts, 2 * hosts), *range(hosts))
    return tables, Pattern("pairs", 2 * hosts, partners)


@pytest.mark.parametrize("load", [0.3, 0.6, 0.8])
def test_waits_are_those_of_an_m_d_1_queue(load):
    # The hosts' own links are the queues; behind them packets come no faster than they go.
    tables, _ = pair_of_routers(20)
    settings = {**SWITCHES, "queue_packets": 1000, "burst_packets": 1}
    one_each = Pattern("one", 40, (20, *[-1] * 39))
    waits = []
    for seed in range(12):
        result = simulated(
            tables, one_each, load, arrivals="poisson", warmup=4000, window=40_000, seed=seed, **settings
        )
        assert result.dropped == 0
        waits.append(result.queueing_sum / result.delivered / FLITS)
    assert np.mean(waits) == pytest.approx(load / (2 * (1 - load)), rel=0.08, abs=0.02)


def test_an_overloaded_link_sends_at_its_rate_and_the_rest_is_dropped():
    tables, pattern = pair_of_routers(3)
    result = simulated(tables, pattern, 0.5, arrivals="poisson", warmup=4000, window=20_000, **SWITCHES)
    capacity = result.window * 6 / FLITS
    assert result.accepted / capacity == pytest.approx(1 / 3, rel=0.002)
    assert result.dropped / result.offered == pytest.approx(1 / 3, abs=0.02)
    # The queue is full: who gets in waits for all that were there before.
    assert result.queueing_sum / result.delivered / FLITS == pytest.approx(32, abs=2)


@pytest.mark.parametrize("pattern", ["tornado", "random-permutation"])
@pytest.mark.parametrize("load", [0.5, 1.0])
def test_an_overloaded_polarfly_accepts_what_the_fluid_limit_says(pattern, load):
    tables, chosen = polarfly_tables(5, 3, "min"), polarfly_pattern(5, 3, pattern)
    times = {"warmup": 8000, "window": 20_000}
    result = simulated(tables, chosen, load, arrivals="poisson", **times, **SWITCHES)
    accepted = result.accepted * FLITS / result.window / tables.hosts
    expected = predict_pattern(make_plan(PolarFly(5), 3, "min"), chosen, load).accepted
    assert accepted == pytest.approx(expected, rel=0.04)


def test_a_link_that_was_idle_lets_a_burst_go_at_once():
    tables, _ = pair_of_routers(1)
    pattern = Pattern("one", 2, (1, -1))
    waits = {}
    for burst in (1, 4):
        settings = {**SWITCHES, "burst_packets": burst}
        result = simulated(tables, pattern, 0.2, arrivals="poisson", warmup=1000, window=40_000, **settings)
        waits[burst] = result.queueing_sum / result.delivered
    assert waits[4] < 0.2 * waits[1]


@pytest.mark.parametrize("arrivals", ["poisson", "constant"])
def test_a_schedule_is_sent_packet_for_packet(arrivals):
    tables, pattern = polarfly_tables(3, 2, "min"), polarfly_pattern(3, 2, "uniform")
    frame_ns = 16_000_000
    schedule = PatternSchedule(pattern, 0.5 * 1e9 / frame_ns, 10**10, 64, 7, arrivals, 1e9 / frame_ns)
    begin, window = 400, 1600
    result = simulate(
        tables,
        Workload(pattern=pattern, load=0.5, schedule=schedule, frame_ns=frame_ns),
        RouterSettings(**SWITCHES),
        Decision(),
        Times(warmup=begin, window=window),
        1,
    )
    times = np.concatenate([events.time_ns for events in schedule.chunks()]) * FLITS // frame_ns
    assert result.offered == ((times >= begin) & (times < begin + window)).sum()
    assert result.delivered + result.dropped == result.offered


def test_lossless_routers_take_no_schedule():
    tables, pattern = polarfly_tables(2, 1, "min"), polarfly_pattern(2, 1, "uniform")
    schedule = PatternSchedule(pattern, 10.0, 10**9, 1, 1)
    with pytest.raises(ParameterError, match="schedule"):
        Workload(pattern=pattern, load=0.5, schedule=schedule)
    workload = Workload(pattern=pattern, load=0.5, schedule=schedule, frame_ns=1000)
    with pytest.raises(ParameterError, match="flow control"):
        simulate(tables, workload, RouterSettings(), Decision(), Times(warmup=10, window=10), 1)
