"""Length of warm-ups, and of the spans over which throughput is compared to detect a steady state."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from experiments.spec.options import AUTO_RATE, PACKETS, RUN, STEADY, default_frame_bytes
from topology.links import LinkSpec, parse_rate_bps

if TYPE_CHECKING:
    from experiments.spec.experiment import Experiment
    from experiments.spec.option import Given

# To detect a steady state, the throughput of successive spans of time is compared. A span lasts at least
# _MIN_SPAN_S, and long enough to drain a full queue _QUEUES times.
_MIN_SPAN_S, _QUEUES = 2.0, 3
# The value of _QUEUES for adaptive routings. After a change, a group is not changed again for up to two drain
# times, and detours need several changes.
_QUEUES_ADAPTING = 8
# A steady state is detected after two spans at the earliest. After _MAX_SPANS, the warm-up ends in any case.
_COMPARED_SPANS, _MAX_SPANS = 2, 20
_FAULT_WARMUP_CYCLES = 1000
_LONGEST_S = 3600.0  # limit of --warmup


def steady_span_s(links: LinkSpec, frame_bytes: int, *, adaptive: bool = False) -> float:
    """Returns the length in s, at least 2, of the spans over which throughput is compared.

    Args:
        links: the links.
        frame_bytes: length of the frames in bytes, without FCS.
        adaptive: whether the routing adapts to the load, so that throughput settles more slowly.
    """
    queues = _QUEUES_ADAPTING if adaptive else _QUEUES
    return max(_MIN_SPAN_S, queues * links.queue_packets * links.packet_s(frame_bytes))


def max_warmup_s(links: LinkSpec, frame_bytes: int) -> float:
    """Returns the time in s after which a warm-up ends even if throughput is not steady.

    Args:
        links: the links.
        frame_bytes: length of the frames in bytes, without FCS.
    """
    return _MAX_SPANS * steady_span_s(links, frame_bytes)


def settling_s(links: LinkSpec, frame_bytes: int, load: float, span_s: float) -> float:
    """Returns the time in s after which a stall no longer affects traffic.

    A stall leaves full queues. At a load below 1, a full queue needs queue / (1 - load) packet times to
    drain; at higher loads it is full anyway. The result is at least two spans and at most an hour.

    Args:
        links: the links.
        frame_bytes: length of the frames in bytes, without FCS.
        load: the offered load.
        span_s: length of the spans over which throughput is compared.
    """
    queue_s = links.queue_packets * links.packet_s(frame_bytes)
    drained_s = queue_s / (1 - load) if load < 1 else 0.0
    return min(max(_COMPARED_SPANS * span_s, drained_s), _LONGEST_S)


def simulated_warmup(_experiment: Experiment, values: Mapping[str, Given]) -> Given:
    """Returns the default warm-up of a simulation.

    Args:
        _experiment: the experiment.
        values: option -> value, as given.

    Returns:
        `steady`, or a number of cycles if there are faults, whose times must lie in a known window.
    """
    return _FAULT_WARMUP_CYCLES if "faults" in values else STEADY


def default_warmup(experiment: Experiment, values: Mapping[str, Given]) -> Given:
    """Returns the default warm-up.

    Args:
        experiment: the experiment.
        values: option -> value, including all options of the fabric.

    Returns:
        `steady` for packets, or seconds if the end of traffic must be known in advance.
    """
    packets = experiment.kind != RUN or experiment.traffic_kind == PACKETS
    if packets and "faults" not in values:
        return STEADY
    rate, queue, mtu = str(values["link-rate"]), int(str(values["queue"])), int(str(values["mtu"]))
    if rate == AUTO_RATE:
        return _MIN_SPAN_S
    span_s = steady_span_s(LinkSpec(parse_rate_bps(rate), queue, mtu), default_frame_bytes(mtu))
    return min(round(span_s, 1), _LONGEST_S)
