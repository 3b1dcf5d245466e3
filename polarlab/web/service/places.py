"""Places of the web process's connections: their number, and who loses a place when all are taken.

Connections that have sent the token keep their places. Of the others, a random connection of the machine with
the most connections makes room. If the oldest one made room instead, a flood would push out every client with
a long round trip. At r new connections a second for n places, a connection survives t seconds with
probability exp(-rt / n): 42 % at 4,000 a second, 0.1 s and 464 places. All users of this machine count as one
machine.
"""

from __future__ import annotations

import ipaddress
import random
import resource
from collections import defaultdict
from typing import Protocol

_KEPT_FILES = 16  # listener, channel, standard streams, event loop
_FEWEST = 16
_IPV6_NETWORK_BITS = 64  # a single machine can own a network of this size
KEEP_PLACE = "keep_place"  # key in a request's state: function to call when the request has the token


class Guest(Protocol):
    """A connection with a place."""

    @property
    def idle(self) -> bool:
        """Whether no request is in progress."""

    def end(self) -> None:
        """Ends the connection."""


class Places:
    """A limited number of places."""

    def __init__(self, limit: int, rng: random.Random | None = None) -> None:
        """Prepares the places.

        Args:
            limit: number of places.
            rng: random generator for the choices.
        """
        self._limit, self._rng = limit, rng or random.Random()  # noqa: S311  # no secret
        self._strangers: defaultdict[str, list[Guest]] = defaultdict(list)  # by machine
        self._machines: dict[Guest, str] = {}  # of connections without the token
        self._known: set[Guest] = set()

    @classmethod
    def of_this_process(cls, spare: int) -> Places:
        """Returns as many places as the process's limit of descriptors allows.

        Args:
            spare: number of ending connections that still have their descriptors.
        """
        files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        return cls(max(_FEWEST, files - _KEPT_FILES - spare))

    def enter(self, guest: Guest, host: str) -> None:
        """Admits a new connection; if all places are taken, another connection loses its place.

        Args:
            guest: the connection.
            host: IP address of its client.
        """
        machine = machine_of(host)
        self._machines[guest] = machine
        self._strangers[machine].append(guest)
        if len(self._machines) + len(self._known) > self._limit:
            self.make_room(guest)

    def keep(self, guest: Guest) -> None:
        """Reserves the place of a connection that has sent the token."""
        if guest in self._machines:
            self.leave(guest)
            self._known.add(guest)

    def leave(self, guest: Guest) -> None:
        """Frees the place of a connection, if it still has one."""
        self._known.discard(guest)
        machine = self._machines.pop(guest, None)
        if machine is not None:
            self._strangers[machine].remove(guest)
            if not self._strangers[machine]:
                del self._strangers[machine]

    def make_room(self, new: Guest | None = None) -> None:
        """Ends a connection.

        Args:
            new: a new connection, which loses its place only if no other can.
        """
        loser = self._loser(new)
        if loser is not None:
            self.leave(loser)
            loser.end()

    def _loser(self, new: Guest | None) -> Guest | None:
        machines = self._strangers.values()
        largest = max(map(len, machines), default=0)
        candidates = [
            one for guests in machines if len(guests) == largest for one in guests if one is not new
        ]
        candidates = candidates or [one for one in self._known if one.idle]
        return self._rng.choice(candidates) if candidates else new


def machine_of(host: str) -> str:
    """Returns the part of an IP address that identifies a machine; empty for this machine."""
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return ""
    if isinstance(address, ipaddress.IPv6Address):
        address = address.ipv4_mapped or address
    if address.is_loopback:
        return ""
    if isinstance(address, ipaddress.IPv6Address):
        return str(ipaddress.ip_network((address, _IPV6_NETWORK_BITS), strict=False))
    return str(address)
