"""One experiment: proves the plan, brings up the fabric, checks all pairs, runs traffic, writes results."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

from emulation.capture import capture, require_capture
from emulation.network import FabricNetwork
from emulation.requirements import require_emulation
from emulation.subprocesses import CommandError
from experiments.calibration import with_settled_rate
from experiments.events.base import OnEvent
from experiments.events.marks import ResultsWritten
from experiments.events.notices import Notice
from experiments.fault_injector import write_schedule
from experiments.live_fabric import (
    LiveFabric,
    Watching,
    controlled,
    prepared_network,
    report_ingress_drops,
    unwatched,
)
from experiments.measurement import Companions, Measurement, replications
from experiments.pair_check import check_all_pairs
from experiments.programs.running import ProgramPlan
from experiments.results.manifest import run_manifest, write_manifest
from experiments.results.model import PairCheck, Summary
from experiments.results.replications import combine
from experiments.results.run_directory import FAULTS, SUMMARY, RunDirectory, kept_directory, seed_folder
from experiments.results.series import write_series
from experiments.spec.fabric import FabricOptions
from experiments.spec.resolve import Run
from experiments.spec.traffic import TrafficOptions
from topology.errors import UsageError
from topology.faults import Fault


def run_experiment(run: Run, folder: Path, on_event: OnEvent, watching: Watching = unwatched) -> Summary:
    """Runs one experiment, writes its results into the folder, and returns its summary.

    With several replications, the summary has means, and each replication has its own folder.

    Args:
        run: specification of the experiment.
        folder: output directory, new or empty.
        on_event: called with each event.
        watching: starts observation of the fabric.

    Raises:
        UsageError: an option makes no sense for this fabric.
        MachineError: the machine lacks a requirement.
        NegativeResult: a proof failed, or packets took unplanned paths.
        KeyboardInterrupt: Ctrl-C; the folder has the measurements so far.
    """
    require_emulation()
    if run.captures:
        require_capture()
    with (
        kept_directory(folder) as directory,
        prepared_network(run.fabric, on_event) as network,
        controlled(_settled(network, run, on_event), network, on_event, watching) as live,
    ):
        check = check_all_pairs(live, on_event)
        measured = _measure(live, run, directory, on_event, check)
        on_event(Notice("fabric-down"))
    return _report(measured, folder, on_event)


def run_on_fabric(
    live: LiveFabric, run: Run, folder: Path, on_event: OnEvent, *, check: PairCheck
) -> Summary:
    """Runs one experiment on a fabric that is up and stays up, and returns its summary.

    Args:
        live: the fabric; the results list its active failures as failed from the start.
        run: specification of the experiment, with the fabric of `live`.
        folder: output directory, new or empty.
        on_event: called with each event.
        check: check of all pairs of hosts, made before anything failed.

    Raises:
        UsageError: an option makes no sense for this fabric.
        MachineError: the machine lacks a requirement.
        NegativeResult: packets took unplanned paths.
        KeyboardInterrupt: Ctrl-C; the folder has the measurements so far.
    """
    if live.active_failures and run.traffic.faults:
        names = ", ".join(component.name for component in live.active_failures)
        raise UsageError(f"faults need an intact fabric; restore {names} first")
    if run.captures:
        require_capture()
    with kept_directory(folder) as directory:
        live.reset()
        dropped: dict[str, int] = {}
        with suppress(CommandError):  # a switch hangs
            dropped = live.network.ingress_drops()
        measured = _measure(live, run, directory, on_event, check, dropped)
    return _report(measured, folder, on_event)


def _report(measured: tuple[Summary, list[Measurement]], folder: Path, on_event: OnEvent) -> Summary:
    """Reports a result and returns its summary; raises NegativeResult if a run failed."""
    summary, runs = measured
    on_event(ResultsWritten(folder, interrupted=bool(summary.interrupted)))
    if summary.faults and summary.faults.losses:
        on_event(Notice("lost-to-failures", losses=summary.faults.losses))
    for reason in summary.fidelity.reasons:
        on_event(Notice("result-invalid", reason=reason, remedy=summary.remedy))
    for one in runs:
        one.raise_if_negative()
    return summary


def _measure(
    fabric: LiveFabric,
    run: Run,
    directory: RunDirectory,
    on_event: OnEvent,
    check: PairCheck,
    dropped_before: Mapping[str, int] | None = None,
) -> tuple[Summary, list[Measurement]]:
    """Runs all replications and writes each as it ends; returns the combined summary and the runs.

    `dropped_before` is host -> packets dropped at ingress before these runs; None for a new fabric.
    """
    traffic, repeat = run.traffic, run.repeat

    def folder_of(seed: int) -> Path:
        return directory.path if repeat == 1 else directory.path / seed_folder(seed)

    settings = replace(traffic.settings(), **run.programs.settings())
    if fabric.active_failures:
        settings = replace(
            settings, faults=tuple(Fault(0.0, component).line for component in fabric.active_failures)
        )
    write_manifest(directory, run_manifest(fabric, settings, traffic.seed), fabric)
    if fabric.active_failures:
        directory.write_text(FAULTS, "".join(f"{line}\n" for line in settings.faults or ()))
    write_schedule(directory, traffic, on_event)
    runs: list[Measurement] = []

    def own_directory(seed: int) -> RunDirectory:
        # The folder may exist, because programs may have written to it.
        return directory if repeat == 1 else RunDirectory(folder_of(seed), resume=True)

    def summarised() -> Summary:
        return runs[0].summary if repeat == 1 else combine([one.summary for one in runs], repeat)

    def keep(one: Measurement) -> None:
        directory.keep()
        runs.append(one)
        seed = one.record.traffic.seed
        with _keeping_observations(one, lambda: own_directory(seed)):
            summary, combined = one.summary, summarised()
        with directory.storing(summary, on_event):
            directory.write_record(SUMMARY, combined)
            if repeat == 1:
                write_series(directory, one.record)
                return
            own = own_directory(seed)
            with own.keeping_what_fits():
                own.write_record(SUMMARY, summary)
                write_series(own, one.record)
                write_manifest(own, run_manifest(fabric, settings, seed, one_of_many=True), fabric)

    with capture(fabric.network, run.captures, directory.path) as captured:
        beside = Companions(ProgramPlan(run.programs, folder_of), captured.ended_processes, keep)
        for _ in replications(fabric, traffic, repeat, check, on_event, beside):
            pass
    summary = summarised()
    try:
        dropped = report_ingress_drops(fabric.network, on_event, dropped_before)
        summary = replace(summary, dropped_at_ingress=dropped)
    except CommandError as error:  # a switch hangs: the measurements are kept, but marked as doubtful
        summary = summary.doubted(str(error))
    directory.write_record(SUMMARY, summary)
    return summary, runs


@contextmanager
def _keeping_observations(run: Measurement, directory: Callable[[], RunDirectory]) -> Iterator[None]:
    """Writes a run's observations if the block raises an error, for example for lack of memory."""
    try:
        yield
    except Exception:
        write_series(directory(), run.record)
        raise


def _settled(network: FabricNetwork, run: Run, on_event: OnEvent) -> FabricOptions:
    if not isinstance(run.traffic, TrafficOptions):  # calibration needs traffic of a pattern
        return run.fabric
    return with_settled_rate(network, run.fabric, run.traffic, on_event)
