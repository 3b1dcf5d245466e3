"""UGAL_PF (`ugal-pf`): minimal while the path is free, compact Valiant detours while it is not.

A switch has two choice groups per port, one for the destinations behind the port's neighbour and one for
the neighbour itself; both begin with all buckets minimal. O(q) groups serve O(q^2) destinations, because
the detours depend on the minimal next hop alone (`topology.families.polarfly_detours`).

The paper decides for every packet: minimal, unless the output buffer toward the minimal next hop is over
2/3 full, then the neighbour with the least occupied buffer. Here the share of detours grows while the
minimal port's buffer is over 2/3 full and does not drain by itself, or is 4/5 full; it shrinks while that
buffer is under 1/5 full and does not fill, or a detour's own buffer is over 2/3 full. Otherwise it stays.

Source: PolarFly (SC22), section V-B.
"""

from __future__ import annotations

from routing.algorithms.bucket_control import (
    BUCKETS,
    AdaptiveGroup,
    Change,
    PortOccupancies,
    least_occupied,
    max_returned,
)
from routing.algorithms.detour_groups import CandidatePath, detour_plan
from routing.plan.model import Group, GroupKind, RoutePlan
from topology.base import Topology

NAME = "ugal-pf"

# Occupancies of the minimal port's buffer above which detours are taken, and below which they are given back.
HIGH = 2 / 3
LOW = 1 / 5
# A buffer this full is about to lose packets: a third of the buckets that use it move at once.
CROWDED = 0.8
SHARE_MOVED = 1 / 3
# So does a third of them where the occupancy exceeds its running mean by this much.
FAST_RISE = 0.15
# The occupancy of a detour's port must be this much below that of the port that it relieves.
MARGIN = 1 / 2


def ugal_pf_plan(topology: Topology, concentration: int) -> RoutePlan:
    """Returns the plan whose groups begin minimal and have all compact Valiant detours as candidates.

    Args:
        topology: the fabric's graph; its family has detours.
        concentration: p, the number of hosts at each router that has any, 1 to 254.

    Raises:
        UsageError: the topology's family has no detours.
        ParameterError: more hosts or routers than addresses and tags can tell apart.
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
    """Moves buckets of one group between its minimal path and its detours.

    Args:
        group: the group; every candidate has one port.
        ports: the occupancies of the switch's ports.

    Returns:
        The direction of the change.
    """
    port = group.ports[0]
    occupancy = ports.now(port)
    if group.has_detours and _give_back(group, ports):
        return Change.RETURNED
    rise = ports.rise(port)
    if occupancy >= CROWDED or (occupancy > HIGH and rise > FAST_RISE):
        return _relieve(group, ports, max(1, int(group.minimal_buckets * SHARE_MOVED)))
    if occupancy > HIGH and rise >= 0:
        return _relieve(group, ports, 1)
    if group.has_detours and occupancy < LOW and rise <= 0:
        _return(group, ports)
        return Change.RETURNED
    return Change.NONE


def _return(group: AdaptiveGroup, ports: PortOccupancies) -> None:
    """Moves buckets back to the minimal path, from the most occupied detours."""
    for _ in range(max_returned(group)):
        group.move(_most_occupied(group, ports), 0)


def _relieve(group: AdaptiveGroup, ports: PortOccupancies, most: int) -> Change:
    """Moves buckets from the minimal path to the detours with the least occupied ports."""
    limit = ports.mean(group.ports[0]) - MARGIN
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
    """Gives buckets of a crowded detour back to the minimal path, even if that is crowded as well.

    Where both are full, the detour only loads more links.
    """
    crowded = _most_occupied(group, ports)
    if ports.mean(group.ports[crowded]) <= HIGH:
        return False
    for _ in range(max(1, int(group.pointing.count(crowded) * SHARE_MOVED))):
        group.move(crowded, 0)
    return True


def _most_occupied(group: AdaptiveGroup, ports: PortOccupancies) -> int:
    """Returns the candidate of the detour in use with the most occupied port."""
    return max(set(group.pointing) - {0}, key=lambda index: ports.mean(group.ports[index]))
