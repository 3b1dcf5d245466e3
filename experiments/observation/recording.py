"""Rebuilds the successive states of a fabric from the tables of finished results, to replay them."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from experiments.codec import read_record
from experiments.observation.description import describe
from experiments.observation.model import Entry, FabricDescription, FabricState, Validity
from experiments.results.failover import FailoverSummary
from experiments.results.link_loads import directed_links
from experiments.results.manifest import RunManifest
from experiments.results.model import Summary
from experiments.results.open import open_results
from experiments.results.run_directory import MANIFEST, graph_of_results
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
from topology.base import Topology
from topology.errors import ParameterError
from topology.faults import CONTROLLER, ComponentKind, names_host_link, parse_components

MAX_STATES = 300
_MIN_STEP_S = 0.25

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


def read_recording(folder: Path) -> Recording:
    """Returns the recording of the results in a folder.

    Args:
        folder: folder of a run or of a failover.

    Raises:
        ParameterError: the folder has neither, is damaged, or its graph cannot be rebuilt.
    """
    results: Any = open_results(folder)
    if not results.kind.recorded:
        raise ParameterError(
            f"results must be of a run or a failover, got {folder}; name one of its points or seeds"
        )
    with reporting_corruption(folder):
        manifest = read_record(folder / MANIFEST, RunManifest)
        topology = graph_of_results(folder, manifest.name, manifest.params)
        if topology is None:
            raise ParameterError(f"the graph of {folder} cannot be rebuilt: {manifest.params}")
        description = describe(topology, manifest, manifest.routing, replay=folder.resolve().name)
        happened, missing = _events(results)
        links = _Links(folder, topology, manifest.link_rate_bps) if (folder / LINKS).exists() else None
        if links is None:
            missing.append(f"{LINKS} is missing: loads and queues of links are not known")
        throughput = _throughput(folder, topology.endpoints(manifest.hosts) * manifest.link_rate_bps)
        if throughput is None:
            missing.append(f"{THROUGHPUT} is missing: offered and accepted traffic are not known")
        states = _states(topology, results.summary, manifest, links, throughput, happened)
    notes = [Entry(number, 0.0, "warning", text) for number, text in enumerate(missing)]
    entries = [Entry(len(notes) + n, round(t, 4), "fabric", text) for n, (t, text) in enumerate(happened)]
    return Recording(description, states, (*notes, *entries))


class _Links:
    """Bytes carried and packets dropped of every direction over time, from a table of links."""

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
        """Returns loads, waiting and dropped packets at given times: each float64, times x directions."""
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
    """Traffic of all hosts over time, as fractions of their capacity (float64, times)."""

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
    """Returns events as (time in s, text); and, in a second list, a note if their table is missing."""
    try:
        return results.events, []
    except ParameterError:
        if (results.folder / EVENTS).exists():
            raise
        return [], [f"{EVENTS} is missing: events are not known"]


def _states(
    topology: Topology,
    summary: Summary | FailoverSummary,
    manifest: RunManifest,
    links: _Links | None,
    throughput: _Throughput | None,
    happened: list[tuple[float, str]],
) -> tuple[FabricState, ...]:
    ends = [
        links.end_s if links else 0.0,
        throughput.times_s[-1] if throughput else 0.0,
        *(t for t, _ in happened),
    ]
    end_s = max(*ends, 1.0)
    step_s = max(_MIN_STEP_S, end_s / MAX_STATES)
    edges = np.arange(0.0, end_s + step_s, step_s)
    directions = len(directed_links(topology))
    zeros = np.zeros((len(edges), directions))
    load, waiting, dropped = links.at(edges) if links else (zeros, zeros, zeros)
    validity = _validity(summary)
    failures = [failed_at(happened, time_s) for time_s in edges.tolist()]
    down = {failed: directions_down(topology, failed) for failed in dict.fromkeys(failures)}
    states = []
    for number, time_s in enumerate(edges.tolist()):
        failed = failures[number]
        state = FabricState(
            number=number,
            time_s=round(time_s, 3),
            load=tuple(np.clip(load[number], 0, None).round(4).tolist()),
            waiting=tuple(waiting[number].astype(int).tolist()),
            dropped=tuple(dropped[number].astype(int).tolist()),
            down=down[failed],
            failed=failed,
            controller="killed" if CONTROLLER.name in failed else "running",
            validity=validity,
            entries=sum(time <= time_s for time, _ in happened),
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
    """Returns the directions of links that are down, alone or with a switch.

    Args:
        topology: the graph of routers.
        failed: names of the components that are down, like `link:s1-s7`.

    Returns:
        Their indices in `directed_links`, ascending.
    """
    names = ",".join(name for name in failed if name != CONTROLLER.name and not names_host_link(name))
    if not names:
        return ()
    components = [one for one in parse_components(names, topology, 0) if one.kind is not ComponentKind.HANG]
    places = {(link.source, link.port): place for place, link in enumerate(directed_links(topology))}
    links = [link for link in topology.link_list if any(one.covers(link) for one in components)]
    return tuple(sorted(places[end] for link in links for end in link.ends))
