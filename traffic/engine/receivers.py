"""The packet sockets of many hosts, read together into one buffer."""

from __future__ import annotations

import select
from collections.abc import Iterable

import numpy as np

from traffic.engine import sockets
from traffic.wire.layout import HEADER_BYTES, MAGIC, signature


class Receivers:
    """One receiving socket per host. They receive from their creation on.

    Attributes:
        buffer: what the last look read; to be reset before the next.
        owners: int64 array: whose socket each slot of the buffer was read from, by place in the order given.
    """

    def __init__(
        self,
        places: Iterable[tuple[int, str]],
        run: int,
        slots: int,
        *,
        magic: int = MAGIC,
        frame_bytes: int = HEADER_BYTES,
    ) -> None:
        """Opens the sockets.

        Args:
            places: a process in the namespace, and the interface, of each.
            run: the run whose frames are received, and no others'.
            slots: how many frames are read at a look.
            magic: what the frames begin with, behind their headers.
            frame_bytes: how much of a frame is kept.
        """
        self.buffer = sockets.ReceiveBuffer(slots, frame_bytes)
        self.owners = np.zeros(slots, np.int64)
        self._slots = slots
        words = signature(run, magic)
        self._sockets = sockets.open_all(places, lambda name: sockets.open_receiver(name, words))
        self._owner_of = {receiver.fileno(): index for index, receiver in enumerate(self._sockets)}
        self._poll = select.epoll()
        for descriptor in self._owner_of:
            self._poll.register(descriptor, select.EPOLLIN)

    def receive(self) -> int:
        """Reads what waits, as far as there is room, and returns how many frames there were."""
        filled = 0
        for descriptor, _ in self._poll.poll(0):
            count = self.buffer.receive(descriptor, filled, self._slots - filled)
            self.owners[filled : filled + count] = self._owner_of[descriptor]
            filled += count
            if filled == self._slots:
                break
        return filled

    def close(self) -> None:
        """Closes all sockets."""
        self._poll.close()
        for receiver in self._sockets:
            receiver.close()
