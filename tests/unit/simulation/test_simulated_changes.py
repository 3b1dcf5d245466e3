"""Simulations of changed plans: what the rules say happens, whatever the family and the routing."""

import numpy as np
import pytest
from support.builders.damaged_plans import damaged
from support.builders.simulated_networks import digest, polarfly_pattern, polarfly_tables, simulated

from routing.registry import make_plan
from routing.verification.proof import PlanError
from simulation.settings import Decision
from simulation.tables.compiler import compile_tables
from topology.failures import link_failures
from topology.families.low_diameter.polarfly import PolarFly

pytestmark = pytest.mark.usefixtures("compiled_kernels")


@pytest.mark.parametrize("routing", ["min", "valiant", "compact-valiant", "ugal", "ugal-pf"])
def test_a_damaged_plan_changes_the_result(routing):
    law = {"ugal": "product", "ugal-pf": "threshold"}.get(routing, "minimal")
    topology, pattern = PolarFly(3), polarfly_pattern(3, 2, "uniform")
    plan = make_plan(topology, 2, routing)
    settings = {"decision": Decision(law=law, threshold=0.1), "window": 1000, "most_drain": 1000}
    sound = simulated(polarfly_tables(3, 2, routing), pattern, 0.8, **settings)
    assert sound.dropped == 0
    results = []
    for seed in range(8):
        try:
            tables = compile_tables(damaged(plan, seed))
        except PlanError:
            continue
        results.append(simulated(tables, pattern, 0.8, **settings))
    assert results
    assert digest(sound) not in {digest(one) for one in results}
    assert any(one.dropped for one in results)


def test_a_dead_link_carries_nothing_and_its_packets_arrive():
    topology, pattern = PolarFly(3), polarfly_pattern(3, 1, "uniform")
    plan = make_plan(topology, 1, "min")
    for failure in list(link_failures(topology))[::9]:
        tables = compile_tables(plan, failure)
        found = simulated(tables, pattern, 0.3, window=1000)
        assert found.delivered == found.offered
        assert not found.link_flits[tables.links_up == 0].any()
        assert np.count_nonzero(tables.links_up == 0) == 2
        assert np.count_nonzero(found.link_flits) == len(found.link_flits) - 2
