"""Sweep: each combination of routings, patterns, loads and options, on one fabric that stays up; resumable.

However a sweep ends, its measured points are on the disk, and the same command measures the others.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from functools import cache, cached_property
from pathlib import Path

import numpy as np

from emulation.network import FabricNetwork
from experiments.calibration import with_settled_rate
from experiments.codec import read_record
from experiments.events.base import OnEvent
from experiments.events.notices import Notice
from experiments.fault_injector import write_schedule
from experiments.live_fabric import LiveFabric, Watching, controlled, prepared_network, unwatched
from experiments.measurement import Companions, replications
from experiments.pair_check import check_all_pairs
from experiments.planned_fabric import PlannedFabric
from experiments.points.engine import ListedGroup, do_points, report_if_interrupted
from experiments.points.in_turn import InTurn
from experiments.replicated_point import ReplicatedPoint
from experiments.results.link_loads import directed_links
from experiments.results.manifest import SweepManifest, SweepSettings, sweep_manifest, write_manifest
from experiments.results.model import PairCheck
from experiments.results.open import Sweep
from experiments.results.parts.swept_values import check_joins, joined, swept_values
from experiments.results.run_directory import FAULTS, MANIFEST, RunDirectory, kept_directory
from experiments.results.sweep_points import POINTS, POINTS_FOLDER
from experiments.spec.fabric import FabricOptions
from experiments.spec.files.experiment_file import together
from experiments.spec.settings import PacketSettings
from experiments.spec.sweep import PointOptions, SweepOptions
from experiments.theory.fluid_model import router_demand
from routing.registry import make_plan, routing
from topology.addressing import host_routers


def run_sweep(
    specified: Sequence[PointOptions],
    sweep: SweepOptions,
    folder: Path,
    on_event: OnEvent,
    watching: Watching = unwatched,
) -> int:
    """Measures those points of a sweep that its folder does not have yet, and returns their number.

    Args:
        specified: specifications of all its points, from `specify_points`.
        sweep: the sweep.
        folder: output directory, new, empty, or of the same sweep.
        on_event: called with each event.
        watching: starts observation of the fabric.

    Raises:
        UsageError: the folder has other results, or an option makes no sense.
        MachineError: the machine lacks a requirement.
        NegativeResult: a proof failed, or packets took unplanned paths.
        KeyboardInterrupt: Ctrl-C; the folder has the points measured so far.
    """
    with kept_directory(folder, resume=True) as directory:
        held = Sweep(folder).begun()
        if held is not None and specified[0].fabric.calibrate:  # new points use the rate of existing ones
            specified = [_at_rate(one, held.sweep.link_rate_bps) for one in specified]
        if held is not None:
            check_joins(_settings(specified[0], sweep), specified[0].fabric, held, folder)
            together(held.experiment, specified[0].fabric.experiment, folder)
            directory.drop_torn_row(POINTS)
        measured = Sweep(folder).kept()
        missing = [point for point in sweep.points() if point not in measured]
        if measured:
            on_event(Notice("sweep-resumed", folder=folder, measured=len(measured), missing=len(missing)))
        if missing:
            wanted = frozenset(missing)
            _check_plans([one.fabric for one in specified if one.point in wanted])
            with prepared_network(_largest_fabric(specified), on_event) as network:
                specified = _with_settled_rate(network, specified, on_event)
                todo = [one for one in specified if one.point in wanted]
                swept = _Swept(network, _settings(specified[0], sweep), directory, todo, on_event, watching)
                asked = len(measured) + len(missing)
                with (
                    report_if_interrupted(folder, asked, lambda: len(Sweep(folder).kept()), on_event),
                    InTurn(on_event) as in_turn,
                ):
                    do_points(swept.groups(), in_turn)
                on_event(Notice("fabric-down"))
        return len(missing)


def _check_plans(fabrics: Sequence[FabricOptions]) -> None:
    """Raises UsageError, before any point is measured, if the graph does not support a routing.

    Each plan is made for this check and discarded. A single plan is left to the first point.
    """
    different = {(one.routing, one.local_repair, one.ordered_repair): one for one in fabrics}
    for one in different.values() if len(different) > 1 else ():
        _plan = PlannedFabric(one).plan


def _at_rate(one: PointOptions, rate_bps: int) -> PointOptions:
    """Returns the specification of a point with a fixed link rate."""
    links = replace(one.fabric.links, rate_bps=rate_bps)
    return replace(one, fabric=replace(one.fabric, links=links, calibrate=False))


def _largest_fabric(specified: Sequence[PointOptions]) -> FabricOptions:
    """Returns the fabric with the longest queue, if possible among those with link delay or loss."""

    def needs(fabric: FabricOptions) -> tuple[bool, int]:
        return fabric.links.impaired, fabric.links.queue_packets

    return max((one.fabric for one in specified), key=needs)


@dataclass
class _Swept:
    """State that the points of a sweep share, and the sweep's progress.

    Attributes:
        number: number of points started so far.
        seconds_left: estimated time of all missing points in s; None if it is not known.
    """

    network: FabricNetwork
    settings: SweepSettings
    directory: RunDirectory
    points: Sequence[PointOptions]
    on_event: OnEvent
    watching: Watching
    number: int = 0
    seconds_left: float | None = None

    @cached_property
    def same_faults(self) -> bool:
        """Whether all points have the same faults."""
        return len({one.traffic.faults for one in self.points}) == 1

    def groups(self) -> list[_PointsOfFabric]:
        """Groups the points by the fabric that they need, in the order of their first points."""
        fabrics: list[FabricOptions] = []
        for one in self.points:
            if one.fabric not in fabrics:
                fabrics.append(one.fabric)
        return [_PointsOfFabric(fabric, self) for fabric in fabrics]


class _PointsOfFabric(ListedGroup[tuple[LiveFabric, PairCheck], PointOptions, None]):
    """Points that need the same fabric (routing and links); each replication is stored as soon as it ends."""

    def __init__(self, fabric: FabricOptions, swept: _Swept) -> None:
        super().__init__(one for one in swept.points if one.fabric == fabric)
        self.fabric, self._swept = fabric, swept

    @contextmanager
    def fabric_up(self, on_event: OnEvent) -> Iterator[tuple[LiveFabric, PairCheck]]:
        """Starts the controller, adjusts the links, checks all pairs; yields the fabric and the check."""
        fabric, swept = self.fabric, self._swept
        on_event(Notice("routing-started", routing=fabric.routing, summary=routing(fabric.routing).summary))
        with controlled(fabric, swept.network, on_event, swept.watching) as live:
            if swept.network.settings.link_spec != fabric.links:
                swept.network.reshape(fabric.links)
            _write_manifest(swept.directory, live, swept.settings)
            if swept.same_faults:
                write_schedule(swept.directory, self.missing[0].traffic, on_event)
            yield live, check_all_pairs(live, on_event)

    def do(self, fabric: tuple[LiveFabric, PairCheck], point: PointOptions) -> None:
        """Measures and stores the missing replications of a point, and writes its summary and row."""
        (live, check), swept, name = fabric, self._swept, point.point.name
        swept.number += 1
        swept.on_event(
            Notice(
                "point-started",
                number=swept.number,
                points=len(swept.points),
                name=name,
                seconds_left=swept.seconds_left,
            )
        )
        if not swept.same_faults:
            write_schedule(swept.directory, point.traffic, swept.on_event, f"{POINTS_FOLDER}/{name}-{FAULTS}")
        live.reset()
        links = directed_links(live.options.topology)
        replicated = ReplicatedPoint(point.point, swept.settings, swept.directory, links, swept.on_event)
        before = replicated.read(point.traffic.seed)
        companions, repeat = Companions(keep=replicated.keep), swept.settings.repeat
        for _ in replications(live, point.traffic, repeat, check, swept.on_event, companions, before):
            pass

    def keep(self, point: PointOptions, outcome: None, seconds_left: float | None) -> None:
        """Removes a complete point from the missing ones."""
        super().keep(point, outcome, seconds_left)
        self._swept.seconds_left = seconds_left


def _write_manifest(directory: RunDirectory, fabric: LiveFabric, settings: SweepSettings) -> None:
    """Writes the manifest: settings, and the sources of queue occupancies of all routings so far."""
    path = directory.path / MANIFEST
    before = read_record(path, SweepManifest) if path.exists() else None
    manifest = joined(sweep_manifest(fabric, settings, before), before, directory)
    write_manifest(directory, manifest, fabric)


def _with_settled_rate(
    network: FabricNetwork, specified: Sequence[PointOptions], on_event: OnEvent
) -> Sequence[PointOptions]:
    """If the link rate is to be calibrated, sets a rate at which the machine carries the hardest point."""
    first = specified[0]
    if not first.fabric.calibrate:
        return specified
    topology, hosts = first.fabric.topology, first.fabric.hosts
    everyone = np.arange(topology.routers)
    distances = topology.distances(everyone[:, None], everyone[None, :])

    @cache
    def max_hops(name: str) -> float:
        plan = make_plan(topology, 1, name)
        return float(plan.hop_bound(plan.topology.distances(everyone[:, None], everyone)).mean())

    @cache
    def mean_distance(name: str, seed: int) -> float:
        pattern = first.fabric.pattern(name, seed)
        demand = router_demand(pattern.shares(), host_routers(topology, hosts), topology.routers)
        return float((demand * distances).sum())

    def work(one: PointOptions) -> tuple[float, ...]:
        traffic = one.traffic
        packets = traffic.load / traffic.frame_bytes
        return packets, max_hops(one.fabric.routing), mean_distance(traffic.pattern, traffic.seed)

    hardest = max(specified, key=work)
    settled = with_settled_rate(network, hardest.fabric, hardest.traffic, on_event)
    return [_at_rate(one, settled.links.rate_bps) for one in specified]


def _settings(first: PointOptions, sweep: SweepOptions) -> SweepSettings:
    """Returns the settings that all points of a sweep share, including the list of requested points."""
    fabric, traffic = first.fabric, first.traffic.settings()
    return SweepSettings(
        **vars(fabric.settings()),
        **{entry.name: getattr(traffic, entry.name) for entry in fields(PacketSettings)},
        datapath=fabric.datapath,
        occupancy=fabric.occupancy,
        local_repair=fabric.local_repair,
        ordered_repair=fabric.ordered_repair,
        **swept_values(sweep),
    )
