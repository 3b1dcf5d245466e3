"""Manifests: everything that a result depends on, key by key.

`manifest.json` is one of these dataclasses as JSON (`codec`): RunManifest for a run or a failover
demonstration, SweepManifest for a sweep (and SimulationManifest for a simulation, `simulation.model`).
"""

from __future__ import annotations

import importlib.metadata
import os
import platform
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from emulation.requirements import available_memory_bytes, emulation_versions
from experiments.codec import FORMAT, omitted
from experiments.planned_fabric import PlannedFabric
from experiments.results.parts.swept_values import SweptSettings
from experiments.results.run_directory import MANIFEST, RunDirectory, local_time
from experiments.spec.files.inputs import INPUTS
from experiments.spec.options import SWEEP
from experiments.spec.settings import FabricSettings, PacketSettings, TrafficSettings
from topology.base import Topology
from topology.networkx_graphs import NetworkxTopology
from topology.parameters import Value

_PACKAGES = ("polarlab", "numpy", "scapy")
_OF_SIMULATIONS = ("polarlab", "numpy", "numba")


@dataclass(frozen=True)
class Machine:
    """Machine of a measurement.

    Attributes:
        architecture: CPU architecture, such as `x86_64`.
        cores: number of CPU cores that the system sees.
        memory_available_mib: available memory in MiB at the start.
    """

    architecture: str
    cores: int | None
    memory_available_mib: int


@dataclass(frozen=True, kw_only=True)
class Origin:
    """Origin of results, included in every manifest.

    Attributes:
        started: local start time with UTC offset, ISO 8601.
        seed: seed of the random generator; 0 if nothing is random.
        versions: name of a program or library -> its version.
        kernel: kernel release.
        machine: the machine.
        experiment: options of the experiment by table, as in an experiment file and with all defaults;
            `--again` reads them. Its table `inputs` has the SHA-256 of each input file (graph, matrix, flows,
            trace, faults, programs) by its path as given; absent without input files.
        format: version of this record's meaning.
    """

    started: str = ""
    seed: int = 0
    versions: Mapping[str, str]
    kernel: str = ""
    machine: Machine | None = None
    experiment: Mapping[str, int | str | Mapping[str, Any]] | None = omitted()
    format: int = FORMAT


@dataclass(frozen=True, kw_only=True)
class _Manifest(Origin, FabricSettings):
    """Fields shared by the manifests of all experiments on fabrics of switches.

    Attributes:
        local_repair: whether switches have backup paths.
        ordered_repair: whether backup paths follow an order of channels, so that failures cause no cyclic
            dependency between channels.
        datapath: datapath of the switches, `kernel` or `user`.
        datapath_asked: requested datapath, `auto`, `kernel` or `user`.
        framework: controller framework, `ryu` or `os-ken`.
        framework_asked: requested framework, `auto`, `ryu` or `os-ken`.
        host_root: root user of hosts, `own` or the machine's `real` one; None in results of older versions.
    """

    local_repair: bool = True
    ordered_repair: bool = False
    datapath: str = ""
    datapath_asked: str = "auto"
    framework: str = "ryu"
    framework_asked: str = "auto"
    host_root: str | None = None


@dataclass(frozen=True)
class RoutingOccupancy:
    """Source of the port occupancies that a routing reads.

    Attributes:
        occupancy: `netlink` or `port-statistics`; None if the routing is not adaptive.
        occupancy_asked: requested source.
    """

    occupancy: str | None = None
    occupancy_asked: str | None = None


@dataclass(frozen=True, kw_only=True)
class RunManifest(RoutingOccupancy, _Manifest):
    """Manifest of a run or a failover demonstration.

    Attributes:
        routing: name of the routing.
        traffic: settings of the traffic.
    """

    routing: str
    traffic: TrafficSettings = field(default_factory=TrafficSettings)


@dataclass(frozen=True, kw_only=True)
class SweepSettings(FabricSettings, PacketSettings, SweptSettings):
    """Settings shared by all points of a sweep, and the requested points.

    Attributes:
        datapath, occupancy: requested datapath and source of occupancies.
        local_repair: whether switches have backup paths.
        ordered_repair: whether backup paths follow an order of channels, so that failures cause no cyclic
            dependency between channels.
        routings, patterns, loads: swept values; points are all their combinations.
        repeat: number of replications of each point.
        vary: key of `--vary` -> further swept values; absent if there are none. A varied setting's own key,
            such as `frame_bytes`, has its value at the first point.
    """

    kind = SWEEP

    datapath: str = "auto"
    occupancy: str = "netlink"
    local_repair: bool = True
    ordered_repair: bool = False
    frame_bytes: int
    seed: int = 1
    routings: tuple[str, ...] = ()
    patterns: tuple[str, ...] = ()
    loads: tuple[float, ...] = ()
    repeat: int = 1
    vary: Mapping[str, tuple[Value, ...]] | None = omitted()

    def shared(self) -> dict[str, object]:
        """Returns name -> value of the settings that all points share, except the origin of the link rate."""
        values = super().shared()
        del values["link_rate_from"]
        return values


@dataclass(frozen=True, kw_only=True)
class SweepManifest(_Manifest):
    """Manifest of a sweep.

    Attributes:
        routings: routing measured so far -> source of its occupancies.
        sweep: settings of the sweep.
        sessions: start times of the sweep and of each resumption, in order; absent if it was not resumed.
    """

    routings: Mapping[str, RoutingOccupancy]
    sweep: SweepSettings
    sessions: tuple[str, ...] | None = omitted()


def run_manifest(
    fabric: PlannedFabric, traffic: TrafficSettings, seed: int, *, one_of_many: bool = False
) -> RunManifest:
    """Returns the manifest of a run or failover demonstration that starts now on this machine.

    Args:
        fabric: the fabric.
        traffic: settings of the traffic.
        seed: seed of the random generator.
        one_of_many: whether the manifest describes one replication of several, with its own seed.
    """
    shared = _shared(fabric, seed)
    if one_of_many and shared["experiment"] is not None:
        shared["experiment"] = experiment_of_seed(shared["experiment"], seed)
    return RunManifest(
        **shared,
        **vars(_sources(fabric)),
        routing=fabric.options.routing,
        traffic=traffic,
    )


def sweep_manifest(
    fabric: PlannedFabric, settings: SweepSettings, before: SweepManifest | None
) -> SweepManifest:
    """Returns the manifest of a sweep, with the routing of the current fabric added.

    Args:
        fabric: the fabric.
        settings: settings of the sweep.
        before: manifest so far, with the routings measured before; None for the first routing.
    """
    routings = {**(before.routings if before else {}), fabric.options.routing: _sources(fabric)}
    return SweepManifest(**_shared(fabric, settings.seed), routings=routings, sweep=settings)


def write_manifest(
    directory: RunDirectory, manifest: RunManifest | SweepManifest, fabric: PlannedFabric
) -> None:
    """Writes a manifest and, for a networkx graph, the graph's file into a folder.

    Args:
        directory: the folder.
        manifest: the manifest.
        fabric: the fabric.

    Raises:
        OSError: the folder cannot be written.
    """
    directory.write_record(MANIFEST, manifest)
    write_graph(directory, fabric.options.topology)


def write_graph(directory: RunDirectory, topology: Topology) -> None:
    """Writes the file of a networkx graph into a folder of results; does nothing for other topologies.

    Args:
        directory: the folder.
        topology: the graph.

    Raises:
        OSError: the folder cannot be written.
    """
    if isinstance(topology, NetworkxTopology):
        directory.write_text(topology.file_name, topology.graphml)


def _shared(fabric: PlannedFabric, seed: int) -> dict[str, Any]:
    """Returns field -> value for the fields that the manifests of runs, sweeps and failovers share."""
    return {
        **vars(fabric.options.settings()),
        **origin(seed, versions(fabric.framework), fabric.options.experiment),
        "local_repair": fabric.options.local_repair,
        "ordered_repair": fabric.options.ordered_repair,
        "datapath": fabric.datapath,
        "datapath_asked": fabric.options.datapath,
        "framework": fabric.framework,
        "framework_asked": fabric.options.framework,
        "host_root": fabric.options.host_root,
    }


def origin(
    seed: int, programs: Mapping[str, str], experiment: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Returns the fields of Origin for results of an experiment that starts now on this machine.

    Args:
        seed: seed of the random generator.
        programs: name of a program or library -> its version.
        experiment: options of the experiment by table.
    """
    return {
        "started": local_time(),
        "seed": seed,
        "versions": programs,
        "kernel": platform.release(),
        "experiment": experiment,
        "machine": Machine(platform.machine(), os.cpu_count(), available_memory_bytes() >> 20),
    }


def experiment_of_seed(experiment: Mapping[str, Any], seed: int) -> dict[str, Any]:
    """Returns an experiment reduced to one of its replications.

    Args:
        experiment: all options of the experiment by table.
        seed: seed of the replication.
    """
    changed = {"seed": seed, "repeat": 1}
    return {
        table: {key: changed.get(key, value) for key, value in entries.items()}
        if isinstance(entries, Mapping) and table != INPUTS
        else entries
        for table, entries in experiment.items()
    }


def _sources(fabric: PlannedFabric) -> RoutingOccupancy:
    """Returns where an adaptive routing reads port occupancies; all fields are None for other routings."""
    asked = None if fabric.occupancy is None else fabric.options.occupancy
    return RoutingOccupancy(fabric.occupancy, asked)


def versions(framework: str) -> dict[str, str]:
    """Returns name -> version of the software that produces results of switches.

    Args:
        framework: controller framework.
    """
    packages = {name: importlib.metadata.version(name) for name in (*_PACKAGES, framework)}
    return {**packages, "python": platform.python_version(), **emulation_versions()}


def simulation_versions() -> dict[str, str]:
    """Returns name -> version of the software that produces results of simulations."""
    packages = {name: importlib.metadata.version(name) for name in _OF_SIMULATIONS}
    return {**packages, "python": platform.python_version()}
