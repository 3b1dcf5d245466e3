"""PolarStar and Slim Fly: published invariants, and shortest routes for every pair."""

import csv
from functools import lru_cache
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import shortest_path

from topology.errors import ParameterError
from topology.families.low_diameter.polarstar import PolarStar
from topology.families.low_diameter.polarstar_designs import designs_of_radix
from topology.families.low_diameter.slimfly import SlimFly
from topology.families.low_diameter.supernodes import (
    SUPERNODE_KINDS,
    make_supernode,
    supernode_exists,
    supernode_order,
)

with open(Path(__file__).parents[1].joinpath("data") / "invariants.csv", newline="") as file:
    ROWS = [row for row in csv.DictReader(file) if row["family"] != "polarfly"]


@lru_cache
def member(family, params):
    values = dict(word.split("=") for word in params.split())
    q = int(values["q"])
    if family == "slimfly":
        return SlimFly(q)
    if family == "polarstar-iq":
        return PolarStar(q, "iq", int(values["d"]))
    return PolarStar(q, "paley", (int(values["paley"]) - 1) // 2)


def matrix(topology):
    adjacency = topology.adjacency
    ones = np.ones(len(adjacency.neighbours))
    return csr_matrix((ones, adjacency.neighbours, adjacency.starts), shape=(topology.routers,) * 2)


def triangles(topology):
    joined = (matrix(topology) > 0).astype(np.int64)
    return int((joined @ joined).multiply(joined).sum()) // 6


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row['family']} {row['params']}")
def test_invariants_that_another_program_computed(row):
    topology = member(row["family"], row["params"])
    degrees = dict(map(int, entry.split(":")) for entry in row["degrees"].split(";"))
    found = dict(zip(*(a.tolist() for a in np.unique(topology.degrees, return_counts=True)), strict=True))
    assert (topology.routers, topology.links, topology.diameter) == (
        int(row["routers"]),
        int(row["links"]),
        int(row["diameter"]),
    )
    assert found == degrees
    assert topology.average_path_length == pytest.approx(float(row["average_path_length"]), abs=1e-6)
    assert triangles(topology) == int(row["triangles"])


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row['family']} {row['params']}")
def test_every_next_hop_is_on_a_shortest_path(row):
    topology = member(row["family"], row["params"])
    joined = matrix(topology)
    distances = shortest_path(joined, unweighted=True)
    hops = topology.all_next_hops().astype(np.int64)
    everyone = np.arange(topology.routers)
    away = everyone[:, None] != everyone
    assert (topology.distances(everyone[:, None], everyone) == distances).all()
    assert (distances[hops, everyone] == distances - 1)[away].all()
    assert (joined.toarray()[everyone[:, None], hops] > 0)[away].all()
    assert (hops[~away] == everyone).all()


def test_the_largest_polarstars_of_radix_15():
    assert [(d.routers, d.supernode) for d in designs_of_radix(15)][:1] == [(1064, "iq")]
    assert max(d.routers for d in designs_of_radix(15, "paley")) == 949
    assert PolarStar(radix=15).params == {"q": 11, "supernode": "iq", "degree": 3}
    assert PolarStar(radix=15, supernode="paley").routers == 949


@pytest.mark.parametrize("kind", SUPERNODE_KINDS)
def test_supernodes_exist_where_they_should(kind):
    degrees = [d for d in range(20) if supernode_exists(kind, d)]
    expected = {
        "iq": [0, 3, 4, 7, 8, 11, 12, 15, 16, 19],
        "paley": [2, 4, 6, 8, 12, 14, 18],
        "complete": list(range(20)),
        "bdf": list(range(2, 20)),
        "cayley": [2, 4, 6, 8, 10, 12, 14, 16],
    }
    assert degrees == expected[kind]
    for degree in degrees:
        assert make_supernode(kind, degree).order == supernode_order(kind, degree)  # checks its property


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"q": 3, "degree": 5}, "degree .* iq .* got 5; \\D*4 and 7$"),
        ({"q": 3, "supernode": "paley", "degree": 3}, "degree .* paley .* got 3; \\D*2 and 4$"),
        ({"q": 3, "supernode": "bdf", "degree": 1}, "degree .* bdf .*2 to 64, got 1; \\D*2$"),
        ({"q": 6, "degree": 3}, "^q .* got 6; \\D*5 and 7$"),
        ({"q": 3, "supernode": "bundle", "degree": 3}, "iq, paley, complete, bdf, cayley, got 'bundle'"),
        ({"q": 3}, "--q and --degree, or --radix"),
        ({"radix": 15, "q": 3}, "--radix .*with --q or --degree"),
        ({"radix": 2}, "radix .* got 2; \\D*3$"),
    ],
)
def test_polarstars_that_do_not_exist(options, named):
    with pytest.raises(ParameterError, match=named):
        PolarStar(**options)


@pytest.mark.parametrize(("q", "nearest"), [(2, "3"), (6, "5 and 7"), (90, "89"), (97, "89"), (200, "89")])
def test_slimflies_that_do_not_exist(q, nearest):
    with pytest.raises(ParameterError, match=rf"^q .* 3 to 89.* got {q}; \D*{nearest}$"):
        SlimFly(q)


def test_one_mask_stands_for_a_supernode():
    topology = PolarStar(2, "iq", 4)  # 10 vertices: 4 bits
    numbers = [topology.address_number(router) for router in range(topology.routers)]
    assert len(set(numbers)) == topology.routers
    assert [number >> 4 for number in numbers] == [router // 10 for router in range(topology.routers)]


def test_families_end_where_tables_of_all_pairs_would_not_fit():
    assert SlimFly(89).routers == 15_842
    with pytest.raises(ParameterError, match=r"3 to 89.* got 97"):
        SlimFly(97)
    with pytest.raises(ParameterError, match=r"at most 16384\b"):
        PolarStar(radix=100)
