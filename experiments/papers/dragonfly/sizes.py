"""Sizes of dragonflies with several links between groups and of Hamming graphs, by radix (Fig 12)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from experiments.papers.model import ItemResult, Row, Scale
from topology.analysis.balance import LinkClass, balance_of
from topology.families.dragonflies.dragonfly import complete_link_classes

_LARGEST_RADIX, _QUICK_RADIX = 96, 32
_TRUNKINGS = (1, 2, 4, 8)


def _dragonflies(ports: int, trunking: int | None) -> Iterator[tuple[int, int]]:
    """Yields (radix, endpoints) of dragonflies with as many hosts as their links carry at full uniform load.

    Args:
        ports: the largest radix, including endpoints.
        trunking: t, the number of links between two groups; None for the number of routers of a group, which
            makes the dragonfly a Hamming graph of two dimensions.
    """
    for a in range(2, ports):
        for h in range(1, ports - a + 1):
            t = a if trunking is None else trunking
            if t <= a and a * h % t == 0:
                b = a * h // t + 1
                balance = balance_of(complete_link_classes(a, h, b, t))
                if balance and balance.hosts:
                    yield a - 1 + h + balance.hosts, a * b * balance.hosts


def _cubes(ports: int) -> Iterator[tuple[int, int]]:
    """Yields (radix, endpoints) of 3-D Hamming graphs with equal sides, balanced as in `_dragonflies`."""
    for size in range(2, ports):
        balance = balance_of([LinkClass("dimension", size - 1, (size - 1) / size)])
        if balance:
            yield 3 * (size - 1) + balance.hosts, size**3 * balance.hosts


def largest_endpoints(ports: int) -> Mapping[str, Mapping[int, int]]:
    """Returns the largest number of endpoints of each family by router radix.

    Args:
        ports: the largest radix, including endpoints.

    Returns:
        Name of a family -> radix -> endpoints. Routers may leave ports unused.
    """
    found = {f"dragonfly, t = {t}": list(_dragonflies(ports, t)) for t in _TRUNKINGS}
    found["Hamming graph of 2 dimensions (t = a)"] = list(_dragonflies(ports, None))
    found["Hamming graph of 3 dimensions"] = list(_cubes(ports))
    largest: dict[str, dict[int, int]] = {}
    for name, sizes in found.items():
        of_radix = {
            radix: max((endpoints for own, endpoints in sizes if own <= radix), default=0)
            for radix in range(4, ports + 1)
        }
        largest[name] = {radix: endpoints for radix, endpoints in of_radix.items() if endpoints}
    return largest


def sizes(scale: Scale) -> ItemResult:
    """Returns the endpoints of the largest networks whose links carry full uniform load (Fig 12)."""
    rows: list[Row] = [
        {"family": name, "ports": radix, "endpoints": endpoints}
        for name, own in largest_endpoints(_QUICK_RADIX if scale.quick else _LARGEST_RADIX).items()
        for radix, endpoints in own.items()
    ]
    return ItemResult({}, rows)
