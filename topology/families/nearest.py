"""Members of families that are nearest to a given network radix or number of hosts."""

from __future__ import annotations

from topology.addressing import MAX_HOSTS
from topology.base import MAX_ROUTERS
from topology.families.family import Family, Member
from topology.parameters import Parameter
from topology.plugins import returned

RADIX = Parameter(
    name="radix",
    type=int,
    help="network radix: links of a router to other routers",
    least=3,
    most=MAX_ROUTERS - 1,
)
ENDPOINTS = Parameter(
    name="endpoints", type=int, help="hosts in the whole network", least=2, most=MAX_ROUTERS * MAX_HOSTS
)
CLOSE = 0.1  # relative difference in endpoints that counts as a match


def members_of(family: Family) -> list[Member]:
    """Returns the members of a family that can be built and are compared by size.

    Args:
        family: an entry of the registry.

    Returns:
        Members of at most 16384 routers with at most 254 hosts each; empty for families that yield no
        members.
    """
    if family.members is None:
        return []
    every = [returned(family.members, one, Member, "Members") for one in family.members()]
    return [one for one in every if one.routers <= MAX_ROUTERS and one.hosts <= MAX_HOSTS]


def nearest_member(family: Family, radix: int | None, endpoints: int | None) -> Member | None:
    """Returns the member of a family that is nearest to the given size.

    Args:
        family: an entry of the registry.
        radix: the network radix k', at least 3; None for any.
        endpoints: the number of hosts in the whole network, at least 2; None for any.

    Returns:
        With radix and endpoints, the member with the smallest sum of relative differences. With a radix
        alone, the member with the most endpoints among those of the nearest radix. With endpoints alone, the
        member with the smallest radix among those whose number of endpoints differs by at most a tenth, or
        else the member with the nearest number. None for a family without members.
    """

    def difference(member: Member) -> float:
        by_radix = abs(member.radix - radix) / radix if radix else 0.0
        by_endpoints = abs(member.endpoints - endpoints) / endpoints if endpoints else 0.0
        return by_radix + by_endpoints

    def order(member: Member) -> tuple[float, ...]:
        ties = -member.endpoints, member.radix, member.routers
        if radix is None and difference(member) <= CLOSE:
            # By size alone, members with impractically many ports would be the nearest.
            return 0, member.radix, difference(member), *ties
        return 1, difference(member), *ties

    return min(members_of(family), key=order, default=None)
