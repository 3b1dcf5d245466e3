"""Queues of hosts' interfaces, read from the kernel: bytes sent, and packets that full queues dropped."""

from __future__ import annotations

import contextlib
import socket

from controller.occupancy.queues import QueueReader, QueueState, SwitchQueues
from emulation.network import FabricNetwork
from topology.errors import MachineError
from traffic.engine import sockets

_PORT = 0  # as in h1_1-eth0


def read_host_queues(network: FabricNetwork) -> dict[str, QueueState]:
    """Returns the state of every host's queue by the host's name; hosts that cannot be read are left out.

    It takes about 0.1 ms a host, and is not meant for repetition while traffic runs.

    Args:
        network: the fabric's network, built.
    """
    states: dict[str, QueueState] = {}
    with sockets.namespaces():
        for name, pid in network.namespace_pids().items():
            with contextlib.suppress(OSError, MachineError):  # its namespace is gone
                sockets.enter(pid)
                states[name] = _read(socket.if_nametoindex(f"{name}-eth{_PORT}"))
    return states


def _read(interface: int) -> QueueState:
    """Returns the queue of an interface in the present namespace."""
    netlink = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE)
    reader = QueueReader(SwitchQueues(netlink.detach(), {interface: _PORT}))
    try:
        return reader.read().get(_PORT, QueueState(0, 0, 0, 0))
    finally:
        reader.close()
