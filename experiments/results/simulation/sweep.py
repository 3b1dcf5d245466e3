"""Sweeps of simulations: manifest, and the row of each point in `points.csv`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from experiments.codec import omitted, read_record
from experiments.results.manifest import Origin, origin, simulation_versions
from experiments.results.parts.swept_values import SweptSettings
from experiments.results.run_directory import MANIFEST
from experiments.results.sweep_points import POINTS, POINTS_FOLDER, SimulatedPointRow, read_rows
from experiments.spec.options import SIMULATED_SWEEP, SIMULATION
from experiments.spec.simulation.model import RouterRecord, fault_settings, router_record
from experiments.spec.simulation.resolve import SimulatedSweep
from experiments.spec.sweep import Point
from topology.errors import ParameterError
from topology.parameters import Value

_BY_ROUTING = "that of the routing"


@dataclass(frozen=True, kw_only=True)
class SimulatedSweepSettings(SweptSettings):
    """Settings that all points of a sweep of simulations share, and the points that were asked for.

    Attributes:
        routers: settings of routers and links.
        arrivals: arrival process: poisson, bernoulli or constant.
        seed: seed of the random generator; of replications the first.
        warmup_cycles: cycles before the window; null where it begins once the state is steady.
        window_cycles: cycles of the window.
        faults, faults_asked, replan_cycles: as `traffic` in the manifest of a simulation.
        routings, patterns, loads: values that the sweep goes over, each with each.
        repeat: replications of each point.
        ordered_repair: whether fast reroute keeps to an order of channels, so that failures bring no circle.
        vary: key of `--vary` -> further values that the sweep goes over; a setting that varies is that of the
            first point here. Absent if there is none.
    """

    kind = SIMULATED_SWEEP

    routers: RouterRecord
    arrivals: str
    seed: int
    warmup_cycles: int | None
    window_cycles: int
    routings: tuple[str, ...]
    patterns: tuple[str, ...]
    loads: tuple[float, ...]
    repeat: int = 1
    ordered_repair: bool = False
    faults: tuple[str, ...] | None = omitted()
    faults_asked: str | None = omitted()
    replan_cycles: int | str | None = omitted()
    vary: Mapping[str, tuple[Value, ...]] | None = omitted()

    def shared(self) -> dict[str, object]:
        """Returns the settings that all points share by name, those of the routers included."""
        values = super().shared()
        del values["routers"]
        return {**values, **vars(self.routers)}


@dataclass(frozen=True, kw_only=True)
class SimulatedSweepManifest(Origin):
    """Manifest of a sweep of simulations.

    Attributes:
        engine: `simulation`; manifests of sweeps of real packets have no such key.
        name: family of the topology, as on the command line.
        params: parameters of the topology.
        hosts: p, hosts attached to each router that has any.
        sweep: settings of the sweep.
    """

    engine: str = SIMULATION
    name: str
    params: Mapping[str, Value]
    hosts: int
    sweep: SimulatedSweepSettings


def simulated_settings(chosen: SimulatedSweep) -> SimulatedSweepSettings:
    """Returns the settings that the points of a sweep of simulations share.

    Args:
        chosen: specification of the sweep.
    """
    first, sweep = chosen.points[0][1], chosen.sweep
    decision = first.fabric.decision or _BY_ROUTING
    return SimulatedSweepSettings(
        routers=replace(router_record(first.fabric), decision=decision),
        arrivals=first.packets.arrivals,
        seed=first.traffic.seed,
        warmup_cycles=first.packets.times.warmup,
        window_cycles=first.packets.times.window,
        routings=tuple(sweep.routings),
        patterns=tuple(sweep.patterns),
        loads=tuple(sweep.loads),
        repeat=sweep.repeat,
        ordered_repair=first.fabric.ordered_repair,
        **fault_settings(first.packets),
        vary={variation.key: variation.values for variation in sweep.vary} or None,
    )


def simulated_manifest(chosen: SimulatedSweep) -> SimulatedSweepManifest:
    """Returns the manifest of a sweep of simulations that starts now on this machine.

    Args:
        chosen: specification of the sweep.
    """
    settings, fabric = simulated_settings(chosen), chosen.fabric
    return SimulatedSweepManifest(
        **origin(settings.seed, simulation_versions(), chosen.experiment),
        name=fabric.name,
        params=dict(fabric.params),
        hosts=fabric.hosts,
        sweep=settings,
    )


def holds_simulated_sweep(folder: Path) -> bool:
    """Returns whether a folder holds a sweep of simulations, or the begin of one.

    Args:
        folder: the folder.

    Raises:
        ParameterError: its manifest is damaged.
    """
    path = folder / MANIFEST
    return path.exists() and read_record(path, dict[str, object]).get("engine") == SIMULATION


def read_simulated_manifest(folder: Path) -> SimulatedSweepManifest:
    """Returns the manifest of a sweep of simulations.

    Args:
        folder: its folder.

    Raises:
        ParameterError: the folder does not hold such a sweep, or its manifest is damaged.
    """
    if not holds_simulated_sweep(folder):
        raise ParameterError(f"{folder} does not hold a sweep of simulations")
    return read_record(folder / MANIFEST, SimulatedSweepManifest)


def simulated_rows(folder: Path) -> dict[Point, SimulatedPointRow]:
    """Returns the simulated points of a folder, in their order; none if it has no table yet.

    Args:
        folder: folder of the sweep.

    Raises:
        ParameterError: the table is damaged.
    """
    if not (folder / POINTS).exists():
        return {}
    keys = tuple(read_simulated_manifest(folder).sweep.varied)
    return read_rows(folder, SimulatedPointRow, keys)


def point_folder(folder: Path, point: Point) -> Path:
    """Returns the folder of a simulated point.

    Args:
        folder: folder of the sweep.
        point: the point.
    """
    return folder / POINTS_FOLDER / point.name
