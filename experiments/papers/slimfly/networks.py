"""Balanced networks that the Slim Fly paper compares, by the number of their endpoints N."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from experiments.papers.networks import Network, network
from experiments.papers.sizes import slimfly_orders
from topology.families.family import carried_hosts
from topology.families.low_diameter.slimfly import mms_radix

_LARGEST_RADIX = 60


@dataclass(frozen=True)
class Balanced:
    """A network with as many endpoints as its links carry at full uniform load.

    Attributes:
        network: the network; its label is the paper's abbreviation.
        hosts: endpoints at each router that has any.
        endpoints: N.
    """

    network: Network
    hosts: int
    endpoints: int


def slim_flies() -> Iterator[Balanced]:
    """Yields balanced Slim Flies: p = ceil(k' / 2)."""
    for q in slimfly_orders(_LARGEST_RADIX):
        hosts = carried_hosts(mms_radix(q), 2)
        yield Balanced(network("SF", "slimfly", q=q), hosts, 2 * q * q * hosts)


def dragonflies() -> Iterator[Balanced]:
    """Yields balanced dragonflies: a = 2 p = 2 h."""
    for h in range(1, 12):
        routers = 2 * h * (2 * h * h + 1)
        yield Balanced(network("DF", "dragonfly", a=2 * h, h=h), h, h * routers)


def flattened_butterflies() -> Iterator[Balanced]:
    """Yields 3-level flattened butterflies: c^3 routers with c endpoints each."""
    for size in range(3, 13):
        yield Balanced(network("FBF-3", "hyperx", shape=f"{size}x{size}x{size}"), size, size**4)


def fat_trees() -> Iterator[Balanced]:
    """Yields fat trees of three levels."""
    for arity in range(4, 25):
        yield Balanced(network("FT-3", "fat-tree", arity=arity, levels=3), arity, arity**3)


def tori_3d() -> Iterator[Balanced]:
    """Yields 3-D tori with one endpoint per router."""
    for size in range(4, 22):
        yield Balanced(network("T3D", "torus", shape=f"{size}x{size}x{size}"), 1, size**3)


def tori_5d() -> Iterator[Balanced]:
    """Yields 5-D tori with one endpoint per router."""
    for size in range(3, 7):
        yield Balanced(network("T5D", "torus", shape="x".join([str(size)] * 5)), 1, size**5)


def hypercubes() -> Iterator[Balanced]:
    """Yields hypercubes with one endpoint per router."""
    for dimension in range(6, 15):
        yield Balanced(network("HC", "hypercube", dimension=dimension), 1, 1 << dimension)


def long_hops() -> Iterator[Balanced]:
    """Yields Long Hop networks with one endpoint per router and 3 N / 2 links between halves (Fig 5c)."""
    for dimension in range(6, 15):
        yield Balanced(network("LH-HC", "long-hop", dimension=dimension, distance=3), 1, 1 << dimension)


def matching_dln(one: Balanced) -> Balanced:
    """Returns the DLN with the same numbers of routers, links and endpoints as a network.

    Args:
        one: a network without parallel links whose routers all have the same numbers of links and hosts.
    """
    graph = one.network.graph()
    ring = network("DLN", "dln", routers=graph.routers, shortcuts=graph.network_radix - 2)
    return Balanced(ring, one.hosts, one.endpoints)


FAMILIES: Mapping[str, tuple[Balanced, ...]] = {
    "SF": tuple(slim_flies()),
    "DF": tuple(dragonflies()),
    "FBF-3": tuple(flattened_butterflies()),
    "FT-3": tuple(fat_trees()),
    "T3D": tuple(tori_3d()),
    "T5D": tuple(tori_5d()),
    "HC": tuple(hypercubes()),
    "LH-HC": tuple(long_hops()),
}


def nearest(family: str, endpoints: int) -> Balanced:
    """Returns the network of a family whose number of endpoints is nearest to N by ratio.

    Args:
        family: the paper's abbreviation, one of FAMILIES; or DLN: the graph with as many routers,
            links and endpoints as the nearest Slim Fly.
        endpoints: N.
    """
    if family == "DLN":
        return matching_dln(nearest("SF", endpoints))

    def factor(one: Balanced) -> float:
        return max(one.endpoints / endpoints, endpoints / one.endpoints)

    return min(FAMILIES[family], key=factor)
