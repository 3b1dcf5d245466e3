"""Times that follow from the settings of routers and links alone."""

from __future__ import annotations

from simulation.settings import RouterSettings

SOURCE_CYCLES = 1  # from a birth to the link of the host


def unloaded_cycles(hops: int, routers: RouterSettings) -> int:
    """Returns the latency of a packet that waits for nothing.

    Args:
        hops: links between routers that it takes.
        routers: settings of routers and links.

    Returns:
        Cycles from its birth to the arrival of its tail (credit) or of its first bit (drop).
    """
    links = hops * routers.link_cycles + 2 * routers.host_link_cycles
    cycles = links + (hops + 1) * routers.router_cycles
    return cycles + (SOURCE_CYCLES + routers.packet_flits - 1 if routers.flow_control == "credit" else 0)
