"""Positions of two routers in their topology, and the reason for the path between them, in words.

A family may have its own explanation in GEOMETRIES; for other families, the text says how many links the
routers are apart, and how many shortest paths there are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from topology.addressing import switch_name
from topology.base import Topology
from topology.families.low_diameter.polarfly import PolarFly
from topology.families.low_diameter.polarstar import PolarStar


def lines_between(topology: Topology, source: int, destination: int) -> list[str]:
    """Returns lines about the positions of two routers.

    Args:
        topology: graph of the routers.
        source: a router.
        destination: another router.
    """
    lines = []
    if topology.labels:
        labels = (f"{switch_name(router)} is {topology.labels[router]}" for router in (source, destination))
        lines.append(", ".join(labels) + " in the file.")
    explained = GEOMETRIES.get(topology.geometry, _shortest_paths)
    return [*lines, *explained(topology, source, destination)]


def _cross_product(topology: Topology, source: int, destination: int) -> list[str]:
    """Returns sentences on the points of two routers in ER_q and on their cross product.

    Source: PolarFly, section IV-D.
    """
    assert isinstance(topology, PolarFly)
    q = topology.q
    s, d = topology.vectors(source), topology.vectors(destination)
    names = switch_name(source), switch_name(destination)
    product = int(topology.dot(source, destination))
    lines = [
        f"In ER_{q}, {names[0]} is the point {_text(s)} of the projective plane over GF({q}), "
        f"{names[1]} the point {_text(d)}."
    ]
    for name, router in zip(names, (source, destination), strict=True):
        if int(topology.dot(router, router)) == 0:
            lines.append(f"{name} is a quadric: its dot product with itself is 0.")
    if product == 0:
        return [*lines, "Their dot product is 0: they are adjacent."]
    cross = topology.cross(source, destination)
    middle = int(topology.indices(cross))
    return [
        *lines,
        f"Their dot product is {product}, not 0: they are not adjacent.",
        f"Their cross product is {_text(cross)}, which is the point {_text(topology.vectors(middle))}: "
        f"{switch_name(middle)}, the only switch that is adjacent to both.",
    ]


def _supernodes(topology: Topology, source: int, destination: int) -> list[str]:
    """Returns sentences on the supernodes of two routers, and on the supernode adjacent to both.

    That supernode is at the cross product of the two supernodes' points. Source: PolarStar, section 9.2.
    """
    assert isinstance(topology, PolarStar)
    structure, m = topology.structure, topology.order
    (u, x), (v, y) = divmod(source, m), divmod(destination, m)
    places = [
        f"{switch_name(router)} is vertex {vertex} of the supernode at the point "
        f"{_text(structure.vectors(supernode))}"
        for router, supernode, vertex in ((source, u, x), (destination, v, y))
    ]
    lines = [f"In this star product of ER_{structure.q}, {places[0]}, {places[1]}."]
    distance = _shortest_paths(topology, source, destination)
    if u == v:
        return [*lines, "They are in the same supernode.", *distance]
    if int(structure.dot(u, v)) == 0:
        return [
            *lines,
            "Their supernodes are adjacent: every vertex of one has a link to a vertex of the other.",
            *distance,
        ]
    middle = int(structure.indices(structure.cross(u, v)))
    return [
        *lines,
        f"Their supernodes are not adjacent: the only one that is adjacent to both is at the cross product "
        f"of their points, {_text(structure.vectors(middle))} ({switch_name(middle * m)} to "
        f"{switch_name(middle * m + m - 1)}).",
        *distance,
    ]


def _shortest_paths(topology: Topology, source: int, destination: int) -> list[str]:
    """Returns a line about the distance of two routers and the number of their shortest paths."""
    distance = int(topology.distances(source, destination))
    paths = _paths(topology, source, destination, distance)
    text = "one shortest path" if paths == 1 else f"{paths} shortest paths"
    apart = "adjacent" if distance == 1 else f"{distance} links apart"
    return [f"They are {apart}, with {text}."]


def _paths(topology: Topology, source: int, destination: int, distance: int) -> int:
    """Returns the number of shortest paths; parallel links make different paths."""
    at = {source: 1}
    for left in range(distance - 1, -1, -1):
        after: dict[int, int] = {}
        for router, paths in at.items():
            for neighbour in topology.neighbours(router).tolist():
                if int(topology.distances(neighbour, destination)) == left:
                    after[neighbour] = after.get(neighbour, 0) + paths
        at = after
    return at[destination]


def _text(vector: np.ndarray[Any, Any]) -> str:
    return "(" + ", ".join(map(str, vector.tolist())) + ")"


# Family -> lines about two of its routers.
GEOMETRIES: Mapping[str, Callable[[Topology, int, int], list[str]]] = {
    PolarFly.name: _cross_product,
    PolarStar.name: _supernodes,
}
