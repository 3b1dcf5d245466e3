"""Where two routers of a topology are, and what that has to do with the way between them, in words."""

from __future__ import annotations

from typing import Any

import numpy as np

from topology.addressing import switch_name
from topology.base import Topology
from topology.families.polarfly import PolarFly
from topology.families.polarstar import PolarStar


def lines_between(topology: Topology, source: int, destination: int) -> list[str]:
    """Returns lines about two routers."""
    if isinstance(topology, PolarFly):
        return _cross_product(topology, source, destination)
    lines = []
    if topology.labels:
        named = (f"{switch_name(r)} is {topology.labels[r]}" for r in (source, destination))
        lines.append(", ".join(named) + " in the file.")
    if isinstance(topology, PolarStar):
        lines += _supernodes(topology, source, destination)
    return [*lines, _shortest_paths(topology, source, destination)]


def _cross_product(topology: PolarFly, source: int, destination: int) -> list[str]:
    """PolarFly, section IV-D."""
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


def _supernodes(topology: PolarStar, source: int, destination: int) -> list[str]:
    """PolarStar, section 9.2: far supernodes are come to by way of the one that their cross product names."""
    structure, m = topology.structure, topology.order
    (u, x), (v, y) = divmod(source, m), divmod(destination, m)
    places = [
        f"{switch_name(router)} is vertex {vertex} of the supernode at the point "
        f"{_text(structure.vectors(supernode))}"
        for router, supernode, vertex in ((source, u, x), (destination, v, y))
    ]
    lines = [f"In this star product of ER_{structure.q}, {places[0]}, {places[1]}."]
    if u == v:
        return [*lines, "They are in the same supernode."]
    if int(structure.dot(u, v)) == 0:
        return [*lines, "Their supernodes are adjacent: every vertex has a link to one of the other."]
    middle = int(structure.indices(structure.cross(u, v)))
    return [
        *lines,
        f"Their supernodes are not adjacent: the only one that is adjacent to both is their cross product's, "
        f"at {_text(structure.vectors(middle))} ({switch_name(middle * m)} to "
        f"{switch_name(middle * m + m - 1)}).",
    ]


def _shortest_paths(topology: Topology, source: int, destination: int) -> str:
    distance = int(topology.distances(source, destination))
    paths = _paths(topology, source, destination, distance)
    ways = "one shortest path" if paths == 1 else f"{paths} shortest paths"
    apart = "adjacent" if distance == 1 else f"{distance} links apart"
    return f"They are {apart}, with {ways}."


def _paths(topology: Topology, source: int, destination: int, distance: int) -> int:
    """Returns how many shortest paths lead there, step by step; parallel links count each."""
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
