"""Figures and tables of the PolarStar paper that can be computed."""

from __future__ import annotations

from collections.abc import Mapping

from experiments.papers.links import failures, failures_plot
from experiments.papers.model import Item, ItemResult, Plot, Scale
from experiments.papers.performance.model import AnyItem, PlacedItem, SimulatedItem, latency_plot
from experiments.papers.polarstar.bisections import bisections, bisections_by_supernode
from experiments.papers.polarstar.motifs import motif_times
from experiments.papers.polarstar.performance import (
    adversarial,
    adversarial_curves,
    compared,
    compared_curves,
)
from experiments.papers.polarstar.sizes import TABLE_3, best_supernodes, configurations, factors, scales

_BASE = "PS-IQ"
_FAILED = 0.05  # a low share of failed links, at which the growth of distances is compared
_NAMES = {
    "SF": "spectralfly",
    "BF": "bundlefly",
    "DF": "dragonfly",
    "HX": "hyperx",
    "MF": "megafly",
    "FT": "fat tree",
}


def link_failures(scale: Scale) -> ItemResult:
    """Returns the distances of the networks of Table 3 while their links fail (Fig 14)."""
    found = failures((one for one, _ in TABLE_3), scale)
    grown = {label: found.growth(label, _FAILED) for label in ("DF", _BASE)}
    values = {
        **{name: found.ratio(label, _BASE) for label, name in _NAMES.items()},
        "dragonfly diameter": grown["DF"].diameter / grown[_BASE].diameter,
        "dragonfly path": grown["DF"].path / grown[_BASE].path,
    }
    return ItemResult(values, found.rows)


ITEMS: Mapping[str, AnyItem] = {
    "fig1": Item(
        "Share of the Moore bound of the largest networks of diameter 3",
        scales,
        Plot("radix", "efficiency", "network radix", "routers / Moore bound", by="family"),
    ),
    "fig4": Item(
        "Orders of the factors of star products",
        factors,
        Plot("degree", "routers", "degree", "routers", by="graph", log="xy"),
    ),
    "fig7": Item(
        "Largest PolarStars by kind of supernode",
        best_supernodes,
        Plot("radix", "routers", "network radix", "routers", by="supernode", log="xy"),
    ),
    "table3": Item("Sizes of the simulated networks", configurations),
    "fig9": SimulatedItem(
        "Latency of PolarStar and the other networks of Table 3 over the load",
        compared_curves,
        compared,
        latency_plot(),
    ),
    "fig10": SimulatedItem(
        "Latency of the networks of Table 3 when each group sends to one other group",
        adversarial_curves,
        adversarial,
        latency_plot(),
    ),
    "fig11": PlacedItem(
        "Speed of an allreduce and of Sweep3D, relative to the dragonfly",
        motif_times,
        Plot("curve", "speed", "network and routing", "speed / dragonfly", bars=True, panels="panel"),
    ),
    "fig12": Item(
        "Share of links in a bisection of families of diameter 3",
        bisections,
        Plot("radix", "share", "network radix", "links between halves / links", by="family"),
        by_chance=True,
    ),
    "fig13": Item(
        "Share of links in a bisection by kind of supernode",
        bisections_by_supernode,
        Plot("radix", "share", "network radix", "links between halves / links", by="family"),
        by_chance=True,
    ),
    "fig14": Item(
        "Average path length and diameter while links fail in random order, median run",
        link_failures,
        failures_plot(),
        by_chance=True,
    ),
}
