"""PolarStar: the star product of ER_q with a supernode, diameter 3, and its routes without search.

Router (u, x) is vertex x of supernode u. If supernodes u < v are adjacent in ER_q, every (u, x) is linked to
(v, f(x)). The self-loop of a quadric u becomes links from (u, x) to (u, f(x)); links that coincide are
merged.

Minimal routes follow from the structure graph ER_q and a few cases of f (section 9.2). The list below gives
the next hop from (u, x) to (v, y). There, g is f if u < v, and the inverse of f if u > v; S_u is the set of
links inside u, including those of a quadric's self-loop:

- u and v at distance two in ER_q: to g(x) in the supernode between them, for every y; at most two hops
  remain.
- u and v adjacent: to g(x) in v if y is g(x) or S_v joins g(x) and y; else inside u, if S_u joins x and the
  vertex whose link leads to y; else f is an involution and y = x, and the path goes through the third vertex
  of the triangle over u and v.
- inside one supernode: over its own links in one or two hops, else through a neighbour outside in three.

Source: "PolarStar: Expanding the Scalability Horizon of Diameter-3 Networks", sections 4 to 6 and 9.2.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import numpy as np
import numpy.typing as npt

from topology.base import MAX_ROUTERS, Adjacency, DestinationBlock
from topology.clusters import Clusters, consecutive_clusters
from topology.errors import ParameterError
from topology.families.family import Family, Member, carried_hosts, order_parameter
from topology.families.low_diameter.polarfly import PolarFly
from topology.families.low_diameter.polarstar_designs import all_designs, largest_design
from topology.families.low_diameter.star_product import links_across, links_inside
from topology.families.low_diameter.supernodes import (
    LARGEST_DEGREE,
    SUPERNODE_KINDS,
    Supernode,
    make_supernode,
)
from topology.finite_fields.prime_powers import LARGEST_ORDER, SMALLEST_ORDER
from topology.layout import Layout, circle
from topology.parameters import Parameter, Value
from topology.shortest_paths import TabledTopology, adjacency_from_links


class PolarStar(TabledTopology):
    """The star product of ER_q with a supernode of m vertices: (q^2 + q + 1) m routers, diameter 3.

    Router order: (u, x) has index u m + x.

    Attributes:
        structure: the structure graph ER_q.
        supernode: the supernode.
    """

    name = "polarstar"

    def __init__(
        self,
        q: int | None = None,
        supernode: str | None = None,
        degree: int | None = None,
        radix: int | None = None,
    ) -> None:
        """Builds a PolarStar from q, supernode and degree, or the largest PolarStar of a network radix.

        Args:
            q: order of the structure graph's field, a prime power from 2 to 128.
            supernode: a kind of SUPERNODE_KINDS, by default `iq`; with `radix`, by default any of them.
            degree: d', the degree of the supernode.
            radix: the network radix k' = q + 1 + d', instead of q and degree.

        Raises:
            ParameterError: a parameter is missing or outside its domain; the message names the nearest
                values.
        """
        if radix is not None:
            design = largest_design(radix, q, supernode, degree)
            q, supernode, degree = design.q, design.supernode, design.degree
        if q is None or degree is None:
            raise ParameterError("polarstar needs --q and --degree, or --radix")
        self.structure = PolarFly(q)
        self.supernode: Supernode = make_supernode(supernode or "iq", degree)
        if self.routers > MAX_ROUTERS:
            raise ParameterError(f"a polarstar must have at most {MAX_ROUTERS} routers, got {self.routers}")
        self.params = {"q": q, "supernode": self.supernode.kind, "degree": degree}

    @property
    def order(self) -> int:
        """m, the number of routers of a supernode."""
        return self.supernode.order

    @property
    def routers(self) -> int:
        """N = (q^2 + q + 1) m."""
        return self.structure.routers * self.order

    def address_number(self, router: int) -> int:
        """Returns u x 2^ceil(log2 m) + x for router (u, x), so that one mask matches a supernode.

        Args:
            router: the index of the router.

        Returns:
            The number that represents the router in its hosts' addresses.
        """
        u, x = divmod(router, self.order)
        return u << self.vertex_bits | x

    @property
    def vertex_bits(self) -> int:
        """The number of low bits of an address number that encode the vertex: ceil(log2 m)."""
        return (self.order - 1).bit_length()

    def destination_blocks(self, router: int) -> Iterator[DestinationBlock]:
        """Yields supernodes at distance two as one block each, and every other router as its own block.

        The number of rules of a router therefore grows with the structure graph, not with N (PolarStar,
        section 9.2).

        Args:
            router: the router that forwards packets to the blocks.

        Yields:
            Blocks that contain every other router once, ascending.
        """
        m = self.order
        u = router // m
        far = self.structure.distances(u, np.arange(self.structure.routers)) == 2
        for v in range(self.structure.routers):
            if far[v]:
                yield DestinationBlock(range(v * m, (v + 1) * m), self.vertex_bits)
            else:
                yield from (self._single_blocks[d] for d in range(v * m, (v + 1) * m) if d != router)

    @property
    def next_hop_rules(self) -> int:
        """The largest number of next-hop rules of any router.

        It counts one rule for each supernode at distance two, and one for every other router in the same
        supernode or an adjacent one.
        """
        adjacent = int(self.structure.degrees.max())
        return self.structure.routers - 1 - adjacent + (adjacent + 1) * self.order - 1

    def clusters(self) -> Clusters:
        """Returns the supernodes.

        Returns:
            q^2 + q + 1 clusters of m routers.
        """
        m = self.order
        return consecutive_clusters(self.structure.routers, m, f"supernodes of {m} routers")

    def supernode_clusters(self, starter: int | None = None) -> Clusters:
        """Returns the clusters of supernodes: the routers over each cluster of the structure graph's layout.

        Args:
            starter: a quadric of the structure graph; None for the first.

        Returns:
            q + 1 clusters, or q for even q, that contain every router.

        Raises:
            ParameterError: the starter is not a quadric.

        Source:
            PolarStar, section 8. The numbers of clusters, and of bundles between two of them, are not legible
            there; these are those of PolarFly's layout.
        """
        structure, m = self.structure.layout_clusters(starter), self.order
        members = tuple(tuple(u * m + x for u in cluster for x in range(m)) for cluster in structure.members)
        return Clusters(members, f"clusters of supernodes of {m} routers")

    def layout(self) -> Layout:
        """Returns the supernodes on a circle, quadrics first, each with its vertices on its own circle.

        Returns:
            A layout whose kinds are the vertex classes of ER_q.
        """
        n, m = self.structure.routers, self.order
        classes = self.structure.vertex_classes
        centres = np.empty((n, 2))
        centres[np.concatenate(classes)] = circle(n)
        # Neighbours on the circle are 2 sin(pi / n) apart.
        around_centre = circle(m, 0.72 * np.sin(np.pi / n))
        kind = np.zeros(n, np.int64)
        for index, members in enumerate(classes):
            kind[members] = index
        kinds = ("in W (quadrics)", "in V1 (next to quadrics)", "in V2")
        return Layout(
            (centres[:, None, :] + around_centre).reshape(n * m, 2),
            np.repeat(kind, m),
            kinds if len(classes.remote) else kinds[:2],
        )

    # ---- the graph ----

    @cached_property
    def adjacency(self) -> Adjacency:
        """The neighbour lists of all routers."""
        links = links_across(self.structure, self.supernode.image), links_inside(self._inside)
        return adjacency_from_links(self.routers, np.concatenate(links))

    @cached_property
    def _inside(self) -> npt.NDArray[np.bool_]:
        """Bool array, n x m x m: the links S_u inside every supernode u."""
        quadric = self._is_quadric[:, None, None]
        return np.where(quadric, self._quadric_matrix, self.supernode.adjacency_matrix)

    @cached_property
    def _is_quadric(self) -> npt.NDArray[np.bool_]:
        """Bool array, n: whether each vertex of the structure graph is a quadric."""
        return np.asarray(self.structure.degrees == self.structure.q)

    @cached_property
    def _quadric_matrix(self) -> npt.NDArray[np.bool_]:
        """The links inside a quadric's supernode, including those of the self-loop: bool array, m x m.

        A loop that would take two ports of a router, as with Cayley supernodes, is left out: no shortest
        path between supernodes needs it.
        """
        matrix = self.supernode.adjacency_matrix.copy()
        everyone, image = np.arange(self.order), self.supernode.image
        matrix[everyone, image] = matrix[image, everyone] = True
        matrix[everyone, everyone] = False
        fits = (matrix.sum(axis=1) <= self.supernode.degree + 1).all()
        return matrix if fits else self.supernode.adjacency_matrix

    # ---- minimal routes ----

    @cached_property
    def next_hop_table(self) -> npt.NDArray[np.int16]:
        """int16 array, N x N: the minimal next hop of every [source, destination]; itself on the diagonal."""
        m, n = self.order, self.structure.routers
        hops = np.empty((n, m, n, m), np.int16)
        onward = self.structure.all_next_hops().astype(np.int64)
        position = self._across(np.arange(n)[:, None], onward)  # n, n, m: x is linked to this vertex
        hops[:] = (onward[:, :, None] * m + position).transpose(0, 2, 1)[..., None]
        self._to_adjacent_supernodes(hops)
        self._inside_supernodes(hops)
        return hops.reshape(n * m, n * m)

    def _across(self, u: npt.NDArray[np.int64], v: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Returns the vertex g(x) of supernode v to which each vertex x of supernode u is linked.

        Args:
            u: supernodes, integers of any shape.
            v: supernodes, integers of the same shape.

        Returns:
            int64 array of that shape + (m,), indexed by x in the last axis.
        """
        return np.where((u < v)[..., None], self.supernode.image, self.supernode.preimage)

    def _to_adjacent_supernodes(self, hops: npt.NDArray[np.int16]) -> None:
        """Corrects, in place, the next hops between adjacent supernodes.

        The shortest path may take a link inside the source's supernode before the link to the other
        supernode.
        """
        m, structure = self.order, self.structure
        u = np.repeat(np.arange(structure.routers), structure.degrees)
        v = structure.adjacency.neighbours.astype(np.int64)
        across, back = self._across(u, v), self._across(v, u)
        x = np.arange(m)
        inside = self._inside
        edge = np.arange(len(u))
        # Indexed by link (u, v), vertex x of u, vertex y of v: is y = g(x), or does S_v join g(x) and y?
        across_first = (across[:, :, None] == x) | inside[v][edge[:, None, None], across[:, :, None], x]
        # Does S_u join x and the vertex whose link leads to y?
        inside_first = inside[u][edge[:, None, None], x[:, None], back[:, None, :]]
        shape = (len(u), m, m)
        hop_across = np.broadcast_to((v * m)[:, None, None] + across[:, :, None], shape)
        hop_inside = np.broadcast_to((u * m)[:, None, None] + back[:, None, :], shape)
        chosen = np.where(~across_first & inside_first, hop_inside, hop_across)
        neither = ~across_first & ~inside_first
        if neither.any():
            third = structure.indices(structure.cross(u, v)).astype(np.int64)
            hop_third = (third * m)[:, None, None] + self._across(u, third)[:, :, None]
            chosen = np.where(neither, hop_third, chosen)
        hops[u, :, v, :] = chosen

    def _inside_supernodes(self, hops: npt.NDArray[np.int16]) -> None:
        """Corrects, in place, the next hops between routers of one supernode.

        The path has one or two links inside the supernode; if no such path exists, it leaves through an
        adjacent supernode.
        """
        m, n = self.order, self.structure.routers
        u = np.arange(n)
        # There are two kinds of supernodes, with and without a quadric's self-loop: one table for each.
        matrices = (self.supernode.adjacency_matrix, self._quadric_matrix)
        table = np.stack([_inside_table(matrix) for matrix in matrices])[self._is_quadric.astype(np.int64)]
        inside = np.where(table >= 0, u[:, None, None] * m + table, self._outside_supernodes(hops, table < 0))
        hops[u, :, u, :] = inside

    def _outside_supernodes(
        self, hops: npt.NDArray[np.int16], missing: npt.NDArray[np.bool_]
    ) -> npt.NDArray[np.int64]:
        """Returns next hops outside the supernode for pairs of its vertices at distance three.

        Args:
            hops: int16, n x m x n x m: the next hops between different supernodes, indexed by the supernode
                and the vertex of the source, then of the destination.
            missing: bool, n x m x m, the pairs [supernode, source, destination] that need a next hop.

        Returns:
            int64, n x m x m: the source's first neighbour at distance two from the destination; 0 for pairs
            that are not missing.
        """
        m, structure = self.order, self.structure
        next_hops = np.zeros(missing.shape, np.int64)
        missing = missing.copy()
        y = np.arange(m)
        starts = structure.adjacency.starts
        for place in range(int(structure.degrees.max())):
            u = np.flatnonzero((structure.degrees > place) & missing.any(axis=(1, 2)))
            if not len(u):
                break
            w = structure.adjacency.neighbours[starts[u] + place].astype(np.int64)
            position = self._across(u, w)
            first = w[:, None] * m + position  # supernodes x vertices: the neighbour of each in w
            then = hops[w[:, None, None], position[:, :, None], u[:, None, None], y].astype(np.int64)
            last = hops[then // m, then % m, u[:, None, None], y]
            works = missing[u] & (last == u[:, None, None] * m + y)
            next_hops[u] = np.where(works, first[:, :, None], next_hops[u])
            missing[u] &= ~works
        return next_hops


def _inside_table(matrix: npt.NDArray[np.bool_]) -> npt.NDArray[np.int64]:
    """Returns, for each pair of vertices, the next vertex on a path of at most two links in the supernode.

    Returns:
        int64 array, m x m, indexed [source, destination]; -1 where the path would be longer.
    """
    m = len(matrix)
    everyone = np.arange(m)
    table = np.full((m, m), -1, np.int64)
    # Two hops: through the first common neighbour.
    between = matrix[:, :, None] & matrix[None, :, :]
    two = between.any(axis=1)
    table[two] = between.argmax(axis=1)[two]
    table[matrix] = np.broadcast_to(everyone, (m, m))[matrix]
    table[everyone, everyone] = everyone
    return table


def _members() -> Iterator[Member]:
    """Yields the PolarStars of all orders and supernodes, except supernodes of one router (PolarFly)."""
    for radix in range(3, LARGEST_ORDER + LARGEST_DEGREE + 2):
        for design in all_designs(radix):
            if design.supernode != "complete" or design.degree:
                params: dict[str, Value] = {
                    "q": design.q,
                    "supernode": design.supernode,
                    "degree": design.degree,
                }
                yield Member(params, radix, design.routers, carried_hosts(radix, 3))


FAMILY = Family(
    PolarStar,
    (
        order_parameter(SMALLEST_ORDER, LARGEST_ORDER, required=False),
        Parameter(
            name="supernode",
            type=str,
            help="kind of the supernodes",
            choices=lambda: SUPERNODE_KINDS,
            default_text="iq; with --radix, the one with the most routers",
        ),
        Parameter(
            name="degree",
            type=int,
            help="links of each router inside its supernode (d')",
            least=0,
            most=LARGEST_DEGREE,
        ),
        Parameter(
            name="radix",
            type=int,
            help="network radix q + 1 + d', for the largest polarstar, instead of --q and --degree",
            least=3,
        ),
    ),
    "star product of ER_q with a supernode: diameter 3",
    "polarstar --q 3 --supernode iq --degree 3",
    "low-diameter",
    members=_members,
)
