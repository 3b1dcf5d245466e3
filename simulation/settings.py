"""Settings of a simulation: routers and links, routing decisions, phase lengths, and the workload."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from topology.errors import ParameterError
from traffic.workload.patterns import Pattern
from traffic.workload.schedule import Schedule

FlowControl = Literal["credit", "drop"]
ChannelPolicy = Literal["hop", "class", "any", "random", "free", "level"]
Arbitration = Literal["round-robin", "random"]
# How a source router chooses between minimal and non-minimal paths; see `Decision`.
DecisionLaw = Literal["minimal", "threshold", "product", "piggyback", "buckets"]
Neighbour = Literal["least-occupied", "random"]
ThresholdBuffer = Literal["channel", "port"]

_DROP_TICKS = 16  # ticks per cycle with flow control `drop`


@dataclass(frozen=True, kw_only=True)
class RouterSettings:
    """Settings of routers and links. Settings marked (credit) or (drop) apply to that flow control only.

    Attributes:
        flow_control: `credit` for lossless input-queued routers with virtual channels and virtual
            cut-through; `drop` for tail-drop output queues like those of the emulation.
        packet_flits: flits per packet, 1 to 64; a link passes one flit per cycle.
        channels: virtual channels per port, 1 to 16 (credit).
        buffer_flits: capacity of each virtual channel's buffer in flits (credit).
        speedup: flits that the crossbar passes per cycle, 1 to 4 (credit).
        channel_policy: selection of the virtual channel for the next hop: the number of hops so far (`hop`),
            one class of channels before the intermediate router and one after it (`class`), the channel with
            the most free room (`any`), a random one of those with room (`free`) or of all (`random`), or the
            place in hierarchical paths (`level`): twice the number of intermediate routers passed, plus 1
            after a global link (credit).
        arbitration: order in which inputs and channels are granted outputs (credit).
        router_cycles: pipeline delay: cycles from a head's arrival at a router to its earliest departure.
        link_cycles: delay of a link between routers; with `global_link_cycles`, of a link within a cluster.
        global_link_cycles: delay of a link between clusters of routers, or to a router outside all clusters;
            None to use `link_cycles`.
        host_link_cycles: delay of a link between a router and a host.
        credit_cycles: delay of a credit in addition to the link's (credit).
        queue_packets: capacity of an output queue in packets (drop).
        burst_packets: depth of a link's token bucket: packets that an idle link sends at once, at least 1
            (drop).
    """

    flow_control: FlowControl = "credit"
    packet_flits: int = 4
    channels: int = 4
    buffer_flits: int = 32
    speedup: int = 2
    channel_policy: ChannelPolicy = "hop"
    arbitration: Arbitration = "round-robin"
    router_cycles: int = 2
    link_cycles: int = 1
    global_link_cycles: int | None = None
    host_link_cycles: int = 1
    credit_cycles: int = 2
    queue_packets: int = 32
    burst_packets: float = 2.0

    @property
    def ticks(self) -> int:
        """Ticks per cycle: internal steps of a router (credit), or the resolution of times (drop)."""
        return self.speedup if self.flow_control == "credit" else _DROP_TICKS

    @property
    def longest_link_cycles(self) -> int:
        """Delay of the longest link between routers, in cycles."""
        return max(self.link_cycles, self.global_link_cycles or 0)

    @property
    def latency_units(self) -> int:
        """Units per cycle in which latencies are summed: 1 with flow control credit, `ticks` with drop."""
        return 1 if self.flow_control == "credit" else self.ticks


@dataclass(frozen=True, kw_only=True)
class Decision:
    """Decision law of the source routers: how they choose between minimal paths and detours.

    Laws decide for every packet; only `buckets` decides for every flow.

    Attributes:
        law: `minimal` never takes a detour. `threshold` (UGAL_PF) takes the minimal path unless the occupancy
            of its output exceeds `threshold`, then a random detour through the port that `neighbour` names.
            `product` (UGAL) takes the path with the smallest product of occupancy and hops among the minimal
            path and `candidates` random detours. `piggyback` does the same among paths whose first global
            link is not congested, if there are any. `buckets` hashes flows to the buckets of the plan's
            groups, which the control law of the plan's routing algorithm re-points
            (`simulation.bucket_loop`).
        threshold: occupancy as a share of `buffer` (credit) or of a queue (drop), above 0 (law `threshold`).
        neighbour: the port of detours: the least occupied one, or a random one (law `threshold`).
        buffer: the buffer that `threshold` is a share of: that of one virtual channel, or of a whole port
            (credit, law `threshold`).
        candidates: random detours to compare, 1 to 16 (product, piggyback).
        whole_path: whether `product` sums the occupancies of all queues on a path (UGAL-G) instead of using
            that of the first queue.
        margin: at least 0; a global link counts as congested if its occupancy exceeds twice the mean of its
            router's global links plus this share of one virtual channel's buffer (piggyback).
        period: cycles between two steps of the control law, at least 1 (buckets).
        flows: flows per pair of hosts; each packet belongs to a random one (buckets).
    """

    law: DecisionLaw = "minimal"
    threshold: float = 2 / 3
    neighbour: Neighbour = "least-occupied"
    buffer: ThresholdBuffer = "channel"
    candidates: int = 4
    whole_path: bool = False
    margin: float = 1 / 8
    period: int = 100
    flows: int = 64


@dataclass(frozen=True, kw_only=True)
class Times:
    """Lengths of warm-up, measurement window and drain, in cycles.

    Attributes:
        warmup: length of the warm-up; None to start the window when a steady state is reached.
        window: length of the measurement window; packets generated in it are measured.
        most_warmup: limit of the warm-up: the window starts then even without a steady state.
        most_drain: limit of the drain, in which packets of the window may still arrive.
        period: length of a batch: a period of the window with measurements of its own.
    """

    warmup: int | None = None
    window: int = 3000
    most_warmup: int = 100_000
    most_drain: int = 100_000
    period: int = 1000


Arrivals = Literal["bernoulli", "poisson", "constant"]


@dataclass(frozen=True, kw_only=True)
class Workload:
    """Packets of a traffic pattern: all sending hosts generate packets at the same mean rate.

    Attributes:
        pattern: destinations of every host's packets.
        load: offered load of a sending host, as a fraction of its link's rate, over 0 and at most 1.
        arrivals: process that generates a host's packets: `bernoulli` (at most one per cycle), `poisson`,
            or `constant` gaps with a random phase.
        schedule: packets with given times; None for random ones. Requires flow control `drop`.
        frame_ns: transmission time of a packet in ns, the unit of the schedule; 0 without a schedule.

    Raises:
        ParameterError: the load is out of range, or a schedule comes without `frame_ns`.
    """

    pattern: Pattern
    load: float
    arrivals: Arrivals = "bernoulli"
    schedule: Schedule | None = None
    frame_ns: int = 0

    def __post_init__(self) -> None:
        if not 0 < self.load <= 1:
            raise ParameterError(f"load must be over 0 and at most 1, got {self.load}")
        if self.schedule is not None and self.frame_ns < 1:
            raise ParameterError(f"frame_ns must be 1 or more with a schedule, got {self.frame_ns}")
