"""Topologies whose port numbers are in no order, have gaps, and mix links with hosts."""

from __future__ import annotations

from typing import TypeVar

import numpy as np

from topology.base import Topology

T = TypeVar("T", bound=Topology)


def with_shuffled_ports(topology: T, hosts: int, seed: int = 0) -> T:
    """Returns a topology with random ports, of which a third is in use; it has ports for so many hosts."""
    generator = np.random.default_rng(seed)
    links, of_hosts = [], []
    for degree, count in zip(topology.degrees.tolist(), topology.host_counts(hosts).tolist(), strict=True):
        ports = (generator.permutation(3 * (degree + count)) + 1).tolist()
        links.append(ports[:degree])
        of_hosts.append(ports[degree : degree + count])
    return topology.with_ports(links, of_hosts)
