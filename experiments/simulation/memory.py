"""Memory that a simulation needs, estimated before anything is planned."""

from __future__ import annotations

from emulation.requirements import available_memory_bytes
from experiments.spec.simulation.model import CREDIT, SimulatedFabric
from routing.registry import routing
from topology.errors import MachineError

# Of a plan with its tables, in bytes for each ordered pair of routers: measured on ER_19 and ER_31, for `min`
# and for routings with intermediate routers.
_MINIMAL_PAIR_BYTES, _DETOUR_PAIR_BYTES = 750, 2200
# Columns of a queue beside its packets; and what a packet takes in all arrays together, in bytes.
_QUEUE_BYTES, _PLACE_BYTES, _PACKET_BYTES = 32, 4, 52


def simulation_memory_bytes(fabric: SimulatedFabric) -> int:
    """Returns the memory that a simulation takes at its peak, in bytes, about.

    Args:
        fabric: specification of the fabric.
    """
    topology, routers = fabric.topology, fabric.routers
    chosen = routing(fabric.routing)
    pair_bytes = _MINIMAL_PAIR_BYTES if chosen.name.partition(":")[0] == "min" else _DETOUR_PAIR_BYTES
    channels, flits = routers.channels, routers.buffer_flits
    if routers.flow_control != CREDIT:
        channels, flits = 1, routers.queue_packets * routers.packet_flits
    places = flits // routers.packet_flits
    ports = 2 * len(topology.link_list) + topology.routers * fabric.hosts
    queues = ports << (channels - 1).bit_length()
    in_queues = queues * (_QUEUE_BYTES + places * _PLACE_BYTES) + ports * channels * places * _PACKET_BYTES
    return topology.routers**2 * pair_bytes + in_queues


def require_memory(fabric: SimulatedFabric) -> None:
    """Raises MachineError, with the memory that it would need, if a simulation does not fit.

    Args:
        fabric: specification of the fabric.
    """
    needed, available = simulation_memory_bytes(fabric), available_memory_bytes()
    if needed > available:
        raise MachineError(
            f"the plan of {fabric.topology.routers} routers under {fabric.routing} and their buffers need "
            f"about {needed / 2**30:.1f} GiB of memory, but {available / 2**30:.1f} GiB are free; try a "
            "smaller fabric, or fewer --virtual-channels and --buffer-flits"
        )
