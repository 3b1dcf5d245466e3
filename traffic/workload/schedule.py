"""When each host sends to whom: the whole of a run's offered traffic, known before it starts.

A schedule is a function of its settings and seed alone, so that the same run offers the same packets on
any machine, and sender and report can both derive it. It is made chunk by chunk; nothing grows with
the length of a run.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from traffic.workload.arrivals import ARRIVALS, InjectionSettings
from traffic.workload.events import CHUNK_EVENTS, Events, number_per_source
from traffic.workload.patterns import Pattern


class Schedule(Protocol):
    """Anything that says what is to be sent when."""

    @property
    def hosts(self) -> int:
        """How many hosts there are, those that send nothing included."""

    @property
    def end_ns(self) -> int:
        """When the last packet is due at the latest, since the schedule's start."""

    def chunks(self) -> Iterator[Events]:
        """Yields all packets in order of time, at most CHUNK_EVENTS at a time."""

    def to_dict(self) -> dict[str, Any]:
        """Returns the settings from which `schedule_from_dict` makes the same schedule again."""


@dataclass(frozen=True)
class PatternSchedule:
    """The packets of a pattern: every host that sends injects at the same mean rate.

    Attributes:
        pattern: who sends to whom.
        packets_per_s: the mean rate of one host.
        duration_ns: how long, in nanoseconds.
        flows: source ports per host pair; each packet takes one at random.
        seed: of the random generator.
        arrivals: how a host's packets are spread over time, one of ARRIVALS.
        most_packets_per_s: what a host's link passes; needed for Bernoulli arrivals only.
    """

    pattern: Pattern
    packets_per_s: float
    duration_ns: int
    flows: int
    seed: int
    arrivals: str = "poisson"
    most_packets_per_s: float = 0.0

    @property
    def hosts(self) -> int:
        """How many hosts there are, those that send nothing included."""
        return self.pattern.hosts

    @property
    def end_ns(self) -> int:
        """The duration."""
        return self.duration_ns

    def chunks(self) -> Iterator[Events]:
        """Yields all packets in order of time."""
        generator = np.random.default_rng(self.seed)
        sent = np.zeros(self.hosts, np.int64)
        settings = InjectionSettings(
            self.pattern.senders, self.packets_per_s, self.most_packets_per_s, self.duration_ns
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
    """One pattern's schedule after another, of the same hosts: traffic that changes all at once.

    Attributes:
        parts: the schedules, in order.
    """

    parts: tuple[PatternSchedule, ...]

    @property
    def hosts(self) -> int:
        """How many hosts there are, those that send nothing included."""
        return self.parts[0].hosts

    @property
    def end_ns(self) -> int:
        """The end of the last part."""
        return sum(part.end_ns for part in self.parts)

    def chunks(self) -> Iterator[Events]:
        """Yields all packets in order of time; packets are numbered through."""
        sent = np.zeros(self.hosts, np.int64)
        begin_ns = 0
        for part in self.parts:
            before = sent.copy()
            for events in part.chunks():
                sent += np.bincount(events.source, minlength=self.hosts)
                yield replace(
                    events,
                    time_ns=events.time_ns + begin_ns,
                    sequence=events.sequence + before[events.source],
                )
            begin_ns += part.end_ns

    def to_dict(self) -> dict[str, Any]:
        """Returns the settings."""
        return {"kind": "consecutive", "parts": [part.to_dict() for part in self.parts]}


@dataclass(frozen=True)
class AllPairsSchedule:
    """One packet for every ordered pair of hosts, round by round.

    In round k every host sends to the one k places after it, so that no host has more than one packet to
    receive at a time. Pairs can be left out, to repeat only what is missing.

    Attributes:
        hosts: how many hosts there are.
        round_ns: the time from one round to the next.
        skip: pairs (source x hosts + destination) not to send, ascending.
    """

    hosts: int
    round_ns: int
    skip: tuple[int, ...] = ()

    @property
    def end_ns(self) -> int:
        """The end of the last round."""
        return self.hosts * self.round_ns

    def chunks(self) -> Iterator[Events]:
        """Yields all packets in order of time."""
        sent = np.zeros(self.hosts, np.int64)
        everyone = np.arange(self.hosts, dtype=np.int64)
        skipped = np.array(self.skip, np.int64)
        for number in range(1, self.hosts):
            destinations = (everyone + number) % self.hosts
            keep = ~np.isin(everyone * self.hosts + destinations, skipped)
            sources = everyone[keep]
            # A round's packets are spread over its time: the switches share the machine's cores.
            times = (number - 1) * self.round_ns + sources * self.round_ns // self.hosts
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
    """Pairs (source x hosts + destination) each of which gets a probe every `interval_ns`."""

    pairs: tuple[int, ...]
    interval_ns: int


@dataclass(frozen=True)
class ProbeSchedule:
    """Steady probes: what is lost, when, and how long a pair is silent, can be read off them.

    The probes of a stream are spread evenly over its interval; a stream's number is its packets' flow.

    Attributes:
        hosts: how many hosts there are.
        streams: who is probed how often.
        end_ns: when it ends.
    """

    hosts: int
    streams: tuple[ProbeStream, ...]
    end_ns: int

    def chunks(self) -> Iterator[Events]:
        """Yields all packets in order of time."""
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
    """Returns the times of a stream's probes from one time to before another, and their pairs."""
    count, interval_ns = len(stream.pairs), stream.interval_ns
    rounds = np.arange(begin_ns // interval_ns, -(-end_ns // interval_ns), dtype=np.int64)
    offsets = np.arange(count, dtype=np.int64) * interval_ns // max(1, count)
    times = (rounds[:, None] * interval_ns + offsets).ravel()
    pairs = np.tile(np.array(stream.pairs, np.int64), len(rounds))
    due = (times >= begin_ns) & (times < end_ns)
    return times[due], pairs[due]


def schedule_from_dict(settings: dict[str, Any]) -> Schedule:
    """Returns the schedule that `to_dict` described."""
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
    chosen = dict(settings["pattern"])
    partners, matrix = chosen["partners"], chosen.get("matrix")
    chosen["partners"] = None if partners is None else tuple(partners)
    chosen["matrix"] = None if matrix is None else tuple(map(tuple, matrix))
    others = {name: value for name, value in settings.items() if name not in ("kind", "pattern")}
    return PatternSchedule(pattern=Pattern(**chosen), **others)
