"""Times that follow from the settings of routers and links alone."""

from __future__ import annotations

import numpy as np

from simulation.kernels.state import Int32, Int64
from simulation.settings import RouterSettings
from simulation.tables.model import ForwardingTables

SOURCE_CYCLES = 1  # from a birth to the link of the host


def unloaded_cycles(hops: int, routers: RouterSettings, *, path_cycles: int | None = None) -> int:
    """Returns the latency of a packet that waits for nothing.

    Args:
        hops: links between routers that it takes.
        routers: settings of routers and links.
        path_cycles: cycles of these links together; None where each takes `link_cycles`.

    Returns:
        Cycles from its birth to the arrival of its tail (credit) or of its first bit (drop).
    """
    path = hops * routers.link_cycles if path_cycles is None else path_cycles
    links = path + 2 * routers.host_link_cycles
    cycles = links + (hops + 1) * routers.router_cycles
    return cycles + (SOURCE_CYCLES + routers.packet_flits - 1 if routers.flow_control == "credit" else 0)


def link_cycles(tables: ForwardingTables, routers: RouterSettings) -> Int32:
    """Returns the cycles of each directed link between routers, int32 array, (links,).

    Args:
        tables: forwarding tables.
        routers: settings of routers and links.
    """
    cycles = np.full(len(tables.link_targets), routers.link_cycles, np.int32)
    if routers.global_link_cycles is not None:
        cycles[tables.global_links == 1] = routers.global_link_cycles
    return cycles


def fastest_cycles(
    tables: ForwardingTables, routers: RouterSettings, sources: Int32, destinations: Int32
) -> Int64:
    """Returns the least latency of a packet that waits for nothing, over all paths of the graph.

    Args:
        tables: forwarding tables.
        routers: settings of routers and links; a router takes a cycle or more.
        sources: router of the source of each pair, (pairs,).
        destinations: router of the destination of each, (pairs,).

    Returns:
        int64 array, (pairs,), in cycles.
    """
    from scipy.sparse import csr_matrix  # importing it takes a tenth of a second: only where it is needed
    from scipy.sparse.csgraph import dijkstra

    steps = np.zeros((tables.routers, tables.routers))
    begins = np.repeat(np.arange(tables.routers), np.diff(tables.link_starts))
    steps[begins, tables.link_targets] = link_cycles(tables, routers) + routers.router_cycles
    rows, row_of = np.unique(sources, return_inverse=True)
    paths = dijkstra(csr_matrix(steps), indices=rows)[row_of, destinations]
    return np.asarray(unloaded_cycles(0, routers) + np.rint(paths), np.int64)
