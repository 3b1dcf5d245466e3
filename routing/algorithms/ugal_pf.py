"""UGAL_PF (`ugal-pf`): minimal while the way is free, compact Valiant detours while it is not.

A switch has two groups per port, for the destinations behind the port's neighbour and for the neighbour
itself; both begin with all buckets minimal. O(q) groups serve O(q^2) destinations, because the detours
depend on the minimal next hop alone (`topology.families.polarfly_detours`).

The paper decides for every packet: minimal, unless the output buffer toward the minimal next hop is over 2/3
full, then the neighbour with the least occupied buffer. Here the share of detours grows while the minimal
port's buffer is over 2/3 full and does not drain by itself, and shrinks while it is under 1/5; between the
two nothing changes.

Source: PolarFly (SC22), section V-B.
"""

from __future__ import annotations

from routing.algorithms.bucket_control import (
    BUCKETS,
    AdaptiveGroup,
    Change,
    PortOccupancies,
    least_occupied,
    returned_at_once,
)
from routing.algorithms.detour_groups import CandidatePath, detour_plan
from routing.plan.model import Group, GroupKind, RoutePlan
from topology.base import Topology

NAME = "ugal-pf"

HIGH = 2 / 3
LOW = 1 / 5
# A buffer this full will be losing packets: a third of the buckets that use it move at once.
CROWDED = 0.8
SHARE_MOVED = 1 / 3
# One that fills so much faster than of late is about to be.
FAST_RISE = 0.15
# A detour's port must be so much less occupied than the one that it relieves, and not crowded itself.
MARGIN = 1 / 2


def ugal_pf_plan(topology: Topology, concentration: int) -> RoutePlan:
    """Returns the plan whose groups begin minimal and may be pointed at every compact Valiant detour.

    Arguments and errors as `detour_plan`.
    """
    return detour_plan(topology, concentration, NAME, _group, lambda detours: detours)


def _group(number: int, minimal: CandidatePath, detours: list[CandidatePath]) -> Group:
    paths = [minimal, *detours]
    return Group(
        number,
        GroupKind.SELECT,
        (minimal.bucket,) * BUCKETS,
        candidates=tuple(path.bucket for path in paths),
        ports=tuple((path.port,) for path in paths),
    )


def ugal_pf_law(group: AdaptiveGroup, ports: PortOccupancies) -> Change:
    """Moves buckets of one group; see `controller.adaptation.Law`."""
    port = group.ports[0]
    occupancy = ports.now(port)
    if group.detoured and _give_back(group, ports):
        return Change.RETURNED
    rise = ports.rise(port)
    if occupancy >= CROWDED or (occupancy > HIGH and rise > FAST_RISE):
        return _relieve(group, ports, max(1, int(group.minimal_buckets * SHARE_MOVED)))
    if occupancy > HIGH and rise >= 0:
        return _relieve(group, ports, 1)
    if group.detoured and occupancy < LOW and rise <= 0:
        _return(group, ports)
        return Change.RETURNED
    return Change.NONE


def _return(group: AdaptiveGroup, ports: PortOccupancies) -> None:
    """Moves buckets back to the minimal path, from the most occupied detours."""
    for _ in range(returned_at_once(group)):
        group.move(_most_occupied(group, ports), 0)


def _relieve(group: AdaptiveGroup, ports: PortOccupancies, most: int) -> Change:
    """Moves buckets from the minimal path to the detours with the least occupied ports."""
    limit = min(ports.mean(group.ports[0]) - MARGIN, HIGH)
    counts = group.counts()
    moved = 0
    while moved < most:
        target = least_occupied(group, ports, counts)
        if ports.mean(group.ports[target]) > limit or not group.move(0, target):
            break
        counts[target] += 1
        moved += 1
    return Change.DETOURED if moved else Change.NONE


def _give_back(group: AdaptiveGroup, ports: PortOccupancies) -> bool:
    """Gives buckets of a crowded detour back to the minimal path, even if that is crowded, too.

    Where both are full the detour only takes more links.
    """
    crowded = _most_occupied(group, ports)
    if ports.mean(group.ports[crowded]) <= HIGH:
        return False
    for _ in range(max(1, int(group.pointing.count(crowded) * SHARE_MOVED))):
        group.move(crowded, 0)
    return True


def _most_occupied(group: AdaptiveGroup, ports: PortOccupancies) -> int:
    return max(set(group.pointing) - {0}, key=lambda index: ports.mean(group.ports[index]))
