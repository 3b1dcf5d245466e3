"""Growth of ER_31 by copies of clusters (section VI, Table IV).

For clusters without quadrics, the values are those of plain copies, which match all numbers of the table. The
graphs of the authors' published generator, which `--expand` builds, have more links. The rows have both.
"""

from __future__ import annotations

import numpy as np

from experiments.papers.model import ItemResult, Row, Scale
from experiments.papers.networks import common
from topology.families.low_diameter.expanded_polarfly import ExpandedPolarFly
from topology.families.low_diameter.polarfly import PolarFly
from topology.shortest_paths import SearchedTopology, adjacency_from_links

_ORDER = 31
_COPIES, _QUICK_COPIES = (1, 3, 6, 9, 12), (1, 12)
_QUADRIC, _PLAIN, _LINKED = "quadric", "nonquadric, plain", "nonquadric"
_KINDS = {_QUADRIC: "quadric", _PLAIN: "other"}


def expansion(scale: Scale) -> ItemResult:
    """Returns sizes and distances of ER_31 with copied clusters."""
    base = PolarFly(_ORDER)
    numbers = _QUICK_COPIES if scale.quick else _COPIES
    values: dict[str, float] = {}
    rows = [_grown(base, kind, copies) for kind in (*_KINDS, _LINKED) for copies in numbers]
    for kind, name in _KINDS.items():
        own = [row for row in rows if row["copied"] == kind]
        first, last = own[0], own[-1]
        values |= {
            f"{name} routers": common(row["added_routers"] / row["copies"] for row in own),
            f"{name} degree": first["added_degree"],
            f"{name} diameter": common(row["diameter"] for row in own),
            f"{name} path length": max(row["average_path_length"] for row in own),
            f"{name} scalability": last["added_routers"] / last["added_degree"],
        }
    return ItemResult(values, rows)


def _grown(base: PolarFly, kind: str, copies: int) -> Row:
    """Returns the row of a PolarFly with copied clusters: its sizes and distances.

    Args:
        base: the PolarFly.
        kind: kind of the copied clusters.
        copies: number of copies.
    """
    plain = kind == _PLAIN
    graph = plain_copies(base, copies) if plain else ExpandedPolarFly(base.q, f"{kind}:{copies}")
    return {
        "copied": kind,
        "copies": copies,
        "routers": graph.routers,
        "added_routers": graph.routers - base.routers,
        "added_degree": graph.network_radix - base.network_radix,
        "diameter": graph.diameter,
        "average_path_length": graph.average_path_length,
    }


def plain_copies(base: PolarFly, copies: int) -> SearchedTopology:
    """Returns a PolarFly with plain copies of the clusters around its starter quadric.

    The copy of a router has links to the copies of its neighbours inside the cluster and to its neighbours
    outside, and no others. Every router outside has at most one neighbour in a cluster, so each copy adds one
    port, as in the paper's Table IV (PolarFly, section VI).

    Args:
        base: a PolarFly of odd q.
        copies: number of clusters to copy, each once; at most q.
    """
    fans = base.quadric_fans(int(base.vertex_classes.quadrics[0]))[:copies]
    links = [(link.a, link.b) for link in base.link_list]
    for number, fan in enumerate(fans):
        first = base.routers + number * base.q
        copy_of = {router: first + place for place, router in enumerate(fan)}
        links += [
            (copy_of.get(near, near), copy_of[router])
            for router in fan
            for near in base.neighbours(router).tolist()
            if copy_of.get(near, 0) < copy_of[router]
        ]
    routers = base.routers + copies * base.q
    return SearchedTopology(adjacency_from_links(routers, np.array(sorted(links))))
