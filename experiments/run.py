"""One experiment: prove, launch, install, check every pair, run traffic, and write all results."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path

from emulation.capture import capture, require_capture
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
from experiments.results.manifest import run_manifest
from experiments.results.model import Summary
from experiments.results.record import RunOptions
from experiments.results.replications import combine
from experiments.results.run_directory import MANIFEST, SUMMARY, RunDirectory, kept_directory, seed_folder
from experiments.results.series import write_series
from experiments.spec.collective import CollectiveOptions
from experiments.spec.fabric import FabricOptions
from experiments.spec.flows import FlowOptions
from topology.addressing import hosts_of
from topology.errors import ParameterError


@dataclass(frozen=True)
class Output:
    """Output of a run.

    Attributes:
        folder: output directory, new or empty.
        pcap_host: host at which packets are captured; None for none.
        repeat: number of replications, each with a seed of its own.
    """

    folder: Path
    pcap_host: str | None = None
    repeat: int = 1


def run_experiment(fabric: FabricOptions, traffic: RunOptions, output: Output, notify: Notify) -> Summary:
    """Runs one experiment and returns its summary; the folder then holds it, with the series.

    Of several replications the summary has means, and each has a folder of its own.

    Args:
        fabric: specification of the fabric.
        traffic: specification of the traffic.
        output: folder, capture and replications.
        notify: takes the events.

    Raises:
        UsageError: an option makes no sense for this fabric.
        MachineError: the machine lacks something.
        NegativeResult: a proof failed, or packets took other paths than planned.
        KeyboardInterrupt: Ctrl-C; the folder holds the measurements until then.
    """
    require_emulation()
    _check_capture(fabric, output.pcap_host)
    with (
        kept_directory(output.folder) as directory,
        prepared_network(fabric, notify) as network,
        controlled(_settled(network, fabric, traffic, notify), network, notify) as live,
    ):
        summary, runs = _measure(live, traffic, output, directory, notify)
        notify(FabricDown())
    notify(ResultsWritten(output.folder, interrupted=bool(summary.interrupted)))
    for reason in summary.fidelity.reasons:
        notify(ResultInvalid(reason))
    for run in runs:
        run.raise_if_negative()
    return summary


def _check_capture(fabric: FabricOptions, host: str | None) -> None:
    """Raises an error unless packets can be captured at that host."""
    if host is None:
        return
    names = [host.name for host in hosts_of(fabric.topology, fabric.hosts)]
    if host not in names:
        raise ParameterError(f"capture host must be one of {names[0]} to {names[-1]}, got {host!r}")
    require_capture()


def _measure(
    fabric: LiveFabric, traffic: RunOptions, output: Output, directory: RunDirectory, notify: Notify
) -> tuple[Summary, list[Measurement]]:
    """Runs all replications and writes each as it ends; returns the summary of all, and the runs."""
    settings = traffic.settings()
    directory.write_record(MANIFEST, run_manifest(fabric, settings, traffic.seed))
    write_schedule(directory, traffic, notify)
    check = check_all_pairs(fabric, notify)
    runs: list[Measurement] = []
    with capture(fabric.network, output.pcap_host, directory.path) as captured:
        for run in replications(fabric, traffic, output.repeat, check, notify, captured.ended_processes):
            runs.append(run)
            summary = run.summary
            if output.repeat == 1:
                _write(directory, run, notify)
                continue
            own = RunDirectory(directory.path / seed_folder(summary.seed))
            own.write_record(MANIFEST, run_manifest(fabric, settings, summary.seed))
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
    if isinstance(traffic, CollectiveOptions | FlowOptions):  # its rate is never looked for
        return fabric
    return with_settled_rate(network, fabric, traffic, notify)
