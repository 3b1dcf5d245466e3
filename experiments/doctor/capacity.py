"""The fabrics that this machine carries: their size by its memory, their links' rate by its processors."""

from __future__ import annotations

import os

from emulation.requirements import HOST_MEMORY_BYTES, SWITCH_MEMORY_BYTES, available_memory_bytes

# Frames per second and core that userspace switches carry from host to host over two hops while they hold
# each for about a twentieth of its time on a link, with generator and collector on the same cores: measured
# on ER_5 with 2 cores. Each packet costs a wake-up at each switch.
FRAMES_PER_CORE = 2400


def largest_fabric_routers(concentration: int) -> int:
    """Returns the number of routers, with `concentration` hosts each, that fit into the free memory."""
    return available_memory_bytes() // (SWITCH_MEMORY_BYTES + concentration * HOST_MEMORY_BYTES)


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
