"""Typed results: the summary of a run, key by key.

`summary.json` is the dataclass Summary as JSON (`codec`): a field is a key. Keys are only ever added;
`format` counts the versions in which the meaning of a key changed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from experiments.codec import FORMAT, omitted
from experiments.results.parts.collective import CollectiveSummary
from experiments.results.parts.faults import FaultRecord
from experiments.results.parts.replications import Replications
from experiments.spec.settings import FabricSettings


@dataclass(frozen=True)
class PacketCounts:
    """Packets of the measured window.

    Attributes:
        sent: packets that hosts sent.
        received: of these, packets that arrived.
        refused_by_host_queue: packets that a host's own full queue refused.
        misdelivered: packets that reached another host than their destination.
        damaged: packets whose checks failed.
    """

    sent: int
    received: int
    refused_by_host_queue: int = 0
    misdelivered: int = 0
    damaged: int = 0


@dataclass(frozen=True)
class Latencies:
    """One-way latency of packets sent in the measured window, in ms; None if none arrived.

    Attributes:
        mean: arithmetic mean.
        p50, p99, p99_9: quantiles of 50, 99 and 99.9 %.
    """

    mean: float | None
    p50: float | None
    p99: float | None
    p99_9: float | None = None


@dataclass(frozen=True)
class RuleCounts:
    """Rules and groups that all switches together hold."""

    flows: int
    groups: int


@dataclass(frozen=True)
class PairCheck:
    """Result of one probe for every ordered pair of hosts, before traffic.

    Attributes:
        pairs: number of ordered pairs.
        delivered: probes that arrived.
        repeated: probes that were sent more than once.
        wrong_hops: pairs whose probe took other numbers of hops than the routing promises.
        longest: most hops of a probe.
        seconds: duration of the check.
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
        load_max, load_mean: highest and mean load, as fractions of the link rate.
        jain: Jain's fairness index of the loads, 1 / links to 1; None if nothing was carried.
        dropped_packets: packets that the links' full queues dropped.
        lost_packets: packets that links lost at random, as asked for by `link_loss`.
    """

    load_max: float | None
    load_mean: float | None
    jain: float | None
    dropped_packets: int
    lost_packets: int = 0


@dataclass(frozen=True)
class Fidelity:
    """Evidence whether a result can be trusted.

    Attributes:
        valid: whether all evidence is good.
        reasons: reasons for doubt, a sentence each.
        cpu_idle: least idle share of the CPU in a second of the measured window, 0 to 1.
        generator_lag_ms_p99: lateness of the sender, 99th percentile in ms.
        link_rate_error: real rate of the worst saturated link over the asked rate, less one.
        links_saturated: number of links that were saturated long enough to tell their rate.
        lost_outside_queues: fraction of the packets that neither arrived nor were dropped by a queue.
    """

    valid: bool
    reasons: tuple[str, ...] = ()
    cpu_idle: float | None = None
    generator_lag_ms_p99: float | None = None
    link_rate_error: float | None = None
    links_saturated: int | None = None
    lost_outside_queues: float | None = None

    def doubted(self, *reasons: str) -> Fidelity:
        """Returns the same evidence with further reasons for doubt; valid if there is none at all."""
        every = (*self.reasons, *reasons)
        return replace(self, valid=not every, reasons=every)


@dataclass(frozen=True)
class Predicted:
    """Prediction of the fluid model for the same plan, pattern and load.

    Attributes:
        accepted: accepted fraction of the injection capacity.
        link_load_max: highest load that is offered to a link, as a fraction of its rate; may be over 1.
    """

    accepted: float
    link_load_max: float | None = None


@dataclass(frozen=True)
class Adaptation:
    """Work of an adaptive routing's controller during a run.

    Attributes:
        occupancy: source of the occupancies, `netlink` or `port-statistics`.
        groups_modified: changes of groups.
        warnings: warnings of the controller.
    """

    occupancy: str | None
    groups_modified: int
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Summary(FabricSettings):
    """Result of a run, `summary.json`; of several replications with means, sums and worst values.

    Attributes:
        routing: name of the routing.
        pattern: traffic pattern, or collective with its algorithm.
        endpoints: number of hosts of the fabric.
        frame_bytes: length of a frame in bytes, without FCS; of a collective the longest.
        load: offered load that was asked for, 0 to 1 of the injection capacity (patterns only).
        duration_s: measured seconds that were asked for (patterns only).
        arrivals: arrival process: poisson, bernoulli or constant (patterns only).
        ranks, placement, slices: of a collective only.
        warmup_s: seconds before the measured window.
        measured_s: length of the measured window in seconds.
        offered: bytes sent in the window, as a fraction of all hosts' injection capacity.
        accepted: bytes received in the window, as a fraction of all hosts' injection capacity.
        loss: fraction of the packets sent in the window that never arrived.
        packets: counts of packets.
        latency_ms: one-way latency.
        hops: number of links between routers -> packets of the window that took so many.
        hops_as_distances: whether every packet took exactly as many hops as the graph's distance.
        out_of_order: packets that arrived after a later one of their flow (RFC 4737).
        bringup_s: seconds of each step of the bring-up: build, connect, install, verify.
        rules: rules and groups installed.
        verified: check of all pairs of hosts before traffic.
        links: load of the links between routers; None where queues could not be read.
        fidelity: evidence whether the result can be trusted.
        seed: seed of the random generator.
        versions: versions of the software that produced the result.
        collective: result of a collective.
        predicted: prediction of the fluid model, for oblivious routings.
        adaptation: work of the controller, for adaptive routings.
        steady: whether the throughput was steady when the window began, for `--warmup steady`.
        interrupted: true if the run was ended early; absent otherwise.
        faults: faults injected during the run.
        dropped_at_ingress: packets that hosts may not send, dropped at their ports, by host.
        repeat: means and confidence intervals over replications.
        format: version of this record's meaning.
    """

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
    offered: float | None
    accepted: float | None
    loss: float | None
    packets: PacketCounts
    latency_ms: Latencies
    hops: Mapping[int, int]
    hops_as_distances: bool
    out_of_order: int
    bringup_s: Mapping[str, float]
    rules: RuleCounts
    verified: PairCheck
    links: LinkSummary | None = None
    fidelity: Fidelity
    seed: int
    versions: Mapping[str, str]
    collective: CollectiveSummary | None = omitted()
    predicted: Predicted | None = omitted()
    adaptation: Adaptation | None = omitted()
    steady: bool | None = omitted()
    interrupted: bool | None = omitted()
    faults: FaultRecord | None = omitted()
    dropped_at_ingress: Mapping[str, int] | None = omitted()
    repeat: Replications | None = omitted()
    format: int = FORMAT

    @property
    def hops_mean(self) -> float | None:
        """Mean number of links between routers that packets of the window took; None if none arrived."""
        packets = sum(self.hops.values())
        taken = sum(hops * count for hops, count in self.hops.items())
        return round(taken / packets, 4) if packets else None

    def doubted(self, *reasons: str) -> Summary:
        """Returns the same result with further reasons not to trust it."""
        return replace(self, fidelity=self.fidelity.doubted(*reasons))
