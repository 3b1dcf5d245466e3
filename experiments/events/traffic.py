"""Events while traffic runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from experiments.events.base import Event, Ongoing
from experiments.validity.judgement import MOST_HELD_RMS
from experiments.validity.samples import HeldLately

_LEAST_DONE = 0.02  # of a work, before its end is foretold


@dataclass(frozen=True, kw_only=True)
class Progress(Ongoing):
    """Report on traffic that flows.

    Attributes:
        held: the longest times for which switches held frames in the last second, if observed.
    """

    held: HeldLately | None = None

    @property
    def _holding(self) -> str:
        if self.held is None:
            return ""
        mean, rms = self.held
        many = "" if rms.frame_times <= MOST_HELD_RMS else f", {rms.switch} many at a time"
        return f"; {mean.switch} held frames for {mean.frame_times:.2f} frame times{many}"


@dataclass(frozen=True)
class RateTried(Event):
    """A trial of `--link-rate auto`: the strain of the machine at a link rate, which is 1 at the bounds."""

    rate_bps: int
    strain: float

    def __str__(self) -> str:
        rate = f"{self.rate_bps / 1e6:g} Mbit/s"
        return f"calibrating: at {rate} the worst measure of validity is at {self.strain:.0%} of its bound"


@dataclass(frozen=True)
class RateChosen(Event):
    """The link rate that `--link-rate auto` settled on."""

    rate_bps: int

    def __str__(self) -> str:
        return f"links of {self.rate_bps / 1e6:g} Mbit/s"


@dataclass(frozen=True)
class ReplicationStarted(Event):
    """A replication with a seed of its own begins: number `number` of `replications`."""

    seed: int
    number: int
    replications: int

    def __str__(self) -> str:
        return f"seed {self.seed}, run {self.number} of {self.replications}"


@dataclass(frozen=True)
class TrafficStarted(Event):
    """Traffic of a pattern begins; `seconds` with the warm-up, an upper bound where that ends by itself."""

    pattern: str
    load: float
    seconds: float
    steady: bool

    def __str__(self) -> str:
        bound = "at most " if self.steady else ""
        return f"{self.pattern} traffic at {self.load:g} of the injection capacity, {bound}{self.seconds:g} s"


@dataclass(frozen=True)
class TrafficProgress(Progress):
    """Traffic so far: offered and accepted in the last second, as fractions of the injection capacity.

    Attributes:
        seconds: seconds since the start of the traffic, of `total_s`.
        total_s: length of the traffic in s, an upper bound where the warm-up ends by itself.
        offered, accepted: traffic of the last second.
        loss: fraction of those packets that had time to arrive, and did not.
        latency_p99_ms: 99th percentile of the latest latencies.
        under_way: packets in queues and on links, or lost.
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
        """The part of the time."""
        return min(1.0, self.seconds / self.total_s)

    def __str__(self) -> str:
        loss = "-" if self.loss is None else f"{self.loss:.2%}"
        return (
            f"{self.seconds:.1f} s: last second offered {self.offered:.3f}, accepted {self.accepted:.3f}; "
            f"{self.under_way} packets not arrived, loss {loss} of those overdue, "
            f"p99 {_milliseconds(self.latency_p99_ms)}{self._holding}"
        )


@dataclass(frozen=True)
class TrafficDraining(Progress):
    """The measured window has ended, and packets that are still under way are awaited."""

    seconds: float
    under_way: int
    latency_p99_ms: float | None

    def __str__(self) -> str:
        return (
            f"{self.seconds:.1f} s: sending has ended; waiting for those of about {self.under_way} packets "
            f"that are not lost, p99 {_milliseconds(self.latency_p99_ms)}{self._holding}"
        )


@dataclass(frozen=True)
class CollectiveStarted(Event):
    """A collective begins."""

    pattern: str
    ranks: int
    placement: str

    def __str__(self) -> str:
        return f"{self.pattern} of {self.ranks} ranks, {self.placement} placement"


@dataclass(frozen=True)
class CollectiveProgress(Progress):
    """A collective so far: segments received, and their rate as a fraction of all ranks' link rates.

    Attributes:
        seconds: seconds since its start.
        segments: segments received.
        accepted: their rate in the last second, as a fraction of all ranks' link rates.
        latency_p99_ms: 99th percentile of the latest latencies.
        done: share of the messages of all iterations that have arrived, by the bytes of the vectors.
    """

    seconds: float
    segments: int
    accepted: float
    latency_p99_ms: float | None
    done: float | None = None

    @property
    def fraction(self) -> float | None:
        """The part of the work."""
        return self.done

    @property
    def expected_s(self) -> float | None:
        """Its whole length in s if it goes on as until now; None while little of it is done."""
        return self.seconds / self.done if self.done and self.done >= _LEAST_DONE else None

    def __str__(self) -> str:
        part = "" if self.done is None else f"{self.done:.0%} done, "
        return (
            f"{self.seconds:.1f} s: {part}{self.segments} segments received, by {self.accepted:.3f} of "
            f"the ranks' capacity, p99 {_milliseconds(self.latency_p99_ms)}{self._holding}"
        )


@dataclass(frozen=True)
class FaultsDrawn(Event):
    """A fault schedule was drawn at random."""

    asked: str
    seed: int
    failures: int
    repairs: int

    def __str__(self) -> str:
        return (
            f"drawn from {self.asked} with seed {self.seed}: {self.failures} failures, {self.repairs} repairs"
        )


@dataclass(frozen=True)
class FlowsStarted(Event):
    """TCP flows begin: their number, and the longest time that they have."""

    pattern: str
    flows: int
    sizes: str
    tcp: str
    seconds: float

    def __str__(self) -> str:
        return f"{self.flows} flows ({self.sizes}, {self.pattern}, {self.tcp}), at most {self.seconds:g} s"


@dataclass(frozen=True)
class FlowProgress(Progress):
    """TCP flows so far: those completed, and their bytes lately as a fraction of the injection capacity."""

    seconds: float
    total_s: float
    completed: int
    flows: int
    accepted: float
    fct_p99_ms: float | None

    @property
    def fraction(self) -> float:
        """The part of the time."""
        return min(1.0, self.seconds / self.total_s)

    def __str__(self) -> str:
        return (
            f"{self.seconds:.1f} s: {self.completed} of {self.flows} flows completed, accepted "
            f"{self.accepted:.3f}, p99 {_milliseconds(self.fct_p99_ms)}{self._holding}"
        )


@dataclass(frozen=True)
class FaultsNotReached(Event):
    """Faults of the schedule that were to come after the traffic's end."""

    missed: int
    faults: int

    def __str__(self) -> str:
        return f"{self.missed} of the {self.faults} faults were to come after the traffic's end"


@dataclass(frozen=True)
class ControllerWarning(Event):
    """A warning of the controller."""

    warning: str

    def __str__(self) -> str:
        return f"the controller warns: {self.warning}"


@dataclass(frozen=True)
class Interrupted(Event):
    """The run was interrupted; the measurements until then are kept."""

    def __str__(self) -> str:
        return "interrupted; keeping what was measured"


@dataclass(frozen=True)
class IngressDrops(Event):
    """Packets that hosts may not send, dropped at their switches' ports, by the host's name."""

    packets: Mapping[str, int]

    def __str__(self) -> str:
        hosts = ", ".join(f"{host} {packets}" for host, packets in self.packets.items())
        return f"packets that hosts may not send were dropped at their switches' ports: {hosts}"


def _milliseconds(value: float | None) -> str:
    return "-" if value is None else f"{value:.3g} ms"
