"""Balance: numbers of hosts at which the links of a topology saturate under uniform traffic.

Links are divided into classes, as the local and the global ones of a dragonfly. With p hosts at every
router, uniform traffic to all hosts and minimal paths, a class of d directed links a router carries p m
packets a router and packet time, where m is the mean number of its hops on a path. It saturates before the
hosts inject at their full rate if p > d / m. A member is balanced if all of its classes allow the same whole
number of hosts.

Source: derived here, as the load of links under uniform traffic; the equations (2) to (5) of Camarero,
Vallejo, Beivide, "Topological Characterization of Hamming and Dragonfly Networks and Its Implications on
Routing" (TACO 2014) are about the same. The trunked dragonfly of its Table II (24 routers a group, 13 global
links, 79 groups, trunking 4) comes out balanced with the 13 hosts that it has there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

# Differences of rounding: 4 x 4 routers carry 4 hosts, not 3.9999.
_ROUNDING = 1e-9


@dataclass(frozen=True)
class LinkClass:
    """Links that carry the same load under uniform traffic, on average.

    Attributes:
        name: the name of the class, as `local`.
        links: d, the number of links of the class at each router.
        hops: m, the mean number of hops by these links on a minimal path from a router to any router, itself
            included.
    """

    name: str
    links: int
    hops: float

    @property
    def hosts(self) -> float:
        """The number of hosts a router at which the class saturates, d / m."""
        return self.links / self.hops


@dataclass(frozen=True)
class Balance:
    """Numbers of hosts that a member carries under uniform traffic.

    Attributes:
        hosts: the largest number of hosts at each router at which no class of links saturates before them.
        balanced: whether all classes allow just as many.
        limits: class of links -> number of hosts a router at which it saturates, not rounded.
    """

    hosts: int
    balanced: bool
    limits: dict[str, float]


def balance_of(classes: Sequence[LinkClass]) -> Balance | None:
    """Returns the numbers of hosts that classes of links carry.

    Args:
        classes: the classes of all links of a topology.

    Returns:
        The balance; None of a topology without classes.
    """
    used = [one for one in classes if one.links and one.hops > 0]
    if not used:
        return None
    whole = [int(one.hosts + _ROUNDING) for one in used]
    limits = {one.name: one.hosts for one in used}
    return Balance(min(whole), len(set(whole)) == 1, limits)
