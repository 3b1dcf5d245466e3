"""A sweep: loads x patterns x routings on one fabric that stays up, a row per point, resumable.

Whatever ends a sweep, the points that it measured are on the disk, and the same command goes on with the
others.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from emulation.network import FabricNetwork
from experiments.calibration import with_settled_rate
from experiments.events.base import Notify
from experiments.events.bringup import FabricDown
from experiments.events.outcomes import PointStarted, RoutingStarted, SweepResumed
from experiments.live_fabric import LiveFabric, controlled, prepared_network
from experiments.measurement import checked_pairs, repeated
from experiments.results.replications import combine
from experiments.results.run_directory import MANIFEST, RunDirectory, kept_directory, read_json
from experiments.results.summaries import manifest
from experiments.results.tables import (
    COLUMNS,
    POINTS,
    SETTINGS,
    held_settings,
    measured_points,
    row_of,
)
from experiments.spec.fabric import FabricOptions
from experiments.spec.sweep import Point, SweepOptions
from experiments.spec.traffic import TrafficOptions
from experiments.theory.fluid_model import router_demand
from experiments.traffic_jobs import PairCheck
from routing.registry import make_plan, routing
from topology.errors import ParameterError
from traffic.workload.patterns import make_pattern


def run_sweep(
    fabric_options: FabricOptions,
    traffic_options: TrafficOptions,
    sweep: SweepOptions,
    out: Path,
    notify: Notify,
) -> int:
    """Measures the points of a sweep that `out` does not hold yet, and returns how many those were.

    Raises:
        UsageError: `out` holds something else, or an option makes no sense.
        MachineError: the machine lacks something.
        NegativeResult: a proof failed, or packets took other ways than planned.
        KeyboardInterrupt: Ctrl-C; the points measured until then are in `out`.
    """
    with kept_directory(out, go_on=True) as directory:
        held = held_settings(directory.path)
        if held is not None and fabric_options.calibrate:  # the points to come go with those that are there
            spec = replace(fabric_options.links, rate_bps=held["link_rate_bps"])
            fabric_options = replace(fabric_options, links=spec, calibrate=False)
        if held is not None:
            _check_settings(directory.path, held, _settings(fabric_options, traffic_options, sweep))
            directory.drop_torn_row(POINTS)
        there = set(measured_points(directory.path))
        missing = [point for point in sweep.points() if point not in there]
        if there:
            notify(SweepResumed(out, len(there), len(missing)))
        if missing:
            with prepared_network(fabric_options, notify) as network:
                fabric_options = _with_settled_rate(network, fabric_options, traffic_options, sweep, notify)
                settings = _settings(fabric_options, traffic_options, sweep)
                _measure_points(
                    network, fabric_options, traffic_options, settings, missing, directory, notify
                )
                notify(FabricDown())
        return len(missing)


def _measure_points(
    network: FabricNetwork,
    fabric_options: FabricOptions,
    traffic_options: TrafficOptions,
    settings: Mapping[str, Any],
    points: Sequence[Point],
    directory: RunDirectory,
    notify: Notify,
) -> None:
    done = 0
    for name, group in itertools.groupby(points, key=lambda point: point.routing):
        notify(RoutingStarted(name, routing(name).summary))
        with controlled(replace(fabric_options, routing=name), network, notify) as fabric:
            _write_manifest(directory, fabric, traffic_options, settings)
            check = checked_pairs(fabric, notify)
            for point in group:
                done += 1
                notify(PointStarted(done, len(points), point.name))
                _measure_point(fabric, traffic_options, point, settings["repeat"], check, directory, notify)


def _write_manifest(
    directory: RunDirectory, fabric: LiveFabric, options: TrafficOptions, settings: Mapping[str, Any]
) -> None:
    """Writes what the points depend on; what is of one routing only is kept from routing to routing."""
    path = directory.path / MANIFEST
    before = read_json(path) if path.exists() else {}
    content = manifest(fabric, options.settings(), options.seed)
    own = {name: content.pop(name) for name in ("occupancy", "occupancy_asked")}
    for name in ("routing", "traffic"):
        del content[name]
    routings = {**before.get("routings", {}), fabric.options.routing: own}
    directory.write_json(MANIFEST, {**content, "routings": routings, SETTINGS: dict(settings)})


def _measure_point(
    fabric: LiveFabric,
    traffic_options: TrafficOptions,
    point: Point,
    repeat: int,
    check: PairCheck,
    directory: RunDirectory,
    notify: Notify,
) -> None:
    fabric.begin_anew()
    options = replace(traffic_options, pattern=point.pattern, load=point.load)
    summaries = []
    for measured in repeated(fabric, options, repeat, check, notify):
        measured.raise_if_negative()
        summaries.append(measured.summary)
    summary = combine(summaries, repeat) if repeat > 1 else summaries[0]
    directory.write_json(f"points/{point.name}.json", summary)
    directory.append_row(POINTS, COLUMNS, row_of(point, summary))


def _with_settled_rate(
    network: FabricNetwork,
    fabric_options: FabricOptions,
    traffic_options: TrafficOptions,
    sweep: SweepOptions,
    notify: Notify,
) -> FabricOptions:
    """Returns options with a rate at which the machine carries the points that ask most of it."""
    if not fabric_options.calibrate:
        return fabric_options
    topology = fabric_options.topology
    everyone = np.arange(topology.routers)
    distances = topology.distances(everyone[:, None], everyone[None, :])

    def most_hops(name: str) -> float:
        return float(make_plan(topology, 1, name).hop_bound(distances).mean())

    def mean_distance(name: str) -> float:
        hosts = fabric_options.hosts
        pattern = make_pattern(name, topology, hosts, traffic_options.seed)
        return float((router_demand(pattern.shares(), hosts) * distances).sum())

    fabric = replace(fabric_options, routing=max(sweep.routings, key=most_hops))
    pattern, load = max(sweep.patterns, key=mean_distance), max(sweep.loads)
    traffic = replace(traffic_options, pattern=pattern, load=load)
    return with_settled_rate(network, fabric, traffic, notify)


def _settings(fabric: FabricOptions, traffic: TrafficOptions, sweep: SweepOptions) -> dict[str, Any]:
    """Returns what has to be the same for points to belong to one sweep."""
    return {
        **fabric.settings(),
        "datapath": fabric.datapath,
        "occupancy": fabric.occupancy,
        "local_repair": fabric.local_repair,
        "faults": [fault.line for fault in traffic.faults],
        "frame_bytes": traffic.frame_bytes,
        "flows": traffic.flows,
        "warmup_s": traffic.warmup_s,
        "duration_s": traffic.duration_s,
        "seed": traffic.seed,
        "routings": list(sweep.routings),
        "patterns": list(sweep.patterns),
        "loads": list(sweep.loads),
        "repeat": sweep.repeat,
        "arrivals": traffic.arrivals,
        "steady": traffic.steady,
    }


# What sweeps were measured with before these could be told.
_BEFORE = {
    "mtu": 1500,
    "link_delay_ms": 0.0,
    "link_loss": 0.0,
    "repeat": 1,
    "arrivals": "poisson",
    "steady": False,
}


def _check_settings(folder: Path, held: Mapping[str, Any], wanted: Mapping[str, Any]) -> None:
    """Raises ParameterError if points by these settings do not belong to the sweep that a folder holds."""
    # Other loads, patterns and routings only add points.
    for name in sorted(wanted.keys() - {"routings", "patterns", "loads"}):
        there = held.get(name, _BEFORE.get(name))
        if there != wanted[name]:
            raise ParameterError(
                f"{folder} holds a sweep with {name} {there}, not {wanted[name]}; choose another --out"
            )
