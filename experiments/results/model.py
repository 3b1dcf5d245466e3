"""Typed results: the summary of a run, key by key.

`summary.json` is the dataclass Summary as JSON (`codec`), each field a key. Keys are never removed; `format`
increases when the meaning of a key changes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from experiments.codec import FORMAT, omitted
from experiments.results.metrics import Engine
from experiments.results.parts.collective import CollectiveSummary
from experiments.results.parts.faults import FaultRecord
from experiments.results.parts.flows import FlowSummary
from experiments.results.parts.host_links import HostLinkSummary
from experiments.results.parts.over_seeds import (
    All,
    Counts,
    Farthest,
    Max,
    Mean,
    Min,
    Sum,
    Texts,
    joined,
)
from experiments.results.parts.programs import ProgramRecord, PromptLine, TrafficOutcome
from experiments.results.parts.replications import Replications
from experiments.results.run_directory import seed_folder
from experiments.results.text import rate_remedy
from experiments.spec.programs import NOT_GENERATED, OWN_PROGRAMS, SESSION
from experiments.spec.settings import FabricSettings

if TYPE_CHECKING:
    from experiments.theory.fluid_model import Prediction

INTERRUPTED = "it was interrupted before its end"
_NOT_GENERATED = {OWN_PROGRAMS: "own programs", SESSION: "a session"}


def mean_hops(hops: Mapping[int, int], digits: int = 4) -> float | None:
    """Returns the mean number of hops of packets; None without packets.

    Args:
        hops: number of hops -> number of packets.
        digits: number of decimal places.
    """
    packets = sum(hops.values())
    return round(sum(number * count for number, count in hops.items()) / packets, digits) if packets else None


def share(part: float, whole: float) -> float | None:
    """Returns a rounded fraction of a whole; None if the whole is 0."""
    return round(part / whole, 6) if whole else None


@dataclass(frozen=True)
class PacketCounts:
    """Counts of packets.

    Attributes:
        sent: packets that hosts sent in the measurement window, by departure time, including packets refused
            by a host's own full queue.
        received: packets sent in the measurement window that arrived, at any later time.
        refused_by_host_queue: packets refused by a host's own full queue (or an interface that is down), in
            the whole run including warm-up.
        misdelivered: packets that reached a wrong host, in the whole run.
        damaged: packets whose integrity checks failed on arrival, in the whole run, including duplicates.
    """

    sent: Sum
    received: Sum
    refused_by_host_queue: Sum = 0
    misdelivered: Sum = 0
    damaged: Sum = 0


@dataclass(frozen=True)
class Latencies:
    """One-way latency of packets sent in the measurement window, in ms; None if none arrived.

    It lasts from handing a packet to its host's interface until the destination's kernel receives it.

    Attributes:
        mean: arithmetic mean in ms.
        p50: median in ms, of a histogram whose bins are about 1 % wide.
        p99: 99th percentile in ms, of the same histogram.
        p99_9: 99.9th percentile in ms, of the same histogram.
    """

    mean: Mean | None
    p50: Mean | None
    p99: Mean | None
    p99_9: Mean | None = None


@dataclass(frozen=True)
class RuleCounts:
    """Number of rules and groups installed in all switches.

    Attributes:
        flows: number of rules (OpenFlow's flow entries).
        groups: number of groups.
    """

    flows: int
    groups: int


@dataclass(frozen=True)
class PairCheck:
    """Result of probing every ordered pair of hosts before traffic starts.

    Attributes:
        pairs: number of ordered pairs.
        delivered: pairs whose probe arrived.
        repeated: pairs whose probe had to be sent more than once.
        wrong_hops: pairs whose probe took a number of hops that the routing does not specify.
        longest: largest number of links between routers that a probe took.
        seconds: duration of the check in s.
    """

    pairs: int
    delivered: int
    repeated: int
    wrong_hops: int
    longest: int
    seconds: float = 0.0


@dataclass(frozen=True)
class LinkSummary:
    """Load of the links between routers in the measurement window, counted per direction.

    Attributes:
        load_max: highest load of a directed link; load = bits carried in the window / (link rate x
            `measured_s`); 1 means that the link was always busy.
        load_mean: mean load of all directed links.
        jain: Jain's fairness index of the loads x of the n directed links, (sum x)^2 / (n sum x^2): 1 if all
            are equal, 1/n if one carries everything; None without traffic.
        dropped_packets: packets dropped by full queues of links between routers in the window.
        lost_packets: packets that links lost at random in the window, as requested by `link_loss`.
    """

    load_max: Mean | None
    load_mean: Mean | None
    jain: Mean | None
    dropped_packets: Sum
    lost_packets: Sum = 0


@dataclass(frozen=True)
class Fidelity:
    """Evidence for the validity of a result.

    Attributes:
        valid: whether the result can be trusted: true if `reasons` is empty.
        reasons: reasons for doubt, one sentence each.
        observed: share of the judged time, 0 to 1, in which the monitors of held frames, CPU and link queues
            ran: the lowest of their shares. If paths change, the controller counts, too, with its share of
            the time since the start of traffic. The judged time begins earlier than the window, by the time
            that traffic needs to settle after a stall (docs/explanation/validity.md), and ends when the
            window's last packet has arrived or the last TCP flow has ended. Below 0.95, or below 1 for the
            controller, the result is not valid.
        held_frame_times_max: mean time that frames waited at a switch's ports before the switch processed
            them, in transmission times of a frame, for the switch and second of the judged time with the
            longest mean. Queues of links do not count. None with the kernel datapath, which does not show
            this time.
        held_frame_times_rms: root mean square of that time, for the switch and second in which it is largest.
        held_frame_times_mean: mean of that time over all frames and switches, from the start of the window to
            the end of the judged time.
        worst_second: start of the second of `held_frame_times_max`, in s since the start of traffic.
        worst_switch: name of the switch of `held_frame_times_max`.
        cpu_idle: idle share of all cores in the busiest judged second, 0 to 1; informative only.
        cpu_stolen: largest steal time in a judged second, as a share of all cores' time, 0 to 1.
        generator_lag_ms_p99: 99th percentile of the delay of packets behind their schedule, in ms, over the
            packets sent in the judged time.
        link_rate_error: measured rate of a saturated link / `link_rate_bps` - 1, for the link with the
            largest deviation; None if no link was saturated long enough.
        links_saturated: number of directed links that were saturated long enough to measure their rate, at
            least 1 s. A link is saturated while its queue has more packets at a reading than it can send
            until the next reading.
        lost_outside_queues: packets of the whole run that neither arrived, nor were dropped by a queue of a
            switch or host, nor lost as requested or to failures (`faults.lost_packets`), as a fraction of
            those sent. If hosts sent n other frames, too, up to n of the queues' drops count as drops of
            these.
        try_link_rate_bps: lower link rate that this machine should sustain, in bit/s; absent if it kept up.
    """

    valid: All
    reasons: Texts = ()
    observed: Min | None = None
    held_frame_times_max: Max | None = None
    held_frame_times_rms: Max | None = None
    held_frame_times_mean: Max | None = None
    worst_second: float | None = None
    worst_switch: str | None = None
    cpu_idle: Min | None = None
    cpu_stolen: Max | None = None
    generator_lag_ms_p99: Max | None = None
    link_rate_error: Farthest | None = None
    links_saturated: Annotated[int, max] | None = None
    lost_outside_queues: Max | None = None
    try_link_rate_bps: Annotated[int, min] | None = omitted()

    def over_seeds(self, entries: Sequence[Fidelity]) -> Fidelity:
        """Returns the combined evidence of seeds; `worst_second` and `worst_switch` are the worst seed's."""
        worst = max(entries, key=lambda entry: entry.held_frame_times_max or 0.0)
        return replace(self, worst_second=worst.worst_second, worst_switch=worst.worst_switch)

    def doubted(self, *reasons: str) -> Fidelity:
        """Returns a copy with further reasons for doubt; the copy is valid if it has no reasons."""
        every = (*self.reasons, *reasons)
        return replace(self, valid=not every, reasons=every)


@dataclass(frozen=True)
class Predicted:
    """Prediction of the fluid model for the same plan, pattern and load.

    Attributes:
        accepted: accepted load in the steady state, as a fraction of the injection capacity.
        link_load_max: highest load offered to a link, as a fraction of its rate; may exceed 1.
    """

    accepted: Mean
    link_load_max: Mean | None = None

    @classmethod
    def of(cls, prediction: Prediction) -> Predicted:
        """Converts a prediction of the fluid model to the form that results record."""
        return cls(round(prediction.accepted, 6), round(float(prediction.offered_loads.max()), 6))


@dataclass(frozen=True)
class Adaptation:
    """Actions of an adaptive routing's controller during a run.

    Attributes:
        occupancy: source of the occupancies, `netlink` or `port-statistics`.
        groups_modified: number of changes to groups.
        warnings: warnings of the controller, one sentence each.
    """

    occupancy: str | None
    groups_modified: Sum
    warnings: Texts = ()


@dataclass(frozen=True, kw_only=True)
class Summary(FabricSettings):
    """Result of a run, `summary.json`; for several replications with means, sums and worst values.

    Attributes:
        routing: name of the routing.
        pattern: traffic pattern, or collective with its algorithm; `flow-file` for flows from a file.
        endpoints: number of hosts of the fabric.
        frame_bytes: length of a frame in bytes, without FCS; for collectives and TCP flows, the maximum.
        load: requested load, 0 to 1 of the injection capacity (patterns only).
        duration_s: requested length of the measurement window in seconds (patterns only).
        arrivals: arrival process: poisson, bernoulli or constant (patterns only).
        ranks: number of ranks (collectives only).
        placement: assignment of ranks to hosts (collectives only).
        slices: slices of a vector that are processed in parallel (collectives only).
        warmup_s: start of the measurement window, in seconds since the start of traffic.
        measured_s: length of the measurement window in seconds.
        offered: bits of all frames sent in the window / (`endpoints` x `link_rate_bps` x `measured_s`), by
            departure time, including refused frames; None, like `accepted` and `loss`, if no traffic was
            generated.
        accepted: bits of all frames received in the window / (`endpoints` x `link_rate_bps` x `measured_s`),
            by arrival time, including frames sent during warm-up.
        loss: 1 - `packets.received` / `packets.sent`: the fraction of the packets sent in the window that
            never arrived. For replications, the mean of the seeds' losses, while `packets` are sums.
        packets: counts of packets.
        latency_ms: one-way latency.
        queueing_frame_times: mean queueing time of a packet, in transmission times of a frame: mean latency
            minus the delays of its links and the time that each switch on its path held frames
            (`fidelity.held_frame_times_mean`); absent if that was not observed. It may be below 0 where
            queues are empty, since the held time is the mean of all switches, not of those on the path.
        hops: number of links between routers -> packets of the window that took that many.
        hops_as_distances: whether every packet of the whole run took exactly as many links between routers as
            the distance of its two routers in the graph; None if no traffic was generated.
        out_of_order: packets of the window that arrived after a later one of their flow (RFC 4737, 3).
        bringup_s: duration in s of each step of the bring-up: build, connect, install, verify. Switches
            connect and get rules while others are still being built; connect and install count only the time
            after build and may be 0.
        rules: number of installed rules and groups.
        verified: check of all pairs of hosts before traffic.
        links: load of the links between routers; None if queues could not be read.
        host_links: drops at the links between switches and hosts; absent if queues could not be read.
        fidelity: evidence for the validity of the result.
        seed: seed of the random generator.
        versions: versions of the software that produced the result.
        collective: result of a collective.
        flows: result of TCP flows. With TCP flows, `offered` and `accepted` count frames without
            retransmissions; `packets`, `loss` and `hops` cover the whole run including acknowledgements;
            `hops` and `hops_as_distances` are from a random eighth of the frames; latencies are not measured
            (docs/how-to/flows.md).
        predicted: prediction of the fluid model, for oblivious routings.
        adaptation: actions of the controller, for adaptive routings.
        steady: whether throughput had reached a steady state at the start of the window, for
            `--warmup steady`.
        interrupted: true if the run ended early; absent otherwise.
        faults: faults injected during the run.
        dropped_at_ingress: host -> packets that it may not send (foreign source address, unknown destination,
            or not IPv4), dropped at its switch's port since the run's start.
        programs: user programs, in their order.
        lines: lines that ran at the prompt (sessions only).
        background: background traffic of a session, one entry per traffic that ran.
        repeat: means and confidence intervals over replications.
        format: version of this record's meaning.
    """

    engine: ClassVar[Engine] = Engine.EMULATION

    routing: str
    pattern: str
    endpoints: int
    frame_bytes: int
    load: float | None = omitted()
    duration_s: float | None = omitted()
    arrivals: str | None = omitted()
    ranks: int | None = omitted()
    placement: str | None = omitted()
    slices: int | None = omitted()
    warmup_s: float
    measured_s: float
    offered: Mean | None
    accepted: Mean | None
    loss: Mean | None
    packets: PacketCounts
    latency_ms: Latencies
    queueing_frame_times: Mean | None = omitted()
    hops: Counts
    hops_as_distances: All | None
    out_of_order: Sum
    bringup_s: Mapping[str, float]
    rules: RuleCounts
    verified: PairCheck
    links: LinkSummary | None = None
    host_links: HostLinkSummary | None = omitted()
    fidelity: Fidelity
    seed: int
    versions: Mapping[str, str]
    collective: CollectiveSummary | None = omitted()
    flows: FlowSummary | None = omitted()
    predicted: Predicted | None = omitted()
    adaptation: Adaptation | None = omitted()
    steady: All | None = omitted()
    interrupted: bool | None = omitted()
    faults: FaultRecord | None = omitted()
    dropped_at_ingress: Mapping[str, int] | None = omitted()
    programs: Annotated[tuple[ProgramRecord, ...], joined] | None = omitted()
    lines: tuple[PromptLine, ...] | None = omitted()
    background: tuple[TrafficOutcome, ...] | None = omitted()
    repeat: Replications | None = omitted()
    format: int = FORMAT

    @property
    def hops_mean(self) -> float | None:
        """Mean number of links between routers that packets of the window took; None if none arrived."""
        return mean_hops(self.hops)

    @property
    def reordered(self) -> float | None:
        """`out_of_order` as a fraction of the packets that arrived; None if none did."""
        received = self.packets.received
        return round(self.out_of_order / received, 6) if received else None

    @property
    def generated(self) -> bool:
        """Whether packets were generated; otherwise all traffic came from programs."""
        return self.pattern not in NOT_GENERATED

    @property
    def medium(self) -> str:
        """The rate of the links in words, for a heading."""
        return f"{self.link_rate_bps / 1e6:g} Mbit/s links"

    @property
    def traffic(self) -> str:
        """The traffic in words, for a heading."""
        return f"{self.pattern} traffic" if self.generated else _NOT_GENERATED[self.pattern]

    @property
    def doubt(self) -> str:
        """The doubt about the result and its remedy, for a heading; empty if the result is valid."""
        return "" if self.fidelity.valid else f"{self.engine.doubt}{self.remedy}"

    @property
    def note(self) -> str:
        """A sentence with all reasons for doubt; empty if there are none."""
        reasons = ", ".join(self.fidelity.reasons)
        return f"The result is not valid: {reasons}{self.remedy}." if reasons else ""

    @property
    def remedy(self) -> str:
        """A remedy for a slow machine, as the end of a message; empty if the machine kept up."""
        searched = "--link-rate auto" if self.arrivals else ""  # only packets support it
        other = "a lower load" if self.pattern == SESSION else searched
        return rate_remedy(self.fidelity.try_link_rate_bps, other)

    def doubted(self, *reasons: str) -> Summary:
        """Returns a copy with further reasons for doubt."""
        return replace(self, fidelity=self.fidelity.doubted(*reasons))

    def repeated(self, each: Sequence[Summary], *, interrupted: bool, **means: Any) -> Summary:
        """Returns a copy of this combined result with means over several seeds.

        Args:
            each: the results of the seeds.
            interrupted: whether further replications were interrupted and are excluded.
            means: fields of Replications.
        """
        whole = self.doubted(INTERRUPTED) if interrupted else self
        return replace(whole, repeat=Replications(**means))

    def of_seed(self) -> Summary:
        """Returns a copy that can be combined with results of other seeds.

        In the copy, reasons for doubt name the seed, and paths of programs' output include its folder.
        """
        folder, fidelity = seed_folder(self.seed), self.fidelity
        programs = (
            replace(one, output=f"{folder}/{one.output}", errors=f"{folder}/{one.errors}")
            for one in self.programs or ()
        )
        reasons = tuple(f"seed {self.seed}: {reason}" for reason in fidelity.reasons)
        return replace(self, fidelity=replace(fidelity, reasons=reasons), programs=tuple(programs) or None)
