"""A sweep: loads x patterns x routings on one fabric that stays up, a row per point, resumable.

Whatever ends a sweep, the points that it measured are on the disk, and the same command goes on with the
others.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from controller.routings import routing
from emulation.machine import require_emulation
from emulation.network import FabricNetwork
from experiments.calibration import with_settled_rate
from experiments.fabric import LiveFabric, controlled, prepared_network
from experiments.options import FabricOptions, TrafficOptions
from experiments.progress import Progress
from experiments.records import MANIFEST, RunDirectory, read_csv, read_json
from experiments.runner import checked_pairs, measure
from experiments.summaries import manifest
from experiments.traffic_jobs import PairCheck
from topology.errors import ParameterError

POINTS = "points.csv"
SETTINGS = "sweep"  # the key of a manifest that holds what the sweep was asked for
COLUMNS = (
    "routing",
    "pattern",
    "load",
    "offered",
    "accepted",
    "loss",
    "latency_mean_ms",
    "latency_p50_ms",
    "latency_p99_ms",
    "out_of_order",
    "predicted_accepted",
    "groups_modified",
    "valid",
    "cpu_idle",
    "generator_lag_ms_p99",
    "link_rate_error",
    "lost_outside_queues",
    "seed",
)


@dataclass(frozen=True)
class Point:
    """One point of a sweep."""

    routing: str
    pattern: str
    load: float

    @property
    def name(self) -> str:
        """A name for files."""
        return f"{self.routing}-{self.pattern}-{self.load:g}"


@dataclass(frozen=True)
class SweepOptions:
    """What to sweep over; fabric and traffic tell the rest."""

    routings: Sequence[str]
    patterns: Sequence[str]
    loads: Sequence[float]

    def points(self) -> list[Point]:
        """Returns all points, routing by routing, loads ascending."""
        return [Point(*values) for values in itertools.product(self.routings, self.patterns, self.loads)]


def run_sweep(
    fabric_options: FabricOptions,
    traffic_options: TrafficOptions,
    sweep: SweepOptions,
    out: Path,
    progress: Progress,
) -> int:
    """Measures the points of a sweep that `out` does not hold yet, and returns how many those were.

    Raises:
        UsageError: `out` holds something else, or an option makes no sense.
        MachineError: the machine lacks something.
        NegativeResult: a proof failed, or packets took other ways than planned.
        KeyboardInterrupt: Ctrl-C; the points measured until then are in `out`.
    """
    directory = RunDirectory(out, go_on=True)
    try:
        held = _held_settings(directory.path)
        if held and fabric_options.calibrate:  # the points to come go with those that are there
            shape = replace(fabric_options.shape, rate_bps=held["link_rate_bps"])
            fabric_options = replace(fabric_options, shape=shape, calibrate=False)
        if held:
            _check_settings(directory.path, held, _settings(fabric_options, traffic_options, sweep))
            directory.drop_torn_row(POINTS)
        there = set(measured_points(directory.path))
        missing = [point for point in sweep.points() if point not in there]
        if there:
            progress(f"{out} holds {len(there)} points; {len(missing)} of those asked for are missing")
        if missing:
            require_emulation()
            with prepared_network(fabric_options, progress) as network:
                fabric_options = with_settled_rate(network, fabric_options, traffic_options, progress)
                settings = _settings(fabric_options, traffic_options, sweep)
                _measure_points(
                    network, fabric_options, traffic_options, settings, missing, directory, progress
                )
                progress("taking the fabric down")
        return len(missing)
    finally:
        directory.discard()
        directory.give_to_caller()


def _measure_points(
    network: FabricNetwork,
    fabric_options: FabricOptions,
    traffic_options: TrafficOptions,
    settings: Mapping[str, Any],
    points: Sequence[Point],
    directory: RunDirectory,
    progress: Progress,
) -> None:
    done = 0
    for name, group in itertools.groupby(points, key=lambda point: point.routing):
        progress(f"routing {name}: {routing(name).summary}")
        with controlled(replace(fabric_options, routing=name), network, progress) as fabric:
            if not (directory.path / MANIFEST).exists():
                content = manifest(fabric, traffic_options)
                directory.write_json(MANIFEST, {**content, SETTINGS: settings})
            check = checked_pairs(fabric, progress)
            for point in group:
                done += 1
                progress(f"point {done} of {len(points)}: {point.name}")
                _measure_point(fabric, traffic_options, point, check, directory, progress)


def _measure_point(
    fabric: LiveFabric,
    traffic_options: TrafficOptions,
    point: Point,
    check: PairCheck,
    directory: RunDirectory,
    progress: Progress,
) -> None:
    if fabric.occupancy is not None:
        fabric.controller.settle()  # the detours of the last point are not this one's
    before = fabric.controller.groups_modified
    options = replace(traffic_options, pattern=point.pattern, load=point.load)
    measured = measure(fabric, options, check, progress)
    measured.raise_if_negative()
    summary = measured.summary
    if "adaptation" in summary:
        summary["adaptation"]["groups_modified"] -= before
    directory.write_json(f"points/{point.name}.json", summary)
    directory.append_row(POINTS, COLUMNS, row_of(point, summary))


def row_of(point: Point, summary: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the row of a measured point."""
    latency, fidelity = summary["latency_ms"], summary["fidelity"]
    return {
        "routing": point.routing,
        "pattern": point.pattern,
        "load": f"{point.load:g}",
        **{name: summary[name] for name in ("offered", "accepted", "loss", "out_of_order", "seed")},
        **{f"latency_{name}_ms": latency[name] for name in ("mean", "p50", "p99")},
        "predicted_accepted": summary.get("predicted", {}).get("accepted"),
        "groups_modified": summary.get("adaptation", {}).get("groups_modified"),
        "valid": "yes" if fidelity["valid"] else "no",
        **{
            name: fidelity[name]
            for name in ("cpu_idle", "generator_lag_ms_p99", "link_rate_error", "lost_outside_queues")
        },
    }


def _settings(fabric: FabricOptions, traffic: TrafficOptions, sweep: SweepOptions) -> dict[str, Any]:
    """Returns what has to be the same for points to belong to one sweep."""
    return {
        "name": fabric.name,
        "params": dict(fabric.params),
        "hosts": fabric.hosts,
        "link_rate_bps": fabric.shape.rate_bps,
        "queue_packets": fabric.shape.queue_packets,
        "datapath": fabric.datapath,
        "occupancy": fabric.occupancy,
        "frame_bytes": traffic.frame_bytes,
        "flows": traffic.flows,
        "warmup_s": traffic.warmup_s,
        "duration_s": traffic.duration_s,
        "seed": traffic.seed,
        "routings": list(sweep.routings),
        "patterns": list(sweep.patterns),
        "loads": list(sweep.loads),
    }


def _held_settings(folder: Path) -> dict[str, Any] | None:
    """Returns the settings of the sweep that a folder holds, None if it holds nothing.

    Raises:
        ParameterError: it holds something else.
    """
    if not any(folder.iterdir()):
        return None
    held = read_json(folder / MANIFEST).get(SETTINGS)
    if not isinstance(held, dict):
        raise ParameterError(f"{folder} holds no sweep; choose another --out")
    return held


def _check_settings(folder: Path, held: Mapping[str, Any], wanted: Mapping[str, Any]) -> None:
    """Raises ParameterError if points by these settings do not belong to the sweep that a folder holds."""
    # Other loads, patterns and routings only add points.
    for name in sorted(wanted.keys() - {"routings", "patterns", "loads"}):
        if held.get(name) != wanted[name]:
            raise ParameterError(
                f"{folder} holds a sweep with {name} {held.get(name)}, not {wanted[name]}; "
                "choose another --out"
            )


def measured_points(folder: Path) -> Iterable[Point]:
    """Returns the points that a folder holds.

    Raises:
        ParameterError: its table is damaged.
    """
    if not (folder / POINTS).exists():
        return []
    table = read_csv(folder / POINTS, COLUMNS)
    rows = zip(table["routing"], table["pattern"], table["load"], strict=True)
    try:
        return [Point(name, pattern, float(load)) for name, pattern, load in rows]
    except ValueError:
        raise ParameterError(f"{folder / POINTS} is damaged") from None


def read_points(folder: Path, sweep: SweepOptions) -> list[dict[str, str]]:
    """Returns the rows of those points of a folder that a sweep asks for, in its order."""
    table = read_csv(folder / POINTS, COLUMNS)
    rows = [dict(zip(table, values, strict=True)) for values in zip(*table.values(), strict=True)]
    by_point = dict(zip(measured_points(folder), rows, strict=True))
    return [by_point[point] for point in sweep.points()]
