"""Global links of dragonflies: trunking, and the four arrangements.

Each of b groups has P global ports, numbered 0 .. P - 1, and t links to every other group: P = t (b - 1). An
arrangement determines which two ports each link joins. Port l, with r = l mod (b - 1), of group g leads

- palmtree: to group g - r - 1, port P - 1 - l;
- consecutive: to the r-th of the other groups in ascending order;
- circulant: forward and backward ports alternate; the i-th forward port leads to the i-th backward port of
  group g + (i mod ((b - 1) / 2)) + 1, so that both ends have the same position in their groups;
- random: as in `consecutive`, after the ports of each group are renumbered at random.

Source: Camarero, Vallejo, Beivide, "Topological Characterization of Hamming and Dragonfly Networks and Its
Implications on Routing" (TACO 2014): sections 4.1.1 (consecutive), 4.1.2 and 5.2.2 (palmtree), 4.1.3 and
5.2.3 (circulant). One correction: the paper says that the routers of a palmtree have at most floor(a / 2)
classes, but for odd a there are ceil(a / 2).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from topology.errors import ParameterError
from topology.families.random.generator import SplitMix64
from topology.files.escaping import quoted

Ends = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Trunking:
    """The size of a fully connected set of groups.

    Attributes:
        groups: b, the number of groups.
        ports: P = t (b - 1), the number of global ports of each group.
    """

    groups: int
    ports: int

    @property
    def links(self) -> int:
        """t, the number of links between every two groups."""
        return self.ports // (self.groups - 1)


def trunkings(ports: int, most: int) -> list[Trunking]:
    """Returns all ways to connect every two groups by the same number of links, with P ports per group.

    Args:
        ports: P, the number of global ports of each group, at least 1.
        most: the largest trunking t, at least 1.

    Returns:
        One entry for each divisor t of P up to `most`, ascending by t.
    """
    return [Trunking(ports // t + 1, ports) for t in range(1, min(ports, most) + 1) if ports % t == 0]


def palmtree(trunking: Trunking) -> Ends:
    """Returns the links of the extended palmtree arrangement.

    Args:
        trunking: the numbers of groups and ports.

    Returns:
        int64 array, links x 4: group, port, other group, other port; the lower group comes first.

    Source:
        TACO 2014, sections 4.1.2 and 5.2.2.
    """
    group, port = _ports(trunking)
    other = (group - 1 - port % (trunking.groups - 1)) % trunking.groups
    return _once(group, port, other, trunking.ports - 1 - port)


def consecutive(trunking: Trunking) -> Ends:
    """Returns the links of the consecutive arrangement.

    Args:
        trunking: the numbers of groups and ports.

    Returns:
        int64 array, links x 4, as in `palmtree`.

    Source:
        TACO 2014, section 4.1.1; with several links between two groups, the order repeats.
    """
    group, port = _ports(trunking)
    turn, rank = np.divmod(port, trunking.groups - 1)
    other = rank + (rank >= group)
    return _once(group, port, other, turn * (trunking.groups - 1) + group - (group > other))


def circulant(trunking: Trunking) -> Ends:
    """Returns the links of the extended circulant arrangement.

    Args:
        trunking: the numbers of groups (odd) and ports (even).

    Returns:
        int64 array, links x 4, as in `palmtree`.

    Source:
        TACO 2014, sections 4.1.3 and 5.2.3.
    """
    group, port = _ports(trunking)
    forward = port % 2 == 0
    group, port = group[forward], port[forward]
    other = (group + 1 + port // 2 % ((trunking.groups - 1) // 2)) % trunking.groups
    ends = np.stack([group, port, other, port + 1], axis=1)
    return np.where((group < other)[:, None], ends, ends[:, [2, 3, 0, 1]])


def drawn(trunking: Trunking, seed: int) -> Ends:
    """Returns the links of the random arrangement.

    Args:
        trunking: the numbers of groups and ports.
        seed: seed of the random generator. A seed gives the same links with every version of the libraries.

    Returns:
        int64 array, links x 4, as in `palmtree`; several links may join the same two routers.
    """
    generator = SplitMix64(seed)
    shuffled = np.stack([generator.permutation(trunking.ports) for _ in range(trunking.groups)])
    ends = consecutive(trunking)
    ends[:, 1] = shuffled[ends[:, 0], ends[:, 1]]
    ends[:, 3] = shuffled[ends[:, 2], ends[:, 3]]
    return ends


ARRANGEMENTS: Mapping[str, Callable[[Trunking, int], Ends]] = {
    "palmtree": lambda trunking, _seed: palmtree(trunking),
    "consecutive": lambda trunking, _seed: consecutive(trunking),
    "circulant": lambda trunking, _seed: circulant(trunking),
    "random": drawn,
}


def check_arrangement(name: str, trunking: Trunking, ports_each: int, fitting: list[Trunking]) -> None:
    """Checks that an arrangement exists for the given numbers.

    Args:
        name: the name of an arrangement, a key of `ARRANGEMENTS`.
        trunking: the numbers of groups and ports.
        ports_each: h, the number of global ports of each router.
        fitting: all valid numbers of groups for this number of ports; the message names the nearest.

    Raises:
        ParameterError: the name is unknown; or it is `circulant`, and h is odd or the number of groups even.
    """
    if name not in ARRANGEMENTS:
        raise ParameterError(f"arrangement must be one of {', '.join(ARRANGEMENTS)}, got {quoted(name)}")
    if name != "circulant":
        return
    if ports_each % 2:
        raise ParameterError(
            f"h must be even for the arrangement circulant, got {ports_each}; "
            f"nearest: {ports_each - 1 or 2} and {ports_each + 1}"
        )
    if trunking.groups % 2 == 0:
        odd = [one for one in fitting if one.groups % 2]
        raise ParameterError(
            f"groups must be odd for the arrangement circulant, got {trunking.groups} "
            f"(trunking {trunking.links}); {nearest_text(odd, trunking.groups)}"
        )


def nearest_text(fitting: list[Trunking], groups: int) -> str:
    """Returns the end of a message that names the nearest valid numbers of groups.

    Args:
        fitting: the valid numbers, at least one.
        groups: the requested number of groups.
    """
    below = max((one for one in fitting if one.groups <= groups), key=lambda one: one.groups, default=None)
    above = min((one for one in fitting if one.groups > groups), key=lambda one: one.groups, default=None)
    near = [f"{one.groups} (trunking {one.links})" for one in (below, above) if one]
    return f"nearest: {' and '.join(near)}"


def gateways(ends: Ends, trunking: Trunking, routers: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Returns the routers at the ends of the global links between every two groups.

    Args:
        ends: the links, as returned by an arrangement.
        trunking: the numbers of groups and ports.
        routers: int64 array, groups x ports: the router that has each global port.

    Returns:
        int64 array, groups x groups x t. Link number c between groups g and k joins the routers [g, k, c] and
        [k, g, c]; entries [g, g, c] are -1, because a group has no link to itself.
    """
    # Sorted by both groups, the links between two groups are consecutive.
    ordered = ends[np.lexsort((ends[:, 1], ends[:, 2], ends[:, 0]))]
    group, port, other, other_port = ordered.T
    number = np.arange(len(ordered)) % trunking.links
    holders = np.full((trunking.groups, trunking.groups, trunking.links), -1, np.int64)
    holders[group, other, number] = routers[group, port]
    holders[other, group, number] = routers[other, other_port]
    return holders


def global_links(holders: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Returns the two routers at the ends of every global link.

    Args:
        holders: int64 array, groups x groups x t, as `gateways` returns it.

    Returns:
        int64 array, links x 2: the router of the lower group first; ascending by the two groups.
    """
    low, high = np.triu_indices(len(holders), 1)
    return np.stack([holders[low, high].ravel(), holders[high, low].ravel()], axis=1)


def _ports(trunking: Trunking) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Returns two arrays with one entry for each global port: its group, and its number in the group."""
    group, port = np.divmod(np.arange(trunking.groups * trunking.ports), trunking.ports)
    return group, port


def _once(
    group: npt.NDArray[np.int64],
    port: npt.NDArray[np.int64],
    other: npt.NDArray[np.int64],
    other_port: npt.NDArray[np.int64],
) -> Ends:
    """Returns each global link once, from arrays that list it at both of its ends.

    Entry i of the arrays is one end: port `port[i]` of group `group[i]` is joined to port `other_port[i]` of
    group `other[i]`.

    Returns:
        int64 array, links x 4: group, port, other group, other port; the lower group comes first.
    """
    return np.stack([group, port, other, other_port], axis=1)[group < other]
