"""One experiment: prove, launch, install, check every pair, run traffic, and write all results."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path

from emulation.capture import CapturePoint, capture, require_capture
from emulation.network import FabricNetwork
from emulation.requirements import require_emulation
from experiments.calibration import with_settled_rate
from experiments.codec import plain
from experiments.events.base import Notify
from experiments.events.bringup import FabricDown
from experiments.events.outcomes import ResultInvalid, ResultsNotWritten, ResultsWritten
from experiments.fault_injector import write_schedule
from experiments.live_fabric import LiveFabric, controlled, prepared_network, report_ingress_drops
from experiments.measurement import Measurement, replications
from experiments.pair_check import check_all_pairs
from experiments.programs.running import ProgramPlan
from experiments.results.manifest import run_manifest, write_manifest
from experiments.results.model import PairCheck, Summary
from experiments.results.record import RunOptions
from experiments.results.replications import combine
from experiments.results.run_directory import FAULTS, SUMMARY, RunDirectory, kept_directory, seed_folder
from experiments.results.series import write_series
from experiments.spec.fabric import FabricOptions
from experiments.spec.programs import NO_OPTIONS, ProgramOptions
from experiments.spec.traffic import TrafficOptions
from topology.errors import UsageError
from topology.faults import Fault


@dataclass(frozen=True)
class Output:
    """Output of a run.

    Attributes:
        folder: output directory, new or empty.
        captures: interfaces at which packets are captured.
        repeat: number of replications, each with a seed of its own.
    """

    folder: Path
    captures: tuple[CapturePoint, ...] = ()
    repeat: int = 1

    def folder_of(self, seed: int) -> Path:
        """Returns the folder of the replication with a seed."""
        return self.folder if self.repeat == 1 else self.folder / seed_folder(seed)


def run_experiment(
    fabric: FabricOptions,
    traffic: RunOptions,
    output: Output,
    notify: Notify,
    programs: ProgramOptions = NO_OPTIONS,
) -> Summary:
    """Runs one experiment and returns its summary; the folder then holds it, with the series.

    Of several replications the summary has means, and each has a folder of its own.

    Args:
        fabric: specification of the fabric.
        traffic: specification of the traffic.
        output: folder, capture and replications.
        notify: takes the events.
        programs: programs of the user that run beside the traffic.

    Raises:
        UsageError: an option makes no sense for this fabric.
        MachineError: the machine lacks something.
        NegativeResult: a proof failed, or packets took other paths than planned.
        KeyboardInterrupt: Ctrl-C; the folder holds the measurements until then.
    """
    require_emulation()
    if output.captures:
        require_capture()
    plan = ProgramPlan(programs, output.folder_of)
    with (
        kept_directory(output.folder) as directory,
        prepared_network(fabric, notify) as network,
        controlled(_settled(network, fabric, traffic, notify), network, notify) as live,
    ):
        check = check_all_pairs(live, notify)
        measured = _measure(live, traffic, output, directory, plan, notify, check)
        notify(FabricDown())
    return _told(measured, output, notify)


def run_on_fabric(
    live: LiveFabric,
    traffic: RunOptions,
    output: Output,
    notify: Notify,
    programs: ProgramOptions = NO_OPTIONS,
    *,
    check: PairCheck,
) -> Summary:
    """Runs one experiment on a fabric that is up, which stays up, and returns its summary.

    Args:
        live: the fabric; the results name its standing failures as failed from the start.
        traffic: specification of the traffic.
        output: folder, capture and replications.
        notify: takes the events.
        programs: programs of the user that run beside the traffic.
        check: check of all pairs of hosts before anything failed.

    Raises:
        UsageError: an option makes no sense for this fabric.
        MachineError: the machine lacks something.
        NegativeResult: packets took other paths than planned.
        KeyboardInterrupt: Ctrl-C; the folder holds the measurements until then.
    """
    if live.standing and traffic.faults:
        names = ", ".join(element.name for element in live.standing)
        raise UsageError(f"faults need a whole fabric; restore {names} first")
    if output.captures:
        require_capture()
    plan = ProgramPlan(programs, output.folder_of)
    with kept_directory(output.folder) as directory:
        live.begin_anew()
        measured = _measure(live, traffic, output, directory, plan, notify, check)
    return _told(measured, output, notify)


def _told(measured: tuple[Summary, list[Measurement]], output: Output, notify: Notify) -> Summary:
    """Returns a summary once its events are told; raises NegativeResult if a run did not end as it should."""
    summary, runs = measured
    notify(ResultsWritten(output.folder, interrupted=bool(summary.interrupted)))
    for reason in summary.fidelity.reasons:
        notify(ResultInvalid(reason))
    for run in runs:
        run.raise_if_negative()
    return summary


def _measure(
    fabric: LiveFabric,
    traffic: RunOptions,
    output: Output,
    directory: RunDirectory,
    plan: ProgramPlan,
    notify: Notify,
    check: PairCheck,
) -> tuple[Summary, list[Measurement]]:
    """Runs all replications and writes each as it ends; returns the summary of all, and the runs."""
    settings = replace(traffic.settings(), **plan.options.settings())
    if fabric.standing:
        settings = replace(settings, faults=tuple(Fault(0.0, element).line for element in fabric.standing))
    write_manifest(directory, run_manifest(fabric, settings, traffic.seed), fabric)
    if fabric.standing:
        directory.write_text(FAULTS, "".join(f"{line}\n" for line in settings.faults or ()))
    write_schedule(directory, traffic, notify)
    runs: list[Measurement] = []
    with capture(fabric.network, output.captures, directory.path) as captured:
        others_ended = captured.ended_processes
        for run in replications(fabric, traffic, output.repeat, check, notify, others_ended, plan):
            runs.append(run)
            summary = run.summary
            if output.repeat == 1:
                _write(directory, run, notify)
                continue
            own = RunDirectory(output.folder_of(summary.seed), go_on=True)  # programs may have written there
            write_manifest(own, run_manifest(fabric, settings, summary.seed, one_of_many=True), fabric)
            _write(own, run, notify)
            summary = combine([run.summary for run in runs], output.repeat)
            directory.write_record(SUMMARY, summary)
    summary = replace(summary, dropped_at_ingress=report_ingress_drops(fabric.network, notify))
    directory.write_record(SUMMARY, summary)
    return summary, runs


def _write(directory: RunDirectory, run: Measurement, notify: Notify) -> None:
    try:
        directory.write_record(SUMMARY, run.summary)
        write_series(directory, run.record)
    except OSError:
        notify(ResultsNotWritten(json.dumps(plain(run.summary))))
        raise


def _settled(
    network: FabricNetwork, fabric: FabricOptions, traffic: RunOptions, notify: Notify
) -> FabricOptions:
    if not isinstance(traffic, TrafficOptions):  # their rate is never looked for
        return fabric
    return with_settled_rate(network, fabric, traffic, notify)
