"""How full the output buffers of a fabric's switches are, read from the kernel.

The queueing disciplines of every port are asked for over netlink, through one socket per switch that was
opened in that switch's namespace and handed to the controller. A dump has a message per discipline; of each
only the interface, the kind and the queue's length are looked at, by their places in the message.
"""

from __future__ import annotations

import _socket
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

_RTM_NEWQDISC, _RTM_GETQDISC = 36, 38
_NLM_F_REQUEST_DUMP = 0x301
_NLMSG_DONE = 3
_TCA_KIND, _TCA_STATS2 = 1, 7
_TCA_STATS_QUEUE = 3
_RECEIVE_BYTES = 1 << 16
# nlmsghdr and tcmsg of a request for all disciplines of a namespace
_REQUEST = struct.pack("=IHHII", 36, _RTM_GETQDISC, _NLM_F_REQUEST_DUMP, 1, 0) + bytes(20)
_HEAD = struct.Struct("=IH")  # length and type of a message
_INTERFACE = struct.Struct("=i")
_INTERFACE_AT = 20  # behind nlmsghdr, the family and its padding
_ATTRIBUTE = struct.Struct("=HH")
_QUEUE_LENGTH = struct.Struct("=I")
_ATTRIBUTES_AT = 36  # behind nlmsghdr and tcmsg
_FIFO = b"pfifo\0"


class OccupancySource(Protocol):
    """Anything that tells how full the ports of switches are."""

    def read(self) -> Mapping[int, Mapping[int, float]]:
        """Returns datapath id -> port -> share of its buffer that is full, for what could be read."""


@dataclass(frozen=True)
class SwitchQueues:
    """A switch's queues: a netlink socket in its namespace, and its ports by interface number."""

    descriptor: int
    ports: Mapping[int, int]


class NetlinkOccupancy:
    """The lengths of the packet-counted queues of all ports."""

    def __init__(self, switches: Mapping[int, SwitchQueues], queue_packets: int) -> None:
        """Takes over the sockets; datapath id -> queues, and how many packets a queue holds."""
        self._queue_packets = queue_packets
        self._switches = {
            datapath_id: (_socket.socket(fileno=queues.descriptor), dict(queues.ports))
            for datapath_id, queues in switches.items()
        }
        for connection, _ in self._switches.values():
            connection.settimeout(1.0)

    def read(self) -> dict[int, dict[int, float]]:
        """Returns datapath id -> port -> occupancy, 0 to 1; a switch that cannot be read is left out."""
        found = {}
        for datapath_id, (connection, ports) in self._switches.items():
            try:
                connection.send(_REQUEST)
                lengths = _read_dump(connection)
            except OSError:
                continue
            found[datapath_id] = {
                ports[number]: min(1.0, length / self._queue_packets)
                for number, length in lengths.items()
                if number in ports
            }
        return found


def _read_dump(connection: _socket.socket) -> dict[int, int]:
    """Returns interface number -> packets that wait, of the FIFOs that a dump tells of."""
    lengths: dict[int, int] = {}
    while True:
        data = connection.recv(_RECEIVE_BYTES)
        position = 0
        while position < len(data):
            size, kind = _HEAD.unpack_from(data, position)
            if kind == _NLMSG_DONE:
                return lengths
            # The kind comes first: "pfifo" sits behind the header of its attribute.
            name_at = position + _ATTRIBUTES_AT + _ATTRIBUTE.size
            if kind == _RTM_NEWQDISC and data.startswith(_FIFO, name_at):
                (interface,) = _INTERFACE.unpack_from(data, position + _INTERFACE_AT)
                lengths[interface] = _queue_length(data, position + _ATTRIBUTES_AT, position + size)
            position += (size + 3) & ~3
        if not data:
            return lengths


def _queue_length(data: bytes, position: int, end: int) -> int:
    """Returns qlen from the nested statistics of one discipline's attributes."""
    while position < end:
        size, kind = _ATTRIBUTE.unpack_from(data, position)
        if kind == _TCA_STATS2:
            return _queue_length(data, position + _ATTRIBUTE.size, position + size)
        if kind == _TCA_STATS_QUEUE and size >= 8:
            # Inside the statistics; outside, this number belongs to an attribute that comes after them.
            return int(_QUEUE_LENGTH.unpack_from(data, position + _ATTRIBUTE.size)[0])
        position += (size + 3) & ~3
    return 0
