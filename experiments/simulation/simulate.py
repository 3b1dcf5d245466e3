"""One simulation: plans the fabric, simulates packets, and writes a folder of results."""

from __future__ import annotations

from pathlib import Path

from experiments.events.base import OnEvent
from experiments.events.marks import Interrupted, ResultsWritten
from experiments.events.notices import Notice
from experiments.planned_fabric import PlannedFabric
from experiments.results.run_directory import RunDirectory, kept_directory
from experiments.results.simulation.model import SimulationSummary
from experiments.results.simulation.record import AnyTraffic, SimulationRecord
from experiments.results.simulation.series import link_load_rows
from experiments.results.simulation.summary import replan_record, summarise
from experiments.simulation.fabric import prepare_fabric, warn_of_repairs
from experiments.simulation.files import write_origin, write_result, write_simulation
from experiments.simulation.pace import Pace
from experiments.simulation.replications import (
    KeptReplication,
    replications_of,
    seed_directory,
    write_means,
)
from experiments.simulation.task import task_of
from experiments.spec.simulation.model import SimulatedTraffic
from experiments.spec.simulation.resolve import Simulation
from simulation.result import FaultOutcome, PlanOutcome
from topology.errors import NegativeResult


def run_simulation(simulation: Simulation, folder: Path, on_event: OnEvent) -> SimulationSummary:
    """Runs one simulation, writes its results into the folder, and returns its summary.

    With several replications, the summary has means, and each replication has its own folder.

    Args:
        simulation: its specification.
        folder: output directory, new or empty.
        on_event: called with each event.

    Raises:
        UsageError: an option makes no sense for this fabric.
        NegativeResult: the packets deadlocked; the folder has the counts up to then.
        KeyboardInterrupt: Ctrl-C; the folder has the counts up to then.
    """
    with kept_directory(folder) as directory:
        fabric = prepare_fabric(simulation.fabric, on_event)
        write_origin(directory, simulation.fabric, simulation.traffic)
        if isinstance(simulation.traffic, SimulatedTraffic):
            _report_drawn_faults(simulation.traffic, on_event)
        summary = _replicated(fabric, simulation, directory, on_event)
    on_event(ResultsWritten(folder, interrupted=bool(summary.interrupted)))
    if summary.interrupted:
        raise KeyboardInterrupt
    if summary.deadlock:
        raise NegativeResult(summary.deadlock.text)
    if summary.stable is False:
        latency = summary.latency_cycles.mean
        on_event(
            Notice(
                "simulation-unstable",
                accepted=summary.accepted,
                offered=summary.offered,
                latency_cycles=latency,
            )
        )
    elif summary.batches and summary.batches.unknown:
        on_event(Notice("intervals-unknown", window=summary.measured_cycles, names=summary.batches.unknown))
    return summary


def _replicated(
    fabric: PlannedFabric, simulation: Simulation, directory: RunDirectory, on_event: OnEvent
) -> SimulationSummary:
    """Simulates the replications one after another, writes each as it ends, and returns the combined summary.

    It stops after a replication that is interrupted or deadlocks.
    """
    kept: list[KeptReplication] = []
    for number, one in enumerate(replications_of(simulation), start=1):
        if simulation.repeat > 1:
            on_event(
                Notice(
                    "replication-started",
                    seed=one.traffic.seed,
                    number=number,
                    replications=simulation.repeat,
                )
            )
        record = _simulated(fabric.changed(options=one.fabric), one.traffic, on_event)
        summary = summarise(record)
        kept.append(KeptReplication(summary, link_load_rows(record.counts)))
        with directory.storing(summary, on_event):
            if simulation.repeat == 1:
                write_result(directory, record.counts, summary)
            else:
                own = seed_directory(directory, one.traffic.seed)
                write_simulation(own, record.counts, summary)
                summary = write_means(directory, kept, simulation.repeat)
        if record.result.interrupted or record.result.deadlock:
            break
    return summary


def _simulated(fabric: PlannedFabric, traffic: AnyTraffic, on_event: OnEvent) -> SimulationRecord:
    if isinstance(traffic, SimulatedTraffic):
        return simulate_traffic(fabric, traffic, on_event)
    from experiments.simulation.applications import simulate_messages

    return simulate_messages(fabric, traffic, on_event)


def simulate_traffic(fabric: PlannedFabric, traffic: SimulatedTraffic, on_event: OnEvent) -> SimulationRecord:
    """Simulates traffic on a fabric and returns the record of the simulation.

    If Ctrl-C interrupts the simulation, the record covers the cycles until then.

    Args:
        fabric: the fabric.
        traffic: specification of the traffic.
        on_event: called with each event.
    """
    warmup = traffic.times.warmup
    on_event(
        Notice(
            "simulation-started",
            pattern=traffic.pattern,
            load=traffic.load,
            warmup=warmup,
            window=traffic.times.window,
        )
    )
    if traffic.faults:
        warn_of_repairs(fabric.options, fabric.plan, on_event)

    def report(outcome: FaultOutcome | PlanOutcome) -> None:
        text = replan_record(outcome).text if isinstance(outcome, PlanOutcome) else outcome.fault
        on_event(Notice("fabric-changed", cycle=outcome.cycle, what=text))

    task = task_of(fabric.options, traffic)
    pace = Pace(on_event, None if warmup is None else warmup + traffic.times.window)
    outcome = task.run(fabric, pace, report)
    if outcome.result.interrupted:
        on_event(Interrupted())
    return SimulationRecord(fabric, traffic, task.workload.pattern, outcome.result, outcome.faults)


def _report_drawn_faults(traffic: SimulatedTraffic, on_event: OnEvent) -> None:
    asked = traffic.faults_asked
    if asked is not None:
        failures = sum(not fault.restores for fault in traffic.faults)
        on_event(
            Notice(
                "faults-drawn",
                asked=asked,
                seed=traffic.seed,
                failures=failures,
                repairs=len(traffic.faults) - failures,
            )
        )
