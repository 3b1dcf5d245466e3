"""Destination routers that matches cover, wholly or in part."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[np.int64]

EVERYONE = -1  # in place of a single router: all destinations
SEVERAL = -2  # several routers, or hosts of several
NOBODY = -3


@dataclass(frozen=True)
class Coverage:
    """The destinations that matches cover.

    Attributes:
        single: (matches,): the one router whose hosts a match covers, or EVERYONE, SEVERAL or NOBODY.
        partial: (matches,): whether a match covers some, but not all, hosts of a router.
        places: (matches,): for SEVERAL, the index in `starts`.
        starts: the index in `routers` of the first router of each set, and the end.
        routers: the routers of all sets, set by set.
    """

    single: Numbers
    partial: npt.NDArray[np.bool_]
    places: Numbers
    starts: Numbers
    routers: Numbers

    def expanded(self, matches: Numbers) -> tuple[Numbers, Numbers]:
        """Returns the pairs of a match and a router that it covers, without matches of all destinations.

        Args:
            matches: the numbers of matches.

        Returns:
            The index of each pair's match in `matches`, ascending, and its router.
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


class CoverageMaker:
    """Finds the destinations that matches cover among the hosts of a fabric."""

    def __init__(self, routers: Numbers, ip: Numbers, mac: Numbers) -> None:
        """Takes the hosts.

        Args:
            routers: the router of each host, ascending.
            ip: its IPv4 address.
            mac: its MAC address.
        """
        self._addresses = {"ipv4_dst": ip, "eth_dst": mac}
        self._routers = routers
        self._host_counts = np.bincount(self._routers)

    def make(self, values: Mapping[str, Numbers], masks: Mapping[str, Numbers]) -> Coverage:
        """Returns the destinations that matches cover.

        Args:
            values: for `ipv4_dst` and `eth_dst`, the value that each match asks for.
            masks: the masks of these, -1 for an exact match and 0 for none.
        """
        count = len(values["ipv4_dst"])
        single = np.full(count, NOBODY, np.int64)
        partial = np.zeros(count, bool)
        places = np.zeros(count, np.int64)
        lengths: list[Numbers] = []
        sets: list[Numbers] = []
        number = 0
        for matches, class_of_host, classes in self._by_masks(values, masks):
            routers, wholly, bounds = self._routers_of(class_of_host)
            counts = np.diff(bounds)
            first = routers[bounds[:-1]]
            class_single = np.where(counts == 1, first, SEVERAL)
            if len(counts) == 1:
                class_single[:] = EVERYONE
            class_partial = np.add.reduceat(~wholly, bounds[:-1]) > 0
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
        """Yields the matches with each pair of masks.

        Yields:
            The numbers of the matches; for each host, the number of its class under these masks; for each of
            the matches, the class that it covers, or -1.
        """
        pairs = np.stack([masks["ipv4_dst"], masks["eth_dst"]])
        left = np.arange(pairs.shape[1])
        while len(left):
            same = (pairs[:, left] == pairs[:, left[0], None]).all(axis=0)
            matches = left[same]
            left = left[~same]
            of_hosts = np.zeros(len(self._routers), np.int64)
            of_matches = np.zeros(len(matches), np.int64)
            for field, addresses in self._addresses.items():
                masked = addresses & masks[field][matches[0]]
                different, inverse = np.unique(masked, return_inverse=True)
                wanted = values[field][matches]
                found = np.minimum(np.searchsorted(different, wanted), len(different) - 1)
                missed = (different[found] != wanted) | (of_matches < 0)
                of_hosts = of_hosts * len(different) + inverse
                of_matches = np.where(missed, -1, of_matches * len(different) + found)
            classes, class_of_host = np.unique(of_hosts, return_inverse=True)
            found = np.minimum(np.searchsorted(classes, of_matches), len(classes) - 1)
            yield matches, class_of_host, np.where(classes[found] == of_matches, found, -1)

    def _routers_of(self, class_of_host: Numbers) -> tuple[Numbers, npt.NDArray[np.bool_], Numbers]:
        """Returns the routers of each class, whether all of its hosts are, and the bounds of classes."""
        count = len(self._host_counts)
        pairs, hosts = np.unique(class_of_host * count + self._routers, return_counts=True)
        routers = pairs % count
        bounds = np.searchsorted(pairs // count, np.arange(int(class_of_host.max()) + 2))
        return routers, hosts == self._host_counts[routers], bounds


_NONE = np.empty(0, np.int64)
