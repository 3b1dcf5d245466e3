"""Simulations of fabrics with given port numbers: the same as with default ones, packet by packet."""

import pytest
from support.builders.port_tables import with_shuffled_ports
from support.builders.simulated_networks import digest, polarfly_pattern

from routing.registry import make_plan
from simulation.bucket_loop import BucketLoop
from simulation.faults import SimulatedFaults
from simulation.settings import Decision, RouterSettings, Times, Workload
from simulation.simulator import simulate
from simulation.tables.compiler import compile_tables
from topology.families.low_diameter.polarfly import PolarFly
from topology.faults import parse_schedule

pytestmark = pytest.mark.usefixtures("compiled_kernels")


def simulated(topology, routing, decision, *, load=0.6, faults=""):
    """Returns the result of a simulation, and the number of its groups whose buckets moved."""
    plan, routers = make_plan(topology, 2, routing), RouterSettings(channels=8)
    tables = compile_tables(plan, candidates=decision.law == "buckets")
    interventions = []
    if decision.law == "buckets":
        interventions.append(BucketLoop(plan, tables, decision.period, routers))
    if faults:
        interventions.append(SimulatedFaults(plan, parse_schedule(faults, topology), 200, routers))
    result = simulate(
        tables,
        Workload(pattern=polarfly_pattern(3, 2, "tornado"), load=load),
        routers,
        decision,
        Times(warmup=500, window=1500, most_drain=4000),
        1,
        interventions=interventions,
    )
    return result, sum(one.moved for one in interventions if isinstance(one, BucketLoop))


@pytest.mark.parametrize(
    ("routing", "decision"),
    [
        ("min", Decision()),
        ("ugal-pf", Decision(law="threshold")),
        ("ugal-pf", Decision(law="buckets", period=100)),
        ("ugal", Decision(law="buckets", period=100)),
    ],
    ids=["min", "ugal-pf-threshold", "ugal-pf-buckets", "ugal-buckets"],
)
def test_packets_fare_as_with_default_ports(routing, decision):
    plain, moved = simulated(PolarFly(3), routing, decision)
    given, moved_of_given = simulated(with_shuffled_ports(PolarFly(3), 2), routing, decision)
    assert plain.delivered > 0
    assert digest(given) == digest(plain)
    assert moved_of_given == moved
    assert (moved > 0) == (decision.law == "buckets")


def test_all_packets_but_those_under_way_survive_a_failed_link():
    topology = with_shuffled_ports(PolarFly(3), 2)
    result, _ = simulated(topology, "min", Decision(), load=0.3, faults="700 fail link:s1-s10")
    plain, _ = simulated(PolarFly(3), "min", Decision(), load=0.3, faults="700 fail link:s1-s10")
    assert result.offered == plain.offered == result.delivered + result.dropped
    assert result.dropped == plain.dropped
