"""Bisections by radix: families of diameter 3 (Fig 12), and PolarStars by kind of supernode (Fig 13).

Graphs are bisected by search up to the largest radix at which all PolarStars can be built. At any size,
PolarStars with Inductive-Quad supernodes also have halves that cut no link between supernodes. Links between
supernodes join (u, x) to (v, f(x)), where f is an involution. So a half that contains both or neither of each
x and f(x) cuts only links inside supernodes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from experiments.papers.links import bisection_row
from experiments.papers.model import ItemResult, Row, Scale
from experiments.papers.networks import Network, network
from experiments.papers.polarstar.sizes import hyperx_sides, largest_bundleflies, largest_polarstar
from topology.analysis.bisection import Bisection, bisect, search_remark
from topology.families.low_diameter.polarstar_designs import Design, all_designs
from topology.families.low_diameter.supernodes import Supernode, make_supernode
from topology.networkx_graphs import NetworkxTopology

_RADIXES = range(8, 129)
_SEARCHED, _QUICK = 37, 12  # up to radix 37, all PolarStars can be built
_JELLYFISH_RADIX = 24  # for larger radixes, drawing a random graph takes longer than bisecting it
_POLARSTAR = "PolarStar"
# Key of a claim -> name of the family.
_COMPARED = {
    "jellyfish": "Jellyfish",
    "spectralfly": "Spectralfly",
    "bundlefly": "Bundlefly",
    "dragonfly": "Dragonfly",
    "hyperx": "3-D HyperX",
    "megafly": "Megafly",
}
# Orders p and q of the largest Spectralflies of diameter 3 up to radix 37; at radix 8, 14, 18, 20 and 32 the
# diameter is larger.
_SPECTRALFLIES = ((11, 7), (23, 13), (29, 13))
_KINDS = {"iq": "Inductive-Quad", "paley": "Paley"}
_PAIRED = "Inductive-Quad, no link between supernodes cut"
_COLUMNS = ("family", "radix", "routers", "links", "cut", "share", "halves", "method", "searches")


def bisections(scale: Scale) -> ItemResult:
    """Returns, for families of diameter 3 and each radix, the share of links that a bisection cuts (Fig 12).

    A family's mean share over its radixes is compared with PolarStar's mean over the same radixes. PolarStars
    are the largest of each radix; dragonflies and Megaflies are balanced.
    """
    radixes = range(_RADIXES[0], (_QUICK if scale.quick else _SEARCHED) + 1)
    paired = _paired(radixes[-1])
    rows: list[Row] = []
    shares: dict[str, dict[int, float]] = {_POLARSTAR: {}}
    for radix in radixes:
        design = largest_polarstar(radix)
        rows.append(_row(_POLARSTAR, _polarstar(design), scale))
        shares[_POLARSTAR][radix] = known_share(rows[-1], paired if design.supernode == "iq" else {})
    for family, one in _others(radixes):
        rows.append(_row(family, one, scale))
        shares.setdefault(family, {})[rows[-1]["radix"]] = rows[-1]["share"]
    if scale.quick:  # claims are about means over all radixes
        return ItemResult({}, rows, search_remark())
    own = shares[_POLARSTAR]
    values = {
        key: float(np.mean([*shares[family].values()]) / np.mean([own[radix] for radix in shares[family]]))
        for key, family in _COMPARED.items()
    }
    return ItemResult(values, rows, search_remark())


def _others(radixes: range) -> Iterator[tuple[str, Network]]:
    """Yields (family, network to bisect) for families other than PolarStar, one for each of their radixes."""
    for radix in range(radixes[0], min(radixes[-1], _JELLYFISH_RADIX) + 1):
        routers = largest_polarstar(radix).routers
        routers += routers * radix % 2  # a graph has an even number of link ends
        yield "Jellyfish", network(f"JF {radix}", "jellyfish", routers=routers, degree=radix)
    for p, q in _SPECTRALFLIES:
        if p + 1 in radixes:
            yield "Spectralfly", network(f"SF {p}", "spectralfly", p=p, q=q)
    for radix, (q, degree) in largest_bundleflies(radixes[-1]).items():
        if radix in radixes:
            yield "Bundlefly", network(f"BF {radix}", "bundlefly", q=q, degree=degree)
    for radix in radixes:
        if radix % 3 == 2:
            h = (radix + 1) // 3
            yield "Dragonfly", network(f"DF {radix}", "dragonfly", a=2 * h, h=h)
        yield "3-D HyperX", network(f"HX {radix}", "hyperx", shape="x".join(map(str, hyperx_sides(radix))))
        if radix % 2 == 0:
            yield "Megafly", network(f"MF {radix}", "megafly", rho=radix // 2, a=radix)


def _row(family: str, one: Network, scale: Scale) -> Row:
    """Bisects a network by search, and returns its row, with the columns in _COLUMNS only."""
    found = bisection_row(family, one, scale)
    return {column: found[column] for column in _COLUMNS}


def _paired(max_radix: int = _RADIXES[-1]) -> dict[int, Row]:
    """For each radix, bisects the largest PolarStar without cutting links between supernodes.

    Returns radix -> row. Radixes whose PolarStar has no such halves are left out.
    """
    return {row["radix"]: row for row in map(paired_row, _largest("iq", max_radix)) if row}


def known_share(row: Row, paired: Mapping[int, Row]) -> float:
    """Returns the smallest share of links that a known bisection of a row's network cuts.

    Args:
        row: the row, with halves found by search.
        paired: radix -> row of the bisection that cuts no link between supernodes (`_paired`).
    """
    return float(min(row["share"], paired.get(row["radix"], row)["share"]))


def _polarstar(design: Design) -> Network:
    """Returns the PolarStar with the parameters of a design."""
    kind = design.supernode
    return network(f"PS {kind}", "polarstar", q=design.q, supernode=kind, degree=design.degree)


def bisections_by_supernode(scale: Scale) -> ItemResult:
    """Returns the share of links that bisecting the largest PolarStars cuts, by radix and kind (Fig 13)."""
    paired = _paired()
    rows: list[Row] = []
    spread: dict[str, float] = {}
    for kind, name in _KINDS.items():
        own = [_row(name, _polarstar(design), scale) for design in _largest(kind, _SEARCHED)]
        rows += own
        spread[kind] = float(np.std([known_share(row, paired if kind == "iq" else {}) for row in own]))
    return ItemResult({"spread": spread["iq"] / spread["paley"]}, [*rows, *paired.values()], search_remark())


def _largest(kind: str, max_radix: int = _RADIXES[-1]) -> Iterator[Design]:
    """Yields, for each radix up to a limit, the largest PolarStar with a kind of supernode, if any."""
    for radix in range(_RADIXES[0], max_radix + 1):
        designs = [one for one in all_designs(radix) if one.supernode == kind]
        if designs:
            yield designs[0]


def paired_halves(supernode: Supernode) -> Bisection:
    """Returns halves of an Inductive-Quad supernode that contain both or neither of each x and f(x).

    Args:
        supernode: a supernode with an even number of pairs: its degree is 3 modulo 4.

    Returns:
        The best halves of several searches; their sizes count pairs, not routers.
    """
    everyone = np.arange(supernode.order)
    _, pair = np.unique(np.minimum(everyone, supernode.image), return_inverse=True)
    links = pair[np.argwhere(np.triu(supernode.adjacency_matrix))]
    return bisect(NetworkxTopology(links, np.ones(supernode.order // 2, np.int64)))


def paired_row(design: Design) -> Row | None:
    """Bisects a PolarStar without cutting links between supernodes, and returns its row.

    Args:
        design: a PolarStar with Inductive-Quad supernodes, of any size.

    Returns:
        The row; None if its supernodes have an odd number of pairs of x and f(x).
    """
    if design.degree % 2 == 0:
        return None
    found = paired_halves(make_supernode("iq", design.degree))
    radix = design.q + 1 + design.degree
    # All routers have the same degree: in a quadric's supernode, a link to the image replaces one outside.
    links = design.routers * radix // 2
    cut = (design.q**2 + design.q + 1) * found.cut
    halves = f"{design.routers // 2}/{design.routers // 2}"
    numbers = (_PAIRED, radix, design.routers, links, cut, cut / links, halves, found.method, found.seeds)
    return dict(zip(_COLUMNS, numbers, strict=True))
