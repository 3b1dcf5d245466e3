"""Sweep: loads x patterns x routings on one fabric that stays up, a row per point, resumable.

However a sweep ends, its measured points are on the disk, and the same command goes on with the others.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import astuple, replace
from pathlib import Path

import numpy as np

from emulation.network import FabricNetwork
from experiments.calibration import with_settled_rate
from experiments.codec import read_record
from experiments.events.base import Notify
from experiments.events.bringup import FabricDown
from experiments.events.outcomes import PointStarted, RoutingStarted, SweepResumed
from experiments.fault_injector import write_schedule
from experiments.live_fabric import LiveFabric, controlled, prepared_network
from experiments.measurement import replications
from experiments.pair_check import check_all_pairs
from experiments.results.link_loads import LINK_LOAD_COLUMNS, directed_links, load_rows
from experiments.results.manifest import SweepManifest, SweepSettings, sweep_manifest
from experiments.results.model import PairCheck
from experiments.results.replications import combine
from experiments.results.run_directory import MANIFEST, RunDirectory, kept_directory
from experiments.results.sweep_points import (
    COLUMNS,
    POINTS,
    POINTS_FOLDER,
    held_settings,
    measured_points,
    point_links,
    row_of,
)
from experiments.spec.fabric import FabricOptions
from experiments.spec.sweep import Point, SweepOptions
from experiments.spec.traffic import TrafficOptions
from experiments.theory.fluid_model import router_demand
from routing.registry import make_plan, routing
from topology.addressing import host_routers
from topology.errors import ParameterError
from traffic.workload.patterns import make_pattern


def run_sweep(
    fabric: FabricOptions, traffic: TrafficOptions, sweep: SweepOptions, folder: Path, notify: Notify
) -> int:
    """Measures the points of a sweep that a folder does not hold yet, and returns their number.

    Args:
        fabric: specification of the fabric; its routing does not matter.
        traffic: specification of the traffic; its pattern and load do not matter.
        sweep: routings, patterns and loads to go over, and replications of each point.
        folder: output directory, new, empty, or of the same sweep.
        notify: takes the events.

    Raises:
        UsageError: the folder holds something else, or an option makes no sense.
        MachineError: the machine lacks something.
        NegativeResult: a proof failed, or packets took other paths than planned.
        KeyboardInterrupt: Ctrl-C; the folder holds the points measured until then.
    """
    with kept_directory(folder, go_on=True) as directory:
        held = held_settings(folder)
        if held is not None and fabric.calibrate:  # the points to come have the rate of those held
            links = replace(fabric.links, rate_bps=held.link_rate_bps)
            fabric = replace(fabric, links=links, calibrate=False)
        if held is not None:
            _check_settings(folder, held, _settings(fabric, traffic, sweep))
            directory.drop_torn_row(POINTS)
        measured = measured_points(folder)
        missing = [point for point in sweep.points() if point not in measured]
        if measured:
            notify(SweepResumed(folder, len(measured), len(missing)))
        if missing:
            with prepared_network(fabric, notify) as network:
                fabric = _with_settled_rate(network, fabric, traffic, sweep, notify)
                settings = _settings(fabric, traffic, sweep)
                _measure_points(network, fabric, traffic, settings, missing, directory, notify)
                notify(FabricDown())
        return len(missing)


def _measure_points(
    network: FabricNetwork,
    fabric: FabricOptions,
    traffic: TrafficOptions,
    settings: SweepSettings,
    points: Sequence[Point],
    directory: RunDirectory,
    notify: Notify,
) -> None:
    """Measures points routing by routing, on one network."""
    number = 0
    for name, group in itertools.groupby(points, key=lambda point: point.routing):
        notify(RoutingStarted(name, routing(name).summary))
        with controlled(replace(fabric, routing=name), network, notify) as live:
            _write_manifest(directory, live, settings)
            write_schedule(directory, traffic, notify)
            check = check_all_pairs(live, notify)
            for point in group:
                number += 1
                notify(PointStarted(number, len(points), point.name))
                options = replace(traffic, pattern=point.pattern, load=point.load)
                _measure_point(live, options, settings.repeat, check, directory, notify)


def _write_manifest(directory: RunDirectory, fabric: LiveFabric, settings: SweepSettings) -> None:
    """Writes everything that the points depend on, and the sources of occupancies of all routings so far."""
    path = directory.path / MANIFEST
    before = read_record(path, SweepManifest) if path.exists() else None
    directory.write_record(MANIFEST, sweep_manifest(fabric, settings, before))


def _measure_point(
    fabric: LiveFabric,
    traffic: TrafficOptions,
    repeat: int,
    check: PairCheck,
    directory: RunDirectory,
    notify: Notify,
) -> None:
    """Measures one point and writes its summary and its row."""
    fabric.begin_anew()
    summaries, observed = [], []
    for run in replications(fabric, traffic, repeat, check, notify):
        run.raise_if_negative()
        summaries.append(run.summary)
        observed.append(run.record.link_loads())
    summary = combine(summaries, repeat) if repeat > 1 else summaries[0]
    point = Point(fabric.options.routing, traffic.pattern, traffic.load)
    directory.write_record(f"{POINTS_FOLDER}/{point.name}.json", summary)
    loads = [entry for entry in observed if entry is not None]
    if loads:
        rows = load_rows(directed_links(fabric.options.topology), loads)
        directory.write_csv(point_links(point), LINK_LOAD_COLUMNS, map(astuple, rows))
    directory.append_row(POINTS, COLUMNS, row_of(point, summary).cells())


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
        demand = router_demand(pattern.shares(), host_routers(topology, hosts), topology.routers)
        return float((demand * distances).sum())

    fabric = replace(fabric_options, routing=max(sweep.routings, key=most_hops))
    pattern, load = max(sweep.patterns, key=mean_distance), max(sweep.loads)
    traffic = replace(traffic_options, pattern=pattern, load=load)
    return with_settled_rate(network, fabric, traffic, notify)


def _settings(fabric: FabricOptions, traffic: TrafficOptions, sweep: SweepOptions) -> SweepSettings:
    """Returns the settings that points of one sweep share, and the points that were asked for."""
    return SweepSettings(
        **vars(fabric.settings()),
        datapath=fabric.datapath,
        occupancy=fabric.occupancy,
        local_repair=fabric.local_repair,
        faults=tuple(fault.line for fault in traffic.faults),
        frame_bytes=traffic.frame_bytes,
        flows=traffic.flows,
        warmup_s=traffic.warmup_s,
        duration_s=traffic.duration_s,
        seed=traffic.seed,
        routings=tuple(sweep.routings),
        patterns=tuple(sweep.patterns),
        loads=tuple(sweep.loads),
        repeat=sweep.repeat,
        arrivals=traffic.arrivals,
        steady=traffic.steady,
        faults_asked=traffic.faults_asked,
    )


def _check_settings(folder: Path, held: SweepSettings, wanted: SweepSettings) -> None:
    """Raises ParameterError if points of these settings do not belong to the sweep that a folder holds."""
    name = held.difference(wanted)
    if name is not None:
        raise ParameterError(
            f"{folder} holds a sweep with {name} {getattr(held, name)}, not {getattr(wanted, name)}; "
            "choose another --out"
        )
