"""Structure of ER_q, counted exhaustively: clusters, triangles, paths, symmetries and single failures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import combinations, permutations
from math import nan

import numpy as np
import numpy.typing as npt

from experiments.papers.model import ItemResult, Row, Scale
from experiments.papers.networks import common
from topology.analysis.paths import simple_paths, triangles
from topology.analysis.symmetry import automorphism_generators
from topology.families.low_diameter.polarfly import PolarFly

_CLUSTER_ORDERS = (7, 19)
_TRIANGLE_ORDERS = (11, 13)  # one order that is 3 modulo 4, and one that is 1 modulo 4
_PATH_ORDER = 7
_SYMMETRY_ORDERS = (5, 7, 9)
_FAILURE_ORDERS = (5, 7)
_QUADRICS = -1  # index for the cluster of the quadrics


def _cluster_of(graph: PolarFly, starter: int | None = None) -> dict[int, int]:
    """Returns router -> index of its cluster; _QUADRICS for routers that are quadrics.

    Args:
        graph: the PolarFly.
        starter: the quadric of Algorithm 1; None for the first.
    """
    quadrics = graph.vertex_classes.quadrics.tolist()
    found = dict.fromkeys(quadrics, _QUADRICS)
    fans = graph.quadric_fans(quadrics[0] if starter is None else starter)
    return found | {router: number for number, fan in enumerate(fans) for router in fan}


def _class_of(graph: PolarFly) -> dict[int, str]:
    """Returns router -> its class: W (quadrics), V1 (adjacent to a quadric) or V2 (others)."""
    names = zip(("W", "V1", "V2"), graph.vertex_classes, strict=True)
    return {router: name for name, routers in names for router in routers.tolist()}


def clusters(_scale: Scale) -> ItemResult:
    """Returns the links and triangles of the clusters around every starter quadric (Props V.1 to V.4)."""
    values: dict[str, float] = {}
    rows: list[Row] = []
    for q in _CLUSTER_ORDERS:
        graph = PolarFly(q)
        layouts = [_layout(graph, starter) for starter in graph.vertex_classes.quadrics.tolist()]
        found = {name: common(one[name] for one in layouts) for name in layouts[0]}
        values |= {f"{name} q={q}": value for name, value in found.items()}
        rows.append({"q": q, **found})
    return ItemResult(values, rows)


def _layout(graph: PolarFly, starter: int) -> dict[str, float]:
    """Returns the counts of Props V.1 to V.4 for the clusters around a quadric; NaN for counts that vary.

    Args:
        graph: the PolarFly.
        starter: the quadric.
    """
    cluster, kind = _cluster_of(graph, starter), _class_of(graph)
    centres = set(graph.neighbours(starter).tolist())
    numbers = range(graph.q)
    links = Counter(frozenset((cluster[link.a], cluster[link.b])) for link in graph.link_list)
    inside = Counter(cluster[a] for a, b, c in triangles(graph) if cluster[a] == cluster[b] == cluster[c])
    reached = {
        router: Counter(cluster[near] for near in graph.neighbours(router).tolist())
        for router in range(graph.routers)
    }
    # Links of each router of a cluster to each other cluster without quadrics.
    outward = {
        (router, other): reached[router][other]
        for router, own in cluster.items()
        for other in numbers
        if own not in (_QUADRICS, other)
    }
    unlinked = Counter(
        (cluster[router], other)
        for (router, other), count in outward.items()
        if kind[router] == "V1" and router not in centres and not count
    )
    fans = [router for fan in graph.quadric_fans(starter) for router in fan]
    return {
        "clusters of a router": common(Counter([*fans, *graph.vertex_classes.quadrics.tolist()]).values())
        if len(cluster) == graph.routers
        else nan,
        "quadric links": common(links[frozenset((_QUADRICS, one))] for one in numbers),
        "cluster links": common(links[frozenset(pair)] for pair in combinations(numbers, 2)),
        "blades": common(inside[one] for one in numbers),
        "quadrics of V1": common(reached[router][_QUADRICS] for router in fans if kind[router] == "V1"),
        "routers of a quadric": common(
            reached[router][one] for router in graph.vertex_classes.quadrics.tolist() for one in numbers
        ),
        "routers of V2": common(n for (router, _), n in outward.items() if kind[router] == "V2"),
        "V1 apart": common(unlinked[one, other] for one in numbers for other in numbers if one != other)
        if max(outward.values()) == 1
        else nan,
    }


def triangles_by_cluster(_scale: Scale) -> ItemResult:
    """Returns the triangles inside and between clusters (Props V.5 and V.6, Theorem V.7 to Lemma V.10)."""
    values: dict[str, float] = {}
    rows: list[Row] = []
    for q in _TRIANGLE_ORDERS:
        graph = PolarFly(q)
        quadrics = graph.vertex_classes.quadrics.tolist()
        layouts = [_joined(graph, starter) for starter in quadrics]
        joined = layouts[0]
        by_size = {size: [n for ends, n in joined.items() if len(ends) == size] for size in (1, 2, 3)}
        threes = [{ends: n for ends, n in one.items() if len(ends) == 3} for one in layouts]
        affine = [_affine(graph, starter) for starter in quadrics]
        found = {
            "all": sum(joined.values()),
            "between": sum(by_size[3]),
            "inside": sum(by_size[1]),
            "per three clusters": max(max(one.values()) for one in threes)
            if {len(one) for one in threes} == {q * (q - 1) * (q - 2) // 6}
            else nan,
            "per three with an affine centre": max(
                n for one, own in zip(threes, affine, strict=True) for ends, n in one.items() if ends & own
            ),
            "layouts against the corollary": sum(
                max(one.values()) > 1
                and any(max(n for ends, n in one.items() if number in ends) == 1 for number in range(q))
                for one in threes
            ),
        }
        values |= {f"{name} q={q}": value for name, value in found.items()}
        rows.append({"q": q, **found, "of two clusters": sum(by_size[2])})
    return ItemResult(values, rows)


def _joined(graph: PolarFly, starter: int) -> Counter[frozenset[int]]:
    """Returns a set of clusters -> the triangles whose routers are in these clusters."""
    cluster = _cluster_of(graph, starter)
    return Counter(frozenset(cluster[router] for router in one) for one in triangles(graph))


def _affine(graph: PolarFly, starter: int) -> frozenset[int]:
    """Returns those clusters around a quadric whose centre has the form (1, x, y)."""
    centres = [fan[0] for fan in graph.quadric_fans(starter)]
    return frozenset(np.flatnonzero(graph.vectors(centres)[:, 0] == 1).tolist())


def triangles_by_class(_scale: Scale) -> ItemResult:
    """Returns the triangles between clusters by the classes of their routers (Table II)."""
    values: dict[str, float] = {}
    rows: list[Row] = []
    for q in _TRIANGLE_ORDERS:
        graph = PolarFly(q)
        cluster, kind = _cluster_of(graph), _class_of(graph)
        counts = Counter(
            "".join(sorted(kind[router] for router in one))
            for one in triangles(graph)
            if len({cluster[router] for router in one}) == 3
        )
        found = {name: counts[name] for name in ("V1V1V1", "V1V1V2", "V1V2V2", "V2V2V2")}
        values |= {f"{name} q={q}": value for name, value in found.items()}
        rows.append({"q": q, **found})
    return ItemResult(values, rows)


def middles_by_class(_scale: Scale) -> ItemResult:
    """Returns the class of the common neighbour of two adjacent routers, by their classes (Table III)."""
    values: dict[str, float] = {}
    rows: list[Row] = []
    for q in _TRIANGLE_ORDERS:
        graph = PolarFly(q)
        kind = _class_of(graph)
        found: dict[str, set[int]] = {}
        for one in triangles(graph):
            for middle in one:
                ends = "-".join(sorted(kind[router] for router in one if router != middle))
                found.setdefault(ends, set()).add(int(kind[middle][1]))
        classes = _commons(found)
        values |= {f"{ends} q={q}": number for ends, number in classes.items()}
        rows += [{"q": q, "ends": ends, "middle": number} for ends, number in sorted(classes.items())]
    return ItemResult(values, rows)


def symmetries(_scale: Scale) -> ItemResult:
    """Returns the number of classes of paths V1 - W - V1 under the automorphisms of ER_q (Theorem V.8)."""
    values: dict[str, float] = {}
    rows: list[Row] = []
    for q in _SYMMETRY_ORDERS:
        graph = PolarFly(q)
        paths = [
            (a, quadric, b)
            for quadric in graph.vertex_classes.quadrics.tolist()
            for a, b in permutations(graph.neighbours(quadric).tolist(), 2)
        ]
        generators = automorphism_generators(graph)
        classes = 0
        left = set(paths)
        while left:
            classes += 1
            ends = [left.pop()]
            while ends:
                path = ends.pop()
                images = {tuple(one[list(path)].tolist()) for one in generators} & left
                left -= images
                ends += images
        values[f"classes q={q}"] = classes
        rows.append({"q": q, "paths": len(paths), "classes": classes})
    return ItemResult(values, rows)


def single_failures(_scale: Scale) -> ItemResult:
    """Returns the diameter of ER_q after any one link or router has failed (section IX-B)."""
    values: dict[str, float] = {}
    rows: list[Row] = []
    for q in _FAILURE_ORDERS:
        graph = PolarFly(q)
        quadrics = set(graph.vertex_classes.quadrics.tolist())
        joined = np.zeros((graph.routers, graph.routers), bool)
        found: dict[str, set[int]] = {}
        for link in graph.link_list:
            joined[link.a, link.b] = joined[link.b, link.a] = True
        for link in graph.link_list:
            without = joined.copy()
            without[link.a, link.b] = without[link.b, link.a] = False
            name = "quadric link" if quadrics & {link.a, link.b} else "link"
            found.setdefault(name, set()).add(_diameter(without))
        for router in range(graph.routers):
            without = np.delete(np.delete(joined, router, 0), router, 1)
            found.setdefault("router", set()).add(_diameter(without))
        diameters = _commons(found)
        values |= {f"{name} q={q}": number for name, number in diameters.items()}
        rows += [{"q": q, "failed": name, "diameter": number} for name, number in diameters.items()]
    return ItemResult(values, rows)


def _diameter(joined: npt.NDArray[np.bool_]) -> int:
    """Returns the diameter of a connected graph, from its adjacency matrix."""
    step = joined | np.eye(len(joined), dtype=bool)
    reached, hops = step, 1
    while not reached.all():
        reached, hops = reached @ step, hops + 1
    return hops


def paths_by_class(_scale: Scale) -> ItemResult:
    """Returns the numbers of simple paths of 1 to 4 links by the classes of their ends (Table VI).

    The rows also have the numbers by another reading, with which the whole table agrees: paths of three links
    avoid the router x between the ends, and paths of four links may begin with the loop of one quadric end.
    """
    graph = PolarFly(_PATH_ORDER)
    counts, kind = simple_paths(graph, 4), _class_of(graph)
    adjacent = counts[1].astype(bool)
    found: dict[str, set[int]] = {}
    read: dict[str, set[int]] = {}
    for s, d in combinations(range(graph.routers), 2):
        ends = sorted((kind[s], kind[d]), key=("W", "V1", "V2").index)
        middle, avoiding = "", 0
        if not adjacent[s, d]:
            x = int(np.flatnonzero(adjacent[s] & adjacent[d])[0])
            beside = [[n for n in graph.neighbours(end).tolist() if n != x] for end in (s, d)]
            middle, avoiding = kind[x], int(adjacent[np.ix_(*beside)].sum())
        for length in (1, 2, 3, 4):
            key = _path_key(length, ends, middle)
            if key:
                number = int(counts[length, s, d])
                looped = number + (avoiding if "W" in ends else 0)
                by_reading = {3: avoiding, 4: looped}[length] if middle and length > 2 else number
                found.setdefault(key, set()).add(number)
                read.setdefault(key, set()).add(by_reading)
    rows = [
        {"pairs": key, "paths": common(numbers), "by_reading": common(read[key])}
        for key, numbers in sorted(found.items())
    ]
    return ItemResult(_commons(found), rows)


def _commons(found: Mapping[str, Iterable[int]]) -> dict[str, float]:
    return {key: common(numbers) for key, numbers in found.items()}


def _path_key(length: int, ends: list[str], middle: str) -> str:
    """Returns the key of Table VI's claim on some kind of path; empty if the table has no such claim.

    Args:
        length: the number of links, 1 to 4.
        ends: the classes of both ends, in the order W, V1, V2.
        middle: class of the router between them; empty if they are adjacent.
    """
    quadrics = ends.count("W")
    if not middle:
        beside_quadric = " W" if quadrics and length in (2, 4) else ""
        return f"{length} adjacent{beside_quadric}"
    if length == 1:
        return ""
    if length == 2:
        return "2 apart"
    if length == 3:
        ends_text = ("no quadric", "one quadric", "both quadrics")[quadrics]
        return "3 x quadric" if middle == "W" else f"3 {ends_text}"
    pair = "-".join(ends)
    return f"4 {pair} x quadric" if middle == "W" and pair == "V1-V1" else f"4 {pair}"
