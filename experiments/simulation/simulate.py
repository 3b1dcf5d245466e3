"""One simulation: plan, tables, packets, and a folder of results."""

from __future__ import annotations

import json
from pathlib import Path

from experiments.codec import plain
from experiments.events.base import Notify
from experiments.events.outcomes import ResultsNotWritten, ResultsWritten
from experiments.events.simulation import FabricChanged, SimulationStarted, SimulationUnstable
from experiments.events.traffic import FaultsDrawn, Interrupted
from experiments.results.manifest import write_graph
from experiments.results.parts.faults import schedule_text
from experiments.results.run_directory import FAULTS, MANIFEST, SUMMARY, RunDirectory, kept_directory
from experiments.results.simulation.model import SimulationSummary
from experiments.results.simulation.record import AnyTraffic, SimulatedFabricRecord, SimulationRecord
from experiments.results.simulation.series import write_series
from experiments.results.simulation.summary import manifest_of, replan_record, summarise
from experiments.simulation.applications import simulate_messages
from experiments.simulation.fabric import bucket_loop, prepare_fabric, warn_of_repairs
from experiments.simulation.pace import Pace
from experiments.spec.simulation.model import SimulatedFabric, SimulatedTraffic
from experiments.spec.simulation.resolve import Simulation
from routing.replan.replan import Provers
from simulation.bucket_loop import BucketLoop
from simulation.faults import SimulatedFaults
from simulation.result import FaultOutcome, PlanOutcome
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
        write_origin(directory, simulation.fabric, simulation.traffic)
        if isinstance(simulation.traffic, SimulatedTraffic):
            _write_schedule(directory, simulation.traffic, notify)
        record = _simulated(fabric, simulation.traffic, notify)
        summary = summarise(record)
        try:
            write_result(directory, record, summary)
        except OSError:
            notify(ResultsNotWritten(json.dumps(plain(summary))))
            raise
    notify(ResultsWritten(folder, interrupted=record.result.interrupted))
    if record.result.interrupted:
        raise KeyboardInterrupt
    if summary.deadlock:
        raise NegativeResult(summary.deadlock.text)
    if summary.stable is False:
        latency = summary.latency_cycles.mean
        notify(SimulationUnstable(summary.accepted, summary.offered, latency))
    return summary


def _simulated(fabric: SimulatedFabricRecord, traffic: AnyTraffic, notify: Notify) -> SimulationRecord:
    if isinstance(traffic, SimulatedTraffic):
        return simulate_traffic(fabric, traffic, notify)
    return simulate_messages(fabric, traffic, notify)


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
    warmup = traffic.times.warmup
    pattern = make_pattern(traffic.pattern, options.topology, options.hosts, traffic.seed)
    notify(SimulationStarted(traffic.pattern, traffic.load, traffic.times.warmup, traffic.times.window))
    loop = bucket_loop(fabric)
    faults = _faults(fabric, traffic, loop, notify)
    result = simulate(
        fabric.tables,
        Workload(pattern=pattern, load=traffic.load, arrivals=traffic.arrivals),
        options.routers,
        options.packet_decision(),
        traffic.times,
        traffic.seed,
        Pace(notify, None if warmup is None else warmup + traffic.times.window),
        interventions=[one for one in (faults, loop) if one is not None],
    )
    if result.interrupted:
        notify(Interrupted())
    return SimulationRecord(fabric, traffic, pattern, result, faults.course() if faults else None)


def _faults(
    fabric: SimulatedFabricRecord, traffic: SimulatedTraffic, loop: BucketLoop | None, notify: Notify
) -> SimulatedFaults | None:
    """Returns the faults of a simulation; None without any."""
    if not traffic.faults:
        return None
    warn_of_repairs(fabric, notify)

    def tell(outcome: FaultOutcome | PlanOutcome) -> None:
        text = replan_record(outcome).text if isinstance(outcome, PlanOutcome) else outcome.fault
        notify(FabricChanged(outcome.cycle, text))

    return SimulatedFaults(
        fabric.plan,
        traffic.faults,
        None if isinstance(traffic.replan_cycles, str) else traffic.replan_cycles,
        fabric.options.routers,
        provers=Provers(fabric.prover),
        tell=tell,
        loop=loop,
    )


def _write_schedule(directory: RunDirectory, traffic: SimulatedTraffic, notify: Notify) -> None:
    """Writes the schedule of faults into the folder, to be carried out again; nothing without faults."""
    asked = traffic.faults_asked
    if asked is None and not traffic.faults:
        return
    if asked is not None:
        failures = sum(not fault.restores for fault in traffic.faults)
        notify(FaultsDrawn(asked, traffic.seed, failures, len(traffic.faults) - failures))
    directory.write_text(FAULTS, schedule_text(traffic.faults, asked, traffic.seed))


def write_simulation(directory: RunDirectory, record: SimulationRecord, summary: SimulationSummary) -> None:
    """Writes all files of a simulation: manifest, graph, tables and summary.

    Args:
        directory: folder of the simulation.
        record: the simulation.
        summary: its summary.

    Raises:
        OSError: the disk is full, or went away.
    """
    write_origin(directory, record.fabric.options, record.traffic)
    write_result(directory, record, summary)


def write_origin(directory: RunDirectory, fabric: SimulatedFabric, traffic: AnyTraffic) -> None:
    """Writes everything that a simulation depends on: its manifest, and its graph if it is one of networkx.

    Args:
        directory: folder of the simulation.
        fabric: specification of the fabric.
        traffic: specification of the traffic.
    """
    directory.write_record(MANIFEST, manifest_of(fabric, traffic))
    write_graph(directory, fabric.topology)


def write_result(directory: RunDirectory, record: SimulationRecord, summary: SimulationSummary) -> None:
    """Writes the tables and the summary of a simulation.

    Args:
        directory: folder of the simulation.
        record: the simulation.
        summary: its summary.
    """
    write_series(directory, record)
    directory.write_record(SUMMARY, summary)
