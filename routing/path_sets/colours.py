"""Colours of a dragonfly's routers, for paths whose order of links needs no virtual channels.

In a colouring, a global link joins two routers of the same colour, and the links between every two groups
have all colours. Colours belong to positions in groups, the same in all groups: positions joined by a global
link form a class, and a search assigns each class a colour. Class i gets colour i modulo the number of
colours if that works, as in the palmtree arrangement, whose class i consists of the positions i and a - 1 -
i.

Source: Camarero, Vallejo, Beivide, "Topological Characterization of Hamming and Dragonfly Networks and Its
Implications on Routing" (TACO 2014), section 5.2.2, on the classes of the palmtree's routers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from topology.errors import ParameterError
from topology.families.dragonflies.dragonfly import Dragonfly

Colours = npt.NDArray[np.int64]

_MAX_STEPS = 100_000  # limit of the search
# Number of colours -> options of a small dragonfly that has them.
_SMALLEST: Mapping[int, str] = {
    2: "--a 4 --h 2 --groups 5 --trunking 2",
    4: "--a 8 --h 4 --groups 9 --trunking 4",
}


def router_colours(dragonfly: Dragonfly, colours: int, routing: str) -> Colours:
    """Finds a colouring of a dragonfly's routers.

    Args:
        dragonfly: a dragonfly with complete groups.
        colours: the number of colours, 2 or 4.
        routing: the name of the routing that needs them, for error messages.

    Returns:
        int64 array, N: the colour of each router, 0 to colours - 1.

    Raises:
        ParameterError: the groups are not complete, there are fewer links between two groups than colours, or
            the arrangement has no colouring.
    """
    _check(dragonfly, colours, routing)
    classes = _classes(dragonfly)
    of_links = np.sort(classes[dragonfly.gateways % dragonfly.a], axis=2)
    sets = np.unique(of_links[np.triu_indices(dragonfly.trunking.groups, 1)], axis=0)
    chosen = _search(int(classes.max()) + 1, list(map(set, sets.tolist())), colours)
    if chosen is None:
        raise ParameterError(
            f"arrangement for {routing} must allow {colours} colours of routers such that each global link "
            f"joins one colour and every two groups have links of all colours, got "
            f"{dragonfly.params['arrangement']} with {int(classes.max()) + 1} classes of {dragonfly.a} "
            f"routers, which has no such colouring; try {_advice(colours)}"
        )
    return np.array(chosen, np.int64)[classes[np.arange(dragonfly.routers) % dragonfly.a]]


def _check(dragonfly: Dragonfly, colours: int, routing: str) -> None:
    if len(dragonfly.local) > 1:
        raise ParameterError(
            f"groups for {routing} must be complete graphs, got the Hamming graph "
            f"{dragonfly.params['local']}; omit --local, or try hierarchical"
        )
    if dragonfly.trunking.links < colours:
        raise ParameterError(
            f"trunking for {routing} must be at least {colours}, one link of each colour between every two "
            f"groups, got {dragonfly.trunking.links}; try {_advice(colours)}"
        )


def _advice(colours: int) -> str:
    """Returns command-line options of a dragonfly with that number of colours, for error messages."""
    return f"{_SMALLEST[colours]} with the arrangement palmtree or circulant"


def _classes(dragonfly: Dragonfly) -> npt.NDArray[np.int64]:
    """Returns the class of each position in a group; classes have the order of their first positions."""
    from scipy.sparse import coo_matrix  # slow to import
    from scipy.sparse.csgraph import connected_components

    near, far = (dragonfly.global_links % dragonfly.a).T
    joined = coo_matrix((np.ones(len(near), bool), (near, far)), shape=(dragonfly.a, dragonfly.a))
    labels = connected_components(joined, directed=False)[1]
    _, first = np.unique(labels, return_index=True)
    return np.asarray(np.argsort(np.argsort(first))[labels], np.int64)


def _search(classes: int, sets: Sequence[set[int]], colours: int) -> list[int] | None:
    """Returns a colour for each class such that every set of classes has all colours.

    Args:
        classes: the number of classes.
        sets: sets of classes.
        colours: the number of colours.

    Returns:
        The colours, in the order of the classes; None if this is impossible or the search takes too long.
    """
    trials = [iter(range(colours))]
    chosen = [0]
    for _ in range(_MAX_STEPS):
        turn = next(trials[-1], None)
        if turn is None:
            trials.pop()
            chosen.pop()
            if not trials:
                return None
            continue
        chosen[-1] = (len(chosen) - 1 + turn) % colours
        if not all(_may_have_all(one, chosen, colours) for one in sets):
            continue
        if len(chosen) == classes:
            return chosen
        trials.append(iter(range(colours)))
        chosen.append(0)
    return None


def _may_have_all(classes: set[int], chosen: Sequence[int], colours: int) -> bool:
    """Returns whether a set of classes has all colours, or can still get the missing ones.

    Args:
        classes: a set of classes.
        chosen: the colours already assigned, to the first classes.
        colours: the number of colours.
    """
    coloured = [number for number in classes if number < len(chosen)]
    return len({chosen[number] for number in coloured}) + len(classes) - len(coloured) >= colours
