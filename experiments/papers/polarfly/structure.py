"""Structure of ER_q, counted exhaustively: clusters, triangles by cluster and class, numbers of paths."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import combinations
from math import nan

import numpy as np

from experiments.papers.model import ItemResult, Row, Scale
from experiments.papers.networks import common
from topology.analysis.paths import simple_paths, triangles
from topology.families.low_diameter.polarfly import PolarFly

_CLUSTER_ORDERS = (7, 19)
_TRIANGLE_ORDERS = (11, 13)  # one order that is 3 modulo 4, and one that is 1 modulo 4
_PATH_ORDER = 7
_QUADRICS = -1  # index for the cluster of the quadrics


def _cluster_of(graph: PolarFly) -> dict[int, int]:
    """Returns router -> index of its cluster; _QUADRICS for routers that are quadrics."""
    found = dict.fromkeys(range(graph.routers), _QUADRICS)
    return found | {r: number for number, fan in enumerate(graph.clusters().members) for r in fan}


def _class_of(graph: PolarFly) -> dict[int, str]:
    """Returns router -> its class: W (quadrics), V1 (adjacent to a quadric) or V2 (others)."""
    names = zip(("W", "V1", "V2"), graph.vertex_classes, strict=True)
    return {router: name for name, routers in names for router in routers.tolist()}


def clusters(_scale: Scale) -> ItemResult:
    """Returns the links between clusters and the triangles inside them (Props V.2 to V.4)."""
    values: dict[str, float] = {}
    rows: list[Row] = []
    for q in _CLUSTER_ORDERS:
        graph = PolarFly(q)
        cluster = _cluster_of(graph)
        links = Counter(frozenset((cluster[link.a], cluster[link.b])) for link in graph.link_list)
        inside = Counter(cluster[a] for a, b, c in triangles(graph) if cluster[a] == cluster[b] == cluster[c])
        numbers = range(q)
        found = {
            "quadric links": common(links[frozenset((_QUADRICS, one))] for one in numbers),
            "cluster links": common(links[frozenset(pair)] for pair in combinations(numbers, 2)),
            "blades": common(inside[one] for one in numbers),
        }
        values |= {f"{name} q={q}": value for name, value in found.items()}
        rows.append({"q": q, **found})
    return ItemResult(values, rows)


def triangles_by_cluster(_scale: Scale) -> ItemResult:
    """Returns the triangles inside and between clusters (Props V.5 and V.6, Theorem V.7)."""
    values: dict[str, float] = {}
    rows: list[Row] = []
    for q in _TRIANGLE_ORDERS:
        graph = PolarFly(q)
        cluster = _cluster_of(graph)
        joined = Counter(frozenset(cluster[router] for router in one) for one in triangles(graph))
        by_size = {size: [n for ends, n in joined.items() if len(ends) == size] for size in (1, 2, 3)}
        found = {
            "all": sum(joined.values()),
            "between": sum(by_size[3]),
            "inside": sum(by_size[1]),
            "per three clusters": max(by_size[3]) if len(by_size[3]) == q * (q - 1) * (q - 2) // 6 else nan,
        }
        values |= {f"{name} q={q}": value for name, value in found.items()}
        rows.append({"q": q, **found, "of two clusters": sum(by_size[2])})
    return ItemResult(values, rows)


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


def paths_by_class(_scale: Scale) -> ItemResult:
    """Returns the simple paths of 1 to 4 links by the classes of their ends (Table VI)."""
    graph = PolarFly(_PATH_ORDER)
    counts, kind = simple_paths(graph, 4), _class_of(graph)
    adjacent = counts[1].astype(bool)
    found: dict[str, set[int]] = {}
    for s, d in combinations(range(graph.routers), 2):
        ends = sorted((kind[s], kind[d]), key=("W", "V1", "V2").index)
        middle = "" if adjacent[s, d] else kind[int(np.flatnonzero(adjacent[s] & adjacent[d])[0])]
        for length in (1, 2, 3, 4):
            key = _path_key(length, ends, middle)
            if key:
                found.setdefault(key, set()).add(int(counts[length, s, d]))
    rows = [{"pairs": key, "paths": common(numbers)} for key, numbers in sorted(found.items())]
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
