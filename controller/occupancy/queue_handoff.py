"""How a controller gets what it adapts to: the ports' shape, and sockets to read their queues through.

Passed over a local socket, a message per so many switches. The netlink sockets belong to the switches'
namespaces, where a controller has no business; whoever made those opens them and hands them over.
Without any, the controller asks the switches for their ports' statistics. Later the same socket can ask for
all detours to be taken back, before another measurement.
"""

from __future__ import annotations

import json
import socket
from collections.abc import Mapping
from dataclasses import dataclass

from controller.occupancy.queues import SwitchQueues

_SWITCHES_PER_MESSAGE = 100  # Linux passes at most 253 descriptors at once
_MESSAGE_BYTES = 1 << 17
_RESTORE = b"restore"


@dataclass(frozen=True)
class Queues:
    """All queues of a fabric: by datapath id if they can be read, how many packets each holds, their rate."""

    switches: Mapping[int, SwitchQueues]
    queue_packets: int
    rate_bps: int


def channel() -> tuple[socket.socket, socket.socket]:
    """Returns the two ends of a channel for `send_queues` and `receive_queues`."""
    return socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)


def send_queues(connection: socket.socket, queues: Queues) -> None:
    """Hands queues over; the sender's own descriptors stay open."""
    items = list(queues.switches.items())
    for first in range(0, max(1, len(items)), _SWITCHES_PER_MESSAGE):
        part = items[first : first + _SWITCHES_PER_MESSAGE]
        message = {
            "queue_packets": queues.queue_packets,
            "rate_bps": queues.rate_bps,
            "switches": [[dpid, list(switch.ports.items())] for dpid, switch in part],
            "last": first + len(part) >= len(items),
        }
        descriptors = [switch.descriptor for _, switch in part]
        socket.send_fds(connection, [json.dumps(message).encode()], descriptors)


def ask_to_restore(connection: socket.socket) -> None:
    """Asks the controller at the other end to take all detours back.

    Raises:
        OSError: it is gone.
    """
    connection.send(_RESTORE)


def asked_to_restore(connection: socket.socket) -> bool:
    """Returns whether the other end has asked to take all detours back since the last call."""
    try:
        return connection.recv(len(_RESTORE), socket.MSG_DONTWAIT) == _RESTORE
    except BlockingIOError:
        return False


def receive_queues(connection: socket.socket) -> Queues:
    """Returns the queues that the other end hands over.

    Raises:
        OSError: the other end is gone.
    """
    switches: dict[int, SwitchQueues] = {}
    while True:
        data, descriptors, _, _ = socket.recv_fds(connection, _MESSAGE_BYTES, _SWITCHES_PER_MESSAGE)
        if not data:
            raise OSError("the queues were not handed over")
        message = json.loads(data)
        for (dpid, ports), descriptor in zip(message["switches"], descriptors, strict=True):
            switches[dpid] = SwitchQueues(descriptor, dict(ports))
        if message["last"]:
            return Queues(switches, message["queue_packets"], message["rate_bps"])
