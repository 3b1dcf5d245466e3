"""Simulated performance of PolarStar and of the networks of Table 3 (Figs 9 and 10).

The available copies of the paper lack the sizes of buffers and the numbers of virtual channels. Here a port
has 128 flits, as in the PolarFly paper's simulator, divided among its channels, one per hop. The claims are
orderings from text and curves; those of Fig 10 turn out the same if packets use any of four channels.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from experiments.papers.model import Scale, Value
from experiments.papers.networks import network
from experiments.papers.performance.model import (
    Curve,
    MeasuredCurve,
    MeasuredCurves,
    divided_port,
    shared_port,
    simulated,
)
from experiments.papers.performance.series import (
    BIT_REVERSE,
    BIT_SHUFFLE,
    RANDOM,
    UGAL,
    UGAL_HIERARCHICAL,
    UGAL_OF_MANY_GROUPS,
    UNIFORM,
    Name,
    Values,
    at_full_size,
    by_name,
    curves_of,
    load_ratio,
    ratio,
    wide_loads,
)
from experiments.papers.polarstar.sizes import TABLE_3
from experiments.points.loads import LoadSteps
from experiments.spec.fabric import FabricOptions

ADVERSARIAL = "adversarial"
_PERMUTATIONS = (RANDOM, BIT_SHUFFLE, BIT_REVERSE)
_BASE, _TREE = "PS-IQ", "FT"
# Loads for minimal routing of a permutation, whose few links saturate early.
_FEW_LINKS = LoadSteps(precision=0.01)
_ONE_LINK = LoadSteps(precision=0.005, steps=8)  # for patterns in which a group's hosts share a link
_QUICK_FEW_LINKS = LoadSteps(precision=0.05, steps=1, max_load=0.5)
_SMALL = (
    (network("PS-IQ", "polarstar", q=2, supernode="iq", degree=3), 2),
    (network("HX", "hyperx", shape="4x4x3"), 3),
    (network("DF", "dragonfly", a=4, h=2), 2),
    (network("MF", "megafly", rho=2, a=4), 2),
    (network("FT", "fat-tree", arity=4, levels=3), 4),
)


@dataclass(frozen=True)
class _Routings:
    """A family's minimal and adaptive routing, each with the hops of its longest path."""

    minimal: str = "min"
    hops: int = 3
    adaptive: str = UGAL
    detour_hops: int = 6


Fabrics = dict[str, FabricOptions]  # label of a curve -> its network with a routing
# Family -> its routings, if they differ from the defaults.
_OWN = {
    "dragonfly": _Routings("hierarchical", adaptive=UGAL_HIERARCHICAL),
    "megafly": _Routings(detour_hops=10),  # twice the diameter, which here includes routers without endpoints
    "bundlefly": _Routings(adaptive=UGAL_OF_MANY_GROUPS),
    "hyperx": _Routings(adaptive=UGAL_OF_MANY_GROUPS),
    # Spectralfly has so many minimal paths that even UGAL's default, 64 intermediate routers, needs 12 GB.
    "spectralfly": _Routings(adaptive="ugal"),
    "fat-tree": _Routings("nca"),
}


def fabrics(scale: Scale) -> tuple[Fabrics, Fabrics, Fabrics]:
    """Returns three dicts: networks of Table 3 with minimal routing, the same with UGAL, and the fat tree.

    Args:
        scale: the scale; at quick scale there are five small networks.
    """
    networks = _SMALL if scale.quick else TABLE_3
    minimal: Fabrics = {}
    adaptive: Fabrics = {}
    tree: Fabrics = {}
    for one, hosts in networks:
        own = _OWN.get(one.family, _Routings())
        if one.label == _TREE:
            tree[f"{one.label}-NCA"] = simulated(one, hosts, own.minimal, shared_port())
        else:
            minimal[f"{one.label}-MIN"] = simulated(one, hosts, own.minimal, divided_port(own.hops))
            detours = divided_port(own.detour_hops)
            adaptive[f"{one.label}-UGAL"] = simulated(one, hosts, own.adaptive, detours)
    return minimal, adaptive, tree


def compared_curves(scale: Scale) -> list[Curve]:
    """Returns the curves of Fig 9: the networks of Table 3 under four patterns, with minimal paths and UGAL.

    Args:
        scale: the scale; at quick scale there are five small networks and coarse loads.
    """
    minimal, adaptive, tree = fabrics(scale)
    return [
        *curves_of({**minimal, **adaptive, **tree}, (UNIFORM,), wide_loads(scale)),
        *curves_of(minimal, _PERMUTATIONS, _QUICK_FEW_LINKS if scale.quick else _FEW_LINKS),
        *curves_of({**adaptive, **tree}, _PERMUTATIONS, wide_loads(scale)),
    ]


@at_full_size
def compared(curves: MeasuredCurves) -> Values:
    """Returns the values of the claims of Fig 9: ratios of loads at saturation.

    Args:
        curves: the curves with their points.
    """
    named = by_name(curves)
    return {
        "dragonfly UGAL": lambda: load_ratio(named, "DF-UGAL", f"{_BASE}-UGAL", UNIFORM),
        "bit shuffle": lambda: worst_of(named, ("DF", "MF"), "UGAL", BIT_SHUFFLE),
        "highest": lambda: _best_of(named, ("HX", "SF"), "UGAL", BIT_SHUFFLE),
        "spectralfly": lambda: load_ratio(named, "SF-MIN", f"{_BASE}-MIN", UNIFORM),
        "bundlefly": lambda: load_ratio(named, "BF-MIN", f"{_BASE}-MIN", UNIFORM),
    }


def adversarial_curves(scale: Scale) -> list[Curve]:
    """Returns the curves of Fig 10: each group or supernode sends to another one over long minimal paths.

    Args:
        scale: the scale; at quick scale there are five small networks and coarse loads.
    """
    minimal, adaptive, tree = fabrics(scale)
    return [
        *curves_of(minimal, (ADVERSARIAL,), _QUICK_FEW_LINKS if scale.quick else _ONE_LINK),
        *curves_of({**adaptive, **tree}, (ADVERSARIAL,), wide_loads(scale)),
    ]


@at_full_size
def adversarial(curves: MeasuredCurves) -> Values:
    """Returns the values of the claims of Fig 10: ratios of loads at saturation with UGAL.

    Args:
        curves: the curves with their points.
    """
    named = by_name(curves)
    return {
        "lowest": lambda: worst_of(named, ("DF", "MF"), "UGAL", ADVERSARIAL),
        "bundlefly": lambda: load_ratio(named, f"{_BASE}-UGAL", "BF-UGAL", ADVERSARIAL),
        "paley": lambda: load_ratio(named, f"{_BASE}-UGAL", "PS-Pal-UGAL", ADVERSARIAL),
    }


def worst_of(named: Mapping[Name, MeasuredCurve], low: Iterable[str], routing: str, pattern: str) -> Value:
    """Compares the best of some networks with the worst of all others, by their loads at saturation.

    Returns the ratio of the highest load among the first networks to the lowest load among the others.

    Args:
        named: curves by name.
        low: labels of the first networks, which the paper says saturate at lower loads.
        routing: `MIN` or `UGAL`; the fat tree, which has one routing, is left out.
        pattern: name of the pattern.
    """
    theirs, others = _divided_loads(named, low, routing, pattern)
    return ratio(max(theirs), min(others))


def _best_of(named: Mapping[Name, MeasuredCurve], high: Iterable[str], routing: str, pattern: str) -> Value:
    """Compares the worst of some networks with the best of all others, by their loads at saturation.

    Returns the ratio of the lowest load among the first networks to the highest load among the others.

    Args:
        named: curves by name.
        high: labels of the first networks, which the paper says saturate at higher loads.
        routing: `MIN` or `UGAL`; the fat tree, which has one routing, is left out.
        pattern: name of the pattern.
    """
    theirs, others = _divided_loads(named, high, routing, pattern)
    return ratio(min(theirs), max(others))


def _divided_loads(
    named: Mapping[Name, MeasuredCurve], some: Iterable[str], routing: str, pattern: str
) -> tuple[list[Value], list[Value]]:
    """Returns two lists: the loads at saturation of the networks in `some`, and of all other networks.

    Args:
        named: curves by name.
        some: labels of networks.
        routing: `MIN` or `UGAL`.
        pattern: name of the pattern.
    """
    labels = {f"{label}-{routing}" for label in some}
    found = {
        label: curve.saturation_load
        for (label, its_pattern), curve in named.items()
        if its_pattern == pattern and label.endswith(f"-{routing}")
    }
    return (
        [value for label, value in found.items() if label in labels],
        [value for label, value in found.items() if label not in labels],
    )
