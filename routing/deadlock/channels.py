"""Channels of a fabric: directed links, divided into virtual channels if packets change these at each hop.

With one virtual channel, a channel is a directed link. With n of them, hop number h of a packet, from 1, uses
virtual channel min(h, n) - 1 of its link.

Source: Dally and Seitz, "Deadlock-Free Message Routing in Multiprocessor Interconnection Networks" (IEEE
Trans. Computers C-36, 1987), section II, defines the channels.
"""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from topology.addressing import switch_name
from topology.base import Topology
from topology.errors import ParameterError

Numbers = npt.NDArray[np.int64]

MAX_VIRTUAL_CHANNELS = 64


class Channel(NamedTuple):
    """One virtual channel of a directed link.

    Attributes:
        tail: the router that sends.
        head: the router that receives.
        virtual: the virtual channel, from 0.
    """

    tail: int
    head: int
    virtual: int

    @property
    def link(self) -> str:
        """The name of the directed link, for example `s3-s7` for packets from s3 to s7."""
        return f"{switch_name(self.tail)}-{switch_name(self.head)}"

    def __str__(self) -> str:
        return f"{self.link} channel {self.virtual}" if self.virtual else self.link


class Channels:
    """The channels of a fabric, by number.

    Directed links are numbered as in `topology.base`; channel number c is virtual channel c mod n of directed
    link c div n.

    Attributes:
        virtual: n, the number of virtual channels.
    """

    def __init__(self, topology: Topology, virtual: int = 1) -> None:
        """Assigns numbers to the channels.

        Args:
            topology: the graph of routers.
            virtual: n, the number of virtual channels, 1 to 64.

        Raises:
            ParameterError: the number of virtual channels is outside its domain.
        """
        if not 1 <= virtual <= MAX_VIRTUAL_CHANNELS:
            raise ParameterError(f"virtual channels must be 1 to {MAX_VIRTUAL_CHANNELS}, got {virtual}")
        self.virtual = virtual
        self._topology = topology
        self._starts = topology.adjacency.starts.astype(np.int64)

    def __len__(self) -> int:
        return int(self._starts[-1]) * self.virtual

    @cached_property
    def tails(self) -> Numbers:
        """int64 array: for each directed link, the router that sends."""
        return np.repeat(np.arange(self._topology.routers), self._topology.degrees)

    @cached_property
    def heads(self) -> Numbers:
        """int64 array: for each directed link, the router that receives."""
        return self._topology.adjacency.neighbours.astype(np.int64)

    def link(self, router: int, port: int) -> int:
        """Returns the number of a directed link.

        Args:
            router: the router that sends.
            port: the port of one of its links.
        """
        return self._topology.link_numbers[router, port]

    def port(self, number: int) -> int:
        """Returns the port on which a channel leaves its router.

        Args:
            number: the channel's number, from 0.
        """
        return int(self._topology.ports.links[number // self.virtual])

    def links_to(self, router: int, neighbours: Numbers) -> Numbers:
        """Returns the numbers of the directed links from a router to given neighbours.

        Args:
            router: the router that sends.
            neighbours: routers adjacent to it; for parallel links, the first one is used.
        """
        return np.asarray(self._starts[router] + self._topology.places_toward(router, neighbours), np.int64)

    def channel(self, number: int) -> Channel:
        """Returns the channel with a given number.

        Args:
            number: the channel's number, from 0.
        """
        link, virtual = divmod(number, self.virtual)
        return Channel(int(self.tails[link]), int(self.heads[link]), virtual)
