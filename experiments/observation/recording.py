"""Rebuilds the successive states of a fabric from the tables of finished results, to replay them."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from experiments.codec import read_record
from experiments.events.headline import QUIET, Headline
from experiments.failover.course import final_headline
from experiments.observation.around import MAX_ROUTERS, Paths, ways_around
from experiments.observation.description import describe
from experiments.observation.model import Entry, FabricDescription, FabricState, Validity
from experiments.results.failover import FailoverSummary
from experiments.results.link_loads import directed_links
from experiments.results.manifest import RunManifest
from experiments.results.model import Summary
from experiments.results.open import Run, Sweep, open_results
from experiments.results.run_directory import MANIFEST, graph_of_results
from experiments.results.sweep_points import point_links
from experiments.results.tables import (
    EVENTS,
    LINK_COLUMNS,
    LINKS,
    THROUGHPUT,
    THROUGHPUT_COLUMNS,
    read_csv,
    reporting_corruption,
)
from experiments.session.background import TrafficStatus
from routing.plan.model import RoutePlan
from routing.registry import make_plan
from topology.base import Topology
from topology.errors import ParameterError, PolarLabError
from topology.faults import CONTROLLER, ComponentKind, components_of_graph

MAX_STATES = 300
_MIN_STEP_S = 0.25
_MAX_WAYS = 8  # failures whose ways around are computed; each takes up to seconds

Amounts = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Recording:
    """Finished results, presented to viewers like a live fabric.

    Attributes:
        description: the fabric.
        states: the states, in order of time.
        entries: the events, in order of time.
    """

    description: FabricDescription
    states: tuple[FabricState, ...]
    entries: tuple[Entry, ...]


def read_recording(folder: Path, point: str = "") -> Recording:
    """Returns the recording of the results in a folder.

    Args:
        folder: folder of a run, a failover, a series of failovers or a sweep.
        point: the point or seed to show; empty for the first one.

    Raises:
        ParameterError: the folder has no such results, is damaged, or its graph cannot be rebuilt.
    """
    results: Any = open_results(folder)
    if isinstance(results, Sweep):
        return _point_recording(results, point)
    names = [one.folder.name for one in getattr(results, "replications", ()) if one.folder != folder]
    if names:
        chosen = read_recording(folder / _chosen(names, point))
        described = replace(
            chosen.description,
            replay=folder.resolve().name,
            points=tuple(names),
            point=chosen.description.replay or "",
        )
        return replace(chosen, description=described)
    if not results.kind.recorded:
        raise ParameterError(f"results must be of a run, a sweep of runs or failovers, got {folder}")
    with reporting_corruption(folder):
        manifest = read_record(folder / MANIFEST, RunManifest)
        topology = graph_of_results(folder, manifest.name, manifest.params, manifest.experiment)
        happened, lacks = _events(results)
        links = _Links(folder, topology, manifest.link_rate_bps) if (folder / LINKS).exists() else None
        if links is None:
            lacks.append(f"{LINKS}: loads and queues of links")
        throughput = _throughput(folder, topology.endpoints(manifest.hosts) * manifest.link_rate_bps)
        if throughput is None and isinstance(results, Run):
            lacks.append(f"{THROUGHPUT}: offered and accepted traffic")
        course = _Course(topology, results.summary, manifest, happened)
        states = _states(topology, results.summary, manifest, links, throughput, course)
        described = describe(topology, manifest, manifest.routing, replay=folder.resolve().name)
        description = replace(described, lacks=tuple(lacks))
    entries = [Entry(number, round(t, 4), "fabric", text) for number, (t, text) in enumerate(happened)]
    return Recording(description, states, tuple(entries))


def _chosen(names: Sequence[str], point: str) -> str:
    if point and point not in names:
        raise ParameterError(f"point must be one of {names[0]} to {names[-1]}, got {point!r}")
    return point or names[0]


def _point_recording(results: Sweep, name: str) -> Recording:
    """Returns a point of a sweep as one state: the mean loads of its measurement window."""
    points = {point.name: point for point in results.points}
    if not points:
        raise ParameterError(f"{results.folder} has no measured points yet")
    chosen = _chosen(list(points), name)
    point, manifest = points[chosen], results.manifest
    row, options = results.points[point], dict(point.options)
    with reporting_corruption(results.folder):
        params = {key: options.get(key, value) for key, value in manifest.params.items()}
        topology = graph_of_results(results.folder, manifest.name, params, manifest.experiment)
        settings = replace(manifest, params=params, hosts=int(options.get("hosts", manifest.hosts)))
        directed = directed_links(topology)
        places = {(link.name, link.port): place for place, link in enumerate(directed)}
        load, dropped = [0.0] * len(directed), [0] * len(directed)
        loads = results.link_loads(point)
        for link in loads:
            if (place := places.get((link.link, link.port))) is not None:
                load[place], dropped[place] = link.load, link.dropped_packets
        summary = results.summary(point)
        seconds = summary.measured_s if summary else 0.0
        latency = summary.latency_ms if summary else None
        state = FabricState(
            number=0,
            time_s=round(seconds, 3),
            load=tuple(load),
            waiting=(0,) * len(directed),
            dropped=tuple(dropped),
            down=(),
            traffic=TrafficStatus(
                point.pattern,
                point.load,
                round(seconds, 3),
                row.offered or 0.0,
                row.accepted or 0.0,
                row.loss,
                latency.p50 if latency else None,
                latency.p99 if latency else None,
            ),
            validity=_validity(summary) if summary else Validity(row.valid, "see points.csv"),
            headline=f"{point.routing}, {point.pattern} at a load of {point.load:g}: "
            f"{row.accepted or 0.0:.3f} accepted on average",
        )
        description = replace(
            describe(topology, settings, point.routing, replay=results.folder.resolve().name),
            points=tuple(points),
            point=chosen,
            lacks=() if loads else (f"{point_links(point)}: loads of links",),
        )
    return Recording(description, (state,), ())


class _Course:
    """The failures of recorded results, their headline, and the ways around them, at any time."""

    def __init__(
        self,
        topology: Topology,
        summary: Summary | FailoverSummary,
        manifest: RunManifest,
        happened: list[tuple[float, str]],
    ) -> None:
        self.happened, self._topology, self._manifest = happened, topology, manifest
        self._replanned = summary.faults.replanned if summary.faults else ()
        self._summary = summary if isinstance(summary, FailoverSummary) and summary.failed else None
        injected = summary.faults.done if summary.faults else ()
        self._fails = [one.time_s for one in injected if one.fault.startswith("fail ")]
        self._restores = [one.time_s for one in injected if one.fault.startswith("restore ")]
        self._around: dict[tuple[tuple[str, ...], bool], Paths] = {}
        self._plan: RoutePlan | None = None

    @property
    def end_s(self) -> float:
        """The latest time in s of the events and, if recorded, of the traffic's end; at least 1."""
        end_s: float = getattr(self._manifest.traffic, "end_s", None) or 0.0
        return max(end_s if self._summary else 0.0, *(time_s for time_s, _ in self.happened), 1.0)

    def planned(self, time_s: float) -> str:
        """Returns the failure for which the controller's plan at a given time was made, or `none`."""
        return next((one.failed for one in reversed(self._replanned) if one.time_s <= time_s), "none")

    def headline(self, time_s: float, failed: tuple[str, ...], *, last: bool) -> tuple[str, str]:
        """Returns the headline at a time and its level.

        Args:
            time_s: the time.
            failed: names of the components that have failed by then.
            last: whether it is the end of the recording.
        """
        if not self._fails:
            return "", QUIET
        if time_s < self._fails[0]:
            return f"All pairs deliver; the failure comes at {self._fails[0]:.1f} s", QUIET
        if self._summary is None:
            ever = dict.fromkeys(text[5:] for t, text in self.happened if t <= time_s and text[:5] == "fail ")
            now = Headline(failed or tuple(ever), back=not failed)
        else:
            end = final_headline(self._summary)
            now = replace(end, back=not failed, right=False, trouble="")
            healed = self._summary.repaired_ms is not None
            if healed and time_s < self._fails[0] + (self._summary.repaired_ms or 0.0) / 1e3:
                now = Headline(failed or end.failed)
            if last or (not failed and self.planned(time_s) == "none" and time_s > self._restores[-1] + 1):
                now = end
        return str(now), now.level

    def around(self, time_s: float, failed: tuple[str, ...]) -> Paths:
        """Returns the ways that packets take around failures at a time."""
        key = failed, self.planned(time_s) != "none"
        known = key in self._around or len(self._around) == _MAX_WAYS
        if failed and not known and self._topology.routers <= MAX_ROUTERS:
            self._around[key] = ()
            with contextlib.suppress(PolarLabError):  # without its plug-in, for example
                self._around[key] = ways_around(self._plan_of_results(), failed, replanned=key[1])
        return self._around.get(key, ())

    def _plan_of_results(self) -> RoutePlan:
        asked = self._manifest
        if self._plan is None:
            self._plan = make_plan(
                self._topology,
                asked.hosts,
                asked.routing,
                local_repair=asked.local_repair,
                ordered_repair=asked.ordered_repair,
            )
        return self._plan


class _Links:
    """Bytes carried and packets dropped over time by each direction of each link, from a table of links."""

    def __init__(self, folder: Path, topology: Topology, rate_bps: int) -> None:
        table = read_csv(folder / LINKS, LINK_COLUMNS)
        places = {(link.name, link.port): place for place, link in enumerate(directed_links(topology))}
        self.count, self._rate_bps = len(places), rate_bps
        rows: list[list[tuple[float, float, float, float]]] = [[] for _ in range(self.count)]
        columns = (
            table[name]
            for name in ("time_s", "link", "port", "tx_bytes", "dropped_packets", "waiting_packets")
        )
        for time_s, name, port, sent, dropped, waiting in zip(*columns, strict=True):
            if (name, int(port)) in places:
                rows[places[name, int(port)]].append(
                    (float(time_s), float(sent), float(dropped), float(waiting))
                )
        self._rows = [np.array(sorted(one)).reshape(-1, 4) for one in rows]
        self.end_s = max((float(one[-1, 0]) for one in self._rows if len(one)), default=0.0)

    def at(self, edges: Amounts) -> tuple[Amounts, Amounts, Amounts]:
        """Returns three float64 arrays, times x directions: loads, waiting and dropped packets.

        Args:
            edges: the times in s; loads are means since the previous time.
        """
        shape = (len(edges), self.count)
        load, waiting, dropped = np.zeros(shape), np.zeros(shape), np.zeros(shape)
        for place, rows in enumerate(self._rows):
            if len(rows) < 2:
                continue
            sent = np.interp(edges, rows[:, 0], np.cumsum(rows[:, 1]))
            span = np.diff(edges, prepend=edges[0] - (edges[1] - edges[0] if len(edges) > 1 else 1.0))
            load[:, place] = np.diff(sent, prepend=sent[0]) * 8 / (span * self._rate_bps)
            latest = np.clip(np.searchsorted(rows[:, 0], edges, side="right") - 1, 0, len(rows) - 1)
            waiting[:, place] = rows[latest, 3]
            dropped[:, place] = np.where(edges >= rows[0, 0], np.cumsum(rows[:, 2])[latest], 0)
        return load, waiting, dropped


class _Throughput(NamedTuple):
    """Total traffic of all hosts as a fraction of their capacity; one entry for each time (float64)."""

    times_s: Amounts
    offered: Amounts
    accepted: Amounts


def _throughput(folder: Path, capacity_bps: float) -> _Throughput | None:
    if not (folder / THROUGHPUT).exists():
        return None
    table = read_csv(folder / THROUGHPUT, THROUGHPUT_COLUMNS)
    times_s = np.array(table["time_s"], float)
    steps = np.unique(times_s)
    if not len(steps):
        return None
    spans = np.diff(steps, prepend=0.0)
    shares = []
    for name in ("tx_bytes", "rx_bytes"):
        total = np.bincount(np.searchsorted(steps, times_s), np.array(table[name], float), len(steps))
        shares.append(total * 8 / (np.maximum(spans, 1e-9) * capacity_bps))
    return _Throughput(steps, shares[0], shares[1])


def _events(results: Any) -> tuple[list[tuple[float, str]], list[str]]:
    """Returns events as (time in s, text), and, if their table is missing, a list of what is unknown."""
    try:
        return results.events, []
    except ParameterError:
        if (results.folder / EVENTS).exists():
            raise
        return [], [f"{EVENTS}: events"]


def _states(
    topology: Topology,
    summary: Summary | FailoverSummary,
    manifest: RunManifest,
    links: _Links | None,
    throughput: _Throughput | None,
    course: _Course,
) -> tuple[FabricState, ...]:
    end_s = max(links.end_s if links else 0.0, throughput.times_s[-1] if throughput else 0.0, course.end_s)
    step_s = max(_MIN_STEP_S, end_s / MAX_STATES)
    edges = np.arange(0.0, end_s + step_s, step_s)
    directions = len(directed_links(topology))
    zeros = np.zeros((len(edges), directions))
    load, waiting, dropped = links.at(edges) if links else (zeros, zeros, zeros)
    validity = _validity(summary)
    failures = [failed_at(course.happened, time_s) for time_s in edges.tolist()]
    down = {failed: directions_down(topology, failed) for failed in dict.fromkeys(failures)}
    states = []
    for number, time_s in enumerate(edges.tolist()):
        failed = failures[number]
        text, level = course.headline(time_s, failed, last=number == len(edges) - 1)
        state = FabricState(
            number=number,
            time_s=round(time_s, 3),
            load=tuple(np.clip(load[number], 0, None).round(4).tolist()),
            waiting=tuple(waiting[number].astype(int).tolist()),
            dropped=tuple(dropped[number].astype(int).tolist()),
            down=down[failed],
            failed=failed,
            controller="killed" if CONTROLLER.name in failed else "running",
            planned_failure=course.planned(time_s),
            validity=validity,
            entries=sum(time <= time_s for time, _ in course.happened),
            headline=text,
            headline_level=level,
            around=course.around(time_s, failed),
        )
        if throughput and time_s <= throughput.times_s[-1]:
            state = replace(state, traffic=_traffic_at(throughput, time_s, manifest))
        states.append(state)
    return tuple(states)


def _traffic_at(throughput: _Throughput, time_s: float, manifest: RunManifest) -> TrafficStatus:
    place = int(np.searchsorted(throughput.times_s, time_s))
    offered, accepted = float(throughput.offered[place]), float(throughput.accepted[place])
    pattern = str(getattr(manifest.traffic, "pattern", "") or "")
    load = float(getattr(manifest.traffic, "load", 0.0) or 0.0)
    return TrafficStatus(
        pattern, load, round(time_s, 3), round(offered, 4), round(accepted, 4), None, None, None
    )


def _validity(summary: Summary | FailoverSummary) -> Validity:
    fidelity = getattr(summary, "fidelity", None)
    if fidelity is None:
        return Validity(None, "the validity of failovers is not judged")
    reasons = "; ".join(fidelity.reasons) + getattr(summary, "remedy", "")
    reasons = reasons or "the whole run is valid"
    held = getattr(fidelity, "held_frame_times_max", None)
    return Validity(fidelity.valid, reasons, None if held is None or math.isnan(held) else held)


def failed_at(happened: list[tuple[float, str]], time_s: float) -> tuple[str, ...]:
    """Returns the names of the components that are down at a time, from events like `fail link:s1-s7`."""
    failed: dict[str, None] = {}
    for when, text in happened:
        verb, _, name = text.partition(" ")
        if when <= time_s and verb == "fail":
            failed[name] = None
        elif when <= time_s and verb == "restore":
            failed.pop(name, None)
    return tuple(failed)


def directions_down(topology: Topology, failed: tuple[str, ...]) -> tuple[int, ...]:
    """Returns the directions of links that are down, by themselves or because their switch is down.

    Args:
        topology: the graph of routers.
        failed: names of the components that are down, like `link:s1-s7`.

    Returns:
        Their indices in `directed_links`, ascending.
    """
    components = [one for one in components_of_graph(failed, topology) if one.kind is not ComponentKind.HANG]
    if not components:
        return ()
    places = {(link.source, link.port): place for place, link in enumerate(directed_links(topology))}
    links = [link for link in topology.link_list if any(one.covers(link) for one in components)]
    return tuple(sorted(places[end] for link in links for end in link.ends))
