"""Door of the web process: each accepted connection immediately takes one of a limited number of places.

asyncio's own server does not count connections during their TLS handshake. When the process runs out of
descriptors, that server logs a traceback and stops accepting for a second.
"""

from __future__ import annotations

import asyncio
import functools
import socket
import ssl
from collections.abc import Callable
from typing import Any

from polarlab.web.service.connections import HEAD_TIMEOUT_S, BoundedProtocol
from polarlab.web.service.places import Places

_AT_ONCE = 32  # connections accepted before open ones get their turn
_PAUSE_S = 0.05  # after the kernel refuses to accept


class DoorLoop(asyncio.SelectorEventLoop):
    """An event loop whose servers are doors."""

    async def create_server(  # type: ignore[override]
        self,
        protocol_factory: Callable[[], asyncio.BaseProtocol],
        *,
        sock: socket.socket,
        ssl: ssl.SSLContext | None = None,
        **_options: Any,
    ) -> Door:
        """Opens a door at a listening socket."""
        return Door(self, protocol_factory, sock, ssl)


class Door:
    """A server that accepts connections into a limited number of places."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        factory: Callable[[], asyncio.BaseProtocol],
        listener: socket.socket,
        tls: ssl.SSLContext | None,
    ) -> None:
        """Starts to accept connections.

        Args:
            loop: the event loop.
            factory: creates the protocol of a connection.
            listener: a listening socket.
            tls: TLS context of the connections; None for plain connections.
        """
        self._loop, self._factory, self._listener = loop, factory, listener
        timeouts = dict.fromkeys(("ssl_handshake_timeout", "ssl_shutdown_timeout"), HEAD_TIMEOUT_S)
        self._tls: dict[str, Any] = {"ssl": tls, **timeouts} if tls else {}
        self._places = Places.of_this_process(spare=_AT_ONCE)
        self._open = True
        listener.setblocking(False)
        self._resume()

    def close(self) -> None:
        """Stops accepting connections."""
        self._open = False
        self._loop.remove_reader(self._listener)

    async def wait_closed(self) -> None:
        """Returns at once: connections end on their own."""

    def _resume(self) -> None:
        if self._open:
            self._loop.add_reader(self._listener, self._accept)

    def _accept(self) -> None:
        """Accepts waiting connections."""
        for _ in range(_AT_ONCE):
            try:
                connection, address = self._listener.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError:  # no descriptors or no memory: end some connections
                for _ in range(_AT_ONCE):
                    self._places.make_room()
                self._loop.remove_reader(self._listener)
                self._loop.call_later(_PAUSE_S, self._resume)
                return
            connection.setblocking(False)
            self._admit(connection, address[0])

    def _admit(self, connection: socket.socket, host: str) -> None:
        guest = self._factory()
        assert isinstance(guest, BoundedProtocol)
        arrival = asyncio.ensure_future(
            self._loop.connect_accepted_socket(lambda: guest, connection, **self._tls), loop=self._loop
        )
        arrival.add_done_callback(functools.partial(self._arrived, connection, guest))
        guest.enter_places(self._places, host, arrival)

    def _arrived(
        self, connection: socket.socket, guest: BoundedProtocol, arrival: asyncio.Future[Any]
    ) -> None:
        """Closes a connection whose TLS handshake failed, or that lost its place meanwhile."""
        if arrival.cancelled() or arrival.exception():
            self._places.leave(guest)
            connection.close()
