"""One experiment: prove, launch, install, check every pair, run traffic, and write it all down."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from emulation.capture import capture, require_capture
from emulation.network import FabricNetwork
from emulation.requirements import require_emulation
from experiments.calibration import with_settled_rate
from experiments.events.base import Notify
from experiments.events.bringup import FabricDown
from experiments.events.outcomes import ResultInvalid, ResultsNotWritten, ResultsWritten
from experiments.live_fabric import LiveFabric, controlled, prepared_network, told_drops
from experiments.measurement import Measurement, RunOptions, checked_pairs, repeated
from experiments.results.replications import combine
from experiments.results.run_directory import MANIFEST, SUMMARY, RunDirectory, kept_directory, seed_folder
from experiments.results.series import write_series
from experiments.results.summaries import manifest
from experiments.spec.collective import CollectiveOptions
from experiments.spec.fabric import FabricOptions
from topology.addressing import hosts_of
from topology.errors import ParameterError


def run_experiment(
    fabric_options: FabricOptions,
    traffic_options: RunOptions,
    out: Path,
    pcap_host: str | None,
    notify: Notify,
    repeat: int = 1,
) -> dict[str, Any]:
    """Runs one experiment and returns its summary, which is in `out` by then, with the series.

    With `repeat` over 1 it is run with as many seeds; the summary has means, and each run a folder of its
    own in `out`.

    Raises:
        UsageError: an option makes no sense for this fabric.
        MachineError: the machine lacks something.
        NegativeResult: a proof failed, or packets took other ways than planned.
        KeyboardInterrupt: Ctrl-C; what was measured until then is in `out`.
    """
    require_emulation()
    hosts = [host.name for host in hosts_of(fabric_options.topology, fabric_options.hosts)]
    if pcap_host is not None and pcap_host not in hosts:
        raise ParameterError(f"no host {pcap_host!r} to capture at; they are {hosts[0]} to {hosts[-1]}")
    if pcap_host is not None:
        require_capture()
    with (
        kept_directory(out) as directory,
        prepared_network(fabric_options, notify) as network,
        controlled(_settled(network, fabric_options, traffic_options, notify), network, notify) as fabric,
    ):
        directory.write_json(MANIFEST, manifest(fabric, traffic_options.settings(), traffic_options.seed))
        check = checked_pairs(fabric, notify)
        with capture(fabric.network, pcap_host, directory.path) as captured:
            runs = []
            for measured in repeated(
                fabric, traffic_options, repeat, check, notify, captured.ended_processes
            ):
                runs.append(measured)
                own = directory
                if repeat > 1:
                    seed = measured.summary["seed"]
                    own = RunDirectory(directory.path / seed_folder(seed))
                    own.write_json(MANIFEST, manifest(fabric, traffic_options.settings(), seed))
                _write(own, fabric, measured, notify)
                summary = measured.summary
                if repeat > 1:
                    summary = combine([run.summary for run in runs], repeat)
                    directory.write_json(SUMMARY, summary)
        summary["dropped_at_ingress"] = told_drops(fabric.network, notify)
        directory.write_json(SUMMARY, summary)
        notify(FabricDown())
    notify(ResultsWritten(out, interrupted="interrupted" in summary))
    for reason in summary["fidelity"]["reasons"]:
        notify(ResultInvalid(reason))
    for run in runs:
        run.raise_if_negative()
    return summary


def _write(directory: RunDirectory, fabric: LiveFabric, measured: Measurement, notify: Notify) -> None:
    try:
        directory.write_json(SUMMARY, measured.summary)
        write_series(directory, fabric, measured.result, measured.cpu, measured.links)
    except OSError:
        notify(ResultsNotWritten(json.dumps(measured.summary)))
        raise


def _settled(
    network: FabricNetwork, fabric: FabricOptions, traffic: RunOptions, notify: Notify
) -> FabricOptions:
    if isinstance(traffic, CollectiveOptions):  # which has a rate that was asked for
        return fabric
    return with_settled_rate(network, fabric, traffic, notify)
