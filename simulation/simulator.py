"""The simulator: runs a workload over forwarding tables and measures throughput, latency and losses."""

from __future__ import annotations

import time
from collections.abc import Sequence

from simulation.arrays.network import make_network
from simulation.course import DEADLOCKED, Intervention, Progress, SimulationRun, result_of
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
        workload: traffic pattern, load and arrival process.
        routers: settings of routers and links.
        decision: decision law of adaptive routing.
        times: lengths of warm-up, measurement window and drain.
        seed: seed of the run, at least 0; the same seed gives the same result on every machine.
        progress: called with simulated cycles and arrived packets after every period.
        interventions: changes to the network, each at its own cycle; those of one cycle happen in the
            given order.

    Returns:
        The measurements; only those until Ctrl-C or a signal, if one ended the run.
    """
    network = make_network(tables, workload, routers, decision, seed)
    run = SimulationRun(network, routers, progress, interventions)
    began = time.perf_counter()
    steady = None
    try:
        steady = run.warm_up(times)
        run.measure(times)
        run.drain(times)
    except (KeyboardInterrupt, Terminated):
        run.interrupted = True
    if run.interrupted or run.status == DEADLOCKED:
        run.shorten_window()
    return result_of(run, tables, steady, time.perf_counter() - began)
