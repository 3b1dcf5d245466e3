"""Typed results of simulations: manifest and summary, key by key; those of runs have the same names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, Self

from experiments.codec import FORMAT, omitted
from experiments.results.manifest import Origin
from experiments.results.metrics import Engine
from experiments.results.model import Predicted, RuleCounts, mean_hops
from experiments.results.parts.over_seeds import All, Counts, Mean, Most, Sum, total
from experiments.results.parts.replications import Interval, SimulatedReplications
from experiments.results.simulation.application_model import (
    ApplicationSettings,
    SimulatedCollective,
    SimulatedMessages,
)
from experiments.results.simulation.faults import SimulatedFaultRecord
from experiments.spec.simulation.model import RouterRecord
from topology.parameters import Value


@dataclass(frozen=True, kw_only=True)
class SimulatedSettings:
    """Settings of a simulated fabric that its results depend on.

    Attributes:
        name: family of the topology, as on the command line.
        params: parameters of the topology.
        hosts: p, hosts attached to each router that has any; of a graph with hosts of its own (`--from`,
            networkx), the factor of their numbers.
        routing: name of the routing.
        ordered_repair: whether fast reroute keeps to an order of channels, so that failures bring no circle.
        routers: settings of routers and links.
    """

    name: str
    params: Mapping[str, Value]
    hosts: int
    routing: str
    ordered_repair: bool = False
    routers: RouterRecord


@dataclass(frozen=True, kw_only=True)
class SimulatedTrafficSettings(ApplicationSettings):
    """Settings of the traffic of a simulation, as asked for.

    Attributes:
        pattern: traffic pattern; or collective or motif; `trace` for a trace of messages.
        load: offered load, 0 to 1 of the injection capacity; null for applications.
        arrivals: arrival process: poisson, bernoulli or constant; null for applications.
        seed: seed of the random generator.
        warmup_cycles: cycles before the window; null where it began once the state was steady, and for
            applications.
        window_cycles: cycles of the window; null for applications, whose window is all of the simulation.
        faults: fault schedule, a line for each fault, times in cycles.
        faults_asked: random failures from which the fault schedule was drawn.
        replan_cycles: cycles from a fault until switches have the controller's plan for it; `none` if they
            never do; absent without faults.
    """

    pattern: str
    load: float | None
    arrivals: str | None
    seed: int
    warmup_cycles: int | None
    window_cycles: int | None
    faults: tuple[str, ...] | None = omitted()
    faults_asked: str | None = omitted()
    replan_cycles: int | str | None = omitted()


@dataclass(frozen=True, kw_only=True)
class SimulationManifest(Origin, SimulatedSettings):
    """Manifest of a simulation.

    Attributes:
        traffic: settings of the traffic.
    """

    traffic: SimulatedTrafficSettings


@dataclass(frozen=True, kw_only=True)
class SimulatedPackets:
    """Counts of packets.

    Attributes:
        sent: packets that were born in the window.
        received: of these, packets that arrived before the simulation's end.
        dropped: of these, packets that a full queue, or a router without a rule for them, dropped, or that
            were lost with their link or router.
        under_way: of these, packets that were still in a queue at the simulation's end.
        arrived: packets that arrived in the window, those born in the warm-up included.
    """

    sent: Sum
    received: Sum
    dropped: Sum
    under_way: Sum
    arrived: Sum


@dataclass(frozen=True)
class Latencies:
    """Latency of the received packets, from birth in the source's queue to the arrival of the tail.

    With queues that drop, it ends with the arrival of the first bit, as in the emulation.

    Attributes:
        mean: arithmetic mean; None, as are the others, if none arrived.
        p50: median, of a histogram whose bins are about 1 % wide.
        p99: 99th percentile, of the same histogram.
        p99_9: 99.9th percentile, of the same histogram.
        max: the longest.
    """

    mean: Mean | None
    p50: Mean | None
    p99: Mean | None
    p99_9: Mean | None = None
    max: Most | None = None


@dataclass(frozen=True)
class SimulatedLinks:
    """Load of the links between routers in the window, each direction by itself.

    Attributes:
        load_max: highest load of a directed link; load = flits that it passed in the window /
            `measured_cycles`, so that 1 is a link that never rested.
        load_mean: mean load of all directed links.
        jain: Jain's fairness index of the loads x of the n directed links, (sum x)^2 / (n sum x^2): 1 if all
            are equal, 1/n if one carries everything; None if nothing was carried.
        dropped_packets: packets born in the window that full queues dropped, or routers without a rule, or
            that were lost with their link or router.
    """

    load_max: Mean | None
    load_mean: Mean | None
    jain: Mean | None
    dropped_packets: Sum


@dataclass(frozen=True)
class DeadlockRecord:
    """Packets that wait for one another in a circle, which ended the simulation.

    Attributes:
        cycle: cycle in which the circle was found.
        waiting: packets that can never move.
        arrived: packets that had arrived until then, since the first cycle.
        circle: interface of each link of the circle whose packets wait for room at the next one.
        channels: virtual channel of each.
    """

    cycle: int
    waiting: int
    arrived: int
    circle: tuple[str, ...]
    channels: tuple[int, ...]

    @property
    def text(self) -> str:
        """The deadlock in words, in a line."""
        steps = [f"{name} (channel {c})" for name, c in zip(self.circle, self.channels, strict=True)]
        circle = f": {' -> '.join([*steps, steps[0]])}" if steps else ""
        counts = f"{self.waiting} packets wait for one another, {self.arrived} had arrived"
        return f"deadlock in cycle {self.cycle}: {counts}{circle}"


@dataclass(frozen=True)
class BatchInterval(Interval):
    """Mean over the batches of a window with its confidence interval (Student's t).

    Attributes:
        mean: arithmetic mean of the batches.
        ci95: half the width of the 95 % confidence interval of the mean; null if the window is too short for
            ten batches that are nearly independent.
        values: mean of each batch.
        batch_cycles: length of a batch in cycles.
        autocorrelation: lag-1 autocorrelation of the batches, with which `ci95` is known up to 0.2; null if
            all batches are equal.
    """

    batch_cycles: int
    autocorrelation: float | None


@dataclass(frozen=True, kw_only=True)
class BatchMeans:
    """Means over batches of the window, 10 to 30 of them, each with its confidence interval.

    Attributes:
        accepted: as in the summary of a simulation, of the packets that arrived in a batch.
        latency_mean_cycles: mean latency in cycles of the packets that arrived in a batch.
        queueing_frame_times: mean time that these waited in queues, in times of a packet on a link.
    """

    accepted: BatchInterval | None
    latency_mean_cycles: BatchInterval | None
    queueing_frame_times: BatchInterval | None

    @property
    def unknown(self) -> tuple[str, ...]:
        """The means whose intervals are not known."""
        return tuple(name for name, entry in vars(self).items() if entry is None or entry.ci95 is None)


@dataclass(frozen=True, kw_only=True)
class SimulationSummary(SimulatedSettings):
    """Result of a simulation, `summary.json`.

    Attributes:
        pattern: traffic pattern; or collective or motif; `trace` for a trace of messages.
        endpoints: number of hosts of the fabric.
        load: load that hosts were asked to send, 0 to 1 of the injection capacity; null for applications.
        arrivals: arrival process: poisson, bernoulli or constant; null for applications.
        warmup_cycles: begin of the window, in cycles.
        measured_cycles: length of the window in cycles; shorter than asked for if the simulation ended early.
        cycles: all simulated cycles: warm-up, window, and the drain until the window's packets had arrived.
        offered: flits of the packets that were born in the window / (`endpoints` x `measured_cycles`).
        accepted: flits of the packets that arrived in the window / (`endpoints` x `measured_cycles`), those
            born in the warm-up included.
        loss: `packets.dropped` / `packets.sent`; 0 with flow control by credits and without faults.
        packets: counts of packets.
        stable: whether the network carries the load: at least 0.99 of `offered` is accepted (or so much that
            chance explains the rest), the mean latency is under 500 cycles, and there was no deadlock; null
            for applications, which send when they can.
        steady: whether the state was steady when the window began, for `--warmup steady`.
        latency_ms: null; simulated latencies are in cycles.
        latency_cycles: latency in cycles.
        latency_frame_times: latency in times of a packet on a link.
        queueing_frame_times: mean time that a packet waited in queues, in times of a packet on a link.
        hops: number of links between routers -> packets of the window that took so many.
        detoured: share of `packets.received` that took a detour, as an adaptive routing chose.
        links: load of the links between routers.
        rules: rules and groups of the plan.
        deadlock: deadlock that ended the simulation; null without one.
        faults: faults during the simulation.
        bringup_s: seconds of each step before the packets: plan, its proof (verify), tables.
        packet_hops: packets that passed a link between routers, over all cycles.
        seconds: wall time in which packets were simulated.
        seed: seed of the random generator.
        versions: versions of the software that produced the result.
        predicted: prediction of the fluid model, for oblivious routings on fabrics of up to 1,024 hosts.
        collective: completion of a collective or a motif.
        trace: completion of the messages of a trace.
        batches: means over batches of the window with their confidence intervals, of a single simulation;
            absent of applications, with faults, and where the window ended before ten of its thirty periods.
        repeat: means over replications with their confidence intervals, which the other keys repeat; counts
            are sums, `stable` tells whether all are. Absent of a single simulation.
        interrupted: true if the simulation was ended early; absent otherwise.
        format: version of this record's meaning.
    """

    engine: ClassVar[Engine] = Engine.SIMULATION

    pattern: str
    endpoints: int
    load: float | None
    arrivals: str | None
    warmup_cycles: int
    measured_cycles: int
    cycles: int
    offered: Mean
    accepted: Mean
    loss: Mean | None
    packets: SimulatedPackets
    stable: All | None
    steady: All | None = omitted()
    latency_ms: None = None
    latency_cycles: Latencies
    latency_frame_times: Latencies
    queueing_frame_times: Mean | None
    hops: Counts
    detoured: Mean | None
    links: SimulatedLinks
    rules: RuleCounts
    deadlock: DeadlockRecord | None = None
    faults: SimulatedFaultRecord | None = omitted()
    bringup_s: Mapping[str, float]
    packet_hops: Sum
    seconds: Annotated[float, total]
    seed: int
    versions: Mapping[str, str]
    predicted: Predicted | None = omitted()
    collective: SimulatedCollective | None = omitted()
    trace: SimulatedMessages | None = omitted()
    batches: BatchMeans | None = omitted()
    repeat: SimulatedReplications | None = omitted()
    interrupted: bool | None = omitted()
    format: int = FORMAT

    @property
    def hops_mean(self) -> float | None:
        """Mean number of links between routers that received packets took; None if none arrived."""
        return mean_hops(self.hops)

    @property
    def deadlocked(self) -> bool:
        """Whether a deadlock ended the simulation."""
        return self.deadlock is not None

    @property
    def application(self) -> SimulatedCollective | SimulatedMessages | None:
        """Completion of the application; None where packets were drawn."""
        return self.collective or self.trace

    @property
    def medium(self) -> str:
        """What carried the packets, for a heading."""
        return f"simulated ({self.routers.flow_control})"

    @property
    def traffic(self) -> str:
        """The traffic, for a heading."""
        return self.pattern if self.load is None else f"{self.pattern} traffic at {self.load:g}"

    @property
    def doubt(self) -> str:
        """What speaks against the result, for a heading; empty if the network carries the load."""
        return "deadlock" if self.deadlock else self.engine.doubt if self.stable is False else ""

    @property
    def note(self) -> str:
        """The same as a sentence."""
        if self.deadlock:
            return f"The simulation ended in a {self.deadlock.text}."
        return "The network does not carry the load: the result is not stable." if self.doubt else ""

    def repeated(self, each: Sequence[SimulationSummary], *, interrupted: bool, **means: Any) -> Self:
        """Returns the same result, combined from those of several seeds, with their means.

        Args:
            each: the results of the seeds.
            interrupted: whether further ones were interrupted, and do not count.
            means: fields of SimulatedReplications.
        """
        stable = sum(bool(one.stable) for one in each)
        return replace(self, repeat=SimulatedReplications(stable=stable, **means), batches=None)

    def of_seed(self) -> SimulationSummary:
        """Returns the same result beside those of other seeds."""
        return self
