"""PolarStar: the star product of ER_q with a supernode, diameter 3, and its routes without search.

Router (u, x) is vertex x of supernode u. Supernodes u < v that are adjacent in ER_q are joined vertex by
vertex, (u, x) to (v, f(x)); the self-loop of a quadric u becomes the links (u, x) to (u, f(x)); links that
coincide are one.

Minimal routes follow from the structure graph ER_q and a few cases of f (section 9.2). Below, g is f from
the lower to the higher supernode and its inverse from the higher to the lower, and S_u are the links inside
u, those of a quadric's self-loop included:

- u and v two apart in ER_q: onward to g(x) in the supernode between, whatever y is: from there it
  is two hops at most.
- u and v adjacent: across where y is g(x) or S_v joins g(x) and y; else inside u where S_u joins x and the
  vertex that goes to y; else y = x with an involution f, and the way is by the third vertex of the
  triangle over u and v.
- inside one supernode: by its own links in one or two hops, else by any neighbour of three.

Source: "PolarStar: Expanding the Scalability Horizon of Diameter-3 Networks", sections 4 to 6 and 9.2.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from topology.base import MOST_ROUTERS, Adjacency, DestinationBlock
from topology.clusters import Clusters, consecutive_clusters
from topology.errors import ParameterError
from topology.families.polarfly import PolarFly
from topology.families.supernodes import (
    SUPERNODE_KINDS,
    Supernode,
    make_supernode,
    supernode_exists,
    supernode_order,
)
from topology.finite_fields.prime_powers import LARGEST_ORDER, prime_power
from topology.layout import Layout, circle
from topology.shortest_paths import TabledTopology, adjacency_from_links


@dataclass(frozen=True)
class Design:
    """A PolarStar: ER_q with a supernode, of network radix q + 1 + d'."""

    q: int
    supernode: str
    degree: int

    @property
    def routers(self) -> int:
        """N = (q^2 + q + 1) m."""
        return (self.q**2 + self.q + 1) * supernode_order(self.supernode, self.degree)


def designs(radix: int, kinds: tuple[str, ...] = SUPERNODE_KINDS) -> list[Design]:
    """Returns all PolarStars of a network radix, the largest first."""
    found = [
        Design(q, kind, radix - 1 - q)
        for q in range(2, min(radix - 1, LARGEST_ORDER) + 1)
        if prime_power(q)
        for kind in kinds
        if supernode_exists(kind, radix - 1 - q)
    ]
    return sorted(found, key=lambda design: (-design.routers, design.supernode))


class PolarStar(TabledTopology):
    """The star product of ER_q with a supernode of m vertices: (q^2 + q + 1) m routers, diameter 3.

    Router order: (u, x) has index u m + x.
    """

    name = "polarstar"

    def __init__(
        self,
        q: int | None = None,
        supernode: str | None = None,
        degree: int | None = None,
        radix: int | None = None,
    ) -> None:
        """Makes a PolarStar by its q, supernode and degree, or the largest of a radix.

        Args:
            q: order of the structure graph's field, a prime power from 2 to 128.
            supernode: `iq` (the default), `paley` or `complete`; with `radix`, only of these.
            degree: d', the supernode's.
            radix: the network radix k' = q + 1 + d', in place of q and degree.

        Raises:
            ParameterError: there is no such PolarStar; the nearest that exist are named.
        """
        if radix is not None:
            design = _largest(radix, q, supernode, degree)
            q, supernode, degree = design.q, design.supernode, design.degree
        if q is None or degree is None:
            raise ParameterError("polarstar needs --q and --degree, or --radix")
        self.structure = PolarFly(q)
        self.supernode: Supernode = make_supernode(supernode or "iq", degree)
        if self.routers > MOST_ROUTERS:
            raise ParameterError(
                f"a polarstar of {self.routers} routers is too large; at most {MOST_ROUTERS} are possible"
            )
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
        """Returns supernode x 2^ceil(log2 m) + vertex, so that one mask stands for a supernode."""
        u, x = divmod(router, self.order)
        return u << self.position_bits | x

    @property
    def position_bits(self) -> int:
        """How many low bits of a router's number tell its vertex."""
        return (self.order - 1).bit_length()

    def destination_blocks(self, router: int) -> Iterator[DestinationBlock]:
        """Yields the supernodes two apart as one block each, and all other routers for themselves.

        So what a router has to store is of the structure graph's size (section 9.2).
        """
        m = self.order
        u = router // m
        far = self.structure.distances(u, np.arange(self.structure.routers)) == 2
        for v in range(self.structure.routers):
            if far[v]:
                yield DestinationBlock(range(v * m, (v + 1) * m), self.position_bits)
            else:
                yield from (self._single_blocks[d] for d in range(v * m, (v + 1) * m) if d != router)

    @property
    def next_hop_rules(self) -> int:
        """One for each supernode two apart, and for each router of its own and the adjacent ones."""
        adjacent = int(self.structure.degrees.max())
        return self.structure.routers - 1 - adjacent + (adjacent + 1) * self.order - 1

    def clusters(self) -> Clusters:
        """Returns the q^2 + q + 1 supernodes of m routers."""
        m = self.order
        return consecutive_clusters(self.structure.routers, m, f"supernodes of {m} routers")

    def layout(self) -> Layout:
        """Returns the supernodes on a circle, quadrics first, each with its vertices on one of its own."""
        n, m = self.structure.routers, self.order
        classes = self.structure.vertex_classes
        parts = (classes.quadrics, classes.adjacent, classes.remote)
        order = np.concatenate(parts)
        centres = np.empty((n, 2))
        centres[order] = circle(n)
        # Neighbours on the circle are 2 sin(pi / n) apart.
        own = circle(m, 0.72 * np.sin(np.pi / n))
        kind = np.zeros(n, np.int64)
        for place, part in enumerate(parts):
            kind[part] = place
        kinds = ("in W (quadrics)", "in V1 (beside quadrics)", "in V2")
        return Layout(
            (centres[:, None, :] + own).reshape(n * m, 2),
            np.repeat(kind, m),
            kinds if len(classes.remote) else kinds[:2],
        )

    # ---- the graph ----

    @cached_property
    def adjacency(self) -> Adjacency:
        """The neighbour lists."""
        m, structure = self.order, self.structure
        everyone = np.arange(m)
        pairs = []
        for link in structure.link_list:
            pairs.append(np.stack([link.a * m + everyone, link.b * m + self.supernode.image], axis=1))
        for u in range(structure.routers):
            inside = np.argwhere(np.triu(self._inside(u)))
            pairs.append(u * m + inside)
        return adjacency_from_links(self.routers, np.concatenate(pairs))

    def _inside(self, u: int) -> npt.NDArray[np.bool_]:
        """Returns S_u: bool array, m x m."""
        return self._looped if self._quadric[u] else self.supernode.joined

    @cached_property
    def _quadric(self) -> npt.NDArray[np.bool_]:
        return np.asarray(self.structure.degrees == self.structure.q)

    @cached_property
    def _looped(self) -> npt.NDArray[np.bool_]:
        """The links inside a quadric's supernode: the supernode's and (x, f(x))."""
        joined = self.supernode.joined.copy()
        everyone, image = np.arange(self.order), self.supernode.image
        joined[everyone, image] = joined[image, everyone] = True
        joined[everyone, everyone] = False
        return joined

    # ---- minimal routes ----

    @cached_property
    def next_hop_table(self) -> npt.NDArray[np.int16]:
        """int16 array, N x N: the minimal next hop of every (source, destination); itself to itself."""
        m, n = self.order, self.structure.routers
        hops = np.empty((n, m, n, m), np.int16)
        onward = self.structure.all_next_hops().astype(np.int64)
        position = self._across(np.arange(n)[:, None], onward)  # n, n, m: where x goes on the way to v
        hops[:] = (onward[:, :, None] * m + position).transpose(0, 2, 1)[..., None]
        self._to_adjacent_supernodes(hops)
        self._inside_supernodes(hops)
        return hops.reshape(n * m, n * m)

    def _across(self, u: npt.NDArray[np.int64], v: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Returns g from supernodes u to supernodes v: arrays of one shape, to shape + (m,)."""
        return np.where((u < v)[..., None], self.supernode.image, self.supernode.preimage)

    def _to_adjacent_supernodes(self, hops: npt.NDArray[np.int16]) -> None:
        """Corrects the hops between adjacent supernodes, where going across at once is not always best."""
        m, structure = self.order, self.structure
        u = np.repeat(np.arange(structure.routers), structure.degrees)
        v = structure.adjacency.neighbours.astype(np.int64)
        across, back = self._across(u, v), self._across(v, u)
        x = np.arange(m)
        inside = np.where(self._quadric[:, None, None], self._looped, self.supernode.joined)
        edge = np.arange(len(u))
        # edges x m x m: does S_v join g(x) and y; does S_u join x and what goes to y?
        direct = across[:, :, None] == x
        beyond = inside[v][edge[:, None, None], across[:, :, None], x] | direct
        before = inside[u][edge[:, None, None], x[:, None], back[:, None, :]]
        by_inside = (u * m)[:, None, None] + np.broadcast_to(back[:, None, :], (len(u), m, m))
        by_link = (v * m)[:, None, None] + np.broadcast_to(across[:, :, None], (len(u), m, m))
        chosen = np.where(~beyond & before, by_inside, by_link)
        neither = ~beyond & ~before
        if neither.any():
            third = structure.indices(structure.cross(u, v)).astype(np.int64)
            by_third = (third * m)[:, None, None] + self._across(u, third)[:, :, None]
            chosen = np.where(neither, np.broadcast_to(by_third, chosen.shape), chosen)
        hops[u, :, v, :] = chosen

    def _inside_supernodes(self, hops: npt.NDArray[np.int16]) -> None:
        """Corrects the hops inside supernodes: one or two links inside, else by a neighbour's supernode."""
        m, n = self.order, self.structure.routers
        u = np.arange(n)
        # There are two kinds of supernodes, whose own paths are one table each.
        tables = np.stack([_inside_table(joined) for joined in (self.supernode.joined, self._looped)])
        table = tables[self._quadric.astype(np.int64)]
        inside = np.where(table >= 0, u[:, None, None] * m + table, self._around(hops, table < 0))
        hops[u, :, u, :] = inside

    def _around(self, hops: npt.NDArray[np.int16], missing: npt.NDArray[np.bool_]) -> npt.NDArray[np.int64]:
        """Returns the first neighbours outside from which it is two hops, to vertices of the own supernode.

        Args:
            hops: the next hops between supernodes.
            missing: supernodes x vertices x vertices: for which.
        """
        m, structure = self.order, self.structure
        found = np.zeros(missing.shape, np.int64)
        missing = missing.copy()
        y = np.arange(m)
        starts = structure.adjacency.starts
        for place in range(int(structure.degrees.max())):
            u = np.flatnonzero((structure.degrees > place) & missing.any(axis=(1, 2)))
            if not len(u):
                break
            w = structure.adjacency.neighbours[starts[u] + place].astype(np.int64)
            position = self._across(u, w)
            first = w[:, None] * m + position  # supernodes x vertices: where each goes
            then = hops[w[:, None, None], position[:, :, None], u[:, None, None], y].astype(np.int64)
            last = hops[then // m, then % m, u[:, None, None], y]
            works = missing[u] & (last == u[:, None, None] * m + y)
            found[u] = np.where(works, first[:, :, None], found[u])
            missing[u] &= ~works
        return found


def _inside_table(joined: npt.NDArray[np.bool_]) -> npt.NDArray[np.int64]:
    """Returns the next vertex between any two of a supernode by one or two of its own links; -1 without."""
    m = len(joined)
    everyone = np.arange(m)
    table = np.full((m, m), -1, np.int64)
    # Two hops: by the first vertex that both are joined to.
    between = joined[:, :, None] & joined[None, :, :]
    two = between.any(axis=1)
    table[two] = between.argmax(axis=1)[two]
    table[joined] = np.broadcast_to(everyone, (m, m))[joined]
    table[everyone, everyone] = everyone
    return table


def designs_of_radix(radix: int, supernode: str | None) -> list[Design]:
    """Returns the PolarStars of a radix, with one kind of supernode where it is named; the largest first.

    Raises:
        ParameterError: there is none, or no such supernode.
    """
    if supernode is not None and supernode not in SUPERNODE_KINDS:
        raise ParameterError(f"unknown supernode {supernode!r}; there are: {', '.join(SUPERNODE_KINDS)}")
    kinds = SUPERNODE_KINDS if supernode is None else (supernode,)
    found = designs(radix, kinds)
    if not found:
        near = [r for r in range(3, 2 * LARGEST_ORDER) if designs(r, kinds)]
        nearest = [r for r in near if r < radix][-1:] + [r for r in near if r > radix][:1]
        raise ParameterError(
            f"there is no polarstar of radix {radix}; the nearest possible: "
            + " and ".join(map(str, nearest))
        )
    return found


def _largest(radix: int, q: int | None, supernode: str | None, degree: int | None) -> Design:
    if q is not None or degree is not None:
        raise ParameterError("--radix is in place of --q and --degree")
    return designs_of_radix(radix, supernode)[0]
