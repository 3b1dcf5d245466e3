"""Reads the queues of switch ports from the kernel over netlink.

One socket per switch, opened in that switch's namespace, requests the queueing disciplines of all ports. The
reply has one message per discipline. Only the needed attributes are decoded, at fixed offsets, because all
queues of a fabric are read 20 times a second.
"""

from __future__ import annotations

import _socket
import os
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

_RTM_NEWQDISC, _RTM_GETQDISC = 36, 38
_NLM_F_REQUEST_DUMP = 0x301
_NLMSG_ERROR, _NLMSG_DONE = 2, 3
_MESSAGE_HEAD_BYTES = 16
_TCA_STATS2 = 7
_TCA_STATS_BASIC, _TCA_STATS_QUEUE = 1, 3
_RECEIVE_BYTES = 1 << 16
_TIMEOUT_S = 1.0
# nlmsghdr and tcmsg of a request for all disciplines of a namespace
_REQUEST = struct.pack("=IHHII", 36, _RTM_GETQDISC, _NLM_F_REQUEST_DUMP, 1, 0) + bytes(20)
_HEAD = struct.Struct("=IH")  # length and type of a message
_ERROR = struct.Struct("=i")
_INTERFACE = struct.Struct("=i")
_INTERFACE_AT = 20  # after nlmsghdr, the family and its padding
_ATTRIBUTE = struct.Struct("=HH")
_BASIC = struct.Struct("=QI")  # bytes and packets
_QUEUE = struct.Struct("=III")  # waiting packets, their bytes, dropped packets
_ATTRIBUTES_AT = 36  # after nlmsghdr and tcmsg
_FIFO, _NETEM = b"pfifo\0", b"netem\0"


class QueueState(NamedTuple):
    """A port's queue.

    Attributes:
        packets: number of waiting packets.
        waiting_bytes: number of bytes of the waiting packets.
        sent_bytes: bytes sent since the queue was created.
        dropped_packets: packets dropped by the queue since it was created.
        lost_packets: packets lost to the link's emulated loss (netem) before they reached the queue.
        sent_packets: packets sent since the queue was created.
    """

    packets: int
    waiting_bytes: int
    sent_bytes: int
    dropped_packets: int
    lost_packets: int = 0
    sent_packets: int = 0


@dataclass(frozen=True)
class SwitchQueues:
    """A switch's queues.

    Attributes:
        descriptor: a netlink socket in the switch's namespace.
        ports: interface number -> port.
    """

    descriptor: int
    ports: Mapping[int, int]


class QueueReader:
    """Reads the queues of one switch's ports: FIFOs whose limit counts packets (pfifo)."""

    def __init__(self, queues: SwitchQueues) -> None:
        """Takes over the socket."""
        # Not socket.socket: the controller's patched version yields to other threads at every call.
        self._connection = _socket.socket(fileno=queues.descriptor)
        self._connection.settimeout(_TIMEOUT_S)
        self._ports = dict(queues.ports)

    @property
    def ports(self) -> tuple[int, ...]:
        """The ports whose queues are read."""
        return tuple(self._ports.values())

    def read(self) -> dict[int, QueueState]:
        """Returns port -> queue for the ports whose interfaces exist.

        Raises:
            OSError: the kernel does not answer, or answers with an error.
        """
        self._connection.send(_REQUEST)
        queues = _read_dump(self._connection)
        return {self._ports[number]: queue for number, queue in queues.items() if number in self._ports}

    def close(self) -> None:
        """Closes the socket."""
        self._connection.close()


def _read_dump(connection: _socket.socket) -> dict[int, QueueState]:
    """Returns interface number -> queue, for all FIFOs of kind pfifo in the reply."""
    queues: dict[int, QueueState] = {}
    netem_drops: dict[int, int] = {}
    while True:
        data = connection.recv(_RECEIVE_BYTES)
        position = 0
        while position < len(data):
            size, kind = _HEAD.unpack_from(data, position)
            if kind == _NLMSG_DONE:
                return _with_losses(queues, netem_drops)
            if kind == _NLMSG_ERROR:
                (number,) = _ERROR.unpack_from(data, position + _MESSAGE_HEAD_BYTES)
                raise OSError(-number, os.strerror(-number))
            # The first attribute is the discipline's name.
            name_at = position + _ATTRIBUTES_AT + _ATTRIBUTE.size
            if kind == _RTM_NEWQDISC and data.startswith((_FIFO, _NETEM), name_at):
                (interface,) = _INTERFACE.unpack_from(data, position + _INTERFACE_AT)
                state = _queue_state(data, position + _ATTRIBUTES_AT, position + size)
                if data.startswith(_FIFO, name_at):
                    queues[interface] = state
                else:
                    netem_drops[interface] = state.dropped_packets
            position += (size + 3) & ~3
        if not data:
            return _with_losses(queues, netem_drops)


def _with_losses(queues: dict[int, QueueState], netem_drops: dict[int, int]) -> dict[int, QueueState]:
    """Sets `lost_packets` of each queue: netem's drop counter minus the drops of the queue below netem.

    The kernel counts the drops of that queue in both counters.

    Args:
        queues: interface number -> queue; modified in place.
        netem_drops: interface number -> drop counter of its netem discipline.
    """
    for interface, drops in netem_drops.items():
        if interface in queues:
            queue = queues[interface]
            queues[interface] = queue._replace(lost_packets=max(0, drops - queue.dropped_packets))
    return queues


def _queue_state(data: bytes, position: int, end: int) -> QueueState:
    """Returns the queue state from the statistics among a discipline's attributes."""
    sent = sent_packets = packets = waiting = dropped = 0
    nested = False  # inside the statistics; outside, the same type numbers mean other attributes
    while position < end:
        size, kind = _ATTRIBUTE.unpack_from(data, position)
        content = position + _ATTRIBUTE.size
        if kind == _TCA_STATS2 and not nested:
            nested, end, position = True, position + size, content
            continue
        if nested and kind == _TCA_STATS_BASIC:
            sent, sent_packets = _BASIC.unpack_from(data, content)
        elif nested and kind == _TCA_STATS_QUEUE:
            packets, waiting, dropped = _QUEUE.unpack_from(data, content)
        position += (size + 3) & ~3
    return QueueState(packets, waiting, sent, dropped, sent_packets=sent_packets)
