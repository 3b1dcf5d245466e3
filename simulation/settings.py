"""Settings of a simulation: its routers, its decisions between paths, and its times."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from topology.errors import ParameterError
from traffic.workload.patterns import Pattern
from traffic.workload.schedule import Schedule

FlowControl = Literal["credit", "drop"]
ChannelPolicy = Literal["hop", "class", "any", "random"]
Arbitration = Literal["round-robin", "random"]
# The law by which adaptive choices are taken; see `Decision`.
DecisionLaw = Literal["minimal", "threshold", "product", "piggyback", "buckets"]

_DROP_TICKS = 16  # of a cycle, where queues drop


@dataclass(frozen=True, kw_only=True)
class RouterSettings:
    """Routers and links.

    Attributes:
        flow_control: `credit` for lossless input-queued routers with virtual channels and virtual
            cut-through; `drop` for output queues that drop what does not fit, as the emulation has.
        packet_flits: flits of a packet, 1 to 64; a link passes one flit a cycle.
        channels: virtual channels of a port, 1 to 16 (credit).
        buffer_flits: flits that fit into the buffer of one virtual channel (credit).
        speedup: flits that the crossbar passes in a cycle, 1 to 4 (credit).
        channel_policy: virtual channel of a packet's next hop: by the number of hops before (`hop`), by
            whether it has reached its intermediate router (`class`), the one with most room (`any`), or a
            random one (`random`) (credit).
        arbitration: order in which inputs and channels get outputs (credit).
        router_cycles: cycles from a head's arrival at a router to its departure when nothing is in its way.
        link_cycles: cycles of a link between routers; with `global_link_cycles`, of those within a cluster.
        global_link_cycles: cycles of a link between clusters of routers, or to a router that belongs to none;
            None for `link_cycles`.
        host_link_cycles: cycles of a link between a router and a host.
        credit_cycles: cycles of a credit on its way back (credit).
        queue_packets: packets that fit into an output queue (drop).
        burst_packets: packets that a link which was idle lets go at once, at least 1 (drop).
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
        """Ticks of a cycle: internal steps of the routers, or the resolution of times (drop)."""
        return self.speedup if self.flow_control == "credit" else _DROP_TICKS

    @property
    def longest_link_cycles(self) -> int:
        """Cycles of the longest link between routers."""
        return max(self.link_cycles, self.global_link_cycles or 0)

    @property
    def latency_units(self) -> int:
        """Units of a cycle in which latencies are summed: cycles (credit), or ticks (drop)."""
        return 1 if self.flow_control == "credit" else self.ticks


@dataclass(frozen=True, kw_only=True)
class Decision:
    """The law by which a source router takes an adaptive choice, for every packet or every flow.

    Attributes:
        law: `minimal` takes no detours; `threshold` (UGAL_PF) is minimal unless the output of the minimal
            path is occupied by over `threshold`, and then takes a random detour by the least occupied port;
            `product` (UGAL) compares occupancy times hops of the minimal path with that of `candidates`
            random detours, and takes the least; `piggyback` does so among the paths whose first global link
            is not congested, if there are any; `buckets` divides flows among the buckets of the plan's
            groups, which the control law of the plan's routing re-points (`simulation.bucket_loop`).
        threshold: occupancy, as a share of one virtual channel's buffer (credit) or of a queue (drop), over 0
            (threshold).
        candidates: random detours that are compared, 1 to 16 (product, piggyback).
        whole_path: whether `product` sums the occupancies of all queues of a path (UGAL-G), not that of the
            first.
        margin: a global link is congested if it is occupied by over twice the mean of its router's global
            links and this share of one virtual channel's buffer, at least 0 (piggyback).
        period: cycles between two steps of the control law, at least 1 (buckets).
        flows: flows of a pair of hosts; a packet belongs to a random one (buckets).
    """

    law: DecisionLaw = "minimal"
    threshold: float = 2 / 3
    candidates: int = 4
    whole_path: bool = False
    margin: float = 1 / 8
    period: int = 100
    flows: int = 64


@dataclass(frozen=True, kw_only=True)
class Times:
    """Times of a simulation, in cycles.

    Attributes:
        warmup: cycles before the window; None to begin it once the state is steady.
        window: cycles of the window; packets born in it are measured.
        most_warmup: cycles after which the window begins although the state is not steady.
        most_drain: cycles after the window in which its packets may still arrive.
        period: cycles of a period of the window, of which measures are kept.
    """

    warmup: int | None = None
    window: int = 3000
    most_warmup: int = 100_000
    most_drain: int = 100_000
    period: int = 1000


Arrivals = Literal["bernoulli", "poisson", "constant"]


@dataclass(frozen=True, kw_only=True)
class Workload:
    """Packets of a pattern: every host that sends injects at the same mean rate.

    Attributes:
        pattern: destinations of every host's packets.
        load: mean rate of a host that sends, as a share of its link's rate, over 0 and at most 1.
        arrivals: process of the births of a host's packets: `bernoulli` (one or none in a cycle), `poisson`,
            or `constant` gaps with a random phase.
        schedule: packets with their times; None to draw them. Only routers whose queues drop take one.
        frame_ns: time of a packet on a link, in nanoseconds of the schedule; 0 without one.

    Raises:
        ParameterError: the load is outside its domain, or a schedule comes without the time of a packet.
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
            raise ParameterError(f"frame_ns of a schedule must be 1 or more, got {self.frame_ns}")
