"""Connections of the web process: how many there may be, and how long a request's head may take.

A head that does not come ends its connection after a few seconds. If all places are taken, the oldest
connection without a request under way loses its place: those who never finish a request keep nobody out.
"""

from __future__ import annotations

import asyncio
import ipaddress
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

MOST_CONNECTIONS = 256
MOST_OF_AN_ADDRESS = 64  # of another machine; all users of this one have the same
HEAD_TIMEOUT_S = 5.0
_IPV6_NETWORK_BITS = 64  # which one machine has to itself


class HeadTimingLoop(asyncio.SelectorEventLoop):
    """An event loop whose servers wait no longer for the handshake of TLS than for the head of a request."""

    async def create_server(self, *arguments: Any, **options: Any) -> asyncio.Server:
        """Creates a server, as asyncio does."""
        if options.get("ssl"):
            options["ssl_handshake_timeout"] = HEAD_TIMEOUT_S
        return await super().create_server(*arguments, **options)


class BoundedProtocol(H11Protocol):
    """A connection among a bounded number, whose heads have a time limit."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begins to wait for the first head, and makes room if all places are taken."""
        super().connection_made(transport)
        self._made_s, self._from = self.loop.time(), _network(self.client)
        self._slow: asyncio.TimerHandle | None = None
        self._watch_head()
        self._make_room()

    def data_received(self, data: bytes) -> None:
        """Takes bytes of a client."""
        super().data_received(data)
        self._watch_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forgets the time limit."""
        super().connection_lost(exc)
        self._forget_head()

    @property
    def _waits(self) -> bool:
        """Whether no request is under way: the head of the next one is not complete."""
        return self.conn.their_state is h11.IDLE

    def _watch_head(self) -> None:
        if not self._waits or self.transport.is_closing():
            self._forget_head()
        elif self._slow is None:
            self._slow = self.loop.call_later(HEAD_TIMEOUT_S, self._end)

    def _forget_head(self) -> None:
        if self._slow is not None:
            self._slow.cancel()
            self._slow = None

    def _end(self) -> None:
        """Ends a connection without an answer, which would be to no request."""
        self._forget_head()
        self.connections.discard(self)
        self.transport.abort()

    def _make_room(self) -> None:
        others = [one for one in self.connections if isinstance(one, BoundedProtocol) and one is not self]
        same = [one for one in others if one._from == self._from]
        crowd = bool(self._from) and len(same) >= MOST_OF_AN_ADDRESS
        if not crowd and len(others) + 1 < MOST_CONNECTIONS:
            return
        waiting = [one for one in (same if crowd else others) if one._waits]
        if waiting:
            min(waiting, key=lambda one: one._made_s)._end()
        elif crowd:
            self._end()


def _network(client: tuple[str, int] | None) -> str:
    """Returns the part of a client's address that stands for a machine; empty for this machine."""
    if client is None:
        return ""
    try:
        address = ipaddress.ip_address(client[0].partition("%")[0])
    except ValueError:
        return ""
    if isinstance(address, ipaddress.IPv6Address):
        address = address.ipv4_mapped or address
    if address.is_loopback:
        return ""
    if isinstance(address, ipaddress.IPv6Address):
        return str(ipaddress.ip_network((address, _IPV6_NETWORK_BITS), strict=False))
    return str(address)
