"""Sweeps of simulations: manifest, and the row of each point in `points.csv`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import ClassVar

from experiments.codec import omitted, read_record
from experiments.results.manifest import Origin, origin
from experiments.results.parts.sweep_rows import (
    POINTS,
    POINTS_FOLDER,
    SweptRow,
    columns_with,
    read_rows,
    varied_at,
)
from experiments.results.parts.swept_values import SweptSettings
from experiments.results.run_directory import MANIFEST
from experiments.results.simulation.model import SimulationSummary
from experiments.results.simulation.versions import versions
from experiments.spec.options import SIMULATED_SWEEP, SIMULATION
from experiments.spec.simulation.model import RouterRecord, fault_settings, router_record
from experiments.spec.simulation.resolve import SimulatedSweep
from experiments.spec.sweep import Point
from experiments.spec.variations.keys import swept_options
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

    def varies(self, name: str) -> bool:
        """Returns whether points of the sweep may differ in a setting.

        Args:
            name: name of one of the attributes, or of one of `routers`.
        """
        options = swept_options(SIMULATED_SWEEP)
        settings = {options[key].setting or options[key].key for key in self.varied if key in options}
        if name == "faults" and self.faults_asked and settings & {"seed", "warmup_cycles", "window_cycles"}:
            return True  # they are drawn for each
        if name == "faults_asked":
            return "faults" in settings
        return name in {setting.rpartition(".")[2] for setting in settings}

    def difference(self, other: SimulatedSweepSettings) -> str | None:
        """Returns the first setting, by name, that keeps points of both out of one sweep; None if none does.

        Other routings, patterns and loads, and other values of varied keys, only add points.

        Args:
            other: settings of the other sweep.
        """
        mine, theirs = self.shared(), other.shared()
        fixed = sorted(name for name in mine if not self.varies(name))
        return next((name for name in fixed if mine[name] != theirs[name]), None)

    def shared(self) -> dict[str, object]:
        """Returns the settings that all points share by name, those of the routers included."""
        own = {"routers", "routings", "patterns", "loads", "vary"}
        values = {entry.name: getattr(self, entry.name) for entry in fields(self) if entry.name not in own}
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


@dataclass(frozen=True)
class SimulatedPointRow(SweptRow):
    """Result of a simulated point, as a row of `points.csv`; a value that does not apply is an empty cell.

    Attributes:
        routing: name of the routing, with its parameters.
        pattern: traffic pattern, with its parameters.
        load: load that hosts were asked to send, 0 to 1 of the injection capacity.
        offered, accepted, loss: fractions, as in the summary of a simulation; of replications the means.
        accepted_ci95: half the width of the 95 % confidence interval of `accepted`, over replications, or
            over batches of the window of a single simulation.
        latency_mean_cycles, latency_p50_cycles, latency_p99_cycles: latency in cycles, as `latency_cycles` of
            a simulation.
        latency_mean_ci95_cycles: half the width of the 95 % confidence interval of `latency_mean_cycles`.
        predicted_accepted: `predicted.accepted` of a simulation: the fluid model's accepted fraction.
        stable: whether the network carries the load, `yes` or `no`; of replications, whether all do.
        steady: whether the state was steady when the window began, `yes` or `no`, for `--warmup steady`.
        deadlock: whether the packets came to be in a deadlock, `yes` or `no`.
        seed: seed of the random generator; of replications the first.
        hops_mean: mean number of links between routers that packets took.
        detoured: share of the received packets that took a detour.
        link_load_max, link_load_mean, jain, dropped_packets: as `links` of a simulation.
        queueing_frame_times: as in the summary of a simulation.
        varied: key of `--vary` -> its value at this point, if it has one; in the table a column for each key
            (`seed` has its own already). Absent if the sweep varies nothing else than routings, patterns and
            loads.
    """

    words: ClassVar[tuple[str, ...]] = ("stable", "steady", "deadlock")

    routing: str
    pattern: str
    load: float
    offered: float
    accepted: float
    accepted_ci95: float | None
    loss: float | None
    latency_mean_cycles: float | None
    latency_mean_ci95_cycles: float | None
    latency_p50_cycles: float | None
    latency_p99_cycles: float | None
    predicted_accepted: float | None
    stable: bool
    steady: bool | None
    deadlock: bool
    seed: int
    hops_mean: float | None
    detoured: float | None
    link_load_max: float | None
    link_load_mean: float | None
    jain: float | None
    dropped_packets: int
    queueing_frame_times: float | None
    varied: Mapping[str, Value] | None = omitted()


def simulated_columns(keys: Iterable[str]) -> tuple[str, ...]:
    """Returns the columns of the table of a sweep of simulations that varies some keys.

    Args:
        keys: the keys, as of `--vary`.
    """
    return columns_with(SimulatedPointRow, keys)


def simulated_row(point: Point, summary: SimulationSummary, keys: Iterable[str]) -> SimulatedPointRow:
    """Returns the row of a simulated point.

    Args:
        point: the point.
        summary: its result.
        keys: keys that the sweep varies.
    """
    latency, links = summary.latency_cycles, summary.links
    means = summary.repeat or summary.batches
    accepted = means.accepted if means else None
    mean = means.latency_mean_cycles if means else None
    return SimulatedPointRow(
        routing=point.routing,
        pattern=point.pattern,
        load=point.load,
        offered=summary.offered,
        accepted=summary.accepted,
        accepted_ci95=accepted.ci95 if accepted else None,
        loss=summary.loss,
        latency_mean_cycles=latency.mean,
        latency_mean_ci95_cycles=mean.ci95 if mean else None,
        latency_p50_cycles=latency.p50,
        latency_p99_cycles=latency.p99,
        predicted_accepted=summary.predicted.accepted if summary.predicted else None,
        stable=bool(summary.stable),
        steady=summary.steady,
        deadlock=summary.deadlock is not None,
        seed=summary.seed,
        hops_mean=summary.hops_mean,
        detoured=summary.detoured,
        link_load_max=links.load_max,
        link_load_mean=links.load_mean,
        jain=links.jain,
        dropped_packets=links.dropped_packets,
        queueing_frame_times=summary.queueing_frame_times,
        varied=varied_at(point, keys),
    )


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
        **origin(settings.seed, versions(), chosen.experiment),
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
    return read_rows(folder, SimulatedPointRow, keys, SIMULATED_SWEEP)


def point_folder(folder: Path, point: Point) -> Path:
    """Returns the folder of a simulated point.

    Args:
        folder: folder of the sweep.
        point: the point.
    """
    return folder / POINTS_FOLDER / point.name
