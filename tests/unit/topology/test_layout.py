"""Layouts: a place for every router, whether it has hosts or not, and the rows of PolarFly."""

import numpy as np
import pytest
from support.builders.leaf_spine import LeafSpine

from topology.families.classic.hypercube import Hypercube
from topology.families.classic.hyperx import HyperX
from topology.families.classic.torus import Torus
from topology.families.dragonflies.dragonfly import Dragonfly
from topology.families.dragonflies.dragonfly3 import Dragonfly3
from topology.families.hierarchical.fat_tree import FatTree
from topology.families.hierarchical.megafly import Megafly
from topology.families.hierarchical.multi_layer_full_mesh import MultiLayerFullMesh
from topology.families.hierarchical.orthogonal_fat_tree import OrthogonalFatTree
from topology.families.low_diameter.bundlefly import Bundlefly
from topology.families.low_diameter.delorme import Delorme
from topology.families.low_diameter.expanded_polarfly import ExpandedPolarFly
from topology.families.low_diameter.polarfly import PolarFly
from topology.families.low_diameter.polarstar import PolarStar
from topology.families.low_diameter.slimfly import SlimFly
from topology.families.low_diameter.spectralfly import SpectralFly
from topology.families.random.dln import ShortcutRing
from topology.families.random.xpander import Xpander
from topology.shortest_paths import SearchedTopology, adjacency_from_links

TORUS = SearchedTopology(
    adjacency_from_links(
        9, np.array([(r, s) for r in range(9) for s in ((r + 3) % 9, r // 3 * 3 + (r + 1) % 3)])
    )
)
LARGE = SearchedTopology(adjacency_from_links(600, np.array([(r, (r + 1) % 600) for r in range(600)])))
ALL = [
    PolarFly(4),
    PolarFly(7),
    PolarStar(2, "iq", 3),
    PolarStar(3, "paley", 2),
    SlimFly(4),
    PolarStar(2, "bdf", 3),
    ExpandedPolarFly(5, "quadric:2"),
    ExpandedPolarFly(5, "nonquadric:3"),
    Bundlefly(3, 2),
    SpectralFly(3, 5),
    SpectralFly(11, 7),
    Delorme(2),
    Xpander(4, 4),
    ShortcutRing(20, 2),
    TORUS,
    LeafSpine(),
    LARGE,
    Dragonfly(a=4, h=2),
    Dragonfly(h=1, local="2x3"),
    Dragonfly3(a=2, h2=1, h3=1),
    Torus("4x4x4"),
    Hypercube(7),
    FatTree(2, 4),
    Megafly(rho=1, a=2),
    Megafly(rho=2, a=8),
    OrthogonalFatTree(3),
    MultiLayerFullMesh(4),
]
NAMES = [
    *("ER_4", "ER_7", "PolarStar 56", "PolarStar 65", "Slim Fly 32"),
    *("BDF", "grown by quadrics", "grown by fans", "Bundlefly", "bipartite SpectralFly", "SpectralFly"),
    *("Delorme", "Xpander", "DLN", "torus", "leaf-spine", "ring of 600"),
]
NAMES += [f"{one.name} {one.routers}" for one in ALL[len(NAMES) :]]


@pytest.mark.parametrize("topology", ALL, ids=NAMES)
def test_every_router_has_a_place_of_its_own(topology):
    layout = topology.layout()
    assert layout.positions.shape == (topology.routers, 2)
    assert np.isfinite(layout.positions).all()
    assert len(np.unique(layout.positions.round(6), axis=0)) == topology.routers
    assert set(layout.kind.tolist()) == set(range(len(layout.kinds)))


@pytest.mark.parametrize("q", [2, 3, 4, 5, 7, 8, 9])
def test_polarfly_has_its_layers_and_the_clusters_of_a_starter_quadric(q):
    graph = PolarFly(q)
    layout = graph.layout()
    rows = np.unique(layout.positions[:, 1])
    assert len(rows) == len(layout.kinds) == (2 if q % 2 == 0 else 3)
    assert (
        np.bincount(layout.kind)
        == (
            [q + 1, q * q]
            if q % 2 == 0
            else [
                q + 1,
                q * (q + 1) // 2,
                q * (q - 1) // 2,
            ]
        )
    ).all()
    starter, _ = layout.highlight
    assert starter in graph.vertex_classes.quadrics
    clusters = graph.clusters().members
    assert len(clusters) == q
    assert [centre for centre, *_ in clusters] == graph.neighbours(starter).tolist()
    if q % 2:
        assert {len(cluster) for cluster in clusters} == {q}


@pytest.mark.parametrize("shape", ["3x4", "4x4", "3x3x3", "4x4x4", "2x2x2x2", "5x6"])
def test_links_of_a_product_pass_no_third_router(shape):
    topology = HyperX(shape)
    positions = topology.layout().positions
    for link in topology.link_list:
        a, b = positions[link.a], positions[link.b]
        along = (positions - a) @ (b - a) / np.dot(b - a, b - a)
        beside = np.abs((positions - a) @ np.array([a[1] - b[1], b[0] - a[0]])) / np.linalg.norm(b - a)
        between = (along > 1e-6) & (along < 1 - 1e-6)
        assert (beside[between] > 0.0105).all()
