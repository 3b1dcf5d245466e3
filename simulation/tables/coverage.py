"""Coverage of matches: for each match, the routers to whose hosts, all or some, it applies."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[np.int64]

# Instead of a single router:
ALL_ROUTERS = -1  # all destinations
SEVERAL = -2  # hosts of several routers
NO_ROUTER = -3


@dataclass(frozen=True)
class Coverage:
    """The destination routers that each match covers.

    Attributes:
        single: (matches,): the only router whose hosts a match covers, or ALL_ROUTERS, SEVERAL or NO_ROUTER.
        partial: (matches,): whether a match covers some, but not all, hosts of a router.
        places: (matches,): for SEVERAL, index of the set of routers in `starts`.
        starts: (sets + 1,): start of each set in `routers`.
        routers: the routers of all sets, concatenated.
    """

    single: Numbers
    partial: npt.NDArray[np.bool_]
    places: Numbers
    starts: Numbers
    routers: Numbers

    def expanded(self, matches: Numbers) -> tuple[Numbers, Numbers]:
        """Lists the routers that each match covers, as pairs; a match that covers all destinations has none.

        Args:
            matches: the matches, by number.

        Returns:
            For each pair, the index of its match in `matches`, ascending, and its router.
        """
        single = self.single[matches]
        if (single >= 0).all():
            return np.arange(len(matches)), single
        several = np.flatnonzero(single == SEVERAL)
        places = self.places[matches[several]]
        counts = (single >= 0).astype(np.int64)
        counts[several] = self.starts[places + 1] - self.starts[places]
        index = np.repeat(np.arange(len(matches)), counts)
        routers = single[index]
        of_several = routers < 0
        firsts = np.repeat(self.starts[places], counts[several])
        within = np.arange(len(firsts)) - np.repeat(
            np.cumsum(counts[several]) - counts[several], counts[several]
        )
        routers[of_several] = self.routers[firsts + within]
        return index, routers


class CoverageFinder:
    """Finds the destinations that matches cover among the hosts of a fabric."""

    def __init__(self, routers: Numbers, ip: Numbers, mac: Numbers) -> None:
        """Creates a finder for the hosts of a fabric.

        Args:
            routers: router of each host, ascending.
            ip: IPv4 address of each host.
            mac: MAC address of each host.
        """
        self._addresses = {"ipv4_dst": ip, "eth_dst": mac}
        self._routers = routers
        self._host_counts = np.bincount(self._routers)

    def find(self, values: Mapping[str, Numbers], masks: Mapping[str, Numbers]) -> Coverage:
        """Returns the destinations that matches cover.

        Args:
            values: for `ipv4_dst` and `eth_dst`, the value that each match requires.
            masks: the masks of these values, -1 for an exact match and 0 for no match on the field.
        """
        count = len(values["ipv4_dst"])
        single = np.full(count, NO_ROUTER, np.int64)
        partial = np.zeros(count, bool)
        places = np.zeros(count, np.int64)
        lengths: list[Numbers] = []
        sets: list[Numbers] = []
        number = 0
        for matches, class_of_host, classes in self._by_masks(values, masks):
            routers, complete, bounds = self._routers_of(class_of_host)
            counts = np.diff(bounds)
            first = routers[bounds[:-1]]
            class_single = np.where(counts == 1, first, SEVERAL)
            if len(counts) == 1:
                class_single[:] = ALL_ROUTERS
            class_partial = np.add.reduceat(~complete, bounds[:-1]) > 0
            known = classes >= 0
            single[matches[known]] = class_single[classes[known]]
            partial[matches[known]] = class_partial[classes[known]]
            places[matches[known]] = number + classes[known]
            lengths.append(counts)
            sets.append(routers)
            number += len(counts)
        starts = np.concatenate([[0], np.cumsum(np.concatenate([*lengths, _NONE]))])
        return Coverage(single, partial, places, starts, np.concatenate([*sets, _NONE]))

    def _by_masks(
        self, values: Mapping[str, Numbers], masks: Mapping[str, Numbers]
    ) -> Iterator[tuple[Numbers, Numbers, Numbers]]:
        """Yields groups of matches with the same pair of masks.

        Yields:
            The numbers of the matches; the class of each host (hosts with equal masked addresses form a
            class); and the class that each match covers, or -1.
        """
        pairs = np.stack([masks["ipv4_dst"], masks["eth_dst"]])
        remaining = np.arange(pairs.shape[1])
        while len(remaining):
            same = (pairs[:, remaining] == pairs[:, remaining[0], None]).all(axis=0)
            matches = remaining[same]
            remaining = remaining[~same]
            of_hosts = np.zeros(len(self._routers), np.int64)
            of_matches = np.zeros(len(matches), np.int64)
            for field, addresses in self._addresses.items():
                masked = addresses & masks[field][matches[0]]
                distinct, inverse = np.unique(masked, return_inverse=True)
                required = values[field][matches]
                found = np.minimum(np.searchsorted(distinct, required), len(distinct) - 1)
                missed = (distinct[found] != required) | (of_matches < 0)
                of_hosts = of_hosts * len(distinct) + inverse
                of_matches = np.where(missed, -1, of_matches * len(distinct) + found)
            classes, class_of_host = np.unique(of_hosts, return_inverse=True)
            found = np.minimum(np.searchsorted(classes, of_matches), len(classes) - 1)
            yield matches, class_of_host, np.where(classes[found] == of_matches, found, -1)

    def _routers_of(self, class_of_host: Numbers) -> tuple[Numbers, npt.NDArray[np.bool_], Numbers]:
        """Returns the routers of the hosts in each class.

        Returns:
            The routers, class by class; for each of these, whether the class contains all hosts of the
            router; and the bounds of the classes in both arrays.
        """
        count = len(self._host_counts)
        pairs, hosts = np.unique(class_of_host * count + self._routers, return_counts=True)
        routers = pairs % count
        bounds = np.searchsorted(pairs // count, np.arange(int(class_of_host.max()) + 2))
        return routers, hosts == self._host_counts[routers], bounds


_NONE = np.empty(0, np.int64)
