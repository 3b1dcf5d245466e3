"""Stream of a fabric's states and events to one client (server-sent events), as fast as the client reads.

For a client that is slower than the fabric, states are skipped instead of queued: the next state is chosen
when the previous one has been sent.
"""

from __future__ import annotations

import asyncio

import msgspec
from starlette.types import Receive, Scope, Send

from polarlab.web.service.hub import Hub

_ALIVE_S = 10.0
_HEADERS = [
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-store"),
    (b"x-accel-buffering", b"no"),
]


class EventStream:
    """A response that continues until its client disconnects or the fabric ends."""

    def __init__(self, hub: Hub, known_entries: int = -1) -> None:
        """Prepares the stream.

        Args:
            hub: the state of the fabric.
            known_entries: id of the last event that the client has; -1 if it has none.
        """
        self._hub, self._entry = hub, known_entries

    async def __call__(self, _scope: Scope, receive: Receive, send: Send) -> None:
        """Sends states and events."""
        await send({"type": "http.response.start", "status": 200, "headers": _HEADERS})
        sending = asyncio.create_task(self._send_all(send))
        leaving = asyncio.create_task(_disconnected(receive))  # sending to a client that left does not fail
        try:
            await asyncio.wait({sending, leaving}, return_when=asyncio.FIRST_COMPLETED)
            if sending.done():
                sending.result()
        finally:
            for task in (sending, leaving):
                task.cancel()
            await asyncio.gather(sending, leaving, return_exceptions=True)

    async def _send_all(self, send: Send) -> None:
        """Sends states and events until the fabric ends."""
        hub, version, about, state = self._hub, -1, -1, b""
        with hub.watcher():
            while not hub.ended:
                version = hub.version
                parts = []
                if about != hub.about_version:
                    about = hub.about_version
                    if hub.about and hub.about.get("replay"):  # its events are numbered from 0
                        self._entry = -1
                    parts.append(b"event: fabric\ndata: " + hub.about_json + b"\n\n")
                parts += self._entries()
                if state is not hub.state_json and hub.state is not None:
                    state = hub.state_json
                    parts.append(b"event: state\ndata: " + state + b"\n\n")
                body = b"".join(parts) or b": alive\n\n"
                await send({"type": "http.response.body", "body": body, "more_body": True})
                await hub.wait(version, _ALIVE_S)
        ended = b"".join(self._entries()) + b"event: end\ndata: {}\n\n"
        await send({"type": "http.response.body", "body": ended, "more_body": False})

    def _entries(self) -> list[bytes]:
        """Returns the events that the client does not have."""
        new = [entry for entry in self._hub.entries if entry["number"] > self._entry]
        if not new:
            return []
        self._entry = new[-1]["number"]
        head = f"id: {self._hub.session}-{self._entry}\nevent: timeline\ndata: ".encode()
        return [head + msgspec.json.encode(new) + b"\n\n"]


async def _disconnected(receive: Receive) -> None:
    """Waits until the client disconnects."""
    while (await receive())["type"] != "http.disconnect":
        pass
