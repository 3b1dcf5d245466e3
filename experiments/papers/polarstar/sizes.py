"""Sizes of PolarStar and other families of diameter 3 (Figs 1, 4, 7, Table 3)."""

from __future__ import annotations

from math import prod

from experiments.papers.links import geometric_mean
from experiments.papers.model import ItemResult, Row, Scale
from experiments.papers.networks import network, size_values
from experiments.papers.sizes import (
    largest_sizes,
    members_of_family,
    prime_powers_below,
    slimfly_orders,
    up_to,
)
from topology.analysis.moore import moore_bound
from topology.families.low_diameter.polarstar_designs import Design, all_designs
from topology.families.low_diameter.slimfly import mms_radix
from topology.families.low_diameter.supernodes import supernode_exists, supernode_order
from topology.finite_fields.prime_powers import prime_power

_RADIXES = range(8, 129)
_DIAMETER = 3
# Kinds of supernodes of PolarStars; the paper's Table 2 also has BDF and Cayley graphs.
_KINDS = ("iq", "paley", "complete")
# (network, hosts per router) for each network of Table 3.
TABLE_3 = (
    (network("PS-IQ", "polarstar", q=11, supernode="iq", degree=3), 5),
    (network("PS-Pal", "polarstar", q=8, supernode="paley", degree=6), 5),
    (network("BF", "bundlefly", q=7, degree=4), 5),
    (network("HX", "hyperx", shape="9x9x8"), 8),
    (network("DF", "dragonfly", a=12, h=6), 6),
    (network("SF", "spectralfly", p=23, q=13), 8),
    (network("MF", "megafly", rho=8, a=16), 8),
    (network("FT", "fat-tree", arity=18, levels=3), 18),
)


def _largest_by_family() -> dict[str, dict[int, int]]:
    """Returns name of a family -> radix -> routers of the largest member of that radix, PolarStar first.

    The sizes come from formulas, so members may be too large to build.
    """
    designs = {radix: [one for one in all_designs(radix) if one.supernode in _KINDS] for radix in _RADIXES}
    return {
        "PolarStar": {radix: found[0].routers for radix, found in designs.items() if found},
        "Bundlefly": {
            radix: _bundlefly_routers(*largest)
            for radix, largest in largest_bundleflies(_RADIXES[-1]).items()
        },
        "Dragonfly": largest_sizes((one.radix, one.routers) for one in members_of_family("dragonfly")),
        "3-D HyperX": {radix: prod(hyperx_sides(radix)) for radix in _RADIXES},
    }


def largest_bundleflies(max_radix: int) -> dict[int, tuple[int, int]]:
    """Returns radix -> q and d' of the largest Bundlefly with Paley supernodes of 2 d' + 1 routers.

    Args:
        max_radix: the largest radix.
    """
    members = (
        (mms_radix(q) + (order - 1) // 2, (q, (order - 1) // 2))
        for q in slimfly_orders(max_radix)
        for order in prime_powers_below(2 * max_radix)
        if order % 4 == 1
    )
    largest: dict[int, tuple[int, int]] = {}
    for radix, member in members:
        if radix <= max_radix and _bundlefly_routers(*member) > _bundlefly_routers(
            *largest.get(radix, (0, 0))
        ):
            largest[radix] = member
    return dict(sorted(largest.items()))


def _bundlefly_routers(q: int, degree: int) -> int:
    return 2 * q * q * (2 * degree + 1)


def hyperx_sides(radix: int) -> tuple[int, ...]:
    """Returns the sides of the largest 3-D HyperX of a radix.

    Args:
        radix: the radix, at least 3.
    """
    return tuple((radix + 3 + place) // 3 for place in range(3))


def largest_polarstar(radix: int) -> Design:
    """Returns the largest PolarStar of a radix with one of the paper's kinds of supernodes.

    Args:
        radix: the radix, at least 8.
    """
    return next(one for one in all_designs(radix) if one.supernode in _KINDS)


def scales(_scale: Scale) -> ItemResult:
    """Returns the largest networks of diameter 3 by radix (Fig 1).

    PolarStar's mean ratio to a family covers only radixes that the family has. The first version of the
    abstract confirms this: its ratio to Bundlefly is 1.31; with the largest Bundlefly that fits each radix,
    it would be 1.14.
    """
    own = _largest_by_family()
    sizes = {name: {radix: up_to(of_family, radix) for radix in _RADIXES} for name, of_family in own.items()}
    rows: list[Row] = [
        {"family": name, "radix": radix, "routers": n, "efficiency": n / moore_bound(radix, _DIAMETER)}
        for name, fitting in sizes.items()
        for radix, n in fitting.items()
        if n
    ]
    values: dict[str, float] = {}
    for key, name in (("bundlefly", "Bundlefly"), ("dragonfly", "Dragonfly"), ("hyperx", "3-D HyperX")):
        mean = geometric_mean(
            sizes["PolarStar"][radix] / routers for radix, routers in own[name].items() if radix in _RADIXES
        )
        values |= {f"over {key}": mean, f"v1 over {key}": mean}
    return ItemResult(values, rows)


def factors(_scale: Scale) -> ItemResult:
    """Returns the orders of the factor graphs of star products by degree (Fig 4, Table 2)."""
    rows: list[Row] = [
        {"graph": "ER", "degree": q + 1, "routers": q * q + q + 1}
        for q in filter(prime_power, range(2, _RADIXES[-1]))
    ]
    for kind in _KINDS:
        for degree in range(1, 65):
            if supernode_exists(kind, degree):
                rows.append({"graph": kind, "degree": degree, "routers": supernode_order(kind, degree)})
    values = {f"iq d={degree}": float(supernode_order("iq", degree)) for degree in (3, 4, 7)}
    er_11 = network("ER", "polarfly", q=11).graph()
    return ItemResult({**values, "er q=11": er_11.routers}, rows)


def best_supernodes(_scale: Scale) -> ItemResult:
    """Returns the largest PolarStar of each radix by kind of supernode (Fig 7)."""
    rows: list[Row] = []
    best: list[str] = []
    for radix in _RADIXES:
        designs = [one for one in all_designs(radix) if one.supernode in _KINDS]
        for kind in _KINDS:
            if own := [one.routers for one in designs if one.supernode == kind]:
                rows.append({"supernode": kind, "radix": radix, "routers": max(own)})
        if designs:
            best.append(designs[0].supernode)
    every = [found[0].supernode for radix in _RADIXES if (found := all_designs(radix))]
    values = {
        "iq best": best.count("iq") / len(best),
        "iq or paley": sum(kind in ("iq", "paley") for kind in every) / len(every),
    }
    return ItemResult(values, rows)


def configurations(_scale: Scale) -> ItemResult:
    """Returns the sizes of the networks of Table 3."""
    rows: list[Row] = []
    values = dict(size_values(one for one, _ in TABLE_3))
    for one, hosts in TABLE_3:
        graph = one.graph()
        values[f"{one.label} endpoints"] = graph.endpoints(hosts)
        rows.append(
            {
                "network": one.label,
                "routers": graph.routers,
                "radix": graph.network_radix,
                "hosts": hosts,
                "endpoints": graph.endpoints(hosts),
                "diameter": graph.diameter,
            }
        )
    del values["PS-Pal radix"], values["PS-Pal endpoints"]
    return ItemResult(values, rows)
