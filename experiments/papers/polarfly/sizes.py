"""Sizes of PolarFly and other families: feasible degrees, shares of the Moore bound, Table V."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator

import networkx as nx

from experiments.papers.model import ItemResult, Row, Scale
from experiments.papers.networks import network, size_values
from experiments.papers.sizes import prime_powers_below, slimfly_orders
from topology.analysis.moore import moore_bound
from topology.families.low_diameter.slimfly import mms_radix
from topology.networkx_graphs import from_networkx
from topology.registry import make_topology

_LARGEST_EXPONENT = 20  # feasible degrees are counted up to radix 2^20
_LARGEST_RADIX = 128  # largest network radix in the figures
_NAMED = (32, 48, 62, 128)
TABLE_V = (
    network("PF", "polarfly", q=31),
    network("SF", "slimfly", q=23),
    network("DF1", "dragonfly", a=12, h=6),
    network("DF2", "dragonfly", a=6, h=27),
    network("JF", "jellyfish", routers=993, degree=32),
    network("FT", "fat-tree", arity=18, levels=3),
)


def polarfly_radixes(limit: int) -> list[int]:
    """Returns the network radixes q + 1 of PolarFlies up to a limit, ascending.

    Args:
        limit: the limit, at least 3.
    """
    return [q + 1 for q in prime_powers_below(limit)]


def feasible_degrees(_scale: Scale) -> ItemResult:
    """Returns the numbers of feasible degrees of PolarFly and Slim Fly (Fig 1)."""
    polarfly = polarfly_radixes(1 << _LARGEST_EXPONENT)
    slimfly = sorted({mms_radix(q) for q in slimfly_orders(1 << _LARGEST_EXPONENT)})
    rows: list[Row] = []
    for exponent in range(3, _LARGEST_EXPONENT + 1):
        limit = 1 << exponent
        for name, radixes in (("PolarFly", polarfly), ("Slim Fly", slimfly)):
            rows.append({"radix": limit, "family": name, "degrees": bisect_right(radixes, limit)})
    covered = {radix for radix in (*polarfly, *slimfly) if radix <= _LARGEST_RADIX}
    values = {
        "asymptotic ratio": len(polarfly) / len(slimfly),
        "named radixes": sum(radix in polarfly for radix in _NAMED),
        "covered share": len(covered) / len(range(3, _LARGEST_RADIX + 1)),
    }
    return ItemResult(values, rows)


def _diameter_two(limit: int) -> Iterator[tuple[str, int, int]]:
    """Yields (family, network radix, routers) of all networks of diameter 2 up to a radix, by formulas."""
    for radix in polarfly_radixes(limit):
        yield "PolarFly", radix, radix * radix - radix + 1
    for q in slimfly_orders(limit):
        yield "Slim Fly", mms_radix(q), 2 * q * q
    for radix in range(4, limit + 1, 2):
        yield "2-D HyperX", radix, (radix // 2 + 1) ** 2


def moore_efficiencies(_scale: Scale) -> ItemResult:
    """Returns the shares of the Moore bound that families of diameter 2 reach (Fig 2)."""
    rows: list[Row] = [
        {"family": family, "radix": radix, "routers": n, "efficiency": n / moore_bound(radix, 2)}
        for family, radix, n in _diameter_two(_LARGEST_RADIX)
    ]
    er_31 = make_topology("polarfly", {"q": 31}).moore_efficiency
    largest = slimfly_orders(1 << _LARGEST_EXPONENT)[-1]
    by_family: dict[str, dict[int, int]] = {}
    for family, radix, routers in _diameter_two(1 << 10):
        by_family.setdefault(family, {})[radix] = routers
    both = max(by_family["PolarFly"].keys() & by_family["2-D HyperX"].keys())
    values = {
        "q=31": er_31,
        "more than 96 %": er_31,
        "least from radix 20": min(
            row["efficiency"] for row in rows if row["family"] == "PolarFly" and row["radix"] >= 20
        ),
        "slimfly limit": 2 * largest**2 / moore_bound(mms_radix(largest), 2),
        "over hyperx": by_family["PolarFly"][both] / by_family["2-D HyperX"][both],
        "petersen": from_networkx(nx.petersen_graph()).moore_efficiency,
        "hoffman-singleton": make_topology("slimfly", {"q": 5}).moore_efficiency,
    }
    return ItemResult(values, rows)


def configurations(_scale: Scale) -> ItemResult:
    """Returns the sizes of the networks of Table V."""
    rows = [
        {
            "network": one.label,
            "routers": one.graph().routers,
            "radix": one.graph().network_radix,
            "links": one.graph().links,
            "diameter": one.graph().diameter,
        }
        for one in TABLE_V
    ]
    return ItemResult(size_values(TABLE_V), rows)
