"""Remote alternates (RFC 7490) of one router: tags that take packets around a dead link or switch.

The packet goes to a neighbour, then to the router named by the tag, and from there to its destination. The
tags for many destinations are searched at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property

import numpy as np

from routing.reroute.destination_blocks import Blocks
from routing.reroute.minimal_paths import Hops, Mask, MinimalPaths, Numbers, avoid

# More than twice the hops of any path; a sum of two fits into 16 bits.
_UNREACHABLE = np.int16(np.iinfo(np.int16).max // 2)


class RemoteSearch:
    """The search for one router's remote alternates."""

    def __init__(self, paths: MinimalPaths, router: int, neighbours: Numbers) -> None:
        """Prepares the search.

        Args:
            paths: the minimal paths of the topology.
            router: the router.
            neighbours: its neighbours, each once; a neighbour's index in this array is its row.
        """
        self._paths = paths
        self._router = router
        self._neighbours = neighbours
        self._distances = paths.distances[neighbours]

    def reached(
        self, blocks: Blocks, rest: Numbers, row: int, dead: int | None
    ) -> Iterator[tuple[int, Hops, Hops]]:
        """Yields the blocks that packets reach with some tag, and the hops to and from the tags' routers.

        Args:
            blocks: all destinations.
            rest: the numbers of the blocks that need alternates.
            row: the row of the lost neighbour; all others may be first hops.
            dead: a router that the alternates must avoid, unless it is in the block; None if there is none.

        Yields:
            (number of a block, hops from each neighbour to each tag's router, hops from each tag's router to
            the block). All hops are doubled, so that `min_hops` can prefer tags by a cost lower by one.
        """
        numbers = rest.tolist() if len(self._neighbours) > 1 else []
        targets = [blocks.routers(block) for block in numbers]
        far = [index for index, routers in enumerate(targets) if dead is None or dead not in routers]
        found: dict[int, tuple[Hops, Hops]] = {}
        for avoided, some in ((dead, far), (None, [*{*range(len(numbers))}.difference(far)])):
            if some:
                to_tags = self._hops_to_tags(avoided)
                onward = self._hops_onward([targets[index] for index in some], avoided)
                least = np.minimum(
                    to_tags[:row].min(axis=0, initial=_UNREACHABLE),
                    to_tags[row + 1 :].min(axis=0, initial=_UNREACHABLE),
                )
                for place in np.flatnonzero((least + onward).min(axis=1) < _UNREACHABLE).tolist():
                    found[some[place]] = to_tags, onward[place]
        for index in sorted(found):
            yield numbers[index], *found[index]

    def _hops_to_tags(self, avoided: int | None) -> Hops:
        """Returns twice the hops from neighbours to routers that a tag may name: neighbours x routers.

        The entry is _UNREACHABLE if a shortest path visits the router of this search, or `avoided`.
        """
        if avoided is None:
            return self._hops_to_all_tags
        return np.where(self._all_paths_avoid(avoided), self._hops_to_all_tags, _UNREACHABLE)

    @cached_property
    def _hops_to_all_tags(self) -> Hops:
        return np.where(self.not_back, 2 * self._distances, _UNREACHABLE)

    def _hops_onward(self, targets: Sequence[Numbers], avoided: int | None) -> Hops:
        """Returns twice the maximum hops from each router to each set of targets: sets x routers.

        The entry is _UNREACHABLE if a path visits the router of this search, or `avoided`.
        """
        members = np.concatenate(targets)
        if avoided is None and len(members) == 1 and members[0] in self._onward_rows:
            row = self._onward_rows[int(members[0])]
            return self._onward[row : row + 1]
        paths = self._paths.paths_to(members)
        works = avoid(paths, self._router)
        if avoided is not None:
            works &= avoid(paths, avoided)
        hops = np.where(works, 2 * self._paths.distances[members], _UNREACHABLE)
        if len(members) == len(targets):
            return hops
        sizes = np.fromiter(map(len, targets), np.intp, len(targets))
        return np.asarray(np.maximum.reduceat(hops, np.cumsum(sizes) - sizes, axis=0))

    @cached_property
    def _onward_rows(self) -> dict[int, int]:
        """Neighbour -> its row in `_onward`."""
        return {neighbour: row for row, neighbour in enumerate(self._neighbours.tolist())}

    @cached_property
    def _onward(self) -> Hops:
        """Neighbours x routers: twice the hops from each router to each neighbour, as in `_hops_onward`."""
        works = avoid(self._paths.paths_to(self._neighbours), self._router)
        return np.where(works, 2 * self._distances, _UNREACHABLE)

    @cached_property
    def not_back(self) -> Mask:
        """Neighbours x routers: whether no shortest path leads back through the router of this search."""
        return self._all_paths_avoid(self._router)

    def _all_paths_avoid(self, unwanted: int) -> Mask:
        """Returns, for neighbours x routers, whether all shortest paths between them avoid a third router."""
        before = self._paths.least_hops[self._neighbours][:, [unwanted]]
        through = before + self._paths.distances[unwanted]
        return np.asarray(through > self._distances)


def min_hops(cost: Hops, lost: int) -> tuple[int, int] | None:
    """Returns (row, column) of the smallest entry not in the lost neighbour's row; None if all unreachable.

    Of equal entries, those in rows after the lost one come first, so that alternates around different
    neighbours differ.

    Args:
        cost: neighbours x tags: doubled hops; a preferred entry is lower by one than others of as many hops.
        lost: the row of the lost neighbour, which is not used.
    """
    best: tuple[int, int, int] | None = None
    for first, end in ((lost + 1, len(cost)), (0, lost)):
        if first < end:
            row, column = divmod(int(cost[first:end].argmin()), cost.shape[1])
            least = int(cost[first + row, column])
            if least < _UNREACHABLE - 1 and (best is None or least < best[0]):
                best = least, first + row, column
    return None if best is None else best[1:]
