"""Estimates of the fabrics and link rates that this machine can carry, and the default link rate."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from emulation.requirements import available_memory_bytes, fabric_memory_bytes
from emulation.subprocesses import usable_cores
from experiments.spec.option import Given
from experiments.spec.options import (
    COLLECTIVE,
    DEFAULT_LOAD,
    PACKETS,
    RUN,
    SWEEP,
    default_frame_bytes,
    option_of,
)
from experiments.spec.variations import SHORT_FORMS, listed_values, read_variations
from routing.registry import routing
from topology.links import DEFAULT_MTU, even_rate_bps, parse_rate_bps, rate_text
from traffic.wire.layout import ETHERNET_BYTES

if TYPE_CHECKING:
    from experiments.spec.experiment import Experiment
    from topology.base import Topology


# Frames per second and core that userspace switches carry from host to host over two hops, with generator and
# collector on the same cores. It is half of the rate at which ER_5 on 2 cores was barely valid. Each packet
# costs a wake-up at each switch, and a path of two hops has three switches.
FRAMES_PER_CORE = 1200
_MEASURED_HOPS = 2.0
_MAX_ROUTERS = 1 << 20


def largest_fabric_routers(hosts_per_router: int) -> int:
    """Returns the number of routers of the largest fabric that fits into the free memory.

    Args:
        hosts_per_router: concentration p, hosts at each router.
    """

    def needed(routers: int) -> int:
        # A graph of n routers and diameter 2 has at least about sqrt(n) links per router (Moore bound).
        links = round(routers * math.sqrt(routers) / 2)
        return fabric_memory_bytes(routers, routers * hosts_per_router, links)

    return bisect_right(range(_MAX_ROUTERS), available_memory_bytes(), key=needed) - 1


def link_rate_bps(
    hosts: int, load: float, frame_bytes: int, hops: float = _MEASURED_HOPS, *, detours: bool = False
) -> float:
    """Estimates the link rate at which this machine carries a fabric's traffic, in bits per second.

    Applies a rule of thumb for the userspace datapath, based on the number of processors that this process
    may use; `--link-rate auto` measures the rate.

    Args:
        hosts: number of hosts that send.
        load: offered load as a fraction of the injection capacity, over 0.
        frame_bytes: length of the frames in bytes.
        hops: mean distance between two routers; values below 2 count as 2, as patterns with distant pairs
            have at least that mean.
        detours: whether packets may take detours, up to twice as long as minimal paths.
    """
    frames_per_s = FRAMES_PER_CORE * usable_cores()
    slower = (max(hops, _MEASURED_HOPS) + 1) / (_MEASURED_HOPS + 1) * (2 if detours else 1)
    return frames_per_s * frame_bytes * 8 / (hosts * load * slower)


MAX_BPS = 2_000_000  # also the default for traffic without a fixed load: programs, TCP flows


class Demand(NamedTuple):
    """Traffic that a machine has to carry; for a sweep, the most demanding values of all points.

    Attributes:
        senders: number of hosts that send.
        load: offered load, 0 to 1 of their injection capacity.
        frame_bytes: length of the frames in bytes.
        detours: whether packets may take detours.
    """

    senders: int
    load: float
    frame_bytes: int
    detours: bool


def default_link_rate(experiment: Experiment, values: Mapping[str, Given]) -> Given:
    """Returns the default link rate of a run or a sweep, as text like `500k`.

    Args:
        experiment: the experiment.
        values: option -> given value.

    Raises:
        UsageError: a value is outside its domain.
    """
    if experiment.kind != SWEEP and experiment.traffic_kind not in (PACKETS, COLLECTIVE):
        return rate_text(MAX_BPS)
    return rate_text(default_rate_bps(experiment.topology, _demand(experiment, values)))


def default_rate_bps(topology: Topology, demand: Demand) -> int:
    """Returns the highest link rate among 1, 2, 5 x 10^n bit/s, up to MAX_BPS, that the machine can carry.

    Args:
        topology: graph of the routers.
        demand: the traffic.
    """
    return even_rate_bps(min(MAX_BPS, carried_rate_bps(topology, demand)))


def carried_rate_bps(topology: Topology, demand: Demand) -> float:
    """Estimates the highest link rate in bit/s at which the machine can carry the given traffic.

    Args:
        topology: graph of the routers.
        demand: the traffic.
    """
    hops = topology.average_path_length if topology.routers > 1 else 0.0
    return link_rate_bps(
        max(1, demand.senders), demand.load, demand.frame_bytes, hops, detours=demand.detours
    )


def default_of_fabric(fabric: Experiment, load: float) -> str:
    """Returns a fabric's default link rate for generated traffic, as text like `500k`.

    Args:
        fabric: specification of the fabric.
        load: offered load of the traffic.
    """
    return rate_text(default_rate_bps(fabric.topology, _demand_on(fabric, load)))


def carried_load(fabric: Experiment, limit: float) -> float:
    """Estimates the highest load, in steps of 0.01, that the machine can carry on a fabric.

    Args:
        fabric: specification of the fabric.
        limit: upper limit of the returned load.
    """
    rate_bps = parse_rate_bps(str(fabric.complete_values["link-rate"]))
    carried = carried_rate_bps(fabric.topology, _demand_on(fabric, 1.0)) / rate_bps
    return limit if carried >= limit else max(0.01, math.floor(100 * carried) / 100)


def _demand_on(fabric: Experiment, load: float) -> Demand:
    values = fabric.complete_values
    frame_bytes = default_frame_bytes(values["mtu"])
    hosts = fabric.topology.endpoints(values["hosts"])
    return Demand(hosts, load, frame_bytes, takes_detours(values["routing"]))


def takes_detours(*routings: str) -> bool:
    """Returns whether packets of any of these routings may take detours."""
    return not all(routing(name).shortest for name in routings)


def _demand(experiment: Experiment, given: Mapping[str, Any]) -> Demand:
    mtu, senders = given.get("mtu", DEFAULT_MTU), experiment.topology.endpoints(given["hosts"])
    frame_bytes = given.get("frame-bytes", default_frame_bytes(mtu))
    if experiment.kind == SWEEP:
        return _demand_of_sweep(given, senders, frame_bytes)
    detours = takes_detours(given.get("routing", option_of("routing", RUN).default))
    if experiment.traffic_kind == COLLECTIVE:  # ranks send at full link rate
        frame_bytes = given.get("frame-bytes", mtu + ETHERNET_BYTES)
        return Demand(given.get("ranks") or senders, 1.0, frame_bytes, detours)
    return Demand(senders, given.get("load", DEFAULT_LOAD), frame_bytes, detours)


def _demand_of_sweep(given: Mapping[str, Any], senders: int, frame_bytes: int) -> Demand:
    varied = {variation.key: variation.values for variation in read_variations(given.get("vary", ()))}

    def listed(key: str) -> tuple[Any, ...]:
        name = SHORT_FORMS[key]
        return varied.get(key) or listed_values(key, given.get(name, option_of(name, SWEEP).default))

    lengths: tuple[Any, ...] = varied.get("frame-bytes", (frame_bytes,))
    return Demand(senders, max(listed("load")), min(lengths), takes_detours(*listed("routing")))
