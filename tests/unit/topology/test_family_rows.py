"""Dragonflies, hierarchical and classic families: sizes and distances that another program computed."""

import csv
from functools import lru_cache
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import shortest_path

from topology.registry import FAMILIES, make_topology

OURS = [
    name for name, family in FAMILIES.items() if family.group in ("dragonflies", "hierarchical", "classic")
]
with open(Path(__file__).parents[1] / "data" / "families.csv", newline="") as file:
    ROWS = [row for row in csv.DictReader(file) if row["family"] in OURS]
SMALL = [row for row in ROWS if int(row["routers"]) <= 300]


@lru_cache
def member(family, parameters):
    values = dict(word.split("=") for word in parameters.split(";"))
    return make_topology(family, {k: int(v) if v.isdigit() else v for k, v in values.items()})


def name(row):
    return f"{row['family']} {row['parameters']}"


@pytest.mark.parametrize("row", ROWS, ids=name)
def test_sizes_degrees_and_distances_that_another_program_computed(row):
    topology = member(row["family"], row["parameters"])
    degrees = dict(map(int, entry.split(":")) for entry in row["degrees"].split(";"))
    found = dict(zip(*(a.tolist() for a in np.unique(topology.degrees, return_counts=True)), strict=True))
    assert (topology.routers, topology.links) == (int(row["routers"]), int(row["links"]))
    assert found == degrees
    assert topology.diameter == int(row["diameter"])
    assert topology.average_path_length == pytest.approx(float(row["average_path_length"]), abs=1e-6)
    ends = np.repeat(np.arange(topology.routers), topology.degrees), topology.adjacency.neighbours
    different = len(np.unique(np.stack(ends), axis=1).T) // 2
    assert topology.links - different == int(row["parallel_links"])


def test_every_row_of_these_families_is_tested():
    assert {row["family"] for row in ROWS} == {
        "dragonfly",
        "fat-tree",
        "megafly",
        "hyperx",
        "torus",
        "hypercube",
    }
    assert len(ROWS) == 37


@pytest.mark.parametrize("row", SMALL, ids=name)
def test_distances_and_next_hops_are_those_of_a_search(row):
    topology = member(row["family"], row["parameters"])
    adjacency, everyone = topology.adjacency, np.arange(topology.routers)
    ones = np.ones(len(adjacency.neighbours))
    joined = csr_matrix((ones, adjacency.neighbours, adjacency.starts), shape=(topology.routers,) * 2)
    distances = shortest_path(joined, unweighted=True)
    assert (topology.distances(everyone[:, None], everyone) == distances).all()
    hops = topology.all_next_hops()
    for router in range(topology.routers):
        around = topology.neighbours(router)
        nearer = distances[around] < distances[router]
        assert (topology.minimal_port_mask(router) == nearer).all()
        others = everyone != router
        assert (hops[router] == around[nearer.argmax(axis=0)])[others].all()
        assert hops[router, router] == router
