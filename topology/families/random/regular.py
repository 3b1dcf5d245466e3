"""Random regular graphs: free ports are paired at random until every port has a partner.

In each round the free ports are shuffled and joined in pairs, except for pairs that would duplicate a link or
form one of the excluded links. When no two free ports can be joined any more, a link is removed and its ends
are joined to free ports, as Jellyfish does when it adds switches. As with every fast method, not all graphs
are exactly equally likely.

Source: Singla, Hong, Popa and Godfrey, "Jellyfish: Networking Data Centers Randomly" (NSDI 2012), section 3.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from topology.base import MAX_ROUTERS
from topology.errors import ParameterError
from topology.families.random.generator import SplitMix64
from topology.parameters import Parameter
from topology.shortest_paths import SearchedTopology, adjacency_from_links, connected_components

Links = npt.NDArray[np.int64]  # links x 2: the two ends, the lower first

ROUTERS = Parameter(
    name="routers", type=int, help="number of routers", required=True, least=4, most=MAX_ROUTERS
)
_SWAPS = 64  # attempts to connect two leftover ports before the graph is redrawn


def random_regular_links(routers: int, degree: int, generator: SplitMix64, excluded: Links) -> Links:
    """Returns the links of a random regular graph.

    Args:
        routers: N, the number of routers.
        degree: the number of links of each router, at most its number of possible neighbours. N x degree is
            even.
        generator: the source of random numbers.
        excluded: int64 array, links x 2: links that the graph must not have, the same number at each router.

    Returns:
        int64 array, (N x degree / 2) x 2, in ascending order.
    """
    possible = routers - 1 - 2 * len(excluded) // routers
    if 2 * degree > possible:
        # The graph is dense: drawing the few pairs that are not linked is faster than drawing the links.
        absent = random_regular_links(routers, possible - degree, generator, excluded)
        allowed = np.triu(np.ones((routers, routers), bool), 1)
        for links in (excluded, absent):
            allowed[links[:, 0], links[:, 1]] = False
        return np.argwhere(allowed)
    barred = set(map(tuple, excluded.tolist()))
    while True:
        links, free = _paired(routers, degree, generator, excluded)
        chosen = list(map(tuple, links.tolist()))
        if _placed(chosen, free, barred, generator):
            return np.array(sorted(chosen), np.int64).reshape(-1, 2)


class ConnectedDraw(SearchedTopology):
    """A graph that is redrawn until it is connected.

    Attributes:
        draws: the number of graphs drawn; only the last one is connected.
    """

    def __init__(self, routers: int, draw: Callable[[], Links]) -> None:
        """Draws the graph.

        Args:
            routers: N, the number of routers.
            draw: returns the links of a new random graph at each call; some must be connected.
        """
        self.draws = 0
        connected = False
        while not connected:
            super().__init__(adjacency_from_links(routers, draw()))
            self.draws += 1
            connected = not any(connected_components(self))

    @property
    def remarks(self) -> tuple[str, ...]:
        """A note that graphs were discarded because they were not connected; empty if the first was used."""
        if self.draws == 1:
            return ()
        return (f"drawn {self.draws} times: the graphs before this one were not connected",)


def _paired(routers: int, degree: int, generator: SplitMix64, excluded: Links) -> tuple[Links, list[int]]:
    """Joins ports in pairs at random until no two free ports can be joined.

    Returns:
        (links, free ports): int64 array, links x 2, of routers; and the router of each port that is still
        free, once per port.
    """
    taken = excluded[:, 0] * routers + excluded[:, 1]
    excluded_count = len(taken)
    ports = np.repeat(np.arange(routers), degree)
    progress = True
    while progress and len(ports):
        shuffled = ports[generator.permutation(len(ports))].reshape(-1, 2)
        ends = np.sort(shuffled, axis=1)
        codes = ends[:, 0] * routers + ends[:, 1]
        fits = np.zeros(len(codes), bool)
        fits[np.unique(codes, return_index=True)[1]] = True
        fits &= (ends[:, 0] != ends[:, 1]) & ~np.isin(codes, taken)
        taken = np.concatenate([taken, codes[fits]])
        ports = shuffled[~fits].ravel()
        progress = bool(fits.any())
    drawn = taken[excluded_count:]
    return np.stack([drawn // routers, drawn % routers], axis=1), ports.tolist()


def _placed(
    links: list[tuple[int, ...]], free: list[int], barred: set[tuple[int, ...]], generator: SplitMix64
) -> bool:
    """Connects free ports, two at a time.

    Each step removes a random link, and joins one of its ends to the first port and the other to the second.

    Args:
        links: the links of the graph; modified in place.
        free: the router of each free port.
        barred: links that the graph must not have.
        generator: the source of random numbers.

    Returns:
        Whether all free ports were connected.
    """
    present = {*barred, *links}
    for a, b in zip(free[::2], free[1::2], strict=True):
        for _ in range(_SWAPS if links else 0):
            place = generator.below(2 * len(links))
            x, y = links[place // 2][:: 1 - 2 * (place % 2)]
            new = (min(a, x), max(a, x)), (min(b, y), max(b, y))
            if not {a, b} & {x, y} and new[0] != new[1] and not present & {*new}:
                present.discard(links[place // 2])
                present |= {*new}
                links[place // 2] = new[0]
                links.append(new[1])
                break
        else:
            return False
    return True


def check_even(routers: int, ports: int, name: str, domain: range) -> None:
    """Checks that the total number of ports is even, so that all ports can be paired.

    Args:
        routers: N, the number of routers.
        ports: the number of ports of each router.
        name: the parameter that gives the number of ports.
        domain: the numbers of ports that the family allows.

    Raises:
        ParameterError: N x ports is odd; the message names the nearest values for which it is even.
    """
    if routers * ports % 2:
        others = " or ".join(str(other) for other in (ports - 1, ports + 1) if other in domain)
        raise ParameterError(
            f"routers x {name} must be even, got {routers} x {ports}; nearest: "
            f"--routers {routers - 1} or {routers + 1}" + (f", or --{name} {others}" if others else "")
        )
