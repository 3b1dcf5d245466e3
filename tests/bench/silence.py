"""Where the time of a flow's silence goes when its link is cut: kernel, Open vSwitch, and the rest.

One end of a link is set down. The kernel takes the carrier from the other end; that switch's program hears of
it, changes the state of its port and with it the liveness of its groups, and its caches of flows follow. Two
of these steps can be heard: the kernel's message that the other end has no carrier (rtnetlink), and the
switch's message that its port is down (OpenFlow).
"""

from __future__ import annotations

import random
import select
import socket
import statistics
import struct
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from failover import CUT, TRIALS, fabric_to_cut
from rows import Row

from experiments.events.base import ignore
from experiments.failover.demonstration import observe_failure
from experiments.live_fabric import LiveFabric
from topology.addressing import interface_name, switch_name
from topology.base import Link
from topology.faults import link_component
from traffic.engine import sockets

_RTMGRP_LINK, _RTM_NEWLINK = 1, 16
_IFF_UP, _IFF_RUNNING = 1, 0x40
_LINK_MESSAGE = struct.Struct("=IHHIIBxHiII")  # nlmsghdr and ifinfomsg
_HELLO, _ECHO_REQUEST, _ECHO_REPLY, _SET_CONFIG, _PORT_STATUS = 0, 2, 3, 9, 12
_OPENFLOW = struct.Struct("!BBHI")  # version, type, length, transaction
_PORT_NUMBER_AT, _PORT_STATE_AT, _LINK_DOWN = 16, 52, 1
_VERSION = 4  # OpenFlow 1.3


@dataclass
class _Heard:
    """The first times, on the monotonic clock in s, at which each step of one cut was heard of."""

    down: float | None = None
    carrier: float | None = None
    port: float | None = None
    stop: threading.Event = field(default_factory=threading.Event)


def breakdown() -> list[Row]:
    """The parts of the longest silence of a flow whose link is cut, with repair in the switches."""
    carrier, port, rest, gaps, before = [], [], [], [], []
    with fabric_to_cut(5) as fabric:
        for link in random.Random(1).sample(fabric.options.topology.link_list, TRIALS):
            with _listening(fabric, link) as heard:
                cut = replace(CUT, elements=(link_component(link),))
                observed = observe_failure(fabric, cut, ignore, check=False).summary
            if heard.down is None or heard.carrier is None or heard.port is None:
                continue
            gaps.append(observed.gap_ms)
            before.append(observed.phases.before.longest_silence_ms)
            carrier.append((heard.carrier - heard.down) * 1e3)
            port.append((heard.port - heard.carrier) * 1e3)
            rest.append(observed.gap_ms - carrier[-1] - port[-1])
    parts = {
        "until the kernel takes the carrier from the other end": carrier,
        "until that switch's program says that its port is down": port,
        "liveness of groups, caches of flows, the first probe on its new way": rest,
    }
    told = "; ".join(f"{statistics.median(times):.1f} ms {what}" for what, times in parts.items())
    median = statistics.median(gaps)
    return [
        Row(
            f"parts of a flow's longest silence when a link's interface goes down, ER_5, {len(gaps)} links",
            f"before the cut {statistics.median(before):.1f} ms",
            f"median {median:.1f} ms: {told}",
            "10 ms, or told where the rest goes",
            median <= 10,
        )
    ]


@contextmanager
def _listening(fabric: LiveFabric, link: Link) -> Iterator[_Heard]:
    """Listens for the steps of a cut of a link until the block ends."""
    heard = _Heard()
    # The lower router's end is the one that is set down.
    (near, near_port), (far, far_port) = link.ends
    with (
        _link_messages(fabric, near) as down,
        _link_messages(fabric, far) as carrier,
        _port_messages(fabric, far) as ports,
    ):
        names = (_index(fabric, near, near_port), _index(fabric, far, far_port))
        thread = threading.Thread(target=_listen, args=(heard, down, carrier, ports, names, far_port))
        thread.start()
        try:
            yield heard
        finally:
            heard.stop.set()
            thread.join()


def _listen(
    heard: _Heard,
    down: socket.socket,
    carrier: socket.socket,
    ports: socket.socket,
    indexes: tuple[int, int],
    port: int,
) -> None:
    while not heard.stop.is_set():
        for ready in select.select([down, carrier, ports], [], [], 0.05)[0]:
            now = time.monotonic()
            data = ready.recv(1 << 16)
            if ready is ports:
                if _port_is_down(ports, data, port):
                    heard.port = heard.port or now
            elif ready is down and _without_flag(data, indexes[0], _IFF_UP):
                heard.down = heard.down or now
            elif ready is carrier and _without_flag(data, indexes[1], _IFF_RUNNING):
                heard.carrier = heard.carrier or now


def _without_flag(data: bytes, index: int, flag: int) -> bool:
    """Returns whether a message says that an interface has lost a flag."""
    kind, interface, flags = (_LINK_MESSAGE.unpack_from(data)[place] for place in (1, 7, 8))
    return kind == _RTM_NEWLINK and interface == index and not flags & flag


def _port_is_down(connection: socket.socket, data: bytes, port: int) -> bool:
    """Returns whether a switch's messages say that a port is down; answers those that want an answer."""
    position, found = 0, False
    while position + _OPENFLOW.size <= len(data):
        _, kind, length, transaction = _OPENFLOW.unpack_from(data, position)
        if kind == _ECHO_REQUEST:
            connection.send(_OPENFLOW.pack(_VERSION, _ECHO_REPLY, _OPENFLOW.size, transaction))
        elif kind == _PORT_STATUS:
            (number,) = struct.unpack_from("!I", data, position + _PORT_NUMBER_AT)
            (state,) = struct.unpack_from("!I", data, position + _PORT_STATE_AT)
            found |= number == port and bool(state & _LINK_DOWN)
        position += max(length, _OPENFLOW.size)
    return found


@contextmanager
def _link_messages(fabric: LiveFabric, router: int) -> Iterator[socket.socket]:
    """Yields a socket that gets the kernel's messages on the interfaces of a router's switch."""
    with sockets.namespaces():
        sockets.enter(fabric.network[switch_name(router)].pid)
        listener = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE)
    with listener:
        listener.bind((0, _RTMGRP_LINK))
        yield listener


def _index(fabric: LiveFabric, router: int, port: int) -> int:
    with sockets.namespaces():
        sockets.enter(fabric.network[switch_name(router)].pid)
        return socket.if_nametoindex(interface_name(router, port))


@contextmanager
def _port_messages(fabric: LiveFabric, router: int) -> Iterator[socket.socket]:
    """Yields a connection that gets a switch's messages on its ports."""
    vswitch = fabric.network[switch_name(router)].vswitch
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(vswitch.management.removeprefix("unix:"))
        connection.send(_OPENFLOW.pack(_VERSION, _HELLO, _OPENFLOW.size, 1))
        # A connection that takes packets of any length gets messages on ports, too.
        connection.send(
            _OPENFLOW.pack(_VERSION, _SET_CONFIG, _OPENFLOW.size + 4, 2) + struct.pack("!HH", 0, 128)
        )
        yield connection
