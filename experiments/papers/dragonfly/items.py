"""Items of the paper on dragonflies (Camarero, Vallejo, Beivide, TACO 2014) that can be computed."""

from __future__ import annotations

from collections.abc import Mapping

from experiments.papers.dragonfly.sizes import sizes
from experiments.papers.model import Effort, Found, Item, Plot
from experiments.papers.networks import network

_HOSTS = 13
_SIMULATED = network("trunked dragonfly", "dragonfly", a=24, h=13, trunking=4)


def configuration(_effort: Effort) -> Found:
    """Returns the sizes of the simulated dragonfly (Table II)."""
    graph = _SIMULATED.graph()
    values = {
        "routers": graph.routers,
        "endpoints": graph.endpoints(_HOSTS),
        "ports": graph.network_radix + _HOSTS,
    }
    return Found(values, [{"network": _SIMULATED.label, "links": graph.links, **values}])


ITEMS: Mapping[str, Item] = {
    "table2": Item("Sizes of the simulated trunked dragonfly", configuration),
    "fig12": Item(
        "Endpoints of the largest networks that carry uniform traffic",
        sizes,
        Plot("ports", "endpoints", "ports of a router, with endpoints", "endpoints", by="family", log=True),
    ),
}
