"""The fabrics that this machine carries: their size by its memory, their links' rate by its processors."""

from __future__ import annotations

import os
from bisect import bisect_right
from math import sqrt

from emulation.requirements import available_memory_bytes, fabric_memory_bytes

# Frames per second and core that userspace switches carry from host to host over two hops while they hold
# each for about a twentieth of its time on a link, with generator and collector on the same cores: measured
# on ER_5 with 2 cores. Each packet costs a wake-up at each switch.
FRAMES_PER_CORE = 2400
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


def link_rate_bps(hosts: int, load: float, frame_bytes: int) -> float:
    """Estimates the link rate at which this machine carries a fabric's traffic, in bits per second.

    A rule of thumb for the userspace datapath and paths of two hops; `--link-rate auto` measures the rate.

    Args:
        hosts: number of hosts.
        load: offered load as a fraction of the injection capacity.
        frame_bytes: length of the frames.
    """
    frames_per_s = FRAMES_PER_CORE * (os.cpu_count() or 1)
    return frames_per_s * frame_bytes * 8 / (hosts * load)
