"""Warm-ups: how long throughput is watched before it counts as steady."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from experiments.spec.options import AUTO_RATE, PACKETS, RUN, STEADY, default_frame_bytes
from topology.links import LinkSpec, parse_rate_bps

if TYPE_CHECKING:
    from experiments.spec.experiment import Experiment
    from experiments.spec.option import Given

# Throughput is compared over spans of this length, and in which a full queue drains so often.
_LEAST_SPAN_S, _QUEUES = 2.0, 3
# An adaptive group rests for up to two such times after a change, and its detours take several changes.
_QUEUES_ADAPTING = 8
# It takes two spans at least to see that throughput is steady; after so many the warm-up ends all the same.
_MOST_SPANS = 20
_FAULT_WARMUP_CYCLES = 1000
_LONGEST_S = 3600.0  # of a warm-up, as of its option


def steady_span_s(links: LinkSpec, frame_bytes: int, *, adaptive: bool = False) -> float:
    """Returns the length in s of the spans over which throughput is compared, 2 or more.

    Args:
        links: the links.
        frame_bytes: length of the frames.
        adaptive: whether the routing follows the load, so that throughput settles more slowly.
    """
    queues = _QUEUES_ADAPTING if adaptive else _QUEUES
    return max(_LEAST_SPAN_S, queues * links.queue_packets * links.packet_s(frame_bytes))


def most_warmup_s(links: LinkSpec, frame_bytes: int) -> float:
    """Returns the time in s after which a warm-up ends even if throughput is not steady.

    Args:
        links: the links.
        frame_bytes: length of the frames.
    """
    return _MOST_SPANS * steady_span_s(links, frame_bytes)


def simulated_warmup(_experiment: Experiment, values: Mapping[str, Given]) -> Given:
    """Returns the warm-up of a simulation where none is given.

    Args:
        _experiment: the experiment.
        values: option -> value, as given.

    Returns:
        `steady`; cycles where the end of the window has to be known before.
    """
    return _FAULT_WARMUP_CYCLES if "faults" in values else STEADY


def default_warmup(experiment: Experiment, values: Mapping[str, Given]) -> Given:
    """Returns the warm-up where none is given.

    Args:
        experiment: the experiment.
        values: option -> value, those of the fabric complete.

    Returns:
        `steady` for packets; seconds where the end of the traffic has to be known before.
    """
    packets = experiment.kind != RUN or experiment.traffic_kind == PACKETS
    if packets and "faults" not in values:
        return STEADY
    rate, queue, mtu = str(values["link-rate"]), int(str(values["queue"])), int(str(values["mtu"]))
    if rate == AUTO_RATE:
        return _LEAST_SPAN_S
    span_s = steady_span_s(LinkSpec(parse_rate_bps(rate), queue, mtu), default_frame_bytes(mtu))
    return min(round(span_s, 1), _LONGEST_S)
