"""Growth of ER_31 by copies of clusters (section VI, Table IV)."""

from __future__ import annotations

import numpy as np

from experiments.papers.model import ItemResult, Row, Scale
from experiments.papers.networks import common
from topology.families.low_diameter.expanded_polarfly import ExpandedPolarFly
from topology.families.low_diameter.polarfly import PolarFly

_ORDER = 31
_COPIES, _QUICK_COPIES = (1, 3, 6, 9, 12), (1, 12)
_KINDS = {"quadric": "quadric", "nonquadric": "other"}


def expansion(scale: Scale) -> ItemResult:
    """Returns sizes and distances of ER_31 with copied clusters."""
    base = PolarFly(_ORDER)
    numbers = _QUICK_COPIES if scale.quick else _COPIES
    values: dict[str, float] = {}
    rows = [_grown(base, kind, copies) for kind in _KINDS for copies in numbers]
    for kind, name in _KINDS.items():
        own = [row for row in rows if row["copied"] == kind]
        first, last = own[0], own[-1]
        ports = last["added_degree"] - first["added_degree"]
        values |= {
            f"{name} routers": common(row["added_routers"] / row["copies"] for row in own),
            f"{name} degree": first["added_degree"],
            f"{name} diameter": common(row["diameter"] for row in own),
            f"{name} path length": max(row["average_path_length"] for row in own),
            f"{name} scalability": (last["added_routers"] - first["added_routers"]) / ports,
        }
    own = [row for row in rows if row["copied"] == "nonquadric"]
    values |= {
        "other degrees": common(row["added_degree"] - row["copies"] for row in own),
        "other far": max(row["most_far"] for row in own),
        "other far elsewhere": max(row["far_elsewhere"] for row in own),
    }
    return ItemResult(values, rows)


def _grown(base: PolarFly, kind: str, copies: int) -> Row:
    """Returns the row of a PolarFly with copied clusters: its sizes and distances.

    Args:
        base: the PolarFly.
        kind: kind of the copied clusters.
        copies: number of copies.
    """
    graph = ExpandedPolarFly(base.q, f"{kind}:{copies}")
    far = graph.distance_table == 3
    elsewhere = far.copy()
    members = graph.clusters().members
    for original, copy in zip(members[: base.q], members[base.q :], strict=False):
        for ends in ((original, copy), (copy, original)):
            elsewhere[np.ix_(*ends)] = False
    return {
        "copied": kind,
        "copies": copies,
        "routers": graph.routers,
        "added_routers": graph.routers - base.routers,
        "added_degree": graph.network_radix - base.network_radix,
        "diameter": graph.diameter,
        "average_path_length": graph.average_path_length,
        "most_far": int(far.sum(axis=1).max()),
        "far_elsewhere": int(elsewhere.sum()),
    }
