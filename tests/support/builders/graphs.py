"""Small graphs of all kinds for tests, and failures of several elements at once."""

from __future__ import annotations

from collections.abc import Iterable

import networkx as nx
import numpy as np

from routing.registry import ROUTINGS
from topology.failures import NO_FAILURE, Failure, link_failures, switch_failures
from topology.families.low_diameter.polarstar import PolarStar
from topology.families.low_diameter.slimfly import SlimFly
from topology.shortest_paths import SearchedTopology, adjacency_from_links


class Drawn(SearchedTopology):
    """A graph given by its links; a link that is given twice is two parallel links."""

    name = "drawn"

    def __init__(self, links: Iterable[tuple[int, int]]) -> None:
        links = np.array(sorted(tuple(sorted(link)) for link in links))
        super().__init__(adjacency_from_links(int(links.max()) + 1, links))
        self.params = {}


def drawn(graph: nx.Graph) -> Drawn:
    """Returns the topology of a networkx graph, its nodes numbered in order."""
    return Drawn(nx.convert_node_labels_to_integers(graph).edges)


RING = list(nx.cycle_graph(4).edges)
FABRICS = {
    "polarstar 2 iq 0": lambda: PolarStar(2, "iq", 0),
    "polarstar 2 iq 3": lambda: PolarStar(2, "iq", 3),
    "polarstar 3 paley 2": lambda: PolarStar(3, "paley", 2),
    "slimfly 3": lambda: SlimFly(3),
    "slimfly 4": lambda: SlimFly(4),
    "slimfly 5": lambda: SlimFly(5),
    "torus": lambda: drawn(nx.grid_2d_graph(3, 3, periodic=True)),
    "grid": lambda: drawn(nx.grid_2d_graph(4, 4)),
    "hypercube": lambda: drawn(nx.hypercube_graph(4)),
    "petersen": lambda: drawn(nx.petersen_graph()),
    "ring of 9": lambda: drawn(nx.cycle_graph(9)),
    "line": lambda: drawn(nx.path_graph(5)),
    "barbell": lambda: drawn(nx.barbell_graph(4, 0)),
    "a ring with every link twice": lambda: Drawn(RING + RING),
    "two links and no more": lambda: Drawn([(0, 1), (0, 1)]),
    "a ring with one link twice": lambda: Drawn([*RING, (0, 1)]),
}


def routings_of(family: str) -> list[str]:
    """Returns the names of the routings that a family of topologies has, ascending."""
    return sorted(name for name, one in ROUTINGS.items() if not one.families or family in one.families)


def single_failures(topology):
    """Returns no failure, every single link failure and every single switch failure."""
    return [NO_FAILURE, *link_failures(topology), *switch_failures(topology)]


def together(failures: Iterable[Failure]) -> Failure:
    """Returns the failure of all elements of several failures."""
    failures = list(failures)
    return Failure(
        "+".join(failure.name for failure in failures),
        frozenset().union(*(failure.failed_ends for failure in failures)),
        frozenset().union(*(failure.failed_routers for failure in failures)),
    )
