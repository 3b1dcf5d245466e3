"""Bisections of PolarStar by the kind of its supernodes, over the radix (Fig 13).

Graphs up to the largest radix of which all can be built are halved by search. With Inductive-Quad supernodes
there are halves of graphs of any size that cut no link between supernodes: f is an involution, links join
(u, x) to (v, f(x)), and so halves that hold both or neither of each x and f(x) cut links inside supernodes
only.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from experiments.papers.links import bisection_row
from experiments.papers.model import Effort, Found, Row
from experiments.papers.networks import network
from topology.analysis.bisection import Bisection, bisect, search_remark
from topology.families.low_diameter.polarstar_designs import Design, all_designs
from topology.families.low_diameter.supernodes import Supernode, make_supernode
from topology.networkx_graphs import NetworkxTopology

_RADIXES = range(8, 129)
_SEARCHED = 37  # the largest radix of which all can be built
_KINDS = {"iq": "Inductive-Quad", "paley": "Paley"}
_PAIRED = "Inductive-Quad, no link between supernodes cut"
_COLUMNS = ("family", "radix", "routers", "links", "cut", "share", "halves", "method", "searches")


def bisections_by_supernode(effort: Effort) -> Found:
    """Returns the shares of links in bisections of the largest PolarStar of each radix and kind (Fig 13)."""
    paired = {row["radix"]: row for row in map(paired_row, _largest("iq")) if row}
    rows: list[Row] = []
    spread: dict[str, float] = {}
    for kind, name in _KINDS.items():
        shares = []
        for design in _largest(kind, _SEARCHED):
            one = network(name, "polarstar", q=design.q, supernode=kind, degree=design.degree)
            row = bisection_row(name, one, effort)
            rows.append({column: row[column] for column in _COLUMNS})
            known = paired.get(row["radix"], row) if kind == "iq" else row
            shares.append(min(row["share"], known["share"]))
        spread[kind] = float(np.std(shares))
    return Found({"spread": spread["iq"] / spread["paley"]}, [*rows, *paired.values()], search_remark())


def _largest(kind: str, most: int = _RADIXES[-1]) -> Iterator[Design]:
    """Yields the largest PolarStar with a kind of supernodes of every radix up to a limit that has one."""
    for radix in range(_RADIXES[0], most + 1):
        designs = [one for one in all_designs(radix) if one.supernode == kind]
        if designs:
            yield designs[0]


def paired_halves(supernode: Supernode) -> Bisection:
    """Returns halves of an Inductive-Quad supernode that hold both or neither of each x and f(x).

    Args:
        supernode: the supernode, of an even number of pairs: its degree is 3 modulo 4.

    Returns:
        The best halves of several searches; their sizes are numbers of pairs.
    """
    everyone = np.arange(supernode.order)
    _, pair = np.unique(np.minimum(everyone, supernode.image), return_inverse=True)
    links = pair[np.argwhere(np.triu(supernode.adjacency_matrix))]
    return bisect(NetworkxTopology(links, np.ones(supernode.order // 2, np.int64)))


def paired_row(design: Design) -> Row | None:
    """Returns the row of halves that cut no link between supernodes.

    Args:
        design: a PolarStar with Inductive-Quad supernodes, of any size.

    Returns:
        The row; None if its supernodes have an odd number of pairs of x and f(x).
    """
    if design.degree % 2 == 0:
        return None
    found = paired_halves(make_supernode("iq", design.degree))
    radix = design.q + 1 + design.degree
    # All routers have as many links: those of a quadric's supernode have one to their image instead.
    links = design.routers * radix // 2
    cut = (design.q**2 + design.q + 1) * found.cut
    halves = f"{design.routers // 2}/{design.routers // 2}"
    numbers = (_PAIRED, radix, design.routers, links, cut, cut / links, halves, found.method, found.seeds)
    return dict(zip(_COLUMNS, numbers, strict=True))
