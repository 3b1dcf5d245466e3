"""PolarFly expanded by copies of clusters, without changing existing links.

Quadrics: a copy of the cluster W of all quadrics. Each copied quadric is linked to the neighbours of its
original, to the original (which replaces its self-loop), and to earlier copies of it. The diameter stays 2. A
copy adds q + 1 routers, and 2 links at each neighbour of a quadric.

Other clusters: a copy of a fan around the starter quadric (`PolarFly.quadric_fans`), at most one of each. The
copy of a router is joined

- to the copies of its neighbours in the fan, and to its neighbours outside and their copies;
- if it is the centre of the fan, to its original;
- if it is not the centre but adjacent to quadrics, to the centres of the two fans in which it has no
  neighbour, and to the copies of these centres.

The diameter is 3, and the mean distance below 2. A copy adds q routers, and at most one link at each other
router.

Routes are found by search: a pair of routers may have several shortest paths, and some pairs lack the common
neighbour on which PolarFly's own routes, reroute and detours rely.

Source: PolarFly (SC22), section VI and Table IV; links that the text does not specify are those of the
authors' published generator.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from topology.addressing import switch_name
from topology.base import MAX_ROUTERS, Topology
from topology.clusters import Clusters
from topology.errors import ParameterError
from topology.families.family import Family, Member, carried_hosts, order_parameter
from topology.families.low_diameter.polarfly import LAYERS, PolarFly
from topology.files.escaping import quoted
from topology.finite_fields.prime_powers import LARGEST_ORDER, SMALLEST_ORDER, prime_power
from topology.layout import Layout
from topology.parameters import Parameter
from topology.shortest_paths import SearchedTopology, adjacency_from_links

QUADRIC, NONQUADRIC = "quadric", "nonquadric"
_DOMAIN = f"{QUADRIC}:N or {NONQUADRIC}:N, with N >= 1 copied clusters"


def read_expansion(text: str) -> tuple[str, int]:
    """Parses the option `expand`: the kind and the number of the clusters to copy.

    Args:
        text: for example `quadric:2` or `nonquadric:3`.

    Returns:
        (`quadric` or `nonquadric`, number of copies, at least 1).

    Raises:
        ParameterError: the text is malformed.
    """
    kind, _, number = text.partition(":")
    if kind not in (QUADRIC, NONQUADRIC) or not (number.isascii() and number.isdecimal() and int(number)):
        raise ParameterError(f"expand must be {_DOMAIN}, got {quoted(text)}")
    return kind, int(number)


class ExpandedPolarFly(SearchedTopology):
    """ER_q for odd q with copies of its clusters.

    Router order: ER_q first, then one copy after another. A copy of the quadrics is ascending; a copy of a
    fan starts with its centre.

    Attributes:
        original: the PolarFly before the expansion.
    """

    name = "polarfly"

    def __init__(self, q: int, expand: str) -> None:
        """Builds the graph.

        Args:
            q: an odd prime power from 3 to 127.
            expand: the copied clusters, such as `quadric:2`, or `nonquadric:3` with at most q copies.

        Raises:
            ParameterError: a parameter is outside its domain, or the graph would have more than 16384
                routers; the message names the nearest values.
        """
        self.original = PolarFly(q)
        self._kind, copies = read_expansion(expand)
        _check(q, self._kind, copies)
        self.params = {"q": q, "expand": f"{self._kind}:{copies}"}
        quadrics = self.original.vertex_classes.quadrics.tolist()
        clusters = [quadrics] * copies
        if self._kind == NONQUADRIC:
            clusters = self.original.quadric_fans(quadrics[0])[:copies]
        size = len(clusters[0])
        # The routers of each copy, in the order of the copied cluster.
        self._copies = [
            list(range(first, first + size))
            for first in range(self.original.routers, self.original.routers + copies * size, size)
        ]
        links = [(link.a, link.b) for link in self.original.link_list]
        added = self._quadric_links(quadrics) if self._kind == QUADRIC else self._fan_links(clusters)
        routers = self.original.routers + copies * size
        super().__init__(adjacency_from_links(routers, np.array(sorted({*links, *added}))))

    def _quadric_links(self, quadrics: list[int]) -> set[tuple[int, int]]:
        """Returns the links (router, router) that the copies of the quadrics add to ER_q."""
        links = set()
        for place, quadric in enumerate(quadrics):
            twins = [quadric, *(copy[place] for copy in self._copies)]
            links |= {(a, b) for number, a in enumerate(twins) for b in twins[number + 1 :]}
            links |= {(n, b) for n in self.original.neighbours(quadric).tolist() for b in twins[1:]}
        return links

    def _fan_links(self, fans: list[list[int]]) -> set[tuple[int, int]]:
        """Returns the links (router, router) that the copies of fans add to ER_q."""
        original = self.original
        quadrics = original.vertex_classes.quadrics.tolist()
        all_fans = original.quadric_fans(quadrics[0])
        fan_of = {router: number for number, fan in enumerate(all_fans) for router in fan}
        copy_of = {
            r: c for fan, copy in zip(fans, self._copies, strict=True) for r, c in zip(fan, copy, strict=True)
        }
        next_to_quadrics = set(original.vertex_classes.adjacent.tolist())
        links = set()
        for fan in fans:
            centre = fan[0]
            links.add((centre, copy_of[centre]))
            for router in fan:
                around = original.neighbours(router).tolist()
                inside = [n for n in around if fan_of.get(n) == fan_of[router]]
                outside = [n for n in around if fan_of.get(n) != fan_of[router]]
                if router in next_to_quadrics and router != centre:
                    reached = {fan_of[n] for n in around if n in fan_of}
                    outside += [other[0] for number, other in enumerate(all_fans) if number not in reached]
                ends = [copy_of[n] for n in inside] + outside + [copy_of[n] for n in outside if n in copy_of]
                links |= {(min(end, copy_of[router]), max(end, copy_of[router])) for end in ends}
        return links

    @property
    def geometry(self) -> str:
        """A name without registered closed-form routes, because those of ER_q do not apply to this graph."""
        return f"polarfly grown by {self.params['expand']}"

    def clusters(self) -> Clusters:
        """Returns the fans around the starter quadric and the copied fans.

        Returns:
            q clusters, and one for each copied fan; quadrics and copies of quadrics belong to none.
        """
        clusters = self.original.clusters()
        if self._kind == QUADRIC:
            return clusters
        copied = tuple(map(tuple, self._copies))
        starter = switch_name(int(self.original.vertex_classes.quadrics[0]))
        return Clusters(clusters.members + copied, f"clusters of {starter}'s neighbours, and copies")

    def layout(self) -> Layout:
        """Returns the layers of ER_q with a row of copies below them.

        Returns:
            A layout whose kinds are W, V1, V2 and the copies.
        """
        rows = [*self.original.layers(), [router for copy in self._copies for router in copy]]
        return self.original.layered(rows, (*LAYERS, f"copies of {self._kind} clusters"))


def _check(q: int, kind: str, copies: int) -> None:
    """Raises ParameterError unless ER_q can be expanded by this number of copies."""
    if q % 2 == 0:
        odd = [n for n in range(3, LARGEST_ORDER) if n % 2 and prime_power(n)]
        nearest = [n for n in odd if n < q][-1:] + [n for n in odd if n > q][:1]
        raise ParameterError(
            f"q of an expanded polarfly must be odd, got {q}; nearest: {' and '.join(map(str, nearest))}"
        )
    size = q + 1 if kind == QUADRIC else q
    fit = (MAX_ROUTERS - q * q - q - 1) // size
    most = fit if kind == QUADRIC else min(q, fit)
    if copies > most:
        raise ParameterError(
            f"copies of {kind} clusters of a polarfly with q = {q} must be "
            f"{f'1 to {most}' if most else f'0 (at most {MAX_ROUTERS} routers)'}, got {copies}"
        )


def make_polarfly(q: int, expand: str | None = None) -> Topology:
    """Returns a PolarFly, expanded if requested.

    Args:
        q: the order of the field, a prime power from 2 to 128; odd with `expand`.
        expand: the copied clusters, such as `quadric:2` or `nonquadric:3`; None for no copies.

    Returns:
        A `PolarFly` or an `ExpandedPolarFly`.

    Raises:
        ParameterError: a parameter is outside its domain.
    """
    return PolarFly(q) if expand is None else ExpandedPolarFly(q, expand)


def _members() -> Iterator[Member]:
    """Yields the PolarFlies of all orders, without expansion."""
    for q in filter(prime_power, range(SMALLEST_ORDER, LARGEST_ORDER + 1)):
        yield Member({"q": q}, q + 1, q * q + q + 1, carried_hosts(q + 1, 2))


FAMILY = Family(
    make_polarfly,
    (
        order_parameter(SMALLEST_ORDER, LARGEST_ORDER),
        Parameter(
            name="expand",
            type=str,
            help="clusters to copy to expand the graph, for odd q",
            parse=read_expansion,
            domain_text=_DOMAIN,
            default_text="none",
            metavar="KIND:N",
        ),
    ),
    "Erdos-Renyi polarity graph ER_q: q^2 + q + 1 routers, diameter 2",
    "polarfly --q 7",
    "low-diameter",
    members=_members,
)
