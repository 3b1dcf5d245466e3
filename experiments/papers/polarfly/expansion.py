"""Growth of ER_31 by copies of clusters (section VI, Table IV)."""

from __future__ import annotations

from experiments.papers.model import Effort, Found, Row
from experiments.papers.networks import common
from topology.registry import make_topology

_ORDER = 31
_COPIES, _QUICK_COPIES = (1, 3, 6, 9, 12), (1, 12)
_KINDS = {"quadric": "quadric", "nonquadric": "other"}


def expansion(effort: Effort) -> Found:
    """Returns sizes and distances of ER_31 with copied clusters."""
    begin = make_topology("polarfly", {"q": _ORDER})
    values: dict[str, float] = {}
    rows: list[Row] = []
    for kind, name in _KINDS.items():
        own: list[Row] = []
        for copies in _QUICK_COPIES if effort.quick else _COPIES:
            graph = make_topology("polarfly", {"q": _ORDER, "expand": f"{kind}:{copies}"})
            own.append(
                {
                    "copied": kind,
                    "copies": copies,
                    "routers": graph.routers,
                    "added_routers": graph.routers - begin.routers,
                    "added_degree": graph.network_radix - begin.network_radix,
                    "diameter": graph.diameter,
                    "average_path_length": graph.average_path_length,
                }
            )
        first, last = own[0], own[-1]
        values |= {
            f"{name} routers": common(row["added_routers"] / row["copies"] for row in own),
            f"{name} degree": first["added_degree"],
            f"{name} diameter": common(row["diameter"] for row in own),
            f"{name} path length": max(row["average_path_length"] for row in own),
            f"{name} scalability": last["added_routers"] / last["added_degree"],
        }
        rows += own
    return Found(values, rows)
