"""The handoff of the switches' queues to the controller: their rate and capacity, and sockets to read them.

Messages on a local socket describe the queues, for at most 100 switches each. The netlink sockets belong to
the switches' namespaces, which the controller does not enter: the process that created the namespaces opens
the sockets and passes them on. Without such sockets, the controller requests port statistics from the
switches. The same local socket later carries adaptation requests: to end all detours before another
measurement, and to change parameters of the routing.
"""

from __future__ import annotations

import json
import socket
from collections.abc import Mapping
from dataclasses import dataclass

from controller.occupancy.queues import SwitchQueues

_SWITCHES_PER_MESSAGE = 100  # Linux passes at most 253 descriptors at once
_MESSAGE_BYTES = 1 << 17


@dataclass(frozen=True)
class Queues:
    """All output queues of a fabric, and the sockets to read them.

    Attributes:
        switches: datapath id -> queues of the switch; empty if they cannot be read.
        queue_packets: capacity of a queue, in packets.
        rate_bps: rate of the links.
    """

    switches: Mapping[int, SwitchQueues]
    queue_packets: int
    rate_bps: int


def channel() -> tuple[socket.socket, socket.socket]:
    """Returns the two ends of a channel for `send_queues` and `receive_queues`."""
    return socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)


def send_queues(connection: socket.socket, queues: Queues) -> None:
    """Sends the queues of a fabric, with duplicates of their sockets, to the controller."""
    switches = list(queues.switches.items())
    for first in range(0, max(1, len(switches)), _SWITCHES_PER_MESSAGE):
        batch = switches[first : first + _SWITCHES_PER_MESSAGE]
        message = {
            "queue_packets": queues.queue_packets,
            "rate_bps": queues.rate_bps,
            "switches": [[dpid, list(switch.ports.items())] for dpid, switch in batch],
            "last": first + len(batch) >= len(switches),
        }
        descriptors = [switch.descriptor for _, switch in batch]
        socket.send_fds(connection, [json.dumps(message).encode()], descriptors)


@dataclass(frozen=True)
class AdaptationRequest:
    """Request from the parent to the adaptive loop.

    Attributes:
        routing: name of the plan's routing with its new parameters; None to point all adaptive groups at
            their minimal paths.
    """

    routing: str | None = None


def request_adaptation(connection: socket.socket, request: AdaptationRequest) -> None:
    """Sends a request to the adaptive loop of the controller at the other end.

    Raises:
        OSError: the other end is closed.
    """
    connection.send(json.dumps({"routing": request.routing}).encode())


def requested_adaptation(connection: socket.socket) -> AdaptationRequest | None:
    """Returns the oldest request not yet returned; None if there is none."""
    try:
        message = connection.recv(_MESSAGE_BYTES, socket.MSG_DONTWAIT)
    except BlockingIOError:
        return None
    return AdaptationRequest(**json.loads(message)) if message else None  # else the parent has ended


def receive_queues(connection: socket.socket) -> Queues:
    """Waits for the queues that `send_queues` sends at the other end, and returns them.

    Raises:
        OSError: the other end is closed.
    """
    switches: dict[int, SwitchQueues] = {}
    while True:
        data, descriptors, _, _ = socket.recv_fds(connection, _MESSAGE_BYTES, _SWITCHES_PER_MESSAGE)
        if not data:
            raise OSError("the parent closed the socket before it passed the queues")
        message = json.loads(data)
        for (dpid, ports), descriptor in zip(message["switches"], descriptors, strict=True):
            switches[dpid] = SwitchQueues(descriptor, dict(ports))
        if message["last"]:
            return Queues(switches, message["queue_packets"], message["rate_bps"])
