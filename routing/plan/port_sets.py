"""Sets of minimal ports of one router; many destinations share the same set."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from topology.base import Topology

Numbers = npt.NDArray[np.intp]


@dataclass(frozen=True)
class PortSets:
    """The ports on which minimal paths from one router to each destination start.

    Attributes:
        codes: for each destination, the number that identifies its set of ports.
        counts: how many ports each set has.
        starts: the index in `ports` of the first port of each set.
        places: the index of each port's link among the router's links (its place in `topology.base`), set by
            set, ascending within a set.
        ports: the ports of these links.
    """

    codes: Numbers
    counts: Numbers
    starts: Numbers
    places: Numbers
    ports: npt.NDArray[np.int64]

    def first_ports(self) -> npt.NDArray[np.int64]:
        """Returns the first port toward each destination; 0 if there is none."""
        return np.where(self.counts > 0, np.append(self.ports, 0)[self.starts], 0)[self.codes]

    def set_of(self, code: int) -> tuple[int, ...]:
        """Returns the ports of a set.

        Args:
            code: the number of the set.
        """
        start = int(self.starts[code])
        return tuple(self.ports[start : start + int(self.counts[code])].tolist())

    def sets(self) -> list[tuple[int, ...]]:
        """Returns the ports of all sets, by number of the set."""
        ports = self.ports.tolist()
        ends = (self.starts + self.counts).tolist()
        return [tuple(ports[a:b]) for a, b in zip(self.starts.tolist(), ends, strict=True)]


def port_sets(topology: Topology, router: int) -> PortSets:
    """Returns the distinct sets of minimal ports of a router.

    Args:
        topology: the graph of routers.
        router: the router that forwards packets.
    """
    mask = topology.minimal_port_mask(router)
    packed = np.ascontiguousarray(np.packbits(mask, axis=0).T)
    padded = np.zeros((len(packed), max(-(-packed.shape[1] // 8), 1)), np.uint64)
    padded.view(np.uint8)[:, : packed.shape[1]] = packed
    keys = padded[:, 0] if padded.shape[1] == 1 else padded.view(f"V{8 * padded.shape[1]}")[:, 0]
    _, firsts, codes = np.unique(keys, return_index=True, return_inverse=True)
    sets, places = mask.T[firsts].nonzero()
    counts = np.bincount(sets, minlength=len(firsts))
    starts, ports = np.cumsum(counts) - counts, topology.link_ports(router)[places]
    return PortSets(codes.astype(np.intp), counts, starts, places, ports)
