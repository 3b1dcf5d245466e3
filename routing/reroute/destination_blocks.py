"""Blocks of destinations that share a rule of one router, as arrays, and their division by next hop."""

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
    """Blocks with one next hop.

    Attributes:
        next_hop: the row of that neighbour, in the order of the router's neighbours; -1 for blocks that have
            several next hops.
        blocks: their numbers, ascending.
    """

    next_hop: int
    blocks: Numbers


class Blocks:
    """Blocks of destination routers, numbered in their order.

    Attributes:
        members: the routers of all blocks, block by block.
        starts: for each block, the place of its first router in `members`.
    """

    def __init__(self, members: Numbers, sizes: Numbers, port_sets: PortSets) -> None:
        """Arranges blocks.

        Args:
            members: the routers of all blocks, block by block.
            sizes: the number of routers of each block.
            port_sets: the ports by which minimal paths to routers begin, the same for all of a block.
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
        """Returns the ports by which minimal paths to a block begin.

        Args:
            block: its number.
        """
        return self._port_sets.set_of(int(self._port_codes[block]))

    def by_next_hop(self, row_by_place: Sequence[int]) -> list[NextHopBlocks]:
        """Returns all blocks by their only next hop, in the order of the first blocks.

        Args:
            row_by_place: for each link of the router, the row of the neighbour behind it.

        Returns:
            One entry for each next hop, and one for all blocks that have several.
        """
        sets = self._port_sets
        # The rows of each set that has any: one where the highest is the lowest.
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
        """Yields some of the blocks by their ports.

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
        """Returns a value for each of some blocks that depends on its ports alone.

        Args:
            blocks: the numbers of the blocks.
            values: numbers of sets of ports -> the value of each; asked once for every set, in the order of
                the first blocks.
        """
        codes = self._port_codes[blocks]
        different, firsts, places = np.unique(codes, return_index=True, return_inverse=True)
        order = np.argsort(firsts)
        found = np.empty(len(different), np.int64)
        found[order] = values(different[order])
        return found[places]

    def by_member(self, values: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Returns the value of the block of each of `members`.

        Args:
            values: one for each block.
        """
        return np.repeat(values, self._sizes)

    def largest(self, table: npt.NDArray[np.int16], rows: Numbers, blocks: Numbers) -> npt.NDArray[np.int16]:
        """Returns the largest of the entries of each of some blocks in rows of a table.

        Args:
            table: rows by routers of the fabric.
            rows: the numbers of rows, several for each of the blocks: rows by blocks.
            blocks: the numbers of blocks.

        Returns:
            Rows by blocks.
        """
        if len(self.members) == len(self):
            return table[rows, self.members[blocks]]
        sizes = self._sizes[blocks]
        firsts = np.cumsum(sizes) - sizes
        places = np.repeat(self.starts[blocks] - firsts, sizes) + np.arange(int(sizes.sum()))
        entries = table[np.repeat(rows, sizes, axis=1), self.members[places]]
        return np.maximum.reduceat(entries, firsts, axis=1)


def destination_blocks(view: RouterView) -> Blocks:
    """Returns all other routers in blocks that share a minimal next hop and a mask of their addresses.

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
    """Returns all other routers, each as a block of its own.

    Args:
        view: the router's ports and matches.
    """
    members = np.delete(np.arange(view.topology.routers), view.router)
    return Blocks(members, np.ones(len(members), np.intp), view.port_sets)
