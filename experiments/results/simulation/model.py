"""Typed results of simulations: manifest and summary, key by key; keys have the same names as in runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, Self

from experiments.codec import FORMAT, omitted
from experiments.results.manifest import Origin
from experiments.results.metrics import Engine
from experiments.results.model import Predicted, RuleCounts, mean_hops
from experiments.results.parts.over_seeds import All, Counts, Max, Mean, Sum, total
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
        hosts: p, the number of hosts attached to each router that has any; for a graph with its own hosts
            (`--from`, networkx), the factor by which their numbers are multiplied.
        routing: name of the routing.
        ordered_repair: whether fast reroute follows an order of channels, so that failures cause no cyclic
            dependency between channels.
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
    """Requested settings of a simulation's traffic.

    Attributes:
        pattern: traffic pattern, collective or motif; `trace` for a trace of messages.
        load: offered load, 0 to 1 of the injection capacity; null for applications.
        arrivals: arrival process: poisson, bernoulli or constant; null for applications.
        seed: seed of the random generator.
        warmup_cycles: length of the warm-up in cycles; null if it lasts until the steady state, and for
            applications.
        window_cycles: length of the window in cycles; null for applications, which are measured as a whole.
        faults: fault schedule, one line per fault, times in cycles.
        faults_asked: requested random failures, from which the fault schedule was drawn.
        replan_cycles: cycles from a fault until switches have the controller's new plan; `none` for never;
            absent without faults.
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
        sent: packets that were injected in the window.
        received: packets injected in the window that arrived before the simulation ended.
        dropped: packets injected in the window that were dropped by a full queue or a router without a rule,
            or lost with a failed link or router.
        under_way: packets injected in the window that were still in a queue when the simulation ended.
        arrived: packets that arrived in the window, including packets injected during warm-up.
    """

    sent: Sum
    received: Sum
    dropped: Sum
    under_way: Sum
    arrived: Sum


@dataclass(frozen=True)
class SimulatedLatencies:
    """Latency of received packets, from entering the source queue to arrival of the tail flit.

    With `--flow-control drop`, it ends with the arrival of the first bit, as in the emulation.

    Attributes:
        mean: arithmetic mean; None, like the others, if no packets arrived.
        p50: median, of a histogram whose bins are about 1 % wide.
        p99: 99th percentile, of the same histogram.
        p99_9: 99.9th percentile, of the same histogram.
        max: maximum.
    """

    mean: Mean | None
    p50: Mean | None
    p99: Mean | None
    p99_9: Mean | None = None
    max: Max | None = None


@dataclass(frozen=True)
class SimulatedLinks:
    """Load of the links between routers in the window, counted per direction.

    Attributes:
        load_max: highest load of a directed link; load = flits carried in the window / `measured_cycles`;
            1 is a link that was always busy.
        load_mean: mean load of all directed links.
        jain: Jain's fairness index of the loads x of the n directed links, (sum x)^2 / (n sum x^2): 1 if all
            are equal, 1/n if one carries everything; None without traffic.
        dropped_packets: packets injected in the window that were dropped by a full queue or a router without
            a rule, or lost with a failed link or router.
    """

    load_max: Mean | None
    load_mean: Mean | None
    jain: Mean | None
    dropped_packets: Sum


@dataclass(frozen=True)
class DeadlockRecord:
    """Deadlock that ended the simulation: packets that wait for one another in a cycle.

    Attributes:
        cycle: simulated cycle in which the deadlock was detected.
        waiting: number of packets that can never move.
        arrived: number of packets that had arrived by then, since the first cycle.
        circle: interface of each link in the cyclic dependency; packets of each link wait for buffer space at
            the next one.
        channels: virtual channel of each of these links.
    """

    cycle: int
    waiting: int
    arrived: int
    circle: tuple[str, ...]
    channels: tuple[int, ...]

    @property
    def text(self) -> str:
        """A description of the deadlock in one line."""
        steps = [f"{name} (channel {c})" for name, c in zip(self.circle, self.channels, strict=True)]
        dependency = f": {' -> '.join([*steps, steps[0]])}" if steps else ""
        counts = f"{self.waiting} packets wait for one another, {self.arrived} had arrived"
        return f"deadlock in cycle {self.cycle}: {counts}{dependency}"


@dataclass(frozen=True)
class BatchInterval(Interval):
    """Mean over the batches of a window, and its confidence interval (Student's t).

    Attributes:
        mean: arithmetic mean of the batches.
        ci95: half the width of the 95 % confidence interval of the mean; null if the window is too short for
            ten nearly independent batches.
        values: mean of each batch.
        batch_cycles: length of a batch in cycles.
        autocorrelation: lag-1 autocorrelation of the batches; `ci95` needs at most 0.2; null if all batches
            are equal.
    """

    batch_cycles: int
    autocorrelation: float | None


@dataclass(frozen=True, kw_only=True)
class BatchMeans:
    """Means over 10 to 30 batches of the window, each with its confidence interval.

    Attributes:
        accepted: accepted load of a batch, by arrivals in it.
        latency_mean_cycles: mean latency in cycles of the packets that arrived in a batch.
        queueing_frame_times: mean queueing time of these packets, in transmission times of a packet.
    """

    accepted: BatchInterval | None
    latency_mean_cycles: BatchInterval | None
    queueing_frame_times: BatchInterval | None

    @property
    def unknown(self) -> tuple[str, ...]:
        """The names of means without an interval."""
        return tuple(name for name, entry in vars(self).items() if entry is None or entry.ci95 is None)


@dataclass(frozen=True, kw_only=True)
class SimulationSummary(SimulatedSettings):
    """Result of a simulation, `summary.json`.

    Attributes:
        pattern: traffic pattern, collective or motif; `trace` for a trace of messages.
        endpoints: number of hosts of the fabric.
        load: requested load, 0 to 1 of the injection capacity; null for applications.
        arrivals: arrival process: poisson, bernoulli or constant; null for applications.
        warmup_cycles: start of the window in cycles.
        measured_cycles: length of the window in cycles; shorter than requested if the simulation ended early.
        cycles: all simulated cycles: warm-up, window, and the drain until the window's packets had arrived.
        offered: flits of packets injected in the window / (`endpoints` x `measured_cycles`).
        accepted: flits of packets that arrived in the window / (`endpoints` x `measured_cycles`), including
            packets injected during warm-up.
        loss: `packets.dropped` / `packets.sent`; 0 with credit flow control and without faults.
        packets: counts of packets.
        stable: whether the load is stable: at least 0.99 of `offered` is accepted (or the difference can be
            chance), at most 0.01 is dropped, the mean latency is below 500 cycles, and there is no deadlock;
            null for applications, which have no offered load.
        steady: whether a steady state was reached at the start of the window, for `--warmup steady`.
        latency_ms: null; simulated latencies are in cycles.
        latency_cycles: latency in cycles.
        latency_frame_times: latency in transmission times of a packet.
        queueing_frame_times: mean queueing time of a packet, in transmission times of a packet.
        hops: number of links between routers -> packets of the window that took that many.
        detoured: share of `packets.received` that took a detour chosen by an adaptive routing.
        links: load of the links between routers.
        rules: number of rules and groups of the plan.
        deadlock: deadlock that ended the simulation; null without one.
        faults: faults during the simulation.
        bringup_s: duration in s of each step before packets are simulated: plan, its proof (verify), tables.
        packet_hops: how often packets crossed links between routers, over all cycles.
        seconds: wall-clock time in s that the simulation of packets took.
        seed: seed of the random generator.
        versions: versions of the software that produced the result.
        predicted: prediction of the fluid model, for oblivious routings on fabrics of up to 1,024 hosts.
        collective: completion of a collective or a motif.
        trace: completion of the messages of a trace.
        batches: means over batches of the window with their confidence intervals, for a single simulation;
            absent for applications, with faults, and if the window ended before ten of its thirty periods.
        repeat: means over replications with their confidence intervals; absent for a single simulation. Other
            keys then have these means, sums of counts, or in `stable` whether all replications are stable.
        interrupted: true if the simulation ended early; absent otherwise.
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
    latency_cycles: SimulatedLatencies
    latency_frame_times: SimulatedLatencies
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
        """Completion of the application; None for synthetic packets."""
        return self.collective or self.trace

    @property
    def medium(self) -> str:
        """The kind of simulated routers in words, for a heading."""
        return f"simulated ({self.routers.flow_control})"

    @property
    def traffic(self) -> str:
        """The traffic in words, for a heading."""
        return self.pattern if self.load is None else f"{self.pattern} traffic at {self.load:g}"

    @property
    def doubt(self) -> str:
        """The doubt about the result, for a heading; empty if there is none."""
        return "deadlock" if self.deadlock else self.engine.doubt if self.stable is False else ""

    @property
    def note(self) -> str:
        """A sentence on the doubt about the result; empty if there is none."""
        if self.deadlock:
            return f"The simulation ended in a {self.deadlock.text}."
        return "The result is not stable: the network is saturated." if self.doubt else ""

    def repeated(self, each: Sequence[SimulationSummary], *, interrupted: bool, **means: Any) -> Self:
        """Returns a copy of this combined result with means over several seeds.

        Args:
            each: the results of the seeds.
            interrupted: whether further replications were interrupted and are excluded.
            means: fields of SimulatedReplications.
        """
        stable = sum(bool(one.stable) for one in each)
        return replace(self, repeat=SimulatedReplications(stable=stable, **means), batches=None)

    def of_seed(self) -> SimulationSummary:
        """Returns this summary unchanged, for `combine`: it has no text that would have to name the seed."""
        return self
