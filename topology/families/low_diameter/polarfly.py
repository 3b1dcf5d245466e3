"""PolarFly: the Erdos-Renyi polarity graph ER_q, and its routes from cross products over GF(q).

Vertices are the points of the projective plane over GF(q), written as left-normalised vectors (the first
non-zero component is 1). Two points are adjacent if their dot product is 0; a point with v . v = 0 is a
quadric, and its self-loop is dropped. Any two points that are not adjacent have exactly one common neighbour,
their cross product, so minimal routes need no search.

Source: "PolarFly: A Cost-Effective and Flexible Low-Diameter Topology" (SC22), sections IV-C and IV-D.
Equation (2) there misprints the first two components; this module uses the ordinary cross product.
"""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from topology.addressing import switch_name
from topology.base import Adjacency, Routers, Topology
from topology.clusters import Clusters
from topology.errors import ParameterError
from topology.finite_fields.field import finite_field
from topology.layout import Layout, in_rows

# Entries of the next-hop matrix computed at a time, so that their 32-bit keys fit into a core's cache.
_BLOCK_ENTRIES = 1 << 17
# The names of W, V1 and V2 in drawings.
LAYERS = ("quadrics W", "V1, next to quadrics", "V2, the others")


class VertexClasses(NamedTuple):
    """The vertices of ER_q by their relation to the quadrics (PolarFly, section IV-F, Property 1).

    Attributes:
        quadrics: W, the q + 1 vertices with v . v = 0.
        adjacent: V1, the other vertices with a quadric neighbour: q (q + 1) / 2 for odd q, q^2 for even q.
        remote: V2, the other vertices: q (q - 1) / 2 for odd q, none for even q.
    """

    quadrics: Routers
    adjacent: Routers
    remote: Routers


class PolarFly(Topology):
    """ER_q for a prime power q: q^2 + q + 1 routers of network radix q + 1, diameter 2.

    Router order: (1, a, b) has index a q + b; (0, 1, a) has index q^2 + a; (0, 0, 1) has index q^2 + q.

    Attributes:
        q: the order of the field.
        field: GF(q).
    """

    name = "polarfly"

    def __init__(self, q: int) -> None:
        """Builds ER_q.

        Args:
            q: a prime power from 2 to 128.

        Raises:
            ParameterError: q is outside its domain; the message names the nearest valid values.
        """
        self.field = finite_field(q)
        self.q = q
        self.params = {"q": q}

    @property
    def routers(self) -> int:
        """N = q^2 + q + 1."""
        return self.q**2 + self.q + 1

    # ---- vectors ----

    def vectors(self, routers: npt.ArrayLike) -> npt.NDArray[np.uint8]:
        """Returns the left-normalised vectors of routers.

        Args:
            routers: routers, integers of any shape.

        Returns:
            uint8 array of that shape + (3,): field elements.
        """
        index = np.asarray(routers)
        q = self.q
        vector = np.zeros((*index.shape, 3), np.uint8)
        affine = index < q**2
        line = ~affine & (index < q**2 + q)
        vector[..., 0] = affine
        vector[..., 1] = np.where(affine, index // q, line)
        vector[..., 2] = np.where(affine, index % q, np.where(line, index - q**2, 1))
        return vector

    def indices(self, vectors: npt.ArrayLike) -> Routers:
        """Returns the routers of vectors, which need not be normalised.

        Args:
            vectors: field elements, an integer array of shape S + (3,), with any S.

        Returns:
            int32 array of shape S; -1 for the zero vector, which is not a point.
        """
        vector = np.asarray(vectors)
        x, y, z = vector[..., 0], vector[..., 1], vector[..., 2]
        leading = np.where(x != 0, x, np.where(y != 0, y, z))
        scale = self.field.inverse[leading]
        y, z = self.field.product[scale, y], self.field.product[scale, z]
        q = self.q
        affine = y.astype(np.int32) * q + z
        beyond = np.where(y != 0, q**2 + z.astype(np.int32), q**2 + q)
        return np.where(x != 0, affine, np.where(leading != 0, beyond, -1)).astype(np.int32)

    def dot(self, sources: npt.ArrayLike, destinations: npt.ArrayLike) -> npt.NDArray[np.uint8]:
        """Returns the dot products of routers' vectors.

        Args:
            sources: routers, integers of any shape.
            destinations: routers, integers of a shape that broadcasts with that of the sources.

        Returns:
            uint8 array of the broadcast shape: field elements; 0 for adjacent routers, and for a quadric with
                itself.
        """
        s, d = self.vectors(sources), self.vectors(destinations)
        times, plus = self.field.product, self.field.sum
        terms = [times[s[..., i], d[..., i]] for i in range(3)]
        return plus[plus[terms[0], terms[1]], terms[2]]

    def cross(self, sources: npt.ArrayLike, destinations: npt.ArrayLike) -> npt.NDArray[np.uint8]:
        """Returns the cross products s x d of routers' vectors.

        Args:
            sources: routers, integers of any shape.
            destinations: routers, integers of a shape that broadcasts with that of the sources.

        Returns:
            uint8 array of the broadcast shape + (3,), not normalised; the zero vector for equal routers.

        Source:
            PolarFly (SC22), equation (2), with its misprint corrected.
        """
        s, d = self.vectors(sources), self.vectors(destinations)
        times, minus = self.field.product, self.field.difference

        def component(i: int, j: int) -> npt.NDArray[np.uint8]:
            return minus(times[s[..., i], d[..., j]], times[s[..., j], d[..., i]])

        return np.stack([component(1, 2), component(2, 0), component(0, 1)], axis=-1)

    # ---- the graph ----

    @cached_property
    def adjacency(self) -> Adjacency:
        """The neighbour lists of all routers: the q + 1 points u on the line v . u = 0, except v itself."""
        points = self._polar_lines()
        others = points != np.arange(self.routers, dtype=np.int32)[:, None]
        starts = np.concatenate([[0], np.cumsum(others.sum(axis=1))]).astype(np.int64)
        return Adjacency(starts, points[others])

    def _polar_lines(self) -> Routers:
        """Returns an int32 array, N x (q + 1): for every v, the points u with v . u = 0, ascending."""
        q, field = self.q, self.field
        vector = self.vectors(np.arange(self.routers))
        x, y, z = vector[:, 0], vector[:, 1], vector[:, 2]
        minus_x, minus_y = field.negative[x], field.negative[y]
        element = np.arange(q)
        points = np.empty((self.routers, q + 1), np.int32)
        # z != 0: b = -(x + y a) / z for every a, and one point (0, 1, -y / z).
        steep = z != 0
        per_z = field.inverse[z[steep]]
        slope = field.product[minus_y[steep][:, None], element[None, :]]
        b = field.product[field.sum[minus_x[steep][:, None], slope], per_z[:, None]]
        points[steep, :q] = element * q + b
        points[steep, q] = q**2 + field.product[minus_y[steep], per_z].astype(np.int32)
        # z = 0, y != 0: a = -x / y, every b, and (0, 0, 1).
        flat = (z == 0) & (y != 0)
        a = field.product[minus_x[flat], field.inverse[y[flat]]].astype(np.int32)
        points[flat, :q] = a[:, None] * q + element
        points[flat, q] = q**2 + q
        # (1, 0, 0): the line at infinity.
        points[(z == 0) & (y == 0)] = q**2 + np.arange(q + 1)
        return points

    @cached_property
    def vertex_classes(self) -> VertexClasses:
        """The quadrics W, their neighbours V1 and the remaining vertices V2, each ascending."""
        quadric = self.degrees == self.q
        sources = np.repeat(np.arange(self.routers), self.degrees)
        next_to_quadric = np.zeros(self.routers, bool)
        next_to_quadric[sources[quadric[self.adjacency.neighbours]]] = True
        everyone = np.arange(self.routers, dtype=np.int32)
        return VertexClasses(
            everyone[quadric], everyone[next_to_quadric & ~quadric], everyone[~next_to_quadric & ~quadric]
        )

    def clusters(self) -> Clusters:
        """Returns the fans around the starter quadric, which is the first quadric in router order.

        Returns:
            q clusters; the quadrics belong to none. For even q, one cluster is the nucleus alone.

        Source:
            PolarFly (SC22), section V, Algorithm 1.
        """
        starter = int(self.vertex_classes.quadrics[0])
        fans = tuple(tuple(fan) for fan in self.quadric_fans(starter))
        return Clusters(fans, f"clusters of {switch_name(starter)}'s neighbours")

    def layout_clusters(self, starter: int | None = None) -> Clusters:
        """Returns all clusters of the layout around a quadric: the quadrics as C_0, then the fans.

        For even q, C_0 also contains the nucleus. Then the network is as modular as for odd q: C_0 is a star
        of q + 2 routers, and each of the q - 1 fans has q + 1 routers in q / 2 triangles. There are q links
        between any two fans, and q + 1 between a fan and C_0.

        Args:
            starter: a quadric; None for the first in router order.

        Returns:
            Disjoint clusters that contain every router.

        Raises:
            ParameterError: the starter is not a quadric.

        Source:
            PolarFly (SC22), section V, Algorithm 1; the layout for even q, which the paper only mentions,
            is this project's.
        """
        quadrics = self.vertex_classes.quadrics.tolist()
        starter = quadrics[0] if starter is None else starter
        if starter not in quadrics:
            names = ", ".join(map(switch_name, quadrics))
            raise ParameterError(f"starter must be a quadric ({names}), got {switch_name(starter)}")
        centre = [] if self.nucleus is None else [self.nucleus]
        fans = [tuple(fan) for fan in self.quadric_fans(starter) if fan != centre]
        members = ((*centre, *quadrics), *fans)
        return Clusters(members, f"quadrics and clusters of {switch_name(starter)}'s neighbours")

    @cached_property
    def nucleus(self) -> int | None:
        """For even q, the router that is adjacent to all quadrics; None for odd q."""
        return int(self.indices([1, 1, 1])) if self.q % 2 == 0 else None

    def quadric_fans(self, starter: int) -> list[list[int]]:
        """Returns the fans around a quadric: one for each of its neighbours.

        A fan consists of the neighbour and its own neighbours, without quadrics. Together the fans
        contain every vertex that is not a quadric once. For even q, the fan of the nucleus is the nucleus
        alone, because its neighbours are the quadrics.

        Args:
            starter: a quadric.

        Returns:
            The routers of each fan, its centre (the neighbour of the quadric) first.

        Source:
            PolarFly (SC22), section V, Algorithm 1.
        """
        quadrics = set(self.vertex_classes.quadrics.tolist())
        return [
            [n, *(v for v in self.neighbours(n).tolist() if v not in quadrics)]
            for n in self.neighbours(starter).tolist()
        ]

    def layout(self) -> Layout:
        """Returns the layers W, V1 and V2 (W and V1 for even q), in the order of the clusters.

        Returns:
            A layout in rows that highlights the starter quadric.
        """
        return self.layered(self.layers(), LAYERS)

    def layers(self) -> list[list[int]]:
        """Returns W, V1 and V2 (W and V1 for even q), each in the order of the clusters.

        Returns:
            The routers of each layer.
        """
        in_order = self.clusters().in_order(self.routers)
        members = [set(layer.tolist()) for layer in self.vertex_classes if len(layer)]
        return [[router for router in in_order if router in layer] for layer in members]

    def layered(self, rows: list[list[int]], names: tuple[str, ...]) -> Layout:
        """Returns a layout in rows, one for each kind of routers.

        Args:
            rows: the routers of each kind; together all routers 0 .. n - 1.
            names: the names of the kinds, in the same order; kinds without a row come last.

        Returns:
            A layout that highlights the starter quadric.
        """
        routers = sum(map(len, rows))
        kind = np.zeros(routers, np.int64)
        for place, row in enumerate(rows):
            kind[row] = place
        width = float(max(map(len, rows)))
        return Layout(
            in_rows(rows, routers, width, width / 4),
            kind,
            names[: len(rows)],
            highlight=(int(self.vertex_classes.quadrics[0]), "starter quadric"),
            rows=True,
        )

    def pairs_by_distance(self) -> dict[int, int]:
        """Returns the number of ordered pairs of different routers at distance 1 and 2.

        Returns:
            {1: 2 x links, 2: the number of all other pairs}.

        Source:
            PolarFly (SC22), section IV-F: the diameter is 2.
        """
        adjacent = 2 * self.links
        return {1: adjacent, 2: self.routers * (self.routers - 1) - adjacent}

    # ---- minimal routes ----

    def distances(self, sources: npt.ArrayLike, destinations: npt.ArrayLike) -> npt.NDArray[np.int16]:
        """Returns the distance of each pair of routers: 1 if the dot product is 0, else 2.

        Args:
            sources: routers, integers of any shape.
            destinations: routers, integers of a shape that broadcasts with that of the sources.

        Returns:
            int16 array of the broadcast shape, in hops; 0 from a router to itself.
        """
        away = np.asarray(sources) != np.asarray(destinations)
        far = self.dot(sources, destinations) != 0
        return np.where(away, np.where(far, 2, 1), 0).astype(np.int16)

    def next_hops(self, sources: npt.ArrayLike, destinations: npt.ArrayLike) -> Routers:
        """Returns the minimal next hop of each pair: the destination if adjacent, else the cross product.

        Args:
            sources: routers, integers of any shape.
            destinations: routers, integers of a shape that broadcasts with that of the sources.

        Returns:
            int32 array of the broadcast shape.

        Source:
            PolarFly (SC22), section IV-D.
        """
        s, d = np.broadcast_arrays(np.asarray(sources), np.asarray(destinations))
        direct = (self.dot(s, d) == 0) | (s == d)
        return np.where(direct, d, self.indices(self.cross(s, d))).astype(np.int32)

    def all_next_hops(self) -> npt.NDArray[np.int16]:
        """Returns the minimal next hop of every ordered pair of routers, some rows at a time.

        For a fixed s = (s1, s2, s3) and every d = (1, a, b) the cross products are
        (s2 b - s3 a, s3 - s1 b, s1 a - s2): the second component depends on b alone and the third on a alone,
        so an entry costs one table lookup for the first component and one to normalise.

        Returns:
            int16 array, N x N, indexed [source, destination]; the next hop of a router to itself is itself.
        """
        n = self.routers
        hops = np.empty((n, n), np.int16)
        normalised = self._index_of_every_vector()
        rows = max(1, _BLOCK_ENTRIES // n)
        for first in range(0, n, rows):
            block = hops[first : first + rows]
            self._cross_product_rows(first, block, normalised)
            starts = self.adjacency.starts[first : first + len(block) + 1]
            neighbours = self.adjacency.neighbours[starts[0] : starts[-1]]
            row = np.arange(len(block))
            block[np.repeat(row, np.diff(starts)), neighbours] = neighbours
            block[row, first + row] = first + row
        return hops

    def _cross_product_rows(
        self, first: int, block: npt.NDArray[np.int16], normalised: npt.NDArray[np.int16]
    ) -> None:
        """Fills `block` with router indices: the router of the cross product s x d for each s and d.

        Args:
            first: the router s of row 0; the following rows are the routers after it.
            block: int16 array, rows x N, indexed [s - first, d]; overwritten.
            normalised: the router of every vector, from `_index_of_every_vector`.
        """
        q, times, plus = self.q, self.field.product, self.field.sum
        negative = self.field.negative
        element = np.arange(q, dtype=np.uint8)
        vector = self.vectors(np.arange(first, first + len(block)))[:, :, None]
        s1, s2, s3 = vector[:, 0], vector[:, 1], vector[:, 2]
        # d = (1, a, b), with a the second axis and b the third.
        minus_s3_a = negative[times[s3, element]].astype(np.int32) * q
        keys = minus_s3_a[:, :, None] + times[s2, element][:, None, :]
        np.take(plus.astype(np.int32).ravel() * q**2, keys, out=keys, mode="clip")
        keys += plus[times[s1, element], negative[s2]][:, :, None]
        keys += plus[s3, negative[times[s1, element]]].astype(np.int32)[:, None, :] * q
        block[:, : q**2] = np.take(normalised, keys.reshape(len(block), -1), mode="clip")
        # d = (0, 1, a): (s2 a - s3, -s1 a, s1), and d = (0, 0, 1): (s2, -s1, 0).
        x = plus[times[s2, element], negative[s3]].astype(np.int32)
        y = negative[times[s1, element]].astype(np.int32)
        block[:, q**2 : -1] = normalised[(x * q + y) * q + s1]
        block[:, -1:] = normalised[(s2.astype(np.int32) * q + negative[s1]) * q]

    def _index_of_every_vector(self) -> npt.NDArray[np.int16]:
        """Returns an int16 array, q^3, whose entry (x q + y) q + z is the router of the vector (x, y, z)."""
        x, y, z = np.unravel_index(np.arange(self.q**3), (self.q,) * 3)
        return self.indices(np.stack([x, y, z], axis=-1)).astype(np.int16)
