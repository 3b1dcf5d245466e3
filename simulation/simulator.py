"""The simulator: runs a workload over forwarding tables, and measures what happens to its packets."""

from __future__ import annotations

import time
from collections.abc import Sequence

from simulation.arrays.network import make_network
from simulation.course import DEADLOCKED, Course, Intervention, Progress, result_of
from simulation.result import SimulationResult
from simulation.settings import Decision, RouterSettings, Times, Workload
from simulation.tables.model import ForwardingTables
from topology.errors import Terminated


def simulate(  # noqa: PLR0913  # all that a result depends on
    tables: ForwardingTables,
    workload: Workload,
    routers: RouterSettings,
    decision: Decision,
    times: Times,
    seed: int,
    progress: Progress | None = None,
    *,
    interventions: Sequence[Intervention] = (),
) -> SimulationResult:
    """Runs a workload over forwarding tables.

    Args:
        tables: forwarding tables of a plan.
        workload: who sends to whom, and how much.
        routers: settings of routers and links.
        decision: law of adaptive choices.
        times: warm-up, window and drain.
        seed: seed of the run, at least 0; the same seed gives the same result on every machine.
        progress: is told simulated cycles and arrived packets after every period.
        interventions: change the network at their cycles, those of one cycle in this order.

    Returns:
        The measures. Where Ctrl-C or a signal interrupts it, those so far.
    """
    network = make_network(tables, workload, routers, decision, seed)
    course = Course(network, routers, progress, interventions)
    began = time.perf_counter()
    steady = None
    try:
        steady = course.warm_up(times)
        course.measure(times)
        course.drain(times)
    except (KeyboardInterrupt, Terminated):
        course.interrupted = True
    if course.interrupted or course.status == DEADLOCKED:
        course.shorten_window()
    return result_of(course, tables, steady, time.perf_counter() - began)
