"""Balance: the number of hosts per router at which links saturate under uniform traffic.

Links are divided into classes, such as the local and global links of a dragonfly. With p hosts at every
router, uniform traffic to all hosts and minimal paths, a class with d directed links per router carries p m
packets per router per packet time, where m is the mean number of hops over its links on a path. If p > d / m,
the class saturates before the hosts reach their full injection rate. A topology is balanced if all of its
classes allow the same whole number of hosts.

A dragonfly of b groups of a routers and t links between every two groups has t (b - 1) / (a (a - 1)) global
links for each local one (alpha). It is balanced if that is also the ratio of global to local hops of a path;
`balanced_alpha` and `groups_at` compute the number of groups for which it is.

Source: the limits of classes are derived here from the load of links under uniform traffic. Alpha: Camarero,
Vallejo, Beivide, "Topological Characterization of Hamming and Dragonfly Networks and Its Implications on
Routing" (TACO 2014), equations (2) to (4). For the trunked dragonfly of its Table II (24 routers per group,
13 global links, 79 groups, trunking 4), both confirm the balance with 13 hosts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

# Tolerance for rounding: 4 x 4 routers carry 4 hosts, not 3.9999.
_ROUNDING = 1e-9


@dataclass(frozen=True)
class LinkClass:
    """Links that carry the same average load under uniform traffic.

    Attributes:
        name: the name of the class, such as `local`.
        links: d, the number of links of the class at each router.
        hops: m, the mean number of hops over these links on a minimal path from a router to any router,
            including itself.
    """

    name: str
    links: int
    hops: float

    @property
    def hosts(self) -> float:
        """The number of hosts per router at which the class saturates, d / m."""
        return self.links / self.hops


@dataclass(frozen=True)
class Balance:
    """How many hosts per router a topology supports under uniform traffic, in total and by class of links.

    Attributes:
        hosts: the largest number of hosts per router at which every class of links can
            carry the full injection rate of the hosts.
        balanced: whether all classes allow this number and no more.
        limits: class of links -> number of hosts per router at which it saturates, not rounded.
    """

    hosts: int
    balanced: bool
    limits: dict[str, float]


def balance_of(classes: Sequence[LinkClass]) -> Balance | None:
    """Returns how many hosts per router a topology supports under uniform traffic.

    Args:
        classes: the classes of all links of a topology.

    Returns:
        The balance; None without classes.
    """
    used = [one for one in classes if one.links and one.hops > 0]
    if not used:
        return None
    whole = [int(one.hosts + _ROUNDING) for one in used]
    limits = {one.name: one.hosts for one in used}
    return Balance(min(whole), len(set(whole)) == 1, limits)


def balanced_alpha(routers: int, trunking: int) -> float:
    """Returns the ratio of global to local hops under uniform traffic, equation (2).

    Low-order terms are left out, and so are packets within a group.

    Args:
        routers: a, the number of routers of a group.
        trunking: t, the number of links between every two groups, 1 to a.
    """
    return 1 / (1 + (trunking / routers - 1) ** 2)


def groups_at(alpha: float, routers: int, trunking: int) -> float:
    """Returns the number of groups of a dragonfly with a given ratio of global to local links, equation (3).

    With `balanced_alpha`, this is the number of groups of a balanced dragonfly, equation (4).

    Args:
        alpha: global links per local link.
        routers: a, the number of routers of a group.
        trunking: t, the number of links between every two groups.

    Returns:
        The number of groups, not rounded.
    """
    return 1 + alpha * routers * (routers - 1) / trunking
