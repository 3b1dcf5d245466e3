"""UGAL by the queues of whole paths (UGAL-G), beside UGAL by those of the first output (UGAL-L)."""

import pytest

from routing.registry import make_plan
from simulation.settings import Decision, RouterSettings, Times, Workload
from simulation.simulator import simulate
from simulation.tables.compiler import compile_tables
from topology.errors import ParameterError
from topology.families.low_diameter.polarfly import PolarFly
from traffic.workload.patterns import make_pattern

HOSTS = 3
TIMES = Times(warmup=1000, window=2000, most_drain=3000)


def latency_and_hops(topology, pattern, load, routers=None, **law):
    """Mean latency in cycles, and mean hops."""
    tables = compile_tables(make_plan(topology, HOSTS, "ugal"))
    workload = Workload(pattern=make_pattern(pattern, topology, HOSTS, 1), load=load)
    decision = Decision(law="product", **law)
    result = simulate(tables, workload, routers or RouterSettings(), decision, TIMES, 1)
    hops = sum(count * packets for count, packets in enumerate(result.hops.tolist()))
    return result.latency_sum / result.delivered, hops / result.delivered


@pytest.mark.parametrize(("pattern", "load"), [("uniform", 0.6), ("perm2hop", 0.6)])
def test_who_sees_whole_paths_takes_fewer_detours_and_waits_less(pattern, load):
    topology = PolarFly(5)
    blind, seeing = (latency_and_hops(topology, pattern, load, whole_path=whole) for whole in (False, True))
    assert seeing[0] < 0.95 * blind[0]
    assert seeing[1] < blind[1]


def test_queues_that_drop_do_not_tell_of_whole_paths():
    routers = RouterSettings(flow_control="drop", router_cycles=0, link_cycles=0, host_link_cycles=0)
    with pytest.raises(ParameterError, match="whole-path"):
        latency_and_hops(PolarFly(2), "uniform", 0.3, routers, whole_path=True)
