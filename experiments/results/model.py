"""Typed results: the summary of a run, key by key.

`summary.json` is the dataclass Summary as JSON (`codec`): a field is a key. Keys are only ever added;
`format` counts the versions in which the meaning of a key changed.
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
    Least,
    Mean,
    Most,
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
    """Returns the mean number of hops of packets; None without any.

    Args:
        hops: number of hops -> packets that took so many.
        digits: digits behind the point.
    """
    packets = sum(hops.values())
    return round(sum(number * count for number, count in hops.items()) / packets, digits) if packets else None


def share(part: float, whole: float) -> float | None:
    """Returns a part as a fraction of the whole, as results keep it; None of nothing."""
    return round(part / whole, 6) if whole else None


@dataclass(frozen=True)
class PacketCounts:
    """Counts of packets.

    Attributes:
        sent: packets that hosts sent in the measured window, by their time of departure; one that a host's
            own full queue refuses is among them.
        received: of these, packets that arrived, however late.
        refused_by_host_queue: packets that a host's own full queue (or an interface that is down) refused, in
            the whole run with its warm-up.
        misdelivered: packets that reached another host than their destination, in the whole run.
        damaged: packets whose checks failed when they arrived, in the whole run; copies of a packet that had
            arrived are among them.
    """

    sent: Sum
    received: Sum
    refused_by_host_queue: Sum = 0
    misdelivered: Sum = 0
    damaged: Sum = 0


@dataclass(frozen=True)
class Latencies:
    """One-way latency of packets sent in the measured window, in ms; None if none arrived.

    It is the time from the handing of a packet to its host's interface until the destination's kernel has it.

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
    """Rules and groups that all switches together hold.

    Attributes:
        flows: number of rules (OpenFlow's flow entries).
        groups: number of groups.
    """

    flows: int
    groups: int


@dataclass(frozen=True)
class PairCheck:
    """Result of one probe for every ordered pair of hosts, before traffic.

    Attributes:
        pairs: number of ordered pairs.
        delivered: pairs whose probe arrived.
        repeated: pairs whose probe had to be sent more than once.
        wrong_hops: pairs whose probe took another number of hops than the routing promises.
        longest: most links between routers that a probe took.
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
    """Load of the links between routers in the measured window, each direction by itself.

    Attributes:
        load_max: highest load of a directed link; load = bits carried in the window / (link rate x
            `measured_s`), so that 1 is a link that never rested.
        load_mean: mean load of all directed links.
        jain: Jain's fairness index of the loads x of the n directed links, (sum x)^2 / (n sum x^2): 1 if all
            are equal, 1/n if one carries everything; None if nothing was carried.
        dropped_packets: packets that the full queues of links between routers dropped in the window.
        lost_packets: packets that links lost at random in the window, as asked for by `link_loss`.
    """

    load_max: Mean | None
    load_mean: Mean | None
    jain: Mean | None
    dropped_packets: Sum
    lost_packets: Sum = 0


@dataclass(frozen=True)
class Fidelity:
    """Evidence whether a result can be trusted.

    Attributes:
        valid: whether all evidence is good: true if `reasons` is empty.
        reasons: reasons for doubt, a sentence each.
        observed: share of the measured window that was observed, 0 to 1: the least of held frames, the
            processors and the queues of links; where paths change also the share of the time since the start
            of the traffic for which the controller ran. Below 0.95, or below 1 for the controller, the result
            is not valid.
        held_frame_times_max: mean time for which a switch held frames before it took them up, beyond the
            links' queues, in times of a frame on a link: of the second and the switch of the measured window
            where it was longest. None with the kernel's datapath, where it cannot be observed.
        held_frame_times_rms: root mean square of that time, of the second and the switch where it was
            largest.
        held_frame_times_mean: the same for all frames, switches and seconds of the window.
        worst_second: begin of the second of `held_frame_times_max`, in s since the start of the traffic.
        worst_switch: name of its switch.
        cpu_idle: idle share of all cores in the busiest second of the measured window, 0 to 1; not judged.
        cpu_stolen: share of all cores' time that a virtual machine's host gave to others, in the second of
            the measured window where it was most, 0 to 1.
        generator_lag_ms_p99: departure of a packet less its scheduled time, 99th percentile in ms.
        link_rate_error: measured rate of a saturated link / `link_rate_bps` - 1, of the link where it differs
            most from 0; None if no link was saturated long enough.
        links_saturated: number of directed links that were saturated (their queue held more at one reading
            than the link can send until the next) for long enough to tell their rate, 1 s at least.
        lost_outside_queues: packets that neither arrived nor were dropped by a queue of a switch or a host or
            lost as asked for, of the whole run, as a fraction of those sent.
        try_link_rate_bps: lower link rate at which this machine should keep up, in bit/s; absent if it did.
    """

    valid: All
    reasons: Texts = ()
    observed: Least | None = None
    held_frame_times_max: Most | None = None
    held_frame_times_rms: Most | None = None
    held_frame_times_mean: Most | None = None
    worst_second: float | None = None
    worst_switch: str | None = None
    cpu_idle: Least | None = None
    cpu_stolen: Most | None = None
    generator_lag_ms_p99: Most | None = None
    link_rate_error: Farthest | None = None
    links_saturated: Annotated[int, max] | None = None
    lost_outside_queues: Most | None = None
    try_link_rate_bps: Annotated[int, min] | None = omitted()

    def over_seeds(self, entries: Sequence[Fidelity]) -> Fidelity:
        """Returns the worst evidence of several seeds with the second and the switch of one of them."""
        worst = max(entries, key=lambda entry: entry.held_frame_times_max or 0.0)
        return replace(self, worst_second=worst.worst_second, worst_switch=worst.worst_switch)

    def doubted(self, *reasons: str) -> Fidelity:
        """Returns the same evidence with further reasons for doubt; valid if there is none at all."""
        every = (*self.reasons, *reasons)
        return replace(self, valid=not every, reasons=every)


@dataclass(frozen=True)
class Predicted:
    """Prediction of the fluid model for the same plan, pattern and load.

    Attributes:
        accepted: accepted fraction of the injection capacity, in the steady state.
        link_load_max: highest load that is offered to a link, as a fraction of its rate; may be over 1.
    """

    accepted: Mean
    link_load_max: Mean | None = None

    @classmethod
    def of(cls, prediction: Prediction) -> Predicted:
        """Returns a prediction as results keep it."""
        return cls(round(prediction.accepted, 6), round(float(prediction.offered_loads.max()), 6))


@dataclass(frozen=True)
class Adaptation:
    """Work of an adaptive routing's controller during a run.

    Attributes:
        occupancy: source of the occupancies, `netlink` or `port-statistics`.
        groups_modified: number of groups that it changed, each change counted.
        warnings: warnings of the controller, a sentence each.
    """

    occupancy: str | None
    groups_modified: Sum
    warnings: Texts = ()


@dataclass(frozen=True, kw_only=True)
class Summary(FabricSettings):
    """Result of a run, `summary.json`; of several replications with means, sums and worst values.

    Attributes:
        routing: name of the routing.
        pattern: traffic pattern, or collective with its algorithm; `flow-file` for flows from a file.
        endpoints: number of hosts of the fabric.
        frame_bytes: length of a frame in bytes, without FCS; of a collective and of TCP flows the longest.
        load: load that hosts were asked to send, 0 to 1 of the injection capacity (patterns only).
        duration_s: measured seconds that were asked for (patterns only).
        arrivals: arrival process: poisson, bernoulli or constant (patterns only).
        ranks: number of ranks (collectives only).
        placement: assignment of ranks to hosts (collectives only).
        slices: slices of a vector that are worked on side by side (collectives only).
        warmup_s: begin of the measured window, in seconds of the traffic.
        measured_s: length of the measured window in seconds.
        offered: bits of all frames sent in the window / (`endpoints` x `link_rate_bps` x `measured_s`), by
            their time of departure, refused ones included; None, as are `accepted` and `loss`,
            where no traffic was generated.
        accepted: bits of all frames received in the window / (`endpoints` x `link_rate_bps` x `measured_s`),
            by their time of arrival, those sent in the warm-up included.
        loss: 1 - `packets.received` / `packets.sent`: the fraction of the packets sent in the window that
            never arrived, however late. Of replications it is the mean of the seeds' losses, while
            `packets` are sums.
        packets: counts of packets.
        latency_ms: one-way latency.
        queueing_frame_times: mean time that a packet waited in queues, in times of a frame on a link: the
            mean latency less the delays of its links and less the time for which each switch on its way held
            frames (`fidelity.held_frame_times_mean`); absent where that was not observed.
        hops: number of links between routers -> packets of the window that took so many.
        hops_as_distances: whether every packet of the whole run took exactly as many links between routers as
            the distance of its two routers in the graph; None where no traffic was generated.
        out_of_order: packets of the window that arrived after a later one of their flow (RFC 4737, 3).
        bringup_s: seconds of each step of the bring-up: build, connect, install, verify. Switches connect and
            are filled while the last ones are built: connect and install are the rest after it, 0 for none.
        rules: rules and groups installed.
        verified: check of all pairs of hosts before traffic.
        links: load of the links between routers; None where queues could not be read.
        host_links: drops at the links between switches and hosts; absent where queues could not be read.
        fidelity: evidence whether the result can be trusted.
        seed: seed of the random generator.
        versions: versions of the software that produced the result.
        collective: result of a collective.
        flows: result of TCP flows. With these, `offered` and `accepted` are of the frames that carry the
            flows' bytes once; `packets`, `loss` and `hops` are of the whole run, acknowledgements included,
            `hops` and `hops_as_distances` by a random eighth of the frames; latencies are
            not measured (docs/how-to/flows.md).
        predicted: prediction of the fluid model, for oblivious routings.
        adaptation: work of the controller, for adaptive routings.
        steady: whether the throughput was steady when the window began, for `--warmup steady`.
        interrupted: true if the run was ended early; absent otherwise.
        faults: faults injected during the run.
        dropped_at_ingress: host -> packets with addresses that it may not use, dropped at its switch's port.
        programs: programs of the user, in their order.
        lines: lines that ran at the prompt, of a session only.
        background: background traffic of a session, each from its start to its end.
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
        """Whether packets were generated; if not, the traffic was that of programs alone."""
        return self.pattern not in NOT_GENERATED

    @property
    def medium(self) -> str:
        """What carried the packets, for a heading."""
        return f"{self.link_rate_bps / 1e6:g} Mbit/s links"

    @property
    def traffic(self) -> str:
        """The traffic, for a heading."""
        return f"{self.pattern} traffic" if self.generated else _NOT_GENERATED[self.pattern]

    @property
    def doubt(self) -> str:
        """What speaks against the result and what to do about it, for a heading; empty if it is valid."""
        return "" if self.fidelity.valid else f"{self.engine.doubt}{self.remedy}"

    @property
    def note(self) -> str:
        """The same as a sentence with all reasons."""
        reasons = ", ".join(self.fidelity.reasons)
        return f"The result is not valid: {reasons}{self.remedy}." if reasons else ""

    @property
    def remedy(self) -> str:
        """What to do where the machine was too slow, for the end of a message; empty if it was not."""
        searched = "--link-rate auto" if self.arrivals else ""  # for packets alone
        other = "a lower load" if self.pattern == SESSION else searched
        return rate_remedy(self.fidelity.try_link_rate_bps, other)

    def doubted(self, *reasons: str) -> Summary:
        """Returns the same result with further reasons not to trust it."""
        return replace(self, fidelity=self.fidelity.doubted(*reasons))

    def repeated(self, each: Sequence[Summary], *, interrupted: bool, **means: Any) -> Summary:
        """Returns the same result, combined from those of several seeds, with their means.

        Args:
            each: the results of the seeds.
            interrupted: whether further ones were interrupted, and do not count.
            means: fields of Replications.
        """
        whole = self.doubted(INTERRUPTED) if interrupted else self
        return replace(whole, repeat=Replications(**means))

    def of_seed(self) -> Summary:
        """Returns the same result beside those of other seeds: reasons and files name the seed's folder."""
        folder, fidelity = seed_folder(self.seed), self.fidelity
        programs = (
            replace(one, output=f"{folder}/{one.output}", errors=f"{folder}/{one.errors}")
            for one in self.programs or ()
        )
        reasons = tuple(f"seed {self.seed}: {reason}" for reason in fidelity.reasons)
        return replace(self, fidelity=replace(fidelity, reasons=reasons), programs=tuple(programs) or None)
