"""Progress events: how much of an ongoing activity is done."""

from __future__ import annotations

from dataclasses import dataclass

from experiments.events.base import Event, Ongoing, time_left
from experiments.validity.judgement import MAX_HELD_RMS
from experiments.validity.samples import HeldLately

_MIN_DONE = 0.02  # fraction of the work; an estimate from less would be noise
_MAX_NAMED = 3


@dataclass(frozen=True)
class SwitchesConnected(Ongoing):
    """Number of switches that have connected to the controller so far."""

    connected: int
    switches: int

    @property
    def fraction(self) -> float:
        """Fraction of the switches, 0 to 1."""
        return self.connected / self.switches

    def __str__(self) -> str:
        return f"{self.connected} of {self.switches} switches connected"


@dataclass(frozen=True)
class PairsDelivered(Ongoing):
    """Number of pairs of hosts whose probe has arrived so far."""

    delivered: int
    pairs: int

    @property
    def fraction(self) -> float:
        """Fraction of the pairs, 0 to 1."""
        return self.delivered / self.pairs if self.pairs else 1.0

    def __str__(self) -> str:
        return f"{self.delivered} of {self.pairs} pairs delivered"


@dataclass(frozen=True, kw_only=True)
class Progress(Ongoing):
    """Report on current traffic.

    Attributes:
        held: the longest times for which switches left frames unread in the last second; None if they were
            not observed.
    """

    held: HeldLately | None = None

    @property
    def _holding(self) -> str:
        if self.held is None:
            return ""
        mean, rms = self.held
        many = "" if rms.frame_times <= MAX_HELD_RMS else f"; {rms.switch} held many at a time"
        return f"; {mean.switch} held frames for {mean.frame_times:.2f} frame times{many}"


@dataclass(frozen=True)
class TrafficProgress(Progress):
    """Traffic so far: offered and accepted in the last second, as fractions of the injection capacity.

    Attributes:
        seconds: seconds since the start of the traffic.
        total_s: length of the traffic in s; an upper bound if the warm-up ends at steady state.
        offered, accepted: offered and accepted load of the last second.
        loss: fraction of the packets due by now that have not arrived; None if none is due.
        latency_p99_ms: 99th percentile of recent latencies.
        under_way: packets that have not arrived: in queues, on links, or lost.
    """

    seconds: float
    total_s: float
    offered: float
    accepted: float
    loss: float | None
    latency_p99_ms: float | None
    under_way: int = 0

    @property
    def fraction(self) -> float:
        """Elapsed fraction of the time, 0 to 1."""
        return min(1.0, self.seconds / self.total_s)

    def __str__(self) -> str:
        loss = "-" if self.loss is None else f"{self.loss:.2%}"
        return (
            f"{self.seconds:.1f} s: last second offered {self.offered:.3f}, accepted {self.accepted:.3f}; "
            f"{self.under_way} packets in flight or lost, loss {loss} of overdue packets, "
            f"p99 {_milliseconds(self.latency_p99_ms)}{self._holding}"
        )


@dataclass(frozen=True)
class TrafficDraining(Progress):
    """The measurement window has ended; packets in flight may still arrive."""

    seconds: float
    under_way: int
    latency_p99_ms: float | None

    def __str__(self) -> str:
        return (
            f"{self.seconds:.1f} s: sending has ended; about {self.under_way} packets in flight or lost, "
            f"p99 {_milliseconds(self.latency_p99_ms)}{self._holding}"
        )


@dataclass(frozen=True)
class CollectiveProgress(Progress):
    """A collective so far: segments received, and their rate as a fraction of the ranks' total link rate.

    Attributes:
        seconds: seconds since its start.
        segments: segments received.
        accepted: their rate in the last second, as a fraction of the ranks' total link rate.
        latency_p99_ms: 99th percentile of recent latencies.
        done: fraction of the bytes of all iterations' messages that has arrived; None if not known.
    """

    seconds: float
    segments: int
    accepted: float
    latency_p99_ms: float | None
    done: float | None = None

    @property
    def fraction(self) -> float | None:
        """Fraction of the work, 0 to 1."""
        return self.done

    @property
    def expected_s(self) -> float | None:
        """Total length in s, extrapolated from the progress so far; None while under 2 % is done."""
        return self.seconds / self.done if self.done and self.done >= _MIN_DONE else None

    def __str__(self) -> str:
        part = "" if self.done is None else f"{self.done:.0%} done, "
        return (
            f"{self.seconds:.1f} s: {part}{self.segments} segments received, at {self.accepted:.3f} of "
            f"the ranks' capacity, p99 {_milliseconds(self.latency_p99_ms)}{self._holding}"
        )


@dataclass(frozen=True)
class FlowProgress(Progress):
    """TCP flows so far: completed flows, and recent throughput as a fraction of the injection capacity."""

    seconds: float
    total_s: float
    completed: int
    flows: int
    accepted: float
    fct_p99_ms: float | None

    @property
    def fraction(self) -> float:
        """Elapsed fraction of the time, 0 to 1."""
        return min(1.0, self.seconds / self.total_s)

    def __str__(self) -> str:
        return (
            f"{self.seconds:.1f} s: {self.completed} of {self.flows} flows completed, accepted "
            f"{self.accepted:.3f}, p99 {_milliseconds(self.fct_p99_ms)}{self._holding}"
        )


@dataclass(frozen=True)
class ProbesSent(Ongoing):
    """For how long probes have been sent so far, and for how long they are sent in total, in s."""

    seconds: float
    total_s: float

    @property
    def fraction(self) -> float:
        """Elapsed fraction of the time, 0 to 1."""
        return min(1.0, self.seconds / self.total_s)

    def __str__(self) -> str:
        return f"probes: {self.seconds:.1f} of {self.total_s:g} s"


@dataclass(frozen=True)
class ProgramsProgress(Ongoing):
    """Command lines of the programs that are still running, `seconds` after the start of the traffic."""

    seconds: float
    lines: tuple[str, ...]
    timeout_s: float

    def __str__(self) -> str:
        # The host and the name of the program, as in `h1_1 iperf3`.
        names = [" ".join(line.split()[:2]) for line in self.lines]
        more = f" and {len(names) - _MAX_NAMED} more" if len(names) > _MAX_NAMED else ""
        named = ", ".join(names[:_MAX_NAMED]) + more
        return f"{self.seconds:.1f} s of at most {self.timeout_s:g} s: {named}"


@dataclass(frozen=True)
class SimulationProgress(Ongoing):
    """Simulated traffic so far.

    Attributes:
        cycles: simulated cycles.
        total: cycles until the end of the window; None during a warm-up that ends at steady state.
        packets: packets that have arrived.
        cycles_per_s: recent speed in simulated cycles per second of real time.
    """

    cycles: int
    total: int | None
    packets: int
    cycles_per_s: float

    @property
    def fraction(self) -> float | None:
        """Fraction of the cycles up to the window's end; None if that is not known."""
        return None if self.total is None else min(1.0, self.cycles / self.total)

    def __str__(self) -> str:
        speed = f"{self.cycles_per_s:,.0f} cycles per second"
        return f"{self.cycles:,} cycles, {self.packets:,} packets arrived, {speed}"


@dataclass(frozen=True)
class PointsSimulated(Ongoing):
    """Progress of a sweep: `done` of `points` are simulated.

    Attributes:
        name: name of the point that was simulated last.
        seconds_left: estimated time of the remaining points in s; None if not known.
    """

    done: int
    points: int
    name: str
    seconds_left: float | None = None

    @property
    def fraction(self) -> float:
        """Fraction of the points, 0 to 1."""
        return self.done / self.points

    def __str__(self) -> str:
        left = time_left(self.seconds_left)
        return f"{self.done} of {self.points} points simulated, last {self.name}{left}"


@dataclass(frozen=True)
class CurvePointSimulated(Ongoing):
    """A point of a curve of a paper was simulated.

    Attributes:
        seconds_left: upper bound on the time for all missing points in s; None if not known.
    """

    curve: str
    point: Event
    seconds_left: float | None = None

    def __str__(self) -> str:
        return f"{self.curve}, {self.point}{time_left(self.seconds_left, 'at most')}"


def _milliseconds(value: float | None) -> str:
    return "-" if value is None else f"{value:.3g} ms"
