"""Figures and tables of the Slim Fly paper (SC14) that can be computed."""

from __future__ import annotations

from collections.abc import Mapping

from experiments.papers.links import failures_plot
from experiments.papers.model import Item, Plot
from experiments.papers.performance.model import SimulatedItem, latency_plot
from experiments.papers.slimfly.channels import channels
from experiments.papers.slimfly.costs import costs, costs_by_reading, costs_by_size
from experiments.papers.slimfly.links import bisections, disconnections, distances
from experiments.papers.slimfly.performance import accepted, accepted_curves, compared, compared_curves
from experiments.papers.slimfly.sizes import (
    average_hops,
    diameter_three,
    diameter_two,
    diameters,
    simulated,
)

ITEMS: Mapping[str, Item | SimulatedItem] = {
    "fig1": Item(
        "Average hops under uniform traffic",
        average_hops,
        Plot("endpoints", "hops", "endpoints", "average hops", by="family", log="xy"),
    ),
    "fig5a": Item(
        "Sizes of families of diameter 2",
        diameter_two,
        Plot("radix", "routers", "network radix", "routers", by="family"),
    ),
    "fig5b": Item(
        "Share of the Moore bound of families of diameter 3",
        diameter_three,
        Plot("radix", "efficiency", "network radix", "routers / Moore bound", by="family"),
    ),
    "fig5c": Item(
        "Links in a bisection per endpoint",
        bisections,
        Plot(
            "network",
            "per_endpoint",
            "network and its endpoints",
            "links between halves / endpoints",
            bars=True,
        ),
        by_chance=True,
    ),
    "fig6": SimulatedItem(
        "Latency of Slim Fly, a dragonfly and a fat tree over the load",
        compared_curves,
        compared,
        latency_plot(),
    ),
    "fig8": SimulatedItem(
        "Latency of Slim Fly with more endpoints and with other buffer sizes",
        accepted_curves,
        accepted,
        latency_plot(),
    ),
    "table2": Item("Diameters of networks of about 1024 endpoints", diameters),
    "table3": Item("Share of failed links that disconnects networks", disconnections, by_chance=True),
    "sec3d": Item(
        "Average path length and diameter while links fail in random order, median run",
        distances,
        failures_plot(),
        by_chance=True,
    ),
    "sec4d": Item(
        "Virtual channels of shortest paths by DFSSSP",
        channels,
        Plot("endpoints", "channels", "endpoints", "virtual channels", by="network"),
    ),
    "table4": Item("Cost and power of Slim Fly and other networks", costs, priced=True),
    "cost-readings": Item("Costs of Table IV by reading of its model", costs_by_reading, priced=True),
    "fig11": Item(
        "Cost and power of balanced networks",
        costs_by_size,
        Plot(
            "endpoints",
            "cost_per_endpoint",
            "endpoints",
            "$ per endpoint",
            by="family",
            log="xy",
            also={"power_per_endpoint": "W per endpoint"},
        ),
        priced=True,
    ),
    "sec5": Item("Sizes of the simulated networks", simulated),
}
