"""Blocks of destinations that share a rule of one router, as arrays, and their division by next hop."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from routing.plan.groups import RouterView

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

    def __init__(self, members: Numbers, sizes: Numbers, ports: Sequence[Ports]) -> None:
        """Arranges blocks.

        Args:
            members: the routers of all blocks, block by block.
            sizes: the number of routers of each block.
            ports: for each block, the ports by which minimal paths to it begin.
        """
        self.members = members
        self._sizes = sizes
        self.starts = np.cumsum(sizes) - sizes
        self._different_ports = list(dict.fromkeys(ports))
        code_of = {ports: code for code, ports in enumerate(self._different_ports)}
        self._port_codes = np.fromiter(map(code_of.__getitem__, ports), np.intp, len(ports))

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
        return self._different_ports[int(self._port_codes[block])]

    def by_next_hop(self, row_by_port: Sequence[int]) -> list[NextHopBlocks]:
        """Returns all blocks by their only next hop, in the order of the first blocks.

        Args:
            row_by_port: for each port from 1, the row of the neighbour behind it.

        Returns:
            One entry for each next hop, and one for all blocks that have several.
        """
        parallel = len(set(row_by_port)) < len(row_by_port)
        row_by_code = np.fromiter(
            (
                row_by_port[ports[0] - 1]
                if len(ports) == 1 or (parallel and len({row_by_port[port - 1] for port in ports}) == 1)
                else -1
                for ports in self._different_ports
            ),
            np.intp,
            len(self._different_ports),
        )
        rows = row_by_code[self._port_codes]
        return [
            NextHopBlocks(row, np.flatnonzero(rows == row)) for row in dict.fromkeys(row_by_code.tolist())
        ]

    def by_ports(self, blocks: Numbers) -> Iterator[tuple[Ports, Numbers]]:
        """Yields some of the blocks by their ports.

        Args:
            blocks: the numbers of the blocks.
        """
        codes = self._port_codes[blocks]
        for code in dict.fromkeys(codes.tolist()):
            yield self._different_ports[code], blocks[codes == code]

    def value_of_ports(self, blocks: Numbers, value: Callable[[Ports], int]) -> npt.NDArray[np.int64]:
        """Returns a value for each of some blocks that depends on its ports alone.

        Args:
            blocks: the numbers of the blocks.
            value: ports -> value; asked once for all blocks that have them.
        """
        codes = self._port_codes[blocks]
        values = np.zeros(len(self._different_ports), np.int64)
        for code in dict.fromkeys(codes.tolist()):
            values[code] = value(self._different_ports[code])
        return values[codes]

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
    return Blocks(members, sizes, [view.minimal_ports[block[0]] for block in blocks])


def single_routers(view: RouterView) -> Blocks:
    """Returns all other routers, each as a block of its own.

    Args:
        view: the router's ports and matches.
    """
    members = np.delete(np.arange(view.topology.routers), view.router)
    ports = [*view.minimal_ports[: view.router], *view.minimal_ports[view.router + 1 :]]
    return Blocks(members, np.ones(len(members), np.intp), ports)
