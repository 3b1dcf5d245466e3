"""One simulation: plan, tables, packets, and a folder of results."""

from __future__ import annotations

import json
import time
from pathlib import Path

from experiments.codec import plain
from experiments.events.base import Notify
from experiments.events.outcomes import ResultsNotWritten, ResultsWritten
from experiments.events.simulation import SimulationProgress, SimulationStarted, SimulationUnstable
from experiments.events.traffic import Interrupted
from experiments.results.manifest import write_graph
from experiments.results.run_directory import MANIFEST, SUMMARY, RunDirectory, kept_directory
from experiments.results.simulation.model import SimulationSummary
from experiments.results.simulation.record import SimulatedFabricRecord, SimulationRecord
from experiments.results.simulation.series import write_series
from experiments.results.simulation.summary import manifest_of, summarise
from experiments.simulation.fabric import prepare_fabric
from experiments.spec.resolve import Simulation
from experiments.spec.simulation.model import SimulatedTraffic
from simulation.simulator import simulate
from simulation.workload import Workload
from topology.errors import NegativeResult
from traffic.workload.patterns import make_pattern


def run_simulation(simulation: Simulation, folder: Path, notify: Notify) -> SimulationSummary:
    """Runs one simulation and returns its summary; the folder then holds it, with the tables.

    Args:
        simulation: its specification.
        folder: output directory, new or empty.
        notify: takes the events.

    Raises:
        UsageError: an option makes no sense for this fabric.
        NegativeResult: the packets are in a deadlock; the folder holds what was counted until then.
        KeyboardInterrupt: Ctrl-C; the folder holds what was counted until then.
    """
    with kept_directory(folder) as directory:
        fabric = prepare_fabric(simulation.fabric, notify)
        directory.write_record(MANIFEST, manifest_of(simulation.fabric, simulation.traffic))
        write_graph(directory, simulation.fabric.topology)
        record = simulate_traffic(fabric, simulation.traffic, notify)
        summary = summarise(record)
        _write(directory, record, summary, notify)
    notify(ResultsWritten(folder, interrupted=record.result.interrupted))
    if record.result.interrupted:
        raise KeyboardInterrupt
    if summary.deadlock:
        raise NegativeResult(summary.deadlock.text)
    if not summary.stable:
        latency = summary.latency_cycles.mean
        notify(SimulationUnstable(summary.accepted, summary.offered, latency))
    return summary


def simulate_traffic(
    fabric: SimulatedFabricRecord, traffic: SimulatedTraffic, notify: Notify
) -> SimulationRecord:
    """Returns the record of traffic on a fabric; of an interrupted simulation, until then.

    Args:
        fabric: the fabric.
        traffic: specification of the traffic.
        notify: takes the events.
    """
    options = fabric.options
    pattern = make_pattern(traffic.pattern, options.topology, options.hosts, traffic.seed)
    notify(SimulationStarted(traffic.pattern, traffic.load, traffic.times.warmup, traffic.times.window))
    result = simulate(
        fabric.tables,
        Workload(pattern=pattern, load=traffic.load, arrivals=traffic.arrivals),
        options.routers,
        options.packet_decision(),
        traffic.times,
        traffic.seed,
        _Pace(traffic, notify),
    )
    if result.interrupted:
        notify(Interrupted())
    return SimulationRecord(fabric, traffic, pattern, result)


class _Pace:
    """Teller of a simulation's progress, with the cycles of a second between two tellings."""

    def __init__(self, traffic: SimulatedTraffic, notify: Notify) -> None:
        warmup = traffic.times.warmup
        self._total = None if warmup is None else warmup + traffic.times.window
        self._notify = notify
        self._cycles, self._time_s = 0, time.monotonic()

    def __call__(self, cycles: int, packets: int) -> None:
        """Takes the simulated cycles, and the packets that have arrived."""
        now_s = time.monotonic()
        speed = (cycles - self._cycles) / max(now_s - self._time_s, 1e-9)
        self._cycles, self._time_s = cycles, now_s
        self._notify(SimulationProgress(cycles, self._total, packets, speed))


def _write(
    directory: RunDirectory, record: SimulationRecord, summary: SimulationSummary, notify: Notify
) -> None:
    try:
        write_series(directory, record)
        directory.write_record(SUMMARY, summary)
    except OSError:
        notify(ResultsNotWritten(json.dumps(plain(summary))))
        raise
