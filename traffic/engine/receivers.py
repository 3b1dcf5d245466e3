"""Packet sockets that observe the arrivals at many hosts, read into one buffer."""

from __future__ import annotations

import select
import socket
from collections.abc import Callable, Iterable

import numpy as np

from traffic.engine import sockets
from traffic.wire.layout import HEADER_BYTES, MAGIC, signature

# One socket may fill 1/_SHARE of the buffer per call, so that a host that floods leaves room for the others.
_SHARE = 4


class Receivers:
    """One packet socket per host, which receives a copy of each frame that the switch sends to that host.

    The sockets receive frames as soon as the object is created.

    Attributes:
        buffer: the frames of the last `receive`; the caller resets it before the next call.
        owners: index of the socket from which each slot of the buffer was read; int64, shape (slots,).
    """

    def __init__(
        self,
        places: Iterable[tuple[int, str]],
        run: int,
        slots: int,
        *,
        magic: int = MAGIC,
        frame_bytes: int = HEADER_BYTES,
        opener: Callable[[str], socket.socket] | None = None,
    ) -> None:
        """Opens the sockets.

        Args:
            places: for each host, a process in its switch's namespace, and the switch's interface to that
                host.
            run: id of the run whose frames are received.
            slots: maximum number of frames per call of `receive`.
            magic: magic number of the frames, MAGIC or SEGMENT_MAGIC.
            frame_bytes: number of bytes to keep per frame.
            opener: function that opens the socket of an interface; None for a socket that receives frames of
                this run and magic number.
        """
        self.buffer = sockets.ReceiveBuffer(slots, frame_bytes)
        self.owners = np.zeros(slots, np.int64)
        self._slots = slots
        words = signature(run, magic)
        opener = opener or (lambda name: sockets.open_receiver(name, words))
        self._sockets = sockets.open_all(places, opener)
        self._owner_of = {receiver.fileno(): index for index, receiver in enumerate(self._sockets)}
        self._poll = select.epoll()
        for descriptor in self._owner_of:
            self._poll.register(descriptor, select.EPOLLIN)

    def receive(self) -> int:
        """Reads waiting frames while the buffer has room, and returns their number."""
        filled = 0
        for descriptor, _ in self._poll.poll(0):
            limit = min(self._slots - filled, max(1, self._slots // _SHARE))
            count = self.buffer.receive(descriptor, filled, limit)
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
