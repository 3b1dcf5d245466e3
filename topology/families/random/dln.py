"""DLN: a ring with random shortcuts.

Every router has two links on the ring and y links to random routers; the paper calls the network DLN-2-y. The
shortcuts form a random regular graph that contains no links of the ring.

Source: Koibuchi, Matsutani, Amano, Hsu and Casanova, "A Case for Random Shortcut Topologies for HPC
Interconnects" (ISCA 2012); Slim Fly (SC14), section III, compares with it.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import isqrt

import numpy as np

from topology.base import MAX_ROUTERS
from topology.errors import ParameterError
from topology.families.family import Family, Member, carried_hosts
from topology.families.random.generator import SEED, SplitMix64
from topology.families.random.regular import ROUTERS, check_even, random_regular_links
from topology.layout import Layout, circle
from topology.parameters import Parameter
from topology.shortest_paths import SearchedTopology, adjacency_from_links

SHORTCUTS = Parameter(
    name="shortcuts",
    type=int,
    help="random links of each router, in addition to two on the ring",
    required=True,
    least=1,
    domain_text="1 to the number of routers minus 3",
)


class ShortcutRing(SearchedTopology):
    """A ring in which every router has the same number of random shortcuts.

    Router order: along the ring.
    """

    name = "dln"

    def __init__(self, routers: int, shortcuts: int, seed: int = 1) -> None:
        """Draws the graph.

        Args:
            routers: N, the number of routers, 4 to 16384.
            shortcuts: y, the number of shortcuts of each router, 1 to N - 3; N x y is even.
            seed: the seed of the random shortcuts, 0 to 2^63 - 1.

        Raises:
            ParameterError: a parameter is outside its domain, or N x y is odd; the message names the nearest
                values.
        """
        for declared, value in ((ROUTERS, routers), (SHORTCUTS, shortcuts), (SEED, seed)):
            declared.check(value)
        if shortcuts > routers - 3:
            raise ParameterError(
                f"shortcuts of a ring of {routers} routers must be 1 to {routers - 3}, got {shortcuts}"
            )
        check_even(routers, shortcuts, SHORTCUTS.name, range(1, routers - 2))
        self.params = {"routers": routers, "shortcuts": shortcuts, "seed": seed}
        around = np.arange(routers)
        ring = np.sort(np.stack([around, (around + 1) % routers], axis=1), axis=1)
        drawn = random_regular_links(routers, shortcuts, SplitMix64(seed), ring)
        super().__init__(adjacency_from_links(routers, np.concatenate([ring, drawn])))

    def layout(self) -> Layout:
        """Returns the ring; the shortcuts are its chords.

        Returns:
            A layout with one kind of routers.
        """
        return Layout(circle(self.routers), np.zeros(self.routers, np.int64), ("routers",))


def _members() -> Iterator[Member]:
    """Yields one DLN for each network radix, with as many routers as the PolarFly of that radix.

    An odd radix needs an even number of routers, so the DLN then has one router fewer.
    """
    for radix in range(3, isqrt(MAX_ROUTERS) + 1):
        routers = radix * (radix - 1) + 1 - radix % 2
        yield Member({"routers": routers, "shortcuts": radix - 2}, radix, routers, carried_hosts(radix, 2))


FAMILY = Family(
    ShortcutRing,
    (ROUTERS, SHORTCUTS, SEED),
    "ring with random shortcuts (DLN-2-y): radix 2 + shortcuts",
    "dln --routers 20 --shortcuts 2 --seed 1",
    "random",
    members=_members,
)
