"""Sizes of families by network radix, from formulas."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from topology.families.family import Member
from topology.families.low_diameter.slimfly import SMALLEST_Q, mms_radix
from topology.registry import family


def prime_powers_below(limit: int) -> list[int]:
    """Returns the prime powers below a limit, ascending.

    Args:
        limit: the limit, at least 2.
    """
    sieve = bytearray([1]) * limit
    powers = []
    for n in range(2, limit):
        if sieve[n]:
            if n <= math.isqrt(limit):
                sieve[n * n :: n] = bytes(len(range(n * n, limit, n)))
            power = n
            while power < limit:
                powers.append(power)
                power *= n
    return sorted(powers)


def slimfly_orders(limit: int) -> list[int]:
    """Returns the orders q of the Slim Flies whose network radix is at most a limit, ascending.

    Args:
        limit: the limit, at least 5.
    """
    return [q for q in prime_powers_below(limit) if q >= SMALLEST_Q and mms_radix(q) <= limit]


def largest_sizes(sizes: Iterable[tuple[int, int]]) -> dict[int, int]:
    """Returns the number of routers of the largest network for each radix.

    Args:
        sizes: (radix, number of routers) of each network.

    Returns:
        Radix -> number of routers, ascending.
    """
    largest: dict[int, int] = {}
    for radix, routers in sizes:
        largest[radix] = max(largest.get(radix, 0), routers)
    return dict(sorted(largest.items()))


def members_of_family(name: str) -> list[Member]:
    """Returns those members of a family that are compared by size, including those too large to build.

    Args:
        name: name of the family.
    """
    members = family(name).members
    return list(members()) if members else []


def up_to(sizes: Mapping[int, int], radix: int) -> int:
    """Returns the routers of the largest member that fits a radix; 0 if there is none.

    Args:
        sizes: radix -> number of routers.
        radix: ports of a switch, some of which may stay unused.
    """
    return max((routers for own, routers in sizes.items() if own <= radix), default=0)
