"""Figures and tables of the PolarFly paper (SC22) that can be computed."""

from __future__ import annotations

from collections.abc import Mapping

from experiments.papers.links import failures_plot
from experiments.papers.model import Item, Plot
from experiments.papers.performance.model import SimulatedItem, latency_plot
from experiments.papers.polarfly.cost import cost, cost_curves
from experiments.papers.polarfly.expansion import expansion
from experiments.papers.polarfly.links import bisections, link_failures
from experiments.papers.polarfly.performance import (
    compared,
    compared_curves,
    grown,
    grown_curves,
    near,
    near_curves,
    size_curves,
    sizes,
)
from experiments.papers.polarfly.sizes import configurations, feasible_degrees, moore_efficiencies
from experiments.papers.polarfly.structure import (
    clusters,
    middles_by_class,
    paths_by_class,
    single_failures,
    symmetries,
    triangles_by_class,
    triangles_by_cluster,
)

ITEMS: Mapping[str, Item | SimulatedItem] = {
    "fig1": Item(
        "Feasible degrees of PolarFly and Slim Fly",
        feasible_degrees,
        Plot("radix", "degrees", "network radix", "number of feasible degrees", by="family", log="xy"),
    ),
    "fig2": Item(
        "Moore efficiency of families of diameter 2",
        moore_efficiencies,
        Plot("radix", "efficiency", "network radix", "routers / Moore bound", by="family"),
    ),
    "clusters": Item("Links between the clusters of PolarFly, and triangles inside them", clusters),
    "triangles": Item("Triangles of PolarFly inside and between clusters", triangles_by_cluster),
    "table2": Item("Triangles of PolarFly between clusters, by the classes of routers", triangles_by_class),
    "table3": Item("Class of the router between two adjacent routers of PolarFly", middles_by_class),
    "symmetry": Item("Classes of paths over a quadric under PolarFly's automorphisms", symmetries),
    "table4": Item("Growth of PolarFly by copies of clusters", expansion),
    "table5": Item("Sizes of the simulated networks", configurations),
    "table6": Item("Simple paths of PolarFly by length and classes of their ends", paths_by_class),
    "fig8": SimulatedItem(
        "Latency of PolarFly and other networks over the load", compared_curves, compared, latency_plot()
    ),
    "fig9": SimulatedItem(
        "Latency of PolarFly under permutations between nearby routers", near_curves, near, latency_plot()
    ),
    "fig10": SimulatedItem(
        "Latency of PolarFlies of several sizes under uniform traffic", size_curves, sizes, latency_plot()
    ),
    "fig11": SimulatedItem(
        "Latency of PolarFly with copied clusters under uniform traffic",
        grown_curves,
        grown,
        latency_plot(),
    ),
    "fig12": Item(
        "Share of links in a bisection over the radix",
        bisections,
        Plot("radix", "share", "network radix", "links between halves / links", by="family"),
        by_chance=True,
    ),
    "fig14": Item(
        "Average path length and diameter while links fail in random order, median run",
        link_failures,
        failures_plot(),
        by_chance=True,
    ),
    "sec9b": Item("Diameter of PolarFly after one link or router has failed", single_failures),
    "fig15": SimulatedItem(
        "Optical links for 1,024 nodes and equal accepted traffic, relative to PolarFly",
        cost_curves,
        cost,
        Plot("network", "over_polarfly", "network", "links / PolarFly's links", bars=True),
    ),
}
