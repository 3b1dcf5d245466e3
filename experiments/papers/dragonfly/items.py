"""Figures and tables of the dragonfly paper (Camarero, Vallejo, Beivide, TACO 2014) that can be computed."""

from __future__ import annotations

from collections.abc import Mapping

from experiments.papers.dragonfly.balance import dimensions
from experiments.papers.dragonfly.performance import (
    HOSTS,
    SIMULATED,
    channel_curves,
    channels,
    compared,
    compared_curves,
)
from experiments.papers.dragonfly.sizes import sizes
from experiments.papers.model import Item, ItemResult, Plot, Scale
from experiments.papers.performance.model import SimulatedItem, accepted_plot, latency_plot


def configuration(_scale: Scale) -> ItemResult:
    """Returns the sizes of the simulated dragonfly (Table II)."""
    graph = SIMULATED.graph()
    values = {
        "routers": graph.routers,
        "endpoints": graph.endpoints(HOSTS),
        "ports": graph.network_radix + HOSTS,
    }
    return ItemResult(values, [{"network": SIMULATED.label, "links": graph.links, **values}])


ITEMS: Mapping[str, Item | SimulatedItem] = {
    "table1": Item("Groups of balanced dragonflies by trunking", dimensions),
    "table2": Item("Sizes of the simulated trunked dragonfly", configuration),
    "fig9": SimulatedItem(
        "Accepted load of a trunked dragonfly with coloured routings",
        compared_curves,
        compared,
        accepted_plot(),
    ),
    "fig10": SimulatedItem(
        "Latency of adaptive four-colour routing by number of virtual channels",
        channel_curves,
        channels,
        latency_plot(),
    ),
    "fig12": Item(
        "Endpoints of the largest networks whose links carry full uniform load",
        sizes,
        Plot("ports", "endpoints", "router ports, including endpoints", "endpoints", by="family", log="xy"),
    ),
}
