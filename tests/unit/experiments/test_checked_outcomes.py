"""Outcomes of simulations from other machines: all honest ones are taken, and no impossible one."""

from dataclasses import replace

import numpy as np
import pytest

from experiments.events.base import ignore
from experiments.simulation.checked_outcome import check_outcome
from experiments.simulation.fabric import prepare_fabric
from experiments.simulation.task import task_of
from experiments.spec.fabric import FabricOptions
from experiments.spec.simulation.model import SimulatedTraffic
from simulation.result import Deadlock, FaultCourse, FaultOutcome
from simulation.settings import RouterSettings, Times
from topology.families.low_diameter.polarfly import PolarFly
from topology.faults import CYCLES, parse_schedule

pytestmark = pytest.mark.usefixtures("compiled_kernels")
TIMES = Times(warmup=200, window=1500)
FAULTS = parse_schedule("300 fail link:s1-s10\n600 restore link:s1-s10", PolarFly(3), unit=CYCLES)


def done(traffic, **routers):
    """Returns a task's outcome, the task and the tables of its fabric."""
    settings = RouterSettings(**routers)
    options = FabricOptions("polarfly", {"q": 3}, PolarFly(3), 2, "min", routers=settings)
    task, planned = task_of(options, traffic), prepare_fabric(options, ignore)
    return task.run(planned), task, planned.tables


@pytest.fixture(scope="module")
def honest():
    return done(SimulatedTraffic("tornado", 0.1, times=TIMES))


@pytest.mark.parametrize(
    ("load", "changed", "routers"),
    [
        (0.3, {"times": Times(window=1500)}, {"global_link_cycles": 9}),
        (0.0001, {"times": Times(warmup=1, window=1)}, {}),
        (0.3, {"faults": FAULTS, "replan_cycles": 50}, {}),
        (0.9, {"faults": FAULTS}, {"flow_control": "drop"}),
        (1, {"pattern": "uniform"}, {"channels": 1, "channel_policy": "any", "buffer_flits": 4}),
    ],
)
def test_an_honest_outcome_is_taken(load, changed, routers):
    outcome, task, tables = done(
        SimulatedTraffic(**{"pattern": "tornado", "load": load, "times": TIMES, **changed}), **routers
    )
    assert check_outcome(outcome, task, tables) is outcome


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("latency_sum", float("nan")),
        ("queueing_sum", float("-inf")),
        ("cycles", "1"),
        ("offered", True),
        ("accepted", -1),
        ("packet_hops", 10**30),
        ("link_flits", np.zeros(1, np.int64)),
        ("host_packets", np.full(26, -1)),
        ("batches", np.zeros(1, np.int64)),
        ("batch_hops", np.zeros((1, 1), np.int64)),
        ("hops", np.zeros(3)),
        ("deadlock", Deadlock(cycle=1, waiting=1, arrived=1, cyclic_dependency=((10**6, 0),))),
    ],
)
def test_an_impossible_value_is_named(honest, name, value):
    outcome, task, tables = honest
    wrong = replace(outcome, result=replace(outcome.result, **{name: value}))
    with pytest.raises(ValueError, match=name):
        check_outcome(wrong, task, tables)


@pytest.mark.parametrize("what", ["None", "list", "no result", "words", "faults"])
def test_what_is_no_outcome_of_the_task_is_refused(honest, what):
    outcome, task, tables = honest
    faults = FaultCourse((FaultOutcome(1, "fail link:s1-s2"),))
    wrong = {
        "None": None,
        "list": [1, 2],
        "no result": replace(outcome, result=None),
        "words": replace(outcome, faults="words"),
        "faults": replace(outcome, faults=faults),
    }
    with pytest.raises(ValueError, match=r"must be|Expected"):
        check_outcome(wrong[what], task, tables)
