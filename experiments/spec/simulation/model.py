"""Specification of a simulation's traffic, checked, and the settings of its routers as results name them."""

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
from traffic.workload.patterns import make_pattern

DEFAULT_REPLAN_CYCLES = 1000
NEVER = "none"  # of new plans after faults
# The proof of an adaptive plan of more routers takes gigabytes.
_MOST_REPLANNED = 600
_LEAST_PACKETS = 10  # that are born in a window, on average

# Settings that one of the flow controls alone has.
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
        times: warm-up and window.
        faults: failures and restorations, times in cycles.
        faults_asked: random failures from which `faults` was drawn, as asked for; None if it was not drawn.
        replan_cycles: cycles from a fault until switches have the plan for it; `none` if they never do.

    Raises:
        UsageError: a drain without new plans.
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
                f"--replan-cycles must be a number of cycles for the drains of --faults, got {NEVER} and "
                f"`{drain.line}`"
            )


@dataclass(frozen=True, kw_only=True)
class RouterRecord:
    """Settings of simulated routers and links as results name them; a setting that does not apply is absent.

    Attributes:
        flow_control: `credit` for lossless input-queued routers with virtual channels; `drop` for output
            queues that drop what does not fit.
        packet_flits: flits of a packet; a link passes one flit a cycle.
        virtual_channels: virtual channels of a port.
        buffer_flits: flits that fit into the buffer of one virtual channel.
        speedup: flits that a router passes from an input to an output in a cycle.
        channel_policy: choice of the virtual channel of a packet's next hop: `hop`, `class`, `any`, `random`.
        arbitration: order in which inputs and channels are served.
        router_cycles: cycles of a packet's head in a router where nothing is in its way.
        link_cycles: cycles of a link between routers; with `global_link_cycles`, of those within a cluster.
        global_link_cycles: cycles of a link between clusters of routers; absent where it is `link_cycles`.
        host_link_cycles: cycles of a link between a router and a host.
        credit_cycles: cycles of a credit on its way back.
        queue_packets: packets that fit into an output queue.
        burst_packets: packets that an idle link lets go at once.
        decision: law by which a source decides between minimal path and detours, for every packet or, with
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
    """Returns the settings of a fabric's routers as results name them."""
    routers = fabric.routers
    foreign = _OF_DROP if routers.flow_control == CREDIT else _OF_CREDIT
    values = {name: value for name, value in vars(routers).items() if name not in foreign}
    if "channels" in values:
        values["virtual_channels"] = values.pop("channels")
    return RouterRecord(**values, decision=fabric.decision_text)


def fault_settings(traffic: SimulatedTraffic) -> dict[str, Any]:
    """Returns the fields of the settings of faults; none without any.

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
    """Raises an error unless the fabric can have the traffic.

    Raises:
        UsageError: the fabric does not have the pattern, or is too large for new plans for faults.
        ParameterError: the window is so short that hardly a packet would be born in it.
    """
    pattern = make_pattern(traffic.pattern, fabric.topology, fabric.hosts, traffic.seed)
    packets_per_cycle = len(pattern.senders) * traffic.load / fabric.routers.packet_flits
    if packets_per_cycle * traffic.times.window < _LEAST_PACKETS:
        raise ParameterError(
            f"--cycles must be at least {math.ceil(_LEAST_PACKETS / packets_per_cycle)} at a load of "
            f"{traffic.load:g}, in which {_LEAST_PACKETS} packets are born, got {traffic.times.window}"
        )
    routers = fabric.topology.routers
    replans = traffic.faults and traffic.replan_cycles != NEVER
    if replans and routers > _MOST_REPLANNED and not routing(fabric.routing).oblivious:
        raise UsageError(
            f"--replan-cycles must be {NEVER} for adaptive routings of over {_MOST_REPLANNED} routers, whose "
            f"proofs take gigabytes, got {fabric.routing} and {routers} routers"
        )


def default_replan_cycles(_experiment: object, values: Mapping[str, Any]) -> int | None:
    """Returns the cycles from a fault to the new plan where none are given; None without faults.

    Args:
        values: option -> value.
    """
    return DEFAULT_REPLAN_CYCLES if "faults" in values else None
