"""Hot spots: a share of every host's packets goes to a few hot hosts, the rest to all hosts uniformly."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from topology.errors import ParameterError
from topology.parameters import Parameter
from traffic.workload.bit_patterns import HostIndices

PARAMETERS = (
    Parameter(name="hosts", type=int, help="hot hosts, evenly spaced among all", least=1, default=1),
    Parameter(
        name="share",
        type=float,
        help="share of every host's packets that goes to hot hosts, all of them equally likely",
        above=0,
        most=1,
        default=0.5,
    ),
)


@dataclass(frozen=True)
class HotSpots:
    """Hot hosts, which receive a share of all packets in addition to uniform traffic.

    A hot host sends this share to the other hot hosts. If it is the only one, all its packets are uniform.

    Attributes:
        hosts: indices of the hot hosts, ascending; at least one.
        share: share of a host's packets that goes to hot hosts, over 0 and at most 1.

    Examples:
        >>> HotSpots((0,), share=0.5).shares(3).tolist()
        [[0.0, 0.5, 0.5], [0.75, 0.0, 0.25], [0.75, 0.25, 0.0]]
    """

    hosts: tuple[int, ...]
    share: float

    def destinations(
        self, sources: HostIndices, everyone: int, generator: np.random.Generator
    ) -> HostIndices:
        """Draws the destinations of packets, given their sources.

        Args:
            sources: index of each packet's sending host; shape (packets,).
            everyone: total number of hosts, at least 2.
            generator: random generator of the destinations.

        Returns:
            int64 array, (packets,): index of each packet's receiving host, never its source.
        """
        others = (sources + generator.integers(1, everyone, sources.shape)) % everyone
        hot = np.asarray(self.hosts, np.int64)
        places = np.searchsorted(hot, sources)
        is_hot = hot[np.minimum(places, len(hot) - 1)] == sources
        choices = len(hot) - is_hot  # hot hosts other than the source
        chosen = (generator.random(sources.shape) * choices).astype(np.int64)
        chosen += is_hot & (chosen >= places)
        to_hot = (generator.random(sources.shape) < self.share) & (choices > 0)
        return np.where(to_hot, hot[np.minimum(chosen, len(hot) - 1)], others)

    def shares(self, everyone: int) -> npt.NDArray[np.float64]:
        """Returns the demand matrix: the share of a source's packets that goes to each destination.

        Args:
            everyone: total number of hosts, at least 2.

        Returns:
            float64 array, hosts x hosts, [source, destination]; every row sums to 1.
        """
        elsewhere = 1 - np.eye(everyone)
        to_hot = np.zeros((everyone, everyone))
        to_hot[:, list(self.hosts)] = elsewhere[:, list(self.hosts)]
        choices = to_hot.sum(axis=1, keepdims=True)
        share = np.where(choices > 0, self.share, 0.0)
        return np.asarray((1 - share) * elsewhere / (everyone - 1) + share * to_hot / np.maximum(choices, 1))


def hotspot(everyone: int, *, hosts: int, share: float) -> HotSpots:
    """Returns evenly spaced hot hosts: those with index floor(k n / hosts), for k = 0 .. hosts - 1.

    Args:
        everyone: n, the total number of hosts, at least 2.
        hosts: number of hot hosts, 1 to n.
        share: share of a host's packets that goes to hot hosts, over 0 and at most 1.

    Raises:
        ParameterError: there are fewer than `hosts` hosts.

    Source:
        Pfister and Norton, "Hot spot" contention and combining in multistage interconnection networks (IEEE
        Transactions on Computers C-34, 1985).
    """
    if hosts > everyone:
        raise ParameterError(f"pattern hotspot: hosts must be 1 to {everyone} on this fabric, got {hosts}")
    return HotSpots(tuple(number * everyone // hosts for number in range(hosts)), share)
