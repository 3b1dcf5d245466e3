"""Estimates of the memory that a simulation needs, before anything is planned."""

from __future__ import annotations

import numpy as np

from emulation.requirements import available_memory_bytes
from experiments.spec.fabric import CREDIT, FabricOptions
from routing.path_sets.registry import with_paths
from routing.plan.port_sets import port_sets
from routing.registry import routing
from topology.base import Topology
from topology.errors import MachineError

# Bytes of a plan with its tables per ordered pair of routers, measured on ER_19 and ER_31: for `min`, and for
# routings with intermediate routers.
_MINIMAL_PAIR_BYTES, _DETOUR_PAIR_BYTES = 750, 2200
# Bytes per detour of a group under `ugal`, in addition to the minimal paths: measured on nine networks of 722
# to 1386 routers with all routers as intermediates; most need 36 to 63.
_UGAL_DETOUR_BYTES = 50
_MIN_COUNTED = 256  # routers of the smallest fabric whose detours are counted; else an estimate per pair
# Bytes of a queue without its packets, of a slot in a queue, and of a packet in all arrays together.
_QUEUE_BYTES, _PLACE_BYTES, _PACKET_BYTES = 32, 4, 52


def simulation_memory_bytes(fabric: FabricOptions) -> int:
    """Estimates the peak memory of a simulation, in bytes.

    Args:
        fabric: specification of the fabric.
    """
    topology, routers = fabric.topology, fabric.routers
    channels, flits = routers.channels, routers.buffer_flits
    if routers.flow_control != CREDIT:
        channels, flits = 1, routers.queue_packets * routers.packet_flits
    places = flits // routers.packet_flits
    ports = 2 * len(topology.link_list) + topology.routers * fabric.hosts
    queues = ports << (channels - 1).bit_length()
    in_queues = queues * (_QUEUE_BYTES + places * _PLACE_BYTES) + ports * channels * places * _PACKET_BYTES
    return plan_memory_bytes(fabric) + in_queues


def plan_memory_bytes(fabric: FabricOptions) -> int:
    """Estimates the memory of a plan and its tables, in bytes.

    Args:
        fabric: specification of the fabric.
    """
    topology, chosen = fabric.topology, routing(fabric.routing)
    pairs, name = topology.routers**2, chosen.name.partition(":")[0]
    if name == "ugal" and topology.routers >= _MIN_COUNTED:
        values = {p.key: chosen.given.get(p.key, p.default) for p in chosen.plan_parameters}
        paths = with_paths(topology, str(values["over"]))
        most = min(int(values["intermediates"] or 1), topology.routers)
        return pairs * _MINIMAL_PAIR_BYTES + _ugal_groups(paths) * most * _UGAL_DETOUR_BYTES
    return pairs * (_MINIMAL_PAIR_BYTES if name == "min" else _DETOUR_PAIR_BYTES)


def _ugal_groups(paths: Topology) -> int:
    """Returns the total number of OpenFlow groups of all switches under `ugal`.

    A switch has one group for each combination of minimal output ports and distance to the destination.
    """
    everyone = np.arange(paths.routers)
    count = 0
    for router in everyone:
        sets = port_sets(paths, int(router)).codes.astype(np.int64)
        distances = paths.distances(np.full_like(everyone, router), everyone)
        count += len(np.unique(sets * (paths.diameter + 1) + distances)) - 1
    return count


def require_memory(fabric: FabricOptions) -> None:
    """Raises MachineError if a simulation does not fit into the free memory.

    Args:
        fabric: specification of the fabric.
    """
    needed, available = simulation_memory_bytes(fabric), available_memory_bytes()
    if needed > available:
        raise MachineError(
            f"the plan of {fabric.topology.routers} routers under {fabric.routing} and their buffers need "
            f"about {needed / 2**30:.1f} GiB of memory, but {available / 2**30:.1f} GiB are free; try a "
            "smaller fabric, or lower --virtual-channels or --buffer-flits"
        )
