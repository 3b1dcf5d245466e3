"""Bisections and link failures of PolarFly and other networks (Figs 12 and 14)."""

from __future__ import annotations

from collections.abc import Iterator

from experiments.papers.links import bisection_row, failures, geometric_mean
from experiments.papers.model import ItemResult, Row, Scale, Value
from experiments.papers.networks import Network, network
from experiments.papers.polarfly.sizes import TABLE_V, polarfly_radixes
from experiments.papers.sizes import slimfly_orders
from topology.analysis.bisection import search_remark

_LARGEST_RADIX, _QUICK_RADIX = 128, 48
_JELLYFISH_RADIX = 48  # for larger radixes, drawing a random graph takes longer than bisecting it
_MIN_RADIX = 18  # the paper's bound applies from this radix on


def _networks(scale: Scale) -> Iterator[tuple[str, Network]]:
    """Yields (name of the family, network to bisect), PolarFlies of all radixes first."""
    largest = _QUICK_RADIX if scale.quick else _LARGEST_RADIX
    radixes = [radix for radix in polarfly_radixes(_LARGEST_RADIX) if 6 <= radix <= largest]
    chosen = sorted({*radixes, _LARGEST_RADIX})
    for radix in chosen:
        yield "PolarFly", network(f"PF {radix}", "polarfly", q=radix - 1)
    for q in slimfly_orders(largest):
        if q >= 5:
            yield "Slim Fly", network(f"SF {q}", "slimfly", q=q)
    for radix in chosen:
        if radix <= _JELLYFISH_RADIX:
            # A graph has an even number of link ends. Where ER_q's size makes it odd, add a router.
            routers = radix * radix - radix + 1
            routers += routers * radix % 2
            yield "Jellyfish", network(f"JF {radix}", "jellyfish", routers=routers, degree=radix)
    for h in range(2, 11):
        yield "Dragonfly", network(f"DF {h}", "dragonfly", a=2 * h, h=h)
    for arity in range(4, 25, 2):
        yield "fat tree", network(f"FT {arity}", "fat-tree", arity=arity, levels=3)


def bisections(scale: Scale) -> ItemResult:
    """Returns, by radix, the share of links that a bisection cuts (Fig 12)."""
    rows: list[Row] = [bisection_row(family, one, scale) for family, one in _networks(scale)]
    shares = {
        family: {row["radix"]: row["share"] for row in rows if row["family"] == family}
        for family in dict.fromkeys(row["family"] for row in rows)
    }
    polarfly, slimfly = shares["PolarFly"], shares["Slim Fly"]
    compared = [radix for radix in polarfly if radix <= max(slimfly)]
    nearest = {radix: min(slimfly, key=lambda own: (abs(own - radix), own)) for radix in compared}
    table = {one.label: bisection_row(one.label, one, scale)["share"] for one in TABLE_V}
    values = {
        "least from radix 18": min(share for radix, share in polarfly.items() if radix >= _MIN_RADIX),
        "limit": polarfly[max(polarfly)],
        "slimfly": table["SF"],
        "dragonfly": table["DF1"],
        "fat tree": table["FT"],
        "over slimfly": geometric_mean(
            polarfly[radix] / slimfly[own] for radix, own in nearest.items() if radix >= _MIN_RADIX
        ),
        "over jellyfish": geometric_mean(
            polarfly[radix] / share for radix, share in shares["Jellyfish"].items()
        ),
    }
    return ItemResult(values, rows, search_remark())


def link_failures(scale: Scale) -> ItemResult:
    """Returns the distances of the networks of Table V while their links fail (Fig 14)."""
    found = failures(TABLE_V, scale)
    values: dict[str, Value | float] = {
        "diameter at 5 %": found.diameter("PF", 0.05),
        "diameter at 55 %": found.diameter("PF", 0.55),
        "disconnection": found.median("PF"),
        "slimfly": found.ratio("SF", "PF"),
        "dragonfly": found.ratio("DF1", "PF"),
        "fat tree": found.ratio("FT", "PF"),
    }
    return ItemResult(values, found.rows)
