"""Placements of ranks on hosts."""

import numpy as np
import pytest
from support.builders.leaf_spine import LeafSpine

from topology.clusters import Clusters
from topology.errors import ParameterError, UsageError
from traffic.workload.placement import place_ranks


class HostsAt(LeafSpine):
    """A leaf-spine fabric whose leaves have numbers of hosts of their own."""

    def __init__(self, counts: list[int]) -> None:
        super().__init__(len(counts), 2)
        self.counts = counts

    def host_counts(self, _concentration: int) -> np.ndarray:
        return np.array([*self.counts, *[0] * (self.routers - self.leaves)])


class Crossed(LeafSpine):
    """A leaf-spine fabric with two clusters: the even leaves and a spine, and the odd leaves."""

    def clusters(self):
        return Clusters(((0, 4, 2), (1, 3)))


def test_ranks_are_placed_on_the_hosts_that_there_are():
    assert place_ranks("linear", 4, HostsAt([2, 0, 2]), 1, 1) == (0, 1, 2, 3)
    assert sorted(place_ranks("random:3", 8, LeafSpine(), 2, 1)) == list(range(8))
    assert place_ranks("random:3", 8, LeafSpine(), 2, 1) == place_ranks("random:seed=3", 8, LeafSpine(), 2, 2)
    with pytest.raises(ParameterError, match=r"2 to 8 .* got 9"):
        place_ranks("linear", 9, LeafSpine(), 2, 1)


def test_the_placement_by_clusters_leaves_out_routers_without_hosts():
    assert place_ranks("cluster", 8, Crossed(), 2, 1) == (0, 1, 4, 5, 2, 3, 6, 7)


@pytest.mark.parametrize(
    ("placement", "message"),
    [
        ("best", "linear, random, .*, got 'best'"),
        ("lineal", "did you mean 'linear'"),
        ("linear:7", "linear has no parameters, got '7'"),
        ("random:x", "in 'random:x', seed must be 0 to .*, got 'x'"),
        ("random:seeds=7", "did you mean 'seed'"),
    ],
)
def test_wrong_placements_are_refused(placement, message):
    with pytest.raises(UsageError, match=message):
        place_ranks(placement, 2, LeafSpine(), 2, 1)
