"""Virtual channels that DFSSSP needs for Slim Fly and for rings with random shortcuts (section IV-D).

The sizes of the paper's networks are unknown. This module uses all balanced Slim Flies from q = 5 on, and
DLNs with the same numbers of routers, links and hosts.
"""

from __future__ import annotations

from collections.abc import Iterator

from experiments.papers.model import ItemResult, Row, Scale
from experiments.papers.slimfly.networks import Balanced, matching_dln, slim_flies
from routing.deadlock.balanced_paths import balanced_paths
from routing.deadlock.layers import divide_into_layers

_FIRST_ENDPOINTS = 200  # q = 5; smaller Slim Flies are below the paper's smallest network
_LAST_ENDPOINTS, _QUICK_LAST_ENDPOINTS = 10_830, 2500


def channels(scale: Scale) -> ItemResult:
    """Returns how many acyclic layers, each a virtual channel, the paths of Slim Flies and DLNs need."""
    rows = [_row(one) for one in _networks(scale)]
    layers = {name: [row["channels"] for row in rows if row["network"] == name] for name in ("SF", "DLN")}
    values = {
        "SF channels": max(layers["SF"]),
        "DLN channels least": min(layers["DLN"]),
    }
    if not scale.quick:  # the claim is about the largest network
        values["DLN channels most"] = max(layers["DLN"])
    return ItemResult(values, rows)


def _networks(scale: Scale) -> Iterator[Balanced]:
    """Yields balanced Slim Flies, each followed by the DLN with the same numbers of routers and links."""
    last = _QUICK_LAST_ENDPOINTS if scale.quick else _LAST_ENDPOINTS
    for one in slim_flies():
        if _FIRST_ENDPOINTS <= one.endpoints <= last:
            yield one
            yield matching_dln(one)


def _row(one: Balanced) -> Row:
    """Divides a network's shortest paths into acyclic layers, and returns a row with the number of layers."""
    graph = one.network.graph()
    sizes = divide_into_layers(balanced_paths(graph, one.hosts), 2 * graph.links)
    return {
        "network": one.network.label,
        "routers": graph.routers,
        "radix": graph.network_radix,
        "endpoints": one.endpoints,
        "diameter": graph.diameter,
        "paths": sum(sizes),
        "channels": len(sizes),
        "paths_of_layers": " ".join(map(str, sizes)),
    }
