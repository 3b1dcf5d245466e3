"""Hub of the web process: the latest messages from the fabric's process, and pending requests to it."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import secrets
from typing import Any

import msgspec

from polarlab.web.channel import MAX_BYTES, About, Answer, Ask, Event, Now, Watchers, line_of, to_web

ANSWER_TIMEOUT_S = 90.0
_KEPT_ENTRIES = 2_000


class Unanswered(Exception):
    """The fabric's process does not answer."""


class Hub:
    """State of the fabric as the web process knows it.

    Attributes:
        about: description of the fabric; None before there is one.
        state: its latest state; None before the first.
        entries: its latest events, as received.
        version: grows with each change of the above.
        watchers: number of clients that receive states.
        session: distinguishes event numbers of this process from those of an earlier process.
    """

    def __init__(self) -> None:
        self.about: dict[str, Any] | None = None
        self.about_json = b"null"
        self.state: dict[str, Any] | None = None
        self.state_json = b"null"
        self.entries: list[dict[str, Any]] = []
        self.version = self.about_version = 0
        self.session = secrets.token_hex(4)
        self.ended = False
        self._changed = asyncio.Condition()
        self.watchers = 0
        self._numbers = itertools.count(1)
        self._pending: dict[int, asyncio.Future[Answer]] = {}
        self._writer: asyncio.StreamWriter | None = None
        self._received_s = 0.0  # on the event loop's clock

    @property
    def connected(self) -> bool:
        """Whether requests can be sent to the fabric's process."""
        return self._writer is not None and not self.ended

    async def serve(self, connection: Any) -> None:
        """Receives the messages of the fabric's process until it ends.

        Args:
            connection: socket of the channel.
        """
        reader, self._writer = await asyncio.open_connection(sock=connection, limit=MAX_BYTES)
        with contextlib.suppress(OSError, ValueError):  # the fabric's process has ended
            while line := await reader.readline():
                self._process(to_web(line))
                async with self._changed:
                    self._changed.notify_all()
        self.ended = True
        self._writer.close()
        for future in self._pending.values():
            future.cancel()
        async with self._changed:
            self._changed.notify_all()

    def _process(self, message: About | Now | Event | Answer) -> None:
        self.version += 1
        self._received_s = asyncio.get_running_loop().time()
        match message:
            case About(fabric):
                if fabric and fabric.get("replay"):  # its events follow, numbered from 0
                    self.entries.clear()
                self.about, self.about_json = fabric, msgspec.json.encode(fabric)
                self.about_version += 1
                self.state, self.state_json = None, b"null"
            case Now(state):
                self.state, self.state_json = state, msgspec.json.encode(state)
            case Event(entry):
                self.entries.append(entry)
                del self.entries[:-_KEPT_ENTRIES]
            case Answer(number):
                future = self._pending.pop(number, None)
                if future and not future.done():
                    future.set_result(message)

    async def wait(self, version: int, timeout_s: float) -> None:
        """Waits until there is something newer than a version, or until a timeout."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(timeout_s), self._changed:
                await self._changed.wait_for(lambda: self.version > version or self.ended)

    async def ask(self, action: str, arguments: dict[str, Any]) -> Answer:
        """Returns the answer of the fabric's process to a request; this may take as long as a measurement.

        Raises:
            Unanswered: the process has ended, or has sent nothing for a while.
        """
        if self._writer is None or not self.connected:
            raise Unanswered
        number = next(self._numbers)
        future = self._pending[number] = asyncio.get_running_loop().create_future()
        try:
            self._writer.write(line_of(Ask(number, action, msgspec.Raw(msgspec.json.encode(arguments)))))
            while True:
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(ANSWER_TIMEOUT_S):
                        answer: Answer = await asyncio.shield(future)
                        return answer
                if self._silent_s() > ANSWER_TIMEOUT_S:
                    raise Unanswered
        except (asyncio.CancelledError, OSError):
            raise Unanswered from None
        finally:
            self._pending.pop(number, None)

    def _silent_s(self) -> float:
        """Returns the time in s since the last message of the fabric's process."""
        return asyncio.get_running_loop().time() - self._received_s

    @contextlib.contextmanager
    def watcher(self) -> Any:
        """Counts a client that receives states during the block, and reports the count."""
        self._count(1)
        try:
            yield
        finally:
            self._count(-1)

    def _count(self, more: int) -> None:
        self.watchers += more
        if self._writer and not self.ended:
            self._writer.write(line_of(Watchers(self.watchers)))
