"""Memory that a proof of deadlock freedom needs, estimated from the plan before the proof begins."""

from __future__ import annotations

from routing.plan.groups import pushed_tags
from routing.plan.model import RoutePlan

# Of one link of one destination: whether packets may leave by it (a byte), and whether they have come by it
# (a bit).
_PLACE_BYTES = 1 + 1 / 8
# Of a state beside its moves, measured on ER_31 and on a dragonfly of 1,896 routers.
_STATE_BYTES = 4000


def proof_bytes(plan: RoutePlan) -> int:
    """Returns the memory that the proof of a plan takes beside the plan, in bytes, about.

    Args:
        plan: the plan.
    """
    topology = plan.topology
    pushed = [set(pushed_tags(switch.groups)) for switch in plan.switches]
    named = len(set().union(*pushed))
    # Packets with a tag are in one state for each router on their way and each tag.
    tagged = min(topology.diameter * sum(map(len, pushed)), topology.routers * named)
    places = 2 * topology.links + tagged
    destinations = int((topology.host_counts(plan.concentration) > 0).sum())
    return int(places * destinations * _PLACE_BYTES + (2 * topology.routers + tagged) * _STATE_BYTES)
