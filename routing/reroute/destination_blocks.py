"""Blocks of destinations that share a rule of one router, as arrays, and their grouping by next hop."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from operator import itemgetter
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from routing.plan.groups import RouterView
from routing.plan.port_sets import PortSets

Ports = tuple[int, ...]
Numbers = npt.NDArray[np.intp]


class NextHopBlocks(NamedTuple):
    """Blocks with the same next hop.

    Attributes:
        next_hop: the index of the next hop among the router's neighbours (its row); -1 for blocks with
            several next hops.
        blocks: the numbers of the blocks, ascending.
    """

    next_hop: int
    blocks: Numbers


class Blocks:
    """Blocks of destination routers, numbered in order.

    Attributes:
        members: the routers of all blocks, block by block.
        starts: for each block, the index of its first router in `members`.
    """

    def __init__(self, members: Numbers, sizes: Numbers, port_sets: PortSets) -> None:
        """Stores the blocks.

        Args:
            members: the routers of all blocks, block by block.
            sizes: the number of routers of each block.
            port_sets: the ports on which minimal paths to routers start, the same for all routers of a block.
        """
        self.members = members
        self._sizes = sizes
        self.starts = np.cumsum(sizes) - sizes
        self._port_sets = port_sets
        self._port_codes = port_sets.codes[members[self.starts]]

    def __len__(self) -> int:
        """Returns the number of blocks."""
        return len(self._sizes)

    def routers(self, block: int) -> Numbers:
        """Returns the routers of a block.

        Args:
            block: its number.
        """
        start = self.starts[block]
        return self.members[start : start + self._sizes[block]]

    def ports(self, block: int) -> Ports:
        """Returns the ports on which minimal paths to a block start.

        Args:
            block: its number.
        """
        return self._port_sets.set_of(int(self._port_codes[block]))

    def by_next_hop(self, row_by_place: Sequence[int]) -> list[NextHopBlocks]:
        """Groups all blocks by next hop; the groups are in the order of their first blocks.

        Args:
            row_by_place: for each link of the router, the row of the neighbour behind it.

        Returns:
            One entry for each next hop, and one for all blocks with several next hops.
        """
        sets = self._port_sets
        # A set of ports has a single next hop if its highest and its lowest row are equal.
        some = np.flatnonzero(sets.counts)
        row_by_code = np.full(len(sets.counts), -1, np.intp)
        if len(some):
            rows_of_ports = np.asarray(row_by_place, np.intp)[sets.places]
            lowest = np.minimum.reduceat(rows_of_ports, sets.starts[some])
            highest = np.maximum.reduceat(rows_of_ports, sets.starts[some])
            row_by_code[some] = np.where(lowest == highest, lowest, -1)
        rows = row_by_code[self._port_codes]
        order = np.argsort(rows, kind="stable")
        bounds = np.flatnonzero(np.diff(rows[order], prepend=-2)).tolist()
        parts = [order[a:b] for a, b in zip(bounds, [*bounds[1:], len(order)], strict=True)]
        return [NextHopBlocks(int(rows[part[0]]), part) for part in sorted(parts, key=itemgetter(0))]

    def by_ports(self, blocks: Numbers) -> Iterator[tuple[Ports, Numbers]]:
        """Groups blocks by their minimal ports; yields (ports, numbers of the blocks with these ports).

        Args:
            blocks: the numbers of the blocks.
        """
        codes = self._port_codes[blocks]
        if len(codes) and (codes == codes[0]).all():
            yield self._port_sets.set_of(int(codes[0])), blocks
            return
        for code in dict.fromkeys(codes.tolist()):
            yield self._port_sets.set_of(code), blocks[codes == code]

    def value_of_ports(
        self, blocks: Numbers, values: Callable[[Numbers], npt.NDArray[np.int64]]
    ) -> npt.NDArray[np.int64]:
        """Returns, for each of the given blocks, a value that depends only on the block's minimal ports.

        Args:
            blocks: the numbers of the blocks.
            values: numbers of port sets -> a value for each. It is called once, with all distinct numbers in
                the order of their first appearance among the blocks.
        """
        codes = self._port_codes[blocks]
        different, firsts, places = np.unique(codes, return_index=True, return_inverse=True)
        order = np.argsort(firsts)
        results = np.empty(len(different), np.int64)
        results[order] = values(different[order])
        return results[places]

    def by_member(self, values: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Returns, for each entry of `members`, the value of its block.

        Args:
            values: the value of each block.
        """
        return np.repeat(values, self._sizes)

    def largest(self, table: npt.NDArray[np.int16], rows: Numbers, blocks: Numbers) -> npt.NDArray[np.int16]:
        """Returns, for each given block and each of its k rows, the largest entry among the block's routers.

        Args:
            table: a table with one column for each router of the fabric.
            rows: int array, k x blocks: for each block, the k rows of the table to read.
            blocks: the numbers of the blocks.

        Returns:
            int16 array, k x blocks.
        """
        if len(self.members) == len(self):
            return table[rows, self.members[blocks]]
        sizes = self._sizes[blocks]
        firsts = np.cumsum(sizes) - sizes
        places = np.repeat(self.starts[blocks] - firsts, sizes) + np.arange(int(sizes.sum()))
        entries = table[np.repeat(rows, sizes, axis=1), self.members[places]]
        return np.maximum.reduceat(entries, firsts, axis=1)


def destination_blocks(view: RouterView) -> Blocks:
    """Returns all other routers, grouped into blocks with the same minimal next hop and address mask.

    Args:
        view: the router's ports and matches.
    """
    topology = view.topology
    if topology.next_hop_rules == topology.routers - 1:
        return single_routers(view)
    blocks = [block.routers for block in topology.destination_blocks(view.router)]
    sizes = np.fromiter(map(len, blocks), np.intp, len(blocks))
    members = np.fromiter(chain.from_iterable(blocks), np.intp, int(sizes.sum()))
    return Blocks(members, sizes, view.port_sets)


def single_routers(view: RouterView) -> Blocks:
    """Returns all other routers, each as its own block.

    Args:
        view: the router's ports and matches.
    """
    members = np.delete(np.arange(view.topology.routers), view.router)
    return Blocks(members, np.ones(len(members), np.intp), view.port_sets)
