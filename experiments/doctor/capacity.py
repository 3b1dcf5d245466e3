"""Fabrics that this machine carries: their size by its memory, their link rate by its processors."""

from __future__ import annotations

import os
from bisect import bisect_right
from math import sqrt

from emulation.requirements import available_memory_bytes, fabric_memory_bytes

# Frames per second and core that userspace switches carry from host to host over two hops, with generator and
# collector on the same cores: half of those with which ER_5 on 2 cores was barely valid. Each packet costs a
# wake-up at each switch, of which such a path has three.
FRAMES_PER_CORE = 1200
_MEASURED_HOPS = 2.0
_MOST_ROUTERS = 1 << 20


def largest_fabric_routers(concentration: int) -> int:
    """Returns the number of routers, with some hosts each, that fit into the free memory.

    Each is taken to have links to as many others as there are at least in a graph of diameter 2.

    Args:
        concentration: hosts at each router.
    """

    def needed(routers: int) -> int:
        return fabric_memory_bytes(routers, routers * concentration, round(routers * sqrt(routers) / 2))

    return bisect_right(range(_MOST_ROUTERS), available_memory_bytes(), key=needed) - 1


def link_rate_bps(
    hosts: int, load: float, frame_bytes: int, hops: float = _MEASURED_HOPS, *, detours: bool = False
) -> float:
    """Estimates the link rate at which this machine carries a fabric's traffic, in bits per second.

    A rule of thumb for the userspace datapath, from the processors that this process may use;
    `--link-rate auto` measures the rate.

    Args:
        hosts: number of hosts that send.
        load: offered load as a fraction of the injection capacity.
        frame_bytes: length of the frames.
        hops: mean distance between two routers; fewer than two count as two, the least that a pattern of
            distant pairs has.
        detours: whether packets may take longer paths than the shortest, up to twice as long.
    """
    frames_per_s = FRAMES_PER_CORE * len(os.sched_getaffinity(0))
    slower = (max(hops, _MEASURED_HOPS) + 1) / (_MEASURED_HOPS + 1) * (2 if detours else 1)
    return frames_per_s * frame_bytes * 8 / (hosts * load * slower)
