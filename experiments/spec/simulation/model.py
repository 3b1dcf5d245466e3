"""Specification of a simulation's traffic, and the settings of its routers as kept in results."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from experiments.codec import omitted
from experiments.spec.fabric import CREDIT, FabricOptions
from routing.registry import routing
from simulation.settings import Times
from topology.errors import ParameterError, UsageError
from topology.faults import Fault

DEFAULT_REPLAN_CYCLES = 1000
NEVER = "none"  # no new plans after faults
# For more routers, the proof of an adaptive plan takes gigabytes.
_MAX_REPLANNED = 600
_MIN_PACKETS = 10  # mean number of packets injected in a window

# Settings that apply to only one kind of flow control.
_OF_CREDIT = ("channels", "buffer_flits", "speedup", "channel_policy", "arbitration", "credit_cycles")
_OF_DROP = ("queue_packets", "burst_packets")


@dataclass(frozen=True)
class SimulatedTraffic:
    """The synthetic traffic of a simulation.

    Attributes:
        pattern: canonical name of a pattern, with its parameters.
        load: flits that a host injects per cycle, over 0 and at most 1.
        arrivals: distribution of a host's packets over time, one of ARRIVALS.
        seed: seed of the random generator.
        times: lengths of warm-up and window.
        faults: failures and restorations, with times in cycles.
        faults_asked: requested random failures, from which `faults` was drawn; None if it was not drawn.
        replan_cycles: cycles from a fault until switches have the new plan; `none` for never.

    Raises:
        UsageError: `faults` has a drain, which needs new plans, but `replan_cycles` is `none`.
    """

    pattern: str
    load: float
    arrivals: Literal["bernoulli", "poisson", "constant"] = "bernoulli"
    seed: int = 1
    times: Times = field(default_factory=Times)
    faults: tuple[Fault, ...] = ()
    faults_asked: str | None = None
    replan_cycles: int | str = NEVER

    def __post_init__(self) -> None:
        drain = next((fault for fault in self.faults if fault.maintenance), None)
        if drain and self.replan_cycles == NEVER:
            raise UsageError(
                f"--replan-cycles must be a number of cycles if --faults has a drain, got {NEVER} and "
                f"`{drain.line}`"
            )


@dataclass(frozen=True, kw_only=True)
class RouterRecord:
    """Settings of simulated routers and links as kept in results; a setting that does not apply is absent.

    Attributes:
        flow_control: `credit` for lossless input-queued routers with virtual channels; `drop` for output
            queues that drop packets when full.
        packet_flits: length of a packet in flits; a link carries one flit per cycle.
        virtual_channels: number of virtual channels of a port.
        buffer_flits: capacity of a virtual channel's buffer in flits.
        speedup: flits that a router moves from an input to an output per cycle.
        channel_policy: virtual channel of a packet's next hop: `hop`, `class`, `level`, `any`,
            `free` or `random`.
        arbitration: order in which inputs and channels are served.
        router_cycles: cycles of a packet's head flit in an uncontended router.
        link_cycles: latency of a link between routers; with `global_link_cycles`, of links within a cluster.
        global_link_cycles: latency of a link between clusters of routers; absent if equal to `link_cycles`.
        host_link_cycles: latency of a link between a router and a host.
        credit_cycles: cycles that a credit takes in addition to the link's latency.
        queue_packets: capacity of an output queue in packets.
        burst_packets: packets that an idle link sends back to back.
        decision: rule by which a source chooses between minimal path and detours, for each packet or, with
            `buckets`, for flows.
    """

    flow_control: str
    packet_flits: int
    virtual_channels: int | None = omitted()
    buffer_flits: int | None = omitted()
    speedup: int | None = omitted()
    channel_policy: str | None = omitted()
    arbitration: str | None = omitted()
    router_cycles: int
    link_cycles: int
    global_link_cycles: int | None = omitted()
    host_link_cycles: int
    credit_cycles: int | None = omitted()
    queue_packets: int | None = omitted()
    burst_packets: float | None = omitted()
    decision: str


def router_record(fabric: FabricOptions) -> RouterRecord:
    """Returns the settings of a fabric's routers as kept in results."""
    routers = fabric.routers
    foreign = _OF_DROP if routers.flow_control == CREDIT else _OF_CREDIT
    values = {name: value for name, value in vars(routers).items() if name not in foreign}
    if "channels" in values:
        values["virtual_channels"] = values.pop("channels")
    return RouterRecord(**values, decision=fabric.decision_text)


def fault_settings(traffic: SimulatedTraffic) -> dict[str, Any]:
    """Returns the settings of faults by field name; empty without faults.

    Args:
        traffic: specification of the traffic.
    """
    if not traffic.faults and traffic.faults_asked is None:
        return {}
    lines = tuple(fault.line for fault in traffic.faults)
    return {
        "faults": lines,
        "faults_asked": traffic.faults_asked,
        "replan_cycles": traffic.replan_cycles,
    }


def check_simulation(fabric: FabricOptions, traffic: SimulatedTraffic) -> None:
    """Checks that the fabric can carry the traffic.

    Raises:
        UsageError: the fabric does not support the pattern, or is too large for new plans after faults.
        ParameterError: the window is too short: fewer than 10 packets would be injected in it.
    """
    pattern = fabric.pattern(traffic.pattern, traffic.seed)
    packets_per_cycle = len(pattern.senders) * traffic.load / fabric.routers.packet_flits
    if packets_per_cycle * traffic.times.window < _MIN_PACKETS:
        raise ParameterError(
            f"--cycles must be at least {math.ceil(_MIN_PACKETS / packets_per_cycle)} at a load of "
            f"{traffic.load:g}, so that {_MIN_PACKETS} packets are injected, got {traffic.times.window}"
        )
    routers = fabric.topology.routers
    replans = traffic.faults and traffic.replan_cycles != NEVER
    if replans and routers > _MAX_REPLANNED and not routing(fabric.routing).oblivious:
        raise UsageError(
            f"--replan-cycles must be {NEVER} for adaptive routings on more than {_MAX_REPLANNED} routers "
            f"(proofs take gigabytes), got {fabric.routing} on {routers} routers"
        )


def default_replan_cycles(_experiment: object, values: Mapping[str, Any]) -> int | None:
    """Returns the default number of cycles from a fault to the new plan; None without faults.

    Args:
        values: option -> value.
    """
    return DEFAULT_REPLAN_CYCLES if "faults" in values else None
