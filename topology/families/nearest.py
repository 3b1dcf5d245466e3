"""Members of families that are nearest to a network radix or to a number of hosts."""

from __future__ import annotations

from topology.addressing import MAX_HOSTS
from topology.base import MAX_ROUTERS
from topology.families.family import Family, Member
from topology.parameters import Parameter

RADIX = Parameter(
    name="radix",
    type=int,
    help="network radix: links of a router to others",
    least=3,
    most=MAX_ROUTERS - 1,
)
ENDPOINTS = Parameter(
    name="endpoints", type=int, help="hosts of the whole network", least=2, most=MAX_ROUTERS * MAX_HOSTS
)
CLOSE = 0.1  # relative difference of endpoints that are as good as those that are asked for


def members_of(family: Family) -> list[Member]:
    """Returns the members of a family that are compared by size and can be built.

    Args:
        family: an entry of the registry.

    Returns:
        Members of at most 16384 routers with at most 254 hosts each; none of a family that is not a series.
    """
    every = family.members() if family.members else ()
    return [one for one in every if one.routers <= MAX_ROUTERS and one.hosts <= MAX_HOSTS]


def nearest_member(family: Family, radix: int | None, endpoints: int | None) -> Member | None:
    """Returns the member of a family that is nearest to a size.

    Args:
        family: an entry of the registry.
        radix: the network radix k', at least 3; None for any.
        endpoints: the number of hosts of the whole network, at least 2; None for any.

    Returns:
        With both, the member with the least sum of relative differences; with a radix alone, of the nearest
        radix the one with the most endpoints; with endpoints alone, of those that differ by a tenth at most
        the one with the smallest radix, else the nearest. None of a family without members.
    """

    def apart(member: Member) -> float:
        by_radix = abs(member.radix - radix) / radix if radix else 0.0
        by_endpoints = abs(member.endpoints - endpoints) / endpoints if endpoints else 0.0
        return by_radix + by_endpoints

    def order(member: Member) -> tuple[float, ...]:
        ties = -member.endpoints, member.radix, member.routers
        if radix is None and apart(member) <= CLOSE:
            # Where the size alone counts, nearest would be members of many ports that nobody would build.
            return 0, member.radix, apart(member), *ties
        return 1, apart(member), *ties

    return min(members_of(family), key=order, default=None)
