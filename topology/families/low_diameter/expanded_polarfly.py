"""PolarFly expanded by copies of clusters, without changing existing links.

An expansion is a sequence of steps; each copies a cluster of the graph as it is (Definition VI.1): a copy of
a router is joined to the copies of its neighbours in the cluster, and to its neighbours outside.

Quadrics (VI-A): a copy of the cluster W of all quadrics. Each copied quadric is also linked to its original
(which replaces its self-loop); the definition joins it to earlier copies. The diameter stays 2. A copy adds
q + 1 routers, and 2 links at each neighbour of a quadric.

Other clusters (VI-B): a copy of the next fan around the starter quadric (`PolarFly.quadric_fans`), at most
one of each. For each other fan, and each copy of one, one router of the copied fan besides its centre has no
neighbour there; its copy is joined to the centre there. The diameter is 3, and the mean distance below 2. A
copy adds q routers, and at most one link at each other router.

The forms `quadric:N` and `nonquadric:N` are those of the authors' published generator, which also links the
centre of a copied fan to its original. Lists of steps, such as `quadric,nonquadric=3`, have only the links of
the paper.

Routes are found by search: a pair of routers may have several shortest paths, and some pairs lack the common
neighbour on which PolarFly's own routes, reroute and detours rely. Detours are searched, too
(`expanded_detours`).

Source: PolarFly (SC22), section VI and Table IV.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import NamedTuple

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

GEOMETRY = "expanded polarfly"
QUADRIC, NONQUADRIC = "quadric", "nonquadric"
_MAX_DIGITS = 9  # of a number of copies, far above what fits into a fabric
_DOMAIN = (
    f"{QUADRIC}:N, {NONQUADRIC}:N, or steps such as {QUADRIC},{NONQUADRIC}=3, with N >= 1 copied clusters"
)


class Expansion(NamedTuple):
    """The steps by which a PolarFly is expanded.

    Attributes:
        steps: (kind of the copied clusters, number of copies) of each step.
        as_generated: whether the expansion is that of the authors' generator, with a link between the centre
            of a copied fan and its original.
    """

    steps: tuple[tuple[str, int], ...]
    as_generated: bool

    def copies(self, kind: str) -> int:
        """Returns the number of copied clusters of a kind."""
        return sum(copies for other, copies in self.steps if other == kind)

    def __str__(self) -> str:
        if self.as_generated:
            return "{}:{}".format(*self.steps[0])
        return ",".join(kind if copies == 1 else f"{kind}={copies}" for kind, copies in self.steps)


def read_expansion(text: str) -> Expansion:
    """Parses the option `expand`: the kinds and the numbers of the clusters to copy.

    Args:
        text: for example `quadric:2`, `nonquadric:3`, or the steps `quadric,nonquadric=3`.

    Returns:
        The steps; successive ones of the same kind are one.

    Raises:
        ParameterError: the text is malformed.
    """
    as_generated = ":" in text
    steps: list[tuple[str, int]] = []
    for step in [text] if as_generated else text.split(","):
        kind, sign, number = step.partition(":" if as_generated else "=")
        digits = number.lstrip("0") if number.isascii() and number.isdecimal() else str(int(not sign))
        copies = int(digits or "0") if len(digits) <= _MAX_DIGITS else 0
        if kind not in (QUADRIC, NONQUADRIC) or not copies:
            raise ParameterError(f"expand must be {_DOMAIN}, got {quoted(text)}")
        if steps and steps[-1][0] == kind:
            copies += steps.pop()[1]
        steps.append((kind, copies))
    return Expansion(tuple(steps), as_generated)


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
            expand: the copied clusters, such as `quadric:2`, or `nonquadric:3` with at most q copies; or
                steps, such as `quadric,nonquadric=3`.

        Raises:
            ParameterError: a parameter is outside its domain, or the graph would have more than 16384
                routers; the message names the nearest values.
        """
        self.original = PolarFly(q)
        expansion = read_expansion(expand)
        _check(q, expansion)
        self.params = {"q": q, "expand": str(expansion)}
        growth = _Growth(self.original)
        for kind, copies in expansion.steps:
            for _ in range(copies):
                if kind == QUADRIC:
                    growth.copy_quadrics()
                else:
                    growth.copy_fan(link_centres=expansion.as_generated)
        # The routers of each copy, in the order of the copied cluster.
        self._copies = {QUADRIC: growth.quadrics[1:], NONQUADRIC: growth.fans[q:]}
        links = [(a, b) for a, others in enumerate(growth.neighbours) for b in sorted(others) if a < b]
        super().__init__(adjacency_from_links(len(growth.neighbours), np.array(links)))

    @property
    def geometry(self) -> str:
        """A name of its own, because the closed-form routes of ER_q do not apply to this graph."""
        return GEOMETRY

    def clusters(self) -> Clusters:
        """Returns the fans around the starter quadric and the copied fans.

        Returns:
            q clusters, and one for each copied fan; quadrics and copies of quadrics belong to none.
        """
        clusters = self.original.clusters()
        copied = tuple(map(tuple, self._copies[NONQUADRIC]))
        if not copied:
            return clusters
        starter = switch_name(int(self.original.vertex_classes.quadrics[0]))
        return Clusters(clusters.members + copied, f"clusters of {starter}'s neighbours, and copies")

    def layout(self) -> Layout:
        """Returns the layers of ER_q with rows of copies below them.

        Returns:
            A layout whose kinds are W, V1, V2 and the copies.
        """
        copies = {
            f"copies of {kind} clusters": list(chain(*own)) for kind, own in self._copies.items() if own
        }
        return self.original.layered([*self.original.layers(), *copies.values()], (*LAYERS, *copies))


class _Growth:
    """A PolarFly to which copies of clusters are added.

    Attributes:
        neighbours: the neighbours of each router.
        quadrics: the quadrics and their copies, in the same order.
        fans: the fans around the starter quadric, then their copies in order; centres come first.
    """

    def __init__(self, original: PolarFly) -> None:
        """Begins with the graph that is expanded.

        Args:
            original: the PolarFly, of odd order.
        """
        self.neighbours = [set(original.neighbours(router).tolist()) for router in range(original.routers)]
        self.quadrics: list[list[int]] = [original.vertex_classes.quadrics.tolist()]
        self.fans = original.quadric_fans(self.quadrics[0][0])
        self._fan_count = len(self.fans)

    def copy_quadrics(self) -> None:
        """Copies the quadrics (section VI-A)."""
        copy = self._copy(self.quadrics[0])
        for pair in zip(self.quadrics[0], copy, strict=True):
            self._link(*pair)
        self.quadrics.append(copy)

    def copy_fan(self, *, link_centres: bool) -> None:
        """Copies the next fan (section VI-B).

        Args:
            link_centres: whether the copy of its centre is also linked to the centre.
        """
        number = len(self.fans) - self._fan_count
        fan = self.fans[number]
        # A copied fan has no other copy yet, so the others are all but itself.
        others = [other for other in self.fans if other is not fan]
        apart = [
            (place, other[0])
            for other in others
            for place, router in enumerate(fan)
            if place and self.neighbours[router].isdisjoint(other)
        ]
        copy = self._copy(fan)
        for place, centre in apart:
            self._link(copy[place], centre)
        if link_centres:
            self._link(fan[0], copy[0])
        self.fans.append(copy)

    def _copy(self, cluster: list[int]) -> list[int]:
        """Copies a cluster of the graph as it is (Definition VI.1), and returns the new routers."""
        first = len(self.neighbours)
        copy_of = {router: first + place for place, router in enumerate(cluster)}
        around = [{copy_of.get(other, other) for other in self.neighbours[router]} for router in cluster]
        self.neighbours += [set() for _ in cluster]
        for router, others in zip(copy_of.values(), around, strict=True):
            for other in others:
                self._link(router, other)
        return list(copy_of.values())

    def _link(self, router: int, other: int) -> None:
        self.neighbours[router].add(other)
        self.neighbours[other].add(router)


def _check(q: int, expansion: Expansion) -> None:
    """Raises ParameterError unless ER_q can be expanded by these numbers of copies."""
    if q % 2 == 0:
        odd = [n for n in range(3, LARGEST_ORDER) if n % 2 and prime_power(n)]
        nearest = [n for n in odd if n < q][-1:] + [n for n in odd if n > q][:1]
        raise ParameterError(
            f"q of an expanded polarfly must be odd, got {q}; nearest: {' and '.join(map(str, nearest))}"
        )
    room = MAX_ROUTERS - q * q - q - 1
    for kind, size in ((NONQUADRIC, q), (QUADRIC, q + 1)):
        copies, fit = expansion.copies(kind), room // size
        most = fit if kind == QUADRIC else min(q, fit)
        if copies > most:
            raise ParameterError(
                f"copies of {kind} clusters of a polarfly with q = {q} must be "
                f"{f'1 to {most}' if most else f'0 (at most {MAX_ROUTERS} routers)'}, got {copies}"
            )
        room -= copies * size


def make_polarfly(q: int, expand: str | None = None) -> Topology:
    """Returns a PolarFly, expanded if requested.

    Args:
        q: the order of the field, a prime power from 2 to 128; odd with `expand`.
        expand: the copied clusters, such as `quadric:2`, `nonquadric:3` or `quadric,nonquadric=3`; None for
            no copies.

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
