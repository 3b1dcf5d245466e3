"""Moebius ladders: a ring of an even number of routers, each of them linked to its opposite.

Source: Guy and Harary, "On the Möbius ladders" (Canadian Mathematical Bulletin 10, 1967).
"""

from __future__ import annotations

import numpy as np

from polarlab.extend import Family, Parameter, SearchedTopology, adjacency_from_links

RUNGS = Parameter(name="rungs", type=int, help="pairs of opposite routers", required=True, least=3, most=2000)


class Moebius(SearchedTopology):
    """A Moebius ladder: 2 x rungs routers of radix 3."""

    name = "moebius"

    def __init__(self, rungs: int) -> None:
        """Builds the graph.

        Args:
            rungs: pairs of opposite routers, 3 to 2000.

        Raises:
            ParameterError: the number is outside its domain.
        """
        RUNGS.check(rungs)
        self.params = {"rungs": rungs}
        routers = np.arange(2 * rungs)
        ring = np.stack([routers, (routers + 1) % len(routers)], axis=1)
        across = np.stack([routers[:rungs], routers[rungs:]], axis=1)
        super().__init__(adjacency_from_links(len(routers), np.sort(np.concatenate([ring, across]), axis=1)))


FAMILY = Family(
    Moebius,
    (RUNGS,),
    "ring with links between opposite routers: 2 x rungs routers, diameter ceil(rungs / 2)",
    "moebius --rungs 4",
    "classic",
)
