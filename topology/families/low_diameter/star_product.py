"""Star products: a structure graph whose vertices are replaced by copies of a supernode.

Router (u, x) is vertex x of supernode u and has index u m + x. If supernodes u < v are adjacent in the
structure graph, every (u, x) is linked to (v, f(x)).

Source: Bermond, Delorme and Farhi, "Large graphs with given degree and diameter III" (Annals of
Discrete Mathematics 13, 1982); PolarStar, section 4.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from topology.base import Topology

Links = npt.NDArray[np.int64]


def links_across(structure: Topology, image: npt.NDArray[np.int64]) -> Links:
    """Returns the links between different supernodes.

    Args:
        structure: the structure graph with n vertices.
        image: int64 array, m: the permutation f of the supernode's vertices.

    Returns:
        int64 array, (links of the structure graph x m) x 2: the indices of the routers at both ends.
    """
    m = len(image)
    ends = np.array([(link.a, link.b) for link in structure.link_list], np.int64)
    a = ends[:, :1] * m + np.arange(m)
    b = ends[:, 1:] * m + image
    return np.stack([a, b], axis=-1).reshape(-1, 2)


def links_inside(matrices: npt.NDArray[np.bool_]) -> Links:
    """Returns the links inside supernodes.

    Args:
        matrices: bool array, n x m x m: the adjacency matrix of every supernode.

    Returns:
        int64 array, links x 2.
    """
    supernode, a, b = np.nonzero(np.triu(matrices))
    first = supernode * matrices.shape[1]
    return np.stack([first + a, first + b], axis=1)
