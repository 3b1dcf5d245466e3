"""Hub of the web process: what the fabric's process has told last, and the requests that it is to answer."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import secrets
from typing import Any

import msgspec

from polarlab.web.channel import MOST_BYTES, About, Answer, Ask, Event, Now, Watchers, line_of, to_web

ANSWER_TIMEOUT_S = 90.0
_KEPT_ENTRIES = 2_000


class Unanswered(Exception):
    """The fabric's process does not answer."""


class Hub:
    """State of the fabric as the web process knows it.

    Attributes:
        about: its description; None before there is one.
        state: its latest state; None before the first.
        entries: its latest events, each as it was told.
        version: grows with every change of these.
        watchers: the number of clients that are sent states.
        session: tells the numbers of these events from those of another process.
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
        self._asked: dict[int, asyncio.Future[Answer]] = {}
        self._writer: asyncio.StreamWriter | None = None
        self._heard_s = 0.0  # on the event loop's clock

    @property
    def connected(self) -> bool:
        """Whether the fabric's process can be asked."""
        return self._writer is not None and not self.ended

    async def serve(self, connection: Any) -> None:
        """Receives the messages of the fabric's process, until that ends.

        Args:
            connection: the channel, a socket.
        """
        reader, self._writer = await asyncio.open_connection(sock=connection, limit=MOST_BYTES)
        with contextlib.suppress(OSError, ValueError):  # the fabric's process has ended
            while line := await reader.readline():
                self._take(to_web(line))
                async with self._changed:
                    self._changed.notify_all()
        self.ended = True
        self._writer.close()
        for future in self._asked.values():
            future.cancel()
        async with self._changed:
            self._changed.notify_all()

    def _take(self, message: About | Now | Event | Answer) -> None:
        self.version += 1
        self._heard_s = asyncio.get_running_loop().time()
        match message:
            case About(fabric):
                self.about, self.about_json = fabric, msgspec.json.encode(fabric)
                self.about_version += 1
                self.state, self.state_json = None, b"null"
            case Now(state):
                self.state, self.state_json = state, msgspec.json.encode(state)
            case Event(entry):
                self.entries.append(entry)
                del self.entries[:-_KEPT_ENTRIES]
            case Answer(number):
                future = self._asked.pop(number, None)
                if future and not future.done():
                    future.set_result(message)

    async def wait(self, version: int, timeout_s: float) -> None:
        """Returns when there is something newer than a version, or after some time."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(timeout_s), self._changed:
                await self._changed.wait_for(lambda: self.version > version or self.ended)

    async def ask(self, action: str, arguments: dict[str, Any]) -> Answer:
        """Returns the answer of the fabric's process to a request, however long that takes, as a measurement.

        Raises:
            Unanswered: it has ended, or has told nothing for a while.
        """
        if self._writer is None or not self.connected:
            raise Unanswered
        number = next(self._numbers)
        future = self._asked[number] = asyncio.get_running_loop().create_future()
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
            self._asked.pop(number, None)

    def _silent_s(self) -> float:
        """Returns the time in s since the fabric's process has told anything."""
        return asyncio.get_running_loop().time() - self._heard_s

    @contextlib.contextmanager
    def watcher(self) -> Any:
        """Counts a client that is sent states during the block, and tells the fabric's process."""
        self._count(1)
        try:
            yield
        finally:
            self._count(-1)

    def _count(self, more: int) -> None:
        self.watchers += more
        if self._writer and not self.ended:
            self._writer.write(line_of(Watchers(self.watchers)))
