"""Zero-load times, which depend only on the settings of routers and links."""

from __future__ import annotations

import numpy as np

from simulation.kernels.state import Int32, Int64
from simulation.settings import RouterSettings
from simulation.tables.model import ForwardingTables

SOURCE_CYCLES = 1  # from the generation of a packet to its injection into the host's link


def unloaded_cycles(hops: int, routers: RouterSettings, *, path_cycles: int | None = None) -> int:
    """Returns the zero-load latency of a packet.

    Args:
        hops: number of links between routers on its path.
        routers: settings of routers and links.
        path_cycles: total delay of these links in cycles; None if each takes `link_cycles`.

    Returns:
        Cycles from generation to the arrival of the tail (credit) or of the first bit (drop).
    """
    path = hops * routers.link_cycles if path_cycles is None else path_cycles
    links = path + 2 * routers.host_link_cycles
    cycles = links + (hops + 1) * routers.router_cycles
    return cycles + (SOURCE_CYCLES + routers.packet_flits - 1 if routers.flow_control == "credit" else 0)


def link_cycles(tables: ForwardingTables, routers: RouterSettings) -> Int32:
    """Returns the delay in cycles of each directed link between routers: int32 array, (links,).

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
    """Returns the minimum zero-load latency of each pair, over all paths of the graph.

    Args:
        tables: forwarding tables.
        routers: settings of routers and links; a router takes at least one cycle.
        sources: (pairs,): source router of each pair.
        destinations: (pairs,): destination router of each pair.

    Returns:
        int64 array, (pairs,), in cycles.
    """
    from scipy.sparse import csr_matrix  # imported here because the import takes 0.1 s
    from scipy.sparse.csgraph import dijkstra

    steps = np.zeros((tables.routers, tables.routers))
    origins = np.repeat(np.arange(tables.routers), np.diff(tables.link_starts))
    steps[origins, tables.link_targets] = link_cycles(tables, routers) + routers.router_cycles
    rows, row_of = np.unique(sources, return_inverse=True)
    paths = dijkstra(csr_matrix(steps), indices=rows)[row_of, destinations]
    return np.asarray(unloaded_cycles(0, routers) + np.rint(paths), np.int64)
