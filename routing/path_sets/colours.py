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

from collections.abc import Iterator, Sequence
from itertools import islice

import numpy as np
import numpy.typing as npt

from topology.base import MAX_ROUTERS
from topology.errors import ParameterError
from topology.families.dragonflies.dragonfly import Dragonfly
from topology.families.dragonflies.global_links import (
    ARRANGEMENTS,
    Trunking,
    gateways,
    global_links,
    trunkings,
)

Colours = npt.NDArray[np.int64]

_MAX_STEPS = 100_000  # limit of the search
# The search for the nearest member with a colouring: its limit for one member, most members, and how far
# sizes of groups and numbers of global links may be from the given ones.
_MAX_STEPS_NEARBY, _MAX_NEARBY = 1_000, 40
_SIZES_NEARBY, _LINKS_NEARBY = 4, 2


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
    classes = _classes(dragonfly.a, dragonfly.gateways)
    chosen = _colours_of_classes(classes, dragonfly.gateways, colours, _MAX_STEPS)
    if chosen is None:
        raise ParameterError(
            f"arrangement for {routing} must allow {colours} colours of routers such that each global link "
            f"joins one colour and every two groups have links of all colours, got "
            f"{dragonfly.params['arrangement']} with {int(classes.max()) + 1} classes of {dragonfly.a} "
            f"routers, which has no such colouring; {_nearest(dragonfly, colours)}"
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
            f"groups, got {dragonfly.trunking.links}; {_nearest(dragonfly, colours)}"
        )


def _nearest(dragonfly: Dragonfly, colours: int) -> str:
    """Returns the end of a message that names the nearest member that has a colouring.

    It has the smallest sum of relative differences in the sizes of groups, the global links of a router, the
    number of groups, and the links between two of them.
    """
    arrangement = str(dragonfly.params["arrangement"])
    if arrangement not in ("palmtree", "circulant"):
        arrangement = "palmtree"
    for a, h, trunking in islice(_members_nearby(dragonfly, colours, arrangement), _MAX_NEARBY):
        places = np.tile(np.repeat(np.arange(a), h), (trunking.groups, 1))
        ends = gateways(ARRANGEMENTS[arrangement](trunking, 1), trunking, places)
        if _colours_of_classes(_classes(a, ends), ends, colours, _MAX_STEPS_NEARBY) is not None:
            return (
                f"nearest with {colours} colours: --a {a} --h {h} --groups {trunking.groups} "
                f"--trunking {trunking.links} --arrangement {arrangement}"
            )
    return f"no member near it has {colours} colours; try hierarchical"


def _members_nearby(
    dragonfly: Dragonfly, colours: int, arrangement: str
) -> Iterator[tuple[int, int, Trunking]]:
    """Yields a, h and trunking of members with enough links between two groups, the nearest first."""
    found: list[tuple[int, int, Trunking]] = []
    largest = max(dragonfly.a + _SIZES_NEARBY, 2 * colours)  # a palmtree has a class for two positions
    most = max(dragonfly.h + _LINKS_NEARBY, colours)
    for a in range(max(2, dragonfly.a - _SIZES_NEARBY), largest + 1):
        for h in range(max(1, dragonfly.h - _LINKS_NEARBY), most + 1):
            fitting = [one for one in trunkings(a * h, a) if one.links >= colours]
            if arrangement == "circulant":
                fitting = [one for one in fitting if h % 2 == 0 and one.groups % 2]
            found += [(a, h, one) for one in fitting if a * one.groups <= MAX_ROUTERS]
    given = (dragonfly.a, dragonfly.h, dragonfly.trunking.groups, dragonfly.trunking.links)

    def distance(member: tuple[int, int, Trunking]) -> float:
        a, h, trunking = member
        sizes = (a, h, trunking.groups, trunking.links)
        return sum(abs(size - own) / own for size, own in zip(sizes, given, strict=True))

    yield from sorted(found, key=distance)


def _colours_of_classes(
    classes: npt.NDArray[np.int64], ends: npt.NDArray[np.int64], colours: int, most_steps: int
) -> list[int] | None:
    """Returns a colour for each class of positions; None if the search finds none.

    Args:
        classes: the class of each position.
        ends: int64 array, b x b x t: the gateways between every two groups.
        colours: the number of colours.
        most_steps: the limit of the search.
    """
    of_links = np.sort(classes[ends % len(classes)], axis=2)
    sets = np.unique(of_links[np.triu_indices(len(ends), 1)], axis=0)
    return _search(int(classes.max()) + 1, list(map(set, sets.tolist())), colours, most_steps)


def _classes(a: int, ends: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Returns the class of each position in a group; classes are numbered by their first positions.

    Args:
        a: the number of routers of a group.
        ends: int64 array, b x b x t: the gateways between every two groups.
    """
    from scipy.sparse import coo_matrix  # slow to import
    from scipy.sparse.csgraph import connected_components

    near, far = (global_links(ends) % a).T
    joined = coo_matrix((np.ones(len(near), bool), (near, far)), shape=(a, a))
    labels = connected_components(joined, directed=False)[1]
    _, first = np.unique(labels, return_index=True)
    return np.asarray(np.argsort(np.argsort(first))[labels], np.int64)


def _search(classes: int, sets: Sequence[set[int]], colours: int, most_steps: int) -> list[int] | None:
    """Returns a colour for each class such that every set of classes has all colours.

    Args:
        classes: the number of classes.
        sets: sets of classes.
        colours: the number of colours.
        most_steps: the limit of the search.

    Returns:
        The colours, in the order of the classes; None if this is impossible or the search takes too long.
    """
    trials = [iter(range(colours))]
    chosen = [0]
    for _ in range(most_steps):
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
