"""Schedules: all packets that a run offers, determined before it starts.

A schedule depends only on its settings and seed: the same run offers the same packets on every machine, and
sender and report can both derive them. Schedules are generated in chunks, so that memory does not grow with
the length of a run.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from traffic.workload.arrivals import ARRIVALS, CHUNK_EVENTS, Events, InjectionSettings, number_per_source
from traffic.workload.hot_spots import HotSpots
from traffic.workload.patterns import Pattern


class Schedule(Protocol):
    """Protocol of schedules: packets with their times, sources and destinations."""

    @property
    def hosts(self) -> int:
        """The number of hosts, including idle ones."""

    @property
    def end_ns(self) -> int:
        """The end of the schedule, in nanoseconds since its start; all packets are due before the end."""

    def chunks(self) -> Iterator[Events]:
        """Yields all packets in chronological order, at most CHUNK_EVENTS at a time."""

    def to_dict(self) -> dict[str, Any]:
        """Returns the settings from which `schedule_from_dict` recreates the schedule."""


@dataclass(frozen=True)
class PatternSchedule:
    """The packets of a pattern: all sending hosts inject at the same mean rate.

    Attributes:
        pattern: destinations of every host's packets.
        packets_per_s: mean rate per host, over 0.
        duration_ns: length of the schedule in nanoseconds.
        flows: number of source ports per host pair; each packet uses a random one.
        seed: seed of the random generator, at least 0.
        arrivals: arrival process of every host, one of ARRIVALS.
        max_packets_per_s: capacity of a host's link in packets/s; needed for Bernoulli arrivals only.
    """

    pattern: Pattern
    packets_per_s: float
    duration_ns: int
    flows: int
    seed: int
    arrivals: str = "poisson"
    max_packets_per_s: float = 0.0

    @property
    def hosts(self) -> int:
        """The number of hosts, including idle ones."""
        return self.pattern.hosts

    @property
    def end_ns(self) -> int:
        """The length of the schedule in nanoseconds."""
        return self.duration_ns

    def chunks(self) -> Iterator[Events]:
        """Yields all packets in chronological order."""
        generator = np.random.default_rng(self.seed)
        sent = np.zeros(self.hosts, np.int64)
        settings = InjectionSettings(
            self.pattern.senders, self.packets_per_s, self.max_packets_per_s, self.duration_ns
        )
        for times, sources in ARRIVALS[self.arrivals](settings, generator):
            destinations = self.pattern.destinations(sources, generator)
            flows = generator.integers(self.flows, size=len(sources))
            due = int(np.searchsorted(times, self.duration_ns))
            for first in range(0, due, CHUNK_EVENTS):
                part = slice(first, min(first + CHUNK_EVENTS, due))
                yield Events(
                    times[part].astype(np.int64),
                    sources[part],
                    destinations[part],
                    flows[part],
                    number_per_source(sources[part], sent),
                )
            if due < len(times):
                return

    def to_dict(self) -> dict[str, Any]:
        """Returns the settings."""
        return {"kind": "pattern", **asdict(self)}


@dataclass(frozen=True)
class ConsecutiveSchedule:
    """A sequence of pattern schedules for the same hosts: traffic that changes abruptly.

    Attributes:
        parts: the schedules, in order; at least one.
    """

    parts: tuple[PatternSchedule, ...]

    @property
    def hosts(self) -> int:
        """The number of hosts, including idle ones."""
        return self.parts[0].hosts

    @property
    def end_ns(self) -> int:
        """The end of the last part."""
        return sum(part.end_ns for part in self.parts)

    def chunks(self) -> Iterator[Events]:
        """Yields all packets in chronological order; sequence numbers continue from part to part."""
        sent = np.zeros(self.hosts, np.int64)
        start_ns = 0
        for part in self.parts:
            before = sent.copy()
            for events in part.chunks():
                sent += np.bincount(events.source, minlength=self.hosts)
                yield replace(
                    events,
                    time_ns=events.time_ns + start_ns,
                    sequence=events.sequence + before[events.source],
                )
            start_ns += part.end_ns

    def to_dict(self) -> dict[str, Any]:
        """Returns the settings."""
        return {"kind": "consecutive", "parts": [part.to_dict() for part in self.parts]}


@dataclass(frozen=True)
class AllPairsSchedule:
    """One packet for every ordered pair of hosts, in rounds.

    In round k, host i sends to host i + k (modulo the number of hosts), so that every host receives at most
    one packet per round. Pairs can be skipped, so that a repetition has only those whose packets are missing.

    Attributes:
        hosts: number of hosts.
        round_ns: length of a round in nanoseconds.
        skip: pairs to skip (source x hosts + destination), ascending.
    """

    hosts: int
    round_ns: int
    skip: tuple[int, ...] = ()

    @property
    def end_ns(self) -> int:
        """The end of the last round."""
        return self.hosts * self.round_ns

    def chunks(self) -> Iterator[Events]:
        """Yields all packets in chronological order."""
        sent = np.zeros(self.hosts, np.int64)
        all_hosts = np.arange(self.hosts, dtype=np.int64)
        skipped = np.array(self.skip, np.int64)
        for distance in range(1, self.hosts):
            destinations = (all_hosts + distance) % self.hosts
            keep = ~np.isin(all_hosts * self.hosts + destinations, skipped)
            sources = all_hosts[keep]
            # Packets are spread over their round, because all switches share the machine's processors.
            times = (distance - 1) * self.round_ns + sources * self.round_ns // self.hosts
            for first in range(0, len(sources), CHUNK_EVENTS):
                part = slice(first, first + CHUNK_EVENTS)
                flows = np.zeros_like(sources[part])
                numbers = number_per_source(sources[part], sent)
                yield Events(times[part], sources[part], destinations[keep][part], flows, numbers)

    def to_dict(self) -> dict[str, Any]:
        """Returns the settings."""
        return {"kind": "all-pairs", **asdict(self)}


@dataclass(frozen=True)
class ProbeStream:
    """Pairs of hosts that are probed at the same interval.

    Attributes:
        pairs: the host pairs, as source x hosts + destination.
        interval_ns: time between two probes of a pair, in nanoseconds.
    """

    pairs: tuple[int, ...]
    interval_ns: int


@dataclass(frozen=True)
class ProbeSchedule:
    """Probes at constant intervals, which reveal losses and the length of each pair's outages.

    The probes of a stream are spread evenly over its interval. A packet's flow is the index of its stream.

    Attributes:
        hosts: number of hosts.
        streams: the probed pairs and their intervals.
        end_ns: end of the schedule, in nanoseconds since its start.
    """

    hosts: int
    streams: tuple[ProbeStream, ...]
    end_ns: int

    def chunks(self) -> Iterator[Events]:
        """Yields all packets in chronological order."""
        sent = np.zeros(self.hosts, np.int64)
        rate = sum(len(stream.pairs) / stream.interval_ns for stream in self.streams)
        if not rate:
            return
        step_ns = max(1, int(CHUNK_EVENTS / 2 / rate))
        for begin_ns in range(0, self.end_ns, step_ns):
            end_ns = min(begin_ns + step_ns, self.end_ns)
            due = [_probes(stream, begin_ns, end_ns) for stream in self.streams]
            times = np.concatenate([time_ns for time_ns, _ in due])
            pairs = np.concatenate([pair for _, pair in due])
            flows = np.repeat(np.arange(len(due)), [len(time_ns) for time_ns, _ in due])
            order = np.argsort(times, kind="stable")
            for first in range(0, len(order), CHUNK_EVENTS):
                part = order[first : first + CHUNK_EVENTS]
                sources = pairs[part] // self.hosts
                numbers = number_per_source(sources, sent)
                yield Events(times[part], sources, pairs[part] % self.hosts, flows[part], numbers)

    def to_dict(self) -> dict[str, Any]:
        """Returns the settings."""
        return {"kind": "probes", **asdict(self)}


def _probes(
    stream: ProbeStream, begin_ns: int, end_ns: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Returns the times in ns of a stream's probes in [begin_ns, end_ns), and the host pair of each."""
    count, interval_ns = len(stream.pairs), stream.interval_ns
    rounds = np.arange(begin_ns // interval_ns, -(-end_ns // interval_ns), dtype=np.int64)
    offsets = np.arange(count, dtype=np.int64) * interval_ns // max(1, count)
    times = (rounds[:, None] * interval_ns + offsets).ravel()
    pairs = np.tile(np.array(stream.pairs, np.int64), len(rounds))
    due = (times >= begin_ns) & (times < end_ns)
    return times[due], pairs[due]


def schedule_from_dict(settings: dict[str, Any]) -> Schedule:
    """Recreates a schedule from the settings returned by `Schedule.to_dict`.

    Args:
        settings: the settings, also after conversion to JSON and back, which turns tuples into lists.

    Returns:
        A schedule equal to the original one.
    """
    arguments = dict(settings)
    kind = arguments.pop("kind")
    if kind == "pattern":
        return _pattern_schedule(arguments)
    if kind == "consecutive":
        return ConsecutiveSchedule(tuple(map(_pattern_schedule, arguments["parts"])))
    if kind == "probes":
        streams = tuple(ProbeStream(tuple(s["pairs"]), s["interval_ns"]) for s in arguments.pop("streams"))
        return ProbeSchedule(streams=streams, **arguments)
    return AllPairsSchedule(**{**arguments, "skip": tuple(arguments["skip"])})


def _pattern_schedule(settings: dict[str, Any]) -> PatternSchedule:
    pattern = dict(settings["pattern"])
    partners, matrix = pattern["partners"], pattern.get("matrix")
    pattern["partners"] = None if partners is None else tuple(partners)
    pattern["matrix"] = None if matrix is None else tuple(map(tuple, matrix))
    if hot := pattern.get("hot"):
        pattern["hot"] = HotSpots(tuple(hot["hosts"]), hot["share"])
    others = {name: value for name, value in settings.items() if name not in ("kind", "pattern")}
    return PatternSchedule(pattern=Pattern(**pattern), **others)
