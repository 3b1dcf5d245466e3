"""Sizes of Slim Fly and other families (Figs 1, 5a, 5b, Table II, section V)."""

from __future__ import annotations

from experiments.papers.model import ItemResult, Row, Scale
from experiments.papers.networks import network
from experiments.papers.sizes import largest_sizes, prime_powers_below, slimfly_orders
from experiments.papers.slimfly.networks import FAMILIES, nearest
from topology.analysis.moore import moore_bound
from topology.families.low_diameter.polarstar_designs import Design
from topology.families.low_diameter.slimfly import mms_radix
from topology.shortest_paths import host_pairs_by_distance

_RADIX, _LARGEST_RADIX = 96, 128
_ENDPOINTS, _QUICK_ENDPOINTS = (256, 512, 1024, 2048, 4096, 8192), (256, 1024)
_SIMULATED = {"SF": (network("SF", "slimfly", q=19), 15), "DF": (network("DF", "dragonfly", a=14, h=7), 7)}
_FAT_TREE = (network("FT", "fat-tree", arity=22, levels=3), 22)


def average_hops(scale: Scale) -> ItemResult:
    """Returns the mean distance between routers with endpoints by network size (Fig 1)."""
    rows: list[Row] = []
    ratios: list[float] = []
    for size in _QUICK_ENDPOINTS if scale.quick else _ENDPOINTS:
        hops: dict[str, float] = {}
        for family in FAMILIES:
            one = nearest(family, size)
            counts = host_pairs_by_distance(one.network.graph())
            hops[family] = sum(d * n for d, n in counts.items()) / sum(counts.values())
            rows.append({"family": family, "endpoints": one.endpoints, "hops": hops[family]})
        ratios.append(hops["SF"] / min(mean for family, mean in hops.items() if family != "SF"))
    return ItemResult({"lowest": max(ratios)}, rows)


def diameter_two(_scale: Scale) -> ItemResult:
    """Returns the sizes of families of diameter 2 by radix (Fig 5a)."""
    slimfly = largest_sizes((mms_radix(q), 2 * q * q) for q in slimfly_orders(_LARGEST_RADIX))
    rows: list[Row] = []
    for radix in range(4, _LARGEST_RADIX + 1, 2):
        rows.append({"family": "Moore bound", "radix": radix, "routers": moore_bound(radix, 2)})
        rows.append({"family": "FBF-2", "radix": radix, "routers": (radix // 2 + 1) ** 2})
    rows += [{"family": "Slim Fly", "radix": radix, "routers": n} for radix, n in slimfly.items()]
    bound = moore_bound(_RADIX, 2)
    values = {"routers": slimfly[_RADIX], "bound": bound, "worse": 1 - slimfly[_RADIX] / bound}
    return ItemResult(values, rows)


def diameter_three(_scale: Scale) -> ItemResult:
    """Returns the sizes of families of diameter 3 by radix (Fig 5b)."""
    orders = prime_powers_below(_LARGEST_RADIX)
    bdf = [Design(u, "bdf", (u + 1) // 2) for u in orders if u % 2 and u >= 3]
    sizes = {
        "DEL": {
            (v + 1) ** 2: (v + 1) ** 2 * (v * v + 1) ** 2 for v in orders if (v + 1) ** 2 <= _LARGEST_RADIX
        },
        "BDF": {3 * (one.q + 1) // 2: one.routers for one in bdf if 3 * (one.q + 1) // 2 <= _LARGEST_RADIX},
        "DF": {3 * h - 1: 2 * h * (2 * h * h + 1) for h in range(1, _LARGEST_RADIX // 3 + 1)},
        "FBF-3": {3 * n: (n + 1) ** 3 for n in range(1, _LARGEST_RADIX // 3 + 1)},
    }
    rows: list[Row] = [
        {"family": name, "radix": radix, "routers": n, "efficiency": n / moore_bound(radix, 3)}
        for name, own in sizes.items()
        for radix, n in own.items()
    ]

    def share(name: str) -> float:
        radix = min(sizes[name], key=lambda one: abs(one - _RADIX))
        return sizes[name][radix] / moore_bound(radix, 3)

    dragonfly = max(n for radix, n in sizes["DF"].items() if radix <= _RADIX)
    values = {
        "dragonfly": dragonfly / moore_bound(_RADIX, 3),
        "flattened butterfly": dragonfly / sizes["FBF-3"][_RADIX],
        "delorme": share("DEL"),
        "bdf": share("BDF"),
    }
    return ItemResult(values, rows)


def diameters(_scale: Scale) -> ItemResult:
    """Returns the diameters of networks with about 1024 endpoints (Table II)."""
    found = {family: nearest(family, 1024) for family in FAMILIES}
    rows: list[Row] = [
        {"family": family, "endpoints": one.endpoints, "diameter": one.network.graph().diameter}
        for family, one in found.items()
    ]
    # The paper's formula for d dimensions: half a side in each.
    tori = {
        family: graph.diameter / (dimensions / 2 * graph.routers ** (1 / dimensions))
        for family, dimensions in (("T3D", 3), ("T5D", 5))
        for graph in [found[family].network.graph()]
    }
    return ItemResult({"diameter": found["SF"].network.graph().diameter, **tori}, rows)


def simulated(_scale: Scale) -> ItemResult:
    """Returns the sizes of the simulated networks (section V)."""
    values: dict[str, float] = {}
    rows: list[Row] = []
    for name, (one, hosts) in {**_SIMULATED, "FT": _FAT_TREE}.items():
        graph = one.graph()
        values |= {f"{name} routers": graph.routers, f"{name} endpoints": graph.endpoints(hosts)}
        rows.append(
            {"network": name, "routers": graph.routers, "hosts": hosts, "endpoints": graph.endpoints(hosts)}
        )
    return ItemResult(values, rows)
