"""Connections of the web process: each has a place, and a time limit for the head of a request.

A connection whose request head does not arrive in time is closed.
"""

from __future__ import annotations

import asyncio
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from polarlab.web.service.places import KEEP_PLACE, Places

HEAD_TIMEOUT_S = 5.0


class BoundedProtocol(H11Protocol):
    """A connection that occupies one of a limited number of places; request heads have a time limit."""

    def enter_places(self, places: Places, host: str, arrival: asyncio.Future[Any]) -> None:
        """Takes a place for an accepted connection, before its TLS handshake.

        Args:
            places: the places.
            host: IP address of the client.
            arrival: future of the handshake.
        """
        self._places, self._arrival = places, arrival
        self._slow: asyncio.TimerHandle | None = None
        self.app_state = {KEEP_PLACE: lambda: places.keep(self)}
        places.enter(self, host)

    @property
    def idle(self) -> bool:
        """Whether no request is in progress."""
        return self.cycle is None or self.cycle.response_complete

    def end(self) -> None:
        """Ends the connection without a response."""
        self._forget_head()
        self.connections.discard(self)
        self._arrival.cancel()
        if self.transport is not None:
            self.transport.abort()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Starts to wait for the first request head."""
        super().connection_made(transport)
        self._watch_head()

    def data_received(self, data: bytes) -> None:
        """Processes bytes from the client."""
        super().data_received(data)
        self._watch_head()

    def send_400_response(self, msg: str) -> None:
        """Answers malformed bytes, and ends the connection."""
        if not self.idle:  # the handler that waits for the rest of the request can no longer answer
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        try:
            super().send_400_response(msg)
        except h11.LocalProtocolError:  # the answer has already started, or must not have a body
            self.transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        """Frees the connection's place."""
        super().connection_lost(exc)
        self._forget_head()
        self._places.leave(self)

    def _watch_head(self) -> None:
        if not self.idle or self.transport.is_closing():
            self._forget_head()
        elif self._slow is None:
            self._slow = self.loop.call_later(HEAD_TIMEOUT_S, self._too_slow)

    def _too_slow(self) -> None:
        self._places.leave(self)
        self.end()

    def _forget_head(self) -> None:
        if self._slow is not None:
            self._slow.cancel()
            self._slow = None
